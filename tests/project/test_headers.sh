#!/bin/sh
# Every public header compiles alone, as C11 and as C++, without a warning.
# Arguments: abut command, source folder, build folder.
set -eu
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
count=0
for header in "$source"/include/abut/*.h; do
    name=abut/$(basename "$header")
    echo "#include <$name>" >"$work/alone.c"
    cp "$work/alone.c" "$work/alone.cpp"
    cc -std=c11 -pedantic -Wall -Wextra -Wconversion -Werror -I"$source/include" -fsyntax-only \
        "$work/alone.c"
    c++ -std=c++11 -pedantic -Wall -Wextra -Werror -I"$source/include" -fsyntax-only \
        "$work/alone.cpp"
    count=$((count + 1))
done
[ "$count" -ge 6 ] || { echo "only $count headers found"; exit 1; }
echo "$count headers compile alone"
