# The option parser: what it takes, and what it says about the rest.
. "$(dirname "$0")/support.sh"
"$tool" make box box.obj --quiet || exit 1

# Typing errors.
try 2 "$tool" inof box.obj
complains "abut: there is no command 'inof'; did you mean 'info'?"
mute out
try 2 "$tool" zzz
complains "there is no command 'zzz'"
try 2 "$tool" info --strct box.obj
complains "abut info: there is no option --strct; did you mean --strict?"
try 2 "$tool" info --jsno box.obj
complains "did you mean --json?"
try 2 "$tool" info --qqqqqq box.obj
complains "there is no option --qqqqqq; see 'abut help info'"
try 2 "$tool" info -x box.obj
complains "there is no option -x"
try 2 "$tool" --jsn
complains "did you mean --json?"
try 2 "$tool" convert --transalte 1,2,3 box.obj out.obj
complains "did you mean --translate?"
try 2 "$tool" convert --to=sdl box.obj out.obj
complains "--to does not know 'sdl'; did you mean stl?"
try 2 "$tool" convert --to=dae box.obj out.obj
complains "it takes one of obj|ply|stl|off"

# Values.
try 2 "$tool" convert box.obj out.obj --scale
complains "--scale needs a value: --scale S"
try 2 "$tool" convert box.obj out.obj --scale --quiet
complains "--scale needs a value"
for bad in x 1x nan inf 1,2 '' ' 1' 1e999 0x; do
    try 2 "$tool" convert box.obj out.obj --scale="$bad"
    complains "--scale needs a number; '$bad' is not"
done
for bad in 1,2 1,2,3,4 a,b,c 1,,3 1,2,nan '1 2 3'; do
    try 2 "$tool" convert box.obj out.obj --translate "$bad"
    complains "--translate needs three numbers"
done
for bad in 0 -1 1.5 x 4294967296 99999999999999999999; do
    try 2 "$tool" info box.obj --threads=$bad
    complains "--threads needs a whole number"
done
try 2 "$tool" info box.obj --threads 100000
complains "--threads needs a whole number from 1 to 4096; '100000' is not"
try 2 "$tool" demo
complains "the name of a demo is missing; there are stack,"
try 2 "$tool" cache
complains "one of ls|verify|clear is missing"
for bad in 0 -1; do
    try 2 "$tool" make icosphere out.obj --radius $bad
    complains "--radius needs a number above 0; '$bad' is not"
done
try 2 "$tool" convert box.obj out.obj --weld=-1
complains "--weld needs a number of at least 0"

# A number beyond its range: the value, the range and the unit.
lengths="a number from 0 to 1e+90 units of the coordinates"
for bad in -1 1e300; do
    for words in "contacts box.obj box.obj --margin" "distance box.obj box.obj --margin"; do
        # shellcheck disable=SC2086 # words are meant to be split
        try 2 "$tool" ${words}=$bad
        complains "--margin needs $lengths; '$bad' is not"
    done
done
try 2 "$tool" clearance box.obj box.obj --below 1e300
complains "--below needs $lengths; '1e300' is not"
printf '{"bodies":[{"mesh":{"shape":"box"}}]}' >scene.json
try 2 "$tool" contacts scene.json --margin=-1
complains "--margin needs $lengths; '-1' is not"
try 2 "$tool" contacts scene.json --most 9
complains "--most needs a whole number from 1 to 8 contacts by exact geometry; '9' is not"
try 2 "$tool" slice box.obj x.ppm --size 8
complains "--size needs a whole number from 16 to "
complains "pixels; '8' is not"
try 2 "$tool" field box.obj --cells 1
complains "--cells needs a whole number from 2 to 4294967295 cells; '1' is not"
try 2 "$tool" offset box.obj x.obj --by 0.1 --cells 7
complains "--cells needs a whole number from 8 to 4294967295 cells; '7' is not"
try 2 "$tool" samples box.obj --cells 4
complains "--cells needs a whole number from 5 to "
try 2 "$tool" picture box.obj x.ppm --fov 170
complains "--fov needs degrees from 0 (parallel) to below 170; '170' is not"
try 2 "$tool" convert box.obj out.obj --scale 0
complains "--scale needs a number that is not 0; '0' is"
try 2 "$tool" demo stairs --bodies 60001
complains "--bodies needs a whole number from 1 to 60000 bodies; '60001' is not"
try 2 "$tool" demo sleeve --triangles 99
complains "--triangles needs a whole number from 100 to 1000000 triangles; '99' is not"
try 2 "$tool" info --json=yes box.obj
complains "--json takes no value"
try 2 "$tool" convert box.obj out.obj --scale 2 --scale 3
complains "--scale was given twice"
try 2 "$tool" convert box.obj out.obj --scale 0
complains "not 0"
for bad in w,90 x 90 x,y 0,0,0,90 1,1,90 x,nan xx,90; do
    try 2 "$tool" convert box.obj out.obj --rotate "$bad"
    complains "--rotate needs an axis and degrees"
done
demand "a refused command wrote something" ! -e out.obj

# Forms.
try 0 "$tool" convert box.obj out.obj --scale 2 --translate -1,0,-1e-3
try 0 "$tool" convert --scale=-2 --translate=-1,0,-1e-3 box.obj out.obj
try 0 "$tool" convert box.obj --weld out.obj
demand "--weld took the file for its value" -s out.obj
try 0 "$tool" --quiet --threads 1 info box.obj
try 0 "$tool" --threads=2 info --quiet box.obj
cp box.obj ./--strict
try 0 "$tool" info --quiet -- --strict
says "--strict: closed"
try 0 "$tool" --json -- info box.obj
is "len(it['files'])" 1

# Operands.
try 2 "$tool" info
complains "usage: abut info FILE..."
try 2 "$tool" convert box.obj
complains "usage: abut convert IN... OUT"
try 2 "$tool" version extra
complains "'extra' is one too many"
try 2 "$tool" convert box.obj -
complains "standard output (-) needs its format: --to"

# Errors as JSON: one object, also where the command line cannot be read.
try 2 "$tool" info --json --strct
is "it['error']['kind']" "usage error"
is "it['error']['exit_code']" 2
is "'did you mean --strict' in it['error']['message']" True
complains "did you mean"
try 2 "$tool" --json
is "it['error']['kind']" "usage error"
try 2 "$tool" nonsense --json
is "it['error']['kind']" "usage error"
try 2 "$tool" convert --json box.obj "$(printf 'b\351.xyz')"
is "it['error']['message'].startswith('b\\\\xe9.xyz: ')" True
finish
