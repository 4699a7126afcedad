"""Cheng 2011, chapter 6: `abut replay` over recordings of our own version of the six animations.

Renews the tables of docs/self.md. Recordings are made by `abut demo`, and kept in the folder recordings of the build.
"""
import json
import os
import sys

from common import Row, reproduced, times
from report import put_between, run_json, table

WORK = {
    "name": "Cheng 2011",
    "authors": "Yu-Chun Cheng",
    "title": "View-based Continuous Self-Collision Detection with Graphics Hardware Acceleration",
    "year": 2011,
    "links": "[self-collision](../self.md#measured) has the complete tables",
    "hardware": "a Core i7 870 at 2.93 GHz with a GeForce GTX 480",
}
EVERY = 10  # frames from sample to sample
# Name, words of `abut demo`, triangles of the cloth and of the solid, animation of the document,
# frames there.
RECORDINGS = [
    ("ball-12000", "ball", 12000, 40000, "one", 1176),
    ("ball-49000", "ball", 49000, 40000, "two", 721),
    ("wind-50000", "dress --wind", 50000, 34000, "three", 1167),
    ("dress-50000", "dress", 50000, 34000, "four", 971),
    ("sleeve-76000", "sleeve", 76000, 19200, "five", 1568),
    ("sheet-80000", "sheet", 80000, 34000, "six", 1166),
]
ANIMATIONS = {name: animation for name, _, _, _, animation, _ in RECORDINGS}
LABELS = {"wind": "dress in the wind", "dress": "walking dress"}

# What the tables need of `abut replay --json`.
RESULT_KEYS = ("recording", "device", "triangles", "holes", "from", "to", "every", "steps", "steps_that_count")
SCHEME_KEYS = ("scheme", "milliseconds", "total", "ratio_to_sweep", "sets", "entered",
               "left", "regions", "hits", "differ")

# Figures of the document, in ms unless said otherwise.
# 6.2 and 6.3: view tests, boundary, update, traversal, elementary tests, total
CPU_STAGES = {
    "point": {
        "one": (0.98, None, "<0.01", 0.83, "<0.01", 1.88),
        "two": (4.17, None, "<0.01", 4.37, 0.73, 9.27),
        "three": (4, 4.26, 0.16, 8.4, 0.67, 17.49),
        "four": (4, 2.28, 0.19, 6.43, 0.13, 13.03),
        "five": (5.72, 0.53, 0.13, 6.13, 0.62, 13.13),
        "six": (5.94, 7.1, "<0.01", 6.56, "<0.01", 19.6),
    },
    "line": {
        "one": (1.18, None, "<0.01", 0.83, "<0.01", 2.01),
        "two": (4.65, None, "<0.01", 4.38, 0.75, 9.78),
        "three": (4.75, 4.24, 0.11, 6.6, 0.7, 16.4),
        "four": (4.75, 2.22, 0.11, 4.72, 0.13, 11.93),
        "five": (6.77, 0.54, 0.11, 5.15, 0.14, 12.71),
        "six": (7.13, 7.37, "<0.01", 6.14, "<0.01", 20.64),
    },
}
# 6.4: boxes, 16-DOPs
COMPLETE = {"one": (21.84, 7.13), "two": (131.78, 41.03), "three": (106.25, 40.04),
            "four": (97.24, 31.48), "five": (364.04, 45.54), "six": (343.27, 44.62)}
