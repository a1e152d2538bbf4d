"""Texts of any length that repeat what a careless parser reads again and again."""

from __future__ import annotations

import io
import itertools
import json
import struct
import zipfile
from collections.abc import Callable

import numpy as np
import r_files
from fuzz.mutation import resealed, rezipped

_A = "variable a { type discrete [2] { x y }; }\nprobability ( a ) { table 0.5 0.5; }\n"


def _chain(n: int) -> str:
    variables = (f"variable v{i} {{ type discrete [2] {{ x y }}; }}\n" for i in range(n))
    rows = "{ (x) 0.5 0.5; (y) 0.1 0.9; }\n"
    arcs = (f"probability ( v{i} | v{i - 1} ) {rows}" for i in range(1, n))
    return "".join((*variables, "probability ( v0 ) { table 0.5 0.5; }\n", *arcs))


def _variables(n: int) -> str:
    return "".join(f"variable v{i} {{ type discrete [2] {{ x y }}; }}\n" for i in range(n))


def _states(n: int) -> str:
    states, shares = " ".join(f"s{i}" for i in range(n)), " ".join([repr(1 / n)] * n)
    return (
        f"variable a {{ type discrete [{n}] {{ {states} }}; }}\nprobability ( a ) {{ "
        f"table {shares}; }}\n"
    )


