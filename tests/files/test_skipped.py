"""What readers leave out of a file is told to whoever listens, for every format that is read."""

import json

import pytest
import r_files

import bayesgraph as bg
from bayesgraph import files as io
from bayesgraph.core import LossReport
from bayesgraph.files import skipped_in_reading
from bayesgraph.files.bif import parse_bif
from bayesgraph.files.dne import parse_dne
from bayesgraph.files.net import parse_net
from bayesgraph.files.xdsl import parse_xdsl
from bayesgraph.files.xmlbif import parse_xmlbif

BIF = """// a remark
network "asia" { property version 2; property author nobody; }
variable rain { type discrete [2] { no, yes }; property position = (1, 2); }
probability ( rain ) { property source "x; y"; table 0.8, 0.2; }
"""
XMLBIF = """<?xml version="1.0"?><!-- a remark --><BIF VERSION="0.3"><NETWORK><NAME>asia</NAME>
<PROPERTY>author = nobody</PROPERTY>
<VARIABLE TYPE="nature"><NAME>rain</NAME><OUTCOME>no</OUTCOME><OUTCOME>yes</OUTCOME>
<PROPERTY>position = (1, 2)</PROPERTY><PROPERTY>colour = red</PROPERTY></VARIABLE>
<DEFINITION><FOR>rain</FOR><TABLE>0.8 0.2</TABLE><PROPERTY>source = x</PROPERTY></DEFINITION>
</NETWORK></BIF>"""
XDSL = """<smile version="1.0" id="asia"><!-- a remark --><nodes><cpt id="rain">
<state id="no" cost="3"/><state id="yes"/><probabilities>0.8 0.2</probabilities>
<property id="author">nobody</property></cpt></nodes><cases/><extensions><genie version="1.0">
<node id="rain"><name>Rain</name><interior color="ffffff"/><font color="0"/></node>
<textbox><caption>a box</caption></textbox></genie></extensions></smile>"""
NET = """% a remark
net { node_size = (80 40); HR_Desc = "kept"; }
node rain { states = ("no" "yes"); state_values = (0 1); HR_Color = "3"; label = "Rain"; }
potential (rain) { data = (0.8 0.2); experience = (10); }
"""
DNE = """// ~->[DNET-1]->~
// a remark
bnet asia { autoupdate = TRUE; visual V1 { x = 1; };
node rain { kind = NATURE; states = (no, yes); statetitles = ("No!", "Yes!"); parents = ();
probs = (0.8, 0.2); belief = (0.8, 0.2); visual V1 { center = (1, 2); height = 7; };
user U { y = 2; }; };
};
"""
NAME = "of the network: the name 'asia'"
TEXTS = {
    "BIF": (
        parse_bif,
        BIF,
        {f"{NAME}, property (2)", "of the file: comment", "of the variables: property",
         "of the tables: property"},
    ),
    "XMLBIF": (
        parse_xmlbif,
        XMLBIF,
        {f"{NAME}, property", "of the file: comment", "of the variables: property",
         "of the tables: property"},
    ),
    "XDSL": (
        parse_xdsl,
        XDSL,
        {f"{NAME}, <cases>, <textbox>", "of the file: comment",
         "of the variables: <property>, cost of states, <interior>, <font>"},
    ),
    "Hugin NET": (
        parse_net,
        NET,
        {"of the network: node_size", "of the file: comment",
         "of the variables: state_values, HR_Color", "of the tables: experience"},
    ),
    "Netica DNE": (
        parse_dne,
        DNE,
        {f"{NAME}, autoupdate", "of the file: comment",
         "of the variables: user U, statetitles, belief, height"},
    ),
}  # fmt: skip
# Those of others have nothing that is left out, or tests of their own below.
OTHERS = {"the native format", "UAI", "an HTML page", "pgmpy's JSON", "R's bnlearn"}


@pytest.mark.parametrize("name", TEXTS)
def test_readers_tell_what_they_leave_out(name):
    parse, text, expected = TEXTS[name]
    with skipped_in_reading() as found:
        parse(text)
    assert {*found.lines()} == expected
    parse(text)  # nobody listens
    assert {*found.lines()} == expected


def test_every_format_that_is_read_has_a_row():
    names = {io.format_of(f"m{suffix}").name for suffix in io.FORMATS}
    assert names - TEXTS.keys() == OTHERS


def test_json_of_pgmpy(tmp_path):
    cpd = {"parents": [], "coefficients": {"(Intercept)": [1.0]}, "variance": [2.0]}
    content = {"nodes": ["a"], "cpds": {"a": cpd}, "arcs": [], "author": "nobody"}
    (tmp_path / "m.json").write_text(json.dumps(content))
    with skipped_in_reading() as found:
        bg.load(tmp_path / "m.json")
    assert found.lines() == ("of the network: 'author'",)


def test_fits_of_r(tmp_path):
    pytest.importorskip("rdata")
    network = bg.BayesianNetwork([bg.GaussianCPD(bg.Continuous("a"), 1.0, 2.0)])
    (tmp_path / "m.rds").write_bytes(r_files.rds(r_files.fit(network)))
    with skipped_in_reading() as found:
        bg.load(tmp_path / "m.rds")
    assert found.lines() == ("of the variables: residuals, fitted.values",)


@pytest.mark.parametrize("suffix", sorted({*io.FORMATS} - {".json", ".rds", ".rda", ".rdata"}))
def test_files_of_bayesgraph_have_nothing_that_is_left_out(suffix, tmp_path):
    rain, wet = bg.Discrete("rain fall", ["no", "yes"]), bg.Discrete("wet", [0, 1])
    net = bg.BayesianNetwork(
        [bg.TableCPD(rain, [0.8, 0.2]), bg.TableCPD(wet, [[0.9, 0.1], [0.2, 0.8]], [rain])]
    )
    path = tmp_path / f"m{suffix}"
    options = {"strict": False} if io.format_of(path).is_strict else {}
    net.save(path, **options)
    with skipped_in_reading() as found:
        assert bg.load(path) == net
    assert found.lines() == ()


def test_the_report_says_so():
    report = LossReport("BIF", skipped=("of the network: the name 'asia'",))
    assert report
    assert str(report).splitlines() == [
        "Written as BIF.",
        "Not read, and therefore lost:",
        "  of the network: the name 'asia'",
    ]
