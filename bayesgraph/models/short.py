"""Networks in a line: from arrows in a text, or drawn at random."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from bayesgraph.core.arrays import random_generator, whole_number
from bayesgraph.core.errors import (
    DataError,
    DataTypeError,
    ModelError,
    check_known,
    quoted,
)
from bayesgraph.core.parallel import check_memory
from bayesgraph.core.typing import RandomState
from bayesgraph.core.variables import Discrete
from bayesgraph.models.bayesian_network import BayesianNetwork
from bayesgraph.models.cpds.table import TableCPD

# A name, and its states as {low|high} or their number as [3]. Names have no characters that look
# like another arrow or separator: no two hyphens in a row, and none at either end.
_NODE = re.compile(
    r"(?P<name>(?!-)(?:(?!--)[^][{}<>=,#→←])+?(?<![-\s]))\s*(?:\{(?P<states>[^{},]*)\}|\[(?P<number>\d{1,6})\])?"
)


def network(
    text: str,
    tables: Mapping[str, Any] | None = None,
    *,
    states: Sequence[Any] = ("no", "yes"),
    random_state: RandomState = None,
) -> BayesianNetwork:
    """Make a network of tables from arrows in a text.

    Parameters
    ----------
    text : str
        Chains such as ``"smoke -> lung -> xray"``, separated by semicolons or line ends; ``<-``
        points the other way, and a name by itself has no arc. Braces or brackets behind a name
        give its states: ``"dose{low|high}"``, ``"dose[3]"`` for 0, 1 and 2.
    tables : mapping of names to array_like, optional
        Probabilities as of :class:`~bayesgraph.TableCPD`, a node's parents in the order of its
        arcs in the text. Rows of nodes without one are drawn uniformly from all distributions
        (Dirichlet with all parameters 1).
    states : sequence, default ("no", "yes")
        Of nodes for which the text has none.
    random_state : None, int, numpy.random.Generator or RandomState

    Raises
    ------
    ModelError
        For a text that is no such list, two lists of states of one name, an arc given twice.
    UnknownVariableError
        If `tables` has a name that the text has not.
    GraphError, CPDError
        For arrows in a circle, a table of another shape.

    Examples
    --------
    >>> import bayesgraph as bg
    >>> net = bg.network("smoke -> lung -> xray; smoke -> bronc", {"smoke": [0.7, 0.3]})
    >>> [*net.graph.edges]
    [('smoke', 'lung'), ('smoke', 'bronc'), ('lung', 'xray')]
    """
    if not isinstance(text, str):
        raise DataTypeError(f"text is arrows such as 'rain -> wet'; got {text!r:.80}.")
    tables = {} if tables is None else tables
    if isinstance(states, (str, Mapping)) or not isinstance(tables, Mapping):
        raise DataTypeError(
            "states= is one list for all variables, those of one stand in the text, 'a{x|y}'; "
            f"tables= is a mapping from name to table; got {states!r:.80} and {tables!r:.80}."
        )
    variables, parents = _read(text, states)
    check_known(tables, variables, where="The text")
    arcs = {variables[name]: [variables[parent] for parent in parents[name]] for name in variables}
    return _with_tables(arcs, tables, random_state)


def random_network(
    n_variables: int,
    n_arcs: int | None = None,
    *,
    n_states: int = 2,
    max_parents: int = 3,
    random_state: RandomState = None,
) -> BayesianNetwork:
    """Draw a network: arcs from earlier to later variables, rows of tables uniformly.

    Parameters
    ----------
    n_variables : int
        Named ``"x0"``, ``"x1"``, ...
    n_arcs : int, optional
        By default one and a half a variable, or as many as there can be.
    n_states : int, default 2
        Of each variable: 0, 1, ...
    max_parents : int, default 3
        Of each variable. The number of parents of all variables is drawn without replacement from
        the places that there are; then each variable's are drawn from those before it.
    random_state : None, int, numpy.random.Generator or RandomState

    Raises
    ------
    DataError
        If there are fewer places than arcs.

    Examples
    --------
    >>> import bayesgraph as bg
    >>> net = bg.random_network(50, 70, random_state=0)
    >>> len(net.variables), net.graph.number_of_edges()
    (50, 70)
    """
    number = whole_number("n_variables", "variables", n_variables, 1)
    most = whole_number("max_parents", "parents", max_parents)
    states = range(whole_number("n_states", "states", n_states, 1))
    # An entry for each place of an arc: variable i has min(i, max_parents) of them.
    places = np.repeat(np.arange(number), np.minimum(np.arange(number), most))
    if n_arcs is None:
        n_arcs = min(3 * number // 2, len(places))
    if whole_number("n_arcs", "arcs", n_arcs) > len(places):
        raise DataError(
            f"{number} variables with at most {most} parents each have at most {len(places)} arcs; "
            f"got n_arcs={n_arcs}."
        )
    random = random_generator(random_state)
    n_parents = np.bincount(random.choice(places, n_arcs, replace=False), minlength=number)
    variables = [Discrete(f"x{i}", states) for i in range(number)]
    arcs = {
        child: [variables[j] for j in np.sort(random.choice(i, n_parents[i], replace=False))]
        for i, child in enumerate(variables)
    }
    return _with_tables(arcs, {}, random)


def _read(text: str, states: Sequence[Any]) -> tuple[dict[str, Discrete], dict[str, list[str]]]:
    """Return the variables of a text by name, and the names of each one's parents."""
    # By name the states that the text lists, None where it lists none.
    listings: dict[str, list[Any] | None] = {}
    parents: dict[str, list[str]] = {}
    for chain in filter(None, (part.strip() for part in re.split(r"[;\n]", text))):
        # The group in the pattern keeps the arrows: names and arrows alternate in `words`.
        *words, last = re.split(r"\s*(->|<-)\s*", chain)
        names = [_declared(word, listings) for word in (*words[::2], last)]
        for left, arrow, right in zip(names, words[1::2], names[1:], strict=False):
            parent, child = (left, right) if arrow == "->" else (right, left)
            if parent in parents.setdefault(child, []):
                raise ModelError(f"The arc {parent!r} -> {child!r} is given twice.")
            parents[child].append(parent)
    if not listings:
        raise ModelError("Expected arrows such as 'rain -> wet; sprinkler -> wet'; got no name.")
    variables = {
        n: Discrete(n, states if listed is None else listed) for n, listed in listings.items()
    }
    return variables, {name: parents.get(name, []) for name in listings}


