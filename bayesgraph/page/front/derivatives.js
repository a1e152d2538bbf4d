// Derivatives of the probability of the findings with respect to entries of tables, and sums of the
// product at one clique. No message is divided by another, so that entries of zero have derivatives
// too (Shafer and Shenoy 1990; Darwiche 2003).

import { stepsOf } from "./compiler.js";
import { logSum } from "./trees.js";

/** Arithmetic on probabilities, and on their logarithms. */
const PLAIN = {
  zero: 0,
  one: 1,
  times: (a, b) => a * b,
  plus: (a, b) => a + b,
  log: Math.log,
  scaled(values) {
    const peak = values.reduce((a, b) => Math.max(a, b), 0);
    if (peak === 0) return 0;
    for (let k = 0; k < values.length; k++) values[k] /= peak;
    return Math.log(peak);
  },
  /** A common scale of sums, and the sums on that scale as numbers. */
  peak: () => 0,
  numbers: (values) => values,
};
const LOGS = {
  zero: -Infinity,
  one: 0,
  times: (a, b) => a + b,
  plus: logSum,
  log: (x) => x,
  scaled: () => 0,
  peak: (values) => {
    const peak = values.reduce((a, b) => Math.max(a, b), -Infinity);
    return peak === -Infinity ? 0 : peak;
  },
  numbers: (values) => {
    const peak = LOGS.peak(values);
    return values.map((x) => Math.exp(x - peak));
  },
};

/** What the entries of a clique multiply, place for place. */
class Operands {
  constructor(engine, program, findings, logarithmic) {
    Object.assign(this, { engine, program, findings });
    this.algebra = logarithmic ? LOGS : PLAIN;
    this.tables = logarithmic ? engine.logValues() : engine.tables;
  }

  /** The place in an operand of each entry of a clique. */
  places(c, axes, steps, at) {
    const part = this.program.parts[c], { cards } = this.program.tree;
    const own = part.axes.map((v) => (axes.includes(v) ? steps[axes.indexOf(v)] : 0));
    const found = new Int32Array(part.size), state = part.axes.map(() => 0);
    for (let entry = 0, place = at; entry < part.size; entry++) {
      found[entry] = place;
      for (let k = state.length - 1; k >= 0; k--) {
        place += own[k];
        if (++state[k] < cards[part.axes[k]]) break;
        place -= own[k] * cards[part.axes[k]];
        state[k] = 0;
      }
    }
    return found;
  }

  table(c, f) {
    const { axes, steps } = this.program.tables[f], at = this.engine.offsets[f];
    return { values: this.tables, places: this.places(c, axes, steps, at) };
  }

  /** The separator of a clique and its parent, as seen from clique `c`, one of them. */
  message(c, of, values, at = 0) {
    const { axes, steps, leaving } = this.program.parts[of];
    return { values, places: this.places(c, axes.slice(leaving), steps.slice(leaving), at) };
  }

  likelihoods(c, v) {
    const given = this.findings.soft.get(v);
    const values = this.algebra === LOGS ? Array.from(given, Math.log) : given;
    return { values, places: this.places(c, [v], [1], 0) };
  }

  ownOf(c) {
    const { tree, parts } = this.program;
    const weighed = parts[c].axes.slice(0, parts[c].leaving).filter((v) => this.findings.soft.has(v));
    const factors = tree.factors[c].filter((f) => this.program.tables[f].axes.length);
    return { factors, weighed };
  }

  /** Factors, likelihoods and messages from below, in this order. */
  below(c, up) {
    const { factors, weighed } = this.ownOf(c), list = factors.map((f) => this.table(c, f));
    for (const v of weighed) list.push(this.likelihoods(c, v));
    for (const d of this.program.tree.kids[c]) list.push(this.message(c, d, up[d]));
    return list;
  }

  /** The product of operands: an entry of it for each of the clique. */
  product(c, operands) {
    const { times, one } = this.algebra, found = new Float64Array(this.program.parts[c].size).fill(one);
    for (const { values, places } of operands) {
      for (let k = 0; k < found.length; k++) found[k] = times(found[k], values[places[k]]);
    }
    return found;
  }

  /** Sums of a product over what `places` do not show; `n` of them. */
  sums(product, places, n) {
    const found = new Float64Array(n).fill(this.algebra.zero);
    for (let k = 0; k < product.length; k++) found[places[k]] = this.algebra.plus(found[places[k]], product[k]);
    return found;
  }
}

/**
 * Return the sums of the product of all tables over each entry of a factor that agrees with the
 * findings, divided by their total: the posterior of the factor's free variables. It belongs to the
 * last propagation.
 */
export function jointOf(engine, f, findings) {
  const program = engine.last, { tree } = program, c = tree.home[f];
  if (c < 0) return Float64Array.of(1);
  const operands = new Operands(engine, program, findings, engine.logarithmic);
  const { factors, weighed } = operands.ownOf(c);
  const list = factors.map((g) => operands.table(c, g));
  for (const v of weighed) list.push(operands.likelihoods(c, v));
  for (const d of tree.kids[c]) {
    if (program.up[d] >= 0) list.push(operands.message(c, d, engine.work, program.up[d]));
  }
  if (tree.parent[c] >= 0) list.push(operands.message(c, c, engine.work, program.down[c]));
  const { axes } = program.tables[f], steps = stepsOf(axes, tree.cards);
  const n = axes.reduce((size, v) => size * tree.cards[v], 1);
  const found = operands.sums(operands.product(c, list), operands.places(c, axes, steps, 0), n);
  const values = operands.algebra.numbers(found);
  const total = values.reduce((a, b) => a + b, 0);
  return values.map((x) => x / total);
}

