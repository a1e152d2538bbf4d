"""Valid files to start from, small and of every kind, made when they are needed."""

from __future__ import annotations

import bz2
import functools
import gzip
import io
import json
import lzma
import re
import tempfile
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import cases
import golden_models
import numpy as np
import pyarrow as arrow
import pyarrow.parquet
import r_files

import bayesgraph as bg
from bayesgraph.files.uai import format_uai

# From name to estimator and kind of data: each class, and each kind of thing that one may keep.
_ESTIMATORS: dict[str, tuple[Callable[[], Any], str]] = {
    "naive-bayes": (bg.NaiveBayesClassifier, "mixed"),
    "naive-bayes-kernel": (partial(bg.NaiveBayesClassifier, "kernel"), "continuous"),
    "naive-bayes-words": (partial(bg.NaiveBayesClassifier, "multinomial"), "counts"),
    "naive-bayes-predictive": (
        partial(
            bg.NaiveBayesClassifier,
            {"d": "poisson", ("e", "f", "g"): "multinomial"},
            smoothing=bg.Smoothing(estimation="predictive"),
        ),
        "varied",
    ),
    "tan": (bg.TANClassifier, "mixed"),
    "kdb": (bg.KDBClassifier, "discrete"),
    "selective-kdb": (
        partial(bg.BayesianNetworkClassifier, "selective_kdb", exponents=None),
        "discrete",
    ),
    "network": (
        partial(bg.BayesianNetworkClassifier, "tan", exponents="cells", discretizer="frequency"),
        "mixed",
    ),
    "weighted-naive-bayes": (partial(bg.WeightedNaiveBayesClassifier, "variable"), "mixed"),
    "aode": (bg.AODEClassifier, "discrete"),
    "averaged-tan": (partial(bg.AveragedTANClassifier, n_trees=2), "discrete"),
    "linear-discriminant": (bg.DiscriminantAnalysisClassifier, "continuous"),
    "quadratic-discriminant": (partial(bg.DiscriminantAnalysisClassifier, "class"), "continuous"),
    "discriminant": (
        partial(bg.DiscriminantAnalysisClassifier, "shared", regularization="ledoit_wolf"),
        "continuous",
    ),
    "complement": (bg.ComplementNaiveBayesClassifier, "counts"),
    "tree": (partial(bg.DecisionTreeNetworkClassifier, max_leaf_nodes=6), "mixed"),
    "tree-regressor": (partial(bg.DecisionTreeNetworkRegressor, max_leaf_nodes=6), "mixed"),
    "stream-gk": (
        partial(bg.StreamingNaiveBayesClassifier, size=10, discretizer="modl"),
        "mixed",
    ),
    "stream-pid": (
        partial(
            bg.StreamingNaiveBayesClassifier, summary="pid", size=10, decay=0.99, detector="adwin"
        ),
        "mixed",
    ),
    "stream-weighted": (
        partial(
            bg.StreamingWeightedNaiveBayesClassifier,
            summary="gaussian",
            decay=0.99,
            detector="adwin",
        ),
        "discrete",
    ),
}
_BIF = """network "my net" { property "a;b}"; }
// comment { " }
variable "a b" { type discrete [ 2 ] { "x, y", z }; property pos = (1,2) ; }
/* another */
variable c { type discrete [3] { 0 1 2 }; }
variable d { type discrete [2] { true, false }; }
probability ( "a b" ) { table 0.25, 0.75 ; }
probability ( c | "a b" ) { default 0.2 0.3 0.5; ("x, y") 0.1, 0.2, 0.7; }
probability ( d | c, "a b" ) { table 0.1 0.1 0.1 0.1 0.1 0.1 0.9 0.9 0.9 0.9 0.9 0.9 ; }
"""
_UAI = """MARKOV
3
2 3 2
4
1 0
2 0 1 # a comment
2 1 2
0
2
 0.5 2.0
6
 1 2 3 4 5 6
6
 1 0 1 0 1 0.5
1
 3.0
"""
_XDSL = """<?xml version="1.0" encoding="ISO-8859-1"?>
<smile version="1.0" id="n"><nodes>
<cpt id="a"><state id="x"/><state id="y"/><probabilities>0.25 0.75</probabilities></cpt>
<noisymax id="m"><state id="great"/><state id="small"/><state id="no"/><parents>a c</parents>
<strengths>1 0 2 0 1</strengths><parameters>.5 .25 .25 0 0 1 .1 .2 .7 .3 .3 .4 0 0 1 .1 .1 .8
</parameters></noisymax>
<cpt id="c"><state id="p"/><state id="q"/><state id="r"/><parents>a</parents>
<probabilities>0.1 0.2 0.7 1 0 0</probabilities><property id="p">text</property></cpt>
<noisymax id="o"><state id="yes"/><state id="no"/><parents>a</parents>
<parameters>.5 .5 0 1 .125 .875</parameters></noisymax>
<deterministic id="d"><state id="u"/><state id="v"/><parents>m o</parents>
<resultingstates>u u v v u v</resultingstates></deterministic></nodes>
<extensions><genie version="1.0" app="GeNIe" name="n"><comment>A\\nnote</comment>
<node id="a"><name>A title</name><position>10 20 30 41</position><comment>c</comment></node>
<submodel id="s"><name>inner</name><node id="d"><position>1 2 3 4</position></node></submodel>
</genie></extensions></smile>
"""
_DAGITTY = """dag {
bb="-3,-0.5,2,1.2" /* bounds */
D [outcome,pos="1.000,1.000"]
E [exposure,pos="-2.000,1.000"]
"two words" [latent,adjusted]
D <-> Z [pos="1.000,-1.000"] // a curve
E -> D
Z -> { D "two words" }
}
"""
_XMLBIF = """<?xml version="1.0" encoding="ISO-8859-1"?>
<!DOCTYPE BIF [ <!ELEMENT BIF ( NETWORK )*> <!ATTLIST BIF VERSION CDATA #REQUIRED> ]>
<!-- a comment -->
<BIF VERSION="0.3"><NETWORK><NAME>n</NAME><PROPERTY>author = x</PROPERTY>
<VARIABLE TYPE="nature"><NAME>a &amp; b</NAME><OUTCOME>x</OUTCOME><OUTCOME>&lt;y&#233;</OUTCOME>
  <PROPERTY>position = (73, 165.5)</PROPERTY></VARIABLE>
<VARIABLE><NAME> c </NAME><OUTCOME>0</OUTCOME><OUTCOME>1</OUTCOME><OUTCOME>2</OUTCOME></VARIABLE>
<DEFINITION><FOR>a &amp; b</FOR><TABLE>0.25 <!-- x --> 0.75</TABLE></DEFINITION>
<DEFINITION><FOR>c</FOR><GIVEN>a &amp; b</GIVEN><TABLE>.2 .3 .5
  1e-1 <![CDATA[0.2 ]]> 0.7</TABLE></DEFINITION>
</NETWORK></BIF>
"""
_NET = """net { node_size = (80 40); HR_Desc = "a \\"note\\""; }
class N { inputs = (); % a comment { "
node a { label = "A;"; position = (10 -20); states = ("x, y" "z"); HR_Desc = "}"; }
continuous node c { bayesgraph_position = "0.5 -1e3"; }
node d { subtype = interval; state_values = (-infinity 0 1 infinity); }
node e { subtype = boolean; }
potential (a) { data = ( 0.25 0.75 ); }
potential (d | a) { data = (( 0.1 0.2 0.7 ) % x, y
  ( 0.3 0.3 0.4 )); experience = (1 2); }
potential (e | d a)
{
  model_nodes = (d);
  model_data = ( Distribution (0.5, 0.5), "true", false );
}
potential (c | a d) { data = (( normal (1, 2) normal (-1.5, 1) normal (0, 1) )
  ( normal (1, 2) normal (-1.5, 1) normal (0, 1) )); }
}
"""
_NET_LINES = """net { }
continuous node x { }
continuous node y { }
node u { states = (s0 s1); }
potential (x) { data = normal (0, 1); }
potential (y | x u) { data = ( normal (1 + 2 * x, 0.5) normal (- x * .5, 1) ); }
potential (u) { data = (1 0); }
"""
_DNE = """// ~->[DNET-1]->~
bnet N {
comment = "a \\n\\
   note"; whenchanged = 1685761750;
visual V1 { nodefont = font {shape= "Arial"; size= 9;}; NodeSet Node {Color = 0x00e1e1e1;}; };
node A { kind = NATURE; discrete = TRUE; chance = CHANCE; states = (x, y); parents = ();
  probs = // x y
   (0.25, 0.75); title = "The \\"A\\""; visual V1 { center = (10, 20.5); height = 7; }; };
node B { kind = NATURE; discrete = FALSE; levels = (-INFINITY, 0, 10.5, INFINITY); parents = (A);
  probs = ((0.25, 0.5, 0.25), (@imposs, @imposs, @imposs)); evidence = #1; };
node C { kind = NATURE; chance = DETERMIN; states = (u, v); inputs = (, b); parents = (A, B);
  functable = ((u, v, #0), (v, v, v)); /* a comment */ };
node D { kind = NATURE; numstates = 3; statetitles = ("one", , "3"); probs = (#2); };
node T { kind = CONSTANT; discrete = FALSE; title = "T"; };
};
"""
# Files as other programs write them beside the formats: suffix and text.
_DIALECTS = (
    (
        ".uai",
        "BAYES\n3\n2 2 3 \n3\n1 0   # a\n1 1   # b\n3 0 1 2   # c\n\n2\n  0.25 0.75 \n\n2\n"
        "  0.1 0.9 \n\n12\n  .9 .1 0 \n  .5 .5 0 \n  .2 .8 0 \n  .3 .3 .4 \n",
    ),
    (
        ".uai",
        "MARKOV\n3 # nbr Nodes\n2 2 3 \n2 # nbr Factors \n2 1 0 \n2 1 2 \n\n4 # {0, 1}\n"
        "  .5 2 \n  1 3 \n\n6 # {2, 1}\n  1 2 3 \n  4 5 6 \n",
    ),
    (
        ".net",
        'net { software = "aGrUM"; }\nnode a { states = ([0;1.5[ [1.5;3] ); }\n'
        'node b { states = (50% 100% ); ID = "b"; }\npotential (a) { data = (0.7 0.3); }\n'
        "potential ( b | a ) {\n data = ((1.00000012 -1.2e-7) % a=[0;1.5[\n (.25 .75)); % a\n}\n",
    ),
    (
        ".xml",
        "\n\n<?xml version='1.0'?>\n<NETWORK>\n<VARIABLE><NAME>a</NAME><OUTCOME>T</OUTCOME>"
        "<OUTCOME>F</OUTCOME></VARIABLE><DEFINITION><FOR>a</FOR><TABLE>.25 .75</TABLE>"
        "</DEFINITION>\n</NETWORK>\n",
    ),
    (
        ".dne",
        "// ~->[DNET-1]->~\n\n// File\nbnet n {\nnode a { kind = NATURE; states = (x, y); // b\n"
        "  probs = (-1e-9, 1); };\n};\n",
    ),
    (
        ".bif",
        "network n { } // first\nvariable a { type discrete [2] { [0;1[, 50% }; }\n"
        "probability ( a ) { // table\n table 0.999, -0.0000001; }\n",
    ),
    (
        ".txt",
        'strict dag {\n x [source] // a\n{x[e]} \u2192 {y [o] y -> {z; "w\\""}} <-> v # b\n'
        "subgraph s { a \u2190 b } -> x\n}\n",
    ),
    (".gv", "digraph G { graph [a=b]; node [shape=box]; edge [c=d]\n a -> {b; {c -> d}}\n}\n"),
)
_CSV = """id,size,colour,"a, b",when,ok
1,0.5,red,x,2024-01-31,true
2,-1e3,"bl""ue",y,2024-02-29,false
3,NA,,x,1999-12-31,true
4,nan,"two
lines",?,2024-02-29,true
"""
_FRONT_END = re.compile(
    r'(?<=id="bayesgraph-)(?:snapshot|kernel|look|script|loader)">.*?(?=</script>)', re.DOTALL
)
_GERMAN = "# Messung\nGröße;Farbe;Gewicht\n1,5;rot;10\n2,25;grün;11\n;blau;12,0\n"


