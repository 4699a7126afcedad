# abut map, clearance, deviation and thickness: known answers on boxes and balls, files, frames, and
# wrong input.
. "$(dirname "$0")/support.sh"

"$tool" make box box.obj --size 2,2,2 --segments 2 --quiet || exit 1
"$tool" make icosphere ball.ply --radius 0.25 --segments 4 --quiet || exit 1
"$tool" make sheet sheet.obj --size 2,2 --segments 2 --rings 2 --quiet || exit 1
awk '/^f/ {print $1, $3, $2, $4; next} {print}' box.obj >flipped.obj
can=$("$tool" version)
png=png
case $can in *"pictures as .png"*) ;; *) png=ppm ;; esac
small="--resolution 64"

# ---- map ----

# The face that looks at the other box is 1 away everywhere, the one behind it 3.
try 0 "$tool" map box.obj box.obj --pose 3,0,0 $small --within 1.001 --json
mute err
is "[it['a'], it['others'][0]['file'], it['resolution'], it['signed']]" "['box.obj', 'box.obj', 64, True]"
is "[it['least']['distance'], it['greatest']['distance'] > 2.99, it['least']['other_point'][0]]" "[1, True, 2]"
is "abs(it['within_area'] - 4) < 0.05 and abs(it['area'] - 24) < 1e-9" True
is "abs(sum(it['histogram']['areas']) - it['area']) < 1e-9" True
is "it['least']['error'] > 0 and it['used'] > 0.8 and it['samples'] < 4096" True
is "[q[0] for q in it['quantiles']]" "[0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99]"
is "it['quantiles'] == sorted(it['quantiles'])" True
try 0 "$tool" map box.obj box.obj --pose 3,1,0.5@z,45 $small --exact --json
is "[it['least']['error'], it['least']['distance']]" "[0, $("$tool" distance box.obj box.obj --pose 3,1,0.5@z,45 --quiet)]"
try 0 "$tool" map box.obj box.obj --pose 3,0,0 $small --quiet
says 1
prints "least       1 " map box.obj box.obj --pose 3,0,0 $small
says "1 to 1.2 "

# Several bodies: the nearest counts, and is named.
"$tool" convert ball.ply above.ply --translate 0,0,1.5 --quiet || exit 1
"$tool" convert box.obj right.obj --translate 4,0,0 --quiet || exit 1
try 0 "$tool" map box.obj right.obj above.ply $small --json
is "[it['least']['other'], 0.25 <= it['least']['distance'] < 0.28]" "['above.ply', True]"

# Inside, the same, open, flipped.
try 0 "$tool" map ball.ply box.obj $small --json
is "it['greatest']['distance'] < -0.74 and abs(it['inside'] - it['area']) < 1e-12" True
try 0 "$tool" map ball.ply box.obj $small --unsigned --json
is "it['least']['distance'] > 0.74 and it['signed'] is False and 'inside' not in it" True
try 0 "$tool" map box.obj box.obj $small --json
is "abs(it['least']['distance']) < 1e-12 and abs(it['greatest']['distance']) < 1e-12" True
prints "inside      0, 0%" map box.obj box.obj $small
try 0 "$tool" deviation box.obj box.obj --signed $small --json
is "[[1e-6 < w['histogram']['to'] < 1e-5, abs(sum(w['histogram']['areas']) - 24) < 1e-9] for w in it['ways']]" "[[True, True], [True, True]]"
# Boxes that stand flush have only rounding in common.
try 0 "$tool" map box.obj box.obj --pose 2,0,0 $small --json
is "[abs(it['least']['distance']) < 1e-12, it['inside'], abs(it['mean'] - 1) < 0.05]" "[True, 0, True]"
try 0 "$tool" map box.obj box.obj --pose 0.1,0,0 $small --json
is "it['inside'] > 3.5" True
awk '/^f/ && ++n % 2 {print $1, $3, $2, $4; next} {print}' box.obj >both.obj
try 0 "$tool" map ball.ply both.obj $small
complains "both.obj: has neighbours that face opposite ways and therefore no interior"
try 0 "$tool" map ball.ply sheet.obj $small
complains "sheet.obj: has boundary edges and therefore no interior"
try 0 "$tool" map ball.ply sheet.obj $small --json
is "[it['signed'], it['least']['distance'] >= 0]" "[False, True]"
try 0 "$tool" map ball.ply sheet.obj $small --signed --json
mute err
is "it['signed']" True
try 0 "$tool" map ball.ply flipped.obj $small --json
is "it['greatest']['distance'] < -0.74" True

