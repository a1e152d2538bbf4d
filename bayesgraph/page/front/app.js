// The entry: reads the page, makes the backend, shows the views, and joins them to the state.

import { createBackend } from "./backend.js";
import { Classifier } from "./classifier.js";
import { button, fill, h, named, quotable, set } from "./dom.js";
import { percent } from "./format.js";
import { Inspector, findingText } from "./inspector.js";
import { createNotices, openDialog, openHelp, openMenu } from "./menu.js";
import { inflate, readPage } from "./model.js";
import { Network, offers } from "./network.js";
import { download, fileName, pageWith, pythonOf } from "./share.js";
import { CaseState, addressOf, caseOfAddress } from "./state.js";
import { Table } from "./table.js";
import { WORDS } from "./words.js";
import { createWorkerBackend, isLong, serveQuestions } from "./worker.js";

const MOST_REMEMBERED = 400, MOST_FOUND = 12, THEME = "bayesgraph-theme", MOST_COLOURS = 7, MOST_SPOKEN = 4;

/** Return the snapshot with what the views ask of it again and again. */
function modelOf(snapshot) {
  const { variables, arcs } = snapshot, parents = variables.map(() => []), children = variables.map(() => []);
  for (const [a, b] of arcs) {
    parents[b].push(a);
    children[a].push(b);
  }
  const degrees = variables.map((_, v) => parents[v].length + children[v].length);
  return Object.freeze({
    ...snapshot,
    names: variables.map(({ name }) => name),
    parents,
    children,
    hasArcs: arcs.length > 0,
    busiest: degrees.indexOf(Math.max(...degrees)),
  });
}

class App {
  constructor(model, backend, place) {
    this.model = model;
    this.backend = backend;
    this.place = place;
    this.latest = 0;
    this.scene = null;
    this.classes = null;
    this.remembered = new Map();
    this.made = {};
    this.keys = [model.hasArcs || model.view === "network" ? "network" : null,
      model.target !== null ? "classifier" : null, "table"].filter(Boolean);
    const found = caseOfAddress(model, location.hash);
    this.isFromAddress = found.given;
    this.state = new CaseState({
      findings: found.given ? found.findings : model.initial ?? {},
      target: found.target ?? model.target,
      view: this.keys.includes(found.view) ? found.view : this.keys.includes(model.view) ? model.view : this.keys[0],
    });
  }

  async begin() {
    document.documentElement.style.setProperty("--share", `${percent(0.888).length + 1.5}ch`);
    this.origin = await this.backend.answer({}, this.state.target);
    this.base = this.origin;
    this.build();
    this.state.subscribe((what) => this.changed(what));
    await this.update();
    if (!this.scene) await this.update();
    await this.askClasses();
  }

  // ----------------------------------------------------------------------------------- questions

  /** Answer the newest findings; those that cannot occur together are refused. */
  async update() {
    const asked = ++this.latest, { findings, target } = this.state;
    try {
      const answer = await this.backend.answer(findings, target);
      if (asked !== this.latest) return;
      if (answer.impossible) this.refuse(answer.impossible);
      else this.see(findings, target, answer);
    } catch (error) {
      if (asked !== this.latest) return;
      this.notices.notify(`${WORDS.failed} ${error.message}`);
      this.state.refuse();
    }
  }

  see(findings, target, answer) {
    this.scene = { key: this.latest, findings, target, answer, base: this.base, isPinned: this.base !== this.origin };
    this.paint();
  }

  refuse(clash) {
    const { findings } = this.state, isFirst = !this.scene;
    const last = Object.keys(findings).map(Number).find((v) => findings[v] !== this.scene?.findings[v] && clash.includes(v));
    const others = clash.filter((v) => v !== last);
    const list = h("ul", {}, clash.map((v) => h("li", {}, named(this.model.names[v]))));
    const without = Object.fromEntries(Object.entries(findings).filter(([v]) => !others.includes(Number(v))));
    const retract = WORDS.instead(others.slice(0, 3).map((v) => quotable(this.model.names[v], 24)).join(", "));
    this.notices.notify([h("p", {}, isFirst ? WORDS.refused_address : WORDS.refused), list],
      !isFirst && others.length && last !== undefined ? [[retract, () => this.state.findAll(without)]] : []);
    this.state.refuse();
    if (this.scene) this.paint();
  }

