"""Models beyond tables: what the page answers is what Python answers, or it is refused in words."""

import itertools
import math

import cases
import mixed_parity as parity
import numpy as np
import pytest

import bayesgraph as bg
from bayesgraph.core.errors import MemoryLimitError, UnsupportedModelError
from bayesgraph.page.snapshot import rows_of as rows_of_page
from bayesgraph.page.snapshot import take_snapshot

ANSWERS = ("answer", "mostProbable", "contributions")
QUESTIONS = ("information", "flip")
# Rows of every kind of distribution and of model; all others are slow.
FEW = {
    "nb": "mixed",
    "nb-kernel": "continuous",
    "nb-singly": "positive",
    "nb-varied-kernels": "varied",
    "nb-varied-predictive": "varied",
    "nb-negative-binomial": "counts",
    "nb-gamma": "positive",
    "nb-beta": "shares",
    "tan": "mixed",
    "tree": "mixed",
    "auto": "mixed",
    "aode": "discrete",
    "tan-weighted": "mixed",
    "complement": "counts",
}
# Those whose integrals and searches are tested by default.
FEWER = {"nb-mdlp": "mixed", "auto": "mixed", "nb-poisson": "counts"}


def check(page, models, verbs):
    """Assert that all answers about some models are Python's to 1e-9."""
    for asked, found in zip(models, parity.ask(page, models, verbs), strict=True):
        own = [verb for verb in verbs if verb in found["verbs"]]
        pairs = itertools.product(asked.sets, own)
        for ((given, _), verb), answer in zip(pairs, found["answers"], strict=True):
            errors = dict(parity.differences(verb, asked, given, answer))
            assert max(errors.values(), default=0.0) < 1e-9, (asked.name, verb, given, errors)


def rows(few):
    """Return all rows of classifiers with the kinds of data they take; those but a few are slow."""
    return pytest.mark.parametrize(
        ("row", "kind"),
        [
            pytest.param(
                row,
                kind,
                id=f"{row.name}-{kind}",
                marks=() if few.get(row.name) == kind else pytest.mark.slow,
            )
            for row, kind in cases.pairs()
        ],
    )


@pytest.mark.one_in(8)
@rows(FEW)
def test_answers_of_every_row_of_classifiers(engine, row, kind):
    check(engine, [parity.asked_of(row, kind)], ANSWERS)


@pytest.mark.one_in(3)
@rows(FEWER)
def test_questions_and_flips_of_every_row_of_classifiers(engine, row, kind):
    check(engine, [parity.asked_of(row, kind)], QUESTIONS)


def linear_gaussians():
    """Return a network of components with several discrete parents, and arcs between numbers."""
    random = np.random.default_rng(3)
    a, b = bg.Discrete("a", ["x", "y", "z"]), bg.Discrete("b", [0, 1])
    c, d = bg.Discrete("c", ["p", "q"]), bg.Discrete("d", [False, True])
    u, v, w, z = map(bg.Continuous, "uvwz")

    def table(child, parents):
        shape = [p.cardinality for p in parents]
        return bg.TableCPD(child, random.dirichlet(np.ones(child.cardinality), shape), parents)

    def gaussian(child, parents):
        shape = [p.cardinality for p in parents if isinstance(p, bg.Discrete)]
        numbers = len(parents) - len(shape)
        return bg.GaussianCPD(
            child,
            random.normal(size=shape),
            random.uniform(0.3, 2.0, shape),
            parents,
            random.normal(size=(*shape, numbers)),
        )

    return bg.BayesianNetwork(
        [
            table(a, []),
            table(b, [a]),
            table(c, []),
            table(d, [b, c]),
            gaussian(u, [a]),
            gaussian(v, [u, b]),
            gaussian(w, [v, c, u]),
            gaussian(z, [d, a]),
            bg.PoissonCPD(bg.Count("n"), random.uniform(1, 9, (2, 3)), [d, a]),
        ]
    )


def handmade(model, rows, target):
    """Return questions about a model with rows of its own."""
    number = model._index_of[target]
    return parity.Asked(target, model, number, parity.finding_sets(model, number, rows))


