"""What reading a file may allocate, and the one type of its errors."""

from __future__ import annotations

import gzip
import tracemalloc
import warnings
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from forgery import forged
from fuzz.limits import cpu_seconds

import bayesgraph as bg
from bayesgraph.core import files as budget
from bayesgraph.core.errors import BayesGraphWarning, DataTypeError, FileFormatError
from bayesgraph.files import bif, uai

RAIN = "variable a { type discrete { x y }; } probability ( a ) { table 0.5 0.5; }"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    a, b = bg.Discrete("a", ["x", "y"]), bg.Discrete("b", [0, 1])
    cpds = [bg.TableCPD(a, [0.5, 0.5]), bg.TableCPD(b, [[0.1, 0.9], [0.3, 0.7]], [a])]
    bg.BayesianNetwork(cpds).save(tmp_path / "a.bayesgraph")
    return tmp_path / "a.bayesgraph"


def peak(read: Callable[[], object]) -> int:
    """Return the bytes that were allocated at the same time."""
    tracemalloc.start()
    try:
        with pytest.raises(FileFormatError, match="limit="):
            read()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_the_sum_of_what_is_taken_is_limited() -> None:
    found = budget.Budget("a.bif", 10, limit=1000)
    found.take(600, "a table")
    with pytest.raises(FileFormatError, match=r"^a\.bif: a list would take 401 .* 1,000 in all"):
        found.take(401, "a list")
    assert budget.Budget("a.bif", 10).limit == 64 * 2**20 + 400
    for wrong in (0, "1 GB", 1e9, True):
        with pytest.raises((DataTypeError, ValueError), match="limit= is a"):
            budget.Budget("a.bif", 10, limit=wrong)  # type: ignore[arg-type]


# ---------------------------------------------------------------------------- declared sizes


