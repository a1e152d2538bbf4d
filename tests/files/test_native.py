"""The native format: what it refuses to save and what it refuses to load."""

from __future__ import annotations

import datetime
import enum
import hashlib
import io
import json
import os
import subprocess
import sys
import zipfile
import zoneinfo
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from forgery import forged
from tree_oracle import random_tree_network

import bayesgraph as bg
from bayesgraph.core.errors import BayesGraphError, FileFormatError, LossyExportError
from bayesgraph.files import archive, native, payloads
from bayesgraph.files import archive as json_values


class Colour(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    LOW = 1


class Text(str):
    __slots__ = ()


@pytest.fixture
def net() -> bg.BayesianNetwork:
    rain, wet = bg.Discrete("rain", ["no", "yes"]), bg.Discrete("wet", [False, True, 1])
    temp, wind = bg.Continuous("temp"), bg.Continuous(("wind", 1))
    return bg.BayesianNetwork(
        [
            bg.TableCPD(wet, [[0.7, 0.2, 0.1], [0.1, 0.2, 0.7]], parents=[rain]),
            bg.TableCPD(rain, [0.8, 0.2]),
            bg.GaussianCPD(temp, [20, 14], [9, 4], parents=[wind, rain], coefficients=[[1], [2]]),
            bg.GaussianCPD(wind, 3, 1e-3),
        ],
        arc_scores={("rain", "temp"): 0.25, ("rain", "wet"): float("inf")},
    )


@pytest.fixture
def path(net: bg.BayesianNetwork, tmp_path: Path) -> Path:
    net.save(tmp_path / "net.bayesgraph")
    return tmp_path / "net.bayesgraph"


def test_the_file_is_a_zip_that_numpy_and_json_read(net: bg.BayesianNetwork, path: Path) -> None:
    with zipfile.ZipFile(path) as file:
        assert file.testzip() is None
        assert file.namelist()[0] == "header.json"
        header = json.loads(file.read("header.json"))
        values = np.load(io.BytesIO(file.read("table.values.npy")), allow_pickle=False)
    assert (header["format"], header["version"], header["kind"]) == ("bayesgraph", 1, "network")
    np.testing.assert_array_equal(values, [0.7, 0.2, 0.1, 0.1, 0.2, 0.7, 0.8, 0.2])
    back = bg.load(path)
    assert back == net
    assert back.arc_scores == net.arc_scores
    assert back.query("rain", {"temp": 13.0}) == net.query("rain", {"temp": 13.0})


def test_loaded_arrays_are_aligned_and_their_own(net: bg.BayesianNetwork, path: Path) -> None:
    for cpd in bg.load(path).cpds:
        for name in ("values", "mean", "variance", "coefficients"):
            if hasattr(cpd, name):
                assert getattr(cpd, name).flags.aligned
                assert getattr(cpd, name).base is None


def test_same_model_same_bytes(net: bg.BayesianNetwork, path: Path, tmp_path: Path) -> None:
    net.save(tmp_path / "other.bayesgraph")
    assert (tmp_path / "other.bayesgraph").read_bytes() == path.read_bytes()
    assert hashlib.sha256(path.read_bytes()[:-64]).hexdigest().encode() == path.read_bytes()[-64:]


def test_a_factor_graph_answers_the_same(net: bg.BayesianNetwork, tmp_path: Path) -> None:
    graph = bg.FactorGraph.of(net, {"temp": [0.5, 0.25], "wet": 2.0}, domain="free")
    graph.save(tmp_path / "graph.bayesgraph")
    back = bg.load(tmp_path / "graph.bayesgraph")
    evidence = {"temp": 3.0, "wet": True}
    assert dict(back.query("rain", evidence)) == dict(graph.query("rain", evidence))
    assert back.log_partition == graph.log_partition


def test_factors_of_a_batch_keep_their_rows(tmp_path: Path) -> None:
    a = bg.Discrete("a", [0, 1])
    factor = bg.Factor.from_log([a], np.log([[0.5, 0.5], [1e-300, 2.0], [3.0, 1.0]]))
    bg.FactorGraph([factor]).save(tmp_path / "graph.bayesgraph")
    back = bg.load(tmp_path / "graph.bayesgraph").terms[0].source
    np.testing.assert_array_equal(back.log_values, factor.log_values)


# --------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    "state",
    [
        Colour.RED,
        Level.LOW,
        Text("subclass of str"),
        frozenset({1}),
        complex(1, 2),
        ("nested", (Colour.RED,)),
        ("nested", float("nan")),
        datetime.datetime(2020, 1, 1, tzinfo=zoneinfo.ZoneInfo("UTC")),
        datetime.datetime(2020, 1, 1, fold=1),
        datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(0), "name")),
    ],
    ids=repr,
)
def test_states_of_other_types_are_refused(tmp_path: Path, state: Any) -> None:
    path = tmp_path / "net.bayesgraph"
    path.write_bytes(b"old")
    net = bg.BayesianNetwork([bg.TableCPD(bg.Discrete("odd", ["x", state]), [0.5, 0.5])])
    with pytest.raises(LossyExportError, match=r"The state .* of .*'odd'.*cannot hold it"):
        net.save(path)
    named = bg.BayesianNetwork([bg.GaussianCPD(bg.Continuous(state), 0, 1)])
    with pytest.raises(LossyExportError, match=r"The name .*cannot hold it"):
        named.save(path)
    assert path.read_bytes() == b"old"


