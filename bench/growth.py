#!/usr/bin/env python3
"""How cost grows with triangles and cells: the measurements, the table and the plots of docs/benchmarks.md.

    python3 bench/growth.py run build/release/abut-bench RESULTS.json [--large] [--shapes A,B] [--only CASE]
    python3 bench/growth.py write RESULTS.json docs/benchmarks.md docs/pictures

`run` times the growth/... cases on one thread, in processor time, for shapes of 1,000 to a million triangles, and
fields of the scan with 64 to 512 cells a side; --large adds ten million triangles and 1,024 cells (12 GB, an hour).
What is in RESULTS.json already is kept where --shapes and --only leave it out; of two runs of one commit the least of
each counts, which helps on a busy machine. `write` puts the tables between the two marks of the page, and draws the
plots as SVG. Needs nothing but python3.
"""
import argparse
import json
import math
import os
import subprocess
import sys
import tempfile

from report import load, plot, put_between, table

SHAPES = ["scan", "torus", "nested", "cylinder", "plates", "spiral"]
TRIANGLES = [1000, 10000, 100000, 1000000]
CELLS = [64, 128, 256, 512]
CELL_SHAPES = ["scan", "torus"]
GOAL = 3  # times the scan of as many triangles

# Case, what the table calls it, what a plot shows; least and most of its axis.
QUESTIONS = [
    ("build", "build", "Build of the BVH", "ms", (0.05, 20000)),
    ("nearest-single", "nearest, single", "20,000 nearest points, one by one", "ms", (1, 10000)),
    ("nearest", "nearest, batch", "200,000 nearest points, a batch", "ms", (10, 100000)),
    ("field", "field", "A field of 128 x 128 x 128 cells", "ms", (10, 1000000)),
    ("field-band", "band", "The same in a band of 3 cells", "ms", (10, 100000)),
    ("distance", "distance", "12 distances, turned at random", "ms", (0.05, 100000)),
    ("distance-aligned", "distance, aligned", "6 distances, side by side", "ms", (0.05, 100000)),
    ("self", "self", "Self-intersections", "ms", (0.1, 100000)),
]
CELL_CASES = [("field", "dense"), ("field-band", "dense, band of 3"), ("field-sparse", "sparse, band of 3")]
COLOURS = ["#2f6fae", "#b3472f", "#e0a030", "#2e8b57", "#7a5195", "#c2698c"]


# ---- measuring ----

def bench(tool, part, shape, triangles, cells, folder):
    """Cases with this part in their names: processor time (the median), peak memory, hash."""
    path = os.path.join(folder, "out.json")
    repeats = 5 if triangles < 100000 and cells <= 128 else 3 if triangles < 1000000 and cells <= 256 else 1
    environment = dict(os.environ, ABUT_BENCH_SHAPE=shape, ABUT_BENCH_TRIANGLES=str(triangles),
                       ABUT_BENCH_CELLS=str(cells))
    subprocess.run([tool, "--filter", "growth/" + part, "--threads", "1", "--repeat", str(repeats), "--out", path],
                   env=environment, check=True, stdout=subprocess.DEVNULL)
    results = load(path)
    for found in results["cases"]:
        yield dict(case=found["case"].split("/")[1], shape=shape, triangles=triangles, cells=cells,
                   cpu_ms=round(found["cpu_ms"], 4), peak_bytes=found["peak_bytes"], hash=found["hash"],
                   commit=results["commit"], date=results["date"][:10])


def run(arguments):
    known = load(arguments.results, {"growth": []})["growth"]
    kept = {(e["case"], e["shape"], e["triangles"], e["cells"]): e for e in known}
    wanted = [(arguments.only, shape, n, 128) for n in TRIANGLES + [10000000] * arguments.large for shape in SHAPES]
    if "field".startswith(arguments.only[:5]):
        wanted += [(arguments.only or "field", shape, 100000, cells) for cells in CELLS + [1024] * arguments.large
                   for shape in CELL_SHAPES if cells != 128]
    with tempfile.TemporaryDirectory() as folder:
        for part, shape, n, cells in wanted:
            if shape not in arguments.shapes.split(","):
                continue
            for entry in bench(arguments.tool, part, shape, n, cells, folder):
                print(f"{entry['case']:18} {shape:10} {n:9} {cells:5} {entry['cpu_ms']:12.2f} ms", file=sys.stderr)
                key = entry["case"], shape, n, cells
                same = key in kept and kept[key]["commit"] == entry["commit"]
                if not same or kept[key]["cpu_ms"] > entry["cpu_ms"]:
                    kept[key] = entry
            with open(arguments.results, "w", encoding="utf-8") as file:
                file.write('{"growth": [\n' + ",\n".join(json.dumps(e) for e in kept.values()) + "\n]}\n")


# ---- the tables ----