# A limit: what is beyond is not found.
try 0 "$tool" map box.obj box.obj --pose 3,0,0 $small --max 1.5 --json
is "it['not_found'] > 10 and it['greatest']['distance'] <= 1.5" True
try 0 "$tool" map box.obj box.obj --pose 30,0,0 $small --max 1.5 --json
is "[it['least'], it['histogram'], abs(it['not_found'] - 24) < 1e-9]" "[None, None, True]"
try 0 "$tool" map box.obj box.obj --pose 30,0,0 $small --max 1.5 --quiet
says none
prints "nothing found" map box.obj box.obj --pose 30,0,0 $small --max 1.5 --png none.$png

# Files: a row for each sample, a surface that is still the same, pictures.
try 0 "$tool" map box.obj ball.ply --pose 3,0,0 $small --out rows.csv --out rows.npy --out box.ply --png box.$png --images atlas --json
is "[list(f.values())[0] for f in it['files']]" "['rows.csv', 'rows.npy', 'box.ply', 'box.$png']"
samples=$(value "it['samples']")
demand "rows.csv has not a row for each sample" "$(wc -l <rows.csv)" -eq $((samples + 1))
demand "the head of rows.csv" "$(head -1 rows.csv)" = "x,y,triangle,px,py,pz,distance,vx,vy,vz,other,other_triangle,feature"
for image in distance voronoi gradient; do
    demand "there is no atlas-$image.$png" -s atlas-$image.$png
done
try 0 "$tool" info box.ply --json
is "[it['files'][0]['closed'], abs(it['files'][0]['volume'] - 8) < 1e-9, it['files'][0]['triangles'] > 2000]" "[True, True, True]"
demand "box.ply has no distances" "$(head -c 400 box.ply | grep -ac 'property float distance')" -eq 1
prints "picture" map box.obj ball.ply --pose 3,0,0 $small --show voronoi --out voronoi.$png
demand "colours of features and of distances are the same" "$(cmp voronoi.$png box.$png | wc -l)" -eq 1

# Rows on standard output; what is said goes elsewhere.
try 0 "$tool" map box.obj ball.ply --pose 3,0,0 $small --out -
demand "rows on standard output are others than in a file" "$(cmp out rows.csv 2>&1 | wc -l)" -eq 0
complains "least"
# A surface has the same colours from both sides, up to rounding.
mkdir turned
awk '/^f/ {print $1, $3, $2, $4; next} {print}' sheet.obj >turned/sheet.obj
try 0 "$tool" map sheet.obj ball.ply --pose 0,0,3 $small --png front.ppm --quiet
try 0 "$tool" map turned/sheet.obj ball.ply --pose 0,0,3 $small --png back.ppm --json
is "sum(abs(a - b) > 40 for a, b in zip(open('front.ppm', 'rb').read(), open('back.ppm', 'rb').read())) < 20000" True

# Wrong input.
refuses "name A and B" map box.obj
for wrong in 0 nan -1 inf x; do
    try 2 "$tool" map box.obj box.obj --max $wrong
    try 2 "$tool" clearance box.obj box.obj --below $wrong
    try 2 "$tool" deviation box.obj box.obj --tolerance $wrong
done
try 2 "$tool" map box.obj box.obj --resolution 0
refuses "from 1 to 16384" map box.obj box.obj --resolution 16385
# The texture coordinates of A are the layout.
corners='v 0 0 0
v 4 0 0
v 4 4 0
v 0 4 0'
printf '%s\nvt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\nf 1/1 2/2 3/3\nf 1/1 3/3 4/4\n' "$corners" >textured.obj
printf '%s\nvt 0 0\nvt 1 0\nvt 1 1\nvt 0 1\nf 1/1 2/2 3/3\nf 1/1 3/2 4/3\n' "$corners" >overlapping.obj
try 0 "$tool" map textured.obj ball.ply --uv --pose 1,3,2 --pose-a 0,0,0.5 --resolution 32 --images baked --out rows.csv --json
is "[it['samples'], it['used']]" "[1024, 1]"
demand "texels are not where texture coordinates are" "$(awk -F, 'NR > 1 && ($4 - ($1 + 0.5) / 8) ^ 2 + ($5 - (31.5 - $2) / 8) ^ 2 > 1e-12' rows.csv | wc -l)" -eq 0
demand "no image" -s "$(ls baked-distance.*)"
fails "triangles 0 and 1 overlap in the texture, at texel (31, 0); omit --uv" map overlapping.obj ball.ply --uv --resolution 32
fails "a corner of a face has no texture coordinates" map box.obj ball.ply --uv
fails "is neither OBJ nor glTF" map ball.ply box.obj --uv
try 0 "$tool" map box.obj box.obj --pose 3,0,0 --precision 0.02 --json
is "0.015 < it['reach'] <= 0.02" True
try 0 "$tool" deviation box.obj box.obj --precision 0.05 --json
is "[0.03 < way['reach'] <= 0.05 for way in it['ways']]" "[True, True]"
refuses "cannot be combined with --resolution" map box.obj box.obj --precision 0.02 --resolution 64
refuses "cannot be combined with --samples" deviation box.obj box.obj --precision 0.02 --samples 99
fails "the maximum of 16384 x 16384 texels is" map box.obj box.obj --precision 1e-7
fails "48 triangles do not fit into 6 x 6 texels; use a resolution of at least" map box.obj box.obj --resolution 6
refuses ".ply, .csv, .npy or .png" map box.obj box.obj --out rows.txt
try 2 "$tool" map box.obj box.obj --png box.tiff
refuses "--view and --up require --png" map box.obj box.obj --view top
try 2 "$tool" map box.obj box.obj --signed --unsigned
try 2 "$tool" map box.obj box.obj ball.ply --pose 1,0,0
try 2 "$tool" map box.obj box.obj --pose 1,0
try 1 "$tool" map box.obj missing.obj

