"""abut-cinder (bench/reproduce/malmsten/self.c): counts of a dense mesh, its picture, and wrong usage.
Arguments: abut command, source folder, build folder.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

tool, program = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[3]).resolve() / "abut-cinder"
failures = 0


def demand(what, found, expected):
    global failures
    if found != expected:
        failures += 1
        print(f"FAIL: {what}: {found!r} instead of {expected!r}")


def run(*words):
    done = subprocess.run([str(program), *map(str, words)], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


with tempfile.TemporaryDirectory() as folder:
    ball, picture = pathlib.Path(folder) / "ball.obj", pathlib.Path(folder) / "self.ppm"
    subprocess.run([tool, "make", "icosphere", ball, "--segments", "16", "--quiet"], check=True)
    code, out, err = run(ball, picture)
    demand("exit code and errors", (code, err), (0, ""))
    it = json.loads(out)
    demand("triangles", it["triangles"], 5120)
    demand("some pixels of edges are inside", 0 < it["self_pixels"] < it["edge_pixels"], True)
    demand("none with prevention", it["prevented_self_pixels"], 0)
    counts = [it["self_pixels"]] + [entry["self_pixels"] for entry in it["offsets"]]
    demand("offsets leave fewer", counts == sorted(counts, reverse=True) and counts[1] < counts[0], True)
    demand("the filter hides a part of the other ball", 0 < it["ball_pixels"]["filtered"] < it["ball_pixels"]["prevented"], True)

    # The right half of the picture is white, except for the pixels inside.
    data = picture.read_bytes()
    head, size, depth = data.split(b"\n", 3)[:3]
    demand("picture", (head, size, depth), (b"P6", b"1024 512", b"255"))
    pixels = data[-3 * 1024 * 512:]
    right = [pixels[3 * (1024 * y + x):3 * (1024 * y + x) + 3] for y in range(512) for x in range(512, 1024)]
    demand("colours of the right half", set(right), {b"\xff\xff\xff", bytes((140, 25, 190))})
    demand("many pixels are inside", right.count(bytes((140, 25, 190))) > it["self_pixels"] / 4, True)

    demand("an unknown option", (run("--help")[0], "usage" in run("--help")[2]), (2, True))
    demand("too many arguments", run(ball, picture, "more")[0], 2)
    code, _, err = run("no-such.obj")
    demand("a missing model", (code, "no-such.obj" in err), (2, True))
print(f"{failures} failures")
sys.exit(failures > 0)
