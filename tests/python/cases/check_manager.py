"""CollisionManager: against all pairs one by one, and against trimesh with python-fcl."""

import unittest

import numpy as np

import abut
import referee

try:
    import fcl  # noqa: F401
    import trimesh
    from trimesh.collision import CollisionManager as Theirs
except ImportError:
    trimesh = None


def scene(seed, count=24, reach=1.2):
    rng = np.random.default_rng(seed)
    kinds = [
        abut.shape("box", size=(0.3, 0.4, 0.5), segments=2),
        abut.shape("icosphere", radius=0.25, segments=3),
        abut.shape("torus", radius=0.3, radius2=0.1, segments=12, rings=6),
        abut.shape("letter-g", height=0.6),
    ]
    _, places = referee.poses(rng, count, reach)
    return [(f"object {i}", kinds[i % len(kinds)], places[i]) for i in range(count)]


def filled(manager, objects, convert=lambda mesh: mesh):
    for name, mesh, place in objects:
        manager.add_object(name, convert(mesh), transform=place)
    return manager


class Plain(unittest.TestCase):
    def test_all_pairs(self):
        for seed in range(3):
            objects = scene(seed)
            manager = filled(abut.CollisionManager(), objects)
            expected, least = set(), np.inf
            for i, (name, mesh, place) in enumerate(objects):
                for other, twin, there in objects[i + 1 :]:
                    gap = abut.distance(mesh, twin, pose_a=place, pose_b=there).distance
                    least = min(least, gap)
                    if gap == 0:
                        expected.add(tuple(sorted((name, other))))
            self.assertTrue(expected)
            self.assertEqual(manager.in_collision_internal(return_names=True), (True, expected))
            self.assertIs(manager.in_collision_internal(), True)
            self.assertEqual(manager.min_distance_internal(), least)

    def test_distances(self):
        objects = scene(7, 12, 4)
        manager = filled(abut.CollisionManager(), objects)
        pairs = {
            (a[0], b[0]): abut.distance(a[1], b[1], pose_a=a[2], pose_b=b[2]).distance.item()
            for i, a in enumerate(objects)
            for b in objects[i + 1 :]
        }
        distance, names, data = manager.min_distance_internal(return_names=True, return_data=True)
        self.assertEqual(distance, min(pairs.values()))
        self.assertEqual(pairs.get(names, pairs.get(names[::-1])), distance)
        self.assertAlmostEqual(np.linalg.norm(data.point(names[0]) - data.point(names[1])), distance)
        name = objects[3][0]
        self.assertEqual(manager.min_distance_internal(name), min(gap for pair, gap in pairs.items() if name in pair))
        half = filled(abut.CollisionManager(), objects[:6])
        rest = filled(abut.CollisionManager(), objects[6:])
        least = min(gap for (a, b), gap in pairs.items() if int(a[7:]) < 6 <= int(b[7:]))
        distance, names = half.min_distance_other(rest, return_names=True)
        self.assertEqual(distance, least)
        self.assertTrue(int(names[0][7:]) < 6 <= int(names[1][7:]))
        self.assertEqual(half.in_collision_other(rest), least == 0)

    def test_data(self):
        manager = abut.CollisionManager()
        box = abut.shape("box", segments=1)
        manager.add_object("low", box)
        found, names, data = manager.in_collision_single(
            box, [0, 0, 0.9, 0, 0, 0, 1], return_names=True, return_data=True
        )
        self.assertEqual((found, names), (True, {"low"}))
        self.assertEqual(data[0].names, {"low", "__external"})
        self.assertAlmostEqual(max(contact.depth for contact in data), 0.1)
        self.assertAlmostEqual(abs(data[0].normal[2]), 1)
        self.assertLess(data[0].index("low"), box.triangle_count)
        self.assertEqual(manager.in_collision_single(box, [0, 0, 3, 0, 0, 0, 1], True, True), (False, set(), []))

    def test_verbs(self):
        manager, box = abut.CollisionManager(), abut.shape("box")
        self.assertFalse(manager.in_collision_internal())
        self.assertEqual(manager.min_distance_internal(), np.inf)
        manager.add_object("a", box)
        manager.add_object("b", box, np.eye(4))
        self.assertTrue(manager.in_collision_internal())
        far = np.eye(4)
        far[:3, 3] = 5, 0, 0
        manager.set_transform("b", far)
        self.assertFalse(manager.in_collision_internal())
        self.assertAlmostEqual(manager.min_distance_internal(), 4)
        manager.add_object("b", box)  # in its place
        self.assertEqual(len(manager.names), 2)
        manager.remove_object("b")
        self.assertFalse(manager.in_collision_internal())
        manager.add_object(7, box)  # names need not be texts
        self.assertEqual(manager.in_collision_internal(True), (True, {(7, "a")}))
        for wrong in (
            lambda: manager.remove_object("z"),
            lambda: manager.set_transform("z", far),
            lambda: manager.add_object("c", "box"),
            lambda: manager.add_object("c", box, np.eye(3)),
            lambda: manager.set_transform("a", np.full((4, 4), np.nan)),
            lambda: manager.min_distance_internal("z"),
        ):
            with self.assertRaises(ValueError):
                wrong()

    def test_rotations_of_any_length(self):
        box = abut.shape("box")
        for rotation in ((0, 0, 0, 0), (0, 0, 0, 1e-200), (0, 0, 0, 1e200), (0, 0, 5e-324, 0)):
            manager = abut.CollisionManager()
            manager.add_object("a", box, [0.9, 0, 0, *rotation])
            self.assertIs(manager.in_collision_single(box), True)
            self.assertAlmostEqual(manager.min_distance_single(box, [5, 0, 0, *rotation]), 3.1)
            with self.assertRaises(ValueError):
                manager.set_transform("a", [0, 0, 0, *rotation[:3], np.nan])

    def test_containment(self):
        small, ring = abut.shape("box", size=0.02), abut.shape("torus", radius=0.3, radius2=0.1)
        inside = [0.3, 0, 0, 0, 0, 0, 1]
        for solids in (True, False):
            manager = abut.CollisionManager(solids=solids)
            manager.add_object("ring", ring)
            self.assertIs(manager.in_collision_single(small, inside), solids)

    def test_signed(self):
        """Distances of bodies that overlap are depths: of two convex meshes that of the shortest shift."""
        box, ring = abut.shape("box"), abut.shape("torus", radius=0.6, radius2=0.2)
        manager = abut.CollisionManager(signed=True)
        manager.add_object("box", box)
        self.assertAlmostEqual(manager.min_distance_single(box, [0.8, 0.3, 0]), -0.2)
        self.assertAlmostEqual(manager.min_distance_single(box, [1.8, 0.3, 0]), 0.8)
        self.assertAlmostEqual(manager.min_distance_single(box, [1, 0, 0]), 0)
        distance, data = manager.min_distance_single(ring, [1.2, 0, 0], return_data=True)
        depth = max(contact.depth for contact in manager.in_collision_single(ring, [1.2, 0, 0], return_data=True)[1])
        self.assertEqual((distance, data.distance), (-depth, -depth))
        self.assertAlmostEqual(np.linalg.norm(data.point("box") - data.point("__external")), depth)
        box.set_positions(box.vertices * 2)  # also of a hull
        self.assertAlmostEqual(manager.min_distance_single(abut.shape("box"), [1.4, 0, 0]), -0.1)
        manager.set_transform("box", [0, 0, 9])
        self.assertEqual(manager.min_distance_many(np.zeros((1, 1, 3)), ["box"]).tolist(), [np.inf])

    def test_single_after_changes(self):
        """The group of the last single query follows its mesh, poses and objects."""
        box, ball = abut.shape("box"), abut.shape("icosphere", radius=0.1)
        manager = abut.CollisionManager()
        manager.add_object("a", box)
        self.assertTrue(manager.in_collision_single(box, [0.9, 0, 0]))
        self.assertFalse(manager.in_collision_single(ball, [0.9, 0, 0]))
        manager.set_transform("a", [0.5, 0, 0])
        self.assertTrue(manager.in_collision_single(ball, [0.9, 0, 0]))
        manager.add_object("b", box, [5, 0, 0])
        self.assertEqual(manager.in_collision_single(ball, [5, 0, 0], return_names=True), (True, {"b"}))
        manager.remove_object("b")
        self.assertEqual(manager.in_collision_single(ball, [5, 0, 0], return_names=True), (False, set()))
        self.assertTrue(manager.in_collision_internal() is False and len(manager) == 1)

    def test_a_refit_reaches_the_manager(self):
        """Boxes are those of the mesh as it is, not as it was when it was added."""
        a, b = abut.shape("icosphere"), abut.shape("icosphere")
        manager = abut.CollisionManager()
        manager.add_object("a", a)
        manager.add_object("b", b, [3, 0, 0])
        self.assertIs(manager.in_collision_internal(), False)
        a.set_positions(a.vertices * 10)
        self.assertIs(manager.in_collision_internal(), True)
        self.assertEqual(manager.min_distance_internal(), 0)
        self.assertIs(manager.in_collision_single(abut.shape("box", size=0.1), [0, 0, 4]), True)
        a.set_positions(a.vertices / 10)
        self.assertIs(manager.in_collision_internal(), False)

    def test_many_transforms(self):
        objects = scene(4)
        manager, twin = filled(abut.CollisionManager(), objects), filled(abut.CollisionManager(), objects)
        _, places = referee.poses(np.random.default_rng(9), len(objects), 1.2)
        names = [name for name, _, _ in objects]
        for name, place in zip(names, places):
            twin.set_transform(name, place)
        expected = twin.in_collision_internal(return_names=True)
        manager.set_transforms(places)
        self.assertEqual(manager.in_collision_internal(return_names=True), expected)
        manager = filled(abut.CollisionManager(), objects)
        manager.set_transforms(places[::-1], names[::-1])
        self.assertEqual(manager.in_collision_internal(return_names=True), expected)
        manager = filled(abut.CollisionManager(), objects)
        manager.set_transforms(dict(zip(names, places)))
        self.assertEqual(manager.in_collision_internal(return_names=True), expected)
        bad = places.copy()
        bad[5] *= 2
        for wrong in (
            lambda: manager.set_transforms(places[:3]),
            lambda: manager.set_transforms(places[0]),
            lambda: manager.set_transforms(bad),
            lambda: manager.set_transforms({names[0]: places[0], "z": places[1]}),
            lambda: manager.set_transforms(dict(zip(names, places)), names),
        ):
            with self.assertRaises(ValueError):
                wrong()
        self.assertEqual(manager.in_collision_internal(return_names=True), expected)

    def test_configurations(self):
        objects = scene(5, 9, 1.5)
        names, moving = [name for name, _, _ in objects], [objects[i][0] for i in (4, 1, 7, 2)]
        manager = filled(abut.CollisionManager(), objects)
        manager.ignore(moving[0], moving[1])
        manager.ignore(names[0], moving[2])
        rng = np.random.default_rng(2)
        configurations = np.stack([referee.poses(rng, 4, 1.5)[1] for _ in range(50)])
        found, least = (
            manager.in_collision_many(configurations, moving),
            manager.min_distance_many(configurations, moving),
        )
        near = manager.in_collision_many(configurations, moving, margin=0.1)
        self.assertTrue(found.any() and not found.all() and (found <= near).all() and (near > found).any())
        ignored = [{moving[0], moving[1]}, {names[0], moving[2]}]
        for k, places in enumerate(configurations):
            at = {name: place for name, _, place in objects}
            at.update(zip(moving, places))
            gaps = [
                abut.distance(a[1], b[1], pose_a=at[a[0]], pose_b=at[b[0]]).distance
                for i, a in enumerate(objects)
                for b in objects[i + 1 :]
                if (a[0] in moving or b[0] in moving) and {a[0], b[0]} not in ignored
            ]
            self.assertEqual((found[k], least[k], near[k]), (min(gaps) == 0, min(gaps), min(gaps) <= 0.1))
        short = np.zeros((50, 4, 7))
        short[..., :3], short[..., 6] = configurations[..., :3, 3], 1
        turned = configurations.copy()
        turned[..., :3, :3] = np.eye(3)
        np.testing.assert_array_equal(
            manager.in_collision_many(short, moving), manager.in_collision_many(turned, moving)
        )
        self.assertEqual(manager.in_collision_many(np.zeros((0, 4, 7)), moving).shape, (0,))
        self.assertTrue(np.isinf(manager.min_distance_many(np.zeros((2, 0, 7)), [])).all())
        for wrong in (
            lambda: manager.in_collision_many(configurations, moving[:3]),
            lambda: manager.in_collision_many(configurations, [*moving[:3], moving[0]]),
            lambda: manager.in_collision_many(configurations[0], moving),
            lambda: manager.in_collision_many(configurations * np.nan, moving),
            lambda: manager.in_collision_many(configurations, moving, margin=-1),
            lambda: manager.ignore("a", "z"),
        ):
            with self.assertRaises(ValueError):
                wrong()
        manager.ignore(names[0], moving[2], False)
        self.assertEqual(len(manager._ignored), 1)


