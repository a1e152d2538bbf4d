"""Base class of all models: it checks names and evidence, and passes each query to a solver."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from bayesgraph.core.arrays import Floats, check_flags, log_of, random_generator, whole_number
from bayesgraph.core.display import DisplayedList
from bayesgraph.core.errors import (
    EvidenceError,
    ImpossibleEvidenceWarning,
    MemoryLimitError,
    UnsupportedModelError,
    quoted,
    warn,
)
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.parallel import check_memory
from bayesgraph.core.typing import EvidenceLike, Intervention, RandomState, TableLike, Targets
from bayesgraph.core.upward import Ask, Drawn, Upward
from bayesgraph.core.variables import (
    Arc,
    Binned,
    Continuous,
    Count,
    CountVector,
    Discrete,
    Name,
    Variable,
)
from bayesgraph.inference import (
    All,
    Approximate,
    Assignment,
    Best,
    Budget,
    Case,
    Draw,
    Joint,
    Marginals,
    Mass,
    Memo,
    Pattern,
    Plan,
    Question,
    Retractions,
    Sample,
    Samples,
    Search,
    Slopes,
    WeightedSamples,
    check_method,
    check_options,
    first_work,
    log_normalised,
    ranked,
    refused,
    search_budget,
)
from bayesgraph.models.answering import PLAIN, Answering, Edits
from bayesgraph.models.evidence import (
    OTHER,
    Belief,
    Between,
    Finding,
    as_mapping,
    check_memory_limit,
    evidence_rows,
    impossible,
    read_case,
    read_targets,
    read_values,
    told_table,
    whole_count,
    whole_intervals,
)
from bayesgraph.models.families.items import ItemsCPD, log_orders
from bayesgraph.tables import Training, columns_of, to_frame

_ALL = All()
_FLOAT_MAX = np.finfo(float).max
# Maximum number of sets of variables for whose interventions the model is kept cut.
_CUT_MODELS = 8


class Addend(NamedTuple):
    """A term of the log scores of a class: what some observed variables add to them.

    Attributes
    ----------
    variables : tuple of Variable
        The observed variables; none if the term depends on the class alone.
    parents : tuple of Variable or None
        Other variables whose values change the term; None if it is the same whatever is observed.
    source : CPD, Term or None
        The distribution or factor that has the term's log values if the parents are observed; None
        if the term takes inference.
    """

    variables: tuple[Variable, ...]
    parents: tuple[Variable, ...] | None
    source: Any


class Model(Drawn, Edits, Answering):
    """Base class of models: queries that solvers answer, by names of variables.

    Attributes
    ----------
    training : Training or None
        What the model was fitted on; None for a model that was made or changed by hand.
    exponents : mapping
        Powers of distributions or posteriors by name; empty if there are none.
    """

    training: Training | None = None
    exponents: Mapping[Name, Floats] = MappingProxyType({})
    # What kind of model it is, in words.
    _title: Any
    # The class variable of a `WeightedNetwork`; the weights of an `Ensemble`'s networks, and the
    # ratios of new to old prior by name of a variable. Other models have none.
    target: Any = None
    weights: Any = ()
    prior_ratios: Mapping[Name, Floats] = MappingProxyType({})
    # Scores of arcs and number of free parameters, which factor graphs do not have.
    arc_scores: Any = MappingProxyType({})
    n_parameters: Any = None

    def _links(
        self, target: Discrete, observed: Collection[Variable], soft: Collection[Variable]
    ) -> Iterable[Sequence[Variable]] | None:
        """Return the scopes of local functions whose logs sum to the log scores of a target.

        The other arguments are the variables with hard and with soft evidence. None if the scores
        are no such sum.
        """
        return None

    def _addends(self, target: Discrete) -> Sequence[Addend]:
        """Return the terms of a target's log scores, in the order in which they are added up."""
        return [Addend((v,), (), None) for v in self.variables if v != target]

    @property
    def arc_probabilities(self) -> dict[Arc, float]:
        """Probability of each arc, which is 1 in a single network."""
        cpds = [cpd for network in self.networks for cpd in network._blocks]
        return {arc: 1.0 for cpd in cpds for arc in cpd.arcs()}

    @property
    def _cut_numbers(self) -> dict[int, Binned]:
        """Variables, by index, whose intervals differ among the networks: evidence is a number."""
        return {}

    def _with_networks(self, networks: Iterable[Any]) -> Model:
        """Return the model with other networks, one in the place of each."""
        raise NotImplementedError

    def _with_prior(self, target: Discrete, ratio: Floats) -> Model:
        """Return the model with the prior of a class multiplied by a ratio and normalised.

        The posterior of the class is multiplied by the ratio and normalised, too, whatever else is
        observed (Saerens, Latinne, Decaestecker 2002, equation 2.4). The class has no parents. The
        ratio, of new to old prior, has the shape (n_states,).
        """
        return self._with_networks(
            [network._with_prior(target, ratio) for network in self.networks]
        )

    def _checked_case(self, kind: type[Any], evidence: EvidenceLike) -> Case:
        """Return the evidence of a query as a `Case`; refuse queries that no solver answers.

        The argument `kind` is the type of query, a class of `Question`.
        """
        if not self._answers(kind):
            raise refused(self, kind)
        return read_case(self, evidence)

    def _encode(self, evidence: EvidenceLike) -> Evidence:
        """Return evidence, a mapping from name to value, as a batch of one row in encoded columns.

        A value is a state, a number, or (for a discrete variable) a mapping from every state to its
        likelihood. None and NaN mean not observed.
        """
        return read_case(self, evidence).evidence(self.variables)

    def _answer(self, question: Question, case: Case, memory_limit: float | None = None) -> Any:
        """Return the answer to a query for one evidence assignment.

        The result is None if the evidence has probability zero.
        """
        if memory_limit is not None:
            check_memory_limit(memory_limit)
        return self._work(question, case.pattern, memory_limit).run(case, memory_limit)

    def _possible(
        self,
        question: Question,
        case: Case,
        evidence: EvidenceLike,
        memory_limit: float | None = None,
    ) -> Any:
        """Return the answer to a query, or raise an error if the evidence is impossible."""
        answer = self._answer(question, case, memory_limit)
        if answer is None:
            raise impossible(evidence)
        return answer

    def _asked(self, do: Intervention, evidence: EvidenceLike) -> tuple[Model, EvidenceLike]:
        """Return the model and the evidence of a query, after interventions and findings.

        A warning names numbers that are far outside of what the model expects.
        """
        asked, observed = under(self, do, evidence) if do else (self, evidence)
        numbers: dict[Variable, float] = {}
        # Whether every value is a state or a number, and none an interval, likelihoods or a belief.
        is_plain = True
        for name, value in as_mapping(observed).items():
            if type(value) is str:  # a state, which is the most frequent value
                continue
            is_plain &= type(value) in PLAIN
            variable = self._by_name.get(name)
            is_number = isinstance(value, (int, float, np.integer, np.floating))
            # The comparison is false for NaN, which is not observed, and for infinities.
            if is_number and isinstance(variable, Continuous) and -_FLOAT_MAX < value < _FLOAT_MAX:
                numbers[variable] = float(value)
        if numbers:
            values = np.array([[*numbers.values()]])  # one row, a column for each number
            self._expected.warn_of(self._expected.far([*numbers], values))
        return (asked, observed) if is_plain else with_findings(asked, as_mapping(observed))

    def _with_findings(self, findings: Mapping[Name, Finding]) -> Model:
        """Return the model with numbers replaced by the states of findings about them.

        Raises
        ------
        UnsupportedModelError
            Unless the model is a network, a weighted network or a mixture of networks; or if one of
            the numbers has children, or parents that are not discrete.
        """
        raise UnsupportedModelError(
            f"{type(self).__name__} takes values of numbers, not intervals or likelihoods; got "
            f"them for {quoted(findings)}.{self._advice}"
        )

    # --------------------------------------------------------------------------------- queries

    def query(
        self,
        targets: Targets,
        evidence: EvidenceLike = None,
        *,
        do: Intervention = None,
        method: str = "exact",
        fallback: str | None = None,
        memory_limit: float | None = None,
        **options: Any,
    ) -> Any:
        """Return the posterior of one or several variables.

        Parameters
        ----------
        targets : name or list of names
            A list gives the joint posterior.
        evidence : mapping from name to value, optional
            A value is a state or a number; a mapping from each state to its likelihood is soft
            evidence; a :class:`Belief` is a new probability (Jeffrey's rule); None and NaN mean not
            observed. A number without children may lie in an interval, :class:`Between`; of a count
            there may be likelihoods or a belief, with those of all other counts as "other".
        do : mapping from name to value, optional
            Variables that are set from outside, whatever their parents; see `do`.
        method : {"exact", "loopy", "likelihood-weighting"}
            Approximations carry a report of their convergence or error, see
            ``Posterior.approximation``.
        fallback : {"loopy", "likelihood-weighting"}, optional
            The method to use if the exact one needs more memory than the limit.
        memory_limit : float, optional
            Bytes; half of the machine's memory by default.
        **options
            For the approximate method: ``max_iterations``, ``tolerance`` and ``damping``, or
            ``n``, ``standard_error`` and ``random_state``.

        Returns
        -------
        Posterior
            For discrete targets: a mapping from state (tuple of states) to probability.
        NumberMixture
            For continuous targets and counts.
        ItemsMixture
            For a vector of counts.
        MixedPosterior
            For discrete and continuous targets together.

        Raises
        ------
        UnknownVariableError, UnknownStateError, EvidenceError
            For unknown names or states, or invalid evidence; the message says what is near it.
        ImpossibleEvidenceError
            If the evidence has probability zero.
        MemoryLimitError
            If the exact answer needs too much memory and no fallback is allowed.
        """
        asked, evidence = self._asked(do, evidence)
        case = read_case(asked, evidence)  # every model answers this
        wanted = read_targets(asked, targets, case.hard, vectors=method == "exact")
        exact = (Joint(wanted), evidence, memory_limit)
        return asked._exact_or_not(exact, wanted, case, method, fallback, options)

    def _exact_or_not(
        self,
        exact: tuple[Question, EvidenceLike, float | None],
        wanted: tuple[int, ...] | None,
        case: Case,
        method: str,
        fallback: str | None,
        options: Mapping[str, Any],
    ) -> Any:
        """Answer a query by the requested method; the exact one may fall back to an approximation.

        Parameters
        ----------
        exact : tuple
            For the exact method: the query, the evidence as the user gave it, and the memory limit.
        wanted : tuple of int or None
            For an approximate method: indices of the targets, None for all variables.
        case : Case
            The encoded evidence.
        method, fallback, options
            As in `query`.
        """
        if method == "exact":
            if fallback is not None or options:
                check_options(fallback, options)
            question, evidence, memory_limit = exact
            try:
                return self._possible(question, case, evidence, memory_limit)
            except MemoryLimitError:
                if fallback is None:
                    raise
            method = fallback
        check_method(method, options)
        return first_work(self, Approximate(wanted, method, options), case.pattern).run(case)

    def marginals(
        self,
        /,
        evidence: EvidenceLike = None,
        *,
        do: Intervention = None,
        method: str = "exact",
        fallback: str | None = None,
        memory_limit: float | None = None,
        **options: Any,
    ) -> Marginals:
        """Return the posterior of every unobserved variable, all at once.

        Parameters
        ----------
        evidence, do, method, fallback, memory_limit, **options
            As in `query`.

        Returns
        -------
        Marginals
            A mapping from name to posterior, with ``log_evidence``. In a discrete model two passes
            over a junction tree compute all of them before this returns.

        Raises
        ------
        ImpossibleEvidenceError
            If the evidence has probability zero.
        MemoryLimitError
            If the exact answers need too much memory and no fallback is allowed.
        """
        asked, evidence = self._asked(do, evidence)
        case = read_case(asked, evidence)  # every model answers this
        exact = (_ALL, evidence, memory_limit)
        answer: Marginals = asked._exact_or_not(exact, None, case, method, fallback, options)
        return answer

    def most_probable(
        self,
        evidence: EvidenceLike = None,
        *,
        do: Intervention = None,
        over: Targets | None = None,
        joint: bool = False,
        method: str = "exact",
        fallback: str | None = "search",
        max_seconds: float | None = None,
        max_steps: int | None = None,
        progress: Callable[[float, float], object] | None = None,
        memory_limit: float | None = None,
    ) -> Assignment:
        """Return the most probable joint assignment of all unobserved variables.

        It may differ from the most probable state of each single variable, which `query` gives.
        The probability of the discrete variables is maximised with continuous variables integrated
        out; these are then reported at their conditional means. Vectors of counts are left out,
        and numbers that are not Gaussian if their children have evidence.

        Parameters
        ----------
        evidence, do : mapping from name to value, optional
            As in `query`.
        over : name or list of names, optional
            The variables to assign, with all others summed out before the maximisation (the
            marginal MAP). By default all.
        joint : bool
            Maximise over the Gaussian variables too, which gives the mode of the joint density;
            numbers of other families are integrated out, and reported at their conditional means.
            It is found by elimination only.
        method : {"exact", "search"}
            Elimination, or branch and bound, which returns the best assignment that it has found,
            with an ``upper_bound`` of the log probability and whether it is ``proved``.
        fallback : {"search"}, optional
            The method to use if the exact one needs more memory than the limit; None refuses.
        max_seconds : float, optional
            When the search ends if nothing is proved.
        max_steps : int, optional
            The same in nodes of the search, for equal answers on every machine. By default as many
            as take ten to twenty seconds, unless `max_seconds` is given.
        progress : callable, optional
            Called by the search as ``progress(log_probability, upper_bound)``.
        memory_limit : float, optional
            Bytes; half of the machine's memory by default.

        Raises
        ------
        ImpossibleEvidenceError
            If the evidence has probability zero.
        MemoryLimitError
            If the exact answer needs too much memory and no fallback is allowed, if a table of the
            model does, or if a search ends before it finds a possible assignment.
        UnsupportedModelError
            For numbers in `over`, `joint` with it or of a mixture, and for a mixture of networks so
            different that the 4096 most probable assignments of each do not determine the answer.
        """
        check_flags(joint=joint)
        if joint and over is not None:
            raise UnsupportedModelError(
                "over= sums all other variables out, numbers too, and joint=True maximises over "
                "them: leave out one of both."
            )
        asked, evidence = self._asked(do, evidence)
        is_table = asked._compiled_tables is not None
        # Tables have no continuous variables: the prepared query of k_most_probable is reused.
        question = Best() if is_table else Best(means=True, mode=joint)
        budget = search_budget(method, fallback, max_seconds, max_steps, progress)
        return asked._ranked(1, question, over, evidence, method, fallback, budget, memory_limit)[0]

    def k_most_probable(
        self,
        k: int,
        evidence: EvidenceLike = None,
        *,
        over: Targets | None = None,
        do: Intervention = None,
        method: str = "exact",
        fallback: str | None = "search",
        max_seconds: float | None = None,
        max_steps: int | None = None,
        progress: Callable[[float, float], object] | None = None,
        memory_limit: float | None = None,
    ) -> list[Assignment]:
        """Return the k most probable joint assignments of discrete variables, best first.

        The list is shorter if fewer assignments have a positive probability. Continuous variables
        are integrated out.

        Parameters
        ----------
        k : int
        evidence, do : mapping from name to value, optional
            As in `query`.
        over : name or list of names, optional
            The variables to assign, with all others summed out: as for `most_probable`. By
            default all unobserved discrete variables.
        method, fallback, max_seconds, max_steps, progress
            As for `most_probable`; the bound of an assignment is one of all others but those
            before it.
        memory_limit : float, optional
            Bytes; half of the machine's memory by default.

        Raises
        ------
        ImpossibleEvidenceError
            If the evidence has probability zero.
        UnsupportedModelError
            For continuous variables in `over`.
        """
        asked, evidence = self._asked(do, evidence)
        cards = [v.cardinality for v in asked.variables if isinstance(v, Discrete)]
        count = min(whole_number("k", "assignments", k, 1), math.prod(cards))
        asked._check_rows(count, memory_limit)
        budget = search_budget(method, fallback, max_seconds, max_steps, progress)
        asked_for = count, Best(), over, evidence
        return DisplayedList(asked._ranked(*asked_for, method, fallback, budget, memory_limit))

    def _ranked(
        self,
        k: int,
        question: Best,
        over: Targets | None,
        evidence: EvidenceLike,
        method: str,
        fallback: str | None,
        budget: Budget,
        memory_limit: float | None,
    ) -> list[Assignment]:
        """Return the k most probable assignments by the requested method or its fallback.

        Parameters
        ----------
        k : int
        question : Best
            What to assign if `over` is None: all variables, with or without means or mode.
        over : name or list of names, optional
            The only variables to assign.
        evidence, method, fallback, memory_limit
            As in `most_probable`.
        budget : Budget
            The limits of a search, which elimination ignores.
        """
        case = self._checked_case(Best if method == "exact" else Search, evidence)
        if over is not None:
            question = Best(self._over(over, case))
        assignments: list[Assignment] | None = None
        if method == "exact":
            try:
                if over is not None and k > 1:
                    assignments = self._best_over(k, question, case, memory_limit)
                else:
                    answer = self._possible(question, case, evidence, memory_limit)
                    assignments = answer.take(k)
            except MemoryLimitError:
                if fallback is None or question.mode or not self._answers(Search):
                    raise
        elif question.mode:
            raise UnsupportedModelError(
                "The mode of a joint density is found by elimination; leave out method='search' or "
                "joint=True."
            )
        if assignments is None:
            search = Search(k, question.over, question.means, budget)
            assignments = self._possible(search, case, evidence, memory_limit).take(k)
        if not assignments:
            raise impossible(evidence)
        return assignments

    def _over(self, targets: Targets, case: Case) -> tuple[int, ...]:
        """Return the indices of variables to assign, which are discrete."""
        over = read_targets(self, targets, case.hard)
        wanted = [self.variables[at] for at in sorted(over)]
        if continuous := [v.name for v in wanted if not isinstance(v, Discrete)]:
            raise UnsupportedModelError(
                f"Assignments are of discrete variables; leave out {quoted(continuous)}: numbers "
                "are integrated out."
            )
        return over

    def _best_over(
        self, k: int, question: Best, case: Case, memory_limit: float | None
    ) -> list[Assignment]:
        """Return the k most probable joint assignments of some variables, best first.

        The list is empty if the evidence is impossible.
        """
        over: Any = question.over
        wanted: Any = [self.variables[at] for at in over]

        def best(allowed: Mapping[Discrete, Floats]) -> Assignment | None:
            """Return the best assignment of states whose log likelihood is 0; None if none is.

            The log likelihood of a state that is not allowed is minus infinity.
            """
            soft = dict(case.soft)
            for at, variable in zip(over, wanted, strict=True):
                soft[at] = allowed[variable] + soft.get(at, 0.0)
            restricted = case._replace(soft=soft)
            answer = self._answer(question, restricted, memory_limit)
            return None if answer is None else next(iter(answer.take(1)), None)

        return ranked(k, wanted, best)

    def log_probability(
        self,
        evidence: EvidenceLike = None,
        *,
        do: Intervention = None,
        memory_limit: float | None = None,
    ) -> float:
        """Return the natural log of the probability of the evidence.

        It is a log density if continuous variables are observed, and minus infinity for impossible
        evidence. Soft evidence enters with its likelihoods; a `Belief` has no probability and is
        refused.
        """
        asked, evidence = self._asked(do, evidence)
        observed = as_mapping(evidence)
        if asked._answers(Mass):
            check_no_belief(observed)
        mass: float = asked._answer(Mass(), asked._checked_case(Mass, observed), memory_limit)
        return mass - asked._log_normaliser()

    def sample(
        self,
        n: int,
        evidence: EvidenceLike = None,
        *,
        do: Intervention = None,
        random_state: RandomState = None,
        frame: str | None = None,
        memory_limit: float | None = None,
    ) -> Any:
        """Draw rows of all variables given the evidence, exactly and independently.

        Unobserved ancestors of the evidence are drawn from their posterior, all other variables
        from their CPDs given their parents. No inference is needed if all ancestors of the evidence
        are observed. Each row of a mixture is drawn from one of its networks.

        Parameters
        ----------
        n : int
        evidence : mapping from name to value, optional
            As in `query`; an observed variable has its value in every row.
        do : mapping from name to value, optional
            Variables that are set from outside, whatever their parents; see `do`.
        random_state : int or numpy Generator, optional
        frame : {"pandas", "polars", "pyarrow", "dict"}, optional
            The type of table; by default the first of these libraries that is installed. A vector
            of counts is one column for each item in a frame, and a matrix in a dict.
        memory_limit : float, optional
            Bytes; half of the machine's memory by default.

        Returns
        -------
        table of n rows
            States as they were given, and numbers; columns in the order of the variables.

        Raises
        ------
        UnknownVariableError, UnknownStateError, EvidenceError
            As `query` does for its evidence.
        ImpossibleEvidenceError
            If the evidence has probability zero.
        MemoryLimitError
            If the rows need more memory than `memory_limit`.
        UnsupportedModelError
            For a model that defines no distribution of rows.
        """
        asked, evidence = under(self, do, evidence) if do else (self, evidence)
        size = whole_number("n", "rows", n, 0)
        # Factor graphs have no parents and children, by which `Sample` draws in topological order.
        question = Draw() if asked._answers(Draw) and not asked._answers(Sample) else Sample()
        case = asked._checked_case(type(question), evidence)
        draws = asked._possible(question, case, evidence, memory_limit)
        asked._check_rows(size, memory_limit)
        drawn = draws.take(size, random_generator(random_state))
        columns = case.evidence(asked.variables).columns
        drawn = {**{v: np.repeat(column, size, axis=0) for v, column in columns.items()}, **drawn}
        return to_frame([v for v in asked.variables if v in drawn], drawn, frame)

    def _check_rows(self, n: int, memory_limit: float | None) -> None:
        """Raise a MemoryLimitError if n rows of all variables take too many bytes."""
        columns = sum(len(v.items) if isinstance(v, CountVector) else 1 for v in self.variables)
        advice = "Ask for fewer, or raise memory_limit."
        check_memory(f"{n:,} rows of {columns} columns take", n * columns, advice, memory_limit)

    def weighted_samples(
        self,
        targets: Targets,
        evidence: EvidenceLike = None,
        *,
        do: Intervention = None,
        n: int = 100_000,
        standard_error: float | None = None,
        random_state: RandomState = None,
    ) -> WeightedSamples:
        """Draw weighted samples of the targets given the evidence (likelihood weighting).

        It works for networks of any CPDs that can be sampled. The result gives posteriors, means,
        quantiles and the log probability of the evidence, each with its standard error.

        Parameters
        ----------
        targets : name or list of names
        evidence, do : mapping from name to value, optional
            As in `query`.
        n : int
            Number of draws; with `standard_error` the maximum number.
        standard_error : float, optional
            Stop when the largest standard error is at most this.
        random_state : int or numpy Generator, optional
        """
        asked, evidence = under(self, do, evidence) if do else (self, evidence)
        case = asked._checked_case(Samples, evidence)
        options = {
            "n": n,
            "standard_error": standard_error,
            "random_state": random_state,
        }
        wanted = read_targets(asked, targets, case.hard)
        work = first_work(asked, Samples(wanted, options), case.pattern)
        samples: WeightedSamples = work.run(case)
        return samples

    def plan(
        self,
        targets: Targets | None = None,
        evidence: EvidenceLike | Collection[Name] = None,
        *,
        question: str = "query",
        method: str = "exact",
    ) -> Plan:
        """Return a printable plan of the computations that answer a query, without running it.

        Parameters
        ----------
        targets : name or list of names, optional
            Targets, for queries that have any.
        evidence : mapping from name to value, or collection of names, optional
            As in `query`, soft evidence included; the names of observed variables are enough.
        question : str, default "query"
            The method whose plan is returned: "query", "marginals", "most_probable",
            "k_most_probable", "marginal_map", "log_probability", "sample", "sensitivity",
            "conflict", "query_rows" or "log_likelihood".
        method : {"exact", "loopy", "likelihood-weighting", "search"}

        Returns
        -------
        Plan
            The solver and why it was selected, its passes, intermediate tables and bytes.

        Raises
        ------
        UnsupportedModelError
            If the model does not answer the query.
        """
        if not isinstance(question, str) or question not in QUESTIONS:
            raise EvidenceError(f"question= is one of {quoted(QUESTIONS)}; got {question!r}.")
        asked, evidence = self._asked(None, evidence) if _is_mapping(evidence) else (self, evidence)
        if asked is not self:  # findings about numbers are evidence on a changed network
            return asked.plan(targets, evidence, question=question, method=method)
        pattern = self._pattern(evidence)._replace(rows=question in _OF_ROWS)
        kind, takes_targets, make = QUESTIONS[question]
        if (targets is not None) != takes_targets:
            wanting = "needs at least one target" if takes_targets else "takes no targets"
            raise EvidenceError(f"{question} {wanting}; got {targets!r}.")
        vectors = question == "query" and method == "exact"
        wanted: tuple[int, ...] = ()
        if takes_targets:
            wanted = read_targets(self, targets, pattern.observed, vectors=vectors)
        if method == "search" and kind is Best:
            made = make(wanted)
            return self._plan_of(Search(1, made.over, made.means), pattern)
        if method != "exact":
            check_method(method, {})
            if question not in ("query", "marginals"):
                raise EvidenceError(
                    f"method={method!r} is for query and marginals; {question} is always exact."
                )
            approximate = Approximate(wanted if takes_targets else None, method, {})
            return self._plan_of(approximate, pattern)
        # Factor graphs draw without an order of parents and children, as in `sample`.
        undirected = kind is Sample and self._answers(Draw) and not self._answers(Sample)
        return self._plan_of(Draw() if undirected else make(wanted), pattern)

    def _pattern(self, evidence: EvidenceLike | Collection[Name]) -> Pattern:
        """Return the pattern of evidence, or of a collection of names of observed variables."""
        if evidence is None or _is_mapping(evidence):
            case = read_case(self, evidence)
            pattern = case.pattern
            # With the values too, for plans that depend on them.
            return pattern._replace(states=tuple(case.hard[v] for v in pattern.observed))
        if isinstance(evidence, str) or not isinstance(evidence, Collection):
            raise EvidenceError(f"evidence= is a mapping or a list of names; got {evidence!r:.80}.")
        return Pattern(tuple(sorted({self._index_of[self.variable(v).name] for v in evidence})))

    # ------------------------------------------------------------------------- interventions

    @cached_property
    def _cut_models(self) -> Memo:
        """Cache of the models without the arcs into variables that queries set."""
        return Memo(_CUT_MODELS)

    def _without_parents(self, names: Collection[Name]) -> Model:
        """Return the model for queries that set some variables.

        These variables have no parents and no distribution in it: queries observe all of them.

        Raises
        ------
        UnsupportedModelError
            Unless the model is a Bayesian network or a mixture of such networks.
        """
        raise self._no_interventions()

    def _with_values_set(self, values: Mapping[Name, Any]) -> tuple[Model, Mapping[Name, Any]]:
        """Return the model for queries that set some variables, and what to observe in it.

        The model is cut once for each set of variables, and their values are evidence.
        """
        return self._cut_models.get(tuple(values), lambda: self._without_parents(values)), values

    def do(self, values: Mapping[Name, Any]) -> Model:
        """Return the model after an intervention that sets variables from outside.

        The distribution of each of these variables given its parents is replaced by its value, and
        all other distributions stay as they are (Pearl 2009, section 3.2). `query`, `marginals`,
        `most_probable`, `k_most_probable`, `log_probability`, `sample` and
        `weighted_samples` take ``do=values`` too, which prepares each query once for all values.

        Parameters
        ----------
        values : mapping from name to value
            The state or the number that each variable is set to.

        Returns
        -------
        BayesianNetwork or Ensemble
            A discrete variable keeps its place, without parents and with one possible state. A
            continuous one is a constant, which has no density: it leaves the network, and its value
            is part of the distributions of its children. Of a mixture and of an average of
            posteriors it is that of the networks after the intervention, with the same weights.

        Raises
        ------
        UnknownVariableError, UnknownStateError, EvidenceError
            For unknown names or states, or anything but one value of a variable.
        UnsupportedModelError
            Unless the model is a Bayesian network, or a mixture or an average of such networks; or
            if a child of a continuous variable is neither linear Gaussian nor a table given that
            variable, whereas queries of networks and mixtures with ``do=`` answer.

        Examples
        --------
        >>> import bayesgraph as bg
        >>> rain, wet = bg.Discrete("rain", ["no", "yes"]), bg.Discrete("wet", ["no", "yes"])
        >>> net = bg.BayesianNetwork([
        ...     bg.TableCPD(rain, [0.8, 0.2]),
        ...     bg.TableCPD(wet, [[0.9, 0.1], [0.2, 0.8]], parents=[rain]),
        ... ])
        >>> net.do({"wet": "yes"}).query("rain")
        P(rain)
          no   0.800000  ███████████████████
          yes  0.200000  █████
        """
        raise self._no_interventions()

    def _no_interventions(self) -> UnsupportedModelError:
        """Return the error for an intervention in a model that answers none."""
        return UnsupportedModelError(
            f"{type(self).__name__} does not answer interventions, which replace the distribution "
            f"of a variable given its parents in a joint distribution.{self._advice}"
        )

    # ----------------------------------------------------------------------------------- batches

    def _rows_with_prior(self, target: Discrete, evidence: Evidence) -> tuple[Floats, int]:
        """Return unnormalised log posteriors, with the log prior in rows of impossible evidence.

        The first result is that of `log_posterior_rows` apart from these rows; the second result is
        the number of these rows.
        """
        joint = self._log_posterior_rows(target, evidence)
        # Impossible rows have minus infinity for every state: one column rules out most others.
        if np.minimum.reduce(joint[:, 0], initial=0.0) > -np.inf:
            return joint, 0
        suspects = np.flatnonzero(joint[:, 0] == -np.inf)
        impossible = suspects[np.isneginf(joint[suspects].max(axis=1))]
        if len(impossible):
            joint[impossible] = log_of(self.query(target.name).probabilities)
        return joint, len(impossible)

    def _normalised_rows(self, target: Discrete, evidence: Evidence) -> Floats:
        """Return the log posterior of a target for each row, shape (n_rows, n_states).

        Rows of impossible evidence get the prior, with one warning that counts them.
        """
        joint, impossible = self._rows_with_prior(target, evidence)
        warn_of_impossible(impossible, len(joint), target)
        return log_normalised(joint)

    @property
    def _sources(self) -> tuple[Any, ...]:
        """The distributions of the model, and the factors of a factor graph."""
        model: Any = self
        return tuple(model.cpds)

    def log_likelihood(
        self, table: TableLike, *, unseen: str = "error", multinomial_coefficient: bool = False
    ) -> Floats:
        """Return the log likelihood (density) of each row of a table, shape (n_rows,).

        Missing values are marginalised. Columns that are not variables of the model are ignored. It
        is an error if the name of an ignored column almost equals that of a variable without a
        column (`Xray` for `xray`), or if all columns are ignored. Columns named like items of a
        vector of counts (words) form the vector.

        Parameters
        ----------
        table : pandas, polars or pyarrow table, or mapping from name to column
        unseen : {"error", "missing", "warn"}
            What a value becomes that is not a state: an error, or a missing value, with "warn" told
            by one warning for all rows.
        multinomial_coefficient : bool
            By default a document has the probability of its items in the order in which they
            stand, given how many there are: what the `MultinomialCPD` says. If true, it is that of
            its counts x, of which there are (sum x)! / prod x! orders; this changes no posterior.
        """
        check_flags(multinomial_coefficient=multinomial_coefficient)
        encoded = told_table(self, table, None, unseen)
        if not encoded.n_rows:
            return np.empty(0)
        logs = self._log_evidence_rows(encoded.evidence())
        if multinomial_coefficient:
            documents = (s for s in self._sources if isinstance(s, ItemsCPD) and s.is_document)
            # Each vector once, though every network of a mixture may have it.
            for vector in dict.fromkeys(document.variable for document in documents):
                if vector in encoded.variables:
                    logs = logs + log_orders(encoded.column(vector))
        return logs

    def query_rows(
        self,
        target: Name,
        table: TableLike,
        *,
        do: Intervention = None,
        unseen: str = "error",
    ) -> Floats:
        """Return the posterior of a discrete variable for each row of a table.

        Parameters
        ----------
        target : name
        table : pandas, polars or pyarrow table, or mapping from name to column
            Any value may be missing. The target's column and columns that are not variables of the
            model are ignored. It is an error if the name of an ignored column almost equals that of
            a variable without a column (`Xray` for `xray`), or if all columns are ignored. Columns
            named like items of a vector of counts (words) form the vector.
        do : mapping from name to value, optional
            Variables that are set from outside in all rows, whatever their parents; see `do`. Their
            columns are ignored.
        unseen : {"error", "missing", "warn"}
            What a value becomes that is not a state: an error, or a missing value, with "warn" told
            by one warning for all rows.

        Returns
        -------
        ndarray, shape (n_rows, n_states)
            Probabilities in the order of the target's states. Rows of probability zero under the
            model get the prior, with one warning that counts them.

        Raises
        ------
        EvidenceError
            For a continuous target, or one that is set.
        DataError
            If the table has none of the model's variables.
        UnknownVariableError
            For a column whose name is spelt almost like that of a variable without a column.
        UnknownStateError
            For a value that is not a state, if `unseen` is "error".
        """
        variable = self.variable(target)
        if not isinstance(variable, Discrete):
            raise EvidenceError(f"{target!r} is continuous; query its posterior one row at a time.")
        rows = evidence_rows(self, table, variable, unseen)
        model = self.do(do) if do else self
        if do:
            chosen = {self.variable(name) for name in do}
            if variable in chosen:
                raise EvidenceError(f"{variable.name!r} is both the target and set by do=.")
            # Whether a value was missing is read off its column, or off one of its own.
            pairs = [(self.variables[at], self.variables[i]) for at, i in self._indicators]
            left_open = {i for v, i in pairs if v in chosen and i.name not in columns_of(table)}
            rows = rows.without(chosen | left_open)
        return np.exp(model._normalised_rows(variable, rows))

    # ----------------------------------------------- what higher rooms implement; see `upward`

    ask = property(Ask)
    contributions = Upward()
    save = Upward()
    to_html = Upward()


