"""Credible intervals against closed forms, derivatives, and networks with drawn parameters."""

import itertools
from functools import cache, partial

import numpy as np
import pytest
from deterministic_networks import adder
from oracle import random_network
from scipy import stats
from sklearn.datasets import load_iris

import bayesgraph as bg
from bayesgraph.core.errors import (
    DataError,
    EvidenceError,
    FewRowsWarning,
    ImpossibleEvidenceError,
    UnsupportedModelError,
)
from bayesgraph.models import read_case
from bayesgraph.questions import intervals
from bayesgraph.questions.intervals import DrawName, drawn_answers, numbers_of, with_draws
from bayesgraph.statistics import draw_gaussians, draw_probabilities

RAIN, WET = bg.Discrete("rain", ["no", "yes"]), bg.Discrete("wet", ["no", "yes"])
ROWS = {"rain": ["no"] * 8 + ["yes"] * 2, "wet": ["no"] * 7 + ["yes"] * 3}


def rainy(**options):
    return bg.BayesianNetwork.fit([("rain", "wet")], ROWS, **options)


@cache
def mixed_rows():
    """Return a class, a number below it, a number below both, and a number of its own."""
    random = np.random.default_rng(0)
    kind = random.integers(3, size=60)
    x = random.normal(kind, 1.0)
    return {
        "kind": np.array(["a", "b", "c"])[kind],
        "x": x,
        "y": 2 * x + kind + random.normal(size=60),
        "z": random.normal(size=60),
    }


def mixed():
    return bg.BayesianNetwork.fit([("kind", "x"), ("kind", "y"), ("x", "y")], mixed_rows())


def with_strengths(network, seed, low=2.0):
    """Give the tables of a network posteriors of random strengths."""
    random = np.random.default_rng(seed)
    for cpd in network.cpds:
        strength = low + random.gamma(2.0, 20.0, cpd.values.shape[:-1])
        cpd.parameter_posterior = bg.statistics.ParameterPosterior(strength - low / 2, strength)
    return network


# ------------------------------------------------------------------------ what estimates keep


def posterior(model, name):
    return model[name].parameter_posterior


def test_tables_keep_rows_and_pseudo_counts():
    net = rainy(smoothing=0.5)
    np.testing.assert_array_equal(posterior(net, "rain").strength, 11)
    np.testing.assert_array_equal(posterior(net, "wet").rows, [8, 2])
    np.testing.assert_array_equal(posterior(net, "wet").strength, [9, 3])
    counted = net["wet"].values * posterior(net, "wet").strength[:, None]
    np.testing.assert_allclose(counted, [[7.5, 1.5], [0.5, 2.5]])
    assert posterior(rainy(smoothing="backoff"), "wet").strength.tolist() == [10, 4]
    assert posterior(rainy(smoothing="m"), "wet").strength.tolist() == [9, 3]


def test_a_regression_keeps_its_normal_equations():
    smoothing = bg.Smoothing(shrinkage=0.0, var_smoothing=0.0)
    arcs = [("kind", "x"), ("kind", "y"), ("x", "y")]
    net = bg.BayesianNetwork.fit(arcs, mixed_rows(), smoothing=smoothing)
    rows = mixed_rows()
    for code, state in enumerate("abc"):
        own = rows["kind"] == state
        x = rows["x"][own]
        found = posterior(net, "y")
        assert found.rows[code] == found.strength[code] == own.sum()
        np.testing.assert_allclose(found.centre[code], x.mean())
        np.testing.assert_allclose(found.covariance[code], [[1 / ((x - x.mean()) ** 2).sum()]])
        assert posterior(net, "x").rows[code] == own.sum()
        assert posterior(net, "x").covariance is None
    shrunk = bg.BayesianNetwork.fit(arcs, rows, smoothing=bg.Smoothing(ddof=1))
    np.testing.assert_array_equal(posterior(shrunk, "y").strength, found_rows(shrunk) + 19)


def found_rows(net):
    return posterior(net, "y").rows


