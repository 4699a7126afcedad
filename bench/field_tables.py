#!/usr/bin/env python3
"""The table and the plots of docs/sundholm.md: fields of 128^3 cells, beside Sundholm 2010, 7.2.

    python3 bench/field_tables.py run build/release/abut RESULTS.json [--device gpu] [--mesh FILE]
    python3 bench/field_tables.py write RESULTS.json docs/sundholm.md docs/pictures

`run` times `abut bench field/128-file` on one thread, in processor time, for built-in shapes with
as many triangles as his models, and with --device `field/device-128-file` too; --mesh, any number
of times, adds files. A name that is in RESULTS.json already keeps what is not measured now. `write`
puts the table between the two marks of the page, and draws the plots as SVG; --called is the name
of the device in both. Needs nothing but python3.
"""
import argparse
import json
import math
import os
import subprocess
import tempfile

BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"

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
MORE = [("teapot", 10, None)]  # one that has been on a device


def name_of(shape, segments, rings):
    return f"{shape} {segments}" + (f", {rings}" if rings else "")


# ---- measuring ----

def bench(tool, path, case, more):
    command = [tool, "bench", case, "--threads", "1", "--repeat", "7", "--json", *more]
    output = subprocess.run(command, env={**os.environ, "ABUT_BENCH_MESH": path}, check=True,
                          stdout=subprocess.PIPE).stdout
    return json.loads(output)["cases"][0]


def measure(tool, path, device, entry):
    output = subprocess.run([tool, "info", path, "--json"], check=True, stdout=subprocess.PIPE)
    entry["triangles"] = json.loads(output.stdout)["files"][0]["triangles"]
    entry["cpu_ms"] = round(bench(tool, path, "field/128-file", [])["cpu_ms"], 2)
    if device:
        found = bench(tool, path, "field/device-128-file", ["--device", device])
        entry["device_ms"] = round(found["median_ms"], 3)
        entry.pop("device_from", None)


def run(arguments):
    results = {}
    if os.path.exists(arguments.results):
        with open(arguments.results, encoding="utf-8") as file:
            results = json.load(file)
    with tempfile.TemporaryDirectory() as folder:
        for shape, segments, rings in [m[4:] for m in MODELS] + MORE:
            path = os.path.join(folder, "shape.ply")
            command = [arguments.tool, "make", shape, path, "--segments", str(segments), "--quiet"]
            subprocess.run(command + (["--rings", str(rings)] if rings else []), check=True)
            entry = results.setdefault(name_of(shape, segments, rings), {})
            measure(arguments.tool, path, arguments.device, entry)
    for path in arguments.mesh:
        name = os.path.splitext(os.path.basename(path))[0]
        measure(arguments.tool, path, arguments.device, results.setdefault(name, {}))
    with open(arguments.results, "w", encoding="utf-8") as file:
        file.write(json.dumps(results, indent=1) + "\n")


# ---- the table ----

def seconds(value):
    if value is None:
        return ""
    if value >= 60:
        return f"{int(value // 60)} min {value % 60:.2f} s"
    return f"{value:.2f} s"


def milliseconds(value):
    return "" if value is None else f"{value:.2g} ms" if value < 10 else f"{value:.0f} ms"


def ratio(above, below):
    return "" if above is None or below is None else f"{above / below:.3g}"


def table(results, device_name):
    lines = ["| his model | triangles | his CPU | his GPU | ratio | our model | triangles | one core"
             f" | {device_name}, update | ratio |",
             "|---|---|---|---|---|---|---|---|---|---|"]
    rows = [(m[:4], name_of(*m[4:])) for m in MODELS]
    rows += [(None, name) for name in results if name not in [row[1] for row in rows]]
    for his, name in rows:
        ours = results[name]
        cpu, device = ours["cpu_ms"], ours.get("device_ms")
        left = ["", "", "", "", ""]
        if his:
            left = [his[0], f"{his[1]:,}", seconds(his[2]), seconds(his[3]), ratio(his[2], his[3])]
        lines.append("| " + " | ".join(left + [name, f"{ours['triangles']:,}", milliseconds(cpu),
                                               milliseconds(device), ratio(cpu, device)]) + " |")
    return lines


# ---- plots ----

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 460, 80, 190, 50, 60
X_RANGE = (10, 200000)  # of triangles


def label(value):
    return f"{value:,.0f}" if value >= 1000 else f"{value:g}"


def powers(low, high):
    return [10.0 ** power for power in range(-6, 7) if low <= 10.0 ** power <= high]