_OF_ROWS = ("query_rows", "log_likelihood")
# Methods that `plan` accepts: type of query, whether it has targets, function that makes it.
QUESTIONS: dict[str, tuple[type[Any], bool, Any]] = {
    "query": (Joint, True, Joint),
    "marginals": (All, False, lambda _: All()),
    "most_probable": (Best, False, lambda _: Best(means=True)),
    "k_most_probable": (Best, False, lambda _: Best()),
    "marginal_map": (Best, True, Best),
    "log_probability": (Mass, False, lambda _: Mass()),
    "sample": (Sample, False, lambda _: Sample()),
    "sensitivity": (Slopes, True, lambda wanted: Slopes(wanted[0], 0)),
    "conflict": (Retractions, False, lambda _: Retractions()),
    "query_rows": (Joint, True, Joint),
    "log_likelihood": (Mass, False, lambda _: Mass()),
}


def _is_mapping(evidence: Any) -> bool:
    return isinstance(evidence, Mapping) or hasattr(evidence, "to_dict")


def check_no_belief(evidence: Mapping[Name, Any]) -> None:
    """Raise an error for a belief about a variable, which has no probability."""
    if any(isinstance(value, Belief) for value in evidence.values()):
        raise EvidenceError(
            "A Belief says what a posterior shall be; that has no probability. Leave it out."
        )


