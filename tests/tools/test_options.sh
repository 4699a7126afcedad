# The option parser: what it takes, and what it says about the rest.
. "$(dirname "$0")/support.sh"
"$tool" make box box.obj --quiet || exit 1

# Typing errors.
refuses "abut: unknown command 'inof'; did you mean 'info'?" inof box.obj
mute out
refuses "unknown command 'zzz'" zzz
refuses "abut info: unknown option --strct; did you mean --strict?" info --strct box.obj
refuses "did you mean --json?" info --jsno box.obj
refuses "unknown option --qqqqqq; see 'abut help info'" info --qqqqqq box.obj
refuses "unknown option -x" info -x box.obj
refuses "did you mean --json?" --jsn
refuses "did you mean --translate?" convert --transalte 1,2,3 box.obj out.obj
refuses "--to: unknown value 'sdl'; did you mean stl?" convert --to=sdl box.obj out.obj
refuses "it must be one of obj|ply|stl|off" convert --to=dae box.obj out.obj

# Values.
refuses "--scale needs a value: --scale S" convert box.obj out.obj --scale
refuses "--scale needs a value" convert box.obj out.obj --scale --quiet
for bad in x 1x nan inf 1,2 '' ' 1' 1e999 0x; do
    refuses "--scale must be a number, not '$bad'" convert box.obj out.obj --scale="$bad"
done
for bad in 1,2 1,2,3,4 a,b,c 1,,3 1,2,nan '1 2 3'; do
    refuses "--translate must be three numbers" convert box.obj out.obj --translate "$bad"
done
for bad in 0 -1 1.5 x 4294967296 99999999999999999999; do
    refuses "--threads must be a whole number" info box.obj --threads=$bad
done
refuses "--threads must be a whole number from 1 to 4096, not '100000'" info box.obj --threads 100000
refuses "the name of a demo is missing; there are stack," demo
refuses "one of ls|verify|clear is missing" cache
for bad in 0 -1; do
    refuses "--radius must be a number above 0, not '$bad'" make icosphere out.obj --radius $bad
done
refuses "--weld must be a number of at least 0" convert box.obj out.obj --weld=-1

# The error message of a number out of range has the value, the range and the unit.
lengths="a number from 0 to 1e+90 units of the coordinates"
for bad in -1 1e300; do
    for words in "contacts box.obj box.obj --margin" "distance box.obj box.obj --margin"; do
        # shellcheck disable=SC2086 # words are meant to be split
        refuses "--margin must be $lengths, not '$bad'" ${words}=$bad
    done
done
refuses "--below must be $lengths, not '1e300'" clearance box.obj box.obj --below 1e300
printf '{"bodies":[{"mesh":{"shape":"box"}}]}' >scene.json
refuses "--margin must be $lengths, not '-1'" contacts scene.json --margin=-1
refuses "--most must be a whole number from 1 to 8 contacts with --method exact, not '9'" contacts scene.json --most 9
refuses "--size must be a whole number from 16 to " slice box.obj x.ppm --size 8
complains "pixels, not '8'"
refuses "--cells must be a whole number from 2 to 4294967295 cells, not '1'" field box.obj --cells 1
refuses "--cells must be a whole number from 8 to 4294967295 cells, not '7'" offset box.obj x.obj --by 0.1 --cells 7
refuses "--cells must be a whole number from 5 to " samples box.obj --cells 4
refuses "--fov must be from 0 (orthographic) to below 170 degrees, not '170'" picture box.obj x.ppm --fov 170
refuses "--scale must be a number other than 0, not '0'" convert box.obj out.obj --scale 0
refuses "--bodies must be a whole number from 1 to 60000 bodies, not '60001'" demo stairs --bodies 60001
refuses "--triangles must be a whole number from 100 to 1000000 triangles, not '99'" demo sleeve --triangles 99
refuses "--json has no value" info --json=yes box.obj
refuses "--scale is given twice" convert box.obj out.obj --scale 2 --scale 3
refuses "other than 0" convert box.obj out.obj --scale 0
for bad in w,90 x 90 x,y 0,0,0,90 1,1,90 x,nan xx,90; do
    refuses "--rotate must be an axis and degrees" convert box.obj out.obj --rotate "$bad"
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
prints "--strict: closed" info --quiet -- --strict
try 0 "$tool" --json -- info box.obj
is "len(it['files'])" 1

# Operands.
refuses "usage: abut info FILE..." info
refuses "usage: abut convert IN... OUT" convert box.obj
refuses "unexpected argument 'extra'" version extra
refuses "standard output (-) needs a format: --to" convert box.obj -

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
