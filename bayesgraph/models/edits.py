"""The methods of models that return a changed model, and why some models have none of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from bayesgraph.cpds import CPD
from bayesgraph.errors import UnsupportedModelError
from bayesgraph.typing import EvidenceLike
from bayesgraph.variables import Name, State

if TYPE_CHECKING:
    from bayesgraph.models.annotations import Annotations
    from bayesgraph.models.model import Model


class Edits:
    """Base class of models: methods that return a changed model. Models are never changed.

    A `BayesianNetwork` has all of them. Other models have those that mean the same for them; for
    others they raise an UnsupportedModelError that says what to edit instead.
    """

    # What to edit in place of the model, for messages.
    edited: ClassVar[str] = ""

    def with_cpd(self, *cpds: CPD) -> Model:
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

    def without(self, *names: Name) -> Model:
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

    def with_arc(self, parent: Name, child: Name) -> Model:
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

    def renamed(self, names: Mapping[Name, Name]) -> Model:
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

    def with_states(self, name: Name, states: Mapping[State, State] | Sequence[State]) -> Model:
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

    def conditioned(self, evidence: EvidenceLike) -> Model:
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

    def marginalised(self, *names: Name) -> Model:
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

    def merged(self, other: Any, *, prefer: Literal["self", "other"] | None = None) -> Model:
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
        raise self._cannot("merged")

    def annotated(self, annotations: Annotations) -> Model:
        """Return the network with other positions, titles and notes, instead of those it has.

        Raises
        ------
        ModelError
            If they name a variable that the network does not have.
        """
        raise self._cannot("annotated")

    def expanded(self) -> Model:
        """Return the network with tables in the place of canonical CPDs, such as noisy ors.

        Raises
        ------
        MemoryLimitError
            If a table takes more than half of the machine's memory.
        """
        raise self._cannot("expanded")

    def _cannot(self, method: str) -> UnsupportedModelError:
        return UnsupportedModelError(
            f"{type(self).__name__} has no {method}(), which is for a Bayesian network."
            f"{self.edited}"
        )
