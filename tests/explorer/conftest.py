"""One browser for all tests of the explorer."""

import chromium
import pytest


@pytest.fixture(scope="session")
def browser():
    """Return a Chromium of this machine; tests that need it are skipped if there is none."""
    if reason := chromium.missing():
        pytest.skip(reason)
    with chromium.launched() as started:
        yield started


# The front end is unpacked after the page has loaded.
_ASK = """async ([verb, given]) => {
  while (!(globalThis.bayesgraph instanceof Promise)) await new Promise((go) => setTimeout(go, 5));
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
