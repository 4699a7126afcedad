"""Worlds of all kinds of bodies, meshes against themselves, layers that move."""

import gc
import unittest
import warnings

import numpy as np

import abut
import referee

STILL = (0, 0, 0, 0, 0, 0, 1)


class Worlds(unittest.TestCase):
    def test_pairs_are_those_that_overlap(self):
        rng = np.random.default_rng(4)
        meshes = [abut.shape("torus", segments=12, rings=8), abut.shape("box", size=0.5, segments=2)] * 8
        world, (places, matrices) = abut.World(), referee.poses(rng, 16, 0.9)
        numbers = [world.add(mesh) for mesh in meshes]
        self.assertEqual((numbers, world.bodies, len(world)), (list(range(16)), list(range(16)), 16))
        step = world.step(places)
        expected = [
            [i, j]
            for i in range(16)
            for j in range(i + 1, 16)
            if abut.overlap(meshes[i], meshes[j], pose_a=places[i], pose_b=places[j])
        ]
        self.assertTrue(5 < len(expected) < 100)
        self.assertEqual(step.pairs.tolist(), expected)
        self.assertLessEqual(set(map(tuple, expected)), set(map(tuple, world.pairs().tolist())))
        place = 0
        for pair in step:
            self.assertEqual((pair.kind, pair.method, pair.guarantee, pair.error), ("begin", "exact", "complete", 0))
            self.assertEqual(pair.depth, pair.contacts["depth"].max())
            one = slice(place, place + len(pair.contacts))
            self.assertTrue((step.a[one] == pair.a).all() and (step.b[one] == pair.b).all())
            np.testing.assert_array_equal(step.point[one], pair.contacts["point"])
            place += len(pair.contacts)
        self.assertEqual(place, len(step))
        # A second step stays, and matrices, dicts and lists of numbers mean the same.
        for poses, which in ((matrices, None), (dict(enumerate(places)), None), (places[::-1], numbers[::-1])):
            again = world.step(poses, which)
            self.assertEqual({pair.kind for pair in again}, {"persist"})
            self.assertEqual(again.pairs.tolist(), expected)
        apart = world.step(places + [(5 * i, 0, 0, 0, 0, 0, 0) for i in range(16)])
        self.assertEqual((len(apart), apart.ended.tolist(), list(apart)), (0, expected, []))

    def test_margins_and_users(self):
        ball = abut.shape("icosphere", radius=1, segments=8)
        world = abut.World()
        a = world.add(ball, user={"name": "ball"})
        b = world.add(abut.Plane([0, 0, 1], -1.05), motion="static", user="floor")
        self.assertEqual((world.user(a), world.user(b)), ({"name": "ball"}, "floor"))
        self.assertEqual(len(world.step()), 0)
        world.replace(a, ball, margin=0.1, user="other")
        self.assertEqual(world.user(a), "other")
        self.assertAlmostEqual(next(iter(world.step())).depth, -0.05, places=6)
        world.replace(a, ball)
        self.assertIsNone(world.user(a))
        world.remove(b)
        for body in (b, 7):
            with self.assertRaises(abut.ArgumentError):
                world.user(body)
        with self.assertRaises(abut.ArgumentError):
            world.add(ball, margin=-1)

    def test_ids_are_not_used_again(self):
        def build():
            world = abut.World()
            for x in range(3):
                world.add(abut.Sphere(0.6), [x, 0, 0, 0, 0, 0, 1], user=x)
            return world

        world = build()
        self.assertEqual(world.bodies, [0, 1, 2])
        world.remove(1)
        again = world.add(abut.Sphere(0.6), [1, 0, 0, 0, 0, 0, 1], user="again")
        self.assertEqual((again, world.bodies), (1 + (1 << 22), [0, again, 2]))
        self.assertEqual(world.step().pairs.tolist(), [[0, again], [again, 2]])
        with self.assertRaisesRegex(abut.ArgumentError, f"now belongs to body {again}"):
            world.set_poses({1: [0, 0, 0, 0, 0, 0, 1]})
        with self.assertRaises(abut.ArgumentError):
            world.user(1)
        # A restored world has the ids of the saved one.
        other = build()
        other.restore(world.save())
        self.assertEqual((other.bodies, other.user(again)), ([0, again, 2], 1))
        self.assertEqual(other.step().pairs.tolist(), [[0, again], [again, 2]])
        other.remove(again)
        self.assertEqual(other.bodies, [0, 2])

    def test_filters(self):
        calls = []

        def accept(a, b):
            calls.append((a, b))
            return (a, b) != (0, 1)

        world = abut.World(accept=accept)
        for x in range(4):
            world.add(abut.Sphere(0.6), [x, 0, 0, 0, 0, 0, 1], family=7 if x > 1 else 0)
        self.assertEqual(world.step().pairs.tolist(), [[1, 2]])  # 2 and 3 are a family
        self.assertEqual(calls, [(0, 1), (1, 2)])
        self.assertEqual(world.pair_info(0, 1).guarantee, "none")
        self.assertIn("accept", world.pair_info(0, 1).reason)
        self.assertIn("families", world.pair_info(2, 3).reason)

        def fail(a, b):
            raise KeyError(a)

        broken = abut.World(accept=fail)
        for x in range(2):
            broken.add(abut.Sphere(0.6), [x, 0, 0, 0, 0, 0, 1])
        for call in (
            broken.pairs,
            lambda: broken.step({0: [0.1, 0, 0, 0, 0, 0, 1]}),
            lambda: broken.step({0: [0.2, 0, 0, 0, 0, 0, 1]}, seconds=1),
            lambda: broken.sweep({0: [0.1, 0, 0, 0, 0, 0, 1]}),
        ):
            with self.assertRaises(KeyError):
                call()

    def test_methods(self):
        ball, box = abut.shape("icosphere", radius=1, segments=8), abut.shape("box", segments=4)
        for method, guarantee in (("exact", "complete"), ("field", "sampled"), ("map", "complete"), ("layers", "complete")):
            world = abut.World()
            a = world.add(ball, method=method, resolution=64 if method == "map" else 0)
            b = world.add(box, [0, 0, 1.4, 0, 0, 0, 1], method=method)
            item, both = world.item_info(a), world.pair_info(a, b)
            self.assertEqual((item.method, item.is_forced, item.reliability.level), (method, True, "guaranteed"))
            self.assertTrue(item.reason and both.reason)
            self.assertEqual((both.method, both.guarantee), (method, guarantee))
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                (pair,) = world.step()
            self.assertEqual(len(caught), method == "layers")  # its depths are those of three axes
            self.assertEqual((pair.method, pair.guarantee, pair.error), tuple(both[:3]))
            if np.isfinite(pair.error):
                self.assertAlmostEqual(pair.depth, 0.1, delta=pair.error + 0.01)  # the ball has corners
            self.assertLess(pair.contacts["normal"][0, 2], -0.9)

    def test_the_rule(self):
        world = abut.World()
        sheet = abut.shape("sheet", segments=8, rings=8)
        cloth, ball = world.add(sheet, deforms=True), world.add(abut.shape("icosphere", segments=6))
        self.assertEqual((world.item_info(cloth).method, world.item_info(ball).method), ("map", "exact"))
        self.assertGreater(world.item_info(cloth).hole_fraction, 0.1)
        depth = [pair.depth for pair in world.step()]
        self.assertEqual(len(depth), 1)
        world.set_positions(cloth, sheet.vertices + (0, 0, 2))
        self.assertEqual(len(world.step()), 0)
        world.set_positions(cloth, sheet.vertices)
        self.assertEqual([pair.depth for pair in world.step()], depth)
        for wrong in (
            lambda: world.set_positions(cloth, sheet.vertices[1:]),
            lambda: world.set_positions(cloth, sheet.vertices * np.nan),
            lambda: world.set_positions(cloth),
            lambda: world.set_positions(cloth, pose=np.eye(4)),
            lambda: world.set_positions(ball, np.zeros((abut.shape("icosphere", segments=6).vertex_count, 3))),
            lambda: world.set_positions(9, sheet.vertices),
        ):
            with self.assertRaises(ValueError):
                wrong()
        self.assertEqual([pair.depth for pair in world.step()], depth)

    def test_solids(self):
        mesh = abut.shape("box")
        for solid in (
            abut.Plane((0, 0, 2), -0.8),
            abut.Sphere(0.3, (0, 0, -0.7)),
            abut.Capsule((0, 0, -0.6), (0, 0, -3), 0.2),
            abut.Cylinder((0, 0, -0.4), (0, 0, -3), 0.2),
            abut.Box((0.2, 0.2, 0.2)),
            abut.Hull(abut.hull([[0, 0, -0.4], [1, 0, -2], [-1, 1, -2], [-1, -1, -2]])),
        ):
            world = abut.World()
            other = world.add(solid, [0, 0, -0.5, 0, 0, 0, 1] if isinstance(solid, abut.Box) else None)
            body = world.add(mesh)
            gc.collect()
            (pair,) = world.step()
            self.assertEqual((pair.a, pair.b, pair.guarantee), (other, body, "complete"))
            self.assertAlmostEqual(pair.depth, 0.1, places=9, msg=repr(solid))
            self.assertAlmostEqual(abs(pair.contacts["normal"][0, 2]), 1)

    def test_characters(self):
        figure = referee.figure()
        fields = abut.RadialField(figure, cell=0.1).set_pose(figure.pose("walk", 0.2))
        world = abut.World()
        who, ground = world.add(fields), world.add(abut.Plane((0, 1, 0), 0.1), motion="static")
        del fields
        gc.collect()
        with self.assertWarnsRegex(abut.ReliabilityWarning, "limited: Depths come from radial fields"):
            (pair,) = world.step()
        self.assertEqual((pair.method, pair.guarantee), ("radial", "sampled"))
        self.assertGreater(pair.depth, 0.02)
        pose = figure.pose("walk", 0.6)
        pose[:, 1, 3] += 1
        world.set_positions(who, pose=pose)
        self.assertEqual(len(world.step()), 0)
        swept = world.sweep({ground: [0, 2, 0, 0, 0, 0, 1]})
        self.assertEqual((swept.unswept_count, len(swept.a)), (0, 1))
        self.assertTrue(0 < swept.time < 1)
        for wrong in (
            lambda: world.set_positions(who, figure.skin(pose)),
            lambda: world.set_positions(who, pose=pose[1:]),
        ):
            with self.assertRaises(ValueError):
                wrong()

    def test_who_is_tried(self):
        box, world = abut.shape("box"), abut.World(margin=0.1)
        a, b = world.add(box), world.add(box, [1.05, 0, 0, 0, 0, 0, 1])
        step = world.step()
        np.testing.assert_allclose(step.depth, -0.05, atol=1e-12)
        world.ignore(a, b)
        self.assertEqual(world.step().ended.tolist(), [[a, b]])
        self.assertEqual(world.pair_info(a, b).guarantee, "none")
        world.ignore(a, b, False)
        self.assertEqual(world.step().pairs.tolist(), [[a, b]])
        world.replace(b, box, [1, 0, 0, 0, 0, 0, 1], sensor=True)
        (pair,) = world.step()
        self.assertEqual((pair.is_sensor, len(pair.contacts), pair.kind), (True, 0, "persist"))
        world.replace(b, box, mask=4)
        self.assertEqual(len(world.step().pairs), 0)
        world.replace(b, box, motion="static")
        world.replace(a, box, motion="kinematic")
        self.assertEqual(len(world.step().pairs), 0)
        world.remove(b)
        self.assertEqual((world.bodies, world.add(box)), ([a], b + (1 << 22)))

    def test_sweeps(self):
        box, world = abut.shape("box"), abut.World()
        world.add(box, motion="static")
        world.add(box, [5, 0, 0, 0, 0, 0, 1])
        swept = world.sweep({1: [-5, 0, 0, 0, 0, 0, 1]})
        expected = abut.sweep(box, box, path_b=([5, 0, 0, 0, 0, 0, 1], [-5, 0, 0, 0, 0, 0, 1]))
        self.assertEqual((swept.time, swept.a.tolist(), swept.b.tolist()), (expected.time, [0], [1]))
        np.testing.assert_array_equal(swept.touches["point"][0], expected.point)
        self.assertEqual(world.sweep([[0, 9, 0, 0, 0, 0, 1]], [1]).time, 1)
        self.assertEqual(len(world.step()), 0)
        self.assertAlmostEqual(world.sweep([STILL] * 2).time, 2 * swept.time, places=6)

    def test_sweeps_of_what_rests(self):
        floor, box = abut.shape("box", size=(10, 10, 1)), abut.shape("box")
        for height in (0, -0.001):
            world = abut.World()
            world.add(floor, [0, 0, -0.5, 0, 0, 0, 1], motion="static")
            body = world.add(box, [0, 0, 0.5 + height, 0, 0, 0, 1])
            through, along, up = ([x, 0, 0.5 + height + z, 0, 0, 0, 1] for x, z in ((0, -5), (2, 0), (0, 3)))
            self.assertEqual([world.sweep({body: end}).time for end in (through, along, up)], [0, 1, 1])
            self.assertEqual(world.sweep({body: through}).touches["time"].tolist(), [0])

    def test_sweeps_with_an_allowed_depth(self):
        world = abut.World()
        world.add(abut.shape("box", size=(10, 10, 1)), [0, 0, -0.5, 0, 0, 0, 1], motion="static")
        low, high = (world.add(abut.shape("box"), [x, 0, 0.5 + z, 0, 0, 0, 1]) for x, z in ((-3, 0), (3, 1)))
        ends = {high: [3, 0, -0.5, 0, 0, 0, 1], low: [-3, 0, 0.49, 0, 0, 0, 1]}
        swept = world.sweep(ends)
        np.testing.assert_allclose(swept.times, [0.5, 0], atol=1e-5)
        self.assertEqual(swept.time, 0)
        swept = world.sweep(ends, allowed_depth=0.005)
        np.testing.assert_allclose(swept.times, [1.005 / 2, 0.5], atol=0.011)
        self.assertEqual((len(swept.a), swept.time), (2, min(swept.times)))
        with self.assertRaisesRegex(abut.ArgumentError, "allowed_depth"):
            world.sweep(ends, allowed_depth=-1)

    def test_saved_and_restored(self):
        def build(step):
            world = abut.World(margin=0.005)
            world.add(abut.shape("box", size=(4, 4, 0.05)), motion="static")
            for i in range(6):
                world.add(meshes[i % 2])
            world.set_poses(places(step))
            return world

        def places(step):
            """Six bodies, three of which sink through the plate and stay there."""
            depth = min(0.02 * step, 0.7)
            return [STILL] + [(i - 3, 0.1 * i, (0.5 - depth) if i % 2 else 0.4, 0.1 * i, 0, 0, 1) for i in range(6)]

        def bits(step):
            return [step.records[name].tobytes() for name in step.records.dtype.names]

        meshes = [abut.shape("torus", segments=12, rings=8), abut.shape("box", size=0.6, segments=2)]
        first = build(0)
        for step in range(31):
            first.step(places(step))
        state = first.save()
        self.assertIsInstance(state, bytes)
        second, fresh = build(30), build(30)
        self.assertIs(second.restore(state), second)
        self.assertEqual(second.save(), state)
        differ = 0
        for step in range(31, 70):
            a, b, c = (world.step(places(step)) for world in (first, second, fresh))
            self.assertEqual(bits(a), bits(b))
            self.assertEqual(a.events["kind"].tolist(), b.events["kind"].tolist())
            differ += bits(a) != bits(c)
        self.assertGreater(differ, 0)
        # Any bytes of it in any object that has bytes; all else is refused, and changes nothing.
        before = bits(first.step())
        with self.assertRaisesRegex(abut.ArgumentError, "body 2 is not as it was saved"):
            first.restore(state)
        now = first.save()
        for kind in (bytearray, memoryview, lambda given: np.frombuffer(given, np.uint8)):
            first.restore(kind(now))
        for bad in (now[:-1], now[1:], now + b"x", b"", b"abut"):
            with self.assertRaises(abut.Error):
                first.restore(bad)
        for bad in ("text", None, 3):
            with self.assertRaises(TypeError):
                first.restore(bad)
        self.assertEqual(bits(first.step()), before)

    def test_more_than_room(self):
        box, world = abut.shape("box", segments=1), abut.World()
        for i in range(30):
            world.add(box, [0.01 * i, 0.013 * i, 0.017 * i, 0, 0, 0, 1])
        step = world.step()
        self.assertEqual((len(step.pairs), len(world.pairs())), (435, 435))
        self.assertGreater(len(step), 256)
        self.assertEqual(len(world.sweep({0: [0, 0, 1, 0, 0, 0, 1]}).a), 29)

    def test_wrong(self):
        box, world = abut.shape("box"), abut.World()
        world.add(box)
        for wrong in (
            lambda: abut.World(margin=-1),
            lambda: abut.World(method="map"),
            lambda: abut.World(method="magic"),
            lambda: world.add(box, method="magic"),
            lambda: world.add(box, method="radial"),
            lambda: world.add(box, motion="lazy"),
            lambda: world.add(box, [np.nan] * 7),
            lambda: world.add(box, np.zeros((2, 7))),
            lambda: world.add(box, group=-1),
            lambda: world.add(abut.Box(-1)),
            lambda: world.add(abut.Box((1, 2))),
            lambda: world.add(abut.Plane((0, 0, 0))),
            lambda: world.add(abut.Sphere(-1)),
            lambda: world.add(abut.Sphere(1), deforms=True),
            lambda: world.add(abut.Hull(abut.shape("torus"))),
            lambda: world.add(abut.shape("sheet"), method="layers"),
            lambda: world.replace(5, box),
            lambda: world.remove(5),
            lambda: world.remove(-1),
            lambda: world.ignore(0, 0),
            lambda: world.set_poses(np.zeros((2, 7))),
            lambda: world.set_poses([STILL], [0, 0]),
            lambda: world.set_poses({0: STILL}, [0]),
            lambda: world.set_poses({5: STILL}),
            lambda: world.set_poses({0: None}),
            lambda: world.set_poses(None),
            lambda: world.sweep({0: [np.inf] * 7}),
            lambda: world.item_info(1),
            lambda: world.pair_info(0, 1),
        ):
            with self.assertRaises(ValueError):
                wrong()
        for wrong in (
            lambda: world.add("box"),
            lambda: world.add(abut.Hull("box")),
            lambda: world.add(box, colour=1),
            lambda: world.replace(0, box, colour=1),
            lambda: abut.World(margin="wide"),
        ):
            with self.assertRaises(TypeError):
                wrong()
        self.assertEqual((len(world), len(world.step()), len(world.set_poses({}).step())), (1, 0, 0))


