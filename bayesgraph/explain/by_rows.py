"""The contributions of many rows at once: a matrix of terms of the log odds.

The terms are those of `contributions`, computed for all rows together that observe the same
features. What `contributions` also knows of a term, such as what it would be alone, is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import scipy
from numpy.typing import NDArray

from bayesgraph import late_methods
from bayesgraph.checks import is_sparse
from bayesgraph.cpds import CPD
from bayesgraph.cpds.item_counts import ItemTerms
from bayesgraph.display import Displayed, DisplayTable, more
from bayesgraph.errors import EvidenceError, ImpossibleEvidenceWarning, quoted, warn
from bayesgraph.explain.chain_rule import Product, item_name, local_features, product, term_name
from bayesgraph.explain.contrast import Contrast
from bayesgraph.factors import Evidence, Factor, Potential
from bayesgraph.factors.algebra import Floats
from bayesgraph.models.average import PosteriorAverage
from bayesgraph.models.factor_graph import FactorGraph, Term
from bayesgraph.models.mixture import Ensemble, NetworkMixture
from bayesgraph.models.model import Model
from bayesgraph.models.network import BayesianNetwork
from bayesgraph.models.weighted import WeightedNetwork
from bayesgraph.optional import optional_module
from bayesgraph.typing import Intervention, TableLike
from bayesgraph.variables import CountVector, Discrete, Name, State, Variable

if TYPE_CHECKING:
    import pandas as pd

_MAX_LINES = 20

# The log likelihoods of a finding in each row, shape (n_rows, n_classes), or one row of items.
_Logs: TypeAlias = tuple[Name, Floats]
_Step: TypeAlias = "_Logs | _Items"


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
        return np.abs(possible).sum(axis=0) / max(len(possible), 1)

    def to_frame(self) -> pd.DataFrame:
        """Return the terms as a pandas DataFrame, one row for each row and a column by name."""
        pandas = optional_module("pandas", extra="pandas", what="RowContributions.to_frame")
        columns = pandas.Index(list(self.names), tupleize_cols=False)
        frame: pd.DataFrame = pandas.DataFrame(self.terms, columns=columns)
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


def contributions_rows(
    model: Model,
    target: Name,
    table: TableLike,
    *,
    positive: State | None = None,
    negative: State | None = None,
    do: Intervention = None,
) -> RowContributions:
    """Return the log odds of a discrete variable in each row as a sum of a term for each finding.

    Parameters
    ----------
    target : name
        A discrete variable.
    table : pandas, polars or pyarrow table, or mapping from name to column
        Any value may be missing. The target's column and columns that are not variables of the
        model are ignored. A factor graph takes a value for every variable but the target.
    positive, negative : state, optional
        Classes to compare, as for `contributions`.
    do : mapping from name to value, optional
        Variables that are set from outside in all rows; see `do`. Their columns are ignored.

    Returns
    -------
    RowContributions
        `terms` is an array of rows by features. Each row has the terms that `contributions` has
        for it; rows that observe the same features are computed together. With vectors of counts
        there are as many columns as items occur: take some rows at a time.

    Raises
    ------
    UnknownVariableError, UnknownStateError, EvidenceError, DataError
        For unknown names or states, or invalid columns.
    UnsupportedModelError
        For a model that has no joint distribution whose parts add up.
    """
    asked = product(model.do(do) if do else model, target)
    variable = asked.variable(target)
    assert isinstance(variable, Discrete)  # checked by `product`
    rows = late_methods.evidence_rows(asked, table, variable)
    if do:
        rows = rows.without({asked.variable(name) for name in do})
    return explain_rows(asked, Contrast.of(variable, positive, negative), rows)


def explain_rows(model: Product, contrast: Contrast, rows: Evidence) -> RowContributions:
    """Return the log odds of a class in each row of encoded evidence, as sums of terms."""
    n = rows.n_rows
    columns: dict[Name, Floats] = {}
    total = np.empty(n)
    prior = np.nan
    groups = _groups(rows) or [(np.empty(0, dtype=np.intp), Evidence(0, {}))]
    for places, group in groups:
        first, steps = _steps(model, contrast.target, group)
        prior = float(contrast(first))
        scores = np.tile(first, (group.n_rows, 1))
        for step in steps:
            if isinstance(step, _Items):
                scores = step.add(contrast, places, scores, columns, n)
                continue
            name, logs = step
            scores, moved = _moved(contrast, scores, logs)
            columns.setdefault(name, np.zeros(n))[places] = moved
        total[places] = contrast(scores)
    names = _in_order(model, contrast.target, columns)
    terms = np.column_stack([columns[name] for name in names]) if names else np.zeros((n, 0))
    impossible = np.isnan(total)
    terms[impossible] = np.nan
    if count := int(impossible.sum()):
        warn(
            f"{count} of {n} rows are impossible under both compared classes, so that they have no "
            "log odds; their contributions are NaN.",
            ImpossibleEvidenceWarning,
        )
    return RowContributions(contrast, prior, tuple(names), terms, total)


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


def _groups(rows: Evidence) -> list[tuple[NDArray[np.intp], Evidence]]:
    """Return the rows that observe the same variables together, without the missing columns."""
    if not rows.n_rows:
        return []
    known, partial = rows.split()
    if not partial:
        return [(np.arange(rows.n_rows), known)]
    seen = np.column_stack([known.observed_rows(v) for v in partial])
    _, first, which = np.unique(
        np.packbits(seen, axis=1), axis=0, return_index=True, return_inverse=True
    )
    found = []
    for number, row in enumerate(first.tolist()):
        places = np.flatnonzero(which.reshape(-1) == number)
        gone = {v for v, is_seen in zip(partial, seen[row].tolist(), strict=True) if not is_seen}
        columns = {v: column[places] for v, column in known.columns.items() if v not in gone}
        found.append((places, Evidence(len(places), columns)))
    return found


def _in_order(model: Product, target: Discrete, columns: dict[Name, Floats]) -> list[Name]:
    """Return the names of terms in the order of the findings, whatever rows observe them."""
    if isinstance(model, (BayesianNetwork, WeightedNetwork)):
        network = model.network if isinstance(model, WeightedNetwork) else model
        order = [v for cpd in network.nodes() for v in cpd.children]
    else:
        order = [v for v in model.variables if v != target]
    ranks: dict[Name, int] = {}
    for variable in order:
        ranks.setdefault(variable.name, len(ranks))
        for item in variable.items if isinstance(variable, CountVector) else ():
            ranks.setdefault(item, len(ranks))
            ranks.setdefault((variable.name, item), len(ranks))
    if any(name not in ranks for name in columns):  # factors over several variables
        return list(columns)
    return sorted(columns, key=lambda name: ranks[name])


# ------------------------------------------------------------------------------ kinds of models


def _steps(model: Product, target: Discrete, group: Evidence) -> tuple[Floats, Iterator[_Step]]:
    """Return the log prior of the classes, shape (n_classes,), and what each finding adds."""
    if isinstance(model, FactorGraph):
        return _factor_steps(model, target, group)
    if isinstance(model, Ensemble):
        return _ensemble_steps(model, target, group)
    if isinstance(model, WeightedNetwork):
        return _weighted_steps(model, group)
    return _network_steps(model, target, group)


def _prior(model: Model, target: Discrete) -> Floats:
    return np.asarray(model.log_posterior_rows(target, Evidence(1, {}))[0])


def _by_class(potential: Potential, target: Discrete, n_rows: int) -> Floats:
    """Return the log values of a potential for each row and class, shape (n_rows, n_classes)."""
    assert isinstance(potential, Factor)  # everything but the target is observed
    return np.broadcast_to(potential.aligned([target]), (n_rows, target.cardinality))


def _network_steps(
    network: BayesianNetwork, target: Discrete, group: Evidence
) -> tuple[Floats, Iterator[_Step]]:
    cpds, local = local_features(network, target, group.columns)
    prior = _prior(network, target)

    def joint(few: Sequence[CPD]) -> Floats:
        known = {cpd.variable: group.columns[cpd.variable] for cpd in few}
        return network.log_posterior_rows(target, Evidence(group.n_rows, known))

    def steps() -> Iterator[_Step]:
        last: tuple[int, Floats] = (-1, np.empty(0))
        taken = set(network.names)
        for i, cpd in enumerate(cpds):
            variable = cpd.variable
            if cpd.parents == (target,) and isinstance(variable, CountVector):
                yield _Items(cpd, variable, group, taken)
            elif variable in local:
                yield variable.name, _by_class(cpd.potential(group), target, group.n_rows)
            else:
                before = last[1] if last[0] == i else joint(cpds[:i])
                last = i + 1, joint(cpds[: i + 1])
                with np.errstate(invalid="ignore"):
                    yield variable.name, np.asarray(last[1] - before)

    return prior, steps()


def _ensemble_steps(
    model: NetworkMixture | PosteriorAverage, target: Discrete, group: Evidence
) -> tuple[Floats, Iterator[_Step]]:
    observed = [v for v in model.variables if v in group.columns]
    prior = _prior(model, target)

    def steps() -> Iterator[_Step]:
        before = np.tile(prior, (group.n_rows, 1))
        for i, variable in enumerate(observed, 1):
            known = {v: group.columns[v] for v in observed[:i]}
            after = model.log_posterior_rows(target, Evidence(group.n_rows, known))
            with np.errstate(invalid="ignore"):
                yield variable.name, np.asarray(after - before)
            before = after

    return prior, steps()


def _weighted_steps(model: WeightedNetwork, group: Evidence) -> tuple[Floats, Iterator[_Step]]:
    columns = group.columns

    def steps() -> Iterator[_Step]:
        for cpd in model.network.nodes():
            if cpd.variable not in columns:
                continue
            scope = [*(p for p in cpd.parents if p in columns), cpd.variable]
            logs = model.tempered(cpd, Evidence(group.n_rows, {v: columns[v] for v in scope}))
            none = np.zeros((group.n_rows, model.target.cardinality))
            yield cpd.variable.name, none if logs is None else logs

    return model.log_scores(Evidence(1, {}))[0], steps()


def _factor_steps(
    graph: FactorGraph, target: Discrete, group: Evidence
) -> tuple[Floats, Iterator[_Step]]:
    if missing := [v.name for v in graph.variables if v != target and v not in group.columns]:
        raise EvidenceError(
            "The factors of a factor graph add up where every variable is observed; "
            f"{quoted(missing)} are not, in some rows. Give their values, or query the "
            "BayesianNetwork."
        )
    alone = [term for term in graph.terms if term.scope == (target,)]
    prior = np.zeros(target.cardinality)
    for term in alone:
        prior = prior + _by_class(term.potential(Evidence(1, {})), target, 1)[0]

    def steps() -> Iterator[_Step]:
        taken: set[Name] = set()
        named = set(graph.names)
        for number, term in enumerate(graph.terms):
            vector = term.scope[-1]
            if term.scope[:-1] == (target,) and isinstance(vector, CountVector):
                yield _Items(term, vector, group, named)
            elif term.scope != (target,):
                name = term_name(term, target)
                name = (name, number) if name in taken else name
                taken.add(name)
                yield name, _by_class(term.potential(group), target, group.n_rows)

    return prior, steps()


@dataclass(frozen=True)
class _Items:
    """The terms of a vector of counts, whose items differ from row to row."""

    source: CPD | Term
    vector: CountVector
    group: Evidence
    taken: set[Name]

    def add(
        self,
        contrast: Contrast,
        places: NDArray[np.intp],
        scores: Floats,
        columns: dict[Name, Floats],
        n: int,
    ) -> Floats:
        """Write the terms of all rows to columns by name; return the log scores with them."""
        counts = self.group.columns[self.vector]
        names = {item: item_name(self.vector, item, self.taken) for item in self.vector.items}
        names[self.vector.name] = self.vector.name
        self.taken.update(names.values())
        found = scores.copy()
        for row, place in enumerate(places.tolist()):
            terms = self.source.item_terms(Evidence(1, {self.vector: counts[[row]]}))
            assert isinstance(terms, ItemTerms)
            steps = np.cumsum([found[row], *terms.logs], axis=0)
            moved = contrast.shift(steps[:-1], terms.logs)
            found[row] = steps[-1]
            for item, value in zip(terms.names, np.where(np.isnan(moved), 0.0, moved).tolist(), strict=True):
                columns.setdefault(names[item], np.zeros(n))[place] = value
        return found
