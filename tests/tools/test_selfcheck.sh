# abut selfcheck: sound and unsound meshes, the table, the picture, the exit code; and the same in
# abut info.
. "$(dirname "$0")/support.sh"

"$tool" make box box.obj --quiet || exit 1
cat >cross.obj <<'END'
v 0 0 0
v 4 0 0
v 0 4 0
v 1 1 -1
v 1 1 1
v 2 1 1
f 1 2 3
f 4 5 6
END
try 0 "$tool" selfcheck box.obj
mute err
says "no intersecting pairs of triangles"
try 0 "$tool" selfcheck box.obj --json
is "[it[k] for k in ('mesh', 'triangles', 'complete', 'self_intersecting', 'pairs', 'first')]" \
    "['box.obj', 768, True, False, 0, []]"

try 3 "$tool" selfcheck cross.obj
says "1 intersecting pair of triangles"
says "segment"
try 3 "$tool" selfcheck cross.obj --json
is "it['pairs']" 1
is "it['self_intersecting']" True
is "it['first'][0]" "{'triangle_a': 0, 'triangle_b': 1, 'intersection': 'segment', 'from': [1.5, 1, 0], 'to': [1, 1, 0]}"
try 3 "$tool" selfcheck cross.obj --out pairs.csv --quiet
demand "the table has no row" "$(sed -n 2p pairs.csv | cut -d, -f1-3)" = "0,1,segment"
demand "the table is long" "$(wc -l <pairs.csv)" -eq 2

# Seams: by place they are none, by number they are.
cat >seam.obj <<'END'
v 0 0 0
v 1 0 0
v 0 1 0
v 1 0 0
v 1 1 0
v 0 1 0
f 1 2 3
f 4 5 6
END
try 0 "$tool" selfcheck seam.obj
try 3 "$tool" selfcheck seam.obj --by-index
says "1 intersecting pair"

# The picture, also of nothing to mark; and refused before any work.
for kind in png ppm; do
    [ $kind = ppm ] || "$tool" version | grep -q 'pictures as .png' || continue
    try 3 "$tool" selfcheck cross.obj --png it.$kind --view top
    demand "no picture" -s it.$kind
done
refuses "must end in .png or .ppm" selfcheck cross.obj --png it.gif
try 2 "$tool" selfcheck cross.obj --png it.ppm --view nowhere
try 1 "$tool" selfcheck missing.obj
try 2 "$tool" selfcheck

# More to look at than the limit allows.
awk 'BEGIN { for (i = 0; i < 1500; i++) print "v 0 0 0\nv 1 0 0\nv 0 1 0";
    for (i = 0; i < 1500; i++) print "f", 3 * i + 1, 3 * i + 2, 3 * i + 3 }' >heap.obj
try 3 "$tool" selfcheck heap.obj --limit 1
says "stopped (see --limit) after 6"
try 3 "$tool" selfcheck heap.obj --limit 1 --json
is "[it['complete'], it['self_intersecting'], it['first']]" "[False, True, []]"
try 3 "$tool" selfcheck heap.obj --json --first 2
is "[it['complete'], it['pairs'], len(it['first'])]" "[True, 1124250, 2]"

# In the health report.
try 3 "$tool" info cross.obj --strict --json
is "it['files'][0]['self_pairs']" 1
is "[p['first'] for p in it['files'][0]['problems'] if p['problem'] == 'self-intersection']" \
    "[[0, 1]]"
prints "without self-intersections" info box.obj --strict
prints "if the surface does not intersect itself" info box.obj --no-self
finish
