"""Rows of an average in the encoding of a member: each cell as by itself."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import bayesgraph as bg
from bayesgraph.core import Evidence
from bayesgraph.inference import Case

WORDS = bg.Discrete("word", ["a", "b", "c", "d"])
OTHERS = bg.Discrete("other", ["x", "y"])
AGE, SIZE, HEIGHT = (bg.Continuous(name) for name in ("age", "size", "height"))
WIDTH = bg.Binned("width", [-1.0, 0.0, 0.5, 2.0])
COUNTS = bg.CountVector("text", ["red", "green", "blue"])
# The average's variables, and what a network may have in the place of each.
CHOICES = {
    WORDS: [
        WORDS,
        bg.Grouped("word", [["b"], ["d", "a"], ["c"]]),
        bg.Discrete("word", ["d", "b"]),  # it lacks two states
    ],
    OTHERS: [OTHERS, bg.Discrete("other", ["y", "x"])],
    AGE: [AGE, bg.Binned("age", [0.0]), bg.Binned("age", [])],
    SIZE: [SIZE, bg.Binned("size", [-1.0, -0.5, 0.0, 0.25, 2.0])],
    HEIGHT: [bg.Binned("height", np.linspace(-2, 2, 90))],
    WIDTH: [WIDTH, bg.Binned("width", [0.0, 2.0]), bg.Binned("width", [])],
    COUNTS: [COUNTS, bg.CountVector("text", ["blue", "red"])],
}


def network(variables):
    """Return a network of independent variables."""
    cpds = []
    for v in variables:
        if isinstance(v, bg.CountVector):
            cpds.append(bg.MultinomialCPD(v, np.full(len(v.items), 1 / len(v.items))))
        elif isinstance(v, bg.Discrete):
            cpds.append(bg.TableCPD(v, np.full(v.cardinality, 1 / v.cardinality)))
        else:
            cpds.append(bg.GaussianCPD(v, 0.0, 1.0))
    return bg.BayesianNetwork(cpds)


def code_of(whole, own, code):
    if isinstance(whole, bg.Binned):
        return own.find([*whole.cuts, 1e300][code])
    found = own.find(whole.states[code])
    return None if found is None or found < 0 else found


def cell(whole, own, value):
    """Return one value as the network has it."""
    if isinstance(whole, bg.CountVector):
        return [value[whole.positions[item]] for item in own.items]
    if isinstance(whole, bg.Discrete):
        found = None if value < 0 else code_of(whole, own, int(value))
        return -1 if found is None else found
    if isinstance(own, bg.Binned):
        return -1 if np.isnan(value) else own.find(float(value))
    return value


def rows_of(random, wholes, n, gaps):
    columns = {}
    for v in wholes:
        if isinstance(v, bg.CountVector):
            columns[v] = random.integers(0, 4, (n, len(v.items))).astype(float)
        elif isinstance(v, bg.Discrete):
            codes = random.integers(v.cardinality, size=n).astype(np.int8)
            columns[v] = np.where(random.random(n) < gaps, -1, codes).astype(np.int8)
        else:
            numbers = random.choice([-1.0, -0.5, 0.0, 0.25, 1e9, -1e9], n)
            numbers = np.where(random.random(n) < 0.5, random.normal(size=n), numbers)
            columns[v] = np.where(random.random(n) < gaps, np.nan, numbers)
    return columns


@settings(max_examples=25, deadline=None)
@given(data=st.data(), n=st.sampled_from([0, 1, 7, 300]), gaps=st.sampled_from([0.0, 0.3]))
def test_each_cell_is_translated_as_by_itself(data, n, gaps):
    wholes = data.draw(st.lists(st.sampled_from(list(CHOICES)), min_size=1, unique=True))
    pairs = [(v, data.draw(st.sampled_from([None, *CHOICES[v]]), label=v.name)) for v in wholes]
    pairs = [(whole, own) for whole, own in pairs if own is not None]
    alone = bg.Discrete("alone", [0, 1])
    parts = [network([alone, *wholes]), network([alone, *(own for _, own in pairs)])]
    average = bg.Ensemble(parts, combine="posterior")
    assert average.variables == (alone, *wholes)
    columns = rows_of(np.random.default_rng(n), wholes, n, gaps)
    found = average.members[1].rows(Evidence(n, columns, complete=not gaps))
    owns = dict(pairs)
    assert {v for v in found.columns if v.name in parts[1]._index_of} == set(owns.values())
    for whole, own in pairs:
        expected = [cell(whole, own, value) for value in columns[whole]]
        np.testing.assert_array_equal(
            found.columns[own], np.reshape(expected, found.columns[own].shape)
        )
        for row in range(min(n, 3)):
            value = columns[whole][row]
            if np.ndim(value) == 0 and (
                np.isnan(value) or (isinstance(whole, bg.Discrete) and value < 0)
            ):
                continue  # a case has what is observed
            at = average._index_of[whole.name]
            case = average.members[1].case(Case({at: value}))
            seen = np.ravel(list(case.hard.values()))
            np.testing.assert_array_equal(seen, np.ravel(expected[row] if seen.size else []))
    if found.complete:
        assert all(found.observed_rows(own).all() for own in owns.values())
