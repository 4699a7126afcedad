"""Scenes, their motion, and garments."""

import json
import os
import tempfile
import unittest

import numpy as np

import abut

SHEET = {"shape": "sheet", "size": 1, "segments": 12, "rings": 12}


def scene_of(**content):
    folder = tempfile.mkdtemp()
    path = os.path.join(folder, "scene.json")
    with open(path, "w") as file:
        json.dump(content, file)
    return abut.Scene(path)


class Scenes(unittest.TestCase):
    def test_bodies_and_their_kinds(self):
        scene = scene_of(
            up="y",
            wind=[1, 0, 0],
            bodies=[
                {"name": "wall", "mesh": {"shape": "box"}, "position": [0, 0, 5]},
                {"name": "wheel", "mesh": {"shape": "box"}, "spin": [0, 0, np.pi], "velocity": [2, 0, 0]},
                {"name": "ball", "mesh": {"shape": "icosphere", "radius": 0.5}, "density": 10},
                {"name": "flag", "mesh": SHEET, "position": [0, 9, 0], "cloth": {"bend": 1e-4}},
                {"name": "man", "mesh": {"figure": "mannequin", "clip": "walk"}, "position": [9, 0, 0]},
            ],
        )
        self.assertEqual([body.kind for body in scene.bodies], ["static", "kinematic", "rigid", "cloth", "character"])
        self.assertEqual(scene.up.tolist(), [0, 1, 0])
        np.testing.assert_allclose(scene.gravity, [0, -9.81, 0])
        self.assertEqual(scene.wind.tolist(), [1, 0, 0])
        self.assertAlmostEqual(scene.bodies[2].mass, 10 * scene.bodies[2].mesh.report().volume, places=9)
        np.testing.assert_allclose(scene.pose("wheel", 0.5), [1, 0, 0, 0, 0, np.sqrt(0.5), np.sqrt(0.5)], atol=1e-12)
        box = scene.bodies[1].mesh.vertices
        turned = np.stack([1 - box[:, 1], box[:, 0], box[:, 2]], axis=1)
        np.testing.assert_allclose(scene.positions("wheel", 0.5), turned, atol=1e-12)
        walked = scene.positions("man", 0.4) - scene.positions("man", 0)
        self.assertGreater(np.abs(walked).max(), 0.05)
        self.assertEqual(len(scene.world()), 5)

    def test_errors_name_the_problem(self):
        with self.assertRaisesRegex(abut.FormatError, "colour"):
            scene_of(bodies=[{"mesh": SHEET, "colour": "red"}])
        with self.assertRaisesRegex(OSError, "nowhere"):
            abut.Scene("/nowhere/scene.json")
        scene = scene_of(bodies=[{"name": "ball", "mesh": {"shape": "icosphere"}, "mass": 1}])
        with self.assertRaisesRegex(abut.ArgumentError, "'ball' has a mass"):
            abut.simulate(scene)
        with self.assertRaisesRegex(abut.ArgumentError, "there are ball"):
            scene.positions("bell")
        with self.assertRaisesRegex(abut.ArgumentError, "fps"):
            abut.simulate(scene, fps=0, move=lambda world, time, step: {})
        with self.assertRaisesRegex(abut.ArgumentError, "substeps"):
            abut.simulate(scene, substeps=0, move=lambda world, time, step: {})
        with self.assertRaisesRegex(abut.ArgumentError, "mass|cloth"):
            scene.pose("ball", 1)


