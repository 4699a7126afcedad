#!/usr/bin/env python3
"""trimesh on abut beside trimesh on python-fcl, embreex and rtree, in one run.

    python3 -m venv VENV
    VENV/bin/pip install . 'trimesh[easy]' python-fcl embreex rtree
    VENV/bin/python bench/peers/trimesh.py [--quick] [--threads N] [--only CASE] [--json FILE]

Both run the same lines of Python on the interfaces of trimesh: collision managers, rays and proximity. Rounds of both
alternate, after one round of each to warm up, which builds what is kept between calls. The table has medians of
processor time, and in brackets of wall time, and the ratio of processor times and of wall times. --threads is the
number of threads of abut (0 = all processors); FCL, Embree as embreex calls it, and rtree have one. Answers are
compared: the last column is the fraction that differs, or the largest difference of a number relative to the size of
the model.

    python3 bench/peers/trimesh.py --read ONE.json ALL.json --svg FILE

prints the table of docs/trimesh.md from the results of a run with --threads 1 and one with --threads 0, and draws the
ratios.
"""

import argparse
import importlib.metadata
import json
import math
import os
import sys
import time
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
warnings.filterwarnings("ignore")
sys.path = [
    folder for folder in sys.path if os.path.abspath(folder or ".") != os.path.dirname(os.path.abspath(__file__))
]

READS = "--read" in sys.argv
if not READS:
    import numpy as np
    import trimesh

    import abut
    import abut.trimesh

SECONDS = 0.6  # of both sides together, per case, once each has run four times


def place(position, rng=None):
    made = np.eye(4)
    if rng is not None:
        made[:3, :3] = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        made[:3, :3] *= np.sign(np.linalg.det(made[:3, :3]))
    made[:3, 3] = position
    return made


def solid(mesh):
    return trimesh.Trimesh(np.array(mesh.vertices), mesh.faces.astype(np.int64), process=False)


# ---- collisions: each case returns a function of the manager class ----


def crowd(meshes, count, kind, seed):
    """A function that fills a manager with `count` bodies, and other poses of them. In a "dense" crowd most bodies touch
    another, in a "loose" one a few do, and "apart" none does."""
    rng = np.random.default_rng(seed)
    cells = round(count ** (1 / 3) + 0.499)
    grid = 1.6 * np.stack(np.indices([cells] * 3), axis=-1).reshape(-1, 3)[:count]
    places = {
        "dense": rng.uniform(0, 1.05 * count ** (1 / 3), (count, 3)),
        "loose": rng.uniform(0, 2.5 * count ** (1 / 3), (count, 3)),
        "apart": grid + rng.uniform(-0.05, 0.05, (count, 3)),
    }[kind]
    starts = [place(position, rng) for position in places]

    def fill(manager):
        for i, start in enumerate(starts):
            manager.add_object(str(i), meshes[i % len(meshes)], start)
        return manager

    return fill, [place(start[:3, 3] + rng.normal(size=3) * 0.02, rng) for start in starts]


