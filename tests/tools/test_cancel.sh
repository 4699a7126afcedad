# One Ctrl-C or SIGTERM ends any command soon and leaves nothing behind: each command is started on
# heavy input, gets a signal, and must be gone in time. That the library itself has stopped, and not
# the clock of the command, is seen by what it says: "cancelled".
. "$(dirname "$0")/support.sh"
[ -n "$python" ] || {
    skip "signals: there is no python3"
    checks=1
    finish
}

# Models that keep every command busy for long, but not with reading them: a ball; needles across a cube, whose boxes
# all overlap; one triangle again and again.
"$tool" make icosphere ball.ply --segments 60 --quiet || exit 1
"$python" - <<'END' || exit 1
import random, struct
random.seed(1)
def write(name, triangles):
    with open(name, "wb") as file:
        file.write(b"ply\nformat binary_little_endian 1.0\nelement vertex %d\nproperty double x\nproperty double y\n"
                   b"property double z\nelement face %d\nproperty list uchar int vertex_indices\nend_header\n"
                   % (3 * len(triangles), len(triangles)))
        for t in triangles:
            file.write(struct.pack("<9d", *t))
        for i in range(len(triangles)):
            file.write(struct.pack("<B3i", 3, 3 * i, 3 * i + 1, 3 * i + 2))
def needle():
    x, y = random.random(), random.random()
    return (x, y, 0, random.random(), random.random(), 1, x + 1e-3, y, 0)
write("needles.ply", [needle() for i in range(60000)])
write("same.ply", [(0, 0, 0, 1, 0, 0, 0, 1, 0)] * 60000)
END
mkdir after
awk 'BEGIN { for (i = 0; i < 4000; i++) print 1 + i / 1e5, i / 1e4, 0 }' >poses.txt
cat >cancel.py <<'END'
"""cancel.py SIGNAL INPUT COMMAND...: starts the command in the folder "after", sends the signal when it is at work, and
prints how much processor time it took to end, how it ended, and what it left in the folder. INPUT is the name of a file
for standard input, or "endless" for lines without end, or "blank" for one line without end, or "silent" for nothing.
Processor time does not depend on what else the machine does; a command that does not end at all is killed."""
import os, resource, signal, subprocess, sys, threading, time
name, source = sys.argv[1:3]
for ignored in (signal.SIGINT, signal.SIGTERM):
    signal.signal(ignored, signal.SIG_DFL) # shells make what they start in the background ignore SIGINT
