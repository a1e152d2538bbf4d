"""Standard input and output in the place of files, and the line that says how far a command is."""

import io
import sys
import threading

import pytest

import bayesgraph as bg
from bayesgraph.cli import progress
from bayesgraph.cli.entry import main
from bayesgraph.tables import reading as tables

ROWS = b"id,u,v,y\n" + b"".join(b"%d,%d,%c,%s\n" % (i, i % 7, 97 + i % 3, (b"no", b"yes")[i % 2])
                               for i in range(60))  # fmt: skip


class Bytes(io.TextIOWrapper):
    """A stream of text whose bytes can be read or were written; a terminal if it is said to be."""

    def __init__(self, data=b"", *, terminal=False):
        super().__init__(io.BytesIO(data), encoding="utf-8", write_through=True)
        self.terminal = terminal

    def isatty(self):
        return self.terminal

    @property
    def bytes(self):
        return self.buffer.getvalue()


@pytest.fixture
def piped(monkeypatch):
    """Return a function that runs a command with standard input; exit code, output, errors."""

    def run(*arguments, given=b"", terminal=False):
        streams = Bytes(given), Bytes(terminal=terminal), Bytes()
        for name, stream in zip(("stdin", "stdout", "stderr"), streams, strict=True):
            monkeypatch.setattr(sys, name, stream)
        with pytest.raises(SystemExit) as stopped:
            main([str(argument) for argument in arguments])
        return stopped.value.code, streams[1].bytes, streams[2].bytes.decode()

    return run


@pytest.fixture
def network():
    rain, wet = bg.Discrete("rain", ["no", "yes"]), bg.Discrete("wet", ["dry", "wet"])
    return bg.BayesianNetwork(
        [bg.TableCPD(rain, [0.8, 0.2]), bg.TableCPD(wet, [[0.9, 0.1], [0.2, 0.8]], [rain])]
    )


def test_a_model_goes_from_command_to_command(piped, tmp_path):
    fit = ("fit", "-", "--target", "y", "--model", "nb", "--drop", "id", "-o")
    code, model, err = piped(*fit, "-", given=ROWS)
    assert (code, err.endswith("saved to standard output\n")) == (0, True)
    saved = tmp_path / "m.bayesgraph"
    assert piped(*fit, saved, given=ROWS)[0] == 0
    assert saved.read_bytes() == model
    assert piped("query", "-", given=model) == piped("query", saved)
    assert piped("show", "-", given=model)[1].startswith(b"BayesianNetwork")
    assert piped("update", "-", saved, given=model)[0] == 2  # no table
    (tmp_path / "rows.csv").write_bytes(ROWS)
    code, updated, _ = piped("update", "-", tmp_path / "rows.csv", "-o", "-", given=model)
    assert code == 0
    assert piped("merge", "-", saved, "-o", "-", given=model)[1] == updated
    assert piped("predict", saved, "-", given=ROWS)[1].startswith(b'"y","P(y=no)"')
    code, _, err = piped("predict", "-", "-", given=ROWS)
    assert (code, "Standard input is read once" in err) == (2, True)


def test_other_formats_are_named(piped, tmp_path, network):
    network.save(tmp_path / "n.bif")
    text = (tmp_path / "n.bif").read_bytes()
    code, xdsl, err = piped("convert", "bif:-", "xdsl:-", given=text)
    assert (code, err) == (0, "bif:- written to standard output\n")
    assert xdsl.startswith(b"<?xml")
    (tmp_path / "n.xdsl").write_bytes(xdsl)
    assert bg.load(tmp_path / "n.xdsl") == network
    code, out, _ = piped("query", "xdsl:-", "--target", "rain", given=xdsl)
    assert (code, out) == (0, f"{network.query('rain')!r}\n".encode())
    assert piped("render", "bif:-", "-o", "-", given=text)[1].startswith(b"<?xml")
    assert piped("render", "bif:-", "-o", "dot:-", given=text)[1].startswith(b"digraph")
    code, out, _ = piped("sample", "bif:-", "-n", "3", "-o", "tsv:-", given=text)
    assert (code, len(out.splitlines()), b"\t" in out) == (0, 4, True)
    code, _, err = piped("query", "bif:-", "--target", "rain", given=b"nonsense")
    assert code == 2
    assert err.startswith("bayesgraph: bif:-")
    assert piped("query", "bof:-", given=b"x")[0] == 2


def test_a_terminal_gets_rounded_numbers_and_no_bytes(piped, tmp_path, network):
    network.save(tmp_path / "n.bayesgraph")
    saved, rows = tmp_path / "n.bayesgraph", tmp_path / "rows.csv"
    rows.write_text("wet\nwet\ndry\n")
    predict = ("predict", saved, rows, "--target", "rain")
    expected = network.query_rows("rain", {"wet": ["wet", "dry"]})
    shown = piped(*predict, terminal=True)[1].decode().splitlines()
    whole = piped(*predict)[1].decode().splitlines()
    assert shown[1] == f'"yes",{expected[0, 0]:.4f},{expected[0, 1]:.4f}'
    assert whole[1] == '"yes",{!r},{!r}'.format(*expected[0].tolist())
    code, out, err = piped("convert", saved, "-", terminal=True)
    assert (code, out) == (2, b"")
    assert "is a terminal" in err


