"""Discretisers of plain columns, NaN where missing: they sort, and call those of sorted columns."""

from bayesgraph.statistics import (
    frequency_cuts,
    granular_intervals,
    mdlp_cuts,
    modl_intervals,
    observed,
    width_cuts,
)


def equal_width(values, bins=10, weights=None):
    return width_cuts(observed(values, weights), bins)


def equal_frequency(values, bins=10, weights=None):
    return frequency_cuts(observed(values, weights), bins)


def mdlp(values, classes, n_classes, weights=None):
    return mdlp_cuts(observed(values, weights, classes, n_classes))


def modl(values, classes, n_classes, weights=None):
    return modl_intervals(observed(values, weights, classes, n_classes))


def modl_granular(values, classes, n_classes, weights=None, *, n_columns=1):
    return granular_intervals(observed(values, weights, classes, n_classes), n_columns=n_columns)
