# What comes from elsewhere: names with control characters and formulas, links that lead out of a
# folder, caches in folders that others may write; and a closed standard error.
. "$(dirname "$0")/support.sh"

# Raw bytes that a terminal, an editor or a browser must not get: controls other than ends of lines,
# and the bytes of U+202E and U+2066.
escape=$(printf '\033') bell=$(printf '\007') override=$(printf '\342\200\256') isolate=$(printf '\342\201\246')
clean() { # FILE...
    checks=$((checks + 1))
    for file in "$@"; do
        LC_ALL=C tr -d '\n\t\040-\176\200-\377' <"$file" | grep -q . && wrong "'$last' leaves control characters in $file"
        for bytes in "$override" "$isolate" "$escape"; do
            LC_ALL=C grep -qF -e "$bytes" "$file" && wrong "'$last' leaves $(printf '%s' "$bytes" | od -An -tx1) in $file"
        done
    done
}

"$tool" make box cube.obj --size 1 --segments 1 --quiet || exit 1
evil="e$escape]0;T$bell${override}gnp.obj"
cp cube.obj "$evil"
tabbed=$(printf '\t=1.obj')
cp cube.obj "=1+1.obj"
cp cube.obj "$tabbed"
echo "console.log(1);" >viewer.js # pages need some viewer
ABUT_VIEWER=$scratch/viewer.js
export ABUT_VIEWER

