"""Meshes and questions about points and rays, against plain searches."""

import copy
import os
import pickle
import tempfile
import unittest

import numpy as np

import abut
import referee
from abut import _arrays


class Questions(unittest.TestCase):
    def setUp(self):
        self.rng = np.random.default_rng(1)
        self.mesh = abut.shape("torus", segments=16, rings=8)
        self.p = self.rng.uniform(-1, 1, (200, 3))

    def test_nearest(self):
        found = self.mesh.nearest(self.p)
        np.testing.assert_allclose(found.distance, referee.closest(self.p, self.mesh), rtol=1e-12)
        np.testing.assert_allclose(np.linalg.norm(found.point - self.p, axis=1), found.distance, rtol=1e-12)
        corners = self.mesh.vertices[self.mesh.faces[found.triangle]]
        np.testing.assert_allclose((found.barycentric[:, :, None] * corners).sum(axis=1), found.point, atol=1e-12)

    def test_nearest_k(self):
        every = np.stack(
            [referee.closest(self.p, abut.Mesh(corners[None])) for corners in self.mesh.vertices[self.mesh.faces]],
            axis=1,
        )
        found = self.mesh.nearest_k(self.p, 5)
        np.testing.assert_allclose(found.distance, np.sort(every, axis=1)[:, :5], rtol=1e-12)
        np.testing.assert_allclose(np.take_along_axis(every, found.triangle.astype(int), 1), found.distance, rtol=1e-12)
        np.testing.assert_allclose(np.linalg.norm(found.point - self.p[:, None], axis=2), found.distance, rtol=1e-12)
        np.testing.assert_array_equal(found.distance[:, 0], self.mesh.nearest(self.p).distance)
        near = self.mesh.nearest_k(self.p, 5, radius=0.3)
        within = found.distance <= 0.3
        self.assertTrue(within.any() and not within.all())
        np.testing.assert_array_equal(near.distance, np.where(within, found.distance, np.inf))
        np.testing.assert_array_equal(near.triangle, np.where(within, found.triangle, abut.NONE))
        self.assertEqual(self.mesh.nearest_k(self.p[0], 3).point.shape, (3, 3))
        self.assertEqual(self.mesh.nearest_k(self.p.reshape(20, 10, 3), 2).distance.shape, (20, 10, 2))
        self.assertEqual(self.mesh.nearest_k([], 2).distance.shape, (0, 2))
        for wrong in (0, -1, 1.5, 2**33):
            with self.assertRaises(ValueError):
                self.mesh.nearest_k(self.p, wrong)

    def test_radius(self):
        found = self.mesh.nearest(self.p, radius=0.1)
        far = referee.closest(self.p, self.mesh) > 0.1
        self.assertTrue(far.any() and not far.all())
        np.testing.assert_array_equal(found.distance == np.inf, far)
        np.testing.assert_array_equal(found.triangle == abut.NONE, far)

    def test_one_point(self):
        found = self.mesh.nearest(self.p[0])
        self.assertEqual(found.distance.shape, ())
        self.assertEqual(found.point.shape, (3,))
        self.assertEqual(found.distance, self.mesh.nearest(self.p).distance[0])

    def test_no_points(self):
        for nothing in (np.zeros((0, 3)), [], np.zeros((0, 3), np.float32)):
            self.assertEqual(self.mesh.nearest(nothing).point.shape, (0, 3))
            self.assertEqual(self.mesh.inside(nothing).shape, (0,))
            self.assertEqual(self.mesh.ray(nothing, [0, 0, 1]).parameter.shape, (0,))
            self.assertEqual(self.mesh.ray_all(nothing, [0, 0, 1]).offsets.tolist(), [0])

    def test_signs(self):
        sign = self.mesh.signed_distance(self.p)
        inside = np.array(
            [len(hits) % 2 for hits in referee.rays(self.p, np.tile((0.3, 0.5, 0.8), (200, 1)), self.mesh)]
        )
        self.assertTrue(inside.any())
        np.testing.assert_array_equal(sign < 0, inside)
        np.testing.assert_array_equal(self.mesh.inside(self.p), inside)
        np.testing.assert_array_equal(self.mesh.winding(self.p), inside)
        np.testing.assert_array_equal(np.abs(sign), self.mesh.nearest(self.p).distance)
        np.testing.assert_array_equal(self.mesh.nearest(self.p, signed=True).distance, sign)
        self.assertEqual(self.mesh.inside_reliability().level, "guaranteed")
        self.assertEqual(abut.shape("sheet").inside_reliability().level, "limited")

    def test_rays(self):
        d = self.rng.normal(size=(200, 3))
        expected = referee.rays(self.p, d, self.mesh)
        first, every = self.mesh.ray(self.p, d), self.mesh.ray_all(self.p, d)
        np.testing.assert_array_equal(first.hit, [len(hits) > 0 for hits in expected])
        np.testing.assert_allclose(first.parameter[first.hit], [hits[0] for hits in expected if len(hits)], rtol=1e-10)
        np.testing.assert_array_equal(np.diff(every.offsets.astype(int)), [len(hits) for hits in expected])
        np.testing.assert_allclose(every.parameter, np.concatenate(expected), rtol=1e-9)
        np.testing.assert_array_equal(self.mesh.ray_any(self.p, d), first.hit)
        short = self.mesh.ray_any(self.p, d, limit=0.2)
        np.testing.assert_array_equal(short, first.parameter <= 0.2)

    def test_many_hits(self):
        layers = abut.join([abut.shape("sheet").transformed([0, 0, 0.001 * i, 0, 0, 0, 1]) for i in range(300)])
        found = layers.ray_all([[0.1, 0.2, -1]] * 3, [0, 0, 1])
        self.assertEqual(found.offsets.tolist(), [0, 300, 600, 900])

    def test_set_positions(self):
        mesh = abut.shape("torus", segments=16, rings=8).prepare()
        self.assertIs(mesh.prepare("rays", "overlap", "distance", "contacts", "volume", "signs"), mesh)
        with self.assertRaisesRegex(abut.ArgumentError, "convex"):
            mesh.prepare("hull")
        for wrong in ("speed", ["rays"], 3):
            with self.assertRaises(abut.ArgumentError):
                mesh.prepare(wrong)
        moved = mesh.vertices * (1, 2, 3) + 5
        before = mesh.faces
        self.assertIs(mesh.set_positions(moved), mesh)
        np.testing.assert_array_equal(mesh.vertices, moved)
        fresh = abut.Mesh(moved, before)
        np.testing.assert_array_equal(mesh.signed_distance(self.p * 9), fresh.signed_distance(self.p * 9))
        with self.assertRaises(ValueError):
            mesh.set_positions(moved[1:])
        with self.assertRaises(ValueError):
            mesh.set_positions(moved * np.nan)
        np.testing.assert_array_equal(mesh.vertices, moved)

    def test_devices_have_the_same_bits(self):
        if not any(device["kind"] == "cpu" for device in abut.devices()):
            self.skipTest("no OpenCL device such as PoCL")
        there = abut.Mesh(self.mesh.vertices, self.mesh.faces, device="opencl-cpu")
        for here, other in zip(self.mesh.nearest(self.p), there.nearest(self.p)):
            np.testing.assert_array_equal(here, other)
        np.testing.assert_array_equal(
            self.mesh.signed_distance(self.p), self.mesh.signed_distance(self.p, device="opencl-cpu")
        )


