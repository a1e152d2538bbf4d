"""CPDs that are added up by one kernel call, against each by itself: the same to the last bit."""

import numpy as np
import pytest

import bayesgraph as bg
from bayesgraph.core import Evidence
from bayesgraph.models import stack_kernels as stacked_kernels
from bayesgraph.models.cpds.base import Combination
from bayesgraph.models.cpds.stacks import AlternatingStack

CLASS = bg.Discrete("class", ["a", "b", "c"])
OTHER = bg.Discrete("other", [0, 1])
STATES = [bg.Discrete(f"d{j}", range(2 + j % 3)) for j in range(6)]
NUMBERS = [bg.Continuous(f"n{j}") for j in range(6)]


def table(random, child, parents):
    shape = [p.cardinality for p in (*parents, child)]
    values = random.dirichlet(np.ones(shape[-1]), size=shape[:-1])
    return bg.TableCPD(child, values, parents)


def gaussian(random, child, parents):
    shape = [p.cardinality for p in parents if isinstance(p, bg.Discrete)]
    slopes = random.normal(size=(*shape, len(parents) - len(shape)))
    variance = random.uniform(0.1, 2.0, shape)
    return bg.GaussianCPD(child, random.normal(size=shape), variance, parents, slopes)


def codes(random, variable, n, *, gaps):
    found = random.integers(0, variable.cardinality, n).astype(np.int8)
    if gaps:
        found[random.random(n) < 0.3] = -1
    return found


def tables(random, n):
    """Return tables of no, one and two observed parents, of leaves and of others."""
    d = STATES
    cpds = [
        table(random, d[0], [CLASS]),
        table(random, d[1], [CLASS, d[0]]),
        table(random, d[2], [d[1], CLASS]),
        table(random, d[3], [d[0], CLASS, d[2]]),
        table(random, CLASS, [d[4]]),
        table(random, d[5], [CLASS]),
    ]
    gaps = {d[3], d[5]}  # nothing depends on them
    columns = {v: codes(random, v, n, gaps=v in gaps) for v in d}
    return cpds, columns


def gaussians(random, n):
    """Return linear Gaussians of up to three parents."""
    x = NUMBERS
    cpds = [
        gaussian(random, x[0], [CLASS]),
        gaussian(random, x[1], [CLASS, x[0]]),
        gaussian(random, x[2], [x[1], CLASS, x[0]]),
        gaussian(random, x[3], [CLASS, *x[:3]]),
        gaussian(random, x[4], [CLASS]),
    ]
    columns = {v: random.normal(size=n) for v in x[:5]}
    columns[x[3]][random.random(n) < 0.3] = np.nan
    return cpds, columns


def parent_observed(random, n):
    """Return linear Gaussians of which some have an observed discrete parent, and gaps."""
    x = NUMBERS
    cpds = [
        gaussian(random, x[0], [CLASS]),
        gaussian(random, x[1], [CLASS, x[0]]),
        gaussian(random, x[2], [OTHER, x[0], CLASS]),
        gaussian(random, x[3], [CLASS, OTHER]),
        gaussian(random, x[4], [x[0], x[1], CLASS]),
    ]
    columns = {v: random.normal(size=n) for v in x[:5]}
    for v in x[2:5]:
        columns[v][random.random(n) < 0.3] = np.nan
    return cpds, columns | {OTHER: codes(random, OTHER, n, gaps=False)}


def alternating(random, n):
    """Return tables and Gaussians in turn, given the class and states, with gaps in leaves."""
    d, x = STATES, NUMBERS
    cpds = [
        table(random, d[0], [CLASS]),
        gaussian(random, x[0], [CLASS, d[0]]),
        gaussian(random, x[1], [d[1], CLASS, x[0], d[0]]),
        table(random, d[1], [CLASS, d[0]]),
        table(random, d[2], [d[1], CLASS]),
        gaussian(random, x[2], [d[2], d[0], CLASS]),
        table(random, d[3], [d[0], CLASS, d[2]]),
        gaussian(random, x[3], [x[1], CLASS, d[1], x[0]]),
    ]
    gaps = {d[3]}
    columns = {v: codes(random, v, n, gaps=v in gaps) for v in d[:4]}
    columns |= {v: random.normal(size=n) for v in x[:4]}
    for v in x[2:4]:
        columns[v][random.random(n) < 0.3] = np.nan
    return cpds, columns


