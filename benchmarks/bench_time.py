"""Sequences: hidden Markov models beside hmmlearn and pyAgrum's ktbn.

python benchmarks/bench_time.py [--quick] [--json FILE]

Smoothing, the most probable path, one pass of EM, many sequences side by side, and what the peers
do not do: missing cells, and numbers beside tables. hmmlearn has two implementations, by logarithms
(its default for categories) and by scaling. The last rows are one update of a stream, in seconds
(the peer column has the 50 microseconds that are aimed at), and a long sequence with the most
memory that the process has held, in GB (the peer column has the 2 that are aimed at).
"""

from __future__ import annotations

import resource
import time
import warnings
from collections.abc import Callable
from statistics import median

import numpy as np
import pyagrum as gum
import pyagrum.ktbn as ktbn
from harness import Row, options, pair, report
from hmmlearn import hmm

import bayesgraph as bg

STATES, SYMBOLS = 5, 6


class Models:
    """The same random hidden Markov model in the three libraries."""

    def __init__(self, seed: int = 0) -> None:
        random = np.random.default_rng(seed)
        self.start = random.dirichlet(np.ones(STATES))
        self.move = random.dirichlet(np.ones(STATES), STATES)
        self.emit = random.dirichlet(np.ones(SYMBOLS), STATES)
        state, seen = bg.Discrete("z", range(STATES)), bg.Discrete("y", range(SYMBOLS))
        table = bg.TableCPD(seen, self.emit, [state])
        number = bg.GaussianCPD(bg.Continuous("x"), np.arange(STATES), 1.0, [state])
        chain = {"start": self.start, "transition": self.move}
        self.ours = bg.hidden_markov(state, {"y": table}, **chain)
        self.mixed = bg.hidden_markov(state, {"y": table, "x": number}, **chain)

    def hmmlearn(self, implementation: str) -> hmm.CategoricalHMM:
        model = hmm.CategoricalHMM(STATES, implementation=implementation)
        model.startprob_, model.transmat_, model.emissionprob_ = self.start, self.move, self.emit
        model.n_features = SYMBOLS
        return model

    def ktbn(self, rows: np.ndarray) -> np.ndarray:
        """Return the smoothed states by pyAgrum, which sets evidence slice by slice."""
        model = ktbn.KTBN(2)
        model.addTemporal(gum.RangeVariable("z", "z", 0, STATES - 1))
        model.addTemporal(gum.RangeVariable("y", "y", 0, SYMBOLS - 1))
        model.addArc("z", 0, "z", 1)
        for t in (0, 1):
            model.addArc("z", t, "y", t)
            model.cpt("y", t).fillWith(self.emit.reshape(-1).tolist())
        model.cpt("z", 0).fillWith(self.start.tolist())
        model.cpt("z", 1).fillWith(self.move.reshape(-1).tolist())
        inference = ktbn.KTBNInference(model)
        inference.addTarget("z")
        for t, code in enumerate(rows.tolist()):
            inference.addObservation("y", t, code)
        inference.makeInference(len(rows))
        return np.array([inference.posterior("z", t).toarray() for t in range(len(rows))])


def em_pass(fit: Callable[[int], object], passes: int) -> float:
    """Return the seconds of one pass of EM: the difference of a long and a short run."""
    times = []
    for _ in range(3):
        seconds = []
        for count in (1, 1 + passes):
            begin = time.perf_counter()
            fit(count)
            seconds.append(time.perf_counter() - begin)
        times.append((seconds[1] - seconds[0]) / passes)
    return median(times)


def step_seconds(model: bg.TemporalNetwork, cells: dict[str, float], n: int = 3000) -> float:
    state = model.start()
    times = []
    for _ in range(n):
        begin = time.perf_counter()
        state.update(cells)
        times.append(time.perf_counter() - begin)
    return median(times)


