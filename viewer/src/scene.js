// Reads the scene of a page: base64, deflate, then a head in JSON and arrays of numbers behind it
// (docs/viewer.md says what is in them).

const TYPES = {
  f32: Float32Array,
  f64: Float64Array,
  u32: Uint32Array,
  u16: Uint16Array,
  u8: Uint8Array,
};

function fromBase64(text) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

export async function readScene(element) {
  let bytes = fromBase64(element.textContent.trim());
  if (element.dataset.packing === "deflate") bytes = await inflate(bytes);
  element.remove(); // the text is no longer needed
  return decode(bytes);
}

// The header of a scene or of a message of a live page, with its arrays.
export function decode(bytes) {
  const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
  const head = JSON.parse(new TextDecoder().decode(bytes.subarray(4, 4 + length)));
  if (head.abut !== 1) throw new Error("this scene is of another version of abut");
  const start = bytes.byteOffset + 4 + length;
  head.arrays = head.arrays.map(
    ([type, offset, count]) => new TYPES[type](bytes.buffer, start + offset, count),
  );
  for (const mesh of head.meshes ?? []) {
    mesh.positions = head.arrays[mesh.positions];
    mesh.indices = head.arrays[mesh.indices];
  }
  head.frames ??= 1;
  return head;
}

// Vertices of all frames: each is given as what it differs by from the one before, modulo 2^16.
export function addUp(steps, count) {
  const all = new Uint16Array(steps); // a copy
  for (let i = count; i < all.length; i++) all[i] += all[i - count];
  return all;
}

// A colour scale as 512 colours, and as words.
export function rampOf(scale) {
  const size = 512;
  const pixels = new Uint8Array(4 * size);
  const { least, most, stops } = scale;
  let at = 0;
  for (let i = 0; i < size; i++) {
    const value = least + ((i + 0.5) / size) * (most - least);
    while (at + 2 < stops.length && stops[at + 1][0] <= value) at++;
    const [a, b] = [stops[at], stops[at + 1]];
    const t = b[0] > a[0] ? Math.min(1, Math.max(0, (value - a[0]) / (b[0] - a[0]))) : 1;
    for (let k = 0; k < 3; k++) pixels[4 * i + k] = Math.round(a[k + 1] + t * (b[k + 1] - a[k + 1]));
    pixels[4 * i + 3] = 255;
  }
  return pixels;
}

// Numbers as people read them.
export function words(x, step = 0) {
  if (!Number.isFinite(x)) return "–";
  if (step && Math.abs(x) < step / 2) return "0";
  if (Number.isInteger(x) && Math.abs(x) < 1e9) return String(x);
  const size = Math.abs(x);
  return size >= 1e6 || size < 1e-4 ? x.toExponential(3) : String(Number(x.toPrecision(5)));
}
