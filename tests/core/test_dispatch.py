"""Kernels on both tiers: which one runs, and that they give the same."""

import math
import pickle
import sys
from importlib import import_module

import cases
import numpy as np
import pytest

from bayesgraph.core import compilation as dispatch
from bayesgraph.core.compilation import Tiers, kernel, mode_is, tiers
from bayesgraph.statistics import counting_kernels as statistics


class Nobody:
    """A background that is asked for kernels, and compiles none."""

    def __init__(self, helps=False):
        self.helps, self.asked = helps, []

    def ask(self, name, arguments):
        assert isinstance(arguments, tuple)
        self.asked.append(name)


class Shelf(dispatch.Library):
    """A library of the kernels that are named."""

    def __init__(self, *names):
        super().__init__()
        self.names = names

    def has(self, name):
        return name in self.names


def tiers_of(mode, library=(), helps=False):
    made = Tiers(mode)
    made.library, made.background = Shelf(*library), Nobody(helps)
    return made


@pytest.fixture
def fresh(monkeypatch):
    """Return tiers as they are at the start of a process, used by all kernels of this test."""
    made = tiers_of("background")
    monkeypatch.setattr(dispatch, "tiers", made)
    return made


@kernel()
def double(x):
    """Return twice a number, or twice the sum of an array."""
    return 2 * np.sum(x)


@kernel()
def four_times(x):
    """Call another kernel, as kernels do."""
    return 2 * double(x)


@kernel(interpreted=False)
def waits(x):
    """Always wait for the compiler."""
    return x + 1


@kernel(work=lambda n: n * n)
def quadratic(n):
    """Say that the work grows with the square."""
    return n


@kernel(error_model="numpy")
def limits(x):
    """Use mathematical functions where Python raises errors."""
    return math.log(x[0]), math.exp(x[1]), x[2] / x[0]


def is_compiled(function):
    return function._run != function._choose


def forget(*functions):
    for function in functions:
        vars(function).pop("compiled", None)
        function._run, function.spent = function._choose, 0.0


@pytest.fixture(autouse=True)
def _forget_what_was_compiled():
    forget(double, four_times, waits, quadratic, limits)


def test_small_work_is_interpreted(fresh):
    assert four_times(np.ones(3)) == 12
    assert not is_compiled(four_times)
    assert not is_compiled(double)
    assert fresh.background.asked == []
    assert 0 < fresh.spent == four_times.spent


def test_a_kernel_that_takes_much_is_asked_for(fresh):
    fresh.background.helps = True
    double.spent = 100.0
    assert double(np.ones(3)) == 6
    assert fresh.background.asked == [double.name]
    assert not is_compiled(double)
    assert four_times(np.ones(3)) == 12
    assert fresh.background.asked == [double.name]


def test_large_work_is_compiled_at_once(fresh):
    assert quadratic(10) == 10
    assert not is_compiled(quadratic)
    assert quadratic(10_000) == 10_000
    assert is_compiled(quadratic)
    assert fresh.background.asked == []


def test_work_counts_arrays_in_tuples():
    assert dispatch.entries((1, np.ones((2, 3)), (np.ones(4), (np.ones(5),)), "text")) == 15


def test_where_nobody_helps_a_kernel_is_compiled_after_enough_time(fresh):
    double.spent = 100.0
    assert four_times(np.ones(2)) == 8
    assert not is_compiled(four_times)
    assert double(np.ones(2)) == 4
    assert is_compiled(double)


def test_kernels_of_the_cache_are_used_when_it_pays_to_load_the_compiler(fresh, monkeypatch):
    monkeypatch.delitem(sys.modules, "bayesgraph.core.compiler", raising=False)
    fresh.library.names = (double.name,)
    assert double(np.ones(2)) == 4
    assert not is_compiled(double)
    fresh.background.helps = True
    double.spent = 10.0
    assert double(np.ones(2)) == 4
    assert fresh.background.asked == []
    fresh.spent = 10.0
    assert four_times(np.ones(2)) == 8
    assert not is_compiled(four_times)
    assert double(np.ones(2)) == 4
    assert is_compiled(double)


