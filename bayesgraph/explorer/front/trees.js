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
 *   number `low` is the threshold, up to which numbers go left, and `share` the probability of that.
 *   At leaves `left` is the row of `values`.
 */
export function treesLocal(given) {
  const { child, card, roots, values } = given;
  const parents = roots.map((root) => root.variable);

  /** Distributions of the parents' states times their likelihoods; of a number its value. */
  const entered = (findings) => roots.map(({ variable, prior }) => {
    if (!prior) return findings.value(variable);
    const known = findings.weights(variable);
    return known ? prior.map((p, state) => p * known[state]) : prior;
  });

  /** Visit the leaves that a walk reaches: their row of `values`, their probability, and `own`. */
  const walk = (node, mass, own, visit) => {
    const place = given.feature[node];
    if (place < 0) return visit(given.left[node] * card, mass, own);
    const left = given.left[node], right = given.right[node], known = own[place];
    if (!roots[place].prior) {
      const share = known === undefined ? given.share[node] : known <= given.low[node] ? 1 : 0;
      if (share > 0) walk(left, mass * share, own, visit);
      if (share < 1) walk(right, mass * (1 - share), own, visit);
      return undefined;
    }
    const { groups } = roots[place];
    const there = known.map((p, state) => {
      const g = groups[state];
      return (g < 31 ? (given.low[node] >>> g) & 1 : (given.high[node] >>> (g - 31)) & 1) ? p : 0;
    });
    const whole = sumOf(known), below = sumOf(there);
    if (below > 0) {
      own[place] = there;
      walk(left, (mass * below) / whole, own, visit);
    }
    if (there.some((p, state) => p !== known[state])) {
      own[place] = known.map((p, state) => (there[state] ? 0 : p));
      walk(right, (mass * (whole - below)) / whole, own, visit);
    }
    own[place] = known;
    return undefined;
  };

  /** Visit the leaves of all trees. */
  const visitAll = (own, visit) => {
    let mass = 1 / given.trees.length;
    own.forEach((known, k) => { if (roots[k].prior) mass *= sumOf(known); });
    if (mass > 0) for (const root of given.trees) walk(root, mass, own, visit);
  };

  return {
    scope: given.scope,
    children: [],
    parents,
    prepare(findings, cells) {
      const own = entered(findings), found = new Float64Array(card);
      visitAll(own, (row, mass) => {
        for (let c = 0; c < card; c++) found[c] += mass * values[row + c];
      });
      let beliefs = null;
      return {
        logs: cells.map((cell) => Math.log(found[cell])),
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

  /** The posteriors of all parents, by one walk to leaves weighed by what else is known. */
  function parentBeliefs(own, found, belief) {
    const rest = Array.from(belief, (p, c) => (p > 0 ? p / found[c] : 0));
    const sums = own.map((known, k) => (roots[k].prior ? new Float64Array(known.length) : null));
    visitAll(own, (row, mass, alive) => {
      let weight = 0;
      for (let c = 0; c < card; c++) weight += rest[c] * values[row + c];
      weight *= mass;
      sums.forEach((sum, k) => {
        if (!sum) return;
        const known = alive[k], share = weight / sumOf(known);
        for (let state = 0; state < sum.length; state++) sum[state] += share * known[state];
      });
    });
    return sums.map((sum) => {
      const total = sum && sumOf(sum);
      return sum && sum.map((p) => p / total);
    });
  }
}

export function sumOf(numbers) {
  let sum = 0;
  for (let k = 0; k < numbers.length; k++) sum += numbers[k];
  return sum;
}
