"""Bayesian networks: what is accepted and refused, evidence of all sorts, sampling, copies."""

import copy
import math
import pickle

import narwhals as nw
import networkx as nx
import numpy as np
import oracle as brute
import pandas as pd
import polars as pl
import pytest
from scipy import stats

import bayesgraph as bg
from bayesgraph.core import Evidence
from bayesgraph.core.errors import (
    DataError,
    DataTypeError,
    EvidenceError,
    GraphError,
    ImpossibleEvidenceError,
    ModelError,
    UnknownStateError,
    UnknownVariableError,
)

RAIN = bg.Discrete("rain", ["no", "yes"])
WET = bg.Discrete("wet", [False, True])
TEMP = bg.Continuous("temp")


def cpds():
    return [
        bg.TableCPD(WET, [[0.9, 0.1], [0.2, 0.8]], parents=[RAIN]),
        bg.TableCPD(RAIN, [0.8, 0.2]),
        bg.GaussianCPD(TEMP, [20.0, 14.0], [9.0, 4.0], parents=[RAIN]),
    ]


@pytest.fixture
def net():
    return bg.BayesianNetwork(cpds())


# ------------------------------------------------------------------------------- construction


def test_variables_keep_the_order_of_their_cpds(net):
    assert net.names == ("wet", "rain", "temp")
    assert net.variables == (WET, RAIN, TEMP)
    assert list(net.graph.nodes) == ["wet", "rain", "temp"]
    assert set(net.graph.edges) == {("rain", "wet"), ("rain", "temp")}
    assert net.n_parameters == 2 + 1 + 4
    assert net["wet"] == cpds()[0]
    assert net.variable("wet") == WET
    assert repr(net) == "BayesianNetwork with 3 variables, 2 arcs and 7 parameters"
    assert bg.BayesianNetwork(iter(cpds())) == net


def test_the_graph_is_a_frozen_digraph(net):
    assert isinstance(net.graph, nx.DiGraph)
    with pytest.raises(nx.NetworkXError):
        net.graph.add_edge("wet", "temp")


def test_arc_scores():
    scored = bg.BayesianNetwork(cpds(), arc_scores={("rain", "wet"): 0.25})
    assert scored.graph.edges["rain", "wet"]["score"] == 0.25
    for arc in (("wet", "rain"), ("rain", "snow")):
        with pytest.raises(ModelError, match="not an arc"):
            bg.BayesianNetwork(cpds(), arc_scores={arc: 1.0})


def test_what_is_refused():
    with pytest.raises(ModelError, match="at least one CPD"):
        bg.BayesianNetwork([])
    for wrong in (RAIN, "rain", ("rain", "wet"), None, bg.Factor([RAIN], [1, 1])):
        with pytest.raises(ModelError, match="takes CPDs"):
            bg.BayesianNetwork([wrong])
    with pytest.raises(ModelError, match="More than one CPD for 'rain'"):
        bg.BayesianNetwork([*cpds(), bg.TableCPD(RAIN, [0.5, 0.5])])
    with pytest.raises(ModelError, match="More than one CPD for 'rain'"):
        bg.BayesianNetwork([*cpds(), bg.GaussianCPD(bg.Continuous("rain"), 0, 1)])
    with pytest.raises(ModelError, match="parent 'rain', which has no CPD of its own"):
        bg.BayesianNetwork([cpds()[0]])
    with pytest.raises(ModelError, match="Did you mean 'Rain'"):
        bg.BayesianNetwork([cpds()[0], bg.TableCPD(bg.Discrete("Rain", [0, 1]), [0.5, 0.5])])


@pytest.mark.parametrize(
    "other",
    [
        bg.Discrete("rain", ["yes", "no"]),
        bg.Discrete("rain", ["no", "YES"]),
        bg.Discrete("rain", [0, 1]),
    ],
)
def test_a_parent_whose_states_differ_is_refused(other):
    with pytest.raises(ModelError, match=r"'rain'.*must agree"):
        bg.BayesianNetwork([cpds()[0], bg.TableCPD(other, [0.5, 0.5])])


