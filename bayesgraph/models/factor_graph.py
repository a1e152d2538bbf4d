"""Factor graphs: a product of factors, each raised to an exponent."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from bayesgraph import graphs
from bayesgraph.core.arrays import Floats, ItemTerms
from bayesgraph.core.errors import (
    ImpossibleEvidenceError,
    ModelError,
    UnsupportedModelError,
    quoted,
)
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.variables import Arc, Continuous, Discrete, Name, Variable
from bayesgraph.inference import (
    METHODS,
    Approximate,
    Case,
    CompiledTables,
    Factor,
    Joint,
    Mass,
    Potential,
    Problem,
    Tables,
    take_codes,
    weighted_log,
)
from bayesgraph.models.cpds.base import CPD
from bayesgraph.models.cpds.density import Plate
from bayesgraph.models.editing import new_names, substituted
from bayesgraph.models.evidence import evidence_factors
from bayesgraph.models.model import Addend, Model

if TYPE_CHECKING:
    import networkx as nx

Source: TypeAlias = Factor | CPD

DOMAINS = {"nonnegative": (0.0, np.inf), "unit": (0.0, 1.0), "free": (-np.inf, np.inf)}


@dataclass(frozen=True, eq=False)
class Term:
    """A factor or CPD with its exponent.

    Attributes
    ----------
    source : Factor or CPD
        The factor or CPD as the user gave it, before the exponent.
    exponent : ndarray
        Broadcasts against the discrete axes of the source.
    """

    source: Source
    exponent: Floats

    @property
    def title(self) -> str:
        """The source on one line."""
        return _name(self.source)

    @property
    def scope(self) -> tuple[Variable, ...]:
        """Variables of the source."""
        return self.source.scope

    @cached_property
    def table(self) -> Factor | None:
        """The table raised to its exponents; None if the source is not a table."""
        factor = _as_factor(self.source)
        return None if factor is None else factor**self.exponent

    def potential(self, evidence: Evidence) -> Potential:
        """Return the potential over the unobserved variables, raised to the exponent."""
        axes = [v for v in self.scope if isinstance(v, Discrete)]
        observed = [v for v in axes if v in evidence]
        codes = [evidence.columns[v] for v in observed]
        if self.table is not None:
            free, values = take_codes(axes, self.table.log_values, observed, codes)
            return Factor.from_log(free, values)
        assert isinstance(self.source, CPD)
        potential = self.source.potential(evidence)
        # The exponents of the observed states, over the free discrete variables of the potential.
        full = np.broadcast_to(self.exponent, [v.cardinality for v in axes])
        _, exponent = take_codes(axes, full[None], observed, codes)
        if isinstance(potential, Factor):
            return Factor.from_log(potential.scope, weighted_log(potential.log_values, exponent))
        return potential.power(exponent)

    def item_terms(self, evidence: Evidence) -> ItemTerms | None:
        """Return one row's log potential times the exponent, split into one term for each item.

        Items are those of a vector of counts, such as words. The result is None if the source is
        not the CPD of such a vector; see `CPD.item_terms`.
        """
        terms = self.source.item_terms(evidence) if isinstance(self.source, CPD) else None
        return None if terms is None else terms.powered(self.exponent)

    def item_logs(self) -> Floats | None:
        """Return the increase of exponent times log potential by one occurrence of each item.

        Items are those of a vector of counts, such as words. The result is None if the source is
        not the CPD of such a vector; see `CPD.item_logs`.
        """
        logs = self.source.item_logs() if isinstance(self.source, CPD) else None
        return None if logs is None else weighted_log(logs.T, self.exponent).T


def checked_exponent(what: str, exponent: ArrayLike, domain: str) -> Floats:
    """Return exponents as a read-only array after checking that they are in the domain.

    Parameters
    ----------
    what : str
        Description of the object that has the exponents, for error messages.
    exponent : array_like
    domain : {"nonnegative", "unit", "free"}
        Range of the exponents: at least 0, from 0 to 1, or all finite numbers.

    Raises
    ------
    ModelError
        For exponents outside the domain, or that are not finite numbers.
    """
    if domain not in DOMAINS:
        raise ModelError(f"domain is one of {quoted(DOMAINS)}; got {domain!r}.")
    low, high = DOMAINS[domain]
    try:
        array = np.array(exponent, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ModelError(f"The exponent of {what} takes numbers; got {exponent!r}.") from error
    if not (np.isfinite(array) & (array >= low) & (array <= high)).all():
        raise ModelError(
            f"The exponents of {what} must be finite and {domain} (from {low:g} to {high:g}); got "
            f"{exponent!r}."
        )
    array.flags.writeable = False
    return array


def _name(source: Source) -> str:
    """Return the description of a factor or a CPD, one line of text."""
    return source.title if isinstance(source, CPD) else repr(source)


def _as_factor(source: Source) -> Factor | None:
    """Return a factor, or the table of a CPD; None if the CPD is no table."""
    return source if isinstance(source, Factor) else source.to_factor()


def _substituted(source: Source, new: Mapping[Variable, Variable]) -> Source:
    """Return a factor or a CPD of other variables."""
    if isinstance(source, CPD):
        return substituted(source, new)
    scope = [new.get(v, v) for v in source.scope]
    return Factor.from_log(scope, source.log_values)  # type: ignore[arg-type]


def check_negative(source: Source, exponent: Floats) -> None:
    """Raise a ModelError if a negative exponent would be applied to a potential of zero.

    This concerns zeros in tables, and other CPDs whose property `is_positive` is false.
    """
    table = _as_factor(source)
    if table is not None:
        if (np.isneginf(table.log_values) & (exponent < 0)).any():
            raise ModelError(f"{_name(source)} has zeros, which cannot take a negative exponent.")
    elif isinstance(source, CPD) and not source.is_positive:
        raise ModelError(
            f"{_name(source)} takes exponents that are not negative; got {exponent.tolist()!r:.80}."
        )


@dataclass(frozen=True, eq=False)
class GraphSlice:
    """Submodel of a factor graph or a network, for one set of observed variables.

    It implements the protocol `inference.elimination.Slice`.

    Attributes
    ----------
    pieces : tuple of Term or CPD
        What gives the potentials: all terms of a factor graph, or some CPDs of a network, of which
        those of several children are reduced to those that are relevant.
    blocking : tuple of Variable
        Partially observed variables that are summed out in the rows that lack them.
    shown : frozenset of Variable
        Observed variables whose values the pieces receive as evidence.
    """

    pieces: tuple[Any, ...]
    blocking: tuple[Variable, ...]
    shown: frozenset[Variable]

    @property
    def nbytes(self) -> int:
        """Maximum number of bytes held in addition to the model's own arrays."""
        return 0

    @cached_property
    def scopes(self) -> tuple[tuple[Variable, ...], ...]:
        """Unobserved variables of each piece."""
        return tuple(tuple(v for v in piece.scope if v not in self.shown) for piece in self.pieces)

    def problem(self, evidence: Evidence, *, summed: bool = False) -> Problem:
        """Return the potentials of all pieces given the evidence, as factors to multiply.

        With `summed`, unobserved continuous variables of a single row are integrated out here if
        possible; see `inference.elimination.Slice.problem`.
        """
        shown = evidence.without(self.blocking) if self.blocking else evidence
        potentials = self._potentials(shown, summed)
        potentials += evidence_factors(evidence, self.blocking)
        # Numbers that some rows lack (NaN) are arguments of potentials; the engine inserts them.
        numbers: dict[Variable, Floats] = {
            v: evidence.columns[v].astype(np.float64, copy=False)
            for v in self.blocking
            if isinstance(v, Continuous)
        }
        return Problem(potentials, numbers)

    def _potentials(self, shown: Evidence, summed: bool) -> list[Potential]:
        return [piece.potential(shown) for piece in self.pieces]


