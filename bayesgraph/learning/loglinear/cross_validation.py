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
    Rows,
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
        found = np.full(terms.n_parameters, self.paired)
        found[: terms.n_single] = self.single
        return found


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


class Folded:
    """Rows in cross-validation folds: candidates are trained without a fold and predict its rows.

    Parameters
    ----------
    sample : Sample
    n_folds : int
        With fewer than two folds no candidates can be compared, see `is_empty`.
    pairs : tuple of pairs, optional
        Pairs of features that interact, instead of those of the best tree.
    effort : Effort, optional
        Where it is spent, training stops, and no further candidates are trained.
    merge : bool
        Whether the intervals of features in a joint table will be merged.
    """

    def __init__(
        self,
        sample: Sample,
        n_folds: int,
        pairs: tuple[Pair, ...] | None = None,
        effort: Effort = UNBOUNDED,
        *,
        merge: bool = False,
    ) -> None:
        self.sample = sample
        self.effort = effort
        self._merge = merge
        self._pairs = pairs
        held_out = [w for w in sample.folds(max(n_folds, 1)) if w.any()]
        left = [np.maximum(sample.weights - w, 0.0) for w in held_out]
        self._seen = [sample.weighing(w) for w in left if w.any()]
        self._unseen = [sample.weighing(w) for w in held_out]
        self._known: dict[tuple[Pair, ...], Terms] = {}

    @cached_property
    def star(self) -> Path:
        """The candidates without pairs."""
        return Path(self, Candidate("star", _SINGLE[0]))

    @cached_property
    def _gains(self) -> list[dict[str, Floats]]:
        """The gains of pairs of features in each fold by each measure."""
        # Pairs are searched for by the residuals of this candidate, if it was trained.
        trained = self.star.trained.get(Candidate("star", FIRST), [])
        prior = self.sample.prior
        alone = [(own, Normalised.of(own, model, prior).effects) for own, model in trained]
        return [
            {name: gains_of(seen, name, self.effort, model) for name in self.structures}
            for seen, model in zip_longest(self._seen, alone)
        ]

    def _pairs_of(self, candidate: Candidate) -> list[tuple[Pair, ...]]:
        """Return the pairs of features of a candidate in each fold."""
        if candidate.structure == "star":
            return [()] * len(self._seen)
        if self._pairs is not None:
            return [self._pairs] * len(self._seen)
        around = self._joint if candidate.around else [()] * len(self._seen)
        gains = (of_fold[candidate.structure] for of_fold in self._gains)
        return [tree_of(*fold) for fold in zip(gains, around, strict=True)]

    @cached_property
    def _joint(self) -> list[tuple[int, ...]]:
        """The features of the joint table in each fold."""
        found: list[tuple[int, ...]] = []
        for seen in self._seen:
            self.effort.enter("joint table", len(found), 2 * len(self._seen))
            found.append(joint_features(seen, self.effort, merge=self._merge))
        return found

    @property
    def splits(self) -> list[tuple[Sample, Sample]]:
        """The rows that models are trained on and the held-out rows of each fold."""
        return list(zip(self._seen, self._unseen, strict=True))

    @cached_property
    def held_out(self) -> Sample:
        """The held-out rows of all folds; a row with weight in two folds occurs twice."""
        parts: Any = {
            name: np.concatenate([getattr(part, name) for part in self._unseen]) for name in ROWS
        }
        return replace(self.sample, **parts)

    @property
    def is_empty(self) -> bool:
        """Whether no comparison is possible, with fewer than two classes or non-empty folds."""
        return min(len(self._seen), len(self._unseen)) < 2 or self.sample.n_classes < 2

    @property
    def may_have_joint_table(self) -> bool:
        """Whether a joint table may be searched for: no pairs were given, and it has features."""
        n_numbers = len(self.sample.labels) * self.sample.n_classes
        if self._pairs is not None or n_numbers > _MAX_NUMBERS or self.effort.is_spent:
            return False
        if self.n_informative < 2:
            return False
        return min(map(len, self._joint)) > 0 and not self.effort.is_spent

    @property
    def n_informative(self) -> int:
        """The minimum number of informative features in the rows that a model is trained on."""
        return min(len(informative(seen)) for seen in self._seen)

    @property
    def structures(self) -> tuple[str, ...]:
        """Names of the structures with interacting pairs of features (the star has no pairs)."""
        if len(self.sample.views) < 2 or self._pairs == ():
            return ()
        return ("information", "residual") if self._pairs is None else ("given",)

    def terms(self, candidate: Candidate) -> list[Terms]:
        """Return the terms of a candidate in each fold."""
        pairs = self._pairs_of(candidate)
        for p in pairs:
            if p not in self._known:
                self._known[p] = Terms.of(self.sample.views, p)
        return [self._known[p] for p in pairs]

    def tree_posteriors(
        self, numbers: Sequence[int], smaller: int = 0
    ) -> list[tuple[Floats, Floats]]:
        """Return P(class | row) and P(class) of held-out rows under random trees.

        Parameters
        ----------
        numbers : sequence of int
            Numbers of trees, ascending; the first trees are those of all numbers.
        smaller : int
            How often the minimum weight of the rows in a leaf was made larger.

        Returns
        -------
        list of (posteriors, priors)
            Of each number; arrays of shape (n_rows, n_classes).
        """
        found: list[list[Floats]] = [[] for _ in numbers]
        priors: list[list[Floats]] = [[] for _ in numbers]
        for fold, (seen, unseen) in enumerate(self.splits):
            if smaller:
                part, n_parts = (smaller - 1) * len(self._seen) + fold, len(self._seen) * _SMALLEST
                self.effort.enter("smaller random trees", part, n_parts)
            else:
                self.effort.enter("random trees", fold, len(self._seen))
            trees = grow_trees(seen, numbers[-1], self.effort, 4.0**smaller)
            nothing = np.full_like(unseen.codes[:1], -1)
            for at, n in enumerate(numbers):
                first = trees.first(n)
                found[at].append(mean_distributions(first, unseen.views, unseen.codes))
                prior = mean_distributions(first, unseen.views, nothing)
                priors[at].append(np.broadcast_to(prior, found[at][-1].shape))
        return [(np.concatenate(p), np.concatenate(q)) for p, q in zip(found, priors, strict=True)]

    def joint_table_scores(self) -> Floats:
        """Return the class scores of held-out rows under the joint table of a few features."""
        n_folds = len(self._seen)
        found: list[Floats] = []
        for fold in zip(self._seen, self._unseen, self._joint, strict=True):
            self.effort.enter("joint table", n_folds + len(found), 2 * n_folds)
            found.append(joint_scores(*fold, self.effort))
        return np.concatenate(found)

    def loss(self, scores: Floats) -> float:
        """Return the mean -log P(label) of the held-out rows, given class scores, in nats."""
        own = self.held_out
        return log_loss(scores.copy(), own.labels, own.weights) / float(own.weights.sum())

    def gain(self, logs: Floats, than: Floats) -> tuple[float, float]:
        """Return the mean gain in log P(label) of the held-out rows, and its standard error."""
        weights = self.held_out.weights
        total = weights.sum()
        gain = weights @ (logs - than) / total
        spread = weights @ (logs - than - gain) ** 2 / total
        return float(gain), float(np.sqrt(spread / total))

    def is_better(self, scores: Floats, than: Floats) -> bool:
        """Whether the loss with a joint table is lower than that of other scores by enough.

        The gain must be a share of the loss, and exceed its standard error over the held-out rows.
        """
        gain, error = self.gain(*(_label_logs(s, self.held_out) for s in (scores, than)))
        return gain > max(_JOINT_GAIN * self.loss(than), _JOINT_ERRORS * error)

    def costs_little(self, logs: Floats, than: Floats) -> bool:
        """Whether log P(label) of held-out rows is lower by no more than the cost of trees."""
        gain, error = self.gain(than, logs)
        loss = -self.held_out.weights @ than / self.held_out.weights.sum()
        return bool(gain + _TREE_ERRORS * error < _TREE_COST * loss)


