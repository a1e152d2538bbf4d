"""The possible answers of questions: their probabilities, and the posterior after each of them.

The answers of a candidate x and the states t of the target form a table P(x | e) P(t | e, x). Where
the model is a joint distribution this is P(t, x | e). In a product of tables, one propagation for
each state of the target gives it for all candidates. Any other model is asked for the posterior of
the target in one batch of rows for each candidate, a row for each answer.

A weighted network and an average of posteriors are no joint distributions: P(x | e) and
P(t | e, x) are both their own answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bayesgraph.errors import UnsupportedModelError
from bayesgraph.factors import Evidence
from bayesgraph.factors.algebra import Floats
from bayesgraph.inference.contract import All, Case
from bayesgraph.inference.normalise import normalised_if_possible
from bayesgraph.models.average import Member, PosteriorAverage
from bayesgraph.models.model import Model
from bayesgraph.variables import Binned, Discrete, Variable

# Values of a candidate, as they are encoded, each with its probability P(x | e).
Answers: TypeAlias = Sequence[tuple[Any, float]]
# Forms of models that are joint distributions.
_JOINT = ("product", "mixture")


def is_joint(model: Model) -> bool:
    """Tell whether a model is a joint distribution of its variables."""
    return model.form in _JOINT


class Tables(NamedTuple):
    """Tables of several discrete candidates, one below the other.

    Attributes
    ----------
    posterior : ndarray, shape (n_states,)
        P(t | e).
    joint : ndarray, shape (n_answers, n_states)
        P(x | e) P(t | e, x).
    numbers : ndarray of int
        Indices of the candidates.
    starts : ndarray of int
        Row of `joint` in which the answers of each candidate begin.
    """

    posterior: Floats
    joint: Floats
    numbers: NDArray[np.int64]
    starts: NDArray[np.int64]

    def answers(self, number: int) -> Answers:
        """Return the states of a candidate with their probabilities."""
        place = int(np.searchsorted(self.numbers, number))
        end = self.starts[place + 1] if place + 1 < len(self.starts) else len(self.joint)
        return list(enumerate(self.joint[self.starts[place] : end].sum(axis=1).tolist()))


def by_propagation(model: Model, target: int, case: Case) -> Tables | None:
    """Return the tables of all variables that are not observed, in a product of tables.

    The result is None if the evidence has probability zero.
    """
    others = case.without(target)
    first = Case({**others.hard, target: 0}, others.soft)
    layout = model.memo.get(("answers", target, first.pattern), lambda: _layout(model, first))
    numbers, starts, size, n_states = layout
    work = model.work(All(), first.pattern)
    cases = [Case({**others.hard, target: s}, others.soft) for s in range(n_states[target])]
    found = [work.run(given) for given in cases]
    logs = np.array([-np.inf if m is None else m.log_evidence for m in found])
    if target in case.soft:
        logs += case.soft[target]
    peak = logs.max()
    if peak == -np.inf:
        return None
    posterior = np.exp(logs - peak)
    posterior /= posterior.sum()
    given_state = np.array([np.zeros(size) if m is None else m.flat for m in found])
    joint = np.ascontiguousarray(given_state.T) * posterior
    return Tables(posterior, joint, numbers, starts)


def _layout(
    model: Model, case: Case
) -> tuple[NDArray[np.int64], NDArray[np.int64], int, list[int]]:
    """Return the free variables of a case, where their states begin, and numbers of states."""
    assert model.compiled is not None  # callers have checked it
    cards = model.compiled.tables.cards
    numbers = np.array([v for v in range(len(cards)) if v not in case.hard], dtype=np.int64)
    ends = np.cumsum(cards[numbers])
    size = int(ends[-1]) if len(ends) else 0
    return numbers, ends - cards[numbers], size, cards.tolist()


def posterior_rows(model: Model, target: Discrete, rows: Evidence) -> Floats:
    """Return the posterior of each row, shape (n_rows, n_states); zeros if a row is impossible."""
    return normalised_if_possible(model.log_posterior_rows(target, rows))


def joint_rows(
    model: Model, target: Discrete, candidate: Variable, rows: Evidence
) -> tuple[NDArray[Any], Floats]:
    """Return the answers of a candidate x, and P(x | row) P(t | row, x).

    The answers are the states of the candidate or, if members of an average have different
    intervals of a number, one number in each interval between all cut points. Values that rows have
    of the candidate are ignored.

    Returns
    -------
    values : ndarray, shape (n_answers,)
        As they are encoded.
    joint : ndarray, shape (n_rows, n_answers, n_states)
        Zeros for impossible rows.

    Raises
    ------
    UnsupportedModelError
        If an average has no posterior of the candidate.
    """
    rows = rows.without([candidate]) if candidate in rows else rows
    if isinstance(candidate, Discrete):
        values: NDArray[Any] = np.arange(candidate.cardinality)
        if is_joint(model):
            logs = model.log_posterior_rows(target, with_values(rows, candidate, values))
            shape = rows.n_rows, candidate.cardinality, target.cardinality
            return values, normalised_if_possible(logs.reshape(rows.n_rows, -1)).reshape(shape)
        shares = posterior_rows(model, candidate, rows)
    else:
        values = _cell_numbers(model, candidate)
        shares = _shares_of_cells(model, candidate, rows, values)
    soft = {v: logs for v, logs in rows.likelihoods.items() if v != candidate}
    plain = Evidence(rows.n_rows, rows.columns, soft)
    after = posterior_rows(model, target, with_values(plain, candidate, values))
    joint = shares[..., None] * after.reshape(*shares.shape, -1)
    # An answer that no member of an average thinks possible is no answer.
    total = joint.sum(axis=(1, 2), keepdims=True)
    found: Floats = np.divide(joint, total, out=np.zeros_like(joint), where=total > 0)
    return values, found


def with_values(rows: Evidence, variable: Variable, values: Floats) -> Evidence:
    """Return each row once for each value of a variable, shape (n_rows * n_values,)."""
    copies = rows.rows(np.repeat(np.arange(rows.n_rows), len(values)))
    columns = {**copies.columns, variable: np.tile(values, rows.n_rows)}
    return Evidence(copies.n_rows, columns, copies.likelihoods)


# --------------------------------------------- numbers of which an average has several intervals


def has_cells(model: Model, candidate: Variable) -> bool:
    """Tell whether the answers of a candidate are intervals that differ among the members."""
    if not isinstance(model, PosteriorAverage) or isinstance(candidate, Discrete):
        return False
    return len(_binned(model, candidate)) == sum(m.has(candidate.name) for m in model.members)


def _cell_numbers(model: Model, candidate: Variable) -> Floats:
    """Return a number in each cell between the cut points of all members of an average.

    Raises
    ------
    UnsupportedModelError
        If no member has all cut points, so that the numbers within longer intervals have no
        distribution.
    """
    binned = _binned(model, candidate)
    cuts = sorted({cut for own in binned.values() for cut in own.cuts})
    if not any(list(own.cuts) == cuts for own in binned.values()):
        raise UnsupportedModelError(
            f"The members of this average have different intervals of {candidate.name!r}, and none "
            "has the cut points of all; ask one of its `networks`."
        )
    beyond = cuts[-1] + max(1.0, abs(cuts[-1])) if cuts else 0.0
    return np.array([*cuts, beyond])


def _binned(model: Model, candidate: Variable) -> Mapping[Member, Binned]:
    """Return the variables with intervals that members of an average have for a number."""
    assert isinstance(model, PosteriorAverage)  # callers have checked it
    members = [m for m in model.members if m.has(candidate.name)]
    own = {member: member.network.variable(candidate.name) for member in members}
    return {member: v for member, v in own.items() if isinstance(v, Binned)}


def _shares_of_cells(model: Model, candidate: Variable, rows: Evidence, numbers: Floats) -> Floats:
    """Return the probability of each cell, of which `numbers` has one each: (n_rows, n_cells).

    Within a longer interval of a member, numbers are distributed as in the member that has all cut
    points.
    """
    binned = _binned(model, candidate)
    shares = {member: _member_shares(member, own, rows) for member, own in binned.items()}
    fine = max(shares.values(), key=lambda found: found.shape[1])
    total = np.zeros_like(fine)
    for member, own in binned.items():
        place = own.codes(numbers)
        whole = np.zeros((len(fine), own.cardinality))
        np.add.at(whole.T, place, fine.T)
        width = np.bincount(place, minlength=own.cardinality)[place]
        inside = np.full_like(fine, 1.0) / width
        np.divide(fine, whole[:, place], out=inside, where=whole[:, place] > 0)
        total += member.weight * shares[member][:, place] * inside
    found: Floats = total / total.sum(axis=1, keepdims=True)
    return found


def _member_shares(member: Member, own: Discrete, rows: Evidence) -> Floats:
    """Return the member's posterior of a variable, its prior in rows that it thinks impossible."""
    logs, _ = member.network.rows_with_prior(own, member.rows(rows))
    return normalised_if_possible(logs)
