"""Query methods of fitted estimators, which the fitted network answers."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from functools import cached_property, wraps
from types import MethodType
from typing import Any, ClassVar, Concatenate, ParamSpec, Protocol, TypeVar, cast

from bayesgraph import late_methods
from bayesgraph.classifiers.validation import check_fitted
from bayesgraph.errors import UnsupportedModelError
from bayesgraph.inference import Plan
from bayesgraph.inference.contract import METHODS, All, Joint, Sample, Samples, Slopes
from bayesgraph.late_binding import late_method
from bayesgraph.loss_report import LossReport
from bayesgraph.models.model import QUESTIONS, Model
from bayesgraph.typing import EvidenceLike, Intervention, PathLike, RandomState, Targets
from bayesgraph.variables import Name

_P = ParamSpec("_P")
_R_co = TypeVar("_R_co", covariant=True)
_MethodT = TypeVar("_MethodT", bound=Callable[..., Any])


class _OfOne(Protocol[_P, _R_co]):
    def __call__(
        self, target: Name | None = None, *args: _P.args, **kwargs: _P.kwargs
    ) -> _R_co: ...


class _OfSeveral(Protocol[_P, _R_co]):
    def __call__(
        self, targets: Targets | None = None, *args: _P.args, **kwargs: _P.kwargs
    ) -> _R_co: ...


class _Forwarded:
    """A method of models as a method of estimators, which the fitted network answers.

    It has the signature and the docstring of the method of models, and is made when it is first
    looked up, because that imports what answers.

    Parameters
    ----------
    kind : type, optional
        Type of query that the estimator must not refuse.
    """

    def __init__(self, kind: type[Any] | None = None) -> None:
        self._kind = kind

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self._name = name

    def __get__(self, estimator: Any, owner: Any = None) -> Any:
        return self._method if estimator is None else MethodType(self._method, estimator)

    @cached_property
    def _method(self) -> Callable[..., Any]:
        name = self._name
        kind = QUESTIONS[name][0] if name in QUESTIONS else self._kind

        @wraps(getattr(Model, name))
        def forward(estimator: ModelQuestions, /, *args: Any, **kwargs: Any) -> Any:
            model = estimator._answering(kind)
            return getattr(model, name)(*args, **kwargs)

        return forward


class _AboutClass(_Forwarded):
    """A method of models whose first argument is a variable, by default the estimator's target."""

    @cached_property
    def _method(self) -> Callable[..., Any]:
        method = getattr(Model, self._name)
        signature = inspect.signature(method)
        _, first, *_ = signature.parameters.values()

        @wraps(method)
        def forward(estimator: ModelQuestions, /, *args: Any, **kwargs: Any) -> Any:
            model = estimator._answering(self._kind)
            chosen, *others = args or (kwargs.pop(first.name, None),)
            target = estimator.target_.name if chosen is None else chosen
            bound = signature.bind(model, target, *others, **kwargs)
            bound.arguments["evidence"] = estimator._given(bound.arguments.get("evidence"))
            return getattr(model, self._name)(*bound.args[1:], **bound.kwargs)

        optional = signature.parameters | {first.name: first.replace(default=None)}
        forward.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[*optional.values()]
        )
        return forward


def _forwarded(_: Callable[[], _MethodT]) -> _MethodT:
    """Return an estimator method that calls a method of models on the fitted network."""
    return cast(_MethodT, _Forwarded())


def _of_class(
    _: Callable[[], Callable[Concatenate[Model, Name, _P], _R_co]], kind: type[Any]
) -> _OfOne[_P, _R_co]:
    """Return an estimator method whose `target` is the class by default."""
    return cast(_OfOne[_P, _R_co], _AboutClass(kind))


def _of_classes(
    _: Callable[[], Callable[Concatenate[Model, Targets, _P], _R_co]], kind: type[Any]
) -> _OfSeveral[_P, _R_co]:
    """Return an estimator method whose `targets` are the class by default."""
    return cast(_OfSeveral[_P, _R_co], _AboutClass(kind))


