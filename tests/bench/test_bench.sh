#!/bin/sh
# The benchmark program: every case runs on its small inputs with the same answer on one and two
# threads, some with a known one; results can be kept and compared; broken files and wrong usage
# are refused.
# Arguments: abut command, source folder, build folder.
set -u
LC_ALL=C
export LC_ALL
bench=$3/abut-bench golden=$2/tests/bench/golden.txt
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
mkdir temporary
TMPDIR=$work/temporary
export TMPDIR
failures=0

complain() {
    echo "FAILED: $1"
    failures=$((failures + 1))
}

# expect CODE PART COMMAND...: the exit code, and a part of what is said on either stream.
expect() {
    code=$1 part=$2
    shift 2
    "$@" >said 2>&1
    got=$?
    [ "$got" -eq "$code" ] || {
        complain "'$*' returned $got instead of $code"
        cat said
    }
    grep -q -e "$part" said || {
        complain "'$*' did not say '$part' but:"
        cat said
    }
}

# ---- golden answers ----
# Cases whose answers the library specifies: the same for every compiler, set of flags, SIMD width and
# processor. Sanitizers run only these, and once.
answers_of() { # FILE: the cases and answers of results
    sed -n 's/^{"case": "\([^"]*\)".*"hash": "\([^"]*\)".*/\1 \2/p' "$1" | sort -u
}
check_golden() { # ANSWERS
    join -o 1.1,1.2 "$1" "$golden" >known # the cases of both
    [ -z "${ABUT_GOLDEN_WRITE:-}" ] || cp known "$golden"
    diff "$golden" known && return
    complain "answers (>) are not those of tests/bench/golden.txt (<)"
    echo "If the new ones are right, run this test once with ABUT_GOLDEN_WRITE=1 to keep them, and"
    echo "say in the commit why they changed."
}
ABUT_OPENCL_LIBRARY=off
export ABUT_OPENCL_LIBRARY
sanitized=
grep -q 'ABUT_SANITIZE:STRING=.' "$3/CMakeCache.txt" && sanitized='--threads 1 --repeat 1'
if [ "$sanitized" ] && [ -z "${ABUT_TEST_THOROUGH:-}" ]; then
    while read -r name hash; do
        expect 0 "^$name " "$bench" --quick $sanitized --filter "$name" --out one.json
        answers_of one.json >>some
    done <"$golden"
    sort -u some >answers
    check_golden answers
    [ "$failures" -eq 0 ] && echo "$(wc -l <"$golden") golden answers"
    exit $((failures > 0))
fi

# ---- runs ----
expect 0 'usage' "$bench" --help
expect 0 'mesh/create-floats' "$bench" --list
cases=$(grep -c / said)
[ "$cases" -ge 150 ] || complain "only $cases cases"
[ "$(sort said | uniq -d | wc -l)" -eq 0 ] || complain "two cases of one name"
expect 0 'device/scan .*skipped: .*no OpenCL device' "$bench" --quick $sanitized --out all.json
grep -q 'mesh/create-doubles' said || complain "a case is not in the table"
skipped=$(grep -c '^[^ ]* *skipped: ' said) # those of devices have a test of their own
expect 0 'skipped' "$bench" --quick --filter device/scan
expect 2 'no OpenCL device' "$bench" --quick --filter device/scan --device gpu
done=$(sed -n 's/^{"case": "\([^"]*\)".*/\1/p' all.json | sort -u | wc -l)
[ "$done" -ge 120 ] && [ $((done + skipped)) -eq "$cases" ] ||
    complain "of $cases cases $done are in the results and $skipped were skipped"
[ -z "$(ls temporary)" ] || complain "temporary files were left: $(ls temporary)"
[ ! -e all.json.part ] || complain "a part file was left"
for key in format commit compiler flags cpu system date quick; do
    grep -q "^\"$key\": " all.json || complain "the results lack \"$key\""
done
if command -v python3 >/dev/null; then
    python3 - all.json <<'PYTHON' || complain "the results are not what JSON readers expect"
import json, sys
run = json.load(open(sys.argv[1]))
for case in run["cases"]:
    assert case["median_ms"] >= case["minimum_ms"] >= 0, case
    assert case["repeats"] in (1, 2) and case["threads"] in (1, 2), case
    assert case["elements"] > 0 and case["elements_per_s"] > 0, case
    assert int(case["hash"], 16) != 0, case
PYTHON
fi
answers_of all.json >answers
check_golden answers

