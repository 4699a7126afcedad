#!/bin/sh
# Every complete C program in README.md and docs/ compiles without a warning and runs, but for those
# of the tutorial and the cookbook, which are the business of test_pages.py; no page is left out of
# the index; every public function is named on a page. Links are followed by test_words.py.
# Arguments: abut command, source folder, build folder.
set -eu
source=$2 build=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cc=$(sed -n 's/^CMAKE_C_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")
sanitize=$(sed -n 's/^ABUT_SANITIZE:STRING=//p' "$build/CMakeCache.txt")
pages=$(cd "$source" && find README.md docs -name '*.md')

programs=0
for page in $pages; do
    case $page in docs/tutorial.md | docs/cookbook/*) continue ;; esac
    # Splits the ```c fences of a page into files; only those with a main are programs.
    awk -v base="$work/$(echo "$page" | tr / _)" '
        /^```c$/ { inside = 1; n++; next }
        /^```/ { inside = 0 }
        inside { print > (base "." n ".c") }' "$source/$page"
done
for program in "$work"/*.c "$source"/examples/*.c; do
    grep -q 'int main' "$program" || continue
    "$cc" -std=c11 -Wall -Wextra ${sanitize:+-fsanitize=$sanitize} -I"$source/include" "$program" \
        -o "$work/program" -L"$build" -labut -Wl,-rpath,"$build" -lm || {
        echo "$program does not compile"
        exit 1
    }
    (cd "$work" && ./program >"$work/output") || { echo "$program failed"; exit 1; }
    programs=$((programs + 1))
done
[ "$programs" -ge 3 ] || { echo "only $programs programs found"; exit 1; }

for page in $(cd "$source/docs" && find . -name '*.md' ! -name README.md -path './*' | sed 's|^\./||'); do
    case $page in
    */*) index=$source/docs/${page%/*}/README.md page=${page##*/} ;;
    *) index=$source/docs/README.md ;;
    esac
    grep -q "($page)" "$index" || { echo "$index does not list $page"; exit 1; }
done

# The page of a method tells at a glance what it is for, what it promises, costs and stands on, and shows it.
for page in bvh nearest sign ray pair sweep self field contact layers map radial character raster world; do
    for row in 'take it for' promise cost method; do
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
echo "$programs programs run"
