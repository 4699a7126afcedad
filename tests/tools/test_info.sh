# abut info: the facts of models that are known, and files that are not meshes.
. "$(dirname "$0")/support.sh"

"$tool" make box box.obj --size 1,2,3 --segments 1 --quiet || exit 1
"$tool" make sheet sheet.ply --quiet || exit 1

# A healthy solid.
try 0 "$tool" info box.obj
mute err
says "box.obj: closed solid, 8 vertices, 12 triangles; no problems"
says "closed, manifold, consistently oriented"
says "1 component, 0 boundary loops, Euler characteristic 2"
says "1 x 2 x 3"
says "guaranteed"
demand "there is an escape sequence in a pipe" "$(tr -d '\033' <out | cmp - out 2>&1)" = ""
demand "inertia without --all" "$(grep -c "^  inertia" out)" -eq 0
prints "inertia" info --all box.obj
try 0 "$tool" info --quiet box.obj
demand "--quiet prints more than the headline" "$(wc -l <out)" -eq 1
try 0 "$tool" info --strict box.obj
LC_ALL=C try 0 "$tool" info box.obj
demand "not only ASCII in the C locale" "$(LC_ALL=C tr -d '\000-\177' <out | wc -c)" -eq 0
says "+ guaranteed"

# A mesh that is too small for exact answers is refused, and not called guaranteed.
for scale in 1e-91 1e-300 5e-324; do
    printf 'v 0 0 0\nv %s 0 0\nv 0 %s 0\nv 0 0 %s\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n' \
        $scale $scale $scale >tiny.obj
    try 1 "$tool" info tiny.obj
    mute out
    complains "tiny.obj: the longest side of the bounding box is"
    complains "it must be 0 or at least 1e-90: scale the coordinates"
done
# Tiny coordinates of a larger mesh are a warning.
printf 'v 0 1e-300 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n' >residue.obj
try 0 "$tool" info residue.obj
complains "coordinates below 1e-91 that are not 0"

try 0 "$tool" info --json box.obj
mute err
is "it['files'][0]['file']" box.obj
is "[it['files'][0][k] for k in ('vertices', 'triangles', 'edges', 'components')]" "[8, 12, 18, 1]"
is "[it['files'][0][k] for k in ('boundary_loops', 'euler_number')]" "[0, 2]"
is "[it['files'][0][k] for k in ('closed', 'manifold', 'oriented', 'solid')]" \
    "[True, True, True, True]"
is "it['files'][0]['size']" "[1, 2, 3]"
is "it['files'][0]['bounds']['lo']" "[-0.5, -1, -1.5]"
is "it['files'][0]['area']" 22
is "abs(it['files'][0]['volume'] - 6) < 1e-12" True
is "abs(it['files'][0]['thickness'] - 1) < 1e-5" True
is "max(abs(x) for x in it['files'][0]['centroid']) < 1e-12" True
# of a solid box of density 1: m (b^2 + c^2) / 12
is "max(abs(a - b) for a, b in zip(it['files'][0]['inertia'], (6.5, 5, 2.5, 0, 0, 0))) < 1e-12" True
is "it['files'][0]['problem_total']" 0
is "len(it['files'][0]['problems'])" 10
is "[a['level'] for a in it['files'][0]['reliability']]" \
    "['guaranteed', 'guaranteed', 'guaranteed', 'guaranteed', 'guaranteed']"

# Faces that are there twice open nothing.
"$tool" make box once.obj --segments 1 --quiet
{ cat once.obj; grep '^f' once.obj | head -1; } >twice.obj
prints "twice.obj: non-manifold surface, 8 vertices, 13 triangles; 3 non-manifold edges" info twice.obj
says "none: the surface has non-manifold edges"
# An open surface.
prints "sheet.ply: open surface, " info sheet.ply
says "; 1 boundary loop"
says "boundary-edge"
says "none: the surface is open"
try 3 "$tool" info --strict sheet.ply
mute err
try 3 "$tool" info --strict --json sheet.ply
is "it['files'][0]['volume']" None
is "it['files'][0]['closed']" False
is "[p['count'] > 0 for p in it['files'][0]['problems'] if p['problem'] == 'boundary-edge']" "[True]"
is "len([p for p in it['files'][0]['problems'] if p['element'] == 'edge'][0]['first_vertices'])" 8
is "'guaranteed' in [a['level'] for a in it['files'][0]['reliability']]" True
is "'unreliable' in [a['level'] for a in it['files'][0]['reliability']]" True

