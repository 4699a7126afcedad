# abut field, slice and offset: known distances of a box, files, pictures, and wrong input.
. "$(dirname "$0")/support.sh"

"$tool" make box box.obj --size 2,2,2 --segments 1 --quiet || exit 1
"$tool" make teapot teapot.obj --quiet || exit 1
"$tool" make icosphere ball.ply --segments 8 --quiet || exit 1

# A field of known values: the middle of the box is 1 deep, a corner of the grid as far as it is.
try 0 "$tool" field box.obj box.abutf --cell 0.25 --margin 0.5
mute err
says "12 x 12 x 12 cells of 0.25"
says "winding"
try 0 "$tool" field box.obj box.npy --cell 0.25 --margin 0.5 --json
is "[it[k] for k in ('count', 'cell', 'layout', 'type', 'bytes', 'file')]" \
    "[[12, 12, 12], 0.25, 'dense', 'float', 6912, 'box.npy']"
is "it['lowest']" -0.875
is "abs(it['highest'] - 3**0.5 * 0.375) < 1e-6" True
is "it['closed'], it['band'], it['step']" "(True, None, 0)"
is "it['build_ms'] > 0" True
demand "an NPY file has another size" "$(wc -c <box.npy)" -eq 7040
if [ -n "$python" ]; then
    checks=$((checks + 1))
    "$python" - <<'END' || wrong "box.npy does not hold the distances"
