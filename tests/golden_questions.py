"""Every question that models and estimators answer, put to all of them.

The first part is the only one that calls the questions: if a method changes its name or its
signature, it changes here, and the answers that are recorded must stay what they are.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import cases
import golden_models
import numpy as np
from scipy import sparse

import bayesgraph as bg

# ------------------------------------------------------------------- the API: questions to models


def query(asked: Any, targets: Any, evidence: Any, **options: Any) -> Any:
    return asked.query(targets, evidence, **options)


def marginals(asked: Any, evidence: Any, **options: Any) -> Any:
    return asked.marginals(evidence, **options)


def most_probable(asked: Any, evidence: Any, **options: Any) -> Any:
    return asked.most_probable(evidence, **options)


def k_most_probable(asked: Any, k: int, evidence: Any) -> Any:
    return asked.k_most_probable(k, evidence)


def marginal_map(asked: Any, targets: Any, evidence: Any) -> Any:
    return asked.most_probable(evidence, over=targets)


def log_probability(asked: Any, evidence: Any) -> Any:
    return asked.log_probability(evidence)


def query_rows(asked: Any, target: Any, frame: Any) -> Any:
    return asked.query_rows(target, frame)


def log_likelihood(asked: Any, frame: Any) -> Any:
    return asked.log_likelihood(frame)


def sample(asked: Any, n: int, evidence: Any) -> Any:
    return asked.sample(n, evidence, random_state=0, frame="dict")


def weighted_samples(asked: Any, target: Any, evidence: Any) -> Any:
    return asked.weighted_samples(target, evidence, n=200, random_state=0)


def loopy(asked: Any, target: Any, evidence: Any) -> Any:
    return asked.query(target, evidence, method="loopy")


def likelihood_weighting(asked: Any, target: Any, evidence: Any) -> Any:
    options = {"n": 200, "random_state": 0}
    return asked.query(target, evidence, method="likelihood-weighting", **options)


def sensitivity(asked: Any, target: Any, state: Any, evidence: Any) -> Any:
    return asked.ask.sensitivity(target, state, evidence)


def conflict(asked: Any, evidence: Any) -> Any:
    return asked.ask.conflict(evidence)


def plan(asked: Any, target: Any, evidence: Any) -> Any:
    return asked.plan(target, list(evidence))


def as_factor_graph(asked: Any) -> Any:
    return bg.FactorGraph.of(asked)


def network_weights(asked: Any, evidence: Any) -> Any:
    return asked.posterior_weights(evidence)


def model_contributions(asked: Any, target: Any, evidence: Any, positive: Any) -> Any:
    return asked.contributions(target, evidence, positive=positive)


def dot(asked: Any) -> Any:
    # Estimators that grow a tree draw it; the recorded answer is the network.
    if hasattr(asked, "tree_"):
        return bg.pictures.to_dot(asked.network_, target=asked.target_.name)
    return bg.pictures.to_dot(asked)


def saved(asked: Any) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.bayesgraph"
        asked.save(path)
        return path.read_bytes()


def written(asked: Any, suffix: str) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"model{suffix}"
        asked.save(path, strict=False)
        return path.read_bytes()


# -------------------------------------------------------------- the API: questions to estimators


def graph_of(estimator: Any) -> Any:
    return getattr(estimator, "network_", None)


def target_of(estimator: Any) -> Any:
    return estimator.target_.name


def estimator_query(estimator: Any, targets: Any, evidence: Any) -> Any:
    return estimator.query(targets, evidence)


def estimator_most_probable(estimator: Any, evidence: Any) -> Any:
    return estimator.network_.most_probable(evidence)


def estimator_sample(estimator: Any, n: int) -> Any:
    return estimator.network_.sample(n, random_state=0, frame="dict")


def predict(estimator: Any, frame: Any) -> Any:
    return estimator.predict(frame)


def predict_with_std(estimator: Any, frame: Any) -> Any:
    return estimator.predict(frame, return_std=True)


def predict_proba(estimator: Any, frame: Any) -> Any:
    return estimator.predict_proba(frame)


def predict_log_proba(estimator: Any, frame: Any) -> Any:
    return estimator.predict_log_proba(frame)


def predict_one(estimator: Any, row: Any) -> Any:
    return estimator.predict_proba_one(row)


def row_log_likelihoods(estimator: Any, frame: Any) -> Any:
    return estimator.score_samples(frame)


def log_odds(estimator: Any, frame: Any, positive: Any) -> Any:
    return bg.classifiers.log_odds(estimator, frame, positive=positive)


def decide(estimator: Any, frame: Any) -> Any:
    return estimator.decide(frame, abstain=0.2)


def contributions(estimator: Any, row: Any, positive: Any) -> Any:
    return estimator.contributions(evidence=row, positive=positive)


def top_items(estimator: Any) -> Any:
    return estimator.ask.top_items(n=2)


# ------------------------------------------------------------------------------------- subjects


@dataclass(frozen=True)
class Subject:
    """A model, or an estimator that was fitted, and what it is asked about.

    Attributes
    ----------
    graph : model or None
        That of the estimator, if there is one.
    target : name
        Of the variable that is asked first.
    row : dict from name to value
        Of all variables; possible.
    tables : dict from name to table
    estimator : estimator, optional
    plain_row : dict from name of a column to value
        For the estimator.
    impossible : dict, optional
        Evidence of probability zero.
    thorough : bool
        Ask with all patterns of evidence, and not with the most telling ones only.
    """

    graph: Any
    target: Any
    row: dict[Any, Any]
    tables: dict[str, Any]
    estimator: Any = None
    plain_row: dict[Any, Any] = field(default_factory=dict)
    impossible: dict[Any, Any] | None = None
    thorough: bool = True

    @cached_property
    def others(self) -> list[Any]:
        """All names but that of the target."""
        return [name for name in self.row if name != self.target]

    @cached_property
    def other(self) -> Any:
        """The variable that is asked second: one that `half` leaves free."""
        free = [name for name in self.others if name not in self.others[::2]]
        return free[0] if free else self.target

    @cached_property
    def both(self) -> list[Any]:
        """Two variables for a joint answer."""
        return list(dict.fromkeys([self.other, self.target]))

    @cached_property
    def number(self) -> Any:
        """The last continuous variable; None if there is none."""
        found = [n for n in self.row if isinstance(self.graph.variable(n), bg.Continuous)]
        return found[-1] if found else None

    def states(self, name: Any) -> tuple[Any, ...]:
        """States of a discrete variable; none of another one."""
        variable = self.graph.variable(name)
        return variable.states if isinstance(variable, bg.Discrete) else ()

    @cached_property
    def state(self) -> Any:
        """A state of the target."""
        states = [*self.states(self.target), *estimator_classes(self.estimator)]
        return states[1] if len(states) > 1 else None

    @cached_property
    def evidence(self) -> dict[str, Any]:
        """From pattern to evidence; patterns that the variables do not have are left out."""
        row, target, others = self.row, self.target, self.others
        half = {name: row[name] for name in others[::2]}
        discrete = [name for name in others if len(self.states(name)) > 1]
        found: dict[str, Any] = {
            "none": None,
            "half": half,
            "rest": {name: row[name] for name in others},
            "class": {
                target: row[target] if self.state is None else self.state,
                **dict(list(half.items())[:1]),
            },
            "gone": self._with_missing(),
            "name": {**half, "nobody": 1},
        }
        if self.states(target):
            weights = _shares(self.states(target))
            found["soft"] = {**half, target: {k: 3 * w for k, w in weights.items()}}
            found["belief"] = {**half, target: bg.Belief(weights)}
            found["state"] = {target: "nowhere"}
        if discrete:
            name = discrete[-1]
            weights = _shares(self.states(name))
            found["soft-feature"] = {**half, name: {k: 2 * w for k, w in weights.items()}}
            found["belief-feature"] = {**half, name: bg.Belief(weights)}
        if self.impossible is not None:
            found["impossible"] = self.impossible
        elif self.number is not None:
            found["impossible"] = {self.number: 1e200}  # of density zero, by underflow
        return found

    def _with_missing(self) -> dict[Any, Any]:
        spelled = [None, float("nan")]
        return {
            name: self.row[name] if i % 3 else spelled[i // 3 % 2]
            for i, name in enumerate(self.others)
        }


def _shares(states: tuple[Any, ...]) -> dict[Any, float]:
    total = len(states) * (len(states) + 1) / 2
    found = {state: (i + 1) / total for i, state in enumerate(states)}
    if len(found) < len(states):  # states that are equal: a mapping holds one of them
        return {}
    return found


# ------------------------------------------------------------------------------------ questions

Ask = Callable[[Subject, Any], Any]


@dataclass(frozen=True)
class Question:
    """A question, and with which patterns it is asked.

    Attributes
    ----------
    ask : callable
        From subject and evidence (or table) to the answer.
    patterns : str
        Asked of all subjects.
    more : str
        Asked of thorough ones besides.
    needs : callable, optional
        Tells whether a subject has what is asked about.
    """

    ask: Ask
    patterns: str
    more: str = ""
    needs: Callable[[Subject], bool] = lambda s: True

    def of(self, subject: Subject) -> list[str]:
        """Return the patterns for a subject."""
        return [*self.patterns.split(), *(self.more.split() if subject.thorough else ())]


def _is(*kinds: type) -> Callable[[Subject], bool]:
    return lambda subject: isinstance(subject.graph, kinds)


GRAPH_QUESTIONS: dict[str, Question] = {
    "query": Question(
        lambda s, e: query(s.graph, s.target, e),
        "half rest soft belief gone",
        "none class soft-feature belief-feature impossible name state",
    ),
    "query other": Question(
        lambda s, e: query(s.graph, s.other, e), "class", "none half soft belief-feature gone"
    ),
    "query number": Question(
        lambda s, e: query(s.graph, s.number, e),
        "class",
        "none half soft belief gone",
        lambda s: s.number is not None,
    ),
    "query joint": Question(lambda s, e: query(s.graph, s.both, e), "half", "none soft belief"),
    "query mixed": Question(
        lambda s, e: query(s.graph, [s.target, s.number], e),
        "none",
        "soft gone",
        lambda s: s.number not in (None, s.target),
    ),
    "query loopy": Question(lambda s, e: loopy(s.graph, s.target, e), "half", "none soft"),
    "query weighting": Question(
        lambda s, e: likelihood_weighting(s.graph, s.target, e), "half", "soft"
    ),
    "query little memory": Question(
        lambda s, e: query(s.graph, s.target, e, memory_limit=1), "", "half none"
    ),
    "query fallback": Question(
        lambda s, e: query(s.graph, s.target, e, memory_limit=1, fallback="loopy"), "half", "none"
    ),
    "marginals": Question(
        lambda s, e: marginals(s.graph, e), "half", "none class soft belief gone impossible name"
    ),
    "marginals loopy": Question(lambda s, e: marginals(s.graph, e, method="loopy"), "", "half"),
    "most_probable": Question(
        lambda s, e: most_probable(s.graph, e),
        "half",
        "none rest class soft belief gone impossible",
    ),
    "most_probable joint": Question(
        lambda s, e: most_probable(s.graph, e, joint=True), "half", "none soft"
    ),
    "k_most_probable": Question(
        lambda s, e: k_most_probable(s.graph, 3, e), "half", "none soft belief impossible"
    ),
    "marginal_map": Question(lambda s, e: marginal_map(s.graph, s.both, e), "half", "none soft"),
    "log_probability": Question(
        lambda s, e: log_probability(s.graph, e),
        "half impossible",
        "none soft rest class soft-feature belief gone state",
    ),
    "query_rows": Question(
        lambda s, t: query_rows(s.graph, s.target, t), "@gone", "@rows @one @odd"
    ),
    "query_rows other": Question(lambda s, t: query_rows(s.graph, s.other, t), "@gone", "@rows"),
    "log_likelihood": Question(lambda s, t: log_likelihood(s.graph, t), "@gone", "@rows @one @odd"),
    "sample": Question(
        lambda s, e: sample(s.graph, 4, e), "none half", "class soft belief impossible"
    ),
    "weighted_samples": Question(
        lambda s, e: weighted_samples(s.graph, s.target, e), "half", "none impossible"
    ),
    "sensitivity": Question(
        lambda s, e: sensitivity(s.graph, s.target, s.state, e), "half", "none soft impossible"
    ),
    "conflict": Question(lambda s, e: conflict(s.graph, e), "half", "soft impossible"),
    "plan": Question(lambda s, e: plan(s.graph, s.target, e), "half"),
    "factor graph": Question(
        lambda s, e: query(as_factor_graph(s.graph), s.target, e),
        "half",
        "gone",
        _is(bg.BayesianNetwork, bg.WeightedNetwork),
    ),
    "network weights": Question(
        lambda s, e: network_weights(s.graph, e),
        "half",
        "soft",
        lambda subject: subject.graph._kind == "mixture",
    ),
    "contributions of model": Question(
        lambda s, e: model_contributions(s.graph, s.target, e, s.state), "", "rest half gone"
    ),
    "dot of model": Question(lambda s, e: dot(s.graph), "none"),
    "file of model": Question(lambda s, e: saved(s.graph), "", "none"),
    "BIF": Question(lambda s, e: written(s.graph, ".bif"), "", "none"),
    "UAI": Question(lambda s, e: written(s.graph, ".uai"), "", "none"),
}


def _classifies(subject: Subject) -> bool:
    return not isinstance(subject.estimator, bg.DecisionTreeNetworkRegressor)


ESTIMATOR_QUESTIONS: dict[str, Question] = {
    "predict": Question(lambda s, t: predict(s.estimator, t), "@rows", "@gone @one"),
    "predict_proba": Question(
        lambda s, t: predict_proba(s.estimator, t), "@rows @gone", "@one @odd @matrix", _classifies
    ),
    "predict_log_proba": Question(
        lambda s, t: predict_log_proba(s.estimator, t), "@odd", "@rows @gone", _classifies
    ),
    "log_likelihood of rows": Question(
        lambda s, t: row_log_likelihoods(s.estimator, t), "@gone", "@rows @one @odd"
    ),
    "log_odds": Question(lambda s, t: log_odds(s.estimator, t, s.state), "@gone", "", _classifies),
    "decide": Question(lambda s, t: decide(s.estimator, t), "@gone", "", _classifies),
    "predict with deviation": Question(
        lambda s, t: predict_with_std(s.estimator, t),
        "@rows @gone",
        needs=lambda s: isinstance(s.estimator, bg.DecisionTreeNetworkRegressor),
    ),
    "predict one": Question(
        lambda s, e: predict_one(s.estimator, s.plain_row),
        "none",
        needs=lambda s: isinstance(s.estimator, bg.StreamingNaiveBayesClassifier),
    ),
    "contributions": Question(
        lambda s, e: contributions(s.estimator, s.plain_row, s.state), "none", "", _classifies
    ),
    "top_items": Question(
        lambda s, e: top_items(s.estimator),
        "",
        "none",
        lambda s: any(isinstance(s.graph.variable(n), bg.CountVector) for n in s.row),
    ),
    "query of estimator": Question(
        lambda s, e: estimator_query(s.estimator, None, e), "", "half none gone name"
    ),
    "query other of estimator": Question(
        lambda s, e: estimator_query(s.estimator, s.other, e), "", "class"
    ),
    "most_probable of estimator": Question(
        lambda s, e: estimator_most_probable(s.estimator, e), "", "half", _classifies
    ),
    "sample of estimator": Question(
        lambda s, e: estimator_sample(s.estimator, 4), "", "none", _classifies
    ),
    "dot": Question(lambda s, e: dot(s.estimator), "", "none"),
    "file": Question(lambda s, e: saved(s.estimator), "none"),
}


def questions_of(subject: Subject) -> Iterator[tuple[str, str, Callable[[], Any]]]:
    """Yield the question, the pattern and how to ask it, for all that a subject is asked."""
    asked: list[tuple[str, Question]] = []
    if subject.graph is not None:
        asked += GRAPH_QUESTIONS.items()
    if subject.estimator is not None:
        asked += ESTIMATOR_QUESTIONS.items()
    given = {} if subject.graph is None else subject.evidence
    known = {"none": None, **given, **{f"@{n}": t for n, t in subject.tables.items()}}
    for name, question in asked:
        if subject.graph is None and name in _OF_GRAPHS:
            continue
        for pattern in question.of(subject):
            if pattern in known and question.needs(subject):
                yield name, pattern, partial(question.ask, subject, known[pattern])


# What an estimator passes on to its model, so that one without a model is not asked.
_OF_GRAPHS = frozenset(
    (
        "log_odds",
        "contributions",
        "top_items",
        "query of estimator",
        "query other of estimator",
        "most_probable of estimator",
        "sample of estimator",
        "dot",
        "log_likelihood of rows",
    )
)

# Whose answers are draws.
DRAWS = frozenset(
    (
        "sample",
        "weighted_samples",
        "query weighting",
        "sample of estimator",
    )
)


# ------------------------------------------------------------------------------- all subjects


def _of_case(case: cases.Case, kind: str, thorough: bool) -> Subject:
    data = cases.make_data(kind)
    return _of_estimator(case.estimator().fit(data.pandas(), data.y), data, thorough)


def _of_estimator(estimator: Any, data: cases.Data, thorough: bool = True) -> Subject:
    tables = {
        "rows": data.pandas(),
        "gone": data.with_missing().take([5, *range(20, 30)]).pandas(),
        "one": data.take([7]).pandas(),
        "odd": _odd(data.take(range(4))).pandas(),
        "matrix": data.take(range(6)).matrix(),
    }
    plain = {name: column[5] for name, column in data.columns.items()}
    return _fitted(estimator, plain, data.y[5], tables, thorough)


def _fitted(
    estimator: Any, plain: dict[Any, Any], label: Any, tables: dict[str, Any], thorough: bool = True
) -> Subject:
    """Return what is asked of an estimator, by a row of its columns and the row's label."""
    graph = graph_of(estimator)
    if graph is None:
        return Subject(None, None, {}, tables, estimator, plain, thorough=thorough)
    target = target_of(estimator)
    row = {v.name: _cell(v, plain) for v in graph.variables if v.name != target}
    row[target] = label.item()
    return Subject(graph, target, row, tables, estimator, plain, thorough=thorough)