# A thorough run compares the answers of all cases with those of the build `release` of the same
# source, except for those that libm may change.
grep -v -e '^machine/' -e '^device/' -e '^mesh/normals' -e '^geom/triangle-solid-angle' -e '^picture/' \
    answers >portable
release=$2/build/release
if [ "$3" = "$release" ]; then
    cp portable "$3/bench-answers.txt"
elif [ -e "$release/bench-answers.txt" ] && [ -z "$(find "$2/src" "$2/include" "$2/bench" "$2/apps" \
    "$2/examples" -name '*.[ch]' -newer "$release/bench-answers.txt")" ]; then
    join -o 1.1,1.2,2.2 "$release/bench-answers.txt" portable | awk '$2 != $3' >differing
    [ ! -s differing ] || complain "answers of release and of this build differ: $(cat differing)"
fi
[ "$sanitized" ] && exit $((failures > 0))

ABUT_BENCH_SHAPE=cube expect 2 "scan, torus" "$bench" --filter growth/build
ABUT_BENCH_TRIANGLES=7x expect 2 "from 8 to" "$bench" --filter growth/build
expect 0 'mesh/create-floats' "$bench" --quick --filter create-f --repeat 3 --threads 2 --out few.json
[ "$(grep -c '"repeats": 3' few.json)" -eq 1 ] || complain "--repeat or --filter did not work"
[ "$(grep -c '"threads": 2' few.json)" -eq 1 ] || complain "--threads did not work"

# ---- comparison ----
command -v python3 >/dev/null || exit $((failures > 0))
compare="python3 $2/bench/compare.py"
expect 0 ' 0 with a different hash' $compare all.json all.json
expect 0 'only in the old' $compare all.json few.json
sed 's/"hash": "....\(.*\)"}$/"hash": "0123\1"}/' few.json >other.json
expect 1 'different' $compare few.json other.json
expect 0 'different' $compare few.json other.json --allow-hash
sed 's/"median_ms": [^,]*/"median_ms": 2.5/' few.json >half.json
sed 's/"median_ms": [^,]*/"median_ms": 5/' few.json >whole.json
expect 0 ' 0\.500 *same' $compare whole.json half.json
expect 0 ' 2\.000 *same' $compare half.json whole.json
sed 's/"quick": true/"quick": false/' few.json >full.json
expect 2 'quick' $compare few.json full.json
tr -d '\n' <few.json >one-line.json
expect 0 'same' $compare few.json one-line.json
sed 's/"quick"/"later": [{"a": [1, -2.5e3, null, true]}, "\\u00e9\\""], "quick"/' few.json >later.json
expect 0 'same' $compare few.json later.json

# ---- broken files: always code 2 and a sentence with the file's name, never a crash ----
broken() {
    expect 2 "$1" $compare "$1" few.json
    expect 2 "$1" $compare few.json "$1"
}
broken missing.json
: >empty.json
broken empty.json
mkdir folder.json
broken folder.json
for text in '[]' '{}' '{"format": "abut-bench 2", "cases": []}' '{"format": "abut-bench 1"}'; do
    echo "$text" >other.json
    broken other.json
done
head -c 3000 /dev/urandom >noise.json
broken noise.json
head -c 100000 /dev/zero | tr '\0' '[' >deep.json
broken deep.json
change() { # a command for sed
    sed "$1" few.json >changed.json
    cmp -s few.json changed.json && complain "nothing changed by $1"
    broken changed.json
}
change 's/"threads": 2/"threads": -2/'
change 's/"threads": 2/"threads": "2"/'
change 's/"threads": 2, //'
change 's/"median_ms": [^,]*/"median_ms": NaN/'
change 's/"median_ms": [^,]*/"median_ms": 1e999/'
change 's/"hash": "../"hash": "/'
change 's/"hash": "../"hash": "xy/'
change 's/"hash": "[^"]*"/"hash": 1/'
change 's/"quick": true/"quick": 1/'
head -c 500 few.json >cut.json
broken cut.json

# ---- wrong usage ----
expect 2 'unknown option' "$bench" --fast
expect 2 'needs a value' "$bench" --filter
expect 2 'from 1 to' "$bench" --repeat 0
expect 2 'from 1 to' "$bench" --repeat ten
expect 2 'from 1 to' "$bench" --threads -1
expect 2 'no case' "$bench" --quick --filter no-such-case
expect 2 'missing/out.json' "$bench" --quick --filter create-f --out missing/out.json
TMPDIR=$work/nowhere expect 2 'nowhere' "$bench" --quick --filter create-f

[ "$failures" -eq 0 ] && echo "$cases cases, all checks passed"
[ "$failures" -eq 0 ]
