#!/bin/sh
# Fields and reports of all models of a folder by several processes of one machine:
#
#   xargs.sh MODELS RESULTS [PROCESSES]
#
# Each process has one thread and takes eight models at a time, so that a model that needs too much memory ends one
# process alone. All share the folder and its manifest. The same line again does only what is missing.
set -eu
models=$1 results=$2 processes=${3:-$(getconf _NPROCESSORS_ONLN)}
find "$models" -type f \( -name '*.obj' -o -name '*.ply' -o -name '*.stl' \) -print0 |
    xargs -0 -n 8 -P "$processes" \
        "${ABUT:-abut}" batch --do 'field --cells 64' --do report --out "$results" --base "$models" --quiet --threads 1 --
