# abut samples and abut contacts: known answers, tables, pictures, and wrong input.
. "$(dirname "$0")/support.sh"

"$tool" make box box.obj --segments 5 --quiet || exit 1
"$tool" make box slab.obj --size 4,4,2 --segments 1 --quiet || exit 1
"$tool" make icosphere ball.obj --radius 1 --segments 4 --quiet || exit 1

# The cube of the document.
try 0 "$tool" samples box.obj --cells 80 --json --features vertices
is "it['samples']" 56
try 0 "$tool" samples box.obj --cells 80 --json --features edges
is "it['samples']" 536
try 0 "$tool" samples box.obj --cells 80 --json --features faces
is "[it[k] for k in ('samples', 'vertices', 'edges', 'faces', 'surface')]" "[566, 56, 480, 30, 0]"
try 0 "$tool" samples box.obj --cells 80
mute err
says "x,y,z,nx,ny,nz,kind,element,part"
demand "not a line for each" "$(wc -l <out)" -eq 567
demand "not 542 samples without corners of flat faces" "$(awk -F, 'NR > 1 && !($7 == "face" && $9 > 0)' out | wc -l)" -eq 542
prints "77" samples ball.obj --count 77 --out even.csv
demand "not a line for each" "$(wc -l <even.csv)" -eq 78
try 0 "$tool" samples ball.obj --limit 20 --json
is "it['samples']" 20
prints "samples.ppm" samples box.obj --png samples.ppm
demand "no picture" "$(head -c 2 samples.ppm)" = P6
refuses "one of them" samples box.obj --cells 64 --cell 0.1
refuses "one of them" samples box.obj --count 5 --radius 0.1
refuses "from 5 to" samples box.obj --cells 4
refuses "require --png" samples box.obj --view top
fails "at most 67108862 are allowed" samples box.obj --cell 1e-12

# A plate of less than two cells is warned of, with the cells that would do.
"$tool" make box plate.obj --size 4,4,0.05 --segments 1 --quiet || exit 1
try 3 "$tool" contacts ball.obj plate.obj --pose-a 0,0,1 --cells 32
complains "warning: B has a thickness of 0.05, less than two cells"
complains "use --cells 164"
try 3 "$tool" contacts ball.obj plate.obj --pose-a 0,0,1 --cells 164 --quiet
mute err
try 3 "$tool" contacts ball.obj slab.obj --pose-a 0,0,1.95 --cells 32
mute err

