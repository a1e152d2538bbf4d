"""`do=` in questions that are made of others, against the truncated factorisation."""

import functools

import numpy as np
import pytest

import bayesgraph as bg
from bayesgraph.core.errors import EvidenceError, ImpossibleEvidenceWarning, UnsupportedModelError

U, T, S, Y = (bg.Discrete(n, ["0", "1"]) for n in "utsy")
X = bg.Continuous("x")
P_U = np.array([0.6, 0.4])
P_T = np.array([[0.8, 0.2], [0.1, 0.9]])
P_S = np.array([[0.7, 0.3], [0.2, 0.8]])
P_Y = np.array([[[0.9, 0.1], [0.6, 0.4]], [[0.5, 0.5], [0.2, 0.8]]])  # given u and t
MEANS, SLOPE = np.array([0.0, 2.0]), 1.5


@functools.cache
def network():
    """u confounds t and y; s is a symptom of y, and x a number that t moves."""
    return bg.BayesianNetwork(
        [
            bg.TableCPD(U, P_U),
            bg.TableCPD(T, P_T, parents=[U]),
            bg.TableCPD(Y, P_Y, parents=[U, T]),
            bg.TableCPD(S, P_S, parents=[Y]),
            bg.GaussianCPD(X, MEANS, 1.0, parents=[T]),
        ]
    )


def joint_after(t):
    """Return P(u, y, s | do(t)), axes u, y and s."""
    return P_U[:, None, None] * P_Y[:, t, :, None] * P_S[None]


def entropy(p):
    return -float(sum(x * np.log(x) for x in p if x > 0))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("t", [0, 1])
def test_rows_after_an_intervention(t):
    table = {"s": ["0", "1", None, "1"], "t": ["0", "1", "0", None], "u": [None, "0", "1", None]}
    found = network().query_rows("y", table, do={"t": str(t)})
    after = joint_after(t)
    for row, (s, u) in enumerate(zip(table["s"], table["u"], strict=True)):
        part = after if u is None else after[[int(u)]]
        part = part if s is None else part[:, :, [int(s)]]
        expected = part.sum(axis=(0, 2))
        assert found[row] == pytest.approx(expected / expected.sum(), abs=1e-12)
    seen = network().query_rows("y", table)
    assert np.abs(seen - found).max() > 0.01


def test_a_number_is_set_in_all_rows():
    effect = bg.Continuous("e")
    net = bg.BayesianNetwork(
        [
            bg.GaussianCPD(X, 0.0, 1.0),
            bg.TableCPD(S, [0.5, 0.5]),
            bg.GaussianCPD(effect, [0.0, 1.0], 1.0, [S, X], [[1.0], [2.0]]),
        ]
    )
    found = net.query_rows("s", {"e": [3.0, 5.0], "x": [9.0, None]}, do={"x": 2.0})
    for row, e in enumerate((3.0, 5.0)):
        assert found[row] == pytest.approx(
            net.query("s", {"e": e}, do={"x": 2.0}).probabilities, abs=1e-12
        )


def test_impossible_rows_get_the_prior_after_the_intervention():
    sure = bg.Discrete("z", ["0", "1"])
    net = network().with_cpd(bg.TableCPD(sure, [[1.0, 0.0], [0.0, 1.0]], parents=[T]))
    with pytest.warns(ImpossibleEvidenceWarning, match="1 of 2"):
        found = net.query_rows("y", {"z": ["0", "1"]}, do={"t": "1"})
    prior = joint_after(1).sum(axis=(0, 2))
    assert found[0] == pytest.approx(prior, abs=1e-12)
    assert found[1] == pytest.approx(prior, abs=1e-12)


@pytest.mark.parametrize("t", [0, 1])
def test_information_after_an_intervention(t):
    ranking = network().ask.next_question("y", do={"t": str(t)})
    after = joint_after(t)
    for name, axes in (("s", (0,)), ("u", (2,))):
        table = after.sum(axis=axes)
        table = table.T if name == "s" else table
        rows = [entropy(row / row.sum()) * row.sum() for row in table]
        expected = entropy(table.sum(axis=0)) - sum(rows)
        assert ranking[name].information == pytest.approx(expected, abs=1e-9)
    assert "t" not in ranking
    assert ranking["x"].information == pytest.approx(0.0, abs=1e-9)  # x tells of t alone


