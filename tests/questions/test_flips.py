"""Flips: the cheapest change of findings, against enumeration of all changes."""

import functools
import itertools
import math

import numpy as np
import pytest
from joint import Joint, random_evidence
from joint import random_network as random_tables
from oracle import Oracle, random_network

import bayesgraph as bg
from bayesgraph.core.errors import (
    DataError,
    EvidenceError,
    ImpossibleEvidenceError,
    UnknownVariableError,
)
from bayesgraph.core.variables import MissingIndicator

EPSILON = 1e-9


def yes_no(name):
    return bg.Discrete(name, ["no", "yes"])


def cheapest(posterior, choices, wanted):
    """Return the least cost of all changes, of which `posterior` is asked one by one.

    `choices` maps each name to its values with their costs; `wanted` tells from a posterior, zeros
    if the findings are impossible, whether it is a flip.
    """
    best = math.inf
    for change in itertools.product(*(options.items() for options in choices.values())):
        cost = math.fsum(price for _, (_, price) in change)
        if cost < best:
            findings = {n: v for n, (_, (v, _)) in zip(choices, change, strict=True)}
            if wanted(posterior(findings)):
                best = cost
    return best


def states_at_cost(variable, old, weight):
    """Return the options of a finding, {number: (state, cost)}, the old one for nothing."""
    same = [type(s) is type(old) and s == old for s in variable.states]
    return {
        i: (s, 0.0 if kept else weight)
        for i, (s, kept) in enumerate(zip(variable.states, same, strict=True))
    }


def another(before):
    def wanted(shares):
        others = np.delete(shares, before)
        # Clearly more probable, as ties are no flips.
        return others.size and others.max() > shares[before] * (1 + 1e-9) and others.max() > 0

    return wanted


# ------------------------------------------------------------------------ against enumeration


@pytest.mark.one_in(5)
@pytest.mark.parametrize("seed", range(48))
def test_flips_of_tables_equal_the_cheapest_of_all_changes(seed):
    """Random networks: zeros, deterministic tables, disconnected parts, soft evidence."""
    net = random_tables(seed, worlds=500)
    random = np.random.default_rng(seed)
    joint = Joint.of(net)
    evidence = random_evidence(random, joint, hard=0.5, soft=0.2)
    free = [v for v in net.variables if v.name not in evidence and v.cardinality > 1]
    if not free:
        return
    target = free[int(random.integers(len(free)))]
    start = joint.table([target.name], evidence)
    before = int(np.argmax(start))
    hard = {n for n, v in evidence.items() if not isinstance(v, (dict, np.ndarray, type(None)))}
    hard -= {n for n in hard if isinstance(evidence[n], float) and math.isnan(evidence[n])}
    costs = {n: float(random.integers(1, 4)) for n in hard if random.random() < 0.7}
    fixed = [n for n in hard if random.random() < 0.2]
    choices = {
        n: states_at_cost(net.variable(n), evidence[n], costs.get(n, 1.0))
        for n in hard
        if n not in fixed
    }

    def posterior(findings):
        return joint.table([target.name], {**evidence, **findings})

    expected = cheapest(posterior, choices, another(before))
    found = net.ask.flip(target.name, evidence, costs=costs, fixed=fixed)
    assert found.cost == pytest.approx(expected, abs=1e-9)
    assert found.bound == found.cost
    assert found.proved
    if found.found:
        shares = posterior({n: found.evidence[n] for n in choices})
        assert np.allclose(found.posterior_after.probabilities, shares / shares.sum(), atol=1e-9)
        assert math.fsum(change.cost for change in found.changes) == pytest.approx(found.cost)
        assert not {change.name for change in found.changes} & set(fixed)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("seed", range(12))
