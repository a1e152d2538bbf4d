"""Base class of conditional distributions (CPDs), and their potentials given evidence.

A potential is a factor: a CPD reduced by evidence, as a function of its free variables.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice, pairwise, product
from typing import Any, ClassVar, NamedTuple, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesgraph.core.arrays import Floats, ItemTerms, whole_number
from bayesgraph.core.display import Displayed, DisplayTable, cut_texts, rounded
from bayesgraph.core.errors import CPDError, UnsupportedModelError, quoted
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.parallel import check_memory
from bayesgraph.core.variables import Binned, Continuous, CountVector, Discrete, Name, Variable
from bayesgraph.inference import Factor, Family, Potential, checked_values, take_codes
from bayesgraph.statistics import ParameterPosterior

# ------------ Conditional distributions as tables of text, for printing and for the nodes of plots


# Maximum length of the texts in a header; longer texts are shortened.
LONGEST = 16


# ---------------------------------------------------------------------------------------- text


def texts(values: Iterable[object], longest: int) -> list[str]:
    """Return values as texts of one line, different texts for different values.

    ``1`` and ``"1"`` become ``1`` and ``'1'``. Texts longer than `longest` lose their middle,
    because the end often distinguishes columns.
    """
    items = list(values)
    # A text with a line break differs from every line: the loop runs at least once.
    lines, before = [_line(str(item)) for item in items], ["\n"]
    # A blank would be invisible, and an empty label is a syntax error of DOT. The `repr` of one
    # value may be the text of another, so that this is repeated until nothing changes.
    while lines != before:
        before, count = lines, Counter(lines)
        lines = [
            line if count[line] == 1 and line.strip() else _line(repr(item))
            for line, item in zip(lines, items, strict=True)
        ]
    cut = [_shortened(text, longest) for text in lines]
    while len(set(cut)) < len(set(lines)):  # different texts differ in the middles that they lost
        longest *= 2
        cut = [_shortened(text, longest) for text in lines]
    return cut


def state_texts(variable: Discrete, longest: int, n: int | None = None) -> list[str]:
    """Return the states, or the first n, as texts of one line and about `longest` characters.

    Intervals have the ends of `cut_texts`.
    """
    if not isinstance(variable, Binned):
        return texts(variable.states[:n], longest)
    # The first n intervals end in the first n cuts; only the last of all is open on the right.
    # If more intervals follow the first n, one to infinity is made in vain, and cut off in the end.
    ends = ["-inf", *cut_texts(variable.cuts[:n], (longest - len("(, ]")) // 2), "inf"]
    intervals = [f"({a}, {b}]" for a, b in pairwise(ends)]
    return [*intervals[:-1], f"{intervals[-1][:-1]})"][:n]


def _line(text: str) -> str:
    """Return a text with spaces in the place of its line breaks."""
    return " ".join(text.splitlines())


def _shortened(text: str, longest: int) -> str:
    """Return a text without its middle if it is longer than `longest`."""
    if len(text) <= longest:
        return text
    tail = longest // 3
    return f"{text[: longest - tail - 1]}…{text[-tail:]}"


def number(value: float, digits: int = 4) -> str:
    """Return a number as `rounded` does, as in figures: minus is U+2212."""
    return rounded(value, digits).replace("-", "−")


# ------------------------------------------------------------------------------------- tables


@dataclass(frozen=True)
class Description:
    """A conditional distribution as a table of texts.

    Attributes
    ----------
    header : list of str
    rows : list of lists of str
    tints : ndarray, shape (n rows, n numbers), optional
        Intensities from 0 to 1 of the background colours of the last n cells of each row, for
        plots.
    note : str
        Number of rows and columns not shown, or the whole description if there is no table.
    keys : int
        Number of the first columns, which say what a row is about.
    """

    header: list[str]
    rows: list[list[str]]
    tints: Floats | None = None
    note: str = ""
    keys: int = 1


def describe_table(
    parents: Sequence[Discrete],
    child: Discrete,
    values: Floats,
    max_rows: int,
    max_columns: int,
    *,
    probability: bool = True,
) -> Description:
    """Return a table of texts with a column for each state of the child.

    Parameters
    ----------
    parents : sequence of Discrete
    child : Discrete
    values : ndarray, shape (*parents' cardinalities, states of the child)
    max_rows, max_columns : int
    probability : bool
        Whether to print three decimals, with three significant digits only for values that would be
        rounded to zero. Otherwise all values have three significant digits.
    """
    table = values.reshape(-1, child.cardinality)
    columns = list(range(min(child.cardinality, max_columns)))
    names = state_texts(child, LONGEST, max_columns)
    return describe_shares(parents, table, columns, names, max_rows, 1.0, "column", probability)


def describe_shares(
    parents: Sequence[Discrete],
    table: Floats,
    columns: list[int],
    names: list[str],
    max_rows: int,
    darkest: float,
    column: str,
    probability: bool = True,
) -> Description:
    """Return a table of some columns of `table`, with their `names`; see `describe_table`.

    The rows of `table` are configurations of the parents. `darkest` is the least number with the
    darkest background, `column` the word for a column.
    """
    shown = table[:max_rows, columns]
    header = [*texts([parent.name for parent in parents], LONGEST), *names]
    rows = [
        [*key, *(_share(float(value), probability) for value in row)]
        for key, row in zip(configurations(parents, len(shown)), shown, strict=True)
    ]
    note = left_out(len(table) - len(shown), table.shape[1] - len(columns), column)
    tints = shown / max(float(shown.max()), darkest)
    return Description(header, rows, tints, note, len(parents))


def describe_numbers(
    parents: Sequence[Discrete],
    children: Sequence[Variable],
    columns: Mapping[str, Floats],
    max_rows: int,
    hidden: int = 0,
) -> Description:
    """Return a table of texts with a column for each parameter of a distribution.

    Parameters
    ----------
    parents : sequence of Discrete
    children : sequence of Variable
        If there are several, the first column of the table names the child of each row.
    columns : mapping from header to ndarray, shape (*parents' cardinalities, n children)
    max_rows : int
    hidden : int
        Number of parameters that have no column, for the note.
    """
    cells = int(np.prod([parent.cardinality for parent in parents], dtype=np.intp))
    total = cells * len(children)
    # Rows are all configurations (cells) of the first child, then all of the second, and so on.
    child, cell = np.divmod(np.arange(min(total, max_rows)), cells)
    shown = children[: child[-1] + 1] if len(children) > 1 else []
    names = texts([variable.name for variable in shown], LONGEST)
    keys = configurations(parents, min(cells, max_rows))
    values = [column.reshape(cells, -1)[cell, child].tolist() for column in columns.values()]
    rows = [
        # A slice, as there are no names for a single child.
        [*names[i : i + 1], *keys[j], *map(number, numbers)]
        for i, j, *numbers in zip(child.tolist(), cell.tolist(), *values, strict=True)
    ]
    head = ["child"] if names else []
    header = [*head, *texts([parent.name for parent in parents], LONGEST), *columns]
    note = left_out(total - len(rows), hidden)
    return Description(header, rows, None, note, len(header) - len(columns))


def describe_factor(factor: Factor, max_rows: int, max_columns: int) -> Description:
    """Return a factor as a table of texts, with a column for each state of its last variable."""
    if not factor.scope:
        return Description([], [], None, number(float(np.exp(factor.log_values[0]))))
    *others, last = factor.scope
    values = np.exp(factor.log_values[0])
    return describe_table(others, last, values, max_rows, max_columns, probability=False)


def _share(value: float, probability: bool) -> str:
    """Return a number of a table as text; see `describe_table`."""
    if probability and (value == 0 or value >= 0.0005):
        return f"{value:.3f}"
    return number(value, 3)


def joint_codes(variables: Sequence[Discrete], n: int) -> list[tuple[int, ...]]:
    """Return the state codes of the first n joint states; those of the last vary fastest."""
    return list(islice(product(*[range(v.cardinality) for v in variables]), n))


def configurations(parents: Sequence[Discrete], n: int) -> list[list[str]]:
    """Return the states of the parents, as texts, in the first n parent configurations."""
    rows = joint_codes(parents, n)
    # Texts only of the states that occur, since a parent may have very many.
    names = [
        state_texts(parent, LONGEST, max(codes) + 1)
        for parent, codes in zip(parents, zip(*rows, strict=True), strict=True)
    ]
    return [[text[c] for text, c in zip(names, row, strict=True)] for row in rows]


def left_out(rows: int, columns: int, column: str = "column") -> str:
    """Return a note such as "… 3 more rows and 2 more columns" about what is not shown.

    `rows` and `columns` are the numbers of rows and columns that are not shown; `column` is the
    word for a column, such as "item".
    """
    parts = [
        f"{n:,} more {what}{'s' * (n > 1)}" for n, what in ((rows, "row"), (columns, column)) if n
    ]
    return f"… {' and '.join(parts)}" if parts else ""


# ------------- Base class of conditional distributions (CPDs), and their potentials given evidence


# Encoded values of each variable, in one or more rows.
Columns: TypeAlias = Mapping[Variable, NDArray[Any]]

# Maximum numbers of rows, columns and names of children in the printed table of a distribution.
_MAX_ROWS, _MAX_COLUMNS, _MAX_NAMES = 20, 8, 3


class Adder(Protocol):
    """Protocol of objects that add log potentials of one or more CPDs to an array of log values."""

    @property
    def nbytes(self) -> int:
        """Bytes of the copies of the CPDs' parameters."""
        ...

    def add(self, evidence: Evidence, out: Floats) -> None:
        """Add the log potentials given the evidence to `out`, shape (cells, n_rows)."""
        ...


class CPD(Displayed, ABC):
    """The conditional distribution of a child given its parents.

    A subclass implements `potential`; `sample` and `describe` are optional. A CPD prints as a
    table, also in notebooks.

    Attributes
    ----------
    variable : Variable
        The child; the first of several children.
    parents : tuple of Variable
        In the order given by the user.
    siblings_depend : bool
        Whether several children are dependent given the parents, so that a missing child must be
        integrated out before another child can be a target.
    is_linear : bool
        Whether the CPD is a linear Gaussian: its mean is linear in the continuous parents.
    sliceable : bool
        Whether the states of discrete parents are axes of `arrays`, and matter nowhere else.
    takes_children : bool
        Whether the constructor takes an iterable of children instead of one variable.
    arrays : tuple of str
        Constructor arguments that are also attributes: arrays whose first axes are those of the
        discrete parents. Variables, `arrays` and `other_arrays` determine the CPD.
    other_arrays : tuple of str
        Constructor arguments that are also attributes: arrays of any other shape.
    optional_arrays : tuple of str
        Those of `other_arrays` that files leave out where they are empty.
    parameter_posterior : ParameterPosterior or None
        What the parameters rest on, if they were estimated by counting complete families. It is not
        compared by ``==``.
    """

    variable: Variable
    parents: tuple[Variable, ...]
    siblings_depend = False
    is_linear = False
    sliceable = True
    takes_children = False
    arrays: ClassVar[tuple[str, ...]] = ()
    other_arrays: ClassVar[tuple[str, ...]] = ()
    optional_arrays: ClassVar[tuple[str, ...]] = ()
    parameter_posterior: ParameterPosterior | None = None
    # The type of the children, what an error says of others, and whether numbers may be parents.
    _child_type: ClassVar[type[Any]] = Discrete
    _hint: ClassVar[str] = ""
    _takes_numbers: ClassVar[bool] = False

    @cached_property
    def children(self) -> tuple[Variable, ...]:
        """The child variables: one, except in plates and joint Gaussians."""
        return (self.variable,)

    def _set_family(self, children: Any, parents: Iterable[Any]) -> None:
        """Set a child, or a tuple of children, and the parents.

        Raises
        ------
        CPDError
            Unless all are variables of the types that the class takes, and differ.
        """
        family, kind = type(self).__name__, self._child_type
        try:
            self.parents = tuple(parents)
        except TypeError as error:
            raise CPDError(
                f"{family} takes a list of variables as parents; got {parents!r}."
            ) from error
        # An empty tuple is no variable, and is refused below.
        self.children = children if isinstance(children, tuple) and children else (children,)
        self.variable = self.children[0]
        names = []
        for item in (*self.parents, *self.children):
            if not isinstance(item, (Discrete, Continuous, CountVector)):
                raise CPDError(
                    f"{family} takes variables (bayesgraph.Discrete or Continuous); got {item!r}."
                )
            names.append(item.name)
        if len(set(names)) < len(names):
            raise CPDError(
                f"{family} of {self.variable.name!r}: child and parents must all differ; got "
                f"{quoted(names)}."
            )
        for child in self.children:
            if not isinstance(child, kind):
                raise CPDError(
                    f"{family} takes children of the type {kind.__name__}; got {child.name!r}, "
                    f"which is {type(child).__name__.lower()}.{self._hint}"
                )
        for parent in self.parents:
            if isinstance(parent, CountVector):
                raise CPDError(f"{parent!r} is a vector of counts, which cannot be a parent.")
            if isinstance(parent, Continuous) and not self._takes_numbers:
                raise CPDError(
                    f"{family} takes discrete parents: {self.variable.name!r} cannot have "
                    f"continuous parents; got {parent.name!r}. Reverse the arc or discretise the "
                    "parent."
                )

    @cached_property
    def scope(self) -> tuple[Variable, ...]:
        """All variables of the CPD: the parents, then the children."""
        return (*self.parents, *self.children)

    def singles(self) -> tuple[CPD, ...]:
        """Return the same distribution as CPDs of one child each, which plots and files use."""
        return (self,)

    def arcs(self) -> list[tuple[Name, Name]]:
        """Return the arcs of the graph that end in the children, as (parent, child) names."""
        return [(parent.name, child.name) for child in self.children for parent in self.parents]

    def pieces(self, relevant: Collection[Variable], observed: Container[Variable]) -> list[CPD]:
        """Return CPDs whose product is the distribution of the relevant children given the parents.

        Parameters
        ----------
        relevant : collection of Variable
            Variables relevant to a query, at least one of them a child of this CPD.
        observed : container of Variable
            Variables with evidence.
        """
        return [self]

    @cached_property
    def discrete_parents(self) -> tuple[Discrete, ...]:
        """The discrete variables among the parents."""
        return tuple([p for p in self.parents if isinstance(p, Discrete)])

    @cached_property
    def continuous_parents(self) -> tuple[Continuous, ...]:
        """The continuous variables among the parents."""
        return tuple([p for p in self.parents if isinstance(p, Continuous)])

    @property
    def n_parameters(self) -> int:
        """The number of free parameters."""
        return sum(numbers.size for numbers in self.to_arrays().values())

    @property
    def family(self) -> Family | None:
        """Table or linear Gaussian, for derivatives with respect to its numbers; else None."""
        return None

    @property
    def is_positive(self) -> bool:
        """Whether the CPD may be raised to a negative exponent even if the child is free."""
        return False

    def to_factor(self) -> Factor | None:
        """Return the whole distribution as one table, or None if it cannot be a table."""
        return None

    def log_interval(self, low: Floats, high: Floats) -> Floats:
        """Return log P(low < child <= high) of a number with discrete parents.

        Parameters
        ----------
        low, high : ndarray, shape (m,)
            Bounds, which may be infinite.

        Returns
        -------
        ndarray, shape (m, cells)
            A column for each configuration of the parents; the states of the last vary fastest.

        Raises
        ------
        UnsupportedModelError
            For other children, or continuous parents.
        """
        raise UnsupportedModelError(
            "Intervals and likelihoods are evidence on numbers with discrete parents, and trees "
            f"sum out such numbers; {self.title} is another one. Give a value."
        )

    def with_parents_set(self, values: Mapping[Variable, Any]) -> CPD:
        """Return the CPD given encoded values of some parents, which it then lacks.

        Raises
        ------
        UnsupportedModelError
            If it has such a parent, and no form without it.
        """
        fixed = [parent for parent in self.parents if parent in values]
        if not fixed:
            return self
        if not self.sliceable or any(isinstance(parent, Continuous) for parent in fixed):
            raise UnsupportedModelError(
                f"{self.title} has no form in which {fixed[0].name!r} is a constant; ask the query "
                "itself, with do= or evidence, which needs none."
            )
        # The axes of the fixed parents are indexed by a state code, and vanish.
        at = tuple(values[p] if p in values else slice(None) for p in self.discrete_parents)
        remaining = [parent for parent in self.parents if parent not in values]
        return self._of_cells(remaining, self._cells_of_parents[at])

    def _check_size(self, n_numbers: int, copies: int = 1) -> None:
        """Raise a MemoryLimitError before a table over parents is made that is too large.

        `copies` is the number of arrays of so many numbers that are held at a time.
        """
        check_memory(
            f"A table of {self.children[0].name!r} and of its parents without evidence needs",
            n_numbers,
            "Observe more of them, or give it fewer.",
            copies=copies,
        )

    def with_parent(self, parent: Variable) -> CPD:
        """Return the same distribution with one more parent, which has no effect.

        Raises
        ------
        UnsupportedModelError
            If there is no form with this parent.
        """
        if not self.sliceable or not isinstance(parent, Discrete):
            kind = "discrete" if isinstance(parent, Discrete) else "continuous"
            raise UnsupportedModelError(
                f"{self.title} takes no further {kind} parent {parent.name!r}; give the new "
                "distribution: net.with_cpd(cpd)."
            )
        # Room for the indices of the cells, and for what the constructor copies and checks.
        n_numbers = max([np.size(array) for array in self.to_arrays().values()], default=0)
        self._check_size(n_numbers * parent.cardinality, copies=5)
        cells = np.repeat(self._cells_of_parents[..., None], parent.cardinality, axis=-1)
        return self._of_cells([*self.parents, parent], cells)

    def permuted(self, variable: Discrete, order: Sequence[int]) -> CPD:
        """Return the CPD in which state i of a variable is what state ``order[i]`` was.

        Raises
        ------
        UnsupportedModelError
            If there is no form with another order.
        """
        if not self.sliceable or variable not in self.discrete_parents:
            raise UnsupportedModelError(
                f"{self.title} has no form with another order of the states of {variable.name!r}."
            )
        axis = self.discrete_parents.index(variable)
        return self._of_cells(self.parents, np.take(self._cells_of_parents, order, axis=axis))

    @property
    def _cells_of_parents(self) -> NDArray[np.intp]:
        """The index of each configuration (cell) of the discrete parents, an axis for each."""
        shape = [parent.cardinality for parent in self.discrete_parents]
        return np.arange(math.prod(shape)).reshape(shape)

    def _of_cells(self, parents: Sequence[Variable], cells: NDArray[np.intp]) -> CPD:
        """Return a CPD with other parents, whose cells are what the given cells of this one are.

        `cells` has an axis for each discrete one of `parents`, and holds indices of cells of this
        CPD, as in `_cells_of_parents`.

        A subclass with `other_arrays` that belong to cells overrides it.
        """
        n, size = len(self.discrete_parents), self._cells_of_parents.size
        # The first n axes, those of the discrete parents, become one, from which cells are taken.
        arrays = {
            name: array.reshape(size, *array.shape[n:])[cells] if name in self.arrays else array
            for name, array in self.to_arrays().items()
        }
        return self.from_arrays(self.children, parents, arrays)

    @abstractmethod
    def potential(self, evidence: Evidence) -> Potential:
        """Return the potential: the CPD reduced by the evidence, a factor over its free variables.

        Every parent in the evidence is observed in all rows. A child in the evidence may be missing
        in some rows: the potential of such a row is 1, the sum over the child. (A partially
        observed variable on which other CPDs depend is not in this evidence: the inference engine
        applies the evidence on that variable to the product of the factors.)
        """

    def potentials(self, evidence: Evidence) -> list[Potential]:
        """Return factors whose product is the potential; several if it is known to factorise."""
        return [self.potential(evidence)]

    def item_terms(self, evidence: Evidence) -> ItemTerms | None:
        """Return the log potential of one row of counts as a sum of one term for each item.

        The result is None if the child is not a vector of counts.
        """
        return None

    def item_logs(self) -> Floats | None:
        """Return the increase of the log potential for one more occurrence of each item.

        Returns
        -------
        ndarray of shape (cells, n_items), or None
            One row for each parent configuration (cell). None if the child is not a vector of
            counts.
        """
        return None

    def accumulate(self, evidence: Evidence, scope: Sequence[Discrete], out: Floats) -> None:
        """Add the log potential to `out`, an array to which several CPDs add theirs.

        Parameters
        ----------
        evidence : Evidence
            Evidence that leaves exactly the variables of `scope` free.
        scope : sequence of Discrete
        out : ndarray, shape (cells, n_rows)
            A cell is a joint configuration of the variables in `scope`. Rows are the last axis, so
            that vector instructions process several rows at once.
        """
        potential = self.potential(evidence)
        assert isinstance(potential, Factor)  # only discrete variables are free
        table = potential.aligned(scope)  # its first axis has the rows, or one for all of them
        out += table.reshape(len(table), len(out)).T

    @classmethod
    def adders(
        cls, cpds: Sequence[Self], scope: Sequence[Discrete], observed: Container[Variable]
    ) -> list[Adder]:
        """Return `Adder` objects, each of which adds the log potentials of some CPDs to an array.

        If there are none, each CPD accumulates its own.

        Parameters
        ----------
        cpds : sequence of CPD
        scope : sequence of Discrete
            The free variables, which are the same in all the CPDs.
        observed : container of Variable
            Variables of the evidence.
        """
        return []

    def sample(self, parents: Columns, n: int, random: np.random.Generator) -> NDArray[Any]:
        """Return n draws of the child, as state codes or numbers, given the parents' columns."""
        raise UnsupportedModelError(
            f"{type(self).__name__} of {self.variable.name!r} has no sampling."
        )

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return all parameters as the arrays that `from_arrays` takes."""
        names = (*self.arrays, *self.other_arrays)
        return {name: np.asarray(getattr(self, name)) for name in names}

    @classmethod
    def from_arrays(
        cls, children: Sequence[Variable], parents: Sequence[Variable], arrays: Mapping[str, Any]
    ) -> Self:
        """Return a CPD made from the arrays that `to_arrays` returned."""
        family: Any = cls  # each constructor takes its arrays by name
        first = list(children) if cls.takes_children else children[0]
        made: Self = family(first, parents=parents, **arrays)
        return made

    def __eq__(self, other: object) -> bool:
        """Tell whether two CPDs have the same class, the same variables and the same parameters."""
        if type(other) is not type(self) or self.scope != other.scope:
            return False
        mine, theirs = self.to_arrays(), other.to_arrays()
        # Without arrays, nothing says that two CPDs are of equal parameters.
        return self is other or (
            bool(mine) and all(np.array_equal(mine[k], theirs[k]) for k in mine)
        )

    __hash__ = None  # type: ignore[assignment]

    def describe(self, max_rows: int, max_columns: int) -> Description:
        """Return the distribution as a table of texts, for printing and for plots.

        `max_rows` and `max_columns` are the maximum numbers of rows and columns shown.
        """
        return Description([], [], None, f"{self.n_parameters:,} parameters")

    def _display(self) -> DisplayTable:
        table = self.describe(_MAX_ROWS, _MAX_COLUMNS)
        return DisplayTable(self.title, table.rows, table.header, note=table.note)

    def to_text(self, *, max_rows: int = 1_000, max_columns: int = 100) -> str:
        """Return the distribution as lines of text, within 80 columns where names are short.

        Parameters
        ----------
        max_rows, max_columns : int
            Maximum numbers of parent configurations and of states shown; a note says how many
            there are more. Printing the distribution shows 20 and 8.

        Returns
        -------
        str
            Columns that do not fit beside each other continue below, each time with the states of
            the parents.
        """
        rows = whole_number("max_rows", "rows", max_rows, 1)
        shown = self.describe(rows, whole_number("max_columns", "columns", max_columns, 1))
        table = replace(self._display(), rows=shown.rows, header=shown.header, note=shown.note)
        return table.folded(shown.keys)

    @property
    def title(self) -> str:
        """Return the class and ``P(child | parents)`` on one line, ``p(...)`` for a density."""
        names = [str(child.name) for child in self.children[:_MAX_NAMES]]
        if more := len(self.children) - len(names):
            names.append(f"… {more:,} more")
        parents = ", ".join(str(parent.name) for parent in self.parents)
        letter = "P" if isinstance(self.variable, (Discrete, CountVector)) else "p"
        return f"{type(self).__name__} {letter}({', '.join(names)}{' | ' * bool(parents)}{parents})"


class ParameterTitle(NamedTuple):
    """Title of a CPD's parameter in errors, whose text is made only for an error."""

    cpd: CPD
    name: str = ""
    discrete_parents: tuple[Discrete, ...] = ()

    def __str__(self) -> str:
        names = quoted(parent.name for parent in self.discrete_parents)
        of = f" (discrete parents: {names})" if names else ""
        return f"{self.cpd.title}{of}{': ' if self.name else ''}{self.name}"


def reduced(scope: Sequence[Discrete], logs: Floats, evidence: Evidence) -> Factor:
    """Return the observed entries of log probabilities of the last variable given the others.

    `logs` has shape (1, *cardinalities of the scope). The rows in which the last variable is
    missing get 0, the log of one.
    """
    observed = [variable for variable in scope if variable in evidence]
    codes = [evidence.columns[variable] for variable in observed]
    # If the last variable is observed, it is the last of `observed`; -1 is the code of missing.
    missing = np.flatnonzero(codes[-1] < 0) if scope[-1] in evidence else ()
    if len(missing):
        codes[-1] = np.maximum(codes[-1], 0)  # any state; the values are replaced below
    free, values = take_codes(scope, logs, observed, codes)
    if len(missing):
        values[missing] = 0.0
    return Factor.from_log(free, values)


def draw_states(
    shares: Floats, row: NDArray[np.intp], random: np.random.Generator
) -> NDArray[np.intp]:
    """Draw one state code for each entry k of `row` from the distribution ``shares[k]``.

    `shares` has shape (n_distributions, n_states).
    """
    cumulative = np.cumsum(shares, axis=-1)
    # The last state takes the rounding error, unless its probability is zero.
    cumulative /= np.where(cumulative[:, -1:] > 0, cumulative[:, -1:], 1.0)
    # The code is the number of cumulative probabilities that a uniform number has passed.
    return np.asarray(np.sum(random.random(len(row))[:, None] >= cumulative[row, :-1], axis=1))


class SetCPD(CPD):
    """A variable without parents that is set from outside: each value has the potential 1.

    It stands in networks whose queries set the variable, so that it is always observed; compiled
    tables leave it out.
    """

    def __init__(self, variable: Variable) -> None:
        self.variable = variable
        self.parents = ()

    def potential(self, evidence: Evidence) -> Potential:
        """Return 1 for each row; see CPD.

        Raises
        ------
        UnsupportedModelError
            If the variable is not observed.
        """
        if self.variable not in evidence:
            raise UnsupportedModelError(
                f"{self.variable.name!r} is set by an intervention and has no distribution; name "
                "its value in do=."
            )
        return Factor.from_log((), np.zeros(evidence.n_rows))


# ---------------- Argument checks that the constructors of several conditional distributions share


# Tolerance of sums of probabilities: a larger deviation from one is refused, not normalised.
SUM_TOLERANCE = 1e-6


def checked_numbers(
    values: ArrayLike, shape: tuple[int, ...], *, what: object, fill: bool = False
) -> Floats:
    """Return values as a read-only array of a given shape; `fill` broadcasts a single number.

    `what` names the values in error messages.

    Raises
    ------
    CPDError
        For values of another shape, or values that are not finite numbers.
    """
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise CPDError(f"{what} takes numbers of shape {shape}: {error}.") from error
    if fill and array.ndim == 0:
        array = np.full(shape, float(array))
    if array.shape != shape:
        raise CPDError(f"{what} takes shape {shape}; got {array.shape}.")
    if not np.isfinite(array).all():
        raise CPDError(f"{what} takes finite numbers; got {array!r:.200}.")
    array.flags.writeable = False
    return array


def checked_shares(values: ArrayLike, scope: Sequence[Discrete], *, what: object) -> Floats:
    """Return the probabilities of the last variable given the others as a read-only table."""
    table = checked_values(values, scope, what=what)
    check_sums(table, scope[:-1], what=what)
    table.flags.writeable = False
    return table


def check_sums(values: Floats, parents: Sequence[Discrete], *, what: object) -> None:
    """Raise a CPDError unless the probabilities along the last axis sum to one.

    The message names the row: the configuration of `parents`, which are the other axes.
    """
    sums = values.sum(axis=-1)
    wrong = np.abs(sums - 1.0) > SUM_TOLERANCE
    if wrong.any():
        at = tuple(np.argwhere(wrong)[0].tolist())
        states = zip(parents, at, strict=True)
        row = ", ".join(f"{parent.name}={parent.states[code]!r}" for parent, code in states)
        raise CPDError(
            f"{what}: the probabilities{f' given {row}' if row else ''} sum to {sums[at]:.9g}, not "
            "to 1. A row is a distribution over the child's states, on the last axis; divide it by "
            "its sum if its numbers are weights."
        )
