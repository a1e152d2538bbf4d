// Runs programs on probabilities in WebAssembly with SIMD; compiler.js describes the instructions and
// interpreter.js does the same in plain JavaScript. AssemblyScript 0.28.20, compiled by
//   asc kernel.ts -o kernel.wasm -O3 --noAssert --runtime stub --importMemory --enable simd
// All arguments are addresses in bytes; the first 512 bytes of the memory are counters.

@external("env", "log")
declare function log(x: f64): f64;

const MULTIPLY: i32 = 1, ADD: i32 = 2, ONES: i32 = 3, CLEAR: i32 = 4, SCALE: i32 = 5, DIVIDE: i32 = 6;
const RESULT: i32 = 7, LOOP: i32 = 8, AGAIN: i32 = 9, HEAD: usize = 28;
const CONTRACT_HEAD: usize = 32, BLOCK: i32 = 8, LONG: i32 = 64;
const COUNTERS: usize = 0, TURN: usize = 256, SMALLEST_LOG2: f64 = -1000, LOG2: f64 = 0.6931471805599453;
const SMALL: f64 = 7.888609052210118e-31, SMALL_LOG2: f64 = -100;

// @ts-ignore: decorator
@inline function word(p: usize, i: i32): i32 { return load<i32>(p + (<usize>i << 2)); }
// @ts-ignore: decorator
@inline function place(p: usize, i: i32): usize { return p + (<usize>i << 3); }

/** target *= source along n entries that both are beside each other. */
// @ts-ignore: decorator
@inline function multiplyStretch(x: usize, y: usize, n: i32): void {
  const end = place(x, n & ~1);
  for (; x < end; x += 16, y += 16) v128.store(x, f64x2.mul(v128.load(x), v128.load(y)));
  if (n & 1) store<f64>(x, load<f64>(x) * load<f64>(y));
}

// @ts-ignore: decorator
@inline function multiplyBy(x: usize, factor: f64, n: i32): void {
  const end = place(x, n & ~1), both = f64x2.splat(factor);
  for (; x < end; x += 16) v128.store(x, f64x2.mul(v128.load(x), both));
  if (n & 1) store<f64>(x, load<f64>(x) * factor);
}

// @ts-ignore: decorator
@inline function addStretch(x: usize, y: usize, n: i32): void {
  const end = place(x, n & ~1);
  for (; x < end; x += 16, y += 16) v128.store(x, f64x2.add(v128.load(x), v128.load(y)));
  if (n & 1) store<f64>(x, load<f64>(x) + load<f64>(y));
}

// @ts-ignore: decorator
@inline function sumOf(y: usize, n: i32): f64 {
  const end = place(y, n & ~1);
  let pair = f64x2.splat(0);
  for (; y < end; y += 16) pair = f64x2.add(pair, v128.load(y));
  const sum = f64x2.extract_lane(pair, 0) + f64x2.extract_lane(pair, 1);
  return n & 1 ? sum + load<f64>(y) : sum;
}

/** The two innermost dimensions of MULTIPLY, with loops of their own for short stretches. */
function multiply(x: usize, y: usize, d: usize): void {
  const m = word(d, 0), tm = word(d, 1) << 3, sm = word(d, 2) << 3;
  const n = word(d, 3), t = word(d, 4) << 3, s = word(d, 5) << 3;
  if (t == 8 && s == 8) {
    if (n == 2) {
      for (let j = 0; j < m; j++, x += tm, y += sm) v128.store(x, f64x2.mul(v128.load(x), v128.load(y)));
    } else if (n == 3) {
      for (let j = 0; j < m; j++, x += tm, y += sm) {
        v128.store(x, f64x2.mul(v128.load(x), v128.load(y)));
        store<f64>(x, load<f64>(x, 16) * load<f64>(y, 16), 16);
      }
    } else for (let j = 0; j < m; j++, x += tm, y += sm) multiplyStretch(x, y, n);
  } else if (t == 8 && s == 0) {
    if (n == 2) {
      for (let j = 0; j < m; j++, x += tm, y += sm) v128.store(x, f64x2.mul(v128.load(x), v128.load64_splat(y)));
    } else if (n == 3) {
      for (let j = 0; j < m; j++, x += tm, y += sm) {
        const both = v128.load64_splat(y);
        v128.store(x, f64x2.mul(v128.load(x), both));
        store<f64>(x, load<f64>(x, 16) * f64x2.extract_lane(both, 0), 16);
      }
    } else for (let j = 0; j < m; j++, x += tm, y += sm) multiplyBy(x, load<f64>(y), n);
  } else {
    for (let j = 0; j < m; j++, x += tm, y += sm) {
      for (let i = 0, a = x, b = y; i < n; i++, a += t, b += s) store<f64>(a, load<f64>(a) * load<f64>(b));
    }
  }
}

