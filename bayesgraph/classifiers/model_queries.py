"""Query methods of fitted estimators, which the fitted network answers."""

from __future__ import annotations

from typing import Any, cast

from bayesgraph.classifiers.intake import check_fitted
from bayesgraph.core.files import LossReport
from bayesgraph.core.typing import EvidenceLike, Intervention, PathLike, Targets
from bayesgraph.core.upward import Ask, Upward, upward
from bayesgraph.models import Model


class ModelQuestions:
    """Mixin that gives estimators the query methods of models; the fitted `network_` answers them.

    Methods that take variables to query have them as their first argument (by default `target_`).
    The next argument is the evidence.
    """

    network_: Any
    target_: Any
    _frame: str | None = None

    @property
    def _fitted_model(self) -> Model:
        check_fitted(self, "network_")
        model: Model = self.network_
        return model

    @property
    def _drawn(self) -> tuple[object, dict[str, Any]]:
        """What `to_dot` and `render` draw: the network, in which the target is highlighted."""
        return self._fitted_model, {"target": self.target_.name}

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
        model = self._fitted_model
        options |= {"do": do, "method": method, "fallback": fallback}
        options["memory_limit"] = memory_limit
        chosen = self.target_.name if targets is None else targets
        return model.query(chosen, self._given(evidence), **options)

    # -------------------------------------------------------------------- pictures and files

    ask = property(Ask)
    render = Upward()

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
