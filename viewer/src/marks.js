// Arrows, lines and points. What is behind a surface shows through faintly.
import * as THREE from "three";
import { LineMaterial } from "three/addons/lines/LineMaterial.js";
import { LineSegments2 } from "three/addons/lines/LineSegments2.js";
import { LineSegmentsGeometry } from "three/addons/lines/LineSegmentsGeometry.js";
import { colourOf } from "./surface.js";

const GHOST = 0.22;

// The range of a list that belongs to a frame.
function rangeOf(scene, layer, count, frame) {
  if (layer.begin === undefined) return [0, count];
  const begin = scene.arrays[layer.begin];
  return [begin[frame], frame + 1 < begin.length ? begin[frame + 1] : count];
}

function linear(colours, count) {
  const list = new Float32Array(3 * count);
  for (let i = 0; i < count; i++) colourOf(colours.subarray(4 * i, 4 * i + 3)).toArray(list, 3 * i);
  return list;
}

class Marks {
  constructor(scene, layer) {
    this.scene = scene;
    this.layer = layer;
    this.places = layer.placeList ?? scene.arrays[layer.places];
    this.colours = layer.colourList ?? scene.arrays[layer.colours];
    this.count = this.colours.length / 4;
    this.colour = this.colours.subarray(0, 4);
    this.group = new THREE.Group();
    this.moves = layer.begin !== undefined;
    this.range = [0, this.count];
    // how many there are in a frame, at most
    const begin = this.moves ? scene.arrays[layer.begin] : [0];
    this.most = 0;
    begin.forEach((_, frame) => {
      const [from, to] = rangeOf(scene, layer, this.count, frame);
      this.most = Math.max(this.most, to - from);
    });
  }

  // For live pages: other elements.
  replace(places, colours) {
    this.places = places;
    this.colours = colours;
    this.count = this.most = colours.length / 4;
    this.colour = colours.subarray(0, 4);
  }

  facts(hit) {
    const found = [];
    const number = this.numberOf(hit);
    for (const column of this.layer.facts ?? [])
      found.push([column.name, this.scene.arrays[column.values][number]]);
    return [["number", number], ...found];
  }

  outline() {
    return null;
  }
}

export class Lines extends Marks {
  constructor(scene, layer) {
    super(scene, layer);
    this.linear = linear(this.colours, this.count);
    this.materials = [1, GHOST].map(
      (opacity) =>
        new LineMaterial({
          linewidth: layer.width,
          vertexColors: true,
          transparent: true,
          opacity,
          depthFunc: opacity < 1 ? THREE.GreaterDepth : THREE.LessEqualDepth,
          depthWrite: opacity === 1,
        }),
    );
    this.setFrame(0);
  }

  replace(places, colours) {
    super.replace(places, colours);
    this.linear = linear(colours, this.count);
    this.objects = null;
    this.setFrame(0);
  }

  dispose() {
    this.geometry?.dispose();
    for (const material of this.materials) material.dispose();
  }

  setFrame(frame) {
    const [from, to] = rangeOf(this.scene, this.layer, this.count, frame);
    if (this.objects && this.range[0] === from && this.range[1] === to) return;
    this.range = [from, to];
    this.group.clear();
    this.geometry?.dispose();
    this.objects = [];
    if (to === from) return;
    this.geometry = new LineSegmentsGeometry();
    this.geometry.setPositions(this.places.subarray(6 * from, 6 * to));
    const colours = new Float32Array(6 * (to - from));
    for (let i = from; i < to; i++)
      for (let k = 0; k < 6; k++) colours[6 * (i - from) + k] = this.linear[3 * i + (k % 3)];
    this.geometry.setColors(colours);
    this.materials.forEach((material, ghost) => {
      const object = new LineSegments2(this.geometry, material);
      object.userData = { layer: this };
      object.renderOrder = 3;
      if (ghost) object.raycast = () => {};
      this.objects.push(object);
      this.group.add(object);
    });
  }

  numberOf(hit) {
    return this.range[0] + hit.faceIndex;
  }
}

const pointVertex = `
attribute vec3 tint; varying vec3 vTint; uniform float size;
#include <common>
#include <clipping_planes_pars_vertex>
void main() {
  #include <begin_vertex>
  #include <project_vertex>
  #include <clipping_planes_vertex>
  vTint = tint; gl_PointSize = size;
}`;
const pointFragment = `
varying vec3 vTint; uniform float opacity; uniform float size;
#include <common>
#include <clipping_planes_pars_fragment>
void main() {
  #include <clipping_planes_fragment>
  float r = length(gl_PointCoord - 0.5) * size;
  float edge = 0.5 * size;
  if (r > edge) discard;
  vec3 c = mix(vTint, vTint * 0.35, smoothstep(edge - 2.0, edge - 1.0, r) * step(5.0, size));
  gl_FragColor = vec4(c, opacity * (1.0 - smoothstep(edge - 1.0, edge, r)));
  #include <colorspace_fragment>
}`;

