"""abut.trimesh: against loops over all triangles and pairs, and the interfaces of trimesh."""

import contextlib
import copy
import inspect
import io
import os
import pathlib
import pickle
import re
import unittest
import warnings

import numpy as np

import abut
import referee

try:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of packages that trimesh imports
        import trimesh

    import abut.trimesh as ours
except ImportError:
    trimesh = None


def moved(x, y=0, z=0):
    return trimesh.transformations.translation_matrix([x, y, z])


def hits_of(mesh, origin, direction):
    """All hits of a ray by a loop over all triangles: (parameter, triangle), sorted."""
    corners = mesh.vertices[mesh.faces]
    edges = corners[:, 1:] - corners[:, :1]
    found = []
    for triangle, (first, second) in enumerate(edges):
        matrix = np.stack([first, second, -direction], axis=1)
        if abs(np.linalg.det(matrix)) < 1e-14:
            continue
        u, v, t = np.linalg.solve(matrix, origin - corners[triangle, 0])
        if u >= 0 and v >= 0 and u + v <= 1 and t >= 0:
            found.append((t, triangle))
    return sorted(found)


@unittest.skipIf(trimesh is None, "trimesh is not installed")
class Interfaces(unittest.TestCase):
    def test_install(self):
        before = trimesh.collision.CollisionManager, trimesh.proximity.closest_point, trimesh.proximity.ProximityQuery
        installed = ours.install()
        try:
            self.assertIs(trimesh.collision.CollisionManager, ours.CollisionManager)
            box = trimesh.creation.box()
            self.assertIsInstance(box.ray, ours.RayMeshIntersector)
            self.assertIsInstance(box.nearest, ours.ProximityQuery)
            self.assertIs(trimesh.proximity.thickness, ours.thickness)
            self.assertEqual(box.contains([[0, 0, 0], [0, 0, 2]]).tolist(), [True, False])
            with ours.install():
                self.assertIs(trimesh.proximity.closest_point, ours.closest_point)
            self.assertIs(trimesh.proximity.closest_point, ours.closest_point)
            manager, objects = trimesh.collision.scene_to_collision(trimesh.Scene([box, box.copy()]))
            self.assertEqual((manager.in_collision_internal(), len(objects)), (True, 2))
        finally:
            installed.undo()
        installed.undo()
        after = trimesh.collision.CollisionManager, trimesh.proximity.closest_point, trimesh.proximity.ProximityQuery
        self.assertEqual(after, before)
        self.assertNotIsInstance(trimesh.creation.box().ray, ours.RayMeshIntersector)

    def test_page(self):
        """The code of docs/trimesh.md runs, block after block."""
        source = os.environ.get("ABUT_TEST_SOURCE")
        if not source:
            self.skipTest("ABUT_TEST_SOURCE is not set")
        page, names = pathlib.Path(source, "docs/trimesh.md").read_text(), {}
        blocks = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
        before = trimesh.collision.CollisionManager
        with ours.install(), contextlib.redirect_stdout(io.StringIO()) as printed:
            for block in blocks:
                exec(compile(block, "docs/trimesh.md", "exec"), names)
        self.assertIn("{'ring'}", printed.getvalue())
        self.assertIs(trimesh.collision.CollisionManager, before)

    def test_signatures(self):
        """Every argument of a function of trimesh exists, at the same place."""
        pairs = [
            (getattr(trimesh.proximity, name), getattr(ours, name))
            for name in ("closest_point", "signed_distance", "longest_ray", "max_tangent_sphere", "thickness")
        ]
        classes = [
            (trimesh.collision.CollisionManager, ours.CollisionManager),
            (trimesh.proximity.ProximityQuery, ours.ProximityQuery),
            (trimesh.ray.ray_triangle.RayMeshIntersector, ours._TriangleOrder),
        ]
        if trimesh.ray.has_embree:
            classes.append((trimesh.ray.ray_pyembree.RayMeshIntersector, ours.RayMeshIntersector))
        for theirs, mine in classes:
            names = [name for name, _ in inspect.getmembers(theirs, inspect.isfunction) if not name.startswith("_")]
            pairs += [(getattr(theirs, name), getattr(mine, name)) for name in names]
        self.assertGreater(len(pairs), 20)
        for theirs, mine in pairs:
            named = [
                name
                for name, parameter in inspect.signature(theirs).parameters.items()
                if parameter.kind is not parameter.VAR_KEYWORD
            ]
            if named == ["args"]:  # a decorator hides them
                continue
            self.assertEqual(list(inspect.signature(mine).parameters)[: len(named)], named, mine.__qualname__)

    def test_conversion_is_kept(self):
        from abut.mesh import mesh_of

        ball = trimesh.creation.icosphere(subdivisions=1)
        made = mesh_of(ball, "mesh")
        self.assertIs(mesh_of(ball, "mesh"), made)
        self.assertLess(len(pickle.dumps(ball)), 2 * len(pickle.dumps(ball.copy())))
        twin = pickle.loads(pickle.dumps(ball))
        for other in (twin, copy.deepcopy(ball), ball.copy(include_cache=True)):
            self.assertEqual(ours.closest_point(other, [[0, 0, 3]])[1].round(9).tolist(), [2])
        ball.apply_scale(2)
        self.assertEqual(ours.closest_point(ball, [[0, 0, 3]])[1].round(9).tolist(), [1])
        ball.vertices[:] /= 2
        self.assertEqual(ours.closest_point(ball, [[0, 0, 3]])[1].round(9).tolist(), [2])
        made = mesh_of(ball, "mesh")
        made.set_positions(made.vertices * 9)  # of the converted mesh alone
        self.assertEqual(ours.closest_point(ball, [[0, 0, 3]])[1].round(9).tolist(), [2])


