"""Netica's DNE: files as several programs write them, what is refused, what is written."""

from __future__ import annotations

import gzip
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from network_files import assert_same_bits, chest_clinic, repository

import bayesgraph as bg
from bayesgraph.core.errors import BayesGraphWarning, FileFormatError, LossyExportError
from bayesgraph.files.dne import format_dne, parse_dne

# Files as programs write them, made after Netica's manual and after what public files look like.
NETICA = r"""// ~->[DNET-1]->~

// File created by Somebody using Netica 6.05 on Jun 03, 2023 at 03:09:37 UTC.

bnet Fuel_gauge {
AutoCompile = TRUE;
autoupdate = TRUE;
whenchanged = 1685761750;
comment = "A gauge;\n\
	of fuel {1}";

visual V1 {
	defdispform = BELIEFBARS;
	nodelabeling = TITLE;
	nodefont = font {shape= "Arial"; size= 9;};
	windowposn = (26, 26, 1002, 383);
	NodeSet Node {BuiltIn = 1; Color = 0x00e1e1e1;};
	PrinterSetting A {
		margins = (1270, 1270, 1270, 1270);
		};
	};

node Battery {
	kind = NATURE;
	discrete = TRUE;
	chance = CHANCE;
	states = (Good, Dead);
	parents = ();
	probs =
		// Good         Dead
          (0.9,         0.1);
	title = "State of the \"battery\"";
	whenchanged = 1086993631;
	belief = (0.9, 0.1);
	visual V1 {
		center = (132, 54);
		height = 7;
		};
	};

node Fuel {
	kind = NATURE;
	discrete = TRUE;
	chance = CHANCE;
	states = (Full, Empty);
	parents = ();
	probs = (0.9, 0.1);
	numcases = 1;
	visual V1 {
		center = (240.5, 54);
		dispform = BELIEFBARS;
		};
	};

node Gauge {
	kind = NATURE;
	discrete = TRUE;
	chance = CHANCE;
	states = (High, Low);
	parents = (Battery, Fuel);
	probs =
		//  High         Low            // Battery Fuel
		(((0.8,         0.2),          // Good    Full
          (0.2,         0.8)),         // Good    Empty
         ((0.2,         0.8),          // Dead    Full
          (0.1,         0.9)));        // Dead    Empty ;
	numcases =
		// Battery Fuel
		((3802,   // Good    Full
          1),     // Good    Empty
         (1, 1));
	comment = "Of fuel; not of /* electricity */ // at all";
	whenchanged = 1086993659;
	belief = (0.6714, 0.3286);
	};

node TITLE1 {
	kind = CONSTANT;
	discrete = FALSE;
	parents = ();
	title = "A gauge";
	visual V1 {
		center = (816, 66);
		font = font {shape= "Times New Roman"; size= 18;};
		};
	};
ElimOrder = (Battery, Fuel, Gauge);
};
"""
OLD_NETICA = """bnet Old {
node A { kind = NATURE; discrete = TRUE; chance = CHANCE; states = (a0, a1, a2);
	probs = (0.25, 0.5, 0.25); };
node B { kind = NATURE; states = (yes, no); parents = (A);
	probs = (0.125, 0.875,	// a0
         1, 0,		// a1
         @imposs, @imposs);	// a2
	};
node C { kind = NATURE; states = (yes, no); parents = (A, B);
	probs = (((#0), (#1)), ((0.5, 0.5), (@impossible, @impossible)), ((#0), (#1))); };
};
"""
FUNCTIONS = """bnet Functions {
node Fault { kind = NATURE; discrete = TRUE; states = (cold, hot, broken);
	probs = (0.5, 0.25, 0.25); };
node Switch { kind = NATURE; discrete = TRUE; states = (off, on); probs = (0.5, 0.5); };
node Alarm {
	kind = NATURE;
	discrete = TRUE;
	chance = DETERMIN;
	states = (Absent, Present);
	parents = (Fault, Switch);
	functable =
                      // Fault  Switch
		((Absent,     // cold   off
          Absent),    // cold   on
         (#0,         // hot    off
          Present),   // hot    on
         (Absent, Absent));
	};
node Lost { kind = NATURE; chance = DETERMIN; states = (a, b); parents = (Switch);
	functable = (a, @imposs); };
node Fixed { kind = NATURE; chance = DETERMIN; states = (a, b); parents = (); functable = (b); };
};
"""
INTERVALS = """bnet Intervals {
node Speed {
	kind = NATURE;
	discrete = FALSE;
	levels = (-INFINITY, 10, 20.5, INFINITY);
	probs = (0.25, 0.5, 0.25);
	evidence = #1;
	};
node Depth {
	kind = NATURE; discrete = FALSE; levels = (100, 50, 0); probs = (0.5, 0.5);
	};
node Grade {
	kind = NATURE; discrete = FALSE; states = (low, high); levels = (0, 5, 10);
	inputs = (, D); parents = (Speed, Depth);
	chance = DETERMIN; functable = ((0, 4.9), (5, 10), (low, #1));
	};
node Year { kind = NATURE; discrete = TRUE; levels = (2020, 2030); probs = (0.5, 0.5); };
node Next { kind = NATURE; discrete = TRUE; chance = DETERMIN; states = (first, last);
	levels = (2020, 2030); parents = (Year); functable = (2020.0, 2030); };
node Sinks { kind = NATURE; discrete = FALSE; levels = (10, 5, 0); chance = DETERMIN;
	parents = (Year); functable = (7, 0); evidence = 7; };
node Type { kind = NATURE; states = (t1, t2); statetitles = ("Match ", "No match");
	probs = (0.5, 0.5); evidence = t2; };
node Phase { kind = NATURE; statetitles = ("Phase 1", "Phase 2"); probs = (0.5, 0.5);
	evidence = @impossible; };
};
"""
CAMML = """// ~->[DNET-1]->~
// Network : learned

bnet Reconstructed_Learned_Network {
autoupdate = TRUE;
node V0 {
	kind = NATURE;
	discrete = TRUE;
	numstates = 3;
	parents = ( );
	probs = ( (0.5, 0.25, 0.25) );
};
node V1 {
	kind = NATURE;
	discrete = TRUE;
	states = (no, yes);
	parents = (V0);
	probs = ((0.5,0.5),(1e-1,9E-1),(1,0));
};
};
"""
PGMPY_EXPORT = """// ~->[DNET-1]->~
bnet BayesNet {
    autoupdate = TRUE;

    node SNR {
        kind = NATURE;
        discrete = TRUE;
        chance = CHANCE;
        states = (low, high);
        parents = ();
        probs = ((0.30000001, 0.7));
    };

    node BER {
        kind = NATURE;
        states = (low, high);
        parents = (SNR);
        probs = ((0.2, 0.8), (0.9, 0.1));
    };
};
"""
GENIE = """bnet Venture {
node Success {
	kind = NATURE;
	discrete = TRUE;
	chance = CHANCE;
	states = (Success, Failure);
	parents = ();
	probs =
		// Success Failure
		(0.2, 0.8);
	title = "Success of the venture";
	};
};
"""


