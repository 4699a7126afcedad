# Many files at once: killed at any moment and resumed, by several processes, in shards, on a full disk.
. "$(dirname "$0")/support.sh"
[ -n "$python" ] || {
    skip "batches: there is no python3"
    checks=1
    finish
}
mkdir -p models/sub
for shape in box torus icosphere capsule cone; do
    "$tool" make $shape models/$shape.obj --quiet || exit 1
    "$tool" make $shape models/$shape.stl --quiet || exit 1
done
cp models/box.obj models/sub/box.obj

# Counts lines of a manifest: lines STATUS [OUTPUT].
lines() {
    "$python" - "$1" "$2" "${3:-}" <<'END'
import json, sys
count = 0
for line in open(sys.argv[1]):
    try:
        it = json.loads(line)
    except ValueError:
        continue
    count += it["status"] == sys.argv[2] and sys.argv[3] in ("", it["output"])
print(count)
END
}
member() { # member MANIFEST OUTPUT KEY: of the last line about an output
    "$python" -c 'import json, sys
print([it for it in map(json.loads, open(sys.argv[1])) if it["output"] == sys.argv[2]][-1][sys.argv[3]])' "$@"
}
# Every output as of the undisturbed run, nothing more and nothing less.
same() {
    checks=$((checks + 1))
    diff -r --exclude=manifest.jsonl whole "$1" >difference 2>&1 || {
        wrong "$2: outputs differ"
        head -5 difference
    }
    demand "$2: .abut-batch is left" ! -e "$1/.abut-batch"
}

