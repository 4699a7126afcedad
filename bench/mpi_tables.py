#!/usr/bin/env python3
"""The measurements, the model and the plot of docs/mpi.md.

    python3 bench/mpi_tables.py run build/release bench/results/DATE-mpi.csv [REPEATS]
    python3 bench/mpi_tables.py show bench/results/DATE-mpi.csv docs/pictures

The first runs abut-mpi with 1 to 8 processes of one thread on this machine and adds a line for each process. What counts
is processor time without waiting, so that processes may share cores; of several runs the least of each process. The
second prints the tables and draws. Needs nothing but python3.
"""
import argparse
import csv
import os
import subprocess
import tempfile

from report import plot

PROCESSES = (1, 2, 4, 8)
CELLS = (256, 512, 768, 1024)
FITTED = {(cells, p) for cells in (256, 1024) for p in (1, 2, 8)}  # the others check the model
BANDWIDTH = 1.25e9  # bytes a second that a machine sends or receives, as of 10 Gbit/s; on paper
WRITING = 1e9  # bytes a second that a shared disk takes from all; on paper


# ---- running ----

def scene(path):
    side = range(6)
    bodies = ",".join(f'{{"mesh": "{("box", "ball")[(i + j + k) % 2]}", "position": [{0.9 * i}, {0.93 * j}, {0.91 * k}]}}'
                      for i in side for j in side for k in side)
    with open(path, "w", encoding="utf-8") as file:
        file.write('{"meshes": {"box": {"shape": "box", "size": 1, "segments": 6}, "ball": {"shape": "icosphere", '
                   f'"radius": 0.6, "segments": 12}}}}, "bodies": [{bodies}]}}')


def poses(path):
    state = 1
    with open(path, "w", encoding="utf-8") as file:
        for _ in range(4000):
            numbers = []
            for _ in range(3):
                state = (state * 6364136223846793005 + 1442695040888963407) % 2 ** 64
                numbers.append(6 * (state >> 11) / 2 ** 53 - 3)
            print(*numbers, file=file)


def run(build, out, repeats):
    tool, mpi = (os.path.abspath(os.path.join(build, name)) for name in ("abut", "abut-mpi"))
    out = os.path.abspath(out)
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    with tempfile.TemporaryDirectory() as folder, open(out, "a", encoding="utf-8", newline="") as file:
        os.chdir(folder)
        subprocess.run([tool, "make", "teapot-solid", "solid.obj", "--segments", "24", "--quiet"], check=True)
        subprocess.run([tool, "make", "torus", "torus.obj", "--quiet"], check=True)
        subprocess.run([tool, "demo", "sheet", "--frames", "160", "--triangles", "3000", "--record", "sheet.abutm",
                        "--quiet"], check=True, stdout=subprocess.DEVNULL)
        scene("scene.json")
        poses("poses.csv")
        cases = [(f"field {cells}", ["field", "solid.obj", "x.abutf", "--sparse", "--cells", str(cells)])
                 for cells in CELLS]
        cases += [("distance", ["distance", "solid.obj", "torus.obj", "--poses", "poses.csv", "--out", "x.csv"]),
                  ("sweep", ["sweep", "sheet.abutm", "--mode", "all", "--json"]),
                  ("contacts", ["contacts", "scene.json", "--out", "x.csv"])]
        rows = csv.writer(file)
        for number in range(repeats):
            for name, words in cases:
                for p in PROCESSES:
                    done = subprocess.run(["mpirun", "-q", "--oversubscribe", "--bind-to", "none", "-n", str(p), mpi,
                                           *words, "--threads", "1", "--report"], env=environment, text=True,
                                          capture_output=True)
                    lines = done.stderr[done.stderr.index("process,"):].split()[1:]
                    bricks = ["0", "0"]
                    if name.startswith("field"):
                        bricks = next(line for line in done.stdout.splitlines() if "bricks" in line).split()[1::2]
                    for line in lines:
                        rows.writerow([name, p, number, *bricks, *line.split(",")])
                    file.flush()


# ---- the model ----

def read(path):
    """Of each case and number of processes a list of processes as dictionaries: of several runs the least work."""
    heads = ("case", "p", "run", "bricks", "places", "process", "seconds", "work", "mpi", "sent", "written")
    runs = {}
    with open(path, encoding="utf-8", newline="") as file:
        for row in csv.reader(file):
            line = dict(zip(heads, [row[0]] + [float(x) for x in row[1:]]))
            ranks = runs.setdefault((line["case"], int(line["p"])), {})
            if line["process"] not in ranks or ranks[line["process"]]["work"] > line["work"]:
                ranks[line["process"]] = line
    return {key: list(ranks.values()) for key, ranks in runs.items()}


def terms(bricks, places, p):
    """What the seconds of a process are a sum of: the mesh and what else all do; places; its share of bricks."""
    return [1.0, places, bricks / p]


