"""Bayesian networks: a directed acyclic graph with a local distribution at each node."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesgraph import upward
from bayesgraph.cpds import CPD, Plate, TableCPD, combined_potentials
from bayesgraph.cpds.roots import summed_roots, without_summed_roots
from bayesgraph.errors import (
    DataTypeError,
    ModelError,
    UnknownVariableError,
    UnsupportedModelError,
    quoted,
    suggestion,
)
from bayesgraph.factor_graph import FactorGraph
from bayesgraph.factors import Evidence
from bayesgraph.findings import evidence_factors, impossible, partial_columns
from bayesgraph.graph import ancestral_set, build_dag, parents_first, topological_order
from bayesgraph.inference import Scopes, Tables
from bayesgraph.inference.queries import Problem
from bayesgraph.model import GraphicalModel
from bayesgraph.variables import Discrete, Name, Variable, decode


class BayesianNetwork(GraphicalModel):
    """A directed acyclic graph with one conditional distribution for each variable.

    Parameters
    ----------
    cpds : iterable of CPD
        One for each variable, or for several (plates, blocks); the arcs are read off their parents.
        Their order is the order of the variables and breaks ties everywhere.
    arc_scores : mapping from (parent, child) to float, optional
        What a structure learner thought of an arc, in nats; shown in pictures.
    order : iterable of Variable, optional
        The order of the variables, if it is not that of the CPDs.

    Attributes
    ----------
    cpds : tuple of CPD
        One for each variable; plates and blocks are taken apart.
    blocks : tuple of CPD
        As they were given.
    em_ : EMHistory or None
        How EM went, if it has found the parameters; files do not keep it.

    Raises
    ------
    ModelError
        For no CPDs, two CPDs of one variable, a parent without a CPD, or a parent whose states
        differ from those of its own CPD.
    GraphError
        If the arcs form a cycle, which is named.

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

    def __init__(
        self,
        cpds: Iterable[CPD],
        *,
        arc_scores: Mapping[tuple[Name, Name], float] | None = None,
        order: Iterable[Variable] | None = None,
    ) -> None:
        self.em_: Any = None
        self.blocks = tuple(cpds)
        if not self.blocks:
            raise ModelError("A BayesianNetwork needs at least one CPD; got none.")
        for cpd in self.blocks:
            if not isinstance(cpd, CPD):
                raise ModelError(f"A BayesianNetwork takes CPDs; got {cpd!r}.")
        self.variables = tuple(child for cpd in self.blocks for child in cpd.children)
        self._by_name = {variable.name: variable for variable in self.variables}
        if len(self._by_name) < len(self.variables):
            names = [variable.name for variable in self.variables]
            twice = [name for i, name in enumerate(names) if name in names[:i]]
            raise ModelError(f"More than one CPD for {quoted(twice)}; each variable takes one.")
        if order is not None:
            self._set_order(tuple(order))
        for cpd in self.blocks:
            self._check_parents(cpd)
        self._parents = {child: cpd.parents for cpd in self.blocks for child in cpd.children}
        self._order = self._parents_first()
        self.arc_scores = dict(arc_scores or {})
        for arc in self.arc_scores:
            if not self.graph.has_edge(*arc):
                raise ModelError(f"arc_scores has {arc!r}, which is not an arc of the network.")

    def _parents_first(self) -> list[Name]:
        above: dict[Name, list[Name]] = {name: [] for name in self._by_name}
        for block in self.blocks:
            for parent, child in block.arcs():
                above[child].append(parent)
        order = parents_first(above)
        # With a cycle there is no graph to make, and the error names it.
        return topological_order(self.graph) if order is None else order

    @cached_property
    def graph(self) -> nx.DiGraph:
        """The directed acyclic graph over names; arcs carry their scores."""
        dag = build_dag(self._by_name, [arc for cpd in self.blocks for arc in cpd.arcs()])
        scores = self.__dict__.get("arc_scores", {})
        nx.set_edge_attributes(dag, {a: s for a, s in scores.items() if dag.has_edge(*a)}, "score")
        return nx.freeze(dag)

    def _set_order(self, order: tuple[Variable, ...]) -> None:
        if len(order) != len(self.variables) or set(order) != set(self.variables):
            raise ModelError(
                f"order= lists the variables of the CPDs, each once: "
                f"{quoted(v.name for v in self.variables)}; got {quoted(order)}."
            )
        self.variables = order
        self._by_name = {variable.name: variable for variable in order}

    @cached_property
    def cpds(self) -> tuple[CPD, ...]:
        """One CPD for each variable, in their order; plates and blocks are taken apart."""
        single = {cpd.variable: cpd for block in self.blocks for cpd in block.singles()}
        return tuple(single[variable] for variable in self.variables)

    @cached_property
    def silent(self) -> frozenset[Variable]:
        """See BaseModel: here, those whose distribution is a plate even when taken alone."""
        return frozenset(cpd.variable for cpd in self.cpds if isinstance(cpd, Plate))

    @cached_property
    def _cpd_of(self) -> dict[Variable, CPD]:
        return {cpd.variable: cpd for cpd in self.cpds}

    @cached_property
    def _scopes(self) -> Scopes | None:
        """Scopes of the tables, if the model is one of tables."""
        discrete = [v for v in self.variables if isinstance(v, Discrete)]
        if len(discrete) < len(self.variables):
            return None
        if not all(isinstance(cpd, TableCPD) for cpd in self.cpds):
            return None
        return Scopes(discrete, [cpd.scope for cpd in self.cpds])

    def _check_parents(self, cpd: CPD) -> None:
        for parent in cpd.parents:
            own = self._by_name.get(parent.name)
            if own is None:
                near = suggestion(parent.name, self._by_name)
                raise ModelError(
                    f"{cpd!r} has the parent {parent.name!r}, which has no CPD of its own.{near}"
                )
            if own != parent:
                raise ModelError(
                    f"{cpd!r} has the parent {parent!r}, but the network has {own!r}: name, type, "
                    "states and their order must agree."
                )

    @classmethod
    def fit(
        cls,
        arcs: Any,
        frame: Any,
        *,
        variables: Iterable[Variable] = (),
        categorical: Any = None,
        alpha: float = 1.0,
        shrinkage: float = 0.0,
        sample_weight: ArrayLike | None = None,
        missing: str | None = None,
        hidden: Iterable[Discrete] = (),
        restarts: int = 1,
        max_iter: int = 1000,
        tol: float = 1e-6,
        random_state: Any = None,
    ) -> BayesianNetwork:
        """Estimate the parameters of a given graph from a table.

        Parameters
        ----------
        arcs : iterable of (parent, child) pairs, a networkx.DiGraph, a Structure or a network
            Every column of the table that no arc mentions becomes a node without arcs if the graph
            is given as pairs; the others name their nodes themselves. A Structure and a network
            bring their variables, states that the table lacks included.
        frame : pandas, polars or pyarrow table, or mapping from name to column
            Missing values: see `missing`.
        variables : iterable of Variable, optional
            States and their order for columns that may not show all of them; a value that is not a
            state is an error.
        categorical : list of column names or "all", optional
            Numeric columns to take as discrete.
        alpha : float
            Dirichlet pseudo-count for each cell of a table; 0 is maximum likelihood.
        shrinkage : float
            Rows' worth of prior with which each configuration's covariance is drawn towards the
            pooled one; 0 is maximum likelihood.
        sample_weight : array_like, shape (n_rows,), optional
        missing : {"available", "em"}, optional
            * "available": each family uses the rows that are complete in it. The default.
            * "em": expectation maximisation (Dempster, Laird, Rubin 1977) completes every row by
              its posterior, iteration after iteration, which uses all that was observed and is
              right as long as what is missing depends on what was observed alone. Continuous
              variables may be missing only where nothing that depends on them is observed. How it
              went is in ``network.em_``.
        hidden : iterable of Discrete, optional
            Variables of the graph that the table lacks; they take "em", which is then the default.
        restarts : int
            Starts of EM, the best of which is kept. With hidden variables ends differ, and their
            states may trade places.
        max_iter : int
            Iterations of each start; one warning (NotConvergedWarning) if these are too few.
        tol : float
            EM stops when an iteration gains less, in nats a row.
        random_state : int or numpy Generator, optional
            Of the starts.

        Examples
        --------
        Nobody knows which of two coins was thrown twice:

        >>> import bayesgraph as bg
        >>> frame = {"a": list("hhhhhtttttht"), "b": list("hhhhhttttthh")}
        >>> coin = bg.Discrete("coin", ["one", "other"])
        >>> net = BayesianNetwork.fit(
        ...     [("coin", "a"), ("coin", "b")], frame, hidden=[coin], restarts=3, random_state=0
        ... )
        >>> net.em_.converged
        True
        """
        network: BayesianNetwork = upward.call(
            "fit_network",
            arcs,
            frame,
            variables=variables,
            categorical=categorical,
            alpha=alpha,
            shrinkage=shrinkage,
            sample_weight=sample_weight,
            missing=missing,
            hidden=hidden,
            restarts=restarts,
            max_iter=max_iter,
            tol=tol,
            random_state=random_state,
        )
        return network

    def cpd(self, name: Name) -> CPD:
        """Return the CPD of a variable."""
        return self._cpd_of[self.variable(name)]

    @property
    def n_parameters(self) -> int:
        """Free parameters of all CPDs."""
        return sum(cpd.n_parameters for cpd in self.blocks)

    # ------------------------------------------------------------------------ for the engine

    def problem(self, evidence: Evidence, keep: Collection[Variable]) -> Problem:
        """See GraphicalModel; nodes without a target or evidence among their descendants drop."""
        trimmed, partial = evidence.split()
        blocking = self.blocking(trimmed, partial, keep)
        shown = trimmed.without(blocking) if blocking else trimmed
        observed = [*trimmed.columns, *trimmed.likelihoods]
        pieces = self._pieces(observed, [*keep, *trimmed.likelihoods], shown.columns)
        potentials = combined_potentials(pieces, shown)
        potentials += evidence_factors(trimmed, blocking)
        return Problem(potentials, partial_columns(trimmed, blocking))

    def _pieces(
        self, observed: Iterable[Variable], keep: Collection[Variable], shown: Collection[Variable]
    ) -> list[CPD]:
        """Return the distributions that matter, each a potential of its own."""
        relevant = self._relevant(observed, keep)
        blocks = self._relevant_blocks(relevant)
        pieces = [piece for cpd in blocks for piece in cpd.pieces(relevant, shown)]
        return without_summed_roots(pieces, shown, keep)

    def _relevant_blocks(self, relevant: set[Variable]) -> list[CPD]:
        return [cpd for cpd in self.blocks if not relevant.isdisjoint(cpd.children)]

    def scopes(
        self, observed: Collection[Variable], keep: Collection[Variable]
    ) -> list[tuple[Variable, ...]]:
        """See GraphicalModel."""
        return [
            tuple(v for v in piece.scope if v not in observed)
            for piece in self._pieces(observed, keep, observed)
        ]

    def blocking(
        self, evidence: Evidence, partial: Sequence[Variable], keep: Collection[Variable]
    ) -> list[Variable]:
        """See GraphicalModel: all but leaves, whose sum where they are missing is one.

        Nor roots that are summed out where they enter. A leaf whose siblings depend on it counts
        as one while they are all observed.
        """
        if not partial:
            return []
        relevant = self._relevant([*evidence.columns, *evidence.likelihoods], keep)
        inner = {parent for variable in relevant for parent in self._parents[variable]}
        kept = [*keep, *evidence.likelihoods]
        inner.update(kept)
        for cpd in self.blocks:
            if cpd.siblings_depend and not inner.isdisjoint(cpd.children):
                inner.update(cpd.children)
        summed = summed_roots(self._relevant_blocks(relevant), kept)
        return [variable for variable in partial if variable in inner and variable not in summed]

    def _relevant(self, observed: Iterable[Variable], keep: Collection[Variable]) -> set[Variable]:
        return ancestral_set(self._parents, [*observed, *keep])  # type: ignore[arg-type, return-value]

    def nodes(self) -> list[CPD]:
        """See GraphicalModel."""
        return [self._cpd_of[self._by_name[name]] for name in self._order]

    def table_names(self) -> list[Name]:
        """See GraphicalModel."""
        return list(self.names)

    def tables(self) -> Tables | None:
        """See GraphicalModel."""
        if self._scopes is None:
            return None
        values = [cpd.values for cpd in self.cpds if isinstance(cpd, TableCPD)]
        return Tables(self._scopes, values, sums_to_one=True)

    # ------------------------------------------------------------------------------ other verbs

    def sample(
        self, n: int, *, given: Mapping[Name, Any] | None = None, random_state: Any = None
    ) -> dict[Name, NDArray[Any]]:
        """Draw rows from the joint distribution, parents before children.

        With `given` the rows come from the distribution of all variables given these values,
        exactly and independently: the unobserved ancestors of what is given are drawn from their
        posterior, and everything else follows from its parents. Where the ancestors are given as
        well (the class of a naive Bayes, say) no inference is needed.

        Parameters
        ----------
        n : int
        given : mapping from name to value, optional
            As the evidence of `query`; a variable with a value has it in every row.
        random_state : int or numpy Generator, optional

        Returns
        -------
        dict from name to array of shape (n,)
            States and numbers; ``pandas.DataFrame(net.sample(n))`` makes a table of it.

        Raises
        ------
        UnknownVariableError, UnknownStateError, EvidenceError
            As `query` does for its evidence.
        ImpossibleEvidenceError
            If what is given has probability zero.
        """
        if not isinstance(n, (int, np.integer)) or n < 0:
            raise DataTypeError(f"n is a number of rows, 0 or more; got {n!r}.")
        random = np.random.default_rng(random_state)
        try:
            columns = self._columns_above(n, given, random) if given is not None else {}
        except UnsupportedModelError:
            columns = self._accepted(n, self.encode(given), random)
        columns = self._forward(columns, n, random)
        return {v.name: decode(v, columns[v]) for v in self.variables}

    def _forward(
        self, columns: dict[Variable, NDArray[Any]], n: int, random: np.random.Generator
    ) -> dict[Variable, NDArray[Any]]:
        """Return columns with those of all other variables drawn given their parents."""
        drawn = dict(columns)
        for name in self._order:
            variable = self._by_name[name]
            if variable not in drawn:
                drawn[variable] = self._cpd_of[variable].sample(drawn, n, random)
        return drawn

    def _accepted(
        self, n: int, given: Evidence, random: np.random.Generator
    ) -> dict[Variable, NDArray[Any]]:
        """Return rows of the joint distribution that agree with discrete values given.

        Exact where no posterior of what lies above is known, and slow where these are rare.
        """
        wanted = {v: int(c[0]) for v, c in given.columns.items() if isinstance(v, Discrete)}
        if len(wanted) < len(given.columns) or given.likelihoods:
            raise UnsupportedModelError(
                "Rows given numbers or likelihoods take the exact posterior of what lies above "
                "them, which this model does not have; give states of discrete variables only."
            )
        found: list[dict[Variable, NDArray[Any]]] = []
        n_found, tries = 0, 0
        while n_found < n:
            if tries > 10_000 + 1_000 * n:
                raise UnsupportedModelError(
                    f"{tries} rows were drawn and {n_found} of them agree with what is given: it "
                    "is too improbable to be sampled by drawing and rejecting."
                )
            size = min(100_000, 2 * n + 100)
            rows = self._forward({}, size, random)
            kept = np.flatnonzero(np.all([rows[v] == code for v, code in wanted.items()], axis=0))
            found.append({v: column[kept] for v, column in rows.items()})
            n_found, tries = n_found + len(kept), tries + size
        return {v: np.concatenate([part[v] for part in found])[:n] for v in self.variables}

    def _columns_above(
        self, n: int, given: Mapping[Name, Any], random: np.random.Generator
    ) -> dict[Variable, NDArray[Any]]:
        """Return what is given, and draws of all that lies above it, as encoded columns."""
        evidence = self.encode(given)
        fixed = {v: np.repeat(column, n, axis=0) for v, column in evidence.columns.items()}
        # Of what is drawn forward: there the children of a block are drawn one after the other.
        parents = {cpd.variable: cpd.parents for cpd in self.cpds}
        above: set[Variable] = ancestral_set(parents, [*evidence.columns, *evidence.likelihoods])  # type: ignore[arg-type, assignment]
        if not above:
            return {}
        # The rest is barren: it changes nothing about what lies above.
        blocks = self._relevant_blocks(above)
        part = BayesianNetwork([piece for block in blocks for piece in block.pieces(above, ())])
        if not above <= set(fixed):
            return fixed | part._drawn(n, given, random)
        if part.log_probability(given) == -np.inf:
            raise impossible(given)
        return fixed

    def to_factor_graph(
        self, exponents: Mapping[Name, ArrayLike] | None = None, *, domain: str = "nonnegative"
    ) -> FactorGraph:
        """Return the product of the CPDs, each raised to an exponent, as a factor graph.

        A factor graph multiplies and normalises whatever is observed: with exponents other than
        one, a missing variable is summed out of the *powered* product. A weighted classifier
        instead marginalises first and raises to the exponents then; the two agree where all
        features are observed.

        Parameters
        ----------
        exponents : mapping from variable name to exponent, optional
            For the CPD of that variable: a number, or an array that broadcasts against its table
            (for a GaussianCPD, against its discrete parents). Others are 1.
        domain : {"nonnegative", "unit", "free"}
        """
        given = dict(exponents or {})
        for name in given:
            self.variable(name)
        ordered = [given.get(cpd.variable.name) for cpd in self.cpds]
        return FactorGraph(self.cpds, exponents=ordered, domain=domain)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BayesianNetwork) and self.cpds == other.cpds

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return (
            f"BayesianNetwork with {len(self.variables)} variables, "
            f"{sum(len(cpd.arcs()) for cpd in self.blocks)} arcs and {self.n_parameters} parameters"
        )


__all__ = ["BayesianNetwork", "UnknownVariableError", "decode"]
