// The viewer of abut: shows the scene that stands in the page (docs/viewer.md).
import * as THREE from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";
import { Field } from "./field.js";
import { follow } from "./live.js";
import { Arrows, Lines, Points } from "./marks.js";
import { amountOf, button, css, h, helpDialog, icon, layerRow, legend, message } from "./page.js";
import { readScene, words } from "./scene.js";
import { Bodies } from "./surface.js";
import style from "./style.css";

export class Viewer {
  constructor(scene) {
    this.scene = scene;
    this.frame = 0;
    this.stage = document.body.appendChild(h("canvas", { class: "stage", tabindex: 0, "aria-label": "the scene" }));
    this.renderer = new THREE.WebGLRenderer({ canvas: this.stage, antialias: true, alpha: true });
    this.renderer.setPixelRatio(Math.min(window.devicePixelRatio, 2));
    this.world = new THREE.Scene();
    this.camera = new THREE.PerspectiveCamera(scene.fov, 1, 0.001, 100);
    this.camera.up.set(...scene.up).normalize();
    this.controls = new OrbitControls(this.camera, this.stage);
    this.controls.enableDamping = false;
    this.controls.zoomToCursor = true;
    this.controls.screenSpacePanning = true;
    this.controls.addEventListener("start", () => {
      this.turned = true;
    });
    this.controls.addEventListener("change", () => this.draw());
    this.addLights();
    this.plane = new THREE.Plane();
    this.addLayers();
    this.addPage();
    this.setTheme(document.documentElement.dataset.theme);
    window.addEventListener("resize", () => this.resize());
    window.addEventListener("keydown", (e) => this.key(e));
    this.listenForPicks();
    this.resize();
  }

  addLights() {
    this.world.add(this.camera);
    this.sky = new THREE.HemisphereLight(0xffffff, 0x6b7280, 1.7);
    this.sky.position.copy(this.camera.up);
    const key = new THREE.DirectionalLight(0xffffff, 2.0);
    key.position.set(-0.6, 0.9, 1.2); // over the left shoulder
    this.camera.add(key, key.target);
    key.target.position.set(0, 0, -1);
    this.world.add(this.sky);
  }

  addLayers() {
    const radius = this.extent().radius;
    const ratio = this.renderer.getPixelRatio();
    const kinds = {
      bodies: (l) => new Bodies(this.scene, l),
      lines: (l) => new Lines(this.scene, l),
      points: (l) => new Points(this.scene, l, ratio),
      arrows: (l) => new Arrows(this.scene, l, radius),
      field: (l) => new Field(this.scene, l),
    };
    this.kinds = kinds;
    const order = Object.keys(kinds); // of the list: results first, then surfaces
    this.layers = this.scene.layers
      .filter((l) => kinds[l.kind])
      .sort((a, b) => Boolean(b.result) - Boolean(a.result) || order.indexOf(a.kind) - order.indexOf(b.kind))
      .map((l) => kinds[l.kind](l));
    for (const layer of this.layers) this.world.add(layer.group);
    this.fields = this.layers.filter((l) => l instanceof Field);
    const edge = new THREE.LineBasicMaterial({ color: 0x10151d, transparent: true, opacity: 0.4 });
    this.edgeMaterial = edge;
    this.edges = false;
    for (const layer of this.layers) if (layer.layer.edges) layer.setEdges(true, edge);
    const outline = new THREE.BufferGeometry().setAttribute("position", new THREE.BufferAttribute(new Float32Array(9), 3));
    this.outline = new THREE.LineLoop(outline, new THREE.LineBasicMaterial({ color: 0xd0021b, depthTest: false }));
    this.outline.renderOrder = 9;
    this.outline.visible = false;
    this.outline.frustumCulled = false;
    this.spot = new THREE.Mesh(
      new THREE.SphereGeometry(1, 20, 14),
      new THREE.MeshBasicMaterial({ color: 0xd0021b, depthTest: false, transparent: true, opacity: 0.9 }),
    );
    this.spot.renderOrder = 9;
    this.spot.visible = false;
    this.world.add(this.outline, this.spot);
  }

