// The network as cards joined by arcs: all of them, or those around a focus. Cards are elements of
// the page and arcs a picture below them, so that names break into lines and every part is a control.

import { Card, findingKind, press } from "./card.js";
import { button, fill, h, quotable, svg } from "./dom.js";
import { number } from "./format.js";
import { curve, layered, neighbourhood } from "./layout.js";
import { openMenu } from "./menu.js";
import { WORDS } from "./words.js";

/** Networks of more variables are shown around a focus. */
const MOST_CARDS = 150;
const MOST_AROUND = 40;
/** A parent of all others, of so many or more, has one arrow to a frame around them. */
const FRAME_FROM = 13, FRAME_MARGIN = 18, FRAME_GAP = 40;
const SMALLEST = 0.08, LARGEST = 3, READABLE = 0.62, MARGIN = 24, HOLD = 500, STILL = 6;

export class Network {
  constructor(app) {
    this.app = app;
    this.scale = 1;
    this.shift = [0, 0];
    this.cards = new Map();
    this.arcs = svg("svg", { class: "arcs", "aria-hidden": "true" });
    this.stage = h("div", { className: "stage" }, this.arcs);
    this.bar = h("div", { className: "focus-bar" });
    const isTouch = matchMedia("(pointer: coarse)").matches;
    this.element = h("div", { className: "network", role: "group", "aria-label": WORDS.network_label },
      this.bar, this.stage,
      h("div", { className: "zoom" },
        button("−", () => this.zoom(1 / 1.25), { className: "press", "aria-label": WORDS.zoom_out, title: WORDS.zoom_out }),
        button("+", () => this.zoom(1.25), { className: "press", "aria-label": WORDS.zoom_in, title: WORDS.zoom_in }),
        button(WORDS.fit, () => this.fit(), { className: "press", title: WORDS.fit_key })),
      h("div", { className: "hint" }, isTouch ? WORDS.hint_touch : WORDS.hint));
    this.listen();
    this.wasSized = false;
    new ResizeObserver(() => this.sized()).observe(this.element);
  }

  /** Lay out again when the page first has room for it; later sizes leave the reader's view alone. */
  sized() {
    if (!this.element.clientWidth || !this.app.scene) return;
    if (!this.drawn) this.arrange();
    if (!this.wasSized) this.fit(true);
    this.wasSized = true;
  }

  // --------------------------------------------------------------------------- what is on the page

  /** Return the variables that are shown. */
  shown() {
    const { model, state } = this.app, { focus, radius } = state, n = model.variables.length;
    if (focus === null && n <= MOST_CARDS) return Array.from({ length: n }, (_, v) => v);
    const centre = focus ?? state.target ?? state.selected ?? model.busiest;
    return neighbourhood(model, centre, radius, MOST_AROUND).sort((a, b) => a - b);
  }

  /** Make the cards of what is shown, and place them. */
  arrange() {
    const { app } = this, { model, state } = app, shown = this.shown(), isAll = shown.length === model.variables.length;
    this.cards = new Map(shown.map((v) => [v, this.cards.get(v) ?? new Card(app, v)]));
    fill(this.stage, this.arcs, [...this.cards.values()].map((card) => card.element));
    const beyond = (v) => [...model.parents[v], ...model.children[v]].filter((u) => !this.cards.has(u)).length;
    for (const [v, card] of this.cards) card.showBeyond(beyond(v));
    this.showCards(app.scene);
    this.write();
    this.place(shown);
    this.showBar(shown, isAll);
    this.current ??= shown[0];
    if (!this.cards.has(this.current)) this.current = state.focus ?? shown[0];
    for (const [v, card] of this.cards) card.reachable(v === this.current);
    this.drawn = true;
  }

  place(shown) {
    const { model } = this.app, at = new Map(shown.map((v, k) => [v, k]));
    const arcs = model.arcs.filter(([a, b]) => at.has(a) && at.has(b));
    const framed = shown.length > FRAME_FROM ? shown.find((v) => (
      arcs.filter(([a]) => a === v).length === shown.length - 1)) : undefined;
    const inside = framed === undefined ? shown : shown.filter((v) => v !== framed);
    const number_ = new Map(inside.map((v, k) => [v, k]));
    const sizes = inside.map((v) => {
      const { element } = this.cards.get(v);
      element.style.width = "";
      const { offsetWidth: width, offsetHeight: height } = element;
      return { width, height };
    });
    // Measured widths are rounded, maybe down.
    inside.forEach((v, k) => { this.cards.get(v).element.style.width = `${sizes[k].width + 1}px`; });
    const kept = arcs.filter(([a]) => a !== framed);
    const found = layered(sizes, kept.map(([a, b]) => [number_.get(a), number_.get(b)]));
    this.extent = [found.width, found.height];
    const centres = new Map(inside.map((v, k) => [v, found.centres[k]]));
    const widest = Math.max(...kept.map(([, , score]) => score ?? 0), 1e-300);
    const lines = kept.map(([a, b, score], k) => this.arc(found.routes[k], a, b, score, widest));
    const shift = framed === undefined ? [0, 0] : this.frame(framed, centres, lines);
    for (const [v, [x, y]] of centres) {
      const { element } = this.cards.get(v);
      element.style.transform = `translate(${Math.round(x - element.offsetWidth / 2)}px, ${Math.round(y - element.offsetHeight / 2)}px)`;
    }
    this.marked = null;
    fill(this.arcs, this.marker(), svg("g", { transform: `translate(${shift})` }, ...lines));
    this.centres = centres;
  }

