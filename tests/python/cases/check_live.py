"""Live pages: a client of the server sees what show() shows, and its input becomes events."""

import http.client
import json
import os
import pathlib
import struct
import tempfile
import time
import unittest

import numpy as np

import abut


class LivePages(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        (pathlib.Path(folder.name) / "viewer.js").write_text("/* the viewer */")
        before = os.environ.get("ABUT_VIEWER")
        os.environ["ABUT_VIEWER"] = folder.name
        self.addCleanup(lambda: os.environ.update(ABUT_VIEWER=before) if before else os.environ.pop("ABUT_VIEWER"))
        self.ball, self.box = abut.shape("icosphere", segments=3), abut.shape("box")

    def request(self, live, path, body=None):
        host, _, token = live.url[len("http://") :].partition("/")
        connection = http.client.HTTPConnection(host, timeout=60)
        connection.request("POST" if body else "GET", "/" + token + path, body)
        answer = connection.getresponse()
        data = answer.read()
        connection.close()
        self.assertEqual(answer.status, 200, data)
        return data

    def message(self, live, after=0):
        """The header of what a page gets, with arrays in place of their indices."""
        data = self.request(live, f"next?after={after}")
        (length,) = struct.unpack_from("<I", data)
        head = json.loads(data[4 : 4 + length])
        kinds = {"f32": "<f4", "f64": "<f8", "u32": "<u4", "u8": "u1"}
        arrays = [np.frombuffer(data, kinds[kind], count, 4 + length + at) for kind, at, count in head["arrays"]]
        for layer in head["layers"]:
            for key in {"positions", "indices", "poses", "places", "colours", "items"} & set(layer):
                layer[key] = arrays[layer[key]]
        if "view" in head:
            head["view"] = arrays[head["view"]]
        return head

    def test_frames(self):
        with abut.Live(self.ball, self.box, names=["the ball", "the box"], movable=[False, True], title="two") as live:
            self.assertIn(b"data-live", self.request(live, ""))
            self.assertEqual(self.request(live, "viewer.js"), b"/* the viewer */")
            pose = [0, 0, 0.8, 0, 0, 0, 1]
            found = abut.contacts(self.ball, self.box, pose_b=pose)
            live.show([None, pose], contacts=found, text="line\n2 é")
            head = self.message(live)
            self.assertEqual((head["title"], head["text"]), ("two", "line\n2 é"))
            layers = {(layer["kind"], layer["name"]): layer for layer in head["layers"]}
            self.assertEqual(
                set(layers),
                {("bodies", "the ball"), ("bodies", "the box"), ("lines", "contacts"), ("points", "contacts")},
            )
            self.assertTrue(layers["bodies", "the box"]["movable"] and not layers["bodies", "the ball"]["movable"])
            centre, scale = head["view"][:3], head["view"][3]
            at = layers["points", "contacts"]["places"].reshape(-1, 3) / scale + centre
            np.testing.assert_allclose(at, found.point, atol=1e-6)
            np.testing.assert_array_equal(layers["bodies", "the ball"]["indices"], self.ball.faces.ravel())
            live.show([None, [0, 0, 3]], text="apart")  # the ball stays; there are no contacts now
            head = self.message(live, 1)
            self.assertEqual([(layer["id"], "positions" in layer) for layer in head["layers"]], [(1, False)])
            self.assertEqual(head["count"], 2)
            self.assertEqual(live.page_count >= 0, True)

    def test_vertices(self):
        with abut.Live(self.ball) as live:
            live.show()
            before = self.message(live)
            live.show(vertices=[self.ball.vertices * 2])
            live.show(vertices=[self.ball.vertices * 3])
            (layer,) = self.message(live, 1)["layers"]
            self.assertNotIn("indices", layer)
            (first,) = before["layers"]
            middle = np.zeros(3)  # of the ball
            np.testing.assert_allclose(
                np.ptp(layer["positions"].reshape(-1, 3) - middle, axis=0),
                3 * np.ptp(first["positions"].reshape(-1, 3), axis=0),
                rtol=1e-6,
            )
            self.assertLess(np.abs(self.ball.vertices).max(), 1.01, "the mesh of the caller is another one now")
            with self.assertRaisesRegex(abut.ArgumentError, "(?s)vert|posit"):
                live.show(vertices=[self.ball.vertices[1:]])

    def test_events(self):
        with abut.Live(self.ball, self.box, movable=True, controls=["pause", "stop"]) as live:
            live.show([None, [0, 0, 2]])
            self.assertEqual(live.events(), [])
            layer = self.message(live)["layers"][1]
            numbers = [0, 1, 1, *map(float, layer["poses"])]
            key = [6, ord("ä"), 0, 0, 0, 0, 0, 0, 0, 0]
            self.request(live, "input", struct.pack("<30d", *numbers, *key, 5, *[0] * 9))
            pose, key, stop = live.events(10)
            self.assertEqual((pose.kind, pose.body, pose.last), ("pose", 1, True))
            np.testing.assert_allclose(pose.pose, [0, 0, 2, 0, 0, 0, 1], atol=1e-6)
            self.assertEqual((key.kind, key.key, stop.kind), ("key", "ä", "stop"))
            begun = time.monotonic()
            self.assertEqual(live.events(0.1), [])
            self.assertGreaterEqual(time.monotonic() - begun, 0.1)

    def test_world_and_cloth(self):
        world = abut.World()
        ids = [world.add(self.ball), world.add(self.box, [0, 0, 0.8])]
        drape = abut.Cloth(gravity=[0, 0, -9.81])
        sheet = abut.shape("sheet", segments=4, rings=4)
        linen = drape.add_sheet(sheet, bend=1e-4)
        with abut.Live(self.ball, self.box, sheet) as live:
            for frame in range(3):
                pose = [0, 0, 0.8 - 0.1 * frame]
                drape.step(1 / 60)
                step = world.step({ids[1]: pose})
                live.show([None, pose, None], [None, None, drape.positions(linen)], contacts=step, text=str(frame))
            head = self.message(live)
            self.assertEqual((head["live"], head["text"]), (3, "2"))
            self.assertIn("contacts", [layer["name"] for layer in head["layers"]])

    def test_errors_and_end(self):
        for wrong, words in (
            (dict(names=["one"]), "names"),
            (dict(movable=[True]), "movable"),
            (dict(controls=["fly"]), "'fly'"),
            (dict(port=70000), "port"),
            (dict(title=3), "title must be a text, not 3"),
            (dict(unit=None), "unit must be a text"),
            (dict(up=[1, 2]), "up"),
        ):
            with self.assertRaisesRegex(abut.ArgumentError, words):
                abut.Live(self.ball, self.box, **wrong)
        live = abut.Live(self.ball, self.box)
        self.assertIn(live.url, repr(live))
        with self.assertRaisesRegex(abut.Error, "port"):
            abut.Live(self.ball, port=int(live.url.split(":")[2].split("/")[0]))
        for call, words in (
            (lambda: live.show([None]), "1 poses for 2"),
            (lambda: live.show([None, np.zeros((2, 7))]), "one pose"),
            (lambda: live.show(points=[[1, 2]]), "points"),
            (lambda: live.show(lines=[[1, 2, 3]]), "lines"),
            (lambda: live.show(points=[[1, 2, np.nan]]), "finite"),
            (lambda: live.events(-1), "wait"),
            (lambda: live.events("1"), "wait is '1'"),
            (lambda: live.show(text=3), "text must be a text, not 3"),
        ):
            with self.assertRaisesRegex(abut.ArgumentError, words):
                call()
        with self.assertRaises(TypeError):
            live.show(contacts=[1])
        live.close()
        live.close()
        self.assertIn("closed", repr(live))
        with self.assertRaisesRegex(abut.ArgumentError, "closed"):
            live.show()
        with self.assertRaises(ConnectionError):
            self.request(live, "")