def values(net: bg.BayesianNetwork, name: str) -> Any:
    cpd: Any = net[name]
    return cpd.values.tolist()


def test_a_file_of_netica() -> None:
    net = parse_dne(NETICA)
    assert net.names == ("Battery", "Fuel", "Gauge")
    assert values(net, "Gauge") == [[[0.8, 0.2], [0.2, 0.8]], [[0.2, 0.8], [0.1, 0.9]]]
    assert net.annotations == bg.models.Annotations(
        "A gauge;\nof fuel {1}",
        {"Battery": (132, 54), "Fuel": (240.5, 54)},
        {"Gauge": "Of fuel; not of /* electricity */ // at all"},
        {"Battery": 'State of the "battery"'},
    )
    assert net.query("Gauge")["High"] == pytest.approx(0.6850)


def test_an_old_file_with_flat_tables_and_impossible_rows() -> None:
    with pytest.warns(BayesGraphWarning, match="rows of 'B', 'C' that the file marks as imposs"):
        net = parse_dne(OLD_NETICA)
    assert values(net, "B") == [[0.125, 0.875], [1, 0], [0.5, 0.5]]
    assert values(net, "C") == [[[1, 0], [0, 1]], [[0.5, 0.5]] * 2, [[1, 0], [0, 1]]]


def test_functions() -> None:
    with pytest.warns(BayesGraphWarning, match="rows of 'Lost'"):
        net = parse_dne(FUNCTIONS)
    alarm = net["Alarm"]
    assert isinstance(alarm, bg.DeterministicCPD)
    assert alarm.to_table().values.argmax(axis=-1).tolist() == [[0, 0], [0, 1], [0, 0]]
    assert values(net, "Lost") == [[1, 0], [0.5, 0.5]]
    assert values(net, "Fixed") == [0, 1]
    assert net.query("Alarm")["Present"] == pytest.approx(0.125)