def rows_of(model, target, n=8):
    """Return rows that are drawn from a model, without the target."""
    drawn = model.sample(n, random_state=1, frame="dict")
    names = [name for name in model.names if name != target]
    return [{name: drawn[name][i] for name in names} for i in range(n)]


@pytest.mark.slow
def test_linear_gaussians(engine):
    model = linear_gaussians()
    asked = [handmade(model, rows_of(model, name), name) for name in ("a", "d")]
    check(engine, [asked[0], asked[1].first(4)], ("answer", "mostProbable", "contributions"))
    check(engine, [asked[0].first(2)], ("information",))


def test_joint_gaussian(engine):
    kind = bg.Discrete("kind", ["one", "two"])
    root = np.random.default_rng(0).normal(size=(2, 3, 3))
    block = bg.models.JointGaussianCPD(
        [bg.Continuous(name) for name in "xyz"],
        [[0.0, 1.0, 2.0], [1.0, 1.0, 0.0]],
        root @ root.swapaxes(1, 2) + np.eye(3),
        parents=[kind],
    )
    model = bg.BayesianNetwork([bg.TableCPD(kind, [0.3, 0.7]), block])
    check(engine, [handmade(model, rows_of(model, "kind"), "kind")], ("answer", "contributions"))


def test_canonical_distributions_beside_numbers(engine):
    a, b = bg.Discrete("a", [False, True]), bg.Discrete("b", [False, True])
    alarm = bg.Discrete("alarm", [False, True])
    model = bg.BayesianNetwork(
        [
            bg.TableCPD(a, [0.7, 0.3]),
            bg.TableCPD(b, [0.4, 0.6]),
            bg.NoisyOrCPD(alarm, [0.8, 0.3], parents=[a, b], leak=0.05),
            bg.GaussianCPD(bg.Continuous("level"), [0.0, 2.0], [1.0, 0.5], [alarm]),
        ]
    )
    asked = handmade(model, rows_of(model, "a"), "a")
    check(engine, [asked], ("answer", "information", "contributions"))


def test_a_number_that_is_given_is_not_missing(engine):
    kind = bg.Discrete("kind", ["one", "two"])
    model = bg.BayesianNetwork(
        [
            bg.TableCPD(kind, [0.3, 0.7]),
            bg.GaussianCPD(bg.Continuous("x"), [0.0, 2.0], [1.0, 0.5], [kind]),
            bg.TableCPD(bg.core.MissingIndicator("no x", "x"), [[0.9, 0.1], [0.4, 0.6]], [kind]),
        ]
    )
    number = model._index_of
    hard = {str(number["x"]): {"value": 1.5}}, {str(number["no x"]): {"state": 1}}
    # What is said to Python in words follows on the page.
    sets = [({"x": 1.5, "no x": "no"}, hard[0]), ({"no x": "yes"}, hard[1])]
    asked = parity.Asked("no x", model, number["kind"], sets)
    check(engine, [asked], (*ANSWERS, *QUESTIONS))


@pytest.mark.slow
def test_mixtures_of_mixed_networks_and_averages_with_shifted_priors_and_exponents(engine):
    first, second = linear_gaussians(), linear_gaussians().without("n", "z")
    mixture = bg.Ensemble([second, second.do({"a": "x"}).without()], [0.6, 0.4])
    average = bg.Ensemble(
        [first, second],
        [2, 1],
        prior_ratios={"a": [1.0, 2.0, 0.5]},
        exponents={"a": [1.0, 2.0], "d": [0.5, 3.0]},
        combine="posterior",
    )
    rows = rows_of(second, "d")
    asked = handmade(mixture, rows, "d")
    check(engine, [asked.first(7)], ("answer", "contributions"))
    check(engine, [asked.first(2)], ("information",))
    check(engine, [handmade(average, rows, "d").first(7)], ("answer", "contributions"))


