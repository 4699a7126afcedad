# abut interfere: known overlaps by each method, scenes, parts of a file, tables, pictures, wrong input;
# abut demo clash.
. "$(dirname "$0")/support.sh"

"$tool" make box cube.obj --size 1 --segments 1 --quiet || exit 1
"$tool" make box slab.obj --size 4,4,1 --segments 1 --quiet || exit 1
"$tool" make sheet sheet.obj --quiet || exit 1
small="--method images --resolution 250" # what takes part is large, and time is short
place() { # FROM TO X,Y,Z
    "$tool" convert "$1" "$2" --translate "$3" --quiet || exit 1
}
place cube.obj right.obj 0.75,0.125,0.25
place cube.obj above.obj 0,0,1
place cube.obj far.obj 9,0,0
place cube.obj beside.obj 1.125,0,0

# Two cubes that overlap by a quarter.
try 0 "$tool" interfere $small cube.obj far.obj
mute err
says "nothing"
try 0 "$tool" interfere $small cube.obj above.obj --quiet
says 0
try 3 "$tool" interfere $small cube.obj right.obj --json
is "[it['bodies'], it['found'], len(it['pairs'])]" "[2, 1, 1]"
is "[it['pairs'][0][k] for k in ('a', 'b', 'kind', 'views')]" "['cube.obj', 'right.obj', 'overlap', 3]"
is "abs(it['pairs'][0]['volume'] - 0.1640625) <= it['pairs'][0]['volume_error'] < 0.01" True
is "abs(it['pairs'][0]['depth'] - 0.25) < 1e-6 and 0.7 < it['pairs'][0]['area'] < 0.72" True
is "max(abs(x - y) for x, y in zip(it['pairs'][0]['normal'], (-0.9155, -0.2616, -0.3052))) < 0.02" True
is "max(abs(x - y) for x, y in zip(it['pairs'][0]['centre'], (0.375, 0.0625, 0.125))) < 0.01" True
try 3 "$tool" interfere $small cube.obj right.obj
says "overlaps"
try 3 "$tool" interfere $small cube.obj right.obj --quiet
demand "not the bare answer" "$(cat out)" = 1
try 3 "$tool" interfere cube.obj right.obj --method images --views "1,1,0;0,0,1" --resolution 200 --json
is "[it['pairs'][0]['views'], abs(it['pairs'][0]['volume'] - 0.1640625) <= it['pairs'][0]['volume_error']]" "[2, True]"
try 3 "$tool" interfere $small cube.obj right.obj --edges --json
is "it['pairs'][0]['edges_a'] > 0 and it['pairs'][0]['edges_b'] > 0" True
try 0 "$tool" interfere $small cube.obj right.obj --tolerance 2

# Exactly, which is the default: no image, so no depth.
try 3 "$tool" interfere cube.obj right.obj --json
is "[it['pairs'][0][k] for k in ('kind', 'pixels', 'depth')], it['candidates'], it['fragments']" "(['cuts', 0, None], 1, 0)"
is "abs(it['pairs'][0]['thickness'] - 2 * 0.1640625 / 2.125) < 1e-14" True
try 3 "$tool" interfere cube.obj cube.obj above.obj --touching --json
is "[(p['a'], p['b'], p['kind']) for p in it['pairs']]" \
    "[('cube.obj', 'cube.obj (2)', 'same'), ('cube.obj', 'above.obj', 'flush'), ('cube.obj (2)', 'above.obj', 'flush')]"
is "[round(p['volume'] * 1e9) for p in it['pairs']], [round(p['area'] * 1e9) for p in it['pairs']]" \
    "([1000000000, 0, 0], [0, 1000000000, 1000000000])"
try 3 "$tool" interfere cube.obj cube.obj above.obj --json
is "[p['kind'] for p in it['pairs']]" "['same']"
prints "nothing" interfere cube.obj above.obj
try 3 "$tool" interfere cube.obj right.obj --json
is "abs(it['pairs'][0]['volume'] - 0.1640625) < 1e-14, abs(it['pairs'][0]['area'] - 0.71671) < 1e-5, abs(it['pairs'][0]['surface'] - 2.125) < 1e-14" \
    "(True, True, True)"
