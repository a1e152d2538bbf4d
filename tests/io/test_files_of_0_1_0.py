"""Files that version 0.1.0 wrote are read, and the models in them answer as they did.

The files, and what the models answered, are in files_0_1_0. They are never written again: what a
later version writes is checked elsewhere. `write_files` says what they hold, but for
continuous-counts: a PoissonPlate and a NegativeBinomialPlate of Continuous variables, the former
also a parent of a GaussianCPD, none of which later versions make.
"""

from __future__ import annotations

import ast
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import cases
import golden_models
import golden_questions as ask
import numpy as np
import pytest

import bayesgraph as bg

FOLDER = Path(__file__).with_name("files_0_1_0")
EXPECTED = "expected.txt"

# A file of each kind of model and of each family of local distributions.
GRAPHS = (
    "few-discrete",
    "conditional-gaussian",
    "trees",
    "histograms",
    "plates",
    "count-vectors",
    "intervals",
    "few-factors",
    "gaussian-factors",
    "weighted",
    "discrete-mixture",
    "mixed-mixture",
)
# In the formats of others.
WRITTEN = ("intervals.bif", "intervals.uai", "many-factors.uai")

# Of kinds that are read no more, and what the refusal names.
REMOVED = {"bag.bayesgraph": "kind 'bag'", "stream-kll.bayesgraph": "summary of the kind 'kll'"}

# Classes of 0.1.0 that are others with an argument.
IS_NOW = {
    "LinearDiscriminantClassifier": "DiscriminantAnalysisClassifier",
    "QuadraticDiscriminantClassifier": "DiscriminantAnalysisClassifier",
    "SelectiveKDBClassifier": "BayesianNetworkClassifier",
}

# From file to estimator and kind of data: each class, and each kind of thing that one may keep.
ESTIMATORS: dict[str, tuple[Callable[[], Any], str]] = {
    "naive-bayes": (bg.NaiveBayesClassifier, "mixed"),
    "naive-bayes-kernel": (partial(bg.NaiveBayesClassifier, "kernel"), "continuous"),
    "naive-bayes-words": (partial(bg.NaiveBayesClassifier, "multinomial"), "counts"),
    "naive-bayes-predictive": (
        partial(
            bg.NaiveBayesClassifier,
            {"d": "poisson", ("e", "f", "g"): "multinomial"},
            smoothing=bg.Smoothing(estimation="predictive"),
        ),
        "varied",
    ),
    "tan": (bg.TANClassifier, "mixed"),
    "kdb": (bg.KDBClassifier, "discrete"),
    "selective-kdb": (partial(bg.BayesianNetworkClassifier, "selective_kdb"), "discrete"),
    "network": (
        partial(bg.BayesianNetworkClassifier, "tan", exponents="cells", discretizer="frequency"),
        "mixed",
    ),
    "weighted-naive-bayes": (partial(bg.WeightedNaiveBayesClassifier, "variable"), "mixed"),
    "aode": (bg.AODEClassifier, "discrete"),
    "averaged-tan": (partial(bg.AveragedTANClassifier, n_trees=2), "discrete"),
    "linear-discriminant": (bg.DiscriminantAnalysisClassifier, "continuous"),
    "quadratic-discriminant": (partial(bg.DiscriminantAnalysisClassifier, "class"), "continuous"),
    "discriminant": (
        partial(bg.DiscriminantAnalysisClassifier, "shared", regularization="ledoit_wolf"),
        "continuous",
    ),
    "complement": (bg.ComplementNaiveBayesClassifier, "counts"),
    "tree": (partial(bg.DecisionTreeNetworkClassifier, max_leaf_nodes=6), "mixed"),
    "tree-regressor": (partial(bg.DecisionTreeNetworkRegressor, max_leaf_nodes=6), "mixed"),
    **{
        f"stream-{name}": (partial(bg.StreamingNaiveBayesClassifier, **options), "mixed")
        for name, options in {
            "gk": {"size": 10, "discretizer": "modl"},
            "pid": {"summary": "pid", "size": 10, "decay": 0.99, "detector": "ddm"},
        }.items()
    },
    "stream-weighted": (
        partial(
            bg.StreamingWeightedNaiveBayesClassifier,
            summary="gaussian",
            window=40,
            detector="page-hinkley",
        ),
        "mixed",
    ),
}


# ------------------------------------------------------------------------------------- writing


