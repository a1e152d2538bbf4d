"""Fits of bnlearn in files of R, made byte by byte after R's manual, with rdata as a peer."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import struct
import sys
import tracemalloc
import warnings
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import numpy as np
import pytest
import r_files
from network_files import gaussian_files, repository
from r_files import R, named

import bayesgraph as bg
from bayesgraph.core.errors import BayesGraphWarning, FileFormatError, MissingDependencyError
from bayesgraph.core.files import read_unzipped
from bayesgraph.files import rds as r_objects

pytest.importorskip("rdata")

YOUNG = bg.Discrete("Age", ["young", "adult", "old"])
SEX = bg.Discrete("Größe", ["M", "F"])
TRAIN = bg.Discrete("Travel", ["car", "train", "other"])
X, Y, Z = (bg.Continuous(name) for name in "xyz")


def discrete() -> bg.BayesianNetwork:
    """Return a network whose cardinalities and rows all differ."""
    random = np.random.default_rng(5)
    return bg.BayesianNetwork(
        [
            bg.TableCPD(TRAIN, random.dirichlet(np.ones(3), (2, 3)), [SEX, YOUNG]),
            bg.TableCPD(YOUNG, [0.3, 0.5, 0.2]),
            bg.TableCPD(SEX, random.dirichlet(np.ones(2), 3), [YOUNG]),
        ]
    )


def conditional() -> bg.BayesianNetwork:
    """Return a conditional Gaussian network: regressions of z on x differ in six cells."""
    random = np.random.default_rng(6)
    normal = random.normal(size=(3, 2))
    return bg.BayesianNetwork(
        [
            *discrete().cpds,
            bg.GaussianCPD(X, 1.5, 0.25),
            bg.GaussianCPD(Y, [1.0, -1.0], [4.0, 0.0625], [SEX]),
            bg.GaussianCPD(
                Z,
                normal,
                np.array([[1.0, 4.0], [9.0, 0.25], [0.0625, 16.0]]),
                [X, YOUNG, Y, SEX],
                random.normal(size=(3, 2, 2)),
            ),
        ]
    )


def gaussian() -> bg.BayesianNetwork:
    return bg.BayesianNetwork(
        [
            bg.GaussianCPD(X, 0.0, 1.0),
            bg.GaussianCPD(Z, 0.5, 4.0, [X, Y], [0.25, -3.0]),
            bg.GaussianCPD(Y, -1.0, 0.25, [X], [1 / 3]),
        ]
    )


NETWORKS = {"discrete": discrete, "gaussian": gaussian, "conditional": conditional}


def saved(folder: Path, item: Any, name: str = "fit.rds", **options: Any) -> Path:
    path = folder / name
    path.write_bytes(r_files.rds(item, **options))
    return path


@pytest.mark.parametrize("kind", NETWORKS)
@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("version", [2, 3])
def test_fits_are_read_to_the_bit(kind: str, pack: Any, version: int, tmp_path: Path) -> None:
    net = NETWORKS[kind]()
    path = tmp_path / "fit.rds"
    path.write_bytes(pack(r_files.rds(r_files.fit(net), version=version)))
    back = bg.load(path)
    assert back == net  # names, states, the order of parents and every number
    assert back.names == net.names


def test_numbers_by_hand(tmp_path: Path) -> None:
    """R's expand.grid has the first discrete parent vary fastest: a.c, b.c, a.d, b.d."""
    two = {"p": ["a", "b"], "q": ["c", "d"]}
    tables = {
        name: named(
            {
                "node": R([name]),
                "parents": R([]),
                "children": R(["y"]),
                "prob": R(
                    np.array([0.25, 0.75]),
                    {
                        "dim": R(np.array([2], np.int32)),
                        "dimnames": R([R(states)]),
                        "class": R(["table"]),
                    },
                ),
            },
            **{"class": R(["bn.fit.onode"])},
        )
        for name, states in two.items()
    }
    node = named(
        {
            "node": R(["y"]),
            "parents": R(["p", "x", "q"]),
            "children": R([]),
            "dparents": R(np.array([1, 3], np.int32)),
            "gparents": R(np.array([2], np.int32)),
            "dlevels": named({name: R(states) for name, states in two.items()}),
            "coefficients": R(
                np.array([1.0, 10.0, 2.0, 20.0, 3.0, 30.0, 4.0, 40.0]),
                {
                    "dim": R(np.array([2, 4], np.int32)),
                    "dimnames": R([R(["(Intercept)", "x"]), R(["0", "1", "2", "3"])]),
                },
            ),
            "sd": R(np.array([1.0, 2.0, 3.0, 4.0])),
        },
        **{"class": R(["bn.fit.cgnode"])},
    )
    x = r_files.fit(gaussian()).values[0]
    fit = named({**tables, "x": x, "y": node}, **{"class": R(["bn.fit", "bn.fit.cgnet"])})
    net = bg.load(saved(tmp_path, fit))
    cpd = net["y"]
    assert cpd.mean.tolist() == [[1.0, 3.0], [2.0, 4.0]]  # by p, then q
    assert cpd.coefficients[..., 0].tolist() == [[10.0, 30.0], [20.0, 40.0]]
    assert cpd.variance.tolist() == [[1.0, 9.0], [4.0, 16.0]]
    assert net.query("y", {"p": "b", "q": "c", "x": 0.5}).mean == 12.0
    assert net["p"].values.tolist() == [0.25, 0.75]


