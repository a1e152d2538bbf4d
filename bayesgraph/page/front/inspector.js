// Panels of answers, beside the network and beside the classifier; closed ones ask nothing.

import { barList, heatTable, pairs, waterfall } from "./charts.js";
import { States, findingKind } from "./card.js";
import { button, fill, h, named, own, quotable } from "./dom.js";
import { nats, exactly, number, oneIn, percent, signed } from "./format.js";
import { WORDS } from "./words.js";

const MOST_LISTED = 7, MOST_GIVEN = 40;

/**
 * A panel: a title that opens and closes, and a body made anew for each answer.
 * @typedef {object} PanelCard
 * @property {string} key
 * @property {string} title
 * @property {boolean} [open]
 * @property {string} [verb] what the backend must know
 * @property {(scene: any) => any} needs whether there is something to show
 * @property {(app: any, scene: any) => any} draw children, or a promise of them
 */
class Panel {
  constructor(app, card) {
    this.app = app;
    this.card = card;
    this.body = h("div", { className: "panel-body" });
    this.title = h("summary", {}, card.title);
    this.element = h("details", {
      className: `panel panel-${card.key}`, open: card.open ?? true,
      on: { toggle: () => this.element.open && this.show(app.scene) },
    }, this.title, this.body);
    this.drawn = null;
  }

  async show(scene) {
    if (!scene) return;
    const { card, app } = this, isNeeded = card.needs?.(scene, app) ?? true;
    this.element.hidden = !isNeeded;
    if (!isNeeded || !this.element.open || this.drawn === scene.key) return;
    this.drawn = scene.key;
    try {
      const children = await card.draw(app, scene);
      if (this.drawn === scene.key) this.replace(children);
    } catch (error) {
      if (this.drawn === scene.key) fill(this.body, h("p", { className: "quiet" }, `${WORDS.failed} ${error.message}`));
    }
  }

  /** Put other children in place, and the focus where it was. */
  replace(children) {
    const { v, k } = this.body.contains(document.activeElement) ? document.activeElement.dataset : {};
    fill(this.body, children);
    if (v !== undefined) this.body.querySelector(`[data-v="${v}"][data-k="${k}"]`)?.focus({ preventScroll: true });
  }

  /** Draw again at the next occasion, although the findings are the same. */
  forget() {
    this.drawn = null;
  }
}

const hasTarget = ({ target }) => target !== null;
const hasFindings = ({ findings }) => Object.keys(findings).length > 0;
const isFree = (findings, v) => ["state", "value", "counts"].every((key) => findings[v]?.[key] === undefined);
const canTurn = (scene) => hasTarget(scene) && isFree(scene.findings, scene.target) && hasFindings(scene);

/** Return the state whose odds the page explains: the second of two, else the most probable. */
function oddsState(app, { answer, target }) {
  const { p } = answer.posteriors[target];
  if (app.state.odds !== undefined && app.state.odds < p.length && p.length > 2) return app.state.odds;
  return p.length === 2 ? 1 : p.indexOf(Math.max(...p));
}

/** Return a finding as children of an element: "= yes", "≠ no", likelihoods, "= 63". */
export function findingText(variable, finding) {
  const { states } = variable;
  if (finding.state !== undefined) return ["= ", own(states[finding.state])];
  if (finding.not) return ["≠ ", finding.not.map((k, i) => [i ? ", " : "", own(states[k])])];
  if (finding.weights) return `${WORDS.likelihoods} ${finding.weights.map((x) => number(x)).join(" : ")}`;
  if (finding.counts) return WORDS.items(Object.keys(finding.counts).length);
  return `= ${number(finding.value, spanOf(variable))}`;
}

/** Return what was found as a value, without a sign before it. */
function valueText(variable, finding) {
  if (finding.state !== undefined) return own(variable.states[finding.state]);
  return finding.value === undefined ? findingText(variable, finding) : number(finding.value, spanOf(variable));
}

const spanOf = ({ range }) => (range ? range[1] - range[0] : NaN);

/** How far a posterior moved, from 0 to 1: total variation, or the distance of Hellinger. */
export function movement(now, before) {
  if (!now || !before) return 0;
  if (now.p) return now.p.reduce((sum, p, k) => sum + Math.abs(p - before.p[k]), 0) / 2;
  if (!(now.sd > 0 && before.sd > 0)) return 0;
  const sum = now.sd ** 2 + before.sd ** 2;
  const overlap = Math.sqrt((2 * now.sd * before.sd) / sum) * Math.exp(-((now.mean - before.mean) ** 2) / (4 * sum));
  return Math.sqrt(Math.max(0, 1 - overlap));
}