import struct
data = open("box.npy", "rb").read()
assert data[:6] == b"\x93NUMPY" and b"(12, 12, 12)" in data[:128]
values = struct.unpack("<1728f", data[128:])
for i, value in enumerate(values):
    p = [abs(-1.375 + 0.25 * (i // 12**k % 12)) - 1 for k in range(3)]
    true = max(p) if max(p) < 0 else sum(max(q, 0) ** 2 for q in p) ** 0.5
    assert abs(value - true) < 1e-6
END
fi
try 0 "$tool" field box.obj box.raw --cells 10 --sparse --int16 --quiet
mute out
demand "there is no box.json" -s box.json
try 0 "$tool" field box.obj box.vti --cells 10 --band 0.3 --sign normal --json
is "it['band'], it['sign'], round(it['highest'], 6)" "(0.3, 'normal', 0.3)"
if [ -n "$python" ]; then # the text format of Sundholm (2010)
    dcache="$source/bench/reproduce/sundholm/dcache.py"
    try 0 "$tool" samples box.obj --cell 0.25 --out samples.csv
    cut -d , -f 1-6 samples.csv >points.csv
    demand "there are few samples" "$(wc -l <points.csv)" -gt 50
    try 0 "$python" "$dcache" box.npy box.dcache --samples samples.csv
    demand "a text field has no head" "$(head -n 1 box.dcache)" = DISTCACHE
    demand "samples are missing" "$(wc -l <box.dcache)" -eq $((2 + 1728 + 1 + $(wc -l <points.csv) - 1))
    try 0 "$python" "$dcache" box.dcache back.npy --samples back.csv
    demand "a text field changes values" "$(cmp box.npy back.npy 2>&1)" = ""
    demand "a text field changes samples" "$(cmp points.csv back.csv 2>&1)" = ""
    sed 's/,1,/,nan,/' points.csv >nan.csv
    try 1 "$python" "$dcache" box.npy box.dcache --samples nan.csv
    complains "nan.csv: 'nan' is not a finite number"
    printf 'DISTCACHE %%a note\n8 2 2 2 0.5 0.25\n1 2 3\n4 5 6 7 -8\n2\n0 0 0 1 0 0\n1 1 1 0 1 0\n' >two.dcache
    printf 'DISTCACHE\n12 3 2 2 0 0 1 2 3 4 5 6 7 8 9 10 11 12\n0\n' >>two.dcache
    try 0 "$python" "$dcache" two.dcache first.npy --samples first.csv
    demand "the first field has other samples" "$(tail -n 1 first.csv)" = 1,1,1,0,1,0
    try 0 "$python" "$dcache" two.dcache second.npy 1
    demand "the second field has not 3 x 2 x 2 values" "$(head -c 128 second.npy | grep -ac "(2, 2, 3)")" = 1
    try 1 "$python" "$dcache" two.dcache third.npy 2
    printf 'DISTCACHE 8 2 2 2 0 0 1.5 2.5' >short.dcache
    try 1 "$python" "$dcache" short.dcache short.npy
fi
try 0 "$tool" field box.obj --sparse --int16 --cells 40 --json
is "it['layout'], it['type'], it['bricks'] > 10" "('sparse', 'int16', True)"
prints "the mesh has boundary edges" field teapot.obj --cells 12 --time
says " ms"

# The same bytes on any number of threads, plain or not the same field.
try 0 "$tool" field ball.ply one.abutf --cells 20 --threads 1 --quiet
try 0 "$tool" field ball.ply two.abutf --cells 20 --threads 2 --quiet
demand "threads change the file" "$(cmp one.abutf two.abutf 2>&1)" = ""
try 0 "$tool" field ball.ply plain.abutf --cells 20 --plain --quiet

# Cells as a picture: all of them, or those inside, which are fewer and have other colours.
pink() { tail -c +16 "$1" | od -An -v -tu1 -w3 | awk '$1 > 230 && $2 > 60 && $2 < 200 && $3 > 60 && $3 < 200' | wc -l; }
blue() { tail -c +16 "$1" | od -An -v -tu1 -w3 | awk '$1 < 60 && $2 < 90 && $3 > 190' | wc -l; }
try 0 "$tool" field ball.ply --cells 16 --png cells.ppm --json
is "it['picture'], 'file' in it" "('cells.ppm', False)"
try 0 "$tool" field ball.ply --cells 16 --inside --png inside.ppm --quiet
demand "no cell is far away" "$(blue cells.ppm)" -gt 300
demand "cells outside are drawn" "$(blue inside.ppm)" -eq 0
demand "no cell is inside" "$(pink inside.ppm)" -gt 300
try 0 "$tool" field ball.ply --cells 16 --sparse --palette grey --view top --png grey.ppm --quiet
demand "a palette has no effect" "$(blue grey.ppm)" -eq 0
refuses "--png" field ball.ply --cells 16 --inside
refuses "at most 1000000" field ball.ply many.abutf --cells 110 --png many.ppm
demand "a picture was written" ! -e many.ppm
demand "a field was written" ! -e many.abutf
try 2 "$tool" field ball.ply --png cells.gif

# Slices: of fields and of meshes.
prints "z at 0" slice box.abutf box.ppm --size 100
demand "the picture is not a PPM" "$(head -c 2 box.ppm)" = P6
try 0 "$tool" slice one.abutf one.ppm --size 100 --json
is "it['axis'], it['at'], it['lowest'] < -0.4 < 0 < it['highest']" "('z', 0, True)"
try 0 "$tool" slice plain.abutf plain.ppm --size 100 --quiet
mute out
demand "compression changes values" "$(cmp one.ppm plain.ppm 2>&1)" = ""
try 0 "$tool" slice ball.ply exact.ppm --size 100 --axis x --at 25% --palette thesis --json
is "it['axis'], round(it['at'], 6)" "('x', -0.325)"
try 0 "$tool" slice box.abutf text.ppm --size 60 --axis y --cubic --palette grey

# Offsets.
prints "closed.ply: " offset teapot.obj closed.ply --cells 24
try 0 "$tool" info closed.ply --json
is "[it['files'][0][k] for k in ('closed', 'manifold', 'oriented')]" "[True, True, True]"
try 0 "$tool" offset ball.ply larger.ply --by 0.5 --cells 40 --quiet
mute out
try 0 "$tool" info larger.ply --json
is "abs(it['files'][0]['bounds']['hi'][0] - 1) < 0.02, it['files'][0]['closed']" "(True, True)"
for by in 0.01 0.1 2; do # small, more than two cells, much larger than the mesh
    try 0 "$tool" offset ball.ply larger.ply --by $by --cells 30 --quiet
    try 0 "$tool" info larger.ply --json
    is "it['files'][0]['closed']" True
done
try 0 "$tool" offset ball.ply smaller.obj --by=-0.2 --cell 0.05 --json
is "it['by'], it['cell'], it['triangles'] > 100" "(-0.2, 0.05, True)"

# Wrong input.
fails "edge" field teapot.obj t.abutf --sign normal
complains "winding"
demand "a file was written" ! -e t.abutf
try 2 "$tool" field box.obj box.abutf --cells 0
refuses "from 2 to" field box.obj box.abutf --cells 1
fails "GiB" field box.obj box.abutf --cells 100000
refuses "one of them" field box.obj box.abutf --cells 10 --cell 0.1
refuses ".abutf" field box.obj box.txt
fails "nowhere/box.abutf" field box.obj nowhere/box.abutf
if [ -w /dev/full ]; then
    ln -s /dev/full full.abutf
    fails "No space" field box.obj full.abutf --cells 10
fi
printf 'v 1 1 1\nf 1 1 1\n' >point.obj
fails "single point" field point.obj
head -c 3000 one.abutf >cut.abutf
fails "ends too early" slice cut.abutf cut.ppm
printf 'x' | dd of=two.abutf bs=1 seek=1500 conv=notrunc 2>/dev/null
try 1 "$tool" slice two.abutf cut.ppm --json
is "it['error']['kind']" "format error"
refuses "outside" slice one.abutf cut.ppm --at 7
try 2 "$tool" slice one.abutf cut.ppm --at middle
try 2 "$tool" slice one.abutf cut.obj
try 2 "$tool" slice one.abutf cut.ppm --axis w
fails "missing.abutf: cannot be opened" slice missing.abutf cut.ppm
fails "the result is empty" offset ball.ply none.ply --by=-3 --cells 20
demand "a picture was written" ! -e cut.ppm

# The cache: the same field again, damage that is reported and repaired, and its maintenance.
ABUT_CACHE_DIR=$scratch/kept
export ABUT_CACHE_DIR
prints "the cache is empty" cache ls
try 0 "$tool" field ball.ply plain.abutf --cells 12 --quiet
for round in 1 2; do
    try 0 "$tool" field ball.ply again.abutf --cells 12 --cache
    mute err
    demand "a field of the cache is another (round $round)" "$(cmp plain.abutf again.abutf 2>&1)" = ""
done
try 0 "$tool" offset ball.ply grown.ply --cells 12 --cache --quiet
try 3 "$tool" contacts box.obj ball.ply --cells 12 --cache --quiet
prints "12 x 12 x 12" cache ls
says "4 fields, 2 files of samples"
try 0 "$tool" cache verify --json
is "sorted(len(f['mesh']) for f in it['fields']), it['damaged']" "([64, 64, 64, 64], 0)"
is "sum(f['stored_bytes'] for f in it['fields'] + it['samples']) == it['stored_bytes']" True
is "{s['mesh'] for s in it['samples']} < {f['mesh'] for f in it['fields']} | {0}" True
for round in 1 2; do
    try 0 "$tool" samples ball.ply --cells 12
    cp out plain.csv
    try 0 "$tool" samples ball.ply --cells 12 --cache
    mute err
    demand "samples of the cache are others (round $round)" "$(cmp plain.csv out 2>&1)" = ""
done
for file in kept/fields/*.samples; do
    printf 'some words' | dd of="$file" bs=1 seek=300 conv=notrunc 2>/dev/null
done
try 1 "$tool" cache verify --json
is "[s['problem'] is None for s in it['samples']], it['damaged']" "([False, False], 2)"
try 0 "$tool" samples ball.ply --cells 12 --cache
complains "warning: the samples are computed"
demand "samples were read from a damaged cache" "$(cmp plain.csv out 2>&1)" = ""
for file in kept/fields/*.fields; do
    printf 'some words' | dd of="$file" bs=1 seek=300 conv=notrunc 2>/dev/null
done
try 1 "$tool" cache verify
says "damaged"
says "the checksum or the compression of a block is wrong"
try 0 "$tool" field ball.ply again.abutf --cells 12 --cache
complains "warning: the field is computed"
demand "a field was read from a damaged cache" "$(cmp plain.abutf again.abutf 2>&1)" = ""
try 0 "$tool" cache clear --older 1 --json
is "it" "{'removed': 0, 'bytes': 0}"
prints "removed 6 files" cache clear "$scratch/kept/fields"
try 0 "$tool" cache ls --json
is "it['fields']" "[]"
refuses "not one of ls, verify and clear" cache remove
try 2 "$tool" cache ls --older 3
try 2 "$tool" cache
fails "box.obj: cannot be opened" cache ls box.obj
try 1 "$tool" cache ls box.obj --json
is "it['error']['kind']" "file error"
printf 'x' >file
ABUT_CACHE_DIR=$scratch/file
try 0 "$tool" field ball.ply again.abutf --cells 12 --cache
complains "warning: the field is not stored"
# Where there is no surface, why.
printf 'v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n' >sheet.obj
fails "sheet.obj: no cell of size" offset sheet.obj none.ply --cells 16
fails "sheet.obj: the result is empty: no point is 1 deep" offset sheet.obj none.ply --by=-1 --cells 16
demand "nothing is written" ! -e none.ply
prints "[auto|winding|normal]" offset --help
finish
