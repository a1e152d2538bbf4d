// A variable as the reader meets it: a bar for each state, or a density with a handle.

import { lengthOf } from "./charts.js";
import { fill, h, named, own, quotable, set, svg } from "./dom.js";
import { decimals, exactly, number, percent } from "./format.js";
import { excluded, likelihoods, observed, weighed } from "./state.js";
import { WORDS } from "./words.js";

/** The most states that a card shows; of more, the most probable, in their order, and the sum of the others. */
const MOST_STATES = 7;
const SAME = 0.002;

/** Change the finding about a state as a click or a key asks: with Shift exclude, with Alt weigh. */
export function press(app, v, k, { shiftKey, altKey }) {
  const { states } = app.model.variables[v], finding = app.state.findings[v];
  if (altKey) app.state.find(v, finding?.weights ? null : { weights: likelihoods(finding, states.length) });
  else if (shiftKey) app.state.find(v, excluded(finding, k, states.length));
  else app.state.find(v, observed(finding, k));
}

/** Return the word for the kind of a finding, which shapes and style sheets go by. */
export function findingKind(finding) {
  if (!finding) return "free";
  if (finding.not) return "excluded";
  return finding.weights ? "weighed" : "observed";
}

/** The rows of a discrete variable: a button for each state, with its bar, tick and per cent. */
export class States {
  constructor(app, v, most = MOST_STATES) {
    this.app = app;
    this.v = v;
    this.n = app.model.variables[v].states.length;
    this.shown = this.n <= most ? this.n : most - 1;
    this.rows = Array.from({ length: this.shown }, (_, k) => new StateRow(app, v, k));
    this.rest = this.shown < this.n ? h("button", {
      type: "button", className: "rest", tabIndex: -1,
      on: { click: () => app.inspect(v) },
    }) : null;
    this.element = h("div", { className: "states" }, this.rows.map((row) => row.element), this.rest);
  }

  show({ answer, base, findings }) {
    const p = answer.posteriors[this.v]?.p, before = base.posteriors[this.v]?.p;
    if (!p || !before) return;
    const order = Array.from(p.keys());
    if (this.rest) {
      order.sort((a, b) => p[b] - p[a] || a - b).length = this.shown;
      order.sort((a, b) => a - b);
    }
    this.rows.forEach((row, i) => row.show(order[i], p[order[i]], before[order[i]], findings[this.v]));
    if (!this.rest) return;
    const left = Math.max(0, 1 - order.reduce((sum, k) => sum + p[k], 0));
    set(this.rest, "textContent", WORDS.more_states(this.n - this.shown, percent(left)));
  }

  /** Write the figures of the last answer. */
  write() {
    for (const row of this.rows) row.write();
  }
}

class StateRow {
  constructor(app, v, k) {
    this.app = app;
    this.v = v;
    this.bar = h("i", { className: "bar" });
    this.tick = h("i", { className: "tick" });
    this.label = h("bdi", { className: "label" });
    this.share = h("span", { className: "share" });
    this.track = h("span", { className: "track" }, this.bar, this.tick);
    this.button = h("button", {
      type: "button", className: "row", tabIndex: -1, "aria-pressed": "false", data: { v },
      on: { pointerenter: () => { this.button.title = `${exactly(this.p)}\n${WORDS.before(exactly(this.before))}`; } },
    },
      h("i", { className: "dot" }), this.label, this.track, this.share);
    this.element = h("div", { className: "line" }, this.button);
    this.knob = null;
    this.name(k);
  }

  name(k) {
    this.k = k;
    const state = this.app.model.variables[this.v].states[k];
    this.button.dataset.k = k;
    const label = own(state, { className: "label", title: state });
    this.label.replaceWith(label);
    this.label = label;
  }

  show(k, p, before, finding) {
    const isOther = k !== this.k;
    if (isOther) this.name(k);
    else if (p === this.p && before === this.before && finding === this.finding) return;
    Object.assign(this, { p, before, finding });
    const out = finding?.not?.includes(k) ?? false, on = finding?.state === k;
    this.bar.style.backgroundSize = lengthOf(p);
    this.tick.style.left = `${100 * before}%`;
    this.tick.style.visibility = Math.abs(p - before) < SAME ? "hidden" : "";
    set(this.button, "className", `row${on ? " on" : ""}${out ? " out" : ""}`);
    if (on !== (this.button.ariaPressed === "true")) this.button.ariaPressed = String(on);
    this.weigh(finding?.weights?.[k]);
    // The figure of another state may not stand beside the name for a frame.
    if (isOther) this.write();
  }

  write() {
    if (this.p === undefined) return;
    const share = percent(this.p), out = this.finding?.not?.includes(this.k);
    set(this.share, "textContent", share);
    set(this.button, "ariaLabel", out ? `${quotable(this.app.model.variables[this.v].states[this.k])}, ${WORDS.excluded}, ${share}` : null);
  }

