"""Exact inference in an offline page, beside the same network in Python and beside bayesjs.

python benchmarks/bench_explorer.py [--quick] [--json FILE] [--network NAME ...] [--old FOLDER]

The networks are those of pgmpy's wheel. Measured are: all posteriors without findings, in the page
(warm, WebAssembly) and by `net.marginals`, in turn; by pyAgrum's LazyPropagation, on one thread;
with `--old` also by the bayesgraph of that folder, a checkout of another commit; by npm's bayesjs,
in the same browser, if npm is there; the time from a click on a state to painted bars; and the
memory of a page that has answered. A time is the best of all blocks, as others use the
machine too. Needs Chromium and Playwright.
"""

from __future__ import annotations

import gzip
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from importlib import resources
from pathlib import Path
from statistics import median
from typing import Any

import chromium
from harness import Row, parser, report

import bayesgraph as bg

QUICK = ["asia", "alarm", "hailfinder", "hepar2", "andes", "pigs"]
NETWORKS = [*QUICK, "win95pts", "munin", "link"]
# Networks whose click is timed: those whose variables are all shown as cards.
CLICKED = ["asia", "alarm", "hailfinder", "hepar2", "win95pts"]
BAYESJS = ["asia", "alarm"]
BAYESJS_VERSION = "0.6.5"
TURNS = 5
# Frames are painted as soon as they are ready, not when a screen would show them.
UNLIMITED = ("--disable-frame-rate-limit", "--disable-gpu-vsync")

# The page answers for `ms` milliseconds, in blocks of at least two.
_PROPAGATE = """async (ms) => {
  while (!(globalThis.bayesgraph instanceof Promise)) await new Promise((go) => setTimeout(go, 20));
  const page = await bayesgraph, { snapshot, numbers, kernel } = page;
  globalThis.measured ??= (await page.createBackend(snapshot, numbers, { kernel })).engine;
  const given = { hard: new Map(), soft: new Map() }, stop = performance.now() + ms;
  let best = Infinity;
  for (let block = 1; performance.now() < stop || best === Infinity;) {
    const start = performance.now();
    for (let k = 0; k < block; k++) globalThis.measured.propagate(given);
    const lasted = performance.now() - start;
    if (lasted < 2) block *= 2;
    else best = Math.min(best, lasted / block);
  }
  return best / 1000;
}"""
_SETTLE = """async () => {
  while (!(globalThis.bayesgraph instanceof Promise)) await new Promise((go) => setTimeout(go, 20));
  await (await bayesgraph).backend.answer({}, null);
  await new Promise((go) => setTimeout(go, 500));
}"""
_CLICK = """async (turn) => {
  while (!(globalThis.bayesgraph instanceof Promise)) await new Promise((go) => setTimeout(go, 20));
  await bayesgraph;
  const rows = document.querySelectorAll("#app button.row"), row = rows[(7 * turn) % rows.length];
  const start = performance.now();
  row.click();
  await new Promise((done) => {
    const seen = new MutationObserver(() => {
      seen.disconnect();
      requestAnimationFrame(() => scheduler.postTask(done, { priority: "user-blocking" }));
    });
    seen.observe(document.querySelector("#app"), { subtree: true, attributes: true });
  });
  return (performance.now() - start) / 1000;
}"""
_BAYESJS = """([nodes, ms]) => {
  const stop = performance.now() + ms;
  let best = Infinity;
  do {
    const start = performance.now();
    bayesjs.inferAll(nodes, {}, { force: true });  // otherwise it only repeats what it said
    best = Math.min(best, performance.now() - start);
  } while (performance.now() < stop);
  return best / 1000;
}"""
_OLD = """
import sys, time
import bayesgraph as bg
net = bg.load(sys.argv[1])
net.marginals({})
best, end = float("inf"), time.perf_counter() + float(sys.argv[2])
while time.perf_counter() < end or best == float("inf"):
    start = time.perf_counter()
    net.marginals({})
    best = min(best, time.perf_counter() - start)
print(best)
"""
# Evidence that was there makes pyAgrum compute anew; its junction tree is kept.
_AGRUM = """
import sys, time
import pyagrum
net = pyagrum.loadBN(sys.argv[1])
engine = pyagrum.LazyPropagation(net)
engine.setNumberOfThreads(1)
nodes = list(net.nodes())
best, end = float("inf"), time.perf_counter() + float(sys.argv[2])
while time.perf_counter() < end or best == float("inf"):
    engine.setEvidence({nodes[0]: 0})
    engine.makeInference()
    engine.eraseAllEvidence()
    start = time.perf_counter()
    engine.makeInference()
    for node in nodes:
        engine.posterior(node)
    best = min(best, time.perf_counter() - start)
print(best)
"""
AGRUM_PATIENCE = 60.0


