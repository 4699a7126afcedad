"""Pairs of a world at rest keep their contacts bit for bit."""

import unittest

import abut
import numpy as np


class Rest(unittest.TestCase):
    def test_pairs_at_rest(self):
        world = abut.World()
        torus = abut.shape("torus")
        width = float(np.ptp(torus.vertices[:, 0]))
        poses = np.zeros((4, 7))
        poses[:, 6] = 1
        poses[:, 0] = [0, 0.9 * width, 50, 50 + 0.9 * width]
        for pose in poses:
            world.add(torus, pose)
        first = world.step()
        self.assertEqual(first.pairs.tolist(), [[0, 1], [2, 3]])
        for moved in (0.0, 1e-3, 2e-3):
            poses[3, 0] += moved
            after = world.step(poses)
            self.assertEqual(after.pairs.tolist(), [[0, 1], [2, 3]])
            for name in ("point", "normal", "depth", "id"):
                self.assertEqual(
                    getattr(first, name)[first.a == 0].tobytes(), getattr(after, name)[after.a == 0].tobytes()
                )
            self.assertEqual(moved == 0, (first.depth[first.a == 2].tobytes() == after.depth[after.a == 2].tobytes()))
            ids = after.id[after.a == 2]
            self.assertEqual(len(np.unique(ids)), len(ids))
