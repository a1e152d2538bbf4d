"""What models share before any question: names, evidence, and work that solvers prepare."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar, Literal, Self

from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import EvidenceError, UnsupportedModelError, unknown_variable
from bayesgraph.core.evidence import Evidence
from bayesgraph.core.typing import EvidenceLike
from bayesgraph.core.variables import (
    Continuous,
    CountVector,
    Discrete,
    MissingIndicator,
    Name,
    State,
    Variable,
)
from bayesgraph.inference import (
    CompiledTables,
    Joint,
    Mass,
    Memo,
    Pattern,
    Plan,
    Question,
    Work,
    first_plan,
    first_work,
    serving,
)
from bayesgraph.models.annotations import Annotations
from bayesgraph.models.cpds.base import CPD
from bayesgraph.models.cpds.density import Expected

# Types of values that are never likelihoods and need no further checks.
PLAIN = {str, int, bool, float}

# ----------- What models share before any question: names, evidence, and work that solvers prepare


def no_target(evidence: Mapping[Any, Any]) -> EvidenceError:
    """Return the error for evidence in the place of a target."""
    return EvidenceError(
        "The targets come first and the evidence second: query('rain', {'wet': True}). Without a "
        f"target a classifier takes evidence by its name: evidence={evidence!s:.80}."
    )


class Answering:
    """What has named variables, takes evidence on them, and has solvers that answer queries.

    Attributes
    ----------
    variables : tuple of Variable
    networks : tuple of models
        The models that it consists of, such as those of an ensemble; of a network itself.
    """

    networks: tuple[Any, ...] = ()
    # Whether it is a joint distribution of its variables.
    _is_joint: bool = True
    variables: tuple[Variable, ...]
    # Form of the model, which selects solvers: "product" of CPDs or factors; "tempered", a network
    # whose CPDs are raised to powers; "mixture", a weighted mean of joint distributions; "average",
    # a weighted mean of posteriors.
    _kind: str
    # Sentence at the end of errors: which model to query if this one has no answer.
    _advice: str = ""
    # Types of queries that it refuses although a solver could answer.
    _declined: frozenset[type[Any]] = frozenset()
    _by_name: dict[Name, Variable]  # the variables by name, in their order

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickles and copies, without cached properties."""
        cls = type(self)
        return {
            name: value
            for name, value in self.__dict__.items()
            if not isinstance(getattr(cls, name, None), cached_property)
        }

    # ------------------------------------------------------------------ variables and evidence

    @property
    def names(self) -> tuple[Name, ...]:
        """Names of all variables."""
        return tuple(self._by_name)

    @cached_property
    def _index_of(self) -> dict[Name, int]:
        """Mapping from name to the index of the variable in `variables`."""
        return dict(zip(self._by_name, range(len(self._by_name)), strict=True))

    @cached_property
    def _indicators(self) -> tuple[tuple[int, int], ...]:
        """Pairs of indices: a variable, and the indicator of its missing values."""
        index_of = self._index_of
        indicators = [v for v in self.variables if type(v) is MissingIndicator]
        return tuple([(index_of[v.of], index_of[v.name]) for v in indicators if v.of in index_of])

    @cached_property
    def _vectors(self) -> tuple[CountVector, ...]:
        """The vectors of counts among the variables."""
        return tuple(v for v in self.variables if isinstance(v, CountVector))

    @cached_property
    def _expected(self) -> Expected:
        """What the model, or its first network, expects of numbers."""
        model: Any = self
        # The first network of an ensemble may be an ensemble; a network has itself as the only one.
        while model.networks and model.networks[0] is not model:
            model = model.networks[0]
        if not model.networks:
            return Expected.of((), ())
        numbers = [v for v in model.variables if isinstance(v, Continuous)]
        return Expected.of([model[name] for name in model._order], numbers)

    def _items_among(self, names: Iterable[Name]) -> dict[CountVector, list[Name]]:
        """Return, for each vector of counts, those of the names that are its items (words).

        Names of variables and names that are items of several vectors are left out.
        """
        items: dict[CountVector, list[Name]] = {}
        if self._vectors:
            for name in names:
                holders = [v for v in self._vectors if name in v.positions]
                if len(holders) == 1 and name not in self._index_of:
                    items.setdefault(holders[0], []).append(name)
        return items

    @property
    def _compiled_tables(self) -> CompiledTables | None:
        """The tables for compiled (Numba) variable elimination; None if a factor is no table."""
        return None

    @property
    def _unfolded(self) -> Answering | None:
        """The network with auxiliary variables that answers in place of this one; None if none."""
        return None

    def _nodes(self) -> list[CPD]:
        """Return the CPDs of a network, parents before children; none of other models."""
        return []

    @property
    def _unmarginalisable(self) -> frozenset[Variable]:
        """Numbers and vectors that elimination cannot keep in some network; see `_leaf_targets`."""
        networks = () if self._kind == "average" else self.networks
        return frozenset().union(*(network._unmarginalisable for network in networks))

    def _leaf_targets(
        self, targets: Sequence[Variable], evidence: Sequence[Variable] = ()
    ) -> Mapping[Variable, CPD]:
        """Return the targets whose posterior is a mixture of the distributions of their CPD.

        Parameters
        ----------
        targets : sequence of Variable
        evidence : sequence of Variable
            Variables with evidence.

        Returns
        -------
        mapping from Variable to CPD
            Targets whose CPD is not a table or Gaussian, and whose children do not bear on the
            question, in all networks; the CPD is that of the first one.
        """
        common: Mapping[Variable, CPD] | None = None
        for network in self.networks:
            variables = set(network.variables)
            asked = [v for v in targets if v in variables]
            observed = [v for v in evidence if v in variables]
            leaves = network._leaf_targets(asked, observed)
            common = leaves if common is None else {v: c for v, c in common.items() if v in leaves}
        return common or {}

    def variable(self, name: Name) -> Variable:
        """Return the variable with a name; a variable of the model is returned as it is.

        Raises
        ------
        UnknownVariableError
            For an unknown name; the message suggests the nearest one.
        EvidenceError
            For a mapping, which is evidence.
        """
        try:
            variable = self._by_name.get(name)
        except TypeError:
            variable = None
        if variable is not None:
            return variable
        if isinstance(name, Variable) and self._by_name.get(name.name) == name:
            return name
        if isinstance(name, Mapping):
            raise no_target(name)
        raise unknown_variable(name, self._by_name, where="The model")

    def _answers(self, kind: type[Any]) -> bool:
        """Tell whether this model has a solver for queries of a type, a class of `Question`."""
        return self._memo.get(kind, lambda: any(serving(self, kind)))

    def _check_beliefs(self, beliefs: Collection[Discrete]) -> None:
        """Raise an UnsupportedModelError if the model allows no `Belief` about a variable.

        A `Belief` is soft evidence given as new probabilities (Jeffrey's rule). This base class
        allows all of them.
        """

    # --------------------------------------------------------------------------------- solvers

    @cached_property
    def _memo(self) -> Memo:
        """Cache of prepared queries, by query and set of observed variables."""
        return Memo()

    def _work(
        self, question: Question, pattern: Pattern, memory_limit: float | None = None
    ) -> Work:
        """Return a query prepared by its solver for a set of observed variables, and cache it.

        Parameters
        ----------
        question : Question
            Type and targets of the query.
        pattern : Pattern
            The observed variables, without their values.
        memory_limit : float, optional
            Bytes.
        """
        return self._memo.get(
            (type(question), question, pattern),
            lambda: first_work(self, question, pattern, memory_limit),
        )

    def _plan_of(self, question: Question, pattern: Pattern) -> Plan:
        """Return the plan of a query for a set of observed variables; see `plan`."""
        return first_plan(self, question, pattern)

    # ----------------------------------------------------------------------------------- batches

    def _log_posterior_rows(self, target: Discrete, evidence: Evidence) -> Floats:
        """Return the unnormalised log posterior of a target for each row of encoded evidence.

        Returns
        -------
        ndarray, shape (n_rows, n_states)
            log P(target, evidence), to which a factor graph adds its log partition function; all
            entries of a row of impossible evidence are minus infinity.
        """
        question = Joint((self._index_of[target.name],))
        return self._work(question, self._row_pattern(evidence)).run_rows(evidence)

    def _log_evidence_rows(self, evidence: Evidence) -> Floats:
        """Return the log probability (density) of each row of encoded evidence."""
        logs = self._work(Mass(), self._row_pattern(evidence)).run_rows(evidence)
        return logs - self._log_normaliser()

    def _log_normaliser(self) -> float:
        """Return the log of the partition function, which is zero for a Bayesian network.

        Posteriors do not need it, and can be computed even if it is intractable or infinite.
        """
        return 0.0

    def _row_pattern(self, evidence: Evidence) -> Pattern:
        """Return which variables have columns and likelihoods in a batch of rows."""
        index_of = self._index_of
        soft = evidence.likelihoods
        return Pattern(
            tuple([index_of[v.name] for v in evidence.columns]),
            tuple([index_of[v.name] for v in soft]) if soft else (),
            rows=True,
        )


