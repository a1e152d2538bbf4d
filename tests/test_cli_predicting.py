"""Predictions and evaluations on the command line."""

import pytest

from bayesgraph.cli import main

ROWS = "a,b,y\n" + "".join(f"{'xyz'[i % 3]},{'pq'[i % 2]},{'ns'[i % 3 > 0]}\n" for i in range(60))


@pytest.fixture
def run(capfd):
    def run(*arguments):
        with pytest.raises(SystemExit) as stopped:
            main([str(argument) for argument in arguments])
        out, err = capfd.readouterr()
        return stopped.value.code, out, err

    return run


@pytest.fixture
def model(run, tmp_path):
    (tmp_path / "rows.csv").write_text(ROWS)
    path = tmp_path / "m.bayesgraph"
    fit = ("fit", tmp_path / "rows.csv", "--target", "y", "--model", "nb", "--no-check-columns")
    assert run(*fit, "-o", path)[0] == 0
    return path


@pytest.mark.filterwarnings("always:Values that the model never saw")
class TestUnseenValues:
    @pytest.fixture
    def new(self, tmp_path):
        path = tmp_path / "new.csv"
        path.write_text("a,b\nx,p\noops,q\n,q\nother,q\n")
        return path

    def test_are_told_once_on_standard_error(self, run, model, new):
        code, out, err = run("predict", model, new)
        assert code == 0
        assert len(out.splitlines()) == 5
        (line,) = err.splitlines()
        assert line.startswith("bayesgraph: warning: Values that the model never saw")
        assert "--unseen" in line
        assert "'a' in 2 of 4 rows, such as 'oops', 'other'" in line or "'other', 'oops'" in line

    def test_are_told_of_a_folder_too(self, run, model, new, tmp_path):
        (tmp_path / "many").mkdir()
        new.rename(tmp_path / "many" / "new.csv")
        _, _, err = run("predict", model, tmp_path / "many", "-o", tmp_path / "found.csv")
        assert err.count("never saw") == 1

    def test_the_option_says_otherwise(self, run, model, new):
        assert run("predict", model, new, "--unseen", "missing")[2] == ""
        code, _, err = run("predict", model, new, "--unseen", "error")
        assert code == 2
        assert "oops" in err
        code, _, err = run("predict", model, new, "--unseen", "drop")
        assert (code, "one of 'warn', 'missing', 'error'; got 'drop'" in err) == (2, True)
        code, _, err = run("predict", model, new, "--unseen", "missing", "--target", "a")
        assert (code, "a network" in err) == (2, True)
