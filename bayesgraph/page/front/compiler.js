// Compiles a clique tree and a pattern of findings into a program of a few kinds of instructions.
//
// A clique tree without the observed variables is still a clique tree, so that one tree serves every
// pattern: a variable is free, observed (its state slices the tables) or weighed (a vector of
// likelihoods is multiplied into the clique that its variable leaves).
//
// Instructions are stretches of 32-bit integers:
//   COPY MULTIPLY ADD ONES  [op, length, target, source, isTable, nDimensions, nOuter,
//                            (count, target step, source step) of each dimension,
//                            (target step, source step) of each axis of the loop around it]
//   CLEAR   [op, target, n]                  SCALE  [op, target, n, parent clique, counts]
//   DIVIDE  [op, target, n, source, clique]  RESULT [op, target, n, place in the result, counts]
//   LOOP    [op, nOuter, counts...]          AGAIN  [op, where the body begins]
//   CONTRACT  [op, length, target, source, isTable, other source, isTable, nDimensions,
//              (count, target step, source step, other step) of each dimension]
// A source is a place in the workspace, or the number of a factor if `isTable`.

import { cheapestPair, isInOrder, loops, packed } from "./contract.js";

export const COPY = 0, MULTIPLY = 1, ADD = 2, ONES = 3, CLEAR = 4, SCALE = 5, DIVIDE = 6, RESULT = 7;
export const LOOP = 8, AGAIN = 9, CONTRACT = 10, HEAD = 7, CONTRACT_HEAD = 8;
/** Kinds of variables in a pattern. */
export const FREE = 0, HARD = 1, SOFT = 2;
// A table of more entries is made in tiles and forgotten; others are kept for the way down.
const MOST_KEPT = 65536, ALL_KEPT = 1 << 20, TILE = 8192;
// A clique of so many entries that multiplies at most three things is never made, see contract.js; and one
// that would be made in tiles of at most four, if its axes are long: short ones would be turned for too long.
const LEAST_CONTRACTED = 256, MOST_MULTIPLIED = 3, LONG = 4;

/**
 * A clique tree with the scopes of its factors. Children precede parents; in `member`, the variables
 * that leave a clique come first, and there are `residual` of them.
 * @typedef {{cards: Int32Array, scopes: number[][], child: number[], cliques: number[][],
 *   residual: number[], parent: number[], home: number[], steps?: number[][], kids?: number[][],
 *   factors?: number[][], leaves?: Int32Array}} Tree
 */

/** Add to a tree what follows from it: steps of tables, children, factors, where variables leave. */
export function prepared(/** @type {Tree} */ tree) {
  const n = tree.cliques.length;
  tree.kids = Array.from({ length: n }, () => []);
  tree.factors = Array.from({ length: n }, () => []);
  tree.leaves = new Int32Array(tree.cards.length).fill(-1);
  tree.parent.forEach((up, c) => up >= 0 && tree.kids[up].push(c));
  tree.home.forEach((c, f) => c >= 0 && tree.factors[c].push(f));
  tree.cliques.forEach((members, c) => {
    for (let k = 0; k < tree.residual[c]; k++) tree.leaves[members[k]] = c;
  });
  tree.steps = tree.scopes.map((scope) => stepsOf(scope, tree.cards));
  return tree;
}

/** Return the steps of a table in memory, the last variable fastest. */
export function stepsOf(scope, cards) {
  const steps = new Array(scope.length);
  for (let k = scope.length - 1, step = 1; k >= 0; k--) {
    steps[k] = step;
    step *= cards[scope[k]];
  }
  return steps;
}

/** Axes and steps of what is left of a table when the observed variables are left out. */
function without(scope, steps, kind) {
  const axes = [], left = [];
  for (let k = 0; k < scope.length; k++) {
    if (kind[scope[k]] !== HARD) {
      axes.push(scope[k]);
      left.push(steps[k]);
    }
  }
  return { axes, steps: left };
}

/** The entries of all cliques together, for a pattern. */
export function entries(tree, kind) {
  let total = 0;
  for (const members of tree.cliques) {
    let size = 1;
    for (const v of members) if (kind[v] !== HARD) size *= tree.cards[v];
    total += size;
  }
  return total;
}

