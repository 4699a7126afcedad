"""What users of numpy and trimesh expect: broadcasting, scalars, meshes of other packages, errors in terms of Python."""

import errno
import os
import tempfile
import unittest

import numpy as np

import abut
import referee
from abut import _arrays


class Numpy(unittest.TestCase):
    def setUp(self):
        self.mesh, self.box = abut.shape("torus", segments=16, rings=8), abut.shape("box", size=0.4)

    def test_points_of_any_shape(self):
        """Such as those of a depth image."""
        flat = np.random.default_rng(1).uniform(-1, 1, (6, 3))
        image = flat.reshape(2, 3, 3)
        for name in ("signed_distance", "inside", "winding"):
            found = getattr(self.mesh, name)(image)
            self.assertEqual(found.shape, (2, 3))
            np.testing.assert_array_equal(found.ravel(), getattr(self.mesh, name)(flat))
        near = self.mesh.nearest(image)
        self.assertEqual((near.distance.shape, near.point.shape), ((2, 3), (2, 3, 3)))
        np.testing.assert_array_equal(near.point.reshape(-1, 3), self.mesh.nearest(flat).point)
        hits = self.mesh.ray(image, [0, 0, 1])
        self.assertEqual(hits.hit.shape, (2, 3))
        np.testing.assert_array_equal(hits.parameter.ravel(), self.mesh.ray(flat, [0, 0, 1]).parameter)
        value, gradient = abut.Field(self.mesh, cells=8).evaluate(image)
        self.assertEqual((value.shape, gradient.shape), ((2, 3), (2, 3, 3)))

    def test_one_row_stands_for_all(self):
        rng = np.random.default_rng(2)
        short, long = referee.poses(rng, 4, 0.5)
        for first, second in ((short[:1], short), (short, short[:1]), (long[:1], short), (short[0], long)):
            found = abut.overlap(self.mesh, self.box, pose_a=first, pose_b=second)
            self.assertEqual(found.shape, (4,))
        np.testing.assert_array_equal(
            abut.distance(self.mesh, self.box, short[:1], short).distance,
            [abut.distance(self.mesh, self.box, short[0], each).distance for each in short],
        )
        self.assertEqual(abut.overlap(self.mesh, self.box, pose_b=short[:1]).shape, (1,))
        o, d = rng.normal(size=(5, 3)), np.array([[0, 0, 1.0]])
        np.testing.assert_array_equal(self.mesh.ray(o, d).parameter, self.mesh.ray(o, d[0]).parameter)
        np.testing.assert_array_equal(self.mesh.ray(o[:1], o).parameter, self.mesh.ray(o[0], o).parameter)
        with self.assertRaisesRegex(ValueError, "do not go together"):
            self.mesh.ray(o[:2], o)
        with self.assertRaises(ValueError):
            abut.overlap(self.mesh, self.box, pose_a=short[:2], pose_b=short)

    def test_one_question_has_one_answer(self):
        p = [0.5, 0, 0]
        for found in (
            self.mesh.inside(p),
            self.mesh.ray_any(p, [0, 0, 1]),
            self.mesh.ray(p, [0, 0, 1]).hit,
            abut.overlap(self.mesh, self.box),
            abut.within(self.mesh, self.box, 1),
            abut.sweep(self.mesh, self.box, path_b=([0, 0, 3], [0, 0, 0])).hit,
        ):
            self.assertIs(type(found), bool)
        for found in (
            self.mesh.signed_distance(p),
            self.mesh.winding(p),
            self.mesh.nearest(p).distance,
            abut.distance(self.mesh, self.box).distance,
        ):
            self.assertIsInstance(found, float)
        self.assertIs(type(self.mesh.nearest(p).triangle), int)
        for found in (abut.relation(self.mesh, self.box), abut.distance(self.mesh, self.box).relation):
            self.assertIs(type(found), str)

    def test_one_pose_is_as_many(self):
        """The quick way for one pose has the bits of the other."""
        short, long = referee.poses(np.random.default_rng(3), 20, 0.9)
        for i in range(20):
            for one, many in ((short[i], short[i : i + 1]), (long[i], long[i : i + 1]), (long[i, :3], long[i : i + 1])):
                array, single = _arrays.poses(many, "many")
                self.assertFalse(single)
                self.assertEqual(list(_arrays.one_pose(one, "one")), array[0].tolist())
                self.assertEqual(list(_arrays.one_pose(one.tolist(), "one")), array[0].tolist())
            a, b = abut.distance(self.mesh, self.box, pose_b=long[i]), abut.distance(self.mesh, self.box, pose_b=long)
            self.assertEqual(a.distance, b.distance[i])
        for wrong in (2 * np.eye(4), np.diag([1, 1, -1, 1.0]), np.full((4, 4), np.nan), np.ones((4, 4))):
            for given in (wrong, wrong[None]):
                with self.assertRaisesRegex(ValueError, "pose_b: matrix 0.*transformed"):
                    abut.overlap(self.mesh, self.box, pose_b=given)
        bad = np.tile(np.eye(4), (3, 1, 1))
        bad[2, 3, 0] = 0.5
        with self.assertRaisesRegex(ValueError, "matrix 2: the fourth row"):
            abut.overlap(self.mesh, self.box, pose_b=bad)

    def test_translations_alone(self):
        shifts = np.random.default_rng(5).normal(0, 0.5, (6, 3))
        full = np.hstack([shifts, np.tile([0, 0, 0, 1.0], (6, 1))])
        for count in (0, 1, 3, 6):
            np.testing.assert_array_equal(
                abut.distance(self.mesh, self.box, pose_b=shifts[:count]).distance,
                abut.distance(self.mesh, self.box, pose_b=full[:count]).distance,
            )
        self.assertEqual(len(abut.interfere([self.mesh, self.box], [[0, 0, 0], [9, 0, 0]])), 0)
        world = abut.World()
        world.add(self.mesh), world.add(self.box)
        self.assertEqual(len(world.step([[0, 0, 0], [9, 0, 0]]).pairs), 0)
        manager = abut.CollisionManager()
        manager.add_object("mesh", self.mesh), manager.add_object("box", self.box)
        for grid, names in ((shifts[:, None], ["box"]), (shifts.reshape(3, 2, 3), None)):
            np.testing.assert_array_equal(
                manager.min_distance_many(grid, names),
                manager.min_distance_many(full.reshape(*grid.shape[:2], 7), names),
            )
        with self.assertRaisesRegex(ValueError, r"pose_b of shape \(3, 3\) is a rotation matrix"):
            abut.overlap(self.mesh, self.box, pose_b=np.eye(3)[[1, 2, 0]])
        with self.assertRaisesRegex(ValueError, r"\(3,\) or \(k, 3\).*not \(2, 5\)"):
            abut.overlap(self.mesh, self.box, pose_b=np.zeros((2, 5)))

    def test_masks_are_refused(self):
        masked = np.ma.masked_array(np.zeros((2, 3)), mask=[[0, 0, 0], [1, 1, 1]])
        with self.assertRaisesRegex(ValueError, "points.*masked"):
            self.mesh.nearest(masked)
        with self.assertRaisesRegex(ValueError, "masked"):
            abut.Mesh(np.eye(3), np.ma.masked_array([[0, 1, 2], [0, 1, 2]], mask=[[0, 0, 0], [1, 1, 1]]))
        self.assertEqual(len(self.mesh.nearest(np.ma.masked_array(np.zeros((2, 3)))).distance), 2)

    def test_a_device_of_dlpack_that_is_an_enum(self):
        class Kind:
            value = 1

        class Tensor:
            def __init__(self, array):
                self._array = array

            def __dlpack_device__(self):
                return Kind(), 0

            def __dlpack__(self, **how):
                return self._array.__dlpack__()

        p = np.random.default_rng(1).uniform(-1, 1, (4, 3))
        np.testing.assert_array_equal(self.mesh.nearest(Tensor(p)).distance, self.mesh.nearest(p).distance)

    def test_contacts_have_attributes(self):
        found = abut.contacts(self.box, self.box, pose_b=[0, 0, 0.35])
        self.assertEqual(found[0].depth, found.depth[0])
        self.assertEqual(found[0]["depth"], found.depth[0])
        self.assertEqual([each.depth for each in found], found.depth.tolist())
        np.testing.assert_array_equal(found[1:].point, found.point[1:])

    def test_contacts_of_worlds_have_attributes(self):
        world = abut.World()
        world.add(self.box), world.add(self.box, [0, 0, 0.35])
        (pair,) = step = world.step()
        self.assertEqual([each.id for each in pair.contacts], step.id.tolist())
        np.testing.assert_array_equal(pair.contacts.point, step.point)
        self.assertIs(type(pair.contacts["depth"]), np.ndarray)