@unittest.skipIf(trimesh is None, "trimesh is not installed")
class Collisions(unittest.TestCase):
    def test_signed_distances(self):
        box, manager = trimesh.creation.box(), ours.CollisionManager()
        manager.add_object("a", box)
        manager.add_object("b", box, moved(3))
        self.assertAlmostEqual(manager.min_distance_internal(), 2)
        for depth in (0.1, 0.25):
            found, name, data = manager.min_distance_single(box, moved(1 - depth), True, True)
            self.assertEqual((name, data.names), ("a", {"a", "__external"}))
            self.assertAlmostEqual(found, -depth)
            self.assertEqual(found, data.distance)
            self.assertAlmostEqual(data.point("a")[0], 0.5)  # the deepest points
            self.assertAlmostEqual(data.point("__external")[0], 0.5 - depth)
            for name in data.names:
                self.assertLess(data.index(name), len(box.faces))
        manager.set_transform("b", moved(0.75))
        distance, names, data = manager.min_distance_internal(return_names=True, return_data=True)
        self.assertEqual(names, ("a", "b"))
        self.assertAlmostEqual(distance, -0.25)
        self.assertAlmostEqual(data.point("b")[0], 0.25)
        plain = ours.CollisionManager(signed=False)
        plain.add_object("a", box)
        self.assertEqual(plain.min_distance_single(box, moved(0.75)), 0)

    def test_depth_of_concave_meshes(self):
        """It is that of the deepest contact. If there is one patch, a shift by it separates them."""
        rng, ring = np.random.default_rng(5), trimesh.creation.torus(1, 0.3, 16, 8)
        manager, single = ours.CollisionManager(), 0
        manager.add_object("ring", ring)
        for place in referee.poses(rng, 12, 1.2)[1]:
            distance, data = manager.min_distance_single(ring, place, return_data=True)
            touches, contacts = manager.in_collision_single(ring, place, return_data=True)
            self.assertEqual(touches, distance <= 0)
            if touches:
                self.assertEqual(distance, -max(contact.depth for contact in contacts))
                shift = data.point("ring") - data.point("__external")
                self.assertAlmostEqual(np.linalg.norm(shift), -distance)
                if max(abs(contact.normal - contacts[0].normal).max() for contact in contacts) < 1e-12:
                    single += 1
                    place[:3, 3] += shift * 1.001
                    self.assertFalse(manager.in_collision_single(ring, place))
        self.assertGreater(single, 2)

    def test_scales(self):
        box, manager = trimesh.creation.box(), ours.CollisionManager()
        stretched = np.diag([4.0, 1, 1, 1])
        mirrored = np.diag([-4.0, 1, 1, 1])
        for matrix in (stretched, mirrored):
            manager.add_object("a", box, matrix)
            self.assertAlmostEqual(manager.min_distance_single(box, moved(5)), 2.5)
            manager.ignore("a", "a")
            manager.set_transform("a", np.eye(4))
            self.assertAlmostEqual(manager.min_distance_single(box, moved(5)), 4)
            manager.set_transform("a", matrix)
            self.assertAlmostEqual(manager.min_distance_single(box, matrix @ moved(2)), 4)
            self.assertTrue(manager.in_collision_single(box, moved(2)))
        manager.remove_object("a")
        self.assertEqual((len(manager), manager._unscaled), (0, {}))
        manager.add_object("a", box)
        for wrong in (np.zeros((4, 4)), np.full((4, 4), np.nan), np.eye(3), np.ones((4, 4))):
            for call in (manager.in_collision_single, manager.min_distance_single):
                with self.assertRaises(ValueError):
                    call(box, wrong)
            with self.assertRaises(ValueError):
                manager.set_transform("a", wrong)
        self.assertAlmostEqual(manager.min_distance_single(box, moved(3)), 2)


