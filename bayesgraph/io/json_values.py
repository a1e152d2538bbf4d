"""Names and states as JSON, with their type.

Text, booleans, small integers and None are JSON values. A value of another type is a JSON object of
one entry, from the tag of the type to a text (for a tuple, a list) that reads back as the value.
"""

from __future__ import annotations

import contextlib
import datetime
import re
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

from bayesgraph.errors import LossyExportError
from bayesgraph.variables import plain

Json: TypeAlias = bool | int | float | str | list[Any] | dict[str, Any] | None

# Magnitude from which JSON readers other than Python's may round an integer.
_SAFE_INTEGER = 2**53
_FRACTION = re.compile(r"-?\d++(?:/\d++)?")


class _Codec(NamedTuple):
    tag: str
    encode: Callable[[Any], str]
    decode: Callable[[str], Any]


def _decode_fraction(text: str) -> Fraction:
    # Fraction("1e99999999") would compute the power.
    if not _FRACTION.fullmatch(text):
        raise ValueError(f"expected a fraction such as '1/3'; got {text!r:.80}")
    return Fraction(text)


def _decode_timedelta(text: str) -> datetime.timedelta:
    days, seconds, microseconds = map(int, text.split(","))
    return datetime.timedelta(days, seconds, microseconds)


_CODECS: dict[type, _Codec] = {
    # repr gives the shortest decimal that reads back as the same float, infinities included.
    float: _Codec("float", repr, float),
    bytes: _Codec("bytes", bytes.hex, bytes.fromhex),
    Decimal: _Codec("decimal", str, Decimal),
    Fraction: _Codec("fraction", str, _decode_fraction),
    datetime.date: _Codec("date", datetime.date.isoformat, datetime.date.fromisoformat),
    datetime.time: _Codec("time", datetime.time.isoformat, datetime.time.fromisoformat),
    datetime.datetime: _Codec(
        "datetime", datetime.datetime.isoformat, datetime.datetime.fromisoformat
    ),
    datetime.timedelta: _Codec(
        "timedelta", lambda d: f"{d.days},{d.seconds},{d.microseconds}", _decode_timedelta
    ),
}
_DECODERS: dict[str, Callable[[str], Any]] = {
    "int": lambda text: int(text, 16),
    **{codec.tag: codec.decode for codec in _CODECS.values()},
}
_HELD = "str, bool, int, float, tuple of these, bytes, Decimal, Fraction, date, time and datetime"


def encode_value(value: object, what: str = "value", owner: object = None) -> Json:
    """Return a name or a state as JSON.

    NumPy scalars become the Python values they stand for, as they do in a variable.

    Parameters
    ----------
    value : object
    what, owner : str and object
        For messages: the role of the value, such as "state", and the variable that has it.

    Raises
    ------
    LossyExportError
        If the type is not supported, or the value would not read back as the same value (such as a
        time in a named zone).
    """
    value = plain(value)
    kind = type(value)
    if value is None or kind is str or kind is bool:
        return value  # type: ignore[return-value]
    if kind is tuple:
        return {"tuple": [encode_value(item, what, owner) for item in value]}  # type: ignore[attr-defined]
    if isinstance(value, int) and kind is int:
        # Python limits the decimal digits of an integer, but not the hexadecimal ones.
        return value if abs(value) < _SAFE_INTEGER else {"int": hex(value)}
    codec = _CODECS.get(kind)
    fault = f"is of the type {kind.__module__}.{kind.__qualname__}"
    if codec is not None:
        try:
            text = codec.encode(value)
            back = codec.decode(text)
            if repr(back) == repr(value) and back == value:
                return {codec.tag: text}
            fault = f"would read back as {back!r}"
        except (ArithmeticError, ValueError) as error:  # a signaling NaN, too many digits
            fault = f"cannot be written as text ({error})"
    title = f"{what} {_shown(value)}" + ("" if owner is None else f" of {owner!r}")
    raise LossyExportError(
        f"The {title} {fault}: the native format cannot hold it. It holds {_HELD}; use one of "
        "these."
    )


def _shown(value: object) -> str:
    try:
        return repr(value)
    except ValueError:  # Python limits the decimal digits of an integer
        return f"of the type {type(value).__name__} with very many digits"


def decode_value(value: Json) -> Any:
    """Return the name or state that `encode_value` encoded.

    Raises
    ------
    ValueError
        If `encode_value` never returns such a value.
    """
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, int) and abs(value) < _SAFE_INTEGER:
        return value
    if isinstance(value, dict) and len(value) == 1:
        ((tag, content),) = value.items()
        if tag == "tuple" and isinstance(content, list):
            return tuple(decode_value(item) for item in content)
        if tag in _DECODERS and isinstance(content, str):
            found = _DECODERS[tag](content)
            # Any other text that reads as the value, such as "1.50", was not written by `encode`.
            with contextlib.suppress(LossyExportError):  # of NaN, which is no state
                if encode_value(found) == value:
                    return found
    raise ValueError(f"expected a name or a state; got {value!r:.80}")
