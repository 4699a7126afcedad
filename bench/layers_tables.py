#!/usr/bin/env python3
"""The table and the plots of docs/layers.md: which of many bodies overlap, beside FCL and Bullet.

    build/release/peers/peer-fcl --part crowd --out fcl.json
    build/release/peers/peer-bullet --part crowd --out bullet.json
    python3 bench/layers_tables.py fcl.json bullet.json docs/layers.md docs/pictures

Puts the table between the two marks of the page, and draws the plots as SVG. Ours are the better
figures of both runs. Needs nothing but python3.
"""
import json
import os
import sys

from field_tables import plot

BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"
WAYS = ["world", "images", "exact"]
COLOURS = {"images": "#2f6fae", "exact": "#7a4fa3", "world": "#2e8b57", "FCL": "#b3472f", "Bullet": "#e0a030"}
NAMES = {"images": "abut, images", "exact": "abut, images and exact", "world": "abut, world and pair"}


def read(paths):
    """Milliseconds of a frame by (spheres, triangles of each), then by who."""
    found = {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for case in json.load(file)["cases"]:
                _, peer, way, model = case["case"].split("/")
                spheres, triangles = model.split("-")[1].split("x")
                times = found.setdefault((int(spheres), int(triangles)), {})
                way = way.split("-")[1]
                who = {"fcl": "FCL", "bullet": "Bullet"}[peer]
                for name, value in ((way, case["minimum_ms"]), (who, case["peer_minimum_ms"])):
                    times[name] = min(times.get(name, value), value)
    return found


def table(found):
    lines = ["| spheres | triangles of each | images | images and exact | world and pair | FCL | Bullet |",
             "|---|---|---|---|---|---|---|"]
    for (spheres, triangles), times in sorted(found.items(), key=lambda e: (e[0][1] != 320, e[0])):
        cells = [f"{spheres:,}", f"{triangles:,}"]
        cells += [f"{times[who]:.3g} ms" for who in ("images", "exact", "world", "FCL", "Bullet")]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def curves(points):
    return [(NAMES.get(who, who), COLOURS[who], [(x, times[who]) for x, times in points])
            for who in COLOURS]


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    found = read(sys.argv[1:3])
    page_path, pictures = sys.argv[3:]
    with open(page_path, encoding="utf-8") as file:
        page = file.read()
    before, rest = page.split(BEGIN)
    with open(page_path, "w", encoding="utf-8") as file:
        file.write(before + BEGIN + "\n" + "\n".join(table(found)) + "\n" + END + rest.split(END)[1])
    plot(os.path.join(pictures, "layers-bodies.svg"), "Which of many spheres and steps overlap",
         "ms a frame, one core", (0.01, 1000),
         curves([(n, times) for (n, t), times in found.items() if t == 320]), "spheres", (30, 10000))
    plot(os.path.join(pictures, "layers-triangles.svg"), "Which of 250 spheres and 11 steps overlap",
         "ms a frame, one core", (0.01, 1000),
         curves([(t, times) for (n, t), times in found.items() if n == 250]), "triangles of a sphere",
         (30, 10000))


if __name__ == "__main__":
    main()
