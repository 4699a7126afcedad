"""Objects that threads share, and those that are pickled or copied: what once ended the interpreter."""

import copy
import os
import pickle
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import numpy as np

import abut
import referee
from abut import _core

# Each of these is done by several threads at once for a while, with one object for all of them.
PROGRAM = """
import sys, threading, time, warnings
import numpy as np
import abut

ball, ring = abut.shape("icosphere", segments=8), abut.shape("torus", segments=24, rings=12)
p = np.random.default_rng(1).uniform(-1, 1, (200, 3))
sheet = abut.shape("sheet", segments=8, rings=8)
warnings.filterwarnings("ignore", "limited: Depths (are those of|come from) radial fields", abut.ReliabilityWarning)


def refit():
    mesh = abut.shape("icosphere", segments=24)
    v, twice = mesh.vertices.copy(), mesh.vertices * 2
    other = [lambda: mesh.signed_distance(p), lambda: abut.overlap(mesh, ring, pose_b=[0.1, 0, 0]),
             lambda: mesh.report().volume, lambda: mesh.vertices.sum(), lambda: abut.contacts(mesh, ring)]
    return [lambda: mesh.set_positions(v), lambda: mesh.set_positions(twice), *other]


def world():
    made, body = abut.World(), []
    body.append(made.add(ball))
    body.append(made.add(ring, [0.3, 0, 0]))
    def step():
        found = made.step({body[0]: np.random.default_rng().uniform(-0.3, 0.3, 3)})
        assert all(len(pair.contacts) for pair in found), "events of another step"
    def change():
        made.remove(made.add(ball, [0, 0.2, 0]))
    return [step, step, change, lambda: made.sweep({body[0]: [0, 0, 3]}), lambda: made.item_info(body[1]), made.pairs]


def manager():
    made = abut.CollisionManager()
    for i in range(6):
        made.add_object(i, (ball, ring)[i % 2], [i, 0, 0])
    other, soft = abut.CollisionManager(), abut.shape("icosphere", segments=24)
    other.add_object("x", ball, [0.2, 0, 0])
    v, small = soft.vertices.copy(), soft.vertices / 2
    for each in (made, other):
        each.add_object("soft", soft, [0, 0, 0.3])
    many = np.zeros((50, 1, 3 + 4)) + (0.3, 0, 0, 0, 0, 0, 1)
    def change():
        name = threading.get_ident()
        made.add_object(name, ball, [0, 0.1, 0])
        made.remove_object(name)
    return [change, lambda: soft.set_positions(v), lambda: soft.set_positions(small),
            lambda: other.in_collision_many(many, ["x"]),
            lambda: made.set_transform(2, [0.5, 0, 0]), lambda: made.in_collision_internal(True, True),
            lambda: made.in_collision_other(other), lambda: other.in_collision_other(made), made.min_distance_internal]


def motion():
    made = abut.Motion([ball, ring])
    end = np.concatenate([ball.vertices + 0.1, ring.vertices])
    made.step(end)
    return [lambda: made.step(end), lambda: made.all(), lambda: made.earliest()]


def self_collision():
    made = abut.SelfCollision(sheet)
    return [lambda: made.step(sheet.vertices * (1, 0.5, 1)), lambda: made.step(sheet.vertices), made.sets, made.ghosts]


def layers():
    made = abut.Layers()
    made.add(ball), made.add(ring)
    def change():
        made.remove(made.add(ball))
    return [change, lambda: made.set_poses({0: np.random.default_rng().uniform(-1, 1, 3)}),
            lambda: made.find("exact", resolution=64)]


def distance_map():
    made = abut.DistanceMap(ball, 64)
    made.compute_distance([ring])
    return [lambda: made.compute_distance([ring], [[0.1, 0, 0]]), lambda: made.compute_self_distance(),
            lambda: made.measure(), lambda: made.contacts(0.1), lambda: made.texels]


def field():
    made, moved = abut.Field(ball, cells=16), abut.Mesh(ball.vertices * 1.01, ball.faces)
    return [lambda: made.set_mesh(moved), lambda: made.set_mesh(ball), lambda: made.evaluate(p),
            lambda: made.array, made.surface]


def radial():
    figure = abut.Character.figure("mannequin", triangles=8000)
    made = abut.RadialField(figure, 0.08)
    poses = [figure.pose("walk", t) for t in (0, 0.3)]
    made.set_pose(poses[0])
    own = abut.World()
    body = own.add(made)
    own.add(ball, [0, 1, 0])
    return [lambda: made.set_pose(poses[0]), lambda: made.set_pose(poses[1]), lambda: made.evaluate(p),
            lambda: own.set_positions(body, pose=poses[1]), own.step]


def work(calls, start, failures, end):
    turn = start
    try:
        while time.monotonic() < end:
            calls[turn % len(calls)]()
            turn += 1
    except BaseException as problem:
        failures.append(repr(problem))


for name in sys.argv[2:]:
    calls, failures = globals()[name](), []
    end = time.monotonic() + float(sys.argv[1])
    workers = [threading.Thread(target=work, args=(calls, i, failures, end)) for i in range(6)]
    for each in workers:
        each.start()
    for each in workers:
        each.join()
    assert not failures, (name, failures)
    print(name)
"""