def solve(rows, values):
    """Least squares of relative errors, by normal equations."""
    n = len(rows[0])
    weighted = [([x / value for x in row], 1.0) for row, value in zip(rows, values)]
    matrix = [[sum(r[i] * r[j] for r, _ in weighted) for j in range(n)] + [sum(r[i] * v for r, v in weighted)]
              for i in range(n)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda k: abs(matrix[k][i]))
        matrix[i], matrix[pivot] = matrix[pivot], matrix[i]
        for k in range(n):
            if k != i:
                factor = matrix[k][i] / matrix[i][i]
                matrix[k] = [x - factor * y for x, y in zip(matrix[k], matrix[i])]
    return [matrix[i][n] / matrix[i][i] for i in range(n)]


def fields(runs):
    """Bricks and places of each size, and the most work of a process by size and processes."""
    shape, work = {}, {}
    for (case, p), lines in runs.items():
        if case.startswith("field"):
            cells = int(case.split()[1])
            shape[cells] = (lines[0]["bricks"], lines[0]["places"])
            work[cells, p] = max(line["work"] for line in lines)
    return shape, work


def row(*cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |")


def show(path, pictures):
    runs = read(path)
    shape, work = fields(runs)
    chosen = sorted(key for key in work if key in FITTED)
    factors = solve([terms(*shape[cells], p) for cells, p in chosen], [work[key] for key in chosen])

    def model(cells, p):
        return sum(f * t for f, t in zip(factors, terms(*shape[cells], p)))

    print("seconds of a process = %.3g + %.3g x places + %.3g x bricks / p" % tuple(factors))
    row("cells", "bricks", "processes", "seconds", "model", "off", "used", "speedup", "MB sent", "MB written")
    errors = []
    for cells, p in sorted(work):
        lines, expected = runs[f"field {cells}", p], model(cells, p)
        off = expected / work[cells, p] - 1
        used = "fit" if (cells, p) in FITTED else "check"
        if used == "check":
            errors.append(abs(off))
        row(cells, f"{shape[cells][0]:,.0f}", p, f"{work[cells, p]:.2f}", f"{expected:.2f}", f"{100 * off:+.0f}%", used,
            f"{work[cells, 1] / work[cells, p]:.2f}", f"{sum(l['sent'] for l in lines) / 1e6:.1f}",
            f"{sum(l['written'] for l in lines) / 1e6:.1f}")
    print(f"check: mean {100 * sum(errors) / len(errors):.0f}%, most {100 * max(errors):.0f}%\n")
    row("list", *[f"{p} processes" for p in PROCESSES], "most over mean, 8", "KB sent, 8")
    for case in ("distance", "sweep", "contacts"):
        each = [[line["work"] for line in runs[case, p]] for p in PROCESSES]
        row(case, *[f"{max(w):.2f}" for w in each], f"{max(each[-1]) * len(each[-1]) / sum(each[-1]):.2f}",
            f"{sum(line['sent'] for line in runs[case, PROCESSES[-1]]) / 1e3:.0f}")
    print()
    row("cells", "processes", "computing", "corners", "writing", "seconds", "speedup")
    bricks, places = shape[1024]
    for cells in (2048, 4096, 8192):
        n = cells / 1024
        size = (bricks * n ** 2, places * n ** 3)
        for p in (1, 16, 256):
            computing = sum(f * t for f, t in zip(factors, terms(*size, p)))
            corners = 4 * size[1] / BANDWIDTH if p > 1 else 0
            writing = size[0] * 1735 / WRITING
            alone = sum(f * t for f, t in zip(factors, terms(*size, 1))) + writing
            row(f"{cells}^3", p, f"{computing:.1f}", f"{corners:.1f}", f"{writing:.1f}",
                f"{computing + corners + writing:.1f}", f"{alone / (computing + corners + writing):.1f}")
    curves = []
    for cells, colour in zip(CELLS, ("#2f6fae", "#6b8e4e", "#b3472f", "#7a5195")):
        curves.append((f"model, {cells}^3", "#c3c9d1", [(p, model(cells, p)) for p in PROCESSES]))
        curves.append((f"{cells}^3 cells", colour, [(p, work[cells, p]) for p in PROCESSES]))
    plot(os.path.join(pictures, "mpi-field.svg"), "A sparse field of a teapot by several processes",
         "processor seconds of the slowest", (0.05, 10), curves, "processes", (0, 9), list(PROCESSES))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    commands = parser.add_subparsers(dest="command", required=True)
    measure = commands.add_parser("run", help="measure")
    measure.add_argument("build", help="build folder")
    measure.add_argument("results", help="the .csv file to write")
    measure.add_argument("repeats", nargs="?", type=int, default=3, help="runs of each case (default: 3)")
    pages = commands.add_parser("show", help="print the tables and write the plot")
    pages.add_argument("results", help="the .csv file to read")
    pages.add_argument("pictures", help="the folder that receives the plot")
    options = parser.parse_args()
    if options.command == "run":
        run(options.build, options.results, options.repeats)
    else:
        show(options.results, options.pictures)