def test_plates_keep_what_their_children_share_once():
    rows = {"a": ["x", "y", None, "x"], "b": ["u", "v", "w", "u"], "n": [1.0, 2.0, 3.0, 5.0]}
    clf = bg.NaiveBayesClassifier().fit(rows, ["p", "p", "q", "q"])
    plates = {type(block): block.parameter_posterior for block in clf.network_._blocks}
    np.testing.assert_array_equal(plates[bg.models.TablePlate].rows, [[2, 2], [1, 2]])
    np.testing.assert_array_equal(plates[bg.models.GaussianPlate].rows, [[2], [2]])
    np.testing.assert_array_equal(posterior(clf.network_, "a").strength, [4, 3])
    np.testing.assert_array_equal(posterior(clf.network_, "b").strength, [5, 5])
    np.testing.assert_array_equal(posterior(clf.network_, "n").strength, [22, 22])
    assert posterior(clf.network_, "class").strength == 4
    known = bg.NaiveBayesClassifier(priors="uniform").fit(rows, ["p", "p", "q", "q"])
    assert posterior(known.network_, "class").strength == np.inf
    assert known.ask.credible_intervals()["p"] == (0.5, 0.5, 0.5, 0.0)


def test_more_rows_make_posteriors_narrower():
    X, y = load_iris(return_X_y=True)
    clf = bg.NaiveBayesClassifier("gaussian")
    widths = []
    for start in range(0, 30, 10):
        at = np.concatenate([np.arange(start, start + 10) + 50 * k for k in range(3)])
        clf.partial_fit(X[at], y[at])
        found = clf.ask.credible_intervals(evidence={"x2": 4.8}, draws=300)[1]
        widths.append(found.high - found.low)
    assert widths[0] > widths[1] > widths[2]


def test_files_keep_posteriors(tmp_path):
    clf = bg.AODEClassifier().fit({"a": list("xyxy"), "b": list("uuvw")}, list("ppqq"))
    models = [rainy(), mixed(), clf.network_]
    for model in models:
        model.save(tmp_path / "model.bayesgraph")
        loaded = bg.load(tmp_path / "model.bayesgraph")
        for mine, theirs in zip(model.cpds, loaded.cpds, strict=True):
            own, other = mine.parameter_posterior, theirs.parameter_posterior
            np.testing.assert_array_equal(own.rows, other.rows)
            np.testing.assert_array_equal(own.strength, other.strength)
            assert (own.covariance is None) == (other.covariance is None)
            if own.covariance is not None:
                np.testing.assert_array_equal(own.centre, other.centre)
                np.testing.assert_array_equal(own.covariance, other.covariance)
    clf.save(tmp_path / "clf.bayesgraph")
    found = bg.load(tmp_path / "clf.bayesgraph").ask.credible_intervals(draws=20)
    assert found["p"] == clf.ask.credible_intervals(draws=20)["p"]


def test_a_file_with_an_impossible_posterior_is_refused(tmp_path):
    for wrong in (
        bg.statistics.ParameterPosterior(np.zeros(3), np.ones(3)),
        bg.statistics.ParameterPosterior(np.array([-1.0, 1.0]), np.ones(2)),
        bg.statistics.ParameterPosterior(np.ones(2), np.array([np.nan, 1.0])),
        bg.statistics.ParameterPosterior(
            np.ones(2), np.ones(2), np.ones((2, 1)), np.ones((2, 1, 1))
        ),
    ):
        net = rainy()
        net["wet"].parameter_posterior = wrong
        net.save(tmp_path / "net.bayesgraph")
        with pytest.raises(bg.errors.FileFormatError, match="wet"):
            bg.load(tmp_path / "net.bayesgraph")


# ------------------------------------------------------------------------------- closed forms


def test_a_root_has_the_quantiles_of_its_beta_distribution():
    net = rainy()
    found = net.ask.credible_intervals("rain", coverage=0.8, draws=20_000)
    beta = stats.beta(3, 9)
    assert found["yes"].low == pytest.approx(beta.ppf(0.1), abs=0.004)
    assert found["yes"].high == pytest.approx(beta.ppf(0.9), abs=0.004)
    assert found["yes"].sd == pytest.approx(beta.std(), rel=0.03)
    assert found["yes"].estimate == net.query("rain")["yes"]
    assert found.rows == pytest.approx(12, rel=0.06)


