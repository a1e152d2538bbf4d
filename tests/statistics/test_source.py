"""Count sources: one pass collects what was asked for and nothing more."""

import numpy as np
import pytest
import samples

import bayesgraph as bg
from bayesgraph.core.errors import DataError
from bayesgraph.learning import estimate_network
from bayesgraph.statistics import (
    CountSource,
    Families,
    Family,
    Pairs,
    Singles,
    Smoothing,
    Statistics,
    TableSource,
)
from bayesgraph.tables import Table, columns_of, encode_table, infer_variables


def source_of(sample):
    return TableSource(sample.table, sample.given, sample.weights if len(sample.weights) else None)


@pytest.mark.parametrize(
    "learner", [bg.learning.star, bg.learning.tan, bg.learning.forest, bg.learning.chow_liu]
)
def test_structure_and_parameters_take_one_pass(learner):
    source = source_of(samples.make_sample(0, 60))
    smoothing = Smoothing()
    structure = learner(source, smoothing)
    assert source.passes == (learner is not bg.learning.star)
    estimate_network(structure, source, smoothing)
    assert source.passes == 1
    (request,) = source.statistics.summaries
    assert type(request) is (Singles if learner is bg.learning.star else Pairs)


@pytest.mark.slow
def test_a_star_over_five_thousand_columns_collects_no_pairs():
    n, d, r = 40, 5000, 5
    random = np.random.default_rng(0)
    target = bg.Discrete("class", ["a", "b"])
    features = [bg.Discrete(f"f{j}", range(r)) for j in range(d)]
    codes = np.asfortranarray(random.integers(r, size=(n, d)).astype(np.int8))
    table = Table(tuple(features), codes, np.empty((n, 0)))
    source = TableSource(table.with_column(target, np.arange(n) % 2), target)
    network = estimate_network(bg.learning.star(source), source, Smoothing())
    assert len(network.cpds) == d + 1
    (request,) = source.statistics.summaries
    assert request == Singles(tuple(features), target)
    (summary,) = source.statistics.summaries.values()
    numbers = sum(array.size for _, array in samples.arrays(summary))
    assert numbers <= 2 * d * r + 2  # the table of singles and the class; pairs: 600 million


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weighted"])
def test_families_are_the_same_alone_and_beside_others(weighted):
    random = np.random.default_rng(0)
    variables = tuple(
        bg.Discrete(name, range(r)) for name, r in zip("abcd", (2, 3, 4, 2), strict=True)
    )
    codes = np.stack([random.integers(-1, v.cardinality, size=300) for v in variables], axis=1)
    table = Table(variables, np.asfortranarray(codes.astype(np.int8)), np.empty((300, 0)))
    weights = random.uniform(0, 2, 300) if weighted else None
    a, b, c, d = variables
    families = [Family((a, c, d)), Family((b, c, d)), Family((a, b)), Family((c, d)), Family((a,))]
    together = TableSource(table, None, weights).families(families)
    for family in families:
        alone = TableSource(table, None, weights).families([family])[family]
        np.testing.assert_allclose(together[family].counts, alone.counts, rtol=1e-12)
        assert together[family].mean.shape == alone.mean.shape


@pytest.mark.parametrize("weighted", [None, "real"])
def test_families_of_complete_rows_are_also_taken_from_larger_ones(weighted):
    sample = samples.make_sample(3, 90, weighted=weighted)
    a, b, c, x, y = sample.table.variables
    wholes = [(a, b, c), (b, a, x, y), (c, y, x)]
    parts = [[(a,), (b, c), (c, a)], [(b, x), (y,), (b, a), (a, b, x)], [(y, x), (x, y), (c,)]]
    families = [
        Family.of(*some)
        for whole, subsets in zip(wholes, parts, strict=True)
        for some in (whole, *subsets)
    ]
    statistics = TableSource(sample.table, None, sample.weights if weighted else None).families(
        families
    )
    weights = sample.weights if weighted else np.ones(90)
    values = np.stack([sample.table.column(v) for v in sample.table.variables], axis=1)
    at = dict(zip(sample.table.variables, range(5), strict=True))
    for family in families:
        cards = [v.cardinality for v in family.discrete]
        numbers = values[:, [at[v] for v in family.continuous]]
        for states in np.ndindex(*cards):
            rows = np.all(values[:, [at[v] for v in family.discrete]] == states, axis=1)
            counts, mean, comoment = (
                getattr(statistics[family], name)[states] for name in ("counts", "mean", "comoment")
            )
            np.testing.assert_allclose(counts, weights[rows].sum(), atol=1e-12)
            if not rows.any():
                continue
            np.testing.assert_allclose(
                mean, np.average(numbers[rows], axis=0, weights=weights[rows]), atol=1e-12
            )
            around = numbers[rows] - mean
            np.testing.assert_allclose(comoment, (around.T * weights[rows]) @ around, atol=1e-10)


