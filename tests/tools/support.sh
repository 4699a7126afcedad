# What the tests of the command share; read with ". support.sh TOOL SOURCE BUILD" in effect, that is,
# after `set` has the three arguments that every shell test gets. Gives:
#   try CODE COMMAND...   runs, keeps $scratch/out and $scratch/err, demands the exit code
#   prints TEXT ARGUMENT...   the command with these arguments ends with code 0 and says TEXT
#   refuses TEXT ARGUMENT...  the command with these arguments ends with code 2 and complains TEXT
#   fails TEXT ARGUMENT...    the same with code 1
#   says TEXT, complains TEXT, mute      about the last try: standard output, error, neither
#   demand MESSAGE TEST-ARGUMENTS...     test(1) with a message
#   value EXPRESSION      a Python expression over `it`, the JSON of the last try
#   skip REASON           says that a part was left out
#   finish                must come last
tool=$1 source=$2 build=$3
failures=0 checks=0
scratch=$(mktemp -d "${TMPDIR:-/tmp}/abut-test-XXXXXX") || exit 1
trap 'chmod -R u+rwx "$scratch"; rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
cd "$scratch" || exit 1
unset NO_COLOR COLUMNS
LC_ALL=C.UTF-8
export LC_ALL
# The interpreter itself: a wrapper of python3 may take ten times as long to start.
python=$(python3 -c 'import sys; print(sys.executable)' 2>/dev/null)

wrong() {
    failures=$((failures + 1))
    echo "FAIL: $*"
}

try() {
    wanted=$1
    shift
    last="$*"
    checks=$((checks + 1))
    "$@" >"$scratch/out" 2>"$scratch/err" </dev/null
    code=$?
    if [ "$code" -ne "$wanted" ]; then
        wrong "'$last' gave exit code $code instead of $wanted"
        sed 's/^/    out: /' "$scratch/out" | head -20
        sed 's/^/    err: /' "$scratch/err" | head -20
    fi
}

says() {
    checks=$((checks + 1))
    grep -qF -e "$1" "$scratch/out" || {
        wrong "'$last' does not say '$1'"
        sed 's/^/    out: /' "$scratch/out" | head -20
    }
}

complains() {
    checks=$((checks + 1))
    grep -qF -e "$1" "$scratch/err" || {
        wrong "'$last' does not complain '$1'"
        sed 's/^/    err: /' "$scratch/err" | head -20
    }
}

prints() {
    words=$1
    shift
    try 0 "$tool" "$@"
    says "$words"
}

refuses() {
    complaint=$1
    shift
    try 2 "$tool" "$@"
    complains "$complaint"
}

fails() {
    complaint=$1
    shift
    try 1 "$tool" "$@"
    complains "$complaint"
}

mute() {
    checks=$((checks + 1))
    [ ! -s "$scratch/$1" ] || {
        wrong "'$last' should leave $1 empty"
        sed 's/^/    /' "$scratch/$1" | head -20
    }
}

demand() {
    checks=$((checks + 1))
    message=$1
    shift
    test "$@" || wrong "$message (test $*)"
}

# One Python answers all: an expression up to a line that holds only \001 is answered by a line.
if [ -n "$python" ]; then
    mkfifo ask answer
    "$python" -c 'import json, sys
text = ""
for line in sys.stdin:
    if line != "\1\n":
        text += line
        continue
    try:
        answer = str(eval(text.strip(), {"it": json.load(open(sys.argv[1])), "json": json}))
    except Exception as error:
        answer = repr(error)
    print(answer.replace("\n", " "), flush=True)
    text = ""' "$scratch/out" <ask >answer 2>/dev/null &
    exec 8>ask 9<answer
    rm ask answer
fi

value() {
    [ -n "$python" ] || {
        echo unknown
        return
    }
    printf '%s\n\001\n' "$1" >&8
    IFS= read -r answer <&9
    printf '%s\n' "$answer"
}

# The value of an expression must be this; without Python the check is left out.
is() {
    [ -n "$python" ] || return 0
    checks=$((checks + 1))
    got=$(value "$1")
    [ "$got" = "$2" ] || wrong "'$last': $1 is '$got' instead of '$2'"
}

skip() {
    echo "left out: $*"
}

finish() {
    echo "$checks checks, $failures failures"
    [ "$failures" -eq 0 ] && [ "$checks" -gt 0 ]
    exit
}
