"""Tests of independence against SciPy, and against likelihood ratios written out."""

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import bayesgraph as bg
from bayesgraph.core.errors import DataError, UnknownVariableError


def discrete_rows(seed, n=400):
    random = np.random.default_rng(seed)
    z = random.integers(0, 3, n)
    x = (random.random(n) < 0.2 + 0.2 * z).astype(int) + random.integers(0, 2, n)
    y = np.where(random.random(n) < 0.3, x, random.integers(0, 4, n))
    return {name: column.astype(str) for name, column in (("x", x), ("y", y), ("z", z))}


def strata(rows, given):
    keys = list(zip(*(rows[name].tolist() for name in given), strict=True))
    for key in sorted(set(keys)):
        chosen = np.array([k == key for k in keys])
        yield {name: column[chosen] for name, column in rows.items()}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    ("method", "power"), [("g_squared", "log-likelihood"), ("chi_squared", "pearson")]
)
def test_contingency_tables_equal_scipy(seed, method, power):
    rows = discrete_rows(seed, n=150)
    for given in ((), ("z",)):
        statistic = degrees = 0
        for part in strata(rows, given) if given else [rows]:
            states = [np.unique(part[name]) for name in "xy"]
            table = [
                [np.sum((part["x"] == a) & (part["y"] == b)) for b in states[1]] for a in states[0]
            ]
            if min(map(len, states)) > 1:
                found = stats.chi2_contingency(table, correction=False, lambda_=power)
                statistic, degrees = statistic + found.statistic, degrees + found.dof
        tested = bg.independence_test(rows, "x", "y", given, method=method)
        assert tested.statistic == pytest.approx(statistic, rel=1e-10)
        assert tested.degrees_of_freedom == degrees
        assert tested.p_value == pytest.approx(stats.chi2.sf(statistic, degrees), rel=1e-9)
        assert tested.n_rows == 150
    assert bg.independence_test(rows, "x", "y").method == "g_squared"


# Rows by department: men admitted and rejected, women admitted and rejected (Bickel, Hammel and
# O'Connell 1975; R's UCBAdmissions).
BERKELEY = {
    "A": (512, 313, 89, 19), "B": (353, 207, 17, 8), "C": (120, 205, 202, 391),
    "D": (138, 279, 131, 244), "E": (53, 138, 94, 299), "F": (22, 351, 24, 317),
}  # fmt: skip


def test_the_admissions_of_berkeley_have_the_figures_of_r():
    """``loglm(~ Dept * (Gender + Admit), UCBAdmissions)`` of R's package MASS."""
    kinds = [("male", "yes"), ("male", "no"), ("female", "yes"), ("female", "no")]
    rows = [
        (d, *k)
        for d, counts in BERKELEY.items()
        for k, n in zip(kinds, counts, strict=True)
        for _ in range(n)
    ]
    table = dict(zip(("dept", "gender", "admit"), map(list, zip(*rows, strict=True)), strict=True))
    for method, statistic, p in (
        ("g_squared", 21.73551, 0.001351993),
        ("chi_squared", 19.93841, 0.002840164),
    ):
        found = bg.independence_test(table, "gender", "admit", "dept", method=method)
        assert found.statistic == pytest.approx(statistic, abs=5e-6)
        assert found.degrees_of_freedom == 6
        assert found.p_value == pytest.approx(p, rel=1e-6)


