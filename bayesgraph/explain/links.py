"""Paths between two nodes of a graph that carry what is known of one to the other, or are blocked.

A path is active given some nodes if none of its nodes that are not common effects (colliders) is
among them, and all of its common effects, or descendants of these, are (d-separation, Pearl 1988,
section 3.3.1). A common effect that is known makes its causes dependent: explaining away.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from heapq import heappop, heappush
from typing import NamedTuple, TypeAlias

from bayesgraph.ancestors import ancestral_set
from bayesgraph.variables import Name

Path: TypeAlias = tuple[Name, ...]
# A node, and whether it was reached from one of its children.
_Step: TypeAlias = tuple[Name, bool]
# Tells whether a path may pass a node: the step to it, and whether it goes on to a parent.
_Passes: TypeAlias = Callable[[_Step, bool], bool]

# Number of beginnings of paths that a search looks at.
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


def links(
    parents: Mapping[Name, Collection[Name]], start: Name, end: Name, given: set[Name]
) -> Links:
    """Return the active paths between two nodes, one of each kind, and what blocks other paths.

    Graphs may have more paths than can be looked at: the shortest ones are, and the shortest
    active path is always found.

    Parameters
    ----------
    parents : mapping from node to its parents
    start, end : nodes
        If they are the same, the path is that node alone.
    given : set of nodes
        The known nodes, without the two.
    """
    if start == end:
        return Links(((start,),))
    opened = ancestral_set(parents, given)
    graph = _Graph.of(parents)

    def is_open(step: _Step, up: bool) -> bool:
        node, is_from_child = step
        is_collider = up and not is_from_child
        return node in opened if is_collider else node not in given

    kinds: dict[tuple[Name, frozenset[Name]], Path] = {}
    for path in graph.paths(start, end, is_open):
        kinds.setdefault((path[-2], frozenset(graph.colliders(path))), path)
    if not kinds and (path := active_path(parents, start, end, given)):
        kinds[path[-2], frozenset()] = path

    found = _blockers(graph, start, end, given, opened)
    if not kinds and not found:
        found = _needed(parents, start, end, given)
    return Links(tuple(kinds.values()), tuple(found))


def _blockers(
    graph: _Graph, start: Name, end: Name, given: set[Name], opened: set[Name]
) -> list[Name]:
    """Return the known nodes nearest to the start that block a path; see `Links`."""
    found: dict[Name, None] = {}

    def is_open_if_unknown(step: _Step, up: bool) -> bool:
        return step[0] in opened or step[1] or not up

    def first_blocker(path: Path) -> Name | None:
        colliders = graph.colliders(path)
        return next((n for n in path[1:-1] if n in given and n not in colliders), None)

    def tells_nothing_new(path: Path) -> bool:
        return first_blocker(path) in found

    for path in graph.paths(start, end, is_open_if_unknown, tells_nothing_new):
        first = first_blocker(path)
        if first is not None:
            found[first] = None
    return list(found)


class _Graph(NamedTuple):
    """A directed acyclic graph in both directions."""

    parents: Mapping[Name, Collection[Name]]
    children: Mapping[Name, list[Name]]

    @classmethod
    def of(cls, parents: Mapping[Name, Collection[Name]]) -> _Graph:
        """Return the graph of nodes with their parents."""
        children: dict[Name, list[Name]] = {node: [] for node in parents}
        for node, above in parents.items():
            for parent in above:
                children[parent].append(node)
        return cls(parents, children)

    def following(self, step: _Step, passes: _Passes) -> list[_Step]:
        """Return the steps that may follow a step."""
        node = step[0]
        above = [(parent, True) for parent in self.parents[node]] if passes(step, True) else []
        below = [(child, False) for child in self.children[node]] if passes(step, False) else []
        return above + below

    def colliders(self, path: Path) -> list[Name]:
        """Return the nodes of a path that are children of both of their neighbours."""
        triples = zip(path, path[1:], path[2:], strict=False)
        return [b for a, b, c in triples if a in self.parents[b] and c in self.parents[b]]

    def paths(
        self,
        start: Name,
        end: Name,
        passes: _Passes,
        skip: Callable[[Path], bool] = lambda _: False,
    ) -> Iterator[Path]:
        """Yield paths without repeated nodes whose inner nodes may be passed, short ones first.

        Beginnings for which `skip` is true are not continued.

        A search by A* (Hart, Nilsson and Raphael 1968), whose bound is the number of arcs to the
        end if nodes may be repeated.
        """
        first = [*((p, True) for p in self.parents[start])]
        first += [(c, False) for c in self.children[start]]
        left = self._distances(first, end, passes)
        waiting: list[tuple[int, int, Path, _Step]] = []
        n = 0
        for step in first:
            if step in left:
                heappush(waiting, (1 + left[step], n := n + 1, (start,), step))
        for _ in range(_MOST):
            if not waiting:
                return
            _, _, path, step = heappop(waiting)
            path = (*path, step[0])
            if skip(path):
                continue
            if step[0] == end:
                yield path
                continue
            for one in self.following(step, passes):
                if one in left and one[0] not in path:
                    heappush(waiting, (len(path) + left[one], n := n + 1, path, one))

    def _distances(self, first: list[_Step], end: Name, passes: _Passes) -> dict[_Step, int]:
        """Return the number of arcs to the end of each step that leads there."""
        before: dict[_Step, list[_Step]] = {step: [] for step in first}
        stack = list(before)
        while stack:
            step = stack.pop()
            if step[0] == end:
                continue
            for one in self.following(step, passes):
                if one not in before:
                    before[one] = []
                    stack.append(one)
                before[one].append(step)
        found = {step: 0 for step in before if step[0] == end}
        waiting = list(found)
        for step in waiting:
            for one in before[step]:
                if one not in found:
                    found[one] = found[step] + 1
                    waiting.append(one)
        return found


def active_path(
    parents: Mapping[Name, Collection[Name]], start: Name, end: Name, given: Collection[Name]
) -> Path:
    """Return the shortest path between two nodes that is active given others; empty if none is.

    Parameters
    ----------
    parents : mapping from node to its parents
    start, end : nodes
    given : collection of nodes
    """
    graph, opened = _Graph.of(parents), ancestral_set(parents, given)
    before: dict[_Step, _Step | None] = {(start, True): None}
    waiting = [(start, True)]

    def is_open(step: _Step, up: bool) -> bool:
        node, is_from_child = step
        free = node not in given or node == start
        return free if is_from_child or not up else node in opened

    for step in waiting:
        if step[0] == end:
            path = [end]
            while (earlier := before[step]) is not None:
                step = earlier
                path.append(step[0])
            return tuple(reversed(path))
        for one in graph.following(step, is_open):
            if one not in before:
                before[one] = step
                waiting.append(one)
    return ()


def _needed(
    parents: Mapping[Name, Collection[Name]], start: Name, end: Name, given: Collection[Name]
) -> list[Name]:
    """Return known nodes that separate two nodes, none of which can be left out."""
    needed = list(given)
    for one in needed[:]:
        rest = [n for n in needed if n != one]
        if not active_path(parents, start, end, rest):
            needed = rest
    return needed


def known_below(
    parents: Mapping[Name, Collection[Name]], node: Name, given: Collection[Name]
) -> list[Name]:
    """Return the known nodes that descend from a node by unknown ones, the nearest first."""
    children = _Graph.of(parents).children
    waiting = [node]
    for one in waiting:
        if one not in given:
            waiting += [child for child in children[one] if child not in waiting]
    return [one for one in waiting if one in given]
