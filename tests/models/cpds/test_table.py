"""Conditional probability tables: what is accepted, what is refused, what is sampled."""

import copy
import pickle

import numpy as np
import oracle as brute
import pytest
from scipy import stats

import bayesgraph as bg
from bayesgraph.core import Evidence
from bayesgraph.core.errors import CPDError

A = bg.Discrete("a", ["x", "y"])
B = bg.Discrete("b", [1, 2, 3])
C = bg.Discrete("c", [False, True])
T = bg.Continuous("t")
ROWS = [[0.2, 0.3, 0.5], [0.0, 1.0, 0.0]]


def test_what_it_holds():
    cpd = bg.TableCPD(B, ROWS, parents=[A])
    assert cpd.variable == B
    assert cpd.parents == (A,)
    assert cpd.scope == (A, B)
    assert cpd.values.tolist() == ROWS
    assert cpd.n_parameters == 4
    assert cpd.title == "TableCPD P(b | a)"
    assert repr(bg.TableCPD(A, [0.5, 0.5])).startswith("TableCPD P(a)\n")
    assert "<table>" in cpd._repr_html_()


def test_numbers_are_kept_exactly_and_to_itself():
    values = np.array([0.1, 0.2, 0.7000000001])
    cpd = bg.TableCPD(B, values)
    assert cpd.values.tolist() == [0.1, 0.2, 0.7000000001]
    values[0] = 5.0
    assert cpd.values[0] == 0.1
    with pytest.raises(ValueError, match="read-only"):
        cpd.values[0] = 0.3


def test_parents_from_any_iterable():
    cpd = bg.TableCPD(B, np.full((2, 2, 3), 1 / 3), parents=iter((A, C)))
    assert cpd.parents == (A, C)
    assert bg.TableCPD(B, ROWS, (A,)) == bg.TableCPD(B, ROWS, parents=[A])


def test_a_variable_of_one_state():
    one = bg.Discrete("one", ["only"])
    cpd = bg.TableCPD(one, np.ones((2, 1)), parents=[A])
    assert cpd.n_parameters == 0


@pytest.mark.parametrize(
    "values",
    [[0.5, 0.5], [[0.5, 0.5]], np.ones((3, 2)) / 2, np.ones((2, 3, 1)), 1.0, [[0.5, 0.5], [1]]],
    ids=["flat", "one row", "transposed", "too deep", "number", "ragged"],
)
def test_a_wrong_shape_says_which_is_expected(values):
    with pytest.raises(CPDError, match=r"P\(b \| a\).*shape \(2, 3\)"):
        bg.TableCPD(B, values, parents=[A])


@pytest.mark.parametrize(
    ("bad", "shown"), [(np.nan, "nan"), (np.inf, "inf"), (-0.1, "-0.1"), (-1e-300, "-1e-300")]
)
def test_bad_probabilities_are_shown_with_their_cell(bad, shown):
    with pytest.raises(CPDError, match=f"got {shown} at 'a'='y', 'b'=2"):
        bg.TableCPD(B, [[0.2, 0.3, 0.5], [0.5, bad, 0.5]], parents=[A])


def test_a_row_that_does_not_sum_to_one_is_named():
    with pytest.raises(CPDError, match=r"P\(b \| a\).*given a='y' sum to 0\.9, not to 1"):
        bg.TableCPD(B, [[0.2, 0.3, 0.5], [0.2, 0.2, 0.5]], parents=[A])
    with pytest.raises(CPDError, match=r"P\(b\): the probabilities sum to 6, not to 1"):
        bg.TableCPD(B, [1, 2, 3])
    table = np.full((2, 2, 3), 1 / 3)
    table[0, 1] = 0.0
    with pytest.raises(CPDError, match=r"a='x', c=True"):
        bg.TableCPD(B, table, parents=[A, C])
    bg.TableCPD(B, [0.3333333, 0.3333333, 0.3333333])  # rounded as in files


@pytest.mark.parametrize("values", [["x", "y"], None, object(), [None, 1.0], {"x": 1}])
def test_what_is_not_numbers(values):
    with pytest.raises(CPDError, match=r"P\(a\)"):
        bg.TableCPD(A, values)


def test_families_that_are_refused():
    with pytest.raises(CPDError, match=r"'t', which is continuous\. Use GaussianCPD"):
        bg.TableCPD(T, [0.5, 0.5])
    with pytest.raises(CPDError, match="'a' cannot have continuous parents; got 't'"):
        bg.TableCPD(A, [[0.5, 0.5]], parents=[T])
    for wrong in ("a", None, 3):
        with pytest.raises(CPDError, match="takes variables"):
            bg.TableCPD(wrong, [0.5, 0.5])
        with pytest.raises(CPDError, match="takes variables"):
            bg.TableCPD(A, [0.5, 0.5], parents=[wrong])
    for parents in ([A], [C, C], [bg.Discrete("a", [1])]):
        with pytest.raises(CPDError, match="must all differ"):
            bg.TableCPD(A, np.ones((2, 2)), parents=parents)
    with pytest.raises(CPDError, match="must all differ"):
        bg.TableCPD(A, np.ones((2, 2)) / 2, parents=[bg.Discrete("a", [1, 2])])