# 6.6 and 6.7: view tests, boundary, traversal, elementary tests, others, total
GPU_STAGES = {
    "point": {
        "one": (0.03, None, 0.2, 0.04, 0.01, 0.28),
        "two": (0.09, None, 0.63, 0.11, 0.02, 0.83),
        "three": (0.12, 0.29, 1.01, 0.12, 0.03, 1.57),
        "four": (0.12, 0.27, 0.79, 0.04, 0.03, 1.25),
        "five": (0.07, 0.22, 0.76, 0.04, 0.05, 1.14),
        "six": (0.08, 0.61, 0.7, 0.02, 0.05, 1.46),
    },
    "line": {
        "one": (0.03, None, 0.19, 0.04, 0.01, 0.27),
        "two": (0.08, None, 0.64, 0.11, 0.02, 0.85),
        "three": (0.13, 0.29, 0.88, 0.12, 0.03, 1.45),
        "four": (0.13, 0.27, 0.62, 0.04, 0.04, 1.1),
        "five": (0.07, 0.21, 0.6, 0.04, 0.06, 0.98),
        "six": (0.09, 0.6, 0.76, 0.05, "<0.01", 1.5),
    },
}
# 6.8 and 6.9: times as fast on a device: view tests, boundary, traversal, elementary tests, total
SPEED_UPS = {
    "point": {
        "one": (32.7, None, 4.2, None, 6.7), "two": (46.3, None, 6.9, 6.8, 11.2),
        "three": (33.3, 14.7, 8.3, 5.8, 11.1),
        "four": (33.5, 8.4, 8.1, 3.3, 10.4),
        "five": (81.7, 2.4, 8.1, 3.5, 11.5), "six": (74.3, 11.6, 19.4, None, 13.4),
    },
    "line": {
        "one": (39.3, None, 4.4, None, 7.4), "two": (58.1, None, 6.8, 6.8, 11.5),
        "three": (36.5, 14.6, 7.5, 5.8, 11.3),
        "four": (36.5, 8.2, 7.6, 1.9, 10.8),
        "five": (96.7, 2.6, 8.6, 2.8, 13), "six": (79.2, 12.3, 8.1, None, 13.8),
    },
}
# 6.10: boundary, violated triangles, traversal, total; exact, then inexact
CPU_BOUNDARY = {"three": ((4.24, 2032, 6.6, 16.41), (2.22, 5548, 10.9, 19.26)),
                "four": ((2.22, 1690, 4.72, 11.93), (1.45, 3898, 8.32, 15.55)),
                "five": ((0.54, 622, 5.15, 12.71), (0.39, 1367, 8.21, 14.71)),
                "six": ((7.37, 1593, 6.14, 20.64), (3.56, 3116, 8.01, 18.75))}
# 6.11: boundary, traversal, total
GPU_BOUNDARY = {"three": ((1.43, 0.74, 2.43), (0.29, 0.86, 1.47)),
                "four": ((0.88, 0.53, 1.64), (0.27, 0.62, 1.1)),
                "five": ((1.08, 0.51, 1.73), (0.21, 0.6, 0.98)),
                "six": ((0.91, 0.71, 1.78), (0.6, 0.76, 1.5))}
# 6.13: vertices in R0, R1, R2, and between R0 and R2, R1 and R2
REGIONS = {"one": (684, 1995, 3459, 2, 3), "two": (2553, 8677, 13317, 11, 18),
           "three": (3010, 6929, 15269, "<1", 17),
           "four": (10423, 6434, 8352, 11, 5), "five": (5445, 16616, 16489, 4, 5),
           "six": (12805, 12898, 14691, 3, 2)}
# 6.4: connectivity-based culling (ICCD) of Tang, Curtis, Yoon and Manocha
ICCD = {"one": 7, "two": 30.88, "three": 35.2, "four": 31.9, "five": 42.2, "six": 42.15}
# 6.16: marking all nodes
MARKING = {"one": 0.88, "two": 4.2, "three": 5.71, "four": 5.78, "five": 7.71, "six": 7.65}
# 6.17: to V+, V-, V0, Vv; from V+, V-, V0; in all. The row of animation three is printed with the
# fourth number at the end of these; they are put in order here.
CHANGES = {"one": (3, 4, 7, 0, 4, 3, 7, 28), "two": (28, 40, 67, 0, 40, 28, 67, 270),
           "three": (72, 74, 147, 3, 78, 72, 147, 593),
           "four": (77, 78, 146, 4, 84, 75, 146, 610),
           "five": (61, 67, 128, "<1", 69, 60, 128, 513), "six": (35, 42, 70, 1, 43, 35, 70, 296)}


# ---- measuring ----

def rounded(value):
    if isinstance(value, dict):
        return {key: rounded(entry) for key, entry in value.items()}
    return float(f"{value:.9g}") if isinstance(value, float) else value


