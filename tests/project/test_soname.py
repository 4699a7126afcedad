"""The soname and what it promises: programs that were linked to a release run with every later library of that soname.

The soname is that of the minor version while the major version is 0 (libabut.so.0.6), then that of the major version.
abi.txt records the binary interface of the first release with its soname: functions, enumerators, and sizes and
offsets of structures. A library with the same soname may add functions, enumerators and structures, and members at the
end of structures that start with `size`. Everything else needs a new soname. A release with a new soname writes the
record: test_soname.py ABUT SOURCE BUILD --write.
Arguments: abut command, source folder, build folder.
"""
import ctypes
import importlib.util
import pathlib
import re
import subprocess
import sys
import tempfile

source, build = map(pathlib.Path, sys.argv[2:4])
record_path = source / "tests/project/abi.txt"


def mirror():
    """The ctypes mirror of the headers."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "c.py"
        subprocess.run(
            [sys.executable, source / "python/bindings.py", source / "include", path], check=True, stdout=subprocess.DEVNULL
        )
        spec = importlib.util.spec_from_file_location("c", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module


def type_name(kind):
    return getattr(kind, "__name__", "void")


def members(kind):
    """The members of a structure, with those of anonymous and inner structures: name@offset:bytes."""
    for name, inner, *_ in kind._fields_:
        field = getattr(kind, name)
        yield f"{name}@{field.offset}:{field.size}"
        if issubclass(inner, (ctypes.Structure, ctypes.Union)) and not type_name(inner).startswith("abut_"):
            yield from (f"{name}.{member}" for member in members(inner))


def interface(c):
    """Lines that describe the interface: {name: description}."""
    found = {}
    for name, value in vars(c).items():
        if isinstance(value, type) and issubclass(value, ctypes.Structure) and re.fullmatch(r"abut_\w+", name):
            found[f"struct {name}"] = f"{ctypes.sizeof(value)} " + " ".join(members(value))
        elif re.fullmatch(r"ABUT_\w+", name) and isinstance(value, int) and not name.startswith("ABUT_VERSION_"):
            found[f"value {name}"] = str(value)
        elif isinstance(value, dict):
            for function, signature in value.items():
                if function.startswith("abut_") and len(signature) == 2 and isinstance(signature[1], list):
                    result, arguments = signature
                    found[f"function {function}"] = f"{type_name(result)}({', '.join(map(type_name, arguments))})"
    return found


def is_extended(old, new):
    """Whether a structure has only got members at its end."""
    old_members, new_members = old.split()[1:], new.split()[1:]
    starts_with_size = old_members[0].startswith("size@0:")
    return starts_with_size and new_members[: len(old_members)] == old_members and int(new.split()[0]) >= int(old.split()[0])


def compare(old, new):
    """The changes that break programs."""
    for name, description in old.items():
        if name not in new:
            yield f"{name} is missing"
        elif new[name] != description and not (name.startswith("struct ") and is_extended(description, new[name])):
            yield f"{name} was '{description}' and is '{new[name]}'"


c = mirror()
version = (c.ABUT_VERSION_MAJOR, c.ABUT_VERSION_MINOR)
soname = f"libabut.so.0.{version[1]}" if version[0] == 0 else f"libabut.so.{version[0]}"
now = interface(c)
counts = [sum(name.startswith(kind) for name in now) for kind in ("function ", "struct ", "value ")]
if min(counts) < 100:
    sys.exit(f"the headers were not understood: {counts}")
if "--write" in sys.argv:
    lines = [f"{name}: {description}" for name, description in sorted(now.items())]
    record_path.write_text("\n".join([f"soname {soname}", *lines]) + "\n")
    sys.exit(0)

problems = []
library = build / "libabut.so"
if library.exists() and sys.platform == "linux":
    dynamic = subprocess.run(["readelf", "-d", library], check=True, capture_output=True, text=True).stdout
    actual = re.search(r"SONAME.*\[(.*)\]", dynamic)
    if not actual or actual.group(1) != soname:
        problems.append(f"{library} has the soname {actual and actual.group(1)}, not {soname}")
first, *rest = record_path.read_text().splitlines()
recorded = dict(line.split(": ", 1) for line in rest)
# The comparison sees what it should see.
sample = next(name for name, text in recorded.items() if name.startswith("struct ") and " size@0:" in text)
longer = recorded[sample] + " new@9999:8"
if list(compare(recorded, recorded)) or not is_extended(recorded[sample], longer) or is_extended(longer, recorded[sample]):
    problems.append("the comparison of interfaces is wrong")
if len(list(compare(recorded, {}))) != len(recorded):
    problems.append("the comparison does not see that functions are missing")
if first == f"soname {soname}":
    broken = list(compare(recorded, now))
    problems += broken
    if broken:
        problems.append(f"{soname} is no longer compatible: set ABUT_VERSION_MINOR in base.h to {version[1] + 1}")
for problem in problems:
    print(problem)
print(f"{soname}: {counts[0]} functions, {counts[1]} structures, {counts[2]} values; {len(problems)} problems")
sys.exit(bool(problems))
