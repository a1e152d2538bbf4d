"""How far a command is: one line on standard error, if that is a terminal and nobody asked not to.

The line appears when a command takes longer than a second. A thread draws it, so that every command
has one; those that know what share of their work is done say so.
"""

from __future__ import annotations

import itertools
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

# Seconds after which the line appears, and between two drawings of it.
DELAY, INTERVAL = 1.0, 0.2
_SPINNER = "|/-\\"
# Characters of the bar between its brackets.
_BAR = 20
# Go to the beginning of the line, and erase it: a control sequence of terminals.
_CLEAR = "\r\033[K"


@dataclass
class Line:
    """What is written about the work of a command.

    Attributes
    ----------
    quiet : bool
        Whether nothing is to be written that only says what is being done, or was.
    json : bool
        Whether answers are printed as JSON.
    text : str
        What is being done.
    share : float or None
        The share of it that is done, if that is known.
    detail : str
        Such as the number of rows.
    """

    quiet: bool = False
    json: bool = False
    text: str = ""
    share: float | None = None
    detail: str = ""
    # Whether the line is on the screen; the lock keeps the thread that draws it off other output.
    _shown: bool = False
    _lock: threading.RLock = field(default_factory=threading.RLock)

    def drawn(self, seconds: float, width: int) -> str:
        """Return the line after a number of seconds, at most `width` characters."""
        spinner = _SPINNER[int(seconds / INTERVAL) % len(_SPINNER)]
        parts = [f"{spinner} {self.text}"]
        if self.share is not None:
            done = round(_BAR * min(max(self.share, 0.0), 1.0))
            parts.append(f"[{'#' * done}{'.' * (_BAR - done)}] {100 * self.share:3.0f} %")
        parts += [self.detail] if self.detail else []
        return "  ".join([*parts, f"{seconds:.0f} s"])[:width]

    @contextmanager
    def working(self, text: str, *, quiet: bool = False) -> Iterator[None]:
        """Draw the line, until the work within is done, if standard error is a terminal."""
        self.quiet, self.text, self.share, self.detail = quiet, text, None, ""
        if quiet or not sys.stderr or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
            yield
            return
        ended = threading.Event()
        thread = threading.Thread(target=self._draw_until, args=(ended,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
            # Remove what the thread has drawn last.
            with self.hidden():
                pass

    def _draw_until(self, ended: threading.Event) -> None:
        """Draw the line first after `DELAY` and then every `INTERVAL` seconds."""
        begin, wait = time.monotonic(), DELAY
        while not ended.wait(wait):
            wait = INTERVAL
            with self._lock:
                width = shutil.get_terminal_size().columns - 1
                sys.stderr.write(_CLEAR + self.drawn(time.monotonic() - begin, width))
                sys.stderr.flush()
                self._shown = True

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Remove the line while something else is written."""
        with self._lock:
            if self._shown:
                sys.stderr.write(_CLEAR)
                sys.stderr.flush()
                self._shown = False
            yield


LINE = Line()


def say_share(share: float, text: str) -> None:
    """Say what share of the work is done, and what is done next; the `progress` of a fit."""
    LINE.share, LINE.text = share, text


@contextmanager
def steps_done(verb: str, total: int) -> Iterator[Callable[[str], None]]:
    """Yield a function that is called with the name of each step of a known number when it ends."""
    steps = itertools.count(1)
    say_share(0.0, verb)

    def progress(name: str) -> None:
        LINE.share, LINE.detail = next(steps) / total, name

    yield progress
    LINE.share, LINE.detail = None, ""


@contextmanager
def rows_read(verb: str) -> Iterator[Callable[[int, int | None], None]]:
    """Yield the `progress` of a dataset.

    Each pass over the rows begins anew; the text says which pass it is, how many rows have been
    read, and how many in a second.
    """
    # Of this pass: its number, when it began, and the rows read at its first and its last report.
    # Infinity lets the first report of all begin a pass.
    n_passes, begin, first, last = 0, 0.0, 0, float("inf")

    # Called with the numbers of rows read in this pass and of all rows, if that is known.
    def progress(done: int, total: int | None) -> None:
        nonlocal n_passes, begin, first, last
        # Fewer rows than before are those of another pass.
        if done < last:
            n_passes, begin, first = n_passes + 1, time.monotonic(), done
            LINE.text = f"{verb}, pass {n_passes}"
        last = done
        rate = (done - first) / max(time.monotonic() - begin, 1e-3)
        LINE.share = done / total if total else None
        LINE.detail = f"{done:,} rows, {rate:,.0f}/s"

    yield progress
    LINE.share, LINE.detail = None, ""
