// The classifier: findings on the left, the answer and why in the middle, what to ask next on the right.

import { controlOf, press } from "./card.js";
import { button, fill, h, named, own, quotable, set } from "./dom.js";
import { count, exactly, number, percent } from "./format.js";
import { panelsOf } from "./inspector.js";
import { openMenu } from "./menu.js";
import { WORDS } from "./words.js";

const MOST_CLASSES = 7, ROWS_OF_PAGE = 12;

export class Classifier {
  constructor(app) {
    this.app = app;
    const { model } = app, { target } = model;
    this.target = target;
    this.features = model.variables.map((_, v) => v).filter((v) => v !== target)
      .map((v) => (model.variables[v].kind === "discrete" ? new Segments(app, v) : new Slider(app, v)));
    this.legend = h("ul", { className: "legend" }, model.variables[target].states.slice(0, MOST_CLASSES).map((state, c) => (
      h("li", {}, h("i", { className: `swatch class-${app.tone(target, c)}` }), own(state)))));
    const left = h("section", { className: "features", "aria-label": WORDS.features_title },
      h("p", { className: "quiet" }, WORDS.class_share(quotable(model.names[target]))), this.legend,
      this.features.map((feature) => feature.element));
    this.posterior = new Posterior(app, target);
    [this.why] = panelsOf(app, ["WHY"]);
    this.rows = model.rows ? new Rows(app, target) : null;
    const note = app.model.rows === false ? h("p", { className: "quiet" }, WORDS.rows_absent) : null;
    const middle = h("section", { className: "answer", "aria-label": WORDS.target },
      this.posterior.element, this.why?.element, this.rows?.element, note);
    this.panels = panelsOf(app, ["ASK_NEXT", "FLIP", "REST", "TOGETHER", "FINDINGS", "SENSITIVITY"]);
    for (const panel of this.panels) if (panel.card.key === "rest") panel.element.open = true;
    this.element = h("div", { className: "classifier" }, left, middle,
      h("aside", { "aria-label": WORDS.ask_next }, this.panels.map((panel) => panel.element)));
  }

  show(scene) {
    for (const feature of this.features) feature.show(scene);
    this.posterior.show(scene);
    this.why?.show(scene);
    this.rows?.show(scene);
    for (const panel of this.panels) panel.show(scene);
  }
}

/** The name of a feature and whether it was observed, above its control. */
function headed(app, v, control) {
  const { name } = app.model.variables[v], status = h("span", { className: "status" });
  const title = h("button", { type: "button", className: "link", on: { click: () => app.inspect(v) } }, named(name));
  return { status, element: h("div", { className: "feature", role: "group", "aria-label": quotable(name), data: { v } },
    h("div", { className: "feature-head" }, title, status), control) };
}

/** A discrete feature: a segment for each state, whose lower edge shows the shares of the classes. */
class Segments {
  constructor(app, v) {
    this.app = app;
    this.v = v;
    const { states } = app.model.variables[v];
    this.parts = states.map((state, k) => {
      const now = h("i", { className: "tick" }), shares = h("span", { className: "shares" }), share = h("span", { className: "share" });
      const element = h("button", {
        type: "button", className: "segment", data: { v, k },
        on: {
          click: (event) => press(app, v, k, event),
          contextmenu: (event) => {
            event.preventDefault();
            openMenu({ x: event.clientX, y: event.clientY }, app.menuOf(v, k));
          },
        },
      }, h("span", { className: "segment-text" }, own(state), share), h("span", { className: "track" }, shares, now));
      return { element, shares, now, share };
    });
    const { status, element } = headed(app, v, h("div", { className: "segments", data: { n: states.length } }, this.parts.map((part) => part.element)));
    this.status = status;
    this.element = element;
    this.drawn = false;
  }

