/**
 * A discrete child whose distribution is the mean of those of trees, and whose parents are roots that
 * have no other child.
 *
 * Parents that are not observed are summed out: a walk takes both branches of a split, each with the
 * probability of its states given the splits above. Likelihoods of a parent's states join its
 * distribution first, so that they need no table over all parents.
 */

/**
 * @param {{child: number, card: number, scope: number[], trees: number[], feature: Float64Array,
 *   left: Float64Array, right: Float64Array, low: Float64Array, high: Float64Array,
 *   share: Float64Array, values: Float64Array, roots: {variable: number, prior: Float64Array|null,
 *   groups: Float64Array|null}[]}} given
 *   `low` and `high` are the groups of states that go left, 31 in each, as bits; of a split on a
 *   number `low` is the threshold, up to which numbers go left, and `share` has the log probabilities
 *   of all left and then of all right branches.
 *   At leaves `left` is the row of `values`.
 */
export function treesLocal(given) {
  const { child, card, roots, feature, left, right } = given, logs = given.values.map(Math.log);
  const parents = roots.map((root) => root.variable);
  // Sets of groups as the lower and the higher half of their bits; of a threshold they mean nothing.
  const low = Int32Array.from(given.low), high = Int32Array.from(given.high);

  /** Distributions of the parents' states and groups times their likelihoods; of a number its value. */
  const entered = (findings) => roots.map(({ variable, prior, groups }) => {
    if (!prior) return { value: findings.value(variable) };
    const known = findings.weights(variable), states = known ? prior.map((p, k) => p * known[k]) : prior;
    const found = { states, groups: new Float64Array(62), low: 0, high: 0, mass: 0 };
    states.forEach((p, state) => {
      const g = groups[state];
      found.groups[g] += p;
      if (p > 0 && g < 31) found.low |= 1 << g;
      else if (p > 0) found.high |= 1 << (g - 31);
    });
    found.mass = massOf(found.groups, found.low, found.high);
    return found;
  });

  /** Visit the leaves that a walk reaches: their place in `values`, and the log of their probability. */
  const walk = (node, mass, own, visit) => {
    const place = feature[node];
    if (place < 0) {
      visit(left[node] * card, mass);
      return;
    }
    const known = own[place];
    if (!known.groups) {
      if (known.value !== undefined) walk((known.value > given.low[node] ? right : left)[node], mass, own, visit);
      else [left, right].forEach((below, side) => walk(below[node], mass + given.share[side * left.length + node], own, visit));
      return;
    }
    const { low: l, high: h, mass: whole } = known, below = l & low[node], above = h & high[node];
    if (below === l && above === h) walk(left[node], mass, own, visit);
    else if (!below && !above) walk(right[node], mass, own, visit);
    else {
      const go = (to, some, more) => {
        known.low = some;
        known.high = more;
        known.mass = massOf(known.groups, some, more);
        walk(to, mass + Math.log(known.mass / whole), own, visit);
      };
      go(left[node], below, above);
      go(right[node], l & ~below, h & ~above);
      known.low = l;
      known.high = h;
      known.mass = whole;
    }
  };

  /** Visit the leaves of all trees. */
  const visitAll = (own, visit) => {
    let mass = -Math.log(given.trees.length);
    for (const known of own) if (known.groups) mass += Math.log(known.mass);
    if (mass > -Infinity) for (const root of given.trees) walk(root, mass, own, visit);
  };

  /** The posteriors of all parents, by one walk to leaves weighed by what else is known. */
  const parentBeliefs = (own, found, belief) => {
    const sums = own.map(({ groups }) => groups && new Float64Array(62));
    visitAll(own, (row, mass) => {
      let weight = 0;
      for (let c = 0; c < card; c++) weight += belief[c] && belief[c] * Math.exp(mass + logs[row + c] - found[c]);
      for (let k = 0; k < own.length; k++) {
        if (sums[k]) spread(own[k], weight / own[k].mass, sums[k]);
      }
    });
    return sums.map((sum, k) => {
      if (!sum) return null;
      const { groups, states } = own[k];
      const p = states.map((share, state) => {
        const g = roots[k].groups[state];
        return share > 0 ? (sum[g] / groups[g]) * share : 0;
      });
      const total = sumOf(p);
      return p.map((x) => x / total);
    });
  };

  return {
    scope: given.scope,
    children: [],
    parents,
    prepare(findings, cells) {
      const own = entered(findings), found = new Float64Array(card).fill(-Infinity);
      visitAll(own, (row, mass) => {
        for (let c = 0; c < card; c++) found[c] = logSum(found[c], mass + logs[row + c]);
      });
      let beliefs = null;
      return {
        logs: cells.map((cell) => found[cell]),
        /**
         * The posterior of a parent.
         * @param {ArrayLike<number>} belief  That of the child's states.
         */
        parent(variable, belief) {
          beliefs = beliefs || parentBeliefs(own, found, belief);
          return beliefs[parents.indexOf(variable)];
        },
      };
    },
  };
}

/** The log of a sum, of the logs of its terms. */
export function logSum(a, b) {
  if (a === -Infinity) return b;
  return a > b ? a + Math.log1p(Math.exp(b - a)) : b + Math.log1p(Math.exp(a - b));
}

/** The sum over a set of groups. */
function massOf(groups, low, high) {
  let sum = 0;
  for (let bits = low; bits; bits &= bits - 1) sum += groups[31 - Math.clz32(bits & -bits)];
  for (let bits = high; bits; bits &= bits - 1) sum += groups[62 - Math.clz32(bits & -bits)];
  return sum;
}

/** Add what a leaf says to the groups that lead to it. */
function spread({ groups, low, high }, share, sum) {
  for (let bits = low; bits; bits &= bits - 1) {
    const g = 31 - Math.clz32(bits & -bits);
    sum[g] += share * groups[g];
  }
  for (let bits = high; bits; bits &= bits - 1) {
    const g = 62 - Math.clz32(bits & -bits);
    sum[g] += share * groups[g];
  }
}

export function sumOf(numbers) {
  let sum = 0;
  for (let k = 0; k < numbers.length; k++) sum += numbers[k];
  return sum;
}