def estimator_classes(estimator: Any) -> list[Any]:
    """Return the classes of a classifier, none of a regressor."""
    return list(getattr(estimator, "classes_", ()))


def _cell(variable: Any, plain: Mapping[Any, Any]) -> Any:
    if isinstance(variable, bg.CountVector):
        return {item: plain[item] for item in variable.items}
    # What is hidden in a model has no column: the leaves of a regression tree.
    return plain.get(variable.name, 0)


def _odd(data: cases.Data) -> cases.Data:
    """Return rows with values that no row had, and one without any value."""
    columns = {}
    for name, column in data.columns.items():
        changed = list(column)
        if isinstance(column[0], str):
            changed[1] = "unheard of"
        elif not isinstance(column[0], bool):
            changed[2] = type(column[0])(12345 if isinstance(column[0], int) else 1e9)
        changed[3] = None
        columns[name] = changed
    return cases.Data(columns, data.y)


def row_of(name: str) -> dict[Any, Any]:
    """Return a value of every variable of a model that was made by hand; possible."""
    made = golden_models.MODELS[name]
    return golden_models.random_row(made.make(), random.Random(made.seed))


def _made(name: str) -> Subject:
    made = golden_models.MODELS[name]
    graph = made.make()
    row = row_of(name)
    chance = random.Random(made.seed + 1)
    rows = [row, *(golden_models.random_row(graph, chance) for _ in range(7))]
    mapping = golden_models.as_columns
    wrong = dict.fromkeys(made.impossible or (), None)
    tables = {
        "rows": mapping(rows),
        "gone": mapping([_thinned(row, chance) for _ in range(6)]),
        "one": mapping([row]),
        "odd": mapping([row, {**row, **wrong}, {**row, **(made.impossible or {})}]),
    }
    tables["odd"] = {n: c for n, c in tables["odd"].items() if n != made.target}
    return Subject(graph, made.target, row, tables, impossible=made.impossible)


