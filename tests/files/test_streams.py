"""Files of classifiers of streams: they go on to the bit, and forged ones are refused."""

import io
import json
import math
import pickle
import re
import zipfile
from functools import partial

import cases
import numpy as np
import pandas as pd
import pygraphviz
import pytest
from forgery import forged

import bayesgraph as bg
from bayesgraph.core.errors import (
    DataTypeError,
    FileFormatError,
    LossyExportWarning,
)

Weighted = bg.StreamingWeightedNaiveBayesClassifier
STREAMS = {c.name: c.estimator for c in cases.CLASSIFIERS if c.name.startswith("streaming")}
STREAMS["streaming-epsilon"] = partial(Weighted, epsilon=0.05)
every = pytest.mark.parametrize("estimator", STREAMS.values(), ids=STREAMS)


def stream(n=900, seed=0):
    random = np.random.default_rng(seed)
    code = random.integers(3, size=n)
    X = pd.DataFrame(
        {
            "x": random.normal(size=n) + code,
            "colour": np.array(["low", "mid", "high"])[(random.random(n) * (1 + code)).astype(int)],
            "flag": random.random(n) < 0.2 + 0.3 * code,
            "z": random.gamma(1.0 + code),
        }
    )
    return X.astype(object).mask(random.random(X.shape) < 0.1, None), np.array(list("abc"))[code]


def loaded(model, folder):
    model.save(folder / "model.bayesgraph")
    return bg.load(folder / "model.bayesgraph")


def assert_same(one, other):
    found, expected = one.star_.arrays(), other.star_.arrays()
    assert list(found) == list(expected)
    for name, array in expected.items():
        assert found[name].dtype == array.dtype, name
        assert found[name].shape == array.shape, name
        assert found[name].tobytes() == array.tobytes(), name
    assert one.classes_.dtype == other.classes_.dtype
    assert one.classes_.tolist() == other.classes_.tolist()
    assert one._columns.vocabularies == other._columns.vocabularies
    assert one.layout_ == other.layout_
    assert one.get_params() == other.get_params()
    assert one.star_.settings == other.star_.settings


@pytest.mark.one_in(8)
@every
def test_a_loaded_model_goes_on_where_it_stopped(estimator, tmp_path):
    X, y = stream()
    model = estimator()
    # Inside the first blocks, at their ends, between looks, and past several of them.
    for a, b in ((0, 3), (3, 8), (8, 300), (300, 900)):
        model.partial_fit(X[a:b], y[a:b])
        back = loaded(model, tmp_path)
        assert type(back) is type(model)
        assert_same(back, model)
        np.testing.assert_array_equal(back.predict_proba(X), model.predict_proba(X))
        assert back.network_ == model.network_
        content = (tmp_path / "model.bayesgraph").read_bytes()
        back.save(tmp_path / "again.bayesgraph")
        assert (tmp_path / "again.bayesgraph").read_bytes() == content
        more, other = pickle.loads(pickle.dumps(model)), bg.load(tmp_path / "model.bayesgraph")
        if b < len(y):
            assert_same(other.partial_fit(X[b:], y[b:]), more.partial_fit(X[b:], y[b:]))
        one = {"x": 1.0, "colour": "new", "w": 3.0}
        assert_same(other.learn_one(one, "d").refresh(), more.learn_one(one, "d").refresh())
        model = back


def test_names_classes_and_states_keep_their_type(tmp_path):
    X = {("a", 1): [1, 2, 1, 2], "b": [True, False, True, True], "c": [0.5, 1.5, 0.1, 0.3]}
    for y in (
        [1, 2, 1, 2],
        [True, False, True, False],
        [1.0, 2.0, 1.0, 2.0],
        ["u", "vw", "u", "u"],
    ):
        for dtype in (np.array(y).dtype, object) if y[0] == "u" else (np.array(y).dtype,):
            series = pd.Series(y, name="answer", dtype=dtype)
            model = Weighted(categorical=[("a", 1)]).fit(X, series)
            back = loaded(model, tmp_path)
            assert_same(back, model)
            assert back.target_ == model.target_
            assert back.target_.name == "answer"
            assert back.features_ == model.features_
            assert [type(s) for s in back.target_.states] == [type(v) for v in sorted(set(y))]
            assert back.layout_.columns == (("a", 1), "b", "c")
            assert hasattr(back, "feature_names_in_") == hasattr(model, "feature_names_in_")


