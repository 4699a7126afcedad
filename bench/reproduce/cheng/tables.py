"""Cheng 2011, chapter 6: `abut replay` and `abut-cheng` over recordings of our own version of the six animations.

Renews the tables of docs/self.md. Recordings are made by `abut demo`, and kept in the folder recordings of the build.
With --small they have a quarter of the triangles, at most 12,000: these need no GPU.
"""
import concurrent.futures
import json
import os
import subprocess
import sys

from common import Row, fill, reproduced, times
from report import put_between, run_json, table

WORK = {
    "name": "Cheng 2011",
    "authors": "Yu-Chun Cheng",
    "title": "View-based Continuous Self-Collision Detection with Graphics Hardware Acceleration",
    "year": 2011,
    "links": "[self-collision](../self.md#measured) has the complete tables",
    "hardware": "a Core i7 870 at 2.93 GHz with a GeForce GTX 480",
}
FRAMES, SAMPLES = 480, 24  # of each recording; --small has twice as many samples
SMALL = 12000  # triangles
REPEATS = 3  # of searches on one thread: each stage of a step counts with its minimum
# Name, words of `abut demo`, triangles of the cloth and of the solid, animation and its frames in the document.
RECORDINGS = [
    ("ball-12000", "ball", 12000, 40000, "one", 1176),
    ("ball-49000", "ball", 49000, 40000, "two", 721),
    ("wind-50000", "dress --wind", 50000, 34000, "three", 1167),
    ("dress-50000", "dress", 50000, 34000, "four", 971),
    ("sleeve-76000", "sleeve --slight", 76000, 19200, "five", 1568),
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
# 6.5: traversal in the beginning; 6.12: without history nodes, restarted from the root, and from initial history nodes
INITIAL = {"one": 3.2, "two": 12.4, "three": 15.35, "four": 15.34, "five": 22.15, "six": 21.09}
HISTORY = {"one": (0.66, 0.23, 0.19), "two": (1.93, 0.72, 0.64), "three": (3.05, 1.05, 0.88), "four": (2.25, 0.77, 0.62),
           "five": (2.31, 0.73, 0.6), "six": (2.85, 0.86, 0.76)}
# 6.14: vertices, clusters; 6.15: view tests without and with them
CLUSTERS = {"one": (26148, 3256), "two": (44580, 13048), "three": (42330, 10970), "four": (42330, 10970), "five": (48240, 19200),
            "six": (73125, 20100)}
CLUSTER_TESTS = {"one": (1.18, 1.11), "two": (4.65, 4.36), "three": (4.76, 4.43), "four": (4.75, 4.45), "five": (6.77, 6.17),
                 "six": (7.13, 6.33)}
# 6.18: boundary handling on the CPU with and without a ghost vertex
GHOSTS = {"three": (4.24, 28.3), "four": (2.22, 14.7), "five": (0.54, 2.92), "six": (7.37, 16.8)}
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


def replay_lines(command):
    """Stages in seconds of each counted step of a scheme."""
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, check=False)
    if done.returncode not in (0, 3):  # 3: something was hit
        raise SystemExit(f"{' '.join(map(str, command))} ended with {done.returncode}")
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return {(line["scheme"], line["frame"]): line for line in lines if line["counts"]}


def take_minima(found, runs):
    """Replaces means of one run by means of the minima of several."""
    for scheme in found["schemes"]:
        steps = [key for key in runs[0] if key[0] == scheme["scheme"]]
        for stage_name in scheme["milliseconds"]:
            minima = [min(run[key][stage_name] for run in runs) for key in steps]
            scheme["milliseconds"][stage_name] = 1e3 * sum(minima) / len(minima)
        scheme["total"] = sum(value for name, value in scheme["milliseconds"].items() if name != "start")
        scheme["ratio_to_sweep"] = found["schemes"][0]["total"] / scheme["total"]


def search(context, path, every, *more, repeats=0):
    """Searches a recording; returns what the tables need."""
    command = [context.tool, "replay", path, "--scheme", "all", "--json", "--quiet", "--every", every, *more]
    found = run_json([*command, "--summary"], accept=(0, 3))
    if repeats:
        take_minima(found, [replay_lines(command) for _ in range(repeats)])
    schemes = [{key: rounded(scheme[key]) for key in SCHEME_KEYS if key in scheme} for scheme in found["schemes"]]
    result = {**{key: rounded(found[key]) for key in RESULT_KEYS}, "schemes": schemes}
    return {**result, "recording": os.path.basename(result["recording"])}