def test_columns_are_kept(piped, tmp_path):
    saved, rows = tmp_path / "m.bayesgraph", tmp_path / "rows.csv"
    rows.write_bytes(ROWS)
    fit = ("fit", rows, "--target", "y", "--model", "nb", "--drop", "id", "-o", saved)
    assert piped(*fit)[0] == 0
    heads = {
        (): '"y","P(y=no)","P(y=yes)"',
        ("--keep", "id"): '"id","y","P(y=no)","P(y=yes)"',
        ("--keep", "all"): '"id","u","v","y","predicted y","P(y=no)","P(y=yes)"',
        ("--target", "v", "--keep", "id"): '"id","v","P(v=a)","P(v=b)","P(v=c)"',
    }
    for options, head in heads.items():
        code, out, err = piped("predict", saved, rows, *options)
        assert (code, err, out.decode().splitlines()[0]) == (0, "", head)
    _, predictions, _ = piped("predict", saved, rows, "--keep", "all")
    (tmp_path / "again.csv").write_bytes(predictions)
    _, again, _ = piped("predict", saved, tmp_path / "again.csv", "--keep", "predicted y")
    assert again.startswith(b'"predicted y","y",')
    _, again, _ = piped("predict", saved, tmp_path / "again.csv", "--keep", "all")
    assert b',"predicted y","P(y=no)","P(y=yes)","predicted predicted y",' in again
    code, _, err = piped("predict", saved, rows, "--keep", "ids")
    assert (code, "Did you mean 'id'?" in err) == (2, True)
    (tmp_path / "many").mkdir()
    tables.write_table(
        tables.read_table(rows).drop_columns("y").to_pydict(), tmp_path / "many/a.csv"
    )
    found = tmp_path / "found.csv"
    assert piped("predict", saved, tmp_path / "many", "--keep", "id", "-o", found)[0] == 0
    assert found.read_text().startswith('"id","y",')
    code, out, _ = piped("predict", saved, tmp_path / "many", "--keep", "id", "-o", "-")
    assert (code, out) == (0, found.read_bytes())


def test_quiet_commands_say_nothing(piped, tmp_path, network):
    network.save(tmp_path / "n.bif")
    convert = ("convert", tmp_path / "n.bif", tmp_path / "n.bayesgraph")
    assert piped(*convert)[1].endswith(
        b"written to " + str(tmp_path / "n.bayesgraph").encode() + b"\n"
    )
    assert piped(*convert, "--quiet") == (0, b"", "")
    assert (
        piped("mpe", tmp_path / "n.bif", "--quiet")[1] == f"{network.most_probable()!r}\n".encode()
    )


def test_a_line_says_how_far_the_work_is():
    line = progress.Line(text="fitting")
    assert line.drawn(2.0, 80)[1:] == " fitting  2 s"
    line.share, line.detail = 0.25, "1,000 rows, 500/s"
    assert line.drawn(61.0, 80)[2:] == (
        "fitting  [#####...............]  25 %  1,000 rows, 500/s  61 s"
    )
    assert len(line.drawn(61.0, 30)) == 30


def test_passes_over_rows_are_counted():
    with progress.rows_read("fitting") as read:
        for done in (500, 1000, 500, 1000):
            read(done, 1000)
        assert progress.LINE.text == "fitting, pass 2"
        assert progress.LINE.share == 1.0
        assert progress.LINE.detail.startswith("1,000 rows, ")
    assert progress.LINE.share is None


@pytest.mark.parametrize("quiet", [False, True])
def test_the_line_is_drawn_on_a_terminal_and_removed(monkeypatch, tmp_path, network, quiet):
    errors, drawn, load = Bytes(terminal=True), threading.Event(), bg.files.load_saved
    monkeypatch.setattr(sys, "stderr", errors)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(progress, "DELAY", 0.0)
    monkeypatch.setattr(progress, "INTERVAL", 60.0)
    network.save(tmp_path / "n.bayesgraph")
    monkeypatch.setattr(progress.Line, "drawn", lambda *_: drawn.set() or "| mpe")

    def waiting(path):
        assert quiet or drawn.wait(60)
        return load(path)

    monkeypatch.setattr(bg.files, "load_saved", waiting)
    with pytest.raises(SystemExit):
        main(["mpe", str(tmp_path / "n.bayesgraph"), *["--quiet"] * quiet])
    assert errors.bytes.decode() == ("" if quiet else "\r\033[K| mpe\r\033[K")
