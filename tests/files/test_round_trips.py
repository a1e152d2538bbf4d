"""Random models through each format and back."""

from __future__ import annotations

import datetime
import tempfile
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bayesgraph as bg
from bayesgraph.core.errors import LossyExportError
from bayesgraph.files.bif import format_bif, parse_bif

SCALARS = (
    st.text(max_size=6)
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.binary(max_size=4)
    | st.decimals(allow_nan=False)
    | st.fractions()
    | st.dates()
    | st.times().map(lambda time: time.replace(fold=0))
    | st.datetimes().map(lambda time: time.replace(fold=0))
    | st.datetimes(timezones=st.just(datetime.UTC)).map(lambda time: time.replace(fold=0))
    | st.timedeltas()
)
VALUES = SCALARS | st.tuples(SCALARS, st.tuples(SCALARS | st.none()))
# What can stand between quotes on one line.
WORDS = st.text(max_size=6).filter(
    lambda text: '"' not in text and text.splitlines() in ([text], [])
)
PGMPY_VALUES = st.text(max_size=6) | st.booleans() | st.integers(-5, 5)


def typed(value: object) -> tuple[type, object]:
    return type(value), value


@st.composite
def networks(
    draw: Any, names: Any = VALUES, states: Any = VALUES, *, families: Any = ("table",)
) -> bg.BayesianNetwork:
    labels = draw(st.lists(names, min_size=1, max_size=5, unique=True))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    variables: list[Any] = []
    cpds: list[Any] = []
    for label in labels:
        before = [v for v in variables if random.random() < 0.6]
        family = families[random.integers(len(families))]
        if family == "table":
            before = [v for v in before if isinstance(v, bg.Discrete)]
            variable = bg.Discrete(
                label, draw(st.lists(states, min_size=1, max_size=3, unique_by=typed))
            )
            cpds.append(bg.TableCPD(variable, rows(random, before, variable), before))
        else:
            if families == ("gaussian",):
                before = [v for v in before if isinstance(v, bg.Continuous)]
            variable = bg.Continuous(label)
            cpds.append(gaussian(random, before, variable))
        variables.append(variable)
    # Neither the order of the CPDs nor that of the parents is topological.
    order = random.permutation(len(cpds))
    arcs = [(p.name, c.variable.name) for c in cpds for p in c.parents if random.random() < 0.5]
    return bg.BayesianNetwork(
        [cpds[i] for i in order], arc_scores={arc: float(random.normal()) for arc in arcs}
    )


def rows(random: np.random.Generator, parents: list[Any], child: bg.Discrete) -> np.ndarray:
    random.shuffle(parents)
    values = random.dirichlet(np.ones(child.cardinality), [p.cardinality for p in parents])
    values[..., 0] = np.where(random.random(values.shape[:-1]) < 0.2, 0.0, values[..., 0])
    total = values.sum(axis=-1, keepdims=True)
    return np.where(total > 0, values / np.where(total > 0, total, 1.0), 1.0 / child.cardinality)


def gaussian(random: np.random.Generator, parents: list[Any], child: Any) -> bg.GaussianCPD:
    random.shuffle(parents)
    shape = [p.cardinality for p in parents if isinstance(p, bg.Discrete)]
    n = sum(isinstance(p, bg.Continuous) for p in parents)
    return bg.GaussianCPD(
        child,
        random.normal(size=shape) * 10.0 ** random.integers(-200, 200),
        random.gamma(1.0, size=shape) * 10.0 ** random.integers(-200, 200) + 1e-250,
        parents,
        random.normal(size=(*shape, n)),
    )


def assert_same(one: Any, other: Any) -> None:
    """Everything is the same: order and types of names and states, the bits of the numbers."""
    assert type(other) is type(one)
    assert [signature(v) for v in other.variables] == [signature(v) for v in one.variables]
    if isinstance(one, bg.FactorGraph):
        assert other.domain == one.domain
        for left, right in zip(one.terms, other.terms, strict=True):
            assert_same_bits(left.exponent, right.exponent)
            assert type(left.source) is type(right.source)
            if isinstance(left.source, bg.Factor):
                assert right.source.scope == left.source.scope
                assert_same_bits(left.source.log_values, right.source.log_values)
            else:
                assert right.source == left.source
        return
    assert other == one
    assert other.arc_scores == one.arc_scores
    for left, right in zip(one.cpds, other.cpds, strict=True):
        assert [signature(v) for v in right.scope] == [signature(v) for v in left.scope]
        for attribute in ("values", "mean", "variance", "coefficients"):
            if hasattr(left, attribute):
                assert_same_bits(getattr(left, attribute), getattr(right, attribute))


def signature(variable: Any) -> tuple[Any, ...]:
    states = [repr(typed(s)) for s in variable.states] if isinstance(variable, bg.Discrete) else []
    return type(variable), repr(variable.name), states


