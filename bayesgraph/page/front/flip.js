/**
 * The smallest change of findings that turns the answer: a counterfactual explanation (Wachter,
 * Mittelstadt and Russell 2018). Each finding that changes costs 1; a number costs besides the share
 * of its range that it moves (Gower 1971).
 *
 * @typedef {Object} Choice  A finding that may change.
 * @property {number} v
 * @property {object[]} findings  The first keeps it; the others follow by cost.
 * @property {number[]} costs
 * @property {number} [scale]  Of a number: its cost is 1 + scale times what it moves.
 */
import { caseWith, fromLogs } from "./mixed.js";
import { sumOf } from "./trees.js";

/** Log odds that count as equal, and costs, relative to the larger one. */
const TIE = 1e-9, SAME_COST = 1e-12;
/** Options of findings that are scored together, and how many times as many sums are quick. */
const MOST_OPTIONS = 4096, FAST = 20;
const GRID = 64, STEPS = 33, ROUNDS = 3, TOGETHER = 256;

const isAbove = (cost, best) => cost > best + SAME_COST * Math.max(1, Math.abs(best));
/** A number rounded half to even. */
function toEven(x) {
  const whole = Math.round(x);
  return Math.abs(x % 1) === 0.5 && whole % 2 ? whole - 1 : whole;
}

// ------------------------------------------------------------------------------------ choices

function stateChoice(v, finding, n, costs) {
  const found = [];
  for (let state = 0; state < n; state++) {
    if (state !== finding.state) found.push([{ state }, costs ? costs[finding.state * n + state] : 1]);
  }
  return sorted({ v }, finding, found);
}

function sorted(choice, finding, found) {
  found.sort((a, b) => a[1] - b[1]);
  const findings = [finding, ...found.map((o) => o[0])], costs = [0, ...found.map((o) => o[1])];
  return { ...choice, findings, costs };
}

/** Values of a number: on a grid of few digits, or one in each interval between cuts. */
function numberChoice(v, finding, { range, cuts, whole }) {
  const x = finding.value, low = Math.min(range[0], x), high = Math.max(range[1], x);
  const scale = high > low ? 1 / (high - low) : 0;
  const points = cuts ? cellPoints(cuts, x, low, high) : gridOf(low, high, whole);
  const found = points.filter((p) => p !== x).map((p) => [{ value: p }, 1 + scale * Math.abs(p - x)]);
  return sorted({ v, scale: cuts ? 0 : scale, whole }, finding, found);
}

function gridOf(low, high, whole) {
  const a = whole ? Math.ceil(Math.max(low, 0)) : low, b = whole ? Math.floor(high) : high;
  const step = (b - a) / (GRID - 1), digits = whole || !(step > 0) ? 0 : 1 - Math.floor(Math.log10(step));
  const unit = 10 ** Math.abs(digits), found = new Set();
  for (let k = 0; k < GRID; k++) {
    const x = k === GRID - 1 ? b : k * step + a;
    const near = digits >= 0 ? toEven(x * unit) / unit : toEven(x / unit) * unit;
    found.add(Math.min(Math.max(near, a), b));
  }
  return [...found].sort((p, q) => p - q);
}

/** The number of each interval but its own that is closest to x, of few digits. */
function cellPoints(cuts, x, low, high) {
  const edges = [-Infinity, ...cuts, Infinity], found = [];
  for (let k = 1; k < edges.length; k++) {
    const a = edges[k - 1], b = edges[k];
    if (a < x && x <= b) continue;
    if (x > b) found.push(b);
    else if (a === -Infinity) found.push(Math.min(b, low));
    else {
      const width = Math.min(b, Math.max(high, a + 0.1 * (high - low))) - a;
      const step = 10 ** (Math.floor(Math.log10(width)) - 1);
      const point = Number(((Math.floor(a / step) + 1) * step).toFixed(12));
      found.push(a < point && point <= b ? point : Number.isFinite(b) ? b : a + width);
    }
  }
  return found;
}

