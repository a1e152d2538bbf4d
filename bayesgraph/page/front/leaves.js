/**
 * Leaves: numbers and vectors of counts whose parents are discrete.
 *
 * An observed leaf is a vector of log likelihoods, one for each configuration (cell) of its parents.
 * The posterior of an unobserved one is a mixture of the distributions of its cells. The states of
 * the last parent vary fastest in the numbering of cells.
 *
 * @typedef {Object} Mixture  Components of the distribution of one number.
 * @property {ArrayLike<number>} weights  They sum to one.
 * @property {ArrayLike<number>} means
 * @property {ArrayLike<number>} variances
 * @property {(x: number) => ArrayLike<number>} logs  Log density of each component at x.
 * @property {boolean} whole  Whether the number is a count.
 * @property {boolean} normal  Whether all components are normal distributions.
 * @property {[number, number]} support
 * @property {number[]} jumps  Where the density jumps, or has narrow peaks.
 *
 * @typedef {Object} Family
 * @property {(x: number, ...parameters: number[]) => number} log  Log density, -Infinity outside.
 * @property {(...parameters: number[]) => [number, number]} moments  Mean and variance.
 * @property {[number, number]} [support]
 * @property {boolean} [whole]
 */

export const LOG_2PI = Math.log(2 * Math.PI);
/** Numbers of a leaf whose log densities are kept. */
const MOST_KEPT = 1024;

/**
 * The log of the gamma function of a positive number, by Stirling's series (Abramowitz and Stegun
 * 1964, 6.1.41), whose terms suffice from 10 on.
 */
export function logGamma(x) {
  let below = 1;
  for (; x < 10; x++) below *= x;
  const s = 1 / (x * x);
  const series =
    (1 / 12 - s * (1 / 360 - s * (1 / 1260 - s * (1 / 1680 - s * (1 / 1188 - (s * 691) / 360360))))) / x;
  return (x - 0.5) * Math.log(x) - x + 0.5 * LOG_2PI + series - Math.log(below);
}

const logBeta = (a, b) => logGamma(a) + logGamma(b) - logGamma(a + b);
/** a log(x), where 0 log(0) is 0. */
const timesLog = (a, x) => (a === 0 ? 0 : a * Math.log(x));

export function normalLog(x, mean, variance) {
  const z = (x - mean) / Math.sqrt(variance);
  return -0.5 * (LOG_2PI + Math.log(variance) + z * z);
}

/** @type {Object<string, Family>} The families whose parameters are an array each. */
const DENSITIES = {
  lognormal: {
    log: (x, mean, variance) => (x > 0 ? normalLog(Math.log(x), mean, variance) - Math.log(x) : -Infinity),
    moments: (mean, variance) => [
      Math.exp(mean + variance / 2),
      Math.expm1(variance) * Math.exp(2 * mean + variance),
    ],
    support: [0, Infinity],
  },
  poisson: {
    log: (x, rate) => (x >= 0 ? timesLog(x, rate) - rate - logGamma(x + 1) : -Infinity),
    moments: (rate) => [rate, rate],
    support: [0, Infinity],
    whole: true,
  },
  negative_binomial: {
    log: (x, shape, exposure) =>
      x >= 0
        ? logGamma(x + shape) - logGamma(shape) - logGamma(x + 1) -
          shape * Math.log1p(1 / exposure) - x * Math.log1p(exposure)
        : -Infinity,
    moments: (shape, exposure) => [shape / exposure, (shape / exposure) * (1 + 1 / exposure)],
    support: [0, Infinity],
    whole: true,
  },
  gamma: {
    log: (x, shape, rate) =>
      x > 0 ? shape * Math.log(rate) - logGamma(shape) + (shape - 1) * Math.log(x) - rate * x : -Infinity,
    moments: (shape, rate) => [shape / rate, shape / rate ** 2],
    support: [0, Infinity],
  },
  exponential: {
    log: (x, rate) => (x >= 0 ? Math.log(rate) - rate * x : -Infinity),
    moments: (rate) => [1 / rate, rate ** -2],
    support: [0, Infinity],
  },
  beta: {
    log: (x, a, b) =>
      x > 0 && x < 1 ? (a - 1) * Math.log(x) + (b - 1) * Math.log1p(-x) - logBeta(a, b) : -Infinity,
    moments: (a, b) => [a / (a + b), ((a / (a + b)) * (b / (a + b))) / (a + b + 1)],
    support: [0, 1],
  },
  student: {
    log: (x, location, scale, dof) =>
      logGamma((dof + 1) / 2) - logGamma(dof / 2) - 0.5 * Math.log(dof * Math.PI) - Math.log(scale) -
      0.5 * (dof + 1) * Math.log1p(((x - location) / scale) ** 2 / dof),
    moments: (location, scale, dof) => [
      dof > 1 ? location : NaN,
      dof > 2 ? (scale ** 2 * dof) / (dof - 2) : dof > 1 ? Infinity : NaN,
    ],
  },
};

