# abut simulate: falling and fast bodies, kinematic bodies, characters, cloth, pins, recordings, cancellation, wrong input.
. "$(dirname "$0")/support.sh"

case $("$tool" version) in
*"reads glTF"*) ;;
*)
    skip "scenes: this build has no JSON parser"
    checks=1
    finish
    ;;
esac
case $("$tool" version) in
*"runs a physics engine"*) has_engine=1 ;;
*) has_engine= ;;
esac

# Positions in a recording: mean of a mesh (name or index) in a frame.
cat >where.py <<'END'
import struct, sys
data = open(sys.argv[1], "rb").read()
magic, order, version, count, single, aims, reserved, seconds, check = struct.unpack_from("<8sIIIIIIdQ", data)
assert magic == b"\x89abutm\r\n" and single == 1 and aims == 0, "not a recording of floats"
table = [struct.unpack_from("<IIQ", data, 48 + 16 * i) for i in range(count)]
at = 48 + 16 * count + 8
size = struct.unpack_from("<Q", data, at + 24)[0]
names = data[at + 48:at + 48 + size].decode().split("\0")[:-1]
at += 48 + size + 12 * sum(entry[1] for entry in table)
total = sum(entry[0] for entry in table)
corners = 48 + 16 * count + 8 + 48 + size
for frame, name in (word.split(":") for word in sys.argv[2:]):
    k = names.index(name)
    first = at + int(frame) * (12 * total + 8) + 12 * sum(entry[0] for entry in table[:k])
    points = struct.unpack_from("<%df" % (3 * table[k][0]), data, first)
    print(*(sum(points[axis::3]) / table[k][0] for axis in range(3)))
    with open(name + ".obj", "w") as file: # the mesh in this frame
        for i in range(table[k][0]):
            file.write("v %r %r %r\n" % points[3 * i:3 * i + 3])
        begin = corners + 12 * sum(entry[1] for entry in table[:k])
        for i in range(table[k][1]):
            file.write("f %d %d %d\n" % tuple(1 + v for v in struct.unpack_from("<3I", data, begin + 12 * i)))
END
where() { # RECORDING FRAME:NAME: three numbers
    "$python" where.py "$@"
}
true_that() { # MESSAGE EXPRESSION-OF-x-y-z NUMBERS
    checks=$((checks + 1))
    echo "$3" | awk "{ x = \$1; y = \$2; z = \$3; exit !($2) }" || wrong "$1: $3"
}

# A sheet falls on a ball that no force moves, and two corners of another one are pinned.
cat >sheet.json <<'END'
{"bodies": [
  {"name": "ball", "mesh": {"shape": "icosphere", "segments": 4}},
  {"name": "cover", "mesh": {"shape": "sheet", "segments": 10, "rings": 10}, "position": [0, 0, 0.6],
   "cloth": {"friction": 0.5, "damping": 0.5}},
  {"name": "curtain", "mesh": {"shape": "sheet", "segments": 6, "rings": 6}, "position": [3, 0, 0],
   "cloth": {}, "pins": {"box": [[-0.6, 0.45, 0], [0.6, 0.6, 0]]}}]}
END
try 0 "$tool" simulate sheet.json --frames 20 --check --record sheet.abutm --json --threads 1
is "[it[k] for k in ('bodies', 'rigid', 'sheets', 'frames', 'substeps', 'frames_with_intersections')]" "[3, 0, 2, 20, 1, 0]"
is "it['cloth_guarantee'], it['guarantee'], abs(it['seconds'] - 1 / 3) < 1e-9" "('guaranteed', 'complete', True)"
is "it['contacts'] > 1 and it['gap'] > 0 and it['milliseconds']['cloth'] > 0" True
try 0 "$tool" info sheet.abutm --json
is "[(m['mesh'], m['vertices']) for m in it['files'][0]['meshes']]" "[('ball', 162), ('cover', 121), ('curtain', 49)]"
is "it['files'][0]['up'], it['files'][0]['frames'], abs(it['files'][0]['seconds_a_frame'] - 1 / 60) < 1e-15" "([0, 0, 1], 21, True)"
try 0 "$tool" info sheet.abutm
says "recording of 21 frames, 0.3333 s"
try 0 "$tool" simulate sheet.json --frames 20 --record again.abutm --threads 2
says "cloth"
demand "another number of threads gives another motion" "$(cmp sheet.abutm again.abutm 2>&1)" = ""
prints 0 simulate sheet.json --frames 2 --check --quiet
if [ -n "$python" ]; then
    true_that "the cover fell through the ball" "z > 0.3 && z < 0.6" "$(where sheet.abutm 20:cover)"
    where sheet.abutm 20:ball >/dev/null
    prints no overlap ball.obj cover.obj --surfaces --quiet # also as recorded
    true_that "the curtain does not hang" "y > -0.1 && z < -0.05 && z > -0.5" "$(where sheet.abutm 20:curtain)"