@unittest.skipIf(trimesh is None, "trimesh and python-fcl are not installed")
class Trimesh(unittest.TestCase):
    def theirs(self, objects):
        return filled(Theirs(), objects, lambda mesh: mesh.to_trimesh())

    def test_names(self):
        for seed in range(8):
            objects = scene(seed)
            for solids in (True, False):
                ours = filled(abut.CollisionManager(solids), objects)
                found, names = ours.in_collision_internal(return_names=True)
                if solids:  # of theirs only convex meshes are solid
                    self.assertGreaterEqual(names, self.theirs(objects).in_collision_internal(return_names=True)[1])
                else:
                    theirs = Theirs()
                    theirs._get_fcl_obj = trimesh.collision.mesh_to_BVH
                    filled(theirs, objects, lambda mesh: mesh.to_trimesh())
                    self.assertEqual((found, names), theirs.in_collision_internal(return_names=True))

    def test_meshes_of_trimesh(self):
        box, ours, theirs = trimesh.creation.box(), abut.CollisionManager(), Theirs()
        for manager in (ours, theirs):
            manager.add_object("box", box)
        rng = np.random.default_rng(3)
        for _, place in zip(range(50), referee.poses(rng, 50, 2)[1]):
            ball = trimesh.creation.icosphere(radius=0.4)
            self.assertEqual(
                ours.in_collision_single(ball, place, return_names=True),
                theirs.in_collision_single(ball, place, return_names=True),
            )
            self.assertAlmostEqual(
                ours.min_distance_single(ball, place), max(theirs.min_distance_single(ball, place), 0), places=5
            )

    def test_distances(self):
        for seed in range(5):
            objects = scene(seed, 10, 5)
            ours, theirs = filled(abut.CollisionManager(), objects), self.theirs(objects)
            distance, names = ours.min_distance_internal(return_names=True)
            expected, pair = theirs.min_distance_internal(return_names=True)
            self.assertAlmostEqual(distance, max(expected, 0), places=5)
            self.assertEqual(names, pair)
            half, rest = filled(abut.CollisionManager(), objects[:5]), filled(abut.CollisionManager(), objects[5:])
            self.assertAlmostEqual(
                half.min_distance_other(rest),
                max(self.theirs(objects[:5]).min_distance_other(self.theirs(objects[5:])), 0),
                places=5,
            )
            self.assertEqual(
                half.in_collision_other(rest, return_names=True),
                self.theirs(objects[:5]).in_collision_other(self.theirs(objects[5:]), return_names=True),
            )