def test_kernels_of_the_cache_are_used_at_once_by_a_process_with_a_compiler(fresh):
    import_module("bayesgraph.core.compiler")
    fresh.library.names = (double.name,)
    assert double(np.ones(2)) == 4
    assert is_compiled(double)


def test_some_kernels_wait_for_the_compiler(fresh):
    assert waits(1) == 2
    assert is_compiled(waits)


def test_never_compiles_nothing(monkeypatch):
    made = tiers_of("never", [waits.name, double.name])
    monkeypatch.setattr(dispatch, "tiers", made)
    double.spent = made.spent = 1e9
    assert waits(1) == 2
    assert double(np.ones(100_000)) == 200_000
    assert not is_compiled(waits)
    assert not is_compiled(double)
    assert made.background.asked == []
    assert made.tier(10**9) == "interpreted"


def test_inline_compiles_everything(monkeypatch):
    monkeypatch.setattr(dispatch, "tiers", tiers_of("inline"))
    assert four_times(np.ones(1)) == 4
    assert is_compiled(four_times)


def test_a_mode_ends_with_its_block():
    before = tiers.mode
    with mode_is("never"):
        assert tiers.tier(10**9) == "interpreted"
    assert tiers.mode == before


def test_both_tiers_go_to_infinity_in_silence():
    arguments = np.array([0.0, 1000.0, 1.0])
    with mode_is("never"):
        assert limits(arguments) == limits.compiled(arguments) == (-np.inf, np.inf, np.inf)
    nothing = np.array([-1.0, -1e9, 1.0])
    for run in (limits.interpreted, limits.compiled):
        assert math.isnan(run(nothing)[0])
        assert run(nothing)[1] == 0.0


def test_a_kernel_is_pickled_by_name():
    assert pickle.loads(pickle.dumps(statistics.count_pairs)) is statistics.count_pairs


ROWS = [
    pytest.param(case, kind, id=f"{case.name}-{kind}")
    for case in cases.CLASSIFIERS
    for kind in case.kinds
]


@pytest.fixture
def interpreted(monkeypatch):
    """Interpret every kernel that may be, however large its work; the others are compiled."""
    found = tiers_of("background")
    found.interprets = lambda kernel, work=0: kernel.may_interpret
    monkeypatch.setattr(dispatch, "tiers", found)
    kernels = _kernels()
    runs = {k: k._run for k in kernels}
    for k in kernels:
        k._run = k._choose
    yield found
    for k, run in runs.items():
        k._run = run


def _kernels():
    """Return all kernels of the package that have been imported."""
    modules = [m for name, m in sys.modules.items() if name.endswith("kernels")]
    return {k for m in modules for k in vars(m).values() if isinstance(k, dispatch.Kernel)}


@pytest.mark.one_in(8)
@pytest.mark.parametrize(("case", "kind"), ROWS)
def test_what_is_stored_has_the_same_bits(interpreted, tmp_path, case, kind):
    data = cases.make_data(kind)
    fitted = cases.fit(case, data)
    probabilities = fitted.predict_proba(data.pandas())
    # Streams have only kernels that are always compiled.
    assert interpreted.spent > 0 or case.name.startswith("streaming")
    interpreted.interprets = lambda kernel, work=0: False
    other = cases.fit(case, data)
    np.testing.assert_allclose(
        probabilities, other.predict_proba(data.pandas()), rtol=0, atol=1e-12
    )
    fitted.save(tmp_path / "one.bayesgraph")
    other.save(tmp_path / "other.bayesgraph")
    one, two = (tmp_path / f"{name}.bayesgraph" for name in ("one", "other"))
    assert one.read_bytes() == two.read_bytes()