def _declared(word: str, listings: dict[str, list[Any] | None]) -> str:
    """Return the name in a word of a chain, and enter it with its states in `listings`.

    The entry is None as long as the text lists no states of the name.
    """
    parts = _NODE.fullmatch(word)
    if parts is None:
        raise ModelError(
            f"Expected a name, name{{low|high}} or name[3] between arrows -> or <-; got {word!r}. "
            "Chains are separated by semicolons: 'rain -> wet; sprinkler -> wet'."
        )
    name, listed, number = parts["name"].strip(), parts["states"], parts["number"]
    states: list[Any] | None = None
    if listed is not None:
        states = [state.strip() for state in listed.split("|")] if listed.strip() else []
    elif number is not None:
        states = [*range(int(number))]
    before = listings.get(name)
    if before is not None and states is not None and states != before:
        raise ModelError(f"{name!r} has the states {quoted(before)}, then {quoted(states)}.")
    listings[name] = states if before is None else before
    return name


def _with_tables(
    arcs: Mapping[Discrete, Sequence[Discrete]],
    tables: Mapping[Any, Any],
    random_state: RandomState,
) -> BayesianNetwork:
    """Return the network of variables with their parents; tables that are not there are drawn."""
    random = random_generator(random_state)
    cpds = []
    for child, parents in arcs.items():
        shape = [parent.cardinality for parent in parents]
        table = tables.get(child.name)
        if table is None:
            check_memory(
                f"The table of {child.name!r} takes",
                math.prod(shape) * child.cardinality,
                "Give it fewer parents or states.",
            )
            table = random.dirichlet(np.ones(child.cardinality), shape)
        cpds.append(TableCPD(child, table, parents))
    return BayesianNetwork(cpds)
