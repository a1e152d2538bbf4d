"""The example of the README of the kernels is what the compiler makes and the executor computes."""

import re
from pathlib import Path

import numpy as np

import bayesgraph as bg
from bayesgraph.inference import Case, program_kernels
from bayesgraph.inference.programs import Query

README = Path(program_kernels.__file__).with_name("README.md")
SIMPLE = ("FILL", "SCALE", "DIVIDE", "RESULT")
LOOPS = ("COPY", "MULTIPLY", "ADD")
OPERATIONS = {int(getattr(program_kernels, name)): name for name in (*SIMPLE, *LOOPS)}


def chain():
    """Return the network a -> b -> c of the example."""
    a, b, c = (bg.Discrete(name, [0, 1]) for name in "abc")
    return bg.BayesianNetwork(
        [
            bg.TableCPD(a, [0.6, 0.4]),
            bg.TableCPD(b, [[0.7, 0.3], [0.2, 0.8]], [a]),
            bg.TableCPD(c, [[0.9, 0.1], [0.4, 0.6]], [b]),
        ]
    )


def written(line):
    """Return (position, operation, target, dimensions) of a line of the listing."""
    position, operation, target, rest = re.match(r" +(\d+) +([A-Z]+) +(\d+)(.*)", line).groups()
    dimensions = re.findall(r"\((\d+):(\d+),(\d+)\)", rest)
    return int(position), operation, int(target), [tuple(map(int, d)) for d in dimensions]


def compiled(code):
    """Yield the same of each instruction of a program."""
    at = 0
    while at < len(code):
        operation = OPERATIONS[code[at]]
        dimensions = []
        if operation in LOOPS:
            numbers = code[at + program_kernels.HEAD : at + code[at + 1]]
            dimensions = [tuple(numbers[k : k + 3]) for k in range(0, len(numbers), 3)]
        yield at, operation, code[at + 2], dimensions
        at += code[at + 1]


def test_the_listing_is_the_program():
    lines = README.read_text("utf-8").partition("## The example, compiled and run")[2].splitlines()
    listing = [written(line) for line in lines if re.match(r" +\d+ +[A-Z]{3,}", line)]
    program = chain()._compiled_tables.program(Query((), both=True))
    assert listing == list(compiled(program.code.tolist()))


def test_the_result_is_the_one_written():
    net = chain()
    run = net._compiled_tables.run(net._compiled_tables.program(Query((), both=True)), Case({}))
    np.testing.assert_allclose(run.result, [0.6, 0.4, 0.5, 0.5, 0.65, 0.35], rtol=1e-15)
    assert abs(run.log_mass) < 1e-15
    assert "`[.6 .4 | .5 .5 | .65 .35]`" in README.read_text("utf-8")