@pytest.mark.parametrize("n_given", [0, 1, 3])
def test_partial_correlations_equal_scipy(n_given):
    random = np.random.default_rng(n_given)
    z = random.normal(size=(n_given, 60)) * 100 + 1000
    x, y = random.normal(size=(2, 60)) + z.sum(axis=0) / 100
    rows = {"x": x, "y": 0.3 * x + y, **{f"z{i}": column for i, column in enumerate(z)}}
    given = [name for name in rows if name.startswith("z")]
    tested = bg.independence_test(rows, "x", "y", given)
    design = np.stack([np.ones(60), *z], axis=1)
    left = [v - design @ np.linalg.lstsq(design, v, rcond=None)[0] for v in (rows["x"], rows["y"])]
    assert tested.method == "partial_correlation"
    assert tested.statistic == pytest.approx(stats.pearsonr(*left).statistic, rel=1e-8)
    assert tested.degrees_of_freedom == 58 - n_given
    if not n_given:
        assert tested.p_value == pytest.approx(stats.pearsonr(*left).pvalue, rel=1e-8)
    # The t-test of the slope of x in the regression of y on x and z.
    whole = np.column_stack([design, rows["x"]])
    slopes = np.linalg.lstsq(whole, rows["y"], rcond=None)[0]
    residual = rows["y"] - whole @ slopes
    variance = residual @ residual / (60 - whole.shape[1])
    t = slopes[-1] / np.sqrt(variance * np.linalg.inv(whole.T @ whole)[-1, -1])
    expected = 2 * stats.t.sf(abs(t), 60 - whole.shape[1])
    assert tested.p_value == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("unit", [2.0**-400, 2.0**-260, 2.0**260, 2.0**400])
def test_partial_correlations_do_not_depend_on_units(unit):
    rows = {name: unit * column for name, column in mixed_rows(0, 40).items() if name in "uvw"}
    for given in ((), ("w",)):
        tested = bg.independence_test(rows, "u", "v", given)
        expected = bg.independence_test(mixed_rows(0, 40), "u", "v", given)
        assert tested.statistic == pytest.approx(expected.statistic, rel=1e-9)
        assert tested.p_value == pytest.approx(expected.p_value, rel=1e-9)


def test_sums_of_weights_have_rounding_errors():
    u, v = np.random.default_rng(0).normal(size=(2, 60))
    assert np.full(60, 0.1).sum() < 6
    tested = bg.independence_test({"u": u, "v": v}, "u", "v", sample_weight=np.full(60, 0.1))
    assert tested.degrees_of_freedom == 4


def mixed_rows(seed, n=300):
    random = np.random.default_rng(seed)
    d = random.integers(0, 2, n)
    e = (random.random(n) < 0.3 + 0.4 * d).astype(int)
    u = random.normal(size=n) + d
    v = 0.5 * u + random.normal(size=n) * (1 + e)
    w = random.normal(size=n)
    return {"d": d.astype(str), "e": e.astype(str), "u": u, "v": v * 1000, "w": w}


def regression_log_likelihood(rows, child, parents):
    """Return the maximum log likelihood of a conditional linear Gaussian, and its parameters."""
    by = [name for name in parents if rows[name].dtype.kind == "U"]
    others = [name for name in parents if name not in by]
    total = parameters = 0
    for part in strata(rows, by) if by else [rows]:
        n = len(part[child])
        design = np.stack([np.ones(n), *(part[name] for name in others)], axis=1)
        left = part[child] - design @ np.linalg.lstsq(design, part[child], rcond=None)[0]
        total += np.sum(stats.norm.logpdf(left, 0, np.sqrt(np.mean(left**2))))
        parameters += design.shape[1] + 1
    return total, parameters


@pytest.mark.parametrize(
    ("other", "given"),
    [
        (other, given)
        for other in "duw"
        for given in ((), ("e",), ("w",), ("e", "w"), ("u", "e"))
        if other not in given
    ],
)
def test_the_conditional_gaussian_ratio_is_that_of_two_regressions(other, given):
    rows = mixed_rows(0)
    full = regression_log_likelihood(rows, "v", [other, *given])
    less = regression_log_likelihood(rows, "v", given)
    for x, y in ((other, "v"), ("v", other)):
        tested = bg.independence_test(rows, x, y, given, method="conditional_gaussian")
        assert tested.statistic == pytest.approx(2 * (full[0] - less[0]), rel=1e-7, abs=1e-7)
        assert tested.degrees_of_freedom == full[1] - less[1]
        expected = stats.chi2.sf(tested.statistic, tested.degrees_of_freedom)
        assert tested.p_value == pytest.approx(expected, rel=1e-6)


