#!/bin/sh
# Every complete C program in README.md and docs/ compiles without a warning and runs, except for those
# of the tutorials and the cookbook, which are the business of test_pages.py; every one of them, also
# of these, is C++17 too, that of README.md without extensions; C++ programs run; no page is left out of
# the index; every public function is named on a page. Links are followed by test_page_references.py.
# Arguments: abut command, source folder, build folder.
set -eu
source=$2 build=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cc=$(sed -n 's/^CMAKE_C_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")
sanitize=$(sed -n 's/^ABUT_SANITIZE:STRING=//p' "$build/CMakeCache.txt")
pages=$(cd "$source" && find README.md docs -name '*.md' ! -name 'migration-*')

programs=0
for page in $pages; do
    case $page in docs/tutorial*.md | docs/cookbook/*) continue ;; esac
    # Splits the ```c fences of a page into files; only those with a main are programs.
    awk -v base="$work/$(echo "$page" | tr / _)" '
        /^```c$/ { inside = 1; n++; next }
        /^```/ { inside = 0 }
        inside { print > (base "." n ".c") }' "$source/$page"
done
# The files that the programs of README.md read.
"$1" make teapot-solid "$work/teapot.ply" --quiet
"$1" make torus "$work/ring.ply" --quiet
for program in "$work"/*.c "$source"/examples/*.c; do
    grep -q 'int main' "$program" || continue
    "$cc" -std=c11 -Wall -Wextra ${sanitize:+-fsanitize=$sanitize} -I"$source/include" "$program" \
        -o "$work/program" -L"$build" -labut_picture -labut_figures -labut -Wl,-rpath,"$build" -lm || {
        echo "$program does not compile"
        exit 1
    }
    (cd "$work" && ./program >"$work/output") || { echo "$program failed"; exit 1; }
    programs=$((programs + 1))
done
# As C++: all programs of all pages at once, each in a namespace of its own.
mkdir "$work/cpp"
for page in $pages; do
    awk -v folder="$work/cpp" -v base="$(echo "$page" | tr / _)" '
        /^```(c|cpp)$/ { kind = substr($0, 4); n++; first = 1; next }
        /^```/ { kind = "" }
        kind && first { name = folder "/" base "." n "." kind
            if (match($0, /^\/\* [a-z_]+\.h \*\/$/)) name = folder "/" substr($2, 1)
            first = 0 }
        kind { print > name }' "$source/$page"
done
ode=$(echo '#include <ode/ode.h>' | c++ -fsyntax-only -x c++ - 2>/dev/null && echo yes || echo no)
{
    for header in abut/abut.h abut/garment.h math.h stdio.h stdlib.h string.h; do echo "#include <$header>"; done
    [ "$ode" = no ] || echo '#include <ode/ode.h>'
    for program in "$work"/cpp/*.c; do
        grep -q 'int main' "$program" || continue
        ! grep -q 'ode/ode.h' "$program" || [ "$ode" = yes ] || continue
        echo "namespace n$((translated = ${translated:-0} + 1)) {"
        echo "#include \"$program\""
        echo "}"
    done
} >"$work/all.cpp"
translated=$(grep -c '^namespace' "$work/all.cpp")
[ "$translated" -ge 40 ] || { echo "only $translated programs to compile as C++"; exit 1; }
c++ -std=c++17 -fsyntax-only -Wno-return-type -I"$source/include" -I"$work/cpp" "$work/all.cpp" || {
    echo "the programs above are not C++17"
    exit 1
}
c++ -x c++ -std=c++17 -pedantic-errors -fsyntax-only -I"$source/include" "$work/cpp/README.md.1.c" || {
    echo "the program of README.md is not C++17 without extensions"
    exit 1
}
for program in "$work"/cpp/*.cpp; do
    c++ -std=c++17 -pedantic -Wall -Wextra -Werror ${sanitize:+-fsanitize=$sanitize} -I"$source/include" "$program" \
        -o "$work/program" -L"$build" -labut -Wl,-rpath,"$build" || { echo "$program does not compile"; exit 1; }
    (cd "$work" && ./program >"$work/output") || { echo "$program failed"; exit 1; }
    plus=$((${plus:-0} + 1))
done
[ "${plus:-0}" -ge 1 ] || { echo "no page has a C++ program"; exit 1; }

[ "$programs" -ge 3 ] || { echo "only $programs programs found"; exit 1; }

for page in $(cd "$source/docs" && find . -name '*.md' ! -name README.md -path './*' | sed 's|^\./||'); do
    case $page in
    */*) index=$source/docs/${page%/*}/README.md page=${page##*/} ;;
    *) index=$source/docs/README.md ;;
    esac
    grep -q "($page)" "$index" || { echo "$index does not list $page"; exit 1; }
done

# The first table of a method's page states its purpose, guarantee, cost and method.
for page in bvh nearest sign ray collider pair sweep self field contact layers map radial character raster world; do
    for row in 'use it for' guarantee cost method; do
        grep -q "^| $row | ." "$source/docs/$page.md" || { echo "docs/$page.md: there is no row '$row'"; exit 1; }
    done
    [ $page = bvh ] || grep -q '](pictures/' "$source/docs/$page.md" || { echo "docs/$page.md has no picture"; exit 1; }
done

grep -hv '^#' "$source"/include/abut/*.h | tr '\n' ' ' | grep -oE 'ABUT_API [^;(]*\(' |
    sed -E 's/.*[ *](abut_[a-z0-9_]+)\($/\1/' | sort >"$work/declared"
[ "$(wc -l <"$work/declared")" -ge 150 ] || { echo "the headers were not understood"; exit 1; }
(cd "$source" && grep -ohE 'abut_[a-z0-9_]+' $pages) | sort -u >"$work/named"
comm -23 "$work/declared" "$work/named" >"$work/unnamed"
[ ! -s "$work/unnamed" ] || { echo "no page names:"; cat "$work/unnamed"; exit 1; }
echo "$programs programs run, $translated are C++ too, $plus programs of C++ run"
