"""Parts of snapshots of models beyond tables: numbers, trees, counts, exponents, several networks.

A network is tables, whose clique tree `tables_part` plans, and local parts, which turn findings
about numbers into likelihoods of discrete variables: one function for each kind of distribution, in
`_ENCODERS`. ``front/mixed.js`` reads what this module writes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import networkx as nx
import numpy as np

from bayesgraph import inference, models
from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import MemoryLimitError, UnsupportedModelError, quoted
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.variables import Discrete, Name, Variable

# Maximum number of joint states of the discrete parents of numbers that depend on each other.
_MOST_CELLS = 100_000
# Maximum numbers of nodes of the trees of one variable, of parameters of a vector of counts, and of
# members of an ensemble.
_MOST_NODES, _MOST_COUNTS, _MOST_MEMBERS = 200_000, 500_000, 64
# Maximum numbers of entries of a table that replaces trees: trees that the page could also walk
# through, and others.
_SMALL_TABLE, _LARGEST_TABLE = 512, 65_536

# Questions (`verbs` of the front end) that a page answers about every model, about networks, and
# about tables.
_ALWAYS = ("answer", "information")
_EXPLAINED = ("contributions", "flip")
_OF_TABLES = ("mostProbable", "conflict", "sensitivity")

Json: TypeAlias = dict[str, Any]


class Numbers:
    """Collects the numbers of a snapshot; other entries refer to them by their offset.

    `limit` is the number of entries up to which a clique tree is accepted.
    """

    def __init__(self, limit: float) -> None:
        self.limit = limit
        # The arrays that were added, flat, and how many numbers they have together.
        self._parts: list[Floats] = []
        self.size = 0

    def add(self, values: Any) -> Json:
        """Add an array, the last axis fastest; return its offset ``at`` and its size ``n``."""
        flat = np.ascontiguousarray(values, dtype=np.float64).reshape(-1)
        self._parts.append(flat)
        self.size += flat.size
        return {"at": self.size - flat.size, "n": flat.size}

    def joined(self) -> Floats:
        """Return all numbers, one after the other."""
        return np.concatenate(self._parts)


@dataclass(frozen=True, eq=False)
class Writer:
    """Writes the parts of one network.

    Attributes
    ----------
    network : BayesianNetwork
    index_of : mapping from name to int
        Index of each variable in the snapshot.
    numbers : Numbers
    """

    network: models.BayesianNetwork
    index_of: Mapping[Name, int]
    numbers: Numbers

    def indices(self, variables: Iterable[Variable]) -> list[int]:
        """Return the indices of variables."""
        return [self.index_of[v.name] for v in variables]

    def children(self, variable: Variable) -> list[models.CPD]:
        """Return the distributions that depend on a variable."""
        return [self.network[name] for name in self.network.graph.successors(variable.name)]

    def descendants(self, variable: Variable) -> list[int]:
        """Return the descendants of a variable."""
        names = nx.descendants(self.network.graph, variable.name)
        return self.indices(v for v in self.network.variables if v.name in names)


def network_part(
    network: models.BayesianNetwork, index_of: Mapping[Name, int], numbers: Numbers
) -> Json:
    """Return tables and local parts of a network, as ``MixedNetwork`` of ``front/mixed.js`` reads.

    Parameters
    ----------
    network : BayesianNetwork
    index_of : mapping from name to int
        Index of each variable in the snapshot.
    numbers : Numbers

    Raises
    ------
    UnsupportedModelError
        For a distribution that the page does not answer exactly; the message names its variable.
    MemoryLimitError
        For a part beyond the stated sizes.
    """
    # Canonical distributions, such as noisy-or, are divided into tables if they can be.
    writer = Writer(network._unfolded or network, index_of, numbers)
    tables: list[tuple[tuple[Variable, ...], Floats]] = []
    parts: list[Json] = []
    for cpd in writer.network.cpds:
        table = _as_table(cpd, writer)
        if table is not None:
            tables.append(((*cpd.parents, cpd.variable), table))
        elif not isinstance(cpd, models.GaussianCPD):
            parts.append(_encoded(cpd, writer))
    parts += [_component(cpds, writer) for cpds in _components(writer)]
    return _with_tables(writer, tables, parts)


def _with_tables(
    writer: Writer, tables: Sequence[tuple[tuple[Variable, ...], Floats]], parts: list[Json]
) -> Json:
    """Return the tables with their clique tree, and the local parts.

    A local part turns findings into likelihoods of the joint states of its scope. If this has
    several variables, a table of ones, whose index is ``factor``, brings them into one clique; the
    page multiplies the likelihoods into it. Variables that no table is about get ones of their own.
    """
    discrete = [v for v in writer.network.variables if isinstance(v, Discrete)]
    # Auxiliary variables of canonical distributions have no index, and are in no scope of a part.
    by_index = {writer.index_of[v.name]: v for v in discrete if v.name in writer.index_of}
    # Scopes of the tables of ones.
    of_ones: list[tuple[Discrete, ...]] = []
    for part in parts:
        if len(part["scope"]) > 1:
            part["factor"] = len(tables) + len(of_ones)
            of_ones.append(tuple(by_index[v] for v in part["scope"]))
    of_tables = [scope for scope, _ in tables]
    covered = {v for scope in (*of_tables, *of_ones) for v in scope}
    of_ones += [(v,) for v in discrete if v not in covered]
    ones = [np.ones([v.cardinality for v in scope]) for scope in of_ones]
    values = [*(table for _, table in tables), *ones]
    product = inference.Tables.over(discrete, [*of_tables, *of_ones], values, sums_to_one=True)
    # The index among the tables' variables of each variable of the snapshot.
    place = {v.name: i for i, v in enumerate(discrete)}
    nodes = [place.get(name, -1) for name in writer.index_of]
    engine = tables_part(product, nodes, writer.numbers)
    # Each table is the distribution of a child, by `sums_to_one`; but ones are not: -1 is no child.
    engine["child"][len(tables) :] = [-1] * len(ones)
    return {"engine": engine, "locals": parts}


def _as_table(cpd: models.CPD, writer: Writer) -> Floats | None:
    """Return the table of a discrete child, parents first; None if a local part serves."""
    if not isinstance(cpd.variable, Discrete):
        return None
    axes = (*cpd.parents, cpd.variable)
    factor = cpd.to_factor()
    if isinstance(cpd, models.TreesCPD):
        # A walk follows all branches of a parent that is not observed, by their probabilities: this
        # sums parents out that are roots without another child. Trees over others have to become a
        # table, even a large one.
        can_walk = all(
            not writer.network[parent.name].parents and len(writer.children(parent)) == 1
            for parent in cpd.parents
        )
        max_size = _SMALL_TABLE if can_walk else _LARGEST_TABLE
        size = math.prod(v.cardinality for v in axes if isinstance(v, Discrete))
        if not cpd.continuous_parents and size <= max_size:
            potential = cpd.potential(Evidence(1, {}))  # of one row without findings
            assert isinstance(potential, inference.Factor)  # all variables are discrete
            factor = potential
        elif can_walk:
            return None
    if factor is None:
        raise _unknown(cpd, "is neither a table nor trees over roots without other children")
    # The first axis of a factor is that of the rows of a batch, of which there is one.
    logs = factor.aligned([v for v in axes if isinstance(v, Discrete)])[0]
    return np.asarray(np.exp(logs))


def _unknown(cpd: models.CPD, why: str) -> UnsupportedModelError:
    """Return the error for a distribution that the page has no exact answers for."""
    return UnsupportedModelError(
        f"A page does not answer exactly with {cpd.title}, which {why}. Cut {cpd.variable.name!r} "
        "into states by a discretiser, leave it out by net.without, or ask the model in Python."
    )


# ---------------------------------------------------------------------------------- local parts


def _encoded(cpd: models.CPD, writer: Writer) -> Json:
    """Return the local part of a distribution."""
    for kind, encode in _ENCODERS.items():
        if isinstance(cpd, kind):
            return _base(cpd, writer) | encode(cpd, writer)
    raise _unknown(cpd, "has no formula in the page")


def _base(cpd: models.CPD, writer: Writer) -> Json:
    """Return the fields of every local part; `_with_tables` sets the factor of some of them."""
    scope = writer.indices(cpd.discrete_parents)
    return {"child": writer.index_of[cpd.variable.name], "scope": scope, "factor": -1}


def _numeric(cpd: models.CPD, writer: Writer, family: str, **arrays: Any) -> Json:
    """Return the fields of a numeric leaf and its arrays. Raise if another number depends on it.

    The page shows no density of the number while one of its descendants, ``below``, is observed.
    """
    numbers = [c for c in writer.children(cpd.variable) if not isinstance(c, models.TreesCPD)]
    if numbers:
        names = quoted(child.variable.name for child in numbers)
        raise _unknown(cpd, f"is not Gaussian, but a parent of {names}")
    part: Json = {"type": "number", "family": family, "below": writer.descendants(cpd.variable)}
    return part | {name: writer.numbers.add(values) for name, values in arrays.items()}


def _density(cpd: Any, writer: Writer) -> Json:
    """Return the local part of a number whose density is that of named parameters."""
    stored = (family.stored for family in models.FAMILIES.values())
    # The name of the family of each class of distributions.
    names = {kind: name for kinds in stored for name, kind in kinds.items()}
    family = names.get(type(cpd), "")
    if family not in DENSITIES:
        raise _unknown(cpd, "has no formula in the page")
    parameters = [writer.numbers.add(getattr(cpd, name)) for name in cpd.parameters]
    return _numeric(cpd, writer, family) | {"parameters": parameters}


def _kernel(cpd: Any, writer: Writer) -> Json:
    """Return the local part of a kernel density.

    Joint state k of the parents has the points and weights from stop k up to stop k + 1.
    """
    stops = np.append(0, np.cumsum(cpd.counts.reshape(-1)))
    arrays = {"weights": cpd.weights, "stops": stops, "bandwidth": cpd.bandwidth}
    return _numeric(cpd, writer, "kernel", points=cpd.values, **arrays)


def _histogram(cpd: Any, writer: Writer) -> Json:
    """Return the local part of a histogram: edges of its bins, and their probabilities."""
    return _numeric(cpd, writer, "histogram", edges=cpd.edges, shares=cpd.values)


# The name in the page of each distribution of counts, and the attribute with its parameters.
_ITEMS: dict[type[models.ItemsCPD], tuple[str, str]] = {
    models.MultinomialCPD: ("multinomial", "probabilities"),
    models.DirichletMultinomialCPD: ("dirichlet_multinomial", "concentration"),
    models.PresenceCPD: ("presence", "probabilities"),
}


def _items(cpd: Any, writer: Writer, exponent: Floats | None = None) -> Json:
    """Return the local part of a vector of counts.

    In a factor graph, `exponent` has the exponent of the factor for each joint state of the
    parents, or one for all.
    """
    family, name = _ITEMS[type(cpd)]
    values = getattr(cpd, name)
    if values.size > _MOST_COUNTS:
        raise MemoryLimitError(
            f"The counts {cpd.variable.name!r} have {values.size:,} numbers; a page takes "
            f"{_MOST_COUNTS:,}. Keep fewer items, or ask the model in Python."
        )
    part: Json = {"type": "items", "family": family, "numbers": writer.numbers.add(values)}
    part |= {"n": len(cpd.variable.items), "threshold": getattr(cpd, "threshold", 0.0)}
    if exponent is not None:
        part["exponents"] = writer.numbers.add(np.broadcast_to(exponent, values.shape[:-1]))
    return part


# Groups of states whose bits are in one number: bit operations of JavaScript take 32 bits, one of
# them the sign. Two numbers have the groups that go left at a split.
_BITS = 31
_LOW = (1 << _BITS) - 1


def _trees(cpd: Any, writer: Writer) -> Json:
    """Return the local part of trees whose parents are roots: nodes, and what walks need."""
    trees = cpd.trees
    if trees.n_nodes > _MOST_NODES:
        raise MemoryLimitError(
            f"The trees of {cpd.variable.name!r} have {trees.n_nodes:,} nodes; a page takes "
            f"{_MOST_NODES:,}. Fit fewer or smaller trees (n_trees=0 for none), or ask the model "
            "in Python."
        )
    # For each parent, which is a root, what is needed to sum it out. Of a discrete one that is its
    # distribution, and the group of each of its states: trees do not tell those of a group apart.
    roots: list[Json] = []
    for parent, groups in zip(cpd.parents, trees.groups, strict=True):
        if groups.max(initial=0) >= 2 * _BITS:
            raise _unknown(cpd, f"splits {parent.name!r} of more than {2 * _BITS} states")
        root: Json = {"variable": writer.index_of[parent.name], "prior": None, "groups": None}
        if isinstance(parent, Discrete):
            shares = models.state_probabilities(writer.network[parent.name])
            root |= {"prior": writer.numbers.add(shares), "groups": writer.numbers.add(groups)}
        roots.append(root)
    numbers = [parent for parent in cpd.parents if not isinstance(parent, Discrete)]
    # Bit g of the first word: group g goes left. More words are not needed, as was checked above.
    low, high = trees.states[:, 0] & _LOW, trees.states[:, 0] >> _BITS
    share: Any = []
    if numbers:
        # At splits of numbers, which have no groups, `low` is the threshold.
        share = cpd.log_shares({parent: writer.network[parent.name] for parent in numbers})
        low = low + trees.threshold
    # The right child node follows the left one, `below`.
    arrays = {
        "trees": trees.roots, "feature": trees.feature, "left": trees.below,
        "right": trees.below + 1, "low": low, "high": high, "share": share, "values": trees.values,
    }  # fmt: skip
    part = {name: writer.numbers.add(values) for name, values in arrays.items()}
    scope = [writer.index_of[cpd.variable.name]]
    return part | {"type": "trees", "scope": scope, "roots": roots}


# The kinds of distributions that local parts have; Gaussians have `_component`.
_ENCODERS: dict[type[Any], Callable[[Any, Writer], Json]] = {
    models.TreesCPD: _trees,
    models.KernelDensityCPD: _kernel,
    models.HistogramCPD: _histogram,
    models.ItemsCPD: _items,
    models.DensityCPD: _density,
}
# Families whose density is that of named parameters, as in `front/leaves.js`.
DENSITIES = (
    "lognormal", "poisson", "negative_binomial", "gamma", "exponential", "beta", "student"
)  # fmt: skip


# ------------------------------------------------------------------------------ linear Gaussians


def _components(writer: Writer) -> list[list[models.GaussianCPD]]:
    """Return the linear Gaussians by component of continuous arcs, parents first."""
    cpds = {c.variable: c for c in writer.network._nodes() if isinstance(c, models.GaussianCPD)}
    graph = nx.Graph()
    graph.add_nodes_from(cpds)
    for child, cpd in cpds.items():
        # Other parents are refused where they are encoded.
        graph.add_edges_from((child, parent) for parent in cpd.continuous_parents if parent in cpds)
    components = nx.connected_components(graph)
    return [[cpd for v, cpd in cpds.items() if v in members] for members in components]


def _component(cpds: Sequence[models.GaussianCPD], writer: Writer) -> Json:
    """Return the local part of linear Gaussians that depend on each other, parents first.

    Its scope are all of their discrete parents. The arrays of each one have its own parents only:
    ``own`` has, for each, its place in the scope and its stride in the arrays.
    """
    scope = list(dict.fromkeys(p for cpd in cpds for p in cpd.discrete_parents))
    cells = math.prod(p.cardinality for p in scope)
    if cells > _MOST_CELLS:
        raise MemoryLimitError(
            f"The numbers {quoted(c.variable.name for c in cpds)} depend on each other and on "
            f"{quoted(p.name for p in scope)}, which have {cells:,} joint states; a page takes "
            f"{_MOST_CELLS:,}. Leave some of them out by net.without, or ask the model in Python."
        )
    nodes = []
    for cpd in cpds:
        cards = [parent.cardinality for parent in cpd.discrete_parents]
        # The last parent varies fastest.
        strides = [math.prod(cards[i + 1 :]) for i in range(len(cards))]
        places = map(scope.index, cpd.discrete_parents)
        nodes.append(
            {
                "child": writer.index_of[cpd.variable.name],
                "own": [list(pair) for pair in zip(places, strides, strict=True)],
                "continuous": writer.indices(cpd.continuous_parents),
                "mean": writer.numbers.add(cpd.mean),
                "variance": writer.numbers.add(cpd.variance),
                "slopes": writer.numbers.add(cpd.coefficients),
            }
        )
    # Trees depend on roots without another child (see `_as_table`): such a number is alone here.
    # As in `_numeric`, ``below`` has its descendants.
    children = [child for cpd in cpds for child in writer.children(cpd.variable)]
    has_trees = any(isinstance(child, models.TreesCPD) for child in children)
    below = writer.descendants(cpds[0].variable) if has_trees else []
    return {
        "type": "gaussian", "child": -1, "scope": writer.indices(scope), "factor": -1,
        "nodes": nodes, "below": below,
    }  # fmt: skip


def tables_part(tables: inference.Tables, nodes: Iterable[int], numbers: Numbers) -> Json:
    """Return tables with their clique tree, as ``front/engine.js`` takes them.

    Parameters
    ----------
    tables : Tables
    nodes : iterable of int
        For each variable of the model its index among those of the tables, -1 if it has none.
    numbers : Numbers

    Raises
    ------
    MemoryLimitError
        If the clique tree has more entries than the limit.
    """
    arrays = tables.arrays
    # All tables, for no evidence and no target: the page enters them later.
    question = inference.restrict(tables, (), (), (), inference.Relevance.EVERYTHING)
    tree = inference.plan_tree(question)
    if tree.total > numbers.limit:
        cliques = _lists(tree.c_start, tree.variables[tree.member])
        # Numbers of entries, as floats, which do not overflow.
        sizes = [np.prod(tables.arrays.cards[members], dtype=float) for members in cliques]
        largest = cliques[int(np.argmax(sizes))]
        widest = [tables.variables[v].name for v in sorted(largest)[:10]]
        raise MemoryLimitError(
            f"The clique tree of the model has {tree.total:,.0f} entries; a page takes "
            f"{numbers.limit:,.0f}. {quoted(widest)} are together in its largest table: show a "
            "part of the network, take more by limit=, or ask in Python."
        )
    # True: for both passes of messages, as a page asks for all marginals.
    tree = inference.with_intermediates(tree, True)
    offset = numbers.add(tables.values)["at"]
    # The clique of each table, -1 for none.
    home = np.full(len(tables), -1)
    home[tree.factors] = tree.home
    # Cliques are lists of variables, those that are eliminated at the clique first: `residual` is
    # their number. The parent of a root is -1.
    part = {
        "cards": tables.arrays.cards.tolist(),
        "node": list(nodes),
        "scopes": _lists(tables.arrays.start, tables.arrays.item),
        "child": arrays.child.tolist(),
        "at": (arrays.base + offset).tolist(),
        "logScale": tables.log_scale,
        "tree": {
            "cliques": _lists(tree.c_start, tree.variables[tree.member]),
            "residual": tree.residual.tolist(),
            "parent": tree.parent.tolist(),
            "home": home.tolist(),
        },
    }
    # Entries have underflowed: only their logarithms are right.
    if tables.has_lost_digits:
        part["logs"] = numbers.add(tables.log_values)["at"]
    return part


def _lists(start: Any, item: Any) -> list[list[int]]:
    """Return the items from each start to the next one."""
    return [item[a:b].tolist() for a, b in pairwise(start.tolist())]


# --------------------------------------------------------------------------------------- models


def _weighted_part(model: Any, numbers: Numbers) -> Json:
    """Return the part of a weighted network: its network's, exponents and biases.

    Exponents and parents are by the index of the child; that of the target's prior is ``prior``.
    """
    index_of = model._index_of
    part = network_part(model.network, index_of, numbers)
    exponents: list[Json | None] = [None] * len(index_of)
    parents: list[list[int]] = [[] for _ in index_of]
    for cpd in model.network.cpds:
        child = index_of[cpd.variable.name]
        parents[child] = [index_of[parent.name] for parent in cpd.parents]
        if cpd.variable != model.target:
            exponents[child] = numbers.add(model.exponents[cpd.variable.name])
    part["weighted"] = {
        "target": index_of[model.target.name],
        "prior": model.prior_exponent,
        "bias": numbers.add(model.bias),
        "exponents": exponents,
        "parents": parents,
    }
    return {"kind": "weighted"} | part


def _ensemble_part(model: Any, numbers: Numbers) -> Json:
    """Return the part of a mixture or an average: networks of positive weight, their weights."""
    if len(model.members) > _MOST_MEMBERS:
        raise MemoryLimitError(
            f"The model has {len(model.members)} networks; a page takes {_MOST_MEMBERS}. Show one "
            "of its `networks`, fit fewer, or ask the model in Python."
        )
    part: Json = {"weights": [member.weight for member in model.members]}
    if model._is_joint:
        members = [network_part(m.network, model._index_of, numbers) for m in model.members]
        return {"kind": "mixture", "members": members} | part
    # By variable: the ratio of its new prior to that of the networks, for each state (prior shift).
    prior_ratios = {str(model._index_of[n]): list(r) for n, r in model.prior_ratios.items()}
    # 0 for numbers and counts, which have no states.
    cards = [v.cardinality if isinstance(v, Discrete) else 0 for v in model.variables]
    return part | {
        "kind": "average",
        "members": [_member_part(model, member, numbers) for member in model.members],
        "ratios": prior_ratios,
        "cards": cards,
        # By index: of numbers whose intervals differ among the networks.
        "cuts": {str(v): list(variable.cuts) for v, variable in model._cut_numbers.items()},
    }


def _member_part(model: Any, member: Any, numbers: Numbers) -> Json:
    """Return the part of a network of an average, and how to read the average's cases in it.

    ``own`` has the index in the network of each variable of the average, -1 if it has none;
    ``maps`` turn values of the average's variables, by their index, into those of the network;
    ``tempering`` has the exponents of the network's evidence about a variable that are not 1.
    """
    network = member.network
    if not network.networks or (len(network.weights) and not network._is_joint):
        raise UnsupportedModelError(
            f"A page shows averages of networks, of weighted ones and of mixtures; got "
            f"{network!r:.200}. Show one of the average's `networks`."
        )
    # Discrete variables: the network's code of each state, and the share of the state in it if the
    # network has larger intervals. Then vectors of counts, and numbers that it has as intervals.
    maps: Json = {
        str(v): {"codes": codes.tolist(), "shares": model.shares_of(v)[member.place].tolist()}
        for v, codes in member.codes.items()
    }
    maps |= {str(v): {"items": items} for v, items in member.items.items()}
    maps |= {str(v): {"cuts": list(binned.cuts)} for v, binned in member.cut.items()}
    exponents = {str(model._index_of[name]): e for name, e in member.exponents.items()}
    places = [member.places.get(v, -1) for v in range(len(model.variables))]
    part = _part_of(network, numbers)
    return part | {"own": places, "maps": maps, "tempering": exponents}


def _factors_part(model: Any, numbers: Numbers) -> Json:
    """Return the part of a factor graph of tables and vectors of counts."""
    tables: list[tuple[tuple[Variable, ...], Floats]] = []
    parts: list[Json] = []
    writer = Writer(model, model._index_of, numbers)
    for term in model.terms:
        if term.table is not None:
            axes = [v for v in term.scope if isinstance(v, Discrete)]
            # Axis 0 is that of the rows of a batch, of which there is one.
            tables.append((tuple(axes), np.exp(term.table.aligned(axes)[0])))
        elif isinstance(term.source, models.ItemsCPD):
            counts = _items(term.source, writer, term.exponent)
            parts.append(_base(term.source, writer) | counts)
    others = [v.name for v in model.variables if not isinstance(v, Discrete)]
    # Some term is neither a table nor counts, or nothing is discrete.
    if len(tables) + len(parts) < len(model.terms) or len(others) == len(model.variables):
        raise UnsupportedModelError(
            f"A page answers exactly for factors of tables and counts; those over "
            f"{quoted(others)} are others. Ask the model in Python."
        )
    part = _with_tables(writer, tables, parts)
    # No factor is a distribution of a child.
    part["engine"]["child"] = [-1] * len(part["engine"]["child"])
    return {"kind": "factor graph"} | part


def _part_of(model: Any, numbers: Numbers) -> Json:
    """Return the part of a model by what it consists of: factors, itself, or other networks."""
    if not model.networks:
        return _factors_part(model, numbers)
    if model.networks[0] is model:
        return {"kind": "network"} | network_part(model, model._index_of, numbers)
    if model.target is not None:  # weighted networks alone are models of one class
        return _weighted_part(model, numbers)
    return _ensemble_part(model, numbers)


def model_part(model: models.Model, numbers: Numbers) -> Json:
    """Return the part of a model, with the verbs that the page answers.

    Raises
    ------
    UnsupportedModelError
        If the page could not answer exactly; the message names what, and the way that works.
    MemoryLimitError
        If the clique tree has more entries than the limit, or a part more than the stated sizes.
    """
    # Canonical distributions, such as noisy-or, are divided into tables if they can be.
    answering = model._unfolded or model
    if answering._compiled_tables is None:  # not all distributions are tables
        part = _part_of(model, numbers)
        # Walks through trees sum their roots out, and have no most probable states of them.
        walks = any(local["type"] == "trees" for local in part.get("locals", ()))
        # Ensembles have `members` in place of local parts.
        has_modes = "locals" in part and model.networks and not walks
        return part | {"verbs": [*_ALWAYS, *_EXPLAINED, *(_OF_TABLES[:1] if has_modes else ())]}
    engine = tables_part(answering._compiled_tables.tables, range(len(model.variables)), numbers)
    # Factors are no conditional probabilities, which the other verbs explain or change.
    if not model.networks:
        return {"kind": "factor graph", "verbs": [*_ALWAYS, *_OF_TABLES[:2]], "engine": engine}
    # Auxiliary variables of canonical distributions would have to be summed out first.
    is_whole = len(answering.variables) == len(model.variables)
    verbs = [*_ALWAYS, *_EXPLAINED, *(_OF_TABLES if is_whole else ())]
    return {"kind": "network", "verbs": verbs, "engine": engine}