def test_flips_to_a_probability_equal_the_cheapest_of_all_changes(seed):
    random = np.random.default_rng(seed)
    c = bg.Discrete("c", ["a", "b", "d"][: 2 + seed % 2])
    features = [bg.Discrete(f"x{i}", range(2 + i % 3)) for i in range(5)]
    k = len(c.states)
    tables = [random.dirichlet(np.ones(v.cardinality), size=k) for v in features]
    tables[0][0] = np.eye(features[0].cardinality)[0]  # some values exclude a class
    prior = random.dirichlet(np.ones(k))
    net = bg.BayesianNetwork(
        [
            bg.TableCPD(c, prior),
            *(bg.TableCPD(v, t, [c]) for v, t in zip(features, tables, strict=True)),
        ]
    )
    evidence = {v.name: 0 for v in features}
    costs = {v.name: float(random.uniform(0.5, 2)) for v in features}
    choices = {v.name: states_at_cost(v, 0, costs[v.name]) for v in features}

    def posterior(findings):
        return prior * np.prod(
            [t[:, findings[v.name]] for v, t in zip(features, tables, strict=True)], axis=0
        )

    start = posterior(evidence)
    for code, state in enumerate(c.states):
        if start[code] / start.sum() > 0.7:
            continue
        expected = cheapest(
            posterior, choices, lambda p, at=code: p.sum() > 0 and p[at] / p.sum() >= 0.7
        )
        found = net.ask.flip("c", evidence, state, at_least=0.7, costs=costs)
        assert found.cost == pytest.approx(expected, abs=1e-9)
        assert found.proved


# Step by step, one does not find the cheapest change of these; bounds must not cut it off.
@pytest.mark.parametrize(("seed", "even"), [(0, 2.0), (14, 2.0), (19, 2.0), (2, 0.7), (22, 0.7)])
def test_flips_of_many_features_equal_the_cheapest_of_all_changes(seed, even):
    random = np.random.default_rng(seed)
    k, n = 2 + seed % 2, 10
    c, features = bg.Discrete("c", range(k)), [bg.Discrete(f"x{i}", range(2)) for i in range(n)]
    tables = [random.dirichlet([even, even], size=k) for _ in features]
    cpds = [bg.TableCPD(v, t, [c]) for v, t in zip(features, tables, strict=True)]
    net = bg.BayesianNetwork([bg.TableCPD(c, np.ones(k) / k), *cpds])
    logs = np.log(tables)
    now = np.argmax(logs[:, 0], axis=1)
    costs = random.uniform(0.2, 2.0, n)
    changed = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    states = now ^ changed
    scores = sum(logs[i][:, states[:, i]] for i in range(n))
    before = int(np.argmax(scores[:, 0]))
    turned = np.delete(scores, before, axis=0).max(axis=0) > scores[before] + 1e-9
    expected = (changed @ costs)[turned].min()
    evidence = {v.name: int(s) for v, s in zip(features, now, strict=True)}
    prices = {v.name: float(cost) for v, cost in zip(features, costs, strict=True)}
    found = net.ask.flip("c", evidence, costs=prices)
    assert found.cost == pytest.approx(expected, abs=1e-9)
    assert found.proved


@pytest.mark.one_in(5)
@pytest.mark.parametrize("seed", range(18))
def test_flips_of_mixed_networks_equal_the_cheapest_of_all_changes(seed):
    net = random_network(seed, n_discrete=4, n_continuous=2)
    random = np.random.default_rng(seed)
    discrete = [v for v in net.variables if isinstance(v, bg.Discrete) and v.cardinality > 1]
    if len(discrete) < 2:
        return
    target, *others = [discrete[i] for i in random.permutation(len(discrete))]
    oracle = Oracle.of(net)
    rows = net.sample(1, random_state=seed, frame="dict")
    numbers = {
        v.name: float(rows[v.name][0]) for v in net.variables if isinstance(v, bg.Continuous)
    }
    evidence = {v.name: v.states[int(random.integers(v.cardinality))] for v in others} | numbers
    priced = {n: {x - 1.0: 0.75, x + 2.0: 1.25, x + 4.0: 1.5} for n, x in numbers.items()}
    choices = {v.name: states_at_cost(v, evidence[v.name], 1.0) for v in others} | {
        n: dict(enumerate([(numbers[n], 0.0), *prices.items()])) for n, prices in priced.items()
    }

    def posterior(findings):
        return oracle.joint([target.name], findings)

    start = posterior(evidence)
    if not start.sum() > 0:
        with pytest.raises(ImpossibleEvidenceError):
            net.ask.flip(target.name, evidence)
        return
    expected = cheapest(posterior, choices, another(int(np.argmax(start))))
    found = net.ask.flip(target.name, evidence, costs=priced)
    assert found.cost == pytest.approx(expected, abs=1e-9)
    assert found.proved