def test_what_is_not_to_be_kept_is_forgotten():
    source = source_of(samples.make_sample(2, 50))
    family = Family.of(*source.variables[:3])
    source.families([family], keep=False)
    assert source.passes == 0
    source.families([family])
    source.families([family], keep=False)
    assert source.passes == 1


def test_requests_are_answered_from_what_is_there():
    sample = samples.make_sample(1, 50)
    source = source_of(sample)
    pairs = source.pairs(Pairs(sample.columns, sample.given))
    assert source.singles(Singles(sample.columns, sample.given)) is pairs.singles
    assert source.pairs(Pairs(sample.columns, sample.given)) is pairs
    a, b, *_ = sample.columns
    source.families([Family.of(sample.given, a), Family.of(sample.given, b, a), Family.of(b)])
    assert source.passes == 1
    triple = Family.of(*sample.columns)
    found = source.families([triple, Family.of(a), triple])
    assert set(found) == {Family.of(a), triple}
    assert source.passes == 2
    assert Families((triple,)) in source.statistics.summaries
    source.families([triple])
    assert source.passes == 2


@pytest.mark.parametrize("n_gaps", [0, 5])
def test_several_numbers_without_gaps_are_told_by_their_pairs(n_gaps):
    random = np.random.default_rng(0)
    values = random.normal(size=(300, 4)) @ random.normal(size=(4, 4)) + 1e3
    values[:n_gaps, 2] = np.nan
    codes = random.integers(3, size=300)
    target = bg.Discrete("class", ["a", "b", "c"])
    numbers = [bg.Continuous(f"x{j}") for j in range(4)]
    table = Table(tuple(numbers), np.empty((300, 0), np.int8), values, not n_gaps)
    source = TableSource(table.with_column(target, codes), target)
    source.pairs(Pairs(tuple(numbers), target))
    chosen = [2, 0, 3]
    family = Family.of(target, *(numbers[j] for j in chosen))
    statistics = source.families([family])[family]
    assert source.passes == (2 if n_gaps else 1)
    for k in range(3):
        part = values[(codes == k) & (np.arange(300) >= n_gaps)][:, chosen]
        assert statistics.counts[k] == len(part)
        np.testing.assert_allclose(statistics.mean[k], part.mean(axis=0), rtol=1e-13)
        expected = np.cov(part.T, bias=True) * len(part)
        np.testing.assert_allclose(statistics.comoment[k], expected, rtol=1e-9)


def test_families_that_nothing_covers_take_one_pass_together():
    sample = samples.make_sample(2, 50)
    source = source_of(sample)
    a, b, x, y = sample.columns
    asked = [Family.of(a, b, x), Family.of(x, y), Family.of(a, sample.given, b)]
    found = source.families(asked)
    assert source.passes == 1
    assert list(found) == asked
    assert source.features == sample.columns