def search(context, path, every, *more):
    """Searches a recording; returns what the tables need."""
    command = [context.tool, "replay", path, "--scheme", "all", "--json", "--summary", "--quiet", "--every", every, *more]
    found = run_json(command, accept=(0, 3))  # 3: something was hit
    schemes = [{key: rounded(scheme[key]) for key in SCHEME_KEYS if key in scheme} for scheme in found["schemes"]]
    result = {**{key: rounded(found[key]) for key in RESULT_KEYS}, "schemes": schemes}
    return {**result, "recording": os.path.basename(result["recording"])}


def measure(context, kept):
    folder = context.scratch if context.quick else context.build / "recordings"
    folder.mkdir(exist_ok=True)
    every = 2 if context.quick else EVERY
    for name, words, triangles, solid, _, frames in RECORDINGS:
        path = folder / f"{name}.abutm"
        if context.quick:
            triangles, solid, frames = 300, 8000 if "dress" in words else 200, 4
        if not path.exists():
            print(f"recording {frames} frames of {path}", file=sys.stderr)
            part = path.with_suffix(".part.abutm")
            context.abut("demo", *words.split(), "--triangles", triangles, "--solid", solid, "--frames", frames,
                         "--record", part, *(["--device", context.device] if context.device else []), accept=(0, 3))
            part.rename(path)
        runs = kept["cpu"].setdefault("runs", {})
        runs[name] = search(context, path, every, "--threads", 1)
        if words == "sleeve":
            runs[name + ".companion"] = search(context, path, every, "--threads", 1, "--line", "companion")
        if context.device:
            kept["device"].setdefault("runs", {})[name] = search(context, path, every, "--device", context.device)


# ---- tables ----

def show(value, digits=None):
    if value is None:
        return "-"
    if digits is None:
        digits = 2 if abs(value) < 9.995 else 1 if abs(value) < 99.95 else 0
    return "{:,.{}f}".format(value, digits)


def beside(ours, theirs, digits=None):
    if ours is None:
        return "-"
    return show(ours, digits) + ("" if theirs is None else " (%s)" % show_theirs(theirs))


def show_theirs(value):
    if isinstance(value, str):
        return value
    return "{:,}".format(value) if isinstance(value, int) else "%g" % value


def titled(title, heads, rows):
    return [title, "", *table(heads, rows), ""] if rows else []


def schemes_of(result):
    return {scheme["scheme"]: scheme for scheme in result["schemes"]}


def name_of(result):
    name = os.path.splitext(os.path.basename(result["recording"]))[0]
    kind = name.split("-")[0]
    return (name, ANIMATIONS.get(name),
            LABELS.get(kind, kind) + " of {:,}".format(result["triangles"]))


def label_of(name):
    """As name_of(), by the size of the document."""
    kind, triangles = name.split("-")
    return f"{LABELS.get(kind, kind)} of {int(triangles):,}"


def stage(scheme, *names):
    """Until version 0.6 a search had two stages."""
    if "traversal" in scheme["milliseconds"] and "search" in names:
        names = [name for name in names if name != "search"] + ["traversal", "elementary"]
    return sum(scheme["milliseconds"][name] for name in names)


def added(first, second):
    """The sum of two figures of the document; "<0.01" counts as nothing."""
    return first if first is None or isinstance(second, str) else round(first + second, 2)


def stage_rows(results, which):
    """Tables 6.2 and 6.3."""
    rows = []
    for result in results:
        _, animation, label = name_of(result)
        ours = schemes_of(result)[which]
        theirs = CPU_STAGES[which].get(animation, (None,) * 6)
        boundary = None if not result["holes"] else stage(ours, "boundary")
        rows.append([label, show(stage(ours, "bounds")), beside(stage(ours, "view"), theirs[0]),
                     beside(boundary, theirs[1]), beside(stage(ours, "marks"), theirs[2]),
                     beside(stage(ours, "search"), added(theirs[3], theirs[4])),
                     show(stage(ours, "others")),
                     beside(ours["total"], theirs[5])])
    return rows


