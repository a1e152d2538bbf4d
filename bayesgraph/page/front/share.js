// Ways out of the page: a link, Python, a file of its own.

import { likelihoods } from "./state.js";

/** Return text as a literal of Python: JSON's escapes are Python's too. */
const literal = (text) => JSON.stringify(text);

function stateLiteral({ states, items, typed }, k) {
  return typed ? typed[k] : literal((items ?? states)[k]);
}

function valueLiteral(variable, finding) {
  if (finding.state !== undefined) return stateLiteral(variable, finding.state);
  if (finding.value !== undefined) return String(finding.value);
  if (finding.counts) {
    return `{${Object.entries(finding.counts).map(([k, x]) => `${stateLiteral(variable, k)}: ${x}`).join(", ")}}`;
  }
  const weights = likelihoods(finding, variable.states.length);
  return `{${weights.map((x, k) => `${stateLiteral(variable, k)}: ${x}`).join(", ")}}`;
}

const nameLiteral = (variable) => variable.key ?? literal(variable.name);

/** Return Python that loads this file and asks the same. */
export function pythonOf(model, { findings, target }, file) {
  const given = Object.entries(findings).map(([v, finding]) => {
    const variable = model.variables[v];
    return `    ${nameLiteral(variable)}: ${valueLiteral(variable, finding)},\n`;
  });
  const evidence = given.length ? `{\n${given.join("")}}` : "{}";
  const ask = target === null ? [] : [`model.query(${nameLiteral(model.variables[target])}, evidence)`];
  return ["import bayesgraph as bg", "", `model = bg.load(${literal(file)})`, `evidence = ${evidence}`, ...ask,
    "model.marginals(evidence)", ""].join("\n");
}

/** Return the name of this file. */
export function fileName() {
  const last = decodeURIComponent(location.pathname.split("/").at(-1) ?? "");
  return /\.html?$/.test(last) ? last : "model.html";
}

/** Return the text of this page with other findings to begin with. */
export function pageWith(page, { findings, target, view }) {
  const copy = page.documentElement.cloneNode(true), head = copy.querySelector("#bayesgraph");
  const written = { ...JSON.parse(head.textContent), initial: findings, target, view };
  head.textContent = JSON.stringify(written).replace(/</g, "\\u003c");
  copy.querySelector("#app").replaceChildren();
  for (const part of copy.querySelectorAll(".bayesgraph-unpacked")) part.remove();
  delete copy.dataset.theme;
  return `<!doctype html>\n${copy.outerHTML}\n`;
}

/** Let the browser save a text as a file. */
export function download(name, text) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type: "text/html" }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
