"""Choice of the structure and the penalties of a log-linear model by cross-validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize, minimize_scalar

from bayesgraph.core.arrays import Floats, log_sum_exp
from bayesgraph.core.display import Displayed, DisplayTable, rounded
from bayesgraph.inference import normalised, prior_term, tempered
from bayesgraph.learning.loglinear.sample import ROWS, Sample
from bayesgraph.learning.loglinear.terms import Pair, Terms
from bayesgraph.learning.loglinear.training import (
    TOLERANCE,
    UNBOUNDED,
    Effects,
    Effort,
    Normalised,
    log_loss,
    start,
    train,
    with_share,
)
from bayesgraph.learning.loglinear.trees import (
    FIRST,
    gains_of,
    grow_trees,
    informative,
    joint_effects,
    joint_features,
    joint_scores,
    mean_distributions,
    tree_of,
)

# The structures with a tree of pairs of features.
_TREES = ("information", "residual")
# Candidate penalties of the parameters of features, in nats, from strong to weak.
_SINGLE = (30.0, 10.0, 3.0, 1.0, 0.3)
# Penalty of pairs in the comparison of trees, in nats, and those that are tried then.
_PROBE = 3.0
_STRONGER, _WEAKER = (10.0, 30.0), (1.0, 0.3)
# If a penalty makes the held-out loss worse by this, in nats per row, weaker ones are not tried.
_PATIENCE = 0.003
# Minimum gain in held-out loss by a tree over no tree, in nats per row.
_GAIN = 1e-4
# Minimum gain by a joint table, in standard errors and as a share of the loss, and maximum of
# rows x classes with which one is searched for: that would double the time of many classes.
_JOINT_ERRORS, _JOINT_GAIN, _MAX_NUMBERS = 1.5, 0.02, 300_000
# Relative decrease of the objective at which training stops for models that are only compared.
ROUGHLY = 2e-5
# Minimum weight of a candidate that is kept in the mixture, and of random trees in the average.
_MIN_SHARE, _MIN_TREE_SHARE = 1e-3, 0.05
# Where there are more rows than this, trees are left out, fewer or smaller if that costs less than
# a share of the loss for certain, in standard errors; the numbers that are tried, and how often
# leaves become four times as large. The trees of few rows are small.
_FEW_ROWS, _TREE_COST, _TREE_ERRORS = 2_000, 0.01, 1.5
_FEWER_TREES, _SMALLEST = (10, 25, 50), 3
# Penalty of the squared distance of the sum of stacking weights from one, in nats: where models
# separate the classes of all held-out rows, the sum would grow without limit.
_SUM = 0.5
# Weight of the prior of equal weights in the average, in nats: the held-out loss of the log-linear
# model is a little too low, as its penalties were chosen by it.
_EQUAL = 2.0
# Penalty of the squared logarithm of the exponent of the trees, in nats, and bounds of exponents.
_ONE, _MIN_EXPONENT, _MAX_EXPONENT = 2.0, 1.05, 8.0
# Probabilities below this count as this.
_LEAST = 1e-15


@dataclass(frozen=True)
class Candidate:
    """A structure and penalties, compared with other candidates by cross-validation.

    Attributes
    ----------
    structure : {"star", "information", "residual", "given"}
        Pairs of features that interact: none, those of a spanning tree over one of two measures
        (see `gains_of`), or given pairs.
    single, paired : float
        Penalty of the parameters of features and of pairs, in nats.
    around : bool
        Whether the pairs are those of a tree around the features of the joint table.
    """

    structure: str
    single: float
    paired: float = 0.0
    around: bool = False

    def penalty(self, terms: Terms) -> Floats:
        """Return the penalty of each parameter of the tables, shape (n_parameters,)."""
        penalties = np.full(terms.n_parameters, self.paired)
        penalties[: terms.n_single] = self.single
        return penalties


@dataclass(frozen=True, repr=False)
class Choice(Displayed):
    """Result of the cross-validation: the structure, and a weight of each candidate model.

    It prints as a table of the candidates, the best first. "information" and "residual" are trees
    of pairs of features, of the greatest conditional mutual information, or of the greatest gain
    over the model without pairs. Several candidates have weights: the model is the weighted sum of
    their scores.

    Attributes
    ----------
    structure : str
    shares : mapping from Candidate to float
        Weight of each candidate in the weighted sum of the candidates' class scores (log
        probabilities); the weights need not sum to one.
    losses : mapping from Candidate to float
        Held-out -log P(label), in nats per row.
    tree_share : float
        Weight of the posterior of the random trees in its average with that of the weighted sum.
    tree_exponent : float
        Exponent of the trees' evidence in this average, 1 or up to 8; see `Ensemble`.
    n_trees : int
        Number of the random trees.
    leaf_weight : float
        Minimum weight of the rows in a leaf of theirs.
    joint_share : float
        Weight of the scores of the joint table (see `joint_features`) in the weighted sum; 0
        without one.
    loss : float
        Held-out -log P(label) of the weighted sum, in nats per row; infinite if nothing was held
        out.
    impurity : float
        Mean over held-out rows of the sum of P (1 - P) over the classes, under the weighted sum.
    """

    structure: str
    shares: Mapping[Candidate, float]
    losses: Mapping[Candidate, float]
    tree_share: float = 0.0
    tree_exponent: float = 1.0
    joint_share: float = 0.0
    loss: float = np.inf
    impurity: float = 0.0
    n_trees: int = 0
    leaf_weight: float = 1.0

    def _display(self) -> DisplayTable:
        rows = []
        tried = dict.fromkeys((*self.losses, *self.shares))
        for c in sorted(tried, key=lambda c: self.losses.get(c, np.inf)):
            penalties = [c.single, None if c.structure == "star" else c.paired]
            numbers = [*penalties, self.losses.get(c), self.shares.get(c)]
            name = f"{c.structure}, around the joint table" if c.around else c.structure
            rows.append([name, *("" if x is None else rounded(x) for x in numbers)])
        parts = ["Held-out losses are in nats per row; what has no weight was only tried."]
        if self.joint_share:
            parts.append(f"A joint table of a few features weighs {rounded(self.joint_share)}.")
        if np.isfinite(self.loss):
            parts.append(f"The weighted sum has a held-out loss of {rounded(self.loss)} nats.")
        if self.tree_share:
            parts.append(
                f"Its posterior is averaged with that of {self.n_trees} random trees, which weighs "
                f"{rounded(self.tree_share)} and has the exponent {rounded(self.tree_exponent)}."
            )
        header = ["structure", "penalty", "of pairs", "loss", "weight"]
        return DisplayTable("Candidates", rows, header, note="\n".join(parts))


def choose(
    sample: Sample,
    n_folds: int,
    n_trees: int = 0,
    pairs: tuple[Pair, ...] | None = None,
    effort: Effort = UNBOUNDED,
    *,
    merge: bool = False,
) -> Choice:
    """Choose the structure and the penalties of the highest held-out conditional likelihood.

    The search first chooses the penalty of features without pairs; then, with this penalty, the
    best tree (if any improves) and the penalty of pairs. The candidates are combined by stacking
    (Wolpert 1992): the weighted sum of their class scores has the weights that predict held-out
    rows best. As scores are log probabilities, the sum is again a log-linear model. Then the same
    sum with a joint table of a few features is taken if its loss is lower by 2 % and by one and a
    half standard errors. If there are random trees, the average of their posterior and that of the
    sum has the weight, and the exponent of the trees' evidence, that predict held-out rows best.
    Of more than 2,000 rows there are no trees, or fewer, or such with larger leaves, where the
    held-out rows are enough to say that this costs less than 1 % of the loss.

    Parameters
    ----------
    sample : Sample
    n_folds : int
        Nothing is compared with fewer than two folds that have rows, or two classes.
    n_trees : int
    pairs : tuple of pairs, optional
        Pairs of features that interact, instead of those of the best tree.
    effort : Effort, optional
        Where it is spent, training stops, and no further candidates are trained.
    merge : bool
        Whether the intervals of features in a joint table will be merged.
    """
    held_out = [weights for weights in sample.folds(max(n_folds, 1)) if weights.any()]
    trained_on = [np.maximum(sample.weights - weights, 0.0) for weights in held_out]
    both = zip(trained_on, held_out, strict=True)
    folds = [(sample.weighing(inside), sample.weighing(outside)) for inside, outside in both]
    if len(folds) < 2 or sample.n_classes < 2:
        return Choice("star", {Candidate("star", _SINGLE[0]): 1.0}, {})
    search = _Search(sample, folds, pairs, effort, merge=merge)
    search.single_features()
    search.pairs()
    return search.choice(n_trees)


class _Search:
    """Candidates trained without the rows of each fold, and their scores of these rows.

    `folds` has the rows that models are trained on, and the held-out ones, of each fold.
    """

    def __init__(
        self,
        sample: Sample,
        folds: list[tuple[Sample, Sample]],
        pairs: tuple[Pair, ...] | None,
        effort: Effort,
        *,
        merge: bool,
    ) -> None:
        self._sample, self._folds, self._pairs = sample, folds, pairs
        self._effort, self._merge = effort, merge
        # All held-out rows, fold by fold; scores of candidates are in this order.
        parts: Any = {
            name: np.concatenate([getattr(unseen, name) for _, unseen in folds]) for name in ROWS
        }
        # A row with weight in two folds occurs twice.
        self._held_out = replace(sample, **parts)
        # The least number of features that vary in the rows that a fold is trained on.
        self._n_informative = min(len(informative(rows)) for rows, _ in folds)
        self._structure = "star"
        self._terms: dict[tuple[Pair, ...], Terms] = {}
        # The terms and the parameters of each candidate in each fold, and its held-out scores.
        self._trained: dict[Candidate, list[tuple[Terms, Floats]]] = {}
        self._scores: dict[Candidate, Floats] = {}
        self._losses: dict[Candidate, float] = {}

    def single_features(self) -> None:
        """Choose the penalty of features without pairs."""
        self._effort.enter("single features")
        self._follow([Candidate("star", single) for single in _SINGLE])
        # The best candidate so far, and the best one without pairs.
        self._base = self._alone = self._best("star")

    def pairs(self) -> None:
        """Choose the tree of pairs and the penalty of pairs, if any improves."""
        self._effort.enter("pairs of features")
        if len(self._sample.views) < 2 or self._pairs == () or self._effort.is_spent:
            return
        structures = _TREES if self._pairs is None else ("given",)
        for structure in structures:
            self._follow([Candidate(structure, self._alone.single, _PROBE)], self._alone)
        probe = self._best(*structures)
        loss = self._losses[probe]
        self._follow([replace(probe, paired=p) for p in _STRONGER], probe, loss, 0.0)
        if self._best(probe.structure) == probe:  # no stronger penalty is better
            self._follow([replace(probe, paired=p) for p in _WEAKER], probe, loss)
        winner = self._best(probe.structure)
        gain = self._losses[self._alone] - self._losses[winner]
        if probe.structure == "given" or gain > _GAIN:
            self._base, self._structure = winner, probe.structure

    def _best(self, *structures: str) -> Candidate:
        """Return the trained candidate of the least held-out loss among some structures."""
        tried = [c for c in self._losses if c.structure in structures]
        return min(tried, key=self._losses.__getitem__)

    def _follow(
        self,
        candidates: Sequence[Candidate],
        near: Candidate | None = None,
        best: float = np.inf,
        patience: float = _PATIENCE,
    ) -> None:
        """Train candidates of the same pairs, each from the parameters of the one before.

        The first starts from those of `near`. After a candidate whose loss exceeds the minimum by
        more than `patience`, no further candidates are trained; `best` is the minimum of others.
        Where the effort is spent, only the first candidate with its pairs is.
        """
        prior = self._sample.prior
        all_terms = self._terms_of(candidates[0])
        # Encoded anew by each call, as all candidates together would take much memory.
        rows = [
            (trained_on.rows(terms), unseen.rows(terms))
            for terms, (trained_on, unseen) in zip(all_terms, self._folds, strict=True)
        ]
        for candidate in candidates:
            same_pairs = near and near.structure == candidate.structure
            if same_pairs and not candidate.around and self._effort.is_spent:
                break
            # No fold starts from another one, which was trained on the rows that it holds out.
            starts = self._trained[near] if near else [None] * len(rows)
            trained, scores = [], []
            for terms, (trained_on, unseen), begin in zip(all_terms, rows, starts, strict=True):
                first, penalty = start(terms, prior, begin), candidate.penalty(terms)
                model = train(terms, trained_on, prior, penalty, first, ROUGHLY, self._effort)
                trained.append((terms, model))
                scores.append(unseen.scores(Normalised.of(terms, model, prior).effects))
            self._trained[candidate] = trained
            self._scores[candidate] = np.concatenate(scores)
            self._losses[candidate] = loss = self._loss(self._scores[candidate])
            if loss > best + patience:
                break
            best, near = min(best, loss), candidate

    def _terms_of(self, candidate: Candidate) -> list[Terms]:
        """Return the terms of a candidate in each fold."""
        pairs: list[tuple[Pair, ...]] = [self._pairs or ()] * len(self._folds)
        if candidate.structure == "star":
            pairs = [()] * len(self._folds)
        elif self._pairs is None:
            cliques = self._joint if candidate.around else [()] * len(self._folds)
            pairs = [
                tree_of(gains[candidate.structure], clique, rows.searched)
                for gains, clique, (rows, _) in zip(self._gains, cliques, self._folds, strict=True)
            ]
        for p in pairs:
            if p not in self._terms:
                self._terms[p] = Terms.of(self._sample.views, p)
        return [self._terms[p] for p in pairs]

    @cached_property
    def _gains(self) -> list[dict[str, Floats]]:
        """The gains of pairs of features in each fold by each measure."""
        # Pairs are searched for by the residuals of this candidate, if it was trained.
        alone = [
            (terms, Normalised.of(terms, model, self._sample.prior).effects)
            for terms, model in self._trained.get(Candidate("star", FIRST), [])
        ]
        return [
            {name: gains_of(rows, name, self._effort, model) for name in _TREES}
            for (rows, _), model in zip_longest(self._folds, alone)  # None if there is none
        ]

    @cached_property
    def _joint(self) -> list[tuple[int, ...]]:
        """The features of the joint table in each fold."""
        # The first half of the parts of the phase; `_joint_scores` is the other one.
        features: list[tuple[int, ...]] = []
        for rows, _ in self._folds:
            self._effort.enter("joint table", len(features), 2 * len(self._folds))
            features.append(joint_features(rows, self._effort, merge=self._merge))
        return features

    def _joint_scores(self) -> Floats:
        """Return the class scores of held-out rows under the joint table of a few features."""
        n_folds, scores = len(self._folds), list[Floats]()
        for (rows, unseen), features in zip(self._folds, self._joint, strict=True):
            self._effort.enter("joint table", n_folds + len(scores), 2 * n_folds)
            scores.append(joint_scores(rows, unseen, features, self._effort))
        return np.concatenate(scores)

    def _loss(self, scores: Floats) -> float:
        """Return the mean -log P(label) of the held-out rows, given class scores, in nats."""
        rows = self._held_out
        return log_loss(scores.copy(), rows.labels, rows.weights) / float(rows.weights.sum())

    def _summed(self, parts: list[Floats]) -> tuple[Floats, Floats]:
        """Return stacking weights of candidates' scores of held-out rows, and the weighted sum."""
        shares = _stacked(parts, self._held_out)
        return shares, np.tensordot(shares, np.stack(parts), 1)

    def _with_joint_table(self, sums: Floats) -> tuple[list[Candidate], Floats, Floats] | None:
        """Return candidates beside a joint table of a few features, all weights, and summed scores.

        The result is None unless the sum is better than `sums` by a share of its loss, and by more
        than the standard error of the gain over the held-out rows.
        """
        self._effort.enter("joint table")
        n_numbers = len(self._sample.labels) * self._sample.n_classes
        if self._pairs is not None or n_numbers > _MAX_NUMBERS or self._n_informative < 2:
            return None
        # Asked again after `_joint`, whose first use grows trees.
        if self._effort.is_spent or not all(self._joint) or self._effort.is_spent:
            return None
        used = [c for c in self._scores if c.structure == "star"]
        if self._structure != "star":
            used.append(replace(self._base, around=True))
            self._follow(used[-1:], self._base)
        shares, with_joint = self._summed([*(self._scores[c] for c in used), self._joint_scores()])
        rows = self._held_out
        gain, error = _gain(_label_logs(with_joint, rows), _label_logs(sums, rows), rows.weights)
        is_better = gain > max(_JOINT_GAIN * self._loss(sums), _JOINT_ERRORS * error)
        # Where effort was spent, folds have too few trees to judge by.
        return (used, shares, with_joint) if is_better and not self._effort.is_spent else None

    def choice(self, n_trees: int) -> Choice:
        """Return the weights of the candidates, and that of `n_trees` random trees."""
        used = [c for c in self._scores if c.structure in ("star", self._structure)]
        shares, sums = self._summed([self._scores[c] for c in used])
        used, shares, sums = self._with_joint_table(sums) or (used, shares, sums)
        # Of the weights that of a joint table, if there is one, comes last.
        kept = {
            c: float(share) for c, share in zip(used, shares, strict=False) if share > _MIN_SHARE
        }
        joint_share = float(shares[-1]) if len(shares) > len(used) else 0.0
        if joint_share <= _MIN_SHARE:
            joint_share = 0.0
            kept = kept or {self._alone: 1.0}  # something must have weight
        structure = self._structure
        if structure != "given" and all(c.structure == "star" for c in kept):
            structure = "star"
        posterior, weights = normalised(sums.copy()), self._held_out.weights
        impurity = float(weights @ (posterior * (1.0 - posterior)).sum(axis=1) / weights.sum())
        choice = Choice(
            structure,
            kept,
            self._losses,
            joint_share=joint_share,
            loss=self._loss(sums),
            impurity=impurity,
        )
        # Trees are for interactions, and need features that are informative in each fold.
        if not n_trees or self._n_informative < 2:
            return choice
        return self._with_trees(choice, sums, n_trees)

    def _with_trees(self, choice: Choice, sums: Floats, n_trees: int) -> Choice:
        """Return the choice with weight, exponent, number and size of at most `n_trees` trees."""
        weights = self._held_out.weights
        has_few_rows = weights.sum() <= _FEW_ROWS
        numbers = [n for n in _FEWER_TREES if n < n_trees and not has_few_rows] + [n_trees]
        averages = self._averages(sums, numbers)
        all_trees = averages[-1]
        without = _label_logs(sums, self._held_out)
        if not all_trees.share or (
            not has_few_rows and costs_little(without, all_trees.logs, weights)
        ):
            return choice
        # The smallest number that costs little; all trees cost nothing.
        number, average = next(
            (n, fewer)
            for n, fewer in zip(numbers, averages, strict=True)
            if fewer is all_trees or costs_little(fewer.logs, all_trees.logs, weights)
        )
        leaf_weight = 1.0
        for smaller in range(1, 1 + _SMALLEST) if number < n_trees else ():
            (other,) = self._averages(sums, [number], smaller)
            if not other.share or not costs_little(other.logs, all_trees.logs, weights):
                break
            average, leaf_weight = other, 4.0**smaller
        return replace(
            choice,
            tree_share=average.share,
            tree_exponent=average.exponent,
            n_trees=number,
            leaf_weight=leaf_weight,
        )

    def _averages(self, sums: Floats, numbers: Sequence[int], smaller: int = 0) -> list[_Average]:
        """Return the averages of scores of held-out rows with those of random trees.

        Parameters
        ----------
        sums : ndarray, shape (n_rows, n_classes)
            Scores of the held-out rows, one fold after the other.
        numbers : sequence of int
            Numbers of trees, ascending; n trees are the first n of one forest.
        smaller : int
            How often the minimum weight of the rows in a leaf was multiplied by 4.
        """
        phase, parts = ("smaller random trees", _SMALLEST) if smaller else ("random trees", 1)
        n_folds = len(self._folds)
        posteriors: list[list[Floats]] = [[] for _ in numbers]
        priors: list[list[Floats]] = [[] for _ in numbers]
        for fold, (rows, unseen) in enumerate(self._folds):
            # The parts of the phase are the folds, of smaller trees for each size.
            self._effort.enter(phase, max(smaller - 1, 0) * n_folds + fold, n_folds * parts)
            trees = grow_trees(rows, numbers[-1], self._effort, 4.0**smaller)
            nothing = np.full_like(unseen.codes[:1], -1)  # a row without values, for P(class)
            for at, n in enumerate(numbers):
                first = trees.first(n)
                posteriors[at].append(mean_distributions(first, unseen.views, unseen.codes))
                # The same in all rows.
                prior = mean_distributions(first, unseen.views, nothing)
                priors[at].append(np.broadcast_to(prior, posteriors[at][-1].shape))
        return [
            _averaged(sums, np.concatenate(p), np.concatenate(q), self._held_out)
            for p, q in zip(posteriors, priors, strict=True)
        ]


