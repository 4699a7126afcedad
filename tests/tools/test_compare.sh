# abut compare: every method on scenes with known pairs, misses, primitives, characters, wrong input.
. "$(dirname "$0")/support.sh"

"$tool" make box cube.obj --size 1 --segments 8 --quiet || exit 1
"$tool" make icosphere ball.obj --radius 0.5 --quiet || exit 1
"$tool" convert cube.obj right.obj --translate 0.75,0.125,0.25 --quiet || exit 1
"$tool" convert cube.obj far.obj --translate 9,0,0 --quiet || exit 1
"$tool" convert cube.obj near.obj --translate 1.01,0,0 --quiet || exit 1

row() { # METHOD: the row of a method
    echo "next(m for m in it['methods'] if m['method'] == '$1')"
}

# Two closed bodies: every method finds the pair, and the exact depth is that of the overlap.
try 0 "$tool" compare cube.obj right.obj far.obj --json
is "[it['bodies'], it['touching'], [m['method'] for m in it['methods']]]" \
    "[3, 1, ['exact', 'field', 'map', 'layers', 'radial', 'auto']]"
is "[$(row radial)[k] for k in ('bound', 'guarantee')]" "[None, None]"
is "[[m[k] for k in ('pairs', 'found', 'missed', 'false')] for m in it['methods']]" \
    "[[1, 1, 0, 0], [1, 1, 0, 0], [1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 0, 0], [1, 1, 0, 0]]"
is "[(p['a'], p['b']) for p in it['pairs']]" "[('cube.obj', 'right.obj')]"
is "abs(it['pairs'][0]['exact'] - 0.25) < 1e-9 and it['pairs'][0]['auto'] == it['pairs'][0]['exact']" True
is "[$(row exact)['max_difference'], $(row exact)['guarantee'], $(row field)['guarantee']]" "[0, 'complete', 'sampled']"
is "$(row map)['max_difference'] <= $(row map)['bound']" True
is "all(m['bytes'] > 1000 and m['first_ms'] > 0 and m['step_ms'] > 0 for m in it['methods'] if m['pairs'])" True

# Bodies that do not touch have a candidate pair at most, and no row of pairs.
try 0 "$tool" compare cube.obj near.obj --json
is "[it['touching'], it['pairs'], [m['found'] for m in it['methods']]]" "[0, [], [0, 0, 0, 0, 0, 0]]"
prints 0 compare cube.obj far.obj --quiet

# Two balls whose vertices overlap by 1e-5, far less than a cell: fields miss it, and the exit code says so.
cat >scene.json <<'END'
{"meshes": {"cube": {"file": "cube.obj"}, "ball": {"file": "ball.obj"}},
 "bodies": [{"name": "ball", "mesh": "ball"},
            {"name": "second", "mesh": "ball", "position": [0, 0.525725855, 0.850642002]},
            {"name": "ground", "mesh": {"shape": "sheet", "size": [9, 9, 0]}, "solid": true, "position": [0, 0, -0.45]},
            {"name": "cube", "mesh": "cube", "position": [0.875, 0, 0]},
            {"name": "other", "mesh": "cube", "position": [1, 0, 0]}],
 "ignore": [["cube", "other"]]}
END
try 3 "$tool" compare scene.json --json
is "it['touching'], $(row field)['missed'], $(row map)['missed'], $(row auto)['missed']" "(6, 1, 0, 0)"
is "[(p['a'], p['b'], p['field']) for p in it['pairs'][:1]][0]" "('ball', 'second', None)"
is "[p for p in it['pairs'] if (p['a'], p['b']) == ('cube', 'other')]" "[]"
is "['field' in p for p in it['pairs'] if 'ground' in (p['a'], p['b'])]" "[False, False, False]"
case $("$tool" version) in
*"pictures as .png"*) picture="--png scene.png" ;;
*) picture="--png scene.ppm" ;;
esac
try 3 "$tool" compare scene.json --first 1 $picture
says "no contact"
says "more; --first N prints N"
demand "no picture" -s "${picture#--png }"

# A character: its radial fields and, in thorough runs, its mesh beside them. Each method creates it again, which takes a
# second.
cat >figure.json <<'END'
{"bodies": [{"name": "figure", "mesh": {"figure": "mannequin", "clip": "walk", "time": 0.3}},
            {"name": "box", "mesh": {"shape": "box", "size": 1, "segments": 1}, "position": [0.1, 0.2, 0.4]}]}
END
try 3 "$tool" contacts figure.json --json
is "[(p['a'], p['b'], p['method']) for p in it['pairs']]" "[('figure', 'box', 'radial')]"
if [ "${ABUT_TEST_THOROUGH:-}" ]; then
    try 0 "$tool" compare figure.json --json
    is "[$(row radial)[k] for k in ('pairs', 'found')], $(row auto)['pairs']" "([1, 1], 1)"
    is "$(row radial)['max_difference'] < 0.03" True
fi

# Pictures have the up axis of the scene, those of all commands that draw scenes. (The legend of compare, at the bottom, has times.)
cat >plain.json <<'END'
{"bodies": [{"name": "box", "mesh": {"shape": "box", "size": [1, 2, 3], "segments": 1}},
            {"name": "ball", "mesh": {"shape": "icosphere", "segments": 3}, "position": [1, 1, 1]}]}
END
sed 's/^{/{"up": "y", /' plain.json >upright.json
for command in compare contacts interfere "simulate --frames 1"; do
    "$tool" $command plain.json --png plain.ppm --quiet >/dev/null
    "$tool" $command plain.json --png turned.ppm --up y --quiet >/dev/null
    "$tool" $command upright.json --png upright.ppm --quiet >/dev/null
    demand "$command: no picture" -s plain.ppm
    demand "$command draws another picture with another up axis" "$(cmp -n 999999 turned.ppm upright.ppm 2>&1)" = ""
    demand "$command ignores the up axis" "$(cmp -n 999999 plain.ppm upright.ppm 2>&1)" != ""
    rm plain.ppm turned.ppm upright.ppm
done

refuses "standard input" compare -
refuses "at least 2 are needed" compare cube.obj
refuses "from 1 to 8" compare cube.obj right.obj --most 9
fails "cannot be opened" compare missing.obj cube.obj
finish
