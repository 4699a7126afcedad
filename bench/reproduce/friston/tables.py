#!/usr/bin/env python3
"""The tables of docs/radial_table.md: table 1 of Friston and Steed (2019) beside our own figures.

    ABUT_BENCH_RIVALS=cpu.jsonl build/release/abut-bench --filter rivals/ --threads 2 --repeat 3
    ABUT_BENCH_RIVALS=gpu.jsonl build/release/abut-bench --filter rivals/device --device gpu --repeat 5
    python3 bench/reproduce/friston/tables.py cpu.jsonl gpu.jsonl > tables.md

Of several lines for one condition, rival and place the last counts. Needs nothing but python3.
"""
import argparse
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2]))
from report import read_lines, table  # noqa: E402

# Condition: triangles, particles, and for each technique of the paper MB, ms of update, ms of collide.
PAPER = {
    1: (10827, 1297, {"radial": (0.21, 0.06, 0.04), "band": (2.37, 5.18, 0.03), "hash": (205.42, 0.93, 0.08),
                      "tree": (0.95, 0.03, 0.19)}),
    2: (10827, 4825, {"radial": (0.21, 0.07, 0.09), "band": (2.37, 5.18, 0.05), "hash": (205.42, 0.86, 0.12),
                      "tree": (0.95, 0.03, 0.34)}),
    3: (37744, 1297, {"radial": (0.21, 0.06, 0.04), "band": (1.31, 2.60, 0.02), "hash": (205.42, 0.26, 0.11),
                      "tree": (3.96, 0.11, 0.24)}),
    4: (37744, 4825, {"radial": (0.21, 0.06, 0.08), "band": (1.31, 2.54, 0.04), "hash": (205.42, 0.26, 0.16),
                      "tree": (3.96, 0.10, 0.42)}),
    5: (37744, 5118, {"radial": (0.21, 0.05, 0.07), "band": (1.01, 2.95, 0.06), "hash": (205.42, 0.23, 0.11),
                      "tree": (3.96, 0.10, 0.32)}),
    6: (37744, 13090, {"radial": (0.21, 0.05, 0.16), "band": (1.01, 2.94, 0.11), "hash": (205.42, 0.23, 0.14),
                       "tree": (3.96, 0.09, 0.61)}),
    7: (64176, 5118, {"radial": (0.20, 0.08, 0.07), "band": (1.31, 3.83, 0.05), "hash": (205.42, 0.23, 0.14),
                      "tree": (6.55, 0.15, 0.36)}),
    8: (64176, 13090, {"radial": (0.20, 0.08, 0.17), "band": (1.31, 3.84, 0.12), "hash": (205.42, 0.23, 0.14),
                       "tree": (6.55, 0.15, 0.75)}),
    9: (17211, 8562, {"radial": (3.16, 0.10, 0.11), "band": (3.01, 9.35, 0.07), "hash": (205.42, 1.74, 0.10),
                      "tree": (1.38, 0.04, 0.27)}),
    10: (17211, 29737, {"radial": (3.16, 0.11, 0.31), "band": (3.01, 9.20, 0.21), "hash": (205.42, 1.77, 0.22),
                        "tree": (1.38, 0.03, 0.49)}),
}
ORDER = ["radial", "band", "field", "hash", "tree", "nearest", "sweep"]
COLUMNS = 3  # memory, update, collide


def key(place, part):
    """Which time counts: the least on a CPU that has other work too, the median on a device."""
    return part + ("_least_ms" if place == "CPU" else "_ms")


