"""Files of models: the suffix of a path selects the format.

Each format has a module with its card, a frozen record of the format's name, reader and writer.
`FORMATS` maps suffixes to cards. A card is imported when a file of its suffix is first used, so
that the list itself imports no format.
"""

from __future__ import annotations

import inspect
import pkgutil
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from bayesgraph.core.errors import DataTypeError, FileFormatError, quoted, suggestion
from bayesgraph.core.files import (
    Budget,
    LossReport,
    PathLike,
    no_such_file,
    path_text,
    read_unzipped,
    reading,
    write_bytes,
    write_text,
)
from bayesgraph.core.variables import Continuous, Discrete, Variable, plain
from bayesgraph.models import CPD, TableCPD

# ---------------------------------------- Files of models: the suffix of a path selects the format


@dataclass(frozen=True)
class FileFormat:
    """The card (record) of a file format: its name, and what makes models of content and back.

    The functions that read and write files and texts are methods of the card. Their options are
    the keyword arguments of `parse` and `format`; readers have ``limit=`` too.

    Attributes
    ----------
    name : str
        Name of the format in messages.
    parse : callable or None
        Called with ``(content, budget, **options)``, the bytes of a file and the `Budget` of
        reading it; returns a model. None for a format that is only written.
    format : callable or None
        Called with ``(model, **options)``; returns the content, text or bytes, and what is lost.
        None for a format that is only read.
    holds : Capabilities or None
        What the format can hold, where that is known.
    holds_estimators : bool
        Whether `format` takes a fitted estimator; otherwise it gets the estimator's network. If
        true, `parse` has the option `saved`, with which it reads only what answers questions.
    """

    name: str
    parse: Callable[..., Any] | None = None
    format: Callable[..., tuple[str | bytes, LossReport]] | None = None
    holds: Capabilities | None = None
    holds_estimators: bool = False

    @property
    def is_strict(self) -> bool:
        """Whether the writer refuses what the format cannot hold, unless ``strict=False``."""
        return self.format is not None and "strict" in inspect.signature(self.format).parameters

    def read(self, path: PathLike, *, limit: int | None = None, **options: Any) -> Any:
        """Return the model in a file, which may be gzipped; see `load` and `load_saved`."""
        if self.parse is None:
            raise FileFormatError(f"{path_text(path)}: {self.name} can be written but not read.")
        check_options(f"reading {self.name}", self.parse, options, first=2, more=["limit"])
        with _reading(path_text(path), self.name):
            return self.parse(*read_unzipped(path, limit), **options)

    def parse_text(self, text: str, *, limit: int | None = None, **options: Any) -> Any:
        """Return the model that the text of a file describes."""
        assert self.parse is not None
        source = f"{self.name} text"
        names = check_options(f"reading {self.name}", self.parse, options, first=2, more=["limit"])
        # Text has no encoding of its own: the bytes for the reader are made below.
        if "encoding" in names:
            options["encoding"] = "utf-8"
        with _reading(source, self.name):
            data = text.encode()
            return self.parse(data, Budget(source, len(data), limit), **options)

    def write(self, model: Any, path: PathLike, **options: Any) -> LossReport:
        """Write a model to a file, gzipped if the path ends in ``.gz``; see `save`."""
        if self.format is None:
            raise FileFormatError(f"{path_text(path)}: {self.name} can be read but not written.")
        check_options(f"writing {self.name}", self.format, options, first=1)
        if not self.holds_estimators:
            model = getattr(model, "network_", model)
        content, report = self.format(model, **options)
        if isinstance(content, str):
            write_text(path, content)
        else:
            write_bytes(path, content)
        return report

    def format_text(self, model: Any, **options: Any) -> str:
        """Return the text that `write` writes."""
        assert self.format is not None
        return str(self.format(model, **options)[0])


@contextmanager
def _reading(source: str, name: str) -> Iterator[None]:
    # Rows whose sum overflows are refused like all rows that do not sum to one.
    with reading(source, name), np.errstate(over="ignore", invalid="ignore"):
        yield


# From suffix to "module:name" of the card.
FORMATS: dict[str, str] = {
    ".bayesgraph": "bayesgraph.files.native:FORMAT",
    **dict.fromkeys((".bif", ".bif.gz"), "bayesgraph.files.bif:FORMAT"),
    **dict.fromkeys(
        (".xmlbif", ".xmlbif.gz", ".bifxml", ".bifxml.gz", ".xml"), "bayesgraph.files.xmlbif:FORMAT"
    ),
    **dict.fromkeys((".uai", ".uai.gz"), "bayesgraph.files.uai:FORMAT"),
    **dict.fromkeys((".xdsl", ".xdsl.gz"), "bayesgraph.files.xdsl:FORMAT"),
    ".json": "bayesgraph.files.gaussian_json:FORMAT",
    **dict.fromkeys((".rds", ".rda", ".rdata"), "bayesgraph.files.rds:FORMAT"),
    **dict.fromkeys((".net", ".net.gz", ".oobn"), "bayesgraph.files.net:FORMAT"),
    **dict.fromkeys((".dne", ".dne.gz", ".dnet"), "bayesgraph.files.dne:FORMAT"),
    ".html": "bayesgraph.files.pages:FORMAT",
}


