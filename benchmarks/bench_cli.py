"""Commands on saved models, beside the imports of typer and of scikit-learn.

python benchmarks/bench_cli.py [--quick] [--json FILE] [--case TEXT]

Each call is a process of its own. Times are the least of several, in seconds of the processor (of
the user and the system), ours and the peers' in turn. Bytecode and kernels are cached: the first
turn, which writes them, does not count. The peer is ``python -c "import typer"`` for what only
parses options, and ``python -c "import sklearn"`` for what answers.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from harness import Row, parser, versions, write

import bayesgraph as bg

HEART = Path(__file__).parents[1] / "examples" / "data" / "heart.csv"
MODELS: dict[str, Callable[[], bg.BayesianNetworkClassifier]] = {
    "naive Bayes": bg.NaiveBayesClassifier,
    "TAN": bg.TANClassifier,
    "default": bg.BayesianNetworkClassifier,
}
TYPER, SKLEARN = ["-c", "import typer"], ["-c", "import sklearn"]
# Imports that the answers consist of, for comparison.
IMPORTS = ("numpy", "numba", "pyarrow.csv", "pydantic")


def cpu_seconds(arguments: list[str]) -> float:
    """Return the processor time of Python with some arguments."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    # Bytecode is cached, and small work interpreted, whatever the settings of the shell.
    unset = ("PYTHONDONTWRITEBYTECODE", "BAYESGRAPH_COMPILE")
    kept = {n: v for n, v in os.environ.items() if n not in unset}
    subprocess.run([sys.executable, *arguments], env=kept, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def least(calls: list[list[str]], rounds: int) -> list[float]:
    """Return the least time of each call; they take turns, so that all see the same machine."""
    turns = [[cpu_seconds(call) for call in calls] for _ in range(rounds + 1)]
    return [min(times) for times in zip(*turns[1:], strict=True)]


def commands(folder: Path) -> dict[tuple[str, str], list[str]]:
    """Return commands by (case, metric), after saving the models and rows that they read."""
    table = bg.read_table(HEART)
    X, y = table.drop_columns("disease"), table.select(["disease"])
    rows = folder / "rows.csv"
    rows.write_text("".join(HEART.read_text().splitlines(keepends=True)[:11]))
    found = {("bayesgraph", "--version"): ["--version"], ("bayesgraph", "--help"): ["--help"]}
    files = {}
    for name, model in MODELS.items():
        files[name] = folder / f"{name.replace(' ', '_')}.bayesgraph"
        model().fit(X, y).save(files[name])
    files["network"] = folder / "network.bif"
    arcs = [("sex", "disease"), ("disease", "cp"), ("disease", "thal")]
    columns = ["sex", "disease", "cp", "thal"]
    bg.BayesianNetwork.fit(arcs, table.select(columns)).save(files["network"])
    for name, file in files.items():
        found[name, "show"] = ["show", str(file)]
        target = ["--target", "disease"] if name == "network" else []
        found[name, "query"] = ["query", str(file), *target, "-e", "sex=male"]
        found[name, "query --all"] = ["query", str(file), "--all", "-e", "sex=male"]
        if name != "network":
            found[name, "predict"] = ["predict", str(file), str(rows)]
    return found


def print_table(rows: list[Row]) -> None:
    """Print the seconds of the processor of each command and of its peer."""
    print(versions(["typer", "scikit-learn", "numpy", "numba"]))
    print(f"{'case':<20}{'command':<14}{'ours s':>8}{'peer s':>8}{'ratio':>8}  peer")
    for r in rows:
        times = f"{r.ours:8.2f}{r.peer:8.2f}{r.ratio:8.2f}"
        print(f"{r.case:<20}{r.metric:<14}{times}  {r.peer_name}")


def main() -> None:
    """Run all cases, or those whose name contains a text."""
    command = parser(__doc__ or "")
    command.add_argument("--case", default="", help="only cases whose name contains this")
    chosen = command.parse_args()
    rounds = 2 if chosen.quick else 5
    with tempfile.TemporaryDirectory() as made:
        calls = {key: ["-m", "bayesgraph", *call] for key, call in commands(Path(made)).items()}
        calls |= {("import", name): ["-c", f"import {name}"] for name in IMPORTS}
        rows = []
        for (case, metric), call in calls.items():
            if chosen.case in case:
                light = case in ("bayesgraph", "import")
                a, b = least([call, TYPER if light else SKLEARN], rounds)
                peer = "import typer" if light else "import sklearn"
                rows.append(Row(case, metric, a, b, peer, b / a))
    print_table(rows)
    write(rows, chosen.json)


if __name__ == "__main__":
    main()
