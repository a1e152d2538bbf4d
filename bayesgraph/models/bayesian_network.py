"""Bayesian networks: a directed acyclic graph with a conditional distribution at each node."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike

from bayesgraph import graphs
from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import ModelError, UnsupportedModelError, quoted, suggestion
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.typing import EvidenceLike
from bayesgraph.core.upward import Upward
from bayesgraph.core.variables import (
    Continuous,
    Discrete,
    Name,
    State,
    Variable,
    ancestral_set,
    parents_first,
)
from bayesgraph.inference import CompiledTables, Factor, Potential, Tables
from bayesgraph.models import editing
from bayesgraph.models.annotations import Annotations
from bayesgraph.models.cpds.base import CPD, SetCPD
from bayesgraph.models.cpds.density import Plate
from bayesgraph.models.cpds.linear_gaussian import MAX_BYTES, Integrated
from bayesgraph.models.cpds.noisy_max import CanonicalCPD, NoisyMaxCPD
from bayesgraph.models.cpds.stacks import Combination
from bayesgraph.models.cpds.table import TableCPD
from bayesgraph.models.cpds.trees import TreesCPD
from bayesgraph.models.evidence import (
    Finding,
    as_mapping,
    impossible,
    read_case,
    read_values,
    replaced,
    set_to,
)
from bayesgraph.models.factor_graph import FactorGraph, GraphSlice
from bayesgraph.models.model import Addend, Model, with_findings
from bayesgraph.tables import EMHistory

if TYPE_CHECKING:
    import networkx as nx

# -------- Bayesian networks: a directed acyclic graph with a conditional distribution at each node


_NONE = Annotations()


class BayesianNetwork(Model):
    """A directed acyclic graph with one conditional distribution for each variable.

    Parameters
    ----------
    cpds : sequence of CPD
        Each CPD is for one variable, or for several: independent children with the same parents (a
        plate), or a joint Gaussian block. The parents define the arcs. The order of the CPDs is the
        order of the variables, which breaks all ties.
    arc_scores : mapping from (parent, child) to float, optional
        Score of an arc in structure learning, in nats; shown in plots.
    order : iterable of Variable, optional
        The order of the variables, if it is not that of the CPDs.
    annotations : Annotations, optional
        Notes, titles and positions of nodes, which no answer depends on.
    history : EMHistory, optional
        History of the expectation maximisation that estimated the parameters; not stored in files.

    Attributes
    ----------
    cpds : tuple of CPD
        One CPD for each variable; plates and Gaussian blocks are split into their children.
    blocks : tuple of CPD
        The CPDs as they were given.
    history : EMHistory or None

    Raises
    ------
    ModelError
        For no CPDs, two CPDs of one variable, a parent without a CPD, or a parent whose states
        differ from those of its own CPD.
    GraphError
        If the arcs form a cycle; the message names it.

    Examples
    --------
    >>> import bayesgraph as bg
    >>> rain, wet = bg.Discrete("rain", ["no", "yes"]), bg.Discrete("wet", [False, True])
    >>> net = BayesianNetwork([
    ...     bg.TableCPD(rain, [0.8, 0.2]),
    ...     bg.TableCPD(wet, [[0.9, 0.1], [0.2, 0.8]], parents=[rain]),
    ... ])
    >>> net.query("rain", {"wet": True})
    P(rain)
      no   0.333333  ████████
      yes  0.666667  ████████████████
    """

    _kind, _title = "product", "Bayesian network"

    def __init__(
        self,
        cpds: Iterable[CPD],
        *,
        arc_scores: Mapping[tuple[Name, Name], float] | None = None,
        order: Iterable[Variable] | None = None,
        history: EMHistory | None = None,
        annotations: Annotations | None = None,
    ) -> None:
        self._history = history
        self.annotations = _NONE if annotations is None else annotations
        self._blocks = tuple(cpds)
        if not self._blocks:
            raise ModelError("A BayesianNetwork needs at least one CPD; got none.")
        for cpd in self._blocks:
            if not isinstance(cpd, CPD):
                raise ModelError(
                    f"A BayesianNetwork takes CPDs; got {cpd!r:.80}. "
                    "BayesianNetwork.fit(arcs, table) estimates them for given arcs."
                )
        self.variables = tuple([child for cpd in self._blocks for child in cpd.children])
        self._by_name = {variable.name: variable for variable in self.variables}
        if len(self._by_name) < len(self.variables):
            counts = Counter(variable.name for variable in self.variables)
            twice = [name for name, count in counts.items() if count > 1]
            raise ModelError(f"More than one CPD for {quoted(twice)}; each variable takes one.")
        if order is not None:
            listed = tuple(order)
            if len(listed) != len(self.variables) or set(listed) != set(self.variables):
                raise ModelError(
                    f"order= lists the variables of the CPDs, each once: "
                    f"{quoted(v.name for v in self.variables)}; got {quoted(listed)}."
                )
            self.variables = listed
            self._by_name = {variable.name: variable for variable in listed}
        if annotations is not None:
            annotations.check(self._by_name)
        self._check_parents()
        arcs = dict.fromkeys([arc for cpd in self._blocks for arc in cpd.arcs()])
        names = list(self._by_name)
        self._index_of = index_of = {name: i for i, name in enumerate(names)}
        above: dict[int, list[int]] = {v: [] for v in range(len(names))}
        for parent, child in arcs:
            above[index_of[child]].append(index_of[parent])
        # The graph of a cycle raises the error that names it.
        in_order: Any = parents_first(above) or self.graph
        # Names of the variables in topological order, parents first.
        self._order: list[Name] = [names[v] for v in in_order]
        # Of each variable the indices of its parents, in the order of its CPD, and its own.
        self._scopes = list(above.values())
        for v, scope in enumerate(self._scopes):
            scope.append(v)
        self.arc_scores: dict[tuple[Name, Name], float] = dict(arc_scores or {})
        for arc in self.arc_scores:
            if arc not in arcs:
                raise ModelError(f"arc_scores has {arc!r}, which is not an arc of the network.")

    @cached_property
    def _parents(self) -> dict[Variable, tuple[Variable, ...]]:
        """The parents of each variable, in the order of its CPD."""
        return {child: cpd.parents for cpd in self._blocks for child in cpd.children}

    @cached_property
    def graph(self) -> nx.DiGraph:
        """The directed acyclic graph, whose nodes are names; arcs have a `score` if known."""
        arcs = [arc for cpd in self._blocks for arc in cpd.arcs()]
        scores = self.__dict__.get("arc_scores", {})  # not yet set where __init__ finds a cycle
        return graphs.scored_dag(self._by_name, arcs, scores)

    @cached_property
    def cpds(self) -> tuple[CPD, ...]:
        """One CPD for each variable; CPDs of several children (plates, blocks) are split."""
        # Tables have one child each: in the order of the variables, they are the answer.
        if set(map(type, self._blocks)) == {TableCPD} and (
            tuple([block.variable for block in self._blocks]) == self.variables
        ):
            return self._blocks
        # Names are unique in a model, and are hashed faster than variables.
        single = {cpd.variable.name: cpd for block in self._blocks for cpd in block.singles()}
        return tuple([single[variable.name] for variable in self.variables])

    @cached_property
    def _unmarginalisable(self) -> frozenset[Variable]:
        """Numbers and vectors that elimination cannot keep; see `_leaf_targets`.

        A histogram of a variable with children is not among them: a tree may sum it out.
        """
        inner = {parent for cpd in self.cpds for parent in cpd.parents}
        return frozenset(
            cpd.variable
            for cpd in self.cpds
            if isinstance(cpd, Plate) and cpd.variable not in inner
        )

    def _leaf_targets(
        self, targets: Sequence[Variable], evidence: Sequence[Variable] = ()
    ) -> Mapping[Variable, CPD]:
        """Return the targets whose posterior is a mixture of their CPD's; see `Answering`."""
        # A leaf of the query has no child among the targets, the evidence and their ancestors.
        numbers = [v for v in targets if not isinstance(v, Discrete)]
        leaves = {v: self._cpd_of[v] for v in numbers if isinstance(self._cpd_of[v], Plate)}
        if not leaves:
            return {}
        relevant = ancestral_set(self._parents, [*targets, *evidence])
        inner = {parent for variable in relevant for parent in self._parents[variable]}
        return {v: cpd for v, cpd in leaves.items() if v not in inner}

    @cached_property
    def _cpd_of(self) -> dict[Variable, CPD]:
        return {cpd.variable: cpd for cpd in self.cpds}

    def _check_parents(self) -> None:
        """Raise a ModelError unless each parent has a CPD, and the same states there."""
        for cpd in self._blocks:
            for parent in cpd.parents:
                variable = self._by_name.get(parent.name)
                if variable is parent:  # equal variables are one object
                    continue
                if variable is None:
                    near = suggestion(parent.name, self._by_name)
                    raise ModelError(
                        f"{cpd.title} has the parent {parent.name!r}, which has no CPD of its "
                        f"own.{near}"
                    )
                raise ModelError(
                    f"{cpd.title} has the parent {parent!r}, but the network has {variable!r}: "
                    "name, type, states and their order must agree."
                )

    fit = Upward()
    learn = Upward()

    def __getitem__(self, name: Name) -> CPD:
        """Return the CPD of a variable.

        Raises
        ------
        UnknownVariableError
            For an unknown name; the message suggests the nearest one.
        """
        return self._cpd_of[self.variable(name)]

    def __contains__(self, name: object) -> bool:
        """Tell whether the network has a variable; the argument is the variable or its name."""
        try:
            return name in (self._cpd_of if isinstance(name, Variable) else self._by_name)
        except TypeError:  # it is not hashable
            return False

    def __len__(self) -> int:
        """Return the number of variables."""
        return len(self._by_name)

    def __iter__(self) -> Iterator[Name]:
        """Iterate over the names of the variables."""
        return iter(self._by_name)

    def _links(
        self, target: Discrete, observed: Collection[Variable], soft: Collection[Variable]
    ) -> list[tuple[Variable, ...]]:
        """Return the scopes of the CPDs that a query is about; see `Model._links`."""
        relevant = ancestral_set(self._parents, [target, *observed, *soft])
        return [cpd.scope for cpd in self.cpds if cpd.variable in relevant]

    def _addends(self, target: Discrete) -> list[Addend]:
        """Return the children in topological order; see `Model._addends`.

        The term of a target's ancestor does not follow from its distribution.
        """
        above = ancestral_set(self._parents, [target])
        addends = []
        for cpd in self._nodes():
            others = tuple(p for p in cpd.parents if p != target)
            is_local = cpd.variable not in above
            if cpd.variable != target:
                # With no parents but the target it adds the same whatever else is observed: None.
                depends = bool(others) or not is_local
                source = cpd if is_local else None
                addends.append(Addend((cpd.variable,), others if depends else None, source))
        return addends

    @property
    def networks(self) -> tuple[BayesianNetwork]:  # type: ignore[override]
        """The network alone."""
        return (self,)

    def _with_prior(self, target: Discrete, ratio: Floats) -> BayesianNetwork:
        """Return the network with the prior of a class multiplied by a ratio; see `Model`."""
        cpd = self[target.name]
        assert isinstance(cpd, TableCPD)  # a discrete variable
        prior = cpd.values * ratio
        reweighted = TableCPD(target, prior / prior.sum())
        return self._of([reweighted if cpd.variable == target else cpd for cpd in self.cpds])

    @property
    def n_parameters(self) -> int:
        """Number of free parameters of all CPDs."""
        return sum(cpd.n_parameters for cpd in self._blocks)

    # ----------------------------------------------------------------------- for the solvers

    def _slice(
        self,
        observed: Collection[Variable],
        partial: Sequence[Variable],
        soft: Collection[Discrete],
        keep: Sequence[Variable],
    ) -> NetworkSlice:
        """Return the submodel relevant to a query: the CPDs on which its answer depends.

        The submodel contains the targets, the evidence, and the ancestors of both; other nodes are
        barren and are left out.

        Parameters
        ----------
        observed : collection of Variable
            Variables with a column in the evidence.
        partial : sequence of Variable
            Those of them that some rows lack.
        soft : collection of Discrete
            Variables with likelihoods.
        keep : sequence of Variable
            The targets, which are not summed out.
        """
        kept = [*keep, *soft]
        relevant = ancestral_set(self._parents, [*observed, *kept])
        blocks = [cpd for cpd in self._blocks if not relevant.isdisjoint(cpd.children)]
        blocking: list[Variable] = []
        if partial:
            # Variables on which something besides their own CPD depends are summed out in the rows
            # that lack them. The CPDs of the others sum to one, unless they share one with targets
            # that depend on them; and some roots are summed out by the CPD of their only child.
            inner = {parent for variable in relevant for parent in self._parents[variable]}
            inner.update(kept)
            for cpd in self._blocks:
                if cpd.siblings_depend and not inner.isdisjoint(cpd.children):
                    inner.update(cpd.children)
            summed = summed_roots(blocks, kept)
            blocking = [v for v in partial if v in inner and v not in summed]
        # CPDs take no evidence on a variable that is to be summed out in some rows.
        shown = frozenset(v for v in observed if v not in blocking)
        pieces = [piece for cpd in blocks for piece in cpd.pieces(relevant, shown)]
        return NetworkSlice(
            tuple(without_summed_roots(pieces, shown, kept)),
            tuple(blocking),
            shown,
            tuple(keep),
        )

    @cached_property
    def _compiled_tables(self) -> CompiledTables | None:
        """The tables for compiled (Numba) variable elimination; None unless all CPDs are tables."""
        tables, scopes = [], []
        for cpd, scope in zip(self.cpds, self._scopes, strict=True):
            if isinstance(cpd, TableCPD):
                tables.append(cpd)
                scopes.append(scope)
            # Discrete variables that an intervention sets have no table, and are left out.
            elif not isinstance(cpd, SetCPD) or not isinstance(cpd.variable, Discrete):
                return None
        # Logs only where probabilities underflow: otherwise they follow from the values.
        logs = [t.log_values for t in tables] if any(t.has_lost_digits for t in tables) else None
        values = [table.values for table in tables]
        variables = cast("tuple[Discrete, ...]", self.variables)
        return CompiledTables(Tables(variables, scopes, values, sums_to_one=True, log_values=logs))

    @cached_property
    def _unfolded(self) -> BayesianNetwork | None:
        """The network with canonical CPDs divided into tables over auxiliary variables.

        The auxiliary variables follow those of this network. None if there is nothing to divide.
        """
        # A canonical CPD that cannot be divided stays in the list as it is.
        canonical = [block for block in self._blocks if isinstance(block, CanonicalCPD)]
        tables = [table for block in canonical for table in block.unfolded()]
        if all(isinstance(table, CanonicalCPD) for table in tables):
            return None
        pieces = [*(b for b in self._blocks if not isinstance(b, CanonicalCPD)), *tables]
        visible = set(self.variables)
        hidden = [v for piece in pieces for v in piece.children if v not in visible]
        return BayesianNetwork(pieces, order=[*self.variables, *hidden])

    @cached_property
    def _no_effect_factors(self) -> dict[int, list[tuple[tuple[int, ...], Floats]]]:
        """Log likelihoods of no effect of noisy maxima, by index of the child.

        Each is of one parent, given by its index, or a constant: no effect says of each cause for
        itself that it had none.
        """
        factors_of = {}
        for block in self._blocks:
            if isinstance(block, NoisyMaxCPD):
                # State 0 of the child is that of no effect.
                none = Evidence(1, {block.variable: np.zeros(1, dtype=np.intp)})
                factors = [f for f in block.potentials(none) if isinstance(f, Factor)]
                factors_of[self._index_of[block.variable.name]] = [
                    (tuple([self._index_of[v.name] for v in f.scope]), f.log_values[0])
                    for f in factors
                ]
        return factors_of

    def _nodes(self) -> list[CPD]:
        """Return the CPDs in topological order, parents first."""
        return [self._cpd_of[self._by_name[name]] for name in self._order]

    def _table_names(self) -> list[Name]:
        """Return the name of each table: the name of its child."""
        return list(self.names)

    def _restricted(self, above: Collection[Variable]) -> BayesianNetwork:
        """Return the subnetwork over an ancestral set of variables.

        The set `above` must contain all ancestors of its variables.
        """
        blocks = [cpd for cpd in self._blocks if not set(above).isdisjoint(cpd.children)]
        return BayesianNetwork([piece for cpd in blocks for piece in cpd.pieces(above, ())])

    # ------------------------------------------------------------------------- interventions

    def _without_parents(self, names: Collection[Name]) -> BayesianNetwork:
        """Return the network for queries that set some variables; see `Model._without_parents`."""
        chosen = [self.variable(name) for name in names]
        # The potential of a variable without a distribution is 1; queries observe it.
        return self._of(replaced(self._blocks, {v: SetCPD(v) for v in chosen}))

    def do(self, values: Mapping[Name, Any]) -> BayesianNetwork:
        """Return the network after an intervention; see `Model.do`."""
        settings = read_values(self, values)
        encoded = {v: v.encode(settings[v.name]) for v in self.variables if v.name in settings}
        return self._of(set_to(self._blocks, encoded))

    def _with_findings(self, findings: Mapping[Name, Finding]) -> BayesianNetwork:
        """Return the network with numbers replaced by states; see `Model._with_findings`."""
        for name in findings:
            variable = self.variable(name)
            # Children of one block may depend on each other: each has those before it as parents.
            if any(variable in cpd.parents for cpd in self.cpds):
                raise UnsupportedModelError(
                    f"{variable.name!r} has children, which take its value: an interval or "
                    "likelihoods of it have no exact answer."
                )
        return self.with_cpd(*[finding.table(self[name]) for name, finding in findings.items()])

    # ------------------------------------------------------------------------------- editing

    def with_cpd(self, *cpds: CPD) -> BayesianNetwork:
        """Return the network with other distributions of some variables; see `Model.with_cpd`."""
        for cpd in cpds:
            if not isinstance(cpd, CPD):
                raise ModelError(f"with_cpd takes CPDs; got {cpd!r:.80}.")
        new = {child.name: child for cpd in cpds for child in cpd.children}
        kept = replaced(self._blocks, {v: None for v in self.variables if v.name in new})
        # A variable of an old name takes its place; the others, which are left in `new`, follow.
        order = [new.pop(v.name, v) for v in self.variables]
        return self._of([*kept, *cpds], [*order, *new.values()])

    def without(self, *names: Name) -> BayesianNetwork:
        """Return the network without variables that have no children; see `Model.without`."""
        chosen = [self.variable(name) for name in names]
        left_out = {v.name for v in chosen}
        for parent, child in [arc for block in self._blocks for arc in block.arcs()]:
            if parent in left_out and child not in left_out:
                raise ModelError(
                    f"{parent!r} is a parent of {child!r}, which would be left without it. Leave "
                    f"out {child!r} too, or sum {parent!r} out: marginalised({parent!r})."
                )
        editing.check_something_left(self, chosen)
        return self._of(replaced(self._blocks, dict.fromkeys(chosen)))

    def with_arc(self, parent: Name, child: Name) -> BayesianNetwork:
        """Return the network with one more arc; see `Model.with_arc`."""
        above, cpd = self.variable(parent), self[child]
        if above in cpd.parents:
            raise ModelError(f"There is an arc from {above.name!r} to {cpd.variable.name!r}.")
        return self.with_cpd(cpd.with_parent(above))

    def renamed(self, names: Mapping[Name, Name]) -> BayesianNetwork:
        """Return the network with other names of some variables; see `Model.renamed`."""
        new = editing.new_names(self, names)
        name = {old.name: variable.name for old, variable in new.items()}
        return BayesianNetwork(
            [editing.substituted(block, new) for block in self._blocks],
            arc_scores={
                (name.get(a, a), name.get(b, b)): score for (a, b), score in self.arc_scores.items()
            },
            order=[new.get(v, v) for v in self.variables],
            annotations=self.annotations.renamed(name),
        )

    def with_states(
        self, name: Name, states: Mapping[State, State] | Sequence[State]
    ) -> BayesianNetwork:
        """Return the network with other states of a variable; see `Model.with_states`."""
        old, new, order = editing.new_states(self, name, states)
        blocks = editing.with_states(self._blocks, old, new, order)
        return self._of(blocks, [new if v == old else v for v in self.variables])

    def conditioned(self, evidence: EvidenceLike) -> BayesianNetwork:
        """Return the distribution of the other variables; see `Model.conditioned`."""
        asked, states = with_findings(self, as_mapping(evidence))
        if asked is not self:  # findings about numbers are states of a changed network
            return cast("BayesianNetwork", asked.conditioned(states))
        blocks, log_mass = editing.given(self, read_case(self, states))
        if log_mass == -math.inf:
            raise impossible(evidence)
        return self._of(blocks)

    def marginalised(self, *names: Name) -> BayesianNetwork:
        """Return the distribution of the other variables; see `Model.marginalised`."""
        chosen = {self.variable(name) for name in names}
        editing.check_something_left(self, chosen)
        network = self
        for name in reversed(self._order):  # children first: most of them are just left out
            if self.variable(name) in chosen:
                network = network._of(editing.without_variable(network, self.variable(name)))
        return network

    def _merged(
        self, other: BayesianNetwork, *, prefer: Literal["self", "other"] | None = None
    ) -> BayesianNetwork:
        """Return one network of the variables of two; see `bayesgraph.models.merged`."""
        if not isinstance(other, BayesianNetwork):
            raise ModelError(f"merged takes a BayesianNetwork; got {other!r:.80}.")
        blocks, order = editing.merged(self, other, prefer)
        scores = {**other.arc_scores, **self.arc_scores}
        return self._of(blocks, order, scores, self.annotations.over(other.annotations))

    def _annotated(self, annotations: Annotations) -> BayesianNetwork:
        """Return the network with other notes; see `bayesgraph.models.annotated`."""
        network = BayesianNetwork(
            self._blocks,
            arc_scores=self.arc_scores,
            order=self.variables,
            history=self._history,
            annotations=annotations,
        )
        network.training = self.training
        return network

    def _expanded(self) -> BayesianNetwork:
        """Return the network with tables for canonical CPDs; see `bayesgraph.models.expanded`."""
        return self._of([b.to_table() if isinstance(b, CanonicalCPD) else b for b in self._blocks])

    def _of(
        self,
        blocks: Sequence[CPD],
        order: Sequence[Variable] | None = None,
        arc_scores: Mapping[tuple[Name, Name], float] | None = None,
        annotations: Annotations | None = None,
    ) -> BayesianNetwork:
        """Return a network of these CPDs, with this one's scores and annotations of what remains.

        The order of the variables is that of this network, unless it is given.
        """
        children = {child for block in blocks for child in block.children}
        names = [child.name for block in blocks for child in block.children]
        arcs = {arc for block in blocks for arc in block.arcs()}
        scores = self.arc_scores if arc_scores is None else arc_scores
        return BayesianNetwork(
            blocks,
            arc_scores={arc: score for arc, score in scores.items() if arc in arcs},
            order=[v for v in self.variables if v in children] if order is None else order,
            annotations=(self.annotations if annotations is None else annotations).of(names),
        )

    # ------------------------------------------------------------------------------ other verbs

    def _to_factor_graph(
        self, exponents: Mapping[Name, ArrayLike] | None = None, *, domain: str = "nonnegative"
    ) -> FactorGraph:
        """Return the product of the CPDs, each raised to an exponent, as a factor graph.

        A factor graph raises each CPD to its exponent first, and sums a missing variable out of the
        product of the *powers*. A `WeightedNetwork` marginalises first, and then raises the
        class-conditional probabilities to the exponents. Their posteriors of the class agree if all
        features are observed.

        Parameters
        ----------
        exponents : mapping from variable name to exponent, optional
            Exponent of the variable's CPD: a number, or an array that broadcasts against its table
            (for a GaussianCPD, against its discrete parents). Other CPDs have the exponent 1.
        domain : {"nonnegative", "unit", "free"}
            Range of the exponents.
        """
        chosen = dict(exponents or {})
        for name in chosen:
            self.variable(name)
        ordered = [chosen.get(cpd.variable.name) for cpd in self.cpds]
        return FactorGraph(self.cpds, exponents=ordered, domain=domain)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BayesianNetwork) and self.cpds == other.cpds

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return (
            f"BayesianNetwork with {len(self.variables)} variables, "
            f"{sum(len(cpd.arcs()) for cpd in self._blocks)} arcs and {self.n_parameters} "
            "parameters"
        )


