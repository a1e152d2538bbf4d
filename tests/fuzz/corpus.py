"""Valid files to start from, small and of every kind, made when they are needed."""

from __future__ import annotations

import functools
import gzip
import io
import re
import tempfile
import warnings
from pathlib import Path

import golden_models
import pyarrow as arrow
import pyarrow.parquet

import bayesgraph as bg
from bayesgraph.errors import BayesGraphError
from bayesgraph.io.bif import format_bif
from bayesgraph.io.uai import format_uai

_OLD = Path(__file__).parents[1] / "io" / "files_0_1_0"
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
    """Return a model of every kind, without fitting any: made by hand, or loaded from old files."""
    found = [made.make() for made in golden_models.MODELS.values()]
    for path in sorted(_OLD.glob("*.bayesgraph")):
        try:
            found.append(bg.load(path))
        except BayesGraphError:  # of a kind that was removed
            continue
    counts = {"x": ["a", "b", "b"], "class": [0, 0, 1], "count": [3, 1, 2]}
    found.append(bg.NaiveBayesClassifier().collect_counts([counts], "class"))
    return tuple(found)


def bif() -> list[bytes]:
    """Return networks as BIF, one of them gzipped."""
    tables = (golden_models.many_discrete(), golden_models.chain(), golden_models.intervals())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        texts = [format_bif(model, strict=False).encode() for model in tables]
    return [_BIF.encode(), *texts, gzip.compress(_BIF.encode(), mtime=0)]


def uai() -> list[bytes]:
    """Return networks and factor graphs as UAI, one of them gzipped."""
    tables = (golden_models.few_discrete(), golden_models.chain(), golden_models.few_factors())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        texts = [format_uai(model, strict=False).encode() for model in tables]
    return [_UAI.encode(), *texts, gzip.compress(_UAI.encode(), mtime=0)]


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
    """Return native files of every kind, of this version and of 0.1.0."""
    files = [path.read_bytes() for path in sorted(_OLD.glob("*.bayesgraph"))]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.bayesgraph"
        for model in models():
            bg.io.save(model, path)
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