/** A growing list of instructions. */
class Code {
  constructor() {
    this.words = new Int32Array(4096);
    this.length = 0;
  }

  push(...words) {
    this.reserve(words.length);
    for (let k = 0; k < words.length; k++) this.words[this.length++] = words[k];
  }

  reserve(n) {
    if (this.length + n <= this.words.length) return;
    const more = new Int32Array(2 * (this.length + n));
    more.set(this.words.subarray(0, this.length));
    this.words = more;
  }

  /** Add a walk over axes: `counts`, and the steps of target and source along each of them. */
  walk(op, target, source, isTable, counts, targetSteps, sourceSteps, outer) {
    this.reserve(HEAD + 6 + 5 * counts.length);
    const w = this.words, at = this.length;
    let n = 0, end = at + HEAD;
    for (let k = outer; k < counts.length; k++) {
      const count = counts[k], t = targetSteps[k], s = sourceSteps[k];
      if (count === 1) continue;
      if (n && w[end - 2] === t * count && w[end - 1] === s * count) {
        // Both sides walk on where the dimension before would have: one stretch.
        w[end - 3] *= count;
        w[end - 2] = t;
        w[end - 1] = s;
      } else {
        w[end] = count;
        w[end + 1] = t;
        w[end + 2] = s;
        end += 3;
        n++;
      }
    }
    for (; n < 2; n++) {
      w.copyWithin(at + HEAD + 3, at + HEAD, end);
      w[at + HEAD] = 1;
      w[at + HEAD + 1] = w[at + HEAD + 2] = 0;
      end += 3;
    }
    for (let k = 0; k < outer; k++) {
      w[end++] = targetSteps[k];
      w[end++] = sourceSteps[k];
    }
    w[at] = op;
    w[at + 1] = end - at;
    w[at + 2] = target;
    w[at + 3] = source;
    w[at + 4] = isTable;
    w[at + 5] = n;
    w[at + 6] = outer;
    this.length = end;
  }

  /** Add to a sum the products of two sources; axes that all three walk alike are one stretch. */
  contract(target, x, y, counts, steps) {
    this.reserve(CONTRACT_HEAD + 8 + 4 * counts.length);
    const w = this.words, at = this.length, dims = [];
    counts.forEach((count, k) => {
      const own = steps.map((of) => of[k]), before = dims.at(-1);
      if (count === 1) return;
      if (before && own.every((step, i) => before[i + 1] === step * count)) {
        dims[dims.length - 1] = [before[0] * count, ...own];
      } else dims.push([count, ...own]);
    });
    while (dims.length < 2) dims.unshift([1, 0, 0, 0]);
    const words = [target, x.source, x.isTable, y.source, y.isTable, dims.length, ...dims.flat()];
    w[at] = CONTRACT;
    w[at + 1] = words.length + 2;
    w.set(words, at + 2);
    this.length = at + 2 + words.length;
  }
}

/**
 * A program for a pattern.
 * @typedef {{code: Int32Array, size: number, softAt: Int32Array, resultAt: Int32Array,
 *   constant: number[], up: Int32Array, down: Int32Array, parts: {axes: number[], steps: number[],
 *   leaving: number, size: number, separator: number}[], tables: {axes: number[],
 *   steps: number[]}[], work: number, tree: Tree}} Program
 */

/** Makes the instructions of one program. */
class Builder {
  constructor(tree, kind, maximising) {
    this.tree = tree;
    this.kind = kind;
    this.code = new Code();
    this.size = 0;
    this.work = 0;
    this.place = new Int32Array(tree.cards.length);
    this.softAt = new Int32Array(tree.cards.length).fill(-1);
    this.resultAt = new Int32Array(tree.cards.length + 1);
    for (let v = 0, at = 0; v < tree.cards.length; v++) {
      if (kind[v] === SOFT) this.softAt[v] = this.room(tree.cards[v]);
      at += tree.cards[v];
      this.resultAt[v + 1] = at;
    }
    this.tables = tree.scopes.map((scope, f) => without(scope, tree.steps[f], kind));
    this.parts = tree.cliques.map((members, c) => this.part(members, c));
    const n = tree.cliques.length;
    this.up = new Int32Array(n).fill(-1);
    this.down = new Int32Array(n).fill(-1);
    this.kept = new Int32Array(n).fill(-1);
    this.unit = new Uint8Array(n);
    if (!maximising) this.findUnits();
    this.isContracted = this.parts.map((_, c) => !maximising && this.canContract(c));
    this.scratch = [];
    let largest = 0;
    this.parts.forEach((part, c) => {
      if (tree.parent[c] >= 0 && !this.unit[c]) this.up[c] = this.room(part.separator);
      if (this.isContracted[c] || part.size > MOST_KEPT || largest + part.size > ALL_KEPT) return;
      largest += part.size;
      this.kept[c] = this.room(part.size);
    });
    this.made = new Uint8Array(n);
    this.tile = this.room(TILE);
  }

