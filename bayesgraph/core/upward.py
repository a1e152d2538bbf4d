"""Methods of models and estimators that packages above theirs implement; nothing else reaches up.

`UPWARD` lists the methods, and `Ask` shows the functions of :mod:`bayesgraph.questions`. Both are
imported when they are first looked up.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable
from importlib import import_module
from types import MethodType
from typing import Any

from bayesgraph.core.errors import MissingDependencyError, RenderError, suggestion

# Methods, and the functions that implement them, in packages that import those of the models.
UPWARD = {
    "save": "bayesgraph.files:save",
    "render": "bayesgraph.pictures:render",
    "to_html": "bayesgraph.page:to_html",
    "fit": "bayesgraph.learning:fit_network",
    "learn": "bayesgraph.learning:learn_network",
    "contributions": "bayesgraph.questions:contributions",
}
# These make models: the instance is no argument of them.
_MAKERS = ("fit", "learn")


def upward(name: str) -> Callable[..., Any]:
    """Return the function that implements a method of `UPWARD`."""
    function: Callable[..., Any] = pkgutil.resolve_name(UPWARD[name])
    return function


class Upward:
    """A method that is a function of `UPWARD`, whose signature and docstring it has."""

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        function = upward(self._name)
        is_bound = instance is not None and self._name not in _MAKERS
        return MethodType(function, instance) if is_bound else function


class Drawn:
    """Mixin of graphs that notebooks show as pictures."""

    __slots__ = ()
    render = Upward()

    def _repr_svg_(self) -> str | None:
        """Return a picture for notebooks; None without Graphviz, or if it fails or is too slow."""
        try:
            picture: str = self.render()
            return picture
        except (MissingDependencyError, RenderError):
            return None


def is_question(function: Any) -> bool:
    """Return whether a function asks a model: whether `bayesgraph.questions.question` made it."""
    return getattr(function, "is_question", False)


class Ask:
    """The questions of `bayesgraph.questions` as methods of a model or of a fitted estimator.

    ``model.ask.flip(...)`` is ``bayesgraph.questions.flip(model, ...)``.
    """

    def __init__(self, asked: Any) -> None:
        self._asked = asked

    def __dir__(self) -> list[str]:
        questions = import_module("bayesgraph.questions")
        return [n for n in questions.__all__ if is_question(getattr(questions, n))]

    def __getattr__(self, name: str) -> Callable[..., Any]:
        function: Any = getattr(import_module("bayesgraph.questions"), name, None)
        if not is_question(function):
            near = suggestion(name, dir(self))
            raise AttributeError(f"No question is called {name!r}.{near}", name=name, obj=self)
        return MethodType(function, self._asked)

    def __repr__(self) -> str:
        return f"Questions: {', '.join(dir(self))}"
