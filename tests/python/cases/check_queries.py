"""Queries against worlds: compared with the queries of each mesh, and their arguments."""

import threading
import unittest
import warnings

import numpy as np

import abut
import referee


class Queries(unittest.TestCase):
    def setUp(self):
        rng = np.random.default_rng(9)
        self.mesh = abut.shape("torus", segments=12, rings=8)
        self.world, (self.places, self.matrices) = abut.World(), referee.poses(rng, 8, 2)
        for place in self.places:
            self.world.add(self.mesh, place)
        self.moved = [self.mesh.transformed(matrix) for matrix in self.matrices]
        self.origins, self.directions = rng.uniform(-3, 3, (60, 3)), rng.uniform(-1, 1, (60, 3))
        self.directions[:40] = self.places[rng.integers(0, 8, 40), :3] + rng.uniform(-1, 1, (40, 3)) - self.origins[:40]

    def test_rays_are_those_of_each_mesh(self):
        each = [mesh.ray(self.origins, self.directions, 5) for mesh in self.moved]
        parameters = np.array([hits.parameter for hits in each])
        found = self.world.cast_rays(self.origins, self.directions, 5)
        np.testing.assert_allclose(found.parameter, parameters.min(axis=0), rtol=1e-9)
        hit = np.isfinite(found.parameter)
        self.assertTrue(10 < hit.sum() < 60)
        np.testing.assert_array_equal(found.body, np.where(hit, parameters.argmin(axis=0), -1))
        np.testing.assert_array_equal(
            self.world.cast_rays(self.origins, self.directions, 5, find="any"), hit
        )
        every = self.world.cast_rays(self.origins, self.directions, find="all")
        count = sum(len(mesh.ray_all(self.origins, self.directions).parameter) for mesh in self.moved)
        self.assertEqual((len(every.body), every.offsets[-1], every.unseen_count), (count, count, 0))
        self.assertEqual(self.world.cast_rays(self.origins.reshape(6, 10, 3), [0, 0, 1]).point.shape, (6, 10, 3))
        self.assertEqual(self.world.cast_rays(np.empty((0, 3)), [0, 0, 1]).body.shape, (0,))

    def test_nearest_points_are_those_of_each_mesh(self):
        each = np.array([mesh.nearest(self.origins).distance for mesh in self.moved])
        found = self.world.nearest(self.origins)
        np.testing.assert_allclose(found.distance, each.min(axis=0), rtol=1e-9)
        np.testing.assert_array_equal(found.body, each.argmin(axis=0))
        near = self.world.nearest(self.origins, 0.1)
        np.testing.assert_array_equal(near.body == -1, each.min(axis=0) > 0.1)
        self.assertEqual(int(self.world.nearest(self.places[3, :3]).triangle) < 192, True)

    def test_overlaps_and_distances_are_those_of_pairs(self):
        box = abut.shape("box", segments=1)
        for shape in (box, abut.Box(1)):
            found = self.world.overlap(shape, self.origins)
            for i, origin in enumerate(self.origins):
                expected = [k for k in range(8) if abut.overlap(box, self.mesh, pose_a=origin, pose_b=self.places[k])]
                got = found.body[found.offsets[i] : found.offsets[i + 1]].tolist()
                self.assertEqual(got, expected)
                if i == 0:
                    self.assertEqual(self.world.overlap(shape, origin).tolist(), expected)
                    gaps = [abut.distance(box, self.mesh, pose_a=origin, pose_b=place).distance for place in self.places]
                    near = self.world.nearest_bodies(shape, origin, count=3)
                    np.testing.assert_allclose(near.distance, sorted(gaps)[:3], atol=1e-9)
        self.assertGreater(len(found.body), 3)

    def test_casts_are_those_of_pairs(self):
        box = abut.shape("box", segments=1)
        cast = self.world.cast_shape(box, self.origins, -self.origins)
        every = self.world.cast_shape(box, self.origins, -self.origins, find="all")
        for i, origin in enumerate(self.origins[:20]):
            times = np.array(
                [abut.sweep(box, self.mesh, (origin, -origin), (place, place)).time for place in self.places]
            )
            hits = np.array([each for each in times if each < 1])
            got = every.time[every.offsets[i] : every.offsets[i + 1]]
            np.testing.assert_allclose(got[got < 1], np.sort(hits), atol=1e-5)
            if cast.body[i] >= 0:
                self.assertAlmostEqual(cast.time[i], times.min(), delta=1e-5)

    def test_filters(self):
        world = abut.World()
        bodies = [world.add(abut.Sphere(1), [3 * i, 0, 0], group=1 << i, sensor=i == 3) for i in range(5)]
        cast = lambda **how: world.cast_rays([-9, 0, 0], [1, 0, 0], find="all", **how).body[::2].tolist()
        self.assertEqual(cast(), bodies)
        self.assertEqual(cast(mask=3), [0, 1])
        self.assertEqual(cast(ignore=[0, 4]), [1, 2, 3])
        self.assertEqual(cast(skip_sensors=True), [0, 1, 2, 4])
        self.assertEqual(cast(accept=lambda body: body % 2 == 0), [0, 2, 4])
        self.assertEqual(world.overlap(abut.Sphere(9), accept=lambda body: body > 2).tolist(), [3])
        with self.assertRaises(ZeroDivisionError):
            cast(accept=lambda body: 1 / 0)
        self.assertEqual(cast(), bodies)

    def test_the_world_may_change_between_queries(self):
        world = abut.World()
        ball = world.add(abut.Sphere(1))
        self.assertEqual(world.cast_rays([0, 0, 9], [0, 0, -1]).parameter, 8)
        world.set_poses({ball: [0, 0, 3]})
        self.assertEqual(world.cast_rays([0, 0, 9], [0, 0, -1]).parameter, 5)
        world.remove(ball)
        self.assertEqual(world.cast_rays([0, 0, 9], [0, 0, -1]).body, -1)

    def test_threads_share_a_world(self):
        expected, found = self.world.cast_rays(self.origins, self.directions), []

        def work():
            found.append(self.world.cast_rays(self.origins, self.directions))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for each in found:
            np.testing.assert_array_equal(each.parameter, expected.parameter)
        self.assertEqual(len(found), 4)

    def test_wrong_arguments(self):
        world = self.world
        for call, word in (
            (lambda: world.cast_rays([0, 0], [0, 0, 1]), "origins"),
            (lambda: world.cast_rays([0, 0, 0], [0, 0, 0]), "direction"),
            (lambda: world.cast_rays([0, 0, 0], [0, 0, 1], -1), "limit"),
            (lambda: world.cast_rays([0, 0, 0], [0, 0, 1], find="last"), "find"),
            (lambda: world.nearest([0, 0, 0], -1), "radius"),
            (lambda: world.overlap(abut.Plane()), "plane"),
            (lambda: world.overlap(abut.Sphere(1), find="first"), "find"),
            (lambda: world.overlap(abut.Sphere(1), margin=-1), "margin"),
            (lambda: world.nearest_bodies(abut.Sphere(1), [[0, 0, 0], [1, 0, 0]]), "pose"),
            (lambda: world.cast_shape(abut.Sphere(1), [[0, 0, 0]] * 2, [[0, 0, 0]] * 4), "ends"),
            (lambda: world.cast_shape(abut.Sphere(1), [0, 0, 0], [1, 0, 0], separation=-1), "separation"),
            (lambda: world.cast_rays([0, 0, 0], [0, 0, 1], ignore=[-1]), "number"),
        ):
            with self.assertRaisesRegex(abut.ArgumentError, word):
                call()
        with self.assertRaises(TypeError):
            world.overlap("box")

    def test_containment_in_holes_warns(self):
        ball = abut.shape("icosphere", segments=4)
        world = abut.World()
        world.add(abut.Mesh(ball.vertices, ball.faces[1:]))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.assertEqual(world.overlap(abut.Sphere(0.01)).tolist(), [0])
        self.assertEqual([each.category for each in caught], [abut.ReliabilityWarning])
