"""Rows of discrete features with the log probabilities of a naive Bayes, and its costs by hand."""

import numpy as np
from scipy.special import log_softmax

from bayesgraph.learning.exponents import LogTerms


def fitted(codes, labels, cards, n_classes, weights=None, alpha=1.0):
    """Return the terms of a naive Bayes fitted to codes, -1 where missing."""
    codes, labels = np.asarray(codes), np.asarray(labels)
    weights = np.ones(len(labels)) if weights is None else np.asarray(weights, dtype=float)
    tables = []
    for column, card in zip(codes.T, cards, strict=True):
        counts = np.full((card, n_classes), alpha)
        seen = column >= 0
        np.add.at(counts, (column[seen], labels[seen]), weights[seen])
        tables.append(np.log(counts / counts.sum(axis=0)))
    prior = np.bincount(labels, weights, minlength=n_classes) + alpha
    return LogTerms.build(codes, tables, np.log(prior / prior.sum()), labels, weights)


def random_rows(seed, n=60, d=5, k=2, card=3, missing=0.1):
    """Return codes, labels and cardinalities; the first features tell most, the last nothing."""
    random = np.random.default_rng(seed)
    labels = random.integers(k, size=n)
    told = np.where(random.random((n, d)) < np.linspace(0.9, 0.0, d), labels[:, None] % card, -2)
    codes = np.where(told >= 0, told, random.integers(card, size=(n, d)))
    codes[random.random((n, d)) < missing] = -1
    return codes, labels, [card] * d


def sample(seed, *, weighted=False, **shape):
    """Return the terms of random rows."""
    codes, labels, cards = random_rows(seed, **shape)
    random = np.random.default_rng(seed + 1)
    weights = random.integers(4, size=len(labels)) / 2 if weighted else None
    return fitted(codes, labels, cards, shape.get("k", 2), weights)


def log_joint(terms, exponents):
    """Return log P(c) + sum_i w_i log p(x_i | c) of each row, missing values left out."""
    total = np.tile(terms.log_prior, (terms.n_rows, 1))
    for table, column, exponent in zip(terms.tables, terms.codes.T, exponents, strict=True):
        # The last row is read by the code of a missing value.
        total += np.vstack([exponent * table, np.zeros(terms.n_classes)])[column]
    return total


def label_cost(terms, exponents, share=0.0):
    """Return - sum_n w_n ln p'(y_n | x_n), from the definition."""
    p = np.exp(log_softmax(log_joint(terms, exponents), axis=1))
    own = (p[np.arange(terms.n_rows), terms.labels] + share / terms.n_classes) / (1 + share)
    return -terms.weights @ np.log(own)