def test_arrays_have_no_names(tmp_path):
    model = Weighted().fit([[1.0, 2.0], [2.0, 3.0]], [0, 1])
    back = loaded(model, tmp_path)
    assert not hasattr(back, "feature_names_in_")
    assert back.n_features_in_ == 2
    np.testing.assert_array_equal(back.predict([[1.0, 2.0]]), model.predict([[1.0, 2.0]]))


def test_parameters_set_after_learning_are_kept_beside_those_in_force(tmp_path):
    model = Weighted(smoothing=2.0).partial_fit([[1.0], [2.0]], [0, 1]).set_params(smoothing=0.5)
    back = loaded(model, tmp_path)
    assert back.smoothing == 0.5
    assert back.star_.settings.smoothing.alpha == 2.0


def test_a_model_that_learned_rows_one_by_one(tmp_path):
    model = Weighted()
    for i in range(40):
        model.learn_one({"x": float(i % 7), "s": "pq"[i % 2]}, "no" if i % 3 else "yes")
    back = loaded(model, tmp_path)
    assert_same(back, model)
    assert back.predict_one({"s": "p"}) == model.predict_one({"s": "p"})


def test_what_files_do_not_hold(tmp_path):
    model = Weighted(categorical="all")
    with pytest.raises(Exception, match="not fitted"):
        model.save(tmp_path / "m.bayesgraph")
    # Values that no file holds are refused before anything is learned, as those of tables are.
    with pytest.raises(DataTypeError, match="'a' has the type frozenset"):
        model.learn_one({"a": frozenset([1])}, 0)
    with pytest.raises(Exception, match="not fitted"):
        model.save(tmp_path / "m.bayesgraph")
    assert not (tmp_path / "m.bayesgraph").exists()


# -------------------------------------------------------------------------- pictures and exports


def wide(n_features, **options):
    random = np.random.default_rng(0)
    y = np.array(["no", "yes"])[random.integers(2, size=400)]
    X = random.normal(size=(400, n_features)) + (y == "yes")[:, None]
    return Weighted(**options).fit(X, y)


def test_pictures_have_exponents_on_the_arcs():
    model = wide(5)
    graph = pygraphviz.AGraph(bg.pictures.to_dot(model))
    written = {e[1]: e.attr["label"].strip() for e in graph.edges()}
    assert len(written) == 5
    for i, exponent in enumerate(model.network_.exponents.values(), 1):
        shown = [float(text.replace("−", "-")) for text in written[f"n{i}"].split(", ")]
        np.testing.assert_allclose(shown, np.unique(exponent)[:1] if len(shown) == 1 else exponent,
                                   rtol=0.06)  # fmt: skip
    assert graph.graph_attr["label"] == "numbers on arcs: exponents of no, yes"
    one = pygraphviz.AGraph(bg.pictures.to_dot(wide(5, exponents="variable")))
    assert one.graph_attr["label"] == "numbers on arcs: exponents"
    # The first digits of ends of intervals, all of them in the tooltip.
    label = graph.get_node("n1").attr["label"]
    assert "intervals, cut at" in label
    shown = re.findall(r"[\d.]+…? (?=·)", label)
    assert shown
    assert max(map(len, shown)) < 10
    assert repr(model.features_[0].cuts[0]) in graph.get_node("n1").attr["tooltip"]


@pytest.mark.slow
def test_pictures_of_many_features_have_exponents_under_their_names(tmp_path):
    caption = "class is a parent of all 60 in this box; under their names the exponents"
    # Those of the classes read the same: deviations are small.
    assert f'{caption}"' in bg.pictures.to_dot(wide(60))
    model = wide(60, exponents="class")
    text = bg.pictures.to_dot(model)
    assert f"{caption} of no, yes" in text
    assert text.count("exponent ") == 60
    assert text.count(" -> ") - text.count('[style="invis"]') == 1
    model.render(tmp_path / "m.png")
    assert (tmp_path / "m.png").read_bytes().startswith(b"\x89PNG")
    assert bg.pictures.to_dot(model, plate=False).count('label=" ') == 60


def test_numbers_of_numpy_as_parameters_are_saved(tmp_path):
    X, y = stream(200)
    X = X[["colour", "flag"]]
    options = {"max_categories": np.int64(9), "decay": np.float32(0.5)}
    model = Weighted(step=np.float32(0.25), smoothing=np.float32(2.0), **options).fit(X, y)
    model.save(tmp_path / "m.bayesgraph")
    again = bg.load(tmp_path / "m.bayesgraph")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_pictures_of_exponents_that_are_all_one_do_not_name_them():
    X, y = stream(200)
    text = bg.pictures.to_dot(bg.StreamingNaiveBayesClassifier().fit(X, y))
    assert "exponent" not in text
    assert 'label=" 1 "' not in text
    assert text.count(" -> ") == 4