# A sphere 0.05 deep in a slab.
try 3 "$tool" contacts ball.obj slab.obj --pose-a 0,0,1.95 --cells 32 --json
is "0.0495 < it['depth'] < 0.0505" True
is "it['normal'][2] > 0.9998" True
is "it['contacts'] == len(it['list']) > 5" True
is "it['list'][0]['side']" a
try 3 "$tool" contacts ball.obj slab.obj --pose-a 0,0,1.95 --cells 32 --most 3
says "x,y,z,nx,ny,nz,depth,side,kind,element,part"
demand "not three contacts" "$(wc -l <out)" -eq 4
try 3 "$tool" contacts ball.obj slab.obj --pose-a 0,0,1.95 --cells 32 --samples --limit 30 --json
is "it['contacts'] < 30" True
try 0 "$tool" contacts ball.obj slab.obj --pose-a 0,0,2.05 --cells 32 --json
is "[it['contacts'], it['depth'], it['list']]" "[0, None, []]"
try 3 "$tool" contacts ball.obj slab.obj --pose-a 0,0,2.05 --cells 32 --margin 0.1 --json
is "it['contacts'] > 0 and -0.051 < it['depth'] < -0.049" True
try 3 "$tool" contacts ball.obj slab.obj --pose 0,0,50 --to 0,0,-150,0,0,0,2 --json
is "0.24 - 1e-6 < it['time'] <= 0.24" True
prints "never" contacts ball.obj slab.obj --pose 0,0,50 --to 0,0,10
try 3 "$tool" contacts ball.obj slab.obj --pose-a 0,0,1.95 --cells 32 --png contacts.ppm --out c.npy
says "contacts.ppm"
demand "no picture" "$(head -c 2 contacts.ppm)" = P6
demand "no table" "$(head -c 6 c.npy | tail -c 5)" = NUMPY
refuses "--margin" contacts ball.obj slab.obj --margin -1
refuses "--to must be" contacts ball.obj slab.obj --to nowhere
refuses "computes a time of impact" contacts ball.obj slab.obj --to 0,0,1 --most 2
fails "at least 2" contacts ball.obj slab.obj --cells 1
refuses "options of fields" contacts ball.obj slab.obj --to 0,0,1 --cells 32
refuses "exact, field or map" contacts ball.obj slab.obj --method guess
# By a map of A: a box stands 0.05 deep in the slab, also where both are turned.
try 3 "$tool" contacts box.obj slab.obj --pose-a 0,0,1.45 --method map --resolution 128 --json
is "[len(it['patches']), it['contacts'], round(it['depth'], 6), [round(x, 6) + 0.0 for x in it['normal']]]" "[1, 4, 0.05, [0.0, 0.0, 1.0]]"
is "[abs(it['volume'] - 0.05) < 0.001, it['is_verified']]" "[True, False]"
try 3 "$tool" contacts box.obj slab.obj --pose-a 1.45,0,0@y,90 --pose 0,0,0@y,90 --method map --resolution 128 --json
is "[round(it['depth'], 6), [round(x, 6) + 0.0 for x in it['normal']]]" "[0.05, [1.0, 0.0, 0.0]]"
# Boxes: bounds of the depth, and the volume of the overlap.
"$tool" make box cube.obj --segments 4 --quiet || exit 1
try 3 "$tool" contacts cube.obj cube.obj --pose 0.9,0.5,0.25 --pose-a 0,0,0@z,180 --method map --resolution 128 --json
is "0.0999 < it['depth_bounds']['lower'] <= 0.1 < it['depth_bounds']['upper'] < 0.14" True
is "abs(it['depth_bounds']['shift_upper'] - 0.1) < 1e-9 and abs(it['depth_bounds']['shift'][0] + 0.1) < 1e-9" True
is "abs(it['volume'] - 0.0375) < 1e-9" True
try 3 "$tool" contacts cube.obj cube.obj --pose 0.9,0,0 --method map --resolution 128 --out map.csv
says "shortest shift of A out of B: 0.1 to 0.1"
says "1; not verified"
# The slab encloses the cube: only the surface of the cube is inside the other body.
try 0 "$tool" contacts slab.obj cube.obj --method map --resolution 64 --json
is "[it['depth_bounds'][key] for key in ('lower', 'upper', 'shift_lower', 'shift_upper')]" "[0, 0, 0, 0]"
try 3 "$tool" contacts cube.obj slab.obj --method map --resolution 64 --json
is "[it['depth_bounds']['lower'] > 0.9, round(it['depth_bounds']['shift_upper'], 6)]" "[True, 1.5]"
try 0 "$tool" contacts box.obj slab.obj --pose-a 0,0,1.51 --method map
try 3 "$tool" contacts box.obj slab.obj --pose-a 0,0,1.51 --method map --margin 0.02 --patches
demand "not a patch" "$(wc -l <out)" -eq 2
# A rod in a ring that is too narrow: the volume is that of the triangles.
"$tool" make torus ring.obj --quiet && "$tool" make cylinder rod.obj --radius 0.35 --height 2 --quiet || exit 1
volume=$("$tool" overlap rod.obj ring.obj --volume --quiet)
try 3 "$tool" contacts rod.obj ring.obj --method map --resolution 128 --json
is "abs(it['volume'] / $volume - 1) < 1e-9" True
refuses "--resolution requires --method map" contacts box.obj slab.obj --resolution 64
refuses "cannot be combined with --method map" contacts box.obj --with sphere:0,0,0,1 --method map
fails "use a resolution of at least" contacts box.obj slab.obj --method map --resolution 3
refuses "--cells requires --method field" contacts ball.obj slab.obj --method exact --cells 32
refuses "--most must be a whole number from 1 to 8 contacts with --method exact, not '9'" contacts ball.obj slab.obj --most 9
fails "missing.obj" contacts ball.obj missing.obj

