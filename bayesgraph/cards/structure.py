"""What a model is made of: networks, arcs, distributions and the width of its moral graph."""

from __future__ import annotations

import functools
import heapq
import operator
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Iterator
from typing import Any

from bayesgraph.cpds import CPD
from bayesgraph.display import DisplayTable
from bayesgraph.models.average import PosteriorAverage
from bayesgraph.models.factor_graph import FactorGraph
from bayesgraph.models.mixture import NetworkMixture
from bayesgraph.models.model import Model
from bayesgraph.models.network import BayesianNetwork
from bayesgraph.models.weighted import WeightedNetwork
from bayesgraph.variables import (
    Binned,
    Count,
    CountVector,
    Discrete,
    Grouped,
    MissingIndicator,
    Variable,
)

# Maximum length of a name, and number of variables that are listed.
_NAME, _LISTED = 22, 40


def described(model: Model) -> str:
    """Return in words what kind of model it is."""
    match model:
        case BayesianNetwork():
            return "Bayesian network"
        case WeightedNetwork():
            return "Bayesian network with an exponent for each feature"
        case NetworkMixture():
            return f"mixture of {len(model.networks)} Bayesian networks"
        case PosteriorAverage():
            tempered = ", with exponents of their evidence" if model.exponents else ""
            return f"average of the posteriors of {len(model.networks)} models{tempered}"
        case FactorGraph():
            return f"factor graph of {len(model.terms)} factors"
    return type(model).__name__


def networks_of(model: Any) -> list[BayesianNetwork]:
    """Return the networks that a model is made of; a factor graph has none."""
    if isinstance(model, BayesianNetwork):
        return [model]
    if isinstance(model, WeightedNetwork):
        return [model.network]
    members = getattr(model, "networks", ())
    return [network for member in members for network in networks_of(member)]


def n_arcs(model: Model) -> int | None:
    """Return the number of different arcs of a model's networks; None without networks."""
    networks = networks_of(model)
    if len(networks) == 1:
        return sum(len(block.arcs()) for block in networks[0].blocks)
    arcs = {arc for network in networks for block in network.blocks for arc in block.arcs()}
    return len(arcs) if networks else None


def distributions(model: Model) -> str:
    """Return how many variables have a distribution of each kind."""
    kinds = Counter(
        {
            name: sum(len(b.children) for b in blocks)
            for name, blocks in _by_kind(_blocks(model)).items()
        }
    )
    return ", ".join(f"{count:,} {name}" for name, count in kinds.most_common())


def _by_kind(blocks: Iterable[CPD]) -> dict[str, list[CPD]]:
    found: dict[str, list[CPD]] = {}
    for block in blocks:
        found.setdefault(_kind(block), []).append(block)
    return found


def _kind(block: CPD) -> str:
    return type(block).__name__.removesuffix("CPD").removesuffix("Plate")


def _blocks(model: Model) -> Iterator[CPD]:
    if isinstance(model, FactorGraph):
        yield from (term.source for term in model.terms if isinstance(term.source, CPD))
    for network in networks_of(model):
        yield from network.blocks


def width_of(model: Model) -> int:
    """Return a bound of the treewidth: the largest of those of its networks; see `width`."""
    if isinstance(model, FactorGraph):
        return width([term.source.scope for term in model.terms])
    return max(width(_scopes(network)) for network in networks_of(model))


def _scopes(network: BayesianNetwork) -> Iterator[Collection[Variable]]:
    for block in network.blocks:
        # The children of a plate are alike: one of them stands for all.
        depend = block.siblings_depend
        yield (*block.parents, *(block.children if depend else block.children[:1]))


def width(scopes: Iterable[Collection[Hashable]]) -> int:
    """Return the induced width of an elimination order: a bound of the treewidth from above.

    Variables of a scope are joined by edges. The variable with the fewest neighbours is eliminated
    next, and its neighbours are joined (the minimum degree heuristic; Kjærulff 1990).
    """
    listed = [tuple(dict.fromkeys(scope)) for scope in scopes]
    uses = Counter(v for scope in listed for v in scope)
    # Sets of variables are bits of integers, which are short where those with many neighbours
    # come first.
    bit = {v: 1 << i for i, (v, _) in enumerate(uses.most_common())}
    near = [0] * len(bit)
    for scope in listed:
        together = functools.reduce(operator.or_, map(bit.__getitem__, scope), 0)
        for at in _places(together):
            near[at] |= together & ~(1 << at)
    left = set(range(len(near)))
    heap = [(mask.bit_count(), at) for at, mask in enumerate(near)]
    heapq.heapify(heap)
    found = 0
    while heap:
        degree, v = heapq.heappop(heap)
        if v not in left or degree != near[v].bit_count():
            continue  # it was eliminated, or has another degree by now
        found = max(found, degree)
        if degree == len(left) - 1:
            break  # all that are left are joined
        left.remove(v)
        for u in _places(near[v]):
            near[u] = (near[u] | near[v]) & ~(1 << u | 1 << v)
            heapq.heappush(heap, (near[u].bit_count(), u))
    return found


def _places(mask: int) -> Iterator[int]:
    """Yield the places of the ones of a number, from the lowest on."""
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


def variables_table(model: Model) -> DisplayTable:
    """Return a table with a line for each variable: kind, parents, distribution."""
    networks = networks_of(model)
    single = networks[0] if len(networks) == 1 else None
    shown = model.variables[:_LISTED]
    rows = []
    for variable in shown:
        cells = [shortened(variable.name), _kind_of(variable)]
        if single is not None:
            cpd = single[variable.name]
            parents = ", ".join(shortened(p.name, 12) for p in cpd.parents[:2])
            more = len(cpd.parents) - 2
            parents += f" and {more} more" if more > 0 else ""
            cells += [parents, _kind(cpd), f"{cpd.n_parameters:,}"]
        rows.append(cells)
    left = len(model.variables) - len(shown)
    header = ["variable", "values", "parents", "distribution", "parameters"]
    return DisplayTable(
        "Variables",
        rows,
        header if single is not None else header[:2],
        note=f"... and {left:,} more" if left else "",
        labels=4,
    )


def _kind_of(variable: Variable) -> str:
    match variable:
        case CountVector():
            return f"counts of {len(variable.items):,} items"
        case Binned():
            return f"{variable.cardinality:,} intervals"
        case Grouped():
            return f"{variable.cardinality:,} groups"
        case MissingIndicator():
            return f"whether {shortened(variable.of)} is missing"
        case Discrete():
            return f"{variable.cardinality:,} states"
        case Count():
            return "a count"
    return "a number"


def shortened(name: object, length: int = _NAME) -> str:
    """Return a name as text, cut to a length."""
    text = str(name)
    return text if len(text) <= length else f"{text[: length - 3]}..."
