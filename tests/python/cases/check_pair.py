"""Two meshes at poses: overlaps, distances, contacts, sweeps; and many of them."""

import unittest

import numpy as np

import abut
import referee


class Pairs(unittest.TestCase):
    def setUp(self):
        self.rng = np.random.default_rng(5)
        self.a, self.b = abut.shape("torus", segments=16, rings=8), abut.shape("box", extent=0.4, segments=2)
        self.short, self.long = referee.poses(self.rng, 60, 0.8)

    def test_poses_of_both_kinds_are_the_same(self):
        near = abut.distance(self.a, self.b, pose_b=self.short).distance
        np.testing.assert_allclose(abut.distance(self.a, self.b, pose_b=self.long).distance, near, atol=1e-12)
        np.testing.assert_allclose(abut.distance(self.a, self.b, pose_b=self.long[:, :3]).distance, near, atol=1e-12)
        moved = [
            abut.distance(self.a, abut.Mesh(self.b.vertices @ m[:3, :3].T + m[:3, 3], self.b.faces)).distance
            for m in self.long
        ]
        np.testing.assert_allclose(moved, near, atol=1e-12)

    def test_half_turns(self):
        for matrix in (
            np.diag((1, -1, -1, 1)),
            np.diag((-1, 1, -1, 1)),
            np.diag((-1, -1, 1, 1)),
            [[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, -1, 0], [0, 0, 0, 1]],
        ):
            matrix = np.array(matrix, float)
            moved = self.a.transformed(matrix).vertices
            np.testing.assert_allclose(moved, self.a.vertices @ matrix[:3, :3].T, atol=1e-15)

    def test_overlap_is_distance_0(self):
        found = abut.distance(self.a, self.b, pose_b=self.short)
        overlap = abut.overlap(self.a, self.b, pose_b=self.short)
        self.assertTrue(overlap.any() and not overlap.all())
        np.testing.assert_array_equal(overlap, found.distance == 0)
        np.testing.assert_array_equal(abut.within(self.a, self.b, 0.1, pose_b=self.short), found.distance <= 0.1)
        np.testing.assert_allclose(np.linalg.norm(found.point_a - found.point_b, axis=1), found.distance, atol=1e-12)
        self.assertIs(abut.overlap(self.a, self.b, pose_b=self.short[0]), bool(overlap[0]))

    def test_containment(self):
        small = abut.shape("box", extent=0.1)
        self.assertTrue(abut.overlap(self.b, small))
        self.assertFalse(abut.overlap(self.b, small, surfaces=True))
        self.assertEqual(abut.RELATIONS[abut.relation(self.b, small)], "b-inside")

    def test_one_pose_for_all(self):
        both = abut.distance(self.a, self.b, pose_a=self.short[0], pose_b=self.short).distance
        self.assertEqual(both.shape, (60,))
        with self.assertRaises(ValueError):
            abut.distance(self.a, self.b, pose_a=self.short[:2], pose_b=self.short)

    def test_wrong_poses(self):
        for wrong in (
            np.eye(4) * 2,
            np.eye(3),
            np.zeros((2, 6)),
            np.diag((1, 1, -1, 1)),
            np.full(7, np.nan),
            np.full((4, 4), np.inf),
            [1, 2],
            [[1e91, 0, 0, 0, 0, 0, 1]],
            np.array(np.eye(4)[[0, 1, 2, 2]]),
        ):
            with self.assertRaises(ValueError, msg=repr(wrong)):
                abut.overlap(self.a, self.b, pose_b=wrong)
        with self.assertRaises(TypeError):
            abut.overlap(self.a, "box")
        self.assertEqual(abut.overlap(self.a, self.b, pose_b=np.zeros((0, 7))).shape, (0,))
        self.assertAlmostEqual(abut.distance(self.b, self.b, pose_b=[3, 0, 0]).distance, 2.6)

    def test_contacts_separate(self):
        found = abut.contacts(self.a, self.b, pose_b=self.short)
        overlap = abut.overlap(self.a, self.b, pose_b=self.short)
        np.testing.assert_array_equal(np.diff(found.offsets) > 0, overlap)
        self.assertEqual(found.offsets[-1], len(found))
        np.testing.assert_array_equal([each["depth"] for each in found], found.depth)
        self.assertEqual(found[0]["id"], found.id[0])
        for i in np.nonzero(overlap)[0]:
            one = abut.contacts(self.a, self.b, pose_b=self.short[i])
            np.testing.assert_array_equal(one.point, found.pose(i).point)
            np.testing.assert_array_equal(one.patches["first"], found.pose(i).patches["first"])
            if one.separates[0] and len(one.patches) == 1:
                shift = (*one.normal[0] * one.patches["depth"][0] * 1.000001, 0, 0, 0, 1)
                self.assertFalse(abut.overlap(self.a, self.b, pose_a=shift, pose_b=self.short[i]))
        with self.assertRaises(IndexError):
            found.pose(60)

    def test_sweeps_are_not_late(self):
        starts = self.short.copy()
        starts[:, 2] += 3
        touch = abut.sweep(self.a, self.b, path_b=(starts, self.short))
        self.assertTrue(touch.hit.any() and not touch.hit.all())
        for i in range(0, 60, 7):
            last = touch.time[i] if touch.hit[i] else 1
            for t in np.linspace(0, last, 20)[:-1]:
                pose = starts[i].copy()
                pose[2] += t * (self.short[i, 2] - starts[i, 2])
                self.assertFalse(abut.overlap(self.a, self.b, pose_b=pose))
            if touch.hit[i]:
                pose = starts[i] + touch.time[i] * (self.short[i] - starts[i])
                self.assertLess(abut.distance(self.a, self.b, pose_b=pose).distance, 1e-5)
        self.assertEqual(abut.sweep(self.a, self.b, path_b=(starts[0], self.short[0])).time.shape, ())
        with self.assertRaises(ValueError):
            abut.sweep(self.a, self.b, path_b=starts[:3])

    def test_devices(self):
        if not any(device["kind"] == "cpu" for device in abut.devices()):
            self.skipTest("no OpenCL device such as PoCL")
        np.testing.assert_array_equal(
            abut.relation(self.a, self.b, pose_b=self.short, device="opencl-cpu"),
            abut.relation(self.a, self.b, pose_b=self.short),
        )

    def test_intersection(self):
        small = abut.shape("box", extent=0.4)
        for x in (0.1, 0.25):
            found = abut.intersection(small, small, pose_b=[x, 0, 0, 0, 0, 0, 1])
            self.assertAlmostEqual(found.volume, (0.4 - x) * 0.16)
            self.assertEqual(found.kind, "overlap")
        lower, upper = abut.hausdorff(small, abut.shape("box", extent=0.5))
        self.assertTrue(lower <= 0.05 <= upper + 1e-9 and upper - lower < 1e-5)


