"""Brute force for stars: every family of leaves by its definition, one value at a time.

Densities come from scipy.stats or are written out; nothing here uses the library's kernels. Counts
of many items have the probability of the items in their order (no multinomial coefficient).
"""

import math

import cases
import numpy as np
from scipy import stats

import bayesgraph as bg
from bayesgraph.core.variables import is_missing
from bayesgraph.files.payloads import STORED


def table(cpd, cell, value):
    state = next(
        i for i, s in enumerate(cpd.variable.states) if type(s) is type(value) and s == value
    )
    return float(np.log(cpd.values[(*cell, state)]))


def gaussian(cpd, cell, value):
    return stats.norm.logpdf(value, cpd.mean[cell], math.sqrt(cpd.variance[cell]))


def density(name):
    """Return the log density of a family with named parameters, from SciPy."""
    scipy = cases.DENSITIES[name][1]

    def log_density(cpd, cell, value):
        frozen = scipy(**{key: getattr(cpd, key)[cell][0] for key in cpd.parameters})
        return (frozen.logpdf if hasattr(frozen.dist, "pdf") else frozen.logpmf)(value)

    return log_density


def kernel(cpd, cell, value):
    n = cpd.counts[..., 0].reshape(-1).astype(int)
    at = np.ravel_multi_index(cell, cpd.counts.shape[:-1])
    part = slice(n[:at].sum(), n[: at + 1].sum())
    density = stats.norm.pdf(value, cpd.values[part], cpd.bandwidth[cell][0])
    with np.errstate(divide="ignore"):
        return np.log(np.average(density, weights=cpd.weights[part]))


def known(cpd, counts):
    """Return the positions of the known counts, and these counts."""
    numbers = [counts.get(item, 0) for item in cpd.variable.items]
    at = [i for i, number in enumerate(numbers) if not is_missing(number)]
    return at, np.array([numbers[i] for i in at], dtype=float)


def multinomial(cpd, cell, value):
    at, x = known(cpd, value)
    p = cpd.probabilities[cell][at]
    return sum(k * math.log(q / p.sum()) for k, q in zip(x, p, strict=True) if k > 0)


def dirichlet_multinomial(cpd, cell, value):
    """One item after the other, each with the share that the urn then has of it (Polya)."""
    at, x = known(cpd, value)
    a = cpd.concentration[cell][at].copy()
    total = 0.0
    for i, k in enumerate(x):
        for _ in range(int(k)):
            total += math.log(a[i] / a.sum())
            a[i] += 1
    return total


def presence(cpd, cell, value):
    at, x = known(cpd, value)
    p = cpd.probabilities[cell][at]
    return sum(math.log(q if k > cpd.threshold else 1 - q) for k, q in zip(x, p, strict=True))


FAMILIES = {
    **{STORED[name]: density(name) for name in cases.DENSITIES},
    bg.TableCPD: table,
    bg.GaussianCPD: gaussian,
    bg.models.KernelDensityCPD: kernel,
    bg.MultinomialCPD: multinomial,
    bg.models.DirichletMultinomialCPD: dirichlet_multinomial,
    bg.models.PresenceCPD: presence,
}


class StarOracle:
    """Answers about the class of a star, whose leaves are of any families."""

    def __init__(self, network):
        roots = [cpd for cpd in network.cpds if not cpd.parents]
        (self.root,) = roots
        self.leaves = [cpd for cpd in network.cpds if cpd.parents]
        assert all(cpd.parents == (self.root.variable,) for cpd in self.leaves)

    def log_joint(self, evidence):
        """Return log p(class, evidence), shape (n_classes,)."""
        joint = np.log(self.root.values)
        for cpd in self.leaves:
            value = evidence.get(cpd.variable.name)
            if not is_missing(value):
                log = FAMILIES[type(cpd)]
                joint = joint + [log(cpd, (cell,), value) for cell in range(len(joint))]
        return joint

    def posterior(self, targets, evidence):
        """Return P(class | evidence), shape (n_classes,)."""
        assert targets == [self.root.variable.name]
        joint = self.log_joint(evidence)
        return np.exp(joint - self.log_probability(evidence))

    def joint(self, targets, evidence):
        """Return P(class, evidence), shape (n_classes,)."""
        assert targets == [self.root.variable.name]
        return np.exp(self.log_joint(evidence))

    def log_probability(self, evidence):
        """Return the natural log of the probability (density) of the evidence."""
        return float(np.logaddexp.reduce(self.log_joint(evidence)))


def is_of_families(network):
    """Tell whether a network has leaves that only this oracle knows."""
    basic = (bg.TableCPD, bg.GaussianCPD)
    return all(type(cpd) in FAMILIES for cpd in network.cpds) and any(
        not isinstance(cpd, basic) for cpd in network.cpds
    )
