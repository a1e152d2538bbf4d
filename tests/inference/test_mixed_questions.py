"""Explanations and draws where continuous variables are integrated out, against enumeration."""

import itertools

import numpy as np
import oracle as brute
import pytest

import bayesgraph as bg
from bayesgraph.core.errors import UnsupportedModelError


def worlds(net, evidence):
    """All assignments of the free discrete variables with log of the density of the evidence."""
    free = [v for v in net.variables if isinstance(v, bg.Discrete) and v.name not in evidence]
    found = []
    for states in itertools.product(*(v.states for v in free)):
        named = {v.name: state for v, state in zip(free, states, strict=True)}
        found.append((net.log_probability(evidence | named), named))
    return sorted(found, key=lambda pair: -pair[0])


def mixed_case(seed):
    random = np.random.default_rng(seed)
    net = brute.random_network(seed, n_discrete=4, n_continuous=3)
    row = {name: column[0] for name, column in net.sample(1, random_state=seed).items()}
    return net, {name: value for name, value in row.items() if random.random() < 0.35}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(25))
def test_the_k_best_assignments_of_the_discrete_variables(seed):
    net, evidence = mixed_case(seed)
    expected = [pair for pair in worlds(net, evidence) if pair[0] > -np.inf]
    found = net.k_most_probable(len(expected) + 3, evidence)
    assert len(found) == len(expected)
    for explanation, (log_probability, _) in zip(found, expected, strict=True):
        assert explanation.log_probability == pytest.approx(log_probability, abs=1e-8)
        value = net.log_probability(evidence | dict(explanation))
        assert value == pytest.approx(log_probability, abs=1e-8)
    # 1 and True are different states, which sets and dicts would take for one.
    assert len({repr(list(explanation.items())) for explanation in found}) == len(found)
    best = net.most_probable(evidence)
    assert found[0].log_probability == pytest.approx(best.log_probability, abs=1e-8)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("seed", range(25))
def test_marginal_map_of_discrete_variables(seed):
    net, evidence = mixed_case(seed)
    free = [v.name for v in net.variables if isinstance(v, bg.Discrete) and v.name not in evidence]
    targets = free[:2]
    if not targets:
        pytest.skip("all discrete variables are observed")
    totals = {}
    for log_probability, named in worlds(net, evidence):
        key = repr([named[name] for name in targets])
        totals[key] = np.logaddexp(totals.get(key, -np.inf), log_probability)
    found = net.most_probable(evidence, over=targets)
    assert found.log_probability == pytest.approx(max(totals.values()), abs=1e-8)
    assert totals[repr([found[name] for name in targets])] == pytest.approx(
        found.log_probability, abs=1e-8
    )


@pytest.mark.one_in(8)
@pytest.mark.parametrize("seed", range(12))
def test_the_k_best_of_two_discrete_variables(seed):
    net, evidence = mixed_case(seed)
    free = [v.name for v in net.variables if isinstance(v, bg.Discrete) and v.name not in evidence]
    if not (targets := free[-2:]):
        pytest.skip("all discrete variables are observed")
    totals = {}
    for log_probability, named in worlds(net, evidence):
        key = repr([named[name] for name in targets])
        totals[key] = np.logaddexp(totals.get(key, -np.inf), log_probability)
    expected = sorted((x for x in totals.values() if x > -np.inf), reverse=True)[:5]
    mixture = bg.Ensemble([net, net], [0.4, 0.6])
    for model in (net, mixture):
        found = model.k_most_probable(5, evidence, over=targets)
        np.testing.assert_allclose([a.log_probability for a in found], expected, atol=1e-8)
        for a in found:
            assert totals[repr(list(a.values()))] == pytest.approx(a.log_probability, abs=1e-8)


@pytest.mark.one_in(10)
@pytest.mark.parametrize("seed", range(8))
def test_draws_have_the_moments_of_the_posterior(seed):
    net, evidence = mixed_case(seed)
    n = 20_000
    drawn = net.sample(n, evidence, random_state=seed)
    again = net.sample(n, evidence, random_state=seed)
    assert list(drawn) == list(net.names)
    for name, column in drawn.items():
        assert (column == again[name]).all()
        if name in evidence:
            assert set(column) == {evidence[name]}
            continue
        posterior = net.query(name, evidence)
        if isinstance(posterior, bg.inference.Posterior):
            codes = np.array([net.variable(name).index(value) for value in column])
            for code, p in enumerate(posterior.probabilities):
                share = np.mean(codes == code)
                assert abs(share - p) < 5 * np.sqrt(p * (1 - p) / n) + 1e-9
        else:
            error = abs(column.mean() - posterior.mean)
            assert error < 5 * posterior.std / np.sqrt(n) + 1e-9
            assert np.std(column) == pytest.approx(posterior.std, rel=0.1)


def test_continuous_targets_are_refused_with_their_names():
    x, c = bg.Continuous("x"), bg.Discrete("c", [0, 1])
    net = bg.BayesianNetwork(
        [bg.TableCPD(c, [0.5, 0.5]), bg.GaussianCPD(x, [0.0, 1.0], 1.0, parents=[c])]
    )
    with pytest.raises(UnsupportedModelError, match="'x'"):
        net.most_probable(over=["c", "x"])
    assert net.k_most_probable(5, {"x": 3.0})[0]["c"] == 1
    only = bg.BayesianNetwork([bg.GaussianCPD(x, 2.0, 4.0)])
    assert only.sample(1000, random_state=0)["x"].mean() == pytest.approx(2.0, abs=0.3)


def test_weighted_samples_of_a_model():
    net, evidence = mixed_case(3)
    target = next(v.name for v in net.variables if v.name not in evidence)
    samples = net.weighted_samples(target, evidence, n=20_000, random_state=0)
    assert samples.n_samples == 20_000
    error = samples.log_evidence.value - net.log_probability(evidence)
    assert abs(error) < 5 * samples.log_evidence.standard_error + 1e-9