@unittest.skipIf(trimesh is None, "trimesh is not installed")
class Rays(unittest.TestCase):
    def setUp(self):
        self.mesh = trimesh.creation.torus(1, 0.4, 10, 6)
        rng = np.random.default_rng(2)
        self.o = rng.uniform(-2, 2, (60, 3))
        self.d = rng.uniform(-1, 1, (60, 3)) * (1.4, 1.4, 0.4) - self.o
        self.expected = [hits_of(self.mesh, *ray) for ray in zip(self.o, self.d)]
        self.ray = ours.RayMeshIntersector(self.mesh)

    def test_hits(self):
        places, ray, triangle = self.ray.intersects_location(self.o, self.d)
        flat = [(i, t, f) for i, hits in enumerate(self.expected) for t, f in hits]
        self.assertGreater(len(flat), 60)
        self.assertEqual(ray.tolist(), [i for i, _, _ in flat])
        self.assertEqual(triangle.tolist(), [f for _, _, f in flat])
        np.testing.assert_allclose(places, [self.o[i] + t * self.d[i] for i, t, _ in flat], atol=1e-12)
        self.assertEqual((ray.dtype, triangle.dtype), (np.int64, np.int64))
        both = self.ray.intersects_id(self.o, self.d)
        np.testing.assert_array_equal(both[0], triangle)
        np.testing.assert_array_equal(both[1], ray)
        few, of, where = self.ray.intersects_id(self.o, self.d, max_hits=1, return_locations=True)
        once = self.ray.intersects_id(self.o, self.d, multiple_hits=False, return_locations=True)
        for one, other in zip((few, of, where), once):
            np.testing.assert_array_equal(one, other)
        hit = [bool(hits) for hits in self.expected]
        self.assertEqual(self.ray.intersects_any(self.o, self.d).tolist(), hit)
        first = [hits[0][1] if hits else -1 for hits in self.expected]
        self.assertEqual(self.ray.intersects_first(self.o, self.d).tolist(), first)
        self.assertEqual(few.tolist(), [f for f in first if f >= 0])
        other = ours._TriangleOrder(self.mesh)
        self.assertEqual(len(other.intersects_id(self.o, self.d, True)), 3)
        self.assertEqual(len(other.intersects_id(self.o, self.d, False, False)), 2)

    def test_rays_that_hit_nothing(self):
        """Rays without direction and rays that are not finite are misses, and others keep their index."""
        self.d[3], self.o[7, 1], self.d[9, 2] = 0, np.nan, np.inf
        for bad in (3, 7, 9):
            self.expected[bad] = []
        places, ray, triangle = self.ray.intersects_location(self.o, self.d)
        self.assertEqual(
            list(zip(ray.tolist(), triangle.tolist())),
            [(i, f) for i, hits in enumerate(self.expected) for _, f in hits],
        )
        np.testing.assert_allclose(np.cross(places - self.o[ray], self.d[ray]), 0, atol=1e-9)
        self.assertEqual(
            self.ray.intersects_first(self.o, self.d).tolist(), [h[0][1] if h else -1 for h in self.expected]
        )
        self.assertEqual(self.ray.intersects_any(self.o, self.d).tolist(), [bool(h) for h in self.expected])
        for none in (np.zeros((0, 3)), []):
            places, ray, triangle = self.ray.intersects_location(none, none)
            self.assertEqual((places.shape, len(ray), len(triangle)), ((0, 3), 0, 0))
            self.assertEqual(len(self.ray.intersects_any(none, none)), 0)
        for wrong in (self.o[:5], self.o[:, :2], "rays"):
            with self.assertRaises(ValueError):
                self.ray.intersects_first(wrong, self.d)

    def test_edges_and_planes(self):
        box = trimesh.creation.box()
        ray = ours.RayMeshIntersector(box)
        for towards in (box.vertices, box.vertices[box.edges_unique].mean(axis=1)):
            for multiple in (True, False):
                index = ray.intersects_id(np.zeros_like(towards), towards, multiple)[1]
                self.assertEqual(index.tolist(), list(range(len(towards))))
        # in the plane of a sheet, and then through a box behind it
        sheet = trimesh.Trimesh([[-3, -1, 0.3], [-2, -1, 0.3], [-2, 1, 0.3], [-3, 1, 0.3]], [[0, 1, 2], [0, 2, 3]])
        ray = ours.RayMeshIntersector(trimesh.util.concatenate([sheet, box]))
        for multiple, expected in ((True, [-0.5, 0.5]), (False, [-0.5])):
            places, index, _ = ray.intersects_location([[-9, 5, 0], [-4, 0.1, 0.3]], [[1, 0, 0]] * 2, multiple)
            np.testing.assert_allclose(places[:, 0], expected)
            self.assertEqual(set(index.tolist()), {1})

    def test_contains(self):
        rng, cavity = np.random.default_rng(8), trimesh.creation.icosphere(1, radius=0.5)
        cavity.invert()
        mesh = trimesh.util.concatenate([trimesh.creation.icosphere(2), cavity])
        points = rng.uniform(-1.2, 1.2, (300, 3))
        radius = np.linalg.norm(points, axis=1)
        clear = (np.abs(radius - 1) > 0.06) & ((radius > 0.5) | (radius < 0.35))
        inside = ours.RayMeshIntersector(mesh).contains_points(points)
        np.testing.assert_array_equal(inside[clear], ((radius > 0.5) & (radius < 1))[clear])
        points[0], points[1] = np.nan, np.inf
        self.assertEqual(ours.RayMeshIntersector(mesh).contains_points(points)[:2].tolist(), [False, False])


