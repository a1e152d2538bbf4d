"""Networks of linear Gaussians in pgmpy's JSON files.

``LinearGaussianBayesianNetwork.save`` of pgmpy writes them, and the Gaussian networks of bnlearn's
repository (https://www.bnlearn.com/bnrepository/) come with pgmpy in this form. They hold
variances, where pgmpy's models hold standard deviations. They are read only:
``bayesgraph.files.to_pgmpy(model)`` gives what writes them.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from bayesgraph.core.errors import BayesGraphError, FileFormatError, quoted
from bayesgraph.core.files import Budget
from bayesgraph.core.variables import Continuous
from bayesgraph.files.exporting import skip
from bayesgraph.files.formats import FileFormat
from bayesgraph.files.readers import Draft
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
    # Linear Gaussians have no rows to normalise: True is the default. A place is a node's name.
    draft = Draft("pgmpy's JSON", "CPD", budget, True)
    content = json.loads(data)
    entries = content if type(content) is dict else {}
    nodes, cpds = entries.get("nodes"), entries.get("cpds")
    if not isinstance(nodes, list) or not isinstance(cpds, dict) or not nodes:
        raise FileFormatError(
            f"{budget.source}: expected the entries 'nodes', a list of names, and 'cpds', an "
            "object with a linear Gaussian for each of them, as pgmpy's "
            "LinearGaussianBayesianNetwork.save writes them."
        )
    budget.take(_BYTES_OF_NODE * len(nodes), "the nodes")
    for name in nodes:
        if not isinstance(name, str):
            raise draft.error(name, "expected names that are text.")
        draft.declare(name, name, Continuous)
    for name in nodes:
        draft.cpds[name] = _cpd(draft, name, cpds.get(name))
    network = draft.network()
    # Refuse arcs that are not those of the parents: all that are on one side only.
    arcs = {arc for cpd in network.cpds for arc in cpd.arcs()}
    if different := sorted({tuple(arc) for arc in entries.get("arcs", [])} ^ arcs, key=repr):
        raise FileFormatError(
            f"{budget.source}: expected the arcs of the parents; {quoted(different)} differ."
        )
    for key in entries.keys() - {"nodes", "cpds", "arcs"}:
        skip("network", repr(key))
    return network


def _cpd(draft: Draft, name: str, content: Any) -> GaussianCPD:
    """Return the linear Gaussian of a node."""
    entries = content if isinstance(content, dict) else {}
    parents, slopes = entries.get("parents"), entries.get("coefficients")
    if not isinstance(parents, list) or not isinstance(slopes, dict):
        raise draft.error(name, "expected its 'parents' and 'coefficients'.")
    # The node's name is both its place in the file and the name of the child.
    *variables, child = draft.family(name, name, parents)
    if set(slopes) != {_INTERCEPT, *parents}:
        raise draft.error(
            name,
            f"expected coefficients of {_INTERCEPT!r} and of the parents {quoted(parents)}; got "
            f"those of {quoted(slopes)}.",
        )
    numbers = []
    for value in (slopes[_INTERCEPT], entries.get("variance"), *map(slopes.get, parents)):
        # A number may stand alone in a list; an integer may be beyond all floats.
        number = value[0] if isinstance(value, list) and len(value) == 1 else value
        if type(number) not in (int, float) or not abs(number) <= sys.float_info.max:
            raise draft.error(name, f"expected a list with one number; got {value!r:.60}.")
        numbers.append(float(number))
    intercept, variance, *coefficients = numbers
    try:
        return GaussianCPD(child, intercept, variance, variables, coefficients)
    except BayesGraphError as error:
        raise draft.error(name, str(error)) from error


FORMAT = FileFormat("pgmpy's JSON", parse)
