"""The contributions of many rows at once: a matrix of terms of the log odds.

The terms are those of `contributions`, computed feature by feature for all rows together: from the
feature's distribution where its parents are observed, and else by two batch queries. What
`contributions` also knows of a term, such as what it would be alone, is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from bayesgraph.core import errors
from bayesgraph.core.arrays import Floats, is_sparse
from bayesgraph.core.display import Displayed, DisplayTable, more
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.typing import Intervention, TableLike
from bayesgraph.core.variables import CountVector, Discrete, Name, State, Variable
from bayesgraph.models import (
    BayesianNetwork,
    Model,
    WeightedNetwork,
    evidence_rows,
)
from bayesgraph.questions.contribution_terms import (
    Contrast,
    Items,
    Product,
    product,
    steps_of,
)
from bayesgraph.questions.estimators import question

if TYPE_CHECKING:
    import pandas as pd

_MAX_LINES = 20


@dataclass(frozen=True, eq=False, repr=False)
class RowContributions(Displayed):
    """The log odds of a class in many rows, as sums of one term for each finding, in nats.

    It prints as the mean size of the terms of each feature.

    Attributes
    ----------
    contrast : Contrast
        The compared classes.
    prior : float
        Log odds with nothing observed.
    names : tuple of names
        The columns of `terms`: features (items of a vector of counts) in the order in which
        `contributions` has them.
    terms : ndarray, shape (n_rows, n_names)
        The term of each finding; 0 where a feature is missing. Rows that are impossible under both
        compared classes have NaN.
    total : ndarray, shape (n_rows,)
        The log odds: the sum of the prior and the terms.
    """

    contrast: Contrast
    prior: float
    names: tuple[Name, ...]
    terms: Floats
    total: Floats

    @property
    def probability(self) -> Floats:
        """Probability of the positive class if only compared classes exist, shape (n_rows,)."""
        return np.asarray(0.5 * (1.0 + np.tanh(0.5 * self.total)))

    @property
    def mean_sizes(self) -> Floats:
        """Mean of the terms' absolute values over the rows, shape (n_names,); NaN for no rows."""
        if not len(self.terms):
            return np.full(len(self.names), np.nan)
        possible = self.terms[~np.isnan(self.total)]
        return np.asarray(np.abs(possible).sum(axis=0) / max(len(possible), 1))

    def to_frame(self, index: ArrayLike | None = None) -> pd.DataFrame:
        """Return the terms as a pandas DataFrame, one row for each row and a column by name.

        Parameters
        ----------
        index : array_like, shape (n_rows,), optional
            What identifies the rows, such as a column of numbers of patients; by default their
            numbers from 0 on.
        """
        pandas = errors.optional_module("pandas", extra="pandas", what="RowContributions.to_frame")
        if index is not None and np.shape(index)[:1] != (len(self),):
            raise errors.DataError(
                f"index= identifies each of {len(self):,} rows; got values of shape "
                f"{np.shape(index)}."
            )
        columns = pandas.Index(list(self.names), tupleize_cols=False)
        frame: pd.DataFrame = pandas.DataFrame(self.terms, columns=columns, index=index)
        return frame

    def __len__(self) -> int:
        return len(self.terms)

    def _display(self) -> DisplayTable:
        sizes = self.mean_sizes
        order = np.argsort(-sizes, kind="stable").tolist()
        shown = order[:_MAX_LINES]
        finite = sizes[np.isfinite(sizes)]
        longest = float(finite.max(initial=0.0)) or 1.0
        return DisplayTable(
            f"Contributions of {len(self):,} rows to the log odds of {self.contrast}",
            [(str(self.names[i]), f"{sizes[i]:.4f}") for i in shown],
            header=("feature", "mean size"),
            bars=[min(1.0, float(np.nan_to_num(sizes[i])) / longest) for i in shown],
            note=more(len(order), len(shown), "features"),
        )


