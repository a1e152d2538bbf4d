"""Pages of models beyond tables beside Python: questions about rows of data, and differences."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import cases
import numpy as np

import bayesgraph as bg
from bayesgraph.core.errors import EvidenceError, ImpossibleEvidenceError, UnsupportedModelError
from bayesgraph.inference import ItemsMixture, Posterior
from bayesgraph.page.snapshot import take_snapshot

# Changes that Python and the page examine at most.
EFFORT = 20_000

_OPEN = """async (models) => {
  while (!(globalThis.bayesgraph instanceof Promise)) await new Promise((go) => setTimeout(go, 5));
  const { kernel, createBackend } = await bayesgraph, found = [];
  for (const { snapshot, numbers, asked } of models) {
    const backend = await createBackend(snapshot, Float64Array.from(numbers), { kernel });
    const answers = [];
    for (const [verb, ...given] of asked) answers.push(await backend[verb](...given));
    found.push({ answers, verbs: [...backend.verbs] });
  }
  return found;
}"""


@dataclass(frozen=True, eq=False)
class Asked:
    """Questions about a model: the same findings as Python and as the page takes them."""

    name: str
    model: Any
    target: int
    sets: list[tuple[dict[Any, Any], dict[str, Any]]]

    def first(self, n):
        """Return the questions about the first sets of findings only."""
        return replace(self, sets=self.sets[:n])

    def questions(self, verbs):
        """Return what the page is asked, set by set."""
        more = {"information": [self.target], "flip": [self.target]}
        more["contributions"] = [self.target, 0]
        return [[verb, js, *more.get(verb, [])] for _, js in self.sets for verb in verbs]


def asked_of(case, kind):
    """Return questions about the model of a row of `cases`, with findings from rows of its data."""
    data = cases.make_data(kind)
    estimator = cases.fitted(case, data)
    model = estimator.network_
    rows = cases.evidence_rows(estimator, data)
    target = model._index_of[estimator.target_.name]
    return Asked(f"{case.name}/{kind}", model, target, finding_sets(model, target, rows))


def finding_sets(model, target, rows, seed=7):
    """Return findings: none, one, all, some; likelihoods, exclusions, a mix; the class itself."""
    random = np.random.default_rng(seed)
    names = list(rows[0])

    def some(share):
        return [name for name in names if random.random() < share]

    plans = [
        ([], "hard"), (names[:1], "hard"), (names, "hard"), (some(0.6), "hard"),
        (some(0.7), "soft"), (some(0.7), "negative"), (some(0.8), "mixed"),
    ]  # fmt: skip
    found = [
        _findings(model, chosen, row, kind, random)
        for (chosen, kind), row in zip(plans, rows, strict=False)
    ]
    variable = model.variables[target]
    given, js = _findings(model, names[1:3], rows[6], "hard", random)
    state = variable.cardinality - 1
    given, js = {**given, variable.name: variable.states[state]}, {**js, target: {"state": state}}
    found.append((given, js))
    given, js = _findings(model, names[2:], rows[7], "hard", random)
    weights = random.uniform(0.1, 1.0, variable.cardinality).tolist()
    soft = dict(zip(variable.states, weights, strict=True))
    found.append(({**given, variable.name: soft}, {**js, target: {"weights": weights}}))
    return [(given, {str(v): finding for v, finding in js.items()}) for given, js in found]


def _findings(model, names, row, kind, random):
    given, js, cut = {}, {}, model._cut_numbers
    for name in names:
        at = model._index_of[name]
        variable, value = model.variables[at], row[name]
        if isinstance(variable, bg.CountVector):
            given[name] = value
            counts = variable.encode(value)
            js[at] = {"counts": {str(i): counts[i] for i in np.flatnonzero(counts).tolist()}}
        elif not isinstance(variable, bg.Discrete) or at in cut:
            given[name], js[at] = value, {"value": float(value)}
        elif kind == "soft" or (kind == "mixed" and random.random() < 0.4):
            weights = random.uniform(0.05, 1.0, variable.cardinality).tolist()
            given[name] = dict(zip(variable.states, weights, strict=True))
            js[at] = {"weights": weights}
        elif kind in ("negative", "mixed") and variable.cardinality > 2:
            out = int(random.integers(variable.cardinality))
            given[name] = {s: float(i != out) for i, s in enumerate(variable.states)}
            js[at] = {"not": [out]}
        else:
            state = int(variable.encode(value))
            given[name], js[at] = variable.states[state], {"state": state}
    return given, js


def ask(page, models, verbs):
    """Return the answers of a page's engine about several models, and the verbs of each."""
    given = []
    for asked in models:
        snapshot = take_snapshot(asked.model)
        own = [verb for verb in verbs if verb in snapshot.content["verbs"]]
        numbers = snapshot.numbers.tolist()
        questions = asked.questions(own)
        given.append({"snapshot": snapshot.content, "numbers": numbers, "asked": questions})
    return page.tab.evaluate(_OPEN, given)


def differences(verb, asked, given, answer):
    """Yield (what, how far apart) for each number of an answer of the page and of Python."""
    yield from _COMPARED[verb](asked.model, asked.target, given, answer)


def apart(found, expected):
    """Return the difference of two numbers, relative if they are large."""
    found = math.nan if found is None else float(found)
    if found == expected or (math.isnan(found) and math.isnan(expected)):
        return 0.0
    return abs(found - expected) / max(1.0, abs(expected))


