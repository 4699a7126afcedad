# abut demo: a few bodies or triangles, and what must hold for any number of them.
. "$(dirname "$0")/support.sh"

# Letters: distances by triangles are within the bounds of their maps, and fields agree.
try 0 "$tool" demo letters --frames 4 --resolution 64 --compare --json --png film.ppm --plot plot.ppm
mute err
is "it['frames'], it['violated'], it['triangles']" "(4, 0, 3832)"
is "it['samples'] > 6000 and it['relative_reach'] > 1 and 0 < it['field_off'] < 0.1" True
demand "the film has another size" "$(wc -c <film.ppm)" -eq 2592016
demand "there is no plot" -s plot.ppm
refuses "does not apply" demo letters --bodies 3

refuses "drop" demo rise
refuses "bodies" demo sleeve --bodies 3
refuses "triangles" demo sheet --triangles 3
refuses "solid" demo sheet --solid 3
refuses "png" demo ball --png film.gif
fails "no/such" demo sheet --triangles 200 --frames 1 --record no/such/folder.abutm
for scene in ball sleeve sheet; do
    try 0 "$tool" demo $scene --threads 1 --triangles 200 --frames 12 --json --png film.ppm \
        --record $scene.abutm --meshes $scene
    mute err
    is "it['scene'], it['frames'], it['frames_with_intersections']" "('$scene', 12, 0)"
    is "100 < it['triangles'] < 300 and it['seconds_a_frame'] > 0 and it['rounds'] >= 1" True
    is "0 < it['thinnest_gap']" True
    demand "the film has another size" "$(wc -c <film.ppm)" -eq 2592016
    demand "there are other meshes" "$(ls $scene | wc -l)" -eq 26
done
refuses "slight" demo sheet --slight
try 0 "$tool" demo sleeve --slight --threads 1 --triangles 200 --frames 12 --json --record slight.abutm
is "it['frames'], it['frames_with_intersections']" "(12, 0)"
demand "with --slight the rod moves otherwise" "$(cmp -s slight.abutm sleeve.abutm && echo same)" = ""
for scene in twist knot pile funnel; do
    try 0 "$tool" demo $scene --threads 1 --triangles 300 --frames 8 --json --png film.ppm --record $scene.abutm
    mute err
    is "it['scene'], it['frames'], it['frames_with_intersections'], it['frames_cut']" "('$scene', 8, 0, 0)"
    is "'energy_growth' in it" "$(test $scene = pile && echo True || echo False)"
    demand "the film has another size" "$(wc -c <film.ppm)" -eq 2592016
done
prints "J when the solid stops" demo pile --threads 1 --triangles 300 --frames 4
says "growth 0 J"
# Garments on built-in figures, and what is no character.
refuses "does not apply" demo dress --bodies 3
fails "from 8000" demo dress --solid 300
refuses "waltz" demo cape --clip waltz --frames 1
fails "no-such.glb" demo dress --model no-such.glb
fails "ease is 0.5; it must be at most" demo overcoat --solid 8000 --ease 0.5 --frames 1
refuses "does not apply" demo sheet --ease 0.02
for scene in dress cape overcoat trousers-and-top; do
    try 0 "$tool" demo $scene --solid 8000 --threads 1 --triangles 500 --frames 12 --json --png film.ppm --record $scene.abutm
    mute err
    is "it['scene'], it['frames'], it['frames_with_intersections'], it['frames_cut']" "('$scene', 12, 0, 0)"
    is "it['body_late'] >= 0 and it['body_latest'] < 0.05 and it['contacts'] > 0" True
    demand "the film has another size" "$(wc -c <film.ppm)" -eq 2592016
done
try 0 "$tool" demo dress --solid 8000 --threads 1 --triangles 500 --frames 6 --method radial --json
is "0 <= it['deepest'] < 0.01 and it['frames_too_deep'] == 0 and it['impacts'] > 0" True
prints "vertices late" demo dress --solid 8000 --threads 1 --triangles 500 --frames 4 --clip gymnastics
says "none in any frame"
# A thousand lines enter a teapot: none is missed, and interpolation is better than cells.
refuses "does not apply" demo line --bodies 3
try 0 "$tool" demo line --json --png film.ppm
is "it['lines'], it['traced']['missed'], it['cells']['missed']" "(1000, 0, 0)"
is "it['traced']['mean_gap_cells'] < 0.05 < it['cells']['mean_gap_cells'] < 0.6" True
demand "the film has another size" "$(wc -c <film.ppm)" -eq 2592016
prints "1000 of 1000" demo line
# What falls: exact answers are exact, and nothing of two pixels is missed.
refuses "does not apply" demo stairs --model box.obj
refuses "resolution" demo snow --resolution 7
try 0 "$tool" demo stairs --threads 1 --bodies 20 --frames 12 --resolution 100 --compare --json --png film.ppm
mute err
is "it['bodies'], it['frames'], [way['missed'] + way['false'] for way in it['ways']][1]" "(20, 12, 0)"
is "len(it['ways']) == 9 and it['ways'][4]['missed'] <= it['ways'][3]['missed'] <= it['ways'][2]['missed'] and it['missed_ball_pixels'] <= 2 and it['ways'][0]['false'] == 0" True
demand "the film has another size" "$(wc -c <film.ppm)" -eq 2592016
# CInDeR with prevention has no pixel of a solid in itself; reductions that lose nothing give the pairs of the whole image.
is "[way.get('self_pixels_a_frame') for way in it['ways']][3:5]" "[0, 0]"
is "[it['ways'][k]['found'] == it['ways'][2]['found'] and it['ways'][k]['missed'] == it['ways'][2]['missed'] for k in (6, 7)]" "[True, True]"
is "it['ways'][7]['pixels_read_a_frame'] <= it['ways'][6]['pixels_read_a_frame'] <= it['ways'][2]['pixels_read_a_frame'] and 'between' not in it" True
refuses "does not apply" demo line --speed 10
refuses "from 0.01 to 100" demo snow --speed 1000
try 0 "$tool" demo stairs --threads 1 --bodies 40 --frames 12 --resolution 100 --speed 10 --compare --json
is "[way['found'] + way['missed'] for way in it['between']] == 3 * [it['between'][2]['found']] and it['between'][2]['missed']" 0
is "it['between'][2]['found'] > it['between'][0]['found'] >= it['between'][1]['found'] > 0" True
prints "images of both frames" demo snow --threads 1 --bodies 20 --frames 8 --resolution 100 --speed 10
"$tool" make box box.obj
for scene in snow bounce; do
    prints "images, then exact" demo $scene --threads 1 --bodies 20 --frames 8 --resolution 100 --model box.obj
