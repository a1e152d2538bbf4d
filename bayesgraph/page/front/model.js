// Reads what the file holds: a head in plain JSON, the snapshot and the numbers compressed.

/** The newest version of the snapshot that this page reads. */
export const SNAPSHOT_FORMAT = 1;

/** Return the snapshot and the numbers in a page. */
export async function readPage(/** @type {Document} */ page) {
  const head = JSON.parse(page.getElementById("bayesgraph").textContent);
  if (head.format > SNAPSHOT_FORMAT) {
    throw new Error(`This file is of version ${head.format}; the page reads ${SNAPSHOT_FORMAT}.`);
  }
  const data = await Promise.all(head.blocks.map((name) => (
    inflate(page.getElementById(`bayesgraph-${name}`).textContent))));
  const [content, numbers] = data;
  const snapshot = { ...JSON.parse(new TextDecoder().decode(content)), ...head };
  return { snapshot, numbers: new Float64Array(numbers.buffer) };
}

/** Return the bytes of compressed base64. */
export async function inflate(/** @type {string} */ text) {
  const packed = bytesOf(text);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

export function bytesOf(/** @type {string} */ text) {
  const raw = atob(text), bytes = new Uint8Array(raw.length);
  for (let k = 0; k < raw.length; k++) bytes[k] = raw.charCodeAt(k);
  return bytes;
}
