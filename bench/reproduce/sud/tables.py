"""Sud, Govindaraju, Gayle and Manocha 2006: maps of deforming bodies (sections 5 and 6), beside the paper's own algorithm
(rasterised.h) and fields.

Draws the plots of docs/map.md: 100 frames of two letters that deform.
"""
import json

from common import Row, reproduced, show, times
from report import median, plot

WORK = {
    "name": "Sud, Govindaraju, Gayle and Manocha 2006",
    "authors": "Avneesh Sud, Naga Govindaraju, Russell Gayle and Dinesh Manocha",
    "title": "Surface Distance Maps",
    "year": 2006,
    "links": "[surface distance maps](../map.md) are the successor",
    "hardware": "an Opteron at 2.4 GHz with a GeForce 7800 GTX",
}
CASES = {"letters": 110, "solids": 300, "figure": 600}  # ms of figures 3, 7 and 1
SPEED_UP = "5 to 10 times as fast as fields"  # figure 8, 180 x 150 x 256 cells
RASTERISED = {"letters": 20, "solids": 16, "figure": 16, "scans": 3}  # frames
CURVES = [  # key and words, with the colours on the CPU and on a device
    ("field_ms", "fields", ("#b3472f", "#e0a030")),
    ("built_ms", "fields, only built", ("#6b3020", "#8a6d1f")),
    ("map_ms", "maps", ("#2f6fae", "#2e8b57")),
]


def compare_letters(context, *words):
    frames = ["--frames", "1"] if context.quick else []
    rows = context.abut("demo", "letters", "--compare", "--threads", "2", *frames, *words)["each_frame"]
    return [{key: float(f"{value:.4g}") for key, value in row.items()} for row in rows]


def compare_rasterised(context, case, frames):
    """The paper's algorithm and ours, alternately, frame by frame, with one thread: medians of processor times, and of their
    quotients in each frame."""
    path = context.scratch / "sud.jsonl"
    path.unlink(missing_ok=True)
    context.bench(f"sud/{case}", threads=1, repeat=frames, ABUT_BENCH_SUD=path)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    found = {key: median([line[key] for line in lines]) for key in ("theirs_ms", "ours_ms", "field_ms", "pairs", "polygons",
                                                                    "fragments", "samples")}
    found["ratio"] = median([line["theirs_ms"] / line["ours_ms"] for line in lines])
    found["field_ratio"] = median([line["field_ms"] / line["theirs_ms"] for line in lines])
    found.update({key: max(line[key] for line in lines) for key in ("missing", "signs", "max_error")})
    return {key: float(f"{value:.4g}") for key, value in found.items()}


def measure_rasterised(context, kept):
    kept["baseline"] = {**context.machine(),
                        "cases": {case: compare_rasterised(context, case, frames) for case, frames in RASTERISED.items()}}


def measure(context, kept):
    measure_rasterised(context, kept)
    cases = {name: context.bench(f"map/{name}")[f"map/{name}"]["median_ms"] for name in CASES}
    kept["cpu"].update(cases={name: round(ms, 3) for name, ms in cases.items()}, frames=compare_letters(context))


def measure_device(context, kept):
    cases = {name: context.bench(f"map/device-{name}", 1, device=context.device)[f"map/device-{name}"]["median_ms"]
             for name in CASES}
    kept["device"].update(cases={name: round(ms, 3) for name, ms in cases.items()},
                          frames=compare_letters(context, "--device", context.device))


def medians(place):
    """Of a frame in ms: fields, fields without their evaluation, maps. Old results have only these."""
    if "frames" in place:
        return {key: median([row[key] for row in place["frames"]]) for key, *_ in CURVES}
    return place.get("medians", {})


def accuracy(cases):
    found = [max(case[key] for case in cases) for key in ("max_error", "signs", "missing")]
    return f"{found[0]:.1g} at most; {found[1]:.0f} wrong signs and {found[2]:.0f} missing texels"


def culling(case):
    return (f"{case['pairs']:,.0f} pairs of triangle and site, {case['polygons']:,.0f} polygons, "
            f"{case['fragments'] / case['samples']:.2g} fragments for each texel")


