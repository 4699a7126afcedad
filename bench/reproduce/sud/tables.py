#!/usr/bin/env python3
"""The plots of docs/map.md: 100 frames of two letters that deform, beside figures 6 and 8 of
Sud, Govindaraju, Gayle and Manocha 2006.

    ABUT_BENCH_FRAMES=cpu.csv build/release/abut-bench --filter letters --threads 2 --repeat 100
    ABUT_BENCH_FRAMES=gpu.csv build/release/abut-bench --filter letters --device gpu --repeat 100
    python3 bench/reproduce/sud/tables.py cpu.csv gpu.csv docs/pictures

Files that are there already are added to; the least time of a frame counts. Needs nothing but
python3.
"""
import csv
import os
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2]))
from report import median, plot  # noqa: E402

CURVES = [
    ("map/field-letters", "fields, 2 cores", "#b3472f"),
    ("map/letters", "maps, 2 cores", "#2f6fae"),
    ("map/device-field-letters", "fields, H200", "#e0a030"),
    ("map/device-field-letters, built", "only built", "#8a6d1f"),
    ("map/device-letters", "maps, H200", "#2e8b57"),
]


def read(paths):
    """Milliseconds, and reach over that at rest, by case and frame."""
    times, reach = {}, {}
    for path in paths:
        with open(path, encoding="utf-8", newline="") as file:
            for name, frame, ms, found_ms, relative in csv.reader(file):
                for name, ms in ((name, ms), (name + ", built", found_ms)):
                    frames = times.setdefault(name, {})
                    frames[int(frame)] = min(frames.get(int(frame), float("inf")), float(ms))
                if float(relative) > 0:
                    reach[int(frame)] = float(relative)
    return times, reach


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    times, reach = read(sys.argv[1:-1])
    ticks = list(range(0, 101, 20))
    plot(os.path.join(sys.argv[-1], "map-reach.svg"), "How far samples are apart, as letters deform",
         "reach over that at rest", (0.9, 1.6), [("maps of 512 x 512", "#2f6fae", list(reach.items()))],
         "frame", (0, 100), ticks, [0.9, 1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6])
    plot(os.path.join(sys.argv[-1], "map-frames.svg"), "Two letters, distances both ways", "ms a frame", (0.1, 1000),
         [(words, colour, list(times[name].items())) for name, words, colour in CURVES if name in times],
         "frame", (0, 100), ticks)
    for name, frames in times.items():
        print(f"{name}: {len(frames)} frames, median {median(frames.values()):.3f} ms")
    print(f"reach: {min(reach.values()):.3f} to {max(reach.values()):.3f} of that at rest")


if __name__ == "__main__":
    main()