fi

# Cloth that intersects something at the start is an error that names what happened.
sed 's/"position": \[0, 0, 0.6\]/"position": [0, 0, 0.3]/' sheet.json >crossed.json
fails "frame 1: " simulate crossed.json --frames 2
complains "untangle moves sheets apart that intersect"

# With --untangle the sheet is moved first, as the output says. A start that stays crossed is an error with its place.
prints 0 simulate crossed.json --frames 2 --untangle --check --quiet
try 0 "$tool" simulate crossed.json --frames 2 --untangle --check
says "untangled"
says "none in any frame, exactly"
try 0 "$tool" simulate crossed.json --frames 2 --untangle --check --json
is "it['untangled']['pairs'] > 0 and it['untangled']['iterations'] > 0 and 0 < it['untangled']['distance'] < 0.3" True
is "it['untangled']['moved'] > 5, it['frames_with_intersections']" "(True, 0)"
try 0 "$tool" simulate sheet.json --frames 1 --untangle --json
is "[it['untangled'][k] for k in ('pairs', 'iterations', 'moved', 'distance')]" "[0, 0, 0, 0]"
try 0 "$tool" simulate sheet.json --frames 1 --untangle
says "nothing: the start has no intersections"
sed 's/"cloth": {"friction": 0.5, "damping": 0.5}/"cloth": {}, "pins": {"box": [[-9, -9, -9], [9, 9, 9]]}/' crossed.json >pinned.json
fails "cloth could not be untangled: " simulate pinned.json --frames 2 --untangle
complains "frame 1: abut_cloth_step: triangle"

if [ "$has_engine" ]; then
    # A ball falls freely, then lies on the floor; a bullet does not pass a thin plate; a box on a conveyor moves with it.
    cat >rigid.json <<'END'
{"bodies": [
  {"name": "floor", "mesh": {"shape": "sheet", "size": 8, "segments": 1, "rings": 1}, "solid": true},
  {"name": "ball", "mesh": {"shape": "icosphere", "radius": 0.2, "segments": 4}, "density": 500, "position": [0, 3, 1]},
  {"name": "plate", "mesh": {"shape": "box", "size": [0.01, 1, 1], "segments": 1}, "position": [2, 0, 0.5]},
  {"name": "bullet", "mesh": {"shape": "icosphere", "radius": 0.05, "segments": 3}, "mass": 0.1, "position": [-2, 0, 0.5],
   "velocity": [300, 0, 0]},
  {"name": "belt", "mesh": {"shape": "box", "size": [6, 1, 0.1], "segments": 1}, "position": [-3, -3, 0.5], "velocity": [1, 0, 0]},
  {"name": "parcel", "mesh": {"shape": "box", "size": 0.3, "segments": 1}, "density": 200, "position": [-1, -3, 0.701]}],
 "ignore": [["belt", "floor"]]}
