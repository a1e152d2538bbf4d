// The entry: reads the page, makes the backend, and shows the view.

import { createBackend } from "./backend.js";
import { inflate, readPage } from "./model.js";

/** What the page holds, once it is ready; tests and readers of the console ask it too. */
async function start(/** @type {Document} */ page) {
  const { snapshot, numbers } = await readPage(page);
  const kernel = await inflate(page.getElementById("bayesgraph-kernel").textContent);
  const backend = await createBackend(snapshot, numbers, { kernel });
  return { snapshot, numbers, kernel, backend, createBackend };
}

globalThis.bayesgraph = start(document);
