"""Factor graphs: literal products, exponents, and the domain they are held to."""

import copy
import math
import pickle

import numpy as np
import oracle as brute
import pytest
from scipy import stats

import bayesgraph as bg
from bayesgraph.core.errors import (
    EvidenceError,
    ImpossibleEvidenceError,
    ModelError,
    UnknownVariableError,
    UnsupportedModelError,
)

A, B = bg.Discrete("a", [0, 1]), bg.Discrete("b", ["x", "y", "z"])
X, Y = bg.Continuous("x"), bg.Continuous("y")
TABLE = np.array([[1.0, 2.0, 0.0], [4.0, 0.5, 3.0]])


def test_a_product_of_tables():
    graph = bg.FactorGraph([bg.Factor([A, B], TABLE), bg.Factor([A], [2.0, 1.0])])
    product = TABLE * [[2.0], [1.0]]
    assert graph.log_partition == pytest.approx(math.log(product.sum()))
    joint = graph.query(["a", "b"])
    assert joint.probabilities == pytest.approx(product / product.sum())
    assert graph.query("b", {"a": 1}).probabilities == pytest.approx(product[1] / product[1].sum())
    share = product[:, 1].sum() / product.sum()
    assert graph.log_probability({"b": "y"}) == pytest.approx(math.log(share))
    assert graph.query("a", {"b": "y"}).log_evidence == pytest.approx(math.log(product[:, 1].sum()))
    best = graph.most_probable()
    assert dict(best) == {"a": 0, "b": "y"} or dict(best) == {"a": 1, "b": "x"}
    assert best.log_probability == pytest.approx(math.log(4.0))
    assert graph.names == ("a", "b")
    assert repr(graph) == (
        "FactorGraph with 2 variables and 2 factors, 0 of them with an exponent other than 1"
    )


@pytest.mark.parametrize(
    "exponent",
    [
        0.5,
        2,
        np.array([0.0, 1.0, 2.0]),
        np.array([[0.5], [2.0]]),
        np.arange(6.0).reshape(2, 3),
        [1, 0, 3],
    ],
    ids=["number", "integer", "by state", "by parent", "by cell", "list"],
)
def test_exponents_broadcast_against_the_table(exponent):
    graph = bg.FactorGraph([bg.Factor([A, B], TABLE)], exponents=[exponent])
    powered = TABLE ** np.asarray(exponent, dtype=float)
    assert graph.query(["a", "b"]).probabilities == pytest.approx(powered / powered.sum())
    given = graph.query("a", {"b": "z"}).probabilities
    assert given == pytest.approx(powered[:, 2] / powered[:, 2].sum())


def test_zero_to_the_power_zero_is_one():
    graph = bg.FactorGraph([bg.Factor([A], [0.0, 5.0])], exponents=[0])
    assert graph.query("a").probabilities == pytest.approx([0.5, 0.5])
    assert graph.log_partition == pytest.approx(math.log(2))
    net = bg.BayesianNetwork(
        [bg.TableCPD(A, [0.0, 1.0]), bg.TableCPD(B, [[0, 0, 1], [1, 0, 0]], parents=[A])]
    )
    powered = bg.FactorGraph.of(net, {"a": 0.0, "b": [1.0, 1.0, 0.0]})
    table = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 1.0]])
    assert powered.query(["a", "b"]).probabilities == pytest.approx(table / table.sum())


def test_gaussian_to_a_power_against_numerical_integration():
    """c -> x with another exponent for each class, x -> y with one exponent for both."""
    c = bg.Discrete("c", ["p", "q"])
    first = bg.GaussianCPD(X, [0.0, 1.0], [1.0, 0.5], parents=[c])
    second = bg.GaussianCPD(Y, 0.5, 2.0, parents=[X], coefficients=[-0.7])
    prior = bg.TableCPD(c, [0.3, 0.7])
    graph = bg.FactorGraph([prior, first, second], exponents=[2.0, [0.4, 1.5], 0.6])

    def value(code, x, y):
        density = stats.norm.pdf(x, [0.0, 1.0][code], math.sqrt([1.0, 0.5][code]))
        return (
            [0.3, 0.7][code] ** 2
            * density ** [0.4, 1.5][code]
            * stats.norm.pdf(y, 0.5 - 0.7 * x, math.sqrt(2.0)) ** 0.6
        )

    # The trapezoidal rule is exact to rounding for smooth functions that vanish at both ends.
    x, y = np.linspace(-15, 15, 601), np.linspace(-30, 30, 1201)
    mass = [value(k, x[:, None], y).sum() * 0.05 * 0.05 for k in (0, 1)]
    assert graph.log_partition == pytest.approx(math.log(sum(mass)), abs=1e-10)
    assert graph.query("c").probabilities == pytest.approx(np.array(mass) / sum(mass), abs=1e-10)
    seen = [value(k, x, 1.2).sum() * 0.05 for k in (0, 1)]
    posterior = graph.query("c", {"y": 1.2})
    assert posterior.probabilities == pytest.approx(np.array(seen) / sum(seen), abs=1e-10)
    assert posterior.log_evidence == pytest.approx(math.log(sum(seen)), abs=1e-10)


