"""What is fuzzed: for each reader how inputs are made, read, and used if they are accepted.

An input is known by its number: it depends on that, the seed and the name of the target alone, so
that a number in a report gives the input again.
"""

from __future__ import annotations

import functools
import random
import traceback
import tracemalloc
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from fuzz import answers, corpus, links
from fuzz.limits import TimeOut
from fuzz.mutation import forged_page, forgery, members_of, mutated, resealed
from fuzz.pgmpy_models import damaged_model

import bayesgraph as bg
from bayesgraph.core.errors import BayesGraphError, BayesGraphWarning
from bayesgraph.files.uai import read_uai_evidence, read_uai_result
from bayesgraph.questions.dagitty import CausalDiagram


@dataclass(frozen=True)
class Target:
    """One reader.

    Attributes
    ----------
    make : callable
        Returns an input for a source of randomness.
    read : callable
        Called with an input and a folder; raises nothing but errors of bayesgraph.
    use : callable
        Called with what was read and a folder; raises nothing but errors of bayesgraph.
    """

    make: Callable[[random.Random], Any]
    read: Callable[[Any, Path], Any]
    use: Callable[[Any, Path], None]


class Outcome(NamedTuple):
    """What became of an input.

    Attributes
    ----------
    number : int
        Of the input.
    kind : {"used", "refused", "read", "use"}
        Whether it was read and used, or refused; or in which phase it failed.
    error : str
        What was raised, if anything.
    place : str
        Where.
    """

    number: int
    kind: str
    error: str = ""
    place: str = ""


# ------------------------------------------------------------------------------- using what is read


def use_model(model: Any, folder: Path) -> None:
    """Ask a model something, and save it: what it loads as is saved as the same bytes."""
    repr(model)
    if isinstance(model, bg.classifiers.CollectedStatistics):
        type(model.estimator).from_statistics(model).query()
        _save_twice(model, folder)
        return
    for cpd in getattr(model, "cpds", ()):
        if isinstance(cpd, bg.TableCPD):
            assert np.isfinite(cpd.values).all()
            assert (cpd.values >= 0).all()
    if hasattr(model, "predict_one"):
        model.predict_one({})
    if hasattr(model, "get_params"):
        model.query()
    else:
        posterior = model.query([model.variables[0].name])
        repr(posterior)
    _save_twice(model, folder)


def _save_twice(model: Any, folder: Path) -> None:
    first, second = folder / "first.bayesgraph", folder / "second.bayesgraph"
    model.save(first)
    bg.load(first).save(second)
    assert first.read_bytes() == second.read_bytes(), "saved otherwise the second time"


def use_table(table: Any, folder: Path) -> None:
    """Check that every column is what its type says."""
    table.validate(full=True)
    repr(table.schema)


def _use_diagram(diagram: Any, folder: Path) -> None:
    """Ask a causal diagram something."""
    repr(diagram)
    graph = diagram.observed
    if len(graph.nodes) > 1:
        graph.adjustment_sets(*graph.nodes[:2], maximum=3)


def _nothing(result: Any, folder: Path) -> None:
    repr(result)


# ------------------------------------------------------------------------------------------ targets


def _file(suffix: str, load: Callable[[Path], Any]) -> Callable[[bytes, Path], Any]:
    def read(data: bytes, folder: Path) -> Any:
        path = folder / f"input{suffix}"
        path.write_bytes(data)
        return load(path)

    return read


def _damaged(files: Callable[[], list[bytes]]) -> Callable[[random.Random], bytes]:
    cached = functools.cache(files)

    def make(chance: random.Random) -> bytes:
        return mutated(chance, chance.choice(cached()), cached())

    return make


_native_files = functools.cache(corpus.native)


@functools.cache
def _native_members() -> list[dict[str, bytes]]:
    return [members_of(data) for data in _native_files()]


def _damaged_native(chance: random.Random) -> bytes:
    data = mutated(chance, chance.choice(_native_files()), _native_files())
    return resealed(data) if chance.random() < 0.7 else data


def _forged_native(chance: random.Random) -> bytes:
    return forgery(chance, chance.choice(_native_members()))


_dialects = functools.cache(corpus.dialects)


def _damaged_dialect(chance: random.Random) -> bytes:
    suffix, _, data = chance.choice(_dialects()).partition(b"\n")
    return suffix + b"\n" + mutated(chance, data, [d.partition(b"\n")[2] for d in _dialects()])


def read_dialect(data: bytes, folder: Path) -> Any:
    """Read a file whose suffix is its first line; all rows are divided by their sums."""
    suffix, _, content = data.partition(b"\n")
    if suffix in (b".txt", b".gv"):
        return _file(".txt", bg.questions.read_dagitty)(content, folder)
    return _file(suffix.decode(), partial(bg.load, normalize="always"))(content, folder)


def _use_dialect(result: Any, folder: Path) -> None:
    (_use_diagram if isinstance(result, CausalDiagram) else use_model)(result, folder)


_pages = functools.cache(corpus.pages)

_CSV_OPTIONS: dict[str, list[Any]] = {
    "delimiter": [",", ";", "\t", "|", " ", "a"],
    "encoding": ["utf-8", "latin-1", "utf-16", "cp1252", "shift_jis"],
    "decimal": [",", "."],
    "comment": ["#", "%", "//"],
    "dates": ["parts", "days"],
    "missing": [("", "?"), (), ("a",)],
    "limit": [1, 1000, 1 << 26],
}


