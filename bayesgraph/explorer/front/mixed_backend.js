/**
 * Answers questions about models beyond tables; see backend.js.
 *
 * A finding about a vector of counts is {counts: {item: count}}, its posterior the probabilities of
 * its items.
 */
import { contributionsOf } from "./contributions.js";
import { flipOf } from "./flip.js";
import { informationOf } from "./information.js";
import { drawn } from "./leaves.js";
import { mixedModel } from "./mixed.js";

/** Findings as a case: a map from variable to {state}, {logs} or {value}. */
export function caseOf(findings, variables) {
  const found = new Map();
  for (const [key, finding] of Object.entries(findings)) {
    const v = Number(key), n = variables[v].states.length;
    if (finding.not) {
      found.set(v, { logs: Array.from({ length: n }, (_, k) => (finding.not.includes(k) ? -Infinity : 0)) });
    } else if (finding.weights) found.set(v, { logs: Array.from(finding.weights, Math.log) });
    else if (finding.counts) found.set(v, { value: finding.counts });
    else found.set(v, finding);
  }
  return found;
}

export class MixedBackend {
  constructor(snapshot, numbers, kernel) {
    this.snapshot = snapshot;
    this.model = mixedModel(snapshot, numbers, kernel);
    this.flips = Object.fromEntries(Object.entries(snapshot.flips).map(([v, given]) => (
      [v, given.costs ? { costs: numbers.subarray(given.costs.at, given.costs.at + given.costs.n) } : given])));
    this.verbs = new Set(["answer", "information", "contributions", "flip"]);
    if (this.model.mostProbable && snapshot.kind !== "factor graph") this.verbs.add("mostProbable");
  }

  read(findings) {
    return caseOf(findings, this.snapshot.variables);
  }

  async answer(findings) {
    const given = this.read(findings), { variables } = this.snapshot, run = this.model.run(given);
    if (!run) {
      const impossible = this.clash(given);
      return { posteriors: variables.map(() => null), logEvidence: -Infinity, impossible };
    }
    const posteriors = variables.map((variable, v) => {
      if (given.get(v)?.value !== undefined) return null;
      const p = variable.kind === "counts" ? run.shares(v) : run.belief(v);
      if (p) return { p: Array.from(p) };
      const mixture = run.number(v);
      return mixture && drawn(mixture);
    });
    return { posteriors, logEvidence: run.log, impossible: null };
  }

  /** Findings that are impossible together, none of which can be left out. */
  clash(given) {
    const left = new Map(given);
    for (const [v, finding] of given) {
      left.delete(v);
      if (this.model.run(left)) left.set(v, finding);
    }
    return [...left.keys()];
  }

  async mostProbable(findings) {
    const given = this.read(findings), found = this.model.mostProbable(given);
    if (!found) return null;
    const states = this.snapshot.variables.map((variable, v) => {
      if (variable.kind === "counts") return null;
      const value = given.get(v)?.value, mixture = found.states[v] === null && found.number(v);
      return found.states[v] ?? value ?? (mixture ? drawn(mixture).mean : null);
    });
    return { states, logProbability: found.log };
  }

  async information(findings, target) {
    return { bits: informationOf(this.model, this.read(findings), target, this.snapshot.variables.length) };
  }

  async contributions(findings, target, state) {
    if (this.model.tempered && target !== this.model.target) return null;
    return contributionsOf(this.model, this.read(findings), this.snapshot.order, target, state);
  }

  async flip(findings, target) {
    const given = this.read(findings);
    if (given.has(target)) return null;
    const pause = () => new Promise((resolve) => { setTimeout(resolve); });
    return flipOf(this.model, given, target, this.flips, this.links(given, target), { pause });
  }

  /** Sets of variables that depend on each other given the target and what is not a number of them. */
  links(given, target) {
    const { parents, kind } = this.snapshot;
    if (!parents || (kind === "weighted" && target !== this.model.target)) return null;
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
