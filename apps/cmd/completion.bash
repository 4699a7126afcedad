# bash completion for abut; made by 'abut completion', do not edit
_abut_values() {
  values=
  case $1:$2 in
    info:--html) values="" ;;
    info:--from) values="obj ply stl off gltf other" ;;
    convert:--scale) values="" ;;
    convert:--rotate) values="" ;;
    convert:--translate) values="" ;;
    convert:--from) values="obj ply stl off gltf other" ;;
    convert:--to) values="obj ply stl off gltf" ;;
    make:--size) values="" ;;
    make:--radius) values="" ;;
    make:--radius2) values="" ;;
    make:--height) values="" ;;
    make:--segments) values="" ;;
    make:--rings) values="" ;;
    make:--to) values="obj ply stl off gltf" ;;
    picture:--size) values="" ;;
    picture:--view) values="front back left right top bottom iso" ;;
    picture:--up) values="x y z -x -y -z" ;;
    picture:--fov) values="" ;;
    picture:--colour) values="" ;;
    picture:--background) values="" ;;
    view:--out) values="" ;;
    view:--title) values="" ;;
    view:--unit) values="" ;;
    view:--clip) values="" ;;
    view:--view) values="front back left right top bottom iso" ;;
    view:--up) values="x y z -x -y -z" ;;
    character:--triangles) values="" ;;
    character:--clip) values="" ;;
    character:--time) values="" ;;
    character:--skinning) values="linear dual" ;;
    character:--without) values="" ;;
    character:--garment) values="trousers-and-top overcoat cape dress" ;;
    character:--particles) values="" ;;
    character:--ease) values="" ;;
    character:--joints) values="" ;;
    character:--out) values="" ;;
    character:--png) values="" ;;
    character:--html) values="" ;;
    character:--film) values="" ;;
    character:--view) values="front back left right top bottom iso" ;;
    character:--up) values="x y z -x -y -z" ;;
    character:--fov) values="" ;;
    radial:--triangles) values="" ;;
    radial:--clip) values="" ;;
    radial:--time) values="" ;;
    radial:--skinning) values="linear dual" ;;
    radial:--without) values="" ;;
    radial:--cell) values="" ;;
    radial:--resolution) values="" ;;
    radial:--weight) values="" ;;
    radial:--at) values="" ;;
    radial:--points) values="" ;;
    radial:--plot) values="" ;;
    radial:--out) values="" ;;
    radial:--png) values="" ;;
    radial:--html) values="" ;;
    radial:--error) values="" ;;
    radial:--unrolled) values="" ;;
    radial:--view) values="front back left right top bottom iso" ;;
    radial:--up) values="x y z -x -y -z" ;;
    radial:--fov) values="" ;;
    radial:--device) values="cpu gpu" ;;
    nearest:--radius) values="" ;;
    nearest:--sign) values="winding normal" ;;
    nearest:--most) values="" ;;
    nearest:--random) values="" ;;
    nearest:--near) values="" ;;
    nearest:--seed) values="" ;;
    nearest:--out) values="" ;;
    nearest:--html) values="" ;;
    nearest:--device) values="cpu gpu" ;;
    inside:--random) values="" ;;
    inside:--near) values="" ;;
    inside:--seed) values="" ;;
    inside:--out) values="" ;;
    inside:--html) values="" ;;
    inside:--device) values="cpu gpu" ;;
    ray:--from) values="" ;;
    ray:--towards) values="" ;;
    ray:--most) values="" ;;
    ray:--out) values="" ;;
    ray:--html) values="" ;;
    ray:--device) values="cpu gpu" ;;
    overlap:--pose) values="" ;;
    overlap:--pose-a) values="" ;;
    overlap:--poses) values="" ;;
    overlap:--out) values="" ;;
    overlap:--png) values="" ;;
    overlap:--html) values="" ;;
    overlap:--view) values="front back left right top bottom iso" ;;
    overlap:--up) values="x y z -x -y -z" ;;
    overlap:--device) values="cpu gpu" ;;
    distance:--margin) values="" ;;
    distance:--pose) values="" ;;
    distance:--pose-a) values="" ;;
    distance:--poses) values="" ;;
    distance:--out) values="" ;;
    distance:--png) values="" ;;
    distance:--html) values="" ;;
    distance:--view) values="front back left right top bottom iso" ;;
    distance:--up) values="x y z -x -y -z" ;;
    distance:--device) values="cpu gpu" ;;
    selfcheck:--first) values="" ;;
    selfcheck:--out) values="" ;;
    selfcheck:--png) values="" ;;
    selfcheck:--html) values="" ;;
    selfcheck:--view) values="front back left right top bottom iso" ;;
    selfcheck:--up) values="x y z -x -y -z" ;;
    selfcheck:--limit) values="" ;;
    map:--max) values="" ;;
    map:--within) values="" ;;
    map:--rings) values="" ;;
    map:--geodesic) values="" ;;
    map:--show) values="distance voronoi gradient" ;;
    map:--images) values="" ;;
    map:--pose) values="" ;;
    map:--pose-a) values="" ;;
    map:--resolution) values="" ;;
    map:--png) values="" ;;
    map:--html) values="" ;;
    map:--view) values="front back left right top bottom iso" ;;
    map:--up) values="x y z -x -y -z" ;;
    map:--out) values="" ;;
    map:--device) values="cpu gpu" ;;
    clearance:--below) values="" ;;
    clearance:--first) values="" ;;
    clearance:--pose) values="" ;;
    clearance:--pose-a) values="" ;;
    clearance:--resolution) values="" ;;
    clearance:--png) values="" ;;
    clearance:--html) values="" ;;
    clearance:--view) values="front back left right top bottom iso" ;;
    clearance:--up) values="x y z -x -y -z" ;;
    clearance:--out) values="" ;;
    clearance:--device) values="cpu gpu" ;;
    deviation:--tolerance) values="" ;;
    deviation:--samples) values="" ;;
    deviation:--pose) values="" ;;
    deviation:--pose-a) values="" ;;
    deviation:--resolution) values="" ;;
    deviation:--png) values="" ;;
    deviation:--html) values="" ;;
    deviation:--view) values="front back left right top bottom iso" ;;
    deviation:--up) values="x y z -x -y -z" ;;
    deviation:--out) values="" ;;
    deviation:--device) values="cpu gpu" ;;
    thickness:--below) values="" ;;
    thickness:--max) values="" ;;
    thickness:--resolution) values="" ;;
    thickness:--png) values="" ;;
    thickness:--html) values="" ;;
    thickness:--view) values="front back left right top bottom iso" ;;
    thickness:--up) values="x y z -x -y -z" ;;
    thickness:--out) values="" ;;
    thickness:--device) values="cpu gpu" ;;
    sweep:--mode) values="earliest all any" ;;
    sweep:--thickness) values="" ;;
    sweep:--tolerance) values="" ;;
    sweep:--from) values="" ;;
    sweep:--to) values="" ;;
    sweep:--first) values="" ;;
    sweep:--out) values="" ;;
    sweep:--png) values="" ;;
    sweep:--html) values="" ;;
    sweep:--view) values="front back left right top bottom iso" ;;
    sweep:--up) values="x y z -x -y -z" ;;
    sweep:--device) values="cpu gpu" ;;
    replay:--scheme) values="auto point line complete boxes sweep inexact all" ;;
    replay:--line) values="own companion" ;;
    replay:--from) values="" ;;
    replay:--to) values="" ;;
    replay:--every) values="" ;;
    replay:--html) values="" ;;
    replay:--png) values="" ;;
    replay:--picture) values="" ;;
    replay:--view) values="front back left right top bottom iso" ;;
    replay:--up) values="x y z -x -y -z" ;;
    replay:--device) values="cpu gpu" ;;
    field:--to) values="abutf vti npy raw" ;;
    field:--png) values="" ;;
    field:--html) values="" ;;
    field:--palette) values="thesis diverging grey" ;;
    field:--view) values="front back left right top bottom iso" ;;
    field:--up) values="x y z -x -y -z" ;;
    field:--cells) values="" ;;
    field:--cell) values="" ;;
    field:--margin) values="" ;;
    field:--band) values="" ;;
    field:--sign) values="auto winding normal" ;;
    field:--device) values="cpu gpu" ;;
    slice:--axis) values="x y z" ;;
    slice:--at) values="" ;;
    slice:--size) values="" ;;
    slice:--palette) values="diverging thesis grey" ;;
    slice:--sign) values="auto winding normal" ;;
    slice:--html) values="" ;;
    offset:--by) values="" ;;
    offset:--cells) values="" ;;
    offset:--cell) values="" ;;
    offset:--sign) values="auto winding normal" ;;
    offset:--to) values="obj ply stl off gltf" ;;
    offset:--device) values="cpu gpu" ;;
    samples:--features) values="vertices edges faces" ;;
    samples:--cells) values="" ;;
    samples:--cell) values="" ;;
    samples:--threshold) values="" ;;
    samples:--flat) values="" ;;
    samples:--radius) values="" ;;
    samples:--count) values="" ;;
    samples:--limit) values="" ;;
    samples:--out) values="" ;;
    samples:--png) values="" ;;
    samples:--html) values="" ;;
    samples:--view) values="front back left right top bottom iso" ;;
    samples:--up) values="x y z -x -y -z" ;;
    contacts:--pose) values="" ;;
    contacts:--pose-a) values="" ;;
    contacts:--with) values="plane: sphere: capsule: box: cylinder:" ;;
    contacts:--to) values="" ;;
    contacts:--method) values="exact field map auto layers" ;;
    contacts:--resolution) values="" ;;
    contacts:--cells) values="" ;;
    contacts:--margin) values="" ;;
    contacts:--hint) values="" ;;
    contacts:--limit) values="" ;;
    contacts:--most) values="" ;;
    contacts:--out) values="" ;;
    contacts:--png) values="" ;;
    contacts:--html) values="" ;;
    contacts:--colour) values="depth patch" ;;
    contacts:--view) values="front back left right top bottom iso" ;;
    contacts:--up) values="x y z -x -y -z" ;;
    interfere:--clearance) values="" ;;
    interfere:--tolerance) values="" ;;
    interfere:--method) values="exact images" ;;
    interfere:--views) values="x xy xyz" ;;
    interfere:--resolution) values="" ;;
    interfere:--first) values="" ;;
    interfere:--out) values="" ;;
    interfere:--png) values="" ;;
    interfere:--html) values="" ;;
    interfere:--images) values="" ;;
    interfere:--view) values="front back left right top bottom iso" ;;
    interfere:--up) values="x y z -x -y -z" ;;
    interfere:--device) values="cpu gpu" ;;
    batch:--do) values="" ;;
    batch:--out) values="" ;;
    batch:--jobs) values="" ;;
    batch:--base) values="" ;;
    batch:--shard) values="" ;;
    batch:--manifest) values="" ;;
    cache:--older) values="" ;;
    demo:--png) values="" ;;
    demo:--html) values="" ;;
    demo:--plot) values="" ;;
    demo:--triangles) values="" ;;
    demo:--solid) values="" ;;
    demo:--frames) values="" ;;
    demo:--record) values="" ;;
    demo:--meshes) values="" ;;
    demo:--device) values="cpu gpu" ;;
    demo:--bodies) values="" ;;
    demo:--seconds) values="" ;;
    demo:--seed) values="" ;;
    demo:--resolution) values="" ;;
    demo:--model) values="" ;;
    demo:--clip) values="" ;;
    demo:--without) values="" ;;
    demo:--joints) values="" ;;
    demo:--method) values="exact radial" ;;
    bench:--repeat) values="" ;;
    bench:--device) values="cpu gpu" ;;
    *:--threads) values="" ;;
  *) return 1 ;;
  esac
}