  /** Show a knob for the likelihood of a state, or take it away. */
  weigh(weight) {
    if (weight === undefined) {
      this.knob?.remove();
      this.knob = null;
      return;
    }
    if (!this.knob) {
      this.knob = h("input", {
        type: "range", className: "knob", min: 0, max: 1, step: 0.01,
        on: { input: () => this.turn("drag"), change: () => { this.app.state.joined = null; } },
      });
      this.element.append(this.knob);
    }
    const { states } = this.app.model.variables[this.v];
    this.knob.setAttribute("aria-label", WORDS.likelihood_of(quotable(states[this.k])));
    if (Number(this.knob.value) !== weight) this.knob.value = weight;
  }

  turn(join) {
    const { state, model } = this.app, n = model.variables[this.v].states.length;
    const weights = likelihoods(state.findings[this.v], n);
    weights[this.k] = Number(this.knob.value);
    const found = weighed(weights);
    if (found) state.find(this.v, found, `${join}${this.v}`);
    else this.knob.value = 0.01;
  }
}

/** A continuous variable or a count: its density, a handle for its value, and the value as a number. */
class Density {
  constructor(app, v) {
    this.app = app;
    this.v = v;
    const variable = app.model.variables[v], name = quotable(variable.name);
    const [low, high] = this.range();
    const step = variable.kind === "count" ? 1 : 10 ** -decimals(high - low);
    // A slider's values are its least one and steps from there.
    this.low = Math.floor(low / step) * step;
    this.high = Math.ceil(high / step) * step;
    const span = this.high - this.low, places = decimals(span);
    const label = WORDS.value_of(name), find = (x, join) => this.find(x, join);
    this.curves = svg("svg", { viewBox: "0 0 100 40", preserveAspectRatio: "none", "aria-hidden": "true" });
    this.mark = h("i", { className: "mark" });
    this.handle = h("input", {
      type: "range", min: this.low, max: this.high, step, "aria-label": label,
      on: { input: () => find(Number(Number(this.handle.value).toFixed(places)), "drag"), change: () => { app.state.joined = null; } },
    });
    this.typed = h("input", {
      type: "number", step: "any", "aria-label": label,
      on: { change: () => find(this.typed.value === "" ? null : Number(this.typed.value)) },
    });
    this.clear = h("button", {
      type: "button", className: "clear", title: WORDS.retract, "aria-label": `${WORDS.retract}: ${name}`,
      on: { click: () => find(null) },
    }, "✕");
    this.unit = variable.unit ? h("span", { className: "unit" }, variable.unit) : null;
    this.element = h("div", { className: "density" },
      h("div", { className: "plot" }, h("div", { className: "curves" }, this.curves, this.mark), this.handle),
      h("div", { className: "ends" }, h("span", {}, number(this.low, span)),
        h("span", { className: "value" }, this.typed, this.unit, this.clear), h("span", {}, number(this.high, span))));
  }

  /** From where to where: as the model says, or where the density before all findings is drawn. */
  range() {
    const { model, origin } = this.app, { range } = model.variables[this.v];
    if (range) return range;
    const at = origin.posteriors[this.v];
    if (at?.density) return [at.density.x[0], at.density.x.at(-1)];
    return at?.sd > 0 ? [at.mean - 4 * at.sd, at.mean + 4 * at.sd] : [0, 1];
  }

  find(x, join = null) {
    const given = x === null || !Number.isFinite(x) ? null : { value: x };
    this.app.state.find(this.v, given, join && `${join}${this.v}`);
  }

  /** @param layers densities to draw instead, each {x, y, name}: of the classes */
  show({ answer, base, findings }, layers = null) {
    const value = findings[this.v]?.value, now = answer.posteriors[this.v], before = base.posteriors[this.v];
    const isFound = value !== undefined, span = this.high - this.low;
    const drawn = layers ?? [
      ...(isFound ? [] : [{ ...this.curveOf(now), name: "now" }]),
      { ...this.curveOf(before), name: isFound ? "was" : "before" },
    ];
    const curves = drawn.filter((layer) => layer.x);
    const top = Math.max(...curves.flatMap((layer) => Array.from(layer.y)), 1e-300);
    fill(this.curves, curves.map((layer) => svg("path", { class: layer.name, d: this.path(layer, top) })));
    const centre = isFound ? value : now?.mean ?? (this.low + this.high) / 2;
    this.element.classList.toggle("found", isFound);
    this.handle.value = Math.min(Math.max(centre, this.low), this.high);
    this.handle.setAttribute("aria-valuetext", isFound ? number(value, span) : WORDS.not_observed);
    this.mark.hidden = !isFound;
    this.mark.style.left = `${(100 * (Number(this.handle.value) - this.low)) / (span || 1)}%`;
    this.element.classList.toggle("bare", !curves.length);
    if (document.activeElement !== this.typed) this.typed.value = isFound ? value : "";
    this.clear.hidden = !isFound;
    const isKnown = now?.mean !== undefined && !isFound;
    const spread = isKnown ? WORDS.mean(number(now.mean, 4 * now.sd), number(now.sd, 4 * now.sd)) : "";
    set(this.typed, "placeholder", spread);
    set(this.typed, "title", isKnown || isFound ? spread : WORDS.no_posterior);
  }

