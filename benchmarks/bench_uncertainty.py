"""How often intervals and sets hold what they say: no times, shares.

python benchmarks/bench_uncertainty.py [--quick] [--json FILE] [--data FOLDER]

Credible intervals: random networks of eight variables; for each table the parameters are drawn from
the prior (Dirichlet, all parameters 1), 50, 200 or 1,000 rows from the network, and evidence on two
variables from one row more. The network is fitted with the same prior, and the share of 90 %
intervals that hold the true posterior probability of a random state of each other variable is
printed, with the standard error of the simulation over tables.

Conformal sets: with FOLDER, all Parquet tables in it, whose class is the last column. Three
quarters of the rows are fitted (for split conformal prediction, a third of these only calibrates),
and the share of the other rows whose set of 90 % holds the class is printed, over ten splits.
Without FOLDER, a table of scikit-learn. ``ours`` and ``peer`` of the JSON lines are the share and
the nominal coverage.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from harness import Row, parser, versions, write
from sklearn.datasets import load_wine
from sklearn.model_selection import StratifiedShuffleSplit

import bayesgraph as bg

N_VARIABLES, MAX_PARENTS, MAX_STATES = 8, 3, 4
N_ROWS = (50, 200, 1000)
COVERAGE = 0.9
CLASSIFIERS = {
    "naive Bayes": partial(bg.NaiveBayesClassifier, discretizer="mdlp", check_columns=False),
    "TAN": partial(bg.TANClassifier, discretizer="mdlp", check_columns=False),
}

# ------------------------------------------------------------------------ credible intervals


def structure(random: np.random.Generator) -> list[tuple[bg.Discrete, list[bg.Discrete]]]:
    """Return random variables, each with its parents among those before it."""
    found: list[tuple[bg.Discrete, list[bg.Discrete]]] = []
    for i in range(N_VARIABLES):
        variable = bg.Discrete(f"v{i}", range(int(random.integers(2, MAX_STATES + 1))))
        n_parents = int(random.integers(0, min(i, MAX_PARENTS) + 1))
        above = random.choice(i, n_parents, replace=False) if n_parents else []
        found.append((variable, [found[j][0] for j in above]))
    return found


def drawn(families: Any, random: np.random.Generator) -> bg.BayesianNetwork:
    """Return a network of these families with parameters from the prior."""
    cpds = []
    for variable, parents in families:
        shape = [parent.cardinality for parent in parents]
        values = random.dirichlet(np.ones(variable.cardinality), shape)
        cpds.append(bg.TableCPD(variable, values, parents))
    return bg.BayesianNetwork(cpds)


def held(families: Any, n_rows: int, n_draws: int, random: np.random.Generator) -> list[bool]:
    """Return whether the intervals hold the true probabilities of one table."""
    truth = drawn(families, random)
    rows = truth.sample(n_rows + 1, random_state=random, frame="dict")
    table = {name: column[:n_rows] for name, column in rows.items()}
    arcs = [(p.name, variable.name) for variable, parents in families for p in parents]
    fitted = bg.BayesianNetwork.fit(arcs, table, variables=truth.variables, smoothing=1.0)
    seen = random.choice(truth.names, 2, replace=False)
    evidence = {str(name): rows[str(name)][-1].item() for name in seen}
    exact = truth.marginals(evidence)
    states = {name: random.choice(truth.variable(name).states).item() for name in exact}
    intervals = fitted.ask.credible_intervals(
        None, evidence, coverage=COVERAGE, draws=n_draws, random_state=random
    )
    cells = ((intervals[name][state], exact[name][state]) for name, state in states.items())
    return [bool(each.low <= true <= each.high) for each, true in cells]


def credible(n_networks: int, n_tables: int, n_draws: int) -> Iterator[Row]:
    """Yield the coverage of credible intervals for each number of rows."""
    for n_rows in N_ROWS:
        shares: list[float] = []
        for network in range(n_networks):
            families = structure(np.random.default_rng(network))
            for table in range(n_tables):
                random = np.random.default_rng([network, table, n_rows])
                shares.append(float(np.mean(held(families, n_rows, n_draws, random))))
        yield result(f"{n_rows} rows", "intervals, draws", shares)


# ---------------------------------------------------------------------------- conformal sets


def tables(folder: Path | None) -> Iterator[tuple[str, Any, Any]]:
    """Yield the name, the columns and the classes of each table."""
    if folder is None:
        yield "wine", *load_wine(return_X_y=True)
        return
    import pandas as pd  # of the tables only

    for path in sorted(folder.glob("*.parquet")):
        frame = pd.read_parquet(path)
        yield path.stem, frame.iloc[:, :-1], frame.iloc[:, -1].astype(str).to_numpy()


def in_sets(make: Any, X: Any, y: Any, split: Any, *, cross: bool) -> tuple[float, float]:
    """Return the share of rows whose set holds the class, and the mean number of classes."""
    learn, test = split
    clf = make()
    if cross:
        clf.fit(part(X, learn), y[learn]).conformalize(part(X, learn), y[learn], cv=10)
    else:
        own, rest = learn[: 2 * len(learn) // 3], learn[2 * len(learn) // 3 :]
        clf.fit(part(X, own), y[own])
        rest = rest[np.isin(y[rest], clf.classes_)]
        clf.conformalize(part(X, rest), y[rest])
    sets = clf.predict_set(part(X, test), COVERAGE)
    known = np.isin(y[test], clf.classes_)
    codes = np.searchsorted(clf.classes_, y[test][known])
    hits = sets[known][np.arange(len(codes)), codes]
    return float(hits.sum() / len(test)), float(sets.sum(axis=1).mean())


def part(X: Any, rows: Any) -> Any:
    """Return rows of a frame or of a matrix."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def conformal(folder: Path | None, n_splits: int) -> Iterator[Row]:
    """Yield the coverage of conformal sets on each table, and on all together."""
    every: dict[str, list[float]] = {}
    for name, X, y in tables(folder):
        splits = StratifiedShuffleSplit(n_splits, test_size=0.25, random_state=0)
        classes, counts = np.unique(y, return_counts=True)
        common = np.isin(y, classes[counts > 1])  # splits are stratified
        X, y = part(X, np.flatnonzero(common)), y[common]
        for label, make in CLASSIFIERS.items():
            for cross in (False, True):
                found = [in_sets(make, X, y, split, cross=cross) for split in splits.split(y, y)]
                metric = f"{label}, {'cross' if cross else 'split'}"
                shares = [share for share, _ in found]
                every.setdefault(metric, []).append(float(np.mean(shares)))
                size = np.mean([size for _, size in found])
                yield result(f"{name} ({len(y)} rows)", metric, shares, f"; {size:.2f} classes")
    for metric, shares in every.items():
        yield result(f"all {len(shares)} tables", metric, shares)


def result(case: str, metric: str, shares: list[float], more: str = "") -> Row:
    """Return the row of a coverage, with its standard error in the name of the peer."""
    error = float(np.std(shares, ddof=1) / np.sqrt(len(shares))) if len(shares) > 1 else np.nan
    mean = float(np.mean(shares))
    return Row(case, metric, mean, COVERAGE, f"± {error:.4f}{more}", mean / COVERAGE)


def main() -> None:
    """Run both parts."""
    command = parser(__doc__)
    command.add_argument("--data", type=Path, help="a folder of Parquet tables")
    chosen = command.parse_args()
    sizes = (8, 10, 300) if chosen.quick else (50, 200, 1000)
    warnings.simplefilter("ignore")
    print(versions(["numpy", "scikit-learn"]))
    rows = []
    n_splits = 2 if chosen.quick else 10
    for row in itertools.chain(credible(*sizes), conformal(chosen.data, n_splits)):
        rows.append(row)
        print(f"{row.case:<36}{row.metric:<22}{row.ours:.4f} {row.peer_name}", flush=True)
    write(rows, chosen.json)


if __name__ == "__main__":
    main()