def network_file(name: str) -> AbstractContextManager[Path]:
    """Return a file of pgmpy's wheel, while the context lasts."""
    import pgmpy

    file = resources.files(pgmpy) / "utils" / "example_models" / f"{name}.bif.gz"
    return resources.as_file(file)


def network(name: str) -> bg.BayesianNetwork:
    """Return a network of pgmpy's wheel."""
    with network_file(name) as path:
        found: bg.BayesianNetwork = bg.load(path)
    return found


def best_of(call: Callable[[], object], seconds: float) -> float:
    """Return the shortest time of calls that are made for so long."""
    best, end = float("inf"), time.perf_counter() + seconds
    while time.perf_counter() < end or best == float("inf"):
        start = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - start)
    return best


def propagation(browser: Any, name: str, folder: Path, args: Any) -> list[Row]:
    """Time all posteriors of a network in the page, in Python and by another commit."""
    net, path = network(name), folder / f"{name}.html"
    net.to_html(path, limit=float("inf"))
    tab = browser.new_page()
    tab.goto(path.as_uri())
    tab.evaluate(_SETTLE)  # what the page asks for itself
    seconds = 0.1 if args.quick else 0.4
    net.marginals({})
    times: dict[str, list[float]] = {"page": [], "python": []}
    for _ in range(TURNS):
        times["page"].append(tab.evaluate(_PROPAGATE, 1000 * seconds))
        times["python"].append(best_of(lambda: net.marginals({}), seconds))
    page, python = min(times["page"]), min(times["python"])
    case = f"{name}, {len(net.variables)} variables: all posteriors"
    rows = [Row(case, "warm", page, python, "net.marginals", python / page)]
    theirs, reason = by_agrum(name, folder, TURNS * seconds)
    ratio = None if theirs is None else theirs / page
    rows.append(Row(case, "warm", page, theirs, f"pyagrum.LazyPropagation{reason}", ratio))
    if args.old is not None:
        old = by_commit(args.old, net, folder, TURNS * seconds)
        rows.append(Row(case, "warm", page, old, f"net.marginals of {args.old.name}", old / page))
    tab.close()
    return rows


def by_commit(checkout: Path, net: bg.BayesianNetwork, folder: Path, seconds: float) -> float:
    """Return the time of `net.marginals` in a process of its own with another bayesgraph."""
    path = folder / "network.bayesgraph"
    net.save(path)
    done = subprocess.run(
        [sys.executable, "-c", _OLD, str(path), str(seconds)],
        env={**os.environ, "PYTHONPATH": str(checkout)},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)


def by_agrum(name: str, folder: Path, seconds: float) -> tuple[float | None, str]:
    """Return the time of pyAgrum in a process of its own, or none with the reason."""
    path = folder / f"{name}.bif"
    with network_file(name) as packed:
        path.write_bytes(gzip.decompress(packed.read_bytes()))
    command = [sys.executable, "-c", _AGRUM, str(path), str(seconds)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=AGRUM_PATIENCE
        )
    except subprocess.TimeoutExpired:
        return None, f": over {AGRUM_PATIENCE:.0f} s"
    return float(done.stdout), ""


def bayesjs_nodes(net: bg.BayesianNetwork) -> dict[str, Any]:
    """Return a network as bayesjs takes it."""
    nodes: dict[str, Any] = {}
    for cpd in net.cpds:
        states, parents = list(cpd.variable.states), [v.name for v in cpd.parents]
        rows = cpd.values.reshape(-1, len(states)).tolist()
        shares = [dict(zip(states, row, strict=True)) for row in rows]
        table: Any = shares[0]
        if parents:
            table = []
            for k, share in enumerate(shares):
                left, when = k, {}
                for parent in reversed(cpd.parents):
                    left, code = divmod(left, parent.cardinality)
                    when[parent.name] = parent.states[code]
                table.append({"when": when, "then": share})
        name = cpd.variable.name
        nodes[name] = {"id": name, "states": states, "parents": parents, "cpt": table}
    return nodes


