#!/bin/sh
# abut-mpi on 1, 2 and 4 processes: files and tables are the bytes of one process of abut; what fails
# fails once; a process that is killed leaves the old file and nothing else.
. "$2/tests/tools/support.sh"
mpi=$build/abut-mpi
if [ ! -x "$mpi" ] || ! command -v mpirun >/dev/null; then
    skip "there is no MPI"
    exit 0
fi
OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_ALLOW_RUN_AS_ROOT OMPI_ALLOW_RUN_AS_ROOT_CONFIRM
run() { # PROCESSES WORD...
    processes=$1
    shift
    # without binding, as processes of one core each would all be bound to the first ones
    timeout 120 mpirun -q --oversubscribe --bind-to none -n "$processes" "$mpi" "$@" --threads 1
}
same() { # FILE FILE
    demand "$1 and $2 are the same bytes" "$(cksum <"$1")" = "$(cksum <"$2")"
}

# a field: open, so that corners tell which bricks there are
"$tool" make teapot teapot.obj --segments 3 >/dev/null
try 0 "$tool" field teapot.obj one.abutf --sparse --cells 120
cp out said
for processes in 1 2 4; do
    try 0 run $processes field teapot.obj many.abutf --sparse --cells 120
    same one.abutf many.abutf
    same out said
done
try 0 "$tool" slice many.abutf many.png
chmod 600 many.abutf
try 0 run 2 field teapot.obj many.abutf --sparse --cells 60 --int16 --plain --report
complains 'process,seconds,processor_seconds,mpi_seconds,sent_bytes,written_bytes'
try 0 "$tool" field teapot.obj one.abutf --sparse --cells 60 --int16 --plain
same one.abutf many.abutf
demand 'a file keeps its permissions' "$(stat -c %a many.abutf)" = 600

# poses, a recording, a scene
"$tool" make box box.obj --segments 1 >/dev/null
for i in 0 1 2 3 4 5 6 7 8 9; do
    for j in 0 1 2 3 4 5 6 7 8 9 a b c d e f g h i j; do
        echo "$i.1 0.$i -1.$i"
    done
done | tr abcdefghij 1234567890 >poses.csv
"$tool" distance box.obj teapot.obj --poses poses.csv --out one.csv >said 2>/dev/null
try 0 run 4 distance box.obj teapot.obj --poses poses.csv --out many.csv
same one.csv many.csv
sed s/one.csv/many.csv/ said >said.many
same out said.many
"$tool" demo sheet --frames 36 --triangles 200 --record sheet.abutm >/dev/null
"$tool" sweep sheet.abutm --thickness 0.01 --json >said
try $? run 4 sweep sheet.abutm --thickness 0.01 --json
same out said
if "$tool" version | grep -q gltf; then
    cat >scene.json <<'END'
{"meshes": {"box": {"shape": "box", "size": 1, "segments": 1}, "ball": {"shape": "icosphere", "radius": 0.7, "segments": 3}},
 "bodies": [{"mesh": "box"}, {"mesh": "ball", "position": [0.9, 0, 0]}, {"mesh": "box", "position": [1.8, 0.1, 0]},
            {"mesh": "ball", "position": [0, 0.9, 0]}, {"mesh": "box", "position": [0.9, 0.9, 0]},
            {"mesh": "ball", "position": [0.4, 0.4, 0.9]}, {"mesh": "box", "position": [1.4, 0.5, 0.9]}]}
END
    try 3 "$tool" contacts scene.json --json
    mv out said
    try 3 run 4 contacts scene.json --json
    same out said
fi

# what fails
try 2 run 2 info teapot.obj
complains "abut-mpi runs only field|sweep|distance|contacts"
try 2 run 2 contacts box.obj teapot.obj
complains 'require a scene'
try 1 run 2 field - many.abutf --sparse
complains 'is available to the first process only'
"$mpi" --help >out # without mpirun it is one process
says '--report prints on standard'
try 1 run 2 field missing.obj many.abutf --sparse
demand 'an error is reported once' "$(grep -c 'missing.obj: cannot be opened' err)" = 1
try 1 run 2 field teapot.obj none/many.abutf --sparse
complains 'none/many.abutf: cannot be written'
same one.abutf many.abutf

# a process that is killed while the field is computed
timeout 120 mpirun -q --oversubscribe --bind-to none -n 3 "$mpi" field teapot.obj many.abutf --sparse \
    --cells 1500 --threads 1 >out 2>err &
job=$!
while kill -0 $job 2>/dev/null; do # on a busy machine it takes long to start
    set -- .abut-mpi-*
    [ -e "$1" ] && break
    sleep 0.05
done
demand 'the field is written aside' -e "$1"
all=$(pgrep -x abut-mpi -s 0 || pgrep -x abut-mpi)
victim=
for one in $all; do # one of ours: it stands in this folder
    [ "$(readlink "/proc/$one/cwd")" = "$scratch" ] && victim=$one
done
demand 'a process of the job runs' -n "$victim"
kill -9 "$victim"
wait $job
demand 'a job that has lost a process fails' $? -ne 0
same one.abutf many.abutf
set -- .abut-mpi-*
demand 'nothing is left behind' ! -e "$1"
finish
