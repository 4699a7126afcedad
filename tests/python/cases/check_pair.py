"""Two meshes at poses: overlaps, distances, contacts, sweeps; and many of them."""

import unittest
import warnings

import numpy as np

import abut
import referee


class Pairs(unittest.TestCase):
    def setUp(self):
        self.rng = np.random.default_rng(5)
        self.a, self.b = abut.shape("torus", segments=16, rings=8), abut.shape("box", size=0.4, segments=2)
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
        small = abut.shape("box", size=0.1)
        self.assertTrue(abut.overlap(self.b, small))
        self.assertFalse(abut.overlap(self.b, small, surface_only=True))
        self.assertEqual(abut.relation(self.b, small), "b-inside")
        self.assertEqual(abut.relation(small, self.b), "a-inside")
        self.assertEqual(abut.distance(self.b, small).relation, "b-inside")
        poses = [[0, 0, 0], [0.2, 0, 0], [9, 0, 0]]
        for found in (abut.relation(self.b, small, pose_b=poses), abut.distance(self.b, small, pose_b=poses).relation):
            self.assertEqual(found.tolist(), ["b-inside", "intersecting", "apart"])
        self.assertEqual(abut.relation(self.b, small, surface_only=True), "apart")

    def test_one_pose_for_all(self):
        both = abut.distance(self.a, self.b, pose_a=self.short[0], pose_b=self.short).distance
        self.assertEqual(both.shape, (60,))
        with self.assertRaises(ValueError):
            abut.distance(self.a, self.b, pose_a=self.short[:2], pose_b=self.short)

    def test_one_pose_is_as_in_a_batch(self):
        """Functions of the library for one pose, and for many of them, give the same answers."""
        room = abut.shape("box", size=3)
        for a, b in (self.a, self.b), (self.b, self.b), (room, self.b), (self.b, room):
            for surfaces in (False, True):
                many = {"pose_a": self.short, "pose_b": self.short[::-1], "surface_only": surfaces}
                found = abut.distance(a, b, **many)
                relations, near = abut.relation(a, b, **many), abut.within(a, b, 0.1, **many)
                for i, (pose, other) in enumerate(zip(self.short, self.short[::-1])):
                    one = {"pose_a": pose, "pose_b": other, "surface_only": surfaces}
                    self.assertEqual(abut.relation(a, b, **one), relations[i])
                    self.assertIs(abut.overlap(a, b, **one), bool(relations[i] != "apart"))
                    self.assertIs(abut.within(a, b, 0.1, **one), bool(near[i]))
                    for answer, row in zip(abut.distance(a, b, **one)[:-1], found[:-1]):
                        np.testing.assert_array_equal(answer, row[i])

    def test_one_pose_takes_few_calls(self):
        """What takes a microsecond in the library neither calls a progress callback nor many functions of Python."""
        abut.overlap(self.a, self.b)
        reports = []
        with abut.progress(lambda stage, fraction: reports.append(stage)):
            for _ in range(200):
                abut.overlap(self.a, self.b, pose_b=self.long[0])
        self.assertLess(len(reports), 100)  # one every 20 ms
        manager = abut.CollisionManager()
        manager.add_object("a", self.a)
        manager.set_transform("a", self.long[0])
        self.assertLessEqual(referee.calls(lambda: abut.overlap(self.a, self.b, pose_b=self.long[0])), 15)
        self.assertLessEqual(referee.calls(lambda: manager.set_transform("a", self.long[0])), 10)

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
            if one.is_verified[0] and len(one.patches) == 1:
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

    def test_sweeps_of_primitives(self):
        down = ([0, 0, 4], [0, 0, -4])
        balls = (abut.Sphere(0.5), abut.Box(1), abut.Hull(abut.shape("box", size=1)), abut.shape("box", size=1))
        for ball in balls:
            for floor in (abut.Plane(offset=1), abut.Box([6, 6, 2]), abut.shape("box", size=[6, 6, 2])):
                touch = abut.sweep(ball, floor, path_a=down)
                self.assertTrue(touch.hit)
                self.assertAlmostEqual(float(touch.time), 2.5 / 8, 2)
                self.assertAlmostEqual(float(touch.normal[2]), 1, 3)
                self.assertFalse(abut.sweep(ball, floor, path_a=([0, 0, 4], [0, 0, 5])).hit)
        with self.assertRaises(abut.ArgumentError):
            abut.sweep(abut.Plane(), abut.Plane())
        with self.assertRaises(abut.ArgumentError):
            abut.sweep(abut.Sphere(-1), abut.Plane())

    def test_devices(self):
        if not any(device["kind"] == "cpu" for device in abut.devices()):
            self.skipTest("no OpenCL device such as PoCL")
        np.testing.assert_array_equal(
            abut.relation(self.a, self.b, pose_b=self.short, device="opencl-cpu"),
            abut.relation(self.a, self.b, pose_b=self.short),
        )

    def test_intersection(self):
        small = abut.shape("box", size=0.4)
        for x in (0.1, 0.25):
            found = abut.intersection(small, small, pose_b=[x, 0, 0, 0, 0, 0, 1])
            self.assertAlmostEqual(found.volume, (0.4 - x) * 0.16)
            self.assertEqual(found.kind, "overlap")
        lower, upper = abut.hausdorff(small, abut.shape("box", size=0.5))
        self.assertTrue(lower <= 0.05 <= upper + 1e-9 and upper - lower < 1e-5)


