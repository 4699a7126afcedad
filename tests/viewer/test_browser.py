"""Pages in a real browser: they load without a word on the console, draw, play, cut, and answer.

Needs chromium, chromium-driver, and node with npm for viewer/build; says which is missing and is
skipped where one is. Arguments: abut command, source folder, build folder.
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from browser import Browser, missing  # noqa: E402

tool, source = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()


def skip(why):
    print("skipped:", why)
    sys.exit(77)


absent = missing() + [name for name in ("node", "npm") if not shutil.which(name)]
if absent:
    skip(f"{', '.join(absent)} not found")
made = subprocess.run([source / "viewer/build"], capture_output=True, text=True)
if made.returncode and "ENOTFOUND" in made.stderr + made.stdout:
    skip("no network to get three.js from")
assert made.returncode == 0, made.stdout + made.stderr
bundle = source / "viewer/dist/viewer.js"
assert bundle.stat().st_size < 800_000, "the viewer has grown"
scratch = tempfile.TemporaryDirectory(prefix="abut-browser-")
os.chdir(scratch.name)
environment = {**os.environ, "ABUT_VIEWER": str(bundle)}
begun = time.monotonic()


def run(*words, code=(0, 3)):
    done = subprocess.run([tool, *words], capture_output=True, text=True, env=environment, stdin=subprocess.DEVNULL)
    assert done.returncode in code, (words, done.stderr)
    return done.stdout


def window(browser):
    """The middle of the window, where no card is, as the browser shows it: colours, mean brightness."""
    browser.drawn()
    _, height, rows = browser.screenshot()
    pixels = b"".join(row[3 * 150:3 * 500] for row in rows[45:height - 60])
    return len({pixels[i:i + 3] for i in range(0, len(pixels), 3)}), sum(pixels) / len(pixels)


def shown(browser):
    """What is drawn now: kept in the page, under the number that is given."""
    browser.drawn()
    return browser.run("""
        abut.render();
        const gl = abut.renderer.getContext(), [w, h] = [gl.drawingBufferWidth, gl.drawingBufferHeight];
        const pixels = new Uint8Array(4 * w * h);
        gl.readPixels(0, 0, w, h, gl.RGBA, gl.UNSIGNED_BYTE, pixels);
        return (window.kept ??= []).push(new Uint32Array(pixels.buffer)) - 1;""")


def changed(browser, a, b):
    """The part of the pixels of two pictures that differ, of those that either shows."""
    return browser.run("""
        const [a, b] = [kept[arguments[0]], kept[arguments[1]]];
        let drawn = 0, other = 0;
        for (let i = 0; i < a.length; i++) {
          if (a[i] || b[i]) drawn++;
          if (a[i] !== b[i]) other++;
        }
        return drawn ? other / drawn : -1;""", a, b)


run("make", "teapot-solid", "pot.ply", "--segments", "6", "--quiet")
run("make", "torus", "ring.ply", "--quiet")
run("contacts", "pot.ply", "ring.ply", "--pose", "2.2,0,1.5@x,90", "--html", "contacts.html", "--quiet")
run("view", "pot.ply", "-o", "pot.html", "--unit", "mm")
run("demo", "sleeve", "--triangles", "600", "--frames", "24", "--html", "sleeve.html", "--quiet")
run("field", "pot.ply", "--cells", "32", "--html", "field.html", "--quiet")
run("demo", "clash", "--bodies", "20", "--html", "clash.html", "--quiet")
run("make", "icosphere", "model.ply", "--segments", "8", "--quiet")
run("convert", "model.ply", "scan.ply", "--translate", "0.05,0,0", "--quiet")
run("deviation", "scan.ply", "model.ply", "--signed", "--resolution", "64", "--html", "deviation.html", "--quiet")
# A million triangles; of the day's runs a quarter, since they are drawn by the processor.
segments = 224 if os.environ.get("ABUT_TEST_THOROUGH") else 112
run("make", "icosphere", "ball.ply", "--segments", str(segments), "--quiet")
run("view", "ball.ply", "-o", "ball.html")

with Browser() as browser:
    def open_page(page):
        assert browser.open(page) == "1"
        browser.run("localStorage.clear(); abut.setTheme('light')")
        return shown(browser)

    # ---- contacts: drawn, layers can be switched off, arrows have labels ----
    first = open_page("contacts.html")
    many, bright = window(browser)
    assert many > 300, "nothing is drawn"
    assert changed(browser, first, shown(browser)) == 0, "it does not stand still"
    browser.run("document.querySelectorAll('.layer input')[0].click()")
    without = shown(browser)
    assert 0.03 < changed(browser, first, without) <= 1, "a layer cannot be switched off"
    browser.run("document.querySelectorAll('.layer input')[0].click()")
    assert changed(browser, first, shown(browser)) == 0
    facts = browser.run("""
        const layer = abut.layers.find((l) => l.layer.kind === "arrows");
        const at = layer.group.children[4].position.clone().fromArray(layer.places, 0).project(abut.camera);
        return abut.pick((at.x + 1) / 2 * innerWidth, (1 - at.y) / 2 * innerHeight);""")
    assert facts["number"] >= 0 and facts["depth"] > 0.5 and facts["normal x"] < -0.9, facts

    # ---- turning, light and dark, keys ----
    browser.press("\ue00c")  # Escape: nothing is picked any more
    browser.drag(640, 400, 120, 40)
    turned = shown(browser)
    assert changed(browser, first, turned) > 0.05, "it cannot be turned"
    browser.press("0")
    assert changed(browser, first, shown(browser)) < 0.002, "0 does not go back"
    browser.press("t")
    assert window(browser)[1] < 0.6 * bright, "it does not get dark"
    browser.press("t")
    browser.press("?")
    assert browser.run("return document.querySelector('dialog').open")
    browser.press("\ue00c")
    browser.press("e")
    assert changed(browser, first, shown(browser)) > 0.01, "there are no edges"

    # ---- picking: the triangle that a ray of the library hits ----
    open_page("pot.html")
    for x, y in ((640, 330), (560, 300), (700, 380), (500, 360)):
        browser.click(x, y)
        facts = browser.wait("return abut.panel && Object.fromEntries([...abut.panel.querySelectorAll('dt')]"
                             ".map((d) => [d.textContent, d.nextSibling.textContent]))")
        eye, way = browser.run("""
            const c = abut.camera, to = c.position.clone().set(arguments[0] / innerWidth * 2 - 1,
                1 - arguments[1] / innerHeight * 2, 0.5).unproject(c).sub(c.position).normalize();
            return [[0, 1, 2].map((k) => abut.trueAt(k, c.position.getComponent(k))), to.toArray()];""", x, y)
        hit = run("ray", "pot.ply", "--from", ",".join(map(repr, eye)), "--towards", ",".join(map(repr, way)))
        answer = hit.splitlines()[-1].split(",")
        assert facts["triangle"] == answer[-1], (facts, hit)
        assert all(abs(float(a) - float(b)) < 1e-3 for a, b in zip(facts["at"].split(","), answer[7:10])), (facts, hit)
    assert re.fullmatch(r"[\d.]+ mm", facts["from the last place"]), facts
    browser.click(1100, 400)
    assert browser.run("return abut.panel") is None, "empty space is picked"

    # ---- cut open ----
    whole = shown(browser)
    browser.press("c")
    assert changed(browser, whole, shown(browser)) > 0.05, "it is not cut open"

    # ---- clashes: opaque, named, and picked through the glass of the parts ----
    open_page("clash.html")
    rows = browser.run("return [...document.querySelectorAll('.layer')].map((r) => r.innerText.split(/\\s*\\n\\s*/))")
    assert ["bolt 1", "96 tri"] in rows and ["upper plate intersects bolt 1", "vol 0.09706"] in rows, rows
    assert len(rows) == len({row[0] for row in rows}), "a name has two rows"
    above = browser.run("return document.querySelector('.side').innerText.split('\\n').find((l) => l.startsWith('abut '))")
    assert above == "abut demo", (above, "triangles of clashes are counted")
    found = [any(word in row[0] for word in (" intersects ", " flush ", " contains ", " identical ")) for row in rows]
    assert found == sorted(found, reverse=True) and 0 < sum(found) < len(rows), "clashes are not listed first"
    state = browser.run("""
        const parts = abut.layers.filter((l) => / intersects | flush /.test(l.layer.name) && l.parts).flatMap((l) => l.parts);
        return parts.map((p) => [p.material.transparent, p.material.depthWrite]);""")
    assert len(state) > 20 and all(one == [False, True] for one in state), state
    seen = 0
    for name in [row[0] for row in rows if " intersects " in row[0]]:
        facts = browser.run("""
            const layer = abut.layers.find((l) => l.layer.name === arguments[0] && l.parts);
            const at = layer.parts[0].shape.geometry.boundingSphere.center.clone()
              .applyMatrix4(layer.parts[0].object.matrix).project(abut.camera);
            return abut.pick((at.x + 1) / 2 * innerWidth, (1 - at.y) / 2 * innerHeight);""", name)
        assert " intersects " in facts["layer"] or " flush " in facts["layer"], (name, facts)  # never glass
        assert "triangle" not in facts and "what" in facts, facts
        seen += facts["layer"] == name
    assert seen >= 4, seen

    # ---- deviation: the model is not shown at first; triangles are those of the file ----
    first = open_page("deviation.html")
    state = browser.run("return [...document.querySelectorAll('.layer input')].map((box) => box.checked)")
    assert state == [True, False, True, False], state
    facts = browser.run("return abut.pick(640, 330)")
    assert facts["layer"] == "scan.ply" and 0 <= facts["triangle"] < 1280 and "vertices" not in facts, facts
    browser.press("\ue00c")
    # Space belongs to the box that has the focus
    browser.run("document.querySelectorAll('.layer input')[1].focus()")
    browser.press(" ")
    assert browser.run("return document.querySelectorAll('.layer input')[1].checked"), "Space does not check a box"
    assert changed(browser, first, shown(browser)) > 0.1, "the model is not shown"

    # ---- time ----
    first = open_page("sleeve.html")
    browser.run("const s = document.querySelector('.time input'); s.value = 24; s.dispatchEvent(new Event('input'))")
    last = shown(browser)
    assert changed(browser, first, last) > 0.01, "the slider changes nothing"
    browser.press("\ue012")  # left
    assert browser.run("return abut.frame") == browser.run("return abut.scene.frames") - 2
    browser.run("abut.setFrame(0)")
    assert changed(browser, first, shown(browser)) == 0, "the first frame is not what it was"
    browser.press(" ")
    browser.wait("return abut.frame > 2 || null")
    browser.press(" ")
    assert not browser.run("return abut.playing")

    # ---- fields: the slice moves, shows the distance, and there is an isosurface ----
    first = open_page("field.html")
    facts = browser.run("return abut.pick(640, 330)")
    assert facts["layer"] == "distances" and facts["distance"] < 0, facts
    browser.run("abut.cutRange.value = 0.3; abut.cutRange.dispatchEvent(new Event('input'))")
    moved = shown(browser)
    assert changed(browser, first, moved) > 0.02, "the slice does not move"
    browser.run("abut.isoRange.value = 0.5; abut.isoRange.dispatchEvent(new Event('input'))")
    assert browser.run("return abut.fields[0].isoTriangles") > 1000
    assert changed(browser, moved, shown(browser)) > 0.02, "there is no isosurface"

    # ---- many triangles: on a processor, without a GPU ----
    opened = time.monotonic()
    first = open_page("ball.html")
    opened = time.monotonic() - opened
    frame = browser.run("""
        const pixel = new Uint8Array(4), gl = abut.renderer.getContext(), begun = performance.now();
        for (let i = 0; i < 3; i++) {
          abut.camera.position.x += 0.01;
          abut.renderer.render(abut.world, abut.camera);
          gl.readPixels(0, 0, 1, 1, gl.RGBA, gl.UNSIGNED_BYTE, pixel); // waits for the picture
        }
        return (performance.now() - begun) / 3;""")
    count = browser.run("return abut.layers[0].triangleCount")
    picked = browser.run("const t = performance.now(); const f = abut.pick(640, 330); return [performance.now() - t, f.triangle]")
    assert count == 20 * segments**2 and picked[1] >= 0 and changed(browser, first, first) == 0
    print(f"{count} triangles: open {opened:.1f} s, a frame {frame:.0f} ms, a pick {picked[0]:.0f} ms, by the processor alone")
    assert frame < 20000, "many triangles take too long"  # a million 600 ms where nothing else runs
    messages = [entry["message"] for entry in browser.log()]
    assert not messages, messages

# ---- without WebGL: a sentence ----
with Browser(arguments=["--disable-3d-apis"]) as browser:
    assert browser.open("pot.html") == "none"
    assert "WebGL" in browser.run("return document.body.innerText")
print(f"fine, {time.monotonic() - begun:.0f} s")
