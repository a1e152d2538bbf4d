"""What is looked up in scikit-learn when it is used."""

import re
import subprocess
import sys
from pathlib import Path

import bayesgraph as bg

PACKAGE = Path(bg.__file__).parent
PROGRAM = """
import sys
from functools import reduce
from bayesgraph.classifiers.scikit_learn import sklearn
for path in sys.argv[1:]:
    reduce(getattr, path.split("."), sklearn)
"""


def test_what_is_looked_up_is_there_in_a_new_process():
    paths = set()
    for file in PACKAGE.rglob("*.py"):
        text = file.read_text("utf-8")
        if "scikit_learn import" in text:
            paths.update(re.findall(r"(?<![\w.])sklearn\.([a-z_]+\.[a-z_]+\.\w+)", text))
    assert len(paths) > 3
    for path in paths:  # each by itself: what one imports would be there for another
        command = [sys.executable, "-W", "ignore", "-c", PROGRAM, path]
        environment = {"PYTHONPATH": str(PACKAGE.parent)}
        subprocess.run(command, check=True, env=environment, capture_output=True)
