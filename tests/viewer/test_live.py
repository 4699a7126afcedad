"""Live pages in a real browser: bodies are dragged, numbers change and are those of the command, demos can be paused, and
pages say when the program has ended.

Needs chromium, chromium-driver, and node with npm for viewer/build; is skipped where one is missing.
Arguments: abut command, source folder, build folder.
"""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from browser import Browser, missing  # noqa: E402

tool, source = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
absent = missing() + [name for name in ("node", "npm") if not shutil.which(name)]
made = None if absent else subprocess.run([source / "viewer/build"], capture_output=True, text=True)
if absent or (made.returncode and "ENOTFOUND" in made.stderr + made.stdout):
    print("skipped:", f"{', '.join(absent)} not found" if absent else "no network to get three.js from")
    sys.exit(77)
assert made.returncode == 0, made.stdout + made.stderr
scratch = tempfile.TemporaryDirectory(prefix="abut-live-")
os.chdir(scratch.name)
environment = {**os.environ, "ABUT_VIEWER": str(source / "viewer/dist/viewer.js")}
WORDS = "return document.querySelector('.live .words').textContent"


def run(*words, code=(0, 3)):
    done = subprocess.run([tool, *words], capture_output=True, text=True, env=environment, stdin=subprocess.DEVNULL)
    assert done.returncode in code, (words, done.stderr)
    return done.stdout


