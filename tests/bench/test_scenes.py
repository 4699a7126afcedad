"""bench/peers/scenes.py and the scenes of examples/fits.c: results of engines, and the judgement of poses from a file.
Arguments: abut command, source folder, build folder.
"""
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile

source, build = pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]).resolve()
judge, script = build / "abut-ode-fits", source / "bench/peers/scenes.py"
if not judge.exists():
    print("skipped: this build has no abut-ode-fits")
    sys.exit(0)
spec = importlib.util.spec_from_file_location("scenes", script)
scenes = importlib.util.module_from_spec(spec)
spec.loader.exec_module(scenes)
failures = 0


def demand(what, found, expected):
    global failures
    if found != expected:
        failures += 1
        print(f"FAIL: {what}: {found!r} instead of {expected!r}")


def judged(scene, poses):
    path = pathlib.Path(folder) / "poses.txt"
    path.write_text("".join("0 " + " ".join(str(value) for pose in frame for value in pose) + "\n" for frame in poses))
    return scenes.lines_of([judge, "--poses", path, "--json", scene])[0]


with tempfile.TemporaryDirectory() as folder:
    # The wall where it is built holds. A brick in another does not, nor one above its place.
    subprocess.run([judge, "--export", folder, "wall"], check=True)
    facts = json.loads(pathlib.Path(folder, "scene.json").read_text())
    start = [body["position"] + body["rotation"] for body in facts["bodies"]]
    demand("bodies", (len(start), len(list(pathlib.Path(folder).glob("mesh-*.obj")))), (23, 3))
    found = judged("wall", [start, start])
    demand("wall at its start", (found["holds"], found["in_place"], found["deepest"] < 1e-6, found["growth"]), (True, 22, True, 0))
    moved = [list(pose) for pose in start]
    moved[5][0] += 0.5
    found = judged("wall", [start, moved])
    demand("wall with a moved brick", (found["holds"], found["in_place"]), (False, 21))
    demand("drift and depth", (abs(found["drift"] - 0.5) < 1e-6, found["deepest"] > 0.3), (True, True))
    moved = [list(pose) for pose in start]
    moved[22][2] += 1
    found = judged("wall", [start, moved])
    demand("wall with a lifted brick", (found["holds"], found["growth"] > 0), (False, True))
    # A chain that is torn.
    subprocess.run([judge, "--export", folder, "chain"], check=True)
    facts = json.loads(pathlib.Path(folder, "scene.json").read_text())
    start = [body["position"] + body["rotation"] for body in facts["bodies"]]
    demand("chain", judged("chain", [start])["holds"], True)
    start[20][2] -= 0.3
    demand("torn chain", judged("chain", [start])["in_place"], 48)
    # Poses end within a body.
    path = pathlib.Path(folder) / "short.txt"
    path.write_text("0 1 2 3")
    done = subprocess.run([judge, "--poses", path, "wall"], capture_output=True, text=True, check=False)
    demand("short file", done.returncode, 2)
    for words in (["--export", folder], ["--poses", path, "wall", "peg"], ["fence"], ["--seconds", "0"]):
        done = subprocess.run([judge, *words], capture_output=True, text=True, check=False)
        demand(f"exit code of {words}", (done.returncode, "scenes: peg, tray" in done.stderr), (2, True))
    # The script, with the engines of this build.
    out, table = pathlib.Path(folder) / "out.json", pathlib.Path(folder) / "table.md"
    subprocess.run([sys.executable, script, "--build", build, "--seconds", "0.05", "--out", out, "--markdown", table, "shot"],
                   check=True, stdout=subprocess.DEVNULL)
    found = {(line["engine"], line["contacts"]): line["holds"] for line in json.loads(out.read_text())["scenes"]}
    demand("a shot in ODE, by abut and by ODE", (found["ODE", "abut"], found["ODE", "trimesh"]), (True, False))
    demand("a row of the table", "| `shot`: a ball at 100 m/s" in table.read_text(), True)
sys.exit(failures != 0)
