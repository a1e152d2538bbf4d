// Runs programs in plain JavaScript: on probabilities, as the kernel in WebAssembly does, and on
// logarithms, with sums or maxima.

import {
  ADD, AGAIN, CLEAR, CONTRACT, CONTRACT_HEAD, COPY, DIVIDE, HEAD, LOOP, MULTIPLY, ONES, RESULT, SCALE,
} from "./compiler.js";

/** Products below 2 ** -1000 may have lost digits: the program is then run on logarithms. */
export const SMALLEST_LOG2 = -1000;
const TOO_SMALL = NaN;

/** Walk over the dimensions of an instruction but the two innermost, which `inner` does. */
function walk(code, at, target, source, counters, inner) {
  const n = code[at + 5], first = at + HEAD;
  for (let k = 0; k < n - 2; k++) counters[k] = 0;
  for (;;) {
    inner(target, source, first + 3 * (n - 2));
    let k = n - 3;
    for (; k >= 0; k--) {
      const d = first + 3 * k;
      target += code[d + 1];
      source += code[d + 2];
      if (++counters[k] < code[d]) break;
      target -= code[d] * code[d + 1];
      source -= code[d] * code[d + 2];
      counters[k] = 0;
    }
    if (k < 0) return;
  }
}

/** Walk over the dimensions of CONTRACT but the innermost, which `inner` does. */
function walkThree(code, at, target, first, second, counters, inner) {
  const n = code[at + 7] - 1, begin = at + CONTRACT_HEAD;
  for (let k = 0; k < n; k++) counters[k] = 0;
  for (;;) {
    inner(target, first, second, begin + 4 * n);
    let k = n - 1;
    for (; k >= 0; k--) {
      const d = begin + 4 * k, back = ++counters[k] < code[d] ? 0 : code[d];
      target += (1 - back) * code[d + 1];
      first += (1 - back) * code[d + 2];
      second += (1 - back) * code[d + 3];
      if (!back) break;
      counters[k] = 0;
    }
    if (k < 0) return;
  }
}

/** How programs run on probabilities. */
const PROBABILITIES = {
  zero: 0,
  one: 1,
  apply(op, code, at, T, target, S, source, counters) {
    walk(code, at, target, source, counters, (a, b, d) => {
      const m = code[d], ta = code[d + 1], sa = code[d + 2];
      const n = code[d + 3], t = code[d + 4], s = code[d + 5];
      for (let j = 0; j < m; j++, a += ta, b += sa) {
        if (op === MULTIPLY) {
          if (s === 0) {
            const factor = S[b];
            for (let i = 0, x = a; i < n; i++, x += t) T[x] *= factor;
          } else for (let i = 0, x = a, y = b; i < n; i++, x += t, y += s) T[x] *= S[y];
        } else if (op === ADD) {
          if (t === 0) {
            let sum = 0;
            for (let i = 0, y = b; i < n; i++, y += s) sum += S[y];
            T[a] += sum;
          } else for (let i = 0, x = a, y = b; i < n; i++, x += t, y += s) T[x] += S[y];
        } else for (let i = 0, x = a, y = b; i < n; i++, x += t, y += s) T[x] = S[y];
      }
    });
  },
  contract(code, at, W, target, X, first, Y, second, counters) {
    walkThree(code, at, target, first, second, counters, (a, x, y, d) => {
      const n = code[d], t = code[d + 1], s = code[d + 2], r = code[d + 3];
      if (t === 0) {
        let sum = 0;
        for (let i = 0; i < n; i++, x += s, y += r) sum += X[x] * Y[y];
        W[a] += sum;
      } else if (r === 0) {
        const factor = Y[y];
        for (let i = 0; i < n; i++, a += t, x += s) W[a] += X[x] * factor;
      } else for (let i = 0; i < n; i++, a += t, x += s, y += r) W[a] += X[x] * Y[y];
    });
  },
  divide(W, target, n, source) {
    for (let k = 0; k < n; k++) if (W[source + k] > 0) W[target + k] /= W[source + k];
  },
  /** Divide by the peak; return [the log of the peak, log2 of the smallest relative entry]. */
  scale(W, target, n) {
    let peak = 0, lowest = Infinity;
    for (let k = target; k < target + n; k++) {
      const x = W[k];
      if (x > peak) peak = x;
      if (x > 0 && x < lowest) lowest = x;
    }
    if (peak === 0) return [-Infinity, 0];
    const factor = 1 / peak;
    for (let k = target; k < target + n; k++) W[k] *= factor;
    return [Math.log(peak), lowest < peak ? Math.log2(lowest * factor) : 0];
  },
  result(W, target, n, out, to) {
    let sum = 0;
    for (let k = 0; k < n; k++) sum += W[target + k];
    if (!(sum > 0)) return -Infinity;
    for (let k = 0; k < n; k++) out[to + k] = W[target + k] / sum;
    return Math.log(sum);
  },
};

function logSum(a, b) {
  if (a === -Infinity) return b;
  return a > b ? a + Math.log1p(Math.exp(b - a)) : b + Math.log1p(Math.exp(a - b));
}

