# abut character: tables, a pose as a mesh, pictures, and what is refused.
. "$(dirname "$0")/support.sh"

case $("$tool" version) in *"reads glTF"*) ;; *) exit 77 ;; esac
try 0 "$tool" make box box.glb --segments 1
try 0 "$tool" character box.glb
demand "one bone moves all" "$(grep -c '^ *0 .* 8$' out)" = 1
try 0 "$tool" character box.glb --json
demand "programs see the bones" "$(grep -c '"vertices": 8' out)" = 2
try 0 "$tool" character box.glb --quiet
demand "quiet is one line" "$(wc -l <out | tr -d ' ')" = 1
try 0 "$tool" character box.glb --skinning dual --out posed.obj
try 0 "$tool" convert box.glb plain.obj
demand "the rest pose is the mesh" "$(grep -c '^v ' posed.obj)" = "$(grep -c '^v ' plain.obj)"
try 0 "$tool" character box.glb --png posed.ppm --view front
demand "there is a picture" -s posed.ppm
try 1 "$tool" character plain.obj
demand "it says why" "$(grep -c 'is not glTF' err)" = 1
try 1 "$tool" character missing.glb
refuses "the character has no clips" character box.glb --clip walk
refuses "unknown clip 'gymnastic'; did you mean 'gymnastics'?" character mannequin --clip gymnastic
try 2 "$tool" character box.glb --time 1
try 2 "$tool" character box.glb --film film.ppm
try 2 "$tool" character box.glb --png posed.txt
try 2 "$tool" character box.glb --out posed.txt
# Garments: one line with --quiet, files are named, and what cannot be cut is no wrong usage.
prints "dress.obj" character mannequin-female --garment dress --ease 0.02 --out dress.obj --png dress.ppm
says "picture"
try 0 "$tool" character mannequin-female --garment dress --quiet --out dress.obj
demand "quiet is one line" "$(wc -l <out | tr -d ' ')" = 1
fails "the cape would touch the body at the bones 'Spine2', " character mannequin --garment cape --particles 1000 --ease 1e-6
complains "use a larger ease (at most 0.06) or more particles"
refuses "--particles must be from 1000 to 200000" character mannequin --garment cape --particles 10
refuses "--ease requires --garment" character box.glb --ease 0.1
# Parts by the bones that move them, and bones below.
try 0 "$tool" character mannequin --out whole.obj --json
bones=$(grep -c '"bone":' out)
try 0 "$tool" character mannequin --without Neck,LeftHand --out part.obj --json
demand "head and hand are gone" "$(grep -c '^f ' part.obj)" -lt "$(grep -c '^f ' whole.obj)"
demand "bones stay" "$(grep -c '"bone":' out)" = "$bones"
refuses "--without: the character has no bone 'Sword'" character box.glb --without Sword
refuses "no triangle would remain" character box.glb --without bone-0
finish
