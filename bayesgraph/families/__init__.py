"""Families of distributions of features, one module each; `FAMILIES` is the list of all."""

from __future__ import annotations

from collections.abc import Mapping

from bayesgraph.families.bernoulli import BERNOULLI
from bayesgraph.families.beta import BETA
from bayesgraph.families.categorical import CATEGORICAL
from bayesgraph.families.exponential import EXPONENTIAL
from bayesgraph.families.gamma import GAMMA
from bayesgraph.families.gaussian import GAUSSIAN
from bayesgraph.families.kernel import KERNEL
from bayesgraph.families.leaf_family import LeafFamily
from bayesgraph.families.lognormal import LOGNORMAL
from bayesgraph.families.multinomial import MULTINOMIAL
from bayesgraph.families.negative_binomial import NEGATIVE_BINOMIAL
from bayesgraph.families.poisson import POISSON
from bayesgraph.families.student import STUDENT
from bayesgraph.variables import Variable

FAMILIES: Mapping[str, LeafFamily] = {
    family.name: family
    for family in (
        CATEGORICAL,
        GAUSSIAN,
        STUDENT,
        LOGNORMAL,
        GAMMA,
        EXPONENTIAL,
        BETA,
        KERNEL,
        POISSON,
        NEGATIVE_BINOMIAL,
        MULTINOMIAL,
        BERNOULLI,
    )
}

_DEFAULTS = {family.variable: name for name, family in FAMILIES.items() if family.is_default}

__all__ = ["FAMILIES", "LeafFamily", "family_of"]


def family_of(variable: Variable, chosen: Mapping[Variable, str]) -> str:
    """Return the name of a variable's family of distributions, such as "gaussian".

    It is ``chosen[variable]`` if the user chose one, or else the default of the variable's type.
    """
    kind = type(variable)
    found = chosen.get(variable) or _DEFAULTS.get(kind)
    if found is not None:
        return found
    return next(_DEFAULTS[base] for base in kind.__mro__ if base in _DEFAULTS)
