"""Fields, motions, maps, characters and radial fields."""

import os
import tempfile
import unittest

import numpy as np

import abut
import referee


class Fields(unittest.TestCase):
    def setUp(self):
        self.mesh = abut.shape("torus", segments=24, rings=12)
        self.field = abut.Field(self.mesh, cells=24)

    def centres(self):
        z, y, x = np.indices(self.field.shape)
        return self.field.origin + self.field.cell * np.stack([x, y, z], axis=-1).reshape(-1, 3)

    def test_values_are_distances(self):
        array = self.field.array
        np.testing.assert_array_equal(array.ravel(), self.mesh.signed_distance(self.centres()).astype(np.float32))
        at = self.field.evaluate(self.centres())
        np.testing.assert_allclose(at.value, array.ravel(), atol=1e-6)
        self.assertEqual(self.field.evaluate([0, 0, 0]).gradient.shape, (3,))

    def test_between_cells(self):
        p = np.random.default_rng(1).uniform(-1, 1, (500, 3)) * 0.9 * self.mesh.bounds[1]
        self.assertLess(np.abs(self.field.evaluate(p).value - self.mesh.signed_distance(p)).max(), self.field.cell)
        cubic = self.field.evaluate(p, interpolation="cubic").value
        self.assertLess(np.abs(cubic - self.mesh.signed_distance(p)).mean(), self.field.cell / 10)

    def test_gradient(self):
        p, step = np.random.default_rng(2).uniform(-1, 1, (200, 3)) * 0.9 * self.mesh.bounds[1], 1e-4
        for axis in range(3):
            shift = np.eye(3)[axis] * step
            slope = (self.field.evaluate(p + shift).value - self.field.evaluate(p - shift).value) / (2 * step)
            off = np.abs(slope - self.field.evaluate(p).gradient[:, axis])
            self.assertLess(np.median(off), 1e-3)

    def test_surface(self):
        surface = self.field.surface()
        self.assertTrue(surface.report().is_closed)
        self.assertLess(np.abs(self.mesh.signed_distance(surface.vertices)).max(), self.field.cell)
        with self.assertRaises(ValueError):
            self.field.surface(100)
        with self.assertRaisesRegex(ValueError, "margin of at least"):
            self.field.surface(3 * self.field.cell)

    def test_offset(self):
        for distance in (0.05, 0.4, -0.03, 0):
            surface = self.mesh.offset(distance, cells=48)
            self.assertTrue(surface.report().is_closed)
            off = np.abs(self.mesh.signed_distance(surface.vertices) - distance)
            self.assertLess(off.max(), 0.03)
        self.assertTrue(self.mesh.offset(0.1, cell=0.05).report().is_closed)
        with self.assertRaises(ValueError):
            self.mesh.offset(-5)

    def test_files_and_layouts(self):
        sparse = abut.Field(self.mesh, cells=48, layout="sparse", type="int16")
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "torus.abutf")
            sparse.save(path)
            np.testing.assert_array_equal(abut.Field.load(path).array, sparse.array)
            self.field.save(os.path.join(folder, "torus.npy"))
            np.testing.assert_array_equal(np.load(os.path.join(folder, "torus.npy")), self.field.array)
            with self.assertRaises(FileNotFoundError):
                abut.Field.load(os.path.join(folder, "no.abutf"))
            cached = [abut.Field(self.mesh, cells=24, cache=folder).array for _ in range(2)]
            np.testing.assert_array_equal(cached[0], cached[1])

    def test_from_array_and_combine(self):
        twin = abut.Field.from_array(self.field.array, self.field.origin, self.field.cell)
        p = np.random.default_rng(3).uniform(-0.4, 0.4, (50, 3))
        np.testing.assert_array_equal(twin.evaluate(p).value, self.field.evaluate(p).value)
        turned = abut.Field.from_array(-self.field.array, self.field.origin, self.field.cell)
        self.assertTrue((self.field.combine(turned, "union").array <= 0).all())
        with self.assertRaises(ValueError):
            abut.Field.from_array(np.zeros((3, 3)))

    def test_update(self):
        mesh = abut.shape("torus", segments=24, rings=12)
        mesh.set_positions(mesh.vertices * (1, 1, 0.8))
        self.assertGreater(self.field.set_mesh(mesh), 0)
        np.testing.assert_array_equal(self.field.array.ravel(), mesh.signed_distance(self.centres()).astype(np.float32))


