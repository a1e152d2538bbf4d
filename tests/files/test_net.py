"""Hugin's NET: files as several programs write them, what is refused, and what others read."""

from __future__ import annotations

import gzip
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from network_files import (
    assert_same_bits,
    chest_clinic,
    largest_difference,
    repository,
)

import bayesgraph as bg
from bayesgraph.core.errors import BayesGraphWarning, FileFormatError, LossyExportError
from bayesgraph.files.net import format_net, parse_net

# Files as programs write them, made after Hugin's manual and after what public files look like.
HUGIN = """net
{
    propagate_auto = "1";
    node_size = (80 40);
    HR_Desc = "A chain\\nof two";
    HR_Font_Name = "Arial";
    HR_Zoom_ZoomFactor = "100";
}

node fuel
{
    label = "Fuel?";
    position = (52 -18);
    states = ("yes" "no, empty");
    HR_Desc = "";
    HR_State_0 = "";
    HR_NodeSize = "(80, 40)";
}

node meter
{
    states = ("full" "half" "empty");
    position = (200 120);
    label = "";
    HR_Desc = "Fuel meter; \\"standing\\"";
}

potential (fuel)
{
    data = ( 0.98 0.02 );
    experience = ( 10 );
}

potential (meter | fuel)
{
    data = (( 0.39 0.6 0.01 )	%  yes
        ( 0.001 1.0E-3 0.998 ));	%  no, empty
    experience_data = ( 12 0 );
}
"""
HUGIN_CLASS = """class Fuel
{
    inputs = ();
    outputs = (meter);
    node_size = (80 40);
    HR_Desc = "A class";

    node fuel
    {
	states = ("yes" "no");
    }

    node meter
    {
	states = ("full" "empty");
    }

    potential (fuel)
    {
	data = ( 0.98 0.02 );
    }

    potential (meter | fuel)
    {
	data = (( 0.99 0.01 )	%  fuel=yes
         ( 0.25 0.75 ));	%  fuel=no
    }
} % class Fuel
"""
# The waste incinerator of Lauritzen (1992), a part of it.
HUGIN_GAUSSIAN = """net { }
node B { states = ("stable" "unstable"); }
node F { states = ("intact" "defect"); }
continuous node C { label = "CO2"; position = (10 10); }
continuous node E { }
continuous node D { }
potential (B) { data = ( 0.85 0.15 ); }
potential (F) { data = ( 0.95 0.05 ); }
potential (C | B)
{
    data = ( normal ( -2, 0.1 )	%  stable
         normal ( -1, 0.3 ) );	%  unstable
}
potential (E | F) { data = ( normal ( -3.2, 2e-05 ) normal ( -0.5, 0.0001 ) ); }
potential (D | B E F)
{
    data = (( normal ( 6.5 + E, 0.03 )		%  B=stable  F=intact
          normal ( 6 + 1 * E, 0.04 ))	%  B=stable  F=defect
        ( normal ( 7.5 + E * 1, 0.1 )
          normal ( - 2.5 * E - -7, 0.1 )));
}
"""
HUGIN_SUBTYPES = """net { }
node dice { subtype = number; state_values = (1 2 3); }
node large { subtype = boolean; }
node age
{
    subtype = interval;
    state_values = ( -infinity 20 65 infinity );
}
node named { subtype = interval; states = ("low" "high"); state_values = (0 1 2); }
potential (dice)
{
    model_nodes = ();
    model_data = ( Distribution (0.5, 0.25, 0.25) );
    data = ( 0.5 0.25 0.25 );
}
potential (large | dice named)
{
    model_nodes = (dice);
    model_data = ( "false", false, Distribution ( 0, 1 ) );
}
potential (age | named) { data = ((0.2 0.5 0.3) (0.1 0.1 0.8)); }
potential (named)
{
    model_nodes = ();
    model_data = Distribution (0.4, 0.6);
}
"""
SAMIAM = """net
{
	huginity = "strict";
	propagationenginegenerator1791944048146838126L = "edu.ucla.belief.approx.Macros@1";
	node_size = (80.0 40.0 );
}
node variable0
{
	states = ("state0" "state1" );
	position = (193 -213);
	excludepolicy = "include whole CPT";
	ismapvariable = "false";
	ID = "variable0";
	label = "first";
	DSLxEXTRA_DEFINITIONxDIAGNOSIS_TYPE = "AUXILIARY";
}
node variable1
{
	states = ("a" "b" );
	ID = "variable1";
}
potential ( variable0 | )
{
	data = ( 0.75	0.25	);
}
potential ( variable1 | variable0 )
{
	data = ((	0.9	0.1	)
		(	0.4	0.6	));
}
"""
PYAGRUM = """
net {
  name = anonymousBN;
  software = "aGrUM 3.3.1";
  node_size = (50 50);
}

node a {
   states = (0 1 2 );
   label = "a";
   ID = "a";
}

node b {
   states = (no yes );
   label = "b";
   ID = "b";
}

potential (a) {
   data = (  0.25 0.5 0.25);
}

potential ( b | a   ) {
   data =
   ((    0.5    0.5)   % a=0
   (    0.125   0.875)   % a=1
   (    1    0));   % a=2
}
"""
PGMPY = """net {
}
node wet{
    states = ("no"  "yes");
    weight = 0.5;
}
node rain{
    states = ("no"  "yes");
}
potential (wet | rain){
 data = ((0.9 0.1)
  (0.2 0.8));
}
potential (rain |){
 data = (0.8 0.2);
}
"""
UNBBAYES = """net
{
     node_size = (0 0);
     name = "learned net";
     tree = "(Tuberculosis
or cancer,Other)";
     UnBBayes_Color_Probabilistic_Description = "-256";
}

node either
{
     label = "Tuberculosis
or cancer";
     position = (270 264);
     color = (-256);
     states = ("true" "false");
}

potential (either)
{
 data = ( 0.064828 0.935172 );
}
"""
GENIE = """net
{
    node_size = (76 36);
    HR_Monitor_InitSD = "2";
}
node success
{
    states = ( "Success" "Failure" );
    label = "Success of the venture";
    position = ( 150 -75 );
}
node forecast
{
    states = ( "Good" "Moderate" "Poor" );
    label = "Expert forecast";
    position = ( 150 -225 );
}
potential ( success )
{
    data = ( 0.20000000 0.80000000 );
}
potential ( forecast | success )
{
    data = ( 0.40000000 0.40000000 0.20000000
             0.10000000 0.30000000 0.60000000 );
}
"""


