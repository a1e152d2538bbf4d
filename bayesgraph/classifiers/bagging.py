"""Ensembles: the averaged posteriors of classifiers fitted to random rows and columns."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.random import sample_without_replacement
from sklearn.utils.validation import check_is_fitted

from bayesgraph.classifiers.checks import check_fitted
from bayesgraph.classifiers.deciding import Deciding
from bayesgraph.classifiers.inputs import (
    Columns,
    fit_columns,
    fit_table,
    known_columns,
    target_column,
    target_name,
)
from bayesgraph.classifiers.labels import class_codes, joined_classes
from bayesgraph.classifiers.layout import family_by_column, make_layout
from bayesgraph.classifiers.network_classifiers import NaiveBayesClassifier
from bayesgraph.classifiers.prediction import GraphClassifier
from bayesgraph.classifiers.questions import ModelQuestions
from bayesgraph.encoding.columns import Column
from bayesgraph.encoding.table import categorical_names
from bayesgraph.errors import BayesGraphWarning, DataError, DataTypeError
from bayesgraph.factors.algebra import Floats
from bayesgraph.models.average import PosteriorAverage
from bayesgraph.statistics.source import checked_weights
from bayesgraph.variables import Discrete, Name

# As scikit-learn draws the seeds of its members, so that the same seed draws the same rows.
_LARGEST_SEED = np.iinfo(np.int32).max


@dataclass(frozen=True)
class Draw:
    """How many rows and columns each member gets, and from where.

    Attributes
    ----------
    shares : ndarray, shape (n_rows,), or None
        Probabilities of the rows; None if they are all the same.
    """

    n_rows: int
    n_columns: int
    rows: int
    columns: int
    bootstrap: bool
    shares: Floats | None

    def __call__(self, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Return the rows, as often as they were drawn, and the columns."""
        random = check_random_state(seed)
        columns = sample_without_replacement(self.n_columns, self.columns, random_state=random)
        if self.shares is not None:
            rows = random.choice(self.n_rows, self.rows, replace=self.bootstrap, p=self.shares)
        elif self.bootstrap:
            rows = random.randint(0, self.n_rows, self.rows)
        else:
            rows = sample_without_replacement(self.n_rows, self.rows, random_state=random)
        return np.asarray(rows), np.asarray(columns)


class _NamedLabels(np.ndarray[Any, Any]):
    """Labels that know how the class is called."""

    name: Name


