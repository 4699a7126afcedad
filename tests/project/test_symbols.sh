#!/bin/sh
# The shared libraries export exactly the functions that the public headers declare. libabut also exports
# the private functions that the other two call, and does not need libpng.
# Arguments: abut command, source folder, build folder.
set -eu
source=$2 build=$3
grep -q 'ABUT_SANITIZE:STRING=.' "$build/CMakeCache.txt" && exit 77 # they export their own
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for library in libabut libabut_picture libabut_figures; do
    nm -D --defined-only "$build/$library.so" | awk '{print $3}'
done | sort >"$work/all"
grep -v '^abuti_' "$work/all" >"$work/exported"
grep -hv '^#' "$source"/include/abut/*.h | tr '\n' ' ' |
    grep -oE 'ABUT_API [^;(]*\(' | sed -E 's/.*[ *](abut_[a-z0-9_]+)\($/\1/' | sort >"$work/declared"
[ "$(wc -l <"$work/declared")" -ge 40 ] || { echo "the headers were not understood"; exit 1; }
diff "$work/declared" "$work/exported" || {
    echo "declared (<) and exported (>) functions differ"
    exit 1
}
grep '^abuti_' "$work/all" >"$work/shared"
nm -D --undefined-only "$build/libabut_picture.so" "$build/libabut_figures.so" | awk '{print $2}' |
    grep '^abuti_' | sort -u | diff - "$work/shared" || {
    echo "called (<) and exported (>) private functions differ: see ABUTI_API"
    exit 1
}
! nm -D --undefined-only "$build/libabut.so" | grep ' png_' || { echo "libabut.so needs libpng"; exit 1; }
