# The bash completion: the installed file is the generated one, and it completes.
. "$(dirname "$0")/support.sh"
try 0 "$tool" completion
demand "apps/cmd/completion.bash is old; run 'abut completion >apps/cmd/completion.bash'" \
    "$(cmp out "$source/apps/cmd/completion.bash" 2>&1)" = ""
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
    got=$(bash complete.bash "$source/apps/cmd/completion.bash" "$@")
    [ "$got" = "$expected" ] || wrong "'$*' completes to '$got' instead of '$expected'"
}
completes "contacts convert " abut co
completes "batch bench cache character clearance contacts convert demo deviation devices distance field help info inside interfere make map nearest offset overlap picture radial ray replay samples selfcheck slice sweep thickness version view " abut ""
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
    COMP_WORDS=(abut "$command" "$option")
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
bash options.bash "$source/apps/cmd/completion.bash" <options >completed
checks=$((checks + $(wc -l <completed)))
demand "not every option was tried" "$(wc -l <completed)" -eq "$(wc -l <options)"
demand "no options were found" "$(wc -l <options)" -gt 100
grep -v '^completed$' completed >missing && while read -r line; do wrong "$line"; done <missing
# zsh and fish: every command and option is there with its help; the shells themselves read the
# files where they are installed, else a look at quotes must do.
try 2 "$tool" completion tcsh
complains "only for bash, zsh and fish"
for shell in zsh fish; do
    try 0 "$tool" completion $shell
    cp out completion.$shell
    for command in $("$tool" help | sed -n 's/^  \([a-z]*\)  .*/\1/p'); do
        demand "$shell does not know abut $command" "$(grep -c "$command" completion.$shell)" -gt 0
        for option in $("$tool" help "$command" | sed -n 's/^  --\([a-z0-9-]*\).*/\1/p'); do
            case $shell in
            zsh) grep -q -e "--$option[=\[]" completion.zsh ;;
            fish) grep -q -e "-l $option " completion.fish ;;
            esac || wrong "$shell does not know abut $command --$option"
        done
    done
    if command -v $shell >/dev/null; then
        try 0 $shell -n completion.$shell
    fi
done
# Every line of zsh's options is one word in single quotes, and every bracket is closed.
cat >pattern <<'END'
^      '(\*|1):
^      '\*?--[a-z0-9-]+(=-?)?\[([^]\[]|\\.|'\\'')*\](:[^:]*:[^']*)?' \\$
END
demand "a quote or bracket of zsh is open: $(grep "^      '" completion.zsh | grep -vE -f pattern)" \
    "$(grep "^      '" completion.zsh | grep -cvE -f pattern)" -eq 0
demand "a quote of fish is open" "$(awk '{ gsub(/\\\\|\\\047/, ""); if (gsub(/\047/, "") % 2) n++ } END { print n + 0 }' completion.fish)" -eq 0

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