def test_a_mean_has_the_quantiles_of_student_s_t():
    smoothing = bg.Smoothing(shrinkage=0.0)
    net = bg.BayesianNetwork.fit([], {"z": mixed_rows()["z"][:9]}, smoothing=smoothing)
    cpd = net["z"]
    t = stats.t(9, cpd.mean, np.sqrt(cpd.variance / 9))
    sd = np.sqrt(9 * cpd.variance / stats.chi2(9).ppf([0.95, 0.05]))
    arrays, random = (cpd.mean, cpd.variance, cpd.coefficients), np.random.default_rng(0)
    mean, variance, _ = draw_gaussians(*arrays, cpd.parameter_posterior, 20_000, random)
    np.testing.assert_allclose(np.quantile(mean, [0.05, 0.95]), t.ppf([0.05, 0.95]), atol=0.02)
    np.testing.assert_allclose(np.quantile(np.sqrt(variance), [0.05, 0.95]), sd, atol=0.02)
    found = net.ask.credible_intervals("z", draws=200)
    assert found["mean"][1:3] == pytest.approx(t.ppf([0.05, 0.95]), abs=0.15)
    assert found["sd"][1:3] == pytest.approx(sd, abs=0.15)
    assert found.rows == pytest.approx(7, rel=0.3)  # the variance of t is 9/7 of that given sd


def test_draws_of_a_regression_have_its_covariance():
    cpd = mixed()["y"]
    arrays, random = (cpd.mean, cpd.variance, cpd.coefficients), np.random.default_rng(0)
    mean, variance, slopes = draw_gaussians(*arrays, cpd.parameter_posterior, 20_000, random)
    known = cpd.parameter_posterior
    dof = known.strength
    for code in range(3):
        both = np.stack([mean[:, code], slopes[:, code, 0]])
        # The normal equations of intercept and slope, shrinkage included.
        n, m, squares = known.rows[code], known.centre[code, 0], 1 / known.covariance[code, 0, 0]
        expected = np.linalg.inv([[n, n * m], [n * m, squares + n * m * m]])
        expected *= cpd.variance[code] * dof[code] / (dof[code] - 2)
        np.testing.assert_allclose(np.cov(both), expected, rtol=0.05)
        assert np.mean(1 / variance[:, code]) == pytest.approx(1 / cpd.variance[code], rel=0.02)


@pytest.mark.slow
def test_a_regression_on_numbers_far_from_zero_has_intervals():
    random = np.random.default_rng(0)
    u = random.normal(size=50)
    for shift in (0.0, 1e6, 1e9):
        rows = {"u": u + shift, "v": u + shift, "y": u + random.normal(size=50)}
        net = bg.BayesianNetwork.fit([("u", "y"), ("v", "y")], rows)
        evidence = {"u": shift + 1.0, "v": shift + 1.0}
        found = net.ask.credible_intervals("y", evidence, draws=100)["mean"]
        assert np.isfinite(found).all()
        if shift < 1e9:  # with nine digits taken, the coefficients have few left
            assert 0.3 < found.high - found.low < 1.2


def test_dirichlet_draws_have_their_moments_however_weak():
    means, strengths = np.array([0.2, 0.8, 0.0, 0.5, 0.5]), np.array([1e-4, 7.0])
    cards = np.array([2, 3])
    drawn = draw_probabilities(means, strengths, cards, 20_000, np.random.default_rng(0))
    np.testing.assert_allclose(drawn[:, :2].sum(axis=1), 1)
    np.testing.assert_allclose(drawn[:, 2:].sum(axis=1), 1)
    np.testing.assert_allclose(drawn.mean(axis=0), means, atol=0.015)
    expected = means * (1 - means) / (np.repeat(strengths, cards) + 1)
    np.testing.assert_allclose(drawn.var(axis=0), expected, atol=0.004)


# ------------------------------------------------------------------------------- derivatives


