"""Posteriors of leaves that are not Gaussian: mixtures of the distributions of their families."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import scipy

from bayesgraph.errors import EvidenceError, quoted
from bayesgraph.factors.algebra import Floats
from bayesgraph.inference.components import Components, JoinedComponents
from bayesgraph.inference.results import NumberMixture
from bayesgraph.variables import Continuous, Name


class LeafMixture(NumberMixture):
    """The exact posterior of numbers with any families of distributions: a mixture of these.

    A leaf is a variable without children, or whose children are neither observed nor targets. Given
    its parents it has the distribution of its CPD, so that its posterior is a mixture of these
    distributions, with the posterior probabilities of the parents' configurations as weights.

    Parameters
    ----------
    variables : sequence of Continuous
        The n variables.
    weights : ndarray, shape (k,)
    components : Components
        The k distributions of the n numbers.
    log_evidence : float
        Natural log of the probability (density) of the evidence.

    Examples
    --------
    >>> import bayesgraph as bg
    >>> kind = bg.Discrete("kind", ["calm", "busy"])
    >>> net = bg.BayesianNetwork([
    ...     bg.TableCPD(kind, [0.75, 0.25]),
    ...     bg.PoissonCPD(bg.Count("calls"), [1.0, 5.0], parents=[kind]),
    ... ])
    >>> calls = net.query("calls")
    >>> calls
    p(calls): a mixture of 2 distributions (Poisson)
      mean                 2
      sd             2.23607
      95 % interval   [0, 8]
    >>> round(float(calls.density(0)), 6)  # the probability of no call
    0.277594
    """

    def __init__(
        self,
        variables: tuple[Continuous, ...],
        weights: Floats,
        components: Components,
        log_evidence: float,
    ) -> None:
        self.variables = variables
        self.weights = weights.view()
        self.weights.flags.writeable = False
        self.means = components.means
        self.covariances = components.covariances
        self._components = components
        self.log_evidence = log_evidence

    @property
    def components(self) -> Components:
        """The k distributions of the n numbers."""
        return self._components

    @property
    def whole(self) -> bool:
        """Whether the variables are counts, whose density is a probability."""
        return self.components.whole

    def quantile(self, probability: float) -> float:
        """Return the smallest x with P(X <= x) >= probability, for a single variable X.

        It is a whole number for a count, and NaN if the mixture spreads beyond the range of floats.
        """
        self._check_single()
        if not 0 < probability < 1:
            raise EvidenceError(f"A probability lies between 0 and 1; got {probability!r}.")
        low, high = self.components.bounds(probability)
        if not (math.isfinite(low) and math.isfinite(high)):
            return math.nan
        if self.whole:
            return self._whole_quantile(probability, math.floor(low), math.ceil(high))

        def excess(x: float) -> float:
            return float(self.cdf(x)) - probability

        if excess(low) >= 0:
            return low
        if excess(high) <= 0:
            return high
        return float(scipy.optimize.brentq(excess, low, high, xtol=1e-300, maxiter=2000))

    def _whole_quantile(self, probability: float, low: int, high: int) -> float:
        low = max(low, 0) - 1  # at the lower end of the search less than the quantile
        while high - low > 1:
            middle = (low + high) // 2
            if float(self.cdf(middle)) >= probability:
                high = middle
            else:
                low = middle
        return float(high)

    def marginal(self, *names: Name) -> LeafMixture:
        """Return the posterior of some of the variables, in the order in which they are named."""
        own = [variable.name for variable in self.variables]
        if not names or len(set(names)) < len(names) or not set(names) <= set(own):
            raise EvidenceError(
                f"This posterior is of {quoted(own)}; expected some of these, each once; got "
                f"{names!r}."
            )
        places = [own.index(name) for name in names]
        chosen = tuple(self.variables[place] for place in places)
        return LeafMixture(chosen, self.weights, self.components.of(places), self.log_evidence)

    def _kinds(self) -> str:
        count = len(self.weights)
        kinds = ", ".join(self.components.kinds)
        return kinds if count == 1 else f"a mixture of {count} distributions ({kinds})"


def joined(answers: Sequence[NumberMixture], shares: Floats, log_evidence: float) -> LeafMixture:
    """Return the mixture of several mixtures of the same variables.

    Parameters
    ----------
    answers : sequence of NumberMixture
        At least one.
    shares : ndarray, shape (number of answers,)
        Their weights, which sum to one.
    log_evidence : float
    """
    used = np.flatnonzero(shares > 0).tolist()
    parts = tuple(answers[i].components for i in used)
    weights = np.concatenate([shares[i] * answers[i].weights for i in used])
    components = parts[0] if len(parts) == 1 else JoinedComponents(parts)
    return LeafMixture(answers[0].variables, weights / weights.sum(), components, log_evidence)