def comparison_rows(results):
    """Table 6.4."""
    rows = []
    for result in results:
        _, animation, label = name_of(result)
        ours = schemes_of(result)
        theirs = COMPLETE.get(animation, (None, None))
        row = [label] + [show(ours[scheme]["total"] if scheme in ours else None) + ("" if one is None else " (%g)" % one)
                         for scheme, one in zip(("boxes", "complete"), theirs)]
        row.append(show(ours["sweep"]["total"]))
        for which in ("point", "line"):
            total = CPU_STAGES[which].get(animation, (None,) * 6)[5]
            row.append(beside(ours[which]["total"], total))
        row.append(show(ours["auto"]["total"]))
        row += [show(ours[which]["ratio_to_sweep"], 1) for which in ("point", "line", "auto")]
        rows.append(row)
    return rows


def companion_rows(results, companions):
    by_name = {name_of(result)[0]: result for result in results}
    rows = []
    for result in companions:
        name, _, label = name_of(result)
        for whose, one in (("its own", by_name.get(name)), ("the rod's", result)):
            if not one:
                continue
            ours = schemes_of(one)["line"]
            rows.append([label, whose] + [show(ours["sets"][k], 0) for k in
                                          ("negative", "grazing", "violated")] +
                        [show(ours["total"])])
    return rows


def boundary_rows(results, devices):
    """Tables 6.10 and 6.11."""
    rows = []
    for where, list_of, document in (("CPU", results, CPU_BOUNDARY),
                                     ("device", devices, GPU_BOUNDARY)):
        for result in list_of:
            _, animation, label = name_of(result)
            if not result["holes"]:
                continue
            row = [label, where]
            for which, side in (("line", 0), ("inexact", 1)):
                ours = schemes_of(result)[which]
                theirs = document.get(animation, ((None,) * 4,) * 2)[side]
                if len(theirs) == 3:
                    theirs = (theirs[0], None, theirs[1], theirs[2])
                row += [beside(stage(ours, "boundary"), theirs[0]),
                        beside(ours["sets"]["violated"], theirs[1], 0),
                        beside(stage(ours, "search"), theirs[2]),
                        beside(ours["total"], theirs[3])]
            rows.append(row)
    return rows


def device_rows(devices, which):
    """Tables 6.6 and 6.7."""
    rows = []
    for result in devices:
        _, animation, label = name_of(result)
        ours = schemes_of(result)[which]
        theirs = GPU_STAGES[which].get(animation, (None,) * 6)
        boundary = None if not result["holes"] else stage(ours, "bounds", "boundary")
        search = None if theirs[2] is None else round(theirs[2] + theirs[3], 2)
        rows.append([label, beside(stage(ours, "view"), theirs[0]), beside(boundary, theirs[1]),
                     beside(stage(ours, "search"), search),
                     beside(stage(ours, "marks", "others"), theirs[4]),
                     beside(ours["total"], theirs[5]), show(schemes_of(result)["auto"]["total"]),
                     show(schemes_of(result)["sweep"]["total"])])
    return rows


def speed_rows(results, devices, which):
    """Tables 6.8 and 6.9, if both were run on the same steps."""
    def steps(result):
        return [name_of(result)[0]] + [result[key] for key in ("from", "to", "every")]

    rows = []
    for result in devices:
        _, animation, label = name_of(result)
        same = [other for other in results if steps(other) == steps(result)]
        if not same:
            continue
        cpu, device = schemes_of(same[0]), schemes_of(result)
        theirs = SPEED_UPS[which].get(animation, (None,) * 5)

        def ratio(*names):
            mine = stage(device[which], *names)
            return stage(cpu[which], *names) / mine if mine > 0 else None

        quickest = min(cpu[k]["total"] for k in ("point", "line", "auto"))
        rows.append([label, beside(ratio("view"), theirs[0], 1),
                     beside(ratio("bounds", "boundary") if result["holes"] else None, theirs[1], 1),
                     beside(ratio("search"), theirs[2], 1),
                     beside(cpu[which]["total"] / device[which]["total"], theirs[4], 1),
                     show(quickest / device["auto"]["total"], 1)])
    return rows


