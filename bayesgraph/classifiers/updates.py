"""Updates of a classifier: one after the other, and each as a whole or not at all."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

ClassifierT = TypeVar("ClassifierT", bound="Updated")
P = ParamSpec("P")
T = TypeVar("T")


class Updated:
    """Mixin of classifiers that more rows may change, in several threads at the same time."""

    @property
    def _lock(self) -> threading.RLock:
        # Made by the first update, because scikit-learn's `__init__` takes parameters alone. Of
        # locks that several threads make, `setdefault` keeps one.
        lock: threading.RLock | None = vars(self).get("_held")
        return lock or vars(self).setdefault("_held", threading.RLock())

    def __getstate__(self) -> dict[str, Any]:
        # Copies and pickles have a lock of their own.
        state: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]
        return {name: value for name, value in state.items() if name != "_held"}


def one_at_a_time(
    method: Callable[Concatenate[ClassifierT, P], T],
) -> Callable[Concatenate[ClassifierT, P], T]:
    """Make a method of a classifier wait for the updates that other threads have begun."""

    @wraps(method)
    def locked(self: ClassifierT, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with self._lock:
            return method(self, *args, **kwargs)

    return locked


class unchanged_if_refused:  # noqa: N801
    """Context manager that gives a classifier its attributes back if an error is raised."""

    # A class, as a generator would take longer than all checks of a single row.
    def __init__(self, classifier: Updated) -> None:
        self._classifier = classifier

    def __enter__(self) -> None:
        self._before = vars(self._classifier).copy()

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            self._classifier.__dict__ = self._before
