"""The place of a variable that an intervention sets."""

from __future__ import annotations

import numpy as np

from bayesgraph.cpds.base import CPD
from bayesgraph.errors import UnsupportedModelError
from bayesgraph.factors import Evidence, Factor
from bayesgraph.variables import Variable


class SetCPD(CPD):
    """A variable without parents that is set from outside: each value has the potential 1.

    It stands in networks whose queries set the variable, so that it is always observed; compiled
    tables leave it out.
    """

    def __init__(self, variable: Variable) -> None:
        self.variable = variable
        self.parents = ()

    def potential(self, evidence: Evidence) -> Factor:
        """Return 1 for each row; see CPD.

        Raises
        ------
        UnsupportedModelError
            If the variable is not observed.
        """
        if self.variable not in evidence:
            raise UnsupportedModelError(
                f"{self.variable.name!r} is set by an intervention and has no distribution; name "
                "its value in do=."
            )
        return Factor.from_log((), np.zeros(evidence.n_rows))