class FactorGraph(Model):
    """A normalised product of factors, each raised to an exponent before anything is summed out.

    Parameters
    ----------
    factors : iterable of Factor or CPD
    exponents : sequence, optional
        The exponent of each factor: None (which means 1), a number, or an array that broadcasts
        against the factor's table (for a CPD of numbers or counts, against its discrete parents).
        0 to the power 0 is 1.
    domain : {"nonnegative", "unit", "free"}
        The range of the exponents (at least 0, from 0 to 1, or all finite numbers); part of the
        model.

    Raises
    ------
    ModelError
        For no factors, a wrong number of exponents, exponents of a wrong shape or range, two
        variables with the same name, or a negative exponent of a factor with zeros.

    Examples
    --------
    >>> import bayesgraph as bg
    >>> a, b = bg.Discrete("a", [0, 1]), bg.Discrete("b", [0, 1])
    >>> graph = FactorGraph([bg.Factor([a, b], [[4, 1], [1, 4]])], exponents=[0.5])
    >>> graph.query("b", {"a": 1})
    P(b)
      0  0.333333  ████████
      1  0.666667  ████████████████
    """

    _kind = "product"
    _advice = " For other questions, query the BayesianNetwork it was made from."
    _edit_advice = (
        " Make a FactorGraph of other factors, or change the network that it was made from."
    )

    @property
    def _title(self) -> str:
        return f"factor graph of {len(self.terms)} factors"

    @classmethod
    def of(cls, model: Any, exponents: Any = None, **options: Any) -> FactorGraph:
        """Return a network or a fitted classifier as the product of its distributions.

        A factor graph raises each distribution to its exponent, and sums a missing variable out of
        the product of the *powers*. A `WeightedNetwork` marginalises first, and then raises the
        class-conditional probabilities to its exponents: both agree if all features are observed.

        Parameters
        ----------
        model : BayesianNetwork, WeightedNetwork, or classifier with a network of tables
        exponents : mapping from variable name to exponent, optional
            Of a network: the exponent of the variable's distribution, a number or an array that
            broadcasts against its table (of a Gaussian, against its discrete parents); else 1.
        **options
            `domain`, the range of the exponents: "nonnegative", "unit" or "free".

        Raises
        ------
        UnsupportedModelError
            If the model is no product of distributions.
        """
        if not hasattr(model, "_to_factor_graph"):
            raise UnsupportedModelError(f"{model!r:.80} is no product of distributions.")
        arguments = () if exponents is None else (exponents,)
        graph: FactorGraph = model._to_factor_graph(*arguments, **options)
        return graph

    def __init__(
        self,
        factors: Iterable[Source],
        *,
        exponents: Sequence[ArrayLike | None] | None = None,
        domain: str = "nonnegative",
    ) -> None:
        sources = list(factors)
        if not sources:
            raise ModelError("A FactorGraph needs at least one factor; got none.")
        for source in sources:
            if not isinstance(source, (Factor, CPD)):
                raise ModelError(f"A FactorGraph takes factors and CPDs; got {source!r}.")
        if exponents is None:
            exponents = [None] * len(sources)
        elif not hasattr(exponents, "__len__") or len(exponents) != len(sources):
            raise ModelError(
                f"exponents is a list with one entry for each of the {len(sources)} factors; got "
                f"{exponents!r:.200}."
            )
        self.domain = domain
        # One is in every domain: this refuses an unknown one.
        one = checked_exponent("a FactorGraph", 1.0, domain)
        self.terms = tuple(
            Term(source, one if exponent is None else self._checked(source, exponent))
            for source, exponent in zip(sources, exponents, strict=True)
        )
        scopes = (source.scope for source in sources)
        self.variables = tuple(dict.fromkeys(itertools.chain.from_iterable(scopes)))
        self._by_name = {variable.name: variable for variable in self.variables}
        if len(self._by_name) < len(self.variables):
            names = Counter(variable.name for variable in self.variables)
            twice = [name for name, count in names.items() if count > 1]
            raise ModelError(
                f"Different variables of one name: {quoted(twice)}. Name, type, states and their "
                "order must agree in all factors."
            )

        # Negative powers of densities and of counts have no sum over all rows.
        if domain == "free" and any((t.exponent < 0).any() and t.table is None for t in self.terms):
            self._declined = frozenset(METHODS) - {Joint, Approximate}
            self._advice = (
                " Its negative powers score a class by how badly others explain a document, which "
                "is no distribution of documents. Use NaiveBayesClassifier('multinomial')."
            )

    def _checked(self, source: Source, exponent: ArrayLike) -> Floats:
        """Return an exponent that fits the table of a factor, or raise a ModelError."""
        array = checked_exponent(_name(source), exponent, self.domain)
        shape = tuple(v.cardinality for v in source.scope if isinstance(v, Discrete))
        try:
            np.broadcast_to(array, shape)
        except ValueError as error:
            raise ModelError(
                f"The exponent of {_name(source)} is a number or broadcasts against shape {shape}: "
                f"{error}."
            ) from error
        if (array < 0).any():
            check_negative(source, array)
        return array

    @cached_property
    def log_partition(self) -> float:
        """Natural log of the sum (integral) of the product over all variables."""
        nothing = Case({})
        return float(self._work(Mass(), nothing.pattern).run(nothing))

    def _log_normaliser(self) -> float:
        """Return the log of the partition function; refuse a product that is zero everywhere."""
        if self.log_partition == -np.inf:
            constants = [
                term.table for term in self.terms if not term.scope and term.table is not None
            ]
            zeros = sum(bool(np.isneginf(table.log_values).all()) for table in constants)
            raise ImpossibleEvidenceError(
                "The product of the factors is zero everywhere: it cannot be normalised."
                + (f" {zeros} of them, over no variable, are the constant 0." if zeros else "")
            )
        return self.log_partition

    @cached_property
    def graph(self) -> nx.Graph:
        """The bipartite graph of variables and factors.

        Nodes are ``("variable", name)`` and ``("factor", index)``.
        """
        scopes = [[v.name for v in term.scope] for term in self.terms]
        return graphs.bipartite_graph(self.names, scopes)

    def renamed(self, names: Mapping[Name, Name]) -> FactorGraph:
        """Return the graph with other names of some variables; see `Model.renamed`."""
        new = new_names(self, names)
        return FactorGraph(
            [_substituted(term.source, new) for term in self.terms],
            exponents=[term.exponent for term in self.terms],
            domain=self.domain,
        )

    # ----------------------------------------------------------------------- for the solvers

    def _links(
        self, target: Discrete, observed: Collection[Variable], soft: Collection[Variable]
    ) -> list[tuple[Variable, ...]]:
        """Return the scopes of all terms; see `Model._links`."""
        return [term.scope for term in self.terms]

    @property
    def arc_probabilities(self) -> dict[Arc, float]:
        """The arcs of the terms that are CPDs."""
        cpds = [term.source for term in self.terms if isinstance(term.source, CPD)]
        return {arc: 1.0 for cpd in cpds for arc in cpd.arcs()}

    def _addends(self, target: Discrete) -> list[Addend]:
        """Return the terms, each of which is of its child or of all its variables."""
        addends = []
        for term in self.terms:
            variables = tuple(v for v in term.scope if v != target)
            if isinstance(term.source, CPD) and term.source.variable != target:
                variables = (term.source.variable,)
            addends.append(Addend(variables, None, term))
        return addends

    def _slice(
        self,
        observed: Collection[Variable],
        partial: Sequence[Variable],
        soft: Collection[Discrete],
        keep: Sequence[Variable],
    ) -> GraphSlice:
        """Return the submodel relevant to a query, which is the product of all terms.

        No term can be left out, because a factor raised to an exponent does not sum to one; but
        densities of power 1 over children of no other term do, and a vector of counts without
        evidence is the empty document. For the same reason, every partially observed variable is
        summed out where it is missing. For the parameters see
        `BayesianNetwork._slice`.

        Raises
        ------
        UnsupportedModelError
            If another density has a child without evidence.
        """
        pieces = []
        # In how many terms each variable is; a target counts as one more.
        times = Counter(itertools.chain(keep, *(term.scope for term in self.terms)))
        for term in self.terms:
            pieces.append(term)
            if not isinstance(term.source, Plate):
                continue
            is_alone = all(times[child] == 1 for child in term.source.children)
            if is_alone and (term.source.is_document or (term.exponent == 1).all()):
                # The parts replace the term; only observed children stay: no free one is relevant.
                cpds = term.source.pieces((), observed)
                pieces[-1:] = [Term(cpd, term.exponent) for cpd in cpds]
            else:
                term.source.check_observed(observed)
        return GraphSlice(tuple(pieces), tuple(partial), frozenset(observed).difference(partial))

    @cached_property
    def _compiled_tables(self) -> CompiledTables | None:
        """The tables raised to their exponents, for compiled (Numba) variable elimination.

        The value is None unless all factors are tables.
        """
        factors = [term.table for term in self.terms if term.table is not None]
        if len(factors) < len(self.terms):
            return None
        variables = [v for v in self.variables if isinstance(v, Discrete)]
        scopes = [factor.scope for factor in factors]
        logs = [factor.log_values[0] for factor in factors]
        return CompiledTables(Tables.from_logs(variables, scopes, logs))

    def _table_names(self) -> list[int]:
        """Return the name of each table: the index of its factor."""
        return list(range(len(self.terms)))

    @property
    def factors(self) -> tuple[Source, ...]:
        """The factors and CPDs as they were given, without their exponents."""
        return tuple(term.source for term in self.terms)

    @property
    def _sources(self) -> tuple[Source, ...]:
        return self.factors

    def __eq__(self, other: object) -> bool:
        """Tell whether factors (in the same order), exponents and domain are equal."""
        return (
            isinstance(other, FactorGraph)
            and self.domain == other.domain
            and self.factors == other.factors
            and all(
                np.array_equal(a.exponent, b.exponent)
                for a, b in zip(self.terms, other.terms, strict=True)
            )
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        powered = sum(bool((term.exponent != 1).any()) for term in self.terms)
        return (
            f"FactorGraph with {len(self.variables)} variables and {len(self.terms)} factors, "
            f"{powered} of them with an exponent other than 1"
        )