class Path:
    """Candidates of one structure; the training of each starts from the parameters of the last.

    Parameters
    ----------
    folded : Folded
    candidate : Candidate
        One of them.
    known : sequence of (Terms, ndarray), optional
        Terms and parameters of a similar model in each fold, from which the first training starts.
    """

    def __init__(
        self,
        folded: Folded,
        candidate: Candidate,
        known: Sequence[tuple[Terms, Floats]] = (),
    ) -> None:
        self._folded = folded
        self._terms = terms = folded.terms(candidate)
        #: The terms and the parameters of each candidate in each fold.
        self.trained: dict[Candidate, list[tuple[Terms, Floats]]] = {}
        prior = folded.sample.prior
        self._models = [start(own, prior, near) for own, near in zip_longest(terms, known)]

    def back_to(self, candidate: Candidate) -> None:
        """Let the next training start from the parameters of a candidate."""
        self._models = [model for _, model in self.trained[candidate]]

    def follow(
        self, candidates: Sequence[Candidate], best: float = np.inf, patience: float = _PATIENCE
    ) -> dict[Candidate, Floats]:
        """Return the class scores of held-out rows under each candidate.

        A score is log P(class | row) up to a constant per row. After a candidate whose loss exceeds
        the minimum by more than `patience`, no further candidates are trained; `best` is the
        minimum of others. Where the effort is spent, only the first candidate of a path is.
        """
        # Encoded anew by each call, as all paths together would take much memory.
        rows = [
            (seen.rows(own), unseen.rows(own))
            for own, (seen, unseen) in zip(self._terms, self._folded.splits, strict=True)
        ]
        found: dict[Candidate, Floats] = {}
        for candidate in candidates:
            if self.trained and self._folded.effort.is_spent:
                break
            found[candidate] = self._scores(candidate, rows)
            loss = self._folded.loss(found[candidate])
            if loss > best + patience:
                break
            best = min(best, loss)
        return found

    def _scores(self, candidate: Candidate, rows: Sequence[tuple[Rows, Rows]]) -> Floats:
        """Train the models of a candidate; return their scores of held-out rows."""
        prior, effort = self._folded.sample.prior, self._folded.effort
        scores: list[Floats] = []
        models: list[Floats] = []
        # No fold starts from another one, which was trained on the rows that it holds out.
        for own, (seen, unseen), begin in zip(self._terms, rows, self._models, strict=True):
            penalty = candidate.penalty(own)
            models.append(train(own, seen, prior, penalty, begin, ROUGHLY, effort))
            scores.append(unseen.scores(Normalised.of(own, models[-1], prior).effects))
        self._models = models
        self.trained[candidate] = list(zip(self._terms, models, strict=True))
        return np.concatenate(scores)


