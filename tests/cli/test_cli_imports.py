"""What the command line imports: commands that answer load no library that they do not use."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import bayesgraph as bg

HEART = Path(__file__).parents[2] / "examples" / "data" / "heart.csv"
# Libraries that no answer needs, and what only some commands need.
NEVER = (
    *(
        "numba",
        "sklearn",
        "pandas",
        "polars",
        "matplotlib",
        "pgmpy",
        "graphviz",
        "networkx",
        "joblib",
    ),
    *("scipy.stats", "scipy.optimize", "scipy.sparse", "scipy.special"),
    *("bayesgraph.classifiers.base", "bayesgraph.learning.fit", "bayesgraph.tables.datasets"),
)
TABLES, DRAWN = ("pyarrow",), ("rich",)
# Run in one process, from what imports least to what imports most.
COMMANDS = {
    "version": (["--version"], (*NEVER, *TABLES, *DRAWN, "numpy", "pydantic")),
    "query of a network": (["query", "{bif}", "--target", "sex"], (*NEVER, *TABLES, *DRAWN)),
    "query": (["query", "{model}", "-e", "sex=male"], (*NEVER, *TABLES, *DRAWN)),
    "do": (["do", "{bif}", "-s", "sex=male", "--target", "cp"], (*NEVER, *TABLES, *DRAWN)),
    "ask-next": (["ask-next", "{bif}", "--target", "sex"], (*NEVER, *TABLES, *DRAWN)),
    "ask-next of a classifier": (
        ["ask-next", "{model}", "-e", "sex=male", "-c", "age=1", "-c", "cp=2"],
        (*NEVER, *TABLES, *DRAWN),
    ),
    "info": (["info", "{model}"], (*NEVER, *TABLES, *DRAWN)),
    "info of a network": (["info", "{bif}"], (*NEVER, *TABLES, *DRAWN)),
    "query --all": (["query", "{model}", "--all"], (*NEVER, *TABLES, *DRAWN)),
    "predict": (["predict", "{model}", "{rows}"], (*NEVER, *DRAWN)),
    "predict to a file": (["predict", "{tan}", "{rows}", "-o", "{output}"], (*NEVER, *DRAWN)),
    "show": (["show", "{model}"], (*NEVER, *DRAWN)),
    "show of a network": (["show", "{bif}"], (*NEVER, *DRAWN)),
}
# Prints after each command, on standard error, the modules of which there are by then.
PROGRAM = """
import json, sys
from bayesgraph.cli.entry import main
for command in json.loads(sys.argv[1]):
    try:
        main(command)
    except SystemExit as end:
        sys.stderr.write(json.dumps([end.code, sorted(sys.modules)]) + chr(10))
"""


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    """Return for each command the exit code and the modules that are loaded after it."""
    folder = tmp_path_factory.mktemp("imports")
    table = bg.read_table(HEART).to_pandas()
    X, y = table.drop(columns="disease"), table["disease"]
    bg.NaiveBayesClassifier().fit(X, y).save(folder / "model.bayesgraph")
    tan = bg.TANClassifier(discretizer="width").fit(X, y)
    tan.save(folder / "tan.bayesgraph")
    bg.BayesianNetwork.fit([("sex", "cp")], table[["sex", "cp"]]).save(folder / "network.bif")
    X[:10].to_csv(folder / "rows.csv", index=False)
    files = {"model": "model.bayesgraph", "tan": "tan.bayesgraph", "bif": "network.bif"}
    files |= {"rows": "rows.csv", "output": "found.csv"}
    paths = {name: str(folder / file) for name, file in files.items()}
    commands = [[part.format(**paths) for part in command] for command, _ in COMMANDS.values()]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", PROGRAM, json.dumps(commands)],
        env=os.environ
        | {"PYTHONPATH": str(Path(bg.__file__).parents[1]), "BAYESGRAPH_COMPILE": "background"},
        capture_output=True,
        text=True,
        check=True,
    )
    return dict(zip(COMMANDS, map(json.loads, done.stderr.splitlines()), strict=True))


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_imports_only_what_it_uses(loaded, command):
    code, modules = loaded[command]
    assert code == 0
    assert not {*COMMANDS[command][1]} & {*modules}
