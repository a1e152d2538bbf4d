"""What people see of a page and what they can do there, in a real browser."""

import itertools
import re
from urllib.parse import unquote

import golden_models
import numpy as np
import pytest

import bayesgraph as bg
from bayesgraph.core.errors import ExtrapolationWarning
from bayesgraph.page.snapshot import take_snapshot
from bayesgraph.pictures.dot_labels import percentage

YES_NO = ("yes", "no")
HOSTILE = [
    "</script><script>globalThis.broken = 1</script>",
    "<img src=x onerror='globalThis.broken = 1'>",
    """quotes " ' ` ${1} \\ and &amp; <b>""",
    "\u202eמפתח עברי",
    "👩‍🔬🧪 emoji",
    "x" * 2_000,
    "!~*@0:,=&#%",
]
LONG = [name if len(name) < 1000 else "x" * 20_000 for name in HOSTILE]


def asia():
    """Return the network of Lauritzen and Spiegelhalter (1988)."""
    a, t, s, lung, b, e, x, d = (
        bg.Discrete(name, YES_NO)
        for name in ("asia", "tub", "smoke", "lung", "bronc", "either", "xray", "dysp")
    )
    return bg.BayesianNetwork(
        [
            bg.TableCPD(a, [0.01, 0.99]),
            bg.TableCPD(t, [[0.05, 0.95], [0.01, 0.99]], [a]),
            bg.TableCPD(s, [0.5, 0.5]),
            bg.TableCPD(lung, [[0.1, 0.9], [0.01, 0.99]], [s]),
            bg.TableCPD(b, [[0.6, 0.4], [0.3, 0.7]], [s]),
            bg.TableCPD(e, [[[1, 0], [1, 0]], [[1, 0], [0, 1]]], [lung, t]),
            bg.TableCPD(x, [[0.98, 0.02], [0.05, 0.95]], [e]),
            bg.TableCPD(d, [[[0.9, 0.1], [0.7, 0.3]], [[0.8, 0.2], [0.1, 0.9]]], [b, e]),
        ]
    )


def patients():
    """Return a classifier's network: the class, a state and two numbers."""
    ill = bg.Discrete("ill", ["no", "yes"])
    pain = bg.Discrete("pain", ["none", "some", "severe"])
    age, rate = bg.Continuous("age"), bg.Continuous("rate")
    return bg.BayesianNetwork(
        [
            bg.TableCPD(ill, [0.6, 0.4]),
            bg.TableCPD(pain, [[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]], [ill]),
            bg.GaussianCPD(age, parents=[ill], mean=[52.0, 57.0], variance=[90.0, 64.0]),
            bg.GaussianCPD(rate, parents=[ill], mean=[158.0, 139.0], variance=[360.0, 500.0]),
        ]
    )


def hostile(names):
    """Return a chain of variables with names and states that are no good."""
    variables = [bg.Discrete(name, [name, 1, "1"]) for name in names]
    cpds = [bg.TableCPD(variables[0], [0.5, 0.3, 0.2])]
    rows = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]
    cpds += [bg.TableCPD(b, rows, [a]) for a, b in itertools.pairwise(variables)]
    return bg.BayesianNetwork(cpds)


def percent(p):
    """Return a probability as the page writes it in English."""
    if p == 0 or abs(1 - p) < 1e-12:
        return f"{p:.0%}" if p else "0"
    return "<0.1%" if p < 0.0005 else ">99.9%" if p > 0.9995 else f"{100 * p:.1f}%"


def alike(a, b):
    """Whether texts are the same, up to how the two languages round a five."""
    if a is None or "<" in a + b or ">" in a + b:
        return a == b
    return abs(float(a.rstrip("%")) - float(b.rstrip("%"))) < 0.11


class Shown:
    """A page in a browser, with the names of its parts."""

    def __init__(self, tab, model):
        self.tab = tab
        self.number = {name: i for i, name in enumerate(model.names)}
        self.model = model

    def card(self, name):
        return self.tab.locator(f'.card[data-v="{self.number[name]}"]')

    def row(self, name, state):
        k = list(self.model[name].variable.states).index(state)
        return self.card(name).locator(f'.row[data-k="{k}"]')

    def findings(self):
        """Return the findings that the panel lists."""
        return [chip.inner_text().split("\n") for chip in self.tab.locator(".chip").all()]

    def expect_answers(self, evidence):
        """Check every bar on the cards against the model in Python."""
        posteriors = self.model.marginals(evidence)
        wanted = {
            f"{self.number[name]} {k}": percent(p)
            for name in posteriors
            if isinstance(self.model.variable(name), bg.Discrete)
            for k, p in enumerate(posteriors[name].probabilities)
        }
        for _ in range(_PATIENCE):
            found = self.tab.evaluate(_SHARES)
            if all(alike(found.get(key), text) for key, text in wanted.items()):
                return
            self.tab.wait_for_timeout(25)
        assert found == found | wanted