class Selves(unittest.TestCase):
    def test_steps_are_those_of_motions(self):
        sheet = abut.shape("sheet", segments=10, rings=10)
        rng = np.random.default_rng(7)
        hits = 0
        for i in range(12):
            end = sheet.vertices + rng.normal(scale=0.02 + 0.01 * i, size=sheet.vertices.shape)
            view, motion = abut.SelfCollision(sheet), abut.Motion(sheet)
            step, expected = view.step(end), motion.step(end).earliest()
            self.assertEqual(step.impact is None, expected is None)
            if expected is not None:
                hits += 1
                self.assertEqual(step.impact.time, expected.time)
            self.assertTrue(step.scheme in ("point", "line", "complete"))
            self.assertEqual(bool(step.reason), step.scheme == "complete")
        self.assertTrue(0 < hits < 12)

    def test_schemes_and_sets(self):
        ball = abut.shape("icosphere", segments=8)
        for scheme in ("point", "line", "complete"):
            view = abut.SelfCollision(ball, scheme=scheme)
            step = view.step(ball.vertices * 1.1)
            self.assertEqual((step.impact, step.scheme), (None, scheme))
            sets = view.sets()
            if scheme == "complete":
                self.assertIsNone(sets)
            else:
                np.testing.assert_array_equal(np.bincount(sets, minlength=4), list(step.sets.values()))
                self.assertGreater(step.sets["positive"], 0.9 * ball.triangle_count)
        line = np.tile([[[-0.1, 0, 0], [0.1, 0, 0]]], (2, 1, 1))
        self.assertIsNone(
            abut.SelfCollision(ball).step(ball.vertices * 1.1, ball.vertices, line=line, free=True).impact
        )

    def test_intersections(self):
        sheet = abut.shape("sheet", segments=6, rings=6)
        self.assertEqual(sheet.self_intersections().shape, (0, 2))
        crossed = abut.join([sheet, sheet.transformed([0.01, 0.02, 0, 0.6, 0, 0, 0.8])])
        pairs = crossed.self_intersections()
        self.assertEqual(len(np.unique(pairs)), crossed.report(True).problems["self-intersection"].count)
        self.assertTrue((pairs[:, 0] < pairs[:, 1]).all())

    def test_wrong(self):
        ball = abut.shape("icosphere")
        for wrong in (
            lambda: abut.SelfCollision(ball, scheme="magic"),
            lambda: abut.SelfCollision(ball).step(ball.vertices[1:]),
            lambda: abut.SelfCollision(ball).step(ball.vertices + np.inf),
            lambda: abut.SelfCollision(ball).step(ball.vertices, line=[0, 1]),
        ):
            with self.assertRaises(ValueError):
                wrong()
        with self.assertRaises(TypeError):
            abut.SelfCollision(None)