def test_a_parent_of_another_type_is_refused():
    x = bg.Continuous("x")
    child = bg.GaussianCPD(x, 0.0, 1.0, parents=[bg.Continuous("rain")], coefficients=[1.0])
    with pytest.raises(ModelError, match="must agree"):
        bg.BayesianNetwork([child, bg.TableCPD(RAIN, [0.5, 0.5])])


def test_a_cycle_is_named():
    nodes = [bg.Discrete(name, [0, 1]) for name in "abcd"]
    table = np.full((2, 2), 0.5)
    arcs = [bg.TableCPD(nodes[i], table, parents=[nodes[(i - 1) % 3]]) for i in range(3)]
    with pytest.raises(GraphError, match="cycle") as error:
        bg.BayesianNetwork([*arcs, bg.TableCPD(nodes[3], table, parents=[nodes[0]])])
    path = str(error.value).split("cycle: ")[1].split(".")[0].split(" -> ")
    assert path[0] == path[-1]
    assert sorted(path[1:]) == ["'a'", "'b'", "'c'"]


# ----------------------------------------------------------------------------------- evidence


@pytest.mark.parametrize(
    "missing",
    [None, math.nan, np.nan, np.float32("nan"), pd.NA, pd.NaT, np.datetime64("NaT"), np.ma.masked],
    ids=repr,
)
def test_missing_values_mean_not_observed(net, missing):
    expected = net.query("rain", {"wet": True}).probabilities
    given = {"wet": True, "temp": missing}
    assert net.query("rain", given).probabilities.tolist() == expected.tolist()
    assert net.log_probability(given) == net.log_probability({"wet": True})
    assert set(net.most_probable({"wet": missing, "temp": missing})) == {"wet", "rain", "temp"}
    assert net.query("wet", {"wet": missing}).argmax is False


@pytest.mark.parametrize(
    ("name", "value", "plain"),
    [
        ("wet", np.True_, True),
        ("wet", 1, True),
        ("wet", np.int64(0), False),
        ("wet", 1.0, True),
        ("wet", np.array(True), True),
        ("rain", np.str_("yes"), "yes"),
        ("rain", np.array("yes"), "yes"),
        ("temp", np.float32(13), 13.0),
        ("temp", np.int8(13), 13.0),
        ("temp", np.array(13.0), 13.0),
        ("temp", 13, 13.0),
    ],
)
def test_numpy_values_in_evidence(net, name, value, plain):
    target = "wet" if name == "rain" else "rain"
    got = net.query(target, {name: value}).probabilities
    assert got.tolist() == net.query(target, {name: plain}).probabilities.tolist()