# Rounds of 25 ms that a page may take to answer.
_PATIENCE = 200
_SHARES = """() => Object.fromEntries([...document.querySelectorAll(".card .row")].map((row) => (
  [`${row.dataset.v} ${row.dataset.k}`, row.querySelector(".share").textContent])))"""


class Watch:
    """What goes wrong in a tab while pages are looked at, and what it requests."""

    def __init__(self, tab):
        self.tab, self.wrong, self.requests = tab, [], []
        self.heard = {
            "pageerror": lambda error: self.wrong.append(str(error)),
            "console": lambda said: self.wrong.append(said.text) if said.type == "error" else None,
            "request": lambda request: self.requests.append(request.url),
        }
        for event, note in self.heard.items():
            tab.on(event, note)

    def end(self):
        for event, note in self.heard.items():
            self.tab.remove_listener(event, note)


@pytest.fixture
def shown(browser, tab, tmp_path):
    """Return a function that opens a model's page; scripts may not fail nor anything be fetched.

    Options of a browser's context, or a script that comes first, take a tab of their own.
    """
    watches, paths, shared = [Watch(tab)], [], tab

    def own_tab(init_script, options):
        given = {"viewport": {"width": 1440, "height": 900}, "locale": "en-US"} | options
        made = browser.new_context(**given).new_page()
        made.add_init_script(init_script)
        watches.append(Watch(made))
        return made

    def show(model, address="", to_html=None, init_script="", **context):
        path = tmp_path / f"page {len(paths)}.html"
        model.to_html(path, **(to_html or {}))
        text = path.read_text("utf-8")
        tab = own_tab(init_script, context) if init_script or context else shared
        paths.append(path.as_uri())
        tab.goto(path.as_uri() + address)
        tab.locator("#app[data-seen]").wait_for(state="attached")
        assert len(text) > 1000
        return Shown(tab, getattr(model, "network_", model))

    yield show
    for watch in watches:
        watch.end()
        if watch.tab is not shared:
            watch.tab.context.close()
    wrong = [said for watch in watches for said in watch.wrong]
    requests = [url for watch in watches for url in watch.requests if not url.startswith("blob:")]
    assert not wrong
    assert {url.partition("#")[0] for url in requests} <= set(paths)


def test_clicks_weights_undo_and_the_address(shown):
    from playwright.sync_api import expect

    page = shown(asia(), to_html={"target": "lung"})
    tab = page.tab
    page.expect_answers({})
    label = page.row("smoke", "yes").locator(".label")
    height = label.bounding_box()["height"]
    page.row("smoke", "yes").click()
    page.row("xray", "yes").click()
    page.expect_answers({"smoke": "yes", "xray": "yes"})
    assert label.bounding_box()["height"] == height  # still one line
    assert tab.url.endswith("#e=smoke:yes,xray:yes")
    expect(page.row("smoke", "yes")).to_have_attribute("aria-pressed", "true")
    expect(tab.locator("[aria-live=polite]")).to_contain_text("64.6%")
    page.row("dysp", "no").click(modifiers=["Shift"])
    page.expect_answers({"smoke": "yes", "xray": "yes", "dysp": {"yes": 1, "no": 0}})
    expect(page.card("dysp")).to_have_class(re.compile("excluded"))
    page.row("xray", "yes").click()
    page.expect_answers({"smoke": "yes", "dysp": {"yes": 1, "no": 0}})
    tab.keyboard.press("Control+z")
    tab.keyboard.press("Control+z")
    page.expect_answers({"smoke": "yes", "xray": "yes"})
    tab.get_by_role("button", name="Redo").click()
    page.expect_answers({"smoke": "yes", "xray": "yes", "dysp": {"yes": 1, "no": 0}})
    tab.get_by_role("button", name="Clear findings").click()
    page.expect_answers({})
    page.row("bronc", "yes").click(modifiers=["Alt"])
    page.card("bronc").locator(".knob").first.fill("0.25")
    page.expect_answers({"bronc": {"yes": 0.25, "no": 1}})
    assert page.findings()[0][0] == "bronc"
    page.tab.keyboard.press("Control+z")
    page.tab.keyboard.press("Control+z")
    page.expect_answers({})


