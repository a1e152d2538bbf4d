"""One list of solvers: every question passes through one of them, and is prepared once."""

import copy
import gc
import pickle
import threading
import tracemalloc
import weakref
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from sklearn.datasets import load_iris

import bayesgraph as bg
from bayesgraph.core.errors import EvidenceError, UnsupportedModelError
from bayesgraph.inference import (
    METHODS,
    All,
    Best,
    Case,
    Draw,
    Joint,
    Mass,
    Memo,
    Pattern,
    Work,
)
from bayesgraph.inference.ensembles import Average, Mixture
from bayesgraph.inference.solver import SOLVERS
from bayesgraph.models import read_case

C, A, B = bg.Discrete("c", ["n", "y"]), bg.Discrete("a", [0, 1]), bg.Discrete("b", ["u", "v", "w"])
X, Y = bg.Continuous("x"), bg.Continuous("y")


def tables(n=3):
    cpds = [
        bg.TableCPD(C, [0.4, 0.6]),
        bg.TableCPD(A, [[0.7, 0.3], [0.2, 0.8]], [C]),
        bg.TableCPD(B, [[[0.2, 0.3, 0.5], [0.5, 0.3, 0.2]], [[0.1, 0.8, 0.1]] * 2], [C, A]),
    ]
    cpds += [
        bg.TableCPD(bg.Discrete(f"v{i}", [0, 1]), [[0.6, 0.4], [0.1, 0.9]], [C]) for i in range(n)
    ]
    return bg.BayesianNetwork(cpds)


def gaussians():
    return bg.BayesianNetwork(
        [
            bg.TableCPD(C, [0.4, 0.6]),
            bg.TableCPD(A, [[0.7, 0.3], [0.2, 0.8]], [C]),
            bg.GaussianCPD(X, [0.0, 1.0], [1.0, 2.0], [C]),
            bg.GaussianCPD(Y, [0.0, 1.0], 1.0, [C, X], [[0.5], [-0.5]]),
        ]
    )


MODELS = {
    "few tables": tables,
    "tables": lambda: tables(12),
    "factor graph": lambda: bg.FactorGraph.of(tables(12), {"a": 0.5}),
    "gaussians": gaussians,
    "weighted": lambda: bg.WeightedNetwork(gaussians(), "c", {"x": 0.5, "a": 2.0}),
    "mixture": lambda: bg.Ensemble([tables(12), tables(12)], [1, 3]),
    "mixture of gaussians": lambda: bg.Ensemble([gaussians(), gaussians()]),
    "average": lambda: bg.Ensemble([tables(12), gaussians()], combine="posterior"),
}

QUESTIONS = {
    "query": lambda m: m.query("c", {"a": 1}),
    "query of a joint posterior": lambda m: m.query(["c", "a"]),
    "query with likelihoods": lambda m: m.query("c", {"a": {0: 1, 1: 3}}),
    "marginals": lambda m: m.marginals({"a": 1}),
    "most_probable": lambda m: m.most_probable({"a": 1}),
    "k_most_probable": lambda m: m.k_most_probable(2, {"a": 1}),
    "marginal_map": lambda m: m.most_probable({"a": 1}, over=["c"]),
    "log_probability": lambda m: m.log_probability({"a": 1}),
    "sample": lambda m: m.sample(3, random_state=0),
    "sample given": lambda m: m.sample(3, evidence={"a": 1}, random_state=0),
    "weighted_samples": lambda m: m.weighted_samples("c", {"a": 1}, n=1000, random_state=0),
    "sensitivity": lambda m: m.ask.sensitivity("c", "y", {"a": 1}),
    "conflict": lambda m: m.ask.conflict({"a": 1, "c": "n"}),
    "query_rows": lambda m: m.query_rows("c", {"a": [0, 1, None]}),
    "log_likelihood": lambda m: m.log_likelihood({"a": [0, 1, None]}),
    "loopy": lambda m: m.query("c", {"a": 1}, method="loopy"),
    "likelihood weighting": lambda m: m.query(
        "c", {"a": 1}, method="likelihood-weighting", n=1000, random_state=0
    ),
}


@contextmanager
def recorded(monkeypatch) -> Iterator[list[Work]]:
    """Yield a list that receives each piece of work that runs, but for what it calls itself."""
    outermost: list[Work] = []
    depth = [0]

    def noted(call):
        def entered(work, *args):
            if not depth[0]:
                outermost.append(work)
            depth[0] += 1
            try:
                return call(work, *args)
            finally:
                depth[0] -= 1

        return entered

    with monkeypatch.context() as patch:
        kinds = [Work]
        for kind in kinds:
            kinds += kind.__subclasses__()
            for name in {"run", "run_rows"} & vars(kind).keys():
                patch.setattr(kind, name, noted(vars(kind)[name]))
        yield outermost