@pytest.mark.one_in(6)
@pytest.mark.parametrize("seed", range(12))
def test_variances_of_many_rows_are_those_of_the_derivatives(seed):
    """Independent: the derivatives of `sensitivity`, and the covariance of each Dirichlet."""
    net = with_strengths(random_network(seed, n_discrete=6, n_continuous=0), seed, low=2000.0)
    if len(net.variables) < 3:
        pytest.skip("too few variables")
    order = np.random.default_rng(seed).permutation(len(net.variables))[:3]
    first, second, target = (net.variables[i] for i in order)
    evidence = {first.name: first.states[0], second.name: np.arange(1.0, 1 + second.cardinality)}
    if net.log_probability(evidence) == -np.inf:
        pytest.skip("impossible")
    found = net.ask.credible_intervals(target.name, evidence, draws=2000)
    every = net.ask.credible_intervals(None, evidence, draws=2000)[target.name]
    for state in target.states:
        slopes = net.ask.sensitivity(target.name, state, evidence).derivatives
        variance = 0.0
        for cpd in net.cpds:
            g, theta = slopes[cpd.variable.name], cpd.values
            spread = (theta * g**2).sum(-1) - (theta * g).sum(-1) ** 2
            variance += float((spread / (cpd.parameter_posterior.strength + 1)).sum())
        assert found[state].sd ** 2 == pytest.approx(variance, rel=0.15, abs=1e-12)
        assert every[state].sd == pytest.approx(found[state].sd, rel=1e-6, abs=1e-9)


def test_joint_posteriors_agree_with_their_marginals():
    net = with_strengths(rainy(), 1, low=50.0)
    joint = net.ask.credible_intervals(["rain", "wet"])
    assert list(joint) == list(itertools.product(("no", "yes"), repeat=2))
    assert joint["yes", "no"].estimate == net.query(["rain", "wet"])["yes", "no"]


# ------------------------------------------------------------------------------------- draws


def of_draw(cpd, draw, i):
    """Return the CPD of one draw of a drawn model."""
    if cpd.variable == draw:
        return None
    parents = [p for p in cpd.parents if p != draw]
    if isinstance(cpd, bg.TableCPD):
        return bg.TableCPD(cpd.variable, cpd.values[i], parents)
    return bg.GaussianCPD(cpd.variable, cpd.mean[i], cpd.variance[i], parents, cpd.coefficients[i])


def networks_of_draws(model, n, seed=0):
    """Return for each draw the networks that have its parameters."""
    draw = bg.Discrete(DrawName(), range(n))
    drawn = with_draws(model, draw, np.random.default_rng(seed))
    return [
        [
            bg.BayesianNetwork([c for cpd in net.cpds if (c := of_draw(cpd, draw, i)) is not None])
            for net in drawn.networks
        ]
        for i in range(n)
    ]


def compare_draws(net, evidence, n):
    """Compare the answers of draws with those of networks with the drawn tables."""
    free = [v for v in range(len(net.variables)) if net.names[v] not in evidence]
    case = read_case(net, evidence)
    for groups in ([(v,) for v in free], [tuple(free[:2])]):
        answers = drawn_answers(net, groups, case, n, np.random.default_rng(0))
        for group, answer in zip(groups, answers, strict=True):
            names = [net.names[v] for v in group]
            for k, (drawn,) in enumerate(networks_of_draws(net, n)):
                expected = drawn.query(names, evidence).probabilities.ravel()
                np.testing.assert_allclose(answer[k], expected, rtol=1e-9, atol=1e-12)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("soft", [False, True])
def test_each_draw_is_the_answer_of_its_network(seed, soft):
    net = with_strengths(random_network(seed, n_discrete=7, n_continuous=0), seed, low=0.1)
    variable = net.variables[seed % len(net.variables)]
    evidence = {variable.name: [1.0] * (variable.cardinality - 1) + [2.0]} if soft else {}
    compare_draws(net, evidence, 4)


@pytest.mark.slow
def test_draws_of_networks_with_compressed_cliques():
    nodes = adder(12, 3, 6, seed=0)
    variables = [bg.Discrete(node.name, node.states) for node in nodes]
    net = bg.BayesianNetwork(
        bg.TableCPD(variable, node.table, [variables[p] for p in node.parents])
        for variable, node in zip(variables, nodes, strict=True)
    )
    compare_draws(with_strengths(net, 0), {}, 2)


def test_draws_that_underflow_run_on_logarithms():
    chain = [bg.Discrete(i, [0, 1]) for i in range(40)]
    cpds = [bg.TableCPD(chain[0], [1e-12, 1 - 1e-12])]
    for a, b in itertools.pairwise(chain):
        cpds.append(bg.TableCPD(b, [[1e-200, 1 - 1e-200], [1 - 1e-12, 1e-12]], [a]))
    net = bg.BayesianNetwork(cpds)
    for cpd in net.cpds:
        cpd.parameter_posterior = bg.statistics.ParameterPosterior(
            *[np.full(cpd.values.shape[:-1], 1e9)] * 2
        )
    evidence = {39: 0, 37: 1, 20: 0}
    found = net.ask.credible_intervals(5, evidence, draws=20)
    assert found.coverage == 0.9
    assert 0.0 <= found[0].low <= found[0].high <= 1.0