export class Points extends Marks {
  constructor(scene, layer, pixelRatio) {
    super(scene, layer);
    this.geometry = new THREE.BufferGeometry();
    this.geometry.setAttribute("position", new THREE.BufferAttribute(this.places, 3));
    this.geometry.setAttribute("tint", new THREE.BufferAttribute(linear(this.colours, this.count), 3));
    [1, GHOST].forEach((opacity) => {
      const material = new THREE.ShaderMaterial({
        vertexShader: pointVertex,
        fragmentShader: pointFragment,
        uniforms: { size: { value: Math.max(2, layer.width) * pixelRatio }, opacity: { value: opacity } },
        transparent: true,
        clipping: true,
        depthFunc: opacity < 1 ? THREE.GreaterDepth : THREE.LessEqualDepth,
        depthWrite: opacity === 1,
      });
      const object = new THREE.Points(this.geometry, material);
      object.userData = { layer: this };
      object.renderOrder = 4;
      if (opacity < 1) object.raycast = () => {};
      this.group.add(object);
    });
    this.setFrame(0);
  }

  replace(places, colours) {
    super.replace(places, colours);
    this.geometry.dispose();
    this.geometry.setAttribute("position", new THREE.BufferAttribute(places, 3));
    this.geometry.setAttribute("tint", new THREE.BufferAttribute(linear(colours, this.count), 3));
    this.geometry.boundingSphere = null;
    this.setFrame(0);
  }

  dispose() {
    this.geometry.dispose();
    for (const object of this.group.children) object.material.dispose();
  }

  setFrame(frame) {
    const [from, to] = rangeOf(this.scene, this.layer, this.count, frame);
    this.range = [from, to];
    this.geometry.setDrawRange(from, to - from);
  }

  numberOf(hit) {
    return hit.index;
  }
}

// Arrows of shaft and head, with a ball where they begin.
export class Arrows extends Marks {
  constructor(scene, layer, radius) {
    super(scene, layer);
    const round = 0.0048 * radius;
    const kinds = [
      new THREE.CylinderGeometry(1, 1, 1, 12).translate(0, 0.5, 0),
      new THREE.ConeGeometry(1, 1, 16).translate(0, 0.5, 0),
      new THREE.SphereGeometry(1, 16, 12),
    ];
    const from = new THREE.Vector3();
    const to = new THREE.Vector3();
    const up = new THREE.Vector3(0, 1, 0);
    const turn = new THREE.Quaternion();
    const m = new THREE.Matrix4();
    const place = new THREE.Vector3();
    const size = new THREE.Vector3();
    kinds.forEach((geometry, kind) => {
      const material = new THREE.MeshStandardMaterial({ roughness: 0.6 });
      const object = new THREE.InstancedMesh(geometry, material, this.count);
      for (let i = 0; i < this.count; i++) {
        from.fromArray(this.places, 6 * i);
        to.fromArray(this.places, 6 * i + 3).sub(from);
        const length = to.length();
        const head = Math.min(0.45 * length, 12 * round);
        turn.setFromUnitVectors(up, length > 0 ? to.divideScalar(length) : up);
        if (kind === 0) size.set(round, Math.max(length - head, 1e-9), round);
        else if (kind === 1) size.set(Math.min(0.5 * head, 3.2 * round), Math.max(head, 1e-9), Math.min(0.5 * head, 3.2 * round));
        else size.setScalar(2.2 * round);
        place.copy(from);
        if (kind === 1) place.addScaledVector(to, length - head);
        m.compose(place, turn, size);
        object.setMatrixAt(i, m);
        object.setColorAt(i, colourOf(this.colours.subarray(4 * i, 4 * i + 3)));
      }
      object.computeBoundingSphere();
      object.userData = { layer: this };
      object.renderOrder = 1;
      const ghost = new THREE.InstancedMesh(
        geometry,
        new THREE.MeshBasicMaterial({
          transparent: true,
          opacity: GHOST,
          depthFunc: THREE.GreaterDepth,
          depthWrite: false,
        }),
        this.count,
      );
      ghost.instanceMatrix = object.instanceMatrix;
      ghost.instanceColor = object.instanceColor;
      ghost.raycast = () => {};
      ghost.renderOrder = 5;
      ghost.boundingSphere = object.boundingSphere;
      this.group.add(object, ghost);
    });
  }

  setFrame() {}

  numberOf(hit) {
    return hit.instanceId;
  }
}
