// Live pages: fetches what has changed from the program that serves the page, and sends it the poses of bodies that the
// user drags (docs/live.md).
import * as THREE from "three";
import { button, h, icon, message } from "./page.js";
import { decode } from "./scene.js";

const CONTROLS = { pause: 1, reset: 2, stop: 4 };
const KINDS = ["pose", "pause", "continue", "step", "reset", "stop", "key"]; // abut_live_event_kind
const ATTEMPTS = 3; // until the program is considered as ended
const TURN = Math.PI / 400; // of a body for each pixel

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));
const nextFrame = () => new Promise((done) => requestAnimationFrame(done));

async function fetchMessage(version) {
  const response = await fetch(`next?after=${version}`, { cache: "no-store" });
  if (response.status === 204) return null;
  if (!response.ok) throw new Error(`the program answers ${response.status}`);
  return decode(new Uint8Array(await response.arrayBuffer()));
}

// Shows frames until the program ends. `open` makes the viewer of the first one.
export async function follow(open) {
  let version = 0;
  let live = null;
  const waiting = message("Waiting", "The program has not shown anything yet.");
  for (let failures = 0; ; ) {
    let update = null;
    try {
      update = await fetchMessage(version);
      failures = 0;
    } catch (error) {
      if (++failures < ATTEMPTS) {
        await sleep(300);
        continue;
      }
      waiting.remove();
      if (live) live.end();
      else message("The program has ended", `It showed nothing (${error.message}).`);
      return;
    }
    if (!update) continue;
    waiting.remove();
    version = update.live;
    if (!live || update.since === 0) {
      live?.close();
      live = new Live(update, open);
    } else {
      live.apply(update);
    }
    if (update.ended) {
      live.end();
      return;
    }
    await nextFrame();
  }
}

class Live {
  constructor(first, open) {
    const view = first.arrays[first.view];
    const scene = {
      ...first,
      isLive: true,
      centre: view.slice(0, 3),
      scale: view[3],
      up: view.slice(4, 7),
      eye: view.slice(7, 10),
      fov: view[10],
      size: view.slice(11, 14).map((x) => x * view[3]), // of all that the first picture includes
      ground: false,
      meshes: [],
      scales: [],
      notes: [],
      layers: [],
    };
    this.scene = scene;
    this.layers = []; // of the viewer, by id
    scene.layers = first.layers.map((l) => this.layerOf(l, first.arrays));
    this.viewer = open(scene);
    this.viewer.live = this;
    scene.size = null; // later views show what is there then
    this.viewer.waste = [];
    for (const layer of this.viewer.layers) this.layers[layer.layer.id] = layer;
    this.dragged = new Map(); // item -> { pose, until }: poses of the user that the program has not seen
    this.handled = 0; // events that the program had seen before the last frame
    this.queue = new Map(); // what is to be sent
    this.controls = first.controls;
    this.moves = true;
    this.turns = false;
    this.addCard();
    this.listen();
    this.tell(first.text);
  }

  // ---- frames ----

  // A layer of the viewer, from one of a message that has all its parts.
  layerOf(l, arrays) {
    const colours = arrays[l.colours];
    if (l.kind !== "bodies") return { ...l, placeList: arrays[l.places], colourList: colours };
    const poses = arrays[l.poses];
    this.scene.meshes[l.id] = { positions: arrays[l.positions], indices: arrays[l.indices] };
    const bodies = [];
    for (let i = 0; 7 * i < poses.length; i++) {
      const colour = colours.subarray(4 * i, 4 * i + 4);
      bodies.push({ mesh: l.id, poseList: poses.subarray(7 * i, 7 * i + 7), colour, tintList: colour });
    }
    const triangles = l.triangles === undefined ? {} : { triangles: l.triangles };
    Object.assign(bodies[0], triangles);
    return { ...l, bodies, itemList: arrays[l.items], capacity: Math.max(16, 2 * bodies.length) };
  }

  apply(update) {
    const { viewer } = this;
    let hasNewRows = this.layers.length !== update.count;
    this.handled = update.handled;
    this.release();
    this.scene.arrays = update.arrays;
    for (const l of update.layers) hasNewRows = this.applyLayer(l, update.arrays) || hasNewRows;
    while (this.layers.length > update.count) this.remove(this.layers.length - 1);
    if (hasNewRows) {
      viewer.layers = [...this.layers];
      this.scene.layers = viewer.layers.map((layer) => layer.layer);
      viewer.addRows();
      viewer.setEdges(viewer.edges);
      viewer.applyCut();
    }
    viewer.updateRows();
    viewer.ball = null; // of what is there now, when it is needed
    if (viewer.panel) viewer.hidePick();
    this.tell(update.text);
    viewer.draw();
  }

