# The option --device of commands that ask questions: the CPU path is always there, others are
# refused by commands that have no other.
. "$(dirname "$0")/support.sh"
"$tool" make box box.obj --quiet || exit 1
printf '0 0 5 0 0 -1\n' >rays.txt

ABUT_OPENCL_LIBRARY=off # not even looked for
export ABUT_OPENCL_LIBRARY
try 0 "$tool" nearest box.obj --random 5
cp out plain
try 0 "$tool" nearest box.obj --random 5 --device cpu
demand "--device cpu changes the answer" "$(cmp plain out 2>&1)" = ""
try 0 "$tool" inside box.obj --random 5 --device cpu
try 1 "$tool" inside box.obj --random 5 --device gpu
complains "abut inside: no OpenCL device: ABUT_OPENCL_LIBRARY is off; omit --device to run on the CPU"
try 0 "$tool" nearest box.obj --random 5 --sign winding --device cpu
prints "0,0,5,0,0,-1," ray box.obj rays.txt --device=cpu
try 0 "$tool" distance box.obj box.obj --device cpu
refuses "--device requires --poses" distance box.obj box.obj --device gpu
try 3 "$tool" overlap box.obj box.obj --device cpu
refuses "--device requires --poses" overlap box.obj box.obj --device gpu
fails "abut ray: no OpenCL device" ray box.obj rays.txt --device gpu
try 1 "$tool" inside box.obj --random 5 --device gpu --json
is "it['error']['kind']" "device error"
try 2 "$tool" distance box.obj box.obj --device gpu --json
is "it['error']['kind']" "usage error"
try 3 "$tool" contacts box.obj box.obj --pose 0,0,0.9 --device cpu
refuses "--device requires --method field" contacts box.obj box.obj --device gpu
refuses "--device requires --method field" contacts box.obj box.obj --method map --device gpu
fails "abut contacts: no OpenCL device" contacts box.obj box.obj --cells 8 --device gpu
refuses "--device needs a value: --device NAME" nearest box.obj --random 5 --device
refuses "is given twice" nearest box.obj --random 5 --device cpu --device gpu
fails "abut nearest: no OpenCL device" nearest box.obj --random 5 --device gpu
try 1 "$tool" nearest box.obj --random 5 --device 7 --json
is "it['error']['kind']" "device error"
fails "abut demo: no OpenCL device" demo sheet --triangles 100 --frames 1 --device gpu
refuses "does not apply to demo stack" demo stack --device gpu
unset ABUT_OPENCL_LIBRARY

# A device by its number gives the answer of the CPU path.
if grep -q 'ABUT_SANITIZE:STRING=.' "$build/CMakeCache.txt"; then
    skip "devices: an OpenCL runtime is not known to sanitizers"
elif ! "$tool" devices | grep -q '^ *0 '; then
    skip "devices: there is none"
else
    try 0 "$tool" nearest box.obj --random 5 --device 0
    demand "the device changes the answer" "$(cmp plain out 2>&1)" = ""
    for question in "ray box.obj rays.txt" "ray box.obj rays.txt --all" \
        "inside box.obj --random 50 --winding" \
        "nearest box.obj --random 50 --sign winding" "nearest box.obj --random 50 --sign normal" \
        "nearest box.obj --random 50 --most 3 --radius 0.2" \
        "map box.obj box.obj --pose 3,1,0 --resolution 48 --json" \
        "map box.obj --self --resolution 48 --json" "thickness box.obj --resolution 48 --json"; do
        try 0 "$tool" $question
        cp out plain
        try 0 "$tool" $question --device 0
        demand "the device changes the answer of $question" "$(cmp plain out 2>&1)" = ""
    done
    printf '2 0 0\n0.5 0 0\n0 0 0\n3 4 0 0 0 0.5 0.5\n' >poses.txt
    # Which of several triangles that meet is named depends on the tree.
    printf '2 0 0\n1.5 1.5 0\n3 4 0 0 0 0.5 0.5\n' >apart.txt
    for question in "3 overlap --poses poses.txt" "0 distance --poses apart.txt" \
        "3 distance --margin 1 --poses poses.txt"; do
        wanted=${question%% *} question=${question#* }
        try "$wanted" "$tool" $question box.obj box.obj
        cp out plain
        try "$wanted" "$tool" $question box.obj box.obj --device 0
        demand "the device changes the answer of $question" "$(cmp plain out 2>&1)" = ""
    done
    # Contacts by fields, of two meshes and of a scene.
    "$tool" make torus torus.obj --quiet
    cat >scene.json <<EOF
{"bodies": [{"name": "low", "mesh": {"shape": "torus"}},
            {"name": "high", "mesh": {"shape": "torus"}, "position": [0.3, 0.1, 0.3]},
            {"name": "box", "mesh": {"shape": "box"}, "position": [0, 1.2, 0.3], "method": "exact"}]}
EOF
    for question in "box.obj torus.obj --pose 0,0,0.6@x,20 --cells 24" \
        "box.obj torus.obj --pose 0,0,0.6 --cells 24 --samples --margin 0.1 --most 4" \
        "scene.json --method field"; do
        try 3 "$tool" contacts $question
        cp out plain
        demand "there are few contacts of $question" "$(wc -l <plain)" -gt 4
        try 3 "$tool" contacts $question --device 0
        demand "the device changes contacts of $question" "$(cmp plain out 2>&1)" = ""
    done
    try 3 "$tool" contacts scene.json --device 0 --json # the rule selects fields
    is "it['device'] != 'cpu', [m['method'] for m in it['methods']]" "(True, ['field', 'field', 'exact'])"
    try 3 "$tool" contacts box.obj torus.obj --cells 8 --device 0 --json
    is "it['device'] not in ('cpu', '')" True
    try 3 "$tool" contacts box.obj torus.obj --cells 8 --device 0 --out contacts.csv
    says "  device  "
    try 3 "$tool" contacts box.obj torus.obj --cells 8 --json
    is "it['device']" cpu
    refuses "which no body of the scene uses" contacts scene.json --method exact --device 0
    try 0 "$tool" demo sheet --triangles 200 --frames 12 --record here.abutm
    try 0 "$tool" demo sheet --triangles 200 --frames 12 --record there.abutm --device 0
    demand "the device changes the motion" "$(cmp here.abutm there.abutm 2>&1)" = ""
    if grep -q 'ODE_LIBRARY:FILEPATH=/' "$build/CMakeCache.txt"; then
        steps="{k: v for k, v in it.items() if k not in ('device', 'wall_seconds', 'contact_seconds')}"
        for scene in "drop --bodies 9 --seconds 2" "plane --bodies 2 --seconds 1.5"; do
            try 0 "$tool" demo $scene --json
            is "it['device'], it['contacts_a_step'] > 0.5" "('cpu', True)"
            value "$steps" >plain
            try 0 "$tool" demo $scene --device 0 --json
            is "it['device'] != 'cpu'" True
            is "$steps" "$(cat plain)"
        done
    fi
    # Compiling kernels is not part of the time of building.
    prints "including opening the device and compiling its kernels" field box.obj --cells 8 --device 0 --time
    demand "kernels have warnings" "$(grep warning err)" = ""
    try 0 "$tool" field box.obj --cells 8 --device 0 --time --json
    is "it['first_build_ms'] > it['build_ms'] > 0" True
    try 0 "$tool" field box.obj --cells 8 --time --json
    is "'first_build_ms' in it" False
    fails "77" nearest box.obj --random 5 --device 77
fi
finish