END
    try 0 "$tool" simulate rigid.json --frames 60 --record rigid.abutm --json
    is "[it[k] for k in ('rigid', 'substeps', 'passed', 'unswept')]" "[3, 4, 0, 0]"
    is "it['depth'] < 0.005 and it['guarantee'] == 'complete' and 'frames_with_intersections' not in it" True
    if [ -n "$python" ]; then
        true_that "the ball does not fall freely" "z > 0.783 && z < 0.807" "$(where rigid.abutm 12:ball)" # 1 - 9.81 t^2 / 2
        true_that "the ball does not lie on the floor" "z > 0.19 && z < 0.21" "$(where rigid.abutm 60:ball)"
        true_that "the bullet passed the plate" "x < 2" "$(where rigid.abutm 2:bullet)"
        true_that "the parcel does not move with the belt" "x > -0.7 && x < 0.1 && z > 0.68" "$(where rigid.abutm 60:parcel)"
        true_that "the belt has another velocity" "x > -2.01 && x < -1.99" "$(where rigid.abutm 60:belt)"
    fi
    # A ball that bounces reaches a quarter of the height with half of the speed.
    cat >bounce.json <<'END'
{"gravity": [0, 0, -10], "bodies": [
  {"name": "floor", "mesh": {"shape": "sheet", "size": 8, "segments": 1, "rings": 1}, "solid": true},
  {"name": "ball", "mesh": {"shape": "icosphere", "radius": 0.1, "segments": 4}, "solid": true, "mass": 1, "bounce": 0.5,
   "position": [0, 0, 1.1]}]}
END
    try 0 "$tool" simulate bounce.json --frames 41 --record bounce.abutm --quiet
    [ -n "$python" ] && true_that "the ball bounces to another height" "z > 0.3 && z < 0.4" "$(where bounce.abutm 40:ball)"
    # A ball falls into a sheet that is held at its corners, stretches it, and is thrown up again.
    cat >net.json <<'END'
{"bodies": [
  {"name": "net", "mesh": {"shape": "sheet", "size": 1, "segments": 20, "rings": 20}, "cloth": {}, "pins": [0, 20, 420, 440]},
  {"name": "ball", "mesh": {"shape": "icosphere", "radius": 0.1, "segments": 4}, "mass": 0.2, "position": [0, 0, 0.3]}]}
END
    try 0 "$tool" simulate net.json --frames 40 --record net.abutm --check --quiet
    if [ -n "$python" ]; then
        true_that "the ball does not stretch the net" "z < -0.15 && z > -0.3" "$(where net.abutm 20:ball)"
        true_that "the net does not throw the ball" "z > 0" "$(where net.abutm 40:ball)"
    fi
    # A walking character pushes a box away. Both methods of characters have contacts with it.
    for method in exact radial; do
        cat >walk.json <<END
{"up": "y", "bodies": [
  {"name": "floor", "mesh": {"shape": "sheet", "size": 9, "segments": 1, "rings": 1}, "solid": true, "axis": [1, 0, 0], "degrees": -90},
  {"name": "man", "mesh": {"figure": "mannequin", "clip": "walk"}, "method": "$method", "velocity": [0, 0, 1.5]},
  {"name": "box", "mesh": {"shape": "box", "size": [1, 0.5, 0.2], "segments": 2}, "density": 20, "position": [0, 0.251, 0.9]}]}
END
        try 0 "$tool" simulate walk.json --frames 45 --record walk.abutm --json
        is "it['characters'], it['contacts'] > 1" "(1, True)"
        [ -n "$python" ] && true_that "the box was not pushed ($method)" "z > 1.1" "$(where walk.abutm 45:box)"
    done
else
    echo '{"bodies": [{"mesh": {"shape": "box"}, "mass": 1}]}' >rigid.json
    fails "no physics engine" simulate rigid.json
fi

