"""Families of distributions of features, one module for each."""