_abut() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]}
  local command= operand= options= values= words= files=yes i
  # bash splits --name=value into three words
  if [[ $current == = ]]; then
    current=
  elif [[ $previous == = ]]; then
    previous=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  for ((i = 1; i < COMP_CWORD; i++)); do
    case ${COMP_WORDS[i]} in
    =) ((i++)) ;;
    -*) [[ ${COMP_WORDS[i + 1]} != = ]] && _abut_values "$command" "${COMP_WORDS[i]}" &&
      ((i++)) ;;
    *) if [[ ! $command ]]; then
        command=${COMP_WORDS[i]}
      else
        operand=${COMP_WORDS[i]}
      fi ;;
    esac
  done
  case $command in
    '') words="info convert make picture view character radial nearest inside ray overlap distance selfcheck map clearance deviation thickness sweep replay field slice offset samples contacts interfere batch cache demo devices bench version help" options="--json --quiet --threads --help --version" files= ;;
    info) options="--all --strict --no-self --html --from --json --quiet --threads --help" ;;
    convert) options="--weld --orient --scale --rotate --translate --fan --ascii --from --to --json --quiet --threads --help" ;;
    make) options="--list --size --radius --radius2 --height --segments --rings --ascii --to --json --quiet --threads --help" ;;
    picture) options="--size --view --up --fov --edges --flat --colour --ground --background --no-legend --defects --json --quiet --threads --help" ;;
    view) options="--out --title --unit --clip --edges --flat --view --up --json --quiet --threads --help" ;;
    character) options="--triangles --clip --time --skinning --weld --without --garment --particles --ease --joints --out --png --html --film --view --up --fov --json --quiet --threads --help" ;;
    radial) options="--triangles --clip --time --skinning --weld --without --cell --resolution --weight --at --report --points --plot --out --png --html --error --unrolled --view --up --fov --device --json --quiet --threads --help" ;;
    nearest) options="--radius --sign --most --random --near --seed --out --html --device --json --quiet --threads --help" ;;
    inside) options="--winding --random --near --seed --out --html --device --json --quiet --threads --help" ;;
    ray) options="--from --towards --most --all --out --html --device --json --quiet --threads --help" ;;
    overlap) options="--pairs --volume --pose --pose-a --poses --surfaces --out --png --html --view --up --device --json --quiet --threads --help" ;;
    distance) options="--margin --pose --pose-a --poses --surfaces --out --png --html --view --up --device --json --quiet --threads --help" ;;
    selfcheck) options="--first --out --png --html --view --up --by-index --limit --json --quiet --threads --help" ;;
    map) options="--max --exact --within --signed --unsigned --self --rings --geodesic --show --images --pose --pose-a --resolution --png --html --view --up --out --device --json --quiet --threads --help" ;;
    clearance) options="--below --surfaces --first --pose --pose-a --resolution --png --html --view --up --out --device --json --quiet --threads --help" ;;
    deviation) options="--signed --tolerance --samples --one-sided --pose --pose-a --resolution --png --html --view --up --out --device --json --quiet --threads --help" ;;
    thickness) options="--ball --below --max --resolution --png --html --view --up --out --device --json --quiet --threads --help" ;;
    sweep) options="--mode --thickness --tolerance --exact --self --others --regardless --from --to --frames-only --first --out --png --html --view --up --device --json --quiet --threads --help" ;;
    replay) options="--scheme --line --from --to --every --frames-only --summary --html --png --picture --view --up --device --json --quiet --threads --help" ;;
    field) options="--to --sparse --int16 --plain --time --png --html --inside --palette --view --up --cells --cell --margin --band --sign --cache --device --json --quiet --threads --help" ;;
    slice) options="--axis --at --size --palette --cubic --sign --html --json --quiet --threads --help" ;;
    offset) options="--by --cells --cell --sign --to --cache --device --json --quiet --threads --help" ;;
    samples) options="--features --cells --cell --threshold --flat --surface --radius --count --limit --cache --out --png --html --view --up --json --quiet --threads --help" ;;
    contacts) options="--pose --pose-a --with --to --method --explain --resolution --cells --cache --margin --hint --patches --samples --limit --most --out --png --html --colour --after --view --up --json --quiet --threads --help" ;;
    interfere) options="--touching --clearance --tolerance --method --views --resolution --own --edges --parts --cap --first --out --png --html --images --view --up --device --json --quiet --threads --help" ;;
    batch) options="--do --out --jobs --base --shard --manifest --index --again --dry-run --json --quiet --threads --help" ;;
    cache) options="--older --json --quiet --threads --help" ;;
    demo) options="--png --html --plot --triangles --solid --frames --record --meshes --device --bodies --seconds --seed --resolution --model --clip --without --joints --wind --method --self --outside --compare --json --quiet --threads --help" ;;
    devices) options="--check --json --quiet --threads --help" ;;
    bench) options="--list --repeat --quick --device --json --quiet --threads --help" ;;
    version) options="--json --quiet --threads --help" ;;
    help) options="--json --quiet --threads --help" ;;
  esac
  case $command:$operand in
    make:) words="box uvsphere icosphere torus cone cylinder capsule tube sheet stairs letter-e letter-g teapot teapot-solid" ;;
    help:) words="info convert make picture view character radial nearest inside ray overlap distance selfcheck map clearance deviation thickness sweep replay field slice offset samples contacts interfere batch cache demo devices bench version help exit-codes formats" ;;
    bench:* | help:* | version:*) files= ;;
  esac
  if _abut_values "$command" "$previous"; then
    mapfile -t COMPREPLY < <(compgen -W "$values" -- "$current")
  elif [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$options" -- "$current")
  elif [[ $words ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  elif [[ $files ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
}
complete -F _abut abut