def _thinned(row: Mapping[Any, Any], chance: random.Random) -> dict[Any, Any]:
    return {
        name: value if chance.random() < 0.6 else _missing(value) for name, value in row.items()
    }


def _missing(value: Any) -> Any:
    return dict.fromkeys(value) if isinstance(value, dict) else None


def _regressor() -> Subject:
    data = cases.make_data("mixed")
    columns = dict(data.columns)
    y = np.array(columns["d"])
    left = cases.Data(columns | {"d": data.y.tolist()}, y)
    estimator = bg.DecisionTreeNetworkRegressor(max_leaf_nodes=6)
    return _of_estimator(estimator.fit(left.pandas(), y), left)


def _words() -> Subject:
    """Return naive Bayes of a sparse matrix, whose columns are one vector of counts."""
    data = cases.make_data("counts")
    X = data.matrix()
    tables = {"rows": sparse.csr_array(X), "one": sparse.csr_array(X[7:8]), "matrix": X[:6]}
    estimator = bg.NaiveBayesClassifier("multinomial").fit(tables["rows"], data.y)
    return _fitted(estimator, {f"x{j}": X[5, j] for j in range(X.shape[1])}, data.y[5], tables)


ESTIMATORS: dict[str, Callable[[], Subject]] = {
    "tree-regressor": _regressor,
    "words": _words,
}


def _by_case() -> dict[str, Callable[[], Subject]]:
    """Return one subject for each row of the table of classifiers, of the first rows more.

    The first row of each class of estimators is asked with all kinds of data; of the class that
    takes any structure, the row that chooses by itself.
    """
    found: dict[str, Callable[[], Subject]] = {}
    seen: set[object] = set()
    for case in sorted(cases.CLASSIFIERS, key=lambda case: case.name != "auto"):
        made_by = getattr(case.estimator, "func", case.estimator)
        first = made_by not in seen
        seen.add(made_by)
        # By the name, so that one more row changes nothing about the others.
        one = case.kinds[sum(case.name.encode()) % len(case.kinds)]
        one = "mixed" if first and "mixed" in case.kinds else one
        for kind in case.kinds if first else (one,):
            found[f"{case.name}/{kind}"] = partial(_of_case, case, kind, first and kind == one)
    return found


SUBJECTS: dict[str, Callable[[], Subject]] = {
    **{name: partial(_made, name) for name in golden_models.MODELS},
    **ESTIMATORS,
    **_by_case(),
}
