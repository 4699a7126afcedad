# Standard input and output as files, meshes that are joined, bare answers, and what a shell's && and
# if make of exit codes.
. "$(dirname "$0")/support.sh"
"$tool" make box box.obj --size 2,2,2 --segments 1 --quiet || exit 1
"$tool" make torus ring.ply --quiet || exit 1

# pipe CODE INPUT COMMAND...: like try, with a file on standard input through a pipe.
pipe() {
    wanted=$1 input=$2
    shift 2
    last="$* <$input"
    checks=$((checks + 1))
    cat "$input" | "$@" >"$scratch/out" 2>"$scratch/err"
    code=$?
    [ "$code" -eq "$wanted" ] || {
        wrong "'$last' gave exit code $code instead of $wanted"
        sed 's/^/    err: /' "$scratch/err" | head -20
    }
}

# Meshes of every format are read from a pipe, recognised by their bytes, and written by --to.
for format in obj ply stl off; do
    try 0 "$tool" convert box.obj - --to $format
    complains "wrote   -: 8 vertices, 12 triangles"
    cp out mesh.$format
    pipe 0 mesh.$format "$tool" info - --json
    is "[it['files'][0][k] for k in ('file', 'vertices', 'triangles')]" "['-', 8, 12]"
    pipe 0 mesh.$format "$tool" convert - back.obj --quiet
    demand "a pipe of $format changes the mesh" "$("$tool" info --quiet back.obj | sed 's/.*: //')" = \
        "$("$tool" info --quiet box.obj | sed 's/.*: //')"
done
try 0 "$tool" convert box.obj - --to stl --ascii --quiet
mute err
cp out mesh.txt
pipe 0 mesh.txt "$tool" info -
try 0 "$tool" make box - --to ply
complains "-: box, 386 vertices"
head -c 3 out | grep -q ply || wrong "no PLY on standard output"
try 0 "$tool" make box - --to ply --json
complains '"file": "-"'
refuses "standard output (-) needs a format: --to" make box -
prints "v " offset box.obj - --to obj --cells 16 --quiet
"$tool" convert box.obj ./- --to obj --quiet # a file of that name can still be had
demand "no file called -" -f ./-
rm ./-

# Every command that reads a mesh takes it from a pipe; the other streams work with it.
printf '0,0,0\n5,0,0\n' >points.csv
printf '0 0 5 0 0 -1\n' >rays.csv
printf '3 0 0\n0 0 0\n' >poses.csv
pipe 0 box.obj "$tool" nearest - points.csv
says "5,0,0,4,"
pipe 0 points.csv "$tool" nearest box.obj -
says "5,0,0,4,"
pipe 0 points.csv "$tool" inside box.obj - --out -
says "0,0,0,inside"
complains "inside"
pipe 0 rays.csv "$tool" ray box.obj -
says "0,0,5,0,0,-1,4,"
pipe 3 poses.csv "$tool" overlap box.obj box.obj --poses -
says "1,true,intersecting"
pipe 0 ring.ply "$tool" distance box.obj - --pose 5,0,0 --json
is "it['b']" -
pipe 0 box.obj "$tool" selfcheck -
pipe 0 box.obj "$tool" sweep - box.obj
pipe 0 box.obj "$tool" samples - --out -
says "x,y,z,nx"
pipe 3 box.obj "$tool" contacts - box.obj --pose 1.5,0,0 --cells 12 --quiet --out c.csv
pipe 0 box.obj "$tool" field - - --cells 12 --quiet
cp out box.abutf
for file in box.abutf box.obj; do
    pipe 0 $file "$tool" slice - cut.ppm
    says "cut.ppm: z at 0"
done
pipe 0 box.obj "$tool" picture - - --size 64x48
demand "no picture on standard output" "$(head -c 4 out | tail -c 3)" != ""
complains "64 x 48 pixels"
try 0 "$tool" field box.obj - --to npy --cells 8 --quiet
demand "no NPY on standard output" "$(head -c 6 out | tail -c 5)" = NUMPY
refuses "two files" field box.obj - --to raw
try 2 "$tool" field box.obj --to npy
pipe 1 box.obj "$tool" overlap - -
complains "standard input (-) can be read only once"
pipe 1 /dev/null "$tool" info -
complains "is empty"
if [ -w /dev/full ]; then
    "$tool" convert box.obj - --to obj >/dev/full 2>err && wrong "a full disk was not noticed"
    complains "/dev/stdout: could not be written"
fi

# Joined meshes keep their order, and repairs come after.
try 0 "$tool" convert box.obj ring.ply box.obj all.obj --json
is "[len(it['read']), it['wrote']['vertices'], it['wrote']['triangles']]" "[3, 1168, 2328]"
"$tool" convert all.obj first.obj --quiet && head -n 9 box.obj | grep '^v' | head -n 3 >expected
grep '^v' all.obj | head -n 3 >got
demand "the first mesh does not stand first" "$(cmp expected got 2>&1)" = ""
try 0 "$tool" convert box.obj box.obj one.obj --weld --json
is "it['wrote']['vertices']" 8
fails "missing.obj: " convert box.obj missing.obj all.obj

