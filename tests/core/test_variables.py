"""Names and states as the user typed them."""

import copy
import datetime
import decimal
import fractions
import gc
import itertools
import math
import pickle
import sys
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import bayesgraph as bg
from bayesgraph.core.errors import BayesGraphError, DataTypeError, EvidenceError, UnknownStateError
from bayesgraph.core.variables import decode, is_missing, plain

MISSING = [
    None,
    math.nan,
    np.nan,
    np.float32("nan"),
    np.float64("nan"),
    np.datetime64("NaT"),
    np.timedelta64("NaT"),
    pd.NA,
    pd.NaT,
    np.ma.masked,
    decimal.Decimal("NaN"),
]
PRESENT = [0, 0.0, "", "nan", "None", False, (), np.float64(0), math.inf, np.array([1.0, np.nan])]
PRESENT += [pl.Series([0.1, 0.9]), pl.Series([None]), pl.DataFrame({"a": [1]})]


@pytest.mark.parametrize("value", MISSING, ids=repr)
def test_what_is_missing(value):
    assert is_missing(value) is True


@pytest.mark.parametrize("value", PRESENT, ids=lambda value: f"{value!r:.20}")
def test_what_is_not_missing(value):
    assert is_missing(value) is False


# ---------------------------------------------------------------------------------- Discrete


def test_states_keep_type_spelling_and_order():
    states = ["b", "a", "A", " a", "", "Ä", "1", 1, 1.5, (1, "x"), datetime.date(2020, 1, 1)]
    variable = bg.Discrete("v", states)
    assert list(variable.states) == states
    assert [type(s) for s in variable.states] == [type(s) for s in states]
    assert variable.cardinality == len(states)
    for code, state in enumerate(states):
        assert variable.index(state) == code


def test_numpy_scalars_become_python_values():
    variable = bg.Discrete("v", np.array([3, 1, 2]))
    assert [type(s) for s in variable.states] == [int] * 3
    assert bg.Discrete("v", np.array(["a", "b"])).states == ("a", "b")
    assert [type(s) for s in bg.Discrete("v", np.array([True, False])).states] == [bool] * 2
    assert variable.index(np.int8(1)) == 1
    assert bg.Discrete("v", [np.str_("a")]).states == ("a",)
    assert type(plain(np.float32(0.5))) is float
    assert bg.Discrete("v", pd.Series(["x", "y"])).states == ("x", "y")
    assert bg.Discrete("v", pa.array(["x", "y"])).states == ("x", "y")
    assert bg.Discrete("v", ["x", "y"]).index(pa.scalar("y")) == 1


def test_dates_of_numpy_stay_dates():
    days = np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[D]")
    assert bg.Discrete("v", days).states == (datetime.date(2020, 1, 1), datetime.date(2020, 1, 2))
    # To the nanosecond: Python's datetime cannot hold it, but a bare integer is no date at all.
    nanoseconds = days.astype("datetime64[ns]")
    assert not any(isinstance(state, int) for state in bg.Discrete("v", nanoseconds).states)


def test_true_one_and_text_are_different_states():
    states = [True, 1, 1.0, "1"]
    variable = bg.Discrete("v", states)
    for code, state in enumerate(states):
        assert variable.index(state) == code
    assert variable.index(np.True_) == 0
    assert variable.index(np.int64(1)) == 1
    assert variable.index(np.float32(1)) == 2
    assert variable.index(np.str_("1")) == 3


def test_equality_finds_a_state_only_if_unambiguous():
    assert bg.Discrete("v", [False, True]).index(1) == 1
    assert bg.Discrete("v", [False, True]).index(0.0) == 0
    assert bg.Discrete("v", [0, 1]).index(True) == 1
    assert bg.Discrete("v", [0.0, 1.0]).index(decimal.Decimal(1)) == 1
    with pytest.raises(UnknownStateError, match="more than one state"):
        bg.Discrete("v", [True, 1]).index(1.0)
    with pytest.raises(UnknownStateError, match="more than one state"):
        bg.Discrete("v", [True, 1, 1.0]).index(fractions.Fraction(1))


def test_text_is_never_a_number():
    with pytest.raises(UnknownStateError, match=r"no state '1'\. Did you mean 1"):
        bg.Discrete("v", [0, 1]).index("1")
    with pytest.raises(UnknownStateError, match=r"no state 1\. Did you mean '1'"):
        bg.Discrete("v", ["0", "1"]).index(1)