@functools.cache
def network() -> bg.BayesianNetwork:
    """Return the network that evidence and results are read for."""
    return golden_models.many_discrete()


@functools.cache
def models() -> tuple[object, ...]:
    """Return a model of every kind: made by hand, or fitted to a few rows."""
    found = [made.make() for made in golden_models.MODELS.values()]
    for name, (make, kind) in _ESTIMATORS.items():
        data = cases.make_data(kind, 30)
        labels = np.arange(30.0) if name == "tree-regressor" else data.y
        found.append(make().fit(_few_columns(data.columns, name), labels))
    found.append(bg.NaiveBayesClassifier().collect({"x": ["a", "b", "b"]}, [0, 0, 1], [3, 1, 2]))
    return tuple(found)


def _few_columns(columns: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return some of the columns: files are to be small."""
    kept = "ac" if name.startswith("stream") else "abc"
    if "e" in columns:  # those that the estimator names
        kept = "adefg"
    return {column: columns[column] for column in kept}


def bif() -> list[bytes]:
    """Return networks as BIF."""
    return written(".bif", _BIF)


def written(suffix: str, *more: str) -> list[bytes]:
    """Return networks as a format writes them, restored and annotated ones too, and other texts."""
    notes = bg.models.Annotations("a note", {"a": (1.5, -2.0)}, {"a": "text"}, {"b": "title"})
    a, b = bg.Discrete("a", [True, 1]), bg.Discrete("b", ['"x"', "y\nz", "y_z"])
    tables = [bg.TableCPD(a, [0.25, 0.75]), bg.TableCPD(b, [[0.1, 0.2, 0.7], [1, 0, 0]], [a])]
    odd = bg.BayesianNetwork(tables, arc_scores={("a", "b"): 0.5}, annotations=notes)
    networks = (
        odd,
        golden_models.many_discrete(),
        golden_models.chain(),
        golden_models.intervals(),
    )
    found = [text.encode() for text in more]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"network{suffix}"
        for network in networks:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                network.save(path, strict=False)
            found.append(path.read_bytes())
    return [*found, gzip.compress(found[0], mtime=0)]


def xdsl() -> list[bytes]:
    """Return networks as XDSL."""
    return written(".xdsl", _XDSL, _XDSL.replace('app="GeNIe"', 'app="aGrUM 3.3"'))


def rds() -> list[bytes]:
    """Return fits of every kind as R saves them, compressed in several ways."""
    x, y, c = bg.Continuous("x"), bg.Continuous("y"), bg.Discrete("c", ["a", "b", "ü"])
    mixed = bg.BayesianNetwork(
        [
            bg.TableCPD(c, [0.25, 0.25, 0.5]),
            bg.GaussianCPD(x, [0.0, 1.0, 2.0], [1.0, 4.0, 9.0], [c]),
            bg.GaussianCPD(y, [1.0, 2.0, 3.0], 0.25, [c, x], [[1.0], [2.0], [3.0]]),
        ]
    )
    chain = golden_models.chain()
    texts = [bg.Discrete(v.name, [str(s) for s in v.states]) for v in chain.variables]
    named = {v.name: v for v in texts}
    tables = [
        bg.TableCPD(named[cpd.variable.name], cpd.values, [named[p.name] for p in cpd.parents])
        for cpd in chain.cpds
    ]
    fits = [r_files.fit(mixed), r_files.fit(bg.BayesianNetwork(tables))]
    wrapped = r_files.fit(mixed)
    wrapped.values[1].values[6] = r_files.Wrapped(wrapped.values[1].values[6])
    wrapped.values[0].values[2] = r_files.Deferred([1.0, 2.5])
    plain = [r_files.rds(item) for item in (*fits, wrapped)]
    several = r_files.rda({"rows": r_files.Range(5, 1), "fit": fits[0]})
    packed = [gzip.compress(plain[0], mtime=0), bz2.compress(plain[1]), lzma.compress(plain[0])]
    return [*plain, r_files.rds(fits[0], version=2, encoding="latin-1"), several, *packed]


def gaussian_json() -> list[bytes]:
    """Return networks of linear Gaussians as pgmpy's JSON."""
    chain = {
        "a": {"coefficients": {"(Intercept)": [0.5]}, "variance": [4], "parents": []},
        "b": {
            "coefficients": {"(Intercept)": [1e-3], "a": [-2.5]},
            "variance": [0.25],
            "parents": ["a"],
        },
    }
    content = {"nodes": ["b", "a"], "arcs": [["a", "b"]], "cpds": chain}
    single = {"nodes": ["a"], "arcs": [], "cpds": {"a": chain["a"]}}
    return [json.dumps(item, indent=1).encode() for item in (content, single)]


def dagitty() -> list[bytes]:
    """Return causal diagrams of dagitty."""
    texts = (_DAGITTY, "dag { a -> b <- c -> d <-> a ; {e f} -> {d b} }", "dag{x}")
    return [text.encode() for text in texts]


def xmlbif() -> list[bytes]:
    """Return networks as XMLBIF."""
    return written(".xmlbif", _XMLBIF)


def uai() -> list[bytes]:
    """Return networks and factor graphs as UAI, one of them gzipped."""
    tables = (golden_models.few_discrete(), golden_models.chain(), golden_models.few_factors())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        texts = [format_uai(model, strict=False).encode() for model in tables]
    return [_UAI.encode(), *texts, gzip.compress(_UAI.encode(), mtime=0)]


def net() -> list[bytes]:
    """Return networks as Hugin's NET."""
    return written(".net", _NET, _NET_LINES)


def dne() -> list[bytes]:
    """Return networks as Netica's DNE."""
    return written(".dne", _DNE)


def dialects() -> list[bytes]:
    """Return files as other programs write them, their lines ended in each way.

    The first line of each is the suffix.
    """
    ended = ((s, text.replace("\n", end)) for s, text in _DIALECTS for end in ("\n", "\r\n", "\r"))
    found = [f"{suffix}\n{text}".encode() for suffix, text in ended]
    wide = [(s, text) for s, text in _DIALECTS if s in (".net", ".dne", ".bif", ".txt")]
    return found + [f"{suffix}\n".encode() + text.encode("utf-16") for suffix, text in wide]


def evidence() -> list[bytes]:
    """Return evidence for `network`, in both layouts."""
    return [b"2 0 1 3 0\n", b"1\n2 0 1 3 0\n", b"0\n", gzip.compress(b"1 3 2\n", mtime=0)]


def results() -> list[bytes]:
    """Return results for `network`: marginals, an assignment and the evidence's probability."""
    variables = network().variables
    assignment = " ".join("0" for _ in variables)
    marginals = " ".join(
        f"{v.cardinality} {' '.join([str(1 / v.cardinality)] * v.cardinality)}" for v in variables
    )
    return [
        f"MPE\n{len(variables)} {assignment}\n".encode(),
        f"MAR\n{len(variables)} {marginals}\n".encode(),
        b"PR\n-3.25\n",
    ]


def native() -> list[bytes]:
    """Return native files of every kind."""
    files = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.bayesgraph"
        for model in models():
            bg.files.save(model, path)
            files.append(path.read_bytes())
    return files


def pages() -> list[bytes]:
    """Return pages of models without the front end, which no reader looks at."""
    made = (golden_models.many_discrete(), golden_models.chain(), golden_models.few_factors())
    return [_FRONT_END.sub('">', model.to_html()).encode() for model in made]


def csv() -> list[bytes]:
    """Return tables as text: of several dialects and encodings, one of them gzipped."""
    texts = [_CSV, _GERMAN, _CSV.replace(",", "\t"), _CSV.replace("\n", "\r\n"), "a\n1\n"]
    encoded = [text.encode() for text in texts]
    encoded += [_GERMAN.encode("latin-1"), b"\xef\xbb\xbf" + _CSV.encode(), _CSV.encode("utf-16")]
    return [*encoded, gzip.compress(_CSV.encode(), mtime=0)]


def parquet() -> list[bytes]:
    """Return Parquet files with columns of many types, compressed in several ways."""
    words = ["red", None, "blue", "red"]
    table = arrow.table(
        {
            "number": [0.5, None, -1e300, float("nan")],
            "count": arrow.array([1, 2, None, 2**62], arrow.int64()),
            "word": words,
            "category": arrow.array(words).dictionary_encode(),
            "flag": [True, False, None, True],
            "when": arrow.array([0, 1, None, 10**12], arrow.timestamp("us")),
            "bytes": [b"", b"\xff", None, b"x"],
            "nested": [[1, 2], [], None, [3]],
        }
    )
    found = []
    for options in ({}, {"compression": "gzip"}, {"use_dictionary": False, "version": "1.0"}):
        stream = io.BytesIO()
        pyarrow.parquet.write_table(table, stream, **options)
        found.append(stream.getvalue())
    return found