@pytest.mark.one_in(5)
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("question", QUESTIONS)
def test_every_question_passes_through_one_solver(question, model, monkeypatch):
    asked = MODELS[model]()
    with recorded(monkeypatch) as ran:
        try:
            QUESTIONS[question](asked)
        except UnsupportedModelError:
            assert not ran
            return
    selected, *others = ran
    assert selected.model is asked
    assert selected.solver in SOLVERS
    for work in others:
        # A composite draws from its parts later; a product is divided by its partition.
        is_part = any(work.model is part for part in (asked, *getattr(asked, "networks", ())))
        is_part &= isinstance(selected.solver, (Mixture, Average))
        is_partition = work.question == Mass() and not any(work.pattern)
        assert is_part or is_partition, f"{work.solver.name} ran besides {selected.solver.name}"


ESTIMATORS = {
    "nb": bg.NaiveBayesClassifier,
    "tan": bg.TANClassifier,
    "default": lambda: bg.BayesianNetworkClassifier(n_trees=5),
    "weighted": lambda: bg.WeightedNaiveBayesClassifier("variable"),
    "aode": bg.AODEClassifier,
    "lda": bg.DiscriminantAnalysisClassifier,
    "tree": lambda: bg.DecisionTreeNetworkClassifier(max_depth=3),
    "stream": bg.StreamingNaiveBayesClassifier,
    "weighted stream": bg.StreamingWeightedNaiveBayesClassifier,
}


@pytest.fixture(scope="module")
def fitted():
    iris, y = load_iris(return_X_y=True)
    rows = slice(0, 150, 3)
    return {name: make().fit(iris[rows], y[rows]) for name, make in ESTIMATORS.items()}, iris


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("gaps", [False, True])
def test_every_prediction_passes_through_a_solver(estimator, gaps, fitted, monkeypatch):
    models, X = fitted
    X = X[::7].copy()
    scored = {"lda", "stream", "weighted stream"}  # by a kernel of their own
    if gaps:
        X[::2, 1] = np.nan
    for ask in ("predict", "predict_proba", "predict_log_proba"):
        with recorded(monkeypatch) as ran:
            getattr(models[estimator], ask)(X)
        if estimator == "lda" and gaps:
            # Its linear form is asked first: gaps have no finite scores, and the network answers.
            assert ran[0].model is models[estimator].network_
        assert len(ran) == (0 if estimator in scored and not (estimator == "lda" and gaps) else 1)
    with recorded(monkeypatch) as ran:
        models[estimator].query(evidence={"x1": 3.0})
    assert len(ran) == 1


def test_the_regressor_passes_through_a_solver(monkeypatch):
    X, _ = load_iris(return_X_y=True)
    model = bg.DecisionTreeNetworkRegressor(max_depth=3).fit(X[:, :3], X[:, 3])
    for ask in (lambda: model.predict(X[:5, :3]), lambda: model.query(evidence={"x0": 5.0})):
        with recorded(monkeypatch) as ran:
            ask()
        assert len(ran) == 1


# -------------------------------------------------------------------------------- the selection


def test_each_solver_says_when_it_is_selected_and_what_it_answers():
    assert len({solver.name for solver in SOLVERS}) == len(SOLVERS)
    for solver in SOLVERS:
        assert solver.condition
        assert solver.works
        assert solver.works.keys() <= set(METHODS)


@pytest.mark.parametrize(
    ("model", "question", "evidence", "name"),
    [
        ("few tables", Joint((0,)), {"a": 1}, "joint enumeration"),
        ("few tables", All(), None, "joint enumeration"),
        ("few tables", Joint((0,)), {"a": {0: 1, 1: 2}}, "compiled program"),
        ("few tables", Mass(), None, "compiled program"),
        ("tables", All(), None, "compiled program"),
        ("tables", Best(), None, "compiled program"),
        ("tables", Joint((0,)), Pattern((1,), rows=True), "rows"),
        ("gaussians", Joint((0,)), {"x": 1.0}, "factors"),
        ("gaussians", Draw(), None, "factors"),
        ("weighted", Joint((0,)), {"x": 1.0}, "tempered"),
        ("weighted", Joint((0,)), Pattern((2,), rows=True), "tempered"),
        ("mixture", Joint((0,)), {"a": 1}, "mixture"),
        ("average", Joint((0,)), {"a": 1}, "average"),
    ],
)
def test_what_is_selected(model, question, evidence, name):
    made = MODELS[model]()
    pattern = evidence if isinstance(evidence, Pattern) else read_case(made, evidence).pattern
    work = made._work(question, pattern)
    assert work.solver.name == name
    assert work.plan.solver == name
    assert work.plan.reason == work.solver.condition


def test_a_refusal_says_what_the_model_answers_instead():
    with pytest.raises(UnsupportedModelError) as error:
        MODELS["average"]().log_probability({"a": 1})
    assert "Ensemble does not answer log_probability" in str(error.value)
    assert "answers query, marginals, sensitivity." in str(error.value)
    assert "query one of its `networks`" in str(error.value)
    with pytest.raises(UnsupportedModelError, match="query its `network`"):
        MODELS["weighted"]()._work(Mass(), Pattern(()))
    assert not MODELS["weighted"]()._answers(Mass)
    assert MODELS["tables"]()._answers(Mass)