# ---- names in all that people read ----
try 3 "$tool" interfere "$evil" cube.obj --out -
clean out err
says 'e\x1b]0;T\x07\xe2\x80\xaegnp.obj'
for words in "info" "info --all" "selfcheck" "interfere cube.obj" "interfere cube.obj --out x.csv" "overlap cube.obj" \
    "distance cube.obj" "contacts cube.obj" "sweep cube.obj" "map cube.obj" "deviation cube.obj" "thickness" \
    "clearance cube.obj --below 1" "samples --out x.csv" "field --cells 8" "slice x.ppm" "picture x.ppm" "view -o x.html" \
    "convert x.obj" "view cube.obj -o x.html" "offset x.obj --cells 8" "nearest cube.obj" "ray cube.obj" "radial" \
    "character" "inside cube.obj" "replay" "batch --out x --do info --index" "cache" "make" "demo" "help"; do
    command=${words%% *} rest=
    [ "$command" = "$words" ] || rest=${words#* }
    last="$words with an evil name"
    # shellcheck disable=SC2086 # words are meant to be split
    "$tool" "$command" "$evil" $rest >out 2>err </dev/null
    clean out err
done
clean x.csv x.html x/index.html 2>/dev/null
rm -rf x
try 1 "$tool" info "missing$evil"
clean err
try 3 "$tool" interfere "$evil" cube.obj --json
clean out
is "it['pairs'][0]['a'] == 'e\\x1b]0;T\\x07\\u202egnp.obj'" True # JSON has the name as it is

# Names of a scene: bodies, in tables, pages, pictures and contacts.
cat >scene.json <<'END'
{"meshes": {"\u202em\u009b2J": {"shape": "box", "segments": 1}},
 "bodies": [{"name": "\u202egnp.exe\u009b2J\u2066", "mesh": "\u202em\u009b2J"},
  {"name": "=cmd|'/c calc'!A1", "mesh": {"shape": "box"}, "position": [0.5, 0, 0]},
  {"name": "+1;=2", "mesh": {"shape": "box"}, "position": [0.25, 0.3, 0]},
  {"name": "@SUM(A1)", "mesh": {"shape": "box"}, "position": [0.1, 0.3, 0.2]},
  {"name": "-5", "mesh": {"shape": "box"}, "position": [0.1, 0.2, 0.2]},
  {"name": "-x,\"y\"", "mesh": {"shape": "box"}, "position": [0.1, 0.2, 0.1]},
  {"name": "\uff1d1+1", "mesh": {"shape": "box"}, "position": [0.1, 0.25, 0.15]},
  {"name": "a;=b", "mesh": {"shape": "box"}, "position": [0.1, 0.25, 0.25]}]}
END
try 3 "$tool" interfere scene.json --out table.csv --html page.html
clean out err table.csv
try 3 "$tool" interfere scene.json
clean out err
try 3 "$tool" interfere scene.json --out -
clean out err
cmp -s out table.csv || wrong "the table on standard output is another one"
try 3 "$tool" interfere scene.json --json
clean out
for command in "view scene.json -o page.html" "contacts scene.json --out c.csv" "picture scene.json x.ppm" "info scene.json"; do
    last=$command
    # shellcheck disable=SC2086
    "$tool" $command >out 2>err
    clean out err
done
LC_ALL=C grep -qF -e '\u202e' -e "$override" page.html && wrong "a page shows a bidi override"
# No cell is a formula; numbers and cells that need nothing are as before. Excel reads ; as a
# separator in some countries, so that it stands in quotes.
grep -q "'=cmd" table.csv || wrong "the table has no name with =cmd"
for cell in "\"'=cmd|'/c calc'!A1\"" "\"'+1;=2\"" "\"'@SUM(A1)\"" ",-5," "\"'-x,\"\"y\"\"\"" "\"'\357\274\2351+1\"" '"a;=b"'; do
    cell=$(printf '%b' "$cell")
    grep -qF -e "$cell" table.csv || wrong "no cell is $cell"
done
try 3 "$tool" interfere "=1+1.obj" "$tabbed" "$evil" --out files.csv
clean out err files.csv
grep -qF "\"'=1+1.obj\"" files.csv || wrong "a file that is called like a formula is a formula"
grep -qF '\x09=1.obj' files.csv || wrong "a tab before a formula is not escaped"
checks=$((checks + 1))
LC_ALL=C tr ',' '\n' <table.csv | grep -n '^"\{0,1\}[=+@]' && wrong "a cell begins a formula"
[ -z "$python" ] || {
    "$python" - <<'END' || wrong "the table is not comma-separated values"
import csv
rows = list(csv.reader(open("table.csv", encoding="utf-8")))
assert len(rows) > 5 and len({len(row) for row in rows}) == 1
names = {cell for row in rows[1:] for cell in row[:2]}
assert {"'=cmd|'/c calc'!A1", "'+1;=2", "'@SUM(A1)", "-5", "'-x,\"y\"", "a;=b"} <= names, names
END
}
checks=$((checks + 1))

# ---- links that lead out of a folder ----
mkdir document elsewhere
if "$tool" version --json | grep -q '"gltf": true'; then
    "$tool" convert cube.obj document/cube.gltf --quiet
    "$tool" make box document/true.gltf --segments 1 --quiet
    cat >document/out.gltf <<'END'
{"asset":{"version":"2.0"},"meshes":[{"primitives":[{"attributes":{"POSITION":0}}]}],"accessors":[
{"bufferView":0,"componentType":5120,"count":3,"type":"VEC3"}],"bufferViews":[{"buffer":0,
"byteLength":9}],"buffers":[{"byteLength":9,"uri":"bytes.bin"}]}
END
    printf '\0\0\0\1\0\0\0\1\0' >elsewhere/bytes.bin
    ln -s ../elsewhere/bytes.bin document/bytes.bin
    fails "symbolic link out of the folder of the document" info document/out.gltf
    rm document/bytes.bin
    cp elsewhere/bytes.bin document/bytes.bin
    try 0 "$tool" info document/out.gltf
    ln -s document by-link # the way to the document may have links
    try 0 "$tool" info by-link/out.gltf
    (cd document && "$tool" info out.gltf >/dev/null 2>&1) || wrong "a document in this folder is not read"
fi
mkdir sub batch
cp cube.obj sub/
ln -s ../elsewhere batch/sub
fails "symbolic link could point outside the folder of --out" batch sub/cube.obj --do convert.ply --out batch
demand "batch wrote out of its folder" "$(find elsewhere -name '*.ply')" = ""
rm -r batch
mkdir batch
ln -s true batch/link # a link that has nothing to do with it does no harm
try 0 "$tool" batch sub/cube.obj --do convert.ply --out batch --index
rm -r batch
for planted in manifest.jsonl index.html .abut-batch; do
    mkdir batch
    echo precious >elsewhere/diary
    [ "$planted" = .abut-batch ] && target=../elsewhere || target=../elsewhere/diary
    ln -s $target batch/$planted
    "$tool" batch sub/cube.obj --do convert.ply --out batch --index >out 2>err
    demand "batch followed a link called $planted" "$(cat elsewhere/diary)" = precious
    rm -r batch
done

# ---- caches in folders that others may write ----
"$tool" make torus torus.obj --quiet
mkdir shared && chmod 777 shared
ABUT_CACHE_DIR=$scratch/shared
export ABUT_CACHE_DIR
try 0 "$tool" field torus.obj --cells 12 --cache
complains "warning: the cache is not used: the folder $scratch/shared can be written by other users"
demand "the warning comes more than once" "$(grep -c warning err)" -eq 1
demand "something was written to a folder of others" "$(ls shared)" = ""
chmod 700 shared
try 0 "$tool" field torus.obj --cells 12 --cache
mute err
name=$(ls shared/fields | grep '\.fields$')
echo precious >diary
chmod 644 diary
rm "shared/fields/$name"
ln -s "$scratch/diary" "shared/fields/$name"
try 0 "$tool" field torus.obj --cells 12 --cache
demand "the target of a planted link was overwritten" "$(cat diary)" = precious
demand "the planted link was not replaced" ! -h "shared/fields/$name"
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null 2>&1; then
    # One user plants links in a folder that both may write, the other one runs the command.
    as() { # USER COMMAND...
        user=$1
        shift
        setpriv --reuid="$user" --regid="$user" --clear-groups env HOME=/nonexistent "$@"
    }
    chmod 755 "$scratch"
    cp "$tool" own-tool
    mkdir victim both
    chmod 777 both
    chown 65534 victim
    as 65534 sh -c 'umask 022; echo precious >victim/diary'
    as 65533 sh -c "umask 0; mkdir both/fields; ln -s '$scratch/victim/diary' 'both/fields/$name'"
    try 0 as 65534 env ABUT_CACHE_DIR="$scratch/both" ./own-tool field torus.obj --cells 12 --cache
    complains "the cache is not used"
    demand "another user's link overwrote a file" "$(cat victim/diary)" = precious
    # A folder of another user, though nobody else may write it.
    as 65533 sh -c 'umask 022; mkdir both/theirs'
    try 0 as 65534 env ABUT_CACHE_DIR="$scratch/both/theirs" ./own-tool field torus.obj --cells 12 --cache
    complains "belongs to another user"
else
    skip "two users: needs root and setpriv"
fi
ABUT_CACHE_DIR=off

# ---- standard error is closed ----
for words in "convert cube.obj - --to obj" "make box - --to obj" "field cube.obj - --cells 8" \
    "picture cube.obj - --size 32x32" "view cube.obj -o -" "samples cube.obj --out -" "offset cube.obj - --to obj --cells 8"; do
    checks=$((checks + 1))
    # shellcheck disable=SC2086
    "$tool" $words >full 2>/dev/null
    # shellcheck disable=SC2086
    "$tool" $words >closed 2>&-
    code=$?
    demand "'$words' with standard error closed gives $code" "$code" -eq 0
    cmp -s full closed || wrong "'$words' with standard error closed writes something else"
done
finish