/** The findings that may change, in the order of the variables. */
function choicesOf(model, given, moves) {
  const choices = [];
  for (const v of [...given.keys()].sort((a, b) => a - b)) {
    const finding = given.get(v);
    if (finding.logs || moves[v]?.stays) continue;
    let choice = null;
    if (finding.state !== undefined) choice = stateChoice(v, finding, model.cards[v], moves[v]?.costs);
    else if (moves[v]?.range) choice = numberChoice(v, finding, moves[v]);
    if (choice && choice.costs.length > 1) choices.push(choice);
  }
  return choices;
}

// ---------------------------------------------------------------------------- in order of cost

/** Yields all changes by ascending cost, as [cost, [[choice, option], ...]] (Lawler 1972). */
function* inOrderOfCost(choices) {
  const order = choices.map((_, j) => j).sort((a, b) => choices[a].costs[1] - choices[b].costs[1]);
  const costs = order.map((j) => choices[j].costs), heap = [];
  let count = 0;
  const before = (a, b) => a[0] < b[0] || (a[0] === b[0] && a[1] < b[1]);
  const push = (cost, change) => {
    const entry = [cost, count++, change];
    let at = heap.length;
    for (; at > 0; at = (at - 1) >> 1) {
      const up = (at - 1) >> 1;
      if (!before(entry, heap[up])) break;
      heap[at] = heap[up];
    }
    heap[at] = entry;
  };
  const pop = () => {
    const top = heap[0], entry = heap.pop();
    if (heap.length) {
      let at = 0;
      for (;;) {
        let down = 2 * at + 1;
        if (down >= heap.length) break;
        if (down + 1 < heap.length && before(heap[down + 1], heap[down])) down++;
        if (!before(heap[down], entry)) break;
        heap[at] = heap[down];
        at = down;
      }
      heap[at] = entry;
    }
    return top;
  };
  if (order.length) push(costs[0][1], [[0, 1]]);
  while (heap.length) {
    const [cost, , change] = pop();
    yield [cost, change.map(([k, option]) => [order[k], option])];
    const rest = change.slice(0, -1), [j, option] = change.at(-1);
    if (option + 1 < costs[j].length) {
      push(cost - costs[j][option] + costs[j][option + 1], [...rest, [j, option + 1]]);
    }
    if (j + 1 < order.length) {
      const further = costs[j + 1][1];
      push(cost + further, [...change, [j + 1, 1]]);
      if (option === 1) push(cost - costs[j][1] + further, [...rest, [j + 1, 1]]);
    }
  }
}

/** The cheapest change up to a cost: {options, cost, proved}, where `options` may be null. */
async function cheapestInOrder(choices, excess, most, effort, pause) {
  let best = null, asked = 0;
  for (const [cost, change] of inOrderOfCost(choices)) {
    if (best && isAbove(cost, best.cost)) return { ...best, proved: true };
    if (isAbove(cost, most)) return { options: null, proved: true };
    if (asked >= effort) return best ? { ...best, proved: true } : { options: null, proved: false };
    if (asked++ % TOGETHER === TOGETHER - 1 && !(await pause())) return null;
    const options = new Array(choices.length).fill(0);
    for (const [j, option] of change) options[j] = option;
    const found = excess(options);
    if (found > 0 && (!best || found > best.found)) best = { options, cost: best ? best.cost : cost, found };
  }
  return best ? { ...best, proved: true } : { options: null, proved: true };
}