def test_state_identity_in_evidence():
    states = [True, 1, 1.0, "1"]
    a, b = bg.Discrete("a", states), bg.Discrete("b", [0, 1])
    table = [[0.1, 0.9], [0.2, 0.8], [0.3, 0.7], [0.4, 0.6]]
    net = bg.BayesianNetwork([bg.TableCPD(a, [0.25] * 4), bg.TableCPD(b, table, parents=[a])])
    for code, state in enumerate(states):
        assert net.query("b", {"a": state})[0] == pytest.approx(0.1 * (code + 1))
        assert net.query("a")[state] == pytest.approx(0.25)
    assert net.query("b", {"a": np.float64(1)})[0] == pytest.approx(0.3)
    soft = net.query("b", {"a": np.array([0.0, 0.0, 0.0, 1.0])})
    assert soft[0] == pytest.approx(0.4)
    drawn = net.sample(200, random_state=0)["a"]
    assert {(type(v), v) for v in drawn} == {(type(s), s) for s in states}


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        ({"wett": True}, UnknownVariableError, "no variable 'wett'. Did you mean 'wet'"),
        ({"Wet": True}, UnknownVariableError, "Did you mean 'wet'"),
        ({"snow": 1}, UnknownVariableError, "It has 'wet', 'rain', 'temp'"),
        ({1: True}, UnknownVariableError, "no variable 1"),
        ({"rain": "maybe"}, UnknownStateError, "no state 'maybe'. Its states are 'no', 'yes'"),
        ({"rain": "Yes"}, UnknownStateError, "Did you mean 'yes'"),
        ({"wet": "True"}, UnknownStateError, "Did you mean True"),
        ({"wet": 2}, UnknownStateError, "no state 2"),
        ({"rain": ["yes"]}, EvidenceError, "takes numbers"),
        ({"rain": [0.5, 0.2, 0.3]}, EvidenceError, "takes 2 likelihoods"),
        ({"rain": ("yes",)}, UnknownStateError, "no state"),
        ({"temp": "13"}, EvidenceError, "takes a number; got '13'"),
        ({"temp": "warm"}, EvidenceError, "takes a number"),
        ({"temp": math.inf}, EvidenceError, "finite number"),
        ({"temp": [13.0]}, EvidenceError, "continuous"),
        ({"temp": {13.0: 1.0}}, EvidenceError, "continuous"),
        ({"temp": np.array([13.0])}, EvidenceError, "continuous"),
        ({"temp": np.array([[13.0]])}, EvidenceError, "'temp'"),
        ({"rain": np.eye(2)}, EvidenceError, "'rain'"),
        ([("wet", True)], EvidenceError, "mapping"),
        ("wet", EvidenceError, "mapping"),
        ({"wet"}, EvidenceError, "mapping"),
        (True, EvidenceError, "mapping"),
    ],
)
def test_evidence_that_does_not_fit(net, given, kind, message):
    target = "wet" if isinstance(given, dict) and "rain" in given else "rain"
    questions = (
        lambda: net.query(target, given),
        lambda: net.most_probable(given),
        lambda: net.log_probability(given),
    )
    for question in questions:
        with pytest.raises(kind, match="(?s)" + message):
            question()


def test_targets_that_do_not_fit(net):
    with pytest.raises(UnknownVariableError, match="Did you mean 'rain'"):
        net.query("rian")
    with pytest.raises(EvidenceError, match="targets come first"):
        net.query({"wet": True})
    ask = net.ask
    for question in (net.contributions, ask.explanation, ask.next_question, ask.flip, ask.tornado):
        with pytest.raises(EvidenceError, match=r"come first.*: evidence=\{'wet': True\}\."):
            question({"wet": True})
    with pytest.raises(EvidenceError, match="at least one target"):
        net.query([])
    with pytest.raises(EvidenceError, match="named once"):
        net.query(["rain", "rain"])
    with pytest.raises(EvidenceError, match="both a target and observed"):
        net.query("rain", {"rain": "yes"})
    with pytest.raises(EvidenceError, match="both a target and observed"):
        net.query(["wet", "temp"], {"temp": 3.0})
    with pytest.raises(UnknownVariableError):
        net.query({"rain"})
    with pytest.raises(UnknownVariableError, match="Did you mean 'temp'"):
        net["tmp"]
    with pytest.raises(UnknownVariableError):
        net.variable(["temp"])


def test_impossible_evidence_is_named():
    a, b = bg.Discrete("a", ["p", "q"]), bg.Discrete("b", [0, 1])
    x = bg.Continuous("x")
    net = bg.BayesianNetwork(
        [
            bg.TableCPD(a, [0.0, 1.0]),
            bg.TableCPD(b, [[0.5, 0.5], [1.0, 0.0]], parents=[a]),
            bg.GaussianCPD(x, 0.0, 1.0),
        ]
    )
    for given in ({"b": 1}, {"a": "p"}, {"a": "p", "x": 3.0}, {"a": "q", "b": 1}):
        with pytest.raises(ImpossibleEvidenceError, match="probability zero") as error:
            net.most_probable(given)
        for name, value in given.items():
            assert f"{name!r}: {value!r}" in str(error.value)
        assert net.log_probability(given) == -math.inf
        for target in {"a", "b", "x"} - set(given):
            with pytest.raises(ImpossibleEvidenceError):
                net.query(target, given)
    with pytest.raises(ImpossibleEvidenceError):
        net.query("x", {"b": {0: 0.0, 1: 1.0}})
    with pytest.raises(ImpossibleEvidenceError):
        net.query("a", {"a": {"p": 0.7, "q": 0.0}})


