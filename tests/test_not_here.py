"""What docs/not-here.md says is not here is not here, row by row."""

import inspect
import re
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import bayesgraph as bg

PAGE = (Path(__file__).parents[1] / "docs" / "not-here.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (?!not here|---)(.+?) \| .+ \|$", PAGE, re.MULTILINE)
TABLE = {"a": np.tile(["p", "q"], 20), "b": np.tile(["x", "y", "x", "x"], 10)}
COIN = bg.Discrete("coin", ["heads", "tails"])
NET = bg.BayesianNetwork([bg.TableCPD(COIN, [0.5, 0.5])])


def unnamed(*words):
    """Check that no public name of the library has one of some words in it."""
    rooms = [value for value in vars(bg).values() if inspect.ismodule(value)]
    names = {name for room in rooms for name in getattr(room, "__all__", ())} | set(bg.__all__)
    kinds = [getattr(bg, name) for name in bg.__all__ if inspect.isclass(getattr(bg, name))]
    names |= {name for kind in kinds for name in dir(kind) if not name.startswith("_")}
    names |= {*dir(NET.ask)}
    assert len(names) > 300
    assert not [name for name in names for word in words if word in name.lower()]


def lacks(kind, *names):
    """Check that a class has none of some methods."""
    assert not [name for name in names if hasattr(kind, name)]


def learned_by(error, **options):
    """Check that a network is not learned with some options."""
    with pytest.raises(error):
        bg.BayesianNetwork.learn(TABLE, **options)


def below_a_number():
    with pytest.raises(bg.errors.CPDError, match="cannot have continuous parents"):
        bg.TableCPD(COIN, [0.5, 0.5], parents=[bg.Continuous("x")])


def switching():
    regime, level = bg.Discrete("regime", ["a", "b"]), bg.Continuous("level")
    model = bg.TemporalNetwork(
        [
            bg.TableCPD(regime, [0.5, 0.5]),
            bg.GaussianCPD(level, mean=[0.0, 0.0], variance=[1.0, 9.0], parents=[regime]),
            bg.GaussianCPD(
                bg.Continuous("y"), mean=0.0, coefficients=[1.0], variance=1.0, parents=[level]
            ),
        ],
        [
            bg.TableCPD(regime, [[0.9, 0.1], [0.1, 0.9]], parents=[bg.before(regime)]),
            bg.GaussianCPD(
                level,
                mean=[0.0, 0.0],
                coefficients=[[1.0], [0.5]],
                variance=[1.0, 9.0],
                parents=[regime, bg.before(level)],
            ),
        ],
    )
    with pytest.raises(bg.errors.UnsupportedModelError, match="switching"):
        model.smooth({"y": [0.1, 0.4, 5.0]}, "level")


def unwritten(tmp_path):
    for suffix in (".sql", ".onnx", ".pmml", ".c"):
        with pytest.raises(bg.errors.FileFormatError):
            NET.save(tmp_path / f"net{suffix}")


def uncounted(tmp_path):
    (tmp_path / "formula.cnf").write_text("p cnf 2 1\n1 2 0\n")
    with pytest.raises(bg.errors.FileFormatError):
        bg.load(tmp_path / "formula.cnf")


def unrolled_elsewhere(tmp_path):
    (tmp_path / "steps.xdsl").write_text(
        '<?xml version="1.0"?><smile version="1.0" id="n"><nodes><cpt id="a"><state id="s"/>'
        '<state id="t"/><probabilities>0.5 0.5</probabilities></cpt></nodes>'
        '<dynamic numslices="3"><cpt id="a" order="1"><parents>a</parents>'
        "<probabilities>0.5 0.5 0.5 0.5</probabilities></cpt></dynamic></smile>"
    )
    with pytest.raises(bg.errors.FileFormatError, match="Unroll"):
        bg.load(tmp_path / "steps.xdsl")


# How each row of the page is known to be true, by the words that it begins with.
CHECKS = {
    "decision and utility nodes": partial(unnamed, "utilit", "influence"),
    "a category below a number": below_a_number,
    "numbers that depend on numbers": partial(unnamed, "spline", "nonlinear"),
    "switching linear Gaussians": switching,
    "relations, individuals": partial(unnamed, "relational", "lifted"),
    "probabilities known as intervals": partial(unnamed, "credal", "imprecise"),
    "counting models of a CNF": uncounted,
    "priors of any shape": partial(unnamed, "mcmc", "hmc", "variational"),
    "neural networks": partial(unnamed, "neural", "torch", "embedding"),
    "the structure of sequences": partial(lacks, bg.TemporalNetwork, "learn"),
    "structural EM": partial(learned_by, bg.errors.DataError, missing="structural-em"),
    "GES, FCI, BOSS, LiNGAM": partial(learned_by, bg.errors.DataError, method="fci"),
    "undirected networks": partial(lacks, bg.FactorGraph, "fit", "learn"),
    "constraints on numbers": partial(unnamed, "monoton"),
    "times that are censored": partial(unnamed, "surviv", "censor"),
    "noise for differential privacy": partial(unnamed, "priva"),
    "counterfactuals": partial(unnamed, "counterfact", "twin"),
    "refutations": partial(unnamed, "refut", "e_value"),
    "SQL, ONNX, PMML, C": unwritten,
    "a graph that is drawn or edited": partial(unnamed, "widget", "editor"),
    "dynamic networks of GeNIe": unrolled_elsewhere,
    "a server": partial(unnamed, "server", "http"),
    "graphics processors": partial(unnamed, "gpu", "cuda"),
}


def test_every_row_has_a_check():
    assert len(ROWS) == len(CHECKS)
    assert all(any(row.startswith(words) for words in CHECKS) for row in ROWS)


@pytest.mark.parametrize("words", CHECKS)
def test_it_is_not_here(words, request):
    assert [row for row in ROWS if row.startswith(words)]
    check = CHECKS[words]
    needs_folder = "tmp_path" in inspect.signature(check).parameters
    check(*([request.getfixturevalue("tmp_path")] if needs_folder else []))