def region_rows(results):
    """Table 6.13."""
    rows = []
    for result in results:
        _, animation, label = name_of(result)
        ours, theirs = schemes_of(result)["line"].get("regions"), REGIONS.get(animation, (None,) * 5)
        if ours:
            rows.append([label] + [beside(ours[k], theirs[i], 0 if i < 3 else 1) for i, k in
                                   enumerate(("before", "beyond", "beside", "before_beside",
                                              "beyond_beside"))])
    return rows


def change_rows(results):
    """Table 6.17."""
    rows = []
    for result in results:
        _, animation, label = name_of(result)
        ours, theirs = schemes_of(result)["line"], CHANGES.get(animation, (None,) * 8)
        names = ("positive", "negative", "grazing", "violated")
        entered, left = [[ours[way][k] for k in names] for way in ("entered", "left")]
        rows.append([label] + [beside(entered[k], theirs[k], 0) for k in range(4)] +
                    [beside(left[k], theirs[4 + k], 0) for k in range(3)] + [show(left[3], 0)] +
                    [beside(sum(entered) + sum(left), theirs[7], 0)])
    return rows


def words_on(results, devices):
    steps = sum(result["steps_that_count"] for result in results)
    looked = sum(result["steps"] for result in results + devices)
    hits = sum(result["schemes"][0]["hits"] for result in results)
    differ = sum(scheme["differ"] for result in results + devices for scheme in result["schemes"])
    lines = ["Means of %d steps of %d recordings, %s." %
             (steps, len(results), "; ".join("%s: frames %d to %d" % (
                 name_of(r)[2], r["from"], r["to"]) for r in results))]
    lines.append("%d steps were searched by every scheme, %d of those on the CPU with an impact; "
                 "%s." % (looked, hits, "all gave the same answers" if not differ else
                          "%d answers differ" % differ))
    return [" ".join(lines), ""]


def pages(results, companions, devices):
    stages = ["recording", "bounds", "view tests", "boundary", "marks", "search", "others",
              "total"]
    text = words_on(results, devices)
    for number, which in (("6.2", "point"), ("6.3", "line")):
        text += titled("Table %s, the view-%s on one thread, ms:" % (number, which), stages,
                      stage_rows(results, which))
    text += titled("Table 6.4, one thread, ms, and how many times as fast:",
                  ["recording", "boxes", "16-DOPs", "sweep", "view-point", "view-line", "`AUTO`",
                   "point, to sweep", "line", "`AUTO`"],
                  comparison_rows(results))
    text += titled("The view-line along the mesh, and along its companion:",
                  ["recording", "line", "V-", "V0", "Vv", "total, ms"],
                  companion_rows(results, companions))
    if devices:
        text += ["On %s:" % devices[0]["device"], ""]
    for number, which in (("6.6", "point"), ("6.7", "line")):
        text += titled("Table %s, the view-%s on the device, ms:" % (number, which),
                      ["recording", "view tests", "boundary", "search", "others", "total",
                       "`AUTO`", "all pairs"], device_rows(devices, which))
    for number, which in (("6.8", "point"), ("6.9", "line")):
        text += titled("Table %s, the view-%s, times as fast as on one thread:" % (number, which),
                      ["recording", "view tests", "boundary", "search", "total",
                       "`AUTO` to the quickest"], speed_rows(results, devices, which))
    text += titled("Tables 6.10 and 6.11, boundaries by sweeps, and by bounds alone; with the line, "
                  "ms:", ["recording", "on", "boundary", "violated", "search", "total",
                          "by bounds: boundary", "violated", "search", "total"],
                  boundary_rows(results, devices))
    text += titled("Table 6.13, vertices by where the line sees them from:",
                  ["recording", "before", "beyond", "beside", "before and beside",
                   "beyond and beside"], region_rows(results))
    text += titled("Table 6.17, triangles that change their set in a step (line):",
                  ["recording", "to V+", "to V-", "to V0", "to Vv", "from V+", "from V-",
                   "from V0", "from Vv", "both together"], change_rows(results))
    return text