def without(mesh, gone):
    """A mesh without the triangles whose corners, (n, 3, 3), a function picks."""
    return abut.Mesh(mesh.vertices, mesh.faces[~gone(mesh.vertices[mesh.faces])])


class OpenSurfaces(unittest.TestCase):
    """Nothing is inside a sheet; what is not guaranteed is said once per call."""

    def setUp(self):
        box = abut.shape("box", size=4, segments=8)
        self.room = without(box, lambda corners: (corners[:, :, 2] > 1.99).all(axis=1))
        self.holed = without(box, lambda corners: np.arange(len(corners)) == 0)
        faces = box.faces.copy()
        faces[::3] = faces[::3, ::-1]
        self.flipped = abut.Mesh(box.vertices, faces)
        self.robot = abut.shape("icosphere", radius=0.3, segments=4)

    def said(self, call, *given, **named):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = call(*given, **named)
        for warning in caught:
            self.assertIs(warning.category, abut.ReliabilityWarning)
            self.assertEqual(warning.filename, __file__)
        return result, [str(warning.message) for warning in caught]

    def test_robot_in_a_room_is_apart(self):
        self.assertAlmostEqual(self.room.report().hole_fraction, 16**2 / (4 * np.pi) / 80)
        for a, b in ((self.room, self.robot), (self.robot, self.room)):
            self.assertEqual(self.said(abut.overlap, a, b), (False, []))
            self.assertEqual(self.said(abut.relation, a, b), ("apart", []))
            self.assertEqual(self.said(abut.within, a, b, 1), (False, []))
            found, words = self.said(abut.distance, a, b)
            self.assertAlmostEqual(float(found.distance), 1.7, delta=0.02)
            self.assertEqual((found.reliability.level, words), ("guaranteed", []))
            self.assertIn("is a sheet", found.reliability.reason)
            still, path = ([0, 0, 0], [0, 0, 0]), ([0, 0, 0], [1, 0, 0])
            touch, words = self.said(abut.sweep, a, b, *((still, path) if b is self.robot else (path, still)))
            self.assertEqual((bool(touch.hit), touch.reliability.level, words), (False, "guaranteed", []))
        self.assertEqual(len(self.said(abut.contacts, self.room, self.robot)[0]), 0)

    def test_small_holes_are_limited(self):
        poses = np.array([[9, 0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, 0, 1.0]])
        overlap, words = self.said(abut.overlap, self.holed, self.robot, pose_b=poses)
        self.assertEqual((overlap.tolist(), len(words)), ([False, True], 1))
        self.assertTrue(words[0].startswith("limited: Mesh a is not closed"), words)
        self.assertEqual(self.said(abut.overlap, self.holed, self.robot, pose_b=poses[0]), (False, []))
        self.assertEqual(self.said(abut.overlap, self.holed, self.robot, surface_only=True), (False, []))
        for call, given in ((abut.within, [0.1]), (abut.distance, []), (abut.sweep, []), (abut.relation, [])):
            found, words = self.said(call, self.holed, self.robot, *given)
            self.assertEqual([text[:7] for text in words], ["limited"], call)
            self.assertEqual(getattr(found, "reliability", ("limited",))[0], "limited")

    def test_flipped_neighbours_are_unfit(self):
        for call in (abut.overlap, abut.distance, abut.contacts, abut.intersection):
            self.assertEqual([text.split(":")[0] for text in self.said(call, self.flipped, self.robot)[1]], ["unreliable"], call)
        with warnings.catch_warnings():
            warnings.simplefilter("error", abut.ReliabilityWarning)
            with self.assertRaises(abut.ReliabilityWarning):
                abut.overlap(self.flipped, self.robot)

    def test_managers_follow_the_rule(self):
        turned = [[[0, 0, 0, 0, 0, 0, 1]]]
        for walls, collides, levels in (
            (self.room, False, []),
            (self.holed, True, ["limited"]),
            (self.flipped, None, ["unreliable"]),
        ):
            alone, both = abut.CollisionManager(), abut.CollisionManager()
            alone.add_object("walls", walls)
            both.add_object("walls", walls)
            both.add_object("robot", self.robot)
            for call, given in (
                (both.in_collision_internal, []),
                (alone.in_collision_single, [self.robot]),
                (both.in_collision_many, [turned, ["robot"]]),
                (both.min_distance_internal, []),
                (both.min_distance_many, [turned, ["robot"]]),
            ):
                found, words = self.said(call, *given)
                self.assertEqual([text.split(":")[0] for text in words], levels, call)
                if collides is not None:
                    touches = np.equal(found, 0) if "distance" in call.__name__ else found
                    self.assertEqual(bool(np.all(touches)), collides, call)

    def test_managers_warn_once_per_question(self):
        for walls, level in ((self.room, None), (self.holed, "limited"), (self.flipped, "unreliable")):
            alone, both = abut.CollisionManager(), abut.CollisionManager()
            alone.add_object("walls", walls)
            both.add_object("walls", walls)
            for i in range(3):  # in the walls: each pair has contacts
                both.add_object(i, self.robot, [i - 2, 2, 0, 0, 0, 0, 1])
            for call, given in (
                (both.in_collision_internal, []),
                (alone.in_collision_single, [self.robot, [2, 0, 0]]),
                (alone.in_collision_other, [both]),
                (both.min_distance_internal, []),
                (alone.min_distance_single, [self.robot]),
                (alone.min_distance_other, [both]),
            ):
                (found, *more), words = self.said(call, *given, return_data=True)
                self.assertLessEqual(len(words), 1, (call, words))
                if "collision" in call.__name__ and level:
                    self.assertTrue(found)
                    self.assertEqual([text.split(":")[0] for text in words], [level], call)
                if call == both.in_collision_internal:
                    self.assertEqual(len({frozenset(contact.names) for contact in more[0]}), 3)

    def test_worlds_warn_once_per_reason(self):
        world = abut.World()
        room, robot = world.add(self.holed), world.add(self.robot, [0, 0, 0])
        step, words = self.said(world.step)
        self.assertEqual((step.reliability.level, [text[:7] for text in words]), ("limited", ["limited"]))
        again, words = self.said(world.step, {robot: [0.1, 0, 0]})
        self.assertEqual((again.reliability, words), (step.reliability, []))
        touch, words = self.said(world.sweep, {robot: [0.2, 0, 0]})
        self.assertEqual((touch.reliability.level, len(words)), ("limited", 1))  # another reason
        self.assertEqual(self.said(world.sweep, {robot: [0.3, 0, 0]})[1], [])
        world.replace(room, self.flipped)
        self.assertEqual([text.split(":")[0] for text in self.said(world.step)[1]], ["unreliable"])

    def test_worlds_that_raise_lose_no_event(self):
        world = abut.World()
        world.add(self.holed)
        robot = world.add(self.robot, [2, 0, 0])
        with warnings.catch_warnings():
            warnings.simplefilter("error", abut.ReliabilityWarning)
            for _ in range(2):
                with self.assertRaises(abut.ReliabilityWarning):
                    world.step()
        (pair,), words = self.said(world.step)
        self.assertEqual((pair.b, pair.kind, len(words)), (robot, "begin", 1))

    def test_worlds_of_closed_bodies_say_nothing(self):
        world = abut.World()
        world.add(abut.Plane(), motion="static")
        robot = world.add(self.robot)
        step, words = self.said(world.step)
        self.assertEqual((len(step) > 0, step.reliability.level, words), (True, "guaranteed", []))
        touch, words = self.said(world.sweep, {robot: [0, 0, 1]})
        self.assertEqual((touch.reliability.level, words), ("guaranteed", []))
        self.assertTrue(touch.reliability.reason)

    def test_closed_parts_beside_sheets_contain(self):
        box = abut.shape("box")
        ball = abut.shape("icosphere", radius=0.12)
        for sheet in (abut.Mesh([[2, 0, 0], [4, 0, 0], [2, 4, 0.0]], [[0, 1, 2]]), self.room):
            mixed = abut.join([box, sheet])
            self.assertEqual((mixed.report().has_sheets, mixed.report().is_sheet), (True, False))
            self.assertEqual(self.said(abut.overlap, mixed, ball), (True, []))
            self.assertEqual(self.said(abut.overlap, mixed, ball, pose_b=[0, 1.2, 0.7]), (False, []))
            self.assertEqual(self.said(abut.overlap, ball, mixed), (True, []))
            self.assertEqual(self.said(abut.within, mixed, ball, 0), (True, []))
            found, words = self.said(abut.distance, mixed, ball)
            self.assertEqual((float(found.distance), found.reliability.level, words), (0, "guaranteed", []))
            self.assertIn("some of its components", found.reliability.reason)
            self.assertGreater(len(self.said(abut.contacts, mixed, ball)[0]), 0)
            manager = abut.CollisionManager()
            manager.add_object("mixed", mixed)
            self.assertEqual(self.said(manager.in_collision_single, ball), (True, []))
            world = abut.World()
            world.add(mixed)
            world.add(ball)
            self.assertEqual(len(list(world.step())), 1)

    def test_contacts_and_worlds_say_where_holes_matter(self):
        found, words = self.said(abut.contacts, self.holed, self.robot, pose_b=[9, 0, 0])
        self.assertEqual((len(found), words), (0, []))
        found, words = self.said(abut.contacts, self.holed, self.robot)
        self.assertGreater(len(found), 0)
        self.assertEqual([text[:7] for text in words], ["limited"])
        world = abut.World()
        walls, robot, closed = world.add(self.holed), world.add(self.robot), world.add(abut.shape("box"))
        self.assertEqual(world.pair_info(walls, robot)[:3], ("exact", "limited", np.inf))
        self.assertIn("holes", world.pair_info(walls, robot).reason)
        self.assertEqual(world.pair_info(closed, robot)[:3], ("exact", "complete", 0))

    def test_no_poses_have_nothing_to_say(self):
        found, words = self.said(abut.distance, self.holed, self.robot, pose_b=np.zeros((0, 7)))
        self.assertEqual((found.reliability, words), (("guaranteed", ""), []))


