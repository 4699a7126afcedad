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
try 0 "$tool" ray box.obj rays.txt --device=cpu
says "0,0,5,0,0,-1,"
try 2 "$tool" ray box.obj rays.txt --device gpu
complains "abut ray: --device gpu: 'abut ray' works on the CPU only so far"
try 2 "$tool" ray box.obj rays.txt --device gpu --json
is "it['error']['kind']" "usage error"
try 2 "$tool" nearest box.obj --random 5 --device
complains "--device needs a value: --device NAME"
try 2 "$tool" nearest box.obj --random 5 --device cpu --device gpu
complains "was given twice"
try 2 "$tool" nearest box.obj --random 5 --device 7
complains "works on the CPU only so far"
finish