def warn_of_impossible(count: int, n_rows: int, target: Discrete) -> None:
    """Warn that `count` rows have probability zero, unless `count` is zero."""
    if count:
        warn(
            f"{count} of {n_rows} rows have probability zero under the model; they get the prior "
            f"of {target.name!r}.",
            ImpossibleEvidenceWarning,
        )


def with_findings(model: Model, evidence: Mapping[Name, Any]) -> tuple[Model, Mapping[Name, Any]]:
    """Return a model and evidence on states in the place of findings about numbers.

    Both are returned as they are if there are no such findings. The model is changed once for each
    set of findings, whatever the likelihoods.
    """
    findings: dict[Name, Finding] = {}
    states: dict[Name, Any] = {}
    has_intervals = False
    for name, value in evidence.items():
        if not isinstance(value, Between | Belief | Mapping):
            states[name] = value
            continue
        variable = model.variable(name)
        has_intervals |= isinstance(value, Between)
        if isinstance(value, Between):
            if isinstance(variable, Binned):  # the finding is one of its states, or likelihoods
                value = whole_intervals(variable, value)
            elif isinstance(variable, Continuous):
                findings[variable.name] = Finding((value.low, value.high))
            elif value not in getattr(variable, "states", ()):  # it may be a finding's state
                raise EvidenceError(f"{variable.name!r} is no number; got {value!r}.")
        elif isinstance(variable, Count):
            # The finding names the counts that have states of their own; "other" has all others.
            shares = value.probabilities if isinstance(value, Belief) else value
            named: dict[Any, float] = {
                whole_count(variable, count): x for count, x in shares.items() if count != OTHER
            }
            findings[variable.name] = Finding(counts=tuple(named))
            named[OTHER] = shares.get(OTHER, 0.0)
            value = Belief(named) if isinstance(value, Belief) else named
        if {variable, variable.name} <= evidence.keys():
            raise EvidenceError(f"The evidence names {variable.name!r} more than once.")
        states[variable.name] = value
    if not findings:
        return model, states if has_intervals else evidence
    # A number with a finding is not missing: say so to its indicator (pairs of indices).
    for at, indicator in model._indicators:
        if model.variables[at].name in findings:
            states.setdefault(model.variables[indicator].name, "no")
    key = ("findings", *findings.items())
    return model._cut_models.get(key, lambda: model._with_findings(findings)), states


def under(
    model: Model, do: Mapping[Name, Any], evidence: EvidenceLike
) -> tuple[Model, dict[Name, Any]]:
    """Return the model without the arcs into the variables that are set, and all evidence on it.

    The evidence includes the values that are set; see `Model._with_values_set`.
    """
    # Values of plain types need no reading, but NaN, which differs from itself, does.
    if type(do) is not dict or any(type(x) not in PLAIN or x != x for x in do.values()):
        do = read_values(model, do)
    observed = evidence if type(evidence) is dict else as_mapping(evidence)
    if any(name in observed for name in do):
        both = quoted(name for name in do if name in observed)
        raise EvidenceError(f"{both} is both set by do= and observed; leave it out of one of them.")
    cut, settings = model._with_values_set(do)
    # Being set does not tell whether the value was missing: None keeps its indicator open.
    names = cut.names
    # Keys are names or variables.
    left_open = {
        names[i]: None
        for at, i in cut._indicators
        if settings.keys() & {names[at], cut.variables[at]}
    }
    return cut, {**left_open, **observed, **settings}