@dataclass(frozen=True, eq=False)
class NetworkSlice(GraphSlice):
    """Submodel relevant to a query, for one set of observed variables: some CPDs of the network.

    Attributes
    ----------
    keep : tuple of Variable
        The targets.
    """

    keep: tuple[Variable, ...]

    @property
    def nbytes(self) -> int:
        """Maximum number of bytes held in addition to the network's own arrays."""
        numbers = MAX_BYTES if self._linear else 0
        return self.combination.nbytes + numbers

    @cached_property
    def combination(self) -> Combination:
        """The CPDs of the submodel, grouped so that their log potentials are added up fast."""
        return Combination.of(self.pieces, self.shown)

    @cached_property
    def _linear(self) -> tuple[CPD, ...]:
        """The CPDs with unobserved continuous variables, if all of them are linear Gaussian.

        Empty if there are no such CPDs, or if one of them is not linear Gaussian.
        """
        numeric = [
            piece
            for piece, free in zip(self.pieces, self.scopes, strict=True)
            if any(isinstance(variable, Continuous) for variable in free)
        ]
        linear = (p.is_linear and self.shown.isdisjoint(p.discrete_parents) for p in numeric)
        return tuple(numeric) if all(linear) else ()

    @cached_property
    def _integrated(self) -> tuple[Integrated, Combination] | None:
        """The linear Gaussian CPDs with continuous variables integrated out, and the other CPDs.

        The value is None if there are no linear Gaussian CPDs, or if the integrals would take too
        much memory.
        """
        if not self._linear:
            return None
        integrated = Integrated(self._linear, self.shown, self.keep)
        linear = set(map(id, self._linear))  # equality would compare all parameters
        others = [piece for piece in self.pieces if id(piece) not in linear]
        return (integrated, Combination.of(others, self.shown)) if integrated.is_small else None

    def _potentials(self, shown: Evidence, summed: bool) -> list[Potential]:
        """Return the potentials; numbers of a single row may be integrated out if `summed`."""
        if summed and shown.n_rows == 1 and self._integrated is not None:
            numbers, others = self._integrated
            return [*numbers.potentials(shown), *others.potentials(shown)]
        return self.combination.potentials(shown)


