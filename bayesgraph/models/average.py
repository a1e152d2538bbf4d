"""Averages of the posteriors of several models with fixed weights."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesgraph.core.arrays import Floats, log_of
from bayesgraph.core.compilation import kernel
from bayesgraph.core.errors import ModelError, UnknownStateError, UnsupportedModelError, quoted
from bayesgraph.core.evidence import Arrangement, Evidence
from bayesgraph.core.variables import (
    Binned,
    Continuous,
    CountVector,
    Discrete,
    Grouped,
    Name,
    Variable,
    find_intervals,
)
from bayesgraph.inference import Case, Pattern, divided, normalised, prior_term, tempered
from bayesgraph.models.cpds.table import TableCPD
from bayesgraph.models.editing import new_names
from bayesgraph.models.evidence import OTHER, Between, Finding, intervals_within, read_values
from bayesgraph.models.mixture import Ensemble, checked_networks, checked_weights
from bayesgraph.models.model import Model
from bayesgraph.models.network import BayesianNetwork

# ---- Rows of an average in the encoding of one of its networks, by one kernel call for all columns


# A variable of the average, and that of the network with its name.
Pair: TypeAlias = tuple[Variable, Variable]

# From this number of rows on, intervals are found by comparison with each of a few cut points.
_MANY, _FEW_CUTS = 256, 64


@dataclass(frozen=True, eq=False)
class MemberRows:
    """Translation of rows in which certain variables of an average have columns.

    Attributes
    ----------
    vectors : sequence of (CountVector, CountVector)
        The vectors of counts of the average that the network has, with those of the network.
    discrete, continuous : tuple of Variable
        The average's variables of which states, and of which numbers are read.
    coded, numeric : tuple of Variable
        The network's variables that have states, and those that have numbers.
    kept : ndarray of int
        Index into `continuous` of each of `numeric`.
    binned : ndarray of bool
        Whether each of `coded` is an interval of a number.
    place : ndarray of int
        Index into `continuous`, or into `discrete`, of what each of `coded` is made of.
    ends : ndarray of int, shape (len(coded), 2)
        Where those of each of `coded` begin and end in the first or the second of `tables`.
    tables : tuple of two ndarrays
        The cut points of intervals; and the network's code of each of the average's codes, -1 for
        a state that it lacks.
    """

    vectors: Sequence[tuple[CountVector, CountVector]]
    discrete: tuple[Discrete, ...]
    continuous: tuple[Continuous, ...]
    coded: tuple[Discrete, ...]
    numeric: tuple[Continuous, ...]
    kept: NDArray[np.intp]
    binned: NDArray[np.bool_]
    place: NDArray[np.int64]
    ends: NDArray[np.int64]
    tables: tuple[Floats, NDArray[np.int64]]

    @classmethod
    def of(
        cls, pairs: Sequence[Pair], code_of: Callable[[Discrete, Variable, int], int | None]
    ) -> MemberRows:
        """Return the translation of columns of an average to the variables of a network.

        Parameters
        ----------
        pairs : sequence of (Variable, Variable)
            The average's variables that have columns, and the network's variables of their names.
        code_of : callable
            From a variable of the average, that of the network and a state code of the former to
            the code of the latter, or None.
        """
        discrete = tuple(whole for whole, _ in pairs if isinstance(whole, Discrete))
        continuous = tuple(whole for whole, _ in pairs if isinstance(whole, Continuous))
        at = {v: i for known in (discrete, continuous) for i, v in enumerate(known)}
        coded = [(whole, own) for whole, own in pairs if isinstance(own, Discrete)]
        cuts: list[float] = []
        states: list[int] = []
        ends: list[tuple[int, int]] = []
        for whole, own in coded:
            if isinstance(whole, Discrete):
                found = [code_of(whole, own, code) for code in range(whole.cardinality)]
                states += [-1 if code is None else code for code in found]
                ends.append((len(states) - len(found), len(states)))
            else:
                assert isinstance(own, Binned)  # no other number has states
                cuts += own.cuts
                ends.append((len(cuts) - len(own.cuts), len(cuts)))
        vectors = [
            (whole, own)
            for whole, own in pairs
            if isinstance(whole, CountVector) and isinstance(own, CountVector)
        ]
        return cls(
            vectors,
            discrete,
            continuous,
            tuple(own for _, own in coded),
            tuple(own for _, own in pairs if isinstance(own, Continuous)),
            np.array([at[w] for w, own in pairs if isinstance(own, Continuous)], dtype=np.intp),
            np.array([isinstance(whole, Continuous) for whole, _ in coded], dtype=np.bool_),
            np.array([at[whole] for whole, _ in coded], dtype=np.int64),
            np.array(ends, dtype=np.int64).reshape(-1, 2),
            (np.array(cuts, dtype=np.float64), np.array(states, dtype=np.int64)),
        )

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays."""
        return sum(table.nbytes for table in self.tables) + self.ends.nbytes + self.place.nbytes

    @cached_property
    def _arrangement(self) -> Arrangement:
        """Where the rows in the network's encoding have their columns."""
        return Arrangement((*self.numeric, *self.coded, *(own for _, own in self.vectors)))

    @cached_property
    def _knows_all(self) -> bool:
        """Whether the network has all states of the average's variables."""
        return not bool(np.any(self.tables[1] < 0))

    def translated(self, rows: Evidence, soft: Mapping[Discrete, Floats]) -> Evidence:
        """Return rows in the network's encoding, with the likelihoods `soft`, which are already."""
        values = _columns(rows, self.continuous)
        codes = np.empty((len(self.coded), rows.n_rows), dtype=self._arrangement.code_type)
        if self.coded:
            given = _columns(rows, self.discrete)
            translate(codes, given, values, self.binned, self.place, self.ends, *self.tables)
        numbers = values if len(self.kept) == len(values) else values[self.kept]
        counts: dict[CountVector, Any] = {}
        for whole, own in self.vectors:
            found = rows.columns[whole]
            same = own == whole
            counts[own] = found if same else found[:, [whole.positions[i] for i in own.items]]
        return Evidence.of_matrices(
            self._arrangement,
            codes.T,
            numbers.T,
            counts=counts,
            likelihoods=soft,
            complete=rows.complete and self._knows_all,
        )