  // Returns whether the layer is another one than before.
  applyLayer(l, arrays) {
    const layer = this.layers[l.id];
    if (l.name !== undefined || !layer) {
      this.make(this.layerOf(l, arrays));
      return true;
    }
    const colours = arrays[l.colours];
    if (l.places !== undefined) {
      layer.replace(arrays[l.places], colours);
      Object.assign(layer.layer, { placeList: layer.places, colourList: colours });
    }
    if (l.positions !== undefined) layer.setVertices(arrays[l.positions]);
    if (l.triangles !== undefined) layer.setTriangleColours(arrays[l.triangles]);
    if (l.poses === undefined) return false;
    const poses = arrays[l.poses];
    layer.layer.itemList = arrays[l.items];
    layer.layer.itemList.forEach((item, i) => {
      const mine = this.dragged.get(item);
      if (mine) poses.set(mine.pose, 7 * i);
    });
    if (layer.setPoses(poses, colours)) return false;
    const mesh = this.scene.meshes[l.id];
    const again = { ...layer.layer, positions: 0, indices: 1, poses: 2, colours: 3, items: 4 };
    if (again.triangles !== undefined) again.triangles = 5;
    const [part] = layer.parts;
    const old = [mesh.positions, mesh.indices, poses, colours, layer.layer.itemList, part.triangles];
    this.scene.arrays = old;
    this.make(this.layerOf(again, old));
    return true;
  }

  make(l) {
    const { viewer } = this;
    const old = this.layers[l.id];
    const layer = viewer.kinds[l.kind](l);
    if (old) this.remove(l.id, true);
    this.layers[l.id] = layer;
    viewer.world.add(layer.group);
  }

  remove(id, isReplaced) {
    const layer = this.layers[id];
    this.viewer.world.remove(layer.group);
    this.viewer.waste.push(layer);
    if (!isReplaced) this.layers.length = id;
  }

  // ---- the card below ----

  addCard() {
    this.words = h("div", { class: "words", "aria-live": "polite" });
    const press = (kind) => () => this.send(kind, 0);
    const { controls } = this;
    this.pauseButton = button("pause", "pause and continue (Space)", () => this.pause(), "false");
    const buttons = [
      controls & CONTROLS.pause ? this.pauseButton : null,
      controls & CONTROLS.pause ? button("step", "one step (N)", () => this.step()) : null,
      controls & CONTROLS.reset ? button("reset", "begin again", press("reset")) : null,
      controls & CONTROLS.stop ? button("stop", "end the program", press("stop")) : null,
    ];
    this.card = h("section", { class: "card live" }, h("span", { class: "dot", title: "connected" }), this.words, buttons);
    document.body.append(this.card);
    document.body.classList.add("timed");
    this.moveButton = button("move", "drag bodies (M)", () => this.setMoves(!this.moves), "true");
    this.turnButton = button("rotate", "turn bodies instead of moving them (R)", () => this.setTurns(!this.turns), "false");
    if (this.scene.layers.some((l) => l.movable))
      document.querySelector(".tools").prepend(this.moveButton, this.turnButton);
  }

  tell(text) {
    if (this.words.textContent !== text) this.words.textContent = text;
  }

  end() {
    this.hasEnded = true;
    this.stopDrag?.();
    this.card.classList.add("ended");
    this.card.querySelector(".dot").title = "the program has ended";
    this.card.querySelectorAll("button").forEach((b) => b.remove());
    this.card.append(h("span", { class: "note" }, "The program has ended; this is its last state."));
  }

  // Before another viewer takes its place.
  close() {
    this.card.remove();
    document.querySelectorAll("canvas.stage, .side, .tools, dialog, .axes, .pick").forEach((e) => e.remove());
    this.viewer.renderer.dispose();
  }

  setMoves(on) {
    this.moves = on;
    this.moveButton.setAttribute("aria-pressed", on);
  }

  setTurns(on) {
    this.turns = on;
    this.turnButton.setAttribute("aria-pressed", on);
  }

  pause(on = !this.isPaused) {
    this.isPaused = on;
    this.pauseButton.replaceChildren(icon(on ? "play" : "pause"));
    this.send(on ? "pause" : "continue", 0);
  }

  step() {
    this.isPaused = true;
    this.pauseButton.replaceChildren(icon("play"));
    this.send("step", 0);
  }

  // Returns whether the key is of live pages.
  key(event) {
    const keys = { m: () => this.setMoves(!this.moves), r: () => this.setTurns(!this.turns) };
    if (this.controls & CONTROLS.pause) Object.assign(keys, { " ": () => this.pause(), n: () => this.step() });
    const press = keys[event.key.toLowerCase()];
    if (press) press();
    return Boolean(press);
  }

  sendKey(event) {
    if ([...event.key].length === 1) this.send("key", event.key.codePointAt(0));
  }

  // ---- input ----

  // Bodies whose last poses the program has seen are where it shows them.
  release() {
    for (const [item, { until }] of this.dragged) if (this.handled >= until) this.dragged.delete(item);
  }

  // Sends an event soon; of the poses of one body the last.
  send(kind, number, pose = [0, 0, 0, 1, 0, 0, 0], isLast = false) {
    if (this.hasEnded) return;
    const key = kind === "pose" ? number : Symbol(kind);
    this.queue.set(key, [KINDS.indexOf(kind), number, isLast ? 1 : 0, ...pose]);
    this.flush();
  }