@pytest.mark.slow
def test_findings_that_cannot_be_are_refused_by_name(shown):
    from playwright.sync_api import expect

    page = shown(asia(), "#e=lung:yes")
    page.row("either", "no").click()
    notice = page.tab.get_by_role("alert")
    expect(notice).to_contain_text("cannot occur together")
    assert notice.locator("li").all_inner_texts() == ["lung", "either"]
    page.expect_answers({"lung": "yes"})
    notice.get_by_role("button", name="instead").click()
    page.expect_answers({"either": "no"})
    expect(page.tab.locator(".notice")).to_have_count(0)


@pytest.mark.parametrize("view", ["network", "classifier"])
def test_numbers_far_outside_are_told_of_in_the_words_of_python(shown, view):
    from playwright.sync_api import expect

    model = patients()
    page = shown(model, to_html={"target": "ill", "view": view})
    panel = page.tab.locator(".panel-findings")
    age, rate = (
        page.tab.locator(f':is(.card, .feature)[data-v="{page.number[x]}"] input[type="number"]')
        for x in ("age", "rate")
    )
    age.fill("81")
    age.blur()
    expect(panel.locator(".chip")).to_have_count(1)
    assert panel.get_by_role("status").count() == 0
    for values in ({"age": 7000.0}, {"age": 7000.0, "rate": -250.0}):
        for field, value in zip((age, rate), values.values(), strict=False):
            field.fill(f"{value:g}")
            field.blur()
        expect(panel.locator(".chip")).to_have_count(len(values))
        with pytest.warns(ExtrapolationWarning) as warned:
            model.query("ill", values)
        said = panel.get_by_role("status").inner_text().replace("−", "-").replace("7,000", "7000")
        number = r"-?\d+(\.\d+)?"
        assert re.sub(number, "#", said) == re.sub(number, "#", str(warned[0].message))
        numbers, expected = (
            [float(found[0]) for found in re.finditer(number, text)]
            for text in (said, str(warned[0].message))
        )
        assert numbers == pytest.approx(expected, rel=0.005)


# What the page says when bars of a card have moved: before the next frame, in which figures follow.
_MEANWHILE = """async ([clicked, watched, event]) => {
  const card = document.querySelector(`.card[data-v="${watched}"]`);
  const moved = new Promise((done) => {
    const observer = new MutationObserver(() => {
      observer.disconnect();
      if (event) dispatchEvent(new Event(event));
      const spoken = document.querySelector("[aria-live]");
      const parts = [card.querySelector(".label"), card.querySelector(".share"), spoken];
      done([...parts.map((part) => part.textContent), location.hash]);
    });
    observer.observe(card, { subtree: true, attributes: true });
  });
  document.querySelector(`.card[data-v="${clicked}"] .row`).click();
  return moved;
}"""


def test_what_is_printed_at_once_is_the_new_answer(shown):
    model = asia()
    page = shown(model, to_html={"target": "lung"})
    smoke, lung = page.number["smoke"], page.number["lung"]
    label, share, spoken, address = page.tab.evaluate(_MEANWHILE, [smoke, lung, "beforeprint"])
    assert label == "yes"
    assert share == percent(model.query("lung", {"smoke": "yes"})["yes"])
    assert share in spoken
    assert unquote(address).endswith("#e=smoke:yes")


def test_no_figure_stands_beside_another_state(shown):
    a, b = bg.Discrete("a", YES_NO), bg.Discrete("b", [f"s{k}" for k in range(9)])
    falling = np.arange(9, 0, -1) / 45
    rows = [falling[::-1], falling]
    model = bg.BayesianNetwork([bg.TableCPD(a, [0.1, 0.9]), bg.TableCPD(b, rows, [a])])
    page = shown(model)
    assert page.card("b").locator(".label").first.inner_text() == "s0"
    label, share, *_ = page.tab.evaluate(_MEANWHILE, [0, 1, None])
    assert label == "s3"
    assert share == percent(model.query("b", {"a": "yes"})["s3"])