@pytest.mark.parametrize("scale", [1.0, 60.0])
def test_counts_become_whole_numbers(scale):
    """Of a short range all are proposed; in a long one the flip moves back to the first."""
    rates = scale * np.array([2.0, 5.0])
    c, n = bg.Discrete("c", ["few", "many"]), bg.Count("n")
    net = bg.BayesianNetwork([bg.TableCPD(c, [0.5, 0.5]), bg.PoissonCPD(n, rates, parents=[c])])
    start = int(rates[0])
    found = net.ask.flip("c", {"n": start})
    first = math.floor((rates[1] - rates[0]) / np.log(rates[1] / rates[0])) + 1
    assert found.evidence == {"n": first}
    assert type(found.evidence["n"]) is int
    back = net.ask.flip("c", {"n": int(rates[1])})
    assert back.evidence == {"n": first - 1}
    assert found.bound <= found.cost
    assert found.proved == (scale == 1.0) or found.bound == pytest.approx(found.cost, rel=0.01)


@functools.cache
def star(seed):
    """Return a naive Bayes with one arc among its features."""
    random = np.random.default_rng(seed)
    c = bg.Discrete("c", ["a", "b", "d"])
    x = [bg.Discrete(f"x{i}", range(2 + i % 2)) for i in range(4)]
    tables = [random.dirichlet(np.ones(v.cardinality), size=3) for v in x]
    last = random.dirichlet(np.ones(2), size=(3, 2))
    y = bg.Continuous("y")
    return bg.BayesianNetwork(
        [
            bg.TableCPD(c, random.dirichlet(np.ones(3))),
            *(bg.TableCPD(v, t, [c]) for v, t in zip(x, tables, strict=True)),
            bg.TableCPD(bg.Discrete("z", ["u", "v"]), last, [c, x[0]]),
            bg.GaussianCPD(y, random.normal(size=3), [1.0, 2.0, 0.5], [c]),
        ]
    )


OTHER_KINDS = {
    "weighted": lambda: bg.WeightedNetwork(
        star(0), "c", {"x0": 0.4, "z": [0.5, 1.5, 1.0], "y": 0.3}, bias=[0.0, 0.3, -0.2]
    ),
    "factor graph": lambda: bg.FactorGraph.of(star(1), {"x1": 2.0, "z": 0.5}),
    "mixture": lambda: bg.Ensemble([star(2), star(3)], [0.3, 0.7]),
    "average": lambda: bg.Ensemble([star(4), star(5)], [0.6, 0.4], combine="posterior"),
}


@pytest.mark.parametrize("kind", OTHER_KINDS)
def test_flips_of_other_kinds_equal_the_cheapest_of_all_changes(kind):
    model = OTHER_KINDS[kind]()
    weights = {"x0": 1.0, "x1": 0.7, "x2": 1.2, "z": 0.9}
    prices = {1.0: 0.5, -2.0: 0.8, 4.0: 1.1}
    for seed in range(3):
        random = np.random.default_rng(seed)
        states = {n: model.variable(n).states for n in weights}
        evidence = {n: s[int(random.integers(len(s)))] for n, s in states.items()} | {"y": 0.0}
        choices = {n: states_at_cost(model.variable(n), evidence[n], w) for n, w in weights.items()}
        choices["y"] = dict(enumerate([(0.0, 0.0), *prices.items()]))

        def posterior(findings):
            return model.query("c", findings).probabilities

        wanted = another(int(np.argmax(posterior(evidence))))
        found = model.ask.flip("c", evidence, costs=weights | {"y": prices})
        expected = cheapest(posterior, choices, wanted)
        assert found.cost == pytest.approx(expected, abs=1e-9)
        assert found.proved
        shares = found.posterior_after.probabilities
        assert np.allclose(shares, posterior(found.evidence), atol=1e-9)


# ------------------------------------------------------------------------------ numbers


def gaussians(variances=(1.0, 1.0), shift=3.0, n=2):
    c = yes_no("c")
    numbers = [bg.Continuous(f"x{i}") for i in range(n)]
    return bg.BayesianNetwork(
        [
            bg.TableCPD(c, [0.5, 0.5]),
            *(bg.GaussianCPD(x, [0.0, shift], list(variances), [c]) for x in numbers),
        ]
    )


