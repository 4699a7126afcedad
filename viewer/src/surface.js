// Bodies: surfaces at poses, in one colour or in those of a scale, still or frame by frame.
import * as THREE from "three";
import { addUp, rampOf } from "./scene.js";

const CREASE = Math.cos((40 * Math.PI) / 180);

// Vertices as they are drawn: one for each vertex of the mesh and side of a crease, so that normals
// are smooth except there; with `loose`, one for each corner of each triangle.
function drawn(mesh, loose) {
  const { positions, indices } = mesh;
  const corners = indices.length;
  const vertices = positions.length / 3;
  const normals = faceNormals(positions, indices);
  const begin = new Uint32Array(vertices + 1);
  for (let c = 0; c < corners; c++) begin[indices[c] + 1]++;
  for (let v = 0; v < vertices; v++) begin[v + 1] += begin[v];
  const around = new Uint32Array(corners);
  const next = begin.slice(0, vertices);
  for (let c = 0; c < corners; c++) around[next[indices[c]]++] = c;
  const index = new Uint32Array(corners); // of each corner: the drawn vertex
  const source = new Uint32Array(corners); // of each drawn vertex: that of the mesh
  const unit = (f, k) => normals[4 * f + k];
  let count = 0;
  for (let v = 0; v < vertices; v++) {
    const first = count;
    const faces = []; // the first face of each drawn vertex
    for (let i = begin[v]; i < begin[v + 1]; i++) {
      const corner = around[i];
      const f = (corner / 3) | 0;
      let group = 0;
      for (; group < faces.length; group++) {
        const g = faces[group];
        if (unit(f, 0) * unit(g, 0) + unit(f, 1) * unit(g, 1) + unit(f, 2) * unit(g, 2) > CREASE) break;
      }
      if (group === faces.length) {
        faces.push(f);
        source[count++] = v;
      }
      index[corner] = first + group;
    }
  }
  return { index, source: source.slice(0, count), loose };
}

// Whether each edge has one triangle on either side, and they agree on which side is which: then
// sums over edges in one direction and in the other are the same.
function isClosed({ indices }) {
  let sum = 0;
  for (let c = 0; c < indices.length; c++) {
    const a = indices[c];
    const b = indices[c % 3 === 2 ? c - 2 : c + 1];
    const low = Math.min(a, b);
    const high = Math.max(a, b);
    const hash = Math.imul(Math.imul(low, 0x9e3779b1) ^ high, 0x85ebca6b) >>> 4;
    sum += a < b ? hash : -hash;
  }
  return sum === 0;
}

// Unit normal and area of each triangle.
function faceNormals(p, indices, out = new Float32Array((indices.length / 3) * 4)) {
  for (let f = 0, c = 0; c < indices.length; f += 4, c += 3) {
    const a = 3 * indices[c];
    const b = 3 * indices[c + 1];
    const d = 3 * indices[c + 2];
    const ux = p[b] - p[a];
    const uy = p[b + 1] - p[a + 1];
    const uz = p[b + 2] - p[a + 2];
    const vx = p[d] - p[a];
    const vy = p[d + 1] - p[a + 1];
    const vz = p[d + 2] - p[a + 2];
    const x = uy * vz - uz * vy;
    const y = uz * vx - ux * vz;
    const z = ux * vy - uy * vx;
    const length = Math.sqrt(x * x + y * y + z * z);
    const by = length > 0 ? 1 / length : 0;
    out[f] = x * by;
    out[f + 1] = y * by;
    out[f + 2] = z * by;
    out[f + 3] = length;
  }
  return out;
}

// A geometry of three.js that can take the vertices of another frame.
export class Shape {
  constructor(mesh, { smooth = true, loose = false } = {}) {
    this.mesh = mesh;
    this.smooth = smooth;
    this.map = drawn(mesh, loose);
    const count = loose ? mesh.indices.length : this.map.source.length;
    this.geometry = new THREE.BufferGeometry();
    this.geometry.setAttribute("position", new THREE.BufferAttribute(new Float32Array(3 * count), 3));
    this.geometry.setAttribute("normal", new THREE.BufferAttribute(new Int8Array(4 * count), 4, true));
    if (!loose) this.geometry.setIndex(new THREE.BufferAttribute(this.map.index, 1));
    this.positions = mesh.positions;
    this.fill();
  }