@pytest.mark.parametrize("wrong", ["#7", "0.2, 0..5"])
def test_signs_before_what_is_wrong_do_not_move_its_line(wrong: str) -> None:
    signs = "@imposs, @imposs,\n"
    begin = OLD_NETICA.index("(0.125")
    end = OLD_NETICA.index("};", begin)
    text = f"{OLD_NETICA[:begin]}({signs}{wrong},\n0.5, 0.5);\n{OLD_NETICA[end:]}"
    line = text[: text.index(wrong)].count("\n") + 1
    with pytest.raises(FileFormatError, match=f"line {line}: the probs of 'B'"):
        parse_dne(text)


def test_levels_are_intervals_or_values() -> None:
    message = (
        r"Ask with evidence=\{'Speed': '\[10, 20.5\)', 'Sinks': '\[5, 10\)', 'Type': 't2', "
        r"'Phase': '@impossible'\} to have"
    )
    with pytest.warns(BayesGraphWarning, match=message):
        net = parse_dne(INTERVALS)
    states = {v.name: v.states for v in net.variables if isinstance(v, bg.Discrete)}
    assert states == {
        "Speed": ("[-inf, 10)", "[10, 20.5)", "[20.5, inf)"),
        "Depth": ("[50, 100)", "[0, 50)"),
        "Grade": ("low", "high"),
        "Year": ("2020", "2030"),
        "Next": ("first", "last"),
        "Sinks": ("[5, 10)", "[0, 5)"),
        "Type": ("t1", "t2"),
        "Phase": ("Phase 1", "Phase 2"),
    }
    found = {
        name: net[name].to_table().values.argmax(axis=-1) for name in ("Grade", "Next", "Sinks")
    }  # type: ignore[attr-defined]
    assert found["Grade"].tolist() == [[0, 0], [1, 1], [0, 1]]
    assert found["Next"].tolist() == [0, 1]
    assert found["Sinks"].tolist() == [0, 1]


def test_a_file_of_camml_without_names_of_states() -> None:
    net = parse_dne(CAMML)
    assert net["V0"].variable.states == ("state0", "state1", "state2")  # type: ignore[attr-defined]
    assert values(net, "V1") == [[0.5, 0.5], [0.1, 0.9], [1, 0]]


def test_a_file_that_a_script_writes() -> None:
    net = parse_dne(PGMPY_EXPORT)
    assert values(net, "SNR") == [0.30000001, 0.7]
    assert net["BER"].parents[0].name == "SNR"


def test_a_file_of_genie() -> None:
    assert parse_dne(GENIE).annotations.titles == {"Success": "Success of the venture"}


def test_encodings_and_gzip(tmp_path: Path) -> None:
    path = tmp_path / "x.dne"
    text = NETICA.replace("A gauge", "Ä gauge")
    net = parse_dne(text)
    path.write_bytes(gzip.compress(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()))
    assert_same_bits(net, bg.load(path))
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(FileFormatError, match=r"x\.dne, line 9: expected utf-8.*encoding="):
        bg.load(path)
    assert_same_bits(net, bg.load(path, encoding="latin-1"))


# ------------------------------------------------------------------------------------------ refused


def file(*nodes: str) -> str:
    return "bnet N {\n" + "\n".join(nodes) + "\n};\n"


