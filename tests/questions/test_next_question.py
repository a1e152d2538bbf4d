"""The worth of questions against enumeration of all answers, for every kind of model."""

import itertools
import math
from functools import partial

import numpy as np
import pytest
import scipy
from oracle import Oracle, as_given, random_evidence, random_factor_graph, random_network
from scipy import stats
from scipy.special import xlogy
from sklearn.datasets import load_iris

import bayesgraph as bg
from bayesgraph.core.errors import (
    DataError,
    EvidenceError,
    ImpossibleEvidenceError,
    ImpossibleEvidenceWarning,
    UnknownVariableError,
    UnsupportedModelError,
)
from bayesgraph.questions.asking import _best_rate

SEEDS = range(30)
NO_YES = ["no", "yes"]
ILL, FEVER = bg.Discrete("ill", NO_YES), bg.Discrete("fever", NO_YES)
TEST = bg.Discrete("test", ["-", "+"])
LOSSES = [[0.0, 1.0], [10.0, 2.0]]


def clinic(p=0.3):
    return bg.BayesianNetwork(
        [
            bg.TableCPD(ILL, [1 - p, p]),
            bg.TableCPD(FEVER, [[0.8, 0.2], [0.4, 0.6]], [ILL]),
            bg.TableCPD(TEST, [[0.95, 0.05], [0.1, 0.9]], [ILL]),
        ]
    )


# ------------------------------------------------------------------------------- brute force


def entropy(p):
    """Return the entropy of probabilities in nats."""
    p = p[p > 0]
    return -float(p @ np.log(p))


def least_loss(p, losses):
    """Return the expected loss of the best decision."""
    return min(float(p @ losses[:, d]) for d in range(losses.shape[1]))


def by_entropies(table, losses):
    """Return information and gain of a table P(t, x) as differences before and after the answer."""
    before, answers = table.sum(axis=1), table.sum(axis=0)
    information, gain = entropy(before), least_loss(before, losses)
    for x, share in enumerate(answers):
        if share > 0:
            after = table[:, x] / share
            information -= share * entropy(after)
            gain -= share * least_loss(after, losses)
    return information, gain


