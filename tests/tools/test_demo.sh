# abut demo: a few bodies or triangles, and what must hold for any number of them.
. "$(dirname "$0")/support.sh"

try 2 "$tool" demo rise
complains "drop"
try 2 "$tool" demo sleeve --bodies 3
complains "bodies"
try 2 "$tool" demo sheet --triangles 3
complains "triangles"
try 2 "$tool" demo sheet --solid 3
complains "solid"
try 2 "$tool" demo ball --png film.gif
complains "png"
try 1 "$tool" demo sheet --triangles 200 --frames 1 --record no/such/folder.abutm
complains "no/such"
for scene in ball sleeve sheet; do
    try 0 "$tool" demo $scene --threads 1 --triangles 200 --frames 12 --json --png film.ppm \
        --record $scene.abutm --meshes $scene
    mute err
    is "it['scene'], it['frames'], it['frames_with_intersections']" "('$scene', 12, 0)"
    is "100 < it['triangles'] < 300 and it['seconds_a_frame'] > 0 and it['rounds'] >= 1" True
    is "0 < it['thinnest_gap'] <= 1.5 * it['thickness']" True
    demand "the film has another size" "$(wc -c <film.ppm)" -eq 2592016
    demand "there are other meshes" "$(ls $scene | wc -l)" -eq 26
done
cp sheet.abutm first.abutm
try 0 "$tool" demo sheet --threads 2 --triangles 200 --frames 12 --record sheet.abutm
demand "another run gives another recording" "$(cmp first.abutm sheet.abutm 2>&1)" = ""
try 0 "$tool" selfcheck sheet/cloth00012.ply
try 0 "$tool" demo sheet --threads 1 --triangles 200 --frames 2
says "none in any frame"
if ! grep -q 'ODE_LIBRARY:FILEPATH=/' "$build/CMakeCache.txt"; then
    try 1 "$tool" demo drop
    complains "libode-dev"
    finish
fi
try 2 "$tool" demo drop --bodies 0
complains "bodies"
try 2 "$tool" demo drop --png film.gif
complains "png"
try 0 "$tool" demo drop --bodies 9 --seconds 2.5 --json --png film.ppm
mute err
is "it['abut']['bodies'], it['abut']['lost']" "(9, 0)"
is "0 < it['abut']['deepest_cells'] < 1" True
is "it['abut']['energy_growth'] < 1e-4" True
is "it['abut']['energy_left'] < 0.5" True
is "it['abut']['contacts_a_step'] > 1" True
demand "the film has another size" "$(wc -c <film.ppm)" -eq 2592016
finish