# Known flaws: one flipped triangle, one unused vertex, a duplicate, a degenerate triangle.
cat >flawed.obj <<'END'
v 0 0 0
v 1 0 0
v 0 1 0
v 0 0 1
v 9 9 9
f 1 3 2
f 1 2 4
f 2 3 4
f 1 3 4
f 4 3 1
f 1 2 2
END
try 0 "$tool" info --json flawed.obj
is "{p['problem']: p['count'] for p in it['files'][0]['problems']}['unused-vertex']" 1
is "[p['first'] for p in it['files'][0]['problems'] if p['problem'] == 'unused-vertex'][0]" "[4]"
is "{p['problem']: p['count'] for p in it['files'][0]['problems']}['degenerate-triangle']" 1
is "{p['problem']: p['count'] for p in it['files'][0]['problems']}['duplicate-triangle']" 1
is "it['files'][0]['bounds']['hi']" "[1, 1, 1]"
prints "unused-vertex" info flawed.obj

# Several files, some of them bad: the others are still examined.
: >empty.obj
mkdir folder.obj
head -c 200 sheet.ply >short.ply
printf 'v 1 2 nan\nv 0 0 0\nv 1 1 1\nf 1 2 3\n' >nan.obj
printf 'v 1 2 3\nv 0 0 0\nf 1 2 7\n' >range.obj
head -c 3000 /dev/urandom >noise.stl
for bad in missing.obj empty.obj folder.obj short.ply nan.obj range.obj noise.stl; do
    try 1 "$tool" info $bad
    mute out
    complains "abut info: $bad: "
    demand "more than one line about $bad" "$(wc -l <err)" -eq 1
    try 1 "$tool" info $bad --json
    is "it['files'][0]['file']" $bad
    is "it['files'][0]['error']['exit_code']" 1
    is "it['files'][0]['error']['message'].startswith('$bad: ')" True
done
fails "cannot be opened" info missing.obj
fails "is a directory" info folder.obj
try 1 "$tool" info range.obj
complains "3" # the line
try 1 "$tool" info box.obj missing.obj sheet.ply --strict
says "box.obj: closed"
says "sheet.ply: open"
complains "missing.obj: "
try 1 "$tool" info sheet.ply missing.obj --strict --json
is "['error' in f for f in it['files']]" "[False, True]"
if [ "$(id -u)" -eq 0 ]; then
    skip "an unreadable file: root reads everything"
else
    cp box.obj secret.obj
    chmod 0 secret.obj
    fails "secret.obj: cannot be opened" info secret.obj
fi

# Names that are no text.
odd=$(printf 'b\351\n\033[31m.obj')
cp box.obj "$odd"
prints 'b\xe9\x0a\x1b[31m.obj: closed' info --quiet "$odd"
demand "the name's control characters came out" "$(tr -d '\033' <out | cmp - out 2>&1)" = ""
try 0 "$tool" info --json "$odd"
is "'\\\\xe9' in it['files'][0]['file']" True
is "bytes.fromhex(it['files'][0]['file_bytes']) == b'b\\xe9\\n\\x1b[31m.obj'" True
try 0 "$tool" info --json 'box.obj' --quiet
is "'file_bytes' in it['files'][0]" False
cp box.obj 'quote"back\slash.obj'
try 0 "$tool" info --json 'quote"back\slash.obj'
is "it['files'][0]['file'] == 'quote\"back' + chr(92) + 'slash.obj'" True

# The format can be named.
cp box.obj box.bin
prints "box.bin: closed" info --from obj box.bin --quiet

# Which way is up, of each file for itself.
if "$tool" version --json | grep -q '"gltf": true'; then
    "$tool" convert box.obj box.glb --quiet
    try 0 "$tool" info --json box.glb box.obj
    is "[f['up'] for f in it['files']]" "[[0, 1, 0], None]"
    prints "up         0, 1, 0" info box.glb
fi

# The answer does not depend on the number of threads.
"$tool" make teapot pot.ply --quiet || wrong "no teapot"
"$tool" info --json --threads 1 pot.ply >one
"$tool" info --json --threads 3 pot.ply >three
demand "threads change the report" "$(cmp one three 2>&1)" = ""
finish
