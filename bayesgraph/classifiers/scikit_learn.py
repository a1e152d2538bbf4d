"""What classifiers take from scikit-learn; without it, what stands for it to load, ask and predict.

Base classes are imported with the classifiers. What only fits, evaluates or checks is looked up in
the modules of `sklearn` when it is used, and then says if scikit-learn is missing.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from types import MethodType
from typing import Any, Self

from bayesgraph.core.errors import DataError, MissingDependencyError, optional_module, quoted


class _Modules:
    """The modules of scikit-learn, each imported when it is first used."""

    def __getattr__(self, name: str) -> Any:
        # No module: tools that inspect objects ask for such names.
        if name.startswith("_"):
            raise AttributeError(name)
        what = "Fitting, evaluating or checking a classifier"
        # Kept as an attribute, which Python finds without calling this method again.
        module = vars(self)[name] = optional_module(f"sklearn.{name}", what=what)
        # `sklearn.utils` does not import these modules of its own.
        for inner in ("multiclass", "validation") if name == "utils" else ():
            optional_module(f"sklearn.{name}.{inner}", what=what)
        return module


sklearn = _Modules()


class _BaseEstimator:
    """What stands for `BaseEstimator`: parameters are those of the constructor."""

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted(inspect.signature(cls).parameters)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; `deep`, which scikit-learn passes, has no effect."""
        return {name: getattr(self, name) for name in self._get_param_names()}

    def set_params(self, **params: Any) -> Self:
        """Set parameters by name."""
        if unknown := params.keys() - {*self._get_param_names()}:
            raise DataError(f"{self!r} has no parameter {quoted(sorted(unknown))}.")
        vars(self).update(params)
        return self

    def __repr__(self) -> str:
        parameters = inspect.signature(type(self)).parameters
        values = self.get_params().items()
        changed = (f"{n}={v!r}" for n, v in values if repr(v) != repr(parameters[n].default))
        return f"{type(self).__name__}({', '.join(changed)})"


class _NotFittedError(ValueError, AttributeError):
    """What stands for `NotFittedError`: the estimator has not learned anything yet."""


def _available_if(check: Callable[[Any], bool]) -> Callable[[Callable[..., Any]], property]:
    """Return a decorator of methods that an object only has if `check` is true of it."""

    # A property, so that `hasattr` is false where `check` is: looking it up raises an error.
    def decorated(method: Callable[..., Any]) -> property:
        def bound(self: Any) -> MethodType:
            if not check(self):
                raise AttributeError(f"{self!r} has no attribute {method.__name__!r}")
            return MethodType(method, self)

        return property(bound, doc=method.__doc__)

    return decorated


def _class_or(module: str, name: str, otherwise: Any = None) -> Any:
    """Return a class or a function of a module of scikit-learn, by name.

    If scikit-learn is not installed, it is `otherwise`, or an empty class of the same name.
    """
    try:
        return getattr(getattr(sklearn, module), name)
    except MissingDependencyError:
        return otherwise or type(name, (), {})


BaseEstimator = _class_or("base", "BaseEstimator", _BaseEstimator)
NotFittedError = _class_or("exceptions", "NotFittedError", _NotFittedError)
available_if = _class_or("utils.metaestimators", "available_if", _available_if)
ClassifierMixin = _class_or("base", "ClassifierMixin")
ClassNamePrefixFeaturesOutMixin = _class_or("base", "ClassNamePrefixFeaturesOutMixin")
OneToOneFeatureMixin = _class_or("base", "OneToOneFeatureMixin")
RegressorMixin = _class_or("base", "RegressorMixin")
TransformerMixin = _class_or("base", "TransformerMixin")
