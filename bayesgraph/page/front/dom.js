// Makes elements. Whatever comes from a model reaches the page as a text node, never as markup.

const SVG = "http://www.w3.org/2000/svg", LONGEST_BROKEN = 200, SHORT = 16;

/**
 * Return an element.
 * @param {string} tag
 * @param {Object<string, any>} given listeners in `on`, properties of the style in `style`, entries
 *   of the dataset in `data`; other entries are properties, or attributes where there is none
 * @param {...any} children elements, texts, lists of them; null and false are left out
 * @returns {any}
 */
export function h(tag, given = {}, ...children) {
  return filled(document.createElement(tag), given, children);
}

/** Return an element of a picture; its entries are attributes. */
export function svg(tag, given = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [key, value] of Object.entries(given)) element.setAttribute(key, String(value));
  element.append(...children);
  return element;
}

function filled(element, { on = {}, style = {}, data = {}, ...given }, children) {
  for (const [key, value] of Object.entries(given)) {
    if (value === null || value === undefined) continue;
    if (key in element) element[key] = value;
    else element.setAttribute(key, String(value));
  }
  for (const [key, listener] of Object.entries(on)) element.addEventListener(key, listener);
  for (const [key, value] of Object.entries(style)) element.style.setProperty(key, String(value));
  Object.assign(element.dataset, data);
  element.append(...present(children));
  return element;
}

function present(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false);
}

/** Put other children into an element. */
export function fill(element, ...children) {
  element.replaceChildren(...present(children));
  return element;
}

/** Return a text of the model, whose direction of writing stays its own and which may break at marks. */
export function own(text, given = {}) {
  const parts = text.length > LONGEST_BROKEN ? [text] : text.split(/(?<=[_\-./,;:=])/);
  const className = [given.className, text.length > SHORT && "cut"].filter(Boolean).join(" ") || null;
  return h("bdi", { ...given, className }, parts.flatMap((part, k) => (k ? [document.createElement("wbr"), part] : [part])));
}

/** Return the name of a variable. */
export function named(text) {
  return own(text, { className: "name", title: text });
}

/** Return a name for a sentence that is a plain string: short, its direction kept to itself. */
export function quotable(text, longest = 60) {
  const flat = text.replace(/\s+/gu, " "), shown = [...flat.slice(0, 3 * longest)];
  const cut = shown.length > longest || flat.length > 3 * longest;
  return `\u2068${cut ? `${shown.slice(0, longest - 1).join("")}…` : flat}\u2069`;
}

export function button(text, press, given = {}) {
  return h("button", { type: "button", on: { click: press }, ...given }, text);
}

/** Set a property only where it changes: reading is cheap, layout is not. */
export function set(element, key, value) {
  if (element[key] !== value) element[key] = value;
}