class BaggedNaiveBayesClassifier(ModelQuestions, Deciding, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The averaged posteriors of classifiers, each fitted to random rows and columns.

    Bagging (Breiman 1996) draws rows with replacement; random subspaces (Ho 1998) draw columns:
    ``BaggedNaiveBayesClassifier(max_features=0.5, bootstrap=False)``. A naive Bayes hardly varies
    from bag to bag, so that columns do more for it than rows do: each member is confident about
    other features, and their average is better calibrated than a product over all of them.

    The draws and the averages are those of scikit-learn's ``BaggingClassifier``, which gives the
    same numbers for arrays. Here data frames keep the types of their columns and missing values
    stay missing. Text columns of a data frame are encoded once, and their states are known to all
    members; elsewhere, a state that a bag lacks is unseen to its member.

    Parameters
    ----------
    estimator : classifier of this library, optional
        By default ``NaiveBayesClassifier()``. With `max_features` below 1, columns that its
        `distributions` and `categorical` name and that a member lacks are left out of them there;
        other parameters must not name columns.
    n_estimators : int, default 10
    max_samples : None, int or float, default None
        Rows that each member gets, or their share (of the sum of the weights, if there are any);
        None is as many as there are.
    max_features : int or float, default 1.0
        Columns that each member gets, or their share; at least one.
    bootstrap : bool, default True
        Draw rows with replacement.
    oob_score : bool, default False
        Estimate the accuracy from the rows that each member has not seen.
    n_jobs : int, optional
        Threads; None is one, -1 all processors. The numbers do not depend on it.
    random_state : int or numpy RandomState, optional

    Attributes
    ----------
    network_ : PosteriorAverage
        The members' models, averaged with fixed weights: ask it anything but what takes a joint
        distribution, and its ``networks`` that.
    target_ : Discrete
    estimators_ : list of classifiers
    estimators_features_ : list of ndarray
        Positions of the columns of each.
    estimators_samples_ : list of ndarray
        Positions of the rows of each, as often as they were drawn.
    classes_ : ndarray, shape (n_classes,)
    oob_score_ : float
        Accuracy on unseen rows, if `oob_score`.
    oob_decision_function_ : ndarray, shape (n_rows, n_classes)
        Posteriors from members that have not seen the row; NaN if all have.
    n_features_in_ : int
    feature_names_in_ : ndarray, shape (n_features_in_,)
        If X had names that are all strings.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> bag = BaggedNaiveBayesClassifier(
    ...     n_estimators=30, max_features=0.5, oob_score=True, random_state=0
    ... )
    >>> bool(bag.fit(X, y).oob_score_ > 0.95)
    True
    """

    classes_: NDArray[Any]
    n_features_in_: int

    def __init__(
        self,
        estimator: Any = None,
        n_estimators: int = 10,
        *,
        max_samples: float | None = None,
        max_features: float = 1.0,
        bootstrap: bool = True,
        oob_score: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.n_estimators = n_estimators
        self.max_samples = max_samples
        self.max_features = max_features
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state

    # ---------------------------------------------------------------------------------- fitting

    def fit(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> Any:
        """Fit the members.

        Parameters
        ----------
        X, y
            As for the estimator: any data frame, array or (for words) sparse matrix.
        sample_weight : array_like, shape (n_rows,), optional
            Rows are drawn in proportion to it.

        Returns
        -------
        self

        Raises
        ------
        DataError
            For parameters out of range, and for `oob_score` without `bootstrap`.
        DataTypeError
            For an estimator that is none of this library.
        """
        base = self._base()
        if self.oob_score and not self.bootstrap:
            raise DataError("oob_score=True takes rows that a bag lacks: set bootstrap=True.")
        # What was fitted before does not go with the columns to come.
        for former in ("estimators_", "_average"):
            self.__dict__.pop(former, None)
        labels, name = target_column(y)
        found = _encoded_once(fit_columns(self, X, len(labels), sparse=self._takes_sparse))
        _check_columns(base, found)
        self.classes_ = joined_classes(None, labels, None)
        self._columns = found.names
        self._draw = self._make_draw(found, checked_weights(sample_weight, found.n_rows))
        random = check_random_state(self.random_state)
        self._seeds = random.randint(_LARGEST_SEED, size=self._n_members())
        named = labels.view(_NamedLabels)
        named.name = target_name(name, [Discrete(column, [0]) for column in found.names])
        fit = delayed(_fitted)
        members = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            fit(base, found, named, self._draw, int(seed)) for seed in self._seeds
        )
        self.estimators_ = [member for member, _ in members]
        self.estimators_features_ = [columns for _, columns in members]
        for former in ("oob_score_", "oob_decision_function_"):
            if hasattr(self, former):
                delattr(self, former)
        if self.oob_score:
            self._score_unseen(found, labels)
        return self

    def _base(self) -> Any:
        base = NaiveBayesClassifier() if self.estimator is None else self.estimator
        if not isinstance(base, GraphClassifier):
            raise DataTypeError(
                "estimator= takes a classifier of this library, such as NaiveBayesClassifier(); "
                f"got {base!r}. (scikit-learn's BaggingClassifier takes any, for arrays.)"
            )
        return base

    def _n_members(self) -> int:
        n: Any = self.n_estimators
        if not isinstance(n, (int, np.integer)) or n < 1:
            raise DataError(f"n_estimators is a number of members, 1 or more; got {n!r}.")
        return int(n)

    def _make_draw(self, found: Columns, weights: Floats) -> Draw:
        total = weights.sum() if len(weights) else found.n_rows
        rows = found.n_rows
        if self.max_samples is not None:
            rows = _number("max_samples", self.max_samples, float(total))
        columns = _number("max_features", self.max_features, float(self.n_features_in_))
        able = np.count_nonzero(weights) if len(weights) else found.n_rows
        if not self.bootstrap and rows > able:
            raise DataError(
                f"max_samples={self.max_samples!r} is {rows} rows, more than there are ({able}); "
                "only bootstrap=True draws rows more than once."
            )
        if columns > self.n_features_in_:
            raise DataError(
                f"max_features={self.max_features!r} is more than there are columns "
                f"({self.n_features_in_})."
            )
        shares = weights / weights.sum() if len(weights) else None
        return Draw(found.n_rows, self.n_features_in_, rows, columns, self.bootstrap, shares)

    def _score_unseen(self, found: Columns, labels: NDArray[Any]) -> None:
        votes = np.zeros((found.n_rows, len(self.classes_)))
        voters = np.zeros(found.n_rows)
        for member, columns, rows in self._members():
            unseen = np.setdiff1d(np.arange(found.n_rows), rows)
            if len(unseen):
                part = _part(found.take(unseen), columns, member)
                votes[unseen] += self._posterior_of(member, part)
                voters[unseen] += 1.0
        if not voters.all():
            warnings.warn(
                f"{int((voters == 0).sum())} of {found.n_rows} rows are in every bag and have no "
                "out-of-bag posterior; they count as mistakes. Take a larger n_estimators.",
                BayesGraphWarning,
                stacklevel=3,
            )
        with np.errstate(invalid="ignore"):
            self.oob_decision_function_ = votes / voters[:, None]
        right = self.classes_[np.argmax(votes, axis=1)] == labels
        self.oob_score_ = float(np.mean(right & (voters > 0)))

    def _members(self) -> zip[Any]:
        return zip(
            self.estimators_, self.estimators_features_, self.estimators_samples_, strict=True
        )

    @property
    def estimators_samples_(self) -> list[NDArray[np.intp]]:
        """Positions of the rows of each member, as often as they were drawn."""
        check_is_fitted(self, "estimators_")
        return [self._draw(int(seed))[0] for seed in self._seeds]

    # -------------------------------------------------------------------------------- the model

    @property
    def target_(self) -> Discrete:
        """The class variable, with all classes."""
        check_fitted(self, "estimators_")
        return Discrete(self.estimators_[0].target_.name, self.classes_.tolist())

    @property
    def network_(self) -> PosteriorAverage:
        """The members' models, whose posteriors are averaged with equal weights."""
        if not hasattr(self, "estimators_"):
            raise AttributeError(f"{type(self).__name__} has learned nothing yet.")
        if not hasattr(self, "_average"):
            members = [member.network_ for member in self.estimators_]
            self._average = PosteriorAverage(members, first=[self.target_])
        return self._average

    # ------------------------------------------------------------------------------- prediction

    def _posterior_of(self, member: Any, part: Any) -> Floats:
        """Return a member's posterior over all classes: zero for one that its bag lacked."""
        proba: Floats = member.predict_proba(part)
        if len(member.classes_) == len(self.classes_):
            return proba
        spread = np.zeros((len(proba), len(self.classes_)))
        spread[:, class_codes(self.classes_, member.classes_)] = proba
        return spread

    def predict_proba(self, X: Any) -> Floats:
        """Return the members' mean posterior of each row, shape (n_rows, n_classes).

        Missing values and unseen categories are marginalised by each member.
        """
        check_is_fitted(self, "estimators_")
        found = known_columns(self, X, self._columns, sparse=self._takes_sparse)
        one = delayed(self._posterior_of)
        found_by_member = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            one(member, _part(found, columns, member))
            for member, columns in zip(self.estimators_, self.estimators_features_, strict=True)
        )
        return np.asarray(sum(found_by_member) / len(self.estimators_))

    def predict_log_proba(self, X: Any) -> Floats:
        """Return natural logs of `predict_proba`, shape (n_rows, n_classes)."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each row, shape (n_rows,); ties go to the first."""
        proba = self.predict_proba(X)
        return np.asarray(self.classes_[np.argmax(proba, axis=1)])

    @property
    def _takes_sparse(self) -> bool:
        return bool(self._base()._takes_sparse)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        base = NaiveBayesClassifier() if self.estimator is None else self.estimator
        known = base.__sklearn_tags__()
        tags.input_tags = known.input_tags
        if known.classifier_tags is not None:
            tags.classifier_tags.poor_score = known.classifier_tags.poor_score
        return tags


