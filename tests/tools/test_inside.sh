# abut inside, signs and several nearest triangles, and tables as CSV, PLY and NPY.
. "$(dirname "$0")/support.sh"

"$tool" make box box.obj --size 2,2,2 --segments 1 --quiet || exit 1
"$tool" make icosphere ball.ply --quiet || exit 1
"$tool" make teapot teapot.obj --segments 3 --quiet || exit 1

# Inside, outside, on a face, on an edge, on a corner.
printf '0 0 0\n0 0 1.5\n0.25 0.5 1\n1 0.25 1\n1 1 1\n1 1 1.000000001\n' >points.txt
try 0 "$tool" inside box.obj points.txt
mute err
printf 'x,y,z,place\n0,0,0,inside\n0,0,1.5,outside\n0.25,0.5,1,inside\n1,0.25,1,inside\n1,1,1,inside\n1,1,1.000000001,outside\n' >expected
demand "wrong places" "$(cmp out expected 2>&1)" = ""
prints "0,0,0,inside,1" inside box.obj points.txt --winding
says "0,0,1.5,outside,0"
says "1,1,1,inside,0.5"
try 0 "$tool" inside box.obj points.txt --json
is "[it[k] for k in ('mesh', 'triangles', 'closed', 'points', 'inside')]" "['box.obj', 12, True, 6, 4]"
try 0 "$tool" inside teapot.obj --random 300 --json
is "[it['closed'], it['points'], 20 < it['inside'] < 150]" "[False, 300, True]"

# Inside out is the same.
sed 's/^f \([0-9]*\) \([0-9]*\) \([0-9]*\)/f \2 \1 \3/' box.obj >turned.obj
try 0 "$tool" inside turned.obj points.txt
demand "the winding has a say" "$(cmp out expected 2>&1)" = ""
prints "0,0,0,inside,-1" inside turned.obj points.txt --winding

# Signs.
for method in winding normal; do
    for mesh in box.obj turned.obj; do
        try 0 "$tool" nearest "$mesh" points.txt --sign $method
        if [ $method = winding ]; then
            mute err
        else
            complains "abut nearest: limited: Signs by pseudo-normals"
        fi
        says "0,0,0,-1,"
        says "0,0,1.5,0.5,0,0,1,"
        says "1,1,1,0,1,1,1,"
    done
done
try 0 "$tool" nearest box.obj points.txt --sign winding --json
is "[it['inside'], it['least_distance'], it['largest_distance']]" "[1, -1, 0.5]"
try 0 "$tool" nearest ball.ply --random 400 --sign winding --threads 1
cp out one
try 0 "$tool" nearest ball.ply --random 400 --sign normal --threads 3
demand "methods or threads change the answer" "$(cmp one out 2>&1)" = ""
try 0 "$tool" nearest ball.ply --random 400 --json
is "'inside' in it" False

# Several nearest.
printf '0.25 0.5 3\n' >one.txt
prints "point,x,y,z,distance," nearest box.obj one.txt --most 3
demand "not three lines" "$(grep -c '^0,0.25,0.5,3,' out)" -eq 3
says "0,0.25,0.5,3,2,0.25,0.5,1,"
try 0 "$tool" nearest box.obj one.txt --most 1000 --json
is "[it['points'], it['found']]" "[1, 12]"
try 0 "$tool" nearest box.obj one.txt --most 5 --radius 1
demand "beyond the radius" "$(wc -l <out)" -eq 1

# Tables in files: the same numbers in all three formats.
try 0 "$tool" nearest box.obj points.txt --radius 0.25 --out table.csv
prints "largest distance" nearest box.obj points.txt --radius 0.25 --out table.npy
try 0 "$tool" nearest box.obj points.txt --radius 0.25 --out table.ply
try 0 "$tool" inside box.obj points.txt --winding --out places.npy --json
try 0 "$tool" ray box.obj --from 0.25,0.5,5 --towards 0,0,-2 --out hits.npy --quiet
demand "not the bare count" "$(cat out)" = 1
demand "a part file was left" "$(ls | grep -c part)" -eq 0
if [ -n "$python" ]; then
    cat >check.py <<'END'
import csv, math, struct


def npy(path):
    data = open(path, "rb").read()
    assert data[:8] == b"\x93NUMPY\x01\x00", data[:8]
    (length,) = struct.unpack("<H", data[8:10])
    assert (10 + length) % 64 == 0 and data[9 + length : 10 + length] == b"\n", length
    head = eval(data[10 : 10 + length].decode())
    assert head["descr"] == "<f8" and head["fortran_order"] is False
    rows, columns = head["shape"]
    numbers = struct.unpack("<%dd" % (rows * columns), data[10 + length :])
    return [list(numbers[i * columns : (i + 1) * columns]) for i in range(rows)]


def ply(path):
    data = open(path, "rb").read()
    end = data.index(b"end_header\n") + 11
    head = data[:end].decode().split("\n")
    assert head[:2] == ["ply", "format binary_little_endian 1.0"], head
    rows = int([line for line in head if line.startswith("element vertex")][0].split()[2])
    kinds = [line.split()[1] for line in head if line.startswith("property")]
    names = [line.split()[2] for line in head if line.startswith("property")]
    form = "<" + "".join({"double": "d", "int": "i"}[kind] for kind in kinds)
    assert len(data) == end + rows * struct.calcsize(form)
    return names, [list(row) for row in struct.iter_unpack(form, data[end:])]


FEATURES = ["face", "edge-0", "edge-1", "edge-2", "vertex-0", "vertex-1", "vertex-2"]
table = list(csv.reader(open("table.csv")))
expected = []
for row in table[1:]:
    numbers = [float(x) if x else math.nan for x in row[:7]]
    numbers += [float(row[7]) if row[7] else -1, FEATURES.index(row[8]) if row[8] else -1]
    expected.append(numbers)


def same(a, b):
    return len(a) == len(b) and all(x == y or (x != x and y != y) for x, y in zip(a, b))


names, rows = ply("table.ply")
assert names == table[0], names
assert len(rows) == 6 and all(same(a, b) for a, b in zip(rows, expected)), rows
rows = npy("table.npy")
assert len(rows) == 6 and all(same(a, b) for a, b in zip(rows, expected)), rows
assert math.isnan(rows[1][3]) and rows[1][7] == -1 and rows[2][3] == 0
places = npy("places.npy")
assert [row[3] for row in places] == [1, 0, 1, 1, 1, 0] and places[0][4] == 1, places
assert npy("hits.npy") == [[0.25, 0.5, 5, 0, 0, -2, 2, 0.25, 0.5, 1, npy("hits.npy")[0][10]]]
print("fine")
END
    try 0 "$python" check.py
    says "fine"
else
    skip "formats: there is no python3"
fi

# Wrong input.
refuses "the points are missing" inside box.obj
refuses "cannot be combined with a file" inside box.obj points.txt --random 3
refuses "require --random" inside box.obj points.txt --near 1
fails "missing.obj: " inside missing.obj points.txt
fails "missing.txt: cannot be opened" inside box.obj missing.txt
fails "missing/table.npy: cannot be written" inside box.obj points.txt --out missing/table.npy
try 2 "$tool" nearest box.obj points.txt --sign guess
try 2 "$tool" nearest box.obj points.txt --most 0
refuses "cannot be combined" nearest box.obj points.txt --most 2 --sign winding
fails "closed and consistently oriented" nearest teapot.obj points.txt --sign normal --json
is "it['error']['kind']" "argument error"
finish
