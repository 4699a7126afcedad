"""Batches of jobs, where the command is there."""

import os
import pathlib
import tempfile
import unittest

import abut
from abut._core import find_file


@unittest.skipUnless(os.environ.get("ABUT_COMMAND") or find_file("abut"), "the command is not there")
class Batches(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        for name in ("box", "torus"):
            abut.shape(name).save(self.folder / f"{name}.ply")
        self.jobs = [("field --cells 16", self.folder / f"{name}.ply") for name in ("box", "torus")]
        self.jobs.append({"do": "report", "input": self.folder / "box.ply", "output": "box.json"})

    def test_once(self):
        out = self.folder / "out"
        result = abut.batch(self.jobs, out, base=self.folder)
        self.assertEqual((result["jobs"], result["done"], result["failed"]), (3, 3, 0))
        self.assertIn("triangles", (out / "box.json").read_text())
        values = [abut.Field.load(path).array for path in out.glob("*.abutf")]
        self.assertEqual(len(values), 2)
        self.assertTrue(all(value.min() < 0 < value.max() for value in values))
        again = abut.batch(self.jobs, out, base=self.folder)
        self.assertEqual((again["done"], again["done_before"]), (0, 3))

    def test_shards(self):
        done = [abut.batch(self.jobs, self.folder / "out", shard=(i, 3), threads=1)["done"] for i in (1, 2, 3)]
        self.assertEqual(sum(done), 3)

    def test_a_bad_file_among_good_ones(self):
        (self.folder / "bad.ply").write_text("no mesh")
        result = abut.batch([*self.jobs, ("report", self.folder / "bad.ply")], self.folder / "out")
        self.assertEqual((result["done"], result["failed"]), (3, 1))
        self.assertIn("bad.ply", str(result["failures"]))

    def test_wrong(self):
        with self.assertRaises(ValueError):
            abut.batch([{"do": "report"}], self.folder)
        with self.assertRaises(ValueError):
            abut.batch([("dance", self.folder / "box.ply")], self.folder / "out")


if __name__ == "__main__":
    unittest.main()