  marker() {
    return svg("defs", {}, svg("marker", { id: "head", viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 9, markerHeight: 9, orient: "auto", markerUnits: "userSpaceOnUse" },
      svg("path", { d: "M0 .8 7.5 4 0 7.2z" })));
  }

  arc(points, a, b, score, widest) {
    const width = score === null || score === undefined ? 1.4 : 0.8 + 2.4 * (Math.max(score, 0) / widest);
    const title = score === null || score === undefined ? [] : [svg("title", {}, number(score))];
    return svg("path", { class: "arc", d: curve(points), "stroke-width": width, "marker-end": "url(#head)", "data-a": a, "data-b": b }, ...title);
  }

  /** Put the parent of all others above a frame around them; return how far those move. */
  frame(v, centres, lines) {
    const { element } = this.cards.get(v), [width, height] = this.extent, tall = element.offsetHeight;
    const top = tall + FRAME_GAP;
    for (const [u, [x, y]] of centres) centres.set(u, [x + FRAME_MARGIN, y + top + FRAME_MARGIN]);
    this.extent = [width + 2 * FRAME_MARGIN, height + top + 2 * FRAME_MARGIN];
    const middle = this.extent[0] / 2;
    centres.set(v, [middle, tall / 2]);
    lines.unshift(
      svg("rect", { class: "frame", x: -FRAME_MARGIN, y: -FRAME_MARGIN, width: this.extent[0], height: height + 2 * FRAME_MARGIN, rx: 12 }),
      svg("path", { class: "arc", d: `M${width / 2} ${-FRAME_MARGIN - FRAME_GAP}V${-FRAME_MARGIN}`, "stroke-width": 1.4, "marker-end": "url(#head)" },
        svg("title", {}, WORDS.all_others)),
    );
    return [FRAME_MARGIN, top + FRAME_MARGIN];
  }

  showBar(shown, isAll) {
    const { app } = this, { model, state } = app, n = model.variables.length;
    this.bar.hidden = isAll;
    if (isAll) return;
    const centre = state.focus ?? state.target ?? state.selected ?? model.busiest;
    const radius = h("select", {
      "aria-label": WORDS.radius, title: WORDS.radius,
      on: { change: () => state.choose("radius", Number(radius.value)) },
    }, [1, 2, 3].map((k) => h("option", { value: k, selected: k === state.radius }, String(k))));
    fill(this.bar, `${WORDS.focus_of} `, h("b", {}, quotable(model.names[centre], 30)), radius,
      h("span", { className: "quiet" }, WORDS.cut_short(shown.length, n)),
      n <= MOST_CARDS && button(WORDS.show_all, () => state.choose("focus", null), { className: "press" }));
  }

  showCards(scene) {
    for (const card of this.cards.values()) card.show(scene);
    this.cards.get(this.current)?.reachable(true);
  }

  write() {
    for (const card of this.cards.values()) card.write();
  }

  show(scene) {
    if (!this.drawn) this.sized();
    if (!this.drawn) return;
    this.showCards(scene);
    const { selected } = this.app.state;
    if (selected === this.marked) return;
    this.marked = selected;
    for (const line of this.arcs.querySelectorAll(".arc[data-a]")) {
      const isNear = Number(line.dataset.a) === selected || Number(line.dataset.b) === selected;
      line.classList.toggle("near", isNear);
    }
  }

  // ------------------------------------------------------------------------------- where one looks

  move() {
    const [x, y] = this.shift;
    this.stage.style.transform = `translate(${x}px, ${y}px) scale(${this.scale})`;
    this.stage.classList.toggle("far", this.scale < 0.6);
  }

