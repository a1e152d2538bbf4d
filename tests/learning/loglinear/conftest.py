"""Trainings go to their end, as the numbers are looked at."""

import pytest

from bayesgraph.classifiers import bayesian_network
from bayesgraph.learning import Effort


@pytest.fixture(autouse=True)
def _full_training(monkeypatch):
    monkeypatch.setattr(bayesian_network, "Effort", Effort)