@question(rows="table")
def contributions_rows(
    model: Model,
    table: TableLike | Evidence,
    target: Name | None = None,
    *,
    positive: State | None = None,
    negative: State | None = None,
    do: Intervention = None,
    unseen: str = "error",
) -> RowContributions:
    """Return the log odds of a discrete variable in each row as a sum of a term for each finding.

    Parameters
    ----------
    model : model or fitted estimator
    table : pandas, polars or pyarrow table, mapping from name to column, or Evidence
        Any value may be missing. The target's column and columns that are not variables of the
        model are ignored. A factor graph takes a value for every variable but the target. Of a
        classifier and its class the rows are as for `predict`.
    target : name, optional
        A discrete variable. By default the class of the estimator.
    positive, negative : state, optional
        Classes to compare, as for `contributions`.
    do : mapping from name to value, optional
        Variables that are set from outside in all rows; see `do`. Their columns are ignored.
    unseen : {"error", "missing", "warn"}
        What a value becomes that is not a state; see `query_rows`. Of a classifier and its class
        its own parameter says it.

    Returns
    -------
    RowContributions
        `terms` is an array of rows by features. Each row has the terms that `contributions` has
        for it. With vectors of counts there are as many columns as items occur: take some rows at a
        time.

    Raises
    ------
    UnknownVariableError, UnknownStateError, EvidenceError, DataError
        For unknown names or states, or invalid columns.
    UnsupportedModelError
        For a model that has no joint distribution whose parts add up.

    Examples
    --------
    >>> import bayesgraph as bg
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> clf = bg.NaiveBayesClassifier().fit(X.iloc[:, :2], y)
    >>> clf.ask.contributions_rows(X.iloc[:, :2])
    Contributions of 569 rows to the log odds of target = 1 against 0
      feature       mean size
      mean radius      3.0664  ████████████████████████
      mean texture     0.9792  ████████
    """
    asked = product(model.do(do) if do else model, target)
    variable = asked.variable(target)
    assert isinstance(variable, Discrete)  # checked by `product`
    if isinstance(table, Evidence):
        rows = table.without({variable})
    else:
        rows = evidence_rows(asked, table, variable, unseen)
    if do:
        rows = rows.without({asked.variable(name) for name in do})
    return explain_rows(asked, Contrast.of(variable, positive, negative), rows)


def explain_rows(model: Product, contrast: Contrast, rows: Evidence) -> RowContributions:
    """Return the log odds of a class in each row of encoded evidence, as sums of terms."""
    n = rows.n_rows
    rows, _ = rows.split()
    prior, steps = steps_of(model, contrast.target, rows)
    scores = np.tile(prior, (n, 1))
    columns: dict[Name, Floats] = {}
    for step in steps:
        if isinstance(step, Items):
            _add_items(step, contrast, scores, columns)
        else:
            column = columns.setdefault(step.name, np.zeros(n))
            at = step.rows
            scores[at], column[at] = _moved(contrast, scores[at], step.logs)
    total = contrast(scores)
    # The names of terms in the order of the findings, whatever rows observe them.
    if isinstance(model, (BayesianNetwork, WeightedNetwork)):
        network = model.network if isinstance(model, WeightedNetwork) else model
        order = [v for cpd in network.nodes() for v in cpd.children]
    else:
        order = [v for v in model.variables if v != contrast.target]
    ranks: dict[Name, int] = {}
    for variable in order:
        for item in variable.items if isinstance(variable, CountVector) else ():
            ranks.setdefault(item, len(ranks))
            ranks.setdefault((variable.name, item), len(ranks))
        ranks.setdefault(variable.name, len(ranks))
    if any(name not in ranks for name in columns):  # factors over several variables
        names = list(columns)
    else:
        names = sorted(columns, key=lambda name: ranks[name])
    terms = np.column_stack([columns[name] for name in names]) if names else np.zeros((n, 0))
    impossible = np.isnan(total)
    terms[impossible] = np.nan
    if count := int(impossible.sum()):
        errors.warn(
            f"{count} of {n} rows are impossible under both compared classes, so that they have no "
            "log odds; their contributions are NaN.",
            errors.ImpossibleEvidenceWarning,
        )
    return RowContributions(contrast, float(contrast(prior)), tuple(names), terms, total)


def together(parts: Sequence[Evidence]) -> Evidence:
    """Return chunks of rows as one."""
    if len(parts) == 1:
        return parts[0]
    columns: dict[Variable, Any] = {}
    for variable, first in parts[0].columns.items():
        found = [part.columns[variable] for part in parts]
        stack = scipy.sparse.vstack(found, "csr") if is_sparse(first) else np.concatenate(found)
        columns[variable] = stack
    return Evidence(sum(part.n_rows for part in parts), columns)


def _moved(contrast: Contrast, scores: Floats, logs: Floats) -> tuple[Floats, Floats]:
    """Return the log scores after a finding, and by how much it moved the log odds."""
    moved = contrast.shift(scores, logs)
    # As in `explain`: nothing more is added to an impossible class, or to infinite log odds.
    after = scores + np.where(np.isnan(logs), 0.0, logs)
    return after, np.where(np.isnan(moved), 0.0, moved)


def _add_items(
    step: Items, contrast: Contrast, scores: Floats, columns: dict[Name, Floats]
) -> None:
    """Write the terms of all rows to columns by name, and add them to the log scores."""
    for row, before in enumerate(scores):
        terms = step.of(row)
        logs = np.cumsum([before, *terms.logs], axis=0)
        moved = contrast.shift(logs[:-1], terms.logs)
        scores[row] = logs[-1]
        values = np.where(np.isnan(moved), 0.0, moved).tolist()
        for item, value in zip(terms.names, values, strict=True):
            columns.setdefault(step.names[item], np.zeros(len(scores)))[row] = value