class Arrays(unittest.TestCase):
    def setUp(self):
        self.mesh = abut.shape("icosphere", segments=3)
        self.p = np.random.default_rng(2).uniform(-1, 1, (50, 3))
        self.expected = self.mesh.nearest(self.p).distance

    def test_what_is_right_is_not_copied(self):
        wide = np.zeros((50, 5))
        for array in (self.p, self.p.astype(np.float32), wide[:, 1:4], wide[::2, :3]):
            made, _ = _arrays.vectors(array, "points")
            self.assertIs(made, array)
            batch = _arrays.batch(made)
            self.assertEqual((batch.host, batch.stride), (array.ctypes.data, array.strides[0]))

    def test_strides(self):
        wide = np.zeros((100, 5))
        wide[::2, 1:4] = self.p
        for array in (
            wide[::2, 1:4],
            np.asfortranarray(self.p),
            self.p[::-1][::-1],
            self.p.T.copy().T,
            self.p.tolist(),
            self.p.astype(">f8"),
            memoryview(self.p),
        ):
            np.testing.assert_array_equal(self.mesh.nearest(array).distance, self.expected)
        np.testing.assert_array_equal(self.mesh.nearest(self.p[::-1]).distance, self.expected[::-1])
        np.testing.assert_array_equal(
            self.mesh.nearest(np.broadcast_to(self.p[3], (4, 3))).distance, [self.expected[3]] * 4
        )

    def test_floats(self):
        single = self.p.astype(np.float32)
        np.testing.assert_array_equal(
            self.mesh.nearest(single).distance, self.mesh.nearest(single.astype(float)).distance
        )
        halves = self.p.astype(np.float16)
        np.testing.assert_array_equal(
            self.mesh.nearest(halves).distance, self.mesh.nearest(halves.astype(float)).distance
        )
        self.assertEqual(self.mesh.nearest(np.array([[2, 0, 0]])).distance.shape, (1,))
        for d in (-single, -single.astype(float)):  # one type, or two
            here, there = self.mesh.ray(single, d), self.mesh.ray(single.astype(float), d.astype(float))
            for one, other in zip(here, there):
                np.testing.assert_array_equal(one, other)
            np.testing.assert_array_equal(self.mesh.ray_any(single, d), here.hit)

    def test_positions(self):
        """The same results from float32, and from columns of a wider array."""
        vertices = self.mesh.vertices.astype(np.float32)
        wide = np.zeros((len(vertices), 7), np.float32)
        wide[:, 2:5] = vertices + np.float32(0.125)
        found = []
        for array in (wide[:, 2:5].astype(float), wide[:, 2:5]):
            world = abut.World()
            body = world.add(abut.Mesh(vertices, self.mesh.faces), deforms=True)
            world.add(self.mesh, pose=(1, 0, 0))
            world.set_positions(body, array)
            motion = abut.Motion([self.mesh, abut.shape("box")])
            motion.step(end=[array, abut.shape("box").vertices])
            found.append(([pair.depth for pair in world.step()], motion.earliest()))
        self.assertEqual(len(found[0][0]), 1)
        self.assertEqual(found[0][0], found[1][0])
        self.assertEqual(str(found[0][1]), str(found[1][1]))

    def test_wrong_arrays(self):
        for wrong in (
            np.zeros((5, 2)),
            np.zeros(4),
            np.zeros((2, 2, 4)),
            3.0,
            None,
            "abc",
            [["a", "b", "c"]],
            np.full((1, 3), np.nan),
            np.full((1, 3), 1e91),
            np.zeros((2, 3), complex),
            [[1, 2, 3], [1, 2]],
        ):
            with self.assertRaises(ValueError, msg=repr(wrong)):
                self.mesh.nearest(wrong)
        v, f = self.mesh.vertices, self.mesh.faces
        for faces in (
            f[:, :2],
            f.astype(float) + 0.5,
            -f.astype(int),
            f + 1000,
            np.zeros((0, 3), int),
            [["a"] * 3],
            f.astype(np.int64) + 2**32,
        ):
            with self.assertRaises(ValueError, msg=repr(faces)):
                abut.Mesh(v, faces)
        with self.assertRaises(ValueError):
            abut.Mesh(v[:, :2], f)
        with self.assertRaises(ValueError):
            abut.Mesh(np.zeros((0, 3)), f)

    def test_tiny_meshes_are_refused(self):
        box = abut.shape("box")
        sentence = "the longest side of the bounding box is .*; it must be 0 or at least 1e-90"
        for scale in (9e-91, 1e-100, 1e-300, 1e-320):
            tiny = box.vertices * scale
            for call in (
                lambda: abut.Mesh(tiny, box.faces),
                lambda: abut.Mesh(tiny[box.faces]),
                lambda: box.set_positions(tiny),
                lambda: abut.hull(tiny),
                lambda: abut.Motion([box]).step([tiny]),
                lambda: abut.SelfCollision(box).step(tiny),
            ):
                with self.assertRaisesRegex(abut.ArgumentError, sentence):
                    call()
            world = abut.World()
            body = world.add(box, deforms=True)
            with self.assertRaisesRegex(abut.ArgumentError, sentence):
                world.set_positions(body, tiny)
            with tempfile.TemporaryDirectory() as folder:
                path = os.path.join(folder, "tiny.obj")
                with open(path, "w") as file:
                    file.writelines(f"v {x!r} {y!r} {z!r}\n" for x, y, z in tiny.tolist())
                    file.writelines(f"f {a} {b} {c}\n" for a, b, c in (box.faces + 1).tolist())
                with self.assertRaisesRegex(abut.FormatError, sentence):
                    abut.load(path)
        self.assertEqual(box.bounds.tolist(), abut.shape("box").bounds.tolist())
        for scale in (1e-90, 0):
            abut.Mesh(box.vertices * scale, box.faces)

    def test_index_types(self):
        for kind in (np.int8, np.uint16, np.int32, np.int64, np.uint64, float):
            mesh = abut.Mesh(self.mesh.vertices, self.mesh.faces.astype(kind))
            np.testing.assert_array_equal(mesh.faces, self.mesh.faces)
        soup = abut.Mesh(self.mesh.vertices[self.mesh.faces])
        np.testing.assert_array_equal(soup.nearest(self.p).distance, self.expected)

    def test_dlpack(self):
        class Foreign:
            def __init__(self, array):
                self.array = array

            def __dlpack__(self, **options):
                return self.array.__dlpack__(**options)

            def __dlpack_device__(self):
                return self.array.__dlpack_device__()

        np.testing.assert_array_equal(self.mesh.nearest(Foreign(self.p)).distance, self.expected)

    def test_gpu_arrays_are_copied_with_one_warning(self):
        points = self.p

        class Cuda:
            __cuda_array_interface__ = {"shape": points.shape, "typestr": "<f8", "data": (16, True), "version": 3}

            def get(self):
                return points

        class Tensor:
            def __dlpack_device__(self):
                return (2, 0)

            def cpu(self):
                return points

        class Stubborn:
            __cuda_array_interface__ = Cuda.__cuda_array_interface__

        _arrays._warned = False
        with self.assertWarns(RuntimeWarning):
            np.testing.assert_array_equal(self.mesh.nearest(Cuda()).distance, self.expected)
        np.testing.assert_array_equal(self.mesh.nearest(Tensor()).distance, self.expected)  # no second warning
        with self.assertRaises(ValueError):
            self.mesh.nearest(Stubborn())

    def test_memory_of_the_mesh_outlives_it(self):
        faces = abut.shape("icosphere", segments=3).faces
        np.testing.assert_array_equal(faces, self.mesh.faces)
        with self.assertRaises(ValueError):
            faces[0, 0] = 1
        with self.assertRaises(ValueError):
            self.mesh.vertices[0, 0] = 1


