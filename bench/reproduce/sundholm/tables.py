"""Sundholm 2010: samples, contacts, and the time of fields of 128^3 cells (chapter 7).

Renews the table and the plots of docs/sundholm.md. All times are of built-in shapes with as many triangles as his models.
"""
import re

from common import Row, reproduced, times
from report import plot, put_between, run_json, table

WORK = {
    "name": "Sundholm 2010",
    "authors": "Erik Sundholm",
    "title": "Distance Fields Accelerated with OpenCL",
    "year": 2010,
    "links": "[Sundholm 2010, chapter 7](../sundholm.md) has the pictures and plots",
    "hardware": "a CPU and a GPU of 2010",
}
# His model, triangles, seconds on his CPU and on his GPU; our shape, segments, rings.
MODELS = [
    ("box", 12, 2.09, 1.62, "box", 1, None),
    ("cone", 64, 8.70, 2.38, "cone", 8, 4),
    ("cylinder", 127, 18.29, 2.71, "cylinder", 16, 3),
    ("torus", 399, 52.61, 4.98, "torus", 20, 10),
    ("box", 768, 89.42, 6.85, "box", 8, None),
    ("teapot", 992, 114.86, 9.91, "teapot", 4, None),
    ("sphere", 2499, 486.18, 40.33, "uvsphere", 50, 26),
    ("robot", 8454, 1039.57, 62.35, "letter-g", 30, None),
    ("armadillo", 27674, None, 196.03, "teapot-solid", 21, None),
]
SAMPLES = {"vertices": 56, "edges": 536, "faces": 542}  # table 5.1


def name_of(shape, segments, rings):
    return f"{shape} {segments}" + (f", {rings}" if rings else "")


# ---- measuring ----

def measure_model(context, kept, name, mesh):
    triangles = run_json([context.tool, "info", mesh, "--json"])["files"][0]["triangles"]
    one, two = (context.bench("field/128-file", threads, 7, ABUT_BENCH_MESH=mesh)["field/128-file"] for threads in (1, 2))
    kept["cpu"].setdefault("models", {})[name] = {
        "triangles": triangles, "one_core_ms": round(one["cpu_ms"], 2), "two_cores_ms": round(two["median_ms"], 2)}
    if context.device:
        found = {part: context.bench(case, 1, 7, context.device, ABUT_BENCH_MESH=mesh)[case]["median_ms"]
                 for part, case in (("update_ms", "field/device-128-file"), ("whole_ms", "field/device-whole-128-file"))}
        kept["device"].setdefault("models", {})[name] = {part: round(ms, 3) for part, ms in found.items()}


def count_samples(context):
    """Table 5.1: without the corners of flat faces, which he does not have."""
    box = context.make("box", 5)
    counts = {}
    for level in ("vertices", "edges"):
        counts[level] = context.abut("samples", box, "--cells", "80", "--features", level)["samples"]
    out = context.scratch / "samples.csv"
    context.abut("samples", box, "--cells", "80", "--out", out)
    counts["faces"] = sum(not re.search(r",face,\d+,[1-9]", line) for line in out.read_text(encoding="utf-8").splitlines()[1:])
    return counts


def measure(context, kept):
    for *_, shape, segments, rings in MODELS:
        if context.quick:  # as few triangles as possible
            mesh = context.make(shape, {"box": 1, "teapot": 2, "teapot-solid": 2}.get(shape, 8), rings and 3)
        else:
            mesh = context.make(shape, segments, rings)
        measure_model(context, kept, name_of(shape, segments, rings), mesh)
    cpu = kept["cpu"]
    cpu["samples"] = count_samples(context)
    found = context.abut("demo", "line")
    cpu["line"] = {key: {"mean_cells": found[key]["mean_gap_cells"], "max_cells": found[key]["largest_gap_cells"],
                         "missed": found[key]["missed"]} for key in ("cells", "traced")}
    for scene in ("plane", "drop"):
        words = ["--seconds", "1", *(["--bodies", "4"] if scene == "drop" else [])] if context.quick else []
        found = context.abut("demo", scene, "--threads", "2", *words, accept=(0, 1))
        if "sunk" in found:  # otherwise this build has no physics engine
            cpu[scene] = {key: found[key] for key in ("bodies", "sunk")}


# ---- the pages ----

def sunk(cpu, scene):
    return f"{cpu[scene]['sunk']:.2g} (bodies: {cpu[scene]['bodies']:,})" if scene in cpu else "no physics engine in this build"


