"""Tree and forest structures of features: maximum spanning trees over scores of arcs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import DataError, GraphError, unknown_variable
from bayesgraph.core.variables import Continuous, Discrete, Name, Variable
from bayesgraph.learning.arcs import TIE_DECIMALS, ArcRules, ArcScores, at_least
from bayesgraph.learning.candidates import (
    Candidates,
    candidate_pairs,
    candidate_scores,
    candidate_tree,
    joinable,
    scores_of_pairs,
)
from bayesgraph.learning.scores import fcll
from bayesgraph.learning.structure import Structure, below_class, check_source, learner, target_of
from bayesgraph.statistics import (
    CountSource,
    SmoothingLike,
    as_smoothing,
    one_of,
    safe_divide,
)

# Function from the scores of all arcs to the weights of edges, in nats per row, shape (d, d).
_Worth: TypeAlias = Callable[[ArcScores], Floats]


@learner(counts_ahead={"candidates": (None,)})
def tan(
    source: CountSource,
    smoothing: SmoothingLike = "dirichlet",
    *,
    root: Name | None = None,
    score: str = "likelihood",
    required: Iterable[Any] | None = None,
    forbidden: Iterable[Any] | None = None,
    candidates: int | None = None,
) -> Structure:
    """Return the tree-augmented naive Bayes (TAN) structure.

    The star plus a maximum spanning tree over the features, weighted by conditional mutual
    information given the class (Friedman, Geiger, Goldszmidt 1997). For mixed types the tree over
    the discrete features is built first and contracted to one node, to which continuous features
    are joined; every arc between the types then points to the continuous feature.

    Parameters
    ----------
    source : CountSource
    smoothing : name, number or Smoothing
        Smoothing of the moments from which scores are computed.
    root : name, optional
        Root of the tree; by default the first discrete feature, or the first feature if all are
        continuous.
    score : {"likelihood", "fcll"}
        Score that the tree maximises: the likelihood, or the factorised conditional log likelihood
        (Carvalho, Roos, Oliveira, Myllymäki 2011), in which an edge has the weight
        ``p I(X; Y | C) + q [I(X; Y | C) - I(X; Y)]`` with p = (pi² - 6) / 12 and
        q = (18 - pi²) pi² / 144: it rewards discrimination of the classes beside the likelihood.
    required, forbidden : iterable of (name, name), optional
        Edges between features; their directions are ignored, as the root determines directions. If
        too few edges are allowed for one tree, the result is a forest. Columns of one value and
        pairs that too few rows have (see `ArcScores`) get no others than required edges.
    candidates : int, optional
        For very many columns: all pairs are scored in a sample of 65,536 rows, and only the best
        partners of each feature, as many as this number, and the edges of the sample's tree are
        counted in all rows. The tree is then the best one among these edges.

    Raises
    ------
    DataError
        For `candidates` with the score "fcll", or of a source that has statistics only.
    MemoryLimitError
        If the scores of all pairs, or the statistics of the candidates, do not fit in memory.
    GraphError
        If the root is continuous and there are discrete features, or if no tree contains all
        required edges.
    UnknownVariableError
        If the root or an end of an edge is not a feature.
    """
    target = target_of(source, "tan")
    one_of("score", score, ("likelihood", "fcll"))
    features = source.features
    rules = ArcRules.of(required, forbidden, [v.name for v in features])

    def worth(scores: ArcScores) -> Floats:
        if score == "likelihood":
            return scores.gains
        alone = scores_of_pairs(source, features, None, as_smoothing(smoothing))
        return fcll(scores.gains, alone.gains)

    if candidates is not None and score == "fcll":
        raise DataError("candidates= takes score='likelihood'.")
    return _augmented(source, smoothing, target, features, root, worth, rules, candidates)


@learner(counts_ahead={"candidates": (None,)})
def forest(
    source: CountSource,
    smoothing: SmoothingLike = "dirichlet",
    *,
    root: Name | None = None,
    score: str | float = "bic",
    required: Iterable[Any] | None = None,
    forbidden: Iterable[Any] | None = None,
    candidates: int | None = None,
) -> Structure:
    """Return the forest-augmented naive Bayes structure.

    The tree of `tan`, from which an edge is left out if its gain in log likelihood does not exceed
    the penalty for the parameters that it adds.

    Parameters
    ----------
    source, smoothing, root
        As for `tan`; `root` is the root of the component that contains it.
    score : {"bic", "aic"} or float
        An edge is kept if its gain in log likelihood exceeds log(rows) / 2 ("bic", Schwarz 1978) or
        1 ("aic", Akaike 1974) per parameter that it adds; or, if `score` is a number, if its gain
        per row exceeds this threshold, in nats.
    required, forbidden, candidates
        As for `tan`; a required edge is always kept.
    """
    target = target_of(source, "forest")
    features = source.features
    rules = ArcRules.of(required, forbidden, [v.name for v in features])
    if isinstance(score, str):
        one_of("score", score, ("bic", "aic"))
    elif not (isinstance(score, (int, float)) and np.isfinite(score)):
        raise DataError(f"score= takes 'bic', 'aic' or a threshold in nats a row; got {score!r}.")
    worth = partial(_net, score)
    args = source, smoothing, target, features, root, worth, rules, candidates
    return _augmented(*args, pays=True)


@learner(counts_ahead={"candidates": (None,)})
def chow_liu(
    source: CountSource,
    smoothing: SmoothingLike = "dirichlet",
    *,
    root: Name | None = None,
    required: Iterable[Any] | None = None,
    forbidden: Iterable[Any] | None = None,
    candidates: int | None = None,
) -> Structure:
    """Return the tree over all columns, the class included, with the highest likelihood.

    Chow and Liu (1968): a maximum spanning tree over mutual information.

    Parameters
    ----------
    source, smoothing, required, forbidden, candidates
        As for `tan`; edges may include the class.
    root : name, optional
        Root of the tree; by default the class if there is one, else as for `tan`.
    """
    check_source(source, "chow_liu")
    target = source.target
    columns = source.features if target is None else (target, *source.features)
    if root is None and target is not None:
        root = target.name
    rules = ArcRules.of(required, forbidden, [v.name for v in columns])
    args = source, smoothing, None, columns, root, lambda scores: scores.gains, rules, candidates
    return _augmented(*args)


def _net(score: str | float, scores: ArcScores) -> Floats:
    """Return the gain in log likelihood minus a penalty of each edge, in nats per row, (d, d).

    If `score` is "bic" or "aic", this is the penalty of the parameters that the edge adds. If
    `score` is a number, this threshold is subtracted from every gain.
    """
    if isinstance(score, str):
        return safe_divide(scores.net(score), scores.total)
    return scores.gains - score


def _augmented(
    source: CountSource,
    smoothing: SmoothingLike,
    given: Discrete | None,
    columns: tuple[Variable, ...],
    root: Name | None,
    worth: _Worth,
    rules: ArcRules,
    candidates: int | None,
    *,
    pays: bool = False,
) -> Structure:
    """Return a directed maximum spanning tree or forest; `given` is a parent of all columns too.

    `worth` computes edge weights from the scores of arcs; `pays` says whether to leave out edges
    without a positive weight, which makes a forest. `candidates` is described in `tan`.
    """
    at_root = _root(columns, root)
    smoothing = as_smoothing(smoothing)
    if candidates is None:
        of_all = scores_of_pairs(source, columns, given, smoothing)
        allowed = joinable(columns, rules)
        pairs = Candidates.of(np.argwhere(np.triu(allowed | allowed.T)), columns, rules)
        at = pairs.parents, pairs.children
        both = np.maximum(of_all.gains, of_all.gains.T)
        weights, gains, learnable = worth(of_all)[at], both[at], of_all.learnable[at]
    else:
        n = at_least("candidates", candidates, 1)
        pairs = candidate_pairs(source, columns, given, smoothing, n, rules)
        scores = candidate_scores(source, columns, given, smoothing, pairs)
        weights, gains, learnable = worth(scores), scores.gains, scores.learnable
    if pays:
        learnable = learnable & (np.round(weights, TIE_DECIMALS) > 0)
    chosen = candidate_tree(columns, pairs, np.where(learnable, weights, -np.inf))
    edges = {
        (int(pairs.parents[i]), int(pairs.children[i])): float(gains[i]) for i in chosen.tolist()
    }
    _check_required(columns, rules, edges)
    arcs = directed(columns, edges, at_root)
    scored = {
        (columns[i].name, columns[j].name): edges[(i, j) if (i, j) in edges else (j, i)]
        for i, j in arcs
    }
    return below_class(given, columns, scored)


def _root(columns: tuple[Variable, ...], name: Name | None) -> int | None:
    if name is None:
        return None
    names = [v.name for v in columns]
    if name not in names:
        raise unknown_variable(name, names, where="root=: the tree")
    root = names.index(name)
    if isinstance(columns[root], Continuous) and any(isinstance(v, Discrete) for v in columns):
        raise GraphError(
            f"root={name!r} is continuous, but a discrete feature cannot have a continuous parent; "
            "choose a discrete root."
        )
    return root


def _check_required(
    columns: tuple[Variable, ...], rules: ArcRules, edges: Iterable[tuple[int, int]]
) -> None:
    """Raise a GraphError if a required edge is not in a tree."""
    kept = {frozenset((columns[i].name, columns[j].name)) for i, j in edges}
    for one, other in rules.required:
        if {one, other} not in kept:
            raise GraphError(
                f"The required edge {one!r} - {other!r} is in no tree with "
                "the others: together they form a cycle, or give a column two parents. Leave one "
                "out, or learn a structure of more parents, such as kdb."
            )


def rooted_forest(
    n: int, edges: Iterable[tuple[int, int]], roots: Iterable[int]
) -> tuple[list[int | None], list[int]]:
    """Return the parent of each node of an undirected forest, and an order with parents first.

    The root of each tree is the first element of `roots` that the tree contains. `n` is the number
    of nodes.
    """
    near: list[list[int]] = [[] for _ in range(n)]
    for i, j in edges:
        near[i].append(j)
        near[j].append(i)
    parent: list[int | None] = [None] * n
    order: dict[int, None] = {}
    for root in roots:
        queue = [] if root in order else [root]
        for at in queue:
            order[at] = None
            for other in sorted(near[at]):
                if other not in order and other != parent[at]:
                    parent[other] = at
                    queue.append(other)
    return parent, list(order)


def directed(
    columns: tuple[Variable, ...], edges: Iterable[tuple[int, int]], root: int | None
) -> list[tuple[int, int]]:
    """Return the arcs of a forest directed away from its roots, in the order of their children.

    The root of a component is `root` if the component contains it, else its first discrete
    variable, else its first variable.
    """
    discrete = [i for i, v in enumerate(columns) if isinstance(v, Discrete)]
    roots = [*([] if root is None else [root]), *discrete, *range(len(columns))]
    parent, _ = rooted_forest(len(columns), edges, roots)
    return [(above, child) for child, above in enumerate(parent) if above is not None]
