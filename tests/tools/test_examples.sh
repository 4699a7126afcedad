# The examples in docs/commands show what the command really prints. After a change that is meant:
#   python3 tests/tools/examples.py build/release/abut docs/commands --write
. "$(dirname "$0")/support.sh"
if [ -n "$python" ]; then
    try 0 "$python" "$source/tests/tools/examples.py" "$tool" "$source/docs/commands"
    says " 0 wrong pages"
else
    checks=1
    skip "there is no python3"
fi
finish
