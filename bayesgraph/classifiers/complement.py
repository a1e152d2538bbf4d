"""Complement naive Bayes: scores a class by the low likelihood of a row in all other classes."""

from __future__ import annotations

from dataclasses import field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from bayesgraph.classifiers.labels import checked_priors
from bayesgraph.classifiers.network_classifier import NetworkClassifier, Source
from bayesgraph.classifiers.parameters import estimator
from bayesgraph.cpds import TableCPD
from bayesgraph.errors import DataTypeError, quoted
from bayesgraph.factors import Evidence
from bayesgraph.factors.algebra import Floats
from bayesgraph.families.multinomial import MultinomialCPD, item_sums
from bayesgraph.inference.contract import METHODS, Joint
from bayesgraph.learning import Smoothing
from bayesgraph.models.evidence import as_mapping
from bayesgraph.models.factor_graph import FactorGraph
from bayesgraph.statistics import Totals
from bayesgraph.typing import EvidenceLike
from bayesgraph.variables import CountVector, Discrete

# Minimum pseudo-count: with 0, a word that all other classes lack would have an infinite weight.
_MIN_ALPHA = 1e-10


@estimator
class ComplementNaiveBayesClassifier(NetworkClassifier):
    """Complement naive Bayes for counts of words: robust where classes differ in size.

    For each class the shares of the items are estimated from the rows of all *other* classes, and
    the prediction is the class whose complement explains the row worst (Rennie, Shih, Teevan,
    Karger 2003, section 3.1). The model is a factor graph with the structure of naive Bayes: it has
    a multinomial of each complement, raised to the exponent -1 (with `norm`, to a negative exponent
    for each class). The weights of the counts in the log score are ``-log P(item | not class)``.
    This is a scoring rule and not a distribution of documents: queries that need a distribution,
    such as samples or the likelihood of documents, are refused.

    Probabilities and classes are those of scikit-learn's ``ComplementNB``, whose parameters
    `fit_prior` and `class_prior` have an effect for a single class only. Missing counts are
    marginalised before the exponents are applied: the shares of each complement are renormalised
    over the observed items. In fitting, the sum of an item is divided by the share of the rows in
    which the item is observed.

    Parameters
    ----------
    smoothing : float or Smoothing, default "dirichlet"
        Its `alpha` is the pseudo-count of each item in each complement, at least 1e-10: a number
        for all items, a number for each item, or a mapping from variable name to either.
    norm : bool, default False
        Divide the weights of each class by their sum (the second normalisation of the paper), which
        compensates for classes whose words are more dependent.
    items : array_like of names, shape (n_features,), optional
        Names of the items that the columns of an array or a sparse matrix count, such as the words
        of a vectorizer.
    priors : None, "empirical", "uniform" or array_like of shape (n_classes,), default None
        Prior factor of each class in its score. None and "uniform" both mean equal priors, as in
        scikit-learn. "empirical" means the shares of the classes in the rows, as in the paper.
    check_columns : bool, default True
        Whether `fit` warns of columns that look wrong, as for the other classifiers.

    Attributes
    ----------
    {attributes}

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> texts = ["free money now", "free offer", "lunch at noon", "meeting at noon"]
    >>> X = CountVectorizer().fit_transform(texts)
    >>> clf = ComplementNaiveBayesClassifier().fit(X, ["spam", "spam", "ham", "ham"])
    >>> clf.predict(X).tolist()
    ['spam', 'spam', 'ham', 'ham']
    """

    command: ClassVar[str] = "complement"
    _model_name = "FactorGraph"
    _reads = ("alpha",)

    network_: FactorGraph = field(init=False)  # type: ignore[assignment]

    norm: bool = False
    items: ArrayLike | None = None

    _declined = frozenset(METHODS) - {Joint}
    _because = (
        "it scores each class by how badly the other classes explain a document, which is no "
        "distribution of documents. Use NaiveBayesClassifier('multinomial')."
    )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # As for ComplementNB: scikit-learn's checks use Gaussian clusters, shifted to be positive.
        tags.classifier_tags.poor_score = True
        return tags

    @property
    def _distributions(self) -> str:
        return "multinomial"

    def _network(self, source: Source, smoothing: Smoothing, target: Discrete) -> FactorGraph:
        if others := [f.name for f in source.features if not isinstance(f, CountVector)]:
            raise DataTypeError(
                f"Complement naive Bayes takes counts; {quoted(others)} are text, categories or "
                "booleans. Leave them out, or take NaiveBayesClassifier."
            )
        summaries = [
            (feature, source.summary(Totals(feature, target)))
            for feature in source.features
            if isinstance(feature, CountVector)
        ]
        rows = summaries[0][1].seen.max(axis=1)
        factors: list[TableCPD | MultinomialCPD] = [
            TableCPD(target, _class_factor(self.priors, target, rows))
        ]
        exponents: list[Floats | None] = [None]
        for vector, summary in summaries:
            alpha = smoothing.pseudo_counts(vector, len(vector.items))
            shares = complement_shares(item_sums(summary), alpha)
            factors.append(MultinomialCPD(vector, shares, [target]))
            exponents.append(_exponents(shares, norm=self.norm))
        return FactorGraph(factors, exponents=exponents, domain="free")

    # ----------------------------------------------------------------------------- queries

    def _given(self, evidence: EvidenceLike) -> EvidenceLike:
        """Return the evidence, with unnamed count vectors added as vectors of missing counts.

        A multinomial raised to a negative exponent cannot be summed over all documents. Therefore a
        count vector without evidence is passed as a vector of missing counts.
        """
        model = self._fitted_model
        known = model.case(evidence).hard
        unknown = [v for v in self._vectors if model.number[v.name] not in known]
        return {**as_mapping(evidence), **{v.name: [None] * len(v.items) for v in unknown}}

    def _row(self, row: Any) -> Evidence:
        """Return one row as evidence; a count vector that is not observed is a vector of NaN."""
        columns = dict(super()._row(row).columns)
        for vector in self._vectors:
            columns.setdefault(vector, np.full((1, len(vector.items)), np.nan))
        return Evidence(1, columns)

    @property
    def _vectors(self) -> list[CountVector]:
        return [feature for feature in self.features_ if isinstance(feature, CountVector)]