# -------------------------------------------------------------------- roots that trees sum out


def summed_roots(cpds: Sequence[CPD], targets: Collection[Variable]) -> dict[Variable, CPD]:
    """Return the root variables that the CPD of their only child can sum out.

    If a continuous parent of a tree is free, the CPD's potential is neither a table nor Gaussian,
    and the inference engine cannot represent it. An exception is a parent z that is a root of the
    network, is not a target, has no soft evidence and has a single child c. It appears only in its
    own CPD and in that of c, and the sum ``sum_z P(z) P(c | z, rest)`` replaces both CPDs.

    The result is a mapping from each of these variables to the variable's own CPD.

    Parameters
    ----------
    cpds : sequence of CPD
        The CPDs relevant to a query, including the CPDs of all ancestors.
    targets : collection of variables
        The targets, and the variables with soft evidence.
    """
    summing = [cpd for cpd in cpds if isinstance(cpd, TreesCPD)]
    if not summing:
        return {}
    n_children = Counter(parent for cpd in cpds for parent in cpd.parents)
    # A set variable is observed in all rows. In a block, variables are not apart.
    roots = {
        cpd.variable: cpd
        for cpd in cpds
        if not (cpd.parents or cpd.siblings_depend or isinstance(cpd, SetCPD))
        if len(cpd.children) == 1
    }
    return {
        parent: roots[parent]
        for cpd in summing
        for parent in cpd.parents
        if parent in roots and n_children[parent] == 1 and parent not in targets
    }


