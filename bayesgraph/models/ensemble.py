"""Ensembles: several networks with weights, whose distributions or posteriors are averaged."""

from __future__ import annotations

import weakref
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from bayesgraph import graphs
from bayesgraph.core.arrays import Floats, log_of
from bayesgraph.core.errors import (
    BayesGraphWarning,
    DataTypeError,
    ModelError,
    UnsupportedModelError,
    quoted,
    warn,
)
from bayesgraph.core.evidence import Arrangement, Evidence, MatrixColumns
from bayesgraph.core.typing import EvidenceLike
from bayesgraph.core.variables import (
    Arc,
    Binned,
    Continuous,
    CountVector,
    Discrete,
    Grouped,
    Name,
    State,
    Variable,
)
from bayesgraph.inference import (
    Best,
    Case,
    Joint,
    Pattern,
    Question,
    Slopes,
    divided,
    grouped,
    normalised,
    posterior_weights,
    prior_term,
    tempered,
)
from bayesgraph.models.bayesian_network import BayesianNetwork, networks_in
from bayesgraph.models.cpds.base import CPD
from bayesgraph.models.editing import given, new_names
from bayesgraph.models.evidence import Finding, as_mapping, impossible, read_case, read_values
from bayesgraph.models.model import Model, with_findings
from bayesgraph.tables import array_names

if TYPE_CHECKING:
    import networkx as nx

# Minimum exponent of evidence: with smaller ones probabilities that underflowed would matter.
_LEAST = 0.05
# Maximum number of intervals of a number whose cut points differ among networks.
_MOST_INTERVALS = 256
# For each way to combine networks: the form, and which model to query in place of the ensemble.
_COMBINED = {
    "joint": ("mixture", " Query one of its `networks`."),
    "posterior": (
        "average",
        " It is no joint distribution: query one of its `networks`, or fit the classifier with "
        "n_trees=0 for a single network.",
    ),
}


