/**
 * Models beyond tables: networks with numbers, trees and counts, weighted networks, mixtures and
 * averages. All of them answer alike:
 *
 * @typedef {Object} Case  Map from variable to {state}, {logs} (log likelihoods) or {value}.
 * @typedef {Object} Run  What is known given a case.
 * @property {number|null} log  Log probability of the case; null if the model has none.
 * @property {(v: number) => ArrayLike<number>|null} belief  Of a discrete variable.
 * @property {(v: number) => import("./leaves.js").Mixture|null} number
 * @property {(v: number) => ArrayLike<number>|null} shares  Of the items of a vector of counts.
 *
 * `run(case)` gives a Run, or null for an impossible case; `logScores(case, target)` gives
 * log P(target = state, case) for each state, perhaps up to a constant; `joint` tells whether the
 * model is one distribution of all its variables.
 */
import { Engine } from "./engine.js";
import { gaussianComponent } from "./gaussian.js";
import { itemsLeaf, joinedMixture, numberLeaf } from "./leaves.js";
import { sumOf, treesLocal } from "./trees.js";

const LOCALS = {
  number: numberLeaf, items: itemsLeaf, gaussian: gaussianComponent, trees: treesLocal,
};

/** Replace references {at, n} to the numbers by arrays. */
function resolved(given, numbers) {
  if (!given || typeof given !== "object") return given;
  if (Array.isArray(given)) return given.map((part) => resolved(part, numbers));
  if (Object.keys(given).length === 2 && "at" in given && "n" in given) {
    return numbers.subarray(given.at, given.at + given.n);
  }
  return Object.fromEntries(Object.entries(given).map(([key, part]) => [key, resolved(part, numbers)]));
}

export function logSumExp(logs) {
  const peak = logs.reduce((a, b) => Math.max(a, b), -Infinity);
  return peak === -Infinity ? peak : peak + Math.log(sumOf(logs.map((x) => Math.exp(x - peak))));
}

/** Probabilities in proportion to the exponentials of logs; null if all are zero. */
export function fromLogs(logs) {
  const total = logSumExp(logs);
  return total === -Infinity ? null : logs.map((x) => Math.exp(x - total));
}

const ones = (n) => new Float64Array(n).fill(1);

/** A case without some of its findings, or with others. */
export function caseWith(given, changes) {
  const found = new Map(given);
  for (const [v, finding] of changes) finding ? found.set(v, finding) : found.delete(v);
  return found;
}

/** Log likelihoods of a finding about a discrete variable. */
export function logsOf(finding, n) {
  if (!finding) return new Array(n).fill(0);
  return finding.logs || Array.from({ length: n }, (_, k) => (k === finding.state ? 0 : -Infinity));
}

// ------------------------------------------------------------------------------------- networks

/** A product of tables, of leaves, Gaussian components and trees. */
export class MixedNetwork {
  /**
   * @param {{node: number[], locals: object[]}} parts  `node` has the engine's variable of each.
   * @param {Float64Array} numbers
   * @param {Engine} engine
   */
  constructor(parts, numbers, engine) {
    this.joint = true;
    this.engine = engine;
    this.node = parts.node;
    this.cards = this.node.map((v) => (v < 0 ? 0 : engine.tree.cards[v]));
    this.locals = parts.locals.map((given) => {
      const size = given.scope.reduce((n, v) => n * this.cards[v], 1);
      const steps = given.scope.map((_, k) =>
        given.scope.slice(k + 1).reduce((n, v) => n * this.cards[v], 1));
      const cards = given.scope.map((v) => this.cards[v]), card = this.cards[given.child];
      const local = LOCALS[given.type]({ ...resolved(given, numbers), cells: size, steps, cards, card });
      return { ...local, size, steps, factor: given.factor, below: given.below || [] };
    });
    /** The local part that has the posterior of a variable. */
    this.owner = new Map();
    this.locals.forEach((local, k) => {
      for (const v of [...local.children, ...(local.parents || [])]) {
        if (!this.owner.has(v)) this.owner.set(v, k);
      }
    });
    this.written = new Set();
  }