def values(net: bg.BayesianNetwork, name: str) -> Any:
    cpd: Any = net[name]
    return cpd.values.tolist()


def test_a_file_of_hugin() -> None:
    net = parse_net(HUGIN)
    assert [repr(v) for v in net.variables] == [
        "Discrete('fuel', ['yes', 'no, empty'])",
        "Discrete('meter', ['full', 'half', 'empty'])",
    ]
    assert values(net, "meter") == [[0.39, 0.6, 0.01], [0.001, 0.001, 0.998]]
    assert net.annotations == bg.models.Annotations(
        "A chain\nof two",
        {"fuel": (52, 18), "meter": (200, -120)},
        {"meter": 'Fuel meter; "standing"'},
        {"fuel": "Fuel?"},
    )


def test_a_class_without_instances() -> None:
    net = parse_net(HUGIN_CLASS)
    assert values(net, "meter") == [[0.99, 0.01], [0.25, 0.75]]
    assert net.annotations.note == "A class"


def test_linear_gaussians() -> None:
    net = parse_net(HUGIN_GAUSSIAN)
    cpd: Any = net["D"]
    assert [v.name for v in cpd.parents] == ["B", "E", "F"]
    assert cpd.mean.tolist() == [[6.5, 6], [7.5, 7]]
    assert cpd.variance.tolist() == [[0.03, 0.04], [0.1, 0.1]]
    assert cpd.coefficients.tolist() == [[[1], [1]], [[1], [-2.5]]]
    assert net["E"].variance.tolist() == [2e-05, 0.0001]  # type: ignore[attr-defined]
    posterior = net.query("C", {"B": "stable"})
    assert (posterior.mean, posterior.variance) == pytest.approx((-2.0, 0.1))
    assert_same_bits(net, parse_net(format_net(net)))


