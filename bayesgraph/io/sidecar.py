"""The sidecar: lines in a file from which bayesgraph restores what the format cannot hold.

Each line is the word ``bayesgraph`` and a JSON object, in a comment or a property of the file. The
JSON is ASCII and has none of the characters that end a comment or begin markup in any of the
formats. Other programs ignore the lines.

There are three kinds of objects::

    {"variable": word, "states": [word, ...], "is": variable}      its name, states and kind
    {"scores": [[word, word, score], ...]}                         scores of arcs
    {"note": text, "positions": {word: [x, y]}, "notes": {word: text}, "titles": {word: text}}

A word is a name or a state as it stands in the file.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from bayesgraph.errors import BayesGraphWarning, FileFormatError, quoted, warn
from bayesgraph.io.json_values import decode_value, encode_value
from bayesgraph.io.variable_payload import decode_variable, encode_variable
from bayesgraph.models.annotations import Annotations
from bayesgraph.models.editing import substituted
from bayesgraph.models.network import BayesianNetwork
from bayesgraph.variables import Discrete, Name, Variable

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


def variable_line(variable: Variable, name: str, states: Sequence[str]) -> str:
    """Return the line of a variable, given the words for its name and its states.

    Raises
    ------
    LossyExportError
        If a name or a state is of a type that JSON cannot hold.
    """
    words = {"states": list(states)} if isinstance(variable, Discrete) else {}
    return line_of({"variable": name, **words, "is": encode_variable(variable)})


def scores_line(scores: Mapping[tuple[Name, Name], float], words: Mapping[Name, str]) -> str:
    """Return the line of the scores of arcs."""
    listed = [[words[a], words[b], encode_value(float(s))] for (a, b), s in scores.items()]
    return line_of({"scores": listed})


def annotations_line(annotations: Annotations) -> str:
    """Return the line of annotations whose names are words."""
    found = {
        "note": annotations.note,
        "positions": dict(annotations.positions),
        "notes": dict(annotations.notes),
        "titles": dict(annotations.titles),
    }
    return line_of({key: value for key, value in found.items() if value})


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
                raise FileFormatError(
                    f"{source}: expected what bayesgraph restores names and states from after the "
                    f"word 'bayesgraph'; got {line!r:.80} ({error}). Without this line the file is "
                    "read as other programs do."
                ) from error
        return cls(source, spell, variables, scores, annotations)

    def variable(self, read: Variable) -> Variable:
        """Return the variable that was written for one that was read; itself if none fits."""
        words, found = self.variables.get(self.spell(read.name), ([], read))
        if not isinstance(read, Discrete):
            return found if type(found) is type(read) else read
        fits = isinstance(found, Discrete) and found.cardinality == read.cardinality
        return found if fits and words == list(map(self.spell, read.states)) else read

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
            warn(
                f"{self.source}: {quoted(changed)} differ from what bayesgraph wrote: another "
                "program has changed their names or states, which are taken as they stand.",
                BayesGraphWarning,
            )
        names = Counter(variable.name for variable in found)
        if len(names) < len(found):
            twice = [name for name, count in names.items() if count > 1]
            raise FileFormatError(
                f"{self.source}: the lines of bayesgraph in the file give more than one variable "
                f"the name {quoted(twice)}. Without them it is read as other programs do."
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
        blocks = [substituted(block, new) for block in network.blocks]
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
