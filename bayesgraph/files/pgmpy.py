"""Conversion of models to pgmpy and back, with the same names, states and numbers.

pgmpy is optional: ``pip install 'bayesgraph[pgmpy]'``. The correspondence:

=============================  ==================================================
bayesgraph                     pgmpy
=============================  ==================================================
BayesianNetwork, discrete      DiscreteBayesianNetwork
BayesianNetwork, continuous    LinearGaussianBayesianNetwork
FactorGraph, discrete          DiscreteMarkovNetwork
TemporalNetwork, discrete      DynamicBayesianNetwork
=============================  ==================================================

A factor graph is not converted to pgmpy's FactorGraph, in which factors are nodes and two equal
factors would be one node. DiscreteMarkovNetwork keeps the list of factors.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import networkx as nx
import numpy as np

from bayesgraph import models
from bayesgraph.core.arrays import Floats
from bayesgraph.core.errors import (
    BayesGraphError,
    DataTypeError,
    LossyExportError,
    ModelError,
    optional_module,
    quoted,
)
from bayesgraph.core.variables import Continuous, Discrete, Name
from bayesgraph.files.exporting import Export, Sidecar, content_of
from bayesgraph.files.formats import AnySpelling, Capabilities
from bayesgraph.files.readers import RoundedRows
from bayesgraph.inference import Factor
from bayesgraph.time import TemporalNetwork, before, renamed

# Attributes of pgmpy's nodes and arcs that hold for `from_pgmpy` what pgmpy itself does not store.
_VARIANCE = "variance"
_SCORE = "score"
# The same of a pgmpy network.
_SIDECAR = "bayesgraph"

HELD = Capabilities(
    "pgmpy",
    names=AnySpelling(),
    states=AnySpelling("any values, no two of them equal"),
    families=(models.TableCPD, models.GaussianCPD),
    also=("scores", "factors"),
    equal_states=False,
)


def _pgmpy(module: str) -> Any:
    return optional_module(f"pgmpy.{module}", extra="pgmpy", what="Exchanging models with pgmpy")


def to_pgmpy(model: Any, *, strict: bool = True) -> Any:
    """Return a model as a pgmpy object of the same names, states and numbers.

    Kinds of variables (intervals, groups) and annotations, which pgmpy has no place for, are in the
    entry ``"bayesgraph"`` of the object's dictionary `graph`, from which `from_pgmpy` restores
    them.

    Parameters
    ----------
    model : BayesianNetwork, FactorGraph, WeightedNetwork or TemporalNetwork, or fitted estimator
        A network of discrete variables, a network of continuous ones, or a factor graph of tables.
        A temporal network has discrete variables and arcs from the slice before at most.
        A weighted network is converted by way of its factor graph, which gives the same answers if
        all features are observed; its arcs, their scores and annotations are not exported.
    strict : bool
        pgmpy tells no states of a variable apart that are equal (``True`` and ``1``). If true, they
        are refused; if false, all states of such a variable are texts in pgmpy, and `from_pgmpy`
        restores them. What pgmpy cannot hold in any form is refused either way.

    Returns
    -------
    pgmpy.models.DiscreteBayesianNetwork
    pgmpy.models.LinearGaussianBayesianNetwork
        pgmpy holds standard deviations, the rounded square roots of the variances. The exact
        variances are in the node attribute ``"variance"``, which `from_pgmpy` reads.
    pgmpy.models.DiscreteMarkovNetwork
        From a factor graph, with its factors in their order. Exponents become part of the tables
        (a warning says so); log values become plain numbers, up to the rounding of exp.
    pgmpy.models.DynamicBayesianNetwork
        From a temporal network.
    LossReport
        Only if `strict` is false, after one of these: what pgmpy has in another form, and what is
        lost.

    Raises
    ------
    LossyExportError
        If pgmpy cannot hold the model; the message lists why: discrete and continuous variables
        together, numbers outside the range of floats and (unless `strict` is false) states of one
        variable that are equal.
    DataTypeError
        If `model` is not a model.
    MissingDependencyError
        If pgmpy is not installed.

    Examples
    --------
    >>> import bayesgraph as bg
    >>> cpd = bg.TableCPD(bg.Discrete("a", [1, True]), [0.25, 0.75])
    >>> network = bg.BayesianNetwork([cpd])
    >>> converted, report = to_pgmpy(network, strict=False)
    >>> converted.states
    {'a': ['1', 'True']}
    >>> report.lost
    ()
    >>> from_pgmpy(converted) == network
    True
    """
    # Estimators have this property; their type is asked, as the property raises before a fit.
    if hasattr(type(model), "_fitted_model"):
        model = model._fitted_model
    if isinstance(model, TemporalNetwork):
        return _to_dynamic(model, strict=strict)
    if not isinstance(model, models.Model):
        raise DataTypeError(
            f"Expected a network, a FactorGraph, a WeightedNetwork or a TemporalNetwork; got "
            f"{model!r:.200}."
        )
    lost: tuple[str, ...] = ()
    # A weighted network: networks and factor graphs have no target.
    if model.target is not None:
        (network,) = model.networks
        if network.arc_scores or network.annotations:
            lost = ("arcs, their scores and annotations: the factors are converted",)
        # Exact only if all features are observed: pgmpy sums a missing feature out of tables that
        # are already raised to their exponents.
        model = models.FactorGraph.of(model)
    export = Export.of(model, HELD, strict=strict)
    # Networks have tables or linear Gaussians; the export refuses both together.
    if not model.networks:
        converted = _to_markov_network(model, export)
    elif export.tables:
        converted = _to_discrete(model, export)
    else:
        converted = _to_linear_gaussian(model, export)
    if export.sidecar:
        converted.graph[_SIDECAR] = [*export.sidecar]
    report = replace(export.report, lost=(*lost, *export.report.lost))
    return converted if strict else (converted, report)


def _to_discrete(model: Any, export: Export) -> Any:
    """Return a network of tables as pgmpy's, with `export` for what pgmpy cannot hold of it."""
    factors = _pgmpy("factors.discrete")
    result = _with_graph(_pgmpy("models").DiscreteBayesianNetwork(), model)
    for cpd in export.cpds:
        # pgmpy's matrix has the child's states as rows and the parent configurations as columns,
        # the last parent varying fastest.
        values = np.moveaxis(cpd.values, -1, 0).reshape(cpd.variable.cardinality, -1)
        converted = factors.TabularCPD(
            cpd.variable.name,
            cpd.variable.cardinality,
            values,
            evidence=[parent.name for parent in cpd.parents] or None,
            evidence_card=[parent.cardinality for parent in cpd.parents] or None,
            state_names=_state_names([cpd.variable, *cpd.parents], export),
        )
        _check_kept(converted.get_values(), values, cpd.title)
        result.add_cpds(converted)
    return result