def complement_shares(sums: Floats, alpha: Floats) -> Floats:
    """Return for each class the smoothed shares of the items in the rows of all other classes.

    Rennie et al. (2003), section 3.1: ``(N_ci~ + alpha_i) / (N_c~ + alpha)``, where N_ci~ is the
    count of item i in the other classes, N_c~ the sum of these counts over the items, and alpha the
    sum of the pseudo-counts alpha_i.

    Parameters
    ----------
    sums : ndarray, shape (n_classes, n_items)
        Sum of the counts of each item over the rows of each class.
    alpha : ndarray, shape () or (n_items,)
        Pseudo-counts of the items.
    """
    others = np.maximum(sums.sum(axis=0) - sums, 0.0) + np.maximum(alpha, _MIN_ALPHA)
    return np.asarray(others / others.sum(axis=1, keepdims=True))


def _exponents(shares: Floats, *, norm: bool) -> Floats:
    """Return the exponent of the multinomials: -1, or one for each class if `norm` is true.

    Rennie et al. (2003), section 3.2: with `norm`, the weights ``-log P(item | not class)`` of a
    class are divided by the sum of their magnitudes. `shares` is the result of `complement_shares`.
    """
    if not norm:
        return np.array(-1.0)
    total = np.log(shares).sum(axis=1)
    # With a single item every share is 1, and all weights are zero.
    return np.where(total < 0, 1.0 / np.minimum(total, -np.finfo(float).tiny), -1.0)


def _class_factor(priors: Any, target: Discrete, rows: Floats) -> Floats:
    if isinstance(priors, str) and priors == "empirical":
        return np.asarray(rows / rows.sum())
    given = checked_priors("uniform" if priors is None else priors, target)
    assert given is not None  # only None gives None
    return given
