"""A golden file: what all models answered to all questions, to the bit.

It protects changes that must not change any answer::

    python tests/golden.py record FILE [MODEL ...]  # of these models only, if some are named
    python tests/golden.py compare FILE             # with what the models answer now
    python tests/golden.py compare FILE FILE2

Below the name of a model there is a line for each question, with the patterns of evidence and what
came of them:

* of an answer its type and shape, a rounded fingerprint of its numbers and labels, and a hash of
  their exact bytes;
* of a refusal ``!`` and the class of the error;
* names of the library's own warnings, each after a ``+``.

The last bits of exponentials and sums depend on processor and libraries. The first line of the
file says on what it was recorded: elsewhere, `differences` compares fingerprints with a tolerance
in the place of hashes. The command line compares hashes always.
"""

from __future__ import annotations

import argparse
import math
import platform
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

import golden_questions as questions
import numpy as np
from scipy import sparse

import bayesgraph as bg

FILE = Path(__file__).with_name("golden.txt")
# From (model, question) to pattern to outcome.
Lines = dict[tuple[str, str], dict[str, str]]


# ------------------------------------------------------------------------------- environment


@cache
def environment() -> str:
    """Return what the last bits of numbers depend on, as one line."""
    import llvmlite.binding
    import numba
    import scipy.linalg  # which brings a BLAS of its own
    import sklearn
    import threadpoolctl

    config: Any = np.show_config(mode="dicts")
    blas = {
        f"{info['internal_api']} {info['version']} {info.get('architecture')}"
        for info in threadpoolctl.threadpool_info()
        if info["user_api"] == "blas"
    }
    versions = {"numpy": np, "scipy": scipy, "numba": numba, "sklearn": sklearn}
    parts = [
        f"python {platform.python_version_tuple()[0]}.{platform.python_version_tuple()[1]}",
        *(f"{name} {module.__version__}" for name, module in versions.items()),
        f"{sys.platform} {platform.machine()} {llvmlite.binding.get_host_cpu_name()}",
        " ".join(config["SIMD Extensions"].get("found", [])),
        *sorted(blas),
    ]
    return "; ".join(parts)


# ------------------------------------------------------------------------------- fingerprints


class Outcome(NamedTuple):
    """What is recorded of an answer: type and shape, fingerprint, and hash."""

    kind: str
    value: float
    digest: str

    def __str__(self) -> str:
        return f"{self.kind} {self.value:.10g} {self.digest}"