A = "node a { kind = NATURE; states = (x, y); probs = (.5, .5); };"
B = "node b { kind = NATURE; states = (x, y); parents = (a); probs = ((1, 0), (0, 1)); };"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"line 1: expected 'bnet name \{' at the start; got the end"),
        ("net x { }", r"line 1: expected 'bnet name \{' at the start; got 'net x"),
        (file(), "line 1: expected at least one 'node' block"),
        (file(A)[:-4], "line 2: expected 'name = value;' or '}' at the end; got the end"),
        (file(A)[:50], "line 2: expected '}' for the '{' here; the file may be truncated"),
        (file(A).replace(".5)", '.5, "x'), "line 2: expected '}' for the '{' here"),
        (file(A) + "bnet", "line 4: expected the end after the network; got 'bnet'"),
        (file("/* open", A), r"line 2: expected '\*/' at the end of the comment"),
        (file("visual V { x {"), "line 2: expected '}' for the '{' here"),
        (file("x = f {y = 2;} z"), "line 2: expected ';' at the end of 'x'"),
        (file("node { };"), "line 2: expected one name after 'node'"),
        (file("node a b { };"), "line 2: expected one name after 'node'; got 'node a b'"),
        (file(A, A), "line 3: the variable 'a' is declared a second time"),
        (file(A, "node b (a) { };"), "line 3: 'node b .a. .*inherit.*save the network again"),
        (file("define node b { };"), "line 2: 'define node b .*inherit"),
        (file(A.replace("NATURE", "DECISION")), "line 2: decision nodes are not read: 'a'.*remove"),
        (file(A, B.replace("NATURE", "UTILITY")), "line 3: utility nodes are not read: 'b'"),
        (file(A.replace("NATURE", "CONSTANT"), B), "line 3: 'b' has the constant 'a' as a parent"),
        (
            file(A.replace("NATURE", "DISCONNECTED").replace("node", "param"), B),
            "line 3: 'b' has the disconnected 'a' as a parent.*connect the link",
        ),
        (file(A, B.replace("(a)", "(c)")), "line 3: the variable 'c' is not declared"),
        (file(A, B.replace("(a)", "(a, )")), "line 3: the node 'b' has a link without a parent"),
        (file(A, B.replace("(a)", f"({', '.join('a' * 63)})")), "at most 62 parents of 'b'"),
        (file(A, B.replace("(a)", "(a); delays = ((1))")), "line 3: links to 'b' have time delays"),
        (file(A.replace("(x, y)", "x")), "line 2: expected a list in parentheses after 'states ='"),
        (file(A.replace("(x, y)", "(x, , y)")), "line 2: expected a name for each state of 'a'"),
        (file(A.replace("(x, y)", "(x, x)")), "line 2: .*'x' more than once"),
        (file(A.replace("states = (x, y);", "")), r"line 2: expected 'states = \(\.\.\.\);'"),
        (file(A.replace("states = (x, y)", "numstates = 9999999999")), "expected 'states ="),
        (
            file(A.replace("states = (x, y)", "numstates = 999999999")),
            "the states of 'a' would take",
        ),
        (file(A.replace("states = (x, y)", "discrete = FALSE")), "continuous and has no intervals"),
        (file(A.replace("states = (x, y)", "discrete = FALSE; levels = (a, b)")), "numbers as lev"),
        (
            file(A.replace("probs = (.5, .5);", "")),
            r"line 2: expected 'probs = .*Equation To Table",
        ),
        (file(A.replace(".5, .5", ".5")), "line 2: the probs of 'a': expected 2 numbers.*got 1"),
        (file(A.replace(".5, .5", ".5,\n .5.5")), "line 3: .*expected numbers; got '.5.5'"),
        (file(A.replace(".5, .5", ".5, x")), r"line 2: .*expected numbers; got '\(\.5, x\)'"),
        (file(A.replace(".5, .5", "@undef, .5")), "expected numbers; got"),
        (file(A.replace(".5, .5", "@imposs, .5")), "non-negative numbers; got nan"),
        (file(A.replace(".5, .5", "#2")), "expected a state below #2; got #2"),
        (file(A.replace(".5, .5", ".5, .6")), r"line 2: .* sum to 1\.1.*normalize='always'"),
        (file(A, B.replace("(0, 1)", "0, 1")), "line 3: .*expected 2 levels of parentheses"),
        (file(A, B.replace("((1, 0), (0, 1))", "((1), (0, 0, 1))")), "expected 2 numbers in a row"),
        (file(A, B.replace("probs = ((1, 0), (0, 1))", "functable = (x)")), "expected a state for"),
        (file(A, B.replace("probs = ((1, 0), (0, 1))", "functable = (x, z)")), "'z' is no state"),
        (file(A, B.replace("probs = ((1, 0), (0, 1))", "functable = (x, #2)")), "'#2' is no state"),
        (file(A, B.replace("probs = ((1, 0), (0, 1))", "functable = (x, 7)")), "'7' is no state"),
        (
            file(A, B.replace("(a); probs = ((1, 0), (0, 1))", "(a, a); functable = (x, x, x, x)")),
            "line 3: .*child and parents must all differ",
        ),
        (file(A) + "// bayesgraph {nothing}", "expected what bayesgraph restores"),
    ],
)
def test_refusals_name_line_and_remedy(text: str, message: str) -> None:
    with pytest.raises(FileFormatError, match=rf"(?s)DNE text.*{message}"):
        parse_dne(text)


def test_rows_of_states_are_limited() -> None:
    states = ", ".join(f"s{i}" for i in range(5000))
    a = f"node a {{ states = ({states}); probs = (#0); }};"
    rows = ", ".join(["#1"] * 5000)
    b = f"node b {{ states = ({states}); parents = (a); probs = ({rows}); }};"
    with pytest.raises(FileFormatError, match=r"would take .* limit="):
        parse_dne(file(a, b))