# Exact: a cube on a cube, a gap, a thin plate and a ball that went through.
"$tool" make box cube.obj --size 1,1,1 --segments 1 --quiet || exit 1
"$tool" make box plate.obj --size 1,1,0.002 --segments 1 --quiet || exit 1
"$tool" make icosphere shot.obj --radius 0.05 --quiet || exit 1
try 3 "$tool" contacts cube.obj cube.obj --pose-a 0.25,0,0.99 --json
is "[it['contacts'], len(it['list']), len(it['patches']), it['is_verified'], it['reliability']]" "[4, 4, 1, True, 'guaranteed']"
is "abs(it['depth'] - 0.01) < 1e-7 and abs(it['volume'] - 0.0075) < 1e-6 and it['normal'][2] > 1 - 1e-9" True
is "sorted({c['kind'] for c in it['list']})" "['vertex']"
try 3 "$tool" contacts cube.obj cube.obj --pose-a 0,0,1.01 --margin 0.02 --json
is "[it['contacts'], round(it['depth'], 7)]" "[4, -0.01]"
try 0 "$tool" contacts cube.obj cube.obj --pose-a 0,0,1.01 --quiet
try 3 "$tool" contacts shot.obj plate.obj --pose-a 0.1,0.2,0.02 --most 1 --json
is "[it['contacts'], round(it['depth'], 6), it['is_verified']]" "[1, 0.031, True]"
try 3 "$tool" contacts plate.obj shot.obj --pose 0,0,100 --to 0,0,-100 --json
is "abs(it['time'] * 200 - (100 - 0.051)) < 1e-5" True
try 3 "$tool" contacts cube.obj cube.obj --pose-a 0.25,0,0.99 --png exact.ppm
says "shifts by the depths"
demand "no picture" "$(head -c 2 exact.ppm)" = P6

# Patches, a hint, ids, a nearer time, before and after.
try 3 "$tool" contacts cube.obj cube.obj --pose-a 0.25,0,0.99 --patches
says "x,y,z,nx,ny,nz,depth,area,volume,first,contacts"
demand "one patch" "$(wc -l <out)" -eq 2
try 3 "$tool" contacts cube.obj cube.obj --pose-a 0.25,0,0.99 --json
is "len({c['id'] for c in it['list']}), all(len(c['id']) == 16 for c in it['list'])" "(4, True)"
try 3 "$tool" contacts shot.obj plate.obj --pose-a 0.1,0.2,-0.02 --json
is "it['normal'][2] < -0.9 and abs(it['depth'] - 0.031) < 1e-6" True
try 3 "$tool" contacts shot.obj plate.obj --pose-a 0.1,0.2,-0.02 --hint 0,0,1 --json
is "it['normal'][2] > 0.9 and abs(it['depth'] - 0.071) < 1e-6" True
try 3 "$tool" contacts cube.obj cube.obj --pose 0,0,3 --to 0,0,0 --margin 0.5 --json
is "abs(it['time'] - 0.5) < 1e-3 and it['time'] <= 0.5" True
try 3 "$tool" contacts cube.obj cube.obj --pose-a 0.25,0,0.9 --png after.ppm --after
try 3 "$tool" contacts cube.obj cube.obj --pose-a 0.25,0,0.9 --png before.ppm
demand "before and after look the same" "$(cmp after.ppm before.ppm 2>\&1)" != ""
refuses "--after requires --png" contacts cube.obj cube.obj --after
refuses "cannot be combined with --method field" contacts cube.obj cube.obj --cells 32 --patches

# A peg in a square hole: a patch for each wall, with its gap; pictures with a colour for each patch.
"$tool" make tube hole.obj --radius 1.4142135623730951 --radius2 0.7071067811865476 --height 0.6 --segments 4 --rings 1 --quiet || exit 1
"$tool" make box peg.obj --size 0.98,0.98,1.4 --segments 1 --quiet || exit 1
peg="peg.obj hole.obj --pose @z,45 --pose-a 0.004,0.002,0.2 --margin 0.02"
try 3 "$tool" contacts $peg --json
is "[[round(p['depth'], 9), *(round(x, 6) + 0.0 for x in p['normal'])] for p in it['patches']]" \
    "[[-0.006, -1.0, 0.0, 0.0], [-0.008, 0.0, -1.0, 0.0], [-0.012, 0.0, 1.0, 0.0], [-0.014, 1.0, 0.0, 0.0]]"
is "[it['contacts'], it['volume'], it['is_verified'], {p['area'] for p in it['patches']}]" "[16, 0, True, {0}]"
try 3 "$tool" contacts $peg --colour patch --png walls.ppm
try 3 "$tool" contacts $peg --colour depth --png depths.ppm
try 3 "$tool" contacts $peg --png same.ppm
demand "depth is not the default" "$(cmp depths.ppm same.ppm 2>&1)" = ""
demand "colours by patch and by depth look the same" "$(cmp walls.ppm depths.ppm 2>\&1)" != ""
refuses "--colour requires --png or --html" contacts $peg --colour patch
refuses "--colour must be depth or patch, not 'size'" contacts $peg --colour size --png walls.ppm
refuses "cannot be combined with --method field" contacts $peg --cells 32 --colour patch --png walls.ppm
refuses "--colour requires --png" contacts $peg --to 0,0,1 --colour patch
refuses "computes a time of impact" contacts cube.obj cube.obj --to 0,0,1 --hint 0,0,1