# Two panels are sewn around a trunk that turns: sides by boxes, shoulders by indices. Nothing holds them but the seams.
cat >sewn.json <<'END'
{"bodies": [
  {"name": "trunk", "mesh": {"shape": "uvsphere", "radius": 0.2, "segments": 16, "rings": 12}, "spin": [0, 0, 1]},
  {"name": "back", "mesh": {"shape": "sheet", "size": [0.7, 0.7, 0], "segments": 14, "rings": 14}, "position": [0, 0.23, 0],
   "axis": [1, 0, 0], "degrees": 90, "cloth": {"friction": 0.5}},
  {"name": "front", "mesh": {"shape": "sheet", "size": [0.7, 0.7, 0], "segments": 14, "rings": 14}, "position": [0, -0.23, 0],
   "axis": [1, 0, 0], "degrees": 90, "cloth": {"friction": 0.5},
   "seams": [
     {"box": [[-0.35, -0.35, 0], [-0.35, 0.35, 0]], "to": "back", "to_box": [[-0.35, -0.35, 0], [-0.35, 0.35, 0]], "speed": 3},
     {"box": [[0.35, -0.35, 0], [0.35, 0.3, 0]], "to": "back", "to_box": [[0.35, -0.35, 0], [0.35, 0.3, 0]], "speed": 3},
     {"vertices": [211, 212, 213, 214, 215, 216, 217, 218, 219, 220, 221, 222, 223],
      "to_vertices": [211, 212, 213, 214, 215, 216, 217, 218, 219, 220, 221, 222, 223], "to": "back", "speed": 3}]}]}
END
try 0 "$tool" simulate sewn.json --frames 50 --check --record sewn.abutm --json --threads 1
is "it['seams'], it['seam_gap'] < 2e-3, it['frames_with_intersections']" "(42, True, 0)"
try 0 "$tool" simulate sewn.json --frames 3 --quiet --record sewn1.abutm --state sewn.state
try 0 "$tool" simulate sewn.json --frames 47 --resume sewn.state --record sewn2.abutm --threads 2
says "seams          42, open by at most"
if [ -n "$python" ]; then
    try 0 "$python" where.py sewn.abutm 50:back
    true_that "the seams do not hold" "z > -0.35" "$(where sewn.abutm 50:back)"
    demand "a resumed run has another end" "$(where sewn2.abutm 47:front)" = "$(where sewn.abutm 50:front)"
fi

# A run in two parts makes the same frames as one run: rigid bodies that bounce, cloth on all of them, and a character.
rigid='"mass": 1, "bounce": 0.4, "friction": 0.5'
[ "$has_engine" ] || rigid='"velocity": [0, 0, -0.2]'
cat >parts.json <<END
{"bodies": [
  {"name": "floor", "mesh": {"shape": "box", "size": [9, 9, 1], "segments": 1}, "position": [0, 0, -0.5]},
  {"name": "box", "mesh": {"shape": "box", "size": 0.4, "segments": 2}, "position": [0, 0, 0.6], "spin": [1, 2, 0], $rigid},
  {"name": "ball", "mesh": {"shape": "icosphere", "radius": 0.2, "segments": 4}, "position": [0.3, 0.1, 1.3], $rigid},
  {"name": "mover", "mesh": {"shape": "icosphere", "radius": 0.2, "segments": 2}, "position": [-1, 0, 0.3], "velocity": [1.2, 0, 0]},
  {"name": "cover", "mesh": {"shape": "sheet", "segments": 10, "rings": 10}, "position": [0, 0, 1.02],
   "cloth": {"friction": 0.5}, "pins": {"box": [[-0.6, -0.6, -1], [-0.45, -0.45, 1]]}},
  {"name": "man", "mesh": {"figure": "mannequin", "clip": "walk"}, "axis": [1, 0, 0], "degrees": 90, "position": [2, 0, 0],
   "velocity": [0, -1, 0], "self": true}]}
END
cat >parts.py <<'END'
import struct, sys
def frames(path):
    data = open(path, "rb").read()
    count = struct.unpack_from("<I", data, 16)[0]
    table = [struct.unpack_from("<IIQ", data, 48 + 16 * i) for i in range(count)]
    at = 48 + 16 * count + 8
    at += 48 + struct.unpack_from("<Q", data, at + 24)[0] + 12 * sum(entry[1] for entry in table)
    size = 12 * sum(entry[0] for entry in table)
    return [data[i:i + size] for i in range(at, len(data) - size - 8, size + 8)]