@pytest.mark.parametrize(
    ("targets", "evidence"),
    [
        ("kind", {"x": 0.3, "y": 1.0}),
        ("kind", {"y": 1.0}),
        ("kind", {}),
        ("y", {"kind": "b"}),
        ("x", {"y": 2.0, "kind": {"a": 1.0, "b": 2.0, "c": 0.5}}),
    ],
)
def test_each_draw_of_a_mixed_network_is_the_answer_of_its_network(targets, evidence):
    net = mixed()
    case, random = read_case(net, evidence), np.random.default_rng(1)
    (answers,) = drawn_answers(net, [(net._index_of[targets],)], case, 5, random)
    for answer, (drawn,) in zip(answers, networks_of_draws(net, 5, seed=1), strict=True):
        expected = drawn.query(targets, evidence)
        np.testing.assert_allclose(answer, numbers_of(expected), rtol=1e-9)


@pytest.mark.slow
def test_blocks_of_draws_are_joined(monkeypatch):
    monkeypatch.setattr(intervals, "_TOGETHER", 40)
    found = rainy().ask.credible_intervals("rain", {"wet": "yes"}, draws=3000)
    assert found["yes"].sd == pytest.approx(0.21, abs=0.02)
    assert 0.2 < mixed().ask.credible_intervals("x", draws=20)["mean"].high < 2.0


def test_a_mixture_draws_shared_tables_once():
    X = {"a": list("xyxyxxyy"), "b": list("uvuvuuvw"), "c": list("pqpqqqpp")}
    clf = bg.AODEClassifier().fit(X, list("ttttssss"))
    draw = bg.Discrete(DrawName(), range(3))
    drawn = with_draws(clf.network_, draw, np.random.default_rng(0))
    first, second = (network["class"] for network in drawn.networks[:2])
    assert first is second
    case, random = read_case(clf.network_, {"b": "v"}), np.random.default_rng(0)
    (answers,) = drawn_answers(clf.network_, [(0,)], case, 3, random)
    for answer, members in zip(answers, networks_of_draws(clf.network_, 3), strict=True):
        own = bg.Ensemble(members, clf.network_.weights).query("class", {"b": "v"})
        np.testing.assert_allclose(answer, own.probabilities, rtol=1e-9)


def test_the_same_seed_gives_the_same_intervals():
    net = rainy()
    assert net.ask.credible_intervals("rain")["no"] == net.ask.credible_intervals("rain")["no"]
    other = net.ask.credible_intervals("rain", random_state=1)["no"]
    assert other != net.ask.credible_intervals("rain")["no"]


def test_interventions_and_impossible_evidence():
    net = rainy()
    done = net.ask.credible_intervals("rain", do={"wet": "yes"}, draws=4000)
    assert done["yes"].sd == pytest.approx(stats.beta(3, 9).std(), rel=0.05)
    sure = net.ask.credible_intervals("wet", do={"rain": "yes"}, draws=4000)
    assert sure["yes"].sd == pytest.approx(stats.beta(3, 1).std(), rel=0.05)
    net["wet"].values.flags.writeable = True
    certain = bg.TableCPD(WET, [[1.0, 0.0], [1.0, 0.0]], [RAIN])
    certain.parameter_posterior = posterior(net, "wet")
    net = bg.BayesianNetwork([net["rain"], certain])
    with pytest.raises(ImpossibleEvidenceError):
        net.ask.credible_intervals("rain", {"wet": "yes"})


def test_few_rows_are_warned_of():
    net = rainy()
    with pytest.warns(FewRowsWarning, match=r"fewer than 8 rows: 'rain \("):
        net.ask.credible_intervals("rain", {"wet": "yes"}, min_rows=8)
    with pytest.warns(FewRowsWarning, match="rain .*wet"):
        net.ask.credible_intervals(min_rows=1000)
    net.ask.credible_intervals("rain", min_rows=5)


def test_a_state_called_mean_is_a_state_like_others():
    columns = {"z": ["mean"] * 8 + ["first"] * 3, "y": range(11)}
    found = bg.BayesianNetwork.fit([], columns).ask.credible_intervals(draws=20)
    assert str(found).splitlines()[2].split()[:3] == ["z", "mean", "0.6923"]