def test_the_survey_network_of_the_textbook(tmp_path: Path) -> None:
    """Scutari and Denis (2014), chapter 1."""
    survey = {
        "A": (["young", "adult", "old"], [], [0.3, 0.5, 0.2]),
        "S": (["M", "F"], [], [0.6, 0.4]),
        "E": (
            ["high", "uni"],
            ["A", "S"],
            [
                [[0.75, 0.25], [0.64, 0.36]],
                [[0.72, 0.28], [0.70, 0.30]],
                [[0.88, 0.12], [0.9, 0.1]],
            ],
        ),
        "O": (["emp", "self"], ["E"], [[0.96, 0.04], [0.92, 0.08]]),
        "R": (["small", "big"], ["E"], [[0.25, 0.75], [0.2, 0.8]]),
        "T": (
            ["car", "train", "other"],
            ["O", "R"],
            [
                [[0.48, 0.42, 0.10], [0.58, 0.24, 0.18]],
                [[0.56, 0.36, 0.08], [0.70, 0.21, 0.09]],
            ],
        ),
    }
    variables = {name: bg.Discrete(name, states) for name, (states, _, _) in survey.items()}
    net = bg.BayesianNetwork(
        bg.TableCPD(variables[name], values, [variables[p] for p in parents])
        for name, (_, parents, values) in survey.items()
    )
    back = bg.load(saved(tmp_path, r_files.fit(net)))
    # Section 1.6.1 of the book prints these: of all, of women, and of small cities.
    printed = {(): [0.5618, 0.2809, 0.1573], ("S", "F"): [0.5621, 0.2806, 0.1573]}
    printed["R", "small"] = [0.48389, 0.41708, 0.09903]
    for given, expected in printed.items():
        found = back.query("T", dict([given]) if given else {})
        assert found.probabilities == pytest.approx(expected, abs=5e-5)


def test_texts_of_other_encodings_and_of_wrapped_vectors(tmp_path: Path) -> None:
    net = discrete()
    assert bg.load(saved(tmp_path, r_files.fit(net), encoding="latin-1")) == net
    fit = r_files.fit(gaussian())
    fit.values[0].values[3] = r_files.Wrapped(fit.values[0].values[3])  # its coefficients
    fit.values[0].values[5] = r_files.Range(2**31 - 1, 1)  # its residuals, which are not made
    assert bg.load(saved(tmp_path, fit)) == gaussian()
    numbered = r_files.fit(
        bg.BayesianNetwork([bg.TableCPD(bg.Discrete("v", ["1", "10"]), [0.5] * 2)])
    )
    labels = numbered.values[0].values[3].attributes["dimnames"]
    labels.values[0] = r_files.Deferred([1.0, 10.0])  # as.character(c(1, 10))
    assert bg.load(saved(tmp_path, numbered)).variable("v").states == ("1", "10")


