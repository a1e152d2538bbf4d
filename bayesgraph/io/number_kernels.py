"""Decimal numbers in texts, compiled: each is the float nearest to its decimal.

The algorithm is that of Lemire, "Number parsing at a gigabyte per second" (2021): the digits as an
integer of 64 bits, times a power of five of 128 bits, give the 53 bits of the float, but for a few
numbers, which are left to the caller.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bayesgraph.compilation import kernel

# Bytes of a text: parts of numbers (and of anything else), blanks, and ends of rows.
OTHER, BLANK, END = 0, 1, 2
# Why a call returns: the text ends, there is a number that is not made here, or a word is none.
DONE, HARD, WRONG = 0, 1, 2
# Powers of ten beyond which all numbers are zero or infinite, whatever their 19 digits.
_LEAST, _MOST = -342, 308
_DIGITS = 19


@functools.cache
def powers_of_five() -> NDArray[np.uint64]:
    """Return the first 128 bits of the powers of five from -342 to 308, as high and low words.

    Powers that are no integers are rounded up where their numbers may be halfway between floats,
    and cut off elsewhere (Lemire 2021, section 5).
    """
    found = []
    for exponent in range(_LEAST, _MOST + 1):
        power = 5 ** abs(exponent)
        n_bits = power.bit_length()
        if exponent >= 0:
            bits = power << 128 - n_bits if n_bits <= 128 else power >> n_bits - 128
        else:
            shift = n_bits + 127 if exponent >= -27 else 2 * n_bits + 128
            bits = (1 << shift) // power + 1
            bits >>= max(bits.bit_length() - 128, 0)
        found.append(divmod(bits, 1 << 64))
    return np.array(found, dtype=np.uint64)


@kernel(interpreted=False)
def parse_numbers(
    text: NDArray[np.uint8],
    at: int,
    kinds: NDArray[np.uint8],
    powers: NDArray[np.uint64],
    bits: NDArray[np.uint64],
    count: int,
    ends: NDArray[np.int64],
    n_ends: int,
) -> tuple[int, int, int, int]:
    """Write the numbers of a text as the bits of floats.

    Parameters
    ----------
    text : ndarray of uint8
    at : int
        Where to begin: at a blank, or where a word begins.
    kinds : ndarray of uint8, shape (256,)
        `OTHER`, `BLANK` or `END` of each byte.
    powers : ndarray of uint64
        See `powers_of_five`.
    bits : ndarray of uint64
        Gets the numbers from place `count` on.
    count : int
    ends : ndarray of int64
        Gets the count of numbers before each `END`, from place `n_ends` on.
    n_ends : int

    Returns
    -------
    why : int
        `DONE`, or else `HARD` or `WRONG` for the word that begins at `at`.
    at, count, n_ends : int
    """
    one, ten = np.uint64(1), np.uint64(10)
    n = len(text)
    while True:
        while at < n and kinds[text[at]] != OTHER:
            if kinds[text[at]] == END:
                ends[n_ends] = count
                n_ends += 1
            at += 1
        if at == n:
            return DONE, at, count, n_ends
        begin = at
        negative = text[at] == 45
        if negative or text[at] == 43:
            at += 1
        first = at
        digits = np.uint64(0)
        while at < n and 48 <= text[at] <= 57:
            digits = digits * ten + np.uint64(text[at] - 48)
            at += 1
        n_digits, exponent = at - first, 0
        if at < n and text[at] == 46:
            point = at
            at += 1
            while at < n and 48 <= text[at] <= 57:
                digits = digits * ten + np.uint64(text[at] - 48)
                at += 1
            exponent = point + 1 - at
            n_digits -= exponent
        seen, dropped = n_digits > 0, False
        if n_digits > _DIGITS:
            digits, exponent, dropped = leading_digits(text, first, at)
        if seen and at < n and (text[at] | 32) == 101:
            at += 1
            less = at < n and text[at] == 45
            if less or (at < n and text[at] == 43):
                at += 1
            seen, given = False, 0
            while at < n and 48 <= text[at] <= 57:
                seen = True
                given = min(given * 10 + text[at] - 48, 100_000)
                at += 1
            exponent += -given if less else given
        if not seen or (at < n and kinds[text[at]] == OTHER):
            return WRONG, begin, count, n_ends
        found = np.uint64(0)
        if digits:
            found = nearest_float(digits, exponent, powers)
            # Between the digits that are left and the next number is the whole one.
            if not found or (dropped and nearest_float(digits + one, exponent, powers) != found):
                return HARD, begin, count, n_ends
        bits[count] = found | (one << np.uint64(63)) if negative else found
        count += 1


@kernel(interpreted=False)
def leading_digits(text: NDArray[np.uint8], at: int, end: int) -> tuple[Any, int, bool]:
    """Return the first 19 digits of a number, its exponent, and whether others are not zero.

    Zeros in front are no digits.
    """
    digits, n_digits, exponent = np.uint64(0), 0, 0
    point, dropped = False, False
    for place in range(at, end):
        code = text[place] - 48
        if code < 0:
            point = True
        elif n_digits < _DIGITS:
            digits = digits * np.uint64(10) + np.uint64(code)
            n_digits += 1 if digits else 0
            exponent -= 1 if point else 0
        else:
            dropped = dropped or code > 0
            exponent += 0 if point else 1
    return digits, exponent, dropped


@kernel(interpreted=False)
def nearest_float(digits: Any, exponent: int, powers: NDArray[np.uint64]) -> Any:
    """Return the bits of the float nearest to ``digits * 10**exponent``, 0 if that is not sure.

    Floats that are not normal are left out.
    """
    one, half = np.uint64(1), np.uint64(32)
    if not _LEAST <= exponent <= _MOST:
        return np.uint64(0)
    zeros = leading_zeros(digits)
    digits <<= np.uint64(zeros)
    high, low = product(digits, powers[exponent - _LEAST, 0])
    if high & np.uint64(0x1FF) == np.uint64(0x1FF):
        more, _ = product(digits, powers[exponent - _LEAST, 1])
        low += more
        if low < more:
            high += one
        if low == ~np.uint64(0) and not -27 <= exponent <= 55:
            return np.uint64(0)
    upper = high >> np.uint64(63)
    shift = upper + np.uint64(9)
    mantissa = high >> shift
    # The exponent of two, with 152170 / 2**16 for the binary logarithm of five; 1023 is added.
    power = ((217706 * exponent) >> 16) + 63 + np.int64(upper) - zeros + 1023
    if not 0 < power < 2046:
        return np.uint64(0)
    # Halfway between two floats: to the even one.
    halfway = low <= one and -4 <= exponent <= 23 and (mantissa & np.uint64(3)) == one
    if halfway and (mantissa << shift) == high:
        mantissa &= ~one
    mantissa = (mantissa + (mantissa & one)) >> one
    if mantissa >> np.uint64(53):
        mantissa = one << np.uint64(52)
        power += 1
    fraction = mantissa & ((one << np.uint64(52)) - one)
    return (np.uint64(power) << (half + np.uint64(20))) | fraction


@kernel(interpreted=False)
def leading_zeros(x: Any) -> int:
    """Return how many of the 64 bits of a number are zero before the first one that is not."""
    count = 0
    for step in (32, 16, 8, 4, 2, 1):
        if not x >> np.uint64(64 - step):
            x <<= np.uint64(step)
            count += step
    return count


@kernel(interpreted=False)
def product(a: Any, b: Any) -> tuple[Any, Any]:
    """Return the high and the low word of the product of two words of 64 bits."""
    half, mask = np.uint64(32), np.uint64(0xFFFFFFFF)
    a1, a0, b1, b0 = a >> half, a & mask, b >> half, b & mask
    lowest, cross = a0 * b0, a1 * b0
    middle = a0 * b1 + (lowest >> half) + (cross & mask)
    return a1 * b1 + (cross >> half) + (middle >> half), a * b
