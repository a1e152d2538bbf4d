"""What the page answers is what Python answers."""

import gzip
from importlib import resources

import page_parity as parity
import pytest

import bayesgraph as bg

_FEW = ("asia", "cancer", "child", "insurance")
_MORE = (
    *("alarm", "earthquake", "sachs", "survey", "hailfinder", "hepar2", "win95pts", "andes"),
    *("water", "pathfinder", "pigs", "mildew", "munin1", "diabetes", "munin", "link"),
)


def network(name, tmp_path):
    """Return a network of pgmpy's wheel."""
    pgmpy = pytest.importorskip("pgmpy")
    file = resources.files(pgmpy) / "utils" / "example_models" / f"{name}.bif.gz"
    path = tmp_path / f"{name}.bif"
    path.write_bytes(gzip.decompress(file.read_bytes()))
    return bg.load(path)


@pytest.mark.parametrize(
    "name", [*_FEW, *(pytest.param(name, marks=pytest.mark.slow) for name in _MORE)]
)
def test_networks(opened, tmp_path, name):
    model = network(name, tmp_path)
    page = opened(model, limit=1e9)
    for kind, evidence in parity.evidence_sets(model).items():
        target = parity.free_target(model, evidence)
        errors = {
            "posteriors": parity.posterior_error(model, page, evidence),
            "assignment": parity.assignment_error(model, page, evidence),
            "information": parity.information_error(model, page, evidence, target),
            "conflict": parity.conflict_error(model, page, evidence) if evidence else 0.0,
        }
        if len(model.variables) < 400:
            errors["sensitivity"] = parity.sensitivity_error(model, page, evidence, target)
        assert max(errors.values()) < 1e-9, (kind, errors)
