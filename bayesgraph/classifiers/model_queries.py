"""Query methods of fitted estimators, which the fitted network answers."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import wraps
from typing import Any, ClassVar, TypeVar, cast

from bayesgraph.classifiers.validation import check_fitted
from bayesgraph.core.errors import UnsupportedModelError
from bayesgraph.core.files import LossReport
from bayesgraph.core.typing import EvidenceLike, Intervention, PathLike, RandomState, Targets
from bayesgraph.core.upward import Ask, Upward, upward
from bayesgraph.inference import METHODS, Joint, Plan, Sample, Samples, Slopes
from bayesgraph.models import QUESTIONS, Model
from bayesgraph.questions import question

_MethodT = TypeVar("_MethodT", bound=Callable[..., Any])


def forwarded(method: _MethodT) -> _MethodT:
    """Return a method of models as one of estimators, which the fitted network answers."""
    name = method.__name__
    kind = QUESTIONS[name][0] if name in QUESTIONS else None

    @wraps(method)
    def forward(self: ModelQuestions, /, *args: Any, **kwargs: Any) -> Any:
        return getattr(self._answering(kind), name)(*args, **kwargs)

    return cast(_MethodT, forward)


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

    def _encoded(self, X: Any) -> Any:
        """Return rows as the model takes them: unchanged, unless a subclass overrides this."""
        return X

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
        Posterior, NumberMixture or MixedPosterior
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

    marginals = forwarded(Model.marginals)
    most_probable = forwarded(Model.most_probable)
    k_most_probable = forwarded(Model.k_most_probable)
    marginal_map = forwarded(Model.marginal_map)
    query_rows = forwarded(Model.query_rows)
    log_probability = forwarded(Model.log_probability)
    conflict = forwarded(Model.conflict)
    do = forwarded(Model.do)
    d_separated = forwarded(Model.d_separated)
    markov_blanket = forwarded(Model.markov_blanket)
    with_cpd = forwarded(Model.with_cpd)
    without = forwarded(Model.without)
    with_arc = forwarded(Model.with_arc)
    renamed = forwarded(Model.renamed)
    with_states = forwarded(Model.with_states)
    conditioned = forwarded(Model.conditioned)
    marginalised = forwarded(Model.marginalised)
    merged = forwarded(Model.merged)
    expanded = forwarded(Model.expanded)
    annotated = forwarded(Model.annotated)
    sensitivity: Any = question(Slopes)(Model.sensitivity)
    weighted_samples: Any = question(Samples)(Model.weighted_samples)

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

    ask = property(Ask)
    to_dot = Upward()
    render = Upward()
    to_pgmpy = Upward()

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
            Options of the format; see :func:`bayesgraph.files.save`.

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
        return cast("LossReport", upward("save")(self, path, **options))

    def to_html(self, path: PathLike | None = None, **options: Any) -> str:
        """Return the estimator as one offline page that answers questions exactly, and write it.

        Options are those of :func:`bayesgraph.page.page.to_html`; the target is that of the
        estimator.
        """
        check_fitted(self, "network_")
        return str(upward("to_html")(self, path, **options))