@pytest.mark.parametrize("wrong", [[1], {}, {1}, np.array([1, 2]), math.nan, None, object()])
def test_what_cannot_be_a_state_is_unknown(wrong):
    with pytest.raises(UnknownStateError, match="'v' has no state"):
        bg.Discrete("v", [0, 1]).index(wrong)


@pytest.mark.parametrize("states", [[], (), iter(())])
def test_no_states(states):
    with pytest.raises(EvidenceError, match="at least one state"):
        bg.Discrete("v", states)


@pytest.mark.parametrize("value", MISSING, ids=repr)
def test_missing_is_not_a_state(value):
    with pytest.raises(BayesGraphError):
        bg.Discrete("v", ["a", value])


@pytest.mark.parametrize("states", [["a", "b", "a"], [1, 2, np.int64(1)], [0.0, -0.0]])
def test_a_state_twice(states):
    with pytest.raises(EvidenceError, match="more than once"):
        bg.Discrete("v", states)


@pytest.mark.parametrize("states", ["yes", b"yes", 5, None, {"a", "b"}])
def test_states_that_are_not_a_list(states):
    with pytest.raises(DataTypeError, match="'v'"):
        bg.Discrete("v", states)


def test_states_that_cannot_be_hashed():
    with pytest.raises(DataTypeError, match="cannot be hashed"):
        bg.Discrete("v", [["a"], ["b"]])


@pytest.mark.parametrize("make", [lambda name: bg.Discrete(name, [0]), bg.Continuous])
@pytest.mark.parametrize("name", [["a"], {}, None, math.nan, pd.NA])
def test_names_that_cannot_be_used(make, name):
    with pytest.raises(DataTypeError, match="name"):
        make(name)


@pytest.mark.parametrize("name", ["", "ä b", 0, -1.5, ("a", 1), True, frozenset({1})])
def test_names_of_any_hashable_type(name):
    for variable in (bg.Discrete(name, [0]), bg.Continuous(name)):
        assert variable.name == name
        assert type(variable.name) is type(name)


def test_equality_is_by_name_states_order_and_type():
    variants = [
        bg.Discrete("a", [0, 1]),
        bg.Discrete("b", [0, 1]),
        bg.Discrete("a", [1, 0]),
        bg.Discrete("a", [False, True]),
        bg.Discrete("a", [0.0, 1.0]),
        bg.Discrete("a", ["0", "1"]),
        bg.Discrete("a", [0, 1, 2]),
        bg.Continuous("a"),
        bg.Continuous("b"),
    ]
    for a, b in itertools.combinations(variants, 2):
        assert a != b
        assert len({a, b}) == 2
    for variable in variants:
        assert variable == copy.deepcopy(variable)
        assert hash(variable) == hash(copy.deepcopy(variable))
        assert variable != variable.name


def test_equal_variables_are_one_object_that_is_spelt_as_it_was_given():
    assert bg.Discrete("a", ["x", "y"]) is bg.Discrete("a", np.array(["x", "y"]))
    assert bg.Continuous(np.str_("a")) is bg.Continuous("a")
    assert bg.CountVector("a", ["x"]) is bg.CountVector("a", ["x"])
    for make in (bg.Continuous, lambda name: bg.Discrete(name, [name, ("t", name)])):
        variants = [make(name) for name in (0, False, 0.0, -0.0, (0, "t"), (False, "t"))]
        assert [repr(v) for v in variants] == [repr(make(v.name)) for v in variants]
        assert len(set(variants)) == len(set(map(repr, variants))) == 6
    assert repr(bg.Binned("a", [-0.0])) != repr(bg.Binned("a", [0.0]))


class Pair(NamedTuple):
    first: int
    second: int


HOUR = datetime.timezone(datetime.timedelta(hours=1))


@pytest.mark.parametrize(
    ("state", "twin"),
    [
        (decimal.Decimal("1.50"), decimal.Decimal("1.5")),
        (
            datetime.datetime(2020, 1, 1, 1, tzinfo=HOUR),
            datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC),
        ),
        (frozenset({1}), frozenset({True})),
        (Pair(1, 2), (1, 2)),
        (Pair(1, 2), Pair(True, 2)),
        (("a", decimal.Decimal("1.50")), ("a", decimal.Decimal("1.5"))),
    ],
    ids=repr,
)
def test_equal_states_of_other_spelling_are_of_other_variables(state, twin):
    first, second = bg.Discrete("v", [state]), bg.Discrete("v", [twin])
    assert state == twin
    assert first != second
    assert repr([first.states, second.states]) == repr([(state,), (twin,)])
    assert copy.deepcopy(first) is first


