"""The engine of the page: WebAssembly beside plain JavaScript, logarithms, planning, the kernel."""

import itertools
import math
import re
import shutil
import subprocess

import golden_models
import numpy as np
import page_parity as parity
import pytest
from large_networks import large_network

import bayesgraph as bg
from bayesgraph.page.page import FRONT
from bayesgraph.page.snapshot import findings

ASSEMBLYSCRIPT = "0.28.20"
_BOTH = """async (given) => {
  const { snapshot, numbers, kernel, createBackend } = globalThis.given;
  const found = [];
  for (const wasm of [true, false]) {
    const backend = await createBackend(snapshot, numbers, { kernel, wasm });
    if (wasm !== Boolean(backend.engine.kernel)) throw new Error("There is no kernel.");
    found.push(await backend.answer(given, null));
  }
  return found;
}"""


def both(page, model, evidence):
    """Return the answers by WebAssembly and by plain JavaScript."""
    return page.tab.evaluate(_BOTH, findings(model, evidence))


@pytest.mark.one_in(2)
@pytest.mark.parametrize("seed", range(2))
def test_webassembly_is_plain_javascript(engine, seed):
    model = large_network(seed, n=40)
    page = engine.take(model)
    for evidence in parity.evidence_sets(model, seed).values():
        wasm, plain = both(page, model, evidence)
        assert wasm["logEvidence"] == pytest.approx(plain["logEvidence"], abs=1e-13, rel=1e-13)
        for a, b in zip(wasm["posteriors"], plain["posteriors"], strict=True):
            np.testing.assert_allclose(a["p"], b["p"], rtol=0, atol=1e-13)


_OPERATIONS = """() => {
  const { code } = globalThis.backend.engine.last, found = [];
  const lengths = { 4: 3, 5: 5, 6: 5, 7: 5, 9: 2 };
  for (let at = 0; at < code.length;) {
    found.push(code[at]);
    at += code[at] === 8 ? 2 + code[at + 1] : lengths[code[at]] ?? code[at + 1];
  }
  return found;
}"""
_CONTRACT, _LOOP = 10, 8


def wide_network(seed, n=9):
    """Return a network whose cliques have hundreds of entries."""
    random = np.random.default_rng(seed)
    variables = [bg.Discrete(f"v{i}", range(int(random.integers(3, 7)))) for i in range(n)]
    cpds = []
    for i, v in enumerate(variables):
        near = variables[max(0, i - 4) : i]
        parents = [near[j] for j in random.permutation(len(near))[: 2 + i % 2]]
        shape = tuple(p.cardinality for p in parents)
        cpds.append(bg.TableCPD(v, random.dirichlet(np.ones(v.cardinality), shape), parents))
    return bg.BayesianNetwork(cpds)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", range(6))
def test_messages_that_are_sums_of_products(engine, seed):
    model = wide_network(seed)
    page = engine.take(model)
    for evidence in parity.evidence_sets(model, seed).values():
        assert parity.posterior_error(model, page, evidence) < 1e-12
        if not evidence:
            assert page.tab.evaluate(_OPERATIONS).count(_CONTRACT) > 2
        wasm, plain = both(page, model, evidence)
        for a, b in zip(wasm["posteriors"], plain["posteriors"], strict=True):
            np.testing.assert_allclose(a["p"], b["p"], rtol=0, atol=1e-13)
    # Products of these are too small for numbers: the sums are of logarithms.
    seldom = {
        name: {state: 1e-200 if state else 1.0 for state in model.variable(name).states}
        for name in ("v0", "v3", "v5")
    }
    assert parity.posterior_error(model, page, seldom) < 1e-9
    assert page.tab.evaluate("globalThis.backend.engine.logarithmic")


@pytest.mark.slow
def test_a_product_of_four_large_tables(engine):
    random = np.random.default_rng(4)
    blocks = [[0], [1, 2], [3, 4], [5, 6]]
    scopes = [[i for block in blocks if block is not left for i in block] for left in blocks]
    tables = [random.random((5,) * len(scope)) for scope in scopes]
    v = [bg.Discrete(f"v{i}", range(5)) for i in range(7)]
    factors = [bg.Factor([v[i] for i in s], x) for s, x in zip(scopes, tables, strict=True)]
    model = bg.FactorGraph(factors)
    page = engine.take(model)
    found = page.ask("answer", {}, None)["posteriors"]
    operations = page.tab.evaluate(_OPERATIONS)
    assert operations.count(_CONTRACT) > 4
    assert _LOOP not in operations
    joint = np.einsum(*itertools.chain(*zip(tables, scopes, strict=True)), range(7))
    for i in range(7):
        marginal = joint.sum(axis=tuple(k for k in range(7) if k != i))
        p = found[model._index_of[f"v{i}"]]["p"]
        np.testing.assert_allclose(p, marginal / marginal.sum(), rtol=0, atol=1e-13)
    wasm, plain = both(page, model, {"v0": {0: 0.2, 1: 0.5, 2: 0, 3: 1, 4: 1}, "v3": 2})
    for a, b in zip(wasm["posteriors"], plain["posteriors"], strict=True):
        np.testing.assert_allclose(a["p"], b["p"], rtol=0, atol=1e-13)