@pytest.mark.parametrize("exponents", ["mixed", "class", "variable"])
def test_pgmpy_takes_the_powered_tables(exponents):
    pytest.importorskip("pgmpy")
    from pgmpy.inference import VariableElimination

    X, y = stream(400)
    model = Weighted(exponents, discretizer="modl").fit(X, y)
    graph = bg.FactorGraph.of(model.network_)
    with pytest.warns(LossyExportWarning, match="exponent"):
        peer = VariableElimination(bg.files.to_pgmpy(graph))
    states = {v.name: v for v in model.features_}
    for row in X.dropna()[:5].to_dict("records"):
        known = {n: states[n].states[states[n].index(v)] for n, v in row.items()}
        found = peer.query(["class"], evidence=known, show_progress=False)
        found = found.normalize(inplace=False)  # a product of powers does not sum to one
        expected = model.query(evidence=row)
        for state in "abc":
            assert found.get_value(**{"class": state}) == pytest.approx(expected[state], rel=1e-9)


@pytest.mark.one_in(3)
@every
def test_the_network_and_its_factor_graph_are_saved_too(estimator, tmp_path):
    X, y = stream(300)
    network = estimator().fit(X, y).network_
    for model in (network, bg.FactorGraph.of(network)):
        model.save(tmp_path / "n.bayesgraph")
        assert bg.load(tmp_path / "n.bayesgraph") == model


# ------------------------------------------------------------------------------- forged files

STATES = ["gk", "pid", "gaussian"]


def saved(summary, folder):
    X, y = stream(317)
    path = folder / "model.bayesgraph"
    model = Weighted(summary=summary, size=20).partial_fit(X, y)
    assert len(model.star_.arrays()["waiting_classes"])
    model.save(path)
    bg.load(path).predict(X)
    return path


def rewritten(path, name, change):
    """Change the numbers of an array of the state."""
    with zipfile.ZipFile(path) as file:
        state = json.loads(file.read("header.json"))["model"]["stream"]["state"]["fields"]
        if name == "table":
            name = "table_0"
        at = state[name]
        group = np.load(io.BytesIO(file.read(f"{at['array']}.npy")))
    shape = at["shape"]
    array = group[at["at"] : at["at"] + math.prod(shape)].reshape(shape)
    changed = np.array(change(array.copy()))
    stream = io.BytesIO()
    np.save(stream, changed.reshape(-1))
    reference = {"array": "forged", "at": 0, "shape": list(changed.shape)}
    forged(
        path,
        lambda header: header["model"]["stream"]["state"]["fields"].update({name: reference}),
        {"forged.npy": stream.getvalue()},
    )


def put(value, at=0):
    def change(array):
        array.flat[at] = value
        return array

    return change


ARRAYS = {
    "gk": ["limits", "used", "merged", "entries"],
    "pid": ["used", "total", "edge", "count"],
    "gaussian": ["count", "centre", "square"],
}
COMMON = [
    *("numbers", "held", "totals", "clock", "waiting", "waiting_codes", "waiting_classes"),
    *("waiting_weights", "shared", "squares", "mean_shared", "own", "own_squares", "mean_own"),
    *("bias", "bias_squares", "mean_bias", "table", "states.start", "states.logs"),
    *("states.centre", "numbers.centre"),
]
NAN = [
    *("held", "totals", "clock", "waiting_weights", "shared", "squares", "mean_shared", "own"),
    *("own_squares", "mean_own", "bias", "bias_squares", "mean_bias", "table", "states.logs"),
    *("states.centre", "numbers.centre"),
]
NEGATIVE = ["numbers", "held", "totals", "clock", "waiting_classes", "waiting_weights", "squares",
            "own_squares", "bias_squares", "table", "states.start"]  # fmt: skip
HUGE = ["numbers", "waiting_codes", "waiting_classes", "states.start"]