/** A change found step by step, without a promise of its cost. */
function greedy(choices, excess) {
  let now = choices.map(() => 0), value = excess(now);
  const moved = (j, option) => now.map((o, k) => (k === j ? option : o));
  while (value <= 0) {
    const steps = choices.flatMap(({ costs }, j) => (now[j] ? [] : costs.slice(1).map((cost, k) => {
      const options = moved(j, k + 1), found = excess(options);
      const rate = found > 0 ? Infinity : (found - value) / Math.max(cost, 1e-12);
      return { options, found, cost, rate };
    })));
    const ready = steps.filter((step) => step.found > 0);
    const best = ready.length ? first(ready, (step) => -step.cost) : first(steps, (step) => step.rate);
    if (!best || !(best.found > value)) return null;
    ({ options: now, found: value } = best);
  }
  for (;;) {
    const cheaper = choices.flatMap(({ costs }, j) => costs.flatMap((cost, option) => (
      cost < costs[now[j]] ? [{ options: moved(j, option), saved: costs[now[j]] - cost }] : [])));
    const best = first(cheaper.filter(({ options }) => excess(options) > 0), ({ saved }) => saved);
    if (!best) return now;
    now = best.options;
  }
}

/** The first element with the highest value. */
function first(list, value) {
  return list.reduce((best, one) => (best === null || value(one) > value(best) ? one : best), null);
}

// ----------------------------------------------------------------------------- parts that add up

/** Groups of choices that are independent of each other given the target and what stays. */
function groupsOf(choices, links) {
  const label = choices.map((_, j) => j), place = new Map(choices.map(({ v }, j) => [v, j]));
  const owner = new Map();
  const root = (j) => (label[j] === j ? j : root(label[j]));
  // Variables that do not change join those that do.
  const all = new Map();
  const of = (v) => {
    if (!all.has(v)) all.set(v, v);
    return all.get(v) === v ? v : of(all.get(v));
  };
  for (const link of links) for (const v of link) all.set(of(v), of(link[0]));
  for (const [v, j] of place) {
    const top = of(v);
    if (owner.has(top)) label[root(j)] = root(owner.get(top));
    else owner.set(top, j);
  }
  const found = new Map();
  choices.forEach((_, j) => {
    const top = root(j);
    found.set(top, [...(found.get(top) || []), j]);
  });
  return [...found.values()];
}

/** Log scores of changes as sums over groups; null if there is one group only. */
function sumsOf(choices, links, scores) {
  const groups = groupsOf(choices, links);
  const size = (group) => group.reduce((n, j) => n * choices[j].costs.length, 1);
  if (groups.length < 2 || groups.some((group) => size(group) > MOST_OPTIONS)) return null;
  const nothing = choices.map(() => -1), prior = scores(nothing);
  const parts = groups.map((group) => {
    let options = [[]];
    for (const j of group) options = options.flatMap((some) => choices[j].costs.map((_, o) => [...some, o]));
    return options.map((own) => {
      const change = nothing.slice();
      group.forEach((j, k) => { change[j] = own[k]; });
      return scores(change).map((x, c) => (prior[c] === -Infinity ? 0 : x - prior[c]));
    });
  });
  // Options of a group are numbered with those of its last choice fastest.
  const places = groups.map((group) => {
    const steps = group.map((_, k) => size(group.slice(k + 1)));
    return (options) => sumOf(group.map((j, k) => options[j] * steps[k]));
  });
  return (options) => prior.map((x, c) => x + sumOf(parts.map((logs, k) => logs[places[k](options)][c])));
}

// ------------------------------------------------------------------------------------ the flip

/** Move numbers back towards their old values as far as the answer stays turned. */
function movedBack(choices, options, excessOf) {
  const now = choices.map((choice, j) => choice.findings[options[j]]);
  const turns = (j, value) => excessOf(now.map((finding, k) => (k === j ? { value } : finding))) > 0;
  const costOf = (j) => choices[j].costs[options[j]];
  const order = choices.map((_, j) => j).sort((a, b) => costOf(b) - costOf(a));
  for (const j of order) {
    if (!choices[j].scale || !options[j]) continue;
    const old = choices[j].findings[0].value, most = now[j].value;
    let low = old, high = most;
    for (let round = 0; round < ROUNDS; round++) {
      const step = (high - low) / (STEPS - 1);
      const line = Array.from({ length: STEPS }, (_, k) => (k === STEPS - 1 ? high : k * step + low));
      const points = choices[j].whole ? [...new Set(line.map(toEven))] : line;
      const at = points.findIndex((point, k) => k === points.length - 1 || turns(j, point));
      if (!at) break;
      [low, high] = [points[at - 1], points[at]];
    }
    const ends = choices[j].whole ? [high] : beyond(old, high, most);
    now[j] = { value: ends.find((value) => turns(j, value)) ?? ends.at(-1) };
  }
  return now;
}

