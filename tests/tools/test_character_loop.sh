# abut-character (examples/character): the loop of a game engine. Steps of fixed length do not depend on frames, results do
# not depend on threads, the garment stays outside the body, and recordings have all vertices.
. "$(dirname "$0")/support.sh"
loop=$build/abut-character
demand "there is $loop" -x "$loop"

# Two steps a frame by default. The same bits on one thread and on three.
try 0 "$loop" mannequin-female --frames 40 --particles 1000 --threads 1 --record one.abutm
says "garment of 1000 particles"
says "frames     40 with 80 steps"
says "0.00 s dropped"
for what in step frame depth checksum; do says "$what "; done
one=$(grep checksum "$scratch/out")
depth=$(sed -n 's/^depth *\([0-9.]*\) m.*/\1/p' "$scratch/out")
demand "at most 1 cm deep, not $depth" "$(printf '%.0f' "${depth}e4")" -le 100
try 0 "$loop" mannequin-female --frames 40 --particles 1000 --threads 3 --record three.abutm
says "$one"
try 0 cmp one.abutm three.abutm

try 0 "$tool" replay one.abutm --from 20 --to 20 --frames-only

# Frames of another length than steps: 37 of 72 a second are a little more than 30 steps of 60 a second.
try 0 "$loop" mannequin-female --frames 37 --display 72 --steps 60 --particles 1000 --garment cape --clip walk
says "frames     37 with 30 steps"
# An engine that shows five frames a second makes at most eight steps for each.
try 0 "$loop" mannequin-female --frames 3 --display 5 --particles 1000
says "frames     3 with 24 steps"
says "0.40 s dropped"

# Errors name the reason.
try 2 "$loop"
complains "name a file of glTF"
try 2 "$loop" missing.glb
complains "missing.glb"
printf 'no glTF' >bad.glb
try 2 "$loop" bad.glb
complains "bad.glb"
try 2 "$loop" mannequin-female --clip nosuch --frames 1
complains "no clip of this name"
try 2 "$loop" mannequin-female --garment toga --frames 1
complains "overcoat"
try 2 "$loop" mannequin-female --frames 0
complains "--frames"
try 2 "$loop" mannequin-female --frames 1 --particles 1000 --record no/such/file.abutm
complains "no/such"
finish
