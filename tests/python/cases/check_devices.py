"""Every call that takes device= gives the CPU's answers there: ABUT_TEST_DEVICE, by default PoCL."""

import os
import unittest

import numpy as np

import abut
import referee

DEVICE = os.environ.get("ABUT_TEST_DEVICE", "cpu")
FOUND = any(device["kind"] == DEVICE or DEVICE not in ("cpu", "gpu") for device in abut.devices())
DEVICE = "opencl-cpu" if DEVICE == "cpu" else DEVICE  # "cpu" is the library without a device


@unittest.skipUnless(FOUND, f"no OpenCL device {DEVICE!r}, such as PoCL")
class Devices(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.mesh, cls.box = abut.shape("torus", segments=24, rings=12), abut.shape("box", size=0.4, segments=2)
        cls.there = abut.Mesh(cls.mesh.vertices, cls.mesh.faces, device=DEVICE)
        rng = np.random.default_rng(8)
        cls.p, cls.d = rng.uniform(-1, 1, (300, 3)), rng.normal(size=(300, 3))
        cls.poses = referee.poses(rng, 40, 0.8)[0]

    def same(self, here, there):
        if isinstance(here, (tuple, list)):
            self.assertEqual(len(here), len(there))
            for a, b in zip(here, there):
                self.same(a, b)
        else:
            np.testing.assert_array_equal(here, there)

    def test_points_and_rays(self):
        for name, arguments in (
            ("nearest", (self.p,)),
            ("signed_distance", (self.p,)),
            ("inside", (self.p,)),
            ("winding", (self.p,)),
            ("ray", (self.p, self.d)),
            ("ray_any", (self.p, self.d)),
            ("ray_all", (self.p, self.d)),
        ):
            with self.subTest(name):
                expected = getattr(self.mesh, name)(*arguments)
                self.same(expected, getattr(self.mesh, name)(*arguments, device=DEVICE))
                self.same(expected, getattr(self.there, name)(*arguments))

    def test_pairs(self):
        for call in (abut.relation, abut.overlap, abut.distance, abut.contacts):
            with self.subTest(call.__name__):
                answers = [
                    call(self.mesh, self.box, pose_b=self.poses),
                    call(self.mesh, self.box, pose_b=self.poses, device=DEVICE),
                    call(self.there, self.box, pose_b=self.poses),
                ]
                if call is abut.distance:  # poses that touch have the same witnesses too
                    self.assertTrue((answers[0].distance == 0).sum() > 5)
                if call is abut.contacts:
                    answers = [(found.point, found.depth, found.offsets) for found in answers]
                self.same(answers[0], answers[1])
                self.same(answers[0], answers[2])
        self.same(
            abut.within(self.mesh, self.box, 0.1, pose_b=self.poses),
            abut.within(self.mesh, self.box, 0.1, pose_b=self.poses, device=DEVICE),
        )
        path = (self.poses[:5] + (9, 0, 0, 0, 0, 0, 0), self.poses[:5])
        for found in (
            abut.sweep(self.mesh, self.box, path_b=path, device=DEVICE),
            abut.sweep(self.there, self.box, path_b=path),
        ):
            self.same(abut.sweep(self.mesh, self.box, path_b=path), found)

    def test_what_the_cpu_does(self):
        """A mesh that lives on a device also answers queries that run without a device."""
        for query in (
            lambda mesh: mesh.thickness(),
            lambda mesh: mesh.report(True).volume,
            lambda mesh: len(mesh.self_intersections()),
            lambda mesh: mesh.inside_reliability(),
            lambda mesh: abut.intersection(mesh, self.box, pose_b=self.poses[0]).volume,
            lambda mesh: abut.hausdorff(mesh, self.box),
            lambda mesh: len(abut.Motion([mesh, self.box]).step([mesh.vertices, self.box.vertices]).all()),
        ):
            self.assertEqual(query(self.mesh), query(self.there))
        answers = []
        for mesh in (self.mesh, self.there):
            manager = abut.CollisionManager()
            manager.add_object("ring", mesh)
            answers.append(
                (
                    manager.in_collision_single(self.box, self.poses[0]),
                    manager.min_distance_single(self.box, self.poses[1]),
                )
            )
        self.assertEqual(answers[0], answers[1])

    def test_fields(self):
        for how in (dict(), dict(layout="sparse", band=0.1)):
            expected = abut.Field(self.mesh, cells=24, **how)
            for found in (
                abut.Field(self.mesh, cells=24, device=DEVICE, **how),
                abut.Field(self.there, cells=24, **how),
            ):
                self.same(expected.array, found.array)
                self.same(expected.evaluate(self.p), found.evaluate(self.p))
                self.same(expected.surface().vertices, found.surface().vertices)

    def test_set_positions(self):
        moved = self.mesh.vertices * (1, 1.1, 0.9)
        there = abut.Mesh(self.mesh.vertices, self.mesh.faces, device=DEVICE).prepare().set_positions(moved)
        self.same(abut.Mesh(moved, self.mesh.faces).nearest(self.p), there.nearest(self.p))

    def test_steps(self):
        end = np.concatenate([self.mesh.vertices, self.box.vertices + (0.1, 0.3, 0)])
        answers = []
        for device in (None, DEVICE):
            motion = abut.Motion([self.mesh, self.box], device=device).step(end)
            earliest = motion.earliest()
            answers.append((earliest.time, earliest.kind, earliest.element, motion.all().tobytes()))
        self.assertEqual(answers[0], answers[1])
        sheet = abut.shape("sheet", segments=10, rings=10)
        end = sheet.vertices + np.random.default_rng(1).normal(scale=0.1, size=sheet.vertices.shape)
        times = [abut.SelfCollision(sheet, device=device).step(end).impact.time for device in (None, DEVICE)]
        self.assertEqual(times[0], times[1])

    def test_solids(self):
        meshes = [self.mesh, self.box] * 5
        for method in ("images", "exact", "volume"):
            here, there = (
                abut.interfere(meshes, self.poses[:10], method=method, resolution=256, device=device)
                for device in (None, DEVICE)
            )
            self.same(here.pairs, there.pairs)
            self.same(here.depth, there.depth)

    def test_maps(self):
        for other in (self.box, abut.Mesh(self.box.vertices, self.box.faces, device=DEVICE)):
            here, there = (
                abut.DistanceMap(self.mesh, resolution=64, device=device).compute_distance([other], [self.poses[0]])
                for device in (None, DEVICE)
            )
            self.same(here, there)

    def test_characters(self):
        figure = referee.figure()
        start = np.random.default_rng(2).normal(size=(100, 3)) * 0.1 + (0, 1, 2)
        answers = []
        for device in (None, DEVICE):
            fields = abut.RadialField(figure, cell=0.05, device=device).set_pose(figure.pose("walk", 0.2))
            answers.append((fields.evaluate(self.p + (0, 1, 0)), fields.collide(start, start - (0, 0, 4)).position))
        self.same(answers[0], answers[1])

    def test_worlds(self):
        answers = []
        for device in (None, DEVICE):
            world = abut.World(device=device)
            for i in range(10):
                world.add((self.mesh, self.box)[i % 2], self.poses[i], method="field", resolution=24)
            step = world.step()
            answers.append((step.pairs, step.point, step.depth, step.id))
        self.assertGreater(len(answers[0][1]), 20)
        self.same(answers[0], answers[1])
