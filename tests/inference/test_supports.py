"""Compressed cliques: the same answers as dense ones and as the list of all worlds."""

import itertools
import math
from contextlib import contextmanager
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from joint import Joint, hard_names, random_evidence, random_graph, random_network

import bayesgraph as bg
from bayesgraph.inference import Case, Pattern, programs, table_solvers
from bayesgraph.inference import Joint as JointQuery
from bayesgraph.inference import tables as supports
from bayesgraph.inference.programs import Query
from bayesgraph.inference.tables import Relation, join, moved, radix, size

SEEDS = st.integers(0, 2**32 - 1)
ALWAYS = {"SMALLEST": 0, "LARGEST_SHARE": 1.0, "DENSE_PRICE": 0.0, "SMALLEST_MEAN": 0}
KINDS = ("zeros", "deterministic", "deterministic", "positive")


@contextmanager
def forced(*, by_case=False):
    """Compress every clique of which something is known, at the first run of each query."""
    with (
        mock.patch.multiple(supports, **ALWAYS),
        mock.patch.multiple(table_solvers, SMALLEST=0, _RUNS_BEFORE=1),
        mock.patch.object(table_solvers, "MOST_DENSE", -1.0 if by_case else math.inf),
        mock.patch.object(table_solvers, "FEW_VARIABLES", -1),
    ):
        yield


def cases(seed):
    """Yield networks and factor graphs with evidence: new objects, which have compiled nothing."""
    for make in (lambda: random_network(seed, kinds=KINDS), lambda: random_graph(seed)):
        joint = Joint.of(make())
        if joint.weights.sum() > 0:
            yield make, joint, random_evidence(np.random.default_rng(seed), joint)


def free_names(joint, evidence):
    return [v.name for v in joint.variables if v.name not in hard_names(evidence)]


# ------------------------------------------------------------------------------------------ joins


@given(SEEDS)
def test_a_join_has_the_joint_states_that_agree_with_all_relations(seed):
    random = np.random.default_rng(seed)
    n = int(random.integers(1, 6))
    cards = random.integers(1, 4, n)
    order = tuple(random.permutation(n).tolist())
    relations, masks = [], []
    for _ in range(int(random.integers(0, 5))):
        scope = tuple(random.permutation(n)[: random.integers(1, n + 1)].tolist())
        mask = random.random([cards[v] for v in scope]) < 0.6
        relations.append(Relation(scope, np.flatnonzero(mask)))
        masks.append((scope, mask))
    expected = [
        key
        for key, states in enumerate(itertools.product(*(range(cards[v]) for v in order)))
        if all(mask[tuple(states[order.index(v)] for v in scope)] for scope, mask in masks)
    ]
    assert join(relations, cards, order, math.inf).tolist() == expected
    if len(expected) > 1:
        assert join(relations, cards, order, len(expected) - 1) is None


@given(SEEDS)
def test_states_of_a_key_are_moved(seed):
    random = np.random.default_rng(seed)
    n = int(random.integers(1, 7))
    cards = random.integers(1, 5, n)
    order = random.permutation(n).tolist()
    weights = {v: int(random.integers(1, 9)) for v in order[: random.integers(0, n + 1)]}
    if random.random() < 0.5:  # weights of neighbours that stay together
        weights = radix(cards, order[random.integers(n) :])
    keys = random.integers(0, size(cards, order), 50)
    states = np.unravel_index(keys, [cards[v] for v in order])
    expected = sum(weights.get(v, 0) * s for v, s in zip(order, states, strict=True))
    assert moved(keys, cards, order, weights).tolist() == expected.tolist()


def test_a_clique_is_joined_without_its_table():
    """Forty variables, each the same as the next: two rows of 2**40."""
    cards = np.full(40, 2)
    same = [Relation((v, v + 1), np.array([0, 3])) for v in range(39)]
    assert join(same, cards, range(40), 100).tolist() == [0, 2**40 - 1]


# ---------------------------------------------------------------------------------------- answers


