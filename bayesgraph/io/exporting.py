"""Networks as a format can hold them: what is refused, changed, restored or lost.

`Export.of` is the one way from a network to a writer. It compares the network with the
`Capabilities` of the format.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from bayesgraph.cpds import CPD, CanonicalCPD, TableCPD
from bayesgraph.cpds.canonical import MAX_TABLE
from bayesgraph.errors import LossyExportError, LossyExportWarning, quoted, warn
from bayesgraph.inference.memory import format_count
from bayesgraph.io.capabilities import Capabilities, Spelling
from bayesgraph.io.sidecar import annotations_line, scores_line, variable_line
from bayesgraph.loss_report import LossReport
from bayesgraph.models.annotations import Annotations
from bayesgraph.models.network import BayesianNetwork
from bayesgraph.variables import Continuous, Count, CountVector, Discrete, Name, Variable

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
            raise LossyExportError(text)
        if self._lost:
            text = "\n  ".join([f"Written as {self.format} with changes:", *self._lost])
            warn(text, LossyExportWarning)
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
        found = _filled([v.name for v in variables], exact, capabilities.names)
        names = dict(zip(variables, found, strict=True))
        states: dict[Variable, Sequence[str]] = {}
        sidecar: list[str] = []
        faults = _Faults(capabilities, losses)
        for variable, spelled in zip(variables, exact, strict=True):
            values = variable.states if isinstance(variable, Discrete) else ()
            known = [capabilities.states.exact(s, i) for i, s in enumerate(values)]
            if not capabilities.tells_apart(values):
                known = [None] * len(values)
            states[variable] = _filled(values, known, capabilities.states)
            if spelled is not None and None not in known and capabilities.is_plain(variable):
                continue
            line = _line(variable, names[variable], states[variable], capabilities)
            sidecar += [] if line is None else [line]
            if spelled is None:
                faults.name(variable, names[variable], restored=line is not None)
            if None in known:
                wrong = [i for i, word in enumerate(known) if word is None]
                faults.states(variable, wrong, states[variable], restored=line is not None)
            elif line is None and spelled is not None:
                losses.change(f"{variable.name!r:.80} is no longer known as intervals or groups")
        faults.note()
        return cls(names, states, sidecar)


class _Faults:
    """Names and states that a format cannot spell: many of them become one item each."""

    def __init__(self, capabilities: Capabilities, losses: Losses) -> None:
        self._capabilities = capabilities
        self._losses = losses
        self._names: dict[bool, list[tuple[object, str]]] = {True: [], False: []}
        self._states: dict[bool, list[tuple[Variable, list[object], list[str]]]] = {
            True: [],
            False: [],
        }

    def name(self, variable: Variable, word: str, *, restored: bool) -> None:
        self._names[restored].append((variable.name, word))

    def states(
        self, variable: Variable, wrong: Sequence[int], words: Sequence[str], *, restored: bool
    ) -> None:
        assert isinstance(variable, Discrete)
        values = [variable.states[i] for i in wrong]
        self._states[restored].append((variable, values, [words[i] for i in wrong]))

    def note(self) -> None:
        """Note all of them in the losses."""
        for restored, note in ((True, self._losses.restore), (False, self._losses.lose)):
            if names := self._names[restored]:
                fault = _fault("name", [value for value, _ in names])
                held = self._capabilities.names.held
                note(f"{fault}: names are {held}", quoted(word for _, word in names))
            found, held = self._states[restored], self._capabilities.states.held
            for variable, values, words in found[:_LISTED]:
                fault = _fault("state", values, f" of {variable.name!r:.80}")
                note(f"{fault}: states are {held}", quoted(words))
            if left := found[_LISTED:]:
                fault = (
                    f"states of {quoted(variable.name for variable, *_ in left)}: states are {held}"
                )
                note(fault, "similar words")


def _fault(what: str, values: Sequence[object], of: str = "") -> str:
    kinds = dict.fromkeys(type(value).__name__ for value in values)
    listed = quoted(values) + ("" if kinds.keys() == {"str"} else f" ({', '.join(kinds)})")
    return f"the {what}{'s' * (len(values) > 1)} {listed}{of}"


def _line(
    variable: Variable, name: str, states: Sequence[str], capabilities: Capabilities
) -> str | None:
    if not capabilities.restores:
        return None
    try:
        return variable_line(variable, name, states)
    except LossyExportError:
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
            raise LossyExportError(
                f"{capabilities.format} holds Bayesian networks; got {model!r}. Of an average "
                "write one of its `networks`, or fit with n_trees=0; the native format "
                "(.bayesgraph) holds all models."
            )
        losses = Losses(capabilities.format, strict)
        cpds = held_cpds(model, capabilities, losses)
        words = Words.of(model.variables, capabilities, losses)
        by_name = {variable.name: word for variable, word in words.names.items()}
        sidecar = [*words.sidecar]
        if model.arc_scores and not capabilities.scores:
            if capabilities.restores:
                sidecar.append(scores_line(model.arc_scores, by_name))
            else:
                losses.change("arc scores are left out")
        annotations = model.annotations.of(by_name).renamed(by_name)
        left = _not_held(annotations, capabilities)
        if left and capabilities.restores:
            sidecar.append(annotations_line(left))
        elif left:
            losses.change("notes, titles or positions are left out")
        if model.training is not None and not capabilities.training:
            # Another program may change the numbers and would keep what they were fitted on.
            losses.leave_out("what the model was fitted on is left out")
        return cls(tuple(cpds), words, annotations, tuple(sidecar), losses.report())


def _not_held(annotations: Annotations, capabilities: Capabilities) -> Annotations:
    """Return the annotations that a format itself does not hold."""
    return Annotations(
        "" if capabilities.notes else annotations.note,
        {} if capabilities.positions else annotations.positions,
        {} if capabilities.notes else annotations.notes,
        {} if capabilities.titles else annotations.titles,
    )


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
        losses.refuse(f"{quoted(names)} {verb} {kind}, with {family}")
        losses.advise(_OF_NUMBERS)
    kinds = {isinstance(cpd.variable, Discrete) for cpd in found}
    if len(kinds) > 1 and not capabilities.mixed:
        listed = [cpd.variable.name for cpd in found if not isinstance(cpd.variable, Discrete)]
        losses.refuse(f"discrete and continuous variables together; continuous: {quoted(listed)}")
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