/** @param {{parameters: Float64Array[], family: string}} given  One array over the cells each. */
function densityFamily({ parameters, family }) {
  const found = DENSITIES[family];
  const of = (cell) => parameters.map((p) => p[cell]);
  return {
    ...found,
    log: (cell, x) => found.log(x, ...of(cell)),
    moments: (cell) => found.moments(...of(cell)),
  };
}

/** Weighted normal distributions of one width around points, which ascend in each cell. */
function kernelFamily({ points, weights, stops, bandwidth }) {
  const sums = Array.from(bandwidth, (_, cell) => {
    let sum = 0;
    for (let k = stops[cell]; k < stops[cell + 1]; k++) sum += weights[k];
    return sum;
  });
  // Between points that are two widths apart there is no narrow peak.
  const jumps = [];
  for (let cell = 0; cell < bandwidth.length; cell++) {
    for (let k = stops[cell], last = -Infinity; k < stops[cell + 1]; k++) {
      if (points[k] - last >= 2 * bandwidth[cell]) jumps.push((last = points[k]));
    }
  }
  return {
    jumps,
    log(cell, x) {
      const h = bandwidth[cell];
      let gap = Infinity, total = 0;
      for (let k = stops[cell]; k < stops[cell + 1]; k++) gap = Math.min(gap, Math.abs(x - points[k]) / h);
      if (gap * gap === Infinity) return -Infinity;
      // Terms are relative to that of the nearest point, so that far values do not underflow.
      for (let k = stops[cell]; k < stops[cell + 1]; k++) {
        const z = (x - points[k]) / h;
        total += weights[k] * Math.exp(0.5 * (gap * gap - z * z));
      }
      return Math.log(total) - 0.5 * (gap * gap + LOG_2PI) - Math.log(sums[cell] * h);
    },
    moments(cell) {
      let mean = 0, spread = 0;
      for (let k = stops[cell]; k < stops[cell + 1]; k++) mean += (weights[k] / sums[cell]) * points[k];
      for (let k = stops[cell]; k < stops[cell + 1]; k++) {
        spread += (weights[k] / sums[cell]) * (points[k] - mean) ** 2;
      }
      return [mean, spread + bandwidth[cell] ** 2];
    },
  };
}

/** Piecewise constant, with Lomax tails of shape 3 whose scale is the range of the edges. */
function histogramFamily({ edges, shares }) {
  const n = edges.length + 1;
  const first = edges[0], last = edges[n - 2], range = last - first;
  return {
    jumps: Array.from(edges),
    log(cell, x) {
      let at = 0;
      while (at < n - 1 && edges[at] < x) at++;
      if (x === first) at = 1;
      const width = at === 0 || at === n - 1 ? range / 3 : edges[at] - edges[at - 1];
      const outside = Math.max(first - x, x - last, 0);
      return Math.log(shares[cell * n + at]) - Math.log(width) - 4 * Math.log1p(outside / range);
    },
    moments(cell) {
      // Deviations from the middle lose no digits.
      const middle = (first + last) / 2, end = last - middle;
      let mean = 0, square = 0;
      for (let at = 0; at < n; at++) {
        const share = shares[cell * n + at];
        if (at === 0 || at === n - 1) {
          mean += share * (at ? 1 : -1) * (end + range / 2);
          square += share * (end * end + end * range + range * range);
        } else {
          const a = edges[at - 1] - middle, b = edges[at] - middle;
          mean += (share * (a + b)) / 2;
          square += (share * (a * a + a * b + b * b)) / 3;
        }
      }
      return [middle + mean, square - mean * mean];
    },
  };
}

