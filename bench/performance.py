#!/usr/bin/env python3
"""Generates docs/performance.md and its plots from the files of bench/results.

    python3 bench/performance.py [SOURCE [FOLDER]]

SOURCE is the root of the tree, by default that of this file. FOLDER receives the page and pictures, by default the
folder docs of SOURCE. The latest measurement of each case is used. The test
bench_performance fails if the page differs from the output of this script. Needs only python3.
"""
import argparse
import math
import pathlib
import re
import statistics
from html import escape

from report import Svg, load

# Title, plot, unit of a bar, introduction, rows: label, end of the case name, model. Peers come from the cases.
SECTIONS = [
    ("Two meshes", "performance-pairs", "a query on two bunnies of 69,451 triangles, one thread",
     "The Stanford bunny against itself at 100 to 500 random poses, half of which overlap. Times are the mean of all "
     "poses. ODE and Bullet compute all contacts for an overlap test. FCL, ODE and Bullet do not detect containment.",
     [("overlap", "overlap-mean", "stanford-bunny"),
      ("distance", "distance-mean", "stanford-bunny"),
      ("all contacts", "contacts-mean", "stanford-bunny"),
      ("common volume of two balls", "common-mean", "icosphere")]),
    ("Points and rays", "performance-points", "a point or ray, one thread",
     "200,000 points or rays around the bunny, and a million points. Embree computes ray hits in floats; abut's hits are "
     "exact.",
     [("closest point, single", "nearest-uniform-single", "stanford-bunny"),
      ("closest point, batch", "nearest-uniform", "stanford-bunny"),
      ("closest point, batch of a million", "nearest-million", "stanford-bunny"),
      ("first hit of a random ray", "ray-first-uniform", "stanford-bunny"),
      ("first hit of a camera's ray", "ray-first-coherent", "stanford-bunny"),
      ("any hit of a random ray", "ray-any-uniform", "stanford-bunny"),
      ("any hit of a camera's ray", "ray-any-coherent", "stanford-bunny"),
      ("all hits of a random ray", "ray-all-uniform", "stanford-bunny"),
      ("all hits of a camera's ray", "ray-all-coherent", "stanford-bunny")]),
    ("BVH", "performance-build", "a triangle of the bunny, one thread",
     "All queries on meshes use a BVH. It is built once, and refitted when vertices move.",
     [("build", "build", "stanford-bunny"), ("refit", "refit", "stanford-bunny")]),
    ("Distance fields", "performance-field", "a whole field of 256 cells a side, one thread",
     "Exact signed distances of all cells, compared with Embree's point queries, which have no signs; and a narrow band of "
     "three cells, compared with OpenVDB, whose distances are approximate.",
     [("all cells", "field", "stanford-bunny"), ("narrow band of 3 cells", "band-dense", "stanford-bunny"),
      ("the same, sparse", "band-sparse", "stanford-bunny")]),
    ("Evaluation of a field", "performance-value", "a point, one thread",
     "Value and gradient in a field of 64 cells a side, compared with Bullet's `btMiniSDF` with exact values at its nodes.",
     [("linear", "field-value", "stanford-bunny"), ("cubic", "field-value-cubic", "stanford-bunny")]),
    ("Moving rigid bodies", "performance-sweep", "a path, one thread",
     "The time of impact of two rigid bodies, mean of 200 random paths, or of 10 paths of the teapot of 70,000 triangles. "
     "abut misses no touch and is never late. Conservative advancement on FCL's distances is equally safe. FCL's own "
     "advancement misses most touches, and sampling in time is late.",
     [("ball, across; FCL, advancement on distances", "sweep-across-distance-mean", "ball"),
      ("ball, across; FCL's own advancement", "sweep-across-advancement-mean", "ball"),
      ("ball, across; FCL, 100 samples of time", "sweep-across-sampled-mean", "ball"),
      ("ball, a step; FCL, advancement on distances", "sweep-step-distance-mean", "ball"),
      ("teapot of 70,000, across; FCL, on distances", "sweep-across-distance-mean", "teapot70k"),
      ("ball, across; Bullet, static mesh", "sweep-across-static-mean", "ball"),
      ("ball of 320, across; Bullet, hull", "sweep-across-convex-mean", "icosphere")]),
]
COLOURS = {"abut": "#2f6fae", "Embree": "#b3472f", "FCL": "#e0a030", "CGAL": "#7a5195", "Bullet": "#6b8e4e",
           "ODE": "#9a8c7c", "OpenVDB": "#c2698c", "Open3D": "#b3472f", "MeshLab": "#e0a030"}
