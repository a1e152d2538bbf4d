"""Predictions and evaluations on the command line."""

import os

import pytest

from bayesgraph.cli.entry import main

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

    def test_the_option_goes_with_other_targets_too(self, run, model, new):
        code, _, err = run("predict", model, new, "--target", "b")
        assert (code, "'oops'" in err) == (2, True)
        code, out, err = run("predict", model, new, "--unseen", "missing", "--target", "b")
        assert (code, err, len(out.splitlines())) == (0, "", 5)
        _, told, err = run("predict", model, new, "--unseen", "warn", "--target", "b")
        assert told == out
        assert "'a' in 2 of 4 rows" in err


class TestEvaluate:
    @pytest.fixture
    def evaluate(self, run, tmp_path):
        path = tmp_path / "rows.csv"
        path.write_text(ROWS)
        fixed = ("evaluate", path, "--target", "y", "--model", "nb", "--cv", "2")
        return lambda *given: run(*fixed, *given)

    def test_the_default_measures_fit_a_terminal(self, evaluate):
        _, out, _ = evaluate("--model", "nb:discretizer=mdlp,smoothing=m,alpha=0.5")
        heads = " ".join(out.splitlines()[1].split())
        assert heads == "model accuracy AUC log loss Brier ECE fit s parameters"
        assert max(map(len, out.splitlines())) <= 80

    def test_scoring_chooses(self, evaluate):
        _, out, _ = evaluate("--scoring", "auc,f1", "--scoring", "balanced-accuracy")
        assert out.splitlines()[1].split() == ["model", "AUC", "F1", "balanced"]
        assert "1.0000" in out.splitlines()[2]  # a tells y
        code, _, err = evaluate("--scoring", "acuracy")
        assert (code, "Did you mean 'accuracy'?" in err) == (2, True)

    def test_repeats(self, evaluate):
        code, out, _ = evaluate("--repeats", "3", "--scoring", "accuracy")
        assert code == 0
        assert out.startswith("Cross-validation, 2 folds x 3\n")
        assert "  s   0  120" in out.splitlines()  # each of 40 rows three times

    def test_what_only_fits_have_is_refused_of_saved_models(self, run, model, tmp_path):
        saved = ("evaluate", tmp_path / "rows.csv", "--target", "y", "--as-saved", "--model", model)
        for option in ("--repeats 2", "--cv 3", "--seed 1", "--drop b", "--alpha 5"):
            code, _, err = run(*saved, *option.split())
            assert (code, f"{option.split()[0]} goes with folds" in err) == (2, True)
        (tmp_path / "other").mkdir()
        other = tmp_path / "other" / model.name
        other.write_bytes(model.read_bytes())
        code, _, err = run(*saved, "--model", other)
        assert (code, "have the same file name" in err) == (2, True)
        code, out, _ = run(*saved, "--model", model)
        assert (code, out.count("\n  m ")) == (0, 1)

    @pytest.mark.filterwarnings("always:The target looks wrong")
    def test_a_target_of_many_numbers_is_told_once(self, run, tmp_path):
        rows = "".join(f"{i % 5},{i % 30 * 3}\n" for i in range(90))
        (tmp_path / "numbers.csv").write_text(f"a,y\n{rows}")
        models = ("--model", "nb", "--model", "tan", "--cv", "2")
        code, _, err = run("evaluate", tmp_path / "numbers.csv", "--target", "y", *models)
        assert code == 0
        assert err.count("30 different numbers") == 1


class TestWhatIsReadIsNotWritten:
    @pytest.fixture
    def table(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        folder = tmp_path / "folder"
        (folder / "below").mkdir(parents=True)
        (folder / "in.csv").write_text(ROWS)
        (tmp_path / "link.csv").symlink_to(folder / "in.csv")
        (tmp_path / "hard.csv").hardlink_to(folder / "in.csv")
        (tmp_path / "other").symlink_to(folder)
        return folder / "in.csv"

    @pytest.mark.parametrize(
        ("data", "output"),
        [
            ("folder/in.csv", "folder/in.csv"),
            ("folder/in.csv", "./folder/below/../in.csv"),
            ("folder/in.csv", "{}/folder/in.csv"),
            ("folder/in.csv", "link.csv"),
            ("link.csv", "folder/in.csv"),
            ("folder/in.csv", "hard.csv"),
            ("folder/in.csv", "other/in.csv"),
            ("other/in.csv", "folder/in.csv"),
            ("folder", "folder/new.csv"),
            ("folder", "other/below/new.parquet"),
            ("folder", "folder/found/"),
            ("folder", "hard.csv"),
            ("other", "folder/in.csv"),
            ("folder/*.csv", "folder/in.csv"),
            ("folder/*.csv", "link.csv"),
            ("folder/*.csv", "other/new.csv"),
            ("other/*.csv", "folder/new.csv"),
        ],
    )
    def test_by_any_path(self, run, model, table, tmp_path, data, output):
        code, out, err = run("predict", model, data, "-o", output.format(tmp_path))
        assert (code, out) == (2, "")
        assert "is read, or lies among what is read" in err
        assert [table.read_text(), *map(str, table.parent.rglob("new*"))] == [ROWS]

    @pytest.mark.parametrize(
        ("data", "output"),
        [
            ("folder/in.csv", "folder/out.csv"),
            ("folder", "out.csv"),
            ("folder/in*.csv", "out/"),
            ("folder/*.csv", "folder/below/out.csv"),
        ],
    )
    def test_beside_it_they_are(self, run, model, table, data, output):
        assert run("predict", model, data, "-o", output)[0] == 0
        assert table.read_text() == ROWS

    def test_standard_input(self, run, model, table, monkeypatch):
        before = os.dup(0)
        opened = os.open(table, os.O_RDONLY)
        try:
            os.dup2(opened, 0)
            code, _, err = run("predict", model, "-", "-o", "link.csv")
        finally:
            os.dup2(before, 0)
            os.close(before)
            os.close(opened)
        assert (code, table.read_text()) == (2, ROWS)
        assert "is read" in err

    def test_models(self, run, model, table, tmp_path):
        content = model.read_bytes()
        (tmp_path / "again.bayesgraph").symlink_to(model)
        for arguments in (
            ("merge", model, model, "-o", "again.bayesgraph"),
            ("convert", model, "./m.bayesgraph"),
            ("fit", table, "--target", "y", "--model", "m.bayesgraph", "-o", "again.bayesgraph"),
        ):
            code, out, err = run(*arguments)
            assert (code, out, "among what is read" in err) == (2, "", True)
        assert model.read_bytes() == content
        # A model of a folder of tables may lie in it, and one that learns more is replaced.
        fit = ("fit", "folder", "--target", "y", "--model", "nb", "--no-check-columns")
        assert run(*fit, "-o", "folder/m.bayesgraph")[0] == 0
        assert run("update", model, table)[0] == 0
        assert model.read_bytes() != content


@pytest.mark.parametrize("name", ["zz[1].csv", "no/*.csv"])
def test_a_missing_file_with_a_sign_of_globs_in_its_name(run, model, tmp_path, name):
    code, _, err = run("predict", model, tmp_path / name)
    assert (code, "There is no such file" in err) == (2, True)
    assert name in err