def _gain(logs: Floats, than: Floats, weights: Floats) -> tuple[float, float]:
    """Return the mean gain in log P(label) of weighted rows, and its standard error.

    `logs` are the log probabilities of one model, and `than` those of the one it is compared to.
    """
    total = weights.sum()
    gain = weights @ (logs - than) / total
    spread = weights @ (logs - than - gain) ** 2 / total
    return float(gain), float(np.sqrt(spread / total))


def costs_little(logs: Floats, than: Floats, weights: Floats) -> bool:
    """Return whether log P(label) of rows is lower by no more than the cost of trees."""
    # The loss of taking `logs`, certain up to its error, as a share of the mean loss of `than`.
    gain, error = _gain(than, logs, weights)
    return bool(gain + _TREE_ERRORS * error < -_TREE_COST * weights @ than / weights.sum())


def train_choice(
    sample: Sample,
    choice: Choice,
    pairs: tuple[Pair, ...] | None = None,
    joint: tuple[int, ...] | None = None,
    tolerance: float = TOLERANCE,
    effort: Effort = UNBOUNDED,
    phase: str = "all rows",
    merge: bool = False,
) -> tuple[Terms, Effects]:
    """Train the chosen candidates on all rows; return terms and effects of their weighted sum.

    `pairs` has the interacting pairs of features if the structure was given, or found before, and
    `joint` the features of the joint table if they were found before; `tolerance` is that of
    `train`, and `merge` that of `joint_features`. Where `effort` is spent in a phase, training
    stops at the best parameters so far.
    """
    n_parts = len(choice.shares) + (choice.joint_share > 0.0)
    effort.enter(phase, 0, n_parts)
    if joint is None:
        joint = joint_features(sample, effort, merge=merge) if choice.joint_share else ()
    if pairs is None:
        pairs = ()
        if choice.structure != "star":
            pairs = tree_of(gains_of(sample, choice.structure, effort), joint, sample.searched)
    shares = choice.shares
    if not shares and not joint:  # the joint table was all, and has no features any more
        shares = {Candidate("star", _SINGLE[0]): 1.0}
    # Candidates without pairs first, then those with pairs, which start from the ones before.
    star, tree = Terms.of(sample.views, ()), Terms.of(sample.views, pairs)
    parts: list[tuple[float, Effects]] = []
    near: tuple[Terms, Floats] | None = None
    for terms in (star, tree):
        rows = sample.rows(terms)
        for candidate, share in shares.items():
            if (candidate.structure == "star") == (terms is star):
                effort.enter(phase, len(parts), n_parts)
                first, penalty = start(terms, sample.prior, near), candidate.penalty(terms)
                model = train(terms, rows, sample.prior, penalty, first, tolerance, effort)
                parts.append((share, Normalised.of(terms, model, sample.prior).effects))
                near = terms, model
    widest = Terms.of(sample.views, pairs, joint)
    if joint:
        effort.enter(phase, len(parts), n_parts)
        # The parameters of the joint table, the last one, are its effects; all others are zero.
        model, table = start(widest, sample.prior), joint_effects(sample, joint, effort)
        model[slice(*widest.begins[-2:])] = table
        effects = Normalised.of(widest, model, sample.prior).effects
        # What the normalisation took from each effect of a class is in its bias.
        of_joint = Effects(effects.cells, effects.bias + table[-1] - effects.cells[-1])
        parts.append((choice.joint_share, of_joint))
    return widest, with_share(sample.rows(widest), Effects.mixed(widest, parts))