def page(kept):
    cpu, device = kept["cpu"], kept.get("device", {}).get("models", {})
    rows = [Row("figures 3.1 to 3.6, 4.1, 4.2: GPUs, OpenCL, regions of a triangle", "diagrams without a result"),
            Row("figure 5.1: levels of sampling", "a picture of another work (Erleben)")]
    for level, words in (("vertices", "vertices"), ("edges", "and edges"), ("faces", "and faces")):
        rows.append(Row(f"table 5.1, samples of a cube: {words}", reproduced("abut samples box.obj --cells 80") +
                        (", without points near the corners of faces" if level == "faces" else f" `--features {level}`"),
                        f"{SAMPLES[level]} samples", None, f"{cpu['samples'][level]} samples"))
    rows += [Row("figures 6.1, 6.2, 6.4, table 6.1: classes, neighbours of a triangle, kernel arguments", "diagrams without a result"),
             Row("figure 6.3: the file `.dcache`", "`bench/reproduce/sundholm/dcache.py` converts it"),
             Row("figure 7.1: the teapot", reproduced("abut picture teapot.obj teapot.png")),
             Row("figures 7.2, 7.3: cells in space, and those inside",
                 reproduced("abut field teapot.obj --cells 40 --inside --png inside.png")),
             Row("figures 7.4, 7.5: sampling points", reproduced("abut samples teapot.obj --png samples.png")),
             Row("figure 7.6: fields collide; largest depth, of the size of a body", reproduced("abut demo drop"), "pictures",
                 None, sunk(cpu, "drop"))]
    line = cpu["line"]
    rows += [Row("figure 7.7: a line; mean error of its entry", reproduced("abut demo line"), "a picture",
                 f"{line['cells']['mean_cells']:.2f} cells", f"{line['traced']['mean_cells']:.3f} cells", None,
                 f"{times(line['cells']['mean_cells'], line['traced']['mean_cells'])} (error)"),
             Row("figure 7.8: a teapot on a plane; largest depth, of its size", reproduced("abut demo plane"),
                 "pictures", None, sunk(cpu, "plane"))]
    for model, triangles, his_cpu, his_gpu, *shape in MODELS:
        name = name_of(*shape)
        ours, there = cpu["models"][name], device.get(name, {})
        there = there.get("whole_ms", there.get("update_ms"))
        both = f"{triangles:,} triangles: {his_cpu} s CPU, {his_gpu} s GPU" if his_cpu else f"{triangles:,} triangles: {his_gpu} s GPU"
        ratio = f"{times(his_gpu * 1000, ours['two_cores_ms'])} (his GPU to 2 cores)"
        rows.append(Row(f"table 7.1, {model}", f"`field/128-file`, `{name}`, {ours['triangles']:,} triangles", both, None,
                        ours["two_cores_ms"], there, ratio))
    his = [his_cpu / his_gpu for _, _, his_cpu, his_gpu, *_ in MODELS if his_cpu]
    ours = [cpu["models"][name]["one_core_ms"] / there["update_ms"] for name, there in device.items() if name in cpu["models"]]
    rows += [Row("figures 7.9, 7.10: these times, and GPU over CPU", "one core over an update; [plots](../sundholm.md#time)",
                 f"{min(his):.3g} to {max(his):.3g} times", None, None, f"{min(ours):.0f} to {max(ours):.0f} times" if ours else None),
             Row("section 8.2: one kernel for all pairs", reproduced("abut demo drop --device gpu")),
             Row("algorithms 6 to 8: lines in a grid", "`bench/reproduce/sundholm/cells.c`, in figure 7.7")]
    weaker = ["The brute-force kernel of appendix A is not implemented. There is no baseline for table 7.1. Ratios to his "
              "hardware mostly compare machines.",
              "The robot and the armadillo are other shapes with about as many triangles.",
              "The column of two cores includes the construction of the BVH, as his figures include all preparation."]
    if not all("whole_ms" in there for there in device.values()):
        weaker.append("The column of the H200 is an update: new values on the device, for a BVH that is there.")
    if missing := [name_of(*m[4:]) for m in MODELS if name_of(*m[4:]) not in device]:
        weaker.append(f"Not measured on a device: {'; '.join(missing)}.")
    return weaker, rows


def seconds(value):
    if value is None:
        return ""
    return f"{int(value // 60)} min {value % 60:.2f} s" if value >= 60 else f"{value:.2f} s"


def milliseconds(value):
    return "" if value is None else f"{value:.2g} ms" if value < 10 else f"{value:.0f} ms"


def ratio_of(above, below):
    return "" if above is None or below is None else f"{above / below:.3g}"


def old_table(kept):
    head = ["his model", "triangles", "his CPU", "his GPU", "ratio", "our model", "triangles", "one core", "H200, update", "ratio"]
    device = kept.get("device", {}).get("models", {})
    his = {name_of(*m[4:]): [m[0], f"{m[1]:,}", seconds(m[2]), seconds(m[3]), ratio_of(m[2], m[3])] for m in MODELS}
    rows = []
    for name, ours in kept["cpu"]["models"].items():
        there = device.get(name, {}).get("update_ms")
        rows.append(his.get(name, [""] * 5) + [name, f"{ours['triangles']:,}", milliseconds(ours["one_core_ms"]),
                                               milliseconds(there), ratio_of(ours["one_core_ms"], there)])
    return table(head, rows)


def write(kept, docs):
    device = kept.get("device", {}).get("models", {})
    ours = [(e["triangles"], e["one_core_ms"], device.get(name, {}).get("update_ms")) for name, e in kept["cpu"]["models"].items()]
    put_between(docs / "sundholm.md", "table", old_table(kept))
    plot(docs / "pictures/sundholm-times.svg", "A field of 128 x 128 x 128 cells", "seconds", (1e-4, 1e4),
         [("his CPU", "#b3472f", [(m[1], m[2]) for m in MODELS if m[2]]),
          ("his GPU", "#e0a030", [(m[1], m[3]) for m in MODELS]),
          ("abut, one core", "#2f6fae", [(n, cpu / 1e3) for n, cpu, _ in ours]),
          ("abut, H200, update", "#2e8b57", [(n, there / 1e3) for n, _, there in ours if there])])
    plot(docs / "pictures/sundholm-speedup.svg", "How much faster the GPU is than the CPU", "times", (1, 1000),
         [("his", "#b3472f", [(m[1], m[2] / m[3]) for m in MODELS if m[2]]),
          ("abut, H200, update", "#2f6fae", [(n, cpu / there) for n, cpu, there in ours if there])])