def test_models_and_families_of_other_types_are_refused(tmp_path: Path) -> None:
    class Sub(bg.BayesianNetwork):
        pass

    class OwnTable(bg.TableCPD):
        pass

    a = bg.Discrete("a", [0, 1])
    with pytest.raises(LossyExportError, match="does not hold Sub; it holds 'network'"):
        native.native_bytes(Sub([bg.TableCPD(a, [0.5, 0.5])]))
    with pytest.raises(LossyExportError, match="does not hold dict"):
        native.native_bytes({})
    with pytest.raises(LossyExportError, match="no entry for OwnTable; it holds TableCPD"):
        bg.BayesianNetwork([OwnTable(a, [0.5, 0.5])]).save(tmp_path / "net.bayesgraph")


def test_a_family_can_be_added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class OwnTable(bg.TableCPD):
        pass

    families = {**payloads.STORED, "own": OwnTable}
    monkeypatch.setattr(payloads, "STORED", families)
    net = bg.BayesianNetwork([OwnTable(bg.Discrete("a", [0, 1]), [0.5, 0.5])])
    net.save(tmp_path / "net.bayesgraph")
    assert type(bg.load(tmp_path / "net.bayesgraph").cpds[0]) is OwnTable
    monkeypatch.undo()
    with pytest.raises(FileFormatError, match="unknown family 'own'"):
        bg.load(tmp_path / "net.bayesgraph")


class Toy:
    """A model of a kind of its own, with an array of integers and a network inside."""

    def __init__(self, counts: Any, network: bg.BayesianNetwork) -> None:
        self.counts = counts
        self.network = network


TOY = payloads.Record(
    lambda model: type(model) is Toy,
    lambda model: {"counts": model.counts, "network": model.network},
    Toy,
)


def test_a_kind_can_be_added(
    net: bg.BayesianNetwork, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native, "KINDS", dict(native.KINDS))
    monkeypatch.setitem(payloads.RECORDS, "toy", TOY)
    native.KINDS["toy"] = "bayesgraph.files.payloads"
    counts = np.arange(6, dtype=np.int32).reshape(2, 3).T
    native.FORMAT.write(Toy(counts, net), tmp_path / "toy.bayesgraph")
    back = bg.load(tmp_path / "toy.bayesgraph")
    np.testing.assert_array_equal(back.counts, counts)
    assert back.counts.dtype == np.int32
    assert back.counts.flags.writeable
    assert back.network == net
    monkeypatch.undo()
    with pytest.raises(FileFormatError, match=r"kind 'toy'.*upgrade"):
        bg.load(tmp_path / "toy.bayesgraph")


