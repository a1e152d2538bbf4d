"""Plans: order, width, memory, what is printed; and networks that only a good order can solve."""

import itertools
import math
import sys

import numpy as np
import oracle as brute
import pytest

import bayesgraph as bg
from bayesgraph.core.errors import (
    EvidenceError,
    MemoryLimitError,
    UnknownVariableError,
    UnsupportedModelError,
)
from bayesgraph.inference import make_plan


def chain(n, *, states=("a", "b")):
    nodes = [bg.Discrete(i, states) for i in range(n)]
    cpds = [bg.TableCPD(nodes[0], [0.3, 0.7])]
    for parent, child in itertools.pairwise(nodes):
        cpds.append(bg.TableCPD(child, [[0.9, 0.1], [0.2, 0.8]], parents=[parent]))
    return bg.BayesianNetwork(cpds)


def test_a_chain_has_width_one_and_two_thousand_nodes_work():
    n = 2000
    net = chain(n)
    plan = net.plan(n - 1, [0])
    assert plan.width == 1
    assert len(plan.steps) == n - 2
    matrix = np.array([[0.9, 0.1], [0.2, 0.8]])
    end = net.query(n - 1, {0: "a"}).probabilities
    assert end == pytest.approx(np.linalg.matrix_power(matrix, n - 1)[0], abs=1e-12)
    # Every second node observed: far below the smallest double in linear space.
    evidence = {i: "a" if i % 4 else "b" for i in range(0, n, 2)}
    twice = matrix @ matrix
    expected = math.log(0.7)
    for before, after in itertools.pairwise(evidence.values()):
        expected += math.log(twice["ab".index(before), "ab".index(after)])
    assert expected < math.log(5e-324)
    assert net.log_probability(evidence) == pytest.approx(expected, rel=1e-12)


def test_a_tree_has_width_one():
    random = np.random.default_rng(0)
    nodes = [bg.Discrete(f"n{i}", [0, 1, 2]) for i in range(200)]
    cpds = [bg.TableCPD(nodes[0], [0.2, 0.3, 0.5])]
    for i in range(1, 200):
        parent = nodes[int(random.integers(i))]
        cpds.append(bg.TableCPD(nodes[i], brute.random_table(random, (3, 3)), parents=[parent]))
    net = bg.BayesianNetwork([cpds[i] for i in random.permutation(200)])
    graph = bg.FactorGraph.of(net)
    assert graph.plan("n7").width == 1
    assert graph.log_partition == pytest.approx(0.0, abs=1e-10)
    assert graph.query("n7").probabilities == pytest.approx(net.query("n7").probabilities)


@pytest.mark.slow
def test_a_star_with_five_thousand_leaves():
    c = bg.Discrete("c", ["a", "b"])
    leaves = [bg.Discrete(f"f{i}", [0, 1]) for i in range(5000)]
    table = [[0.7, 0.3], [0.701, 0.299]]
    net = bg.BayesianNetwork(
        [bg.TableCPD(c, [0.5, 0.5]), *(bg.TableCPD(v, table, parents=[c]) for v in leaves)]
    )
    evidence = {v.name: int(i % 10 < 3) for i, v in enumerate(leaves)}
    logs = math.log(0.5) + 3500 * np.log([0.7, 0.701]) + 1500 * np.log([0.3, 0.299])
    posterior = net.query("c", evidence)
    share = np.exp(logs - np.logaddexp(*logs))
    assert posterior.probabilities == pytest.approx(share, abs=1e-10)
    assert posterior.log_evidence == pytest.approx(np.logaddexp(*logs), rel=1e-12)
    # Nothing observed: the leaves are barren. As a product they are all summed out.
    assert net.plan("c").steps == ()
    graph = bg.FactorGraph.of(net)
    assert graph.plan("c").width == 1
    assert graph.query("c").probabilities == pytest.approx([0.5, 0.5])
    assert net.most_probable({})["f17"] == 0


def test_only_what_matters_is_computed():
    net = chain(50)
    assert net.plan(3).order == (0, 1, 2)
    assert net.plan(3, [1]).order == (2,)  # 1 separates 0 from the target
    assert net.plan(0).order == ()


def test_continuous_variables_leave_first():
    for seed in range(20):
        network = brute.random_network(seed, n_discrete=4, n_continuous=4)
        graph = bg.FactorGraph.of(network)
        kinds = [
            isinstance(step.variable, bg.Continuous)
            for step in graph.plan([network.names[0]]).steps
        ]
        assert kinds == sorted(kinds, reverse=True)