def _check_columns(base: Any, found: Columns) -> None:
    """Refuse a table that the estimator would refuse, even if no member draws what is wrong."""
    distributions = getattr(base, "distributions", None)
    fit_table(found, make_layout(found.typed(), distributions, base.categorical))


def _number(name: str, value: Any, whole: float) -> int:
    """Return a number, or a share of the whole as one, at least 1."""
    if isinstance(value, (int, np.integer)) and value >= 1 and value is not True:
        return int(value)
    if isinstance(value, (float, np.floating)) and 0.0 < value <= 1.0:
        return max(1, int(value * whole))
    raise DataError(f"{name} is a number, 1 or more, or a share above 0 up to 1.0; got {value!r}.")


def _encoded_once(found: Columns) -> Columns:
    """Return columns whose text is a category type: what members do with it is then quick."""
    if found.columns is None:
        return found
    columns = {name: _as_category(column) for name, column in found.columns.items()}
    return Columns(found.names, found.n_rows, columns, None)


def _as_category(column: Column) -> Column:
    if not isinstance(column, nw.Series) or column.dtype != nw.String:
        return column
    if column.implementation.is_pyarrow():  # which has no type of declared states
        return column.cast(nw.Categorical)
    states = sorted(column.drop_nulls().unique().to_list())
    return column.cast(nw.Enum(states)) if states else column