# ---- what is written is what the commands write by themselves ----
work() { # work FOLDER OPTION...: the jobs of most tests, 33 of them
    out=$1
    shift
    "$tool" batch models/*.obj models/*.stl models/sub/*.obj --do 'field --cells 32' --do report \
        --do 'samples.npy --count 50' --out "$out" "$@"
}
try 0 work whole
says "33 jobs: 33 done, 0 done before, 0 failed"
says "done  models/box.obj.abutf"
mute err
"$tool" field models/torus.obj one.abutf --cells 32 --quiet
"$tool" info models/torus.obj --json >one.json
"$tool" samples models/torus.obj --count 50 --out one.npy --quiet >/dev/null
for ending in abutf json npy; do
    demand "a .$ending differs from that of the command" \
        "$(cmp one.$ending whole/models/torus.obj.$ending && echo same)" = same
done
demand "a file of a folder within is missing" -s whole/models/sub/box.obj.abutf
demand "the manifest has other lines" "$(lines whole/manifest.jsonl done)" -eq 33
try 0 work whole --json --threads 1
is "(it['jobs'], it['done'], it['done_before'], it['failed'], it['failures'])" "(33, 0, 33, 0, [])"
try 0 work whole --quiet
demand "the bare answer is how many failed" "$(cat out)" = 0
demand "a run with nothing to do wrote lines" "$(lines whole/manifest.jsonl done)" -eq 33
same whole "the whole"

# ---- kill -9 at random moments until all is done ----
cat >kill.py <<'END'
"""kill.py FOLDER COMMAND...: starts the command, kills it after a random number of jobs and a random while, and so on
until it ends by itself. Jobs count, not only time, so that a busy machine makes progress as well."""
import os, random, subprocess, sys, time
random.seed(int(os.environ.get("ABUT_TEST_SEED", "1")))
def manifest_bytes():
    try:
        return os.path.getsize(os.path.join(sys.argv[1], "manifest.jsonl"))
    except OSError:
        return 0
kills = 0
while True:
    child = subprocess.Popen(sys.argv[2:], stdout=subprocess.DEVNULL)
    enough = manifest_bytes() + random.randrange(600) # a line has some 150
    while kills and child.poll() is None and manifest_bytes() <= enough:
        time.sleep(0.001)
    try:
        code = child.wait(timeout=random.uniform(0, 0.01))
        break
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
        kills += 1
    for folder, _, names in os.walk(sys.argv[1]): # what is there is complete at any time
        for name in names:
            if name == "manifest.jsonl" or ".abut-batch" in folder:
                continue
            path = os.path.join(folder, name)
            with open(path, "rb") as one, open("whole" + path[len(sys.argv[1]):], "rb") as other:
                if one.read() != other.read():
                    sys.exit("%s is not complete" % path)
print(kills, code)
END
killed=0
for round in 1 2; do
    rm -rf torn
    checks=$((checks + 1))
    ABUT_TEST_SEED=${ABUT_TEST_SEED:-1}$round "$python" kill.py torn "$tool" --threads 1 batch models/*.obj models/*.stl \
        models/sub/*.obj --do 'field --cells 32' --do report --do 'samples.npy --count 50' --out torn >answer 2>err ||
        wrong "after a kill: $(cat err)"
    read -r kills code <answer
    killed=$((killed + kills))
    demand "the last run gave $code" "$code" = 0
    same torn "after $kills kills"
    demand "after $kills kills a job was done twice or lost" "$(lines torn/manifest.jsonl done)" -eq 33
done
echo "killed $killed times"
demand "no run was killed" "$killed" -gt 2

# ---- each step in turn: what was finished is not computed again, as a mark in it shows ----
manifest=torn/manifest.jsonl output=models/cone.obj.json
key=$(member $manifest $output key)
between() { # between WHAT: marks the output as it stands where it is completed
    mkdir -p torn/.abut-batch/$key
    rm -f torn/$output
    printf 'marked %s' "$1" >torn/.abut-batch/$key/output.json
    printf 'half' >torn/.abut-batch/$key/.abut-1-1 # as of a file system without unnamed files
}
between first # killed after step 1: no line yet
grep -vF "\"output\": \"$output\"" $manifest >shorter
cp shorter $manifest
try 0 work torn
says "33 jobs: 1 done, 32 done before, 0 failed"
says "completed by an interrupted run"
demand "a finished output was computed again" "$(cat torn/$output)" = "marked first"
demand "its line is missing" "$(lines $manifest done $output)" -eq 1
demand "rests were not removed" ! -e torn/.abut-batch
between other # after step 2: a line that knows the size of what was finished
"$python" - $manifest $output <<'END'
import sys
text = open(sys.argv[1]).read().split("\n")
text = [line.replace('"bytes": 12,', '"bytes": 13,') if sys.argv[2] in line else line for line in text]
open(sys.argv[1], "w").write("\n".join(text))
END
printf 'marked secnd!' >torn/.abut-batch/$key/output.json
try 0 work torn
says "33 jobs: 1 done, 32 done before, 0 failed"
demand "a finished output was computed again" "$(cat torn/$output)" = "marked secnd!"
demand "a second line was added" "$(lines $manifest done $output)" -eq 1
mkdir -p torn/.abut-batch/$key # after step 3
try 0 work torn
says "33 jobs: 0 done, 33 done before, 0 failed"
demand "rests were not removed" ! -e torn/.abut-batch
try 0 work torn --again # the mark goes
says "33 jobs: 33 done, 0 done before, 0 failed"
same torn "--again"

# A job in which a process ended is done last; what runs with other jobs have finished stays.
key=$(member whole/manifest.jsonl models/box.obj.abutf key)
mkdir -p last/.abut-batch/$key last/.abut-batch/0123456789abcdef
printf 'half' >last/.abut-batch/$key/.abut-1-1
printf 'marked' >last/.abut-batch/0123456789abcdef/output.json
try 0 work last
demand "a job that may be fatal was not done last" "$(grep '^done' out | tail -n 1 | cut -c 1-26)" = "done  models/box.obj.abutf"
demand "the output of another run was removed" "$(cat last/.abut-batch/*/*)" = marked
rm -r last/.abut-batch
same last "a job that may be fatal"

# ---- what has changed is done anew, and that alone ----
change() { # change WHAT: one job must be done
    try 0 work torn
    says "33 jobs: 1 done, 32 done before, 0 failed"
    same torn "$1"
}
rm torn/$output
change "a removed output"
head -c 20 whole/$output >torn/$output
change "a shortened output"
printf '{"do": "info", "input": "models/co' >>$manifest # the machine lost power
rm torn/$output
change "a line that was cut off"
demand "a line after one that was cut off is lost" "$(tail -n 1 $manifest | cut -c 1-7)" = '{"do": '
touch models/sub/box.obj
try 0 work torn
says "33 jobs: 3 done, 30 done before, 0 failed"
try 0 "$tool" batch models/box.obj --do 'field --cells=32' --out torn
says "1 job: 0 done, 1 done before, 0 failed" # --cells 32 is --cells=32
prints "1 job: 1 done, 0 done before, 0 failed" batch models/box.obj --do 'field --cells=33' --out torn
demand "other options gave the same field" "$(cmp -s torn/models/box.obj.abutf whole/models/box.obj.abutf; echo $?)" = 1
try 0 work torn --dry-run --json
is "[(job['state'], job['output']) for job in it['jobs'] if job['state'] != 'done']" \
    "[('to do', 'models/box.obj.abutf')]"
try 0 work none --dry-run --quiet
demand "--dry-run counts what is to be done" "$(cat out)" = 33
demand "--dry-run wrote something" ! -e none