def test_a_number_moves_to_the_boundary_and_no_further():
    net = gaussians()
    found = net.ask.flip("c", {"x0": 0.0, "x1": 0.0}, ranges={"x0": (-5, 5), "x1": (-5, 5)})
    # One number at 3, the other one at 0; or a bit of both, for two weights.
    (change,) = found.changes
    assert change.new == pytest.approx(3.0, abs=4e-3)
    assert found.cost == pytest.approx(1.0 + 3.0 / 10.0, abs=4e-4)
    assert found.bound <= found.cost <= found.bound + 4e-3
    assert not found.on_grid
    assert net.query("c", found.evidence).argmax == "yes"


def test_numbers_between_the_options_cannot_be_cheaper_than_the_bound():
    net = gaussians(variances=(1.0, 9.0), shift=1.0)
    evidence, ends = {"x0": 0.3, "x1": -0.2}, {"x0": (-6, 6), "x1": (-6, 6)}
    found = net.ask.flip("c", evidence, ranges=ends)
    x = np.linspace(-6, 6, 2401)
    logs = np.array([-0.5 * x**2, -0.5 * (x - 1.0) ** 2 / 9.0 - np.log(3.0)])
    odds = logs[1] - logs[0]
    costs = np.where(x == 0.3, 0.0, 1.0 + np.abs(x - 0.3) / 12.0)
    others = np.where(x == -0.2, 0.0, 1.0 + np.abs(x + 0.2) / 12.0)
    # Either number alone, or both.
    at = {v: np.interp(v, x, odds) for v in evidence.values()}
    best = min(
        costs[odds + at[-0.2] > 0].min(),
        others[odds + at[0.3] > 0].min(),
        2.0,
    )
    assert found.bound - 1e-9 <= best <= found.cost + 6e-3
    assert found.cost - found.bound < 5e-3


def test_the_bound_covers_numbers_that_are_not_proposed():
    c, x, y = yes_no("c"), bg.Continuous("x"), bg.Continuous("y")
    net = bg.BayesianNetwork(
        [
            bg.TableCPD(c, [0.5, 0.5]),
            bg.GaussianCPD(x, [0.0, 1.5], [4.0, 0.04], [c]),
            bg.GaussianCPD(y, [0.0, 0.5], [1.0, 1.0], [c]),
        ]
    )
    # The answer turns near x = 1.5, between two of the five numbers of its range.
    ends = {"x": (-6.0, 6.0), "y": (-1.0, 1.0)}
    found = net.ask.flip("c", {"x": 0.0, "y": 0.0}, ranges=ends, n_values=5)
    assert not found.found
    assert found.bound < 1.0 + 1.5 / 12.0
    fine = net.ask.flip("c", {"x": 0.0, "y": 0.0}, ranges=ends)
    assert found.bound <= fine.cost < found.bound + 5e-3


def test_intervals_move_to_the_closest_number_of_another_interval():
    c, age = yes_no("c"), bg.Binned("age", [10.0, 20.0, 40.0])
    table = [[0.4, 0.4, 0.1, 0.1], [0.1, 0.1, 0.3, 0.5]]
    net = bg.BayesianNetwork([bg.TableCPD(c, [0.5, 0.5]), bg.TableCPD(age, table, [c])])
    found = net.ask.flip("c", {"age": 12.0})
    (change,) = found.changes
    assert 20.0 < change.new <= 21.0
    assert change.cost == pytest.approx(1.0 + (change.new - 12.0) / 60.0)
    assert net.query("c", found.evidence)["yes"] == pytest.approx(found.posterior_after["yes"])
    (back,) = net.ask.flip("c", {"age": 55.0}).changes
    assert back.new == 20.0
    (text,) = net.ask.flip("c", {"age": "(10, 20]"}).changes
    assert text.new == "(20, 40]"


def test_an_average_of_other_intervals_takes_a_number_from_each():
    c = yes_no("c")
    members = [
        bg.BayesianNetwork(
            [
                bg.TableCPD(c, [0.5, 0.5]),
                bg.TableCPD(bg.Binned("x", cuts), [[0.8, 0.2], [0.2, 0.8]], [c]),
            ]
        )
        for cuts in ([1.0], [2.0])
    ]
    model = bg.Ensemble(members, [0.4, 0.6], combine="posterior")
    found = model.ask.flip("c", {"x": 0.5})
    assert 2.0 < found.evidence["x"] < 2.2
    assert found.proved