class Shade:
    """Equal by its number, and with the `repr` of its address."""

    def __init__(self, number):
        self.number = number

    def __eq__(self, other):
        return isinstance(other, Shade) and self.number == other.number

    def __hash__(self):
        return hash(self.number)


@pytest.mark.parametrize(
    ("state", "twin"),
    [
        (Shade(1), Shade(1)),
        (frozenset(range(0, 80, 8)), frozenset(reversed(range(0, 80, 8)))),
        (fractions.Fraction(10**5000, 3), fractions.Fraction(10**5000, 3)),
    ],
    ids=["address", "order", "many digits"],
)
def test_states_that_are_spelt_alike_are_of_one_variable(state, twin):
    assert bg.Discrete("v", [state]) is bg.Discrete("v", [twin])


def test_equal_variables_of_threads_are_one_object_which_is_freed_at_last():
    barrier = threading.Barrier(8)

    def make(i):
        barrier.wait()
        return [bg.Discrete(f"of threads {j}", ["x", i % 2]) for j in range(200)]

    with ThreadPoolExecutor(8) as threads:
        made = list(threads.map(make, range(8)))
    for variables in zip(*made, strict=True):
        assert len({id(v) for v in variables}) == 2
    last = weakref.ref(made[0][0])
    del made, variables
    gc.collect()
    assert last() is None


@pytest.mark.parametrize(
    "variable",
    [bg.Discrete(("n", 1), [True, 1, 1.0, "1", ("t", 2)]), bg.Continuous("x")],
    ids=["discrete", "continuous"],
)
def test_copies_and_pickles(variable):
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        again = pickle.loads(pickle.dumps(variable, protocol))
        assert again == variable
        assert repr(again) == repr(variable)
    assert copy.copy(variable) == variable
    assert copy.deepcopy([variable, variable])[0] == variable


@pytest.mark.parametrize("states", [[2**63, -1], [2**65, 1], ["a\0", "a"], ["a", 1], [2**63, 1]])
def test_states_are_decoded_as_they_are(states):
    values = decode(bg.Discrete("id", states), np.array([0, 1, 0])).tolist()
    assert values == [states[0], states[1], states[0]]
    assert [*map(type, values[:2])] == [*map(type, states)]


def test_numbers_of_very_many_digits_are_cut_in_messages():
    with pytest.raises(UnknownStateError, match="'x' has no state 'a'"):
        bg.Discrete("x", [10**5000, 1]).index("a")
    with pytest.raises(UnknownStateError, match="'x' has no state int of too many digits"):
        bg.Discrete("x", ["a"]).index(10**5000)
    with pytest.raises(EvidenceError, match="'x' has the state int of too many digits more"):
        bg.Discrete("x", [10**5000, 10**5000])
    with pytest.raises(EvidenceError, match="takes a number; got int of too many digits"):
        bg.Continuous("x").number(10**5000)


def test_repr():
    assert repr(bg.Discrete("a", [True, "x"])) == "Discrete('a', [True, 'x'])"
    assert repr(bg.Continuous(("a", 1))) == "Continuous(('a', 1))"


# -------------------------------------------------------------------------------- Continuous


@pytest.mark.parametrize(
    "value",
    [
        3,
        3.0,
        True,
        np.float32(3),
        np.int8(3),
        np.longdouble(3),
        decimal.Decimal(3),
        fractions.Fraction(3),
    ],
    ids=repr,
)
def test_numbers(value):
    number = bg.Continuous("x").number(value)
    assert type(number) is float
    assert number == float(value)


