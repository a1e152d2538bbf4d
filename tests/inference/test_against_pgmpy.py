"""Posteriors of published networks equal pgmpy's exact inference, and enumeration where feasible.

Evidence is drawn from forward samples, so that none of it is impossible.
"""

import warnings

import numpy as np
import pytest
from oracle import Oracle

import bayesgraph as bg

pytest.importorskip("pgmpy")
NETWORKS = ["asia", "cancer", "earthquake", "survey", "sachs", "child", "insurance", "alarm"]
NETWORKS += ["hailfinder", "hepar2", "win95pts"]


def evidence_sets(net, number, seed=0):
    """No evidence, then sets of about a tenth of the variables (at least one), from samples."""
    rng = np.random.default_rng(seed)
    rows = net.sample(number, random_state=seed)
    names = list(net.names)
    size = max(1, round(len(names) / 10))
    yield {}
    for row in range(number):
        chosen = rng.choice(len(names), size, replace=False)
        yield {names[i]: str(rows[names[i]][row]) for i in chosen}


def compare_with_pgmpy(name, number):
    from pgmpy.inference import VariableElimination

    net = bg.examples.network(name)
    engine = VariableElimination(bg.files.to_pgmpy(net))
    for evidence in evidence_sets(net, number):
        for target in net.names:
            if target in evidence:
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                theirs = engine.query([target], evidence, show_progress=False)
            ours = net.query(target, evidence)
            for state in net.variable(target).states:
                assert ours[state] == pytest.approx(
                    theirs.get_value(**{target: state}), abs=1e-9
                ), (target, evidence)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("number", [1, pytest.param(5, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", NETWORKS)
def test_posteriors_equal_pgmpy(name, number):
    compare_with_pgmpy(name, number)


@pytest.mark.parametrize("name", ["asia", "cancer", "earthquake", "survey"])
def test_posteriors_equal_enumeration(name):
    net = bg.examples.network(name)
    enumerated = Oracle.of(net)
    for evidence in evidence_sets(net, 10):
        for target in net.names:
            if target not in evidence:
                ours = net.query(target, evidence).probabilities
                theirs = enumerated.posterior([target], evidence)
                np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9)
