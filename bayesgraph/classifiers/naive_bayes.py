"""Naive Bayes over columns of any type."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar

from numpy.typing import ArrayLike

from bayesgraph.classifiers.network_classifier import ColumnClassifier
from bayesgraph.classifiers.parameters import estimator


@estimator
class NaiveBayesClassifier(ColumnClassifier):
    """Naive Bayes: the features are independent given the class.

    One model takes columns of any type, each with its own family of distributions.

    Parameters
    ----------
    distributions : family, or mapping from column (or tuple of columns) to family, optional
        {families}

        A single family applies to all numeric columns ("categorical": to all columns). If X is a
        sparse matrix, the family is "multinomial" or "bernoulli".
    items : array_like of names, shape (n_features,), optional
        Names of the items that the columns of an array or a sparse matrix count, such as the words
        of a vectorizer; by default "x0", "x1", and so on.
    {parameters}

    Attributes
    ----------
    {attributes}

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = NaiveBayesClassifier().fit(X, y)
    >>> clf.query(evidence={"x2": 4.5}).argmax
    1
    >>> NaiveBayesClassifier("kernel").fit(X, y).score(X, y)
    0.96
    """

    command: ClassVar[str] = "nb"

    distributions: Mapping[Any, str] | str | None = field(default=None, kw_only=False)
    items: ArrayLike | None = None

    @property
    def _distributions(self) -> Mapping[Any, str] | str | None:
        return self.distributions
