"""Public files of networks: how many of each format are read, and the words of refusals.

python benchmarks/read_public_files.py FOLDER [--refused] [--check]

The folder has whatever was gathered, such as clones of the repositories that the README lists.
Files are told by their suffixes, some also by their first words; files of equal content count once.
``--refused`` prints each refusal. ``--check`` has pyAgrum read the smaller files too, and lists
those whose marginals differ by more than 1e-5.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import importlib
import re
import shutil
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import bayesgraph as bg
from bayesgraph.core.errors import FileFormatError
from bayesgraph.questions import read_dagitty

GRAPHS, OTHERS = "dagitty, DOT", "others: GeNIe's .dsl, O3PRM, XML of UnBBayes"
FORMATS = {
    ".bif": "BIF",
    **dict.fromkeys((".xmlbif", ".bifxml", ".xml"), "XMLBIF"),
    **dict.fromkeys((".net", ".oobn"), "Hugin NET"),
    **dict.fromkeys((".dne", ".dnet"), "Netica DNE"),
    ".xdsl": "XDSL",
    ".uai": "UAI",
    **dict.fromkeys((".dag", ".dot", ".gv", ".txt"), GRAPHS),
    **dict.fromkeys((".dsl", ".o3prm"), OTHERS),
}
# Suffixes that files of other things have too, and what tells those of networks.
SIGNS = {
    ".xml": re.compile(rb"<(?:\w+:)?(?:bif|xmlbif|network)\b", re.IGNORECASE),
    ".txt": re.compile(
        rb"\A\s*(?:strict\s+)?(?:dag|pdag|mag|pag|digraph)\b[^{;]*\{", re.IGNORECASE
    ),
    ".dot": re.compile(rb"\bdigraph\b", re.IGNORECASE),
    ".net": re.compile(rb"\b(?:node|potential|class)\b"),
}
UNBBAYES = re.compile(rb"<\w+:VARIABLES\b", re.IGNORECASE)
HEAD = 20_000
# What is compared: files of at most so many bytes, networks of at most so many variables.
BYTES, VARIABLES, TOLERANCE = 100_000, 80, 1e-5


class Outcome(NamedTuple):
    """What became of a file: its format, its path, a model or the words of its refusal."""

    format: str
    path: Path
    model: Any
    refusal: str


def files(folder: Path) -> Iterator[tuple[str, Path]]:
    """Yield the files of networks in a folder with their formats, equal ones once."""
    digests = set()
    for path in sorted(folder.rglob("*")):
        suffix = Path(path.name.lower().removesuffix(".gz")).suffix
        if suffix not in FORMATS or not path.is_file():
            continue
        data = path.read_bytes()
        text = gzip.decompress(data) if data.startswith(b"\x1f\x8b") else data
        digest = hashlib.sha256(text).digest()
        if digest in digests or (suffix in SIGNS and not SIGNS[suffix].search(text[:HEAD])):
            continue
        digests.add(digest)
        yield OTHERS if UNBBAYES.search(text[:HEAD]) else FORMATS[suffix], path


def outcome(kind: str, path: Path) -> Outcome:
    """Return what becomes of a file; an error that is no refusal is raised."""
    try:
        model = read_dagitty(path) if kind == GRAPHS else bg.load(path)
    except FileFormatError as error:
        return Outcome(kind, path, None, str(error).removeprefix(str(path)).lstrip(":, "))
    return Outcome(kind, path, model, "")


def words_of(refusal: str) -> str:
    """Return the words of a refusal without what is peculiar to its file."""
    text = re.sub(r"\Aline \d+: ", "", refusal)
    text = re.sub(r"\ATableCPD P.*? sum to .*", "rows do not sum to one", text)
    # What is quoted, and lists of it.
    text = re.sub(r"(?<!\w)'[^']*'(?!\w)(?:, '[^']*')*(?: and \d+ more)?", "…", text)
    text = re.sub(r"(?:<\w+> …,? ?)+", "<…> ", text)
    return re.sub(r"\d[\d.,]*", "N", re.split(r"[.;] |: bayes", text)[0])[:70].strip(" .;:")


def table(outcomes: list[Outcome]) -> str:
    """Return the table by format as Markdown, with the refusals of each."""
    lines = ["| format | files | read | refused, in these words |", "|---|--:|--:|---|"]
    known = [item for item in outcomes if item.format != OTHERS]
    for kind in [*dict.fromkeys(FORMATS.values())]:
        some = [item for item in outcomes if item.format == kind]
        refused = Counter(words_of(item.refusal) for item in some if item.refusal)
        told = "; ".join(f"{n} × {words}" for words, n in refused.most_common())
        if kind == OTHERS:
            lines.append(_total("all of the above", known))
        lines.append(f"| {kind} | {len(some)} | {len(some) - refused.total()} | {told} |")
    return "\n".join([*lines, _total("all", outcomes)])


def _total(name: str, outcomes: list[Outcome]) -> str:
    read = sum(not item.refusal for item in outcomes)
    share = f"{1 - read / max(len(outcomes), 1):.1%} refused"
    return f"| {name} | {len(outcomes)} | {read} | {share} |"


def compared(item: Outcome) -> str:
    """Return whether a peer reads the same marginals from a file, or why it is not asked."""
    model, path = item.model, item.path
    if not isinstance(model, bg.BayesianNetwork) or len(model.variables) > VARIABLES:
        return "no network, or a large one"
    if path.stat().st_size > BYTES or not all(isinstance(v, bg.Discrete) for v in model.variables):
        return "no network, or a large one"
    try:
        theirs = by_agrum(path, item.format)
    except Exception as error:  # whatever it raises for a file that it cannot read
        return f"not read by pyAgrum: {' '.join(str(error).split()):.60}"
    marginals = model.marginals()
    # UAI has no names: variables have the same numbers.
    ours = [marginals[v.name].probabilities for v in model.variables]
    names = range(len(ours)) if item.format == "UAI" else [str(v.name) for v in model.variables]
    if theirs.keys() != {*names}:
        return "other names"
    if any(theirs[name].shape != mine.shape for name, mine in zip(names, ours, strict=True)):
        return "other states"
    pairs = zip(names, ours, strict=True)
    worst = max(float(np.abs(theirs[name] - mine).max()) for name, mine in pairs)
    return "same" if worst <= TOLERANCE else f"off by {worst:.2g}"


def by_agrum(path: Path, kind: str) -> dict[Any, Any]:
    """Return the marginals by pyAgrum, by names, or by numbers of files without names."""
    agrum = importlib.import_module("pyagrum")
    with tempfile.TemporaryDirectory() as folder:
        # It knows XMLBIF by another suffix.
        copy = Path(folder) / f"copy{'.bifxml' if kind == 'XMLBIF' else path.suffix.lower()}"
        shutil.copyfile(path, copy)
        network = agrum.loadBN(str(copy))
    engine = agrum.LazyPropagation(network)
    engine.makeInference()
    by_name = {name: engine.posterior(name).toarray() for name in network.names()}
    if kind != "UAI":
        return by_name
    return {network.idFromName(name): values for name, values in by_name.items()}


def main() -> int:
    """Print the table, and what was asked for besides."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--refused", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    outcomes, told = [], Counter[str]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for kind, path in files(options.folder):
            item = outcome(kind, path)
            place = path.relative_to(options.folder)
            if options.refused and item.refusal:
                print(f"{place}: {item.refusal}", flush=True)
            if options.check and not item.refusal:
                verdict = compared(item)
                told[verdict.partition(" by ")[0]] += 1
                if verdict.startswith(("off", "other")):
                    print(f"{place}: {verdict}", flush=True)
            # Models are not kept.
            outcomes.append(item._replace(model=None))
    if options.check:
        print(dict(told))
    print(table(outcomes))
    return 0


if __name__ == "__main__":
    sys.exit(main())
