"""CPDs that are added up by one kernel call, against each by itself: the same to the last bit."""

import numpy as np
import pytest

import bayesgraph as bg
from bayesgraph.core import Evidence
from bayesgraph.models import row_kernels
from bayesgraph.models.cpds.stacks import Combination, LinearStack, TableStack

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
        gaussian(random, x[3], [CLASS, OTHER, STATES[0]]),
        gaussian(random, x[4], [x[0], x[1], CLASS]),
    ]
    columns = {v: random.normal(size=n) for v in x[:5]}
    for v in x[2:5]:
        columns[v][random.random(n) < 0.3] = np.nan
    return cpds, columns | {v: codes(random, v, n, gaps=False) for v in (OTHER, STATES[0])}


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
    for cpd in sorted(cpds, key=lambda cpd: type(cpd) is not type(cpds[0])):
        (alone,) = Combination.of([cpd], evidence.columns).potentials(evidence)
        expected += alone.aligned(found.scope)
        product += cpd.potential(evidence).aligned(found.scope)
    np.testing.assert_array_equal(found.log_values, expected)
    np.testing.assert_allclose(found.log_values, product, rtol=1e-12, atol=1e-12)


def test_tables_and_gaussians_are_two_calls_on_both_tiers():
    random = np.random.default_rng(3)
    cpds, columns = alternating(random, 9)
    evidence = Evidence(9, columns)
    (total,) = Combination.of(cpds, evidence.columns).sums.values()
    assert [type(adder) for adder in total.adders] == [TableStack, LinearStack]
    found = np.zeros((2, CLASS.cardinality, 9))
    for out, tier in zip(found, ("interpreted", "compiled"), strict=True):
        with pytest.MonkeyPatch.context() as patch:
            for kernel in ("add_tables", "add_linear"):
                patch.setattr(row_kernels, kernel, getattr(getattr(row_kernels, kernel), tier))
            for adder in total.adders:
                adder.add(evidence, out)
    np.testing.assert_array_equal(*found)
    np.testing.assert_array_equal(found[0].T, total.factor(evidence, None, None).log_values)