def wide_star(n):
    """Return a class with so many features that the probability of all is no number."""
    kind = bg.Discrete("kind", ["a", "b"])
    rare = [[1e-3, 1 - 1e-3], [1.1e-3, 1 - 1.1e-3]]
    return bg.BayesianNetwork([
        bg.TableCPD(kind, [0.3, 0.7]),
        *(bg.TableCPD(bg.Discrete(f"x{i}", ["on", "off"]), rare, [kind]) for i in range(n)),
    ])  # fmt: skip


@pytest.mark.slow
def test_probabilities_too_small_for_numbers(engine):
    model = wide_star(120)
    page = engine.take(model)
    evidence = {f"x{i}": "on" for i in range(110)}
    assert np.exp(model.log_probability(evidence)) == 0
    assert parity.posterior_error(model, page, evidence) < 1e-9
    assert parity.assignment_error(model, page, evidence) < 1e-9
    assert parity.conflict_error(model, page, evidence) < 1e-9
    assert parity.sensitivity_error(model, page, evidence, "kind") < 1e-9
    evidence = {"x0": {"on": 1e-200, "off": 1e-250}, "x1": {"on": 1e-200, "off": 1e-250}}
    assert parity.posterior_error(model, page, evidence) < 1e-9


def test_factors_too_small_for_numbers(engine):
    a, b = (bg.Discrete(name, ["no", "yes"]) for name in "ab")
    factor = bg.Factor.from_log([a, b], [[[0.0, -800.0], [-900.0, -1600.0]]])
    model = bg.FactorGraph([factor])
    page = engine.take(model)
    assert parity.posterior_error(model, page, {}) < 1e-12
    answer = page.ask("answer", findings(model, {"a": "yes"}), None)
    assert answer["logEvidence"] == pytest.approx(model.log_probability({"a": "yes"}), abs=1e-9)


@pytest.mark.filterwarnings("ignore::bayesgraph.core.errors.ExtrapolationWarning")
def test_likelihoods_below_the_smallest_number(engine):
    model = wide_star(3)
    page = engine.take(model)
    for least in (9e-310, 1e-311, 1e-318):
        evidence = {"x0": {"on": least, "off": least / 4}, "x1": "on"}
        assert parity.posterior_error(model, page, evidence) < 1e-9
        assert parity.information_error(model, page, evidence, "kind") < 1e-9
        assert parity.conflict_error(model, page, evidence) < 1e-9
        assert parity.sensitivity_error(model, page, evidence, "kind") < 1e-9
    mixed = bg.BayesianNetwork(
        [*model.cpds, bg.GaussianCPD(bg.Continuous("y"), [0.0, 1.0], 1.0, [model.variables[0]])]
    )
    page = engine.take(mixed)
    evidence["y"] = 50.0
    answer = page.ask("answer", findings(mixed, evidence), None)
    assert answer["logEvidence"] == pytest.approx(mixed.log_probability(evidence), abs=1e-9)
    most = page.ask("mostProbable", findings(mixed, evidence))
    # Of the joint state with the density of what is given.
    states = dict(zip(mixed.names[:4], most["states"], strict=False))
    row = {n: mixed.variable(n).states[k] for n, k in states.items()} | {"y": 50.0}
    expected = mixed.log_probability(row) + math.log(evidence["x0"][row["x0"]])
    assert most["logProbability"] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("p", [1e-15, 1e-30])
def test_derivatives_of_zero_are_zero(engine, p):
    d, a, b = (bg.Discrete(name, [0, 1]) for name in "dab")
    random = np.random.default_rng(4)
    rows = random.dirichlet([1, 1], (2, 2))
    above = [bg.TableCPD(d, [1 - p, p]), bg.TableCPD(a, random.dirichlet([1, 1], 2), [d])]
    model = bg.BayesianNetwork([*above, bg.TableCPD(b, rows, [a, d])])
    page = engine.take(model)
    for given in ({"d": 1}, {"d": {0: 0.0, 1: 0.3}}):
        entries = page.ask("sensitivity", findings(model, given), 2, 0, 100)
        assert all(entry["derivative"] == 0 for entry in entries if entry["variable"] == 0)