  /** Findings as the engine takes them, with what the local parts make of theirs. */
  enter(given) {
    const hard = new Map(), logs = new Map();
    for (const [v, finding] of given) {
      if (this.node[v] < 0 || this.owner.has(v)) continue;
      if (finding.state !== undefined) hard.set(v, finding.state);
      else logs.set(v, Array.from(finding.logs));
    }
    const findings = {
      value: (v) => given.get(v)?.value,
      weights: (v) => (given.has(v) ? logsOf(given.get(v), this.cards[v]).map(Math.exp) : null),
    };
    let outside = 0;
    const ready = this.locals.map((local) => {
      const free = local.scope.filter((v) => !hard.has(v)), cells = cellsOf(local, hard, this.cards);
      const found = { ...local.prepare(findings, cells), free, cells };
      if (found.logs && free.length > 1) outside += this.write(local, cells, found.logs);
      else {
        if (this.written.delete(local)) this.engine.setTable(local.factor, ones(local.size));
        if (found.logs && !free.length) outside += found.logs[0];
        else if (found.logs) {
          const sum = logs.get(free[0]);
          logs.set(free[0], found.logs.map((x, k) => x + (sum ? sum[k] : 0)));
        }
      }
      return found;
    });
    const soft = new Map();
    for (const [v, own] of logs) {
      const peak = Math.max(...own);
      outside += peak;
      soft.set(this.node[v], Float64Array.from(own, (x) => Math.exp(x - peak)));
    }
    const states = new Map(Array.from(hard, ([v, state]) => [this.node[v], state]));
    return { hard: states, soft, outside, ready };
  }

  write(local, cells, logs) {
    const peak = Math.max(...logs), table = ones(local.size);
    if (peak > -Infinity) cells.forEach((cell, k) => { table[cell] = Math.exp(logs[k] - peak); });
    this.engine.setTable(local.factor, table);
    this.written.add(local);
    return peak;
  }

  logMass(given) {
    return this.engine.logMass(this.enter(given));
  }

  logScores(given, target) {
    return logsOf(given.get(target), this.cards[target]).map((own, state) =>
      own + this.logMass(caseWith(given, [[target, { state }]])));
  }

  /** @returns {Run|null} */
  run(given) {
    const entered = this.enter(given), { ready } = entered;
    const { log, out, at } = this.engine.propagate(entered);
    if (log === -Infinity) return null;
    const all = out.slice();
    const plain = (v) => all.subarray(at[this.node[v]], at[this.node[v] + 1]);
    // Tables over several parents are those of this case only until the next one.
    const weights = ready.map(({ free, cells }, k) => {
      const asked = this.locals[k].children.some((v) => !given.has(v));
      if (!asked || !free.length) return [1];
      return free.length < 2 ? plain(free[0]) : this.jointOf(entered, free, cells);
    });
    const number = (v) => {
      const k = this.owner.get(v);
      if (k === undefined || given.has(v) || !ready[k].mixture) return null;
      return this.locals[k].below.some((u) => given.has(u)) ? null : ready[k].mixture(v, weights[k]);
    };
    return {
      log,
      belief: (v) => {
        if (this.node[v] < 0) return null;
        const k = this.owner.get(v);
        return k === undefined ? plain(v) : ready[k].parent(v, plain(this.locals[k].scope[0]));
      },
      number,
      shares: (v) => {
        const k = this.owner.get(v);
        return k === undefined || given.has(v) || !ready[k].shares ? null : ready[k].shares(weights[k]);
      },
    };
  }

  /** The posterior of the cells of several free variables, the last of which varies fastest. */
  jointOf({ hard, soft }, free, cells) {
    const last = this.node[free.at(-1)], n = this.engine.tree.cards[last];
    const found = new Float64Array(cells.length), logs = [];
    for (let at = 0; at < cells.length; at += n) {
      const states = new Map(hard);
      for (let k = free.length - 2, rest = at / n; k >= 0; k--) {
        states.set(this.node[free[k]], rest % this.cards[free[k]]);
        rest = Math.floor(rest / this.cards[free[k]]);
      }
      const { log, out, at: place } = this.engine.propagate({ hard: states, soft });
      logs.push(log);
      if (log > -Infinity) found.set(out.subarray(place[last], place[last + 1]), at);
    }
    const shares = fromLogs(logs);
    return found.map((p, k) => p * shares[Math.floor(k / n)]);
  }

