"""Small models made by hand, of every family and kind, for tests that ask all questions of all.

Their numbers come from Python's own generator, whose draws are the same in all versions, and not
from the library, so that they stay what they are whatever becomes of it.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import bayesgraph as bg


def table(chance: random.Random, *shape: int) -> np.ndarray:
    """Return random distributions along the last axis, none of whose numbers is near zero."""
    values = np.array([0.1 + chance.random() for _ in range(int(np.prod(shape)))]).reshape(shape)
    return np.asarray(values / values.sum(axis=-1, keepdims=True))


def numbers(chance: random.Random, *shape: int, low: float, high: float) -> np.ndarray:
    """Return random numbers between two others."""
    values = [chance.uniform(low, high) for _ in range(int(np.prod(shape)))]
    return np.array(values).reshape(shape)


def _random_tables(seed: int, cards: list[int], most_parents: int, reach: int) -> list[bg.TableCPD]:
    chance = random.Random(seed)
    nodes = [bg.Discrete(f"v{i}", [f"s{k}" for k in range(card)]) for i, card in enumerate(cards)]
    cpds = []
    for i, node in enumerate(nodes):
        above = nodes[max(0, i - reach) : i]
        parents = chance.sample(above, min(len(above), chance.randint(1, most_parents)))
        shape = [parent.cardinality for parent in parents]
        cpds.append(bg.TableCPD(node, table(chance, *shape, node.cardinality), parents))
    return cpds


def many_discrete() -> bg.BayesianNetwork:
    """Return a network of more variables than a joint table is made of, with a forbidden state."""
    cpds = _random_tables(1, [2, 3, 2, 4] * 4, 3, 5)
    last = bg.Discrete("last", ["s0", "s1", "s2"])
    never = np.array([[0.5, 0.5, 0.0], [0.2, 0.3, 0.5]])
    return bg.BayesianNetwork([*cpds, bg.TableCPD(last, never, [cpds[0].variable])])


def few_discrete() -> bg.BayesianNetwork:
    """Return a network so small that its joint table answers, with states of several types."""
    rain = bg.Discrete("rain", ["no", "yes"])
    sprinkler = bg.Discrete(("sprinkler", 1), [False, True])
    wet = bg.Discrete("wet", [0, 1, "1", True])
    slip = bg.Discrete("slip", [-1, 2.5])
    values = [
        [[1.0, 0.0, 0.0, 0.0], [0.1, 0.4, 0.3, 0.2]],
        [[0.2, 0.3, 0.1, 0.4], [0, 0, 0.5, 0.5]],
    ]
    return bg.BayesianNetwork(
        [
            bg.TableCPD(slip, [[0.99, 0.01], [0.9, 0.1], [0.8, 0.2], [0.3, 0.7]], [wet]),
            bg.TableCPD(rain, [0.8, 0.2]),
            bg.TableCPD(sprinkler, [[0.6, 0.4], [0.95, 0.05]], [rain]),
            bg.TableCPD(wet, values, [rain, sprinkler]),
        ],
        arc_scores={("rain", "wet"): 0.25},
    )


def one_variable() -> bg.BayesianNetwork:
    """Return the least of all networks."""
    return bg.BayesianNetwork([bg.TableCPD(bg.Discrete("v0", ["s0", "s1", "s2"]), [0.5, 0.5, 0.0])])


def chain() -> bg.BayesianNetwork:
    """Return a long chain, whose joint table would be huge."""
    return bg.BayesianNetwork(_random_tables(2, [2] * 40, 1, 1))


def conditional_gaussian() -> bg.BayesianNetwork:
    """Return a network of tables and linear Gaussians with both kinds of parents."""
    chance = random.Random(3)
    kind, side = bg.Discrete("kind", ["k0", "k1", "k2"]), bg.Discrete("side", [False, True])
    mark = bg.Discrete("mark", ["m0", "m1"])
    x, y, z, u = (bg.Continuous(name) for name in "xyzu")
    return bg.BayesianNetwork(
        [
            bg.TableCPD(kind, [0.5, 0.3, 0.2]),
            bg.TableCPD(side, [[0.7, 0.3], [0.1, 0.9], [1.0, 0.0]], [kind]),
            bg.TableCPD(mark, table(chance, 2, 2), [side]),
            bg.GaussianCPD(x, [0.0, 1.5, -2.0], [1.0, 0.5, 2.0], [kind]),
            bg.GaussianCPD(y, [0.3, -0.4], [0.8, 1.7], [side, x], [[0.9], [-0.6]]),
            bg.GaussianCPD(z, 0.25, 0.5, [x, y], [0.5, -1.25]),
            bg.GaussianCPD(u, [1.0, 2.0], [0.3, 0.4], [mark]),
        ]
    )


def only_gaussian() -> bg.BayesianNetwork:
    """Return a network without any discrete variable."""
    x, y, z = (bg.Continuous(name) for name in "xyz")
    return bg.BayesianNetwork(
        [
            bg.GaussianCPD(z, 1.0, 0.7, [x, y], [0.5, 2.0]),
            bg.GaussianCPD(x, 0.5, 2.0),
            bg.GaussianCPD(y, -1.0, 0.25, [x], [1.5]),
        ]
    )


def many_factors() -> bg.FactorGraph:
    """Return a grid of factors with exponents of all shapes, too many for a joint table."""
    chance = random.Random(4)
    at = {(i, j): bg.Discrete(f"v{i}{j}", ["s0", "s1"]) for i in range(4) for j in range(4)}
    pairs = [((i, j), (i + 1, j)) for i in range(3) for j in range(4)]
    pairs += [((i, j), (i, j + 1)) for i in range(4) for j in range(3)]
    factors = [bg.Factor([at[one]], table(chance, 2)) for one in at]
    factors += [bg.Factor([at[a], at[b]], 3.0 * table(chance, 2, 2)) for a, b in pairs]
    factors.append(bg.Factor([at[0, 0], at[3, 3]], [[1.0, 2.0], [1.0, 0.0]]))
    powers = [None, 0.5, -0.25, 1.5]
    exponents: list[Any] = [powers[i % len(powers)] for i in range(len(factors) - 1)]
    exponents[-1] = [[0.5, 1.0], [2.0, -1.0]]
    return bg.FactorGraph(factors, exponents=[*exponents, 1.0], domain="free")


def few_factors() -> bg.FactorGraph:
    """Return a factor graph so small that its joint table answers, with a zero and a CPD."""
    a, b, c = (bg.Discrete(name, ["s0", "s1", "s2"]) for name in ("v0", "v1", "v2"))
    chance = random.Random(5)
    factors = [
        bg.Factor([a, b], [[4.0, 1.0, 0.0], [1.0, 4.0, 2.0], [0.5, 0.25, 7.0]]),
        bg.Factor([b, c], 5.0 * table(chance, 3, 3)),
        bg.TableCPD(c, table(chance, 3, 3), [a]),
    ]
    return bg.FactorGraph(factors, exponents=[None, 0.5, [[1.0], [0.0], [2.0]]])


def gaussian_factors() -> bg.FactorGraph:
    """Return the product of powered tables and Gaussians."""
    return bg.FactorGraph.of(conditional_gaussian(), {"x": [1.0, 0.5, 2.0], "side": 0.75, "u": 0.5})


def weighted() -> bg.WeightedNetwork:
    """Return a class whose children, of all kinds and linked among each other, have exponents."""
    chance = random.Random(6)
    kind = bg.Discrete("kind", ["k0", "k1", "k2"])
    a, b = bg.Discrete("a", ["a0", "a1"]), bg.Discrete("b", ["b0", "b1", "b2"])
    x, y = bg.Continuous("x"), bg.Continuous("y")
    network = bg.BayesianNetwork(
        [
            bg.TableCPD(kind, [0.2, 0.3, 0.5]),
            bg.TableCPD(a, table(chance, 3, 2), [kind]),
            bg.TableCPD(b, [[[0.5, 0.5, 0.0], [0.2, 0.2, 0.6]]] * 3, [kind, a]),
            bg.GaussianCPD(x, numbers(chance, 3, low=-1, high=1), [0.5, 1.0, 2.0], [kind]),
            bg.GaussianCPD(y, 0.0, 1.0, [kind, x], numbers(chance, 3, 1, low=-1, high=1)),
        ]
    )
    exponents = {"a": 0.5, "b": [0.0, 1.0, 2.0], "x": [0.25, 0.75, 1.25]}
    return bg.WeightedNetwork(
        network, "kind", exponents, bias=[0.0, -0.5, 0.25], prior_exponent=0.5
    )


def weighted_tables() -> bg.WeightedNetwork:
    """Return a weighted star of tables, with negative exponents."""
    chance = random.Random(7)
    kind = bg.Discrete("kind", ["k0", "k1"])
    children = [bg.Discrete(f"v{i}", ["s0", "s1", "s2"]) for i in range(5)]
    cpds = [bg.TableCPD(child, table(chance, 2, 3), [kind]) for child in children]
    network = bg.BayesianNetwork([bg.TableCPD(kind, [0.4, 0.6]), *cpds])
    exponents = {f"v{i}": power for i, power in enumerate([-0.5, 0.0, [1.0, -1.0], 2.0])}
    return bg.WeightedNetwork(network, "kind", exponents, domain="free")


def _linked(chance: random.Random, arcs: list[tuple[int, int]], n: int) -> bg.BayesianNetwork:
    nodes = [bg.Discrete(f"v{i}", ["s0", "s1", "s2"][: 2 + i % 2]) for i in range(n)]
    cpds = []
    for i, node in enumerate(nodes):
        parents = [nodes[a] for a, b in arcs if b == i]
        shape = [parent.cardinality for parent in parents]
        cpds.append(bg.TableCPD(node, table(chance, *shape, node.cardinality), parents))
    return bg.BayesianNetwork(cpds)


def discrete_mixture() -> bg.Ensemble:
    """Return a mixture of networks of tables with different arcs; one has no weight."""
    chance = random.Random(8)
    arcs = [[], [(0, 1), (1, 2), (2, 3)], [(3, 0), (0, 2), (3, 2), (2, 1)], [(0, 3)]]
    return bg.Ensemble([_linked(chance, some, 4) for some in arcs], [1, 3, 2, 0])


def mixed_mixture() -> bg.Ensemble:
    """Return a mixture of networks that have Gaussians too."""
    kind, mark = bg.Discrete("kind", ["k0", "k1", "k2"]), bg.Discrete("mark", ["m0", "m1"])
    x, y = bg.Continuous("x"), bg.Continuous("y")
    first = bg.BayesianNetwork(
        [
            bg.TableCPD(kind, [0.2, 0.3, 0.5]),
            bg.TableCPD(mark, [[0.5, 0.5], [0.9, 0.1], [1.0, 0.0]], [kind]),
            bg.GaussianCPD(x, [0.0, 1.0, 2.0], [1.0, 1.0, 0.5], [kind]),
            bg.GaussianCPD(y, [0.0, 1.0], [1.0, 2.0], [mark, x], [[1.0], [-1.0]]),
        ]
    )
    second = bg.BayesianNetwork(
        [
            bg.TableCPD(mark, [0.6, 0.4]),
            bg.TableCPD(kind, [[0.2, 0.4, 0.4], [0.3, 0.7, 0.0]], [mark]),
            bg.GaussianCPD(x, [0.5, -0.5], [2.0, 1.0], [mark]),
            bg.GaussianCPD(y, 0.25, 1.5),
        ]
    )
    return bg.Ensemble([first, second], [0.3, 0.7])


def trees() -> bg.BayesianNetwork:
    """Return a network of decision trees over features of all kinds, and a number at the leaves."""
    place, age = bg.Discrete("place", ["p0", "p1", "p2"]), bg.Continuous("age")
    dose, leaf = bg.Continuous("dose"), bg.Discrete("leaf", ["l0", "l1"])
    sick, price = bg.Discrete("sick", [False, True]), bg.Continuous("price")
    above = bg.Split(place, ["p1"], [0.25, 0.75], bg.Split(age, 4.0, [1 / 3, 2 / 3], [1.0, 0.0]))
    return bg.BayesianNetwork(
        [
            bg.models.TreesCPD(sick, bg.Split(dose, 0.5, [0.9, 0.1], above), [place, age, dose]),
            bg.models.TreesCPD(leaf, bg.Split(age, 2.0, [1.0, 0.0], [0.0, 1.0]), [sick, age]),
            bg.TableCPD(place, [0.5, 0.25, 0.25]),
            bg.models.HistogramCPD(age, [-1.5, 0.5, 2.5, 6.0], [0.1, 0.4, 0.3, 0.1, 0.1]),
            bg.GaussianCPD(dose, 0.25, 2.0),
            bg.GaussianCPD(price, [1.0, 3.0], [0.5, 0.25], [leaf]),
        ]
    )


def histograms() -> bg.BayesianNetwork:
    """Return a class with histograms below it."""
    kind = bg.Discrete("kind", ["k0", "k1"])
    x, y = bg.Continuous("x"), bg.Continuous("y")
    shares = [[0.1, 0.5, 0.3, 0.1], [0.0, 0.7, 0.3, 0.0]]
    return bg.BayesianNetwork(
        [
            bg.TableCPD(kind, [0.5, 0.5]),
            bg.models.HistogramCPD(x, [0.0, 1.0, 2.0], shares, [kind]),
            bg.models.HistogramCPD(y, [-1.0, 0.0, 0.5, 3.0], [0.1, 0.2, 0.3, 0.3, 0.1]),
        ]
    )


def plates() -> bg.BayesianNetwork:
    """Return a class with a plate of every family of one kind of numbers, and a block."""
    chance = random.Random(9)
    kind = bg.Discrete("kind", ["k0", "k1", "k2"])
    names = ("g0", "g1", "j0", "j1", "s0", "s1", "k", "l")
    g0, g1, j0, j1, s0, s1, kernel, log = (bg.Continuous(name) for name in names)
    t0, t1 = bg.Discrete("t0", ["a", "b"]), bg.Discrete("t1", ["a", "b", "c"])
    p0, p1, n0 = bg.Count("p0"), bg.Count("p1"), bg.Count("n0")
    tables = np.concatenate([table(chance, 3, 2), table(chance, 3, 3)], axis=1)
    covariance = [[[1.0, 0.3], [0.3, 0.5]], [[2.0, -0.8], [-0.8, 1.0]], [[1.0, 0.0], [0.0, 1.0]]]
    counts = np.array([[1], [3], [2]])
    some = numbers(chance, 6, low=-1, high=2)

    def here(low: float, high: float, n: int = 2) -> np.ndarray:
        return numbers(chance, 3, n, low=low, high=high)

    return bg.BayesianNetwork(
        [
            bg.TableCPD(kind, [0.5, 0.3, 0.2]),
            bg.models.GaussianPlate([g0, g1], here(-1, 1), here(0.5, 2), [kind]),
            bg.models.TablePlate([t0, t1], tables, [kind]),
            bg.models.JointGaussianCPD([j0, j1], here(-1, 1), covariance, [kind]),
            bg.models.StudentCPD([s0, s1], here(-1, 1), here(0.5, 2), here(3, 9), [kind]),
            bg.models.KernelDensityCPD(
                [kernel], some, np.ones(6), counts, here(0.3, 0.9, 1), [kind]
            ),
            bg.LogNormalCPD([log], here(-1, 1, 1), here(0.5, 2, 1), [kind]),
            bg.PoissonCPD([p0, p1], here(0.5, 4), [kind]),
            bg.models.NegativeBinomialCPD([n0], here(1, 4, 1), here(0.5, 2, 1), [kind]),
        ]
    )


def count_vectors() -> bg.BayesianNetwork:
    """Return a class with a vector of counts of each family, and a column beside them."""
    chance = random.Random(10)
    kind, mark = bg.Discrete("kind", ["k0", "k1", "k2"]), bg.Discrete("mark", ["m0", "m1"])
    words, stems, tags = (
        bg.CountVector(name, [f"{name}{i}" for i in range(4)]) for name in ("word", "stem", "tag")
    )
    never = table(chance, 3, 4)
    never[0] = [0.5, 0.5, 0.0, 0.0]
    return bg.BayesianNetwork(
        [
            bg.TableCPD(kind, [0.5, 0.3, 0.2]),
            bg.TableCPD(mark, table(chance, 3, 2), [kind]),
            bg.MultinomialCPD(words, never, [kind]),
            bg.models.DirichletMultinomialCPD(
                stems, numbers(chance, 3, 4, low=0.5, high=3), [kind]
            ),
            bg.models.PresenceCPD(tags, numbers(chance, 3, 4, low=0.1, high=0.9), [kind], 0.5),
        ]
    )


def intervals() -> bg.BayesianNetwork:
    """Return a network of tables whose variables are intervals and groups of values."""
    chance = random.Random(11)
    kind = bg.Discrete("kind", ["k0", "k1", "k2"])
    size = bg.Binned("size", [-0.5, 0.75])
    place = bg.Grouped("place", [["p0", "p2"], ["p1"]], True)
    return bg.BayesianNetwork(
        [
            bg.TableCPD(kind, [0.5, 0.3, 0.2]),
            bg.TableCPD(size, table(chance, 3, size.cardinality), [kind]),
            bg.TableCPD(place, table(chance, 3, size.cardinality, place.cardinality), [kind, size]),
        ]
    )


class Made(NamedTuple):
    """A model, and what is asked of it.

    Attributes
    ----------
    make : callable
        Returns the model.
    target : name
        Of the variable that is asked first.
    seed : int
        Of a row that is possible, for `random_row`.
    impossible : dict, optional
        Evidence of probability zero.
    """

    make: Callable[[], Any]
    target: Any
    seed: int
    impossible: dict[Any, Any] | None = None


MODELS: dict[str, Made] = {
    "many-discrete": Made(many_discrete, "v5", 0, {"v0": "s0", "last": "s2"}),
    "few-discrete": Made(
        few_discrete, "rain", 0, {"rain": "no", ("sprinkler", 1): False, "wet": True}
    ),
    "one-variable": Made(one_variable, "v0", 0, {"v0": "s2"}),
    "chain": Made(chain, "v20", 0),
    "conditional-gaussian": Made(conditional_gaussian, "kind", 0, {"kind": "k2", "side": True}),
    "only-gaussian": Made(only_gaussian, "x", 0),
    "many-factors": Made(many_factors, "v12", 0, {"v00": "s1", "v33": "s1"}),
    "few-factors": Made(few_factors, "v1", 0, {"v0": "s0", "v1": "s2"}),
    "gaussian-factors": Made(gaussian_factors, "kind", 0, {"kind": "k2", "side": True}),
    "weighted": Made(weighted, "kind", 0, {"a": "a0", "b": "b2"}),
    "weighted-tables": Made(weighted_tables, "kind", 0),
    "discrete-mixture": Made(discrete_mixture, "v2", 0),
    "mixed-mixture": Made(mixed_mixture, "kind", 0, {"kind": "k2", "mark": "m1"}),
    "trees": Made(trees, "sick", 1, {"dose": 1.0, "place": "p0", "age": 5.0, "sick": True}),
    "histograms": Made(histograms, "kind", 0, {"kind": "k1", "x": 5.0}),
    "plates": Made(plates, "kind", 0, {"l": -1.0}),
    "count-vectors": Made(count_vectors, "kind", 0, {"kind": "k0", "word2": 1}),
    "intervals": Made(intervals, "kind", 0),
}


def random_row(model: Any, chance: random.Random) -> dict[Any, Any]:
    """Return a value of every variable of a model; not a draw from it."""
    row: dict[Any, Any] = {}
    for variable in model.variables:
        row[variable.name] = _value(variable, chance)
    return row


def _value(variable: Any, chance: random.Random) -> Any:
    if isinstance(variable, bg.CountVector):
        return {item: chance.randint(0, 3) for item in variable.items}
    if isinstance(variable, bg.Binned):
        return chance.uniform(-2, 2)
    if isinstance(variable, bg.Grouped):
        return chance.choice([value for group in variable.groups for value in group])
    if isinstance(variable, bg.Discrete):
        return chance.choice(variable.states)
    return chance.randint(0, 4) if isinstance(variable, bg.Count) else chance.uniform(-1.5, 2.5)


def as_columns(rows: list[dict[Any, Any]]) -> dict[Any, list[Any]]:
    """Return rows as columns, in which items of vectors are columns of their own."""
    flat = []
    for row in rows:
        found: dict[Any, Any] = {}
        for name, value in row.items():
            found |= value if isinstance(value, dict) else {name: value}
        flat.append(found)
    return {name: [row.get(name) for row in flat] for name in flat[0]}
