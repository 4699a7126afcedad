#!/usr/bin/env python3
"""Simulates scenes in physics engines, with contacts of abut and with those of the engine, in one run.

    python3 bench/peers/scenes.py [--build FOLDER] [--out FILE] [--markdown FILE] [--seconds S] [SCENE...]

examples/fits.c has the scenes, and judges all engines alike. ODE and Bullet are programs of the build. MuJoCo takes part
if the Python package mujoco is installed; it replaces meshes by their convex hulls, and with the package abut it gets
contacts of abut, too. Times are processor time of one process: collision, solver and broad phase.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

SCENES = {"peg": "a peg slides down a square hole, clearance 0.2 %", "tray": "a cube slides into a tilted tray",
          "stack": "a stack of 10 cubes", "wall": "a wall of 22 bricks", "dominoes": "12 dominoes; the first is pushed",
          "shot": "a ball at 100 m/s onto a plate of 0.002", "chain": "a chain of 50 rings",
          "pile": "21 rings, tubes and letters in a bowl", "bowl": "200 rings, tubes and letters in a bowl"}
WAYS = [("ODE", "abut"), ("ODE", "trimesh"), ("Bullet", "abut"), ("Bullet", "GImpact"), ("MuJoCo", "abut"), ("MuJoCo", "hulls")]
OBSERVED = 20  # steps between observations


def lines_of(words):
    done = subprocess.run([str(word) for word in words], check=False, stdout=subprocess.PIPE, text=True)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(map(str, words))} ended with {done.returncode}")
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def run_program(program, engine, own, scene, seconds):
    if not program.exists():
        return {}
    lines = lines_of([program, "--compare", "--json", *(["--seconds", seconds] if seconds else []), scene])
    return {(engine, "abut" if line["contacts"] == "abut" else own): line for line in lines}


def model_of(scene, folder):
    """The scene in MuJoCo's format. A mesh of a fixed body may be concave; its hull then replaces it."""
    text = [f'<mujoco><compiler meshdir="{folder}"/><option timestep="{scene["step"]}" cone="elliptic"/><asset>']
    for mesh in sorted({body["mesh"] for body in scene["bodies"]}):
        text.append(f'<mesh name="m{mesh}" file="mesh-{mesh}.obj" inertia="exact"/>')
    text.append("</asset><worldbody>")
    for body in scene["bodies"]:
        x, y, z, w = body["rotation"]
        at = f'pos="{" ".join(map(str, body["position"]))}" quat="{w} {x} {y} {z}"'
        text.append(f'<body {at}>{"" if body["fixed"] else "<freejoint/>"}<geom type="mesh" mesh="m{body["mesh"]}" density="1" '
                    f'friction="{scene["friction"]} 0.005 0.0001"/></body>')
    return "".join(text) + "</worldbody></mujoco>"


def set_start(mujoco, model, data, scene):
    address = 0
    for body in scene["bodies"]:
        if not body["fixed"]:
            data.qvel[address:address + 6] = body["velocity"] + body["spin"]  # no body that spins is turned
            address += 6
    mujoco.mj_forward(model, data)


def simulate(mujoco, model, scene, path):
    """Writes poses and kinetic energy for the judge; returns the seconds of processor time."""
    data = mujoco.MjData(model)
    model.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_ENERGY
    set_start(mujoco, model, data, scene)
    steps, spent = round(scene["seconds"] / scene["step"]), 0
    with open(path, "w", encoding="utf-8") as file:
        for step in range(1, steps + 1):
            begun = time.process_time()
            mujoco.mj_step(model, data)
            spent += time.process_time() - begun
            if step % OBSERVED == 0 or step == steps:
                mujoco.mj_energyVel(model, data)
                rows = [(*position, x, y, z, w) for position, (w, x, y, z) in zip(data.xpos[1:], data.xquat[1:])]
                print(data.energy[1], *(value for row in rows for value in row), file=file)
    return spent


def run_mujoco(judge, scene, seconds):
    try:
        import mujoco  # noqa: PLC0415
    except ImportError:
        return {}
    try:
        import abut.mujoco as ours  # noqa: PLC0415
    except ImportError:
        ours = None
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([judge, "--export", folder, scene], check=True)
        facts = json.loads(pathlib.Path(folder, "scene.json").read_text(encoding="utf-8"))
        facts["seconds"] = seconds or facts["seconds"]
        for way in ("hulls", "abut") if ours else ("hulls",):
            model = mujoco.MjModel.from_xml_string(model_of(facts, folder))
            path = pathlib.Path(folder, "poses.txt")
            if way == "abut":
                ours.install(model)
            spent = simulate(mujoco, model, facts, path)
            if way == "abut":
                ours.uninstall(model)
            line = lines_of([judge, "--poses", path, "--json", "--seconds", facts["seconds"], scene])[0]
            found["MuJoCo", way] = {**line, "step_ms": 1e3 * spent / (facts["seconds"] / facts["step"])}
    return found


def cell(line):
    if not line:
        return ""
    words = "**holds**" if line["holds"] else f"fails: {line['in_place']} of {line['bodies']} in place" \
        if line["in_place"] < line["bodies"] else "fails"
    return f"{words}; {line['deepest']:.2g} deep, {line['growth']:.1g}; {line['step_ms']:.2g} ms"


def page(results):
    ways = [way for way in WAYS if any(way in found for found in results.values())]
    head = ["scene", *(f"{engine}, {contacts}" for engine, contacts in ways)]
    rows = [[f"`{scene}`: {SCENES[scene]}", *(cell(found.get(way)) for way in ways)] for scene, found in results.items()]
    return "\n".join(["# Scenes in physics engines", "",
                      "One run of `bench/peers/scenes.py`. A scene holds if at the end all bodies are at rest, within 0.02 of their place",
                      "and not deep in each other (`examples/fits.c`). Then: the largest penetration depth at any time, the largest growth",
                      "of energy in 0.1 s relative to that at the start, and the processor time of a step with its solver.", "",
                      *("| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows))]) + "\n"


def write_results(options, results):
    if options.out:
        lines = [{"engine": engine, **line, "contacts": contacts} for found in results.values()
                 for (engine, contacts), line in found.items()]
        options.out.write_text('{"scenes": [\n' + ",\n".join(json.dumps(line) for line in lines) + "\n]}\n", encoding="utf-8")
    if options.markdown:
        options.markdown.write_text(page(results), encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build/release"))
    parser.add_argument("--out", type=pathlib.Path, help="write the results as JSON")
    parser.add_argument("--markdown", type=pathlib.Path, help="write a table")
    parser.add_argument("--seconds", type=float, help="another duration")
    parser.add_argument("scenes", nargs="*", metavar="SCENE", help=", ".join(SCENES))
    options = parser.parse_args()
    unknown = set(options.scenes) - set(SCENES)
    if unknown:
        parser.error(f"no such scene: {', '.join(sorted(unknown))}")
    build, results = options.build.resolve(), {}
    for scene in options.scenes or SCENES:
        found = results[scene] = {}
        found |= run_program(build / "abut-ode-fits", "ODE", "trimesh", scene, options.seconds)
        found |= run_program(build / "abut-bullet-fits", "Bullet", "GImpact", scene, options.seconds)
        found |= run_mujoco(build / "abut-ode-fits", scene, options.seconds)
        for (engine, contacts), line in found.items():
            print(f"{scene:9} {engine:7} {contacts:8} {cell(line)}", flush=True)
        write_results(options, results)


if __name__ == "__main__":
    sys.exit(main())
