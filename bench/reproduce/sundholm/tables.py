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
SIDE, QUICK_SIDE = 128, 24  # of grids, in cells
SAMPLES = {"vertices": 56, "edges": 536, "faces": 542}  # table 5.1


def name_of(shape, segments, rings):
    return f"{shape} {segments}" + (f", {rings}" if rings else "")


# ---- measuring ----

def brute_times(found, side):
    """Processor time of one core for all cells: of a run, times the cells for each one that it computes."""
    factor = side ** 3 / found["elements"]
    return found["cpu_ms"] * factor / found["threads"], factor


def measure_model(context, kept, name, mesh):
    triangles = run_json([context.tool, "info", mesh, "--json"])["files"][0]["triangles"]
    entry, side = {"triangles": triangles}, QUICK_SIDE if context.quick else SIDE
    for threads, cores in ((1, "one_core_ms"), (2, "two_cores_ms")):
        found = context.bench("field/128-file", threads, 7, ABUT_BENCH_MESH=mesh)["field/128-file"]
        entry[cores] = round(found["cpu_ms"] / threads, 2)
        found = context.bench("field/brute-128-file", threads, 3, ABUT_BENCH_MESH=mesh)["field/brute-128-file"]
        brute, factor = brute_times(found, side)
        entry |= {"brute_" + cores: float(f"{brute:.5g}"), "brute_factor": round(factor, 2)}
    kept["cpu"].setdefault("models", {})[name] = entry


def measure_model_on_device(context, kept, name, mesh):
    found = {part: context.bench(case, 1, 7, context.device, ABUT_BENCH_MESH=mesh)[case]["median_ms"]
             for part, case in (("update_ms", "field/device-128-file"), ("whole_ms", "field/device-whole-128-file"),
                                ("brute_ms", "field/device-brute-128-file"))}
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


def models(context):
    """Name and mesh of each model of the table."""
    for *_, shape, segments, rings in MODELS:
        if context.quick:  # as few triangles as possible
            mesh = context.make(shape, {"box": 1, "teapot": 2, "teapot-solid": 2}.get(shape, 8), rings and 3)
        else:
            mesh = context.make(shape, segments, rings)
        yield name_of(shape, segments, rings), mesh


def measure_device(context, kept):
    for name, mesh in models(context):
        measure_model_on_device(context, kept, name, mesh)


def measure(context, kept):
    for name, mesh in models(context):
        measure_model(context, kept, name, mesh)
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
    for model in MODELS:
        rows += model_rows(model, cpu["models"][name_of(*model[4:])], device.get(name_of(*model[4:]), {}))
    his = [his_cpu / his_gpu for _, _, his_cpu, his_gpu, *_ in MODELS if his_cpu]
    both = [(entry, device[name]) for name, entry in cpu["models"].items() if name in device]
    ours = [entry["one_core_ms"] / there["update_ms"] for entry, there in both]
    brute = [entry["brute_one_core_ms"] / there["brute_ms"] for entry, there in both if "brute_ms" in there]
    rows += [Row("figures 7.9, 7.10: these times, and GPU over CPU", "one core over the H200; ours: an update; "
                 "[plots](../sundholm.md#time)" + ("" if brute else "; baseline: not measured on a device"),
                 f"{min(his):.3g} to {max(his):.3g} times", span_of(brute), None, span_of(ours)),
             Row("section 8.2: one kernel for all pairs", reproduced("abut demo drop --device gpu")),
             Row("algorithms 6 to 8: lines in a grid", "`bench/reproduce/sundholm/cells.c`, in figure 7.7"),
             Row("appendix A.1: the distance test", "`bench/reproduce/sundholm/brute_shared.h`, in table 7.1")]
    faster = [name for name, there in device.items() if "brute_ms" in there and there["brute_ms"] < there["whole_ms"]]
    factors = [entry["brute_factor"] for entry in cpu["models"].values()]
    weaker = ["Brute force needs no BVH. On the H200 it is faster than complete fields of ours for: " + "; ".join(faster) + "."
              if faster else None,
              "The baseline of table 7.1 is his kernel, in rows of the GPU, and the same loop in plain C. On the CPU it computes evenly distributed rows "
              f"of cells only. Its times are those of the rows times the quotient of the numbers of cells, which is {min(factors):,.3g} to "
              f"{max(factors):,.4g}.",
              "The robot and the armadillo are other shapes with about as many triangles.",
              "Rows of the CPU are processor times, since other work shared the machine: half the processor time of two threads. "
              "Serial parts of ours count half, too. Ratios are those of one thread.",
              "Rows of the CPU include the construction of the BVH, as his figures include all preparation."]
    if not all("whole_ms" in there for there in device.values()):
        weaker.append("Rows of the GPU are updates: new values on the device, for a BVH that is there.")
    for what, part in (("on a device", None), ("on a device by brute force", "brute_ms")):
        missing = [name_of(*m[4:]) for m in MODELS if name_of(*m[4:]) not in device or (part and part not in device[name_of(*m[4:])])]
        if missing and len(missing) < len(MODELS):
            weaker.append(f"Not measured {what}: {'; '.join(missing)}.")
        elif missing:
            weaker.append(f"Not measured {what}: all models of table 7.1.")
            break
    return [sentence for sentence in weaker if sentence], rows