# ---- frames ----

mkdir frames short
for k in 2 10 1; do
    "$tool" convert ball.ply frames/f$k.ply --translate 0,0,$((k + 2)) --quiet || exit 1
done
cp frames/f1.ply frames/f2.ply short
try 0 "$tool" map frames box.obj $small --json --out frames.csv --png plot.$png
demand "there is not a line for each frame" "$(wc -l <out)" -eq 3
demand "frames are not in the order of numbers" "$(sed 's/.*"least": \([0-9]*\).*/\1/' out | tr '\n' ' ')" = "1 2 10 "
demand "frames.csv has not a row for each" "$(wc -l <frames.csv)" -eq 4
demand "there is no plot" -s plot.$png
prints "3 frames" map frames box.obj $small --exact
try 0 "$tool" map frames box.obj $small --exact --quiet
says 1.75
try 0 "$tool" map box.obj frames $small --quiet
try 0 "$tool" map frames frames $small --quiet
fails "has 2 frames" map frames short $small
refuses "name A and B" map frames
"$tool" make icosphere frames/f11.ply --segments 3 --quiet || exit 1
fails "the triangles of frame 3 differ from those of frame 0" map frames box.obj $small
refuses "--images cannot be combined with moving bodies" map frames box.obj $small --images atlas
refuses "--uv cannot be combined with moving bodies" map frames box.obj $small --uv
"$tool" demo sleeve --triangles 300 --frames 3 --record sleeve.abutm --quiet >sleeve.out || exit 1
try 0 "$tool" map sleeve.abutm $small --json
demand "there is not a line for each frame" "$(wc -l <out)" -eq 4

# ---- clearance ----

try 0 "$tool" clearance box.obj box.obj --pose 3,0,0 --below 0.9 $small --json
is "[it['clear'], it['distance'], it['patches']]" "[True, 1, []]"
try 3 "$tool" clearance box.obj box.obj --pose 3,0,0 --below 1.001 $small --json
is "[it['clear'], it['relation'], len(it['patches'])]" "[False, 'apart', 1]"
is "[abs(s['below_area'] - 4) < 0.05 for s in it['surfaces']]" "[True, True]"
is "abs(it['patches'][0]['area'] - 4) < 0.05 and it['patches'][0]['least'] == 1" True
try 3 "$tool" clearance box.obj box.obj --pose 3,0,0 --below 1.001 $small --png near.$png
says "too near"
demand "there is no picture" -s near.$png
try 3 "$tool" clearance box.obj box.obj --pose 3,0,0 --below 2 $small --quiet
says no
try 0 "$tool" clearance box.obj box.obj --pose 3,0,0 --below 1 $small --quiet
says yes
try 0 "$tool" clearance box.obj box.obj --pose 3,0,0 --below 1 $small --json
is "[it['clear'], it['patches'], [s['below_area'] for s in it['surfaces']]]" "[True, [], [0, 0]]"
# What is farther than twice the distance counts nowhere, whether bodies touch or not.
for gap in 2 2.05; do
    try 3 "$tool" clearance box.obj box.obj --pose $gap,0,0 --below 0.1 $small --json
    is "[[3 < sum(s['histogram']['areas']) < 6.5, abs(s['area'] - 24) < 1e-9] for s in it['surfaces']]" "[[True, True], [True, True]]"
done
try 3 "$tool" clearance ball.ply box.obj --below 0.1 $small --json
is "[it['relation'], it['distance'], it['surfaces'][0]['least']['distance'] < -0.84]" "['a-inside', 0, True]"
try 0 "$tool" clearance ball.ply box.obj --below 0.1 $small --surfaces --quiet
says yes
refuses "--below D is missing" clearance box.obj box.obj

# ---- deviation ----