class Program:
    """A command with a page, which is opened in the browser."""

    def __init__(self, browser, *words):
        self.process = subprocess.Popen([tool, *words, "--live"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True, env=environment)
        found = re.search(r"http://\S+", self.process.stderr.readline())
        assert found, self.process.communicate()
        browser.call("POST", "/url", {"url": found[0]})
        assert browser.wait("return document.documentElement.dataset.ready || null") == "1"

    def end(self, code):
        output = self.process.communicate(timeout=60)
        assert self.process.returncode == code, (self.process.returncode, output)
        return output[0]


def place_of(browser, item):
    """Where a body is in the window: a vertex that is in front. Its position in the scene, as far as it was moved."""
    return browser.run("""
        for (const layer of abut.live.layers) {
          const i = layer.layer.itemList?.indexOf(arguments[0]) ?? -1;
          if (i < 0) continue;
          const [part] = layer.parts, p = part.shape.geometry.attributes.position;
          const at = abut.camera.position.clone();
          for (let v = 0; v < p.count; v++) {
            at.fromBufferAttribute(p, v).applyMatrix4(part.object.matrix).project(abut.camera);
            const [x, y] = [(at.x + 1) / 2 * innerWidth, (1 - at.y) / 2 * innerHeight];
            const hit = abut.hitAt(x, y, abut.live.layers.filter((l) => l.layer.movable));
            if (hit && hit.object.userData.layer === layer)
              return [x, y, Array.from(part.bodies[i].poseList), abut.scene.scale];
          }
        }""", item)


def number(text):
    return float(re.search(r"(?:distance|depth) ([-\d.e]+)", text)[1])


run("make", "teapot-solid", "pot.ply", "--segments", "4", "--quiet")
run("make", "torus", "ring.ply", "--quiet")
run("convert", "ring.ply", "apart.ply", "--translate", "3.5,0,0", "--quiet")

with Browser() as browser:
    # ---- a dragged body: the number is that of `abut distance` at its pose ----
    program = Program(browser, "view", "pot.ply", "apart.ply")
    first = browser.run(WORDS)
    assert browser.run("return document.querySelectorAll('.message').length") == 0 # that it waits
    keys = browser.run("return Array.from(document.querySelectorAll('dialog kbd')).map((k) => k.textContent)")
    assert [key for key in keys if "Space" in key] == ["Space, N"], keys
    assert abs(number(first) - float(run("distance", "pot.ply", "apart.ply", "--quiet"))) < 1e-4, first
    x, y, before, scale = place_of(browser, 1)
    browser.drag(x, y, 60, 25)
    browser.wait(f"return document.querySelector('.live .words').textContent !== {first!r} || null")
    browser.wait("return abut.live.dragged.size === 0 || null")
    moved = browser.run(WORDS)
    after = place_of(browser, 1)[2]
    way = [(b - a) / scale for a, b in zip(before[4:], after[4:])]
    assert max(map(abs, way)) > 0.1 and after[:4] == before[:4], way
    expected = float(run("distance", "pot.ply", "apart.ply", "--pose", ",".join(map(str, way)), "--quiet"))
    assert abs(number(moved) - expected) < 1e-4, (moved, expected)
    # onto the pot: contacts
    pot = place_of(browser, 0)
    x, y = place_of(browser, 1)[:2]
    browser.drag(x, y, 560 - x, 400 - y)
    browser.wait("return document.querySelector('.live .words').textContent.includes('penetration') || null")
    rows = browser.run("return [...document.querySelectorAll('.layer .name')].map((e) => e.textContent)")
    assert rows == ["pot.ply", "apart.ply", "contacts"], rows
    # turning keeps the middle of the body, up to rounding
    browser.press("r")
    browser.wait("return abut.live.dragged.size === 0 || null")
    x, y, before, _ = place_of(browser, 1)
    browser.drag(x, y, 80, 10)
    browser.wait("return abut.live.dragged.size === 0 || null")
    after = place_of(browser, 1)[2]
    assert max(abs(a - b) for a, b in zip(before[:4], after[:4])) > 0.1, "the body was not turned"
    assert place_of(browser, 0)[2] == pot[2], "the other body moved"
    # drags beside the bodies turn the camera
    eye = browser.run("return abut.camera.position.toArray()")
    browser.drag(1100, 650, 50, 0)
    assert browser.run("return abut.camera.position.toArray()") != eye
    # a hidden layer stays hidden when contacts become a distance
    browser.run("document.querySelectorAll('.layer input')[0].click()")
    browser.run("document.querySelector('.live button[title^=begin]').click()")
    browser.wait(f"return document.querySelector('.live .words').textContent === {first!r} || null")
    assert browser.run("return abut.live.layers.map((l) => l.group.visible)")[0] is False
    browser.run("document.querySelector('.live button[title^=end]').click()")
    browser.wait("return document.querySelector('.live.ended') ? 1 : null")
    program.end(0)
    assert "has ended" in browser.run("return document.querySelector('.live').textContent")
    assert browser.run(WORDS) == first
    messages = browser.log()
    assert not messages, messages

    # ---- snow: it falls, sticks to what the user turns, and can be paused ----
    program = Program(browser, "demo", "snow", "--bodies", "300")
    frame = "Number(document.querySelector('.live .words').textContent.match(/frame (\\d+)/)[1])"
    stuck = "Number(document.querySelector('.live .words').textContent.match(/(\\d+) flakes/)[1])"
    browser.wait(f"return {stuck} > 10 || null")
    browser.press(" ")
    browser.wait("return abut.live.queue.size === 0 && !abut.live.isSending || null")
    x, y, before, _ = place_of(browser, 0)
    paused = browser.run(f"return {frame}")
    browser.press("n")
    browser.wait(f"return {frame} > {paused} || null")
    x, y, before, _ = place_of(browser, 0)
    browser.press("r")
    browser.drag(x, y, 90, 30)
    browser.wait("return abut.live.dragged.size === 0 || null")
    held = place_of(browser, 0)[2]
    assert max(abs(a - b) for a, b in zip(before[:4], held[:4])) > 0.1, "the model was not turned"
    count, paused = browser.run(f"return [{stuck}, {frame}]")
    browser.press(" ")
    browser.wait(f"return {stuck} > {count} + 10 || null")
    assert browser.run(f"return {frame}") > paused
    assert place_of(browser, 0)[2] == held, "the model turns although the user holds it"
    program.process.send_signal(signal.SIGINT)
    program.end(-signal.SIGINT)
    browser.wait("return document.querySelector('.live.ended') ? 1 : null")
    messages = browser.log()
    assert not messages, messages

    # ---- a program that is killed: the page stays, and says so ----
    program = Program(browser, "view", "pot.ply", "ring.ply")
    program.process.kill()
    program.end(-signal.SIGKILL)
    browser.wait("return document.querySelector('.live.ended') ? 1 : null")
    assert "penetration" in browser.run(WORDS)
    assert all("Failed to load resource" in entry["message"] for entry in browser.log())

    # ---- all frames of a demo are shown, the last one at the end ----
    program = Program(browser, "demo", "sleeve", "--triangles", "400", "--frames", "20")
    assert "none in any frame" in program.end(0)
    browser.wait("return document.querySelector('.live.ended') ? 1 : null")
    assert browser.run(f"return {frame}") == 19
    messages = browser.log()
    assert not messages, messages
print("fine")