  /** Ask the backend, or remember what it said. */
  ask(verb, ...given) {
    const key = JSON.stringify([verb, given]);
    if (!this.remembered.has(key)) {
      if (this.remembered.size >= MOST_REMEMBERED) this.remembered.delete(this.remembered.keys().next().value);
      const { backend } = this;
      // Answers besides the one for the picture wait in a lane of their own.
      const asked = verb === "answer" && backend.inLane ? backend.inLane("aside", verb, given) : backend[verb](...given);
      asked.catch(() => this.remembered.delete(key));
      this.remembered.set(key, asked);
    }
    return this.remembered.get(key);
  }

  /** What each class looks like before any finding, for the colours of the classifier. */
  async askClasses() {
    const { target, view } = this.model;
    if (this.classes || target === null || (this.state.view !== "classifier" && view !== "classifier")) return;
    const { p } = this.origin.posteriors[target];
    const asked = p.slice(0, MOST_COLOURS).map((share, c) => (
      share > 0 ? this.ask("answer", { [target]: { state: c } }, null) : null));
    const found = await Promise.all(asked);
    this.classes = found.map((answer, c) => ({ share: p[c], posteriors: answer?.posteriors ?? [] }));
    if (this.scene) this.view().show(this.scene);
  }

  /** Pin the case, so that ticks show it, or unpin it. */
  async pin() {
    const { state } = this, { findings } = state;
    state.pinned = state.pinned ? null : findings;
    this.base = state.pinned ? this.scene.answer : this.origin;
    await this.update();
  }

  // ------------------------------------------------------------------------------------- the page

  build() {
    const { model, state } = this, n = model.variables.length;
    const { element, notify, clear } = createNotices();
    this.notices = { notify, clear };
    this.live = h("p", { className: "unseen", "aria-live": "polite" });
    this.undo = button("↶", () => state.undo(), { className: "press", title: `${WORDS.undo} (Ctrl+Z)`, "aria-label": WORDS.undo });
    this.redo = button("↷", () => state.redo(), { className: "press", title: `${WORDS.redo} (Ctrl+Y)`, "aria-label": WORDS.redo });
    this.clear = button(WORDS.clear_all, () => state.findAll({}), { className: "press" });
    this.pinned = h("p", { className: "pinned", hidden: true });
    this.printed = h("p", { className: "printed" });
    this.tabs = this.keys.map((key) => button(WORDS.views[key], () => state.choose("view", key), { className: "tab" }));
    const more = button("⋯", () => this.openMore(more), { className: "press", title: WORDS.more, "aria-label": WORDS.more, "aria-haspopup": "menu" });
    const isNetwork = model.view !== "classifier";
    const about = isNetwork ? [WORDS.variables(n), model.hasArcs ? ` · ${WORDS.arcs(model.arcs.length)}` : ""] : WORDS.features(n - 1);
    this.main = h("main", {});
    fill(this.place, h("a", { className: "skip", href: "#table", on: { click: (event) => {
      event.preventDefault();
      state.choose("view", "table");
      this.made.table.element.focus();
    } } }, WORDS.skip),
    h("header", { className: "top" }, h("h1", {}, named(model.title)), h("span", { className: "quiet about" }, about),
      h("nav", { className: "tabs", "aria-label": WORDS.views_label }, this.tabs), this.searchBox(),
      h("div", { className: "tools" }, this.undo, this.redo, this.clear, more)),
    this.pinned, element, this.printed, this.main, this.live);
    addEventListener("keydown", (event) => this.key(event));
    addEventListener("hashchange", () => this.readAddress());
    addEventListener("beforeprint", () => {
      this.made.network?.fit();
      if (this.scene) this.finish();
    });
    this.showTheme(remember(THEME));
    this.showView();
  }

  view() {
    return this.made[this.state.view];
  }

  showView() {
    const { view } = this.state;
    this.made[view] ??= new { network: Network, classifier: Classifier, table: Table }[view](this);
    if (view !== "classifier") this.inspector ??= new Inspector(this);
    this.place.dataset.view = view;
    fill(this.main, this.view().element, view === "classifier" ? null : this.inspector.element);
    this.tabs.forEach((tab, k) => tab.setAttribute("aria-current", this.keys[k] === view ? "page" : "false"));
    if (view === "classifier") this.askClasses();
  }

  paint() {
    const { scene } = this;
    this.view().show(scene);
    // The picture first, then what can wait and what takes longer to find.
    requestAnimationFrame(() => setTimeout(() => scene === this.scene && this.finish()));
  }