@pytest.mark.parametrize("mean", ["1 + 2*X + Z", "Z - -1 + X*2", "X + X + Z + 1"])
def test_a_sum_has_constants_and_products_in_any_order(mean: str) -> None:
    nodes = "".join(f"continuous node {name} {{ }} " for name in "XZY")
    tables = "".join(f"potential ({name}) {{ data = normal (0, 1); }} " for name in "XZ")
    net = parse_net(f"{nodes}{tables}potential (Y | X Z) {{ data = normal ({mean}, 2); }}")
    cpd: Any = net["Y"]
    assert (cpd.mean, cpd.coefficients.tolist()) == (1, [2, 1])


def test_states_by_subtype_and_tables_by_models() -> None:
    net = parse_net(HUGIN_SUBTYPES)
    states = {v.name: v.states for v in net.variables if isinstance(v, bg.Discrete)}
    assert states == {
        "dice": ("1", "2", "3"),
        "large": ("false", "true"),
        "age": ("[-infinity, 20)", "[20, 65)", "[65, infinity)"),
        "named": ("low", "high"),
    }
    assert values(net, "large") == [[[1, 0]] * 2, [[1, 0]] * 2, [[0, 1]] * 2]
    assert values(net, "named") == [0.4, 0.6]


def test_a_file_of_samiam() -> None:
    net = parse_net(SAMIAM)
    assert values(net, "variable1") == [[0.9, 0.1], [0.4, 0.6]]
    assert net.annotations.positions == {"variable0": (193, 213)}
    assert net.annotations.titles == {"variable0": "first"}


def test_a_file_of_pyagrum() -> None:
    net = parse_net(PYAGRUM)
    assert net["a"].variable.states == ("0", "1", "2")  # type: ignore[attr-defined]
    assert values(net, "b") == [[0.5, 0.5], [0.125, 0.875], [1, 0]]
    assert not net.annotations


def test_a_file_of_pgmpy() -> None:
    net = parse_net(PGMPY)
    assert net.names == ("wet", "rain")
    assert values(net, "wet") == [[0.9, 0.1], [0.2, 0.8]]


def test_a_file_of_unbbayes() -> None:
    net = parse_net(UNBBAYES)
    assert net.annotations.titles == {"either": "Tuberculosis\nor cancer"}
    assert values(net, "either") == [0.064828, 0.935172]


def test_a_file_of_genie_with_a_flat_list() -> None:
    net = parse_net(GENIE)
    assert values(net, "forecast") == [[0.4, 0.4, 0.2], [0.1, 0.3, 0.6]]


def test_rows_in_one_list() -> None:
    a = " ".join(f"node {name} {{ states = (x y); }}" for name in "abc")
    p = "potential (a) { data = (.5 .5); } potential (b) { data = (.5 .5); }"
    rows = ["(.1 .9)", "(.2 .8)", "(.3 .7)", "(.4 .6)"]
    flat = " ".join(rows).replace("(", "").replace(")", "")
    nested = f"(({rows[0]} {rows[1]}) ({rows[2]} {rows[3]}))"
    for text in (f"({' '.join(rows)})", " ".join(rows), nested, nested.replace(" (", ", ("), flat):
        net = parse_net(f"{a} {p} potential (c | a b) {{ data = {text}; }}")
        assert values(net, "c") == [[[0.1, 0.9], [0.2, 0.8]], [[0.3, 0.7], [0.4, 0.6]]]
    for text in (f"({nested})", f"(({' '.join(rows)}))", nested[1:], f"({flat[:5]}) ({flat[6:]})"):
        with pytest.raises(FileFormatError, match=r"levels of parentheses|numbers in a row"):
            parse_net(f"{a} {p} potential (c | a b) {{ data = {text}; }}")


