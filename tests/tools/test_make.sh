# abut make: every shape that it lists, its parameters, and its refusals.
. "$(dirname "$0")/support.sh"

try 0 "$tool" make
cp out list
mute err
try 0 "$tool" make --list
demand "'abut make' and 'abut make --list' differ" "$(cmp out list 2>&1)" = ""
shapes=$(sed -n 's/^  \([a-z0-9-]*\)  .*--.*/\1/p' list)
demand "too few shapes: $shapes" "$(echo $shapes | wc -w)" -ge 14
try 0 "$tool" make --list --json
is "len(it['shapes'])" "$(echo $shapes | wc -w)"
is "it['shapes'][0]['shape']" box
is "min(it['shapes'][0]['size']) > 0" True

for shape in $shapes; do
    prints "$shape.ply: $shape, " make $shape $shape.ply
    mute err
    "$tool" make $shape again.ply --quiet --threads 1
    demand "$shape is not the same twice" "$(cmp $shape.ply again.ply 2>&1)" = ""
    try 0 "$tool" info $shape.ply --json
    case $shape in
    sheet | teapot) is "it['files'][0]['closed']" False ;;
    *) is "[it['files'][0][k] for k in ('closed', 'manifold', 'oriented', 'solid')]" \
        "[True, True, True, True]" ;;
    esac
    # Exactly the options of the list are taken.
    for option in size radius radius2 height segments rings; do
        default=$(sed -n "s/^  $shape .*--$option \([^ ]*\).*/\1/p" list)
        if [ -n "$default" ]; then
            try 0 "$tool" make $shape again.ply --$option "$default" --quiet
            demand "$shape with its default --$option differs" \
                "$(cmp $shape.ply again.ply 2>&1)" = ""
        else
            refuses "has no --$option; its options are --" make $shape refused.ply --$option 3
        fi
    done
done
demand "a refused shape was written" ! -e refused.ply

# Parameters arrive.
try 0 "$tool" make box box.obj --size 1,2,3 --segments 2 --json
is "(it['file'], it['shape'], it['vertices'], it['triangles'])" "('box.obj', 'box', 26, 48)"
try 0 "$tool" make box cube.obj --size 2 --quiet
try 0 "$tool" info cube.obj --json
is "it['files'][0]['size']" "[2, 2, 2]"
try 0 "$tool" make cylinder can.stl --radius 2 --height 5 --quiet
try 0 "$tool" info can.stl --json
is "[round(x) for x in it['files'][0]['size']]" "[4, 4, 5]"
try 0 "$tool" make torus ring.obj --radius 3 --radius2 1 --segments 40 --rings 20 --quiet
try 0 "$tool" info ring.obj --json
is "(it['files'][0]['euler_number'], it['files'][0]['vertices'])" "(0, 800)"
try 0 "$tool" make sheet flat.obj --size 3,2 --segments 3 --rings 2 --quiet
try 0 "$tool" info flat.obj --json
is "(it['files'][0]['area'], it['files'][0]['triangles'])" "(6, 12)"

# Refusals.
refuses "unknown shape 'icospere'; did you mean 'icosphere'?" make icospere x.obj
refuses "did you mean 'icosphere'?" make shpere x.obj
refuses "did you mean 'box'?" make cube x.obj
refuses "'abut make --list' lists the shapes" make dodecahedron x.obj
refuses "the output file is missing" make box
refuses ".obj, .ply, .stl, .off, .glb or .gltf" make box x.dae
refuses "abut make: " make tube x.obj --radius 1 --radius2 2
demand "the function's name shows" "$(grep -c abut_ err)" -eq 0
try 2 "$tool" make icosphere x.obj --segments 4000000000
refuses "--size of a box must be above 0 along x" make box x.obj --size 0,1,1
refuses "above 0 along z" make box x.obj --size 1,1
refuses "--size must be lengths of at least 0" make box x.obj --size=-1,1,1
demand "a refused shape was written" ! -e x.obj
fails "cannot be written" make box none/x.obj
try 1 "$tool" make box none/x.obj --json
is "it['error']['kind']" "file error"

# Memory that is not there; sanitizers need more of it than this leaves.
if sh -c 'ulimit -v 400000 && "$0" version --threads 1; exit $?' "$tool" >/dev/null 2>&1; then
    try 1 sh -c 'ulimit -v 400000; exec "$0" "$@"' "$tool" make icosphere x.ply --segments 3000 \
        --threads 1 --json
    complains "abut make: out of memory"
    is "it['error']['kind']" "out of memory"
    demand "a partial file was left" "$(ls -A | grep -c -e '^x.ply' -e '^.abut')" -eq 0
else
    skip "running out of memory: the program needs more than the limit by itself"
fi
finish
