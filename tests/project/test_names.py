"""One name from top to bottom: <abut/x.h>, a folder x of a group, docs/x.md, tests/x, functions abut_x_..., and a name
for each value of a public enum.

A header may have more nouns than its own; they stand in NOUNS. What does not fit yet stands in the
lists of exceptions, which may only shrink: one that fits now fails too.
Arguments: abut command, source folder, build folder.
"""
import pathlib
import re
import sys

# Nouns beside the header's own that its functions may begin with.
NOUNS = {
    "base": "version features status last_error context set_error log_level pose scalar",
    "geom": "segment triangle ray box plane sphere capsule orient3d feature intersection pose path",
    "mesh": "topology normals problem reliability index triangulation",
    "device": "buffer array",
    "contact": "samples sample field",
    "pair": "contact contacts patch patches",
    "field": "interpolation combination",
    "picture": "mesh_style",
    "sweep": "impact",
    "world_query": "world",
}
# Folders and pages that are still to be made.
MISSING = set()
# Functions that have a foreign name.
FOREIGN = {
}

source = pathlib.Path(sys.argv[2])
FOLDERS = {path.name for group in ("src/*", "apps/draw", "apps/demos") for path in source.glob(f"{group}/*") if path.is_dir()}
# Readers and writers of <abut/mesh.h>, <abut/frames.h> and <abut/character.h>; figures of <abut/character.h>.
PRIVATE = {"io", "mannequin"}
FOLDER_OF = {"frames": "io", "world_query": "world"}  # folders of headers with another name
problems = []
functions = 0
headers = sorted(path for path in (source / "include/abut").glob("*.h") if path.stem != "abut")
checked = (source / "tests/base/test_names.c").read_text()
umbrella = (source / "include/abut/abut.h").read_text()
for header in headers:
    name = header.stem
    folder = FOLDER_OF.get(name, name)
    if folder not in FOLDERS:
        problems.append(f"<abut/{name}.h> has no folder {folder} in a group")
    for other in (f"docs/{name}.md", f"tests/{folder}"):
        if (source / other).exists() == (other in MISSING):
            problems.append(f"{other} is missing" if other not in MISSING
                            else f"{other} is there now: take it out of MISSING")
    if f"<abut/{name}.h>" not in umbrella:
        problems.append(f"<abut/abut.h> does not include <abut/{name}.h>")
    nouns = "|".join([name] + NOUNS.get(name, "").split())
    foreign = set(FOREIGN.get(name, "").split())
    text = re.sub(r"/\*.*?\*/|^#.*?$", "", header.read_text(), flags=re.DOTALL | re.MULTILINE)
    defaults = re.findall(r"^ABUT_DEFAULT\((\w+)\)", text, re.MULTILINE)
    named = re.findall(r"(?:ABUT_API|static inline)[^;{(]*?\b(abut_\w+)\(", text)
    for function in named + [f"{structure}_default" for structure in defaults]:
        functions += 1
        if re.match(rf"abut_({nouns})(_|$)", function):
            if function in foreign:
                problems.append(f"{function} fits now: take it out of FOREIGN")
        elif function not in foreign:
            problems.append(f"<abut/{name}.h>: {function} begins with none of {nouns}")
        foreign.discard(function)
    for enum in re.findall(r"^typedef enum (\w+)", text, re.MULTILINE):
        if f"{enum}_name" not in named or f"CHECK({enum}," not in checked:
            problems.append(f"{enum} has no {enum}_name(), or tests/base/test_names.c does not check it")
    problems += [f"<abut/{name}.h> has no {function}: take it out of FOREIGN"
                 for function in sorted(foreign)]
known = {header.stem for header in headers}
for folder in sorted(FOLDERS - known - PRIVATE):
    problems.append(f"the module {folder} has no header <abut/{folder}.h>")
if functions < 150 or len(headers) < 15:
    problems.append(f"only {functions} functions in {len(headers)} headers were found")
for problem in problems:
    print(problem)
print(f"{len(headers)} headers, {functions} functions, {len(problems)} problems")
sys.exit(1 if problems else 0)
