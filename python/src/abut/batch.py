"""Resumable jobs on many files: the command `abut batch` from Python."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from typing import Any, Iterable, Mapping, Optional, Union

from ._core import ArgumentError, Error, UnsupportedError, find_file
from .mesh import Path

Job = Union[Mapping[str, Any], "tuple[str, Path]"]


def _command() -> str:
    found = os.environ.get("ABUT_COMMAND") or find_file("abut") or shutil.which("abut")
    if not found:
        raise UnsupportedError(
            "abut.batch needs the command abut, which is neither in the package nor on PATH; set ABUT_COMMAND to its path"
        )
    return str(found)


def _line(job: Job) -> str:
    if not isinstance(job, Mapping):
        do, source = job
        job = {"do": do, "input": source}
    unknown = set(job) - {"do", "input", "output"}
    if unknown or "do" not in job or "input" not in job:
        raise ArgumentError("a job is ('field --cells 64', 'a.obj') or has the keys do, input and, if need be, output")
    return json.dumps({key: os.fspath(value) for key, value in job.items()})


def batch(
    jobs: Iterable[Job],
    out: Path,
    *,
    shard: Optional[tuple[int, int]] = None,
    threads: int = 0,
    base: Optional[Path] = None,
) -> dict[str, Any]:
    """Runs jobs such as ("field --cells 64", "a.obj"), ("report", "a.obj") or {"do": ..., "input": ..., "output": ...}
    and writes the results to the folder `out`. Jobs that another run has finished are skipped; several runs may use
    the same folder. `shard` (i, n) selects the i-th of n parts, counted from 1. Returns a dict with folder, manifest,
    jobs, done, done_before, failed and failures. A failed job does not stop the others."""
    words = [_command(), "batch", "--jobs", "-", "--out", os.fspath(out), "--json", "--quiet"]
    if shard is not None:
        words += ["--shard", f"{int(shard[0])}/{int(shard[1])}"]
    if threads:
        words += ["--threads", str(int(threads))]
    if base is not None:
        words += ["--base", os.fspath(base)]
    lines = "".join(_line(job) + "\n" for job in jobs)
    ended = subprocess.run(words, input=lines, capture_output=True, text=True)
    try:
        result = json.loads(ended.stdout)
    except ValueError:
        result = {}
    if ended.returncode not in (0, 1) or "jobs" not in result:
        sentence = result.get("error", {}).get("message") or ended.stderr.strip() or f"exit code {ended.returncode}"
        raise (ArgumentError if ended.returncode == 2 else Error)(sentence)
    return dict(result)
