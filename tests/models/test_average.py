"""Averages of posteriors: fixed weights, members that know different things."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.ensemble import BaggingClassifier

import bayesgraph as bg
from bayesgraph.core.errors import (
    BayesGraphWarning,
    DataTypeError,
    ModelError,
    UnsupportedModelError,
)

C = bg.Discrete("c", ["n", "y"])
A = bg.Discrete("a", ["p", "q", "r"])
X = bg.Continuous("x")


def star(prior, table, mean):
    return bg.BayesianNetwork(
        [bg.TableCPD(C, prior), bg.TableCPD(A, table, [C]), bg.GaussianCPD(X, mean, 1.0, [C])]
    )


@pytest.fixture
def members():
    one = star([0.5, 0.5], [[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]], [0.0, 1.0])
    two = star([0.9, 0.1], [[0.1, 0.1, 0.8], [0.5, 0.5, 0.0]], [0.0, 3.0])
    return one, two


@pytest.mark.parametrize(
    "evidence", [{}, {"a": "p"}, {"a": "q", "x": 0.7}, {"a": {"p": 1, "q": 2, "r": 0}}]
)
def test_a_posterior_is_the_weighted_mean(members, evidence):
    average = bg.Ensemble(members, [1, 3], combine="posterior")
    parts = [m.query("c", evidence).probabilities for m in members]
    expected = 0.25 * parts[0] + 0.75 * parts[1]
    np.testing.assert_allclose(average.query("c", evidence).probabilities, expected, rtol=1e-12)
    np.testing.assert_allclose(average.marginals(evidence)["c"].probabilities, expected, rtol=1e-12)


@pytest.mark.parametrize(
    "evidence", [{}, {"a": "p"}, {"x": 0.7, "a": "q"}, {"a": {"p": 1, "q": 2, "r": 0}}]
)
def test_members_may_order_the_same_variables_differently(members, evidence):
    one, two = members
    turned = bg.BayesianNetwork(two.cpds, order=two.variables[::-1])
    average, expected = (bg.Ensemble([one, m], [1, 3], combine="posterior") for m in (turned, two))
    found = average.query("c", evidence).probabilities
    np.testing.assert_array_equal(found, expected.query("c", evidence).probabilities)
    frame = {"x": [0.0, 1.0, None], "a": ["p", None, "q"]}
    for target in ("c", "a"):
        np.testing.assert_array_equal(
            average.query_rows(target, frame), expected.query_rows(target, frame)
        )


def test_weights_do_not_move_with_the_evidence(members):
    """That is what tells an average from a mixture."""
    average = bg.Ensemble(members, combine="posterior")
    mixture = bg.Ensemble(members)
    evidence = {"a": "r", "x": 2.5}
    parts = [m.query("c", evidence).probabilities for m in members]
    np.testing.assert_allclose(
        average.query("c", evidence).probabilities, np.mean(parts, axis=0), rtol=1e-12
    )
    weights = mixture.posterior_weights(evidence)
    assert abs(weights[0] - 0.5) > 0.03
    np.testing.assert_allclose(
        mixture.query("c", evidence).probabilities, weights @ np.array(parts), rtol=1e-9
    )


def test_numbers_and_rows(members):
    average = bg.Ensemble(members, [1, 3], combine="posterior")
    found = average.query("x", {"a": "p"})
    means = [m.query("x", {"a": "p"}).mean for m in members]
    assert found.mean == pytest.approx(0.25 * means[0] + 0.75 * means[1])
    frame = {"a": ["p", None, "q"], "x": [0.0, 1.0, None]}
    rows = average.query_rows("c", frame)
    parts = [m.query_rows("c", frame) for m in members]
    np.testing.assert_allclose(rows, 0.25 * parts[0] + 0.75 * parts[1], rtol=1e-12)


def test_a_member_for_which_the_evidence_is_impossible_answers_with_its_prior(members):
    average = bg.Ensemble(members, combine="posterior")
    evidence = {"a": "r", "c": "y"}
    expected = (members[0].query("x", evidence).mean + members[1].query("x").mean) / 2
    assert average.query("x", evidence).mean == pytest.approx(expected)
    both = bg.Ensemble([members[1], members[1]], combine="posterior")
    for ask in (lambda: both.query("x", evidence), lambda: both.marginals({"a": "r", "c": "y"})):
        with pytest.raises(bg.errors.ImpossibleEvidenceError):
            ask()


def bagged(estimator, X, y, *, n, seed, size=None):
    """Return the average of an estimator fitted to rows drawn with replacement, and the members."""
    random = np.random.default_rng(seed)
    members = []
    for _ in range(n):
        rows = random.integers(0, len(y), size or len(y))
        part = {name: [column[i] for i in rows] for name, column in X.items()}
        members.append(clone(estimator).fit(part, y[rows]))
    first = [bg.Discrete("class", np.unique(y).tolist())]
    return bg.Ensemble(
        [member.network_ for member in members], first=first, combine="posterior"
    ), members


def test_a_bag_agrees_with_itself_on_rows_that_a_member_rules_out():
    random = np.random.default_rng(3)
    y = np.array(list("aabbcc") * 3)
    X = {"u": random.permutation(y).tolist(), "v": np.array(list("pqrpqr") * 3).tolist()}
    average, _ = bagged(bg.NaiveBayesClassifier(smoothing=0.0), X, y, n=5, size=6, seed=3)
    rows = {"u": ["a", "b", "c"], "v": ["r", "p", "q"]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        expected = average.query_rows("class", rows)
        for i in range(3):
            row = {name: column[i] for name, column in rows.items()}
            try:
                found = average.query("class", row).probabilities
            except bg.errors.ImpossibleEvidenceError:
                continue
            np.testing.assert_allclose(found, expected[i], atol=1e-12)


def test_groups_of_values_that_differ_are_divided_as_in_the_first_network():
    def grouped(groups):
        variable = bg.Grouped("c2", groups)
        table = [[0.2, 0.8], [0.7, 0.3]]
        return bg.BayesianNetwork([bg.TableCPD(C, [0.5, 0.5]), bg.TableCPD(variable, table, [C])])

    parts = [grouped([["a", "b"], ["x"]]), grouped([["a"], ["b", "x"]])]
    average = bg.Ensemble(parts, combine="posterior")
    expected = np.mean([p.query("c", {"c2": "b"}).probabilities for p in parts], axis=0)
    np.testing.assert_allclose(average.query("c", {"c2": "b"}).probabilities, expected)
    # The first network divides {a, b} equally, and the second one {b, x} as the first.
    second = np.array([0.45, 0.55 * 0.225 / 0.775, 0.55 * 0.55 / 0.775])
    expected = (np.array([0.225, 0.225, 0.55]) + second) / 2
    np.testing.assert_allclose(average.query("c2").probabilities, expected, rtol=1e-12)
    weights = np.array([0.1, 0.2, 0.3])
    inside = weights[1:] @ [0.225, 0.55] / 0.775
    rows = [([0.2, 0.7], weights[:2].mean(), 0.3), ([0.2, 0.7], 0.1, inside)]
    posteriors = [np.array(p) * one + (1 - np.array(p)) * two for p, one, two in rows]
    expected = np.mean([p / p.sum() for p in posteriors], axis=0)
    found = average.query("c", {"c2": dict(zip("abx", weights.tolist(), strict=True))})
    np.testing.assert_allclose(found.probabilities, expected, rtol=1e-12)


@pytest.mark.parametrize("states", [[0.0, 1.0], [False, True], [True, False]])
def test_values_that_are_equal_are_one_state(states):
    def network(states, share):
        values = dict(zip(states, [share, 1 - share], strict=True))
        variable = bg.Discrete("v", states)
        return bg.BayesianNetwork([bg.TableCPD(variable, list(values.values()))])

    average = bg.Ensemble([network([0, 1], 0.2), network(states, 0.4)], combine="posterior")
    second = 0.4 if states[0] == 0 else 0.6
    assert [type(s) for s in average.variable("v").states] == [int, int]
    assert average.query("v")[0] == pytest.approx((0.2 + second) / 2)
    both = bg.BayesianNetwork([bg.TableCPD(bg.Discrete("v", [1, True]), [0.5, 0.5])])
    average = bg.Ensemble([network([1.0, 0], 0.2), both], combine="posterior")
    assert [type(s) for s in average.variable("v").states] == [float, int, int, bool]


def test_beliefs_are_refused(members):
    with pytest.raises(UnsupportedModelError, match="takes no Belief"):
        bg.Ensemble(members, combine="posterior").query(
            "c", {"a": bg.Belief({"p": 0.2, "q": 0.3, "r": 0.5})}
        )


@pytest.mark.parametrize(
    "estimator",
    [
        lambda: bg.NaiveBayesClassifier(discretizer="mdlp"),
        lambda: bg.WeightedNaiveBayesClassifier("variable"),
        bg.AODEClassifier,
        bg.TANClassifier,
        bg.StreamingNaiveBayesClassifier,
    ],
)
def test_every_bag_can_be_drawn(estimator):
    X_, y = load_iris(return_X_y=True)
    X = {f"x{j}": X_[::4, j] for j in range(4)}
    y = np.where(np.arange(150) == 148, "rare", y.astype(str))[::4]
    average, _ = bagged(estimator(), X, y, n=3, seed=0)
    assert "->" in bg.pictures.to_dot(average)
    assert average.graph.has_edge("class", "x0")


def test_members_may_lack_states_and_variables(members):
    fewer = bg.Discrete("a", ["q", "p"])
    small = bg.BayesianNetwork(
        [bg.TableCPD(C, [0.5, 0.5]), bg.TableCPD(fewer, [[0.5, 0.5], [0.1, 0.9]], [C])]
    )
    average = bg.Ensemble([members[0], small], combine="posterior")
    assert average.variable("a").states == ("p", "q", "r")
    for state in "pq":
        parts = [m.query("c", {"a": state}).probabilities for m in (members[0], small)]
        np.testing.assert_allclose(
            average.query("c", {"a": state}).probabilities, np.mean(parts, axis=0)
        )
    # A state that a member lacks tells it nothing, and is impossible for it as an answer.
    parts = [members[0].query("c", {"a": "r"}).probabilities, small.query("c").probabilities]
    np.testing.assert_allclose(average.query("c", {"a": "r"}).probabilities, np.mean(parts, axis=0))
    own = small.query("a")
    expected = np.mean([members[0].query("a").probabilities, [own["p"], own["q"], 0.0]], axis=0)
    np.testing.assert_allclose(average.query("a").probabilities, expected)
    # What only one member has, it answers.
    assert average.query("x").mean == pytest.approx(members[0].query("x").mean)


def test_intervals_of_different_members():
    X_, y = load_iris(return_X_y=True)
    X = {f"x{j}": X_[:, j] for j in range(4)}
    average, members = bagged(bg.NaiveBayesClassifier(discretizer="mdlp"), X, y, n=4, seed=1)
    rows = {name: column[::15] for name, column in X.items()}
    expected = np.mean([member.predict_proba(rows) for member in members], axis=0)
    np.testing.assert_allclose(average.query_rows("class", rows), expected, rtol=1e-9)
    row = {name: float(column[0]) for name, column in rows.items()}
    np.testing.assert_allclose(average.query("class", row).probabilities, expected[0], rtol=1e-9)
    cuts = sorted({cut for m in members for cut in m.network_.variable("x2").cuts})
    assert average.variable("x2") == bg.Binned("x2", cuts)
    priors = [m.network_.query("x2").probabilities for m in members]
    places = [np.searchsorted(m.network_.variable("x2").cuts, [*cuts, 99.0]) for m in members]
    finest = max(range(4), key=lambda i: len(priors[i]))
    cells = priors[finest][places[finest]] / np.bincount(places[finest])[places[finest]]
    shares = [
        p[at] * cells / np.bincount(at, cells)[at] for p, at in zip(priors, places, strict=True)
    ]
    np.testing.assert_allclose(average.query("x2").probabilities, np.mean(shares, axis=0))


def test_ten_bags_with_supervised_cuts():
    X_, y = load_iris(return_X_y=True)
    X = {f"x{j}": X_[:, j] for j in range(4)}
    rows = {name: column[::7] for name, column in X.items()}
    for seed in range(10):
        average, members = bagged(bg.TANClassifier(discretizer="mdlp"), X, y, n=5, seed=seed)
        expected = np.mean([member.predict_proba(rows) for member in members], axis=0)
        np.testing.assert_allclose(average.query_rows("class", rows), expected, rtol=1e-9)
        for name in X:
            cuts = {cut for m in members for cut in m.network_.variable(name).cuts}
            assert set(average.variable(name).cuts) == cuts
        # Of the target and one finding, each network sums out the same as by itself.
        row = {"x2": float(rows["x2"][seed]), "x3": None}
        parts = [m.network_.query("class", row).probabilities for m in members]
        found = average.query("class", row).probabilities
        np.testing.assert_allclose(found, np.mean(parts, axis=0), rtol=1e-9)
        assert average.query("x0", row).probabilities.sum() == pytest.approx(1.0)
        assert average.ask.next_question("class", row).best in {"x0", "x1", "x3"}


def test_a_bag_of_subspaces_of_scikit_learn_is_one_model_of_named_columns():
    """Its members see arrays; places tell their columns apart, in any order."""
    X_, y = load_iris(return_X_y=True, as_frame=True)
    for labels in (y, np.array(["setosa", "versicolor", "virginica"])[y]):
        bag = BaggingClassifier(bg.NaiveBayesClassifier(), max_features=0.5, random_state=0)
        average = bg.Ensemble.of(bag.fit(X_, labels))
        assert set(average.names) == {"class", *X_.columns}
        assert list(average.variable("class").states) == bag.classes_.tolist()
        np.testing.assert_allclose(average.query_rows("class", X_), bag.predict_proba(X_), 1e-9)


def test_a_bag_of_scikit_learn_whose_members_lack_classes_or_names(tmp_path):
    X_, y = load_iris(return_X_y=True)
    rare = np.where(np.arange(150) == 149, 9, y)
    learner = bg.TANClassifier(discretizer="frequency", check_columns=False)
    bag = BaggingClassifier(learner, n_estimators=4, max_samples=0.4, random_state=1)
    average = bg.Ensemble.of(bag.fit(X_[:, :3], rare))
    assert any(len(member.classes_) < 4 for member in bag.estimators_)
    rows = {f"x{j}": X_[:, j] for j in range(3)}
    np.testing.assert_allclose(
        average.query_rows("class", rows), bag.predict_proba(X_[:, :3]), rtol=1e-9, atol=1e-15
    )
    average.save(tmp_path / "bag.bayesgraph")
    assert bg.load(tmp_path / "bag.bayesgraph") == average


def test_bags_that_are_no_model():
    X_, y = load_iris(return_X_y=True)
    for wrong in (bg.NaiveBayesClassifier(), BaggingClassifier(bg.NaiveBayesClassifier()), None):
        with pytest.raises(ModelError, match="takes a fitted BaggingClassifier"):
            bg.Ensemble.of(wrong)
    with pytest.raises(ModelError, match=r"features of a bag are columns; NaiveBayesClassifier\("):
        bg.Ensemble.of(BaggingClassifier(bg.NaiveBayesClassifier("multinomial")).fit(X_, y))
    twice = BaggingClassifier(bg.NaiveBayesClassifier(), bootstrap_features=True, random_state=0)
    with pytest.raises(ModelError, match="More than one variable would have the name"):
        bg.Ensemble.of(twice.fit(X_, y))


def test_networks_of_columns_without_names_are_not_joined_in_silence():
    X_, y = load_iris(return_X_y=True)

    def joined(*parts, **options):
        networks = [bg.NaiveBayesClassifier().fit(X_[:, part], y).network_ for part in parts]
        return bg.Ensemble(networks, combine="posterior", **options)

    with pytest.raises(ModelError, match=r"taken for the same column.*Ensemble\.of"):
        joined([0, 1], [2])
    with pytest.warns(BayesGraphWarning, match="taken for the same column"):
        bag = joined([0, 1], [2, 3])
    assert joined([0, 1], [2, 3], first=bag.variables[:1]) == bag
    joined([0, 1])


def test_ten_bags_of_random_subspaces():
    X_, y = load_iris(return_X_y=True)
    names = [f"x{j}" for j in range(4)]
    rows = {name: X_[::7, j] for j, name in enumerate(names)}
    for seed in range(10):
        random = np.random.default_rng(seed)
        parts = [sorted(random.permutation(4)[:2].tolist()) for _ in range(6)]
        members = [
            bg.NaiveBayesClassifier(discretizer="mdlp" if seed % 2 else None).fit(
                {names[j]: X_[:, j] for j in part}, y
            )
            for part in parts
        ]
        average = bg.Ensemble([m.network_ for m in members], combine="posterior")
        own = [{names[j]: rows[names[j]] for j in part} for part in parts]
        shares = [m.predict_proba(part) for m, part in zip(members, own, strict=True)]
        kept = {name: column for name, column in rows.items() if name in average._index_of}
        expected = np.mean(shares, axis=0)
        np.testing.assert_allclose(average.query_rows("class", kept), expected, rtol=1e-9)
        row = {name: float(column[3]) for name, column in kept.items()}
        np.testing.assert_allclose(average.query("class", row).probabilities, expected[3])


def test_averages_of_classifiers_are_one_class():
    X = np.random.default_rng(0).random((300, 3))
    y = ((X * 4).astype(int).sum(axis=1) % 2).astype(int)
    for clf, combine in (
        (bg.AODEClassifier(), "joint"),
        (bg.AveragedTANClassifier(n_trees=5), "joint"),
        (bg.BayesianNetworkClassifier(n_trees=20), "posterior"),
    ):
        network = clf.fit(X, y).network_
        assert type(network) is bg.Ensemble
        assert network.combine == combine
        assert network.weights.sum() == pytest.approx(1.0)


def test_what_is_no_joint_distribution_is_refused(members):
    average = bg.Ensemble(members, combine="posterior")
    for ask in (
        average.log_probability,
        average.most_probable,
        lambda: average.most_probable(over=["c"]),
        lambda: average.sample(3),
        lambda: average.sample(3),
        lambda: average.log_likelihood({"a": ["p"]}),
    ):
        with pytest.raises(UnsupportedModelError, match="query one of its `networks`"):
            ask()
    assert average.networks[0].most_probable({"a": "p"})["c"] == "y"


def test_wrong_members_are_refused(members):
    with pytest.raises(ModelError, match="at least one"):
        bg.Ensemble([], combine="posterior")
    with pytest.raises(ModelError, match="takes models; got 'b'"):
        bg.Ensemble([members[0], "b"], combine="posterior")
    for combine in ("joint", "posterior"):
        with pytest.raises(DataTypeError, match="Ensemble takes a list of networks"):
            bg.Ensemble(members[0], combine=combine)
        with pytest.raises(ModelError, match="numbers, one for each network; got 'heavy'"):
            bg.Ensemble(members[:1], "heavy", combine)
    with pytest.raises(ModelError, match="combine= is one of 'joint', 'posterior'; got 'sum'"):
        bg.Ensemble(members, combine="sum")
    with pytest.raises(ModelError, match="are of averages of posteriors"):
        bg.Ensemble(members, exponents={"c": [1.0, 2.0]})
    np.testing.assert_array_equal(bg.Ensemble(members, [1e308, 1e308]).weights, 0.5)
    with pytest.raises(ModelError, match="2 weights"):
        bg.Ensemble(members, [1.0], combine="posterior")
    other = bg.BayesianNetwork([bg.GaussianCPD(bg.Continuous("c"), 0.0, 1.0)])
    wide = [bg.Binned("x", np.arange(128.0) + shift) for shift in (0.0, 0.5)]
    nets = [bg.BayesianNetwork([bg.TableCPD(v, np.full(129, 1 / 129))]) for v in wide]
    assert bg.Ensemble([nets[0]] * 2, combine="posterior").variable("x").cardinality == 129
    with pytest.raises(ModelError, match="cut 'x' at 256 points in all; an Ensemble takes 255"):
        bg.Ensemble(nets, combine="posterior")
    with pytest.raises(ModelError, match="different kinds"):
        bg.Ensemble([members[0], other], combine="posterior")


def test_a_shifted_prior_keeps_all_else():
    """Shifts multiply; order, states, exponents and probabilities of arcs stay."""
    a, b = bg.Discrete("a", [0, 1]), bg.Discrete("b", ["x", "y", "z"])
    random = np.random.default_rng(0)
    members = [
        bg.BayesianNetwork(
            [
                bg.TableCPD(b, random.dirichlet(np.ones(3))),
                bg.TableCPD(a, random.dirichlet(np.ones(2), 3), [b]),
            ]
        )
        for _ in range(2)
    ]
    average = bg.Ensemble(
        members,
        [1, 3],
        "posterior",
        first=[a, b],
        arc_probabilities={("b", "a"): 0.7},
        prior_ratios={"b": [1.0, 2.0, 3.0], "a": [1.0, 4.0]},
        exponents={"a": [0.5, 1.0]},
    )
    ratio = np.array([2.0, 1.0, 1.0])
    shifted = average._with_prior(b, ratio)
    assert shifted.variables == average.variables == (a, b)
    assert shifted.arc_probabilities == average.arc_probabilities
    assert shifted.exponents.keys() == average.exponents.keys()
    for evidence in ({}, {"a": 1}):
        expected = average.query("b", evidence).probabilities * ratio
        found = shifted.query("b", evidence).probabilities
        np.testing.assert_allclose(found, expected / expected.sum(), atol=1e-12)
    expected = average.query("a", {"b": "y"}).probabilities
    np.testing.assert_allclose(shifted.query("a", {"b": "y"}).probabilities, expected, atol=1e-12)
    network = bg.BayesianNetwork(members[0].cpds, annotations=bg.models.Annotations(note="kept"))
    assert network._with_prior(b, ratio).annotations.note == "kept"


def test_the_weights_of_an_average_follow_no_evidence(members):
    average = bg.Ensemble(members, combine="posterior")
    with pytest.raises(bg.errors.UnsupportedModelError, match="fixed weights, its `weights`"):
        average.posterior_weights({})


def test_a_shifted_prior_multiplies_the_average(members):
    ratio = np.array([0.5, 4.0])
    plain = bg.Ensemble(members, [1, 3], combine="posterior")
    average = bg.Ensemble(members, [1, 3], prior_ratios={"c": ratio}, combine="posterior")
    assert average != plain
    for evidence in ({}, {"a": "p"}, {"a": "q", "x": 0.7}, {"a": {"p": 1, "q": 2, "r": 0}}):
        expected = plain.query("c", evidence).probabilities * ratio
        found = average.query("c", evidence)
        np.testing.assert_allclose(found.probabilities, expected / expected.sum(), rtol=1e-12)
        np.testing.assert_allclose(
            average.marginals(evidence)["c"].probabilities, found.probabilities
        )
    both = plain.query(["a", "c"], {"x": 0.3}).probabilities * ratio
    found = average.query(["a", "c"], {"x": 0.3}).probabilities
    np.testing.assert_allclose(found, both / both.sum(), rtol=1e-12)
    # What is asked of other variables is what the members say.
    assert average.query("a", {"c": "y"}) == plain.query("a", {"c": "y"})
    assert average.query("x").mean == plain.query("x").mean
    table = {"a": ["p", "q", None], "x": [0.2, None, 1.0]}
    expected = plain.query_rows("c", table) * ratio
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(average.query_rows("c", table), expected, rtol=1e-12)
    with pytest.raises(UnsupportedModelError, match="shifted prior or with exponents"):
        average.query(["c", "x"])
    impossible = bg.Ensemble(members[1:], prior_ratios={"c": [0.0, 1.0]}, combine="posterior")
    with pytest.raises(bg.errors.ImpossibleEvidenceError):
        impossible.query("c", {"a": "r"})


@pytest.mark.parametrize(
    ("ratios", "message"),
    [
        ({"c": [1.0]}, "one for each of 'n', 'y'"),
        ({"c": [0.0, 0.0]}, "not all zero"),
        ({"c": [1.0, -1.0]}, "not negative"),
        ({"c": "heavy"}, "are finite numbers"),
        ({"x": [1.0, 1.0]}, "discrete variables; got Continuous"),
    ],
)
def test_unusable_ratios(members, ratios, message):
    with pytest.raises(ModelError, match=message):
        bg.Ensemble(members, prior_ratios=ratios, combine="posterior")
    with pytest.raises(bg.errors.UnknownVariableError):
        bg.Ensemble(members, prior_ratios={"d": [1.0, 1.0]}, combine="posterior")


def tempered(posterior, prior, exponent):
    found = prior * (posterior / prior) ** exponent
    return found / found.sum(axis=-1, keepdims=True)


@pytest.mark.parametrize("ratio", [[1.0, 1.0], [0.5, 4.0]])
def test_exponents_are_those_of_the_evidence(members, ratio):
    exponents, weights = [1.0, 2.5], [0.25, 0.75]
    average = bg.Ensemble(
        members, weights, prior_ratios={"c": ratio}, exponents={"c": exponents}, combine="posterior"
    )
    assert average != bg.Ensemble(members, weights, prior_ratios={"c": ratio}, combine="posterior")
    priors = [m.query("c").probabilities for m in members]

    def expected(posteriors):
        parts = map(tempered, posteriors, priors, exponents)
        found = ratio * sum(w * part for w, part in zip(weights, parts, strict=True))
        return found / found.sum(axis=-1, keepdims=True)

    # Without evidence it is the prior.
    mean = ratio * (0.25 * priors[0] + 0.75 * priors[1])
    np.testing.assert_allclose(average.query("c").probabilities, mean / mean.sum(), rtol=1e-12)
    for evidence in ({"a": "p"}, {"a": "q", "x": 0.7}, {"a": {"p": 1, "q": 2, "r": 0}}):
        own = expected([m.query("c", evidence).probabilities for m in members])
        np.testing.assert_allclose(average.query("c", evidence).probabilities, own, rtol=1e-12)
        np.testing.assert_allclose(average.marginals(evidence)["c"].probabilities, own)
        joint = average.query(["a", "c"], {"x": 0.7}).probabilities
        np.testing.assert_allclose(joint.sum(axis=0), average.query("c", {"x": 0.7}).probabilities)
    table = {"a": ["p", "q", None, None], "x": [0.2, None, 1.0, None]}
    own = expected([m.query_rows("c", table) for m in members])
    np.testing.assert_allclose(average.query_rows("c", table), own, rtol=1e-12)
    # Others are what the members say, also given the class.
    plain = bg.Ensemble(members, weights, combine="posterior")
    assert average.query("a", {"c": "y", "x": 0.3}) == plain.query("a", {"c": "y", "x": 0.3})
    alone = bg.Ensemble(members[:1], exponents={"c": [3.0]}, combine="posterior")
    found = alone.query(["a", "c"], {"x": 0.7}).probabilities
    given = members[0].query(["a", "c"], {"x": 0.7}).probabilities
    np.testing.assert_allclose(found / found.sum(axis=0), given / given.sum(axis=0))
    with pytest.raises(UnsupportedModelError, match="with exponents has no joint posterior"):
        average.query(["c", "x"])
    several = bg.Ensemble(
        members, exponents={"c": [1.0, 2.0], "a": [2.0, 1.0]}, combine="posterior"
    )
    with pytest.raises(UnsupportedModelError, match="no joint posterior of them"):
        several.query(["a", "c"])


def test_a_state_that_is_impossible_stays_so_under_an_exponent():
    certain = star([1.0, 0.0], [[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]], [0.0, 1.0])
    sure = star([0.5, 0.5], [[0.5, 0.5, 0.0], [0.5, 0.0, 0.5]], [0.0, 0.0])
    for exponent in (0.5, 3.0):
        average = bg.Ensemble([certain], exponents={"c": [exponent]}, combine="posterior")
        np.testing.assert_array_equal(average.query("c", {"a": "p"}).probabilities, [1.0, 0.0])
        average = bg.Ensemble([sure], exponents={"c": [exponent]}, combine="posterior")
        np.testing.assert_array_equal(average.query("c", {"a": "r"}).probabilities, [0.0, 1.0])
        rows = average.query_rows("c", {"a": ["q", "r"]})
        np.testing.assert_array_equal(rows, [[1.0, 0.0], [0.0, 1.0]])


@pytest.mark.parametrize(
    ("exponents", "message"),
    [
        ({"c": [1.0]}, "one for each of 2 networks"),
        ({"c": [1.0, 0.0]}, "finite numbers of at least 0.05"),
        ({"c": [1.0, np.inf]}, "finite numbers of at least 0.05"),
        ({"c": "strong"}, "finite numbers of at least 0.05"),
        ({"x": [1.0, 1.0]}, "discrete variables; got Continuous"),
        ([1.0, 2.0], "exponents= maps the name of a variable"),
    ],
)
def test_unusable_exponents(members, exponents, message):
    with pytest.raises(ModelError, match=message):
        bg.Ensemble(members, exponents=exponents, combine="posterior")
    with pytest.raises(bg.errors.UnknownVariableError):
        bg.Ensemble(members, exponents={"d": [1.0, 1.0]}, combine="posterior")


def test_other_names_and_networks_keep_exponents(members):
    average = bg.Ensemble(members, [1, 3], exponents={"c": [1.0, 2.0]}, combine="posterior")
    renamed = average.renamed({"c": "class", "a": "b"})
    assert list(renamed.exponents) == ["class"]
    found = renamed.query("class", {"b": "q"}).probabilities
    np.testing.assert_array_equal(found, average.query("c", {"a": "q"}).probabilities)
    turned = average._with_networks(members[::-1])
    assert turned.networks == members[::-1]
    np.testing.assert_array_equal(turned.exponents["c"], [1.0, 2.0])
    np.testing.assert_array_equal(turned.weights, average.weights)


@pytest.mark.parametrize("exponents", [None, {"c": [2.0, 1.0]}])
@pytest.mark.parametrize("ratios", [None, {"c": [0.5, 4.0]}])
def test_files_and_pictures_keep_it(members, ratios, exponents, tmp_path):
    average = bg.Ensemble(
        members, [1, 3], prior_ratios=ratios, exponents=exponents, combine="posterior"
    )
    average.save(tmp_path / "average.bayesgraph")
    again = bg.load(tmp_path / "average.bayesgraph")
    assert again == average
    assert again.query("c", {"a": "q"}) == average.query("c", {"a": "q"})
    assert set(average.graph.edges) == {("c", "a"), ("c", "x")}
    assert all(p == pytest.approx(1.0) for p in average.arc_probabilities.values())
    assert "->" in bg.pictures.to_dot(average)