/** The two innermost dimensions of ADD. */
function add(x: usize, y: usize, d: usize): void {
  const m = word(d, 0), tm = word(d, 1) << 3, sm = word(d, 2) << 3;
  const n = word(d, 3), t = word(d, 4) << 3, s = word(d, 5) << 3;
  if (t == 8 && s == 8) {
    if (n == 2) {
      for (let j = 0; j < m; j++, x += tm, y += sm) v128.store(x, f64x2.add(v128.load(x), v128.load(y)));
    } else if (n == 3) {
      for (let j = 0; j < m; j++, x += tm, y += sm) {
        v128.store(x, f64x2.add(v128.load(x), v128.load(y)));
        store<f64>(x, load<f64>(x, 16) + load<f64>(y, 16), 16);
      }
    } else for (let j = 0; j < m; j++, x += tm, y += sm) addStretch(x, y, n);
  } else if (t == 0 && s == 8) {
    if (n == 2) {
      for (let j = 0; j < m; j++, x += tm, y += sm) {
        store<f64>(x, load<f64>(x) + (load<f64>(y) + load<f64>(y, 8)));
      }
    } else if (n == 3) {
      for (let j = 0; j < m; j++, x += tm, y += sm) {
        store<f64>(x, load<f64>(x) + (load<f64>(y) + load<f64>(y, 8) + load<f64>(y, 16)));
      }
    } else for (let j = 0; j < m; j++, x += tm, y += sm) store<f64>(x, load<f64>(x) + sumOf(y, n));
  } else {
    for (let j = 0; j < m; j++, x += tm, y += sm) {
      for (let i = 0, a = x, b = y; i < n; i++, a += t, b += s) store<f64>(a, load<f64>(a) + load<f64>(b));
    }
  }
}

// @ts-ignore: decorator
@inline function copyStretch(x: usize, y: usize, n: i32): void {
  const end = place(x, n & ~1);
  for (; x < end; x += 16, y += 16) v128.store(x, v128.load(y));
  if (n & 1) store<f64>(x, load<f64>(y));
}

/** Two lines of a table that is turned: entries beside each other there are in both lines here. */
function turnTwo(x: usize, tm: usize, y: usize, s: usize, n: i32): void {
  const end = place(x, n & ~1);
  for (; x < end; x += 16, y += 2 * s) {
    const a = v128.load(y), b = v128.load(y + s);
    v128.store(x, v128.shuffle<f64>(a, b, 0, 2));
    v128.store(x + tm, v128.shuffle<f64>(a, b, 1, 3));
  }
  if (!(n & 1)) return;
  store<f64>(x, load<f64>(y));
  store<f64>(x + tm, load<f64>(y, 8));
}

/** The two innermost dimensions of COPY; a table that is turned is copied in blocks, line by line. */
function copy(x: usize, y: usize, d: usize): void {
  const m = word(d, 0), tm = word(d, 1) << 3, sm = word(d, 2) << 3;
  const n = word(d, 3), t = word(d, 4) << 3, s = word(d, 5) << 3;
  const length = sm == 8 ? BLOCK : n;
  for (let begin = 0; begin < n; begin += length, x += length * t, y += length * s) {
    const many = min<i32>(length, n - begin);
    let j = 0, p = x, q = y;
    if (t == 8 && sm == 8) for (; j + 2 <= m; j += 2, p += 2 * tm, q += 16) turnTwo(p, tm, q, s, many);
    for (; j < m; j++, p += tm, q += sm) {
      if (t == 8 && s == 8) {
        if (many > LONG) memory.copy(p, q, <usize>many << 3);
        else copyStretch(p, q, many);
      } else for (let i = 0, a = p, b = q; i < many; i++, a += t, b += s) store<f64>(a, load<f64>(b));
    }
  }
}