def test_keys_alone_do_all_that_a_mouse_does(shown):
    from playwright.sync_api import expect

    page = shown(asia())
    tab, press = page.tab, page.tab.keyboard.press
    tab.locator(".tab").first.focus()
    for _ in range(12):
        press("Tab")
        if tab.evaluate("document.activeElement.matches('.card')"):
            break
    assert tab.evaluate("document.activeElement.dataset.v") == "0"
    assert tab.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    press("ArrowDown")
    expect(page.card("tub")).to_be_focused()
    press("2")
    page.expect_answers({"tub": "no"})
    press("Backspace")
    press("Enter")
    expect(page.row("tub", "yes")).to_be_focused()
    press("Shift+Enter")
    page.expect_answers({"tub": "no"})
    press("Alt+Enter")
    expect(page.card("tub").locator(".knob")).to_have_count(2)
    press("Backspace")
    press("Escape")
    press("t")
    expect(page.card("tub")).to_have_class(re.compile("target"))
    press("m")
    menu = tab.get_by_role("menu")
    expect(menu.get_by_role("menuitem").first).to_be_focused()
    press("Escape")
    expect(page.card("tub")).to_be_focused()
    press("/")
    tab.keyboard.type("xra")
    press("Enter")
    expect(page.card("xray")).to_have_class(re.compile("selected"))
    press("?")
    expect(tab.get_by_role("dialog")).to_be_visible()
    press("Escape")
    expect(tab.get_by_role("dialog")).to_have_count(0)


def fitted(classifier):
    """Return a classifier of a few rows of states and numbers."""
    random = np.random.default_rng(0)
    y = random.integers(0, 3, 90)
    rows = {
        "size": np.array(["s", "m", "l"])[(y + random.integers(0, 2, 90)) % 3],
        "mark": (y + random.integers(0, 2, 90)) % 2 == 0,
        "weight": y + random.normal(size=90),
        "nothing": random.choice(["n", "m"], 90),
    }
    return classifier.fit(rows, y.astype(str))


def golden(name):
    return golden_models.MODELS[name].make()


# A model of each kind that a page has.
WALKED = {
    "asia": asia,
    "patients": patients,
    "naive Bayes": lambda: fitted(bg.NaiveBayesClassifier()),
    "TAN": lambda: fitted(bg.TANClassifier()),
    "weighted naive Bayes": lambda: fitted(bg.WeightedNaiveBayesClassifier()),
    "average": lambda: fitted(bg.AODEClassifier()),
    "trees": lambda: fitted(bg.BayesianNetworkClassifier(n_trees=3)),
    "one tree": lambda: fitted(bg.DecisionTreeNetworkClassifier()),
    "hostile": lambda: hostile(HOSTILE),
    **{
        name: lambda name=name: golden(name)
        for name in (
            *("weighted", "weighted-tables", "discrete-mixture", "mixed-mixture", "plates"),
            *("only-gaussian", "conditional-gaussian", "count-vectors", "intervals"),
            "few-factors",
        )
    },
}
# Open all panels at each address, and at one of its findings; return what they say has failed.
_WALK = """async (addresses) => {
  const app = document.querySelector("#app"), wrong = [];
  const until = async (holds) => {
    const tick = (go) => setTimeout(go, 5);
    for (let round = 0; round < 40 && !holds(); round++) await new Promise(tick);
  };
  const panels = () => [...document.querySelectorAll("details.panel:not([hidden])")];
  const look = async (act, what) => {
    const { seen } = app.dataset;
    document.querySelectorAll(".panel-body").forEach((body) => body.replaceChildren());
    act();
    await until(() => app.dataset.seen !== seen);
    panels().forEach((panel) => { panel.open = true; });
    await until(() => panels().every((panel) => panel.querySelector(".panel-body").firstChild));
    for (const panel of panels()) {
      const said = panel.innerText;
      if (said.includes("could not answer") || said.includes("undefined") || said.includes("NaN")) {
        wrong.push(`${what}: ${said}`);
      }
    }
  };
  let last;
  for (const address of addresses) {
    await look(() => { location.hash = address; }, address);
    const link = document.querySelector(".chip .link");
    if (link && link.textContent !== last) await look(() => link.click(), `${address}, selected`);
    last = link?.textContent;
  }
  return wrong;
}"""


def findings_of(variable):
    """Return addresses of findings of a variable of a page."""
    if variable.get("states"):
        states = range(len(variable["states"]))
        return (
            [*(f":@{k}" for k in states), "!@0"] if len(states) > 2 else [f":@{k}" for k in states]
        )
    if variable.get("items"):
        return ["*0.2", "*0.1*1.3"]
    return ["=0", "=2"]