  room(n) {
    const at = this.size;
    this.size += n;
    return at;
  }

  part(members, c) {
    const { axes } = without(members, members, this.kind);
    let leaving = 0;
    for (let k = 0; k < this.tree.residual[c]; k++) leaving += this.kind[members[k]] !== HARD ? 1 : 0;
    const steps = stepsOf(axes, this.tree.cards);
    const size = axes.length ? steps[0] * this.tree.cards[axes[0]] : 1;
    const separator = leaving === 0 ? size : leaving < axes.length ? steps[leaving - 1] : 1;
    return { axes, steps, leaving, size, separator };
  }

  /** Find the messages that are ones: below them is nothing but distributions of what leaves. */
  findUnits() {
    const { tree, kind } = this;
    for (let c = 0; c < tree.cliques.length; c++) {
      const isOne = (f) => tree.child[f] >= 0 && kind[tree.child[f]] === FREE
        && tree.leaves[tree.child[f]] === c;
      const isFree = (v) => tree.leaves[v] !== c || kind[v] !== SOFT;
      this.unit[c] = tree.parent[c] >= 0 && tree.kids[c].every((d) => this.unit[d])
        && tree.factors[c].every(isOne) && tree.cliques[c].every(isFree) ? 1 : 0;
    }
  }

  /** Steps along the axes of the clique at hand of something with other axes. */
  along(axes, steps, width) {
    const found = new Array(width).fill(0);
    for (let k = 0; k < axes.length; k++) found[this.place[axes[k]]] = steps[k];
    return found;
  }

  message(c) {
    const { axes, steps, leaving } = this.parts[c];
    return { axes: axes.slice(leaving), steps: steps.slice(leaving) };
  }

  /** Where the table of a clique is made: kept, or in tiles within a loop over the first axes. */
  room_of(c) {
    const { axes, steps, size } = this.parts[c];
    const counts = axes.map((v) => this.tree.cards[v]);
    axes.forEach((v, k) => { this.place[v] = k; });
    if (this.kept[c] >= 0) return { c, at: this.kept[c], counts, steps, outer: 0, fresh: !this.made[c] };
    let outer = 0;
    for (let inner = size; inner > TILE; outer++) inner /= counts[outer];
    const within = steps.map((step, k) => (k < outer ? 0 : step));
    return { c, at: this.tile, counts, steps: within, outer, fresh: true };
  }

  /** Factors, likelihoods and messages of the children, with steps along the axes at hand. */
  operands(c) {
    const found = [], width = this.parts[c].axes.length;
    const add = (source, isTable, axes, own, kid = -1) => {
      const steps = this.along(axes, own, width);
      found.push({ source, isTable, axes, n: axes.length, steps, kid });
    };
    for (const f of this.tree.factors[c]) {
      if (this.tables[f].axes.length) add(f, 1, this.tables[f].axes, this.tables[f].steps);
    }
    for (const v of this.parts[c].axes.slice(0, this.parts[c].leaving)) {
      if (this.kind[v] === SOFT) add(this.softAt[v], 0, [v], [1]);
    }
    for (const d of this.tree.kids[c]) {
      const { axes, steps: own } = this.message(d);
      if (!this.unit[d]) add(this.up[d], 0, axes, own, d);
    }
    return found;
  }