def plain(item: r_objects.RObject) -> Any:
    """Return an object as lists and tuples, which can be compared."""
    values = [plain(v) if isinstance(v, r_objects.RObject) else v for v in list(item.values)]
    return item.kind, values, {name: plain(value) for name, value in item.attributes.items()}


def test_texts_and_nothing(tmp_path: Path) -> None:
    texts = R(["a", None, "Größe", "", "Größe", None, "a"], {"comment": R(["b"])})
    (tmp_path / "a.rds").write_bytes(r_files.rds(R([texts, None])))
    ours = plain(r_objects.objects_of(*read_unzipped(tmp_path / "a.rds"))[None])
    assert ours[1][0] == ("text", ["a", None, "Größe", "", "Größe", None, "a"], ANY)
    data = r_files.rds(R(["a", "b", "b"]))
    at = data.rindex(struct.pack(">i", 1))
    (tmp_path / "b.rds").write_bytes(data[:at] + struct.pack(">i", -2) + data[at + 4 :])
    with pytest.raises(FileFormatError, match=r"b\.rds cannot be read as R's bnlearn"):
        bg.load(tmp_path / "b.rds")


def test_one_fit_of_several_objects(tmp_path: Path) -> None:
    path = tmp_path / "all.rda"
    a, b = r_files.fit(discrete()), r_files.fit(gaussian())
    path.write_bytes(gzip.compress(r_files.rda({"numbers": R(np.arange(3.0)), "a": a})))
    assert bg.load(path) == discrete()
    path.write_bytes(r_files.rda({"a": a, "b": b}))
    assert bg.load(path, name="b") == gaussian()
    with pytest.raises(
        FileFormatError, match=r"several fits: 'a', 'b'\. Name one of them by name="
    ):
        bg.load(path)
    with pytest.raises(FileFormatError, match=r"expected an object 'bb'.*Did you mean 'b'"):
        bg.load(path, name="bb")


def test_classifiers_of_bnlearn_are_fits(tmp_path: Path) -> None:
    fit = r_files.fit(discrete())
    fit.attributes["class"] = R(["bn.tan", "bn.fit", "bn.fit.dnet"])
    fit.attributes["training"] = R(["Travel"])
    assert bg.load(saved(tmp_path, fit)) == discrete()


def test_what_the_data_do_not_determine(tmp_path: Path) -> None:
    fit = r_files.fit(discrete())
    table = fit.values[0].values[3]
    table.values = table.values.copy()
    table.values[3:6] = np.nan  # the second state of the first parent, the first of the second
    path = saved(tmp_path, fit)
    with pytest.raises(FileFormatError, match=r"'Travel': 1 of 6 distributions are NaN.*uniform"):
        bg.load(path)
    with pytest.warns(BayesGraphWarning, match="did not determine .*'Travel'; they are now"):
        net = bg.load(path, replace_unidentifiable=True)
    assert net["Travel"].values[1, 0].tolist() == [1 / 3] * 3
    fit = r_files.fit(conditional())
    fit.values[5].values[6].values[1] = np.nan  # a coefficient of z
    path = saved(tmp_path, fit)
    with pytest.raises(FileFormatError, match=r"'z': 1 coefficients are NaN"):
        bg.load(path)
    with pytest.warns(BayesGraphWarning, match="coefficients zero"):
        net = bg.load(path, replace_unidentifiable=True)
    assert net["z"].coefficients[0, 0, 0] == 0.0


def test_rows_that_were_rounded(tmp_path: Path) -> None:
    fit = r_files.fit(discrete())
    fit.values[1].values[3].values = np.array([0.3, 0.5, 0.199])
    path = saved(tmp_path, fit)
    with pytest.warns(BayesGraphWarning, match="do not sum to one"):
        assert bg.load(path)["Age"].values.sum() == pytest.approx(1.0, abs=1e-15)
    with pytest.raises(FileFormatError, match="Age"):
        bg.load(path, normalize=False)


# ----------------------------------------------------------------------------------- refused


def _root(place: list[Any], value: Any, net: bg.BayesianNetwork | None) -> R:
    root: Any = r_files.fit(net or conditional())
    item = root
    for step in place[:-1]:
        item = item.attributes[step] if isinstance(step, str) else item.values[step]
    if isinstance(place[-1], str):
        item.attributes[place[-1]] = value
    else:
        item.values[place[-1]] = value
    return root