  // The ball about all that is shown in any frame, before layers are there: from the data.
  extent() {
    if (this.ball) return this.ball;
    const box = new THREE.Box3();
    const p = new THREE.Vector3();
    const q = new THREE.Quaternion();
    const add = (list) => {
      for (let i = 0; i + 2 < list.length; i += 3) box.expandByPoint(p.set(list[i], list[i + 1], list[i + 2]));
    };
    const own = this.scene.meshes.map((m) => {
      const b = new THREE.Box3();
      for (let i = 0; i < m.positions.length; i += 3) b.expandByPoint(p.fromArray(m.positions, i));
      return b;
    });
    for (const layer of this.scene.layers) {
      for (const body of layer.bodies ?? []) {
        const poses = body.poseList ?? this.scene.arrays[body.poses];
        const b = body.low
          ? new THREE.Box3(new THREE.Vector3(...body.low), new THREE.Vector3(...body.high))
          : own[body.mesh];
        if (b.isEmpty()) continue;
        for (let i = 0; i < poses.length; i += 7) {
          q.set(poses[i], poses[i + 1], poses[i + 2], poses[i + 3]);
          if (q.lengthSq() === 0) continue;
          for (let k = 0; k < 8; k++) {
            p.set((k & 1 ? b.max : b.min).x, (k & 2 ? b.max : b.min).y, (k & 4 ? b.max : b.min).z).applyQuaternion(q);
            p.x += poses[i + 4];
            p.y += poses[i + 5];
            p.z += poses[i + 6];
            box.expandByPoint(p);
          }
        }
      }
      if (layer.placeList) add(layer.placeList);
      else if (layer.places !== undefined) add(this.scene.arrays[layer.places]);
      if (layer.kind === "field")
        add([...layer.origin, ...layer.origin.map((o, k) => o + layer.cell * (layer.count[k] - 1))]);
    }
    if (this.scene.size) box.union(new THREE.Box3().setFromCenterAndSize(new THREE.Vector3(), new THREE.Vector3(...this.scene.size)));
    if (box.isEmpty()) box.set(new THREE.Vector3(-1, -1, -1), new THREE.Vector3(1, 1, 1));
    this.box = box;
    this.ball = box.getBoundingSphere(new THREE.Sphere());
    this.ball.radius = this.ball.radius || 1;
    return this.ball;
  }

  // ---- the camera ----

  look(direction) {
    const { center, radius } = this.extent();
    const d = direction.clone().normalize();
    this.camera.position.copy(center).add(d); // to have its axes
    this.camera.lookAt(center);
    this.camera.updateMatrixWorld();
    // as near as all corners of the box allow
    const half = Math.tan(THREE.MathUtils.degToRad(this.camera.fov / 2));
    const wide = half * this.camera.aspect;
    const right = new THREE.Vector3().setFromMatrixColumn(this.camera.matrixWorld, 0);
    const up = new THREE.Vector3().setFromMatrixColumn(this.camera.matrixWorld, 1);
    const p = new THREE.Vector3();
    let far = 0.05 * radius;
    for (let k = 0; k < 8; k++) {
      const { min, max } = this.box;
      p.set((k & 1 ? max : min).x, (k & 2 ? max : min).y, (k & 4 ? max : min).z).sub(center);
      const z = p.dot(d);
      far = Math.max(far, z + Math.abs(p.dot(right)) / wide, z + Math.abs(p.dot(up)) / half);
    }
    this.camera.position.copy(center).addScaledVector(d, 1.12 * far);
    this.controls.target.copy(center);
    this.camera.near = 1e-3 * radius;
    this.camera.far = 1e2 * radius;
    this.camera.updateProjectionMatrix();
    this.controls.update();
    this.draw();
  }

  home() {
    this.look(new THREE.Vector3(...this.scene.eye));
  }

  fit() {
    this.turned = true;
    this.look(this.camera.position.clone().sub(this.controls.target));
  }

