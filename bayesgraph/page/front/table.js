// All variables as a table with form controls: the way through the page without its pictures.

import { Items } from "./card.js";
import { lengthOf } from "./charts.js";
import { button, fill, h, named, own, quotable, set } from "./dom.js";
import { nats, number, percent } from "./format.js";
import { movement } from "./inspector.js";
import { likelihoods, weighed } from "./state.js";
import { WORDS } from "./words.js";

/** States up to which each has a button of its own; more are a list to choose from. */
const MOST_RADIOS = 6;
const MOST_ROWS = 200;

export class Table {
  constructor(app) {
    this.app = app;
    this.sort = "order";
    this.filter = "";
    this.rows = new Map();
    this.told = null;
    const sorts = Object.entries(WORDS.sorts).filter(([key]) => key !== "nats" || app.backend.verbs.has("information"));
    const choice = h("select", { on: { change: () => { this.sort = choice.value; this.show(app.scene); } } },
      sorts.map(([value, text]) => h("option", { value }, text)));
    this.body = h("tbody", {});
    this.columns = ["variable", "finding", "belief", "moved", ...(sorts.length === 4 ? ["nats"] : [])];
    this.left = h("p", { className: "quiet" });
    this.element = h("div", { className: "table-view", id: "table", tabIndex: -1 },
      h("p", { className: "table-tools" }, h("label", {}, `${WORDS.sort} `, choice), h("span", { className: "quiet" }, WORDS.table_note)),
      h("table", { "aria-label": WORDS.table_label },
        h("thead", {}, h("tr", {}, this.columns.map((key) => h("th", { scope: "col" }, WORDS.column[key])))), this.body), this.left);
  }

  search(text) {
    this.filter = text.toLowerCase();
    if (this.app.scene) this.show(this.app.scene);
  }

  goTo(v) {
    const { element } = this.rows.get(v) ?? {};
    element?.querySelector("input, select, textarea").focus();
  }

  async show(scene) {
    this.draw(scene);
    if (scene.target === null || !this.columns.includes("nats")) return;
    const { nats: told } = await this.app.ask("information", scene.findings, scene.target);
    if (scene !== this.app.scene) return;
    this.told = told;
    this.draw(scene);
  }

  draw(scene) {
    const { model } = this.app, told = this.told ?? [];
    const moved = model.variables.map((_, v) => movement(scene.answer.posteriors[v], scene.base.posteriors[v]));
    const key = { name: null, order: (v) => v, moved: (v) => -moved[v], nats: (v) => -(told[v] ?? 0) }[this.sort];
    const found = model.variables.map((_, v) => v).filter((v) => model.names[v].toLowerCase().includes(this.filter));
    found.sort((a, b) => (key ? key(a) - key(b) || a - b : model.names[a].localeCompare(model.names[b])));
    const shown = found.slice(0, MOST_ROWS).map((v) => {
      if (!this.rows.has(v)) this.rows.set(v, new TableRow(this.app, v, this.columns.length === 5));
      const row = this.rows.get(v);
      row.show(scene, moved[v], told[v]);
      return row.element;
    });
    const isSame = shown.length === this.body.children.length && shown.every((row, k) => row === this.body.children[k]);
    if (!isSame) this.reorder(shown);
    set(this.left, "textContent", found.length > shown.length ? WORDS.cut_short(shown.length, found.length)
      : found.length ? "" : WORDS.nothing_found);
  }

  /** Put rows in another order, and the focus where it was. */
  reorder(shown) {
    const { activeElement } = document, isInside = this.body.contains(activeElement);
    fill(this.body, shown);
    if (isInside) activeElement.focus({ preventScroll: true });
  }
}

class TableRow {
  constructor(app, v, hasNats) {
    this.app = app;
    this.v = v;
    this.variable = app.model.variables[v];
    this.belief = h("td", { className: "belief" });
    this.moved = h("td", { className: "figure", data: { label: WORDS.column.moved } });
    this.nats = hasNats ? h("td", { className: "figure", data: { label: WORDS.column.nats } }) : null;
    const name = named(this.variable.name);
    this.mark = h("span", { className: "quiet" });
    this.element = h("tr", { data: { v } },
      h("th", { scope: "row" }, h("button", { type: "button", className: "link", on: { click: () => app.inspect(v) } }, name), " ", this.mark),
      h("td", {}, this.control()),
      this.belief, this.moved, this.nats);
  }

  control() {
    const { kind } = this.variable;
    if (kind === "discrete") return this.states();
    if (kind !== "counts") return this.value();
    this.items = new Items(this.app, this.v);
    return this.items.element;
  }