@pytest.mark.one_in(5)
@pytest.mark.parametrize("name", WALKED)
def test_no_panel_fails_for_a_finding(shown, name):
    model = WALKED[name]()
    content = take_snapshot(getattr(model, "network_", model)).content
    variables = content["variables"][:12]
    addresses = [f"#e=@{v}{end}" for v, one in enumerate(variables) for end in findings_of(one)]
    discrete = [v for v, one in enumerate(variables) if one.get("states")]
    targets = [f"&t=@{v}" for v in discrete[:2] + discrete[-1:]] or [""]
    page = shown(model)
    asked = [address + target for target in dict.fromkeys(targets) for address in addresses]
    assert not page.tab.evaluate(_WALK, asked)


def test_nothing_turns_an_answer_that_no_change_turns(shown):
    page = shown(asia(), "#e=dysp:yes", {"target": "lung"})
    flip = page.tab.locator(".panel-flip")
    flip.get_by_text("No change of the findings turns the answer.").wait_for()


def test_the_classifier_explains_its_answer(shown):
    from playwright.sync_api import expect

    model = patients()
    page = shown(model, "#e=rate=130", {"target": "ill", "view": "classifier"})
    tab = page.tab
    tab.locator(".segment", has_text="severe").click()
    seen = {"rate": 130.0, "pain": "severe"}
    expect(tab.locator(".best .figure")).to_have_text(percent(model.query("ill", seen)["yes"]))
    why = model.contributions("ill", seen)
    terms = {
        step.locator(".step-name").inner_text(): step.locator(".step-text").inner_text()
        for step in tab.locator(".step:not(.sum)").all()
    }
    assert terms == {
        "rate = 130": f"{why['rate']:+.2f}".replace("-", "−"),
        "pain = severe": f"{why['pain']:+.2f}".replace("-", "−"),
    }
    tab.locator('.feature[data-v="2"] input[type=range]').fill("60")
    seen["age"] = 60.0
    expect(tab.locator(".best .figure")).to_have_text(percent(model.query("ill", seen)["yes"]))
    typed = tab.locator('.feature[data-v="2"] input[type=number]')
    expect(typed).to_have_value("60")
    typed.fill("")
    typed.press("Enter")
    del seen["age"]
    expect(tab.locator(".best .figure")).to_have_text(percent(model.query("ill", seen)["yes"]))
    tab.get_by_role("button", name="Try it").click()
    expect(tab.locator(".best")).to_contain_text("no")


@pytest.mark.slow
@pytest.mark.parametrize(
    "names",
    [pytest.param(HOSTILE, id="short"), pytest.param(LONG, id="long", marks=pytest.mark.slow)],
)
def test_hostile_names_are_text_in_every_view(shown, names):
    from playwright.sync_api import expect

    model = hostile(names)
    page = shown(model, to_html={"target": HOSTILE[1], "title": HOSTILE[0]})
    tab = page.tab
    for name in names:
        assert page.card(name).locator(".name").text_content() == name
    page.row(HOSTILE[0], "1").click()
    page.row(HOSTILE[4], HOSTILE[4]).click(modifiers=["Shift"])
    states = model[HOSTILE[4]].variable.states
    page.expect_answers({HOSTILE[0]: "1", HOSTILE[4]: dict.fromkeys(states, 1) | {HOSTILE[4]: 0}})
    address = unquote(tab.url.partition("#")[2])
    for view in ("Table", "Classifier"):
        tab.get_by_role("button", name=view, exact=True).click()
        expect(tab.locator(".top .tab[aria-current=page]")).to_have_text(view)
        assert tab.locator("bdi", has_text=HOSTILE[1]).count() > 0
    assert tab.evaluate("globalThis.broken") is None
    assert tab.locator("img").count() == 0
    assert tab.evaluate("document.documentElement.scrollWidth") <= 1440
    again = shown(model, f"#{address.partition('&v=')[0]}" if "%" not in address else tab.url)
    assert len(again.findings()) >= 1


@pytest.mark.slow
def test_the_table_works_alone(shown):
    from playwright.sync_api import expect

    model = asia()
    page = shown(model, "#v=table", {"target": "lung"})
    row = page.tab.locator('.table-view tr[data-v="2"]')
    row.get_by_role("radio", name="yes").check()
    lung = page.tab.locator('.table-view tr[data-v="3"] .share').first
    expect(lung).to_have_text(percent(model.query("lung", {"smoke": "yes"})["yes"]))
    row.get_by_text("Weigh or exclude").click()
    row.get_by_label(re.compile("under .*no")).fill("0.5")
    row.get_by_label(re.compile("under .*no")).press("Enter")
    soft = {"smoke": {"yes": 1, "no": 0.5}}
    expect(lung).to_have_text(percent(model.query("lung", soft)["yes"]))
    page.tab.get_by_label("Sort by").select_option("moved")
    expect(page.tab.locator(".table-view tbody tr").first).to_have_attribute("data-v", "2")
    row.get_by_role("radio", name="not observed").check()
    expect(lung).to_have_text(percent(model.query("lung", {})["yes"]))