# -------- The methods of models that return a changed model, and why some models have none of them


class Edits:
    """Base class of models: methods that return a changed model. Models are never changed.

    A `BayesianNetwork` has all of them. Other models have those that mean the same for them; for
    others they raise an UnsupportedModelError that says what to edit instead.
    """

    # What to edit in place of the model, for messages.
    _edit_advice: ClassVar[str] = ""

    def with_cpd(self, *cpds: CPD) -> Self:
        """Return the network with other distributions, of its variables or of new ones.

        Arcs follow from the parents of the CPDs. Several at once may change the states of a
        variable together with the distributions of its children.

        Parameters
        ----------
        *cpds : CPD
            Each replaces those of its children, or adds these as new variables.

        Raises
        ------
        ModelError
            If a parent is missing, or has other states in its own CPD.
        GraphError
            If there would be a cycle; the message names it.
        """
        raise self._cannot("with_cpd")

    def without(self, *names: Name) -> Self:
        """Return the network without some variables, none of which has a child that is left.

        What is left has the same joint distribution. `marginalised` leaves out any variable.

        Raises
        ------
        UnknownVariableError
            For an unknown name; the message suggests the nearest one.
        ModelError
            If a child of one of the variables, or no variable at all, is left.
        """
        raise self._cannot("without")

    def with_arc(self, parent: Name, child: Name) -> Self:
        """Return the network with one more arc, which changes no probability.

        `with_cpd` gives the child the distribution that it shall have.

        Raises
        ------
        UnknownVariableError
            For an unknown name; the message suggests the nearest one.
        ModelError
            If there is such an arc.
        GraphError
            If there would be a cycle; the message names it.
        UnsupportedModelError
            If the CPD of the child takes no such parent.
        """
        raise self._cannot("with_arc")

    def renamed(self, names: Mapping[Name, Name]) -> Self:
        """Return the model with other names of some variables.

        Parameters
        ----------
        names : mapping from name to new name
            Two variables may swap their names.

        Raises
        ------
        UnknownVariableError
            For an unknown name; the message suggests the nearest one.
        ModelError
            If two variables would have one name.
        """
        raise self._cannot("renamed")

    def with_states(self, name: Name, states: Mapping[State, State] | Sequence[State]) -> Self:
        """Return the model with other names, or another order, of the states of a variable.

        Parameters
        ----------
        name : name
            A discrete variable, not one of intervals or groups.
        states : mapping from state to new state, or sequence of states
            A mapping gives states other names, which stay in their places. A sequence has all
            states in the new order.

        Raises
        ------
        UnknownVariableError, UnknownStateError
            For an unknown name or state; the message suggests the nearest one.
        EvidenceError
            If two states would have one name, or a sequence does not have each state once.
        UnsupportedModelError
            For other variables; or if a CPD has no form with another order of the states.
        """
        raise self._cannot("with_states")

    def conditioned(self, evidence: EvidenceLike) -> Self:
        """Return the distribution of all other variables given evidence, as a model of its own.

        It equals asking this model with the evidence, without the variables that are observed. A
        finding makes the parents of its variable dependent: each likelihood is absorbed by the last
        of the variables that it depends on, which gets arcs from the others (Shachter 1986).

        Parameters
        ----------
        evidence : mapping from name to value
            As in `query`; variables with likelihoods or a belief are not observed, and stay.

        Raises
        ------
        ImpossibleEvidenceError
            If the evidence has probability zero.
        ModelError
            If no variable is left.
        MemoryLimitError
            If a distribution would take more than half of the machine's memory.
        UnsupportedModelError
            If a distribution would have no CPD, such as a discrete child of continuous parents.
        """
        raise self._cannot("conditioned")

    def marginalised(self, *names: Name) -> Self:
        """Return the distribution of all other variables, as a model of its own.

        Each variable is summed (integrated) out exactly. Its children get arcs from its parents,
        from each other and from each other's parents, where needed (Shachter 1986).

        Raises
        ------
        UnknownVariableError
            For an unknown name; the message suggests the nearest one.
        ModelError
            If no variable is left.
        MemoryLimitError
            If a distribution would take more than half of the machine's memory.
        UnsupportedModelError
            If a child would have no CPD, such as a mixture of Gaussians.
        """
        raise self._cannot("marginalised")

    def _merged(self, other: Any, *, prefer: Literal["self", "other"] | None = None) -> Self:
        raise self._cannot("merged")

    def _annotated(self, annotations: Annotations) -> Self:
        raise self._cannot("annotated")

    def _expanded(self) -> Self:
        raise self._cannot("expanded")

    def _cannot(self, method: str) -> UnsupportedModelError:
        """Return the error for a method that this type of model does not have."""
        return UnsupportedModelError(
            f"{type(self).__name__} has no {method}(), which is for a Bayesian network."
            f"{self._edit_advice}"
        )


def merged(network: Any, other: Any, *, prefer: Literal["self", "other"] | None = None) -> Any:
    """Return one network of the variables of two.

    Variables of one name are the same variable, which must have the same states in both.

    Parameters
    ----------
    other : BayesianNetwork
    prefer : {"self", "other"}, optional
        Whose CPD a variable gets if it has different ones. Parts of one model often give the
        variables that they take from another part a stand-in without parents.

    Raises
    ------
    ModelError
        If a variable has other states, or other CPDs and nothing is preferred.
    GraphError
        If there would be a cycle; the message names it.
    """
    return network._merged(other, prefer=prefer)


def annotated(network: Any, annotations: Annotations) -> Any:
    """Return the network with other positions, titles and notes, instead of those it has.

    Raises
    ------
    ModelError
        If they name a variable that the network does not have.
    """
    return network._annotated(annotations)


def expanded(network: Any) -> Any:
    """Return the network with tables in the place of canonical CPDs, such as noisy ors.

    Raises
    ------
    MemoryLimitError
        If a table takes more than half of the machine's memory.
    """
    return network._expanded()