/** Walk over the dimensions of an instruction; the two innermost are loops of their own. */
function walk(op: i32, at: usize, x: usize, y: usize): void {
  const first = at + HEAD, outer = word(at, 5) - 2, inner = first + 12 * outer;
  for (let k = 0; k < outer; k++) store<i32>(COUNTERS + (<usize>k << 2), 0);
  while (true) {
    if (op == MULTIPLY) multiply(x, y, inner);
    else if (op == ADD) add(x, y, inner);
    else copy(x, y, inner);
    let k = outer - 1;
    for (; k >= 0; k--) {
      const d = first + 12 * k, counter = COUNTERS + (<usize>k << 2), turn = load<i32>(counter) + 1;
      const n = word(d, 0), t = word(d, 1) << 3, s = word(d, 2) << 3;
      x += t;
      y += s;
      if (turn < n) {
        store<i32>(counter, turn);
        break;
      }
      x -= n * t;
      y -= n * s;
      store<i32>(counter, 0);
    }
    if (k < 0) return;
  }
}

/** target += source * factor along n entries that both are beside each other. */
// @ts-ignore: decorator
@inline function addMultiple(x: usize, y: usize, factor: f64, n: i32): void {
  const end = place(x, n & ~1), both = f64x2.splat(factor);
  for (; x < end; x += 16, y += 16) {
    v128.store(x, f64x2.add(v128.load(x), f64x2.mul(v128.load(y), both)));
  }
  if (n & 1) store<f64>(x, load<f64>(x) + load<f64>(y) * factor);
}

/** Four of these at once, whose sources and factors are evenly spaced. */
// @ts-ignore: decorator
@inline function addFour(x: usize, y: usize, ym: usize, z: usize, zm: usize, n: i32): void {
  const end = place(x, n & ~1);
  const a = v128.load64_splat(z), b = v128.load64_splat(z + zm);
  const c = v128.load64_splat(z + 2 * zm), d = v128.load64_splat(z + 3 * zm);
  for (; x < end; x += 16, y += 16) {
    const first = f64x2.add(f64x2.mul(v128.load(y), a), f64x2.mul(v128.load(y + ym), b));
    const others = f64x2.add(f64x2.mul(v128.load(y + 2 * ym), c), f64x2.mul(v128.load(y + 3 * ym), d));
    v128.store(x, f64x2.add(v128.load(x), f64x2.add(first, others)));
  }
  if (!(n & 1)) return;
  const first = load<f64>(y) * load<f64>(z) + load<f64>(y + ym) * load<f64>(z + zm);
  const others = load<f64>(y + 2 * ym) * load<f64>(z + 2 * zm) + load<f64>(y + 3 * ym) * load<f64>(z + 3 * zm);
  store<f64>(x, load<f64>(x) + (first + others));
}

// @ts-ignore: decorator
@inline function addProducts(x: usize, y: usize, z: usize, n: i32): void {
  const end = place(x, n & ~1);
  for (; x < end; x += 16, y += 16, z += 16) {
    v128.store(x, f64x2.add(v128.load(x), f64x2.mul(v128.load(y), v128.load(z))));
  }
  if (n & 1) store<f64>(x, load<f64>(x) + load<f64>(y) * load<f64>(z));
}

// @ts-ignore: decorator
@inline function addProductsTwice(x: usize, y: usize, ym: usize, z: usize, zm: usize, n: i32): void {
  const end = place(x, n & ~1);
  for (; x < end; x += 16, y += 16, z += 16) {
    const first = f64x2.mul(v128.load(y), v128.load(z));
    const both = f64x2.add(first, f64x2.mul(v128.load(y + ym), v128.load(z + zm)));
    v128.store(x, f64x2.add(v128.load(x), both));
  }
  if (!(n & 1)) return;
  const both = load<f64>(y) * load<f64>(z) + load<f64>(y + ym) * load<f64>(z + zm);
  store<f64>(x, load<f64>(x) + both);
}

// @ts-ignore: decorator
@inline function sumOfProducts(y: usize, z: usize, n: i32): f64 {
  // Two sums, as the next addition has to wait for the one before.
  const half = place(y, n & ~3), end = place(y, n & ~1);
  let pair = f64x2.splat(0), other = f64x2.splat(0);
  for (; y < half; y += 32, z += 32) {
    pair = f64x2.add(pair, f64x2.mul(v128.load(y), v128.load(z)));
    other = f64x2.add(other, f64x2.mul(v128.load(y, 16), v128.load(z, 16)));
  }
  pair = f64x2.add(pair, other);
  if (y < end) {
    pair = f64x2.add(pair, f64x2.mul(v128.load(y), v128.load(z)));
    y += 16;
    z += 16;
  }
  const sum = f64x2.extract_lane(pair, 0) + f64x2.extract_lane(pair, 1);
  return n & 1 ? sum + load<f64>(y) * load<f64>(z) : sum;
}