def _columns(rows: Evidence, variables: tuple[Variable, ...]) -> NDArray[Any]:
    """Return columns of rows, contiguous, shape (n_variables, n_rows)."""
    if not variables:
        return np.empty((0, rows.n_rows))
    return np.ascontiguousarray(rows.matrix(variables).T)


def _work(codes: NDArray[Any], *_: Any) -> int:
    return codes.size


@kernel(work=_work)
def translate(
    codes: NDArray[Any],
    given: NDArray[Any],
    values: Floats,
    binned: NDArray[np.bool_],
    place: NDArray[np.int64],
    ends: NDArray[np.int64],
    cuts: Floats,
    states: NDArray[np.int64],
) -> None:
    """Write the codes of states and of intervals to `codes`, -1 where they are missing.

    Parameters
    ----------
    codes : ndarray of integers, shape (n_coded, n_rows)
    given : ndarray of integers, shape (n_discrete, n_rows)
        State codes of the average's variables, -1 where missing.
    values : ndarray, shape (n_continuous, n_rows)
        Numbers, NaN where missing.
    binned, place, ends, cuts, states
        See `MemberRows`, of which the last two are the tables.
    """
    n_rows = codes.shape[1]
    for k in range(len(codes)):
        first, last = ends[k]
        if not binned[k]:
            column = given[place[k]]
            for i in range(n_rows):
                code = int(column[i])
                codes[k, i] = states[first + code] if code >= 0 else -1
        elif n_rows >= _MANY and last - first <= _FEW_CUTS:
            codes[k] = find_intervals(cuts[first:last], values[place[k]])
        else:
            for i in range(n_rows):
                value = values[place[k], i]
                low, high = first, last
                while low < high:
                    middle = (low + high) // 2
                    if cuts[middle] < value:
                        low = middle + 1
                    else:
                        high = middle
                codes[k, i] = low - first if value == value else -1


# --------------------------------- Averages of the posteriors of several models with fixed weights


# Minimum exponent of evidence: with smaller ones probabilities that underflowed would matter.
_LEAST = 0.05