try 0 "$tool" deviation box.obj box.obj --pose 0.1,0,0 $small --json
is "it['hausdorff_lower'] <= 0.1 <= it['hausdorff_upper'] and it['hausdorff_upper'] - it['hausdorff_lower'] < 1e-5" True
is "[abs(w['greatest']['distance'] - 0.1) < 1e-6 and w['least']['distance'] >= 0 for w in it['ways']]" "[True, True]"
try 3 "$tool" deviation box.obj box.obj --pose 0.1,0,0 $small --tolerance 0.05 --json
# Of the sides 0.05 are beyond, of the face inside the model 0.05 along its border are within.
is "abs(it['ways'][0]['within_area'] - 15.99) < 0.2" True
try 3 "$tool" deviation box.obj box.obj --pose 0.1,0,0 $small --tolerance 0.02
says "0.036 or more"
prints "100.00%" deviation box.obj box.obj --pose 0.1,0,0 $small --tolerance 0.11
try 0 "$tool" deviation box.obj box.obj --pose 0.1,0,0 $small --signed --json
is "[abs(it['ways'][0]['least']['distance'] + 0.1) < 1e-6, it['ways'][1]['least']['distance'] >= 0]" "[True, True]"
# A scan of a part of the model: one-sided it fits.
try 0 "$tool" deviation sheet.obj box.obj --pose-a 0,0,1 --one-sided --tolerance 0.001 $small --json
is "[len(it['ways']), 'hausdorff_upper' in it]" "[1, False]"
try 3 "$tool" deviation sheet.obj box.obj --pose-a 0,0,1 --tolerance 0.001 $small --json
is "abs(it['hausdorff_upper'] - 2) < 1e-5" True
try 0 "$tool" deviation box.obj sheet.obj --signed $small
complains "limited"
try 0 "$tool" deviation box.obj box.obj --samples 9000 --json
is "it['ways'][0]['resolution']" 100
try 2 "$tool" deviation box.obj box.obj --samples 9000 --resolution 100
refuses "--samples would need more than the maximum of 16384 x 16384 texels" deviation box.obj box.obj --samples 4000000000

# ---- of itself, and thickness ----

# Letters: the arms of the E are 0.2 apart.
"$tool" make letter-e e.obj --segments 10 --quiet || exit 1
try 0 "$tool" map e.obj --self --geodesic 0.3 $small --json
is "[it['others'], it['signed'], it['least']['distance'] > 0.05]" "[[], False, True]"
try 0 "$tool" map e.obj --self --rings 2 $small --out self.ply --quiet
refuses "--self needs exactly one body" map e.obj box.obj --self
refuses "require --self" map e.obj box.obj --rings 2
try 2 "$tool" map e.obj --self --exact
try 0 "$tool" map frames/f1.ply --self $small --quiet

# A box of 2 x 2 x 2, a ball of 0.5 across, a sheet without a far side.
try 0 "$tool" thickness box.obj $small --json
mute err
is "[it['kind'], it['reliability'], abs(it['least']['distance'] - 2) < 1e-6, abs(it['greatest']['distance'] - 2) < 1e-6]" "['ray', 'guaranteed', True, True]"
try 0 "$tool" thickness ball.ply --ball $small --json
is "[it['kind'], 0.4 < it['mean'] < 0.5001]" "['ball', True]"
try 3 "$tool" thickness box.obj $small --below 2.1 --out thick.ply
says "100%"
try 0 "$tool" thickness box.obj $small --below 1.9 --quiet
says 2
try 0 "$tool" thickness box.obj $small --max 1.9 --quiet
says none
try 0 "$tool" thickness sheet.obj $small
complains "unreliable: No sample has an opposite side"
says "nothing found"
try 1 "$tool" thickness sheet.obj $small --below 0.1 --quiet
says none
fails "unreliable: The mesh faces inwards" thickness flipped.obj $small --below 0.1
try 2 "$tool" thickness box.obj --below 0

# Distances are floats: coordinates that these do not hold are refused, and nothing crashes.
for size in 1e-60 1e40; do
    awk -v k=$size '/^v / {printf "v %.17g %.17g %.17g\n", k * $2, k * $3, k * $4; next} {print}' box.obj >far.obj
    fails "since distances are floats" map far.obj far.obj --pose 4$(echo $size | cut -c2-),0,0 $small
    fails "since distances are floats" map far.obj --self $small
    fails "since distances are floats" deviation far.obj far.obj $small
    fails "since distances are floats" thickness far.obj $small
    fails "since distances are floats" clearance far.obj far.obj --pose 4$(echo $size | cut -c2-),0,0 --below $size $small
done

# The error of --exact covers how deep bodies overlap.
try 0 "$tool" map ball.ply box.obj --pose 1.2,0,0 $small --exact --json
is "it['least']['distance'] < 0 and it['least']['error'] > 0" True

finish
