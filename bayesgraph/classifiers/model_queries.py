"""Query methods of fitted estimators, which the fitted network answers."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import wraps
from typing import TYPE_CHECKING, Any, ClassVar, Concatenate, Literal, ParamSpec, TypeVar

from bayesgraph import late_methods
from bayesgraph.classifiers.validation import check_fitted
from bayesgraph.errors import DataError, UnsupportedModelError
from bayesgraph.inference import Plan
from bayesgraph.inference.contract import METHODS, All, Joint, Sample, Samples
from bayesgraph.inference.weighting import WeightedSamples
from bayesgraph.models.model import QUESTIONS, Model
from bayesgraph.typing import (
    EvidenceLike,
    Intervention,
    PathLike,
    RandomState,
    TableLike,
    Targets,
)
from bayesgraph.variables import Name, State

if TYPE_CHECKING:
    from bayesgraph.asking import NextQuestion, NextQuestions, Questionnaire
    from bayesgraph.explain import Explanation
    from bayesgraph.what_if import Flip, NearestRows, Tornado

_P = ParamSpec("_P")
_R = TypeVar("_R")
_DRAWINGS = ("to_dot", "to_graphviz", "render")


def _forwarded(
    method: Callable[Concatenate[Model, _P], _R],
) -> Callable[Concatenate[ModelQuestions, _P], _R]:
    """Return an estimator method that calls `method`, a method of models, on the fitted network.

    It has the signature and the docstring of `method`. Methods that draw the graph highlight the
    target of the estimator.
    """
    name = method.__name__

    @wraps(method)
    def forward(self: ModelQuestions, /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        model = self._answering(QUESTIONS[name][0]) if name in QUESTIONS else self._fitted_model
        if name in _DRAWINGS:
            kwargs.setdefault("target", self.target_.name)
        answer: _R = getattr(model, name)(*args, **kwargs)
        return answer

    return forward


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

    def _answering(self, question: type[Any]) -> Model:
        """Return the fitted model, after checking that the estimator answers a type of query.

        Parameters
        ----------
        question : type
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

    def credible_intervals(
        self,
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
    ) -> Any:
        """Return credible intervals of the class or of other variables given the evidence.

        See `BayesianNetwork.credible_intervals`. For those of all variables ask `network_`.
        """
        return self._answering(Joint).credible_intervals(
            self.target_.name if targets is None else targets,
            self._given(evidence),
            do=do,
            coverage=coverage,
            method=method,
            draws=draws,
            min_rows=min_rows,
            random_state=random_state,
            memory_limit=memory_limit,
        )

    marginals = _forwarded(Model.marginals)
    most_probable = _forwarded(Model.most_probable)
    k_most_probable = _forwarded(Model.k_most_probable)
    marginal_map = _forwarded(Model.marginal_map)
    query_rows = _forwarded(Model.query_rows)
    log_probability = _forwarded(Model.log_probability)
    sensitivity = _forwarded(Model.sensitivity)
    conflict = _forwarded(Model.conflict)
    do = _forwarded(Model.do)
    effect = _forwarded(Model.effect)
    causal_graph = _forwarded(Model.causal_graph)
    with_cpd = _forwarded(Model.with_cpd)
    without = _forwarded(Model.without)
    with_arc = _forwarded(Model.with_arc)
    renamed = _forwarded(Model.renamed)
    with_states = _forwarded(Model.with_states)
    conditioned = _forwarded(Model.conditioned)
    marginalised = _forwarded(Model.marginalised)
    merged = _forwarded(Model.merged)
    expanded = _forwarded(Model.expanded)

    most_relevant = _forwarded(Model.most_relevant)

    def flip(
        self,
        target: Name | None = None,
        evidence: EvidenceLike = None,
        to: State | None = None,
        **options: Any,
    ) -> Flip:
        """Return the smallest change of findings that turns the answer; see `BayesianNetwork.flip`.

        By default the target is the class: ``clf.flip(evidence={"age": 63})``.
        """
        chosen = self.target_.name if target is None else target
        return self._answering(Joint).flip(chosen, self._given(evidence), to, **options)

    def nearest_rows(
        self,
        target: Name | None = None,
        evidence: EvidenceLike = None,
        table: TableLike | None = None,
        to: State | None = None,
        **options: Any,
    ) -> NearestRows:
        """Return the nearest rows with another answer; see `BayesianNetwork.nearest_rows`.

        By default the target is the class.
        """
        if table is None:
            raise DataError("table= is needed: the rows among which to look.")
        chosen = self.target_.name if target is None else target
        model = self._answering(Joint)
        return model.nearest_rows(chosen, self._given(evidence), table, to, **options)

    def tornado(
        self,
        target: Name | None = None,
        state: State | None = None,
        evidence: EvidenceLike = None,
        **options: Any,
    ) -> Tornado:
        """Return how far a probability moves; see `BayesianNetwork.tornado`.

        By default the target is the class, and the state its most probable one.
        """
        model = self._answering(Joint)
        chosen, given = self.target_.name if target is None else target, self._given(evidence)
        if state is None:
            state = model.query(chosen, given).argmax
        return model.tornado(chosen, state, given, **options)

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

    def weighted_samples(
        self,
        targets: Targets | None = None,
        evidence: EvidenceLike = None,
        *,
        do: Intervention = None,
        n: int = 100_000,
        standard_error: float | None = None,
        random_state: RandomState = None,
    ) -> WeightedSamples:
        """Draw weighted samples of the target or of other variables given the evidence.

        See `BayesianNetwork.weighted_samples`.
        """
        model = self._answering(Samples)
        chosen = self.target_.name if targets is None else targets
        return model.weighted_samples(
            chosen, evidence, do=do, n=n, standard_error=standard_error, random_state=random_state
        )

    def next_question(
        self, target: Name | None = None, evidence: EvidenceLike = None, **options: Any
    ) -> NextQuestion:
        """Return the variables to ask for next; see :meth:`BayesianNetwork.next_question`.

        By default the target is the class: ``clf.next_question(evidence={"age": 63})``.
        """
        model = self._answering(All)  # of the posteriors of all that may be asked for
        chosen = self.target_.name if target is None else target
        return model.next_question(chosen, evidence, **options)

    def next_question_rows(self, target: Name, table: TableLike, **options: Any) -> NextQuestions:
        """Return the variables to ask for next, for each row of a table.

        See :meth:`BayesianNetwork.next_question_rows`.
        """
        return self._answering(All).next_question_rows(target, table, **options)

    def questionnaire(
        self, target: Name | None = None, evidence: EvidenceLike = None, **options: Any
    ) -> Questionnaire:
        """Return a session of questions, by default about the class.

        See :meth:`BayesianNetwork.questionnaire`.
        """
        model = self._answering(All)  # of the posteriors of all that may be asked for
        chosen = self.target_.name if target is None else target
        return model.questionnaire(chosen, evidence, **options)

    def explanation(
        self, target: Name | None = None, evidence: EvidenceLike = None, **options: Any
    ) -> Explanation:
        """Return why a posterior is as it is, in sentences; by default that of the class.

        See :meth:`BayesianNetwork.explanation`.
        """
        model = self._answering(All)  # findings are left out one by one
        chosen = self.target_.name if target is None else target
        return model.explanation(chosen, evidence, **options)

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

    to_dot = _forwarded(Model.to_dot)
    to_graphviz = _forwarded(Model.to_graphviz)
    render = _forwarded(Model.render)
    to_pgmpy = _forwarded(Model.to_pgmpy)

    def save(self, path: PathLike, **options: Any) -> None:
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
        late_methods.call("save", self, path, **options)

    def to_html(self, path: PathLike | None = None, **options: Any) -> str:
        """Return the estimator as one offline page that answers questions exactly, and write it.

        Options are those of :func:`bayesgraph.explorer.page.to_html`; the target is that of the
        estimator.
        """
        check_fitted(self, "network_")
        return str(late_methods.call("to_html", self, path, **options))


# Queries that are not listed in the class (the list serves type checkers) are forwarded too.
for _name in QUESTIONS:
    if not hasattr(ModelQuestions, _name):
        setattr(ModelQuestions, _name, _forwarded(getattr(Model, _name)))