"$tool" make box thin.obj --size 4,4,0.25 --segments 1 --quiet || exit 1
try 3 "$tool" interfere cube.obj thin.obj --json # right through: no normal, no area
is "[it['pairs'][0][k] for k in ('kind', 'area', 'normal')]" "['cuts', 0, None]"
try 0 "$tool" interfere cube.obj beside.obj --touching
try 3 "$tool" interfere cube.obj above.obj --clearance 0.125 --json # what touches is near too
is "it['pairs'][0]['kind']" flush
try 3 "$tool" interfere cube.obj beside.obj --clearance 0.125 --json
is "[it['pairs'][0][k] for k in ('kind', 'distance')], it['pairs'][0]['from'][0], it['pairs'][0]['to'][0]" \
    "(['near', 0.125], 0.5, 0.625)"
try 0 "$tool" interfere $small cube.obj beside.obj --clearance 0.124
place cube.obj close.obj 1.05,0,0 # in binary a little more than 0.05 apart
try 3 "$tool" interfere $small cube.obj close.obj --clearance 0.05 --json
is "it['pairs'][0]['kind'], 0.05 < it['pairs'][0]['distance'] < 0.05 + 1e-15" "('near', True)"
try 0 "$tool" interfere $small cube.obj close.obj --clearance 0.0499999

# A resolution at which rays miss the overlap.
"$tool" make box speck.obj --size 0.001 --segments 1 --quiet || exit 1
place speck.obj mote.obj 0.5,0.111,0.222
try 0 "$tool" interfere cube.obj far.obj mote.obj --method images --resolution 20
try 3 "$tool" interfere cube.obj far.obj mote.obj --json
is "[(p['a'], p['b'], p['kind'], p['depth'], abs(p['volume'] / 5e-10 - 1) < 1e-9) for p in it['pairs']]" \
    "[('cube.obj', 'mote.obj', 'cuts', None, True)]"

# Inside, where no ray would see it.
"$tool" make box mile.obj --size 10000 --segments 1 --quiet || exit 1
place speck.obj grain.obj 100,20,30
try 3 "$tool" interfere mile.obj grain.obj --json
is "[it['pairs'][0][k] for k in ('kind', 'depth')], [round(x, 6) for x in it['pairs'][0]['centre']]" "(['b-inside', None], [100, 20, 30])"

# Numbers of kinds in NPY, as the page has them: the third of 17 columns, after a head of 128 bytes.
try 3 "$tool" interfere cube.obj cube.obj above.obj --touching --out kinds.npy
demand "other numbers of kinds" "$(tail -c +129 kinds.npy | od -An -v -t f8 -w136 | awk '{ printf "%s ", $3 }')" = "6 7 7 "

# Assemblies in one file: flush cubes stay two, the wall of a cavity stays with its solid.
place slab.obj base.obj 0,0,-1
place cube.obj level.obj 0.75,0,0
"$tool" convert cube.obj above.obj level.obj flush.stl --quiet || exit 1
try 3 "$tool" interfere flush.stl --parts --touching --json
is "it['bodies'], sorted((p['a'][-2:], p['b'][-2:], p['kind']) for p in it['pairs'])" \
    "(3, [('#0', '#1', 'flush'), ('#0', '#2', 'cuts'), ('#1', '#2', 'flush')])"
place cube.obj east.obj 1,0,0
place cube.obj north.obj 0,1,0
place cube.obj across.obj 1,1,0
"$tool" convert cube.obj east.obj north.obj across.obj four.stl --quiet || exit 1 # around one edge
try 3 "$tool" interfere four.stl --parts --touching --json
is "it['bodies'], sorted(p['kind'] for p in it['pairs'])" "(4, ['flush', 'flush', 'flush', 'flush', 'touch', 'touch'])"
"$tool" make box shell.obj --size 3 --segments 1 --quiet || exit 1
"$tool" make box hollow.obj --size 2 --segments 1 --quiet || exit 1
awk '$1 == "f" { print $1, $2, $4, $3; next } { print }' hollow.obj >inner.obj
"$tool" convert shell.obj inner.obj cube.obj nested.obj --quiet || exit 1
try 0 "$tool" interfere nested.obj --parts --touching --json
is "it['bodies']" 2
try 3 "$tool" interfere $small nested.obj right.obj --json
is "it['pairs'][0]['b']" right.obj

