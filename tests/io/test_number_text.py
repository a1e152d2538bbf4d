"""Numbers in texts: by each of the ways, the floats that Python reads, and the same refusals."""

from __future__ import annotations

import random
import re
import struct
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import bayesgraph as bg
from bayesgraph.compilation import mode_is
from bayesgraph.compilation.tiers import LARGE, Tiers
from bayesgraph.io.nested_numbers import TableError, nested_numbers
from bayesgraph.io.number_text import BLANKS, SHORT, compiled_numbers, floats_of

PADDING = " 1" * SHORT  # texts are long enough for compiled kernels


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


def _read(texts: list[str], mode: str) -> np.ndarray:
    with mode_is(mode):
        return floats_of(" ".join(texts) + PADDING)[: len(texts)]


@pytest.mark.parametrize("mode", ["inline", "never"])
@pytest.mark.parametrize("kind", DECIMALS)
def test_each_is_the_float_that_python_reads(kind: str, mode: str) -> None:
    chance = random.Random(kind)
    texts = [DECIMALS[kind](chance) for _ in range(400 if mode == "never" else 2000)]
    expected = np.array([float(text) for text in texts])
    assert _read(texts, mode).tobytes() == expected.tobytes()


@pytest.mark.parametrize("mode", ["inline", "never"])
def test_limits_and_odd_spellings(mode: str) -> None:
    texts = ["0", "-0", "+0.0e5", "0012", ".5", "5.", "-.5e+3", "1E5", "1e999", "-1e999", "1e-999"]
    texts += ["5e-324", "2e-324", "2.2250738585072014e-308", "1.7976931348623157e308"]
    texts += ["1.7976931348623159e308", "9007199254740993", f"0.{'0' * 400}1", "1" * 300]
    texts += ["1e" + "0" * 50 + "5", "0e99999999999999999999", "1.5e-99999999999999999999"]
    assert _read(texts, mode).tobytes() == np.array([float(text) for text in texts]).tobytes()


@pytest.mark.parametrize("mode", ["inline", "never"])
@pytest.mark.parametrize(
    "word", ["1.2.3", "e5", "1e", "+", "1_0", "--1", ".", "1e+", "nan", "inf", "0x1", "1-2", "1,2",
             "\u0661", "1\x00"],
)  # fmt: skip
def test_words_that_are_no_numbers_are_named(word: str, mode: str) -> None:
    with mode_is(mode), pytest.raises(ValueError, match="expected a number; got") as raised:
        floats_of(f"{PADDING} {word} 1")
    assert repr(word) in str(raised.value)


def test_blanks_and_ends_of_rows() -> None:
    with mode_is("inline"):
        found = compiled_numbers(b"((1,2 )\n(3 4))" + b" " * SHORT, BLANKS + b"(,", b")")
        assert found is not None
        assert found.values.tolist() == [1, 2, 3, 4]
        assert found.ends.tolist() == [2, 4, 4]


@pytest.mark.parametrize("mode", ["inline", "never"])
def test_tables_of_nested_lists(mode: str) -> None:
    values = np.random.default_rng(0).random((5, 6, 40))
    rows = ["(" + " ".join(map(repr, row.tolist())) + ")" for row in values.reshape(-1, 40)]
    text = "(" + ",\n".join("(" + " ".join(rows[k : k + 6]) + ")" for k in range(0, 30, 6)) + ")"
    with mode_is(mode):
        assert (nested_numbers(text, values.shape) == values).all()
        assert (
            nested_numbers(text.replace("(", "").replace(")", ""), values.shape) == values
        ).all()
        with pytest.raises(TableError, match=r"got 1,161 numbers"):
            nested_numbers(text.replace("((", "(( 1 ", 1).replace(rows[3], "()"), values.shape)
        moved = text.replace(") (", " ", 1).replace(rows[5], f"{rows[5][:-1]}) (1)")
        with pytest.raises(TableError):
            nested_numbers(moved, values.shape)
        with pytest.raises(TableError, match="levels of parentheses"):
            nested_numbers(text.replace("(((", "((", 1), values.shape)


