# Where output goes: pipes that close, disks that are full, terminals, and valid JSON always.
. "$(dirname "$0")/support.sh"
"$tool" make icosphere ball.obj --quiet || exit 1
"$tool" make sheet sheet.obj --quiet || exit 1

# A full disk is a failure, whatever was to be said.
if [ -w /dev/full ]; then
    for words in "info ball.obj" "info --json ball.obj" "version" "help" "make --list" \
        "convert ball.obj copy.obj" "picture ball.obj ball.ppm" "completion" "info --help"; do
        checks=$((checks + 1))
        "$tool" $words >/dev/full 2>err
        code=$?
        [ "$code" -eq 1 ] || wrong "'$words' on a full disk gave $code instead of 1"
        last=$words
        complains "standard output could not be written"
    done
else
    skip "a full disk: there is no /dev/full"
fi

# A closed standard output is a failure too, and no file takes its place.
checks=$((checks + 1))
"$tool" convert ball.obj copy.obj >&- 2>err
[ $? -eq 1 ] || wrong "a closed standard output gave no failure"
try 0 "$tool" info --quiet copy.obj
"$tool" make box quiet.obj --quiet >&- 2>err || wrong "a quiet command needs no standard output"

# A reader that leaves early is no failure, and nothing is said about it.
list=$(i=0; while [ $i -lt 60 ]; do echo ball.obj; i=$((i + 1)); done)
for words in "info $list" "info --json $list"; do
    checks=$((checks + 1))
    { "$tool" $words 2>err; echo $? >code; } | head -n 1 >first
    demand "the first line is missing" -s first
    demand "a closed pipe gave exit code $(cat code)" "$(cat code)" -eq 0
    demand "a closed pipe was complained about: $(cat err)" ! -s err
done

# Every command's JSON is one valid document with a new line at its end.
if [ -n "$python" ]; then
    for words in "info ball.obj sheet.obj" "convert ball.obj copy.ply --weld --orient" \
        "make torus ring.obj" "make --list" "picture ball.obj sheet.obj x.ppm --defects" \
        "version" "help" "help info" "help formats" "info" "nonsense" "info missing.obj" \
        "convert missing.obj x.obj" "picture missing.obj x.ppm" "make nothing x.obj"; do
        checks=$((checks + 1))
        "$tool" $words --json >out 2>/dev/null
        "$python" -m json.tool <out >/dev/null 2>err || wrong "'$words --json': $(cat err)"
        demand "'$words --json' does not end its line" "$(tail -c 1 out | wc -l)" -eq 1
        demand "'$words --json' has NaN or infinity" "$(grep -ciE '\b(nan|inf|infinity)\b' out)" -eq 0
    done
else
    skip "JSON: there is no python3"
fi

# Numbers come back as the same doubles.
printf 'v 0.1 1e-300 0\nv 0.3333333333333333 1 5e-324\nv 123456789.12345678 2 3\nf 1 2 3\n' >odd.obj
try 0 "$tool" info --json odd.obj
is "it['files'][0]['bounds']['lo'] == [0.1, 1e-300, 0]" True
is "it['files'][0]['bounds']['hi'] == [123456789.12345678, 2, 3]" True

# On a terminal there are colours, unless NO_COLOR is set, and lines fit its width.
if [ -n "$python" ] && "$python" -c 'import pty; pty.openpty()' 2>/dev/null; then
    cat >terminal.py <<'END'
import os, pty, sys, fcntl, termios, struct
pid, fd = pty.fork()
if pid == 0:
    fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack('HHHH', 24, 80, 0, 0))
    os.environ['TERM'] = 'xterm'
    os.execvp(sys.argv[1], sys.argv[1:])
data = b''
while True:
    try:
        piece = os.read(fd, 65536)
    except OSError:
        break
    if not piece:
        break
    data += piece
sys.stdout.buffer.write(data)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
END
    escape=$(printf '\033')
    try 0 env LC_ALL=C "$python" terminal.py "$tool" info ball.obj sheet.obj
    says "${escape}[32m"
    says "${escape}[31m"
    demand "a line is wider than the terminal" \
        "$(sed "s/$escape\[[0-9]*m//g" out | tr -d '\r' | awk 'length > 80' |
            wc -l)" -eq 0
    try 0 env NO_COLOR=1 "$python" terminal.py "$tool" info ball.obj
    demand "NO_COLOR has no effect" "$(grep -cF "$escape" out)" -eq 0
    try 0 "$python" terminal.py "$tool" info --json ball.obj
    demand "there are colours in JSON" "$(grep -cF "$escape" out)" -eq 0

    # Work that lasts shows a bar, which is erased; --quiet shows none; a pipe never sees one.
    mkfifo pipe
    slow() {
        { i=0; while [ $i -lt 8 ]; do tail -c +$((1 + i * 40000)) large.ply | head -c 40000
            sleep 0.15; i=$((i + 1)); done; tail -c +320001 large.ply; } >pipe &
        writer=$!
        try 0 "$@"
        kill $writer 2>/dev/null # it waits for ever where nobody opened the pipe
        wait $writer
    }
    "$tool" make icosphere large.ply --segments 50 --ascii --quiet
    slow "$python" terminal.py "$tool" info --from ply pipe
    if "$tool" info --from ply large.ply >/dev/null; then
        says "%"
        says "$(printf '\r')${escape}[K"
    fi
    slow "$python" terminal.py "$tool" info --quiet --from ply pipe
    demand "--quiet shows a bar" "$(grep -c '%' out)" -eq 0
    slow "$tool" info --from ply pipe
    mute err
else
    skip "a terminal: there is no python3, or no pseudo-terminal"
fi
finish
