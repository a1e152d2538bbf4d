"""The first half minute of a new installation, beside pyAgrum in a process of its own.

python benchmarks/bench_first_use.py [--quick] [--json FILE] [--case TEXT] [--seconds N]

A process with an empty cache of kernels loads a network and asks for all marginals given findings
that change (two states of variables that are drawn), again and again; or fits TAN on ``heart.csv``
and predicts its rows. Its first call is not counted. Rows:

* ``worst half second``: the slowest median of the calls that begin in the same half second, of the
  first ten seconds, against the peer's median;
* ``last half second``: the same for the last one;
* ``processor``: seconds of the processor of the process that compiles in the background, until it
  has ended by itself.

Targets: the first at least 1.0 of the peer's speed, the second 10 (for networks of 20 variables and
more), the third 15 s, with a classifier 30 s.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import Row, parser, versions, write

ROOT = Path(__file__).parents[1]
HEART = ROOT / "examples" / "data" / "heart.csv"
NETWORKS = ("asia", "alarm", "insurance", "hailfinder", "hepar2", "win95pts")
PEER_SECONDS = 4.0

# What both sides do with a function `ask`: calls for some seconds, medians of half seconds.
LOOP = """
import json, random, resource, statistics, sys, time
drawn = random.Random(0)
ask()
halves, start = {{}}, time.perf_counter()
while (begun := time.perf_counter()) - start < {seconds}:
    ask()
    halves.setdefault(int(2 * (begun - start)), []).append(time.perf_counter() - begun)
medians = [statistics.median(times) for _, times in sorted(halves.items())]
"""
OURS_END = """
from bayesgraph.core.compilation import tiers
process = tiers.background._process
if process is not None:
    process.wait()
processor = resource.getrusage(resource.RUSAGE_CHILDREN)
print(json.dumps([medians, processor.ru_utime + processor.ru_stime]))
"""
PEER_END = "print(json.dumps([medians, 0.0]))"
NETWORK = """
import bayesgraph as bg
from importlib.resources import files
network = bg.load(str(files("pgmpy") / "utils/example_models/{name}.bif.gz"))
states = {{v.name: v.states for v in network.variables}}

def ask():
    names = drawn.sample(sorted(states), 2)
    try:
        marginals = network.marginals({{name: drawn.choice(states[name]) for name in names}})
        for name in marginals:
            marginals[name]
    except bg.core.errors.ImpossibleEvidenceError:
        pass
"""
# pyAgrum reads the BIF file that pgmpy's wheel has, unpacked.
AGRUM = """
import gzip, tempfile, pyagrum, pathlib
from importlib.resources import files
packed = files("pgmpy") / "utils/example_models/{name}.bif.gz"
with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "network.bif"
    path.write_bytes(gzip.decompress(packed.read_bytes()))
    network = pyagrum.loadBN(str(path))
engine = pyagrum.LazyPropagation(network)
states = {{v: network.variable(v).domainSize() for v in sorted(network.names())}}

def ask():
    names = drawn.sample(sorted(states), 2)
    try:
        engine.setEvidence({{name: drawn.randrange(states[name]) for name in names}})
        engine.makeInference()
        for name in states:
            if name not in names:
                engine.posterior(name)
    except pyagrum.GumException:
        pass
"""
TABLE = """
import bayesgraph as bg
table = bg.read_table({path!r})
X, y = table.drop_columns("disease"), table["disease"]

def ask():
    bg.TANClassifier().fit(X, y).predict_proba(X)
"""
# It takes no missing values, and gets the columns without one.
AGRUM_TABLE = """
import pandas, pyagrum.skbn
from pyagrum.lib.discreteTypeProcessor import DiscreteTypeProcessor
table = pandas.read_csv({path!r}).dropna(axis=1)
X, y = table.drop(columns="disease"), table["disease"]

def ask():
    processor = DiscreteTypeProcessor(
        defaultDiscretizationMethod="quantile", defaultNumberOfBins=5
    )
    classifier = pyagrum.skbn.BNClassifier(learningMethod="TAN", type_processor=processor)
    classifier.fit(X, y)
    classifier.predict_proba(X)
"""


def run(program: str, seconds: float, end: str) -> tuple[list[float], float]:
    """Return medians of half seconds, and what was compiled, of a process with an empty cache."""
    whole = program + LOOP.format(seconds=seconds) + end
    with tempfile.TemporaryDirectory() as cache:
        kept = {n: v for n, v in os.environ.items() if n not in ("BAYESGRAPH_COMPILE", "CI")}
        places = {"NUMBA_CACHE_DIR": cache, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", whole],
            env=kept | places,
            check=True,
            capture_output=True,
            text=True,
        )
    medians, processor = json.loads(done.stdout.splitlines()[-1])
    return medians, processor


def rows_of(case: str, ours: str, theirs: str, seconds: float) -> list[Row]:
    """Return the rows of a case, the peer's process before and after ours."""
    before, _ = run(theirs, PEER_SECONDS / 2, PEER_END)
    medians, processor = run(ours, seconds, OURS_END)
    after, _ = run(theirs, PEER_SECONDS / 2, PEER_END)
    peer = statistics.median(before + after)
    rows = [
        Row(case, metric, time, peer, "pyAgrum", peer / time)
        for metric, time in (
            ("worst half second", max(medians[:20])),
            ("last half second", medians[-1]),
        )
    ]
    return [*rows, Row(case, "processor", processor, None, "", None)]


def main() -> None:
    """Run all cases, or those whose name contains a text."""
    command = parser(__doc__ or "")
    command.add_argument("--case", default="", help="only cases whose name contains this")
    command.add_argument("--seconds", type=float, default=30.0, help="how long each process asks")
    chosen = command.parse_args()
    seconds = 3.0 if chosen.quick else chosen.seconds
    programs = {n: (NETWORK.format(name=n), AGRUM.format(name=n)) for n in NETWORKS}
    path = str(HEART)
    programs["heart.csv"] = TABLE.format(path=path), AGRUM_TABLE.format(path=path)
    print(versions(["pyagrum", "numpy", "numba"]))
    rows = []
    for case, (ours, theirs) in programs.items():
        if chosen.case in case:
            of_case = rows_of(case, ours, theirs, seconds)
            for row in of_case:
                speed = f"{row.ratio:8.2f} of pyAgrum's speed" if row.ratio else ""
                number = f"{row.ours:8.1f} s " if row.ratio is None else f"{1e3 * row.ours:8.3f} ms"
                print(f"{row.case:<12}{row.metric:<20}{number}{speed}", flush=True)
            rows += of_case
    write(rows, chosen.json)


if __name__ == "__main__":
    main()
