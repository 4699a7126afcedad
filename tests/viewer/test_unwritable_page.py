"""A page that cannot be written stops no other file, for every command with --png and --html.

Two causes, in turn: the viewer is not there, and the folder of the page is not there. The picture must be written, the
exit code must be 1, and the message must name the page.
Arguments: abut command, source folder, build folder.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

tool = os.path.abspath(sys.argv[1])
scratch = tempfile.TemporaryDirectory(prefix="abut-lost-page-")
os.chdir(scratch.name)
viewer = pathlib.Path("stand-in.js")
viewer.write_text("console.log('viewer');\n")
there = {**os.environ, "ABUT_VIEWER": str(viewer.resolve()), "LC_ALL": "C.UTF-8"}
missing = {**there, "ABUT_VIEWER": "nope"}


def run(*words, env=there):
    return subprocess.run([tool, *words], capture_output=True, text=True, env=env, stdin=subprocess.DEVNULL)


def made(*words):
    done = run(*words, "--quiet")
    assert done.returncode == 0, (words, done.stderr)


made("make", "torus", "ring.obj", "--segments", "12")
made("make", "icosphere", "ball.obj", "--segments", "4")
made("make", "box", "box.obj")
made("convert", "ball.obj", "away.obj", "--translate", "3,0,0")
made("convert", "ring.obj", "moved.obj", "--translate", "0,0,2")
made("demo", "sleeve", "--triangles", "300", "--frames", "4", "--record", "sleeve.abutm")
bodies = [{"mesh": {"shape": "box", "size": 1}, "position": [0, 0, z]} for z in (0, 0.9)]
pathlib.Path("scene.json").write_text(json.dumps({"bodies": bodies}))

two = ("box.obj", "ball.obj", "--pose", "0,0,0.9")
small = ("--resolution", "64")
commands = [
    ("contacts", *two),
    ("contacts", "scene.json"),
    ("compare", "scene.json"),
    ("simulate", "scene.json", "--frames", "2"),
    ("overlap", *two),
    ("distance", "box.obj", "away.obj"),
    ("interfere", "box.obj", "ball.obj"),
    ("field", "ball.obj", "--cells", "12"),
    ("samples", "ring.obj"),
    ("selfcheck", "ring.obj"),
    ("sweep", "ring.obj", "moved.obj"),
    ("replay", "sleeve.abutm"),
    ("map", "ball.obj", "away.obj", *small),
    ("map", "sleeve.abutm", *small),
    ("deviation", "ball.obj", "box.obj", *small),
    ("thickness", "ball.obj", *small),
    ("clearance", "ball.obj", "away.obj", "--below", "3", *small),
    ("radial", "mannequin", "--triangles", "8000"),
    ("character", "mannequin", "--triangles", "8000"),
    ("demo", "stairs", "--bodies", "5", "--frames", "4"),
    ("demo", "letters", "--frames", "3", *small),
    ("demo", "sleeve", "--triangles", "300", "--frames", "4"),
]

# No command with both options is left out.
for name in re.findall(r"^  ([a-z]+) ", run("help").stdout, re.MULTILINE):
    words = run("help", name).stdout
    assert not ("--png FILE" in words and "--html FILE" in words) or name in {c[0] for c in commands}, name

picture, page = pathlib.Path("shown.ppm"), pathlib.Path("page.html")
causes = ((str(page), missing, "viewer/build"), ("none/page.html", there, "No such file"))
for i, words in enumerate(commands):
    for path, env, sentence in causes if i == 0 else (causes[i % 2],):
        picture.unlink(missing_ok=True)
        done = run(*words, "--png", str(picture), "--html", path, env=env)
        assert done.returncode == 1, (words, path, done.returncode)
        assert picture.exists() and picture.read_bytes()[:2] == b"P6", (words, path, done.stderr)
        assert f"{path}: " in done.stderr and sentence in done.stderr, (words, path, done.stderr)
        assert done.stderr.count("\n") == 1, (words, done.stderr)
        assert path not in done.stdout and not page.exists(), (words, done.stdout)

# Pictures that are operands, tables, and answers in JSON.
table = pathlib.Path("table.csv")
for words, path in (
    (("slice", "ball.obj", "shown.ppm"), picture),
    (("contacts", *two, "--out", "table.csv"), table),
    (("nearest", "ball.obj", "--random", "5", "--out", "table.csv"), table),
):
    path.unlink(missing_ok=True)
    done = run(*words, "--html", str(page), env=missing)
    assert done.returncode == 1 and "page.html: " in done.stderr, (words, done.stderr)
    assert path.exists(), words
done = run("contacts", *two, "--png", str(picture), "--html", str(page), "--json", env=missing)
assert "page.html: " in json.loads(done.stdout)["error"]["message"], done.stdout

# A page that is the only file fails before any work is done, and is named too.
done = run("contacts", *two, "--html", str(page), env=missing)
assert done.returncode == 1 and "page.html: " in done.stderr and done.stdout == "", done.stderr
print("fine")