class InTime(unittest.TestCase):
    """Steps with seconds: cloth, impacts, bodies with themselves."""

    def test_cloth(self):
        world = abut.World(gravity=[0, 0, -9.81], substeps=12)
        mesh = abut.shape("sheet", segments=10, rings=10)
        sheet = world.add(mesh, [0, 0, 0.7, 0, 0, 0, 1], cloth={"friction": 0.5, "density": 0.3})
        ball = world.add(abut.shape("icosphere", radius=0.4))
        self.assertEqual((world.cloth_number(sheet), world.cloth_number(ball)), (0, 0))
        self.assertEqual(world.cloth.material(0)["density"], 0.3)
        world.cloth.attach(world.cloth_number(sheet), [0, 10])
        for _ in range(30):
            step = world.step(seconds=1 / 60)
            self.assertTrue(world.cloth.is_free())
            self.assertEqual((step.cloth.fraction, step.cloth.guarantee.level), (1, "guaranteed"))
            self.assertTrue((step.depth < 0).all())
        self.assertEqual(step.pairs.tolist(), [[sheet, ball]])
        np.testing.assert_allclose(world.cloth.positions(0)[[0, 10]], mesh.vertices[[0, 10]] + [0, 0, 0.7], atol=1e-6)
        world.cloth.set_wind([3, 0, 0])
        world.remove(ball)
        world.step(seconds=1 / 60)
        world.remove(sheet)
        self.assertIsNone(world.step(seconds=1 / 60).cloth)
        with self.assertRaises(ValueError):
            world.cloth

    def test_saved_and_restored(self):
        def build():
            world = abut.World(gravity=[0, 0, -9.81], substeps=6)
            cover = world.add(mesh, [0, 0, 0.5, 0, 0, 0, 1], cloth={"friction": 0.5})
            world.add(abut.shape("icosphere", radius=0.4), deforms=True, self_collides=True)
            world.add(abut.Sphere(0.1), [0, 0, -2, 0, 0, 0, 1])
            world.cloth.attach(world.cloth_number(cover), [0])
            return world

        def place(world, frame):
            world.set_positions(1, ball.vertices + (0.01 * frame, 0, 0.01 * frame))
            return {2: [0, 0, -2 + 0.9 * (frame % 3), 0, 0, 0, 1]}

        def run(world, first, last):
            found = []
            for frame in range(first, last):
                step = world.step(place(world, frame), seconds=1 / 60)
                found += [step.records[name].tobytes() for name in step.records.dtype.names]
                found += [step.impacts.tobytes(), world.cloth.positions(0).tobytes(), world.cloth.velocities(0).tobytes()]
            return found

        mesh, ball = abut.shape("sheet", segments=8, rings=8), abut.shape("icosphere", radius=0.4)
        first = build()
        run(first, 0, 10)
        state = first.save()
        end = run(first, 10, 18)
        for world in first, build():
            with self.assertRaisesRegex(abut.ArgumentError, "is not as it was saved"):
                world.restore(state)  # the ball and the sphere are elsewhere
            world.set_poses(place(world, 9))
            self.assertIs(world.restore(state), world)
            self.assertEqual(world.save(), state)
            self.assertEqual(run(world, 10, 18), end)
        with self.assertRaises(abut.FormatError):
            first.restore(state[:-9] + b"x" + state[-8:])

    def test_impacts(self):
        world = abut.World()
        fast = world.add(abut.shape("icosphere", radius=0.1), [5, 0, 0, 0, 0, 0, 1])
        wall = world.add(abut.Box((0.01, 4, 4)))
        soft = abut.shape("icosphere", radius=0.5)
        both = world.add(soft, [9, 0, 0, 0, 0, 0, 1], deforms=True, self_collides=True)
        self.assertEqual(len(world.step(seconds=1).impacts), 0)
        world.set_positions(both, soft.vertices * (-0.5, 1, 1))  # turns inside out
        step = world.step({fast: [-5, 0, 0, 0, 0, 0, 1]}, seconds=1)
        self.assertEqual(step.impacts[["a", "b"]].tolist(), [(fast, wall), (both, both)])
        self.assertTrue((0.4 < step.impacts["time"]).all() and (step.impacts["time"] < 0.7).all())
        self.assertEqual((len(step), len(step.self_contacts), step.unswept_count, step.cloth), (0, 0, 0, None))

    def test_wrong(self):
        world = abut.World()
        for wrong in (
            lambda: world.step(seconds=0),
            lambda: world.add(abut.Sphere(1), cloth=True),
            lambda: world.add(abut.shape("sheet"), cloth={"density": -1}),
            lambda: world.cloth,
            lambda: world.cloth_number(3),
            lambda: abut.World(drag=-1),
            lambda: world.add(abut.shape("sheet"), cloth={"colour": 1}),
        ):
            with self.assertRaises(ValueError):
                wrong()
        self.assertEqual(len(world), 0)