  /** Multiply factors, likelihoods and messages, the widest first. */
  product(room, down) {
    const { c, at, counts, steps, outer } = room, width = counts.length;
    const found = room.fresh ? this.operands(c).sort((a, b) => b.n - a.n) : [];
    if (down >= 0) {
      const { axes, steps: own } = this.message(c);
      found.push({ source: down, isTable: 0, steps: this.along(axes, own, width) });
    }
    found.forEach((operand, k) => {
      const op = room.fresh && k === 0 ? COPY : MULTIPLY;
      this.walk(op, at, operand.source, operand.isTable, room, steps, operand.steps);
    });
    if (room.fresh && !found.length) this.walk(ONES, at, at, 0, room, steps, steps);
    if (!outer) this.made[c] = 1;
  }

  walk(op, target, source, isTable, room, targetSteps, sourceSteps) {
    this.work += this.parts[room.c].size;
    this.code.walk(op, target, source, isTable, room.counts, targetSteps, sourceSteps, room.outer);
  }

  loop(room, body) {
    if (!room.outer) return body();
    this.code.push(LOOP, room.outer, ...room.counts.slice(0, room.outer));
    const begin = this.code.length;
    body();
    this.code.push(AGAIN, begin);
  }

  /** The message of a clique to its parent. */
  collect(c) {
    if (this.unit[c]) return;
    if (this.isContracted[c]) return this.collectSum(c);
    const room = this.room_of(c), { separator } = this.parts[c], { axes, steps } = this.message(c);
    this.code.push(CLEAR, this.up[c], separator);
    this.loop(room, () => {
      this.product(room, -1);
      const to = this.along(axes, steps, room.counts.length);
      this.walk(ADD, this.up[c], room.at, 0, room, to, room.steps);
    });
    this.code.push(SCALE, this.up[c], separator, this.tree.parent[c], 1);
  }

  /** The sum of the product at a root alone. */
  total(c) {
    const room = this.room_of(c), at = this.room(1);
    this.code.push(CLEAR, at, 1);
    this.loop(room, () => {
      this.product(room, -1);
      this.walk(ADD, at, room.at, 0, room, room.counts.map(() => 0), room.steps);
    });
    this.code.push(RESULT, at, 1, this.resultAt.at(-1), 1);
  }

  /** The messages of a clique to its children, and the marginals of what leaves it. */
  distribute(c) {
    const { tree } = this, { axes, leaving } = this.parts[c], kids = tree.kids[c];
    const isRoot = tree.parent[c] < 0, own = axes.slice(0, leaving), width = axes.length;
    if (isRoot && !leaving) this.total(c);
    if (!kids.length && !leaving) return;
    if (this.isContracted[c]) return this.distributeSums(c);
    const room = this.room_of(c);
    for (const d of kids) {
      this.down[d] = this.room(this.parts[d].separator);
      this.code.push(CLEAR, this.down[d], this.parts[d].separator);
    }
    const sums = own.reduce((n, v) => n + tree.cards[v], 0), marginals = this.room(sums);
    if (sums) this.code.push(CLEAR, marginals, sums);
    const shown = this.smallestMessages(kids, own);
    this.loop(room, () => {
      this.product(room, this.down[c]);
      for (const d of kids) {
        const { axes: of, steps } = this.message(d);
        this.walk(ADD, this.down[d], room.at, 0, room, this.along(of, steps, width), room.steps);
      }
      let to = marginals;
      for (const v of own) {
        const steps = this.along([v], [1], width);
        if (!shown.has(v)) this.walk(ADD, to, room.at, 0, room, steps, room.steps);
        to += tree.cards[v];
      }
    });
    let at = marginals;
    own.forEach((v, k) => {
      if (shown.has(v)) this.marginalOf(v, at, shown.get(v));
      this.code.push(RESULT, at, tree.cards[v], this.resultAt[v], isRoot && k === 0 ? 1 : 0);
      at += tree.cards[v];
    });
    for (const d of kids) {
      this.code.push(DIVIDE, this.down[d], this.parts[d].separator, this.up[d], d);
    }
  }

  // ------------------------------------------------------------------- cliques that are never made

