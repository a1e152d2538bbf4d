// Exact inference on tables: programs for patterns of findings, kept and run.

import { compile, entries, FREE, HARD, prepared, SOFT } from "./compiler.js";
import { LOG_SUMS, MAXIMA, run, SMALLEST_LOG2, SUMS } from "./interpreter.js";
import { planned } from "./planner.js";

const PROGRAMS = 32, REPLAN_FROM = 2e6, PAGE = 65536, SCRATCH = 1024;

/** Start the kernel; null where the browser has no WebAssembly with SIMD. */
export function startKernel(bytes) {
  try {
    const memory = new WebAssembly.Memory({ initial: 1, maximum: 65536 });
    const module = new WebAssembly.Module(bytes);
    const { run: call } = new WebAssembly.Instance(module, { env: { memory, log: Math.log } }).exports;
    return { memory, call };
  } catch {
    return null;
  }
}

/** Arrays in memory of the kernel, or of their own. */
class Space {
  constructor(kernel) {
    this.kernel = kernel;
    this.used = SCRATCH;
  }

  /** Make sure that so many bytes are there; earlier views may be detached by this. */
  reserve(bytes) {
    const missing = bytes - this.kernel.memory.buffer.byteLength;
    if (missing > 0) this.kernel.memory.grow(Math.ceil(missing / PAGE));
  }

  array(kind, n, at) {
    return this.kernel ? new kind(this.kernel.memory.buffer, at, n) : new kind(n);
  }
}

const aligned = (bytes) => (bytes + 15) & ~15;

/** Answers questions about the product of tables. */
export class Engine {
  /**
   * @param {{cards: number[], scopes: number[][], child: number[], at: number[], sizes: number[],
   *   tree: object, logScale: number, logs?: number}} parts
   * @param {Float64Array} numbers
   * @param {{memory: WebAssembly.Memory, call: Function} | null} kernel
   */
  constructor(parts, numbers, kernel) {
    const { cards, scopes, child, tree } = parts;
    this.tree = prepared({ cards: Int32Array.from(cards), scopes, child, ...tree });
    this.base = Int32Array.from(parts.at);
    this.sizes = scopes.map((scope) => scope.reduce((n, v) => n * cards[v], 1));
    this.logScale = parts.logScale;
    this.logsAt = parts.logs;
    this.numbers = numbers;
    this.kernel = kernel;
    this.programs = new Map();
    this.logs = null;
    this.lowest = new Float64Array(scopes.length);
    this.lay(numbers);
    scopes.forEach((_, f) => this.bound(f));
  }

  /** Place what every run needs: tables, offsets, bounds. */
  lay(numbers) {
    const space = new Space(this.kernel), n = this.tree.cliques.length, f = this.base.length;
    this.space = space;
    this.at = { tables: SCRATCH };
    this.at.offsets = aligned(this.at.tables + 8 * numbers.length);
    this.at.minima = aligned(this.at.offsets + 4 * f);
    // A tree that is planned in the page has at most one clique for each variable.
    this.nBounds = Math.max(n, this.tree.cards.length);
    this.at.out = aligned(this.at.minima + 8 * this.nBounds);
    this.nOut = this.tree.cards.reduce((sum, card) => sum + card, 0) + 1;
    this.at.program = aligned(this.at.out + 8 * this.nOut);
    if (this.kernel) space.reserve(this.at.program);
    this.tables = space.array(Float64Array, numbers.length, this.at.tables);
    this.tables.set(numbers);
    this.view();
  }

  /** Make the views anew, after memory has grown. */
  view() {
    const { space, at } = this;
    if (this.kernel) this.tables = space.array(Float64Array, this.numbers.length, at.tables);
    this.offsets = space.array(Int32Array, this.base.length, at.offsets);
    this.minima = space.array(Float64Array, this.nBounds, at.minima);
    this.out = space.array(Float64Array, this.nOut, at.out);
    this.loaded = null;
  }

  /** Replace the entries of a factor, for a factor that depends on findings about numbers. */
  setTable(f, values) {
    this.tables.set(values, this.base[f]);
    this.logs = null;
    this.bound(f);
  }