/** The two innermost dimensions of CONTRACT; the steps of the second source are given apart. */
function contractInner(x: usize, y: usize, z: usize, d: usize, swap: i32): void {
  const m = word(d, 0), xm = word(d, 1) << 3, ym = word(d, 2 + swap) << 3, zm = word(d, 3 - swap) << 3;
  const n = word(d, 4), t = word(d, 5) << 3, s = word(d, 6 + swap) << 3, r = word(d, 7 - swap) << 3;
  let j = 0;
  if (t == 8 && s == 8 && r == 0) {
    if (xm == 0) {
      for (; j + 4 <= m; j += 4, y += 4 * ym, z += 4 * zm) addFour(x, y, ym, z, zm, n);
    }
    for (; j < m; j++, x += xm, y += ym, z += zm) addMultiple(x, y, load<f64>(z), n);
  } else if (t == 8 && s == 8 && r == 8) {
    if (xm == 0) for (; j + 2 <= m; j += 2, y += 2 * ym, z += 2 * zm) addProductsTwice(x, y, ym, z, zm, n);
    for (; j < m; j++, x += xm, y += ym, z += zm) addProducts(x, y, z, n);
  } else if (t == 0 && s == 8 && r == 8) {
    for (; j < m; j++, x += xm, y += ym, z += zm) store<f64>(x, load<f64>(x) + sumOfProducts(y, z, n));
  } else {
    for (; j < m; j++, x += xm, y += ym, z += zm) {
      for (let i = 0, a = x, b = y, c = z; i < n; i++, a += t, b += s, c += r) {
        store<f64>(a, load<f64>(a) + load<f64>(b) * load<f64>(c));
      }
    }
  }
}

/** Walk over the dimensions of CONTRACT. */
function contract(at: usize, x: usize, y: usize, z: usize): void {
  const first = at + CONTRACT_HEAD, outer = word(at, 7) - 2, inner = first + 16 * outer;
  // The source whose entries are beside each other is the first.
  const swap = word(inner, 6) == 0 && word(inner, 7) == 1 ? 1 : 0;
  if (swap) {
    const other = y;
    y = z;
    z = other;
  }
  for (let k = 0; k < outer; k++) store<i32>(COUNTERS + (<usize>k << 2), 0);
  while (true) {
    contractInner(x, y, z, inner, swap);
    let k = outer - 1;
    for (; k >= 0; k--) {
      const d = first + 16 * k, counter = COUNTERS + (<usize>k << 2), turn = load<i32>(counter) + 1;
      const more = turn < word(d, 0), by = (more ? 1 : 1 - word(d, 0)) << 3;
      x += by * word(d, 1);
      y += by * word(d, 2 + swap);
      z += by * word(d, 3 - swap);
      store<i32>(counter, more ? turn : 0);
      if (more) break;
    }
    if (k < 0) return;
  }
}

/** Where a source of CONTRACT begins. */
// @ts-ignore: decorator
@inline function sourceAt(source: i32, isTable: i32, tables: usize, offsets: usize, work: usize): usize {
  return isTable ? place(tables, word(offsets, source)) : place(work, source);
}

function ones(at: usize, x: usize): void {
  let n = 1;
  for (let k = 0; k < word(at, 5); k++) n *= word(at + HEAD, 3 * k);
  for (let k = 0; k < n; k++) store<f64>(place(x, k), 1);
}

/** x / y, and x where y is zero. */
function divide(x: usize, y: usize, n: i32): void {
  const end = place(x, n & ~1), one = f64x2.splat(1);
  for (; x < end; x += 16, y += 16) {
    const by = v128.load(y);
    v128.store(x, f64x2.div(v128.load(x), v128.bitselect(by, one, f64x2.gt(by, f64x2.splat(0)))));
  }
  if (!(n & 1)) return;
  const by = load<f64>(y);
  store<f64>(x, load<f64>(x) / select<f64>(by, 1, by > 0));
}

/** Where the largest of n numbers is left, and the smallest that is not zero. */
const PEAK: usize = 504, LOWEST: usize = 496;

