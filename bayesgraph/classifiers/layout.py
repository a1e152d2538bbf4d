"""Assignment of the columns of X to features, and of features to families of distributions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from bayesgraph.core.errors import DataError, DataTypeError, quoted, unknown_variable
from bayesgraph.core.variables import CountVector, Discrete, Name, Variable
from bayesgraph.models import FAMILIES
from bayesgraph.tables import Column, Encoder, categorical_names, grouped, is_discrete, is_matrix

# Families of features that consist of many columns, with the default name of such a feature.
VECTORS = {family.name: family.vector for family in FAMILIES.values() if family.vector}


@dataclass(frozen=True)
class Layout:
    """Assignment of the columns of X to features.

    Attributes
    ----------
    columns : tuple of names
        All columns of X, in their order.
    families : mapping from feature name to family
        Families that the user chose; the type of other features determines their family.
    groups : mapping from feature name to column names
        Features that are vectors of counts, with the columns that each vector consists of.
    categorical : set of names
        Numeric columns that are treated as discrete.
    """

    columns: tuple[Name, ...]
    families: Mapping[Name, str] = field(default_factory=dict)
    groups: Mapping[Name, tuple[Name, ...]] = field(default_factory=dict)
    categorical: frozenset[Name] = frozenset()

    @property
    def is_one_vector(self) -> bool:
        """Whether all columns together are one vector of counts."""
        return len(self.groups) == 1 and next(iter(self.groups.values())) == self.columns

    def grouped(self, columns: Mapping[Name, Column]) -> dict[Name, Column]:
        """Return columns in which those of each count vector are one matrix; see `grouped`."""
        return grouped(columns, self.groups)

    def declared(self, columns: Mapping[Name, Column]) -> dict[Name, Variable]:
        """Return, by name, the variables whose type the chosen families determine.

        These are the variables of count vectors, of counts and of other numbers. All other
        variables are inferred from their columns, which are those returned by `grouped`.
        """
        found: dict[Name, Variable] = {}
        for name, family in self.families.items():
            kind = FAMILIES[family].variable
            if kind is CountVector:
                items = self.groups.get(name)
                if items is None:
                    matrix: Any = columns[name]
                    items = tuple(range(matrix.shape[1]))
                found[name] = CountVector(name, items)
            elif kind is not Discrete:
                found[name] = kind(name)
        return found

    def encoder(self, features: tuple[Variable, ...]) -> Encoder:
        """Return the encoder of tables with the variables `features`; the last encoder is cached.

        A fitted model needs the encoder of its own features for each prediction.
        """
        known: Encoder | None = vars(self).get("_encoder")
        if known is None or known.variables is not features:
            known = Encoder(features)
            vars(self)["_encoder"] = known
        return known

    def __getstate__(self) -> dict[str, Any]:
        # The cached encoder is left out of copies and pickles, and made again on demand.
        return {name: value for name, value in vars(self).items() if name != "_encoder"}


def make_layout(
    columns: Mapping[Name, Column] | Sequence[Name], distributions: Any, categorical: Any
) -> Layout:
    """Return the layout of columns for the `distributions` and `categorical` that the user gave.

    Parameters
    ----------
    columns : mapping from name to column, or sequence of names
        The latter for an array of numbers.
    distributions : None, name of a family, or mapping to names of families
        A single family applies to all numeric columns ("categorical": to all columns). The keys of
        a mapping are column names (or positions), or tuples of them: the columns of a tuple form
        one vector of counts. Single columns with the same vector family form one vector together.
    categorical : see `bayesgraph.tables.table.categorical_names`

    Raises
    ------
    DataError
        If a family is unknown, or a column is named twice.
    UnknownVariableError
        If a name is not a column.
    """
    names = tuple(columns)
    numeric = frozenset(categorical_names(categorical, names))
    if distributions is None:
        return Layout(names, categorical=numeric)
    if distributions in tuple(VECTORS) and not numeric and not isinstance(columns, Mapping):
        # All columns are numbers, so that no column needs to be checked.
        feature = _fresh(VECTORS[distributions], names, {})
        return Layout(names, {feature: distributions}, {feature: names})
    chosen = family_by_column(distributions, names)
    discrete = _discrete_columns(columns, chosen)
    if isinstance(distributions, str) and distributions != "categorical":
        chosen = _numeric_only(chosen, discrete)
    families: dict[Name, str] = {}
    groups: dict[Name, tuple[Name, ...]] = {}
    loose: dict[str, list[Name]] = {}
    for key, family in chosen.items():
        _check_key(key, family, numeric)
        if len(key) > 1:
            feature = _fresh(VECTORS[family], names, groups)
            groups[feature], families[feature] = key, family
            continue
        name = key[0]
        matrix = isinstance(columns, Mapping) and is_matrix(columns[name])
        if name in discrete and not FAMILIES[family].takes_states:
            raise DataTypeError(
                f"Column {name!r} is discrete by its type, and {family} takes numbers; leave it "
                "out of distributions=, or convert it."
            )
        if name in discrete:
            families[name] = "categorical"
        elif family not in VECTORS or matrix:
            families[name] = family
        else:
            loose.setdefault(family, []).append(name)
    for family, members in loose.items():
        feature = _fresh(VECTORS[family], names, groups)
        groups[feature], families[feature] = tuple(members), family
    tables = {name for name, family in families.items() if family == "categorical"}
    return Layout(names, families, groups, numeric | tables)


def _numeric_only(
    chosen: Mapping[tuple[Name, ...], str], discrete: set[Name]
) -> dict[tuple[Name, ...], str]:
    """Return `chosen` without discrete columns: a single family applies to numeric columns only.

    Parameters
    ----------
    chosen : mapping from (column name,) to family
    discrete : set of names
        Columns that are discrete by their type.

    Raises
    ------
    DataTypeError
        If no column is numeric.
    """
    numeric = {key: family for key, family in chosen.items() if key[0] not in discrete}
    if not numeric:
        family = next(iter(chosen.values()))
        raise DataTypeError(
            f"distributions={family!r} takes numbers, and no column has any: {quoted(discrete)}. "
            "(Texts become counts by scikit-learn's CountVectorizer.)"
        )
    return numeric


def _discrete_columns(
    columns: Mapping[Name, Column] | Sequence[Name], chosen: Mapping[tuple[Name, ...], str]
) -> set[Name]:
    """Return the columns named in `chosen` that are text, categories or booleans by their type."""
    if not isinstance(columns, Mapping):
        return set()
    wanted = {name for key in chosen for name in key}
    return {
        name
        for name, column in columns.items()
        if name in wanted and not is_matrix(column) and is_discrete(column, name)
    }


def _check_key(key: tuple[Name, ...], family: str, categorical: frozenset[Name]) -> None:
    for name in key:
        if name in categorical and family != "categorical":
            raise DataError(f"Column {name!r} is both categorical and {family}; choose one.")
    if len(key) > 1 and family not in VECTORS:
        raise DataError(
            f"{family!r} is a family of single columns; name {quoted(key)} one by one. (Families "
            f"of many columns together are {quoted(VECTORS)}.)"
        )


def family_by_column(distributions: Any, names: tuple[Name, ...]) -> dict[tuple[Name, ...], str]:
    """Return the family of each column, or of each tuple of columns that form one count vector.

    `distributions` and the errors are those of `make_layout`; `names` are all columns.
    """
    known = set(names)
    if isinstance(distributions, str):
        _check_family(distributions)
        return {(name,): distributions for name in names}
    if not isinstance(distributions, Mapping):
        raise DataTypeError(
            "distributions= takes the name of a family, or a mapping from column to family such "
            f"as {{'age': 'gaussian'}}; got {distributions!r}."
        )
    found: dict[tuple[Name, ...], str] = {}
    for key, family in distributions.items():
        _check_family(family)
        several = isinstance(key, tuple) and key not in known
        found[tuple(_column(item, names, known) for item in (key if several else (key,)))] = family
    flat = [name for key in found for name in key]
    if len(set(flat)) < len(flat):
        twice = sorted({n for n in flat if flat.count(n) > 1}, key=repr)
        raise DataError(f"distributions= names {quoted(twice)} more than once.")
    return found


def _column(item: Any, names: tuple[Name, ...], known: set[Name]) -> Name:
    if item in known:
        return item  # type: ignore[no-any-return]
    if isinstance(item, (int, np.integer)) and 0 <= item < len(names):
        return names[int(item)]
    raise unknown_variable(item, names, where="distributions=: the table")


def _check_family(family: Any) -> None:
    if not isinstance(family, str) or family not in FAMILIES:
        raise DataError(
            f"The families of distributions are {quoted(FAMILIES, maximum=99)}, and 'auto' for all "
            f"columns together; got {family!r}."
        )


def _fresh(name: Name, names: Sequence[Name], groups: Mapping[Name, Any]) -> Name:
    """Return `name`, or `name` with a number if a column or another count vector has that name.

    `names` are the names of all columns, and the keys of `groups` those of the other vectors.
    """
    number, found = 1, name
    while found in names or found in groups:
        number += 1
        found = f"{name}_{number}"
    return found