/** Numbers just beyond a value, seen from the old one, of few digits; the value last. */
function beyond(old, value, most) {
  const room = Math.min(1e-3 * Math.abs(value - old), Math.abs(most - value));
  const digits = room > 0 ? -Math.floor(Math.log10(room)) : 0, toward = Math.sign(value - old) || 1;
  const unit = 10 ** digits, near = (toward * Math.ceil(toward * value * unit)) / unit;
  const point = Number(near.toFixed(Math.min(Math.max(digits, 0), 100)));
  return Math.abs(point - value) <= room ? [point, value] : [value];
}

/**
 * @param {object} model
 * @param {Map} given  The case.
 * @param {number} target
 * @param {{[v: number]: {range?: number[], cuts?: number[], whole?: boolean, costs?: Float64Array, stays?: boolean}}} moves
 *   How numbers and intervals may change.
 * @param {number[][]|null} links  Variables that are not independent given all else, if known.
 * @param {{effort?: number, pause?: () => Promise<boolean>}} options  `pause` tells whether to go on.
 */
export async function flipOf(model, given, target, moves, links, options = {}) {
  const { effort = 20000, pause = async () => true } = options, choices = choicesOf(model, given, moves);
  const changed = (findings) => caseWith(given, choices.map(({ v }, j) => [v, findings[j]]));
  const scoresOf = (findings) => model.logScores(changed(findings), target);
  const pick = (options) => choices.map((choice, j) => choice.findings[options[j]] || null);
  const start = scoresOf(pick(choices.map(() => 0))), from = start.indexOf(Math.max(...start));
  if (start[from] === -Infinity) return null;
  const goals = start.map((_, c) => c).filter((c) => c !== from);
  const excessFor = (scores, state) => (scores[state] === -Infinity ? -Infinity
    : scores[state] - Math.max(...scores.filter((_, c) => c !== state)) - TIE);
  const turned = (scores) => Math.max(...goals.map((state) => excessFor(scores, state)));
  const excessOf = (findings) => turned(scoresOf(findings));
  const sums = links && sumsOf(choices, links, (options) => scoresOf(pick(options)));
  const excess = (options) => turned(sums ? sums(options) : scoresOf(pick(options)));
  let found = { options: null, cost: Infinity, proved: true };
  for (const state of sums ? goals : [null]) {
    const ask = sums ? (options) => excessFor(sums(options), state) : excess;
    const one = await cheapestInOrder(choices, ask, found.cost, sums ? FAST * effort : effort, pause);
    if (!one) return null;
    const proved = found.proved && one.proved;
    found = { ...(one.options && one.cost < found.cost - TIE ? one : found), proved };
  }
  if (!found.options && !found.proved) found.options = greedy(choices, excess);
  const isOnGrid = choices.some((choice) => choice.scale);
  if (!found.options) {
    const none = { changes: {}, from, to: null, probability: null, proved: !isOnGrid };
    return found.proved ? none : null;
  }
  const now = movedBack(choices, found.options, excessOf), changes = {};
  let cost = 0;
  now.forEach((finding, j) => {
    if (!found.options[j]) return;
    const { v, scale, findings, costs } = choices[j];
    changes[v] = finding;
    cost += scale ? 1 + scale * Math.abs(finding.value - findings[0].value) : costs[found.options[j]];
  });
  const scores = scoresOf(now), to = first(goals, (state) => excessFor(scores, state));
  // Between the values of a grid there may be cheaper numbers, but nothing costs less than 1.
  const proved = found.proved && (!isOnGrid || !isAbove(cost, 1));
  return { changes, from, to, probability: fromLogs(scores)[to], cost, proved };
}
