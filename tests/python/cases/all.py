"""Runs the doctests of the package and all cases beside this file; an argument picks some by name."""

import atexit
import doctest
import importlib.util
import os
import pathlib
import sys
import tempfile
import unittest

import abut

MODULES = (
    "_core",
    "character",
    "cloth",
    "device",
    "field",
    "layers",
    "live",
    "manager",
    "maps",
    "mesh",
    "motion",
    "pair",
    "queries",
    "report",
    "shapes",
    "view",
    "world",
)

viewer = tempfile.NamedTemporaryFile(suffix=".js")  # live pages of doctests serve it; no browser opens them
atexit.register(viewer.close)
viewer.write(b"// the viewer")
viewer.flush()
os.environ.setdefault("ABUT_VIEWER", viewer.name)
try:
    import trimesh  # noqa: F401

    MODULES += ("trimesh",)
except ImportError:  # an optional package
    pass
suite = unittest.TestSuite([doctest.DocTestSuite(abut)])
if importlib.util.find_spec("mujoco") is not None:
    MODULES += ("mujoco",)
for name in MODULES:
    suite.addTest(doctest.DocTestSuite(importlib.import_module(f"abut.{name}")))
here = pathlib.Path(__file__).parent
for path in sorted(here.glob("check_*.py")):
    suite.addTest(unittest.defaultTestLoader.loadTestsFromName(path.stem))


def flat(tests):
    for test in tests:
        if isinstance(test, unittest.TestSuite):
            yield from flat(test)
        else:
            yield test


chosen = unittest.TestSuite(
    test for test in flat(suite) if not sys.argv[1:] or any(w in str(test) for w in sys.argv[1:])
)
if chosen.countTestCases() < (1 if sys.argv[1:] else 60):
    sys.exit(f"only {chosen.countTestCases()} tests were found")
result = unittest.TextTestRunner(verbosity=0).run(chosen)
for test, why in result.skipped:
    print(f"skipped: {test}: {why}")
sys.exit(0 if result.wasSuccessful() else 1)
