"""The time of reading is linear in the length of a file, and that of patterns in the text's.

These are the only tests that look at a clock: that of the CPU, with some ten to hundred times
what the linear readers need. Quadratic ones need minutes for the longer texts, and seconds for the
shorter.
"""

from __future__ import annotations

import contextlib
import importlib
import inspect
import itertools
import pkgutil
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fuzz.limits import cpu_seconds
from fuzz.shapes import SHAPES

import bayesgraph as bg
import bayesgraph.cli
import bayesgraph.files
from bayesgraph.core.errors import BayesGraphError

SHORT, LONG, SECONDS = 1 << 14, 1 << 20, 2.0


@pytest.fixture(scope="module", autouse=True)
def _readers_are_imported(tmp_path_factory: pytest.TempPathFactory) -> None:
    for name in SHAPES:
        _read(name, 200, tmp_path_factory.mktemp("warm"))


def _read(name: str, length: int, folder: Path, seconds: float = SECONDS) -> None:
    suffix, shape = SHAPES[name]
    path = folder / f"shape{suffix}"
    path.write_bytes(shape(length))
    read: Any = {".csv": bg.read_table, ".dagitty": bg.questions.read_dagitty}.get(suffix, bg.load)
    with warnings.catch_warnings(), contextlib.suppress(BayesGraphError):
        warnings.simplefilter("ignore")
        with cpu_seconds(seconds):
            read(path)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", SHAPES)
def test_texts_are_read_or_refused_in_linear_time(name: str, tmp_path: Path) -> None:
    _read(name, SHORT, tmp_path, SECONDS / 4)


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES)
def test_long_texts_are_read_or_refused_in_linear_time(name: str, tmp_path: Path) -> None:
    _read(name, LONG, tmp_path)


def _patterns() -> Iterator[tuple[str, re.Pattern[Any], str]]:
    """Yield name, pattern and a method that is called of each pattern in modules that read."""
    for package in (bayesgraph.files, bayesgraph.cli):
        for found in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
            module = importlib.import_module(found.name)
            source = inspect.getsource(module)
            for name, value in vars(module).items():
                if isinstance(value, re.Pattern):
                    for method in sorted(set(re.findall(rf"\b{name}\.(\w+)\(", source))):
                        yield f"{found.name}.{name}.{method}", value, method


PATTERNS = {name: (pattern, method) for name, pattern, method in _patterns()}


def _texts(pattern: re.Pattern[Any], length: int, third: int) -> Iterator[Any]:
    """Yield repetitions of what the pattern speaks of, with an end that does not match.

    These are all characters, and every third of their pairs.
    """
    empty = pattern.pattern[:0]
    source = pattern.pattern if isinstance(empty, str) else pattern.pattern.decode("latin-1")
    characters = sorted({*re.sub(r"[\\\[\]^?+*$&]", "", source)[:60], *' \n"a1.,({/#'})
    pairs = [*itertools.product(characters[:40], ' \n"a1,{')][third::3]
    for unit in (*characters, *("".join(pair) for pair in pairs)):
        text = unit * (length // len(unit)) + "\x00"
        yield text if isinstance(empty, str) else text.encode("latin-1")


@pytest.mark.one_in(18)
@pytest.mark.parametrize("third", range(3))
@pytest.mark.parametrize("name", PATTERNS)
def test_patterns_are_linear(name: str, third: int) -> None:
    pattern, method = PATTERNS[name]
    for text in _texts(pattern, 1 << 14, third):
        with cpu_seconds(SECONDS):
            if method in ("match", "fullmatch"):
                getattr(pattern, method)(text)
            else:
                sum(1 for _ in pattern.finditer(text))
