#!/usr/bin/env python3
"""Twelve calls of the Python package beside those of the packages that people use for them, in one run.

    python3 -m venv VENV
    VENV/bin/pip install . trimesh embreex python-fcl rtree scipy open3d libigl fcpw coal \
        point-cloud-utils ipctk
    VENV/bin/python bench/peers/python.py [--quick] [--only CALL] [--json FILE] [--device gpu]

All get the same arrays: a closed teapot of 70,000 triangles, 100,000 points around it, 100,000 rays, a torus at
poses, and two sheets of cloth that move. Everything that is kept between calls (trees, tensors of float32 for
packages that use these) is created before, every call runs once to warm up, and the best of the rounds counts; all
use two threads. Times are wall-clock times and, in brackets, processor times of all threads together, which are more
reliable on a busy machine. Packages that cannot be imported are omitted. Peers without a batch are called in a loop,
which the table marks. With --device our calls also run on an OpenCL device, as another column; contacts are the CPU's
there too. Results are compared with ours: the largest difference of a number, relative to the size of the model, or
the fraction of results that differ.
"""
import argparse
import importlib.metadata
import json
import os
import sys
import time
import warnings

THREADS = 2
for variable in ("ABUT_THREADS", "OMP_NUM_THREADS", "TBB_NUM_THREADS", "IGL_NUM_THREADS"):
    os.environ[variable] = str(THREADS)
os.environ["OMP_WAIT_POLICY"] = "passive"  # threads that wait take no processor time
warnings.filterwarnings("ignore")

import numpy as np  # noqa: E402

import abut  # noqa: E402

ROUNDS, PATIENCE = 5, 5  # no further round once a call took so many seconds in all


def package(name):
    try:
        return __import__(name)
    except Exception as problem:  # some fail in their own ways
        print(f"without {name}: {problem}", file=sys.stderr)
        return None


class Inputs:
    """What all calls are about; and what each package keeps of it."""

    def __init__(self, quick):
        count = 2000 if quick else 100_000
        rng = np.random.default_rng(1)
        self.mesh = abut.shape("teapot-solid", segments=8 if quick else 34)
        self.v, self.f = np.array(self.mesh.vertices), self.mesh.faces.astype(np.int64)
        lo, hi = self.mesh.bounds
        self.size, middle = np.linalg.norm(hi - lo), (lo + hi) / 2
        self.p = middle + rng.uniform(-0.75, 0.75, (count, 3)) * (hi - lo)
        self.d = middle + rng.normal(size=(count, 3)) * (hi - lo) / 6 - self.p
        self.d /= np.linalg.norm(self.d, axis=1, keepdims=True)
        # A torus of 8,000 triangles at poses of which about half touch.
        self.ring = abut.shape("torus", radius=0.15 * self.size, radius2=0.05 * self.size, segments=100, rings=40)
        self.poses = np.tile(np.eye(4), (20 if quick else 400, 1, 1))
        for pose in self.poses:
            pose[:3, :3] = np.linalg.qr(rng.normal(size=(3, 3)))[0]
            pose[:3, :3] *= np.sign(np.linalg.det(pose[:3, :3]))
            pose[:3, 3] = middle + rng.uniform(-0.7, 0.7, 3) * (hi - lo)
        # A grid of cubes, as Field makes it.
        self.cells = 16 if quick else 64
        field = abut.Field(self.mesh, cells=self.cells)
        z, y, x = np.indices(field.shape)
        self.grid = field.origin + field.cell * np.stack([x, y, z], axis=-1).reshape(-1, 3)
        # Two sheets that go through each other, and what they move to.
        side = 16 if quick else 60
        sheet = abut.shape("sheet", segments=side, rings=side)
        high = sheet.vertices + (0.003, 0.007, 0.05) + rng.normal(scale=0.005, size=sheet.vertices.shape)
        self.cloth_v = np.concatenate([sheet.vertices, high])
        self.cloth_f = np.concatenate([sheet.faces, sheet.faces + sheet.vertex_count]).astype(np.int64)
        self.cloth_end = np.concatenate([sheet.vertices, high - (0, 0, 0.2)])
        self.cloth = abut.Mesh(self.cloth_v, self.cloth_f)
        self.moved = self.v * (1, 1.01, 0.99)


