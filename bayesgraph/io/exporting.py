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
from bayesgraph.io.loss_report import LossReport
from bayesgraph.io.sidecar import annotations_line, scores_line, variable_line
from bayesgraph.models.annotations import Annotations
from bayesgraph.models.network import BayesianNetwork
from bayesgraph.variables import Count, CountVector, Discrete, Variable


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
    _lost: list[str] = field(default_factory=list)

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

    def change(self, item: str) -> None:
        """Note what is left out or written in another form, and changes no answer."""
        self._lost.append(item)

    def report(self) -> LossReport:
        """Return the report, with a warning if anything is lost.

        Raises
        ------
        LossyExportError
            If anything is refused.
        """
        if self._refused:
            text = "\n  ".join([f"{self.format} cannot hold this model:", *self._refused])
            raise LossyExportError(text)
        if self._lost:
            text = "\n  ".join([f"Written as {self.format} with changes:", *self._lost])
            warn(text, LossyExportWarning)
        return LossReport(self.format, tuple(self._restored), tuple(self._lost))


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
        for variable, spelled in zip(variables, exact, strict=True):
            values = variable.states if isinstance(variable, Discrete) else ()
            known = [capabilities.states.exact(s, i) for i, s in enumerate(values)]
            states[variable] = _filled(values, known, capabilities.states)
            items = (
                [] if spelled is not None else [_renamed(variable, names[variable], capabilities)]
            )
            if None in known:
                items.append(_restated(variable, known, states[variable], capabilities))
            if items or not capabilities.is_plain(variable):
                line = _line(variable, names[variable], states[variable], capabilities)
                for item in items:
                    (losses.lose if line is None else losses.restore)(*item)
                if line is not None:
                    sidecar.append(line)
                elif not items:
                    losses.change(
                        f"{variable.name!r} becomes a variable of the texts of its states"
                    )
        return cls(names, states, sidecar)


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


def _renamed(variable: Variable, word: str, capabilities: Capabilities) -> tuple[str, str]:
    kind = type(variable.name).__name__
    fault = f"the name {variable.name!r:.80} ({kind}) is not {capabilities.names.held}"
    return fault, quoted([word])


def _restated(
    variable: Variable,
    known: Sequence[str | None],
    words: Sequence[str],
    capabilities: Capabilities,
) -> tuple[str, str]:
    assert isinstance(variable, Discrete)
    wrong = [i for i, word in enumerate(known) if word is None]
    values = [variable.states[i] for i in wrong]
    kinds = ", ".join(dict.fromkeys(type(value).__name__ for value in values))
    are = "is" if len(wrong) == 1 else "are"
    fault = (
        f"the state{'s' * (are == 'are')} {quoted(values)} ({kinds}) of {variable.name!r:.80} "
        f"{are} not {capabilities.states.held}"
    )
    return fault, quoted(words[i] for i in wrong)


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
        annotations = model.annotations.renamed(by_name)
        left = _not_held(annotations, capabilities)
        if left and capabilities.restores:
            sidecar.append(annotations_line(left))
        elif left:
            losses.change("notes, titles or positions are left out")
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
    for cpd in network.cpds:
        as_it_is = type(cpd) in capabilities.families and capabilities.fits(cpd)
        held = cpd if as_it_is else as_table(cpd)
        family = f"a {type(cpd).__name__}"
        if held is None:
            losses.refuse(_unheld(cpd, family))
            continue
        if held is not cpd:
            losses.change(f"{cpd.variable.name!r} has {family}, which is written as its table")
        found.append(held)
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
    kind = "a count" if isinstance(variable, Count) else "continuous"
    return f"{variable.name!r} is {kind}"


def as_table(cpd: CPD) -> TableCPD | None:
    """Return a table, or a canonical CPD such as a noisy or as its table; None for other CPDs.

    The result is None too if the table would be too large for a file.
    """
    if isinstance(cpd, TableCPD):
        return cpd
    if isinstance(cpd, CanonicalCPD) and cpd.n_entries <= MAX_TABLE:
        return cpd.to_table()
    return None