class Threads(unittest.TestCase):
    def test_one_object_for_all(self):
        names = "refit world manager motion self_collision layers distance_map field radial".split()
        done = subprocess.run(
            [sys.executable, "-X", "faulthandler", "-c", PROGRAM, "0.4", *names],
            capture_output=True,
            text=True,
            timeout=240,
        )
        self.assertEqual(done.stderr, "")
        self.assertEqual((done.returncode, done.stdout.split()), (0, names))

    def test_a_refit_is_not_held_up_by_questions(self):
        """Six threads always query; a refit still gets its turn."""
        mesh, stop = abut.shape("icosphere", segments=16), threading.Event()
        p = np.random.default_rng(1).uniform(-1, 1, (300, 3))

        def query():
            while not stop.is_set():
                mesh.nearest(p)

        workers = [threading.Thread(target=query) for _ in range(6)]
        for each in workers:
            each.start()
        try:
            begin = time.monotonic()
            for k in range(5):
                mesh.set_positions(mesh.vertices * 1.01)
            self.assertLess(time.monotonic() - begin, 20)
        finally:
            stop.set()
            for each in workers:
                each.join()

    def test_readers_run_together_and_changes_alone(self):
        guard, state, inside, seen = _core.Guard(shares=True), _core._state, [0, 0], []

        def take(alone):
            guard.acquire(alone, _core._state)
            inside[alone] += 1
            seen.append(tuple(inside))
            time.sleep(0.02)
            inside[alone] -= 1
            guard.release()

        workers = [threading.Thread(target=take, args=(k % 5 == 4,)) for k in range(20)]
        for each in workers:
            each.start()
        for each in workers:
            each.join()
        self.assertTrue(all(alone == 0 or (alone == 1 and readers == 0) for readers, alone in seen))
        self.assertGreater(max(readers for readers, _ in seen), 1)
        self.assertEqual((state.held, guard._readers, guard._owner), ([], 0, 0))

    def test_a_reader_cannot_have_it_alone(self):
        """The refusal leaves the guard to other threads: readers do not wait, and who wants it alone gets it."""
        guard, state, done = _core.Guard(shares=True), _core._state, []
        guard.acquire(False, state)
        with self.assertRaisesRegex(abut.Error, "progress callback"):
            guard.acquire(True, state)

        def read():
            guard.acquire(False, _core._state)
            done.append("read")
            guard.release()

        def change():
            with guard, guard:
                done.append("changed")

        workers = [threading.Thread(target=work, daemon=True) for work in (read, change)]
        workers[0].start()
        workers[0].join(10)
        self.assertEqual(done, ["read"])
        workers[1].start()
        workers[1].join(0.05)
        self.assertEqual(done, ["read"])
        guard.release()
        workers[1].join(10)
        self.assertEqual(done, ["read", "changed"])
        self.assertEqual((guard._readers, guard._owner, guard._alone, guard._asleep), (0, 0, 0, 0))
        with guard:
            pass

    def test_an_interrupt_does_not_lock_out_its_thread(self):
        """Ctrl-C may end acquire() after any instruction."""
        guard, done = _core.Guard(), []

        def use():
            guard._lock.acquire()
            with guard:
                done.append(1)

        worker = threading.Thread(target=use, daemon=True)
        worker.start()
        worker.join(10)
        self.assertEqual(done, [1])

    @unittest.skipIf(sys.version_info < (3, 11), "older interpreters check for Ctrl-C between all instructions")
    def test_interrupts_leave_meshes_free(self):
        """Ctrl-C in a loop of short calls ends it, and a refit does not wait for a call that was interrupted."""
        a, b, rng, count = abut.shape("icosphere"), abut.shape("box"), np.random.default_rng(1), 0
        abut.overlap(a, b)
        before = signal.signal(signal.SIGALRM, signal.default_int_handler)  # a timer is as asynchronous as a terminal
        try:
            for wait in rng.uniform(0.0002, 0.001, 400):
                try:
                    signal.setitimer(signal.ITIMER_REAL, wait)
                    for _ in range(10000):
                        abut.overlap(a, b, pose_b=[9, 0, 0])
                except (KeyboardInterrupt, abut.CancelledError):
                    count += 1
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        self.assertGreater(count, 300)
        self.assertEqual([mesh._on_cpu().guard._readers for mesh in (a, b)] + _core._state.held, [0, 0])

    def test_one_order_for_all_threads(self):
        """Objects that call others while they are held come first; otherwise two threads wait for each other."""
        figure = referee.figure()
        world, fields = abut.World(), abut.RadialField(figure, 0.2)
        last = _core.MANY_MESHES.guard
        inner = [
            fields._handle.guard,
            abut.shape("box")._on_cpu().guard,
            abut.Field(abut.shape("box"), cells=4)._handle.guard,
        ]
        outer = [
            world._handle.guard,
            abut.CollisionManager()._guard,
            abut.DistanceMap(abut.shape("box"), 64)._handle.guard,
        ]
        self.assertLess(max(each.order for each in outer), min(each.order for each in inner))
        self.assertLess(max(each.order for each in inner), last.order)

    def test_rooms(self):
        """Refits run together, questions about many meshes too, but not both; neither waits for ever."""
        rooms, inside, seen = (_core.MANY_MESHES.guard, _core.A_REFIT.guard), [0, 0], []
        end = time.monotonic() + 1

        def take(which):
            while time.monotonic() < end:
                rooms[which].acquire(False, _core._state)
                with lock:
                    inside[which] += 1
                    counts[which] += 1
                    seen.append(tuple(inside))
                time.sleep(0.002)
                with lock:
                    inside[which] -= 1
                rooms[which].release()

        lock = threading.Lock()
        counts = [0, 0]
        workers = [threading.Thread(target=take, args=(k % 2,)) for k in range(8)]
        for each in workers:
            each.start()
        for each in workers:
            each.join()
        self.assertFalse(any(a and b for a, b in seen))
        self.assertGreater(min(counts), 10)
        self.assertEqual([room._inside for room in rooms] + [room._waiting for room in rooms], [0] * 4)

    def test_a_callback_cannot_use_the_object_at_work(self):
        mesh = abut.shape("torus", segments=64, rings=32)
        made, failures = abut.Field(mesh, cells=16), []

        def again(stage, fraction):
            if stage == "field" and not failures:
                made.evaluate([0, 0, 0])

        with abut.progress(again), self.assertRaisesRegex(abut.Error, "progress callback"):
            made.set_mesh(abut.Mesh(mesh.vertices * 1.1, mesh.faces))
        self.assertEqual(_core._state.held, [])
        made.set_mesh(mesh)

    def test_the_object_is_free_after_an_error(self):
        world = abut.World()
        with self.assertRaises(ValueError):
            world.remove(7)
        with self.assertRaises(TypeError):
            abut.shape("box").nearest([0, 0, 0], radius="far")
        self.assertEqual(_core._state.held, [])
        worker = threading.Thread(target=world.step)
        worker.start()
        worker.join(10)
        self.assertFalse(worker.is_alive())


