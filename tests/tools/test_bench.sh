# abut bench: structure of what it prints, choice of cases, wrong usage. Nothing here depends on
# speed.
. "$(dirname "$0")/support.sh"
mkdir temporary
TMPDIR=$scratch/temporary
export TMPDIR

# The list.
prints "nearest/uniform-teapot" bench --list
cp out list
try 0 "$tool" bench --list --json
is "len(it['cases']) >= 50 and all(set(c) == {'case', 'unit', 'brief'} for c in it['cases'])" True
is "5 <= sum(c['brief'] for c in it['cases']) <= 20" True
try 0 "$tool" bench geom --list --json
is "all(c['case'].startswith('geom/') for c in it['cases']) and len(it['cases']) >= 5" True

# The brief ones by themselves, each case with the answer of the benchmark program.
try 0 "$tool" bench --quick --json
mute err
is "{c['repeats'] for c in it['cases']} <= {1, 2}" True
is "all(c['minimum_ms'] <= c['median_ms'] and c['elements_per_s'] > 0 for c in it['cases'])" True
is "len({(c['case'], c['hash']) for c in it['cases']}) == len({c['case'] for c in it['cases']})" True
is "[it['quick'], 'cpu' in it, 'commit' in it, 'compiler' in it]" "[True, True, True, True]"
demand "the answers are not known ones" \
    "$(value "[c['hash'] for c in it['cases'] if c['case'] == 'pair/distance-teapot'][0]")" = \
    "$(sed -n 's/^pair\/distance-teapot //p' "$source/tests/bench/golden.txt")"
demand "temporary files were left" "$(ls temporary)" = ""
prints "bvh/build-teapot" bench --quick
says "median ms"

# A part of a name, threads, repeats.
try 0 "$tool" bench bvh/build --quick --threads 3 --repeat 4 --json
is "{(c['threads'], c['repeats']) for c in it['cases']}" "{(3, 4)}"
is "[c['case'] for c in it['cases']]" \
    "['bvh/build-sphere', 'bvh/build-torus', 'bvh/build-teapot']"

# Devices: the CPU path has nothing to do for them; without OpenCL they are skipped.
ABUT_OPENCL_LIBRARY=off
export ABUT_OPENCL_LIBRARY
refuses "no case has 'device/scan'" bench device/scan --quick --device cpu
prints "device/scan: skipped: no OpenCL device" bench device/scan --quick
try 0 "$tool" bench device/scan --quick --json
is "[c['case'] for c in it['cases'] if 'no OpenCL device' in c['skipped']]" "['device/scan']"
try 1 "$tool" bench device/scan --quick --device gpu --json
is "'no OpenCL device' in it['error']['message']" True

# Wrong usage.
refuses "no case has 'no-such-case' in its name" bench no-such-case
refuses "unexpected argument 'two'" bench one two
try 2 "$tool" bench --repeat 0
refuses "--repeat must be a whole number from 1 to 1000 runs, not '1001'" bench --repeat 1001 --quick
TMPDIR=$scratch/nowhere
fails "nowhere" bench --quick
finish
