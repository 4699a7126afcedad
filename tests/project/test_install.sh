#!/bin/sh
# Installs into a temporary folder, then builds and runs programs from outside: one in C through
# pkg-config (shared and static), one in C++ through CMake's find_package. Then uninstalls. Then
# configures a project that has abut as a part of it, and in thorough runs builds it.
# Arguments: abut command, source folder, build folder.
set -eu
source=$2 build=$3
version=$(sed -n 's/^#define ABUT_VERSION_[A-Z]* //p' "$source/include/abut/base.h" | paste -sd.)
minor=${version%.*}
grep -q 'ABUT_SANITIZE:STRING=.' "$build/CMakeCache.txt" && exit 77
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
prefix=$work/prefix
cmake --install "$build" --prefix "$prefix" >"$work/log"

PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name abut.pc)")
export PKG_CONFIG_PATH
[ "$(pkg-config --variable=prefix abut | xargs readlink -f)" = "$(readlink -f "$prefix")" ]
libraries=$(pkg-config --variable=libdir abut)
cc=$(sed -n 's/^CMAKE_C_COMPILER:[A-Z]*=//p' "$build/CMakeCache.txt")
# shellcheck disable=SC2046 # flags are meant to be split
"$cc" -std=c11 "$source/examples/hello.c" -o "$work/shared" $(pkg-config --cflags --libs abut)
LD_LIBRARY_PATH=$libraries "$work/shared" | grep 'triangles'
# shellcheck disable=SC2046
"$cc" -std=c11 "$source/examples/hello.c" -o "$work/static" $(pkg-config --cflags abut) \
    "$libraries/libabut.a" $(pkg-config --static --libs-only-l --libs-only-other abut | sed 's/-labut//')
"$work/static" | grep 'triangles'
for part in picture figures; do
    pkg-config --libs "abut_$part" | grep -q -- "-labut_$part.* -labut\b"
done

mkdir "$work/outside"
cat >"$work/outside/CMakeLists.txt" <<CMAKE
cmake_minimum_required(VERSION 3.18)
project(outside CXX)
find_package(abut $minor REQUIRED)
add_executable(outside main.cpp)
target_link_libraries(outside abut::abut)
add_executable(outside_static main.cpp)
target_link_libraries(outside_static abut::static)
add_executable(figure figure.cpp)
target_link_libraries(figure abut::picture abut::figures)
add_executable(figure_static figure.cpp)
target_link_libraries(figure_static abut::picture_static abut::figures_static)
CMAKE
cp "$source/tests/project/outside.cpp" "$work/outside/main.cpp"
cp "$source/tests/project/figure.cpp" "$work/outside/"
cmake -S "$work/outside" -B "$work/outside/build" -DCMAKE_PREFIX_PATH="$prefix" >"$work/log"
cmake --build "$work/outside/build" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
"$work/outside/build/outside" | grep 'triangles'
"$work/outside/build/outside_static" | grep 'triangles'
for program in figure figure_static; do
    (cd "$work" && "outside/build/$program" | grep 'a mannequin of 8000 triangles')
    [ "$(head -c 2 "$work/figure.ppm")" = P6 ] && rm "$work/figure.ppm"
done
cmake -S "$source/examples/character" -B "$work/character" -DCMAKE_PREFIX_PATH="$prefix" >"$work/log"
cmake --build "$work/character" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
"$work/character/abut-character" mannequin --frames 2 --particles 1000 | grep '2 with 4 steps'

"$prefix/bin/abut" version | grep -F "$version"
[ -s "$prefix/share/bash-completion/completions/abut" ]
[ -s "$prefix/share/man/man1/abut.1" ]
[ -s "$prefix/share/doc/abut/LICENSE" ]
[ -s "$prefix/share/doc/abut/docs/choosing.md" ]

# What others read names no folder of this machine, and the ABI has one rule: the same minor version or nothing.
if grep -rE '(^|[ ;"=])/(usr|lib|home|tmp|opt)|'"$source" "$libraries/pkgconfig" "$libraries/cmake"; then
    echo "an absolute path in an exported file" >&2
    exit 1
fi
[ -e "$libraries/libabut.so.$minor" ]
sed "s/abut $minor/abut 0.99/" "$work/outside/CMakeLists.txt" >"$work/next" && mv "$work/next" "$work/outside/CMakeLists.txt"
if cmake -S "$work/outside" -B "$work/refused" -DCMAKE_PREFIX_PATH="$prefix" >"$work/log" 2>&1; then
    echo "find_package(abut 0.99) took $minor" >&2
    exit 1
fi

# Uninstalled, nothing of it is left but folders that others share.
cp "$build/install_manifest.txt" "$work/install_manifest.txt"
(cd "$work" && cmake -P "$source/cmake/uninstall.cmake" >"$work/log" 2>&1)
left=$(find "$prefix" -name '*abut*')
[ -z "$left" ] || { echo "left behind: $left" >&2; exit 1; }

# As a part of another project, by FetchContent: the libraries, and nothing else.
cmake -G 'Unix Makefiles' -S "$source/examples/fetchcontent" -B "$work/part" -DCMAKE_C_FLAGS=-O0 \
    >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
grep -F "abut $version with" "$work/log"
make -C "$work/part" help >"$work/targets"
grep -q ' abut_shared$' "$work/targets"
! grep -E ' (abut_tool|abut_bench|test_.*|uninstall|abut_check_data|abut_cloth_scenes)$' "$work/targets"
if [ "${ABUT_TEST_THOROUGH:-}" ]; then # the whole library once more
    make -C "$work/part" -j2 hello >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
    "$work/part/hello" | grep 'triangles'
fi

# Packages have the version of the header, and Debian's library is named by its soname.
grep -q "^abut ($version)" "$source/debian/changelog"
grep -q "\"version\": \"$version\"" "$source/packaging/vcpkg/vcpkg.json"
grep -q "^Package: libabut$minor\$" "$source/debian/control"