  /** Terms of the items of a vector of counts whose only parent is the target; null for others. */
  itemTerms(v, counts, target) {
    const local = this.locals[this.owner.get(v)];
    if (!local?.terms || local.scope.length !== 1 || local.scope[0] !== target) return null;
    const of = (logs) => Array.from({ length: this.cards[target] }, (_, cell) => logs(cell));
    return local.terms(counts).map(({ item, logs }) => ({ item, logs: of(logs) }));
  }

  mostProbable(given) {
    const { states, log } = this.engine.mostProbable(this.enter(given));
    if (!states) return null;
    const found = this.node.map((v) => (v < 0 ? null : states[v]));
    const full = new Map(given);
    found.forEach((state, v) => { if (state !== null) full.set(v, { state }); });
    const { number } = this.run(full);
    return { states: found, log, number };
  }
}

/** The network of a part of the snapshot; its engine holds only its own numbers. */
function networkOf(part, numbers, kernel) {
  const { at, sizes, logs, ...rest } = part.engine, begin = Math.min(...at);
  const total = rest.scopes.reduce((n, scope) => n + scope.reduce((size, v) => size * rest.cards[v], 1), 0);
  const own = numbers.subarray(begin, begin + total);
  const engine = new Engine({ ...rest, at: at.map((x) => x - begin) }, own, kernel());
  return new MixedNetwork({ node: rest.node, locals: part.locals }, numbers, engine);
}

/** The cells of a local part that agree with the states of its parents, ascending. */
function cellsOf({ scope, steps }, hard, cards) {
  let found = [0];
  scope.forEach((v, k) => {
    const states = hard.has(v) ? [hard.get(v)] : Array.from({ length: cards[v] }, (_, s) => s);
    found = found.flatMap((cell) => states.map((state) => cell + state * steps[k]));
  });
  return found;
}

// ---------------------------------------------------------------------------- weighted networks

/**
 * A network whose conditionals are raised to exponents: for observed features O
 * P(c | x_O) ~ P(c)^w_0 exp(b_c) prod_{i in O} p(x_i | observed parents of i, c)^w_ic.
 */
export class WeightedModel {
  constructor(parts, numbers, kernel) {
    this.joint = false;
    this.network = networkOf(parts, numbers, kernel);
    this.cards = this.network.cards;
    const { target, prior, bias, exponents, parents } = parts.weighted;
    Object.assign(this, { target, parents, exponents: exponents.map((e) => e && resolved(e, numbers)) });
    const classes = this.network.logScores(new Map(), target);
    this.prior = classes.map((log, c) => (prior === 0 ? 0 : prior * log) + resolved(bias, numbers)[c]);
    this.terms = new Map();
  }

  /** What a feature that is observed adds to the log scores of the classes; null if nothing. */
  tempered(given, v) {
    const w = this.exponents[v];
    if (!given.has(v) || !w || w.every((x) => x === 0)) return null;
    const above = this.parents[v].filter((p) => given.has(p) && p !== this.target);
    const key = JSON.stringify([v, ...[v, ...above].map((u) => given.get(u))]);
    if (!this.terms.has(key)) {
      const known = new Map(above.map((p) => [p, given.get(p)]));
      const without = this.network.logScores(known, this.target);
      const with_it = this.network.logScores(caseWith(known, [[v, given.get(v)]]), this.target);
      if (this.terms.size > 4096) this.terms.clear();
      this.terms.set(key, with_it.map((x, c) => {
        const exponent = w[w.length > 1 ? c : 0], log = x === -Infinity ? x : x - without[c];
        return exponent === 0 ? 0 : exponent * log;
      }));
    }
    return this.terms.get(key);
  }