def test_an_exponent_of_zero_switches_a_gaussian_off():
    """A feature of weight zero says nothing, though the product over it has no integral."""
    c = bg.Discrete("c", ["p", "q"])
    net = bg.BayesianNetwork(
        [
            bg.TableCPD(c, [0.3, 0.7]),
            bg.GaussianCPD(X, [0.0, 1.0], 1.0, parents=[c]),
            bg.GaussianCPD(Y, [0.0, 5.0], 1.0, parents=[c]),
        ]
    )
    graph = bg.FactorGraph.of(net, {"y": 0.0})
    posterior = graph.query("c", {"x": 0.4, "y": 4.0})
    expected = net.query("c", {"x": 0.4})
    assert posterior.probabilities == pytest.approx(expected.probabilities, abs=1e-12)


def test_a_query_does_not_need_the_sum_over_everything():
    """A clique of 40 variables, all but one observed: only the normaliser of it is out of reach."""
    variables = [bg.Discrete(i, [0, 1]) for i in range(60)]
    table = [[2.0, 1.0], [1.0, 2.0]]
    pairs = [(a, b) for i, a in enumerate(variables) for b in variables[:i]]
    graph = bg.FactorGraph([bg.Factor(pair, table) for pair in pairs])
    posterior = graph.query(0, {i: int(i < 29) for i in range(1, 60)})
    # 28 neighbours at 1, 31 at 0: odds 2 ** 3 for 0.
    assert posterior.probabilities == pytest.approx(np.array([8.0, 1.0]) / 9.0)


def test_missing_variables_are_summed_out_of_the_powered_product():
    """What sets it apart from a weighted classifier: here the missing feature does count."""
    net = bg.BayesianNetwork(
        [
            bg.TableCPD(A, [0.5, 0.5]),
            bg.TableCPD(B, [[0.2, 0.2, 0.6], [0.8, 0.1, 0.1]], parents=[A]),
        ]
    )
    graph = bg.FactorGraph.of(net, {"b": 2.0})
    weights = np.array([0.2**2 + 0.2**2 + 0.6**2, 0.8**2 + 0.1**2 + 0.1**2])
    assert graph.query("a").probabilities == pytest.approx(weights / weights.sum())
    assert net.query("a").probabilities == pytest.approx([0.5, 0.5])


def test_exponents_of_a_network_are_given_by_name():
    net = brute.random_network(7, n_discrete=4)
    name = net.names[0]
    graph = bg.FactorGraph.of(net, {name: 0.5})
    assert graph.variables == tuple(dict.fromkeys(v for cpd in net.cpds for v in cpd.scope))
    assert [
        term.exponent.tolist() for term in graph.terms if term.source.variable.name == name
    ] == [0.5]
    with pytest.raises(UnknownVariableError, match="no variable 'nope'"):
        bg.FactorGraph.of(net, {"nope": 1.0})
    assert bg.FactorGraph.of(net, {}).log_partition == pytest.approx(0.0, abs=1e-12)


# --------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("exponent", "domain", "message"),
    [
        (-0.5, "nonnegative", "nonnegative"),
        ([1.0, -1.0, 1.0], "nonnegative", "nonnegative"),
        (1.5, "unit", "from 0 to 1"),
        (-0.1, "unit", "from 0 to 1"),
        (math.nan, "free", "finite"),
        (math.inf, "free", "finite"),
        (math.inf, "nonnegative", "finite"),
        ([1.0, 2.0], "free", r"shape \(2, 3\)"),
        (np.ones((2, 3, 1)), "free", r"shape \(2, 3\)"),
        ("x", "free", "number"),
        ([[1.0], [1.0, 2.0]], "free", "number"),
    ],
)
def test_exponents_outside_their_domain(exponent, domain, message):
    with pytest.raises(ModelError, match=message):
        bg.FactorGraph([bg.Factor([A, B], TABLE)], exponents=[exponent], domain=domain)