def _unit(positions: np.ndarray) -> np.ndarray:
    """Return a number in [0, 1) for each position: splitmix64 (Steele, Lea and Flood 2014)."""
    with np.errstate(over="ignore"):
        z = (positions.astype(np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray((z ^ (z >> np.uint64(31))) >> np.uint64(11)) / 2.0**53


class Prints:
    """A fingerprint and a hash that grow with numbers and labels."""

    def __init__(self) -> None:
        self._hash = blake2b(digest_size=5)
        self._parts: list[float] = []
        self._n = 0

    def add(self, value: Any) -> None:
        """Take in an answer, or a part of one."""
        if isinstance(value, (float, np.floating)):
            self._numbers(np.array([value], dtype=np.float64))
        elif isinstance(value, np.ndarray):
            self._array(value)
        elif sparse.issparse(value):
            self._label(value.dtype.str)
            self._array(value.toarray())
        elif isinstance(value, (list, tuple)):
            self._hash.update(f"list {len(value)}".encode())
            for part in value:
                self.add(part)
        elif isinstance(value, dict):
            self._hash.update(f"dict {len(value)}".encode())
            for key, part in value.items():
                self._label(key)
                self.add(part)
        else:
            self._label(value)

    def _array(self, values: np.ndarray) -> None:
        self._hash.update(f"{values.dtype.str} {values.shape}".encode())
        if values.dtype.kind == "f":
            self._numbers(np.ascontiguousarray(values, dtype=np.float64))
        elif values.dtype.kind in "biu":
            # Platforms differ in the size of an integer.
            self._numbers(values.astype(np.float64))
        else:
            for value in values.ravel().tolist():
                self._label(value)

    def _numbers(self, values: np.ndarray) -> None:
        self._hash.update(values.tobytes())
        flat = np.nan_to_num(values.ravel(), nan=7.25, posinf=11.5, neginf=-13.75)
        weights = 1.0 + _unit(np.arange(self._n, self._n + flat.size))
        self._parts += (weights * flat).tolist()
        self._n += flat.size

    def _label(self, value: Any) -> None:
        text = repr(value.item() if isinstance(value, np.generic) else value).encode()
        self._hash.update(b"label " + text)
        code = int.from_bytes(blake2b(text, digest_size=4).digest()) / 2.0**32
        self._parts.append(code * (1.0 + float(_unit(np.array([self._n]))[0])))
        self._n += 1

    def outcome(self, kind: str) -> Outcome:
        """Return what was gathered."""
        # Exact sums: the order of additions would be the processor's.
        return Outcome(kind, math.fsum(self._parts), self._hash.hexdigest())


def described(answer: Any) -> str:
    """Return the type, shape, fingerprint and hash of an answer."""
    if isinstance(answer, bg.inference.Plan):
        return "Plan"  # what it prints is for people
    if isinstance(answer, bytes):
        return f"bytes - {blake2b(answer, digest_size=5).hexdigest()}"
    prints = Prints()
    prints.add(_plain(answer))
    return str(prints.outcome(_kind(answer)))


def _kind(answer: Any) -> str:
    if isinstance(answer, np.ndarray):
        return f"{answer.dtype.kind}{_shape(answer.shape)}"
    if isinstance(answer, bg.inference.Posterior):
        return f"Posterior{_shape(answer.probabilities.shape)}"
    if isinstance(answer, bg.inference.NumberMixture) and answer.gaussian:
        return f"GaussianMixture{_shape(answer.means.shape)}"
    if isinstance(answer, bg.inference.MixedPosterior):
        return f"MixedPosterior{_shape(answer.discrete.probabilities.shape)}"
    if isinstance(answer, (Mapping, list, tuple)):
        return f"{type(answer).__name__}({len(answer)})"
    return type(answer).__name__


def _shape(shape: Iterable[int]) -> str:
    return f"({','.join(map(str, shape))})"


def _plain(answer: Any) -> Any:
    """Return an answer as numbers, labels, arrays, lists and dicts."""
    for kind, parts in _PARTS.items():
        if isinstance(answer, kind):
            return parts(answer)
    if isinstance(answer, Mapping):
        return {key: _plain(value) for key, value in answer.items()}
    if isinstance(answer, (list, tuple)):
        return [_plain(part) for part in answer]
    return answer


def _of_posterior(answer: bg.inference.Posterior) -> Any:
    states = [list(variable.states) for variable in answer.variables]
    return [list(answer.names), states, answer.probabilities, answer.log_evidence]


def _of_mixture(answer: bg.inference.NumberMixture) -> Any:
    names = [variable.name for variable in answer.variables]
    parts = [names, answer.weights, answer.means, answer.covariances, answer.log_evidence]
    if len(names) == 1:
        parts += [answer.mean, answer.std, answer.quantile(0.25), answer.log_density([0.5])]
    return parts


def _of_mixed(answer: bg.inference.MixedPosterior) -> Any:
    possible = [state for state, p in answer.discrete.items() if p > 0]
    return [_plain(answer.discrete), [_plain(answer.given(state)) for state in possible]]


def _of_marginals(answer: bg.inference.Marginals) -> Any:
    found: list[Any] = [answer.log_evidence]
    for name in answer:
        try:
            found += [name, _plain(answer[name])]
        except bg.errors.BayesGraphError as error:
            found += [name, type(error).__name__]
    return found


def _of_samples(answer: bg.inference.WeightedSamples) -> Any:
    estimate = answer.log_evidence
    columns = [[variable.name, column] for variable, column in answer.columns.items()]
    return [columns, answer.log_weights, estimate.value, estimate.standard_error]


def _of_contributions(answer: bg.questions.Contributions) -> Any:
    terms = [
        [t.name, t.value, t.log_odds, t.alone, _plain(t.arcs), t.log_likelihoods]
        for t in answer.terms
    ]
    return [answer.prior, answer.total, answer.probability, terms, answer.log_scores]


_PARTS: dict[Any, Any] = {
    bg.inference.Posterior: _of_posterior,
    bg.inference.NumberMixture: _of_mixture,
    bg.inference.MixedPosterior: _of_mixed,
    bg.inference.Marginals: _of_marginals,
    bg.inference.Assignment: lambda answer: [dict(answer), answer.log_probability],
    bg.inference.WeightedSamples: _of_samples,
    bg.inference.Sensitivity: lambda answer: [
        answer.target,
        answer.state,
        answer.posterior,
        dict(answer.derivatives),
        dict(answer.covaried),
    ],
    bg.inference.Conflict: lambda answer: [
        answer.log_evidence,
        answer.measure,
        # The worst first, which a last bit decides among equals.
        sorted(answer.findings.items(), key=str),
        sorted([str(name), _plain(found)] for name, found in answer.expected.items()),
    ],
    bg.questions.Contributions: _of_contributions,
}


# -------------------------------------------------------------------------------- recording


def recorded(model: str) -> Lines:
    """Return the lines of a model."""
    lines: Lines = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        subject = questions.SUBJECTS[model]()
    for question, pattern, ask in questions.questions_of(subject):
        lines.setdefault((model, question), {})[pattern] = _asked(ask)
    return lines


def _asked(ask: Any) -> str:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        # It is of the cells of the table, and the answer is that of a table without them.
        warnings.simplefilter("ignore", bg.errors.UnseenStatesWarning)
        try:
            # Some answers are computed when they are looked at.
            outcome = described(ask())
        except Exception as error:  # whatever it is, it is the answer
            outcome = f"!{type(error).__name__}"
    own = [w.category for w in seen if issubclass(w.category, bg.errors.BayesGraphWarning)]
    return " ".join([outcome, *sorted({f"+{category.__name__}" for category in own})])


def as_text(lines: Lines, recorded_on: str) -> str:
    """Return the content of a file."""
    rows, last = [f"# {recorded_on}"], ""
    for (model, question), outcomes in sorted(lines.items()):
        if model != last:
            rows.append(f"[{model}]")
            last = model
        patterns: dict[str, list[str]] = {}
        for pattern, outcome in sorted(outcomes.items()):
            patterns.setdefault(outcome, []).append(pattern)
        entries = (f"{','.join(found)} {outcome}" for outcome, found in patterns.items())
        rows.append(f"{question}: {' | '.join(entries)}")
    return "\n".join(rows) + "\n"


def from_text(text: str) -> tuple[str, Lines]:
    """Return on what a file was recorded, and its lines."""
    first, *rows = text.splitlines()
    lines: Lines = {}
    model = ""
    for row in rows:
        if row.startswith("["):
            model = row[1:-1]
            continue
        question, entries = row.split(": ", 1)
        lines[model, question] = {
            pattern: outcome
            for patterns, outcome in (entry.split(" ", 1) for entry in entries.split(" | "))
            for pattern in patterns.split(",")
        }
    return first.removeprefix("# "), lines


# -------------------------------------------------------------------------------- comparing

# Relative to the fingerprint, which is of the size of the largest numbers of an answer. What
# differs most among processors are exponents that a search has found, and what follows from them.
TOLERANCE = 1e-7


def differences(old: Lines, new: Lines, *, exact: bool) -> Iterator[str]:
    """Yield a text for each entry that differs.

    Parameters
    ----------
    exact : bool
        Compare hashes; otherwise fingerprints with a tolerance, and of draws only type and shape:
        a last bit may bring another draw.
    """
    for key in sorted(old.keys() | new.keys()):
        before, after = old.get(key, {}), new.get(key, {})
        numbers = key[1] not in questions.DRAWS
        for pattern in sorted(before.keys() | after.keys()):
            was, now = before.get(pattern, "nothing"), after.get(pattern, "nothing")
            if was != now and (exact or not _is_close(was, now, numbers)):
                yield f"{' | '.join(key)} | {pattern}: was {was}, now {now}"


def _is_close(was: str, now: str, numbers: bool) -> bool:
    one, two = was.split(), now.split()
    # An answer is kind, fingerprint and hash, a refusal a word; warnings follow.
    if len(one) < 3 or len(two) < 3 or one[0] != two[0] or one[3:] != two[3:]:
        return one == two
    if not numbers or one[1] == two[1]:  # of bytes it is "-", and their hash is left
        return True
    return math.isclose(float(one[1]), float(two[1]), rel_tol=TOLERANCE, abs_tol=TOLERANCE)


# ----------------------------------------------------------------------------- command line


def main(arguments: list[str] | None = None) -> int:
    """Record or compare."""
    parser = argparse.ArgumentParser(description="Record what all models answer, and compare.")
    verbs = parser.add_subparsers(dest="verb", required=True)
    record = verbs.add_parser("record")
    record.add_argument("file", type=Path)
    record.add_argument("models", nargs="*", metavar="model")
    compare = verbs.add_parser("compare")
    compare.add_argument("file", type=Path)
    compare.add_argument("other", type=Path, nargs="?")
    given = parser.parse_args(arguments)
    if given.verb == "record":
        kept = from_text(given.file.read_text("utf-8"))[1] if given.models else {}
        lines = {key: entries for key, entries in kept.items() if key[0] not in given.models}
        for model in given.models or questions.SUBJECTS:
            lines |= recorded(model)
        given.file.write_text(as_text(lines, environment()), "utf-8", newline="\n")
        return 0
    _, old = from_text(given.file.read_text("utf-8"))
    if given.other is not None:
        _, new = from_text(given.other.read_text("utf-8"))
    else:
        new = {}
        for model in questions.SUBJECTS:
            new |= recorded(model)
    found = list(differences(old, new, exact=True))
    sys.stdout.write("".join(f"{line}\n" for line in found))
    sys.stdout.write(f"{len(found)} of {sum(map(len, old.values()))} entries differ\n")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