# With solids instead of a second mesh.
try 3 "$tool" contacts ball.obj --with plane:0,0,2,0 --pose-a 0,0,0.95 --json
is "[it['with'], it['contacts'] > 0, it['is_verified'], round(it['depth'], 12)]" "['plane:0,0,2,0', True, True, 0.05]"
try 3 "$tool" contacts slab.obj --with sphere:0,0,1.9,1 --json
is "[it['contacts'], round(it['depth'], 12), it['normal'][2]]" "[1, 0.1, -1]"
try 3 "$tool" contacts slab.obj --with capsule:-1,0,0,1,0,0,0.5 --pose 0,0,1.4 --json
is "[it['contacts'], round(it['depth'], 12)]" "[2, 0.1]"
try 3 "$tool" contacts slab.obj --with box:0,0,1.4,1,1,1 --json
is "[it['contacts'], round(it['depth'], 9), it['is_verified']]" "[4, 0.1, True]"
try 3 "$tool" contacts slab.obj --with cylinder:0,0,0.9,0,0,2,0.5 --png with.ppm
says "with.ppm"
try 0 "$tool" contacts slab.obj --with sphere:0,0,9,1 --quiet
refuses "sphere:X,Y,Z,R" contacts slab.obj --with sphere:0,0,9
refuses "cylinder:X,Y,Z,X,Y,Z,R" contacts slab.obj --with cone:1
refuses "remove the second file" contacts slab.obj ball.obj --with sphere:0,0,9,1
refuses "--with" contacts slab.obj
refuses "cannot be combined with --to" contacts slab.obj --with sphere:0,0,9,1 --to 0,0,1
fails "radius of -1" contacts slab.obj --with sphere:0,0,9,-1
# Scenes: all contacts of all bodies, by name.
case $("$tool" version) in
*glTF*)
    cat >scene.json <<EOF
{"meshes": {"cube": {"file": "cube.obj"}},
 "bodies": [{"name": "low, wide", "mesh": "cube"}, {"name": "high", "mesh": "cube", "position": [0.25, 0, 0.99]},
            {"mesh": "cube", "position": [0.5, 0, 1.98], "group": "top"}, {"mesh": "cube", "position": [9, 0, 0]}],
 "ignore": [["high", "top"]]}
EOF
    try 3 "$tool" contacts scene.json
    says 'a,b,x,y,z,nx,ny,nz,depth'
    says '"low, wide",high,'
    demand "not four contacts" "$(wc -l <out)" -eq 5
    try 3 "$tool" contacts scene.json --json
    is "[it['bodies'], it['touching'], it['contacts'], len(it['list'])]" "[4, 1, 4, 4]"
    is "it['list'][0]['a'], it['list'][0]['b'], it['list'][0]['normal'][2] < -0.999" "('low, wide', 'high', True)"
    try 3 "$tool" contacts scene.json --most 1 --out world.csv --png world.ppm
    says "touching   1"
    demand "not one contact" "$(wc -l <world.csv)" -eq 2
    demand "no picture" "$(head -c 2 world.ppm)" = P6
    try 3 "$tool" contacts scene.json
    cp out named
    try 3 sh -c '"$0" contacts - <scene.json' "$tool"
    demand "standard input, another answer" "$(cmp out named 2>&1)" = ""
    try 2 sh -c '"$0" contacts - <cube.obj' "$tool"
    complains "second file"
    sed 's/"position": \[9, 0, 0\]/"position": [1.2, 0, 0], "margin": 0.3/' scene.json >margin.json
    try 3 "$tool" contacts margin.json --json # a gap of 0.2 within the margin of one body
    is "it['touching'], min(abs(c['depth'] + 0.2) for c in it['list']) < 1e-9" "(3, True)"
    refuses "--hint applies to two meshes" contacts scene.json --hint 0,0,1
    # Solids, and why each body is tried as it is.
    cat >solids.json <<EOF
{"bodies": [{"name": "ground", "mesh": {"shape": "sheet"}, "solid": true},
            {"name": "ball", "mesh": {"shape": "icosphere", "radius": 0.5, "segments": 2}, "solid": true, "position": [0, 0, 0.49]},
            {"name": "cube", "mesh": {"shape": "box", "segments": 1}, "method": "exact", "position": [0.95, 0, 0.48]},
            {"name": "cone", "mesh": {"shape": "cone"}, "solid": true, "position": [9, 0, 0.4]}]}
