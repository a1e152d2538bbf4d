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
  const [content, coded] = data;
  const snapshot = { ...JSON.parse(new TextDecoder().decode(content)), ...head };
  return { snapshot, numbers: decodeNumbers(coded, snapshot.coding) };
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

/** Return the numbers: as they are, or different values and the index of each. */
export function decodeNumbers(/** @type {Uint8Array} */ bytes, coding) {
  const { buffer } = bytes;
  if (!coding.distinct) return new Float64Array(buffer, 0, coding.n);
  const values = new Float64Array(buffer, 0, coding.distinct), at = 8 * coding.distinct;
  const kind = { 1: Uint8Array, 2: Uint16Array, 4: Uint32Array }[coding.width];
  const index = new kind(buffer, at, coding.n), numbers = new Float64Array(coding.n);
  for (let k = 0; k < coding.n; k++) numbers[k] = values[index[k]];
  return numbers;
}