@pytest.mark.parametrize(
    "value",
    [
        "3",
        b"3",
        math.inf,
        -math.inf,
        np.inf,
        1j,
        [3.0],
        None,
        10**400,
        np.array([1.0, 2.0]),
        pd.Timestamp("2020-01-01"),
        np.datetime64("2020-01-01"),
        np.datetime64("2020-01-01", "ns"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_what_is_not_a_number(value):
    with pytest.raises(EvidenceError, match="'x'"):
        bg.Continuous("x").number(value)


# ------------------------------------------------------------------------- Binned and Grouped


@pytest.mark.parametrize("n_cuts", [1, 31, 65])
@pytest.mark.parametrize("n", [3, 1 << 14, (1 << 14) + 77])
def test_many_numbers_are_in_the_intervals_of_single_ones(n, n_cuts):
    random = np.random.default_rng(n + n_cuts)
    numbers = random.normal(size=n).round(2)
    numbers[:3] = math.nan, math.inf, -math.inf
    width = bg.Binned("width", np.unique(random.normal(size=n_cuts).round(2)))
    expected = [-1, *(width.encode(float(x)) for x in numbers[1:])]
    np.testing.assert_array_equal(width.codes(numbers), expected)


def test_intervals_are_states_and_numbers_fall_into_them():
    width = bg.Binned("width", [0.8, 1.75])
    assert width.states == ("(-inf, 0.8]", "(0.8, 1.75]", "(1.75, inf)")
    assert [width.index(x) for x in (-5, 0.8, 0.80001, 1.75, 2, np.float32(1.0))] == [
        0,
        0,
        1,
        1,
        2,
        1,
    ]
    assert width.index("(0.8, 1.75]") == width.encode(1) == 1
    numbers = np.array([0.8, math.nan, 9.0])
    assert width.codes(numbers).tolist() == [0, -1, 2]
    assert bg.Binned("x", []).states == ("(-inf, inf)",)


def test_intervals_refuse_what_is_no_number():
    width = bg.Binned("width", [0.5])
    with pytest.raises(UnknownStateError, match=r"'width' takes a number.*got 'wide'"):
        width.index("wide")
    with pytest.raises(UnknownStateError):
        width.index(True)
    for cuts in ([1, 1], [2, 1], [math.nan], [math.inf]):
        with pytest.raises(EvidenceError, match="ascending"):
            bg.Binned("x", cuts)
    for cuts in (["a"], [None], [10**400], ["0.5"]):
        with pytest.raises(EvidenceError, match="'x' takes as a cut a number; got"):
            bg.Binned("x", cuts)
    for cuts in (3, "12", {0.5}):
        with pytest.raises(DataTypeError, match="Expected a list of cuts for 'x'"):
            bg.Binned("x", cuts)


def test_intervals_of_numbers_of_other_types():
    width = bg.Binned("width", [0.1, 0.3])
    assert width.index(decimal.Decimal("0.3")) == width.index(fractions.Fraction(3, 10)) == 1
    assert width.index(np.longdouble(0.5)) == 2
    for value in (decimal.Decimal("NaN"), decimal.Decimal("sNaN"), fractions.Fraction(10**400)):
        assert width.find(value) is None


def test_edges_are_finite():
    far = sys.float_info.max
    assert bg.Binned("x", [-1.7e308, 1.7e308]).edges.tolist() == [-far, -1.7e308, 1.7e308, far]
    assert bg.Binned("x", [1.0, 3.0]).edges.tolist() == [-1.0, 1.0, 3.0, 5.0]
    assert bg.Binned("x", [1.7e308]).edges.tolist() == [0.0, 1.7e308, far]


def test_groups_are_states_and_values_are_found_in_them():
    colour = bg.Grouped("colour", [["red"], ["blue", "green"]])
    assert colour.states == ("red", "{blue, green}")
    assert [colour.index(v) for v in ("red", "blue", "green", "{blue, green}")] == [0, 1, 1, 1]
    assert colour.find("pink") is None
    with pytest.raises(EvidenceError, match="at least one value"):
        bg.Grouped("x", [["a"], []])
    with pytest.raises(EvidenceError, match="more than once"):
        bg.Grouped("x", [["a"], ["b", "a"]])
    for groups in (["red", "tan"], [b"red"], [{"red"}], [1, 2], 3, "red", None):
        with pytest.raises(DataTypeError, match=r"Expected a list of (groups|values) for 'x'"):
            bg.Grouped("x", groups)


def test_any_other_value_may_be_in_the_last_group():
    v = bg.Grouped("v", [["a", "b"], ["c"]], others=True)
    assert [v.index(value) for value in ("a", "c", "{a, b}", "z", 7, 2.5)] == [0, 1, 0, 1, 1, 1]
    assert v != bg.Grouped("v", [["a", "b"], ["c"]])
    assert pickle.loads(pickle.dumps(v)) == v
    assert eval(repr(v), {"Grouped": bg.Grouped}) == v
    assert [v.find(value) for value in (None, np.nan, ["z"])] == [None, None, None]


def test_labels_of_groups_differ_whatever_the_values():
    long = [f"value number {i}" for i in range(40)]
    v = bg.Grouped("v", [["a", "b"], ["{a, b}"], long, [1, 2], ["1", "2"]])
    assert len(set(v.states)) == 5
    assert v.states[2].endswith("more}")
    assert [v.index(x) for x in ("{a, b}", 1, "1", long[-1])] == [1, 3, 4, 2]


@pytest.mark.parametrize("wrong", ["thirty", "0.3", [0.3], True])
def test_what_is_no_number_has_no_interval(wrong):
    with pytest.raises(UnknownStateError, match="'width' takes a number, or one of its inter") as e:
        bg.Binned("width", [0.5]).index(wrong)
    assert f"got {wrong!r}. Its intervals are '(-inf, 0.5]', '(0.5, inf)'" in str(e.value)


def test_an_interval_that_is_misspelt_has_a_near_one():
    with pytest.raises(UnknownStateError, match=r"Did you mean '\(-inf, 0\.5\]'"):
        bg.Binned("width", [0.5]).index("(-inf, 0.5)")


@pytest.mark.parametrize(
    "variable", [bg.Binned("x", [0.1, 2]), bg.Grouped("x", [[1], ["a", True]])], ids=repr
)
def test_binned_and_grouped_are_values(variable):
    for twin in (copy.deepcopy(variable), pickle.loads(pickle.dumps(variable))):
        assert twin == variable
        assert hash(twin) == hash(variable)
    assert variable != bg.Discrete("x", variable.states)
    assert bg.Discrete("x", variable.states) != variable
    assert variable != bg.Binned("x", [0.1, 2.5])
    assert variable != bg.Grouped("x", [[1, "a"], [True]])


@pytest.mark.parametrize(
    "variable",
    [
        bg.Discrete(np.str_("x"), [0, 1]),
        bg.Continuous(np.str_("x")),
        bg.CountVector(np.str_("x"), [np.str_("a"), np.int64(1)]),
    ],
    ids=repr,
)
def test_names_are_plain_values_as_states_are(variable):
    assert type(variable.name) is str
    assert [type(item) for item in getattr(variable, "items", ())] in ([], [str, int])


# ----------------------------------------------------------------------------------- CountVector


WORDS = bg.CountVector("words", ["free", "meeting", "money", "now"])


@pytest.mark.parametrize(
    "counts",
    [
        pd.Series([3, 2, 1], index=["meeting", "free", "now"]),
        pd.DataFrame({"meeting": [3], "free": [2], "now": [1]}),
        pl.DataFrame({"meeting": [3], "free": [2], "now": [1]}),
        pd.Series([2, 3, 0, 1]),
        pl.Series([2, 3, 0, 1]),
        pd.DataFrame([[2, 3, 0, 1]]),
    ],
    ids=lambda counts: f"{type(counts).__module__}, {counts.shape}",
)
def test_counts_with_labels_are_those_of_the_items(counts):
    assert WORDS.encode(counts).tolist() == [2, 3, 0, 1]


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([[1, 2], [3, 4]], "4 counts in the order"),
        (pd.DataFrame({"free": [1, 2], "now": [3, 4]}), "4 counts in the order"),
        (pd.Series([1, 2, 3, 4], index=["free", "meeting", "money", "nou"]), "mean 'now'"),
        (pd.Series([1, 2, 3, 4], index=["free", "free", "money", "now"]), "one count for each"),
    ],
)
def test_counts_that_are_not_of_the_items(counts, message):
    with pytest.raises(EvidenceError, match=message):
        WORDS.encode(counts)


def test_numbers_of_rows_are_no_labels_of_items():
    assert bg.CountVector("c", [1, 0]).encode(pd.Series([5, 6])).tolist() == [5, 6]
    assert bg.CountVector("c", ["p", "q"]).encode(pa.table({"q": [1], "p": [2]})).tolist() == [2, 1]


# ----------------------------------------------------------------------------- MissingIndicator


def test_an_indicator_of_missing_values():
    v = bg.core.MissingIndicator("no age", "age")
    assert (v.name, v.of, v.states) == ("no age", "age", ("no", "yes"))
    assert v == bg.core.MissingIndicator("no age", "age")
    assert v != bg.core.MissingIndicator("no age", "height")
    assert v != bg.Discrete("no age", ["no", "yes"])
    assert hash(v) == hash(bg.core.MissingIndicator("no age", "age"))
    assert repr(v) == "MissingIndicator('no age', 'age')"
    assert pickle.loads(pickle.dumps(v)) == v
    assert copy.deepcopy(v).of == "age"
    with pytest.raises(DataTypeError, match="hashable"):
        bg.core.MissingIndicator("x", ["age"])
