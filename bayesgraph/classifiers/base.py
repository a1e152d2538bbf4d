"""Base class of all classifiers: scikit-learn's prediction methods for a fitted network."""

from __future__ import annotations

import inspect
import re
import textwrap
import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, fields
from functools import cache, partial, wraps
from typing import Any, ClassVar, Concatenate, ParamSpec, Self, TypeVar, cast, dataclass_transform

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesgraph.classifiers.discretizers import DISCRETIZERS, Discretizer
from bayesgraph.classifiers.evaluation import conformalize, prediction_sets
from bayesgraph.classifiers.intake import apart, check_fitted, known_columns, row_evidence
from bayesgraph.classifiers.rows import Layout, encoded_chunks, joined, known_table, warn_of_empty
from bayesgraph.classifiers.scikit_learn import BaseEstimator, ClassifierMixin, available_if
from bayesgraph.core.arrays import Floats, check_flags, check_share
from bayesgraph.core.errors import DataError, quoted
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.files import LossReport
from bayesgraph.core.parallel import in_order, one_blas_thread
from bayesgraph.core.typing import EvidenceLike, Intervention, PathLike, Targets
from bayesgraph.core.upward import Ask, Upward, upward
from bayesgraph.core.variables import Discrete, MissingIndicator, Name, State, Variable
from bayesgraph.inference import Posterior, largest, log_normalised, normalised
from bayesgraph.learning import LEARNERS, changed_settings
from bayesgraph.models import (
    FAMILIES,
    BayesianNetwork,
    LeafFamily,
    Model,
    as_mapping,
    warn_of_impossible,
)
from bayesgraph.questions import (
    Contrast,
    Contributions,
    DecisionRule,
    Shapes,
    contributions,
    shapes,
    together,
)
from bayesgraph.statistics import Samples, Smoothing, as_smoothing
from bayesgraph.tables import Training, TrainingRows

# ---------------------------- Query methods of fitted estimators, which the fitted network answers


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
        answer = model.query(chosen, self._given(evidence), **options)
        # Keys of the evidence are variables or their names.
        observed = {getattr(key, "name", key) for key in as_mapping(evidence)}
        # Pairs of indices, of a variable and its missing indicator: if neither is observed, the
        # answer sums over whether the value is missing, and its note says so.
        left_open = [
            model.names[index]
            for index, indicator in model._indicators
            if not observed & {model.names[index], model.names[indicator]}
        ]
        if observed and left_open and isinstance(answer, Posterior):
            answer.note = (
                f"left open: whether {quoted(left_open)} is missing (None says that it is)"
            )
        return answer

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

    def to_html(self, path: PathLike | None = None, **options: Any) -> str | None:
        """Write the estimator as one offline page that answers questions exactly.

        Without a path the page is returned as text.

        Options are those of :func:`bayesgraph.page.page.to_html`; the target is that of the
        estimator.
        """
        check_fitted(self, "network_")
        return cast("str | None", upward("to_html")(self, path, **options))


# ----------------- Updates of a classifier: one after the other, and each as a whole or not at all


ClassifierT = TypeVar("ClassifierT", bound="Updated")
P = ParamSpec("P")
T = TypeVar("T")


class Updated:
    """Mixin of classifiers that more rows may change, in several threads at the same time."""

    @property
    def _lock(self) -> threading.RLock:
        # Made by the first update, because scikit-learn's `__init__` takes parameters alone. Of
        # locks that several threads make, `setdefault` keeps one.
        lock: threading.RLock | None = vars(self).get("_held")
        return lock or vars(self).setdefault("_held", threading.RLock())

    def __getstate__(self) -> dict[str, Any]:
        # Copies and pickles have a lock of their own.
        state: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]
        return {name: value for name, value in state.items() if name != "_held"}

    def _as_it_is(self) -> Self:
        """Return another object with the attributes of now, which an update will not change."""
        copied = object.__new__(type(self))
        copied.__dict__ = vars(self).copy()
        return copied