class _Average(NamedTuple):
    """Weight and exponent of trees, and log P(label) of the held-out rows under the average."""

    share: float
    exponent: float
    logs: Floats


def _label_logs(scores: Floats, sample: Sample) -> Floats:
    """Return log P(label) of each row, given class scores."""
    rows = np.arange(len(sample.labels))
    return np.asarray(scores[rows, sample.labels] - log_sum_exp(scores, 1))


def _averaged(sums: Floats, trees: Floats, priors: Floats, sample: Sample) -> _Average:
    """Return weight and exponent of the trees with the lowest log loss of the average.

    With few rows the weight is shrunk towards one half, and the exponent towards one. A weight
    below `_MIN_TREE_SHARE` is zero, and an exponent below `_MIN_EXPONENT` one.

    Parameters
    ----------
    sums, trees, priors : ndarray, shape (n_rows, n_classes)
        Scores of the rows of `sample` under the log-linear model, and P(class | row) and P(class)
        under the trees.
    sample : Sample
    """
    rows = np.arange(len(sample.labels)), sample.labels
    of_sums = np.exp(_label_logs(sums, sample))  # P(label) under the log-linear model
    log_trees = np.log(np.maximum(trees, _LEAST))

    def best(exponent: float) -> tuple[float, float, Floats]:
        """Return the least loss with an exponent, the weight, and P(label) under the trees."""
        of_trees = tempered(log_trees.copy(), exponent, prior_term(priors, exponent))[rows]

        def loss(share: float) -> float:
            mean = (1.0 - share) * of_sums + share * of_trees
            prior = _EQUAL * (np.log(share) + np.log1p(-share))  # log density of a Beta prior
            return -float(sample.weights @ np.log(np.maximum(mean, _LEAST)) + prior)

        lowest = minimize_scalar(loss, bounds=(1e-6, 1.0 - 1e-6), method="bounded")
        return float(lowest.fun) + _ONE * np.log(exponent) ** 2, float(lowest.x), of_trees

    widest = (0.0, np.log(_MAX_EXPONENT))  # the search is over the log of the exponent
    power = minimize_scalar(
        lambda log: best(np.exp(log))[0], bounds=widest, method="bounded", options={"xatol": 1e-3}
    )
    exponent = float(np.exp(power.x))
    if exponent < _MIN_EXPONENT:
        exponent = 1.0
    _, share, of_trees = best(exponent)
    if share < _MIN_TREE_SHARE:
        share, exponent = 0.0, 1.0
    logs = np.log(np.maximum((1.0 - share) * of_sums + share * of_trees, _LEAST))
    return _Average(share, exponent, logs)


def _stacked(scores: Sequence[Floats], sample: Sample) -> Floats:
    """Return the non-negative stacking weights, one per candidate, of the lowest log loss.

    `scores` has the scores of the rows of `sample` under each candidate.
    """
    # Scores are defined up to a constant per row.
    centred = np.stack([s - s.mean(axis=1, keepdims=True) for s in scores])

    def objective(shares: Floats) -> tuple[float, Floats]:
        """Return the loss of the weighted sum, with the penalty of `_SUM`, and its gradient."""
        residuals = np.tensordot(shares, centred, 1)  # at first the weighted sum of the scores
        # It overwrites the scores by the gradient.
        loss = log_loss(residuals, sample.labels, sample.weights)
        excess = float(shares.sum()) - 1.0
        # Summed over the rows and the classes, for each candidate.
        gradient = np.tensordot(centred, residuals, 2) + 2.0 * _SUM * excess
        return loss + _SUM * excess**2, gradient

    n = len(centred)
    solution = minimize(
        objective, np.full(n, 1.0 / n), jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * n
    )
    return np.asarray(solution.x)
