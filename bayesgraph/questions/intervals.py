"""Credible intervals of the posteriors of a model, by draws or by the delta method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from bayesgraph.core.arrays import check_coverage, random_generator, whole_number
from bayesgraph.core.display import rounded
from bayesgraph.core.errors import DataError, EvidenceError, FewRowsWarning, quoted, warn
from bayesgraph.core.typing import EvidenceLike, Intervention, RandomState, Targets
from bayesgraph.core.variables import CountVector
from bayesgraph.inference import All, Case, Joint, Marginals
from bayesgraph.models import (
    BayesianNetwork,
    Belief,
    Model,
    as_mapping,
    impossible,
    read_targets,
    under,
)
from bayesgraph.questions import parameter_draws
from bayesgraph.questions.estimators import question

METHODS = ("draws", "delta")


@question()
def credible_intervals(
    model: Model,
    targets: Targets | None = None,
    evidence: EvidenceLike = None,
    *,
    do: Intervention = None,
    coverage: float = 0.9,
    method: Literal["draws", "delta"] = "draws",
    draws: int = 1000,
    min_rows: float | None = None,
    random_state: RandomState = 0,
    memory_limit: float | None = None,
) -> parameter_draws.CredibleIntervals | parameter_draws.CredibleMarginals:
    """Return credible intervals of posteriors, given that the parameters are estimates.

    The parameters of a model that was estimated by counting have a posterior themselves:
    Dirichlet for each distribution of a table, normal-inverse-gamma for each linear Gaussian.
    An answer of the model is a function of the parameters, and so has a posterior too.

    Parameters
    ----------
    model : model or fitted estimator
    targets : name or list of names, optional
        A list gives intervals of the joint posterior; None those of all unobserved variables.
    evidence, do : mapping from name to value, optional
        As in `query`; no `Belief`.
    coverage : float
        Posterior probability of each interval, with as much of the rest below it as above.
    method : {"draws", "delta"}
        * "draws": quantiles of the answers of models whose parameters are drawn.
        * "delta": quantiles of beta distributions with the variances of the answers to first
          order, by derivatives with respect to all tables; only for networks of tables. It also
          says which distributions the uncertainty comes from.
    draws : int
    min_rows : float, optional
        A `FewRowsWarning` names the posteriors that are known less well than a proportion from
        so many rows; see `CredibleIntervals.rows`.
    random_state : int or numpy Generator, default 0
        Seed of the draws; None draws others each time.
    memory_limit : float, optional
        Bytes; half of the machine's memory by default.

    Returns
    -------
    CredibleIntervals
        A mapping from state to interval; of a continuous target, from "mean" and "sd". Without
        targets, a `CredibleMarginals`: a mapping from name to `CredibleIntervals`.

    Raises
    ------
    ImpossibleEvidenceError
        If the evidence has probability zero.
    UnsupportedModelError
        If a parameter has no posterior: of models that were made by hand, trained to predict,
        estimated by EM, 'ml' or 'map', or read from files of other formats.

    Examples
    --------
    >>> import bayesgraph as bg
    >>> table = {"rain": ["no"] * 8 + ["yes"] * 2, "wet": ["no"] * 7 + ["yes"] * 3}
    >>> net = bg.BayesianNetwork.fit([("rain", "wet")], table)
    >>> found = net.ask.credible_intervals("rain", {"wet": "yes"}, method="delta")
    >>> low, high = found["yes"].low, found["yes"].high
    >>> f"{low:.2f} to {high:.2f}, as from {found.rows:.1f} rows"
    '0.17 to 0.91, as from 3.8 rows'
    """
    check_coverage(coverage)
    if method not in METHODS:
        raise DataError(f"method= is one of {quoted(METHODS)}; got {method!r}.")
    n = whole_number("draws", "draws", draws, 2)
    given = as_mapping(evidence)
    if any(isinstance(value, Belief) for value in given.values()):
        raise EvidenceError(
            "A Belief is a new probability whatever the parameters are; give likelihoods."
        )
    asked, given = under(model, do, given) if do else (model, dict(given))
    parameter_draws.check_parameters(asked)
    case = asked.case(given)
    # The indices of the targets of each question: one question, or all variables.
    if targets is not None:
        wanted = [read_targets(asked, targets, case.hard)]
    else:
        wanted = [
            (v,)
            for v, variable in enumerate(asked.variables)
            if v not in case.hard
            and variable not in asked.silent
            and not isinstance(variable, CountVector)
        ]
    if method == "delta":
        found = parameter_draws.delta_spread(asked, wanted, case, coverage, memory_limit)
        if found is None:
            raise impossible(given)
        parts = _split(asked, wanted, *found, coverage)
    else:
        random = random_generator(random_state)
        parts = _by_draws(asked, wanted, case, given, coverage, n, random, memory_limit)
    if min_rows is not None:
        _warn_of_few(parts, min_rows)
    if targets is not None:
        return parts[0]
    return parameter_draws.CredibleMarginals(parts, coverage, method)


def _by_draws(
    model: Model,
    wanted: Sequence[tuple[int, ...]],
    case: Case,
    evidence: Any,
    coverage: float,
    n: int,
    random: np.random.Generator,
    memory_limit: float | None,
) -> list[parameter_draws.CredibleIntervals]:
    of_tables = isinstance(model, BayesianNetwork) and model.compiled is not None
    question = Joint(wanted[0]) if len(wanted) == 1 else All()
    if of_tables:
        answer = model.work(question, case.pattern, memory_limit).run(case, memory_limit)
        if answer is None:
            raise impossible(evidence)
        estimate = (
            answer.flat if isinstance(answer, Marginals) else parameter_draws.numbers_of(answer)
        )
        assert isinstance(model, BayesianNetwork)
        drawn = parameter_draws.table_answers(model, question, case, n, random, memory_limit)
        spread = parameter_draws.Spread.of_draws(estimate, _possible(drawn, evidence), coverage)
        return _split(model, wanted, spread, [], coverage, method="draws")
    estimates = []
    for targets in wanted:
        answer = model.work(Joint(targets), case.pattern, memory_limit).run(case, memory_limit)
        if answer is None:
            raise impossible(evidence)
        estimates.append(parameter_draws.numbers_of(answer))
    found = parameter_draws.answers(model, wanted, case, n, random, memory_limit)
    return [
        parameter_draws.CredibleIntervals(
            tuple(model.variables[v] for v in targets),
            parameter_draws.Spread.of_draws(estimate, _possible(drawn, evidence), coverage),
            coverage,
            "draws",
        )
        for targets, estimate, drawn in zip(wanted, estimates, found, strict=True)
    ]


def _possible(draws: Any, evidence: Any) -> Any:
    """Return the draws under which the evidence is possible: zeros may differ by underflow."""
    good = ~np.isnan(draws).any(axis=1)
    if not good.any():
        raise impossible(evidence)
    return draws if good.all() else draws[good]


def _split(
    model: Model,
    wanted: Sequence[tuple[int, ...]],
    spread: parameter_draws.Spread,
    sources: Sequence[parameter_draws.Source],
    coverage: float,
    method: str = "delta",
) -> list[parameter_draws.CredibleIntervals]:
    """Return the intervals of each question, whose numbers stand one after the other."""
    found, start = [], 0
    for targets in wanted:
        variables: Any = tuple(model.variables[v] for v in targets)
        end = start + int(np.prod([v.cardinality for v in variables]))
        part = spread.part(slice(start, end))
        found.append(parameter_draws.CredibleIntervals(variables, part, coverage, method, sources))
        start = end
    return found


def _warn_of_few(parts: Sequence[parameter_draws.CredibleIntervals], min_rows: float) -> None:
    few = [part for part in parts if part.rows < min_rows]
    if few:
        texts = [f"{', '.join(map(str, part.names))} ({rounded(part.rows, 3)})" for part in few]
        warn(
            f"Posteriors that are known as from fewer than {min_rows:g} rows: {quoted(texts)}.",
            FewRowsWarning,
        )