def test_the_middle_of_an_interval_of_the_largest_numbers():
    members = [
        bg.BayesianNetwork([bg.TableCPD(bg.Binned("x", cuts), chances)])
        for cuts, chances in (([1.5e308, 1.7e308], [0.2, 0.3, 0.5]), ([1.6e308], [0.5, 0.5]))
    ]
    model = bg.Ensemble(members, combine="posterior")
    content = take_snapshot(model, evidence={"x": 1.75e308}).content
    assert 1.7e308 < content["initial"]["0"]["value"] < math.inf


def test_numbers_that_networks_cut_differently_stay_numbers(engine):
    kind = bg.Discrete("kind", ["a", "b"])
    members = [
        bg.BayesianNetwork(
            [
                bg.TableCPD(kind, [0.3, 0.7]),
                bg.TableCPD(bg.Binned("x", cuts), table, [kind]),
                bg.TableCPD(bg.Discrete("y", states), [[0.9, 0.1], [0.2, 0.8]], [kind]),
            ]
        )
        for cuts, table, states in (
            ([0.0, 2.0], [[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]], ["u", "v"]),
            ([1.0], [[0.6, 0.4], [0.3, 0.7]], ["w", "v"]),
        )
    ]
    model = bg.Ensemble(members, [0.6, 0.4], combine="posterior")
    content = take_snapshot(model, evidence={"x": 0.5}).content
    variable = content["variables"][1]
    assert (variable["kind"], len(variable["states"])) == ("continuous", 4)
    assert variable["range"] == [-1.0, 3.0]
    assert content["initial"] == {"1": {"value": 0.5}}
    low = take_snapshot(model, evidence={"x": -9.0}).content["initial"]
    assert low == {"1": {"value": -0.5}}
    data = {"x": [0.25, None], "kind": ["a", "b"], "y": ["w", "v"]}
    assert rows_of_page(model, kind, data)["columns"]["1"] == [0.25, None]
    sets = [
        ({"x": 1.5}, {"1": {"value": 1.5}}),
        ({"x": -4.0, "y": "w"}, {"1": {"value": -4.0}, "2": {"state": 2}}),
        ({"kind": "b"}, {"0": {"state": 1}}),
        ({"x": bg.Between(0, 2)}, {"1": {"not": [0, 3]}}),
        ({"y": {"u": 0.2, "v": 0.5, "w": 0.9}}, {"2": {"weights": [0.2, 0.5, 0.9]}}),
    ]
    check(engine, [parity.Asked("cut", model, 0, sets)], ("answer", "information", "flip"))


def test_rare_branches_of_trees(engine):
    b, c = bg.Discrete("b", ["pos", "neg"]), bg.Discrete("c", [0, 1])
    t, d = bg.Continuous("t"), bg.Discrete("d", ["well", "ill"])
    root = bg.GaussianCPD(t, 0.0, 1.0)
    below = bg.TableCPD(c, [[0.2, 0.8], [0.3, 0.7]], [b])
    for z, p in ((8.3, 1e-17), (45.0, 1e-300)):
        for split in (
            bg.Split(t, z, [0, 1], [0.5, 0.5]),
            bg.Split(d, ["well"], [0, 1], [0.5, 0.5]),
            bg.Split(t, z, [0, 1], bg.Split(d, ["well"], [0, 1], [0.5, 0.5])),
        ):
            tree = bg.models.TreesCPD(b, split, [t, d])
            model = bg.BayesianNetwork([root, bg.TableCPD(d, [1 - p, p]), tree, below])
            page = engine.take(model)
            found = page.ask("answer", {"2": {"state": 0}}, None)
            expected = model.log_probability({"b": "pos"})
            assert found["logEvidence"] == pytest.approx(expected, rel=1e-12)
            for name in ("c", "d"):
                posterior = model.query(name, {"b": "pos"}).probabilities
                at = model.names.index(name)
                np.testing.assert_allclose(found["posteriors"][at]["p"], posterior, rtol=1e-9)


