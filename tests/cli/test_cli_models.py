"""Every command with every kind of saved file: an answer, or one line that says why not.

The commands are those that there are, and so are kinds, estimators and formats: nothing is listed
here a second time but what the parameters of commands stand for.
"""

import functools
import json
import tempfile
import webbrowser

import pyarrow as pa
import pytest
import r_files
import typer
from cases import CLASSIFIERS, fit, make_data
from golden_models import MODELS
from network_files import chest_clinic

import bayesgraph as bg
from bayesgraph.cli.entry import _command, main
from bayesgraph.files import FORMATS, native
from bayesgraph.tables import reading as tables

# Some formats leave out what others hold.
pytestmark = pytest.mark.filterwarnings("ignore")

# What the parameters of commands stand for: those that are needed, and some that are not.
NEEDED = {
    "model": ["{model}"],
    "source": ["{model}"],
    "before": ["{model}"],
    "after": ["{model}"],
    "parts": ["{model}", "{model}"],
    "data": ["{table}"],
    "destination": ["{tmp}/a.dot"],
    "target": ["--target", "{class}"],
    "output": ["--output", "{tmp}/a.bayesgraph"],
}
CHOSEN = {
    "target": ["--target", "{name}"],
    "evidence": ["-e", "{evidence}"],
    "set_": ["--set", "{evidence}"],
    "everything": ["--all"],
    "beliefs": ["--beliefs"],
    "by": ["--by", "findings"],
    "rows": ["--rows", "{table}"],
    "count": ["-k", "2"],
    "n": ["-n", "3"],
    "keep": ["--keep", "all"],
}
# Written elsewhere than other commands do.
OUTPUTS = {
    "render": ["--output", "{tmp}/a.dot"],
    "sample": ["--output", "{tmp}/a.csv"],
    "predict": ["--output", "{tmp}/a.parquet"],
    "tornado": ["--output", "{tmp}/a.svg"],
    "diff": ["--output", "{tmp}/a.html"],
}
# Variants that no parameter alone makes.
MORE = {
    "query of no variable": ("query", "{model}", "--target", "no such name"),
    "a page": ("render", "{model}", "-o", "{tmp}/a.html"),
    "convert to BIF": ("convert", "{model}", "{tmp}/a.bif"),
    "convert to UAI, lossy": ("convert", "{model}", "{tmp}/a.uai", "--lossy", "--report"),
    "convert to the native format": ("convert", "{model}", "{tmp}/a.bayesgraph"),
    "predict another": ("predict", "{model}", "{other}"),
    "update by another": ("update", "{model}", "{other}", "-o", "{tmp}/c.bayesgraph"),
    "fit a model": ("fit", "{model}", "--target", "a", "-o", "{tmp}/c.bayesgraph"),
    "fit like it": (
        *("fit", "{other}", "--target", "class", "-o", "{tmp}/c.bayesgraph"),
        *("--model", "{model}"),
    ),
    "test it": ("evaluate", "{table}", "--target", "{class}", "--as-saved", "--model", "{model}"),
}
# Commands without a model.
WITHOUT = {"warm-up", "fit", "learn", "evaluate"}


@functools.cache
def commands():
    """Return the commands to run: each with what it needs, with single options, and with all."""
    found = dict(MORE)
    for name, command in _command().commands.items():
        if name in WITHOUT:
            continue
        parameters = command.get_params(typer.Context(command))
        options = {p.name for p in parameters}
        needed = [p.name for p in parameters if p.required]
        assert {*needed} <= {*NEEDED}, f"Say above what {needed} of {name!r} stand for."
        base = [name]
        for parameter in needed:
            at = OUTPUTS if parameter == "output" and name in OUTPUTS else {name: NEEDED[parameter]}
            base += at[name]
        found[name] = tuple(base)
        chosen = {o: CHOSEN[o] for o in sorted(options - {*needed}) if o in CHOSEN}
        for option, given in chosen.items():
            found[f"{name} with {option}"] = (*base, *given)
        usual = [text for o in chosen if o != "everything" for text in chosen[o]]
        written = OUTPUTS.get(name, []) if "output" in options - {*needed} else []
        found[f"{name} with all"] = (*base, *usual, *written)
    return found


def outcomes(capfd, tmp_path, saved, table, places, chosen=None):
    """Return the exit code of each command; errors are checked to be one line each."""
    given, other = (tmp_path / name for name in ("t.parquet", "o.csv"))
    tables.write_table(table, given)
    other.write_text("some,other,class\n" + "1,2,x\n3,1,y\n" * 4)
    places = {"model": saved, "tmp": tmp_path, "table": given, "other": other, **places}
    codes = {}
    for name, command in (chosen or commands()).items():
        with pytest.raises(SystemExit) as stopped:
            main([argument.format(**places) for argument in command])
        err = capfd.readouterr().err
        codes[name] = stopped.value.code
        assert codes[name] in (0, 2), name
        lines = [line for line in err.splitlines() if " is left out: " not in line]
        assert len(lines) == (codes[name] == 2), (name, err)
        assert "BAYESGRAPH_TRACEBACK" not in err, (name, err)
    return codes


def refused(codes):
    return {name for name, code in codes.items() if code}


def questions(model):
    """Return the name of a variable and evidence on another, as texts."""
    first, *_, last = [*model.variables, *model.variables]
    value = first.states[0] if isinstance(first, bg.Discrete) else 1
    return {"name": last.name, "evidence": f"{first.name}={value}", "class": last.name}


