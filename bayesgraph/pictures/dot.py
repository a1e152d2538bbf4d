"""Networks and factor graphs in Graphviz' DOT language, with states, tables or posteriors."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from bayesgraph import models
from bayesgraph.core import display
from bayesgraph.core.arrays import Floats, check_flags
from bayesgraph.core.errors import GraphError, UnsupportedModelError, quoted
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.typing import EvidenceLike
from bayesgraph.core.variables import Arc, Binned, Continuous, CountVector, Discrete, Name, Variable
from bayesgraph.graphs import PDAG
from bayesgraph.inference import Factor, NumberMixture, Posterior, interval_text
from bayesgraph.pictures import dot_labels
from bayesgraph.questions import CausalGraph

# --------- Networks and factor graphs in Graphviz' DOT language, with states, tables or posteriors


_FONT = "Helvetica,Arial,sans-serif"

# Tolerance within which the probability of an arc counts as 1.
_ROUNDING = 1e-9
# Probability from which an arc of a mixture is drawn without a number.
_CERTAIN = 0.995
# Opacity of an arc of probability 0.
_MIN_OPACITY = 0.15
# Minimum number of children for which a parent of all other variables has one arrow to a box.
_PLATE_FROM = 13
# The same if nodes are wide, because they show posteriors or tables.
_PLATE_FROM_WIDE = 8
# Maximum number of arcs of a mixture that have their probability as a number.
_MAX_NUMBERED = 30
# Maximum number of exponents of one feature that are written out.
_MAX_EXPONENTS = 4
# Number of digits of exponents on arcs and in boxes.
_DIGITS = 2
# Maximum number of nodes without arcs in one row.
_ROW = 6
_RANKDIRS = ("TB", "BT", "LR", "RL")

_Drawn: TypeAlias = Any


def model_to_dot(
    model: _Drawn,
    *,
    evidence: EvidenceLike = None,
    target: Name | None = None,
    states: bool = True,
    beliefs: bool = False,
    tables: bool = False,
    scores: bool = True,
    plate: bool | None = None,
    arc_probabilities: Mapping[Arc, float] | None = None,
    rankdir: str = "TB",
    max_states: int = 10,
    max_rows: int = 8,
) -> str:
    """Return a model as a graph in the DOT language.

    Discrete variables are boxes, and continuous variables are ellipses (boxes if they show a
    density or a table). Vectors of counts are plates: boxes with two outlines and the number of
    their items. In a factor graph the factors are small squares with their exponent if it is not 1.
    A mixture shows the arcs of all its networks, the less probable the paler; arcs in both
    directions are one line. Of an average of a network and random trees the network is drawn. In a
    weighted network the exponents are on the arcs from the class. The
    same model and options give the same text.

    Parameters
    ----------
    model : BayesianNetwork, Ensemble, FactorGraph or WeightedNetwork
    evidence : mapping from name to value, optional
        As in `query`. Observed nodes are shaded and show their value; soft evidence has a
        dashed outline.
    target : name, optional
        The node to highlight.
    states : bool
        List the states under the names.
    beliefs : bool
        Draw the posterior of every variable given the evidence: a bar for each state, a
        histogram of a number with intervals, or mean ± standard deviation and density of a
        continuous variable. Nothing is drawn for a variable without an exact posterior, such as a
        continuous feature of a tree.
    tables : bool
        Write the conditional distributions (the tables of factors) into the nodes. To see those of
        a mixture, draw one of its networks.
    scores : bool
        Label arcs with their scores, in nats, and scale their widths by them; in a mixture, label
        arcs with their probabilities if these differ.
    plate : bool, optional
        Draw a variable that is a parent of all others, such as the class of a TAN, with a single
        arrow to a box (a DOT cluster) around the others. The scores or exponents of its arcs are
        then written under the names. By default for at least 13 other variables, or 8 if beliefs or
        tables are drawn.
    arc_probabilities : mapping from (parent, child) to float, optional
        Draw arcs with these probabilities, the less probable the paler, in the place of scores; as
        for the averaged network of :func:`bayesgraph.arc_confidence`.
    rankdir : {"TB", "BT", "LR", "RL"}
        Direction of the arcs: "TB" is from top to bottom, and so on.
    max_states, max_rows : int
        Maximum numbers of states and of table rows to show; the number of the others is written
        below, unless it is one, which is shown. Bars are drawn for the most probable states.

    Raises
    ------
    UnknownVariableError, EvidenceError
        For a target or evidence that does not fit the model.
    ImpossibleEvidenceError
        If beliefs are requested given evidence of probability zero.
    GraphError
        For an unknown `rankdir`, or a plate where no variable is a parent of all others.

    Examples
    --------
    >>> import bayesgraph as bg
    >>> rain, wet = bg.Discrete("rain", ["no", "yes"]), bg.Discrete("wet", ["no", "yes"])
    >>> net = bg.BayesianNetwork([
    ...     bg.TableCPD(rain, [0.8, 0.2]),
    ...     bg.TableCPD(wet, [[0.9, 0.1], [0.2, 0.8]], parents=[rain]),
    ... ])
    >>> print(model_to_dot(net, states=False).splitlines()[-2])
      n0 -> n1 [tooltip="rain → wet"];
    """
    if rankdir not in _RANKDIRS:
        raise GraphError(f"rankdir is one of {quoted(_RANKDIRS)}; got {rankdir!r}.")
    check_flags(states=states, beliefs=beliefs, tables=tables, scores=scores)
    drawn, notes = _readable(model)
    encoded = drawn._encode(evidence)
    names = models.texts(drawn.names, dot_labels.LONGEST_NAME)
    if arc_probabilities is None and len(drawn.networks) > 1:
        arc_probabilities = drawn.arc_probabilities
    drawing = _Drawing(
        model=drawn,
        titles=dict(zip(drawn.names, names, strict=True)),
        ids={name: f"n{i}" for i, name in enumerate(drawn.names)},
        evidence=encoded,
        target=None if target is None else drawn.variable(target),
        posteriors=_posteriors(model, drawn.variables, evidence, encoded) if beliefs else {},
        states=states,
        beliefs=beliefs,
        tables=tables,
        scores=scores,
        arc_probabilities=arc_probabilities,
        max_states=max(1, max_states),
        max_rows=max(1, max_rows),
    )
    if drawn.networks:
        return drawn_graph("digraph BayesianNetwork", rankdir, drawing.network(notes, plate))
    return drawn_graph("graph FactorGraph", rankdir, drawing.factor_graph())


def drawn_graph(kind: str, rankdir: str, body: Iterable[str]) -> str:
    """Return a graph in the DOT language, given its statements."""
    lines = [*_defaults(rankdir), *body]
    return "\n".join([f"{kind} {{", *(f"  {line}" for line in lines), "}", ""])


def _readable(model: _Drawn) -> tuple[_Drawn, list[str]]:
    """Return the part of a model that is drawn, and a note or none on the rest.

    Of an average of a network and random trees it is the network: trees of all features have an arc
    from each of them, which shows nothing.
    """
    # A mixture of networks is a joint distribution, which an average of their predictions is not.
    if model._is_joint or len(model.networks) < 2:
        return model, []
    n_trees = [_n_trees(network) for network in model.networks]
    without_trees = [i for i, n in enumerate(n_trees) if not n]
    network = model.networks[without_trees[0]] if len(without_trees) == 1 else None
    if network is None or set(network.names) != set(model.names):
        return model, []
    weight = float(model.weights[without_trees[0]])
    note = f"not drawn: {sum(n_trees):,} random trees, averaged with this network (its weight "
    note += f"{weight:.2f}, theirs {1.0 - weight:.2f})"
    for name, exponents in model.exponents.items():
        note += f", exponents of {name} {', '.join(f'{e:.2g}' for e in exponents)}"
    return network, [note]


def _n_trees(network: _Drawn) -> int:
    """Return the number of trees in the averages of trees of a network; a single tree is none."""
    cpds = [cpd for _, inner in models.networks_in(network) for cpd in inner.cpds]
    numbers = [len(c.trees.roots) for c in cpds if isinstance(c, models.TreesCPD)]
    return sum(n for n in numbers if n > 1)


def _posteriors(
    model: _Drawn, variables: Iterable[Variable], evidence: EvidenceLike, encoded: Evidence
) -> dict[Variable, Any]:
    """Return the exact posterior of each unobserved variable of the picture that has one."""
    posteriors: dict[Variable, Any] = {}
    for variable in variables:
        if variable in encoded:
            continue
        # A continuous feature of a tree has no exact posterior: its node shows none.
        with suppress(UnsupportedModelError):
            posterior = model.query(variable.name, evidence)
            if isinstance(variable, Binned) and posterior.variables != (variable,):
                # An average has the cut points of all networks, the picture those of one.
                places = variable.codes_of(posterior.variables[0])
                shares = np.bincount(places, posterior.probabilities).astype(np.float64)
                posterior = Posterior((variable,), shares, posterior.log_evidence)
            posteriors[variable] = posterior
    return posteriors


def _defaults(rankdir: str) -> list[str]:
    """Return the statements that set the default attributes of graph, nodes and edges."""
    font = {"fontname": _FONT}
    graph = {"rankdir": rankdir, "bgcolor": "white", "compound": "true", "pad": "0.15",
             "nodesep": "0.25", "ranksep": "0.4", "fontsize": dot_labels.NOTE_SIZE,
             "fontcolor": display.MUTED}  # fmt: skip
    node = {"shape": "box", "style": "rounded,filled", "fillcolor": display.CARD,
            "color": display.LINE, "penwidth": "1", "fontsize": dot_labels.NAME_SIZE,
            "fontcolor": display.INK, "margin": "0.13,0.07", "width": "0.5",
            "height": "0.36"}  # fmt: skip
    edge = {"color": display.ARC, "penwidth": "0.9", "arrowsize": "0.6",
            "fontsize": dot_labels.NOTE_SIZE, "fontcolor": display.MUTED}  # fmt: skip
    looks = {"graph": graph, "node": node, "edge": edge}
    return [statement(kind, look | font) for kind, look in looks.items()]


class _Number(NamedTuple):
    """A score or an exponent of an arc.

    Attributes
    ----------
    value : float
        The width of the arc is by it.
    label, whole, under : str
        Its texts on the arc, in the tooltip, and under the name of the child.
    """

    value: float
    label: str
    whole: str
    under: str


@dataclass(frozen=True)
class _Drawing:
    """A model and the options of its drawing, with methods that return DOT statements.

    Attributes
    ----------
    model : Model
    titles : mapping from name to str
        Names as they are shown, shortened and different.
    ids : mapping from name to str
        Names of the nodes in DOT.
    evidence : Evidence
        One row.
    target : Variable or None
        The node to highlight.
    posteriors : mapping from Variable to Posterior or NumberMixture
        Of the unobserved variables that have one, if beliefs are drawn.
    states, beliefs, tables, scores, arc_probabilities, max_states, max_rows
        Options of `model_to_dot`.
    """

    model: _Drawn
    titles: Mapping[Name, str]
    ids: Mapping[Name, str]
    evidence: Evidence
    target: Variable | None
    posteriors: Mapping[Variable, Posterior | NumberMixture]
    states: bool
    beliefs: bool
    tables: bool
    scores: bool
    arc_probabilities: Mapping[Arc, float] | None
    max_states: int
    max_rows: int

    # --------------------------------------------------------------------------- whole graphs

    def network(self, notes: Sequence[str], plate: bool | None) -> list[str]:
        """Return the statements of a Bayesian network, a mixture, or a weighted network.

        `notes` are written below the graph.
        """
        net = self.model
        hub = _hub(net)
        if plate and hub is None:
            raise GraphError(
                "A plate is drawn for a variable that is a parent of all others, which this "
                "network does not have. Leave plate=True out."
            )
        n_children = _PLATE_FROM_WIDE if self.beliefs or self.tables else _PLATE_FROM
        if plate is False or (plate is None and len(net.names) - 1 < n_children):
            hub = None
        # Variables are matched by name: those of an average's members may have fewer states.
        pairs = dict.fromkeys((p.name, cpd.variable.name) for cpd in net.cpds for p in cpd.parents)
        arcs = [arc for arc in pairs if arc[0] != hub]
        numbers, meaning = self.numbers(pairs)
        under = {child: n.under for (parent, child), n in numbers.items() if parent == hub}
        if self.arc_probabilities is None:
            lines, on_arcs = self.arcs(arcs, numbers, meaning)
        else:
            lines, on_arcs = self.pale_arcs(arcs, self.arc_probabilities)
        caption = [_caption("; ".join([*on_arcs, *notes]))] if on_arcs or notes else []
        # A mixture has several distributions of a variable.
        inner = [network for _, network in models.networks_in(net)]
        cpds = {v.name: inner[0][v.name] if len(inner) == 1 else None for v in net.variables}
        members = [name for name in net.names if name != hub]
        linked = {end for arc in arcs for end in arc}
        lonely = [name for name in members if name not in linked]
        nodes = [self.node(net.variable(n), cpds[n], under.get(n, "")) for n in members]
        nodes += [*lines, *self.rows(lonely)]
        if hub is None:
            return [*nodes, *caption]
        # Nodes with a parent other than the hub.
        children = {child for _, child in arcs}
        # The top row of the box: nodes without parents in it, and a row of those without arcs.
        tops = [name for name in members if name in linked and name not in children]
        tops += lonely[: _row_length(len(lonely))]
        note = f"{self.titles[hub]} is a parent of all {len(members)} in this box"
        if under:
            note += f"; under their names the {meaning.removesuffix(' in nats')}"
        return [
            self.node(net.variable(hub), cpds[hub]),
            *_box(nodes, note),
            # In a mixture all in the box may have parents there.
            *self.arrow_to_box(hub, tops or members[:1]),
            *caption,
        ]

    def numbers(self, arcs: Iterable[Arc]) -> tuple[dict[Arc, _Number], str]:
        """Return the scores or the exponents of arcs that have one, and in words what they are."""
        net, numbers = self.model, {}
        if self.arc_probabilities is not None:
            return {}, ""
        # Only weighted networks have a target, and exponents on the arcs from it.
        if net.target is None:
            scores = net.arc_scores if self.scores else {}
            for arc in arcs:
                if arc in scores:
                    label, whole = dot_labels.score(scores[arc]), display.rounded(scores[arc], 6)
                    numbers[arc] = _Number(scores[arc], label, f"{whole} nats", f"{label} nats")
            return numbers, "scores in nats"
        exponents = {arc: net.exponents[arc[1]] for arc in arcs if arc[0] == net.target.name}
        if all((exponent == 1).all() for exponent in net.exponents.values()):
            return {}, ""
        for arc, exponent in exponents.items():
            label, whole = (_exponent(exponent, digits) or "1" for digits in (_DIGITS, 4))
            value = float(np.abs(exponent).max())
            numbers[arc] = _Number(value, label, f"exponent {whole}", f"exponent {label}")
        return numbers, _caption_of_exponents(net.target, exponents.values())

    def arcs(
        self, arcs: Iterable[Arc], numbers: Mapping[Arc, _Number], what: str
    ) -> tuple[list[str], list[str]]:
        """Return the statements of arcs with numbers, and a note or none on what these are."""
        weighted = self.model.target is not None
        drawn = {arc: numbers[arc] for arc in arcs if arc in numbers}
        finite = [number.value for number in drawn.values() if math.isfinite(number.value)]
        highest = max(finite, default=0.0)
        lines = []
        for arc in arcs:
            look, tooltip = {}, "{} → {}".format(*arc)
            if arc in drawn:
                value, label, whole, _ = drawn[arc]
                # The width is by the share of the highest number; negative and infinite ones have
                # none.
                share = max(value / highest, 0.0) if highest > 0 and math.isfinite(value) else 0.0
                look = {"label": f" {label} ", "penwidth": f"{0.7 + 2.3 * share:.2f}"}
                # The feature of an exponent of 0 has no effect on the class.
                if weighted and not share:
                    look |= {"color": display.PALE, "style": "dashed"}
                tooltip += f": {whole}"
            elif finite and not weighted:  # other arcs have scores, this one has none
                look = {"color": display.PALE, "penwidth": "0.7"}
            lines.append(self.arc(*arc, look | {"tooltip": tooltip}))
        return lines, [f"numbers on arcs: {what}"] if drawn else []

    def pale_arcs(
        self, arcs: Sequence[Arc], probabilities: Mapping[Arc, float]
    ) -> tuple[list[str], list[str]]:
        """Return the statements of a mixture's arcs, paler if less probable, and a note or none."""
        # Arcs in both directions are one line, whose probability is their sum.
        joined: dict[frozenset[Name], float] = {}
        for arc in arcs:
            joined[frozenset(arc)] = joined.get(frozenset(arc), 0.0) + probabilities.get(arc, 1.0)
        are_numbered = len({f"{p:.2f}" for p in joined.values()}) > 1
        are_numbered = are_numbered and self.scores and len(joined) <= _MAX_NUMBERED
        lines = []
        for parent, child in arcs:
            probability = joined.pop(frozenset((parent, child)), None)
            if probability is None:
                continue  # already drawn with the opposite arc
            both = (child, parent) in arcs
            opacity = _MIN_OPACITY + (1.0 - _MIN_OPACITY) * min(probability, 1.0)
            look = {"dir": "both"} if both else {}
            # The last two hexadecimal digits are the opacity.
            look["color"] = f"{display.ARC}{round(255 * opacity):02x}"
            if are_numbered and probability < _CERTAIN:
                look["label"] = f" {probability:.2f} "
            text = f"{parent} {'↔' if both else '→'} {child}: {display.rounded(probability, 6)}"
            lines.append(self.arc(parent, child, look | {"tooltip": text}))
        return lines, ["numbers on arcs: their probability; others are 1"] if are_numbered else []

    def arc(self, tail: Name, head: Name, attributes: Mapping[str, str]) -> str:
        """Return the statement of the arc from `tail` to `head`."""
        return statement(f"{self.ids[tail]} -> {self.ids[head]}", attributes)

    def arrow_to_box(self, hub: Name, tops: Sequence[Name]) -> list[str]:
        """Return an arrow from `hub` to the DOT cluster, and invisible arrows that centre the hub.

        The arrows end at `tops`, the nodes in the top row of the cluster.
        """
        # The high weight makes the arrow vertical.
        arrow = {"lhead": "cluster_plate", "penwidth": "1.4", "weight": "100",
                 "tooltip": f"{hub} → all in the box"}  # fmt: skip
        middle = len(tops) // 2
        looks = [arrow if i == middle else {"style": "invis"} for i in range(len(tops))]
        return [self.arc(hub, top, look) for top, look in zip(tops, looks, strict=True)]

    def rows(self, nodes: Sequence[Name]) -> list[str]:
        """Return invisible edges that arrange `nodes`, which have no arcs, in several rows."""
        length, hidden = _row_length(len(nodes)), {"style": "invis"}
        if len(nodes) <= length:
            return []
        # An edge to the node at the same place in the next row.
        below = zip(nodes, nodes[length:], strict=False)
        lines = [self.arc(*pair, hidden) for pair in below]
        for start in range(0, len(nodes), length):
            beside = itertools.pairwise(nodes[start : start + length])
            lines += [f"{{rank=same; {self.arc(*pair, hidden)}}}" for pair in beside]
        return lines

    def factor_graph(self) -> list[str]:
        """Return the statements of a factor graph: variables, factors and edges."""
        terms = self.model.terms
        lines = [self.node(variable, None) for variable in self.model.variables]
        lines += [statement(f"f{i}", self.factor(term)) for i, term in enumerate(terms)]
        for i, term in enumerate(terms):
            # Parents are above the factor and the child below it, as in a Bayesian network.
            ids = [self.ids[variable.name] for variable in term.scope]
            lines += [f"{parent} -- f{i};" for parent in ids[:-1]]
            lines += [f"f{i} -- {child};" for child in ids[-1:]]
        if not self.tables and any((term.exponent != 1).any() for term in terms):
            lines.append(_caption("numbers in squares: exponents"))
        return lines

    # -------------------------------------------------------------------------- single nodes

    def factor(self, term: models.Term) -> dict[str, str]:
        """Return the DOT attributes of a factor's node: a small square, or a box with its table."""
        exponent = _exponent(term.exponent)
        names = ", ".join(self.titles[variable.name] for variable in term.scope)
        tooltip = f"factor of {names or 'nothing'}" + (f", exponent {exponent}" if exponent else "")
        common = {"style": "filled", "tooltip": tooltip}
        if self.tables:
            title = (names or "constant") + (f", to the power {exponent}" if exponent else "")
            label = dot_labels.stack([dot_labels.muted(title), self.table(term.source)])
            return common | {"label": label, "fillcolor": display.BOX, "color": display.ARC}
        common |= {"shape": "square", "fillcolor": display.SLATE, "color": display.SLATE}
        if not exponent:
            return common | {"label": "", "width": "0.13", "height": "0.13"}
        text = dot_labels.font(exponent, size=dot_labels.NOTE_SIZE, colour=display.CARD, bold=True)
        shape = "square" if len(exponent) <= 4 else "box"
        return common | {"label": dot_labels.stack([text]), "shape": shape, "width": "0.2",
                         "height": "0.2", "margin": "0.04"}  # fmt: skip

    def node(self, variable: Variable, cpd: models.CPD | None, note: str = "") -> str:
        """Return the statement of a variable's node, with `note`, if not empty, under the name."""
        parts = self.parts(variable, cpd)
        if note:
            parts.insert(1, dot_labels.small(note))
        attributes: dict[str, str] = {"label": dot_labels.stack(parts)}
        if isinstance(variable, CountVector):
            # Square corners and a second outline mark a vector of many counts.
            attributes |= {"style": "filled", "peripheries": "2"}
        if isinstance(variable, Continuous) and not any("<TABLE" in part for part in parts):
            attributes |= {"shape": "ellipse", "style": "filled", "margin": "0.05,0.03"}
        if variable in self.evidence:
            attributes |= {"fillcolor": display.SHADE, "color": display.SHADE_LINE}
        elif variable in self.evidence.likelihoods:
            attributes |= {"style": "rounded,filled,dashed", "color": display.SHADE_LINE}
        if variable == self.target:
            attributes |= {"color": display.TARGET_LINE, "penwidth": "2.2"}
            attributes.setdefault("fillcolor", display.TARGET)
        attributes["tooltip"] = dot_labels.tooltip(variable)
        return statement(self.ids[variable.name], attributes)

    def parts(self, variable: Variable, cpd: models.CPD | None) -> list[str]:
        """Return the labels in a variable's node: name, states or posterior, table of its CPD."""
        parts = [dot_labels.title(self.titles[variable.name])]
        if isinstance(variable, CountVector):
            n = len(variable.items)
            parts.append(dot_labels.muted(f"counts of {n:,} item{'s' * (n > 1)}"))
        if belief := self.belief(variable):
            parts.append(belief)
        elif variable in self.evidence:
            parts.append(dot_labels.font(self.observed(variable), bold=True))
        elif self.states and not (self.tables and cpd):
            parts += dot_labels.value_list(variable, self.max_states)
        if self.tables and cpd:
            parts.append(self.table(cpd))
        return parts

    def table(self, source: models.CPD | Factor) -> str:
        """Return the table of a CPD or a factor as an HTML-like label."""
        if isinstance(source, models.CPD):
            describe = source.describe
        else:
            describe = partial(models.describe_factor, source)
        # One row takes no more room than the note that it is left out.
        whole = describe(self.max_rows + 2, self.max_states)
        is_short = len(whole.rows) <= self.max_rows + 1
        return dot_labels.table(whole if is_short else describe(self.max_rows, self.max_states))

    def observed(self, variable: Variable) -> str:
        """Return the text ``= state`` or ``= number`` of an observed variable."""
        value = self.evidence.columns[variable][0]
        if isinstance(variable, CountVector):
            return f"= {dot_labels.counts_seen(variable, value, self.max_states)}"
        if isinstance(variable, Discrete):
            return f"= {models.state_texts(variable, dot_labels.LONGEST_STATE)[int(value)]}"
        return f"= {models.number(float(value))}"

    def belief(self, variable: Variable) -> str:
        """Return a variable's posterior as bars or a density; empty if there is none to draw."""
        colour = display.ORANGE if variable == self.target else display.BLUE
        posterior = self.posteriors.get(variable)
        if isinstance(posterior, NumberMixture):
            # A Student's t distribution may have no mean or variance.
            return dot_labels.density(posterior, colour) if np.isfinite(posterior.std) else ""
        if not self.beliefs or not isinstance(variable, Discrete):
            return ""
        if posterior is not None:
            shares = posterior.probabilities
        elif variable in self.evidence:
            shares, colour = np.zeros(variable.cardinality), display.SLATE
            shares[int(self.evidence.columns[variable][0])] = 1.0
        else:
            return ""  # no posterior, as in a factor graph over counts that are not observed
        if isinstance(variable, Binned):
            # The central range of probability 0 is the interval that has the median.
            median = "" if posterior is None else interval_text(*posterior.range(0.0))
            heading = f"median in {median}" if median else self.observed(variable)
            return dot_labels.histogram(variable, shares, colour, heading)
        return dot_labels.bars(variable, shares, colour, self.max_states)


