# abut demo drop: a few bodies, and what must hold for any number of them.
. "$(dirname "$0")/support.sh"

try 2 "$tool" demo rise
complains "drop"
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