@unittest.skipIf(trimesh is None, "trimesh is not installed")
class Proximity(unittest.TestCase):
    def test_closest_points(self):
        mesh, rng = trimesh.creation.torus(1, 0.4, 10, 6), np.random.default_rng(4)
        points = rng.uniform(-2, 2, (80, 3))
        closest, distance, triangle = ours.closest_point(mesh, points)
        corners = mesh.vertices[mesh.faces]
        for i, point in enumerate(points):
            every = trimesh.triangles.closest_point(corners, np.tile(point, (len(corners), 1)))
            length = np.linalg.norm(every - point, axis=1)
            self.assertAlmostEqual(distance[i], length.min(), places=12)
            np.testing.assert_allclose(closest[i], every[length.argmin()], atol=1e-9)
            ties = np.flatnonzero(length < length.min() + 1e-10)
            facing = (mesh.face_normals[ties] * (point - closest[i])).sum(axis=1)
            self.assertIn(triangle[i], ties)
            self.assertAlmostEqual(facing.max(), mesh.face_normals[triangle[i]] @ (point - closest[i]), places=9)
        signed, inside = ours.signed_distance(mesh, points), ours.RayMeshIntersector(mesh).contains_points(points)
        np.testing.assert_allclose(signed, np.where(inside, distance, -distance))
        query = ours.ProximityQuery(mesh)
        np.testing.assert_array_equal(query.signed_distance(points), signed)
        np.testing.assert_array_equal(query.on_surface(points)[0], closest)
        near, vertex = query.vertex(points)
        every = np.linalg.norm(mesh.vertices - points[:, None], axis=2)
        np.testing.assert_allclose(near, every.min(axis=1))
        np.testing.assert_array_equal(vertex, every.argmin(axis=1))
        surface = mesh.triangles_center
        self.assertTrue((ours.signed_distance(mesh, surface) >= 0).all())
        for wrong in (points[:, :2], points[0], "points"):
            with self.assertRaises(ValueError):
                ours.closest_point(mesh, wrong)

    def test_thickness(self):
        plate = trimesh.creation.box([4, 3, 0.5])
        points = np.array([[0.3, 0.2, 0.25], [-1, 0.5, -0.25], [1, -1, 0.25]])
        for method in ("max_sphere", "ray"):
            np.testing.assert_allclose(ours.thickness(plate, points, method=method), 0.5)
            self.assertTrue(np.isinf(ours.thickness(plate, points, exterior=True, method=method)).all())
        centre, radius = ours.max_tangent_sphere(plate, points)
        np.testing.assert_allclose(radius, 0.25)
        np.testing.assert_allclose(centre, points * (1, 1, 0), atol=1e-9)
        # a corner limits the sphere: its radius is the distance to the side
        np.testing.assert_allclose(ours.max_tangent_sphere(plate, [[1.9, 0, 0.25]])[1], 0.1, rtol=1e-4)
        channel = trimesh.util.concatenate([plate, plate.copy().apply_translation([0, 0, 2])])
        up = [[0, 0, 1]] * 2
        self.assertEqual(ours.longest_ray(channel, [[0, 0, 0.25], [9, 0, 0]], up).round(9).tolist(), [1.5, np.inf])
        self.assertEqual(ours.longest_ray(channel, [[0, 0, 0.25]], [[0, 0, 7]]).round(9).tolist(), [1.5])
        np.testing.assert_allclose(ours.thickness(channel, points[:1], exterior=True), 1.5)
        for wrong in (
            lambda: ours.thickness(plate, points, method="other"),
            lambda: ours.thickness(plate, points, normals=up),
            lambda: ours.longest_ray(plate, points, up),
        ):
            with self.assertRaises(ValueError):
                wrong()


if __name__ == "__main__":
    unittest.main()