def test_the_conditional_gaussian_ratio_of_discrete_columns_is_g_squared():
    rows = discrete_rows(3)
    one, other = (
        bg.independence_test(rows, "x", "y", "z", method=method)
        for method in ("g_squared", "conditional_gaussian")
    )
    assert other.statistic == pytest.approx(one.statistic)
    assert other.degrees_of_freedom == one.degrees_of_freedom


@pytest.mark.one_in(4)
@pytest.mark.parametrize(
    ("x", "y", "given"), [("d", "w", ()), ("u", "w", ("d",)), ("d", "e", ("w",)), ("w", "e", "u")]
)
def test_p_values_are_uniform_where_columns_are_independent(x, y, given):
    if {x, y} == {"d", "e"}:
        random = np.random.default_rng(9)

        def rows_of(seed):
            return {**mixed_rows(seed, 150), "e": random.integers(0, 2, 150).astype(str)}
    else:

        def rows_of(seed):
            return mixed_rows(seed, 150)

    p_values = [bg.independence_test(rows_of(s), x, y, given).p_value for s in range(40)]
    assert stats.kstest(p_values, "uniform").pvalue > 0.001


def test_dependence_is_found():
    rows = mixed_rows(1)
    for x, y, given in (("d", "e", ()), ("u", "v", ("d", "e")), ("d", "u", "e"), ("u", "d", ())):
        assert bg.independence_test(rows, x, y, given).p_value < 1e-6


def test_groups_of_columns():
    rows = mixed_rows(2)
    joint = bg.independence_test(rows, ["d", "e"], "w")
    assert joint.p_value > 0.001
    assert joint.degrees_of_freedom == 6
    assert bg.independence_test(rows, ("d", "u"), ("v",), "e").p_value < 1e-6


def test_what_a_graph_implies_is_tested():
    graph = bg.CausalGraph([("d", "e"), ("d", "u"), ("u", "v"), ("e", "v")], (), "deuvw")
    rows = mixed_rows(5, 1000)
    for statement in graph.pairwise_independencies():
        assert bg.independence_test(rows, *statement).p_value > 0.001, str(statement)


def test_weights_count_rows_and_missing_values_leave_them_out():
    rows = mixed_rows(3, 80)
    repeats = np.random.default_rng(1).integers(0, 4, 80)
    repeated = {name: np.repeat(column, repeats) for name, column in rows.items()}
    for x, y, given in (("d", "e", ()), ("u", "v", ("w",)), ("d", "u", ("w",))):
        one = bg.independence_test(rows, x, y, given, sample_weight=repeats)
        two = bg.independence_test(repeated, x, y, given)
        assert one.statistic == pytest.approx(two.statistic, rel=1e-9)
        assert one.p_value == pytest.approx(two.p_value, rel=1e-7)
    u = rows["u"].copy()
    u[:10] = np.nan
    found = bg.independence_test({**rows, "u": u}, "u", "v")
    assert found == bg.independence_test({k: c[10:] for k, c in rows.items()}, "u", "v")
    assert found.n_rows == 70


@pytest.mark.parametrize("weight", [1e-300, 1e-200, 1e200, 1e308])
def test_weights_whose_products_no_number_holds_are_refused(weight):
    with pytest.raises(DataError, match="sum of sample_weight"):
        bg.independence_test(
            {"x": list("aabb"), "y": list("abab")}, "x", "y", sample_weight=np.full(4, weight)
        )


def test_hardly_any_weight_is_no_evidence_of_dependence():
    rng = np.random.default_rng(0)
    table = {name: rng.choice(list("abcd"), 200) for name in "xy"}
    for method in ("permutation", None):
        test = bg.independence_test(
            table, "x", "y", method=method, sample_weight=np.full(200, 1e-12)
        )
        assert (test.method, test.p_value) == ("permutation", 1.0)


