"""Questions about findings that are intervals of numbers, against networks made by hand."""

import math

import numpy as np
import pytest
from scipy import stats

import bayesgraph as bg
from bayesgraph.core.errors import EvidenceError, UnsupportedModelError

A, B = bg.Discrete("a", ["u", "v"]), bg.Discrete("b", ["s", "t"])
MEAN, VARIANCE = np.array([0.0, 2.0]), np.array([1.0, 4.0])
RATE = np.array([1.0, 4.0])
EVIDENCE = {"b": "s", "g": bg.Between(0.5, 3.0), "n": bg.Between(2)}


def network(mean=MEAN, variance=VARIANCE, *, by_hand=False):
    """Return a network, or one whose numbers are the states inside and outside of the evidence."""
    inside = np.diff(stats.norm(mean, np.sqrt(variance)).cdf([[0.5], [3.0]]), axis=0)[0]
    many = stats.poisson(RATE).sf(1)
    numbers = [
        bg.GaussianCPD(bg.Continuous("g"), mean, variance, [A]),
        bg.PoissonCPD(bg.Count("n"), RATE, parents=[A]),
    ]
    if by_hand:
        numbers = [
            bg.TableCPD(bg.Discrete(name, ["in", "out"]), np.stack([p, 1 - p], axis=-1), [A])
            for name, p in (("g", inside), ("n", many))
        ]
    tables = [bg.TableCPD(A, [0.5, 0.5]), bg.TableCPD(B, [[0.2, 0.8], [0.9, 0.1]], [A])]
    return bg.BayesianNetwork([*tables, *numbers])


