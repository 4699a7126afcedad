# abut overlap and abut distance: known answers on boxes, all ways to give poses, and wrong input.
. "$(dirname "$0")/support.sh"

"$tool" make box box.obj --size 2,2,2 --segments 1 --quiet || exit 1
"$tool" make icosphere ball.ply --radius 0.25 --quiet || exit 1

# One pose, in all its spellings.
try 0 "$tool" overlap box.obj box.obj --pose 3,0,0
mute err
says "overlap   no"
try 3 "$tool" overlap box.obj box.obj --pose 2,0,0 --json
is "[it[k] for k in ('a', 'b', 'overlap', 'relation')]" "['box.obj', 'box.obj', True, 'intersecting']"
try 0 "$tool" overlap box.obj box.obj --pose 2.3,0,0 --json
is "[it['overlap'], it['relation']]" "[False, 'apart']"
try 3 "$tool" overlap box.obj box.obj --pose 2.3,0,0@z,45 --json
is "it['overlap']" True
try 3 "$tool" overlap box.obj box.obj --pose 2.3,0,0,0,0,0.3826834323650898,0.9238795325112867 --json
is "it['overlap']" True
try 0 "$tool" overlap box.obj box.obj --pose 2.3,0,0@z,90@1,1,0,180 --json
is "it['overlap']" False
try 0 "$tool" overlap box.obj box.obj --pose-a -1,0,0 --pose 1.5,0,0 --json
is "it['overlap']" False

# A body inside another touches it, unless surfaces alone are meant.
try 3 "$tool" overlap box.obj ball.ply --json
is "[it['overlap'], it['relation']]" "[True, 'b-inside']"
try 3 "$tool" overlap ball.ply box.obj --json
is "it['relation']" a-inside
try 0 "$tool" overlap box.obj ball.ply --surfaces --json
is "it['overlap']" False
try 0 "$tool" distance box.obj ball.ply --json
is "[it['distance'], it['relation'], it['closest_a']['triangle']]" "[0, 'b-inside', None]"
try 0 "$tool" distance box.obj ball.ply --surfaces --json
is "0.74 < it['distance'] < 0.76" True

# What the meshes do not allow is said, in one line and in the object; the exit code stays.
awk '/^f/ && ++n % 2 { print $1, $2, $4, $3; next } { print }' box.obj >flipped.obj
"$tool" make box fine.obj --size 2,2,2 --segments 8 --quiet || exit 1
awk '/^f/ && ++n == 1 { next } { print }' fine.obj >open.obj
awk '/^f/ { print $1, $2, $4, $3; next } { print }' box.obj >inward.obj
fails "abut overlap: unreliable: Neighbouring triangles of mesh a face opposite ways" overlap flipped.obj ball.ply
try 3 "$tool" overlap ball.ply open.obj --json
is "[it['relation'], it['reliability'], it['reason'][:20]]" "['a-inside', 'limited', 'Mesh b is not closed']"
try 3 "$tool" overlap inward.obj ball.ply
mute err
says "yes: B, or a component of it, is inside A"
try 0 "$tool" overlap flipped.obj ball.ply --surfaces
mute err
try 3 "$tool" overlap flipped.obj box.obj --pose 1,0,0 # surfaces meet
mute err
try 0 "$tool" distance flipped.obj ball.ply --json
is "it['reliability']" unreliable
for words in overlap "distance --margin 0.1"; do # neither yes nor no, and && does not go on
    # shellcheck disable=SC2086 # words are meant to be split
    try 1 "$tool" $words flipped.obj ball.ply --quiet
    demand "'$last' says '$(cat out)'" "$(cat out)" = unknown
