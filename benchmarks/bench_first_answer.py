"""First answers with nothing compiled, on each tier, beside pyAgrum, pgmpy and scikit-learn.

python benchmarks/bench_first_answer.py [--quick] [--json FILE] [--case TEXT] [--inline]

Each row is a process of its own with an empty cache of kernels. It counts the seconds of the
processor of that process from the end of the imports (the package's, and those that its first lines
need anyway, such as reading a table) to the answer, so that a compiler that is imported and run
counts, and a process in the background does not. The peer does the same in a process of its own.
Times are the median of several, ours and the peer's in turn. Targets: under 2 s, both with the
process in the background and without it (``never``). ``--inline`` adds rows in which each kernel is
compiled when it is called: a minute or two more.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import Row, parser, versions, write

ROOT = Path(__file__).parents[1]
HEART = ROOT / "examples" / "data" / "heart.csv"
TARGET = 2.0

NETWORK = """
import bayesgraph as bg, bayesgraph.models, bayesgraph.files.bif
from importlib.resources import files
network = bg.load(str(files("pgmpy") / "utils/example_models/{name}.bif.gz"))
name = {observed!r}
state = network.variable(name).states[0]
start = process_time()
{ask}
"""
TABLE = """
import bayesgraph as bg, sklearn.utils.validation, pyarrow
X = bg.read_table({path!r})
y = X["disease"]
X = X.drop_columns("disease")
start = process_time()
bg.TANClassifier().fit(X, y).predict_proba(X)
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
start = process_time()
engine = pyagrum.LazyPropagation(network)
engine.setEvidence({{{observed!r}: 0}})
engine.makeInference()
[engine.posterior(node) for node in network.nodes()]
"""
SKLEARN = """
import numpy as np, sklearn.naive_bayes, sklearn.preprocessing, sklearn.pipeline, csv
rows = list(csv.DictReader(open({path!r})))
y = [row.pop("disease") for row in rows]
X = np.array([list(row.values()) for row in rows])
start = process_time()
encoder = sklearn.preprocessing.OrdinalEncoder()
model = sklearn.pipeline.make_pipeline(encoder, sklearn.naive_bayes.CategoricalNB())
model.fit(X, y).predict_proba(X)
"""
QUESTIONS = {
    "marginals": "network.marginals({name: state})",
    "most probable": "network.most_probable({name: state})",
    "3 most probable": "network.k_most_probable(3, {name: state})",
}
OBSERVED = {"asia": "xray", "alarm": "BP"}


def programs() -> dict[tuple[str, str], tuple[str, str, str]]:
    """Return our program, the peer's and the peer's name by (case, metric)."""
    found = {}
    for name, observed in OBSERVED.items():
        for question, ask in QUESTIONS.items():
            found[name, question] = (
                NETWORK.format(name=name, observed=observed, ask=ask),
                AGRUM.format(name=name, observed=observed),
                "pyAgrum marginals",
            )
    found["heart.csv", "fit TAN and predict"] = (
        TABLE.format(path=str(HEART)),
        SKLEARN.format(path=str(HEART)),
        "scikit-learn CategoricalNB",
    )
    return found


def seconds(program: str, mode: str) -> float:
    """Return what a program counts, in a process with an empty cache."""
    whole = f"from time import process_time\n{program}\nprint(process_time() - start)"
    with tempfile.TemporaryDirectory() as cache:
        kept = {n: v for n, v in os.environ.items() if n != "PYTHONDONTWRITEBYTECODE"}
        places = {"NUMBA_CACHE_DIR": cache, "BAYESGRAPH_COMPILE": mode, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-c", whole]
        done = subprocess.run(
            command, env=kept | places, check=True, capture_output=True, text=True
        )
    return float(done.stdout.split()[-1])


def print_table(rows: list[Row]) -> None:
    """Print the seconds of each first answer, and whether the target is met."""
    print(versions(["pyagrum", "pgmpy", "scikit-learn", "numpy", "numba"]))
    print(f"{'case':<12}{'metric':<34}{'ours s':>8}{'peer s':>8}  target {TARGET:.0f} s, peer")
    for r in rows:
        told = "met" if r.ours <= TARGET else "missed"
        if "inline" in r.metric:
            told = ""
        print(f"{r.case:<12}{r.metric:<34}{r.ours:8.3f}{r.peer:8.3f}  {told:<7} {r.peer_name}")


def main() -> None:
    """Run all cases, or those whose name contains a text."""
    command = parser(__doc__ or "")
    command.add_argument("--case", default="", help="only cases whose name contains this")
    command.add_argument("--inline", action="store_true", help="also compile at the first call")
    chosen = command.parse_args()
    rounds = 1 if chosen.quick else 3
    modes = ["background", "never", *(["inline"] if chosen.inline else [])]
    rows = []
    for (case, metric), (ours, theirs, peer) in programs().items():
        if chosen.case not in case:
            continue
        for mode in modes:
            turns = [(seconds(ours, mode), seconds(theirs, mode)) for _ in range(rounds)]
            a, b = (statistics.median(times) for times in zip(*turns, strict=True))
            rows.append(Row(case, f"{metric}, {mode}", a, b, peer, b / a))
    print_table(rows)
    write(rows, chosen.json)


if __name__ == "__main__":
    main()