class PosteriorAverage(Ensemble):
    """An average of the posteriors of several models: sum_m w_m P_m(target | evidence).

    The weights do not depend on the evidence, as in bagging (Breiman 1996). The average defines no
    joint distribution: it has no probability of evidence, no most probable explanation of several
    variables and no samples; query one of its `networks` for these. (A `NetworkMixture` averages
    joint distributions, and its weights depend on the evidence.)

    Members may lack variables and states. A member uses the evidence on the variables it has. The
    posterior of a variable is averaged over the members that have the variable; a state that a
    member lacks has probability zero under the member. If the evidence is impossible under a
    member, its prior enters the average; evidence that is impossible under all members is refused.

    Parameters
    ----------
    networks : iterable of models
    weights : array_like, shape (number of networks,), optional
        Non-negative weights, which are divided by their sum. Equal by default.
    first : iterable of Variable, optional
        Variables that begin the attribute `variables`, in this order. Their states precede other
        states of the same variable in the members.
    prior_ratios : mapping from name to array_like, shape (n_states,), optional
        Ratio of a new to the old prior of each state of a discrete variable. The averaged posterior
        of the variable is multiplied by it and normalised: the prior shifts, and the distributions
        of all else given the variable stay (Saerens, Latinne, Decaestecker 2002). Posteriors of
        other variables alone, and the networks, stay too.
    exponents : mapping from name to array_like, shape (number of networks,), optional
        Exponents, at least 0.05, with which each network's evidence about a discrete variable
        counts: in the place of P_m(t | evidence) the average has what is proportional to P_m(t)
        (P_m(t | evidence) / P_m(t))^exponent. Exponents above 1 make posteriors more certain, such
        as those of random trees, which are not certain enough (scaling by a temperature: Guo,
        Pleiss, Sun, Weinberger 2017); without evidence the posterior stays the prior. 1 by default.
        In joint posteriors, the distributions of all else given the variable stay. What an
        intervention (`do`) changes is no evidence.

    Attributes
    ----------
    networks : tuple of models
    weights : ndarray, shape (number of networks,)
    prior_ratios : mapping from name to ndarray
    exponents : mapping from name to ndarray
    variables : tuple of Variable
        The variables of all members. A variable whose states differ among members has the states of
        all; a variable whose intervals differ is continuous. Its posterior is that of the longest
        intervals, if their cut points are in all members.

    Raises
    ------
    ModelError
        For no networks, invalid weights, ratios or exponents, or variables of one name and
        different kinds.

    Examples
    --------
    >>> import bayesgraph as bg
    >>> a, b = bg.Discrete("a", [0, 1]), bg.Discrete("b", [0, 1])
    >>> apart = bg.BayesianNetwork([bg.TableCPD(a, [0.5, 0.5]), bg.TableCPD(b, [0.5, 0.5])])
    >>> linked = bg.BayesianNetwork([
    ...     bg.TableCPD(a, [0.5, 0.5]), bg.TableCPD(b, [[1.0, 0.0], [0.0, 1.0]], parents=[a]),
    ... ])
    >>> PosteriorAverage([apart, linked], [1, 3]).query("b", {"a": 1})
    P(b)
      0  0.125000  ███
      1  0.875000  █████████████████████
    """

    form = "average"
    is_joint = False
    instead = (
        " It is no joint distribution: query one of its `networks`, or fit the classifier with "
        "n_trees=0 for a single network."
    )
    edited = " Change its `networks`, and average them: PosteriorAverage(networks, weights)."

    def __init__(
        self,
        networks: Iterable[Model],
        weights: ArrayLike | None = None,
        *,
        first: Iterable[Variable] = (),
        prior_ratios: Mapping[Name, ArrayLike] | None = None,
        exponents: Mapping[Name, ArrayLike] | None = None,
    ) -> None:
        self.networks = checked_networks("PosteriorAverage", networks, Model)
        self.weights = checked_weights(weights, len(self.networks))
        by_name: dict[Name, list[Variable]] = {v.name: [v] for v in first}
        for network in self.networks:
            for variable in network.variables:
                by_name.setdefault(variable.name, []).append(variable)
        self.variables = tuple(_joined(found) for found in by_name.values())
        self._by_name = {variable.name: variable for variable in self.variables}
        self.prior_ratios: dict[Name, Floats] = {
            name: _checked_ratio(self.variable(name), ratio)
            for name, ratio in _by_variable("prior_ratios", prior_ratios)
        }
        n = len(self.networks)
        self.exponents: dict[Name, Floats] = {
            name: _checked_exponents(self.variable(name), own, n)
            for name, own in _by_variable("exponents", exponents)
        }

    def with_networks(
        self, networks: Iterable[Model], first: Iterable[Variable] | None = None
    ) -> PosteriorAverage:
        """Return the average of other networks, one in the place of each.

        The weights, ratios and exponents stay.

        Parameters
        ----------
        networks : iterable of models
        first : iterable of Variable, optional
            See `PosteriorAverage`; those of this average by default.
        """
        return PosteriorAverage(
            networks,
            self.weights,
            first=self.variables if first is None else first,
            prior_ratios=self.prior_ratios,
            exponents=self.exponents,
        )

    # ----------------------------------------------------------------------- for the solver

    @cached_property
    def members(self) -> tuple[Member, ...]:
        """One `Member` for each network of positive weight; the solver queries these members."""
        own: Any = weakref.proxy(self)  # a weak reference avoids a cycle
        found: list[Member] = []
        for k, (network, weight) in enumerate(zip(self.networks, self.weights, strict=True)):
            exponents = {name: float(e[k]) for name, e in self.exponents.items() if e[k] != 1.0}
            if weight > 0:
                found.append(Member(own, network, float(weight), exponents))
        return tuple(found)

    def answered(self, target: int) -> Variable:
        """Return the variable of a posterior, given the index of a target variable.

        If intervals differ among members, it is the member's variable whose cut points all members
        have; otherwise the target itself.
        """
        variable = self.variables[target]
        members = [m for m in self.members if m.has(variable.name)]
        own = [m.network.variable(variable.name) for m in members]
        binned = [v for v in own if isinstance(v, Binned)]
        if isinstance(variable, Binned) or not binned or len(binned) < len(own):
            return variable
        coarsest = min(binned, key=lambda v: len(v.cuts))
        shared = all(set(coarsest.cuts) <= set(v.cuts) for v in binned)
        return coarsest if shared else variable

    def members_with(self, targets: Sequence[int]) -> list[Member]:
        """Return the members whose networks have all target variables.

        Parameters
        ----------
        targets : sequence of int
            Indices of the target variables in the average's `variables`.

        Raises
        ------
        UnsupportedModelError
            If there is no such member, or the intervals of a variable differ among members and do
            not divide those of one member.
        """
        for target in targets:
            variable = self.answered(target)
            for member in self.members:
                if member.has(variable.name):
                    _check_states(member.network.variable(variable.name), variable)
        names = [self.variables[target].name for target in targets]
        found = [m for m in self.members if all(m.has(name) for name in names)]
        if not found:
            raise UnsupportedModelError(
                f"No member of this average has all of {quoted(names)}; query one at a time."
            )
        return found

    def ratio_of(self, targets: Sequence[int]) -> Floats | None:
        """Return what the joint posterior of targets is multiplied by, or None if by nothing.

        Parameters
        ----------
        targets : sequence of int
            Indices of the target variables in `variables`.

        Raises
        ------
        UnsupportedModelError
            If one of them has a ratio or exponents, and another one is continuous; or if several
            have exponents.
        """
        chosen = [self.variables[target] for target in targets]
        moved = self.prior_ratios.keys() | self.exponents.keys()
        if not any(variable.name in moved for variable in chosen):
            return None
        for variable in chosen:
            if not isinstance(variable, Discrete):
                raise UnsupportedModelError(
                    "An average with a shifted prior or with exponents has no joint posterior with "
                    f"the continuous {variable.name!r}; query one at a time."
                )
        if len(tempered_ones := [v.name for v in chosen if v.name in self.exponents]) > 1:
            raise UnsupportedModelError(
                f"An average with exponents of {quoted(tempered_ones)} has no joint posterior of "
                "them: each exponent would change what the other one says; query one at a time."
            )
        if not any(variable.name in self.prior_ratios for variable in chosen):
            return None
        found = np.ones(())
        for variable in chosen:
            assert isinstance(variable, Discrete)  # as checked
            own = self.prior_ratios.get(variable.name, np.ones(variable.cardinality))
            found = np.multiply.outer(found, own)
        return found

    def do(self, values: Mapping[Name, Any]) -> PosteriorAverage:
        """Return the average of the networks after an intervention; see `Model.do`.

        As with evidence, a network without a variable takes no notice of its value. Exponents are
        of the evidence only: the prior is that after the intervention.

        Raises
        ------
        UnsupportedModelError
            If priors are shifted: by how much they are without the intervention is not known.
        """
        if self.prior_ratios:
            raise UnsupportedModelError(
                f"An average with a shifted prior, here of {quoted(self.prior_ratios)}, answers no "
                "interventions; query one without prior_ratios=."
            )
        chosen = read_values(self, values)
        known = [{n: chosen[n] for n in chosen if n in m.number} for m in self.networks]
        networks = [m.do(own) if own else m for m, own in zip(self.networks, known, strict=True)]
        left = {v.name for network in networks for v in network.variables}
        return self.with_networks(networks, [v for v in self.variables if v.name in left])

    def with_values_set(
        self, values: Mapping[Name, Any]
    ) -> tuple[PosteriorAverage, Mapping[Name, Any]]:
        """Return the average after an intervention, and the values of what is still in it.

        A network that rules out the evidence enters with its prior, in which the values have to be
        set: so they are more than evidence.
        """
        found = self.do(values)
        return found, {name: value for name, value in values.items() if name in found.number}

    def with_findings(self, findings: Mapping[Name, Finding]) -> PosteriorAverage:
        """Return the average with numbers replaced by states; see `Model.with_findings`.

        Where a network has intervals of a number, the states are those of a child of it, which has
        another name there.
        """
        return self.with_networks(
            [_with_findings(network, findings) for network in self.networks],
            [v for v in self.variables if v.name not in findings],
        )

    def renamed(self, names: Mapping[Name, Name]) -> PosteriorAverage:
        """Return the average with other names of some variables; see `Model.renamed`."""
        new = {old.name: found for old, found in new_names(self, names).items()}
        given = {old: found.name for old, found in new.items()}
        return PosteriorAverage(
            [
                network.renamed({a: b for a, b in given.items() if a in network.number})
                for network in self.networks
            ],
            self.weights,
            first=[new.get(v.name, v) for v in self.variables],
            prior_ratios={given.get(a, a): ratio for a, ratio in self.prior_ratios.items()},
            exponents={given.get(a, a): own for a, own in self.exponents.items()},
        )

    def check_beliefs(self, beliefs: Collection[Discrete]) -> None:
        """Refuse every `Belief`, because the weights of an average are fixed.

        Raises
        ------
        UnsupportedModelError
            Always.
        """
        raise UnsupportedModelError(
            f"A PosteriorAverage takes no Belief (got one about {quoted(v.name for v in beliefs)}):"
            " its weights are fixed. Give likelihoods, or query one of its `networks`."
        )

    def __eq__(self, other: object) -> bool:
        if not (isinstance(other, PosteriorAverage) and super().__eq__(other)):
            return False
        return _are_equal(self.prior_ratios, other.prior_ratios) and _are_equal(
            self.exponents, other.exponents
        )

    __hash__ = None

    def __repr__(self) -> str:
        return (
            f"PosteriorAverage of {len(self.networks)} networks over {len(self.variables)} "
            f"variables and {self.n_parameters} parameters"
        )


