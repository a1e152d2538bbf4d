"""One program for all findings, which serves questions as long as nothing is compiled."""

import itertools
import math

import numpy as np
import pytest

import bayesgraph as bg
from bayesgraph.core.compilation import mode_is, tiers
from bayesgraph.core.errors import ImpossibleEvidenceError, MemoryLimitError
from bayesgraph.inference import table_solvers
from bayesgraph.inference.contract import All, Joint, Pattern


def random_network(seed, n=12):
    """Return a network of more free variables than are enumerated, with zeros in its tables."""
    random = np.random.default_rng(seed)
    variables = [bg.Discrete(f"v{i}", list(range(random.integers(1, 4)))) for i in range(n)]
    cpds = []
    for i, variable in enumerate(variables):
        some = random.permutation(i)[: random.integers(0, 4)]
        parents = [variables[j] for j in some]
        shape = *(parent.cardinality for parent in parents), variable.cardinality
        table = random.random(shape) * (random.random(shape) < 0.8) + 1e-3
        cpds.append(bg.TableCPD(variable, table / table.sum(-1, keepdims=True), parents))
    return bg.BayesianNetwork(cpds)


def random_graph(seed, n=11):
    """Return a factor graph of loops, whose variables are in several tables."""
    random = np.random.default_rng(seed)
    variables = [bg.Discrete(f"v{i}", list("abc"[: random.integers(2, 4)])) for i in range(n)]
    pairs = [(i, (i + step) % n) for i in range(n) for step in (1, 3)]
    return bg.FactorGraph(
        bg.Factor(
            [variables[i], variables[j]],
            random.random((variables[i].cardinality, variables[j].cardinality)),
        )
        for i, j in pairs
    )


def posteriors(model, evidence):
    """Return the probabilities of all variables, and the log mass; None if it is impossible."""
    try:
        marginals = model.marginals(evidence)
    except ImpossibleEvidenceError:
        return None
    found = {name: marginals[name].probabilities for name in marginals}
    found |= {(name,): model.query(name, evidence).probabilities for name in list(marginals)[:3]}
    return found | {"mass": marginals.log_evidence}


@pytest.mark.parametrize("make", [random_network, random_graph])
@pytest.mark.parametrize("seed", range(6))
def test_answers_are_those_of_a_program_of_its_own(make, seed):
    random = np.random.default_rng(seed)
    model, other = make(seed), make(seed)
    for n in (0, 1, 2, 4):
        chosen = random.permutation(len(model.variables))[:n].tolist()
        evidence = {
            model.variables[v].name: random.choice(model.variables[v].states) for v in chosen
        }
        with mode_is("never"):
            found = posteriors(model, evidence)
        with mode_is("inline"):
            expected = posteriors(other, evidence)
        assert (found is None) == (expected is None)
        if expected is not None:
            assert list(found) == list(expected)
            for name, probabilities in expected.items():
                np.testing.assert_allclose(found[name], probabilities, rtol=1e-11, atol=1e-14)
    assert model._memo.get("shared program", lambda: None) is not None
    assert other._memo.get("shared program", lambda: None) is None


@pytest.mark.parametrize("make", [random_network, random_graph])
@pytest.mark.parametrize("seed", range(8))
def test_few_variables_are_enumerated_alike_on_arrays(make, seed):
    random = np.random.default_rng(seed)
    model, other = make(seed, n=5), make(seed, n=5)
    for n in (0, 1, 2, 3):
        chosen = random.permutation(5)
        names = [model.variables[v].name for v in chosen]
        evidence = {name: random.choice(model.variable(name).states) for name in names[:n]}
        with mode_is("never"):
            found = posteriors(model, evidence)
            joint = None if found is None else model.query(names[n:][::-1], evidence)
        with mode_is("inline"):
            expected = posteriors(other, evidence)
            assert (found is None) == (expected is None)
            if found is None:
                continue
            compiled = other.query(names[n:][::-1], evidence)
        np.testing.assert_allclose(joint.probabilities, compiled.probabilities, rtol=1e-11)
        for name, probabilities in expected.items():
            np.testing.assert_allclose(found[name], probabilities, rtol=1e-11, atol=1e-14)


