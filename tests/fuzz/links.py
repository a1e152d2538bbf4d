"""Share links of pages: the front end reads addresses, and answers them as Python does.

The modules of the front end run in a process of Node, which Playwright brings along.
"""

from __future__ import annotations

import atexit
import base64
import functools
import importlib.util
import json
import random
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from fuzz.mutation import mutated

import bayesgraph as bg
from bayesgraph.page.page import FRONT
from bayesgraph.page.snapshot import take_snapshot

_SCRIPT = """
import { createInterface } from "node:readline";
import { createBackend } from "./backend.js";
import { addressOf, caseOfAddress } from "./state.js";
let model, backend;
for await (const line of createInterface({ input: process.stdin })) {
  const given = JSON.parse(line);
  try {
    if (given.snapshot) {
      const { snapshot } = given, names = snapshot.variables.map(({ name }) => name);
      model = { ...snapshot, names };
      const kernel = Uint8Array.from(Buffer.from(given.kernel, "base64"));
      backend = await createBackend(snapshot, Float64Array.from(given.numbers), { kernel });
      console.log("{}");
      continue;
    }
    const found = caseOfAddress(model, given.address), { findings, target } = found;
    const answer = await backend.answer(findings, target ?? model.target);
    const written = addressOf(model, { findings, target, view: model.view });
    const again = caseOfAddress(model, written);
    const posteriors = (answer.posteriors ?? []).map((one) => one && Array.from(one.p ?? []));
    console.log(JSON.stringify({ findings, target, again: again.findings, to: again.target,
      impossible: Boolean(answer.impossible), posteriors }));
  } catch (error) {
    console.log(JSON.stringify({ error: String(error.stack) }));
  }
}
"""
_FAR = 1e4
ADDRESSES = [
    *("#e=rain:yes", "#e=rain!no&t=wet", "#e=wet:%27a%20b%27,n=2", "#e=temp=13.5,rain~.5~1e-3"),
    *("#e=words*0.2*1.3,n=2&t=wet", "#e=words*2.1,wet!@0!@3&v=network", "#t=rain", "#e=@2=-3e1"),
    *("#e=depth:@1,n=0,words*0.1&t=depth&v=table", "#e=%F0%9F%98%80:x", "#e=wet~1~2~3~4"),
    *("#t=temp", "#e=%ZZ:x&t=words", "#t=n&e=rain:%ZZ"),
]


def node() -> str | None:
    """Return the path of Node: that of the machine, or Playwright's; None without one."""
    if found := shutil.which("node"):
        return found
    spec = importlib.util.find_spec("playwright")
    path = Path(spec.origin).parent / "driver" / "node" if spec and spec.origin else None
    return str(path) if path and path.exists() else None


@functools.cache
def model() -> bg.BayesianNetwork:
    """Return a network with a variable of each kind, and names and states that read alike."""
    rain, wet = bg.Discrete("rain", ["no", "yes"]), bg.Discrete("wet", ["a\nb", "a b", " ", "' '"])
    words, odd = bg.CountVector("words", ["x", "y\nz", "y z"]), bg.Discrete("😀", ["x", "@0"])
    return bg.BayesianNetwork(
        [
            bg.TableCPD(rain, [0.8, 0.2]),
            bg.TableCPD(wet, [[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.3, 0.0]], [rain]),
            bg.GaussianCPD(bg.Continuous("temp"), [15.0, 5.0], 9.0, [rain]),
            bg.PoissonCPD(bg.Count("n"), [1.0, 3.0], [rain]),
            bg.MultinomialCPD(words, [[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]], [rain]),
            bg.TableCPD(odd, [[0.5, 0.5], [0.9, 0.1]], [rain]),
            bg.TableCPD(bg.Binned("depth", [1.5, 2.5]), [[0.2, 0.5, 0.3], [0.6, 0.2, 0.2]], [rain]),
        ]
    )


@functools.cache
def _front() -> subprocess.Popen[str]:
    """Start the front end with the model; it reads a line for each address, and writes one."""
    folder = Path(tempfile.mkdtemp())
    for path in FRONT.glob("*.js"):
        shutil.copy(path, folder)
    (folder / "package.json").write_text('{"type": "module"}')
    (folder / "main.js").write_text(_SCRIPT)
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    process = subprocess.Popen([str(node()), "main.js"], cwd=folder, encoding="utf-8", **pipes)
    atexit.register(_stop, process, folder)
    snapshot = take_snapshot(model(), target="rain")
    kernel = base64.b64encode((FRONT / "kernel.wasm").read_bytes()).decode()
    content, numbers = snapshot.content, snapshot.numbers.tolist()
    _answer(process, {"snapshot": content, "numbers": numbers, "kernel": kernel})
    return process


def _stop(process: subprocess.Popen[str], folder: Path) -> None:
    process.communicate()
    shutil.rmtree(folder, ignore_errors=True)


def _answer(process: subprocess.Popen[str], line: dict[str, Any]) -> dict[str, Any]:
    assert process.stdin
    assert process.stdout
    process.stdin.write(json.dumps(line) + "\n")
    process.stdin.flush()
    answer: dict[str, Any] = json.loads(process.stdout.readline())
    if "error" in answer:
        raise RuntimeError(answer["error"])
    return answer


def damaged(chance: random.Random) -> str:
    """Return a damaged address."""
    others = [address.encode() for address in ADDRESSES]
    return mutated(chance, chance.choice(others), others).decode("utf-8", "replace")


def read(address: str, folder: Path) -> dict[str, Any]:
    """Return what the front end makes of an address; one that says nothing is refused."""
    answer = _answer(_front(), {"address": address})
    if not answer["findings"] and answer["target"] is None:
        raise bg.errors.EvidenceError(f"{address!r} says nothing.")
    return answer


def use(answer: dict[str, Any], folder: Path) -> None:
    """Check that a case is written and read again as it is, and answered as Python answers it."""
    assert answer["again"] == answer["findings"]
    assert (answer["to"] or 0) == (answer["target"] or 0)  # the page's own target goes unsaid
    net = model()
    assert isinstance(net.variables[answer["target"] or 0], bg.Discrete)
    evidence = {net.variables[int(v)].name: _value(net.variables[int(v)], one)
                for v, one in answer["findings"].items()}  # fmt: skip
    try:
        marginals = net.marginals(evidence)
    except bg.errors.ImpossibleEvidenceError:
        assert answer["impossible"]
        return
    assert not answer["impossible"]
    if abs(marginals.log_evidence) > _FAR:
        return  # a number so far outside that sums of logarithms lose digits; Python warns of it
    for variable, found in zip(net.variables, answer["posteriors"], strict=True):
        if isinstance(variable, bg.Discrete) and variable.name in marginals:
            expected = marginals[variable.name].probabilities
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def _value(variable: Any, finding: dict[str, Any]) -> Any:
    """Return a finding of the page as evidence."""
    if "value" in finding:
        return finding["value"]
    if "counts" in finding:
        return {variable.items[int(k)]: x for k, x in finding["counts"].items()}
    if "state" in finding:
        return variable.states[finding["state"]]
    out = finding.get("not")
    weights = finding.get("weights") or [float(k not in out) for k in range(variable.cardinality)]
    return dict(zip(variable.states, weights, strict=True))
