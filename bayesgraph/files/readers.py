"""What readers of networks share: variables and parents by their names, and tables of numbers."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from bayesgraph.core import errors
from bayesgraph.core.arrays import Floats
from bayesgraph.core.files import MAX_AXES, Budget
from bayesgraph.core.variables import Discrete, Name, Variable
from bayesgraph.files.exporting import Sidecar
from bayesgraph.models import CPD, SUM_TOLERANCE, Annotations, BayesianNetwork, TableCPD

# ----------------------- Rows of probabilities that were printed with too few digits to sum to one


# Which rows are divided by their sums.
Normalize: TypeAlias = bool | Literal["always"]
# Maximum deviation of a sum from 1 that two printed digits of a few states explain.
ROUNDING_LIMIT = 0.02


class RoundedRows:
    """Normalises rows of rounded probabilities, and warns of them once at the end.

    Rows whose sum is off by at most 1e-6, which TableCPD accepts, are kept exactly. Rows off by at
    most 0.02 are divided by their sum, unless `normalize` is false; if it is "always", so are all
    rows with a positive sum, and rows of zeros, as of cases that nobody counted, become uniform.
    Numbers of at least -1e-6, the noise of programs that subtract, become zero unless `normalize`
    is false. Other rows are kept, and TableCPD refuses them.

    Parameters
    ----------
    normalize : bool or "always"

    Raises
    ------
    DataError
        If `normalize` is something else.
    """

    def __init__(self, *, normalize: Normalize) -> None:
        if not isinstance(normalize, bool) and normalize != "always":
            raise errors.DataError(f"normalize= is True, False or 'always'; got {normalize!r}.")
        # Largest deviation of a sum from 1 that is divided away.
        self.limit = ROUNDING_LIMIT if normalize else SUM_TOLERANCE
        if normalize == "always":
            self.limit = np.inf
        # From tables with rows that were divided to the largest deviation of a sum.
        self._changed: dict[Name, float] = {}
        # From each other change, in words, to the tables in which it was made.
        self._others: dict[str, list[Name]] = {}

    def repaired(self, name: Name, values: Floats) -> Floats:
        """Return the table of a variable (child on the last axis) with rounded rows normalised."""
        # The limit is the tolerance itself where `normalize` is false: noise then stays.
        if -SUM_TOLERANCE <= values.min() < 0 and self.limit > SUM_TOLERANCE:
            self._others.setdefault("numbers just below zero became zero", []).append(name)
            values = np.maximum(values, 0.0)
        if self.limit == np.inf and (is_empty := (values == 0).all(axis=-1, keepdims=True)).any():
            self._others.setdefault("rows of zeros became uniform", []).append(name)
            values = np.where(is_empty, 1.0 / values.shape[-1], values)
        sums = values.sum(axis=-1, keepdims=True)
        deviation = np.abs(sums - 1.0)
        if deviation.max() <= SUM_TOLERANCE:
            return values
        is_rounded = (deviation > SUM_TOLERANCE) & (deviation <= self.limit) & (sums > 0)
        is_rounded &= np.isfinite(sums)
        if not is_rounded.any():
            return values
        self._changed[name] = float(deviation[is_rounded].max())
        # Other rows are divided by 1, so that no sum of zero is divided by.
        return np.where(is_rounded, values / np.where(is_rounded, sums, 1.0), values)

    def warn(self, where: str) -> None:
        """Warn once of all rows that were changed, if any; `where` is the path for the message."""
        changes = [f"{done} in {errors.quoted(names)}" for done, names in self._others.items()]
        if self._changed:
            changes.append(
                f"rows of the tables of {errors.quoted(self._changed)} do not sum to one; they "
                f"were divided by their sums, which are off by up to "
                f"{max(self._changed.values()):.3g}"
            )
        if changes:
            message = f"{where}: {'; '.join(changes)}. normalize=False refuses them."
            errors.warn(message, errors.BayesGraphWarning)


# --------------------------------------------------------------- A network while its file is read


class Draft:
    """A network that is read: its variables, distributions and annotations by name.

    Parameters
    ----------
    name, part : str
        Those of the format and of what has a distribution in a file, for messages.
    budget : Budget
    normalize : bool or "always"
        Which rows are divided by their sums, with a warning; see `RoundedRows`.
    error : callable, optional
        Returns an error, given a place in the file and a message. A place is a position, a line or
        the name of a node, as it is by default.
    """

    # What to do about a row that is no distribution.
    advice = " Or normalize='always' divides all rows."

    def __init__(
        self,
        name: str,
        part: str,
        budget: Budget,
        normalize: Normalize,
        error: Callable[[Any, str], errors.FileFormatError] | None = None,
    ) -> None:
        self.name = name
        self.part = part
        self.budget = budget
        self.error = error or self._node_error
        self.rounded = RoundedRows(normalize=normalize)
        self.variables: dict[str, Any] = {}
        self.cpds: dict[str, CPD] = {}
        self.positions: dict[Name, tuple[float, float]] = {}
        self.notes: dict[Name, str] = {}
        self.titles: dict[Name, str] = {}

    def _node_error(self, name: Any, message: str) -> errors.FileFormatError:
        return errors.FileFormatError(f"{self.budget.source}: node {name!r}: {message}")

    def declare(self, at: Any, name: str, make: Callable[..., Variable], *values: Any) -> None:
        """Declare the variable that a class makes of a name and some values."""
        if name in self.variables:
            raise self.error(at, f"the variable {name!r} is declared a second time.")
        try:
            self.variables[name] = make(name, *values)
        except errors.BayesGraphError as error:
            raise self.error(at, str(error)) from error

    def annotate(
        self,
        name: str,
        title: str = "",
        note: str = "",
        position: tuple[float, float] | None = None,
    ) -> None:
        """Keep what there is of a title, a note and a position of a variable."""
        if title:
            self.titles[name] = title
        if note:
            self.notes[name] = note
        if position is not None and all(map(math.isfinite, position)):
            self.positions[name] = position

    def family(self, at: Any, child: str, parents: Sequence[str]) -> list[Any]:
        """Return the variables of a distribution: the parents, and last the child."""
        for name in (*parents, child):
            if name not in self.variables:
                near = errors.suggestion(name, self.variables)
                raise self.error(at, f"the variable {name!r} is not declared.{near}")
        if child in self.cpds:
            raise self.error(at, f"{child!r} has a second {self.part}.")
        return [self.variables[name] for name in (*parents, child)]

    def shape(self, at: Any, family: Sequence[Discrete]) -> list[int]:
        """Return the shape of the table of a family."""
        *parents, child = family
        if len(parents) >= MAX_AXES:
            raise self.error(
                at,
                f"expected at most {MAX_AXES - 1} parents of {child.name!r}; got {len(parents)}. A "
                f"table has at most {MAX_AXES} axes.",
            )
        return [variable.cardinality for variable in family]

    def table(
        self,
        at: Any,
        family: Sequence[Discrete],
        numbers: Floats,
        *,
        place: Callable[[int], Any] | None = None,
        slowest: bool = False,
    ) -> TableCPD:
        """Return the distribution of a table, in which rounded rows are divided by their sums.

        Parameters
        ----------
        at : object
            Place of the table.
        family : sequence of Discrete
            The parents, of which the last varies fastest, and the child.
        numbers : ndarray of float
            In C order, the child on the last axis.
        place : callable, optional
            From the index of a row to its place, for messages.
        slowest : bool
            Whether in the file the child varies slowest, for messages.

        Raises
        ------
        FileFormatError
            If there are too few or too many numbers, or a row is no distribution.
        """
        *parents, child = family
        shape = self.shape(at, family)
        if numbers.size != math.prod(shape):
            raise self.error(
                at,
                f"expected {math.prod(shape):,} probabilities for {child.name!r}; got "
                f"{numbers.size:,}.",
            )
        values = numbers.reshape(shape)
        try:
            # Most tables need no repair, which TableCPD finds out anyway.
            return TableCPD(child, values, parents)
        except errors.BayesGraphError:
            values = self.rounded.repaired(child.name, values)
        try:
            return TableCPD(child, values, parents)
        except errors.BayesGraphError as error:
            # The first row that `TableCPD` refuses, or 0, in C order of the parents.
            rows = values.reshape(-1, shape[-1])
            is_good = (np.abs(rows.sum(axis=1) - 1.0) <= SUM_TOLERANCE) & (rows >= 0).all(axis=1)
            where = at if place is None else place(int(np.argmin(is_good)))
            raise self.error(
                where, f"{error}{self._advice(values, str(error), slowest)}"
            ) from error

    def _advice(self, values: Floats, error: str, slowest: bool) -> str:
        """Return a hint for a refused table, such as that the child seems to be on another axis."""
        if values.ndim > 1 and is_swapped(values, slowest=slowest):
            ways = ("slowest", "fastest") if slowest else ("fastest", "slowest")
            text = " In a table of {} the child varies {}; here it reads as if it varied {}."
            return text.format(self.name, *ways)
        # The advice is for rows that do not sum to one, of which TableCPD says so; other errors get
        # an empty text.
        return self.advice * (" sum to " in error)

    def network(
        self, sidecar: Sidecar | None = None, *, at: Any = 0, note: str = ""
    ) -> BayesianNetwork:
        """Return the network, and warn of rows that were divided by their sums.

        Parameters
        ----------
        sidecar : Sidecar, optional
            What comments of bayesgraph say.
        at : object
            Where a missing distribution would be.
        note : str
            That of the network.

        Raises
        ------
        FileFormatError
            If there is no such network.
        """
        if without := [name for name in self.variables if name not in self.cpds]:
            raise self.error(at, f"expected a {self.part} for each of {errors.quoted(without)}.")
        sidecar = sidecar or Sidecar.of([], self.budget.source)
        # A title that only says a name that the file cannot spell is no title.
        name_of: dict[Name, str] = {word: str(v.name) for word, (_, v) in sidecar.variables.items()}
        titles = {word: t for word, t in self.titles.items() if t != name_of.get(word, word)}
        annotations = Annotations(note, self.positions, self.notes, titles)
        try:
            # The order of the declarations becomes that of the variables.
            cpds = [self.cpds[name] for name in self.variables]
            network = BayesianNetwork(cpds, annotations=annotations)
        except errors.BayesGraphError as error:
            raise errors.FileFormatError(f"{self.budget.source}: {error}") from error
        self.rounded.warn(self.budget.source)
        return sidecar.restore(network)


def sum_to_one(values: Floats) -> bool:
    """Return whether all rows of a table sum to one up to the rounding of printed numbers."""
    return bool(np.abs(values.sum(axis=-1) - 1.0).max() <= ROUNDING_LIMIT)


def is_swapped(values: Floats, *, slowest: bool = False) -> bool:
    """Return whether the rows of a table sum to one if the child is on the other end of the axes.

    `values` has the child on its last axis, although in the file it varies slowest or fastest.
    """
    n_states = values.shape[-1]
    if slowest:
        # In the order of the file, the child's axis first, as if it varied fastest.
        return sum_to_one(np.moveaxis(values, -1, 0).reshape(-1, n_states))
    # The numbers in the order of the file, as if the child varied slowest.
    return sum_to_one(values.reshape(n_states, -1).T)


# ------------------------------------------------ Numbers in texts, as files of networks have them


# Of these characters, float() takes decimal numbers alone; it also takes inf, nan and 1_000.
DECIMAL = b"0123456789+-.eE \t\r\n\f\v"
# Possessive: it never backtracks, so reading is linear.
_NUMBER = re.compile(rb"[-+]?(?:\d++\.?+\d*+|\.\d++)(?:[eE][-+]?\d++)?+")
_INFINITE = re.compile(rb"[-+]?inf")
_SHORT = 20_000


class NumberError(ValueError):
    """A word that is no number: the `index` of the word."""

    def __init__(self, index: int, word: bytes) -> None:
        super().__init__(f"expected a number; got {word.decode(errors='replace')!r:.40}")
        self.index = index


def decimals(text: bytes) -> Floats:
    """Return the floats of the words of a text, by Arrow, the fastest way, where it is in use.

    Raises
    ------
    ValueError
        If float() does not take a word.
    """
    # Arrow takes longer to begin than short texts take, and longer to import than most files.
    compute, arrow = map(sys.modules.get, ("pyarrow.compute", "pyarrow"))
    if compute is not None and arrow is not None and len(text) > _SHORT:
        try:
            one_text = arrow.scalar(text.strip(), arrow.utf8())
            words = compute.ascii_split_whitespace(one_text).values
            return np.asarray(words.cast("float64"))
        except ValueError:
            pass  # such as for the sign of "+1", which it does not take
    return np.array(text.split(), dtype=np.float64)


def floats_of(text: str | bytes, *, infinite: bool = False) -> Floats:
    """Return the numbers of a text, separated by blanks; each is the float nearest to its decimal.

    Raises
    ------
    NumberError
        If a word is not a decimal number; infinity is none unless `infinite`, and NaN never.
    """
    data = text.encode(errors="backslashreplace") if isinstance(text, str) else text
    try:
        # Characters that are left over belong to no number.
        if data.translate(None, DECIMAL + b"inf" * infinite):
            raise ValueError("not the characters of numbers")
        return decimals(data)
    except ValueError:
        # Slowly, to name the first word that is no number.
        for index, word in enumerate(data.split()):
            if not (_NUMBER.fullmatch(word) or (infinite and _INFINITE.fullmatch(word))):
                raise NumberError(index, word) from None
        raise  # no word is wrong: the error has another cause
