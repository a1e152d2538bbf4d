"""What the page answers about networks of tables is what Python answers.

Of the networks that come along only link and munin1 are beyond the page's limit.
"""

import mixed_parity
import numpy as np
import page_parity as parity
import pytest

import bayesgraph as bg

_MORE = (
    *(
        "cancer",
        "insurance",
        "child",
        "alarm",
        "earthquake",
        "sachs",
        "survey",
        "hailfinder",
        "hepar2",
        "win95pts",
    ),
    *("andes", "water", "pathfinder", "pigs", "mildew", "barley", "diabetes"),
)
# Networks about which only posteriors, assignments, information and conflict are asked.
_LARGE = _MORE[_MORE.index("andes") :]


def normalised(model):
    """Return a network whose rows sum to one; those of files do so to seven digits only."""
    cpds = [
        bg.TableCPD(cpd.variable, cpd.values / cpd.values.sum(-1, keepdims=True), cpd.parents)
        for cpd in model.cpds
    ]
    return bg.BayesianNetwork(cpds)


def errors(model, page, evidence, *, is_large):
    """Return how far the answers to each question are apart."""
    target = parity.free_target(model, evidence)
    found = {
        "posteriors": parity.posterior_error(model, page, evidence),
        "assignment": parity.assignment_error(model, page, evidence),
        "information": parity.information_error(model, page, evidence, target),
        "conflict": parity.conflict_error(model, page, evidence) if evidence else 0.0,
    }
    if is_large:
        return found
    found["sensitivity"] = parity.sensitivity_error(model, page, evidence, target)
    number, given = model._index_of[target], parity.findings(model, evidence)
    for verb, more in (("contributions", [0]), ("flip", [])):
        answer = page.ask(verb, given, number, *more)
        asked = mixed_parity.Asked("", model, number, [])
        apart = mixed_parity.differences(verb, asked, evidence, answer)
        found[verb] = max((error for _, error in apart), default=0.0)
    return found


@pytest.mark.parametrize(
    "name", ["asia", *(pytest.param(name, marks=pytest.mark.slow) for name in _MORE)]
)
def test_networks(opened, name):
    model = normalised(bg.examples.network(name))
    page = opened(model)
    for kind, evidence in parity.evidence_sets(model).items():
        found = errors(model, page, evidence, is_large=name in _LARGE)
        # Costs of flips and logarithms of thousands of factors are sums of many numbers.
        assert max(found.values()) < (1e-11 if name in _LARGE else 1e-12), (kind, found)


def test_a_state_that_is_given_is_not_missing(opened):
    kind, a = bg.Discrete("kind", ["one", "two"]), bg.Discrete("a", ["x", "y", "z"])
    model = bg.BayesianNetwork(
        [
            bg.TableCPD(kind, [0.3, 0.7]),
            bg.TableCPD(a, [[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]], [kind]),
            bg.TableCPD(bg.core.MissingIndicator("no a", "a"), [[0.9, 0.1], [0.4, 0.6]], [kind]),
        ]
    )
    assert model.query("kind", {"a": "y"})["one"] == pytest.approx(0.27 / (0.27 + 0.28))
    page = opened(model)
    for evidence in ({"a": "y"}, {"no a": "yes"}, {"a": {"x": 1.0, "y": 0.5, "z": 0.0}}, {}):
        found = errors(model, page, evidence, is_large=False)
        assert max(found.values()) < 1e-12, (evidence, found)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["alarm", "sachs", "hepar2", "pathfinder", "diabetes"])
def test_networks_whose_rows_do_not_sum_to_one(opened, name):
    model = bg.examples.network(name)
    off = sum(float(np.abs(cpd.values.sum(-1) - 1).max()) for cpd in model.cpds)
    page = opened(model)
    for kind, evidence in parity.evidence_sets(model).items():
        target = parity.free_target(model, evidence)
        assert parity.posterior_error(model, page, evidence, logs=False) < 1e-9, kind
        assert parity.posterior_error(model, page, evidence) < 1e-9 + off, kind
        assert parity.assignment_error(model, page, evidence) < 1e-9, kind
        assert parity.information_error(model, page, evidence, target) < 1e-9, kind