awk '$1 == "v" { v[++n] = $0 } $1 == "f" { for (i = 2; i <= 4; i++) { print v[$i]; s[++m] = m } }
    END { for (i = 1; i <= m; i += 3) print "f", i, i + 1, i + 2 }' cube.obj >soup.obj
try 0 "$tool" interfere soup.obj --parts --json # no two triangles share a vertex
is "it['bodies']" 1

# A solid that overlaps itself.
"$tool" convert cube.obj right.obj twice.obj --quiet || exit 1
try 0 "$tool" interfere $small twice.obj far.obj
try 3 "$tool" interfere $small twice.obj far.obj --own --json
is "[(p['a'], p['b'], p['kind']) for p in it['pairs']], abs(it['pairs'][0]['volume'] - 0.1640625) < 0.01" \
    "([('twice.obj', 'twice.obj', 'itself')], True)"
try 3 "$tool" interfere twice.obj far.obj right.obj --own --resolution 250
says "overlaps itself"

# Tables and pictures.
try 3 "$tool" interfere cube.obj right.obj far.obj --out pairs.csv --png pairs.ppm
says "pairs.ppm"
demand "not one pair" "$(sed -n 2p pairs.csv | cut -d, -f1-3)" = "cube.obj,right.obj,cuts"
demand "no picture" "$(head -c 2 pairs.ppm)" = P6
cp right.obj "a, b.obj"
try 3 "$tool" interfere $small cube.obj "a, b.obj" --out quoted.csv
demand "names are not quoted" "$(sed -n 2p quoted.csv | cut -d, -f2-4)" = '"a, b.obj",overlap'
try 3 "$tool" interfere cube.obj right.obj --images seen --resolution 64 --json # images, and exact pairs
is "len(it['images']), it['images']['count'][:11]" "(9, 'seen-count.')"
demand "not nine images" "$(ls seen-*.p* | wc -l)" -eq 9
try 3 "$tool" interfere cube.obj right.obj --images seen --resolution 64
says "seen-all.p"
place cube.obj "one.obj" 0.5,0.5,0
try 3 "$tool" interfere $small cube.obj right.obj one.obj --first 1
says "and 2 more"

# Wrong input.
fails "sheet.obj: " interfere $small cube.obj sheet.obj
complains "or use --cap"
fails "missing.obj" interfere $small cube.obj missing.obj
refuses "--views must be" interfere $small cube.obj right.obj --views xq
refuses "--views must be" interfere $small cube.obj right.obj --views "0,0,0"
refuses "require --method images" interfere cube.obj right.obj --resolution 64
refuses "requires --method exact" interfere cube.obj right.obj --touching --method images
refuses "--method must be exact or images, not 'volume'" interfere cube.obj right.obj --method volume
refuses "--resolution must be a whole number from 1 to 100000, not '100001'" interfere cube.obj right.obj --resolution 100001
refuses "--resolution must be a whole number from 1 to 100000, not '0'" interfere cube.obj right.obj --resolution 0
try 2 "$tool" interfere $small cube.obj right.obj --clearance 1e300
complains "--clearance must be a number from 0 to 1e+90 units of the coordinates, not '1e300'"
try 2 "$tool" interfere $small cube.obj right.obj --tolerance 1e300
complains "--tolerance must be a number from 0 to 1e+90 units of the coordinates, not '1e300'"
refuses "for JSON use --json" interfere $small cube.obj right.obj --out pairs.json
demand "a file was written" ! -e pairs.json
try 1 env ABUT_OPENCL_LIBRARY=off "$tool" interfere $small cube.obj right.obj --device gpu
complains "omit --device to run on the CPU"
refuses "require --png" interfere $small cube.obj right.obj --view top
try 2 "$tool" interfere
prints "there is only one body; with --parts each solid is a body" interfere cube.obj
prints "there is only one body, also with --parts" interfere cube.obj --parts
grep -v '^f 1 ' cube.obj >open.obj
try 3 "$tool" interfere $small open.obj right.obj --cap --quiet
try 3 "$tool" interfere $small right.obj open.obj --cap
complains "closed by --cap: open.obj"
fails "open.obj: the mesh has " demo snow --model open.obj --bodies 3 --frames 1
complains "close it"
demand "an option of programs" "$(grep -c 'options->' err)" = 0