/**
 * A leaf of one number.
 *
 * @param {{child: number, scope: number[], cells: number, family: string}} given  And its arrays.
 */
export function numberLeaf(given) {
  const make = { kernel: kernelFamily, histogram: histogramFamily }[given.family] || densityFamily;
  const family = make(given), memo = new Map();
  /** Log density in a cell; searches ask for the same numbers again and again. */
  const log = (cell, x) => {
    if (!memo.has(x)) {
      if (memo.size >= MOST_KEPT) memo.clear();
      memo.set(x, []);
    }
    const known = memo.get(x);
    return known[cell] ?? (known[cell] = family.log(cell, x));
  };
  return {
    scope: given.scope,
    children: [given.child],
    /**
     * @param {{value: (v: number) => any}} findings
     * @param {number[]} cells  Those that the findings about the parents allow.
     */
    prepare(findings, cells) {
      const x = findings.value(given.child);
      const logs = x === undefined ? null : cells.map((cell) => log(cell, x));
      return { logs, mixture: (_, weights) => leafMixture({ ...family, log }, cells, weights) };
    },
  };
}

/** @returns {Mixture} */
function leafMixture(family, cells, weights) {
  const moments = cells.map((cell) => family.moments(cell));
  return {
    weights,
    means: moments.map((m) => m[0]),
    variances: moments.map((m) => m[1]),
    logs: (x) => cells.map((cell) => family.log(cell, x)),
    whole: !!family.whole,
    normal: false,
    support: family.support || [-Infinity, Infinity],
    jumps: family.jumps || [],
  };
}

// ------------------------------------------------------------------------------ vectors of counts

/**
 * Terms of the log potential of counts, by item: `at(item, count, cell)`, and of all of them:
 * `rest(total, cell)`. Items that are not named occur 0 times.
 */
const ITEMS = {
  multinomial: ({ numbers, n }) => ({
    share: (item, cell) => numbers[cell * n + item],
    at: (item, count, cell) => timesLog(count, numbers[cell * n + item]),
    rest: () => 0,
  }),
  dirichlet_multinomial: ({ numbers, n, cells }) => {
    const sums = Array.from({ length: cells }, (_, c) =>
      numbers.subarray(c * n, (c + 1) * n).reduce((a, b) => a + b, 0));
    return {
      share: (item, cell) => numbers[cell * n + item] / sums[cell],
      at: (item, count, cell) =>
        logGamma(numbers[cell * n + item] + count) - logGamma(numbers[cell * n + item]),
      rest: (total, cell) => (total > 0 ? logGamma(sums[cell]) - logGamma(sums[cell] + total) : 0),
    };
  },
  presence: ({ numbers, n, threshold }) => ({
    share: (item, cell) => numbers[cell * n + item],
    at: (item, count, cell) =>
      count > threshold ? Math.log(numbers[cell * n + item]) : Math.log1p(-numbers[cell * n + item]),
    rest: () => 0,
    absent: true,
  }),
};

/**
 * A leaf that is a vector of counts, raised to an exponent for each cell if there are any.
 *
 * @param {{child: number, scope: number[], cells: number, family: string, n: number,
 *   exponents?: Float64Array}} given
 */