def test_groups_are_of_one_dtype_of_numbers() -> None:
    arrays = archive.ArrayWriter()
    assert arrays.add("a", [[1.0]]) == {"array": "a", "at": 0, "shape": [1, 1]}
    assert arrays.add("a", 2.0) == {"array": "a", "at": 1, "shape": []}
    with pytest.raises(TypeError, match="group 'a' is of float64; got int"):
        arrays.add("a", [1])
    with pytest.raises(TypeError, match="arrays of numbers"):
        arrays.add("b", np.array([None]))


# ------------------------------------------------------------------------------------ damaged files

# Every tenth byte of a file, from one of the first ten on.
a_tenth = pytest.mark.parametrize("first", range(10))


@pytest.mark.one_in(10)
@a_tenth
def test_every_truncation_is_seen(path: Path, first: int) -> None:
    data = path.read_bytes()
    for size in range(first, len(data), 10):
        path.write_bytes(data[:size])
        with pytest.raises(FileFormatError, match=r"truncated|is empty|native format"):
            bg.load(path)


@pytest.mark.one_in(30)
@a_tenth
@pytest.mark.parametrize("mask", [0x01, 0x20, 0xFF])
def test_every_altered_byte_is_seen(path: Path, first: int, mask: int) -> None:
    data = path.read_bytes()
    for at in range(first, len(data), 10):
        path.write_bytes(data[:at] + bytes([data[at] ^ mask]) + data[at + 1 :])
        with pytest.raises(FileFormatError):
            bg.load(path)


def test_what_was_put_before_or_after_is_seen(path: Path) -> None:
    data = path.read_bytes()
    for changed in (data + b"\n", b"\n" + data, data + data):
        path.write_bytes(changed)
        with pytest.raises(FileFormatError):
            bg.load(path)


def test_a_repacked_file_is_altered(path: Path) -> None:
    with zipfile.ZipFile(path) as file:
        members = {name: file.read(name) for name in file.namelist()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content)
    with pytest.raises(FileFormatError, match="checksum does not match"):
        bg.load(path)


@pytest.mark.parametrize(
    "content", [b"network x {}", b"PK\x03\x04", b"PK" * 500, b"\x80\x04K\x01."]
)
def test_other_files(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(FileFormatError, match="not a file of bayesgraph's native format"):
        bg.load(path)


def test_a_newer_version_asks_for_an_upgrade(path: Path) -> None:
    forged(path, lambda header: header.update(version=2, model="of another shape"))
    with pytest.raises(FileFormatError, match=r"newer bayesgraph \(format version 2.*upgrade"):
        bg.load(path)
    # Even where the newer version has another way to check its files.
    data = path.read_bytes()
    path.write_bytes(data[:-1] + b"x")
    with pytest.raises(FileFormatError, match="newer bayesgraph"):
        bg.load(path)


def test_forging_keeps_a_good_file(net: bg.BayesianNetwork, path: Path) -> None:
    forged(path, lambda header: None)
    assert bg.load(path) == net


def npy(array: Any, **kwargs: Any) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.asarray(array), **kwargs)
    return stream.getvalue()


def _cpd(header: dict[str, Any], at: int = 0) -> dict[str, Any]:
    cpd: dict[str, Any] = header["model"]["cpds"][at]
    return cpd


def _network(header: dict[str, Any]) -> dict[str, Any]:
    network: dict[str, Any] = header["model"]["network"]
    return network


def _scores(header: dict[str, Any]) -> list[Any]:
    scores: list[Any] = _network(header)["arc_scores"]["mapping"]
    return scores


