"""What a format can hold: one frozen record a format, which writers and documents read."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import Protocol

from bayesgraph.cpds import CPD, GaussianCPD, TableCPD
from bayesgraph.variables import Discrete, Variable, plain

_SURROGATE = re.compile("[\ud800-\udfff]")


def _every(cpd: CPD) -> bool:
    return True


class Spelling(Protocol):
    """Which names, or which states, a format can spell.

    Attributes
    ----------
    held : str
        What it can spell, in words, for messages.
    """

    @property
    def held(self) -> str: ...

    def exact(self, value: object, place: int) -> str | None:
        """Return the word from which a reader makes the value itself; None if there is none.

        `place` is the index of the variable in the network, or of the state in its variable.
        """

    def near(self, value: object, place: int, taken: dict[str, int]) -> str:
        """Return a word for a value that has none, which is not among those that are taken.

        `taken` has the words that are taken, each with the number of words made from it.
        """


@dataclass(frozen=True)
class TextSpelling:
    """Names or states that are text.

    Attributes
    ----------
    held : str
        In words, such as "text without quotes".
    pattern : re.Pattern
        Of the texts that are read back as they are.
    wrong : re.Pattern
        Of the characters that no text can have; an underscore takes their place.
    reserved : frozenset of str
        Words in lower case that mean something else.
    start : str
        Put before a word that is still none, such as one that starts with a digit.
    longest : int, optional
        Maximum number of characters.
    """

    held: str
    pattern: re.Pattern[str]
    wrong: re.Pattern[str]
    reserved: frozenset[str] = frozenset()
    start: str = "x"
    longest: int | None = None

    def exact(self, value: object, place: int) -> str | None:
        """Return the text itself if the format holds it."""
        found = plain(value)
        return found if type(found) is str and self._holds(found) else None

    def _holds(self, text: str) -> bool:
        return (
            self.pattern.fullmatch(text) is not None
            and not _SURROGATE.search(text)
            and (self.longest is None or len(text) <= self.longest)
            and (not self.reserved or text.lower() not in self.reserved)
        )

    def near(self, value: object, place: int, taken: dict[str, int]) -> str:
        """Return a text like the value in which underscores take the place of wrong characters."""
        text = _SURROGATE.sub("_", self.wrong.sub("_", _as_text(value)))
        word = next((w for w in (text, self.start + text) if self._holds(self._cut(w, ""))), None)
        word = self.start + str(place) if word is None else self._cut(word, "")
        found, number = word, taken.get(word, 1)
        while found in taken or not self._holds(found):
            number += 1
            found = self._cut(word, f"_{number}")
        if word in taken:
            taken[word] = number
        return found

    def _cut(self, word: str, ending: str) -> str:
        end = None if self.longest is None else self.longest - len(ending)
        return word[:end] + ending


@dataclass(frozen=True)
class NumberSpelling:
    """Names or states that a format has no words for: they are numbered.

    Attributes
    ----------
    prefix : str, optional
        What a name begins with, before its number; None for states that are the integers 0, 1, ...
    """

    prefix: str | None = None

    @property
    def held(self) -> str:
        """What it can spell, in words."""
        numbers = [f"{self.prefix or ''}{i}" for i in range(2)]
        return f"{', '.join(numbers)}, ... in this order"

    def exact(self, value: object, place: int) -> str | None:
        """Return the number of a default name or state."""
        default: object = place if self.prefix is None else f"{self.prefix}{place}"
        found = plain(value)
        return str(default) if type(found) is type(default) and found == default else None

    def near(self, value: object, place: int, taken: dict[str, int]) -> str:
        """Return the number."""
        return f"{self.prefix or ''}{place}"


class _Literal(str):
    """A word that is the `repr` of a text, and its own `repr` in messages."""

    __slots__ = ()
    __repr__ = str.__str__


@dataclass(frozen=True)
class AnySpelling:
    """Names or states of any type, held as they are. Their words are their `repr`."""

    held: str = "any value"

    def exact(self, value: object, place: int) -> str | None:
        """Return the `repr` of the value."""
        return repr(value)

    def near(self, value: object, place: int, taken: dict[str, int]) -> str:
        """Return the `repr` of a text that is held in place of the value."""
        text = _as_text(value)
        texts = chain([text], (f"{text}_{number}" for number in count(2)))
        return next(word for word in map(_Literal, map(repr, texts)) if word not in taken)


@dataclass(frozen=True)
class Capabilities:
    """What a format of files, or objects of another library, can hold.

    Writers derive from it what they refuse, what they write in another form, and what they put into
    the comments from which bayesgraph restores the rest; the table of formats in the documentation
    is compared with it. Each format gives numbers back as the same floats.

    Attributes
    ----------
    format : str
        Name of the format, for messages.
    names, states : Spelling
        What names of variables and states can be.
    families : tuple of types of CPD
        What is written as it is. A canonical CPD that is not among them, such as a noisy or, is
        written as its table.
    fits : callable
        Whether a CPD of one of these types is written as it is.
    mixed : bool
        Whether one network may have both discrete and continuous variables.
    intervals : bool
        Whether the format itself says that states are intervals of a number or groups of values.
    exponents : bool
        Whether factors may have exponents.
    mixtures : bool
        Whether it holds models other than networks and factor graphs, such as mixtures.
    scores : bool
        Whether it holds scores of arcs.
    positions, notes, titles : bool
        Whether it holds those of :class:`bayesgraph.Annotations` exactly.
    training : bool
        Whether it holds what a model was fitted on, a :class:`bayesgraph.Training`.
    equal_states : bool
        Whether it tells states apart that are equal in Python, such as True and 1. Otherwise all
        states of such a variable are written as texts.
    restores : bool
        Whether there is a place for the table from which bayesgraph restores what the format
        itself cannot hold.
    """

    format: str
    names: Spelling
    states: Spelling
    families: tuple[type[CPD], ...] = (TableCPD,)
    fits: Callable[[CPD], bool] = _every
    mixed: bool = False
    intervals: bool = False
    exponents: bool = False
    mixtures: bool = False
    scores: bool = False
    positions: bool = False
    notes: bool = False
    titles: bool = False
    training: bool = False
    equal_states: bool = True
    restores: bool = True

    @property
    def continuous(self) -> bool:
        """Whether it holds continuous variables."""
        return GaussianCPD in self.families

    def tells_apart(self, states: Sequence[object]) -> bool:
        """Return whether it tells the states of a variable apart."""
        return self.equal_states or len(set(states)) == len(states)

    def is_plain(self, variable: Variable) -> bool:
        """Return whether a reader makes the kind of variable that this one is."""
        return self.intervals or type(variable) is Discrete or not isinstance(variable, Discrete)


def _as_text(value: object) -> str:
    try:
        return str(value)
    except ValueError:  # Python limits the decimal digits of an integer
        return type(value).__name__
