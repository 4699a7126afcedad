"""Robots: poses, collisions, distances with gradients, motions and allowed collisions of the sample arm."""

import os
import unittest

import numpy as np

import abut

FOLDER = os.path.join(os.environ["ABUT_TEST_SOURCE"], "examples", "robot")
FREE = [1.2, -0.2, 0, 1.4, 0, 1.2, 0, 0.02]


@unittest.skipUnless("urdf" in abut.features(), "a build without expat")
class Robots(unittest.TestCase):
    def setUp(self):
        self.arm = abut.Robot(os.path.join(FOLDER, "arm.urdf"))

    def test_contents(self):
        self.assertEqual(self.arm.name, "sample_arm")
        self.assertEqual(self.arm.links[-1], "finger")
        self.assertEqual([joint.kind for joint in self.arm.joints], ["revolute"] * 7 + ["prismatic"])
        self.assertEqual(self.arm.joints[1], abut.Joint("joint2", "revolute", -2, 2))
        self.assertIn("8 variables", repr(self.arm))
        self.assertGreater(self.arm.reach, 1.3)

    def test_poses(self):
        poses = self.arm.poses([np.zeros(8), [np.pi / 2] + [0] * 7])
        self.assertEqual(poses.shape, (2, 10, 7))
        np.testing.assert_allclose(poses[0, 7], [0, 0, 1.24, 0, 0, 0, 1], atol=1e-12)
        np.testing.assert_allclose(poses[1, 7, 3:], [0, 0, np.sqrt(0.5), np.sqrt(0.5)], atol=1e-12)
        self.arm.set_base([1, 2, 3, 0, 0, 0, 1])
        np.testing.assert_allclose(self.arm.poses(np.zeros(8))[0, 0, :3], [1, 2, 3])

    def test_collisions_and_distances(self):
        ball = abut.shape("icosphere", radius=0.1, segments=6)
        self.arm.set_obstacles([(ball, [0.6, 0, 0.9, 0, 0, 0, 1]), (abut.Box(0.2), [-0.6, 0, 0.9, 0, 0, 0, 1]), abut.Plane((0, 0, 1), -0.5)])
        random = np.random.default_rng(5)
        lower, upper = np.array([joint[2:] for joint in self.arm.joints]).T
        configurations = random.uniform(lower, upper, (60, 8))
        hits, apart = self.arm.test(configurations), self.arm.distance(configurations)
        self.assertTrue(hits.collides.any() and not hits.collides.all())
        np.testing.assert_array_equal(hits.collides, apart.distance == 0)
        np.testing.assert_array_equal(hits.link == abut.NONE, ~hits.collides)
        lengths = np.linalg.norm(apart.points[:, 0] - apart.points[:, 1], axis=1)
        np.testing.assert_allclose(lengths[~hits.collides], apart.distance[~hits.collides], atol=1e-12)
        # the gradient is zero only where nothing can be gained
        free = np.flatnonzero(apart.distance > 0.01)[0]
        step = 1e-6 * apart.gradient[free]
        after = self.arm.distance(configurations[free] + step).distance[0]
        self.assertGreater(after, apart.distance[free])
        near = self.arm.distance(configurations, limit=1e-9)
        self.assertTrue((near.link[~hits.collides] == abut.NONE).all())

    def test_motions(self):
        self.arm.set_obstacles([(abut.Box((0.2, 0.2, 2)), [-0.5, 0, 0.9, 0, 0, 0, 1])])
        end = np.array([FREE[0] + 3] + FREE[1:])
        found = self.arm.sweep([FREE, FREE], [FREE, end])
        self.assertEqual(found.touches.tolist(), [False, True])
        self.assertEqual(found.time[0], 1)
        samples = FREE + np.linspace(0, 1, 400)[:, None] * (end - FREE)
        collides = self.arm.test(samples).collides
        self.assertTrue(collides.any())
        self.assertLessEqual(found.time[1], np.argmax(collides) / 399)

    def test_allowed_collisions(self):
        before = self.arm.pairs
        self.assertEqual(self.arm.read_allowed(os.path.join(FOLDER, "arm.srdf")), 2)
        self.assertTrue(self.arm.allowed("link7", "finger"))
        self.assertEqual(self.arm.pairs, before - 2)
        self.arm.allow("link7", "finger", False)
        self.assertEqual(self.arm.pairs, before - 1)
        always, never = self.arm.sample_allowed(200, seed=3)
        self.assertEqual(self.arm.pairs, before - 1 - always - never)

    def test_errors(self):
        with self.assertRaises(abut.MissingFileError):
            abut.Robot("none.urdf")
        with self.assertRaises(abut.ArgumentError):
            self.arm.test(np.zeros((2, 7)))
        with self.assertRaises(abut.ArgumentError):
            self.arm.test(np.full(8, np.nan))
        with self.assertRaises(abut.ArgumentError):
            self.arm.allow("link7", "nothing")
        with self.assertRaises(abut.ArgumentError):
            self.arm.sweep(np.zeros((2, 8)), np.zeros((3, 8)))


if __name__ == "__main__":
    unittest.main()