def _to_linear_gaussian(model: Any, export: Export) -> Any:
    """Return a network of linear Gaussians as pgmpy's."""
    factors = _pgmpy("factors.continuous")
    result = _with_graph(_pgmpy("models").LinearGaussianBayesianNetwork(), model)
    for cpd in export.cpds:
        name, parents = cpd.variable.name, [parent.name for parent in cpd.parents]
        # The intercept, and the slope of each parent.
        coefficients = [float(cpd.mean), *cpd.coefficients.tolist()]
        deviation = math.sqrt(cpd.variance)
        result.add_cpds(factors.LinearGaussianCPD(name, coefficients, deviation, parents))
        result.nodes[name][_VARIANCE] = float(cpd.variance)
    return result


def _to_dynamic(model: TemporalNetwork, *, strict: bool) -> Any:
    """Return a temporal network as pgmpy's, by way of the ordinary network of two slices."""
    refused = LossyExportError(
        "pgmpy's DynamicBayesianNetwork has plain discrete variables, each with arcs, in two "
        "slices with the same arcs inside; unrolled(n) gives networks that pgmpy holds."
    )
    if model.static or len(model.slices) > 2 or {*map(type, model.variables)} != {Discrete}:
        raise refused
    # A node of pgmpy's is a pair of a name and a slice, 0 or 1; `unrolled` joins them by "_".
    names: dict[Name, Name] = {f"{v}_{t}": (v, t) for v in model.names for t in (0, 1)}
    plain = to_pgmpy(model.unrolled(2).renamed(names), strict=strict)
    # Not strict, `to_pgmpy` returns a pair with the report.
    network, *report = (plain,) if strict else plain
    result = _pgmpy("models").DynamicBayesianNetwork(network.edges)
    # pgmpy repeats the arcs of a slice in the other, and has no nodes without arcs there.
    wanted, made = [({*each.nodes}, {*each.edges}) for each in (network, result)]
    if wanted != made or _SIDECAR in network.graph:
        raise refused
    result.add_cpds(*network.cpds)
    return (result, *report) if report else result


