#!/bin/sh
# The shared library exports exactly the functions that the public headers declare.
# Arguments: abut command, source folder, build folder.
set -eu
source=$2 build=$3
grep -q 'ABUT_SANITIZE:STRING=.' "$build/CMakeCache.txt" && exit 77 # they export their own
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
nm -D --defined-only "$build/libabut.so" | awk '{print $3}' | sort >"$work/exported"
grep -hv '^#' "$source"/include/abut/*.h | tr '\n' ' ' |
    grep -oE 'ABUT_API [^;(]*\(' | sed -E 's/.*[ *](abut_[a-z0-9_]+)\($/\1/' | sort >"$work/declared"
[ "$(wc -l <"$work/declared")" -ge 40 ] || { echo "the headers were not understood"; exit 1; }
diff "$work/declared" "$work/exported" || {
    echo "declared (<) and exported (>) functions differ"
    exit 1
}
