"""Every command with every kind of saved model: an answer, or one line that says why not."""

import pyarrow as pa
import pytest
from cases import CLASSIFIERS, fit, make_data
from golden_models import MODELS

import bayesgraph as bg
from bayesgraph.cli import main
from bayesgraph.io import tables

# Some formats leave out what others hold.
pytestmark = pytest.mark.filterwarnings("ignore")

COMMANDS = {
    "show": ("show", "{model}"),
    "query": ("query", "{model}"),
    "query all": ("query", "{model}", "--all"),
    "query unknown": ("query", "{model}", "--target", "no such name"),
    "render": ("render", "{model}", "-o", "{tmp}/a.dot"),
    "convert": ("convert", "{model}", "{tmp}/a.bayesgraph"),
    "convert to BIF": ("convert", "{model}", "{tmp}/a.bif"),
    "convert to UAI": ("convert", "{model}", "{tmp}/a.uai"),
    "predict": ("predict", "{model}", "{table}"),
    "predict another": ("predict", "{model}", "{other}"),
    "update": ("update", "{model}", "{table}", "-o", "{tmp}/b.bayesgraph"),
    "update by another": ("update", "{model}", "{other}"),
    "fit": ("fit", "{model}", "--target", "a", "-o", "{tmp}/c.bayesgraph"),
    "evaluate": ("evaluate", "{model}", "--target", "a"),
}
ANSWERED = {"show", "render", "convert"}


def outcomes(capfd, tmp_path, model, table):
    """Return the exit code of each command; errors are checked to be one line each."""
    saved, given, other = (tmp_path / name for name in ("m.bayesgraph", "t.parquet", "o.csv"))
    model.save(saved)
    tables.write_table(table, given)
    other.write_text("some,other,class\n1,2,x\n")
    places = {"model": saved, "tmp": tmp_path, "table": given, "other": other}
    codes = {}
    for name, command in COMMANDS.items():
        with pytest.raises(SystemExit) as stopped:
            main([argument.format(**places) for argument in command])
        err = capfd.readouterr().err
        codes[name] = stopped.value.code
        assert codes[name] in (0, 2)
        assert err.count("\n") == (codes[name] == 2), (name, err)
        assert "BAYESGRAPH_TRACEBACK" not in err, (name, err)
    return codes


def refused(codes):
    return {name for name, code in codes.items() if code}


@pytest.mark.one_in(9)
@pytest.mark.parametrize("name", MODELS)
def test_models(capfd, tmp_path, name):
    codes = outcomes(capfd, tmp_path, MODELS[name].make(), {"a": ["x", "y"], "b": [1, 2]})
    assert not refused(codes) & ANSWERED
    assert {"predict", "update", "fit", "evaluate"} <= refused(codes)


@pytest.mark.one_in(18)
@pytest.mark.parametrize("case", CLASSIFIERS, ids=str)
def test_classifiers(capfd, tmp_path, case):
    data = make_data(case.kinds[0], 40)
    table = dict(data.columns, **{"class": data.y.tolist()})
    codes = outcomes(capfd, tmp_path, fit(case, data), table)
    assert not refused(codes) & (ANSWERED | {"predict"})


def test_a_regressor_predicts_numbers(capfd, tmp_path):
    X = pa.table({"u": [float(i % 7) for i in range(60)], "v": [float(i % 5) for i in range(60)]})
    regressor = bg.DecisionTreeNetworkRegressor().fit(X, X["u"].to_numpy() ** 2)
    codes = outcomes(capfd, tmp_path, regressor, {n: X[n].to_pylist() for n in X.column_names})
    assert not refused(codes) & (ANSWERED | {"predict"})
    with pytest.raises(SystemExit):
        main(["predict", str(tmp_path / "m.bayesgraph"), str(tmp_path / "t.parquet")])
    lines = capfd.readouterr().out.splitlines()
    assert lines[0] == '"target","std(target)"'
    means, deviations = regressor.predict(X, return_std=True)
    assert [float(line.split(",")[0]) for line in lines[1:]] == means.tolist()
    assert [float(line.split(",")[1]) for line in lines[1:]] == deviations.tolist()
