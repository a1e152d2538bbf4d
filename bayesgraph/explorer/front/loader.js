// Unpacks the style and the script of the page; its policy names the hash of each.

async function unpacked(/** @type {string} */ name) {
  const packed = atob(document.getElementById(`bayesgraph-${name}`).textContent);
  const bytes = Uint8Array.from(packed, (c) => c.charCodeAt(0));
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