  logScores(given, target) {
    if (target !== this.target) return logBelief(this, given, target);
    const own = logsOf(given.get(target), this.cards[target]);
    let scores = this.prior.map((x, c) => x + own[c]);
    for (const v of given.keys()) {
      const added = v === target ? null : this.tempered(given, v);
      if (added) scores = scores.map((x, c) => x + added[c]);
    }
    return scores;
  }

  /** The network's case, with the class weighed so that it has the posterior of this model. */
  turned(given) {
    const { target } = this;
    if (given.get(target)?.state !== undefined) return { given, scores: null };
    const features = caseWith(given, [[target, null]]), scores = this.logScores(given, target);
    const before = this.network.logScores(features, target);
    const logs = scores.map((x, c) => (before[c] === -Infinity ? before[c] : x - before[c]));
    return { given: caseWith(features, [[target, { logs }]]), scores };
  }

  run(given) {
    const { given: inner, scores } = this.turned(given);
    if (!scores) return this.network.run(inner);
    const classes = fromLogs(scores), found = classes && this.network.run(inner);
    if (!classes) return null;
    return {
      log: logSumExp(scores),
      belief: (v) => (v === this.target ? classes : found && found.belief(v)),
      number: (v) => found && found.number(v),
      shares: (v) => found && found.shares(v),
    };
  }

  mostProbable(given) {
    return this.network.mostProbable(this.turned(given).given);
  }
}

// -------------------------------------------------------------------------- mixtures, averages

/** The mean of some runs, weighted. */
function meanOfRuns(runs, shares, log) {
  const used = runs.map((run, k) => [shares[k], run]).filter(([share]) => share > 0);
  const mean = (of) => {
    const found = used.map(([share, run]) => [share, of(run)]);
    if (found.some(([, p]) => !p)) return null;
    return Array.from(found[0][1], (_, k) => sumOf(found.map(([share, p]) => share * p[k])));
  };
  return {
    log,
    belief: (v) => mean((run) => run.belief(v)),
    shares: (v) => mean((run) => run.shares(v)),
    number: (v) => {
      const found = used.map(([share, run]) => [share, run.number(v)]);
      return found.some(([, m]) => !m) ? null : joinedMixture(found);
    },
  };
}

/** A weighted mean of joint distributions of the same variables. */
export class MixtureModel {
  constructor(parts, numbers, kernel) {
    this.joint = true;
    this.members = parts.members.map((own) => networkOf(own, numbers, kernel));
    this.logWeights = parts.weights.map(Math.log);
    this.cards = this.members[0].cards;
  }

  run(given) {
    const runs = this.members.map((member) => member.run(given));
    const logs = runs.map((run, k) => (run ? this.logWeights[k] + run.log : -Infinity));
    const log = logSumExp(logs);
    return log === -Infinity ? null : meanOfRuns(runs, logs.map((x) => Math.exp(x - log)), log);
  }

  logScores(given, target) {
    const found = this.members.map((member) => member.logScores(given, target));
    return found[0].map((_, c) => logSumExp(found.map((logs, k) => this.logWeights[k] + logs[c])));
  }
}

const MODELS = {
  weighted: (parts, numbers, kernel) => new WeightedModel(parts, numbers, kernel),
  mixture: (parts, numbers, kernel) => new MixtureModel(parts, numbers, kernel),
};
const modelOf = (parts, numbers, kernel) => (MODELS[parts.kind] || networkOf)(parts, numbers, kernel);

/** A mean of posteriors with fixed weights, of models that may differ in variables and states. */
export class AverageModel {
  /**
   * @param {{weights: number[], ratios: object, members: object[]}} parts  A member has `own`, for
   *   each variable of the average its number in the member's model or -1, and `maps` of variables
   *   that differ: `codes` (the member's state for each of the average's, -1 if it has none) with
   *   the `shares` of the average's states in these, `items` or `cuts`; `tempering` has the
   *   exponents of its evidence about some variables. `cuts` are those of numbers with states.
   */
  constructor(parts, numbers, kernel) {
    this.joint = false;
    this.weights = parts.weights;
    this.ratios = parts.ratios;
    this.members = parts.members.map((member) => ({
      ...member,
      model: modelOf(member, numbers, kernel),
      priors: new Map(),
    }));
    this.cards = parts.cards;
    this.cuts = parts.cuts;
  }

