"""UAI: models, evidence and results, read and written, and what is said about damaged files."""

from __future__ import annotations

import gzip
import math
import re
import tempfile
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bayesgraph as bg
from bayesgraph.core.errors import (
    BayesGraphWarning,
    DataError,
    EvidenceError,
    FileFormatError,
    ImpossibleEvidenceError,
    LossyExportError,
    LossyExportWarning,
    ModelError,
    UnknownStateError,
    UnknownVariableError,
    UnsupportedModelError,
)
from bayesgraph.files.uai import (
    format_uai,
    parse_uai,
    read_uai_evidence,
    read_uai_result,
    write_uai_evidence,
    write_uai_result,
)

# The three-variable example of the format's documentation.
PREAMBLE = "MARKOV\n3\n2 2 3\n3\n1 0\n2 0 1\n2 1 2\n"
TABLES = "\n2\n0.436 0.564\n\n4\n0.128 0.872\n0.92 0.08\n\n6\n0.21 0.333 0.457\n0.811 0.0 0.189\n"
EXAMPLE = PREAMBLE + TABLES
X = [0.436, 0.564]
XY = [[0.128, 0.872], [0.92, 0.08]]
YZ = [[0.21, 0.333, 0.457], [0.811, 0.0, 0.189]]


def numbered(*cards: int) -> list[bg.Discrete]:
    return [bg.Discrete(f"x{i}", range(n)) for i, n in enumerate(cards)]


@pytest.fixture
def example() -> bg.FactorGraph:
    return parse_uai(EXAMPLE)


@pytest.fixture
def named() -> bg.BayesianNetwork:
    rain = bg.Discrete("rain", ["no", "yes"])
    wet = bg.Discrete("wet", ["dry", "damp", "wet"])
    return bg.BayesianNetwork(
        [
            bg.TableCPD(wet, [[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]], [rain]),
            bg.TableCPD(rain, [0.8, 0.2]),
        ]
    )


# ----------------------------------------------------------------------------------------- reading


def test_the_documented_example(example: bg.FactorGraph) -> None:
    x, y, z = numbered(2, 2, 3)
    assert example == bg.FactorGraph(
        [bg.Factor([x], X), bg.Factor([x, y], XY), bg.Factor([y, z], YZ)]
    )
    weights = {
        s: X[s[0]] * XY[s[0]][s[1]] * YZ[s[1]][s[2]] for s in product(*map(range, (2, 2, 3)))
    }
    assert example.log_partition == pytest.approx(math.log(sum(weights.values())), abs=1e-12)
    total = sum(weights.values())
    expected = sum(w for (_, y, z), w in weights.items() if (y, z) == (1, 2)) / total
    assert example.log_probability({"x1": 1, "x2": 2}) == pytest.approx(math.log(expected))
    assert format_uai(example) == EXAMPLE


@pytest.mark.parametrize(
    "text",
    [
        EXAMPLE.replace("\n", " "),
        EXAMPLE.replace("\n", "\r\n"),
        EXAMPLE.replace(" ", "\n\t \n"),
        EXAMPLE.strip(),
        "\n\n  " + EXAMPLE.replace("MARKOV", "Markov"),
        EXAMPLE.replace("0.128", "+12.8E-2").replace("0.92", ".92").replace("0.0 ", "0. "),
        "c\nc a comment, MARKOV 1\n" + EXAMPLE.replace("\n\n", "\nc 3 4 5\nc\n"),
        "\ufeff" + EXAMPLE,
    ],
)
def test_ways_to_write_it(example: bg.FactorGraph, text: str) -> None:
    assert parse_uai(text) == example


def test_the_child_is_last_and_fastest() -> None:
    # P(x0) = .6 .4; P(x2 | x1, x0) with x1 slowest; P(x1 | x0).
    text = """BAYES 3  2 3 2  3
        3 1 0 2   1 0   2 0 1
        12  .10 .90  .20 .80  .30 .70  .40 .60  .50 .50  .55 .45
        2   .6 .4
        6   .1 .2 .7  .3 .3 .4"""
    net = parse_uai(text)
    assert net.names == ("x0", "x1", "x2")
    assert net.graph.edges == {("x1", "x2"), ("x0", "x2"), ("x0", "x1")}
    # x0 = 1, x1 = 2, x2 = 0: the last row of the first table.
    log = net.log_probability({"x0": 1, "x1": 2, "x2": 0})
    assert log == pytest.approx(math.log(0.4 * 0.4 * 0.55), abs=1e-12)
    log = net.log_probability({"x0": 1, "x1": 0, "x2": 1})
    assert log == pytest.approx(math.log(0.4 * 0.3 * 0.80), abs=1e-12)
    assert format_uai(net).startswith(
        "BAYES\n3\n2 3 2\n3\n1 0\n2 0 1\n3 1 0 2\n\n2\n0.6 0.4\n\n6\n0.1 0.2 0.7\n"
    )