  /** Write the figures, what is around the picture, what is spoken and printed, and the panels. */
  finish() {
    const { scene, state, clear, undo, redo } = this;
    this.view().write?.();
    clear.disabled = !Object.keys(scene.findings).length;
    undo.disabled = !state.past.length;
    redo.disabled = !state.future.length;
    fill(this.printed, `${WORDS.findings}: `, Object.entries(scene.findings).map(([v, finding], k) => (
      [k ? "; " : "", named(this.model.names[v]), " ", findingText(this.model.variables[v], finding)])));
    this.pinned.hidden = !scene.isPinned;
    if (scene.isPinned) {
      fill(this.pinned, WORDS.compared(Object.keys(state.pinned).length), " ", button(WORDS.unpin, () => this.pin(), { className: "link" }));
    }
    this.speak();
    if (state.view !== "classifier") this.inspector.show(scene);
    this.writeAddress();
    this.place.dataset.seen = scene.key;
  }

  changed(what) {
    if (what === "findings" || what === "target") this.update();
    else if (what === "view") {
      this.showView();
      this.again();
      // Figures of an answer that another view showed would be seen for a frame.
      this.view().write?.();
      this.writeAddress();
    } else if (what === "selected") this.again();
    else if (what === "focus" || what === "radius") {
      const { network } = this.made;
      if (!network) return;
      network.arrange();
      network.fit();
      this.again();
    }
  }

  /** Show the same answer anew, as for another selection. */
  again() {
    if (!this.scene) return;
    this.scene = { ...this.scene, key: `${this.scene.key}+` };
    this.paint();
  }

  speak() {
    const { answer, target, findings } = this.scene;
    if (target === null) return;
    const { states } = this.model.variables[target], { p } = answer.posteriors[target];
    const order = Array.from(p.keys()).sort((a, b) => p[b] - p[a]).slice(0, MOST_SPOKEN);
    const words = order.map((k) => `${quotable(states[k])} ${percent(p[k])}`).join(", ");
    set(this.live, "textContent", WORDS.spoken(quotable(this.model.names[target]), words, Object.keys(findings).length));
  }

  // ------------------------------------------------------------------------------ what one can do

  menuOf(v, k) {
    return offers(this, v, k);
  }

  inspect(v) {
    const { state, model } = this;
    if (state.view === "network" && !this.made.network.cards.has(v)) this.focus(v);
    if (state.view === "classifier") {
      if (v === model.target) return;
      const { element } = this.made.classifier.features.find((feature) => feature.v === v);
      element.scrollIntoView({ block: "center" });
      element.querySelector(".segment, input").focus({ preventScroll: true });
      return;
    }
    state.choose("selected", v);
    if (state.view === "network") this.made.network.reveal(v);
  }

  focus(v) {
    this.state.choose("view", "network");
    this.state.selected = v;
    this.state.choose("focus", v);
  }

  explain(k) {
    this.state.odds = k;
    this.again();
  }

  toggleCosts() {
    this.state.showsCosts = !this.state.showsCosts;
    this.again();
  }

  price(v, cost) {
    if (cost > 0 && cost !== 1) this.state.costs.set(v, cost);
    else this.state.costs.delete(v);
    this.again();
  }

  /** The colour of a class: of two, the second is blue, as in every other picture of log odds. */
  tone(v, c) {
    return this.model.variables[v].states.length === 2 ? 1 - c : c % MOST_COLOURS;
  }

  openMore(at) {
    const { left, bottom } = at.getBoundingClientRect(), { state, model } = this;
    openMenu({ x: left, y: bottom + 4 }, [
      [WORDS.copy_link, () => this.copy(location.href)],
      [WORDS.copy_python, () => this.copy(pythonOf(model, state, fileName()))],
      [WORDS.save_file, () => {
        download(fileName(), pageWith(document, state));
        this.notices.notify(WORDS.saved, [], 4);
      }],
      [state.pinned ? WORDS.unpin : WORDS.pin, () => this.pin()],
      [WORDS.print, () => print()],
      [WORDS.theme, () => this.turnTheme()],
      [WORDS.help, () => openHelp()],
    ]);
  }

  async copy(text) {
    try {
      await navigator.clipboard.writeText(text);
      this.notices.notify([WORDS.copied, h("pre", {}, text)], [], 6);
    } catch {
      openDialog(WORDS.copy_by_hand, h("textarea", { value: text, readOnly: true, rows: 10 })).querySelector("textarea").select();
    }
  }

  turnTheme() {
    const now = document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
    const next = now === "dark" ? "light" : "dark";
    this.showTheme(next);
    remember(THEME, next);
  }

  showTheme(theme) {
    if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
  }