# ------------------------------------------------------------------------------------- slow


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1440])
@pytest.mark.parametrize("view", ["network", "table", "classifier"])
def test_every_view_fits_the_page(shown, view, width, scheme):
    page = shown(
        asia(),
        f"#e=smoke:yes,xray!no&v={view}",
        {"target": "lung"},
        viewport={"width": width, "height": 800},
        color_scheme=scheme,
    )
    tab = page.tab
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    light = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (int(re.search(r"\d+", light)[0]) > 128) == (scheme == "light")
    if view == "network":
        boxes = [card.bounding_box() for card in tab.locator(".card").all()]
        for i, a in enumerate(boxes):
            for b in boxes[:i]:
                apart = (
                    a["x"] + a["width"] <= b["x"]
                    or b["x"] + b["width"] <= a["x"]
                    or a["y"] + a["height"] <= b["y"]
                    or b["y"] + b["height"] <= a["y"]
                )
                assert apart


@pytest.mark.slow
def test_turning_the_theme_and_printing(shown):
    page = shown(asia(), "#e=smoke:yes", color_scheme="light")
    tab = page.tab
    tab.get_by_role("button", name="More", exact=True).last.click()
    tab.get_by_role("menuitem", name="Light or dark").click()
    assert tab.evaluate("document.documentElement.dataset.theme") == "dark"
    tab.emulate_media(media="print")
    assert tab.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(243, 245, 248)"
    assert tab.pdf()[:5] == b"%PDF-"


@pytest.mark.slow
def test_a_saved_case_is_a_file_like_the_first(shown, tmp_path):
    model = asia()
    page = shown(model, "#e=smoke:yes,bronc~.5~1&t=lung")
    tab = page.tab
    with tab.expect_download() as download:
        tab.get_by_role("button", name="More", exact=True).last.click()
        tab.get_by_role("menuitem", name="Save this case").click()
    path = tmp_path / "saved.html"
    download.value.save_as(path)
    back = bg.load(path)
    assert back == model
    other = tab.context.new_page()
    other.goto(path.as_uri())
    other.locator("#app[data-seen]").wait_for(state="attached")
    saved = Shown(other, model)
    saved.expect_answers({"smoke": "yes", "bronc": {"yes": 0.5, "no": 1}})
    assert other.locator(".card.target .name").inner_text() == "lung"
    other.close()


@pytest.mark.slow
def test_python_that_is_copied_gives_the_same(shown, tmp_path, monkeypatch):
    model = hostile(HOSTILE)
    page = shown(model, to_html={"target": HOSTILE[1]})
    page.row(HOSTILE[2], HOSTILE[2]).click(modifiers=["Shift"])
    page.row(HOSTILE[3], 1).click()
    tab = page.tab
    tab.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    tab.get_by_role("button", name="More", exact=True).last.click()
    tab.get_by_role("menuitem", name="Copy as Python").click()
    code = tab.locator("dialog textarea").input_value()
    monkeypatch.chdir(tmp_path)
    namespace = {}
    exec(code, namespace)
    evidence = {HOSTILE[2]: {HOSTILE[2]: 0, 1: 1, "1": 1}, HOSTILE[3]: 1}
    assert namespace["evidence"] == evidence
    tab.keyboard.press("Escape")
    page.expect_answers(namespace["evidence"])


def varied():
    """Return a class with a state, a number, a count and words below it, and odd names."""
    rain, wet = bg.Discrete("rain", ["no", "yes"]), bg.Discrete("wet", ["a\nb", "a b", " ", "' '"])
    words = bg.CountVector("words", ["x", "y\nz", "y z"])
    return bg.BayesianNetwork(
        [
            bg.TableCPD(rain, [0.8, 0.2]),
            bg.TableCPD(wet, [[0.1, 0.2, 0.3, 0.4], [0.4, 0.3, 0.2, 0.1]], [rain]),
            bg.GaussianCPD(bg.Continuous("temp\n"), [15.0, 5.0], 9.0, [rain]),
            bg.PoissonCPD(bg.Count("n"), [1.0, 3.0], [rain]),
            bg.MultinomialCPD(words, [[0.5, 0.3, 0.2], [0.1, 0.2, 0.7]], [rain]),
        ]
    )


