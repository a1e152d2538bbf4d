"""The list of all solvers, and the selection of the solver that answers a query."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from bayesgraph.core.errors import UnsupportedModelError
from bayesgraph.inference import contract
from bayesgraph.inference.approximate import Loopy, Unfolded, Weighting
from bayesgraph.inference.ensembles import Average, AverageDerivatives, Mixture
from bayesgraph.inference.factor_solver import Factors, Leaves
from bayesgraph.inference.row_solver import Rows, Tempered
from bayesgraph.inference.sampling import Forward
from bayesgraph.inference.search import Searching
from bayesgraph.inference.sensitivity import Families
from bayesgraph.inference.table_solvers import PROGRAMS, JointEnumeration

# Solvers in the order in which they are tried: the first that takes a query answers it. Each
# describes its condition (`Solver.condition`). Jeffrey's rule is not a solver: it asks `Joint`
# several times (`jeffrey`).
SOLVERS: tuple[contract.Solver, ...] = (
    Unfolded(),  # canonical CPDs as chains of tables
    Loopy(),  # if the method is requested
    Weighting(),  # if the method is requested
    Forward(),  # whole rows drawn from a network
    JointEnumeration(),  # tables, one case, few free variables
    PROGRAMS,  # tables, one case: on probabilities, or on logarithms if they could underflow
    Leaves(),  # leaves of any family, by the posterior of their parents
    Rows(),  # rows of a product: by elimination of factors, or many rows in one program
    Families(),  # derivatives of networks with Gaussians
    Searching(),  # most probable assignments, if the method is requested or memory is short
    Factors(),  # one case with Gaussians, plates or trees
    Tempered(),  # weighted networks
    Mixture(),  # mixtures of networks, by their posterior weights
    Average(),  # averages of posteriors, by fixed weights
    AverageDerivatives(),  # derivatives of averages of products
)

_ANSWERING = {kind: tuple(s for s in SOLVERS if kind in s.works) for kind in contract.METHODS}

# Requirements of some types of queries, for error messages.
_WANTS: dict[type[Any], str] = {
    contract.Slopes: ", which takes a network of parents and children, tables over discrete "
    "variables, or a mixture or an average of these",
    contract.Retractions: ", which takes exact probabilities of the evidence",
    contract.Samples: ", which takes a network of parents and children",
    contract.Sample: ", which takes a network of parents and children or tables over discrete "
    "variables",
}


def first_work(
    model: Any,
    question: contract.Question,
    pattern: contract.Pattern,
    memory_limit: float | None = None,
) -> contract.Work:
    """Return the query as prepared by the first solver that takes it.

    The ``run`` method of the result answers the query; its ``plan`` describes the computation.

    Parameters
    ----------
    model : model of `bayesgraph.models`
    question : Question
        The query, with variables given by their indices in ``model.variables``.
    pattern : Pattern
    memory_limit : float, optional
        Bytes; half of the machine's memory by default.

    Raises
    ------
    UnsupportedModelError
        If no solver answers the query for this model; the message lists what it does answer.
    MemoryLimitError
        If the largest table exceeds the limit; the message gives its size.

    Examples
    --------
    >>> import bayesgraph as bg
    >>> from bayesgraph.inference import Joint, Pattern
    >>> rain, wet = bg.Discrete("rain", ["no", "yes"]), bg.Discrete("wet", ["no", "yes"])
    >>> net = bg.BayesianNetwork([
    ...     bg.TableCPD(rain, [0.8, 0.2]),
    ...     bg.TableCPD(wet, [[0.9, 0.1], [0.2, 0.8]], parents=[rain]),
    ... ])
    >>> first_work(net, Joint((0,)), Pattern((1,))).solver.name
    'joint enumeration'
    """
    return _first(model, question, pattern).prepare(model, question, pattern, memory_limit)


def first_plan(model: Any, question: contract.Question, pattern: contract.Pattern) -> contract.Plan:
    """Return the plan of the first solver that takes the query, without checking memory."""
    return _first(model, question, pattern).named_plan(model, question, pattern)


def _first(model: Any, question: contract.Question, pattern: contract.Pattern) -> contract.Solver:
    """Return the first solver that takes a query, or raise an UnsupportedModelError."""
    for solver in serving(model, type(question)):
        if solver.takes(model, question, pattern):
            return solver
    raise refused(model, type(question))


def serving(model: Any, kind: type[Any]) -> Iterator[contract.Solver]:
    """Yield the solvers that answer a type of query about the model, in the order of `SOLVERS`."""
    answering = () if kind in model._declined else _ANSWERING.get(kind, ())
    return (solver for solver in answering if solver.serves(model))


def refused(model: Any, asked: type[Any]) -> UnsupportedModelError:
    """Return the error for a type of query that the model does not answer.

    The message lists the model methods that do have an answer.
    """
    # One method may ask several types of queries, and is named once.
    answered = (name for kind, name in contract.METHODS.items() if any(serving(model, kind)))
    others = ", ".join(dict.fromkeys(answered))
    return UnsupportedModelError(
        f"{type(model).__name__} does not answer {contract.METHODS[asked]}{_WANTS.get(asked, '')}. "
        f"It answers {others}.{model._advice}"
    )
