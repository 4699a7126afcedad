# abut sweep: one step and many, the table, the picture, the exit code; and steps that are none.
. "$(dirname "$0")/support.sh"

# A spike above a triangle, one body each; at height 0 the tip touches it.
spike() {
    cat <<END
v 0 0 0
v 4 0 0
v 0 4 0
v 0.5 0.5 $(($1 + 1))
v 1 0.5 $(($1 + 1))
v 0.5 1 $(($1 + 1))
v 0.75 0.75 $1
f 1 2 3
f 4 6 5
f 4 5 7
f 5 6 7
f 6 4 7
END
}
mkdir frames free
for height in 6 5 4 3; do
    spike $height >free/$((9 - height)).obj
done
spike 3 >frames/a.obj
spike 2 >frames/b.obj
spike -2 >frames/c.obj
echo "not a mesh" >frames/notes.txt

try 0 "$tool" sweep frames/a.obj frames/b.obj
mute err
says "no impact"
try 3 "$tool" sweep frames/b.obj frames/c.obj
says "the first impact at time 0.5"
says "vertex 6"
try 3 "$tool" sweep frames/b.obj frames/c.obj --json
is "[it['hit'], it['count'], it['mode']]" "[True, 1, 'earliest']"
is "it['impacts'][0]['vertices']" "[6, 0, 1, 2]"
is "[abs(it['impacts'][0]['time'] - 0.5) < 1e-7, it['impacts'][0]['time'] <= 0.5]" "[True, True]"
is "[round(x, 6) for x in it['impacts'][0]['point']]" "[0.75, 0.75, 0.0]"
is "[round(x, 6) for x in it['impacts'][0]['normal']]" "[0, 0, 1]"
try 3 "$tool" sweep frames/b.obj frames/c.obj --json --thickness 0.4 --others
is "round(it['impacts'][0]['time'], 6)" 0.4
try 3 "$tool" sweep frames/b.obj frames/c.obj --mode any --json
is "[it['count'], it['mode']]" "[1, 'any']"
try 3 "$tool" sweep frames/b.obj frames/c.obj --mode all --json --out impacts.csv --first 2
is "[it['count'] >= 4, len(it['impacts'])]" "[True, 2]"
demand "the table has another length" "$(wc -l <impacts.csv)" -eq "$(value "it['count'] + 1")"
demand "the table begins otherwise" "$(sed -n 2p impacts.csv | cut -d, -f2-6)" = "vertex-face,6,0,1,2"

# Parts: the two bodies are two.
try 0 "$tool" sweep frames/b.obj frames/c.obj --self
try 3 "$tool" sweep frames/b.obj frames/c.obj --others --json
is "it['impacts'][0]['vertices']" "[6, 0, 1, 2]"
refuses "no impact would remain" sweep frames/b.obj frames/c.obj --others --self

# A folder.
prints "0 of 3 steps" sweep free
try 3 "$tool" sweep frames
says "1 of 2 steps"
says "face 0 1 2"
try 3 "$tool" sweep frames --json
demand "not a line a step" "$(wc -l <out)" -eq 2
sed -n 2p out >line && mv line out
is "[it['step'], it['hit'], it['impacts'], it['end']]" "[1, True, 1, 'frames/c.obj']"
mkdir empty
fails "has 0 meshes" sweep empty
refuses "--png needs a single step" sweep frames --png it.png
refuses "name two meshes, a folder" sweep frames/a.obj
fails "missing.obj" sweep frames/a.obj missing.obj

# A recording: cloth on a solid, whose steps are kept free of impacts, so that the frames are.
try 0 "$tool" demo ball --threads 1 --triangles 200 --frames 9 --record ball.abutm
prints "0 of 9 steps" sweep ball.abutm --frames-only --threads 1
try 0 "$tool" sweep ball.abutm --frames-only --from 3 --to 5 --json --threads 1
demand "not a line a frame" "$(wc -l <out)" -eq 3
sed -n 3p out >line && mv line out
is "[it['frame'], it['hit'], it['impacts']]" "[5, False, 0]"
# With a thickness the solid inside is met, by another part and not by itself.
try 3 "$tool" sweep ball.abutm --frames-only --others --thickness 0.5 --to 1 --json --threads 1
is "[it['hit'], it['time']]" "[True, 0]"
try 0 "$tool" sweep ball.abutm --frames-only --self --to 2 --threads 1
code=0
"$tool" sweep ball.abutm --mode all --json --threads 1 >out 2>err || code=$?
demand "steps to aims fail" "$code" -eq 0 -o "$code" -eq 3
demand "not a line a step to aims" "$(wc -l <out)" -eq 9
refuses "frames must be from 1 to 9" sweep ball.abutm --to 10
refuses "--from applies to recordings" sweep frames --from 1
try 2 "$tool" sweep ball.abutm --png it.png
head -c 3000 ball.abutm >short.abutm
fails "short.abutm" sweep short.abutm

# Meshes that differ, and a start that cuts itself.
"$tool" make box box.obj --quiet || exit 1
fails "frames/a.obj has 7 vertices but box.obj has" sweep frames/a.obj box.obj
spike 1 | sed 's/f 4 5 7/f 4 7 5/' >turned.obj
fails "triangle 2 has the vertices 3, 4, 6 in frames/a.obj but 3, 6, 4 in turned.obj" sweep frames/a.obj turned.obj
spike -1 >cut.obj
spike -2 >after.obj
sed 's/ -1$/ -0.5/' cut.obj >start.obj
fails "start.obj: intersects itself at the start" sweep start.obj after.obj
complains "0 and "
try 1 "$tool" sweep start.obj after.obj --json
is "it['error']['kind']" "intersecting start"
try 3 "$tool" sweep start.obj after.obj --regardless

# The picture, also of nothing to mark; and refused before any work.
for kind in png ppm; do
    [ $kind = ppm ] || "$tool" version | grep -q 'pictures as .png' || continue
    try 3 "$tool" sweep frames/b.obj frames/c.obj --mode all --png it.$kind --view front
    demand "no picture" -s it.$kind
    try 0 "$tool" sweep frames/a.obj frames/b.obj --png none.$kind
    demand "no picture of nothing" -s none.$kind
done
refuses "must end in .png or .ppm" sweep frames/b.obj frames/c.obj --png it.gif
try 2 "$tool" sweep frames/b.obj frames/c.obj --thickness -1
try 2 "$tool" sweep frames/b.obj frames/c.obj --thickness 1 --exact
try 2 "$tool" sweep frames/b.obj frames/c.obj --mode some
try 2 "$tool" sweep
finish