done
try 0 "$tool" overlap flipped.obj ball.ply --pose 9,0,0 --quiet # certainly apart
try 1 "$tool" contacts flipped.obj ball.ply
fails "abut distance: unreliable: " distance flipped.obj ball.ply --margin 0.1
printf '5 0 0\n0 0 0\n' >two.txt
try 1 "$tool" overlap flipped.obj ball.ply --poses two.txt --json
is "[it['reliability'], len(it['answers'])]" "['unreliable', 2]"
try 0 "$tool" distance flipped.obj ball.ply --poses two.txt --json
is "it['reliability']" unreliable
try 0 "$tool" inside flipped.obj --random 10
complains "abut inside: unreliable: "
try 0 "$tool" inside open.obj --random 10 --json
is "[it['closed'], it['reliability']]" "[False, 'limited']"
try 0 "$tool" inside inward.obj --random 10 --json
is "it['reliability']" guaranteed
for sign in winding normal; do
    try 0 "$tool" nearest box.obj --random 10 --sign $sign --json
    is "it['reliability']" $([ $sign = winding ] && echo guaranteed || echo limited)
done
try 0 "$tool" nearest inward.obj --random 10 --sign winding
mute err
try 0 "$tool" nearest flipped.obj --random 10 --sign winding
complains "abut nearest: unreliable: Neighbouring triangles face opposite ways"
try 0 "$tool" nearest flipped.obj --random 10 --sign winding --quiet
mute err
try 0 "$tool" nearest open.obj --random 10 --sign winding --json
is "[it['reliability'], it['reason'][:30]]" "['limited', 'The surface has boundary edges']"
try 0 "$tool" nearest flipped.obj --random 10 --json # without signs nothing is in doubt
is "'reliability' in it" False
# Reports say what answers do.
try 0 "$tool" info inward.obj open.obj flipped.obj --json
is "[[a['level'] for a in f['reliability'] if a['method'] in ('winding', 'containment')] for f in it['files']]" \
    "[['guaranteed', 'guaranteed'], ['limited', 'limited'], ['unreliable', 'unreliable']]"
# A scanned room, five walls of a box, is a sheet: what stands in it is apart, and that is said.
awk '/^f/ && ++n <= 2 { next } { print }' box.obj >room.obj
prints "overlap   no" overlap room.obj ball.ply
complains "abut overlap: guaranteed: Exact. Mesh a is a sheet"
try 0 "$tool" overlap ball.ply room.obj --json
is "[it['overlap'], it['relation'], it['reliability'], it['reason'][7:24]]" "[False, 'apart', 'guaranteed', 'Mesh b is a sheet']"
try 0 "$tool" overlap room.obj ball.ply --quiet
mute err
demand "the bare answer is '$(cat out)'" "$(cat out)" = no
try 0 "$tool" distance room.obj ball.ply --json
is "[0.74 < it['distance'] < 0.76, it['relation'], it['reliability']]" "[True, 'apart', 'guaranteed']"
prints "within   no" distance room.obj ball.ply --margin 0.5
complains "abut distance: guaranteed: Exact. Mesh a is a sheet"
try 0 "$tool" overlap room.obj ball.ply --poses two.txt --json
is "[it['overlapping'], it['reliability']]" "[0, 'guaranteed']"
try 1 "$tool" overlap room.obj ball.ply --volume --json
is "[it['kind'], it['reliability']]" "['apart', 'unreliable']"
try 3 "$tool" overlap room.obj ball.ply --pose 1,0,0 # through a wall
mute err
try 0 "$tool" contacts room.obj ball.ply
prints "a sheet, without an interior" info room.obj
try 0 "$tool" info room.obj open.obj box.obj --json
is "[[a['level'] for a in f['reliability'] if a['method'] == 'containment'][0] for f in it['files']]" \
    "['limited', 'limited', 'guaranteed']"
is "[round(f['hole_fraction'], 2) for f in it['files']]" "[0.25, 0.0, 0]"
is "'A sheet' in str(it['files'][0]['reliability']) and 'A sheet' not in str(it['files'][1]['reliability'])" True
try 3 "$tool" contacts box.obj open.obj --pose 1.9,0,0 --cells 16 --json
is "it['reliability']" limited
try 3 "$tool" contacts box.obj box.obj --pose 1.9,0,0 --cells 16 --json
is "it['reliability']" guaranteed