/** Return variables and how far each moved, the furthest first, without those observed. */
function movements({ answer, base, findings }) {
  return answer.posteriors.map((now, v) => ({ v, moved: isFree(findings, v) ? movement(now, base.posteriors[v]) : 0 }))
    .filter(({ moved }) => moved > 1e-9)
    .sort((a, b) => b.moved - a.moved);
}

// --------------------------------------------------------------------------------------- panels

const TARGET_PANEL = {
  key: "target",
  title: WORDS.target,
  draw(app, { target, ...scene }) {
    if (target === null) return h("p", { className: "quiet" }, WORDS.no_target);
    const states = new States(app, target, 60);
    states.show(scene);
    states.write();
    for (const row of states.rows) row.button.tabIndex = 0;
    return [h("h3", {}, named(app.model.names[target])), h("div", { className: "card-like" }, states.element)];
  },
};

const FINDINGS_PANEL = {
  key: "findings",
  title: WORDS.findings,
  draw(app, { findings }) {
    const all = Object.entries(findings).map(([v, finding]) => [Number(v), finding]);
    if (!all.length) return h("p", { className: "quiet" }, WORDS.no_findings);
    const far = all.map(([v, { value }]) => ({ ...app.model.variables[v], value }))
      .filter(({ value, limits }) => limits && (value < limits[0] || value > limits[1]));
    return [h("ul", { className: "chips" }, all.map(([v, finding]) => {
      const variable = app.model.variables[v], name = quotable(variable.name);
      return h("li", { className: `chip ${findingKind(finding)}` },
        h("button", { type: "button", className: "link", on: { click: () => app.inspect(v) } }, named(variable.name)),
        h("span", { className: "chip-text" }, findingText(variable, finding)),
        button("✕", () => app.state.find(v, null), { className: "clear", title: WORDS.retract, "aria-label": `${WORDS.retract}: ${name}` }));
    })), far.length > 0 && h("p", { className: "far", role: "status" }, `${WORDS.far_outside} `,
      far.map(({ name, value, limits: [, , low, high] }, k) => [k ? ", " : "", named(name),
        ` = ${number(value)} ${WORDS.usual(number(low), number(high))}`]), `. ${WORDS.is_a_guess}`)];
  },
};

const TOGETHER_PANEL = {
  key: "together",
  title: WORDS.together,
  needs: (scene) => hasFindings(scene) && Number.isFinite(scene.answer.logEvidence),
  async draw(app, { findings, answer }) {
    const isDensity = Object.keys(findings).some((v) => app.model.variables[v].kind === "continuous");
    const { logEvidence } = answer, shown = logEvidence > Math.log(0.1) ? oneIn(logEvidence) : WORDS.one_in(oneIn(logEvidence));
    const rows = [isDensity ? [WORDS.density, number(logEvidence)] : [WORDS.probability, shown, null, exactly(Math.exp(logEvidence))]];
    const isTold = app.backend.verbs.has("conflict") && Object.keys(findings).length > 1;
    const conflict = isTold ? await app.ask("conflict", findings) : null;
    if (conflict !== null) {
      const word = conflict > 0 ? WORDS.at_odds : WORDS.in_line;
      rows.push([WORDS.conflict, `${signed(conflict)}, ${word}`, null, WORDS.conflict_title]);
    }
    return pairs(rows);
  },
};

const MOVED_PANEL = {
  key: "moved",
  title: WORDS.moved,
  needs: (scene) => movements(scene).length > 0,
  draw(app, scene) {
    return pairs(movements(scene).slice(0, MOST_LISTED).map(({ v }) => {
      const { name, states, items = states } = app.model.variables[v], now = scene.answer.posteriors[v], before = scene.base.posteriors[v];
      const go = () => app.inspect(v);
      if (!now.p) {
        const span = 4 * before.sd;
        return [named(name), WORDS.change(number(before.mean, span), number(now.mean, span)), go];
      }
      const gain = now.p.map((p, k) => p - before.p[k]), k = gain.indexOf(Math.max(...gain));
      return [[named(name), " = ", own(items[k])], WORDS.change(percent(before.p[k]), percent(now.p[k])), go];
    }));
  },
};

