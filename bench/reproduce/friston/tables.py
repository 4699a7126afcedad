"""Friston and Steed 2019: table 1, by radial fields and the three methods that the paper compares with.

Garments are simulated once for each condition, and recorded: into the folder that ABUT_BENCH_RECORDINGS names, otherwise
into a temporary one. All methods replay them. Renews the tables of docs/radial_table.md.
"""
import os

from common import Row, is_number, reproduced, times
from report import put_between, read_lines, table

WORK = {
    "name": "Friston and Steed 2019",
    "authors": "Sebastian Friston and Anthony Steed",
    "title": "Real-Time Collision Detection for Deformable Characters with Radial Fields",
    "year": 2019,
    "links": "[radial fields compared with other methods](../radial_table.md) has more tables",
    "hardware": "a GeForce GTX 1080",
    "times": "Times on the CPU are processor time of one thread, as a mean over the frames.",
}
RIVALS = ["skin", "radial", "band", "field", "hash", "fitted-hash", "tree", "nearest", "sweep"]  # cases of abut-bench
NAMES = {"band": "narrow-band distance fields", "hash": "spatial hash", "tree": "BVH"}
HEADLINES = {"band": 27, "hash": 4.5, "tree": 2.9}  # section 10.1: mean speed-up of radial fields
NOTE = "Processor time of one thread, on a machine with other work: the least of two runs of each frame."
REPEAT_CPU, REPEAT_DEVICE = 1, 4  # after a first run, which counts too

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
ORDER = ["radial", "band", "field", "hash", "fitted-hash", "tree", "nearest", "sweep"]
COLUMNS = 3  # memory, update, collide


def key(place, part):
    """Which time of a frame counts: the least on a CPU that has other work too, the median on a device."""
    return part + ("_least_ms" if place == "CPU" else "_ms")


def number(value):
    """Three digits, as a person writes them."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 1 else \
        f"{value:.3f}"


def numbers(head, rows):
    return [*table(head, rows, right=True), ""]


def tables_of_place(lines, place, names):
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
    return numbers(head, rows)


def tables_of_paper(names):
    rows = [[str(c), str(triangles), str(particles)] + [f"{x:.2f}" for name in names for x in figures[name]]
            for c, (triangles, particles, figures) in PAPER.items()]
    return numbers(["C.", "triangles", "particles"] + [word for name in names for word in (f"{name} MB", "upd.", "coll.")], rows)


def together(line, place):
    """Update and collide: on a device with one wait, where that was timed."""
    return line.get("step_ms") or line[key(place, "update")] + line[key(place, "collide")]


def tables_of_sums(lines, place, names, skin):
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
    return numbers(["C.", "paper, radial"] + names + (["skin"] if skin else []), rows)


def tables_of_clock(lines, place, names):
    """The device's own time of update and collide: without the time in which the host waits."""
    names = [name for name in names
             if name != "sweep" and any(lines.get((c, name, place), {}).get("update_clock_ms") for c in PAPER)]
    if not names:
        return []
    rows = []
    for condition in PAPER:
        row = [str(condition)]
        for name in names:
            line = lines.get((condition, name, place))
            row += [f"{line['update_clock_ms']:.3f}", f"{line['collide_clock_ms']:.3f}",
                    f"{line['queued_frame_ms']:.3f}"] if line else ["–"] * COLUMNS
        rows.append(row)
    return ["By the clock of the device, and a frame with synchronisation after every sixth frame only:", "",
            *numbers(["C."] + [word for name in names for word in (f"{name} upd.", "coll.", "frame")], rows)]


def tables_of_inside(lines, place, names):
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
    return numbers(["C.", "target inside", "by a cell"] + names, rows)


def old_tables(kept):
    lines = by_key(kept)
    names = [name for name in ORDER if any(key[1] == name for key in lines)]
    text = ["## The paper: GTX 1080, ms", "", *tables_of_paper(["radial", "band", "hash", "tree"])]
    for place in sorted({key[2] for key in lines}):
        here = [name for name in names if any(key[1:] == (name, place) for key in lines)]
        text += [f"## {place}: update and collide together, ms", "", *tables_of_sums(lines, place, here, place == "CPU"),
                 f"## {place}: memory in MB, update and collide in ms", "", *tables_of_place(lines, place, here),
                 *tables_of_clock(lines, place, here),
                 f"## {place}: of a thousand particles, inside by more than 1 mm / 1 cm at the end", "",
                 *tables_of_inside(lines, place, here)]
    return text[:-1]


def write(kept, docs):
    put_between(docs / "radial_table.md", "tables", old_tables(kept))


# ---- measuring ----

def by_key(kept):
    return {(line["condition"], line["rival"], line["place"]): line for place in ("cpu", "device") if place in kept
            for line in kept[place].get("lines", [])}