# Distances.
prints "distance    3" distance box.obj box.obj --pose 5,0,0
says "apart"
try 0 "$tool" distance box.obj box.obj --pose 5,6,7 --json
is "it['distance']" 7.0710678118654755
is "[it['closest_a']['point'], it['closest_b']['point']]" "[[1, 1, 1], [4, 5, 6]]"
is "it['closest_a']['feature'][:6]" vertex
try 0 "$tool" distance box.obj box.obj --pose 5,0,0 --quiet
demand "not the bare distance" "$(cat out)" = 3
try 3 "$tool" distance box.obj box.obj --pose 5,0,0 --margin 3 --json
is "[it['margin'], it['within']]" "[3, True]"
prints "within   no" distance box.obj box.obj --pose 5,0,0 --margin 2.9999

# Pairs of triangles.
try 3 "$tool" overlap box.obj box.obj --pose 1.5,0.25,0.5 --pairs
says "triangle_a,triangle_b,intersection,x,y,z,to_x,to_y,to_z"
says ",segment,"
lines=$(wc -l <out)
try 3 "$tool" overlap box.obj box.obj --pose 1.5,0.25,0.5 --pairs --json
is "it['pairs'] == len(it['meetings']) == $lines - 1" True
is "len(it['meetings'][0]['from'])" 3
try 3 "$tool" overlap box.obj box.obj --pose 1.5,0.25,0.5 --pairs --out pairs.csv
says "pairs"
demand "the table differs" "$(wc -l <pairs.csv)" -eq "$lines"

# What both have in common.
try 3 "$tool" overlap box.obj box.obj --pose 1.5,0.25,0.5 --volume
says "kind          overlap"
says "volume        "
try 3 "$tool" overlap box.obj box.obj --pose 1.5,0.25,0.5 --volume --json
is "[it['kind'], round(it['volume'], 12), round(it['area'], 12)]" "['overlap', 1.3125, 8.5]"
is "[round(x, 12) for x in it['centroid']]" "[0.75, 0.125, 0.25]"
is "[round(x, 12) for x in it['hi']]" "[1, 1, 1]"
is "it['reliability']" guaranteed
try 3 "$tool" overlap box.obj box.obj --pose 2,0,0@z,90 --volume --json
is "[it['kind'], it['volume'], round(it['flush_area'], 12)]" "['touch', 0, 4.0]"
try 3 "$tool" overlap ball.ply box.obj --volume --json
is "it['kind']" a-inside
prints "kind          apart" overlap box.obj box.obj --pose 5,0,0 --volume
try 3 "$tool" overlap box.obj box.obj --pose 1,0,0 --volume --quiet
demand "not the bare volume" "$(cat out)" = 4
try 3 "$tool" overlap ball.ply open.obj --volume
complains "unreliable: Mesh b has boundary edges"
demand "more than the kind is printed" "$(wc -l <out)" -eq 1
try 3 "$tool" overlap ball.ply open.obj --volume --json
is "[it[k] for k in ('volume', 'flush_area', 'centroid', 'hi', 'reliability')]" "[None, None, None, None, 'unreliable']"
try 3 "$tool" overlap ball.ply open.obj --volume --quiet
demand "not unknown" "$(cat out)" = unknown
try 3 "$tool" overlap box.obj box.obj --pose 1.5,0.25,0.5 --volume --png common.ppm --json
is "[it['kind'], it['picture']]" "['overlap', 'common.ppm']"
demand "no picture" "$(head -c 2 common.ppm)" = P6

