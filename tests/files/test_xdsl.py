"""XDSL: files as the manuals of GeNIe and SMILE describe them, with brute force and peers."""

from __future__ import annotations

import gzip
import itertools
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from network_files import repository

import bayesgraph as bg
from bayesgraph.core.errors import (
    BayesGraphWarning,
    FileFormatError,
    LossyExportError,
    LossyExportWarning,
)
from bayesgraph.files.xdsl import format_xdsl, parse_xdsl

# A file as GeNIe writes it: a noisy maximum with the order of strengths, a function, a submodel.
GENIE = """<?xml version="1.0" encoding="ISO-8859-1"?>
<!-- This network was created in a trial of some program -->
<smile version="1.0" id="Network1" numsamples="10000" discsamples="10000">
\t<nodes>
\t\t<cpt id="Sun" diagtype="observation" ranked="true">
\t\t\t<state id="none" label="F5" fault="true" />
\t\t\t<state id="some" />
\t\t\t<state id="much" />
\t\t\t<cost>2</cost>
\t\t\t<probabilities>0.2 0.3 0.5</probabilities>
\t\t</cpt>
\t\t<cpt id="Work">
\t\t\t<state id="yes" />
\t\t\t<state id="no" />
\t\t\t<parents>Sun</parents>
\t\t\t<probabilities>0.5 0.5 0.625 0.375 0.125 0.875</probabilities>
\t\t\t<property id="source">a guess</property>
\t\t</cpt>
\t\t<noisymax id="Thirst">
\t\t\t<state id="great" />
\t\t\t<state id="small" />
\t\t\t<state id="no" />
\t\t\t<parents>Sun Work</parents>
\t\t\t<strengths>2 1 0 0 1</strengths>
\t\t\t<parameters>
0.5 0.25 0.25 0.125 0.25 0.625 0 0 1 0.25 0.5 0.25 0 0 1 0.0625 0.125 0.8125</parameters>
\t\t</noisymax>
\t\t<deterministic id="Drinks">
\t\t\t<state id="water" />
\t\t\t<state id="nothing" />
\t\t\t<parents>Thirst Work</parents>
\t\t\t<resultingstates>water water water nothing nothing nothing</resultingstates>
\t\t</deterministic>
\t</nodes>
\t<extensions>
\t\t<genie version="1.0" app="GeNIe 3.0" name="Network1" faultnameformat="nodestate">
\t\t\t<comment>A small network\\nabout thirst.</comment>
\t\t\t<textbox>
\t\t\t\t<caption>of no one</caption>
\t\t\t\t<position>1 2 3 4</position>
\t\t\t</textbox>
\t\t\t<node id="Sun">
\t\t\t\t<name>Sun in the sky</name>
\t\t\t\t<interior color="e5f6f7" />
\t\t\t\t<outline color="000080" />
\t\t\t\t<font color="000000" name="Arial" size="8" />
\t\t\t\t<position>100 20 173 68</position>
\t\t\t\t<comment>Look &amp; see &#252;ber &lt;here&gt;</comment>
\t\t\t</node>
\t\t\t<submodel id="Submodel1">
\t\t\t\t<name>People</name>
\t\t\t\t<position>1 2 3 4</position>
\t\t\t\t<node id="Work"><name>Work</name><position>10 20 30 40</position></node>
\t\t\t\t<submodel id="Inner"><node id="Thirst"><position>far away</position></node></submodel>
\t\t\t</submodel>
\t\t</genie>
\t</extensions>
</smile>
"""


def table(cpd: Any) -> np.ndarray:
    return (cpd if isinstance(cpd, bg.TableCPD) else cpd.to_table()).values


# ------------------------------------------------------------------------------------- reading