def _read_with_options(path: Path) -> Any:
    """Read a table with options that its bytes determine, so that an input is known by number."""
    chance = random.Random(zlib.crc32(path.read_bytes()))
    chosen = chance.sample(sorted(_CSV_OPTIONS), chance.randint(1, 3))
    return bg.read_table(path, **{name: chance.choice(_CSV_OPTIONS[name]) for name in chosen})


# Random models whose answers are those of brute force: none is refused.
ANSWERS: dict[str, Target] = {
    "tails": Target(answers.seed_of, answers.tail, answers.check_tail),
    "edits": Target(answers.seed_of, answers.edited, answers.check_edited),
}
TARGETS: dict[str, Target] = {
    "bif": Target(_damaged(corpus.bif), _file(".bif", bg.load), use_model),
    "xdsl": Target(_damaged(corpus.xdsl), _file(".xdsl", bg.load), use_model),
    "rds": Target(_damaged(corpus.rds), _file(".rds", bg.load), use_model),
    "gaussian-json": Target(_damaged(corpus.gaussian_json), _file(".json", bg.load), use_model),
    "dagitty": Target(
        _damaged(corpus.dagitty), _file(".txt", bg.questions.read_dagitty), _use_diagram
    ),
    "xmlbif": Target(_damaged(corpus.xmlbif), _file(".xmlbif", bg.load), use_model),
    "uai": Target(_damaged(corpus.uai), _file(".uai", bg.load), use_model),
    "net": Target(_damaged(corpus.net), _file(".net", bg.load), use_model),
    "dne": Target(_damaged(corpus.dne), _file(".dne", bg.load), use_model),
    "dialects": Target(_damaged_dialect, read_dialect, _use_dialect),
    "uai-evidence": Target(
        _damaged(corpus.evidence),
        _file(".evid", lambda path: read_uai_evidence(path, corpus.network())),
        _nothing,
    ),
    "uai-results": Target(
        _damaged(corpus.results),
        _file(".MAR", lambda path: read_uai_result(path, corpus.network())),
        _nothing,
    ),
    "native": Target(_damaged_native, _file(".bayesgraph", bg.load), use_model),
    "sealed": Target(_forged_native, _file(".bayesgraph", bg.load), use_model),
    "page": Target(_damaged(corpus.pages), _file(".html", bg.load), use_model),
    "packed page": Target(
        lambda chance: forged_page(chance, chance.choice(_pages())),
        _file(".html", bg.load),
        use_model,
    ),
    "csv": Target(_damaged(corpus.csv), _file(".csv", bg.read_table), use_table),
    "csv-options": Target(_damaged(corpus.csv), _file(".csv", _read_with_options), use_table),
    "parquet": Target(_damaged(corpus.parquet), _file(".parquet", bg.read_table), use_table),
    "share links": Target(links.damaged, links.read, links.use),
    **ANSWERS,
    "pgmpy": Target(damaged_model, lambda model, _: bg.from_pgmpy(model), use_model),
}


# ------------------------------------------------------------------------------------------ running


def input_of(name: str, seed: int, number: int) -> Any:
    """Return one input of a target."""
    return TARGETS[name].make(random.Random(f"{name}/{seed}/{number}"))


def outcomes(
    name: str,
    seed: int,
    numbers: Iterable[int],
    folder: Path,
    *,
    guard: Callable[[Callable[[], Any]], Any] = lambda run: run(),
) -> Iterator[Outcome]:
    """Yield what becomes of some inputs of a target.

    Parameters
    ----------
    name : str
        Of the target.
    seed : int
    numbers : iterable of int
        Of the inputs.
    folder : path
        For files.
    guard : callable
        Calls what it is given, within limits of its own.
    """
    target = TARGETS[name]
    for number in numbers:
        given = input_of(name, seed, number)
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", BayesGraphWarning)
            kind, error = _tried(target, given, folder, guard)
        said = "" if error is None else f"{type(error).__name__}: {' '.join(str(error).split())}"
        yield Outcome(number, kind, said[:200], "" if error is None else _place(error))


def _tried(
    target: Target, given: Any, folder: Path, guard: Callable[[Callable[[], Any]], Any]
) -> tuple[str, BaseException | None]:
    phase = "read"

    def run() -> None:
        nonlocal phase
        result = target.read(given, folder)
        phase = "use"
        target.use(result, folder)

    try:
        guard(run)
    except BayesGraphError as error:
        # A boundary makes a refusal of any error; the memory must not run out before it.
        out_of_memory = isinstance(error.__cause__, MemoryError)
        return (phase if out_of_memory else "refused"), error
    except (Exception, TimeOut) as error:
        return phase, error
    return "used", None


def _place(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "bayesgraph" in frame.filename] or frames
    return f"{Path(own[-1].filename).name}:{own[-1].lineno}"


def peak_of(name: str, given: Any, folder: Path) -> int:
    """Return the most bytes that Python knows to be allocated at a time while an input is read."""
    tracemalloc.start()
    try:
        TARGETS[name].read(given, folder)
    except Exception:  # judged elsewhere
        pass
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return peak
