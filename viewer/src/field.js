// A field of distances: a slice that can be moved along an axis, and an isosurface at any level.
import * as THREE from "three";
import { Shape } from "./surface.js";
import { rampOf } from "./scene.js";

const vertexShader = `
varying vec3 vAt; uniform vec3 origin; uniform vec3 extent;
void main() {
  vAt = (position - origin) / extent;
  gl_Position = projectionMatrix * modelViewMatrix * vec4(position, 1.0);
}`;
// Colours by the scale, a line at each step and a strong one at the surface.
const fragmentShader = `
precision highp sampler3D;
varying vec3 vAt; uniform sampler3D field; uniform sampler2D ramp;
uniform vec2 range; uniform float gap; uniform vec3 count; uniform float by;
void main() {
  float d = texture(field, (vAt * (count - 1.0) + 0.5) / count).r * by;
  vec3 c = texture2D(ramp, vec2((d - range.x) / (range.y - range.x), 0.5)).rgb;
  float w = max(fwidth(d), 1e-9);
  float t = abs(fract(d / gap + 0.5) - 0.5) * gap / w;
  c = mix(c * 0.62, c, smoothstep(0.4, 1.2, t));
  c = mix(vec3(0.01), c, smoothstep(0.8, 1.8, abs(d) / w));
  gl_FragColor = vec4(c, 1.0);
  #include <colorspace_fragment>
}`;

// Naive surface nets: a vertex in each cell that the surface passes, in the middle of where its
// edges are cut; a quadrilateral for each edge of the grid that is cut.
export function surfaceNets(values, [nx, ny, nz], level) {
  const at = new Int32Array(nx * ny * nz).fill(-1);
  const points = [];
  const faces = [];
  const step = [1, nx, nx * ny];
  for (let z = 0; z + 1 < nz; z++)
    for (let y = 0; y + 1 < ny; y++)
      for (let x = 0; x + 1 < nx; x++) {
        const i = x + nx * (y + ny * z);
        let inside = 0;
        for (let k = 0; k < 8; k++)
          if (values[i + (k & 1) + (k & 2 ? step[1] : 0) + (k & 4 ? step[2] : 0)] < level) inside |= 1 << k;
        if (inside === 0 || inside === 255) continue;
        let sx = 0;
        let sy = 0;
        let sz = 0;
        let cuts = 0;
        for (let k = 0; k < 8; k++)
          for (let axis = 0; axis < 3; axis++) {
            const other = k | (1 << axis);
            if (other === k || ((inside >> k) & 1) === ((inside >> other) & 1)) continue;
            const a = values[i + (k & 1) + (k & 2 ? step[1] : 0) + (k & 4 ? step[2] : 0)];
            const b = values[i + (other & 1) + (other & 2 ? step[1] : 0) + (other & 4 ? step[2] : 0)];
            const t = (level - a) / (b - a);
            sx += (k & 1) + (axis === 0 ? t : 0);
            sy += ((k >> 1) & 1) + (axis === 1 ? t : 0);
            sz += ((k >> 2) & 1) + (axis === 2 ? t : 0);
            cuts++;
          }
        at[i] = points.length / 3;
        points.push(x + sx / cuts, y + sy / cuts, z + sz / cuts);
      }
  for (let z = 1; z + 1 < nz; z++)
    for (let y = 1; y + 1 < ny; y++)
      for (let x = 1; x + 1 < nx; x++) {
        const i = x + nx * (y + ny * z);
        const low = values[i] < level;
        for (let axis = 0; axis < 3; axis++) {
          if (low === values[i + step[axis]] < level) continue;
          const u = step[(axis + 1) % 3];
          const v = step[(axis + 2) % 3];
          const [a, b, c, d] = [at[i - u - v], at[i - v], at[i], at[i - u]];
          if (a < 0 || b < 0 || c < 0 || d < 0) continue;
          if (low) faces.push(a, b, c, a, c, d);
          else faces.push(a, c, b, a, d, c);
        }
      }
  return { positions: new Float32Array(points), indices: new Uint32Array(faces) };
}

