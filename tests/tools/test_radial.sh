# abut radial: the list of fields, points, the report, pictures, and what is refused.
. "$(dirname "$0")/support.sh"

case $("$tool" version) in *"reads glTF"*) ;; *) exit 77 ;; esac
try 0 "$tool" make box box.glb --segments 4
try 0 "$tool" radial box.glb --resolution 20
demand "one field" "$(grep -c '^ *0 ' out)" = 1
try 0 "$tool" radial box.glb --cell 0.05 --quiet
demand "quiet is one line" "$(wc -l <out | tr -d ' ')" = 1
try 0 "$tool" radial box.glb --resolution 40 --at 0,0,0 --at 0,0,1 --at 0,0,0.4 --json
demand "inside" "$(value "-0.51 < it['points'][0]['distance'] < -0.49")" = True
demand "outside" "$(value "0.49 < it['points'][1]['distance'] < 0.51")" = True
demand "the bone has a name" "$(value "it['points'][2]['bone']")" = bone-0
demand "all triangles belong to a field" "$(value "it['unseen_triangles']")" = 0
demand "bytes are those of samples" "$(value "it['bytes'] == 4 * it['samples']")" = True

# a box is seen whole: errors get small with the cells, and nothing is off by more than a cell
try 0 "$tool" radial box.glb --resolution 40 --report --points 2000 --json
demand "five lines" "$(value "len(it['report']['levels'])")" = 5
demand "cells get smaller" "$(value "it['report']['levels'][0]['cell'] > 15 * it['report']['levels'][4]['cell']")" = True
demand "errors too" "$(value "it['report']['levels'][0]['mean'] > 4 * it['report']['levels'][4]['mean']")" = True
demand "nothing is bare" "$(value "it['report']['levels'][4]['bare'] + it['report']['levels'][4]['buried']")" = 0
demand "one bone has it all" "$(value "it['report']['bones'][0]['surface']")" = 1
try 0 "$tool" radial box.glb --resolution 10 --report --points 100 --plot plot.ppm
demand "people see the table" "$(grep -c '^ *[0-9.]* .*%' out)" -ge 5
demand "there is a plot" -s plot.ppm

try 0 "$tool" radial box.glb --resolution 20 --png body.ppm --error error.ppm --unrolled flat.ppm --view front
for picture in body error flat; do
    demand "there is $picture.ppm" -s $picture.ppm
done
try 0 "$tool" radial box.glb --resolution 8 --out surface.obj
demand "two triangles a cell" "$(grep -c '^f ' surface.obj)" -gt 100

# an inverted surface is reported
try 0 "$tool" radial box.glb --resolution 8 --json
demand "what it is worth" "$(value "it['reliability']")" = limited

refuses "use one of them" radial box.glb --cell 1 --resolution 3
refuses "--plot requires --report" radial box.glb --plot plot.ppm
try 2 "$tool" radial box.glb --points 9
try 2 "$tool" radial box.glb --time 1
try 2 "$tool" radial box.glb --clip walk
try 2 "$tool" radial box.glb --error error.txt
try 2 "$tool" radial box.glb --out surface.txt
try 1 "$tool" radial missing.glb
try 0 "$tool" convert box.glb plain.obj
try 1 "$tool" radial plain.obj
finish