class Ensemble(Model):
    """Several networks with weights, whose joint distributions or posteriors are averaged.

    With ``combine="joint"`` it is a mixture, P(x) = sum_m w_m P_m(x): the index of the network that
    generates a row is a hidden variable with the distribution w. The networks have the same
    variables, and answers are averaged with the posterior probabilities of the networks.

    With ``combine="posterior"`` it is sum_m w_m P_m(target | evidence), with weights that do not
    depend on the evidence, as in bagging (Breiman 1996). This defines no joint distribution: there
    is no probability of evidence, no most probable explanation and no sample. Networks may lack
    variables and states. Each takes notice of what it has a variable and a state for; a posterior
    is averaged over the networks that have the variable, and a state that a network lacks has
    probability zero in it. A network that rules the evidence out has its prior in the average;
    evidence that all of them rule out is refused.

    Parameters
    ----------
    networks : iterable of models
        A variable is the same one in all of them if its name is: rename those of networks fitted on
        arrays of different columns, which are called x0, x1, ... in each. Where an average has only
        such names, `first` says that they are the same columns, or there is a warning.
    weights : array_like, shape (number of networks,), optional
        Non-negative weights, which are divided by their sum. Equal by default.
    combine : {"joint", "posterior"}
    first : iterable of Variable, optional
        Variables that begin the attribute `variables`, in this order. Their states precede other
        states of the same variable in the networks.
    arc_probabilities : mapping from (parent, child) to float, optional
        Probabilities of the arcs, which plots draw as opacities; by default the total weight of the
        networks that have the arc.
    prior_ratios : mapping from name to array_like, shape (n_states,), optional
        For posteriors: ratio of a new to the old prior of each state of a discrete variable. The
        averaged posterior of the variable is multiplied by it and normalised: the prior shifts, and
        the distributions of all else given the variable stay (Saerens, Latinne, Decaestecker 2002).
        Posteriors of other variables alone, and the networks, stay too.
    exponents : mapping from name to array_like, shape (number of networks,), optional
        For posteriors: exponents, at least 0.05, with which each network's evidence about a
        discrete variable counts: in the place of P_m(t | evidence) the average has what is
        proportional to P_m(t) (P_m(t | evidence) / P_m(t))^exponent. Exponents above 1 make
        posteriors more certain, such as those of random trees, which are not certain enough
        (scaling by a temperature: Guo, Pleiss, Sun, Weinberger 2017); without evidence the
        posterior stays the prior. 1 by default. In joint posteriors, the distributions of all else
        given the variable stay. What an intervention (`do`) changes is no evidence.

    Attributes
    ----------
    networks : tuple of models
    weights : ndarray, shape (number of networks,)
        Weights that sum to one.
    combine : {"joint", "posterior"}
    prior_ratios, exponents : mapping from name to ndarray
    variables : tuple of Variable
        The variables of all networks. A variable whose states differ has the states of all, and one
        whose intervals differ has the cut points of all, at most 255. Within an interval of a
        network, its probability is divided as in the network with the most intervals.

    Raises
    ------
    ModelError
        For no networks, invalid weights, ratios or exponents, variables of one name and different
        kinds or too many intervals, different variables in a mixture, or an average of networks
        fitted on arrays of different numbers of columns.

    Examples
    --------
    >>> import bayesgraph as bg
    >>> a, b = bg.Discrete("a", [0, 1]), bg.Discrete("b", [0, 1])
    >>> apart = bg.BayesianNetwork([bg.TableCPD(a, [0.5, 0.5]), bg.TableCPD(b, [0.5, 0.5])])
    >>> linked = bg.BayesianNetwork([
    ...     bg.TableCPD(a, [0.5, 0.5]), bg.TableCPD(b, [[1.0, 0.0], [0.0, 1.0]], parents=[a]),
    ... ])
    >>> Ensemble([apart, linked], [1, 3], combine="joint").query("b", {"a": 1})
    P(b)
      0  0.125000  ███
      1  0.875000  █████████████████████
    """

    _edit_advice = (
        " Change its networks, and make another Ensemble(networks, weights, combine) of them."
    )

    def __init__(
        self,
        networks: Iterable[Model],
        weights: ArrayLike | None = None,
        combine: str = "joint",
        *,
        first: Iterable[Variable] = (),
        arc_probabilities: Mapping[Arc, float] | None = None,
        prior_ratios: Mapping[Name, ArrayLike] | None = None,
        exponents: Mapping[Name, ArrayLike] | None = None,
    ) -> None:
        if combine not in _COMBINED:
            raise ModelError(f"combine= is one of {quoted(_COMBINED)}; got {combine!r:.80}.")
        self.combine = combine
        self._kind, self._advice = _COMBINED[combine]
        self._is_joint = is_joint = combine == "joint"
        self.networks: tuple[Any, ...] = _checked_networks(networks, is_joint)
        self.weights = _checked_weights(weights, len(self.networks))
        by_name: dict[Name, list[Variable]] = {v.name: [v] for v in first}
        is_named = bool(by_name)  # `first` says that variables of one name are the same
        for network in self.networks:
            for variable in network.variables:
                by_name.setdefault(variable.name, []).append(variable)
        if is_joint:
            _check_same(self.networks)
        elif not is_named:
            _check_named(self.networks)
        self.variables = tuple(_joined(each) for each in by_name.values())
        self._by_name = {variable.name: variable for variable in self.variables}
        if is_joint and (prior_ratios or exponents):
            raise ModelError(
                "prior_ratios= and exponents= are of averages of posteriors; leave them out, or "
                "give combine='posterior'."
            )
        self.prior_ratios = self._by_variable("prior_ratios", prior_ratios, 0.0)
        self.exponents = self._by_variable("exponents", exponents, _LEAST)
        self._given_probabilities: Mapping[Arc, float] = dict(arc_probabilities or {})
        for arc, value in self._given_probabilities.items():
            if not self.graph.has_edge(*arc):
                raise ModelError(f"arc_probabilities has {arc!r}, an arc of none of the networks.")
            if not 0 <= value <= 1:
                raise ModelError(f"A probability lies between 0 and 1; {arc!r} has {value!r}.")

    @classmethod
    def of(cls, bag: Any) -> Ensemble:
        """Return a fitted bag of classifiers as one model: the average of their posteriors.

        scikit-learn hands its members arrays with the columns that each has drawn, and classes as
        numbers. Here all columns have their names again, and the classes their labels.

        Parameters
        ----------
        bag : sklearn.ensemble.BaggingClassifier
            Of classifiers of bayesgraph. With ``max_features=0.5`` each has a random subspace of
            half of the columns (Ho 1998).

        Raises
        ------
        ModelError
            If `bag` is no fitted bag, a member has drawn a column twice, or columns are items of a
            vector of counts.

        Examples
        --------
        >>> import bayesgraph as bg
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.ensemble import BaggingClassifier
        >>> bag = BaggingClassifier(bg.NaiveBayesClassifier(), max_features=0.5, random_state=0)
        >>> X, y = load_iris(return_X_y=True, as_frame=True)
        >>> model = Ensemble.of(bag.fit(X, y))
        >>> model.query("class", {"petal length (cm)": 4.5}).argmax
        1
        """
        if not hasattr(bag, "estimators_features_"):
            raise ModelError(
                "Ensemble.of takes a fitted BaggingClassifier of scikit-learn, whose members are "
                f"classifiers of bayesgraph; got {bag!r:.80}."
            )
        columns = getattr(bag, "feature_names_in_", np.array(array_names(bag.n_features_in_)))
        networks = []
        for member, places in zip(bag.estimators_, bag.estimators_features_, strict=True):
            drawn = array_names(len(places))
            if [v.name for v in member.features_] != drawn:
                raise ModelError(f"The features of a bag are columns; {member!r} has others.")
            # The member's classes are indices of the labels in the bag.
            labels = dict(
                zip(member.classes_.tolist(), bag.classes_[member.classes_].tolist(), strict=True)
            )
            network = member.network_.with_states(member.target_.name, labels)
            names = dict(zip(drawn, columns[places].tolist(), strict=True))
            networks.append(network.renamed(names))
        return cls(networks, combine="posterior", first=networks[0].variables)

    def _by_variable(self, argument: str, by_name: Any, lowest: float) -> dict[Name, Floats]:
        """Return checked numbers about discrete variables, by the names of the variables.

        Exponents are one for each network, and ratios one for each state.
        """
        if by_name is not None and not isinstance(by_name, Mapping):
            raise ModelError(
                f"{argument}= maps the name of a variable to numbers, such as {{'class': [1, 2]}}; "
                f"got {by_name!r:.200}."
            )
        checked: dict[Name, Floats] = {}
        for name, numbers in (by_name or {}).items():
            variable = self.variable(name)
            if not isinstance(variable, Discrete):
                raise ModelError(f"{argument}= is of discrete variables; got {variable!r}.")
            n, each = variable.cardinality, quoted(variable.states)
            if argument == "exponents":
                n, each = len(self.networks), f"{len(self.networks)} networks"
            values = _floats(numbers)
            good = values.shape == (n,) and bool(values.any())
            if not good or not (np.isfinite(values) & (values >= lowest)).all():
                raise ModelError(
                    f"{argument}= of {variable.name!r} are finite numbers of at least {lowest:g}, "
                    f"one for each of {each}, not negative and not all zero; got {numbers!r:.200}."
                )
            values.flags.writeable = False
            checked[name] = values
        return checked

    def _with_networks(
        self,
        networks: Iterable[Model],
        changed: Collection[Name] = (),
        renamed: Mapping[Name, Name] | None = None,
    ) -> Ensemble:
        """Return the ensemble of other networks, one in the place of each.

        Weights, ratios, exponents and the probabilities of arcs that are left stay, as do the
        variables of an average but those that are `changed`. `renamed` has the new names.
        """
        networks, new_name = list(networks), renamed or {}
        # By old variable the one of the new name.
        variables = new_names(self, new_name) if new_name else {}
        present = {v.name for network in networks for v in network.variables}
        first = [variables.get(v, v) for v in self.variables if v.name not in changed]
        arcs = {arc for network in networks for arc in network.arc_probabilities}
        probabilities = {
            (new_name.get(a, a), new_name.get(b, b)): p
            for (a, b), p in self._given_probabilities.items()
        }
        # `first` keeps order and states. A change of a mixture's networks, but for names, is one of
        # its variables, which are therefore read from the networks.
        return Ensemble(
            networks,
            self.weights,
            self.combine,
            first=[v for v in first if v.name in present] if renamed or not self._is_joint else (),
            arc_probabilities={arc: p for arc, p in probabilities.items() if arc in arcs},
            prior_ratios={new_name.get(n, n): ratio for n, ratio in self.prior_ratios.items()},
            exponents={new_name.get(n, n): x for n, x in self.exponents.items()},
        )

    def _with_prior(self, target: Discrete, ratio: Floats) -> Ensemble:
        """Return the ensemble with the prior of a class multiplied by a ratio; see `Model`."""
        ratios = {target.name: self.prior_ratios.get(target.name, 1.0) * ratio}
        return Ensemble(
            self.networks,
            self.weights,
            self.combine,
            first=self.variables,
            arc_probabilities=self._given_probabilities,
            prior_ratios={**self.prior_ratios, **ratios},
            exponents=self.exponents,
        )

    def _to_factor_graph(self) -> NoReturn:
        """Refuse: an average of distributions is no product."""
        raise UnsupportedModelError(
            "An average with random trees is no factor graph; fit with n_trees=0 for a single "
            "network."
        )

    # ------------------------------------------------------------------------------- what it has

    @cached_property
    def graph(self) -> nx.DiGraph:
        """The union of the networks' graphs; nodes are names, arcs have a `probability`.

        Two networks may have an arc in opposite directions, so that the union may have cycles: it
        is for plots and not a factorisation. The graphs of the networks are
        ``[network.graph for network in model.networks]``.
        """
        each = [network.arc_probabilities for network in self.networks]
        members = zip(each, self.weights.tolist(), strict=True)
        return graphs.union_of_arcs(self.names, members, self._given_probabilities)

    @property
    def arc_probabilities(self) -> dict[Arc, float]:
        """Probability of each arc, as given to the constructor.

        By default it is the total weight of the networks with the arc.
        """
        return {(a, b): p for a, b, p in self.graph.edges(data="probability")}

    @property
    def arc_scores(self) -> dict[Arc, float]:
        """Score of each arc: its weighted mean over the networks that have a score of the arc."""
        scores: dict[Arc, list[tuple[float, float]]] = {}
        for network, weight in zip(self.networks, self.weights.tolist(), strict=True):
            for arc, score in network.arc_scores.items():
                scores.setdefault(arc, []).append((score, weight))
        columns = {arc: np.array(pairs).T for arc, pairs in scores.items()}
        # Without any weight, the score in the first network that has one.
        return {
            arc: float(np.average(values, weights=shares)) if shares.any() else float(values[0])
            for arc, (values, shares) in columns.items()
        }

    @property
    def cpds(self) -> tuple[CPD, ...]:
        """The CPDs of all networks, one network after the other."""
        return tuple(cpd for _, network in networks_in(self) for cpd in network.cpds)

    @property
    def n_parameters(self) -> int:
        """Number of free parameters of all networks, and of the weights of a mixture."""
        total = sum(network.n_parameters or 0 for network in self.networks)
        return total + (len(self.networks) - 1 if self._is_joint else 0)

    # ------------------------------------------------------------------------------ for solvers

    @cached_property
    def all_members(self) -> tuple[Member, ...]:
        """One `Member` for each network."""
        ensemble: Any = weakref.proxy(self)  # a weak reference avoids a cycle
        return tuple(Member(ensemble, place) for place in range(len(self.networks)))

    @cached_property
    def members(self) -> tuple[Member, ...]:
        """One `Member` for each network of positive weight; solvers query these."""
        return tuple(member for member in self.all_members if member.weight > 0)

    @property
    def _title(self) -> str:
        """What kind of model it is, in words."""
        if self._is_joint:
            return f"mixture of {len(self.networks)} Bayesian networks"
        tempered = ", with exponents of their evidence" if self.exponents else ""
        return f"average of the posteriors of {len(self.networks)} models{tempered}"

    @property
    def _cut_numbers(self) -> dict[int, Binned]:
        """The numbers whose intervals differ among the networks, by index; see `Model`."""
        pairs = ((v, self.variables[v]) for member in self.members for v in member.codes)
        return {v: variable for v, variable in pairs if isinstance(variable, Binned)}

    def members_with(self, targets: Sequence[int]) -> list[Member]:
        """Return the members whose networks have all target variables, given by their indices.

        Raises
        ------
        UnsupportedModelError
            If there is no such member, or a target is a number in some networks and has intervals
            in others.
        """
        names = [self.variables[target].name for target in targets]
        holders = [m for m in self.members if all(target in m.places for target in targets)]
        if not holders:
            raise UnsupportedModelError(
                f"No member of this average has all of {quoted(names)}; query one at a time."
            )
        for target, name in zip(targets, names, strict=True):
            if any(target in member.cut for member in self.members):
                raise UnsupportedModelError(
                    f"{name!r} is a number in some networks of this ensemble and has intervals in "
                    "others, so that there is no posterior of it to average; give its value, or "
                    "query one of its `networks`."
                )
        return holders

    def shares_of(self, variable: int) -> dict[int, Floats]:
        """Return by network the share of each state of a variable in that of the network.

        The probability of an interval (or group) is divided as in the network with the most of
        them, and there in equal parts. A state that a network lacks has the share 0.
        """
        return self._memo.get(("shares", variable), lambda: self._shares(variable))

    def _shares(self, variable: int) -> dict[int, Floats]:
        """Return the shares of states, shape (n_states,), by index of network; see `shares_of`."""
        holders = [m for m in self.members if variable in m.places]
        finest = max(holders, key=lambda m: m.network.variables[m.places[variable]].cardinality)
        prior = finest.network.query(self.variables[variable].name).probabilities
        # Indices of states in a network plus one: 0 for a state that it lacks.
        places = finest.codes.get(variable, np.arange(len(prior))) + 1
        # The probability of each of the ensemble's states: that of the finest network's state that
        # contains it, divided by the number of states in it.
        cells = np.append(0.0, prior)[places] / np.bincount(places)[places]
        shares = {}
        for member in holders:
            places = member.codes.get(variable, np.arange(len(cells))) + 1
            # Parts of the network's state: in proportion to `cells`, or equal if all are zero.
            total, equal = np.bincount(places, cells)[places], 1.0 / np.bincount(places)[places]
            inside = np.divide(cells, total, out=equal, where=total > 0)
            shares[member.place] = np.where(places > 0, inside, 0.0)
        return shares

    def ratio_of(self, targets: Sequence[int]) -> Floats | None:
        """Return the ratio of new to old priors that multiplies the joint posterior of targets.

        Parameters
        ----------
        targets : sequence of int
            Indices of the target variables in `variables`.

        Returns
        -------
        ndarray, shape (*cardinalities of the targets), or None
            None if no prior is shifted.

        Raises
        ------
        UnsupportedModelError
            If one of them has a ratio or exponents, and another one is continuous; or if several
            have exponents.
        """
        chosen: list[Any] = [self.variables[target] for target in targets]
        names = {variable.name for variable in chosen}
        tempered_ones = names & self.exponents.keys()
        shifted = tempered_ones | (names & self.prior_ratios.keys())
        numbers = [variable.name for variable in chosen if not isinstance(variable, Discrete)]
        if (shifted and numbers) or len(tempered_ones) > 1:
            raise UnsupportedModelError(
                "An average with a shifted prior or with exponents has no joint posterior of them "
                f"and numbers, nor of several with exponents, here of {quoted(names)}; query one "
                "at a time."
            )
        if names.isdisjoint(self.prior_ratios):
            return None
        ratio = np.ones(())  # the outer product of the ratios of all targets
        for variable in chosen:
            ratios = self.prior_ratios.get(variable.name, np.ones(variable.cardinality))
            ratio = np.multiply.outer(ratio, ratios)
        return ratio

    def posterior_weights(self, evidence: EvidenceLike = None) -> Floats:
        """Return the posterior probability of each network of a mixture, shape (n_networks,).

        Raises
        ------
        ImpossibleEvidenceError
            If the evidence has probability zero under all networks.
        UnsupportedModelError
            For an average of posteriors, whose weights are fixed.
        """
        if not self._is_joint:
            raise UnsupportedModelError(
                "The networks of an average of posteriors have fixed weights, its `weights`; those "
                "of a mixture follow the evidence: combine='joint'."
            )
        asked, states = with_findings(self, as_mapping(evidence))
        weights = posterior_weights(asked, read_case(asked, states))
        if weights is None:
            raise impossible(evidence)
        return weights

    def _check_beliefs(self, beliefs: Collection[Discrete]) -> None:
        """Raise an UnsupportedModelError for a `Belief` about an average of posteriors."""
        if not self._is_joint:
            raise UnsupportedModelError(
                "An average of posteriors takes no Belief (got one about "
                f"{quoted(v.name for v in beliefs)}): its weights are fixed. Give likelihoods, or "
                "query one of its `networks`."
            )

    # ---------------------------------------------------------------- interventions and findings

    def _without_parents(self, names: Collection[Name]) -> Ensemble:
        """Return the mixture for queries that set some variables; see `Model._without_parents`."""
        return self._changed("_without_parents", names)

    def do(self, values: Mapping[Name, Any]) -> Ensemble:
        """Return the ensemble of the networks after an intervention; see `Model.do`.

        The weights stay: that a variable is set says nothing about the networks. In an average, a
        network without a variable takes no notice of its value, and exponents are of the evidence
        only: the prior is that after the intervention.

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
        settings = [member.values(chosen) for member in self.all_members]
        networks = [m.do(x) if x else m for m, x in zip(self.networks, settings, strict=True)]
        return self._with_networks(networks)

    def _with_values_set(self, values: Mapping[Name, Any]) -> tuple[Model, Mapping[Name, Any]]:
        """Return the ensemble after an intervention, and the values of what is still in it.

        In an average, a network that rules out the evidence enters with its prior, in which the
        values have to be set: so they are more than evidence.
        """
        if self._is_joint:
            return super()._with_values_set(values)
        # Numbers that are set have left the networks; discrete variables stay, and are observed.
        changed = self.do(values)
        return changed, {name: value for name, value in values.items() if name in changed._index_of}

    def _with_findings(self, findings: Mapping[Name, Finding]) -> Ensemble:
        """Return the ensemble with numbers replaced by states; see `Model._with_findings`."""
        if cut := {self.variables[v].name for m in self.members for v in m.cut} & findings.keys():
            raise UnsupportedModelError(
                f"{quoted(cut)} have intervals in some networks of this ensemble, which take no "
                "likelihoods and other bounds; give a value."
            )
        networks = []
        for network in self.networks:
            chosen = {name: each for name, each in findings.items() if name in network._index_of}
            networks.append(network._with_findings(chosen) if chosen else network)
        return self._with_networks(networks, findings)

    # --------------------------------------------------------------------------------- editing

    def _changed(self, method: str, *arguments: Any) -> Ensemble:
        """Return the mixture of its networks after a change; refuse that of an average."""
        if not self._is_joint:
            raise self._cannot(method)
        return self._with_networks([getattr(m, method)(*arguments) for m in self.networks])

    def without(self, *names: Name) -> Ensemble:
        """Return the mixture without variables that no network has below it; see `Model.without`.

        The weights stay: variables that are not observed say nothing about the networks.
        """
        return self._changed("without", *names)

    def marginalised(self, *names: Name) -> Ensemble:
        """Return the distribution of the other variables; see `Model.marginalised`."""
        return self._changed("marginalised", *names)

    def with_states(self, name: Name, states: Mapping[State, State] | Sequence[State]) -> Ensemble:
        """Return the mixture with other states of a variable; see `Model.with_states`."""
        return self._changed("with_states", name, states)

    def conditioned(self, evidence: EvidenceLike) -> Ensemble:
        """Return the distribution of the other variables given evidence; see `Model.conditioned`.

        The weights become the posterior ones, and networks of posterior weight zero are left out.
        """
        if not self._is_joint:
            raise self._cannot("conditioned")
        weights = self.posterior_weights(evidence)
        possible = np.flatnonzero(weights > 0)
        asked: Any
        asked, states = with_findings(self, as_mapping(evidence))
        # One case for all: a belief is about the mixture, and no network has it alone.
        case = read_case(asked, states)
        members = [asked.all_members[i] for i in possible]
        networks = [m.network._of(given(m.network, m.case(case))[0]) for m in members]
        return Ensemble(networks, weights[possible], "joint")

    def renamed(self, names: Mapping[Name, Name]) -> Ensemble:
        """Return the ensemble with other names of some variables; see `Model.renamed`."""
        renamed = {old.name: v.name for old, v in new_names(self, names).items()}
        networks = [
            network.renamed({a: b for a, b in renamed.items() if a in network._index_of})
            for network in self.networks
        ]
        return self._with_networks(networks, (), renamed)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Ensemble)
            and self.combine == other.combine
            and self.networks == other.networks
            and self.variables == other.variables
            and np.array_equal(self.weights, other.weights)
            and _are_equal(self.prior_ratios, other.prior_ratios)
            and _are_equal(self.exponents, other.exponents)
        )

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        arcs = f"{self.graph.number_of_edges()} different arcs and " * (self._is_joint)
        return (
            f"Ensemble ({self.combine}) of {len(self.networks)} networks over "
            f"{len(self.variables)} variables, {arcs}{self.n_parameters} parameters"
        )


class Member:
    """A network of an ensemble, and how it reads the ensemble's evidence, targets and questions.

    Attributes
    ----------
    place : int
        Index of the network in the ensemble.
    network : Model
    weight, log_weight : float
    exponents : mapping from name to float
        The exponents that are not 1.
    places : mapping from int to int
        Index in the network of each of the ensemble's variables that it has, by index there.
    """

    def __init__(self, ensemble: Ensemble, place: int) -> None:
        self.place = place
        self.network: Any = ensemble.networks[place]
        self.weight = float(ensemble.weights[place])
        self.log_weight = float(log_of(ensemble.weights[place]))
        self.exponents = {
            name: float(x[place]) for name, x in ensemble.exponents.items() if x[place] != 1.0
        }
        index_of = self.network._index_of
        names = enumerate(ensemble.names)
        self.places = {v: index_of[name] for v, name in names if name in index_of}
        self._ensemble = ensemble
        # Equal variables have equal columns of rows; if also in the same order, equal indices.
        self._has_same_rows = set(self.network.variables) == set(ensemble.variables)
        self._is_same = self._has_same_rows and all(v == at for v, at in self.places.items())
        # By target: log of the prior to the power 1 - exponent, which is the same for all rows.
        self._prior_terms: dict[int, Floats] = {}
        # How variables that differ are read, by index in the ensemble: the network's code of each
        # state, -1 for none; the network's intervals of a number; the positions of its items.
        self.codes: dict[int, NDArray[np.int64]] = {}
        self.cut: dict[int, Binned] = {}
        self.items: dict[int, list[int]] = {}
        for v, place_of_v in self.places.items():
            joined: Any = ensemble.variables[v]
            variable: Any = self.network.variables[place_of_v]
            if joined == variable:
                continue
            if isinstance(joined, CountVector):
                self.items[v] = [joined.positions[item] for item in variable.items]
            elif isinstance(joined, Discrete):
                self.codes[v] = codes_in(variable, joined)
            elif isinstance(variable, Binned):
                self.cut[v] = variable

    def numbers(self, variables: Sequence[int]) -> tuple[int, ...]:
        """Return the network's indices of variables, given their indices in the ensemble."""
        return tuple(self.places[v] for v in variables)

    def question(self, question: Any) -> Question:
        """Return the query with the variables re-indexed to the network."""
        if isinstance(question, Joint):
            return question._replace(targets=self.numbers(question.targets))
        if isinstance(question, Best) and question.over is not None:
            return question._replace(over=self.numbers(question.over))
        if isinstance(question, Slopes):
            return question._replace(target=self.places[question.target])
        same: Question = question  # it names no variables by their indices
        return same

    def pattern(self, pattern: Pattern) -> Pattern:
        """Return the pattern (variables with evidence) of those that the network has."""
        if self._is_same:
            return pattern
        observed, soft = (
            tuple(sorted(self.places[v] for v in part if v in self.places))
            for part in (pattern.observed, pattern.soft)
        )
        return Pattern(observed, soft, pattern.rows)

    def case(self, case: Case) -> Case:
        """Return the evidence on one case of which the network has variables and states."""
        if self._is_same:
            return case
        hard: dict[int, Any] = {}
        for v, value in case.hard.items():
            if v not in self.places:
                continue
            if v in self.codes:
                value = int(self.codes[v][value])
                if value < 0:  # the network lacks the state, and takes no notice
                    continue
            elif v in self.items:
                value = np.asarray(value)[self.items[v]]
            elif v in self.cut:
                value = self.cut[v].encode(value)
            hard[self.places[v]] = value
        soft = {
            self.places[v]: self._likelihoods(v, logs)
            for v, logs in case.soft.items()
            if v in self.places
        }
        return Case(hard, soft, case.log_scale)

    def rows(self, rows: Evidence) -> Evidence:
        """Return the encoded rows of which the network has variables and states."""
        if self._has_same_rows:
            return rows
        wholes = tuple(rows.columns)
        # How to read columns depends on which there are: it is kept for the next rows. For the
        # parts see `_layout`.
        key = "member rows", self.place, wholes
        coded, owns, starts, table, others, keeps = self._ensemble._memo.get(
            key, lambda: self._layout(wholes)
        )
        columns: Any = {}
        # Matrices of numbers stay; that of codes is replaced.
        matrices = [pair for pair in rows.matrices if not isinstance(pair[0][0], Discrete)]
        if coded:
            # All codes are translated in one look-up; each variable has its own part of `table`.
            codes = table[rows.matrix(coded) + starts]
            columns = MatrixColumns(owns, codes, np.empty((rows.n_rows, 0)), {})
            matrices.append((owns, codes))
        # The columns of a matrix are read only: a dict takes further ones.
        columns = dict(columns) if others else columns
        for v, whole in others:
            column = rows.columns[whole]
            if v in self.cut:
                column = self.cut[v].codes(column)
            elif v in self.items:
                column = column[:, self.items[v]]
            columns[self.network.variables[self.places[v]]] = column
        number, variables = self._ensemble._index_of, self.network.variables
        soft = {
            variables[self.places[number[v.name]]]: self._likelihoods(number[v.name], logs)
            for v, logs in rows.likelihoods.items()
            if number[v.name] in self.places
        }
        return Evidence(rows.n_rows, columns, soft, rows.complete and keeps, tuple(matrices))

    def _layout(self, wholes: Sequence[Variable]) -> tuple[Any, ...]:
        """Return how to read rows in which the ensemble's variables `wholes` have columns.

        Returns
        -------
        coded : tuple of Discrete
            Those with states that the network has, as the ensemble's variables.
        owns : Arrangement
            The same as the network's variables.
        starts : ndarray of int, shape (n_coded,)
            The place of the first state of each in `table`.
        table : ndarray of int
            The network's code of each state, -1 for none. A missing value, of the code -1, is
            before the first state of its variable.
        others : list of (index in the ensemble, variable of the ensemble)
            Numbers and vectors.
        keeps : bool
            Whether the network has all states, so that complete rows stay complete.
        """
        number = self._ensemble._index_of
        columns = [(number[v.name], v) for v in wholes if number[v.name] in self.places]
        coded = [(v, whole) for v, whole in columns if isinstance(whole, Discrete)]
        codes = [self.codes.get(v, np.arange(whole.cardinality)) for v, whole in coded]
        owns = Arrangement(self.network.variables[self.places[v]] for v, _ in coded)
        starts = np.cumsum([1, *(len(part) + 1 for part in codes)])[:-1]
        table = np.concatenate([np.empty(0), *(np.append(-1, part) for part in codes)])
        others = [pair for pair in columns if not isinstance(pair[1], Discrete)]
        return (
            tuple(whole for _, whole in coded),
            owns,
            starts,
            table.astype(owns.code_type),
            others,
            all((codes >= 0).all() for codes in self.codes.values()),
        )

    def values(self, values: Mapping[Name, Any]) -> dict[Name, Any]:
        """Return the values of variables that the network has, by name, as it takes them."""
        translated: dict[Name, Any] = {}
        for name, value in values.items():
            v = self._ensemble._index_of[name]
            if v in self.codes:
                whole: Any = self._ensemble.variables[v]
                code = int(self.codes[v][whole.encode(value)])
                if code >= 0:  # the network has the state
                    translated[name] = self.network.variables[self.places[v]].states[code]
            elif v in self.places:
                translated[name] = value
        return translated

    def _likelihoods(self, variable: int, logs: Floats) -> Floats:
        """Return log likelihoods of the network's states, (..., n_states), given the ensemble's."""
        if variable not in self.codes:
            return logs
        n_states = self.network.variables[self.places[variable]].cardinality
        shares = self._ensemble.shares_of(variable)[self.place]
        return grouped(logs + log_of(shares), self.codes[variable], n_states)

    def spread(self, targets: Sequence[int], values: Floats) -> Floats:
        """Return probabilities of the ensemble's states, given those of the network's.

        Parameters
        ----------
        targets : sequence of int
            Indices of the target variables in the ensemble.
        values : ndarray
            The last axes are the states of the targets in the network.
        """
        for axis, target in enumerate(targets, start=values.ndim - len(targets)):
            if target in self.codes:
                # Each of the ensemble's states gets its share of the network's state that has it.
                apart = np.moveaxis(values, axis, -1)[..., self.codes[target]]
                shares = self._ensemble.shares_of(target)[self.place]
                values = np.moveaxis(apart * shares, -1, axis)
        return values

    def exponent(self, target: int) -> float:
        """Return the exponent of the network's evidence about a variable of the ensemble."""
        return self.exponents.get(self._ensemble.variables[target].name, 1.0)

    def shares(self, target: int, logs: Floats) -> Floats:
        """Turn log joint probabilities of a target's states into what the average takes, in place.

        That is the posterior, with the exponent of the network's evidence: (n_rows, n_states).
        """
        exponent = self.exponent(target)
        if exponent == 1.0:
            return normalised(logs)
        # The prior to the power 1 - exponent keeps the posterior at the prior without evidence.
        term = self._prior_terms.get(target)
        if term is None:
            name = self._ensemble.variables[target].name
            prior = self.network.query(name).probabilities
            term = self._prior_terms[target] = prior_term(prior, exponent)
        return tempered(logs, exponent, term)

    def tempered(self, targets: Sequence[int], values: Floats) -> Floats:
        """Return a posterior with the exponents of the network's evidence about the targets.

        Parameters
        ----------
        targets : sequence of int
            Indices of the target variables in the ensemble.
        values : ndarray
            Probabilities; the axes are the states of the targets in the network.
        """
        for axis, target in enumerate(targets):
            if self.exponent(target) != 1.0:
                others = tuple(other for other in range(len(targets)) if other != axis)
                marginal = values.sum(axis=others)
                # The marginal of the target changes; all else given the target stays.
                new = self.shares(target, log_of(marginal[None]))[0]
                values = values * np.expand_dims(divided(new, marginal), others)
        return values