# ---- several processes at once; shards ----
for process in 1 2 3; do
    work many --threads 1 >out$process 2>err$process &
    eval "id$process=$!"
done
for process in 1 2 3; do
    eval "wait \$id$process"
    demand "process $process of three gave $?" $? -eq 0
    demand "process $process complained: $(cat err$process)" ! -s err$process
done
same many "three processes"
demand "three processes did a job twice" "$(lines many/manifest.jsonl done)" -eq 33
demand "one process did all" "$(sort -u out1 out2 out3 | grep -c '^done')" -eq 33
# One of two is killed: the other does its job too, and all once.
"$tool" batch models/*.obj models/*.stl models/sub/*.obj --do 'field --cells 32' --do report \
    --do 'samples.npy --count 50' --out two --threads 1 >/dev/null 2>&1 & # not by a shell that would be killed instead
victim=$!
work two --threads 1 >out1 2>err1 &
other=$!
while [ ! -s two/manifest.jsonl ] && kill -0 $other 2>/dev/null; do # one of them is at work
    sleep 0.01
done
kill -9 $victim 2>/dev/null
wait $victim 2>/dev/null
wait $other
demand "with one of two killed the other gave $?" $? -eq 0
same two "one of two was killed"
demand "with one of two killed a job was done twice or lost" "$(lines two/manifest.jsonl done)" -eq 33
for part in 3 1 2; do
    try 0 work parts --shard $part/3 --json
    echo "$(value "it['jobs']") $(value "it['done']")" >>shares
done
demand "the shards are not all jobs, once each: $(cat shares)" \
    "$(awk '{ a += $1; b += $2; c += $1 > 3 } END { print a, b, c }' shares)" = "33 33 3"
same parts "three shards"
for words in 0/3 4/3 1/0 1 x/y 1/3/5 /; do
    try 2 work parts --shard $words
    complains "--shard must be a part and the number of parts"
done

# ---- a bad file among good ones ----
echo "v 0 0 zero" >models/bad.obj
try 1 "$tool" batch models/bad.obj models/missing.obj models models/box.obj --do report --out mixed
says "4 jobs: 1 done, 0 done before, 3 failed"
complains "abut batch: models/bad.obj: line 1: "
complains "abut batch: models/missing.obj: cannot be opened: No such file or directory"
complains "abut batch: models: is a directory, not a file"
demand "the good one is missing" -s mixed/models/box.obj.json
demand "a bad one has an output" ! -e mixed/models/bad.obj.json
demand "failures are not in the manifest" "$(lines mixed/manifest.jsonl failed)" -eq 3
try 1 "$tool" batch models/bad.obj models/box.obj --do report --out mixed --json
is "(it['jobs'], it['done'], it['done_before'], it['failed'])" "(2, 0, 1, 1)"
is "(it['failures'][0]['input'], it['failures'][0]['error'][:22])" "('models/bad.obj', 'models/bad.obj: line 1')"
cp models/box.obj models/bad.obj # mended
prints "2 jobs: 1 done, 1 done before, 0 failed" batch models/bad.obj models/box.obj --do report --out mixed
rm models/bad.obj

# ---- full disks ----
try 1 sh -c "trap '' XFSZ; ulimit -f 16; exec '$tool' batch models/*.obj --do 'field --cells 40 --plain' --do report --out full"
complains "could not be written: File too large"
complains "full/models/box.obj.abutf"
says "10 jobs: 5 done, 0 done before, 5 failed"
demand "a full disk leaves something: $(find full -name '*.abutf' -o -name '.abut*')" \
    -z "$(find full -name '*.abutf' -o -name '.abut*')"
prints "10 jobs: 5 done, 5 done before, 0 failed" batch models/*.obj --do 'field --cells 40 --plain' --do report --out full
head -c 9000 /dev/zero | tr '\0' '\n' >>full/manifest.jsonl # more than the 16 blocks of 512 bytes below
cp full/manifest.jsonl before
sh -c "trap '' XFSZ; ulimit -f 16; '$tool' batch models/*.obj --do 'field --cells 42 --plain' --out full; echo gave \$?" 2>&1 |
    cat >err
complains "the run stops: File too large"
complains "gave 1"
demand "jobs went on without a manifest" "$(grep -c 'File too large' err)" -eq 2
demand "the manifest changed on a full disk" "$(cmp before full/manifest.jsonl && echo same)" = same
if unshare -rm true 2>/dev/null; then
    mkdir small
    try 0 unshare -rm sh -c "mount -t tmpfs -o size=300k none small || exit 0
        '$tool' batch models/*.obj --do 'field --cells 40 --plain' --out small >said 2>complained && exit 9
        grep -q 'No space left on device' complained || exit 8
        find small -name '.abut-*' -type f | grep -q . && exit 7
        for file in small/models/*.abutf; do
            test ! -e \$file || cmp \$file full/models/\${file##*/} || exit 6
        done"