export class Field {
  constructor(scene, layer) {
    this.scene = scene;
    this.layer = layer;
    this.scale = scene.scales[layer.scale];
    this.values = scene.arrays[layer.values];
    this.group = new THREE.Group();
    this.moves = false;
    this.colour = [120, 150, 190, 255];
    const { count, origin, cell } = layer;
    this.low = new THREE.Vector3(...origin);
    this.extent = new THREE.Vector3(...count.map((n) => (n - 1) * cell));
    // Half floats, which every WebGL 2 can filter, of values from -1 to 1 or so.
    let by = 0;
    for (const x of this.values) if (Number.isFinite(x)) by = Math.max(by, Math.abs(x));
    by = by || 1;
    const halves = new Uint16Array(this.values.length);
    for (let i = 0; i < halves.length; i++) {
      const x = this.values[i] / by;
      halves[i] = THREE.DataUtils.toHalfFloat(Number.isFinite(x) ? x : Math.sign(x) || 1);
    }
    const texture = new THREE.Data3DTexture(halves, ...count);
    Object.assign(texture, {
      format: THREE.RedFormat,
      type: THREE.HalfFloatType,
      minFilter: THREE.LinearFilter,
      magFilter: THREE.LinearFilter,
      unpackAlignment: 1,
      needsUpdate: true,
    });
    const ramp = new THREE.DataTexture(rampOf(this.scale), 512, 1);
    ramp.colorSpace = THREE.SRGBColorSpace;
    ramp.needsUpdate = true;
    this.slice = new THREE.Mesh(
      new THREE.BufferGeometry(),
      new THREE.ShaderMaterial({
        vertexShader,
        fragmentShader,
        side: THREE.DoubleSide,
        uniforms: {
          field: { value: texture },
          ramp: { value: ramp },
          range: { value: new THREE.Vector2(this.scale.least, this.scale.most) },
          gap: { value: this.scale.step },
          count: { value: new THREE.Vector3(...count) },
          origin: { value: this.low },
          extent: { value: this.extent },
          by: { value: by },
        },
      }),
    );
    this.slice.userData = { layer: this };
    this.slice.frustumCulled = false;
    this.group.add(this.slice);
    this.setCut(1, 0.5);
    this.iso = null;
  }

  // The slice across an axis (0, 1, 2), at a share of the way through.
  setCut(axis, share) {
    this.axis = axis;
    const lo = this.low.toArray();
    const size = this.extent.toArray();
    const [u, v] = [(axis + 1) % 3, (axis + 2) % 3];
    const corners = [];
    for (const [a, b] of [
      [0, 0],
      [1, 0],
      [1, 1],
      [0, 0],
      [1, 1],
      [0, 1],
    ]) {
      const p = [0, 0, 0];
      p[axis] = lo[axis] + share * size[axis];
      p[u] = lo[u] + a * size[u];
      p[v] = lo[v] + b * size[v];
      corners.push(...p);
    }
    this.slice.geometry.setAttribute("position", new THREE.Float32BufferAttribute(corners, 3));
    this.slice.geometry.computeBoundingSphere();
  }

  setIso(level, on) {
    if (this.iso) {
      this.group.remove(this.iso);
      this.iso.geometry.dispose();
      this.iso = null;
    }
    if (!on) return;
    const { count, cell } = this.layer;
    const mesh = surfaceNets(this.values, count, level);
    for (let i = 0; i < mesh.positions.length; i++)
      mesh.positions[i] = this.low.getComponent(i % 3) + cell * mesh.positions[i];
    const { geometry } = new Shape(mesh);
    this.iso = new THREE.Mesh(
      geometry,
      new THREE.MeshStandardMaterial({
        color: 0x6fa3d8,
        roughness: 0.7,
        side: THREE.DoubleSide,
        transparent: true,
        opacity: 0.55,
      }),
    );
    this.iso.renderOrder = 2;
    this.iso.userData = { layer: this };
    this.group.add(this.iso);
    this.isoTriangles = mesh.indices.length / 3;
  }

  // Trilinear, as the library has it.
  valueAt(p) {
    const { count, cell } = this.layer;
    const g = p.clone().sub(this.low).divideScalar(cell).toArray();
    const base = g.map((x, k) => Math.min(Math.max(Math.floor(x), 0), count[k] - 2));
    const t = g.map((x, k) => Math.min(Math.max(x - base[k], 0), 1));
    let sum = 0;
    for (let k = 0; k < 8; k++) {
      let weight = 1;
      let i = 0;
      for (let axis = 2; axis >= 0; axis--) {
        const bit = (k >> axis) & 1;
        weight *= bit ? t[axis] : 1 - t[axis];
        i = i * count[axis] + base[axis] + bit;
      }
      sum += weight * this.values[i];
    }
    return sum;
  }

  setFrame() {}

  facts(hit) {
    return [[hit.object === this.iso ? "distance here" : this.scale.what, this.valueAt(hit.point)]];
  }

  outline() {
    return null;
  }
}
