// Plans a clique tree for a pattern of findings, where slicing the tree of the file leaves too much.

import { HARD, prepared } from "./compiler.js";

/**
 * Return the clique tree of the free variables by minimum weighted fill-in.
 * @param {import("./compiler.js").Tree} tree whose factors are placed anew
 * @param {Uint8Array} kind
 */
export function planned(tree, kind) {
  const { cards, scopes } = tree, near = new Map();
  for (let v = 0; v < cards.length; v++) if (kind[v] !== HARD) near.set(v, new Set());
  const free = scopes.map((scope) => scope.filter((v) => kind[v] !== HARD));
  for (const scope of free) join(near, scope);
  const place = new Int32Array(cards.length).fill(-1), cliques = [], price = new Map();
  for (const v of near.keys()) price.set(v, fillIn(near, v, cards));
  while (near.size) {
    let best = -1, lowest = Infinity;
    for (const [v, cost] of price) {
      if (cost < lowest) {
        best = v;
        lowest = cost;
      }
    }
    const around = [...near.get(best)];
    place[best] = cliques.length;
    cliques.push([best, ...around]);
    join(near, around);
    for (const v of around) near.get(v).delete(best);
    near.delete(best);
    price.delete(best);
    const touched = new Set(around);
    for (const v of around) for (const u of near.get(v)) touched.add(u);
    for (const v of touched) price.set(v, fillIn(near, v, cards));
  }
  for (const members of cliques) {
    const rest = members.splice(1).sort((a, b) => place[a] - place[b]);
    members.push(...rest);
  }
  const first = (members) => Math.min(...members.map((v) => place[v]));
  return prepared({
    cards,
    scopes,
    child: tree.child,
    cliques,
    residual: cliques.map(() => 1),
    parent: cliques.map((members) => (members.length > 1 ? place[members[1]] : -1)),
    home: free.map((scope) => (scope.length ? first(scope) : -1)),
  });
}

function join(near, scope) {
  for (const a of scope) for (const b of scope) if (a !== b) near.get(a).add(b);
}

/** The entries of the tables over pairs that eliminating a variable would join. */
function fillIn(near, v, cards) {
  const around = [...near.get(v)];
  let price = 0;
  for (let i = 0; i < around.length; i++) {
    const beside = near.get(around[i]);
    for (let k = i + 1; k < around.length; k++) {
      if (!beside.has(around[k])) price += cards[around[i]] * cards[around[k]];
    }
  }
  return price;
}