def _checked_networks(networks: Any, is_joint: bool) -> tuple[Any, ...]:
    """Return the networks of an ensemble after checking their number and types."""
    if isinstance(networks, Model) or not isinstance(networks, Iterable):
        raise DataTypeError(f"An Ensemble takes a list of networks; got {networks!r:.200}.")
    listed = tuple(networks)
    if not listed:
        raise ModelError("An Ensemble needs at least one network; got none.")
    kind, takes = (BayesianNetwork, "BayesianNetworks") if is_joint else (Model, "models")
    for network in listed:
        if not isinstance(network, kind):
            raise ModelError(f"This Ensemble takes {takes}; got {network!r:.200}.")
    return listed


def _check_same(networks: Sequence[Model]) -> None:
    """Raise a ModelError unless all networks of a mixture have the same variables."""
    variables = set(networks[0].variables)
    for i, network in enumerate(networks):
        if set(network.variables) != variables:
            different = variables.symmetric_difference(network.variables)
            raise ModelError(
                "The networks of a joint distribution have the same variables, states and their "
                f"order included; network {i} and the first one differ in "
                f"{quoted(sorted({str(v.name) for v in different}))}. Posteriors of networks that "
                "differ are averaged by combine='posterior'."
            )


def _check_named(networks: Sequence[Model]) -> None:
    """Raise a ModelError or warn where all columns of networks have the names of places."""
    # The names of as many columns of an array as a network has variables besides the class. Where a
    # network has other names, its columns have names of their own.
    places = [{"x0", *array_names(len(network.names) - 1)} for network in networks]
    if len(places) == 1 or any(n - {*m.names} for n, m in zip(places, networks, strict=True)):
        return
    message = (
        "The networks call their columns x0, x1, ..., and those of one name are taken for the same "
        "column. Of different columns, rename them (network.renamed), or give the whole bag to "
        "Ensemble.of; of the same ones, say so by first=networks[0].variables."
    )
    if any(names != places[0] for names in places):
        raise ModelError(message)
    warn(message, BayesGraphWarning)


