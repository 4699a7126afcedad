"""The code of the tutorials, the cookbook and, of the README, Python runs and prints what the pages show.

Of each page the fenced blocks are taken in turn, in a fresh folder with `abut` on the path, and headers and library
where an installation would have them:

    ```c        a first line of the form /* name.c */ saves the block under that name, for blocks that follow; other
                blocks with a main are compiled, without a warning, and run
    ```sh       is run by sh -e
    ```python   is run, where there is an interpreter with numpy; each block has its own names
    ```text     is what the block before it prints

The cookbook is one folder for all of its pages, README.md first. Of the README of the tree only Python is run: its C
is the business of test_docs.sh. With --write the pages are corrected instead.
Arguments: abut command, source folder, build folder.
"""
import difflib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

tool, source, build = (pathlib.Path(text).resolve() for text in sys.argv[1:4])
write = "--write" in sys.argv
cache = (build / "CMakeCache.txt").read_text()
compiler = re.search(r"(?m)^CMAKE_C_COMPILER:[A-Z]*=(.*)$", cache).group(1)
FENCE = re.compile(r"(?ms)^```([a-z]*)\n(.*?)^```$")
# Runs blocks, one a line as JSON, in one interpreter: numpy is slow to import.
RUNNER = """
import contextlib, io, json, sys, traceback
for line in sys.stdin:
    printed, code = io.StringIO(), 0
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(json.loads(line), "block", "exec"), {"__name__": "__main__"})
    except BaseException:
        printed.write(traceback.format_exc())
        code = 1
    print(json.dumps([code, printed.getvalue()]), flush=True)
"""
PACKAGE = """Name: {name}
Description: as an installation has it
Version: 0
Cflags: -I{source}/include
Libs: -L{build} -Wl,-rpath,{build} -l{name}
"""


def interpreter():
    """A Python that has numpy, or None."""
    for python in filter(None, (os.environ.get("ABUT_PYTHON"), sys.executable, "/usr/bin/python3")):
        try:
            if subprocess.run([python, "-c", "import numpy"], capture_output=True).returncode == 0:
                return python
        except OSError:
            continue
    return None


def prepare(folder):
    """What an installation would give: the environment, and a process that runs Python, or None."""
    places = folder / "installed"
    (places / "bin").mkdir(parents=True)
    (places / "bin/abut").symlink_to(tool)
    (places / "bin/cc").symlink_to(shutil.which(compiler))
    for name in ("abut", "abut_figures"):
        (places / f"{name}.pc").write_text(PACKAGE.format(name=name, source=source, build=build))
    environment = dict(os.environ, LC_ALL="C.UTF-8", PYTHONDONTWRITEBYTECODE="1",
                       PATH=f"{places}/bin:{os.environ['PATH']}", PKG_CONFIG_PATH=str(places),
                       ABUT_CACHE_DIR=str(places / "cache"), ABUT_LIBRARY=str(build / "libabut.so"),
                       PYTHONPATH=str(places / "python"))
    python = interpreter() if (source / "python/bindings.py").exists() else None
    if python:
        package = places / "python/abut"
        shutil.copytree(source / "python/src/abut", package, ignore=shutil.ignore_patterns("__pycache__", "_c.py"))
        subprocess.run([python, str(source / "python/bindings.py"), str(source / "include"), str(package / "_c.py")],
                       check=True)
        python = subprocess.Popen([python, "-W", "error", "-c", RUNNER], cwd=folder, env=environment, text=True,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    return environment, python


def run_python(python, text):
    python.stdin.write(json.dumps(text) + "\n")
    python.stdin.flush()
    code, printed = json.loads(python.stdout.readline() or '[1, "the interpreter ended"]')
    return subprocess.CompletedProcess([], code, printed, "")


def program(text, folder, environment):
    """Compiles and runs a program; its output, or none where it fails."""
    (folder / "program.c").write_text(text)
    command = "cc -std=c11 -Wall -Wextra -Werror program.c -o program $(pkg-config --cflags --libs abut abut_figures) -lm && ./program"
    return subprocess.run(["sh", "-c", command], cwd=folder, env=environment, capture_output=True, text=True)


def run(kind, text, folder, environment, python):
    """What a block prints, or None where it is not run."""
    name = re.match(r"/\* (\S+\.[ch]) \*/\n", text)
    if kind == "c" and name:
        (folder / name.group(1)).write_text(text)
        return None
    if kind == "c" and "int main" in text:
        done = program(text, folder, environment)
    elif kind == "sh":
        done = subprocess.run(["sh", "-e", "-c", text], cwd=folder, env=environment, capture_output=True, text=True)
    elif kind == "python" and python:
        done = run_python(python, text)
    else:
        return None
    if done.returncode:
        print(f"this block fails with {done.returncode}:\n{text}{done.stdout}{done.stderr}")
        raise SystemExit(1)
    return done.stdout


def check(page, folder, environment, python, counts):
    """Runs the blocks of a page; whether it shows what they print."""
    old = (source / page).read_text(encoding="utf-8")
    parts, at, printed = [], 0, None
    for fence in FENCE.finditer(old):
        kind, text = fence.groups()
        if kind == "text":
            if printed is not None:
                text = printed
            printed = None
        elif page == "README.md" and kind != "python":
            printed = None
        else:
            printed = run(kind, text, folder, environment, python)
            counts[kind] = counts.get(kind, 0) + (printed is not None)
        parts += [old[at:fence.start()], f"```{kind}\n{text}```"]
        at = fence.end()
    new = "".join(parts) + old[at:]
    if new == old:
        return True
    if write:
        (source / page).write_text(new, encoding="utf-8")
        return True
    print("\n".join(difflib.unified_diff(old.split("\n"), new.split("\n"), page, "what is printed", lineterm="")))
    return False


def main():
    if not re.search(r"(?m)^ABUT_SANITIZE:STRING=$", cache):
        print("skipped: the pages are for a build without sanitizers")
        return 77
    output = subprocess.run([str(tool), "version"], capture_output=True, text=True).stdout
    if "pictures as .png" not in output or "reads glTF" not in output or subprocess.run(["pkg-config", "--exists", "ode"]).returncode:
        print("skipped: the pages need a build with libpng and yajl, and ODE")
        return 77
    counts, fine = {}, True
    cookbook = sorted((source / "docs/cookbook").glob("*.md"), key=lambda path: (path.name != "README.md", path.name))
    tutorials = ["README.md", "docs/tutorial.md"], ["docs/tutorial-cloth.md"]
    for pages in (*tutorials, [path.relative_to(source).as_posix() for path in cookbook]):
        with tempfile.TemporaryDirectory() as scratch:
            folder = pathlib.Path(scratch)
            environment, python = prepare(folder)
            for page in pages:
                fine = check(page, folder, environment, python, counts) and fine
            if python:
                python.communicate()
    if not python:
        print("blocks of Python were left out: no python3 with numpy (on Debian: apt install python3-numpy)")
    print(", ".join(f"{counts.get(kind, 0)} blocks of {kind}" for kind in ("c", "sh", "python")))
    return 0 if fine and counts.get("c") and counts.get("sh") else 1


sys.exit(main())