  // The vertex of the mesh that a drawn one stands for.
  sourceOf(i) {
    return this.map.loose ? this.mesh.indices[i] : this.map.source[i];
  }

  move(positions) {
    this.positions = positions;
    this.fill();
    this.geometry.attributes.position.needsUpdate = true;
    this.geometry.attributes.normal.needsUpdate = true;
    this.edges = this.moveEdges();
  }

  fill() {
    const { index, source, loose } = this.map;
    const { indices } = this.mesh;
    const from = this.positions;
    const to = this.geometry.attributes.position.array;
    const normal = this.geometry.attributes.normal.array;
    this.faces = faceNormals(from, indices, this.faces);
    const sum = this.smooth ? new Float32Array(3 * source.length) : null;
    for (let c = 0; sum && c < indices.length; c++) {
      const f = 4 * ((c / 3) | 0);
      const v = 3 * index[c];
      const area = this.faces[f + 3];
      sum[v] += area * this.faces[f];
      sum[v + 1] += area * this.faces[f + 1];
      sum[v + 2] += area * this.faces[f + 2];
    }
    const count = loose ? indices.length : source.length;
    for (let i = 0; i < count; i++) {
      const v = 3 * (loose ? indices[i] : source[i]);
      to[3 * i] = from[v];
      to[3 * i + 1] = from[v + 1];
      to[3 * i + 2] = from[v + 2];
      if (!sum) continue;
      const n = 3 * (loose ? index[i] : i);
      const length = Math.hypot(sum[n], sum[n + 1], sum[n + 2]) || 1;
      normal[4 * i] = (127 * sum[n]) / length;
      normal[4 * i + 1] = (127 * sum[n + 1]) / length;
      normal[4 * i + 2] = (127 * sum[n + 2]) / length;
    }
    this.geometry.computeBoundingSphere();
    this.geometry.computeBoundingBox();
  }

  // Each edge once, as a geometry; made when it is first asked for.
  edgeGeometry() {
    if (this.edges) return this.edges;
    const { indices } = this.mesh;
    const keys = new Float64Array(indices.length);
    for (let c = 0; c < indices.length; c++) {
      const a = indices[c];
      const b = indices[c % 3 === 2 ? c - 2 : c + 1];
      keys[c] = Math.min(a, b) * 4294967296 + Math.max(a, b);
    }
    keys.sort();
    const pairs = [];
    for (let i = 0; i < keys.length; i++)
      if (i === 0 || keys[i] !== keys[i - 1])
        pairs.push(Math.floor(keys[i] / 4294967296), keys[i] % 4294967296);
    this.edges = new THREE.BufferGeometry();
    this.edges.setIndex(new THREE.BufferAttribute(new Uint32Array(pairs), 1));
    this.edges.setAttribute("position", new THREE.BufferAttribute(new Float32Array(this.positions), 3));
    return this.edges;
  }

  moveEdges() {
    if (!this.edges) return undefined;
    this.edges.attributes.position.array.set(this.positions);
    this.edges.attributes.position.needsUpdate = true;
    this.edges.computeBoundingSphere();
    return this.edges;
  }
}

