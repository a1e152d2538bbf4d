/**
 * What the answer to a question about a variable x tells about the target t, in nats, in models
 * beyond tables:
 *
 *   sum_x P(x | e) sum_t P(t | e, x) log(P(t | e, x) / P(t | e))
 *
 * A sum over states or counts, an integral over other numbers.
 */
import { densityAt, joinedMixture, meanAndSd, reach } from "./leaves.js";
import { caseWith, fromLogs, logSumExp } from "./mixed.js";
import { sumOf } from "./trees.js";

/** Nodes and weights of Gauss and Kronrod, and of Gauss at every second node (QUADPACK, 1983). */
const NODES = [
  0.9914553711208126, 0.9491079123427585, 0.8648644233597691, 0.7415311855993945, 0.5860872354676911,
  0.4058451513773972, 0.20778495500789848, 0,
];
const KRONROD = [
  0.022935322010529224, 0.06309209262997856, 0.10479001032225019, 0.14065325971552592,
  0.1690047266392679, 0.19035057806478542, 0.20443294007529889, 0.20948214108472782,
];
const GAUSS = [0.1294849661688697, 0.27970539148927664, 0.3818300505051189, 0.4179591836734694];
/** Ends of panels of a component, in standard deviations, and panels beyond all components. */
const ENDS = [-10, -4, -1.5, 0, 1.5, 4, 10], OUTSIDE = 24;
const MOST_PANELS = 4000, ENOUGH = 1e-13, TAIL = 1e-13, MOST_COUNTS = 65536;

/** Share of an answer, given P(x | e) P(t | e, x) and P(t | e). */
function gained(joint, before) {
  const mass = sumOf(joint);
  let sum = 0;
  for (let t = 0; t < joint.length; t++) {
    const apart = mass * before[t];
    if (joint[t] > 0 && apart > 0) sum += joint[t] * Math.log(joint[t] / apart);
  }
  return sum;
}

/** The integral of a function over a panel, and an estimate of its error (QUADPACK). */
function panel(f, a, b) {
  const half = (b - a) / 2, middle = (a + b) / 2;
  const at = (node) => (node ? [f(middle - half * node), f(middle + half * node)] : [f(middle)]);
  const y = NODES.flatMap(at);
  let fine = 0, gap = 0, spread = 0;
  y.forEach((value, k) => { fine += KRONROD[k >> 1] * value; });
  y.forEach((value, k) => {
    const node = k >> 1;
    gap += (KRONROD[node] - (node % 2 ? GAUSS[node >> 1] : 0)) * value;
    spread += KRONROD[node] * Math.abs(value - fine / 2);
  });
  const error = spread && spread * Math.min(1, Math.abs((200 * gap) / spread) ** 1.5);
  return { a, b, value: fine * half, error: error * half };
}

/** The integral of a function between points; panels with a large error are halved. */
function integral(f, ends) {
  let open = [], sum = 0, n = ends.length;
  for (let k = 1; k < ends.length; k++) open.push(panel(f, ends[k - 1], ends[k]));
  while (open.length) {
    const next = [];
    for (const { a, b, value, error } of open) {
      const middle = (a + b) / 2;
      if (error > ENOUGH && n < MOST_PANELS && a < middle && middle < b) {
        next.push(panel(f, a, middle), panel(f, middle, b));
        n += 2;
      } else sum += value;
    }
    open = next;
  }
  return sum;
}

/** Ends of panels in which a mixture has no narrow peak. */
function endsOf(mixture) {
  const { means, variances, weights, support, jumps } = mixture, found = [];
  for (let k = 0; k < means.length; k++) {
    if (!(weights[k] > 0) || !Number.isFinite(variances[k])) continue;
    for (const end of ENDS) found.push(means[k] + end * Math.sqrt(variances[k]));
  }
  for (const jump of jumps) found.push(jump);
  let [low, high] = reach({ ...mixture, whole: false }, 4);
  if (!mixture.normal) {
    for (let k = 0, away = 0.05 * (high - low || 1); k < OUTSIDE; k++, away *= 2) {
      found.push((low -= away), (high += away));
    }
  }
  const inside = found.filter((x) => x > support[0] && x < support[1]);
  for (const end of support) if (Number.isFinite(end)) inside.push(end);
  return Float64Array.from(new Set(inside)).sort();
}

