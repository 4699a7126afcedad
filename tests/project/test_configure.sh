#!/bin/sh
# What CMake prints about the Python package: that it is built by pip, and whether its tests can run.
# Arguments: abut command, source folder, build folder.
set -eu
source=$2 build=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cc=$(sed -n 's/^CMAKE_C_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")

# Configures with one more option; fails unless the output has a line with the text.
demand() {
    cmake -S "$source" -B "$work/build" -DCMAKE_C_COMPILER="$cc" "$1" >"$work/log" 2>&1 ||
        { cat "$work/log"; exit 1; }
    grep -qF -- "$2" "$work/log" || { cat "$work/log"; echo "not said: $2" >&2; exit 1; }
}

demand -DABUT_TESTS=OFF "python (built by 'pip install .', see docs/python.md)"
grep -q 'tests of the Python package' "$work/log" && { echo "tests are off" >&2; exit 1; }
demand -DABUT_TESTS=ON "python (built by"
grep -q 'no tests, since' "$work/log" && exit 77 # without cmocka or GMP
demand -DPYTHON3=OFF "no tests of the Python package and no other tests in Python, since python3 is missing"
if ! /usr/bin/python3 -c 'import numpy' 2>"$work/log"; then
    printf '#!/bin/sh\nexit 1\n' >"$work/python3"
    chmod +x "$work/python3"
    demand -DPYTHON3="$work/python3" "no tests of the Python package, since no python3 has numpy"
fi
