"""Types of arguments that many public functions take."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from bayesgraph.core.variables import Name

if TYPE_CHECKING:
    import pandas as pd
    from narwhals.typing import IntoFrame

# Evidence: a mapping from name to a state, a number, likelihoods (by state or in order) or a
# Belief; None and NaN mean not observed.
EvidenceLike: TypeAlias = "Mapping[Name, Any] | pd.Series[Any] | None"
# Targets: the name of one variable, or names of several for their joint posterior.
Targets: TypeAlias = "Name | list[Name] | tuple[Name, ...]"
# An intervention: a mapping from name to the value that the variable is set to.
Intervention: TypeAlias = "Mapping[Name, Any] | None"
# Table: a data frame of any library, a mapping from name to column, or a matrix of unnamed columns.
TableLike: TypeAlias = "IntoFrame | Mapping[Name, ArrayLike] | ArrayLike"
RandomState: TypeAlias = int | np.random.Generator | np.random.RandomState | None
PathLike: TypeAlias = str | os.PathLike[str]