EOF
    try 3 "$tool" contacts solids.json --json
    is "[(p['a'], p['b'], p['contacts'], round(p['depth'], 9)) for p in it['pairs']]" \
        "[('ground', 'ball', 1, 0.01), ('ground', 'cube', 4, 0.02), ('ground', 'cone', 4, 0.1), ('ball', 'cube', 1, 0.05)]"
    is "[m['forced'] for m in it['methods']]" "[False, False, True, False]"
    try 3 "$tool" contacts solids.json --explain
    says "ball: exact. It is a primitive with closed-form distances."
    says "cube: exact. The method is set by the scene."
    says "ground, ball: exact, 1 contact, penetration depth 0.01, error bound 0. Complete: every overlap has a contact"
    try 3 "$tool" contacts scene.json --method map --explain
    says "high: map. The method is set by --method."
    says "low, wide, high: map, "
    refuses "auto, exact, field, map or layers, not 'fast'" contacts scene.json --method fast
    sed 's/"cone"}/"torus"}/' solids.json >bent.json
    fails "bodies[3] 'cone'" contacts bent.json
    complains "a mesh is not a convex hull"
    printf '{"bodies": [{"mesh": "cube"}]}' >broken.json
    fails "broken.json: bodies[0]: there is no mesh 'cube' in 'meshes'" contacts broken.json
    printf '{"bodies": []}' >none.json
    try 0 "$tool" contacts none.json --json
    is "[it['bodies'], it['contacts'], it['depth']]" "[0, 0, None]"
    ;;
*) skip "scenes, which take yajl" ;;
esac

# A face twice is no border, and edges of three faces are named as what they are.
"$tool" make box once.obj --segments 1 --quiet
{ cat once.obj; grep '^f' once.obj | head -1; } >twice.obj
try 3 "$tool" contacts twice.obj once.obj --pose 0,0,0.9
complains "limited: Edges of a mesh have three or more faces"
complains " Affected meshes: twice.obj"
# A forced method is reported with its source, and a depth of 0 has no sign.
printf '{"bodies":[{"name":"a","mesh":{"file":"once.obj"},"method":"exact"},{"name":"b","mesh":{"file":"once.obj"},"position":[0,0,1]}]}' >forced.json
try 3 "$tool" contacts forced.json --explain
says "a: exact. The method is set by the scene."
says "a, b: exact, 4 contacts, penetration depth 0"
# A depth has no error bound if a mesh is unreliable: a sheet, small holes, flipped neighbours, a duplicate face.
"$tool" make sheet sheet.obj --size 4,4,0 --quiet
"$tool" make icosphere whole.obj --radius 0.5 --segments 4 --quiet
awk '/^f/ && !cut { cut = 1; next } { print }' whole.obj >holed.obj
awk '/^f/ && !turned { turned = 1; print $1, $3, $2, $4; next } { print }' whole.obj >flipped.obj
for name in sheet holed flipped twice whole; do
    printf '{"bodies":[{"name":"a","mesh":{"file":"%s.obj"},"method":"exact"},{"name":"b","mesh":{"file":"once.obj"},"method":"exact","position":[0,0,%s]}]}' \
        $name "$([ $name = sheet ] && echo 0.4 || echo 0.9)" >unreliable.json
    try 3 "$tool" contacts unreliable.json --explain
    if [ $name = whole ]; then
        says "penetration depth 0.1, error bound 0. Complete"
        mute err
    else
        says "penetration depth 0.1, no error bound"
        complains " Affected meshes: a"
    fi
done
says_error() { # the error bound of the only pair, in JSON
    try 3 "$tool" contacts unreliable.json --json
    is "it['pairs'][0]['error']" "$1"
}
says_error 0
printf '{"bodies":[{"name":"a","mesh":{"file":"sheet.obj"},"method":"exact"},{"name":"b","mesh":{"file":"once.obj"},"position":[0,0,0.4]}]}' >unreliable.json
says_error None
for method in field map exact; do # the sign of the field is wrong near flipped triangles
    printf '{"bodies":[{"name":"a","mesh":{"file":"flipped.obj"}},{"name":"b","mesh":{"file":"once.obj"},"position":[0,0,0.9]}]}' >unreliable.json
    try 3 "$tool" contacts unreliable.json --method $method --explain
    says ", no error bound"
done
finish
