"""Most relevant explanations, against enumeration of all partial assignments."""

import itertools
import math

import numpy as np
import pytest
from joint import Joint, random_evidence
from joint import random_network as random_tables
from oracle import Oracle, random_network

import bayesgraph as bg
from bayesgraph.core.errors import EvidenceError, MemoryLimitError


def factors(before, after):
    """Return the Bayes factor of each partial assignment, {((axis, code), ...): factor}."""
    before, after = before / before.sum(), after / after.sum()
    found = {}
    for codes in itertools.product(*([None, *range(n)] for n in before.shape)):
        chosen = tuple((axis, c) for axis, c in enumerate(codes) if c is not None)
        if not chosen:
            continue
        mask = np.ones(before.shape, dtype=bool)
        for axis, code in chosen:
            mask &= np.indices(before.shape)[axis] == code
        inside, outside = before[mask].sum(), before[~mask].sum()
        now, then = after[mask].sum(), after[~mask].sum()
        if inside > 0 and not (then == 0 and outside == 0):
            found[chosen] = math.inf if then == 0 else now * outside / (inside * then)
    return found


def screened(known, k):
    """Return the k best factors, of which none is part of another one."""
    kept = []
    for chosen in sorted(known, key=lambda c: (-known[c], len(c))):
        if not any(set(chosen) <= set(o) or set(chosen) >= set(o) for o in kept):
            kept.append(chosen)
    return [known[c] for c in kept[:k]]


@pytest.mark.one_in(5)
@pytest.mark.parametrize("seed", range(24))
def test_explanations_of_tables_equal_enumeration(seed):
    net = random_tables(seed, worlds=400)
    random = np.random.default_rng(seed)
    joint = Joint.of(net)
    evidence = random_evidence(random, joint, hard=0.4, soft=0.1)
    free = [v.name for v in net.variables if v.name not in evidence][:4]
    if not free or not evidence:
        return
    known = factors(joint.table(free, {}), joint.table(free, evidence))
    found = net.ask.most_relevant(free, evidence, k=3)
    expected = screened(known, 3)
    assert [f.factor for f in found[:1]] == pytest.approx(expected[:1], rel=1e-9)
    for one, other in itertools.permutations(found, 2):
        assert not one.states.items() <= other.states.items()
    for one in found:
        codes = tuple(
            sorted((free.index(n), net.variable(n).index(s)) for n, s in one.states.items())
        )
        assert one.factor == pytest.approx(known[codes], rel=1e-9)
        prior = joint.weight_of(one.states, {})
        assert one.prior == pytest.approx(prior, abs=1e-12)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(8))
def test_explanations_of_mixed_networks_equal_enumeration(seed):
    net = random_network(seed, n_discrete=4, n_continuous=2)
    oracle = Oracle.of(net)
    free = [v.name for v in net.variables if isinstance(v, bg.Discrete)]
    rows = net.sample(1, random_state=seed, frame="dict")
    evidence = {
        v.name: float(rows[v.name][0]) for v in net.variables if isinstance(v, bg.Continuous)
    }
    known = factors(oracle.joint(free), oracle.joint(free, evidence))
    if not known:
        assert net.ask.most_relevant(free, evidence) == []
        return
    (found,) = net.ask.most_relevant(free, evidence)
    assert found.factor == pytest.approx(max(known.values()), rel=1e-9)


def test_what_explains_nothing_is_left_out():
    cause, other, effect = (bg.Discrete(n, ["no", "yes"]) for n in ("cause", "other", "effect"))
    net = bg.BayesianNetwork(
        [
            bg.TableCPD(cause, [0.99, 0.01]),
            bg.TableCPD(other, [0.05, 0.95]),
            bg.TableCPD(effect, [[0.99, 0.01], [0.1, 0.9]], [cause]),
        ]
    )
    (found,) = net.ask.most_relevant(["cause", "other"], {"effect": "yes"})
    assert found.states == {"cause": "yes"}
    assert found.factor == pytest.approx(90.0)
    assert net.most_probable({"effect": "yes"})["other"] == "yes"
    assert "Bayes factor of 90" in repr(found)


def test_what_cannot_be_explained():
    net = random_network(1, n_discrete=3, n_continuous=1)
    discrete = [v.name for v in net.variables if isinstance(v, bg.Discrete)]
    number = next(v.name for v in net.variables if isinstance(v, bg.Continuous))
    with pytest.raises(EvidenceError, match="none was given"):
        net.ask.most_relevant(discrete, {})
    with pytest.raises(EvidenceError, match="not discrete"):
        net.ask.most_relevant([number], {discrete[0]: net.variable(discrete[0]).states[0]})
    wide = [bg.Discrete(f"v{i}", range(4)) for i in range(12)]
    many = bg.BayesianNetwork([bg.TableCPD(v, [0.25] * 4) for v in wide])
    with pytest.raises(MemoryLimitError, match="Name fewer"):
        many.ask.most_relevant([v.name for v in wide[:11]], {"v11": 0})
