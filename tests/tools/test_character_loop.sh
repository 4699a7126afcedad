# abut-character (examples/character): the loop of a game engine. Steps of fixed length do not depend on frames, results do
# not depend on threads, the garment stays outside the body, and recordings have all vertices.
. "$(dirname "$0")/support.sh"
loop=$build/abut-character
demand "there is $loop" -x "$loop"

# Two steps a frame by default. The same bits on one thread and on three.
try 0 "$loop" mannequin-female --frames 40 --particles 1000 --threads 1 --record one.abutm
says "garment of 1000 particles"
says "frames     40 with 80 steps"
says "0.00 s dropped"
for what in step frame depth checksum; do says "$what "; done
one=$(grep checksum "$scratch/out")
depth=$(sed -n 's/^depth *\([0-9.]*\) m.*/\1/p' "$scratch/out")
demand "at most 1 cm deep, not $depth" "$(printf '%.0f' "${depth}e4")" -le 100
try 0 "$loop" mannequin-female --frames 40 --particles 1000 --threads 3 --record three.abutm
says "$one"
try 0 cmp one.abutm three.abutm

prints "recording of 40 frames" info one.abutm
says "garment"

# Frames of another length than steps: 37 of 72 a second are a little more than 30 steps of 60 a second.
try 0 "$loop" mannequin-female --frames 37 --display 72 --steps 60 --particles 1000 --garment cape --clip walk
says "frames     37 with 30 steps"
# An engine that shows five frames a second makes at most four steps for each.
try 0 "$loop" mannequin-female --frames 3 --display 5 --particles 1000
says "frames     3 with 12 steps"
says "0.50 s dropped"
# By the clock: ten frames take at least a sixth of a second, so that there are steps.
try 0 "$loop" mannequin-female --frames 11 --real-time --particles 1000
demand "steps by the clock" "$(sed -n 's/^frames *11 with \([0-9]*\) steps.*/\1/p' "$scratch/out")" -ge 19

# A file of glTF: boxes for the parts of a body, on the bones of a game rig, with a clip that swings a leg.
if [ -n "$python" ]; then
    cat >biped.py <<'PYTHON'
import base64, itertools, json, math, struct

JOINTS = [  # name, parent, position
    ("Hips", None, (0, 0.92, 0)), ("Neck", 0, (0, 1.44, 0)), ("Head", 1, (0, 1.54, 0)),
    ("LeftArm", 0, (0.17, 1.36, 0)), ("LeftForeArm", 3, (0.44, 1.36, 0)), ("LeftHand", 4, (0.7, 1.36, 0)),
    ("RightArm", 0, (-0.17, 1.36, 0)), ("RightForeArm", 6, (-0.44, 1.36, 0)), ("RightHand", 7, (-0.7, 1.36, 0)),
    ("LeftUpLeg", 0, (0.1, 0.88, 0)), ("LeftLeg", 9, (0.1, 0.47, 0)), ("LeftFoot", 10, (0.1, 0.09, 0)),
    ("RightUpLeg", 0, (-0.1, 0.88, 0)), ("RightLeg", 12, (-0.1, 0.47, 0)), ("RightFoot", 13, (-0.1, 0.09, 0))]
ARM, LEG = [((0.13, 0.46), 3), ((0.43, 0.72), 4), ((0.7, 0.84), 5)], [((0.45, 0.93), 9), ((0.07, 0.48), 10), ((0, 0.1), 11)]
boxes = [((-0.16, 0.84, -0.1), (0.16, 1.42, 0.1), 0), ((-0.05, 1.4, -0.05), (0.05, 1.52, 0.05), 1),
         ((-0.09, 1.5, -0.1), (0.09, 1.74, 0.1), 2)]
for side, left in ((1, 0), (-1, 3)):
    for (lo, hi), joint in ARM:
        boxes.append(((min(side * lo, side * hi), 1.32, -0.04), (max(side * lo, side * hi), 1.4, 0.04), joint + left))
    for (lo, hi), joint in LEG:
        boxes.append(((side * 0.1 - 0.06, lo, -0.06), (side * 0.1 + 0.06, hi, 0.16 if joint == 11 else 0.06), joint + left))
