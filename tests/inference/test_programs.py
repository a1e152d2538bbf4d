"""Plans and programs: valid trees, best roots, and a second executor in plain Python."""

import itertools
import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import oracle as brute
import pytest

import bayesgraph as bg
from bayesgraph.core.compilation import mode_is
from bayesgraph.core.errors import MemoryLimitError
from bayesgraph.inference import FEW_VARIABLES, All, Case, Memo, Relevance, plan_tree, restrict
from bayesgraph.inference import order_kernels as orders
from bayesgraph.inference import planning_kernels as planning
from bayesgraph.inference import program_kernels as programs
from bayesgraph.inference import programs as querying
from bayesgraph.inference.junction import Cliques
from bayesgraph.inference.programs import Query

SEEDS = range(40)


def random_network(seed, n=9):
    """A network with up to four states a node, some zeros, arcs of any density, parts apart."""
    random = np.random.default_rng(seed)
    nodes = [bg.Discrete(f"n{i}", range(int(random.integers(1, 5)))) for i in range(n)]
    cpds = []
    for i, node in enumerate(nodes):
        k = min(i, int(random.integers(0, 4)))
        parents = [nodes[j] for j in random.choice(i, k, replace=False)] if k else []
        shape = [p.cardinality for p in parents]
        table = random.dirichlet(np.full(node.cardinality, 0.5), size=shape)
        table[random.random(table.shape) < 0.15] = 0.0
        table[table.sum(axis=-1) == 0] = 1.0
        cpds.append(bg.TableCPD(node, table / table.sum(axis=-1, keepdims=True), parents=parents))
    return bg.BayesianNetwork(cpds), random


def possible_evidence(net, random, share=0.3):
    row = {name: column[0] for name, column in net.sample(1, random_state=random).items()}
    return {name: value for name, value in row.items() if random.random() < share}


def findings_of(net, evidence):
    hard = {
        net._index_of[name]: net.variable(name).index(value) for name, value in evidence.items()
    }
    return Case(hard)


def cliques(tree):
    return [
        set(tree.member[tree.c_start[c] : tree.c_start[c + 1]].tolist())
        for c in range(len(tree.parent))
    ]


@pytest.mark.one_in(8)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("scope", [Relevance.EVERYTHING, Relevance.TARGETS])
def test_a_tree_has_the_running_intersection_property(seed, scope):
    net, random = random_network(seed, 14)
    evidence = possible_evidence(net, random)
    findings = findings_of(net, evidence)
    free = [v for v in range(14) if v not in findings.hard]
    targets = free[:3] if scope is Relevance.TARGETS else []
    restricted = restrict(net._compiled_tables.tables, sorted(findings.hard), (), targets, scope)
    tree = plan_tree(restricted)
    members = cliques(tree)
    for c, parent in enumerate(tree.parent.tolist()):
        separator = tree.member[tree.c_start[c] + tree.residual[c] : tree.c_start[c + 1]]
        leaving = members[c] - set(separator.tolist())
        assert len(leaving) == tree.residual[c] > 0
        if parent < 0:
            assert len(separator) == 0
        else:
            assert parent > c
            assert set(separator.tolist()) == members[c] & members[parent]
            # Not contained in its parent: the cliques are maximal.
            assert leaving
        # A variable leaves once: no later clique mentions it.
        assert all(not leaving & later for later in members[c + 1 :])
    for f, home in enumerate(tree.home.tolist()):
        scope_f = set(tree.item[tree.start[f] : tree.start[f + 1]].tolist())
        assert (home < 0) == (not scope_f)
        if scope_f:
            assert scope_f <= members[home]
    if targets:
        wanted = set(np.flatnonzero(restricted.wanted).tolist())
        assert any(wanted <= member and tree.parent[c] < 0 for c, member in enumerate(members))


@pytest.mark.one_in(8)
@pytest.mark.parametrize("seed", SEEDS)
def test_an_order_lists_every_variable_once_and_lower_stages_first(seed):
    net, random = random_network(seed, 16)
    tables = net._compiled_tables.tables
    stage = random.integers(0, 3, 16)
    order = orders.elimination_order(*tables.arrays[:3], stage, orders.ONCE)
    assert sorted(order.tolist()) == list(range(16))
    assert (np.diff(stage[order]) >= 0).all()


