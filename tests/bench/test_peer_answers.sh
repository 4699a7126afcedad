#!/bin/sh
# Answers against two other libraries, in `./test thorough`: distances of 500 poses each against FCL
# and volumes of intersections against CGAL, as the comparisons of bench/peers compute them. Their
# tolerances are 1e-9 of the size. Skipped if the libraries cannot be installed.
# Arguments: abut command, source folder, build folder.
set -u
[ -n "${ABUT_TEST_THOROUGH:-}" ] || {
    echo "skipped: runs in ./test thorough"
    exit 77
}
grep -q 'ABUT_SANITIZE:STRING=.' "$3/CMakeCache.txt" && {
    echo "skipped: the programs are not built with sanitizers"
    exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
if ! "$2/bench/peers/setup" "$3" fcl cgal >log 2>&1; then
    cat log
    for header in fcl/fcl.h CGAL/version.h; do
        echo "#include <$header>" | g++ -isystem/usr/include/eigen3 -E -x c++ - >/dev/null 2>&1 || {
            echo "skipped: $header is not there and could not be installed"
            exit 77
        }
    done
    exit 1
fi
"$1" make icosphere ball.obj --segments 6 --quiet && "$1" make torus ring.obj --segments 12 --quiet || exit 1
"$3/peers/peer-fcl" --part mesh --out fcl.json ball.obj ring.obj >log || { cat log; exit 1; }
"$3/peers/peer-cgal" --out cgal.json ball.obj ring.obj >>log || { cat log; exit 1; }
python3 - <<'PYTHON'
import json, sys
failed = compared = 0
for peer, kinds in (("fcl", ("distance",)), ("cgal", ("common", "nearest"))):
    for case in json.load(open(peer + ".json"))["cases"]:
        if not case["case"].split("/")[2].startswith(kinds):
            continue
        compared += 1
        if case["disagreements"]:
            print("FAILED: %s: %d disagreements" % (case["case"], case["disagreements"]))
            failed += 1
print("%d comparisons" % compared)
sys.exit(failed > 0 or compared < 10)
PYTHON