  async flush() {
    if (this.isSending) return;
    this.isSending = true;
    while (this.queue.size && !this.hasEnded) {
      const list = [...this.queue].slice(0, 64);
      for (const [key] of list) this.queue.delete(key);
      try {
        const body = new Float64Array(list.flatMap(([, numbers]) => numbers));
        const response = await fetch("input", { method: "POST", body });
        const received = Number(await response.text());
        for (const [key] of list)
          if (this.dragged.has(key) && key !== this.item && !this.queue.has(key))
            this.dragged.get(key).until = response.ok ? received : 0;
        this.release(); // the frame may have come before this answer
      } catch {
        for (const [key] of list) if (this.dragged.has(key)) this.dragged.get(key).until = 0;
      }
    }
    this.isSending = false;
  }

  // ---- dragging ----

  listen() {
    // before the camera, which shares the element
    this.viewer.stage.addEventListener("pointerdown", (e) => this.beginDrag(e), { capture: true });
  }

  beginDrag(event) {
    const { viewer } = this;
    if (event.button !== 0 || !event.isPrimary || !this.moves || this.hasEnded) return;
    const hit = viewer.hitAt(event.clientX, event.clientY, this.layers.filter((l) => l.layer.movable));
    if (!hit) return;
    const { layer } = hit.object.userData;
    const number = hit.instanceId ?? 0;
    const item = layer.layer.itemList[number];
    const { stage, camera, controls } = viewer;
    const pose = Array.from(layer.parts[0].bodies[number].poseList);
    const sphere = layer.parts[0].shape.geometry.boundingSphere;
    const normal = camera.getWorldDirection(new THREE.Vector3());
    const plane = new THREE.Plane().setFromNormalAndCoplanarPoint(normal, hit.point);
    const state = {
      at: new THREE.Vector3(pose[4], pose[5], pose[6]),
      turn: new THREE.Quaternion(pose[0], pose[1], pose[2], pose[3]).normalize(),
      centre: sphere.center,
      plane,
      last: this.pointOn(plane, event) ?? hit.point.clone(),
      x: event.clientX,
      y: event.clientY,
    };
    controls.enabled = false;
    stage.setPointerCapture(event.pointerId);
    this.item = item;
    const show = (isLast) => {
      const now = [state.turn.x, state.turn.y, state.turn.z, state.turn.w, state.at.x, state.at.y, state.at.z];
      this.dragged.set(item, { pose: now, until: Infinity });
      this.showPose(item, now);
      this.send("pose", item, now, isLast);
    };
    const move = (e) => {
      if (e.pointerId !== event.pointerId) return;
      if (this.turns !== e.shiftKey) this.turnBy(state, e.clientX - state.x, e.clientY - state.y);
      const point = this.pointOn(state.plane, e);
      if (point && this.turns === e.shiftKey) state.at.add(point).sub(state.last);
      if (point) state.last = point;
      [state.x, state.y] = [e.clientX, e.clientY];
      show(false);
    };
    const wheel = (e) => {
      const step = viewer.camera.position.distanceTo(state.last) * 5e-4 * e.deltaY;
      const way = state.last.clone().sub(viewer.camera.position).normalize();
      state.at.addScaledVector(way, step);
      state.last.addScaledVector(way, step);
      state.plane.setFromNormalAndCoplanarPoint(normal, state.last);
      show(false);
      e.preventDefault();
    };
    const stop = (e) => {
      if (e && e.pointerId !== event.pointerId) return;
      for (const [name, f] of Object.entries(listeners)) stage.removeEventListener(name, f);
      this.stopDrag = null;
      this.item = undefined;
      controls.enabled = true;
      if (this.dragged.has(item)) show(true);
    };
    const listeners = { pointermove: move, pointerup: stop, pointercancel: stop, wheel };
    this.stopDrag = stop;
    for (const [name, f] of Object.entries(listeners)) stage.addEventListener(name, f, { passive: false });
  }

  // About the middle of the body, as the hand moves in front of the picture.
  turnBy(state, dx, dy) {
    const { camera } = this.viewer;
    const axis = (k) => new THREE.Vector3().setFromMatrixColumn(camera.matrixWorld, k);
    const by = new THREE.Quaternion()
      .setFromAxisAngle(axis(1), TURN * dx)
      .multiply(new THREE.Quaternion().setFromAxisAngle(axis(0), TURN * dy));
    const middle = state.centre.clone().applyQuaternion(state.turn).add(state.at);
    state.at.sub(middle).applyQuaternion(by).add(middle);
    state.turn.premultiply(by).normalize();
  }

  pointOn(plane, event) {
    const { camera } = this.viewer;
    const at = new THREE.Vector2((2 * event.clientX) / window.innerWidth - 1, 1 - (2 * event.clientY) / window.innerHeight);
    const ray = new THREE.Raycaster();
    ray.setFromCamera(at, camera);
    return ray.ray.intersectPlane(plane, new THREE.Vector3());
  }

  showPose(item, pose) {
    for (const layer of this.layers) {
      const number = layer?.layer.itemList?.indexOf(item) ?? -1;
      if (number < 0) continue;
      layer.parts[0].bodies[number].poseList = Float32Array.from(pose);
      layer.setFrame(0);
    }
    this.viewer.draw();
  }
}
