"""What comes along: each file loads, says where it is from, and is light."""

import zlib
from pathlib import Path

import pytest

import bayesgraph as bg
from bayesgraph.core.errors import DataError

FOLDER = Path(bg.examples.__file__).parent
# Nodes, arcs and free parameters as the Bayesian Network Repository counts them.
COUNTS = {
    "asia": (8, 8, 18),
    "cancer": (5, 4, 10),
    "earthquake": (5, 4, 10),
    "survey": (6, 6, 21),
    "sachs": (11, 17, 178),
    "child": (20, 25, 230),
    "alarm": (37, 46, 509),
    "insurance": (27, 52, 1008),
    "water": (32, 66, 10083),
    "win95pts": (76, 112, 574),
    "hailfinder": (56, 66, 2656),
    "hepar2": (70, 123, 1453),
    "andes": (223, 338, 1157),
    "pigs": (441, 592, 5618),
    "link": (724, 1125, 14211),
    "munin1": (186, 273, 15622),
    "pathfinder": (109, 195, 72079),
    "mildew": (35, 46, 540150),
    "barley": (48, 84, 114005),
    "diabetes": (413, 602, 429409),
    "ecoli70": (46, 70, 162),
    "magic-niab": (44, 66, 154),
    "magic-irri": (64, 102, 230),
    "arth150": (107, 150, 364),
}
# Rows, columns, classes and empty cells as the UCI Machine Learning Repository says (of thyroid:
# counted in the file of Weka's collection, without the column TBG and its indicator).
TABLES = {
    "heart": ((303, 14), 2, 7),
    "iris": ((150, 5), 3, 0),
    "credit": ((1000, 21), 2, 0),
    "vote": ((435, 17), 2, 392),
    "car": ((1728, 7), 4, 0),
    "thyroid": ((3772, 28), 4, 2292),
}


def test_there_are_enough_with_sources_and_licences():
    assert len(bg.examples.networks()) >= 20
    assert len(bg.examples.tables()) >= 6
    for sources in (bg.examples.networks(), bg.examples.diagrams(), bg.examples.tables()):
        for source in sources.values():
            assert source.path.is_file()
            assert source.licence in ("MIT", "CC BY 4.0")
            assert all(len(text) > 5 for text in (source.about, source.source))
    named = {
        s.path
        for of in ("networks", "diagrams", "tables")
        for s in getattr(bg.examples, of)().values()
    }
    assert named == {
        path for path in FOLDER.rglob("*") if path.parent.name in ("networks", "diagrams", "tables")
    }


def test_they_are_light():
    packed = [len(zlib.compress(path.read_bytes())) for path in FOLDER.rglob("*") if path.is_file()]
    assert sum(packed) < 1.5e6


@pytest.mark.parametrize("name", COUNTS)
def test_networks_are_those_of_the_literature(name):
    net = bg.examples.network(name)
    nodes, arcs, parameters = COUNTS[name]
    assert (len(net.names), net.graph.number_of_edges()) == (nodes, arcs)
    discrete = all(hasattr(v, "states") for v in net.variables)
    if discrete:
        free = sum(
            cpd.values.size - cpd.values.size // cpd.variable.cardinality for cpd in net.cpds
        )
    else:
        free = sum(2 + len(cpd.parents) for cpd in net.cpds)
    assert free == parameters


@pytest.mark.parametrize("name", TABLES)
def test_tables_are_those_of_the_repository(name):
    table = bg.examples.table(name)
    shape, classes, empty = TABLES[name]
    assert table.shape == shape
    assert sum(column.null_count for column in table.columns) == empty
    target = bg.examples.tables()[name].about.rsplit("is ", 1)[1]
    assert len(table[target].unique()) == classes
    clf = bg.NaiveBayesClassifier(check_columns=False).fit(
        table.drop_columns(target), table[target]
    )
    assert clf.score(table.drop_columns(target), table[target]) > 0.7


@pytest.mark.parametrize("name", bg.examples.diagrams())
def test_diagrams_have_arcs(name):
    diagram = bg.questions.read_dagitty(bg.examples.diagrams()[name].path)
    assert len(diagram.graph.arcs) + len(diagram.graph.confounded) > 2


def test_asia_is_that_of_the_paper():
    # Lauritzen and Spiegelhalter 1988: a smoker with a positive X-ray.
    assert bg.examples.network("asia").query("lung", {"smoke": "yes", "xray": "yes"})[
        "yes"
    ] == pytest.approx(0.6460, abs=5e-5)


def test_the_table_of_the_checkout_is_the_same():
    checkout = Path(__file__).parents[3] / "examples" / "data" / "heart.csv"
    assert checkout.read_bytes() == bg.examples.tables()["heart"].path.read_bytes()


@pytest.mark.parametrize("kind", ["network", "table"])
def test_an_unknown_name_is_told_with_the_nearest(kind):
    ask = getattr(bg.examples, kind)
    near = {
        "network": ("alram", "alarm"),
        "table": ("hart", "heart"),
    }
    wrong, right = near[kind]
    with pytest.raises(DataError, match=f"no {kind} {wrong!r}. Did you mean {right!r}"):
        ask(wrong)
    with pytest.raises(DataError, match=f"There are .*{right!r}"):
        ask("zzzzzzzzzz")


def test_sources_print_in_a_line():
    text = str(bg.examples.tables()["iris"])
    assert "doi:10.24432/C56C76" in text
    assert "\n" not in text
