"""One browser for all tests of the explorer, and one tab for those that can share it."""

import chromium
import pytest

import bayesgraph as bg
from bayesgraph.page.snapshot import take_snapshot


@pytest.fixture(scope="session")
def browser():
    """Return a Chromium of this machine; tests that need it are skipped if there is none."""
    if reason := chromium.missing():
        pytest.skip(reason)
    with chromium.launched() as started:
        yield started


@pytest.fixture(scope="session")
def context(browser):
    """Return a window that tests share: each window costs a second of computing time.

    Nothing moves slowly there, as each frame of a transition is drawn.
    """
    size = {"width": 1440, "height": 900}
    made = browser.new_context(viewport=size, locale="en-US", reduced_motion="reduce")
    yield made
    made.close()


@pytest.fixture(scope="session")
def tab(context):
    """Return a tab for pages that are looked at one after the other."""
    return context.new_page()


# The front end is unpacked after the page has loaded.
_ASK = """async ([verb, given]) => {
  while (!(globalThis.bayesgraph instanceof Promise)) await new Promise((go) => setTimeout(go, 5));
  return (await bayesgraph).backend[verb](...given);
}"""
_GIVE = """async (given) => {
  while (!(globalThis.bayesgraph instanceof Promise)) await new Promise((go) => setTimeout(go, 5));
  const { kernel, createBackend } = await bayesgraph;
  const numbers = Float64Array.from(given.numbers);
  globalThis.given = { snapshot: given.snapshot, numbers, kernel, createBackend };
  globalThis.backend = await createBackend(given.snapshot, numbers, { kernel });
}"""
_ASK_GIVEN = "([verb, given]) => globalThis.backend[verb](...given)"


class Page:
    """A model opened from its file; questions are asked of the backend in the page."""

    def __init__(self, tab):
        self.tab = tab

    def ask(self, verb, *arguments):
        """Return the answer of the backend to a question."""
        return self.tab.evaluate(_ASK, [verb, list(arguments)])


class Engine:
    """A page whose engine is given models one after the other."""

    def __init__(self, tab):
        self.tab = tab

    def take(self, model):
        """Give the engine another model, and return the engine."""
        snapshot = take_snapshot(model)
        given = {"snapshot": snapshot.content, "numbers": snapshot.numbers.tolist()}
        self.tab.evaluate(_GIVE, given)
        return self

    def ask(self, verb, *arguments):
        """Return the answer of the backend of the last model to a question."""
        return self.tab.evaluate(_ASK_GIVEN, [verb, list(arguments)])


@pytest.fixture(scope="session")
def engine(context, tmp_path_factory):
    """Return a page whose engine is given models."""
    rain = bg.BayesianNetwork([bg.TableCPD(bg.Discrete("rain", ["no", "yes"]), [0.8, 0.2])])
    path = tmp_path_factory.mktemp("engine") / "rain.html"
    rain.to_html(path)
    tab = context.new_page()
    tab.goto(path.as_uri())
    return Engine(tab)


@pytest.fixture
def opened(tab, tmp_path):
    """Return a function that writes a model to a file and opens it; scripts may not fail."""
    wrong = []

    def note(error):
        wrong.append(str(error))

    def open_page(model):
        path = tmp_path / "page.html"
        model.to_html(path)
        tab.goto(path.as_uri())
        return Page(tab)

    tab.on("pageerror", note)
    yield open_page
    tab.remove_listener("pageerror", note)
    assert not wrong
