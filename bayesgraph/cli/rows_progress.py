"""The bar that shows how far a pass over a table larger than memory is."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn


@contextmanager
def rows_read(verb: str) -> Iterator[Callable[[int, int | None], None]]:
    """Yield the `progress` of a dataset: a bar on standard error, if that is a terminal.

    Each pass over the rows begins the bar anew; the text says which pass it is, how many rows have
    been read, and how many in a second.
    """
    console = Console(stderr=True)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[rows]}"),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    ) as bar:
        task = bar.add_task(verb, total=None, rows="")
        passes, begin, first, last = 0, 0.0, 0, float("inf")

        def progress(done: int, total: int | None) -> None:
            nonlocal passes, begin, first, last
            if done < last:
                passes, begin, first = passes + 1, time.monotonic(), done
                bar.reset(task, total=total, description=f"{verb}, pass {passes}")
            last = done
            rate = (done - first) / max(time.monotonic() - begin, 1e-3)
            bar.update(task, completed=done, rows=f"{done:,} rows, {rate:,.0f}/s")

        yield progress
