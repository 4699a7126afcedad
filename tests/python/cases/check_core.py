"""The mirror of the headers, errors, progress, Ctrl-C, threads and child processes."""

import ctypes
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import unittest

import numpy as np

import abut
import referee
from abut import _c, _core


class Mirror(unittest.TestCase):
    def test_layout_is_that_of_the_compiler(self):
        compiler = os.environ.get("ABUT_TEST_COMPILER")
        if not compiler:
            self.skipTest("no compiler")
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "layout")
            subprocess.run(
                [
                    compiler,
                    "-O0",
                    "-I",
                    os.path.join(os.environ["ABUT_TEST_SOURCE"], "include"),
                    "layout.c",
                    "-o",
                    program,
                ],
                check=True,
            )
            lines = subprocess.run([program], check=True, capture_output=True, text=True).stdout.splitlines()
        self.assertGreater(len(lines), 500)
        for line in lines:
            name, value = line.split()
            structure, _, member = name.partition(".")
            if member:
                self.assertEqual(getattr(getattr(_c, structure), member).offset, int(value), name)
            elif structure in _c.ENUMS:
                self.assertEqual(ctypes.sizeof(ctypes.c_int), int(value), name)
            else:
                self.assertEqual(ctypes.sizeof(getattr(_c, structure)), int(value), name)

    def test_every_function_is_there(self):
        self.assertGreater(len(_c.FUNCTIONS), 250)
        for name in _c.FUNCTIONS:
            self.assertTrue(hasattr(_core.lib, name))

    def test_relations(self):
        for place, name in enumerate(abut.RELATIONS):
            self.assertEqual(_core.name_of("abut_pair_relation", place), name)


class Errors(unittest.TestCase):
    def test_kinds(self):
        for kind, base in (
            (abut.ArgumentError, ValueError),
            (abut.OutOfMemoryError, MemoryError),
            (abut.FileError, OSError),
            (abut.MissingFileError, FileNotFoundError),
            (abut.FormatError, ValueError),
            (abut.UnsupportedError, NotImplementedError),
            (abut.LimitError, OverflowError),
            (abut.DeviceError, RuntimeError),
        ):
            self.assertTrue(issubclass(kind, base) and issubclass(kind, abut.Error))

    def test_sentences(self):
        for wrong, kind, word in (
            (lambda: abut.shape("ball"), ValueError, "icosphere"),
            (lambda: abut.Field(abut.shape("box"), cells=10**9), abut.LimitError, "GiB"),
            (lambda: abut.Field(abut.shape("box"), cells=-1), ValueError, "cells"),
            (lambda: abut.Field(abut.shape("box"), cells=2**32 + 8), ValueError, "cells"),
            (lambda: abut.Field(abut.shape("box"), layout="thick"), ValueError, "sparse"),
            (lambda: abut.shape("box").nearest([0, 0, 0], device="no such"), RuntimeError, "no such"),
            (lambda: abut.shape("box").nearest([0, 0, 0], device=True), ValueError, "device"),
            (lambda: abut.shape("box").ray([0, 0, 0], [0, 0, 0]), ValueError, "direction"),
            (lambda: abut.shape("box").nearest([0, 0, 0], radius=-1), ValueError, "radius"),
        ):
            with self.assertRaises(kind) as caught:
                wrong()
            self.assertIn(word, str(caught.exception))

    def test_wrong_objects_are_refused(self):
        """The library would take their pointers for what it expects."""
        box, figure = abut.shape("box"), referee.figure()
        made = abut.DistanceMap(box, resolution=64)
        for wrong in (
            lambda: abut.Field(figure),
            lambda: abut.Field(box, cells=8).set_mesh(figure),
            lambda: abut.Field(box, cells=8).combine(box, "union"),
            lambda: abut.RadialField(box),
            lambda: abut.DistanceMap(figure),
            lambda: made.compute_distance([figure]),
            lambda: made.set_mesh(figure),
            lambda: abut.Motion([figure]),
            lambda: abut.interfere([box, figure]),
            lambda: abut.join([box, None]),
            lambda: abut.overlap(box, figure),
            lambda: abut.sweep(figure, box),
            lambda: abut.hausdorff(box, figure),
            lambda: box.nearest([0, 0, 0], radius="far"),
            lambda: abut.load(3),
        ):
            with self.assertRaises(TypeError):
                wrong()
        with self.assertRaisesRegex(TypeError, "an abut.Field, not Mesh$"):  # no hint at from_trimesh()
            abut.show(field=box)
        with self.assertRaises(ValueError):
            abut.load("a\0b")

    def test_a_library_that_is_none(self):
        for path, word in (("/nothing/libabut.so", "cannot be used"), (__file__, "cannot be used")):
            done = subprocess.run(
                [sys.executable, "-c", "import abut"],
                capture_output=True,
                text=True,
                env=dict(os.environ, ABUT_LIBRARY=path),
            )
            self.assertIn("ImportError", done.stderr)
            self.assertIn(word, done.stderr)


