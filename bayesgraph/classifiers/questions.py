"""Every estimator is a model one can question: the model's questions, forwarded in one place."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, ClassVar

from numpy.typing import NDArray

from bayesgraph import upward
from bayesgraph.classifiers.checks import check_fitted
from bayesgraph.errors import EvidenceError, UnsupportedModelError
from bayesgraph.factors.algebra import Floats
from bayesgraph.inference import Assignment, Conflict, Marginals, Plan, Sensitivity
from bayesgraph.inference.contract import (
    METHODS,
    All,
    Best,
    Draw,
    Joint,
    Mass,
    Retractions,
    Sample,
    Samples,
    Slopes,
)
from bayesgraph.inference.weighting import WeightedSamples
from bayesgraph.models.model import KINDS, Model
from bayesgraph.variables import Name, Variable

# Questions that `plan` is asked about with the target of the estimator where none is named.
_OF_TARGET = {"query", "marginal_map", "query_rows", "sensitivity"}


class ModelQuestions:
    """Mixed into estimators: the questions of their fitted `network_`, with its signatures.

    Targets come first and evidence second, as everywhere; without a target the questions that have
    one are about `target_`.
    """

    network_: Any
    target_: Any
    # Questions that the model could answer but the estimator declines, and why.
    _declined: ClassVar[frozenset[type[Any]]] = frozenset()
    _because: ClassVar[str] = ""

    @property
    def _fitted_model(self) -> Model:
        check_fitted(self, "network_")
        model: Model = self.network_
        return model

    def _asked(self, question: type[Any]) -> Model:
        """Return the model that answers a question.

        Raises
        ------
        UnsupportedModelError
            If the estimator declines it.
        """
        model = self._fitted_model
        if question in self._declined:
            raise UnsupportedModelError(
                f"{type(self).__name__} does not answer {METHODS[question]}: {self._because}"
            )
        return model

    def _given(self, evidence: Mapping[Name, Any] | None) -> Mapping[Name, Any] | None:
        """Return evidence as the model takes it.

        Raises
        ------
        EvidenceError
            For the name of a variable in its place; says the right call.
        """
        if isinstance(evidence, (str, Variable)):
            raise EvidenceError(
                f"Evidence is a mapping from name to value; got the name {evidence!r}. For the "
                f"posterior of another variable than {self.target_.name!r}: "
                f"query({evidence!r}, {{...}})."
            )
        return evidence

    def _targets(self, targets: Any) -> Any:
        """Return the targets, by default the estimator's own.

        Raises
        ------
        EvidenceError
            For evidence in their place; says the right call.
        """
        if targets is None:
            return self.target_.name
        if isinstance(targets, Mapping):
            raise EvidenceError(
                f"The targets come first and the evidence second. For {self.target_.name!r} given "
                "this evidence: query(evidence={...}); for another variable: query('name', {...})."
            )
        return targets

    def query(
        self,
        targets: Name | list[Name] | None = None,
        evidence: Mapping[Name, Any] | None = None,
        *,
        method: str = "exact",
        fallback: str | None = None,
        memory_limit: int | None = None,
        **options: Any,
    ) -> Any:
        """Return the posterior of the class (the number to predict), or of any other variables.

        Parameters
        ----------
        targets : name or list of names, optional
            By default the class: ``clf.query(evidence={"age": 63})``.
        evidence : mapping from name to value, optional
            What is not named is not observed.
        method, fallback, memory_limit, **options
            As for :meth:`BayesianNetwork.query`.

        Returns
        -------
        Posterior, GaussianMixture or MixedPosterior
            As the variables are discrete, continuous or both.

        Raises
        ------
        UnknownVariableError, UnknownStateError, EvidenceError
            With what is known and the nearest match.
        ImpossibleEvidenceError
            If the evidence has probability zero.
        sklearn.exceptions.NotFittedError
            If nothing was learned yet.
        """
        return self._asked(Joint).query(
            self._targets(targets),
            self._given(evidence),
            method=method,
            fallback=fallback,
            memory_limit=memory_limit,
            **options,
        )

    def marginals(
        self,
        evidence: Mapping[Name, Any] | None = None,
        *,
        method: str = "exact",
        fallback: str | None = None,
        memory_limit: int | None = None,
        **options: Any,
    ) -> Marginals:
        """Return the posterior of every unobserved variable; see `BayesianNetwork.marginals`."""
        return self._asked(All).marginals(
            self._given(evidence),
            method=method,
            fallback=fallback,
            memory_limit=memory_limit,
            **options,
        )

    def most_probable(
        self,
        evidence: Mapping[Name, Any] | None = None,
        *,
        joint: bool = False,
        memory_limit: int | None = None,
    ) -> Assignment:
        """Return the most probable assignment; see `BayesianNetwork.most_probable`."""
        return self._asked(Best).most_probable(
            self._given(evidence), joint=joint, memory_limit=memory_limit
        )

    def k_most_probable(
        self,
        k: int,
        evidence: Mapping[Name, Any] | None = None,
        *,
        memory_limit: int | None = None,
    ) -> list[Assignment]:
        """Return the k most probable assignments; see `BayesianNetwork.k_most_probable`."""
        return self._asked(Best).k_most_probable(
            k, self._given(evidence), memory_limit=memory_limit
        )

    def marginal_map(
        self,
        targets: list[Name],
        evidence: Mapping[Name, Any] | None = None,
        *,
        memory_limit: int | None = None,
    ) -> Assignment:
        """Return the best assignment of some variables; see `BayesianNetwork.marginal_map`."""
        return self._asked(Best).marginal_map(
            self._targets(targets), self._given(evidence), memory_limit=memory_limit
        )

    def query_rows(self, target: Name, frame: Any) -> Floats:
        """Return the posterior of a variable for each row; see `BayesianNetwork.query_rows`.

        In the columns of `predict_proba` for the class; a value that is not a state is an error
        here, whatever `unseen` says.
        """
        return self._asked(Joint).query_rows(self._targets(target), frame)

    def log_probability(
        self, evidence: Mapping[Name, Any] | None = None, *, memory_limit: int | None = None
    ) -> float:
        """Return the log probability of evidence; see `BayesianNetwork.log_probability`."""
        return self._asked(Mass).log_probability(self._given(evidence), memory_limit=memory_limit)

    def sensitivity(
        self,
        target: Name,
        state: Any,
        evidence: Mapping[Name, Any] | None = None,
        *,
        memory_limit: int | None = None,
    ) -> Sensitivity:
        """Return how a posterior moves with the tables; see `BayesianNetwork.sensitivity`."""
        return self._asked(Slopes).sensitivity(
            self._targets(target), state, self._given(evidence), memory_limit=memory_limit
        )

    def conflict(
        self, evidence: Mapping[Name, Any], *, memory_limit: int | None = None
    ) -> Conflict:
        """Return how well findings go together; see `BayesianNetwork.conflict`."""
        return self._asked(Retractions).conflict(evidence, memory_limit=memory_limit)

    def sample(
        self, n: int, *, given: Mapping[Name, Any] | None = None, random_state: Any = None
    ) -> dict[Name, NDArray[Any]]:
        """Draw rows of all variables; see `BayesianNetwork.sample`."""
        return self._asked(Sample).sample(n, given=given, random_state=random_state)

    def sample_posterior(
        self,
        n: int,
        evidence: Mapping[Name, Any] | None = None,
        *,
        random_state: Any = None,
        memory_limit: int | None = None,
    ) -> dict[Name, NDArray[Any]]:
        """Draw rows of what is not observed; see `BayesianNetwork.sample_posterior`."""
        return self._asked(Draw).sample_posterior(
            n, self._given(evidence), random_state=random_state, memory_limit=memory_limit
        )

    def weighted_samples(
        self,
        targets: Name | list[Name] | None = None,
        evidence: Mapping[Name, Any] | None = None,
        *,
        n_samples: int = 100_000,
        standard_error: float | None = None,
        random_state: Any = None,
    ) -> WeightedSamples:
        """Draw weighted samples; see `BayesianNetwork.weighted_samples`."""
        return self._asked(Samples).weighted_samples(
            self._targets(targets),
            self._given(evidence),
            n_samples=n_samples,
            standard_error=standard_error,
            random_state=random_state,
        )

    def plan(
        self,
        targets: Name | list[Name] | None = None,
        evidence: Mapping[Name, Any] | Collection[Name] | None = None,
        *,
        question: str = "query",
        method: str = "exact",
    ) -> Plan:
        """Return what would run to answer a question; see `BayesianNetwork.plan`."""
        model = self._fitted_model
        if targets is None and isinstance(question, str) and question in _OF_TARGET:
            targets = self.target_.name
        plan = model.plan(targets, evidence, question=question, method=method)
        self._asked(KINDS[question])
        return plan

    # -------------------------------------------------------------------- pictures and files

    def to_dot(self, **options: Any) -> str:
        """Return the graph in Graphviz' DOT language, the target highlighted."""
        return self._fitted_model.to_dot(**{"target": self.target_.name, **options})

    def to_graphviz(self, **options: Any) -> Any:
        """Return the graph as a ``graphviz.Source``, the target highlighted."""
        return self._fitted_model.to_graphviz(**{"target": self.target_.name, **options})

    def render(self, path: Any, **options: Any) -> None:
        """Draw the graph to an SVG, PNG or PDF file, the target highlighted."""
        self._fitted_model.render(path, **{"target": self.target_.name, **options})

    def to_pgmpy(self) -> Any:
        """Return the model as a pgmpy object; see `BayesianNetwork.to_pgmpy`."""
        return self._fitted_model.to_pgmpy()

    def save(self, path: Any, **options: Any) -> None:
        """Save to a file; of the native format ``bayesgraph.load`` returns the estimator.

        An estimator that learns more rows, by `partial_fit` say, goes on after loading: what it
        needs for that is in the file. Where this is `statistics_`, deleting it before
        (``del clf.statistics_``) makes a smaller file of a model that stays as it is.

        Parameters
        ----------
        path : str or path
            ``.bayesgraph`` is the native format. Others, such as ``.bif``, hold the network alone.
        **options
            Of the format; see :func:`bayesgraph.io.save`.

        Raises
        ------
        sklearn.exceptions.NotFittedError
            If nothing was learned yet.
        FileFormatError
            For a suffix that is not known.
        LossyExportError
            For a name, a state or a parameter of a type that the format does not hold.
        FileNotFoundError
            If there is no such directory.
        """
        check_fitted(self, "network_")
        upward.call("save", self, path, **options)