def test_queries_change_nothing(net):
    given = {"wet": np.array([0.5, 0.5]), "temp": None}
    before = copy.deepcopy(given)
    first = net.query("rain", given).probabilities.tolist()
    net.query("temp", {"wet": True})
    net.most_probable()
    assert net.query("rain", given).probabilities.tolist() == first
    assert given["wet"].tolist() == before["wet"].tolist()
    assert net == bg.BayesianNetwork(cpds())


# ------------------------------------------------------------------------------ soft evidence


def test_soft_evidence(net):
    for given in ({False: 0.5, True: 1.0}, np.array([0.5, 1.0]), {True: 2.0, False: 1.0}):
        posterior = net.query("rain", {"wet": given})
        weights = np.array([0.8 * (0.9 * 0.5 + 0.1), 0.2 * (0.2 * 0.5 + 0.8)])
        assert posterior.probabilities == pytest.approx(weights / weights.sum())
    assert net.log_probability({"wet": {False: 0.5, True: 1.0}}) == pytest.approx(math.log(0.62))
    # The variable itself may be asked for.
    own = net.query("wet", {"wet": {False: 0.5, True: 1.0}})
    assert own[True] == pytest.approx(0.24 / 0.62)


@pytest.mark.parametrize("make", [np.array, pd.Series, pl.Series])
def test_soft_evidence_in_any_sequence(net, make):
    likelihood = [0.1, 0.9]
    assert net.query("rain", {"wet": make(likelihood)}) == net.query("rain", {"wet": likelihood})


def test_soft_evidence_on_one_state_is_hard_evidence(net):
    soft = net.query("rain", {"wet": {False: 0, True: 1}, "temp": 15.0})
    hard = net.query("rain", {"wet": True, "temp": 15.0})
    assert soft.probabilities == pytest.approx(hard.probabilities, abs=1e-12)
    assert soft.log_evidence == pytest.approx(hard.log_evidence, abs=1e-12)


def test_soft_evidence_of_ones_says_nothing(net):
    assert net.query("rain", {"wet": {False: 1, True: 1}})["no"] == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("likelihood", "message"),
    [
        ({True: 0.5}, "likelihood for every state; it lacks False"),
        ({}, "likelihood for every state"),
        ({True: 0.5, False: 0.5, "maybe": 1.0}, "no state 'maybe'"),
        ({True: -0.5, False: 0.5}, "non-negative"),
        ({True: math.nan, False: 0.5}, "non-negative"),
        ({True: math.inf, False: 0.5}, "finite"),
        ({True: "x", False: 0.5}, "takes numbers"),
        ({True: None, False: 0.5}, "likelihood for every state; it lacks True"),
        ({True: [0.5], False: [0.5]}, "'wet'"),
        (np.array([0.5]), "2 likelihoods"),
        (np.array([0.5, 0.2, 0.3]), "2 likelihoods"),
        (np.array([0.5, -0.2]), "non-negative"),
        (np.array(["a", "b"]), "takes numbers"),
        (np.array([]), "2 likelihoods"),
    ],
)
def test_soft_evidence_that_is_refused(net, likelihood, message):
    with pytest.raises(EvidenceError, match=message):
        net.query("rain", {"wet": likelihood})


# ----------------------------------------------------------------------------------- sampling


def test_sampling_is_reproducible(net):
    first, again = (net.sample(50, random_state=3) for _ in range(2))
    other = net.sample(50, random_state=4)
    assert list(first) == ["wet", "rain", "temp"]
    for name in first:
        assert first[name].tolist() == again[name].tolist()
    assert first["temp"].tolist() != other["temp"].tolist()
    generator = np.random.default_rng(3)
    assert net.sample(50, random_state=generator)["temp"].tolist() == first["temp"].tolist()
    assert net.sample(50, random_state=generator)["temp"].tolist() != first["temp"].tolist()