def one_at_a_time(
    method: Callable[Concatenate[ClassifierT, P], T],
) -> Callable[Concatenate[ClassifierT, P], T]:
    """Make a method update a classifier as a whole, after the updates that others have begun.

    It runs on another object, whose attributes the classifier gets at the end: an error or an
    interruption leaves the model that was there, which other threads use meanwhile.
    """

    @wraps(method)
    def locked(self: ClassifierT, /, *args: P.args, **kwargs: P.kwargs) -> T:
        with self._lock:
            updated = self._as_it_is()
            # Parameters that are booleans; see `estimator`.
            check_flags(**{name: getattr(self, name) for name in cast(Any, self)._flags})
            result = method(updated, *args, **kwargs)
            # One assignment: other threads see the model of before or the updated one.
            self.__dict__ = vars(updated)
        # A method that returns `self` has returned the copy.
        return cast(T, self) if result is updated else result

    return locked


# -------------- Parameters of estimators: generated constructors and docstrings, and the smoothing


EstimatorT = TypeVar("EstimatorT", bound=type)

# The values of a Smoothing, and those that matter to tables.
SMOOTHING = tuple(f.name for f in fields(Smoothing))
OF_TABLES = ("alpha", "estimation", "scheme", "strength")


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def estimator(cls: EstimatorT) -> EstimatorT:
    """Generate the `__init__` of an estimator class from its annotations and those of its bases.

    In the docstring of the class, ``{parameters}`` and ``{attributes}`` are replaced by the entries
    of its bases; ``{families}``, ``{learners}`` and ``{discretizers}`` by lists of these names.
    """
    # The class itself, to which `dataclass` adds the constructor.
    made: Any = dataclass(kw_only=True, eq=False, repr=False)(cls)
    made._flags = [f.name for f in fields(made) if isinstance(f.default, bool)]
    docs_of_bases = [base.__doc__ or "" for base in reversed(made.__mro__[1:])]
    # Parameters that the class does not declare itself: its own docstring has the others.
    inherited = inspect.signature(made).parameters.keys() - inspect.get_annotations(made)
    entries = [entry for doc in docs_of_bases for entry in _entries(doc, "Parameters")]
    parameters = "".join(text for name, text in entries if name in inherited)
    attributes = "".join(text for doc in docs_of_bases for _, text in _entries(doc, "Attributes"))
    # The entry of `network_` names the class of the network.
    attributes = attributes.replace("BayesianNetwork", made._model_name)
    doc = (made.__doc__ or "").replace("    {parameters}\n", parameters)
    doc = doc.replace("    {attributes}\n", attributes)
    doc = doc.replace("        {families}\n", "".join(map(_bullet, FAMILIES.values())))
    listed: dict[str, Collection[str]] = {"learners": LEARNERS, "discretizers": DISCRETIZERS}
    for kind, choices in listed.items():
        names = ", ".join(f'"{name}"' for name in sorted(choices))
        text = _indented(f"Named ones are {names}.", 8)
        doc = doc.replace(f"        {{{kind}}}\n", text)
    made.__doc__ = doc
    return cls


def _bullet(family: LeafFamily) -> str:
    """Return a family as a list item of the docstring of the parameter `distributions`."""
    stored = "; keeps the distinct values of the column" if family.statistics is Samples else ""
    text = f'* "{family.name}": {family.summary}{stored}.'
    return _indented(text, 10)


def _indented(text: str, below: int) -> str:
    """Return wrapped text: the first line indented by 8 blanks, later lines by `below` blanks."""
    return textwrap.fill(text, 100, initial_indent=" " * 8, subsequent_indent=" " * below) + "\n"


def _entries(doc: str, section: str) -> Iterator[tuple[str, str]]:
    """Yield (name, text) for each entry in a section, such as "Parameters", of a docstring.

    The text includes the line of the name. An entry of several names is yielded under its first
    name.
    """
    _, _, after = doc.partition(f"\n    {section}\n    {'-' * len(section)}\n")
    text = after.partition("\n\n")[0] + "\n"  # a section ends at an empty line
    # A line of the name, indented by 4 blanks, and the lines of the text, indented by 8.
    for entry in re.finditer(r"    (\w+).*\n(?: {8}.*\n)*", text):
        yield entry[1], entry[0]


def _has_density(classifier: Any) -> bool:
    """Tell whether rows have a density, as far as is known before a fit."""
    model = getattr(classifier, "network_", None)
    # A weighted network has a target: it is a posterior alone. A factor graph of negative powers
    # has no sum over all rows, and declines queries that need one.
    return model is None or (model._is_joint and model.target is None and not model._declined)