# ---- the packages: calls by name, each a function without arguments that returns its answer ----


def ours(i, device=None):
    mesh, ring, refitted = (
        abut.Mesh(each.vertices, each.faces, device=device).prepare() for each in (i.mesh, i.ring, i.mesh)
    )
    motion = abut.Motion(i.cloth, device=device)
    touching = i.poses[abut.overlap(mesh, ring, pose_b=i.poses)]
    i.touching = touching
    return {
        "nearest": lambda: mesh.nearest(i.p).distance,
        "signed_distance": lambda: mesh.signed_distance(i.p),
        "inside": lambda: mesh.inside(i.p),
        "winding": lambda: mesh.winding(i.p),
        "ray": lambda: mesh.ray(i.p, i.d).parameter,
        "ray_all": lambda: np.diff(mesh.ray_all(i.p, i.d).offsets.astype(np.int64)),
        "overlap": lambda: abut.overlap(mesh, ring, pose_b=i.poses),
        "distance": lambda: abut.distance(mesh, ring, pose_b=i.poses).distance,
        "contacts": lambda: np.diff(abut.contacts(mesh, ring, pose_b=touching).offsets) > 0,
        "field": lambda: abut.Field(mesh, cells=i.cells).array.ravel(),
        "refit": lambda: refitted.set_positions(i.moved).nearest(i.p[:1]).distance,
        "motion": lambda: np.array([motion.step(i.cloth_end, start=i.cloth_v).earliest().time]),
    }