// A material that shows back sides in a second hue, and values by a scale.
function surfaceMaterial({ colour, alpha, smooth, twoSided, scale, loose }) {
  const material = new THREE.MeshStandardMaterial({
    color: colour,
    roughness: 0.7,
    metalness: 0,
    side: THREE.DoubleSide,
    flatShading: !smooth,
    vertexColors: loose,
    transparent: alpha < 1,
    opacity: alpha,
    depthWrite: alpha >= 1,
    polygonOffset: true, // edges lie on it
    polygonOffsetFactor: 1,
    polygonOffsetUnits: 1,
  });
  const ramp = scale && new THREE.DataTexture(rampOf(scale), 512, 1);
  if (ramp) {
    ramp.colorSpace = THREE.SRGBColorSpace;
    ramp.needsUpdate = true;
  }
  material.onBeforeCompile = (shader) => {
    const plain = twoSided || alpha < 1 || scale;
    if (scale) {
      shader.uniforms.ramp = { value: ramp };
      shader.uniforms.range = { value: new THREE.Vector2(scale.least, scale.most) };
      shader.vertexShader = shader.vertexShader
        .replace("#include <common>", "#include <common>\nattribute vec2 value;\nvarying vec2 vValue;")
        .replace("#include <begin_vertex>", "#include <begin_vertex>\nvValue = value;");
      shader.fragmentShader = shader.fragmentShader
        .replace(
          "#include <common>",
          "#include <common>\nuniform sampler2D ramp;\nuniform vec2 range;\nvarying vec2 vValue;",
        )
        .replace(
          "#include <color_fragment>",
          `#include <color_fragment>
           if (vValue.y > 0.5) // the mean of those corners that have a value
             diffuseColor.rgb = texture2D(ramp, vec2((vValue.x / vValue.y - range.x) / (range.y - range.x), 0.5)).rgb;`,
        );
    }
    if (!plain)
      shader.fragmentShader = shader.fragmentShader.replace(
        "#include <color_fragment>",
        `#include <color_fragment>
         if (!gl_FrontFacing)
           diffuseColor.rgb = diffuseColor.b >= diffuseColor.r ? vec3(0.73, 0.17, 0.05) : vec3(0.11, 0.13, 0.51);`,
      );
  };
  material.customProgramCacheKey = () => `${twoSided}|${alpha < 1}|${!!scale}`;
  return material;
}

export function colourOf([r, g, b]) {
  return new THREE.Color().setRGB(r / 255, g / 255, b / 255, THREE.SRGBColorSpace);
}

const matrix = new THREE.Matrix4();
const place = new THREE.Vector3();
const turn = new THREE.Quaternion();
const one = new THREE.Vector3(1, 1, 1);
const none = new THREE.Matrix4().makeScale(0, 0, 0);

function poseMatrix(poses, frame) {
  const at = poses.length > 7 ? 7 * frame : 0;
  const there = poses[at] || poses[at + 1] || poses[at + 2] || poses[at + 3];
  if (!there) return none;
  turn.set(poses[at], poses[at + 1], poses[at + 2], poses[at + 3]);
  place.set(poses[at + 4], poses[at + 5], poses[at + 6]);
  return matrix.compose(place, turn, one);
}

// A layer of bodies. Those of one mesh that only move are drawn at once.
export class Bodies {
  constructor(scene, layer) {
    const { arrays } = scene;
    this.layer = layer;
    this.group = new THREE.Group();
    this.parts = []; // { object, shape, bodies, vertices, triangles, values }
    this.scale = layer.scale === undefined ? null : scene.scales[layer.scale];
    this.source = layer.source === undefined ? null : arrays[layer.source]; // triangles of the file
    const shared = new Map();
    const first = layer.bodies[0];
    this.colour = first.colour ?? layer.colour;
    this.triangleCount = 0;
    for (const body of layer.bodies) {
      const mesh = scene.meshes[body.mesh];
      this.triangleCount += mesh.indices.length / 3;
      body.poseList ??= arrays[body.poses];
      body.tintList = body.tints === undefined ? null : arrays[body.tints];
      const alone = body.vertices !== undefined || body.triangles !== undefined || body.values !== undefined;
      const key = alone ? body : body.mesh;
      if (!shared.has(key)) shared.set(key, { mesh, bodies: [] });
      shared.get(key).bodies.push(body);
    }
    for (const { mesh, bodies } of shared.values()) this.addPart(scene, mesh, bodies);
    this.moves = this.parts.some((p) => p.vertices || p.flicker || p.bodies.some((b) => b.tintList || b.poseList.length > 7));
    this.setFrame(0);
  }

