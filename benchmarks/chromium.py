"""A Chromium of this machine for tests and benchmarks of pages, driven by Playwright."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# Without a sandbox it also runs as root; the others keep it from the network.
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def missing() -> str | None:
    """Return what a page cannot be opened without here; None if nothing is missing."""
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return "needs Playwright for Python: the extra browser"
    return None if _path() else "needs Chromium: on Debian, apt install chromium"


def _path() -> str | None:
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)


@contextmanager
def launched(*more: str) -> Iterator[Any]:
    """Yield a running browser; `more` are arguments of its command line."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=_path(), args=[*ARGUMENTS, *more])
        yield browser
        browser.close()