  bound(f) {
    let lowest = 1;
    for (let k = this.base[f]; k < this.base[f] + this.sizes[f]; k++) {
      const x = this.tables[k];
      if (x > 0 && x < lowest) lowest = x;
    }
    this.lowest[f] = Math.log2(lowest);
  }

  /** The program for a pattern, compiled once. */
  program(kind, both, maximising) {
    const key = `${both ? 1 : 0}${maximising ? 1 : 0}${kind.join("")}`;
    let program = this.programs.get(key);
    if (program) return program;
    program = compile(this.treeFor(kind), kind, both, maximising);
    if (this.programs.size >= PROGRAMS) this.programs.delete(this.programs.keys().next().value);
    this.programs.set(key, program);
    return program;
  }

  /** The tree of the file without the observed variables, or a new one if that is much smaller. */
  treeFor(kind) {
    const sliced = entries(this.tree, kind);
    if (sliced <= REPLAN_FROM || !kind.includes(HARD)) return this.tree;
    const anew = this.planAnew(kind);
    return 2 * entries(anew, kind) < sliced ? anew : this.tree;
  }

  planAnew(kind) {
    return planned(this.tree, kind);
  }

  pattern({ hard, soft }) {
    const kind = new Uint8Array(this.tree.cards.length).fill(FREE);
    for (const v of soft.keys()) kind[v] = SOFT;
    for (const v of hard.keys()) kind[v] = HARD;
    return kind;
  }

  /** Place a program's workspace and code in memory, if it is not there. */
  load(program) {
    if (this.loaded === program) return;
    if (!this.kernel) {
      if (!this.work || this.work.length < program.size) this.work = new Float64Array(program.size);
      this.loaded = program;
      return;
    }
    const before = this.kernel.memory.buffer, code = aligned(this.at.program + 8 * program.size);
    this.space.reserve(code + 4 * program.code.length);
    if (this.kernel.memory.buffer !== before) this.view();
    this.work = this.space.array(Float64Array, program.size, this.at.program);
    this.space.array(Int32Array, program.code.length, code).set(program.code);
    this.at.code = code;
    this.loaded = program;
  }

  /** Write offsets, bounds and likelihoods for a case; return the log of what stands outside. */
  enter(program, { hard, soft, outside = 0 }, logarithmic) {
    const { tree } = program, { offsets, minima } = this;
    offsets.set(this.base);
    if (hard.size) {
      tree.scopes.forEach((scope, f) => {
        for (let k = 0; k < scope.length; k++) {
          const state = hard.get(scope[k]);
          if (state !== undefined) offsets[f] += state * tree.steps[f][k];
        }
      });
    }
    minima.fill(0);
    outside += this.logScale;
    if (!logarithmic) tree.home.forEach((c, f) => { if (c >= 0) minima[c] += this.lowest[f]; });
    for (const [v, weights] of soft) {
      if (hard.has(v)) {
        outside += Math.log(weights[hard.get(v)]);
        continue;
      }
      weights.forEach((share, state) => {
        const at = program.softAt[v] + state;
        this.work[at] = logarithmic ? Math.log(share) : share;
        if (!logarithmic && share > 0) minima[tree.leaves[v]] += Math.log2(share);
      });
    }
    for (const f of program.constant) outside += this.logOf(offsets[f]);
    return outside;
  }

  /** Whether products may be too small for numbers, by the bounds that `enter` wrote. */
  isSmall() {
    return this.minima.some((bound) => bound < SMALLEST_LOG2);
  }

  /** Logarithms of the entries of all tables. */
  logValues() {
    this.logs ??= this.logTables();
    return this.logs;
  }

  logTables() {
    const logs = this.tables.map(Math.log);
    if (this.logsAt !== undefined) {
      // Entries that are too small for numbers have their logarithms in the file.
      const n = this.sizes.reduce((a, b) => a + b, 0);
      logs.set(this.numbers.subarray(this.logsAt, this.logsAt + n), this.base[0]);
    }
    return logs;
  }

  logOf(at) {
    return this.logs ? this.logs[at] : Math.log(this.tables[at]);
  }