  /** The case as a member reads it; what the member has no word for is left out. */
  translated({ own, maps, model }, given) {
    const found = new Map();
    for (const [v, finding] of given) {
      if (own[v] < 0) continue;
      const { codes, shares, items, cuts = this.cuts[v] } = maps[v] ?? {};
      let value = finding;
      if (items) value = { value: itemsOf(items, finding.value) };
      else if (cuts && finding.value !== undefined) value = { state: cuts.filter((cut) => cut < finding.value).length };
      if (codes && value.state !== undefined) value = { state: codes[value.state] };
      else if (codes) {
        value = { logs: Array.from({ length: model.cards[own[v]] }, (_, s) => (
          logSumExp(finding.logs.map((log, k) => (codes[k] === s ? log + Math.log(shares[k]) : -Infinity))))) };
      }
      if (value.state !== -1) found.set(own[v], value);
    }
    return found;
  }

  run(given) {
    const runs = this.members.map(({ model }, k) => model.run(this.translated(this.members[k], given)));
    if (runs.every((run) => !run)) return null;
    // A member that thinks the case impossible has its prior instead.
    const answers = runs.map((run, k) => run || this.members[k].model.run(new Map()));
    const of = (v, ask) => {
      const having = this.members.map((m, k) => k).filter((k) => this.members[k].own[v] >= 0);
      const total = sumOf(having.map((k) => this.weights[k]));
      return ask(having.map((k) => answers[k]), having.map((k) => this.weights[k] / total), having);
    };
    return {
      log: null,
      belief: (v) => of(v, (found, shares, having) => this.mean(v, found, shares, having)),
      number: (v) => of(v, (found, shares, having) => {
        const parts = found.map((run, k) => [shares[k], run.number(this.members[having[k]].own[v])]);
        return parts.some(([, m]) => !m) ? null : joinedMixture(parts);
      }),
      shares: () => null,
    };
  }

  mean(v, runs, shares, having) {
    if (!this.cards[v]) return null;
    const total = new Float64Array(this.cards[v]);
    for (let k = 0; k < runs.length; k++) {
      const member = this.members[having[k]], { own, maps } = member;
      const p = this.temperedBelief(member, v, runs[k].belief(own[v]));
      if (!p) return null;
      const { codes, shares: parts } = maps[v] ?? {};
      for (let s = 0; s < total.length; s++) {
        if (!codes) total[s] += shares[k] * p[s];
        else if (codes[s] >= 0) total[s] += shares[k] * p[codes[s]] * parts[s];
      }
    }
    const found = total.map((p, s) => p * (this.ratios[v] ? this.ratios[v][s] : 1)), sum = sumOf(found);
    return found.map((p) => p / sum);
  }

  /** What is proportional to prior (posterior / prior)^exponent. */
  temperedBelief({ tempering, own, model, priors }, v, belief) {
    if (!belief || !tempering[v]) return belief;
    if (!priors.has(v)) priors.set(v, model.run(new Map()).belief(own[v]).slice());
    const prior = priors.get(v);
    const logs = Array.from(belief, (p, s) => (
      p > 0 ? tempering[v] * Math.log(p) + (1 - tempering[v]) * Math.log(prior[s]) : -Infinity));
    const top = Math.max(...logs), found = logs.map((x) => Math.exp(x - top)), sum = sumOf(found);
    return found.map((p) => p / sum);
  }

  logScores(given, target) {
    return logBelief(this, given, target);
  }
}

function logBelief(model, given, target) {
  const run = model.run(given);
  return Array.from(run ? run.belief(target) : new Array(model.cards[target]).fill(0), Math.log);
}

function itemsOf(items, counts) {
  const found = {};
  items.forEach((k, own) => { if (counts[k]) found[own] = counts[k]; });
  return found;
}

export function mixedModel(snapshot, numbers, kernel) {
  const isAverage = snapshot.kind === "average";
  return isAverage ? new AverageModel(snapshot, numbers, kernel) : modelOf(snapshot, numbers, kernel);
}
