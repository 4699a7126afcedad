"""Malmsten and Klasen 2005: CInDeR as published beside layers, over the falling spheres of section 5.1.

Renews the table and the plots of docs/layers.md, beside FCL and Bullet, if bench/peers/setup built those programs.
"""
import json

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
        "with prevention, three views": "views", "one pair per pixel, 1/16 as wide": "halved",
        "halved as long as no pair is lost": "steered", "pixels with a pair packed": "packed",
        "edges offset by a pixel": "offset"}
BETWEEN = {"images of both frames": "images", "one pair per pixel, both frames": "cinder", "sweeps": "sweeps"}
SPEED, FAST_FRAMES = 10, 100  # of fast bodies
DENSE = (4, 16, 64)  # segments of spheres: 320, 5,120, 81,920 triangles
COLOURS = {"images": "#2f6fae", "exact": "#7a4fa3", "world": "#2e8b57", "FCL": "#b3472f", "Bullet": "#e0a030"}
NAMES = {"images": "abut, images", "exact": "abut, images and exact", "world": "abut, world and pair"}


# ---- measuring ----

def measure_demo(context, scene, *words):
    """Found, missed and false pairs of all frames by method, processor time of a frame, and what passes between frames."""
    found = context.abut("demo", scene, "--threads", "2", *words, accept=(0, 3))
    run = {"frames": found["frames"], "exact_ms": float(f"{found['exact_processor_ms_a_frame']:.4g}")}
    for way in found["ways"]:
        if name := WAYS.get(way["way"]):
            run[name] = {key: way[key] for key in ("found", "missed", "false")}
            run[name]["ms"] = float(f"{way['processor_ms_a_frame']:.4g}")
            run[name] |= {short: round(way[key], 1) for short, key in (("read", "pixels_read_a_frame"), ("self", "self_pixels_a_frame"))
                          if key in way}
    if "between" in found:
        run["between"] = {BETWEEN[way["between frames"]]: {key: way[key] for key in ("found", "missed", "more") if key in way}
                          for way in found["between"]}
        run["sweeps_ms"] = float(f"{found['between'][-1]['processor_ms_a_frame']:.4g}")
    return run


def measure_self(context, *words):
    """What CInDeR reports of a dense mesh inside itself."""
    return json.loads(context.run(context.build / "abut-cinder", *words))


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
    for scene in ("stairs", "snow"):
        few = ["--bodies", "50", "--resolution", "256"] if context.quick else []
        cpu[f"fast-{scene}"] = measure_demo(context, scene, "--frames", min(frames, FAST_FRAMES), "--speed", SPEED, "--compare", *few)
    cpu["self"] = {"critter": measure_self(context)}
    for segments in DENSE[:2] if context.quick else DENSE:
        cpu["self"][f"sphere-{segments}"] = measure_self(context, context.make("icosphere", segments))
    for scene in ("snow", "bounce"):
        cpu[scene] = measure_demo(context, scene, *(["--frames", frames] if context.quick else []))
    found = context.bench("layers/stairs-250", 2)["layers/stairs-250"]
    cpu["bench_ms"] = round(found["cpu_ms"], 3)
    if not context.quick and all((context.build / f"peers/peer-{peer}").exists() for peer in ("fcl", "bullet")):
        cpu["peers"] = {}
        measure_peers(context, cpu["peers"])


def measure_device(context, kept):
    case = "layers/device-stairs-250"
    kept["device"]["bench_ms"] = context.bench(case, 1, device=context.device)[case]["median_ms"]


# ---- the pages ----

def score(run, way):
    return f"{run[way]['found']:,} found, {run[way]['missed']:,} missed, {run[way]['false']:,} false"


def read(run, way):
    return f"{score(run, way)}; {run[way]['read']:,.0f} pixels read"


def self_rows(found):
    """Section 4.3.1: the mesh of figure 14, and spheres of more and more triangles."""
    dense, spheres = found["critter"], [found[key] for key in found if key.startswith("sphere")]
    command, none = reproduced("abut-cinder - self.png"), "none: a solid is no pair with itself"
    ball = dense["ball_pixels"]

    def share(mesh):
        return f"{mesh['self_pixels']:,} of {mesh['edge_pixels']:,}"

    offsets = ", ".join(f"{entry['self_pixels']:,}" for entry in dense["offsets"])
    sizes = ", ".join(f"{entry['pixels']:g}" for entry in dense["offsets"])
    return [Row(f"figure 14: self-interference of a dense mesh of {dense['triangles']:,} triangles; pixels",
                f"{command}, [picture](../pictures/cinder-self.png)", "a picture",
                f"{dense['self_pixels']:,} of {dense['edge_pixels']:,} with edges", none),
            Row("section 4.3.1: spheres of " + ", ".join(f"{mesh['triangles']:,}" for mesh in spheres) +
                " triangles; of pixels with edges", reproduced("abut-cinder sphere.obj"), "more polygons, more self-interference",
                "; ".join(map(share, spheres)), none),
            Row(f"section 4.3.1.1: the mesh of figure 14, edges offset by {sizes} pixel sizes; pixels", command,
                "no offset removes all", offsets, none),
            Row("section 4.3.1.2: the mesh of figure 14, filtered; pixels of a ball in it", command,
                "true collisions can be overwritten",
                f"{ball['filtered']:,}; with prevention {ball['prevented']:,}", none),
            Row("section 4.3.1.3: the mesh of figure 14, prevented; pixels", command, "proposed",
                f"{dense['prevented_self_pixels']:,}", none)]


