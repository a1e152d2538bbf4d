/**
 * Linear Gaussians. Continuous variables joined by continuous arcs are one component (Lauritzen
 * 1992): given the configuration of all its discrete parents, its variables are jointly normal.
 *
 * @typedef {Object} Node  A variable of a component, after its parents.
 * @property {number} child
 * @property {[number, number][]} own  Own discrete parents: place in the scope, and step in arrays.
 * @property {number[]} continuous  Continuous parents.
 * @property {Float64Array} mean  By configuration of the own discrete parents.
 * @property {Float64Array} variance
 * @property {Float64Array} slopes  By configuration and continuous parent.
 */
import { normalLog } from "./leaves.js";

/**
 * @param {{scope: number[], steps: number[], cards: number[], nodes: Node[]}} given  `steps` and
 *   `cards` number the cells: configurations of the scope.
 */
export function gaussianComponent({ scope, steps, cards, nodes }) {
  const children = nodes.map((node) => node.child);
  return {
    scope,
    children,
    prepare(findings, cells) {
      const values = new Map();
      for (const v of children) {
        const x = findings.value(v);
        if (x !== undefined) values.set(v, x);
      }
      const free = children.filter((v) => !values.has(v));
      const place = new Map(free.map((v, k) => [v, k]));
      /** @type {{log: number, mean: Float64Array, cov: Float64Array}[]} */
      const found = cells.map((cell) => {
        const states = steps.map((step, k) => Math.floor(cell / step) % cards[k]);
        return conditioned(nodes, states, values, place);
      });
      return {
        logs: values.size ? found.map((given) => given.log) : null,
        mixture(v, weights) {
          const k = place.get(v), n = free.length;
          const means = found.map((given) => given.mean[k]);
          const variances = found.map((given) => Math.max(given.cov[k * n + k], 0));
          return {
            weights,
            means,
            variances,
            logs: (x) => means.map((mean, c) => normalLog(x, mean, variances[c])),
            whole: false,
            normal: true,
            support: [-Infinity, Infinity],
            jumps: [],
          };
        },
      };
    },
  };
}

/**
 * The free variables of a component given the observed ones, in one configuration.
 *
 * Variables are taken in the order of the arcs: a free one extends means and covariances, an observed
 * one with free parents conditions them (the update of Kalman 1960), any other is a factor.
 */
function conditioned(nodes, states, values, place) {
  const n = place.size, mean = new Float64Array(n), cov = new Float64Array(n * n);
  const column = new Float64Array(n);
  let log = 0;
  for (const { child, own, continuous, mean: m, variance: v, slopes } of nodes) {
    let at = 0;
    for (const [k, step] of own) at += states[k] * step;
    let centre = m[at], spread = v[at], linked = false;
    column.fill(0);
    for (let p = 0; p < continuous.length; p++) {
      const slope = slopes[at * continuous.length + p], x = values.get(continuous[p]);
      if (x !== undefined) {
        centre += slope * x;
        continue;
      }
      const q = place.get(continuous[p]);
      linked = true;
      centre += slope * mean[q];
      for (let j = 0; j < n; j++) column[j] += slope * cov[j * n + q];
    }
    if (linked) {
      for (let p = 0; p < continuous.length; p++) {
        const q = place.get(continuous[p]);
        if (q !== undefined) spread += slopes[at * continuous.length + p] * column[q];
      }
    }
    const k = place.get(child);
    if (k !== undefined) {
      mean[k] = centre;
      for (let j = 0; j < n; j++) cov[j * n + k] = cov[k * n + j] = column[j];
      cov[k * n + k] = spread;
      continue;
    }
    const x = values.get(child), gain = (x - centre) / spread;
    log += normalLog(x, centre, spread);
    if (!linked) continue;
    for (let j = 0; j < n; j++) mean[j] += column[j] * gain;
    for (let j = 0; j < n; j++) {
      const share = column[j] / spread;
      if (share) for (let q = 0; q < n; q++) cov[j * n + q] -= share * column[q];
    }
  }
  return { log, mean, cov };
}