whole, parts = frames(sys.argv[1]), [frames(path) for path in sys.argv[2:]]
joined = parts[0] + [frame for part in parts[1:] for frame in part[1:]]
assert len(set(whole)) == len(whole) > 10, "frames are equal"
for last, part in zip(parts, parts[1:]):
    assert part[0] == last[-1], "a part begins with another frame"
assert joined == whole, [i for i, (a, b) in enumerate(zip(joined, whole)) if a != b] or (len(joined), len(whole))
END
try 0 "$tool" simulate parts.json --frames 24 --record whole.abutm --threads 1
try 0 "$tool" simulate parts.json --frames 9 --record part1.abutm --state run.state --threads 1
says "state          run.state"
try 0 "$tool" simulate parts.json --frames 8 --resume run.state --record part2.abutm --state next.state --threads 2
says "from frame 9, at 0.15 s"
try 0 "$tool" simulate parts.json --frames 7 --resume next.state --state next.state --record part3.abutm --json
is "it['first_frame'], it['frames'], abs(it['seconds'] - 7 / 60) < 1e-9" "(17, 7, True)"
is "it['recording'], it['state']" "('part3.abutm', 'next.state')"
if [ -n "$python" ]; then
    try 0 "$python" parts.py whole.abutm part1.abutm part2.abutm part3.abutm
fi
prints "from frame 24" simulate parts.json --frames 1 --resume next.state --fps 60

# States of other scenes, other steps, and damaged ones.
fails "run.state: does not fit the scene: it has 6 bodies" simulate sheet.json --resume run.state
sed 's/"size": 0.4/"size": 0.41/' parts.json >other.json
fails "run.state: does not fit the scene: item 1 is not as it was saved" simulate other.json --resume run.state
sed 's/{"friction": 0.5}/{"friction": 0.6}/' parts.json >other.json
fails "its mesh or its material differ" simulate other.json --resume run.state
refuses "has 60 frames per second; --fps cannot change that" simulate parts.json --resume run.state --fps 30
refuses "steps per frame; --substeps cannot change that" simulate parts.json --resume run.state --substeps 9
fails "sheet.json: is not a state of abut simulate" simulate parts.json --resume sheet.json
fails "none.state: cannot be opened" simulate parts.json --resume none.state
head -c 5000 run.state >cut.state
fails "cut.state: is damaged" simulate parts.json --resume cut.state
if [ -n "$python" ]; then
    for at in 9 20 30 50 70 100 5000 -9 -1; do
        "$python" -c 'import sys; b = bytearray(open("run.state", "rb").read()); b[int(sys.argv[1])] ^= 16; open("bad.state", "wb").write(b)' "$at"
        fails "bad.state: " simulate parts.json --resume bad.state
    done
fi

# A step that fails keeps the state before its frame.
fails "frame 1: " simulate crossed.json --frames 2 --state crossed.state
complains "0 of 2 frames are complete; '--resume crossed.state' continues after frame 0"
fails "frame 1: " simulate crossed.json --frames 2 --resume crossed.state

# A dressed character. Its garment takes seconds to make.
cat >dress.json <<'END'
{"up": "y", "bodies": [
  {"name": "woman", "mesh": {"figure": "mannequin-female", "clip": "walk", "blend": 1}, "self": true},
  {"name": "dress", "mesh": {"garment": "dress", "on": "woman", "triangles": 2000}, "cloth": {"friction": 0.3}}]}
END
case $("$tool" version) in
*"pictures as .png"*) picture="--png film.png" ;;
*) picture="--png film.ppm" ;;
esac
try 0 "$tool" simulate dress.json --frames 3 --fps 30 --check --json $picture
is "[it[k] for k in ('characters', 'sheets', 'substeps', 'frames_with_intersections')]" "[1, 1, 2, 0]"
is "it['cloth_guarantee'], abs(it['seconds'] - 0.1) < 1e-9" "('guaranteed', True)"
demand "no picture" -s "${picture#--png }"
sed 's/"dress", "on"/"hat", "on"/' dress.json >hat.json
fails "bodies[1]: there is no garment 'hat'" simulate hat.json

# A run that is cancelled keeps the recorded frames.
if [ -n "$python" ]; then
    "$python" - "$tool" >cancelled <<'END' || wrong "a cancelled run did not end by its signal"