@pytest.fixture
def run(capfd, tmp_path, monkeypatch):
    monkeypatch.setattr(webbrowser, "open", lambda _: True)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def run(model, table, chosen=None, saved=None):
        if saved is None:
            saved = tmp_path / "m.bayesgraph"
            model.save(saved)
        asked = getattr(model, "network_", model)
        places = questions(asked) if hasattr(asked, "variables") else {}
        places = {"name": "a", "evidence": "a=x", "class": "a"} | places
        if hasattr(model, "target_"):
            places["class"] = model.target_.name
        return outcomes(capfd, tmp_path, saved, table, places, chosen)

    return run


# What every model answers.
ANSWERED = {"show", "render", "convert", "convert to the native format"}


@pytest.mark.one_in(18)
@pytest.mark.parametrize("name", MODELS)
def test_models(run, name):
    codes = run(MODELS[name].make(), {"a": ["x", "y"], "b": [1, 2]})
    assert not refused(codes) & ANSWERED
    assert {"update", "fit a model", "fit like it", "test it"} <= refused(codes)


@pytest.mark.one_in(36)
@pytest.mark.parametrize("case", CLASSIFIERS, ids=str)
def test_classifiers(run, case):
    data = make_data(case.kinds[0], 40)
    table = dict(data.columns, **{"class": data.y.tolist()})
    codes = run(fit(case, data), table)
    assert not refused(codes) & (ANSWERED | {"predict", "predict with keep", "test it"})


def heart(n=60):
    return pa.table(
        {
            "u": [float(i % 7) for i in range(n)],
            "v": ["p", "q", "r"] * (n // 3),
            "class": [i % 7 > 3 for i in range(n)],
        }
    )


def regressor():
    X = heart().select(["u", "v"])
    return bg.DecisionTreeNetworkRegressor().fit(X, X["u"].to_numpy() ** 2)


def classifier():
    return bg.NaiveBayesClassifier().fit(heart().select(["u", "v"]), heart()["class"])


# Examples of kinds that no list of models has.
KINDS = {
    "a regressor": regressor,
    "a classifier": classifier,
    "statistics": lambda: classifier().collected_,
    "a stream": lambda: bg.StreamingNaiveBayesClassifier().fit(
        heart().select(["u", "v"]), heart()["class"]
    ),
    "an average": lambda: (
        bg.BayesianNetworkClassifier(n_trees=3)
        .fit(heart().select(["u", "v"]), heart()["class"])
        .network_
    ),
    "a temporal network": lambda: bg.TemporalNetwork.fit(
        [(bg.before("class"), "class")], heart().select(["class"])
    ),
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("kind", ["a regressor", "statistics"])
def test_other_kinds(run, kind):
    codes = run(KINDS[kind](), heart().to_pydict())
    if kind == "statistics":
        # They are no model yet, from which questions could be answered.
        assert {name for name in codes if name not in refused(codes)} == {
            *("info", "info with all", "merge", "merge with all", "convert to the native format")
        }
    else:
        assert not refused(codes) & (ANSWERED | {"predict"})


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_all_other_kinds(run, kind):
    run(KINDS[kind](), heart().to_pydict())


def test_every_kind_of_native_files_is_tried():
    makers = [*KINDS.values(), *(made.make for made in MODELS.values())]
    waiting = dict.fromkeys(native.KINDS)
    for make in makers:
        made = make()
        for kind in list(waiting):
            if native.tag_of(made) == kind:
                del waiting[kind]
    assert not waiting


def saved_as(suffix, folder):
    """Return a file of a format, and its model."""
    path = folder / f"m{suffix}"
    network = chest_clinic()
    card = bg.files.format_of(path)
    if suffix == ".json":
        network = bg.BayesianNetwork([bg.GaussianCPD(bg.Continuous("A"), 1.0, 4.0)])
        node = {"parents": [], "coefficients": {"(Intercept)": [1.0]}, "variance": [4.0]}
        path.write_text(json.dumps({"nodes": ["A"], "arcs": [], "cpds": {"A": node}}))
        assert bg.load(path) == network
    elif card.format is None:
        pytest.importorskip("rdata")
        content = r_files.fit(network)
        whole = r_files.rds(content) if suffix == ".rds" else r_files.rda({"net": content})
        path.write_bytes(whole)
    else:
        network.save(path, **({"strict": False} if card.is_strict else {}))
    return path, network


@pytest.mark.one_in(36)
@pytest.mark.parametrize("suffix", FORMATS)
def test_formats(run, tmp_path, suffix):
    path, network = saved_as(suffix, tmp_path)
    codes = run(network, {"A": ["yes", "no"], "T": ["no", "no"]}, saved=path)
    assert not refused(codes) & (ANSWERED | {"query with everything", "sample"})


@pytest.mark.slow
@pytest.mark.parametrize("suffix", FORMATS)
def test_every_format_becomes_every_other(run, tmp_path, suffix):
    path, network = saved_as(suffix, tmp_path)
    chosen = {
        other: ("convert", "{model}", f"{{tmp}}/other{other}", *lossy)
        for other in FORMATS
        for lossy in ((), ("--lossy",))
    }
    codes = run(network, {"a": ["x"]}, chosen, path)
    assert not codes[".bayesgraph"]


def test_a_regressor_predicts_numbers(capfd, tmp_path):
    X = heart().select(["u", "v"])
    found = regressor()
    found.save(tmp_path / "m.bayesgraph")
    tables.write_table(X.to_pydict(), tmp_path / "t.parquet")
    with pytest.raises(SystemExit):
        main(["predict", str(tmp_path / "m.bayesgraph"), str(tmp_path / "t.parquet")])
    lines = capfd.readouterr().out.splitlines()
    assert lines[0] == '"target","std(target)"'
    means, deviations = found.predict(X, return_std=True)
    assert [float(line.split(",")[0]) for line in lines[1:]] == means.tolist()
    assert [float(line.split(",")[1]) for line in lines[1:]] == deviations.tolist()