def fast_row(cpu, scene, what):
    run = cpu[f"fast-{scene}"]
    found = run["between"]

    def of(who):
        return f"{found[who]['found']:,} found, {found[who]['missed']:,} missed"

    return Row(f"section 5.2: {what} at {SPEED} times the speed, {run['frames']:,} frames; pairs between frames",
               reproduced(f"abut demo {scene} --frames {run['frames']} --speed {SPEED} --compare"), "may pass through between two frames",
               of("cinder"), f"images: {of('images')}; sweeps: {of('sweeps')}, {run['sweeps_ms']:.3g} ms a frame")


def page(kept):
    cpu, device = kept["cpu"], kept.get("device", {})
    interfere = "`abut interfere A B --images`"
    rows = [Row("figures 1 to 6: pipelines, models, point in solid", "diagrams without a result"),
            Row("figure 7: the test scene", interfere),
            Row("figure 8: colour by order of drawing", "not reproduced: layers do not depend on the order"),
            Row("figures 9 to 13: edges, depth, fronts, backs, result", interfere),
            *self_rows(cpu["self"]),
            Row("algorithm 4, appendix A: seven passes", "`bench/reproduce/malmsten/cinder.c` is the baseline")]
    weaker = []
    for spheres, claim in SPHERES.items():
        run = cpu[f"stairs-{spheres}"]
        command = f"abut demo stairs --bodies {spheres} --frames {run['frames']} --compare"
        what = f"figure 15, section 5.1: {spheres} spheres on 11 steps, {run['frames']:,} frames"
        rows += [Row(f"{what}; pairs", reproduced(command), claim, score(run, "cinder"), score(run, "images")),
                 Row(f"{what}; pairs with `is_exact`", reproduced(command), claim, score(run, "cinder"), score(run, "exact")),
                 Row(f"section 4.3.1.1: {spheres} spheres, edges offset by a pixel; pairs", reproduced(command),
                     "more missed and more false", score(run, "offset"), score(run, "images")),
                 Row(f"section 4.3.1.3: {spheres} spheres, self-interference prevented; pairs", reproduced(command), None,
                     score(run, "prevented"), score(run, "images")),
                 Row(f"section 4.3.1.3: {spheres} spheres, prevented, in three views; pairs", reproduced(command), None,
                     score(run, "views"), score(run, "images")),
                 Row(f"section 4.3.2: {spheres} spheres, image not reduced", reproduced(command), None, read(run, "cinder"),
                     score(run, "images")),
                 Row(f"section 4.3.2.2: {spheres} spheres, image reduced to 1/16 of its width", reproduced(command), "no number",
                     read(run, "halved"), score(run, "images")),
                 Row(f"section 4.3.2.3: {spheres} spheres, reduced as long as nothing is lost", reproduced(command), "proposed",
                     read(run, "steered"), score(run, "images")),
                 Row(f"section 4.3.2.4: {spheres} spheres, pixels with a pair packed", reproduced(command), "proposed",
                     read(run, "packed"), score(run, "images")),
                 Row(f"{what}; time of a frame", reproduced(command), "no number", run["cinder"]["ms"], run["images"]["ms"]),
                 Row(f"section 4.3.1.3: {spheres} spheres, prevented, in three views; time of a frame", reproduced(command),
                     None, run["views"]["ms"], run["images"]["ms"])]
        if run["images"]["missed"]:
            weaker.append(f"Images without `is_exact` miss {run['images']['missed']:,} of {run['images']['missed'] + run['images']['found']:,} "
                          f"pairs of {spheres} spheres.")
        if run["images"]["ms"] > run["exact_ms"]:
            weaker.append(f"On a CPU images are slower than exact tests with BVHs: {run['images']['ms']:.3g} ms a frame instead of "
                          f"{run['exact_ms']:.3g} ms with {spheres} spheres.")
    rows.append(Row("figure 15, section 5.1: 250 spheres that all move; time of a frame", reproduced("abut-bench --filter stairs-250"),
                    "no number", None, cpu["bench_ms"], device.get("bench_ms")))
    for scene, what, more in (("snow", "figure 16, section 5.2: snow on a bunny",
                                ", another model, which turns by itself; with `--live` the user turns and moves it"),
                              ("bounce", "figure 17, section 5.3: bounces by normals of edges",
                               ", colours by normals: [picture](../pictures/bounce.png)")):
        run = cpu.get(scene)
        rows.append(Row(what, reproduced(f"abut demo {scene}") + more, "a picture", None, score(run, "exact") if run else None))
    rows += [fast_row(cpu, "stairs", "250 spheres"), fast_row(cpu, "snow", "500 flakes and the model")]
    fast = cpu["fast-stairs"]["between"]["images"]
    weaker += [f"Layers miss bodies that pass through each other between two frames, as CInDeR does: {fast['missed']:,} of "
               f"{fast['missed'] + fast['found']:,} pairs of spheres at {SPEED} times the speed. [Sweeps](../sweep.md) find all of "
               "them. The reference are exact tests at 17 instants of each step.",
               "The document reports no times. The baseline runs on the CPU, with images of 1,024 pixels for the whole scene: one "
               "view, and three with prevention, as layers have.",
               "Times of frames are processor times of all threads, since other work shared the machine. The frame in which all "
               "spheres move is elapsed time on two threads, and therefore longer than [on an idle machine](../layers.md#performance).",
               "Only the sums of pairs leave layers, so there is no number of pixels that are read."]
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
