#!/bin/sh
# bench/peers/run.py: runs what is there, names what is not, collects the results. The programs
# here are stand-ins; the real ones need libraries that ./test does not install.
# Arguments: abut command, source folder, build folder.
set -u
LC_ALL=C
export LC_ALL
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0

complain() {
    echo "FAILED: $1"
    failures=$((failures + 1))
}

# expect CODE PART ARGUMENT...
expect() {
    code=$1 part=$2
    shift 2
    python3 "$source/bench/peers/run.py" --build . "$@" >said 2>&1
    got=$?
    [ "$got" -eq "$code" ] || complain "'$*' returned $got instead of $code: $(cat said)"
    grep -q -e "$part" said || complain "'$*' did not say '$part' but: $(cat said)"
}

ln -s "$3/abut-bench" . # describes the machine
mkdir peers
expect 0 'embree: not built; bench/peers/setup installs libembree-dev'
for name in fcl cgal bullet ode openvdb; do
    grep -q "^$name: not built" said || complain "$name is not named"
done
grep -q '^0 comparisons' said || complain "something was compared"

stand_in() { # NAME MILLISECONDS-OF-OURS OF-THEIRS
    cat >"peers/peer-$1" <<END
#!/bin/sh
echo "$1 got \$*"
while [ "\$1" != --out ]; do shift; done
cat >"\$2" <<JSON
{"format": "abut-bench 1", "quick": false, "cases": [
{"case": "peer/$1/nearest/box", "threads": 1, "median_ms": 3, "minimum_ms": $2, "repeats": 5,
 "elements": 10, "unit": "query", "peer": "$1 1.2", "peer_median_ms": 9, "peer_minimum_ms": $3,
 "ratio": 1, "disagreements": 2, "note": "says \\\\"no\\\\"", "hash": "0123456789abcdef"}]}
JSON
END
    chmod +x "peers/peer-$1"
}
stand_in embree 2 5
stand_in ode 4 1
expect 0 'embree got --out .*json --quick one.obj two.obj' --out all.json --quick one.obj two.obj
grep -q '^2 comparisons; abut is faster in 1' said || complain "the count is wrong: $(cat said)"
grep -q '^cgal: not built' said || complain "what is not there is not named"
grep -q '"case": "peer/embree/nearest/box".*"peer": "embree 1.2", "peer_median_ms": 9, "peer_minimum_ms": 5, "ratio": 1, "disagreements": 2, "note": "says \\"no\\""' all.json ||
    complain "the results are not what the program said: $(cat all.json)"
grep -q '"case": "peer/ode/' all.json || complain "the second program's result is missing"
grep -q '^"cpu": ' all.json || complain "the machine is not named"
python3 "$source/bench/compare.py" all.json all.json >said || complain "the results cannot be compared: $(cat said)"
grep -q '^2 compared, 0 with' said || complain "the results cannot be compared: $(cat said)"

# Programs that fail or leave nonsense: the others still run, and the exit code tells.
printf '#!/bin/sh\nexit 3\n' >peers/peer-cgal
chmod +x peers/peer-cgal
expect 2 'peer-cgal: failed'
grep -q '^2 comparisons' said || complain "one that fails stops the others"
printf '#!/bin/sh\necho "{" >"$2"\n' >peers/peer-cgal
expect 2 'cgal.json: .* line'
printf '#!/bin/sh\nexit 0\n' >peers/peer-cgal
expect 2 'cgal.json'

[ "$failures" -eq 0 ] && echo "all checks passed"
[ "$failures" -eq 0 ]