def _hub(net: _Drawn) -> Name | None:
    """Return the name of the parent of all other variables (such as the class), or None."""
    # The arcs of every network of an ensemble.
    arcs = [arc for arc, p in net.arc_probabilities.items() if p > 1.0 - _ROUNDING]
    n_children = Counter(parent for parent, _ in arcs)
    others = len(net.names) - 1
    return next((name for name in net.names if others and n_children[name] == others), None)


def _box(inner: Iterable[str], note: str) -> list[str]:
    """Return the DOT cluster that draws a box around the statements `inner`, with a note."""
    look = {"label": note, "labelloc": "b", "labeljust": "r", "style": "rounded,filled",
            "color": display.PALE, "fillcolor": display.BOX, "margin": "14"}  # fmt: skip
    lines = [statement("graph", look), *inner]
    return ["subgraph cluster_plate {", *(f"  {line}" for line in lines), "}"]


def _caption_of_exponents(target: Discrete, exponents: Iterable[Floats]) -> str:
    """Return the caption of exponents, with the classes if exponents differ between classes."""
    if all(len(_exponent_texts(values, _DIGITS)) == 1 for values in exponents):
        return "exponents"
    states = models.texts(target.states, 16)
    if len(states) > _MAX_EXPONENTS:
        return "exponents, from the minimum to the maximum of the classes"
    return f"exponents of {', '.join(states)}"


