"""pgmpy's JSON files of linear Gaussian networks: the four that come along, and its own reader."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from network_files import gaussian_files

import bayesgraph as bg
from bayesgraph.core.errors import FileFormatError

# Nodes and arcs as bnlearn's repository says.
SIZES = {
    "arth150": (107, 150),
    "ecoli70": (46, 70),
    "magic-irri": (64, 102),
    "magic-niab": (44, 66),
}


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=[pytest.mark.slow] if path.stem == "arth150" else [])
        for path in gaussian_files()
    ],
    ids=lambda path: path.stem,
)
def test_networks_of_the_repository(path: Path) -> None:
    pytest.importorskip("pgmpy.inference", exc_type=ImportError)
    from pgmpy.models import LinearGaussianBayesianNetwork

    net = bg.load(path)
    assert (len(net.names), net.graph.number_of_edges()) == SIZES[path.stem]
    # An independent reading: pgmpy's own, and its joint Gaussian.
    peer = LinearGaussianBayesianNetwork.load(str(path))
    assert list(net.names) == json.loads(path.read_text())["nodes"]
    mean, covariance = peer.to_joint_gaussian()
    import networkx as nx

    order = list(nx.topological_sort(peer))
    for name in net.names[:: max(1, len(net.names) // 8)]:
        found = net.query(name)
        place = order.index(name)
        # pgmpy rounds the joint Gaussian to three decimals.
        assert found.mean == pytest.approx(mean[place], abs=2e-3)
        assert found.variance == pytest.approx(covariance[place, place], abs=2e-3)
    texts = dict(
        re.findall(r'"([^"]+)": \{\s*"coef[^}]*\}[^}]*?"variance": \[([^\]]+)\]', path.read_text())
    )
    assert all(float(net[name].variance) == float(text) for name, text in texts.items())
    assert len(texts) == len(net.names)


@pytest.mark.parametrize("path", gaussian_files(), ids=lambda path: path.stem)
def test_to_pgmpy_and_back_to_the_bit(path: Path, tmp_path: Path) -> None:
    pytest.importorskip("pgmpy.inference", exc_type=ImportError)
    net = bg.load(path)
    model = bg.files.to_pgmpy(net)
    assert bg.from_pgmpy(model) == net
    # pgmpy's file has the squares of its rounded standard deviations.
    model.save(str(tmp_path / "again.json"))
    again = bg.load(tmp_path / "again.json")
    assert again.names == net.names
    for cpd in net.cpds:
        found = again[cpd.variable.name]
        assert found.parents == cpd.parents
        assert (found.coefficients == cpd.coefficients).all()
        assert found.variance == pytest.approx(float(cpd.variance), rel=4e-16)


def test_evidence_is_that_of_pgmpys_joint_gaussian() -> None:
    """Conditioning the joint Gaussian of ecoli70 by hand gives the same posteriors."""
    path = next((path for path in gaussian_files() if path.stem == "ecoli70"), None)
    if path is None:
        pytest.skip("pgmpy is not installed")
    net = bg.load(path)
    names = list(net.names)
    place = {name: i for i, name in enumerate(names)}
    weights, offsets = np.zeros((len(names),) * 2), np.zeros(len(names))
    noise = np.zeros(len(names))
    for cpd in net.cpds:
        i = place[cpd.variable.name]
        offsets[i], noise[i] = cpd.mean, cpd.variance
        weights[i, [place[p.name] for p in cpd.parents]] = cpd.coefficients
    inverse = np.linalg.inv(np.eye(len(names)) - weights)
    mean, covariance = inverse @ offsets, inverse @ np.diag(noise) @ inverse.T
    given = {"lacA": 1.0, "icdA": -0.5, "yfiA": 2.0}
    seen = [place[name] for name in given]
    gain = covariance[:, seen] @ np.linalg.inv(covariance[np.ix_(seen, seen)])
    expected = mean + gain @ (np.array(list(given.values())) - mean[seen])
    for name in ("aceB", "lacZ", "cspG", "yheI", "asnA"):
        found = net.query(name, given)
        i = place[name]
        assert found.mean == pytest.approx(expected[i], abs=1e-9)
        variance = covariance[i, i] - gain[i] @ covariance[seen, i]
        assert found.variance == pytest.approx(variance, abs=1e-9)


VALID: dict[str, Any] = {
    "nodes": ["b", "a"],
    "arcs": [["a", "b"]],
    "cpds": {
        "a": {"coefficients": {"(Intercept)": [0.5]}, "variance": [4], "parents": []},
        "b": {
            "coefficients": {"a": [-2.0], "(Intercept)": [1.0]},
            "variance": [0.25],
            "parents": ["a"],
        },
    },
}


def test_numbers_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "net.json"
    path.write_text(json.dumps(VALID))
    net = bg.load(path)
    assert net.names == ("b", "a")
    assert net.query("b").mean == pytest.approx(0.0, abs=1e-12)
    assert net.query("b").variance == pytest.approx(0.25 + 4 * 4)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_numbers_beyond_the_range_of_floats(tmp_path: Path) -> None:
    path = tmp_path / "net.json"
    path.write_text(_with(["cpds", "a", "coefficients", "(Intercept)"], [1e308]))
    assert np.isnan(bg.load(path).query("b").quantile(0.5))  # its mean would be -2e308
    path.write_text(_with(["cpds", "b", "coefficients", "a"], [-1e308]))
    with pytest.raises(bg.errors.UnsupportedModelError, match="'b' is beyond the range of floats"):
        bg.load(path).query("b")


def _with(place: list[str], value: Any) -> str:
    content = json.loads(json.dumps(VALID))
    item = content
    for key in place[:-1]:
        item = item[key]
    item[place[-1]] = value
    return json.dumps(content)


B = ["cpds", "b"]
REFUSED = {
    "no JSON": ("{", "cannot be read as pgmpy's JSON"),
    "nested": ("[" * 100_000, "cannot be read as pgmpy's JSON"),
    "a list": ("[1]", "expected the entries 'nodes'"),
    "no nodes": (_with(["nodes"], []), "expected the entries 'nodes'"),
    "names that are no text": (_with(["nodes"], ["b", 1]), "expected names that are text"),
    "a node twice": (_with(["nodes"], ["a", "b", "a"]), "declared a second time"),
    "a node without a CPD": (_with(["nodes"], ["a", "b", "c"]), "node 'c': expected its 'parents'"),
    "unknown parents": (
        _with([*B, "parents"], ["c"]),
        "node 'b': the variable 'c' is not declared",
    ),
    "other coefficients": (
        _with([*B, "coefficients"], {"(Intercept)": [1.0]}),
        "node 'b': expected coefficients of",
    ),
    "a coefficient that is text": (
        _with([*B, "coefficients", "a"], ["1"]),
        r"node 'b': expected a list with one number; got \['1'\]",
    ),
    "two numbers": (_with([*B, "variance"], [1, 2]), "a list with one number"),
    "a boolean": (_with([*B, "variance"], [True]), "a list with one number"),
    "not a number": (_with([*B, "variance"], [float("nan")]), "a list with one number"),
    "a large integer": (_with([*B, "variance"], [10**400]), "a list with one number"),
    "no variance": (_with([*B, "variance"], [0]), "every variance must be positive"),
    "other arcs": (_with(["arcs"], [["b", "a"]]), "expected the arcs of the parents"),
    "a cycle": (
        _with(
            ["cpds", "a"],
            {"coefficients": {"(Intercept)": [0], "b": [1]}, "variance": [1], "parents": ["b"]},
        ),
        "cycle",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, tmp_path: Path) -> None:
    text, message = REFUSED[name]
    path = tmp_path / "net.json"
    path.write_text(text)
    with pytest.raises(FileFormatError, match=message):
        bg.load(path)


def test_mixed_networks_are_refused_by_name() -> None:
    """No class of pgmpy holds a Gaussian with discrete parents as numbers."""
    pytest.importorskip("pgmpy.inference", exc_type=ImportError)
    rain, temp = bg.Discrete("rain", ["no", "yes"]), bg.Continuous("temp")
    net = bg.BayesianNetwork(
        [bg.TableCPD(rain, [0.8, 0.2]), bg.GaussianCPD(temp, [20.0, 14.0], [9.0, 4.0], [rain])]
    )
    with pytest.raises(bg.errors.LossyExportError, match=r"discrete and continuous .*: 'temp'"):
        bg.files.to_pgmpy(net)
