// Places cards in rows, parents above children, so that arcs run between cards and never below them.
// The method is that of Sugiyama, Tagawa and Toda (1981): ranks, orders by barycentres, places by
// least squares.

const BESIDE = 22, BELOW = 36, ROUNDS = 10;
// Width of an arc that passes a row, and what it weighs to be straight.
const LANE = 12, LANE_WEIGHT = 4;

/**
 * Return the centre of each card, the points of each arc, and the size of the whole.
 * @param {{width: number, height: number}[]} sizes
 * @param {number[][]} arcs pairs of a parent and a child, by their place in `sizes`
 */
export function layered(sizes, arcs) {
  const rank = ranksOfArcs(sizes, arcs);
  const nodes = sizes.map((size, k) => ({ ...size, rank: rank[k], x: 0, weight: 1, up: [], down: [] }));
  const paths = arcs.map(([a, b]) => threaded(nodes, a, b));
  const rows = [];
  for (const node of nodes) (rows[node.rank] ??= []).push(node);
  ordered(rows);
  placed(rows);
  stacked(rows);
  return finished(sizes, nodes, paths);
}

/** Longest ways from the roots, roots drawn down to their children, rows cut that are too wide. */
function ranksOfArcs(sizes, arcs) {
  const n = sizes.length, below = sizes.map(() => []), rank = new Array(n).fill(0), missing = new Array(n).fill(0);
  for (const [a, b] of arcs) {
    below[a].push(b);
    missing[b]++;
  }
  const isRoot = missing.map((k) => k === 0), queue = [];
  isRoot.forEach((root, v) => root && queue.push(v));
  for (const v of queue) {
    for (const w of below[v]) {
      rank[w] = Math.max(rank[w], rank[v] + 1);
      if (--missing[w] === 0) queue.push(w);
    }
  }
  for (let v = 0; v < n; v++) {
    if (isRoot[v] && below[v].length) rank[v] = Math.min(...below[v].map((w) => rank[w])) - 1;
  }
  return cutRows(rank, Math.max(4, Math.ceil(Math.sqrt(0.85 * n))));
}

function cutRows(rank, most) {
  const rows = [];
  rank.forEach((r, v) => (rows[r] ??= []).push(v));
  let at = 0;
  for (const row of rows) {
    const parts = Math.ceil(row.length / most), size = Math.ceil(row.length / parts);
    row.forEach((v, k) => { rank[v] = at + Math.floor(k / size); });
    at += parts;
  }
  return rank;
}

/** Let an arc pass each row between its ends through a lane of its own; return all its nodes. */
function threaded(nodes, a, b) {
  const path = [nodes[a]], steps = nodes[b].rank - nodes[a].rank;
  for (let k = 1; k < steps; k++) {
    const lane = { width: LANE, height: 0, rank: nodes[a].rank + k, x: 0, weight: LANE_WEIGHT, lane: true, up: [], down: [] };
    nodes.push(lane);
    path.push(lane);
  }
  path.push(nodes[b]);
  for (let k = 1; k < path.length; k++) {
    path[k - 1].down.push(path[k]);
    path[k].up.push(path[k - 1]);
  }
  return path;
}

/** Order each row by the mean place of its neighbours above, then below, and keep the best. */
function ordered(rows) {
  const number = () => { for (const row of rows) row.forEach((node, k) => { node.at = k; }); };
  number();
  let best = rows.map((row) => row.slice()), fewest = crossings(rows);
  for (let round = 0; round < 2 * ROUNDS && fewest > 0; round++) {
    const side = round % 2 ? "down" : "up", inTurn = round % 2 ? rows.slice().reverse() : rows;
    for (const row of inTurn) {
      for (const node of row) {
        const near = node[side];
        node.key = near.length ? near.reduce((sum, other) => sum + other.at, 0) / near.length : node.at;
      }
      row.sort((a, b) => a.key - b.key);
      row.forEach((node, k) => { node.at = k; });
    }
    const found = crossings(rows);
    if (found < fewest) {
      fewest = found;
      best = rows.map((row) => row.slice());
    }
  }
  best.forEach((row, r) => { rows[r] = row; });
  number();
}

function crossings(rows) {
  let n = 0;
  for (const row of rows) {
    const ends = row.flatMap((node) => node.down.map((other) => other.at).sort((a, b) => a - b));
    for (let i = 0; i < ends.length; i++) for (let k = i + 1; k < ends.length; k++) n += ends[i] > ends[k];
  }
  return n;
}

