"""DSC: files as several programs write them, what is refused, what is written."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from network_files import assert_same_bits, chest_clinic, repository, repository_path

import bayesgraph as bg
from bayesgraph.errors import FileFormatError, LossyExportError
from bayesgraph.io.dsc import format_dsc, parse_dsc

# Files as programs write them, made after the proposal and after what public files look like.
BNLEARN = """belief network "unknown"
node smoke {
  type : discrete [ 2 ] = { "yes", "no" };
}
node lung {
  type : discrete [ 3 ] = { "1", "0", "very low" };
}
node xray {
  type : discrete [ 2 ] = { "yes", "no" };
}
probability ( smoke ) {
   0.5, 0.5;
}
probability ( lung | smoke ) {
  (0) : 0.1, 0.8, 0.1;
  (1) : 0.01, 0.98, 1e-2;
}
probability ( xray | smoke, lung ) {
  (0, 0) : 0.98, 0.02;
  (1, 0) : 0.9, 0.1;
  (0, 1) : 0.05, 0.95;
  (1, 1) : 0.04, 0.96;
  (0, 2) : 0.03, 0.97;
  (1, 2) : 1.0, 0.0;
}
"""
MSBN = """// A belief network
belief network "Car trouble"
{
    creator is "somebody";
    version is 1.0;
}

properties
{
    type "fault" = choice of [ "low", "high" ], "a { comment }";
}

node battery
{
    name is "State of the \\"battery\\"";
    category is "fault; main";
    position is (132, -54);
    type is discrete[2] = { good, "dead" };
    /* a note
       of two lines */
    property "fault" is low;
}

node lights
{
    name = lights;
    type is discrete [3] { "on" , "dim" , "off" };
}

probability(battery) { 0.9, 0.1; }

