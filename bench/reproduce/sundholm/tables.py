#!/usr/bin/env python3
"""The table and the plots of docs/sundholm.md: fields of 128^3 cells, beside Sundholm 2010, 7.2.

    python3 bench/reproduce/sundholm/tables.py run build/release/abut RESULTS.json [--device gpu] [--mesh FILE]
    python3 bench/reproduce/sundholm/tables.py write RESULTS.json docs/sundholm.md docs/pictures

`run` times `abut bench field/128-file` on one thread, in processor time, for built-in shapes with
as many triangles as his models, and with --device `field/device-128-file` too; --mesh, any number
of times, adds files. A name that is in RESULTS.json already keeps what is not measured now. `write`
puts the table between the two marks of the page, and draws the plots as SVG; --called is the name
of the device in both. Needs nothing but python3.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2]))
from report import load, plot, put_between, run_json, table  # noqa: E402

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
    return run_json(command, env={**os.environ, "ABUT_BENCH_MESH": path})["cases"][0]


def measure(tool, path, device, entry):
    entry["triangles"] = run_json([tool, "info", path, "--json"])["files"][0]["triangles"]
    entry["cpu_ms"] = round(bench(tool, path, "field/128-file", [])["cpu_ms"], 2)
    if device:
        found = bench(tool, path, "field/device-128-file", ["--device", device])
        entry["device_ms"] = round(found["median_ms"], 3)
        entry.pop("device_from", None)


def run(arguments):
    results = load(arguments.results, {})
    with tempfile.TemporaryDirectory() as folder:
        for shape, segments, rings in [m[4:] for m in MODELS] + MORE:
            path = os.path.join(folder, "shape.ply")
            command = [arguments.tool, "make", shape, path, "--segments", str(segments), "--quiet"]
            subprocess.run(command + (["--rings", str(rings)] if rings else []), check=True)
            entry = results.setdefault(name_of(shape, segments, rings), {})
            measure(arguments.tool, path, arguments.device, entry)
    for path in arguments.mesh:
        measure(arguments.tool, path, arguments.device, results.setdefault(pathlib.Path(path).stem, {}))
    lines = [f" {json.dumps(name)}: {json.dumps(entry)}" for name, entry in results.items()]
    pathlib.Path(arguments.results).write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


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


def make_table(results, device_name):
    head = ["his model", "triangles", "his CPU", "his GPU", "ratio", "our model", "triangles", "one core",
            f"{device_name}, update", "ratio"]
    names = [name_of(*m[4:]) for m in MODELS]
    rows = []
    for his, name in [*zip(MODELS, names), *((None, name) for name in results if name not in names)]:
        ours = results[name]
        cpu, device = ours["cpu_ms"], ours.get("device_ms")
        left = [""] * 5
        if his:
            left = [his[0], f"{his[1]:,}", seconds(his[2]), seconds(his[3]), ratio(his[2], his[3])]
        rows.append(left + [name, f"{ours['triangles']:,}", milliseconds(cpu), milliseconds(device), ratio(cpu, device)])
    return table(head, rows)


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


def write(arguments):
    results = load(arguments.results)
    put_between(arguments.page, "table", make_table(results, arguments.called))
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