def register_format(suffix: str, home: str) -> None:
    """Add a format for a suffix, or replace the format of the suffix.

    Parameters
    ----------
    suffix : str
        The suffix with its dot; it may have several parts, such as ``.bif.gz``.
    home : str
        ``"module:name"`` of a :class:`FileFormat`.

    Raises
    ------
    ValueError
        If the suffix does not start with a dot.
    """
    if not suffix.startswith("."):
        raise ValueError(f"A suffix starts with a dot, such as '.bif'; got {suffix!r}.")
    FORMATS[suffix.lower()] = home


def load(path: PathLike, **options: Any) -> Any:
    """Load a model or a fitted estimator from a file of the format that the suffix names.

    Nothing in a file is executed: it is safe to load a file that came from elsewhere.

    Parameters
    ----------
    path : str or path
        With a suffix that is in `bayesgraph.files.FORMATS`, such as ``.bayesgraph`` or ``.bif.gz``.
    **options
        Options of the format's reader, such as ``normalize=False``; see
        :func:`bayesgraph.files.bif.parse` and :func:`bayesgraph.files.uai.parse`.

    Returns
    -------
    model or estimator
        From ``.bayesgraph``, the native format: whatever was saved. From ``.bif``: a
        BayesianNetwork. From ``.uai``: a BayesianNetwork, or a FactorGraph if the file says
        ``MARKOV``.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    FileFormatError
        If the suffix is unknown, its format cannot be read, or the file is damaged.
    DataTypeError
        For an option that the format does not have.
    """
    return format_of(path, read=True).read(path, **options)


def load_saved(path: PathLike) -> Any:
    """Load a model as `load` does, but of a fitted classifier only what answers questions.

    Importing scikit-learn and the estimators takes longer than most answers. The result for a
    classifier is a :class:`bayesgraph.files.native.SavedClassifier`.
    """
    file_format = format_of(path, read=True)
    return file_format.read(path, **{"saved": True} if file_format.holds_estimators else {})


def save(model: Any, path: PathLike, **options: Any) -> LossReport:
    """Save a model or a fitted estimator to a file of the format that the suffix names.

    This is the method `save` of models and estimators. The file is replaced as a whole or not at
    all, and the same model gives the same bytes.

    Parameters
    ----------
    model : model or fitted estimator
        ``.bayesgraph``, the native format, holds estimators; the other formats hold only the
        network of an estimator.
    path : str or path
        With a suffix that is in `bayesgraph.files.FORMATS`, such as ``.bayesgraph`` or ``.bif.gz``.
    **options
        Options of the format's writer, such as ``strict=False``; see
        :func:`bayesgraph.files.bif.formatted` and :func:`bayesgraph.files.uai.formatted`.

    Returns
    -------
    LossReport
        What other programs read in another form, and what is lost; false if there is nothing.

    Raises
    ------
    FileFormatError
        If the suffix is unknown, or its format cannot be written.
    DataTypeError
        For an option that the format does not have.
    LossyExportError
        If the format cannot hold the model; the message lists what it cannot hold.
    FileNotFoundError
        If there is no such directory.
    """
    return format_of(path).write(model, path, **options)


def check_options(
    name: str, function: Callable[..., Any], options: Any, *, first: int, more: Sequence[str] = ()
) -> list[str]:
    """Refuse options that a reader or writer does not have; return the names of those it has.

    The options are the parameters of `function` from index `first` on, after its content or model,
    and those in `more`. A function with ``**options`` checks these itself.
    """
    parameters = list(inspect.signature(function).parameters.values())[first:]
    names = [*(parameter.name for parameter in parameters), *more]
    wrong = [option for option in options if option not in names]
    if wrong and not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        has = f"which has {quoted(names)}" if names else "which has none"
        raise DataTypeError(
            f"{quoted(wrong)} is no option of {name}, {has}.{suggestion(wrong[0], names)}"
        )
    return names


