// What appears above the page: menus, notices and dialogs.

import { button, fill, h } from "./dom.js";
import { WORDS } from "./words.js";

let open = null;

/**
 * Open a menu beside a point or an element.
 * @param {{x: number, y: number}} at in the window
 * @param {([string, () => void] | null)[]} items texts and what they do
 */
export function openMenu(at, items) {
  closeMenu();
  const back = document.activeElement;
  const choose = (action) => () => {
    closeMenu();
    back?.focus?.({ preventScroll: true });
    action();
  };
  const list = h("div", { className: "menu", role: "menu", on: { keydown: walkMenu } },
    items.filter(Boolean).map(([text, action]) => button(text, choose(action), { role: "menuitem" })));
  document.body.append(list);
  const { offsetWidth: w, offsetHeight: tall } = list;
  list.style.left = `${Math.max(4, Math.min(at.x, innerWidth - w - 4))}px`;
  list.style.top = `${Math.max(4, Math.min(at.y, innerHeight - tall - 4))}px`;
  open = { list, back };
  list.firstElementChild.focus();
  addEventListener("pointerdown", outside, true);
}

function closeMenu() {
  if (!open) return;
  open.list.remove();
  open = null;
  removeEventListener("pointerdown", outside, true);
}

function outside(event) {
  if (open && !open.list.contains(event.target)) closeMenu();
}

function walkMenu(event) {
  const items = [...open.list.children], at = items.indexOf(document.activeElement);
  const step = { ArrowDown: 1, ArrowUp: -1, Home: -at, End: items.length - 1 - at }[event.key];
  if (step !== undefined) items[(at + step + items.length) % items.length].focus();
  else if (event.key === "Escape" || event.key === "Tab") {
    const { back } = open;
    closeMenu();
    back?.focus?.();
  } else return;
  event.preventDefault();
  event.stopPropagation();
}

/** Return the place for notices, and the function that shows one with buttons below it. */
export function createNotices() {
  const element = h("div", { className: "notices", role: "alert" });
  let timer = 0;
  const notify = (children, actions = [], seconds = 0) => {
    clearTimeout(timer);
    const close = () => fill(element);
    const buttons = actions.map(([text, action]) => button(text, () => { close(); action(); }, { className: "press" }));
    fill(element, h("div", { className: "notice" }, h("div", {}, children),
      h("div", { className: "actions" }, buttons), button("✕", close, { className: "clear", "aria-label": WORDS.close })));
    if (seconds) timer = setTimeout(close, 1000 * seconds);
  };
  return { element, notify, clear: () => fill(element) };
}

export function openDialog(title, ...children) {
  const dialog = h("dialog", { "aria-label": title, on: { close: () => dialog.remove() } },
    h("header", {}, h("h2", {}, title), button("✕", () => dialog.close(), { className: "clear", "aria-label": WORDS.close })),
    children);
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

export function openHelp() {
  openDialog(WORDS.help_title, WORDS.help_text.map((text) => h("p", {}, text)),
    h("dl", { className: "keys" }, WORDS.help_keys.map(([key, text]) => [h("dt", {}, key), h("dd", {}, text)])));
}