def plot(path, title, unit, y_range, curves, x_unit="triangles", x_range=X_RANGE, x_ticks=None, y_ticks=None,
         x_marks=None):
    """Points and lines; an axis goes by powers of ten, or evenly where it has ticks; marks are other numbers than
    powers."""
    def share(value, low, high, ticks):
        return (value - low) / (high - low) if ticks else math.log(value / low) / math.log(high / low)

    def place(x, y):
        return (LEFT + share(x, *x_range, x_ticks) * (WIDTH - LEFT - RIGHT),
                HEIGHT - BOTTOM - share(y, *y_range, y_ticks) * (HEIGHT - TOP - BOTTOM))

    def text(x, y, words, anchor="middle", size=13, more=""):
        parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"'
                     f'{more}>{words}</text>')

    def line(a, b):
        parts.append(f'<line x1="{a[0]:.1f}" y1="{a[1]:.1f}" x2="{b[0]:.1f}" y2="{b[1]:.1f}" '
                     'stroke="#d5d9e0"/>')

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
             'font-family="sans-serif" fill="#222831">',
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#ffffff"/>']
    text(LEFT, TOP - 22, title, "start", 16)
    for value in x_ticks or x_marks or powers(*x_range):
        line(place(value, y_range[0]), place(value, y_range[1]))
        text(place(value, y_range[0])[0], HEIGHT - BOTTOM + 20, label(value))
    for value in y_ticks or powers(*y_range):
        line(place(x_range[0], value), place(x_range[1], value))
        text(LEFT - 8, place(x_range[0], value)[1] + 4, label(value), "end")
    middle = (TOP + HEIGHT - BOTTOM) / 2
    text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 16, x_unit)
    text(22, middle, unit, more=f' transform="rotate(-90 22 {middle:.1f})"')
    for number, (name, colour, points) in enumerate(curves):
        where = [place(*p) for p in sorted(points)]
        way = " ".join(f"{x:.1f},{y:.1f}" for x, y in where)
        parts.append(f'<polyline points="{way}" fill="none" stroke="{colour}" stroke-width="2"/>')
        y = TOP + 14 + 26 * number
        for x, at in (where if len(where) < 50 else []) + [(WIDTH - RIGHT + 22, y)]:
            parts.append(f'<circle cx="{x:.1f}" cy="{at:.1f}" r="4" fill="{colour}"/>')
        text(WIDTH - RIGHT + 34, y + 5, name, "start")
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(parts + ["</svg>", ""]))


def draw(results, folder, device_name):
    ours = list(results.values())
    both = [e for e in ours if "device_ms" in e]
    plot(os.path.join(folder, "sundholm-times.svg"), "A field of 128 x 128 x 128 cells",
         "seconds", (1e-4, 1e4),
         [("his CPU", "#b3472f", [(m[1], m[2]) for m in MODELS if m[2]]),
          ("his GPU", "#e0a030", [(m[1], m[3]) for m in MODELS]),
          ("abut, one core", "#2f6fae", [(e["triangles"], e["cpu_ms"] / 1e3) for e in ours]),
          (f"abut, {device_name}, update", "#2e8b57", [(e["triangles"], e["device_ms"] / 1e3) for e in both])])
    plot(os.path.join(folder, "sundholm-speedup.svg"), "How much faster the GPU is than the CPU",
         "times", (1, 1000),
         [("his", "#b3472f", [(m[1], m[2] / m[3]) for m in MODELS if m[2]]),
          (f"abut, {device_name}, update", "#2f6fae",
           [(e["triangles"], e["cpu_ms"] / e["device_ms"]) for e in both])])


def put_between(page, begin, end, lines):
    """Puts lines between two marks of a page."""
    with open(page, encoding="utf-8") as file:
        before, rest = file.read().split(begin)
    with open(page, "w", encoding="utf-8") as file:
        file.write(before + begin + "\n" + "\n".join(lines) + "\n" + end + rest.split(end)[1])


def write(arguments):
    with open(arguments.results, encoding="utf-8") as file:
        results = json.load(file)
    put_between(arguments.page, BEGIN, END, table(results, arguments.called))
    draw(results, arguments.pictures, arguments.called)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(required=True)
    one = commands.add_parser("run")
    one.add_argument("tool")
    one.add_argument("results")
    one.add_argument("--device")
    one.add_argument("--mesh", action="append", default=[])
    one.set_defaults(call=run)
    two = commands.add_parser("write")
    two.add_argument("results")
    two.add_argument("page")
    two.add_argument("pictures")
    two.add_argument("--called", default="H200")
    two.set_defaults(call=write)
    arguments = parser.parse_args()
    arguments.call(arguments)


if __name__ == "__main__":
    main()