REFUSED = {
    "no class": (["class"], R(["lm"]), r"expected a fit of bnlearn \(class bn\.fit\); got \('lm'"),
    "no names": (["names"], R(np.arange(6.0)), "expected a list of named nodes"),
    "a name twice": (
        ["names"],
        R(["Age"] * 6),
        "two nodes have one name",
    ),
    "an unknown node": ([0, "class"], R(["bn.fit.node"]), "'Travel': expected a class of"),
    "no parents": ([0, 1], R(np.arange(2.0)), "'Travel': expected the names of its parents"),
    "unknown parents": ([0, 1], R(["Age", "y1"]), "the variable 'y1' is not declared"),
    "other axes": ([0, 1], R(["Age", "Größe"]), "'Travel': its table has the axes"),
    "a number for a parent": ([0, 1], R(["x", "Age"]), "'Travel': its table has the axes"),
    "no table": ([0, 3], R(["0.5"]), "'Travel': expected a table"),
    "few numbers": ([0, 3, "dim"], R(np.array([3, 2, 2], np.int32)), "expected a table"),
    "no dimensions": ([0, 3, "dim"], R(["3"]), "expected a table"),
    "a wrong length": ([0, 3], None, "expected a table"),
    "a missing label": ([1, 3, "dimnames"], R([R(["a", None, "b"])]), "expected a table"),
    "a label twice": ([1, 3, "dimnames"], R([R(["a", "a", "b"])]), "Age.*more than once"),
    "no sum": ([1, 3, ...], np.array([0.3, 0.5, 0.5]), "Age"),
    "a negative number": ([1, 3, ...], np.array([-0.5, 1.0, 0.5]), "Age"),
    "other levels": ([4, 5], named({"Größe": R(["F", "M"])}), "its levels of 'Größe'"),
    "a class without discrete parents": (
        [4, "class"],
        R(["bn.fit.gnode"]),
        "its class does not fit its parents",
    ),
    "few coefficients": ([4, 6], R(np.array([1.0])), "'y': expected 1 coefficients for each of 2"),
    "other coefficients": (
        [5, 6, "dimnames"],
        R([R(["(Intercept)", "x", "u"])]),
        "its coefficients are of",
    ),
    "few deviations": ([4, 7], R(np.array([1.0])), "expected 2 standard deviations"),
    "no deviation": ([4, 7], R(np.array([1.0, 0.0])), "expected positive standard deviations"),
    "a deviation that is not known": ([4, 7], R(np.array([np.nan, 1.0])), "positive standard"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_fits_that_are_inconsistent_are_refused(name: str, tmp_path: Path) -> None:
    place, value, message = REFUSED[name]
    if place[-1] is ...:
        fit = r_files.fit(conditional())
        fit.values[place[0]].values[place[1]].values = value
    else:
        fit = _root(place, value, None)
    with pytest.raises(FileFormatError, match=message):
        bg.load(saved(tmp_path, fit))


def test_a_structure_is_refused_with_its_arcs(tmp_path: Path) -> None:
    arcs = R(["A", "A", "B", "C"], {"dim": R(np.array([2, 2], np.int32))})
    structure = named(
        {"learning": named({}), "nodes": named({}), "arcs": arcs}, **{"class": R(["bn"])}
    )
    with pytest.raises(FileFormatError, match=r"2 arcs \(A -> B, A -> C\).*bn\.fit\(structure"):
        bg.load(saved(tmp_path, structure))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "expected a file that R saved"),
        (b"A\n3\n", "its text or native format"),
        (b"RDA3\nA\n3\n", "saveRDS"),
        (b"X\n", "expected 1 more numbers; the file ends before"),
        (b"BZh9", "truncated"),
        (bz2.compress(b"X\n" * 99)[:-9], "truncated"),
        (b"\xfd7zXZ\x00" + b"x" * 50, "cannot be read"),
        (bz2.compress(bytes(5 << 20)), "the inflated content would take"),
        (lzma.compress(bytes(5 << 20)), "the inflated content would take"),
    ],
)
def test_other_files_are_refused(data: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "fit.rds"
    path.write_bytes(data)
    with pytest.raises(FileFormatError, match=message):
        bg.load(path)


def _hostile(name: str) -> bytes:
    head = r_files.rds(None)[:-4]
    numbers = struct.Struct(">ii")
    if name == "a length that no bytes confirm":
        return head + numbers.pack(14, 2**31 - 1)
    if name == "a negative length":
        return head + numbers.pack(14, -5)
    if name == "a text":
        return head + numbers.pack(9, 2**31 - 1)
    if name == "compiled code":
        return head + numbers.pack(21, 2**31 - 1)
    if name == "lists in lists":
        return head + numbers.pack(19, 1) * 100_000
    if name == "nothing, often":
        return head + numbers.pack(19, 100_000) + struct.pack(">i", 254) * 100_000
    fit = r_files.fit(gaussian())
    fit.values[0].values[4] = r_files.Range(2**31 - 1, 1)  # the standard deviation
    return r_files.rds(fit)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    "name",
    [
        "a length that no bytes confirm",
        "a negative length",
        "a text",
        "compiled code",
        "lists in lists",
        "nothing, often",
        "a range",
    ],
)
def test_hostile_files_are_refused_in_little_memory(name: str, tmp_path: Path) -> None:
    path = tmp_path / "fit.rds"
    path.write_bytes(_hostile(name))
    tracemalloc.start()
    try:
        with pytest.raises(FileFormatError):
            bg.load(path, limit=1 << 20)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 << 20