class ModelQuestions:
    """Mixin that gives estimators the query methods of models; the fitted `network_` answers them.

    Methods that take variables to query have them as their first argument (by default `target_`).
    The next argument is the evidence.
    """

    network_: Any
    target_: Any
    _frame: str | None = None
    # Types of queries that the estimator refuses although the model could answer, and the reason.
    _declined: ClassVar[frozenset[type[Any]]] = frozenset()
    _because: ClassVar[str] = ""

    @property
    def _fitted_model(self) -> Model:
        check_fitted(self, "network_")
        model: Model = self.network_
        return model

    @property
    def _drawn(self) -> tuple[object, dict[str, Any]]:
        """What `to_dot` and `render` draw: the network, in which the target is highlighted."""
        return self._fitted_model, {"target": self.target_.name}

    def _answering(self, question: type[Any] | None) -> Model:
        """Return the fitted model, after checking that the estimator answers a type of query.

        Parameters
        ----------
        question : type or None
            Type of query, a class of `bayesgraph.inference.contract` such as Joint.

        Raises
        ------
        UnsupportedModelError
            If the estimator refuses queries of this type.
        """
        model = self._fitted_model
        if question in self._declined:
            raise UnsupportedModelError(
                f"{type(self).__name__} does not answer {METHODS[question]}: {self._because}"
            )
        return model

    def _given(self, evidence: EvidenceLike) -> EvidenceLike:
        """Return evidence as the model takes it: unchanged, unless a subclass overrides this."""
        return evidence

    def query(
        self,
        targets: Targets | None = None,
        evidence: EvidenceLike = None,
        *,
        do: Intervention = None,
        method: str = "exact",
        fallback: str | None = None,
        memory_limit: float | None = None,
        **options: Any,
    ) -> Any:
        """Return the posterior of the class (in regression, of the target) or of other variables.

        Parameters
        ----------
        targets : name or list of names, optional
            By default the class: ``clf.query(evidence={"age": 63})``.
        evidence : mapping from name to value, optional
            Variables that are not named are not observed.
        do, method, fallback, memory_limit, **options
            As for :meth:`BayesianNetwork.query`.

        Returns
        -------
        Posterior, GaussianMixture or MixedPosterior
            Depending on whether the variables are discrete, continuous or both.

        Raises
        ------
        UnknownVariableError, UnknownStateError, EvidenceError
            If a name, a state or a value is invalid; the message has the nearest valid one.
        ImpossibleEvidenceError
            If the evidence has probability zero.
        sklearn.exceptions.NotFittedError
            If nothing was learned yet.
        """
        model = self._answering(Joint)
        options |= {"do": do, "method": method, "fallback": fallback}
        options["memory_limit"] = memory_limit
        chosen = self.target_.name if targets is None else targets
        return model.query(chosen, self._given(evidence), **options)

    marginals = _forwarded(lambda: Model.marginals)
    most_probable = _forwarded(lambda: Model.most_probable)
    k_most_probable = _forwarded(lambda: Model.k_most_probable)
    marginal_map = _forwarded(lambda: Model.marginal_map)
    query_rows = _forwarded(lambda: Model.query_rows)
    log_probability = _forwarded(lambda: Model.log_probability)
    conflict = _forwarded(lambda: Model.conflict)
    do = _forwarded(lambda: Model.do)
    effect = _forwarded(lambda: Model.effect)
    causal_graph = _forwarded(lambda: Model.causal_graph)
    d_separated = _forwarded(lambda: Model.d_separated)
    markov_blanket = _forwarded(lambda: Model.markov_blanket)
    with_cpd = _forwarded(lambda: Model.with_cpd)
    without = _forwarded(lambda: Model.without)
    with_arc = _forwarded(lambda: Model.with_arc)
    renamed = _forwarded(lambda: Model.renamed)
    with_states = _forwarded(lambda: Model.with_states)
    conditioned = _forwarded(lambda: Model.conditioned)
    marginalised = _forwarded(lambda: Model.marginalised)
    merged = _forwarded(lambda: Model.merged)
    expanded = _forwarded(lambda: Model.expanded)
    annotated = _forwarded(lambda: Model.annotated)
    most_relevant = _forwarded(lambda: Model.most_relevant)
    next_question_rows = _forwarded(lambda: Model.next_question_rows)
    flip = _of_class(lambda: Model.flip, Joint)
    nearest_rows = _of_class(lambda: Model.nearest_rows, Joint)
    tornado = _of_class(lambda: Model.tornado, Joint)
    sensitivity = _of_class(lambda: Model.sensitivity, Slopes)
    # These ask for the posteriors of all variables that may be asked for, or left out.
    next_question = _of_class(lambda: Model.next_question, All)
    questionnaire = _of_class(lambda: Model.questionnaire, All)
    explanation = _of_class(lambda: Model.explanation, All)
    credible_intervals = _of_classes(lambda: Model.credible_intervals, Joint)
    weighted_samples = _of_classes(lambda: Model.weighted_samples, Samples)

    def sample(
        self,
        n: int,
        evidence: EvidenceLike = None,
        *,
        do: Intervention = None,
        random_state: RandomState = None,
        frame: str | None = None,
        memory_limit: float | None = None,
    ) -> Any:
        """Draw rows of all variables given the evidence; see `BayesianNetwork.sample`.

        By default the table is of the same type (pandas, polars, ...) as X was in fitting.
        """
        frame = self._frame if frame is None else frame
        return self._answering(Sample).sample(
            n,
            evidence,
            do=do,
            random_state=random_state,
            frame=frame,
            memory_limit=memory_limit,
        )

    def plan(
        self,
        targets: Targets | None = None,
        evidence: EvidenceLike | Collection[Any] = None,
        *,
        question: str = "query",
        method: str = "exact",
    ) -> Plan:
        """Return the plan by which a query would be answered, without running it.

        See `BayesianNetwork.plan`. By default `targets` is the class variable, for queries that
        have targets.
        """
        model = self._fitted_model
        known = QUESTIONS.get(question) if isinstance(question, str) else None
        if targets is None and known is not None and known[1]:
            targets = self.target_.name
        plan = model.plan(targets, evidence, question=question, method=method)
        self._answering(QUESTIONS[question][0])
        return plan

    # -------------------------------------------------------------------- pictures and files

    to_dot = late_method(lambda: late_methods.to_dot)
    render = late_method(lambda: late_methods.render)
    to_pgmpy = _forwarded(lambda: Model.to_pgmpy)

    def save(self, path: PathLike, **options: Any) -> LossReport:
        """Save to a file; ``bayesgraph.load`` returns the estimator from the native format.

        An estimator that can learn more rows, for example by `partial_fit`, can do so after
        loading: the file holds its statistics. Deleting the attribute `statistics_` before saving
        (``del clf.statistics_``) makes the file smaller; the loaded model then cannot be updated.

        Parameters
        ----------
        path : str or path
            ``.bayesgraph`` is the native format. Others, such as ``.bif``, hold the network alone.
        **options
            Options of the format; see :func:`bayesgraph.io.save`.

        Returns
        -------
        LossReport
            What the file does not hold.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If nothing was learned yet.
        FileFormatError
            If the suffix is unknown.
        LossyExportError
            If a name, a state or a parameter is of a type that the format does not hold.
        FileNotFoundError
            If there is no such directory.
        """
        check_fitted(self, "network_")
        return late_methods.save(self, path, **options)

    def to_html(self, path: PathLike | None = None, **options: Any) -> str:
        """Return the estimator as one offline page that answers questions exactly, and write it.

        Options are those of :func:`bayesgraph.explorer.page.to_html`; the target is that of the
        estimator.
        """
        check_fitted(self, "network_")
        return late_methods.to_html(self, path, **options)


# Queries that are not listed in the class (the list serves type checkers) are forwarded too.
for _name in QUESTIONS:
    if _name not in vars(ModelQuestions):
        _added = _Forwarded()
        _added.__set_name__(ModelQuestions, _name)
        setattr(ModelQuestions, _name, _added)