def test_impossible_findings_and_those_that_clash(engine):
    rain, wet, other = (bg.Discrete(name, ["no", "yes"]) for name in ("rain", "wet", "other"))
    model = bg.BayesianNetwork([
        bg.TableCPD(rain, [0.8, 0.2]),
        bg.TableCPD(wet, [[1.0, 0.0], [0.5, 0.5]], [rain]),
        bg.TableCPD(other, [0.5, 0.5]),
    ])  # fmt: skip
    page = engine.take(model)
    given = {"other": "yes", "rain": "no", "wet": "yes"}
    answer = page.ask("answer", findings(model, given), None)
    assert sorted(answer["impossible"]) == [0, 1]
    assert answer["logEvidence"] == -np.inf
    assert page.ask("conflict", findings(model, given)) is None
    assert page.ask("mostProbable", findings(model, given))["states"] is None
    assert page.ask("information", findings(model, given), 2)["nats"] == [None, None, None]


_PLANNED = """async (given) => {
  const { snapshot, numbers, kernel, createBackend } = globalThis.given;
  const { engine, ...backend } = await createBackend(snapshot, numbers, { kernel });
  engine.treeFor = (kind) => engine.planAnew(kind);
  const findings = { hard: new Map(given), soft: new Map() };
  const { log, out } = engine.propagate(findings);
  return { log, out: Array.from(out), anew: engine.last.tree !== engine.tree };
}"""


def test_a_tree_that_is_planned_anew_answers_alike(engine):
    random = np.random.default_rng(5)
    roots = [bg.Discrete(f"r{i}", range(3)) for i in range(7)]
    leaves = [bg.Discrete(f"l{i}", range(2)) for i in range(7)]
    cpds = [bg.TableCPD(root, random.dirichlet(np.ones(3))) for root in roots]
    for i, leaf in enumerate(leaves):
        above = [roots[i], roots[(i + 1) % 7], roots[(i + 3) % 7]]
        cpds.append(bg.TableCPD(leaf, random.dirichlet(np.ones(2), (3, 3, 3)), above))
    model = bg.BayesianNetwork(cpds)
    evidence = {"r0": 1, "r1": 2, "r3": 0, "l4": 1}
    page = engine.take(model)
    hard = [[model._index_of[name], state] for name, state in evidence.items()]
    found = page.tab.evaluate(_PLANNED, hard)
    assert found["anew"]
    assert found["log"] == pytest.approx(model.log_probability(evidence), abs=1e-12)
    at = 0
    for v in model.variables:
        if v.name not in evidence:
            expected = model.query(v.name, evidence).probabilities
            got = found["out"][at : at + v.cardinality]
            np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12)
        at += v.cardinality


def test_every_kind_of_table_model(engine):
    for name in ("many-discrete", "few-discrete", "chain", "many-factors", "few-factors"):
        model = golden_models.MODELS[name].make()
        page = engine.take(model)
        assert parity.posterior_error(model, page, {}) < 1e-12
        assert parity.assignment_error(model, page, {}) < 1e-12


def test_the_kernel_is_compiled_from_its_source(tmp_path):
    asc = shutil.which("asc")
    if asc is None:
        pytest.skip(f"needs asc: npm install -g assemblyscript@{ASSEMBLYSCRIPT}")
    version = subprocess.run([asc, "--version"], capture_output=True, text=True, check=True).stdout
    if ASSEMBLYSCRIPT not in version:
        pytest.skip(f"needs asc {ASSEMBLYSCRIPT}; this is {version.strip()}")
    text = (FRONT / "kernel.ts").read_text("utf-8")
    command = re.search(r"^//   asc kernel.ts -o kernel.wasm (.*)$", text, re.MULTILINE)[1].split()
    assert f"AssemblyScript {ASSEMBLYSCRIPT}" in text
    (tmp_path / "kernel.ts").write_text(text, encoding="utf-8")
    command = [asc, "kernel.ts", "-o", "kernel.wasm", *command]
    subprocess.run(command, cwd=tmp_path, capture_output=True, check=True)
    assert (tmp_path / "kernel.wasm").read_bytes() == (FRONT / "kernel.wasm").read_bytes()
