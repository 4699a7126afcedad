#!/bin/sh
# Fields and reports of all models of a folder by a Slurm array:
#
#   sbatch --array=1-8 slurm.sh MODELS RESULTS
#
# Each task does its part of the jobs. A task that ran out of time or memory is started again with the same line and
# goes on where it was. So is the whole array after models were added or changed.
#SBATCH --job-name=abut-batch
#SBATCH --cpus-per-task=4
#SBATCH --mem=8G
#SBATCH --time=02:00:00
#SBATCH --requeue
set -eu
models=$1 results=$2
find "$models" -type f \( -name '*.obj' -o -name '*.ply' -o -name '*.stl' \) -print0 |
    "${ABUT:-abut}" batch - --do 'field --cells 64' --do report --out "$results" --base "$models" --quiet \
        --threads "${SLURM_CPUS_PER_TASK:-1}" --shard "${SLURM_ARRAY_TASK_ID:-1}/${SLURM_ARRAY_TASK_COUNT:-1}"