@pytest.mark.one_in(2)
@pytest.mark.parametrize("by_case", [False, True])
@given(SEEDS)
def test_marginals_and_posteriors(by_case, seed):
    for make, joint, evidence in cases(seed):
        free = free_names(joint, evidence)
        if not free:
            continue
        dense, model = make(), make()
        pair = free[:2][::-1]
        with forced(by_case=by_case):
            log_mass = model.log_probability(evidence)
            marginals = model.marginals(evidence)
            posterior = model.query(pair, evidence)
        assert log_mass == pytest.approx(dense.log_probability(evidence), rel=1e-12, abs=1e-12)
        for name in free:
            expected = dense.marginals(evidence)[name].probabilities
            np.testing.assert_allclose(marginals[name].probabilities, expected, atol=1e-12)
            brute = joint.posterior([name], evidence)
            np.testing.assert_allclose(marginals[name].probabilities, brute, atol=1e-12)
        brute = joint.posterior(pair, evidence)
        np.testing.assert_allclose(posterior.probabilities, brute, atol=1e-12)


@pytest.mark.parametrize("by_case", [False, True])
@given(SEEDS)
def test_most_probable_assignments(by_case, seed):
    for make, joint, evidence in cases(seed):
        if not free_names(joint, evidence):
            continue
        weights = joint.best(evidence)[:8]
        with forced(by_case=by_case):
            found = make().k_most_probable(8, evidence)
        assert len(found) == len(weights)
        assert len({repr(dict(a)) for a in found}) == len(found)
        given_weights = [joint.weight_of(a, evidence) for a in found]
        np.testing.assert_allclose(given_weights, weights, rtol=1e-11)
        assert repr(dict(found[0])) == repr(dict(make().most_probable(evidence)))


@pytest.mark.parametrize("by_case", [False, True])
@given(SEEDS)
def test_marginal_maximum(by_case, seed):
    for make, joint, evidence in cases(seed):
        free = free_names(joint, evidence)
        if not free:
            continue
        with forced(by_case=by_case):
            found = make().most_probable(evidence, over=free[:2])
        best = joint.table(free[:2], evidence).max()
        assert joint.weight_of(found, evidence) == pytest.approx(best, rel=1e-11)


@given(SEEDS)
def test_draws_are_those_of_dense_cliques(seed):
    for make, joint, evidence in cases(seed):
        if not free_names(joint, evidence):
            continue
        with forced():
            found = make().sample(20, evidence, random_state=seed, frame="dict")
        expected = make().sample(20, evidence, random_state=seed, frame="dict")
        assert found.keys() == expected.keys()
        for name, column in expected.items():
            assert column.tolist() == found[name].tolist()


@pytest.mark.parametrize("by_case", [False, True])
@given(SEEDS)
def test_impossible_evidence(by_case, seed):
    model = random_network(seed, kinds=("deterministic",))
    joint = Joint.of(model)
    random = np.random.default_rng(seed)
    evidence = {v.name: v.states[random.integers(len(v.states))] for v in joint.variables[::2]}
    collide = any(len(set(v.states)) < len(v.states) for v in joint.variables)
    if collide or joint.mass(evidence) > 0 or len(evidence) == len(joint.variables):
        return
    with forced(by_case=by_case):
        assert model.log_probability(evidence) == -math.inf
        for ask in (model.marginals, model.most_probable):
            with pytest.raises(bg.errors.ImpossibleEvidenceError):
                ask(evidence)


@given(SEEDS)
def test_programs_on_logarithms_and_cliques_of_all_kinds(seed):
    """Some cliques compressed, with their messages or without, others dense."""
    for make, joint, _ in cases(seed):
        engine = make()._compiled_tables
        for smallest in (0, 5, 20):
            with mock.patch.multiple(supports, **ALWAYS | {"SMALLEST": smallest}):
                program = engine.program(Query((), both=True), compress=True)
            for logarithmic in (False, True):
                run = engine.run(program, Case({}), logarithmic=logarithmic)
                expected = np.concatenate([joint.posterior([v.name], {}) for v in joint.variables])
                np.testing.assert_allclose(run.result, expected, atol=1e-12)
                assert run.log_mass == pytest.approx(joint.log_mass({}), rel=1e-11, abs=1e-11)