@pytest.mark.parametrize(
    ("address", "findings"),
    [
        *[(f"#t={name}", {}) for name in ("temp", "n", "@2", "words", "%ZZ", "@9", "")],
        ("#e=rain:%ZZ,%ZZ:yes,rain!%ZZ", {}),
        *[(f"#e=words*{part}", {}) for part in ("0.-5", "0.abc", "0.", "0", "-1.2", "9.1", "x.1")],
        *[(f"#e=n={x}", {}) for x in ("-3", "2.5", "", "Infinity", "%ZZ")],
        *[(f"#e=@2={x}", {}) for x in ("", "NaN", "-Infinity")],
        *[(f"#e=rain~{x}~1", {}) for x in ("", "-1", "Infinity", "a")],
        ("#e=words*0.2*1.3,n=2&t=wet", {"words": {"x": 2, "y\nz": 3}, "n": 2}),
        ("#e=rain~.5~1e-3&v=nothing", {"rain": {"no": 0.5, "yes": 1e-3}}),
    ],
)
def test_an_address_that_does_not_fit_is_left_out(shown, address, findings):
    page = shown(varied(), address, to_html={"target": "rain"})
    page.expect_answers(findings)
    assert len(page.findings()) == len(findings)
    # The page is still alive, and writes its address.
    page.row("wet", " ").click()
    page.expect_answers(findings | {"wet": " "})
    assert "wet:@2" in page.tab.url or "wet:'%20'" in page.tab.url or "wet:" in page.tab.url


def test_half_a_pair_of_surrogates_freezes_nothing(shown):
    a, b = bg.Discrete("a\ud83d", ["x", "y"]), bg.Discrete("b", ["p\udc00", "q"])
    model = bg.BayesianNetwork(
        [bg.TableCPD(a, [0.5, 0.5]), bg.TableCPD(b, [[0.9, 0.1], [0.2, 0.8]], [a])]
    )
    page = shown(model)
    page.row("b", "p\udc00").click()
    page.expect_answers({"b": "p\udc00"})
    assert len(page.findings()) == 1
    assert page.tab.url.endswith("#e=b:@0")


@pytest.mark.parametrize(("name", "state"), [("wet", "a\nb"), ("wet", " "), ("wet", "' '")])
def test_python_that_is_copied_asks_for_the_same_state(shown, name, state):
    page = shown(varied(), "#e=words*1.2,@2=3.5", to_html={"target": "rain"})
    page.row(name, state).click()
    page.tab.evaluate("Object.defineProperty(navigator, 'clipboard', {value: undefined})")
    page.tab.get_by_role("button", name="More", exact=True).last.click()
    page.tab.get_by_role("menuitem", name="Copy as Python").click()
    code = page.tab.locator("dialog textarea").input_value()
    lines = code.partition("evidence = ")[2].rpartition("}")[0] + "}"
    assert eval(lines) == {"words": {"y\nz": 2}, "temp\n": 3.5, name: state}
    page.tab.keyboard.press("Escape")


@pytest.mark.slow
def test_a_pinned_case_moves_the_ticks(shown):
    from playwright.sync_api import expect

    page = shown(asia(), "#e=smoke:yes")
    tab = page.tab
    tab.get_by_role("button", name="More", exact=True).last.click()
    tab.get_by_role("menuitem", name="Compare with this case").click()
    expect(tab.locator(".pinned")).to_contain_text("1 finding")
    page.row("smoke", "no").click()
    tick = page.row("bronc", "yes").locator(".tick")
    expect(tick).to_have_attribute("style", re.compile("left: 60%"))
    tab.locator(".pinned button").click()
    expect(tick).to_have_attribute("style", re.compile("left: 45%"))


@pytest.mark.slow
def test_large_networks_show_a_neighbourhood(shown):
    from playwright.sync_api import expect

    variables = [bg.Discrete(f"v{i}", YES_NO) for i in range(200)]
    cpds = [bg.TableCPD(variables[0], [0.3, 0.7])]
    rows = [[0.9, 0.1], [0.2, 0.8]]
    cpds += [bg.TableCPD(b, rows, [a]) for a, b in itertools.pairwise(variables)]
    model = bg.BayesianNetwork(cpds)
    page = shown(model, to_html={"target": "v100"})
    tab = page.tab
    expect(tab.locator(".card")).to_have_count(3)
    tab.locator(".focus-bar select").select_option("3")
    expect(tab.locator(".card")).to_have_count(7)
    tab.keyboard.press("/")
    tab.keyboard.type("v42")
    tab.keyboard.press("Enter")
    expect(page.card("v42")).to_be_visible()
    page.row("v42", "yes").click()
    p = model.query("v41", {"v42": "yes"})["yes"]
    expect(page.row("v41", "yes").locator(".share")).to_have_text(percent(p))
    page.card("v45").locator(".beyond").click()
    expect(page.card("v48")).to_be_visible()