def _with_graph(result: Any, model: Any) -> Any:
    """Return `result`, an empty pgmpy network, with the nodes, arcs and arc scores of a model.

    Arcs are added in topological order, in which pgmpy's search for a cycle at each arc is fast.
    """
    result.add_nodes_from(model.names)
    for name in nx.topological_sort(model.graph):
        result.add_edges_from([(parent.name, name) for parent in model[name].parents])
    for arc, score in model.arc_scores.items():
        result.edges[arc][_SCORE] = score
    return result


def _state_names(variables: Iterable[Discrete], export: Export) -> dict[Name, list[Any]]:
    """Return the states of variables as pgmpy has them: themselves, or texts for equal ones."""

    def states(variable: Discrete) -> Iterable[Any]:
        if HELD.tells_apart(variable.states):
            return variable.states
        # The words of the export are the `repr` of texts.
        return map(ast.literal_eval, export.states[variable])

    return {variable.name: list(states(variable)) for variable in variables}


def _check_kept(converted: Any, values: Floats, source: str) -> None:
    """Refuse numbers that pgmpy has rounded, as it does if it calculates in less than float64."""
    if not np.array_equal(np.asarray(converted, dtype=np.float64), values):
        raise LossyExportError(
            f"pgmpy rounds the numbers of {source}; have it calculate in float64 "
            "(pgmpy.config.set_dtype)."
        )


def _to_markov_network(model: Any, export: Export) -> Any:
    """Return a factor graph as pgmpy's network, in which the variables of a factor are joined."""
    discrete = _pgmpy("factors.discrete")
    result = _pgmpy("models").DiscreteMarkovNetwork()
    result.add_nodes_from(model.names)
    for scope, values in export.tables:
        names = [v.name for v in scope]
        result.add_edges_from([(a, b) for i, a in enumerate(names) for b in names[:i]])
        converted = discrete.DiscreteFactor(
            names, [v.cardinality for v in scope], values, state_names=_state_names(scope, export)
        )
        _check_kept(converted.values, values, f"the factor over {quoted(names)}")
        result.add_factors(converted)
    return result


# ---------------------------------------------------------------------------------------- import


