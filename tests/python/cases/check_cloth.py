"""Cloth: sheets and bodies, attachments, reports; what passes through nothing."""

import subprocess
import sys
import unittest

import numpy as np

import abut

UP = [0, 0, 0, 0, 0, 0, 1]


def sheet(segments=8):
    return abut.shape("sheet", segments=segments, rings=segments)


class Cloths(unittest.TestCase):
    def test_sheets_fall_on_bodies_and_stay_free(self):
        cloth = abut.Cloth(gravity=[0, 0, -9.81], drag=0.1)
        sheets = [
            cloth.add_sheet(sheet(8 + i).transformed([0, 0, 0.55 + 0.06 * i]), bend=1e-4, friction=0.4, damping=0.5)
            for i in range(3)
        ]
        box = cloth.add_body(abut.shape("box", size=0.8, segments=2), UP, friction=0.5)
        ball = cloth.add_body(abut.shape("icosphere", radius=0.2), [0.7, 0, 0.1])
        self.assertEqual((sheets, box, ball), ([0, 1, 2], 0, 1))
        contacts = 0
        for frame in range(30):
            cloth.set_body_pose(box, [0, 0, 0.002 * frame, 0, 0, np.sin(0.005 * frame), np.cos(0.005 * frame)])
            report = cloth.step()
            contacts += report.contacts
            self.assertEqual((report.fraction, report.lagging), (1, 0))
            self.assertEqual(report.guarantee.level, "guaranteed")
            self.assertTrue(cloth.is_free())
            self.assertEqual(len(cloth.intersections()), 0)
        self.assertGreater(contacts, 500)
        for each in sheets:
            self.assertEqual(cloth.positions(each).shape, (cloth.mesh(each).vertex_count, 3))
            np.testing.assert_array_equal(cloth.positions(each), cloth.mesh(each).vertices)
            self.assertEqual(cloth.velocities(each).shape, cloth.aims(each).shape)
        np.testing.assert_array_equal(cloth.body_positions(ball), cloth.body_mesh(ball).vertices)
        self.assertIn("3 sheets with 302 vertices, 2 bodies, 0 attachments", repr(cloth))
        energy = cloth.energy()
        self.assertTrue(energy.kinetic > 0 and energy.elastic > 0)
        material = cloth.material(1)
        self.assertEqual((material["stretch"], material["density"], material["friction"]), (200, 0.2, 0.4))

    def test_crossed_starts_are_untangled(self):
        cloth = abut.Cloth()
        first = cloth.add_sheet(sheet(10))
        cloth.add_sheet(sheet(8).transformed([0.1, 0.05, 0.1, 0.7, 0.1, 0, 0.7]))
        cloth.add_body(abut.shape("icosphere", radius=0.2), [-0.4, 0.3, 0])
        count = len(cloth.intersections())
        with self.assertRaisesRegex(abut.ArgumentError, "intersects triangle"):
            cloth.step()
        before = cloth.positions(first)
        failed = cloth.untangle(iterations=1)
        self.assertEqual((failed.is_free, failed.iterations, failed.pairs_before), (False, 1, count))
        self.assertEqual((failed.pairs, failed.gap), (len(cloth.intersections()), 0))
        self.assertEqual(failed.bounds.shape, (2, 3))
        self.assertTrue((failed.bounds[0] < failed.bounds[1]).all())
        report = cloth.untangle()
        self.assertTrue(report.is_free and cloth.is_free() and report.gap > 0 and report.seconds > 0)
        self.assertEqual((report.pairs_before, report.pairs), (failed.pairs, 0))
        np.testing.assert_array_equal(report.bounds, np.zeros((2, 3)))
        self.assertGreater(np.abs(cloth.positions(first) - before).max(), 0)
        np.testing.assert_array_equal(cloth.velocities(first), np.zeros_like(before))
        self.assertEqual(cloth.step().fraction, 1)
        self.assertTrue(cloth.is_free())
        now = cloth.positions(first)
        again = cloth.untangle()
        self.assertEqual((again.is_free, again.iterations, again.moved), (True, 0, 0))
        np.testing.assert_array_equal(cloth.positions(first), now)

    def test_near_sheets_are_separated(self):
        cloth = abut.Cloth()
        for i in range(2):
            cloth.add_sheet(sheet(8).transformed([0, 0, 0.004 * i]), thickness=0.01, bend=1e-4)
        self.assertEqual(cloth.untangle().moved, 0)
        report = cloth.untangle(separate=True)
        self.assertTrue(report.moved > 0 and report.gap > 0.004 and report.iterations == 0)
        with self.assertRaises(abut.ArgumentError):
            cloth.untangle(iterations=-1)

    def test_bodies_get_impulses(self):
        cloth = abut.Cloth(gravity=[0, 0, -9.81])
        cloth.add_sheet(sheet(8).transformed([0, 0, 0.53]), damping=1)
        box = cloth.add_body(abut.shape("box", size=1.2), [0, 0, -0.1])
        np.testing.assert_array_equal(cloth.body_impulse(box), np.zeros((2, 3)))
        parts = []
        for _ in range(90):
            cloth.step()
            parts.append(cloth.body_impulse(box, [1, 0, 0]))
        linear, angular = np.mean(parts[30:], axis=0)  # single steps vary
        weight = 0.2 * 9.81 / 60  # one square metre of 0.2 kg
        self.assertAlmostEqual(linear[2], -weight, delta=0.05 * weight)
        self.assertAlmostEqual(angular[1], -weight, delta=0.05 * weight)
        with self.assertRaisesRegex(abut.ArgumentError, "body is 3"):
            cloth.body_impulse(3)

    def test_attachments(self):
        cloth = abut.Cloth(gravity=[0, 0, -9.81])
        number = cloth.add_sheet(sheet(6))
        body = cloth.add_body(abut.shape("box", size=0.2), [0.5, 0.5, 0.15])
        start = cloth.positions(number)
        cloth.attach(number, [0, 6])
        cloth.attach(number, 48, body, stiffness=100)
        for i in range(1, 11):
            cloth.set_targets(number, [6], start[[6]] + [0, 0, 0.01 * i])
            cloth.set_body_positions(body, cloth.body_positions(body).astype(np.float32) + np.float32(0.01))
            cloth.step()
        np.testing.assert_array_equal(cloth.positions(number)[0], start[0])
        np.testing.assert_allclose(cloth.positions(number)[6], start[6] + [0, 0, 0.1], atol=1e-6)
        self.assertLess(cloth.positions(number)[24, 2], start[24, 2])
        cloth.detach(number, [0])
        for _ in range(5):
            cloth.step()
        self.assertLess(cloth.positions(number)[0, 2], -0.01)

    def test_seams(self):
        cloth = abut.Cloth()
        left, right = cloth.add_sheet(sheet(6)), cloth.add_sheet(sheet(6).transformed([1.3, 0, 0]))
        edge, other = range(6, 49, 7), range(0, 43, 7)
        cloth.sew(left, edge, right, other, length=0.02, stiffness=500, speed=1)
        reports = [cloth.step() for _ in range(60)]
        self.assertAlmostEqual(reports[0].seam_gap, 0.28, places=6)
        self.assertLess(reports[-1].seam_gap, 0.01)
        self.assertTrue(cloth.is_free())
        gap = cloth.positions(left)[list(edge)] - cloth.positions(right)[list(other)]
        self.assertLess(np.linalg.norm(gap, axis=1).max(), 0.03)
        state = cloth.save()
        cloth.unsew(right, other, left, edge)
        self.assertLess(len(cloth.save()), len(state))
        self.assertEqual(cloth.step().seam_gap, 0)
        cloth.restore(state)
        self.assertEqual(cloth.save(), state)
        cloth.sew(left, 0, left, 48)
        with self.assertRaisesRegex(abut.ArgumentError, "as many others, and 2 were given"):
            cloth.sew(left, [0], right, [1, 2])
        with self.assertRaisesRegex(abut.ArgumentError, r"seams\[0\] sews vertex 3 of sheet 0 to itself"):
            cloth.sew(left, 3, left, 3)
        with self.assertRaisesRegex(abut.ArgumentError, "vertices_b: index -1 is out of range"):
            cloth.sew(left, [0], right, [-1])
        with self.assertRaisesRegex(abut.ArgumentError, "vertices_a must be whole numbers"):
            cloth.unsew(left, [0.5], right, [0])
        with self.assertRaisesRegex(abut.ArgumentError, r"seams\[0\].speed is -1"):
            cloth.sew(left, 3, right, 3, speed=-1)

    def test_saved_and_restored(self):
        def build(gravity=-9.81):
            cloth = abut.Cloth(gravity=[0, 0, gravity], drag=0.2, body_may_lag=True)
            cloth.add_sheet(sheet(8).transformed([0, 0, 0.45]), bend=1e-4)
            cloth.add_body(abut.shape("icosphere", radius=0.4), UP)
            return cloth

        def run(cloth, first, last):
            for frame in range(first, last):
                cloth.set_body_pose(0, [0, 0, 0.01 * frame, 0, 0, 0, 1])
                cloth.step()
            return cloth.positions(0), cloth.velocities(0), cloth.body_positions(0)

        first, second = build(), build()
        first.attach(0, [0, 8])
        first.set_wind([1, 2, 0])
        run(first, 0, 8)
        state = first.save()
        end = run(first, 8, 16)
        for cloth in first, second:
            self.assertIs(cloth.restore(state), cloth)
            self.assertEqual(cloth.save(), state)
            for expected, found in zip(end, run(cloth, 8, 16)):
                np.testing.assert_array_equal(expected, found)
        second.restore(bytearray(state))
        for bad in b"", state[:-1], state[:50] + b"x" + state[51:]:
            with self.assertRaises(abut.FormatError):
                second.restore(bad)
        with self.assertRaisesRegex(TypeError, "state must be bytes, as save"):
            second.restore(3)
        with self.assertRaisesRegex(abut.ArgumentError, "other options"):
            build(-1).restore(state)
        self.assertEqual(second.save(), state)

    def test_fields(self):
        figure = abut.Character.figure("mannequin")
        radial = abut.RadialField(figure).set_pose(figure.pose("walk", 0))
        cloth = abut.Cloth(gravity=[0, -9.81, 0], ignore_self=True)
        number = cloth.add_sheet(sheet(16).transformed([0, 1.9, 0, 0.7071067811865476, 0, 0, 0.7071067811865476]))
        cloth.add_body(figure.mesh(figure.pose("walk", 0)))
        cloth.add_radial(radial)
        hits = 0
        for _ in range(40):
            report = cloth.step()
            hits += report.impacts
        self.assertEqual(report.guarantee.level, "unreliable")
        self.assertGreater(hits, 50)
        moved, depth = cloth.push_out(0.05)
        self.assertTrue(moved >= 0 and depth >= 0)
        self.assertGreater(cloth.positions(number)[:, 1].max(), 1)

    def test_one_of_each(self):
        cloth = abut.Cloth()
        number = cloth.add_sheet(sheet(1))
        cloth.add_body(abut.shape("box").transformed([0, 0, -3]))
        cloth.attach(number, 0)
        self.assertIn("1 sheet with 4 vertices, 1 body, 1 attachment>", repr(cloth))

    def test_equal_vertices(self):
        cloth = abut.Cloth()
        seam = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 0], [0, 2, 0]]
        cloth.add_sheet(abut.Mesh(seam, [[0, 1, 2], [3, 4, 5]]))
        with self.assertRaisesRegex(abut.ArgumentError, r"same position; welded\(\) merges"):
            cloth.step()

    def test_changes(self):
        cloth = abut.Cloth(gravity=[0, 0, -9.81])
        self.assertEqual(cloth.add_body(abut.shape("box"), [0, 0, -2]), 0)
        empty = cloth.step()  # without a sheet
        self.assertEqual((empty.self_scheme, empty.self_reason, empty.fraction), ("auto", "", 1))
        first, second = cloth.add_sheet(sheet()), cloth.add_sheet(sheet().transformed([0, 0, 1]))
        found = cloth.step()
        self.assertEqual((found.self_scheme, found.self_reason), ("complete", "cost"))  # two sheets
        cloth.attach(second, [0])
        cloth.attach(first, [1], 0, stiffness=5)
        cloth.remove_body(0)
        positions, velocities = cloth.positions(second), cloth.velocities(second)
        cloth.remove_sheet(first)
        self.assertTrue((cloth.positions(second) == positions).all())
        self.assertTrue((cloth.velocities(second) == velocities).all() and velocities[3, 2] < 0)
        self.assertIn("1 sheet with", repr(cloth))
        self.assertIn("0 bodies, 1 attachment>", repr(cloth))
        for removed in (
            lambda: cloth.positions(first),
            lambda: cloth.remove_sheet(first),
            lambda: cloth.set_body_pose(0, [0, 0, 0]),
            lambda: cloth.set_body_positions(0, [[0, 0, 0]]),
        ):
            with self.assertRaisesRegex(abut.ArgumentError, "0 was removed"):
                removed()
        self.assertEqual(cloth.add_sheet(abut.shape("sheet", segments=3, rings=3)), first)
        cloth.step()
        self.assertEqual(cloth.positions(first).shape, (16, 3))
        self.assertTrue(cloth.is_free())

    def test_control_c(self):
        program = (
            "import abut, os, signal, threading, time\n"
            "cloth = abut.Cloth(gravity=[0, 0, -9.81], substeps=1000)\n"
            "cloth.add_sheet(abut.shape('sheet', segments=100, rings=100), bend=1e-4)\n"
            "start = cloth.positions(0)\n"
            "threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
            "begin = time.monotonic()\n"
            "try:\n    cloth.step(); print('finished')\n"
            "except KeyboardInterrupt:\n"
            "    print('stopped', time.monotonic() - begin < 1.5, (cloth.positions(0) == start).all())\n"
        )
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
        self.assertEqual((done.stdout, done.stderr), ("stopped True True\n", ""))

    def test_refusals(self):
        with self.assertRaisesRegex(abut.ArgumentError, "gravity"):
            abut.Cloth(gravity=[0, 0, np.nan])
        for wrong in (-9.81, [0, -9.81], [[0, 0, 1], [0, 0, 1]]):
            with self.assertRaisesRegex(abut.ArgumentError, "^gravity must be one vector of three numbers$"):
                abut.Cloth(gravity=wrong)
        with self.assertRaisesRegex(abut.ArgumentError, "^substeps is 1001; it must be from 0 to 1000"):
            abut.Cloth(substeps=1001)
        cloth = abut.Cloth()
        with self.assertRaisesRegex(abut.ArgumentError, "^bend is -1"):
            cloth.add_sheet(sheet(), bend=-1)
        number = cloth.add_sheet(sheet())
        cloth.add_sheet(sheet().transformed([0.1, 0.2, 0, 0.5, 0, 0, 1]))
        with self.assertRaisesRegex(abut.ArgumentError, r"intersects.* \bintersections\(\) lists them"):
            cloth.step()
        found = cloth.intersections()
        self.assertTrue(len(found) > 2 and not cloth.is_free())
        self.assertEqual((set(found["sheet"]), set(found["other_sheet"])), ({0}, {1}))
        self.assertEqual(set(found["other_body"]), {abut.NONE})
        for wrong in (lambda: cloth.positions(2), lambda: cloth.body_mesh(0), lambda: cloth.attach(2, [0])):
            with self.assertRaisesRegex(abut.ArgumentError, "there are"):
                wrong()
        with self.assertRaisesRegex(abut.ArgumentError, "as many points"):
            cloth.set_targets(number, [0, 1], [[0, 0, 0]])
        with self.assertRaisesRegex(abut.ArgumentError, "not attached"):
            cloth.set_targets(number, [0], [[0, 0, 0]])
        with self.assertRaisesRegex(abut.ArgumentError, "out of range"):
            cloth.attach(number, [-1])
        with self.assertRaisesRegex(abut.ArgumentError, "whole numbers"):
            cloth.attach(number, [0.5])
        with self.assertRaisesRegex(abut.ArgumentError, "radial fields"):
            cloth.push_out(1)


if __name__ == "__main__":
    unittest.main()
