"""Concave meshes in MuJoCo. Skipped without the package mujoco; tests/mujoco has tests that do not need it."""

import concurrent.futures
import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import numpy as np

import abut

SOURCE = pathlib.Path(os.environ["ABUT_TEST_SOURCE"])
HAS_MUJOCO = importlib.util.find_spec("mujoco") is not None
if HAS_MUJOCO:
    import mujoco

    import abut.mujoco

    sys.path.insert(0, str(SOURCE / "examples/mujoco"))
    import scenes

RING = abut.shape("torus", radius=0.1, radius2=0.03, segments=32, rings=16)


def make(bodies, kind="mesh", mesh=RING):
    """A fixed ring about z at the origin, and other bodies."""
    xml = f"""{scenes.HEAD}<asset><mesh file="ring.obj"/></asset>
      <worldbody><geom name="ring" type="{kind}" mesh="ring"/>{bodies}</worldbody></mujoco>"""
    return mujoco.MjModel.from_xml_string(xml, {"ring.obj": scenes.obj(mesh)})


def free(geom, x=0.0, y=0.0, z=0.0, extra=""):
    return f'<body pos="{x} {y} {z}" {extra}><freejoint/><geom {geom}/></body>'


def contacts(model):
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    return data.contact


@unittest.skipUnless(HAS_MUJOCO, "the package mujoco is not installed")
class Concave(unittest.TestCase):
    def test_a_hole_is_empty(self):
        for geom in (
            'type="sphere" size=".05"',
            'type="capsule" size=".05 .1"',
            'type="cylinder" size=".05 .1"',
            'type="ellipsoid" size=".05 .06 .2"',
            'type="box" size=".04 .04 .04"',
            'type="mesh" mesh="ring" euler="0 0 0"',
        ):
            z = 0.07 if "ring" in geom else 0
            inside, on_tube = free(geom, z=z), free(geom, x=0.1)
            model = make(inside)
            self.assertGreater(len(contacts(model)), 0 if "ring" not in geom else -1, geom)
            abut.mujoco.install(model)
            self.assertEqual(len(contacts(model)), 0, geom)
            model = make(on_tube)
            abut.mujoco.install(model)
            self.assertGreater(len(contacts(model)), 0, geom)
            self.assertEqual(abut.mujoco.info(model), abut.mujoco.Info(1, 0, 0))

    def test_contacts_are_those_of_abut(self):
        model = make(free('type="mesh" mesh="ring"', z=0.059))
        abut.mujoco.install(model)
        found = contacts(model)
        self.assertEqual(len(found), mujoco.mj_maxContact(model, 0, 1, 0))
        best = abut.contacts(RING, RING, pose_a=[0, 0, 0.059])
        np.testing.assert_allclose(found.dist.min(), -best.depth.max(), atol=1e-6)
        for contact in found:
            self.assertEqual(contact.geom.tolist(), [0, 1])
            np.testing.assert_allclose(contact.frame[:3], [0, 0, 1], atol=0.01)  # from the first to the second
            np.testing.assert_allclose(
                contact.frame.reshape(3, 3) @ contact.frame.reshape(3, 3).T, np.eye(3), atol=1e-9
            )
            self.assertAlmostEqual(contact.pos[2], 0.0295, places=5)

    def test_frames_of_meshes(self):
        # MuJoCo moves a mesh to its centroid and principal axes
        part = scenes.socket(0.15, 0.051, 0.2, 0.02)
        pose = np.array([0.3, -0.2, 0.5, 0.1, 0.2, 0.3, 0.9])
        pose[3:] /= np.linalg.norm(pose[3:])
        quat = " ".join(map(str, pose[[6, 3, 4, 5]]))
        bead = [0.3, -0.25, 0.75]
        model = make(
            free('type="mesh" mesh="ring"', *pose[:3], extra=f'quat="{quat}"')
            + free('type="sphere" size=".05"', *bead),
            mesh=part,
        )
        model.geom("ring").contype = model.geom("ring").conaffinity = 0
        abut.mujoco.install(model, convex=True)
        found = contacts(model)
        world = abut.World()
        a, b = world.add(part, pose), world.add(abut.Sphere(0.05), [*bead, 0, 0, 0, 1])
        expected = world.step({}).depth.max()
        self.assertGreater(expected, 0.01)
        self.assertEqual(len(found), 1)
        for contact in found:
            self.assertAlmostEqual(-contact.dist, expected, places=6)
        self.assertEqual((a, b), (0, 1))

    def test_margin_and_gap(self):
        geom = 'type="sphere" size=".05" margin="{}" gap="{}"'
        for margin, gap, count, forces in ((0, 0, 0, 0), (0.03, 0, 0, 0), (0.05, 0, 1, 1), (0, 0.05, 1, 0)):
            model = make(free(geom.format(margin, gap), z=0.07))
            abut.mujoco.install(model)
            found = contacts(model)
            self.assertEqual(len(found), count, (margin, gap))
            distance = np.hypot(0.1, 0.07) - 0.03 - 0.05
            for contact in found:
                self.assertAlmostEqual(contact.dist, distance, delta=0.001)
                self.assertEqual(contact.exclude, 1 - forces)

    def test_sdf_geoms_have_more_contacts(self):
        counts = []
        for kind in ("mesh", "sdf"):
            model = make(free(f'type="{kind}" mesh="ring"', z=0.08, extra='euler="90 0 0"'), kind)
            abut.mujoco.install(model)
            counts.append(len(contacts(model)))
        self.assertEqual(counts[0], 4)
        self.assertGreater(counts[1], 4)

    def test_convex_meshes_keep_mujoco(self):
        cube = abut.shape("box", size=0.2, segments=1)
        model = make(free('type="mesh" mesh="ring"', x=0.01, z=0.199), mesh=cube)
        before = contacts(model)
        abut.mujoco.install(model)
        after = contacts(model)
        np.testing.assert_array_equal(before.pos, after.pos)
        self.assertEqual(abut.mujoco.info(model), abut.mujoco.Info(0, 0, 0))
        abut.mujoco.install(model, convex=True)
        exact = contacts(model)
        np.testing.assert_allclose(exact.dist, -0.001, atol=1e-6)
        self.assertEqual(len(exact), 4)

    def test_height_fields(self):
        heights = np.random.default_rng(1).uniform(0, 0.1, 36)
        field = f'<hfield name="h" nrow="6" ncol="6" size="1 1 .3 .1" elevation="{" ".join(map(str, heights))}"/>'
        rest = []
        for kind in ("ball", "ring"):
            mesh = abut.shape("icosphere", radius=0.05, segments=6) if kind == "ball" else RING
            for hfields in (False, True):
                model = mujoco.MjModel.from_xml_string(
                    f"""{scenes.HEAD}<asset><mesh file="body.obj"/>{field}</asset><worldbody>
                    <geom type="hfield" hfield="h" friction="1 .1 .1" condim="6"/>
                    {free('type="mesh" mesh="body"', 0.03, 0.05, 0.35)}</worldbody></mujoco>""",
                    {"body.obj": scenes.obj(mesh)},
                )
                abut.mujoco.install(model, hfields=hfields)
                data = mujoco.MjData(model)
                mujoco.mj_step(model, data, 600)
                self.assertEqual(abut.mujoco.info(model).errors, 0)
                self.assertLess(np.abs(data.qvel).max(), 2)
                rest.append(data.qpos[2])
        self.assertAlmostEqual(rest[0], rest[1], delta=0.01)  # convex: both are right

    def test_some_geoms(self):
        other = free('name="other" type="mesh" mesh="ring"', x=1) + free('type="sphere" size=".05"', x=1)
        model = make(free('type="sphere" size=".05"') + other)
        self.assertEqual({tuple(c.geom) for c in contacts(model)}, {(1, 0), (3, 2)})
        abut.mujoco.install(model, geoms=["ring"])
        self.assertEqual({tuple(c.geom) for c in contacts(model)}, {(3, 2)})
        abut.mujoco.install(model, geoms=[2])
        self.assertEqual({tuple(c.geom) for c in contacts(model)}, {(1, 0)})
        abut.mujoco.install(model)
        self.assertEqual(len(contacts(model)), 0)
        abut.mujoco.uninstall(model)
        self.assertEqual(len(contacts(model)), 2)
        for wrong in (["none"], [99], [None]):
            with self.assertRaises(abut.ArgumentError):
                abut.mujoco.install(model, geoms=wrong)

    def test_models_are_independent(self):
        sphere = free('type="sphere" size=".05"')
        first, second, third = make(sphere), make(sphere), make(sphere)
        abut.mujoco.install(first)
        abut.mujoco.install(second)
        data = mujoco.MjData(second)
        del second  # its data keep it
        mujoco.mj_forward(data.model, data)
        self.assertEqual((len(contacts(first)), len(contacts(third)), data.ncon), (0, 1, 0))
        address = data.model._address
        del data  # the model too, which is uninstalled
        models = [make(sphere) for _ in range(8)]  # likely at the same address
        self.assertTrue(all(len(contacts(model)) == 1 for model in models), [m._address == address for m in models])
        self.assertEqual(len(contacts(first)), 0)
        for call in (abut.mujoco.uninstall, abut.mujoco.info):
            with self.assertRaises(abut.ArgumentError):
                call(third)

    def test_open_meshes_warn(self):
        model = make("", mesh=abut.Mesh(RING.vertices, RING.faces[1:]))
        with self.assertWarnsRegex(abut.ReliabilityWarning, "'ring' is not closed"):
            abut.mujoco.install(model)
        self.assertEqual(abut.mujoco.info(model).open_meshes, 1)

    def test_errors_fall_back(self):
        model = make(free('type="ellipsoid" size=".05 .05 .05"'))
        abut.mujoco.install(model)
        model.geom_size[1] = 0.06  # abut has the old one
        seen = []
        mujoco.set_mju_user_warning(seen.append)
        try:
            for _ in range(3):
                self.assertEqual(len(contacts(model)), 1)  # of MuJoCo
        finally:
            mujoco.set_mju_user_warning(None)
        self.assertEqual(abut.mujoco.info(model).errors, 3)
        self.assertEqual(len(seen), 1)
        self.assertIn("install the model again", str(seen[0]))

    def test_threads_give_equal_results(self):
        model = scenes.load(scenes.Mug())
        abut.mujoco.install(model)

        def run(_):
            data = mujoco.MjData(model)
            mujoco.mj_step(model, data, 200)
            return data.qpos.tobytes()

        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            self.assertEqual(len(set(pool.map(run, range(8)))), 1)
        data = mujoco.MjData(model)  # the threads of the engine
        mujoco.mju_threadpool(data, 3)
        mujoco.mj_step(model, data, 200)
        self.assertEqual(data.qpos.tobytes(), run(0))

    def test_scenes(self):
        for name, seconds in (("mug", None), ("peg", None), ("gears", None)):
            _, _, text, good, _ = scenes.run(name, "abut", seconds)
            self.assertTrue(good, text)
        self.assertFalse(scenes.run("mug", "hulls")[3])

    def test_other_versions_are_refused(self):
        abut.mujoco._engine.cache_clear()
        with unittest.mock.patch.object(mujoco, "mj_version", return_value=3003000):
            with self.assertRaisesRegex(abut.UnsupportedError, "requires MuJoCo 4"):
                abut.mujoco.install(make(""))
        abut.mujoco.install(make(""))

    def test_program_in_c(self):
        """examples/mujoco/compare.c, compiled against the headers of the package, on a ring that hangs on a peg."""
        folder, work = pathlib.Path(mujoco.__file__).parent, pathlib.Path(tempfile.mkdtemp())
        library = next(folder.glob("libmujoco.so*"))
        build = pathlib.Path(os.environ["ABUT_LIBRARY"]).resolve().parent
        sources = [str(SOURCE / "examples/mujoco" / name) for name in ("compare.c", "abut_mujoco.c")]
        command = [os.environ["ABUT_TEST_COMPILER"], "-std=c11", "-Wall", "-Wextra", "-Werror", *sources]
        command += [f"-I{folder}/include", f"-I{SOURCE}/include", str(library), f"-L{build}", "-labut", "-lm"]
        subprocess.run([*command, f"-Wl,-rpath,{folder}:{build}", "-o", work / "compare"], check=True)
        (work / "ring.obj").write_bytes(scenes.obj(RING))
        (work / "scene.xml").write_text(
            f"""{scenes.HEAD}<asset><mesh file="ring.obj"/></asset><worldbody>
            <geom type="capsule" size=".03" fromto="0 -.2 0  0 .2 0"/>
            <body name="ring" pos="0 0 -.039" euler="90 0 0"><freejoint/><geom type="mesh" mesh="ring"/></body>
            </worldbody></mujoco>"""
        )
        done = subprocess.run([work / "compare", work / "scene.xml", "0.5"], capture_output=True, text=True, cwd=work)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        hulls, exact = (float(line.split()[-1]) for line in done.stdout.splitlines())
        self.assertLess(hulls, -0.5)  # it is pushed out of the hull and falls
        self.assertAlmostEqual(exact, -0.04, delta=0.003)