  searchBox() {
    const { model } = this, list = h("ul", { className: "matches", role: "listbox", id: "matches", hidden: true });
    const choose = (v) => {
      list.hidden = true;
      input.value = "";
      if (this.state.view === "table") this.made.table.search("");
      this.inspect(v);
      this.view().goTo?.(v);
    };
    const look = () => {
      const text = input.value.trim().toLowerCase();
      if (this.state.view === "table") {
        this.made.table.search(text);
        return;
      }
      const found = text ? model.names.map((_, v) => v).filter((v) => model.names[v].toLowerCase().includes(text)) : [];
      found.sort((a, b) => model.names[b].toLowerCase().startsWith(text) - model.names[a].toLowerCase().startsWith(text) || a - b);
      list.hidden = !text;
      fill(list, found.slice(0, MOST_FOUND).map((v) => h("li", { role: "option", tabIndex: -1, on: {
        click: () => choose(v),
        keydown: (event) => { if (event.key === "Enter") choose(v); },
      } }, named(model.names[v]))), text && !found.length && h("li", { className: "quiet" }, WORDS.nothing_found));
    };
    const input = h("input", {
      type: "search", placeholder: WORDS.search_key, "aria-label": WORDS.search, "aria-controls": "matches",
      on: { input: look, focus: look },
    });
    const box = h("div", { className: "search", on: {
      keydown: (event) => {
        const options = [...list.querySelectorAll("[role=option]")], at = options.indexOf(document.activeElement);
        if (event.key === "Enter" && event.target === input) options[0]?.click();
        else if (event.key === "ArrowDown") options[at + 1]?.focus();
        else if (event.key === "ArrowUp") (options[at - 1] ?? input).focus();
        else if (event.key === "Escape") {
          input.value = "";
          look();
          input.blur();
        } else return;
        event.preventDefault();
      },
      focusout: (event) => { if (!box.contains(event.relatedTarget)) list.hidden = true; },
    } }, input, list);
    this.search = input;
    return box;
  }

  key(event) {
    const isText = event.target.matches?.("input:not([type=range], [type=radio]), textarea, select");
    const { key } = event, isCommand = event.ctrlKey || event.metaKey, { state } = this, { network } = this.made;
    if (isCommand && !isText && (key === "z" || key === "Z")) (event.shiftKey ? state.redo() : state.undo());
    else if (isCommand && !isText && key === "y") state.redo();
    else if (isText || isCommand || event.altKey) return;
    else if (key === "/") this.search.focus();
    else if (key === "?") openHelp();
    else if (state.view === "network" && key === "0") network.fit();
    else if (state.view === "network" && (key === "+" || key === "=")) network.zoom(1.25);
    else if (state.view === "network" && key === "-") network.zoom(1 / 1.25);
    else return;
    event.preventDefault();
  }

  // ---------------------------------------------------------------------------------- the address

  writeAddress() {
    const address = addressOf(this.model, this.state);
    if (address === location.hash) return;
    try {
      history.replaceState(null, "", address || location.pathname + location.search);
    } catch {
      // A page inside another one may have no address of its own.
    }
  }

  readAddress() {
    const found = caseOfAddress(this.model, location.hash);
    if (found.target !== null) this.state.target = found.target;
    if (this.keys.includes(found.view)) this.state.choose("view", found.view);
    this.state.findAll(found.findings);
  }
}

/** Read or write what a browser remembers; some pages may not. */
function remember(key, value) {
  try {
    if (value === undefined) return localStorage.getItem(key);
    localStorage.setItem(key, value);
  } catch {
    // Then nothing is remembered.
  }
  return null;
}

/** What the page holds, once it is ready; tests and readers of the console ask it too. */
async function start(/** @type {Document} */ page) {
  const place = page.getElementById("app");
  try {
    const { snapshot, numbers } = await readPage(page);
    const kernel = await inflate(page.getElementById("bayesgraph-kernel").textContent);
    const given = [snapshot, numbers, { kernel }];
    const script = page.getElementById("bayesgraph-front").textContent;
    const worker = isLong(snapshot) ? await createWorkerBackend(script, ...given).catch(() => null) : null;
    const backend = worker ?? await createBackend(...given);
    const app = new App(modelOf(snapshot), backend, place);
    await app.begin();
    return { snapshot, numbers, kernel, backend, createBackend, app };
  } catch (error) {
    fill(place, h("p", { className: "failed" }, `${WORDS.failed} ${error.message}`));
    throw error;
  }
}

if (typeof document === "undefined") serveQuestions(self);
else globalThis.bayesgraph = start(document);
