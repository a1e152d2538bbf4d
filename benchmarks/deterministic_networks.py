"""Networks in which most joint states are impossible, and their answers in closed form.

`pedigree`: alleles, selectors and genotypes of a family at linked loci. `adder`: several numbers
that several circuits add, each in an order of its own.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from inference_sides import Node
from numpy.typing import NDArray

Floats = NDArray[np.float64]
BITS = ("0", "1")


class Maker:
    """Nodes under construction, by name."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.place: dict[str, int] = {}

    def add(self, name: str, states: Sequence[str], parents: Sequence[str], table: Floats) -> str:
        """Append a node and return its name."""
        self.place[name] = len(self.nodes)
        numbers = tuple(self.place[parent] for parent in parents)
        self.nodes.append(Node(name, tuple(states), numbers, np.asarray(table, dtype=float)))
        return name


# -------------------------------------------------------------------------------------- pedigrees


def pedigree(founders: int, children: int, loci: int, alleles: int, seed: int) -> tuple[Node, ...]:
    """Return a family whose members are each a child of two earlier ones, or a founder.

    At each locus a member has an allele from either parent. Of the parent's two alleles a selector
    says which; the selectors of neighbouring loci are equal unless there was a recombination. The
    genotype ``g{member}_{locus}``, which is what a laboratory sees, is the unordered pair.
    """
    random = np.random.default_rng(seed)
    couples = [
        random.choice(founders + child, 2, replace=False).tolist() for child in range(children)
    ]
    maker = Maker()
    names = [str(k) for k in range(alleles)]
    pairs = list(itertools.combinations_with_replacement(range(alleles), 2))
    genotype = np.zeros((alleles, alleles, len(pairs)))
    for a, b in itertools.product(range(alleles), repeat=2):
        genotype[a, b, pairs.index((min(a, b), max(a, b)))] = 1.0
    inherited = np.zeros((alleles, alleles, 2, alleles))
    for a, b in itertools.product(range(alleles), repeat=2):
        inherited[a, b, 0, a] = inherited[a, b, 1, b] = 1.0
    for locus in range(loci):
        shares = random.dirichlet(np.full(alleles, 3.0))
        switch = random.uniform(0.05, 0.3)
        linked = np.array([[1.0 - switch, switch], [switch, 1.0 - switch]])
        for member in range(founders + children):
            own = [f"a{member}_{locus}{side}" for side in "pm"]
            for side, name in enumerate(own):
                if member < founders:
                    maker.add(name, names, [], shares)
                    continue
                parent = couples[member - founders][side]
                selector = f"s{member}_{{}}{'pm'[side]}".format
                above = [selector(locus - 1)] if locus else []
                chosen = linked if locus else np.full(2, 0.5)
                maker.add(selector(locus), BITS, above, chosen)
                both = [f"a{parent}_{locus}{side}" for side in "pm"]
                maker.add(name, names, [*both, selector(locus)], inherited)
            shown = [f"{names[a]}/{names[b]}" for a, b in pairs]
            maker.add(f"g{member}_{locus}", shown, own, genotype)
    return tuple(maker.nodes)


def log_probability(nodes: Sequence[Node], genotypes: Mapping[str, str]) -> float:
    """Return the log probability of genotypes, by recursion over the loci (Lander and Green 1987).

    The state of the recursion is which of a parent's alleles each child has, for all children at
    once; given it, the alleles of the founders are enumerated. It takes time that is exponential in
    the number of members, and shares nothing with elimination.
    """
    place = {node.name: i for i, node in enumerate(nodes)}
    loci = sum(name.startswith("g0_") for name in place)
    # The first part of a selector's name and its side, such as "s5" and "p".
    meioses = [
        (name[:-3], name[-1]) for name in place if name.startswith("s") and name[-3:-1] == "_0"
    ]
    forward = np.full((2,) * len(meioses), 0.5 ** len(meioses))
    for locus in range(loci):
        for axis, (child, side) in enumerate(meioses if locus else ()):
            linked = nodes[place[f"{child}_{locus}{side}"]].table
            forward = np.moveaxis(np.tensordot(linked, forward, (0, axis)), 0, axis)
        forward = forward * _shown(nodes, place, locus, genotypes)
    total = float(forward.sum())
    return math.log(total) if total > 0.0 else -math.inf