def by_quadrature(oracle, target, name, evidence, losses):
    """Return information and gain of a continuous variable by SciPy's integration."""
    variable, t = oracle.by_name[name], oracle.by_name[target]
    worlds = [w for w in oracle.worlds(evidence) if w.weight > 0]
    at = worlds[0].free.index(variable)
    total = math.fsum(w.weight for w in worlds)
    states = np.array([w.codes[t] for w in worlds])
    weights = np.array([w.weight / total for w in worlds])
    means = np.array([w.mean[at] for w in worlds])
    deviations = np.sqrt([w.covariance[at, at] for w in worlds])
    before = np.bincount(states, weights, t.cardinality)

    def parts(x, k):
        heights = weights * scipy.stats.norm.pdf(x, means, deviations)
        joint = np.bincount(states, heights, t.cardinality)
        density = joint.sum()
        if not density:
            return 0.0
        after = joint / density
        return density * (least_loss(after, losses) if k else entropy(after))

    grid = np.unique((means[:, None] + deviations[:, None] * np.linspace(-9, 9, 19)).ravel())
    ends = [*grid[:: max(1, len(grid) // 60)].tolist(), grid[-1]]
    left = [
        sum(
            scipy.integrate.quad(parts, a, b, (k,), epsabs=1e-12, epsrel=1e-10)[0]
            for a, b in itertools.pairwise(ends)
        )
        for k in range(2)
    ]
    return entropy(before) - left[0], least_loss(before, losses) - left[1]


def compare(model, oracle, random, *, n_numbers=1):
    """Compare all questions of a model with an oracle, given random evidence."""
    evidence = random_evidence(random, oracle, share=0.3)
    seen = {n for n, x in evidence.items() if x is not None and not isinstance(x, list)}
    targets = [v.name for v in oracle.discrete if v.name not in seen]
    if not targets:
        return 0
    target = targets[random.integers(len(targets))]
    size = model.variable(target).cardinality
    losses = random.uniform(0, 3, (size, size)) if random.random() < 0.5 else None
    given = as_given(model.variables, evidence)
    found = model.ask.next_question(target, given, losses=losses)
    matrix = 1.0 - np.eye(size) if losses is None else losses
    assert set(found) == set(model.names) - seen - {target}
    np.testing.assert_allclose(
        found.posterior.probabilities, oracle.posterior([target], evidence), atol=1e-12
    )
    for name in found:
        if isinstance(model.variable(name), bg.Discrete):
            table = oracle.posterior([target, name], evidence)
            expected = by_entropies(table, matrix)
            assert found[name].error == 0
        elif n_numbers:
            n_numbers -= 1
            expected = by_quadrature(oracle, target, name, evidence, matrix)
            assert found[name].error < 1e-9
        else:
            continue
        assert found[name][1:3] == pytest.approx(expected, abs=1e-9)
    return len(found)


@pytest.mark.one_in(6)
@pytest.mark.parametrize("seed", SEEDS)
def test_networks_of_tables_equal_enumeration(seed):
    network, random = random_network(seed, n_discrete=6, zeros=0.3), np.random.default_rng(seed)
    oracle = Oracle.of(network)
    assert sum(compare(network, oracle, random) for _ in range(4)) or len(network) < 3


@pytest.mark.filterwarnings("ignore::scipy.integrate.IntegrationWarning")
@pytest.mark.one_in(34)
@pytest.mark.parametrize("seed", SEEDS)
def test_mixed_networks_equal_enumeration(seed):
    network = random_network(seed + 50, n_discrete=4, n_continuous=3, most_worlds=40)
    compare(network, Oracle.of(network), np.random.default_rng(seed))


@pytest.mark.filterwarnings("ignore::scipy.integrate.IntegrationWarning")
@pytest.mark.one_in(11)
@pytest.mark.parametrize("seed", SEEDS)
def test_factor_graphs_equal_enumeration(seed):
    sources, exponents = random_factor_graph(seed, n_continuous=seed % 2)
    oracle = Oracle([(s, 1.0 if w is None else w) for s, w in zip(sources, exponents, strict=True)])
    if not oracle.partition():
        pytest.skip("the product is zero everywhere")
    graph = bg.FactorGraph(sources, exponents=exponents)
    compare(graph, oracle, np.random.default_rng(seed))


def by_queries(model, target, name, values, shares, evidence, losses):
    """Return information and gain from the model's own posteriors before and after each answer.

    The measures are those of models that need not be joint distributions: the divergence of the
    posterior from the one before, and the loss of the decision before less that of the best one.
    """
    before = model.query(target, evidence).probabilities
    usual = int(np.argmin(before @ losses))
    information = gain = 0.0
    for value, share in zip(values, shares, strict=True):
        if share > 0:
            after = model.query(target, {**evidence, name: value}).probabilities
            seen = after > 0
            information += share * float(after[seen] @ np.log(after[seen] / before[seen]))
            gain += share * (float(after @ losses[:, usual]) - least_loss(after, losses))
    return information, gain


@pytest.mark.one_in(6)
@pytest.mark.parametrize("seed", range(8))
def test_mixtures_equal_enumeration(seed):
    random = np.random.default_rng(seed)
    one = random_network(seed, n_discrete=5, zeros=0.2)
    other = bg.BayesianNetwork(
        [bg.TableCPD(v, random.dirichlet(np.ones(v.cardinality))) for v in one.variables]
    )
    weights = random.dirichlet([1, 1])
    oracles = [Oracle.of(one), Oracle.of(other)]
    mixture = bg.Ensemble([one, other], weights)
    target, *names = mixture.names
    evidence = {names[-1]: random_value(oracles[0], names.pop())} if len(names) > 1 else {}
    found = mixture.ask.next_question(target, evidence, losses=None)
    for name in names:
        parts = zip(weights, oracles, strict=True)
        table = sum(w * o.joint([target, name], evidence) for w, o in parts)
        expected = by_entropies(table / table.sum(), 1.0 - np.eye(len(table)))
        assert found[name][1:3] == pytest.approx(expected, abs=1e-9)


def random_value(oracle, name):
    """Return a state that is possible."""
    variable = oracle.by_name[name]
    return variable.states[int(np.argmax(oracle.posterior([name])))]


def gaussians(shift=0.0):
    x, y = bg.Continuous("x"), bg.Continuous("y")
    return bg.BayesianNetwork(
        [
            *clinic(0.4).cpds,
            bg.GaussianCPD(x, [0.0 + shift, 1.0], [1.0, 2.0], [ILL]),
            bg.GaussianCPD(y, [[0.0, 1.0], [2.0, 3.0]], 1.0, [ILL, TEST, x], [[[0.5], [1]]] * 2),
        ]
    )


OTHERS = {
    "weighted": lambda: bg.WeightedNetwork(
        gaussians(), "ill", {"fever": 2.0, "x": 0.5, "y": 0.7}, bias=[0.3, 0.0]
    ),
    "average": lambda: bg.Ensemble(
        [clinic(), gaussians(), gaussians(2.0)], [1, 2, 3], combine="posterior"
    ),
    "shifted average": lambda: bg.Ensemble(
        [gaussians(), gaussians(1.0)], prior_ratios={"ill": [1.0, 3.0]}, combine="posterior"
    ),
}


@pytest.mark.parametrize("model", OTHERS)
@pytest.mark.parametrize(
    "evidence",
    [{"test": {"-": 1.0, "+": 3.0}}, {"fever": "yes"}, {}],
    ids=["judged", "fever", "nothing"],
)
@pytest.mark.one_in(3)
@pytest.mark.filterwarnings("ignore::bayesgraph.core.errors.ExtrapolationWarning")
def test_models_that_are_no_joint_distribution_equal_their_own_answers(model, evidence):
    asked = OTHERS[model]()
    losses = np.array(LOSSES)
    found = asked.ask.next_question("ill", evidence, losses=losses)
    for name in {"fever", "test"} - {n for n, x in evidence.items() if isinstance(x, str)}:
        shares = asked.query(name, evidence).probabilities
        states = asked.variable(name).states
        expected = by_queries(asked, "ill", name, states, shares, evidence, losses)
        assert found[name][1:3] == pytest.approx(expected, abs=1e-12)
    if "test" in evidence:
        return  # tables have no likelihoods
    # Numbers: a fine grid, on which a smooth integrand of a line is all but exact.
    grid = np.linspace(-25, 30, 4001)
    density = asked.query("x", evidence).density(grid) * (grid[1] - grid[0])
    rows = {"x": grid, **{name: [value] * len(grid) for name, value in evidence.items()}}
    after, before = asked.query_rows("ill", rows), asked.query("ill", evidence).probabilities
    information = density @ (after * np.log(after / before)).sum(axis=1)
    assert found["x"].information == pytest.approx(information, abs=1e-9)
    assert found["x"].error < 1e-9
    expected = after @ losses
    regret = expected[:, np.argmin(before @ losses)] - expected.min(axis=1)
    assert found["x"].gain == pytest.approx(density @ regret, abs=1e-4)


def test_members_of_an_average_may_have_different_intervals():
    cut = [bg.Binned("x", [0.0, 1.0, 2.0]), bg.Binned("x", [1.0])]
    tables = [[[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1]], [[0.2, 0.8], [0.7, 0.3]]]
    networks = [
        bg.BayesianNetwork([bg.TableCPD(ILL, [0.6, 0.4]), bg.TableCPD(x, table, [ILL])])
        for x, table in zip(cut, tables, strict=True)
    ]
    average = bg.Ensemble(networks, [1, 3], combine="posterior")
    fine, coarse = (net.query("x").probabilities for net in networks)
    # Numbers within an interval of the second network are distributed as in the first.
    inside = fine / np.repeat([fine[:2].sum(), fine[2:].sum()], 2)
    shares = 0.25 * fine + 0.75 * np.repeat(coarse, 2) * inside
    expected = by_queries(average, "ill", "x", [-1.0, 0.5, 1.5, 9.0], shares, {}, 1 - np.eye(2))
    found = average.ask.next_question("ill")["x"]
    assert found[1:3] == pytest.approx(expected, abs=1e-12)
    rows = average.ask.next_question_rows({"x": [None, 0.5]}, "ill")
    assert rows.information[0, 0] == pytest.approx(found.information, abs=1e-12)
    assert rows.best == ["x", None]
    neither = bg.BayesianNetwork(
        [bg.TableCPD(ILL, [0.6, 0.4]), bg.TableCPD(bg.Binned("x", [0.5]), [[0.5, 0.5]] * 2, [ILL])]
    )
    # Of the cells at 0.5, which no network tells apart, each is half of an interval.
    third = bg.Ensemble([*networks, neither], combine="posterior")
    cells = np.array([fine[0], fine[1] / 2, fine[1] / 2, fine[2], fine[3]])
    parts = [
        cells,
        np.repeat(coarse, [3, 2]) * cells / np.repeat([fine[:2].sum(), fine[2:].sum()], [3, 2]),
    ]
    parts += [cells / np.repeat([cells[:2].sum(), cells[2:].sum()], [2, 3]) / 2]
    expected = by_queries(
        third, "ill", "x", [-1.0, 0.2, 0.7, 1.5, 9.0], np.mean(parts, axis=0), {}, 1 - np.eye(2)
    )
    assert third.ask.next_question("ill")["x"][1:3] == pytest.approx(expected, abs=1e-12)


# ---------------------------------------------------------------------- numbers without posteriors


STUDENT = partial(scipy.stats.t, 4.0)
LEAVES = {
    "lognormal": (
        lambda x: bg.LogNormalCPD(x, [0.0, 1.0], [0.25, 1.0], [ILL]),
        [scipy.stats.lognorm(0.5), scipy.stats.lognorm(1.0, scale=math.e)],
    ),
    "exponential": (
        lambda x: bg.models.ExponentialCPD(x, [1.0, 3.0], [ILL]),
        [scipy.stats.expon(scale=1.0), scipy.stats.expon(scale=1 / 3)],
    ),
    "student": (
        lambda x: bg.models.StudentCPD(x, [0.0, 2.0], [1.0, 3.0], [4.0, 4.0], [ILL]),
        [STUDENT(0.0, 1.0), STUDENT(2.0, 3.0)],
    ),
    "poisson": (
        lambda x: bg.PoissonCPD(bg.Count(x.name), [2.0, 5.0], [ILL]),
        [scipy.stats.poisson(2.0), scipy.stats.poisson(5.0)],
    ),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("leaf", LEAVES)
def test_numbers_whose_leaves_only_compute_densities(leaf):
    make, laws = LEAVES[leaf]
    net = bg.BayesianNetwork([*clinic().cpds, make(bg.Continuous("x"))])
    shares = net.query("ill", {"fever": "yes"}).probabilities
    found = net.ask.next_question("ill", {"fever": "yes"}, among=["x", "test"])["x"]
    if leaf == "poisson":
        masses = np.array([p * law.pmf(np.arange(80)) for p, law in zip(shares, laws, strict=True)])
        assert found[1:3] == pytest.approx(by_entropies(masses, 1 - np.eye(2)), abs=1e-12)
        return

    def remaining(x):
        joint = np.array([p * law.pdf(x) for p, law in zip(shares, laws, strict=True)])
        return joint.sum() * entropy(joint / joint.sum()) if joint.sum() else 0.0

    ends = [-2000, -20, -2, 0, 0.2, 1, 3, 9, 40, 2000]
    left = sum(
        scipy.integrate.quad(remaining, a, b, epsabs=1e-11)[0] for a, b in itertools.pairwise(ends)
    )
    assert found.information == pytest.approx(entropy(shares) - left, abs=1e-7)
    assert found.error < 1e-7


def test_a_model_without_a_distribution_of_a_number_says_so():
    net = bg.BayesianNetwork(
        [*clinic().cpds, bg.models.ExponentialCPD(bg.Continuous("x"), [1.0, 3.0], [ILL])]
    )
    weighted = bg.WeightedNetwork(net, "ill", {"x": 0.5})
    ranking = weighted.ask.next_question("ill")
    assert set(ranking) == {"fever", "test"}
    assert "is no mixture of normal distributions" in ranking.refused["x"]
    assert "not ranked: x." in repr(ranking)
    with pytest.raises(UnsupportedModelError, match="is no mixture of normal distributions"):
        weighted.ask.next_question("ill", among=["x"])


# -------------------------------------------------------------------------- which models answer

ESTIMATORS = {
    "naive Bayes": bg.NaiveBayesClassifier,
    "log-normal naive Bayes": lambda: bg.NaiveBayesClassifier("lognormal"),
    "weighted": lambda: bg.WeightedNaiveBayesClassifier("variable"),
    "tan": bg.TANClassifier,
    "default": lambda: bg.BayesianNetworkClassifier(n_trees=5, max_steps=60),
    "single network": lambda: bg.BayesianNetworkClassifier(n_trees=0, max_steps=60),
    "aode": bg.AODEClassifier,
    "discriminant": bg.DiscriminantAnalysisClassifier,
    "tree": lambda: bg.DecisionTreeNetworkClassifier(max_depth=3),
    "stream": bg.StreamingNaiveBayesClassifier,
    "weighted stream": bg.StreamingWeightedNaiveBayesClassifier,
}


@pytest.fixture(scope="module")
def iris():
    X, y = load_iris(return_X_y=True)
    return X[::3] + 0.01, y[::3]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_which_estimators_answer(estimator, iris):
    X, y = iris
    model = ESTIMATORS[estimator]().fit(X, y)
    first, *others = (f.name for f in model.features_)
    ranking = model.ask.next_question(evidence={first: 5.0})
    assert set(ranking) == set(others)
    assert ranking.best in others[1:]  # petals
    assert not ranking.refused
    assert max(question.error for question in ranking.questions) < 1e-6
    session = model.ask.questionnaire(evidence={first: 5.0}, threshold=0.99)
    session = session.run(lambda name: float(X[40, [first, *others].index(name)]))
    assert session.posterior.argmax == y[40]
    rows = {first: [5.0, None], others[1]: [None, 1.5]}
    found = model.ask.next_question_rows(rows)
    assert found.information[0] == pytest.approx(
        [np.nan, *(ranking[name].information for name in others)], abs=1e-9, nan_ok=True
    )


def words():
    counts = bg.CountVector("words", ["free", "money"])
    return bg.MultinomialCPD(counts, [[0.5, 0.5], [0.2, 0.8]], [ILL])


# Models whose questions are refused: how they are made, what is asked, and the reason.
REFUSED = {
    "continuous target": (gaussians, {"target": "x"}, EvidenceError, "discrete target"),
    "vector of counts": (
        lambda: bg.BayesianNetwork([*clinic().cpds, words()]),
        {"target": "ill", "among": ["words"]},
        UnsupportedModelError,
        "vector of counts",
    ),
    "complement naive Bayes": (
        lambda: bg.ComplementNaiveBayesClassifier().fit(
            {"a": [1, 0, 2, 0], "b": [0, 1, 0, 3]}, ["x", "y", "x", "y"]
        ),
        {},
        UnsupportedModelError,
        "no distribution of documents",
    ),
    "regression": (
        lambda: bg.DecisionTreeNetworkRegressor(max_depth=2).fit(
            *(load_iris().data[:, columns] for columns in ([0, 1, 2], 3))
        ),
        {},
        EvidenceError,
        "discrete target",
    ),
    "unknown name": (clinic, {"target": "il"}, UnknownVariableError, "Did you mean 'ill'"),
    "unknown candidate": (
        clinic,
        {"target": "ill", "costs": {"fevr": 1}},
        UnknownVariableError,
        "Did you mean 'fever'",
    ),
    "target among the questions": (
        clinic,
        {"target": "ill", "among": ["ill"]},
        EvidenceError,
        "is the target",
    ),
    "a text of names": (
        clinic,
        {"target": "ill", "among": "fever"},
        EvidenceError,
        "list of names",
    ),
    "observed target": (
        clinic,
        {"target": "ill", "evidence": {"ill": "no"}},
        EvidenceError,
        "both the target and observed",
    ),
    "no price": (
        clinic,
        {"target": "ill", "among": ["test"], "costs": {"fever": 1}},
        DataError,
        "no price of 'test'",
    ),
    "negative price": (clinic, {"target": "ill", "costs": {"fever": -1}}, DataError, "0 or more"),
    "price of nothing": (clinic, {"target": "ill", "costs": 3}, DataError, "maps variables"),
    "measure": (clinic, {"target": "ill", "by": "entropy"}, DataError, "by= is one of"),
    "utility of what": (clinic, {"target": "ill", "by": "utility"}, DataError, "takes losses="),
    "accuracy with losses": (
        clinic,
        {"target": "ill", "by": "accuracy", "losses": LOSSES},
        DataError,
        "counts every mistake as 1",
    ),
    "shape of losses": (
        clinic,
        {"target": "ill", "losses": [[1.0, 2.0]]},
        DataError,
        "losses= needs a row",
    ),
    "three ahead": (clinic, {"target": "ill", "ahead": 3}, DataError, "1 or 2"),
    "impossible": (
        lambda: clinic(0.0),
        {"target": "fever", "evidence": {"ill": "yes"}},
        ImpossibleEvidenceError,
        "probability zero",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_refused(case):
    make, asked, kind, reason = REFUSED[case]
    with pytest.raises(kind, match=reason):
        make().ask.next_question(**asked)


# ----------------------------------------------------------------------------- prices and measures


def test_what_is_worth_most_per_price_comes_first():
    net = clinic()
    assert list(net.ask.next_question("ill")) == ["test", "fever"]
    ranking = net.ask.next_question("ill", costs={"test": 20, "fever": 1})
    assert list(ranking) == ["fever", "test"]
    assert ranking["test"].score == pytest.approx(ranking["test"].information / 20)
    assert list(net.ask.next_question("ill", costs={"test": 20})) == ["test"]
    free = net.ask.next_question("ill", {"fever": "yes"}, costs={"test": 0, "fever": 1})
    assert free["test"].score == math.inf
    assert len(free) == 1
    assert "information per cost" in repr(free)
    with pytest.raises(UnknownVariableError, match="ranking of questions"):
        free["fever"]


def test_losses_and_prices_in_one_unit_say_what_is_worth_its_price():
    net, losses = clinic(), {("yes", "no"): 10.0, ("no", "yes"): 1.0}
    matrix = np.array([[0.0, 1.0], [10.0, 0.0]])
    tables = {n: net.query(["ill", n]).probabilities for n in ("fever", "test")}
    gains = {name: by_entropies(table, matrix)[1] for name, table in tables.items()}
    for price, best in ((0.9 * gains["test"], "test"), (1.1 * gains["test"], None)):
        ranking = net.ask.next_question("ill", costs={"test": price, "fever": 9.0}, losses=losses)
        assert ranking.by == "utility"
        assert ranking.best == best
        assert ranking["test"].gain == pytest.approx(gains["test"], abs=1e-12)
    assert "nothing is worth its price" in repr(ranking)
    assert (
        net.ask.next_question("ill", costs={"test": price}, losses=losses, least=0.5).best == "test"
    )
    abstaining = np.column_stack([1 - np.eye(2), [0.1, 0.1]])
    ranking = net.ask.next_question("ill", abstain=0.1)
    assert ranking["test"].gain == pytest.approx(by_entropies(tables["test"], abstaining)[1])


def test_two_questions_ahead_see_an_exclusive_or():
    a, b, c = (bg.Discrete(name, [0, 1]) for name in "abc")
    odd = bg.Discrete("odd", [0, 1])
    net = bg.BayesianNetwork(
        [
            bg.TableCPD(a, [0.5, 0.5]),
            bg.TableCPD(b, [0.5, 0.5]),
            bg.TableCPD(odd, [[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [1.0, 0.0]]], [a, b]),
            bg.TableCPD(c, [[0.6, 0.4], [0.4, 0.6]], [odd]),
        ]
    )
    ranking = net.ask.next_question("odd")
    assert ranking.best == "c"
    assert ranking["a"].score == pytest.approx(0.0, abs=1e-12)
    ranking = net.ask.next_question("odd", ahead=2)
    assert ranking.best == "a"
    assert ranking["a"].score == pytest.approx(math.log(2.0))
    assert repr(ranking).startswith("Next question about odd: information, two questions ahead")
    assert "0.6931" in repr(ranking)
    assert ranking["a"].information == pytest.approx(0.0, abs=1e-12)
    # After c nothing alone is worth asking; with prices a plan may be worse than one question.
    assert ranking["c"].score == pytest.approx(ranking["c"].information)
    dear = net.ask.next_question("odd", ahead=2, costs={"a": 40, "b": 40, "c": 1})
    assert dear.best == "c"
    assert dear["a"].score == pytest.approx(math.log(2.0) / 80)


@pytest.mark.one_in(8)
@pytest.mark.parametrize("seed", range(10))
def test_two_questions_ahead_equal_enumeration(seed):
    network = random_network(seed + 7, n_discrete=6)
    oracle, names = Oracle.of(network), list(network.names)
    if len(names) < 3:
        pytest.skip("no two questions")
    target, *others = names
    found = network.ask.next_question(target, ahead=2)
    for name in others:
        table = oracle.posterior([target, name])
        expected = by_entropies(table, 1 - np.eye(len(table)))[0]
        for state, share in zip(network.variable(name).states, table.sum(axis=0), strict=True):
            if share > 0:
                tables = (oracle.posterior([target, n], {name: state}) for n in others if n != name)
                second = [by_entropies(t, np.eye(len(table)))[0] for t in tables]
                expected += share * max(second)
        assert found[name].score == pytest.approx(expected, abs=1e-9)


@pytest.mark.one_in(2)
@pytest.mark.parametrize("model", ["network", "average", "intervals", "log-normal"])
def test_two_questions_ahead_try_numbers_too(model):
    x = bg.Continuous("x")
    parts = clinic().cpds
    if model == "log-normal":
        asked = bg.BayesianNetwork([*parts, bg.LogNormalCPD(x, [0.0, 1.0], [0.25, 1.0], [ILL])])
        answers = None
    elif model == "intervals":
        cuts = [bg.Binned("x", [0.0, 1.0]), bg.Binned("x", [1.0])]
        tables = [[[0.1, 0.4, 0.5], [0.5, 0.3, 0.2]], [[0.2, 0.8], [0.7, 0.3]]]
        nets = [
            bg.BayesianNetwork([*parts, bg.TableCPD(v, table, [ILL])])
            for v, table in zip(cuts, tables, strict=True)
        ]
        asked = bg.Ensemble(nets, combine="posterior")
        fine, coarse = (net.query("x").probabilities for net in nets)
        inside = fine / np.array([fine[:2].sum(), fine[:2].sum(), fine[2]])
        shares = 0.5 * (fine + coarse[[0, 0, 1]] * inside)
        answers = dict(zip([-1.0, 0.5, 2.0], shares.tolist(), strict=True))
    else:
        nets = [bg.BayesianNetwork([*parts, bg.GaussianCPD(x, [0.0, 1.0], [1.0, 2.0], [ILL])])] * 2
        asked = nets[0] if model == "network" else bg.Ensemble(nets, combine="posterior")
        density = nets[0].query("x")
        answers = {density.quantile((k + 0.5) / 9): 1 / 9 for k in range(9)}
    alone, found = asked.ask.next_question("ill"), asked.ask.next_question("ill", ahead=2)
    if answers is None:
        assert alone["x"].score < found["x"].score < alone["x"].score + alone["test"].score
        return
    second = sum(
        share * max(question.information for question in after.questions)
        for share, after in (
            (share, asked.ask.next_question("ill", {"x": value}))
            for value, share in answers.items()
        )
    )
    assert found["x"].score == pytest.approx(alone["x"].information + second, abs=1e-9)


@pytest.mark.one_in(8)
@pytest.mark.parametrize("seed", range(5))
def test_with_prices_the_second_question_is_the_one_of_the_best_rate(seed):
    network, random = random_network(seed + 70, n_discrete=4), np.random.default_rng(seed)
    target, *others = network.names
    if len(others) < 2:
        pytest.skip("no two questions")
    costs = dict(zip(others, random.uniform(0.2, 4.0, len(others)).tolist(), strict=True))
    found = network.ask.next_question(target, costs=costs, ahead=2)
    for name in others:
        alone = network.ask.next_question(target)[name].information
        answers = network.query(name)
        plans = []
        options = [None, *(n for n in others if n != name)]
        for chosen in itertools.product(options, repeat=len(answers)):
            worth, price = alone, costs[name]
            for (state, share), second in zip(answers.items(), chosen, strict=True):
                if second is not None and share > 0:
                    after = network.ask.next_question(target, {name: state})
                    worth, price = (
                        worth + share * after[second].information,
                        price + share * costs[second],
                    )
            plans.append(worth / price)
        assert found[name].score == pytest.approx(max(plans), abs=1e-9)


def test_the_best_rate_of_two_questions_equals_enumeration():
    random = np.random.default_rng(0)
    for _ in range(100):
        worth, price = random.exponential(1.0), random.uniform(0.0, 3.0)
        shares = random.dirichlet(np.ones(3)).tolist()
        branches = [(p, random.exponential(1.0, 2), random.uniform(0.1, 3.0, 2)) for p in shares]
        rates = []
        for chosen in itertools.product([None, 0, 1], repeat=3):
            total, paid = worth, price
            for (share, others, prices), k in zip(branches, chosen, strict=True):
                if k is not None:
                    total, paid = total + share * others[k], paid + share * prices[k]
            rates.append(total / paid)
        assert _best_rate(worth, price, branches) == pytest.approx(max(rates), rel=1e-9)


# ------------------------------------------------------------------------------------------ rows


@pytest.mark.one_in(2)
@pytest.mark.parametrize("model", [clinic, *OTHERS.values()], ids=["network", *OTHERS])
def test_rows_equal_one_at_a_time(model):
    asked = model()
    rows = {"fever": ["yes", None, "no", "yes"], "test": [None, None, "+", "-"]}
    if "x" in asked.names:
        rows["x"] = [None, 1.0, 0.5, 2.0]
        rows["y"] = [0.0, 1.0, 2.0, 3.0]
    found = asked.ask.next_question_rows(rows, "ill", losses=LOSSES)
    assert found.terms.by == "utility"
    for i in range(4):
        evidence = {name: column[i] for name, column in rows.items() if column[i] is not None}
        ranking = asked.ask.next_question("ill", evidence, losses=LOSSES)
        assert found.best[i] == ranking.best
        for j, name in enumerate(found.names):
            alone = ranking[name][1:3] if name in ranking else (math.nan, math.nan)
            both = found.information[i, j], found.gain[i, j]
            assert both == pytest.approx(alone, abs=1e-9, nan_ok=True)
            score = ranking[name].score if name in ranking else math.nan
            assert found.scores[i, j] == pytest.approx(score, abs=1e-9, nan_ok=True)
    assert "Next question of 4 rows" in repr(found)


def test_impossible_rows_have_no_question():
    net = bg.BayesianNetwork(
        [
            bg.TableCPD(ILL, [0.5, 0.5]),
            *(bg.TableCPD(v, [[1.0, 0.0], [1.0, 0.0]], [ILL]) for v in (FEVER, TEST)),
        ]
    )
    with pytest.warns(ImpossibleEvidenceWarning, match="1 of 2 rows"):
        found = net.ask.next_question_rows({"fever": ["yes", "no"]}, "ill")
    assert found.best == [None, None]
    assert np.isnan(found.information[0]).all()
    assert found.information[1, 1] == 0


def test_rows_of_a_model_with_nothing_to_ask_for():
    """A target alone: there is no question, and no error."""
    found = bg.BayesianNetwork([bg.TableCPD(ILL, [0.5, 0.5])]).ask.next_question_rows(
        {"ill": ["no", "yes", None]}, "ill"
    )
    assert found.best == [None, None, None]
    assert found.information.shape == (3, 0)


def test_a_price_of_the_target_alone_is_an_error():
    net = bg.BayesianNetwork([bg.TableCPD(ILL, [0.5, 0.5]), bg.TableCPD(FEVER, [0.5, 0.5])])
    with pytest.raises(EvidenceError, match="'ill' alone, the target"):
        net.ask.next_question("ill", costs={"ill": 1})
    assert "fever" in net.ask.next_question("ill", costs={"ill": 1, "fever": 2})


# --------------------------------------------------------------- densities with an edge


def information_by_quad(leaf, shares):
    """Return the information of a number about its parent, by SciPy's quadrature in log x."""
    parts = [leaf(k) for k in range(len(shares))]

    def term(t):
        # x runs to 0 as t does to minus infinity; of numbers below 1, 1 - x is the other end.
        x = np.exp(t)
        p = np.array([share * part.pdf(x) for share, part in zip(shares, parts, strict=True)])
        whole = p.sum()
        return 0.0 if not whole > 0 else float(x * (xlogy(p, p) - xlogy(p, whole * shares)).sum())

    top = max(part.ppf(1 - 1e-15) for part in parts)
    ends = np.log(top) - np.arange(0.0, 400.0, 4.0)[::-1]
    found = [
        scipy.integrate.quad(term, a, b, limit=200, epsabs=1e-14)[0]
        for a, b in itertools.pairwise(ends)
    ]
    return math.fsum(found)


EDGES = {
    "exponential": (
        lambda x, k: bg.models.ExponentialCPD(x, [1.0, 3.0], [k]),
        lambda i: stats.expon(scale=[1.0, 1 / 3][i]),
    ),
    "gamma": (
        lambda x, k: bg.GammaCPD(x, [0.5, 3.0], [1.0, 2.0], [k]),
        lambda i: stats.gamma([0.5, 3.0][i], scale=[1.0, 0.5][i]),
    ),
    "gammas below one": (
        lambda x, k: bg.GammaCPD(x, [0.6, 0.9], [1.0, 0.4], [k]),
        lambda i: stats.gamma([0.6, 0.9][i], scale=[1.0, 2.5][i]),
    ),
    "a gamma near zero": (
        lambda x, k: bg.GammaCPD(x, [0.2, 3.0], [1e-6, 2e-6], [k]),
        lambda i: stats.gamma([0.2, 3.0][i], scale=[1e6, 5e5][i]),
    ),
    "beta": (
        lambda x, k: bg.models.BetaCPD(x, [0.8, 0.6], [2.0, 3.0], [k]),
        lambda i: stats.beta([0.8, 0.6][i], [2.0, 3.0][i]),
    ),
    "log-normal": (
        lambda x, k: bg.LogNormalCPD(x, [0.0, 1.0], [0.25, 1.0], [k]),
        lambda i: stats.lognorm([0.5, 1.0][i], scale=[1.0, math.e][i]),
    ),
}


@pytest.mark.parametrize("mixed", [False, True])
@pytest.mark.parametrize("name", EDGES)
def test_the_information_of_a_density_with_an_edge(name, mixed):
    make, leaf = EDGES[name]
    kind, shares = bg.Discrete("kind", [0, 1]), np.array([0.4, 0.6])
    model = bg.BayesianNetwork([bg.TableCPD(kind, shares), make(bg.Continuous("x"), kind)])
    model = bg.Ensemble([model, model], [0.5, 0.5]) if mixed else model
    found = model.ask.next_question("kind")["x"]
    assert found.information == pytest.approx(information_by_quad(leaf, shares), abs=1e-10)
    assert found.error < 1e-10


@pytest.mark.parametrize(("share", "is_told"), [(0.02, True), (0.4, False)])
def test_gains_of_zero_are_explained(share, is_told):
    rare, sign = bg.Discrete("rare", ["no", "yes"]), bg.Discrete("sign", ["-", "+"])
    tables = [
        bg.TableCPD(rare, [1 - share, share]),
        bg.TableCPD(sign, [[0.7, 0.3], [0.2, 0.8]], [rare]),
    ]
    ranking = bg.BayesianNetwork(tables).ask.next_question("rare")
    # By Bayes' rule: P(yes | +) is 0.05 of 2 %, and 0.64 of 40 %.
    assert (ranking["sign"].gain < 1e-12) is is_told
    assert ("gain is 0: the decision stays the same" in repr(ranking)) is is_told


def test_large_counts_are_summed_where_they_are():
    a = bg.Discrete("a", ["0", "1"])
    calls = bg.PoissonCPD(bg.Count("calls"), [1e5, 1.1e5], [a])
    net = bg.BayesianNetwork([bg.TableCPD(a, [0.3, 0.7]), calls])
    found = net.ask.next_question("a")["calls"]
    assert found.information == pytest.approx(entropy(np.array([0.3, 0.7])), abs=1e-9)
    assert found.error < 1e-9


def test_a_belief_is_refused():
    net = clinic()
    belief = bg.Belief({"no": 0.5, "yes": 0.5})
    with pytest.raises(EvidenceError, match=r"A Belief about 'fever' .* give likelihoods"):
        net.ask.next_question("ill", {"fever": belief})