@pytest.mark.parametrize("name", ["a.bif.gz", "a.uai.gz"])
def test_gzip_bombs_are_refused_before_they_inflate(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(gzip.compress(b" " * (8 << 20), mtime=0))
    assert peak(lambda: bg.load(tmp_path / name)) < 6 << 20
    with pytest.raises(FileFormatError, match=r"at least one 'variable' block|first word"):
        bg.load(tmp_path / name, limit=64 << 20)
    with pytest.raises(FileFormatError, match="inflates to more than 2,000"):
        bg.load(tmp_path / name, limit=2000)


def test_gzip_bombs_of_evidence_and_results(tmp_path: Path, path: Path) -> None:
    (tmp_path / "a.evid").write_bytes(gzip.compress(b" " * (24 << 20), mtime=0))
    net = bg.load(path)
    assert peak(lambda: uai.read_uai_evidence(tmp_path / "a.evid", net)) < 20 << 20
    assert peak(lambda: uai.read_uai_result(tmp_path / "a.evid", net)) < 20 << 20


def test_compressed_headers_of_native_files_are_not_inflated(path: Path) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("header.json", b'{"format": "bayesgraph"}' + b" " * (24 << 20))
    tracemalloc.start()
    try:
        with pytest.raises(FileFormatError, match="not a file of bayesgraph's native format"):
            bg.load(path)
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_what_repeats_itself_is_read_again(tmp_path: Path) -> None:
    x = [bg.Discrete(f"x{i}", [0, 1]) for i in range(17)]
    graph = bg.FactorGraph([bg.Factor(x, np.ones([2] * 17))])
    graph.save(tmp_path / "a.uai.gz")
    size = (tmp_path / "a.uai.gz").stat().st_size
    assert size < len(uai.format_uai(graph)) / 3
    assert bg.load(tmp_path / "a.uai.gz") == graph


def wide_table(n_parents: int, *, zeros: bool) -> bg.BayesianNetwork:
    """Return a network with one table of ``2 ** (n_parents + 1)`` numbers, random or 0 and 1."""
    parents = [bg.Discrete(f"p{i}", ["no", "yes"]) for i in range(n_parents)]
    low = np.random.default_rng(0).random((2,) * n_parents)
    low = low.round() if zeros else low
    child = bg.TableCPD(bg.Discrete("y", ["no", "yes"]), np.stack([low, 1 - low], -1), parents)
    return bg.BayesianNetwork([*(bg.TableCPD(v, [0.5, 0.5]) for v in parents), child])


@pytest.mark.one_in(2)
@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize(
    ("name", "n_parents"),
    [
        ("x.bayesgraph", 12),
        ("x.bif", 12),
        ("x.bif.gz", 12),
        ("x.uai.gz", 12),
        pytest.param("x.bayesgraph", 24, marks=pytest.mark.slow),  # 268 MB of parameters
        pytest.param("x.bif.gz", 19, marks=pytest.mark.slow),
        pytest.param("x.uai", 21, marks=pytest.mark.slow),
    ],
)
def test_what_was_saved_is_read_within_the_default_limit(
    tmp_path: Path, name: str, n_parents: int, zeros: bool
) -> None:
    net = wide_table(n_parents, zeros=zeros)
    save = {"strict": False} if ".uai" in name else {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", BayesGraphWarning)
        net.save(tmp_path / name, **save)
    again = bg.load(tmp_path / name)
    np.testing.assert_array_equal(again.cpds[-1].values, net.cpds[-1].values)


@pytest.mark.slow
def test_statistics_of_200_mb_are_read_within_the_default_limit(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).integers(0, 12, (200, 600))
    model = bg.TANClassifier(categorical="all").fit(rows, np.arange(200) % 2)
    first, second = tmp_path / "first.bayesgraph", tmp_path / "second.bayesgraph"
    model.save(first)
    assert first.stat().st_size > 200e6
    bg.load(first).save(second)
    assert second.read_bytes() == first.read_bytes()


def test_default_tables_take_from_the_budget() -> None:
    names = [f"v{i}" for i in range(25)]
    text = "".join(
        f"variable {name} {{ type discrete {{ x y }}; }} probability ( {name} ) {{ table .5 .5; }}"
        for name in names
    )
    text += "variable c { type discrete { x y }; }"
    text += f"probability ( c | {', '.join(names)} ) {{ default .5 .5; }}"
    assert peak(lambda: bif.parse_bif(text)) < 2 << 20
    small = text.replace(", ".join(names), "v0, v1, v2")
    assert bif.parse_bif(small)["c"].values.shape == (2, 2, 2, 2)
    with pytest.raises(FileFormatError, match=r"'c' would take 384 bytes; .* 300 in all"):
        bif.parse_bif(small, limit=300)


def test_variables_in_no_scope_take_from_the_budget() -> None:
    for n, states in ((8, 1_000_000), (50_000, 1)):
        text = f"MARKOV {n} {f'{states} ' * n} 0"
        assert peak(lambda text=text: uai.parse_uai(text)) < 30 << 20
    assert uai.parse_uai("MARKOV 2 3 1000 0").variables[1].cardinality == 1000


def test_references_to_one_array_take_from_the_budget(path: Path) -> None:
    def change(header: dict) -> None:
        term = {"array": "table.values", "at": 0, "shape": [2]}
        scope = {"tuple": [{"variable": 0}]}
        factor = {"factor": {"scope": scope, "log": {**term, "shape": [1, 2]}}}
        header["kind"] = "factor_graph"
        graph = {"factors": [factor] * 5_000, "exponents": [term] * 5_000}
        header["model"]["factor_graph"] = {**graph, "domain": "nonnegative", "training": None}

    forged(path, change)
    with pytest.raises(FileFormatError, match=r"the arrays of the model would take .* limit="):
        bg.load(path, limit=1 << 17)


# ------------------------------------------------------------------------------ the boundary


class _BrokenError(Exception):
    pass


@pytest.mark.parametrize("error", [_BrokenError("no"), MemoryError(), RecursionError("deep\nend")])
def test_whatever_goes_wrong_names_the_file(
    error: Exception, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*args: object, **kwargs: object) -> None:
        raise error

    net = bg.load(path)
    monkeypatch.setattr("bayesgraph.files.bif.BlockText", fail)
    monkeypatch.setattr("bayesgraph.files.uai.Numbers", fail)
    monkeypatch.setattr("bayesgraph.files.payloads.decode_variable", fail)
    names = []
    for suffix in (".bif", ".uai"):
        names.append(path.with_suffix(suffix))
        names[-1].write_text("x")
    reads: list[Callable[[], object]] = [lambda name=name: bg.load(name) for name in names]
    reads += [
        lambda: bg.load(path),
        lambda: uai.read_uai_evidence(path, net),
        lambda: uai.read_uai_result(path, net),
        lambda: bif.parse_bif(""),
        lambda: uai.parse_uai(""),
    ]
    for read in reads:
        with pytest.raises(FileFormatError, match=type(error).__name__) as caught:
            read()
        assert "\n" not in str(caught.value)
        assert caught.value.__cause__ is error
    with pytest.raises(FileFormatError, match=r"^BIF text cannot be read as BIF: .* get it again"):
        bif.parse_bif("")


def test_errors_that_are_no_fault_of_the_content_stay(tmp_path: Path) -> None:
    (tmp_path / "a.bif").mkdir()
    with pytest.raises(IsADirectoryError):
        bg.load(tmp_path / "a.bif")
    with pytest.raises(FileNotFoundError):
        bg.load(tmp_path / "b.bif")
    with pytest.warns(BayesGraphWarning):
        bif.parse_bif(RAIN.replace("0.5 0.5", "0.5 0.51"))
    with pytest.raises(BayesGraphWarning):  # an error, by the settings of the tests
        bif.parse_bif(RAIN.replace("0.5 0.5", "0.5 0.51"))


# ------------------------------------------------------------------------------------- time


def _long_names(n: int) -> str:
    random = np.random.default_rng(0)
    names = ["".join(chr(c) for c in random.integers(0x4E00, 0x4E80, n // 2)) for _ in range(2)]
    return RAIN.replace("( a )", f"( {names[0]} )").replace("variable a", f"variable {names[1]}")


# Shapes of text of about n characters that took quadratic time, or could.
BLANKS: dict[str, Callable[[int], str]] = {
    "after type": lambda n: f"variable a {{ type discrete{' ' * n}x }}",
    "after a row": lambda n: RAIN.replace("table 0.5 0.5;", f"(x){' ' * n}q;"),
    "after table": lambda n: RAIN.replace("table 0.5 0.5;", f"table{' ' * n}q;"),
    "after default": lambda n: RAIN.replace("table 0.5 0.5;", f"default{' ' * n}q;"),
    "before an entry": lambda n: RAIN.replace("table 0.5 0.5;", f"{' ' * n}q;"),
    "after a count": lambda n: f"variable a {{ type discrete [ 2 ]{' ' * n}x }}",
    "at the end": lambda n: RAIN + " " * n + "x",
    "long names": _long_names,
    "one parent": lambda n: (
        f"{RAIN} variable b {{ type discrete {{ x }}; }} probability ( b | "
        f"{'a, ' * (n // 3)} a ) {{ default 1; }}"
    ),
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("shape", BLANKS.values(), ids=BLANKS.keys())
def test_a_megabyte_takes_no_quadratic_time(shape: Callable[[int], str]) -> None:
    text = shape(1_000_000)
    # Quadratic time is minutes, linear time less than a second.
    with cpu_seconds(10.0), pytest.raises(FileFormatError):
        bif.parse_bif(text)