const ASK_NEXT_PANEL = {
  key: "ask",
  title: WORDS.ask_next,
  verb: "information",
  needs: hasTarget,
  async draw(app, { findings, target }) {
    const { nats: told } = await app.ask("information", findings, target);
    const { costs } = app.state, isPriced = costs.size > 0;
    const found = told.map((value, v) => ({ v, value: (value ?? 0) / (costs.get(v) ?? 1) }))
      .filter(({ v, value }) => v !== target && isFree(findings, v) && value > 1e-9)
      .sort((a, b) => b.value - a.value);
    if (!found.length) return h("p", { className: "quiet" }, WORDS.nothing_tells);
    const price = (v) => app.state.showsCosts && h("input", {
      type: "number", className: "cost", min: 0.01, step: "any", value: costs.get(v) ?? 1,
      "aria-label": WORDS.cost_of(quotable(app.model.names[v])),
      on: { change: (event) => app.price(v, Number(event.target.value)) },
    });
    const list = barList(found.slice(0, MOST_LISTED).map(({ v, value }) => ({
      name: app.model.names[v], value, text: nats(value), press: () => app.inspect(v), extra: price(v),
    })));
    list.classList.toggle("priced", Boolean(app.state.showsCosts));
    return [list, h("p", { className: "quiet" }, isPriced ? WORDS.per_cost : WORDS.ask_next_note, " ",
      button(WORDS.costs, () => app.toggleCosts(), { className: "link", "aria-pressed": String(Boolean(app.state.showsCosts)) }))];
  },
};

/** Return the waterfall of the target, with a choice of the state if there are more than two. */
async function drawnWhy(app, scene) {
  const { findings, target } = scene, { states } = app.model.variables[target], state = oddsState(app, scene);
  const found = await app.ask("contributions", findings, target, state);
  const label = ({ variable: v, item }) => {
    const { items } = app.model.variables[v];
    if (item !== undefined) return [own(items[item]), ` × ${findings[v].counts[item] ?? 0}`];
    return [named(app.model.names[v]), " ", findingText(app.model.variables[v], findings[v])];
  };
  const terms = found.terms.map((term) => ({ value: term.value, label: label(term) }));
  const isTwo = states.length === 2;
  const tone = (isFor) => (isTwo ? `class-${isFor ? 0 : 1}` : isFor ? `class-${app.tone(target, state)}` : "against");
  const rest = isTwo ? quotable(states[0]) : WORDS.the_rest;
  const choice = !isTwo && h("label", { className: "choice" }, `${WORDS.odds_of} `, h("select", {
    on: { change: (event) => app.explain(Number(event.target.value)) },
  }, states.map((text, k) => h("option", { value: k, selected: k === state }, quotable(text)))));
  return [h("p", { className: "quiet" }, WORDS.why_note(quotable(states[state]), rest)), choice,
    waterfall({ ...found, terms }, tone)];
}

const WHY_PANEL = {
  key: "why",
  title: WORDS.why,
  verb: "contributions",
  // The classifier of a weighted network explains its class only.
  needs: (scene, { model }) => canTurn(scene) && (model.kind !== "weighted" || scene.target === model.target),
  draw: drawnWhy,
};

const FLIP_PANEL = {
  key: "flip",
  title: WORDS.flip_title,
  verb: "flip",
  needs: canTurn,
  async draw(app, { findings, target }) {
    const found = await app.ask("flip", findings, target);
    if (found?.to == null) return h("p", { className: "quiet" }, WORDS.no_flip);
    const rows = Object.entries(found.changes).map(([v, finding]) => {
      const variable = app.model.variables[v], before = findings[v];
      return [named(variable.name), [before ? valueText(variable, before) : WORDS.not_observed, " → ", valueText(variable, finding)],
        () => app.inspect(Number(v))];
    });
    return [pairs(rows), h("p", {}, `${WORDS.then} `, own(app.model.variables[target].states[found.to]), ` ${percent(found.probability)} `,
      button(WORDS.try_it, () => app.state.findAll({ ...findings, ...found.changes }), { className: "press" })),
    found.proved ? null : h("p", { className: "quiet" }, WORDS.not_proved)];
  },
};

const REST_PANEL = {
  key: "rest",
  title: WORDS.most_probable,
  verb: "mostProbable",
  open: false,
  async draw(app, { findings, answer }) {
    const found = await app.ask("mostProbable", findings), free = [];
    found.states.forEach((value, v) => { if (value !== null && isFree(findings, v)) free.push([v, value]); });
    const isDensity = free.some(([v]) => app.model.variables[v].kind === "continuous");
    const share = Math.exp(found.logProbability - answer.logEvidence);
    return [isDensity ? null : h("p", { className: "quiet" }, WORDS.most_probable_note(percent(Math.min(1, share)))),
      h("div", { className: "long" }, pairs(free.map(([v, value]) => {
        const { name, states, kind } = app.model.variables[v];
        return [named(name), kind === "discrete" ? own(states[value]) : number(value), () => app.inspect(v)];
      })))];
  },
};

