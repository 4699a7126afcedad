# abut devices: with a device, without one, and without a loader.
. "$(dirname "$0")/../tools/support.sh"
ASAN_OPTIONS=detect_leaks=0 # an OpenCL runtime keeps memory until the process ends
export ASAN_OPTIONS
if grep -q 'ABUT_SANITIZE:STRING=thread' "$build/CMakeCache.txt"; then
    echo "the threads of an OpenCL runtime are not known to ThreadSanitizer"
    exit 77
fi

# No loader, none that is one, none wanted, one without platforms: no error, and a reason.
mkdir none
echo "no library" >broken.so
for setting in ABUT_OPENCL_LIBRARY=off ABUT_OPENCL_LIBRARY=/nowhere.so \
    "ABUT_OPENCL_LIBRARY=$scratch/broken.so" ABUT_OPENCL_LIBRARY=libm.so.6 \
    "OCL_ICD_VENDORS=$scratch/none"; do
    try 0 env OCL_ICD_FILENAMES= "$setting" "$tool" devices
    mute err
    says "no OpenCL device: "
    says "queries run on the CPU"
    try 0 env OCL_ICD_FILENAMES= "$setting" "$tool" devices --check --json
    is "it['devices']" "[]"
    is "'no OpenCL device' in it['reason']" True
    try 0 env OCL_ICD_FILENAMES= "$setting" "$tool" make box box.obj --quiet
    try 0 env OCL_ICD_FILENAMES= "$setting" "$tool" info box.obj
done

try 2 "$tool" devices file.obj
try 2 "$tool" devices --chek
complains "did you mean --check?"

try 0 "$tool" devices --json
count=$(value "len(it['devices'])")
if [ "$count" = 0 ] || [ "$count" = unknown ]; then
    skip "there is no device, or no python3"
    finish
fi
is "sorted(set(d['kind'] for d in it['devices']) - {'cpu', 'gpu', 'other'})" "[]"
is "[d['number'] for d in it['devices']] == list(range(len(it['devices'])))" True
is "all(d['units'] >= 1 and d['memory_bytes'] > 0 for d in it['devices'])" True
is "sum(d['default'] for d in it['devices']) == ('gpu' in [d['kind'] for d in it['devices']])" True
name=$(value "it['devices'][0]['name']")
try 0 "$tool" devices
mute err
says "$name"
try 0 "$tool" devices --check
says "passed"
try 0 "$tool" devices --check --json
is "all(d['works'] for d in it['devices'])" True
is "'same_bits' in it['devices'][0]" True
finish