def test_negative_exponents():
    positive = bg.Factor([A, B], TABLE + 1)
    graph = bg.FactorGraph([positive], exponents=[-2.0], domain="free")
    powered = (TABLE + 1) ** -2.0
    assert graph.query(["a", "b"]).probabilities == pytest.approx(powered / powered.sum())
    with pytest.raises(ModelError, match="zeros, which cannot take a negative exponent"):
        bg.FactorGraph([bg.Factor([A, B], TABLE)], exponents=[-2.0], domain="free")
    net = bg.BayesianNetwork([bg.TableCPD(A, [0.0, 1.0])])
    with pytest.raises(ModelError, match="zeros"):
        bg.FactorGraph.of(net, {"a": [-1.0, 1.0]}, domain="free")
    # A negative exponent where the table is positive, another one where it is zero.
    per_cell = np.where(TABLE == 0, 1.0, -1.0)
    graph = bg.FactorGraph([bg.Factor([A, B], TABLE)], exponents=[per_cell], domain="free")
    powered = np.divide(1.0, TABLE, out=np.zeros((2, 3)), where=TABLE > 0)
    assert graph.query(["a", "b"]).probabilities == pytest.approx(powered / powered.sum())


def test_a_negative_power_of_a_gaussian_is_refused_with_its_name():
    wide = bg.GaussianCPD(X, 0.0, 4.0)
    with pytest.raises(ModelError, match=r"p\(x\).*negative"):
        bg.FactorGraph([wide], exponents=[-1.0], domain="free")


def test_what_is_refused():
    factor = bg.Factor([A], [1.0, 2.0])
    with pytest.raises(ModelError, match="at least one factor"):
        bg.FactorGraph([])
    with pytest.raises(ModelError, match="takes factors and CPDs"):
        bg.FactorGraph([factor, "b"])
    with pytest.raises(ModelError, match="domain is one of"):
        bg.FactorGraph([factor], domain="positive")
    with pytest.raises(ModelError, match="one entry for each of the 1 factors; got"):
        bg.FactorGraph([factor], exponents=[1.0, 2.0])
    other = bg.Factor([bg.Discrete("a", [1, 0])], [1.0, 2.0])
    with pytest.raises(ModelError, match="Different variables of one name: 'a'"):
        bg.FactorGraph([factor, other])
    with pytest.raises(
        UnsupportedModelError, match=r"does not answer weighted_samples, .* the BayesianNetwork"
    ):
        bg.FactorGraph([factor]).weighted_samples("a")
    with pytest.raises(EvidenceError):
        bg.FactorGraph([factor]).query("a", {"a": 0})


def test_exponents_that_are_no_list():
    with pytest.raises(ModelError):
        bg.FactorGraph([bg.Factor([A], [1.0, 2.0])], exponents=2.0)


def test_a_product_that_is_zero_everywhere():
    graph = bg.FactorGraph([bg.Factor([A], [1.0, 0.0]), bg.Factor([A], [0.0, 1.0])])
    for question in (
        lambda: graph.query("a"),
        graph.most_probable,
        lambda: graph.log_probability({}),
        lambda: graph.log_probability({"a": 0}),
    ):
        with pytest.raises(ImpossibleEvidenceError):
            question()


def test_impossible_evidence():
    graph = bg.FactorGraph([bg.Factor([A, B], TABLE)])
    given = {"a": 0, "b": "z"}
    assert graph.log_probability(given) == -math.inf
    with pytest.raises(ImpossibleEvidenceError, match="'b': 'z'"):
        graph.most_probable(given)


@pytest.mark.parametrize(
    "clone", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
def test_copies_and_pickles(clone):
    sources, exponents = brute.random_factor_graph(4, n_continuous=2)
    graph = bg.FactorGraph(sources, exponents=exponents)
    before = graph.log_partition
    other = clone(graph)
    assert other.log_partition == before
    assert repr(other) == repr(graph)
    name = graph.names[0]
    assert repr(other.query(name)) == repr(graph.query(name))


def test_exponents_are_read_only_and_copied():
    exponent = np.array([1.0, 2.0])
    graph = bg.FactorGraph([bg.Factor([A], [1.0, 2.0])], exponents=[exponent])
    exponent[0] = 7.0
    assert graph.terms[0].exponent.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="read-only"):
        graph.terms[0].exponent[0] = 3.0


def test_equality_and_factors():
    def make(power=0.5):
        return bg.FactorGraph(
            [bg.Factor([A, B], TABLE), bg.TableCPD(A, [0.3, 0.7])], exponents=[power, None]
        )

    assert make() == make()
    assert make() != make(0.6)
    assert make().factors == (bg.Factor([A, B], TABLE), bg.TableCPD(A, [0.3, 0.7]))
    assert bg.Factor([A], [1, 2]) != bg.Factor([A], [1, 3])


GENERATIVE = {
    "marginals": lambda model, row: model.marginals(row),
    "log_probability": lambda model, row: model.log_probability(row),
    "log_likelihood": lambda model, row: model.log_likelihood({"words": np.array([[1.0, 0, 2]])}),
    "most_probable": lambda model, row: model.most_probable(row),
    "k_most_probable": lambda model, row: model.k_most_probable(2, row),
    "sample": lambda model, row: model.sample(3, row),
    "weighted_samples": lambda model, row: model.weighted_samples("kind", row),
    "plan": lambda model, row: model.plan(None, row, question="log_probability"),
    "next_question": lambda model, row: model.ask.next_question("kind", row),
    "conflict": bg.questions.conflict,
    "sensitivity": lambda model, row: bg.questions.sensitivity(model, "kind", "a", row),
}