/** How programs run on logarithms; `sum` joins two of them. */
const onLogarithms = (sum) => ({
  zero: -Infinity,
  one: 0,
  apply(op, code, at, T, target, S, source, counters) {
    walk(code, at, target, source, counters, (a, b, d) => {
      for (let j = 0; j < code[d]; j++, a += code[d + 1], b += code[d + 2]) {
        for (let i = 0, x = a, y = b; i < code[d + 3]; i++, x += code[d + 4], y += code[d + 5]) {
          T[x] = op === MULTIPLY ? T[x] + S[y] : op === ADD ? sum(T[x], S[y]) : S[y];
        }
      }
    });
  },
  contract(code, at, W, target, X, first, Y, second, counters) {
    walkThree(code, at, target, first, second, counters, (a, x, y, d) => {
      for (let i = 0; i < code[d]; i++, a += code[d + 1], x += code[d + 2], y += code[d + 3]) {
        W[a] = sum(W[a], X[x] + Y[y]);
      }
    });
  },
  divide(W, target, n, source) {
    for (let k = 0; k < n; k++) if (W[source + k] > -Infinity) W[target + k] -= W[source + k];
  },
  scale(W, target, n) {
    let peak = -Infinity;
    for (let k = target; k < target + n; k++) peak = Math.max(peak, W[k]);
    if (peak > -Infinity) for (let k = target; k < target + n; k++) W[k] -= peak;
    return [peak, 0];
  },
  result(W, target, n, out, to) {
    let total = -Infinity;
    for (let k = 0; k < n; k++) total = sum(total, W[target + k]);
    if (total === -Infinity) return total;
    for (let k = 0; k < n; k++) out[to + k] = Math.exp(W[target + k] - total);
    return total;
  },
});

export const SUMS = PROBABILITIES, LOG_SUMS = onLogarithms(logSum), MAXIMA = onLogarithms(Math.max);

/**
 * Run a program; return the log of the sum (or maximum) of the product of all that it multiplies:
 * minus infinity if the findings are impossible, NaN if numbers may have become too small.
 * @param {Int32Array} code
 * @param {Float64Array} tables entries of all tables, or their logarithms
 * @param {Int32Array} offsets first entry of each table that agrees with the findings
 * @param {Float64Array} minima log2 of a lower bound of the products of each clique; overwritten
 * @param {Float64Array} W the workspace
 * @param {Float64Array} out the marginals
 * @param {typeof PROBABILITIES} algebra SUMS, LOG_SUMS or MAXIMA
 */
export function run(code, tables, offsets, minima, W, out, algebra) {
  const counters = new Int32Array(64), turn = new Int32Array(64);
  let mass = 0, loop = 0, turns = 0, at = 0;
  while (at < code.length) {
    const op = code[at], target = code[at + 1], n = code[at + 2];
    if (op <= ONES) {
      let to = code[at + 2], from = code[at + 3];
      const isTable = code[at + 4], outer = code[at + 6];
      if (isTable) from = offsets[from];
      for (let k = 0, q = at + HEAD + 3 * code[at + 5]; k < outer; k++, q += 2) {
        to += turn[k] * code[q];
        from += turn[k] * code[q + 1];
      }
      if (op === ONES) fillWalk(code, at, W, to, algebra.one);
      else algebra.apply(op, code, at, W, to, isTable ? tables : W, from, counters);
      at += code[at + 1];
    } else if (op === CONTRACT) {
      const [first, second] = [at + 3, at + 5].map((k) => (code[k + 1] ? offsets[code[k]] : code[k]));
      const X = code[at + 4] ? tables : W, Y = code[at + 6] ? tables : W;
      algebra.contract(code, at, W, code[at + 2], X, first, Y, second, counters);
      at += code[at + 1];
    } else if (op === CLEAR) {
      W.fill(algebra.zero, target, target + n);
      at += 3;
    } else if (op === SCALE || op === DIVIDE) {
      const clique = code[at + (op === SCALE ? 3 : 4)];
      if (op === DIVIDE && code[at + 3] >= 0) algebra.divide(W, target, n, code[at + 3]);
      const [peak, bound] = algebra.scale(W, target, n);
      if (peak === -Infinity) return lost(minima) ? TOO_SMALL : -Infinity;
      if (op === SCALE) {
        mass += peak;
        minima[clique] += bound;
      }
      if (minima[clique] + (op === DIVIDE ? bound : 0) < SMALLEST_LOG2) return TOO_SMALL;
      at += 5;
    } else if (op === RESULT) {
      const sum = algebra.result(W, target, n, out, code[at + 3]);
      if (sum === -Infinity) return lost(minima) ? TOO_SMALL : -Infinity;
      if (code[at + 4]) mass += sum;
      at += 5;
    } else if (op === LOOP) {
      loop = at + 2;
      turns = 1;
      for (let k = 0; k < code[at + 1]; k++) {
        turns *= code[loop + k];
        turn[k] = 0;
      }
      at += 2 + code[at + 1];
    } else if (op === AGAIN) {
      for (let k = code[loop - 1] - 1; k >= 0; k--) {
        if (++turn[k] < code[loop + k]) break;
        turn[k] = 0;
      }
      at = --turns > 0 ? code[at + 1] : at + 2;
    } else throw new Error(`Unknown instruction ${op} at ${at}.`);
  }
  return mass;
}

/** A message vanished: was a product too small for a number? */
function lost(minima) {
  return minima.some((bound) => bound < SMALLEST_LOG2);
}

function fillWalk(code, at, W, to, value) {
  let n = 1;
  for (let k = 0; k < code[at + 5]; k++) n *= code[at + HEAD + 3 * k];
  W.fill(value, to, to + n);
}
