"""Networks of linear Gaussians in pgmpy's JSON files.

``LinearGaussianBayesianNetwork.save`` of pgmpy writes them, and the Gaussian networks of bnlearn's
repository (https://www.bnlearn.com/bnrepository/) come with pgmpy in this form. They hold
variances, where pgmpy's models hold standard deviations. They are read only:
``bayesgraph.files.to_pgmpy(model)`` gives what writes them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from bayesgraph.core.errors import BayesGraphError, FileFormatError, quoted
from bayesgraph.core.files import Budget
from bayesgraph.core.variables import Continuous
from bayesgraph.files.exporting import skip
from bayesgraph.files.formats import FileFormat
from bayesgraph.models import BayesianNetwork, GaussianCPD

_INTERCEPT = "(Intercept)"
# A node, its CPD and the values of its JSON.
_BYTES_OF_NODE = 2000


def parse(data: bytes, budget: Budget) -> BayesianNetwork:
    """Return the network of linear Gaussians of a JSON file of pgmpy.

    Variables come in the order of the nodes, and the variances are exactly those of the file.

    Raises
    ------
    FileFormatError
        If it is not such a file, or the network is inconsistent; the message names the node.
    """
    source = budget.source
    content = json.loads(data)
    nodes = content.get("nodes") if isinstance(content, dict) else None
    cpds = content.get("cpds") if isinstance(content, dict) else None
    if not isinstance(nodes, list) or not isinstance(cpds, dict) or not nodes:
        raise FileFormatError(
            f"{source}: expected the entries 'nodes', a list of names, and 'cpds', an object "
            "with a linear Gaussian for each of them, as pgmpy's "
            "LinearGaussianBayesianNetwork.save writes them."
        )
    if not all(isinstance(name, str) for name in nodes):
        raise FileFormatError(f"{source}: expected names that are text; got {quoted(nodes)}.")
    budget.take(_BYTES_OF_NODE * len(nodes), "the nodes")
    variables = {name: Continuous(name) for name in nodes}
    try:
        found = [_cpd(variables, name, cpds.get(name)) for name in nodes]
        network = BayesianNetwork(found)
        # Refuse arcs that are not those of the parents.
        given = content.get("arcs", [])
        own = {arc for cpd in network.cpds for arc in cpd.arcs()}
        listed = {tuple(arc) for arc in given}
        if listed != own:
            other = sorted(listed ^ own, key=repr)
            raise FileFormatError(f"expected the arcs of the parents; {quoted(other)} differ.")
        for key in content.keys() - {"nodes", "cpds", "arcs"}:
            skip("network", repr(key))
    except BayesGraphError as error:
        raise FileFormatError(f"{source}: {error}") from error
    return network


def _cpd(variables: Mapping[str, Continuous], name: str, given: Any) -> GaussianCPD:
    entries = given if isinstance(given, dict) else {}
    parents, slopes = entries.get("parents"), entries.get("coefficients")
    if not isinstance(parents, list) or not isinstance(slopes, dict):
        raise FileFormatError(f"node {name!r}: expected its 'parents' and 'coefficients'.")
    unknown = [parent for parent in parents if parent not in variables]
    if unknown:
        raise FileFormatError(f"node {name!r}: its parents {quoted(unknown)} are no nodes.")
    if set(slopes) != {_INTERCEPT, *parents}:
        raise FileFormatError(
            f"node {name!r}: expected coefficients of {_INTERCEPT!r} and of the parents "
            f"{quoted(parents)}; got those of {quoted(slopes)}."
        )
    return GaussianCPD(
        variables[name],
        _number(name, slopes[_INTERCEPT]),
        _number(name, entries.get("variance")),
        [variables[parent] for parent in parents],
        [_number(name, slopes[parent]) for parent in parents],
    )


def _number(name: str, given: Any) -> float:
    """Return a number that stands alone in a list."""
    value = given[0] if isinstance(given, list) and len(given) == 1 else given
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not _is_finite(value):
        raise FileFormatError(f"node {name!r}: expected a list with one number; got {given!r:.60}.")
    return float(value)


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer beyond all floats
        return False


FORMAT = FileFormat("pgmpy's JSON", parse)