@pytest.mark.slow
def test_a_page_inside_a_notebook(shown, tmp_path):
    import html

    from playwright.sync_api import expect

    model = asia()
    page = shown(model)
    inner = html.escape(model.to_html(), quote=True)
    tab = page.tab
    tab.set_content(f'<iframe srcdoc="{inner}" width="1200" height="700"></iframe>')
    frame = tab.frame_locator("iframe")
    frame.locator('.card[data-v="2"] .row[data-k="0"]').click()
    p = model.query("lung", {"smoke": "yes"})["yes"]
    share = frame.locator('.card[data-v="3"] .row[data-k="0"] .share')
    expect(share).to_have_text(percent(p))


@pytest.mark.slow
def test_numbers_of_another_language(shown):
    page = shown(asia(), locale="de-DE")
    assert page.row("smoke", "yes").locator(".share").inner_text() == "50,0\xa0%"


@pytest.mark.slow
def test_rows_to_click_through(shown):
    from playwright.sync_api import expect

    random = np.random.default_rng(0)
    n = 40
    pain = random.choice(["none", "some", "severe"], n)
    table = {"pain": pain, "age": random.normal(55, 9, n).round(1), "rate": [None] * n}
    table["ill"] = np.where(random.random(n) < 0.3 + 0.4 * (pain == "severe"), "yes", "no")
    model = patients()
    given = {"target": "ill", "view": "classifier", "data": table}
    page = shown(model, to_html=given | {"embed_rows": True})
    predicted = model.query_rows("ill", {"pain": pain, "age": table["age"]})
    wrong = predicted.argmax(axis=1) != (table["ill"] == "yes")
    rows = page.tab.locator(".rows tbody tr")
    assert f"{wrong.sum()} of {n} wrong" in page.tab.locator(".rows").inner_text()
    first = int(rows.first.locator("td").first.inner_text())
    assert wrong[first]
    rows.first.click()
    expect(page.tab.locator(".best .figure")).to_have_text(percent(predicted[first].max()))
    assert "55." not in model.to_html(**given)
    absent = shown(model, to_html=given)
    expect(absent.tab.locator(".answer")).to_contain_text("rows of the data are not in this file")


@pytest.mark.slow
def test_touch_opens_a_menu_and_taps_observe(shown):
    from playwright.sync_api import expect

    page = shown(asia(), viewport={"width": 400, "height": 800}, has_touch=True, is_mobile=True)
    page.row("smoke", "yes").tap()
    page.expect_answers({"smoke": "yes"})
    page.row("xray", "no").dispatch_event(
        "pointerdown", {"pointerId": 7, "pointerType": "touch", "clientX": 60, "clientY": 300}
    )
    expect(page.tab.get_by_role("menu")).to_be_visible()


@pytest.mark.slow
def test_a_worker_answers_for_large_networks(shown):
    model = bg.examples.network("water")
    page = shown(model)
    name = model.names[0]
    state = model[name].variable.states[0]
    assert page.tab.evaluate("async () => (await bayesgraph).app.backend.inLane !== undefined")
    page.row(name, state).click()
    page.row(model.names[1], model[model.names[1]].variable.states[0]).click()
    page.expect_answers({n: model[n].variable.states[0] for n in model.names[:2]})


@pytest.mark.slow
def test_without_webassembly_the_page_is_the_same(shown):
    script = "delete globalThis.WebAssembly"
    page = shown(asia(), "#e=smoke:yes", init_script=script)
    assert page.tab.evaluate("typeof WebAssembly") == "undefined"
    page.row("xray", "yes").click()
    page.expect_answers({"smoke": "yes", "xray": "yes"})


@pytest.mark.parametrize("p", [0.0545, 0.1235, 0.9455, 0.0015])
def test_the_page_rounds_as_pictures_do(shown, p):
    history = bg.Discrete("history", ["yes", "no"])
    net = bg.BayesianNetwork([bg.TableCPD(history, [p, 1 - p])])
    page = shown(net)
    for state, share in (("yes", p), ("no", 1 - p)):
        assert page.row("history", state).locator(".share").inner_text() == percentage(share)
