"""Checks what an installation of the package must have: the library, the command, the real viewer, licences.

Run by tools/wheel with the interpreter of a fresh environment, in a folder without the sources.
Arguments: wheel, sdist or editable; the source folder.
"""

import importlib.metadata
import os
import pathlib
import subprocess
import sys
import sysconfig
import tempfile

import abut

kind, source = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
for name in ("ABUT_LIBRARY", "ABUT_COMMAND", "ABUT_VIEWER"):
    assert name not in os.environ, f"{name} would hide what the installation lacks"
inside = [pathlib.Path(folder).resolve() for folder in abut.__path__]
assert (source / "python/src/abut" in inside) == (kind == "editable"), inside
scratch = tempfile.TemporaryDirectory()
os.chdir(scratch.name)

# ---- the library answers ----
ring, ball = abut.shape("torus"), abut.shape("icosphere", radius=1, segments=16)
assert abs(abut.distance(ball, ball, pose_b=[3, 0, 0]).distance - 1) < 0.01
ball.save("ball.ply")

# ---- metadata and licences ----
about = importlib.metadata.metadata("abut")
assert about["Version"] == abut.version(), about["Version"]
assert about["License-Expression"] == "MIT" and about["Author"] == "the abut authors", dict(about)
texts = {str(f): f.read_text() for f in importlib.metadata.files("abut") if "dist-info/licenses/" in str(f)}
wanted = {"licenses/LICENSE": "the abut authors", "three.js": "three.js authors"}
if kind == "wheel":
    wanted.update({"/zlib/": "Jean-loup Gailly", "/libpng": "PNG", "/libzstd/": "Facebook", "/yajl/": "Lloyd Hilaiel"})
for where, words in wanted.items():
    assert any(where in name and words in text for name, text in texts.items()), (where, sorted(texts))

# ---- the command: executed by the script of the environment, not found on PATH ----
program = os.path.join(sysconfig.get_path("scripts"), "abut")


def run(*words, code=0):
    done = subprocess.run([program, *words], capture_output=True, text=True)
    assert done.returncode == code, (words, done.returncode, done.stderr)
    return done.stdout


assert run("version").split()[:2] == ["abut", abut.version()]
run("overlap", "ball.ply", "ball.ply", code=3)
run("nonsense", code=2)
os.environ["PATH"] = "/nowhere"
result = abut.batch([("report", "ball.ply"), ("field --cells 16", "ball.ply")], "out")
assert (result["done"], result["failed"]) == (2, 0), result

# ---- pages contain the real viewer, from Python and from the command ----
page = ring.show(title="a ring")
page.save("python.html")
run("view", "ball.ply", "-o", "command.html")
viewer = page.html.split("<script>\n", 1)[1].rsplit("</script>", 1)[0]
assert len(viewer) > 300_000 and "Three.js Authors" in viewer, f"a viewer of {len(viewer)} characters"
assert viewer in pathlib.Path("command.html").read_text("utf-8"), "the command has another viewer"

sys.path.insert(0, str(source / "tests/viewer"))
os.environ["PATH"] = os.defpath
from browser import Browser, missing  # noqa: E402

if missing():
    print(f"no browser, so pages were not opened: {', '.join(missing())} not found")
else:
    with Browser() as browser:
        for name in ("python.html", "command.html"):
            assert browser.open(name) == "1", f"{name} does not draw"
            assert not browser.log(), browser.log()
print(f"the installation is complete: {kind}")
