"""Pages without a browser: what is in them, for every command that writes one, and what is refused.

A stand-in takes the place of the viewer, so that neither node nor a network is needed.
Arguments: abut command, source folder, build folder.
"""
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from page import body_points, read_page, true_points  # noqa: E402

tool, source = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2])
scratch = tempfile.TemporaryDirectory(prefix="abut-page-")
os.chdir(scratch.name)
viewer = pathlib.Path("stand-in.js")
viewer.write_text("console.log('viewer');\n")
environment = {**os.environ, "ABUT_VIEWER": str(viewer.resolve()), "LC_ALL": "C.UTF-8"}


def run(*words, code=(0, 3), env=environment):
    done = subprocess.run([tool, *words], capture_output=True, text=True, env=env, stdin=subprocess.DEVNULL)
    assert done.returncode in (code if isinstance(code, tuple) else (code,)), (words, done.returncode, done.stderr)
    return done


def page_of(*words):
    """What a command shows. No byte of it may come from elsewhere."""
    pathlib.Path("page.html").unlink(missing_ok=True)
    run(*words, "--html", "page.html")
    text = pathlib.Path("page.html").read_text()
    for foreign in ("src=", "http:", "https:", "@import", "url("):
        assert foreign not in text, (words, foreign)
    head = read_page("page.html")
    assert head["abut"] == 1 and head["title"] and head["layers"], words
    return head


def kinds(head):
    return sorted({layer["kind"] for layer in head["layers"]})


def near(a, b, by):
    return all(abs(x - y) <= by for x, y in zip(a, b))


def vertices(path):
    """Of an OBJ file."""
    return [tuple(map(float, line.split()[1:4])) for line in pathlib.Path(path).read_text().splitlines()
            if line.startswith("v ")]


run("make", "torus", "ring.obj", "--segments", "12", "--quiet")
run("make", "icosphere", "ball.obj", "--segments", "4", "--quiet")
run("make", "box", "box.obj", "--quiet")

# ---- places: poses, far from the origin, tiny and huge ----
head = page_of("overlap", "box.obj", "ring.obj", "--pose", "0.25,0.5,0@z,90")
bodies = {layer["name"]: layer for layer in head["layers"] if layer["kind"] == "bodies"}
assert set(bodies) == {"box.obj", "ring.obj"}
wanted = [(-y + 0.25, x + 0.5, z) for x, y, z in vertices("ring.obj")]
got = body_points(head, bodies["ring.obj"]["bodies"][0])
assert len(got) == len(wanted) and all(near(a, b, 1e-6) for a, b in zip(got, wanted))
for scale, shift in ((1e-30, 0), (1e30, 0), (1, 1e6)):
    run("convert", "ball.obj", "far.ply", "--scale", repr(scale), "--translate", f"{shift},0,0", "--quiet")
    run("view", "far.ply", "-o", "page.html")
    head = read_page("page.html")
    got = body_points(head, head["layers"][0]["bodies"][0])
    wanted = [(x * scale + shift, y * scale, z * scale) for x, y, z in vertices("ball.obj")]
    assert all(near(a, b, 1e-6 * scale + 1e-9 * shift) for a, b in zip(got, wanted)), (scale, shift)
    largest = max(abs(x) for x in head["arrays"][head["meshes"][0]["positions"]])
    assert 0.1 < largest < 2, largest  # of the size that floats and shaders are at ease with

# ---- contacts: arrows with what is known of them ----
output = json.loads(run("contacts", "box.obj", "ball.obj", "--pose", "0,0,0.9", "--html", "page.html", "--json").stdout)
head = read_page("page.html")
arrows = [layer for layer in head["layers"] if layer["kind"] == "arrows"]
assert len(arrows) == 1 and not [l for l in head["layers"] if l["kind"] in ("lines", "points")]
ends = true_points(head, head["arrays"][arrows[0]["places"]])
facts = {f["name"]: head["arrays"][f["values"]] for f in arrows[0]["facts"]}
assert len(output["list"]) == len(ends) // 2 > 0
for i, contact in enumerate(output["list"]):
    assert near(ends[2 * i], contact["point"], 1e-6) and facts["depth"][i] == contact["depth"]
    way = [b - a for a, b in zip(ends[2 * i], ends[2 * i + 1])]
    length = math.hypot(*way)
    assert near([w / length for w in way], contact["normal"], 1e-4)