  addPart(scene, mesh, bodies) {
    const { layer } = this;
    const body = bodies[0];
    const loose = body.triangles !== undefined;
    const colour = body.colour ?? layer.colour;
    const alpha = colour[3] / 255;
    const shape = new Shape(mesh, { smooth: layer.smooth, loose });
    const part = { shape, bodies, alpha, closed: isClosed(mesh) && !layer.twoSided };
    const many = bodies.length > 1;
    part.material = surfaceMaterial({
      colour: loose || many ? 0xffffff : colourOf(colour),
      alpha,
      smooth: layer.smooth,
      twoSided: layer.twoSided,
      scale: this.scale,
      loose,
    });
    this.setInside(part, false);
    if (loose) {
      part.triangles = scene.arrays[body.triangles];
      part.flicker = part.triangles.length > (mesh.indices.length / 3) * 4;
      const colours = new THREE.BufferAttribute(new Float32Array(4 * mesh.indices.length), 4);
      shape.geometry.setAttribute("color", colours);
      part.material.transparent = alpha < 1 || part.triangles.some((x, i) => i % 4 === 3 && x < 255);
      part.material.depthWrite = !part.material.transparent;
      this.paint(part, 0);
    }
    if (body.values !== undefined) {
      part.values = scene.arrays[body.values];
      const list = new Float32Array(2 * shape.geometry.attributes.position.count); // the value, and whether it has one
      for (let i = 0; i < list.length; i += 2) {
        const x = part.values[shape.sourceOf(i / 2)];
        if (!Number.isNaN(x)) list.set([x, 1], i);
      }
      shape.geometry.setAttribute("value", new THREE.BufferAttribute(list, 2));
    }
    if (body.vertices !== undefined) {
      part.vertices = addUp(scene.arrays[body.vertices], mesh.positions.length);
      part.positions = new Float32Array(mesh.positions.length);
    }
    part.object = many
      ? new THREE.InstancedMesh(shape.geometry, part.material, layer.capacity ?? bodies.length)
      : new THREE.Mesh(shape.geometry, part.material);
    if (many) part.object.count = bodies.length;
    if (many) bodies.forEach((b, i) => part.object.setColorAt(i, colourOf(b.colour)));
    else part.object.matrixAutoUpdate = false;
    part.object.userData = { layer: this, part };
    part.object.renderOrder = part.material.transparent ? 2 : 0;
    this.group.add(part.object);
    this.parts.push(part);
  }

  paint(part, frame) {
    const { triangles } = part;
    const to = part.shape.geometry.attributes.color;
    const count = part.shape.mesh.indices.length / 3;
    const at = part.flicker ? 4 * count * frame : 0;
    const colour = new THREE.Color();
    let last = -1; // neighbours often have the same
    for (let t = 0; t < count; t++) {
      const i = at + 4 * t;
      const key = (triangles[i] << 16) | (triangles[i + 1] << 8) | triangles[i + 2];
      if (key !== last) colour.copy(colourOf([triangles[i], triangles[i + 1], triangles[i + 2]]));
      last = key;
      for (let c = 3 * t; c < 3 * t + 3; c++) to.setXYZW(c, colour.r, colour.g, colour.b, triangles[i + 3] / 255);
    }
    to.needsUpdate = true;
  }

  setFrame(frame) {
    for (const part of this.parts) {
      const { object, bodies, vertices } = part;
      if (object.isInstancedMesh) {
        bodies.forEach((b, i) => {
          object.setMatrixAt(i, poseMatrix(b.poseList, frame));
          if (b.tintList) object.setColorAt(i, colourOf(b.tintList.subarray(4 * frame, 4 * frame + 3)));
        });
        if (bodies.some((b) => b.tintList)) object.instanceColor.needsUpdate = true;
        object.instanceMatrix.needsUpdate = true;
        object.computeBoundingSphere();
      } else {
        const m = poseMatrix(bodies[0].poseList, frame);
        object.visible = m !== none;
        object.matrix.copy(m);
        object.matrixWorldNeedsUpdate = true;
        const { tintList } = bodies[0];
        if (tintList) part.material.color.copy(colourOf(tintList.subarray(4 * frame, 4 * frame + 3)));
      }
      if (vertices) {
        const { low, high } = bodies[0];
        const n = part.positions.length;
        for (let i = 0; i < n; i++)
          part.positions[i] = low[i % 3] + (vertices[frame * n + i] / 65535) * (high[i % 3] - low[i % 3]);
        part.shape.move(part.positions);
      }
      if (part.flicker) this.paint(part, frame);
      if (part.wire) this.placeWire(part);
    }
  }

