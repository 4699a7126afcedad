#!/bin/sh
# base/math_shared.h compiles as OpenCL C 1.2 and 3.0, in both precisions, without a device.
# Arguments: abut command, source folder, build folder.
set -eu
source=$2
command -v clang >/dev/null || {
    echo "no clang to compile OpenCL C with"
    exit 77
}
for standard in CL1.2 CL3.0; do
    for bits in 32 64; do
        clang -x cl -cl-std=$standard -DABUTI_REAL_BITS=$bits -target spir64 \
            -Xclang -finclude-default-header -Wall -Wextra -Wconversion -Wshadow -Werror \
            -I"$source/src/foundation" -fsyntax-only "$source/tests/base/math.cl"
        echo "$standard, $bits bits: compiles"
    done
done