def write_files(folder: Path) -> None:
    """Write all files and what the models answer, as the version at hand does."""
    expected: dict[str, dict[str, Any]] = {}
    for name in GRAPHS:
        model = golden_models.MODELS[name].make()
        expected[f"{name}.bayesgraph"] = _graph_questions(name, model)
        model.save(folder / f"{name}.bayesgraph")
    for file in WRITTEN:
        name, path = Path(file).stem, folder / file
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", bg.errors.LossyExportWarning)
            golden_models.MODELS[name].make().save(path, strict=False)
        expected[file] = _graph_questions(name, bg.load(path), plain=True)
    for name, (make, kind) in ESTIMATORS.items():
        data = _few_columns(cases.make_data(kind, 30), name)
        labels = np.arange(30.0) if name == "tree-regressor" else data.y
        make().fit(dict(data.columns), labels).save(folder / f"{name}.bayesgraph")
        expected[f"{name}.bayesgraph"] = _estimator_questions(data, labels)
    for file, questions in expected.items():
        model = bg.load(folder / file)
        questions["type"] = type(model).__name__
        questions["answers"] = dict(_answers(model, questions))
    lines = [f"{file} {questions!r}\n" for file, questions in expected.items()]
    (folder / EXPECTED).write_text("".join(lines), "utf-8", newline="\n")


def _few_columns(data: cases.Data, name: str) -> cases.Data:
    """Return some of the columns: files are to be small."""
    kept = "ac" if name.startswith("stream") else "abc"
    if "e" in data.columns:  # those that the estimator names
        kept = "adefg"
    return cases.Data({column: data.columns[column] for column in kept}, data.y)


def _graph_questions(name: str, model: Any, *, plain: bool = False) -> dict[str, Any]:
    """Return a target and evidence; `plain` for formats that have tables of numbered states."""
    made = golden_models.MODELS[name]
    # Other formats may have other names, but they keep the order.
    names = dict(zip(made.make().names, model.names, strict=True))
    row = {names[key]: value for key, value in ask.row_of(name).items()}
    target = names[made.target]
    if plain:
        row = {key: model.variable(key).states[0] for key in row}
    evidence = {key: value for i, (key, value) in enumerate(row.items()) if i % 2}
    return {"target": target, "evidence": {k: v for k, v in evidence.items() if k != target}}


def _estimator_questions(data: cases.Data, labels: np.ndarray) -> dict[str, Any]:
    known, learned = [4, 5, 6], [9, 10, 11]
    asked = {name: [column[i] for i in known] for name, column in data.columns.items()}
    for i, column in enumerate(asked.values()):
        column[i % 2 + 1] = None
    return {
        "rows": asked,
        "more": {name: [column[i] for i in learned] for name, column in data.columns.items()},
        "labels": labels[learned].tolist(),
    }


# --------------------------------------------------------------------------------------- asking


def _answers(model: Any, questions: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield names and numbers of what a model answers."""
    if "rows" not in questions:
        target, evidence = questions["target"], questions["evidence"]
        yield "posterior", _numbers(ask.query(model, target, evidence))
        if not isinstance(model, bg.WeightedNetwork):
            yield "log_probability", ask.log_probability(model, evidence)
        return
    yield "predicted", _predicted(model, questions["rows"])
    if hasattr(model, "partial_fit"):
        # What is needed to go on learning is in the file too.
        model.partial_fit(questions["more"], questions["labels"])
        yield "predicted after more rows", _predicted(model, questions["rows"])


def _predicted(model: Any, rows: Any) -> Any:
    answer = ask.predict_proba if hasattr(model, "predict_proba") else ask.predict
    return answer(model, rows).tolist()


def _numbers(answer: Any) -> Any:
    if isinstance(answer, bg.Posterior):
        return answer.probabilities.tolist()
    return [answer.mean, answer.std]


def _expected() -> dict[str, dict[str, Any]]:
    if not (FOLDER / EXPECTED).exists():  # while they are written
        return {}
    lines = (FOLDER / EXPECTED).read_text("utf-8").splitlines()
    return {file: ast.literal_eval(rest) for file, rest in (line.split(" ", 1) for line in lines)}


@pytest.mark.one_in(4)
@pytest.mark.parametrize("file", _expected())
def test_files_of_0_1_0_answer_as_they_did(file: str) -> None:
    questions = _expected()[file]
    model = bg.load(FOLDER / file)
    assert type(model).__name__ == IS_NOW.get(questions["type"], questions["type"])
    found = dict(_answers(model, questions))
    assert found.keys() == questions["answers"].keys()
    for name, answer in found.items():
        np.testing.assert_allclose(answer, questions["answers"][name], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("file", "kind"), REMOVED.items())
def test_kinds_that_were_removed_are_refused(file: str, kind: str) -> None:
    message = rf"{kind}; bayesgraph 0\.1\.0 was the last version that reads it"
    with pytest.raises(bg.errors.FileFormatError, match=message):
        bg.load(FOLDER / file)


def test_the_folder_has_what_is_expected() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {*_expected(), *REMOVED, EXPECTED}


def test_there_is_a_file_of_each_estimator() -> None:
    estimators = {name for name in dir(bg) if name.endswith(("Classifier", "Regressor"))}
    types = {questions["type"] for questions in _expected().values()}
    models = {"BayesianNetwork", "FactorGraph", "WeightedNetwork", "NetworkMixture"}
    assert {IS_NOW.get(name, name) for name in types} == estimators | models


if __name__ == "__main__":
    write_files(Path(sys.argv[1]))