def test_samples_have_the_types_of_the_states(net):
    drawn = net.sample(5, random_state=0)
    assert drawn["wet"].dtype == bool
    assert isinstance(drawn, pd.DataFrame)
    assert drawn["temp"].dtype == np.float64
    assert set(drawn["rain"]) <= {"no", "yes"}
    assert net.sample(0, random_state=0).shape == (0, 3)


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "dict"])
def test_samples_are_a_table_of_the_kind_asked_for(net, kind):
    drawn = net.sample(4, {"wet": True}, random_state=0, frame=kind)
    assert type(drawn).__module__.split(".")[0] == {"dict": "builtins"}.get(kind, kind)
    known = nw.from_dict(drawn, backend="pandas") if kind == "dict" else nw.from_native(drawn)
    assert known.columns == ["wet", "rain", "temp"]
    assert known["wet"].to_list() == [True] * 4


def test_tables_that_there_are_not(net):
    with pytest.raises(DataError, match="frame= is one of 'pandas'"):
        net.sample(1, frame="spark")
    odd = bg.BayesianNetwork([bg.TableCPD(bg.Discrete(1, ["a", 2]), [0.5, 0.5])])
    with pytest.raises(DataTypeError, match="polars frame does not hold"):
        odd.sample(9, random_state=0, frame="polars")
    large = bg.BayesianNetwork([bg.TableCPD(bg.Discrete("a", [0, 2**70]), [0.5, 0.5])])
    with pytest.raises(DataTypeError, match=r"pyarrow frame does not hold .*int too large"):
        large.sample(9, random_state=0, frame="pyarrow")


@pytest.mark.parametrize(
    "states",
    [[3, 1, 2], [0.5, 1.5, 2.5], [("a", 1), ("b", 2), ("c",)], [2**70, 1, 0], ["a", "bbb", ""]],
    ids=repr,
)
def test_samples_are_states(states):
    a = bg.Discrete("a", states)
    drawn = bg.BayesianNetwork([bg.TableCPD(a, [0.3, 0.3, 0.4])]).sample(100, random_state=0)["a"]
    assert set(drawn.tolist()) == set(states)
    assert {type(v) for v in drawn.tolist()} == {type(s) for s in states}


@pytest.mark.parametrize("n", [-1, 2.5, "10", None, True])
def test_a_number_of_rows_that_is_none(net, n):
    with pytest.raises((ValueError, TypeError), match="number of rows"):
        net.sample(n)


@pytest.mark.parametrize("seed", [2, 5, 11])
def test_samples_follow_the_joint_distribution(seed):
    network = brute.random_network(seed, n_discrete=4, most_worlds=40, zeros=0.2)
    oracle = brute.Oracle.of(network)
    n = 30_000
    drawn = network.sample(n, random_state=seed)
    codes = []
    for variable in oracle.discrete:
        column = drawn[variable.name]
        place = {(type(s), s): i for i, s in enumerate(variable.states)}
        codes.append([place[type(v), v] for v in column.tolist()])
    shape = tuple(v.cardinality for v in oracle.discrete)
    counts = np.bincount(np.ravel_multi_index(codes, shape), minlength=math.prod(shape))
    expected = oracle.posterior([v.name for v in oracle.discrete]).ravel() * n
    assert (counts[expected == 0] == 0).all()
    large = expected > 5
    if large.sum() > 1:
        rest = [counts[~large].sum()], [expected[~large].sum()]
        seen, hoped = np.append(counts[large], rest[0]), np.append(expected[large], rest[1])
        keep = hoped > 0
        assert stats.chisquare(seen[keep], hoped[keep], sum_check=False).pvalue > 1e-4


def test_samples_have_the_moments_of_a_mixed_network():
    network = brute.random_network(1012, n_discrete=3, n_continuous=3, most_worlds=24)
    oracle = brute.Oracle.of(network)
    names = [v.name for v in oracle.continuous]
    mean, covariance = oracle.moments(names)
    n = 100_000
    drawn = network.sample(n, random_state=1)
    columns = np.stack([drawn[name] for name in names])
    deviation = np.sqrt(np.diag(covariance))
    assert columns.mean(axis=1) / deviation == pytest.approx(mean / deviation, abs=5 / math.sqrt(n))
    scaled = np.cov(columns) / np.outer(deviation, deviation)
    assert scaled == pytest.approx(covariance / np.outer(deviation, deviation), abs=0.05)


# ------------------------------------------------------------------------------------- copies