def test_constants_are_independent_of_everything():
    n = np.arange(20.0)
    assert bg.independence_test({"a": n, "b": 0 * n + 3.7}, "a", "b").p_value == 1.0
    text = np.array(["x"] * 20)
    assert bg.independence_test({"a": text, "b": text}, "a", "b").p_value == 1.0
    copied = bg.independence_test({"a": n, "b": 2 * n + 1}, "a", "b")
    assert (copied.statistic, copied.p_value) == (1.0, 0.0)


@pytest.mark.parametrize("make", [list, tuple, set, pd.Index, np.array, iter])
def test_names_come_in_any_collection(make):
    rows = mixed_rows(0, 40)
    expected = bg.independence_test(rows, "d", "e", ["u", "v"])
    assert bg.independence_test(rows, "d", make(["e"]), make(["u", "v"])) == expected


def test_a_tuple_may_be_the_name_of_a_column():
    rows = {("a", 1): [0, 1] * 20, "b": [0, 0, 1, 1] * 10}
    assert bg.independence_test(rows, ("a", 1), "b", categorical="all").x == (("a", 1),)


def test_positions_of_categories_are_those_in_the_table():
    rng = np.random.default_rng(0)
    table = {name: rng.normal(size=50) for name in "ab"} | {"c": rng.integers(2, size=50)}
    by_name = bg.independence_test(table, "c", "a", categorical=["c"])
    assert bg.independence_test(table, "c", "a", categorical=[2]) == by_name
    assert bg.independence_test(table, "a", "b", categorical=[2]).method == "partial_correlation"


def test_numbers_may_be_categories_and_results_print():
    rows = {"a": [0, 1] * 20, "b": [0, 0, 1, 1] * 10}
    tested = bg.independence_test(rows, "a", "b", categorical="all")
    assert tested.method == "g_squared"
    assert repr(tested).splitlines() == [
        "Independence of a and b",
        "  g squared           0",
        "  degrees of freedom  1",
        "  p-value             1",
        "  40 rows",
    ]


@pytest.mark.parametrize(
    ("arguments", "options", "error", "said"),
    [
        (("d", "d"), {}, DataError, "different columns"),
        (("d", ()), {}, DataError, "at least one"),
        (("d", "x"), {}, UnknownVariableError, "no variable 'x'"),
        (("d", "e"), {"method": ""}, DataError, "one of 'g_squared'"),
        (("d", "e"), {"method": "fisher"}, DataError, "one of 'g_squared'"),
        (("d", "u"), {"method": "chi_squared"}, DataError, "takes discrete columns; 'u'"),
        (("d", "u"), {"method": "partial_correlation"}, DataError, "continuous columns; 'd'"),
        ((("u", "v"), "w"), {"method": "partial_correlation"}, DataError, "of two columns"),
        (("u", "twice", "d"), {}, DataError, "linearly dependent"),
        (("u", "name", ()), {}, DataError, "more than 2 rows"),
        (("u", "empty"), {"categorical": ["empty"]}, DataError, "no observed value"),
    ],
)
def test_mistakes_are_told(arguments, options, error, said):
    rows = mixed_rows(0, 40)
    rows["twice"] = 2 * rows["u"]
    rows["name"] = np.array([f"n{i}" for i in range(40)])
    rows["empty"] = np.full(40, np.nan)
    with pytest.raises(error, match=said):
        bg.independence_test(rows, *arguments, **options)


def test_too_few_rows():
    rows = {name: np.arange(4.0) ** k for k, name in enumerate("abcd")}
    with pytest.raises(DataError, match="takes 5 or more rows; there are 4"):
        bg.independence_test(rows, "a", "b", ["c", "d"])


# ------------------------------------------------------------------------------ very many states


