"""Numbers in texts: the floats that Python reads, and refusals that name the word."""

from __future__ import annotations

import random
import re
import struct
import sys
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow.compute  # noqa: F401
import pytest

import bayesgraph as bg
from bayesgraph.files.blocks import TableError, nested_numbers
from bayesgraph.files.readers import floats_of


def _any_float(chance: random.Random) -> float:
    while True:
        (found,) = struct.unpack("d", struct.pack("Q", chance.getrandbits(64)))
        if np.isfinite(found):
            return float(found)


def _halfway(chance: random.Random) -> str:
    """Return a decimal that is halfway between two floats, or so near to it as digits allow."""
    number = abs(_any_float(chance)) / 2
    exact = (Fraction(number) + Fraction(float(np.nextafter(number, np.inf)))) / 2
    with localcontext() as context:
        context.prec = chance.choice((17, 18, 19, 20, 25, 60, 800))
        return str(Decimal(exact.numerator) / Decimal(exact.denominator))


def _digits(chance: random.Random, most: int) -> str:
    return str(chance.randrange(10 ** chance.randint(1, most))).zfill(chance.randint(1, most))


DECIMALS: dict[str, Callable[[random.Random], str]] = {
    "probabilities": lambda chance: repr(chance.random()),
    "floats": lambda chance: repr(_any_float(chance)),
    "subnormal numbers": lambda chance: repr(chance.getrandbits(52) * 5e-324),
    "exponents": lambda chance: f"-{_digits(chance, 25)}E{chance.randint(-360, 330)}",
    "many digits": lambda chance: f"{_digits(chance, 30)}.{_digits(chance, 30)}",
    "halfway": _halfway,
    "whole and halfway": lambda chance: str(2 * (chance.getrandbits(52) | 1 << 52) + 1),
    "halfway by exponents": lambda chance: (
        f"{chance.getrandbits(54) | 1 << 53 | 1}e{chance.randint(-30, 30)}"
    ),
}


@pytest.mark.parametrize("arrow", [True, False])
@pytest.mark.parametrize("kind", DECIMALS)
def test_each_is_the_float_that_python_reads(
    kind: str, arrow: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Arrow makes the numbers of long texts if it is loaded, as here.
    if not arrow:
        monkeypatch.delitem(sys.modules, "pyarrow.compute")
    chance = random.Random(kind)
    texts = [DECIMALS[kind](chance) for _ in range(2000)]
    expected = np.array([float(text) for text in texts])
    assert floats_of(" ".join(texts)).tobytes() == expected.tobytes()


def test_limits_and_odd_spellings() -> None:
    texts = ["0", "-0", "+0.0e5", "0012", ".5", "5.", "-.5e+3", "1E5", "1e999", "-1e999", "1e-999"]
    texts += ["5e-324", "2e-324", "2.2250738585072014e-308", "1.7976931348623157e308"]
    texts += ["1.7976931348623159e308", "9007199254740993", f"0.{'0' * 400}1", "1" * 300]
    texts += ["1e" + "0" * 50 + "5", "0e99999999999999999999", "1.5e-99999999999999999999"]
    expected = np.array([float(text) for text in texts])
    assert floats_of(" ".join(texts)).tobytes() == expected.tobytes()


@pytest.mark.parametrize(
    "word", ["1.2.3", "e5", "1e", "+", "1_0", "--1", ".", "1e+", "nan", "inf", "0x1", "1-2", "1,2",
             "infinity", "1_000.5", "\u0661", "1\x00", "1\x1c2"],
)  # fmt: skip
def test_words_that_are_no_numbers_are_named(word: str) -> None:
    with pytest.raises(ValueError, match="expected a number; got") as raised:
        floats_of(f"0.5 {word} 1")
    assert repr(word) in str(raised.value)


def test_tables_of_nested_lists() -> None:
    values = np.random.default_rng(0).random((5, 6, 40))
    rows = ["(" + " ".join(map(repr, row.tolist())) + ")" for row in values.reshape(-1, 40)]
    text = "(" + ",\n".join("(" + " ".join(rows[k : k + 6]) + ")" for k in range(0, 30, 6)) + ")"
    assert (nested_numbers(text, values.shape) == values).all()
    assert (nested_numbers(text.replace("(", "").replace(")", ""), values.shape) == values).all()
    with pytest.raises(TableError, match=r"got 1,161 numbers"):
        nested_numbers(text.replace("((", "(( 1 ", 1).replace(rows[3], "()"), values.shape)
    moved = text.replace(") (", " ", 1).replace(rows[5], f"{rows[5][:-1]}) (1)")
    with pytest.raises(TableError):
        nested_numbers(moved, values.shape)
    with pytest.raises(TableError, match="levels of parentheses"):
        nested_numbers(text.replace("(((", "((", 1), values.shape)


@pytest.mark.parametrize("word", ["1.2.3", "1e", "nan", "1_0"])
@pytest.mark.parametrize("suffix", [".bif", ".net", ".dne", ".xmlbif", ".xdsl", ".uai"])
def test_readers_name_the_line_of_a_word_that_is_no_number(
    suffix: str, word: str, tmp_path: Path
) -> None:
    rain = bg.Discrete("rain", ["no", "yes"])
    wet = bg.Discrete("wet", ["no", "yes"])
    cpds = [bg.TableCPD(rain, [0.5, 0.5]), bg.TableCPD(wet, [[0.875, 0.125], [0.25, 0.75]], [rain])]
    path = tmp_path / f"network{suffix}"
    bg.BayesianNetwork(cpds).save(path, strict=False)
    before, _, after = path.read_text().partition("0.125")
    path.write_text(f"{before}{word}{after}")
    # XMLBIF names the line of the table's definition.
    line = (before.rpartition("<DEFINITION>")[0] or before).count("\n") + 1
    with pytest.raises(bg.errors.FileFormatError, match=rf", line {line}: .*{re.escape(word)}"):
        bg.load(path)
