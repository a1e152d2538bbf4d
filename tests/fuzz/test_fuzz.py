"""Damaged and hostile inputs of every reader: read or refused, in words and within limits."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
from fuzz import corpus, links
from fuzz.targets import ANSWERS, TARGETS, input_of, outcomes, peak_of, read_dialect

import bayesgraph as bg
from bayesgraph.core.errors import FileFormatError

# What reading may allocate: 64 MB and 40 times the file, and a little that is not charged for.
FREE, PER_BYTE, UNCHARGED = 64 << 20, 40, 8 << 20

FILES = {
    ".bif": corpus.bif,
    ".xmlbif": corpus.xmlbif,
    ".xdsl": corpus.xdsl,
    ".rds": corpus.rds,
    ".json": corpus.gaussian_json,
    ".net": corpus.net,
    ".dne": corpus.dne,
    ".uai": corpus.uai,
    ".bayesgraph": corpus.native,
    ".html": corpus.pages,
    ".csv": corpus.csv,
    ".parquet": corpus.parquet,
}
# In Latin-1, and with a comment line.
REFUSED = {".csv": 2}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("suffix", FILES)
def test_what_the_inputs_are_made_of_is_read(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"file{suffix}"
    refused = []
    for data in FILES[suffix]():
        path.write_bytes(data)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                (bg.read_table if suffix in (".csv", ".parquet") else bg.load)(path)
            except FileFormatError as error:
                refused.append(str(error))
    assert len(refused) == REFUSED.get(suffix, 0), refused


@pytest.mark.filterwarnings("ignore::bayesgraph.core.errors.BayesGraphWarning")
def test_dialects_are_read_with_lines_of_every_end(tmp_path: Path) -> None:
    read = [read_dialect(data, tmp_path) for data in corpus.dialects()]
    assert len(read) == 28


def needs_node(name: str) -> Any:
    """Return a target, with a mark if it needs Node and there is none."""
    lacks = name == "share links" and links.node() is None
    return pytest.param(name, marks=pytest.mark.skipif(lacks, reason="needs Node, or Playwright"))


@pytest.mark.parametrize("name", [*map(needs_node, TARGETS)])
def test_some_inputs(name: str, tmp_path: Path) -> None:
    # Of damaged XML few files are well-formed.
    found = list(outcomes(name, 0, range({"xdsl": 80, "xmlbif": 120}.get(name, 40)), tmp_path))
    kinds = {outcome.kind for outcome in found}
    assert [outcome for outcome in found if outcome.kind in ("read", "use")] == []
    # None of the models that answer is refused.
    assert kinds == (
        {"used"} if name in ANSWERS else {"used", "refused"}
    )  # otherwise the changes are too small or too large


@pytest.mark.one_in(6)
@pytest.mark.parametrize(
    "numbers", [range(10), pytest.param(range(10, 300), marks=pytest.mark.slow)], ids=str
)
@pytest.mark.parametrize(
    "name", [n for n in TARGETS if n not in ("pgmpy", "share links") and n not in ANSWERS]
)
def test_memory_stays_within_the_budget(name: str, numbers: range, tmp_path: Path) -> None:
    peak_of(name, input_of(name, 0, 0), tmp_path)  # imports
    for number in numbers:
        given = input_of(name, 1, number)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            peak = peak_of(name, given, tmp_path)
        assert peak <= FREE + PER_BYTE * len(given) + UNCHARGED, number


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of memory are Linux's")
@pytest.mark.parametrize("name", [*map(needs_node, TARGETS)])
def test_many_inputs_within_limits_of_memory_and_time(name: str) -> None:
    tests, package = Path(__file__).parents[1], Path(bg.__file__).parents[1]
    ran = subprocess.run(
        [sys.executable, "-P", "-m", "fuzz.run", name, "--inputs", "30000"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(package), str(tests)))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