# ------------------------------------------------------------------------------------------ written


def test_what_is_written_is_read_to_the_bit(tmp_path: Path) -> None:
    numbers = [[0.1 + 0.2, 1 - (0.1 + 0.2)], [5e-324, 1.0], [1 / 3, 2 / 3], [-0.0, 1.0]]
    a, b, c = bg.Discrete("a", list("wxyz")), bg.Discrete("b", ["n", "y"]), bg.Discrete("c", ["k"])
    d = bg.Discrete("d", ["TRUE", "FALSE"])
    net = bg.BayesianNetwork(
        [
            bg.DeterministicCPD(
                d, lambda x, y: "TRUE" if (x, y) == ("x", "n") else "FALSE", [a, b]
            ),
            bg.TableCPD(b, numbers, [a]),
            bg.TableCPD(a, [0.25] * 4),
            bg.TableCPD(c, np.ones((2, 4, 1)), [b, a]),
        ],
        annotations=bg.models.Annotations(
            'said: "x\\n"\n\ud800',
            {"a": (10, -20), "b": (0.1, 1e300)},
            {"b": "50 % \t;\r\n // x"},
            {"b": "{b}", "d": "(d) \\"},
        ),
    )
    assert_same_bits(net, parse_dne(format_dne(net)))
    for name in ("a.dne", "a.dne.gz", "a.dnet"):
        assert not net.save(tmp_path / name)
        assert_same_bits(net, bg.load(tmp_path / name))


def test_names_are_restored_from_comments() -> None:
    long = "a" * 40
    a, b = bg.Discrete(("a", 1), [True, 2, 'say "x"']), bg.Discrete(long, ["", "é", long])
    tables = [bg.TableCPD(a, [0.5, 0.25, 0.25]), bg.TableCPD(b, np.full((3, 3), 1 / 3), [a])]
    net = bg.BayesianNetwork(tables, arc_scores={(a.name, long): 0.1})
    with pytest.raises(LossyExportError, match=r"(?s)names are identifiers: at most 30.*states"):
        format_dne(net)
    text = format_dne(net, strict=False)
    assert 'statetitles = ("True", "2", "say \\"x\\"");' in text
    assert f'title = "{long}";' in text
    assert_same_bits(net, parse_dne(text))
    plain = parse_dne("\n".join(line for line in text.split("\n") if "// bayesgraph" not in line))
    assert plain[long[:30]].values.tobytes() == net[long].values.tobytes()  # type: ignore[attr-defined]
    assert plain.annotations.titles[long[:30]] == long


def test_continuous_variables_are_refused() -> None:
    net = bg.BayesianNetwork([bg.GaussianCPD(bg.Continuous("x"), 0, 1)])
    with pytest.raises(LossyExportError, match=r"(?s)Netica DNE cannot hold.*'x' is continuous"):
        format_dne(net, strict=False)


def test_a_noisy_or_is_written_as_its_table() -> None:
    a, b = bg.Discrete("a", ["no", "yes"]), bg.Discrete("b", ["no", "yes"])
    net = bg.BayesianNetwork(
        [bg.TableCPD(a, [0.5, 0.5]), bg.NoisyOrCPD(b, [[0.0, 0.8]], [a], leak=0.1)]
    )
    with pytest.warns(bg.errors.LossyExportWarning, match="'b' has a NoisyOrCPD.*as its table"):
        text = format_dne(net)
    np.testing.assert_array_equal(values(parse_dne(text), "b"), net["b"].to_table().values)  # type: ignore[attr-defined]


def test_a_written_file_has_what_netica_asks_for() -> None:
    text = format_dne(chest_clinic())
    assert text.startswith("// ~->[DNET-1]->~\n")
    for field in ("kind = NATURE;", "discrete = TRUE;", "chance = CHANCE;", "parents = ("):
        assert text.count(field) == 8
    assert parse_dne(text).query("D")["yes"] == pytest.approx(0.4359706)


@pytest.mark.parametrize("path", repository(), ids=lambda path: path.name)
@pytest.mark.slow
def test_all_networks_go_round(path: Path) -> None:
    net = bg.load(path)
    assert_same_bits(net, parse_dne(format_dne(net, strict=False)))


def test_a_network_goes_round() -> None:
    net = bg.examples.network("alarm")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_same_bits(net, parse_dne(format_dne(net)))