const SENSITIVITY_PANEL = {
  key: "sensitivity",
  title: WORDS.sensitivity,
  verb: "sensitivity",
  open: false,
  needs: (scene) => hasTarget(scene) && isFree(scene.findings, scene.target),
  async draw(app, scene) {
    const found = await app.ask("sensitivity", scene.findings, scene.target, oddsState(app, scene));
    return [h("p", { className: "quiet" }, WORDS.sensitivity_note),
      pairs(found.slice(0, MOST_LISTED).map(({ variable, parents, state, derivative, value }) => {
        const { name, states } = app.model.variables[variable];
        const given = app.model.parents[variable].map((u, k) => [k ? ", " : " | ", named(app.model.names[u]), " = ", own(app.model.variables[u].states[parents[k]])]);
        return [[named(name), " = ", own(states[state]), given], signed(derivative), () => app.inspect(variable), percent(value)];
      }))];
  },
};

const SELECTED_PANEL = {
  key: "selected",
  title: WORDS.selected,
  needs: (_, app) => app.state.selected !== null,
  async draw(app, scene) {
    const v = app.state.selected, variable = app.model.variables[v];
    const children = [h("h3", {}, named(variable.name))];
    if (variable.kind === "discrete" && v !== scene.target) {
      const states = new States(app, v, 400);
      states.show(scene);
      states.write();
      for (const row of states.rows) row.button.tabIndex = 0;
      children.push(h("div", { className: "card-like long" }, states.element));
    }
    children.push(h("p", { className: "tools" },
      variable.kind === "discrete" && v !== scene.target && button(WORDS.make_target, () => app.state.choose("target", v), { className: "press" }),
      app.model.arcs.length > 0 && button(WORDS.focus, () => app.focus(v), { className: "press" })));
    if (app.model.hasArcs) children.push(await distribution(app, v));
    return children;
  },
};

/** The local distribution of a variable: the page's answers given each joint state of its parents. */
async function distribution(app, v) {
  const { variables, parents } = app.model, above = parents[v], { states, kind } = variables[v];
  if (above.some((u) => variables[u].kind !== "discrete")) return null;
  let n = above.reduce((product, u) => product * variables[u].states.length, 1);
  const shown = Math.min(n, MOST_GIVEN), rows = [];
  for (let row = 0; row < shown; row++) {
    const findings = {}, given = [];
    let code = row;
    for (const u of above.slice().reverse()) {
      const { states: values } = variables[u];
      findings[u] = { state: code % values.length };
      given.unshift(values[code % values.length]);
      code = Math.floor(code / values.length);
    }
    const { posteriors, impossible } = await app.ask("answer", findings, null);
    const found = impossible ? null : posteriors[v];
    const text = found?.mean === undefined ? "–" : WORDS.mean(number(found.mean, 4 * found.sd), number(found.sd, 4 * found.sd));
    rows.push({ given, p: kind === "discrete" ? found?.p ?? states.map(() => "–") : [text] });
  }
  n -= shown;
  const header = [...above.map((u) => ({ text: named(variables[u].name), given: true })),
    ...(kind === "discrete" ? states.map((text) => ({ text: own(text) })) : [{ text: "" }])];
  return [heatTable(header, rows), n > 0 && h("p", { className: "quiet" }, WORDS.rows_left_out(n)),
    h("p", { className: "quiet" }, above.length ? WORDS.distribution_note : WORDS.distribution_alone)];
}

const PANELS = {
  TARGET: TARGET_PANEL,
  FINDINGS: FINDINGS_PANEL,
  TOGETHER: TOGETHER_PANEL,
  MOVED: MOVED_PANEL,
  ASK_NEXT: ASK_NEXT_PANEL,
  WHY: WHY_PANEL,
  FLIP: FLIP_PANEL,
  REST: REST_PANEL,
  SENSITIVITY: SENSITIVITY_PANEL,
  SELECTED: SELECTED_PANEL,
};

/** Make panels, but none that the backend cannot answer. */
export function panelsOf(app, keys) {
  return keys.map((key) => PANELS[key])
    .filter(({ verb }) => !verb || app.backend.verbs.has(verb))
    .map((card) => new Panel(app, card));
}

/** The column beside the network and the table. */
export class Inspector {
  constructor(app) {
    this.panels = panelsOf(app, ["TARGET", "FINDINGS", "TOGETHER", "SELECTED", "MOVED", "ASK_NEXT", "WHY", "FLIP", "REST", "SENSITIVITY"]);
    this.element = h("aside", { "aria-label": WORDS.findings }, this.panels.map((panel) => panel.element));
  }

  show(scene) {
    for (const panel of this.panels) panel.show(scene);
  }
}