  states() {
    const { v, app, variable } = this, { states } = variable, legend = h("legend", { className: "unseen" }, quotable(variable.name));
    const choose = (k) => app.state.find(v, k < 0 ? null : { state: k });
    this.choices = null;
    let control;
    if (states.length <= MOST_RADIOS) {
      const choice = (k, text) => {
        const input = h("input", { type: "radio", name: `variable-${v}`, value: k, on: { change: () => choose(k) } });
        return { input, label: h("label", {}, input, " ", text) };
      };
      this.choices = [choice(-1, WORDS.not_observed), ...states.map((state, k) => choice(k, own(state)))];
      control = this.choices.map(({ label }) => label);
    } else {
      this.list = h("select", { "aria-label": quotable(variable.name), on: { change: () => choose(Number(this.list.value)) } },
        h("option", { value: -1 }, WORDS.not_observed), states.map((state, k) => h("option", { value: k }, quotable(state))));
      control = this.list;
    }
    const weights = h("details", { className: "weights", on: { toggle: () => weights.open && this.openWeights(weights) } },
      h("summary", {}, WORDS.weights));
    return h("fieldset", {}, legend, control, weights);
  }

  openWeights(place) {
    const { v, app, variable } = this, { states } = variable;
    this.weights ??= states.map((state, k) => h("input", {
      type: "number", min: 0, step: "any", "aria-label": WORDS.likelihood_of(quotable(state)),
      on: { change: (event) => {
        const weights = likelihoods(app.state.findings[v], states.length);
        weights[k] = Math.max(0, Number(event.target.value));
        const found = weighed(weights);
        if (found) app.state.find(v, weights.every((x) => x === weights[0]) ? null : found);
        else event.target.value = weights[k] = 1;
      } },
    }));
    this.showWeights();
    if (place.children.length === 1) {
      place.append(h("div", { className: "weight-list" }, states.map((state, k) => h("label", {}, own(state), " ", this.weights[k]))));
    }
  }

  showWeights() {
    const now = likelihoods(this.app.state.findings[this.v], this.variable.states.length);
    this.weights.forEach((input, k) => { if (document.activeElement !== input) input.value = now[k]; });
  }

  value() {
    const { v, app, variable } = this;
    this.typed = h("input", {
      type: "number", step: variable.kind === "count" ? 1 : "any", "aria-label": WORDS.value_of(quotable(variable.name)),
      placeholder: WORDS.not_observed,
      on: { change: () => app.state.find(v, this.typed.value === "" ? null : { value: Number(this.typed.value) }) },
    });
    this.clear = button("✕", () => app.state.find(v, null), { className: "clear", "aria-label": `${WORDS.retract}: ${quotable(variable.name)}` });
    return h("span", { className: "value" }, this.typed, variable.unit && h("span", { className: "unit" }, variable.unit), this.clear);
  }

  show({ answer, findings, target }, moved, told) {
    this.items?.show({ findings });
    const { v, variable } = this, finding = findings[v], now = answer.posteriors[v];
    set(this.mark, "textContent", v === target ? WORDS.target.toLowerCase() : "");
    this.element.classList.toggle("found", Boolean(finding));
    if (this.choices) {
      this.choices.forEach(({ input, label }, i) => {
        input.checked = i === 0 ? !finding : finding?.state === i - 1;
        label.className = i > 0 && finding?.not?.includes(i - 1) ? "out" : "";
      });
    } else if (this.list) this.list.value = finding?.state ?? -1;
    if (this.weights) this.showWeights();
    if (this.typed) {
      if (document.activeElement !== this.typed) this.typed.value = finding?.value ?? "";
      this.clear.hidden = !finding;
    }
    this.showBelief(variable, now);
    set(this.moved, "textContent", moved > 1e-9 ? percent(moved) : "");
    if (this.nats) set(this.nats, "textContent", told > 1e-9 && v !== target ? nats(told) : "");
  }

  showBelief({ states }, now) {
    if (!now) {
      fill(this.belief);
      return;
    }
    if (!now.p) {
      fill(this.belief, now.sd > 0 ? WORDS.mean(number(now.mean, 4 * now.sd), number(now.sd, 4 * now.sd)) : number(now.mean));
      return;
    }
    const order = Array.from(now.p.keys());
    if (order.length > MOST_RADIOS) order.sort((a, b) => now.p[b] - now.p[a]).length = 3;
    fill(this.belief, order.map((k) => h("span", { className: "belief-line" }, own(states[k]),
      h("span", { className: "track", "aria-hidden": "true" }, h("i", { className: "bar", style: { "background-size": lengthOf(now.p[k]) } })),
      h("span", { className: "share" }, percent(now.p[k])))));
  }
}
