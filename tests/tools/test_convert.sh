# abut convert: every format into every other, the repairs, and nothing lost when it fails.
. "$(dirname "$0")/support.sh"
"$tool" make icosphere ball.obj --segments 4 --quiet || exit 1

facts() {
    "$tool" info --json "$1" >facts.json && cp facts.json out
}

# Round trips keep the counts; OBJ and PLY every bit.
for from in obj ply stl; do
    "$tool" convert ball.obj in.$from --quiet || wrong "ball.obj to $from"
    for to in obj ply stl; do
        for ascii in '' --ascii; do
            try 0 "$tool" convert in.$from back.$to $ascii
            mute err
            says "read"
            says "wrote"
            says "162 vertices, 320 triangles"
            try 0 "$tool" info --json back.$to
            is "[it['files'][0][k] for k in ('vertices', 'triangles', 'closed', 'solid')]" \
                "[162, 320, True, True]"
        done
    done
done
"$tool" convert ball.obj a.ply --quiet && "$tool" convert a.ply b.ply --ascii --quiet &&
    "$tool" convert b.ply c.obj --quiet
demand "bits were lost" "$(cmp ball.obj c.obj 2>&1)" = ""
demand "text is no larger than binary" "$(wc -c <b.ply)" -gt "$(wc -c <a.ply)"
demand "an ascii PLY says so" "$(sed -n 2p b.ply)" = "format ascii 1.0"
try 0 "$tool" convert ball.obj named --to stl
prints "162 vertices" convert named named.obj --from stl
try 0 "$tool" convert ball.obj out.obj --quiet
mute out
try 0 "$tool" convert ball.obj out.obj --json --weld --orient
is "it['read'][0]['vertices']" 162
is "it['wrote']['triangles']" 320
is "it['weld']" "{'tolerance': 0, 'vertices_removed': 0, 'triangles_removed': 0}"
is "it['flipped']" 0

# Welding: two triangles whose shared corners are doubled, one pair exactly, one by a little.
cat >split.obj <<'END'
v 0 0 0
v 1 0 0
v 0 1 0
v 1 0 0
v 1 1 0
v 0 1 0.001
f 1 2 3
f 4 5 6
END
prints "removed 1 vertex and 0 triangles" convert split.obj welded.obj --weld
prints "removed 2 vertices and 0 triangles" convert split.obj welded.obj --weld=0.01
says "welded.obj: 4 vertices, 2 triangles"
try 1 "$tool" convert split.obj nothing.obj --weld=100
demand "a mesh without triangles was written" ! -e nothing.obj

# Orientation: one triangle of a tetrahedron is turned back.
cat >flipped.obj <<'END'
v 0 0 0
v 1 0 0
v 0 1 0
v 0 0 1
f 1 2 3
f 1 2 4
f 2 3 4
f 3 1 4
END
prints "flipped 1 triangle" convert flipped.obj oriented.obj --orient
facts oriented.obj
is "it['files'][0]['problem_total']" 0
is "round(it['files'][0]['volume'], 12)" 0.166666666667

# Moving: scale, then rotate in the order given, then translate.
"$tool" make box box.obj --size 1,2,3 --segments 1 --quiet
close() { # close KEY EXPECTED: every number within 1e-12
    is "max(abs(a - b) for a, b in zip(it['files'][0]$1, $2)) < 1e-12" True
}
try 0 "$tool" convert box.obj moved.obj --translate 10,20,30 --scale 2 --rotate x,90
facts moved.obj
close "['bounds']['lo']" "(9, 17, 28)"
close "['bounds']['hi']" "(11, 23, 32)"
try 0 "$tool" convert box.obj moved.obj --rotate z,90 --rotate x,90
facts moved.obj
close "['size']" "(2, 3, 1)"
try 0 "$tool" convert box.obj moved.obj --rotate 1,1,1,120
facts moved.obj
close "['size']" "(3, 1, 2)"
try 0 "$tool" convert box.obj mirrored.obj --scale=-1
facts mirrored.obj
is "it['files'][0]['problem_total']" 0
is "abs(it['files'][0]['volume'] - 6) < 1e-12" True

# A concave polygon: ear clipping keeps its area, a fan does not.
printf 'v 0 0 0\nv 2 0 0\nv 2 2 0\nv 1 0.5 0\nv 0 2 0\nf 3 4 5 1 2\n' >arrow.obj
"$tool" convert arrow.obj ears.obj --quiet && facts ears.obj
is "round(it['files'][0]['area'], 12)" 2.5
"$tool" convert arrow.obj fan.obj --fan --quiet && facts fan.obj
is "it['files'][0]['area'] > 2.6" True
is "it['files'][0]['triangles']" 3

# In place.
cp ball.obj same.obj
try 0 "$tool" convert same.obj same.obj --scale 2
facts same.obj
is "round(it['files'][0]['size'][0]) >= 2" True