def search_by_baselines(context, path, every):
    """Ours beside the complete searches and ICCD, in turns, and parts of the thesis that abut does not have."""
    found = run_json([context.build / "abut-cheng", path, "--every", every, "--history", 4 if context.quick else 50])
    return rounded(found)


def record(context, folder, name, words, triangles, solid, frames):
    """Makes a recording, unless there is one; returns its path."""
    path = folder / f"{name}.abutm"
    if not path.exists():
        print(f"recording {frames} frames of {path}", file=sys.stderr)
        part = path.with_suffix(".part.abutm")
        context.abut("demo", *words.split(), "--triangles", triangles, "--solid", solid, "--frames", frames,
                     "--record", part, *(["--device", context.device] if context.device else []), accept=(0, 3))
        part.rename(path)
    return path


def size_of(context, words, triangles, solid):
    """Triangles of the cloth and of the solid, and frames."""
    if context.quick:
        return 300, 8000 if "dress" in words else 200, 4
    return (min(triangles // 4, SMALL), solid // 4, FRAMES) if context.small else (triangles, solid, FRAMES)


def measure(context, kept):
    folder = context.scratch if context.quick else context.build / "recordings" / ("small" if context.small else "full")
    folder.mkdir(parents=True, exist_ok=True)
    every = 2 if context.quick else FRAMES // (2 * SAMPLES if context.small else SAMPLES)
    repeats = 1 if context.quick else REPEATS
    paths = {name: record(context, folder, name, words, *size_of(context, words, triangles, solid))
             for name, words, triangles, solid, *_ in RECORDINGS}
    runs, baselines = (kept["cpu"].setdefault(key, {}) for key in ("runs", "baselines"))
    with concurrent.futures.ThreadPoolExecutor(max_workers=max(1, min(6, (os.cpu_count() or 1) // 2))) as pool:
        jobs = [(runs, name, pool.submit(search, context, path, every, "--threads", 1, repeats=repeats)) for name, path in paths.items()]
        jobs += [(runs, name + ".companion", pool.submit(search, context, path, every, "--threads", 1, "--line", "companion",
                                                         repeats=repeats)) for name, path in paths.items() if "sleeve" in name]
        jobs += [(baselines, name, pool.submit(search_by_baselines, context, path, every)) for name, path in paths.items()]
        for results, name, job in jobs:
            results[name] = job.result()
    size = (f"with a quarter of the triangles, at most {SMALL:,}: `--small`." if context.small else "at full size.")
    kept["cpu"]["note"] = ("One thread; a few frames of tiny recordings: `--quick`." if context.quick else
                           f"One thread; the first {FRAMES} frames of each recording, {size}")
    return paths, every


def measure_device(context, kept):
    paths, every = measure(context, kept)
    there = kept["device"].setdefault("runs", {})
    for name, path in paths.items():
        there[name] = search(context, path, every, "--device", context.device)
    if not context.quick and not context.small:
        kept.pop("0.6", None)
        kept["device"].pop("note", None)


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


def comparison_rows(results, baselines):
    """Table 6.4."""
    rows = []
    for result in results:
        name, animation, label = name_of(result)
        if name not in baselines:
            continue
        ours, thesis = baselines[name]["milliseconds"], (*COMPLETE[animation], ICCD[animation])
        views = [CPU_STAGES[which][animation][5] for which in ("point", "line")]
        best = min(ours["point"], ours["line"])
        rows.append([label, *(f"{show(ours[key])} ({value:g})" for key, value in zip(("boxes", "dops", "iccd"), thesis)),
                     show(ours["sweep"]), *(beside(ours[key], value) for key, value in zip(("point", "line"), views)),
                     show(ours["auto"]), *(beside(ours[key] / best, f"{value / min(views):.1f}", 1)
                                           for key, value in zip(("boxes", "dops", "iccd"), thesis)),
                     show(ours["sweep"] / best, 1)])
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
                     show(schemes_of(result).get("complete", schemes_of(result)["sweep"])["total"])])  # 0.6: its own search
    return rows


def steps_of(result):
    return [name_of(result)[0]] + [result[key] for key in ("triangles", "from", "to", "every")]


def same_steps(result, results):
    """The search of the same steps, or None."""
    return next((other for other in results if steps_of(other) == steps_of(result)), None)


def speed_rows(results, devices, which):
    """Tables 6.8 and 6.9, if both were run on the same steps."""
    rows = []
    for result in devices:
        _, animation, label = name_of(result)
        same = same_steps(result, results)
        if not same:
            continue
        cpu, device = schemes_of(same), schemes_of(result)
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


def pages(results, companions, devices, old, baselines):
    stages = ["recording", "bounds", "view tests", "boundary", "marks", "search", "others",
              "total"]
    text = words_on(results, devices)
    for number, which in (("6.2", "point"), ("6.3", "line")):
        text += titled("Table %s, the view-%s on one thread, ms:" % (number, which), stages,
                      stage_rows(results, which))
    text += titled("Table 6.4, one thread, ms of processor time, and how many times as fast the faster view primitive is:",
                  ["recording", "boxes", "16-DOPs", "ICCD", "sweep", "view-point", "view-line", "`AUTO`", "than boxes", "than 16-DOPs",
                   "than ICCD", "than sweep"], comparison_rows(results, baselines))
    text += titled("The view-line along the mesh, and along its companion:",
                  ["recording", "line", "V-", "V0", "Vv", "total, ms"],
                  companion_rows(results, companions))
    if devices:
        text += ["On %s%s:" % (devices[0]["device"], ", version 0.6" if old else ""), ""]
    for number, which in (("6.6", "point"), ("6.7", "line")):
        text += titled("Table %s, the view-%s on the device, ms:" % (number, which),
                      ["recording", "view tests", "boundary", "search", "others", "total",
                       "`AUTO`", "all pairs"], device_rows(devices, which))
    for number, which in (("6.8", "point"), ("6.9", "line")):
        text += titled("Table %s, the view-%s, times as fast as on one thread:" % (number, which),
                      ["recording", "view tests", "boundary", "search", "total",
                       "`AUTO` to the quickest"], speed_rows(results + old, devices, which))
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
    """Searches on one thread, along the companion's line, on a device, and on one thread at full size by version 0.6."""
    runs, there, old = kept["cpu"]["runs"], kept.get("device", {}).get("runs", {}), kept.get("0.6", {}).get("runs", {})
    order = [name for name, *_ in RECORDINGS]
    return ([runs[name] for name in order if name in runs],
            [runs[key] for key in (name + ".companion" for name in order) if key in runs],
            [there[name] for name in order if name in there], [old[name] for name in order if name in old])


def write(kept, docs):
    lines = pages(*split(kept), kept["cpu"]["baselines"])
    notes = [f"{kept['cpu']['machine']}: {kept['cpu']['note']}"] + ([kept["device"]["note"]] if "note" in kept.get("device", {}) else [])
    put_between(docs / "self.md", "tables", ["", *fill(" ".join(notes)), "", *lines])


# ---- the page of docs/reproduce ----

def total(result, scheme):
    return schemes_of(result)[scheme]["total"] if result and scheme in schemes_of(result) else None


def positive(value):
    return value if value and value > 0 else None


def in_ms(*values):
    """Times as text; none if they are 0."""
    return ", ".join(f"{value:.2g}" for value in values) + " ms" if all(values) else "none"


def page(kept):
    cpu, _, devices, old = split(kept)
    by_name, there, baselines = {name_of(r)[0]: r for r in cpu}, {name_of(r)[0]: r for r in devices}, kept["cpu"]["baselines"]
    replay, demo, rival = "abut replay RECORDING --scheme all", "abut demo", reproduced("abut-cheng RECORDING")

    def of(name):
        """The animation, and its size here if it is not that of the document."""
        ours, theirs = by_name[name]["triangles"], int(name.split("-")[1])
        return f"animation {ANIMATIONS[name]}" + (f", {ours:,} triangles" if abs(ours - theirs) > 0.1 * theirs else "")

    def on_device(name, which):
        """The time of the device, with the size of its recording if that is another one."""
        value, triangles = total(there.get(name), which), there.get(name, by_name[name])["triangles"]
        return value if triangles == by_name[name]["triangles"] or value is None else f"{show(value)} ms, {triangles:,} triangles"

    def is_full(name):
        return "triangles" not in of(name)

    slower, below = [], {"AABB": [], "16-DOPs": [], "ICCD": []}
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
        for name, *_, animation, _ in RECORDINGS:
            ours, theirs = baselines[name]["milliseconds"][which], CPU_STAGES[which][animation][5]
            if is_full(name) and ours > theirs:
                slower.append(f"{name_of(by_name[name])[2]}, view-{which}: {ours:.3g} ms instead of {theirs:.3g}")
            rows.append(Row(f"{table_name}: {of(name)}", rival, theirs, baselines[name]["milliseconds"]["sweep"], ours))
    for name, *_, animation, _ in RECORDINGS:
        found = baselines[name]["milliseconds"]
        ours, thesis = (min(times_of) for times_of in (
            (found["point"], found["line"]), [CPU_STAGES[which][animation][5] for which in ("point", "line")]))
        for words, key, theirs in (("AABB", "boxes", COMPLETE[animation][0]), ("16-DOPs", "dops", COMPLETE[animation][1]),
                                   ("ICCD", "iccd", ICCD[animation])):
            if found[key] / ours < theirs / thesis:
                below[words].append(f"{name_of(by_name[name])[2]}: {found[key] / ours:.3g} instead of {theirs / thesis:.3g}")
            what = "ICCD" if words == "ICCD" else f"all pairs by {words}"
            rows.append(Row(f"table 6.4, {what}, then point or line: {of(name)}", rival, theirs, found[key], ours, None,
                            f"{found[key] / ours:.3g} (baseline), thesis {theirs / thesis:.3g}"))
    for name, *_, animation, _ in RECORDINGS:
        history = baselines[name]["history"]
        rows.append(Row(f"table 6.5, initial history nodes: {of(name)}", rival, INITIAL[animation], positive(history["initial_milliseconds"]),
                        f"none needed; baseline: {history['initial_nodes']:,} nodes", None, "no lists"))
    for table_name, which in (("table 6.6, view-point on a device", "point"), ("table 6.7, view-line on a device", "line")):
        for name, *_, animation, _ in RECORDINGS:
            rows.append(Row(f"{table_name}: animation {animation}", reproduced(f"{replay} --device gpu"), GPU_STAGES[which][animation][5],
                            None, None, total(there.get(name), which)))
    for table_name, which in (("table 6.8, speed-up, view-point", "point"), ("table 6.9, speed-up, view-line", "line")):
        for name, *_, animation, _ in RECORDINGS:
            same = same_steps(there[name], cpu + old) if name in there else None
            rows.append(Row(f"{table_name}: animation {animation}", "totals of the same steps" + (", version 0.6" if same in old else ""),
                            f"{SPEED_UPS[which][animation][4]} times", None, None,
                            f"{times(total(same, which), total(there[name], which))} times" if same else None))
    for name, *_, animation, _ in RECORDINGS:
        if animation in CPU_BOUNDARY:
            for words, which, side in (("exact", "line", 0), ("inexact", "inexact", 1)):
                rows.append(Row(f"tables 6.10, 6.11, boundary {words}: {of(name)}", reproduced(replay),
                                f"{show(CPU_BOUNDARY[animation][side][3])} ms CPU, {show(GPU_BOUNDARY[animation][side][2])} ms GPU",
                                None, total(by_name[name], which), on_device(name, which)))
    for name, *_, animation, _ in RECORDINGS:
        history, kinds = baselines[name]["history"], ("without", "root", "initial")
        rows.append(Row(f"table 6.12, traversal without history nodes, restarted from the root, and from initial ones: {of(name)}", rival,
                        ", ".join(f"{value:g}" for value in HISTORY[animation]) + " ms",
                        ", ".join(f"{history[kind]['tests']:,.0f}" for kind in kinds) + " overlap tests",
                        f"no lists; search: {in_ms(schemes_of(by_name[name])['line']['milliseconds']['search'])}"))
    for name, *_, animation, _ in RECORDINGS:
        regions = schemes_of(by_name[name])["line"].get("regions")
        rows.append(Row(f"table 6.13, vertices in R0, R1, R2: {of(name)}", reproduced(replay),
                        ", ".join(f"{n:,}" for n in REGIONS[animation][:3]), None,
                        ", ".join(f"{regions[k]:,.0f}" for k in ("before", "beyond", "beside")) if regions else None))
    for name, *_, animation, _ in RECORDINGS:
        found, view = baselines[name]["clusters"], schemes_of(by_name[name])["line"]["milliseconds"]["view"]
        rows.append(Row(f"table 6.14, clusters of vertices: {of(name)}", rival, "{1:,} of {0:,}".format(*CLUSTERS[animation]),
                        f"{found['count']:,} of {found['vertices']:,}", "no clusters"))
        rows.append(Row(f"table 6.15, view tests without and with clusters: {of(name)}", rival,
                        "{:g}, {:g} ms".format(*CLUSTER_TESTS[animation]), in_ms(found["without"], found["with"]), f"without: {in_ms(view)}"))
    for name, *_, animation, _ in RECORDINGS:
        rows.append(Row(f"table 6.16, marking all nodes: {of(name)}", f"{rival}; ours counts sets", MARKING[animation],
                        positive(baselines[name]["marking"]), positive(schemes_of(by_name[name])["line"]["milliseconds"]["marks"])))
    for name, *_, animation, _ in RECORDINGS:
        ours = schemes_of(by_name[name])["line"]
        rows.append(Row(f"table 6.17, changes of sets in a step: {of(name)}", reproduced(replay),
                        f"{CHANGES[animation][7]}", None, f"{sum(ours['entered'].values()) + sum(ours['left'].values()):,.0f}"))
    for name, *_, animation, _ in RECORDINGS:
        if animation in GHOSTS:
            found = baselines[name]["ghosts"]
            rows.append(Row(f"table 6.18, boundary with and without a ghost vertex: {of(name)}", rival,
                            "{:g}, {:g} ms".format(*GHOSTS[animation]),
                            in_ms(*(found[key]["milliseconds"] for key in ("with", "without"))),
                            f"with: {in_ms(schemes_of(by_name[name])['line']['milliseconds']['boundary'])}"))
    rows += [Row("figures 6.11, 6.12: sizes of view sets", reproduced("abut replay RECORDING --scheme line --png sets.png")),
             Row("figure 6.13: negative triangles, point and line", reproduced("abut replay RECORDING --scheme all --png sets.png"))]
    return weaker_points(kept, slower, below), rows


def span(values):
    values = sorted(values)
    return f"{values[0]:.2g} to {values[-1]:.2g}"


def weaker_points(kept, slower, below):
    """Where abut is slower or weaker than the document."""
    found = {name: kept["cpu"]["baselines"][name]["milliseconds"] for name, *_ in RECORDINGS}
    worse = [f"animation {ANIMATIONS[name]} ({ms['sweep'] / min(ms['point'], ms['line']):.2g} times as fast)"
             for name, ms in found.items() if ms["sweep"] < min(ms["point"], ms["line"])]
    weaker = [f"View-based culling is slower than our own complete search for: {'; '.join(worse)}."] if worse else []
    behind = [f"animation {ANIMATIONS[name]} ({ms['iccd'] / min(ms['point'], ms['line']):.2g} times as fast)"
              for name, ms in found.items() if ms["iccd"] < min(ms["point"], ms["line"])]
    weaker += [f"View-based culling is slower than ICCD for: {'; '.join(behind)}."] if behind else []
    ahead = [f"animation {ANIMATIONS[name]} ({ms['iccd']:.3g} instead of {ms['sweep']:.3g} ms)" for name, ms in found.items()
             if ms["iccd"] < ms["sweep"]]
    weaker += [f"ICCD, without SIMD, is faster than our complete search for: {'; '.join(ahead)}."] if ahead else []
    weaker += [f"The gain over {words} is smaller than claimed for: {'; '.join(list_of)}." for words, list_of in below.items() if list_of]
    if slower:
        weaker.append(f"Slower than the thesis on one thread, despite newer hardware: {'; '.join(slower)}.")
    weaker += [f"{kept['cpu']['note']} The columns *baseline here* and *ours on 2 cores* are of one thread, as in the thesis. The "
               "baseline of tables 6.2 and 6.3 is our own complete search, which the thesis does not have. Tables 6.2 to 6.4 are "
               "processor times of one run, of searches in turns; [the stages](../self.md#measured) are elapsed times of another.",
               "ICCD is reconstructed from its publication: no program of its authors was compared. Its contour test is another "
               f"one: see `bench/reproduce/cheng/iccd.c`. It is {span(ms['dops'] / ms['iccd'] for ms in found.values())} times as fast "
               f"as 16-DOPs here, {span(COMPLETE[name][1] / ICCD[name] for name in COMPLETE)} times in the thesis.",
               "The baselines are plain: no SIMD, no tuning."]
    if "--small" in kept["cpu"]["note"]:
        weaker.append("Ratios are of meshes with fewer triangles than those of the thesis.")
    if "0.6" in kept:
        weaker.append("Results on the device, and tables 6.8 and 6.9, are of version 0.6, at full size, and of a sleeve that ties a knot. "
                      "On one thread animation five is `abut demo sleeve --slight`, which deforms slightly, as in the thesis.")
    there = [schemes_of(result) for result in kept.get("device", {}).get("runs", {}).values()] if "0.6" not in kept else []
    if there:
        totals = {words: span(run[which]["total"] for run in there for which in keys) for words, keys in
                  (("views", ("point", "line")), ("auto", ("auto",)), ("sweep", ("sweep",)))}
        weaker.append(f"On a device views take {totals['views']} ms, more than in the thesis, since view tests and boundaries run on the host; "
                      f"our complete search takes {totals['sweep']} ms. So `AUTO` searches completely there, in {totals['auto']} ms, less than "
                      "the thesis takes. Version 0.6 had kernels for both: 0.28 to 1.23 ms, at most 1.45 times as fast as its complete search.")
    return weaker