  /** Run a program for a case, on logarithms if numbers are too small; return the log mass. */
  execute(program, findings, algebra = SUMS) {
    this.load(program);
    let plain = algebra === SUMS;
    const outside = this.enter(program, findings, !plain);
    if (!(outside > -Infinity)) return -Infinity;
    let mass = NaN;
    if (plain && !this.isSmall()) {
      mass = this.kernel ? this.called(program) : this.interpreted(program, SUMS);
    }
    if (Number.isNaN(mass)) {
      if (plain) this.enter(program, findings, true);
      plain = false;
      this.logValues();
      mass = this.interpreted(program, algebra === MAXIMA ? MAXIMA : LOG_SUMS);
    }
    this.logarithmic = !plain;
    return mass + outside;
  }

  interpreted(program, algebra) {
    const tables = algebra === SUMS ? this.tables : this.logs;
    const { offsets, minima, work, out } = this;
    return run(program.code, tables, offsets, minima, work, out, algebra);
  }

  called(program) {
    const { at } = this, n = this.minima.length;
    const lengths = [program.code.length, n];
    return this.kernel.call(at.code, ...lengths, at.tables, at.offsets, at.minima, at.program, at.out);
  }

  /**
   * Return the log mass, and all marginals one after the other (a view until the next question).
   * @param {{hard: Map<number, number>, soft: Map<number, ArrayLike<number>>, outside?: number}} findings
   *   The largest likelihood of a variable is 1, and `outside` the log of what multiplies all.
   */
  propagate(findings) {
    const program = this.program(this.pattern(findings), true, false);
    const log = this.execute(program, findings), { out } = this, at = program.resultAt;
    for (const [v, state] of findings.hard) {
      out.fill(0, at[v], at[v + 1]);
      out[at[v] + state] = 1;
    }
    this.last = program;
    return { log, out, at };
  }

  /** Return the log mass alone. */
  logMass(findings) {
    return this.execute(this.program(this.pattern(findings), false, false), findings);
  }

  /** Return the most probable state of every variable, and the log of the product there. */
  mostProbable(findings) {
    const program = this.program(this.pattern(findings), false, true);
    const log = this.execute(program, findings, MAXIMA);
    return { states: log === -Infinity ? null : this.decode(program, findings), log };
  }

  /** Walk from the roots down, and take the best state of what leaves at each clique. */
  decode(program, { hard, soft }) {
    const { tree, parts, up } = program, states = new Int32Array(tree.cards.length).fill(-1);
    for (const [v, state] of hard) states[v] = state;
    for (let c = tree.cliques.length - 1; c >= 0; c--) {
      const own = parts[c].axes.slice(0, parts[c].leaving), terms = [];
      if (!own.length) continue;
      const add = (values, at, axes, steps) => {
        let start = at;
        axes.forEach((v, k) => { if (states[v] >= 0) start += states[v] * steps[k]; });
        const free = own.map((v) => (axes.includes(v) ? steps[axes.indexOf(v)] : 0));
        terms.push({ values, start, free });
      };
      for (const f of tree.factors[c]) {
        add(this.logs, this.offsets[f], program.tables[f].axes, program.tables[f].steps);
      }
      for (const d of tree.kids[c]) {
        const { axes, steps, leaving } = parts[d];
        if (up[d] >= 0) add(this.work, up[d], axes.slice(leaving), steps.slice(leaving));
      }
      for (const v of own) if (soft.has(v)) add(this.work, program.softAt[v], [v], [1]);
      bestOf(own, terms, tree.cards).forEach((state, k) => { states[own[k]] = state; });
    }
    return states;
  }
}

/** The first of the best joint states of some variables. */
function bestOf(own, terms, cards) {
  const state = own.map(() => 0);
  let best = state.slice(), highest = -Infinity;
  for (;;) {
    let sum = 0;
    for (const { values, start, free } of terms) {
      let at = start;
      for (let k = 0; k < own.length; k++) at += free[k] * state[k];
      sum += values[at];
    }
    if (sum > highest) {
      highest = sum;
      best = state.slice();
    }
    let k = own.length - 1;
    for (; k >= 0; k--) {
      if (++state[k] < cards[own[k]]) break;
      state[k] = 0;
    }
    if (k < 0) return best;
  }
}