  /** Show all; on narrow pages (`isFirst`) rather a part that can be read. */
  fit(isFirst = false) {
    const { clientWidth: w, clientHeight: tall } = this.element, [width, height] = this.extent;
    const whole = Math.min(1.3, (w - 2 * MARGIN) / width, (tall - 3 * MARGIN) / height);
    const isNarrow = isFirst && w < 700 && whole < READABLE;
    this.scale = Math.max(SMALLEST, isNarrow ? READABLE : whole);
    this.shift = [(w - this.scale * width) / 2, Math.max(MARGIN, (tall - this.scale * height) / 2)];
    this.move();
    if (isNarrow) this.reveal(this.app.state.target ?? this.current);
  }

  zoom(factor, x = this.element.clientWidth / 2, y = this.element.clientHeight / 2) {
    const scale = Math.min(LARGEST, Math.max(SMALLEST, this.scale * factor)), f = scale / this.scale;
    this.shift = [x - (x - this.shift[0]) * f, y - (y - this.shift[1]) * f];
    this.scale = scale;
    this.move();
  }

  /** Bring a card into view, large enough to be read. */
  reveal(v) {
    if (!this.cards.has(v)) return;
    const [x, y] = this.centres.get(v), { clientWidth: w, clientHeight: tall } = this.element;
    const { offsetWidth, offsetHeight } = this.cards.get(v).element;
    const at = (scale) => [this.shift[0] + scale * x, this.shift[1] + scale * y];
    const [left, top] = at(this.scale), isReadable = this.scale >= READABLE;
    const [a, b] = [(this.scale * offsetWidth) / 2, (this.scale * offsetHeight) / 2];
    if (isReadable && left > a && left < w - a && top > b && top < tall - b) return;
    this.scale = Math.max(this.scale, READABLE);
    this.shift = [w / 2 - this.scale * x, tall / 2 - this.scale * y];
    this.move();
  }

  /** Give a card the focus of the keyboard. */
  goTo(v) {
    this.cards.get(v).element.focus({ preventScroll: true });
  }

  // -------------------------------------------------------------------------- pointers and keys

  listen() {
    const { element } = this, pointers = new Map();
    let travelled = 0, hold = 0, wasHeld = false;
    const cardOf = (target) => target.closest?.(".card");
    element.addEventListener("wheel", (event) => {
      event.preventDefault();
      const { left, top } = element.getBoundingClientRect();
      this.zoom(Math.exp(-event.deltaY * 0.0015), event.clientX - left, event.clientY - top);
    }, { passive: false });
    element.addEventListener("pointerdown", (event) => {
      if (event.target.closest("input, select, .zoom, .focus-bar")) return;
      pointers.set(event.pointerId, [event.clientX, event.clientY]);
      travelled = 0;
      wasHeld = false;
      clearTimeout(hold);
      if (event.pointerType !== "mouse") {
        hold = setTimeout(() => {
          wasHeld = this.openMenuAt(event.target, event.clientX, event.clientY);
        }, HOLD);
      }
    });
    addEventListener("pointermove", (event) => {
      const last = pointers.get(event.pointerId);
      if (!last) return;
      const now = [event.clientX, event.clientY], others = [...pointers].filter(([id]) => id !== event.pointerId);
      travelled += Math.hypot(now[0] - last[0], now[1] - last[1]);
      if (travelled < STILL) return;
      clearTimeout(hold);
      pointers.set(event.pointerId, now);
      if (others.length) this.pinch(last, now, others[0][1]);
      else {
        this.shift = [this.shift[0] + now[0] - last[0], this.shift[1] + now[1] - last[1]];
        this.move();
      }
    });
    for (const kind of ["pointerup", "pointercancel"]) {
      addEventListener(kind, (event) => {
        clearTimeout(hold);
        pointers.delete(event.pointerId);
      });
    }
    element.addEventListener("click", (event) => {
      if (travelled >= STILL || wasHeld) {
        wasHeld = false;
        return;
      }
      this.clicked(event);
    });
    element.addEventListener("dblclick", (event) => {
      if (event.target.closest(".card header")) this.app.focus(Number(cardOf(event.target).dataset.v));
    });
    element.addEventListener("contextmenu", (event) => {
      if (cardOf(event.target)) event.preventDefault();
      this.openMenuAt(event.target, event.clientX, event.clientY);
    });
    element.addEventListener("keydown", (event) => this.key(event));
    element.addEventListener("focusin", (event) => {
      const card = cardOf(event.target);
      if (card) this.makeCurrent(Number(card.dataset.v), event.target.matches(":focus-visible"));
    });
  }

  pinch(last, now, other) {
    const { left, top } = this.element.getBoundingClientRect();
    const before = Math.hypot(last[0] - other[0], last[1] - other[1]), after = Math.hypot(now[0] - other[0], now[1] - other[1]);
    if (before > 0) this.zoom(after / before, (now[0] + other[0]) / 2 - left, (now[1] + other[1]) / 2 - top);
  }