def test_counts_are_divided_if_asked() -> None:
    text = "node a { states = (x y); } potential (a) { data = (30 10); }"
    with pytest.raises(FileFormatError, match=r"line 1: .*sum to 40.*normalize='always'"):
        parse_net(text)
    with pytest.warns(BayesGraphWarning, match="divided by their sums"):
        assert values(parse_net(text, normalize="always"), "a") == [0.75, 0.25]


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        ("50% 100% ", ["50%", "100%"]),
        ("0_00___0_01_% x", ["0_00___0_01_%", "x"]),
        (" %1 2%", ["%1", "2%"]),
        ("[0;1.5[ [1.5;3] ", ["[0;1.5[", "[1.5;3]"]),
        ("[0;50%[ [50%;100%]", ["[0;50%[", "[50%;100%]"]),
        ("<5 >=5", ["<5", ">=5"]),
        ("a/b -1.5e3", ["a/b", "-1.5e3"]),
        ("a % first\n b % last\n", ["a", "b"]),
        ('"x;y" % 50% of all)\n "50%"', ["x;y", "50%"]),
        ("a % (50%)\n b", ["a", "b"]),
        ('"a,,b", "c"', ["a,,b", "c"]),
        ('"a\\",,b" "c,"', ['a",,b', "c,"]),
        ('"a, b", ', ["a, b", ""]),
    ],
)
def test_states_without_quotes(states: str, expected: list[str]) -> None:
    text = f'net {{ }}\nnode a {{\n  states = ({states});\n label = "A"; % states = (50% x)\n}}\n'
    net = parse_net(text + "potential (a) { data = (.25 .75); % a\n}\n% 5%\n")
    assert list(net.variable("a").states) == expected
    assert values(net, "a") == [0.25, 0.75]
    assert net.annotations.titles == {"a": "A"}


def test_states_that_pyagrum_writes_without_quotes(tmp_path: Path) -> None:
    pyagrum = pytest.importorskip("pyagrum")
    theirs = pyagrum.fastBN("a[0,1.5,3]->b{50%|100%}<-c[1:3:4]")
    pyagrum.saveBN(theirs, str(tmp_path / "x.net"))
    net = bg.load(tmp_path / "x.net")
    assert {str(v.name): list(v.states) for v in net.variables} == {
        str(name): list(theirs.variable(name).labels()) for name in theirs.names()
    }
    engine = pyagrum.LazyPropagation(theirs)
    engine.makeInference()
    for name, marginal in net.marginals().items():
        expected = engine.posterior(name).toarray()
        np.testing.assert_allclose(marginal.probabilities, expected, atol=1e-9)


def test_encodings_gzip_and_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "x.net"
    text = HUGIN.replace("half", "hälfte")
    net = parse_net(text)
    path.write_bytes(gzip.compress(b"\xef\xbb\xbf" + text.encode()))
    assert_same_bits(net, bg.load(path))
    path.write_bytes(text.replace("\n", "\r\n").encode("latin-1"))
    with pytest.raises(FileFormatError, match=r"x\.net, line 22: expected utf-8.*encoding="):
        bg.load(path)
    assert_same_bits(net, bg.load(path, encoding="latin-1"))


# ------------------------------------------------------------------------------------------ refused

