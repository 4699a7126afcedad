#!/bin/sh
# Every public header compiles without a warning: alone, as C11 and as C++17, and as C++11 after a
# <windows.h> with the macros of the real one that are words of lower case.
# Arguments: abut command, source folder, build folder.
set -eu
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/windows.h" <<'END'
#define near
#define far
#define small char
#define hyper long long
#define interface struct
#define pascal
#define cdecl
#define min(a, b) (((a) < (b)) ? (a) : (b))
#define max(a, b) (((a) > (b)) ? (a) : (b))
#define rad1 0x0420
#define grp1 0x0430
#define IN
#define OUT
#define OPTIONAL
#define CALLBACK
#define CONST const
#define TRUE 1
#define FALSE 0
#define ERROR 0
#define DELETE 0x00010000L
#define TRANSPARENT 1
#define OPAQUE 2
#define RELATIVE 2
#define ABSOLUTE 1
END
count=0
for header in "$source"/include/abut/*.h "$source"/apps/get.h; do
    name=$(echo "$header" | sed "s|^$source/include/||")
    echo "#include <$name>" >"$work/alone.c"
    [ "${name#/}" = "$name" ] || echo "#include \"$name\"" >"$work/alone.c"
    cc -std=c11 -pedantic -Wall -Wextra -Wconversion -Werror -I"$source/include" -fsyntax-only "$work/alone.c"
    c++ -x c++ -std=c++17 -pedantic -Wall -Wextra -Werror -I"$source/include" -fsyntax-only "$work/alone.c"
    { echo '#include "windows.h"' && cat "$work/alone.c"; } >"$work/after.cpp"
    c++ -std=c++11 -pedantic -Wall -Wextra -Werror -I"$source/include" -fsyntax-only "$work/after.cpp"
    count=$((count + 1))
done
[ "$count" -ge 20 ] || { echo "only $count headers found"; exit 1; }
echo "$count headers compile alone"

# Functions are exported from a DLL by its build, imported by its users, and neither for the static library.
api() { # FLAGS...
    echo '#include <abut/base.h>
ABUT_API' >"$work/api.c"
    cc "$@" -I"$source/include" -E -P "$work/api.c" | tail -1
}
[ "$(api -D_WIN32 -DABUT_BUILD)" = '__declspec(dllexport)' ] || { echo "the build of a DLL exports nothing"; exit 1; }
[ "$(api -D_WIN32)" = '__declspec(dllimport)' ] || { echo "users of a DLL import nothing"; exit 1; }
[ -z "$(api -D_WIN32 -DABUT_STATIC | grep declspec)" ] || { echo "the static library is imported"; exit 1; }
[ "$(api)" = '__attribute__((visibility("default")))' ] || { echo "functions are hidden"; exit 1; }
