#!/bin/sh
# The benchmark cases of devices on their small inputs: they check themselves against the CPU.
# Arguments: abut command, source folder, build folder.
set -eu
build=$3
if grep -q 'ABUT_SANITIZE:STRING=thread' "$build/CMakeCache.txt"; then
    echo "the threads of an OpenCL runtime are not known to ThreadSanitizer"
    exit 77
fi
ASAN_OPTIONS=detect_leaks=0 # an OpenCL runtime keeps memory until the process ends
export ASAN_OPTIONS
if ! "$1" devices | grep -q ' cpu '; then
    echo "no OpenCL CPU device"
    exit 77
fi
said=$("$build/abut-bench" --quick --filter device --device cpu)
listed=$("$build/abut-bench" --list | grep -c "^device/")
[ "$(echo "$said" | grep -c "^device/")" -eq "$listed" ] # those of a file are skipped, and say so
ABUT_BENCH_DEVICE=cpu "$build/abut-bench" --quick --filter device/scan | grep -q '^device/scan .* 1 '
