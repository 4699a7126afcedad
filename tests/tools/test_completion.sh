# The bash completion: the installed file is the generated one, and it completes.
. "$(dirname "$0")/support.sh"
try 0 "$tool" completion
demand "tools/completion.bash is old; run 'abut completion >tools/completion.bash'" \
    "$(cmp out "$source/tools/completion.bash" 2>&1)" = ""
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
    got=$(bash complete.bash "$source/tools/completion.bash" "$@")
    [ "$got" = "$expected" ] || wrong "'$*' completes to '$got' instead of '$expected'"
}
completes "contacts convert " abut co
completes "bench cache contacts convert demo devices distance field help info inside make nearest offset overlap picture ray replay samples selfcheck slice sweep version " abut ""
completes "--help --json --quiet --threads --version " abut --
completes "info inside " abut --json in
completes "info inside " abut --threads 2 in
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
for command in $("$tool" help | sed -n 's/^  \([a-z]*\)  .*/\1/p'); do
    for option in $("$tool" help "$command" | sed -n 's/^  \(--[a-z0-9-]*\).*/\1/p'); do
        got=$(bash complete.bash "$source/tools/completion.bash" abut "$command" "$option")
        checks=$((checks + 1))
        case " $got" in
        *" $option "*) ;;
        *) wrong "abut $command $option is not completed: '$got'" ;;
        esac
    done
done
finish
