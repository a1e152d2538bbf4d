"""Hypothesis runs the same examples every time, without a clock; variants are spared."""

import gc
import os
import zlib

# Kernels are compiled at their first call, here and in processes that tests start. The tier that
# interprets is tested with BAYESGRAPH_COMPILE=never, and by tests/compilation.
os.environ.setdefault("BAYESGRAPH_COMPILE", "inline")
# In continuous integration the library starts no process that compiles; tests wait for one.
os.environ.pop("CI", None)

import pytest
from hypothesis import is_hypothesis_test, settings
from threadpoolctl import threadpool_limits

settings.register_profile("default", derandomize=True, deadline=None, max_examples=10)
settings.register_profile("slow", settings.get_profile("default"), max_examples=100)


def pytest_configure(config):
    """Give laws more examples with `-m slow`, which runs all of them again."""
    settings.load_profile("slow" if config.option.markexpr == "slow" else "default")


# Importing a template would enter it in the lists of the library; `test_templates` does so.
collect_ignore = ["templates"]


def pytest_ignore_collect(collection_path, config):
    """Leave out the tests of an engine that is not asked for, as it takes seconds to import."""
    engine = collection_path.stem.removeprefix("test_")
    return f"not {engine}" in config.option.markexpr.split(" and ") or None


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect tests without looking for garbage: what is made there lives to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.set_threshold(100_000)  # most of what a test makes is in no cycle
        gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """Give each worker files of its own, until one has none left and takes some of another's.

    Neighbouring tests need the same kernels, which two workers would compile at the same time, and
    the same fitted models.
    """
    if config.getoption("dist") != "load":
        return None
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log)


@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc):
    """Leave to `-m slow` what differs from other tests in a parameter only.

    Those are rows of the table, see `cases.is_spared`, and all but every n-th of the repetitions of
    a test marked `one_in(n)`. Tests begin with different ones, so that several tests of the same
    values do not leave out the same. One at least of each test is not slow. A run without slow
    tests does not even make them: three of four items would be for nothing.
    """
    calls = metafunc._calls
    if not calls:
        return
    is_slow = _slow_by_case(metafunc.definition.originalname, calls)
    one_in = metafunc.definition.get_closest_marker("one_in")
    if one_in:
        _slow_by_number(metafunc.definition.originalname, one_in.args[0], is_slow)
    for call, slow in zip(calls, is_slow, strict=True):
        if slow and not _is_marked_slow(call):
            call.marks.append(pytest.mark.slow.mark)
    if "not slow" in metafunc.config.option.markexpr.split(" and "):
        # Without a call pytest would take the test for one without parameters.
        calls[:] = [c for c in calls if not _is_marked_slow(c)] or calls[:1]


def _is_marked_slow(call):
    return any(mark.name == "slow" for mark in call.marks)


def _slow_by_case(test, calls):
    """Tell of each call whether it is slow by its own mark or by its row of the table."""
    import cases  # here, as the process that starts workers collects nothing and needs no library

    return [
        _is_marked_slow(call)
        or (
            isinstance(call.params.get("case"), cases.Case) and cases.is_spared(test, **call.params)
        )
        for call in calls
    ]


def _slow_by_number(test, n, is_slow):
    """Make all calls slow but every n-th of those that are not."""
    repeated = [k for k, slow in enumerate(is_slow) if not slow]
    first = zlib.crc32(test.encode()) % max(min(n, len(repeated)), 1)
    for number, k in enumerate(repeated):
        is_slow[k] = (number - first) % n != 0


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Mark laws as slow where `-m slow` gives them more examples."""
    if config.option.markexpr != "slow":
        return
    for item in items:
        if is_hypothesis_test(getattr(item, "obj", None)):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True, scope="session")
def _one_thread():
    """Keep matrix products on one thread: two workers with more of them wait for each other."""
    with threadpool_limits(1):
        yield


@pytest.fixture(autouse=True)
def _skip_what_a_case_is_without(request):
    """Skip a test that cannot apply to a row of the table in cases.py."""
    case = request.node.callspec.params.get("case") if hasattr(request.node, "callspec") else None
    reason = getattr(case, "without", {}).get(getattr(request.node, "originalname", ""))
    if reason:
        pytest.skip(reason)


@pytest.fixture(autouse=True, scope="session")
def _short_training():
    """Let trainings without a bound of their own take 100 steps: few tests look at the numbers.

    Those of `learning/loglinear` do, and train to the end; so do processes that tests start.
    """
    from bayesgraph.classifiers import bayesian_network

    full = bayesian_network.Effort
    bayesian_network.Effort = lambda steps, *others: full(steps or 100, *others)
    yield
    bayesian_network.Effort = full


@pytest.fixture
def figures_are_not_drawn(monkeypatch):
    """Make figures, and write none of their pixels: tests of plots and single examples do."""
    from matplotlib.figure import Figure

    monkeypatch.setattr(Figure, "savefig", lambda figure, buffer, **_: buffer.write(b"figure"))
