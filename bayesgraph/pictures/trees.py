"""Trees as pictures: each split with its feature, each leaf with its distribution."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from scipy.special import entr

from bayesgraph.core.display import BLUE, BOX, CARD, COLOURS, LINE
from bayesgraph.core.errors import GraphError
from bayesgraph.core.variables import Discrete, Variable
from bayesgraph.models import Branch, GaussianCPD, TreesCPD, interval_text, number, texts
from bayesgraph.pictures import dot_labels, style
from bayesgraph.pictures.dot import drawn_graph, statement

_MAX_LISTED = 3
# Maximum number of leaves in one row.
_WIDE_FROM = 12
# Share of a leaf's rows that its bars show, if its classes are many.
_SHOWN = 0.95

# State codes of each discrete parent that are possible after the splits above.
_Possible = Mapping[Variable, frozenset[int]]


@style.styled()
def impurity_figure() -> style.Figure:
    """Return a figure of the impurities by which trees choose splits, for two classes.

    Entropy, Gini impurity and classification error over the share of one class; the entropy as it
    is, in bits, and halved, so that all have one height (after Hastie, Tibshirani and Friedman
    2009, figure 9.3).

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    MissingDependencyError
        If matplotlib is not installed.
    """
    axes = style.new_figure(1.4 * style.PANEL, style.PANEL).add_subplot()
    share = np.linspace(0.0, 1.0, 401)
    entropy = (entr(share) + entr(1.0 - share)) / math.log(2.0)
    curves = {
        "entropy (bits)": entropy,
        "entropy / 2": entropy / 2,
        "Gini": 2 * share * (1.0 - share),
        "classification error": np.minimum(share, 1.0 - share),
    }
    for (name, impurity), colour, dashes in zip(
        curves.items(), COLOURS, style.DASHES, strict=False
    ):
        axes.plot(share, impurity, color=colour, linestyle=dashes, linewidth=1.8, label=name)
    axes.set(xlim=(0, 1), ylim=(0, 1.03), xlabel="share of one class", ylabel="impurity")
    axes.legend(fontsize=8)
    note = "zero for a pure node, largest where both classes are equally frequent"
    style.heading(axes, "Impurity of a node", note)
    return axes.figure


def tree_to_dot(
    cpd: TreesCPD,
    *,
    numbers: GaussianCPD | None = None,
    max_depth: int | None = 6,
    max_states: int = 6,
    rankdir: str | None = None,
) -> str:
    """Return a tree in the DOT language: splits, conditions on the arcs, bars at the leaves.

    Parameters
    ----------
    cpd : TreesCPD
        If it has the number of rows that reached each node in fitting, these numbers are shown.
    numbers : GaussianCPD, optional
        For a regression tree, whose child is the variable of the leaves: CPD of the target given
        the leaf. The leaves show mean ± standard deviation of the target instead of bars.
    max_depth : int, optional
        Maximum number of splits on a path; a deeper subtree is replaced by its number of leaves.
        None shows all.
    max_states : int
        Maximum number of bars at a leaf, which are those of the most probable states. Fewer are
        drawn if they have 95 per cent of the rows.
    rankdir : {"TB", "LR"}, optional
        Whether the tree grows downwards or to the right; by default to the right if more than 12
        leaves are drawn.

    Raises
    ------
    GraphError
        If `rankdir` is neither "TB" nor "LR", `max_depth` is negative, the only parent of
        `numbers` is not the tree's child, or there are several trees.

    Examples
    --------
    >>> import bayesgraph as bg
    >>> age, sick = bg.Continuous("age"), bg.Discrete("sick", ["no", "yes"])
    >>> cpd = bg.models.TreesCPD(sick, bg.Split(age, 40.0, [0.9, 0.1], [0.4, 0.6]), [age])
    >>> print(tree_to_dot(cpd).splitlines()[-3])
      n0 -> n1 [label=" ≤ 40 ", tooltip="age ≤ 40.0"];
    """
    if rankdir not in ("TB", "LR", None):
        raise GraphError(f"rankdir is 'TB' or 'LR'; got {rankdir!r}.")
    if max_depth is not None and max_depth < 0:
        raise GraphError(f"max_depth is a number of splits, 0 or more; got {max_depth!r}.")
    if numbers is not None and numbers.parents != (cpd.variable,):
        raise GraphError(
            f"numbers= is the CPD of a number whose only parent is {cpd.variable.name!r}; got "
            f"{numbers.title}."
        )
    tree = cpd.trees
    if len(tree.roots) > 1:
        raise GraphError(
            f"{cpd.title} is the mean of {len(tree.roots):,} trees, too many for a picture; print "
            "it to see on what they split."
        )
    deepest = math.inf if max_depth is None else max_depth
    anything: _Possible = {p: frozenset(range(p.cardinality)) for p in cpd.discrete_parents}
    splits, leaves, arcs = list[str](), list[str](), list[str]()
    # Nodes whose subtrees are still to be drawn, with the number of splits above each.
    stack: list[tuple[int, int, _Possible]] = [(int(tree.roots[0]), 0, anything)]
    while stack:
        node, depth, possible = stack.pop()
        if tree.feature[node] < 0:
            leaves.append(_leaf(cpd, node, numbers, max(1, max_states)))
            continue
        if depth >= deepest:
            leaves.append(_subtree(cpd, node))
            continue
        splits.append(_split(cpd, node))
        for branch in tree.branches(node):
            text, full, possible_below = _condition(cpd, node, branch, possible)
            look = {"label": f" {text} ", "tooltip": full}
            arcs.append(statement(f"n{node} -> n{branch.node}", look))
            stack.append((branch.node, depth + 1, possible_below))
    child = f"P({cpd.variable.name}" if numbers is None else f"p({numbers.variable.name}"
    parents = ", ".join(str(parent.name) for parent in cpd.parents)
    heading = f"{child} | {parents})" if parents else f"{child})"
    look = {"label": heading, "labelloc": "t", "fontsize": "12", "ordering": "out"}
    title = statement("graph", look)
    # The order of the indices, in statements "n0 [...", makes Graphviz draw left children on the
    # left.
    nodes = sorted(splits + leaves, key=lambda line: int(line[1 : line.index(" ")]))
    rankdir = rankdir or ("LR" if len(leaves) > _WIDE_FROM else "TB")
    return drawn_graph("digraph Tree", rankdir, [title, *nodes, *arcs])


def _split(cpd: TreesCPD, node: int) -> str:
    """Return the DOT statement of a split, with the name of its feature."""
    parent = cpd.parents[cpd.trees.feature[node]]
    name = texts([parent.name], dot_labels.LONGEST_NAME)[0]
    return _box(cpd, node, dot_labels.title(name), tooltip=dot_labels.tooltip(parent))


def _leaf(cpd: TreesCPD, node: int, numbers: GaussianCPD | None, max_states: int) -> str:
    """Return the DOT statement of a leaf, with the shares of its states or its mean.

    `numbers` are the Gaussians of the leaves of a regression tree, None of a classification tree.
    """
    # Of a leaf, `below` is the index of its values.
    shares = cpd.trees.values[cpd.trees.below[node]]
    # The states of a regression tree's child are its leaves: this leaf's row of `numbers`.
    most_probable = int(np.argmax(shares))
    if numbers is None:
        n_bars = max_states
        if len(shares) > max_states:
            # As few of the most probable states as have `_SHOWN` of the rows.
            totals = np.cumsum(np.sort(shares)[::-1][:max_states])
            n_bars = min(max_states, int(np.searchsorted(totals, _SHOWN)) + 1)
        text = dot_labels.bars(cpd.variable, shares, BLUE, n_bars)
    else:
        mean, variance = float(numbers.mean[most_probable]), numbers.variance[most_probable]
        text = dot_labels.font(dot_labels.with_spread(mean, math.sqrt(float(variance))), bold=True)
    state = texts(cpd.variable.states, dot_labels.LONGEST_STATE)[most_probable]
    tooltip = f"{cpd.variable.name}: {state}"
    return _box(cpd, node, text, fillcolor=BOX, color=LINE, tooltip=tooltip)


def _subtree(cpd: TreesCPD, node: int) -> str:
    """Return the DOT statement of a box drawn for a subtree, with its number of leaves."""
    n_leaves, waiting = 0, [node]
    while waiting:
        descendant = waiting.pop()
        if cpd.trees.feature[descendant] < 0:
            n_leaves += 1
        else:
            # The two children of a node are neighbours.
            waiting += [int(cpd.trees.below[descendant]) + side for side in (0, 1)]
    look = {"style": "rounded,filled,dashed", "fillcolor": CARD}
    note = dot_labels.muted(f"… {n_leaves} leaves")
    return _box(cpd, node, note, **look, tooltip=f"{n_leaves} leaves below")


def _box(cpd: TreesCPD, node: int, text: str, **look: str) -> str:
    """Return the DOT statement of a node, with the number of its rows if that is known."""
    parts = [text]
    if len(cpd.trees.counts):
        count = float(cpd.trees.counts[node])
        shown = f"{count:,.0f}" if count == round(count) else number(count)
        parts.append(dot_labels.small(f"{shown} {'row' if count == 1 else 'rows'}"))
    return statement(f"n{node}", {"label": dot_labels.stack(parts), **look})


def _condition(
    cpd: TreesCPD, node: int, branch: Branch, possible: _Possible
) -> tuple[str, str, _Possible]:
    """Return (short condition, full condition, possible states) of a branch of a split.

    `possible` has the states of each discrete feature that are still possible at the node; those
    that are returned are possible below the branch.
    """
    parent = cpd.parents[cpd.trees.feature[node]]
    if not isinstance(parent, Discrete):
        short = interval_text("", branch.low, branch.high)
        full = interval_text(str(parent.name), branch.low, branch.high, repr)
        return short, full, possible
    here = possible[parent]
    chosen = here & frozenset(np.flatnonzero(branch.states).tolist())
    names = texts(parent.states, dot_labels.LONGEST_STATE)
    inside = [names[code] for code in sorted(chosen)]
    outside = [names[code] for code in sorted(here - chosen)]
    # States that are left out are named instead if they are few.
    text = ", ".join(inside[:_MAX_LISTED]) or "(nothing)"
    if len(inside) > _MAX_LISTED:
        text += f" … {len(inside) - _MAX_LISTED} more"
    # A chain: many states are inside, and a few, but one at least, are left out.
    if len(inside) > _MAX_LISTED >= len(outside) > 0:
        text = f"not {' or '.join(outside)}"
    full = f"{parent.name}: {', '.join(inside) or 'nothing is left'}"
    return text, full, {**possible, parent: chosen}