def _are_equal(one: Mapping[Name, Floats], two: Mapping[Name, Floats]) -> bool:
    return one.keys() == two.keys() and all(np.array_equal(one[name], two[name]) for name in one)


def _with_findings(network: Model, findings: Mapping[Name, Finding]) -> Model:
    """Return a network of an average with numbers, or intervals of them, replaced by states."""
    own = {name: found for name, found in findings.items() if name in network.number}
    binned = {name: v for name in own if isinstance(v := network.variable(name), Binned)}
    found = network
    if len(binned) < len(own):
        found = network.with_findings({n: own[n] for n in own if n not in binned})
    for name, variable in binned.items():
        bounds = own[name].bounds
        if bounds is None or not isinstance(found, BayesianNetwork):
            raise UnsupportedModelError(
                f"A {type(network).__name__} of this average has intervals of {name!r}, which take "
                "no likelihoods, and bounds only in a BayesianNetwork; give a value."
            )
        within = intervals_within(variable, bounds)
        inside = np.array([state in within for state in variable.states], dtype=np.float64)
        found = found.renamed({name: f"interval of {name}"})
        whole = found.variable(f"interval of {name}")
        assert isinstance(whole, Binned)
        table = np.stack([inside, 1.0 - inside], axis=-1)
        states = Discrete(name, [Between(*bounds), OTHER])
        found = found.with_cpd(TableCPD(states, table, [whole]))
    return found