  clicked(event) {
    const card = event.target.closest(".card");
    if (!card) return;
    const v = Number(card.dataset.v), row = event.target.closest(".row");
    if (row) press(this.app, v, Number(row.dataset.k), event);
    else if (event.target.closest(".menu-button")) {
      const { left, bottom } = event.target.getBoundingClientRect();
      this.openMenuAt(event.target, left, bottom);
    } else if (event.target.closest("header")) this.app.state.choose("selected", v);
  }

  openMenuAt(target, x, y) {
    const card = target.closest(".card");
    if (!card) return false;
    const row = target.closest(".row");
    openMenu({ x, y }, this.app.menuOf(Number(card.dataset.v), row ? Number(row.dataset.k) : null));
    return true;
  }

  makeCurrent(v, isSeen) {
    if (v !== this.current) {
      this.cards.get(this.current)?.reachable(false);
      this.current = v;
      this.cards.get(v).reachable(true);
    }
    if (isSeen) this.reveal(v);
  }

  key(event) {
    const card = event.target.closest(".card");
    if (!card || event.ctrlKey || event.metaKey || event.target.matches("input[type=number]")) return;
    const v = Number(card.dataset.v), row = event.target.closest(".row"), isCard = event.target === card;
    const { state, model } = this.app, { states } = model.variables[v], digit = Number(event.key);
    const isArrow = event.key.startsWith("Arrow");
    if (row && (event.key === "Enter" || event.key === " ")) press(this.app, v, Number(row.dataset.k), event);
    else if (isCard && event.key === "Enter") card.querySelector(".row, input")?.focus();
    else if (digit >= 1 && digit <= states.length) press(this.app, v, digit - 1, event);
    else if (event.key === "Backspace" || event.key === "Delete") state.find(v, null);
    else if (event.key === "t" && model.variables[v].kind === "discrete") state.choose("target", v);
    else if (event.key === "f") this.app.focus(v);
    else if (event.key === "m" || event.key === "ContextMenu" || (event.key === "F10" && event.shiftKey)) {
      const { left, bottom } = event.target.getBoundingClientRect();
      this.openMenuAt(event.target, left, bottom);
    } else if (event.key === "Escape" && !isCard) card.focus();
    else if (isArrow && !event.target.matches("input")) this.walk(v, row, event.key);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Go from a row to the next, or from a card to the nearest that lies where the arrow points. */
  walk(v, row, key) {
    const rows = [...this.cards.get(v).element.querySelectorAll(".row")], at = rows.indexOf(row);
    const next = { ArrowDown: at + 1, ArrowUp: at - 1 }[key];
    if (row && next !== undefined && rows[next]) {
      rows[next].focus();
      return;
    }
    const { parents, children } = this.app.model, near = { ArrowUp: parents[v], ArrowDown: children[v] }[key] ?? [];
    const linked = near.filter((u) => this.cards.has(u)), [x, y] = this.centres.get(v);
    const [ahead, aside] = { ArrowUp: [[0, -1], 0], ArrowDown: [[0, 1], 0], ArrowLeft: [[-1, 0], 4], ArrowRight: [[1, 0], 4] }[key];
    let best = null, nearest = Infinity;
    for (const u of linked.length ? linked : this.cards.keys()) {
      const [dx, dy] = [this.centres.get(u)[0] - x, this.centres.get(u)[1] - y];
      const forward = dx * ahead[0] + dy * ahead[1];
      if (u === v || (forward <= 0 && !linked.length)) continue;
      const far = Math.hypot(dx, dy) + aside * Math.abs(ahead[0] ? dy : 0);
      if (far < nearest) [best, nearest] = [u, far];
    }
    if (best !== null) this.cards.get(best).element.focus();
  }
}

/** Return what a menu offers for a variable, or for one of its states. */
export function offers(app, v, k) {
  const { state, model } = app, variable = model.variables[v], finding = state.findings[v];
  const isDiscrete = variable.kind === "discrete", name = k === null ? "" : quotable(variable.states[k], 30);
  const of = (given) => () => press(app, v, k, given);
  const isOut = finding?.not?.includes(k), isOn = finding?.state === k;
  return [
    k !== null && !isOn && [WORDS.observe(name), of({})],
    k !== null && [isOut ? WORDS.allow(name) : WORDS.exclude(name), of({ shiftKey: true })],
    isDiscrete && findingKind(finding) !== "weighed" && [WORDS.weigh, () => press(app, v, 0, { altKey: true })],
    finding && [WORDS.retract, () => state.find(v, null)],
    isDiscrete && state.target !== v && [WORDS.make_target, () => state.choose("target", v)],
    model.hasArcs && [WORDS.focus, () => app.focus(v)],
    [WORDS.inspect, () => app.inspect(v)],
  ].map((item) => item || null);
}
