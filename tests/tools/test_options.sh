# The option parser: what it takes, and what it says about the rest.
. "$(dirname "$0")/support.sh"
"$tool" make box box.obj --quiet || exit 1

# Typing errors.
try 2 "$tool" inof box.obj
complains "abut: unknown command 'inof'; did you mean 'info'?"
mute out
try 2 "$tool" zzz
complains "unknown command 'zzz'"
try 2 "$tool" info --strct box.obj
complains "abut info: unknown option --strct; did you mean --strict?"
try 2 "$tool" info --jsno box.obj
complains "did you mean --json?"
try 2 "$tool" info --qqqqqq box.obj
complains "unknown option --qqqqqq; see 'abut help info'"
try 2 "$tool" info -x box.obj
complains "unknown option -x"
try 2 "$tool" --jsn
complains "did you mean --json?"
try 2 "$tool" convert --transalte 1,2,3 box.obj out.obj
complains "did you mean --translate?"
try 2 "$tool" convert --to=sdl box.obj out.obj
complains "--to: unknown value 'sdl'; did you mean stl?"
try 2 "$tool" convert --to=dae box.obj out.obj
complains "it must be one of obj|ply|stl|off"

# Values.
try 2 "$tool" convert box.obj out.obj --scale
complains "--scale needs a value: --scale S"
try 2 "$tool" convert box.obj out.obj --scale --quiet
complains "--scale needs a value"
for bad in x 1x nan inf 1,2 '' ' 1' 1e999 0x; do
    try 2 "$tool" convert box.obj out.obj --scale="$bad"
    complains "--scale must be a number, not '$bad'"
done
for bad in 1,2 1,2,3,4 a,b,c 1,,3 1,2,nan '1 2 3'; do
    try 2 "$tool" convert box.obj out.obj --translate "$bad"
    complains "--translate must be three numbers"
done
for bad in 0 -1 1.5 x 4294967296 99999999999999999999; do
    try 2 "$tool" info box.obj --threads=$bad
    complains "--threads must be a whole number"
done
try 2 "$tool" info box.obj --threads 100000
complains "--threads must be a whole number from 1 to 4096, not '100000'"
try 2 "$tool" demo
complains "the name of a demo is missing; there are stack,"
try 2 "$tool" cache
complains "one of ls|verify|clear is missing"
for bad in 0 -1; do
    try 2 "$tool" make icosphere out.obj --radius $bad
    complains "--radius must be a number above 0, not '$bad'"
done
try 2 "$tool" convert box.obj out.obj --weld=-1
complains "--weld must be a number of at least 0"

# The error message of a number out of range has the value, the range and the unit.
lengths="a number from 0 to 1e+90 units of the coordinates"
for bad in -1 1e300; do
    for words in "contacts box.obj box.obj --margin" "distance box.obj box.obj --margin"; do
        # shellcheck disable=SC2086 # words are meant to be split
        try 2 "$tool" ${words}=$bad
        complains "--margin must be $lengths, not '$bad'"
    done
done
try 2 "$tool" clearance box.obj box.obj --below 1e300
complains "--below must be $lengths, not '1e300'"
printf '{"bodies":[{"mesh":{"shape":"box"}}]}' >scene.json
try 2 "$tool" contacts scene.json --margin=-1
complains "--margin must be $lengths, not '-1'"
try 2 "$tool" contacts scene.json --most 9
complains "--most must be a whole number from 1 to 8 contacts with --method exact, not '9'"
try 2 "$tool" slice box.obj x.ppm --size 8
complains "--size must be a whole number from 16 to "
complains "pixels, not '8'"
try 2 "$tool" field box.obj --cells 1
complains "--cells must be a whole number from 2 to 4294967295 cells, not '1'"
try 2 "$tool" offset box.obj x.obj --by 0.1 --cells 7
complains "--cells must be a whole number from 8 to 4294967295 cells, not '7'"
try 2 "$tool" samples box.obj --cells 4
complains "--cells must be a whole number from 5 to "
try 2 "$tool" picture box.obj x.ppm --fov 170
complains "--fov must be from 0 (orthographic) to below 170 degrees, not '170'"
try 2 "$tool" convert box.obj out.obj --scale 0
complains "--scale must be a number other than 0, not '0'"
try 2 "$tool" demo stairs --bodies 60001
complains "--bodies must be a whole number from 1 to 60000 bodies, not '60001'"
try 2 "$tool" demo sleeve --triangles 99
complains "--triangles must be a whole number from 100 to 1000000 triangles, not '99'"
try 2 "$tool" info --json=yes box.obj
complains "--json has no value"
try 2 "$tool" convert box.obj out.obj --scale 2 --scale 3
complains "--scale is given twice"
try 2 "$tool" convert box.obj out.obj --scale 0
complains "other than 0"
for bad in w,90 x 90 x,y 0,0,0,90 1,1,90 x,nan xx,90; do
    try 2 "$tool" convert box.obj out.obj --rotate "$bad"
    complains "--rotate must be an axis and degrees"
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
complains "unexpected argument 'extra'"
try 2 "$tool" convert box.obj -
complains "standard output (-) needs a format: --to"

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