def from_pgmpy(
    model: Any, *, normalize: bool = True
) -> models.BayesianNetwork | models.FactorGraph | TemporalNetwork:
    """Return a pgmpy model as a bayesgraph model of the same names, states and numbers.

    The order of the variables is that of the model's nodes, the order of parents that of each
    CPD's evidence. Latent variables and other roles of nodes are not kept.

    Parameters
    ----------
    model : pgmpy model
        DiscreteBayesianNetwork or LinearGaussianBayesianNetwork, or one of their subclasses with
        such CPDs (NaiveBayes); DiscreteMarkovNetwork or FactorGraph; DynamicBayesianNetwork.
    normalize : bool
        Treatment of probabilities whose sum is off by more than 1e-6 and up to 0.02 (pgmpy accepts
        0.01): they are divided by their sum with one warning, or refused if false. Smaller
        deviations are kept exactly.

    Returns
    -------
    BayesianNetwork
        For the networks.
    FactorGraph
        For the graphs of factors.
    TemporalNetwork
        For a dynamic network; a variable without a CPD in the second slice has that of the first.

    Raises
    ------
    DataTypeError
        If it is another kind of model.
    ModelError
        If a node has no CPD, or CPDs are inconsistent, or of other types than pgmpy makes.
    CPDError
        If probabilities do not sum to one, or a standard deviation is not positive.
    MissingDependencyError
        If pgmpy is not installed.
    """
    models = _pgmpy("models")
    try:
        if isinstance(model, models.DiscreteBayesianNetwork):
            rounded = RoundedRows(normalize=normalize)
            kind = _pgmpy("factors.discrete").TabularCPD
            network = _from_network(model, kind, partial(_table, rounded=rounded))
            rounded.warn("The pgmpy model")
            return network
        if isinstance(model, models.DynamicBayesianNetwork):
            return _from_dynamic(model, RoundedRows(normalize=normalize))
        if isinstance(model, models.LinearGaussianBayesianNetwork):
            return _from_network(model, _pgmpy("factors.continuous").LinearGaussianCPD, _gaussian)
        if isinstance(model, (models.DiscreteMarkovNetwork, models.FactorGraph)):
            return _from_factors(model)
    except (BayesGraphError, Warning):
        raise
    except Exception as error:
        # Attributes of pgmpy's CPDs can be changed to anything after pgmpy has checked them.
        raise ModelError(
            f"The pgmpy model is inconsistent ({type(error).__name__}: {error}); its check_model() "
            "may say where. Make the CPD or the factor anew."
        ) from error
    raise DataTypeError(
        "Expected a pgmpy DiscreteBayesianNetwork, LinearGaussianBayesianNetwork, "
        "DynamicBayesianNetwork, DiscreteMarkovNetwork or FactorGraph; got "
        f"{type(model).__module__}.{type(model).__qualname__}."
    )


def _sidecar(model: Any) -> Sidecar:
    """Return the lines of `to_pgmpy` in the attributes of a pgmpy model, as a sidecar."""
    contents = filter(None, map(content_of, model.graph.get(_SIDECAR, ())))
    return Sidecar.of(contents, "The pgmpy model", spell=repr)


def _from_network(
    model: Any, kind: Any, make: Callable[[Any, Mapping[str, Any]], models.CPD]
) -> models.BayesianNetwork:
    """Return a network, given the class of pgmpy's CPDs and what makes one of them.

    `make` takes a CPD and the attributes of its node.
    """
    by_node = {cpd.variable: cpd for cpd in model.cpds}
    if without := [node for node in model.nodes if node not in by_node]:
        raise ModelError(f"The pgmpy model has no CPD for {quoted(without)}; add or fit them.")
    wrong = [node for node in model.nodes if not isinstance(by_node[node], kind)]
    if wrong:
        listed = ", ".join(f"{node!r} has a {type(by_node[node]).__name__}" for node in wrong)
        raise ModelError(f"Expected a {kind.__name__} for each node; {listed}.")
    cpds = []
    for node in model.nodes:
        cpd = make(by_node[node], model.nodes[node])
        parents = [parent.name for parent in cpd.parents]
        if {*parents} != {*model.predecessors(node)}:
            raise ModelError(
                f"The CPD of {node!r} has the parents {quoted(parents)}, the graph has "
                f"{quoted(model.predecessors(node))}."
            )
        cpds.append(cpd)
    # Triples with None for an arc that has no score.
    arcs = model.edges(data=_SCORE)
    scores = {(a, b): score for a, b, score in arcs if isinstance(score, float)}
    return _sidecar(model).restore(models.BayesianNetwork(cpds, arc_scores=scores))