def assert_same_bits(one: np.ndarray, other: np.ndarray) -> None:
    assert one.shape == other.shape
    assert one.dtype == other.dtype
    assert np.ascontiguousarray(one).tobytes() == np.ascontiguousarray(other).tobytes()


def saved_and_loaded(model: Any) -> Any:
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "model.bayesgraph")
        model.save(path)
        first = path.read_bytes()
        back = bg.load(path)
        back.save(path)
        assert path.read_bytes() == first
        return back


@given(networks(families=("table", "gaussian")))
def test_native_keeps_networks(network: bg.BayesianNetwork) -> None:
    assert_same(network, saved_and_loaded(network))


@given(networks(families=("table", "gaussian")), st.sampled_from(["nonnegative", "free", "unit"]))
def test_native_keeps_factor_graphs(network: bg.BayesianNetwork, domain: str) -> None:
    random = np.random.default_rng(0)
    sources: list[Any] = [*network.cpds]
    sources += [
        bg.Factor([variable], random.gamma(0.5, size=variable.cardinality))
        for variable in network.variables
        if isinstance(variable, bg.Discrete)
    ]
    exponents: list[Any] = [random.random() for _ in sources]
    exponents[0] = None
    if isinstance(sources[-1], bg.Factor):
        exponents[-1] = random.random(sources[-1].log_values.shape[1:])
    graph = bg.FactorGraph(sources, exponents=exponents, domain=domain)
    assert_same(graph, saved_and_loaded(graph))


@given(networks(names=WORDS, states=WORDS))
def test_bif_keeps_networks_of_text(network: bg.BayesianNetwork) -> None:
    assert_same(network, parse_bif(format_bif(network)))


@given(networks())
def test_bif_restores_networks_of_everything(network: bg.BayesianNetwork) -> None:
    assert_same(network, parse_bif(format_bif(network, strict=False)))


@given(networks(names=PGMPY_VALUES, states=PGMPY_VALUES))
def test_pgmpy_refuses_or_keeps_tables(network: bg.BayesianNetwork) -> None:
    pytest.importorskip("pgmpy.models")
    equal = any(len(set(v.states)) < len(v.states) for v in network.variables)
    try:
        converted = bg.files.to_pgmpy(network)
    except LossyExportError:
        assert equal
        return
    assert not equal
    assert converted.check_model()
    assert_same(network, bg.from_pgmpy(converted))


@given(networks(names=PGMPY_VALUES, families=("gaussian",)))
def test_pgmpy_keeps_linear_gaussians(network: bg.BayesianNetwork) -> None:
    pytest.importorskip("pgmpy.models")
    converted = bg.files.to_pgmpy(network)
    assert converted.check_model()
    assert_same(network, bg.from_pgmpy(converted))


def test_every_type_of_state() -> None:
    states = [
        True, 1, 1.0, "1", False, 0, 0.0, "", " ", "ü\n\"", 2**53, -(2**70), 10**4000, 0.1,
        1e-320, float("inf"), float("-inf"), b"\x00\xff", (), (1, (True, None, "x")),
        Decimal("1.10"), Decimal("1.1E+5"), Fraction(1, 3), datetime.date(1, 2, 3),
        datetime.time(1, 2, 3, 4), datetime.datetime(2020, 1, 1, 1, 1, 1, 1),
        datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=5.5))),
        datetime.timedelta(-1, 2, 3), "\ud800", np.int64(7), np.float32(0.5), np.str_("numpy"),
    ]  # fmt: skip
    variable = bg.Discrete(("name", 1), states)
    network = bg.BayesianNetwork([bg.TableCPD(variable, np.full(len(states), 1 / len(states)))])
    back = saved_and_loaded(network)
    assert_same(network, back)
    assert back.query(("name", 1))[1.0] == network.query(("name", 1))[1.0]


@pytest.mark.parametrize("suffix", ["bayesgraph", "bif", "bif.gz"])
def test_posteriors_stay_the_same(tmp_path: Path, suffix: str) -> None:
    random = np.random.default_rng(1)
    a, b, c = (bg.Discrete(name, list("uvwx")[:n]) for name, n in [("a", 2), ("b", 3), ("c", 4)])
    network = bg.BayesianNetwork(
        [
            bg.TableCPD(c, rows(random, [], c)),
            bg.TableCPD(a, random.dirichlet([1, 1], (4, 3)), [c, b]),
            bg.TableCPD(b, random.dirichlet([1, 1, 1], 4), [c]),
        ]
    )
    network.save(tmp_path / f"net.{suffix}")
    back = bg.load(tmp_path / f"net.{suffix}")
    assert_same(network, back)
    for target, evidence in [("c", {"a": "v"}), ("b", {}), (["b", "c"], {"a": "u"})]:
        before, after = network.query(target, evidence), back.query(target, evidence)
        assert dict(before) == dict(after)