def format_of(path: PathLike, *, read: bool = False) -> FileFormat:
    """Return the format that the suffix of a path names.

    Raises
    ------
    FileFormatError
        If the suffix is unknown; the message suggests the nearest one.
    FileNotFoundError
        With `read`, if it is like no known one and there is no such file.
    """
    name = path_text(path).lower()
    # The longest suffix first: .bif.gz before a .gz that a user may register.
    for suffix in sorted(FORMATS, key=len, reverse=True):
        if name.endswith(suffix):
            file_format: FileFormat = pkgutil.resolve_name(FORMATS[suffix])
            return file_format
    near = suggestion("." + name.rpartition(".")[2], FORMATS)
    # A suffix like no known one, of no file: rather a wrong path than a wrong format.
    if read and not near and not Path(path).exists():
        raise no_such_file(path_text(path))
    raise FileFormatError(
        f"{path_text(path)}: the suffix names the format, and this one is not known."
        f"{near} Known are {quoted(FORMATS)}; pictures are drawn by render."
    )


# ------------ What a format can hold: one frozen record a format, which writers and documents read


_SURROGATE = re.compile("[\ud800-\udfff]")


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
        """Return the text itself if the format holds it; its place does not matter."""
        text = plain(value)
        return text if type(text) is str and self._holds(text) else None

    def _holds(self, text: str) -> bool:
        """Return whether the format has a text as it is."""
        return (
            self.pattern.fullmatch(text) is not None
            and not _SURROGATE.search(text)
            and (self.longest is None or len(text) <= self.longest)
            and (not self.reserved or text.lower() not in self.reserved)
        )

    def near(self, value: object, place: int, taken: dict[str, int]) -> str:
        """Return a word like the value, not among `taken`, with underscores for wrong characters.

        `taken` maps each word in use to the last number that was put after it to make another one.
        """
        text = _SURROGATE.sub("_", self.wrong.sub("_", _as_text(value)))
        # The text, or else the text after `start`, or else `start` and the place.
        candidates = (self._numbered(text, ""), self._numbered(self.start + text, ""))
        base = next(filter(self._holds, candidates), self.start + str(place))
        # Words that are in use get the endings _2, _3, ...
        word, number = base, taken.get(base, 1)
        while word in taken or not self._holds(word):
            number += 1
            word = self._numbered(base, f"_{number}")
        # The next search for an ending begins where this one ended.
        if base in taken:
            taken[base] = number
        return word

    def _numbered(self, base: str, ending: str) -> str:
        """Return a text with an ending, cut before it to the maximum length."""
        end = None if self.longest is None else self.longest - len(ending)
        return base[:end] + ending


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
        """Return the name or the number if it is the one that a reader gives to this place."""
        default: object = place if self.prefix is None else f"{self.prefix}{place}"
        text = plain(value)
        return str(default) if type(text) is type(default) and text == default else None

    def near(self, value: object, place: int, taken: dict[str, int]) -> str:
        """Return the name or the number that a reader gives to this place."""
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
        """Return the `repr` of a text for a value whose own `repr` another one has already.

        It is not among the words `taken`; `place` is only for other spellings.
        """
        text = _as_text(value)
        # The text itself, or else with the first ending of _2, _3, ... that is not in use.
        texts = chain([text], (f"{text}_{number}" for number in count(2)))
        return next(word for word in map(_Literal, map(repr, texts)) if word not in taken)


# Which names, or which states, a format can spell. `held` says that in words, `exact` returns the
# word from which a reader makes the value itself (None if there is none), and `near` a word for a
# value that has none, which is not among those that are taken. `place` is the index of a variable
# in its model, or of a state in its variable.
Spelling: TypeAlias = TextSpelling | NumberSpelling | AnySpelling


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
    also : set of str
        What else it holds: discrete and continuous variables in one network ("mixed"), that states
        are intervals of a number or groups of values, and numbers counts ("intervals"), exponents
        of factors ("exponents"), models other than networks and factor graphs ("mixtures"), scores
        of arcs ("scores"), :class:`bayesgraph.models.Annotations` ("positions", "notes", "titles"),
        and what a model was fitted on ("training").
    equal_states : bool
        Whether it tells states apart that are equal in Python, such as True and 1. Otherwise all
        states of such a variable are written as texts.
    """

    format: str
    names: Spelling
    states: Spelling
    families: tuple[type[CPD], ...] = (TableCPD,)
    fits: Callable[[CPD], bool] = lambda cpd: True
    also: Collection[str] = ()
    equal_states: bool = True

    def tells_apart(self, states: Sequence[object]) -> bool:
        """Return whether it tells the states of a variable apart."""
        return self.equal_states or len(set(states)) == len(states)

    def is_plain(self, variable: Variable) -> bool:
        """Return whether a reader makes the kind of variable that this one is."""
        # Subclasses are intervals, groups and counts.
        return "intervals" in self.also or type(variable) in (Discrete, Continuous)


def _as_text(value: object) -> str:
    """Return a value as text, or the name of its type if it is too long an integer."""
    try:
        return str(value)
    except ValueError:  # Python limits the decimal digits of an integer
        return type(value).__name__
