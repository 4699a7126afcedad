# abut nearest and abut ray: known answers on a box, all ways to give points, and wrong input.
. "$(dirname "$0")/support.sh"

"$tool" make box box.obj --size 2,2,2 --segments 1 --quiet || exit 1
"$tool" make icosphere ball.ply --quiet || exit 1

# Points from a file: names first, remarks, any separator.
cat >points.csv <<'END'
x,y,z
# above the top, beside an edge, off a corner, inside
0.25,0.5,3
3;0;3 # both
4 5	1
0.75,0.125,-0.25
END
try 0 "$tool" nearest box.obj points.csv
mute err
says "x,y,z,distance,nearest_x,nearest_y,nearest_z,triangle,feature"
demand "not one line a point" "$(wc -l <out)" -eq 5
says "0.25,0.5,3,2,0.25,0.5,1,"
says "4,5,1,5,1,1,1,"
says "0.75,0.125,-0.25,0.25,1,0.125,-0.25,"
demand "a corner is no vertex" "$(grep '^4,5,1,' out | grep -c 'vertex-[012]$')" -eq 1
demand "inside a side is no face" "$(grep '^0.25' out | grep -c ',face$')" -eq 1
prints "4,5,1,,,,,," nearest box.obj points.csv --radius 2.5
says "0.25,0.5,3,2,"

# A summary, a file, both.
try 0 "$tool" nearest box.obj points.csv --json
is "[it[k] for k in ('mesh', 'triangles', 'points', 'found')]" "['box.obj', 12, 4, 4]"
is "it['largest_distance']" 5
is "it['least_distance']" 0.25
prints "largest distance" nearest box.obj points.csv --out table.csv
demand "the table is short" "$(wc -l <table.csv)" -eq 5
demand "a part file was left" ! -e table.csv.part
try 0 "$tool" nearest box.obj points.csv --out table.csv --quiet
mute out
try 0 "$tool" nearest box.obj points.csv --json --radius 1e-9
is "[it['found'], it['mean_distance']]" "[0, None]"

# The vertices of a mesh; random points, the same on any number of threads.
try 0 "$tool" nearest ball.ply ball.ply --json
is "it['largest_distance']" 0
try 0 "$tool" nearest ball.ply --random 500 --seed 3 --threads 1
cp out one
try 0 "$tool" nearest ball.ply --random 500 --seed 3 --threads 3
demand "threads change the answer" "$(cmp one out 2>&1)" = ""
try 0 "$tool" nearest ball.ply --random 500 --seed 4
demand "the seed has no say" "$(cmp one out >/dev/null 2>&1 && echo same)" = ""
try 0 "$tool" nearest ball.ply --random 1000 --near 0.01 --json
is "0 < it['largest_distance'] < 0.04" True

# Rays.
try 0 "$tool" ray box.obj --from 0.25,0.5,5 --towards 0,0,-2
mute err
says "0.25,0.5,5,0,0,-2,2,0.25,0.5,1,"
prints "0.25,0.5,5,0,0,-2,,,,," ray box.obj --from 0.25,0.5,5 --towards 0,0,-2 --most 1.9
printf '0 0 5 0 0 -1\n0,0,5,0,0,1\n' >rays.txt
try 0 "$tool" ray box.obj rays.txt --json
is "[it['rays'], it['hits']]" "[2, 1]"
prints "hits" ray box.obj rays.txt --out hits.csv
demand "the table is short" "$(wc -l <hits.csv)" -eq 3
prints "ray,x,y,z," ray box.obj --from 0.25,0.5,5 --towards 0,0,-2 --all
says "0,0.25,0.5,5,0,0,-2,2,0.25,0.5,1,"
demand "a hit is missing" "$(wc -l <out)" -eq 3
printf '0.25 0.5 5 0 0 1\n-5 0.5 0.25 1 0 0\n' >rays.txt
try 0 "$tool" ray box.obj rays.txt --all --json
is "[it['rays'], it['hits']]" "[2, 2]"

# Wrong input.
refuses "--most and --all cannot be combined" ray box.obj rays.txt --all --most 3
refuses "the points are missing" nearest box.obj
refuses "cannot be combined with a file" nearest box.obj points.csv --random 3
refuses "require --random" nearest box.obj points.csv --seed 3
try 2 "$tool" nearest box.obj --random 0
try 2 "$tool" nearest box.obj points.csv --radius nan
fails "missing.obj: " nearest missing.obj points.csv
fails "missing.csv: cannot be opened" nearest box.obj missing.csv
: >empty.csv
fails "empty.csv: no rows" nearest box.obj empty.csv
printf '1,2,3\n1,2\n' >short.csv
fails "short.csv:2: too few" nearest box.obj short.csv
printf '1,2,3\n1,2,x\n' >words.csv
fails "words.csv:2: words" nearest box.obj words.csv
printf '1,2,3\n1,nan,0\n' >nan.csv
fails "nan.csv:2: (1, nan, 0)" nearest box.obj nan.csv --json
is "it['error']['kind']" "format error"
fails "missing/table.csv: cannot be written" nearest box.obj points.csv --out missing/table.csv
mkdir folder.csv
try 1 "$tool" nearest box.obj folder.csv
try 2 "$tool" ray box.obj
try 2 "$tool" ray box.obj --from 0,0,5
try 2 "$tool" ray box.obj rays.txt --from 0,0,5 --towards 1,0,0
printf '0 0 5 0 0 0\n' >still.txt
fails "ray 0: direction is zero" ray box.obj still.txt
finish
