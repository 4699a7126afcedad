# abut robot: the sample arm, configurations, motions, obstacles, allowed collisions, pictures, wrong input.
. "$(dirname "$0")/support.sh"

"$tool" version --json | grep -q '"urdf": true' || {
    cp "$source/examples/robot/arm.urdf" .
    fails "without expat" robot arm.urdf
    finish
    exit
}
cp -r "$source/examples/robot/." . || exit 1
free=1.2,-0.2,0,1.4,0,1.2,0,0.02
hits=0.3,1.2,0,0.4,0,0.5,0,0

try 0 "$tool" robot arm.urdf --json
is "[it['links'], len(it['variables']), it['variables'][7]['kind'], it['variables'][0]['upper']]" \
    "[10, 8, 'prismatic', 2.9]"
try 0 "$tool" robot arm.urdf --config $free --obstacles cell.json --json
is "[it['configurations'][0]['collides'], it['reliability'], it['configurations'][0]['distance'] > 0.01]" \
    "[False, 'guaranteed', True]"
try 3 "$tool" robot arm.urdf --config $hits --obstacles cell.json --json
is "[it['configurations'][0][k] for k in ('collides', 'distance', 'link', 'obstacle')]" \
    "[True, 0, 'link6', 'shelf']"
try 0 "$tool" robot arm.urdf --config $hits --quiet
says no
{
    echo "a b c"
    echo "$free"
    echo "$hits"
} | tr , ' ' >configs.csv
try 3 "$tool" robot arm.urdf --configs configs.csv --obstacles cell.json --json
is "[c['collides'] for c in it['configurations']]" "[False, True]"

# A motion: the contact is at the time at which a configuration of the way begins to collide.
try 3 "$tool" robot arm.urdf --obstacles cell.json --from $free --to -2.2,0.4,0,1.1,0,0.9,0,0.02 --json --png motion.png
is "[it['motion'][k] for k in ('touches', 'link', 'obstacle')], 0.34 < it['motion']['time'] < 0.35" \
    "([True, 'hand', 'pot'], True)"
demand "no picture" "$(test -s motion.png && echo yes)" = yes
try 0 "$tool" robot arm.urdf --obstacles cell.json --from $free --to $free --quiet
says no

# Allowed collisions.
pairs() {
    "$tool" robot arm.urdf --json "$@" | "$python" -c 'import json, sys; print(json.load(sys.stdin)["pairs_of_links"])'
}
all=$(pairs)
demand "an SRDF file does not allow two pairs" "$(pairs --srdf arm.srdf)" = $((all - 2))
demand "sampling allows nothing" "$(test "$(pairs --sample 200)" -lt "$all" && echo yes)" = yes

refuses "--from and --to" robot arm.urdf --from $free
refuses "must have 8 numbers" robot arm.urdf --config 1,2
refuses "tolerance" robot arm.urdf --from $free --to $free --tolerance=-1
fails "none.urdf" robot none.urdf
echo '<robot><link name="a"><collision><geometry><mesh filename="none.stl"/></geometry></collision></link></robot>' \
    >missing.urdf
fails "missing.urdf: line 1: <mesh>: 'none.stl' is not a regular file" robot missing.urdf
finish
