"""What compares two runs of benchmarks."""

import json

import compare
import pytest


def line(case, ours, ratio, metric="fit"):
    peer = None if ratio is None else ours and ours * ratio
    row = {"case": case, "metric": metric, "ours": ours, "peer": peer, "ratio": ratio}
    return json.dumps(row | {"peer_name": "peer"})


@pytest.fixture
def told(tmp_path, capsys):
    """Return a function that compares lines: the exit code and what is printed."""

    def run(old, new, *options):
        for name, lines in (("old", old), ("new", new)):
            (tmp_path / name).write_text("\n".join(lines) + "\n")
        code = compare.main([str(tmp_path / "old"), str(tmp_path / "new"), *options])
        return code, capsys.readouterr().out.splitlines()

    return run


def test_rows_are_compared_relative_to_the_peer(told):
    old = [line("a", 1.0, 4.0), line("b", 1.0, 4.0), line("c", 1.0, None), line("d", 1.0, 2.0)]
    # The machine is slower by 3, and so is a; b really is; c has no peer; d is missing.
    new = [line("a", 3.0, 4.0), line("b", 6.0, 2.0), line("c", 1.5, None)]
    code, lines = told(old, new)
    assert code == 1
    assert [text.split()[:2] for text in lines[:-1]] == [["2.00", "b"], ["1.50", "c"]]
    assert lines[-1] == (
        "2 of 3 rows are slower by 1.15 or more; geometric mean 1.442; 1 rows are in one file only."
    )


def test_nothing_slower(told):
    code, lines = told([line("a", 1.0, 4.0)], [line("a", 1.0, 4.4)])
    assert code == 0
    assert len(lines) == 1
    code, lines = told([line("a", 1.0, 4.0)], [line("a", 1.0, 4.4)], "--all")
    assert lines[0].split() == ["0.91", "a", "fit", "(beside", "peer)"]


def test_what_was_not_measured_is_left_out(told):
    code, lines = told([line("a", None, None)], [line("a", 1.0, 4.0)])
    assert (code, lines) == (2, ["The files have no row in common."])