def measure_lines(context, prefix, rivals, repeat):
    """One line of results for each condition and rival."""
    out = context.scratch / "rivals.jsonl"
    recordings = os.environ.get("ABUT_BENCH_RECORDINGS", context.scratch)
    out.write_text("", encoding="utf-8")
    for rival in rivals:
        context.bench(f"rivals/{prefix}{rival}", 1, repeat, context.device or "cpu", ABUT_BENCH_RIVALS=out, ABUT_BENCH_RECORDINGS=recordings)
    lines = {(line["condition"], line["rival"]): line for line in read_lines([out])}  # the last counts
    if context.quick:  # one tiny scene is measured, condition 0
        lines = {(condition, rival): {**line, "condition": condition} for condition in PAPER for (_, rival), line in lines.items()}
    return list(lines.values())


def measure(context, kept):
    kept["cpu"]["lines"] = measure_lines(context, "", RIVALS, REPEAT_CPU)
    kept["cpu"]["note"] = NOTE


def measure_device(context, kept):
    kept["device"]["lines"] = measure_lines(context, "device-", RIVALS[1:], REPEAT_DEVICE)


# ---- the page of docs/reproduce ----

def sums(lines, place, rival):
    """Update and collide in ms by condition; in the paper where there is no place."""
    if not place:
        return {c: figures[rival][1] + figures[rival][2] for c, (_, _, figures) in PAPER.items()}
    return {c: together(lines[c, rival, place], place) for c in PAPER if (c, rival, place) in lines}


def mean_ratio(lines, place, rival):
    """Mean over the conditions of the time of a rival over that of radial fields."""
    theirs, ours = sums(lines, place, rival), sums(lines, place, "radial")
    ratios = [theirs[c] / ours[c] for c in ours if c in theirs]
    return sum(ratios) / len(ratios) if ratios else None


def shown(value):
    return f"{value:.3g} times" if is_number(value) else None


def page(kept):
    lines = by_key(kept)
    device = next((key[2] for key in lines if key[2] != "CPU"), None)
    command = reproduced("abut-bench --filter rivals/")
    rows = [Row("figures 1, 2, 3: coordinates, motion in a field, a cell", "diagrams without a result"),
            Row("figure 4: avatars and clothes", "own [characters](../character.md) and [garments](../garment.md), with as many triangles and particles")]
    means = {rival: [mean_ratio(lines, place, rival) for place in (None, "CPU", device)] for rival in HEADLINES}
    for rival, claim in HEADLINES.items():
        paper, cpu, there = means[rival]
        rows.append(Row(f"section 10.1: mean speed-up over {NAMES[rival]}", "mean of the ratios below",
                        f"{claim} times ({paper:.3g} by its table)", None, shown(cpu), shown(there)))
    ours, there = sums(lines, "CPU", "radial"), sums(lines, device, "radial") if device else {}
    for c, (triangles, particles, figures) in PAPER.items():
        rows.append(Row(f"table 1, condition {c}, {triangles:,} triangles, {particles:,} particles: radial fields", command,
                        sum(figures["radial"][1:]), None, ours[c], there.get(c)))
        for rival, words in NAMES.items():
            theirs, theirs_there = sums(lines, "CPU", rival)[c], (sums(lines, device, rival) if device else {}).get(c)
            ratio = f"{times(theirs, ours[c])} (baseline)"
            if theirs_there and c in there:
                ratio += f", on the H200 {times(theirs_there, there[c])}"
            rows.append(Row(f"table 1, condition {c}: {words}", command, sum(figures[rival][1:]), theirs, ours[c], there.get(c),
                            f"{ratio}; paper {times(sum(figures[rival][1:]), sum(figures['radial'][1:]))}"))
        megabytes = lines[c, "radial", "CPU"]["bytes"] / 1e6
        rows.append(Row(f"table 1, condition {c}: memory of radial fields", command, f"{figures['radial'][0]} MB", None,
                        f"{megabytes:.3g} MB", f"{lines[c, 'radial', device]['bytes'] / 1e6:.3g} MB" if c in there else None))
    weaker = []
    for rival, claim in HEADLINES.items():
        _, cpu, device_mean = means[rival]
        words = f"{cpu:.2g} times on the CPU" + (f" and {device_mean:.2g} times on the H200" if device_mean else "")
        if min(cpu, device_mean or cpu) < claim:
            weaker.append(f"The paper claims that radial fields are {claim} times as fast as {NAMES[rival]}, as a mean of the ten "
                          f"conditions. Here it is {words}.")
    fewer = [str(c) for c in there if there[c] > 0.5 * (PAPER[c][2]["radial"][1] + PAPER[c][2]["radial"][2])]
    if fewer:
        weaker.append(f"An H200 takes more than half of the time of the paper's GTX 1080 in conditions {', '.join(fewer)}.")
    weaker.append("The rasteriser of the GPU is not used: radial fields are drawn by compute kernels. There is no plug-in for a game "
                  "engine; [a loop as in an engine](../radial.md#in-a-game-engine) is an example.")
    return weaker, rows