def test_a_composite_lists_its_parts():
    plan = MODELS["mixture"]().plan("c", {"a": 1})
    assert [part.solver for part in plan.parts] == ["joint enumeration"] * 2
    plan = MODELS["average"]().plan("c", {"a": 1})
    assert [part.solver for part in plan.parts] == ["joint enumeration", "factors"]


# --------------------------------------------------------------------------------------- the memo


def test_work_is_prepared_once_for_a_pattern():
    net = tables(12)
    one = net._work(Joint((0,)), read_case(net, {"a": 1}).pattern)
    other = net._work(Joint((0,)), read_case(net, {"a": 0}).pattern)
    assert one is other
    assert net._work(Joint((0,)), read_case(net, {"b": "u"}).pattern) is not one
    # The same numbers in another question are another piece of work.
    assert net._work(All(), Pattern(())) is not net._work(Mass(), Pattern(()))


@pytest.mark.slow
def test_thousands_of_patterns_take_bounded_memory():
    net = tables(16)
    names = [f"v{i}" for i in range(14)]
    sizes = []
    # Kernels that the later patterns take are loaded before memory is counted.
    tables(16).query("c", dict.fromkeys(names[:10], 0))
    tracemalloc.start()
    try:
        for i in range(900):
            evidence = {name: 0 for k, name in enumerate(names) if i >> k & 1}
            net.query("c", evidence)
            if i in (299, 899):
                sizes.append((len(net._memo), tracemalloc.get_traced_memory()[0]))
    finally:
        tracemalloc.stop()
    assert sizes[0][0] == sizes[1][0] <= 256
    assert sizes[1][1] - sizes[0][1] < 100_000


def test_the_memo_is_no_part_of_the_model():
    net = tables(12)
    fresh = set(net.__getstate__())
    net.query("c", {"a": 1})
    net.query_rows("c", {"a": [0, None]})
    net.log_probability({"a": 1})
    assert len(net._memo)
    assert set(net.__getstate__()) == fresh
    assert net == tables(12)
    for twin in (copy.copy(net), copy.deepcopy(net), pickle.loads(pickle.dumps(net))):
        assert not len(twin._memo)
        assert twin.query("c", {"a": 1}) == net.query("c", {"a": 1})
    assert not len(pickle.loads(pickle.dumps(net._memo)))


def test_a_model_goes_when_nobody_has_it():
    """Without waiting for a search for cycles: a search over parameters holds no models."""
    gc.disable()
    try:
        for make in MODELS.values():
            model = make()
            posterior = model.query("c", {"a": 1})
            model.query("c", {"a": {0: 1.0, 1: 2.0}})
            model.marginals({"a": 1})
            model.query_rows("c", {"a": [0, 1, None]})
            gone = weakref.ref(model)
            del model
            assert posterior.probabilities.sum() == pytest.approx(1.0)
            posterior.log_evidence  # noqa: B018 - the answer asks the model
            del posterior
            assert gone() is None
    finally:
        gc.enable()


def test_the_memo_counts_what_rows_leave_in_it():
    net = tables(14)
    names = [f"v{i}" for i in range(14)]
    for k in range(1, 12):
        net.query_rows("c", {name: [0, 1] for name in names[:k]})
    assert net._memo.nbytes > 1000


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        (("c", 5), {}, "a mapping or a list of names"),
        (("c",), {"question": ["query"]}, "question= is one of"),
        (("c",), {"question": "marginals"}, "takes no targets"),
        ((), {}, "at least one target"),
        ((), {"question": "most_probable", "method": "loopy"}, "always exact"),
    ],
)
def test_plans_of_nothing_are_refused(arguments, options, words):
    with pytest.raises(EvidenceError, match=words):
        tables().plan(*arguments, **options)


def test_threads_share_a_memo():
    net, memo = tables(14), Memo()
    expected = {k: net.query("c", {f"v{k}": 1})["y"] for k in range(14)}
    shared = copy.copy(net)
    wrong = []

    def ask(seed):
        random = np.random.default_rng(seed)
        for _ in range(300):
            k = int(random.integers(14))
            if shared.query("c", {f"v{k}": 1})["y"] != expected[k]:
                wrong.append(k)
            memo.get(k, lambda k=k: np.zeros(k + 1))

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert memo.nbytes == sum(8 * (k + 1) for k in range(14))


def test_what_raises_is_not_kept():
    memo = Memo()
    with pytest.raises(ZeroDivisionError):
        memo.get("a", lambda: 1 / 0)
    assert not len(memo)
    assert memo.get("a", lambda: 2) == 2


def test_a_case_in_other_numbers():
    case = Case({0: 1, 2: 0.5}, {1: np.array([0.0, -1.0])})
    moved = case.renumbered({0: 2, 1: 0, 2: 1})
    assert moved.hard == {2: 1, 1: 0.5}
    assert list(moved.soft) == [0]
    assert moved.pattern == Pattern((1, 2), (0,))
    assert case.without(0).hard == {2: 0.5}
