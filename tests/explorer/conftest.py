"""One browser for all tests of the explorer."""

import shutil

import pytest

_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def browser():
    """Return a Chromium of this machine, driven by Playwright."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs the extra browser")
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    if path is None:
        pytest.skip("needs Chromium: on Debian, apt install chromium")
    with playwright.sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=path, args=_ARGUMENTS)
        yield started
        started.close()


# The front end is unpacked after the page has loaded.
_ASK = """async ([verb, given]) => {
  while (!globalThis.bayesgraph) await new Promise((go) => setTimeout(go, 5));
  return (await bayesgraph).backend[verb](...given);
}"""


class Page:
    """A model opened from its file; questions are asked of the backend in the page."""

    def __init__(self, tab):
        self.tab = tab

    def ask(self, verb, *arguments):
        """Return the answer of the backend to a question."""
        return self.tab.evaluate(_ASK, [verb, list(arguments)])


@pytest.fixture
def opened(browser, tmp_path):
    """Return a function that writes a model to a file and opens it; nothing may be requested."""
    contexts = []

    def open_page(model, width=1440, height=900, **options):
        path = tmp_path / f"page{len(contexts)}.html"
        model.to_html(path, **options)
        context = browser.new_context(viewport={"width": width, "height": height})
        contexts.append(context)
        tab = context.new_page()
        tab.errors, tab.requests = [], []
        tab.on("pageerror", lambda error: tab.errors.append(str(error)))
        tab.on("request", lambda request: tab.requests.append(request.url))
        tab.goto(path.as_uri())
        return Page(tab)

    yield open_page
    for context in contexts:
        errors = [error for tab in context.pages for error in tab.errors]
        context.close()
        assert not errors