class Meshes(unittest.TestCase):
    class Alike:
        """What trimesh.Trimesh has in common with others."""

        def __init__(self, mesh):
            self.vertices, self.faces = np.array(mesh.vertices), np.array(mesh.faces, np.int64)

    class Scene:
        geometry = {}

    def test_meshes_of_others_are_taken_everywhere(self):
        box = abut.shape("box")
        alike = self.Alike(box)
        self.assertEqual(abut.Mesh(alike).triangle_count, box.triangle_count)
        self.assertTrue(abut.overlap(alike, box))
        self.assertEqual(abut.distance(box, alike, pose_b=[3, 0, 0]).distance, 2)
        world = abut.World()
        world.add(alike), world.add(abut.Hull(alike), [0.5, 0, 0])
        self.assertEqual(len(world.step().pairs), 1)
        self.assertEqual(len(abut.interfere([alike, alike])), 1)
        self.assertEqual(abut.Field(alike, cells=8).shape, abut.Field(box, cells=8).shape)
        self.assertEqual(abut.DistanceMap(alike, 64).compute_distance(alike).shape, (64, 64))
        self.assertIn("2 meshes", repr(abut.Motion([alike, box])))
        self.assertIn("vertices", repr(abut.SelfCollision(alike)))
        self.assertEqual(abut.join([alike, box]).triangle_count, 2 * box.triangle_count)
        self.assertTrue(abut.CollisionManager().add_object("a", alike))
        for wrong in (
            lambda: abut.overlap(self.Scene(), box),
            lambda: abut.CollisionManager().add_object("a", self.Scene()),
        ):
            with self.assertRaisesRegex((TypeError, ValueError), "from_trimesh.*scene"):
                wrong()

    def test_hulls_of_meshes(self):
        box = abut.shape("box", segments=2)
        for given in (box, self.Alike(box), box.vertices):
            self.assertEqual(abut.hull(given).report().volume, 1)

    def test_faces_are_not_left_out_by_mistake(self):
        box = abut.shape("box")
        self.assertEqual(abut.Mesh(box.vertices[box.faces]).triangle_count, box.triangle_count)
        for wrong in (lambda: abut.Mesh(np.zeros((9, 3))), lambda: abut.Mesh(box.vertices[box.faces], box.faces)):
            with self.assertRaisesRegex(ValueError, "faces"):
                wrong()

    def test_maps_of_large_meshes(self):
        """The default resolution has room for every triangle."""
        mesh = abut.shape("torus", segments=600, rings=250)
        self.assertGreater(mesh.triangle_count, 512 * 512)
        self.assertGreater(abut.DistanceMap(mesh).resolution, 512)
        self.assertEqual(abut.DistanceMap(abut.shape("box")).resolution, 512)