def test_rdata_is_asked_for_by_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = saved(tmp_path, r_files.fit(gaussian()))
    monkeypatch.setitem(sys.modules, "rdata.parser._xdr", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'bayesgraph\[r\]'"):
        bg.load(path)


# ------------------------------------------------------------------------------------- peers


@pytest.mark.slow
def test_the_files_of_the_tests_are_those_of_rdata(tmp_path: Path) -> None:
    """rdata's own reader takes the files that the tests write for what they are meant to be."""
    import rdata

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it knows no classes of bnlearn
        found = rdata.read_rds(saved(tmp_path, r_files.fit(conditional())))
    assert list(found) == list(conditional().names)
    assert found["Travel"]["parents"].tolist() == ["Größe", "Age"]
    table = found["Travel"]["prob"]
    assert table.dims == ("Travel", "Größe", "Age")
    assert (table.values == np.moveaxis(conditional()["Travel"].values, -1, 0)).all()
    assert found["z"]["coefficients"].shape == (3, 6)


@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=[] if path.name == "survey.bif.gz" else [pytest.mark.slow])
        for path in repository()
    ],
    ids=lambda path: path.name,
)
def test_networks_of_the_repository_are_read_to_the_bit(path: Path, tmp_path: Path) -> None:
    net = bg.load(path)
    file = tmp_path / "fit.rds"
    file.write_bytes(gzip.compress(r_files.rds(r_files.fit(net)), mtime=0))
    assert bg.load(file) == net


@pytest.mark.one_in(4)
@pytest.mark.parametrize("path", gaussian_files(), ids=lambda path: path.name)
def test_gaussian_networks_of_the_repository(path: Path, tmp_path: Path) -> None:
    content = json.loads(path.read_text())
    variables = {name: bg.Continuous(name) for name in content["nodes"]}
    cpds = [
        bg.GaussianCPD(
            variables[name],
            cpd["coefficients"]["(Intercept)"][0],
            # The file of R has standard deviations, whose squares are what it holds.
            np.square(np.sqrt(cpd["variance"][0])),
            [variables[parent] for parent in cpd["parents"]],
            [cpd["coefficients"][parent][0] for parent in cpd["parents"]],
        )
        for name, cpd in content["cpds"].items()
    ]
    net = bg.BayesianNetwork(cpds)
    back = bg.load(saved(tmp_path, r_files.fit(net)))
    for cpd in net.cpds:
        found = back[cpd.variable.name]
        assert found.parents == cpd.parents
        assert (found.coefficients == cpd.coefficients).all()
        assert found.variance == pytest.approx(cpd.variance, rel=1e-15)