OTHER = "#8a919c"
RIVALS_FOLDER = "reproduce/friston"
RIVALS = {"radial": "radial fields", "band": "narrow-band fields", "field": "dense fields", "hash": "spatial hash",
          "tree": "eight-wide BVH", "nearest": "closest points", "sweep": "sweeps (CCD)"}
DEVICE = [("field/device-256-teapot", "signed distance field of 256^3 cells"),
          ("nearest/device-random-teapot", "closest point of 10 million random points"),
          ("ray/device-first", "first hit of 10 million random rays"),
          ("ray/device-ordered", "the same rays, sorted"),
          ("ray/device-any", "any hit of the same rays"),
          ("sign/device-signed", "signed distance and closest point of 10 million points"),
          ("sign/device-inside", "inside or outside, 10 million points, from and to the host"),
          ("pair/device-overlap-teapot", "overlap of two teapots at 100,000 poses"),
          ("pair/device-distance-teapot", "distance of two teapots at 100,000 poses, one thread of the host"),
          ("pair/device-distance-teapot", "the same, 16 threads", 16),
          ("bvh/device-build-teapot", "BVH of 69,396 triangles"),
          ("world/device-teapots", "world of 3,000 teapots: contacts of 10,330 pairs"),
          ("sweep/device-earliest-balls", "first impact of 81,920 moving triangles"),
          ("layers/device-stairs-5000", "overlaps of 5,011 solids"),
          ("map/device-letters", "surface distance maps of two bodies, 498,593 samples")]
CPU = [("mesh/read-ply-binary", "read a binary PLY"), ("mesh/topology", "topology"), ("mesh/examine", "health report"),
       ("mesh/weld", "weld"), ("bvh/build-teapot", "build a BVH"), ("bvh/refit-teapot", "refit a BVH"),
       ("nearest/uniform-teapot", "closest points, uniform, batch"), ("nearest/near-teapot", "closest points, near the surface, batch"),
       ("layers/stairs-5000", "overlaps of 5,011 solids")]


# ---- results ----

class Results:
    """The latest result of each case in all files, by name, threads and machine (a device or none)."""

    def __init__(self, folder):
        self.peers, self.device, self.cpu, self.deviation, self.python = {}, {}, {}, {}, {}
        for path in sorted((folder / "results").glob("*.json")):
            self.add(path, load(path))
        places = load(folder / RIVALS_FOLDER / "results.json").values()
        self.rivals = {(line["condition"], line["rival"], line["place"]): line for place in places for line in place["lines"]}
        self.rivals_note = "; ".join(f"{place['machine']}, {place['date']}" for place in places)

    def add(self, path, data):
        if "python" in data:
            self.python["device" if "h200" in path.name else "peers"] = dict(data["python"], name=path.name)
        if "map/deviation" in data:
            self.deviation = dict(data, name=path.name)
        for case in data.get("cases", []):
            case.update(date=data["date"], commit=data["commit"], cpu=data["cpu"], compiler=data["compiler"],
                        name=path.name)
            if "peer" in case:
                _, library, question, model = case["case"].split("/", 3)
                keep(self.peers, (question, model, library, case["threads"]), case)
            elif "device" in case["case"] and "h200" in path.name:
                keep(self.device, (case["case"], case["threads"]), case)
            elif "h200" not in path.name:
                keep(self.cpu, (case["case"], case["threads"]), case)


def keep(cases, key, case):
    if key not in cases or cases[key]["date"] <= case["date"]:
        cases[key] = case


# ---- text ----

def time_of(ns):
    """Formats a time with three digits."""
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3), ("ns", 1)):
        if ns >= size or unit == "ns":
            value = ns / size
            digits = 0 if value >= 100 else 1 if value >= 10 else 2
            return f"{value:.{digits}f} {unit}"


def times(ratio):
    return f"{ratio:.0f}" if ratio >= 100 else f"{ratio:.1f}" if ratio >= 10 else f"{ratio:.2g}"


def measured(cases):
    """Returns the line below a plot: machine and date."""
    days = sorted({case["date"][:10] for case in cases})
    commits = sorted({case["commit"] for case in cases})
    return (f"Intel Xeon (Sapphire Rapids, virtual, 2 cores), {cases[0]['compiler']} -O3; "
            f"{' and '.join(days)}, commit {', '.join(commits)}")


