"""Posteriors of all parameters of a model, and models of many draws from them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.cpds import CPD, GaussianCPD, ParameterPosterior, TableCPD
from bayesgraph.cpds.intervention import SetCPD
from bayesgraph.cpds.parameter_posterior import draw_gaussians, draw_probabilities
from bayesgraph.errors import UnsupportedModelError
from bayesgraph.factors.algebra import Floats
from bayesgraph.models.average import PosteriorAverage
from bayesgraph.models.mixture import NetworkMixture
from bayesgraph.models.model import Model
from bayesgraph.models.network import BayesianNetwork
from bayesgraph.variables import Discrete


class DrawName:
    """Name of the variable that stands for the number of a draw; each instance is a unique name."""


def refused(model: Model, reason: str) -> UnsupportedModelError:
    """Return the error for a model whose parameters have no posterior."""
    return UnsupportedModelError(
        f"{type(model).__name__} has no credible intervals: {reason} Conformal prediction takes "
        "any classifier: see conformalize and predict_set."
    )


def networks_of(model: Model) -> list[BayesianNetwork]:
    """Return the networks whose parameters a model's answers depend on.

    Raises
    ------
    UnsupportedModelError
        If one of them is no network.
    """
    if isinstance(model, BayesianNetwork):
        return [model]
    if isinstance(model, NetworkMixture | PosteriorAverage):
        return [network for member in model.networks for network in networks_of(member)]
    raise refused(
        model,
        "its exponents or factors have no posterior; only distributions that were estimated by "
        "counting do.",
    )


def check_parameters(model: Model) -> None:
    """Raise an error unless all parameters of a model have a posterior.

    Raises
    ------
    UnsupportedModelError
        The message names the first distribution without one.
    """
    for network in networks_of(model):
        for cpd in network.cpds:
            if not isinstance(cpd, SetCPD):
                _check_posterior(model, cpd)
    if isinstance(model, PosteriorAverage) and model.exponents:
        raise refused(
            model,
            "its exponents have no posterior; an average without exponents, or one of its "
            "`networks`, has.",
        )


def _check_posterior(model: Model, cpd: CPD) -> None:
    if not isinstance(cpd, TableCPD | GaussianCPD):
        raise refused(model, f"{cpd.title} keeps no posterior of its parameters.")
    posterior = cpd.parameter_posterior
    if posterior is None:
        raise refused(
            model,
            f"{cpd.title} keeps no posterior of its parameters. It was made by hand, read from a "
            "file of another format, trained to predict, or estimated by EM, 'ml' or 'map'; "
            "BayesianNetwork.fit and classifiers that count give one.",
        )
    if not (posterior.strength > 0).all():
        where = np.argwhere(~(posterior.strength > 0))[0]
        pairs = zip(cpd.discrete_parents, where.tolist(), strict=True)
        given = ", ".join(f"{v.name}={v.states[code]}" for v, code in pairs)
        raise refused(
            model,
            f"{cpd.title} rests on no rows{' where ' * bool(given)}{given}, and smoothing adds "
            "none; give alpha or shrinkage a positive value.",
        )


def posterior_of(cpd: CPD) -> ParameterPosterior:
    """Return the posterior of the parameters of a CPD that `check_parameters` has checked."""
    assert cpd.parameter_posterior is not None
    return cpd.parameter_posterior


# ------------------------------------------------------------------------ draws of tables alone


def tables_of_draws(
    cpds: Iterable[CPD], n: int, random: np.random.Generator
) -> tuple[NDArray[np.int64], Floats]:
    """Draw the entries of tables.

    Returns
    -------
    sizes : ndarray of int
        Numbers of entries of the tables.
    draws : ndarray, shape (n, sum of sizes)
        The entries of one table after the other, in C order.
    """
    tables = [cpd for cpd in cpds if isinstance(cpd, TableCPD)]
    if not tables:
        return np.empty(0, dtype=np.int64), np.empty((n, 0))
    means = np.concatenate([cpd.values.ravel() for cpd in tables])
    strengths = [np.ravel(posterior_of(cpd).strength) for cpd in tables]
    cards = np.repeat([cpd.variable.cardinality for cpd in tables], [len(s) for s in strengths])
    draws = draw_probabilities(means, np.concatenate(strengths), cards, n, random)
    return np.array([cpd.values.size for cpd in tables]), draws


# ------------------------------------------------------------------------- draws of any network


def with_draws(model: Model, draw: Discrete, random: np.random.Generator) -> Model:
    """Return a model in which the number of a draw is a parent of everything.

    Given the state i of `draw`, each distribution has the parameters of draw i. Networks that share
    a CPD share its draws.
    """
    drawn: dict[int, CPD] = {}
    return _with_draws(model, draw, partial(_drawn, draw=draw, random=random, known=drawn))


def _with_draws(model: Model, draw: Discrete, drawn: Callable[[CPD], CPD]) -> Model:
    if isinstance(model, BayesianNetwork):
        root = TableCPD(draw, np.full(draw.cardinality, 1.0 / draw.cardinality))
        order = [*model.variables, draw]
        return BayesianNetwork([root, *map(drawn, model.cpds)], order=order)
    assert isinstance(model, NetworkMixture | PosteriorAverage)  # as `networks_of` has checked
    members: list[Any] = [_with_draws(member, draw, drawn) for member in model.networks]
    if isinstance(model, NetworkMixture):
        return NetworkMixture(members, model.weights)
    return model.with_networks(members, model.variables)


def _drawn(cpd: CPD, *, draw: Discrete, random: np.random.Generator, known: dict[int, CPD]) -> CPD:
    if id(cpd) not in known:
        known[id(cpd)] = _draws_of(cpd, draw, random)
    return known[id(cpd)]


def _draws_of(cpd: CPD, draw: Discrete, random: np.random.Generator) -> CPD:
    n = draw.cardinality
    if isinstance(cpd, TableCPD):
        _, draws = tables_of_draws([cpd], n, random)
        shape = (n, *cpd.values.shape)
        return TableCPD.from_checked(cpd.variable, draws.reshape(shape), (draw, *cpd.parents))
    if isinstance(cpd, GaussianCPD):
        mean, variance, coefficients = draw_gaussians(
            cpd.mean, cpd.variance, cpd.coefficients, posterior_of(cpd), n, random
        )
        return GaussianCPD(cpd.variable, mean, variance, (draw, *cpd.parents), coefficients)
    return cpd  # a variable that is set, which has no parameters