  show({ answer, findings }) {
    const { v } = this, finding = findings[v], p = answer.posteriors[v]?.p;
    const words = finding ? (finding.not ? WORDS.excluded : finding.weights ? WORDS.weighed : WORDS.observed) : WORDS.not_observed;
    set(this.status, "textContent", words);
    this.element.classList.toggle("found", Boolean(finding));
    if (!this.drawn) this.drawShares();
    this.parts.forEach(({ element, now, share }, k) => {
      const isOn = finding?.state === k, isOut = finding?.not?.includes(k) ?? false;
      set(element, "className", `segment${isOn ? " on" : ""}${isOut ? " out" : ""}`);
      element.setAttribute("aria-pressed", String(isOn));
      set(share, "textContent", p ? percent(p[k]) : "");
      element.title = p ? `${this.app.model.variables[v].states[k]}\n${exactly(p[k])}` : this.app.model.variables[v].states[k];
      now.style.left = `${100 * (p?.[k] ?? 0)}%`;
    });
  }

  /** The share of each class among the cases of a state, before any finding. */
  drawShares() {
    const { classes, model } = this.app;
    if (!classes) return;
    this.drawn = true;
    this.parts.forEach(({ shares }, k) => fill(shares, classes.map(({ share, posteriors }, c) => h("i", {
      className: `class-${this.app.tone(model.target, c)}`,
      style: { width: `${100 * share * (posteriors[this.v]?.p?.[k] ?? 0)}%` },
    }))));
  }
}

/** A continuous feature: densities of the classes above a slider; or counts of words. */
class Slider {
  constructor(app, v) {
    this.app = app;
    this.v = v;
    this.control = controlOf(app, v);
    const { status, element } = headed(app, v, this.control.element);
    this.status = status;
    this.element = element;
  }

  show(scene) {
    const { v, app } = this, { classes, model } = app, finding = scene.findings[v];
    this.element.classList.toggle("found", Boolean(finding));
    set(this.status, "textContent", finding ? WORDS.observed : WORDS.not_observed);
    const layers = this.control.curveOf && classes?.map(({ share, posteriors }, c) => {
      const { x, y } = this.control.curveOf(posteriors[v]) ?? {};
      return { x, y: y && Array.from(y, (value) => share * value), name: `class-${app.tone(model.target, c)}` };
    });
    this.control.show(scene, layers?.some((layer) => layer.x) ? layers : null);
  }
}

/** The answer: the most probable class in large type, and the share of each. */
class Posterior {
  constructor(app, v) {
    this.app = app;
    this.v = v;
    const { name, states } = app.model.variables[v];
    this.note = h("p", { className: "quiet" });
    this.best = h("p", { className: "best" });
    this.parts = states.map((_, c) => h("i", { className: `class-${app.tone(v, c)}` }));
    this.list = h("ul", { className: "classes" });
    this.element = h("section", { className: "sheet posterior" }, h("h2", {}, named(name)), this.note, this.best,
      h("div", { className: "stack", "aria-hidden": "true" }, this.parts), this.list);
  }

  show({ answer, base, findings }) {
    const { v, app } = this, { states } = app.model.variables[v], { p } = answer.posteriors[v], before = base.posteriors[v].p;
    const order = Array.from(p.keys()).sort((a, b) => p[b] - p[a]), [first] = order;
    const k = Object.keys(findings).filter((u) => Number(u) !== v).length, n = app.model.variables.length - 1;
    set(this.note, "textContent", k ? WORDS.classifier_note(k, n) : WORDS.no_features);
    fill(this.best, h("i", { className: `swatch class-${app.tone(v, first)}` }), own(states[first]), " ",
      h("span", { className: "figure" }, percent(p[first])));
    this.parts.forEach((part, c) => { part.style.width = `${100 * p[c]}%`; });
    fill(this.list, order.slice(0, MOST_CLASSES).map((c) => h("li", { title: `${exactly(p[c])}\n${WORDS.before(exactly(before[c]))}` },
      h("i", { className: `swatch class-${app.tone(v, c)}` }), own(states[c]), h("b", {}, percent(p[c])),
      Math.abs(p[c] - before[c]) > 1e-9 && h("span", { className: "quiet" }, WORDS.before(percent(before[c]))))));
  }
}