def test_a_file_of_genie() -> None:
    net = parse_xdsl(GENIE)
    assert net.names == ("Sun", "Work", "Thirst", "Drinks")
    assert net.variable("Sun").states == ("none", "some", "much")
    assert net["Work"].values.tolist() == [[0.5, 0.5], [0.625, 0.375], [0.125, 0.875]]
    thirst = net["Thirst"]
    assert isinstance(thirst, bg.NoisyMaxCPD)
    assert thirst.variable.states == ("no", "small", "great")  # ascending
    sun, work = thirst.influences
    assert sun.tolist() == [[1, 0, 0], [0.625, 0.25, 0.125], [0.25, 0.25, 0.5]]
    assert work.tolist() == [[0.25, 0.5, 0.25], [1, 0, 0]]
    assert thirst.leak.tolist() == [0.8125, 0.125, 0.0625]
    drinks = net["Drinks"]
    assert isinstance(drinks, bg.DeterministicCPD)
    results = {("great", "yes"): "water", ("great", "no"): "water", ("small", "yes"): "water"}
    for thirsty, busy in itertools.product(["great", "small", "no"], ["yes", "no"]):
        found = net.query("Drinks", {"Thirst": thirsty, "Work": busy})
        assert found[results.get((thirsty, busy), "nothing")] == pytest.approx(1.0, abs=1e-15)


def _brute_force(
    order: tuple[tuple[int, ...], tuple[int, ...]], sun: int, work: int
) -> list[float]:
    """Return P(Thirst | Sun, Work) from the definition: the strongest of all effects.

    The states of the child are those of the file, of which the first is the strongest; the
    parameters have a column for each state of a parent, in the order of strengths, and the leak.
    """
    numbers = [0.5, 0.25, 0.25, 0.125, 0.25, 0.625, 0, 0, 1, 0.25, 0.5, 0.25, 0, 0, 1]
    columns = [*np.reshape(numbers, (-1, 3)), np.array([0.0625, 0.125, 0.8125])]
    effects = [columns[order[0].index(sun)], columns[3 + order[1].index(work)], columns[5]]
    found = [0.0, 0.0, 0.0]
    for states in itertools.product(range(3), repeat=3):
        found[min(states)] += float(np.prod([e[s] for e, s in zip(effects, states, strict=True)]))
    return found


@pytest.mark.parametrize("first", list(itertools.permutations(range(3))))
@pytest.mark.parametrize("second", [(0, 1), (1, 0)])
def test_noisy_maxima_by_brute_force(first: tuple[int, ...], second: tuple[int, ...]) -> None:
    text = GENIE.replace("2 1 0 0 1<", f"{' '.join(map(str, first + second))}<")
    net = parse_xdsl(text)
    for sun, work in itertools.product(range(3), range(2)):
        given = {"Sun": ["none", "some", "much"][sun], "Work": ["yes", "no"][work]}
        found = net.query("Thirst", given)
        expected = _brute_force((first, second), sun, work)
        assert [found[s] for s in ("great", "small", "no")] == pytest.approx(expected, abs=1e-15)
    assert parse_xdsl(format_xdsl(net)) == net


def test_strengths_may_be_missing() -> None:
    given = parse_xdsl(GENIE.replace("2 1 0 0 1<", "0 1 2 0 1<"))
    assert parse_xdsl(GENIE.replace("<strengths>2 1 0 0 1</strengths>", "")) == given


def test_a_noisy_or() -> None:
    text = """<smile id="n"><nodes>
      <cpt id="Flu"><state id="yes"/><state id="no"/><probabilities>0.25 0.75</probabilities></cpt>
      <noisymax id="Fever"><state id="yes"/><state id="no"/><parents>Flu</parents>
        <strengths>0 1</strengths><parameters>0.75 0.25 0 1 0.125 0.875</parameters></noisymax>
      <cpt id="Rest"><state id="yes"/><state id="no"/><parents>Fever Flu</parents>
        <probabilities>0.9 0.1 0.8 0.2 0.3 0.7 0.2 0.8</probabilities></cpt></nodes></smile>"""
    net = parse_xdsl(text)
    fever = net["Fever"]
    assert isinstance(fever, bg.NoisyOrCPD)
    assert fever.probabilities[0].tolist() == [0.75, 0.0]
    assert net.query("Fever", {"Flu": "yes"})["yes"] == pytest.approx(1 - 0.25 * 0.875)
    # The table of a child of a turned node is by the names of its states.
    assert net.query("Rest", {"Fever": "yes", "Flu": "no"})["yes"] == pytest.approx(0.8)
    assert net.query("Rest", {"Fever": "no", "Flu": "yes"})["yes"] == pytest.approx(0.3)
    assert parse_xdsl(format_xdsl(net)) == net