  /** Whether the messages of a clique are sums of products of few things. */
  canContract(c) {
    const { axes, leaving, size } = this.parts[c], isRoot = this.tree.parent[c] < 0;
    if (size < LEAST_CONTRACTED || (isRoot && !leaving)) return false;
    this.enterAxes(c);
    const found = this.operands(c), n = found.length + (isRoot ? 0 : 1);
    const isLarge = size > MOST_KEPT && size >= LONG ** axes.length;
    if (!found.length || n < 2 || n > MOST_MULTIPLIED + isLarge) return false;
    const shown = new Set(found.flatMap((operand) => operand.axes));
    return axes.slice(0, leaving).every((v) => shown.has(v));
  }

  /** Number the axes of the clique at hand; return how long they are. */
  enterAxes(c) {
    const { axes } = this.parts[c];
    axes.forEach((v, k) => { this.place[v] = k; });
    return axes.map((v) => this.tree.cards[v]);
  }

  /** A place that later sums use again for the same purpose. */
  shared(use, n) {
    const now = this.scratch[use];
    if (!now || now.n < n) this.scratch[use] = { at: this.room(n), n };
    return this.scratch[use].at;
  }

  collectSum(c) {
    const counts = this.enterAxes(c), { axes, steps } = this.message(c), { separator } = this.parts[c];
    this.sum(counts, this.up[c], this.along(axes, steps, counts.length), this.operands(c));
    this.code.push(SCALE, this.up[c], separator, this.tree.parent[c], 1);
  }

  /** Messages to the children, each without the child's own, so that nothing is divided. */
  distributeSums(c) {
    const { tree } = this, counts = this.enterAxes(c), { axes, leaving } = this.parts[c];
    const found = this.operands(c), width = axes.length, isRoot = tree.parent[c] < 0;
    const sources = found.slice(), sums = new Map(), made = new Map();
    if (!isRoot) {
      const { axes: of, steps } = this.message(c);
      sources.push({ source: this.down[c], isTable: 0, steps: this.along(of, steps, width) });
    }
    const sumOver = (operand, at, steps) => {
      this.sum(counts, at, steps, sources.filter((other) => other !== operand), made);
      return { operand, at, steps };
    };
    for (const d of tree.kids[c]) {
      this.down[d] = this.room(this.parts[d].separator);
      const operand = found.find(({ kid }) => kid === d), { axes: of, steps } = this.message(d);
      const one = operand ?? { axes: of, kid: d };
      sums.set(one, sumOver(operand, this.down[d], this.along(of, steps, width)));
    }
    const length = (operand) => operand.axes.reduce((n, v) => n * tree.cards[v], 1);
    const shorter = (a, b) => (length(b) < length(a) ? b : a);
    axes.slice(0, leaving).forEach((v, k) => {
      // Its marginal is the sum of what is sent to something that has it, times that.
      const having = (list) => list.filter((operand) => operand.axes.includes(v));
      const best = having([...sums.keys(), ...found]).reduce(shorter);
      if (!sums.has(best)) {
        const { steps, n } = packed(counts, best.steps, counts.map((_, j) => j));
        sums.set(best, sumOver(best, this.room(n), steps));
      }
      const { operand, at, steps } = sums.get(best), marginal = this.room(counts[k]);
      const lengths = counts.map((count, j) => (steps[j] ? count : 1));
      const own = counts.map((_, j) => (j === k ? 1 : 0)), sent = { source: at, isTable: 0, steps };
      this.sum(lengths, marginal, own, operand ? [sent, operand] : [sent]);
      this.code.push(RESULT, marginal, counts[k], this.resultAt[v], isRoot && k === 0 ? 1 : 0);
    });
    for (const d of tree.kids[c]) this.code.push(DIVIDE, this.down[d], this.parts[d].separator, -1, d);
  }

