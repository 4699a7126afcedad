"""The thresholds of the rule by which worlds choose a method: what is on either side of each, measured.

Usage: bench/choosing_tables.py build/release/abut [SHARE [MODEL...]]

Prints the tables of docs/choosing.md: errors of depths and what is missed, for bodies around each threshold, by the
command itself (`abut contacts SCENE --method`). References are exact: closed forms, or exact patches of closed meshes.
Times are processor time of all pairs less that of one, so that starting and building are not counted. SHARE of the
samples is taken (1). For MODELs it prints the size of their holes.
"""
import argparse
import json
import math
import os
import pathlib
import random
import resource
import subprocess
import tempfile

from report import table

parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
parser.add_argument("tool", type=os.path.abspath, help="the abut command")
parser.add_argument("share", nargs="?", type=float, default=1, help="fraction of the samples (default: 1)")
parser.add_argument("model", nargs="*", type=os.path.abspath, help="prints the size of the holes of these models")
options = parser.parse_args()
tool, share = options.tool, options.share
scratch = tempfile.TemporaryDirectory(prefix="abut-choosing-")
CELLS = 64  # of a field, along the longest side


def contacts(bodies, meshes, method=None):
    """{(a, b): depth} of a scene whose first body touches all others, and the processor time."""
    scene = {"meshes": meshes, "bodies": bodies, "ignore": [["probes", "probes"]] if len(bodies) > 1 else []}
    pathlib.Path("scene.json").write_text(json.dumps(scene))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([tool, "contacts", "scene.json", "--json", "--threads", "1", *(["--method", method] if method else [])],
                          capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 3):
        raise SystemExit(done.stderr)
    return ({(p["a"], p["b"]): p["depth"] for p in json.loads(done.stdout)["pairs"]},
            after.ru_utime - before.ru_utime)


def probes(mesh, places, **more):
    return [{"name": f"p{i}", "mesh": mesh, "position": list(p), "group": "probes", **more} for i, p in enumerate(places)]


def print_table(title, head, rows):
    print("\n" + "\n".join([title, "", *table(head, rows)]))


def on_sphere(rng):
    while True:
        v = [rng.uniform(-1, 1) for _ in range(3)]
        length = math.hypot(*v)
        if 0.05 < length <= 1:
            return [x / length for x in v]


def read_obj(path):
    points, faces = [], []
    for line in pathlib.Path(path).read_text().splitlines():
        words = line.split()
        if words[:1] == ["v"]:
            points.append([float(x) for x in words[1:4]])
        elif words[:1] == ["f"]:
            faces.append([int(w.split("/")[0]) - 1 for w in words[1:4]])
    return points, faces


def hole_share(points, faces):
    """Discs as long around as the borders, over the area: as src/world/world/mesh.c has it."""
    first = {}
    same = [first.setdefault(tuple(p), i) for i, p in enumerate(points)]
    edges, area, discs = set(), 0, 0
    for face in faces:
        a, b, c = (points[v] for v in face)
        u, v = [[q[k] - a[k] for k in range(3)] for q in (b, c)]
        area += math.hypot(u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]) / 2
        edges |= {(same[face[k]], same[face[k - 2]]) for k in range(3)}
    following = {a: b for a, b in edges if (b, a) not in edges}
    while following:
        a, b = following.popitem()
        length = math.dist(points[a], points[b])
        while b in following:
            a, b = b, following.pop(b)
            length += math.dist(points[a], points[b])
        discs += length * length / (4 * math.pi)
    return discs / area


def files(paths):
    """How large the holes of models are that people call solids or sheets."""
    rows = []
    for path in paths:
        done = subprocess.run([tool, "convert", path, "model.obj", "--quiet"], capture_output=True)
        if done.returncode == 0:
            points, faces = read_obj("model.obj")
            part = hole_share(points, faces)
            rows.append((part, [pathlib.Path(path).name, f"{len(faces):,}", f"{100 * part:.3g}%"]))
    print_table("Models", ["model", "triangles", "holes"], [row for _, row in sorted(rows)])


def holes():
    """A ball without its top: which points within are called inside, and how far depths at the wall are off."""
    subprocess.run([tool, "make", "icosphere", "ball.obj", "--radius", "1", "--segments", "24", "--quiet"], check=True)
    points, faces = read_obj("ball.obj")
    cell, rows = 2 / CELLS, []
    for top in (0.95, 0.9, 0.8, 0.7, 0.6, 0.4, 0):
        kept = [f for f in faces if sum(points[v][2] for v in f) / 3 < top]
        pathlib.Path("open.obj").write_text("".join(f"v {p[0]} {p[1]} {p[2]}\n" for p in points)
                                            + "".join(f"f {f[0] + 1} {f[1] + 1} {f[2] + 1}\n" for f in kept))
        rng = random.Random(7)
        within, wall = [], []
        while len(within) < 400 * share:
            p = [rng.uniform(-1, 1) for _ in range(3)]
            if math.hypot(*p) < 0.9 and p[2] < top - 0.05:
                within.append(p)
        while len(wall) < 150 * share:
            n = on_sphere(rng)
            if n[2] < top - 0.2:
                r = rng.uniform(1, 1.08)
                wall.append([x * r for x in n])
        meshes = {"body": {"file": "open.obj"}, "dot": {"shape": "icosphere", "radius": 0.02, "segments": 2},
                  "small": {"shape": "icosphere", "radius": 0.1, "segments": 6}}
        body = {"name": "body", "mesh": "body"}
        found, _ = contacts([{**body, "method": "field"}] + probes("dot", within, method="field"), meshes)
        meant, _ = contacts([{**body, "method": "exact"}] + probes("small", wall, method="exact"),
                            {**meshes, "body": {"file": "ball.obj"}})
        columns = []
        for method in ("field", "map"):
            got, _ = contacts([{**body, "method": method}] + probes("small", wall, method="field"), meshes)
            errors = sorted(abs(got.get(k, 0) - d) / cell for k, d in meant.items())
            columns.append(f"{errors[len(errors) // 2]:.2f}, {errors[int(0.95 * len(errors))]:.2f}")
        rows.append([f"{100 * hole_share(points, kept):.3g}%", f"{100 * len(found) / len(within):.1f}%", *columns])
    print_table("A ball without its top; depths are off by the median and by 95%, in cells",
          ["hole", "inside by winding numbers, of what is", "depth off by field", "by map"], rows)