def test_answers_print():
    net = mixed()
    assert "90 % credible" in str(net.ask.credible_intervals("kind", draws=20))
    assert "mean" in str(net.ask.credible_intervals("x", draws=20))
    every = net.ask.credible_intervals(draws=20)
    assert str(every).count("\n") >= len(net.names)
    assert set(every) == set(net.names)
    assert len(every["kind"]) == 3
    assert "a" in every["kind"]
    assert "q" not in every["kind"]
    with pytest.raises(bg.errors.UnknownVariableError, match="kind"):
        every["kid"]
    with pytest.raises(bg.errors.UnknownStateError):
        every["kind"]["d"]
    with pytest.raises(EvidenceError, match="mean"):
        every["x"]["median"]
    with pytest.raises(EvidenceError, match="tuples"):
        rainy().ask.credible_intervals(["rain", "wet"])["yes"]


# ------------------------------------------------------------------------- who answers, who not

DISCRETE = {"a": list("xyxyxyxx"), "b": list("uvuvuuvw")}
LABELS = list("ttttssss")
NUMBERS, CLASSES = load_iris(return_X_y=True)


def fitted(make, numeric=False):
    rows, labels = (NUMBERS[::3, :2], CLASSES[::3]) if numeric else (DISCRETE, LABELS)
    return make().fit(rows, labels)


def averaged():
    networks = [rainy(), bg.BayesianNetwork.fit([("wet", "rain")], ROWS)]
    return bg.Ensemble(networks, [0.3, 0.7], combine="posterior")


def by_hand():
    return bg.BayesianNetwork([bg.TableCPD(RAIN, [0.8, 0.2])])


# Kinds of models, and the reason of those that refuse; None if they answer.
KINDS = {
    "tables": (rainy, None),
    "mixed": (mixed, None),
    "mixture": (lambda: bg.Ensemble([rainy(), rainy()]), None),
    "average": (averaged, None),
    "naive Bayes": (partial(fitted, bg.NaiveBayesClassifier), None),
    "naive Bayes of numbers": (partial(fitted, bg.NaiveBayesClassifier, True), None),
    "naive Bayes of intervals": (
        partial(fitted, partial(bg.NaiveBayesClassifier, discretizer="mdlp"), True),
        None,
    ),
    "TAN": (partial(fitted, bg.TANClassifier), None),
    "TAN of numbers": (partial(fitted, bg.TANClassifier, True), None),
    "KDB": (partial(fitted, bg.KDBClassifier), None),
    "AODE": (partial(fitted, bg.AODEClassifier), None),
    "averaged TAN": (partial(fitted, bg.AveragedTANClassifier), None),
    "structure": (partial(fitted, partial(bg.BayesianNetworkClassifier, "tan")), None),
    "made by hand": (by_hand, "made by hand"),
    "maximum likelihood": (partial(rainy, smoothing=bg.Smoothing(estimation="ml")), "'ml'"),
    "mode": (partial(rainy, smoothing=bg.Smoothing(estimation="map")), "'map'"),
    "no pseudo-counts": (
        lambda: bg.BayesianNetwork.fit(
            [("rain", "wet")],
            {"rain": ["no"], "wet": ["no"]},
            variables=[RAIN, WET],
            smoothing=0.0,
        ),
        "where rain=yes",
    ),
    "EM": (partial(rainy, missing="em"), "EM"),
    "weighted": (lambda: bg.WeightedNetwork(rainy(), "rain", {"wet": 0.5}), "exponents"),
    "factor graph": (lambda: bg.FactorGraph.of(rainy()), "factors"),
    "trained to predict": (partial(fitted, bg.BayesianNetworkClassifier), "trained to predict"),
    "weighted naive Bayes": (partial(fitted, bg.WeightedNaiveBayesClassifier), "exponents"),
    "complement": (
        lambda: bg.ComplementNaiveBayesClassifier().fit(np.eye(4, dtype=int), LABELS[2:6]),
        "posterior",
    ),
    "discriminant": (partial(fitted, bg.DiscriminantAnalysisClassifier, True), "posterior"),
    "Poisson": (
        lambda: bg.NaiveBayesClassifier("poisson").fit(np.eye(4, dtype=int), LABELS[2:6]),
        "PoissonCPD",
    ),
    "predictive": (
        partial(
            fitted,
            partial(bg.NaiveBayesClassifier, smoothing=bg.Smoothing(estimation="predictive")),
            True,
        ),
        "StudentCPD",
    ),
    "decision tree": (
        partial(fitted, bg.DecisionTreeNetworkClassifier),
        "P\\(a\\) keeps no posterior",
    ),
    "stream": (partial(fitted, bg.StreamingNaiveBayesClassifier), "posterior"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_who_answers_and_who_refuses(kind):
    make, reason = KINDS[kind]
    model = make()
    if reason is None:
        network = getattr(model, "network_", model)
        target = getattr(model, "target_", network.variables[0]).name
        found = model.ask.credible_intervals(target, draws=50)
        exact = network.query(target)
        assert [found[state].estimate for state in exact] == pytest.approx(list(exact.values()))
        assert all(each.low <= each.high for each in found.values())
        assert found.rows > 1
    else:
        target = getattr(model, "target_", model.variables[0] if kind in OF_MODELS else None)
        with pytest.raises(UnsupportedModelError, match=reason):
            model.ask.credible_intervals(target.name)


OF_MODELS = {
    "made by hand",
    "maximum likelihood",
    "mode",
    "no pseudo-counts",
    "EM",
    "weighted",
    "factor graph",
}


def test_files_of_other_formats_keep_no_posterior(tmp_path):
    rainy().save(tmp_path / "net.bif")
    with pytest.raises(UnsupportedModelError, match="file of another format"):
        bg.load(tmp_path / "net.bif").ask.credible_intervals("rain")


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"coverage": 1.5}, DataError, "between 0 and 1"),
        ({"coverage": "all"}, DataError, "between 0 and 1"),
        ({"draws": 1}, DataError, "2 or more"),
        ({"evidence": {"wet": bg.Belief({"no": 0.5, "yes": 0.5})}}, EvidenceError, "Belief"),
        ({"targets": "wet", "evidence": {"wet": "no"}}, EvidenceError, "observed"),
    ],
)
def test_what_is_wrong_is_said(options, error, match):
    with pytest.raises(error, match=match):
        rainy().ask.credible_intervals(**{"targets": "rain", **options})


