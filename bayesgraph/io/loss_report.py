"""What a file does not hold of the model that was written to it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LossReport:
    """What became of a model that was written to a file.

    Attributes
    ----------
    format : str
        Name of the format.
    restored : tuple of str
        What other programs read in another form, such as names of other spelling. The file has a
        table from which bayesgraph restores it exactly.
    lost : tuple of str
        What the file does not have, or has in another form for good.

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

    def __bool__(self) -> bool:
        """Tell whether there is anything to report."""
        return bool(self.restored or self.lost)

    def __str__(self) -> str:
        lines = [f"Written as {self.format}."]
        if self.restored:
            lines += [
                "Other programs read what follows in another form; bayesgraph restores it exactly:",
                *(f"  {item}" for item in self.restored),
            ]
        lines += ["Lost:", *(f"  {item}" for item in self.lost)] if self.lost else []
        return "\n".join([*lines, *([] if self.lost else ["Nothing is lost."])])

    __repr__ = __str__
