"""Brute force for trees: continuous roots become cells between the thresholds of all trees.

Nothing here walks the library's arrays with its own code: a tree becomes a full table by asking it
at one point of every cell, in plain Python, and the probability of a cell is summed up from the
definition of the root's density. What is left is a model that `Oracle` enumerates.
"""

import itertools
import math

import numpy as np
from family_oracle import StarOracle, is_of_families
from oracle import Oracle

import bayesgraph as bg


def reached(cpd, point):
    """Return the leaf that a mapping from variable to code or number reaches."""
    tree, node = cpd.trees, 0
    while tree.feature[node] >= 0:
        parent = cpd.parents[tree.feature[node]]
        value = point[parent]
        if isinstance(parent, bg.Discrete):
            goes_left = in_word(tree.states[node], tree.groups[tree.feature[node]][value])
        else:
            goes_left = value <= tree.threshold[node]
        node = int(tree.below[node]) + (0 if goes_left else 1)
    return node


def in_word(words, group):
    """Tell whether the bit of a group is set in words of 64 bits."""
    return int(words[group // 64]) >> int(group) % 64 & 1 == 1


def is_average(cpd):
    """Tell whether a CPD is the mean of several trees."""
    return isinstance(cpd, bg.models.TreesCPD) and len(cpd.trees.roots) > 1


def mass(root, low, high):
    """Return P(low < x <= high) of a Gaussian or a histogram, by its definition."""
    if isinstance(root, bg.GaussianCPD):
        mean, scale = float(root.mean), math.sqrt(2 * float(root.variance))
        return (math.erf((high - mean) / scale) - math.erf((low - mean) / scale)) / 2
    first, last = root.edges[0], root.edges[-1]
    total, s = 0.0, last - first
    for a, b, share in zip(root.edges[:-1], root.edges[1:], root.values[1:-1], strict=True):
        total += share * max(0.0, min(b, high) - max(a, low)) / (b - a)

    def beyond(distance):  # P(tail goes further than that)
        return (1 + distance / s) ** -3

    if low < first:
        total += root.values[0] * (beyond(max(0.0, first - high)) - beyond(first - low))
    if high > last:
        total += root.values[-1] * (beyond(max(0.0, low - last)) - beyond(high - last))
    return float(total)


def density(root, x):
    """Return p(x) of a Gaussian or a histogram, by its definition."""
    if isinstance(root, bg.GaussianCPD):
        variance = float(root.variance)
        return math.exp(-((x - float(root.mean)) ** 2) / (2 * variance)) / math.sqrt(
            2 * math.pi * variance
        )
    first, last = root.edges[0], root.edges[-1]
    s = last - first
    if x < first:
        return root.values[0] * 3 / s * (1 + (first - x) / s) ** -4
    if x > last:
        return root.values[-1] * 3 / s * (1 + (x - last) / s) ** -4
    for a, b, share in zip(root.edges[:-1], root.edges[1:], root.values[1:-1], strict=True):
        if x <= b:
            return share / (b - a)
    raise AssertionError


class TreeOracle:
    """Answers about a network of trees over discrete and continuous roots, by enumeration."""

    def __init__(self, network):
        self.cut = {}
        for cpd in network.cpds:
            if isinstance(cpd, bg.models.TreesCPD):
                for place, parent in enumerate(cpd.parents):
                    if isinstance(parent, bg.Continuous):
                        own = cpd.trees.threshold[cpd.trees.feature == place]
                        self.cut.setdefault(parent, set()).update(own.tolist())
        self.cut = {v: sorted(cuts) for v, cuts in self.cut.items()}
        self.cells = {v: bg.Discrete(v.name, range(len(cuts) + 1)) for v, cuts in self.cut.items()}
        self.roots = {
            cpd.variable: cpd
            for cpd in network.cpds
            if isinstance(cpd.variable, bg.Continuous)
            and (cpd.variable in self.cut or isinstance(cpd, bg.models.HistogramCPD))
        }
        kept = [c for c in network.cpds if c.variable not in self.roots or c.variable in self.cut]
        self.oracle = Oracle.of(bg.BayesianNetwork([self._translated(cpd) for cpd in kept]))

    def _translated(self, cpd):
        if isinstance(cpd, bg.models.TreesCPD):
            parents = [self.cells.get(p, p) for p in cpd.parents]
            shape = [p.cardinality for p in parents]
            table = np.empty((*shape, cpd.variable.cardinality))
            for codes in itertools.product(*map(range, shape)):
                point = {
                    p: self._inside(p, code) if p in self.cells else code
                    for p, code in zip(cpd.parents, codes, strict=True)
                }
                table[codes] = cpd.trees.values[cpd.trees.below[reached(cpd, point)]]
            return bg.TableCPD(cpd.variable, table, parents)
        if cpd.variable in self.cells:
            ends = [-math.inf, *self.cut[cpd.variable], math.inf]
            shares = [mass(cpd, a, b) for a, b in itertools.pairwise(ends)]
            return bg.TableCPD(self.cells[cpd.variable], shares)
        return cpd

    def _inside(self, variable, cell):
        ends = [self.cut[variable][0] - 1.0 if self.cut[variable] else -1.0, *self.cut[variable]]
        ends.append(ends[-1] + 2.0)
        return (ends[cell] + ends[cell + 1]) / 2 if cell else ends[0]

    def translated(self, evidence):
        """Return evidence on cells, and the log density that the cells leave out."""
        found, extra = {}, 0.0
        by_name = {v.name: v for v in self.roots}
        for name, value in (evidence or {}).items():
            variable = by_name.get(name)
            if variable is None or value is None:
                found[name] = value
                continue
            extra += math.log(density(self.roots[variable], value))
            if variable in self.cut:
                cuts = self.cut[variable]
                cell = sum(value > cut for cut in cuts)
                ends = [-math.inf, *cuts, math.inf]
                extra -= math.log(mass(self.roots[variable], ends[cell], ends[cell + 1]))
                found[name] = cell
        return found, extra

    def posterior(self, targets, evidence=None):
        """Return P(targets | evidence), one axis for each discrete target."""
        return self.oracle.posterior(targets, self.translated(evidence)[0])

    def log_probability(self, evidence=None):
        """Return the natural log of the probability (density) of the evidence."""
        found, extra = self.translated(evidence)
        return self.oracle.log_probability(found) + extra

    def moments(self, targets, evidence=None):
        """Return mean and covariance of Gaussian targets."""
        return self.oracle.moments(targets, self.translated(evidence)[0])


def average_table(cpd):
    """Return an average of trees as a table: each tree is walked, and the leaves are averaged."""
    shape = [p.cardinality for p in cpd.parents]
    table = np.empty((*shape, cpd.variable.cardinality))
    for codes in itertools.product(*map(range, shape)):
        table[codes] = average_at(cpd, dict(zip(cpd.parents, codes, strict=True)))
    return bg.TableCPD(cpd.variable, table, cpd.parents)


def average_at(cpd, point):
    """Return the mean of the leaves that a mapping from parent to state code reaches."""
    trees = cpd.trees
    leaves = []
    for root in trees.roots.tolist():
        node = root
        while trees.feature[node] >= 0:
            place = int(trees.feature[node])
            group = trees.groups[place][point[cpd.parents[place]]]
            goes_left = in_word(trees.states[node], group)
            node = int(trees.below[node]) + (0 if goes_left else 1)
        leaves.append(trees.values[trees.below[node]])
    return np.mean(leaves, axis=0)


class AverageOracle:
    """Answers about an average of posteriors: the weighted sum of its members' posteriors."""

    def __init__(self, average):
        pairs = zip(average.weights, average.networks, strict=True)
        self.parts = [(weight, oracle_of(network)) for weight, network in pairs]
        self.exponents = average.exponents

    def posterior(self, targets, evidence=None):
        """Return P(targets | evidence), one axis for each discrete target."""
        none = np.ones(len(self.parts))
        # One target has exponents, or none.
        exponents = next((self.exponents[t] for t in targets if t in self.exponents), none)
        assert len(targets) == 1 or (exponents == 1.0).all()
        total = 0.0
        for (weight, oracle), exponent in zip(self.parts, exponents, strict=True):
            own = oracle.posterior(targets, evidence)
            if exponent != 1.0:
                own = own**exponent * oracle.posterior(targets) ** (1.0 - exponent)
            total += weight * own / own.sum()
        return total


class MixtureOracle:
    """Answers about a mixture: the weighted sum of what the oracles of its networks say."""

    def __init__(self, mixture):
        pairs = zip(mixture.weights, mixture.networks, strict=True)
        self.parts = [(weight, Oracle.of(network)) for weight, network in pairs]

    def probability(self, evidence=None):
        """Return the probability (density) of the evidence."""
        return math.fsum(weight * oracle.probability(evidence) for weight, oracle in self.parts)

    def posterior(self, targets, evidence=None):
        """Return P(targets | evidence), one axis for each discrete target."""
        table = self.joint(targets, evidence)
        return table / table.sum()

    def joint(self, targets, evidence=None):
        """Return P(targets, evidence), one axis for each discrete target."""
        return sum(weight * oracle.joint(targets, evidence) for weight, oracle in self.parts)


class TemperedOracle:
    """Answers about a weighted network, by the definition: marginalise first, then temper.

    Whatever is asked of the untempered network is summed over its whole joint distribution.
    """

    def __init__(self, model):
        self.model = model
        self.oracle = Oracle.of(model.network)

    def class_posterior(self, evidence):
        model = self.model
        target = [model.target.name]
        found = self.oracle.joint(target) ** model.prior_exponent
        found = found * np.exp(model.bias)
        for cpd in model.network.cpds:
            name = cpd.variable.name
            if name == model.target.name or name not in evidence:
                continue
            above = {
                p.name: evidence[p.name]
                for p in cpd.parents
                if p != model.target and p.name in evidence
            }
            # P(c, parents, feature) / P(c, parents), both of the untempered network
            together = self.oracle.joint(target, {**above, name: evidence[name]})
            term = together / self.oracle.joint(target, above)
            found = found * term ** model.exponents[name]
        return found / found.sum()

    def posterior(self, targets, evidence=None):
        """Return P(targets | evidence), one axis for each discrete target."""
        target = self.model.target.name
        given = {k: v for k, v in (evidence or {}).items() if v is not None}
        shares = self.class_posterior(given)
        if list(targets) == [target]:
            return shares
        states = self.model.target.states
        parts = [self.oracle.posterior(targets, {**given, target: s}) for s in states]
        return sum(share * part for share, part in zip(shares, parts, strict=True))


def oracle_of(network):
    """Return the oracle that fits the families of a network, or of those of a mixture."""
    if isinstance(network, bg.WeightedNetwork):
        return TemperedOracle(network)
    if isinstance(network, bg.Ensemble):
        return (MixtureOracle if network.combine == "joint" else AverageOracle)(network)
    if is_of_families(network):
        return StarOracle(network)
    if any(map(is_average, network.cpds)):
        cpds = [average_table(c) if is_average(c) else c for c in network.cpds]
        return Oracle.of(bg.BayesianNetwork(cpds))
    own = any(isinstance(cpd, (bg.models.TreesCPD, bg.models.HistogramCPD)) for cpd in network.cpds)
    return TreeOracle(network) if own else Oracle.of(network)


# ------------------------------------------------------------------------------ random trees


def random_tree(random, variable, parents, *, depth=4):
    """Return nested splits; some leaves have zeros, some splits repeat a parent."""
    usable = [p for p in parents if isinstance(p, bg.Continuous) or p.cardinality > 1]
    if depth == 0 or not usable or random.random() < 0.15:
        leaf = random.dirichlet(np.ones(variable.cardinality))
        leaf[random.integers(variable.cardinality)] *= random.random() < 0.7
        return leaf / leaf.sum() if leaf.sum() else np.eye(variable.cardinality)[0]
    parent = usable[random.integers(len(usable))]
    if isinstance(parent, bg.Continuous):
        at = float(np.round(random.normal(), 2))
    else:
        size = int(random.integers(1, parent.cardinality))
        at = [parent.states[i] for i in random.permutation(parent.cardinality)[:size]]
    below = [random_tree(random, variable, parents, depth=depth - 1) for _ in range(2)]
    return bg.Split(parent, at, *below)


def random_root(random, variable):
    """Return a table, a Gaussian or a histogram."""
    if isinstance(variable, bg.Discrete):
        shares = random.dirichlet(np.ones(variable.cardinality))
        return bg.TableCPD(variable, shares)
    if random.random() < 0.5:
        return bg.GaussianCPD(variable, random.normal(), random.uniform(0.2, 3))
    edges = np.sort(np.round(random.normal(0, 1.5, size=int(random.integers(2, 6))), 3))
    edges = np.unique(np.concatenate([edges, [edges[-1] + 0.5]]))
    return bg.models.HistogramCPD(variable, edges, random.dirichlet(np.ones(len(edges) + 1)))


def random_tree_network(seed, *, n_discrete=3, n_continuous=2):
    """Return features -> c (a tree) -> d (a table), in random order."""
    random = np.random.default_rng(seed)
    features = [
        bg.Discrete(f"f{i}", ["u", "v", "w", "x"][: int(random.integers(1, 5))])
        for i in range(n_discrete)
    ]
    features += [bg.Continuous(f"x{i}") for i in range(n_continuous)]
    features = [features[i] for i in random.permutation(len(features))]
    child = bg.Discrete("c", [1, 2, 3][: int(random.integers(2, 4))])
    below = bg.Discrete("d", ["no", "yes"])
    cpds = [random_root(random, v) for v in features]
    cpds.append(bg.models.TreesCPD(child, random_tree(random, child, features), features))
    cpds.append(bg.TableCPD(below, random.dirichlet([1, 1], child.cardinality), [child]))
    return bg.BayesianNetwork([cpds[i] for i in random.permutation(len(cpds))])


def random_row(random, network, *, share=0.5):
    """Return a draw from the network with some values left out."""
    row = {name: column[0] for name, column in network.sample(1, random_state=random).items()}
    row = {n: v.item() if hasattr(v, "item") else v for n, v in row.items()}
    return {name: value for name, value in row.items() if random.random() < share}


def random_trees(random, n_states, cards, *, n_trees=5, depth=5):
    """Return trees that split groups of states at random; some leaves have zeros."""
    groups = [random.permutation(np.arange(n) % int(random.integers(1, n + 1))) for n in cards]
    nodes, roots, values = [], [], []

    def fill(node, alive, depth):
        usable = [j for j, own in enumerate(alive) if len(own) > 1]
        if depth == 0 or not usable or random.random() < 0.1:
            leaf = random.dirichlet(np.ones(n_states))
            leaf[random.integers(n_states)] *= random.random() < 0.8
            nodes[node] = (-1, 0, len(values))
            values.append(leaf / leaf.sum())
            return
        j = usable[random.integers(len(usable))]
        own = random.permutation(alive[j])
        sides = np.split(own, [int(random.integers(1, len(own)))])
        left = len(nodes)
        nodes[node] = (j, sum(1 << int(g) for g in sides[0]), left)
        nodes.extend([None, None])
        for at, side in enumerate(sides):
            fill(left + at, [*alive[:j], side, *alive[j + 1 :]], depth - 1)

    for _ in range(n_trees):
        roots.append(len(nodes))
        nodes.append(None)
        fill(roots[-1], [np.unique(g) for g in groups], depth)
    feature, states, below = (np.array(column) for column in zip(*nodes, strict=True))
    return bg.models.Trees(
        np.array(roots), feature, states[:, None], below, np.array(values), tuple(groups)
    )


def random_average(seed, cards=(3, 1, 4, 2), n_states=3, **options):
    """Return an average of trees given parents with these numbers of states."""
    random = np.random.default_rng(seed)
    parents = [bg.Discrete(f"f{j}", range(n)) for j, n in enumerate(cards)]
    trees = random_trees(random, n_states, cards, **options)
    return bg.models.TreesCPD(bg.Discrete("c", range(n_states)), trees, parents)


def random_average_network(seed, **options):
    """Return features -> c -> d, where the last feature has a parent and is no root."""
    random = np.random.default_rng(seed)
    cpd = random_average(seed, **options)
    *roots, last = cpd.parents
    cpds = [bg.TableCPD(v, random.dirichlet(np.ones(v.cardinality))) for v in roots]
    above = bg.Discrete("above", ["no", "yes"])
    cpds.append(bg.TableCPD(above, [0.3, 0.7]))
    cpds.append(bg.TableCPD(last, random.dirichlet(np.ones(last.cardinality), 2), [above]))
    below = random.dirichlet([1, 1], cpd.variable.cardinality)
    cpds += [cpd, bg.TableCPD(bg.Discrete("d", ["no", "yes"]), below, [cpd.variable])]
    return bg.BayesianNetwork([cpds[i] for i in random.permutation(len(cpds))])