def note_of(case):
    """Returns the remark of a case in the words of the page."""
    note = case.get("note", "")
    swept = re.match(r"it misses (\d+) of (\d+), \w+ (\d+) late, by up to ([^;]+); (\d+) (?:alarms|false positives)", note)
    if swept:
        missed, of, late, by, alarms = swept.groups()
        late = f"{late} late by up to {by}" if int(late) else "0 late"
        return f"{missed} of {of} missed, {late}, {alarms} false positives"
    band = re.match(r"its worst distance is (\S+) cells off, (\d+) of (\d+) signs are wrong", note)
    if band:
        return f"its maximum error is {band[1]} cells; {int(band[2]):,} of {int(band[3]):,} signs are wrong"
    return {"it makes all contacts": "computes all contacts",
            "it makes the solid; ours has areas and centroid as well": "constructs the solid; abut also returns areas and centroid",
            "every 16th layer of its cells; no signs": "Embree: every 16th layer of cells, without signs",
            "floats; a filter notes hits, then they are sorted": "floats; a filter function collects the hits, then they are sorted",
            }.get(note, note)


def table(head, rows):
    """Aligns columns of numbers to the right."""
    numbers = [all(row[i][:1].isdigit() and len(row[i]) < 12 for row in rows) for i in range(len(head))]
    lines = ["| " + " | ".join(head) + " |", "|" + "".join("---:|" if number else "---|" for number in numbers)]
    return lines + ["| " + " | ".join(row) + " |" for row in rows] + [""]


# ---- plots ----

WIDTH, LEFT, RIGHT, TOP, BAR, GAP = 940, 370, 120, 62, 19, 14


def plot(path, title, unit, groups, note):
    """Plots bars on a logarithmic scale. Groups are (label, [(name, ns, remark)])."""
    values = [ns for _, bars in groups for _, ns, _ in bars]
    low = 10 ** math.floor(math.log10(min(values)) - 0.15)
    high = 10 ** math.ceil(math.log10(max(values)) + 0.05)
    height = TOP + sum(len(bars) * BAR + GAP for _, bars in groups) + 62

    def place(ns):
        return LEFT + math.log(ns / low) / math.log(high / low) * (WIDTH - LEFT - RIGHT)

    svg = Svg(WIDTH, height)
    svg.text(16, 26, title, "start", 17, ' font-weight="bold"')
    svg.text(16, 46, f"time for {unit}, logarithmic scale; in brackets: time relative to abut", "start", 12, ' fill="#5b6470"')
    power = low
    while power <= high * 1.0001:
        svg.line((place(power), TOP), (place(power), height - 50))
        svg.text(place(power), height - 34, time_of(power).replace(".00", "").replace(".0", ""), "middle", 12)
        power *= 10
    y = TOP + 8
    for label, bars in groups:
        svg.text(LEFT - 96, y + len(bars) * BAR / 2 + 4, label, "end", 12)
        for name, ns, remark in bars:
            colour = COLOURS.get(name.split()[0], OTHER)
            weight = ' font-weight="bold"' if name == "abut" else ""
            svg.text(LEFT - 8, y + 13, name.split(" ")[0], "end", 12, weight)
            svg.parts.append(f'<rect x="{LEFT}" y="{y:.1f}" width="{max(place(ns) - LEFT, 1):.1f}" height="{BAR - 4}" '
                             f'fill="{colour}"/>')
            svg.text(place(ns) + 6, y + 13, time_of(ns) + remark, "start", 12, weight)
            y += BAR
        y += GAP
    svg.text(16, height - 12, note, "start", 11, ' fill="#5b6470"')
    svg.save(path)


# ---- sections ----

def each(case, whose):
    """Returns nanoseconds per element; for a field, of the whole field."""
    return case[whose + "minimum_ms"] * 1e6 / (1 if case["unit"] == "cell" else case["elements"])