def turned(v, turn):
    """v turned by a unit quaternion."""
    x, y, z, w = turn
    c = [y * v[2] - z * v[1] + w * v[0], z * v[0] - x * v[2] + w * v[1], x * v[1] - y * v[0] + w * v[2]]
    return [v[0] + 2 * (y * c[2] - z * c[1]), v[1] + 2 * (z * c[0] - x * c[2]), v[2] + 2 * (x * c[1] - y * c[0])]


def thin():
    """A plate that stands on a plate like it, pressed into it by half of their thickness. Both are askew in their files, so
    that cells do not lie along them."""
    rows = []
    length = math.hypot(1, 2, 3, 4)
    turn = [x / length for x in (1, 2, 3, 4)]
    for cells in (0.25, 0.5, 1, 1.5, 2, 3, 4):
        rng = random.Random(3)
        t, longest = cells / CELLS, 1
        for name, size in (("low", "1,1,{}"), ("high", "{},1,1")):
            for _ in range(2):  # a cell is a part of the longest side as it lies
                subprocess.run([tool, "make", "box", "plate.obj", "--size", size.format(t), "--segments", "8", "--quiet"], check=True)
                points, faces = read_obj("plate.obj")
                points = [turned(p, turn) for p in points]
                longest = max(max(p[k] for p in points) - min(p[k] for p in points) for k in range(3))
                t = cells * longest / CELLS if name == "low" else t
            pathlib.Path(f"{name}.obj").write_text("".join(f"v {p[0]!r} {p[1]!r} {p[2]!r}\n" for p in points)
                                                   + "".join(f"f {f[0] + 1} {f[1] + 1} {f[2] + 1}\n" for f in faces))
        places = [turned([rng.uniform(-0.3, 0.3), rng.uniform(-0.3, 0.3), 0.5], turn) for _ in range(int(150 * share))]
        found = {}
        for method in ("exact", "field"):
            found[method], _ = contacts([{"name": "body", "mesh": "low", "method": method}] + probes("high", places, method=method),
                                        {"low": {"file": "low.obj"}, "high": {"file": "high.obj"}})
        missed = sum(k not in found["field"] for k in found["exact"]) / len(found["exact"])
        errors = sorted(abs(found["field"].get(k, 0) - d) / t for k, d in found["exact"].items())
        rows.append([f"{cells:g}", f"{100 * missed:.0f}%", f"{100 * errors[len(errors) // 2]:.0f}%", f"{100 * errors[-1]:.0f}%"])
    print_table("Two parallel plates that overlap by half of their thickness; errors of depths relative to the thickness",
          ["thickness, cells", "missed by fields", "depth error, median", "maximum"], rows)


def few():
    """Boxes of more and more triangles that touch, by exact patches and by fields on the CPU."""
    rows = []
    for segments in (1, 2, 3, 4, 8, 16, 32):
        rng = random.Random(5)
        places = []
        for _ in range(int(400 * share)):
            p = [rng.uniform(-0.5, 0.5) for _ in range(3)]
            p[rng.randrange(3)] = rng.choice((-0.98, 0.98))
            places.append(p)
        meshes = {"body": {"shape": "box", "segments": segments}}
        cost, found = {}, {}
        for method in ("exact", "field"):
            one = [{"name": "body", "mesh": "body", "method": method}]
            found[method], many = contacts(one + probes("body", places, method=method), meshes)
            _, alone = contacts(one + probes("body", places[:1], method=method), meshes)
            cost[method] = (many - alone) / (len(places) - 1)
        errors = sorted(abs(found["field"].get(k, 0) - d) * CELLS for k, d in found["exact"].items())
        rows.append([f"{12 * segments * segments:,}", *(f"{1e6 * cost[m]:.0f} us" for m in ("exact", "field")),
                     f"{errors[len(errors) // 2]:.2f}, {errors[int(0.95 * len(errors))]:.2f}"])
    print_table("Boxes that touch; depths are off by the median and by 95%, in cells", ["triangles", "a pair, exact", "by fields", "depth off by fields"], rows)


def coarse():
    """Vertices and edges of a sheet of right triangles, against a corner of a cube that comes through it."""
    rng = random.Random(9)
    rows = []
    for edge in (0.5, 1, 2, 3, 4, 8):  # in cells
        worst, sum_, count = 0, 0, int(4000 * share)
        for _ in range(count):
            x, y = rng.random(), rng.random()
            x, y = (x, y) if x + y < 1 else (1 - x, 1 - y)
            # The corner is found once a face of it is as far below the tip as an edge is away: the cube stands on its tip,
            # whose faces fall by sqrt 2 at most.
            away = edge * min(x, y, (1 - x - y) / math.sqrt(2))
            missed = away * math.sqrt(2)
            worst, sum_ = max(worst, missed), sum_ + missed
        rows.append([f"{edge:g}", f"{sum_ / count:.2f}", f"{worst:.2f}"])
    print_table("A corner of a cube through a sheet", ["edges, cells", "deepest that is missed, mean, cells", "worst"], rows)


os.chdir(scratch.name)
if options.model:
    files(options.model)
holes()
thin()
few()
coarse()