points, corners, joints = [], [], []
for lo, hi, joint in boxes:
    base = len(points)
    points += [tuple((hi if k >> axis & 1 else lo)[axis] for axis in range(3)) for k in range(8)]
    for a, b, c, d in ((0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5)):
        corners += [base + i for i in (a, b, c, a, c, d)]
    joints += [joint] * 8
times = [0, 0.5, 1]
turns = [(math.sin(x / 2), 0, 0, math.cos(x / 2)) for x in (0, -0.6, 0)]
binds = [(1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, -p[0], -p[1], -p[2], 1) for _, _, p in JOINTS]
flat = lambda rows: list(itertools.chain.from_iterable(rows))
arrays = [(struct.pack(f"<{3 * len(points)}f", *flat(points)), 5126, "VEC3", len(points)),
          (struct.pack(f"<{len(corners)}H", *corners), 5123, "SCALAR", len(corners)),
          (bytes(flat((j, 0, 0, 0) for j in joints)), 5121, "VEC4", len(points)),
          (struct.pack(f"<{4 * len(points)}f", *([1, 0, 0, 0] * len(points))), 5126, "VEC4", len(points)),
          (struct.pack(f"<{16 * len(binds)}f", *flat(binds)), 5126, "MAT4", len(binds)),
          (struct.pack("<3f", *times), 5126, "SCALAR", 3), (struct.pack("<12f", *flat(turns)), 5126, "VEC4", 3)]
data, views, accessors = b"", [], []
for k, (part, kind, shape, count) in enumerate(arrays):
    views.append({"buffer": 0, "byteOffset": len(data), "byteLength": len(part)})
    accessors.append({"bufferView": k, "componentType": kind, "type": shape, "count": count})
    data += part + bytes(-len(part) % 4)
accessors[0].update(min=[min(p[i] for p in points) for i in range(3)], max=[max(p[i] for p in points) for i in range(3)])
accessors[5].update(min=[0], max=[1])
nodes = []
for k, (name, parent, at) in enumerate(JOINTS):
    above = JOINTS[parent][2] if parent is not None else (0, 0, 0)
    nodes.append({"name": name, "translation": [at[i] - above[i] for i in range(3)]})
    children = [c for c, joint in enumerate(JOINTS) if joint[1] == k]
    if children:
        nodes[-1]["children"] = children
nodes.append({"mesh": 0, "skin": 0})
uri = "data:application/octet-stream;base64," + base64.b64encode(data).decode()
print(json.dumps({
    "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0, len(JOINTS)]}], "nodes": nodes,
    "meshes": [{"primitives": [{"attributes": {"POSITION": 0, "JOINTS_0": 2, "WEIGHTS_0": 3}, "indices": 1}]}],
    "skins": [{"joints": list(range(len(JOINTS))), "inverseBindMatrices": 4}],
    "animations": [{"name": "kick", "samplers": [{"input": 5, "output": 6}],
                    "channels": [{"sampler": 0, "target": {"node": 9, "path": "rotation"}}]}],
    "buffers": [{"byteLength": len(data), "uri": uri}], "bufferViews": views, "accessors": accessors}))
PYTHON
    try 0 "$python" biped.py
    cp out biped.gltf
    try 0 "$loop" biped.gltf --clip kick --frames 90 --particles 1000 --record kick.abutm
    says "120 vertices"
    says "frames     90 with 180 steps"
    prints "recording of 90 frames" info kick.abutm
    try 2 "$loop" biped.gltf --clip walk --frames 1
    complains "no clip of this name"
else
    skip "there is no python3"
fi

# Errors name the reason.
try 2 "$loop"
complains "name a file of glTF"
try 2 "$loop" missing.glb
complains "missing.glb"
printf 'no glTF' >bad.glb
try 2 "$loop" bad.glb
complains "bad.glb"
try 2 "$loop" mannequin-female --clip nosuch --frames 1
complains "no clip of this name"
try 2 "$loop" mannequin-female --garment toga --frames 1
complains "overcoat"
try 2 "$loop" mannequin-female --frames 0
complains "--frames needs a value from 1 to 1000000"
try 2 "$loop" mannequin-female --clip
complains "--clip needs a value"
try 2 "$loop" --help
complains "'--help' is not an option; there are --real-time and, with a value, --clip --garment"
try 2 "$loop" mannequin-female --frames 1 --particles 1000 --record no/such/file.abutm
complains "no/such"
finish
