#!/usr/bin/env python3
"""The tables of docs/self.md: `abut replay` over recorded cloth, beside Cheng 2011, chapter 6.

    python3 bench/reproduce/cheng/tables.py run build/release/abut RECORDINGS RESULTS.json [--device gpu]
    python3 bench/reproduce/cheng/tables.py write RESULTS.json docs/self.md

`run` searches samples of the recordings (made by `abut demo` where they are missing), on one thread
and, with --device, on a device too, and keeps what the tables need in RESULTS.json. `write` turns
this into tables, between the two marks in the page. Needs nothing but python3.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2]))
from report import load, put_between, run_json, table  # noqa: E402

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
# 6.17: to V+, V-, V0, Vv; from V+, V-, V0; in all. The row of animation three is printed with the
# fourth number at the end of these; they are put in order here.
CHANGES = {"one": (3, 4, 7, 0, 4, 3, 7, 28), "two": (28, 40, 67, 0, 40, 28, 67, 270),
           "three": (72, 74, 147, 3, 78, 72, 147, 593),
           "four": (77, 78, 146, 4, 84, 75, 146, 610),
           "five": (61, 67, 128, "<1", 69, 60, 128, 513), "six": (35, 42, 70, 1, 43, 35, 70, 296)}


# ---- running ----

def rounded(value):
    if isinstance(value, dict):
        return {key: rounded(entry) for key, entry in value.items()}
    return float(f"{value:.9g}") if isinstance(value, float) else value


def run_one(tool, path, extra):
    """Searches a recording; returns what the tables need."""
    command = [tool, "replay", path, "--scheme", "all", "--json", "--summary", "--quiet"] + extra
    print(" ".join(command), file=sys.stderr)
    found = run_json(command, accept=(0, 3))  # 3: something was hit
    schemes = [{key: rounded(scheme[key]) for key in SCHEME_KEYS if key in scheme} for scheme in found["schemes"]]
    return {**{key: rounded(found[key]) for key in RESULT_KEYS}, "schemes": schemes}


def save(path, results):
    """One line for each scheme."""
    texts = []
    for key, result in results.items():
        head = json.dumps({name: value for name, value in result.items() if name != "schemes"})
        schemes = ",\n  ".join(json.dumps(scheme) for scheme in result["schemes"])
        texts.append(f' "{key}": {head[:-1]}, "schemes": [\n  {schemes}]}}')
    pathlib.Path(path).write_text("{\n" + ",\n".join(texts) + "\n}\n", encoding="utf-8")


def run(options):
    results = load(options.results, {})
    os.makedirs(options.recordings, exist_ok=True)
    for name, words, triangles, solid, _, frames in RECORDINGS:
        path = os.path.join(options.recordings, name + ".abutm")
        if options.only and name not in options.only:
            continue
        if not os.path.exists(path):
            command = [options.tool, "demo"] + words.split() + ["--triangles", str(triangles)]
            command += ["--solid", str(solid), "--frames", str(options.frames or frames), "--record", path,
                        "--quiet"] + (["--device", options.device] if options.device else [])
            print(" ".join(command), file=sys.stderr)
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        every = ["--every", str(options.every)]
        results[name + ".cpu"] = run_one(options.tool, path, every + ["--threads", "1"])
        if words == "sleeve":
            results[name + ".companion"] = run_one(options.tool, path, every + ["--threads", "1", "--line", "companion"])
        if options.device:
            results[name + ".device"] = run_one(options.tool, path, every + ["--device", options.device])
        save(options.results, results)


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
        row = [label] + ["-" if one is None else "- (%g)" % one for one in theirs]
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


def select(results, place):
    order = [name for name, *_ in RECORDINGS]
    names = sorted((key for key in results if key.endswith(place)), key=lambda key: order.index(key[:-len(place)]))
    return [results[name] for name in names]


def write(options):
    results = load(options.results)
    lines = pages(*(select(results, place) for place in (".cpu", ".companion", ".device")))
    if options.note:
        lines = [options.note, ""] + lines
    if options.page:
        put_between(options.page, "tables", ["", *lines])
    else:
        print("\n".join(lines))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    search = commands.add_parser("run", help="search recordings")
    search.add_argument("tool", help="the abut command")
    search.add_argument("recordings", help="folder of recordings")
    search.add_argument("results", help="file of results")
    search.add_argument("--device", help="where to search as well")
    search.add_argument("--every", type=int, default=10, help="frames from sample to sample")
    search.add_argument("--frames", type=int, help="of recordings that are made (default: those "
                        "of the document)")
    search.add_argument("--only", action="append", help="this recording only; may be repeated")
    page = commands.add_parser("write", help="make tables of results")
    page.add_argument("results", help="file of results")
    page.add_argument("page", nargs="?", help="page to renew; without one, tables are printed")
    page.add_argument("--note", help="a sentence on the machine, to stand first")
    options = parser.parse_args()
    if options.command == "run":
        run(options)
    else:
        write(options)


if __name__ == "__main__":
    main()
