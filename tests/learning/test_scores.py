"""Scores of families, against other libraries, enumeration and regression."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from structures import make_frame

import bayesgraph as bg
from bayesgraph.learning.information import regression
from bayesgraph.learning.scores import (
    _FCLL_CONTRAST,
    _FCLL_LIKELIHOOD,
    Extension,
    Gains,
    bdeu,
)
from bayesgraph.statistics import Smoothing, TableSource
from bayesgraph.tables import Table

PLAIN = Smoothing(shrinkage=0.0, var_smoothing=0.0)


def families(source, random, most=3):
    """Return some random families, the class first among the others."""
    names = list(source.variables)
    for _ in range(12):
        chosen = [names[i] for i in random.permutation(len(names))]
        parents, child = chosen[1 : 2 + random.integers(most)], chosen[0]
        new, others = parents[0], parents[1:]
        others.sort(key=lambda v: v != source.target)
        yield (new, *others), child


def gains_of(gains, asked):
    """Return the gain by the first parent of each (parents, child)."""
    extensions = [
        Extension(places(gains, parents[:1]), places(gains, parents[1:]), *places(gains, [child]))
        for parents, child in asked
    ]
    return np.concatenate(gains.of(extensions))


def places(gains, variables):
    """Return the numbers of columns."""
    return tuple(gains.columns.index(v) for v in variables)


@pytest.mark.one_in(10)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("score", ["bdeu", "bic", "aic", "likelihood"])
def test_gains_are_differences_of_local_scores_of_pgmpy(score, seed):
    peers = pytest.importorskip("pgmpy.structure_score")
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(make_frame(seed, 5, 0, n=80))
    source = bg.learning.count_source(frame, "y")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        peer = {
            "bdeu": lambda: peers.BDeu(frame, equivalent_sample_size=3.0),
            "bic": lambda: peers.BIC(frame),
            "aic": lambda: peers.AIC(frame),
            "likelihood": lambda: peers.LogLikelihood(frame),
        }[score]()
    asked = list(families(source, np.random.default_rng(seed)))
    found = gains_of(Gains(source, source.variables, Smoothing(), score, 3.0), asked)
    for (parents, child), gain in zip(asked, found, strict=True):
        names = tuple(p.name for p in parents)
        with_it = peer.local_score(child.name, names)
        expected = with_it - peer.local_score(child.name, names[1:])
        assert gain == pytest.approx(expected, rel=1e-9, abs=1e-9)


@given(st.integers(0, 2**16), st.floats(0.1, 50.0))
def test_bdeu_is_the_same_for_equivalent_graphs(seed, ess):
    # x -> y and y -> x, both below z.
    counts = np.random.default_rng(seed).integers(0, 9, size=(2, 3, 4)).astype(float)
    one = bdeu(counts.sum(axis=2), ess) + bdeu(counts.reshape(6, 4), ess)
    other = bdeu(counts.sum(axis=1), ess) + bdeu(counts.swapaxes(1, 2).reshape(8, 3), ess)
    assert one == pytest.approx(other, rel=1e-9)


def test_bdeu_is_the_probability_of_the_data_one_row_after_the_other():
    random = np.random.default_rng(0)
    rows = random.integers([3, 2], size=(40, 2))
    counts, total = np.zeros((3, 2)), 0.0
    for given_, state in rows:
        cell = counts[given_] + 5.0 / 6
        total += np.log(cell[state] / cell.sum())
        counts[given_, state] += 1
    assert bdeu(counts, 5.0) == pytest.approx(total, rel=1e-12)


def test_sample_sizes_may_be_numbers_of_numpy():
    source = bg.learning.count_source({"a": ["x", "y"], "b": ["u", "v"]})
    for ess in (np.int64(2), np.float32(2.0)):
        assert Gains(source, source.features, Smoothing(), "bdeu", ess).ess == 2.0


def test_the_likelihood_of_nothing():
    assert bdeu(np.zeros((2, 3)), 1.0) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("kinds", [(0, 4), (2, 3)])
@pytest.mark.parametrize("seed", range(2))
def test_gaussian_gains_are_those_of_regressions(kinds, seed):
    frame = make_frame(seed, *kinds, n=150)
    source = bg.learning.count_source(frame, "y")
    numbers = [v for v in source.variables if isinstance(v, bg.Continuous)]
    others = [v for v in source.variables if v not in numbers and v != source.target]
    child, first, second = numbers[:3]
    cases = [(first, source.target, second), (first, source.target), (first, second), (first,)]
    if others:
        cases += [(others[0], source.target, first), (others[0], first), (first, others[0])]
        cases += [(others[0],), (first, source.target, others[1])]

    def local(parents):
        """Return the BIC of least squares in each configuration."""
        flat = [p for p in parents if isinstance(p, bg.Discrete)]
        keys = list(zip(*[frame[p.name] for p in flat], strict=True)) or [()] * 150
        X = np.column_stack([np.ones(150), *(frame[p.name] for p in parents if p in numbers)])
        y, fit = np.asarray(frame[child.name]), 0.0
        for key in set(keys):
            rows = [i for i, k in enumerate(keys) if k == key]
            residual = y[rows] - X[rows] @ np.linalg.lstsq(X[rows], y[rows])[0]
            fit -= 0.5 * len(rows) * np.log(np.mean(residual**2))
        cells = np.prod([p.cardinality for p in flat], dtype=int)
        return fit - 0.5 * np.log(150) * cells * (X.shape[1] + 1)

    found = gains_of(
        Gains(source, source.variables, PLAIN), [(parents, child) for parents in cases]
    )
    for parents, gain in zip(cases, found, strict=True):
        assert gain == pytest.approx(local(parents) - local(parents[1:]), rel=1e-7, abs=1e-7)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("score", ["bic", "aic", "bdeu", "likelihood", "fcll"])
@pytest.mark.parametrize("kinds", [(4, 0), (0, 4), (2, 2)])
@pytest.mark.parametrize("below", [True, False])
def test_all_pairs_at_once_are_the_families_one_by_one(score, kinds, below):
    source = bg.learning.count_source(make_frame(3, *kinds, n=120), "y")
    columns = tuple(v for v in source.variables if below is False or v != source.target)
    given_ = source.target if below else None
    gains = Gains(source, source.variables, PLAIN, score, 2.0)
    table, _ = gains.of_pairs(columns, given_)
    above = () if given_ is None else (given_,)
    for i, parent in enumerate(columns):
        for j, child in enumerate(columns):
            blocked = isinstance(parent, bg.Continuous) and isinstance(child, bg.Discrete)
            if i == j or blocked:
                continue
            if not below and source.target in (parent, child) and kinds[1]:
                continue  # the class is smoothed as classes are
            expected = gains_of(gains, [((parent, *above), child)])[0]
            assert table[i, j] == pytest.approx(expected, rel=1e-8, abs=1e-8)


def test_what_misses_a_value_counts_for_neither():
    frame = make_frame(1, 3, 0, n=100)
    names = [n for n in frame if n != "y"]
    gone = {**frame, names[0]: [None if i < 40 else v for i, v in enumerate(frame[names[0]])]}
    rest = {name: column[40:] for name, column in frame.items()}
    found = []
    for table in (gone, rest):
        source = bg.learning.count_source(table, "y")
        by_name = {v.name: v for v in source.variables}
        family = ((by_name[names[0]], source.target), by_name[names[1]])
        found.append(gains_of(Gains(source, source.variables, Smoothing()), [family])[0])
    assert found[0] == pytest.approx(found[1])


def test_constants_of_fcll_are_least_squares():
    def moment(f):
        return quad(f, 0, 1, epsabs=1e-12)[0]

    # u and v uniform and independent: log u and log v have variance 1. By symmetry v / u = w < 1
    # in half of all cases, when u has the density 2 u and w is uniform.
    log_sum = moment(np.log1p) - 0.5  # E log(u + v) = E log u + E log(1 + w)
    # E log(u + v) (log u + log v), where log u has second moment 1/2 and mean -1/2
    product = moment(lambda w: 2 * 0.5 - 0.5 * np.log(w) + np.log1p(w) * (2 * -0.5 + np.log(w)))
    covariance = product - log_sum * -2.0  # with log u + log v
    assert pytest.approx(1.0 - covariance) == _FCLL_LIKELIHOOD  # a + b, from both slopes
    b = (_FCLL_LIKELIHOOD - 1.0) / 2  # a - b = 1, as log u - log v is uncorrelated with the sum
    both = moment(lambda p: np.log(p) * np.log1p(-p)) - 1.0
    assert pytest.approx(-b * (1.0 - both)) == _FCLL_CONTRAST


@given(st.integers(0, 2**16), st.integers(1, 4))
def test_regression_solves_the_normal_equations(seed, m):
    random = np.random.default_rng(seed)
    X = random.normal(size=(20, m)) * 10.0 ** random.integers(-4, 5, size=m)
    covariance = np.cov(X.T).reshape(m, m)
    slopes, variance = regression(covariance, np.zeros(()))
    centred = X - X.mean(axis=0)
    expected = np.linalg.lstsq(centred[:, :-1], centred[:, -1])[0] if m > 1 else np.zeros(0)
    np.testing.assert_allclose(slopes, expected, rtol=1e-6)
    residual = centred[:, -1] - centred[:, :-1] @ expected
    assert variance == pytest.approx(residual @ residual / 19, rel=1e-6)


@pytest.mark.parametrize("score", ["bic", "bdeu", "fcll"])
@pytest.mark.parametrize("weighted", [False, True])
def test_new_parents_at_once_are_those_one_by_one(score, weighted):
    frame = make_frame(4, 6, 0, n=90)
    frame = {n: [None if i % 7 == j else v for i, v in enumerate(c)] if n != "y" else c
             for j, (n, c) in enumerate(frame.items())}  # fmt: skip
    weights = np.linspace(0.0, 2.0, 90) if weighted else None
    source = bg.learning.count_source(frame, "y", sample_weight=weights)
    *new, other, child = source.features
    gains = Gains(source, source.variables, Smoothing(), score, 2.0)
    new, others = places(gains, new), places(gains, (source.target, other))
    (below,) = places(gains, [child])
    (found,) = gains.of([Extension(new, others, below)])
    for parent, gain in zip(new, found, strict=True):
        (alone,) = gains.of([Extension((parent,), others, below)])
        assert gain == pytest.approx(alone[0], rel=1e-9, abs=1e-9)


def test_a_table_that_is_too_large_gains_nothing():
    a, b = (bg.Discrete(name, range(2048)) for name in "ab")
    small, child = bg.Discrete("d", [0, 1]), bg.Discrete("e", [0, 1])
    codes = np.asfortranarray(np.array([[0, 1, 1], [1, 0, 1], [0, 1, 0], [1, 0, 1]]).T)
    source = TableSource(Table((a, b, small, child), codes, np.empty((3, 0)), complete=True))
    (found,) = Gains(source, source.variables, Smoothing()).of([Extension((1, 2), (0,), 3)])
    assert np.isneginf(found[0])
    assert np.isfinite(found[1])