  // The front of a model is towards -y where z is up, and towards z where y is up.
  side(name) {
    this.turned = true;
    const up = this.camera.up;
    const front = Math.abs(up.y) > 0.9 ? new THREE.Vector3(0, 0, 1) : new THREE.Vector3(0, -1, 0);
    front.addScaledVector(up, -front.dot(up)).normalize();
    const right = new THREE.Vector3().crossVectors(up, front);
    if (name === "front") this.look(front);
    else if (name === "right") this.look(right);
    else this.look(up.clone().addScaledVector(front, 1e-3));
  }

  resize() {
    const [w, height] = [window.innerWidth, window.innerHeight];
    this.renderer.setSize(w, height, false);
    this.camera.aspect = w / height;
    this.camera.updateProjectionMatrix();
    if (this.turned) this.draw();
    else this.home(); // nobody has chosen another place yet
  }

  // Draws once, soon.
  draw() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => {
      this.asked = false;
      this.render();
    });
  }

  render() {
    const begun = performance.now();
    const waste = this.waste ?? [];
    const away = this.camera.position.distanceTo(this.spot.position);
    this.spot.scale.setScalar((4 * away * Math.tan(THREE.MathUtils.degToRad(this.camera.fov / 2)) * 2) / window.innerHeight);
    this.renderer.render(this.world, this.camera);
    for (const layer of waste.splice(0)) layer.dispose(); // now that others use its programs
    this.placeAxes();
    this.drawn = (this.drawn ?? 0) + 1;
    this.lastDraw = performance.now() - begun;
    document.documentElement.dataset.ready = "1";
  }

  // ---- the page ----

  addPage() {
    const { scene } = this;
    document.title = scene.title;
    // Surfaces of an answer, such as clashes, are cut from those of the files: their sum is no count of a file.
    const files = this.layers.some((l) => l.layer.result) ? [] : this.layers;
    const triangles = files.reduce((sum, l) => sum + (l.triangleCount ?? 0), 0);
    const what = [
      scene.command ? `abut ${scene.command}` : null,
      triangles && !scene.isLive ? `${triangles.toLocaleString("en-US")} triangle${triangles === 1 ? "" : "s"}` : null,
      scene.frames > 1 ? `${scene.frames} frames` : null,
      scene.isLive ? "live" : null,
    ];
    const side = h("aside", { class: "card side" });
    const fold = button("fold", "show and hide the list", () => side.classList.toggle("folded"));
    fold.classList.add("fold");
    const body = h("div", { class: "body" });
    side.append(
      h("header", {}, h("h1", {}, scene.title, h("p", {}, what.filter(Boolean).join(" · "))), fold),
      body,
    );
    body.append((this.rowBox = h("div", {})));
    this.addRows();
    if (this.fields.length) body.append(this.fieldControls());
    body.append((this.cutBox = this.cutControls()));
    const scales = new Map(); // equal ones are shown once, others with the name of whose they are
    for (const layer of this.layers)
      if (layer.scale && !scales.has(JSON.stringify(layer.scale))) scales.set(JSON.stringify(layer.scale), layer);
    for (const { scale, layer } of scales.values()) {
      const alone = [...scales.values()].filter((other) => other.scale.what === scale.what).length === 1;
      body.append(legend(alone ? scale : { ...scale, what: `${scale.what}, ${layer.name}` }, scene.unit));
    }
    if (scene.notes?.length)
      body.append(
        h("div", { class: "section" }, ...scene.notes.map(([r, g, b, text]) =>
          h("div", { class: "row" }, h("span", { class: "swatch", style: `background:${css([r, g, b])}` }), text))),
      );
    document.body.append(side, this.toolbar());
    if (scene.frames > 1) document.body.append(this.timeBar());
    document.body.append((this.help = helpDialog(scene.version, scene.isLive)), this.axes());
    this.help.addEventListener("click", () => this.help.close());
    if (window.innerWidth < 640) side.classList.add("folded");
    this.showCut(this.fields.length > 0);
  }

  // The list. What the user has hidden or made transparent is kept by name, since layers of live pages come and go.
  addRows() {
    this.looks ??= new Map();
    this.rows = new Map(); // surfaces, lines and points of one name are one thing
    for (const layer of this.layers) {
      const { name } = layer.layer;
      this.rows.set(name, [...(this.rows.get(name) ?? []), layer]);
    }
    const list = [];
    for (const [name, together] of this.rows) {
      const look = this.looks.get(name) ?? { hidden: Boolean(together[0].layer.hidden), glass: false };
      this.looks.set(name, look);
      const surfaces = together.filter((layer) => layer.setGlass);
      const toggle = (on) => {
        look.hidden = !on;
        for (const layer of together) layer.group.visible = on;
        this.draw();
      };
      const glass = (on) => {
        look.glass = on;
        for (const layer of surfaces) layer.setGlass(on);
        this.draw();
      };
      for (const layer of together) layer.group.visible = !look.hidden;
      if (look.glass) for (const layer of surfaces) layer.setGlass(true);
      list.push(layerRow(together, { toggle, glass: surfaces.length ? glass : null, look }));
    }
    this.rowBox.replaceChildren(...list);
  }

  // The amounts of the list, for live pages.
  updateRows() {
    [...this.rows.values()].forEach((together, i) => {
      this.rowBox.children[i].querySelector(".count").textContent = amountOf(together);
    });
  }

  toolbar() {
    this.edgeButton = button("edges", "edges of triangles (E)", () => this.setEdges(!this.edges), "false");
    this.cutButton = button("cut", "cut open (C)", () => this.showCut(this.cutBox.hidden), "false");
    return h(
      "nav",
      { class: "card tools" },
      button("fit", "show all (F)", () => this.fit()),
      this.edgeButton,
      this.cutButton,
      button("picture", "keep a picture (P)", () => this.keepPicture()),
      button("theme", "light and dark (T)", () => this.switchTheme()),
      button("help", "help (?)", () => this.help.showModal()),
    );
  }

  axes() {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    svg.setAttribute("class", "axes");
    svg.setAttribute("viewBox", "-34 -34 68 68");
    this.axisParts = ["x", "y", "z"].map((name, k) => {
      const colour = ["#d9453b", "#3f9b46", "#3b76d9"][k];
      const line = document.createElementNS(svg.namespaceURI, "line");
      line.setAttribute("stroke", colour);
      const text = document.createElementNS(svg.namespaceURI, "text");
      text.textContent = name;
      text.setAttribute("fill", colour);
      svg.append(line, text);
      return { line, text, axis: new THREE.Vector3().setComponent(k, 1) };
    });
    return svg;
  }

  placeAxes() {
    const turn = this.camera.quaternion.clone().invert();
    for (const { line, text, axis } of this.axisParts) {
      const v = axis.clone().applyQuaternion(turn);
      line.setAttribute("x2", (20 * v.x).toFixed(2));
      line.setAttribute("y2", (-20 * v.y).toFixed(2));
      text.setAttribute("x", (28 * v.x).toFixed(2));
      text.setAttribute("y", (-28 * v.y).toFixed(2));
    }
  }

  setTheme(theme) {
    document.documentElement.dataset.theme = theme;
    const dark = theme === "dark";
    this.sky.groundColor.set(dark ? 0x4b5563 : 0x6b7280);
    this.edgeMaterial.opacity = dark ? 0.55 : 0.4;
    this.draw();
  }

  switchTheme() {
    const theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    this.setTheme(theme);
    try {
      localStorage.setItem("abut-theme", theme);
    } catch {
      // pages of files may have no storage
    }
  }

  setEdges(on) {
    this.edges = on;
    this.edgeButton.setAttribute("aria-pressed", on);
    for (const layer of this.layers) layer.setEdges?.(on || Boolean(layer.layer.edges), this.edgeMaterial);
    this.draw();
  }

  keepPicture() {
    this.render(); // the buffer is there until the browser shows it
    const link = h("a", { href: this.stage.toDataURL("image/png"), download: `${this.scene.title}.png` });
    link.click();
  }

  // ---- cut open ----

  cutControls() {
    this.cut = { axis: this.fields.length ? this.fields[0].axis : 1, share: 0.5, away: true, flip: false };
    const tell = h("output", {});
    const range = h("input", {
      type: "range", min: 0, max: 1, step: 0.002, value: 0.5, "aria-label": "where the cut is",
      oninput: (e) => {
        this.cut.share = Number(e.target.value);
        this.applyCut();
      },
    });
    this.cutRange = range;
    const axes = ["x", "y", "z"].map((name, k) =>
      h("button", {
        type: "button", "aria-pressed": String(k === this.cut.axis),
        onclick: () => {
          this.cut.axis = k;
          axes.forEach((b, i) => b.setAttribute("aria-pressed", i === k));
          this.applyCut();
        },
      }, name),
    );
    const away = h("input", { type: "checkbox", checked: this.cut.away, onchange: (e) => {
      this.cut.away = e.target.checked;
      this.applyCut();
    } });
    const flip = h("input", { type: "checkbox", onchange: (e) => {
      this.cut.flip = e.target.checked;
      this.applyCut();
    } });
    this.cutTell = tell;
    return h(
      "div",
      { class: "section", hidden: true },
      h("h2", {}, this.fields.length ? "slice" : "cut"),
      h("div", { class: "row" }, h("span", { class: "axis" }, axes), range, tell),
      h("div", { class: "row" }, h("label", { class: "row" }, away, "cut surfaces"), h("label", { class: "row" }, flip, "other side")),
    );
  }

  showCut(on) {
    this.cutBox.hidden = !on;
    this.cutButton.setAttribute("aria-pressed", on);
    this.applyCut();
  }

  applyCut() {
    this.extent();
    const { axis, share, away, flip } = this.cut;
    const on = !this.cutBox.hidden;
    for (const field of this.fields) field.setCut(axis, share);
    const grid = this.fields[0];
    const low = grid ? grid.low.getComponent(axis) : this.box.min.getComponent(axis);
    const size = grid ? grid.extent.getComponent(axis) : this.box.max.getComponent(axis) - low;
    const at = low + share * size;
    // What is nearer to the front of the model goes, so that one looks at the cut.
    const sign = (this.scene.eye[axis] > 0 ? -1 : 1) * (flip ? -1 : 1);
    this.plane.normal.set(0, 0, 0).setComponent(axis, sign);
    this.plane.constant = -sign * at + 1e-6;
    this.clipping = on && away;
    this.renderer.localClippingEnabled = this.clipping;
    const planes = this.clipping ? [this.plane] : null;
    for (const layer of this.layers)
      layer.group.traverse((o) => {
        if (!o.material || o === layer.slice) return;
        o.material.clippingPlanes = planes;
        if (o.userData.part) layer.setInside(o.userData.part, this.clipping);
      });
    this.cutTell.textContent = words(this.trueAt(axis, at), 1e-3 * (size / this.scene.scale));
    this.draw();
  }

  trueAt(axis, x) {
    return this.scene.centre[axis] + x / this.scene.scale;
  }

  fieldControls() {
    const field = this.fields[0];
    const { least, most, step } = field.scale;
    const tell = h("output", {}, "0");
    const box = h("input", { type: "checkbox", "aria-label": "isosurface" });
    const range = h("input", { type: "range", min: least, max: most, step: step / 20, value: 0, "aria-label": "level" });
    const change = () => {
      tell.textContent = words(Number(range.value));
      for (const f of this.fields) f.setIso(Number(range.value), box.checked);
      this.applyCut();
    };
    box.addEventListener("change", change);
    range.addEventListener("input", () => {
      box.checked = true;
      change();
    });
    this.isoRange = range;
    return h("div", { class: "section" }, h("h2", {}, "isosurface"), h("div", { class: "row" }, box, range, tell));
  }

  // ---- time ----

  timeBar() {
    document.body.classList.add("timed");
    const { frames } = this.scene;
    this.playButton = button("play", "play (Space)", () => this.play(!this.playing));
    this.slider = h("input", {
      type: "range", min: 0, max: frames - 1, step: 1, value: 0, "aria-label": "time",
      oninput: (e) => {
        this.play(false);
        this.setFrame(Number(e.target.value));
      },
    });
    this.clock = h("output", {});
    this.tellTime();
    return h("div", { class: "card time" }, this.playButton, this.slider, this.clock);
  }

  tellTime() {
    const { frames, seconds, stride } = this.scene;
    const time = seconds > 0 ? `${(this.frame * seconds).toFixed(2)} s · ` : "";
    this.clock.textContent = `${time}${this.frame * (stride ?? 1)} / ${(frames - 1) * (stride ?? 1)}`;
  }

  setFrame(frame) {
    this.frame = Math.min(Math.max(0, frame), this.scene.frames - 1);
    for (const layer of this.layers) if (layer.moves) layer.setFrame(this.frame);
    if (this.edges) this.setEdges(true);
    this.slider.value = this.frame;
    this.tellTime();
    this.hidePick();
    this.draw();
  }

  play(on) {
    if (this.scene.frames < 2 || Boolean(this.playing) === on) return;
    this.playing = on;
    this.playButton.replaceChildren(icon(on ? "pause" : "play"));
    if (!on) return;
    const length = this.scene.seconds > 0 ? this.scene.seconds : 1 / 30;
    const start = performance.now() - 1000 * length * (this.frame >= this.scene.frames - 1 ? 0 : this.frame);
    const tick = (now) => {
      if (!this.playing) return;
      const frame = Math.floor((now - start) / 1000 / length) % this.scene.frames;
      if (frame !== this.frame) this.setFrame(Math.max(0, frame));
      requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
  }

  // ---- asking ----

  listenForPicks() {
    let down = null;
    this.stage.addEventListener("pointerdown", (e) => {
      down = [e.clientX, e.clientY];
    });
    this.stage.addEventListener("pointerup", (e) => {
      if (down && e.button === 0 && Math.hypot(e.clientX - down[0], e.clientY - down[1]) < 4) this.pick(e.clientX, e.clientY);
      down = null;
    });
  }

  // What is at a place of the window; shows it and gives it.
  pick(x, y) {
    const hit = this.hitAt(x, y);
    if (!hit) {
      this.hidePick();
      return null;
    }
    return this.showPick(hit);
  }

  hitAt(x, y, layers = this.layers) {
    const at = new THREE.Vector2((2 * x) / window.innerWidth - 1, 1 - (2 * y) / window.innerHeight);
    const ray = new THREE.Raycaster();
    this.camera.updateMatrixWorld();
    ray.setFromCamera(at, this.camera);
    const pixel = (2 * Math.tan(THREE.MathUtils.degToRad(this.camera.fov / 2)) * this.camera.position.distanceTo(this.controls.target)) / window.innerHeight;
    ray.params.Points.threshold = 5 * pixel;
    ray.params.Line2 = { threshold: 6 };
    const groups = layers.filter((l) => l.group.visible).map((l) => l.group);
    const hits = ray
      .intersectObjects(groups, true)
      .filter((hit) => hit.object.userData.layer && hit.object.visible)
      .filter((hit) => hit.object === hit.object.userData.layer.slice || !this.clipping || this.plane.distanceToPoint(hit.point) >= 0);
    // What can be seen through glass can be picked through it. Marks are drawn over what is just
    // before them, so they win there.
    const seen = hits.filter((hit) => !hit.object.userData.part?.material.transparent);
    const list = seen.length ? seen : hits;
    const mark = list.find((hit) => !(hit.object.userData.layer instanceof Bodies));
    const first = list[0];
    return mark && first && mark.distance - first.distance < 8 * pixel ? mark : first;
  }

  showPick(hit) {
    const { layer } = hit.object.userData;
    const place = [0, 1, 2].map((k) => this.trueAt(k, hit.point.getComponent(k)));
    const note = layer.layer.note ? [["what", layer.layer.note]] : [];
    const found = [...note, ...layer.facts(hit), ["at", place.map((x) => words(x, 1e-6 / this.scene.scale)).join(", ")]];
    if (this.lastPlace) {
      const d = Math.hypot(...place.map((x, k) => x - this.lastPlace[k]));
      found.push(["from the last place", `${words(d)}${this.scene.unit ? ` ${this.scene.unit}` : ""}`]);
    }
    this.lastPlace = place;
    const corners = layer.outline(hit);
    this.outline.visible = Boolean(corners);
    if (corners) {
      corners.forEach((c, k) => c.toArray(this.outline.geometry.attributes.position.array, 3 * k));
      this.outline.geometry.attributes.position.needsUpdate = true;
    }
    this.spot.visible = true;
    this.spot.position.copy(hit.point);
    this.panel?.remove();
    this.panel = h(
      "section",
      { class: "card pick", "aria-live": "polite" },
      h("h2", {}, h("span", { class: "swatch", style: `background:${css(layer.colour)}` }), layer.layer.name,
        button("close", "close (Esc)", () => this.hidePick())),
      h("dl", {}, ...found.flatMap(([key, value]) => [h("dt", {}, key), h("dd", {}, typeof value === "number" ? words(value) : value)])),
    );
    document.body.append(this.panel);
    this.draw();
    return { layer: layer.layer.name, place, ...Object.fromEntries(found) };
  }

  hidePick() {
    this.panel?.remove();
    this.panel = null;
    this.outline.visible = false;
    this.spot.visible = false;
    this.draw();
  }

  key(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const { target } = event;
    if (target instanceof HTMLInputElement && target.type === "range" && event.key.startsWith("Arrow")) return;
    // Space presses buttons and checks boxes; elsewhere it plays.
    if (event.key === " " && (target instanceof HTMLButtonElement || target.type === "checkbox" || (this.scene.frames < 2 && !this.live))) return;
    const keys = {
      f: () => this.fit(),
      0: () => this.home(),
      1: () => this.side("front"),
      2: () => this.side("right"),
      3: () => this.side("top"),
      e: () => this.setEdges(!this.edges),
      c: () => this.showCut(this.cutBox.hidden),
      t: () => this.switchTheme(),
      p: () => this.keepPicture(),
      "?": () => this.help.showModal(),
      h: () => this.help.showModal(),
      Escape: () => this.hidePick(),
      " ": () => this.play(!this.playing),
      ArrowRight: () => this.scene.frames > 1 && this.setFrame(this.frame + 1),
      ArrowLeft: () => this.scene.frames > 1 && this.setFrame(this.frame - 1),
    };
    if (this.live && !this.help.open && this.live.key(event)) {
      event.preventDefault();
      return;
    }
    const press = keys[event.key] ?? keys[event.key.toLowerCase()];
    if (!press || this.help.open) {
      if (!this.help.open) this.live?.sendKey(event);
      return;
    }
    event.preventDefault();
    press();
  }
}

function theme() {
  let kept = null;
  try {
    kept = localStorage.getItem("abut-theme");
  } catch {
    // none
  }
  return kept ?? (window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");
}

async function start() {
  document.head.append(h("style", {}, style));
  document.documentElement.dataset.theme = theme();
  if (!document.createElement("canvas").getContext("webgl2")) {
    message("This browser shows no 3D", "The page needs WebGL 2. Try another browser, or switch on hardware acceleration in its settings.");
    document.documentElement.dataset.ready = "none";
    return;
  }
  try {
    const element = document.getElementById("scene");
    if (element.dataset.live) await follow((scene) => (window.abut = new Viewer(scene)));
    else window.abut = new Viewer(await readScene(element));
  } catch (error) {
    message("The scene cannot be shown", String(error?.message ?? error));
    document.documentElement.dataset.ready = "failed";
    throw error;
  }
}

start();