@pytest.mark.parametrize("parents", [A, "a", 3], ids=repr)
def test_parents_that_are_no_list(parents):
    with pytest.raises(CPDError, match=r"parents|takes variables"):
        bg.TableCPD(B, ROWS, parents=parents)


def test_equality_copies_and_pickles():
    cpd = bg.TableCPD(B, ROWS, parents=[A])
    for other in (copy.deepcopy(cpd), copy.copy(cpd), pickle.loads(pickle.dumps(cpd))):
        assert other == cpd
        assert other.values.tolist() == ROWS
    assert cpd != bg.TableCPD(B, ROWS[::-1], parents=[A])
    assert cpd != bg.TableCPD(B, ROWS[0])
    assert cpd != "cpd"
    assert cpd != bg.TableCPD(bg.Discrete("b", [1.0, 2, 3]), ROWS, parents=[A])


def test_its_factor_cannot_change_it():
    cpd = bg.TableCPD(B, ROWS, parents=[A])
    factor = cpd.to_factor()
    assert factor.values == pytest.approx(np.array(ROWS))
    with pytest.raises(ValueError, match="read-only"):
        factor.log_values[0, 0, 0] = 0.0


# ----------------------------------------------------------------------------------- evidence


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(10))
def test_potential_and_accumulate_agree_with_gathering_by_hand(seed):
    """Any part of the family observed, the child missing in some rows."""
    random = np.random.default_rng(seed)
    parents = [bg.Discrete(f"p{i}", range(2 + i)) for i in range(3)]
    table = brute.random_table(random, (2, 3, 4, 3), zeros=0.2)
    cpd = bg.TableCPD(B, table, parents=parents)
    n = 7
    for seen in np.ndindex(2, 2, 2, 2):
        columns = {
            v: random.integers(v.cardinality, size=n)
            for v, observed in zip(cpd.scope, seen, strict=True)
            if observed
        }
        if B in columns:
            columns[B][::3] = -1
        evidence = Evidence(n, columns)
        free = [v for v in cpd.scope if v not in columns]
        expected = np.empty((n, *(v.cardinality for v in free)))
        for row in range(n):
            for cell in np.ndindex(expected.shape[1:]):
                codes = {v: c[row] for v, c in columns.items()}
                codes |= dict(zip(free, cell, strict=True))
                missing = codes[B] < 0
                value = table[tuple(codes[v] for v in cpd.scope)]
                expected[row, *cell] = 1.0 if missing else value
        potential = cpd.potential(evidence)
        assert potential.scope == tuple(free)
        got = np.broadcast_to(np.exp(potential.log_values), expected.shape)
        assert got == pytest.approx(expected, abs=1e-14)
        if not columns:
            continue
        for scope in (free, free[::-1]):
            shape = tuple(v.cardinality for v in scope)
            out = np.zeros((int(np.prod(shape)), n))
            for adder in cpd.adders([cpd], scope, evidence.columns):
                adder.add(evidence, out)
            turned = expected.transpose(0, *(1 + free.index(v) for v in scope))
            assert np.exp(out.T.reshape(n, *shape)) == pytest.approx(turned, abs=1e-14)


# ----------------------------------------------------------------------------------- sampling


def test_samples_have_the_frequencies_of_the_table():
    random = np.random.default_rng(0)
    cpd = bg.TableCPD(B, [[0.2, 0.3, 0.5], [0.05, 0.9, 0.05]], parents=[A])
    n = 40_000
    a = random.integers(2, size=n)
    drawn = cpd.sample({A: a}, n, random)
    for code in range(2):
        counts = np.bincount(drawn[a == code], minlength=3)
        assert stats.chisquare(counts, cpd.values[code] * counts.sum()).pvalue > 1e-4


def test_states_of_probability_zero_are_never_drawn():
    random = np.random.default_rng(1)
    for row in ([0.0, 1.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0], [0.3333333, 0.6666666, 0.0]):
        drawn = bg.TableCPD(B, row).sample({}, 20_000, random)
        assert set(np.unique(drawn)) <= {i for i, p in enumerate(row) if p > 0}


class Edge:
    """A generator that returns only the smallest and the largest number below one."""

    def random(self, n):
        return np.where(np.arange(n) % 2, np.nextafter(1.0, 0.0), 0.0)


@pytest.mark.parametrize("row", [[0.0, 0.5, 0.5], [0.5, 0.5, 0.0], [0.1] * 10, [0.0, 1.0, 0.0]])
def test_the_ends_of_the_unit_interval_give_possible_states(row):
    variable = bg.Discrete("v", range(len(row)))
    drawn = bg.TableCPD(variable, row).sample({}, 4, Edge())
    assert all(row[code] > 0 for code in drawn)