def test_nodes_without_parents_are_tables() -> None:
    net = parse_xdsl(
        """<smile id="n"><nodes>
        <noisymax id="A"><state id="x"/><state id="y"/><parameters>0.25 0.75</parameters></noisymax>
        <deterministic id="B"><state id="x"/><state id="y"/>
            <resultingstates>y</resultingstates></deterministic></nodes></smile>"""
    )
    assert [net["A"].values.tolist(), net["B"].values.tolist()] == [[0.25, 0.75], [0.0, 1.0]]
    assert net.variable("A").states == ("x", "y")


def test_what_genie_shows_becomes_annotations() -> None:
    found = parse_xdsl(GENIE).annotations
    assert found.note == (
        "A small network\nabout thirst.\nSubmodels flattened: 'People' (Work); 'Inner' (Thirst)."
    )
    assert dict(found.titles) == {"Sun": "Sun in the sky"}
    assert dict(found.notes) == {"Sun": "Look & see über <here>"}
    assert dict(found.positions) == {"Sun": (136.5, 44.0), "Work": (20.0, 30.0)}


@pytest.mark.parametrize("blanks", ["\n", " \r\n\t"], ids=repr)
def test_blanks_may_stand_before_the_declaration(blanks: str) -> None:
    assert parse_xdsl(blanks + GENIE) == parse_xdsl(GENIE)


def test_a_text_has_no_encoding_and_a_file_may_be_given_one(tmp_path: Path) -> None:
    text = GENIE.replace("Sun", "Né")
    assert parse_xdsl(text).names[0] == "Né"
    (tmp_path / "net.xdsl").write_text(text, "utf-8")
    assert bg.load(tmp_path / "net.xdsl", encoding="utf-8").names[0] == "Né"


def test_gzip_and_the_order_of_nodes(tmp_path: Path) -> None:
    path = tmp_path / "net.xdsl.gz"
    path.write_bytes(gzip.compress(GENIE.encode("latin-1")))
    assert bg.load(path) == parse_xdsl(GENIE)
    reordered = """<smile id="n"><nodes>
      <cpt id="B"><state id="x"/><state id="y"/><parents>  A\n</parents>
        <probabilities>0.1 0.9
           0.3 0.7</probabilities></cpt>
      <cpt id="A"><state id="1"/><state id="2"/><probabilities>1 0</probabilities></cpt>
      </nodes></smile>"""
    net = parse_xdsl(reordered)
    assert net.names == ("B", "A")
    assert net["B"].values.tolist() == [[0.1, 0.9], [0.3, 0.7]]


def test_rows_that_were_rounded() -> None:
    text = GENIE.replace("0.2 0.3 0.5<", "0.2 0.3 0.499<")
    with pytest.warns(BayesGraphWarning, match="'Sun' do not sum to one"):
        assert parse_xdsl(text)["Sun"].values.sum() == pytest.approx(1.0, abs=1e-15)
    with pytest.raises(FileFormatError, match=r"line 5: .*P\(Sun\)"):
        parse_xdsl(text, normalize=False)
    counts = GENIE.replace("0.2 0.3 0.5<", "2 3 5<")
    with pytest.warns(BayesGraphWarning, match="divided by their sums"):
        assert parse_xdsl(counts, normalize="always")["Sun"].values.tolist() == [0.2, 0.3, 0.5]


# ----------------------------------------------------------------------------------- refused