NODE = "node a { states = (x y); }\n"
P = "potential (a) { data = (.5 .5); }\n"
GAUSS = "continuous node c { }\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: expected at least one 'node' block"),
        ("net { }", "expected at least one 'node' block"),
        ("\n\nhello { }", r"line 3: expected 'net', 'class', .*got 'hello \{ \}'"),
        ("*Vertices 3\n1 a", r"got '\*Vertices 3'\. This is a file of Pajek"),
        (NODE + "net", "line 2: expected 'net', 'class'.*got 'net'"),
        (NODE + "net { name = x }", "line 2: expected 'name = value;' or '}'.*got 'name = x }'"),
        (NODE + "net { name = x;", "line 2: expected 'name = value;' or '}' at the end; got the"),
        (NODE + 'net { name = "x; }', "line 2: expected 'name = value;'"),
        (NODE + "node { }", "line 2: expected one name after 'node'"),
        (NODE + "node b c { }", "line 2: expected one name after 'node'; got 'node b c'"),
        (NODE + NODE, "line 2: the variable 'a' is declared a second time"),
        (NODE, "line 1: expected a potential for each of 'a'"),
        (NODE + P + P, "line 3: 'a' has a second potential"),
        (NODE + P + "potential (b) { }", "line 3: the variable 'b' is not declared"),
        (NODE + "potential (a) { }", r"line 2: expected 'data = \(\.\.\.\);' in the potential of"),
        (NODE + "potential a { }", r"line 2: expected 'potential \( child \| parents \)'"),
        (NODE + "potential (a | b) { data = (1 0); }", "line 2: the variable 'b' is not decl"),
        (NODE + "potential (a b) { data = (1 0); }", r"line 2: expected one node before '\|'"),
        (NODE + P.replace(".5)", ")"), "line 2: the data of 'a': expected 2 numbers.*got 1 num"),
        (NODE + P.replace(".5 .5", ".5\n.5.5"), "line 3: .* expected numbers; got '.5.5'"),
        (NODE + P.replace(".5 .5", ".5 x"), r"line 2: .* expected numbers; got '\(\.5 x\)'"),
        (NODE + P.replace(".5 .5", ".5\n .6"), r"line 2: TableCPD P\(a\): .* sum to 1\.1"),
        (NODE + P.replace(".5 .5", "-1 2"), "non-negative numbers; got -1"),
        (NODE + P.replace(".5 .5", "1e999 0"), "got inf"),
        (NODE + P.replace("(.5 .5)", "((((.5 .5"), "expected 1 levels of parentheses"),
        ("node a { states = x; }" + P, r"line 1: expected a list in parentheses after 'states ='"),
        ("node a { }" + P, r"line 1: expected 'states = \(\"\.\.\.\" \.\.\.\);' in the node 'a'"),
        ("node a { states = (x x); }" + P, "'x' more than once"),
        ("class A {\n class B { } }", "line 2: expected 'net', 'class'"),
        (NODE + "\ninstance i : A (x = y) { }", "line 3: 'instance i : A.*another class"),
        (NODE + "temporal t : a { }", "line 2: 'temporal t : a.*save the network as a flat NET"),
        (NODE + "decision d { states = (u v); }", "line 2: decision nodes are not read: 'd'"),
        (NODE + P + "utility u { }\nutility w { }", "line 3: utility nodes .*'u', 'w'.*remove"),
        (NODE + "function f { }", "line 2: function nodes are not read: 'f'"),
        (NODE + "continuous function f { }", "line 2: function nodes are not read: 'f'"),
        (GAUSS, "expected a potential for"),
        (GAUSS + "potential (c) { data = (.5); }", r"line 2: .*expected a list of 'normal \( mean"),
        (GAUSS + "potential (c) { data = (0); }", r"line 2: .*expected a list of 'normal \( mean"),
        (GAUSS + "potential (c) { data = normal (1, x); }", "expected a number as the variance"),
        (GAUSS + "potential (c) { data = normal (1, 0); }", "variance must be positive"),
        (GAUSS + "potential (c) { data = normal (1 2, 1); }", "expected a sum such as"),
        (GAUSS + "potential (c) { data = normal (, 1); }", "expected a mean before ','"),
        (GAUSS + "potential (c) { data = normal (2 * x, 1); }", "'x' in a mean is no continuous"),
        (GAUSS + "potential (c) { data = (normal (1, 1) normal (1, 1)); }", "expected 1 numbers"),
        (GAUSS + NODE + P + "potential (c | a) { data = normal (1, 1); }", "expected 2 numbers"),
        (NODE + GAUSS + "potential (a | c) { data = (1 0); }", "the continuous 'c'"),
        (NODE + "potential (a) { model_data = Poisson (3); }", "In Hugin, compile the network"),
        (NODE + "potential (a) { model_data = (x, y); }", "expected 1 expressions; got 2"),
        (NODE + "potential (a) { model_data = z; }", "'z' is no state.*States are 'x', 'y'"),
        (
            NODE + "potential (a) { model_data = Distribution (1); }",
            "expected 2 numbers, 2 for each of 1",
        ),
        (
            NODE + "potential (a) { model_data = Distribution (1, 1.1.1); }",
            "expected numbers; got '1.1.1'",
        ),
        (NODE + "potential (a) { model_nodes = (b); model_data = x; }", "the nodes of the model"),
        (NODE + f"potential (a | {'a ' * 63}) {{ }}", "expected at most 62 parents of 'a'"),
        (NODE + P + "% bayesgraph {nothing}", "expected what bayesgraph restores"),
    ],
)
def test_refusals_name_line_and_remedy(text: str, message: str) -> None:
    with pytest.raises(FileFormatError, match=rf"(?s)NET text.*{message}"):
        parse_net(text)