@pytest.mark.parametrize(
    "scopes",
    [
        [[0, 1], [1, 2], [3]],
        [[1, 0], [2], [3]],
        [[3, 2], [0, 1]],
        [[0, 2], [1, 3]],
        [[0, 1], [2]],
        [[0], [3]],
        [],
        [[]],
    ],
)
def test_variables_keep_their_numbers(scopes: list[list[int]]) -> None:
    cards = [2, 3, 1, 4]
    tables = [np.arange(1, 1 + math.prod(cards[v] for v in scope)) for scope in scopes]
    parts: list[Any] = ["MARKOV", 4, *cards, len(scopes)]
    for scope in scopes:
        parts += [len(scope), *scope]
    for table in tables:
        parts += [table.size, *table.tolist()]
    graph = parse_uai(" ".join(map(str, parts)))
    assert graph.variables == tuple(numbered(*cards))
    order = list(dict.fromkeys(v for scope in scopes for v in scope))
    assert [[int(v.name[1:]) for v in term.scope] for term in graph.terms] == [
        *([v] for v in range(4) if order != [0, 1, 2, 3]),
        *scopes,
    ]
    total = 1.0
    free = set(range(4)).difference(*scopes)
    for variable in free:
        total *= cards[variable]
        expected = np.full(cards[variable], 1 / cards[variable])
        np.testing.assert_allclose(graph.query(f"x{variable}").probabilities, expected)
    joint = np.ones(cards)
    for scope, table in zip(scopes, tables, strict=True):
        factor = table.reshape([cards[v] for v in scope])
        joint = joint * np.einsum(factor, scope, np.ones(cards), [0, 1, 2, 3], [0, 1, 2, 3])
    assert graph.log_partition == pytest.approx(math.log(joint.sum()), abs=1e-12)


def test_rounded_rows_follow_the_convention_of_bif(tmp_path: Path) -> None:
    text = "BAYES 2 2 3 2 1 0 2 0 1\n2 .5 .5\n6 .33 .33 .33\n.2 .3 .5"
    (tmp_path / "a.uai").write_text(text)
    with pytest.warns(
        BayesGraphWarning, match=r"a\.uai: rows of the tables of 'x1'.*0\.01"
    ) as seen:
        net = bg.load(tmp_path / "a.uai")
    assert seen[0].filename == __file__
    np.testing.assert_allclose(net["x1"].values[0], 1 / 3)
    np.testing.assert_array_equal(net["x1"].values[1], [0.2, 0.3, 0.5])
    with pytest.raises(FileFormatError, match=r"a\.uai, line 3: .*given x0=0 sum to 0\.99"):
        bg.load(tmp_path / "a.uai", normalize=False)
    with pytest.raises(FileFormatError, match=r"line 4: .*given x0=1 sum to 0\.9,.*with MARKOV"):
        parse_uai(
            text.replace(".33 .33 .33", ".2 .3 .5").replace("\n.2 .3 .5", "\n.2 .3 .4"),
            normalize=False,
        )
    parse_uai(text.replace("BAYES", "MARKOV"))  # weights need not sum to one


SMALL = "MARKOV\n2\n2 3\n1\n2 0 1\n6\n1 2 3\n4 5 6\n"
BAYES = "BAYES\n2\n2 2\n2\n1 0\n2 0 1\n2\n.5 .5\n4\n.1 .9\n.2 .8\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected 'MARKOV', 'BAYES' as the first word; got an empty file"),
        ("MARKVO 1", "got 'MARKVO'. Did you mean 'MARKOV'"),
        ("\x1f\x8bx", "expected 'MARKOV', 'BAYES'"),
        ("MARKOV", "line 1: expected the number of variables: a number; got the end of the file"),
        ("MARKOV 0 0", "the number of variables, an integer 1 or more; got '0'"),
        ("MARKOV 1.5", "the number of variables, an integer 1 or more; got '1.5'"),
        ("MARKOV 1e300 2", "the number of variables, an integer 1 or more; got '1e300'"),
        ("MARKOV inf", "the number of variables, an integer 1 or more; got 'inf'"),
        (
            "MARKOV 9999999999 2",
            "numbers of states: 9999999998 more of 9999999999 numbers; got the",
        ),
        (SMALL.replace("2 3\n1", "2 0\n1"), "line 3: expected numbers of states, an .* got '0'"),
        (SMALL.replace("\n1\n", "\n-1\n"), "line 4: expected the number of functions.*got '-1'"),
        (
            SMALL.replace("\n1\n", "\n1000000000\n"),
            "line 7: .*scope of function 1, .*got '2'",
        ),
        (SMALL.replace("2 0 1", "70 0 1"), "line 5: expected the size of .*from 0 to 63; got '70'"),
        (SMALL.replace("2 0 1", "2 0 2"), "line 5: .*scope of function 0, .* 0 to 1; got '2'"),
        (SMALL.replace("2 0 1", "2 0 -1"), "line 5: .*scope of function 0, .* 0 to 1; got '-1'"),
        (SMALL.replace("2 0 1", "2 1 1"), r"line 5: .* each variable once, not \[1, 1\]; got '1'"),
        (SMALL.replace("6\n1", "5\n1"), r"line 6: expected 6 \(2 x 3\) .*\[0, 1\]; got '5'"),
        (SMALL.replace("4 5 6", "4 5"), "line 8: expected the entries of function 0: 1 more of 6"),
        (SMALL.replace("4 5 6", "4 -5 6"), "line 8: expected .* function 0: finite .*got '-5'"),
        (SMALL.replace("4 5 6", "4 1e999 6"), "line 8: .* finite .*got '1e999'"),
        (SMALL.replace("4 5 6", "4 inf 6"), "line 8: .* finite .*got 'inf'"),
        (SMALL.replace("4 5 6", "4 nan 6"), r"line 8: expected a number; got 'nan' \(number 13"),
        (SMALL.replace("4 5 6", "4 1_0 6"), "line 8: expected a number; got '1_0'"),
        (SMALL.replace("4 5 6", "4 5.5.5 6"), "line 8: expected a number; got '5.5.5'"),
        (SMALL.replace("4 5 6", "4 é 6"), "line 8: expected a number; got 'é'"),
        (
            SMALL.replace("4 5 6", "4 5 6 7\n8"),
            "line 8: expected the end of .* got '7'.* 2 are too",
        ),
        (SMALL.replace("2 3", "2 9999999"), r"expected 19999998 \(2 x 9999999\)"),
        ("MARKOV 1 99999999999 0", "1 variables with 99999999999 states.* no scope, would take"),
        (
            BAYES.replace("2 0 1", "2 1 0"),
            "line 6: .*one table for each child.*function 0 is.*got '0'",
        ),
        (BAYES.replace("1 0\n", "0\n"), "line 5: expected a child in the scope of function 0"),
        (
            BAYES.replace("2\n1 0\n", "1\n"),
            "a scope for each child; the variables 0 are the last of n",
        ),
        (BAYES.replace("1 0\n", "2 1 0\n").replace("2\n.5 .5", "4 1 0 1 0"), "cycle: 'x0' -> 'x1'"),
        (
            BAYES.replace(".9\n.2 .8", ".2\n.9 .8"),
            "line 10: .*child varies fastest; .*varied slowest",
        ),
        (BAYES.replace(".2 .8", "1.2 -.2"), "line 11: .*not negative; got '-.2'"),
    ],
)
def test_errors_name_the_line_and_what_was_expected(text: str, message: str) -> None:
    with pytest.raises(FileFormatError, match=f"(?s)UAI text.*{message}"):
        parse_uai(text)