def forgeries():
    for summary in STATES:
        own = [f"summaries.{name}" for name in ARRAYS[summary]]
        for name in own:
            if name.split(".")[1] not in ("entries", "edge", "centre"):
                yield summary, name, put(-7)
            yield summary, name, lambda array: array[:-1]
            if "used" not in name:
                yield summary, name, put(np.nan)
        if summary != "gaussian":
            yield summary, "summaries.used", put(10**6)
            yield summary, "numbers.cuts", put(np.nan)
            yield summary, "numbers.cuts", lambda array: array[::-1]
            yield summary, "numbers.start", put(10**6, 1)
            yield summary, "numbers.start", lambda array: array[::-1]
            yield summary, "numbers.logs", put(np.nan)
        else:
            yield summary, "numbers.variance", put(-1.0)
            yield summary, "numbers.mean", put(np.inf)
    for name in COMMON:
        yield "pid", name, lambda array: array[:-1]
    for name in NAN:
        yield "pid", name, put(np.nan)
    for name in NEGATIVE:
        yield "pid", name, put(-3)
    for name in HUGE:
        yield "pid", name, put(2**40)
    yield "gk", "summaries.entries", lambda array: -array
    yield "gk", "summaries.entries", put(10.0, 1)  # a value is below the least that it stands for
    yield "gk", "summaries.entries", put(-1.0, 2)
    yield "pid", "summaries.edge", lambda array: -array
    yield "pid", "waiting", put(np.inf)
    yield "gk", "summaries.limits", put(1e12)


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    return {s: saved(s, tmp_path_factory.mktemp(s)).read_bytes() for s in STATES}


@pytest.mark.slow
def test_forged_arrays_are_refused(originals, tmp_path):
    path = tmp_path / "model.bayesgraph"
    for summary, name, change in forgeries():
        path.write_bytes(originals[summary])
        rewritten(path, name, change)
        with pytest.raises(FileFormatError):
            print(summary, name, bg.load(path))  # noqa: T201 - tells which one was taken


def vocabulary(model):
    """Return the values of the first column of states."""
    return next(iter(model["vocabularies"]["fields"].values()))


HEADERS = {
    "another estimator": lambda m: m.update(estimator="Any"),
    "the other estimator": lambda m: m.update(estimator="StreamingNaiveBayesClassifier"),
    "a class less": lambda m: m["classes"].pop(),
    "a class twice": lambda m: m.update(classes=["a", "a", "b"]),
    "labels of another type": lambda m: m.update(label_type="<i8"),
    "a column less": lambda m: m["layout"]["Layout"]["columns"]["tuple"].pop(),
    "a column twice": lambda m: m.update(numbers=[0, 0]),
    "a column of none": lambda m: m.update(numbers=[0, 9]),
    "a negative column": lambda m: m.update(numbers=[0, -1]),
    "no vocabularies": lambda m: m["vocabularies"]["fields"].clear(),
    "a short vocabulary": lambda m: next(iter(m["vocabularies"]["fields"].values())).pop(),
    "a value twice": lambda m: vocabulary(m).append(vocabulary(m)[0]),
    "another summary": lambda m: m.update(summary="gaussian"),
    "no summary": lambda m: m.update(summary="any"),
    "settings": lambda m: m["settings"]["StreamSettings"].update(discretizer="any"),
    "a setting": lambda m: m["settings"]["StreamSettings"].update(decay="much"),
    "no alpha": lambda m: m["settings"]["StreamSettings"].update(smoothing=0),
    "another setting": lambda m: m["settings"]["StreamSettings"].update(more=1.0),
    "an array less": lambda m: m["state"]["fields"].pop("clock"),
    "an array more": lambda m: m["state"]["fields"].update(
        {"numbers.any": m["state"]["fields"]["clock"]}
    ),
    "a table less": lambda m: m["state"]["fields"].pop("table_1"),
    "no densities": lambda m: m["state"]["fields"].pop("states.logs"),
    "another shape": lambda m: m["state"]["fields"]["own"].update(shape=[4, 3]),
    "beyond the end": lambda m: m["state"]["fields"]["own"].update(at=10**9),
}


@pytest.mark.parametrize("change", HEADERS.values(), ids=HEADERS)
def test_forged_headers_are_refused(change, originals, tmp_path):
    path = tmp_path / "model.bayesgraph"
    path.write_bytes(originals["gk"])
    forged(path, lambda header: change(header["model"]["stream"]))
    with pytest.raises(FileFormatError):
        bg.load(path)


def test_a_damaged_file_is_refused(originals, tmp_path):
    path = tmp_path / "model.bayesgraph"
    content = originals["gk"]
    for damaged in (content[:-100], content[:5000] + b"x" + content[5001:], b"PK"):
        path.write_bytes(damaged)
        with pytest.raises(FileFormatError):
            bg.load(path)


def test_the_header_is_json_without_state(originals):
    with zipfile.ZipFile(io.BytesIO(originals["pid"])) as file:
        header = json.loads(file.read("header.json"))
    assert header["kind"] == "stream"
    assert vocabulary(header["model"]["stream"])
