"""Malmsten and Klasen 2005: CInDeR as published beside layers, over the falling spheres of section 5.1.

Renews the table and the plots of docs/layers.md, beside FCL and Bullet, if bench/peers/setup built those programs.
"""
from common import Row, reproduced
from report import load, plot, put_between, table

WORK = {
    "name": "Malmsten and Klasén 2005",
    "authors": "Markus Malmsten and Simon Klasén",
    "title": "Practical Collision Detection on the GPU: A Case Study Using CInDeR",
    "year": 2005,
    "links": "[layers](../layers.md) are the successor",
    "hardware": "not named",
}
FRAMES = 300
SPHERES = {50: "finds all concurrent collisions", 250: "about 30 at once, some lost"}  # section 5.1
WAYS = {"images": "images", "images, then exact": "exact", "one pair per pixel": "cinder", "with prevention": "prevented",
        "with prevention, three views": "views", "one pair per pixel, 1/16 as wide": "halved"}
COLOURS = {"images": "#2f6fae", "exact": "#7a4fa3", "world": "#2e8b57", "FCL": "#b3472f", "Bullet": "#e0a030"}
NAMES = {"images": "abut, images", "exact": "abut, images and exact", "world": "abut, world and pair"}


# ---- measuring ----

def measure_demo(context, scene, *words):
    """Found, missed and false pairs of all frames by method, and milliseconds of a frame."""
    found = context.abut("demo", scene, "--threads", "2", *words, accept=(0, 3))
    return {"frames": found["frames"], "exact_ms": found["exact_ms_a_frame"],
            **{WAYS[way["way"]]: {**{key: way[key] for key in ("found", "missed", "false")}, "ms": float(f"{way['ms_a_frame']:.4g}")}
               for way in found["ways"] if way["way"] in WAYS}}


def measure_peers(context, peers):
    """Milliseconds of a frame by number of spheres and triangles of each, then by who. Ours are the better of both runs."""
    for peer, who in (("fcl", "FCL"), ("bullet", "Bullet")):
        out = context.scratch / f"{peer}.json"
        context.run(context.build / f"peers/peer-{peer}", "--part", "crowd", "--out", out)
        for case in load(out)["cases"]:
            way, model = case["case"].split("/")[2:]
            times = peers.setdefault(model.split("-")[1], {})
            for name, value in ((way.split("-")[1], case["minimum_ms"]), (who, case["peer_minimum_ms"])):
                times[name] = min(times.get(name, value), value)


def measure(context, kept):
    cpu, frames = kept["cpu"], 4 if context.quick else FRAMES
    for spheres in SPHERES:
        cpu[f"stairs-{spheres}"] = measure_demo(context, "stairs", "--bodies", spheres // 5 if context.quick else spheres,
                                                "--frames", frames, "--compare")
    for scene in ("snow", "bounce"):
        cpu[scene] = measure_demo(context, scene, *(["--frames", frames] if context.quick else []))
    cpu["bench_ms"] = context.bench("layers/stairs-250", 2)["layers/stairs-250"]["median_ms"]
    if not context.quick and all((context.build / f"peers/peer-{peer}").exists() for peer in ("fcl", "bullet")):
        cpu["peers"] = {}
        measure_peers(context, cpu["peers"])
    if context.device:
        case = "layers/device-stairs-250"
        kept["device"]["bench_ms"] = context.bench(case, 1, device=context.device)[case]["median_ms"]


# ---- the pages ----

def score(run, way):
    return f"{run[way]['found']:,} found, {run[way]['missed']:,} missed, {run[way]['false']:,} false"