def _answers(model, _, given, answer):
    if isinstance(model, bg.BayesianNetwork):
        yield "log evidence", apart(answer["logEvidence"], model.log_probability(given))
    for variable, found in zip(model.variables, answer["posteriors"], strict=True):
        likelihoods = isinstance(given.get(variable.name), dict)
        if variable.name in given and (not likelihoods or isinstance(variable, bg.CountVector)):
            continue
        try:
            expected = model.query(variable.name, given)
        except UnsupportedModelError:  # a factor graph has no posterior of counts
            assert found is None or isinstance(model, bg.FactorGraph)
            continue
        assert found is not None, (variable.name, expected)
        if isinstance(expected, Posterior | ItemsMixture):
            pairs = zip(found["p"], expected.probabilities.tolist(), strict=True)
            yield variable.name, max(apart(a, b) for a, b in pairs)
            continue
        yield f"mean of {variable.name}", apart(found["mean"], float(np.ravel(expected.mean)[0]))
        variance = float(np.ravel(expected.covariance)[0])
        yield f"sd of {variable.name}", apart(found["sd"], math.sqrt(variance))
        density = found["density"]
        heights = np.ravel(expected.density(np.array(density["x"], dtype=float))).tolist()
        pairs = zip(density["y"], heights, strict=True)
        yield f"density of {variable.name}", max(apart(a, b) for a, b in pairs)


def _best(model, _, given, answer):
    expected = model.most_probable(given)
    yield "log probability", apart(answer["logProbability"], expected.log_probability)
    states = {
        name: model.variable(name).states[answer["states"][model._index_of[name]]]
        for name in expected
        if isinstance(model.variable(name), bg.Discrete)
    }
    if isinstance(model, bg.BayesianNetwork) and any(states[n] != expected[n] for n in states):
        # Of several equally probable assignments it may be another one.
        soft = {n: x for n, x in given.items() if isinstance(x, dict) and n in states}
        weights = sum(math.log(x[states[n]]) for n, x in soft.items())
        own = model.log_probability({**given, **states}) + weights
        yield "own log probability", apart(own, expected.log_probability)
        return
    if isinstance(model, bg.WeightedNetwork) and any(states[n] != expected[n] for n in states):
        best = model.k_most_probable(4, given)
        own = [a.log_probability for a in best if all(a[n] == states[n] for n in states)]
        assert len(own) == 1
        yield "own log probability", apart(own[0], expected.log_probability)
        return
    for name, value in expected.items():
        if name in states:
            yield f"state of {name}", float(states[name] != value)
        else:
            yield f"mean of {name}", apart(answer["states"][model._index_of[name]], value)


def _information(model, target, given, answer):
    name = model.names[target]
    if name in given and not isinstance(given[name], dict):
        assert not any(answer["nats"])  # nothing tells more about what is known
        return
    try:
        expected = model.ask.next_question(name, given)
    except (UnsupportedModelError, ImpossibleEvidenceError):
        return
    for at, nats in enumerate(answer["nats"]):
        question = expected.get(model.names[at])
        if question is not None:
            assert nats is not None, question
            gap = abs(nats - question.information)
            yield f"information of {question.name}", max(0.0, gap - 2.0 * question.error)


def _contributions(model, target, given, answer):
    variable = model.variables[target]
    soft = [n for n, x in given.items() if isinstance(x, dict)]
    soft = [n for n in soft if not isinstance(model.variable(n), bg.CountVector)]
    if soft or variable.name in given:
        return
    try:
        expected = model.contributions(variable.name, given, positive=variable.states[0])
    except EvidenceError:  # of a factor graph whose counts are not given
        return
    yield "prior", apart(answer["base"], expected.prior)
    yield "total", apart(answer["total"], expected.total)
    for found, term in zip(answer["terms"], expected.terms, strict=True):
        own = model.variables[found["variable"]]
        item = own.items[found["item"]] if "item" in found else own.name
        assert term.name in (item, (own.name, item))
        yield f"term of {term.name}", apart(found["value"], term.log_odds)


def _flip(model, target, given, answer):
    name = model.names[target]
    if name in given:
        assert answer is None
        return
    try:
        expected = model.ask.flip(name, given, effort=EFFORT)
    except (EvidenceError, UnsupportedModelError):  # a range is not known, or counts are not given
        return
    if not expected.found:
        assert answer is None or answer["to"] is None
        return
    assert answer is not None, expected
    yield "cost", apart(answer["cost"], expected.cost)
    if not expected.proved:
        return
    changes = {model.names[int(v)]: finding for v, finding in answer["changes"].items()}
    new = {
        n: model.variable(n).states[f["state"]] if "state" in f else f["value"]
        for n, f in changes.items()
    }
    # Of several changes that cost the same it may be another one, which turns the answer, too.
    after = model.query(name, {**given, **new}).probabilities
    assert model.variables[target].states[answer["to"]] != expected.before
    yield "probability after", apart(answer["probability"], after[answer["to"]])
    yield "short of turning", float(after.max() - after[answer["to"]])


_COMPARED = {
    "answer": _answers,
    "mostProbable": _best,
    "information": _information,
    "contributions": _contributions,
    "flip": _flip,
}