class Motions(unittest.TestCase):
    def test_a_falling_box(self):
        box, floor = abut.shape("box", segments=1), abut.shape("box", size=(4, 4, 1), segments=1)
        high = box.vertices + (0, 0, 3)
        motion = abut.Motion([abut.Mesh(high, box.faces), floor])
        low = high - (0, 0, 4)
        impact = motion.step([low, floor.vertices]).earliest()
        self.assertAlmostEqual(impact.time, 0.5, places=6)
        self.assertLessEqual(impact.time, 0.5)
        self.assertAlmostEqual(abs(impact.normal[2]), 1)
        every = motion.all()
        self.assertGreaterEqual(len(every), 4)
        self.assertEqual(every["time"].min(), impact.time)
        self.assertTrue(motion.any())
        still = motion.step(np.concatenate([high, floor.vertices]), start=np.concatenate([high, floor.vertices]))
        self.assertIsNone(still.earliest())
        self.assertFalse(still.any())
        self.assertEqual(len(still.all()), 0)
        self.assertIsNotNone(still.earliest(separation=2.1))

    def test_more_impacts_than_room(self):
        sheet = abut.shape("sheet", segments=20, rings=20)
        motion = abut.Motion([sheet, sheet.transformed([0, 0, 1, 0, 0, 0, 1])])
        self.assertGreater(len(motion.step([sheet.vertices, sheet.vertices]).all()), 1024)

    def test_wrong(self):
        motion = abut.Motion(abut.shape("box"))
        for wrong in (np.zeros((3, 3)), np.full_like(abut.shape("box").vertices, np.nan)):
            with self.assertRaises(ValueError):
                motion.step(wrong)
        with self.assertRaises(ValueError):
            abut.Motion([])


