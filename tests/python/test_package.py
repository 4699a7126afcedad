"""The Python package on the library of this build: its doctests, and every file of cases/.

Nothing is installed or compiled: the package is copied beside a fresh mirror of the headers, and
ABUT_LIBRARY names the library. Needs an interpreter that has numpy: ABUT_PYTHON, python3 or Debian's.
Arguments: abut command, source folder, build folder. Exit code 77 = skipped.
"""

import os
import pathlib
import shutil
import subprocess
import sys

source, build = pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
cache = (build / "CMakeCache.txt").read_text()
library = build / "libabut.so"


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def interpreter():
    for python in filter(None, (os.environ.get("ABUT_PYTHON"), sys.executable, "python3", "/usr/bin/python3")):
        try:
            if subprocess.run([python, "-c", "import numpy"], capture_output=True).returncode == 0:
                return python
        except OSError:
            continue
    return skip("no Python that has numpy; on Debian: apt install python3-numpy")


if "ABUT_SANITIZE:STRING=\n" not in cache:
    skip("a library with sanitizers needs them in the interpreter too")
for path in (library, *(build / f"libabut_{name}.so" for name in ("figures", "picture", "mujoco"))):
    if not path.exists():
        sys.exit(
            f"{path} is not there: build the targets abut_shared, abut_figures_shared, abut_picture_shared, abut_mujoco"
        )
python = interpreter()
folder = build / "python"
shutil.rmtree(folder, ignore_errors=True)
shutil.copytree(source / "python/src/abut", folder / "abut", ignore=shutil.ignore_patterns("__pycache__", "_c.py"))
subprocess.run(
    [
        python,
        str(source / "python/bindings.py"),
        str(source / "include"),
        str(folder / "abut/_c.py"),
        "--layout",
        str(folder / "layout.c"),
    ],
    check=True,
)
compiler = next(line.split("=", 1)[1] for line in cache.splitlines() if line.startswith("CMAKE_C_COMPILER:"))
environment = dict(
    os.environ,
    ABUT_LIBRARY=str(library),
    ABUT_COMMAND=os.path.abspath(sys.argv[1]),
    ABUT_TEST_COMPILER=compiler,
    PYTHONDONTWRITEBYTECODE="1",
    ABUT_TEST_SOURCE=str(source),
    PYTHONPATH=f"{folder}:{source / 'tests/python/cases'}",
    PYTHONWARNINGS="error",
)
sys.exit(
    subprocess.run(
        [python, str(source / "tests/python/cases/all.py"), *sys.argv[4:]], env=environment, cwd=folder
    ).returncode
)