def _row_length(n: int) -> int:
    """Return the number of nodes in each row in which n nodes without arcs are arranged.

    More than fit into one row make about a square.
    """
    return n if n <= _ROW else math.ceil(n / math.isqrt(n))


def _exponent(values: Floats, digits: int = 4) -> str:
    """Return exponents as text: one number, a list, or a range; empty if all are 1."""
    if (values == 1).all():
        return ""
    shown = _exponent_texts(values, digits)
    if len(shown) <= _MAX_EXPONENTS:
        return ", ".join(shown)
    return f"{shown[values.argmin()]} to {shown[values.argmax()]}"


def _exponent_texts(values: Floats, digits: int) -> list[str]:
    """Return exponents as texts; only one text if all of them read the same."""
    flat = values.reshape(-1)
    # Several exponents beside each other have at most three digits.
    digits = digits if (flat == flat[0]).all() else min(digits, 3)
    shown = [models.number(float(value), digits) for value in flat]
    return shown if len(set(shown)) > 1 else shown[:1]


def _caption(note: str) -> str:
    """Return the statement that writes a note below the graph."""
    return statement("graph", {"label": note, "labelloc": "b"})


def statement(subject: str, attributes: Mapping[str, str]) -> str:
    """Return a DOT statement that sets attributes of a node or an arc.

    Parameters
    ----------
    subject : str
        The node or the arc, or ``graph``, ``node`` or ``edge`` for the defaults of all.
    attributes : mapping from str to str
        Values are text, which is quoted here, or HTML-like labels.
    """
    listed = ", ".join(f"{key}={_value(key, value)}" for key, value in attributes.items())
    return f"{subject} [{listed}];"