def test_impossible_findings_are_named(engine):
    kind, size = bg.Discrete("kind", ["a", "b"]), bg.Continuous("size")
    model = bg.BayesianNetwork(
        [bg.TableCPD(kind, [0.5, 0.5]), bg.GammaCPD(size, [2.0, 3.0], [1.0, 1.0], [kind])]
    )
    findings = {"0": {"state": 0}, "1": {"value": -1.0}}
    asked = parity.Asked("gamma", model, 0, [({}, findings)])
    (found,) = parity.ask(engine, [asked], ["answer"])
    assert found["answers"][0]["impossible"] == [1]


def test_likelihoods_of_many_numbers_do_not_underflow(engine):
    kind = bg.Discrete("kind", ["a", "b"])
    numbers = [bg.Continuous(f"x{i}") for i in range(60)]
    mean = np.linspace(0, 1, 60) * np.array([[1.0], [-1.0]]) * 40
    model = bg.BayesianNetwork(
        [bg.TableCPD(kind, [0.5, 0.5])]
        + [bg.GaussianCPD(x, mean[:, i], [1.0, 1.0], parents=[kind]) for i, x in enumerate(numbers)]
    )
    given = {x.name: float((-1) ** i * mean[0, i]) for i, x in enumerate(numbers)}
    js = {str(i + 1): {"value": given[x.name]} for i, x in enumerate(numbers)}
    check(engine, [parity.Asked("far", model, 0, [(given, js)])], ("answer", "contributions"))


# ------------------------------------------------------------------------------ what is refused


def _number_above_a_number():
    rate, size = bg.Continuous("rate"), bg.Continuous("size")
    return bg.BayesianNetwork(
        [bg.models.ExponentialCPD(rate, 1.0), bg.GaussianCPD(size, 0.0, 1.0, [rate], [1.0])]
    )


def _number_above_a_state():
    dose, ill = bg.Continuous("dose"), bg.Discrete("ill", ["no", "yes"])
    tree = bg.models.TreesCPD(ill, bg.Split("dose", 1.0, [0.9, 0.1], [0.2, 0.8]), [dose])
    other = bg.GaussianCPD(bg.Continuous("size"), 0.0, 1.0, [dose], [1.0])
    return bg.BayesianNetwork([bg.GaussianCPD(dose, 0.0, 1.0), tree, other])


def _many_words():
    kind = bg.Discrete("kind", range(60))
    words = bg.CountVector("words", range(10_000))
    shares = np.full((60, 10_000), 1e-4)
    return bg.BayesianNetwork(
        [bg.TableCPD(kind, np.full(60, 1 / 60)), bg.MultinomialCPD(words, shares, [kind])]
    )


def _many_cells():
    parents = [bg.Discrete(f"p{i}", range(10)) for i in range(6)]
    numbers = [bg.Continuous(f"x{i}") for i in range(6)]
    cpds = [bg.TableCPD(p, np.full(10, 0.1)) for p in parents]
    for i, (x, p) in enumerate(zip(numbers, parents, strict=True)):
        above = [p, *numbers[i - 1 : i]]
        slopes = np.ones((10, len(above) - 1))
        cpds.append(bg.GaussianCPD(x, np.arange(10.0), np.ones(10), above, slopes))
    return bg.BayesianNetwork(cpds)


def _many_networks():
    network = bg.BayesianNetwork([bg.TableCPD(bg.Discrete("a", [0, 1]), [0.5, 0.5])])
    return bg.Ensemble([network] * 65)


REFUSED = {
    "number-above-a-number": (_number_above_a_number, UnsupportedModelError, "'size'. Cut 'rate'"),
    "number-above-a-state": (_number_above_a_state, UnsupportedModelError, "Cut 'ill'"),
    "many-words": (_many_words, MemoryLimitError, "'words' have 600,000 numbers"),
    "many-cells": (_many_cells, MemoryLimitError, "1,000,000 joint states"),
    "many-networks": (_many_networks, MemoryLimitError, "65 networks; a page takes 64"),
}


@pytest.mark.parametrize(("model", "error", "words"), REFUSED.values(), ids=REFUSED)
def test_what_the_page_cannot_answer_is_refused(model, error, words):
    with pytest.raises(error, match=words):
        take_snapshot(model())