else
    skip "a small disk: there are no user namespaces"
fi

# ---- Ctrl-C ----
"$tool" make icosphere ball.ply --segments 60 --quiet
mkdir cut
cat >cancel.py <<'END'
import os, signal, subprocess, sys, time
signal.signal(signal.SIGINT, signal.SIG_DFL)
child = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
def worked(): # seconds of processor time of the command and its jobs
    ticks = 0
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % entry) as file:
                words = file.read().rsplit(")")[1].split()
        except OSError:
            continue # it has ended
        if child.pid in (int(entry), int(words[1])):
            ticks += int(words[11]) + int(words[12])
    return ticks / os.sysconf("SC_CLK_TCK")
while child.poll() is None and worked() < 0.3:
    time.sleep(0.01)
child.send_signal(signal.SIGINT)
print("cancelled" in child.stderr.read().decode(), child.wait())
END
"$python" cancel.py "$tool" batch models/box.obj ball.ply --do 'field --cells 900' --out cut --quiet >answer
demand "Ctrl-C gave $(cat answer)" "$(cat answer)" = "True -2"
demand "Ctrl-C left $(find cut -name '.abut*' -o -name 'ball*')" -z "$(find cut -name '.abut*' -o -name 'ball*')"

# ---- names and lists of jobs ----
mkdir odd
cp models/box.obj "odd/a b.obj"
cp models/box.obj "odd/it's \"so\".obj"
cp models/box.obj "odd/$(printf 'new\nline.obj')"
cp models/box.obj "odd/$(printf 'bad\377.obj')"
cp models/box.obj -- -dash.obj
find odd -name '*.obj' -print0 >names
"$tool" batch - --do report --out names-out --quiet <names >out 2>err || wrong "odd names: $(cat err)"
"$tool" batch - --do report --out names-out --json <names >out 2>err
last="odd names"
is "(it['done_before'], it['jobs'])" "(4, 4)"
demand "an odd name is missing" -s "names-out/odd/it's \"so\".obj.json" -a -s 'names-out/odd/bad\xff.obj.json'
try 0 "$tool" batch --do report --out names-out --quiet -- -dash.obj
printf 'models/box.obj\r\nmodels/cone.obj\n\nmodels/torus.obj' >list
"$tool" batch - --do report --out list-out --json <list >out
is "it['done']" 3
cat >jobs.txt <<'END'
# A list of jobs
field models/box.obj fine/box.vti --cells 20
field.coarse.npy models/box.obj --cells 10

  samples "odd/a b.obj" --out 'with blank.csv' --features vertices
report models/cone.obj
convert models/cone.obj cone.glb --weld
picture models/cone.obj cone.ppm --size 40x30
offset models/box.obj shell.ply --by 0.1 --cells 20
{"do": "samples.ply --count 20", "input": "models/torus.obj"}
{"output": "x/\u00fcber.json", "input": "models/torus.obj", "do": "report", "other": 1.5}
END
prints "9 jobs: 8 done, 1 done before, 0 failed" batch --jobs jobs.txt --out list-out
for file in fine/box.vti models/box.obj.coarse.npy "with blank.csv" models/cone.obj.json cone.glb cone.ppm shell.ply \
    models/torus.obj.ply x/über.json; do
    demand "$file is missing" -s "list-out/$file"
done
try 0 "$tool" batch --jobs list-out/manifest.jsonl --out list-out # a manifest is a list of jobs
says "11 jobs: 0 done, 11 done before, 0 failed"
try 0 "$tool" batch models/box.obj models/box.obj --do report --out list-out # the same twice is one
says "1 job: 0 done, 1 done before"
"$tool" batch --jobs - --out list-out --manifest elsewhere.jsonl <jobs.txt >out || wrong "jobs on standard input"
says "9 jobs: 9 done"
demand "--manifest was not used" "$(lines elsewhere.jsonl done)" -eq 9

for base in "$scratch/models" "$scratch/models//"; do
    rm -rf base-out
    try 0 "$tool" batch "$scratch/models/sub/box.obj" models/cone.obj --do report --out base-out --base "$base"
    demand "--base has no effect" -s base-out/sub/box.obj.json -a -s base-out/models/cone.obj.json
done