def number(value):
    """Three digits, as a person writes them."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 1 else \
        f"{value:.3f}"


def print_table(head, rows):
    print("\n".join(table(head, rows, right=True)) + "\n")


def print_place(lines, place, names):
    """Memory, update and collide of all techniques in one place."""
    rows = []
    for condition in PAPER:
        row = [str(condition)]
        for name in names:
            line = lines.get((condition, name, place))
            row += [number(line["bytes"] / 1e6), number(line[key(place, "update")]), number(line[key(place, "collide")])] if line else \
                ["–"] * COLUMNS
        rows.append(row)
    head = ["C."] + [word for name in names for word in (f"{name} MB", "upd.", "coll.")]
    print_table(head, rows)


def print_paper(names):
    rows = [[str(c), str(triangles), str(particles)] + [f"{x:.2f}" for name in names for x in figures[name]]
            for c, (triangles, particles, figures) in PAPER.items()]
    print_table(["C.", "triangles", "particles"] + [word for name in names for word in (f"{name} MB", "upd.", "coll.")], rows)


def together(line, place):
    """Update and collide: on a device with one wait, where that was timed."""
    return line.get("step_ms") or line[key(place, "update")] + line[key(place, "collide")]


def print_sums(lines, place, names, skin):
    """Update and collide together, the quickest in bold, beside the paper's radial fields."""
    rows = []
    for condition, (_, _, figures) in PAPER.items():
        sums = {name: together(lines[condition, name, place], place) for name in names if (condition, name, place) in lines}
        if not sums:
            continue
        least = min(sums.values())
        row = [str(condition), f"{figures['radial'][1] + figures['radial'][2]:.2f}"]
        for name in names:
            text = number(sums[name]) if name in sums else "–"
            row.append(f"**{text}**" if sums.get(name) == least else text)
        if skin:
            line = lines.get((condition, "skin", place))
            row.append(number(line[key(place, "update")]) if line else "–")
        rows.append(row)
    print_table(["C.", "paper, radial"] + names + (["skin"] if skin else []), rows)


def print_clock(lines, place, names):
    """The device's own time of update and collide: without the time in which the host waits."""
    names = [name for name in names
             if name != "sweep" and any(lines.get((c, name, place), {}).get("update_clock_ms") for c in PAPER)]
    if not names:
        return
    rows = []
    for condition in PAPER:
        row = [str(condition)]
        for name in names:
            line = lines.get((condition, name, place))
            row += [f"{line['update_clock_ms']:.3f}", f"{line['collide_clock_ms']:.3f}",
                    f"{line['queued_frame_ms']:.3f}"] if line else ["–"] * COLUMNS
        rows.append(row)
    print("By the clock of the device, and a frame with synchronisation after every sixth frame only:\n")
    print_table(["C."] + [word for name in names for word in (f"{name} upd.", "coll.", "frame")], rows)


def print_inside(lines, place, names):
    """Of a thousand particles, how many stay inside by more than 1 mm, and by more than a cell."""
    rows = []
    for condition in PAPER:
        found = [lines[condition, name, place] for name in names if (condition, name, place) in lines]
        if not found:
            continue
        row = [str(condition)] + [f"{1e3 * found[0][key] / found[0]['of']:.1f}" for key in ("inside_before", "deep_before")]
        for name in names:
            line = lines.get((condition, name, place))
            row.append(f"{1e3 * line['inside'] / line['of']:.1f} / {1e3 * line['deep'] / line['of']:.1f}" if line else "–")
        rows.append(row)
    print_table(["C.", "target inside", "by a cell"] + names, rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("file", nargs="+", help="lines of JSON that ABUT_BENCH_RIVALS named")
    options = parser.parse_args()
    lines = {(line["condition"], line["rival"], line["place"]): line for line in read_lines(options.file)}
    names = [name for name in ORDER if any(key[1] == name for key in lines)]
    print("### The paper: GTX 1080, ms\n")
    print_paper(["radial", "band", "hash", "tree"])
    for place in sorted({key[2] for key in lines}):
        here = [name for name in names if any(key[1:] == (name, place) for key in lines)]
        print(f"### {place}: update and collide together, ms\n")
        print_sums(lines, place, here, place == "CPU")
        print(f"### {place}: memory in MB, update and collide in ms\n")
        print_place(lines, place, here)
        print_clock(lines, place, here)
        print(f"### {place}: of a thousand particles, inside by more than 1 mm / 1 cm at the end\n")
        print_inside(lines, place, here)


if __name__ == "__main__":
    main()
