"""Parameters that most classifiers have, told once."""

from __future__ import annotations

import inspect
import re

_PARAMETERS = """
    alpha : float, array_like or mapping from name to either, default 1.0
        Dirichlet pseudo-count for each cell of a table (1 is Laplace's rule); see Smoothing.
    smoothing : {"dirichlet", "m", "marginal", "backoff"}, default "dirichlet"
        What tables are drawn towards: equal shares, by `alpha` in each cell or by `strength` rows
        in all; the feature's marginal (Friedman, Geiger, Goldszmidt 1997); or what is known of
        fewer parents, one dropped after the other, the class last. See Smoothing.
    strength : float, optional
        Rows' worth of what tables are drawn towards, where that is not `alpha`; by default 1 for
        "m", and the number of states for "marginal" and "backoff".
    shrinkage : float, default 20.0
        Rows' worth of prior with which each class's covariance is drawn towards the pooled one; 0
        estimates every class by itself.
    var_smoothing : float, default 1e-9
        Share of each column's variance that is added to it.
    priors : array_like, shape (n_classes,), mapping from class, or "uniform", optional
        Class probabilities, instead of their shares of the rows.
    class_weight : mapping from class to weight, or "balanced", optional
        Multiplies the weights of the rows; "balanced" makes up for the numbers of rows.
    categorical : list of column names, or "all", optional
        Numeric columns to take as discrete.
    discretizer : {"width", "frequency", "mdlp", "modl"} or Discretizer, optional
        Makes intervals of numeric columns, whose states are then such as "(0.8, 1.75]"; evidence
        stays a number. MODL also makes groups of categories. Columns to which the user gave a
        family of distributions stay numbers.
    unseen : {"missing", "error"}
        What becomes of a category that was not there in fitting.

    Attributes
    ----------
    network_ : BayesianNetwork
        The fitted model; ask it anything.
    classes_ : ndarray, shape (n_classes,)
    statistics_ : Statistics
        Of all rows so far: what `partial_fit` adds to and `forget` subtracts from.
    layout_ : Layout
        Which columns make up which feature.
    target_ : Discrete
        The class variable of the network.
    features_ : tuple of Variable
        The features, in the order of the columns.
    n_features_in_ : int
    feature_names_in_ : ndarray, shape (n_features_in_,)
        If X had names that are all strings.
"""


_ENTRY = re.compile(r"\n    (\w+) : .*(?:\n {8}.*)*")


def with_parameters(cls: type) -> type:
    """Write the shared parameters that a class takes into its docstring."""
    taken = {*inspect.signature(cls).parameters}
    head, tail = _PARAMETERS.split("\n    Attributes\n", 1)
    own = "".join(m.group(0) for m in _ENTRY.finditer("\n" + head) if m.group(1) in taken)
    known = {**vars(cls), **getattr(cls, "__annotations__", {})}
    model = known.get("_model_name", "BayesianNetwork")
    tail = tail.replace("network_ : BayesianNetwork", f"network_ : {model}")
    text = f"{own}\n\n    Attributes\n{tail}\n"
    cls.__doc__ = (cls.__doc__ or "").replace("\n    {parameters}\n", text)
    return cls
