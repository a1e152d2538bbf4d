// The one door to inference: what the views ask, and a worker carries.

import { Engine, startKernel } from "./engine.js";
import { caseOf, Explanations } from "./explanations.js";
import { MixedNetwork } from "./mixed.js";
import { MixedBackend } from "./mixed_backend.js";
import { conflict, information, slopes } from "./questions.js";

/**
 * A finding: {state}, {not: states}, {weights: one for each state} or {value: number}. Weights that are
 * too small for numbers have their `logs` too.
 * @typedef {{state?: number, not?: number[], weights?: number[], logs?: number[], value?: number}} Finding
 * @typedef {Object<number, Finding>} Findings
 */

/**
 * Return what answers questions about a snapshot.
 * @param {object} snapshot
 * @param {Float64Array} numbers
 * @param {{wasm?: boolean, kernel?: Uint8Array}} options `kernel` is the WebAssembly module
 */
export async function createBackend(snapshot, numbers, { wasm = true, kernel = null } = {}) {
  const start = () => (wasm && kernel?.length ? startKernel(kernel) : null);
  if (snapshot.locals || snapshot.members) return new MixedBackend(snapshot, numbers, start);
  const engine = new Engine(snapshot.engine, numbers, start()), { node } = snapshot.engine;
  const model = new MixedNetwork({ node, locals: [] }, numbers, engine);
  return new TableBackend(snapshot, engine, new Explanations(snapshot, numbers, model));
}

/** Answers questions about networks and factor graphs of tables. */
export class TableBackend {
  constructor(snapshot, engine, explanations) {
    this.snapshot = snapshot;
    this.engine = engine;
    this.explanations = explanations;
    this.verbs = new Set(snapshot.verbs);
    this.logTotal = 0;
    if (snapshot.kind === "factor graph") {
      this.logTotal = engine.logMass({ hard: new Map(), soft: new Map() });
    }
  }

  /** Findings as states and likelihoods of the engine's variables. */
  read(/** @type {Findings} */ findings) {
    return this.explanations.model.enter(caseOf(findings, this.snapshot.variables));
  }

  async answer(findings) {
    const { log, out, at } = this.engine.propagate(this.read(findings));
    if (log === -Infinity) {
      const impossible = this.clash(findings);
      return { posteriors: this.snapshot.variables.map(() => null), logEvidence: log, impossible };
    }
    const posteriors = this.snapshot.variables.map((_, k) => {
      const v = this.snapshot.engine.node[k];
      return { p: Array.from(out.subarray(at[v], at[v + 1])) };
    });
    return { posteriors, logEvidence: log - this.logTotal, impossible: null };
  }

  /** Findings that are impossible together, none of which can be left out. */
  clash(findings) {
    const left = { ...findings };
    for (const key of Object.keys(findings)) {
      const { [key]: _, ...others } = left;
      if (this.engine.logMass(this.read(others)) === -Infinity) delete left[key];
    }
    return Object.keys(left).map(Number);
  }

  async mostProbable(findings) {
    const { states, log } = this.engine.mostProbable(this.read(findings));
    const { node } = this.snapshot.engine;
    return { states: states && node.map((v) => states[v]), logProbability: log };
  }

  async information(findings, target) {
    const { node } = this.snapshot.engine, nats = information(this.engine, this.read(findings), node[target]);
    return { nats: node.map((v) => (nats ? nats[v] : null)) };
  }

  async contributions(findings, target, state) {
    return this.explanations.contributions(findings, target, state);
  }

  async flip(findings, target) {
    return this.explanations.flip(findings, target);
  }

  async conflict(findings) {
    return conflict(this.engine, this.read(findings));
  }

  /** Entries of tables, those with the largest derivatives first; `most` of them. */
  async sensitivity(findings, target, state, most = 100) {
    const { node, scopes } = this.snapshot.engine, { cards } = this.engine.tree;
    const given = this.read(findings);
    if (given.hard.has(node[target])) return [];
    const found = slopes(this.engine, given, node[target], state) ?? [], all = [];
    found.forEach((table, f) => {
      table.derivatives.forEach((derivative, entry) => all.push({ f, entry, derivative }));
    });
    all.sort((a, b) => Math.abs(b.derivative) - Math.abs(a.derivative));
    return all.slice(0, most).map(({ f, entry, derivative }) => {
      const states = statesAt(entry, scopes[f], cards), variable = node.indexOf(scopes[f].at(-1));
      const value = found[f].values[entry];
      return { variable, parents: states.slice(0, -1), state: states.at(-1), derivative, value };
    });
  }
}

/** The states that an entry of a table is for. */
function statesAt(entry, scope, cards) {
  const states = [];
  let left = entry;
  for (let k = scope.length - 1; k >= 0; k--) {
    states.unshift(left % cards[scope[k]]);
    left = Math.floor(left / cards[scope[k]]);
  }
  return states;
}