class Member:
    """One network of an average; it translates the average's evidence and targets for the network.

    Attributes
    ----------
    network : Model
    weight : float
    exponents : mapping from name to float
        The exponents that are not 1.
    """

    def __init__(
        self,
        average: PosteriorAverage,
        network: Model,
        weight: float,
        exponents: Mapping[Name, float],
    ) -> None:
        self.network = network
        self.weight = weight
        self.exponents = exponents
        self._average = average
        # By target, what is needed for each row.
        self._prior_terms: dict[int, Floats] = {}
        self._answered: dict[int, tuple[int, NDArray[np.intp]] | tuple[()]] = {}

    @cached_property
    def _places(self) -> dict[int, int] | None:
        """Index in the network of each variable; None unless average and network have the same."""
        variables, own = self._average.variables, self.network.variables
        if set(variables) != set(own):
            return None
        return {at: self.network.number[v.name] for at, v in enumerate(variables)}

    @cached_property
    def _readers(self) -> dict[int, tuple[int, Callable[[Any], Any] | None]]:
        """For each shared variable of the average, index and encoding of its values here.

        The encoding is None where it is the same, and the result is None for a value that the
        network lacks.
        """
        found: dict[int, tuple[int, Callable[[Any], Any] | None]] = {}
        for place, whole in enumerate(self._average.variables):
            if self.has(whole.name):
                own = self.network.variable(whole.name)
                read: Callable[[Any], Any] | None = None
                if own != whole:
                    is_number = isinstance(whole, Continuous)
                    read = own.encode if is_number else partial(_translated, whole, own)
                found[place] = self.network.number[own.name], read
        return found

    def has(self, name: Name) -> bool:
        """Tell whether the network has a variable with this name."""
        return name in self.network.number

    def targets(self, targets: Sequence[int]) -> tuple[int, ...]:
        """Convert indices of target variables in the average to indices in the network."""
        variables, number = self._average.variables, self.network.number
        return tuple(number[variables[target].name] for target in targets)

    def case(self, case: Case) -> Case:
        """Convert one evidence assignment from the average's encoding to the network's.

        Variables that the network lacks are left out.
        """
        if self._places is not None:
            return case.renumbered(self._places)
        readers = self._readers
        hard: dict[int, Any] = {}
        for place, value in case.hard.items():
            if place in readers:
                own_place, read = readers[place]
                code = value if read is None else read(value)
                if code is not None:
                    hard[own_place] = code
        soft: dict[int, Floats] = {}
        for place, logs in case.soft.items():
            whole = self._average.variables[place]
            if self.has(whole.name):
                own = self.network.variable(whole.name)
                soft[self.network.number[own.name]] = logs[_positions(own, whole)]
        return Case(hard, soft, case.log_scale)

    def pattern(self, pattern: Pattern) -> Pattern:
        """Convert a set of observed variables from the average's indices to the network's.

        Variables that the network lacks are left out.
        """
        variables, number = self._average.variables, self.network.number

        def known(places: Sequence[int]) -> tuple[int, ...]:
            names = (variables[place].name for place in places)
            return tuple(sorted(number[name] for name in names if name in number))

        return Pattern(known(pattern.observed), known(pattern.soft), pattern.rows)

    def rows(self, rows: Evidence) -> Evidence:
        """Convert a batch of encoded rows from the average's encoding to the network's.

        Variables that the network lacks are left out.
        """
        if self._places is not None:
            return rows
        soft: dict[Discrete, Floats] = {}
        for whole, logs in rows.likelihoods.items():
            if self.has(whole.name):
                own = self.network.variable(whole.name)
                assert isinstance(own, Discrete)  # like the average's variable
                soft[own] = logs[:, _positions(own, whole)]
        wholes = tuple(rows.columns)
        key = "member rows", id(self.network), wholes
        found: MemberRows = self._average.memo.get(key, partial(self._translation, wholes))
        return found.translated(rows, soft)

    def _translation(self, wholes: tuple[Variable, ...]) -> MemberRows:
        """Return what translates rows in which some of the average's variables have columns."""
        known = [whole for whole in wholes if self.has(whole.name)]
        return MemberRows.of(
            [(whole, self.network.variable(whole.name)) for whole in known], _translated
        )

    def exponent(self, target: int) -> float:
        """Return the exponent of the network's evidence about a variable of the average."""
        return self.exponents.get(self._average.variables[target].name, 1.0)

    def shares(self, target: int, logs: Floats) -> Floats:
        """Turn log joint probabilities of a target's states into what the average takes, in place.

        That is the posterior, with the exponent of the network's evidence: (n_rows, n_states).
        """
        exponent = self.exponent(target)
        if exponent == 1.0:
            return normalised(logs)
        term = self._prior_terms.get(target)
        if term is None:
            name = self._average.variables[target].name
            prior = self.network.query(name).probabilities
            term = self._prior_terms[target] = prior_term(prior, exponent)
        return tempered(logs, exponent, term)

    def tempered(self, targets: Sequence[int], values: Floats) -> Floats:
        """Return a posterior with the exponents of the network's evidence about the targets.

        Parameters
        ----------
        targets : sequence of int
            Indices of the target variables in the average.
        values : ndarray
            Probabilities; the axes are the states of the targets in the network.
        """
        for axis, target in enumerate(targets):
            if self.exponent(target) != 1.0:
                others = tuple(other for other in range(len(targets)) if other != axis)
                own = values.sum(axis=others)
                new = self.shares(target, log_of(own[None]))[0]
                values = values * np.expand_dims(divided(new, own), others)
        return values

    def spread(self, targets: Sequence[int], values: Floats) -> Floats:
        """Convert probabilities of the network's target states to those of the states answered.

        Parameters
        ----------
        targets : sequence of int
            Indices of the target variables in the average.
        values : ndarray
            The last axes are the states of the targets in the network.
        """
        for axis, target in enumerate(targets, start=values.ndim - len(targets)):
            answered = self._answered.get(target)
            if answered is None:
                answered = self._answered[target] = self._places_answered(target)
            if answered:
                shape = list(values.shape)
                shape[axis], places = answered
                wide = np.zeros(shape)
                # Intervals of the network may be parts of one interval.
                np.add.at(np.moveaxis(wide, axis, 0), places, np.moveaxis(values, axis, 0))
                values = wide
        return values

    def _places_answered(self, target: int) -> tuple[int, NDArray[np.intp]] | tuple[()]:
        """Return the number of the states answered, and the place there of each of the network's.

        Nothing is returned if the states are the same.
        """
        whole = self._average.answered(target)
        own = self.network.variable(whole.name)
        if own == whole:
            return ()
        assert isinstance(whole, Discrete)  # checked before
        return whole.cardinality, _positions(own, whole)


