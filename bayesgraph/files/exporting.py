"""Networks as a format can hold them: what is refused, changed, restored or lost.

`Export.of` is the one way from a network to a writer. It compares the network with the
`Capabilities` of the format.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, TypeVar, cast

import numpy as np

from bayesgraph.core import errors
from bayesgraph.core.arrays import Floats
from bayesgraph.core.files import LossReport
from bayesgraph.core.parallel import format_count
from bayesgraph.core.variables import Continuous, Count, CountVector, Discrete, Name, Variable
from bayesgraph.files.archive import decode_value, decode_variable, encode_value, encode_variable
from bayesgraph.files.formats import Capabilities, Spelling
from bayesgraph.models import (
    CPD,
    MAX_TABLE,
    Annotations,
    BayesianNetwork,
    CanonicalCPD,
    FactorGraph,
    TableCPD,
    Term,
    substituted,
)

# --------- The sidecar: lines in a file from which bayesgraph restores what the format cannot hold
# Each line is the word ``bayesgraph`` and a JSON object, in a comment or a property of the file.
# The JSON is ASCII and has none of the characters that end a comment or begin markup in any of the
# formats. Other programs ignore the lines.
#
# There are three kinds of objects::
#
#     {"variable": word, "states": [word, ...], "is": variable}      its name, states and kind
#     {"scores": [[word, word, score], ...]}                         scores of arcs
#     {"note": text, "positions": {word: [x, y]}, "notes": {word: text}, "titles": {word: text}}
#
# A word is a name or a state as it stands in the file.


VariableT = TypeVar("VariableT", bound=Variable)

_MARK = "bayesgraph"
# Characters that JSON has in texts only, and that mean something in a comment of some format.
_ESCAPED = {ord(c): f"\\u{ord(c):04x}" for c in "*/<>&%;#()'\x7f"}


def line_of(item: Mapping[str, Any]) -> str:
    """Return an object as a line, without the signs of a comment around it."""
    text = json.dumps(item, separators=(",", ":")).translate(_ESCAPED)
    return f"{_MARK} {text.replace('--', '-' + chr(92) + 'u002d')}"


def content_of(comment: str) -> str | None:
    """Return the JSON of a comment that is a line of a sidecar, else None."""
    mark, _, content = comment.strip().partition(" ")
    return content if mark == _MARK and content.startswith("{") else None


@dataclass(frozen=True)
class Sidecar:
    """What the lines of a file say.

    Attributes
    ----------
    source : str
        Path for messages.
    spell : callable
        Returns the word of a name or a state that was read.
    variables : dict from str to (list of str, Variable)
        From the word for a variable's name to the words for its states, and the variable.
    scores : list of (str, str, float)
    annotations : Annotations
        Names are words.
    """

    source: str
    spell: Callable[[object], str]
    variables: Mapping[str, tuple[list[str], Variable]]
    scores: Sequence[tuple[str, str, float]]
    annotations: Annotations

    @classmethod
    def of(
        cls, lines: Iterable[str], source: str, *, spell: Callable[[object], str] = str
    ) -> Sidecar:
        """Return what some lines say, each without ``bayesgraph``: see `content_of`.

        `spell` gives the word of a name or a state that was read.

        Raises
        ------
        FileFormatError
            If a line is not as `line_of` writes it.
        """
        variables: dict[str, tuple[list[str], Variable]] = {}
        scores: list[tuple[str, str, float]] = []
        annotations = Annotations()
        for line in lines:
            try:
                item = json.loads(line)
                if "variable" in item:
                    variables[item["variable"]] = (
                        item.get("states", []),
                        decode_variable(item["is"]),
                    )
                elif "scores" in item:
                    scores += [(a, b, float(decode_value(s))) for a, b, s in item["scores"]]
                else:
                    annotations = annotations.over(Annotations(**item))
            except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
                raise errors.FileFormatError(
                    f"{source}: expected what bayesgraph restores names and states from after the "
                    f"word 'bayesgraph'; got {line!r:.80} ({error}). Without this line the file is "
                    "read as other programs do."
                ) from error
        return cls(source, spell, variables, scores, annotations)

    def restored(self, read: Sequence[VariableT]) -> list[VariableT]:
        """Return the variables that were written for those that were read.

        Another program may have changed the file and kept the lines: a variable that does not fit
        its line stays as it was read, with one warning.

        Raises
        ------
        FileFormatError
            If two variables would have one name.
        """
        found = [self._variable(variable) for variable in read]
        fitting = {
            self.spell(old.name) for old, new in zip(read, found, strict=True) if new is not old
        }
        changed = [word for word in self.variables if word not in fitting]
        if changed:
            errors.warn(
                f"{self.source}: {errors.quoted(changed)} differ from what bayesgraph wrote: "
                "another program has changed their names or states, which are taken as they stand.",
                errors.BayesGraphWarning,
            )
        names = Counter(variable.name for variable in found)
        if len(names) < len(found):
            twice = [name for name, count in names.items() if count > 1]
            raise errors.FileFormatError(
                f"{self.source}: the lines of bayesgraph in the file give more than one variable "
                f"the name {errors.quoted(twice)}. Without them it is read as other programs do."
            )
        return found

    def _variable(self, read: VariableT) -> VariableT:
        words, found = self.variables.get(self.spell(read.name), ([], None))
        if isinstance(read, Discrete):
            fits = isinstance(found, Discrete) and found.cardinality == read.cardinality
            fits = fits and words == list(map(self.spell, read.states))
        else:
            fits = type(found) is type(read)
        return cast("VariableT", found) if fits else read

    def restore(self, network: BayesianNetwork) -> BayesianNetwork:
        """Return a network that was read with the names, states and annotations that were written.

        Raises
        ------
        FileFormatError
            As `restored`.
        """
        if not (self.variables or self.scores or self.annotations):
            return network
        variables = self.restored(network.variables)
        pairs = list(zip(network.variables, variables, strict=True))
        new = {old: found for old, found in pairs if found is not old}
        names = {old.name: found.name for old, found in pairs}
        of_word: dict[Name, Name] = {self.spell(old.name): found.name for old, found in pairs}
        blocks = [substituted(block, new) for block in network._blocks]
        arcs = {arc for block in blocks for arc in block.arcs()}
        scored = [(of_word.get(a), of_word.get(b), s) for a, b, s in self.scores]
        own = self.annotations.of(of_word).renamed(of_word)
        return BayesianNetwork(
            blocks,
            arc_scores={
                **{(names[a], names[b]): s for (a, b), s in network.arc_scores.items()},
                **{(a, b): score for a, b, score in scored if (a, b) in arcs},
            },
            order=variables,
            annotations=own.over(network.annotations.renamed(names)),
        )


# ------------------ Networks as a format can hold them: what is refused, changed, restored or lost


# Variables whose states are listed each for themselves.
_LISTED = 8
_OF_NUMBERS = (
    "numbers need intervals: fit or learn with a discretizer (discretizer= of classifiers; "
    "--discretizer of the commands 'fit' and 'learn'), or write .bayesgraph, which holds all "
    "distributions, or .net, which holds linear Gaussians"
)


@dataclass
class Losses:
    """Collects what a format cannot hold of a model.

    Parameters
    ----------
    format : str
        Name of the format.
    strict : bool
        Whether what is restored or lost is refused.
    """

    format: str
    strict: bool
    _refused: list[str] = field(default_factory=list)
    _restored: list[str] = field(default_factory=list)
    _advice: list[str] = field(default_factory=list)
    _lost: list[str] = field(default_factory=list)
    _left: list[str] = field(default_factory=list)

    def refuse(self, item: str) -> None:
        """Note what cannot be written."""
        self._refused.append(item)

    def restore(self, fault: str, written: str) -> None:
        """Note what other programs read in another form, and bayesgraph restores.

        `fault` says what the format cannot hold, `written` what is written for it.
        """
        if self.strict:
            self._refused.append(f"{fault} (strict=False writes {written})")
        else:
            self._restored.append(f"{fault}: written as {written}")

    def lose(self, fault: str, written: str) -> None:
        """Note what is written in another form for good."""
        if self.strict:
            self._refused.append(f"{fault} (strict=False writes {written}, for good)")
        else:
            self._lost.append(f"{fault}: written as {written}")

    def advise(self, advice: str) -> None:
        """Note what to do about something that is refused, which is said once, at the end."""
        self._advice.append(advice)

    def change(self, item: str) -> None:
        """Note what is left out or written in another form, and changes no answer."""
        self._lost.append(item)

    def leave_out(self, item: str) -> None:
        """Note what is left out and is no part of the model, without a warning."""
        self._left.append(item)

    def report(self) -> LossReport:
        """Return the report, with a warning if anything is lost.

        Raises
        ------
        LossyExportError
            If anything is refused.
        """
        if self._refused:
            head = f"{self.format} cannot hold this model:"
            text = "\n  ".join([head, *self._refused, *dict.fromkeys(self._advice)])
            raise errors.LossyExportError(text)
        if self._lost:
            text = "\n  ".join([f"Written as {self.format} with changes:", *self._lost])
            errors.warn(text, errors.LossyExportWarning)
        return LossReport(self.format, tuple(self._restored), (*self._lost, *self._left))


@dataclass(frozen=True)
class Words:
    """Names and states as a file has them.

    Attributes
    ----------
    names : dict from Variable to str
    states : dict from Variable to list of str
        Of the discrete variables.
    sidecar : list of str
        Lines from which the variables are restored.
    """

    names: Mapping[Variable, str]
    states: Mapping[Variable, Sequence[str]]
    sidecar: Sequence[str]

    @classmethod
    def of(cls, variables: Sequence[Variable], capabilities: Capabilities, losses: Losses) -> Words:
        """Return a word for each name and each state; what has none is noted in `losses`."""
        exact = [capabilities.names.exact(v.name, i) for i, v in enumerate(variables)]
        words = _filled([v.name for v in variables], exact, capabilities.names)
        names = dict(zip(variables, words, strict=True))
        states: dict[Variable, Sequence[str]] = {}
        sidecar: list[str] = []
        # By whether they are restored: variables whose names, and whose states, have no words.
        odd: dict[bool, list[Variable]] = {True: [], False: []}
        wrong: dict[bool, dict[Variable, list[tuple[object, str]]]] = {True: {}, False: {}}
        for variable, spelled in zip(variables, exact, strict=True):
            values = variable.states if isinstance(variable, Discrete) else ()
            known = [capabilities.states.exact(s, i) for i, s in enumerate(values)]
            if not capabilities.tells_apart(values):
                known = [None] * len(values)
            states[variable] = _filled(values, known, capabilities.states)
            if spelled is not None and None not in known and capabilities.is_plain(variable):
                continue
            line = _line(variable, names[variable], states[variable])
            is_restored = line is not None
            sidecar += [] if line is None else [line]
            if spelled is None:
                odd[is_restored].append(variable)
            if None in known:
                spelling = zip(values, states[variable], known, strict=True)
                wrong[is_restored][variable] = [
                    (s, near) for s, near, word in spelling if word is None
                ]
            elif not is_restored and spelled is not None:
                losses.change(f"{variable.name!r:.80} is no longer known as intervals or groups")
        for is_restored, note in ((True, losses.restore), (False, losses.lose)):
            if others := odd[is_restored]:
                fault = _fault("name", [variable.name for variable in others])
                held, written = capabilities.names.held, [names[variable] for variable in others]
                note(f"{fault}: names are {held}", errors.quoted(written))
            held, found = capabilities.states.held, list(wrong[is_restored].items())
            for variable, pairs in found[:_LISTED]:
                fault = _fault("state", [s for s, _ in pairs], f" of {variable.name!r:.80}")
                note(f"{fault}: states are {held}", errors.quoted(near for _, near in pairs))
            if left := [variable.name for variable, _ in found[_LISTED:]]:
                note(f"states of {errors.quoted(left)}: states are {held}", "similar words")
        return cls(names, states, sidecar)


def _fault(what: str, values: Sequence[object], of: str = "") -> str:
    kinds = dict.fromkeys(type(value).__name__ for value in values)
    listed = errors.quoted(values) + ("" if kinds.keys() == {"str"} else f" ({', '.join(kinds)})")
    return f"the {what}{'s' * (len(values) > 1)} {listed}{of}"


def _line(variable: Variable, name: str, states: Sequence[str]) -> str | None:
    """Return the line from which a variable is restored; None if there is none."""
    words = {"states": list(states)} if isinstance(variable, Discrete) else {}
    try:
        return line_of({"variable": name, **words, "is": encode_variable(variable)})
    except errors.LossyExportError:  # of a type that JSON cannot hold
        return None


def _filled(values: Iterable[object], exact: Sequence[str | None], spelling: Spelling) -> list[str]:
    """Return a word for each value, given the words of those that have one."""
    taken = {word: 1 for word in exact if word is not None}
    found = []
    for place, (value, known) in enumerate(zip(values, exact, strict=True)):
        word = spelling.near(value, place, taken) if known is None else known
        taken.setdefault(word, 1)
        found.append(word)
    return found


@dataclass(frozen=True)
class Export:
    """A network as a format can hold it.

    Attributes
    ----------
    cpds : tuple of CPD
        One for each variable, in the order of the network's variables; each of one of the families
        of the format.
    words : Words
        Names and states as they are written.
    annotations : Annotations
        Those of the network; names are words.
    sidecar : tuple of str
        Lines to put into comments of the file, one each.
    report : LossReport
    """

    cpds: tuple[CPD, ...]
    words: Words
    annotations: Annotations
    sidecar: tuple[str, ...]
    report: LossReport

    @classmethod
    def of(cls, model: object, capabilities: Capabilities, *, strict: bool) -> Export:
        """Compare a model with what a format holds.

        Raises
        ------
        LossyExportError
            If it is no network, or the format cannot hold it; the message lists why.
        """
        if not isinstance(model, BayesianNetwork):
            raise errors.LossyExportError(
                f"{capabilities.format} holds Bayesian networks; got {model!r}. Of an average "
                "write one of its `networks`, or fit with n_trees=0; the native format "
                "(.bayesgraph) holds all models."
            )
        losses = Losses(capabilities.format, strict)
        cpds = held_cpds(model, capabilities, losses)
        words = Words.of(model.variables, capabilities, losses)
        by_name = {variable.name: word for variable, word in words.names.items()}
        sidecar = [*words.sidecar]
        if model.arc_scores and "scores" not in capabilities.also:
            scores = model.arc_scores.items()
            listed = [[by_name[a], by_name[b], encode_value(float(s))] for (a, b), s in scores]
            sidecar.append(line_of({"scores": listed}))
        annotations = model.annotations.of(by_name).renamed(by_name)
        left = {
            field: dict(getattr(annotations, field))
            for field in ("positions", "notes", "titles")
            if field not in capabilities.also
        }
        note = "" if "notes" in capabilities.also else annotations.note
        if content := {k: v for k, v in {"note": note, **left}.items() if v}:
            sidecar.append(line_of(content))
        if model.training is not None and "training" not in capabilities.also:
            # Another program may change the numbers and would keep what they were fitted on.
            losses.leave_out("what the model was fitted on is left out")
        return cls(tuple(cpds), words, annotations, tuple(sidecar), losses.report())

    def title(self, variable: Variable) -> str:
        """Return the text to show of a variable, empty if it is the word for its name."""
        word, titles = self.words.names[variable], self.annotations.titles
        title = titles.get(word, str(variable.name))
        return title if word in titles or title != word else ""


# ------------------------------------------------------------------------------------- CPDs


def held_cpds(network: BayesianNetwork, capabilities: Capabilities, losses: Losses) -> list[CPD]:
    """Return a CPD for each variable of a network that a format holds; others are noted."""
    found: list[CPD] = []
    numbers: dict[tuple[str, str], list[Name]] = {}
    for cpd in network.cpds:
        as_it_is = type(cpd) in capabilities.families and capabilities.fits(cpd)
        held = cpd if as_it_is else as_table(cpd)
        family = f"a {type(cpd).__name__}"
        if held is None and isinstance(cpd.variable, Continuous):
            numbers.setdefault((number_kind(cpd.variable), family), []).append(cpd.variable.name)
            continue
        if held is None:
            losses.refuse(_unheld(cpd, family))
            continue
        if held is not cpd:
            losses.change(f"{cpd.variable.name!r} has {family}, which is written as its table")
        found.append(held)
    for (kind, family), names in numbers.items():
        verb = "are" if len(names) > 1 else "is"
        losses.refuse(f"{errors.quoted(names)} {verb} {kind}, with {family}")
        losses.advise(_OF_NUMBERS)
    kinds = {isinstance(cpd.variable, Discrete) for cpd in found}
    if len(kinds) > 1 and "mixed" not in capabilities.also:
        listed = [cpd.variable.name for cpd in found if not isinstance(cpd.variable, Discrete)]
        losses.refuse(
            f"discrete and continuous variables together; continuous: {errors.quoted(listed)}"
        )
    return found


def _unheld(cpd: CPD, family: str) -> str:
    if isinstance(cpd, CanonicalCPD):
        family += f", whose table would have {format_count(cpd.n_entries)} numbers"
    if isinstance(cpd.variable, Discrete):
        return f"{cpd.variable.name!r} has {family}"
    return f"{no_table(cpd.variable)}: it has {family}"


def no_table(variable: Variable) -> str:
    """Return the reason why a variable cannot have a table of states, for messages."""
    if isinstance(variable, CountVector):
        return f"{variable.name!r} is a vector of counts of {len(variable.items):,} items"
    assert isinstance(variable, Continuous)
    return f"{variable.name!r} is {number_kind(variable)}"


def number_kind(variable: Continuous) -> str:
    """Return what a variable is that has numbers instead of states, for messages."""
    return "a count" if isinstance(variable, Count) else "continuous"


def as_table(cpd: CPD) -> TableCPD | None:
    """Return a table, or a canonical CPD such as a noisy or as its table; None for other CPDs.

    The result is None too if the table would be too large for a file.
    """
    if isinstance(cpd, TableCPD):
        return cpd
    if isinstance(cpd, CanonicalCPD) and cpd.n_entries <= MAX_TABLE:
        return cpd.to_table()
    return None


def graph_tables(model: FactorGraph, losses: Losses) -> list[tuple[Sequence[Discrete], Floats]]:
    """Return the scopes of a graph's factors, and their tables raised to their exponents.

    What a format of tables cannot hold is noted.
    """
    tables: list[tuple[Sequence[Discrete], Floats]] = []
    for variable in model.variables:
        if not isinstance(variable, Discrete):
            losses.refuse(no_table(variable))
    for term in model.terms:
        factor = term.table
        if factor is None:
            if all(isinstance(variable, Discrete) for variable in term.scope):
                losses.refuse(f"{term.title} is not a table")
        elif factor.n_rows != 1:
            losses.refuse(f"{factor!r} belongs to a batch of rows")
        else:
            values, log_values = _values_of(term), factor.log_values[0]
            tables.append((list(factor.scope), values))
            # Whether all numbers represent their logarithms, without under- or overflow.
            with np.errstate(all="ignore"):
                change = np.abs(np.log(values) - log_values)
            if not bool(((change <= 1e-9) | np.isneginf(log_values) & (values == 0)).all()):
                losses.refuse(f"{factor!r} has values beyond the range of floats")
    powered = sum(bool((term.exponent != 1).any()) for term in model.terms)
    if powered:
        losses.change(f"the exponents of {powered} factors are applied to their tables")
    return tables


# Powers of ten up to 22 are exact, so a quotient by one is the float nearest to the decimal.
_POWERS_OF_TEN = np.array([float(10**digits) for digits in range(23)])


def _values_of(term: Term) -> Floats:
    """Return numbers whose logarithms are exactly those that the factor of a term stores.

    exp alone is off by some units in the last place: logarithms would change from file to file, and
    0.3 would be written as 0.30000000000000004. A number of at most fifteen digits is preferred. If
    no float has exactly that logarithm, as is usual in tables raised to an exponent, the value of
    exp is taken.
    """
    if isinstance(term.source, TableCPD) and (term.exponent == 1).all():
        return term.source.values
    assert term.table is not None
    log_values = term.table.log_values[0]
    with np.errstate(all="ignore"):
        values = np.exp(log_values)
        scale = _POWERS_OF_TEN[np.clip(14 - np.floor(np.log10(values)), 0, 22).astype(np.intp)]
        near = [
            np.rint(values * scale) / scale,
            values,
            np.nextafter(values, np.inf),
            np.nextafter(values, 0.0),
        ]
        return np.select([np.log(value) == log_values for value in near], near, default=values)


# ---- What readers leave out of a file, such as names of networks, properties, colours and comments
# A reader says so by `skip`, and whoever listens within `skipped_in_reading` gets all of it.


_NOTED: ContextVar[Skipped | None] = ContextVar("_NOTED", default=None)
# Names of networks that say nothing; writers give them.
_NO_NAMES = ("", "unknown", "network")
_SHOWN = 12


class Skipped:
    """What was left out of the files that were read.

    Examples
    --------
    >>> with skipped_in_reading() as found:
    ...     skip("variables", "property", 2)
    >>> found.lines()
    ('of the variables: property (2)',)
    """

    def __init__(self) -> None:
        self._found: dict[str, Counter[str]] = {}

    def add(self, of: str, what: str, count: int) -> None:
        """Note that something was left out of the network, its variables or the file."""
        self._found.setdefault(of, Counter())[what] += count

    def lines(self) -> tuple[str, ...]:
        """Return a line of text for each part of the file that something was left out of."""
        return tuple(f"of the {of}: {_listed(found)}" for of, found in self._found.items())


def _listed(found: Counter[str]) -> str:
    shown = [f"{what} ({n:,})" if n > 1 else what for what, n in islice(found.items(), _SHOWN)]
    return ", ".join(shown) + f" and {len(found) - _SHOWN} more" * (len(found) > _SHOWN)


@contextmanager
def skipped_in_reading() -> Iterator[Skipped]:
    """Collect what the readers leave out that are called within."""
    found = Skipped()
    token = _NOTED.set(found)
    try:
        yield found
    finally:
        _NOTED.reset(token)


def skip(of: str, what: str, count: int = 1) -> None:
    """Say that something is left out: `of` is "network", "variables", "tables" or "file"."""
    if count and (noted := _NOTED.get()) is not None:
        noted.add(of, what, count)


def skip_name(name: str) -> None:
    """Say that the name of the network is left out, unless it is one that means nothing."""
    if name not in _NO_NAMES:
        skip("network", f"the name {name!r:.80}")