/** Move each row as near to its neighbours as its order and widths allow, again and again. */
function placed(rows) {
  for (const row of rows) {
    let right = 0;
    for (const node of row) {
      node.x = right + node.width / 2;
      right += node.width + BESIDE;
    }
    const shift = right / 2;
    for (const node of row) node.x -= shift;
  }
  for (let round = 0; round < ROUNDS; round++) {
    const inTurn = round % 2 ? rows.slice().reverse() : rows;
    for (const row of inTurn) {
      apart(row, row.map((node) => {
        const side = round % 2 ? node.down : node.up;
        const near = round >= ROUNDS - 2 || !side.length ? [...node.up, ...node.down] : side;
        return near.length ? mean(near.map((other) => other.x)) : node.x;
      }));
    }
  }
}

const mean = (values) => values.reduce((sum, x) => sum + x, 0) / values.length;

/** The places nearest to those wanted, by least squares, that keep order and distance. */
function apart(row, wanted) {
  const offsets = [];
  let right = 0;
  row.forEach((node, k) => {
    if (k) right += (row[k - 1].width + node.width) / 2 + (row[k - 1].lane && node.lane ? LANE / 2 : BESIDE);
    offsets.push(right);
  });
  const blocks = [];
  row.forEach((node, k) => {
    let block = { sum: node.weight * (wanted[k] - offsets[k]), weight: node.weight, n: 1 };
    while (blocks.length && blocks.at(-1).sum / blocks.at(-1).weight > block.sum / block.weight) {
      const { sum, weight, n } = blocks.pop();
      block = { sum: block.sum + sum, weight: block.weight + weight, n: block.n + n };
    }
    blocks.push(block);
  });
  let k = 0;
  for (const { sum, weight, n } of blocks) {
    for (const end = k + n; k < end; k++) row[k].x = sum / weight + offsets[k];
  }
}

/** Stack the rows, each as high as its highest card. */
function stacked(rows) {
  let top = 0;
  for (const row of rows) {
    const height = Math.max(...row.map((node) => node.height));
    for (const node of row) {
      node.y = top + height / 2;
      node.row = [top, top + height];
    }
    top += height + BELOW;
  }
}

/** Turn paths to points, with ports of their own along the edges of the cards. */
function finished(sizes, nodes, paths) {
  const cards = nodes.slice(0, sizes.length);
  const port = (node, near, end, key) => {
    const sorted = near.slice().sort((a, b) => a.x - b.x), k = sorted.indexOf(end);
    const room = Math.min(0.7 * node.width, 26 * (near.length - 1));
    const at = near.length > 1 ? node.x + room * (k / (near.length - 1) - 0.5) : node.x;
    return [at, key === "down" ? node.y + node.height / 2 : node.y - node.height / 2];
  };
  const routes = paths.map((path) => {
    const points = [port(path[0], path[0].down, path[1], "down")];
    for (const lane of path.slice(1, -1)) points.push([lane.x, lane.row[0]], [lane.x, lane.row[1]]);
    const last = path.at(-1);
    points.push(port(last, last.up, path.at(-2), "up"));
    return points;
  });
  const xs = [...nodes.flatMap((node) => [node.x - node.width / 2, node.x + node.width / 2])];
  const ys = [...cards.flatMap((node) => [node.y - node.height / 2, node.y + node.height / 2])];
  const [left, top] = [Math.min(...xs), Math.min(...ys)];
  return {
    centres: cards.map(({ x, y }) => [x - left, y - top]),
    routes: routes.map((points) => points.map(([x, y]) => [x - left, y - top])),
    width: Math.max(...xs) - left,
    height: Math.max(...ys) - top,
  };
}

/** Return a smooth path through points, upright at each. */
export function curve(points) {
  let path = `M${round(points[0])}`;
  for (let k = 1; k < points.length; k++) {
    const [[x0, y0], [x1, y1]] = [points[k - 1], points[k]];
    const bend = (y1 - y0) / 2;
    path += x0 === x1 ? `L${round(points[k])}`
      : `C${round([x0, y0 + bend])} ${round([x1, y1 - bend])} ${round([x1, y1])}`;
  }
  return path;
}

const round = ([x, y]) => `${x.toFixed(1)} ${y.toFixed(1)}`;

/** Return a variable's parents, children and their other parents, and so on, nearest first. */
export function neighbourhood({ parents, children }, centre, radius, most) {
  const found = new Set([centre]);
  let edge = [centre];
  for (let k = 0; k < radius; k++) {
    const near = edge.flatMap((v) => [...parents[v], ...children[v]]);
    const others = k === radius - 1 ? edge.flatMap((v) => children[v].flatMap((w) => parents[w])) : [];
    edge = [...new Set([...near, ...others])].filter((v) => !found.has(v));
    for (const v of edge) {
      if (found.size >= most) return [...found];
      found.add(v);
    }
  }
  return [...found];
}