def _value(key: str, text: str) -> str:
    """Return the value of an attribute as DOT writes it."""
    if key == "tooltip":
        # Graphviz replaces placeholders in tooltips twice.
        text = text.replace("\\", "\\\\")
    return text if isinstance(text, dot_labels.Html) else dot_labels.quoted_string(text)


# ------------------------- Graphs without distributions, such as CPDAGs, in Graphviz' DOT language


def graph_to_dot(graph: PDAG | CausalGraph, *, rankdir: str = "TB") -> str:
    """Return a partially directed graph in the DOT language; edges without direction are plain.

    Arrows of two heads link what has an unobserved common cause.

    Parameters
    ----------
    graph : PDAG or CausalGraph
    rankdir : {"TB", "BT", "LR", "RL"}
        Direction of the arcs: "TB" is from top to bottom, and so on.
    """
    ids = {name: f"n{i}" for i, name in enumerate(graph.nodes)}
    titles = models.texts(graph.nodes, dot_labels.LONGEST_NAME)
    lines = []
    for name, title in zip(graph.nodes, titles, strict=True):
        lines.append(statement(ids[name], {"label": dot_labels.stack([dot_labels.title(title)])}))
    for a, b in graph.arcs:
        lines.append(statement(f"{ids[a]} -> {ids[b]}", {"tooltip": f"{a} → {b}"}))
    undirected, both = getattr(graph, "edges", ()), getattr(graph, "confounded", ())
    for pairs, ends, sign in ((undirected, "none", "—"), (both, "both", "↔")):
        for a, b in pairs:
            look = {"dir": ends, "tooltip": f"{a} {sign} {b}"}
            lines.append(statement(f"{ids[a]} -> {ids[b]}", look))
    return drawn_graph(f"digraph {type(graph).__name__}", rankdir, lines)