class Meshes(unittest.TestCase):
    def test_vertices_keep_their_bits(self):
        v = np.random.default_rng(3).normal(size=(30, 3)) * 1e3 + 1e6
        np.testing.assert_array_equal(abut.Mesh(v, np.arange(30).reshape(-1, 3)).vertices, v)

    def test_files(self):
        mesh = abut.shape("icosphere", segments=3)
        with tempfile.TemporaryDirectory() as folder:
            for ending in ("obj", "ply", "stl", "off", "glb"):
                path = os.path.join(folder, f"ball é.{ending}")
                if ending == "glb" and "gltf" not in abut.features():
                    continue
                mesh.save(path)
                back = abut.load(path)
                self.assertEqual(back.triangle_count, mesh.triangle_count)
                self.assertTrue(back.report().is_closed, ending)
            with self.assertRaises(FileNotFoundError):
                abut.load(os.path.join(folder, "nothing.obj"))
            with self.assertRaises(OSError):
                mesh.save(os.path.join(folder, "no/folder.ply"))
            broken = os.path.join(folder, "broken.ply")
            with open(broken, "w") as file:
                file.write("ply\nformat ascii 1.0\nelement vertex 3\n")
            with self.assertRaises(abut.FormatError) as caught:
                abut.load(broken)
            self.assertIn("broken.ply", str(caught.exception))

    def test_report(self):
        sheet = abut.shape("sheet").report()
        self.assertFalse(sheet.is_closed)
        self.assertGreater(sheet.problems["boundary-edge"].count, 0)
        crossed = abut.join([abut.shape("box"), abut.shape("box").transformed([0.5, 0.1, 0.2, 0, 0, 0, 1])])
        self.assertGreater(crossed.report(self_intersections=True).self_intersection_count, 0)
        self.assertIn("triangles", repr(sheet))
        with self.assertRaises(AttributeError):
            sheet.nothing

    def test_other_meshes(self):
        box = abut.shape("box")
        soup = abut.Mesh(box.vertices[box.faces])
        self.assertTrue(soup.welded().report().is_closed)
        inward = abut.Mesh(box.vertices, box.faces[:, ::-1])
        self.assertGreater(inward.oriented().report().volume, 0)
        self.assertAlmostEqual(box.transformed(scale=2).report().volume, 8)
        self.assertEqual(abut.hull(box.vertices).report().is_closed, True)
        with self.assertRaises(ValueError):
            abut.hull([[0, 0, 0], [1, 0, 0], [0, 1, 0]])

    def test_copies(self):
        mesh = abut.shape("icosphere", segments=3).prepare()
        for twin in (pickle.loads(pickle.dumps(mesh)), copy.deepcopy(mesh)):
            np.testing.assert_array_equal(twin.vertices, mesh.vertices)
            self.assertEqual(twin.inside([0, 0, 0]), True)

    def test_other_packages(self):
        mesh = abut.shape("icosphere", segments=3)

        class Trimesh:
            vertices, faces = mesh.vertices, mesh.faces.astype(np.int64)

        class Scene:
            def to_mesh(self):
                return Trimesh()

        class Open3d:
            vertices, triangles = mesh.vertices, mesh.faces.astype(np.int32)

        for made in (
            abut.Mesh.from_trimesh(Trimesh()),
            abut.Mesh.from_trimesh(Scene()),
            abut.Mesh.from_open3d(Open3d()),
        ):
            np.testing.assert_array_equal(made.faces, mesh.faces)