class Editable(unittest.TestCase):
    """An editable installation has the sources in one folder, and what the build makes in another."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.made = pathlib.Path(scratch.name, "made")
        self.made.mkdir()
        self.sources = pathlib.Path(scratch.name, "sources")
        package = pathlib.Path(abut.__file__).parent
        self.sources.mkdir()
        for path in package.glob("*.py"):
            folder = self.made if path.name == "_c.py" else self.sources
            (folder / path.name).symlink_to(path)
        library = os.environ.get("ABUT_LIBRARY") or package / "libabut.so"
        (self.made / "libabut.so").symlink_to(library)
        (self.made / "viewer.js").write_text("/* the viewer */")
        (self.made / "abut").write_text("#!/bin/sh\necho '{\"jobs\": 0}'\n")
        (self.made / "abut").chmod(0o755)

    def test_finds_what_was_built(self):
        code = f"""if True:
            import importlib.util, sys
            folders = [{str(self.sources)!r}, {str(self.made)!r}]
            spec = importlib.util.spec_from_file_location("abut", folders[0] + "/__init__.py",
                                                          submodule_search_locations=folders)
            abut = sys.modules["abut"] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(abut)
            assert abut.__file__.startswith(folders[0]), abut.__file__
            assert "/* the viewer */" in abut.shape("box").show().html
            assert abut.batch([], "out") == {{"jobs": 0}}
            """
        environment = {k: v for k, v in os.environ.items() if not k.startswith("ABUT_")}
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


class Progress(unittest.TestCase):
    def setUp(self):
        self.mesh = abut.shape("torus", segments=64, rings=32)

    def test_stages(self):
        calls = []
        with abut.progress(lambda stage, fraction: calls.append((stage, fraction))):
            abut.Field(self.mesh, cells=48)
        count = len(calls)
        self.assertTrue(count and all(0 <= fraction <= 1 for _, fraction in calls))
        abut.Field(self.mesh, cells=16)
        self.assertEqual(len(calls), count)

    def test_cancel(self):
        with abut.progress(lambda stage, fraction: False):
            with self.assertRaises(abut.CancelledError):
                abut.Field(self.mesh, cells=48)
        abut.Field(self.mesh, cells=16)

    def test_what_a_callback_raises_comes_out(self):
        def fail(stage, fraction):
            raise ZeroDivisionError(stage)

        with abut.progress(fail), self.assertRaises(ZeroDivisionError):
            abut.Field(self.mesh, cells=48)

    def test_control_c(self):
        program = (
            "import abut, os, signal, threading, time\n"
            "mesh = abut.shape('torus', segments=200, rings=100)\n"
            "threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
            "begin = time.monotonic()\n"
            "try:\n    abut.Field(mesh, cells=1500, layout='sparse'); print('finished')\n"
            "except KeyboardInterrupt:\n    print('stopped', time.monotonic() - begin < 5, mesh.inside([0, 0, 0]))\n"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.stdout, done.stderr), ("stopped True False\n", ""))


class Threads(unittest.TestCase):
    def test_the_same_bits_on_any_number(self):
        p = np.random.default_rng(1).uniform(-1, 1, (2000, 3))
        answers = []
        try:
            for count in (1, 3, 0):
                abut.set_threads(count)
                mesh = abut.shape("torus", segments=32, rings=16)
                answers.append((mesh.signed_distance(p), abut.Field(mesh, cells=24).array))
        finally:
            abut.set_threads(0)
        for distance, array in answers[1:]:
            np.testing.assert_array_equal(distance, answers[0][0])
            np.testing.assert_array_equal(array, answers[0][1])

    def test_many_threads_ask_one_mesh(self):
        mesh, p = abut.shape("torus", segments=32, rings=16), np.random.default_rng(1).uniform(-1, 1, (500, 3))
        expected, answers = abut.shape("torus", segments=32, rings=16).signed_distance(p), []
        workers = [threading.Thread(target=lambda: answers.append(mesh.signed_distance(p))) for _ in range(8)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.assertEqual(len(answers), 8)
        for answer in answers:
            np.testing.assert_array_equal(answer, expected)

    def test_the_interpreter_goes_on_meanwhile(self):
        mesh, seen = abut.shape("torus", segments=64, rings=32), []
        worker = threading.Thread(target=lambda: seen.append(abut.Field(mesh, cells=96)))
        worker.start()
        count = 0
        while worker.is_alive():
            count += 1
        worker.join()
        self.assertGreater(count, 1000)

    def test_child_processes(self):
        program = (
            "import abut, multiprocessing, warnings\nwarnings.simplefilter('ignore')\n"
            "mesh = abut.shape('icosphere', segments=20)\np = mesh.vertices * 1.5\n"
            "def total(i): return float(mesh.nearest(p).distance.sum())\n"
            "expected = total(0)\n"
            "with multiprocessing.get_context('fork').Pool(2) as pool:\n"
            "    assert pool.map(total, range(4)) == [expected] * 4\n"
        )
        subprocess.run([sys.executable, "-c", program], check=True, timeout=60)