def rows_of(*, quick: bool) -> list[Row]:
    models, random = Models(), np.random.default_rng(1)
    length = 2_000 if quick else 10_000
    seen = random.integers(0, SYMBOLS, length)
    table, column = {"y": seen}, seen[:, None]
    out = []

    def ours() -> object:
        return models.ours.smooth(table, "z")

    for name in ("log", "scaling"):
        peer = models.hmmlearn(name)
        assert np.abs(ours() - peer.predict_proba(column)).max() < 1e-10
        case = f"smoothing, {length:,} slices"
        out.append(
            pair(case, "time", ours, lambda p=peer: p.predict_proba(column), f"hmmlearn, {name}")
        )
    assert np.abs(ours() - models.ktbn(seen)).max() < 1e-10
    out.append(pair(case, "time", ours, lambda: models.ktbn(seen), "pyAgrum ktbn, set-up included"))
    best = models.hmmlearn("log")
    case = f"most probable path, {length:,} slices"
    path = lambda: models.ours.most_probable(table, frame="dict")  # noqa: E731
    out.append(pair(case, "time", path, lambda: best.predict(column), "hmmlearn"))

    n, size = (100, 100) if quick else (1000, 100)
    many = random.integers(0, SYMBOLS, n * size)
    long = {"y": many, "id": np.repeat(np.arange(n), size)}
    side = pair(
        f"{n:,} sequences of {size}",
        "time",
        lambda: models.ours.smooth(long, "z", id="id"),
        lambda: [models.ktbn(many[i * size : (i + 1) * size]) for i in range(n)],
        "pyAgrum ktbn, one by one",
        repeats=3,
    )
    out.append(side)
    lengths, scaled = [size] * n, models.hmmlearn("scaling")
    beside = lambda: scaled.predict_proba(many[:, None], lengths)  # noqa: E731
    ours_many = lambda: models.ours.smooth(long, "z", id="id")  # noqa: E731
    out.append(pair(side.case, "time", ours_many, beside, "hmmlearn, scaling"))

    numbers = {"y": seen.astype(float), "x": random.normal(2.0, 2.0, length)}
    gaps = {k: np.where(random.random(length) < 0.2, np.nan, v) for k, v in numbers.items()}
    out.append(
        pair(
            "numbers beside tables, a fifth of the cells missing",
            "time",
            lambda: models.mixed.smooth(gaps, "z"),
            lambda: models.mixed.smooth(numbers, "z"),
            "the same, complete",
        )
    )

    n, size = (20, 200) if quick else (100, 1000)
    many = np.concatenate(
        [models.hmmlearn("log").sample(size, random_state=i)[0] for i in range(n)]
    )
    long = {"y": many[:, 0], "id": np.repeat(np.arange(n), size)}
    arcs, seen_of = [(bg.before("z"), "z"), ("z", "y")], bg.Discrete("y", range(SYMBOLS))

    def fit(count: int) -> object:
        how = {"hidden": {"z": STATES}, "variables": [seen_of], "max_iter": count, "tol": 0.0}
        return bg.TemporalNetwork.fit(arcs, long, id="id", **how)

    fit(1)
    mine = em_pass(fit, 10)
    for name in ("log", "scaling"):

        def peer_fit(count: int, name: str = name) -> object:
            model = hmm.CategoricalHMM(
                STATES, n_iter=count, tol=-1.0, random_state=0, implementation=name
            )
            return model.fit(many, [size] * n)

        theirs = em_pass(peer_fit, 10)
        case = f"a pass of EM, {n} sequences of {size:,}"
        out.append(Row(case, "time", mine, theirs, f"hmmlearn, {name}", theirs / mine))

    for name, model, cells in (
        ("tables", models.ours, {"y": 1}),
        ("numbers too", models.mixed, {"y": 1, "x": 0.5}),
    ):
        step = step_seconds(model, cells)
        out.append(Row(f"an update of a stream, {name}", "time", step, 5e-5, "aim", 5e-5 / step))
    count = 100_000 if quick else 1_000_000
    models.ours.smooth({"y": random.integers(0, SYMBOLS, count)}, "z")
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0
    out.append(Row(f"smoothing, {count:,} slices", "GB", held / 1e9, 2.0, "aim", 2e9 / held))
    return out


def main() -> None:
    chosen = options(__doc__ or "")
    warnings.simplefilter("ignore")  # fits that stop after few passes say so
    report(rows_of(quick=chosen.quick), chosen.json, ["hmmlearn", "pyagrum"])


if __name__ == "__main__":
    main()
