"""The networks of the literature that come along, through every format."""

from __future__ import annotations

import functools
import gzip
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from network_files import repository

import bayesgraph as bg

NETWORKS = repository()
SMALL = [path for path in NETWORKS if path.stat().st_size < 15_000]


def _paths(paths: Sequence[Path], largest: int) -> pytest.MarkDecorator:
    """Return the networks of some files; those of more bytes are slow."""
    slow = [pytest.mark.slow]
    return pytest.mark.parametrize(
        "path",
        [pytest.param(path, marks=slow * (path.stat().st_size > largest)) for path in paths],
        ids=lambda path: path.name,
    )


every = _paths(NETWORKS, 10_000)


@functools.cache
def network(path: Path) -> bg.BayesianNetwork:
    """Return the network of a file: the tests share it."""
    return bg.load(path)  # warnings are errors: no row needed to be normalised


@pytest.mark.one_in(4)
@every
def test_it_loads_and_goes_round(path: Path, tmp_path: Path) -> None:
    text = gzip.decompress(path.read_bytes()).decode()
    net = network(path)
    assert list(net.names) == re.findall(r"^variable (\S+) \{", text, re.MULTILINE)
    arcs = re.findall(r"^probability \( (\S+) \| (.*) \) \{", text, re.MULTILINE)
    expected = {(parent, child) for child, parents in arcs for parent in parents.split(", ")}
    assert set(net.graph.edges) == expected
    net.save(tmp_path / "net.bayesgraph")
    net.save(tmp_path / "net.bif")
    net.save(tmp_path / "net.uai", strict=False)
    for name in ("net.bayesgraph", "net.bif", "net.uai"):
        back = bg.load(tmp_path / name)
        assert back == net
        assert back.names == net.names


@pytest.mark.one_in(4)
@every
def test_numbers_are_those_of_the_file(path: Path) -> None:
    """An independent reading: every row of the file, by its states."""
    text = gzip.decompress(path.read_bytes()).decode()
    net = network(path)
    block = re.compile(
        r"^probability \( (\S+)(?: \| ([^)]*))? \) \{\n(.*?)^\}", re.MULTILINE | re.DOTALL
    )
    for child, parents, body in block.findall(text):
        cpd = net[child]
        assert [parent.name for parent in cpd.parents] == (parents.split(", ") if parents else [])
        lines = body.splitlines()
        assert len(lines) == cpd.values[..., 0].size
        for line in lines[:: max(1, len(lines) // 50)]:
            states, numbers = re.fullmatch(r"  (?:\((.*)\)|table) (.*);", line).groups()
            codes = [
                parent.states.index(state)
                for parent, state in zip(
                    cpd.parents, states.split(", ") if states else [], strict=True
                )
            ]
            np.testing.assert_array_equal(
                cpd.values[tuple(codes)], list(map(float, numbers.split(", ")))
            )


@_paths(SMALL, 5_000)
def test_it_goes_through_pgmpy(path: Path) -> None:
    net = network(path)
    converted = bg.files.to_pgmpy(net)
    assert converted.check_model()
    back = bg.from_pgmpy(converted)
    assert back == net
    assert back.names == net.names