def trimesh_calls(i):
    trimesh = package("trimesh")
    if not trimesh:
        return {}
    mesh = trimesh.Trimesh(i.v, i.f, process=False)
    ring = trimesh.Trimesh(i.ring.vertices, i.ring.faces.astype(np.int64), process=False)

    some = i.p[: len(i.p) // 50]  # all at once take more memory than there is; the time is that of 2%, times 50

    def all_hits():
        rays = mesh.ray.intersects_id(i.p, i.d, multiple_hits=True)[1]
        return np.bincount(rays, minlength=len(i.p))

    def first():
        places, rays, _ = mesh.ray.intersects_location(i.p, i.d, multiple_hits=False)
        t = np.full(len(i.p), np.inf)
        t[rays] = np.linalg.norm(places - i.p[rays], axis=1)
        return t

    calls = {
        "nearest (2%)": lambda: trimesh.proximity.closest_point(mesh, some)[1],
        "signed_distance (2%)": lambda: -trimesh.proximity.signed_distance(mesh, some),
        "inside": lambda: mesh.contains(i.p),
        "ray": first,
        "ray_all": all_hits,
        "refit": lambda: trimesh.proximity.closest_point(trimesh.Trimesh(i.moved, i.f, process=False), i.p[:1])[1],
    }
    if package("fcl"):
        manager = trimesh.collision.CollisionManager()
        manager.add_object("mesh", mesh)

        def each(query):
            def call():
                manager.add_object("ring", ring)
                answers = []
                for pose in i.poses:
                    manager.set_transform("ring", pose)
                    answers.append(query())
                manager.remove_object("ring")
                return np.array(answers)

            return call

        calls["overlap (loop)"] = each(manager.in_collision_internal)
    return calls


def fcl_calls(i):
    fcl = package("fcl")
    if not fcl:
        return {}

    def model(v, f):
        made = fcl.BVHModel()
        made.beginModel(len(v), len(f))
        made.addSubModel(v, f)
        made.endModel()
        return made

    a = fcl.CollisionObject(model(i.v, i.f), fcl.Transform())
    b = fcl.CollisionObject(model(i.ring.vertices, i.ring.faces.astype(np.int64)), fcl.Transform())

    def each(poses, query):
        def call():
            answers = []
            for pose in poses:
                b.setTransform(fcl.Transform(pose[:3, :3], pose[:3, 3]))
                answers.append(query())
            return np.array(answers)

        return call

    def contacts():
        result = fcl.CollisionResult()
        fcl.collide(a, b, fcl.CollisionRequest(num_max_contacts=100000, enable_contact=True), result)
        return len(result.contacts) > 0

    return {
        "overlap (loop)": each(i.poses, lambda: fcl.collide(a, b, fcl.CollisionRequest(), fcl.CollisionResult()) > 0),
        "distance (loop)": each(i.poses, lambda: max(fcl.distance(a, b, fcl.DistanceRequest(), fcl.DistanceResult()), 0)),
        "contacts (loop)": each(i.touching, contacts),
    }


def coal_calls(i):
    coal = package("coal")
    if not coal:
        return {}

    def model(v, f):
        made = coal.BVHModelOBBRSS()
        made.beginModel(len(f), len(v))
        made.addVertices(np.asarray(v))
        made.addTriangles(np.asarray(f))
        made.endModel()
        return made

    a, b, still = model(i.v, i.f), model(i.ring.vertices, i.ring.faces.astype(np.int64)), coal.Transform3s()

    def each(poses, query):
        def call():
            return np.array([query(coal.Transform3s(pose[:3, :3], pose[:3, 3])) for pose in poses])

        return call

    def collide(count):
        request = coal.CollisionRequest()
        request.num_max_contacts = count

        def query(at):
            result = coal.CollisionResult()
            coal.collide(a, still, b, at, request, result)
            return result.isCollision()

        return query

    def distance(at):
        result = coal.DistanceResult()
        coal.distance(a, still, b, at, coal.DistanceRequest(), result)
        return max(result.min_distance, 0)

    return {
        "overlap (loop)": each(i.poses, collide(1)),
        "distance (loop)": each(i.poses, distance),
        "contacts (loop)": each(i.touching, collide(100000)),
    }


def open3d_calls(i):
    o3d = package("open3d")
    if not o3d:
        return {}

    def tensor(array, kind=np.float32):
        return o3d.core.Tensor(np.ascontiguousarray(array, kind))

    def scene(v):
        made = o3d.t.geometry.RaycastingScene(nthreads=THREADS)
        made.add_triangles(tensor(v), tensor(i.f, np.uint32))
        return made

    made, p, grid = scene(i.v), tensor(i.p), tensor(i.grid)
    rays = tensor(np.hstack([i.p, i.d]))
    made.compute_distance(p[:1])

    def nearest():
        found = made.compute_closest_points(p)["points"].numpy()
        return np.linalg.norm(found - i.p, axis=1)

    return {
        "nearest": nearest,
        "signed_distance": lambda: made.compute_signed_distance(p).numpy(),
        "inside": lambda: made.compute_occupancy(p).numpy() > 0.5,
        "ray": lambda: made.cast_rays(rays)["t_hit"].numpy(),
        "ray_all": lambda: np.diff(made.list_intersections(rays)["ray_splits"].numpy()),
        "field": lambda: made.compute_signed_distance(grid).numpy(),
        "refit": lambda: scene(i.moved).compute_distance(p[:1]).numpy(),
    }


def igl_calls(i):
    igl = package("igl")
    if not igl:
        return {}
    v, f = np.asfortranarray(i.v), np.asfortranarray(i.f)
    kind = igl.SIGNED_DISTANCE_TYPE_FAST_WINDING_NUMBER

    def winding():  # of triangles it has no tree that stays
        return igl.fast_winding_number(v, f, i.p)

    return {
        "nearest": lambda: np.sqrt(igl.point_mesh_squared_distance(i.p, v, f)[0]),
        "signed_distance": lambda: igl.signed_distance(i.p, v, f, kind)[0],
        "inside": lambda: winding() > 0.5,
        "winding": winding,
        "field": lambda: igl.signed_distance(i.grid, v, f, kind)[0],
        "refit": lambda: np.sqrt(igl.point_mesh_squared_distance(i.p[:1], i.moved, f)[0]),
    }


def fcpw_calls(i):
    fcpw = package("fcpw")
    if not fcpw:
        return {}

    def scene(v):
        made = fcpw.scene_3D()
        made.set_object_count(1)
        made.set_object_vertices(v.astype(np.float32, order="F"), 0)
        made.set_object_triangles(i.f.astype(np.int32, order="F"), 0)
        made.build(fcpw.aggregate_type.bvh_surface_area, True)
        return made

    made = scene(i.v)
    p, d = i.p.astype(np.float32, order="F"), i.d.astype(np.float32, order="F")
    far = np.full(len(p), np.inf, np.float32)

    def nearest():
        found = fcpw.interaction_3D_list()
        made.find_closest_points(p, far, found)
        return lambda: np.array([one.d for one in found])  # after the clock has stopped

    def ray():
        found = fcpw.interaction_3D_list()
        made.intersect(p, d, far, found)
        return lambda: np.array([one.d if one.primitive_index >= 0 else np.inf for one in found])

    def refit():
        made.update_object_vertices(i.moved.astype(np.float32, order="F"), 0)
        made.refit()
        found = fcpw.interaction_3D_list()
        made.find_closest_points(p[:1].copy(order="F"), far[:1], found)
        return np.array([found[0].d])

    return {"nearest": nearest, "ray": ray, "refit": refit}  # contains() of 1.2.0 said no to every point


def pcu_calls(i):
    pcu = package("point_cloud_utils")
    if not pcu:
        return {}
    intersector = pcu.RayMeshIntersector(i.v, i.f)
    return {
        "nearest": lambda: pcu.closest_points_on_mesh(i.p, i.v, i.f)[0],
        "signed_distance": lambda: pcu.signed_distance_to_mesh(i.p, i.v, i.f)[0],
        "winding": lambda: pcu.triangle_soup_fast_winding_number(i.v, i.f, i.p),
        "ray": lambda: intersector.intersect_rays(i.p, i.d)[2],
        "field": lambda: pcu.signed_distance_to_mesh(i.grid, i.v, i.f)[0],
    }


def ipctk_calls(i):
    ipctk = package("ipctk")
    if not ipctk:
        return {}
    v, f, end = np.asfortranarray(i.cloth_v), np.asfortranarray(i.cloth_f.astype(np.int32)), np.asfortranarray(i.cloth_end)
    mesh = ipctk.CollisionMesh(v, ipctk.edges(f), f)
    try:
        ipctk.set_num_threads(THREADS)
    except AttributeError:
        pass
    return {"motion": lambda: np.array([ipctk.compute_collision_free_stepsize(mesh, v, end)])}


PACKAGES = [("abut", ours), ("trimesh", trimesh_calls), ("python-fcl", fcl_calls), ("coal", coal_calls),
            ("open3d", open3d_calls), ("libigl", igl_calls), ("fcpw", fcpw_calls), ("point-cloud-utils", pcu_calls),
            ("ipctk", ipctk_calls)]
CALLS = ("nearest", "signed_distance", "inside", "winding", "ray", "ray_all", "overlap", "distance", "contacts", "field",
         "refit", "motion")

# ---- measuring ----


def clock(call):
    """The best of the rounds in seconds, by the clock and of the processors, and the answer."""
    best, least, begin, answer = np.inf, np.inf, None, None
    for _ in range(ROUNDS + 1):
        start, cpu = time.perf_counter(), time.process_time()
        answer = call()
        if begin is not None:
            best, least = min(best, time.perf_counter() - start), min(least, time.process_time() - cpu)
        begin = begin or time.perf_counter()  # the first warms up
        if time.perf_counter() - begin > PATIENCE and best < np.inf:
            break
    return best, least, answer() if callable(answer) else answer


def difference(call, mine, theirs, size):
    """How far an answer is from ours, in words."""
    mine, theirs = np.asarray(mine), np.asarray(theirs).reshape(np.shape(mine))
    if call in ("inside", "ray_all", "overlap", "contacts"):
        return f"{np.mean(mine != theirs):.1e} differ"
    if call == "winding":
        return f"{np.abs(mine - theirs).max():.1e}"
    if call == "motion":
        return f"time {theirs[0]:.6f}, ours {mine[0]:.6f}"
    both = np.isfinite(mine) & np.isfinite(theirs)
    text = f"{np.abs(mine[both] - theirs[both]).max(initial=0) / size:.1e}"
    other = np.mean(np.isfinite(mine) != np.isfinite(theirs))
    return f"{text}, {other:.1e} differ" if other else text


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="small inputs, to see that all runs")
    parser.add_argument("--only", default="", help="calls that begin with this")
    parser.add_argument("--json", help="where results go")
    parser.add_argument("--device", help="ours on this OpenCL device too")
    parser.add_argument("--threads", type=int, default=THREADS, help="of ours; peers have two")
    arguments = parser.parse_args()
    abut.set_threads(arguments.threads)
    if arguments.device:
        PACKAGES.insert(1, (f"abut on {arguments.device}", lambda i: ours(i, arguments.device)))
    inputs, results, answers = Inputs(arguments.quick), {}, {}
    versions = {"numpy": np.__version__}
    for name, make in PACKAGES:
        try:
            calls = make(inputs)
        except Exception as problem:
            print(f"without {name}: {problem!r}", file=sys.stderr)
            continue
        if calls:
            versions[name] = abut.__version__ if name.startswith("abut") else importlib.metadata.version(name)
        for title, call in calls.items():
            base = title.split()[0]
            if not base.startswith(arguments.only):
                continue
            try:
                seconds, cpu, answer = clock(call)
            except Exception as problem:
                print(f"{name} {title}: {problem!r}", file=sys.stderr)
                continue
            if "2%" in title:
                seconds, cpu = 50 * seconds, 50 * cpu
            answers.setdefault(base, answer)  # ours comes first
            off = "" if name == "abut" else difference(base, answers[base][: len(answer)], answer, inputs.size)
            results.setdefault(base, {})[name] = {"ms": seconds * 1e3, "cpu_ms": cpu * 1e3, "loop": "loop" in title, "difference": off}
            print(f"{base:16} {name:18} {seconds * 1e3:10.2f} ms {cpu * 1e3:10.2f} ms cpu  {off}", flush=True)
    print("\n" + table(results, versions))
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"versions": versions, "results": results}, file, indent=1)


def shown(one):
    return f"{one['ms']:.3g} ({one['cpu_ms']:.3g}){', loop' if one['loop'] else ''}" if one else ""


def table(results, versions):
    names = [name for name, _ in PACKAGES if name in versions]
    lines = ["| call | " + " | ".join(names) + " | best peer over ours |", "|---" * (len(names) + 2) + "|"]
    for call in CALLS:
        found = results.get(call, {})
        if not found:
            continue
        cells = [shown(found.get(name)) for name in names]
        peers = [one for name, one in found.items() if not name.startswith("abut")]
        ratio = " ".join(form.format(min(one[key] for one in peers) / found["abut"][key])
                         for key, form in (("ms", "{:.2g}"), ("cpu_ms", "({:.2g})")) if peers and "abut" in found)
        lines.append(f"| `{call}` | " + " | ".join(cells) + f" | {ratio} |")
    return "\n".join(lines) + "\n\n" + ", ".join(f"{name} {version}" for name, version in versions.items())


if __name__ == "__main__":
    main()