def _floats(values: Any) -> Floats:
    """Return numbers as a new array; an empty one of two axes for anything else."""
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        return np.empty((0, 0))


def _checked_weights(weights: ArrayLike | None, n: int) -> Floats:
    """Return weights of n networks divided by their sum, or raise a ModelError."""
    values = np.ones(n) if weights is None else _floats(weights)
    good = values.shape == (n,) and bool((np.isfinite(values) & (values >= 0)).all())
    if not good or not values.any():
        raise ModelError(
            f"An Ensemble of {n} networks takes {n} weights, not negative and not all zero: finite "
            f"numbers, one for each network; got {weights!r:.200}."
        )
    if values.max() > 1e300:  # their sum may be infinite
        values /= values.max()
    total = values.sum()
    # Normalised weights are not divided again, so that saving and loading does not change them; the
    # tolerance is the rounding error of a sum of n.
    shares: Floats = values if abs(total - 1.0) < 1e-15 * (n + 1) else values / total
    shares.flags.writeable = False
    return shares


def _joined(variables: Sequence[Variable]) -> Variable:
    """Return the union of the networks' variables of one name: a variable with all their values."""
    first, *others = dict.fromkeys(variables)
    if not others:
        return first
    name = first.name
    different: list[Any] = [first, *others]
    if all(isinstance(v, Binned) for v in different):
        cuts = sorted({cut for v in different for cut in v.cuts})
        if len(cuts) >= _MOST_INTERVALS:
            raise ModelError(
                f"The networks cut {name!r} at {len(cuts)} points in all; an Ensemble takes "
                f"{_MOST_INTERVALS - 1}. Fit them with the same intervals (one discretizer, or cut "
                "points rounded), or with fewer."
            )
        return Binned(name, cuts)
    if all(isinstance(v, Binned | Continuous) for v in different):
        return Continuous(name)
    if all(isinstance(v, CountVector) for v in different):
        return CountVector(name, list(dict.fromkeys(i for v in different for i in v.items)))
    if all(isinstance(v, Discrete) and not isinstance(v, Binned) for v in different):
        each = [v.values if isinstance(v, Grouped) else v.states for v in different]
        # Values that are equal, such as 1 and True, are one state unless a network has both.
        apart = {s for states in each for s, n in Counter(states).items() if n > 1}
        joined: dict[Any, State] = {}
        for s in [s for states in each for s in states]:
            joined.setdefault((type(s), s) if s in apart else s, s)
        return Discrete(name, list(joined.values()))
    raise ModelError(
        f"The networks of an Ensemble have variables {name!r} of different kinds: "
        f"{quoted(type(v).__name__ for v in different)}."
    )


def codes_in(variable: Discrete, whole: Discrete) -> NDArray[np.int64]:
    """Return the code in a network of each state of the ensemble's variable; -1 for none."""
    if isinstance(variable, Binned) and isinstance(whole, Binned):
        return variable.codes_of(whole)
    codes = [variable.find(state) for state in whole.states]
    return np.array([-1 if code is None else code for code in codes], dtype=np.int64)


def _are_equal(one: Mapping[Name, Floats], two: Mapping[Name, Floats]) -> bool:
    """Return whether two mappings have the same names and equal arrays."""
    return one.keys() == two.keys() and all(np.array_equal(one[name], two[name]) for name in one)
