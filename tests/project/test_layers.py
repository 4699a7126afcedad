"""The house stands on its floors: a folder of src includes only itself and folders on floors below.

Reads the #include lines of src, include, tools, bench and examples, and fails on every arrow that
points up or sideways. What is known to be wrong stands in EXCEPTIONS, which may only shrink: one
that no longer occurs fails too.
Arguments: abut command, source folder, build folder.
"""
import pathlib
import re
import sys

# From the ground up. Folders on one floor do not know each other.
FLOORS = ("base", "geom", "device", "mesh", "raster", "frames shape character picture", "scene", "bvh",
          "nearest", "ray sign", "pair", "sweep field", "garment contact self layers", "map radial", "world")

# "who includes": {"what", ...}; a folder of src, or a file of the faces.
EXCEPTIONS = {
    "geom": {"abut/sweep.h"},  # the hit of a pair and the kinds of pairs
    # The benchmarks time private parts alone; the cloth of `abut demo` is a module of its own.
    "bench/device.c": {"device/tools.h"},
    "bench/device_build.c": {"bvh/device.h"},
    "bench/device_bvh.c": {"bvh/bvh.h", "device/device.h"},
    "bench/device_field.c": {"field/build/device.h"},
    "bench/device_ray.c": {"bvh/bvh.h"},
    "bench/device_self.c": {"device/device.h"},
    "bench/lists.c": {"bvh/bvh.h"},
    "bench/motion.c": {"sweep/device.h"},
    "bench/rivals/parts.h": {"device/kit.h"},
    "bench/rivals/rivals_shared.h": {"base/math_shared.h"},
    "bench/sweep_pairs.c": {"geom/sweep.h"},
    "examples/cloth/cloth_device.h": {"device/kit.h"},
}

source = pathlib.Path(sys.argv[2])
floor_of = {folder: floor for floor, folders in enumerate(FLOORS) for folder in folders.split()}
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


def check_floor(name, folder, what, module):
    """`folder` includes `what`, which belongs to the folder `module`."""
    if module == folder:
        return
    if module not in floor_of:
        complain(name, folder, what, "no folder of src has this name")
    elif floor_of[module] >= floor_of[folder]:
        side = "a floor above" if floor_of[module] > floor_of[folder] else "on the same floor"
        complain(name, folder, what, f"{module} stands {side} {folder}")


seen = 0
for path, name in files("src", "include"):
    inside = name.startswith("src/")
    folder = name.split("/")[1] if inside else path.stem
    if folder == "abut" and not inside:
        continue  # <abut/abut.h> includes all
    if folder not in floor_of:
        problems.append(f"{name}: {folder} has no floor in {pathlib.Path(__file__).name}")
        continue
    for mark, what in includes(path):
        seen += 1
        if mark == "<":
            if what.startswith("abut/"):
                check_floor(name, folder, what, what[5:-2])
        elif (path.parent / what).exists():
            check_floor(name, folder, what,
                        (path.parent / what).resolve().relative_to(source.resolve()).parts[1])
        else:
            check_floor(name, folder, what, what.split("/")[0])

# The faces use what users can use: public headers and their own files.
for path, name in files("tools", "bench", "examples"):
    for mark, what in includes(path):
        seen += 1
        if mark == '"' and (source / "src" / what).exists() and not (path.parent / what).exists():
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
