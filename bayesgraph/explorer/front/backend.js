// The one door to inference: what the views ask, and a worker carries.

import { Engine, startKernel } from "./engine.js";
import { MixedBackend } from "./mixed_backend.js";

/**
 * A finding: {state}, {not: states}, {weights: one for each state} or {value: number}.
 * @typedef {{state?: number, not?: number[], weights?: number[], value?: number}} Finding
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
  if (snapshot.locals || snapshot.members || snapshot.weighted) return new MixedBackend(snapshot, numbers, start);

  return new TableBackend(snapshot, new Engine(snapshot.engine, numbers, start()));
}

/** Answers questions about networks and factor graphs of tables. */
export class TableBackend {
  constructor(snapshot, engine) {
    this.snapshot = snapshot;
    this.engine = engine;
    this.verbs = new Set(["answer"]);
    this.logTotal = 0;
    if (snapshot.kind === "factor graph") {
      this.logTotal = engine.logMass({ hard: new Map(), soft: new Map() });
    }
  }

  /** Findings as states and likelihoods of the engine's variables. */
  read(/** @type {Findings} */ findings) {
    const hard = new Map(), soft = new Map();
    for (const [key, finding] of Object.entries(findings)) {
      const v = this.snapshot.engine.node[key], n = this.engine.tree.cards[v];
      if (finding.state !== undefined) hard.set(v, finding.state);
      else if (finding.weights) soft.set(v, finding.weights);
      else if (finding.not) {
        soft.set(v, Array.from({ length: n }, (_, k) => (finding.not.includes(k) ? 0 : 1)));
      }
    }
    return { hard, soft };
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
}