def page(kept):
    cpu, device = kept["cpu"], kept.get("device", {})
    interfere = "`abut interfere A B --images`"
    rows = [Row("figures 1 to 6: pipelines, models, point in solid", "diagrams without a result"),
            Row("figure 7: the test scene", interfere),
            Row("figure 8: colour by order of drawing", "not reproduced: layers do not depend on the order"),
            Row("figures 9 to 13: edges, depth, fronts, backs, result", interfere),
            Row("figure 14: self-interference of a dense mesh", "not reproduced: layers have none; the baseline filters it"),
            Row("algorithm 4, appendix A: seven passes", "`bench/reproduce/malmsten/cinder.c` is the baseline")]
    weaker = []
    for spheres, claim in SPHERES.items():
        run = cpu[f"stairs-{spheres}"]
        command = f"abut demo stairs --bodies {spheres} --frames {run['frames']} --compare"
        what = f"figure 15, section 5.1: {spheres} spheres on 11 steps, {run['frames']:,} frames"
        rows += [Row(f"{what}; pairs", reproduced(command), claim, score(run, "cinder"), score(run, "images")),
                 Row(f"{what}; pairs with `is_exact`", reproduced(command), claim, score(run, "cinder"), score(run, "exact")),
                 Row(f"{what}; image reduced to 1/16", reproduced(command), "no number", score(run, "halved"), score(run, "images"))]
        if "views" in run:
            rows += [Row(f"section 4.3.1.3: {spheres} spheres, self-interference prevented; pairs", reproduced(command), None,
                         score(run, "prevented"), score(run, "images")),
                     Row(f"section 4.3.1.3: {spheres} spheres, prevented, in three views; pairs", reproduced(command), None,
                         score(run, "views"), score(run, "images"))]
        if "ms" in run["cinder"]:
            rows.append(Row(f"{what}; time of a frame", reproduced(command), "no number", run["cinder"]["ms"], run["images"]["ms"]))
        if "views" in run:
            rows.append(Row(f"section 4.3.1.3: {spheres} spheres, prevented, in three views; time of a frame", reproduced(command),
                            None, run["views"]["ms"], run["images"]["ms"]))
        if run["images"]["missed"]:
            weaker.append(f"Images without `is_exact` miss {run['images']['missed']:,} of {run['images']['missed'] + run['images']['found']:,} "
                          f"pairs of {spheres} spheres.")
        if run["images"].get("ms", 0) > run.get("exact_ms", 0):
            weaker.append(f"On a CPU images are slower than exact tests with BVHs: {run['images']['ms']:.3g} ms a frame instead of "
                          f"{run['exact_ms']:.3g} ms with {spheres} spheres.")
    rows.append(Row("figure 15, section 5.1: 250 spheres that all move; time of a frame", reproduced("abut-bench --filter stairs-250"),
                    "no number", None, cpu["bench_ms"], device.get("bench_ms")))
    for scene, what, more in (("snow", "figure 16, section 5.2: snow on a bunny",
                               ", another model, which turns by itself; with `--live` the user turns and moves it"),
                              ("bounce", "figure 17, section 5.3: bounces by normals of edges", ", not coloured by normals")):
        run = cpu.get(scene)
        rows.append(Row(what, reproduced(f"abut demo {scene}") + more, "a picture", None, score(run, "exact") if run else None))
    weaker += ["The document reports no times. The baseline runs on the CPU, with images of 1,024 pixels for the whole scene: one "
               "view, and three with prevention, as layers have.",
               "Layers miss bodies that pass through each other between two frames, as CInDeR does; "
               "[sweeps](../sweep.md) find these."]
    return weaker, rows


def curves(points):
    return [(NAMES.get(who, who), colour, [(x, times[who]) for x, times in points]) for who, colour in COLOURS.items()]


def write(kept, docs):
    found = {tuple(map(int, model.split("x"))): times for model, times in kept["cpu"].get("peers", {}).items()}
    rows = [[f"{spheres:,}", f"{triangles:,}"] + [f"{times[who]:.3g} ms" for who in COLOURS]
            for (spheres, triangles), times in sorted(found.items(), key=lambda e: (e[0][1] != 320, e[0]))]
    head = ["spheres", "triangles of each", "images", "images and exact", "world and pair", "FCL", "Bullet"]
    put_between(docs / "layers.md", "table", table(head, rows))
    plot(docs / "pictures/layers-bodies.svg", "Which of many spheres and steps overlap", "ms a frame, one core", (0.01, 1000),
         curves([(n, times) for (n, t), times in found.items() if t == 320]), "spheres", (30, 10000))
    plot(docs / "pictures/layers-triangles.svg", "Which of 250 spheres and 11 steps overlap", "ms a frame, one core",
         (0.01, 1000), curves([(t, times) for (n, t), times in found.items() if n == 250]), "triangles of a sphere", (30, 10000))