def peers_section(results, section, pictures):
    title, name, unit, words, rows = section
    groups, lines, used = [], [], []
    for label, question, model in rows:
        found = sorted((key[2], case) for key, case in results.peers.items() if key[:2] == (question, model) and key[3] == 1)
        if not found:
            continue
        ours = statistics.median(each(case, "") for _, case in found)
        bars = [("abut", ours, "")]
        for _, case in sorted(found, key=lambda pair: each(pair[1], "peer_")):
            used.append(case)
            bars.append((case["peer"], each(case, "peer_"), f"  ({times(case['ratio'])}x)"))
            lines.append([label, case["peer"], time_of(each(case, "")), time_of(each(case, "peer_")), times(case["ratio"]),
                          f"{case['disagreements']:,}", note_of(case)])
        groups.append((label, bars))
    if not groups:
        return []
    plot(pictures / f"{name}.svg", title, unit, groups, measured(used))
    files = sorted({case["name"] for case in used})
    return [f"## {title}", "", *wrap(words), "", f"![Bars of times: {escape(title.lower())}](pictures/{name}.svg)", "",
            *table(["query", "library", "abut", "library's time", "ratio", "differing results", "note"], lines),
            *wrap(f"Times are for {unit}. Measured on {measured(used)}. Data: {quoted(files)}."), ""]


def quoted(names):
    return ", ".join(f"`{name}`" for name in names)


def wrap(words, width=118):
    lines, line = [], ""
    for word in words.split():
        if line and len(line) + 1 + len(word) > width:
            lines.append(line)
            line = word
        else:
            line = f"{line} {word}" if line else word
    return lines + [line]


def deviation_section(results, pictures):
    data = results.deviation
    if not data:
        return []
    names = {"map/deviation": "abut", "Open3D": "Open3D", "MeshLab": "MeshLab"}
    bars = [(name, 1e6 * data[key]["ms"], "" if name == "abut" else f"  ({times(data[key]['times_ms'])}x)")
            for key, name in names.items()]
    day = data["name"][:10]
    note = f"Intel Xeon (Sapphire Rapids, virtual), two cores; {day}. MeshLab's filter has one thread."
    plot(pictures / "performance-deviation.svg", "Deviation of two scans", "a million distances, two threads",
         [("two scans of 100,000 triangles", bars)], note)
    rows = [[name, time_of(1e6 * data[key]["ms"]), time_of(1e6 * data[key]["cpu_ms"]), times(data[key]["times_ms"])]
            for key, name in names.items()]
    return ["## Deviation of two scans", "",
            *wrap("Distances from a million samples of one scan to the other. The time of abut includes the construction of "
                  "BVH, atlas and samples. Open3D receives its points, in floats."), "",
            "![Bars of times: deviation](pictures/performance-deviation.svg)", "",
            *table(["program", "time", "processor time", "ratio"], rows), *wrap(f"Measured on {note} Data: `{data['name']}`."), ""]


def rivals_section(results, pictures):
    condition = 8
    groups, lines = [], []
    places = sorted({key[2] for key in results.rivals if key[0] == condition})
    for place in places:
        least = "_least_ms" if place == "CPU" else "_ms"
        bars = []
        for rival, name in RIVALS.items():
            line = results.rivals.get((condition, rival, place))
            if line:
                bars.append((rival, 1e6 * (line["update" + least] + line["collide" + least]), line))
        if not bars:
            continue
        bars.sort(key=lambda bar: bar[1])
        first = next((ns for rival, ns, _ in bars if rival == "radial"), bars[0][1])
        where = "one core" if place == "CPU" else place
        groups.append((where, [("abut" if rival == "radial" else rival, ns,
                                f"  {RIVALS[rival]}" + ("" if rival == "radial" else f" ({times(ns / first)}x)"))
                               for rival, ns, _ in bars]))
        lines += [[where, RIVALS[rival], time_of(ns), times(ns / first), f"{100 * line['deep'] / line['of']:.2f} %",
                   f"{line['bytes'] / 1e6:.1f} MB"] for rival, ns, line in bars]
    if not groups:
        return []
    sample = next(line for key, line in results.rivals.items() if key[0] == condition)
    note = results.rivals_note
    plot(pictures / "performance-cloth.svg", "Cloth against a character", "a frame: the body's new pose and all particles",
         groups, note)
    return ["## Cloth against a character", "",
            *wrap(f"Collision of {sample['particles']:,} cloth particles with a body of {sample['triangles']:,} triangles that "
                  "does gymnastics in an overcoat (condition 8 of Friston and Steed 2019). We implemented all techniques "
                  "for this comparison. Times of the core are processor time of one thread. "
                  "[Comparison of radial fields](radial_table.md) has all conditions."), "",
            "![Bars of times: radial fields and other techniques](pictures/performance-cloth.svg)", "",
            *table(["machine", "technique", "time per frame", "ratio", "particles left deep inside", "memory"], lines),
            *wrap(f"Measured on {note}. Data: `bench/{RIVALS_FOLDER}`."), ""]