def _from_dynamic(model: Any, rounded: RoundedRows) -> TemporalNetwork:
    """Return a temporal network, in whose second slice parents of the first are of the past."""
    model.check_model()
    slices: tuple[list[models.CPD], ...] = [], []
    for cpd in model.cpds:
        # Names are pairs of a name and a slice, 0 or 1.
        table, now = _table(cpd, {}, rounded=rounded), cpd.variable[1]
        scope: list[Any] = [*table.scope]
        # Variables of the child's slice get their names alone; those of slice 0 are before slice 1.
        plain = {v: renamed(v, v.name[0]) for v in scope}
        new = {v: x if v.name[1] == now else before(x) for v, x in plain.items()}
        slices[now].append(models.substituted(table, new))
    rounded.warn("The pgmpy model")
    return TemporalNetwork(*slices)


def _table(cpd: Any, attributes: Mapping[str, Any], *, rounded: RoundedRows) -> models.TableCPD:
    """Return the table of a TabularCPD, in which rounded rows are divided by their sums."""
    # The child and its evidence are the axes of `values` in this order.
    child, *parents = _scope(cpd)
    values = rounded.repaired(child.name, np.moveaxis(_values(cpd), 0, -1))
    return models.TableCPD(child, values, parents)


def _gaussian(cpd: Any, attributes: Mapping[str, Any]) -> models.GaussianCPD:
    """Return a Gaussian with the variance that `to_pgmpy` stored, unless the deviation was changed.

    Then it is the square of the deviation.
    """
    deviation, variance = float(cpd.std), attributes.get(_VARIANCE)
    if not (isinstance(variance, float) and variance > 0 and math.sqrt(variance) == deviation):
        # A negative standard deviation gives a negative variance, which the CPD refuses.
        variance = math.copysign(deviation * deviation, deviation)
    intercept, *slopes = np.asarray(cpd.beta, dtype=np.float64)
    parents = [Continuous(name) for name in cpd.evidence]
    return models.GaussianCPD(Continuous(cpd.variable), intercept, variance, parents, slopes)


def _from_factors(model: Any) -> models.FactorGraph:
    """Return the factor graph of a pgmpy model; in pgmpy's FactorGraph, factors are nodes too."""
    with_factor = {name for factor in model.factors for name in factor.variables}
    discrete_factor = _pgmpy("factors.discrete").DiscreteFactor
    names = [node for node in model.nodes if not isinstance(node, discrete_factor)]
    if without := [name for name in names if name not in with_factor]:
        raise ModelError(f"The pgmpy model has no factor for {quoted(without)}.")
    scopes = [_scope(factor) for factor in model.factors]
    tables = [_values(factor) for factor in model.factors]
    graph = models.FactorGraph([Factor(*pair) for pair in zip(scopes, tables, strict=True)])
    sidecar = _sidecar(model)
    if not sidecar.variables:
        return graph
    variables = list({variable: None for scope in scopes for variable in scope})
    # From each variable that was read to the one that was written.
    written = dict(zip(variables, sidecar.restored(variables), strict=True))
    restored = [[written[variable] for variable in scope] for scope in scopes]
    return models.FactorGraph([Factor(*pair) for pair in zip(restored, tables, strict=True)])


def _scope(factor: Any) -> list[Discrete]:
    """Return the variables of a factor or CPD of pgmpy, the child first."""
    nameless = [name for name in factor.variables if name not in factor.state_names]
    if nameless:
        raise ModelError(f"{factor!r} has no state names for {quoted(nameless)}; give them all.")
    return [Discrete(name, factor.state_names[name]) for name in factor.variables]


def _values(factor: Any) -> Floats:
    """Return the numbers of a factor or CPD of pgmpy; the axes are the variables of `_scope`."""
    # This also converts a tensor of pgmpy's torch backend.
    values = np.asarray(factor.values)
    if np.iscomplexobj(values):
        raise ModelError(f"{factor!r} has complex numbers; expected probabilities or weights.")
    return np.asarray(values, dtype=np.float64)
