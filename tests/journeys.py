"""Calls of Python functions of bayesgraph on a few ways through the library, when all is warm."""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

import bayesgraph as bg

_PACKAGE = f"{Path(bg.__file__).parent}/"
_HEART = Path(__file__).parents[1] / "examples/data/heart.csv"


class Calls(NamedTuple):
    """How often code of the package is called, in how many files.

    Of these, `of_keys` are the calls of `__hash__` and `__eq__`.
    """

    total: int
    files: int
    of_keys: int


def calls_by_function(journey: Callable[[], Any]) -> Counter[tuple[str, str]]:
    """Count the calls of each function, lambda and generator of the package, by file and name.

    Those by kernels do not count: they are seen only until their compiled code is there.
    """
    counted: Counter[tuple[str, str]] = Counter()

    def note(frame: FrameType, event: str, _: Any) -> None:
        code = frame.f_code
        is_kernel = code.co_filename.endswith("kernels.py") or code.co_name == "_log"
        if event == "call" and code.co_filename.startswith(_PACKAGE) and not is_kernel:
            counted[code.co_filename.removeprefix(_PACKAGE), code.co_qualname] += 1

    for _ in range(3):  # kernels are compiled, caches are full
        journey()
    sys.setprofile(note)
    try:
        journey()
    finally:
        sys.setprofile(None)
    return counted


def calls(journey: Callable[[], Any]) -> Calls:
    """Return the number of calls on a way."""
    counted = calls_by_function(journey)
    keys = [n for (_, name), n in counted.items() if name.endswith(("__hash__", "__eq__"))]
    return Calls(counted.total(), len({file for file, _ in counted}), sum(keys))


def journeys() -> dict[str, Callable[[], Any]]:
    """Return the ways by their names; data and models are made here."""
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 200)
    numbers = random.normal(size=(200, 5)) + y[:, None]
    states = (numbers > 0).astype(str)
    default = bg.BayesianNetworkClassifier().fit(numbers, y)
    network = bg.TANClassifier().fit(states, y).network_
    name, *others = [v.name for v in network.variables]
    evidence = {others[0]: "True", others[1]: "False"}
    path = Path(tempfile.mkdtemp()) / "default.bayesgraph"
    default.save(path)
    table = bg.read_table(_HEART).to_pandas()
    heart, disease = table.drop(columns="disease"), table["disease"]
    return {
        "TAN fit": lambda: bg.TANClassifier().fit(numbers, y),
        "TAN fit of heart": lambda: bg.TANClassifier().fit(heart, disease),
        "one row": lambda: default.predict_proba(numbers[:1]),
        "load": lambda: bg.load(path),
        "query": lambda: network.query(name, evidence),
    }


if __name__ == "__main__":
    for title, journey in journeys().items():
        sys.stdout.write(f"{title}: {calls(journey)}\n")
        for (file, function), count in calls_by_function(journey).most_common(40):
            sys.stdout.write(f"{count:>8,}  {file}  {function}\n")