def collect_cost(tree, restricted, roots):
    """Entries that are summed on the way to given roots: those of messages that are not ones."""
    cliques = planning.rooted(tree.cards, tree.c_start, tree.member, tree.parent, roots)
    c_start, member, _, parent = cliques
    _, unit, _, _ = planning.place_factors(restricted, cliques)
    return sum(
        math.prod(tree.cards[member[c_start[c] : c_start[c + 1]]].tolist())
        for c in range(len(parent))
        if parent[c] >= 0 and not unit[c]
    )


@pytest.mark.one_in(8)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_best_root_is_the_best_of_all(seed):
    """The dynamic programme over roots against trying every one of them."""
    net, random = random_network(seed, 12)
    findings = findings_of(net, possible_evidence(net, random, 0.15))
    restricted = restrict(
        net._compiled_tables.tables, sorted(findings.hard), (), (), Relevance.EVERYTHING
    )
    tree = plan_tree(restricted)
    cliques = Cliques(tree.c_start, tree.member, tree.residual, tree.parent)
    chosen = planning.best_roots(restricted, cliques, tree.home, tree.unit)
    root_of = list(range(len(tree.parent)))
    for c in range(len(tree.parent) - 1, -1, -1):
        if tree.parent[c] >= 0:
            root_of[c] = root_of[tree.parent[c]]
    groups = {}
    for c, root in enumerate(root_of):
        groups.setdefault(root, []).append(c)
    if math.prod(map(len, groups.values())) > 3000:
        pytest.skip("too many combinations of roots")
    costs = [
        collect_cost(tree, restricted, np.array(roots))
        for roots in itertools.product(*groups.values())
    ]
    assert collect_cost(tree, restricted, chosen) == min(costs)


def interpret(program, tables, offsets):  # noqa: C901 - one case an instruction
    """Run a program in Python, one instruction after the other."""
    code = program.code.tolist()
    work, out = np.full(program.n_work, np.nan), np.full(program.n_result, np.nan)
    log_mass, at, loop, turns = 0.0, 0, [], []
    while at < len(code):
        op, length, t, s = code[at : at + 4]
        if op <= programs.ADD:
            kind, dims, outer = code[at + 4 : at + 7]
            axes = [code[at + 7 + 3 * k : at + 10 + 3 * k] for k in range(dims)]
            rest = at + 7 + 3 * dims
            for k in range(outer):
                t += loop[k] * code[rest + 2 * k]
                s += loop[k] * code[rest + 2 * k + 1]
            source = work
            if kind == programs.TABLE:
                source = tables
                s += offsets[code[at + 3]] - code[at + 3]
            for index in itertools.product(*(range(count) for count, _, _ in axes)):
                to = t + sum(i * a[1] for i, a in zip(index, axes, strict=True))
                of = s + sum(i * a[2] for i, a in zip(index, axes, strict=True))
                if op == programs.COPY:
                    work[to] = source[of]
                elif op == programs.MULTIPLY:
                    work[to] *= source[of]
                else:
                    work[to] += source[of]
            at += length
        elif op == programs.LOOP:
            counts = code[at + 3 : at + 3 + t]
            turns = list(itertools.product(*map(range, counts)))
            loop = turns.pop(0)
            at += length
        elif op == programs.AGAIN:
            at = t if turns else at + 3
            loop = turns.pop(0) if turns else []
        else:
            n, third, last = code[at + 3 : at + 6]
            part = slice(t, t + s)
            if op == programs.FILL:
                work[part] = third
            elif op in (programs.SCALE, programs.DIVIDE):
                if op == programs.DIVIDE and third >= 0:
                    below = work[third : third + s]
                    work[part] = np.where(below > 0, work[part] / np.where(below > 0, below, 1), 0)
                peak = work[part].max()
                work[part] /= peak
                if op == programs.SCALE and last:
                    log_mass += math.log(peak)
            else:
                total = work[part].sum()
                log_mass += math.log(total) if last else 0.0
                if third >= 0:
                    out[third : third + s] = work[part] / total
            assert n == s
            at += programs.SHORT
    return out, log_mass