def peer(browser: Any, name: str, ours: float, folder: Path, seconds: float) -> list[Row]:
    """Time bayesjs, whose programme npm fetches, on the same network."""
    case, said = f"{name}: all posteriors", f"bayesjs {BAYESJS_VERSION}"
    script = folder / "node_modules" / "bayesjs" / "dist" / "bayes.js"
    if not script.exists():
        npm = shutil.which("npm")
        if npm is None:
            return [Row(case, "warm", ours, None, f"{said}: no npm", None)]
        command = [npm, "install", "--prefix", str(folder), "--no-audit", "--no-fund"]
        done = subprocess.run(
            [*command, f"bayesjs@{BAYESJS_VERSION}"], capture_output=True, check=False
        )
        if done.returncode:
            return [Row(case, "warm", ours, None, f"{said}: npm cannot fetch it", None)]
    tab = browser.new_page()
    tab.goto("about:blank")
    tab.add_script_tag(path=script)
    theirs = tab.evaluate(_BAYESJS, [bayesjs_nodes(network(name)), 1000 * seconds])
    tab.close()
    return [Row(case, "warm", ours, theirs, said, theirs / ours)]


def clicks(browser: Any, name: str, folder: Path) -> list[Row]:
    """Time clicks on states until their bars are painted, and the work of the main thread."""
    path = folder / f"{name}.html"
    network(name).to_html(path, limit=float("inf"))
    tab = browser.new_page(viewport={"width": 1440, "height": 900})
    tab.goto(path.as_uri())
    tab.wait_for_selector("#app button.row")
    tab.evaluate(_SETTLE)
    work = tab.context.new_cdp_session(tab)
    work.send("Performance.enable", {"timeDomain": "threadTicks"})
    times, busy = [], []
    for turn in range(24):
        before = spent(work)
        times.append(tab.evaluate(_CLICK, turn))
        busy.append(spent(work) - before)
    tab.close()
    case, frame = f"{name}: click to painted bars", 1 / 60
    return [
        Row(case, "seconds", median(times), frame, "a frame", frame / median(times)),
        Row(case, "CPU", median(busy), frame, "a frame", frame / median(busy)),
    ]


def spent(work: Any) -> float:
    """Return the seconds that the page's main thread has worked."""
    found = work.send("Performance.getMetrics")["metrics"]
    return float(next(item["value"] for item in found if item["name"] == "TaskDuration"))


def memory(browser: Any, name: str, folder: Path) -> Row:
    """Return the megabytes of a page's engine and heap after an answer."""
    path = folder / f"{name}.html"
    if not path.exists():
        network(name).to_html(path, limit=float("inf"))
    tab = browser.new_page()
    tab.goto(path.as_uri())
    tab.evaluate(_SETTLE)
    tab.evaluate(_PROPAGATE, 1)
    client = tab.context.new_cdp_session(tab)
    client.send("HeapProfiler.collectGarbage")
    heap = client.send("Runtime.getHeapUsage")
    wasm = tab.evaluate("globalThis.measured.kernel.memory.buffer.byteLength")
    total = (heap["usedSize"] + wasm) / 1e6
    tab.close()
    said = f"limit; {wasm / 1e6:.0f} MB of it the engine's"
    return Row(f"{name}: memory of the page", "MB", total, 100.0, said, None)


def main() -> None:
    """Measure, and report all rows."""
    command = parser(__doc__ or "")
    command.add_argument("--network", nargs="+", help="only these networks")
    command.add_argument("--old", type=Path, help="a checkout of another commit, as a column")
    args = command.parse_args()
    if reason := chromium.missing():
        report([Row("explorer", "", None, None, reason, None)], args.json, ["numpy"])
        return
    names = args.network or (QUICK if args.quick else NETWORKS)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as name, chromium.launched(*UNLIMITED) as browser:
        folder = Path(name)
        for network_name in names:
            found = propagation(browser, network_name, folder, args)
            rows += found
            if network_name in BAYESJS and found[0].ours is not None:
                rows += peer(browser, network_name, found[0].ours, folder, 1.0)
            if network_name in CLICKED:
                rows += clicks(browser, network_name, folder)
            if network_name in ("munin", "link"):
                rows.append(memory(browser, network_name, folder))
    report(rows, args.json, ["numpy", "playwright", "pyagrum"])


if __name__ == "__main__":
    main()
