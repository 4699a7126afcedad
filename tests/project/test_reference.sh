#!/bin/sh
# The API reference is built without a warning and has the comments of the headers.
# Arguments: abut command, source folder, build folder.
set -eu
command -v doxygen >/dev/null || exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$2/tools/reference" "$work"
grep -q 'Finds the closest point of the mesh at a distance of at most' "$work/html/nearest_8h.html"
grep -q 'infinity if no triangle is within the radius' "$work/html/structabut__nearest.html"