class Maps(unittest.TestCase):
    def test_distances(self):
        mesh, other = abut.shape("box"), abut.shape("icosphere", segments=6)
        made = abut.DistanceMap(mesh, resolution=64)
        found = made.compute_distance([other], [[1.5, 0, 0, 0, 0, 0, 1]])
        self.assertEqual(found.shape, (64, 64))
        self.assertEqual(np.isfinite(found).sum(), made.sample_count)
        exact = made.measure(within=0.6, quantiles=(0, 0.5, 1), exact=True)
        self.assertAlmostEqual(
            exact.min, abut.distance(mesh, other, pose_b=[1.5, 0, 0, 0, 0, 0, 1]).distance, places=12
        )
        self.assertTrue((np.diff(exact.quantiles) >= 0).all() and exact.within_area > 0)
        rough = made.measure()
        self.assertTrue(exact.min <= rough.min <= exact.min + made.reach)
        inside = made.compute_distance(abut.shape("box", size=0.5))
        self.assertTrue((inside[np.isfinite(inside)] > 0).all())
        deep = made.compute_distance(abut.shape("box", size=2))
        self.assertTrue((deep[np.isfinite(deep)] < 0).all())
        touching = made.compute_distance(abut.shape("box"), [[0.9, 0, 0, 0, 0, 0, 1]])
        self.assertGreater(len(made.contacts()), 0)
        self.assertEqual(made.texels["other"][np.isfinite(touching)].max(), 0)

    def test_precision(self):
        mesh = abut.shape("icosphere", segments=6)
        made, finer = abut.DistanceMap(mesh, precision=0.02), abut.DistanceMap(mesh, precision=0.01)
        self.assertTrue(0.015 < made.reach <= 0.02 and 0.0075 < finer.reach <= 0.01)
        self.assertGreater(finer.resolution, made.resolution)
        with self.assertRaisesRegex(ValueError, "set only one"):
            abut.DistanceMap(mesh, 64, precision=0.02)

    def test_texture_coordinates(self):
        mesh = abut.shape("sheet", segments=4, rings=4)
        low, high = mesh.vertices.min(axis=0), mesh.vertices.max(axis=0)
        uv = ((mesh.vertices - low)[:, :2] / (high - low)[:2])[mesh.faces]
        made = abut.DistanceMap(mesh, 48, uv=uv)
        self.assertEqual((made.uses_uv, made.sample_count), (True, 48 * 48))
        found = made.compute_distance(abut.shape("box"), [[0, 0, 2, 0, 0, 0, 1]])
        across = (np.arange(48) + 0.5) / 48 * (high - low)[0] + low[0]
        expected = np.hypot(np.maximum(np.abs(across) - 0.5, 0), 1.5)
        self.assertLess(np.abs(found[24] - expected).max(), 1e-6)
        self.assertIsNone(mesh.uv)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.obj")
            with open(path, "w") as file:
                file.write("v 0 0 0\nv 4 0 0\nv 0 4 0\nvt 0 0\nvt 1 0\nvt 0 1\nf 1/1 2/2 3/3\n")
            textured = abut.load(path, uv=True)
            self.assertEqual(textured.uv.tolist(), [[[0, 1], [1, 1], [0, 0]]])
            self.assertTrue(abut.DistanceMap(textured, 32, uv=textured.uv).uses_uv)
            self.assertIsNone(abut.load(path).uv)
        with self.assertRaisesRegex(ValueError, "overlap in the texture"):
            abut.DistanceMap(mesh, 48, uv=np.abs(uv - 0.5))
        self.assertFalse(abut.DistanceMap(mesh, 48, uv=np.abs(uv - 0.5), uv_fallback=True).uses_uv)
        with self.assertRaisesRegex(ValueError, "must be"):
            abut.DistanceMap(mesh, 48, uv=uv[1:])

    def test_depth(self):
        made = abut.DistanceMap(abut.shape("box"), 128)
        made.compute_distance(abut.shape("box"), [[0.9, 0, 0, 0, 0, 0, 1]])
        depth = made.measure_depth()
        self.assertTrue(0.09 < depth.lower <= 0.1 <= depth.upper <= depth.lower + made.reach + 1e-6)
        self.assertTrue(depth.shift_lower <= 0.1 <= depth.shift_upper < 0.1 + 1e-9)
        self.assertLess(np.abs(depth.shift - [-0.1, 0, 0]).max(), 1e-9)
        with self.assertRaises(ValueError):
            made.measure_depth(1)

    def test_exact_measures(self):
        mesh, other = abut.shape("icosphere", segments=6), abut.shape("box")
        made = abut.DistanceMap(mesh, resolution=64)
        made.compute_distance([other], [[0.7, 0.1, 0, 0, 0, 0, 1]])  # they overlap
        exact, rough = made.measure(exact=True), made.measure()
        self.assertTrue(exact.min < 0)
        self.assertEqual((exact.min, exact.min_error), (rough.min, rough.min_error))
        self.assertTrue(exact.min_error > 0)
        made.compute_distance([other], [[2, 0, 0, 0, 0, 0, 1]])
        self.assertEqual(made.measure(exact=True).min_error, 0)
        other.set_positions(other.vertices + [0.1, 0, 0])
        with self.assertRaisesRegex(ValueError, "refitted"):
            made.measure(exact=True)
        made.measure()
        with self.assertRaisesRegex(ValueError, "1e-30"):
            abut.DistanceMap(abut.shape("box", size=1e-40))
        with self.assertRaisesRegex(ValueError, "1e\\+30"):
            abut.DistanceMap(abut.shape("box", size=1e40))

    def test_thickness_and_self(self):
        made = abut.DistanceMap(abut.shape("box", size=(1, 1, 0.1)), resolution=64)
        thick = made.compute_thickness()
        self.assertAlmostEqual(float(np.nanmin(thick)), 0.1, places=6)
        self.assertTrue((made.compute_self_distance()[np.isfinite(thick)] > 0).any())
        with self.assertRaises(ValueError):
            made.compute_thickness("depth")

    def test_wrong(self):
        with self.assertRaises(OverflowError):
            abut.DistanceMap(abut.shape("icosphere", segments=20), resolution=8)
        made = abut.DistanceMap(abut.shape("box"), resolution=64)
        with self.assertRaises(ValueError):
            made.distances
        with self.assertRaises(ValueError):
            made.compute_distance([abut.shape("box")], [])