/**
 * Return log P(findings), and of every table the derivatives of P(findings) with respect to the
 * entries that agree with the findings: {places, values, log} for each factor, where `places` are
 * within the table and a derivative is its value times exp(log).
 */
export function derivatives(engine, findings) {
  const program = engine.program(engine.pattern(findings), true, false), { tree } = program;
  engine.load(program);
  engine.enter(program, findings, false);
  const operands = new Operands(engine, program, findings, engine.isSmall());
  const { up, upLog } = upward(operands), { algebra } = operands, found = new Array(tree.scopes.length);
  const roots = [...tree.parent.keys()].filter((c) => tree.parent[c] < 0);
  const masses = roots.map((c) => upLog[c] + algebra.log(up[c][0]));
  for (const f of program.constant) masses.push(engine.logOf(engine.offsets[f]));
  // What multiplies all: scales, and likelihoods of variables that are observed too.
  let fixed = engine.logScale + findings.outside;
  for (const [v, state] of findings.hard) if (findings.soft.has(v)) fixed += Math.log(findings.soft.get(v)[state]);
  const rest = masses.map((_, k) => masses.reduce((sum, mass, i) => (i === k ? sum : sum + mass), fixed));
  program.constant.forEach((f, k) => {
    const places = Int32Array.of(engine.offsets[f] - engine.base[f]);
    found[f] = { places, values: Float64Array.of(1), log: rest[roots.length + k] };
  });
  const down = new Map(roots.map((c, k) => [c, { values: null, log: rest[k] }]));
  for (let c = tree.cliques.length - 1; c >= 0; c--) distributed(operands, c, up, upLog, down, found);
  return { log: masses.reduce((a, b) => a + b, fixed), tables: found };
}

/** The message of each clique to its parent (of a root the sum), and the log of its scale. */
function upward(operands) {
  const { tree, parts } = operands.program, n = tree.cliques.length;
  const up = new Array(n), upLog = new Float64Array(n);
  for (let c = 0; c < n; c++) {
    const isRoot = tree.parent[c] < 0, product = operands.product(c, operands.below(c, up));
    const places = isRoot ? new Int32Array(parts[c].size) : operands.message(c, c, null).places;
    up[c] = operands.sums(product, places, isRoot ? 1 : parts[c].separator);
    upLog[c] += operands.algebra.scaled(up[c]);
    if (!isRoot) upLog[tree.parent[c]] += upLog[c];
  }
  return { up, upLog };
}

/** Derivatives of the factors at a clique, and the messages to its children. */
function distributed(operands, c, up, upLog, down, found) {
  const { tree, parts, tables } = operands.program, { engine, algebra } = operands;
  const { factors } = operands.ownOf(c), list = operands.below(c, up), { values, log } = down.get(c);
  const kids = list.length - tree.kids[c].length;
  const all = tree.kids[c].reduce((sum, d) => sum + upLog[d], log);
  if (values) list.push(operands.message(c, c, values));
  withoutEach(operands, c, list, (k, product) => {
    if (k < factors.length) {
      const f = factors[k], { axes, steps } = tables[f], own = stepsOf(axes, tree.cards);
      const n = axes.reduce((size, v) => size * tree.cards[v], 1);
      const sums = operands.sums(product, operands.places(c, axes, own, 0), n);
      found[f] = {
        places: entriesOf(axes, steps, tree.cards, engine.offsets[f] - engine.base[f]),
        values: algebra.numbers(sums),
        log: all + algebra.peak(sums),
      };
    } else if (k >= kids && k < kids + tree.kids[c].length) {
      const d = tree.kids[c][k - kids], { places } = operands.message(c, d, null);
      const sums = operands.sums(product, places, parts[d].separator);
      const scale = algebra.scaled(sums);
      down.set(d, { values: sums, log: all - upLog[d] + scale });
    }
  });
}

/** Call with the product of all operands but one, for each of them. */
function withoutEach(operands, c, list, use) {
  const { times } = operands.algebra, after = [operands.product(c, [])];
  for (let k = list.length - 1; k > 0; k--) {
    const { values, places } = list[k];
    after.push(after.at(-1).map((x, entry) => times(x, values[places[entry]])));
  }
  const before = operands.product(c, []);
  list.forEach(({ values, places }, k) => {
    const later = after.pop();
    use(k, later.map((x, entry) => times(x, before[entry])));
    for (let entry = 0; entry < before.length; entry++) {
      before[entry] = times(before[entry], values[places[entry]]);
    }
  });
}

/** The places of all entries along some axes. */
function entriesOf(axes, steps, cards, at) {
  let found = Int32Array.of(at);
  axes.forEach((v, k) => {
    const more = new Int32Array(found.length * cards[v]);
    for (let i = 0; i < more.length; i++) {
      more[i] = found[Math.floor(i / cards[v])] + (i % cards[v]) * steps[k];
    }
    found = more;
  });
  return found;
}