@pytest.mark.parametrize("name", GENERATIVE)
def test_negative_powers_of_counts_answer_no_generative_question(name):
    words, kind = bg.CountVector("words", ["a", "b", "c"]), bg.Discrete("kind", ["a", "b"])
    shares = np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
    cpd = bg.MultinomialCPD(words, shares, [kind])
    prior = bg.TableCPD(kind, [0.4, 0.6])
    model = bg.FactorGraph([prior, cpd], exponents=[None, -1.0], domain="free")
    row = {"words": [1, 0, 2]}
    scores = [0.4, 0.6] / (shares[:, 0] * shares[:, 2] ** 2)
    posterior = model.query("kind", row).probabilities
    assert posterior == pytest.approx(scores / scores.sum(), abs=1e-12)
    with pytest.raises(UnsupportedModelError, match=r"no distribution of documents.*multinomial"):
        GENERATIVE[name](model, row)


COUNTED, KIND = bg.CountVector("words", ["a", "b", "c"]), bg.Discrete("kind", ["a", "b"])
LEAVES = {
    "multinomial": bg.MultinomialCPD(COUNTED, [[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]], [KIND]),
    "dirichlet": bg.models.DirichletMultinomialCPD(
        COUNTED, [[2.0, 3.0, 5.0], [6.0, 3.0, 1.0]], [KIND]
    ),
    "presence": bg.models.PresenceCPD(COUNTED, [[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]], [KIND]),
    "poisson": bg.PoissonCPD(bg.Count("n"), [1.5, 4.0], [KIND]),
    "gamma": bg.GammaCPD(bg.Continuous("n"), [1.5, 4.0], [2.0, 1.0], [KIND]),
}


@pytest.mark.parametrize("leaf", LEAVES)
def test_a_density_without_evidence_sums_to_one(leaf):
    """As the network says that the product is made of; `plan` promises what `query` does."""
    prior = bg.TableCPD(KIND, [0.4, 0.6])
    network = bg.BayesianNetwork([prior, LEAVES[leaf]])
    graph = bg.FactorGraph.of(network)
    assert graph.plan("kind").width == network.plan("kind").width
    assert graph.query("kind").probabilities == pytest.approx([0.4, 0.6], abs=1e-15)
    assert graph.log_partition == pytest.approx(0.0, abs=1e-15)
    assert graph.log_probability({"kind": "b"}) == pytest.approx(math.log(0.6))


@pytest.mark.parametrize("leaf", LEAVES)
@pytest.mark.parametrize("power", [0.5, 2.0])
def test_a_power_of_a_density_without_evidence_is_planned_as_it_is_answered(leaf, power):
    """Documents of words have no length in the model: without evidence they are empty."""
    prior = bg.TableCPD(KIND, [0.4, 0.6])
    graph = bg.FactorGraph([prior, LEAVES[leaf]], exponents=[None, power], domain="free")
    if leaf in ("multinomial", "dirichlet"):
        empty = graph.query("kind", {"words": [0, 0, 0]}).probabilities
        assert graph.plan("kind").width == 0
        assert graph.query("kind").probabilities == pytest.approx(empty, abs=1e-15)
        assert graph.query("kind").probabilities == pytest.approx([0.4, 0.6], abs=1e-15)
        return
    for ask in (graph.query, graph.plan):
        with pytest.raises(UnsupportedModelError, match=r"(words|n)' has no posterior.*power is 1"):
            ask("kind")


def test_a_density_whose_child_is_in_another_term_does_not_sum_to_one():
    twice = bg.FactorGraph([bg.TableCPD(KIND, [0.4, 0.6]), LEAVES["poisson"], LEAVES["poisson"]])
    for ask in (twice.query, twice.plan):
        with pytest.raises(UnsupportedModelError, match="'n' has no posterior"):
            ask("kind")
    seen = twice.query("kind", {"n": 2}).probabilities
    scores = np.array([0.4, 0.6]) * stats.poisson([1.5, 4.0]).pmf(2) ** 2
    assert seen == pytest.approx(scores / scores.sum(), abs=1e-12)


def test_a_class_without_words_is_answered_as_the_classifier_does():
    counts = np.random.default_rng(0).integers(0, 5, (60, 3))
    model = bg.ComplementNaiveBayesClassifier().fit(counts, ["a", "b", "c"] * 20)
    expected = model.query().probabilities
    assert model.network_.query("class").probabilities == pytest.approx(expected, abs=1e-15)
    assert model.network_.plan("class").width == 0
