"""Effects of a treatment on an outcome: from a model, or from a table by adjustment."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import networkx as nx
import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

from bayesgraph.core.arrays import Floats, check_share
from bayesgraph.core.display import Displayed, DisplayTable, rounded
from bayesgraph.core.errors import DataError, EvidenceError, UnsupportedModelError, quoted
from bayesgraph.core.typing import EvidenceLike, TableLike
from bayesgraph.core.variables import Continuous, CountVector, Discrete, Name, State, Variable
from bayesgraph.graphs import is_graph_or_model
from bayesgraph.models import Model
from bayesgraph.questions.causal_graphs import CausalGraph
from bayesgraph.questions.estimators import question
from bayesgraph.statistics import complete_rows
from bayesgraph.tables import Table, columns_of

# Ratio of the smallest to the largest singular value at which columns count as dependent.
_DEPENDENT = 1e-12


@dataclass(frozen=True, repr=False)
class Effect(Displayed):
    """The effect of setting one variable on another: a difference of means or probabilities.

    Attributes
    ----------
    treatment, outcome : name
    treated, control : state or number
        The two values of the treatment.
    state : state or None
        The state of a discrete outcome whose probabilities are compared.
    at_treated, at_control : float
        Mean of the outcome (probability of its state) if the treatment is set to each value.
    standard_error : float or None
        Of the difference; None for the effect in a model, whose parameters are taken as known.
    n_rows : int or None
        Number of rows used.
    adjusted : tuple of names
        The variables that were adjusted for.
    is_linked : bool
        False for a model in which no path of arcs leads from the treatment to the outcome.
    """

    treatment: Name
    outcome: Name
    treated: Any
    control: Any
    state: State | None
    at_treated: float
    at_control: float
    standard_error: float | None = None
    n_rows: int | None = None
    adjusted: tuple[Name, ...] = ()
    is_linked: bool = True

    @property
    def value(self) -> float:
        """The effect: `at_treated` less `at_control`."""
        return self.at_treated - self.at_control

    def interval(self, probability: float = 0.95) -> tuple[float, float]:
        """Return the confidence interval of the normal approximation.

        Raises
        ------
        DataError
            For a probability that is not between 0 and 1.
        EvidenceError
            For an effect in a model.
        """
        if self.standard_error is None:
            raise EvidenceError(
                "The effect in a model has no standard error: its parameters are taken as known. "
                "Estimate it from a table by adjusted_effect."
            )
        check_share("probability", probability)
        # Half the width: as much probability lies below the interval as above it.
        half = float(scipy.special.ndtri(0.5 + 0.5 * probability)) * self.standard_error
        return self.value - half, self.value + half

    def _display(self) -> DisplayTable:
        outcome = str(self.outcome) if self.state is None else f"{self.outcome} = {self.state!r}"
        kind = "mean" if self.state is None else "probability"
        rows = [
            (f"{kind} if {self.treated!r}", rounded(self.at_treated, 6)),
            (f"{kind} if {self.control!r}", rounded(self.at_control, 6)),
            ("effect", rounded(self.value, 6, signed=True)),
        ]
        # Without a path of arcs, treatment and outcome may have been given in the wrong order.
        swapped = f"is it effect({self.outcome!r}, {self.treatment!r})?"
        note = "" if self.is_linked else f"no arcs lead from cause to outcome; {swapped}"
        if self.standard_error is not None:
            low, high = self.interval()
            rows.append(("standard error", rounded(self.standard_error, 3)))
            rows.append(("95 % interval", f"[{rounded(low, 6)}, {rounded(high, 6)}]"))
            names = ", ".join(map(str, self.adjusted)) or "nothing"
            note = f"{self.n_rows:,} rows, adjusted for {names}"
        return DisplayTable(f"Effect of {self.treatment} on {outcome}", rows, note=note)


# ----------------------------------------------------------------------------- from a model


@question()
def effect(
    model: Model,
    treatment: Name,
    outcome: Name,
    given: EvidenceLike = None,
    *,
    treated: Any = None,
    control: Any = None,
    state: State | None = None,
) -> Effect:
    """Return the effect of setting a variable on another: the difference of two interventions.

    Parameters
    ----------
    model : model or fitted estimator
    treatment : name
        A discrete or continuous variable.
    outcome : name
        A continuous variable, whose means are compared, or a discrete one, of which the
        probabilities of a state are.
    given : mapping from name to value, optional
        Evidence after the intervention, for the effect among such cases.
    treated, control : state or number, optional
        The two values of the treatment: by default the second and the first of two states (if one
        is given, the other), or 1 and 0, which is the effect of one unit if all is linear.
    state : state, optional
        State of a discrete outcome; by default the second of two.

    Raises
    ------
    EvidenceError
        If the values or the state are needed and not given, or do not fit the variable.
    UnsupportedModelError
        For models without interventions; see `do`.
    """
    cause, target = model.variable(treatment), model.variable(outcome)
    values = _compared(cause, treated, control)
    compared = _state_of(target, state)
    # Posteriors of the outcome with the treatment set to each value; numbers have a mean.
    answers = [model.query(target.name, given, do={cause.name: value}) for value in values]
    mean, baseline = (float(x.mean if compared is None else x[compared]) for x in answers)
    graphs = [network.graph for network in model.networks if cause.name in network.names]
    is_linked = any(target.name in nx.descendants(graph, cause.name) for graph in graphs)
    return Effect(cause.name, target.name, *values, compared, mean, baseline, is_linked=is_linked)


def _compared(variable: Variable, treated: Any, control: Any) -> tuple[Any, Any]:
    """Return the two values of a treatment that are compared."""
    if isinstance(variable, Discrete):
        is_binary = variable.cardinality == 2
        if not is_binary and None in (treated, control):
            raise EvidenceError(
                f"{variable.name!r} has the states {quoted(variable.states)}; say which two are "
                "compared: treated= and control=."
            )
        # Of two states the one that is not named, by default the second is treated.
        if treated is None:
            code = 1 if control is None else 1 - variable.index(control)
        else:
            code = variable.index(treated)
        other = 1 - code if control is None else variable.index(control)
        return variable.states[code], variable.states[other]
    if isinstance(variable, CountVector):
        raise UnsupportedModelError(f"{variable.name!r} is a vector of counts, no treatment.")
    high, low = 1.0 if treated is None else treated, 0.0 if control is None else control
    return variable.number(high), variable.number(low)


def _state_of(variable: Variable, state: State | None) -> State | None:
    """Return the state of an outcome whose probability is compared; None if it has a mean."""
    if isinstance(variable, Discrete):
        if state is None and variable.cardinality != 2:
            raise EvidenceError(
                f"{variable.name!r} is discrete; say whose probability is compared: state= one of "
                f"{quoted(variable.states)}."
            )
        return variable.states[1 if state is None else variable.index(state)]
    if state is not None:
        raise EvidenceError(
            f"{variable.name!r} has no states, its means are compared; leave out state=."
        )
    if isinstance(variable, CountVector):
        raise UnsupportedModelError(f"{variable.name!r} is a vector of counts, no outcome.")
    return None


# ----------------------------------------------------------------------------- from a table


def adjusted_effect(
    table: TableLike,
    treatment: Name,
    outcome: Name,
    adjust: Sequence[Name] | CausalGraph | Model | nx.DiGraph[Any] = (),
    given: Mapping[Name, State] | None = None,
    *,
    treated: Any = None,
    control: Any = None,
    state: State | None = None,
    categorical: Iterable[Name] | str | None = None,
    sample_weight: ArrayLike | None = None,
) -> Effect:
    """Return the effect of a treatment that a table shows, adjusted for other columns.

    The mean of the outcome (the share of a state) given treatment and adjusted columns is averaged
    over the rows with the treatment set to one and to the other value: standardisation, the
    g-formula of Robins (1986). The mean is a linear regression on the continuous columns for each
    combination of states of the discrete ones; without continuous columns it is that of the rows.
    The effect is causal if the columns satisfy a criterion such as the back-door criterion; see
    `CausalGraph.adjustment_sets`.

    Parameters
    ----------
    table : pandas, polars or pyarrow table, or mapping from name to column
        Rows with a missing value in one of the columns used are left out.
    treatment, outcome : name
        Columns, both discrete or continuous. For a discrete outcome all other columns used are
        discrete.
    adjust : sequence of names, CausalGraph, BayesianNetwork or networkx.DiGraph
        The columns to adjust for; a graph gives its smallest adjustment set among the columns.
    given : mapping from name to state, optional
        The effect among rows with these states, of discrete columns, which are adjusted for too.
    treated, control : state or number, optional
        As in `effect`.
    state : state, optional
        As in `effect`.
    categorical : list of column names or "all", optional
        Numeric columns to treat as discrete.
    sample_weight : array_like, shape (n_rows,), optional
        How often each row counts, in the standard error too.

    Returns
    -------
    Effect
        The standard error is that of the influence function, which holds for unequal variances
        too (Tsiatis 2006, section 3.3; for a single regression it is that of White 1980).

    Raises
    ------
    DataError
        If a combination of states that must be predicted has too few rows.
    EvidenceError
        If the graph has no adjustment set among the columns, or arguments do not fit the columns.
    UnsupportedModelError
        For a discrete outcome with continuous columns.

    Examples
    --------
    >>> rows = {"drug": list("nnnnyyyyyy"), "old": list("nnnyyyyyny"), "well": list("yynnyynyyn")}
    >>> round(adjusted_effect(rows, "drug", "well", ["old"]).value, 4)
    0.4933
    """
    columns = _adjusted_columns(adjust, treatment, outcome, table)
    names = [outcome, treatment, *columns, *(name for name in given or {} if name not in columns)]
    if len(set(names)) < len(names):
        raise EvidenceError(
            "Treatment, outcome and adjusted columns are different columns; got "
            f"{quoted(names)}. To adjust by a graph, give a CausalGraph or a network."
        )
    rows, weights = complete_rows(table, names, categorical, sample_weight)
    target, cause = rows.variables[:2]
    values = _compared(cause, treated, control)
    compared = _state_of(target, state)
    y = rows.column(target)
    if isinstance(target, Discrete):
        if numeric := [v.name for v in rows.variables if isinstance(v, Continuous)]:
            raise UnsupportedModelError(
                f"The effect on a discrete outcome is adjusted for discrete columns; "
                f"{quoted(numeric)} are continuous. Discretise them, or name them in categorical=."
            )
        y = (y == target.index(compared)).astype(np.float64)
    # Weights of the rows over which the means are averaged: 0 for those without the given states.
    averaged = _among(rows, given or {}) * weights
    mean, influence = _standardised(rows, values[0], y, weights, averaged)
    control_mean, control_influence = _standardised(rows, values[1], y, weights, averaged)
    # A row of weight w counts as w rows, each with a share of 1 / w of its influence.
    difference = (influence - control_influence)[weights > 0]
    error = float(np.sqrt(np.sum(difference**2 / weights[weights > 0])))
    adjusted = tuple(names[2:])
    return Effect(
        treatment, outcome, *values, compared, mean, control_mean, error, rows.n_rows, adjusted
    )


def _adjusted_columns(adjust: Any, treatment: Name, outcome: Name, table: TableLike) -> list[Name]:
    """Return the columns to adjust for, of a graph those of its smallest adjustment set."""
    if isinstance(adjust, str):
        raise EvidenceError(f"adjust= is a list of columns, such as [{adjust!r}]; got {adjust!r}.")
    if is_graph_or_model(adjust):
        adjust = CausalGraph.of(adjust)
    if not isinstance(adjust, CausalGraph):
        return list(adjust)
    columns = columns_of(table)
    lacking = [name for name in adjust.nodes if name not in columns]
    sets = adjust.adjustment_sets(treatment, outcome, forbidden=lacking)
    if not sets:
        raise EvidenceError(
            f"Adjusting for no set of columns gives the effect of {treatment!r} on {outcome!r} in "
            "this graph. CausalGraph.identify finds out whether another expression does; "
            "front_door_sets and instruments list other criteria."
        )
    return list(sets[0])


def _among(rows: Table, states: Mapping[Name, State]) -> NDArray[np.bool_]:
    """Return a mask of the rows that have all of the given states, shape (n_rows,)."""
    chosen = np.ones(rows.n_rows, dtype=bool)
    by_name = {variable.name: variable for variable in rows.variables}
    for name, state in states.items():
        variable = by_name[name]
        if not isinstance(variable, Discrete):
            raise EvidenceError(
                f"given= takes states of discrete columns; {name!r} is continuous. Discretise it, "
                "or name it in categorical=."
            )
        chosen &= rows.column(variable) == variable.index(state)
    if not chosen.any():
        raise DataError(f"No row has {dict(states)!r}.")
    return chosen


def _standardised(
    rows: Table, value: Any, y: Floats, weights: Floats, averaged: Floats
) -> tuple[float, Floats]:
    """Return the average mean of the outcome with the treatment set to a value.

    The mean is a linear regression for each combination of states of discrete columns.

    Parameters
    ----------
    rows : Table
        The outcome, the treatment, and the columns to adjust for.
    value : state or number
        Of the treatment.
    y, weights : ndarray, shape (n_rows,)
        The outcome, and how often each row counts in the regressions.
    averaged : ndarray, shape (n_rows,)
        Weights of the rows over which means are averaged.

    Returns
    -------
    float
    ndarray, shape (n_rows,)
        The influence of each row on it.
    """
    _, cause, *others = rows.variables
    discrete = [v for v in (cause, *others) if isinstance(v, Discrete)]
    # The first column of codes, zeros, serves tables without discrete columns. The treatment is the
    # column after it, or, if it is a number, the one after the intercept in the design.
    codes = [np.zeros(rows.n_rows), *map(rows.column, discrete)]
    numbers = [rows.column(v) for v in (cause, *others) if isinstance(v, Continuous)]
    design = np.column_stack([np.ones(rows.n_rows), *numbers])
    # A cell is a combination of states, and has a regression of its own.
    cells = np.column_stack(codes).astype(np.int64)
    set_cells, set_design = cells.copy(), design.copy()
    if isinstance(cause, Discrete):
        set_cells[:, 1] = cause.index(value)
    else:
        set_design[:, 1] = value
    share = averaged / averaged.sum()
    # The cell of each row as it is, and with the treatment set; -1 if it is not averaged over.
    keys, indices = np.unique(np.concatenate([cells, set_cells]), axis=0, return_inverse=True)
    actual_cell, set_cell = np.split(indices, 2)
    set_cell = np.where(share > 0, set_cell, -1)
    means, influence = np.zeros(rows.n_rows), np.zeros(rows.n_rows)
    for index in np.unique(set_cell[set_cell >= 0]).tolist():
        # Masks of the rows that the regression is fitted to, and of those that it predicts.
        cell, predicted = actual_cell == index, set_cell == index
        try:
            slopes, inverse, scores = _regression(design[cell], y[cell], weights[cell])
        except DataError as error:
            pairs = zip(discrete, keys[index, 1:].tolist(), strict=True)
            where = ", ".join(f"{v.name}={v.states[code]!r}" for v, code in pairs)
            raise DataError(
                f"The effect takes the mean of the outcome with {where or 'any states'}; "
                f"{error}. Adjust for fewer columns, join states, or use given= to ask for the "
                "effect among rows that have both treatments."
            ) from None
        means[predicted] = set_design[predicted] @ slopes
        # A fitted row moves the slopes by inverse @ score, and so the average prediction.
        influence[cell] += scores @ (inverse @ (share[predicted] @ set_design[predicted]))
    average = float(share @ means)
    # A row that is averaged over has an influence by its own prediction, too.
    return average, influence + share * (means - average)


def _regression(x: Floats, y: Floats, weights: Floats) -> tuple[Floats, Floats, Floats]:
    """Return slopes, the inverse of the normal matrix, and the scores of rows.

    With k regressors these have shapes (k,), (k, k) and (n_rows, k). The normal matrix is X' W X,
    and scores are weight times residual times regressors.
    """
    if len(x) < x.shape[1]:
        raise DataError(f"there are {len(x)}, and it takes {x.shape[1]}")
    root = np.sqrt(weights)[:, None]
    # The slopes solve the least squares problem root x slopes = root y, by the singular value
    # decomposition. Where X' W X = R' R, its inverse is P P' for the pseudo-inverse P of R.
    # The columns are scaled, so that units do not matter.
    scale = np.abs(x).max(axis=0)
    scale[scale == 0] = 1.0
    left, singular, right = np.linalg.svd(root * x / scale, full_matrices=False)
    if singular[-1] <= _DEPENDENT * singular[0]:  # in descending order
        raise DataError("their numbers are linearly dependent")
    pseudo = (right.T / singular) @ left.T
    slopes = pseudo @ (root[:, 0] * y) / scale
    scores = (weights * (y - x @ slopes))[:, None] * x
    return slopes, (pseudo @ pseudo.T) / np.outer(scale, scale), scores
