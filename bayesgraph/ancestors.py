"""Ancestors and order of nodes whose parents are given: no graph object has to be built."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Mapping
from heapq import heappop, heappush
from typing import TypeAlias, TypeVar

Node: TypeAlias = Hashable
_N = TypeVar("_N", bound=Hashable)
Arc: TypeAlias = tuple[Node, Node]


def parents_first(parents: Mapping[_N, Collection[_N]]) -> list[_N] | None:
    """Return the nodes in topological order, or None if there is a cycle.

    It is the order of `graph.topological_order`.

    Parameters
    ----------
    parents : mapping from node to its parents
        All nodes; their order breaks ties.
    """
    nodes = list(parents)
    place = {node: i for i, node in enumerate(nodes)}
    children: list[list[int]] = [[] for _ in nodes]
    waiting = []
    for i, above in enumerate(parents.values()):
        waiting.append(len(above))
        for parent in above:
            children[place[parent]].append(i)
    ready = [i for i, count in enumerate(waiting) if not count]  # ascending: already a heap
    order = []
    while ready:
        i = heappop(ready)
        order.append(nodes[i])
        for child in children[i]:
            waiting[child] -= 1
            if not waiting[child]:
                heappush(ready, child)
    return order if len(order) == len(nodes) else None


def ancestral_set(parents: Mapping[_N, Iterable[_N]], nodes: Iterable[_N]) -> set[_N]:
    """Return the nodes together with all their ancestors."""
    found = set(nodes)
    stack = list(found)
    while stack:
        for parent in parents[stack.pop()]:
            if parent not in found:
                found.add(parent)
                stack.append(parent)
    return found
