/** Why an answer is what it is, of any model: contributions of findings, and the smallest flip. */
import { contributionsOf } from "./contributions.js";
import { flipOf } from "./flip.js";

/**
 * Findings as a case: a map from variable to {state}, {logs} or {value}. Indicators of missing values
 * are "no" if the values are found.
 */
export function caseOf(findings, variables) {
  const found = new Map();
  for (const [key, finding] of Object.entries(findings)) {
    const v = Number(key), n = variables[v].states.length;
    if (finding.not) {
      found.set(v, { logs: Array.from({ length: n }, (_, k) => (finding.not.includes(k) ? -Infinity : 0)) });
    } else if (finding.weights) found.set(v, { logs: finding.logs ?? Array.from(finding.weights, Math.log) });
    else if (finding.counts) found.set(v, { value: finding.counts });
    else found.set(v, finding);
  }
  variables.forEach(({ of }, v) => {
    if (found.has(of) && !found.has(v)) found.set(v, { state: 0 });
  });
  return found;
}

export class Explanations {
  constructor(snapshot, numbers, model) {
    this.snapshot = snapshot;
    this.model = model;
    const moves = Object.entries(snapshot.flips).map(([v, given]) => {
      const { costs } = given;
      return [v, costs ? { costs: numbers.subarray(costs.at, costs.at + costs.n) } : given];
    });
    this.moves = Object.fromEntries(moves);
    this.parents = snapshot.variables.map(() => []);
    for (const [parent, child] of snapshot.arcs) this.parents[child].push(parent);
  }

  async contributions(findings, target, state) {
    const given = caseOf(findings, this.snapshot.variables);
    const isOther = this.model.tempered && target !== this.model.target;
    if (isOther || given.get(target)?.state !== undefined) return null;
    return contributionsOf(this.model, given, this.snapshot.order, target, state);
  }

  async flip(findings, target) {
    const given = caseOf(findings, this.snapshot.variables);
    if (given.has(target)) return null;
    const turn = this.turn = (this.turn || 0) + 1;
    // A long search lets the page breathe, and gives way to a newer one.
    const pause = async () => {
      await new Promise((resolve) => { setTimeout(resolve); });
      return turn === this.turn;
    };
    return flipOf(this.model, given, target, this.moves, this.links(given, target), { pause });
  }

  /** Sets of variables that may depend on each other given the target; null if that is not known. */
  links(given, target) {
    const { parents, snapshot: { kind } } = this;
    if (kind !== "network" && (kind !== "weighted" || target !== this.model.target)) return null;
    const soft = [...given].filter(([, finding]) => finding.logs).map(([v]) => v);
    if (kind === "weighted") {
      if (soft.length) return null;
      return [...given.keys()].map((v) => [v, ...parents[v]].filter((u) => given.has(u)));
    }
    const relevant = new Set(), add = (v) => {
      if (!relevant.has(v)) {
        relevant.add(v);
        parents[v].forEach(add);
      }
    };
    [target, ...given.keys()].forEach(add);
    const links = [...relevant].map((v) => [v, ...parents[v]].filter((u) => u !== target));
    return links.filter((link) => link.length);
  }
}