@pytest.mark.parametrize(
    ("faults", "message"),
    [
        ({3: "1 2", 6: "2 1 1"}, "scope of function 1, an integer .*got '2'"),
        ({4: "2 1 1", 5: "1 .5"}, r"scope of function 2 with each .* \[1, 1\]; got '1'"),
        ({4: "2 1 1", 5: "64"}, "scope of function 2 with each"),
        ({4: "99", 5: "1 2"}, "size of the scope of function 2, .*got '99'"),
        ({6: "2 0 0", 9: "4 1 1 1"}, "scope of function 4 with each"),
        (
            {8: "2 3 3", 9: "4 1 -1 1 1"},
            r"expected 1 \(a constant\) .* function 1 .* \[\]; got '2'",
        ),
        ({8: "1 inf", 9: "5 1 1 1 1"}, "entries of function 1: finite .*got 'inf'"),
        ({9: "3 1 1 1", 10: "2 3"}, r"expected 4 \(2 x 2\) .* function 2 .*; got '3'"),
        ({11: "2 1"}, "entries of function 4: 1 more of 2 numbers"),
    ],
)
def test_the_first_of_several_faults_is_named(faults: dict[int, str], message: str) -> None:
    lines = ["MARKOV 2 2 2", "5", "1 0", "0", "2 0 1", "0", "1 1"]
    lines += ["2 1 1", "1 3", "4 1 1 1 1", "1 3", "2 1 1"]
    parse_uai("\n".join(lines))
    for line, text in faults.items():
        lines[line] = text
    with pytest.raises(FileFormatError, match=f"line {min(faults) + 1}: .*{message}"):
        parse_uai("\n".join(lines))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (".2 .7", r"line 11: TableCPD P\(x1 \| x0\).*given x0=1 sum to 0.9"),
        ("1e308 1.7e308", "line 11: .*sum to inf"),
        ("0 0", "line 11: .*sum to 0, .*normalize=True"),
    ],
)
def test_tables_that_are_no_conditional_probabilities(
    row: str, message: str, tmp_path: Path
) -> None:
    text = BAYES.replace(".2 .8", row)
    with pytest.raises(FileFormatError, match=message):
        parse_uai(text, normalize=False)
    (tmp_path / "a.uai").write_text(text)
    with pytest.warns(BayesGraphWarning, match=r"a\.uai: .*'x1'.* as a FactorGraph") as seen:
        graph = bg.load(tmp_path / "a.uai")
    assert seen[0].filename == __file__
    markov = parse_uai(text.replace("BAYES", "MARKOV"))
    assert isinstance(graph, bg.FactorGraph)
    assert graph == markov


def test_rows_of_weights_are_normalised_on_request() -> None:
    with pytest.warns(BayesGraphWarning, match=r"'x0', 'x1' do not sum to one.* up to 9"):
        net = parse_uai(BAYES.replace(".5 .5", "3 1").replace(".2 .8", "7 3"), normalize="always")
    np.testing.assert_array_equal(net["x0"].values, [0.75, 0.25])
    np.testing.assert_array_equal(net["x1"].values, [[0.1, 0.9], [0.7, 0.3]])
    with pytest.warns(BayesGraphWarning, match="rows of zeros became uniform in 'x1'"):
        net = parse_uai(BAYES.replace(".2 .8", "0 0"), normalize="always")
    np.testing.assert_array_equal(net["x1"].values[1], [0.5, 0.5])
    with pytest.raises(FileFormatError, match=r"line 11: .*sum to 0,"):
        parse_uai(BAYES.replace(".2 .8", "0 0"), normalize=False)
    with pytest.raises(DataError, match="True, False or 'always'; got 'never'"):
        parse_uai(BAYES, normalize="never")  # type: ignore[arg-type]


def test_comments_of_pyagrum_are_skipped() -> None:
    text = "# a net\n" + BAYES.replace("1 0\n", "1 0 # x0\n").replace("2\n.5", "2 # n\n.5")
    assert parse_uai(text) == parse_uai(BAYES)
    with pytest.raises(FileFormatError, match="line 12: expected a number; got 'x'"):
        parse_uai(text.replace(".2 .8", ".2 x"))