function extremes(x: usize, n: i32): void {
  const end = place(x, n & ~1), none = f64x2.splat(Infinity);
  let high = f64x2.splat(0), low = none;
  for (; x < end; x += 16) {
    const pair = v128.load(x);
    high = f64x2.pmax(high, pair);
    low = f64x2.pmin(low, v128.bitselect(pair, none, f64x2.gt(pair, f64x2.splat(0))));
  }
  let peak = max<f64>(f64x2.extract_lane(high, 0), f64x2.extract_lane(high, 1));
  let lowest = min<f64>(f64x2.extract_lane(low, 0), f64x2.extract_lane(low, 1));
  if (n & 1) {
    const last = load<f64>(x);
    peak = max<f64>(peak, last);
    if (last > 0) lowest = min<f64>(lowest, last);
  }
  store<f64>(PEAK, peak);
  store<f64>(LOWEST, lowest);
}

/** Minus infinity for impossible findings; NaN if a product may have become too small. */
function vanished(minima: usize, n: i32): f64 {
  for (let c = 0; c < n; c++) if (load<f64>(place(minima, c)) < SMALLEST_LOG2) return NaN;
  return -Infinity;
}

/** Run the program at `code`, and return the log of the sum of the product of all tables. */
export function run(
  code: usize, length: i32, nBounds: i32, tables: usize, offsets: usize, minima: usize, work: usize,
  out: usize,
): f64 {
  const end = code + (<usize>length << 2);
  let mass: f64 = 0, at = code, loop: usize = 0, turns = 0;
  while (at < end) {
    const op = word(at, 0), target = place(work, word(at, 1)), n = word(at, 2);
    if (op <= ONES) {
      let to = word(at, 2), from = word(at, 3);
      const isTable = word(at, 4), nd = word(at, 5), outer = word(at, 6);
      if (isTable) from = word(offsets, from);
      let q = at + HEAD + 12 * nd;
      for (let k = 0; k < outer; k++, q += 8) {
        const turn = word(TURN, k);
        to += turn * word(q, 0);
        from += turn * word(q, 1);
      }
      if (op == ONES) ones(at, place(work, to));
      else walk(op, at, place(work, to), place(isTable ? tables : work, from));
      at += <usize>word(at, 1) << 2;
    } else if (op == CLEAR) {
      if (n < 16) for (let k = 0; k < n; k++) store<f64>(place(target, k), 0);
      else memory.fill(target, 0, <usize>n << 3);
      at += 12;
    } else if (op == SCALE || op == DIVIDE) {
      if (op == DIVIDE && word(at, 3) >= 0) divide(target, place(work, word(at, 3)), n);
      extremes(target, n);
      const peak = load<f64>(PEAK), lowest = load<f64>(LOWEST);
      if (peak == 0) return vanished(minima, nBounds);
      multiplyBy(target, 1 / peak, n);
      const own = place(minima, word(at, op == SCALE ? 3 : 4));
      // A logarithm is taken only if the sum of the bounds is needed, or may be too small.
      if (op == SCALE || lowest < peak * SMALL || load<f64>(own) < SMALLEST_LOG2 - SMALL_LOG2) {
        const bound = load<f64>(own) + (lowest < peak ? log(lowest / peak) / LOG2 : 0);
        if (bound < SMALLEST_LOG2) return NaN;
        if (op == SCALE) {
          mass += log(peak);
          store<f64>(own, bound);
        }
      }
      at += 20;
    } else if (op == RESULT) {
      let sum: f64 = 0;
      for (let k = 0; k < n; k++) sum += load<f64>(place(target, k));
      if (!(sum > 0)) return vanished(minima, nBounds);
      const to = place(out, word(at, 3));
      for (let k = 0; k < n; k++) store<f64>(place(to, k), load<f64>(place(target, k)) / sum);
      if (word(at, 4)) mass += log(sum);
      at += 20;
    } else if (op == LOOP) {
      const outer = word(at, 1);
      loop = at + 8;
      turns = 1;
      for (let k = 0; k < outer; k++) {
        turns *= word(loop, k);
        store<i32>(TURN + (<usize>k << 2), 0);
      }
      at = loop + (<usize>outer << 2);
    } else if (op == AGAIN) {
      for (let k = word(loop, -1) - 1; k >= 0; k--) {
        const counter = TURN + (<usize>k << 2), turn = load<i32>(counter) + 1;
        store<i32>(counter, turn);
        if (turn < word(loop, k)) break;
        store<i32>(counter, 0);
      }
      turns--;
      at = turns > 0 ? code + (<usize>word(at, 1) << 2) : at + 8;
    } else {
      const first = sourceAt(word(at, 3), word(at, 4), tables, offsets, work);
      const second = sourceAt(word(at, 5), word(at, 6), tables, offsets, work);
      contract(at, place(work, word(at, 2)), first, second);
      at += <usize>word(at, 1) << 2;
    }
  }
  return mass;
}