def exponent(points):
    """The slope of the straight line through the logarithms, by least squares."""
    if len(points) < 2:
        return math.nan
    xs, ys = [math.log(x) for x, _ in points], [math.log(y) for _, y in points]
    x, y = sum(xs) / len(xs), sum(ys) / len(ys)
    return sum((a - x) * (b - y) for a, b in zip(xs, ys)) / sum((a - x) ** 2 for a in xs)


def curve(results, case, shape):
    return sorted((e["triangles"], e["cpu_ms"]) for e in results
                  if e["case"] == case and e["shape"] == shape and e["cells"] == 128)


def digits(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def brief(ratio):
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.1f}" if ratio >= 0.1 else f"{ratio:.2f}"


def shape_table(results):
    rows = []
    for case, name, *_ in QUESTIONS:
        scan = dict(curve(results, case, "scan"))
        for n in (n for n in sorted(scan) if n >= 100000):
            cells = []
            for shape in SHAPES[1:]:
                ratio = dict(curve(results, case, shape)).get(n, math.nan) / scan[n]
                cells.append("" if math.isnan(ratio) else f"**{brief(ratio)}**" if ratio > GOAL else brief(ratio))
            rows.append([name, f"{n:,}", digits(scan[n]), *cells])
    return table(["question", "triangles", "scan, ms"] + SHAPES[1:], rows, right=True)


def exponent_table(results):
    rows = [[name] + [f"{exponent([p for p in curve(results, case, shape) if p[0] >= 10000]):.2f}" for shape in SHAPES]
            for case, name, *_ in QUESTIONS]
    return table(["exponent of"] + SHAPES, rows, right=True)


def cell_curves(results):
    found = {}
    for case, name in CELL_CASES:
        for shape in CELL_SHAPES:
            found[shape, name] = sorted((e["cells"], e["cpu_ms"]) for e in results if e["case"] == case
                                        and e["shape"] == shape and e["triangles"] == 100000)
    return found


def cell_table(results):
    curves = cell_curves(results)
    sides = sorted({x for points in curves.values() for x, _ in points})
    rows = []
    for (shape, name), points in curves.items():
        at = dict(points)
        cells = [digits(at[side]) if side in at else "" for side in sides]
        rows.append([f"{shape}, {name}", *cells, f"{exponent(points):.2f}"])
    return table(["field, ms"] + [f"{side}^3" for side in sides] + ["exponent"], rows, right=True)


# ---- the page ----

def draw(results, folder):
    most = max(e["triangles"] for e in results)
    for case, _, title, unit, y_range in QUESTIONS:
        curves = []
        for shape, colour in zip(SHAPES, COLOURS):
            points = curve(results, case, shape)
            slope = exponent([p for p in points if p[0] >= 10000])
            curves.append((f"{shape}, n^{slope:.2f}", colour, points))
        values = [y for _, _, points in curves for _, y in points]
        y_range = (min(y_range[0], min(values)), 10 ** math.ceil(math.log10(max(values)) + 0.01))
        plot(os.path.join(folder, f"growth-{case}.svg"), title, "processor time, ms", y_range, curves,
             x_range=(700, 1.5 * most), x_marks=sorted({e["triangles"] for e in results}))
    curves = [(f"{shape}, {name.split(',')[0]}{', band' if 'band' in name else ''}", colour, points)
              for ((shape, name), points), colour in zip(cell_curves(results).items(), COLOURS)]
    values, sides = [y for _, _, points in curves for _, y in points], sorted({x for _, _, p in curves for x, _ in p})
    y_range = (10 ** math.floor(math.log10(min(values))), 10 ** math.ceil(math.log10(max(values))))
    plot(os.path.join(folder, "growth-cells.svg"), "Fields of 100,000 triangles", "processor time, ms", y_range, curves,
         "cells along each side", (50, 1.3 * max(sides)), x_marks=sides)


def write(arguments):
    results = load(arguments.results)["growth"]
    days, commits = ({e[key] for e in results} for key in ("date", "commit"))
    parts = shape_table(results) + [""] + exponent_table(results) + [""] + cell_table(results)
    parts += ["", f"Measured {', '.join(sorted(days))} at commit {', '.join(sorted(commits))};",
              f"in `bench/results/{os.path.basename(arguments.results)}`."]
    put_between(arguments.page, "growth", parts)
    draw(results, arguments.pictures)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("run")
    one.add_argument("tool")
    one.add_argument("results")
    one.add_argument("--large", action="store_true")
    one.add_argument("--shapes", default=",".join(SHAPES))
    one.add_argument("--only", default="")
    one.set_defaults(call=run)
    two = commands.add_parser("write")
    two.add_argument("results")
    two.add_argument("page")
    two.add_argument("pictures")
    two.set_defaults(call=write)
    arguments = parser.parse_args()
    arguments.call(arguments)


if __name__ == "__main__":
    main()