@pytest.mark.one_in(8)
@pytest.mark.parametrize("seed", SEEDS)
def test_an_interpreter_agrees(seed):
    """In plain Python, with the numbers of the compiled executor."""
    net, random = random_network(seed)
    engine = net._compiled_tables
    tables = engine.tables
    findings = findings_of(net, possible_evidence(net, random))
    program = engine.program(Query(sorted(findings.hard), both=True))
    run = engine.run(program, findings)
    assert not run.logarithmic
    offsets = tables.arrays.base.copy()
    for f, (begin, end) in enumerate(itertools.pairwise(tables.arrays.start)):
        for place in range(begin, end):
            step = tables.arrays.step[place]
            offsets[f] += findings.hard.get(int(tables.arrays.item[place]), 0) * step
    out, log_mass = interpret(program, tables.values, offsets.tolist())
    constant = np.log(tables.values[offsets[program.constant]]).sum()
    assert out == pytest.approx(run.result, abs=1e-12)
    assert log_mass + constant == pytest.approx(run.log_mass, abs=1e-10)


@pytest.mark.one_in(8)
@pytest.mark.parametrize("seed", SEEDS)
def test_logarithms_and_enumeration_agree_with_probabilities(seed):
    net, random = random_network(seed)
    engine = net._compiled_tables
    findings = findings_of(net, possible_evidence(net, random))
    program = engine.program(Query(sorted(findings.hard), both=True))
    run = engine.run(program, findings)
    logs = engine.run(program, findings, logarithmic=True)
    assert logs.logarithmic
    assert logs.result == pytest.approx(run.result, abs=1e-12)
    assert logs.log_mass == pytest.approx(run.log_mass, abs=1e-10)
    work = net._work(All(), findings.pattern)
    assert work.solver.name == "joint enumeration"
    assert len(net.variables) <= FEW_VARIABLES
    found = work.run(findings)
    assert [net._index_of[name] for name in found] == program.tree.variables.tolist()
    assert np.concatenate(
        [posterior.probabilities for posterior in found.values()]
    ) == pytest.approx(run.result, abs=1e-12)
    assert found.log_evidence == pytest.approx(run.log_mass, abs=1e-10)


def complete_graph(n, random):
    variables = [bg.Discrete(i, [0, 1]) for i in range(n)]
    pairs = itertools.combinations(variables, 2)
    return bg.FactorGraph([bg.Factor(pair, random.random((2, 2)) + 0.2) for pair in pairs])


@pytest.fixture(scope="module")
def large():
    """One clique of 2**21 entries, made tile by tile."""
    return complete_graph(21, np.random.default_rng(0))


@pytest.mark.slow
def test_a_limit_holds_the_second_time_too(large):
    program = large._compiled_tables.program(Query(()))
    workspace, table = 8 * (program.n_work + program.n_result), 8 * program.tree.largest
    assert workspace < 2**22 < table  # made in tiles, and never there as a whole
    whole = large.log_probability({0: 0})
    for _ in range(2):
        with pytest.raises(MemoryLimitError, match="needs a table"):
            large.most_probable({0: 0}, fallback=None, memory_limit=2**18)
        # The probability is summed slice by slice.
        assert large.log_probability({0: 0}, memory_limit=2**18) == pytest.approx(whole, abs=1e-12)
    assert large.most_probable({0: 0}, memory_limit=2**26) == large.most_probable({0: 0})


def log_table(graph):
    """Return the log of the product of all factors over binary variables 0, 1, ..."""
    table = np.zeros(())
    for i in range(len(graph.variables)):  # one by one, as the last few make the table large
        table = np.repeat(table[..., None], 2, axis=-1)
        for term in graph.terms:
            names = {v.name for v in term.scope}
            if max(names) == i:
                shape = [2 if k in names else 1 for k in range(i + 1)]
                table += term.table.log_values.reshape(shape)
    return table