done
cp sheet.abutm first.abutm
try 0 "$tool" demo sheet --threads 2 --triangles 200 --frames 12 --record sheet.abutm
demand "another run gives another recording" "$(cmp first.abutm sheet.abutm 2>&1)" = ""
try 0 "$tool" selfcheck sheet/cloth00012.ply
prints "none in any frame" demo sheet --threads 1 --triangles 200 --frames 2
if ! grep -q 'ODE_LIBRARY:FILEPATH=/' "$build/CMakeCache.txt"; then
    for scene in drop plane stack; do
        fails "libode-dev" demo $scene
    done
    finish
fi
refuses "bodies" demo drop --bodies 0
refuses "png" demo drop --png film.gif
try 0 "$tool" demo drop --bodies 9 --seconds 2.5 --json --png film.ppm
mute err
is "it['bodies'], it['out_of_place'], it['contacts_a_step'] > 1" "(9, 0, True)"
is "0 < it['sunk'] < 0.07 and it['energy_growth'] < 1e-4" True
demand "the film has another size" "$(wc -c <film.ppm)" -eq 2592016
try 0 "$tool" demo plane --json --png film.ppm
mute err
is "it['bodies'], it['out_of_place'], it['contacts_a_step'] > 0.5" "(1, 0, True)"
is "0 < it['sunk'] < 0.004 and it['energy_growth'] < 1e-3" True # 0.011 with even samples
demand "the film has another size" "$(wc -c <film.ppm)" -eq 2592016
try 0 "$tool" demo plane --bodies 3 --seconds 1 --compare --json
is "it['bodies'], it['out_of_place'], it['ode']['bodies'], it['ode']['contacts_a_step'] > 0" "(3, 0, 3, True)"

# What stands, stands: cubes, bricks and plates end at rest where they belong, a shot stays above.
try 2 "$tool" demo stack --without Neck
refuses "1 to 50" demo stack --bodies 51
refuses "does not apply" demo wall --compare
try 0 "$tool" demo stack --seconds 1.5 --json --png film.ppm
mute err
is "it['bodies'], it['out_of_place'], round(it['contacts_a_step'])" "(10, 0, 40)"
is "it['largest_tilt'] < 0.02 and it['drift'] < 0.01 and it['at_rest_from'] < 1" True
demand "the film has another size" "$(wc -c <film.ppm)" -eq 2592016
try 0 "$tool" demo wall --bodies 2 --seconds 1.2 --json
is "it['bodies'], it['out_of_place']" "(9, 0)"
is "it['largest_tilt'] < 0.02 and it['drift'] < 0.01 and it['at_rest_from'] < 1" True
try 0 "$tool" demo plates --seconds 2 --json
is "it['bodies'], it['out_of_place'], it['tilt_at_end'] < 0.02" "(4, 0, True)"
try 0 "$tool" demo shot --seconds 1 --json
is "it['out_of_place'], it['sunk'] < 1e-3" "(0, True)"
prints "1 of 1" demo shot --seconds 0.2
try 0 "$tool" demo dominoes --bodies 4 --seconds 3 --json
is "it['bodies'], it['out_of_place'], it['tilt_at_end'] > 60" "(4, 0, True)"
is "it['energy_growth'] < 1e-3 and it['sunk_at_end'] < 0.002" True
try 3 "$tool" demo dominoes --bodies 4 --seconds 0.5 --quiet
says "4"
refuses "1 to 200" demo bowl --bodies 201
try 0 "$tool" demo bowl --bodies 4 --seed 2 --seconds 3 --threads 1 --json --png film.ppm
is "it['bodies'], it['out_of_place'], it['contacts_a_step'] > 5" "(4, 0, True)"
is "it['energy_growth'] < 1e-3 and it['sunk_at_end'] < 0.002" True
finish
