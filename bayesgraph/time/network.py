"""Temporal networks: a template of slices, and the questions that it answers about sequences."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Literal, Unpack

import numpy as np
from numpy.typing import NDArray

from bayesgraph.core.arrays import LOG_2PI, Floats, log_of, whole_number
from bayesgraph.core.errors import (
    DataError,
    EvidenceError,
    ImpossibleEvidenceError,
    ImpossibleEvidenceWarning,
    ModelError,
    UnsupportedModelError,
    quoted,
    suggestion,
    warn,
)
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.parallel import default_memory_limit
from bayesgraph.core.typing import EvidenceLike, Intervention, RandomState, TableLike
from bayesgraph.core.upward import Upward
from bayesgraph.core.variables import (
    Continuous,
    CountVector,
    Discrete,
    Name,
    Variable,
    is_missing,
)
from bayesgraph.inference import (
    Course,
    GaussianComponents,
    NumberMixture,
    Posterior,
    most_probable,
    summed_to,
)
from bayesgraph.learning import Iterations
from bayesgraph.models import (
    CPD,
    Answering,
    BayesianNetwork,
    GaussianCPD,
    as_mapping,
    check_no_belief,
    impossible,
    is_soft,
    read_case,
    read_values,
    substituted,
    with_findings,
)
from bayesgraph.statistics import SmoothingLike
from bayesgraph.tables import columns_of, to_frame
from bayesgraph.time.chains import Chain, NumberChain, Part, Sequences
from bayesgraph.time.learning import expected_statistics, fit_temporal
from bayesgraph.time.rows import LongRows, RowOptions, read_rows
from bayesgraph.time.slices import Given, Program, States, before, lag, now, renamed, slice_logs


class TemporalNetwork(Answering):
    """A Bayesian network that repeats itself from slice to slice (a dynamic Bayesian network).

    Parameters
    ----------
    first : iterable of CPD, or list of iterables
        The CPDs of the first slice; of a network with arcs from k slices before, a list of those of
        the first k slices.
    later : iterable of CPD
        The CPDs of all later slices, whose parents may be of earlier ones, see
        :func:`bayesgraph.before`. Variables that are left out keep the CPD that they have in the
        slice before.
    static : iterable of CPD
        Those of variables that have one value for the whole sequence. They may be parents in all
        slices, and have no parents there.

    Attributes
    ----------
    variables : tuple of Variable
        Static ones first, then those of a slice.
    static : tuple of CPD
    slices : tuple of tuples of CPD
        Those of the first slices, and last of all later ones.
    order : int
        The number of slices back that arcs reach.

    Raises
    ------
    ModelError
        For a parent that no slice has, or arcs that reach back before the first slice.

    Examples
    --------
    >>> import bayesgraph as bg
    >>> mood, act = bg.Discrete("mood", ["low", "high"]), bg.Discrete("act", ["walk", "stay"])
    >>> model = TemporalNetwork(
    ...     [
    ...         bg.TableCPD(mood, [0.5, 0.5]),
    ...         bg.TableCPD(act, [[0.2, 0.8], [0.7, 0.3]], parents=[mood]),
    ...     ],
    ...     [bg.TableCPD(mood, [[0.9, 0.1], [0.3, 0.7]], parents=[bg.before(mood)])],
    ... )
    >>> model.smooth({"act": ["walk", None, "stay"]}, "mood").round(4)
    array([[0.2759, 0.7241],
           [0.5603, 0.4397],
           [0.7724, 0.2276]])
    """

    def __init__(
        self, first: Iterable[Any], later: Iterable[CPD] = (), *, static: Iterable[CPD] = ()
    ) -> None:
        self.training: Any = None
        # The families, their counts and the smoothing, if fit has counted.
        self._counted: Any = None
        self.static = tuple(_singles("static=", static).values())
        # `first` is one slice, or a list of lists, of the first slices.
        several = isinstance(first, (list, tuple)) and {*map(type, first)} & {list, tuple}
        named: list[tuple[str, Any]] = [("first=", x) for x in (first if several else [first])]
        # A variable that a slice leaves out keeps the CPD of the slice before.
        slices: list[dict[Variable, CPD]] = []
        for what, cpds in [*named, ("later=", later)]:
            slices.append((slices[-1] if slices else {}) | _singles(what, cpds))
            if not slices[0]:
                raise ModelError("first= has no CPDs; a network has one variable or more.")
            if slices[0].keys() != slices[-1].keys():
                new = quoted(v.name for v in slices[-1] if v not in slices[0])
                raise ModelError(f"The first slice needs a CPD of each variable; it lacks {new}.")
        self.slices = tuple([tuple(each.values()) for each in slices])
        if self.static:
            BayesianNetwork(self.static)  # refuses parents that are not static
        # The static variables.
        self._fixed = frozenset(cpd.variable for cpd in self.static)
        self.variables = (*(cpd.variable for cpd in self.static), *slices[0])
        self._by_name = {v.name: v for v in self.variables}
        # For each variable that is a parent in later slices, the most slices that it is back.
        self._depths: dict[Variable, int] = {}
        for number, each in enumerate(slices):
            for parent in [p for cpd in each.values() for p in cpd.parents if lag(p)[1]]:
                variable, steps = now(parent), lag(parent)[1]
                if variable not in each:
                    near = suggestion(variable.name, self._by_name)
                    raise ModelError(
                        f"No slice has {variable!r}, the parent {parent.name!r}.{near}"
                    )
                if steps > number:
                    raise ModelError(
                        f"The parent {parent.name!r} is before the first slice: give the CPDs of "
                        f"the first {steps} slices, first=[[...], ...], with parents there."
                    )
                self._depths[variable] = max(self._depths.get(variable, 0), steps)
        self.order = max(self._depths.values(), default=0)
        # One network for each of the first slices, and last that of all later ones.
        self._networks = tuple([self._network(number) for number in range(len(slices))])

    def _network(self, number: int) -> BayesianNetwork:
        """Return the network of a slice, conditional on those before and on static variables."""
        # The first slice, number 0, decides the static variables.
        blocks: list[CPD] = [Given(c.variable) if number else c for c in self.static]
        for variable, depth in self._depths.items():
            blocks += [Given(before(variable, n)) for n in range(1, min(depth, number) + 1)]
        return BayesianNetwork([*blocks, *self.slices[number]])

    @cached_property
    def _handed(self) -> tuple[tuple[Variable, Variable], ...]:
        """What a slice hands on, as it calls it and as the next one does."""
        handed = [(cpd.variable, cpd.variable) for cpd in self.static]
        # x is "x (1 before)" to the next slice, and "x (1 before)" is "x (2 before)" to it.
        for variable, depth in self._depths.items():
            handed += pairwise([variable, *(before(variable, n) for n in range(1, depth + 1))])
        return tuple(handed)

    @property
    def cpds(self) -> tuple[CPD, ...]:
        """All CPDs, those that slices share once."""
        cpds = {id(cpd): cpd for cpds in (self.static, *self.slices) for cpd in cpds}
        return tuple(cpds.values())

    save = Upward()
    render = Upward()

    @property
    def _drawn(self) -> tuple[object, dict[str, Any]]:
        """The later slices with what they take from those before, for pictures."""
        return self._networks[-1], {}

    @classmethod
    def fit(
        cls,
        arcs: Iterable[tuple[Any, Any]] | TemporalNetwork,
        rows: TableLike,
        *,
        hidden: Mapping[Name, Any] = MappingProxyType({}),
        static: Iterable[Name] = (),
        variables: Iterable[Variable] = (),
        categorical: Iterable[Name] | Literal["all"] | None = None,
        smoothing: SmoothingLike = "dirichlet",
        restarts: int = 1,
        max_iter: int = 1000,
        tol: float = 1e-6,
        random_state: RandomState = 0,
        **options: Unpack[RowOptions],
    ) -> TemporalNetwork:
        """Estimate the parameters of a template from a long table.

        Counts give them where all is observed, and EM where discrete variables are hidden or
        missing (of a hidden Markov model it is Baum and Welch's). Distributions are the same in
        all slices. In the first slices, where a parent of an earlier slice does not exist, the
        variable has a distribution of its own given the remaining parents.

        Parameters
        ----------
        arcs : iterable of (parent, child), or TemporalNetwork
            Names; a parent may be of an earlier slice, ``bg.before("mood")``. Of a network they are
            its arcs and variables, of which those that the table lacks are hidden; other arguments
            have precedence.
        rows, **options
            As in `log_likelihood`. All columns but those of id and time are variables.
        hidden : mapping from name to int, list of states or Discrete
            Variables that the table lacks.
        static : iterable of names
            Columns with one value for each sequence.
        variables, categorical, smoothing, restarts, max_iter, tol, random_state
            As in :meth:`bayesgraph.BayesianNetwork.fit`.

        Returns
        -------
        TemporalNetwork
            Its ``training.history`` is the course of EM.

        Examples
        --------
        >>> import bayesgraph as bg
        >>> rows = {"who": [1] * 4 + [2] * 3, "act": list("wwss") + list("wss")}
        >>> model = TemporalNetwork.fit([(bg.before("act"), "act")], rows, id="who")
        >>> model.forecast(rows, "act", id="who").round(2).tolist()
        [[[0.75, 0.25]], [[0.75, 0.25]]]
        """
        fixed = [static] if isinstance(static, str) else [*static]
        declared, unobserved = [*variables], dict(hidden)
        if isinstance(arcs, TemporalNetwork):
            template, columns = arcs, columns_of(rows)
            named = {v.name for v in declared} | unobserved.keys()
            others = [v for v in template.variables if v.name not in named]
            declared += [v for v in others if v.name in columns]
            unobserved |= {v.name: v for v in others if v.name not in columns}
            fixed += [v.name for v in template._fixed]
            # The last slice of the template has all arcs, also those from the slices before.
            cpds = (*template.static, *template.slices[-1])
            arcs = [(p.name, c.variable.name) for c in cpds for p in c.parents]
        how = Iterations(restarts, max_iter, tol, random_state)
        settings = unobserved, fixed, declared, categorical, smoothing, how, options
        fitted: TemporalNetwork = fit_temporal(cls, arcs, rows, *settings)
        return fitted

    def partial_fit(self, rows: TableLike, **options: Unpack[RowOptions]) -> TemporalNetwork:
        """Return the network that more sequences give with those of `fit`; this one stays as it is.

        Their counts are added up. They have values of all variables that others depend on, and no
        other states.

        Parameters
        ----------
        rows, **options
            As in `log_likelihood`.

        Raises
        ------
        DataError
            If such a value is missing here, or was hidden or missing in the rows that `fit` took,
            or if the network was read from a file.
        """
        if self._counted is None:
            raise DataError(
                "partial_fit adds to the counts that fit has made of rows without hidden or "
                "missing variables above others; this network has none. Fit all rows together."
            )
        template, sums, smoothing = self._counted
        chain = Chain(self._sequences(*read_rows(self, rows, options).extended(0, self._fixed)))
        more, is_whole = expected_statistics(chain, template.families)
        if not is_whole:
            raise DataError(
                "partial_fit adds up counts, and a variable that others depend on is missing in "
                "some slice. Fit all rows together, by EM."
            )
        whole = {family: sums[family] + more[family] for family in sums}
        network: TemporalNetwork = template.counted(whole, smoothing)
        network.training = self.training
        return network

    # --------------------------------------------------------------------------------- sequences

    def _sequences(
        self,
        starts: NDArray[np.int64],
        columns: Mapping[Variable, NDArray[Any]],
        soft: Mapping[Discrete, Floats] | None = None,
        others: Mapping[int, tuple[BayesianNetwork, Mapping[Variable, Any]]] | None = None,
        *,
        past: tuple[int, Any, Mapping[Variable, Floats]] | None = None,
    ) -> Sequences:
        """Return sequences with evidence; a row is a slice, those of a sequence follow each other.

        Parameters
        ----------
        starts : ndarray, shape (n_sequences + 1,)
            The first row of each sequence, and the number of rows.
        columns : mapping from variable to ndarray, shape (n_rows,)
        soft : mapping from variable to log likelihoods, shape (n_rows, n_states)
        others : mapping from row to (network, values), optional
            Networks in place of the slice's own, with values of variables that only they have.
        past : (int, tuple of pairs, mapping), optional
            Number of slices before the only sequence, what they hand on, and columns of the numbers
            that they observed, as its slices call these.
        """
        n, soft, others = int(starts[-1]), soft or {}, others or {}
        n_before, handed, lagged = past or (0, self._handed, {})
        table = Evidence(n, columns)
        # What every slice observes need not be handed on: it is evidence on the next slice too.
        full = {v for v in columns if v in self._fixed or v in self._depths}
        full = {v for v in full if table.observed_rows(v).all()}
        # Networks of `others` have other variables in the place of these.
        full -= {self._by_name[v.name] for _, values in others.values() for v in values}
        # Behind earlier slices, the message to the sequence is about all that they hand on.
        if past is None:
            handed = tuple([pair for pair in handed if now(pair[0]) not in full])
        are_numbers = all(isinstance(v, Continuous) for v, _ in handed)
        # The number of each slice within its sequence.
        place, columns = (
            np.arange(n) - np.repeat(starts[:-1], np.diff(starts)),
            {**lagged, **columns},
        )
        # Evidence on earlier slices: of states that are handed on, the messages have it; of numbers
        # both slices take it, also where only some observe them. The value k slices back is of the
        # same sequence if k slices precede.
        for v, depth in self._depths.items():
            missing: Any = -1 if isinstance(v, Discrete) else np.nan
            for k in range(1, depth + 1) if v in (table if are_numbers else full) else ():
                earlier = columns.get(before(v, k), missing)
                columns[before(v, k)] = np.where(place < k, earlier, np.roll(columns[v], k))
        # The index of each slice's network; -1 for one of its own.
        number = np.minimum(place + n_before, len(self.slices) - 1)
        number[list(others)] = -1
        kinds: list[tuple[Any, Any, Any]] = [
            (np.flatnonzero(number == k), network, {}) for k, network in enumerate(self._networks)
        ]
        for row, (network, values) in others.items():
            special = {v: np.array([x]) for v, x in values.items()}
            kinds.append((np.array([row]), network, special))
        parts = []
        for rows, network, special in kinds:
            if len(rows):
                shown = {v: column[rows] for v, column in columns.items() if v in network}
                # Log likelihoods that are all 0 are no evidence.
                judged = {v: x[rows] for v, x in soft.items() if v in network and x[rows].any()}
                evidence = Evidence(len(rows), shown | special, judged).split()[0]
                parts.append(Part(rows, network, evidence, place[rows[0]] + n_before == 0))
        return Sequences(starts, parts, handed)

    def _chain(self, sequences: Sequences, first: Any = None) -> Any:
        """Return sequences with the messages of their slices, the first of which may be given."""
        kinds = {isinstance(now, Continuous) for now, _ in sequences.handed}
        kind = NumberChain if kinds == {True} else Chain
        return kind(sequences, first)

    def _read(self, rows: TableLike, options: Any, ahead: int = 0) -> tuple[LongRows, Any]:
        """Return a long table and its chain, with empty slices behind each sequence."""
        long = read_rows(self, rows, options)
        return long, self._chain(self._sequences(*long.extended(ahead, self._fixed)))

    # ------------------------------------------------------------------------- questions of rows

    def log_likelihood(self, rows: TableLike, **options: Unpack[RowOptions]) -> Floats:
        """Return the log likelihood (density) of each sequence of a long table.

        Parameters
        ----------
        rows : pandas, polars or pyarrow table, or mapping from name to column
            A row is a slice of a sequence. Missing values are summed out; columns that are not
            variables of the model are ignored.
        id : name, optional
            Column that says which sequence a row is of; by default all rows are one.
        time : name, optional
            Column of numbers or dates, which ascends in each sequence. Slices without a row are
            slices without evidence. By default each row is the slice after that of the row before.
        step : number, timedelta or text, optional
            Time from slice to slice, such as 1 or "1d". Not needed where all are equal.
        unseen : {"error", "missing", "warn"}
            What a value becomes that is not a state.
        memory_limit : float, optional
            Bytes that the messages of `smooth`, `filter` and `forecast` may take; by default half
            of the machine's memory. With less, slices are worked through in pieces; `smooth` does
            so twice.

        Returns
        -------
        ndarray, shape (n_sequences,)
            In the order in which the sequences begin.
        """
        logs: Floats = self._read(rows, options)[1].log_likelihood
        return logs

    def smooth(self, rows: TableLike, target: Name, **options: Unpack[RowOptions]) -> Floats:
        """Return the posterior of a variable in each row given all rows of its sequence.

        Parameters
        ----------
        rows, **options
            As in `log_likelihood`.
        target : name

        Returns
        -------
        ndarray, shape (n_rows, n_states), or (n_rows, 2) for a number
            Probabilities; mean and variance of a number. Where it is observed it has its value.
            Sequences of probability zero get the distribution without evidence, with a warning.
            ``bayesgraph.plot(result, sequence=id)`` draws one of them.
        """
        return self._marginals(rows, target, options, smooth=True)

    def filter(self, rows: TableLike, target: Name, **options: Unpack[RowOptions]) -> Floats:
        """Return the posterior of a variable in each row given the rows up to this one.

        Parameters and result are those of `smooth`.
        """
        return self._marginals(rows, target, options)

    def forecast(
        self, rows: TableLike, target: Name, steps: int = 1, **options: Unpack[RowOptions]
    ) -> Floats:
        """Return the distribution of a variable in the slices after the last row of each sequence.

        Parameters
        ----------
        rows, **options
            As in `log_likelihood`.
        target : name
        steps : int
            Number of slices ahead.

        Returns
        -------
        ndarray, shape (n_sequences, steps, n_states), or (n_sequences, steps, 2) for a number
        """
        return self._marginals(rows, target, options, whole_number("steps", "slices", steps, 1))

    def _marginals(
        self, rows: TableLike, target: Name, options: Any, ahead: int = 0, *, smooth: bool = False
    ) -> Floats:
        """Return posteriors in the rows, or ahead; without evidence where it is impossible."""
        variable, (long, chain) = self._target(target), self._read(rows, options, ahead)
        limit, starts = options.get("memory_limit"), chain.sequences.starts
        limit = default_memory_limit() if limit is None else limit
        out, logs = chain.marginals(variable, limit, smooth=smooth)
        if len(bad := np.flatnonzero(np.isneginf(logs))):
            warn(
                f"{len(bad)} of {len(starts) - 1} sequences have probability zero under the model; "
                f"they get the distribution of {variable.name!r} without evidence.",
                ImpossibleEvidenceWarning,
            )
            # The distributions of the longest such sequence begin with those of all others.
            longest = np.array([0, np.diff(starts)[bad].max()])
            prior = self._chain(self._sequences(longest, {})).marginal(variable, smooth=False)
            for s in bad:
                out[starts[s] : starts[s + 1]] = prior[: starts[s + 1] - starts[s]]
        # The last slices of each sequence, shape (n_sequences, ahead), or those of the rows.
        place = starts[1:, None] - ahead + np.arange(ahead) if ahead else long.place
        course: Course = out[place].view(Course)
        course.variable, course.ids, course.starts, course.place = variable, long.ids, starts, place
        return course

    def most_probable(
        self, rows: TableLike, *, frame: str | None = None, **options: Unpack[RowOptions]
    ) -> Any:
        """Return the most probable states of all unobserved discrete variables together (Viterbi).

        They may differ from the most probable state of each slice, which `smooth` gives. Numbers
        are integrated out.

        Parameters
        ----------
        rows, **options
            As in `log_likelihood`.
        frame : {"pandas", "polars", "pyarrow", "dict"}, optional
            The type of table; by default the first of these libraries that is installed.

        Returns
        -------
        table of the rows' discrete variables
            Those of the model with observed states as they were given.
        """
        long, chain = self._read(rows, options)
        values, logs = self._best(chain)
        if np.isneginf(logs).any():
            raise ImpossibleEvidenceError(
                f"Sequence {long.ids[int(np.argmin(logs))]!r} has probability zero under the model."
            )
        discrete = [v for v in self.variables if isinstance(v, Discrete)]
        return to_frame(discrete, {v: values[v][long.place] for v in discrete}, frame)

    def _best(self, chain: Any) -> tuple[dict[Variable, NDArray[Any]], Floats]:
        """Return the most probable codes of all discrete variables, and their log probabilities."""
        if not isinstance(chain, Chain):
            raise UnsupportedModelError(
                "most_probable is of discrete variables; slices hand on numbers. Their most "
                "probable values together are the means of smooth."
            )
        path, logs = chain.best()
        out: dict[Variable, NDArray[Any]] = {
            v: np.full(chain.n_rows, -1) for v in self.variables if isinstance(v, Discrete)
        }
        for part in chain.sequences.parts:
            columns = dict(part.evidence.columns)
            # The path has what these slices hand on, and what those before them do.
            sides = [(chain.now, part.rows), (chain.past, part.rows - 1)]
            for side, rows in sides[: 1 if part.is_first else 2]:
                codes = zip(side, chain.states.codes[:, path[rows]], strict=True)
                columns |= {v: code for v, code in codes if v in part.network}
            shown = Evidence(len(part.rows), columns, chain.open(part).likelihoods)
            # All other discrete variables follow from the path, slice by slice: their codes by
            # variable are the first result of `most_probable`.
            discrete = [v for v in part.network.variables if isinstance(v, Discrete)]
            free = [v for v in discrete if v not in columns or (columns[v] < 0).any()]
            best = most_probable(part.network, free, shown, joint=False)[0] if free else {}
            # The code -1 marks what is neither observed nor on the path.
            for v, whole in out.items():
                column = columns.get(v, np.array(-1))
                whole[part.rows] = np.where(column < 0, best.get(v, -1), column)
        return out, logs

    # ----------------------------------------------------------------------- questions of one case

    def query(
        self,
        target: Name,
        at: int,
        evidence: Mapping[int, Any] | None = None,
        *,
        do: Mapping[int, Mapping[Name, Any]] | None = None,
    ) -> Any:
        """Return the posterior of a variable in a slice, given evidence in any slices.

        Parameters
        ----------
        target : name
        at : int
            Number of the slice, from 0.
        evidence : mapping from number of a slice to evidence, optional
            The evidence of a slice is as for :meth:`bayesgraph.BayesianNetwork.query`: states,
            numbers, likelihoods of states, intervals of numbers without children.
        do : mapping from number of a slice to values, optional
            Variables that are set from outside in a slice, whatever their parents.

        Returns
        -------
        Posterior, or NumberMixture for a number

        Raises
        ------
        ImpossibleEvidenceError
            If the evidence has probability zero.

        Examples
        --------
        >>> import bayesgraph as bg
        >>> mood = bg.Discrete("mood", ["low", "high"])
        >>> stay = bg.TableCPD(mood, [[0.9, 0.1], [0.3, 0.7]], parents=[bg.before(mood)])
        >>> model = TemporalNetwork([bg.TableCPD(mood, [0.5, 0.5])], [stay])
        >>> model.query("mood", at=2, evidence={0: {"mood": "low"}})
        P(mood)
          low   0.840000  ████████████████████
          high  0.160000  ████
        """
        variable, number = self._target(target), whole_number("at", "slices", at, 0)
        observed, settings = _by_slice("evidence", evidence), _by_slice("do", do)
        n = max([number, *observed, *settings]) + 1
        chain = self._chain(self._one_sequence(n, observed, settings))
        log_evidence = float(chain.log_likelihood[0])
        if log_evidence == -np.inf:
            raise impossible(evidence)
        entered = {**observed.get(number, {}), **settings.get(number, {})}
        self._check_unobserved(variable, entered, number)
        return answer(variable, chain.marginal(variable, smooth=True)[number], log_evidence)

    def _check_unobserved(
        self, variable: Variable, entered: Mapping[Name, Any], number: int
    ) -> None:
        """Raise an EvidenceError if a target is observed or set in its slice, of this number."""
        values = [x for k, x in entered.items() if self.variable(k) == variable]
        if any(not is_soft(x) and not is_missing(x) for x in values):
            raise EvidenceError(
                f"{variable.name!r} is both the target and observed or set in slice {number}."
            )

    def _by_name_of(self, evidence: EvidenceLike) -> dict[Name, Any]:
        """Return the evidence of a slice by names; an EvidenceError if one is there twice."""
        findings = as_mapping(evidence)
        entered = {self.variable(key).name: value for key, value in findings.items()}
        if len(entered) < len(findings):
            twice = [name for name in entered if {name, self.variable(name)} <= findings.keys()]
            raise EvidenceError(f"The evidence names {quoted(twice)} more than once.")
        return entered

    def _one_sequence(
        self,
        n: int,
        observed: Mapping[int, Mapping[Name, Any]],
        settings: Mapping[int, Mapping[Name, Any]],
        past: tuple[int, Any, Mapping[Variable, Floats]] | None = None,
    ) -> Sequences:
        """Return one sequence of n slices with evidence and interventions by slice.

        The arguments `observed` and `settings` have what is observed and what is set, by number of
        the slice; for `past` see `_sequences`.
        """
        columns: dict[Variable, NDArray[Any]] = {}
        soft: dict[Discrete, Floats] = {}
        others: dict[int, tuple[Any, dict[Variable, Any]]] = {}
        n_before = past[0] if past else 0
        for t in sorted({*observed, *settings}):
            entered = self._by_name_of(observed.get(t))
            check_no_belief(entered)
            network: Any = self._networks[min(t + n_before, len(self.slices) - 1)]
            asked = network
            if t in settings:
                values = read_values(self, settings[t])
                if both := [name for name in values if name in entered]:
                    raise EvidenceError(f"{quoted(both)} is both set by do= and observed.")
                if fixed := [v.name for v in self._fixed if v.name in values]:
                    raise EvidenceError(
                        f"{quoted(fixed)} has one value in all slices, not one here."
                    )
                asked = network.with_cpd(*[Given(self.variable(name)) for name in values])
                # Being set does not tell whether a value was missing, as in `models.model.under`.
                names = network.names
                gaps = {names[i]: None for at, i in network._indicators if names[at] in values}
                entered = {**gaps, **entered, **values}
            # Findings on numbers replace these by variables that only this slice's network has.
            asked, states = with_findings(asked, entered)
            changed = () if asked is network else network.variables
            replaced = [v for v in changed if asked._by_name[v.name] != v]
            cpds = [cpd for each in self.slices for cpd in each if replaced]
            static = self._fixed & {p for cpd in cpds for p in cpd.parents}
            if above := [v.name for v in replaced if v in self._depths or v in static]:
                raise UnsupportedModelError(
                    f"{quoted(above)} has children in later slices, which take its value: an "
                    "interval or likelihoods of it have no exact answer."
                )
            case, special = read_case(asked, states), {}
            for index, value in case.hard.items():
                variable = asked.variables[index]
                if self._by_name[variable.name] != variable:
                    special[variable] = value
                    continue
                missing = -1 if isinstance(variable, Discrete) else np.nan
                empty: Any = np.full((n, *np.shape(value)), missing)
                column = columns.setdefault(variable, empty)
                # The first entry of a static variable stands for all: -1 or NaN if it has no value.
                is_empty = np.all((column[0] == missing) | (column[0] != column[0]))
                is_same = is_empty or np.array_equal(column[0], value)
                if variable in self._fixed and t and not is_same:
                    raise EvidenceError(
                        f"{variable.name!r} has one value in all slices; got two, the second in "
                        f"slice {t}."
                    )
                column[slice(None) if variable in self._fixed else t] = value
            for index, logs in case.soft.items():
                judged: Any = asked.variables[index]
                if self._by_name[judged.name] != judged:
                    raise UnsupportedModelError(f"{judged.name!r} takes a value or an interval.")
                soft.setdefault(judged, np.zeros((n, len(logs))))[t] = logs
            if asked is not network:
                others[t] = asked, special
        return self._sequences(np.array([0, n]), columns, soft, others, past=past)

    def start(self) -> Stream:
        """Return a state that takes evidence slice by slice, in constant memory."""
        return Stream(self)

    def _target(self, name: Name) -> Variable:
        """Return the variable of a name; raise an error for a vector of counts."""
        variable = self.variable(name)
        if isinstance(variable, CountVector):
            raise UnsupportedModelError(f"{variable.name!r} is a vector of counts, no target.")
        return variable

    # ------------------------------------------------------------------------------- other forms

    def unrolled(self, n: int) -> BayesianNetwork:
        """Return the ordinary network of n slices, whose variables are called "mood_0", "mood_1".

        Static variables keep their names.

        Raises
        ------
        ModelError
            If two variables would have one name, such as those called 1 and "1".
        """
        blocks: list[CPD] = [*self.static]
        n = whole_number("n", "slices", n, 1)
        names = [cpd.variable.name for cpd in blocks]
        repeating = (v.name for v in self.variables if v not in self._fixed)
        names += [f"{name}_{t}" for name in repeating for t in range(n)]
        if twice := [name for name, count in Counter(names).items() if count > 1]:
            raise ModelError(
                f"Unrolled, more than one variable would have the name {quoted(twice)}. Numbers of "
                "slices follow names as text: give the variables other names."
            )
        for t in range(n):
            cpds = self.slices[min(t, len(self.slices) - 1)]
            repeated = {v for cpd in cpds for v in cpd.scope if now(v) not in self._fixed}
            # The slice that each variable is of, and the variable with its number.
            slice_of = {v: t - lag(v)[1] for v in repeated}
            new = {v: renamed(v, f"{lag(v)[0]}_{k}") for v, k in slice_of.items()}
            blocks += [substituted(cpd, new) for cpd in cpds]
        return BayesianNetwork(blocks)

    @property
    def n_parameters(self) -> int:
        """Number of free parameters of the CPDs, those that slices share once."""
        return sum(cpd.n_parameters for cpd in self.cpds)

    def __repr__(self) -> str:
        return (
            f"TemporalNetwork of order {self.order} with {len(self.slices[0])} variables, "
            f"{len(self.static)} static ones and {self.n_parameters} parameters"
        )

    def __eq__(self, other: Any) -> bool:
        is_one = isinstance(other, TemporalNetwork)
        return is_one and (self.static, self.slices) == (other.static, other.slices)

    __hash__ = object.__hash__


def _singles(what: str, cpds: Any) -> dict[Variable, CPD]:
    """Return CPDs of one child each, by child."""
    is_list = isinstance(cpds, Iterable) and not isinstance(cpds, CPD)
    items: list[Any] = [*cpds] if is_list else [None]
    if wrong := [cpd for cpd in items if not isinstance(cpd, CPD)]:
        # `wrong` holds None if `cpds` is no list: the message then shows what it is.
        shown = wrong[0] or getattr(cpds, "title", cpds)
        raise ModelError(f"{what} takes a list of CPDs; got {shown!r:.80}.")
    singles = [single for cpd in items for single in cpd.singles()]
    if len({cpd.variable for cpd in singles}) < len(singles):
        names = quoted(cpd.variable.name for cpd in singles)
        raise ModelError(f"{what} has two CPDs of one variable of {names}.")
    return {cpd.variable: cpd for cpd in singles}


def _by_slice(what: str, values: Any) -> dict[int, Any]:
    """Return a mapping from numbers of slices to mappings."""
    if values is None:
        return {}
    if not isinstance(values, Mapping) or not all(isinstance(x, Mapping) for x in values.values()):
        raise EvidenceError(
            f"{what}= is a mapping from the number of a slice to what is there, such as "
            f"{{3: {{'act': 'walk'}}}}; got {values!r:.80}."
        )
    return {whole_number(what, "slices", t, 0): x for t, x in values.items()}


# ------------------------------------------------ the state of a sequence, slice by slice


def answer(variable: Any, values: Floats, log_evidence: float) -> Any:
    """Return a row of probabilities, or of mean and variance, as the posterior of a variable."""
    if isinstance(variable, Discrete):
        return Posterior((variable,), values, log_evidence)
    # One component of weight 1: means of shape (1, 1), and covariances of shape (1, 1, 1).
    components = GaussianComponents(values[None, :1], values[None, 1:, None])
    return NumberMixture((variable,), [(np.ones(1), components)], log_evidence)


class Stream:
    """The state of one sequence, which takes evidence slice by slice in constant memory.

    :meth:`TemporalNetwork.start` makes it.

    Attributes
    ----------
    n_slices : int
        Number of slices so far.
    log_likelihood : float
        Log probability (density) of the evidence so far.

    Examples
    --------
    >>> import bayesgraph as bg
    >>> mood = bg.Discrete("mood", ["low", "high"])
    >>> stay = bg.TableCPD(mood, [[0.9, 0.1], [0.3, 0.7]], parents=[bg.before(mood)])
    >>> state = bg.TemporalNetwork([bg.TableCPD(mood, [0.5, 0.5])], [stay]).start()
    >>> state.update({"mood": "low"})
    >>> state.forecast("mood", 2).round(2)
    array([[0.9 , 0.1 ],
           [0.84, 0.16]])
    """

    def __init__(self, model: Any) -> None:
        self._model = model
        # Beside states no numbers are handed on; those that later slices depend on are refused.
        states = [pair for pair in model._handed if isinstance(pair[0], Discrete)]
        self._handed = tuple(states or model._handed)
        names = {now for now, _ in self._handed}
        if beside := [v.name for v in model._depths if v not in names]:
            raise UnsupportedModelError(
                f"A stream hands on states or numbers, not {quoted(beside)} beside states: ask "
                "smooth, filter and forecast of a table."
            )
        # Static numbers with their values, which the first slice gives.
        fixed = [cpd.variable for cpd in model.static]
        self._entered: dict[Variable, Any] = {v: None for v in fixed if isinstance(v, Continuous)}
        # Those on which slices depend beside states, and those that are entered in each slice.
        scopes = {v for cpds in model.slices for cpd in cpds for v in cpd.scope}
        self._needed = {v for v in self._entered if v not in names and v in scopes}
        self._repeated = self._needed | (self._entered.keys() & names)
        # Of numbers that are handed on, what the last slices observed, NaN for nothing.
        self._recent = {
            v: np.full(depth, np.nan)
            for v, depth in model._depths.items()
            if isinstance(v, Continuous)
        }
        self.n_slices = 0
        self.log_likelihood = 0.0
        # The forward message of the last slice, (1, K) for states; None before the first slice.
        self._message: Any = None
        # The arguments of `_chain` for the last slice, to ask it of what is not handed on.
        self._last: Any = None
        self._slices = [_Slice(model, k, self._handed) for k in range(len(model.slices))]

    def update(self, evidence: EvidenceLike = None, *, do: Intervention = None) -> None:
        """Take the evidence of the next slice.

        Parameters
        ----------
        evidence : mapping from name to value, optional
            As for :meth:`TemporalNetwork.query`.
        do : mapping from name to value, optional
            Variables that are set from outside.

        Raises
        ------
        ImpossibleEvidenceError
            If the evidence has probability zero; the state stays as it was.
        UnsupportedModelError
            If the first slice lacks a static number beside states, or a later one gives it.
        EvidenceError
            If a later slice gives another value of a static number.
        """
        settings = {0: dict(do)} if do else {}
        if self._entered:
            evidence = self._with_static(evidence)
        prepared = self._slices[min(self.n_slices, len(self._slices) - 1)]
        # Most evidence is a product with a matrix; other evidence makes a chain of one slice.
        likelihood, recent = None if do else prepared.likelihood(evidence), self._recent
        if likelihood is None:
            chain = self._chain(evidence, settings, self._message, self.n_slices, recent)
            shown = chain.sequences.parts[0].evidence.columns
            recent = {v: np.append(x[1:], shown.get(v, np.nan)) for v, x in recent.items()}
            message, gain = chain.filtered[-1:], float(chain.log_likelihood[0])
        else:
            matrix, (shares, scale) = prepared.matrix, likelihood
            # P(joint state, new evidence | evidence so far) by its scale, shape (K,).
            joint = (matrix if self._message is None else self._message[0] @ matrix) * shares
            total = float(np.add.reduce(joint))
            message = joint[None] / (total or 1.0)
            gain = math.log(total) + scale if total else -math.inf
        if gain == -math.inf:
            raise impossible(evidence)
        if not self.n_slices:
            self._entered = {v: as_mapping(evidence).get(v.name) for v in self._entered}
        self._last = evidence, settings, self._message, self.n_slices, self._recent
        self._message, self._recent = message, recent
        self.log_likelihood += gain
        self.n_slices += 1

    def _with_static(self, evidence: EvidenceLike) -> dict[Name, Any]:
        """Return evidence with the static numbers, which the first slice has to give."""
        entered: dict[Name, Any] = self._model._by_name_of(evidence)
        for v, value in self._entered.items():
            number = entered.pop(v.name, None)
            if is_missing(number):  # it is that of the slices before
                number = value
            elif self.n_slices and is_missing(value):
                raise UnsupportedModelError(
                    f"A stream takes the static number {v.name!r} with the first slice, which did "
                    "not give it: start again with it, or ask query and filter of all slices."
                )
            elif self.n_slices and number != value:
                raise EvidenceError(
                    f"{v.name!r} has one value in all slices; got {number!r} after {value!r}."
                )
            is_number = isinstance(number, (int, float, np.number)) and not np.isnan(number)
            if v in self._needed and not is_number:
                raise UnsupportedModelError(
                    f"A stream hands on states, not the number {v.name!r}: enter its value with "
                    f"the first slice; got {number!r}."
                )
            if not is_missing(number) and (v in self._repeated or not self.n_slices):
                entered[v.name] = number
        return entered

    def _target(self, name: Name, n_slices: int) -> Variable:
        """Return a target in the last of so many slices; refuse a number that is not handed on."""
        variable: Variable = self._model._target(name)
        if n_slices > 1 and variable in self._entered.keys() - self._repeated:
            raise UnsupportedModelError(
                f"A stream does not hand on the static number {variable.name!r}: ask query, smooth "
                "or filter of all slices."
            )
        return variable

    def _past(self, n: int, n_slices: int, recent: Any) -> Any:
        """Return what `_sequences` takes of the slices before the next n."""
        lagged = {}
        for v, values in recent.items():
            for k in range(1, len(values) + 1):
                # The first k slices have values of the last k slices before them.
                column = lagged[before(v, k)] = np.full(n, np.nan)
                column[:k] = values[-k:][:n]
        return n_slices, self._handed, lagged

    def _chain(self, observed: Any, settings: Any, message: Any, n_slices: int, recent: Any) -> Any:
        """Return one slice with its evidence as a chain after a message.

        `n_slices` is the number of slices before it, and `recent` what they observed; for
        `settings` see `_one_sequence`.
        """
        past = self._past(1, n_slices, recent)
        sequences = self._model._one_sequence(1, {0: as_mapping(observed)}, settings, past)
        return self._model._chain(sequences, message)

    def query(self, target: Name) -> Any:
        """Return the posterior of a variable in the last slice given all evidence so far."""
        model = self._model
        variable = self._target(target, self.n_slices)
        if self._last is None:
            return model.query(target, 0)
        handed = [now for now, _ in self._handed]
        if variable in handed and isinstance(variable, Discrete):
            table = self._message.reshape(1, *(v.cardinality for v in handed))
            values = summed_to(table, handed, [variable])[0]
        else:
            if isinstance(variable, Continuous):  # a number that is observed has no density
                observed, settings = self._last[:2]
                model._check_unobserved(
                    variable, {**as_mapping(observed), **settings.get(0, {})}, self.n_slices - 1
                )
            values = self._chain(*self._last).marginal(variable, smooth=False)[0]
        return answer(variable, values, self.log_likelihood)

    def forecast(self, target: Name, steps: int = 1) -> Floats:
        """Return the distribution of a variable in the next slices.

        Returns
        -------
        ndarray, shape (steps, n_states), or (steps, 2) for a number
            Probabilities; mean and variance of a number.
        """
        model, n = self._model, whole_number("steps", "slices", steps, 1)
        variable = self._target(target, self.n_slices + n)
        repeated = {v: x for v, x in self._entered.items() if v in self._repeated}
        columns = {v: np.full(n, x, dtype=float) for v, x in repeated.items() if not is_missing(x)}
        past = self._past(n, self.n_slices, self._recent)
        sequences = model._sequences(np.array([0, n]), columns, past=past)
        chain = model._chain(sequences, self._message)
        values: Floats = chain.marginal(variable, smooth=False)
        return values


class _Slice:
    """A slice for evidence on variables that depend on the joint states alone.

    Attributes
    ----------
    matrix : ndarray, shape (K, K), or (K,) of the first slice
        Probabilities of the joint states, given those before in the rows.
    """

    def __init__(self, model: Any, number: int, handed: Any) -> None:
        # Of each name the variable, and its log likelihoods: a table of codes by joint states, or
        # mean, -1 / (2 variance) and log constant of a Gaussian in each joint state.
        self._tables: dict[Name, tuple[Any, Any]] = {}
        # If numbers, or nothing, are handed on, there are no tables: all evidence needs a chain.
        if any(isinstance(v, Continuous) for v in model._depths) or not handed:
            return
        states, network = States([now for now, _ in handed]), model._networks[number]
        program = Program(network, handed)
        logs = slice_logs(network, Evidence(1, {}), program.scope)
        self.matrix = np.exp(program.spread(states, logs, is_first=not number)[0])
        codes: dict[Any, Any] = dict(zip(states.variables, states.codes, strict=True))
        inner = {parent for cpd in network.cpds for parent in cpd.parents}
        table: Any
        for cpd in network.cpds:
            child: Any = cpd.variable
            if child in codes and not lag(child)[1]:
                # Handed on itself: log 1 in joint states with this code, log 0 in others.
                table = log_of(np.equal.outer(np.arange(child.cardinality), codes[child]) * 1.0)
            elif child in inner or not {*cpd.parents} <= codes.keys():
                continue  # others depend on it, or it on more than the joint state
            elif isinstance(child, Discrete):
                # A batch with a row for each state of the child. A joint state reads one column.
                cells = Evidence(child.cardinality, {child: np.arange(child.cardinality)})
                table = cpd.potential(cells).aligned(cpd.parents).reshape(child.cardinality, -1)
                table = table[:, states.place(cpd.parents, codes)]
            elif isinstance(cpd, GaussianCPD):
                at = tuple([codes[p] for p in cpd.parents])
                mean, variance = cpd.mean[at], cpd.variance[at]
                table = mean, -0.5 / variance, -0.5 * (np.log(variance) + LOG_2PI)
            else:
                continue
            self._tables[child.name] = child, table

    def likelihood(self, evidence: EvidenceLike) -> tuple[Floats, float] | None:
        """Return likelihoods of the joint states divided by the largest, and the largest's log.

        None if the evidence needs a chain of one slice.
        """
        evidence = {} if evidence is None else evidence
        if not self._tables or type(evidence) is not dict:
            return None
        logs: Any = np.zeros(self.matrix.shape[-1])
        for name, value in evidence.items():
            child, table = self._tables.get(name, (None, None))
            if child is None or type(value) not in (str, int, float, bool) or value != value:
                return None
            encoded = child.encode(value)
            if isinstance(table, tuple):
                mean, minus_half_precision, constant = table
                logs = logs + (encoded - mean) ** 2 * minus_half_precision + constant
            else:
                logs = logs + table[encoded]
        log_scale = float(np.maximum.reduce(logs))
        if log_scale == -np.inf:
            raise impossible(evidence)
        return np.exp(logs - log_scale), log_scale
