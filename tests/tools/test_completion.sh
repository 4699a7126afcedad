# Completion: the scripts query the command, whose answers come from the tables of options.
. "$(dirname "$0")/support.sh"
try 0 "$tool" completion
cp out completion.bash
if ! command -v bash >/dev/null; then
    skip "completing: there is no bash"
    finish
fi
cat >complete.bash <<'END'
source "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
COMPREPLY=()
_abut
printf '%s\n' "${COMPREPLY[@]}" | sort | tr '\n' ' '
END
touch mesh.obj 'two words.ply'
completes() { # completes "EXPECTED " WORD...: the words as bash splits them, the last to complete
    expected=$1
    shift
    checks=$((checks + 1))
    shift # the name of the command
    got=$(bash complete.bash completion.bash "$tool" "$@")
    [ "$got" = "$expected" ] || wrong "'$*' completes to '$got' instead of '$expected'"
}
completes "compare contacts convert " abut co
completes "batch bench cache character clearance compare contacts convert demo deviation devices distance field help info inside interfere make map nearest offset overlap picture query radial ray replay robot samples selfcheck simulate slice sweep thickness version view " abut ""
completes "--help --json --quiet --threads --version " abut --
completes "info inside interfere " abut --json in
completes "info inside interfere " abut --threads 2 in
completes "--strict " abut info --st
completes "--strict " abut info mesh.obj --st
completes "mesh.obj " abut info m
completes "two words.ply " abut info tw
completes "icosphere " abut make ic
completes "letter-e letter-g " abut make letter
completes "mesh.obj " abut make box me
completes "mesh.obj " abut make --ascii box me
completes "torus " abut make --to ply to
completes "torus " abut make --to = ply to
completes "--segments --size " abut make box --s
completes "gltf obj off ply stl " abut convert mesh.obj x --to ""
completes "other " abut convert --from o mesh.obj --from ot
completes "ply " abut convert mesh.obj x --to = p
completes "gltf obj off ply stl " abut convert mesh.obj x --to =
completes "back bottom " abut picture mesh.obj --view b
completes " " abut info --threads ""
completes "exit-codes " abut help ex
completes "picture " abut help pi
completes " " abut version me
completes " " abut bench me
completes "cpu " abut nearest mesh.obj --device c
# Every option of every command, by one bash: those that are not completed are named.
cat >options.bash <<'END'
source "$1"
while read -r command option; do
    COMP_WORDS=("$2" "$command" "$option")
    COMP_CWORD=2
    COMPREPLY=()
    _abut
    case " ${COMPREPLY[*]} " in
    *" $option "*) echo "completed" ;;
    *) echo "abut $command $option is not completed: '${COMPREPLY[*]}'" ;;
    esac
done
END
for command in $("$tool" help | sed -n 's/^  \([a-z]*\)  .*/\1/p'); do
    "$tool" help "$command" | sed -n "s/^  \(--[a-z0-9-]*\).*/$command \1/p"
done >options
bash options.bash completion.bash "$tool" <options >completed
checks=$((checks + $(wc -l <completed)))
demand "not every option was tried" "$(wc -l <completed)" -eq "$(wc -l <options)"
demand "no options were found" "$(wc -l <options)" -gt 100
grep -v '^completed$' completed >missing && while read -r line; do wrong "$line"; done <missing
# zsh and fish: the same candidates, with descriptions; the shells themselves read the scripts
# where they are installed.
refuses "only for bash, zsh and fish" completion tcsh
for shell in zsh fish; do
    try 0 "$tool" completion $shell -- info --str
    demand "$shell gets '$(cat out)'" "$(cat out)" = "$(printf -- '--strict\treturn 3 if any mesh has problems')"
    try 0 "$tool" completion $shell -- convert a.obj b --to=p
    demand "$shell gets '$(cat out)'" "$(cat out)" = "$(printf -- '--to=ply\t')"
    try 0 "$tool" completion $shell -- info m
    demand "$shell gets no files" "$(cat out)" = ":"
    try 0 "$tool" completion $shell -- unknown m
    mute out
    try 0 "$tool" completion $shell
    cp out completion.$shell
    if command -v $shell >/dev/null; then
        try 0 $shell -n completion.$shell
    fi
done

# The manual: every command and option, and nothing that a formatter complains of.
try 0 "$tool" manual
cp out abut.1
says ".TH ABUT 1"
says ".SH EXIT STATUS"
for command in $("$tool" help | sed -n 's/^  \([a-z]*\)  .*/\1/p'); do
    says ".SS \"abut $command"
done
demand "an option is missing from the manual" "$(grep -c '^.fB.-.-' abut.1)" -gt 100
if command -v groff >/dev/null; then
    try 0 groff -man -Tutf8 -ww abut.1
    mute err
fi
finish