case $("$tool" version) in
*glTF*)
    cat >scene.json <<EOF
{"meshes": {"cube": {"file": "cube.obj"}},
 "bodies": [{"name": "low", "mesh": "cube"}, {"name": "high", "mesh": "cube", "position": [0.25, 0, 0.75]},
            {"name": "top", "mesh": "cube", "position": [0.5, 0, 1.5], "axis": [0, 0, 1], "degrees": 90, "group": "g"},
            {"mesh": {"shape": "icosphere", "radius": 0.25}, "position": [0, 0, -0.125]}],
 "ignore": [["high", "g"]]}
EOF
    try 3 "$tool" interfere scene.json --json
    is "[(p['a'], p['b'], p['kind']) for p in it['pairs']]" "[('low', 'high', 'cuts'), ('low', '#3', 'b-inside')]"
    is "abs(it['pairs'][0]['volume'] - 0.1875) < 1e-14" True
    try 3 "$tool" interfere $small scene.json --threads 1 --json
    cp out first
    try 3 "$tool" interfere $small scene.json --threads 3 --json
    demand "answers depend on threads" "$(cmp out first 2>&1)" = ""
    refuses "--parts applies to mesh files" interfere $small scene.json --parts
    refuses "a scene cannot be combined" interfere $small cube.obj scene.json

    # A scene is one by what it holds, also on standard input.
    cp scene.json scene.txt
    try 3 "$tool" interfere $small scene.txt --json
    demand "another ending, another answer" "$(cmp out first 2>&1)" = ""
    try 3 sh -c '"$0" interfere --method images --resolution 250 - --json <scene.json' "$tool"
    demand "standard input, another answer" "$(cmp out first 2>&1)" = ""
    try 3 sh -c '"$0" interfere - --parts <flush.stl' "$tool"
    try 2 sh -c '"$0" interfere - --parts <scene.json' "$tool"
    complains "--parts applies to mesh files"
    fails "scene.txt: is a scene, not a mesh" interfere cube.obj scene.txt
    fails "scene.json: is a scene, not a mesh" info scene.json
    "$tool" convert cube.obj cube.gltf --quiet || exit 1
    cp cube.gltf gltf.txt
    try 3 "$tool" interfere $small gltf.txt right.obj
    try 0 "$tool" interfere $small gltf.txt
    try 0 sh -c '"$0" interfere - <cube.gltf' "$tool"

    # Errors of a mesh of a scene name the scene, the body and the file.
    echo '{"bodies": [{"mesh": {"file": "nowhere.stl"}}]}' >lost.json
    fails "lost.json: bodies[0]: nowhere.stl: cannot be opened" interfere lost.json
    echo '{"meshes": {"m": {"file": "open.obj"}}, "bodies": [{"mesh": {"shape": "box"}}, {"name": "lid", "mesh": "m"}]}' >open.json
    fails "open.json: bodies[1] 'lid' (open.obj): the mesh has " interfere $small open.json
    complains "or use --cap"
    ;;
*) skip "scenes, which take yajl" ;;
esac

# The demo finds what is known to be there, and nothing else.
try 0 "$tool" demo clash --bodies 40 --seed 5 --json
is "[it[k] for k in ('parts', 'known', 'found', 'missed', 'wrong_kind', 'invented')]" "[40, 44, 44, 0, 0, 0]"
is "it['volume_error'] < 1e-12 and it['area_error'] < 1e-10" True
prints "22 found, 0 missed, 0 of a wrong kind, 0 false" demo clash --bodies 20 --png clash.ppm
demand "no picture" "$(head -c 2 clash.ppm)" = P6
refuses "does not apply to demo clash" demo clash --frames 3
refuses "--bodies must be a whole number from 1 to 100000 bodies, not '100001'" demo clash --bodies 100001
finish
