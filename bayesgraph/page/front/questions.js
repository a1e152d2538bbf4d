// Questions beyond posteriors, by propagations of the engine.

import { derivatives } from "./derivatives.js";

/** Return P(variable | findings) of every variable, as views of one copy. */
function marginals(engine, findings) {
  const { log, out, at } = engine.propagate(findings), copy = out.slice();
  return { log, of: (v) => copy.subarray(at[v], at[v + 1]) };
}

const withState = (findings, v, state) => ({ ...findings, hard: new Map(findings.hard).set(v, state) });

/**
 * The expected information, in nats, of each variable about the target: its mutual information with
 * the target given the findings. One propagation for each state of the target tells all of them.
 * @returns {(number | null)[] | null} null for what is observed; null if that is impossible
 */
export function information(engine, findings, target) {
  const before = marginals(engine, findings), { cards } = engine.tree;
  if (before.log === -Infinity) return null;
  const known = (v) => findings.hard.has(v) || v === target;
  const nats = Array.from(cards, (_, v) => (known(v) ? null : 0));
  if (findings.hard.has(target)) return nats;
  before.of(target).forEach((share, state) => {
    if (!(share > 0)) return;
    const after = marginals(engine, withState(findings, target, state));
    cards.forEach((_, v) => {
      if (known(v)) return;
      const old = before.of(v);
      after.of(v).forEach((p, k) => { if (p > 0) nats[v] += share * p * Math.log(p / old[k]); });
    });
  });
  return nats.map((x) => (x === null ? null : Math.max(x, 0)));
}

/**
 * The conflict of findings: the log of the product of their probabilities by their joint one
 * (Jensen, Chamberlain, Nordahl and Jensen 1991), in nats; null if they are impossible.
 */
export function conflict(engine, findings) {
  const { hard, soft, outside } = findings, prior = marginals(engine, { hard: new Map(), soft: new Map() });
  const log = engine.logMass(findings);
  if (log === -Infinity) return null;
  if (hard.size + soft.size < 2) return 0;
  let measure = outside + prior.log - log;
  for (const [v, state] of hard) measure += Math.log(prior.of(v)[state]);
  for (const [v, weights] of soft) {
    measure += Math.log(prior.of(v).reduce((sum, p, state) => sum + p * weights[state], 0));
  }
  return measure;
}

/**
 * The derivatives of P(target = state | findings) with respect to every entry of every table, the
 * other probabilities of its row changing in proportion (Chan and Darwiche 2002).
 * @returns {{values: Float64Array, derivatives: Float64Array}[] | null} for each table
 */
export function slopes(engine, findings, target, state) {
  const plain = derivatives(engine, findings);
  if (plain.log === -Infinity) return null;
  const joint = derivatives(engine, withState(findings, target, state));
  const posterior = Math.exp(joint.log - plain.log), { tree, base, sizes } = engine;
  return tree.scopes.map((scope, f) => {
    const of = (part) => {
      const { places, values, log } = part.tables[f], scale = Math.exp(log - plain.log), found = new Float64Array(sizes[f]);
      places.forEach((place, k) => { if (values[k] !== 0) found[place] = scale * values[k]; });
      return found;
    };
    const before = of(plain), found = of(joint).map((x, k) => difference(x, posterior * before[k]));
    const values = engine.tables.slice(base[f], base[f] + sizes[f]);
    return { values, derivatives: covaried(values, found, tree.cards[scope.at(-1)]) };
  });
}

/** A difference; zero where it is nothing but rounding error. */
const difference = (a, b) => (Math.abs(a - b) > 1e-13 * (Math.abs(a) + Math.abs(b)) ? a - b : 0);

/** Derivatives when the others of a row of n entries change in proportion. */
function covaried(values, plain, n) {
  return plain.map((slope, entry) => {
    if (n === 1) return 0;
    const row = entry - (entry % n), rest = 1 - values[entry];
    let others = 0;
    for (let k = row; k < row + n; k++) {
      if (k !== entry) others += rest > 0 ? values[k] * plain[k] : plain[k];
    }
    return difference(slope, others / (rest > 0 ? rest : n - 1));
  });
}