_BIF: dict[str, Callable[[int], str]] = {
    "a chain": lambda n: _chain(n // 110),
    "variables without tables": lambda n: _variables(n // 45),
    "a table of nothing": lambda n: _variables(n // 45) + "probability ( w ) { table 1; }",
    "properties": lambda n: _A.replace("{ type", "{ " + "property a = b;" * (n // 15) + " type"),
    "property": lambda n: "variable a { " + "property x " * (n // 11) + "}",
    "comments": lambda n: _A + '/* x */ // "\n' * (n // 13),
    "open comments": lambda n: _A + "/*" * (n // 2),
    "comments in a comment": lambda n: _A + "//" + "/*" * (n // 2) + "\n",
    "quotes": lambda n: 'network "' + '"' * n,
    "quoted names": lambda n: "variable " + '"a" ' * (n // 4),
    "braces": lambda n: "variable a {" + "{}" * (n // 2),
    "open braces": lambda n: "variable a {" + "{" * n,
    "heads": lambda n: "variable a " * (n // 11),
    "numbers without end": lambda n: _A.replace("table", "table " + "0.5 " * (n // 4)),
    "digits": lambda n: _A.replace("0.5 0.5", "0." + "5" * n),
    "points": lambda n: _A.replace("0.5 0.5", "." * n),
    "parentheses": lambda n: _A.replace("table", "(" * n + " table"),
    "states": lambda n: _states(n // 30),
    "a state that is none": lambda n: (
        _states(n // 30) + "variable b { type discrete [2] { x y }; }\n"
        "probability ( b | a ) { (s) 0.5 0.5; }"
    ),
    "rows that are none": lambda n: (
        _A + "variable b { type discrete [2] { x y }; }\n"
        f"probability ( b | a ) {{ {'(z) 0.5 0.5; ' * (n // 13)} }}"
    ),
    "a name that is none": lambda n: f"{_A}probability ( {'b' * n} ) {{ table 0.5 0.5; }}",
    "parents": lambda n: f"{_A}probability ( a | {'a, ' * (n // 3)} ) {{ table 0.5 0.5; }}",
    "lines": lambda n: " \n" * (n // 2) + "x",
    "blanks before a name": lambda n: "variable " + " " * n + "a",
    "blanks after a type": lambda n: "variable a { type discrete" + " " * n + "x }",
    "blanks before a type": lambda n: "variable a { " + " " * n + "[ }",
    "blanks in brackets": lambda n: "variable a { type discrete [" + " " * n + "x",
    "blanks in a row": lambda n: _A.replace("table", "( x )" + " " * n + "table"),
}
_NODE = "<cpt id='a'><state id='x'/><state id='y'/><probabilities>.5 .5</probabilities></cpt>"
_GATE = (
    "<noisymax id='b'><state id='x'/><state id='y'/><parents>a</parents>"
    "<strengths>0 1</strengths><parameters>.5 .5 0 1 0 1</parameters></noisymax>"
)


def _smile(nodes: str, extension: str = "") -> str:
    shown = f"<extensions><genie>{extension}</genie></extensions>"
    return f"<smile id='n'><nodes>{_NODE}{nodes}</nodes>{shown}</smile>"


_XDSL: dict[str, Callable[[int], str]] = {
    "a chain": lambda n: _smile(
        "".join(
            f"<cpt id='v{i}'><state id='x'/><parents>{f'v{i - 1}' if i else 'a'}</parents>"
            f"<probabilities>1{'' if i else ' 1'}</probabilities></cpt>"
            for i in range(n // 90)
        )
    ),
    "noisy maxima": lambda n: _smile(
        "".join(_GATE.replace("'b'", f"'b{i}'") for i in range(n // len(_GATE)))
    ),
    "parents": lambda n: _smile(_GATE.replace(">a<", f">{'a ' * (n // 2)}<")),
    "parents of a function": lambda n: _smile(
        "<deterministic id='f'><state id='x'/>"
        f"<parents>{'a ' * (n // 2)}</parents><resultingstates>x</resultingstates></deterministic>"
    ),
    "states": lambda n: _smile(
        "<cpt id='b'>" + "".join(f"<state id='s{i}'/>" for i in range(n // 20)) + "</cpt>"
    ),
    "equal states": lambda n: _smile(
        _GATE.replace("<state id='x'/>", "<state id='x'/>" * (n // 15))
    ),
    "strengths": lambda n: _smile(_GATE.replace("0 1</s", "0 1 " * (n // 4) + "</s")),
    "parameters": lambda n: _smile(_GATE.replace("0 1</p", "0 1 " * (n // 4) + "</p")),
    "results": lambda n: _smile(
        "<deterministic id='f'><state id='x'/><parents>a</parents>"
        f"<resultingstates>{'y ' * (n // 2)}</resultingstates></deterministic>"
    ),
    "refused nodes": lambda n: _smile("<decision id='d'/>" * (n // 18)),
    "submodels": lambda n: _smile("", "<submodel>" * 100 + "<submodel/>" * (n // 11)),
    "nodes in a submodel": lambda n: _smile("", f"<submodel>{'<node/>' * (n // 7)}</submodel>"),
    "positions": lambda n: _smile(
        "", f"<node id='a'><position>{'1 ' * (n // 2)}</position></node>" + "<node id='a'/>" * 9
    ),
    "backslashes": lambda n: _smile("", "<comment>" + "\\" * n + "</comment>"),
}
_UAI: dict[str, Callable[[int], str]] = {
    "variables of one state": lambda n: (
        f"MARKOV\n{n // 12}\n{'1 ' * (n // 12)}\n{n // 12}\n"
        + "".join(f"1 {i}\n" for i in range(n // 12))
        + "1 1\n" * (n // 12)
    ),
    "constants": lambda n: f"MARKOV\n1\n2\n{n // 6}\n" + "0\n" * (n // 6) + "1 1\n" * (n // 6),
    "variables in no scope": lambda n: f"MARKOV\n{n // 3}\n{'40 ' * (n // 3)}\n0\n",
    "a scope": lambda n: (
        f"MARKOV\n{n // 9}\n{'1 ' * (n // 9)}\n1\n{n // 9} "
        + " ".join(map(str, range(n // 9)))
        + "\n1 1\n"
    ),
    "a chain": lambda n: (
        f"BAYES\n{n // 30}\n{'2 ' * (n // 30)}\n{n // 30}\n1 0\n"
        + "".join(f"2 {i - 1} {i}\n" for i in range(1, n // 30))
        + "2 .5 .5\n"
        + "4 .5 .5 .5 .5\n" * (n // 30 - 1)
    ),
    "lines of comments": lambda n: "c\n" * (n // 2) + "BAYES",
    "comments": lambda n: "BAYES 1 " + "# " * (n // 2),
    "a number": lambda n: "BAYES " + "1" * n,
    "a number that is none": lambda n: "BAYES " + "1" * n + "x",
    "a fraction that is none": lambda n: "BAYES 1 2 1 1 0 2 ." + "1" * n + "x",
    "blanks": lambda n: "BAYES" + " " * n + "x",
}
_XML_A = (
    "<BIF><NETWORK><VARIABLE><NAME>a</NAME><OUTCOME>x</OUTCOME><OUTCOME>y</OUTCOME></VARIABLE>"
    "<DEFINITION><FOR>a</FOR><TABLE>.5 .5</TABLE></DEFINITION></NETWORK></BIF>"
)


def _laughs(n: int) -> str:
    entities = "".join(f'<!ENTITY e{i} "&e{i - 1};&e{i - 1};">' for i in range(1, n // 30))
    return f'<!DOCTYPE BIF [<!ENTITY e0 "x">{entities}]><BIF>&e{n // 30 - 1};</BIF>'


_XMLBIF: dict[str, Callable[[int], str]] = {
    "entities": _laughs,
    "elements": lambda n: "<BIF>" + "<a/>" * (n // 4) + "</BIF>",
    "nested elements": lambda n: "<a>" * (n // 3),
    "nested variables": lambda n: "<BIF>" + "<VARIABLE>" * (n // 10),
    "attributes": lambda n: "<BIF " + " ".join(f'a{i}=""' for i in range(n // 10)) + "/>",
    "an attribute": lambda n: f'<BIF VERSION="{"x" * n}"/>',
    "defaults of attributes": lambda n: (
        f'<!DOCTYPE a [<!ATTLIST a x CDATA "{"x" * (n // 2)}">]><BIF>{"<a/>" * (n // 8)}</BIF>'
    ),
    "groups of elements": lambda n: "<!DOCTYPE a [<!ELEMENT a " + "(" * n + ")]><a/>",
    "comments": lambda n: _XML_A.replace("<NETWORK>", "<NETWORK>" + "<!---->" * (n // 7)),
    "a comment of bayesgraph": lambda n: _XML_A.replace(
        "<NETWORK>", "<NETWORK><!-- bayesgraph " + "{" * n + " -->"
    ),
    "an open comment": lambda n: "<BIF><!--" + "- " * (n // 2),
    "an open tag": lambda n: "<BIF " + "a" * n,
    "pieces of text": lambda n: _XML_A.replace(".5 .5", ".5<!-- -->" * (n // 10)),
    "numbers": lambda n: _XML_A.replace(".5 .5", ".5 " * (n // 3)),
    "digits": lambda n: _XML_A.replace(".5 .5", "." + "5" * n),
    "points": lambda n: _XML_A.replace(".5 .5", "." * n),
    "outcomes": lambda n: _XML_A.replace(
        "<OUTCOME>x</OUTCOME>", "<OUTCOME>x</OUTCOME>" * (n // 20)
    ),
    "parents": lambda n: _XML_A.replace("<TABLE>", "<GIVEN>b</GIVEN>" * (n // 16) + "<TABLE>"),
    "positions": lambda n: _XML_A.replace(
        "</VARIABLE>", f"<PROPERTY>position = ({' ' * n}</PROPERTY></VARIABLE>"
    ),
    "variables without tables": lambda n: (
        "<BIF>"
        + "".join(
            f"<VARIABLE><NAME>v{i}</NAME><OUTCOME>x</OUTCOME></VARIABLE>" for i in range(n // 60)
        )
        + "</BIF>"
    ),
}
_NET_A = "node a { states = (x y); }\npotential (a) { data = (.5 .5); }\n"
_NET: dict[str, Callable[[int], str]] = {
    "a chain": lambda n: (
        "".join(f"node v{i} {{ states = (x y); }}\n" for i in range(n // 120))
        + "potential (v0) { data = (.5 .5); }\n"
        + "".join(
            f"potential (v{i} | v{i - 1}) {{ data = ((.5 .5) (.1 .9)); }}\n"
            for i in range(1, n // 120)
        )
    ),
    "nodes": lambda n: "".join(f"node v{i} {{ states = (x y); }}\n" for i in range(n // 35)),
    "fields": lambda n: _NET_A.replace("{ s", "{ " + "a = b; " * (n // 7) + "s"),
    "a field": lambda n: "net { a = " + "b " * (n // 2),
    "names": lambda n: "net { " + "a " * (n // 2) + "}",
    "comments": lambda n: _NET_A + '% " {\n' * (n // 6),
    "signs of comments": lambda n: _NET_A + "%" * n,
    "comments of bayesgraph": lambda n: _NET_A + '% bayesgraph {"note":""}\n' * (n // 25),
    "quotes": lambda n: "net { a = " + '"' * n,
    "backslashes": lambda n: 'net { a = "' + "\\" * n,
    "quotes after backslashes": lambda n: "net { a = " + '\\"' * (n // 2),
    "open braces": lambda n: "net { a " + "{" * n,
    "braces": lambda n: "net { a " + "{}" * (n // 2),
    "blocks": lambda n: "net { " + "block {}\n" * (n // 9) + "}",
    "braces in fields": lambda n: "net { a = b {" + "c = {" * (n // 5),
    "classes": lambda n: "class A { " * (n // 10),
    "heads": lambda n: "node a " * (n // 7),
    "parentheses": lambda n: _NET_A.replace("(.5", "(" * n + "(.5"),
    "closed parentheses": lambda n: _NET_A.replace("(.5", "()" * (n // 2) + "(.5"),
    "numbers": lambda n: _NET_A.replace(".5 .5", ".5 " * (n // 3)),
    "digits": lambda n: _NET_A.replace(".5 .5", "." + "5" * n),
    "points": lambda n: _NET_A.replace(".5 .5", "." * n),
    "numbers and a letter": lambda n: _NET_A.replace(".5 .5", ".5 " * (n // 3) + "x"),
    "rows": lambda n: (
        _NET_A
        + f"node b {{ states = ({' '.join(f's{i}' for i in range(n // 20))}); }}\n"
        + f"potential (b) {{ data = ({' '.join([repr(1 / (n // 20))] * (n // 20))}); }}\n"
        + f"potential (a | b) {{ data = ({'(.5 .5)' * (n // 20)}); }}\n"
    ),
    "normals": lambda n: (
        _NET_A
        + "continuous node c { }\npotential (c | a) { data = ("
        + "normal (0, 1) " * (n // 14)
        + "); }"
    ),
    "terms": lambda n: (
        "continuous node c { }\npotential (c) { data = normal (" + "1 + " * (n // 4) + "1, 1); }"
    ),
    "open normals": lambda n: (
        "continuous node c { }\npotential (c) { data = " + "normal (" * (n // 8) + "; }"
    ),
    "models": lambda n: (
        "node a { states = (x y); } potential (a) { model_data = (" + "x, " * (n // 3) + "x); }"
    ),
    "parents": lambda n: _NET_A + f"potential (b | {'a ' * (n // 2)}) {{ data = (.5 .5); }}",
    "blanks": lambda n: "node" + " " * n + "x",
    "lines": lambda n: " \n" * (n // 2) + "x",
}
_DNE_A = "node a { states = (x, y); probs = (.5, .5); };\n"
_DNE: dict[str, Callable[[int], str]] = {
    "a chain": lambda n: (
        f"bnet n {{ {_DNE_A.replace('a', 'v0', 1)}"
        + "".join(
            f"node v{i} {{ states = (x, y); parents = (v{i - 1}); probs = ((1, 0), (0, 1)); }};\n"
            for i in range(1, n // 120)
        )
        + "};"
    ),
    "functions": lambda n: (
        f"bnet n {{ {_DNE_A.replace('a', 'v0', 1)}"
        + "".join(
            f"node v{i} {{ states = (x, y); parents = (v{i - 1}); functable = (x, y); }};\n"
            for i in range(1, n // 110)
        )
        + "};"
    ),
    "visuals": lambda n: "bnet n { " + "visual V { x = 1; };" * (n // 20) + _DNE_A + "};",
    "fonts": lambda n: "bnet n { " + "a = font {b = 1;};" * (n // 18) + _DNE_A + "};",
    "open visuals": lambda n: "bnet n { " + "visual V {" * (n // 10),
    "comments": lambda n: "bnet n { " + '/* x */ // "\n' * (n // 13) + _DNE_A + "};",
    "open comments": lambda n: "bnet n {" + "/*" * (n // 2),
    "a long comment": lambda n: "bnet n { /*" + "\n" * n + "*/" + _DNE_A + "};",
    "quotes": lambda n: "bnet n { a = " + '"' * n,
    "lines in a text": lambda n: 'bnet n { comment = "' + "\\\n \t" * (n // 4) + '"; };',
    "left out": lambda n: "bnet n { " + _DNE_A.replace("(x, y)", "(" + "," * n + ")") + "};",
    "impossible": lambda n: "bnet n { " + _DNE_A.replace(".5, .5", "@imposs, " * (n // 9)) + "};",
    "one state": lambda n: "bnet n { " + _DNE_A.replace(".5, .5", "#0, " * (n // 4)) + "};",
    "levels": lambda n: (
        "bnet n { "
        + _DNE_A.replace("states = (x, y)", f"discrete = FALSE; levels = ({'1, ' * (n // 3)}1)")
        + "};"
    ),
    "states": lambda n: (
        "bnet n { "
        + _DNE_A.replace("(x, y)", f"({', '.join(f's{i}' for i in range(n // 8))})")
        + "};"
    ),
    "inheritance": lambda n: "bnet n { node a (" + "b, " * (n // 3),
}
_CSV: dict[str, Callable[[int], str]] = {
    "columns": lambda n: ",".join(f"c{i}" for i in range(n // 9)) + "\n" + "1," * (n // 9) + "1",
    "equal columns": lambda n: "a," * (n // 4) + "a\n" + "1," * (n // 4) + "1\n",
    "rows": lambda n: "a,b\n" + "1,x\n" * (n // 4),
    "quotes": lambda n: "a,b\n" + '"' * n,
    "quoted": lambda n: "a,b\n" + '"",' * (n // 3),
    "quotes in the header": lambda n: '"' * n + ",b\n1,2\n",
    "open quotes in the header": lambda n: '"a' * (n // 2) + ",b\n1,2\n",
    "an open quote": lambda n: 'a,b\n1,"' + "x" * n,
    "lines": lambda n: "\n" * n,
    "delimiters": lambda n: "a" + ",;\t|" * (n // 4),
    "a cell": lambda n: "a,b\n1," + "x" * n + "\n",
    "digits": lambda n: "a,b\n1," + "1" * n + "\n",
    "commas in numbers": lambda n: "a;b\n" + "1,5;x\n" * (n // 6),
    "ragged rows": lambda n: "a,b\n" + "1,2,3\n1\n" * (n // 8),
}


def _header(text: str) -> bytes:
    return rezipped({"header.json": text.encode()})


def _members(n: int) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as file:
        file.comment = b"sha256:" + b"0" * 64
        for i in range(n // 100):
            file.writestr(f"{i}.npy", b"")
    return resealed(stream.getvalue())


def _network(state: str) -> str:
    model = {"variables": [{"discrete": "a", "states": ["*"]}], "cpds": []}
    content = {"format": "bayesgraph", "version": 1, "kind": "network", "model": model}
    return json.dumps(content).replace('"*"', state)


_NATIVE: dict[str, Callable[[int], bytes]] = {
    "brackets": lambda n: _header("[" * n),
    "closed brackets": lambda n: _header("[" * (n // 2) + "]" * (n // 2)),
    "braces": lambda n: _header('{"a":' * (n // 5)),
    "digits": lambda n: _header("1" * n),
    "a text": lambda n: _header('{"format": "' + "\\u0000" * (n // 6)),
    "members": _members,
    "a tuple of tuples": lambda n: _header(_network('{"tuple":[' * (n // 12) + "]}" * (n // 12))),
    "digits of an integer": lambda n: _header(_network('{"int": "0x' + "f" * n + '"}')),
    "digits of a fraction": lambda n: _header(_network('{"fraction": "' + "7" * n + '/3"}')),
    "digits of a decimal": lambda n: _header(_network('{"decimal": "' + "7" * n + '"}')),
    "digits of a float": lambda n: _header(_network('{"float": "' + "7" * n + '"}')),
    "states": lambda n: _header(_network(",".join(f'"{i}"' for i in range(n // 10)))),
    "equal states": lambda n: _header(_network(",".join(['"a"'] * (n // 4)))),
}

_DAGITTY: dict[str, Callable[[int], str]] = {
    "a chain": lambda n: "dag {" + " -> ".join(f"v{i}" for i in range(n // 12)) + "}",
    "nodes": lambda n: "dag {" + " ".join(f"v{i}" for i in range(n // 8)) + "}",
    "one node": lambda n: "dag {" + "a " * (n // 2) + "}",
    "equal arcs": lambda n: "dag {" + "a -> b " * (n // 7) + "}",
    "sets": lambda n: "dag {" + " -> ".join(["{a b}"] * 2) + "{c} " * (n // 4) + "}",
    "pairs": lambda n: "dag {" + " ".join(f"v{i} <-> w{i}" for i in range(n // 18)) + "}",
    "attributes": lambda n: "dag { a [" + "x=1," * (n // 4) + "] }",
    "an open attribute": lambda n: "dag { a [" + '"x"' * (n // 3),
    "open attributes": lambda n: "dag { a " + "[" * n,
    "a quote": lambda n: 'dag { "' + "\\a" * (n // 2),
    "comments": lambda n: "dag {" + "/**/" * (n // 4) + "}",
    "an open comment": lambda n: "dag {" + "/*" + "* " * (n // 2),
    "arrows": lambda n: "dag { a" + "-" * n,
    "braces": lambda n: "dag " + "{" * n,
    "a place": lambda n: 'dag { a [pos="' + "1" * n + '"] }',
}


def _gaussians(n: int) -> str:
    names = [f"v{i}" for i in range(n // 150)]
    cpds = {
        name: {
            "coefficients": {"(Intercept)": [0.5], **({names[i - 1]: [2.0]} if i else {})},
            "variance": [1.5],
            "parents": [names[i - 1]] if i else [],
        }
        for i, name in enumerate(names)
    }
    arcs = [list(pair) for pair in itertools.pairwise(names)]
    return json.dumps({"nodes": names, "arcs": arcs, "cpds": cpds})


_GAUSSIAN: dict[str, Callable[[int], str]] = {
    "a chain": _gaussians,
    "nodes": lambda n: json.dumps({"nodes": ["a"] * (n // 5), "cpds": {}}),
    "parents": lambda n: _gaussians(400).replace('["v0"]', '["v0"' + ',"v0"' * (n // 5) + "]"),
    "arcs": lambda n: _gaussians(400).replace(
        '"arcs": [', '"arcs": [' + '["v0", "v1"],' * (n // 13)
    ),
    "brackets": lambda n: '{"nodes": ' + "[" * n,
    "digits": lambda n: _gaussians(400).replace("1.5", "1" * n),
}
_R_HEAD = r_files.rds(None)[:-4]
# Lists, texts, pairlists and numbers of R's files, in the order of bytes of the network.
_R: dict[str, Callable[[int], bytes]] = {
    "nothing": lambda n: _R_HEAD + struct.pack(">ii", 19, n // 4) + b"\x00\x00\x00\xfe" * (n // 4),
    "lists in lists": lambda n: _R_HEAD + struct.pack(">ii", 19, 1) * (n // 8),
    "a pairlist": lambda n: _R_HEAD + struct.pack(">ii", 2, 254) * (n // 8),
    "texts": lambda n: (
        _R_HEAD + struct.pack(">ii", 16, n // 9) + struct.pack(">iic", 9, 1, b"a") * (n // 9)
    ),
    "equal names": lambda n: r_files.rds(
        r_files.named({"a": r_files.R(["x"])}, names=r_files.R(["a"] * (n // 9)))
    ),
    "numbers": lambda n: r_files.rds(r_files.R(np.zeros(n // 8))),
    "nodes": lambda n: r_files.rds(
        r_files.named(
            {f"v{i}": r_files.R(["x"]) for i in range(n // 40)}, **{"class": r_files.R(["bn.fit"])}
        )
    ),
}

SHAPES: dict[str, tuple[str, Callable[[int], bytes]]] = {
    **{f"BIF: {name}": (".bif", lambda n, f=f: f(n).encode()) for name, f in _BIF.items()},
    **{f"XMLBIF: {name}": (".xmlbif", lambda n, f=f: f(n).encode()) for name, f in _XMLBIF.items()},
    **{f"XDSL: {name}": (".xdsl", lambda n, f=f: f(n).encode()) for name, f in _XDSL.items()},
    **{
        f"dagitty: {name}": (".dagitty", lambda n, f=f: f(n).encode())
        for name, f in _DAGITTY.items()
    },
    **{f"JSON: {name}": (".json", lambda n, f=f: f(n).encode()) for name, f in _GAUSSIAN.items()},
    **{f"R: {name}": (".rds", f) for name, f in _R.items()},
    **{f"UAI: {name}": (".uai", lambda n, f=f: f(n).encode()) for name, f in _UAI.items()},
    **{f"NET: {name}": (".net", lambda n, f=f: f(n).encode()) for name, f in _NET.items()},
    **{f"DNE: {name}": (".dne", lambda n, f=f: f(n).encode()) for name, f in _DNE.items()},
    **{f"CSV: {name}": (".csv", lambda n, f=f: f(n).encode()) for name, f in _CSV.items()},
    **{f"native: {name}": (".bayesgraph", f) for name, f in _NATIVE.items()},
}