# As pyAgrum 3.3 writes it: the child varies fastest, and then the first parent.
OF_AGRUM = """BAYES
3
2 2 2
3
1 0   # a
1 1   # b
3 0 1 2   # c

2
  0.25 0.75

2
  0.1 0.9

8
  0.9 0.1
  0.5 0.5
  0.2 0.8
  0.3 0.7
"""


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=repr)
def test_networks_of_pyagrum_are_read_as_it_means_them(end: str) -> None:
    with pytest.warns(BayesGraphWarning, match="pyAgrum wrote this file.*first variable"):
        net = parse_uai(OF_AGRUM.replace("\n", end))
    # .25 (.1 * .9 + .9 * .2) + .75 (.1 * .5 + .9 * .3), by hand.
    assert net.query("x2")[0] == pytest.approx(0.3075, abs=1e-15)
    # As one of its own files is spelt: P(out | family out, ill) is .99, P(out | at home, ill) .97.
    dog = "BAYES 3\n2 2 2\n3\n1 0 # family\n1 1  # ill\n3 0 1 2\t#out\n2 .15 .85\n2 .01 .99\n8\n"
    with pytest.warns(BayesGraphWarning, match="remove the comments behind"):
        net = parse_uai((dog + ".99 .01\n.97 .03\n.9 .1\n.3 .7\n").replace("\n", end))
    assert net.query("x2", {"x0": 1, "x1": 0})[0] == pytest.approx(0.97)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # The same words without the comments are of the format.
        net = parse_uai(re.sub("   #.*", "", OF_AGRUM))
        # Of one parent there is one order.
        chain = "BAYES\n2\n2 2\n2\n1 0   # a\n2 0 1   # b\n\n2\n .5 .5\n4\n .9 .1\n .2 .8\n"
        assert parse_uai(chain).query("x1")[0] == pytest.approx(0.55)
    assert net.query("x2")[0] == pytest.approx(0.3525, abs=1e-15)


@pytest.mark.filterwarnings("ignore:.* do not sum to one")  # six digits are written
@pytest.mark.parametrize("seed", range(3))
def test_networks_that_pyagrum_wrote_answer_as_there(seed: int, tmp_path: Path) -> None:
    agrum = pytest.importorskip("pyagrum")
    agrum.initRandom(seed + 1)
    network = agrum.fastBN("a->c{x|y|z}<-b;c->d<-a;e[4]->d;b->e;f->a;f->e")
    agrum.saveBN(network, str(tmp_path / "x.uai"))
    engine = agrum.LazyPropagation(network)
    engine.makeInference()
    with pytest.warns(BayesGraphWarning, match="pyAgrum wrote this file"):
        net = bg.load(tmp_path / "x.uai")
    for i, variable in enumerate(net.variables):
        theirs = engine.posterior(i).toarray()
        np.testing.assert_allclose(net.query(variable.name).probabilities, theirs, atol=2e-5)


def test_markov_fields_of_pyagrum_are_read_as_it_means_them() -> None:
    # As pyAgrum 3.3 writes it: the order of a scope is no other than that of a set.
    numbers = "0.9 0.5 0.925 0.4 0.75 0.375 0.05 0.75 0.0625 0.5 0.625 0.25", "1 4 3 1 6 2"
    text = "MARKOV\n4 # nbr Nodes\n2 2 3 2 \n2 # nbr Factors \n3 1 0 2 \n2 3 2 \n\n12 # {0, 1, 2}\n"
    text += f"  {numbers[0]} \n\n6 # {{2, 3}}\n  {numbers[1]} \n"
    with pytest.warns(BayesGraphWarning, match="pyAgrum wrote this file"):
        graph = parse_uai(text)
    first, second = (np.array(some.split(), dtype=float) for some in numbers)
    joint = np.einsum("cba,dc->abcd", first.reshape(3, 2, 2), second.reshape(2, 3))
    for i in range(4):
        expected = joint.sum(axis=tuple({*range(4)} - {i})) / joint.sum()
        np.testing.assert_allclose(graph.query(f"x{i}").probabilities, expected, atol=1e-15)


def test_constants_of_zero_are_named() -> None:
    graph = parse_uai("MARKOV 1 2 4 0 0 0 1 0  1 0  1 3  1 0  2 1 1")
    with pytest.raises(ImpossibleEvidenceError, match="2 of them, over no variable, are the const"):
        graph.log_probability({"x0": 0})
    with pytest.raises(ImpossibleEvidenceError, match="as if one is the constant 0"):
        graph.query("x0")


def test_truncated_files_are_refused() -> None:
    words = EXAMPLE.split()
    for n in range(len(words)):
        with pytest.raises(FileFormatError, match="UAI text"):
            parse_uai("\n".join(words[:n]))


def test_altered_files_are_another_model_or_refused() -> None:
    for text in (SMALL, BAYES):
        for at in range(len(text)):
            for other in "0 7-.ex\n":
                changed = text[:at] + other + text[at + 1 :]
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", BayesGraphWarning)
                    try:
                        parse_uai(changed)
                    except FileFormatError:
                        continue


def test_gzip(example: bg.FactorGraph, tmp_path: Path) -> None:
    path = tmp_path / "a.uai.gz"
    example.save(path)
    first = path.read_bytes()
    assert gzip.decompress(first).decode() == EXAMPLE
    example.save(path)
    assert path.read_bytes() == first
    assert bg.load(path) == example
    (tmp_path / "a.uai").write_bytes(first)  # gzip in spite of its name
    assert bg.load(tmp_path / "a.uai") == example
    path.write_bytes(first[:-4])
    with pytest.raises(FileFormatError, match="truncated or altered"):
        bg.load(path)
    with pytest.raises(FileNotFoundError, match="There is no such file"):
        bg.load(tmp_path / "none.uai")


def test_variables_give_names_and_states(named: bg.BayesianNetwork, tmp_path: Path) -> None:
    named.save(tmp_path / "a.uai", strict=False)
    numbers = numbered(3, 2)
    assert bg.load(tmp_path / "a.uai", variables=numbers).variables == tuple(numbers)
    (tmp_path / "a.uai").write_text(re.sub("#.*", "", (tmp_path / "a.uai").read_text()))
    assert bg.load(tmp_path / "a.uai").variables == tuple(numbers)
    assert bg.load(tmp_path / "a.uai", variables=named.variables) == named
    wet, rain = named.variables
    for variables, message in [
        ([wet], "expected 2 variables= for the file; got 1"),
        ([rain, wet], "discrete variable of 3 states in place 0.*'rain'"),
        ([wet, bg.Continuous("x")], "discrete variable of 2 states in place 1.*'x'"),
        (["wet", "rain"], "discrete variable of 3 states in place 0.*'wet'"),
        ([wet, bg.Discrete("wet", [0, 1])], "variables= of different names"),
    ]:
        with pytest.raises(ModelError, match=message):
            bg.load(tmp_path / "a.uai", variables=variables)