HEADERS: dict[str, Callable[[dict[str, Any]], object]] = {
    "other format": lambda h: h.update(format="other"),
    "no version": lambda h: h.pop("version"),
    "version of text": lambda h: h.update(version="1"),
    "version zero": lambda h: h.update(version=0),
    "no kind": lambda h: h.pop("kind"),
    "unknown kind": lambda h: h.update(kind="spline"),
    "kind of a list": lambda h: h.update(kind=[]),
    "wrong kind": lambda h: h.update(kind="factor_graph"),
    "no model": lambda h: h.pop("model"),
    "model of text": lambda h: h.update(model="x"),
    "no variables": lambda h: h["model"].update(variables=[]),
    "unknown tag": lambda h: h["model"]["variables"][0].update(discrete={"object": "x"}),
    "float state": lambda h: h["model"]["variables"][0].update(states=[0.5]),
    "list state": lambda h: h["model"]["variables"][0].update(states=[[]]),
    "state twice": lambda h: h["model"]["variables"][0].update(states=[1, 1, 2]),
    "negative position": lambda h: _cpd(h).update(children=[-1]),
    "position too large": lambda h: _cpd(h).update(children=[9]),
    "unknown family": lambda h: _cpd(h).update(family="spline"),
    "cycle": lambda h: _cpd(h, 1).update(parents=[0]),
    "cpd twice": lambda h: _network(h)["cpds"].append({"cpd": 0}),
    "missing group": lambda h: _cpd(h)["values"].update(array="none"),
    "offset too large": lambda h: _cpd(h)["values"].update(at=7),
    "negative offset": lambda h: _cpd(h)["values"].update(at=-1),
    "huge shape": lambda h: _cpd(h)["values"].update(shape=[2**40, 2**40]),
    "empty huge shape": lambda h: _cpd(h)["values"].update(shape=[2**62, 2**62, 0]),
    "other numbers": lambda h: _cpd(h)["values"].update(at=1),
    "spread number": lambda h: _cpd(h, 2)["mean"].update(shape=[]),
    "reference of text": lambda h: _cpd(h).update(values="table.values"),
    "not an arc": lambda h: _scores(h).append([{"tuple": ["wet", "rain"]}, 1]),
    "a score of text": lambda h: _scores(h)[0].__setitem__(1, "x"),
    "a score of no arc": lambda h: _scores(h)[0].__setitem__(0, {"tuple": ["rain"]}),
    "no such CPD": lambda h: _network(h)["cpds"].append({"cpd": 9}),
    "a variable as a CPD": lambda h: _network(h)["cpds"].append({"variable": 0}),
}