# Many poses, on any number of threads.
cat >poses.csv <<'END'
x,y,z,qx,qy,qz,qw
# beside, touching, turned
5 0 0
2;0;0
2.3,0,0,0,0,0.3826834323650898,0.9238795325112867
END
try 3 "$tool" overlap box.obj box.obj --poses poses.csv
says "0,false,apart"
says "1,true,intersecting"
says "2,true,intersecting"
try 3 "$tool" overlap box.obj box.obj --poses poses.csv --volume
says "0,apart,0,0,0,"
says "1,touch,0,0,4,"
says "2,overlap,"
echo 0 0 0 >here.csv
try 3 "$tool" overlap ball.ply open.obj --poses here.csv --volume
demand "something is measured" "$(tail -n 1 out | sed 's/[^,]*,[^,]*//')" = ",,,,,,"
try 3 "$tool" overlap box.obj box.obj --poses poses.csv --volume --json
is "[it['poses'], it['overlapping'], it['answers'][1]['kind']]" "[3, 2, 'touch']"
try 0 "$tool" overlap box.obj box.obj --poses poses.csv --pose-a 0,0,9 --json
is "[it['poses'], it['overlapping'], len(it['answers'])]" "[3, 0, 3]"
try 0 "$tool" distance box.obj box.obj --poses poses.csv --threads 1
cp out one
says "0,3,apart,1,"
says "1,0,intersecting,"
try 0 "$tool" distance box.obj box.obj --poses poses.csv --threads 3
demand "threads change the answer" "$(cmp one out 2>&1)" = ""
try 0 "$tool" distance box.obj box.obj --poses poses.csv --json
is "[it['poses'], it['touching'], it['answers'][0]['distance']]" "[3, 2, 3]"
try 3 "$tool" distance box.obj box.obj --poses poses.csv --margin 2 --out table.csv
says "within"
demand "the table is short" "$(wc -l <table.csv)" -eq 4

# Pictures.
prints "apart.ppm" distance box.obj ball.ply --pose 3,0,0 --png apart.ppm
demand "no picture" "$(head -c 2 apart.ppm)" = P6
try 3 "$tool" overlap box.obj ball.ply --pose 1,0,0 --png meeting.ppm --view front --up y --json
is "it['picture']" meeting.ppm

# Wrong input.
try 2 "$tool" overlap box.obj
refuses "--pose must be" overlap box.obj box.obj --pose 1,2
try 2 "$tool" overlap box.obj box.obj --pose 1,2,3@q,9
try 2 "$tool" overlap box.obj box.obj --pose 1,2,3,0,0,0,0
try 2 "$tool" overlap box.obj box.obj --pose ""
refuses "--pose-a must be" overlap box.obj box.obj --pose-a nan,0,0
try 2 "$tool" overlap box.obj box.obj --pose 1,0,0 --poses poses.csv
try 2 "$tool" overlap box.obj box.obj --poses poses.csv --pairs
try 2 "$tool" overlap box.obj box.obj --out x.csv
refuses "--volume cannot be combined with" overlap box.obj box.obj --volume --pairs
try 2 "$tool" distance box.obj box.obj --out x.csv
try 2 "$tool" distance box.obj box.obj --margin -1
refuses "must end in .png or .ppm" distance box.obj box.obj --png x.jpg
refuses "require --png" distance box.obj box.obj --view front
fails "missing.obj: " overlap box.obj missing.obj
fails "missing.csv: cannot be opened" overlap box.obj box.obj --poses missing.csv
printf '1,2,3\n1,2\n' >short.csv
fails "short.csv:2: a pose is three numbers" overlap box.obj box.obj --poses short.csv
printf '1,2,inf\n' >odd.csv
try 1 "$tool" overlap box.obj box.obj --poses odd.csv
: >empty.csv
try 1 "$tool" distance box.obj box.obj --poses empty.csv --json
is "it['error']['kind']" "format error"
fails "coordinates must be at most" distance box.obj box.obj --pose 1e95,0,0
try 1 "$tool" distance box.obj box.obj --poses poses.csv --out missing/table.csv
# Millimetres beside metres, where that may be why nothing touches.
"$tool" convert box.obj mm.obj --scale 1000 --translate 0,0,5000 --quiet
try 0 "$tool" overlap box.obj mm.obj
complains "mm.obj is 1000 times as large as box.obj: are both in the same unit?"
try 0 "$tool" distance mm.obj box.obj
complains "mm.obj is 1000 times as large as box.obj: are both in the same unit?"
try 0 "$tool" distance mm.obj box.obj --quiet
mute err
try 3 "$tool" overlap box.obj mm.obj --pose 0,0,-5000
mute err
# Far from the origin positions are printed as precisely as near it.
"$tool" convert box.obj far.obj --translate 100000000.25,0.25,0 --quiet
prints "closest a   100000001.25, " distance far.obj far.obj --pose 3,0,0
prints "bounds     99999999.25, -0.75, -1 to 100000001.25, 1.25, 1" info far.obj
finish
