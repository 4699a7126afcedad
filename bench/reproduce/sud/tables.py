#!/usr/bin/env python3
"""The plots of docs/map.md: 100 frames of two letters that deform, beside figures 6 and 8 of
Sud, Govindaraju, Gayle and Manocha 2006.

    abut demo letters --compare --json >cpu.json
    abut demo letters --compare --json --device gpu >gpu.json
    python3 bench/reproduce/sud/tables.py cpu.json gpu.json docs/pictures

The second file may be missing. Needs nothing but python3.
"""
import argparse
import json
import os
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2]))
from report import median, plot  # noqa: E402

CURVES = [  # key and words, with the colours on the CPU and on a device
    ("field_ms", "fields", ("#b3472f", "#e0a030")),
    ("built_ms", "fields, only built", ("#6b3020", "#8a6d1f")),
    ("map_ms", "maps", ("#2f6fae", "#2e8b57")),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("results", nargs="+", help="outputs of abut demo letters --compare --json: CPU, device")
    parser.add_argument("pictures", help="the folder that receives the plots")
    options = parser.parse_args()
    runs = [json.loads(pathlib.Path(path).read_text(encoding="utf-8"))["each_frame"] for path in options.results]
    curves = [(f"{words}, {place}", colours[i], [(frame, row[key]) for frame, row in enumerate(rows)])
              for i, (rows, place) in enumerate(zip(runs, ("CPU", "device"))) for key, words, colours in CURVES]
    reach = [row["relative_reach"] for row in runs[0]]
    ticks = list(range(0, 101, 20))
    plot(os.path.join(options.pictures, "map-reach.svg"), "How far samples are apart, as letters deform",
         "reach over that at rest", (0.9, 1.6), [("maps of 512 x 512", "#2f6fae", list(enumerate(reach)))],
         "frame", (0, 100), ticks, [0.9, 1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6])
    plot(os.path.join(options.pictures, "map-frames.svg"), "Two letters, distances both ways", "ms a frame", (0.1, 1000),
         curves, "frame", (0, 100), ticks)
    for name, _, points in curves:
        print(f"{name}: {len(points)} frames, median {median([ms for _, ms in points]):.3f} ms")
    print(f"reach: {min(reach):.3f} to {max(reach):.3f} of that at rest")


if __name__ == "__main__":
    main()