export function itemsLeaf(given) {
  const { child, n, exponents } = given;
  const family = ITEMS[given.family](given);
  const power = (cell, log) => (exponents ? (exponents[cell] === 0 ? 0 : exponents[cell] * log) : log);
  /** @returns {{item: number|null, logs: (cell: number) => number}[]} */
  const terms = (counts) => {
    const named = family.absent ? Array.from({ length: n }, (_, i) => i) : Object.keys(counts).map(Number);
    const items = named.filter((item) => family.absent || counts[item]);
    const total = items.reduce((sum, item) => sum + (counts[item] || 0), 0);
    const found = items.map((item) => ({
      item,
      logs: (cell) => power(cell, family.at(item, counts[item] || 0, cell)),
    }));
    if (given.family === "dirichlet_multinomial" && total > 0) {
      found.push({ item: null, logs: (cell) => power(cell, family.rest(total, cell)) });
    }
    return found;
  };
  return {
    scope: given.scope,
    children: [child],
    terms,
    prepare(findings, cells) {
      const counts = findings.value(child);
      const parts = counts === undefined ? [] : terms(counts);
      const logs = counts === undefined ? null
        : cells.map((cell) => parts.reduce((sum, part) => sum + part.logs(cell), 0));
      return {
        logs,
        shares(weights) {
          const p = new Float64Array(n);
          cells.forEach((cell, k) => {
            for (let i = 0; i < n; i++) p[i] += weights[k] * family.share(i, cell);
          });
          return p;
        },
      };
    },
  };
}

// ------------------------------------------------------------------------------------ mixtures

/** @param {[number, Mixture][]} parts  Mixtures of one number, with their weights. */
export function joinedMixture(parts) {
  const flat = (of) => parts.flatMap(([w, m]) => Array.from(of(m), (x, k) => [x, w, k, m]));
  const all = parts.map(([, m]) => m);
  return {
    weights: flat((m) => m.weights).map(([x, w]) => x * w),
    means: flat((m) => m.means).map(([x]) => x),
    variances: flat((m) => m.variances).map(([x]) => x),
    logs: (x) => all.flatMap((m) => Array.from(m.logs(x))),
    whole: all.every((m) => m.whole),
    normal: all.every((m) => m.normal),
    support: [Math.min(...all.map((m) => m.support[0])), Math.max(...all.map((m) => m.support[1]))],
    jumps: all.flatMap((m) => m.jumps),
  };
}

/** Density of a mixture at a number; of a count its probability. */
export function densityAt({ weights, logs }, x) {
  const found = logs(x);
  let sum = 0;
  for (let k = 0; k < weights.length; k++) if (weights[k] > 0) sum += weights[k] * Math.exp(found[k]);
  return sum;
}

/** @param {Mixture} mixture */
export function meanAndSd({ weights, means, variances }) {
  let mean = 0, variance = 0;
  for (let k = 0; k < weights.length; k++) if (weights[k] > 0) mean += weights[k] * means[k];
  for (let k = 0; k < weights.length; k++) {
    if (weights[k] > 0) variance += weights[k] * (variances[k] + (means[k] - mean) ** 2);
  }
  return [mean, Math.sqrt(variance)];
}

/** Where the components lie: from the lowest to the highest of their means, less and plus some sds. */
export function reach({ weights, means, variances, support, whole }, sds) {
  let low = Infinity, high = -Infinity;
  for (let k = 0; k < weights.length; k++) {
    if (!(weights[k] > 1e-4)) continue;
    // A distribution without variance is drawn around its centre.
    const away = sds * Math.sqrt(variances[k]);
    const centre = Number.isFinite(means[k]) ? means[k] : 0, span = Number.isFinite(away) ? away : 10;
    low = Math.min(low, centre - span);
    high = Math.max(high, centre + span);
  }
  low = Math.max(low, support[0]);
  high = Math.min(high, support[1]);
  return whole ? [Math.floor(low), Math.ceil(high)] : [low, high];
}

/**
 * A posterior as the page draws it.
 *
 * @param {Mixture} mixture
 * @param {number} [n]  Number of points, or of steps between counts.
 */
export function drawn(mixture, n = 120) {
  const [mean, sd] = meanAndSd(mixture), [low, high] = reach(mixture, 3.5), x = [];
  const step = mixture.whole ? Math.max(1, Math.ceil((high - low) / n)) : (high - low) / n;
  // A density may be infinite at an end of its support.
  const inset = mixture.whole ? 0 : step / 2;
  for (let at = low + inset; at <= high && x.length <= n; at += step) x.push(at);
  const y = x.map((at) => densityAt(mixture, at));
  return { mean, sd, density: { x, y, whole: mixture.whole } };
}