# ----------------------------------------------------------------------------------------- writing


def test_names_and_states_are_not_lost_in_silence(
    named: bg.BayesianNetwork, tmp_path: Path
) -> None:
    path = tmp_path / "a.uai"
    with pytest.raises(LossyExportError) as caught:
        named.save(path)
    assert "the names 'wet', 'rain': names are x0, x1, ... in this order (strict=False" in str(
        caught.value
    )
    assert "the states 'no', 'yes' of 'rain': states are 0, 1, ..." in str(caught.value)
    assert not path.exists()
    assert len(named.save(path, strict=False).restored) == 3
    assert bg.load(path) == named
    assert path.read_text().startswith("BAYES\n2\n3 2\n2\n2 1 0\n1 1\n\n6\n0.7 0.2 0.1\n")


@pytest.mark.parametrize("states", [["0", "1"], [1, 0], [False, True], [0.0, 1.0]])
def test_states_of_another_type_or_order_are_restored(states: list[Any]) -> None:
    net = bg.BayesianNetwork([bg.TableCPD(bg.Discrete("x0", states), [0.25, 0.75])])
    with pytest.raises(LossyExportError, match=r"the states .* of 'x0': states are 0, 1, \.\.\."):
        format_uai(net)
    back = parse_uai(format_uai(net, strict=False))
    assert back == net


def test_what_cannot_be_held_is_listed(tmp_path: Path) -> None:
    a, x, y = bg.Discrete("x0", [0, 1]), bg.Continuous("x"), bg.Continuous("y")
    net = bg.BayesianNetwork(
        [
            bg.TableCPD(a, [0.5, 0.5]),
            bg.GaussianCPD(x, [0, 1], [1, 1], [a]),
            bg.GaussianCPD(y, 0, 1),
        ]
    )
    for model in (net, bg.FactorGraph.of(net)):
        for strict in (True, False):
            with pytest.raises(LossyExportError, match=r"(?s)'x'.* cont"):
                model.save(tmp_path / "a.uai", strict=strict)
    with pytest.raises(LossyExportError, match="Bayesian networks and factor graphs; got 3"):
        format_uai(3)
    assert not list(tmp_path.iterdir())


def test_arc_scores_are_kept_and_exponents_reported() -> None:
    a, b = numbered(2, 2)
    cpds = [bg.TableCPD(a, [0.5, 0.5]), bg.TableCPD(b, [[0.5, 0.5], [1, 0]], [a])]
    net = bg.BayesianNetwork(cpds, arc_scores={("x0", "x1"): 0.5})
    assert parse_uai(format_uai(net)).arc_scores == net.arc_scores
    graph = bg.FactorGraph(cpds, exponents=[None, [[0.5, 2.0], [1.0, 0.0]]])
    with pytest.warns(LossyExportWarning, match="the exponents of 1 factors are applied"):
        back = parse_uai(format_uai(graph))
    with pytest.warns(LossyExportWarning, match="the domain of the exponents, 'unit', is left out"):
        format_uai(bg.FactorGraph(cpds, domain="unit"))
    np.testing.assert_allclose(back.factors[1].values, [[0.5**0.5, 0.25], [1.0, 1.0]], rtol=1e-15)


@pytest.mark.parametrize("exponent", [-1.0, 30.0])
def test_numbers_beyond_the_range_of_floats_are_refused(exponent: float) -> None:
    (a,) = numbered(2)
    graph = bg.FactorGraph([bg.Factor([a], [1e-320, 1.0])], exponents=[exponent], domain="free")
    with pytest.raises(LossyExportError, match="values beyond the range of floats"):
        format_uai(graph, strict=False)


def test_numbers_are_exact() -> None:
    values = [0.1 + 0.2, 1 / 3, 5e-324, 1e-310, 1.7e308, 0.0, 1e14, 123456789.0, 0.1, 1 - 2**-53]
    (a,) = numbered(len(values))
    graph = bg.FactorGraph([bg.Factor([a], values)])
    assert parse_uai(format_uai(graph)) == graph
    assert (
        format_uai(graph)
        .splitlines()[-1]
        .endswith("0.0 100000000000000.0 123456789.0 0.1 0.9999999999999999")
    )
    rows = [[0.1 + 0.2, 1 - (0.1 + 0.2)], [5e-324, 1.0], [1 / 3, 2 / 3], [-0.0, 1.0]]
    b, c = numbered(4, 2)
    net = bg.BayesianNetwork([bg.TableCPD(b, [0.25] * 4), bg.TableCPD(c, rows, [b])])
    assert parse_uai(format_uai(net))["x1"].values.tobytes() == np.array(rows).tobytes()


@st.composite
def networks(draw: Any) -> bg.BayesianNetwork:
    cards = draw(st.lists(st.integers(1, 4), min_size=1, max_size=6))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    variables = numbered(*cards)
    order = random.permutation(len(cards))
    cpds: dict[bg.Discrete, bg.TableCPD] = {}
    for at, i in enumerate(order):
        parents = [variables[j] for j in order[:at] if random.random() < 0.5]
        values = random.dirichlet(np.full(cards[i], 0.3), [p.cardinality for p in parents])
        cpds[variables[i]] = bg.TableCPD(variables[i], values, parents)
    return bg.BayesianNetwork([cpds[v] for v in variables])


