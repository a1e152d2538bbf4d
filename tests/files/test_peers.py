"""Files through other programs: they read what bayesgraph writes, and bayesgraph what they write.

Each peer is tested where it is installed. What one cannot do is named in `DEFECTS`, and the test
then expects that it fails: a peer that is mended makes it fail, and the row can go.
"""

from __future__ import annotations

import functools
import importlib.util
import re
import shutil
import subprocess
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from network_files import repository

import bayesgraph as bg
from bayesgraph.files.exporting import Export

# name -> state -> probability, without and with evidence
Beliefs = list[dict[str, dict[str, float]]]
# name -> names of the parents, states, probabilities with the child on the last axis
Tables = dict[str, tuple[list[str], list[str], np.ndarray]]
WEKA = Path("/usr/share/java/weka.jar")
# Of larger networks about so many variables are asked for.
ASKED = 8
# What a short run does not pay for: compiling to the last, collecting on several threads.
JAVA = ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-cp", str(WEKA)]
MARGINALS = """
import weka.classifiers.bayes.net.*;
public class Marginals {
  public static void main(String[] args) throws Exception {
    BIFReader reader = new BIFReader();
    reader.processFile(args[0]);
    MarginCalculator calculator = new MarginCalculator();
    calculator.calcMargins(reader);
    print(reader, calculator);
    int node = reader.getNode(args[1]);
    calculator.setEvidence(node, Integer.parseInt(args[2]));
    print(reader, calculator);
  }
  static void print(BIFReader reader, MarginCalculator calculator) {
    for (int i = 0; i < reader.getNrOfNodes(); i++)
      for (int k = 0; k < reader.getCardinality(i); k++)
        System.out.println(reader.getNodeName(i) + "\\t" + reader.getNodeValue(i, k) + "\\t"
          + calculator.getMargin(i)[k]);
    System.out.println("end");
  }
}
"""
# What Weka has read, and for rows of codes, after that of the class, the distribution of the class.
ROWS = """
import java.io.*;
import weka.classifiers.bayes.net.*;
import weka.core.*;
public class Rows {
  public static void main(String[] args) throws Exception {
    BIFReader reader = new BIFReader();
    reader.processFile(args[0]);
    PrintStream out = new PrintStream(new BufferedOutputStream(System.out));
    int n = reader.getNrOfNodes();
    out.println(n);
    for (int i = 0; i < n; i++) {
      out.print(reader.getNodeName(i));
      for (int j = 0; j < reader.getNrOfParents(i); j++)
        out.print("\t" + reader.getNodeName(reader.getParent(i, j)));
      out.println();
      for (int k = 0; k < reader.getCardinality(i); k++)
        out.print(reader.getNodeValue(i, k) + "\t");
      out.println();
      for (int row = 0; row < reader.getParentCardinality(i); row++)
        for (int k = 0; k < reader.getCardinality(i); k++)
          out.print(reader.getProbability(i, row, k) + " ");
      out.println();
    }
    BufferedReader lines = new BufferedReader(new FileReader(args[1]));
    for (String line; (line = lines.readLine()) != null; ) {
      String[] words = line.split(" ");
      reader.m_Instances.setClassIndex(Integer.parseInt(words[0]));
      double[] codes = new double[n];
      for (int i = 0; i < n; i++) codes[i] = Integer.parseInt(words[i + 1]);
      Instance row = new Instance(1.0, codes);
      row.setDataset(reader.m_Instances);
      for (double p : reader.getEstimator().distributionForInstance(reader, row))
        out.print(p + " ");
      out.println();
    }
    out.flush();
  }
}
"""


# -------------------------------------------------------------------------------------- peers


class Peer(NamedTuple):
    """Another program: what it answers from a file, and what it writes.

    Its beliefs are of the names that are asked, or of all, given the code of a state of one, by its
    own inference. Its tables are the numbers that it has read.
    """

    beliefs: Callable[[Path, str, int, Collection[str]], Beliefs]
    write: Callable[[Path, Path], None]
    tables: Callable[[Path], Tables] | None = None