class Characters(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.figure = referee.figure()

    def test_skin(self):
        rest = self.figure.mesh()
        np.testing.assert_allclose(self.figure.skin(self.figure.pose()), rest.vertices, atol=1e-12)
        walk = self.figure.pose("walk", 0.3)
        self.assertEqual(walk.shape, (self.figure.bone_count, 3, 4))
        self.assertGreater(np.abs(self.figure.skin(walk) - rest.vertices).max(), 0.05)
        moved = walk.copy()
        moved[:, :, 3] += (1, 2, 3)
        np.testing.assert_allclose(self.figure.skin(moved), self.figure.skin(walk) + (1, 2, 3), atol=1e-12)
        np.testing.assert_array_equal(self.figure.pose("walk", 0.3 + self.figure.durations[0]).round(9), walk.round(9))
        self.assertTrue(rest.report().is_closed)

    def test_wrong(self):
        for wrong in (
            lambda: self.figure.pose("swim"),
            lambda: self.figure.pose(99),
            lambda: self.figure.skin(np.eye(4)),
            lambda: abut.Character.figure("elf"),
            lambda: self.figure.skin(self.figure.pose(), "bent"),
        ):
            with self.assertRaises(ValueError):
                wrong()
        with self.assertRaises(FileNotFoundError):
            abut.Character("/nothing.glb")

    def test_parts(self):
        figure = self.figure
        part = figure.without("Neck", figure.bones.index("LeftHand"))
        self.assertLess(part.triangle_count, figure.triangle_count)
        self.assertEqual((part.bones, part.clips), (figure.bones, figure.clips))
        self.assertLess(
            part.skin(figure.pose("walk", 0.3))[:, 1].max(), figure.skin(figure.pose("walk", 0.3))[:, 1].max()
        )
        for wrong, words in (
            (("Sword",), "no bone 'Sword'"),
            ((99,), "bone is 99"),
            (("Hips",), "no triangle would remain"),
            ((["Neck", "Head"],), "a name or a number, not .*several"),
        ):
            with self.assertRaisesRegex(ValueError, words):
                figure.without(*wrong)

    def test_radial_fields(self):
        fields = abut.RadialField(self.figure)
        pose = self.figure.pose("walk", 0.2)
        fields.set_pose(pose)
        mesh = self.figure.mesh(pose)
        p = mesh.vertices[::10] + np.random.default_rng(1).normal(scale=0.1, size=mesh.vertices[::10].shape)
        off = np.abs(fields.evaluate(p).distance - mesh.signed_distance(p))
        self.assertLess(np.median(off), fields.cell)
        self.assertGreater(fields.surface().triangle_count, 1000)
        self.assertLess(fields.surface(0).triangle_count, fields.surface().triangle_count)
        start = np.random.default_rng(2).normal(size=(500, 3)) * 0.1 + (0, 1, 2)
        end = start - (0, 0, 4)
        moved = fields.collide(start, end)
        self.assertTrue(moved.hit.any() and not moved.hit.all())
        np.testing.assert_array_equal(moved.position[~moved.hit], end[~moved.hit])
        self.assertTrue((moved.position[moved.hit, 2] > end[moved.hit, 2]).all())
        for wrong in (
            lambda: fields.collide(start, end[1:]),
            lambda: fields.collide(start, end, friction=2),
            lambda: fields.set_pose(pose[1:]),
            lambda: fields.set_pose(pose, end),
        ):
            with self.assertRaises(ValueError):
                wrong()