@pytest.mark.parametrize(
    "learner", [bg.learning.star, bg.learning.tan, bg.learning.forest, bg.learning.chow_liu]
)
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_statistics_of_chunks_serve_learners_like_the_table(learner, missing):
    sample = samples.make_sample(3, 90, missing=missing, weighted="whole")
    smoothing = Smoothing()
    whole = source_of(sample)
    structure = learner(whole, smoothing)
    expected = estimate_network(structure, whole, smoothing)
    parts = []
    for at in range(0, 90, 40):
        part = sample.rows(slice(at, at + 40))
        requests = whole.statistics.summaries
        parts.append(Statistics.collect(part.table, requests, part.weights))
    total = CountSource(sample.table.variables, sample.given, parts[0] + parts[1] + parts[2])
    again = learner(total, smoothing)
    assert again.arcs == structure.arcs
    network = estimate_network(again, total, smoothing)
    for a, b in zip(network.cpds, expected.cpds, strict=True):
        assert a.scope == b.scope
        for name in ("values", "mean", "variance", "coefficients"):
            if hasattr(a, name):
                np.testing.assert_allclose(getattr(a, name), getattr(b, name), rtol=1e-9, atol=1e-9)


def test_statistics_alone_refuse_what_they_do_not_hold():
    sample = samples.make_sample(4, 30)
    singles = Statistics.collect(
        sample.table, [Singles(sample.columns, sample.given)], sample.weights
    )
    source = CountSource(sample.table.variables, sample.given, singles)
    bg.learning.star(source)
    with pytest.raises(DataError, match=r"pairs.*whole table"):
        bg.learning.tan(source)
    with pytest.raises(DataError, match="families"):
        source.families([Family.of(*sample.columns)])


def test_batches_encoded_alike_add_up():
    frames = [{"c": ["p", "q"], "t": ["u", "v"]}, {"c": ["q", None], "t": ["u", "w"]}]
    variables = infer_variables(columns_of({"c": ["p", "q"], "t": ["u", "w"]})).variables
    requests = [Singles((variables[1],), variables[0])]
    total = Statistics()
    for frame in frames:
        total = total + Statistics.collect(
            encode_table(columns_of(frame), variables), requests, np.empty(0)
        )
    (summary,) = total.summaries.values()
    # "v" is not a state, the last row has no class: neither is counted.
    np.testing.assert_array_equal(summary.counts, [[1.0, 0.0], [1.0, 0.0]])
    np.testing.assert_array_equal(summary.totals, [1.0, 2.0])


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0], "each of the 30 rows; got shape"),
        (np.ones((30, 1)), "shape"),
        (-np.ones(30), "non-negative"),
        (np.full(30, np.inf), "finite"),
        (np.full(30, np.nan), "finite"),
        (np.zeros(30), "zero for every row"),
        (np.ma.masked_equal(np.arange(30), 3), "finite"),
        (np.ones(30) + 1j, "takes a number for each"),
    ],
)
def test_unusable_weights(weights, message):
    sample = samples.make_sample(5, 30)
    with pytest.raises(DataError, match=message):
        TableSource(sample.table, sample.given, weights)


def test_one_weight_for_all():
    sample = samples.make_sample(5, 30)
    twice = TableSource(sample.table, sample.given, 2.0)
    once = TableSource(sample.table, sample.given)
    request = Singles(sample.columns, sample.given)
    np.testing.assert_array_equal(twice.singles(request).counts, 2 * once.singles(request).counts)


def test_variances_are_those_of_all_rows_and_are_kept():
    sample = samples.make_sample(6, 40, missing=0.2)
    source = source_of(sample)
    numbers = sample.table.continuous
    expected = np.nanvar(sample.table.values, axis=0)
    np.testing.assert_allclose(source.variances(numbers), expected)
    assert source.passes == 1
    np.testing.assert_allclose(source.variances(numbers[::-1]), expected[::-1])
    assert source.passes == 1
    assert source.variances([]).shape == (0,)


def test_a_source_of_fewer_features_knows_what_the_whole_one_knows():
    sample = samples.make_sample(7, 40)
    source = source_of(sample)
    part = source.with_features(sample.columns[1:])
    assert (part.features, source.features) == (sample.columns[1:], sample.columns)
    assert part.variables == (*sample.columns[1:], sample.given)
    found = part.pairs(Pairs(part.features, sample.given))
    assert source.pairs(Pairs(part.features, sample.given)) is found
    assert bg.learning.tan(part).variables == (sample.given, *part.features)
