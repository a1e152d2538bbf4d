/**
 * Answers questions about models beyond tables; see backend.js.
 *
 * A finding about a vector of counts is {counts: {item: count}}, its posterior the probabilities of
 * its items.
 */
import { caseOf, Explanations } from "./explanations.js";
import { informationOf } from "./information.js";
import { drawn } from "./leaves.js";
import { mixedModel } from "./mixed.js";

export class MixedBackend {
  constructor(snapshot, numbers, kernel) {
    this.snapshot = snapshot;
    this.model = mixedModel(snapshot, numbers, kernel);
    this.explanations = new Explanations(snapshot, numbers, this.model);
    this.verbs = new Set(snapshot.verbs);
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
    return { nats: informationOf(this.model, this.read(findings), target, this.snapshot.variables.length) };
  }

  async contributions(findings, target, state) {
    return this.explanations.contributions(findings, target, state);
  }

  async flip(findings, target) {
    return this.explanations.flip(findings, target);
  }
}