_SUN = '<cpt id="Sun" diagtype="observation" ranked="true">'
REFUSED = {
    "a decision": (
        '<cpt id="Work">',
        '<decision id="Act"><state id="a"/></decision><cpt id="Work">',
        r"line 12: expected chance nodes with states; got <decision> 'Act'\. Remove decisions",
    ),
    "utilities": (
        "</nodes>",
        '<utility id="U"/><mau id="V"><weights>1</weights></mau></nodes>',
        r"got <utility> 'U', <mau> 'V'\. Remove decisions",
    ),
    "an equation": (
        "</nodes>",
        '<equation id="X"><definition lower="0">X=Normal(0,1)</definition></equation></nodes>',
        r"got <equation> 'X'\. Discretise equations in GeNIe",
    ),
    "a noisy adder": ("</nodes>", '<noisyadder id="N"/></nodes>', r"'N'\. Change it to a chance"),
    "a dynamic network": (
        "</nodes>",
        '</nodes><dynamic numslices="3"><cpt id="Sun" order="1"/></dynamic>',
        r"got <dynamic>\. Unroll the dynamic network",
    ),
    "an unknown kind": ("</nodes>", '<truthtable id="T"/></nodes>', r"<truthtable> 'T'\.$"),
    "another root": ("smile", "network", "expected <smile>, as XDSL files have; got <network>"),
    "no id": (_SUN, "<cpt>", "line 5: expected an id of this <cpt>"),
    "a node twice": ('<cpt id="Work">', '<cpt id="Sun">', "'Sun' is declared a second time"),
    "a state without id": ('<state id="some" />', "<state />", "expected states of 'Sun', each"),
    "a state twice": ('"some"', '"much"', "'Sun' has the state 'much' more than once"),
    "an unknown parent": (
        "<parents>Sun<",
        "<parents>Sunn<",
        r"line 12: the variable 'Sunn' is not declared\. Did you mean 'Sun'",
    ),
    "no table": ("probabilities", "numbers", "expected <probabilities> of 'Sun'"),
    "few numbers": ("0.2 0.3 0.5<", "0.2 0.8<", r"expected 3 probabilities of 'Sun'; got 2"),
    "a word": (
        "0.2 0.3 0.5<",
        "0.2 x 0.5<",
        r"line 10: <probabilities> of 'Sun': expected a number; got 'x'",
    ),
    "a number of Python": ("0.2 0.3 0.5<", "0.2 3_0 0.5<", "got '3_0'"),
    "not a number": ("0.2 0.3 0.5<", "nan 0.3 0.5<", "got 'nan'"),
    "a negative number": ("0.2 0.3 0.5<", "-0.2 0.7 0.5<", "Sun"),
    "an infinite number": ("0.2 0.3 0.5<", "1e999 0.3 0.5<", "Sun"),
    "few parameters": ("0.8125<", "<", "expected 18 parameters of 'Thirst'; got 17"),
    "few strengths": ("2 1 0 0 1<", "2 1 0 0<", "expected 5 strengths of 'Thirst'; got 4"),
    "wrong strengths": ("2 1 0 0 1<", "2 1 1 0 1<", "once among the strengths; got .2, 1, 1."),
    "few results": ("water water water", "water water", "expected 6 resulting states of 'Drinks'"),
    "an unknown result": ("water water water", "water wine water", "has no state 'wine'"),
    "a cycle": ("<parents>Thirst W", "<parents>Drinks W", "expected 4 resulting states"),
    "its own parent": ("<parents>Sun<", "<parents>Work<", "Work"),
    "an entity": (
        "<smile",
        '<!DOCTYPE smile [<!ENTITY a "b">]><smile',
        "no declarations of entities",
    ),
    "broken XML": ("</nodes>", "", "expected XML: mismatched tag"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    old, new, message = REFUSED[name]
    text = GENIE.replace(old, new)
    assert text != GENIE
    with pytest.raises(FileFormatError, match=message):
        parse_xdsl(text)


def test_many_parents_are_refused() -> None:
    one = '<cpt id="p{}"><state id="a"/><probabilities>1</probabilities></cpt>'
    parents = "".join(one.format(i) for i in range(63))
    names = " ".join(f"p{i}" for i in range(63))
    child = f'<cpt id="c"><state id="a"/><parents>{names}</parents><probabilities>1</probabilities>'
    with pytest.raises(FileFormatError, match=r"at most 62 parents of 'c'; got 63"):
        parse_xdsl(f'<smile id="n"><nodes>{parents}{child}</cpt></nodes></smile>')


# ------------------------------------------------------------------------------------- writing


def _canonical() -> bg.BayesianNetwork:
    """Return a network in which canonical distributions have canonical parents."""
    random = np.random.default_rng(11)
    a, b = bg.Discrete("a", ["x", "y", "z"]), bg.Discrete("b", ["no", "yes"])
    peak, alarm = bg.Discrete("peak", ["low", "mid", "high"]), bg.Discrete("alarm", ["off", "on"])
    both, tall = bg.Discrete("both", ["n", "y"]), bg.Discrete("tall", ["n", "m", "y"])
    rows = random.dirichlet(np.ones(3), 2)
    none = [1.0, 0.0, 0.0]
    return bg.BayesianNetwork(
        [
            bg.NoisyMaxCPD(peak, [[rows[0], none, rows[1]], [none, [0.1, 0.2, 0.7]]], [a, b]),
            bg.TableCPD(a, random.dirichlet(np.ones(3))),
            bg.TableCPD(b, random.dirichlet(np.ones(2))),
            bg.NoisyOrCPD(alarm, [[0.9, 0.0, 1 / 3], 0.7], [peak, b], leak=0.1),
            # The same numbers as a noisy or has, in another class.
            bg.NoisyMaxCPD(both, [[[1, 0], [0.3, 0.7]]], [alarm], [0.9, 0.1]),
            bg.DeterministicCPD(
                tall, lambda p, q: "y" if p == "high" else "m" if q == "on" else "n", [peak, alarm]
            ),
            bg.TableCPD(
                bg.Discrete("end", ["s", "t"]),
                random.dirichlet(np.ones(2), (3, 2, 3)),
                [peak, alarm, tall],
            ),
        ]
    )


def test_canonical_distributions_go_round_to_the_bit() -> None:
    net = _canonical()
    back = parse_xdsl(format_xdsl(net))
    assert back == net
    for cpd in net.cpds:
        assert type(back[cpd.variable.name]) is type(cpd)
        assert table(back[cpd.variable.name]).tobytes() == table(cpd).tobytes()
    assert format_xdsl(back) == format_xdsl(net)


def test_a_noisy_maximum_in_the_words_of_smile() -> None:
    """The state without an effect is the last one; so is that of a child, and the leak."""
    a = bg.Discrete("a", ["none", "some"])
    c = bg.Discrete("c", ["low", "high"])
    cpd = bg.NoisyMaxCPD(c, [[[1, 0], [0.25, 0.75]]], [a], [0.875, 0.125])
    text = format_xdsl(bg.BayesianNetwork([bg.TableCPD(a, [0.5, 0.5]), cpd]))
    expected = """    <noisymax id="c">
      <state id="high" />
      <state id="low" />
      <parents>a</parents>
      <strengths>1 0</strengths>
      <parameters>0.75 0.25 0.0 1.0 0.125 0.875</parameters>
      <property id="bayesgraph">NoisyMaxCPD</property>
    </noisymax>
"""
    assert expected in text


def test_what_smile_has_no_form_for_becomes_a_table() -> None:
    a, c = bg.Discrete("a", ["x", "y"]), bg.Discrete("c", ["low", "high"])
    cpds = [bg.TableCPD(a, [0.5, 0.5]), bg.NoisyOrCPD(c, [[0.5, 0.25]], [a])]
    net = bg.BayesianNetwork(cpds)
    with pytest.warns(
        LossyExportWarning, match="'c' has a NoisyOrCPD, which is written as its tab"
    ):
        text = format_xdsl(net)
    back = parse_xdsl(text)
    assert isinstance(back["c"], bg.TableCPD)
    assert (back["c"].values == table(net["c"])).all()
    alone = bg.BayesianNetwork([bg.NoisyMaxCPD(c, [], [], [0.5, 0.5])])
    with pytest.warns(LossyExportWarning, match="written as its table"):
        assert parse_xdsl(format_xdsl(alone))["c"].values.tolist() == [0.5, 0.5]


def test_what_is_not_held_is_refused_by_name() -> None:
    x = bg.Continuous("x")
    with pytest.raises(LossyExportError, match="XDSL cannot hold this model:\n  'x' is continuous"):
        format_xdsl(bg.BayesianNetwork([bg.GaussianCPD(x, 0.0, 1.0)]))
    votes = [bg.Discrete(f"v{i}", ["no", "yes"]) for i in range(25)]
    passed = bg.DeterministicCPD.fold(
        bg.Discrete("passed", ["no", "yes"]),
        lambda n, vote: n + (vote == "yes"),
        votes,
        start=0,
        finish=lambda n: "yes" if n > 12 else "no",
    )
    net = bg.BayesianNetwork([*(bg.TableCPD(v, [0.5, 0.5]) for v in votes), passed])
    with pytest.raises(LossyExportError, match=r"'passed' has a DeterministicCPD, whose table"):
        format_xdsl(net)
    # A noisy or of as many parents has 52 numbers.
    gate = bg.NoisyOrCPD(bg.Discrete("any", ["no", "yes"]), [0.5] * 25, votes)
    net = bg.BayesianNetwork([*(bg.TableCPD(v, [0.5, 0.5]) for v in votes), gate])
    assert parse_xdsl(format_xdsl(net)) == net


def test_names_that_are_no_identifiers_are_restored(tmp_path: Path) -> None:
    day = bg.Discrete(("day", 1), [0, 1, 2.5])
    mood = bg.Discrete("how do you feel?", ["1st", "good & bad", "<so>"])
    rows = [[[1, 0, 0], [0.5, 0.25, 0.25], [0.25, 0.5, 0.25]]]
    net = bg.BayesianNetwork(
        [bg.NoisyMaxCPD(mood, rows, [day]), bg.TableCPD(day, [0.25, 0.25, 0.5])]
    )
    with pytest.raises(LossyExportError, match="names are identifiers: letters"):
        net.save(tmp_path / "net.xdsl")
    report = net.save(tmp_path / "net.xdsl", strict=False)
    assert len(report.restored) == 3
    assert not report.lost
    back = bg.load(tmp_path / "net.xdsl")
    assert back == net
    assert back.variable(mood.name).states == mood.states
    assert not back.annotations  # the title in the file only says the name
    assert "<name>how do you feel?</name>" in (tmp_path / "net.xdsl").read_text()


@pytest.mark.parametrize("name", [" age", "\tage\n", "a\rge", "a\r\nge"])
def test_a_name_with_blanks_leaves_no_title(name: str) -> None:
    net = bg.BayesianNetwork([bg.TableCPD(bg.Discrete(name, ["x", "y"]), [0.5, 0.5])])
    back = parse_xdsl(format_xdsl(net, strict=False))
    assert (back, bool(back.annotations)) == (net, False)


def test_annotations_go_round_exactly() -> None:
    notes = {"Sun": 'ends with a blank \r\n\t"and" \\n \\ <more> & ü', "Work": "--> ]]> \x00"}
    net = bg.models.annotated(
        parse_xdsl(GENIE),
        bg.models.Annotations(
            "of all\\ ",
            {"Sun": (1 / 3, -1e300), "Drinks": (0.5, 7.0)},
            notes,
            {"Thirst": "Thirst ", "Drinks": "Drinks"},
        ),
    )
    text = format_xdsl(net)
    back = parse_xdsl(text)
    assert back == net
    assert back.annotations == net.annotations
    # Other programs see whole numbers.
    assert "<position>-36 -17 36 31</position>" in text
    without = "\n".join(line for line in text.splitlines() if not line.startswith("<!-- bay"))
    seen = parse_xdsl(without).annotations
    assert seen.positions["Drinks"] == (0.0, 7.0)
    assert seen.notes["Sun"].startswith("ends with a blank ")


# --------------------------------------------------------------------------------------- peers


def _saved(text: str, tmp_path: Path) -> str:
    path = tmp_path / "net.xdsl"
    path.write_text(text)
    return str(path)


every = pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, marks=[] if path.name[:4] in ("asia", "alar") else [pytest.mark.slow])
        for path in repository()
    ],
    ids=lambda path: path.name,
)


