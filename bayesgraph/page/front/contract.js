// How a sum of a product of two tables is formed without writing the product: an order of its loops
// as in a product of matrices, and which tables are first brought into that order.

// Costs, in the time of an entry in a long run: an entry of two sources that share the innermost axes,
// the begin of a run, a round of the outer loops, a rearranged entry, an instruction.
const ALONE = 2, BROKEN = 12, NESTED = 30, MOVED = 8, CALL = 150, MADE = 2;
/** Kinds of axes: 1 if the sum has it, 2 if the first source has it, 4 if the second has it. */
const OUTSIDE = [1, 7, 3, 5, 0, 2, 4, 6];
/** Kinds of the innermost axes of orders that are tried, and whether the sum is rearranged there. */
const TRIALS = [[3, true], [5, true], [7, true], [6, false]];

/** Steps of an array with its axes in an order, and its entries. */
export function packed(counts, steps, order) {
  const found = new Array(counts.length).fill(0);
  let n = 1;
  for (let i = order.length - 1; i >= 0; i--) {
    const k = order[i];
    if (!steps[k]) continue;
    found[k] = n;
    n *= counts[k];
  }
  return { steps: found, n };
}

/** Whether a source can be read as it is: runs are beside each other, and the runs evenly spaced. */
export function isInOrder(counts, steps, order, t) {
  let expected = 1, inside = true, innermost = true;
  for (let i = order.length - 1; i >= 0; i--) {
    const k = order[i];
    if (counts[k] > 1 && !steps[k]) innermost = false;
    if (counts[k] === 1 || !steps[k]) continue;
    if (inside && !t[k]) {
      inside = false;
      expected = innermost ? 1 : steps[k];
    }
    innermost = false;
    if (!inside && t[k]) return true;
    if (steps[k] !== expected) return false;
    expected *= counts[k];
  }
  return true;
}

/**
 * Return the axes as nested loops, the outermost first, and whether the sum is formed in this order and
 * rearranged afterwards. `t`, `x` and `y` are the steps of the sum and of its two sources, 0 for axes that
 * they lack. The innermost loop has axes that the sum shares with one source or with both, and around it
 * are those that are summed out.
 */
export function loops(counts, t, x, y) {
  const width = counts.length, size = new Array(8).fill(1), entries = [1, 1, 1, 1];
  const kind = counts.map((_, k) => (t[k] ? 1 : 0) + (x[k] ? 2 : 0) + (y[k] ? 4 : 0));
  // As it is, the innermost loop has the last axes of the sum that are of one kind.
  let first = width, last = -1, run = 1, ended = false;
  for (let k = width - 1; k >= 0; k--) {
    const g = kind[k], n = counts[k];
    size[g] *= n;
    entries[0] *= n;
    for (let i = 0; i < 3; i++) if ((g >> i) & 1) entries[i + 1] *= n;
    if (n === 1 || !t[k] || ended) continue;
    if (last < 0) last = g;
    if (g === last) {
      first = k;
      run *= n;
    } else ended = true;
  }
  let best = null, lowest = Infinity;
  const attempt = (g, begin, length, asIs, moved) => {
    const order = [], inner = (k) => kind[k] === g && k >= begin;
    if (asIs) for (let k = 0; k < width; k++) if (t[k] && !inner(k)) order.push(k);
    for (const h of OUTSIDE) {
      for (let k = 0; k < width; k++) {
        if (kind[k] === h && !inner(k) && !(asIs && t[k])) order.push(k);
      }
    }
    for (let k = 0; k < width; k++) if (inner(k)) order.push(k);
    let cost = entries[0] * ((g >= 6 ? ALONE : 1) + BROKEN / length + NESTED / (length * size[6]));
    if (moved) cost += MOVED * entries[1] + CALL;
    if (!isInOrder(counts, x, order, t)) cost += MOVED * entries[2] + CALL;
    if (!isInOrder(counts, y, order, t)) cost += MOVED * entries[3] + CALL;
    if (cost >= lowest) return;
    lowest = cost;
    best = { order, moved };
  };
  attempt(last, first, run, true, false);
  for (const [g, moved] of TRIALS) if (size[g] > 1) attempt(g, 0, size[g], !moved, moved);
  return best;
}

/**
 * Of several sources, the two to multiply first, with the axes that their product keeps: those of the sum or
 * of the others. The cheapest is taken; products of `made`, by their keys, cost nothing more.
 */
export function cheapestPair(counts, t, sources, made) {
  let best = null, lowest = Infinity;
  const size = (axes) => counts.reduce((n, count, k) => (axes[k] ? n * count : n), 1);
  sources.forEach((first, i) => sources.slice(i + 1).forEach((second) => {
    const others = sources.filter((other) => other !== first && other !== second);
    const joint = counts.map((_, k) => first.steps[k] || second.steps[k]);
    const around = counts.map((_, k) => t[k] || others.some(({ steps }) => steps[k]));
    const kept = counts.map((_, k) => (joint[k] && around[k] ? 1 : 0));
    const key = [first.source, second.source, kept].join();
    const left = size(counts.map((_, k) => kept[k] || around[k]));
    const cost = (made.has(key) ? 0 : size(joint) + MADE * size(kept)) + left;
    if (cost >= lowest) return;
    lowest = cost;
    best = { first, second, others, joint, kept, key };
  }));
  return best;
}
