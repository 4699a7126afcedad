#!/bin/sh
# Compiles the shared geometry as OpenCL C 1.2 and 3.0, in both precisions and without doubles, by
# clang alone: no device is needed.
set -eu
source=$2
if ! command -v clang >/dev/null; then
    echo "skipped: clang is not installed"
    exit 77
fi
lint() {
    echo "lint: $*"
    clang -x cl -Xclang -finclude-default-header -target spir64 -Wall -Wextra -Werror \
        -Wno-unused-function -I"$source/src/foundation" -I"$source/src/query" -I"$source/src/method" -I"$source/tests" -fsyntax-only "$@" \
        "$source/tests/geom/kernel.h"
}
for version in 1.2 3.0; do
    number=$(echo "$version" | tr -d .)0
    for bits in 32 64; do
        lint -cl-std=CL$version -D__OPENCL_VERSION__="$number" -DABUTI_REAL_BITS=$bits
    done
done
# A device without doubles has no predicates, but everything else. Version 3.0 makes them optional.
lint -cl-std=CL3.0 -D__OPENCL_VERSION__=300 -Xclang -cl-ext=-all -DABUTI_REAL_BITS=32
# C in both precisions.
for bits in 32 64; do
    echo "lint: C at $bits bits"
    clang -x c -std=c11 -D_XOPEN_SOURCE=700 -Wall -Wextra -Wconversion -Wshadow -Werror \
        -Wno-unused-function -I"$source/src/foundation" -I"$source/src/query" -I"$source/src/method" -I"$source/tests" -I"$source/include" \
        -DABUTI_REAL_BITS=$bits -fsyntax-only "$source/tests/geom/kernel.h"
done
# What interpolates fields, which works in floats whatever the precision.
for version in 1.2 3.0; do
    echo "lint: fields as OpenCL C $version"
    clang -x cl -Xclang -finclude-default-header -target spir64 -Wall -Wextra -Werror \
        -Wno-unused-function -I"$source/src/foundation" -I"$source/src/query" -I"$source/src/method" -fsyntax-only -cl-std=CL$version \
        "$source/src/method/contact/contact_shared.h"
done
# Sweeps, which work in doubles.
for version in 1.2 3.0; do
    number=$(echo "$version" | tr -d .)0
    echo "lint: sweeps as OpenCL C $version"
    for file in "$source/src/foundation/geom/sweep_shared.h" "$source"/src/query/sweep/*.cl; do
        clang -x cl -Xclang -finclude-default-header -target spir64 -Wall -Wextra -Werror \
            -Wno-unused-function -I"$source/src/foundation" -I"$source/src/query" -I"$source/src/method" -fsyntax-only -cl-std=CL$version \
            -D__OPENCL_VERSION__="$number" -DABUTI_REAL_BITS=64 "$file"
    done
done
