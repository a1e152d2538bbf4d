"""What a file, or an object of another library, does not hold of the model it was made of."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LossReport:
    """What became of a model that was written to a file, or became one of another library.

    Attributes
    ----------
    format : str
        Name of the format.
    restored : tuple of str
        What other programs read in another form, such as names of other spelling. The file or
        object has a table from which bayesgraph restores it exactly.
    lost : tuple of str
        What the file does not have, or has in another form for good.
    skipped : tuple of str
        What was not read from the file that the model is from, if somebody listened to its reader:
        see :func:`bayesgraph.io.skipped.skipped_in_reading`.

    Examples
    --------
    >>> LossReport("BIF", ("the states 0, 1 of 'x' are written as '0', '1'",))
    Written as BIF.
    Other programs read what follows in another form; bayesgraph restores it exactly:
      the states 0, 1 of 'x' are written as '0', '1'
    Nothing is lost.
    """

    format: str
    restored: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        """Tell whether there is anything to report."""
        return bool(self.restored or self.lost or self.skipped)

    def __str__(self) -> str:
        lines = [f"Written as {self.format}."]
        if self.restored:
            lines += [
                "Other programs read what follows in another form; bayesgraph restores it exactly:",
                *(f"  {item}" for item in self.restored),
            ]
        lost = {"Not read, and therefore lost:": self.skipped, "Lost:": self.lost}
        for title, items in lost.items():
            lines += [title, *(f"  {item}" for item in items)] if items else []
        return "\n".join([*lines, *([] if any(lost.values()) else ["Nothing is lost."])])

    __repr__ = __str__