def test_a_session_after_an_intervention():
    session = network().ask.questionnaire("y", {"u": "1"}, do={"t": "1"}, among=["s"])
    assert session.question == "s"
    after = joint_after(1)[1, :, 1]
    assert session.answered("1").posterior["1"] == pytest.approx((after / after.sum())[1])
    assert "P(1) = 0.8" in repr(session)


@pytest.mark.parametrize("t", [0, 1])
def test_contributions_after_an_intervention(t):
    found = network().contributions("y", {"s": "1", "u": "0"}, do={"t": str(t)})
    prior = joint_after(t).sum(axis=(0, 2))
    part = joint_after(t)[0, :, 1]
    assert found.prior == pytest.approx(np.log(prior[1] / prior[0]), abs=1e-12)
    assert found.total == pytest.approx(np.log(part[1] / part[0]), abs=1e-12)
    assert set(found) == {"s", "u"}


def test_what_is_set_is_neither_observed_nor_the_target():
    net = network()
    for ask in (
        lambda: net.contributions("y", {"t": "0"}, do={"t": "1"}),
        lambda: net.ask.next_question("y", {"t": "0"}, do={"t": "1"}),
        lambda: net.ask.questionnaire("y", {"t": "0"}, do={"t": "1"}),
    ):
        with pytest.raises(EvidenceError, match="'t' is both set"):
            ask()
    for ask in (
        lambda: net.query_rows("t", {"s": ["0"]}, do={"t": "1"}),
        lambda: net.ask.next_question("t", do={"t": "1"}),
    ):
        with pytest.raises(EvidenceError, match="'t' is both the target and"):
            ask()
    weighted = bg.WeightedNetwork(net, "u", {"s": 0.5})
    for ask in (
        lambda: weighted.query_rows("u", {"s": ["0"]}, do={"t": "1"}),
        lambda: weighted.ask.next_question("u", do={"t": "1"}),
        lambda: weighted.contributions("u", do={"t": "1"}),
    ):
        with pytest.raises(UnsupportedModelError, match="query its `network`"):
            ask()


def fitted():
    random = np.random.default_rng(0)
    rows = network().sample(300, random_state=random, frame="dict")
    X = {name: rows[name] for name in ("u", "t", "s", "x")}
    return bg.NaiveBayesClassifier().fit(X, rows["y"])


def test_estimators_ask_after_an_intervention():
    clf = fitted()
    target = clf.target_.name
    given, do = {"s": "1", "x": 1.0}, {"t": "1"}
    net = clf.network_
    assert clf.contributions(evidence=given, do=do).total == pytest.approx(
        net.contributions(target, given, do=do).total
    )
    assert (
        clf.ask.next_question(evidence=given, do=do).best
        == net.ask.next_question(target, given, do=do).best
    )
    rows = {"s": ["1", None], "x": [1.0, 2.0]}
    assert clf.network_.query_rows(target, rows, do=do) == pytest.approx(
        net.query_rows(target, rows, do=do)
    )


def test_estimators_answer_about_derivatives_of_the_class():
    clf = fitted()
    net, target = clf.network_, clf.target_.name
    found = clf.ask.sensitivity(evidence={"x": 0.4})
    posterior = net.query(target, {"x": 0.4})
    assert (found.target, found.state) == (target, posterior.argmax)
    assert found.posterior == pytest.approx(max(posterior.values()))


def test_intervals_and_likelihoods_of_counts_are_evidence_as_in_query():
    count = bg.Count("k")
    net = network().with_cpd(bg.PoissonCPD(count, [1.0, 5.0], parents=[Y]))
    prior = net.query("y").probabilities
    for given in ({"k": bg.Between(3)}, {"k": {2: 1.0, "other": 0.2}}):
        expected = net.query("y", given).probabilities
        ranking = net.ask.next_question("y", given)
        assert ranking.posterior.probabilities == pytest.approx(expected, abs=1e-12)
        # Likelihoods leave the question open, an interval does not.
        assert ("k" in ranking) == isinstance(given["k"], dict)
        session = net.ask.questionnaire("y", given, among=["s"]).answered("1")
        assert session.posterior["1"] == pytest.approx(net.query("y", {**given, "s": "1"})["1"])
        (best,) = net.ask.most_relevant(["y"], given)
        before, odds = prior[1] / prior[0], expected[1] / expected[0]
        assert best.states in ({"y": "1"}, {"y": "0"})
        assert best.factor == pytest.approx(max(odds / before, before / odds), rel=1e-9)