def without_summed_roots(
    cpds: Sequence[CPD], observed: Collection[Variable], targets: Collection[Variable]
) -> list[CPD]:
    """Return the CPDs relevant to a query, with unobserved roots summed out where possible.

    Parameters
    ----------
    cpds, targets
        See `summed_roots`.
    observed : collection of variables
        Variables observed in at least one row.

    Raises
    ------
    UnsupportedModelError
        For a free continuous variable that is neither summed out nor Gaussian.
    """
    roots = summed_roots(cpds, targets)
    result: list[CPD] = []
    for cpd in cpds:
        if cpd.variable in roots and cpd.variable not in observed:
            continue  # the CPD of its child includes it
        if isinstance(cpd, TreesCPD):
            summed = {parent: roots[parent] for parent in cpd.parents if parent in roots}
            cpd = cpd.summed(summed, observed)
            cpd.check_observed(observed)
        result.append(cpd)
    return result


# ------------------------------------------------- The networks that a model consists of


def networks_in(model: Model, place: tuple[int, ...] = ()) -> Iterator[tuple[tuple[int, ...], Any]]:
    """Yield the Bayesian networks that a model consists of, each after its place in ensembles."""
    for i, network in enumerate(model.networks):
        if network is model:  # a network consists of itself
            yield place, network
        else:
            yield from networks_in(network, (*place, i))


def map_networks(model: Model, change: Callable[[Any], Model]) -> Model:
    """Return a model with a function of each Bayesian network in the place of this network."""
    if model.networks[0] is model:  # a network consists of itself
        return change(model)
    return model._with_networks([map_networks(network, change) for network in model.networks])