def span_of(values):
    return f"{times(min(values), 1)} to {times(max(values), 1)} times" if values else None


def model_rows(model, ours, there):
    """The rows of a model in table 7.1: his CPU, and his GPU."""
    his_name, triangles, his_cpu, his_gpu, *shape = model
    what, name = f"table 7.1, {his_name}, {triangles:,} triangles", name_of(*shape)
    whole = there.get("whole_ms", there.get("update_ms"))
    ratio = f"{times(there['brute_ms'], whole)} (baseline on the device)" if whole and "brute_ms" in there else "not measured"
    case = "field/device-whole-128-file" if "whole_ms" in there else "field/device-128-file"
    return [Row(f"{what}; CPU", f"`field/128-file`, `field/brute-128-file`, `{name}`, {ours['triangles']:,} triangles",
                his_cpu and his_cpu * 1000, ours["brute_two_cores_ms"], ours["two_cores_ms"], None,
                f"{times(ours['brute_one_core_ms'], ours['one_core_ms'])} (baseline)"),
            Row(f"{what}; GPU", f"`{case}`, `field/device-brute-128-file`, `{name}`"
                + ("" if "brute_ms" in there else "; baseline: not measured"),
                his_gpu * 1000, there.get("brute_ms"), None, whole, ratio)]


def seconds(value):
    if value is None:
        return ""
    return f"{int(value // 60)} min {value % 60:.2f} s" if value >= 60 else f"{value:.2f} s"


def milliseconds(value):
    return "" if value is None else f"{value:.2g} ms" if value < 10 else f"{value:.0f} ms"


def ratio_of(above, below):
    return "" if above is None or below is None else times(above, below)


def his_table(kept):
    """His experiment: brute force on a CPU and on a GPU, his and ours."""
    head = ["his model", "triangles", "his CPU", "his GPU", "ratio", "our model", "triangles", "one core", "H200", "ratio"]
    device, rows = kept.get("device", {}).get("models", {}), []
    for his, triangles, his_cpu, his_gpu, *shape in MODELS:
        name = name_of(*shape)
        ours, there = kept["cpu"]["models"][name], device.get(name, {}).get("brute_ms")
        rows.append([his, f"{triangles:,}", seconds(his_cpu), seconds(his_gpu), ratio_of(his_cpu, his_gpu), name,
                     f"{ours['triangles']:,}", seconds(ours["brute_one_core_ms"] / 1e3),
                     "not measured" if there is None else milliseconds(there), ratio_of(ours["brute_one_core_ms"], there)])
    return table(head, rows)


def our_table(kept):
    """abut, and how many times faster than brute force it is on the same machine."""
    head = ["model", "triangles", "one core", "H200, complete", "H200, update", "one core : update", "brute force : abut, one core",
            "brute force : abut, H200"]
    device, rows = kept.get("device", {}).get("models", {}), []
    for name, ours in kept["cpu"]["models"].items():
        there = device.get(name, {})
        rows.append([name, f"{ours['triangles']:,}", milliseconds(ours["one_core_ms"]), milliseconds(there.get("whole_ms")),
                     milliseconds(there.get("update_ms")), ratio_of(ours["one_core_ms"], there.get("update_ms")),
                     ratio_of(ours["brute_one_core_ms"], ours["one_core_ms"]),
                     ratio_of(there.get("brute_ms"), there.get("whole_ms")) or "not measured"])
    return table(head, rows)


def write(kept, docs):
    device, models = kept.get("device", {}).get("models", {}), kept["cpu"]["models"]

    def curve(part, place, by=1e3):
        return [(models[name]["triangles"], entry[part] / by) for name, entry in place.items() if part in entry and name in models]

    def speedup(here, there):
        return [(models[name]["triangles"], models[name][here] / entry[there]) for name, entry in device.items()
                if there in entry and name in models]

    put_between(docs / "sundholm.md", "table", his_table(kept))
    put_between(docs / "sundholm.md", "ours", our_table(kept))
    plot(docs / "pictures/sundholm-times.svg", "A field of 128 x 128 x 128 cells", "seconds", (1e-4, 1e4),
         [("his CPU", "#b3472f", [(m[1], m[2]) for m in MODELS if m[2]]),
          ("his GPU", "#e0a030", [(m[1], m[3]) for m in MODELS]),
          ("brute force, one core", "#8a5ba6", curve("brute_one_core_ms", models)),
          *([("brute force, H200", "#d987b8", curve("brute_ms", device))] if curve("brute_ms", device) else []),
          ("abut, one core", "#2f6fae", curve("one_core_ms", models)),
          ("abut, H200, update", "#2e8b57", curve("update_ms", device))])
    plot(docs / "pictures/sundholm-speedup.svg", "How much faster the GPU is than the CPU", "times", (1, 10000),
         [("his", "#b3472f", [(m[1], m[2] / m[3]) for m in MODELS if m[2]]),
          *([("brute force, H200", "#d987b8", speedup("brute_one_core_ms", "brute_ms"))] if curve("brute_ms", device) else []),
          ("abut, H200, update", "#2f6fae", speedup("one_core_ms", "update_ms"))])
