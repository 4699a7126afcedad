#!/bin/sh
# Every embedded kernel module compiles as OpenCL C 1.2 and 3.0 by clang alone, without a device; and
# embedding resolves includes, each file once, and keeps the lines.
# Arguments: abut command, source folder, build folder.
set -eu
source=$2 build=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# ---- embedding ----
mkdir "$work/a"
printf '/* one; [two] "three" \\n ??/ */\n#include "a/x.h"\n#include "a/y.h"\nlast; ;[\n' >"$work/a/m.cl"
printf 'x1\n#include "a/y.h"\nx3\n' >"$work/a/x.h"
printf 'y1\n#include <other.h>\n' >"$work/a/y.h"
cmake -DROOTS="$work" -DKERNELS="$work/a/m.cl" -DOUT="$work/out.c" -DTABLE=all \
    -P "$source/cmake/embed.cmake"
cat >"$work/wanted" <<'END'
#line 1 "a/m.cl"
/* one; [two] "three" \n ??/ */
#line 1 "a/x.h"
x1
#line 1 "a/y.h"
y1
#include <other.h>

#line 3 "a/x.h"
x3

#line 3 "a/m.cl"

#line 4 "a/m.cl"
last; ;[
END
diff "$work/wanted" "$work/out.c.m.cl"
cat >"$work/print.c" <<'END'
#include "device/device.h"
#include <stdio.h>
extern const abuti_module all[];
int main(void) {
    return all[1].name || fwrite(all[0].text, 1, all[0].bytes, stdout) != all[0].bytes;
}
END
cc -std=c11 -I"$source/src/foundation" -I"$source/include" -o "$work/print" "$work/print.c" "$work/out.c"
"$work/print" | diff "$work/wanted" -
printf '#include "a/missing.h"\n' >"$work/a/m.cl"
if cmake -DROOTS="$work" -DKERNELS="$work/a/m.cl" -DOUT="$work/no.c" -DTABLE=all \
    -P "$source/cmake/embed.cmake" 2>"$work/said"; then
    echo "a missing include went unnoticed"
    exit 1
fi
grep -q 'a/missing.h' "$work/said"
[ ! -e "$work/no.c" ]

# ---- lint ----
command -v clang >/dev/null || {
    echo "no clang to compile OpenCL C with"
    exit 0
}
# PoCL defines a macro for each built-in function; a macro of that name in a kernel is a warning there,
# which PoCL prints on stderr.
builtin=
for name in all any bitselect clamp cross degrees distance dot length max min mix normalize radians select sign step; do
    builtin="$builtin -D$name=$name"
done
count=0
lint() { # MODULE OPTION...
    module=$1
    shift
    for standard in CL1.2 CL3.0; do
        # shellcheck disable=SC2086 # several options
        clang -x cl -cl-std=$standard -target spir64 -Xclang -finclude-default-header -Wall -Wextra \
            -Wshadow -Werror -Wno-unused-function $builtin "$@" -fsyntax-only "$build/$text.c.$module.cl"
        count=$((count + 1))
    done
}
for kernel in "$source"/src/*/*/*.cl "$source"/src/*/*/*/*.cl "$source"/bench/*/*/*.cl; do
    module=$(basename "$kernel" .cl)
    text=kernels
    case $module in
    cloth | world) lint "$module" -DABUTI_REAL_BITS=64 ;;
    rivals)
        text=rival_kernels
        lint rivals
        ;;
    brute)
        text=brute_kernels
        lint brute
        ;;
    *) lint "$module" ;;
    esac
    # A __local variable may become shared between the threads of PoCL 3.1; see group_cl.h.
    if grep -nE '^ +__local [a-z_0-9]+ [a-z_]+\[' "$kernel"; then
        echo "$kernel has a __local variable; make it an argument"
        exit 1
    fi
done
[ "$count" -ge 8 ]
echo "$count builds"