@pytest.mark.parametrize(
    "clone", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))]
)
@pytest.mark.parametrize("fresh", [True, False])
def test_copies_and_pickles(net, clone, fresh):
    if not fresh:
        net.query("temp", {"wet": True})
        net.log_probability({"temp": 3.0})
    other = clone(net)
    assert other == net
    assert other.names == net.names
    assert repr(other) == repr(net)
    given = {"wet": True, "temp": 13.5}
    assert (
        other.query("rain", given).probabilities.tolist()
        == net.query("rain", given).probabilities.tolist()
    )
    assert (
        other.sample(5, random_state=0)["temp"].tolist()
        == net.sample(5, random_state=0)["temp"].tolist()
    )
    assert set(other.graph.edges) == set(net.graph.edges)
    answers = (
        net.query("rain"),
        net.query(["rain", "wet"]),
        net.query("temp"),
        net.query(["rain", "temp"]),
        net.most_probable(),
        net.plan("rain"),
    )
    for answer in answers:
        assert repr(clone(answer)) == repr(answer)


def test_equality(net):
    assert net != bg.BayesianNetwork(cpds()[:2])
    changed = [cpds()[0], bg.TableCPD(RAIN, [0.7, 0.3]), cpds()[2]]
    assert net != bg.BayesianNetwork(changed)
    assert net != "net"


# --------------------------------------------------------------------- names of other types


def test_names_of_any_type():
    a, b, c = bg.Discrete(1, [0, 1]), bg.Discrete(("t", 2), ["x", "y"]), bg.Continuous(2.5)
    net = bg.BayesianNetwork(
        [
            bg.TableCPD(a, [0.5, 0.5]),
            bg.TableCPD(b, [[0.1, 0.9], [0.8, 0.2]], parents=[a]),
            bg.GaussianCPD(c, [0, 1], 1.0, parents=[b]),
        ]
    )
    assert net.query(("t", 2), {1: 0})["y"] == pytest.approx(0.9)
    assert net.query([1, ("t", 2)], {2.5: 0.3}).names == (1, ("t", 2))
    assert set(net.most_probable()) == {1, ("t", 2), 2.5}
    assert str(net.plan(2.5, [1])).startswith("Plan: eliminate 0 variables, keep 2.5, ('t', 2)")


def test_targets_and_evidence_in_the_forms_people_have(net):
    joint = net.query(["rain", "wet"])
    assert net.query(("rain", "wet")) == joint
    assert net.query(np.array(["rain", "wet"])) == joint
    assert net.query([net.variable("rain"), "wet"]) == joint
    row = pd.Series({"wet": True, "temp": np.nan})
    assert net.query("rain", row) == net.query("rain", {"wet": True})
    with pytest.raises(EvidenceError, match="names a variable more than once"):
        net.query("rain", pd.Series([True, False], index=["wet", "wet"]))
    odd = bg.BayesianNetwork([bg.TableCPD(bg.Discrete(("a", 1), ["x", "y"]), [0.3, 0.7])])
    assert odd.query(("a", 1))["y"] == pytest.approx(0.7)
    assert net.query("temp").std == pytest.approx(net.query("temp").variance ** 0.5)


def test_a_learned_structure_can_be_fitted():
    frame = {"a": list("xyxyxx"), "b": list("uvuvuv"), "c": list("ppqqpq")}
    structure = bg.learning.tan(bg.learning.count_source(frame, target="c"))
    assert bg.BayesianNetwork.fit(structure, frame).graph.edges == structure.graph.edges
    with pytest.raises(GraphError, match="'ab'"):
        bg.BayesianNetwork.fit(["ab"], frame)
    with pytest.raises(GraphError, match=r"got the function 'unrestricted'\. Call it: fit\(unres"):
        bg.BayesianNetwork.fit(bg.learning.unrestricted, frame)
    found = bg.BayesianNetwork.fit(bg.learning.unrestricted(bg.learning.count_source(frame)), frame)
    assert found.names == ("a", "b", "c")


