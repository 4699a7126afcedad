"""docs/performance.md and its plots are what bench/performance.py makes of bench/results.
Arguments: abut command, source folder, build folder.
"""
import pathlib
import subprocess
import sys
import tempfile

source = pathlib.Path(sys.argv[2])
with tempfile.TemporaryDirectory() as scratch:
    subprocess.run([sys.executable, str(source / "bench/performance.py"), str(source), scratch], check=True)
    made = {path.relative_to(scratch).as_posix(): path.read_text() for path in pathlib.Path(scratch).rglob("*.*")}
kept = {path.relative_to(source / "docs").as_posix()
        for path in [source / "docs/performance.md", *(source / "docs/pictures").glob("performance-*")]}
wrong = sorted(set(made) ^ kept) + sorted(name for name in set(made) & kept if made[name] != (source / "docs" / name).read_text())
if wrong or len(made) < 5:
    sys.exit(f"not what bench/performance.py gives; run it again: {', '.join(wrong)}")
print(f"{len(made)} files are as made")
