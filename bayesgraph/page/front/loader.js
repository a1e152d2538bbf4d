// Unpacks the style and the script of the page; its policy names the hash of each.

const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;,=>?@^_`{|}~";

/** Five digits of base 85 are four bytes, and the last few as many bytes less one. */
function bytesOf(/** @type {string} */ text) {
  const whole = Math.ceil(text.length / 5), bytes = new DataView(new ArrayBuffer(4 * whole));
  const padded = text.padEnd(5 * whole, "~");
  for (let k = 0; k < whole; k++) {
    let number = 0;
    for (let i = 5 * k; i < 5 * k + 5; i++) number = 85 * number + DIGITS.indexOf(padded[i]);
    bytes.setUint32(4 * k, number);
  }
  return bytes.buffer.slice(0, 4 * whole + text.length - padded.length);
}

async function unpacked(/** @type {string} */ name) {
  const bytes = bytesOf(document.getElementById(`bayesgraph-${name}`).textContent);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).text();
}

function added(/** @type {HTMLElement} */ element, /** @type {string} */ text) {
  element.textContent = text;
  element.className = "bayesgraph-unpacked";
  document.head.append(element);
}

added(document.createElement("style"), await unpacked("look"));
const front = document.createElement("script");
front.type = "module";
front.id = "bayesgraph-front";
added(front, await unpacked("script"));