@every
def test_networks_of_the_repository_go_round_to_the_bit(path: Path) -> None:
    net = bg.load(path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        back = parse_xdsl(format_xdsl(net, strict=False))
    assert back == net
    assert back.names == net.names


@every
def test_pgmpy_reads_what_is_written(path: Path, tmp_path: Path) -> None:
    pytest.importorskip("pgmpy.readwrite", exc_type=ImportError)
    from pgmpy.readwrite import XDSLReader

    net = bg.load(path)
    # pgmpy divides nothing, and takes sums that are off by 0.01.
    model = XDSLReader(_saved(format_xdsl(net, strict=False), tmp_path)).get_model()
    found = [model.get_cpds(node) for node in model.nodes]
    numbers = [bg.from_pgmpy(model)[cpd.variable].values for cpd in found]
    for cpd, values in zip(net.cpds, numbers, strict=True):
        assert (values == cpd.values).all()


@every
def test_pyagrum_reads_what_is_written(path: Path, tmp_path: Path) -> None:
    """pyAgrum 3.3 takes the first parent to vary fastest; GeNIe has the last one vary fastest.

    So it reads tables with one parent, and turns round the order of several.
    """
    gum = pytest.importorskip("pyagrum")
    net = bg.load(path)
    model = gum.loadBN(_saved(format_xdsl(net, strict=False), tmp_path))
    # It names variables by their titles, which say names that are no identifiers.
    for cpd in net.cpds:
        own = model.cpt(cpd.variable.name)
        axes = list(reversed(own.names))  # those of its arrays
        order = [axes.index(v.name) for v in (*reversed(cpd.parents), cpd.variable)]
        assert (own.toarray().transpose(order).reshape(-1) == cpd.values.reshape(-1)).all()


def test_a_file_of_genie_says_which_parent_varies_fastest() -> None:
    """GeNIe 3.0 has asia's dyspnoea so: 0.8 is that of bronchitis alone (Lauritzen 1988)."""
    text = """<smile id="asia"><nodes>
      <cpt id="either"><state id="no"/><state id="yes"/><probabilities>0.9 0.1</probabilities></cpt>
      <cpt id="bronc"><state id="yes"/><state id="no"/><probabilities>0.5 0.5</probabilities></cpt>
      <cpt id="dysp"><state id="yes"/><state id="no"/><parents>either bronc</parents>
        <probabilities>0.8 0.2 0.1 0.9 0.9 0.1 0.7 0.3</probabilities></cpt></nodes>
      <extensions><genie app="GeNIe 3.0.5905.0 ACADEMIC"/></extensions></smile>"""
    dysp = parse_xdsl(text)["dysp"]
    assert dysp.values[..., 0].tolist() == [[0.8, 0.1], [0.9, 0.7]]


def test_what_peers_write_is_read(tmp_path: Path) -> None:
    gum = pytest.importorskip("pyagrum")
    pytest.importorskip("pgmpy.readwrite", exc_type=ImportError)
    from pgmpy.readwrite import XDSLWriter

    alarm = next(path for path in repository() if path.name.startswith("alarm"))
    net = bg.load(alarm)
    path = tmp_path / "peer.xdsl"
    XDSLWriter(bg.files.to_pgmpy(net)).write(str(path))
    back = bg.load(path)
    for cpd in net.cpds:
        # pgmpy prints 16 decimals.
        assert np.abs(back[cpd.variable.name].values - cpd.values).max() < 1e-15
    net.save(tmp_path / "net.bif")
    gum.saveBN(gum.loadBN(str(tmp_path / "net.bif")), str(path))
    with pytest.warns(BayesGraphWarning) as caught:
        back = bg.load(path)
    assert "aGrUM 3" in str(caught[0].message)
    assert "do not sum to one" in str(caught[1].message)  # it prints 6 digits
    for cpd in net.cpds:
        found = back[cpd.variable.name]
        order = [found.parents.index(parent) for parent in cpd.parents]
        assert np.abs(found.values.transpose([*order, len(order)]) - cpd.values).max() < 1e-5


def test_peers_drop_noisy_maxima_and_functions(tmp_path: Path) -> None:
    """Both readers know tables only: pgmpy and pyAgrum fail at a child of another node."""
    gum = pytest.importorskip("pyagrum")
    pytest.importorskip("pgmpy.readwrite", exc_type=ImportError)
    from pgmpy.readwrite import XDSLReader

    path = _saved(format_xdsl(_canonical()), tmp_path)
    with pytest.raises(KeyError, match="peak"):
        XDSLReader(path).get_model()
    with pytest.raises(gum.NotFound, match="peak"):
        gum.loadBN(path)
    leaves = """<smile id="n"><nodes>
      <cpt id="a"><state id="x"/><state id="y"/><probabilities>0.5 0.5</probabilities></cpt>
      <deterministic id="b"><state id="x"/><state id="y"/><parents>a</parents>
      <resultingstates>x y</resultingstates></deterministic></nodes>
      <extensions><genie/></extensions></smile>"""
    path = _saved(leaves, tmp_path)
    assert list(XDSLReader(path).get_model().nodes) == ["a"]  # silently without b
    assert gum.loadBN(path).names() == {"a"}
    assert bg.load(path).names == ("a", "b")


def test_pyagrum_reads_no_file_without_the_extension_of_genie(tmp_path: Path) -> None:
    gum = pytest.importorskip("pyagrum")
    text = format_xdsl(
        bg.BayesianNetwork([bg.TableCPD(bg.Discrete("a", ["x", "y"]), [0.25, 0.75])])
    )
    start, end = text.index("  <extensions>"), text.index("</smile>")
    with pytest.raises(gum.GumException, match="extensions"):
        gum.loadBN(_saved(text[:start] + text[end:], tmp_path))
    assert gum.loadBN(_saved(text, tmp_path)).cpt("a").tolist() == [0.25, 0.75]