@st.composite
def graphs(draw: Any, *, powered: bool) -> bg.FactorGraph:
    cards = draw(st.lists(st.integers(1, 4), min_size=1, max_size=5))
    random = np.random.default_rng(draw(st.integers(0, 2**32)))
    names = random.permutation(["a", "b", "c", "d", "e"])
    variables = [
        bg.Discrete(str(name), list("uvwx")[:n]) for name, n in zip(names, cards, strict=False)
    ]
    factors, exponents = [], []
    for _ in range(draw(st.integers(1, 5))):
        size = random.integers(0 if factors else 1, len(cards) + 1)
        scope = [variables[i] for i in random.permutation(len(cards))[:size]]
        shape = [v.cardinality for v in scope]
        values = random.gamma(0.5, size=shape) * 10.0 ** random.integers(-30, 30)
        factors.append(bg.Factor(scope, np.where(random.random(shape) < 0.2, 0.0, values)))
        kinds = [None, random.random() * 3, random.random(shape) * 2]
        exponents.append(kinds[random.integers(3)] if powered else None)
    return bg.FactorGraph(factors, exponents=exponents)


@given(networks())
def test_networks_go_round(network: bg.BayesianNetwork) -> None:
    back = parse_uai(format_uai(network))
    assert back == network
    for one, other in zip(network.cpds, back.cpds, strict=True):
        assert one.values.tobytes() == other.values.tobytes()
        assert one.parents == other.parents


@given(graphs(powered=False))
def test_factor_graphs_go_round(graph: bg.FactorGraph) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LossyExportWarning)
        text = format_uai(graph, strict=False)
        back = parse_uai(text)
        assert back == graph  # bit for bit, order of factors, scopes and variables included
        assert format_uai(back, strict=False) == text


@given(graphs(powered=True))
def test_powered_factor_graphs_go_round(graph: bg.FactorGraph) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LossyExportWarning)
        back = parse_uai(format_uai(graph, strict=False))
    assert back.variables == graph.variables
    for one, other in zip(graph.terms, back.terms, strict=True):
        np.testing.assert_allclose(other.table.log_values, one.table.log_values, atol=1e-12)
    assert back.log_partition == pytest.approx(graph.log_partition, abs=1e-10)


def test_factor_graphs_of_cpds(named: bg.BayesianNetwork) -> None:
    graph = bg.FactorGraph.of(named)
    back = parse_uai(format_uai(graph, strict=False))
    assert back.log_partition == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(
        back.query("rain", {"wet": "damp"}).probabilities,
        named.query("rain", {"wet": "damp"}).probabilities,
    )


def test_only_results_have_several_solutions(tmp_path: Path) -> None:
    (tmp_path / "a.uai").write_text("BAYES\n9 9\n-BEGIN-\n1\n2\n1\n1 0\n2\n0.5 0.5\n")
    with pytest.raises(FileFormatError, match="line 3: expected a number; got '-BEGIN-'"):
        bg.load(tmp_path / "a.uai")


# ---------------------------------------------------------------------------------------- evidence


@pytest.fixture
def evid(tmp_path: Path) -> Path:
    return tmp_path / "a.uai.evid"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2 1 0 2 1", {"x1": 0, "x2": 1}),
        ("2\n1 0\n2 1\n", {"x1": 0, "x2": 1}),  # 2006 and 2008
        ("1\n2 1 0 2 1\n", {"x1": 0, "x2": 1}),  # 2010 and 2011
        ("1 2 2", {"x2": 2}),
        ("1\n1 2 2", {"x2": 2}),
        ("1\n0", {}),
        ("0", {}),
        ("2 0 1 2 0", {"x0": 1, "x2": 0}),  # or two samples, the first of them empty
    ],
)
def test_evidence_of_all_years(
    example: bg.FactorGraph, evid: Path, text: str, expected: dict[str, int]
) -> None:
    evid.write_text(text)
    found = read_uai_evidence(evid, example)
    assert found == expected
    assert list(found) == list(expected)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected the number of observed variables: a number; got the end"),
        ("1.5 1", "expected the number of observed .*got '1.5'"),
        ("x", "line 1: expected a number; got 'x'"),
        ("2 1 0 2", "expected 4 numbers after the first one, 2, .*got 3.*truncated"),
        ("2 1 0 2 1 0", "expected 4 numbers after the first one, 2, .*got 5"),
        ("1\n1 0.5 0", "the number of a variable.*got '0.5'"),
        ("1\n-1 0", "the number of a variable, an integer from 0 to 2; got '-1'"),
        ("1 3 0", "the number of a variable, an integer from 0 to 2; got '3'"),
        ("1\n2 3", "line 2: expected a state of 'x2', an integer from 0 to 2; got '3'"),
        ("2\n1 0\n1 1", "line 3: expected each variable once; 'x1' is observed already"),
        ("2\n2 1 0 2 1\n1 0 1\n", "expected 4 numbers .*of several samples"),
    ],
)
def test_damaged_evidence(example: bg.FactorGraph, evid: Path, text: str, message: str) -> None:
    evid.write_text(text)
    with pytest.raises(FileFormatError, match=rf"a\.uai\.evid.*{message}"):
        read_uai_evidence(evid, example)


def test_evidence_is_written_in_the_order_of_the_variables(
    named: bg.BayesianNetwork, evid: Path
) -> None:
    evidence = {"rain": "yes", "wet": "damp"}
    write_uai_evidence(evidence, named, evid)
    assert evid.read_text() == "2 0 1 1 1\n"
    assert read_uai_evidence(evid, named) == evidence
    write_uai_evidence({"rain": None, "wet": "wet"}, named, evid)
    assert evid.read_text() == "1 0 2\n"
    for nothing in ({}, None):
        write_uai_evidence(nothing, named, evid)
        assert evid.read_text() == "0\n"
        assert read_uai_evidence(evid, named) == {}
    write_uai_evidence(evidence, named, evid.with_suffix(".gz"))
    assert gzip.decompress(evid.with_suffix(".gz").read_bytes()) == b"2 0 1 1 1\n"
    assert read_uai_evidence(evid.with_suffix(".gz"), named) == evidence


