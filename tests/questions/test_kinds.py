"""Which kinds of models answer what-if questions and comparisons, and why others refuse."""

import functools
import warnings

import numpy as np
import pytest

import bayesgraph as bg
from bayesgraph.core.errors import UnsupportedModelError

YES = "answers"
QUESTIONS = (
    "flip", "most_relevant", "nearest_rows", "tornado", "findings", "sensitivity", "interval",
    "diff", "drift",
)  # fmt: skip


def rows(n=60):
    random = np.random.default_rng(0)
    y = random.random(n) < 0.5
    return {
        "c": np.where(y, "yes", "no"),
        "a": np.where(random.random(n) < np.where(y, 0.8, 0.3), "u", "v"),
        "b": np.where(random.random(n) < np.where(y, 0.7, 0.2), "s", "t"),
        "x": np.round(random.normal(np.where(y, 1.0, 0.0), 1.0), 3),
    }


ROWS = rows()
DISCRETE = {n: ROWS[n] for n in ("c", "a", "b")}
ARCS = [("c", "a"), ("c", "b"), ("a", "b")]


@functools.cache
def networks():
    discrete = bg.BayesianNetwork.fit(ARCS, DISCRETE)
    mixed = bg.BayesianNetwork.fit([*ARCS, ("c", "x"), ("a", "x")], ROWS)
    return discrete, mixed


def estimator(kind, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        features = {n: ROWS[n] for n in ("a", "b", "x")}
        found = kind(**options).fit(features, ROWS["c"])
    found.target_name = found.target_.name
    return found


KINDS = {
    "discrete": lambda: networks()[0],
    "mixed": lambda: networks()[1],
    "weighted": lambda: bg.WeightedNetwork(networks()[1], "c", {"a": 0.5}),
    "factor graph": lambda: bg.FactorGraph.of(networks()[0], {"a": 0.5}),
    "mixed factor graph": lambda: bg.FactorGraph.of(networks()[1], {"a": 0.5}),
    "mixture": lambda: bg.Ensemble([networks()[1], networks()[1]]),
    "average": lambda: bg.Ensemble([networks()[1], networks()[0]], combine="posterior"),
    "naive Bayes": lambda: estimator(bg.NaiveBayesClassifier),
    "TAN": lambda: estimator(bg.TANClassifier, discretizer="width"),
    "tree": lambda: estimator(bg.DecisionTreeNetworkClassifier),
    "weighted naive Bayes": lambda: estimator(bg.WeightedNaiveBayesClassifier),
    "default": lambda: estimator(bg.BayesianNetworkClassifier, n_trees=5),
}
# What is refused, and a part of the message that says why.
REFUSED = {
    ("factor graph", "tornado"): "no probabilities to vary",
    ("weighted", "sensitivity"): "which takes a network .* query its `network`",
    ("weighted naive Bayes", "sensitivity"): "which takes a network .* query its `network`",
    ("mixed factor graph", "sensitivity"): "which takes a network",
    ("mixed factor graph", "tornado"): "no probabilities to vary",
    ("mixed factor graph", "interval"): "not intervals or likelihoods",
    # The tree is a distribution of the class given numbers, of which intervals have no closed form.
    ("tree", "interval"): "'x' has children",
}


def interval_of(model):
    """Return an interval of x that all networks know; None if there is none but the whole."""
    if "x" not in model._index_of:
        return None
    networks = getattr(model, "networks", [model])
    own = [network.variable("x") for network in networks if "x" in network._index_of]
    binned = [set(x.cuts) for x in own if isinstance(x, bg.Binned)]
    if not binned:
        return bg.Between(-0.6, -0.4)
    shared = sorted(set.intersection(*binned))
    return bg.Between(*shared[:2]) if shared else None


def ask(model, question):
    target = getattr(model, "target_name", "c")
    names = getattr(model, "network_", model)._index_of
    case = {n: v for n, v in {"a": "v", "b": "t", "x": -0.5}.items() if n in names}
    table = {target if n == "c" else n: v for n, v in ROWS.items()}
    if question == "flip":
        found = model.ask.flip(target, case)
        answer = model.query(target, found.evidence).argmax
        assert answer == found.after != found.before
        assert found.bound <= found.cost
    elif question == "most_relevant":
        (found,) = model.ask.most_relevant([target, "b"], {"a": "v"})
        assert found.factor > 1
    elif question == "nearest_rows":
        found = model.ask.nearest_rows(target, case, table)
        assert found[0].distance > 0
    elif question in ("tornado", "findings"):
        by = "findings" if question == "findings" else "parameters"
        found = model.ask.tornado(target, "yes", case, by=by, n=3)
        # The class of a tree depends on its leaves, which are not varied.
        assert found.bars[0].width > 0 or "other kinds" in found.remark
        assert found.bars[0].low - 1e-9 <= found.posterior <= found.bars[0].high + 1e-9
    elif question == "sensitivity":
        found = model.ask.sensitivity(target, "yes", case)
        assert found.posterior == pytest.approx(model.query(target, case)["yes"])
        moves = [*found.covaried.values(), *found.derivatives.values()]
        moves += [slopes.mean for slopes in found.gaussians.values()]
        assert any(np.any(slopes) for slopes in moves) or found.others
    elif question == "interval":
        inside = interval_of(getattr(model, "network_", model))
        if inside is None:
            return
        given = case | {"x": inside}
        assert model.ask.flip(target, given).evidence["x"] is inside
        assert "x is between" in str(model.ask.explanation(target, given))
        terms, found = model.contributions(target, given), model.query(target, given)
        odds = np.log(found["yes"] / found["no"])
        assert terms.total == pytest.approx(odds)
    elif question == "diff":
        found = bg.diff(model, model, table, target=target)
        assert found.predictions.n_changed == 0
        assert not found.families
        assert found.to_html()
    else:
        found = bg.questions.table_drift(model, table, table)
        assert not found.moved
        assert found.families
    assert repr(found)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_answers_or_says_why_not(kind):
    model = KINDS[kind]()
    for question in QUESTIONS:
        reason = REFUSED.get((kind, question))
        if reason is None:
            ask(model, question)
        else:
            with pytest.raises(UnsupportedModelError, match=reason):
                ask(model, question)