# ---- compare: a layer for the contacts of each method, instead of the marks of the picture ----
head = page_of("compare", "box.obj", "ring.obj")
names = [layer["name"] for layer in head["layers"] if layer["kind"] == "arrows"]
assert names == [f"contacts by {name}" for name in ("exact", "field", "map", "layers")], names
assert not [l for l in head["layers"] if l["kind"] in ("lines", "points")]
assert [layer["name"] for layer in head["layers"] if layer["kind"] == "bodies"] == ["box.obj", "ring.obj"]

# ---- fields: values of the cells, and a scale that has them ----
run("field", "ball.obj", "ball.npy", "--cells", "12", "--quiet")
head = page_of("field", "ball.obj", "--cells", "12")
field = next(layer for layer in head["layers"] if layer["kind"] == "field")
list_ = head["arrays"][field["values"]]
raw = pathlib.Path("ball.npy").read_bytes()
assert list_.tobytes() == raw[-len(list_) * 4:], "values of the field differ"
assert len(list_) == math.prod(field["count"])
scale = head["scales"][field["scale"]]
assert scale["least"] <= min(list_) and scale["most"] >= max(list_)
stops = [stop[0] for stop in scale["stops"]]
assert stops == sorted(stops) and stops.count(0) == 2  # one colour on either side of the surface

# ---- maps: values at vertices ----
run("convert", "ball.obj", "away.obj", "--translate", "3,0,0", "--quiet")
head = page_of("map", "ball.obj", "away.obj", "--resolution", "64")
layer = next(l for l in head["layers"] if "scale" in l)
body = layer["bodies"][0]
points, distances = body_points(head, body), head["arrays"][body["values"]]
centre = [sum(v[k] for v in vertices("away.obj")) / len(vertices("away.obj")) for k in range(3)]
radius = math.dist(vertices("away.obj")[0], centre)
off = max(abs(d - (math.dist(p, centre) - radius)) for p, d in zip(points, distances))
assert off < 0.1 * radius, off

# ---- a slice: exact distances in a plane, through the mesh or the surface of the field ----
for subject, off in (("ball.obj", 0.1), ("ball.abutf", 0.1)):
    if subject == "ball.abutf":
        run("field", "ball.obj", subject, "--cells", "24", "--quiet")
    head = page_of("slice", subject, "--axis", "y", "--at", "0", "--size", "60")
    sheet, solid = head["layers"]
    body = sheet["bodies"][0]
    points, distances = body_points(head, body), head["arrays"][body["values"]]
    assert sheet["name"] == "y = 0" and solid["name"] == subject and len(points) > 2000
    assert max(abs(p[1]) for p in points) < 1e-6
    radius = math.dist(vertices("ball.obj")[0], (0, 0, 0))
    assert max(abs(d - (math.dist(p, (0, 0, 0)) - radius)) for p, d in zip(points, distances)) < off * radius
assert "or use --html FILE" in run("slice", "ball.obj", code=2).stderr