@pytest.mark.parametrize("change", HEADERS.values(), ids=HEADERS)
def test_forged_headers(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    forged(path, change)
    with pytest.raises(FileFormatError, match=r"net\.bayesgraph"):
        bg.load(path)


class Bomb:
    def __reduce__(self) -> Any:
        return (pytest.fail, ("a pickle was executed",))


MEMBERS: dict[str, Any] = {
    "missing": None,
    "not an array": b"text",
    "pickled": npy(np.array([Bomb()], dtype=object), allow_pickle=True),
    "text": npy(np.array(["a"] * 8)),
    "two axes": npy(np.ones((4, 2))),
    "other version": npy(np.ones(8), version=(2, 0)),
    "too short": npy(np.ones(8))[:-1],
    "too long": npy(np.ones(8)) + b"\0",
    "huge": npy(np.ones(8)).replace(b"(8,)", b"(8" + b"0" * 12 + b",)"),
}


@pytest.mark.parametrize("member", MEMBERS.values(), ids=MEMBERS)
def test_forged_members(path: Path, member: bytes | None) -> None:
    forged(path, lambda header: None, table_values_npy=member)
    with pytest.raises(FileFormatError, match=r"net\.bayesgraph"):
        bg.load(path)


@pytest.mark.parametrize("header", [None, b"[]", b"{", b"\xff", b"[" * 100_000, b"null"])
def test_forged_header_members(path: Path, header: bytes | None) -> None:
    forged(path, lambda _: None, header_json=header)
    with pytest.raises(FileFormatError, match=r"net\.bayesgraph"):
        bg.load(path)


def test_forged_factors(tmp_path: Path) -> None:
    path = tmp_path / "net.bayesgraph"
    a = bg.Discrete("a", [0, 1])
    for number in (np.nan, np.inf):
        bg.FactorGraph([bg.Factor.from_log([a], np.array([[number, 1.0]]))]).save(path)
        with pytest.raises(FileFormatError, match="NaN or infinity"):
            bg.load(path)
    bg.FactorGraph([bg.Factor.from_log([a], np.zeros((1, 3)))]).save(path)
    with pytest.raises(FileFormatError, match="does not fit"):
        bg.load(path)


def test_tuples_too_deep_are_refused(tmp_path: Path) -> None:
    state: Any = ()
    for _ in range(20_000):
        state = (state,)
    try:
        variable = bg.Discrete("deep", [state])
    except RecursionError:
        pytest.skip("such a state cannot be hashed")
    with pytest.raises((LossyExportError, RecursionError)):
        bg.BayesianNetwork([bg.TableCPD(variable, [1.0])]).save(tmp_path / "net.bayesgraph")


def test_a_name_of_another_format_is_refused(tmp_path):
    net = bg.BayesianNetwork([bg.TableCPD(bg.Discrete("a", [0, 1]), [0.5, 0.5])])
    for name in ("m.pkl", "m.joblib", "m.csv", "m.svg", "m"):
        with pytest.raises(bg.errors.FileFormatError, match=r"Known are '\.bayesgraph', .*render"):
            net.save(tmp_path / name)
        assert not (tmp_path / name).exists()


def test_parameters_that_are_sets_have_one_order(tmp_path):
    X = np.random.default_rng(0).integers(0, 3, (30, 6))
    names = {f"x{i}" for i in range(6)}
    clf = bg.NaiveBayesClassifier(categorical=names).fit(X, X[:, 0])
    clf.save(tmp_path / "m.bayesgraph")
    loaded = bg.load(tmp_path / "m.bayesgraph")
    assert loaded.categorical == names
    assert isinstance(loaded.categorical, set)
    same = bg.NaiveBayesClassifier(categorical=names | {"x0"}).fit(X, X[:, 0])
    same.save(tmp_path / "n.bayesgraph")
    assert (tmp_path / "m.bayesgraph").read_bytes() == (tmp_path / "n.bayesgraph").read_bytes()


def test_files_keep_trees_and_histograms(tmp_path):
    age, place = bg.Continuous(("age", 1)), bg.Discrete("place", ["a", 1, True])
    sick = bg.Discrete("sick", [False, True])
    splits = bg.Split(age, 0.1, [0.9, 0.1], bg.Split(place, [1], [0.25, 0.75], [1 / 3, 2 / 3]))
    tree = bg.models.TreesCPD(sick, splits, [place, age])
    shares = [[0.1, 0.5, 0.3, 0.1], [0.0, 0.7, 0.3, 0.0]]
    net = bg.BayesianNetwork(
        [
            tree,
            bg.TableCPD(place, [0.5, 0.25, 0.25]),
            bg.models.HistogramCPD(age, [-1.5, 0.1, 1e300], shares[0]),
            bg.models.HistogramCPD(bg.Continuous("dose"), [0.0, 1.0, 2.0], shares, [sick]),
        ]
    )
    net.save(tmp_path / "net.bayesgraph")
    back = bg.load(tmp_path / "net.bayesgraph")
    assert back == net
    assert back.query("sick", {"dose": 0.5}) == net.query("sick", {"dose": 0.5})
    graph = bg.FactorGraph.of(net)
    graph.save(tmp_path / "graph.bayesgraph")
    assert bg.load(tmp_path / "graph.bayesgraph") == graph


def test_files_keep_splits_of_many_branches(tmp_path):
    age, sick = bg.Continuous("age"), bg.Discrete("sick", [False, True])

    def written(continues, name):
        rest = bg.Split(age, 60.0, [0.5, 0.5], [0.2, 0.8], continues)
        tree = bg.models.TreesCPD(sick, bg.Split(age, 40.0, [0.9, 0.1], rest), [age])
        net = bg.BayesianNetwork(
            [tree, bg.models.HistogramCPD(age, [0.0, 40.0, 80.0], [0, 0.5, 0.5, 0])]
        )
        net.save(tmp_path / name)
        assert bg.load(tmp_path / name) == net
        bg.load(tmp_path / name).save(tmp_path / "again.bayesgraph")
        assert (tmp_path / name).read_bytes() == (tmp_path / "again.bayesgraph").read_bytes()
        return net

    joined, binary = written(True, "joined.bayesgraph"), written(False, "binary.bayesgraph")
    assert joined != binary
    # Trees without such splits say nothing of them.
    assert b"continues" not in (tmp_path / "binary.bayesgraph").read_bytes()


@pytest.mark.parametrize("seed", range(15))
def test_files_keep_random_trees(tmp_path, seed):
    net = random_tree_network(seed)
    net.save(tmp_path / "net.bayesgraph")
    assert bg.load(tmp_path / "net.bayesgraph") == net


# ----------------------------------------------------------------------------- canonical decoding


@pytest.mark.parametrize(
    "state",
    [
        {"fraction": "1e9999999"},
        {"fraction": "2/6"},
        {"fraction": " 1/3"},
        {"float": "1.50"},
        {"float": "nan"},
        {"float": "1_0.0"},
        {"int": "0x10"},
        {"int": "99999999999999999"},
        {"decimal": "NaN"},
        {"decimal": "sNaN"},
        {"decimal": "1e5"},
        {"bytes": "00 ff"},
        {"date": "20200101"},
        {"timedelta": "0,86400,0"},
        {"tuple": [{"float": "01.5"}]},
        9007199254740993,
        1.5,
    ],
)
def test_a_state_is_written_in_one_way(path: Path, state: Any) -> None:
    def change(header: dict[str, Any]) -> None:
        header["model"]["variables"][0]["states"][0] = state

    forged(path, change)
    with pytest.raises(FileFormatError, match="does not hold a valid model"):
        bg.load(path)


@pytest.mark.parametrize("value", [Fraction(1, 3), Fraction(-2), Decimal("1E+5"), -(10**30), 1.5])
def test_states_of_all_types_are_read_as_they_were_written(value: Any, tmp_path: Path) -> None:
    net = bg.BayesianNetwork([bg.TableCPD(bg.Discrete("a", [value, "x"]), [0.5, 0.5])])
    net.save(tmp_path / "a.bayesgraph")
    found = bg.load(tmp_path / "a.bayesgraph").variables[0].states[0]
    assert (type(found), found) == (type(value), value)


@pytest.mark.parametrize("value", [Decimal("sNaN"), Fraction(10**5000 + 1, 7)])
def test_a_state_without_a_text_is_refused(value: Any) -> None:
    with pytest.raises(LossyExportError, match="cannot be written as text"):
        json_values.encode_value(value)


def test_members_and_keys_are_there_once(path: Path) -> None:
    data = path.read_bytes()
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        header = file.read("header.json")
    other = header.replace(b'"no"', b'"On"')
    twice = header.replace(b'"version":1', b'"version":9,"version":1')
    infinite = header.replace(b'"version":1', b'"version":1,"x":Infinity')
    spaced = header.replace(b'"version":1', b'"version": 1')
    for content in (twice, infinite, spaced):
        path.write_bytes(data)
        forged(path, lambda header: None, exact={"header.json": content})
        with pytest.raises(
            FileFormatError,
            match=r"a key is there twice, or a number is infinite|ValueError: Out of range float",
        ):
            bg.load(path)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        file.comment = b"sha256:" + b"0" * 64
        file.writestr("header.json", header)
        with pytest.warns(UserWarning, match="Duplicate name"):
            file.writestr("header.json", other)
    sealed = stream.getvalue()[:-64]
    path.write_bytes(sealed + hashlib.sha256(sealed).hexdigest().encode())
    with pytest.raises(FileFormatError, match=r"'header\.json' is there twice"):
        bg.load(path)


def test_a_long_axis_without_entries_is_refused_before_it_is_a_list(tmp_path: Path) -> None:
    path = tmp_path / "clf.bayesgraph"
    bg.StreamingNaiveBayesClassifier().fit({"a": ["x", "y"] * 5}, ["p", "q"] * 5).save(path)

    def lengthen(header: dict[str, Any]) -> None:
        reference = header["model"]["stream"]["state"]["fields"]["waiting_codes"]
        assert reference["shape"] == [1, 0]
        reference["shape"] = [10**12, 0]

    forged(path, lengthen)
    with pytest.raises(FileFormatError, match="would take 24,000,000,000,000 bytes"):
        bg.load(path)


@pytest.fixture(params=["fitted", "stream"])
def classifier(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    y = ["alpha", "alpine", "beta"] * 5
    x = {"a": ["x", "y", "z"] * 5}
    stream = request.param == "stream"
    kind = bg.StreamingNaiveBayesClassifier if stream else bg.NaiveBayesClassifier
    kind().fit(x, y).save(tmp_path / "clf.bayesgraph")
    return tmp_path / "clf.bayesgraph"


def _root(header: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of what a file holds."""
    root: dict[str, Any] = header["model"][header["kind"]]
    return root


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("label_type", "message"),
    [
        ("<U2", "labels of the type '<U2' cannot be"),
        ("<U200000000", r"3 labels of the type <U200000000 would take 2,400,000,000"),
        ("|V8", "a bytes-like object is required"),
        ("(9,9)f8", "is not the type of labels"),
        ("str", "is not the type of labels"),
        ("|S6", "labels of the type"),
        ("<f8", "could not convert"),
    ],
)
def test_labels_are_as_they_were(classifier: Path, label_type: str, message: str) -> None:
    assert bg.load(classifier).classes_.tolist() == ["alpha", "alpine", "beta"]
    forged(classifier, lambda header: _root(header).update(label_type=label_type))
    with pytest.raises(FileFormatError, match=message):
        bg.load(classifier)


def test_a_number_stays_one_as_a_label(tmp_path: Path) -> None:
    path = tmp_path / "clf.bayesgraph"
    bg.NaiveBayesClassifier().fit({"a": ["x", "y"] * 5}, [0, 1] * 5).save(path)
    forged(path, lambda header: _root(header).update(label_type="<f8"))
    with pytest.raises(FileFormatError, match="labels of the type '<f8' cannot be"):
        bg.load(path)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("smoothing", "nonsense"),
        ("smoothing", ""),
        ("smoothing", {"set": []}),
        ("unseen", "nonsense"),
        ("discretizer", "nonsense"),
        ("nonsense", 1),
    ],
)
def test_parameters_pass_the_checks_of_fit(classifier: Path, name: str, value: Any) -> None:
    forged(classifier, lambda header: _root(header)["parameters"]["fields"].update({name: value}))
    with pytest.raises(FileFormatError, match="does not hold a valid model"):
        bg.load(classifier)


@pytest.mark.parametrize("name", ["NaN", "sNaN", "1e5"])
def test_names_and_parameters_are_written_in_one_way(classifier: Path, name: str) -> None:
    whole = classifier.read_bytes()
    for part, tag, key in (("layout", "Layout", "columns"), ("parameters", "fields", "priors")):
        classifier.write_bytes(whole)
        value = {"tuple": [{"decimal": name}]} if key == "columns" else {"decimal": name}
        forged(classifier, lambda h, a=part, b=tag, k=key, v=value: _root(h)[a][b].update({k: v}))
        with pytest.raises(FileFormatError, match=r"expected a name or a state|decimal"):
            bg.load(classifier)


@pytest.mark.parametrize("value", [Decimal("NaN"), Decimal("sNaN")])
def test_parameters_without_a_text_are_named(classifier: Path, tmp_path: Path, value: Any) -> None:
    model = bg.load(classifier).set_params(categorical=[value])
    with pytest.raises(LossyExportError, match=r"'categorical'"):
        model.save(tmp_path / "other.bayesgraph")
    assert not (tmp_path / "other.bayesgraph").exists()


def test_what_cannot_be_fitted_is_not_saved(classifier: Path, tmp_path: Path) -> None:
    model = bg.load(classifier).set_params(smoothing="nonsense")
    with pytest.raises(BayesGraphError, match="nonsense"):
        model.save(tmp_path / "other.bayesgraph")
    assert not (tmp_path / "other.bayesgraph").exists()


def test_shapes_of_scores_and_factors(path: Path, tmp_path: Path) -> None:
    net = bg.load(path)

    forged(path, lambda header: _scores(header).append(_scores(header)[0]))
    with pytest.raises(FileFormatError, match="is there twice"):
        bg.load(path)
    bg.FactorGraph([bg.Factor([], 2.0), bg.Factor([net.variable("rain")], [1.0, 2.0])]).save(
        tmp_path / "graph.bayesgraph"
    )
    forged(
        tmp_path / "graph.bayesgraph",
        lambda header: _root(header)["factors"][0]["factor"]["log"].update(shape=[]),
    )
    with pytest.raises(FileFormatError, match=r"factor of the shape \(\) does not fit"):
        bg.load(tmp_path / "graph.bayesgraph")


def test_the_header_of_an_array_that_numpy_cannot_tokenise(path: Path) -> None:
    with zipfile.ZipFile(path) as file:
        values = file.read("table.values.npy")
    for wrong in (values.replace(b"'shape': (", b"'shape': ((("), values.replace(b"}", b"\\")):
        forged(path, lambda header: None, exact={"table.values.npy": wrong})
        with pytest.raises(FileFormatError, match="is not a file of bayesgraph's native format"):
            bg.load(path)


@pytest.mark.parametrize("kind", ["estimator", "statistics", "stream"])
def test_a_new_process_loads_every_kind(tmp_path: Path, kind: str) -> None:
    X, y = {"a": ["x", "z"] * 4}, ["n", "s"] * 4
    made = bg.NaiveBayesClassifier().fit(X, y)
    if kind == "stream":
        made = bg.StreamingNaiveBayesClassifier().fit(X, y)
    saved = made.collected_ if kind == "statistics" else made
    bg.files.save(saved, tmp_path / "m.bayesgraph")
    code = "import sys, bayesgraph as bg; print(type(bg.load(sys.argv[1])).__name__)"
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "m.bayesgraph")],
        env=os.environ | {"PYTHONPATH": str(Path(bg.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == type(saved).__name__, done.stderr


def test_averages_of_averages_of_averages_are_refused_in_words(tmp_path):
    coin = bg.Discrete("coin", ["heads", "tails"])
    one = bg.BayesianNetwork([bg.TableCPD(coin, [0.5, 0.5])])
    model = one
    for _ in range(400):
        model = bg.Ensemble([model, one], combine="posterior")
    with pytest.raises(LossyExportError, match="nested too deep for a file, such as averages"):
        model.save(tmp_path / "model.bayesgraph")
    assert not list(tmp_path.iterdir())
