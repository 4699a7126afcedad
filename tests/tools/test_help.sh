# Help of the command, and the pages in docs/commands against it.
. "$(dirname "$0")/support.sh"

# One screen: 41 lines and 80 columns.
try 0 "$tool" help
demand "general help is too long" "$(wc -l <out)" -le 41
demand "general help is too wide" "$(awk 'length > 80' out | wc -l)" -eq 0
mute err
cp out general
try 0 "$tool" --help
demand "--help is not the general help" "$(cmp out general 2>&1)" = ""
try 0 "$tool" -h
demand "-h is not the general help" "$(cmp out general 2>&1)" = ""
try 2 "$tool"
mute out
demand "without a command, help goes to standard error" "$(cmp err general 2>&1)" = ""

commands=$(sed -n 's/^  \([a-z]*\)  .*/\1/p' general)
demand "no commands were found in the help" "$(echo $commands | wc -w)" -ge 6
for command in $commands; do
    try 0 "$tool" help "$command"
    mute err
    says "Usage: abut $command"
    says "Options of every command:"
    says "Exit codes:"
    says "Examples:"
    demand "help of $command is too wide" "$(awk 'length > 80' out | wc -l)" -eq 0
    cp out one
    try 0 "$tool" "$command" --help
    demand "'abut $command --help' differs" "$(cmp out one 2>&1)" = ""
    try 0 "$tool" "$command" -h
    demand "'abut $command -h' differs" "$(cmp out one 2>&1)" = ""
    try 0 "$tool" "$command" --help --json
    is "'Usage: abut $command' in it['help']" True

    # Every option of the help stands in the page, and the other way round.
    page=$source/docs/commands/$command.md
    demand "there is no page for $command" -f "$page"
    [ -f "$page" ] || continue
    sed -n 's/^  \(--[a-z0-9-]*\).*/\1/p' one | sort -u >listed
    for option in $(cat listed); do
        demand "docs/commands/$command.md does not mention $option" \
            "$(grep -cF -e "$option" "$page" "$source/docs/commands/README.md" |
                awk -F: '{n += $2} END {print n}')" -gt 0
    done
    sed -n 's/^| `\(--[a-z0-9-]*\).*/\1/p' "$page" | sort -u >documented
    demand "docs/commands/$command.md mentions options that do not exist: \
$(comm -13 listed documented | tr '\n' ' ')" "$(comm -13 listed documented | wc -l)" -eq 0
    sed -n '/^Options:/,/^$/p' one | sed -n 's/^  \(--[a-z0-9-]*\).*/\1/p' | sort -u >own
    demand "the table of docs/commands/$command.md lacks: $(comm -23 own documented | tr '\n' ' ')" \
        "$(comm -23 own documented | wc -l)" -eq 0
    demand "docs/commands/README.md does not link $command" \
        "$(grep -cF "($command.md)" "$source/docs/commands/README.md")" -gt 0
done

for topic in exit-codes formats; do
    try 0 "$tool" help $topic
    mute err
    demand "help of $topic is too wide" "$(awk 'length > 80' out | wc -l)" -eq 0
done
try 0 "$tool" help exit-codes
for code in 0 1 2 3 130; do
    demand "exit code $code is not explained" "$(grep -c "^  $code  " out)" -eq 1
    demand "exit code $code is not in the docs" \
        "$(grep -c "^| $code |" "$source/docs/commands/README.md")" -eq 1
done
refuses "did you mean 'exit-codes'?" help exit-cods
refuses "no help for 'nothing-like-it'" help nothing-like-it

prints "abut " --version
cp out one
try 0 "$tool" version
demand "--version differs from version" "$(cmp out one 2>&1)" = ""
try 0 "$tool" version --json
is "sorted(it['features'])" "['assimp', 'gltf', 'ode', 'opencl', 'png', 'threads', 'urdf', 'zstd']"
demand "the version is not that of the header" \
    "$(sed -n 's/.*VERSION_\(MAJOR\|MINOR\|PATCH\) //p' "$source/include/abut/base.h" |
        paste -sd. -)" = "$("$tool" version | sed -n '1s/abut //p')"
finish
