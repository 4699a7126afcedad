"""Checks that the examples in docs/commands show what the command really prints.

Usage: examples.py TOOL DOCS [--write]

In fenced blocks, lines that start with "$ abut " are commands; what follows, up to the next command or the end of the block,
is their output, errors included. The commands run in a fresh folder with the files that README.md gives under "Files of the
examples", and those of docs/scenes and examples/robot. With --write the pages are corrected instead. The pages of `abut version`, `abut devices` and `abut bench` are left alone, since their output depends on the machine.
"""
import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile


def run(tool, command, environment):
    result = subprocess.run(
        command.replace("abut", "'" + tool + "'", 1), shell=True, env=environment, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return result.stdout.decode()


def make_files(tool, folder, environment):
    """The files that all examples use, as README.md gives them: `abut make` commands, and files by their names."""
    with open(os.path.join(folder, "README.md"), encoding="utf-8") as file:
        section = re.search(r"(?ms)^## Files of the examples$(.*?)^## ", file.read()).group(1)
    for block in re.findall(r"(?ms)^```sh\n(.*?)^```$", section):
        for command in block.splitlines():
            run(tool, command, environment)
            assert os.path.exists(command.split()[3]), command
    named = re.findall(r"(?ms)^`([\w.]+)`[^\n]*:\n```\w+\n(.*?)^```$", section)
    assert {"scene.json", "split.obj", "high.obj", "low.obj"} == {name for name, _ in named}, named
    for name, text in named:
        with open(name, "w") as file:
            file.write(text)
    scenes = os.path.join(folder, "..", "scenes")
    for name in os.listdir(scenes):
        shutil.copy(os.path.join(scenes, name), name)
    shutil.copytree(os.path.join(folder, "..", "..", "examples", "robot"), ".", dirs_exist_ok=True)


def corrected(block, tool, environment, left):
    """The text of a block with the true output of its commands but those with a word of `left`, and how many there were."""
    parts = re.split(r"(?m)^(\$ abut .*\n)", block)
    count = 0
    for i in range(1, len(parts), 2):
        command = parts[i][2:].strip()
        if not any(word in command for word in left):
            parts[i + 1] = run(tool, command, environment)
            count += 1
    return "".join(parts), count


def main():
    tool, folder = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    environment = dict(os.environ, LC_ALL="C.UTF-8")
    total, wrong = 0, 0
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        environment["ABUT_CACHE_DIR"] = os.path.join(scratch, "cache")
        environment["ABUT_VIEWER"] = os.path.join(scratch, "viewer.js")  # a stand-in: pages are not looked at here
        with open("viewer.js", "w") as file:
            file.write("0\n")
        make_files(tool, folder, environment)
        can = run(tool, "abut version", environment)
        left = [] if "pictures as .png" in can else [".png"]
        left += [] if "field files are compressed" in can else ["abut cache"]  # which prints their size
        left += [] if "runs a physics engine" in can else ["abut simulate"]
        left += [] if "reads glTF" in can else ["scene.json", "abut simulate", "abut character", "abut radial"]
        for name in sorted(os.listdir(folder)):
            if not name.endswith(".md") or name in ("version.md", "devices.md", "bench.md"):
                continue
            path = os.path.join(folder, name)
            with open(path, encoding="utf-8") as file:
                old = file.read()
            pieces = re.split(r"(?ms)(^```\w*\n.*?^```$)", old)
            for i in range(1, len(pieces), 2):
                if not pieces[i].startswith("```\n"):
                    continue
                inside, count = corrected(pieces[i][4:-3], tool, environment, left)
                pieces[i] = "```\n" + inside + "```"
                total += count
            new = "".join(pieces)
            if new != old and "--write" in sys.argv:
                with open(path, "w", encoding="utf-8") as file:
                    file.write(new)
            elif new != old:
                wrong += 1
                print("\n".join(difflib.unified_diff(old.split("\n"), new.split("\n"), name, "what abut prints", lineterm="")))
    print(total, "examples,", wrong, "wrong pages")
    return 1 if wrong or not total else 0


sys.exit(main())