/** Information of a number whose density by state of the target is known. */
function ofNumber(mixture, density, before) {
  if (!mixture.whole) return integral((x) => gained(density(x), before), endsOf(mixture));
  let sum = 0, mass = 0;
  for (let x = 0; x < MOST_COUNTS && 1 - mass > TAIL; x++) {
    const joint = density(x);
    sum += gained(joint, before);
    mass += sumOf(joint);
    // What is far beyond the distribution is rounding.
    if (x > 64 && x > meanAndSd(mixture)[0] + 60 * meanAndSd(mixture)[1]) break;
  }
  return sum;
}

/**
 * @param {object} model
 * @param {Map} given  The case.
 * @param {number} target
 * @returns {(number|null)[]}  Of each variable; null where there is no answer, or it is known.
 */
export function informationOf(model, given, target, count) {
  const known = (v) => given.get(v)?.state !== undefined || given.get(v)?.value !== undefined;
  const before = known(target) ? null : fromLogs(model.logScores(given, target));
  // Nothing tells more about what is known.
  const ask = before ? (model.joint ? ofJoint : ofOther)(model, given, target, before) : () => 0;
  if (!before && !known(target)) return new Array(count).fill(null);
  return Array.from({ length: count }, (_, v) => {
    const found = v === target || known(v) ? null : ask(v);
    return found === null ? null : Math.max(found, 0);
  });
}

/** One run for each state of the target says all of a joint distribution. */
function ofJoint(model, given, target, before) {
  const runs = before.map((p, state) => (p > 0 ? model.run(caseWith(given, [[target, { state }]])) : null));
  const total = logSumExp(model.logScores(given, target));
  return (v) => {
    if (model.cards[v]) {
      const beliefs = runs.map((run) => run && run.belief(v));
      return sumOf(Array.from({ length: model.cards[v] }, (_, x) =>
        gained(beliefs.map((p, t) => (p ? p[x] * before[t] : 0)), before)));
    }
    const parts = runs.map((run) => run && run.number(v));
    if (runs.every((run, t) => !run || parts[t])) {
      const shares = parts.map((m, t) => [before[t], m]).filter(([, m]) => m);
      const density = (x) => parts.map((m, t) => (m ? before[t] * densityAt(m, x) : 0));
      return ofNumber(joinedMixture(shares), density, before);
    }
    // A number above the target, of which only values can be asked.
    const prior = model.run(new Map()).number(v);
    const density = (x) => {
      const logs = model.logScores(caseWith(given, [[v, { value: x }]]), target);
      return logs.map((log) => Math.exp(log - total));
    };
    return prior && ofNumber(prior, density, before);
  };
}

/** In other models P(x | e) and P(t | e, x) are both their own answers. */
function ofOther(model, given, target, before) {
  const run = model.run(given);
  const after = (v, finding) => {
    return fromLogs(model.logScores(caseWith(given, [[v, finding]]), target)) || before.map(() => 0);
  };
  const ofAnswers = (v, findings, shares) => {
    const joint = findings.map((finding, x) => after(v, finding).map((p) => p * shares[x]));
    const total = sumOf(joint.map(sumOf));
    return sumOf(joint.map((row) => gained(row.map((p) => p / total), before)));
  };
  return (v) => {
    if (model.cards[v]) {
      const belief = run.belief(v);
      return belief && ofAnswers(v, Array.from(belief, (_, state) => ({ state })), belief);
    }
    const mixture = run.number(v);
    if (!mixture || !mixture.normal) return null;
    return ofNumber(mixture, (x) => after(v, { value: x }).map((p) => p * densityAt(mixture, x)), before);
  };
}