def _agrum_beliefs(path: Path, observed: str, code: int, asked: Collection[str]) -> Beliefs:
    agrum = pytest.importorskip("pyagrum")
    network = agrum.loadBN(str(path))
    found = []
    for evidence in ({}, {observed: code}):
        engine = agrum.LazyPropagation(network)
        engine.setEvidence(evidence)
        engine.setTargets(set(asked))  # what no target needs is left out
        engine.makeInference()
        found.append(
            {
                network.variable(node).name(): dict(
                    zip(
                        network.variable(node).labels(),
                        engine.posterior(node).tolist(),
                        strict=True,
                    )
                )
                for node in map(network.idFromName, asked)
            }
        )
    return found


def _agrum_write(source: Path, path: Path) -> None:
    agrum = pytest.importorskip("pyagrum")
    agrum.saveBN(agrum.loadBN(str(source)), str(path))


_READERS = {".bif": "BIF", ".xmlbif": "XMLBIF", ".uai": "UAI", ".net": "NET", ".xdsl": "XDSL"}


def _pgmpy(name: str) -> Any:
    return getattr(pytest.importorskip("pgmpy.readwrite"), name)


@functools.lru_cache(maxsize=1)  # its readers take up to a minute
def _pgmpy_model(path: Path) -> Any:
    return _pgmpy(f"{_READERS[path.suffix]}Reader")(str(path)).get_model()


def _pgmpy_beliefs(path: Path, observed: str, code: int, asked: Collection[str]) -> Beliefs:
    inference = pytest.importorskip("pgmpy.inference", exc_type=ImportError)
    model = _pgmpy_model(path)
    engine = inference.VariableElimination(model)
    states = model.get_cpds(observed).state_names[observed]
    found: Beliefs = []
    for evidence in ({}, {observed: states[code]}):
        found.append({observed: {s: float(i == code) for i, s in enumerate(states)}})
        for name in asked:
            if name not in evidence:
                answer = engine.query([name], evidence=evidence, show_progress=False)
                numbers = answer.values.tolist()
                found[-1][name] = dict(zip(answer.state_names[name], numbers, strict=True))
    return found


def _pgmpy_tables(path: Path) -> Tables:
    found = {}
    for cpd in _pgmpy_model(path).get_cpds():
        child, *parents = cpd.variables
        values = np.moveaxis(cpd.values, 0, -1)
        found[child] = (parents, list(cpd.state_names[child]), np.ascontiguousarray(values))
    return found


def _pgmpy_write(source: Path, path: Path) -> None:
    writer = _pgmpy(f"{_READERS[path.suffix]}Writer")(_pgmpy_model(source))
    writer.write(str(path))


def _weka(program: str, source: str, path: Path, *arguments: str) -> list[str]:
    """Return the lines that a program prints about a file."""
    (path.parent / f"{program}.java").write_text(source)
    command = [*JAVA, str(path.parent / f"{program}.java"), str(path), *arguments]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]
    return ran.stdout.splitlines()


def _weka_beliefs(path: Path, observed: str, code: int, asked: Collection[str]) -> Beliefs:
    found: Beliefs = [{}]
    for line in _weka("Marginals", MARGINALS, path, observed, str(code)):
        if line == "end":
            found.append({})
            continue
        name, state, number = line.split("\t")
        found[-1].setdefault(name, {})[state] = float(number)
    return found[:-1]


def _weka_rows(path: Path, rows: Sequence[Sequence[int]]) -> tuple[Tables, list[list[float]]]:
    """Return the tables that Weka has read, and its answers to rows: see `ROWS`."""
    table = path.with_suffix(".rows")
    table.write_text("".join(f"{' '.join(map(str, row))}\n" for row in rows))
    lines = iter(_weka("Rows", ROWS, path, str(table)))
    tables: Tables = {}
    for _ in range(int(next(lines))):
        child, *parents = next(lines).split("\t")
        states = next(lines).split("\t")[:-1]
        tables[child] = (parents, states, np.array(list(map(float, next(lines).split()))))
    return tables, [list(map(float, line.split())) for line in lines]