@pytest.mark.slow
def test_a_table_that_is_made_in_tiles(large):
    table = log_table(large)
    weights = np.exp(table - table.max())
    found = large.marginals()
    left = weights
    for i in range(21):  # the variables before have been summed out
        expected = left.reshape(2, -1).sum(axis=1) / weights.sum()
        left = left.reshape(2, -1).sum(axis=0)
        assert found[i].probabilities == pytest.approx(expected, abs=1e-12)
    assert found.log_evidence == pytest.approx(table.max() + math.log(weights.sum()), abs=1e-10)


@pytest.mark.parametrize("n", [17, pytest.param(21, marks=pytest.mark.slow)])
def test_questions_to_a_table_that_is_made_in_tiles(n):
    graph = complete_graph(n, np.random.default_rng(0))
    table = log_table(graph)
    weights = np.exp(table - table.max())
    joint = graph.query([3, 11]).probabilities
    axes = tuple(k for k in range(n) if k not in (3, 11))
    assert joint == pytest.approx(weights.sum(axis=axes) / weights.sum(), abs=1e-12)
    best = graph.most_probable()
    expected = np.unravel_index(int(table.argmax()), table.shape)
    assert [best[i] for i in range(n)] == [int(code) for code in expected]


def test_runs_share_a_workspace_and_no_numbers(monkeypatch):
    monkeypatch.setattr(querying, "_SMALLEST_KEPT", 1)
    querying._spare.clear()
    nets = [random_network(seed, n=14)[0] for seed in range(6)]
    first = [net.marginals() for net in nets]
    expected = [{name: p.probabilities.copy() for name, p in found.items()} for found in first]
    (whole,) = querying._spare
    nets[0].marginals()
    assert querying._spare[0] is whole
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda i: nets[i % 6].marginals(), range(120)))
    for i, answer in enumerate(answers):
        for name, probabilities in expected[i % 6].items():
            assert answer[name].probabilities == pytest.approx(probabilities, abs=1e-12)
            assert np.array_equal(first[i % 6][name].probabilities, probabilities)


@pytest.mark.parametrize("seed", range(12))
def test_intermediate_tables_change_nothing(seed):
    """All posteriors at once against one query a variable, each with a tree of its own."""
    random = np.random.default_rng(seed)
    network = brute.random_network(seed, n_discrete=11, most_worlds=200_000)
    names = [v.name for v in network.variables]
    row = {name: column[0] for name, column in network.sample(1, random_state=seed).items()}
    evidence = {name: row[name] for name in names if random.random() < 0.2}
    found = network.marginals(evidence)
    for name in names:
        if name not in evidence:
            expected = network.query(name, evidence).probabilities
            assert found[name].probabilities == pytest.approx(expected, abs=1e-12)


def large_tables(seed):
    """A product of tables over seven variables, 21,600 joint states, and the product itself."""
    random = np.random.default_rng(seed)
    cards = random.permutation([5, 4, 6, 3, 4, 5, 3])
    variables = [bg.Discrete(i, range(card)) for i, card in enumerate(cards.tolist())]
    scopes = [sorted(random.choice(7, 4, replace=False).tolist()) for _ in range(4)]
    scopes += [[v] for v in range(7) if not any(v in scope for scope in scopes)]
    joint = np.ones(cards)
    factors = []
    for scope in scopes:
        table = random.random(cards[scope]) * (random.random(cards[scope]) < 0.8)
        factors.append(bg.Factor([variables[v] for v in scope], table))
        joint = joint * table.reshape([cards[v] if v in scope else 1 for v in range(7)])
    return bg.FactorGraph(factors), [v.name for v in variables], joint


def operations(code):
    found, at = set(), 0
    while at < len(code):
        found.add(int(code[at]))
        at += int(code[at + 1])
    return found