HAND = {"b": "s", "g": "in", "n": "in"}
KINDS = {
    "network": network,
    "mixture": lambda **k: bg.Ensemble([network(**k), network(MEAN + 1.0, **k)], [0.4, 0.6]),
    "weighted": lambda **k: bg.WeightedNetwork(network(**k), "a", {"g": 0.5, "b": 2.0}),
    "average": lambda **k: bg.Ensemble(
        [network(**k), network(MEAN + 1.0, **k)], combine="posterior"
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_those_of_states_by_hand(kind):
    model, hand = KINDS[kind](), KINDS[kind](by_hand=True)
    terms, expected = model.contributions("a", EVIDENCE), hand.contributions("a", HAND)
    assert dict(terms) == pytest.approx(dict(expected), abs=1e-10)
    assert {term.name: term.value for term in terms.terms}["g"] is EVIDENCE["g"]
    bearings = {
        one.name: (one.without, one.factor) for one in hand.ask.explanation("a", HAND).bearings
    }
    told = model.ask.explanation("a", EVIDENCE)
    for one in told.bearings:
        assert (one.without, one.factor) == pytest.approx(bearings[one.name], abs=1e-10)
    assert "g is between 0.5 and 3" in str(told)
    assert "n is at least 2" in str(told)
    bars = {bar.name: bar for bar in model.ask.tornado("a", "v", EVIDENCE, by="findings").bars}
    assert set(bars) == {"b"}
    ends = sorted(hand.query("a", HAND | {"b": state})["v"] for state in "st")
    assert (bars["b"].low, bars["b"].high) == pytest.approx(ends, abs=1e-10)
    found = model.ask.flip("a", EVIDENCE)
    other = hand.ask.flip("a", HAND, fixed=["g", "n"])
    assert (found.before, found.after, found.cost) == (other.before, other.after, other.cost)
    assert found.posterior_after.probabilities == pytest.approx(
        other.posterior_after.probabilities, abs=1e-10
    )
    assert found.evidence == EVIDENCE | {"b": "t"}
    assert found.proved


def test_a_flip_changes_other_findings():
    net = network()
    evidence = {"g": bg.Between(1.5), "n": 1, "b": "t"}
    found = net.ask.flip("a", evidence)
    scores = [0.5, 0.5] * stats.norm(MEAN, np.sqrt(VARIANCE)).sf(1.5) * [0.8, 0.1]
    counts = stats.poisson(RATE).pmf(np.arange(9)[:, None]) * scores
    before = int(np.argmax(counts[1]))
    turned = [n for n in range(2, 9) if np.argmax(counts[n]) != before]
    assert found.evidence == evidence | {"n": turned[0]} or found.evidence == evidence | {"b": "s"}
    only = net.ask.flip("a", evidence, among=["n"])
    assert only.evidence == evidence | {"n": turned[0]}
    assert only.proved
    with pytest.raises(EvidenceError, match="'g' is in an interval, which does not change"):
        net.ask.flip("a", evidence, among=["g"])


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kind", ["network", "mixture", "average"])
def test_derivatives_of_an_interval_are_those_of_its_gaussian(kind):
    model = KINDS[kind]()
    if kind == "average":  # it has them network by network
        model = model.networks[0]
    found = model.ask.sensitivity("a", "v", EVIDENCE)
    key = (0, "g") if kind == "mixture" else "g"
    h = 1e-3
    for name, numbers in (("mean", MEAN), ("variance", VARIANCE)):
        for cell in range(2):

            def answer(step, name=name, numbers=numbers, cell=cell):
                moved = np.array(numbers)
                moved[cell] += step
                hand = network(**{name: moved}, by_hand=True)
                if kind == "mixture":
                    others = [network(MEAN + 1.0, by_hand=True)]
                    # Each network has states of its own numbers, so that they are combined here.
                    logs = [own.log_probability(HAND) for own in (hand, *others)]
                    shares = np.array([0.4, 0.6]) * np.exp(logs)
                    each = [own.query("a", HAND)["v"] for own in (hand, *others)]
                    return shares @ each / shares.sum()
                return hand.query("a", HAND)["v"]

            values = [answer(step) for step in (-2 * h, -h, h, 2 * h)]
            slope = (8 * (values[2] - values[1]) - (values[3] - values[0])) / (12 * h)
            assert getattr(found.gaussians[key], name)[cell] == pytest.approx(slope, abs=1e-8)
    assert found.others == ("n",)
    assert key not in found.derivatives
    one_sided = network().ask.sensitivity("a", "v", {"g": bg.Between(high=1.0)})
    assert np.all(one_sided.gaussians["g"].mean != 0)


def test_nearest_rows_count_numbers_outside_of_the_interval():
    net = network()
    table = {"b": ["s", "t", "s", "t"], "g": [1.0, 2.0, -1.5, 4.0], "n": [0, 0, 1, 0]}
    evidence = {"b": "s", "g": bg.Between(0.5, 3.0), "n": bg.Between(2)}
    answers = [net.query("a", {k: v[i] for k, v in table.items()}).argmax for i in range(4)]
    before = net.query("a", evidence).argmax
    found = net.ask.nearest_rows("a", evidence, table, n=4)
    assert {near.row for near in found} == {i for i in range(4) if answers[i] != before}
    width = 4.0 - -1.5
    away = [0.0, 0.0, 2.0 / width, 1.0 / width]
    short = [2 / 2, 2 / 2, 1 / 2, 2 / 2]  # of counts 0 to 2
    for near in found:
        expected = (table["b"][near.row] != "s") + away[near.row] + short[near.row]
        assert near.distance == pytest.approx(expected)
        assert ("g" in near.differences) == (away[near.row] > 0)
    (nearest,) = net.ask.nearest_rows("a", evidence, table, n=1)
    assert "Between(2, inf) → " in repr(net.ask.nearest_rows("a", evidence, table))
    assert nearest.distance == min(near.distance for near in found)
    binned = bg.Binned("age", [10.0, 20.0, 30.0])
    cells = bg.TableCPD(binned, [[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1]], [A])
    ages = bg.BayesianNetwork([bg.TableCPD(A, [0.5, 0.5]), cells])
    near = ages.ask.nearest_rows("a", {"age": bg.Between(20, 30)}, {"age": [5.0, 15.0, 25.0]})
    assert [one.row for one in near] == [1, 0]
    assert [one.distance for one in near] == pytest.approx([1 / 3, 2 / 3])


def test_conditioning_and_weights():
    mixture = KINDS["mixture"]()
    hands = [network(by_hand=True), network(MEAN + 1.0, by_hand=True)]
    shares = np.array([0.4, 0.6]) * np.exp([hand.log_probability(HAND) for hand in hands])
    assert mixture.posterior_weights(EVIDENCE) == pytest.approx(shares / shares.sum())
    rest = mixture.conditioned(EVIDENCE)
    assert rest.names == ("a",)
    assert rest.query("a")["v"] == pytest.approx(mixture.query("a", EVIDENCE)["v"])
    assert "keep a" in str(network().plan("a", EVIDENCE))


def test_estimators_and_what_is_refused():
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 80)
    model = bg.NaiveBayesClassifier().fit(random.normal(2.0 * y)[:, None], y)
    evidence = {"x0": bg.Between(0.0, 1.0)}
    terms = model.contributions(evidence=evidence)
    odds = model.query(evidence=evidence)
    assert terms.total == pytest.approx(math.log(odds[1] / odds[0]))
    assert model.ask.explanation(evidence=evidence).bearings[0].value is evidence["x0"]
    graph = bg.FactorGraph.of(network())
    for ask in (graph.ask.flip, graph.contributions, graph.ask.explanation):
        with pytest.raises(UnsupportedModelError, match="not intervals or likelihoods"):
            ask("a", EVIDENCE)
    ages = bg.BayesianNetwork(
        [
            bg.TableCPD(A, [0.5, 0.5]),
            bg.TableCPD(bg.Binned("age", [1.0, 2.0]), [[0.2, 0.3, 0.5]] * 2, [A]),
        ]
    )
    with pytest.raises(EvidenceError, match="of a value or of one interval"):
        ages.contributions("a", {"age": bg.Between(1.0)})
    assert "age is at least 1" in str(ages.ask.explanation("a", {"age": bg.Between(1.0)}))
