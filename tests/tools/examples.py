"""Checks that the examples in docs/commands show what the command really prints.

Usage: examples.py TOOL DOCS [--write]

In fenced blocks, lines that start with "$ abut " are commands; what follows, up to the next command or the end of the block,
is their output, errors included. The commands run in a fresh folder with the models below. With --write the pages are corrected
instead. The pages of `abut version`, `abut devices` and `abut bench` are left alone, since their output depends on the machine.
"""
import difflib
import os
import re
import subprocess
import sys
import tempfile

MODELS = ["teapot teapot.obj", "box box.obj", "torus torus.obj", "sheet sheet.obj --segments 2 --rings 2"]
# A spike that falls through a triangle, before and after.
FALL = "v 0 0 0\nv 4 0 0\nv 0 4 0\nv 0.5 0.5 {0}\nv 1 0.5 {0}\nv 0.5 1 {0}\nv 0.75 0.75 {1}\nf 1 2 3\nf 4 6 5\nf 4 5 7\nf 5 6 7\nf 6 4 7\n"
# A table with a ball on it, and a pearl in the ball.
SCENE = """{
  "meshes": {
    "leg": {"shape": "box", "size": [0.2, 0.2, 2], "segments": 1},
    "ball": {"shape": "icosphere", "radius": 0.5, "segments": 4}
  },
  "bodies": [
    {"name": "top", "mesh": {"shape": "box", "size": [4, 2, 0.2], "segments": 1}},
    {"name": "left leg", "mesh": "leg", "position": [-1.5, 0, -1.1]},
    {"name": "right leg", "mesh": "leg", "position": [1.5, 0, -1.05]},
    {"name": "ball", "mesh": "ball", "position": [0, 0, 0.5]},
    {"name": "pearl", "mesh": {"shape": "icosphere", "radius": 0.1, "segments": 4}, "position": [0, 0, 0.6]},
    {"name": "spare leg", "mesh": "leg", "position": [0, 1.15, -0.9]},
    {"name": "copy", "mesh": "ball", "position": [0, 0, 0.5]}
  ],
  "ignore": [["copy", "top"], ["copy", "pearl"]]
}
"""
SPLIT = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 0 0\nv 1 1 0\nv 0 1 0.001\nf 1 2 3\nf 4 6 5\n"


def run(tool, command, environment):
    result = subprocess.run(
        command.replace("abut", "'" + tool + "'", 1), shell=True, env=environment, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return result.stdout.decode()


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
        for model in MODELS:
            run(tool, "abut make " + model, environment)
        with open("split.obj", "w") as file:
            file.write(SPLIT)
        with open("scene.json", "w") as file:
            file.write(SCENE)
        for name, heights in ("high.obj", (3, 2)), ("low.obj", (1, -2)):
            with open(name, "w") as file:
                file.write(FALL.format(*heights))
        can = run(tool, "abut version", environment)
        left = [] if "pictures as .png" in can else [".png"]
        left += [] if "field files are compressed" in can else ["abut cache"]  # which tells their size
        left += [] if "reads glTF" in can else ["scene.json", "abut character", "abut radial"]
        for name in sorted(os.listdir(folder)):
            if not name.endswith(".md") or name in ("version.md", "devices.md", "bench.md"):
                continue
            path = os.path.join(folder, name)
            with open(path, encoding="utf-8") as file:
                old = file.read()
            pieces = re.split(r"(?ms)(^```\n.*?^```$)", old)
            for i in range(1, len(pieces), 2):
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
