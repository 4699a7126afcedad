# abut replay: schemes that agree, lines of JSON, the plot, the picture, and what is refused.
. "$(dirname "$0")/support.sh"

try 0 "$tool" demo sheet --threads 1 --triangles 200 --frames 12 --record sheet.abutm
code=0
"$tool" replay sheet.abutm --scheme all --threads 1 >out 2>err || code=$?
demand "all schemes agree" "$(grep -c 'all schemes have the same results' out)" = 1
demand "the exit code is that of hits" "$code" != 1
demand "there is a row for each scheme" "$(grep -c 'view-point\|view-line\|all pairs' out)" -ge 5
demand "the first step is not in the means" "$(grep -c 'of 12 steps .*; the means include 11 steps, ' out)" = 1
"$tool" replay sheet.abutm --scheme sweep --every 4 --threads 1 >out 2>err || true
demand "of pairs of steps the second is in the means" "$(grep -c 'of 6 steps .*; the means include 3 steps, ' out)" = 1
demand "one scheme has no other to agree with" "$(grep -c 'schemes' out)" = 0
"$tool" replay sheet.abutm --scheme point --from 3 --to 5 --json --threads 1 >lines 2>err || true
demand "a line for each step" "$(wc -l <lines | tr -d ' ')" = 3
demand "of the frames that were asked for" "$(grep -c '"frame": *[345]' lines)" = 3
"$tool" replay sheet.abutm --scheme all --every 4 --json --threads 1 >lines 2>err || true
demand "a sample has a step that counts for each that leads to it" "$(grep -c '"counts": true' lines)" = "$(grep -c '"counts": false' lines)"
demand "of the frames in between none" "$(grep -c '"frame": *[348]\b' lines)" = 0
demand "and one step in four" "$(grep '"counts": true' lines | grep -c '"scheme": "line"')" = 3
"$tool" replay sheet.abutm --scheme line --line companion --json --summary --threads 1 >own 2>err || true
demand "the line is the companion's" "$(grep -c '"line": "companion"' own)" = 1
"$tool" replay sheet.abutm --scheme line --png sets.ppm --quiet --threads 1 >out 2>err || true
demand "there is a plot" -s sets.ppm
"$tool" replay sheet.abutm --scheme all --png both.ppm --quiet --threads 1 >out 2>err || true
demand "with all schemes a third panel compares point and line" "$(head -c 20 both.ppm | sed -n 2p | cut -d" " -f2)" = \
    "$(($(head -c 20 sets.ppm | sed -n 2p | cut -d" " -f2) * 3 / 2))"
"$tool" replay sheet.abutm --picture 6 frame.ppm --threads 1 >out 2>err || true
demand "there is a picture" -s frame.ppm
# A sleeve at rest has no triangle that rays enter: nothing has that colour above the legend, the inside neither.
"$tool" demo sleeve --threads 1 --triangles 300 --frames 2 --record sleeve.abutm --quiet >out
"$tool" replay sleeve.abutm --picture 1 inside.ppm --threads 1 >out 2>err || true
if [ -n "$python" ]; then
    demand "back sides have the colour of a set" "$("$python" -c "
data = open('inside.ppm', 'rb').read().split(b'\n', 3)
width, height = map(int, data[1].split())
pixels = data[3][:3 * width * (height - 120)]
print(sum(r > g + 60 and r > b + 60 for r, g, b in zip(pixels[::3], pixels[1::3], pixels[2::3])))")" = 0
fi
try 2 "$tool" replay sheet.abutm --from 9 --to 8
try 2 "$tool" replay sheet.abutm --to 99
try 2 "$tool" replay sheet.abutm --picture 3
try 2 "$tool" replay sheet.abutm frame.ppm
try 2 "$tool" replay sheet.abutm --scheme fastest
try 2 "$tool" replay sheet.abutm --line
try 2 "$tool" replay sheet.abutm --every 0
try 2 "$tool" replay sheet.abutm --png sets.txt
echo "not a recording" >text.abutm
try 1 "$tool" replay text.abutm
try 1 "$tool" replay none.abutm
# The sleeve has two holes, whose ghosts are drawn as glass beyond its ends.
"$tool" replay sleeve.abutm --picture 1 ghosts.ppm --scheme line --threads 1 >out 2>err || true
"$tool" replay sleeve.abutm --picture 1 none.ppm --scheme sweep --threads 1 >out 2>err || true
demand "ghosts are drawn unless all searches are complete" "$(cmp -s ghosts.ppm none.ppm && echo same)" = ""
# A folder of meshes becomes a recording, in the order of the numbers in names.
mkdir folder
for i in 1 2 10; do
    try 0 "$tool" make torus folder/t$i.obj --segments 8
    try 0 "$tool" convert folder/t$i.obj folder/t$i.obj --translate $i,0,0
done
refuses "'folder' is a folder; make a recording of it: abut convert folder motion.abutm" replay folder
prints "motion.abutm: 3 frames" convert folder motion.abutm
prints '"frames": 3' convert folder motion.abutm --json
prints "0 of 2 steps with an impact" replay motion.abutm --scheme line
refuses "'motion.abutm' is made of one folder with a mesh for each frame" convert folder/t1.obj motion.abutm
refuses "--orient does not apply to recordings" convert folder motion.abutm --orient
try 0 "$tool" make box folder/t11.obj
fails "folder/t1.obj has 192 vertices but folder/t11.obj has" convert folder other.abutm
demand "a recording appears only when it is complete" ! -e other.abutm
finish