class Interfere(unittest.TestCase):
    def test_methods(self):
        rng = np.random.default_rng(6)
        meshes = [abut.shape("box", size=0.5), abut.shape("icosphere", radius=0.3, segments=4)] * 10
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
            set(map(tuple, abut.interfere(meshes, places, method="images").pairs.tolist())), set(expected)
        )
        volumes = abut.interfere(meshes, places).volume
        for (i, j), volume in zip(expected, volumes):
            common = abut.intersection(meshes[i], meshes[j], pose_a=places[i], pose_b=places[j])
            self.assertAlmostEqual(common.volume, volume)

    def test_no_images_by_default(self):
        meshes, places = [abut.shape("box"), abut.shape("box")], [[0, 0, 0, 0, 0, 0, 1], [0.5, 0, 0, 0, 0, 0, 1]]
        found = abut.interfere(meshes, places)
        self.assertEqual((found.volume.round(9).tolist(), found.records["pixels"].tolist()), ([0.5], [0]))
        self.assertTrue(np.isnan(found.depth).all())
        self.assertAlmostEqual(abut.interfere(meshes, places, method="exact").depth[0], 0.5, 5)

    def test_wrong(self):
        for wrong in (dict(method="magic"), dict(method="conservative"), dict(poses_of=np.zeros((2, 7)))):
            with self.assertRaises(ValueError):
                abut.interfere([abut.shape("box")], **wrong)
        with self.assertRaises(ValueError):
            abut.interfere([abut.shape("sheet")] * 2)
        self.assertEqual(len(abut.interfere([])), 0)

    def test_more_pairs_than_room(self):
        places = [[0.01 * i, 0.013 * i, 0.017 * i, 0, 0, 0, 1] for i in range(25)]
        found = abut.interfere([abut.shape("box", segments=1)] * 25, places, method="images", resolution=64)
        self.assertEqual(len(found), 300)