@pytest.mark.parametrize("seed", range(20))
def test_sums_of_products_of_large_cliques(seed):
    """Their terms are not stored; probabilities and logarithms against the whole table."""
    graph, names, joint = large_tables(seed)
    engine = graph._compiled_tables
    program = engine.program(Query((), both=True))
    runs = [engine.run(program, Case({}), logarithmic=logs) for logs in (False, True)]
    order = [graph._index_of[name] for name in names]
    for run in runs:
        ends = np.cumsum([len(v.states) for v in graph.variables])
        shares = np.split(run.result, ends[:-1])
        for axis, number in enumerate(order):
            others = tuple(k for k in range(7) if k != axis)
            expected = joint.sum(axis=others) / joint.sum()
            assert shares[number] == pytest.approx(expected, abs=1e-13)
        assert run.log_mass == pytest.approx(math.log(joint.sum()), abs=1e-12)
    for seen in range(7):
        rest = joint.take(1, axis=seen)
        if rest.sum() == 0.0:
            continue
        found = graph.marginals({names[seen]: 1})
        kept = [name for k, name in enumerate(names) if k != seen]
        for axis, name in enumerate(kept):
            others = tuple(k for k in range(6) if k != axis)
            expected = rest.sum(axis=others) / rest.sum()
            assert found[name].probabilities == pytest.approx(expected, abs=1e-13)


def test_most_large_tables_are_not_stored():
    codes = [
        large_tables(seed)[0]._compiled_tables.program(Query((), both=True)).code
        for seed in range(20)
    ]
    assert sum(int(programs.CONTRACT) in operations(code) for code in codes) >= 15


def test_many_variables_of_one_state_in_a_large_clique():
    """They multiply nothing, but each of them is an axis of the loop over the tiles."""
    random = np.random.default_rng(1)
    ones = [bg.Discrete(f"one{i}", ["only"]) for i in range(75)]
    twos = [bg.Discrete(f"w{i}", [0, 1]) for i in range(14)]
    # Each two of the variables are in a factor: those of one group, or those of two groups.
    groups = [[*ones, *twos][k::8] for k in range(8)]
    scopes = [[*one, *other] for one, other in itertools.combinations(groups, 2)]
    graph = bg.FactorGraph(
        [bg.Factor(scope, random.random([v.cardinality for v in scope]) + 0.1) for scope in scopes]
    )
    small = bg.FactorGraph(
        [
            term.source.marginal([v for v in term.scope if v in twos])
            for term in graph.terms
            if any(v in twos for v in term.scope)
        ]
    )
    for name in ("w0", "w13"):
        expected = small.query(name).probabilities
        assert graph.query(name).probabilities == pytest.approx(expected, abs=1e-12)
    assert graph.marginals()["one3"].probabilities == pytest.approx([1.0], abs=1e-12)


@pytest.mark.slow
def test_sizes_beyond_integers_are_refused_whatever_the_limit():
    variables = [bg.Discrete(i, [0, 1]) for i in range(66)]
    table = np.ones((2, 2))
    graph = bg.FactorGraph([bg.Factor(p, table) for p in itertools.combinations(variables, 2)])
    for limit in (10**30, float("inf")):
        with pytest.raises(bg.errors.MemoryLimitError):
            graph.query(0, memory_limit=limit)
    assert bg.FactorGraph([graph.terms[0].source]).query(0, memory_limit=np.inf)[1] == 0.5


def test_the_memo_is_bounded_in_bytes_and_threads_may_share_it():
    memo = Memo()
    with ThreadPoolExecutor(8) as pool:
        for future in [
            pool.submit(memo.get, (i, j), lambda: (np.zeros(2**18),))
            for i in range(8)
            for j in range(100)
        ]:
            assert future.result()[0].nbytes == 2**21
    assert 0 < memo.nbytes <= 2**28
    assert memo.nbytes == len(memo) * 2**21


@pytest.mark.parametrize("mode", ["never", "inline"])
def test_log_probabilities_are_plain_numbers(mode):
    a, b = bg.Discrete("a", [0, 1]), bg.Discrete("b", [0, 1])
    given_a = bg.TableCPD(b, [[0.5, 0.5], [0.2, 0.8]], parents=[a])
    net = bg.BayesianNetwork([bg.TableCPD(a, [0.3, 0.7]), given_a])
    rare = bg.BayesianNetwork([bg.TableCPD.from_logs(a, np.array([-800.0, 0.0])), given_a])
    with mode_is(mode):
        best = net.k_most_probable(2, {"a": 1})
        logs = [net.most_probable({"a": 1}).log_probability, rare.log_probability({"a": 0})]
        assert {type(x) for x in [*logs, *(x.log_probability for x in best)]} == {float}
