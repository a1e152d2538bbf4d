"""The same bytes for every hash seed, of the rows and data of cases.py that run by default."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import hashlib, pathlib, sys, tempfile
import cases
import numpy as np
from comparison import arrays
with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "model.bayesgraph"
    for case, kind in cases.pairs():
        if cases.is_spared("test_hash_seed_does_not_matter", case, kind) != (sys.argv[1] == "slow"):
            continue
        data = cases.make_data(kind).with_missing()
        classifier = case.estimator().fit(data.pandas(), data.y)
        classifier.save(path)
        digest = hashlib.sha256(path.read_bytes())
        network = classifier.network_
        digest.update(repr(network.variables).encode())
        if hasattr(network, "graph"):
            digest.update(repr(list(network.graph.edges)).encode())
            digest.update(repr(list(network.arc_scores.items())).encode())
        for part in network.cpds if hasattr(network, "cpds") else network.factors:
            for array in arrays(part):
                digest.update(np.asarray(array).tobytes())
        digest.update(classifier.predict_proba(data.pandas()).tobytes())
        print(case.name, kind, digest.hexdigest())
"""


def run(seed, which):
    here = str(Path(__file__).parents[1])
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": here}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, which],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()


@pytest.mark.parametrize("which", ["default", pytest.param("slow", marks=pytest.mark.slow)])
def test_hash_seed_does_not_matter(which):
    first = run("0", which)
    assert len(first) > 30
    assert first == run("4242", which)
