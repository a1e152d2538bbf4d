"""What a script prints: in this process, and in others whose hashes of text have another seed."""

import contextlib
import io
import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parent


def printed_here(script):
    """Return what a script prints in this process, which has imported and compiled all it needs."""
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(script, "script", "exec"), {"__name__": "__main__"})
    return out.getvalue()


def printed_elsewhere(script, seed):
    """Return what a script prints in a process of its own with a seed; warnings are errors."""
    paths = os.pathsep.join([str(TESTS.parent), str(TESTS)])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        env={**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
