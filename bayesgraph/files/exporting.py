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
from functools import partial
from typing import Any, TypeVar, cast

import numpy as np

from bayesgraph import models
from bayesgraph.core import errors
from bayesgraph.core.arrays import Floats, check_flags
from bayesgraph.core.files import LossReport
from bayesgraph.core.parallel import format_count
from bayesgraph.core.variables import Continuous, Count, CountVector, Discrete, Name, Variable
from bayesgraph.files.archive import decode_value, decode_variable, encode_value, encode_variable
from bayesgraph.files.formats import Capabilities, Spelling

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
    # A comment of XML has no two hyphens in a row: the second becomes an escape. chr(92) is its
    # backslash, which no expression in an f-string of Python 3.11 can have.
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
    annotations: models.Annotations

    @classmethod
    def of(
        cls, lines: Iterable[str], source: str, *, spell: Callable[[object], str] = str
    ) -> Sidecar:
        """Return the content of some lines, each without ``bayesgraph``: see `content_of`.

        `spell` gives the word of a name or a state that was read.

        Raises
        ------
        FileFormatError
            If a line is not as `line_of` writes it.
        """
        variables: dict[str, tuple[list[str], Variable]] = {}
        scores: list[tuple[str, str, float]] = []
        annotations = models.Annotations()
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
                    annotations = annotations.over(models.Annotations(**item))
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
        variables = [self._variable(variable) for variable in read]
        pairs = zip(read, variables, strict=True)
        # The words of the variables that fit their lines: those of the lines have replaced them.
        fitting = {self.spell(before.name) for before, after in pairs if after is not before}
        changed = [word for word in self.variables if word not in fitting]
        if changed:
            errors.warn(
                f"{self.source}: {errors.quoted(changed)} differ from what bayesgraph wrote: "
                "another program has changed their names or states, which are taken as they stand.",
                errors.BayesGraphWarning,
            )
        names = Counter(variable.name for variable in variables)
        if len(names) < len(variables):
            twice = [name for name, count in names.items() if count > 1]
            raise errors.FileFormatError(
                f"{self.source}: the lines of bayesgraph in the file give more than one variable "
                f"the name {errors.quoted(twice)}. Without them it is read as other programs do."
            )
        return variables

    def _variable(self, read: VariableT) -> VariableT:
        """Return the variable that was written if the words for its states are still the same."""
        words, written = self.variables.get(self.spell(read.name), ([], None))
        # A line of another kind of variable, or with other states, is of a file that was changed.
        if isinstance(read, Discrete):
            fits = isinstance(written, Discrete) and written.cardinality == read.cardinality
            fits = fits and words == list(map(self.spell, read.states))
        else:
            fits = isinstance(written, Continuous)
        return cast("VariableT", written) if fits else read

    def restore(self, network: models.BayesianNetwork) -> models.BayesianNetwork:
        """Return a network that was read with the names, states and annotations that were written.

        Raises
        ------
        FileFormatError
            As `restored`.
        """
        if not (self.variables or self.scores or self.annotations):
            return network
        variables = self.restored(network.variables)
        # From what was read to what was written: variables that differ, all names, and names by
        # the words of the lines.
        pairs = list(zip(network.variables, variables, strict=True))
        changed = {read: written for read, written in pairs if written is not read}
        name_of = {read.name: written.name for read, written in pairs}
        by_word: dict[Name, Name] = {self.spell(read): name for read, name in name_of.items()}
        blocks = [models.substituted(block, changed) for block in network._blocks]
        arcs = {arc for block in blocks for arc in block.arcs()}
        scored = [(by_word.get(a), by_word.get(b), score) for a, b, score in self.scores]
        annotations = self.annotations.of(by_word).renamed(by_word)
        return models.BayesianNetwork(
            blocks,
            arc_scores={
                **{(name_of[a], name_of[b]): s for (a, b), s in network.arc_scores.items()},
                # Another program may have removed arcs that the lines have scores of.
                **{(a, b): score for a, b, score in scored if (a, b) in arcs},
            },
            order=variables,
            annotations=annotations.over(network.annotations.renamed(name_of)),
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

    Attributes
    ----------
    format : str
        Name of the format.
    strict : bool
        Whether what is restored or lost is refused.
    refused : list of str
    advice : str
        What to do about what is refused.
    restored : list of str
        What other programs read in another form, and bayesgraph restores.
    lost : list of str
        What is left out or written in another form for good; a warning says so.
    left : list of str
        What is left out and is no part of the model.
    """

    format: str
    strict: bool
    refused: list[str] = field(default_factory=list)
    advice: str = ""
    restored: list[str] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)

    def respell(self, fault: str, written: str, *, is_restored: bool) -> None:
        """Note what the format cannot hold, and what is written for it."""
        if self.strict:
            ending = "" if is_restored else ", for good"
            self.refused.append(f"{fault} (strict=False writes {written}{ending})")
        else:
            noted = self.restored if is_restored else self.lost
            noted.append(f"{fault}: written as {written}")

    def report(self) -> LossReport:
        """Return the report, with a warning if anything is lost.

        Raises
        ------
        LossyExportError
            If anything is refused.
        """
        if self.refused:
            head = f"{self.format} cannot hold this model:"
            text = "\n  ".join([head, *self.refused, self.advice])
            raise errors.LossyExportError(text.rstrip())
        if self.lost:
            text = "\n  ".join([f"Written as {self.format} with changes:", *self.lost])
            errors.warn(text, errors.LossyExportWarning)
        return LossReport(self.format, tuple(self.restored), (*self.lost, *self.left))


@dataclass(frozen=True)
class Export:
    """A network, or a factor graph, as a format can hold it.

    Attributes
    ----------
    cpds : tuple of CPD
        One for each variable of a network, in the order of its variables; each of one of the
        families of the format.
    tables : list of (scope, ndarray)
        The tables of a discrete network, the child last in the scope, or of a factor graph.
    names : dict from Variable to str
        Names as they are written: words.
    states : dict from Variable to list of str
    annotations : Annotations
        Those of the network; names are words.
    sidecar : list of str
        Lines to put into comments of the file, one each.
    report : LossReport
    """

    cpds: Sequence[Any]
    tables: Sequence[tuple[Sequence[Any], Floats]]
    names: Mapping[Variable, str]
    states: Mapping[Variable, Sequence[str]]
    annotations: models.Annotations
    sidecar: Sequence[str]
    report: LossReport

    @classmethod
    def of(cls, model: Any, capabilities: Capabilities, *, strict: bool) -> Export:
        """Compare a model with what a format holds.

        Raises
        ------
        LossyExportError
            If the format cannot hold the model; the message lists why.
        """
        # A Bayesian network is itself the one item of its `networks`; a factor graph has none. The
        # networks of an ensemble are others, and [None] makes what is no model neither of them.
        networks = model.networks if isinstance(model, models.Model) else [None]
        holds_factors = "factors" in capabilities.also
        if not (any(network is model for network in networks) or (holds_factors and not networks)):
            graphs, advice = "", ""
            if holds_factors:
                graphs = " and factor graphs"
                advice = (
                    "Of a WeightedNetwork write its FactorGraph.of(), which agrees where all "
                    "features are observed. "
                )
            raise errors.LossyExportError(
                f"{capabilities.format} holds Bayesian networks{graphs}; got {model!r}. {advice}Of "
                "an average write one of its `networks`, or fit with n_trees=0; the native format "
                "(.bayesgraph) holds all models."
            )
        check_flags(strict=strict)
        losses = Losses(capabilities.format, strict)
        if networks:
            cpds = _held_cpds(model, capabilities, losses)
            discrete = [cpd for cpd in cpds if isinstance(cpd, models.TableCPD)]
            tables = [([*cpd.parents, cpd.variable], cpd.values) for cpd in discrete]
        else:
            cpds, tables = [], _factor_tables(model, losses)
        names, states, sidecar = _words(model.variables, capabilities, losses)
        # From names to words, of variables in scores and annotations.
        by_name: dict[Name, str] = {variable.name: word for variable, word in names.items()}
        annotations = models.Annotations()
        if networks:
            annotations = model.annotations.of(by_name).renamed(by_name)
            if model.arc_scores and "scores" not in capabilities.also:
                scores = model.arc_scores.items()
                listed = [[by_name[a], by_name[b], encode_value(float(s))] for (a, b), s in scores]
                sidecar.append(line_of({"scores": listed}))
        # Annotations that the format has no place for.
        note = "" if "notes" in capabilities.also else annotations.note
        unheld = {"note": note} | {
            field: dict(getattr(annotations, field))
            for field in ("positions", "notes", "titles")
            if field not in capabilities.also
        }
        if content := {field: value for field, value in unheld.items() if value}:
            sidecar.append(line_of(content))
        if model.training is not None and "training" not in capabilities.also:
            # Another program may change the numbers and would keep what they were fitted on.
            losses.left.append("what the model was fitted on is left out")
        return cls(cpds, tables, names, states, annotations, sidecar, losses.report())

    def title(self, variable: Variable) -> str:
        """Return the text to show of a variable, empty if it is the word for its name."""
        word, titles = self.names[variable], self.annotations.titles
        title = titles.get(word, str(variable.name))
        return title if word in titles or title != word else ""


# ------------------------------------------------------------------------------------------ words


def _words(
    variables: Sequence[Variable], capabilities: Capabilities, losses: Losses
) -> tuple[dict[Variable, str], dict[Variable, Sequence[str]], list[str]]:
    """Return a word for each name and each state, and the lines that restore those without one.

    A word is exact if every reader makes the value itself of it; else it is only like the value.
    What is not exact is noted in `losses`.

    Returns
    -------
    names : dict from Variable to str
    states : dict from Variable to sequence of str
    sidecar : list of str
        A line for each variable that plain words do not tell.
    """
    exact_names = [capabilities.names.exact(v.name, i) for i, v in enumerate(variables)]
    words = _filled([v.name for v in variables], exact_names, capabilities.names)
    names = dict(zip(variables, words, strict=True))
    states: dict[Variable, Sequence[str]] = {}
    sidecar: list[str] = []
    # Variables whose names, and states whose words, are not exact, by whether a line restores them.
    inexact: dict[bool, list[Variable]] = {True: [], False: []}
    respelled: dict[bool, list[tuple[Variable, list[tuple[object, str]]]]] = {True: [], False: []}
    for variable, exact_name in zip(variables, exact_names, strict=True):
        values = variable.states if isinstance(variable, Discrete) else ()
        exact_states = [capabilities.states.exact(s, i) for i, s in enumerate(values)]
        # Where the format takes two states for equal, all of them are written as texts.
        if not capabilities.tells_apart(values):
            exact_states = [None] * len(values)
        state_words = _filled(values, exact_states, capabilities.states)
        states[variable] = state_words
        is_exact = exact_name is not None and None not in exact_states
        if is_exact and capabilities.is_plain(variable):
            continue
        line = _line(variable, names[variable], state_words)
        is_restored = line is not None
        sidecar += [] if line is None else [line]
        if exact_name is None:
            inexact[is_restored].append(variable)
        if None in exact_states:
            spelling = zip(values, state_words, exact_states, strict=True)
            pairs = [(state, word) for state, word, exact in spelling if exact is None]
            respelled[is_restored].append((variable, pairs))
        elif is_exact and not is_restored:  # only its kind is lost
            kind = type(variable).__name__
            losses.lost.append(f"{variable.name!r:.80} is no longer of the type {kind}")
    held_names, held_states = capabilities.names.held, capabilities.states.held
    for is_restored in (True, False):
        note = partial(losses.respell, is_restored=is_restored)
        if others := inexact[is_restored]:
            fault = _fault("name", [variable.name for variable in others])
            note(f"{fault}: names are {held_names}", errors.quoted(names[v] for v in others))
        for variable, pairs in respelled[is_restored][:_LISTED]:
            fault = _fault("state", [s for s, _ in pairs], f" of {variable.name!r:.80}")
            note(f"{fault}: states are {held_states}", errors.quoted(word for _, word in pairs))
        if more := [variable.name for variable, _ in respelled[is_restored][_LISTED:]]:
            note(f"states of {errors.quoted(more)}: states are {held_states}", "similar words")
    return names, states, sidecar


def _fault(what: str, values: Sequence[object], of: str = "") -> str:
    """Return names or states in words, with their types unless all of them are text."""
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
    """Return a word for each value: the exact one if there is one, else a word like the value."""
    # Each word in use, with the last number that was put after it; see `TextSpelling.near`.
    in_use = {word: 1 for word in exact if word is not None}
    words = []
    for place, (value, word) in enumerate(zip(values, exact, strict=True)):
        words.append(spelling.near(value, place, in_use) if word is None else word)
        in_use.setdefault(words[-1], 1)
    return words


# -------------------------------------------------------------------------- CPDs and factors


def row_texts(cpd: models.TableCPD, between: str) -> list[str]:
    """Return the numbers of each row of a table as text, with what stands `between` two of them."""
    # repr gives the shortest decimal that reads back as the same float.
    rows = cpd.values.reshape(-1, cpd.variable.cardinality).tolist()
    return [between.join(map(repr, row)) for row in rows]


def _held_cpds(network: Any, capabilities: Capabilities, losses: Losses) -> list[models.CPD]:
    """Return the CPDs of a network in families that a format holds; others are noted in `losses`.

    A canonical CPD, such as a noisy or, that the format does not hold is replaced by its table.
    """
    held: list[models.CPD] = []
    # Names of the refused variables that have numbers, by their kind and family.
    numbers: dict[tuple[str, str], list[Name]] = {}
    for cpd in network.cpds:
        variable, family = cpd.variable, f"a {type(cpd).__name__}"
        if type(cpd) in capabilities.families and capabilities.fits(cpd):
            held.append(cpd)
        elif isinstance(cpd, models.CanonicalCPD) and cpd.n_entries <= models.MAX_TABLE:
            losses.lost.append(f"{variable.name!r} has {family}, which is written as its table")
            held.append(cpd.to_table())
        elif isinstance(variable, Continuous):
            # Variables of the same kind and family are noted together, below.
            numbers.setdefault((_kind_of(variable), family), []).append(variable.name)
        elif isinstance(cpd, models.CanonicalCPD):
            n = format_count(cpd.n_entries)
            losses.refused.append(
                f"{variable.name!r} has {family}, whose table would have {n} numbers"
            )
        elif isinstance(variable, Discrete):
            losses.refused.append(f"{variable.name!r} has {family}")
        else:
            losses.refused.append(f"{no_table(variable)}: it has {family}")
    for (kind, family), names in numbers.items():
        verb = "are" if len(names) > 1 else "is"
        losses.refused.append(f"{errors.quoted(names)} {verb} {kind}, with {family}")
        losses.advice = _OF_NUMBERS
    continuous = [cpd.variable.name for cpd in held if not isinstance(cpd.variable, Discrete)]
    if 0 < len(continuous) < len(held) and "mixed" not in capabilities.also:
        losses.refused.append(
            f"discrete and continuous variables together; continuous: {errors.quoted(continuous)}"
        )
    return held


def no_table(variable: Variable) -> str:
    """Return the reason why a variable cannot have a table of states, for messages."""
    return f"{variable.name!r} is {_kind_of(variable)}"


def _kind_of(variable: Variable) -> str:
    """Return in words what values a variable without states has."""
    if isinstance(variable, CountVector):
        return f"a vector of counts of {len(variable.items):,} items"
    return "a count" if isinstance(variable, Count) else "continuous"


def _factor_tables(model: Any, losses: Losses) -> list[tuple[list[Any], Floats]]:
    """Return the scopes of a graph's factors, and their tables raised to their exponents.

    What a format of tables cannot hold is noted.
    """
    tables: list[tuple[list[Any], Floats]] = []
    others = [v for v in model.variables if not isinstance(v, Discrete)]
    losses.refused += map(no_table, others)
    for term in model.terms:
        factor = term.table
        if factor is None:
            if not {*others} & {*term.scope}:
                losses.refused.append(f"{term.title} is not a table")
        elif factor.n_rows != 1:
            losses.refused.append(f"{factor!r} belongs to a batch of rows")
        else:
            # The first axis of a factor is that of the rows of a batch, of which there is one.
            values, log_values = _values_of(term), factor.log_values[0]
            tables.append((list(factor.scope), values))
            # Whether all numbers represent their logarithms, but for rounding: without under- or
            # overflow. Zero represents the logarithm of -inf, of which the difference is NaN.
            with np.errstate(all="ignore"):
                change = np.abs(np.log(values) - log_values)
            if not bool(((change <= 1e-9) | (np.isneginf(log_values) & (values == 0))).all()):
                losses.refused.append(f"{factor!r} has values beyond the range of floats")
    if powered := sum(bool((term.exponent != 1).any()) for term in model.terms):
        losses.lost.append(f"the exponents of {powered} factors are applied to their tables")
    if model.domain != "nonnegative":
        losses.lost.append(f"the domain of the exponents, {model.domain!r}, is left out")
    return tables


# Powers of ten up to 22 are exact, so a quotient by one is the float nearest to the decimal.
_POWERS_OF_TEN = np.array([float(10**digits) for digits in range(23)])


def _values_of(term: models.Term) -> Floats:
    """Return the table of a term: numbers whose logarithms are exactly those of its factor.

    exp alone is off by some units in the last place: logarithms would change from file to file, and
    0.3 would be written as 0.30000000000000004. A number of at most fifteen digits is preferred. If
    no float has exactly that logarithm, as is usual in tables raised to an exponent, the value of
    exp is taken.
    """
    if isinstance(term.source, models.TableCPD) and (term.exponent == 1).all():
        return term.source.values
    assert term.table is not None
    log_values = term.table.log_values[0]
    with np.errstate(all="ignore"):
        values = np.exp(log_values)
        # Times this power of ten, a number of at most fifteen digits is whole.
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


# The `Skipped` of whoever listens; None if nobody does.
_NOTED: ContextVar[dict[str, Counter[str]] | None] = ContextVar("_NOTED", default=None)
# Names of networks that say nothing; writers give them.
_NO_NAMES = ("", "unknown", "network")
_SHOWN = 12


class Skipped(dict[str, Counter[str]]):
    """What was left out of the files that were read: of which part, what, and how often.

    Examples
    --------
    >>> with skipped_in_reading() as skipped:
    ...     skip("variables", "property", 2)
    >>> skipped.lines()
    ('of the variables: property (2)',)
    """

    def lines(self) -> tuple[str, ...]:
        """Return a line of text for each part of the file that something was left out of."""
        lines = []
        for part, counts in self.items():
            listed = [f"{what} ({n:,})" if n > 1 else what for what, n in counts.items()]
            more = f" and {len(listed) - _SHOWN} more" * (len(listed) > _SHOWN)
            lines.append(f"of the {part}: {', '.join(listed[:_SHOWN])}{more}")
        return tuple(lines)


@contextmanager
def skipped_in_reading() -> Iterator[Skipped]:
    """Collect what the readers leave out that are called within."""
    skipped = Skipped()
    token = _NOTED.set(skipped)
    try:
        yield skipped
    finally:
        _NOTED.reset(token)


def skip(of: str, what: str, count: int = 1) -> None:
    """Say that something is left out: `of` is "network", "variables", "tables" or "file"."""
    if count and (noted := _NOTED.get()) is not None:
        noted.setdefault(of, Counter())[what] += count


def skip_name(name: str) -> None:
    """Say that the name of the network is left out, unless it is one that means nothing."""
    if name not in _NO_NAMES:
        skip("network", f"the name {name!r:.80}")