  /** Return the curve of a posterior: its density, or steps of a number that the model has cut. */
  curveOf(posterior) {
    if (posterior?.density || !posterior?.p) return posterior?.density;
    const cuts = this.app.model.flips?.[this.v]?.cuts;
    if (cuts?.length !== posterior.p.length - 1) return null;
    const ends = [Math.min(this.low, cuts[0]), ...cuts, Math.max(this.high, cuts.at(-1))];
    const heights = posterior.p.map((p, k) => p / (ends[k + 1] - ends[k] || 1));
    return { x: heights.flatMap((_, k) => [ends[k], ends[k + 1]]), y: heights.flatMap((y) => [y, y]) };
  }

  path({ x, y }, top) {
    const across = 100 / (this.high - this.low || 1);
    const points = Array.from(x, (value, k) => (
      `${((value - this.low) * across).toFixed(2)} ${(39 - (36 * y[k]) / top).toFixed(2)}`));
    const [first, last] = [(x[0] - this.low) * across, (x.at(-1) - this.low) * across];
    return `M${first.toFixed(2)} 39L${points.join("L")}L${last.toFixed(2)} 39Z`;
  }
}

/** The control of any variable. */
export function controlOf(app, v) {
  const { kind } = app.model.variables[v];
  if (kind === "discrete") return new States(app, v);
  return kind === "counts" ? new Items(app, v) : new Density(app, v);
}

/** A vector of counts, such as words: a text whose items are counted. */
export class Items {
  constructor(app, v) {
    this.app = app;
    this.v = v;
    const { name, items } = app.model.variables[v];
    this.place = new Map(items.map((item, k) => [item.toLowerCase(), k]));
    this.text = h("textarea", {
      rows: 3, placeholder: WORDS.items_here, "aria-label": WORDS.value_of(quotable(name)),
      on: { change: () => this.find() },
    });
    this.found = h("p", { className: "quiet" });
    this.element = h("div", { className: "items" }, this.text, this.found);
  }

  find() {
    const counts = {};
    for (const word of this.text.value.toLowerCase().split(/[^\p{L}\p{N}_']+/u)) {
      const k = this.place.get(word);
      if (k !== undefined) counts[k] = (counts[k] ?? 0) + 1;
    }
    this.app.state.find(this.v, this.text.value.trim() ? { counts } : null);
  }

  show({ findings }) {
    const { items } = this.app.model.variables[this.v], counts = findings[this.v]?.counts;
    if (!counts && document.activeElement !== this.text) this.text.value = "";
    const shown = Object.entries(counts ?? {}).map(([k, n]) => [items[k], n > 1 && ` × ${n}`, " "]);
    fill(this.found, counts ? [`${WORDS.counted} `, shown.length ? shown : WORDS.nothing] : WORDS.not_observed);
  }
}

/** A card of the network: the name, and states or a density. */
export class Card {
  constructor(app, v) {
    this.app = app;
    this.v = v;
    const variable = app.model.variables[v];
    this.body = controlOf(app, v);
    this.menu = h("button", {
      type: "button", className: "menu-button", tabIndex: -1,
      "aria-label": WORDS.menu(quotable(variable.name)), title: WORDS.more,
    }, "⋯");
    this.beyond = null;
    this.element = h("section", {
      className: "card", role: "group", tabIndex: -1, data: { v },
      "aria-label": quotable(variable.name),
    }, h("header", {}, named(variable.name), this.menu), this.body.element,
    variable.note ? h("p", { className: "note" }, variable.note) : null);
  }

  show(scene) {
    const { selected } = this.app.state, kind = findingKind(scene.findings[this.v]);
    const marks = [this.v === scene.target && "target", this.v === selected && "selected"];
    set(this.element, "className", ["card", kind, ...marks.filter(Boolean)].join(" "));
    this.body.show(scene);
  }

  /** Write what can wait for the picture: figures, which cost more than all bars. */
  write() {
    this.body.write?.();
  }

  /** Say how many neighbours are not on the page; pressing it goes there. */
  showBeyond(k) {
    this.beyond?.remove();
    this.beyond = k ? h("button", {
      type: "button", className: "beyond", tabIndex: -1, title: WORDS.beyond_title(k),
      on: { click: () => this.app.focus(this.v) },
    }, WORDS.beyond(k)) : null;
    if (this.beyond) this.element.append(this.beyond);
  }

  /** Which parts Tab reaches: those of the card that has the focus. */
  reachable(yes) {
    for (const part of this.element.querySelectorAll("button, input")) part.tabIndex = yes ? 0 : -1;
    this.element.tabIndex = yes ? 0 : -1;
  }
}