# ---- what is refused ----
refuse() { # refuse SENTENCE ARGUMENT...
    sentence=$1
    shift
    refuses "$sentence" batch "$@"
}
refuse "--out FOLDER is missing" models/box.obj --do report
refuse "the command for the files is missing" models/box.obj --out no
refuse "the command for the files is missing" --out no
refuse "--do needs file names" --do report --out no
refuse "'abut batch' cannot run 'nonsense'; the possible commands are field" models/box.obj --do nonsense --out no
refuse "--do: unknown option --cels; did you mean --cells?" models/box.obj --do 'field --cels 3' --out no
refuse "--do: --cells must be a whole number" models/box.obj --do 'field --cells many' --out no
refuse "--do: unexpected argument 'x.obj'" models/box.obj --do 'field x.obj' --out no
refuse "--do: missing closing quote" models/box.obj --do "field 'x" --out no
refuse "--do: the command is missing" models/box.obj --do ' ' --out no
refuse "--png would write a second file" models/box.obj --do 'field --png x.png' --out no
refuse "--threads is not an option of a job" models/box.obj --do 'field --threads 3' --out no
refuse "the extension of the output replaces --to: write field.vti" models/box.obj --do 'field --to vti' --out no
refuse "field cannot write models/box.obj.exe" models/box.obj --do field.exe --out no
refuse "two jobs have the output models/box.obj.abutf" models/box.obj --do 'field --cells 9' --do field --out no
refuse "two jobs have the output models/box.obj.json" models/box.obj ./models/box.obj --do report --out no
refuse "'..' is not a valid file name" .. --do report --out no
refuse "'' is not a valid file name" '' --do report --out no
refuse "'models/' is not a valid file name" models/ --do report --out no
refuse "--strict has no effect in a job" models/box.obj --do 'info --strict' --out no
for line in 'field a.obj ../b.abutf' 'field a.obj /b.abutf' 'field a.obj x/../../b.abutf'; do
    echo "$line" >jobs
    refuse "jobs:1: the output" --jobs jobs --out no
done
for line in '{"do": "field"}' '{"do": "field", "input": "a.obj"' '{"do": ["field"], "input": "a.obj"}' '{}' \
    '{"do": "field", "input": "\ud800"}'; do
    printf '# first\n%s\n' "$line" >jobs
    refuse "jobs:2: not a JSON object with \"do\" and \"input\"" --jobs jobs --out no
done
printf 'field\n' >jobs
refuse "jobs:1: the file is missing" --jobs jobs --out no
printf 'a\0b' >jobs
refuse "jobs: not a text file" --jobs jobs --out no
demand "what was refused made a folder" ! -e no
fails "missing: cannot be read: No such file or directory" batch --jobs missing --out no
echo x >file
fails "file" batch models/box.obj --do report --out file
mkdir -p taken/models/box.obj.json
fails "taken/models/box.obj.json: cannot be written: Is a directory" batch models/box.obj --do report --out taken

# ---- the index ----
cp models/box.obj 'odd & <b>.obj'
echo "console.log(1);" >viewer.js
try 1 env ABUT_VIEWER=viewer.js "$tool" batch models/box.obj 'odd & <b>.obj' gone.obj --do 'picture --size 40x30' --do view --out gallery --index
demand "no pages" "$(ls gallery/models/box.obj.png gallery/models/box.obj.html 'gallery/odd & <b>.obj.html' | wc -l)" -eq 3
demand "a name is not escaped" "$(grep -c '<b>' gallery/index.html)" -eq 0
demand "not all pictures" "$(grep -c '<img' gallery/index.html)" -eq 2
demand "no link" "$(grep -c 'href="odd%20%26%20%3Cb%3E.obj.html">odd &#38; &#60;b&#62;.obj.html<' gallery/index.html)" -eq 1
demand "failures are not reported" "$(grep -c 'gone.obj: cannot be opened' gallery/index.html)" -eq 2
printf 'view models/box.obj --out index.html\n' >jobs
refuse "--index writes index.html" --jobs jobs --out gallery2 --index

# ---- the examples ----
for task in 1 2 3 4; do
    try 0 env ABUT="$tool" SLURM_ARRAY_TASK_ID=$task SLURM_ARRAY_TASK_COUNT=4 sh "$source/examples/batch/slurm.sh" models array
done
try 0 env ABUT="$tool" sh "$source/examples/batch/xargs.sh" models array2 2
demand "xargs and Slurm did not do the same" \
    "$(diff -r --exclude=manifest.jsonl array array2 >/dev/null && echo same)" = same
demand "the array did not do all once" "$(lines array/manifest.jsonl done)" -eq 22
demand "xargs did not do all once" "$(lines array2/manifest.jsonl done)" -eq 22
finish