# ---- time: recordings, sweeps, characters; vertices are within a step of 2^-16 of their box ----
run("demo", "sleeve", "--triangles", "300", "--frames", "12", "--record", "sleeve.abutm", "--meshes", ".", "--quiet")
run("view", "sleeve.abutm", "-o", "page.html")
head = read_page("page.html")
assert head["frames"] == 13 and abs(head["seconds"] - 1 / 60) < 1e-6
run("convert", "cloth00012.ply", "last.obj", "--quiet")
cloth = head["layers"][0]["bodies"][0]
by = max(h - l for l, h in zip(cloth["low"], cloth["high"])) / head["scale"] / 65535
assert all(near(a, b, by) for a, b in zip(body_points(head, cloth, 12), vertices("last.obj")))
assert not all(near(a, b, by) for a, b in zip(body_points(head, cloth, 0), vertices("last.obj")))
# maps of bodies that move: the same vertices, and colours of triangles that change
head = page_of("map", "sleeve.abutm", "--resolution", "64")
assert head["frames"] == 13 and len(head["notes"]) == 6
painted = head["layers"][0]["bodies"][0]
assert all(near(a, b, by) for a, b in zip(body_points(head, painted, 12), vertices("last.obj")))
colours = head["arrays"][painted["triangles"]]
assert len(colours) % 13 == 0 and colours[:len(colours) // 13] != colours[-(len(colours) // 13):]
pathlib.Path("motion.json").write_text(json.dumps({"up": "y", "wind": [3, 0, 0], "bodies": [
    {"name": "wheel", "mesh": {"shape": "box", "size": 1, "segments": 1}, "velocity": [0, 3, 0], "position": [4, 0, 0]},
    {"name": "flag", "mesh": {"shape": "sheet", "segments": 4, "rings": 4}, "cloth": {}, "pins": [0, 1]}]}))
head = page_of("simulate", "motion.json", "--frames", "12", "--fps", "30", "--record", "motion.abutm")
run("view", "motion.abutm", "-o", "page.html")
for shown in (head, read_page("page.html")):
    assert [layer["name"] for layer in shown["layers"]] == ["wheel", "flag"], shown["layers"]
    assert shown["frames"] == 13 and abs(shown["seconds"] - 1 / 30) < 1e-6 and shown["up"] == [0, 1, 0], shown["up"]
run("convert", "ring.obj", "moved.obj", "--translate", "0,0,2", "--quiet")
head = page_of("sweep", "ring.obj", "moved.obj")
assert head["frames"] == 61
assert page_of("character", "mannequin", "--triangles", "8000", "--clip", "0")["frames"] > 10

# ---- every command that draws ----
scene = {"bodies": [{"name": n, "mesh": m, "position": p} for n, m, p in
                    (("a", "box.obj", [0, 0, 0]), ("b", "ball.obj", [0, 0, 0.9]))]}
pathlib.Path("scene.json").write_text(json.dumps(scene))
for words, some in ((("distance", "box.obj", "away.obj"), "lines"), (("interfere", "box.obj", "ball.obj"), "bodies"),
                    (("selfcheck", "ring.obj"), "bodies"), (("samples", "ring.obj"), "points"),
                    (("deviation", "ball.obj", "box.obj", "--resolution", "64"), "bodies"), (("thickness", "ball.obj", "--resolution", "64"), "bodies"),
                    (("clearance", "ball.obj", "away.obj", "--below", "3", "--resolution", "64"), "bodies"), (("radial", "mannequin", "--triangles", "8000"), "bodies"),
                    (("nearest", "ball.obj", "--random", "5"), "lines"),
                    (("ray", "ball.obj", "--from", "0,0,5", "--towards", "0,0,-1"), "lines"),
                    (("info", "ball.obj"), "bodies"), (("inside", "ball.obj", "--random", "9"), "points"),
                    (("demo", "stairs", "--bodies", "5", "--frames", "4"), "bodies"),
                    (("demo", "clash", "--bodies", "8"), "bodies"),
                    (("demo", "letters", "--frames", "3", "--resolution", "64"), "bodies"),
                    (("replay", "sleeve.abutm"), "bodies")):
    assert some in kinds(page_of(*words)), words
out = run("overlap", "box.obj", "ball.obj", "--png", "both.ppm", "--html", "page.html")  # both at once
assert "picture   both.ppm\n  page      page.html\n" in out.stdout
assert pathlib.Path("both.ppm").read_bytes()[:2] == b"P6" and read_page("page.html")["layers"]

# ---- clashes: a row for each part and for each pair, opaque, whose triangles are of no file ----
parts = [("low", [0, 0, 0]), ("high", [0.25, 0, 0.75]), ("top", [0, 0, 1]), ("edge", [1, 1, 0]), ("away", [1.1, 0, -5])]
parts += [(f"part {i}", [9 + 2 * i, 0, 0]) for i in range(6)]
pathlib.Path("clash.json").write_text(json.dumps({
    "bodies": [{"name": n, "mesh": {"shape": "box", "size": 1, "segments": 1}, "position": p} for n, p in parts]}))
head = page_of("interfere", "clash.json", "--touching", "--png", "clash.ppm")
rows = {layer["name"]: layer for layer in head["layers"]}
assert [name for name in rows if name in dict(parts)] == [name for name, _ in parts], list(rows)
common = {"low intersects high": "vol 0.1875", "low flush with top": "area 1", "low touches edge": "touch", "high intersects top": "vol 0.5625"}
assert common.items() <= {name: layer.get("amount") for name, layer in rows.items()}.items(), rows
for name in ("low intersects high", "low flush with top", "high intersects top"):
    pieces = [layer for layer in head["layers"] if layer["name"] == name and layer["kind"] == "bodies"]
    assert len(pieces) == 1 and pieces[0]["derived"] and all(b["colour"][3] == 255 for b in pieces[0]["bodies"]), name
assert "mean thickness" in rows["low intersects high"]["note"]
for layer in head["layers"]:  # which the viewer lists first
    assert layer.get("result", False) == (layer["name"] not in dict(parts)), layer["name"]
touch = next(layer for layer in head["layers"] if layer["name"] == "low touches edge")
assert touch["kind"] == "points" and list(head["arrays"][touch["colours"]])[:3] != rows["low flush with top"]["bodies"][0]["colour"][:3]
# more than anyone reads are rows by kind
pathlib.Path("crowd.json").write_text(json.dumps({
    "bodies": [{"name": f"b{i}", "mesh": {"shape": "box", "size": 1, "segments": 1}, "position": [0.9 * i, 0, 0]} for i in range(300)]}))
head = page_of("interfere", "crowd.json")
assert {(l["name"], l.get("amount")) for l in head["layers"]} == {("parts", None), ("intersect", "299")}, head["layers"]

# ---- deviation: the model lies on the scan, and is not shown at first; each has its own farthest ----
run("convert", "ball.obj", "scan.obj", "--translate", "0.05,0,0", "--quiet")
head = page_of("deviation", "scan.obj", "ball.obj", "--signed", "--resolution", "64")
state = [(layer["name"].split(": ")[0], layer["name"].split(", ")[-1], bool(layer.get("hidden"))) for layer in head["layers"]
         if layer["kind"] != "points"]
assert state == [("scan.obj", "scan.obj", False), ("ball.obj", "ball.obj", True), ("farthest", "scan.obj", False),
                 ("farthest", "ball.obj", True)], state
scan = head["layers"][0]
source_of = head["arrays"][scan["source"]]
assert len(source_of) == len(head["arrays"][head["meshes"][scan["bodies"][0]["mesh"]]["indices"]]) // 3
assert scan["derived"] and max(source_of) < 320 and len(set(source_of)) == 320

head = page_of("map", "ball.obj", "away.obj", "--resolution", "64", "--show", "gradient")
assert [(layer["name"], layer.get("derived")) for layer in head["layers"]] == [("ball.obj", True), ("away.obj", None)], head["layers"]

# ---- counts are those of the command, not of the lines that are drawn ----
run("make", "teapot", "teapot.obj", "--quiet")
rows = {layer["name"]: layer.get("amount") for layer in page_of("info", "teapot.obj")["layers"]}
pairs = json.loads(run("selfcheck", "teapot.obj", "--json").stdout)["pairs"]
cut = rows["self-intersection"]
assert f"{cut} self-intersecting triangles" in run("info", "teapot.obj").stdout and 100 < cut < pairs, (rows, pairs)
rows = {layer["name"]: layer.get("amount") for layer in page_of("selfcheck", "teapot.obj")["layers"]}
assert (rows["intersecting triangles"], rows["intersections"]) == (cut, pairs), rows
assert [l.get("amount") for l in page_of("nearest", "ball.obj", "--random", "5")["layers"] if l["kind"] == "lines"] == [5]

# ---- tables: columns by their names, wherever they are, and what else is a number ----
run("interfere", "clash.json", "--out", "clashes.csv")
run("view", "clash.json", "clashes.csv", "-o", "page.html")
head = read_page("page.html")
arrows = next(layer for layer in head["layers"] if layer["kind"] == "arrows")
facts = [f["name"] for f in arrows["facts"]]
assert "volume" in facts and not {"a", "kind", "x"} & set(facts), facts
assert near(true_points(head, head["arrays"][arrows["places"]])[0], (0.125, 0, 0.375), 1e-6)
pathlib.Path("plain.csv").write_text("1 2 3 4\n5 6 7 8\n")
run("view", "plain.csv", "-o", "page.html")
head = read_page("page.html")
assert near(true_points(head, head["arrays"][head["layers"][0]["places"]])[2], (5, 6, 7), 1e-6)
# a table without rows is an answer: on the page beside a mesh, and alone
run("interfere", "ball.obj", "away.obj", "--out", "none.csv")
pathlib.Path("empty.csv").write_text("")
for words in (("ball.obj", "none.csv"), ("none.csv",), ("empty.csv",)):
    done = run("view", *words, "-o", "page.html", code=0)
    assert done.stderr == f"abut view: warning: {words[-1]}: no rows\n", done.stderr
    head = read_page("page.html")
    assert [note[3] for note in head["notes"]] == [f"{words[-1]}: no rows"] and len(head["layers"]) == len(words) - 1
assert page_of("slice", "ball.obj", "slice.ppm", "--axis", "y", "--at", "0", "--size", "60")["title"] == "ball.obj, y = 0"

# ---- many bodies: not the square of the time ----
def seconds(count):
    pathlib.Path("row.json").write_text(json.dumps({
        "meshes": {"b": {"shape": "box", "size": 0.8, "segments": 1}},
        "bodies": [{"mesh": "b", "position": [i, 0, 0]} for i in range(count)]}))
    before = os.times().children_user
    run("view", "row.json", "-o", "page.html")
    return os.times().children_user - before


few, many = seconds(2000), seconds(16000)
assert many < 24 * few + 0.5, (few, many)

# ---- more bodies than colours: each has its own name ----
scene["bodies"] = [{"name": f"body {i}", "mesh": {"shape": "box", "segments": 1 + i}, "position": [2 * i, 0, 0]} for i in range(11)]
pathlib.Path("many.json").write_text(json.dumps(scene))
for words in (("view", "many.json", "-o", "page.html"), ("contacts", "many.json", "--html", "page.html")):
    run(*words, code=(0, 3))
    layers = read_page("page.html")["layers"]
    assert [l["name"] for l in layers] == [f"body {i}" for i in range(11)], layers
    assert all(len(l["bodies"]) == 1 for l in layers)

# ---- names: nothing of them ends an element ----
odd = "a</script><b>&.obj".replace("/", "_")
pathlib.Path(odd).write_text(pathlib.Path("box.obj").read_text())
run("view", odd, "-o", "page.html", "--title", "</title><script>alert(1)</script>")
assert "<script>alert" not in pathlib.Path("page.html").read_text()
assert read_page("page.html")["layers"][0]["name"] == odd

# ---- refused, in a sentence, with nothing written ----
bare = {k: v for k, v in environment.items() if k != "ABUT_VIEWER"}
for words, sentence, env in ((("view", "box.obj", "-o", "none.png"), "must end in .html", environment),
                             (("view", "nope.obj", "-o", "none.html"), "No such file", environment),
                             (("overlap", "box.obj", "ball.obj", "--html", "none.txt"), "must end in .html", environment),
                             (("view", "box.obj", "-o", "none/none.html"), "none/none.html", environment),
                             (("view", "box.obj", "-o", "none.html"), "viewer/build", {**bare, "ABUT_VIEWER": "nope"})):
    done = run(*words, code=(1, 2), env=env)
    assert sentence in done.stderr and done.stderr.count("\n") == 1, done.stderr
    assert not pathlib.Path("none.html").exists()
pathlib.Path("rows.csv").write_text("x,y,z\n1,2\n")
assert "x, y and z must be numbers" in run("view", "rows.csv", code=1).stderr
out = run("view", "box.obj", "-o", "-")
assert out.stdout.startswith("<!doctype html>") and "page" in out.stderr
print("fine")