def test_every_state_of_every_pair_of_findings():
    network = random_network(3, n=11)
    whole = np.ones([1] * 11)
    for cpd in network.cpds:
        whole = whole * np.exp(cpd.to_factor().aligned(network.variables)[0])
    with mode_is("never"):
        for a, b in itertools.combinations(range(0, 11, 2), 2):
            for codes in np.ndindex(*(network.variables[v].cardinality for v in (a, b))):
                part = np.take(np.take(whole, [codes[1]], axis=b), [codes[0]], axis=a)
                names = network.variables[a].name, network.variables[b].name
                marginals = network.marginals(dict(zip(names, map(int, codes), strict=True)))
                assert marginals.log_evidence == pytest.approx(math.log(part.sum()), abs=1e-12)
                for v, variable in enumerate(network.variables):
                    if v not in (a, b):
                        rest = tuple(i for i in range(11) if i != v)
                        np.testing.assert_allclose(
                            marginals[variable.name].probabilities,
                            part.sum(axis=rest) / part.sum(),
                            rtol=1e-12,
                        )


def chain(n=400, p=1e-3):
    """Return a chain whose observed states are so rare that products underflow."""
    variables = [bg.Discrete(f"v{i}", ["no", "yes"]) for i in range(n)]
    cpds = [bg.TableCPD(variables[0], [1 - p, p])]
    cpds += [
        bg.TableCPD(b, [[1 - p, p], [1 - 2 * p, 2 * p]], [a])
        for a, b in itertools.pairwise(variables)
    ]
    return bg.BayesianNetwork(cpds)


def test_what_underflows_runs_on_logarithms():
    n = 400
    evidence = {f"v{i}": "yes" for i in range(0, n, 2)}
    with mode_is("never"):
        found = chain(n).marginals(evidence)
    with mode_is("inline"):
        expected = chain(n).marginals(evidence)
    assert found.log_evidence == pytest.approx(expected.log_evidence, rel=1e-12)
    assert found.log_evidence < -1000
    np.testing.assert_allclose(found["v7"].probabilities, expected["v7"].probabilities, rtol=1e-9)


def test_impossible_findings_and_those_of_everything():
    chained = [bg.Discrete(f"v{i}", [0, 1]) for i in range(12)]
    copies = [bg.TableCPD(b, np.eye(2), [a]) for a, b in itertools.pairwise(chained)]
    network = bg.BayesianNetwork([bg.TableCPD(chained[0], [0.25, 0.75]), *copies])
    with mode_is("never"):
        with pytest.raises(ImpossibleEvidenceError):
            network.marginals({"v2": 0, "v9": 1})
        assert network.query("v11", {"v2": 1})[1] == 1.0
        everything = network.marginals(dict.fromkeys(network.names, 1))
        assert list(everything) == []
        assert everything.log_evidence == pytest.approx(math.log(0.75))


def test_what_it_serves_and_what_not(monkeypatch):
    missing = object()
    with mode_is("never"):
        network = random_network(1)
        network.query(["v0", "v1"])
        likelihood = dict.fromkeys(network.variable("v2").states, 0.5)
        soft = network.query("v5", {"v2": likelihood}).probabilities
        with pytest.raises(MemoryLimitError):
            network.marginals(memory_limit=8)
        assert network._memo.get("shared program", lambda: missing) is missing
        np.testing.assert_allclose(soft, random_network(1).query("v5").probabilities)
        monkeypatch.setattr(table_solvers, "_MOST_SHARED", 1)
        assert table_solvers._shared_program(random_network(1), All()) is None


def test_a_process_that_has_compiled_plans_for_its_findings():
    network = random_network(2)
    question, pattern = All(), Pattern((0, 1))
    with mode_is("never"):
        work = network._work(question, pattern)
        assert work._shared is not None
        before = network.marginals({"v0": 0, "v1": 0})
    with mode_is("inline"):
        after = network.marginals({"v0": 0, "v1": 0})
        assert network._work(question, pattern) is work
        assert work._shared is None
    for name in before:
        np.testing.assert_allclose(
            before[name].probabilities, after[name].probabilities, rtol=1e-11
        )
    assert tiers.mode == "inline"
    assert table_solvers._shared_program(network, Joint((0,))) is None


@pytest.mark.parametrize("n_set", [1, 2])
def test_variables_that_are_set_and_have_no_children(n_set):
    """They are in no table; what is set has no effect on the others."""
    net = random_network(0, n=14)
    last = [f"v{i}" for i in range(14) if not any(True for _ in net.graph.successors(f"v{i}"))]
    chosen = {name: net.variable(name).states[0] for name in last[:n_set]}
    assert len(chosen) == n_set
    evidence = {"v0": net.variable("v0").states[0]}
    with mode_is("inline"):
        expected = random_network(0, n=14).query("v1", evidence, do=chosen).probabilities
    with mode_is("never"):
        posterior = net.query("v1", evidence, do=chosen)
        every = net.marginals(evidence, do=chosen)
    assert posterior.probabilities == pytest.approx(expected, abs=1e-12)
    assert every["v1"].probabilities == pytest.approx(expected, abs=1e-12)