def _by_variable(argument: str, given: Any) -> Iterable[tuple[Name, Any]]:
    """Return the names and values of an argument that maps variables, or raise a ModelError."""
    if given is None or isinstance(given, Mapping):
        return (given or {}).items()
    raise ModelError(
        f"{argument}= maps the name of a variable to numbers, such as {{'class': [1, 2]}}; got "
        f"{given!r:.200}."
    )


def _checked_exponents(variable: Variable, exponents: ArrayLike, n: int) -> Floats:
    """Return the exponent of each of n networks about a variable, or raise a ModelError."""
    if not isinstance(variable, Discrete):
        raise ModelError(f"Exponents are of evidence about discrete variables; got {variable!r}.")
    try:
        values = np.array(exponents, dtype=np.float64)
        good = values.shape == (n,) and bool((np.isfinite(values) & (values >= _LEAST)).all())
    except (TypeError, ValueError):
        good = False
    if not good:
        raise ModelError(
            f"The exponents of {variable.name!r} are finite numbers of at least {_LEAST}, one for "
            f"each of {n} networks; got {exponents!r:.200}."
        )
    values.flags.writeable = False
    return values


def _checked_ratio(variable: Variable, ratio: ArrayLike) -> Floats:
    """Return the ratio of priors of each state of a variable, or raise a ModelError."""
    if not isinstance(variable, Discrete):
        raise ModelError(f"Ratios of priors are of discrete variables; got {variable!r}.")
    try:
        values = np.array(ratio, dtype=np.float64)
        good = values.shape == (variable.cardinality,) and bool(values.any())
        good = good and bool((np.isfinite(values) & (values >= 0)).all())
    except (TypeError, ValueError):
        good = False
    if not good:
        raise ModelError(
            f"The ratios of priors of {variable.name!r} are finite numbers, one for each of "
            f"{quoted(variable.states)}, not negative and not all zero; got {ratio!r:.200}."
        )
    values.flags.writeable = False
    return values


