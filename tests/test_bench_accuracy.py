"""The benchmark of accuracy: its readers, its tests of significance, its measures."""

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats
from scipy.io import arff

import bayesgraph as bg

FOLDER = Path(__file__).parents[1] / "benchmarks"
ARFF = """% a comment
@RELATION 'two words'
@attribute 'petal width' REAL
@attribute colour {red, 'dark blue', "it's, \\"odd\\"", plain}
@attribute\tn integer
@attribute class {a,b}

@data
1.5,red,3,a
% another
?, 'dark blue' ,?,b
-2e3,"it's, \\"odd\\"",0,a
0.1,?,1,'b'
0.1,plain,1,?
"""


@pytest.fixture(autouse=True)
def _benchmarks_are_found(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    yield
    for name in ("harness", "table_files", "rank_tests", "accuracy_models", "accuracy_folds"):
        sys.modules.pop(name, None)


def written(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


class TestFiles:
    def test_arff_of_every_kind(self, tmp_path):
        from table_files import read_arff

        table = read_arff(written(tmp_path, "a.arff", ARFF))
        assert table.column_names == ["petal width", "colour", "n", "class"]
        assert table.column(0).to_pylist() == [1.5, None, -2000.0, 0.1, 0.1]
        assert table.column(1).to_pylist() == ["red", "dark blue", 'it\'s, "odd"', None, "plain"]
        assert table.column(2).to_pylist() == [3, None, 0, 1, 1]
        assert table.column(3).to_pylist() == ["a", "b", "a", "b", None]

    def test_arff_as_scipy_reads_it(self, tmp_path):
        from table_files import read_arff

        text = "@relation r\n@attribute x numeric\n@attribute 'k l' {u,v}\n@data\n1,u\n?,v\n"
        path = written(tmp_path, "a.arff", text)
        ours, (theirs, _) = read_arff(path), arff.loadarff(path)
        np.testing.assert_array_equal(ours.column(0).to_numpy(), theirs["x"])
        assert ours.column(1).to_pylist() == [v.decode() for v in theirs["k l"]]

    def test_sparse_arff_leaves_out_zeros(self, tmp_path):
        from table_files import read_arff

        head = "@relation r\n@attribute x real\n@attribute y real\n@attribute c {n,p}\n@data\n"
        table = read_arff(written(tmp_path, "a.arff", head + "{1 2.5, 2 p}\n{0 ?}\n{}\n"))
        rows = zip(*table.to_pydict().values(), strict=True)
        assert list(rows) == [(0.0, 2.5, "p"), (None, 0.0, "n"), (0.0, 0.0, "n")]

    def test_arff_errors_name_the_line(self, tmp_path):
        from table_files import read_arff

        head = "@relation r\n@attribute x real\n@attribute c {n,p}\n@data\n"
        with pytest.raises(ValueError, match="line 6: expected 2 values; got 3"):
            read_arff(written(tmp_path, "a.arff", head + "1,n,{0.5}\n1,2,n\n"))
        with pytest.raises(ValueError, match=r"line 5: 'c' takes one of .*'m'"):
            read_arff(written(tmp_path, "a.arff", head + "1,m\n"))

    @pytest.mark.parametrize("suffix", [".arff", ".csv", ".parquet"])
    def test_rows_without_a_label_and_columns_without_a_value_go(self, tmp_path, suffix):
        from table_files import read_task

        path = written(tmp_path, f"small.set{suffix}", "")
        columns = {
            "x": [1.0, 2.0, None],
            "none": [None] * 3,
            "k": ["?", "u", "v"],
            "c": list("pq?"),
        }
        if suffix == ".parquet":
            columns |= {"k": [None, "u", "v"], "c": ["p", "q", None]}
            pq.write_table(pa.table(columns), path)
        elif suffix == ".csv":
            path.write_text("x,none,k,c\n1,,?,p\n2,,u,q\n,,v,?\n")
        else:
            kinds = ("x real", "none real", "k {u,v}", "c {p,q}")
            head = "".join(f"@attribute {kind}\n" for kind in kinds)
            path.write_text(f"{head}@data\n1,?,?,p\n2,?,u,q\n?,?,v,?\n")
        task = read_task(path)
        assert task.name == "small.set"
        assert task.labels.tolist() == ["p", "q"]
        assert task.features.to_pydict() == {"x": [1, 2], "k": [None, "u"]}

    def test_results_of_others_are_no_data(self, tmp_path):
        from table_files import data_files, results_files

        data = written(tmp_path, "b.csv", "x,class\n1,a\n")
        results = written(tmp_path, "a.csv", "dataset,TAN\nb,80\n")
        written(tmp_path, "README.md", "")
        assert data_files(tmp_path) == [data]
        assert results_files(tmp_path) == [results]


class TestSignificance:
    def test_ranks_and_their_test(self):
        from rank_tests import ranking

        rng = np.random.default_rng(4)
        table = rng.random((14, 4)) + np.array([0.0, 0.3, 0.1, 0.4])
        found = ranking(dict(zip("abcd", table.T, strict=True)))
        ranks = 1 + (table[:, :, None] < table[:, None, :]).sum(axis=2).mean(axis=0)
        order = np.argsort(ranks)
        assert found.names == tuple("abcd"[i] for i in order)
        np.testing.assert_allclose(found.ranks, ranks[order])
        # Iman and Davenport's F from Friedman's statistic, 14 sets and 4 classifiers.
        chi = stats.friedmanchisquare(*table.T).statistic
        assert found.p == pytest.approx(stats.f.sf(13 * chi / (14 * 3 - chi), 3, 39))
        # Demšar (2006, section 3.2.2): 1.25 for four classifiers and 14 sets.
        assert found.critical_difference == pytest.approx(1.25, abs=0.01)

    def test_sets_that_someone_lacks_are_left_out(self):
        from rank_tests import ranking

        found = ranking({"a": np.array([1.0, 2, np.nan, 5]), "b": np.array([2.0, 2, 3, 4])})
        assert found.n_sets == 3
        np.testing.assert_allclose(found.ranks, [1.5, 1.5])
        assert ranking({"a": np.array([1.0, 2.0])}) is None

    def test_stretches_do_not_lie_inside_one_another(self):
        from rank_tests import Ranking, groups

        ranks = np.array([1.0, 1.5, 2.4, 4.0, 4.5])
        assert groups(Ranking(tuple("abcde"), ranks, 9, 0.0, 1.0)) == [(0, 1), (1, 2), (3, 4)]

    def test_holm_by_hand(self):
        from rank_tests import holm

        assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])

    def test_wins_draws_and_losses(self):
        from rank_tests import match

        ours = np.array([90.0, 80.0, 70.0, np.nan, 60.0])
        theirs = np.array([89.0, 80.001, 75.0, 50.0, 50.0])
        found = match(ours, theirs)
        assert (found.n, found.wins, found.draws, found.losses) == (4, 2, 1, 1)
        assert match(ours, theirs, sign=-1).wins == 1
        assert match(ours, ours).p == 1.0


@pytest.mark.slow
def test_measures_equal_those_of_cross_validation(tmp_path):
    from accuracy_folds import Job, run
    from accuracy_report import measures
    from table_files import bundled_tasks

    task = bundled_tasks()[0]
    path = tmp_path / "iris.parquet"
    pq.write_table(task.features.append_column("class", pa.array(task.labels)), path)
    jobs = [Job("iris", path, "nb", None, fold, 4) for fold in range(4)]
    (found,) = measures(map(run, jobs), 4)
    X = task.features.to_pandas().to_numpy()
    (same,) = bg.evaluate(bg.NaiveBayesClassifier(), X, task.labels, cv=4, random_state=1)
    assert found.accuracy == pytest.approx(100 * np.mean(same.y_pred == same.y_true))
    assert found.log_loss == pytest.approx(same.log_loss)
    assert found.rmse == pytest.approx(np.sqrt(same.brier / 3))