class Layered(unittest.TestCase):
    def test_frames(self):
        box = abut.shape("box", segments=1)
        layers = abut.Layers()
        a, b, c = (layers.add(box, [2.0 * i, 0, 0, 0, 0, 0, 1]) for i in range(3))
        self.assertEqual(len(layers.find()), 0)
        moved = layers.set_poses({b: [0.5, 0, 0, 0, 0, 0, 1]}).find()
        self.assertEqual((moved.pairs.tolist(), moved.volume.round(9).tolist()), ([[a, b]], [0.5]))
        layers.set_positions(c, box.vertices * (8, 1, 1))
        np.testing.assert_allclose(
            layers.find("images", resolution=256).depth, [0.5, 0.5, 1], atol=0.01
        )  # c reaches from 0 to 8
        layers.set_positions(c, None)
        layers.remove(b)
        self.assertEqual((len(layers.find()), len(layers)), (0, 2))
        layers.add(box, group=2, mask=2)
        self.assertEqual(len(layers.find()), 0)

    def test_wrong(self):
        layers = abut.Layers()
        layers.add(abut.shape("box"))
        for wrong in (
            lambda: layers.find("magic"),
            lambda: layers.add(abut.shape("sheet")),
            lambda: layers.set_positions(0, np.zeros((3, 3))),
            lambda: layers.set_positions(7, np.zeros((3, 3))),
            lambda: layers.set_poses(np.zeros((2, 7))),
            lambda: layers.remove(1),
        ):
            with self.assertRaises(ValueError):
                wrong()
        with self.assertRaises(TypeError):
            layers.add(None)
