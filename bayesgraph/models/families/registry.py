"""Families of distributions of features, one module each; `FAMILIES` is the list of all."""

from __future__ import annotations

from collections.abc import Mapping

from bayesgraph.core.variables import Variable
from bayesgraph.models.families.bernoulli import BERNOULLI
from bayesgraph.models.families.beta import BETA
from bayesgraph.models.families.categorical import CATEGORICAL
from bayesgraph.models.families.exponential import EXPONENTIAL
from bayesgraph.models.families.gamma import GAMMA
from bayesgraph.models.families.gaussian import GAUSSIAN
from bayesgraph.models.families.kernel import KERNEL
from bayesgraph.models.families.leaf_family import LeafFamily
from bayesgraph.models.families.lognormal import LOGNORMAL
from bayesgraph.models.families.multinomial import MULTINOMIAL
from bayesgraph.models.families.negative_binomial import NEGATIVE_BINOMIAL
from bayesgraph.models.families.poisson import POISSON
from bayesgraph.models.families.student import STUDENT

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


def family_of(variable: Variable, chosen: Mapping[Variable, str]) -> str:
    """Return the name of a variable's family of distributions, such as "gaussian".

    It is ``chosen[variable]`` if the user chose one, or else the default of the variable's type.
    """
    kind = type(variable)
    found = chosen.get(variable) or _DEFAULTS.get(kind)
    if found is not None:
        return found
    return next(_DEFAULTS[base] for base in kind.__mro__ if base in _DEFAULTS)