def _joined(variables: Sequence[Variable]) -> Variable:
    """Return the union of the members' variables of one name: a variable with all their values."""
    first, *others = dict.fromkeys(variables)
    if not others:
        return first
    name, found = first.name, [first, *others]
    if all(isinstance(v, Binned | Continuous) for v in found):
        return Continuous(name)
    if all(isinstance(v, CountVector) for v in found):
        items = dict.fromkeys(i for v in found if isinstance(v, CountVector) for i in v.items)
        return CountVector(name, list(items))
    if all(isinstance(v, Discrete) and not isinstance(v, Binned) for v in found):
        states = [s for v in found if isinstance(v, Discrete) for s in _values(v)]
        # Keyed by type too, because 1 and True may be two states.
        return Discrete(name, list({(type(s), s): s for s in states}.values()))
    raise ModelError(
        f"The members of an average have variables {name!r} of different kinds: "
        f"{quoted(type(v).__name__ for v in found)}."
    )


def _values(variable: Discrete) -> Sequence[Any]:
    if isinstance(variable, Grouped):
        return [value for group in variable.groups for value in group]
    return variable.states


def _check_states(own: Variable, whole: Variable) -> None:
    """Check that a member discretises a variable as the average does.

    Parameters
    ----------
    own, whole : Variable
        The variable in the member and in the average.

    Raises
    ------
    UnsupportedModelError
        If `own` is binned or grouped, and `whole` has other intervals or groups that are no unions
        of intervals of `own`.
    """
    if isinstance(own, Binned) and isinstance(whole, Binned) and set(whole.cuts) <= set(own.cuts):
        return
    if own != whole and isinstance(own, Binned | Grouped):
        raise UnsupportedModelError(
            f"The members of this average have different intervals (or groups) of {whole.name!r}, "
            "so that there is no posterior of it to average, nor likelihoods of its states; give "
            "its value, or query one of its `networks`."
        )


def _positions(own: Variable, whole: Variable) -> NDArray[np.intp]:
    """Map each state of a member's variable `own` to its index in the average's `whole`."""
    _check_states(own, whole)
    assert isinstance(own, Discrete)  # no others have states
    assert isinstance(whole, Discrete)  # a variable with states in all members
    if isinstance(own, Binned) and isinstance(whole, Binned):
        return whole.codes_of(own)
    return np.array([whole.index(state) for state in own.states], dtype=np.intp)


def _translated(whole: Variable, own: Variable, value: Any) -> Any:
    """Convert a value from the encoding in the average to the encoding in a member.

    Parameters
    ----------
    whole, own : Variable
        The variable of the average and the variable of the member.
    value : state code, number or counts

    Returns
    -------
    state code, number, counts or None
        None if the member does not have the value.
    """
    if own == whole:
        return value
    try:
        if isinstance(whole, CountVector):
            assert isinstance(own, CountVector)  # they were joined
            return np.asarray(value)[[whole.positions[item] for item in own.items]]
        return own.encode(whole.states[int(value)] if isinstance(whole, Discrete) else value)
    except UnknownStateError:
        return None