def test_components_of_a_mixture_are_counted():
    a, b = bg.Discrete("a", range(3)), bg.Discrete("b", range(5))
    x, y = bg.Continuous("x"), bg.Continuous("y")
    net = bg.BayesianNetwork(
        [
            bg.TableCPD(a, np.full(3, 1 / 3)),
            bg.TableCPD(b, np.full(5, 0.2)),
            bg.GaussianCPD(x, np.arange(3), 1.0, parents=[a]),
            bg.GaussianCPD(y, np.arange(5), 1.0, parents=[b, x], coefficients=np.ones((5, 1))),
        ]
    )
    plan = net.plan("y")
    assert plan.components == 15
    assert "15 Gaussians" in str(plan)
    assert len(net.query("y").weights) == 15
    assert net.plan("x").components == 3
    assert net.plan("a").components == 1
    assert bg.Ensemble([net, net], combine="posterior").plan("a").components == 1


def test_what_is_printed():
    text = str(chain(12).plan(11))
    assert repr(chain(12).plan(11)) == text
    for piece in (
        "eliminate 11 variables, keep 11",
        "by compiled program: ",
        "induced width ",
        "4 numbers (32 B)",
    ):
        assert piece in text
    assert "1. sum 0 out of (1, 0)" in text
    few = chain(4).plan(3)
    assert few.order == (0, 1, 2)
    assert few.width == 3
    for piece in (
        "by joint enumeration: ",
        "16 numbers (128 B)",
        "joint states of (0, 1, 2, 3)",
    ):
        assert piece in str(few)


def questions():
    """Every question that `plan` knows, with targets where it takes some."""
    asked = ["query", "marginal_map", "sensitivity", "query_rows"]
    others = ["marginals", "most_probable", "k_most_probable", "log_probability", "sample"]
    return [(q, True) for q in asked] + [
        (q, False) for q in [*others, "conflict", "log_likelihood"]
    ]


@pytest.mark.parametrize(("question", "has_targets"), questions())
def test_every_question_of_every_kind_of_model_has_a_plan_or_is_refused(question, has_targets):
    net = brute.random_network(3, n_discrete=4, n_continuous=2)
    target = next(v.name for v in net.variables if isinstance(v, bg.Discrete))
    c = bg.Discrete("c", ["n", "y"])
    x = bg.Continuous("x")
    star = bg.BayesianNetwork(
        [bg.TableCPD(c, [0.4, 0.6]), bg.GaussianCPD(x, [0.0, 1.0], 1.0, parents=[c])]
    )
    models = [
        (net, target),
        (bg.FactorGraph.of(net), target),
        (chain(14), 3),
        (bg.FactorGraph.of(chain(14)), 3),
        (star, "c"),
        (bg.WeightedNetwork(star, "c", {"x": 0.5}), "c"),
        (bg.Ensemble([star, star]), "c"),
    ]
    for model, name in models:
        try:
            plan = model.plan(name if has_targets else None, question=question)
        except UnsupportedModelError as error:
            refusal = str(error)
        else:
            assert plan.solver in str(plan)
            assert plan.reason
            assert plan.bytes > 0
            continue
        with pytest.raises(UnsupportedModelError) as again:
            ask(model, question, name)
        assert question == "log_likelihood" or str(again.value) == refusal


def ask(model, question, name):
    """Ask a question that some kind of model refuses."""
    given = {
        "sensitivity": (name, None),
        "conflict": ({},),
        "sample": (1,),
        "log_likelihood": ({model.names[0]: [None]},),
    }
    asked = model.ask if question in ("sensitivity", "conflict") else model
    return getattr(asked, question)(*given.get(question, ()))


def test_a_plan_takes_soft_evidence_and_approximate_methods():
    net = chain(14)
    plain, soft = net.plan(5, {3: "a"}), net.plan(5, {3: {"a": 1, "b": 2}})
    assert plain.solver == "joint enumeration"
    assert soft.solver == "compiled program"
    assert soft.workspace > 0
    assert net.plan(5, method="loopy").solver == "loopy belief propagation"
    assert net.plan(5, method="likelihood-weighting").solver == "likelihood weighting"
    assert [part.solver for part in net.plan(5, [3], question="query_rows").parts] == [
        "factors",
        "rows together",
    ]