class Smoothed:
    """Mixin of estimators with the parameter `smoothing`: a name, a number or a Smoothing."""

    smoothing: Any
    # Names of the Smoothing values that the estimator uses.
    _reads: ClassVar[Collection[str]] = SMOOTHING
    # Fitted attributes that files hold in addition to those that all estimators have.
    _fitted: ClassVar[Collection[str]] = ()
    # Name of the class of `network_`, for the docstring.
    _model_name: ClassVar[str] = "BayesianNetwork"

    def _smoothing(self) -> Smoothing:
        """Return the parameter `smoothing` as a Smoothing.

        Raises
        ------
        DataError
            If the Smoothing changes an attribute that this estimator does not use.
        """
        smoothing = as_smoothing(self.smoothing)
        read = self._read()
        ignored = {n: v for n, v in smoothing.changed().items() if n not in read}
        if ignored:
            raise DataError(
                f"{type(self).__name__} reads {quoted(read)} of a smoothing, and would ignore "
                f"{ignored}; leave that out."
            )
        return smoothing

    def _read(self) -> Collection[str]:
        """Return the names of the Smoothing attributes that the estimator uses."""
        return self._reads

    def _check_alpha(self, smoothing: Smoothing, target: Discrete, *, numbers: bool) -> None:
        """Raise a DataError unless `alpha` concerns the class alone, the only smoothed variable.

        `numbers` says whether a number, instead of a mapping from the class, is allowed too.
        """
        alpha = smoothing.alpha
        is_wrong = not numbers and "alpha" in smoothing.changed()
        if isinstance(alpha, Mapping):
            is_wrong = not alpha.keys() <= {target.name}
        if is_wrong:
            form = "takes a number or" if numbers else "takes"
            raise DataError(
                f"{type(self).__name__} smooths {target.name!r} alone: alpha {form} a mapping such "
                f"as {{{target.name!r}: 1.0}}; got {alpha!r}."
            )

    def set_params(self, **params: Any) -> Self:
        """Set parameters as in scikit-learn; values of the smoothing as ``smoothing__alpha``."""
        direct = {n: v for n, v in params.items() if not n.startswith("smoothing__")}
        super().set_params(**direct)  # type: ignore[misc]
        if new := {n.removeprefix("smoothing__"): v for n, v in params.items() if n not in direct}:
            self.smoothing = as_smoothing(self.smoothing).set_params(**new)
        return self


def training_of(estimator: Any, rows: TrainingRows | None) -> Training:
    """Return a note of what an estimator was fitted on: rows, columns and changed parameters."""
    settings = changed_settings(type(estimator), estimator.get_params(deep=False))
    # The features and the class.
    n_columns = len(estimator.layout_.columns) + 1
    return Training(type(estimator).__name__, n_columns, rows, settings)


# ----------- Base class of all classifiers: scikit-learn's prediction methods for a fitted network


