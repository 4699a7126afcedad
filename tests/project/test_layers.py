"""Layers of modules: a folder of src includes only itself and folders of lower layers.

Reads the #include lines of src, include, apps, bench and examples, and fails on every include of a higher layer or of
another module of the same layer. EXCEPTIONS lists known violations and may only shrink: one that no longer occurs is an
error too.
Arguments: abut command, source folder, build folder.
"""
import pathlib
import re
import sys

# Groups of modules, from the lowest up: a module includes only modules above it in this list. Modules in
# one string do not include each other.
GROUPS = {
    "src/foundation": ("base", "geom", "device"),
    "src/data": ("mesh", "io", "shape", "character"),
    "src/query": ("bvh", "collider", "nearest", "ray sign raster", "pair", "sweep"),
    "src/method": ("field", "contact self layers map radial", "cloth"),
    "src/world": ("scene", "world", "robot"),
    "apps/draw": ("picture", "live"),
    "apps/demos": ("mannequin", "garment"),
}
LAYERS = [layer for layers in GROUPS.values() for layer in layers]
GROUP_OF = {module: group for group, layers in GROUPS.items() for layer in layers for module in layer.split()}

# World reaches these modules through its table of methods: only these files of it include them.
METHODS = {"map", "layers", "radial"}
METHOD_FILE = re.compile(r"src/world/world/(method_\w+|mesh_method)\.c")

# Public headers of modules with another name.
HEADERS = {"frames": "io", "world_query": "world"}

# "includer": {"included", ...}; a folder of src, or a file of apps, bench and examples.
EXCEPTIONS = {
    "geom": {"abut/sweep.h"},  # the hit of a pair and the kinds of pairs
    # The benchmarks time private functions.
    "bench/device.c": {"device/tools.h"},
    "bench/device_build.c": {"bvh/device.h"},
    "bench/device_field.c": {"field/build/device.h"},
    "bench/device_query.c": {"bvh/bvh.h"},
    "bench/lists.c": {"bvh/bvh.h"},
    "bench/reproduce/friston/parts.h": {"device/kit.h"},
    "bench/reproduce/friston/rivals_shared.h": {"base/math_shared.h"},
    "bench/reproduce/sundholm/brute.h": {"device/kit.h"},
    "bench/reproduce/sundholm/brute_shared.h": {"base/math_shared.h"},
    "bench/sweep_pairs.c": {"geom/sweep.h"},
}

source = pathlib.Path(sys.argv[2])
layer_of = {folder: layer for layer, folders in enumerate(LAYERS) for folder in folders.split()}
used = set()
problems = []


def complain(path, who, what, why):
    if what in EXCEPTIONS.get(who, ()):
        used.add((who, what))
    else:
        problems.append(f"{path}: includes {what}: {why}")


def includes(path):
    text = path.read_text()
    return re.findall(r'^\s*#\s*include\s+(["<])([^">]+)[">]', text, re.MULTILINE)


def files(*folders):
    for folder in folders:
        for path in sorted((source / folder).rglob("*")):
            if path.suffix in (".c", ".h", ".cl", ".cpp"):
                yield path, path.relative_to(source).as_posix()


def check_layer(name, folder, what, module):
    """`folder` includes `what`, which belongs to the folder `module`."""
    if module == folder:
        return
    if folder == "world" and module in METHODS and name.startswith("src/") and not METHOD_FILE.fullmatch(name):
        complain(name, folder, what, "only method_*.c include it")
    if module not in layer_of:
        complain(name, folder, what, "no folder of src has this name")
    elif layer_of[module] >= layer_of[folder]:
        relation = "is in a higher layer than" if layer_of[module] > layer_of[folder] else "is in the layer of"
        complain(name, folder, what, f"{module} {relation} {folder}")


seen = 0
for path, name in files(*GROUPS, "include"):
    if name.startswith("apps/") and name.count("/") == 2:
        continue  # no module: below
    inside = not name.startswith("include/")
    folder = name.split("/")[2] if inside else HEADERS.get(path.stem, path.stem)
    if inside and GROUP_OF.get(folder) != "/".join(name.split("/")[:2]):
        problems.append(f"{name}: {folder} does not belong there")
    if folder == "abut" and not inside:
        continue  # <abut/abut.h> includes all
    if folder not in layer_of:
        problems.append(f"{name}: {folder} has no layer in {pathlib.Path(__file__).name}")
        continue
    for mark, what in includes(path):
        seen += 1
        if mark == "<":
            if what.startswith("abut/"):
                check_layer(name, folder, what, HEADERS.get(what[5:-2], what[5:-2]))
        elif (path.parent / what).exists():
            check_layer(name, folder, what,
                        (path.parent / what).resolve().relative_to(source.resolve()).parts[2])
        else:
            check_layer(name, folder, what, what.split("/")[0])

# The command, bench and examples use public headers and their own files.
for path, name in files("apps/cmd", "apps/draw", "apps/demos", "apps/mpi", "bench", "examples"):
    if name.startswith(("apps/demos/", "apps/draw/")) and name.count("/") > 2:
        continue
    for mark, what in includes(path):
        seen += 1
        if mark == '"' and "/" in what and any((source / group / what).exists() for group in GROUPS) and not (path.parent / what).exists():
            complain(name, name, what, "it is private")

for who, whats in EXCEPTIONS.items():
    for what in sorted(whats):
        if (who, what) not in used:
            problems.append(f"{who} no longer includes {what}: take it out of EXCEPTIONS")
if seen < 500:
    problems.append(f"only {seen} includes were found")
for problem in problems:
    print(problem)
print(f"{seen} includes, {len(used)} known exceptions, {len(problems)} problems")
sys.exit(1 if problems else 0)