def _fitted(
    base: Any, found: Columns, labels: NDArray[Any], draw: Draw, seed: int
) -> tuple[Any, NDArray[np.intp]]:
    """Return a member and the positions of its columns."""
    rows, columns = draw(seed)
    member = clone(base)
    parameters = member.get_params(deep=False)
    changed: dict[str, Any] = {}
    if "random_state" in parameters:
        changed["random_state"] = check_random_state(seed).randint(_LARGEST_SEED)
    if len(columns) < draw.n_columns:
        kept = tuple(found.names[at] for at in columns.tolist())
        changed |= _restricted(parameters, found.names, kept)
    member.set_params(**changed)
    member.fit(
        _part(found, columns, member),
        labels,
        sample_weight=np.bincount(rows, minlength=found.n_rows).astype(np.float64),
    )
    return member, columns


def _restricted(
    parameters: Mapping[str, Any], names: tuple[Name, ...], kept: tuple[Name, ...]
) -> dict[str, Any]:
    """Return the parameters that name columns, without those that a member lacks."""
    changed: dict[str, Any] = {}
    if isinstance(parameters.get("distributions"), Mapping):
        families: dict[Any, str] = {}
        for key, family in family_by_column(parameters["distributions"], names).items():
            left = tuple(name for name in key if name in kept)
            if left:
                families[left if len(key) > 1 and len(left) > 1 else left[0]] = family
        changed["distributions"] = families
    categorical = parameters.get("categorical")
    if categorical is not None and not isinstance(categorical, str):
        chosen = categorical_names(categorical, names)
        changed["categorical"] = [name for name in kept if name in chosen]
    return changed


def _part(found: Columns, columns: NDArray[np.intp], member: Any) -> Any:
    """Return some columns in a form that the member takes: by name, if it knows names."""
    whole = len(columns) == len(found.names)
    if found.columns is None and (whole or not _names_columns(member)):
        return found.matrix if whole else found.matrix[:, columns]
    named = found.as_columns()
    return {found.names[at]: named[found.names[at]] for at in columns.tolist()}


def _names_columns(member: Any) -> bool:
    parameters = member.get_params(deep=False)
    categorical = parameters.get("categorical")
    return isinstance(parameters.get("distributions"), Mapping) or not (
        categorical is None or isinstance(categorical, str)
    )