  /**
   * Set a table to the sum of the product of some sources.
   * @param {Map<string, object>} made products of two sources, which other sums of the clique use again
   */
  sum(counts, target, t, sources, made = new Map()) {
    const n = packed(counts, t, counts.map((_, k) => k)).n;
    if (sources.length === 1) {
      const [{ source, isTable, steps }] = sources;
      this.code.push(CLEAR, target, n);
      this.code.walk(ADD, target, source, isTable, counts, t, steps, 0);
      return;
    }
    if (sources.length === 2) {
      this.contract(counts, target, t, ...sources);
      return;
    }
    const { first, second, others, joint, kept, key } = cheapestPair(counts, t, sources, made);
    if (!made.has(key)) {
      const { steps, n: size } = packed(counts, kept, counts.map((_, k) => k));
      const at = this.shared(`product ${made.size}`, size);
      this.contract(counts.map((count, k) => (joint[k] ? count : 1)), at, steps, first, second);
      made.set(key, { source: at, isTable: 0, steps });
    }
    const rest = counts.map((count, k) => (joint[k] && !kept[k] ? 1 : count));
    this.sum(rest, target, t, [made.get(key), ...others], made);
  }

  /** Set a table to the sum of the product of two sources, in the cheapest order of the loops. */
  contract(counts, target, t, first, second) {
    const { order, moved } = loops(counts, t, first.steps, second.steps), { code } = this;
    const sources = [first, second].map((operand, i) => {
      if (isInOrder(counts, operand.steps, order, t)) return operand;
      const { steps, n } = packed(counts, operand.steps, order), at = this.shared(i, n);
      this.turn(at, operand, counts, steps, operand.steps);
      return { source: at, isTable: 0, steps };
    });
    const sum = moved ? packed(counts, t, order) : { ...packed(counts, t, order), steps: t };
    const to = moved ? this.shared("sum", sum.n) : target, inOrder = (list) => order.map((k) => list[k]);
    code.push(CLEAR, to, sum.n);
    const steps = [sum.steps, sources[0].steps, sources[1].steps].map(inOrder);
    code.contract(to, ...sources, inOrder(counts), steps);
    this.work += counts.reduce((n, count) => n * count, 1);
    if (!moved) return;
    this.turn(target, { source: to, isTable: 0 }, counts, t, sum.steps);
  }

  /** Copy a table with its axes in another order; what is beside each other here or there is innermost. */
  turn(target, { source, isTable }, counts, to, from) {
    const axes = counts.map((_, k) => k).filter((k) => to[k] && counts[k] > 1);
    axes.sort((a, b) => from[b] - from[a]);
    const inner = axes.reduce((a, b) => (to[b] < to[a] ? b : a), axes[0]);
    const order = [...axes.filter((k) => k !== inner), ...axes.filter((k) => k === inner)];
    const pick = (list) => order.map((k) => list[k]);
    this.code.walk(COPY, target, source, isTable, pick(counts), pick(to), pick(from), 0);
  }

  /** The smallest message to a child that shows each of the variables. */
  smallestMessages(kids, own) {
    const shown = new Map();
    for (const d of kids) {
      for (const v of this.message(d).axes) {
        const best = shown.get(v), { separator } = this.parts[d];
        if (own.includes(v) && (best === undefined || separator < this.parts[best].separator)) {
          shown.set(v, d);
        }
      }
    }
    return shown;
  }

  marginalOf(v, at, d) {
    const { axes, steps } = this.message(d), counts = axes.map((u) => this.tree.cards[u]);
    this.code.walk(ADD, at, this.down[d], 0, counts, axes.map((u) => (u === v ? 1 : 0)), steps, 0);
  }
}

/**
 * Return the program of a pattern.
 * @param {Tree} tree prepared
 * @param {Uint8Array} kind FREE, HARD or SOFT for each variable
 * @param {boolean} both whether all marginals are asked for, not only the sum (or the maximum)
 * @param {boolean} maximising whether the program is run for maxima
 * @returns {Program}
 */
export function compile(tree, kind, both, maximising) {
  const builder = new Builder(tree, kind, maximising), n = tree.cliques.length;
  for (let c = 0; c < n; c++) if (tree.parent[c] >= 0) builder.collect(c);
  for (let c = n - 1; c >= 0; c--) {
    if (both) builder.distribute(c);
    else if (tree.parent[c] < 0) builder.total(c);
  }
  const { code, size, softAt, resultAt, up, down, parts, tables, work } = builder;
  const constant = [];
  tables.forEach((table, f) => { if (!table.axes.length) constant.push(f); });
  return {
    code: code.words.slice(0, code.length), size, softAt, resultAt, constant, up, down, parts, tables,
    work, tree,
  };
}