def test_rows_of_a_table_are_asked_at_once(net):
    frame = pd.DataFrame({"wet": [True, None, False], "temp": [13.0, 21.0, np.nan], "more": 1})
    found = net.query_rows("rain", frame)
    for i, row in enumerate(frame.drop(columns="more").to_dict("records")):
        assert found[i] == pytest.approx(net.query("rain", row).probabilities, abs=1e-12)
    with pytest.raises(EvidenceError, match="continuous"):
        net.query_rows("temp", frame)
    sure = bg.BayesianNetwork(
        [
            bg.TableCPD(net.variable("rain"), [1.0, 0.0]),
            bg.TableCPD(net.variable("wet"), [[1.0, 0.0], [0.5, 0.5]], [net.variable("rain")]),
        ]
    )
    with pytest.warns(bg.errors.ImpossibleEvidenceWarning, match="1 of 2 rows"):
        found = sure.query_rows("rain", {"wet": [True, False]})
    assert found[0].tolist() == [1.0, 0.0]  # the prior, as the warning says
    assert found[1].tolist() == [1.0, 0.0]


def test_a_seen_state_counts_with_its_own_likelihood(net):
    rain, wet = net.variable("rain"), net.variable("wet")
    soft = np.log([[0.3, 0.7]])
    seen = Evidence(1, {wet: np.array([1])}, {wet: soft})
    expected = net.log_probability({"wet": True}) + math.log(0.7)
    assert net._log_evidence_rows(seen) == pytest.approx([expected])
    part = Evidence(2, {wet: np.array([1, -1])}, {wet: soft})
    whole = math.log(0.3 * net.query("wet")[False] + 0.7 * net.query("wet")[True])
    assert net._log_evidence_rows(part) == pytest.approx([expected, whole])
    joint = net._log_posterior_rows(rain, seen)[0]
    assert joint - joint.max() == pytest.approx(
        np.log(
            net.query("rain", {"wet": True}).probabilities
            / net.query("rain", {"wet": True})[net.query("rain", {"wet": True}).argmax]
        )
    )


def test_states_that_the_table_lacks_can_be_declared(net):
    rows = {"rain": ["no", "no"], "wet": [True, True], "temp": [1.0, 2.0]}
    assert set(bg.BayesianNetwork.fit(net, rows).variables) == set(net.variables)
    fitted = bg.BayesianNetwork.fit([("rain", "wet")], rows, variables=[net.variable("rain")])
    assert fitted.query("rain")["yes"] == pytest.approx(1 / 4)
    with pytest.raises(bg.errors.UnknownStateError, match="'maybe'"):
        bg.BayesianNetwork.fit([], {"rain": ["maybe"]}, variables=[net.variable("rain")])
    with pytest.raises(UnknownVariableError, match="'rain'"):
        bg.BayesianNetwork.fit([], {"wet": [True]}, variables=[net.variable("rain")])


@pytest.mark.parametrize("limit", ["1GB", -1, True, [1]])
def test_a_limit_that_is_no_number_of_bytes(limit):
    net = bg.BayesianNetwork([bg.TableCPD(bg.Discrete("a", [0, 1]), [0.5, 0.5])])
    for ask in (net.marginals, net.most_probable, net.log_probability):
        with pytest.raises(bg.errors.DataTypeError, match="number of bytes"):
            ask(memory_limit=limit)
    with pytest.raises(bg.errors.DataTypeError, match="number of bytes"):
        net.query("a", memory_limit=limit)


def test_a_network_is_indexed_by_name(net):
    assert net["wet"].variable == WET
    assert "wet" in net
    assert net["wet"] is net[WET]
    assert WET in net
    assert bg.Discrete("wet", ["other"]) not in net
    for strange in (["wet"], ("wet", ["wet"]), None):
        assert strange not in net
    assert len(net) == len(net.names)
    assert list(net) == list(net.names)
    with pytest.raises(UnknownVariableError, match="Did you mean 'rain'"):
        net["rian"]


@pytest.mark.parametrize(("seed", "error"), [(-1, DataError), ("x", DataTypeError)])
def test_seeds_that_are_none(net, seed, error):
    for ask in (net.sample, lambda n, **o: net.weighted_samples("rain", n=n, **o)):
        with pytest.raises(error, match="random_state= is None, a whole"):
            ask(2, random_state=seed)
