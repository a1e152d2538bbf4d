"""The generated networks with many zeros: their closed forms, brute force and the engine agree."""

import itertools
import math

import numpy as np
import pytest
from deterministic_networks import adder, chances_of, given_sum, log_probability, pedigree
from joint import Joint

import bayesgraph as bg
from bayesgraph.core import parallel as memory
from bayesgraph.inference import programs
from bayesgraph.inference import programs as compiled


def network(nodes):
    variables = [bg.Discrete(node.name, node.states) for node in nodes]
    return bg.BayesianNetwork(
        bg.TableCPD(variable, node.table, parents=[variables[p] for p in node.parents])
        for variable, node in zip(variables, nodes, strict=True)
    )


def genotypes_of(net, share, seed):
    """Draw the genotypes of some members."""
    drawn = net.sample(1, random_state=seed, frame="dict")
    random = np.random.default_rng(seed)
    members = sorted({name.split("_")[0] for name in drawn if name.startswith("g")})
    known = {member for member in members if random.random() < share}
    return {name: str(drawn[name][0]) for name in drawn if name.split("_")[0] in known}


def test_a_small_pedigree_is_that_of_all_its_worlds():
    net = network(pedigree(2, 1, 1, 2, seed=0))
    joint = Joint.of(net)
    for seed in range(3):
        genotypes = genotypes_of(net, 0.7, seed)
        expected = joint.log_mass(genotypes)
        assert log_probability(pedigree(2, 1, 1, 2, 0), genotypes) == pytest.approx(expected)
        assert net.log_probability(genotypes) == pytest.approx(expected, rel=1e-12)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("shape", "share"), [((3, 4, 2, 3), 0.5), ((3, 6, 3, 2), 0.7)])
def test_pedigrees_against_the_recursion_over_loci(shape, share):
    nodes = pedigree(*shape, seed=1)
    net = network(nodes)
    genotypes = genotypes_of(net, share, 1)
    expected = log_probability(nodes, genotypes)
    assert net.log_probability(genotypes) == pytest.approx(expected, rel=1e-12)


@pytest.mark.slow
def test_a_wide_pedigree_is_answered_under_a_small_limit():
    """Its tables would take gigabytes."""
    nodes = pedigree(4, 9, 6, 2, seed=0)
    net = network(nodes)
    genotypes = genotypes_of(net, 0.9, 0)
    plan = net.plan(question="marginals", evidence=genotypes)
    assert plan.width == 28
    before, after = plan.entries
    assert before > 2**28
    assert after < 2**19
    assert f"{after:,} of {before:,} entries" in repr(plan)
    found = net.marginals(genotypes, memory_limit=1e8)
    expected = log_probability(nodes, genotypes)
    assert found.log_evidence == pytest.approx(expected, rel=1e-12)
    with pytest.raises(bg.errors.MemoryLimitError, match="the limit is 100 kB"):
        net.marginals(genotypes, memory_limit=1e5)


def test_the_limit_is_on_what_is_held():
    nodes = pedigree(3, 6, 3, 2, seed=1)
    net = network(nodes)
    genotypes = genotypes_of(net, 0.8, 1)
    dense = net.marginals(genotypes)
    assert net.plan(question="marginals", evidence=genotypes).largest_table > 2**15
    # The program that is kept does not fit these limits; its tables have more than 2**18 bytes.
    narrow = net.marginals(genotypes, memory_limit=2**18)
    assert narrow.log_evidence == pytest.approx(dense.log_evidence, rel=1e-12)
    for name in ("s4_1p", "a5_2m", "g8_0"):
        if name not in genotypes:
            np.testing.assert_allclose(
                narrow[name].probabilities, dense[name].probabilities, atol=1e-12
            )
    with pytest.raises(bg.errors.MemoryLimitError, match=r"the limit is 4\.1 kB"):
        net.marginals(genotypes, memory_limit=2**12)


@pytest.mark.slow
def test_rows_of_a_wide_pedigree(monkeypatch):
    """The program of all rows does not fit, those of single rows do."""
    monkeypatch.setattr(memory, "default_memory_limit", lambda: 2**18)
    for module in (compiled, programs):
        monkeypatch.setattr(module, "default_memory_limit", lambda: 2**18)
    nodes = pedigree(3, 6, 3, 2, seed=1)
    net = network(nodes)
    rows = [genotypes_of(net, 0.9, seed) for seed in (1, 2)]
    names = sorted({name for row in rows for name in row} - {"g0_0"})
    table = {name: [row.get(name) for row in rows] for name in names}
    found = net.query_rows("g0_0", table)
    for row, probabilities in zip(rows, found, strict=True):
        known = {name: state for name, state in row.items() if name != "g0_0"}
        pairs = [known | {"g0_0": state} for state in net["g0_0"].variable.states]
        odds = np.exp([log_probability(nodes, pair) for pair in pairs])
        np.testing.assert_allclose(probabilities, odds / odds.sum(), atol=1e-12)


def test_given_sum_is_that_of_all_numbers():
    chances = np.random.default_rng(0).uniform(0.1, 0.9, (3, 3))
    bits = np.array(list(itertools.product((0, 1), repeat=9))).reshape(-1, 3, 3)
    weights = np.where(bits == 1, chances, 1.0 - chances).prod(axis=(1, 2))
    sums = (bits @ [1, 2, 4]).sum(axis=1) % 8
    for total in range(8):
        found, chosen = given_sum(chances, total), weights * (sums == total)
        assert found.log_probability == pytest.approx(math.log(chosen.sum()), rel=1e-12)
        expected = np.tensordot(chosen, bits, 1) / chosen.sum()
        np.testing.assert_allclose(found.ones, expected, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("n_bits", [12, pytest.param(60, marks=pytest.mark.slow)])
def test_a_wide_adder_finds_the_numbers_bits_from_their_sum(n_bits):
    numbers = 3
    nodes = adder(n_bits, numbers, 7, seed=0)
    net = network(nodes)
    total = int(np.random.default_rng(0).integers(2**n_bits))
    evidence = {f"s0_{numbers - 1}_{bit}": str((total >> bit) & 1) for bit in range(n_bits)}
    found = net.marginals(evidence, memory_limit=5e8)
    expected = given_sum(chances_of(nodes, numbers, n_bits), total)
    assert found.log_evidence == pytest.approx(expected.log_probability, rel=1e-12)
    ones = [[found[f"x{a}_{b}"].probabilities[1] for b in range(n_bits)] for a in range(numbers)]
    np.testing.assert_allclose(ones, expected.ones, atol=1e-12)
    for circuit, bit in itertools.product(range(1, 7), range(0, n_bits, 7)):
        name = f"s{circuit}_{numbers - 1}_{bit}"
        assert found[name].argmax == evidence[f"s0_{numbers - 1}_{bit}"]
