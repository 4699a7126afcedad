# abut picture: files that are pictures of the right size, and different ones for different wishes.
. "$(dirname "$0")/support.sh"
"$tool" make teapot pot.ply --segments 4 --quiet || exit 1
"$tool" make box box.obj --quiet || exit 1
"$tool" make sheet sheet.obj --quiet || exit 1

# PPM works in every build.
prints "pot.ppm: 120 x 80 pixels" picture pot.ply pot.ppm --size 120x80
mute err
demand "the header is not that of a PPM" "$(head -n 2 pot.ppm | tr '\n' ' ')" = "P6 120 80 "
demand "the size is wrong" "$(wc -c <pot.ppm)" -ge $((120 * 80 * 3 + 9))
colours=$(tail -c +16 pot.ppm | od -An -v -tu1 -w3 | sort -u | wc -l)
demand "the picture shows nothing" "$colours" -gt 50
try 0 "$tool" picture pot.ply again.ppm --size 120x80 --threads 1 --quiet
mute out
demand "threads change the picture" "$(cmp pot.ppm again.ppm 2>&1)" = ""

different() { # each set of options must change the picture
    try 0 "$tool" picture pot.ply other.ppm --size 120x80 "$@"
    demand "no difference with $*" "$(cmp pot.ppm other.ppm 2>&1)" != ""
    demand "the same picture twice with $*" "$(grep -cF "$(cksum <other.ppm)" seen)" -eq 0
    cksum <other.ppm >>seen
}
cksum <pot.ppm >seen
for view in front back left right top bottom 1,2,3 -1,0.5,0.2; do
    different --view $view
done
different --up y
different --up=-z
different --up 1,1,1
different --fov 0
different --fov 90
different --edges
different --flat
different --colour ff0000
different --colour '#ff000080'
different --colour teal
different --ground
different --background 102030
different --defects
try 0 "$tool" picture pot.ply other.ppm --size 120x80 --view iso --up z --fov 30
demand "the defaults are not what help says" "$(cmp pot.ppm other.ppm 2>&1)" = ""

# Several meshes in one picture.
try 0 "$tool" picture pot.ply box.obj two.ppm --size 120x80 --colour red --colour blue --json
is "[f['file'] for f in it['files']]" "['pot.ply', 'box.obj']"
is "(it['picture'], it['width'], it['height'])" "('two.ppm', 120, 80)"
demand "the second mesh is missing" "$(cmp pot.ppm two.ppm 2>&1)" != ""

# PNG where it is built in.
if [ "$("$tool" version | grep -c 'png  *pictures as')" -eq 1 ]; then
    prints "pot.png: 960 x 720 pixels" picture pot.ply pot.png
    demand "no PNG signature" \
        "$(head -c 8 pot.png | od -An -tx1 | tr -d ' \n')" = 89504e470d0a1a0a
    demand "no PNG size" "$(head -c 24 pot.png | tail -c 8 | od -An -tx1 | tr -d ' \n')" = \
        000003c0000002d0
else
    fails "png" picture pot.ply pot.png
    demand "a picture that cannot be was written" ! -e pot.png
fi

# The health report as a picture.
prints "red      boundary-edge" picture sheet.obj marks.ppm --defects
try 0 "$tool" picture sheet.obj marks.ppm --defects --json
is "it['files'][0]['marks'][0]['problem']" boundary-edge
is "it['files'][0]['marks'][0]['count']" 128
red() { tail -c +16 "$1" | od -An -v -tu1 -w3 | awk '$1 > 180 && $2 < 90 && $3 < 90' | wc -l; }
"$tool" picture sheet.obj plain.ppm --quiet --colour d0d0d0
demand "the boundary is not red" "$(red marks.ppm)" -gt 100
demand "red without a boundary" "$(red plain.ppm)" -eq 0
prints "nothing to mark" picture box.obj none.ppm --defects
cat >fan.obj <<'END'
v 0 0 0
v 0 0 1
v 1 0 0
v -1 1 0
v -1 -1 0
f 1 2 3
f 1 2 4
f 1 2 5
END
prints "magenta   nonmanifold-edge" picture fan.obj fan.ppm --defects

# Refusals.
refuses "usage: abut picture FILE... OUT.png" picture pot.ply
refuses "must end in .png or .ppm" picture pot.ply box.obj
for bad in 0x10 10 10x x10 10x10x10 -5x5 1e3x5; do
    refuses "--size must be width and height" picture pot.ply x.ppm --size $bad
done
refuses "--size must be from 1x1 to 16384x16384 pixels, not '20000x10'" picture pot.ply x.ppm --size 20000x10
for bad in sideways 1,2 0,0,0 1,2,x; do
    refuses "--view must be" picture pot.ply x.ppm --view $bad
done
for bad in w 1,2 0,0,0; do
    refuses "--up must be" picture pot.ply x.ppm --up $bad
done
for bad in ff00 notacolour '#12345g' 12345; do
    refuses "--colour must be a colour" picture pot.ply x.ppm --colour $bad
done
refuses "more colours than meshes" picture pot.ply x.ppm --colour red --colour blue
refuses "--fov must be" picture pot.ply x.ppm --fov 170
fails "missing.ply" picture pot.ply missing.ply x.ppm
try 1 "$tool" picture missing.ply x.ppm --json
is "it['error']['kind']" "file error"
fails "none/x.ppm" picture pot.ply none/x.ppm
demand "a refused picture was written" ! -e x.ppm

# glTF is y up, and drawn so unless --up says otherwise.
if "$tool" version --json | grep -q '"gltf": true'; then
    "$tool" convert pot.ply pot.glb --quiet && "$tool" convert pot.glb floats.ply --quiet
    for view in iso front top; do
        try 0 "$tool" picture pot.glb drawn.ppm --size 120x80 --view $view
        try 0 "$tool" picture floats.ply other.ppm --size 120x80 --view $view --up y
        demand "a glTF is not drawn with y up from $view" "$(cmp drawn.ppm other.ppm 2>&1)" = ""
        try 0 "$tool" picture pot.glb drawn.ppm --size 120x80 --view $view --up z
        try 0 "$tool" picture floats.ply other.ppm --size 120x80 --view $view
        demand "--up does not overrule a glTF from $view" "$(cmp drawn.ppm other.ppm 2>&1)" = ""
    done
fi
# A letter that the pictures do not have is one frame in the legend, however many bytes it takes.
"$tool" make box x.obj --segments 1 --quiet
for name in ü 立 u; do
    cp x.obj "$name.obj"
    try 0 "$tool" picture "$name.obj" x.obj out.ppm --size 320x240
    mv out.ppm "$name.ppm"
done
demand "letters of two and three bytes look alike" "$(cmp ü.ppm 立.ppm && echo same)" = same
demand "they are no u" "$(cmp ü.ppm u.ppm >/dev/null || echo other)" = other
finish