/** Rows of data to click through, the wrong ones first. */
class Rows {
  constructor(app, target) {
    this.app = app;
    this.target = target;
    const { truth, predicted, share } = app.model.rows, n = predicted.length;
    const isWrong = (row) => truth !== null && truth[row] !== null && truth[row] !== predicted[row];
    this.order = Array.from({ length: n }, (_, row) => row).sort((a, b) => isWrong(b) - isWrong(a)
      || (share ? share[a] - share[b] : 0) || a - b);
    this.isWrong = isWrong;
    this.wrong = this.order.filter(isWrong).length;
    this.at = 0;
    this.current = null;
    this.body = h("div", {});
    this.element = h("section", { className: "sheet rows" }, h("h2", {}, WORDS.rows),
      h("p", { className: "quiet" }, WORDS.rows_embedded(n), truth ? ` ${WORDS.wrong_first(count(this.wrong), count(n))}` : ""), this.body);
    this.draw();
  }

  show({ findings }) {
    if (this.current === null || findings === this.findings) return;
    this.current = null;
    this.draw();
  }

  draw() {
    const { columns, truth, predicted, share } = this.app.model.rows, { states } = this.app.model.variables[this.target];
    const shown = this.order.slice(this.at, this.at + ROWS_OF_PAGE), n = this.order.length;
    const features = Object.keys(columns).map(Number);
    const head = [WORDS.row, truth && WORDS.truth, WORDS.predicted, share && WORDS.probability_of_truth].filter(Boolean);
    const turn = (by) => () => {
      this.at = Math.max(0, Math.min(n - 1, this.at + by));
      this.draw();
    };
    fill(this.body, h("div", { className: "scroll" }, h("table", {},
      h("thead", {}, h("tr", {}, head.map((text) => h("th", { scope: "col" }, text)), features.map((v) => h("th", { scope: "col" }, named(this.app.model.names[v]))))),
      h("tbody", {}, shown.map((row) => h("tr", { className: row === this.current ? "on" : "", on: { click: () => this.choose(row) } },
        h("td", {}, button(count(row), () => {}, { className: "link" })),
        truth && h("td", {}, h("bdi", {}, states[truth[row]] ?? "?")),
        h("td", {}, h("bdi", {}, states[predicted[row]]), this.isWrong(row) && h("strong", { className: "wrong" }, ` ${WORDS.wrong}`)),
        share && h("td", { className: "figure" }, share[row] === null ? "" : percent(share[row])),
        features.map((v) => h("td", {}, this.cell(v, columns[v][row])))))))),
    h("p", { className: "tools" },
      button(WORDS.previous, turn(-ROWS_OF_PAGE), { className: "press", disabled: this.at === 0 }),
      h("span", {}, WORDS.page(count(this.at + 1), count(Math.min(n, this.at + ROWS_OF_PAGE)), count(n))),
      button(WORDS.next, turn(ROWS_OF_PAGE), { className: "press", disabled: this.at + ROWS_OF_PAGE >= n })));
  }

  cell(v, value) {
    const { kind, states } = this.app.model.variables[v];
    if (value === null) return "";
    if (kind === "counts") return count(Object.values(value).reduce((sum, n) => sum + n, 0));
    return kind === "discrete" ? h("bdi", {}, states[value]) : number(value);
  }

  choose(row) {
    const { columns } = this.app.model.rows, findings = {};
    for (const [v, values] of Object.entries(columns)) {
      if (values[row] === null) continue;
      findings[v] = { [{ discrete: "state", counts: "counts" }[this.app.model.variables[v].kind] ?? "value"]: values[row] };
    }
    this.current = row;
    this.findings = findings;
    this.draw();
    this.app.state.findAll(findings);
  }
}