def _weka_write(source: Path, path: Path) -> None:
    """Weka learns a network from rows that are drawn from the one in the source."""
    rows = bg.load(source).sample(200, random_state=0, frame="pandas")
    lines = ["@relation rows"]
    for name, variable in ((v.name, v) for v in bg.load(source).variables):
        states = ",".join(_arff(state) for state in variable.states)
        lines.append(f"@attribute {_arff(name)} {{{states}}}")
    lines += ["@data", *(",".join(map(_arff, row)) for row in rows.itertuples(index=False))]
    table = path.with_suffix(".arff")
    table.write_text("\n".join(lines))
    learner = "weka.classifiers.bayes.net.search.local.TAN"
    command = [*JAVA, "weka.classifiers.bayes.BayesNet", "-t", str(table)]
    command += ["-no-cv", "-D", "-g", "-Q", learner]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    path.write_text(ran.stdout)


def _arff(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


PEERS = {
    "pyAgrum": Peer(_agrum_beliefs, _agrum_write),
    "pgmpy": Peer(_pgmpy_beliefs, _pgmpy_write, _pgmpy_tables),
    "Weka": Peer(_weka_beliefs, _weka_write),
}
INSTALLED = {
    "pyAgrum": importlib.util.find_spec("pyagrum") is not None,
    "pgmpy": importlib.util.find_spec("pgmpy") is not None,
    "Weka": WEKA.exists() and shutil.which("javac") is not None,
}
SUFFIXES = {
    "pyAgrum": (".bif", ".bifxml", ".uai", ".net", ".xdsl"),
    "pgmpy": (".bif", ".xmlbif", ".uai", ".net", ".xdsl"),
    "Weka": (".xml",),
}
# What a peer reads or writes otherwise than the format says.
DEFECTS = {
    ("pyAgrum", ".uai", "reads"): "It reads the first parent as the one that varies fastest.",
    ("pyAgrum", ".xdsl", "reads"): "It takes the first parent for the one that varies fastest.",
    ("pgmpy", ".uai", "reads"): "It reads no exponents of numbers, and varies the child slowest.",
    ("pgmpy", ".uai", "writes"): "It writes tables in which the child varies slowest.",
}
# Defects that show only where the order of parents matters: it does not in tables that are
# symmetric in them, as those of gates and of genes are.
OF_PARENTS = {
    ("pyAgrum", ".uai", "reads"),
    ("pyAgrum", ".xdsl", "reads"),
}
# What a peer makes of names and states of other characters than letters, digits and hyphens.
ODD = {
    ("pyAgrum", ".bif"): "It takes none in quotes, and writes none with a digit at the start.",
    ("pyAgrum", ".bifxml"): "It writes < and & as they are, which is no XML.",
    ("pyAgrum", ".xdsl"): "It writes < and & as they are, which is no XML.",
    ("pgmpy", ".bif"): "It takes the commas of quoted states for separators.",
    ("pgmpy", ".xmlbif"): "It writes underscores for them, so that states may be equal.",
    ("pgmpy", ".net"): "It reads no parentheses in quoted states.",
    ("pgmpy", ".xdsl"): "It writes underscores for them, so that states may be equal.",
}
# Networks that a peer does not read, or of which it does not answer, in minutes and 3 GB of memory.
# `test_weka_reads_our_tables_and_answers_rows` has those of Weka.
_TREE = "Its junction tree takes minutes, too much memory or indices of more than 32 bits."
_GRAMMAR = "Its grammar takes minutes for this file, in time that grows faster than the file."
_LARGE = "barley diabetes link mildew munin1 pigs water"
TOO_LARGE = {
    ("Weka", ".xml"): (_TREE, f"andes {_LARGE}"),
    ("pgmpy", ".net"): (_GRAMMAR, f"pathfinder {_LARGE}"),
    ("pgmpy", ".uai"): (_GRAMMAR, f"pathfinder {_LARGE}"),
}
# Probabilities may differ by so much where a peer has less than double precision.
TOLERANCE = {
    # It reads numbers of 32 bits, and writes six digits.
    ("pyAgrum", ".bif", "reads"): 1e-7,
    ("pyAgrum", ".bif", "writes"): 1e-5,
    ("pyAgrum", ".net", "reads"): 1e-7,
    ("pyAgrum", ".net", "writes"): 1e-5,
    ("pyAgrum", ".uai", "reads"): 1e-7,
    ("pyAgrum", ".uai", "writes"): 1e-5,
    ("pyAgrum", ".xdsl", "writes"): 1e-5,
    ("pgmpy", ".net", "writes"): 1e-7,  # it writes nine digits
    ("pyAgrum", ".bifxml", "writes"): 1e-5,
}

# -------------------------------------------------------------------------------- comparing


def _normalised(path: Path) -> bg.BayesianNetwork:
    """Return a network whose rows sum to one: programs divide those that do not, or do not."""
    cpds = []
    for cpd in bg.load(path).cpds:
        values = cpd.values / cpd.values.sum(axis=-1, keepdims=True)
        cpds.append(bg.TableCPD(cpd.variable, values, cpd.parents))
    return bg.BayesianNetwork(cpds)


def _beliefs(
    network: bg.BayesianNetwork, observed: Any, state: Any, spell: Callable[[Any], str]
) -> Beliefs:
    found = []
    for evidence in ({}, {observed: state}):
        marginals = network.marginals(evidence)
        found.append(
            {
                spell(v.name): {
                    spell(s): (
                        float(s == state)
                        if v.name in evidence
                        else float(marginals[v.name].probabilities[i])
                    )
                    for i, s in enumerate(v.states)
                }
                for v in network.variables
            }
        )
    return found


def _asked(names: Sequence[str]) -> list[str]:
    """Return all names of a small network, and some of a large one."""
    return list(names) if len(names) < 40 else list(names[:: -(len(names) // ASKED)])


def _agree(ours: Beliefs, theirs: Beliefs, tolerance: float, asked: Collection[str] = ()) -> None:
    for mine, other in zip(ours, theirs, strict=True):
        assert other.keys() >= set(asked or mine)
        for name in asked or mine:
            states = mine[name]
            assert states.keys() == other[name].keys()
            np.testing.assert_allclose(
                [other[name][state] for state in states],
                list(states.values()),
                rtol=0,
                atol=tolerance,
            )


def _same_tables(
    network: bg.BayesianNetwork, words: Mapping[Any, str], read: Tables, *, divided: bool = False
) -> None:
    """Check the tables that a peer has read: to the bit.

    Where it has `divided` rows by their sums, to a rounding for each number of the sum.
    """
    assert len(read) == len(network.variables)
    for cpd in network.cpds:
        child = cpd.variable
        parents, states, values = read[words[child.name]]
        assert parents == [words[parent.name] for parent in cpd.parents]
        assert states == [words[child.name, state] for state in child.states]
        expected = cpd.values.reshape(values.shape)
        roundings = len(states) if divided else 0
        np.testing.assert_allclose(values, expected, rtol=0, atol=roundings * np.finfo(float).eps)


def _words(network: bg.BayesianNetwork, suffix: str) -> Mapping[Any, str]:
    """Return the words of a format for the names of a network and for pairs of name and state."""
    found = Export.of(network, bg.files.format_of(f"a{suffix}").holds, strict=False)
    words: dict[Any, str] = {v.name: word for v, word in found.names.items()}
    words |= {
        (v.name, s): word
        for v, listed in found.states.items()
        for s, word in zip(v.states, listed, strict=True)
    }
    return words


def _spelled(beliefs: Beliefs, words: Mapping[Any, str], suffix: str) -> Beliefs:
    """Return beliefs by the words that stand in a file."""

    # pyAgrum and pgmpy give numbers, which have no words in UAI files, as names.
    def name(word: str) -> str:
        return word.removeprefix("x") if suffix == ".uai" else word

    return [
        {name(words[n]): {words[n, s]: p for s, p in states.items()} for n, states in found.items()}
        for found in beliefs
    ]


# These start processes of their own, or take seconds for the smallest network.
_SLOW = {("pgmpy", ".bif"), ("pgmpy", ".uai"), ("Weka", ".xml")}


def _cases(what: str) -> Iterator[Any]:
    for peer, suffixes in SUFFIXES.items():
        default = ("asia", "survey") if peer == "pyAgrum" else ("asia",)
        for suffix in suffixes:
            for path in repository():
                name = path.name.removesuffix(".bif.gz")
                takes_long = name not in default or (peer, suffix) in _SLOW
                takes_long |= what == "writes" and peer != "pyAgrum"
                # The one start of Java by default.
                takes_long &= (peer, name, what) != ("Weka", "asia", "reads")
                marks = [pytest.mark.slow] if takes_long else []
                reason, too_large = TOO_LARGE.get((peer, suffix), ("", ""))
                if name in too_large.split() and what == "reads":
                    marks.append(pytest.mark.xfail(run=False, reason=reason))
                if not INSTALLED[peer]:
                    marks.append(pytest.mark.skip(f"{peer} is not installed"))
                yield pytest.param(peer, suffix, path, marks=marks, id=f"{peer}{suffix}-{name}")


def _expect(
    case: tuple[str, str, str],
    network: bg.BayesianNetwork,
    run: Callable[[], None],
    *,
    odd: bool,
) -> None:
    """Run a comparison of a network, which fails where the peer has a defect that it shows.

    It may fail if names or states are odd and the peer does not take all of those.
    """
    peer, suffix, _ = case
    defect = DEFECTS.get(case)
    if case in OF_PARENTS and not _order_of_parents_matters(network):
        defect = None
    if defect is None and not (odd and (peer, suffix) in ODD):
        run()
        return
    try:
        run()
    except Exception:  # whatever the peer raises
        if defect is None:
            pytest.xfail(ODD[peer, suffix])
        return
    assert defect is None, f"{peer} no longer has the defect in {suffix}: {defect}"


def _is_odd(words: Iterable[str], case: tuple[str, str, str]) -> bool:
    odd = r"[^\w.-]|^\d" if case == ("pyAgrum", ".bif", "writes") else r"[^\w.-]"
    return any(re.search(odd, word) for word in words)


def _order_of_parents_matters(network: bg.BayesianNetwork) -> bool:
    """Whether some table differs where the first parent varies fastest instead of the last."""
    for cpd in network.cpds:
        *parents, child = range(cpd.values.ndim)
        if not np.array_equal(cpd.values.transpose(*parents[::-1], child).flat, cpd.values.flat):
            return True
    return False


def _tolerance(peer: str, suffix: str, what: str) -> float:
    return TOLERANCE.get((peer, suffix, what), 1e-9)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("peer", "suffix", "path"), list(_cases("reads")))
def test_peers_read_what_we_write(peer: str, suffix: str, path: Path, tmp_path: Path) -> None:
    network = _normalised(path)
    observed = network.variables[-1]
    file = tmp_path / f"network{suffix}"
    network.save(file, strict=False)
    code = int(np.argmax(network.query(observed.name).probabilities))
    words = _words(network, suffix)
    ours = _beliefs(network, observed.name, observed.states[code], lambda value: value)
    spelled = _spelled(ours, words, suffix)
    asked = _asked(list(spelled[0]))

    def run() -> None:
        if (read := PEERS[peer].tables) is not None:
            _same_tables(network, words, read(file))
        theirs = PEERS[peer].beliefs(file, list(spelled[0])[-1], code, asked)
        _agree(spelled, theirs, _tolerance(peer, suffix, "reads"), asked)

    case = (peer, suffix, "reads")
    _expect(case, network, run, odd=_is_odd(words.values(), case))


def _read(file: Path, network: bg.BayesianNetwork) -> Any:
    """Read what a peer has made of a network: UAI files of peers have numbers for names."""
    if file.suffix == ".uai":
        return bg.load(file, variables=network.variables)
    return bg.load(file)


def _weka_agrees(network: bg.BayesianNetwork, file: Path) -> None:
    """Check Weka's tables of a file, and its answers about one variable of rows, against ours."""
    n, drawn = len(network.variables), network.sample(4, random_state=0)
    codes = [[v.index(state) for state in drawn[v.name]] for v in network.variables]
    rows = [(i * (n // 4), *(column[i] for column in codes)) for i in range(4)]
    tables, answers = _weka_rows(file, rows)
    _same_tables(network, _words(network, ".xml"), tables, divided=True)
    for (target, *row), answer in zip(rows, answers, strict=True):
        found = {v.name: v.states[k] for v, k in zip(network.variables, row, strict=True)}
        name = network.names[target]
        del found[name]
        ours = network.query(name, found).probabilities
        np.testing.assert_allclose(answer, ours, rtol=0, atol=1e-9)


@pytest.mark.slow
@pytest.mark.skipif(not INSTALLED["Weka"], reason="Weka is not installed")
@pytest.mark.parametrize("path", repository(), ids=lambda path: path.name.removesuffix(".bif.gz"))
def test_weka_reads_our_tables_and_answers_rows(path: Path, tmp_path: Path) -> None:
    """Its classifier knows all variables but one, and needs no junction tree."""
    network, file = _normalised(path), tmp_path / "network.xml"
    network.save(file)
    _weka_agrees(network, file)


@pytest.mark.parametrize(("peer", "suffix", "path"), list(_cases("writes")))
def test_we_read_what_peers_write(peer: str, suffix: str, path: Path, tmp_path: Path) -> None:
    # In the format that all peers read exactly.
    source, file = tmp_path / "source.xmlbif", tmp_path / f"theirs{suffix}"
    if peer == "pyAgrum":
        source = source.with_suffix(".bifxml")
    network = _normalised(path)
    network.save(source)

    def run() -> None:
        PEERS[peer].write(source, file)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # rows of six digits
            back = _read(file, network)
        if peer == "Weka":  # it learns the network that it writes
            _weka_agrees(back, file)
            return
        observed = back.variables[-1]
        code = int(np.argmax(back.query(observed.name).probabilities))
        ours = _beliefs(back, observed.name, observed.states[code], str)
        known = network.variable(observed.name)
        state = known.states[known.index(observed.states[code])]
        expected = _beliefs(network, observed.name, state, str)
        _agree(expected, ours, _tolerance(peer, suffix, "writes"))

    labels = (str(word) for v in network.variables for word in (v.name, *v.states))
    case = (peer, suffix, "writes")
    _expect(case, network, run, odd=_is_odd(labels, case))


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("peer", "suffix"),
    [
        pytest.param(peer, s, marks=[pytest.mark.slow] if (peer, s) in _SLOW else [])
        for peer, suffixes in SUFFIXES.items()
        for s in suffixes
    ],
)
def test_peers_read_classifiers_of_intervals(peer: str, suffix: str, tmp_path: Path) -> None:
    if not INSTALLED[peer]:
        pytest.skip(f"{peer} is not installed")
    random = np.random.default_rng(0)
    y = random.choice(["no", "yes"], 300)
    x = {
        "petal width": random.normal(size=300) + 2.0 * (y == "yes"),
        "age": random.normal(size=300) * (1.0 + (y == "no")),
    }
    network = bg.TANClassifier(discretizer="frequency").fit(x, y).network_
    assert isinstance(network.variables[-1], bg.Binned)
    file = tmp_path / f"network{suffix}"
    network.save(file, strict=False)
    assert bg.load(file) == network
    words = _words(network, suffix)
    target = network.variables[-1]
    ours = _beliefs(network, target.name, target.states[1], lambda value: value)
    spelled = _spelled(ours, words, suffix)

    def run() -> None:
        theirs = PEERS[peer].beliefs(file, list(spelled[0])[-1], 1, list(spelled[0]))
        _agree(spelled, theirs, _tolerance(peer, suffix, "reads"))

    _expect((peer, suffix, "reads"), network, run, odd=True)
