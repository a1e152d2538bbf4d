"""Without Numba and scikit-learn a process loads models, asks and predicts, and says what lacks."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

import bayesgraph as bg
from bayesgraph.classifiers import DiscriminantAnalysisClassifier

HEART = Path(__file__).parents[1] / "examples" / "data" / "heart.csv"

# Hides packages as if they were not installed, and reads a folder of models.
PREAMBLE = """
import sys
from importlib.machinery import PathFinder

class Installed(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        is_hidden = name.partition(".")[0] in {"numba", "llvmlite", "sklearn", "joblib", "typer"}
        return None if is_hidden else super().find_spec(name, path, target)

sys.meta_path[:] = [Installed if finder is PathFinder else finder for finder in sys.meta_path]

import json
from pathlib import Path
import numpy as np
import bayesgraph as bg

folder = Path(sys.argv[1])
"""


def run(code, folder):
    """Return what a process without the packages prints as JSON."""
    # Kernels are interpreted, whatever else is wanted.
    paths = {"PYTHONPATH": str(Path(bg.__file__).parents[1]), "BAYESGRAPH_COMPILE": "inline"}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PREAMBLE + code, str(folder)],
        check=False,
        env=os.environ | paths,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def columns():
    """Rows of patients as a dict of columns, and their classes."""
    table = bg.read_table(HEART)[:200]
    data = {name: table[name].to_pylist() for name in table.column_names}
    return data, data.pop("disease")


@pytest.fixture(scope="module")
def folder(columns, tmp_path_factory):
    """A folder with models, rows to predict and what the models say of them here."""
    folder = tmp_path_factory.mktemp("models")
    X, y = columns
    numbers, species = load_iris(return_X_y=True)
    models = {
        "naive": bg.NaiveBayesClassifier().fit(X, y),
        "tan": bg.TANClassifier(discretizer=bg.EqualFrequency(4), unseen="missing").fit(X, y),
        "default": bg.BayesianNetworkClassifier(n_trees=3).fit(X, y),
        "weighted": bg.WeightedNaiveBayesClassifier(discretizer="mdlp").fit(X, y),
        "tree": bg.DecisionTreeNetworkClassifier(max_depth=3).fit(X, y),
        "stream": bg.StreamingNaiveBayesClassifier().fit(X, y),
    }
    arrays = {
        "gaussian": bg.NaiveBayesClassifier().fit(numbers, species),
        "discriminant": DiscriminantAnalysisClassifier().fit(numbers, species),
    }
    rows = {name: column[:20] for name, column in X.items()}
    expected = {name: model.predict_proba(rows).tolist() for name, model in models.items()}
    expected |= {name: m.predict_proba(numbers[::9]).tolist() for name, m in arrays.items()}
    for name, model in (models | arrays).items():
        model.save(folder / f"{name}.bayesgraph")
    (folder / "rows.json").write_text(json.dumps([rows, numbers[::9].tolist(), [*models]]))
    network = bg.BayesianNetwork.fit(
        [("sex", "cp"), ("cp", "exang")], {n: X[n] for n in ("sex", "cp", "exang")}
    )
    network.save(folder / "network.bif")
    query = network.query("sex", {"exang": "yes"})
    return folder, expected, models["tan"], dict(query)


PREDICT = """
rows, numbers, of_rows = json.loads((folder / "rows.json").read_text())
answers = {}
for path in sorted(folder.glob("*.bayesgraph")):
    model = bg.load(path)
    if path.stem in of_rows:
        answers[path.stem] = model.predict_proba(rows).tolist()
        assert set(model.predict(rows)) <= {"no", "yes"}, repr(model)
    else:
        answers[path.stem] = model.predict_proba(np.array(numbers)).tolist()
        assert (model.predict_proba(numbers) == model.predict_proba(np.array(numbers))).all()
many = {name: column * 300 for name, column in rows.items()}
assert np.allclose(bg.load(folder / "naive.bayesgraph").predict_proba(many)[-20:], answers["naive"])
print(json.dumps(answers))
"""


def test_saved_models_predict_as_they_did(folder):
    place, expected, _, _ = folder
    answers = run(PREDICT, place)
    assert answers.keys() == expected.keys()
    for name, proba in expected.items():
        np.testing.assert_allclose(answers[name], proba, rtol=0, atol=1e-12, err_msg=name)


ASK = """
tan, network = bg.load(folder / "tan.bayesgraph"), bg.load(folder / "network.bif")
evidence = {"sex": "male", "age": 60}
print(json.dumps({
    "network": dict(network.query("sex", {"exang": "yes"})),
    "query": dict(tan.query(evidence=evidence)),
    "contributions": dict(tan.contributions(evidence=evidence)),
    "next": tan.ask.next_question(evidence=evidence).best,
    "repr": repr(tan),
    "decided": tan.set_params(unseen="warn").decide({name: [None] for name in tan.layout_.columns},
                                                    abstain=0.01).tolist(),
}))
"""


def test_models_answer_as_they_did(folder):
    place, _, tan, query = folder
    answers = run(ASK, place)
    evidence = {"sex": "male", "age": 60}
    assert answers["network"] == pytest.approx(query, abs=1e-12)
    assert answers["query"] == pytest.approx(dict(tan.query(evidence=evidence)), abs=1e-12)
    terms = dict(tan.contributions(evidence=evidence))
    assert answers["contributions"] == pytest.approx(terms, abs=1e-12)
    assert answers["next"] == tan.ask.next_question(evidence=evidence).best
    assert answers["repr"] == repr(tan)
    assert answers["decided"] == [None]


LEARN = """
import importlib
from bayesgraph.core.errors import MissingDependencyError

rows, _, _ = json.loads((folder / "rows.json").read_text())
said = {}
for name, act in {
    "labels in a list": lambda: bg.TANClassifier().fit(rows, ["no", "yes"] * 10),
    "a tree": lambda: bg.DecisionTreeNetworkClassifier().fit(rows, np.array([0, 1] * 10)),
    "evaluation": lambda: bg.evaluate(bg.TANClassifier(), rows, np.array([0, 1] * 10)),
    "command line": lambda: importlib.import_module("bayesgraph.cli").main,
}.items():
    try:
        act()
    except MissingDependencyError as error:
        said[name] = str(error)
unfitted = bg.TANClassifier()
assert not hasattr(bg.BayesianNetworkClassifier(n_trees=5), "partial_fit")
for method in (lambda: unfitted.predict(rows), lambda: unfitted.set_params(unsen="warn")):
    try:
        method()
    except ValueError as error:
        said[str(error)] = None
print(json.dumps(said))
"""


def test_what_is_missing_is_named_in_one_line(folder):
    said = run(LEARN, folder[0])
    tail = "is not installed. Install it with: pip install bayesgraph"
    learning = (
        f"Fitting, evaluating or checking a classifier needs the package 'sklearn', which {tail}"
    )
    assert said.pop("command line") == f"The command line needs the package 'typer', which {tail}"
    assert [said.pop(name) for name in ("labels in a list", "a tree", "evaluation")] == [
        learning
    ] * 3
    unfitted, unknown = said
    assert unfitted.startswith("This TANClassifier instance is not fitted yet. Call 'fit'")
    assert unknown == "TANClassifier() has no parameter 'unsen'."


SLOW = """
import warnings
from bayesgraph.core.compilation import tiers

rows, _, _ = json.loads((folder / "rows.json").read_text())
tiers.spent = 5.0  # as after that many seconds
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    for _ in range(2):
        bg.load(folder / "default.bayesgraph").predict_proba(rows)
print(json.dumps([str(warning.message) for warning in told]))
"""


def test_seconds_of_interpreting_are_told_once(folder):
    assert run(SLOW, folder[0]) == [
        "5 seconds went to loops that Numba would compile to run up to a hundred times faster, but "
        "it is not installed: pip install numba"
    ]