def test_counts_move_to_whole_numbers():
    X = {"visits": np.repeat([0.0, 1.0, 2.0, 8.0, 9.0, 12.0], 5)}
    clf = bg.NaiveBayesClassifier("poisson").fit(X, np.repeat([False, True], 15))
    found = clf.ask.flip(evidence={"visits": 1}, ranges={"visits": (0, 15)}, n_values=16)
    assert found.after is True
    assert 3 < found.evidence["visits"] < 8


def test_a_number_that_is_given_as_an_int_moves_to_the_cheapest_whole_number():
    net = gaussians(shift=2.7, n=1)
    ranges = {"x0": (-5.5, 5.5)}
    (change,) = net.ask.flip("c", {"x0": -1}, ranges=ranges).changes
    answers = {x: net.query("c", {"x0": x})["yes"] for x in range(-5, 6)}
    assert change.new == min(x for x, p in answers.items() if p > 0.5) == 2
    assert isinstance(change.new, int)
    assert change.cost == pytest.approx(1.0 + 3.0 / 11.0)
    (back,) = net.ask.flip("c", {"x0": 4}, ranges=ranges).changes
    assert back.new == 1
    (between,) = net.ask.flip("c", {"x0": -1.0}, ranges=ranges).changes
    assert 1.35 <= between.new < 1.36
    # Of more whole numbers than are proposed, the ones between are found by moving back.
    far = gaussians(shift=2701.0, n=1)
    (change,) = far.ask.flip("c", {"x0": 0}, ranges={"x0": (-9000, 9000)}).changes
    assert change.new == 1351


def binned(*cuts):
    c, x = yes_no("c"), bg.Binned("x", cuts)
    even = np.ones(len(cuts) + 1) / (len(cuts) + 1)
    last = np.full(len(cuts) + 1, 0.01)
    last[-1] = 1.0 - 0.01 * len(cuts)
    return bg.BayesianNetwork([bg.TableCPD(c, [0.5, 0.5]), bg.TableCPD(x, [last, even], [c])])


@pytest.mark.parametrize(
    ("cuts", "old", "new"),
    [
        ((1.0, 2.0), 3, 2),
        ((0.5, 2.5), 3, 2),
        ((0.5, 2.5), 3.0, 2.0),
        ((0.5, 2.5), 2.7, 2.5),
        ((0.55, 2.5), 3.0, 2.5),
        ((2.1, 2.5), 3, 2.5),  # no whole number lies in the interval
    ],
)
def test_intervals_of_whole_numbers_are_met_at_whole_numbers(cuts, old, new):
    (change,) = binned(*cuts).ask.flip("c", {"x": old}, costs={"x": 1.0}).changes
    assert (change.new, type(change.new)) == (new, type(new))


def test_whole_numbers_above_an_open_end():
    (change,) = binned(1.0, 2.0).ask.flip("c", {"x": 1}).changes
    assert change.new == 3
    assert isinstance(change.new, int)


# ------------------------------------------------------------------------------ options


def spam():
    c, free, name = (yes_no(n) for n in ("spam", "free", "name"))
    return bg.BayesianNetwork(
        [
            bg.TableCPD(c, [0.75, 0.25]),
            bg.TableCPD(free, [[0.9, 0.1], [0.4, 0.6]], [c]),
            bg.TableCPD(name, [[0.1, 0.9], [0.6, 0.4]], [c]),
        ]
    )


def test_costs_fixed_findings_and_new_findings():
    net = spam()
    found = net.ask.flip("spam", {"free": "yes"}, costs={"free": 5.0}, among=["free", "name"])
    assert [(c.name, c.old, c.new, c.cost) for c in found.changes] == [("name", None, "yes", 1.0)]
    none = net.ask.flip("spam", {"free": "yes", "name": "no"}, fixed=["free"])
    assert [c.name for c in none.changes] == ["name"]
    nothing = net.ask.flip("spam", {"free": "no", "name": "yes"}, fixed=["free"])
    assert not nothing.found
    assert math.isinf(nothing.bound)
    assert "no change of these findings does" in repr(nothing)
    free = net.ask.flip("spam", {"free": "yes"}, costs={"free": math.inf})
    assert not free.found