  // For live pages: bodies of the same mesh at other poses, 7 numbers each, in other colours. Returns false if they are
  // more than there is room for; then the layer must be made again.
  setPoses(poses, colours) {
    const [part] = this.parts;
    const count = poses.length / 7;
    const room = part.object.isInstancedMesh ? this.layer.capacity : 1;
    if (count > room || (count < 2 && part.object.isInstancedMesh)) return false;
    while (part.bodies.length < count) part.bodies.push({ mesh: part.bodies[0].mesh });
    part.bodies.length = count;
    part.bodies.forEach((b, i) => {
      b.poseList = poses.subarray(7 * i, 7 * i + 7);
      b.tintList = part.triangles ? null : colours.subarray(4 * i, 4 * i + 4);
    });
    if (part.object.isInstancedMesh) part.object.count = count;
    this.layer.bodies = part.bodies;
    this.triangleCount = (count * part.shape.mesh.indices.length) / 3;
    this.setFrame(0);
    return true;
  }

  // The same for vertices, and for the colours of triangles.
  setVertices(positions) {
    const [part] = this.parts;
    part.shape.mesh.positions = positions;
    part.shape.move(positions);
  }

  setTriangleColours(colours) {
    const [part] = this.parts;
    part.triangles = colours;
    this.paint(part, 0);
  }

  dispose() {
    for (const { object, material, shape, wire } of this.parts) {
      shape.geometry.dispose();
      material.dispose();
      wire?.geometry.dispose();
      object.dispose?.();
    }
  }

  placeWire(part) {
    if (part.object.isInstancedMesh) return;
    part.wire.matrix.copy(part.object.matrix);
    part.wire.matrixWorldNeedsUpdate = true;
    part.wire.visible = part.object.visible;
  }

  setEdges(on, material) {
    for (const part of this.parts) {
      if (part.object.isInstancedMesh) continue;
      if (on && !part.wire) {
        part.wire = new THREE.LineSegments(part.shape.edgeGeometry(), material);
        part.wire.matrixAutoUpdate = false;
        part.wire.raycast = () => {};
        this.group.add(part.wire);
      }
      if (part.wire) {
        this.placeWire(part);
        part.wire.visible = on && part.object.visible;
      }
    }
  }

  setGlass(on) {
    for (const part of this.parts) {
      const { material, alpha, object } = part;
      const to = on ? Math.min(alpha, 0.28) : alpha;
      material.opacity = to;
      material.transparent = to < 1;
      material.depthWrite = to >= 1;
      object.renderOrder = to < 1 ? 2 : 0;
      material.needsUpdate = true;
      this.setInside(part, Boolean(material.clippingPlanes));
    }
  }

  // Whether back sides can be seen: of closed surfaces only where they are cut open.
  setInside({ material, closed }, on) {
    const side = closed && !on && !material.transparent ? THREE.FrontSide : THREE.DoubleSide;
    if (material.side === side) return;
    material.side = side;
    material.needsUpdate = true;
  }

  // What is known of a hit: see THREE.Raycaster.
  facts(hit) {
    const { part } = hit.object.userData;
    const triangle = hit.faceIndex;
    const { indices, positions } = part.shape.mesh;
    const corner = [0, 1, 2].map((k) => indices[3 * triangle + k]);
    const found = this.source ? [["triangle", this.source[triangle]]] : [];
    if (!this.layer.derived) found.push(["triangle", triangle], ["vertices", corner.join(", ")]);
    if (this.layer.bodies.length > 1 && !this.layer.derived) {
      const body = part.bodies[hit.instanceId ?? 0];
      found.unshift(["body", this.layer.bodies.indexOf(body)]);
    }
    if (part.values) {
      const p = hit.object.worldToLocal(hit.point.clone());
      const at = corner.map((v) => new THREE.Vector3().fromArray(positions, 3 * v));
      const weights = THREE.Triangle.getBarycoord(p, at[0], at[1], at[2], new THREE.Vector3());
      const value = weights
        ? corner.reduce((sum, v, k) => sum + part.values[v] * weights.getComponent(k), 0)
        : NaN;
      found.push([this.scale.what, value]);
    }
    return found;
  }

  // The corners of the triangle of a hit, in the coordinates of the page.
  outline(hit) {
    const { part } = hit.object.userData;
    const at = new THREE.Matrix4().copy(hit.object.matrixWorld);
    if (hit.instanceId !== undefined) {
      hit.object.getMatrixAt(hit.instanceId, matrix);
      at.multiply(matrix);
    }
    const { indices } = part.shape.mesh;
    const p = part.shape.positions;
    return [0, 1, 2].map((k) =>
      new THREE.Vector3().fromArray(p, 3 * indices[3 * hit.faceIndex + k]).applyMatrix4(at),
    );
  }
}