probability(lights | battery)
{
    // rows have states
    ("dead") = 0, 0.25, 0.75;
    (good) is 0.9, 0.05, 0.05;
};
"""
GENIE = """belief network "Venture"
node success {
  name : "Success of the venture";
  type : discrete[2] = { "Success", "Failure" };
  position : (150, 75);
}
node forecast {
  name : "Expert forecast";
  type : discrete[3] = { "Good", "Moderate", "Poor" };
  position : (150, 225);
}
probability(success) {
  0.2, 0.8;
}
probability(forecast | success) {
  (0): 0.4, 0.4, 0.2;
  default : 0.1, 0.3, 0.6;
}
"""
OLD = """network { format is "bnfile"; }
node a { type : discrete = { x, y }; }
probability ( a ) {
  default = 0.25 0.75;
}
"""


def values(net: bg.BayesianNetwork, name: str) -> Any:
    cpd: Any = net[name]
    return cpd.values.tolist()


def test_a_file_of_bnlearn() -> None:
    net = parse_dsc(BNLEARN)
    assert net["lung"].variable.states == ("1", "0", "very low")  # type: ignore[attr-defined]
    assert values(net, "xray") == [
        [[0.98, 0.02], [0.05, 0.95], [0.03, 0.97]],
        [[0.9, 0.1], [0.04, 0.96], [1, 0]],
    ]
    swapped = BNLEARN.replace("(0, 1)", '("yes", "0")').replace("(1, 1)", "(no, 1)")
    assert parse_dsc(swapped) == net


def test_a_file_with_is_and_properties() -> None:
    net = parse_dsc(MSBN)
    assert values(net, "lights") == [[0.9, 0.05, 0.05], [0, 0.25, 0.75]]
    assert net.annotations == bg.Annotations(
        positions={"battery": (132, -54)}, titles={"battery": 'State of the "battery"'}
    )


def test_a_file_of_genie_with_a_default() -> None:
    net = parse_dsc(GENIE)
    assert values(net, "forecast") == [[0.4, 0.4, 0.2], [0.1, 0.3, 0.6]]
    assert net.annotations.positions == {"success": (150, 75), "forecast": (150, 225)}


def test_a_file_without_a_count_of_states() -> None:
    assert values(parse_dsc(OLD), "a") == [0.25, 0.75]


def test_encodings_and_gzip(tmp_path: Path) -> None:
    path = tmp_path / "x.dsc"
    text = BNLEARN.replace("very low", "tief é")
    net = parse_dsc(text)
    path.write_bytes(gzip.compress(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode()))
    assert_same_bits(net, bg.load(path))
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(FileFormatError, match=r"x\.dsc, line 6: expected utf-8.*encoding="):
        bg.load(path)
    assert_same_bits(net, bg.load(path, encoding="latin-1"))


# ------------------------------------------------------------------------------------------ refused

HEAD = 'belief network "n"\n'
A = 'node a { type : discrete [ 2 ] = { "x", "y" }; }\n'
P = "probability ( a ) { .5, .5; }\n"
B = 'node b { type : discrete [ 2 ] = { "u", "v" }; }\n'
Q = "probability ( b | a ) { (0) : 1, 0; (1) : .5, .5; }\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "line 1: expected 'node' blocks; got the end"),
        (HEAD, "expected 'node' blocks; got the end"),
        ("hello", "line 1: expected 'belief network', 'node' or .*got 'hello'"),
        (HEAD + "nodes a { }", "line 2: expected 'belief network'.*got 'nodes a"),
        (HEAD + "{ x", "line 2: expected '}' for the '{' here"),
        (HEAD + A + P + "/* x", r"line 4: expected '\*/' at the end of the comment"),
        (HEAD + A, "line 3: expected 'probability' blocks of 'a'; got the end"),
        (HEAD + A + A, "line 3: the node 'a' is declared a second time"),
        (HEAD + "node { }", "line 2: expected one name after 'node'"),
        (HEAD + "node a b { }", "line 2: expected one name after 'node'; got 'node a b'"),
        (HEAD + "node a { }", r"line 2: expected 'type : discrete \[ n \]"),
        (
            HEAD + "node a {\n type : discrete [2] = { x y } }",
            "line 3: expected 'type : .*got 'typ",
        ),
        (HEAD + "node a { type : discrete [2] = { x y };", "line 2: expected 'type .*got the end"),
        (HEAD + 'node a { name : "x }', "line 2: expected 'type"),
        (HEAD + A.replace("discrete", "continuous"), "line 2: expected 'type : discrete' for 'a'"),
        (HEAD + A.replace("[ 2 ]", "[ 3 ]"), "line 2: expected 3 states for 'a'.*got 2: 'x', 'y'"),
        (HEAD + A.replace('"y"', '"x"'), "line 2: .*'x' more than once"),
        (HEAD + A + "probability a { }", r"line 3: expected 'probability \( child \| parents \)'"),
        (HEAD + A + "probability ( a, a ) { }", "line 3: expected 'probability"),
        (HEAD + P + A, "line 2: the node 'a' is not declared before"),
        (HEAD + A + P + P, "line 4: 'a' has a second 'probability' block"),
        (HEAD + A + P + B + Q.replace("| a", "| c"), "line 5: the parent 'c' of 'b' is not decl"),
        (HEAD + A + f"probability ( a | {'a ' * 63}) {{ }}", "line 3: expected at most 62 parents"),
        (HEAD + A + P.replace(".5, .5", ".5"), "line 3: expected 2 probabilities for 'a'; got 1"),
        (HEAD + A + P.replace(".5, .5", ".5, .5.5"), "line 3: expected numbers for 'a'.*'.5.5'"),
        (HEAD + A + P.replace(".5, .5", ".5, x"), r"line 3: expected 'p, \.\.\.;' or 'default"),
        (HEAD + A + P.replace(".5, .5", ".5, .6"), r"line 3: .* sum to 1\.1"),
        (HEAD + A + P.replace(".5; }", ".5;"), r"line 4: expected 'p, \.\.\.;'.*got the end"),
        (HEAD + A + P.replace(".5;", ".5; .5, .5;"), "line 3: the row of 'a' is given a second"),
        (
            HEAD + A + P + B + Q.replace("(1)", "(2)"),
            "'2' is not a state of 'a'.*or their ind",
        ),
        (
            HEAD + A + P + B + Q.replace("(1)", '("2")'),
            "line 5: .*not a state of 'a'.*'y', or",
        ),
        (
            HEAD + A + P + B + Q.replace("(1)", "(0)"),
            r"line 5: the row \(0\) of 'b' is given a sec",
        ),
        (
            HEAD + A + P + B + Q.replace("(1)", "(0, 1)"),
            r"each of the 1 parents of 'b'; got \(0, 1",
        ),
        (
            HEAD + A + P + B + Q.replace("(1) :", ""),
            "line 5: expected the index .*of the 1 parents",
        ),
        (
            HEAD + A + P + B + Q.replace("(1) : .5, .5;", ""),
            r"line 5: expected the row \(y\) for 'b': 1 of 2 rows",
        ),
        (HEAD + A + P + B + Q.replace("(0)", "function = max; (0)"), "'b' is given by a function"),
        (HEAD + A + P + "// bayesgraph {nothing}", "expected what bayesgraph restores"),
    ],
)
def test_refusals_name_line_and_remedy(text: str, message: str) -> None:
    with pytest.raises(FileFormatError, match=rf"(?s)DSC text.*{message}"):
        parse_dsc(text)


def test_tables_that_no_text_confirms_are_limited() -> None:
    nodes = "".join(f"node n{i} {A[7:]}" for i in range(30))
    priors = "".join(f"probability ( n{i} ) {{ 1, 0; }}\n" for i in range(29))
    parents = ", ".join(f"n{i}" for i in range(29))
    last = f"probability ( n29 | {parents} ) {{ default : 1, 0; }}"
    with pytest.raises(FileFormatError, match=r"the table of 'n29' would take .* limit="):
        parse_dsc(HEAD + nodes + priors + last)


# ------------------------------------------------------------------------------------------ written


def test_what_is_written_is_read_to_the_bit(tmp_path: Path) -> None:
    numbers = [[0.1 + 0.2, 1 - (0.1 + 0.2)], [5e-324, 1.0], [1 / 3, 2 / 3], [-0.0, 1.0]]
    a, b = bg.Discrete("a", ["1", "0", "a b", "// {c}"]), bg.Discrete("b", ["0", "(0)"])
    c = bg.Discrete("c", ["k"])
    net = bg.BayesianNetwork(
        [
            bg.TableCPD(b, numbers, [a]),
            bg.TableCPD(a, [0.25] * 4),
            bg.TableCPD(c, np.ones((2, 4, 1)), [b, a]),
        ],
        annotations=bg.Annotations(
            'said: "x\\n"\n\ud800',
            {"a": (10, -20), "b": (0.1, 1e300)},
            {"b": "50 % \t;\r\n // x"},
            {"b": '{"b"}', "c": "(d) \\"},
        ),
    )
    assert_same_bits(net, parse_dsc(format_dsc(net)))
    for name in ("a.dsc", "a.dsc.gz"):
        assert not net.save(tmp_path / name)
        assert_same_bits(net, bg.load(tmp_path / name))


def test_names_are_restored_from_comments() -> None:
    a, b = bg.Discrete(("a", 1), [True, 2, 'say "x"']), bg.Discrete("node", ["", "é", "\\"])
    tables = [bg.TableCPD(a, [0.5, 0.25, 0.25]), bg.TableCPD(b, np.full((3, 3), 1 / 3), [a])]
    net = bg.BayesianNetwork(tables, arc_scores={(a.name, "node"): 0.1})
    with pytest.raises(LossyExportError, match=r"(?s)'node' .*: names are identifiers.*states"):
        format_dsc(net)
    text = format_dsc(net, strict=False)
    assert "name : \"('a', 1)\";" in text
    assert_same_bits(net, parse_dsc(text))
    plain = parse_dsc("\n".join(line for line in text.split("\n") if not line.startswith("//")))
    assert plain["xnode"].values.tobytes() == net["node"].values.tobytes()  # type: ignore[attr-defined]


def test_continuous_variables_are_refused() -> None:
    net = bg.BayesianNetwork([bg.GaussianCPD(bg.Continuous("x"), 0, 1)])
    with pytest.raises(LossyExportError, match=r"(?s)DSC cannot hold.*'x' is continuous"):
        format_dsc(net, strict=False)


def test_marginals_of_the_chest_clinic() -> None:
    net = parse_dsc(format_dsc(chest_clinic()))
    assert net.query("D")["yes"] == pytest.approx(0.4359706)


@pytest.mark.parametrize("path", repository(), ids=lambda path: path.name)
@pytest.mark.slow
def test_all_networks_go_round(path: Path) -> None:
    net = bg.load(path)
    assert_same_bits(net, parse_dsc(format_dsc(net, strict=False)))


@pytest.mark.skipif(not repository(), reason="pgmpy is not installed")
def test_a_network_goes_round() -> None:
    net = bg.load(repository_path("alarm"))
    assert_same_bits(net, parse_dsc(format_dsc(net)))
