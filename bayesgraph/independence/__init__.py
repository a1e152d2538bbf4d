"""Tests of conditional independence on tables."""

from bayesgraph.independence.conditional_tests import IndependenceTest, independence_test

__all__ = ["IndependenceTest", "independence_test"]
