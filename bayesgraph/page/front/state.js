// What the reader has found, asked and undone; and the address of the page, which holds it.

/**
 * @typedef {import("./backend.js").Finding} Finding
 * @typedef {import("./backend.js").Findings} Findings
 */

const MOST_UNDONE = 200, LONGEST_IN_ADDRESS = 80;

// ----------------------------------------------------------------------------------- one finding

/** Observe a state, or retract it. */
export function observed(/** @type {Finding | undefined} */ finding, k) {
  return finding?.state === k ? null : { state: k };
}

/** Exclude a state besides those that are excluded, or allow it again. */
export function excluded(/** @type {Finding | undefined} */ finding, k, n) {
  const out = new Set(finding?.not);
  if (!out.delete(k)) out.add(k);
  if (out.size === 0 || out.size === n) return null;
  return { not: [...out].sort((a, b) => a - b) };
}

/** Return the likelihood of what was found under each of `n` states. */
export function likelihoods(/** @type {Finding | undefined} */ finding, n) {
  if (finding?.weights) return finding.weights.slice();
  return Array.from({ length: n }, (_, k) => {
    if (finding?.state !== undefined) return finding.state === k ? 1 : 0;
    return finding?.not?.includes(k) ? 0 : 1;
  });
}

/** Return the finding that likelihoods are; null if they tell nothing. */
export function weighed(weights) {
  if (Math.max(...weights) <= 0) return null;
  return { weights: weights.slice() };
}

// ------------------------------------------------------------------------------------- the state

/** Findings with undo, the target and what else the reader chose; `subscribe` hears of changes. */
export class CaseState {
  /** @param {{findings: Findings, target: number | null, view: string}} given */
  constructor({ findings, target, view }) {
    this.findings = findings;
    this.target = target;
    this.view = view;
    this.selected = target;
    this.focus = null;
    this.radius = 1;
    this.pinned = null;
    this.costs = new Map();
    this.past = [];
    this.future = [];
    this.joined = null;
    this.listeners = [];
  }

  subscribe(/** @type {(what: string) => void} */ listener) {
    this.listeners.push(listener);
  }

  tell(what) {
    for (const listener of this.listeners) listener(what);
  }

  /**
   * Change one finding; null retracts it. Changes with the same `join`, as of a slider that is
   * dragged, are undone at once.
   */
  find(v, /** @type {Finding | null} */ finding, join = null) {
    const { [v]: _, ...others } = this.findings;
    this.findAll(finding ? { ...others, [v]: finding } : others, join);
  }

  findAll(/** @type {Findings} */ findings, join = null) {
    if (join === null || join !== this.joined) this.past.push(this.findings);
    if (this.past.length > MOST_UNDONE) this.past.shift();
    this.joined = join;
    this.future = [];
    this.findings = findings;
    this.tell("findings");
  }

  /** Take back the last change as if it had never been, because it cannot be. */
  refuse() {
    this.findings = this.past.pop() ?? {};
    this.joined = null;
  }

  undo() {
    if (!this.past.length) return;
    this.future.push(this.findings);
    this.findings = this.past.pop();
    this.joined = null;
    this.tell("findings");
  }

  redo() {
    if (!this.future.length) return;
    this.past.push(this.findings);
    this.findings = this.future.pop();
    this.tell("findings");
  }

  /** Choose the target, the view, the focus and so on. */
  choose(key, value) {
    if (this[key] === value) return;
    this[key] = value;
    this.tell(key);
  }
}

// ----------------------------------------------------------------------------------- the address
// #e=smoke:yes,xray!no,age=63,cough~.3~1&t=lung: states, excluded states, numbers, likelihoods.

const escaped = (text) => encodeURIComponent(text).replace(/[!~*'()]/g, (c) => (
  `%${c.charCodeAt(0).toString(16)}`));

/** Return a text that stands for one of several: itself, or @ and its place if it is ambiguous. */
function written(texts, k) {
  const text = texts[k];
  const plain = text && text.length <= LONGEST_IN_ADDRESS && texts.indexOf(text) === texts.lastIndexOf(text);
  // Half of a pair of surrogates has no code in an address.
  return plain && !/\p{Cs}/u.test(text) ? escaped(text) : `@${k}`;
}

function placeOf(texts, text) {
  try {
    const k = /^@\d+$/.test(text) ? +text.slice(1) : texts.indexOf(decodeURIComponent(text));
    return k >= 0 && k < texts.length ? k : null;
  } catch {
    return null;
  }
}

/** The number that a text is; NaN for none, or one that is not finite. */
const numberOf = (text) => (/\d/.test(text) && Number.isFinite(+text) ? +text : NaN);

/** Return the fragment of the address for a case. */
export function addressOf(model, { findings, target, view }) {
  const parts = Object.entries(findings).map(([v, finding]) => {
    const { states } = model.variables[v], name = written(model.names, Number(v));
    if (finding.state !== undefined) return `${name}:${written(states, finding.state)}`;
    if (finding.not) return name + finding.not.map((k) => `!${written(states, k)}`).join("");
    if (finding.counts) return name + Object.entries(finding.counts).map(([k, x]) => `*${k}.${x}`).join("");
    if (finding.weights) return name + finding.weights.map((x) => `~${x}`).join("");
    return `${name}=${finding.value}`;
  });
  const given = [];
  if (parts.length) given.push(`e=${parts.join(",")}`);
  if (target !== null && target !== model.target) given.push(`t=${written(model.names, target)}`);
  if (view !== model.view) given.push(`v=${view}`);
  return given.length ? `#${given.join("&")}` : "";
}

/** Return the case of a fragment; what does not fit the model is left out. */
export function caseOfAddress(model, fragment) {
  const given = new Map(fragment.replace(/^#/, "").split("&").map((part) => {
    const at = part.indexOf("=");
    return [part.slice(0, at), part.slice(at + 1)];
  }));
  const findings = {};
  for (const text of (given.get("e") ?? "").split(",")) {
    const found = findingOf(model, text);
    if (found) findings[found[0]] = found[1];
  }
  const k = placeOf(model.names, given.get("t") ?? "%"), target = model.variables[k]?.kind === "discrete" ? k : null;
  return { given: given.has("e") || given.has("t"), findings, target, view: given.get("v") ?? null };
}

function findingOf(model, text) {
  const match = /^([^:!~=*]+)([:!~=*])(.*)$/s.exec(text);
  if (!match) return null;
  const [, name, mark, rest] = match, v = placeOf(model.names, name);
  if (v === null) return null;
  const { kind, states } = model.variables[v];
  if (mark === "*") {
    const counts = Object.fromEntries(rest.split("*").map((part) => part.split(/\.(.*)/, 2).map(numberOf)));
    const fits = ([k, x]) => k >= 0 && k < model.variables[v].items.length && x >= 0;
    return kind === "counts" && Object.entries(counts).every(fits) ? [v, { counts }] : null;
  }
  if (mark === "=") {
    const value = numberOf(rest), fits = kind === "count" ? value >= 0 && value % 1 === 0 : kind === "continuous";
    return fits && Number.isFinite(value) ? [v, { value }] : null;
  }
  if (kind !== "discrete") return null;
  if (mark === "~") {
    const weights = rest.split("~").map(numberOf);
    const fits = weights.length === states.length && weights.every((x) => x >= 0);
    return fits && Math.max(...weights) > 0 ? [v, { weights }] : null;
  }
  const chosen = rest.split("!").map((state) => placeOf(states, state));
  if (chosen.includes(null)) return null;
  return [v, mark === ":" ? { state: chosen[0] } : { not: chosen }];
}