def many(seed, states, n, power=1.0):
    """Return the names of states drawn at random, some of them more often than others."""
    random = np.random.default_rng(seed)
    return np.array([f"s{int(states * u**power)}" for u in random.random(n)])


def test_a_column_depends_on_its_copy_whatever_its_states():
    for states, n in ((200, 2000), (200, 4000), (1500, 20_000), (9, 30), (1000, 1100)):
        x = many(0, states, n)
        renamed = np.char.replace(x, "s", "t")
        part = np.char.add(x, np.where(np.random.default_rng(1).random(n) < 0.5, "a", "b"))
        for other in (x, renamed, part):
            assert bg.independence_test({"x": x, "y": other}, "x", "y").p_value < 1e-6
        z = np.array(["u", "v"])[np.arange(n) % 2]
        assert bg.independence_test({"x": x, "y": x, "z": z}, "x", "y", "z").p_value < 1e-6


def test_the_mean_and_variance_of_permutations_are_exact():
    """The p-value is that of the gamma distribution with the moments of all permutations."""
    x, y = np.array([0, 0, 1, 1, 2, 2, 2]), np.array([0, 1, 0, 0, 1, 2, 2])
    found = []
    for order in itertools.permutations(range(7)):
        table = np.zeros((3, 3))
        np.add.at(table, (x, y[list(order)]), 1.0)
        expected = table.sum(axis=1)[:, None] * table.sum(axis=0) / 7
        found.append(((table - expected) ** 2 / expected).sum())
    rows = {"x": x.astype(str), "y": y.astype(str)}
    tested = bg.independence_test(rows, "x", "y", method="permutation")
    scale = np.var(found) / 2 / np.mean(found)
    expected = stats.chi2.sf(tested.statistic / scale, np.mean(found) / scale)
    assert tested.p_value == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(
    ("states", "n", "power", "strata"),
    [(60, 500, 1, 1), (60, 500, 3, 1), (40, 800, 2, 4), (150, 1500, 1, 1)],
)
def test_p_values_of_many_states_are_uniform(states, n, power, strata):
    z = (np.arange(n) % strata).astype(str)
    p_values = []
    for seed in range(60):
        rows = {"x": many(seed, states, n, power), "y": many(seed + 1000, states, n, power), "z": z}
        tested = bg.independence_test(rows, "x", "y", "z" if strata > 1 else ())
        assert tested.method == "permutation"
        p_values.append(tested.p_value)
    assert stats.kstest(p_values, "uniform").pvalue > 0.01
    # G-squared is as good as never right there.
    plain = bg.independence_test(rows, "x", "y", method="g_squared").p_value
    assert plain < 1e-6 or plain > 1 - 1e-6


def test_tables_that_occur_in_few_cells_need_little_memory():
    random = np.random.default_rng(0)
    rows = {f"h{j}": random.integers(0, 3000, 20_000).astype(str) for j in range(3)}
    assert bg.independence_test(rows, "h0", "h1").p_value > 0.01
    assert bg.independence_test(rows, "h0", "h1", "h2").p_value > 0.01
    copied = {**rows, "h1": rows["h0"]}
    assert bg.independence_test(copied, "h0", "h1", "h2", method="g_squared").n_rows == 20_000


def test_ordinary_tables_are_decided_by_g_squared():
    for seed in range(5):
        assert bg.independence_test(discrete_rows(seed, 50), "x", "y").method == "g_squared"
    x = many(0, 20, 4000)
    assert bg.independence_test({"x": x, "y": x[::-1]}, "x", "y").method == "g_squared"


def test_many_states_given_numbers_are_refused():
    x = many(0, 200, 2000)
    rows = {"x": x, "y": x, "w": np.linspace(0.0, 1.0, 2000)}
    with pytest.raises(DataError, match="too many states for a likelihood ratio of 2,000 rows"):
        bg.independence_test(rows, "x", "y", "w")