def test_evidence_that_cannot_be_written(named: bg.BayesianNetwork, evid: Path) -> None:
    for evidence, error, message in [
        ({"rian": "no"}, UnknownVariableError, "Did you mean 'rain'"),
        ({"rain": "yess"}, UnknownStateError, "Did you mean 'yes'"),
        ({"rain": [1]}, EvidenceError, "rain"),
        ({"rain": {"no": 1, "yes": 0.5}}, LossyExportError, "evidence on 'rain' is soft"),
    ]:
        with pytest.raises(error, match=message):
            write_uai_evidence(evidence, named, evid)
    mixed = bg.BayesianNetwork([*named.cpds, bg.GaussianCPD(bg.Continuous("t"), 0, 1)])
    with pytest.raises(UnsupportedModelError, match="'t' is continuous"):
        write_uai_evidence({}, mixed, evid)
    assert not evid.exists()
    evid.write_text("0")
    with pytest.raises(UnsupportedModelError, match="'t' is continuous"):
        read_uai_evidence(evid, mixed)


@given(networks(), st.data())
def test_evidence_goes_round(network: bg.BayesianNetwork, data: Any) -> None:
    some = data.draw(st.sets(st.sampled_from(network.variables)))
    evidence = {v.name: data.draw(st.sampled_from(v.states)) for v in some}
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "a.evid")
        write_uai_evidence(evidence, network, path)
        assert read_uai_evidence(path, network) == evidence


# ----------------------------------------------------------------------------------------- results


def test_marginals(named: bg.BayesianNetwork, tmp_path: Path) -> None:
    path = tmp_path / "a.MAR"
    seen = {"wet": "damp"}
    rain = named.query("rain", seen)
    write_uai_result(path, "MAR", {"rain": rain}, named, evidence=seen)
    no, yes = map(repr, rain.probabilities.tolist())
    assert path.read_text() == f"MAR\n2 3 0.0 1.0 0.0 2 {no} {yes}\n"
    first = path.read_bytes()
    write_uai_result(path, "mar", {"rain": rain, "wet": [0, 1, 0]}, named)
    assert path.read_bytes() == first
    kind, marginals = read_uai_result(path, named)
    assert kind == "MAR"
    assert list(marginals) == ["wet", "rain"]
    assert dict(marginals["rain"]) == dict(rain)
    assert marginals["wet"].argmax == "damp"
    assert math.isnan(marginals["rain"].log_evidence)
    write_uai_result(path, "MAR", marginals, named)
    assert path.read_bytes() == first


def test_most_probable_explanations(named: bg.BayesianNetwork, tmp_path: Path) -> None:
    path = tmp_path / "a.MPE"
    seen = {"wet": "wet"}
    assignment = named.most_probable(seen)
    write_uai_result(path, "MPE", assignment, named, evidence=seen)
    assert path.read_text() == "MPE\n2 2 0\n" if assignment["rain"] == "no" else "MPE\n2 2 1\n"
    assert read_uai_result(path, named) == ("MPE", {**assignment, **seen})
    first = path.read_bytes()
    write_uai_result(path, "MPE", {**assignment, **seen}, named)
    assert path.read_bytes() == first
    write_uai_result(path, "MPE", {}, named, evidence={"wet": "dry", "rain": "no"})
    assert path.read_text() == "MPE\n2 0 0\n"


def test_partition_functions(example: bg.FactorGraph, tmp_path: Path) -> None:
    path = tmp_path / "a.PR"
    write_uai_result(path, "PR", example.log_partition, example)
    kind, value = path.read_text().split()
    assert kind == "PR"
    assert 10 ** float(value) == pytest.approx(math.exp(example.log_partition), rel=1e-14)
    result = read_uai_result(path, example)
    assert result.kind == "PR"
    assert result.value == pytest.approx(example.log_partition, rel=1e-15)
    write_uai_result(path, "PR", -math.inf, example)
    assert path.read_text() == "PR\n-inf\n"
    assert read_uai_result(path, example).value == -math.inf
    for value in (math.nan, math.inf, None, "x"):
        with pytest.raises(EvidenceError, match="PR takes the natural log"):
            write_uai_result(path, "PR", value, example)


@pytest.mark.parametrize(
    "text",
    [
        "MPE\n3 0 1 2\n",
        "MAP\n3 0 1 2\n",
        "MPE\n1\n3 0 1 2\n",
        "MPE\n3 1 1 1\n-BEGIN-\n3 0 1 2\n",
        "MPE\n1\n3 1 1 1\n-BEGIN-\n1\n3 0 0 0\n-BEGIN-\n1\n3 0 1 2",
    ],
)
def test_results_of_all_years(example: bg.FactorGraph, tmp_path: Path, text: str) -> None:
    (tmp_path / "a").write_text(text)
    kind, found = read_uai_result(tmp_path / "a", example)
    assert kind == "MPE"
    assert found == {"x0": 0, "x1": 1, "x2": 2}