import signal, subprocess, sys, time
run = subprocess.Popen([sys.argv[1], "simulate", "sheet.json", "--frames", "1000000", "--record", "part.abutm", "--state",
                        "part.state"],
                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                       preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
time.sleep(1.5)
run.send_signal(signal.SIGINT)
text = run.communicate(timeout=60)[1]
sys.stdout.buffer.write(text)
sys.exit(not (run.returncode == -signal.SIGINT and b"cancelled" in text))
END
    try 0 "$tool" info part.abutm --json
    is "it['files'][0]['frames'] >= 1 and len(it['files'][0]['meshes']) == 3" True
    last=$(value "it['files'][0]['frames'] - 1")
    kept="$last of 1000000 frames are complete; they are in 'part.abutm'; '--resume part.state' continues after frame $last"
    demand "a cancelled run does not say what it kept: $(cat cancelled)" "$(grep -cF "$kept" cancelled)" = 1
    prints "from frame $last" simulate sheet.json --frames 2 --resume part.state
fi

# A glTF file is a character if it has a time or a clip; otherwise it is a mesh, and wears nothing.
"$tool" make box box.glb --quiet
for time in ', "time": 0:1' ':0'; do
    echo "{\"bodies\": [{\"name\": \"box\", \"mesh\": {\"file\": \"box.glb\"${time%:*}}}]}" >glb.json
    try 0 "$tool" simulate glb.json --frames 1 --json
    is "it['characters']" "${time##*:}"
done
echo '{"bodies": [{"name": "box", "mesh": {"file": "box.glb"}}, {"mesh": {"garment": "dress", "on": "box"}, "cloth": {}}]}' >glb.json
fails "bodies[1]: there is no character 'box' before this body" simulate glb.json

echo '{"bodies": []}' >empty.json
"$tool" make box cube.obj --quiet
refuses "has no bodies" simulate empty.json
refuses "is not a scene" simulate cube.obj
refuses "from 1 to 10000" simulate sheet.json --fps 0.5

# No file is written twice or replaces an input, by whatever path; and all files are checked before the run.
cp sheet.json kept.json
mkdir folder
ln -s ../sheet.json folder/link.json
for option in state record; do
    for path in sheet.json ./sheet.json folder/../sheet.json folder/link.json "$PWD/sheet.json"; do
        refuses "--$option would replace the scene" simulate sheet.json --frames 1 --$option $path
    done
done
cp sheet.json page.html
echo "/* a stand-in */" >viewer.js
ABUT_VIEWER=viewer.js
export ABUT_VIEWER
refuses "--html would replace the scene 'page.html'" simulate page.html --frames 1 --html page.html
demand "the scene was replaced" "$(cmp sheet.json kept.json 2>&1; cmp page.html kept.json 2>&1)" = ""
refuses "--state and --record are the same file" simulate sheet.json --frames 1 --state both --record folder/../both
refuses "--state and --record are the same file '-'" simulate sheet.json --frames 1 --state - --record -
refuses "--record would replace the state" simulate parts.json --frames 1 --resume run.state --record ./run.state
demand "a file was written by a refused run" ! -e both
for option in "--state no/such/run.state" "--state folder" "--state folder/new/" "--state sheet.json/x" "--png no/such/film.ppm" \
    "--state="; do
    fails "cannot be written: " simulate sheet.json --frames 1000000 --record early.abutm $option
done
fails "no/such/page.html: cannot be written: " simulate sheet.json --frames 1000000 --state early.state --html no/such/page.html
demand "a state of a run that did not start" ! -e early.state
demand "a recording of a run that did not start" ! -e early.abutm
fails "cannot be opened" simulate missing.json --state sheet.json
demand "a missing scene" "$(cmp sheet.json kept.json 2>&1)" = ""
try 0 "$tool" simulate sheet.json --frames 1 --state /dev/null --record /dev/null
fails "no/such" simulate sheet.json --frames 1 --record no/such/folder.abutm
fails "cannot be opened" simulate missing.json
finish