stream = subprocess.PIPE if source in ("endless", "blank", "silent") else open(source, "rb")
child = subprocess.Popen(sys.argv[3:], cwd="after", stdin=stream, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
def feed():
    piece = {"endless": b"v 0.1 0.2 0.3\n" * 5000, "blank": b"#" * 65536}[source]
    try:
        while True:
            child.stdin.write(piece)
    except OSError:
        pass
if source in ("endless", "blank"):
    threading.Thread(target=feed, daemon=True).start()
def worked(): # seconds of processor time, where that can be known
    try:
        with open("/proc/%d/stat" % child.pid) as file:
            words = file.read().rsplit(")")[1].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
    except OSError:
        return time.monotonic() - started
def is_ready(): # it handles signals, and works or waits for input
    if source != "silent":
        return worked() >= 0.25
    with open("/proc/%d/status" % child.pid) as file:
        caught = next(line for line in file if line.startswith("SigCgt:"))
    return int(caught.split()[1], 16) >> (getattr(signal, name) - 1) & 1
started = time.monotonic()
while child.poll() is None and not is_ready() and time.monotonic() < started + 60:
    time.sleep(0.01)
early = child.poll() is not None
before = 0 if early else worked()
if not early:
    child.send_signal(getattr(signal, name))
killer = threading.Timer(60, child.kill)
killer.start()
words = child.stderr.read().decode(errors="replace")
code = child.wait()
killer.cancel()
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print("early" if early else "ended", code, "%.2f" % max(0, used.ru_utime + used.ru_stime - before),
      "cancelled" if "cancelled" in words else "killed", " ".join(sorted(os.listdir("after"))) or "nothing", flush=True)
os._exit(0)
END

# A second is promised: as processor time that is one for each thread. A command that its clock ended
# after less than half of the time that one thread has in it had no processor, so nothing is known.
limit=$(($(nproc) + 1))
orderly=0 forced=0 unknown=0
cancel() { # cancel SIGNAL INPUT COMMAND...
    name=$1 input=$2
    shift 2
    last="$*"
    checks=$((checks + 1))
    "$python" cancel.py "$name" "$input" "$tool" "$@" >answer
    read -r state code took how left <answer
    if [ "$state" = early ]; then
        wrong "'$last' was done before it could be cancelled (code $code)"
        return
    fi
    number=2
    [ "$name" = SIGTERM ] && number=15
    [ "$code" -eq "-$number" ] || wrong "'$last' ended with $code instead of by $name"
    demand "'$last' took $took s of processor time to end" "$(echo "$took $limit" | awk '{print ($1 < $2)}')" -eq 1
    demand "'$last' left $left behind" "$left" = nothing
    if [ "$how" = cancelled ]; then
        orderly=$((orderly + 1))
    elif [ "$(echo "$took" | awk '{print ($1 < 0.4)}')" -eq 1 ]; then
        unknown=$((unknown + 1))
    else
        forced=$((forced + 1))
        echo "ended by its own clock: $last"
    fi
}

# Input that does not end, or does not come.
cancel SIGINT endless info -
cancel SIGTERM blank info - --from obj
cancel SIGINT silent convert - x.obj
cancel SIGINT blank overlap ../ball.ply ../ball.ply --poses -
cancel SIGTERM blank nearest ../ball.ply -
# Work that lasts.
for signal in SIGINT SIGTERM; do
    cancel $signal /dev/null overlap ../needles.ply ../needles.ply --pose 0.01,0,0 --pairs --out pairs.csv
    cancel $signal /dev/null overlap ../same.ply ../same.ply --pose 1e-9,0,0 --pairs --out pairs.csv
    cancel $signal /dev/null field ../ball.ply ball.abutf --cells 900
    cancel $signal /dev/null contacts ../ball.ply ../ball.ply --pose 1,0,0 --cells 500 --out c.csv
done
cancel SIGINT /dev/null distance ../needles.ply ../needles.ply --surfaces --poses ../poses.txt --out d.csv
cancel SIGINT /dev/null selfcheck ../needles.ply --limit 100000 --out s.csv
cancel SIGINT /dev/null info ../needles.ply ../same.ply ../needles.ply ../same.ply ../needles.ply ../same.ply
cancel SIGINT /dev/null interfere ../ball.ply ../ball.ply --resolution 16000 --own
cancel SIGINT /dev/null samples ../ball.ply --count 2000000 --out s.csv
cancel SIGTERM /dev/null nearest ../needles.ply --random 3000000 --out n.csv
cancel SIGINT /dev/null inside ../needles.ply --random 3000000 --out n.csv
cancel SIGINT /dev/null offset ../ball.ply shell.ply --by 0.1 --cells 700
cancel SIGINT /dev/null slice ../needles.ply cut.png --size 1200
cancel SIGINT /dev/null picture ../ball.ply big.png --size 12000x12000 --ground
cancel SIGINT /dev/null demo sheet --triangles 20000 --frames 2000 --record sheet.abutm
cancel SIGTERM /dev/null make icosphere huge.ply --segments 3000
echo "$orderly stopped in order, $forced by the clock, $unknown had no processor until then"
# Signs of needles and memory that is being cleared (slice, make) leave it to the clock.
demand "commands must stop in order" "$forced" -le 3
demand "too few commands had a processor" "$unknown" -le $((orderly + forced))
finish