def two_free(random, n):
    """Return CPDs that leave two variables free, in any order."""
    cpds = [
        table(random, STATES[0], [CLASS, OTHER]),
        table(random, STATES[1], [OTHER, STATES[0], CLASS]),
        gaussian(random, NUMBERS[0], [OTHER, CLASS]),
        gaussian(random, NUMBERS[1], [CLASS, NUMBERS[0], OTHER]),
        table(random, STATES[3], [CLASS, OTHER]),
    ]
    columns = {v: codes(random, v, n, gaps=False) for v in STATES[:4]}
    return cpds, columns | {v: random.normal(size=n) for v in NUMBERS[:2]}


@pytest.mark.one_in(5)
@pytest.mark.parametrize("n", [0, 1, 5, 128, 300])
@pytest.mark.parametrize("made", [tables, gaussians, two_free, parent_observed, alternating])
def test_sums_are_those_of_each_by_itself(made, n):
    random = np.random.default_rng(n)
    cpds, columns = made(random, n)
    evidence = Evidence(n, columns)
    (found,) = Combination.of(cpds, evidence.columns).potentials(evidence)
    expected, product = np.zeros((2, *found.log_values.shape))
    for cpd in cpds:
        (alone,) = Combination.of([cpd], evidence.columns).potentials(evidence)
        expected += alone.aligned(found.scope)
        product += cpd.potential(evidence).aligned(found.scope)
    np.testing.assert_array_equal(found.log_values, expected)
    np.testing.assert_allclose(found.log_values, product, rtol=1e-12, atol=1e-12)


def test_what_takes_turns_is_one_call_on_both_tiers():
    random = np.random.default_rng(3)
    cpds, columns = alternating(random, 9)
    evidence = Evidence(9, columns)
    (total,) = Combination.of(cpds, evidence.columns).sums.values()
    (stack,) = total.adders
    assert isinstance(stack, AlternatingStack)
    numbers = stack.gaussians.numbers(evidence)
    found = np.zeros((2, CLASS.cardinality, 9))
    for out, tier in zip(found, ("interpreted", "compiled"), strict=True):
        own = np.ascontiguousarray(evidence.matrix(stack.discrete).T)
        arrays = stack.turns, stack.tables.arrays, stack.gaussians.arrays
        getattr(stacked_kernels.add_in_turns, tier)(out, own, numbers, *arrays)
    np.testing.assert_array_equal(*found)
    np.testing.assert_array_equal(found[0].T, total.factor(evidence, None, None).log_values)


def test_one_combination_serves_all_rows():
    random = np.random.default_rng(0)
    cpds, columns = tables(random, 40)
    prior = bg.TableCPD(STATES[4], [0.5, 0.3, 0.2])
    root = bg.TableCPD(OTHER, [0.25, 0.75])
    combination = Combination.of([*cpds, root, prior], columns.keys())
    whole = combination.potentials(Evidence(40, columns))
    # What depends on nothing free is a part of the first factor.
    assert [p.scope for p in whole] == [(CLASS,), (OTHER,)]
    for row in range(40):
        at = slice(row, row + 1)
        single = combination.potentials(Evidence(1, {v: c[at] for v, c in columns.items()}))
        np.testing.assert_array_equal(single[0].log_values, whole[0].log_values[at])


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64])
def test_impossible_and_missing_states_of_any_column(dtype):
    cpd = bg.TableCPD(OTHER, [[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]], [CLASS])
    columns = np.array([[9, 0], [9, 1], [9, -1]], dtype=dtype)  # not contiguous
    evidence = Evidence(3, {OTHER: columns[:, 1]})
    (found,) = Combination.of([cpd], evidence.columns).potentials(evidence)
    expected = [[0.0, 0.5, 1.0], [1.0, 0.5, 0.0], [1.0, 1.0, 1.0]]
    np.testing.assert_allclose(np.exp(found.log_values), expected)
