"""The explanation of a posterior in sentences: what each finding does to it, and by which path.

What a finding does is measured by leaving it out: the ratio of the odds with it and without it is
the Bayes factor of the finding given all others (Good 1950). Words for its size are those of Kass
and Raftery (1995). How it reaches the target is told along the active paths, and what blocks
others, by the rules of d-separation (Pearl 1988, section 3.3.1).
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heappop, heappush
from itertools import count, product, zip_longest
from typing import Any, NamedTuple, TypeAlias

import networkx as nx
import numpy as np

from bayesgraph.core.display import rounded
from bayesgraph.core.errors import EvidenceError, ImpossibleEvidenceError
from bayesgraph.core.typing import EvidenceLike
from bayesgraph.core.variables import (
    Binned,
    Count,
    CountVector,
    Discrete,
    Name,
    State,
    ancestral_set,
    is_missing,
)
from bayesgraph.inference import All, NumberMixture, Posterior
from bayesgraph.models import (
    Belief,
    Between,
    Model,
    as_mapping,
    is_soft,
    read_case,
    with_findings,
)
from bayesgraph.questions.estimators import question

# ---- Paths between two nodes of a graph that carry what is known of one to the other, or are
# blocked
# A path is active given some nodes if none of its nodes that are not common effects (colliders) is
# among them, and all of its common effects, or descendants of these, are (d-separation, Pearl 1988,
# section 3.3.1). A common effect that is known makes its causes dependent: explaining away.


Path: TypeAlias = tuple[Name, ...]
# A node, and whether it was reached from one of its children.
_Step: TypeAlias = tuple[Name, bool]
# Tells whether a path may pass a node, given the step to it and whether it goes on to a parent.
_Passes: TypeAlias = Callable[[_Step, bool], bool]

# Number of beginnings of paths that a search looks at: graphs may have exponentially many paths.
_MOST = 4_000


class Links(NamedTuple):
    """How two nodes are linked, given others.

    Attributes
    ----------
    paths : tuple of tuples of names
        The shortest active path for each node beside the end and each set of common effects that
        paths pass: short ones first. Empty if the two are d-separated.
    blockers : tuple of names
        The known nodes that block other paths: those nearest to the start on paths whose common
        effects are all known, or known in part.
    """

    paths: tuple[Path, ...] = ()
    blockers: tuple[Name, ...] = ()


def links(graph: nx.DiGraph[Name], start: Name, end: Name, evidence: set[Name]) -> Links:
    """Return the active paths between two nodes, one of each kind, and what blocks other paths.

    Graphs may have more paths than can be looked at: the shortest ones are, and the shortest
    active path is always found.

    Parameters
    ----------
    graph : networkx.DiGraph
    start, end : nodes
        If they are the same, the path is that node alone.
    evidence : set of nodes
        The known nodes, without the two.
    """
    if start == end:
        return Links(((start,),))
    # Known nodes and their ancestors: common effects that paths may pass.
    opened = ancestral_set(graph.pred, evidence)

    # A path that comes down to a node from a parent, and goes on up to another one, has a common
    # effect there.
    def is_collider(step: _Step, up: bool) -> bool:
        return up and not step[1]

    # A path passes a common effect that is known or has a known descendant, and other nodes if they
    # are not known.
    def is_open(step: _Step, up: bool) -> bool:
        return step[0] in opened if is_collider(step, up) else step[0] not in evidence

    def is_open_if_unknown(step: _Step, up: bool) -> bool:
        """Tell whether a path may pass a node, if known nodes did not block paths."""
        return step[0] in opened or not is_collider(step, up)

    # The first path, which is the shortest one, for each node before the end and each set of common
    # effects.
    kinds: dict[tuple[Name, frozenset[Name]], Path] = {}
    for path in _paths(graph, start, end, is_open):
        kinds.setdefault((path[-2], frozenset(colliders(graph, path))), path)

    blockers: list[Name] = []

    def first_blocker(path: Path) -> list[Name]:
        """Return the known node nearest to the start that blocks a path; a list of none or one."""
        common = colliders(graph, path)
        return [n for n in path[1:-1] if n in evidence and n not in common][:1]

    def tells_nothing_new(path: Path) -> bool:
        return any(blocker in blockers for blocker in first_blocker(path))

    # Beginnings of paths that an earlier blocker blocks are not continued.
    for path in _paths(graph, start, end, is_open_if_unknown, tells_nothing_new):
        # One before the end is a part of no beginning.
        blockers += [blocker for blocker in first_blocker(path) if blocker not in blockers]
    if not kinds and not blockers:
        # All paths have a common effect of which nothing is known, or the search found none.
        # Known nodes that separate the two, none of which can be left out.
        needed = nx.find_minimal_d_separator(graph, start, end, restricted=evidence)
        blockers = [node for node in graph if node in needed]
    return Links(tuple(kinds.values()), tuple(blockers))


def colliders(graph: nx.DiGraph[Name], path: Path) -> list[Name]:
    """Return the nodes of a path that are children of both of their neighbours."""
    triples = zip(path, path[1:], path[2:], strict=False)
    return [b for a, b, c in triples if graph.has_edge(a, b) and graph.has_edge(c, b)]


def _following(graph: nx.DiGraph[Name], step: _Step, passes: _Passes) -> list[_Step]:
    """Return the steps that may follow a step: up to the parents of its node, or down to children.

    The argument `passes` tells in which of the two directions a path may go on.
    """
    node, _ = step
    above = [(parent, True) for parent in graph.pred[node]] if passes(step, True) else []
    below = [(child, False) for child in graph.succ[node]] if passes(step, False) else []
    return above + below


def _paths(
    graph: nx.DiGraph[Name],
    start: Name,
    end: Name,
    passes: _Passes,
    skip: Callable[[Path], bool] = lambda _: False,
) -> Iterator[Path]:
    """Yield paths that visit no node twice, those with few arcs first, up to a number of steps.

    Beginnings for which `skip` is true are not continued.

    A search by A* (Hart, Nilsson and Raphael 1968), whose bound is the number of arcs to the end if
    nodes may be repeated. Of equal bounds the longest beginning is continued, so that a shortest
    path is found at once.
    """
    # An arc to each step from those that may follow it, so that distances are from the end. Nothing
    # follows the end, where paths stop.
    steps: nx.DiGraph[_Step] = nx.DiGraph()
    steps.add_nodes_from((end, up) for up in (True, False))
    for step in product(graph, (True, False)):
        if step[0] != end:
            steps.add_edges_from((after, step) for after in _following(graph, step, passes))
    # The number of arcs to the end of each step that leads there.
    arcs_left = nx.multi_source_dijkstra_path_length(steps, {(end, True), (end, False)})
    # From the start paths go up and down, whatever is known of it.
    following = _following(graph, (start, True), lambda *_: True)
    # Bound, arcs so far with a minus, number (ties in the order of the search), beginning of a
    # path, and the step that goes on from it.
    waiting: list[tuple[int, int, int, Path, _Step]] = []
    number, path = count(), tuple[Name, ...]((start,))
    for _ in range(_MOST + 1):
        for step in following:
            if step in arcs_left and step[0] not in path:
                bound = len(path) + arcs_left[step]
                heappush(waiting, (bound, -len(path), next(number), path, step))
        if not waiting:
            return
        *_, path, step = heappop(waiting)
        path, following = (*path, step[0]), []
        if step[0] == end:
            yield path
        elif not skip(path):
            following = _following(graph, step, passes)


def known_below(graph: nx.DiGraph[Name], node: Name, evidence: Collection[Name]) -> list[Name]:
    """Return the known nodes that descend from a node by unknown ones, the nearest first."""
    visited = [node]  # grows while it is read: breadth first
    for descendant in visited:
        if descendant not in evidence:
            visited += [child for child in graph.succ[descendant] if child not in visited]
    return [descendant for descendant in visited if descendant in evidence]


# ---- The explanation of a posterior in sentences: what each finding does to it, and by which path


_WIDTH = 80  # characters of a line
# Likelihoods of a variable are an observed child of it in the graph (virtual evidence, Pearl 1988,
# section 2.2.2), which is the node (_JUDGEMENT, name of the variable).
_JUDGEMENT = object()
# Bayes factors from which on a finding counts, and words for what it then does (Kass and Raftery
# 1995, section 3.2, whose smallest class is divided at 1.02).
_STRENGTHS = (
    (150.0, "speaks very strongly"),
    (20.0, "speaks strongly"),
    (3.0, "speaks"),
    (1.02, "speaks a little"),
)
# Part of a standard deviation by which a finding has to move the mean of a number to count.
_LEAST_SHIFT = 0.01
# Strengths from which on a finding counts, and what it then does if it is negative, or positive.
_OF_STATES = (
    (math.inf, "rules it out", "makes it certain"),
    *((math.log(least), f"{words} against it", f"{words} for it") for least, words in _STRENGTHS),
)
_OF_NUMBERS = ((_LEAST_SHIFT, "lowers it", "raises it"),)
# Probabilities nearer to 1 than this are 1.
_ROUNDING = 1e-14
# Links that are told in full, and names of a list.
_MOST_LINKS, _MOST_NAMES = 3, 5


class Bearing(NamedTuple):
    """What one variable has to do with the target.

    Attributes
    ----------
    name : name
    value : value or None
        What was found; None for a variable that is not observed.
    without : float
        Probability of the explained state, or mean of the target, without this finding.
    factor : float
        Ratio of the odds of the state with and without the finding; for a continuous target the
        difference of means in standard deviations.
    paths : tuple of tuples of names
        Active paths from the variable to the target, the shortest first: one for each neighbour of
        the target by which they arrive and each set of common effects that they pass. Empty if the
        two are d-separated by the other findings, or the model has no graph that tells.
    blockers : tuple of names
        The findings that block other paths.
    """

    name: Name
    value: Any
    without: float
    factor: float
    paths: tuple[Path, ...]
    blockers: tuple[Name, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Explanation:
    """Why a posterior is as it is, in sentences that can be read aloud.

    Attributes
    ----------
    target : name
    state : state or None
        The state whose probability is explained; None for a continuous target.
    before, after : float
        Its probability (mean of a continuous target) without and with all findings.
    bearings : tuple of Bearing
        What bears on the target, the most first.
    sentences : tuple of str
    """

    target: Name
    state: State | None
    before: float
    after: float
    bearings: tuple[Bearing, ...]
    sentences: tuple[str, ...]

    @property
    def text(self) -> str:
        """All sentences as one text."""
        return " ".join(self.sentences)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return "\n".join(textwrap.fill(sentence, _WIDTH) for sentence in self.sentences)


@question(All)
def explanation(
    model: Model,
    target: Name | None = None,
    evidence: EvidenceLike = None,
    *,
    finding: Name | None = None,
    state: State | None = None,
) -> Explanation:
    """Explain a posterior in sentences that can be read aloud.

    A sentence on each finding says how strongly it speaks for or against the state, and what would
    be believed without it. Others tell the paths of the network by which it reaches the target,
    among them those that a known common effect opens ("explaining away"), and which other findings
    block paths, or leave it nothing to say.

    Parameters
    ----------
    model : model or fitted estimator
    target : name, optional
        A discrete or continuous variable. By default the class of the estimator.
    evidence : mapping from name to value, optional
        As in `query`.
    finding : name, optional
        The one variable to tell about: a finding, or a variable that is not observed, for whose
        values the sentence says what would be believed.
    state : state, optional
        The state of a discrete target; by default the most probable one.

    Returns
    -------
    Explanation
        It prints as text; `bearings` has the numbers.

    Raises
    ------
    UnknownVariableError, UnknownStateError, EvidenceError
        For unknown names or states, or invalid evidence.
    ImpossibleEvidenceError
        If the evidence has probability zero.
    """
    asked, values = with_findings(model, as_mapping(evidence))
    variable = asked.variable(target)
    findings = _findings(asked, values)
    answer = asked.query(variable.name, findings)
    prior = asked.query(variable.name) if findings else answer
    intervals = {
        model.variable(n).name: v for n, v in as_mapping(evidence).items() if isinstance(v, Between)
    }
    writer = _Writer(asked, variable, _state(variable, answer, state), findings, intervals)
    name = None if finding is None else asked.variable(finding).name
    if name == variable.name:
        raise EvidenceError(f"{name!r} is the target; finding= names another variable.")
    before, after = writer.value_of(prior), writer.value_of(answer)
    texts = [writer.opening(answer, prior if findings else None)]
    if name is None or name in findings:
        names = findings if name is None else [name]
        bearings = [writer.bearing(each, answer) for each in names]
        bearings = sorted(bearings, key=lambda one: abs(writer.strength(one)))[::-1]  # strong first
        texts += [writer.sentence(bearing) for bearing in bearings]
    else:
        bearings = [Bearing(name, None, after, 1.0, *writer.links(name))]
        texts += writer.if_it_were(name)
    return Explanation(variable.name, writer.state, before, after, tuple(bearings), tuple(texts))


def _findings(model: Model, evidence: EvidenceLike) -> dict[Name, Any]:
    """Return the findings by the names of variables; a missing value is one about its indicator."""
    findings: dict[Name, Any] = {}
    indicators = {model.names[at]: model.names[indicator] for at, indicator in model._indicators}
    for key, value in as_mapping(evidence).items():
        if model._items_among([key]):
            raise EvidenceError(
                f"{key!r} is an item of a vector of counts, which is one finding: give the "
                "vector, or take `contributions`, which has a term for each item."
            )
        if isinstance(value, Belief) or is_soft(value) or not is_missing(value):
            findings[model.variable(key).name] = value
        elif (name := model.variable(key).name) in indicators:
            findings.setdefault(indicators[name], "yes")
    read_case(model, findings)  # for its errors
    return findings


def _state(variable: Any, answer: Any, state: State | None) -> Any:
    """Return the state that is explained: `state`, or the most probable one; None of a number."""
    if isinstance(answer, Posterior):
        discrete = answer.variables[0]
        return answer.argmax if state is None else discrete.states[discrete.index(state)]
    if state is not None:
        raise EvidenceError(f"{variable.name!r} has no states; leave out state=.")
    return None


@dataclass(frozen=True, eq=False)
class _Writer:
    """Writes sentences about a state of a target (or the mean of a number), given findings.

    Attributes
    ----------
    model : Model
        The one with findings; see `with_findings`.
    target : Variable
    state : state or None
        None for the mean of a number.
    evidence : mapping from name to value
        The findings as this model takes them.
    intervals : mapping from name to Between
        Those of the findings that are intervals of numbers, as the user gave them.
    """

    model: Model
    target: Any
    state: State | None
    evidence: Mapping[Name, Any]
    intervals: Mapping[Name, Between]

    # ------------------------------------------------------------------------------- numbers

    def value_of(self, answer: Posterior | NumberMixture) -> float:
        """Return the probability of the state, or the mean of a number."""
        if not isinstance(answer, Posterior):
            return float(answer.mean)
        # Probabilities that miss 1 by rounding would have large but finite odds.
        p = answer[self.state]
        return 1.0 if p > 1.0 - _ROUNDING else p

    def bearing(self, name: Name, answer: Posterior | NumberMixture) -> Bearing:
        """Measure the effect of a finding on the answer, by leaving it out.

        The factor is the ratio of the odds, or for a number the difference of means in standard
        deviations; see `Bearing`.
        """
        others = {n: value for n, value in self.evidence.items() if n != name}
        left_out = self.model.query(self.target.name, others)
        after, before = self.value_of(answer), self.value_of(left_out)
        if not isinstance(answer, Posterior):
            factor = (after - before) / (float(left_out.std) or 1.0)
        elif after == before:
            factor = 1.0  # at a probability of 0 or 1, too, where the ratio is undefined
        else:
            with np.errstate(divide="ignore"):
                factor = float(np.divide(after * (1.0 - before), before * (1.0 - after)))
        value = self.intervals.get(name, self.evidence[name])
        return Bearing(name, value, before, factor, *self.links(name))

    def strength(self, bearing: Bearing) -> float:
        """Return the log of the Bayes factor, or of a number the factor itself, which is a shift.

        It is above 0 if a finding speaks for the state, or raises the mean.
        """
        if self.state is None or bearing.factor == math.inf:
            return bearing.factor
        return math.log(bearing.factor) if bearing.factor > 0 else -math.inf

    # ----------------------------------------------------------------------------- sentences

    def opening(self, answer: Any, prior: Any) -> str:
        """Return the sentence on the answer, and on what is believed without findings."""
        name, value = self.target.name, self._number(self.value_of(answer))
        if self.state is None:
            spread = rounded(float(answer.std), 3)
            text = f"{name} is expected to be {value}, give or take {spread}."
        else:
            text = f"{_is(name, self.state)} with a probability of {value}."
        if prior is None:
            return text
        return f"{text} Without the findings it would be {self._number(self.value_of(prior))}."

    def sentence(self, bearing: Bearing) -> str:
        """Return the sentence on a finding: what it does, and how it reaches the target."""
        name = bearing.name
        if isinstance(self.model.variable(name), CountVector):
            clause = f"{name} has these counts"
        # An interval enters the model as likelihoods do, and is told as an interval.
        elif name in self._judged and name not in self.intervals:
            clause = f"{name} was judged without being certain"
        else:
            clause = _is(name, bearing.value)
        return f"That {clause} {self._verdict(bearing)}"

    def _verdict(self, bearing: Bearing) -> str:
        """Return what a finding does, in words that follow its clause."""
        if blocked := self._blocked(bearing):
            return f"says nothing about it: {blocked}."
        strength = self.strength(bearing)
        # Of each strength: what a negative one does, and what a positive one does. The words are
        # those of the first, the largest one, that the strength comes up to.
        table = _OF_NUMBERS if self.state is None else _OF_STATES
        words = next((words for least, *words in table if abs(strength) >= least), None)
        if words is None:
            others = "" if len(self.evidence) == 1 else ", with the other findings"
            return f"hardly matters{others}."
        without = f"without this finding it would be {self._number(bearing.without)}."
        return " ".join([f"{words[strength > 0]}: {without}", *self._ways(bearing.name, bearing)])

    def if_it_were(self, name: Name) -> list[str]:
        """Return sentences on what would be believed for each value of an unobserved variable."""
        linked = self.links(name)
        if blocked := self._blocked(linked):
            return [f"{name} says nothing about it: {blocked}."]
        parts = []
        for value in _values_to_try(self.model, name, self.evidence):
            try:
                answer = self.model.query(self.target.name, {**self.evidence, name: value})
            except ImpossibleEvidenceError:  # the findings exclude this value
                continue
            parts.append(f"{self._number(self.value_of(answer))} if {_is(name, value, 'were')}")
        if not parts:
            return [f"{name} is not known; all values that were tried are impossible."]
        return [f"{name} is not known. It would be {_listed(parts)}.", *self._ways(name, linked)]

    def _number(self, value: float) -> str:
        return rounded(value) if self.state is None else _percent(value)

    # --------------------------------------------------------------------------------- paths

    @cached_property
    def _judged(self) -> set[Name]:
        """The findings that are likelihoods or beliefs, which leave the value open."""
        soft = (
            n for n, value in self.evidence.items() if isinstance(value, Belief) or is_soft(value)
        )
        # Counts of a vector look like likelihoods, but are its value.
        return {n for n in soft if not isinstance(self.model.variable(n), CountVector)}

    def links(self, name: Name) -> Links:
        """Return the active paths from a variable to the target, and what blocks others."""
        if self._graph is None:
            return Links()
        return links(self._graph, name, self.target.name, self._known_besides(name))

    @cached_property
    def _graph(self) -> nx.DiGraph[Name] | None:
        """The graph of a Bayesian network, with a node for each judgement; None of other models.

        A judgement of a variable is an observed child of it, the node (_JUDGEMENT, name).
        """
        model: Any = self.model
        # Only a single network is one of its own networks.
        if not any(network is model for network in model.networks):
            return None
        graph: nx.DiGraph[Name] = nx.DiGraph()
        graph.add_nodes_from(cpd.variable.name for cpd in model.cpds)
        graph.add_edges_from((p.name, cpd.variable.name) for cpd in model.cpds for p in cpd.parents)
        graph.add_edges_from((name, (_JUDGEMENT, name)) for name in self._judged)
        return graph

    def _known_besides(self, name: Name) -> set[Name]:
        """Return the nodes of the graph that are known besides a variable: findings, judgements."""
        return {(_JUDGEMENT, n) if n in self._judged else n for n in self.evidence if n != name}

    def _blocked(self, linked: Links | Bearing) -> str:
        """Return the reason why a variable says nothing; empty if a path is active."""
        if linked.paths or self._graph is None:
            return ""
        if not linked.blockers:
            return "in the network the two are independent"
        verb = "says" if len(linked.blockers) == 1 else "say"
        return f"{_few(linked.blockers)} {verb} all that it could say"

    def _ways(self, name: Name, linked: Links | Bearing) -> list[str]:
        """Return sentences on the active paths, and on what blocks others."""
        if name == self.target.name or self._graph is None:
            return []
        # Common effects of the two alone that are known in the same way share a sentence. A path of
        # three nodes is start, common effect, end.
        alike: dict[Any, list[Path]] = {}
        for path in linked.paths:
            common = colliders(self._graph, path)
            is_short = len(path) == 3 and common
            key = self._how_known(self._graph, common[0], name) if is_short else path
            alike.setdefault(key, []).append(path)
        groups = list(alike.values())
        in_full, others = groups[:_MOST_LINKS], groups[_MOST_LINKS:]
        sentences = [
            f"{'Another' if i else 'The'} link: {self._way(self._graph, name, paths)}."
            for i, paths in enumerate(in_full)
        ]
        if others:
            n_paths = sum(map(len, others))
            common = [node for paths in others for node in colliders(self._graph, paths[0])]
            opened = f", by what is known of {_few(list(dict.fromkeys(common)))}" if common else ""
            more = "is 1 more link" if n_paths == 1 else f"are {n_paths} more links"
            sentences.append(f"There {more}{opened}.")
        if linked.paths and linked.blockers:
            is_one = len(linked.blockers) == 1
            which = "which is known, blocks" if is_one else "which are known, block"
            sentences.append(f"{_few(linked.blockers)}, {which} other links.")
        return sentences

    def _way(self, graph: nx.DiGraph[Name], name: Name, paths: Sequence[Path]) -> str:
        """Return a path in words, or several on which a common effect is all between the ends.

        Several paths are start, common effect, end; their common effects are known in one way.
        """
        path, common = paths[0], colliders(graph, paths[0])
        if len(paths) > 1:
            how = self._how_known(graph, common[0], name)
            return (
                f"{_few([p[1] for p in paths])}, which are {how}, depend on both {path[0]} and "
                f"{path[2]}, which then bear on each other"
            )
        clauses: list[str] = []
        # An arc from `here` to `there` along the path, and the node after it; None after the end.
        for here, there, further in zip_longest(path, path[1:], path[2:]):
            if there in common:
                clauses.append(
                    f"{there}, which is {self._how_known(graph, there, name)}, depends on both "
                    f"{here} and {further}, which then bear on each other"
                )
            # The clause on a common effect has told the arc that leaves it.
            elif there is not None and here not in common:
                child, parent = (here, there) if graph.has_edge(there, here) else (there, here)
                clauses.append(f"{child} depends on {parent}")
        return _listed(clauses)

    def _how_known(self, graph: nx.DiGraph[Name], common: Name, name: Name) -> str:
        """Say how a common effect is known: itself, by a judgement, or by its descendants.

        `name` is the finding that the path starts from; it does not count as known.
        """
        # The common effect itself, or the nearest known nodes that descend from it.
        below = known_below(graph, common, self._known_besides(name))
        if common in below:
            return "known"
        # A judgement is a node (_JUDGEMENT, name of the variable that it is about).
        names = [n[1] if isinstance(n, tuple) and n[0] is _JUDGEMENT else n for n in below]
        others = [n for n in dict.fromkeys(names) if n != common]
        return f"known in part by {_few(others)}" if others else "known in part"


def _values_to_try(model: Model, name: Name, findings: Mapping[Name, Any]) -> list[Any]:
    """Return values of a variable that is not observed: all states, or a few numbers.

    Those of a number are its mean given the findings, and a standard deviation to both sides.
    """
    variable = model.variable(name)
    if isinstance(variable, Discrete):
        return list(variable.states)
    if isinstance(variable, CountVector):
        raise EvidenceError(f"{name!r} is a vector of counts; give its value to explain it.")
    answer = model.query(name, findings)
    if isinstance(answer, Posterior):
        # Networks of an average cut the number into intervals: the middle of each is tried.
        intervals = answer.variables[0]
        assert isinstance(intervals, Binned)
        numbers = 0.5 * intervals.edges[:-1] + 0.5 * intervals.edges[1:]
    else:
        numbers = answer.mean + answer.std * np.array([-1.0, 0.0, 1.0])
    if isinstance(variable, Count):
        return [int(number) for number in np.unique(numbers.round().clip(0.0))]
    # Four digits, as they are read aloud.
    return [float(f"{number:.4g}") for number in numbers]


def _is(name: Name, value: Any, verb: str = "is") -> str:
    """Return the clause that a variable has a value, or is in an interval."""
    if isinstance(value, Between):
        return f"{name} {verb} {value.words}"
    text = rounded(value, 6) if isinstance(value, float) else str(value)
    return f"{name} {verb} {text}"


def _percent(p: float) -> str:
    """Return a probability in words: whole per cents between 10 and 90, digits near the ends."""
    if 0 < p < 0.001:
        return "less than 0.1 percent"
    if 0.999 < p < 1:
        return "more than 99.9 percent"
    # Rounded, as ten per cent computed in another order may be a bit less than 0.1.
    digits = 0 if 0.1 <= round(p, 9) <= 0.9 or p in (0.0, 1.0) else 1
    return f"{100 * p:.{digits}f} percent"


def _few(names: Sequence[Name]) -> str:
    """Return names in words, of many the first ones and how many others there are."""
    shown = [str(name) for name in names[:_MOST_NAMES]]
    n_others = len(names) - len(shown)
    return _listed([*shown, f"{n_others} more"] if n_others else shown)


def _listed(parts: Sequence[str]) -> str:
    """Return parts as a list in words: "a, b and c"."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"
