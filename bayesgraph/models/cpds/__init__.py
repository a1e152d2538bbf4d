"""Conditional probability distributions (CPDs) of children given their parents."""