def page(kept):
    cpu, device = kept["cpu"], kept.get("device", {})
    there, both = device.get("cases", {}), (medians(cpu), medians(device))
    reach = [row["relative_reach"] for row in cpu["frames"]]
    built = both[0]["built_ms"] / both[0]["map_ms"]

    theirs = kept["baseline"]["cases"]

    def case(name, what, more=""):
        ours = there.get(name, cpu["cases"][name])
        ratio = f"{theirs[name]['ratio']:.2g} (baseline), {times(CASES[name], ours)} (document)"
        return Row(what, reproduced(f"abut-bench --filter map/{name}") + ", " + reproduced(f"sud/{name}") + more, CASES[name],
                   f"{show(theirs[name]['theirs_ms'])}, one thread; ours {show(theirs[name]['ours_ms'])}",
                   cpu["cases"][name], there.get(name), ratio)

    rows = [
        case("figure", "figure 1: distances between Hugo (17,200 triangles) and a box, 256 x 256", ", 16,368 triangles of another model; [pictures](../map.md#figures-1-and-6)"),
        Row("figures 2, 4, 5: affine maps and spacing of samples", "diagrams without a result"),
        case("letters", "figure 3, section 6.2: E and G, 3,700 triangles, 512 x 512", ", 3,832 triangles"),
        Row("figure 3, section 6.2: speed-up over fields for E and G", reproduced("abut demo letters --compare"),
            "8 times as fast", both[0]["field_ms"], both[0]["map_ms"], both[1].get("map_ms")),
        Row("figure 6: reach of samples over that at rest, 512 x 512", reproduced("abut demo letters --plot reach.svg"),
            "a plot", None, f"{min(reach):.3g} to {max(reach):.3g}"),
        case("solids", "figure 7, section 6.2: two deforming bunnies of 2,000 triangles, 512 x 512", ", two other solids; 300 to 320 ms there"),
        Row("figure 8: speed-up over fields, construction only", reproduced("abut demo letters --compare"),
            SPEED_UP, both[0]["built_ms"], both[0]["map_ms"], both[1].get("map_ms")),
        Row("figure 8: speed-up of algorithm 1 over fields with 256 cells along the longest side, construction only",
            reproduced("abut-bench --filter sud/letters"), SPEED_UP,
            f"{show(theirs['letters']['theirs_ms'])}, one thread",
            f"fields {show(theirs['letters']['field_ms'])}, one thread", None,
            f"{theirs['letters']['field_ratio']:.2g} times as fast as fields"),
        Row("algorithm 1, section 5.1: difference from exact distances, in sizes of a body", reproduced("abut-bench --filter sud/"),
            "32-bit floats", accuracy(theirs.values()), "0: the reference"),
        Row("algorithm 1, section 4: culling for E and G", reproduced("abut-bench --filter sud/letters"), None,
            culling(theirs["letters"]), "no such pairs"),
        Row("algorithm 1 with two scans of 100,000 triangles that nearly coincide, 1040 x 1040",
            reproduced("abut-bench --filter sud/scans"), None, f"{show(theirs['scans']['theirs_ms'])}, one thread",
            f"{show(theirs['scans']['ours_ms'])}, one thread", None, f"{theirs['scans']['ratio']:.2g} (baseline)"),
    ]
    weaker = [f"On a CPU their algorithm, in floats, takes {theirs['letters']['ratio']:.2g} times the processor time of ours for the "
              f"letters, {theirs['solids']['ratio']:.2g} times for the solids, and {theirs['figure']['ratio']:.2g} times for the teapot "
              "in a box. We use their map and our search. The search itself takes a tenth of the time of a frame. The remainder is "
              "the distance in doubles to each triangle that may be closest, and its sign. "
              f"For two scans their algorithm takes {theirs['scans']['ratio']:.2g} times as long as ours.",
              "There is no version of their algorithm for a device.",
              "The baseline of figure 8 is a field of abut, not linear factorisation. In *speed-up over fields* its cells give "
              "equal accuracy. With the 256 cells of the paper along the longest side fields take less time: see "
              "[the comparison](../map.md#comparison-with-fields).",
              "Hugo and the bunnies are other models with as many triangles."]
    if both[1]:
        built_there = both[1]["built_ms"] / both[1]["map_ms"]
        rows[6].ratio = f"{built:.3g} (baseline), on the H200 {built_there:.3g}"
    for ratio, where in ((built, "two cores"), (built_there if both[1] else 5, "the H200")):
        if ratio < 5:
            weaker.insert(0, f"On {where} maps are {ratio:.2g} times as fast as the construction of fields. The paper claims 5 to 10 times.")
    return weaker, rows


def write(kept, docs):
    places = [(kept[place]["frames"], name) for place, name in (("cpu", "CPU"), ("device", "device"))
              if "frames" in kept.get(place, {})]
    curves = [(f"{words}, {name}", colours[i], [(frame, row[key]) for frame, row in enumerate(rows)])
              for i, (rows, name) in enumerate(places) for key, words, colours in CURVES]
    reach = [row["relative_reach"] for row in kept["cpu"]["frames"]]
    ticks = list(range(0, 101, 20))
    plot(docs / "pictures/map-reach.svg", "How far samples are apart, as letters deform",
         "reach over that at rest", (0.9, 1.6), [("maps of 512 x 512", "#2f6fae", list(enumerate(reach)))],
         "frame", (0, 100), ticks, [0.9, 1, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6])
    if len(places) == 2:  # the plot shows both
        plot(docs / "pictures/map-frames.svg", "Two letters, distances both ways", "ms a frame", (0.1, 1000),
             curves, "frame", (0, 100), ticks)
