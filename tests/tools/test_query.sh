# abut query: known answers in a scene of two boxes and a ball, and wrong input.
. "$(dirname "$0")/support.sh"

finds() { # as prints, of a run that finds something
    words=$1
    shift
    try 3 "$tool" "$@"
    says "$words"
}

cat >scene.json <<'JSON'
{"meshes": {"box": {"shape": "box", "size": [2, 2, 2], "segments": 1}},
 "bodies": [{"name": "left", "mesh": "box"},
            {"name": "right", "mesh": "box", "position": [5, 0, 0]}]}
JSON
printf '0.25,0.5,9 0 0 -1\n3,0,0 1 0 0\n3 0 9 0 0 -1\n' >rays.csv
"$tool" make box shape.obj --size 1,1,1 --segments 1 --quiet || exit 1

# Rays: one, many, all hits, without a body, up to a parameter.
finds "0,left,8,0.25,0.5,1,0,0,1," query scene.json --from 0.25,0.5,9 --towards 0,0,-1
try 3 "$tool" query scene.json --rays rays.csv
says "1,right,1,4,0,0,-1,0,0,"
says "2,,,,,,,,,"
try 3 "$tool" query scene.json --from -9,0.25,0.5 --towards 1,0,0 --all
demand "not four hits" "$(wc -l <out)" -eq 5
finds "0,right,13," query scene.json --from -9,0.25,0.5 --towards 1,0,0 --skip left
try 0 "$tool" query scene.json --from -9,0.25,0.5 --towards 1,0,0 --most 3
try 3 "$tool" query scene.json --rays rays.csv --json
is "[it['bodies'], it['queries'], it['found'], it['list'][1]['body'], it['list'][2]['body']]" "[2, 3, 2, 'right', None]"

# Points.
prints "0,right,0.5,4,0.25,0.5," query scene.json --point 3.5,0.25,0.5
prints "0,,,,,," query scene.json --point 2.5,0,0 --radius 1

# Shapes: overlap, distance, casts.
try 3 "$tool" query scene.json --with sphere:0,0,0,2 --pose 2.5,0,0
says "0,left"
says "0,right"
finds "0,left" query scene.json --mesh shape.obj --pose 1.25,0,0
try 0 "$tool" query scene.json --mesh shape.obj --pose 2.5,0,0
try 3 "$tool" query scene.json --mesh shape.obj --pose 2.5,0,0 --margin 1
prints "0,left,1," query scene.json --mesh shape.obj --pose 2.5,0,0 --nearest 2
finds "0,right,0." query scene.json --with sphere:0,0,0,0.5 --pose 5,0,9 --to 5,0,-9
printf '0 0 9\n5 0 9\n9 9 9\n' >poses.csv
try 3 "$tool" query scene.json --with box:0,0,0,1,1,1 --poses poses.csv --to 5,0,-9 --json
is "[row['body'] for row in it['list']][1:]" "['right', None]"
try 3 "$tool" query scene.json --mesh shape.obj --out table.csv
demand "the table is short" "$(wc -l <table.csv)" -eq 2

refuses "the query is missing" query scene.json
refuses "cannot be combined" query scene.json --point 0,0,0 --with sphere:0,0,0,1
refuses "does not apply" query scene.json --point 0,0,0 --all
refuses "no body of this name" query scene.json --point 0,0,0 --skip nobody
refuses "must not be a plane" query scene.json --with plane:0,0,1,0
refuses "use either" query scene.json --from 0,0,0
refuses "not a scene" query shape.obj --point 0,0,0
finish