def device_section(results):
    rows = []
    for name, words, *threads in DEVICE:
        case = results.device.get((name, threads[0] if threads else 1))
        if case:
            rows.append([words, time_of(1e6 * case["median_ms"]), time_of(1e6 * case["median_ms"] / case["elements"]),
                         case["unit"], case["date"][:10]])
    return ["## On a GPU", "", *wrap("Medians on one NVIDIA H200 with OpenCL. Data stays on the device unless a row states "
                                     "otherwise. Results have the bits of the CPU. No other library was measured here; "
                                     "[benchmarks](benchmarks.md#on-a-gpu) quotes published times."), "",
            *table(["computation", "time", "per unit", "unit", "date"], rows)]


def cpu_section(results):
    rows = []
    for name, words in CPU:
        cases = [results.cpu.get((name, threads)) for threads in (1, 2)]
        first = cases[0] or cases[1]
        if first:
            rows.append([f"{words} (`{name}`)"] + [time_of(1e6 * case["median_ms"] / case["elements"]) if case else "–"
                                                   for case in cases] + [first["unit"], first["date"][:10]])
    return ["## Other measurements", "", *wrap("Medians on an Intel Xeon (Sapphire Rapids, virtual). `abut bench` measures your "
                                               "machine. [Choosing a function](choosing.md) has the order of magnitude of "
                                               "every call."), "",
            *table(["computation", "one thread", "two threads", "per", "date"], rows)]


def python_section(results):
    """Returns the table of twelve calls of the Python package and its peers: processor time, and time on a device."""
    if "peers" not in results.python:
        return []
    data, device = results.python["peers"], results.python.get("device")
    lines = ["## From Python", "",
             *wrap("Twelve calls, compared with the fastest of other packages by `bench/peers/python.py`. Times are processor time, "
                   "because the machine was busy. [Python](python.md#beside-other-packages) describes the calls and their "
                   "differences. Without ipctk's rescaling of steps, the ratio of `motion` is 16. "
                   f"Data: `{data['name']}`."
                   + (f" The last two columns are wall time on 16 threads and on one H200. Data: `{device['name']}`."
                      if device else "")), "",
             "| call | abut | best peer | peer's time | ratio |" + (" 16 threads | H200 |" if device else ""),
             "|---|---|---|---|---|" + ("---|---|" if device else "")]
    rows = []
    for call, found in data["results"].items():
        mine = found["abut"]["cpu_ms"]
        peer = min((name for name in found if name != "abut"), key=lambda name: found[name]["cpu_ms"])
        line = (f"| `{call}` | {time_of(mine * 1e6)} | {peer} | {time_of(found[peer]['cpu_ms'] * 1e6)} | "
                f"{times(found[peer]['cpu_ms'] / mine)} |")
        if device:
            there = device["results"].get(call, {})
            line += "".join(f" {time_of(one['ms'] * 1e6)} |" for one in there.values())
        rows.append(line)
    return lines + rows + [""]


def page(results, pictures):
    lines = ["# Performance", "",
             *wrap("Times of abut and of other libraries for the same task. A ratio is the **time of the library divided by the "
                   "time of abut**: above 1, abut is faster."), "",
             "- Both libraries run on the same vertices and queries, alternately in one process. Their results are compared.",
             "- Times are of the best round. On one thread they are processor times, which other load does not affect.",
             "- The bar of abut in a plot is the median of its runs against all peers.",
             "- [Benchmarks](benchmarks.md#comparison-with-other-libraries) lists where the tasks differ, and how to repeat the measurements.",
             "",
             *wrap("`bench/performance.py` generates this page from the files of `bench/results`. Do not edit it."), ""]
    for section in SECTIONS:
        lines += peers_section(results, section, pictures)
    lines += deviation_section(results, pictures) + rivals_section(results, pictures)
    lines += python_section(results)
    lines += device_section(results) + cpu_section(results)
    return "\n".join(lines).rstrip("\n") + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("source", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parent.parent,
                        help="root of the tree (default: that of this file)")
    parser.add_argument("folder", nargs="?", type=pathlib.Path,
                        help="folder of the page, with a folder of pictures (default: docs of the source)")
    options = parser.parse_args()
    root, out = options.source, options.folder or options.source / "docs"
    if not (root / "bench" / "results").is_dir():
        parser.error(f"{root} has no folder bench/results")
    (out / "pictures").mkdir(parents=True, exist_ok=True)
    results = Results(root / "bench")
    (out / "performance.md").write_text(page(results, out / "pictures"), encoding="utf-8")


main()