def test_plan_refuses_nonsense():
    net = chain(4)
    with pytest.raises(UnknownVariableError, match="has no variable 'z'"):
        net.plan("z")
    with pytest.raises(UnknownVariableError, match="has no variable 9"):
        net.plan(0, [9])
    with pytest.raises(EvidenceError, match="list of names"):
        net.plan(0, "abc")
    with pytest.raises(EvidenceError, match="both a target and observed"):
        net.plan(0, [0])
    with pytest.raises(EvidenceError, match="at least one target"):
        net.plan([])


def cliques(n, cardinality):
    """A factor on every pair of n variables."""
    variables = [bg.Discrete(i, range(cardinality)) for i in range(n)]
    table = np.ones((cardinality, cardinality))
    return bg.FactorGraph([bg.Factor(p, table) for p in itertools.combinations(variables, 2)])


def test_a_large_clique_is_refused_before_anything_runs_and_with_its_size():
    graph = cliques(50, 2)
    with pytest.raises(MemoryLimitError, match=r"1\.13e\+15 numbers \(9\.01 PB") as error:
        graph.query(0)
    assert isinstance(error.value, MemoryError)
    assert graph.plan(0).width == 49


def test_more_axes_than_numpy_has_are_no_matter():
    graph = cliques(62, 1)
    assert graph.query(0).probabilities == pytest.approx([1.0])


@pytest.mark.parametrize("n", [60, 400])
def test_sizes_beyond_the_largest_float_are_refused_too(n):
    """A table of 1000**400 numbers: the figure does not fit a float, the error still says so."""
    variables = [bg.Discrete(i, range(1000)) for i in range(n)]
    chained = [variables[i : i + 2] for i in range(n - 1)]
    hub = make_plan([*chained], variables)
    with pytest.raises(MemoryLimitError, match="limit"):
        hub.check_memory()
    assert "largest table" in str(hub)


def calls_made(function, *arguments):
    """Count the Python calls of a function: its work, without a clock."""
    count = 0

    def counter(frame, event, argument):
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(counter)
    try:
        function(*arguments)
    finally:
        sys.setprofile(before)
    return count


def test_planning_a_star_takes_linear_work():
    """Each leaf changes the hub's cost by a constant: not counted afresh over all leaves."""
    hub = bg.Discrete("hub", [0, 1])
    small, large = ([[hub, bg.Discrete(i, [0, 1])] for i in range(n)] for n in (200, 800))
    assert calls_made(make_plan, large) < 6 * calls_made(make_plan, small)


@pytest.mark.slow
def test_planning_a_clique_takes_at_most_quadratic_calls():
    small, large = ([[bg.Discrete(i, [0, 1]) for i in range(n)]] for n in (30, 120))
    assert make_plan(small).width == 29
    assert calls_made(make_plan, large) < 24 * calls_made(make_plan, small)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::bayesgraph.core.errors.ExtrapolationWarning")
def test_the_limit_counts_the_gaussian_components():
    parents = [bg.Discrete(f"p{i}", range(4)) for i in range(22)]
    xs = [bg.Continuous(f"x{i}") for i in range(22)]
    total = bg.Continuous("total")
    net = bg.BayesianNetwork(
        [
            *(bg.TableCPD(p, [0.25] * 4) for p in parents),
            *(
                bg.GaussianCPD(x, np.arange(4.0), 1.0, parents=[p])
                for x, p in zip(xs, parents, strict=True)
            ),
            bg.GaussianCPD(total, 0.0, 1.0, parents=xs, coefficients=np.ones(22)),
        ]
    )
    with pytest.raises(MemoryLimitError):
        net.query("total")
    assert net.plan("total").components == 4**22
    # With the addends observed it is a single Gaussian.
    given = {f"x{i}": float(i) for i in range(22)}
    assert net.query("total", given).mean == pytest.approx(231.0)
    assert net.query("total", given).variance == pytest.approx(1.0)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("seed", range(30))
def test_width_is_that_of_the_order(seed):
    """The printed width is what eliminating in that order costs on the interaction graph."""
    network = brute.random_network(seed, n_discrete=12, most_worlds=10**9)
    graph = bg.FactorGraph.of(network)
    plan = graph.plan(question="most_probable")
    assert plan.solver == "compiled program"
    near = {v.name: set() for v in graph.variables}
    for term in graph.terms:
        names = {v.name for v in term.scope}
        for name in names:
            near[name] |= names - {name}
    sizes = [1]
    for name in plan.order:
        sizes.append(1 + len(near[name]))
        for other in near[name]:
            near[other] |= near[name]
            near[other] -= {other, name}
        del near[name]
    assert not near
    assert plan.width == max(sizes) - 1
