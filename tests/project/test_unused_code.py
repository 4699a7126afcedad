"""No dead code: what src defines for others is used by others.

- A symbol abuti_... with external linkage is referenced by another object file of the library, the
  command, the benchmarks or the examples (as nm shows); if only its own file uses it, it is static.
- A static function, macro or enumerator in a header of src, a macro in a .c file, a macro or
  enumerator in a .cl file, and a kernel is named somewhere beside its definition. Statics in .c
  files are left to the compiler's own warning.
What only tests use stands in FOR_TESTS, what is still to be deleted in KNOWN; both may only shrink:
one that is used now, or is gone, fails too.
Arguments: abut command, source folder, build folder.
"""
import collections
import pathlib
import re
import subprocess
import sys

# Ways in for tests: faults, and looks inside.
FOR_TESTS = """
abuti_contact_frame_of abuti_progress_interval abuti_bvh_device_upload
abuti_opencl_calls abuti_world_valid_record
abuti_cache_evict abuti_figure_fill abuti_opencl_fail_at abuti_opencl_live abuti_simd_limit_lanes
"""
# Dead, to be deleted.
KNOWN = """
"""

source, build = pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
allowed = set(FOR_TESTS.split()) | set(KNOWN.split())
dead = {}  # name: where, and what is wrong

# ---- symbols ----
objects = sorted(path for path in build.rglob("*.c.o") if path.relative_to(build).parts[0] != "tests")
defined = {}
users = collections.defaultdict(set)
lines = subprocess.run(["nm", "-A", "-g"] + [str(path) for path in objects], check=True,
                       capture_output=True, text=True).stdout.splitlines()
for line in lines:
    where, kind, symbol = re.match(r"(.*?\.o):\s*[0-9a-f]*\s+(\w) (\S+)", line).groups()
    if kind in "Uw":
        users[symbol].add(where)
    elif symbol.startswith("abuti_") and re.search("abut(_picture|_figures)?_objects.dir/(src|apps)/", where):
        name = re.sub(r".*abut\w*_objects.dir/", "", where)[:-2]
        if (source / name).exists():  # else it is left from an older state
            defined[symbol] = where
for symbol, where in defined.items():
    if not users[symbol] - {where}:
        name = re.sub(r".*abut\w*_objects.dir/", "", where)[:-2]
        dead[symbol] = f"{name}: no other object file references {symbol}"

# ---- names ----
def plain(text):
    """Without comments; strings stay, since kernels are looked up by name."""
    return re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.DOTALL)


counts = collections.Counter()
pasted = set()  # pieces of names that ## puts together
texts = {}
for folder in ("src", "apps", "include", "bench", "examples"):
    for path in sorted((source / folder).rglob("*")):
        if path.suffix in (".c", ".h", ".cl", ".cpp"):
            text = plain(path.read_text())
            texts[path.relative_to(source).as_posix()] = text
            counts.update(re.findall(r"\w+", text))
            pasted.update(re.findall(r"(\w+?_)\s*##", text))
for name, text in texts.items():
    if not name.startswith(("src/", "apps/")):
        continue
    found = re.findall(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", text, re.MULTILINE)
    for body in [] if name.endswith(".c") else re.findall(r"\benum\b[^;{()]*\{([^}]*)\}", text):
        found += re.findall(r"(?:^|,)\s*(\w+)", re.sub(r"\([^()]*\)", "", body))
    if name.endswith(".h"):
        found += re.findall(r"^static (?:inline )?[\w \t*\n]*?\b(\w+)\(", text, re.MULTILINE)
    if name.endswith(".cl"):
        found += re.findall(r"\bkernel\b[^;{(]*?\bvoid (\w+)\(", text)
    for identifier in set(found):
        if counts[identifier] > found.count(identifier) or re.match("_|CL_", identifier):
            continue  # the second: what headers of the system require
        if name.endswith(".h") and f"#ifndef {identifier}" in text:
            continue  # the guard
        if not any(identifier.startswith(piece) for piece in pasted):
            dead.setdefault(identifier, f"{name}: no code uses {identifier}")

problems = [text for name, text in sorted(dead.items()) if name not in allowed]
problems += [f"{name} is used, or gone: take it out of the list"
             for name in sorted(allowed - set(dead))]
if len(defined) < 200 or len(texts) < 300:
    problems.append(f"only {len(defined)} symbols and {len(texts)} files were found")
for problem in problems:
    print(problem)
print(f"{len(defined)} symbols, {len(texts)} files, {len(problems)} problems")
sys.exit(1 if problems else 0)