@given(SEEDS)
def test_rows_of_which_each_misses_other_values(seed):
    network = random_network(seed, kinds=KINDS)
    joint = Joint.of(network)
    random = np.random.default_rng(seed)
    target, *others = joint.variables
    collide = any(len(set(v.states)) < len(v.states) for v in joint.variables)
    if collide or not others:
        return
    worlds = random.choice(len(joint.weights), 12, p=joint.weights / joint.weights.sum())
    columns = {}
    for v in others:
        column = [v.states[code] for code in joint.column[v][worlds]]
        hidden = random.random(len(column)) < 0.5
        columns[v.name] = [None if h else s for h, s in zip(hidden, column, strict=True)]
    with mock.patch.multiple(supports, **ALWAYS), mock.patch.object(programs, "MOST_DENSE", -1.0):
        found = network.query_rows(target.name, columns)
    for row, probabilities in enumerate(found):
        seen = {name: c[row] for name, c in columns.items() if c[row] is not None}
        expected = joint.posterior([target.name], seen)
        np.testing.assert_allclose(probabilities, expected, atol=1e-12)


# ------------------------------------------------------------------------------------- when it is


def parities(n):
    """Return a network in which each lamp shows the parity of the switches so far."""
    exclusive_or = np.eye(2)[[[0, 1], [1, 0]]]
    cpds, before = [], None
    for i in range(n):
        switch, lamp = bg.Discrete(f"switch {i}", [0, 1]), bg.Discrete(f"lamp {i}", [0, 1])
        cpds.append(bg.TableCPD(switch, [0.7, 0.3]))
        parents = [switch] if before is None else [before, switch]
        cpds.append(bg.TableCPD(lamp, np.eye(2) if before is None else exclusive_or, parents))
        before = lamp
    return bg.BayesianNetwork(cpds)


def expected_parities(n):
    """Return the joint distribution of the first n switches and lamps of `parities`, in turn."""
    table = np.zeros((2,) * (2 * n))
    for switches in itertools.product((0, 1), repeat=n):
        lamps = np.cumsum(switches) % 2
        share = math.prod(0.3 if s else 0.7 for s in switches)
        table[tuple(np.stack([switches, lamps], axis=1).ravel())] = share
    return table


def test_what_fits_is_compressed_from_the_third_run_on():
    net = parities(10)
    names = [v.name for v in net.variables[:18]]
    work = net._work(JointQuery(tuple(range(18))), Pattern(()))
    for run in range(1, 5):
        posterior = work.run(Case({}))
        assert work._general.layout.size == (0 if run < 3 else work._general.layout.size)
        np.testing.assert_allclose(posterior.probabilities, expected_parities(9), atol=1e-15)
    assert work._general.tree.total == 2**9
    plan = net.plan(names)
    assert plan.entries == (2**18, 2**9)
    assert plan.largest_table == 2**18
    assert "512 of 262,144 entries of all tables are held" in repr(plan)


def test_networks_without_zeros_have_the_programs_they_had():
    random = np.random.default_rng(0)
    variables = [bg.Discrete(f"v{i}", range(4)) for i in range(9)]
    cpds = []
    for i, v in enumerate(variables):
        parents = variables[max(0, i - 5) : i]
        shape = (4,) * (len(parents) + 1)
        cpds.append(bg.TableCPD(v, random.dirichlet(np.ones(4), shape[:-1]), parents))
    engine = bg.BayesianNetwork(cpds)._compiled_tables
    dense, tried = (engine.program(Query((), both=True), compress=c) for c in (False, True))
    assert np.array_equal(dense.code, tried.code)
    assert tried.layout.size == 0