def test_draws_that_take_too_much_memory_are_refused():
    with pytest.raises(bg.errors.MemoryLimitError, match=r"10,000 draws .* 160 kB"):
        rainy().ask.credible_intervals("rain", draws=10_000, memory_limit=1e5)


def test_joint_posteriors_with_numbers_are_refused():
    with pytest.raises(UnsupportedModelError, match="one continuous"):
        mixed().ask.credible_intervals(["kind", "x"])


def test_averages_with_exponents_are_refused():
    """The distribution of a draw would count as evidence."""
    columns = mixed_rows()
    networks = [bg.BayesianNetwork.fit([("kind", n)], columns) for n in ("x", "y")]
    plain = bg.Ensemble(networks, combine="posterior")
    assert plain.ask.credible_intervals("kind") is not None
    average = bg.Ensemble(networks, combine="posterior", exponents={"kind": [3.0, 1.0]})
    with pytest.raises(UnsupportedModelError, match="its exponents have no posterior"):
        average.ask.credible_intervals("kind")


@pytest.mark.parametrize("targets", ["rain", ["rain", "wind"], None])
def test_evidence_that_is_impossible_under_all_draws(targets):
    """Draws of a row with a weight of 1e-9 are zero by underflow."""
    wind = bg.Discrete("wind", ["no", "yes"])
    net = bg.BayesianNetwork(
        [
            bg.TableCPD(RAIN, [0.5, 0.5]),
            bg.TableCPD(WET, [[1.0 - 1e-12, 1e-12]] * 2, [RAIN]),
            bg.TableCPD(wind, [0.5, 0.5]),
        ]
    )
    for cpd in net.cpds:
        shape = cpd.values.shape[:-1]
        cpd.parameter_posterior = bg.statistics.ParameterPosterior(
            np.full(shape, 1000.0), np.full(shape, 1000.0)
        )
    with pytest.raises(ImpossibleEvidenceError):
        net.ask.credible_intervals(targets, {"wet": "yes"}, draws=40)
