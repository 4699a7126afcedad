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
try 0 "$tool" samples box.obj --cells 80 --json
is "[it[k] for k in ('samples', 'vertices', 'edges', 'faces', 'even')]" "[542, 56, 480, 6, 0]"
try 0 "$tool" samples box.obj --cells 80
mute err
says "x,y,z,nx,ny,nz,kind,element,part"
demand "not a line for each" "$(wc -l <out)" -eq 543
try 0 "$tool" samples ball.obj --count 77 --out even.csv
says "77"
demand "not a line for each" "$(wc -l <even.csv)" -eq 78
try 0 "$tool" samples ball.obj --limit 20 --json
is "it['samples']" 20
try 0 "$tool" samples box.obj --png samples.ppm
says "samples.ppm"
demand "no picture" "$(head -c 2 samples.ppm)" = P6
try 2 "$tool" samples box.obj --cells 64 --cell 0.1
complains "one of them"
try 2 "$tool" samples box.obj --count 5 --radius 0.1
complains "one of them"
try 2 "$tool" samples box.obj --cells 4
complains "at least 5"
try 2 "$tool" samples box.obj --view top
complains "belong to --png"
try 1 "$tool" samples box.obj --cell 1e-12
complains "too many"

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
try 3 "$tool" contacts ball.obj slab.obj --pose 0,0,50 --to 0,0,-150,0,0,0,2 --cells 32 --json
is "abs(it['time'] - 0.24) < 1e-3" True
try 0 "$tool" contacts ball.obj slab.obj --pose 0,0,50 --to 0,0,10 --cells 32
says "never"
try 3 "$tool" contacts ball.obj slab.obj --pose-a 0,0,1.95 --cells 32 --png contacts.ppm --out c.npy
says "contacts.ppm"
demand "no picture" "$(head -c 2 contacts.ppm)" = P6
demand "no table" "$(head -c 6 c.npy | tail -c 5)" = NUMPY
try 2 "$tool" contacts ball.obj slab.obj --margin -1
complains "--margin"
try 2 "$tool" contacts ball.obj slab.obj --to nowhere
complains "--to needs"
try 2 "$tool" contacts ball.obj slab.obj --to 0,0,1 --most 2
complains "asks for a time"
try 1 "$tool" contacts ball.obj slab.obj --cells 1
complains "at least 2"
try 1 "$tool" contacts ball.obj missing.obj
complains "missing.obj"
finish