class Errors(unittest.TestCase):
    def test_files(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "nothing.ply")
            with self.assertRaises(FileNotFoundError) as caught:
                abut.load(path)
            self.assertEqual((caught.exception.errno, caught.exception.filename), (errno.ENOENT, path))
            self.assertIsInstance(caught.exception, abut.MissingFileError)
            self.assertIn("nothing.ply", str(caught.exception))
            with self.assertRaises(OSError) as caught:
                abut.shape("box").save(os.path.join(folder, "no", "such", "box.ply"))
            self.assertEqual(caught.exception.filename, os.path.join(folder, "no", "such", "box.ply"))

    def test_sentences_speak_python(self):
        box, sheet = abut.shape("box"), abut.shape("sheet")
        world = abut.World()
        rigid = world.add(box)
        for wrong, kind, words in (
            (lambda: box.nearest([0, 0, 0], radius="a"), TypeError, "radius must be a number, not 'a'"),
            (lambda: box.transformed(scale=[1, 2, 3]), TypeError, "scale must be a number, not [1, 2, 3]"),
            (lambda: abut.World(margin="wide"), TypeError, "margin must be a number, not 'wide'"),
            (lambda: abut.within(box, box, "near"), TypeError, "margin must be a number, not 'near'"),
            (lambda: box.nearest([0, 0, 0], radius=-1), ValueError, "infinity"),
            (lambda: abut.Motion([box]).earliest(), ValueError, "call step() first"),
            (lambda: abut.interfere([box, sheet]), ValueError, "meshes[1]: the mesh has "),
            (lambda: abut.interfere([sheet, sheet]), ValueError, "set cap=True"),
            (lambda: world.remove(77), ValueError, "there is no body 77"),
            (lambda: world.pair_info(rigid, rigid), ValueError, "; they must be two bodies"),
            (lambda: world.step(np.zeros((2, 3))), ValueError, "2 poses, but the world has only 1 bodies"),
            (lambda: abut.Layers().remove(77), ValueError, "id 77 is not a solid"),
            (lambda: world.set_positions(rigid, box.vertices), ValueError, "deforms=True"),
            (lambda: abut.World(max_contacts=99), ValueError, "max_contacts is 99, but must be from 0 to 8"),
            (lambda: abut.World(max_contacts=9), ValueError, "max_contacts"),
            (lambda: abut.hull("box.obj"), ValueError, "points must be numbers, not 'box.obj'"),
            (lambda: box.nearest([object()]), ValueError, "points must be numbers, not of type list"),
            (lambda: world.add(abut.Sphere("a")), TypeError, "radius must be a number, not 'a'"),
            (lambda: world.add(abut.Capsule([0, 0, 0], [1, 0, 0], -2)), ValueError, "radius is -2; it must be from 0"),
            (lambda: world.add(abut.Box([1, -3, 1])), ValueError, "size is -3; it must be from 0 to 1e+90 units"),
            (lambda: world.add(abut.Plane(offset=None)), TypeError, "offset must be a number, not None"),
        ):
            with self.assertRaises(kind) as caught:
                wrong()
            text = str(caught.exception)
            self.assertIn(words, text)
            for word in ("abut_", "HUGE_VAL", "->", "shape.mesh", "argument 3"):
                self.assertNotIn(word, text)

    def test_representations(self):
        box = abut.shape("box")
        manager = abut.CollisionManager()
        manager.add_object("a", box)
        self.assertEqual(repr(manager), "<abut.CollisionManager of 1 objects>")
        self.assertEqual(len(manager), 1)
        self.assertEqual(repr(abut.Motion([box, box])), f"<abut.Motion of 2 meshes, {2 * box.vertex_count} vertices>")
        self.assertEqual(repr(abut.SelfCollision(box)), f"<abut.SelfCollision of {box.vertex_count} vertices>")
        self.assertIsNone(abut.SelfCollision(box).ghosts())
        ghosts = abut.SelfCollision(abut.shape("sheet", segments=3, rings=2)).ghosts()
        self.assertEqual((ghosts.triangle_count, ghosts.vertex_count), (10, 11))

    def test_everything_public_has_a_docstring(self):
        for kind in (
            abut.CollisionManager,
            abut.Mesh,
            abut.World,
            abut.RayHits,
            abut.Step,
            abut.DistanceMap,
            abut.Motion,
        ):
            for name, value in vars(kind).items():
                if not name.startswith("_") and (callable(value) or isinstance(value, (property, classmethod))):
                    self.assertTrue(value.__doc__, f"{kind.__name__}.{name}")

    def test_the_cpu_is_no_device(self):
        box = abut.shape("box")
        self.assertEqual(box.nearest([2, 0, 0], device="cpu").distance, 1.5)
        self.assertEqual(abut.Mesh(box.vertices, box.faces, device="cpu").nearest([2, 0, 0]).distance, 1.5)
        self.assertTrue(abut.overlap(box, box, device="cpu"))
        with self.assertRaisesRegex(ValueError, "opencl-cpu"):
            abut.Device("cpu")