def test_of_equal_costs_the_most_probable_answer_is_taken():
    c = yes_no("c")
    features = [bg.Discrete(f"x{i}", range(3)) for i in range(2)]
    tables = [[[0.6, 0.2, 0.2], [0.1, 0.4, 0.5]], [[0.7, 0.1, 0.2], [0.2, 0.3, 0.5]]]
    cpds = [bg.TableCPD(v, t, [c]) for v, t in zip(features, tables, strict=True)]
    net = bg.BayesianNetwork([bg.TableCPD(c, [0.3, 0.7]), *cpds])
    found = net.ask.flip("c", {"x0": 0, "x1": 0})
    posteriors = {
        (a, b): net.query("c", {"x0": a, "x1": b})["yes"]
        for a, b in [(1, 0), (2, 0), (0, 1), (0, 2)]
    }
    assert found.posterior_after["yes"] == pytest.approx(max(posteriors.values()))


def test_a_limited_effort_gives_a_flip_and_a_bound():
    random = np.random.default_rng(3)
    X = {f"x{i}": random.integers(0, 3, 200).astype(str) for i in range(10)}
    y = np.array(
        [int(a) + int(b) + int(c) > 3 for a, b, c in zip(*list(X.values())[:3], strict=True)]
    )
    clf = bg.TANClassifier().fit(X, y)
    evidence = dict.fromkeys(X, "0")
    exact = clf.ask.flip(evidence=evidence)
    quick = clf.ask.flip(evidence=evidence, effort=5)
    assert exact.proved
    assert quick.found
    assert quick.bound <= exact.cost <= quick.cost
    assert not quick.proved
    assert "no change costs less than" in repr(quick)
    star = bg.NaiveBayesClassifier().fit(X, y)
    whole = star.ask.flip(evidence=evidence)
    part = star.ask.flip(evidence=evidence, effort=1)
    assert whole.proved
    assert part.bound <= whole.cost <= part.cost


def test_soft_evidence_joins_what_depends_on_it():
    """One finding says what s is, the other one whether c and s differ: neither helps alone."""
    c, s, a, b = (yes_no(n) for n in "csab")
    alike, differ = [0.9, 0.1], [0.1, 0.9]
    net = bg.BayesianNetwork(
        [
            bg.TableCPD(c, [0.5, 0.5]),
            bg.TableCPD(s, [0.5, 0.5]),
            bg.TableCPD(a, [[alike, differ], [differ, alike]], [c, s]),
            bg.TableCPD(b, [alike, differ], [s]),
        ]
    )
    evidence = {"s": {"no": 1.0, "yes": 1.1}, "a": "no", "b": "no"}
    found = net.ask.flip("c", evidence, costs={"b": 0.6})
    assert [(change.name, change.new) for change in found.changes] == [("b", "yes")]
    assert found.evidence["s"] is evidence["s"]
    assert net.query("c", found.evidence).argmax == found.after == "yes"


def test_ranges_leave_out_intervals_beyond_them():
    c, age = yes_no("c"), bg.Binned("age", [10.0, 20.0, 40.0])
    table = [[0.4, 0.4, 0.1, 0.1], [0.1, 0.1, 0.3, 0.5]]
    net = bg.BayesianNetwork([bg.TableCPD(c, [0.5, 0.5]), bg.TableCPD(age, table, [c])])
    assert not net.ask.flip("c", {"age": 12.0}, ranges={"age": (0.0, 18.0)}).found
    with pytest.raises(EvidenceError, match="ranges="):
        net.ask.flip("c", {"age": 12.0}, ranges={"age": (18.0, 0.0)})


