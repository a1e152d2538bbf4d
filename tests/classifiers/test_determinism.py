"""The same bytes for every hash seed, of the rows and data of cases.py that run by default."""

import pytest
from hash_seeds import printed_elsewhere, printed_here

SCRIPT = """
import hashlib, pathlib, tempfile
import cases
import numpy as np
from comparison import arrays
with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "model.bayesgraph"
    for case, kind in cases.pairs():
        if cases.is_spared("test_hash_seed_does_not_matter", case, kind) != (which == "slow"):
            continue
        data = cases.make_data(kind).with_missing()
        classifier = case.estimator().fit(data.pandas(), data.y)
        classifier.save(path)
        digest = hashlib.sha256(path.read_bytes())
        network = classifier.network_
        digest.update(repr(network.variables).encode())
        if hasattr(network, "arc_scores"):
            digest.update(repr(list(network.graph.edges)).encode())
            digest.update(repr(list(network.arc_scores.items())).encode())
        for part in network.cpds if hasattr(network, "cpds") else network.factors:
            for array in arrays(part):
                digest.update(np.asarray(array).tobytes())
        digest.update(classifier.predict_proba(data.pandas()).tobytes())
        print(case.name, kind, digest.hexdigest())
"""


@pytest.mark.parametrize("which", ["default", pytest.param("slow", marks=pytest.mark.slow)])
def test_hash_seed_does_not_matter(which):
    script = f"which = {which!r}\n{SCRIPT}"
    first = printed_here(script).splitlines()
    assert len(first) > 30
    assert first == printed_elsewhere(script, 4242).splitlines()