class Copies(unittest.TestCase):
    def test_managers(self):
        manager = abut.CollisionManager()
        for name, x in ("a", 0), ("b", 0.9), ("c", 1.8), ("d", 5):
            manager.add_object(name, abut.shape("box"), [x, 0, 0])
        manager.ignore("b", "c")
        expected = manager.in_collision_internal(return_names=True)
        self.assertEqual(expected, (True, {("a", "b")}))
        for twin in (copy.copy(manager), copy.deepcopy(manager), pickle.loads(pickle.dumps(manager))):
            self.assertEqual(twin.in_collision_internal(return_names=True), expected)
            self.assertEqual(twin.min_distance_single(abut.shape("box"), [8, 0, 0]), 2)
        for copied in (copy.copy, copy.deepcopy):
            twin = copied(manager)
            twin.set_transform("a", [-5, 0, 0])
            self.assertEqual(manager.in_collision_internal(return_names=True), expected)
            self.assertEqual(twin.in_collision_internal(), False)
            twin.remove_object("b")
            twin.ignore("a", "d")
            self.assertEqual((len(manager), len(twin)), (4, 3))
            self.assertEqual(manager.in_collision_internal(return_names=True), expected)

    def test_a_manager_in_another_process(self):
        program = (
            "import abut, multiprocessing\n"
            "def query(manager): return manager.in_collision_internal(return_names=True)\n"
            "if __name__ == '__main__':\n"
            "    manager = abut.CollisionManager()\n"
            "    for name in 'ab': manager.add_object(name, abut.shape('box'))\n"
            "    with multiprocessing.get_context('spawn').Pool(1) as pool: print(pool.apply(query, [manager]))\n"
        )
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "program.py")
            with open(path, "w") as file:
                file.write(program)
            done = subprocess.run([sys.executable, path], capture_output=True, text=True, timeout=120)
        self.assertEqual((done.stdout, done.stderr), ("(True, {('a', 'b')})\n", ""))

    def test_meshes(self):
        mesh = abut.shape("icosphere")
        for twin in (mesh.copy(), copy.copy(mesh), copy.deepcopy(mesh), pickle.loads(pickle.dumps(mesh))):
            np.testing.assert_array_equal(twin.vertices, mesh.vertices)
            twin.set_positions(twin.vertices * 3)
            self.assertAlmostEqual(twin.bounds[1, 2], 3 * mesh.bounds[1, 2])
            self.assertAlmostEqual(twin.nearest([0, 0, 9]).distance, 9 - 3 * mesh.bounds[1, 2])
            self.assertAlmostEqual(mesh.nearest([0, 0, 9]).distance, 9 - mesh.bounds[1, 2])

    def test_what_cannot_be_copied_says_so(self):
        box, figure = abut.shape("box"), referee.figure()
        things = [
            (abut.World(), "bodies"),
            (abut.Field(box, cells=8), "save"),
            (abut.Motion([box]), "meshes"),
            (abut.SelfCollision(abut.shape("sheet")), "mesh"),
            (abut.Layers(), "solids"),
            (abut.DistanceMap(box, 64), "mesh"),
            (figure, "file"),
            (abut.RadialField(figure, 0.2), "character"),
        ]
        unraisable = []
        before, sys.unraisablehook = sys.unraisablehook, unraisable.append
        try:
            for thing, word in things:
                for way in (pickle.dumps, copy.copy, copy.deepcopy):
                    with self.assertRaisesRegex(TypeError, f"abut.{type(thing).__name__} cannot be pickled.*{word}"):
                        way(thing)
        finally:
            sys.unraisablehook = before
        self.assertEqual(unraisable, [])
