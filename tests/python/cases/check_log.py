"""Messages of the library in the module logging: once, after the call, with the line of the user."""

import logging
import os
import subprocess
import sys
import tempfile
import threading
import unittest

import abut

CORNERS = [[0, 0, 0], [1, 0, 0], [0, 1e-95, 1]]
TRIANGLE = [[0, 1, 2]]


class Log(unittest.TestCase):
    def logged(self, call):
        """The result of a call, and the records that it logs."""
        records, logger = [], logging.getLogger("abut")
        handler = logging.Handler()
        handler.emit = records.append
        logger.addHandler(handler)
        logger.setLevel(logging.INFO)
        logger.propagate = False
        try:
            return call(), records
        finally:
            logger.removeHandler(handler)
            logger.setLevel(logging.NOTSET)
            logger.propagate = True

    def test_tiny_coordinates(self):
        mesh, (record,) = self.logged(lambda: abut.Mesh(CORNERS, TRIANGLE))
        self.assertEqual((record.levelno, record.name, record.pathname), (logging.WARNING, "abut", __file__))
        self.assertIn("1 of 3 vertices have coordinates below 1e-91", record.getMessage())
        self.assertNotIn("abut_mesh_create", record.getMessage())
        for call in (lambda: mesh.signed_distance([0, 0, 1]), lambda: abut.overlap(mesh, mesh, surface_only=True)):
            self.assertEqual(self.logged(call)[1], [])

    def test_each_message_comes_once(self):
        meshes, records = self.logged(lambda: [abut.Mesh(CORNERS, TRIANGLE) for _ in range(50)])
        self.assertEqual((len(meshes), len(records)), (50, 50))

    def test_cache_folders_that_others_can_write(self):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o777)
            box = abut.shape("box")
            _, (record,) = self.logged(lambda: abut.Field(box, cells=8, cache=folder))
            self.assertIn("the cache is not used", record.getMessage())
            self.assertEqual(record.levelno, logging.WARNING)

    def test_handlers_may_use_the_package(self):
        """They run when the call is over: no lock of the library or the package is held."""
        mesh, seen, handler = abut.Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 1]], TRIANGLE), [], logging.Handler()
        handler.emit = lambda record: seen.append(mesh.nearest([0, 0, -2]).distance.item())
        logging.getLogger("abut").addHandler(handler)
        try:
            self.logged(lambda: mesh.set_positions(CORNERS))
        finally:
            logging.getLogger("abut").removeHandler(handler)
        self.assertEqual(seen, [2.0])

    def test_progress_callbacks(self):
        """What they use the package for is logged when the call around them is over."""
        inside, during = [], []

        def report_progress(stage, fraction):
            inside.append(True)
            abut.Mesh(CORNERS, TRIANGLE)
            inside.pop()

        handler = logging.Handler()
        handler.emit = lambda record: during.append(bool(inside))
        logging.getLogger("abut").addHandler(handler)
        try:
            with abut.progress(report_progress):
                self.logged(lambda: abut.Field(abut.shape("box"), cells=16))
        finally:
            logging.getLogger("abut").removeHandler(handler)
        self.assertEqual(set(during), {False})

    def test_threads(self):
        def work():
            for _ in range(50):
                abut.Mesh(CORNERS, TRIANGLE)

        def together():
            threads = [threading.Thread(target=work) for _ in range(6)]
            for each in threads:
                each.start()
            for each in threads:
                each.join()

        self.assertEqual(len(self.logged(together)[1]), 300)

    def run_program(self, text):
        return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=60)

    def test_unconfigured_programs_print_warnings(self):
        done = self.run_program(f"import abut; abut.Mesh({CORNERS}, {TRIANGLE})")
        self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (0, "", 1))
        self.assertIn("below 1e-91", done.stderr)

    def test_the_end_of_the_program(self):
        """Daemon threads log while the interpreter ends."""
        text = f"""
import logging, threading, time
import abut
logging.getLogger("abut").addHandler(logging.NullHandler())
logging.getLogger("abut").propagate = False
def work():
    while True:
        abut.Mesh({CORNERS}, {TRIANGLE})
for _ in range(4):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.2)
"""
        for _ in range(3):
            done = self.run_program(text)
            self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