class GraphClassifier(Smoothed, Updated, ModelQuestions, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Base class of all classifiers: predictions and explanations by a fitted network.

    Subclasses define `fit`, which sets the attributes `network_`, `classes_` and so on.
    """

    classes_: NDArray[Any]
    network_: BayesianNetwork
    target_: Discrete
    features_: tuple[Variable, ...]
    layout_: Layout
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    # Defaults of parameters that only some subclasses declare.
    class_weight: Mapping[Any, float] | str | None = None
    categorical: Collection[Name] | str | None = None
    discretizer: Discretizer | Mapping[Name, ArrayLike] | str | None = None
    items: ArrayLike | None = None
    unseen: str = "warn"
    # Where numbers far outside are collected by who predicts a table in runs; None: a warning.
    _far: dict[Variable, float] | None = None

    @classmethod
    @cache
    def _get_param_names(cls) -> list[str]:
        # Each fit notes its parameters; to find their names takes as long as to estimate.
        names: list[str] = super()._get_param_names()
        return names

    @property
    def _takes_sparse(self) -> bool:
        return False

    # ------------------------------------------------------------------------------- prediction

    def _evidence(self, X: Any) -> Iterator[tuple[slice, int, Evidence]]:
        """Yield X in chunks: (slice of the rows, total number of rows, evidence of the chunk)."""
        check_fitted(self, "network_")
        columns = known_columns(self, X, self.layout_.columns, sparse=self._takes_sparse)
        encode = partial(known_table, layout=self.layout_, variables=self.features_)
        # Indicators of columns that are missing in all rows so far.
        empty = [v for v in self.features_ if isinstance(v, MissingIndicator)]
        expected = self.network_._expected
        # Numbers far outside of what the model expects, the last one of each variable.
        far: dict[Variable, float] = {} if self._far is None else self._far
        for rows, n_rows, table in encoded_chunks(columns, self.unseen, encode):
            # The state of code 1 is "yes, missing".
            empty = [v for v in empty if table.column(v).all()]
            if expected.place:
                far |= expected.far(table.continuous, table.values)
            # In the last chunk, so that each warning comes once for all rows.
            if rows.stop == n_rows:
                warn_of_empty(empty, n_rows)
                if self._far is None:
                    expected.warn_of(far)
            yield rows, n_rows, table.evidence()

    def _scores(self, evidence: Evidence) -> tuple[Floats, int]:
        """Return log P(class, row) up to a constant per row, and the number of impossible rows.

        The scores have the shape (n_rows, n_classes); a row is impossible if it has probability
        zero.
        """
        return self.network_._rows_with_prior(self.target_, evidence)

    def _scored_chunks(self, X: Any) -> Iterator[tuple[slice, int, Floats, int]]:
        """Yield (slice of the rows, total number of rows, log scores, number of impossible rows).

        Each item is one chunk of X. The log scores, shape (n_chunk_rows, n_classes), are log
        P(class, row) up to a constant per row.
        """

        def scored(part: tuple[slice, int, Evidence]) -> tuple[slice, int, Floats, int]:
            """Return the scores of one chunk, computed in a thread of its own."""
            rows, n_rows, evidence = part
            # Several chunks have a thread each: each with several threads of BLAS, there would be
            # too many. A single chunk keeps them.
            with nullcontext() if evidence.n_rows == n_rows else one_blas_thread():
                return rows, n_rows, *self._scores(evidence)

        yield from in_order(scored, self._evidence(X))

    def _by_rows(self, X: Any, finish: Callable[[Floats], NDArray[Any]]) -> NDArray[Any]:
        """Apply a function to the log scores of all rows, chunk by chunk, and join the results.

        Parameters
        ----------
        X : table
        finish : callable
            From log P(class, row) up to a constant per row, shape (n_rows, n_classes), to one
            result for each row, such as the normalised probabilities.
        """
        result, impossible = self._counted_rows(X, finish)
        warn_of_impossible(impossible, len(result), self.target_)
        return result

    def _counted_rows(
        self, X: Any, finish: Callable[[Floats], NDArray[Any]]
    ) -> tuple[NDArray[Any], int]:
        """Return the results of `_by_rows` without a warning, and the number of impossible rows."""
        return joined(self._as_it_is()._scored_chunks(X), finish)

    def predict_log_proba(self, X: Any) -> Floats:
        """Return natural logs of the class probabilities, shape (n_rows, n_classes).

        Missing values and unseen categories are marginalised. Rows to which the model gives
        probability zero get the prior, with one warning that counts these rows.
        """
        return self._by_rows(X, log_normalised)

    def predict_proba(self, X: Any) -> Floats:
        """Return class probabilities, shape (n_rows, n_classes); see predict_log_proba."""
        return self._by_rows(X, normalised)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class (the first of ties) of each row, shape (n_rows,)."""
        fitted = self._as_it_is()
        codes = fitted._by_rows(X, largest)
        return np.asarray(fitted.classes_[codes])

    def decide(
        self,
        X: Any,
        *,
        losses: Any = None,
        abstain: float | None = None,
        min_probability: float | None = None,
        abstained: Any = None,
    ) -> NDArray[Any]:
        """Return the class of least expected loss of each row; doubtful rows may get no decision.

        Without options it is the most probable class, as in `predict`. Decisions need calibrated
        probabilities: check the calibration by `bayesgraph.evaluate`.

        Parameters
        ----------
        X : as for `predict`
        losses : array_like, shape (n_classes, n_classes), or mapping, optional
            Matrix with true classes as rows and decided classes as columns, both in the order of
            `classes_`; or a mapping from (true class, decided class) to loss, in which pairs that
            are not named lose 0 if the decision is correct and 1 if not. Negative losses are gains.
        abstain : float, optional
            Loss of abstaining: rows whose least expected loss is higher get no decision (Chow
            1970). Without `losses`, 0.1 means no decision for rows in which every class has a
            probability below 0.9.
        min_probability : float, optional
            Rows get no decision if the class to decide has a smaller probability.
        abstained : label, optional
            Value for rows without a decision; None by default.

        Returns
        -------
        ndarray, shape (n_rows,)
            Of dtype object if rows may have no decision, unless `abstained` is a number or a text
            like the classes.

        Raises
        ------
        DataError
            If losses have a wrong shape or are not finite, or if `min_probability` is outside
            [0, 1].
        UnknownStateError
            If a loss is of an unknown class.

        Examples
        --------
        >>> import bayesgraph as bg
        >>> from sklearn.datasets import load_breast_cancer
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> clf = bg.NaiveBayesClassifier().fit(X[:, :5], y)
        >>> overlooked, false_alarm = (0, 1), (1, 0)  # class 0 is malignant
        >>> clf.predict(X[12:18, :5]).tolist()
        [0, 0, 1, 0, 0, 0]
        >>> clf.decide(X[12:18, :5], losses={overlooked: 10, false_alarm: 1}).tolist()
        [0, 0, 0, 0, 0, 0]
        >>> clf.decide(X[12:18, :5], abstain=0.1).tolist()
        [0, 0, None, None, None, 0]
        """
        check_fitted(self, "network_")
        fitted = self._as_it_is()
        rule = DecisionRule(fitted.classes_, losses, abstain, min_probability)
        return rule.labels(fitted.classes_, fitted.predict_proba(X), abstained)

    def conformalize(self, X: Any, y: Any, *, cv: Any = None, by_class: bool = False) -> Self:
        """Calibrate the sets of `predict_set` by rows with known classes.

        Parameters
        ----------
        X : as for `predict`
        y : array_like, shape (n_rows,)
            The classes of the rows.
        cv : int or splitter, optional
            None for rows that the classifier was *not* fitted on: split conformal prediction. A
            number of folds, such as 10, for those that it was fitted on: cross-conformal
            prediction, which fits a copy of the classifier to the rows outside each fold, all of
            which count alike.
        by_class : bool
            Whether to calibrate each class by its own rows, so that the sets have their coverage
            among the rows of each class; it takes more rows.

        Returns
        -------
        self
            With the calibration as `calibration_`, which files do not keep, and which no longer
            serves once the classifier has learned more rows.

        Raises
        ------
        DataError
            For a class that was not fitted, or an invalid `cv`.

        Examples
        --------
        >>> import bayesgraph as bg
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = bg.NaiveBayesClassifier().fit(X, y).conformalize(X, y, cv=10)
        >>> clf.predict_set(X[[0, 77, 133]], coverage=0.98).astype(int)
        array([[1, 0, 0],
               [0, 1, 1],
               [0, 1, 1]])
        """
        check_fitted(self, "network_")
        check_flags(by_class=by_class)
        self.calibration_ = conformalize(self, X, y, cv=cv, by_class=by_class)
        return self

    def predict_set(self, X: Any, coverage: float = 0.9) -> NDArray[np.bool_]:
        """Return the set of classes of each row that holds the true one with some probability.

        The classifier has to be calibrated by `conformalize`. Of rows that are exchangeable with
        those of the calibration, at least the share `coverage` has its class in its set, on average
        over calibrations, whatever the model: split conformal prediction guarantees it, and
        cross-conformal prediction the share ``2 coverage - 1``, and reaches `coverage` in practice.

        Parameters
        ----------
        X : as for `predict`
        coverage : float
            Between 0 and 1. With n calibration rows (of a class, if it is calibrated by itself),
            sets of a coverage above n / (n + 1) have all classes.

        Returns
        -------
        ndarray of bool, shape (n_rows, n_classes)
            Columns in the order of `classes_`. The most probable class is always in the set.

        Raises
        ------
        DataError
            If the classifier is not calibrated, or has learned since.
        """
        check_fitted(self, "network_")
        check_share("coverage", coverage)
        calibration = vars(self).get("calibration_")
        return prediction_sets(self, calibration, X, coverage)

    def contributions(
        self,
        target: Name | None = None,
        evidence: Any = None,
        *,
        positive: State | None = None,
        negative: State | None = None,
        do: Intervention = None,
    ) -> Contributions:
        """Decompose the log odds of the class into the prior log odds and a term per feature.

        Parameters
        ----------
        target : name, optional
            By default the class: ``clf.contributions(evidence={"age": 63})``.
        evidence : mapping from name to value, list or array of values, or table of one row
            Features that are not named, or missing, are not observed; those of a mapping may lie
            in an interval, :class:`Between`.
        positive, negative : state, optional
            Classes to compare, as for `log_odds`.
        do : mapping from name to value, optional
            Features that are set from outside; see :meth:`BayesianNetwork.contributions`.

        Returns
        -------
        Contributions
            A mapping from each feature (for counts of words, from each word) to its term, with
            `prior` and `total`; see :meth:`BayesianNetwork.contributions` for its meaning.

        Raises
        ------
        ImpossibleEvidenceError
            If the row is impossible under both compared classes, so that there are no odds.
        """
        model = self._fitted_model
        name = self.target_.name if target is None else target
        named = self._given(row_evidence(self, evidence))
        return contributions(model, name, named, positive=positive, negative=negative, do=do)

    def shapes(self, X: Any = None, *, positive: Any = None, negative: Any = None) -> Shapes:
        """Return the effect of each feature, and of each pair of features, on the log odds.

        If the network consists of tables, and each feature has the class and at most three other
        features as parents, then the log odds of a row without missing values are the intercept
        plus one term of each feature, of each arc between features, and, where a feature has
        several other parents, of three or four features: these are the shapes. Other models, such
        as an average with random trees, take rows, over which their log odds are averaged with one
        or two features set to a value (partial dependence).

        Parameters
        ----------
        X : as for `predict`, optional
            Rows for models that are no sum of terms; at most 400 of them are used.
        positive, negative : label, optional
            Classes to compare, as for `log_odds`. Of more than two classes, each is by default
            compared with the geometric mean of all.

        Returns
        -------
        Shapes
            A mapping from the name of a feature, or a tuple of names, to a `Shape`;
            `bayesgraph.plot` draws it.

        Raises
        ------
        UnsupportedModelError
            If the log odds are no sum of terms and `X` is not given.
        DataError
            If a state is impossible in a class, so that log odds are infinite.

        Examples
        --------
        >>> import bayesgraph as bg
        >>> from sklearn.datasets import load_breast_cancer
        >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
        >>> clf = bg.NaiveBayesClassifier(discretizer="mdlp").fit(X.iloc[:, :2], y)
        >>> clf.shapes()
        Shapes of target: mean absolute effect on the log odds
          'mean radius'   2.3445  ████████████████████████
          'mean texture'  1.0531  ███████████
        """
        model = self._fitted_model
        rows = None if X is None else self._encoded(X)
        return shapes(model, self.target_, rows, positive=positive, negative=negative)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy of `predict`; y may be the name of a column, as in `fit`."""
        return float(super().score(*apart(X, y), sample_weight))

    def _encoded(self, X: Any) -> Evidence:
        """Return all rows of X as evidence."""
        return together([part for _, _, part in self._evidence(X)])

    @available_if(_has_density)  # type: ignore[untyped-decorator]
    def score_samples(self, X: Any) -> Floats:
        """Return log p(x) of the observed features x of each row, in nats, shape (n_rows,)."""
        model = self._fitted_model
        parts = [model._log_evidence_rows(part) for _, _, part in self._evidence(X)]
        return np.concatenate(parts)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = not self._takes_sparse
        tags.input_tags.sparse = self._takes_sparse
        return tags


def log_odds(classifier: Any, X: Any, *, positive: Any = None, negative: Any = None) -> Floats:
    """Return the log odds of a class against another class, in nats, for each row.

    Parameters
    ----------
    classifier : fitted
    X : as for `predict`
    positive : label, optional
        Class in the numerator of the odds; by default the second of two classes.
    negative : label, optional
        Class in the denominator; by default all other classes together.

    Returns
    -------
    ndarray, shape (n_rows,)
        Rows to which the model gives probability zero have the log odds of the prior, with one
        warning that counts these rows. NaN if only the compared classes are impossible.
    """
    check_fitted(classifier, "network_")
    # A callable, from the log scores of rows to their log odds.
    contrast = Contrast.of(classifier.target_, positive, negative)
    odds: Floats = classifier._by_rows(X, contrast)
    return odds


def fit_batches(estimator: Any, batches: Iterable[Any], classes: ArrayLike | None = None) -> Any:
    """Fit an estimator on batches of rows in turn, such as the parts of a file beyond memory.

    Parameters
    ----------
    estimator : one that has `partial_fit`
    batches : iterable of (X, y) or (X, y, sample_weight)
    classes : array_like, optional
        Classes that the first batches may lack.

    Returns
    -------
    estimator
    """
    return estimator._fit_batches(batches, classes)