# Failures leave what was there, and nothing else.
untouched() {
    demand "$1: the old file changed" "$(cat target/old.obj)" = precious
    demand "$1: something was left behind: $(ls -A target)" "$(ls -A target)" = old.obj
}
mkdir target
echo precious >target/old.obj
fails "missing.obj" convert missing.obj target/old.obj
untouched "missing input"
head -c 100 a.ply >short.ply
try 1 "$tool" convert short.ply target/old.obj
untouched "short input"
fails "cannot be written" convert ball.obj target/none/new.obj
untouched "no folder"
try 1 "$tool" convert ball.obj target --to obj
untouched "a folder as the file"
refuses ".obj, .ply, .stl, .off, .glb or .gltf" convert ball.obj target/new.xyz
untouched "unknown ending"
try 1 sh -c 'trap "" XFSZ; ulimit -f 2; exec "$0" "$@"' "$tool" convert ball.obj target/old.obj
complains "could not be written"
untouched "no room on the disk"
try 1 sh -c 'trap "" XFSZ; ulimit -f 2; exec "$0" "$@"' "$tool" convert --json ball.obj target/new.stl
is "it['error']['kind']" "file error"
untouched "no room on the disk for a new file"
if [ -w /dev/full ]; then
    fails "/dev/full" convert ball.obj /dev/full --to ply
fi
if [ "$(id -u)" -eq 0 ]; then
    skip "a folder that cannot be written: root writes everywhere"
else
    chmod a-w target
    fails "cannot be written" convert ball.obj target/new.obj
    chmod u+w target
    untouched "locked folder"
fi

# glTF: a triangle of bytes in the text itself.
cat >tri.gltf <<'END'
{"asset":{"version":"2.0"},"meshes":[{"primitives":[{"attributes":{"POSITION":0}}]}],"accessors":[
{"bufferView":0,"componentType":5120,"count":3,"type":"VEC3"}],"bufferViews":[{"buffer":0,
"byteLength":9}],"buffers":[{"byteLength":9,"uri":"data:;base64,AAAAAQAAAAEA"}]}
END
if "$tool" version --json | grep -q '"gltf": true'; then
    prints "tri.gltf: 3 vertices, 1 triangles" convert tri.gltf tri.obj
    try 0 "$tool" convert --from gltf tri.gltf tri.ply
    sed 's/"count":3/"count":4/' tri.gltf >more.gltf
    fails "more.gltf: accessors[0]: 4 elements of 3 bytes" convert more.gltf tri.obj
else
    fails "this build of abut cannot read because it does not include yajl" convert tri.gltf tri.obj
fi
try 0 "$tool" convert ball.obj ball.glb
demand "a GLB begins otherwise" "$(head -c 4 ball.glb)" = glTF
try 0 "$tool" convert ball.obj ball.gltf
try 0 "$tool" convert ball.obj named --to gltf
demand "another name gives other bytes" "$(cmp named ball.glb 2>&1)" = ""
demand "text is not JSON" "$("$python" -c 'import json; print(json.load(open("ball.gltf"))["asset"]["version"])')" = 2.0
if "$tool" version --json | grep -q '"gltf": true'; then
    for name in ball.glb ball.gltf; do
        try 0 "$tool" info --json $name
        is "[it['files'][0][k] for k in ('vertices', 'triangles', 'closed', 'solid')]" \
            "[162, 320, True, True]"
    done
fi
refuses "unknown file extension for a mesh" convert ball.obj ball.dae

# Assimp: only when asked for, and then in a child process, which may crash.
echo '<nothing/>' >some.dae
fails "some.dae: is not OBJ, PLY, STL, OFF or glTF; set the format 'other'" convert some.dae some.obj
printf 'OFF\n4 2 0\n0 0 0\n1 0 0\n1 1 0\n0.1 1 0\n3 0 1 2\n3 0 2 3\n' >two.off
if "$tool" version --json | grep -q '"assimp": true'; then
    fails "some.dae: Assimp cannot read it: " convert --from other some.dae some.obj
    prints "two.off: 4 vertices, 2 triangles" convert --from other two.off two.obj
    fails "missing.dae: cannot be opened" convert --from other missing.dae some.obj
    printf 'OFF\n4 2 0\n0 0 0\n1 0 0\n1 1 0\n0 1 0\n3 0 1 2\n3 0 2 9\n' >range.off
    fails "Assimp cannot read all of it: OFF: Vertex index is out of range" convert --from other range.off some.obj
    demand "a mesh that is not whole was written" ! -e some.obj
    # Faces over several lines, which some versions of Assimp do not survive: a sentence, no crash.
    { echo OFF 60 45 0 && seq -f '%g 0 1' 60 && seq -f '4 %g
1
2
3' 45; } >lines.off
    "$tool" convert --from other lines.off lines.obj >out 2>err
    code=$?
    demand "a crash of Assimp gave the exit code $code" "$code" -le 1
    demand "a crash of Assimp is silent" "$code" -eq 0 -o -s err
else
    fails "this build of abut does not include" convert --from other two.off two.obj
fi

# Ctrl-C while the input still comes: cancelled, and no partial file.
if command -v mkfifo >/dev/null; then
    "$tool" make icosphere large.ply --segments 60 --quiet
    for signal in INT:130 TERM:143; do
        rm -f pipe
        mkfifo pipe
        # The reader is in the foreground, since shells make others ignore SIGINT. head returns when
        # all but the last 64 KiB have been read; the pipe stays open until the reader is gone.
        { head -c 300000 large.ply && reader=$(cat reader) && kill -s "${signal%:*}" "$reader" &&
            while kill -0 "$reader" 2>/dev/null; do sleep 0.02; done; } >pipe 2>/dev/null &
        feeder=$!
        try "${signal#*:}" sh -c 'echo $$ >reader; exec "$@"' sh "$tool" convert pipe target/old.obj --from ply
        complains "abut convert: cancelled"
        untouched "$signal"
        wait $feeder
    done
else
    skip "cancelling: mkfifo is missing"
fi
finish