def split(kept):
    """Searches on one thread, along the companion's line, and on a device."""
    runs, there = kept["cpu"]["runs"], kept.get("device", {}).get("runs", {})
    order = [name for name, *_ in RECORDINGS]
    return ([runs[name] for name in order if name in runs],
            [runs[key] for key in (name + ".companion" for name in order) if key in runs],
            [there[name] for name in order if name in there])


def write(kept, docs):
    if any("traversal" in scheme["milliseconds"] for run in kept["cpu"]["runs"].values() for scheme in run["schemes"]):
        return  # results of version 0.6: the page has them, with the columns of that version
    lines = pages(*split(kept))
    if "note" in kept["cpu"]:
        lines = [kept["cpu"]["note"], ""] + lines
    put_between(docs / "self.md", "tables", ["", *lines])


# ---- the page of docs/reproduce ----

def total(result, scheme):
    return schemes_of(result)[scheme]["total"] if result and scheme in schemes_of(result) else None


def page(kept):
    cpu, _, devices = split(kept)
    by_name, there = {name_of(r)[0]: r for r in cpu}, {name_of(r)[0]: r for r in devices}
    replay, demo = "abut replay RECORDING --scheme all", "abut demo"
    slower, below_boxes, below_dops = [], [], []
    rows = [Row("figures 1.1, 3.1 to 3.14, 4.1 to 4.4, 5.1 to 5.8, 7.1, table 5.1: definitions, GPUs", "diagrams without a result"),
            Row("table 6.1: triangles of the cloth", reproduced(f"{demo} SCENE --triangles N --record FILE"),
                "; ".join(f"{triangles // 1000}K" for _, _, triangles, *_ in RECORDINGS), None,
                "; ".join(f"{by_name[name]['triangles']:,}" for name, *_ in RECORDINGS))]
    for number, (name, words, triangles, solid, animation, _) in enumerate(RECORDINGS, 1):
        rows.append(Row(f"figure 6.{number}: animation {animation}", reproduced(
            f"{demo} {words} --triangles {triangles} --solid {solid} --png film.png")))
    rows += [Row("figure 6.7: animations one and two in wireframe", "`abut demo ball --html page.html` shows edges"),
             Row("figures 6.8 to 6.10: ghost triangles", reproduced("abut replay RECORDING ghosts.png --picture N --scheme line"))]
    for table_name, which in (("table 6.2, view-point on one thread", "point"), ("table 6.3, view-line on one thread", "line")):
        for name, _, triangles, _, animation, _ in RECORDINGS:
            ours, theirs = total(by_name[name], which), CPU_STAGES[which][animation][5]
            slower += [f"{name_of(by_name[name])[2]}, view-{which}: {ours:.3g} ms instead of {theirs:.3g}"] if ours > theirs else []
            rows.append(Row(f"{table_name}: animation {animation}", reproduced(replay), theirs, total(by_name[name], "sweep"), ours))
    for name, *_, animation, _ in RECORDINGS:
        removed = kept["0.6"]["totals"][name]  # searches by AABB and by 16-DOPs, and marks, which 0.7 does not have
        for words, scheme, theirs, below in (("AABB", "boxes", COMPLETE[animation][0], below_boxes),
                                             ("16-DOPs", "complete", COMPLETE[animation][1], below_dops)):
            ratio = theirs / min(CPU_STAGES[which][animation][5] for which in ("point", "line"))
            ours = removed[scheme] / removed["best"]
            if ours < ratio:
                below.append(f"{label_of(name)}: {ours:.3g} instead of {ratio:.3g}")
            rows.append(Row(f"table 6.4, all pairs by {words}, then point or line: animation {animation}",
                            "all of version 0.6; the baseline was removed in 0.7", theirs, removed[scheme], removed["best"], None,
                            f"{ours:.3g} (baseline), thesis {ratio:.3g}"))
        rows.append(Row(f"table 6.4, ICCD: animation {animation}", "not reproduced: no program is available", ICCD[animation]))
    rows.append(Row("table 6.5: initial history nodes", "not reproduced: abut keeps no lists of nodes"))
    for table_name, which in (("table 6.6, view-point on a device", "point"), ("table 6.7, view-line on a device", "line")):
        for name, *_, animation, _ in RECORDINGS:
            rows.append(Row(f"{table_name}: animation {animation}", reproduced(f"{replay} --device gpu"), GPU_STAGES[which][animation][5],
                            None, None, total(there.get(name), which)))
    for table_name, which in (("table 6.8, speed-up, view-point", "point"), ("table 6.9, speed-up, view-line", "line")):
        for name, *_, animation, _ in RECORDINGS:
            device = total(there.get(name), which)
            rows.append(Row(f"{table_name}: animation {animation}", "totals of the tables before", f"{SPEED_UPS[which][animation][4]} times",
                            None, None, f"{times(total(by_name[name], which), device)} times" if device else None))
    for name, *_, animation, _ in RECORDINGS:
        if animation in CPU_BOUNDARY:
            for words, which, side in (("exact", "line", 0), ("inexact", "inexact", 1)):
                rows.append(Row(f"tables 6.10, 6.11, boundary {words}: animation {animation}", reproduced(replay),
                                f"{show(CPU_BOUNDARY[animation][side][3])} ms CPU, {show(GPU_BOUNDARY[animation][side][2])} ms GPU",
                                None, total(by_name[name], which), total(there.get(name), which)))
    rows.append(Row("table 6.12: traversal with and without history nodes", "not reproduced: abut keeps no lists of nodes"))
    for name, *_, animation, _ in RECORDINGS:
        regions = schemes_of(by_name[name])["line"].get("regions")
        rows.append(Row(f"table 6.13, vertices in R0, R1, R2: animation {animation}", reproduced(replay),
                        ", ".join(f"{n:,}" for n in REGIONS[animation][:3]), None,
                        ", ".join(f"{regions[k]:,.0f}" for k in ("before", "beyond", "beside")) if regions else None))
    rows += [Row("tables 6.14, 6.15: clusters", "[measured once](../self.md#measured): no gain, and removed"),
             *(Row(f"table 6.16, marking all nodes: animation {animation}", "version 0.6, removed in 0.7", MARKING[animation],
                   None, kept["0.6"]["totals"][name]["marking"]) for name, *_, animation, _ in RECORDINGS)]
    for name, *_, animation, _ in RECORDINGS:
        ours = schemes_of(by_name[name])["line"]
        rows.append(Row(f"table 6.17, changes of sets in a step: animation {animation}", reproduced(replay),
                        f"{CHANGES[animation][7]}", None, f"{sum(ours['entered'].values()) + sum(ours['left'].values()):,.0f}"))
    rows += [Row("table 6.18: ghosts without a vertex", "not reproduced: abut implements only ghosts with a vertex"),
             Row("figures 6.11, 6.12: sizes of view sets", reproduced("abut replay RECORDING --scheme line --png sets.png")),
             Row("figure 6.13: negative triangles, point and line", "not in one plot; the plots before have both")]
    weaker = ["Columns of two cores are times of one thread, as in the thesis. The baseline of tables 6.2 and 6.3 is our own complete "
              "search, which the thesis does not have."]
    if slower:
        weaker.insert(0, f"Slower than the thesis on one thread, despite newer hardware: {'; '.join(slower)}.")
    if below_boxes or below_dops:
        weaker.insert(0, f"The gain over complete searches is smaller than claimed. AABB: {'; '.join(below_boxes)}. "
                         f"16-DOPs: {'; '.join(below_dops)}.")
    worse = [f"{name_of(r)[2]} ({total(r, 'sweep') / min(total(r, 'point'), total(r, 'line')):.2g} times as fast)" for r in cpu
             if total(r, "sweep") < min(total(r, "point"), total(r, "line"))]
    if worse:
        weaker.insert(0, f"View-based culling is slower than our own complete search for: {'; '.join(worse)}.")
    weaker += ["The sleeve is another animation: his deforms slightly, ours ties a knot. Ghost triangles cannot be drawn.",
               "On a device abut 0.7 always searches completely by default, since culling gains at most 1.45 times."]
    return weaker, rows
