#!/usr/bin/env python3
"""Deviation of two scans of 100,000 triangles at a million samples, beside Open3D and MeshLab.

    python3 -m venv VENV && VENV/bin/pip install open3d-cpu pymeshlab
    VENV/bin/python bench/peers/deviation.py build/release/abut-bench [RESULTS.json]

All get the same two files, and two threads. Ours is `map/deviation`: BVH, atlas, distances,
measures; and `map/hausdorff`, both ways between bounds that hold for every point. Open3D gets a
million random points of the scan, which it does not have to make: its time is that of the scene
and of compute_distance(). MeshLab's Hausdorff filter makes its samples itself, one way. Both peers
are measured where they can be imported. The best of three runs counts, in milliseconds and in those
of the processors, which are more reliable on a busy machine.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

THREADS, SAMPLES, ROUNDS = 2, 1_000_000, 3
os.environ["ABUT_THREADS"] = os.environ["OMP_NUM_THREADS"] = str(THREADS)


def ours(tool, folder):
    path = os.path.join(folder, "ours.json")
    found = {}
    for case in ("map/deviation", "map/hausdorff"):
        subprocess.run([tool, "--filter", case, "--threads", str(THREADS), "--repeat", str(ROUNDS), "--out", path],
                       env={**os.environ, "ABUT_BENCH_SCANS": folder}, check=True)
        with open(path, encoding="utf-8") as file:
            measured = json.load(file)["cases"][0]
        found[case] = {"ms": measured["minimum_ms"], "cpu_ms": measured["cpu_ms"]}
    return found


def best(call):
    times, answer = [], None
    for _ in range(ROUNDS):
        start, cpu_start = time.perf_counter(), time.process_time()
        answer = call()
        times.append(((time.perf_counter() - start) * 1e3, (time.process_time() - cpu_start) * 1e3))
    return {"ms": min(t[0] for t in times), "cpu_ms": min(t[1] for t in times)}, answer


def open3d_distances(scan, model):
    import numpy
    import open3d
    points = numpy.asarray(open3d.io.read_triangle_mesh(scan).sample_points_uniformly(SAMPLES).points)
    points = open3d.core.Tensor(points.astype(numpy.float32))
    mesh = open3d.t.geometry.TriangleMesh.from_legacy(open3d.io.read_triangle_mesh(model))

    def run():
        scene = open3d.t.geometry.RaycastingScene(nthreads=THREADS)
        scene.add_triangles(mesh)
        return scene.compute_distance(points, nthreads=THREADS).numpy()

    times, distances = best(run)
    return {**times, "mean": float(distances.mean()), "greatest": float(distances.max())}


def meshlab_hausdorff(scan, model):
    import pymeshlab
    meshes = pymeshlab.MeshSet()
    meshes.load_new_mesh(scan)
    meshes.load_new_mesh(model)
    times, measured = best(lambda: meshes.get_hausdorff_distance(
        sampledmesh=0, targetmesh=1, samplevert=False, sampleface=True, samplenum=SAMPLES))
    return {**times, "mean": measured["mean"], "greatest": measured["max"], "samples": measured["n_samples"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("tool", type=os.path.abspath, help="abut-bench")
    parser.add_argument("results", nargs="?", help="a file that receives the results as JSON")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = ours(options.tool, folder)
        scan, model = (os.path.join(folder, f"scan-{i}.ply") for i in range(2))
        for name, call in (("Open3D", open3d_distances), ("MeshLab", meshlab_hausdorff)):
            try:
                found[name] = call(scan, model)
            except ImportError as error:
                print(f"{name}: {error}", file=sys.stderr)
    for name, entry in found.items():
        for kind in ("ms", "cpu_ms"):
            entry["times_" + kind] = entry[kind] / found["map/deviation"][kind]
        print(name, " ".join(f"{key} {value:.6g}" for key, value in entry.items()))
    if options.results:
        with open(options.results, "w", encoding="utf-8") as file:
            file.write(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
