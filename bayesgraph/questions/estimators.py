"""Functions of a model as functions of a fitted estimator, too."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from bayesgraph.core.errors import DataTypeError, EvidenceError, quoted
from bayesgraph.core.typing import EvidenceLike
from bayesgraph.core.variables import Discrete, Name, State
from bayesgraph.inference import Conflict, Joint, Retractions, Sensitivity, Slopes, refused
from bayesgraph.models import (
    Model,
    as_mapping,
    check_no_belief,
    read_case,
    read_targets,
    slopes_of_findings,
)

P = ParamSpec("P")
R = TypeVar("R")


def question(
    kind: type[Any] = Joint, *, rows: str | None = None
) -> Callable[[Callable[Concatenate[Model, P], R]], Callable[Concatenate[Any, P], R]]:
    """Let a function of a model answer for fitted estimators too, whose network is then the model.

    Of an estimator the argument `target` (or `targets`) is by default the class, and `evidence` is
    what the estimator makes of it. A model has no default: an argument `target` is needed.

    Parameters
    ----------
    kind : type
        The type of query that the function makes, a class of `bayesgraph.inference.contract`:
        models that decline such queries decline the function.
    rows : str, optional
        Argument that is a table with the columns of `predict`, if the target is the class.
    """

    def decorate(
        function: Callable[Concatenate[Model, P], R],
    ) -> Callable[Concatenate[Any, P], R]:
        signature = inspect.signature(function)
        parameters = dict(signature.parameters)
        # The names of the two parameters that an estimator fills in.
        model = next(iter(parameters))
        target = "target" if "target" in parameters else "targets"
        # Callers may leave out the target, whether or not the function has a default.
        if target in parameters:
            parameters[target] = parameters[target].replace(default=None)
            signature = signature.replace(parameters=[*parameters.values()])

        @wraps(function)
        def ask(source: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
            # Changes of `arguments` change what `bound` calls the function with.
            bound = signature.bind(source, *args, **kwargs)
            arguments = bound.arguments
            lacks_target = target in parameters and arguments.get(target) is None
            if hasattr(type(source), "_fitted_model"):
                arguments[model] = source._fitted_model
                if lacks_target:
                    arguments[target] = source.target_.name
                if "evidence" in parameters:
                    arguments["evidence"] = source._given(arguments.get("evidence"))
                # Rows about the class have the columns of `predict`, which the estimator encodes.
                if rows is not None and arguments[target] in (source.target_.name, source.target_):
                    arguments[rows] = source._encoded(arguments[rows])
            elif not isinstance(source, Model):
                raise DataTypeError(
                    f"{function.__name__} asks a model or a fitted estimator; got {source!r:.200}."
                )
            elif lacks_target and target == "target":
                raise EvidenceError(
                    f"{function.__name__} needs a target, which is by default the class of a "
                    f"fitted classifier; the model has the variables {quoted(source.names)}."
                )
            if kind in arguments[model]._declined:
                raise refused(arguments[model], kind)
            return function(*bound.args, **bound.kwargs)

        # Questions are methods of models and classifiers, too (`core.upward`), and documented as
        # such, with this signature.
        vars(ask).update(__signature__=signature, is_question=True)
        return ask

    return decorate


def model_of(source: Any) -> Model | None:
    """Return a model, or that of a fitted estimator; None for anything else, such as a table."""
    model = getattr(source, "network_", source)
    return model if isinstance(model, Model) else None


def discrete_target(model: Model, target: Name | None, what: str) -> Discrete:
    """Return a discrete variable; an error about another one begins with `what`."""
    assert target is not None  # estimators have a default
    variable = model.variable(target)
    if not isinstance(variable, Discrete):
        raise EvidenceError(
            f"{what} discrete target; {variable.name!r} is continuous, not discrete. Cut it into "
            "intervals, by a discretiser, to ask about its states."
        )
    return variable


@question(Slopes)
def sensitivity(
    model: Model,
    target: Name,
    state: State | None = None,
    evidence: EvidenceLike = None,
    *,
    memory_limit: float | None = None,
) -> Sensitivity:
    """Return the derivatives of a posterior probability with respect to all parameters.

    They are those of tables and of linear Gaussians, and of the weights of a mixture or an
    average; distributions of other families are taken as certain.

    Parameters
    ----------
    target : name
    state : a state of the target, optional
        By default the most probable one.
    evidence : mapping from name to value, optional
        As in `query`.

    Raises
    ------
    EvidenceError
        For a continuous target.
    ImpossibleEvidenceError
        If the evidence has probability zero.
    UnsupportedModelError
        Unless the model is a Bayesian network, a factor graph of tables, or a mixture or an
        average of these; or if a number would have to be integrated out whose distribution has
        no closed form for it.
    """
    if not model._answers(Slopes):
        raise refused(model, Slopes)
    asked, findings = model._asked(None, evidence)
    case = read_case(asked, findings)
    (target_index,) = read_targets(asked, [target], case.hard)
    variable = discrete_target(asked, target, "Derivatives are of the probability of a state of a")
    if state is None:
        state = asked.query(variable.name, findings, memory_limit=memory_limit).argmax
    query = Slopes(target_index, variable.index(state))
    slopes: Sensitivity = asked._possible(query, case, evidence, memory_limit)
    # Intervals of numbers change the model that is asked: back to parameters of the original one.
    return slopes if asked is model else slopes_of_findings(model, as_mapping(evidence), slopes)


@question(Retractions)
def conflict(
    model: Model, evidence: EvidenceLike = None, *, memory_limit: float | None = None
) -> Conflict:
    """Return the conflict measure of the evidence, and findings that contradict the others.

    The measure of findings e_i is log(prod_i P(e_i) / P(e_1, ..., e_n)), which is positive if
    the findings are jointly less probable than if they were independent; see `Conflict`.

    Parameters
    ----------
    evidence : mapping from name to value
        As in `query`; densities of numbers enter as probabilities do.

    Raises
    ------
    ImpossibleEvidenceError
        If the evidence has probability zero.
    UnsupportedModelError
        For weighted networks and averages of posteriors, which give no probability of evidence;
        or if a number would have to be integrated out whose distribution has no closed form.
    """
    asked, findings = model._asked(None, evidence)
    # Models that answer no such query are refused below, whatever the evidence.
    if asked._answers(Retractions):
        check_no_belief(as_mapping(findings))
    case = asked._checked_case(Retractions, findings)
    answer: Conflict = asked._possible(Retractions(), case, findings, memory_limit)
    return answer