class _Cache:
    def __init__(self, *, complete: bool) -> None:
        self.complete = complete

    def is_complete(self) -> bool:
        return self.complete


def test_large_texts_are_left_to_kernels_that_are_cached() -> None:
    for mode, complete, work, compiled in (
        ("background", True, LARGE + 1, True),
        ("background", True, LARGE, False),
        ("background", False, LARGE + 1, False),
        ("never", True, LARGE + 1, False),
    ):
        found = Tiers(mode, _Cache(complete=complete))  # type: ignore[arg-type]
        found.expect(work)
        assert found.compiled == compiled


ROWS: dict[str, Callable[[list[str]], list[str]]] = {
    "as written": lambda rows: rows,
    "in another order": lambda rows: rows[::-1],
    "with few blanks": lambda rows: [re.sub(r"[ \n]+", " ", row) for row in rows],
    "a row twice": lambda rows: [*rows, rows[5]],
    "a row less": lambda rows: rows[1:],
    "a default": lambda rows: [*rows[1:], "  default : 0.5, 0.5;\n"],
    "an unknown state": lambda rows: [rows[0].replace("(", "(none").replace(",", "", 1), *rows[1:]],
    "a number less": lambda rows: [*rows[:9], rows[9].replace(",", "", 1), *rows[10:]],
    "a word": lambda rows: [*rows[:9], rows[9].replace(";", "x;"), *rows[10:]],
    "a row of another sum": lambda rows: [*rows[:9], rows[9].replace(" 0.", " 1."), *rows[10:]],
    "a negative row": lambda rows: [*rows[:9], rows[9].replace(" 0.", " -0."), *rows[10:]],
    "a missing semicolon": lambda rows: [*rows[:9], rows[9].replace(";", ""), *rows[10:]],
    "numbers before the states": lambda rows: [rows[0], "0.5" + rows[1], *rows[2:]],
    "two lists of states": lambda rows: [rows[0], "(0, 0)" + rows[1], *rows[2:]],
    "a property": lambda rows: [*rows, "property x;"],
}  # fmt: skip


@pytest.mark.one_in(3)
@pytest.mark.parametrize("suffix", [".bif", ".dsc"])
@pytest.mark.parametrize("change", ROWS)
def test_long_lists_of_rows_are_what_short_ones_are(
    change: str, suffix: str, tmp_path: Path
) -> None:
    """All rows at once, or one by one: the same network, or the same message."""
    a, b = bg.Discrete("a", ["0", "1", "2"]), bg.Discrete("b", [str(i) for i in range(30)])
    c = bg.Discrete("c", ["0", "1"])
    values = np.random.default_rng(0).dirichlet([1.0, 1.0], (3, 30))
    values[1, 1] = [0.0, 1.0]
    network = bg.BayesianNetwork(
        [
            bg.TableCPD(a, [0.5, 0.25, 0.25]),
            bg.TableCPD(b, np.full(30, 1 / 30)),
            bg.TableCPD(c, values, [a, b]),
        ]
    )
    path = tmp_path / f"network{suffix}"
    network.save(path)
    text = path.read_text()
    rows = re.findall(r"^  \(.*;\n", text, re.MULTILINE)
    changed = "".join(ROWS[change](rows))
    assert len(rows) == 90
    if suffix == ".bif":
        changed = changed.replace(" :", "")
    path.write_text(text.replace("".join(rows), changed))
    found = []
    for mode in ("never", "inline"):
        with mode_is(mode):
            try:
                found.append(bg.load(path)["c"].values.tolist())
            except bg.errors.FileFormatError as error:
                found.append(str(error))
    assert found[0] == found[1]
    assert change not in list(ROWS)[:3] or found[0] == values.tolist()
