"""A page beside Python: the same questions, and how far the answers are apart."""

import numpy as np

import bayesgraph as bg
from bayesgraph.page.snapshot import findings

KINDS = ("none", "hard", "negative", "soft", "mixed")


def evidence_sets(model, seed=0):
    """Return evidence of each of the KINDS that is possible, drawn from a row of the model."""
    random = np.random.default_rng(seed)
    row = {
        name: column[0] for name, column in model.sample(1, random_state=seed, frame="dict").items()
    }
    discrete = [v for v in model.variables if isinstance(v, bg.Discrete)]
    chosen = [discrete[i] for i in random.permutation(len(discrete))]
    hard = {v.name: row[v.name] for v in chosen[: max(1, min(4, len(chosen) // 2))]}
    others = [v for v in chosen if v.name not in hard and v.cardinality > 1][:4]
    others = others[: len(chosen) - len(hard) - 1]
    negative, soft = {}, {}
    for v in others:
        out = next(state for state in v.states if state != row[v.name])
        negative[v.name] = {state: float(state != out) for state in v.states}
        soft[v.name] = dict(zip(v.states, random.uniform(0.05, 1.0, v.cardinality), strict=True))
    half = len(others) // 2
    mixed = {
        **dict(list(hard.items())[:2]),
        **{v.name: negative[v.name] for v in others[:half]},
        **{v.name: soft[v.name] for v in others[half:]},
    }
    return dict(zip(KINDS, ({}, hard, negative, soft, mixed), strict=True))


def free_target(model, evidence):
    """Return the name of a discrete variable that is not observed, of few states."""
    free = [v for v in model.variables if isinstance(v, bg.Discrete) and v.name not in evidence]
    return min(free, key=lambda v: (v.cardinality < 2, v.cardinality)).name


def error(expected, found):
    """Return the largest difference of two arrays."""
    return float(np.abs(np.asarray(expected, float) - np.asarray(found, float)).max(initial=0.0))


def posterior_error(model, page, evidence, *, logs=True):
    """Return how far posteriors, and with `logs` the log probability of the findings, are apart."""
    answer = page.ask("answer", findings(model, evidence), None)
    marginals = model.marginals(evidence)
    worst = abs(answer["logEvidence"] - model.log_probability(evidence)) if logs else 0.0
    for variable, found in zip(model.variables, answer["posteriors"], strict=True):
        if variable.name in marginals:
            worst = max(worst, error(marginals[variable.name].probabilities, found["p"]))
    return worst


def assignment_error(model, page, evidence):
    """Return how much less probable the page's assignment is, and its own number of that."""
    answer = page.ask("mostProbable", findings(model, evidence))
    best = model.most_probable(evidence)
    states = {
        v.name: v.states[code] for v, code in zip(model.variables, answer["states"], strict=True)
    }
    soft = {name: value for name, value in evidence.items() if isinstance(value, dict)}
    weights = sum(np.log(value[states[name]]) for name, value in soft.items())
    # Of factors it is the log of their product.
    own = model.log_probability(states) + model._log_normaliser() + weights
    return max(abs(own - best.log_probability), abs(answer["logProbability"] - own))


def information_error(model, page, evidence, target):
    """Return how far the information of all variables is apart, in nats."""
    nats = page.ask("information", findings(model, evidence), model._index_of[target])["nats"]
    known = model.ask.next_question(target, evidence)
    return max(
        (abs(known[name].information - nats[model._index_of[name]]) for name in known),
        default=0.0,
    )


def conflict_error(model, page, evidence):
    """Return how far the measures of conflict are apart."""
    return abs(
        model.ask.conflict(evidence).measure - page.ask("conflict", findings(model, evidence))
    )


def sensitivity_error(model, page, evidence, target):
    """Return how far the derivatives with respect to all entries of all tables are apart."""
    state = model.variable(target).states[-1]
    expected = model.ask.sensitivity(target, state, evidence).covaried
    code = model.variable(target).cardinality - 1
    entries = page.ask(
        "sensitivity", findings(model, evidence), model._index_of[target], code, 10**9
    )
    found = {name: np.zeros(table.shape) for name, table in expected.items()}
    for entry in entries:
        name = model.variables[entry["variable"]].name
        found[name][(*entry["parents"], entry["state"])] = entry["derivative"]
    return max(error(expected[name], found[name]) for name in expected)