@pytest.mark.parametrize("n", [29, 62])
def test_tables_that_no_text_confirms_are_limited(n: int) -> None:
    nodes = " ".join(f"node n{i} {{ states = (x y); }}" for i in range(n + 1))
    priors = " ".join(f"potential (n{i}) {{ data = (1 0); }}" for i in range(n))
    parents = " ".join(f"n{i}" for i in range(n))
    last = f"potential (n{n} | {parents}) {{ model_nodes = (); model_data = x; }}"
    with pytest.raises(FileFormatError, match=rf"the table of 'n{n}' would take .* limit="):
        parse_net(nodes + priors + last)


# ------------------------------------------------------------------------------------------ written


def test_what_is_written_is_read_to_the_bit(tmp_path: Path) -> None:
    numbers = [[0.1 + 0.2, 1 - (0.1 + 0.2)], [5e-324, 1.0], [1 / 3, 2 / 3], [-0.0, 1.0]]
    a, b, c = bg.Discrete("a", list("wxyz")), bg.Discrete("b", ["0", "a b"]), bg.Continuous("c")
    d = bg.Continuous("d")
    net = bg.BayesianNetwork(
        [
            bg.GaussianCPD(d, [1e300, -0.0], 0.1, [c, b], [[-0.0], [-1 / 3]]),
            bg.TableCPD(b, numbers, [a]),
            bg.TableCPD(a, [0.25] * 4),
            bg.GaussianCPD(c, -1e-5, 5e-324),
        ],
        annotations=bg.models.Annotations(
            'said: "x\\n"\n\ud800',
            {"a": (10, -20), "b": (0.1, 1e300), "c": (-3, 2.5)},
            {"b": "50 % \t;\r\n"},
            {"b": "{b}", "d": "(d) \\"},
        ),
    )
    assert_same_bits(net, parse_net(format_net(net)))
    for name in ("a.net", "a.net.gz", "a.oobn"):
        assert not net.save(tmp_path / name)
        assert_same_bits(net, bg.load(tmp_path / name))


def test_names_are_restored_from_comments() -> None:
    a, b = bg.Discrete(("a", 1), [True, 2, 'say "x"']), bg.Discrete("node", ["", "é", "\\"])
    tables = [bg.TableCPD(a, [0.5, 0.25, 0.25]), bg.TableCPD(b, np.full((3, 3), 1 / 3), [a])]
    net = bg.BayesianNetwork(tables, arc_scores={(a.name, "node"): 0.1})
    with pytest.raises(LossyExportError, match=r"(?s)'node' .*: names are identifiers.*state"):
        format_net(net)
    text = format_net(net, strict=False)
    assert "label = \"('a', 1)\";" in text
    assert_same_bits(net, parse_net(text))
    plain = parse_net("\n".join(line for line in text.split("\n") if not line.startswith("%")))
    assert plain["xnode"].values.tobytes() == net["node"].values.tobytes()  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", ["n", "number of items"])
def test_counts_are_restored_from_comments(name: str) -> None:
    net = bg.BayesianNetwork([bg.GaussianCPD(bg.Count(name), 3, 2)])
    back = parse_net(format_net(net, strict=False))
    assert type(back.variable(name)) is bg.Count
    assert_same_bits(net, back)


def test_other_models_are_refused() -> None:
    net = bg.BayesianNetwork([bg.GaussianCPD(bg.Continuous("x"), 0, 1)])
    with pytest.raises(LossyExportError, match="Hugin NET holds Bayesian networks"):
        format_net(bg.FactorGraph.of(net))


# -------------------------------------------------------------------------------------------- peers


@pytest.mark.parametrize("path", repository(), ids=lambda path: path.name)
@pytest.mark.slow
def test_all_networks_go_round(path: Path) -> None:
    net = bg.load(path)
    assert_same_bits(net, parse_net(format_net(net, strict=False)))


def _through_pyagrum(net: bg.BayesianNetwork, path: Path) -> Any:
    pyagrum = pytest.importorskip("pyagrum")
    net.save(path)
    return pyagrum.loadBN(str(path))


@pytest.mark.parametrize("name", ["asia", pytest.param("alarm", marks=pytest.mark.slow)])
def test_pyagrum_reads_what_is_written(name: str, tmp_path: Path) -> None:
    """It keeps the numbers of NET files in single precision, and nothing else is different."""
    pyagrum = pytest.importorskip("pyagrum")
    net = bg.examples.network(name)
    read = _through_pyagrum(net, tmp_path / "x.net")
    for cpd in net.cpds:
        table = read.cpt(cpd.variable.name)
        order = [v.name for v in cpd.scope]
        found = table.reorganize(order[::-1]).toarray()
        np.testing.assert_array_equal(found, cpd.values.astype(np.float32))
    engine = pyagrum.LazyPropagation(read)
    engine.makeInference()
    marginals = net.marginals()
    for v in net.variables:
        posterior = engine.posterior(v.name)
        for state in v.states:
            assert posterior[{v.name: state}] == pytest.approx(marginals[v.name][state], abs=1e-7)