class Motions(unittest.TestCase):
    def test_cloth_falls_on_a_moving_body_and_pins_hold(self):
        scene = scene_of(
            bodies=[
                {"name": "lift", "mesh": {"shape": "box", "size": 0.5}, "position": [0, 0, -0.5], "velocity": [0, 0, 0.5]},
                {"name": "cover", "mesh": SHEET, "cloth": {"friction": 0.4}, "pins": [0]},
            ]
        )
        frames = list(abut.simulate(scene, 30, fps=60))
        self.assertEqual(len(frames), 31)
        self.assertIsNone(frames[0].step)
        self.assertAlmostEqual(frames[-1].time, 0.5)
        self.assertTrue(all(frame.step.cloth.guarantee.level == "guaranteed" for frame in frames[1:]))
        self.assertTrue(any(len(frame.step.pairs) for frame in frames[1:]))
        start, end = frames[0].positions["cover"], frames[-1].positions["cover"]
        np.testing.assert_array_equal(start[0], end[0])
        self.assertLess(end[:, 2].min(), -0.1)
        lift = frames[-1].positions["lift"]
        np.testing.assert_allclose(lift, frames[0].positions["lift"] + [0, 0, 0.25], atol=1e-12)
        apart = abut.overlap(abut.Mesh(end, scene.bodies[1].mesh.faces), abut.Mesh(lift, scene.bodies[0].mesh.faces), surface_only=True)
        self.assertFalse(apart)

    def test_panels_are_sewn(self):
        edge = {side: [[x, -1, 0], [x, 1, 0]] for side, x in (("left", -0.5), ("right", 0.5))}
        panel = {"mesh": SHEET, "axis": [1, 0, 0], "degrees": 90, "cloth": {"damping": 1}}
        scene = scene_of(
            gravity=[0, 0, 0],
            bodies=[
                {"name": "trunk", "mesh": {"shape": "cylinder", "radius": 0.2, "height": 2}},
                dict(panel, name="front", position=[0, -0.25, 0]),
                dict(
                    panel,
                    name="back",
                    position=[0, 0.25, 0],
                    seams=[{"box": box, "to": "front", "to_box": box, "speed": 2} for box in edge.values()],
                ),
            ],
        )
        frames = list(abut.simulate(scene, 60))
        self.assertGreater(frames[1].step.cloth.seam_gap, 0.45)
        self.assertLess(frames[-1].step.cloth.seam_gap, 1e-3)
        left = [i for i, x in enumerate(scene.bodies[1].mesh.vertices[:, 0]) if x == -0.5]
        apart = frames[-1].positions["front"][left] - frames[-1].positions["back"][left]
        self.assertLess(np.linalg.norm(apart, axis=1).max(), 0.02)

    def test_characters_without_parts(self):
        whole, reduced = (
            scene_of(bodies=[{"mesh": {"figure": "mannequin", "without": parts}}]).bodies[0].mesh
            for parts in ([], ["Head", "LeftHand"])
        )
        figure = abut.Character.figure("mannequin").without("Head", "LeftHand")
        self.assertEqual(reduced.triangle_count, figure.mesh().triangle_count)
        self.assertLess(reduced.triangle_count, whole.triangle_count)
        with self.assertRaisesRegex(abut.FormatError, "there is no bone 'Hat'"):
            scene_of(bodies=[{"mesh": {"figure": "mannequin", "without": ["Hat"]}}])

    def test_the_caller_moves_bodies_with_a_mass(self):
        """A ball falls into a net, which has to catch it by its impulses."""
        scene = scene_of(
            bodies=[
                {"name": "net", "mesh": SHEET, "cloth": {}, "pins": [0, 12, 156, 168]},
                {"name": "ball", "mesh": {"shape": "icosphere", "radius": 0.1, "segments": 4}, "mass": 0.2,
                 "position": [0.01, 0.02, 0.15]},
            ]
        )  # fmt: skip
        at, velocity = np.array([0.01, 0.02, 0.15]), np.zeros(3)
        seconds, heights = 1 / 120, []

        def move(world, time, step):
            nonlocal at, velocity
            velocity = velocity + seconds * scene.gravity
            if step is not None:
                velocity = velocity + world.cloth.body_impulse(world.cloth_number(1))[0] / 0.2
            at = at + seconds * velocity
            heights.append(at[2])
            return {"ball": [*at, 0, 0, 0, 1]}

        for frame in abut.simulate(scene, 60, substeps=2, move=move):
            pass
        self.assertGreater(min(heights), -0.6)
        self.assertGreater(heights[-1], heights[0] - 0.6)
        with self.assertRaisesRegex(abut.ArgumentError, "'net' is no rigid body"):
            list(abut.simulate(scene, 1, move=lambda world, time, step: {"net": [0, 0, 0]}))

    def test_a_dressed_character(self):
        woman = {"figure": "mannequin-female", "clip": "walk", "blend": 1}
        scene = scene_of(
            up="y",
            bodies=[
                {"name": "woman", "mesh": woman},
                {"name": "dress", "mesh": {"garment": "dress", "on": "woman", "triangles": 2400}, "cloth": {}},
            ],
        )
        frames = list(abut.simulate(scene, 4, fps=30))
        self.assertEqual(frames[-1].step.cloth.fraction, 1)
        meshes = [abut.Mesh(frames[-1].positions[body.name], body.mesh.faces) for body in scene.bodies]
        self.assertFalse(abut.overlap(*meshes, surface_only=True))


class Garments(unittest.TestCase):
    def test_garments_fit_and_follow(self):
        figure = abut.Character.figure("mannequin-female", 8000)
        for kind in "trousers-and-top", "overcoat", "cape", "dress":
            garment = abut.Garment(figure, kind, 1500, ease=0.02)
            self.assertEqual(garment.mesh.vertex_count, 1500)
            self.assertFalse(abut.overlap(garment.mesh, figure.mesh(), surface_only=True))
            np.testing.assert_allclose(garment.skin(figure.pose()), garment.mesh.vertices, atol=1e-6)
            self.assertTrue(0 < len(garment.pins) < 1500)
        with self.assertRaisesRegex(abut.ArgumentError, "cape"):
            abut.Garment(figure, "hat")
        with self.assertRaisesRegex(abut.ArgumentError, "ease"):
            abut.Garment(figure, "dress", ease=-1)


if __name__ == "__main__":
    unittest.main()