class Interfere(unittest.TestCase):
    def test_methods(self):
        rng = np.random.default_rng(6)
        meshes = [abut.shape("box", extent=0.5), abut.shape("icosphere", radius=0.3, segments=4)] * 10
        places, _ = referee.poses(rng, 20, 1)
        expected = [
            (i, j)
            for i in range(20)
            for j in range(i + 1, 20)
            if abut.overlap(meshes[i], meshes[j], pose_a=places[i], pose_b=places[j])
        ]
        self.assertGreater(len(expected), 5)
        for method in ("volume", "exact"):
            found = abut.interfere(meshes, places, method=method)
            self.assertEqual(list(map(tuple, found.pairs.tolist())), expected)
        self.assertLessEqual(
            set(expected), set(map(tuple, abut.interfere(meshes, places, method="conservative").pairs.tolist()))
        )
        self.assertLessEqual(
            set(map(tuple, abut.interfere(meshes, places, method="images").pairs.tolist())), set(expected)
        )
        volumes = abut.interfere(meshes, places).volume
        for (i, j), volume in zip(expected, volumes):
            common = abut.intersection(meshes[i], meshes[j], pose_a=places[i], pose_b=places[j])
            self.assertAlmostEqual(common.volume, volume)

    def test_wrong(self):
        for wrong in (dict(method="magic"), dict(poses_of=np.zeros((2, 7)))):
            with self.assertRaises(ValueError):
                abut.interfere([abut.shape("box")], **wrong)
        with self.assertRaises(ValueError):
            abut.interfere([abut.shape("sheet")] * 2)
        self.assertEqual(len(abut.interfere([])), 0)

    def test_more_pairs_than_room(self):
        places = [[0.01 * i, 0.013 * i, 0.017 * i, 0, 0, 0, 1] for i in range(25)]
        found = abut.interfere([abut.shape("box", segments=1)] * 25, places, method="images", resolution=64)
        self.assertEqual(len(found), 300)