# Bare answers: one line.
bare() { # bare CODE ANSWER WORD...
    wanted=$1 expected=$2
    shift 2
    try "$wanted" "$tool" "$@" --quiet
    mute err
    demand "'$last' says '$(cat out)' instead of '$expected'" "$(cat out)" = "$expected"
}
bare 3 yes overlap box.obj box.obj
bare 0 no overlap box.obj box.obj --pose 9,0,0
bare 3 yes overlap box.obj box.obj --pose 1,0,0 --pairs --out pairs.csv
bare 3 yes overlap box.obj box.obj --png x.ppm
bare 0 3 distance box.obj box.obj --pose 5,0,0
bare 3 yes distance box.obj box.obj --pose 5,0,0 --margin 3
bare 0 no distance box.obj box.obj --pose 5,0,0 --margin 2
bare 0 0 selfcheck box.obj
bare 0 never contacts box.obj box.obj --pose 9,0,0 --to 8,0,0
bare 0 0 contacts box.obj box.obj --pose 9,0,0 --cells 12 --out c.csv
bare 0 1 inside box.obj points.csv --out i.csv
bare 0 1 ray box.obj rays.csv --out r.csv
bare 0 8 samples box.obj --features vertices --out s.csv
bare 0 "$("$tool" version --json | sed -n 's/.*"version": "\(.*\)",/\1/p')" version
for words in "make box x.obj" "convert box.obj x.obj" "picture box.obj x.ppm" "field box.obj x.abutf --cells 8" \
    "slice box.obj x.ppm --size 32" "offset box.obj x.obj --cells 12"; do
    try 0 "$tool" $words --quiet
    mute out
done
printf 'v 0 0 0\nv 4 0 0\nv 0 4 0\nv 1 1 2\nv 2 1 2\nv 1 2 2\nf 1 2 3\nf 4 5 6\n' >high.obj
sed 's/ 2$/ -2/' high.obj >low.obj
bare 3 0.499999999999998 sweep high.obj low.obj --exact
bare 0 never sweep high.obj high.obj

# Frames of a folder in the order of their numbers: only so is there one step with an impact.
mkdir frames
for i in 1 2 8 9 10 11; do cp high.obj frames/frame$i.obj; done
cp low.obj frames/frame011b.obj
cp low.obj frames/frame12.obj
cp low.obj frames/frame100.obj
bare 3 1 sweep frames
try 3 "$tool" sweep frames --json
demand "the order of frames is wrong" \
    "$(sed -n 's/.*"end": "frames.frame\([^.]*\).*/\1/p' out | tr '\n' ' ')" = \
    "2 8 9 10 11 011b 12 100 "

# Exit codes: && goes on only where the meshes are certainly apart.
"$tool" overlap box.obj box.obj --pose 9,0,0 --quiet >/dev/null && apart=yes
demand "meshes that are apart do not read as free" "${apart-no}" = yes
"$tool" overlap box.obj box.obj --quiet >/dev/null && wrong "a touch reads as free"
"$tool" overlap box.obj missing.obj --quiet >/dev/null 2>&1 && wrong "an error reads as free"
for command in overlap distance contacts interfere selfcheck sweep replay info demo; do
    prints "3 found: " help $command
    demand "docs/commands/README.md does not say what 3 means for $command" \
        "$(sed -n '/^| command | 3 means/,/^$/p' "$source/docs/commands/README.md" | grep -c "$command")" -gt 0
done
for command in nearest inside ray field offset slice samples make convert picture; do
    try 0 "$tool" help $command
    demand "help of $command promises a code of 3" "$(grep -c '3 found' out)" -eq 0
done

# Too much to look at for self-intersections: the headline and the JSON say so.
# Triangles all in one place: each pair counts as an exact test, and takes none.
awk 'BEGIN { for (i = 0; i < 4000; i++) print "v 0 0 0\nv 1 0 0\nv 0 1 0";
    for (i = 0; i < 4000; i++) print "f", 3 * i + 1, 3 * i + 2, 3 * i + 3 }' >pile.obj
prints "self-intersection test stopped" info pile.obj --quiet
try 0 "$tool" info pile.obj --json
is "[it['files'][0]['self_search'], it['files'][0]['self_pairs']]" "['given-up', None]"
try 0 "$tool" info box.obj --json
is "it['files'][0]['self_search']" complete
try 0 "$tool" info box.obj --no-self --json
is "it['files'][0]['self_search']" skipped

# A reader that has had enough is no failure.
# All of these write more than a pipe holds.
"$tool" make torus big.ply --segments 300 --rings 100 --quiet
for command in "convert big.ply - --to obj" "make torus - --to ply --segments 300 --rings 100" \
    "make torus - --to gltf --segments 300 --rings 100"; do
    checks=$((checks + 1))
    # shellcheck disable=SC2086 # words are meant to be split
    { "$tool" $command 2>err; echo $? >code; } | head -c 10 >/dev/null
    demand "'$command | head' gives exit code $(cat code)" "$(cat code)" -eq 0
    demand "'$command | head' complains" "$(grep -c roken err)" -eq 0
done
finish