def choose(folded: Folded, n_trees: int = 0) -> Choice:
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
    """
    if folded.is_empty:
        return Choice("star", {Candidate("star", _SINGLE[0]): 1.0}, {})
    search = _Search(folded)
    search.single_features()
    search.pairs()
    search.combine()
    search.joint_table()
    return search.choice(n_trees)


class _Search:
    """The candidates that were compared, and the held-out scores of those that are combined."""

    def __init__(self, folded: Folded) -> None:
        self.folded = folded
        self.structure = "star"
        self.losses: dict[Candidate, float] = {}
        self.held_out: dict[Candidate, Floats] = {}
        self.joint: Floats | None = None

    def _compare(self, found: Mapping[Candidate, Floats]) -> Candidate:
        """Keep the losses of some candidates; return the best of them."""
        self.losses |= {c: self.folded.loss(scores) for c, scores in found.items()}
        return min(found, key=self.losses.__getitem__)

    def single_features(self) -> None:
        """Choose the penalty of features without pairs."""
        self.folded.effort.enter("single features")
        candidates = [Candidate("star", single) for single in _SINGLE]
        self.held_out = self.folded.star.follow(candidates)
        self.base = self.alone = self._compare(self.held_out)
        self.known = self.folded.star.trained[self.base]

    def pairs(self) -> None:
        """Choose the tree of pairs and the penalty of pairs, if any improves."""
        folded = self.folded
        folded.effort.enter("pairs of features")
        if not folded.structures or folded.effort.is_spent:
            return
        probes = [Candidate(s, self.alone.single, _PROBE) for s in folded.structures]
        paths = {probe: Path(folded, probe, self.known) for probe in probes}
        scores = {probe: path.follow([probe]) for probe, path in paths.items()}
        best = self._compare({c: s for own in scores.values() for c, s in own.items()})
        path, found = paths[best], scores[best]
        least = self.losses[best]
        found |= path.follow([replace(best, paired=p) for p in _STRONGER], least, 0.0)
        winner = self._compare(found)
        if winner == best:  # no stronger penalty is better
            path.back_to(best)
            found |= path.follow([replace(best, paired=p) for p in _WEAKER], least)
            winner = self._compare(found)
        gain = self.losses[self.alone] - self.losses[winner]
        if best.structure == "given" or gain > _GAIN:
            self.base, self.structure = winner, best.structure
            self.known = path.trained[winner]
            self.held_out |= found

    def combine(self) -> None:
        """Weight the candidates, and the joint table if there is one."""
        parts = [*self.held_out.values(), *([] if self.joint is None else [self.joint])]
        self.shares = _stacked(parts, self.folded.held_out)
        self.sums = np.tensordot(self.shares, np.stack(parts), 1)

    def joint_table(self) -> None:
        """Take a joint table of a few features, with pairs around it, if the sum improves."""
        folded = self.folded
        folded.effort.enter("joint table")
        if not folded.may_have_joint_table:
            return
        before = self.held_out, self.sums, self.shares
        self.held_out = {c: s for c, s in self.held_out.items() if c.structure == "star"}
        if self.structure != "star":
            around = replace(self.base, around=True)
            found = Path(folded, around, self.known).follow([around])
            self._compare(found)
            self.held_out |= found
        self.joint = folded.joint_table_scores()
        self.combine()
        # Where effort was spent, folds have too few trees to judge by.
        if folded.effort.is_spent or not folded.is_better(self.sums, before[1]):
            self.held_out, self.sums, self.shares = before
            self.joint = None

    def choice(self, n_trees: int) -> Choice:
        """Return the weights of the candidates, and that of `n_trees` random trees."""
        folded, structure = self.folded, self.structure
        weighted = zip(self.held_out, self.shares, strict=False)
        kept = {c: float(share) for c, share in weighted if share > _MIN_SHARE}
        joint_share = 0.0
        if self.joint is not None and self.shares[-1] > _MIN_SHARE:
            joint_share = float(self.shares[-1])
        if not kept and not joint_share:
            kept = {self.alone: 1.0}
        if structure != "given" and all(c.structure == "star" for c in kept):
            structure = "star"
        shares = normalised(self.sums.copy())
        weights = folded.held_out.weights
        impurity = float(weights @ (shares * (1.0 - shares)).sum(axis=1) / weights.sum())
        loss = folded.loss(self.sums)
        choice = Choice(
            structure, kept, self.losses, joint_share=joint_share, loss=loss, impurity=impurity
        )
        # Trees are for interactions, and need features that are informative in each fold.
        return self._with_trees(choice, n_trees) if n_trees and folded.n_informative > 1 else choice

    def _with_trees(self, choice: Choice, n_trees: int) -> Choice:
        """Return the choice with weight, exponent, number and size of at most `n_trees` trees."""
        folded, own = self.folded, self.folded.held_out
        few = own.weights.sum() <= _FEW_ROWS
        numbers = [n for n in _FEWER_TREES if n < n_trees and not few] + [n_trees]
        averages = [_averaged(self.sums, *of, own) for of in folded.tree_posteriors(numbers)]
        most = averages[-1]
        alone = _label_logs(self.sums, own)
        if not most.share or (not few and folded.costs_little(alone, most.logs)):
            return choice
        number, average = next(
            (n, fewer)
            for n, fewer in zip(numbers, averages, strict=True)
            if fewer is most or folded.costs_little(fewer.logs, most.logs)
        )
        leaf_weight = 1.0
        for smaller in range(1, 1 + _SMALLEST) if number < n_trees else ():
            other = _averaged(self.sums, *folded.tree_posteriors([number], smaller)[0], own)
            if not other.share or not folded.costs_little(other.logs, most.logs):
                break
            average, leaf_weight = other, 4.0**smaller
        share, exponent = average.share, average.exponent
        return replace(
            choice,
            tree_share=share,
            tree_exponent=exponent,
            n_trees=number,
            leaf_weight=leaf_weight,
        )


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
        is_star = choice.structure == "star"
        pairs = () if is_star else tree_of(gains_of(sample, choice.structure, effort), joint)
    shares = choice.shares
    if not shares and not joint:  # the joint table was all, and has no features any more
        shares = {Candidate("star", _SINGLE[0]): 1.0}
    star, tree = Terms.of(sample.views, ()), Terms.of(sample.views, pairs)
    parts: list[tuple[float, Effects]] = []
    known: tuple[Terms, Floats] | None = None
    for own in (star, tree):
        rows, model = sample.rows(own), start(own, sample.prior, known)
        for candidate, share in shares.items():
            if (candidate.structure == "star") == (own is star):
                effort.enter(phase, len(parts), n_parts)
                penalty = candidate.penalty(own)
                model = train(own, rows, sample.prior, penalty, model, tolerance, effort)
                parts.append((share, Normalised.of(own, model, sample.prior).effects))
                known = own, model
    widest = Terms.of(sample.views, pairs, joint)
    if joint:
        effort.enter(phase, len(parts), n_parts)
        parts.append((choice.joint_share, _joint_part(sample, widest, effort)))
    return widest, with_share(sample.rows(widest), Effects.mixed(widest, parts))


def _joint_part(sample: Sample, terms: Terms, effort: Effort) -> Effects:
    """Return the effects of a joint table alone, of which the scores are those of its trees."""
    model, table = start(terms, sample.prior), joint_effects(sample, terms.joint, effort)
    model[slice(*terms.begins[-2:])] = table
    effects = Normalised.of(terms, model, sample.prior).effects
    # What the normalisation took from each effect of a class is in its bias.
    return Effects(effects.cells, effects.bias + table[-1] - effects.cells[-1])


class _Average(NamedTuple):
    """Weight and exponent of trees, and log P(label) of the held-out rows under the average."""

    share: float
    exponent: float
    logs: Floats


def _label_logs(scores: Floats, sample: Sample) -> Floats:
    """Return log P(label) of each row, given class scores."""
    own = np.arange(len(sample.labels)), sample.labels
    return np.asarray(scores[own] - log_sum_exp(scores, 1))


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
    own = np.arange(len(sample.labels)), sample.labels
    first = np.exp(_label_logs(sums, sample))
    log_trees = np.log(np.maximum(trees, _LEAST))

    def best(exponent: float) -> tuple[float, float, Floats]:
        """Return the least loss with an exponent, the weight, and the trees' probabilities."""
        second = tempered(log_trees.copy(), exponent, prior_term(priors, exponent))[own]

        def loss(share: float) -> float:
            mean = (1.0 - share) * first + share * second
            prior = _EQUAL * (np.log(share) + np.log1p(-share))
            return -float(sample.weights @ np.log(np.maximum(mean, _LEAST)) + prior)

        found = minimize_scalar(loss, bounds=(1e-6, 1.0 - 1e-6), method="bounded")
        return float(found.fun) + _ONE * np.log(exponent) ** 2, float(found.x), second

    widest = (0.0, np.log(_MAX_EXPONENT))
    power = minimize_scalar(
        lambda log: best(np.exp(log))[0], bounds=widest, method="bounded", options={"xatol": 1e-3}
    )
    exponent = float(np.exp(power.x))
    if exponent < _MIN_EXPONENT:
        exponent = 1.0
    _, share, second = best(exponent)
    if share < _MIN_TREE_SHARE:
        share, exponent = 0.0, 1.0
    logs = np.log(np.maximum((1.0 - share) * first + share * second, _LEAST))
    return _Average(share, exponent, logs)


def _stacked(scores: Sequence[Floats], sample: Sample) -> Floats:
    """Return the non-negative stacking weights, one per candidate, of the lowest log loss.

    `scores` has the scores of the rows of `sample` under each candidate.
    """
    centred = np.stack([s - s.mean(axis=1, keepdims=True) for s in scores])

    def objective(shares: Floats) -> tuple[float, Floats]:
        residuals = np.tensordot(shares, centred, 1)
        loss = log_loss(residuals, sample.labels, sample.weights)
        excess = float(shares.sum()) - 1.0
        gradient = np.tensordot(centred, residuals, 2) + 2.0 * _SUM * excess
        return loss + _SUM * excess**2, gradient

    n = len(centred)
    found = minimize(
        objective, np.full(n, 1.0 / n), jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * n
    )
    return np.asarray(found.x)
