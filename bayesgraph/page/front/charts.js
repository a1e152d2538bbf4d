// Pictures of answers: waterfalls, lists with bars, heat tables.

import { h, named, own } from "./dom.js";
import { exactly, percent, percentTick, signed } from "./format.js";
import { WORDS } from "./words.js";

const TICKS = [0.0001, 0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 0.9999];
// Bars are drawn to a part of a pixel: those that do not move are not painted anew.
const THINNEST = 3 / 256, LENGTHS = 256;
const MOST_TERMS = 14, NARROWEST_TICK = 13, EDGE = 0.06;

/** Return the size of the background of a bar: none below 0, and something to be seen above. */
export function lengthOf(share) {
  return `${share > 0 ? Math.max(Math.round(LENGTHS * share) / LENGTHS, THINNEST) * 100 : 0}% 100%`;
}

const placeOnAxis = (p) => Math.log(p / (1 - p));

/** A list of names with what belongs to each; pressing a name calls `press`. */
export function pairs(rows) {
  return h("dl", { className: "pairs" }, rows.map(([key, value, press, title]) => h("div", { title },
    h("dt", {}, press ? h("button", { type: "button", className: "link", on: { click: press } }, key) : key),
    h("dd", {}, value))));
}

/** A list of names with a bar and a number. */
export function barList(rows) {
  const longest = Math.max(...rows.map(({ value }) => value), 1e-300);
  return h("ul", { className: "bars" }, rows.map(({ name, value, text, press, extra }) => h("li", {},
    h("button", { type: "button", className: "link", on: { click: press } }, named(name)), extra,
    h("span", { className: "track" }, h("i", { className: "bar", style: { "background-size": lengthOf(value / longest) } })),
    h("span", { className: "share" }, text))));
}

/**
 * Log odds from the start to the total, a bar for each finding, on an axis that reads as
 * probability. Bars to the right are for the state, bars to the left against it.
 * @param {{base: number, terms: {label: any, value: number}[], total: number}} given
 * @param {(more: boolean) => string} tone the class of the colour of a bar
 */
export function waterfall({ base, terms, total }, tone) {
  const sorted = terms.slice().sort((a, b) => Math.abs(b.value) - Math.abs(a.value));
  const shown = sorted.length > MOST_TERMS + 1 ? sorted.slice(0, MOST_TERMS) : sorted;
  const rest = sorted.slice(shown.length);
  if (rest.length) shown.push({ label: WORDS.others(rest.length), value: rest.reduce((sum, term) => sum + term.value, 0) });
  const bars = [{ label: WORDS.start, from: 0, to: base, tone: "neutral" }];
  let at = base;
  for (const { label, value } of shown) {
    bars.push({ label, from: at, to: at + value, value, tone: tone(value > 0) });
    at += value;
  }
  bars.push({ label: WORDS.total, from: 0, to: total, tone: "neutral" });
  const scale = scaleOf(bars);
  return h("div", { className: "waterfall" }, axis(scale),
    bars.map((bar, k) => barOf(bar, scale, k > 0 && k < bars.length - 1)), axis(scale, true));
}

/** Return the place of log odds on the axis, in per cent of its width. */
function scaleOf(bars) {
  const ends = bars.flatMap(({ from, to }) => [from, to]).filter(Number.isFinite);
  let [low, high] = [Math.min(...ends), Math.max(...ends)];
  const room = Math.max(high - low, 1) * EDGE;
  [low, high] = [low - room, high + room];
  return (x) => {
    const inside = Number.isNaN(x) ? low : Math.min(Math.max(x, low), high);
    return (100 * (inside - low)) / (high - low);
  };
}

function axis(scale, labels = false) {
  let right = -Infinity;
  const ticks = TICKS.filter((p) => {
    const at = scale(placeOnAxis(p));
    return at > 2 && at < 98;
  });
  // The middle first, so that crowded ticks leave 50 % rather than its neighbours.
  const kept = new Set();
  for (const p of ticks.slice().sort((a, b) => Math.abs(placeOnAxis(a)) - Math.abs(placeOnAxis(b)))) {
    const at = scale(placeOnAxis(p));
    if ([...kept].every((q) => Math.abs(scale(placeOnAxis(q)) - at) >= NARROWEST_TICK)) kept.add(p);
  }
  return h("div", { className: labels ? "axis" : "grid", "aria-hidden": "true" },
    h("div", { className: "span" }, [...kept].map((p) => {
      right = scale(placeOnAxis(p));
      return h("span", { className: p === 0.5 ? "even" : "", style: { left: `${right}%` } }, labels ? percentTick(p) : "");
    })));
}

function barOf({ label, from, to, value, tone }, scale, isTerm) {
  const [left, right] = [scale(Math.min(from, to)), scale(Math.max(from, to))];
  const text = isTerm ? signed(value) : percent(1 / (1 + Math.exp(-to)));
  const side = right < 84 ? "" : left > 36 ? "before" : "within";
  return h("div", { className: `step ${isTerm ? "" : "sum"}` },
    h("div", { className: "step-name" }, label),
    h("div", { className: "span" },
      h("i", { className: `step-bar ${tone}`, title: exactly(isTerm ? value : to), style: { left: `${left}%`, width: `${Math.max(right - left, 0.4)}%` } }),
      h("span", {
        className: `step-text ${side}`,
        style: side === "" ? { left: `${right}%` } : { right: `${100 - (side === "before" ? left : right)}%` },
      }, text)));
}

/** A table whose cells are the darker, the higher their probability. */
export function heatTable(header, rows) {
  return h("div", { className: "scroll" }, h("table", { className: "heat" },
    h("thead", {}, h("tr", {}, header.map(({ text, given }) => h("th", { scope: "col", className: given ? "given" : "" }, text)))),
    h("tbody", {}, rows.map(({ given, p }) => h("tr", {},
      given.map((text) => h("th", { scope: "row" }, own(text))),
      p.map((x) => h("td", {
        title: typeof x === "number" ? exactly(x) : null,
        style: typeof x === "number" ? { "--p": x } : {},
      }, typeof x === "number" ? percent(x) : x)))))));
}