def test_a_finding_outside_of_its_range_changes_to_numbers_in_it():
    c, age, x = yes_no("c"), bg.Binned("age", [10.0, 20.0, 40.0]), bg.Continuous("x")
    table = [[0.4, 0.4, 0.1, 0.1], [0.1, 0.1, 0.3, 0.5]]
    density = bg.GaussianCPD(x, [0.0, 2.0], [1.0, 2.0], [c])
    net = bg.BayesianNetwork([bg.TableCPD(c, [0.5, 0.5]), bg.TableCPD(age, table, [c]), density])
    for name, old, ends, new in [
        ("age", 50.0, (12.0, 18.0), 18.0),
        ("age", 12.0, (25.0, 30.0), 25.0),
        ("x", 5.0, (-0.5, 0.5), 0.5),
        ("x", 5, (-1.5, 0.5), 0),
    ]:
        (change,) = net.ask.flip("c", {name: old}, ranges={name: ends}).changes
        assert change.new == new


def test_what_cannot_be_asked():
    net = spam()
    with pytest.raises(EvidenceError, match="give likelihoods"):
        net.ask.flip("spam", {"free": bg.Belief({"no": 0.5, "yes": 0.5}), "name": "no"})
    given = {"free": "yes", "name": "no"}
    for error, options in (
        (EvidenceError, {"to": "yes"}),
        (EvidenceError, {"at_least": 0.5}),
        (DataError, {"to": "no", "at_least": 1.5}),
        (EvidenceError, {"costs": {"free": -1}}),
        (EvidenceError, {"costs": {"free": {"no": "much"}}}),
        (EvidenceError, {"among": ["spam"]}),
        (EvidenceError, {"fixed": "free"}),
        (UnknownVariableError, {"fixed": ["fre"]}),
        (DataError, {"effort": 0}),
    ):
        with pytest.raises(error):
            net.ask.flip("spam", given, **options)
    with pytest.raises(EvidenceError, match="leave it out"):
        net.ask.flip("spam", {"spam": "yes"})
    with pytest.raises(EvidenceError, match="not discrete"):
        gaussians().ask.flip("x0", {"c": "yes"})
    one = bg.BayesianNetwork([bg.TableCPD(bg.Discrete("one", ["only"]), [1.0])])
    with pytest.raises(EvidenceError, match="one state only"):
        one.ask.flip("one", {})


def test_numbers_of_numpy_are_printed_as_numbers():
    clf = bg.NaiveBayesClassifier(check_columns=False)
    clf.fit({"b": np.arange(40.0) % 7}, ["n", "p", "p", "n"] * 10)
    text = repr(clf.ask.flip(evidence={"b": np.float64(3.25)}))
    assert "3.25" in text
    assert "np." not in text


def test_a_value_in_place_of_a_missing_one_changes_its_indicator():
    a, b, x = yes_no("a"), yes_no("b"), bg.Continuous("x")
    missing = MissingIndicator("x is missing", "x")
    net = bg.BayesianNetwork(
        [
            bg.TableCPD(a, [0.3, 0.7]),
            bg.TableCPD(b, [[0.8, 0.2], [0.3, 0.7]], [a]),
            bg.GaussianCPD(x, [0.0, 1.0], 1.0, [a]),
            bg.TableCPD(missing, [[[0.95, 0.05], [0.9, 0.1]], [[0.1, 0.9], [0.2, 0.8]]], [a, b]),
        ]
    )
    for evidence in ({"x": None}, {"x": None, "b": "yes"}, {"b": "yes"}, {x: None, b: "yes"}):
        found = net.ask.flip("a", evidence, among=["x"], to="no")
        expected = net.query("a", found.evidence).probabilities
        assert expected[0] > 0.5
        assert found.posterior_after.probabilities == pytest.approx(expected, abs=1e-12)
    # What the findings say themselves of the indicator stays.
    stays = {"x": None, "x is missing": "yes", "b": "yes"}
    assert not net.ask.flip("a", stays, among=["x"], ranges={"x": (0.0, 1.0)}).found


def test_findings_and_costs_may_have_variables_as_names():
    pd = pytest.importorskip("pandas")
    a, x = yes_no("a"), bg.Continuous("x")
    net = bg.BayesianNetwork([bg.TableCPD(a, [0.3, 0.7]), bg.GaussianCPD(x, [0.0, 1.0], 1.0, [a])])
    by_name = net.ask.flip("a", {"x": 1.0}, costs={"x": 2.0})
    assert net.ask.flip("a", {x: 1.0}, costs={x: 2.0}).evidence == by_name.evidence
    assert net.ask.flip("a", {"x": 1.0}, costs=pd.Series({"x": 2.0})).cost == by_name.cost
