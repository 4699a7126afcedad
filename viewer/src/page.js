// What stands around the scene: cards, buttons, legends, words.
import { words } from "./scene.js";

export function h(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value !== undefined && value !== null) element.setAttribute(key, value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

const ICONS = {
  fit: "M4 9V5a1 1 0 0 1 1-1h4M15 4h4a1 1 0 0 1 1 1v4M20 15v4a1 1 0 0 1-1 1h-4M9 20H5a1 1 0 0 1-1-1v-4M9 9h6v6H9z",
  edges: "M12 3 3 19h18zM12 3v8M3 19l9-8M21 19l-9-8",
  cut: "M4 7l8-4 8 4v10l-8 4-8-4zM2 12h20",
  theme: "M12 3a9 9 0 1 0 9 9 7 7 0 0 1-9-9z",
  help: "M9.2 9a3 3 0 1 1 4 2.8c-.9.4-1.2 1-1.2 2.2M12 17.5v.1M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18z",
  picture: "M4 8h3l2-3h6l2 3h3v11H4zM12 17a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7z",
  move: "M12 3v18M3 12h18M12 3l-3 3M12 3l3 3M12 21l-3-3M12 21l3-3M3 12l3-3M3 12l3 3M21 12l-3-3M21 12l-3 3",
  rotate: "M20 12a8 8 0 1 1-2.4-5.7M20 3v5h-5",
  step: "M6 4v16l10-8zM19 4v16",
  reset: "M4 12a8 8 0 1 0 2.4-5.7M4 3v5h5",
  stop: "M6 6h12v12H6z",
  play: "M7 4v16l13-8z",
  pause: "M8 5v14M16 5v14",
  glass: "M12 4a8 8 0 1 0 0 16zM12 4a8 8 0 0 1 0 16",
  fold: "M6 9l6 6 6-6",
  close: "M6 6l12 12M18 6L6 18",
};

export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("class", "icon");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute("d", ICONS[name]);
  svg.append(path);
  return svg;
}

export function button(name, title, press, pressed) {
  return h("button", { type: "button", title, "aria-label": title, "aria-pressed": pressed, onclick: press }, icon(name));
}

export const css = ([r, g, b]) => `rgb(${r} ${g} ${b})`;

const grouped = (n) => n.toLocaleString("en-US");

// How much there is of a row: what the command says of it, or triangles, or points. Of lines there
// may be several for one thing.
export function amountOf(layers) {
  const { kind, count } = layers[0].layer;
  const said = layers.map((layer) => layer.layer.amount).find((amount) => amount !== undefined);
  if (said !== undefined) return typeof said === "number" ? grouped(said) : said;
  if (kind === "bodies") return `${grouped(layers.reduce((sum, layer) => sum + (layer.triangleCount ?? 0), 0))} tri`;
  if (kind === "field") return count.join("×");
  return kind === "lines" ? "" : grouped(layers[0].most);
}

// A line of the list, of layers that have one name.
export function layerRow(layers, { toggle, glass, look }) {
  const [layer] = layers;
  const { kind, name } = layer.layer;
  const shape = kind === "lines" || kind === "arrows" ? "swatch line" : kind === "points" ? "swatch round" : "swatch";
  const swatch = layer.scale
    ? h("span", { class: "swatch", style: `background:${gradient(layer.scale, "135deg")}` })
    : h("span", { class: shape, style: `background:${css(layer.colour)}` });
  const box = h("input", { type: "checkbox", checked: !look.hidden, onchange: (e) => toggle(e.target.checked) });
  const row = h(
    "div",
    { class: "layer" },
    h("label", {}, box, swatch, h("span", { class: "name" }, name), h("span", { class: "count" }, amountOf(layers))),
  );
  if (glass) {
    const see = button("glass", "see through", () => {
      const on = see.getAttribute("aria-pressed") !== "true";
      see.setAttribute("aria-pressed", on);
      glass(on);
    }, String(look.glass));
    row.append(see);
  }
  return row;
}

export function gradient({ least, most, stops }, way) {
  const list = stops.map(([v, ...c]) => `${css(c)} ${((100 * (v - least)) / (most - least)).toFixed(2)}%`);
  return `linear-gradient(${way}, ${list.join(", ")})`;
}

export function legend(scale, unit) {
  const { least, most } = scale;
  const ticks = h("div", { class: "ticks" });
  const share = (v) => (100 * (v - least)) / (most - least);
  let step = scale.step;
  while ((most - least) / step > 5) step *= 2;
  let last = -100;
  for (let k = Math.ceil(least / step); k * step <= most + 1e-9 * step; k++) {
    const at = share(k * step);
    if (at - last < 16) continue;
    last = at;
    ticks.append(h("span", { style: `left:${Math.min(96, Math.max(4, at))}%` }, words(k * step)));
  }
  return h(
    "div",
    { class: "section" },
    h("h2", {}, unit ? `${scale.what} (${unit})` : scale.what),
    h("div", { class: "bar", style: `background:${gradient(scale, "90deg")}` }),
    ticks,
  );
}

export const KEYS = [
  ["drag", "turn; with the right button, or two fingers: move"],
  ["wheel, pinch", "come closer, go away"],
  ["click, tap", "ask what is there, and how far from the last place"],
  ["F", "show all"],
  ["1 2 3", "from the front, the right, the top"],
  ["0", "where the page began"],
  ["E", "edges of triangles"],
  ["C", "cut open"],
  ["Space", "play and stop"],
  ["← →", "one frame back, one on"],
  ["T", "light and dark"],
  ["P", "keep a picture"],
  ["Esc", "close what is open"],
];

const LIVE_KEYS = [
  ["drag a body", "move it in the plane of the picture; with Shift, or after R: turn it"],
  ["wheel while dragging", "towards you, away from you"],
  ["M, R", "whether drags move bodies; whether they turn them"],
  ["Space, N", "pause and continue; one step"],
];
const FRAME_KEYS = new Set(["Space", "← →"]); // of pages with frames

function keysOf(isLive) {
  return isLive ? [...LIVE_KEYS, ...KEYS.filter(([key]) => !FRAME_KEYS.has(key))] : KEYS;
}

export function helpDialog(version, isLive) {
  return h(
    "dialog",
    { "aria-label": "help" },
    h("h2", {}, "How to look around"),
    h("table", {}, ...keysOf(isLive).map(([key, text]) => h("tr", {}, h("td", {}, h("kbd", {}, key)), h("td", {}, text)))),
    h("p", { style: "margin:10px 0 0;color:var(--soft)" }, `Written by abut ${version}. Nothing is loaded from ${isLive ? "another machine" : "a network"}.`),
  );
}

// Returns the message, which can be removed.
export function message(title, text) {
  const shown = h("div", { class: "message" }, h("div", { class: "card" }, h("h2", {}, title), h("p", {}, text)));
  document.body.append(shown);
  return shown;
}
