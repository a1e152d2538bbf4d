/**
 * The log odds of a state of the target as a sum with one term for each finding, by the chain rule:
 *
 *   log P(c, x) = log P(c) + sum_i log P(x_i | x_1, ..., x_{i-1}, c)
 *
 * Findings come in the order of the arcs, in mixtures and averages in that of the variables.
 */
import { logSumExp } from "./mixed.js";

/** Log odds of a state against the other one, or against all others together. */
export function logOdds(logScores, state) {
  return logScores[state] - logSumExp(logScores.filter((_, c) => c !== state));
}

/** The change of the log odds by a step of the log scores; 0 where it is undefined. */
function shift(before, step, state) {
  const after = before.map((x, c) => x + step[c]);
  const moved = before.length === 2 ? logOdds(step, state) : logOdds(after, state) - logOdds(before, state);
  return Number.isNaN(moved) ? 0 : moved;
}

/**
 * @param {object} model
 * @param {Map} given  The case.
 * @param {number[]} order  Of the variables.
 * @returns {{base: number, terms: {variable: number, item?: number, value: number}[],
 *   total: number} | null}  `value` in nats; null for an impossible case.
 */
export function contributionsOf(model, given, order, target, state) {
  const observed = order.filter((v) => v !== target && given.has(v)), terms = [];
  const known = new Map([...given].filter(([v]) => v === target));
  const prior = model.logScores(known, target);
  let scores = prior;
  const add = (step, term) => {
    const value = shift(scores, step, state);
    // What follows an impossible finding adds nothing to the states that it ruled out.
    scores = scores.map((x, c) => x + (Number.isNaN(step[c]) ? 0 : step[c]));
    terms.push({ ...term, value });
  };
  for (const v of observed) {
    known.set(v, given.get(v));
    const items = model.itemTerms && model.itemTerms(v, given.get(v).value, target);
    if (items) {
      for (const { item, logs } of items) add(logs, item === null ? { variable: v } : { variable: v, item });
    } else if (model.tempered) {
      add(model.tempered(given, v) || scores.map(() => 0), { variable: v });
    } else {
      const after = model.logScores(known, target);
      add(after.map((x, c) => x - scores[c]), { variable: v });
    }
  }
  const total = logOdds(scores, state);
  return Number.isNaN(total) ? null : { base: logOdds(prior, state), terms, total };
}
