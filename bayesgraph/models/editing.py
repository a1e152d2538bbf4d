"""Changes of networks that keep, or are, exact distributions.

A function here takes a network and returns CPDs; the network makes a new one of them. Leaving out a
variable and conditioning on one are the arc reversals of Shachter (1986), done for all children of
a variable, or all findings, at once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from bayesgraph.core.errors import EvidenceError, ModelError, UnsupportedModelError, quoted
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.variables import Continuous, Discrete, MissingIndicator, Name, State, Variable
from bayesgraph.inference import (
    Case,
    Factor,
    GaussianFactor,
    Potential,
    linear,
    potential_scope,
    probabilities,
    product_of,
    summed_out,
)
from bayesgraph.models.cpds.base import CPD
from bayesgraph.models.cpds.density import Plate
from bayesgraph.models.cpds.linear_gaussian import GaussianCPD
from bayesgraph.models.cpds.noisy_max import NoisyMaxCPD
from bayesgraph.models.cpds.table import TableCPD
from bayesgraph.models.evidence import replaced
from bayesgraph.models.model import Model

_NOTHING = Evidence(1, {})


class Network(Protocol):
    """What changes read of a Bayesian network."""

    variables: tuple[Variable, ...]
    _blocks: tuple[CPD, ...]
    _order: list[Name]

    def __getitem__(self, name: Name) -> CPD: ...


# --------------------------------------------------------------------------- names and states


def new_names(model: Model, names: Mapping[Name, Name]) -> dict[Variable, Variable]:
    """Return the variables that get other names, with what they become.

    Raises
    ------
    UnknownVariableError
        For an unknown name.
    ModelError
        If two variables would have one name.
    """
    if not isinstance(names, Mapping):
        raise ModelError(f"Expected a mapping from old names to new ones; got {names!r:.80}.")
    names = {model.variable(old).name: new for old, new in names.items()}
    renamed = {v: _named(v, names) for v in model.variables}
    all_names = [v.name for v in renamed.values()]
    if twice := [name for name in dict.fromkeys(all_names) if all_names.count(name) > 1]:
        raise ModelError(f"More than one variable would have the name {quoted(twice)}.")
    return {old: new for old, new in renamed.items() if new != old}


def _named(variable: Variable, names: Mapping[Name, Name]) -> Variable:
    """Return a variable with the new name of its own, and of the variable it is about."""
    name = names.get(variable.name, variable.name)
    if isinstance(variable, MissingIndicator):
        return MissingIndicator(name, names.get(variable.of, variable.of))
    kind, (_, *values) = variable.__reduce__()  # constructors take the name first
    made: Variable = kind(name, *values)
    return made


def new_states(
    model: Model, name: Name, states: Mapping[State, State] | Sequence[State]
) -> tuple[Discrete, Discrete, list[int]]:
    """Return a variable, what it becomes, and the old index of each of its states.

    Raises
    ------
    UnknownVariableError, UnknownStateError
        For an unknown name or state.
    EvidenceError
        If two states would have one name, or a sequence does not have each state once.
    UnsupportedModelError
        For a variable whose states are not its own: a number, intervals, groups.
    """
    variable = model.variable(name)
    if type(variable) is not Discrete:
        raise UnsupportedModelError(
            f"with_states is for variables with a list of states; {variable.name!r} is "
            f"{variable!r:.80}."
        )
    if isinstance(states, Mapping):
        names = {variable.index(old): new for old, new in states.items()}
        kept = [names.get(i, state) for i, state in enumerate(variable.states)]
        return variable, Discrete(variable.name, kept), list(range(variable.cardinality))
    order = [variable.index(state) for state in states]
    if sorted(order) != list(range(variable.cardinality)):
        raise EvidenceError(
            f"An order of the states of {variable.name!r} has each of {quoted(variable.states)} "
            f"once; got {quoted(states)}. A mapping gives states other names."
        )
    return variable, Discrete(variable.name, [variable.states[i] for i in order]), order


def substituted(cpd: CPD, new: Mapping[Variable, Variable]) -> CPD:
    """Return the same numbers for other variables."""
    if new.keys().isdisjoint(cpd.scope):
        return cpd
    children, parents = ([new.get(v, v) for v in part] for part in (cpd.children, cpd.parents))
    return cpd.from_arrays(children, parents, cpd.to_arrays())


def with_states(
    blocks: Iterable[CPD], old: Discrete, new: Discrete, order: Sequence[int]
) -> list[CPD]:
    """Return CPDs in which one variable has become another; see `new_states`."""
    if list(order) != sorted(order):
        blocks = _changed(blocks, [old], lambda cpd: cpd.permuted(old, order))
    return [substituted(block, {old: new}) for block in blocks]


def _changed(
    blocks: Iterable[CPD], variables: Collection[Variable], change: Callable[[CPD], CPD]
) -> list[CPD]:
    """Return CPDs, with a change of all that involve some variables.

    A CPD of several children without a form for the change is split into its children.
    """
    changed: list[CPD] = []
    for block in blocks:
        if not any(v in variables for v in block.scope):
            changed.append(block)
            continue
        try:
            changed.append(change(block))
        except UnsupportedModelError:
            singles = block.singles()
            if singles == (block,):
                raise
            changed += [change(s) if any(v in variables for v in s.scope) else s for s in singles]
    return changed


# ------------------------------------------------------------------------------- the graph


def check_something_left(network: Network, chosen: Collection[Variable]) -> None:
    """Raise a ModelError if no other variable of the network is left."""
    if len(set(chosen)) == len(network.variables):
        raise ModelError("A network has at least one variable; none would be left.")


def merged(
    network: Network, other: Network, prefer: str | None
) -> tuple[list[CPD], list[Variable]]:
    """Return the CPDs of two networks, and the order of their variables.

    Raises
    ------
    ModelError
        If a variable has other states, or other CPDs and nothing is preferred.
    """
    if prefer not in (None, "self", "other"):
        raise ModelError(f"prefer= is 'self', 'other' or None; got {prefer!r}.")
    others = {v.name: v for v in other.variables}
    shared = [v for v in network.variables if v.name in others]
    if different := [v for v in shared if others[v.name] != v]:
        first = different[0]
        raise ModelError(
            f"{first.name!r} is {first!r} in one network and {others[first.name]!r} in the other: "
            "name, type, states and their order must agree. Rename one (renamed, with_states)."
        )
    differing = [v for v in shared if network[v.name] != other[v.name]]
    if differing and prefer is None:
        raise ModelError(
            f"The networks have different distributions of {quoted(v.name for v in differing)}; "
            "say whose to take with prefer='self' or prefer='other', or rename the variables."
        )
    # Of two CPDs of a shared variable one is left out: None replaces it.
    from_other = set(differing) if prefer == "other" else set()
    from_self = dict.fromkeys(v for v in shared if v not in from_other)
    blocks = replaced(network._blocks, dict.fromkeys(from_other))
    blocks += replaced(other._blocks, dict.fromkeys(from_self))
    return blocks, [*network.variables, *(v for v in other.variables if v not in shared)]


# ---------------------------------------------------------------------------- summing out


def without_variable(network: Network, variable: Variable) -> list[CPD]:
    """Return the CPDs of the other variables, after one has been summed out.

    The product of the CPDs of the variable and of its children, in the order of the graph, is
    divided into distributions of the children again: each given those before it.
    """
    name = variable.name
    arcs = {arc for block in network._blocks for arc in block.arcs()}
    children = [network[child] for child in network._order if (name, child) in arcs]
    new_cpds: dict[Variable, CPD | None] = {variable: None}
    if not children:
        return replaced(network._blocks, new_cpds)
    removed, child = network[name], children[0]
    _check_summable(removed, children)
    if len(children) == 1 and isinstance(child, NoisyMaxCPD) and isinstance(removed, TableCPD):
        # The effect of a cause with at most one parent becomes that of its parent, or of the leak.
        noisy = child.with_parent_summed(removed) if len(removed.parents) < 2 else None
        if noisy is not None:
            return replaced(network._blocks, {**new_cpds, child.variable: noisy})
    # Of the last product, so that one that takes too much memory is refused before the first.
    scope = [v for cpd in children for v in cpd.scope]
    product: Potential = removed.potential(_NOTHING)
    for cpd in children:
        what = f"leaving out {name!r}"
        product = product_of([product], partial(cpd.potential, _NOTHING), scope, what)
        # The distribution of the children so far; the product keeps the variable for the next.
        marginal = summed_out(product, variable)
        new_cpds[cpd.variable] = _conditional(cpd.variable, marginal, network)
    return replaced(network._blocks, new_cpds)


def _check_summable(cpd: CPD, children: Sequence[CPD]) -> None:
    """Raise an UnsupportedModelError if a child would have no CPD."""
    variable = cpd.variable
    if isinstance(variable, Discrete):
        wrong = [c for c in (cpd, *children) if not all(isinstance(v, Discrete) for v in c.scope)]
        why = f"it would be a mixture with one component for each state of {variable.name!r}"
    else:
        wrong = [c for c in (cpd, *children) if not c.is_linear]
        why = f"it is an integral over {variable.name!r} without a closed form"
    if wrong:
        raise UnsupportedModelError(
            f"{wrong[0].title} stands in the way of leaving out {variable.name!r}: no CPD holds "
            f"the distribution without it, because {why}. Leave the child out too, or keep the "
            "variable and do not ask about it, which is the same."
        )


# --------------------------------------------------------------------------- conditioning


def given(network: Network, case: Case) -> tuple[list[CPD], float]:
    """Return the CPDs of the variables that are not observed, and the log mass of the evidence.

    Each finding is a likelihood of the parents of its variable. The last of the variables that it
    depends on absorbs it: P(v | parents) times the likelihood is a distribution of v given all
    others, times a likelihood of these.
    """
    values = {network.variables[number]: value for number, value in case.hard.items()}
    check_something_left(network, values)
    evidence = case.evidence(network.variables)
    unobserved = replaced(network._blocks, dict.fromkeys(values))
    unobserved = _changed(unobserved, values, lambda cpd: cpd.with_parents_set(values))
    singles = {cpd.variable: cpd for block in unobserved for cpd in block.singles()}
    likelihoods = [
        *_likelihoods(network, values, evidence),
        *[Factor.from_log([v], logs) for v, logs in evidence.likelihoods.items()],
    ]
    position = _positions(network, singles)
    new_cpds: dict[Variable, CPD | None] = {}
    log_mass = 0.0
    # Each pass leaves likelihoods of earlier variables, and in the end constants.
    while likelihoods:
        variables = {v for likelihood in likelihoods for v in potential_scope(likelihood)}
        if not variables:
            break
        last = max(variables, key=position.__getitem__)
        about_last = [x for x in likelihoods if last in potential_scope(x)]
        likelihoods = [x for x in likelihoods if last not in potential_scope(x)]
        cpd = singles[last]
        what = f"the likelihood of {last.name!r}"
        product = product_of(about_last, partial(cpd.potential, _NOTHING), cpd.scope, what)
        new_cpds[last] = _conditional(last, product, network)
        likelihoods.append(summed_out(product, last))
    for likelihood in likelihoods:
        assert isinstance(likelihood, Factor)  # without variables
        log_mass += float(likelihood.log_values[0])
    return replaced(unobserved, new_cpds), log_mass


def _likelihoods(
    network: Network, values: Mapping[Variable, Any], evidence: Evidence
) -> list[Potential]:
    """Return the likelihoods of the observed variables, as functions of their other parents."""
    factors: list[Potential] = []
    for block in network._blocks:
        observed = [child for child in block.children if child in values]
        if observed and isinstance(block, Plate) and not block.siblings_depend:
            factors.append(block.over(observed).potential(evidence))
        elif observed:
            for cpd in block.singles():
                if cpd.variable in values:
                    factors += cpd.potentials(evidence)
    return factors


def _positions(network: Network, singles: Mapping[Variable, CPD]) -> dict[Variable, Any]:
    """Return sort keys of the variables; that with the greatest key absorbs likelihoods first.

    A key has whether the variable is a number that comes after all discrete variables, and its
    place in the order of the graph: parents precede children. Continuous variables come last where
    they can, so that they are integrated out before discrete variables are summed out.
    """
    place = {name: i for i, name in enumerate(network._order)}
    # Continuous variables can come last unless one of them is a parent of a discrete variable.
    numbers_last = not any(
        isinstance(v, Discrete) and any(isinstance(p, Continuous) for p in cpd.parents)
        for v, cpd in singles.items()
    )
    return {v: (numbers_last and isinstance(v, Continuous), place[v.name]) for v in singles}


def _conditional(variable: Variable, product: Potential, network: Network) -> CPD:
    """Return the distribution of a variable given all other variables of a factor.

    Its old parents come first among the new ones.
    """
    order = [*network[variable.name].parents, *network.variables]
    scope = potential_scope(product)
    parents = [v for v in dict.fromkeys(order) if v in scope and v != variable]
    if isinstance(product, Factor) and isinstance(variable, Discrete):
        above = [v for v in parents if isinstance(v, Discrete)]
        return TableCPD(variable, probabilities(product, variable, above), above)
    if isinstance(product, GaussianFactor) and isinstance(variable, Continuous):
        mean, variance, slopes = linear(product, variable, parents)
        return GaussianCPD(variable, mean, variance, parents, slopes)
    raise UnsupportedModelError(
        f"The new distribution of {variable.name!r} would be given by "
        f"{quoted(v.name for v in scope if v != variable)}, discrete and continuous variables, "
        "which no CPD holds. Ask the network itself with the evidence."
    )