def collision_cases(quick):
    balls = [trimesh.creation.icosphere(subdivisions=2, radius=r) for r in (0.3, 0.4, 0.5)]
    boxes = [trimesh.creation.box(size) for size in ((1, 0.5, 0.4), (0.6, 0.6, 0.6))]
    rings = [trimesh.creation.torus(0.5, 0.2, 32, 16)]
    big, other = solid(abut.shape("teapot-solid", segments=8 if quick else 34)), rings[0]
    size = big.scale
    other = solid(abut.shape("torus", radius=0.15 * size, radius2=0.05 * size, segments=100, rings=40))
    rng = np.random.default_rng(1)
    middle, extents = big.bounds.mean(axis=0), big.extents
    poses = [place(middle + rng.uniform(-0.7, 0.7, 3) * extents, rng) for _ in range(10 if quick else 40)]
    far = [place(middle + 0.2 * size * np.sign(p[:3, 3] - middle) + (p[:3, 3] - middle), rng) for p in poses]
    count = 60 if quick else 300

    def crowd_case(meshes, kind, query):
        fill, moves = crowd(meshes, count, kind, 7)

        def make(manager_class):
            manager = fill(manager_class())

            def run():
                found = []
                for i in range(0, count, count // 10):  # ten bodies move, with a query after each
                    manager.set_transform(str(i), moves[i])
                    found.append(query(manager))
                return np.array(found)

            return run

        return make

    def build_case(meshes, kind):
        fill, _ = crowd(meshes, count, kind, 7)

        def make(manager_class):
            return lambda: np.array([fill(manager_class()).in_collision_internal()])

        return make

    def other_case(meshes, kind, query):
        fill, _ = crowd(meshes, count, kind, 7)
        second, _ = crowd(meshes, count, kind, 8)

        def make(manager_class):
            one, two = fill(manager_class()), second(manager_class())
            return lambda: np.array([query(one, two)])

        return make

    def single_case(meshes, kind, query):
        fill, moves = crowd(meshes, count, kind, 7)

        def make(manager_class):
            manager = fill(manager_class())
            between = place((0.8, 0.8, 0.8) if kind == "apart" else (0, 0, 0))
            return lambda: np.array([query(manager, meshes[0], between @ move) for move in moves[:20]])

        return make

    def pair_case(query, where):
        def make(manager_class):
            manager = manager_class()
            manager.add_object("big", big)
            manager.add_object("other", other)

            def run():
                found = []
                for pose in where:
                    manager.set_transform("other", pose)
                    found.append(query(manager))
                return np.array(found)

            return run

        return make

    def pair_single(query, where):
        def make(manager_class):
            manager = manager_class()
            manager.add_object("big", big)
            return lambda: np.array([query(manager, other, pose) for pose in where])

        return make

    names = lambda manager: len(manager.in_collision_internal(return_names=True)[1])  # noqa: E731
    data = lambda manager: len(manager.in_collision_internal(return_data=True)[1]) > 0  # noqa: E731
    least = lambda manager: max(manager.min_distance_internal(), 0)  # noqa: E731
    single = lambda manager, mesh, pose: manager.in_collision_single(mesh, pose)  # noqa: E731
    single_names = lambda manager, mesh, pose: len(manager.in_collision_single(mesh, pose, True)[1])  # noqa: E731
    single_least = lambda manager, mesh, pose: max(manager.min_distance_single(mesh, pose), 0)  # noqa: E731
    internal = lambda manager: manager.in_collision_internal()  # noqa: E731
    kinds = {"balls": balls, "boxes": boxes, "tori": rings}
    cases = {f"add {count} {name}, dense: internal": build_case(kinds[name], "dense") for name in ("balls", "tori")}
    for name, meshes in kinds.items():
        for kind in ("dense", "loose"):
            cases[f"{count} {name}, {kind}: internal"] = crowd_case(meshes, kind, internal)
            cases[f"{count} {name}, {kind}: internal, names"] = crowd_case(meshes, kind, names)
        cases[f"{count} {name}, loose: internal, data"] = crowd_case(meshes, "loose", data)
        cases[f"{count} {name}, loose: other, names"] = other_case(
            meshes, "loose", lambda a, b: len(a.in_collision_other(b, return_names=True)[1])
        )
        cases[f"{count} {name}, dense: single"] = single_case(meshes, "dense", single)
        cases[f"{count} {name}, dense: single, names"] = single_case(meshes, "dense", single_names)
        for kind in ("loose", "apart"):
            cases[f"{count} {name}, {kind}: least distance"] = crowd_case(meshes, kind, least)
            cases[f"{count} {name}, {kind}: single, least distance"] = single_case(meshes, kind, single_least)
    cases |= {
        "teapot and torus: internal": pair_case(lambda m: m.in_collision_internal(), poses),
        "teapot and torus: internal, data": pair_case(data, poses),
        "teapot and torus: single": pair_single(single, poses),
        "teapot and torus: least distance": pair_case(least, far),
        "teapot and torus: single, least distance": pair_single(single_least, far),
    }
    return cases


# ---- rays and proximity: each case returns a function of a mesh ----


def mesh_cases(quick):
    rng = np.random.default_rng(1)
    models = {
        "ball": abut.shape("icosphere", segments=8),
        "teapot": abut.shape("teapot-solid", segments=8 if quick else 34),
        "torus": abut.shape("torus", segments=70 if quick else 700, rings=40 if quick else 400),
    }
    cases = {}
    for name, model in models.items():
        mesh = solid(model)
        middle, extents = mesh.bounds.mean(axis=0), mesh.extents
        count = 2000 if quick else 100_000
        points = middle + rng.uniform(-0.75, 0.75, (count, 3)) * extents
        towards = middle + rng.normal(size=(count, 3)) * extents / 6 - points
        grid = np.stack(np.meshgrid(*[np.linspace(-0.6, 0.6, int(count**0.5))] * 2), axis=-1).reshape(-1, 2)
        eyes = np.tile(middle + (0, 0, 2 * extents[2]), (len(grid), 1))  # a camera
        views = np.column_stack([grid * extents[:2], np.full(len(grid), -2 * extents[2])])
        for title, o, d in (("random", points, towards), ("camera", eyes, views)):
            label = f"{name} of {len(mesh.faces)}: {len(o)} {title} rays: "
            cases[label + "first"] = mesh, lambda m, o=o, d=d: m.ray.intersects_first(o, d)
            cases[label + "any"] = mesh, lambda m, o=o, d=d: m.ray.intersects_any(o, d)
            cases[label + "first locations"] = (
                mesh,
                lambda m, o=o, d=d: np.bincount(
                    m.ray.intersects_location(o, d, multiple_hits=False)[1], minlength=len(o)
                ),
            )
            cases[label + "all locations"] = (
                mesh,
                lambda m, o=o, d=d: np.bincount(m.ray.intersects_location(o, d)[1], minlength=len(o)),
            )
        few, many = points[:10], towards[:10]
        label = f"{name} of {len(mesh.faces)}: 10 random rays: "
        cases[label + "first"] = mesh, lambda m, o=few, d=many: m.ray.intersects_first(o, d)
        cases[label + "all locations"] = (
            mesh,
            lambda m, o=few, d=many: np.bincount(m.ray.intersects_location(o, d)[1], minlength=len(o)),
        )
        cases[f"{name} of {len(mesh.faces)}: contains {count} points"] = mesh, lambda m, p=points: m.contains(p)
        if name == "torus":
            continue
        some = points[: count // 1000]
        label = f"{name} of {len(mesh.faces)}: {len(some)} points: "
        cases[label + "closest point"] = mesh, lambda m, p=some: trimesh.proximity.closest_point(m, p)[1]
        cases[label + "signed distance"] = mesh, lambda m, p=some: trimesh.proximity.signed_distance(m, p)
        surface = mesh.triangles_center[:: max(1, len(mesh.faces) // 200)]
        normals = mesh.face_normals[:: max(1, len(mesh.faces) // 200)]
        for method in ("ray", "max_sphere"):
            cases[f"{name} of {len(mesh.faces)}: thickness of {len(surface)} points, {method}"] = (
                mesh,
                (lambda m, p=surface, n=normals, how=method: trimesh.proximity.thickness(m, p, normals=n, method=how)),
            )
    return cases


# ---- measuring ----


def rounds(sides):
    """Alternates rounds of all sides. Returns medians of processor and wall time in milliseconds, and the answers."""
    times, answers, begin = [[] for _ in sides], [None] * len(sides), None
    while begin is None or len(times[0]) < 3 or (time.perf_counter() - begin < SECONDS and len(times[0]) < 15):
        for i, side in enumerate(sides):
            wall, cpu = time.perf_counter(), time.process_time()
            answer = side()
            if begin is not None:
                times[i].append((time.process_time() - cpu, time.perf_counter() - wall))
            answers[i] = answer
        begin = begin or time.perf_counter()
    return [np.median(some, axis=0) * 1e3 for some in times], answers


def difference(mine, theirs, size):
    mine, theirs = np.asarray(mine), np.asarray(theirs)
    if mine.dtype.kind == "f":
        both = np.isfinite(mine) & np.isfinite(theirs)
        return f"{np.abs(mine[both] - theirs[both]).max(initial=0) / size:.0e}"
    return f"{np.mean(mine != theirs):.0e} differ" if (mine != theirs).any() else ""


# ---- results ----


def short(ms):
    return f"{ms:.3g}" if ms < 1000 else f"{ms:,.0f}"


def table(one, every):
    """The table of the documentation: processor time, in brackets wall time."""
    lines = [
        "| case | trimesh, ms | abut, one thread, ms | abut, all threads, ms | ratio, one thread | ratio, all threads |",
        "|---" * 6 + "|",
    ]
    for first, second in zip(one, every):
        assert first["case"] == second["case"]
        times = [first["trimesh"], first["abut"], second["abut"]]
        cells = [f"{short(cpu)} ({short(wall)})" for cpu, wall in times]
        ratios = [[other / mine for other, mine in zip(row["trimesh"], row["abut"])] for row in (first, second)]
        cells += [f"{cpu:.2g} ({wall:.2g})" if cpu < 100 else f"{cpu:.0f} ({wall:.0f})" for cpu, wall in ratios]
        lines.append("| " + " | ".join([first["case"], *cells]) + " |")
    return "\n".join(lines)


def draw(results, path):
    """Draws the ratio of processor times of each case on a logarithmic scale: bars to the right of 1 are faster."""
    sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    from report import Svg

    left, right, row, top = 400, 900, 15, 60
    low, high = math.log(0.1), math.log(300)

    def x(ratio):
        return left + (min(max(math.log(ratio), low), high) - low) / (high - low) * (right - left)

    svg = Svg(right + 80, top + row * len(results) + 30)
    svg.text(16, 24, "trimesh on abut against trimesh on its own back ends", "start", 16, ' font-weight="bold"')
    svg.text(16, 44, "ratio of processor times, one thread, logarithmic scale; above 1, abut is faster", "start", 12)
    bottom = top + row * len(results) + 6
    for tick in (0.1, 0.3, 1, 3, 10, 30, 100, 300):
        svg.line((x(tick), top - 6), (x(tick), bottom))
        svg.text(x(tick), bottom + 14, f"{tick:g}", "middle", 11)
    for i, found in enumerate(results):
        ratio, y = found["trimesh"][0] / found["abut"][0], top + row * i
        colour = "#2f7d4f" if ratio >= 3 else "#7fb593" if ratio >= 1 else "#c0563f"
        begin, end = sorted((x(1), x(ratio)))
        svg.parts.append(
            f'<rect x="{begin:.1f}" y="{y}" width="{max(end - begin, 1):.1f}" height="{row - 4}" fill="{colour}"/>'
        )
        svg.text(left - 8, y + 10, found["case"], "end", 11)
        svg.text(right + 8, y + 10, f"{ratio:.2g}" if ratio < 100 else f"{ratio:.0f}", "start", 11)
    svg.save(path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="small inputs, to see that all runs")
    parser.add_argument("--threads", type=int, default=0, help="of abut; 0 = all processors")
    parser.add_argument("--only", default="", help="cases that contain this")
    parser.add_argument("--json", help="where results go")
    parser.add_argument("--read", nargs=2, metavar="FILE", help="results of one and of all threads")
    parser.add_argument("--svg", help="where the drawing of --read goes")
    arguments = parser.parse_args()
    if READS:
        one, every = (json.load(open(name, encoding="utf-8"))["results"] for name in arguments.read)
        print(table(one, every))
        if arguments.svg:
            draw(one, arguments.svg)
        return
    abut.set_threads(arguments.threads)
    theirs, results = trimesh.collision.CollisionManager, []
    print("| case | abut, ms | trimesh, ms | ratio | differences |\n|---|---|---|---|---|")

    def report(name, sides, size):
        (mine, other), answers = rounds(sides)
        off = difference(*answers, size)
        results.append({"case": name, "abut": mine.tolist(), "trimesh": other.tolist(), "difference": off})
        print(
            f"| {name} | {mine[0]:.3g} ({mine[1]:.3g}) | {other[0]:.3g} ({other[1]:.3g}) | "
            f"{other[0] / mine[0]:.2g} ({other[1] / mine[1]:.2g}) | {off} |",
            flush=True,
        )

    for name, make in collision_cases(arguments.quick).items():
        if arguments.only in name:
            report(name, [make(abut.trimesh.CollisionManager), make(theirs)], 1)
    for name, (mesh, call) in mesh_cases(arguments.quick).items():
        if arguments.only not in name:
            continue

        def installed(mesh=mesh.copy(), call=call):
            with abut.trimesh.install():
                mesh.ray = abut.trimesh.RayMeshIntersector(mesh)
                return call(mesh)

        report(name, [installed, lambda mesh=mesh, call=call: call(mesh)], mesh.scale)
    names = ("numpy", "trimesh", "python-fcl", "embreex", "rtree")
    versions = {"abut": abut.__version__, **{name: importlib.metadata.version(name) for name in names}}
    print("\n" + ", ".join(f"{name} {version}" for name, version in versions.items()))
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"versions": versions, "threads": arguments.threads, "results": results}, file, indent=1)


if __name__ == "__main__":
    main()