def test_what_pyagrum_writes_is_read(tmp_path: Path) -> None:
    pyagrum = pytest.importorskip("pyagrum")
    theirs = pyagrum.fastBN("a[3]->b->c[4];a->c;d->c;e{very_low|high}<-d")
    pyagrum.saveBN(theirs, str(tmp_path / "x.net"))
    net = bg.load(tmp_path / "x.net")
    engine = pyagrum.LazyPropagation(theirs)
    engine.makeInference()
    for name, marginal in net.marginals().items():
        posterior = engine.posterior(name)
        for state, probability in marginal.items():
            assert posterior[{name: state}] == pytest.approx(probability, abs=1e-9)


def test_pyagrum_has_no_continuous_nodes(tmp_path: Path) -> None:
    (tmp_path / "x.net").write_text(HUGIN_GAUSSIAN)
    pyagrum = pytest.importorskip("pyagrum")
    with pytest.raises(pyagrum.GumException):
        pyagrum.loadBN(str(tmp_path / "x.net"))


def test_pyagrum_takes_other_letters_for_equal(tmp_path: Path) -> None:
    """It reads each letter beyond ASCII as the same sign."""
    pyagrum = pytest.importorskip("pyagrum")
    net = bg.BayesianNetwork([bg.TableCPD(bg.Discrete("a", ["é", "ß"]), [0.5, 0.5])])
    with pytest.raises(pyagrum.GumException, match="Duplicate element"):
        _through_pyagrum(net, tmp_path / "x.net")


def test_pyagrum_reads_odd_states_and_titles(tmp_path: Path) -> None:
    states = ["very low", "(0.8, 1]", "a;b|{c}", "50 %"]
    a = bg.Discrete("a", states)
    notes = bg.models.Annotations('"x\\', {"a": (0.5, 1e300)}, {"a": 'a "note"\n'}, {"a": "\\A;"})
    net = bg.BayesianNetwork([bg.TableCPD(a, [0.25] * 4)], annotations=notes)
    assert list(_through_pyagrum(net, tmp_path / "x.net").variable("a").labels()) == states


@pytest.mark.parametrize("name", ["asia", pytest.param("alarm", marks=pytest.mark.slow)])
def test_pgmpy_reads_what_is_written(name: str, tmp_path: Path) -> None:
    nets = pytest.importorskip("pgmpy.readwrite")
    net = bg.examples.network(name)
    net.save(tmp_path / "x.net")
    read = bg.from_pgmpy(nets.NETReader(str(tmp_path / "x.net")).get_model())
    assert largest_difference(net, read) < 1e-9
    nets.NETWriter(bg.files.to_pgmpy(net)).write(str(tmp_path / "y.net"))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert largest_difference(net, bg.load(tmp_path / "y.net")) < 1e-9


@pytest.mark.parametrize("state", ["very low", "a,b", "(a", "é", "//a"])
def test_pgmpy_does_not_read_states_of_other_signs(state: str, tmp_path: Path) -> None:
    """Its grammar splits quoted states at blanks, commas and parentheses, and takes // for more."""
    nets = pytest.importorskip("pgmpy.readwrite")
    net = bg.BayesianNetwork([bg.TableCPD(bg.Discrete("a", [state, "b"]), [0.25, 0.75])])
    net.save(tmp_path / "x.net")
    assert_same_bits(net, bg.load(tmp_path / "x.net"))
    with pytest.raises((ValueError, IndexError)):
        nets.NETReader(str(tmp_path / "x.net")).get_model()


def test_marginals_of_the_chest_clinic() -> None:
    """The probability of dyspnoea is that of Lauritzen and Spiegelhalter (1988)."""
    net = parse_net(format_net(chest_clinic()))
    assert net.query("D")["yes"] == pytest.approx(0.4359706)