def _shown(
    nodes: Sequence[Node], place: Mapping[str, int], locus: int, genotypes: Mapping[str, str]
) -> Floats:
    """Return the probability of the genotypes at a locus for each inheritance."""
    alleles = [n for n in nodes if n.name.startswith("a") and n.name[:-1].endswith(f"_{locus}")]
    founding = [n for n in alleles if not n.parents]
    inherited = [n for n in alleles if n.parents]
    n_meioses = len(inherited)
    second = np.indices((2,) * n_meioses, dtype=bool, sparse=True)
    seen = [
        (nodes[place[name]].parents, [int(allele) for allele in state.split("/")])
        for name, state in genotypes.items()
        if name.endswith(f"_{locus}")
    ]
    total = np.zeros((2,) * n_meioses)
    for drawn in itertools.product(range(len(founding[0].states)), repeat=len(founding)):
        have = {place[n.name]: np.int8(k) for n, k in zip(founding, drawn, strict=True)}
        for n, other in zip(inherited, second, strict=True):
            have[place[n.name]] = np.where(other, have[n.parents[1]], have[n.parents[0]])
        agree = np.ones((1,) * n_meioses, dtype=bool)
        for (p, m), (a, b) in seen:
            agree = agree & (((have[p] == a) & (have[m] == b)) | ((have[p] == b) & (have[m] == a)))
        shares = [n.table[k] for n, k in zip(founding, drawn, strict=True)]
        total += agree * float(np.prod(shares))
    return total


# ----------------------------------------------------------------------------------------- adders


def adder(n_bits: int, numbers: int, circuits: int, seed: int) -> tuple[Node, ...]:
    """Return circuits that add the same numbers, each in an order of its own.

    A circuit is a chain of ripple-carry adders: it adds the second number to the first, the third
    to their sum, and so on, modulo ``2**n_bits``. The bits ``x{number}_{bit}`` of the numbers are
    independent with random probabilities, and all else follows from them: the sum's bits
    ``s{circuit}_{numbers - 1}_{bit}``, which are the same for all circuits, and the carries
    ``c{circuit}_{stage}_{bit}``. There are ``circuits * (numbers - 1)`` carries into each bit, of
    which as many are 1 in each circuit.
    """
    random = np.random.default_rng(seed)
    maker = Maker()
    ones = np.array(list(itertools.product((0, 1), repeat=3))).sum(axis=1).reshape(2, 2, 2)
    parity, majority = np.eye(2)[ones % 2], np.eye(2)[ones // 2]
    orders = [random.permutation(numbers).tolist() for _ in range(circuits)]
    nothing = np.array([1.0, 0.0])
    for bit in range(n_bits):
        for number in range(numbers):
            chance = random.uniform(0.1, 0.9)
            maker.add(f"x{number}_{bit}", BITS, [], np.array([1.0 - chance, chance]))
        for circuit, order in enumerate(orders):
            total = f"x{order[0]}_{bit}"
            for stage in range(1, numbers):
                carry = f"c{circuit}_{stage}_{bit}"
                if bit == 0:
                    maker.add(carry, BITS, [], nothing)
                inputs = [total, f"x{order[stage]}_{bit}", carry]
                if bit + 1 < n_bits:
                    maker.add(f"c{circuit}_{stage}_{bit + 1}", BITS, inputs, majority)
                total = maker.add(f"s{circuit}_{stage}_{bit}", BITS, inputs, parity)
    return tuple(maker.nodes)


@dataclass(frozen=True)
class Sum:
    """What is known of numbers of independent bits given their sum, by recursion over its bits.

    Attributes
    ----------
    log_probability : float
        Of the sum.
    ones : ndarray, shape (numbers, n_bits)
        Posterior probability that a bit is 1.
    """

    log_probability: float
    ones: Floats


def chances_of(nodes: Sequence[Node], numbers: int, n_bits: int) -> Floats:
    """Return the prior probability that a bit of a number is 1, shape (numbers, n_bits)."""
    found = {node.name: node.table for node in nodes if node.name.startswith("x")}
    return np.array([[found[f"x{a}_{b}"][1] for b in range(n_bits)] for a in range(numbers)])


def given_sum(chances: Floats, total: int) -> Sum:
    """Return what is known of the numbers from their sum modulo ``2**n_bits``.

    Parameters
    ----------
    chances : ndarray, shape (numbers, n_bits)
        Prior probability that a bit is 1, from the lowest on.
    total : int
    """
    numbers, n_bits = chances.shape
    patterns = np.array(list(itertools.product((0, 1), repeat=numbers)))
    count = patterns.sum(axis=1)
    # `below[i]`: probability of the sum's bits below i together with each carry into bit i.
    below = np.zeros((n_bits + 1, numbers))
    below[0, 0] = 1.0
    steps = []
    for bit in range(n_bits):
        p = np.where(patterns == 1, chances[:, bit], 1.0 - chances[:, bit]).prod(axis=1)
        step = [
            (carry, (carry + count[k]) // 2, k, p[k])
            for carry in range(numbers)
            for k in range(len(patterns))
            if (carry + count[k]) % 2 == (total >> bit) & 1
        ]
        steps.append(step)
        for before, after, _, share in step:
            below[bit + 1, after] += below[bit, before] * share
    above = np.ones(numbers)
    ones = np.zeros((numbers, n_bits))
    for bit in range(n_bits - 1, -1, -1):
        mass, higher = np.zeros(len(patterns)), np.zeros(numbers)
        for before, after, k, share in steps[bit]:
            mass[k] += below[bit, before] * share * above[after]
            higher[before] += share * above[after]
        ones[:, bit] = mass @ patterns / mass.sum()
        above = higher
    return Sum(float(np.log(above[0])), ones)