def test_the_documented_marginals(example: bg.FactorGraph, tmp_path: Path) -> None:
    for start in ("MAR\n", "MAR\n1\n"):
        (tmp_path / "a").write_text(start + "3 2 0.1 0.9 2 0.3 0.7 3 0.2 0.2 0.6\n")
        _, marginals = read_uai_result(tmp_path / "a", example)
        assert {name: list(p.values()) for name, p in marginals.items()} == {
            "x0": [0.1, 0.9],
            "x1": [0.3, 0.7],
            "x2": [0.2, 0.2, 0.6],
        }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected 'MAR', 'MPE', 'PR', 'MAP' as the first word; got an empty file"),
        ("MMAP 1 0 1", "expected 'MAR', 'MPE', 'PR', 'MAP' as the first word; got 'MMAP'"),
        ("PR", "expected 1 numbers .*got 0"),
        ("PR\n1 2 3", "expected 1 numbers .*got 3"),
        ("PR\n-0.2 U", "line 2: expected a number; got 'U'"),
        ("PR\ninf", "line 2: expected the log to base 10 of a number; got 'inf'"),
        ("PR\n2\n-1\n-2", "expected 1 numbers .*got 3.*of several samples"),
        ("MPE\n3 0 1", "expected 4 numbers .*got 3"),
        ("MPE\n2 0 1 2", "the number of variables, an integer from 3 to 3; got '2'"),
        ("MPE\n3 0 2 1", "a state of 'x1', an integer from 0 to 1; got '2'"),
        ("MPE\n3 0 -1 1", "a state of 'x1', an integer from 0 to 1; got '-1'"),
        ("MPE\n3 0 1 1\n-BEGIN-\n3 0", "expected 4 numbers .*got 2"),
        ("MAR\n3 2 .1 .9 2 .3 .7 3 .2 .2", "expected 11 numbers .*got 10"),
        ("MAR\n3 2 .1 .9 3 .3 .7 3 .2 .2 .6", "number of states of 'x1', .*from 2 to 2; got '3'"),
        ("MAR\n3 2 .1 .8 2 .3 .7 3 .2 .2 .6", "'x0' with the sum 1, not 0.9; got '.1'"),
        ("MAR\n3 2 -.1 1.1 2 .3 .7 3 .2 .2 .6", "'x0': finite numbers that are not neg.*'-.1'"),
    ],
)
def test_damaged_results(example: bg.FactorGraph, tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "a.res").write_text(text)
    with pytest.raises(FileFormatError, match=rf"a\.res.*{message}"):
        read_uai_result(tmp_path / "a.res", example)


def test_rounded_marginals(example: bg.FactorGraph, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("MAR 3 2 .1 .9 2 .3 .7 3 .333 .333 .333")
    with pytest.warns(BayesGraphWarning, match="the tables of 'x2' do not sum to one") as seen:
        _, marginals = read_uai_result(tmp_path / "a", example)
    assert seen[0].filename == __file__
    np.testing.assert_allclose(marginals["x2"].probabilities, 1 / 3)
    with pytest.raises(FileFormatError, match=r"'x2' with the sum 1, not 0\.999"):
        read_uai_result(tmp_path / "a", example, normalize=False)


def test_noise_below_zero_in_marginals(example: bg.FactorGraph, tmp_path: Path) -> None:
    path = tmp_path / "x.MAR"
    path.write_text("MAR\n3 2 -1e-9 1 2 .3 .7 3 .2 .2 .6\n")
    with pytest.warns(BayesGraphWarning, match="just below zero became zero in 'x0'"):
        marginals = read_uai_result(path, example).value
    assert marginals["x0"].probabilities.tolist() == [0, 1]
    with pytest.raises(FileFormatError, match="'x0', none below zero; got '-1e-9'"):
        read_uai_result(path, example, normalize=False)
    with pytest.raises(FileFormatError, match="function 0: finite numbers that are not negative"):
        parse_uai("MARKOV 1  2  1  1 0  2  -1e-9 1")


def test_results_that_do_not_fit_the_model(named: bg.BayesianNetwork, tmp_path: Path) -> None:
    path = tmp_path / "a"
    both = named.query(["rain", "wet"])
    whole = {"rain": [0.5, 0.5], "wet": [0.2, 0.3, 0.5]}
    for kind, result, evidence, error, message in [
        ("BEL", {}, None, ValueError, "kind is one of 'MAR', 'MPE', 'PR'; got 'BEL'"),
        ("MPE", {"rain": "no"}, None, EvidenceError, "'wet' are neither in the result"),
        ("MPE", {"rain": "yess", "wet": "wet"}, None, UnknownStateError, "mean 'yes'"),
        ("MPE", {"rian": "no"}, None, UnknownVariableError, "Did you mean 'rain'"),
        ("MPE", "no", None, EvidenceError, "MPE takes a mapping"),
        ("MPE", {"rain": "no"}, {"rain": "no"}, EvidenceError, "'rain' are both in the result"),
        ("MAR", named.query("rain"), None, EvidenceError, "MAR takes a mapping"),
        ("MAR", {**whole, "rain": both}, None, EvidenceError, "of 'rain' alone, .*got"),
        (
            "MAR",
            {**whole, "rain": "no"},
            None,
            EvidenceError,
            "of 'rain' alone, or an array of its 2 probabilities",
        ),
        (
            "MAR",
            {**whole, "rain": [0.5, 0.4]},
            None,
            EvidenceError,
            "of 'rain' alone.* its 2 probabilities",
        ),
        (
            "MAR",
            {**whole, "rain": [1.5, -0.5]},
            None,
            EvidenceError,
            "of 'rain' alone.* its 2 probabilities",
        ),
        (
            "MAR",
            {**whole, "rain": [1.0]},
            None,
            EvidenceError,
            "of 'rain' alone.* its 2 probabilities",
        ),
        (
            "MAR",
            {**whole, "rain": [np.nan, 1]},
            None,
            EvidenceError,
            "of 'rain' alone.* its 2 probabilities",
        ),
    ]:
        with pytest.raises(error, match=message):
            write_uai_result(path, kind, result, named, evidence=evidence)
    assert not path.exists()
