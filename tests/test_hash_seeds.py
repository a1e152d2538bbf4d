"""The same bytes for every hash seed: scripts print the same here and in another process.

One process with another seed runs all scripts: what takes long is to import and to load kernels.
"""

import contextlib
import functools
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

import bayesgraph as bg

TESTS = Path(__file__).parent

# As in this process, see conftest.py: sums of matrix products depend on it.
ONE_THREAD = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}

# Where a script goes on to the next; no script prints such a line.
NEXT = "----------"

PLANS = """
import sys
import numpy as np
import oracle as brute
import bayesgraph as bg

for seed in (3, 5, 1001, 1004):
    case = brute.random_case(seed, n_discrete=6, n_continuous=3 * (seed > 1000))
    for variable in case.free:
        print(case.network.plan(variable.name))
        answer = case.network.query(variable.name, case.given)
        if isinstance(variable, bg.Discrete):
            print(answer.probabilities.tobytes().hex(), answer.argmax)
        else:
            print(answer.means.tobytes().hex(), answer.weights.tobytes().hex())
    print(case.network.log_probability(case.given).hex())
    print(dict(case.network.most_probable(case.given)))
    print({k: v.tolist() for k, v in case.network.sample(20, random_state=seed).items()})
    graph = bg.FactorGraph.of(case.network)
    print(graph.plan(graph.names[0]), graph.log_partition.hex())
    print(list(case.network.graph.nodes), list(case.network.graph.edges))
random = np.random.default_rng(0)
nodes = [bg.Discrete(f"n{i}", ["a", "b", "c"]) for i in range(40)]
cpds = []
for i, node in enumerate(nodes):
    parents = brute.pick_parents(random, nodes[max(0, i - 5):i], 2)
    shape = (*(3 for _ in parents), 3)
    cpds.append(bg.TableCPD(node, brute.random_table(random, shape), parents))
net = bg.BayesianNetwork(cpds)
print(bg.FactorGraph.of(net).plan(["n3", "n30"]))
print(net.query(["n3", "n30"], {"n12": "a", "n39": "c"}).probabilities.tobytes().hex())
for wrong in ("n4o", "m1"):
    try:
        net.query(wrong)
    except KeyError as error:
        print(error)
try:
    bg.FactorGraph([bg.Factor([bg.Discrete(n, s)], np.ones(len(s)))
                    for n in "abcde" for s in ([0, 1], [0, 1, 2])])
except ValueError as error:
    print(error)
"""

LAWS = """
from joint import random_graph
from large_networks import bits, large_evidence, large_network
network = large_network(4)
print(bits(network, large_evidence(5, network)))
print(bits(random_graph(12), {}))
beliefs = network.ask.sensitivity("v3", 0, {"v9": 1})
print([table.tobytes() for table in beliefs.derivatives.values()])
print(network.ask.conflict({"v1": 0, "v8": 1}).findings, network.plan("v4", ["v9"]))
"""

WEIGHTING = """
import oracle as brute
from weighted_samples import weighted

for seed in (3, 1001, 1004):
    case = brute.random_case(seed, n_discrete=6, n_continuous=3 * (seed > 1000))
    samples = weighted(case.network, [v.name for v in case.free], case.given, n=5000)
    print(repr(samples), samples.log_weights.tobytes().hex()[:4000])
"""

LOOPY = """
import oracle as brute
from bayesgraph.inference.loopy import loopy_belief_propagation

for seed in range(6):
    factors = [cpd.to_factor() for cpd in brute.random_network(seed, n_discrete=7).cpds]
    result = loopy_belief_propagation(factors, max_iterations=60)
    print(result.report, result.report.log_partition.hex())
    for variable, values in result.marginals.items():
        print(variable.name, values.tobytes().hex())
"""

KEYS = """
from bayesgraph.statistics import key_of
print("key", key_of("café"))
"""

CLASSIFIERS = """
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

# Each with what it certainly prints.
SCRIPTS = {
    "plans": (PLANS, "Plan: eliminate"),
    "laws": (LAWS, "Plan: "),
    "weighting": (WEIGHTING, "likelihood weighting"),
    "loopy": (LOOPY, "loopy belief propagation"),
    "keys": (KEYS, "key "),
    "classifiers": (f"which = 'default'\n{CLASSIFIERS}", "tan "),
}
FURTHER = {"further classifiers": (f"which = 'slow'\n{CLASSIFIERS}", "kdb-1 mixed")}


def printed_here(script):
    """Return what a script prints in this process, which has imported and compiled all it needs."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(script, "script", "exec"), {"__name__": "__main__"})
    return out.getvalue()


@functools.cache
def printed_elsewhere(seed, names):
    """Return what scripts print in one process of its own with a seed; warnings are errors."""
    paths = os.pathsep.join([str(TESTS.parent), str(TESTS)])
    lines = [f"exec({(SCRIPTS | FURTHER)[name][0]!r}, {{}})" for name in names]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", f"\nprint({NEXT!r})\n".join(lines)],
        env=os.environ | ONE_THREAD | {"PYTHONHASHSEED": str(seed), "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return dict(zip(names, done.stdout.split(f"{NEXT}\n"), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize(
    "seed", [12345, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (0, 1, 2))]
)
@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_print_the_same(name, seed):
    assert_same_lines(name, printed_elsewhere(seed, tuple(SCRIPTS))[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", FURTHER)
def test_further_scripts_print_the_same(name):
    assert_same_lines(name, printed_elsewhere(4242, (name,))[name])


def assert_same_lines(name, elsewhere):
    script, certain = (SCRIPTS | FURTHER)[name]
    here = printed_here(script)
    assert certain in here
    pairs = zip(here.splitlines(), elsewhere.splitlines(), strict=True)
    assert not [(one, other) for one, other in pairs if one != other]


@pytest.mark.parametrize("kind", [set, frozenset])
def test_states_from_a_set_are_refused(kind):
    """A set has no order: what the states' order would be depends on the hash seed."""
    with pytest.raises((TypeError, ValueError)):
        bg.Discrete("a", kind(["x", "y", "z"]))
