"""Pages: what is in them is what was shown."""

import base64
import json
import os
import pathlib
import re
import struct
import tempfile
import unittest
import zlib

import numpy as np

import abut

SIZES = {"f32": "<f4", "f64": "<f8", "u32": "<u4", "u16": "<u2", "u8": "u1"}


def scene_of(text):
    """Head and arrays of a page."""
    packed = re.search(r'data-packing="deflate">([^<]*)<', text).group(1)
    data = zlib.decompress(base64.b64decode(packed))
    (length,) = struct.unpack("<I", data[:4])
    head, behind = json.loads(data[4 : 4 + length]), data[4 + length :]
    assert (4 + length) % 8 == 0
    arrays = []
    for kind, offset, count in head["arrays"]:
        assert offset % 8 == 0
        arrays.append(np.frombuffer(behind, SIZES[kind], count, offset))
    return head, arrays


class Pages(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        (self.folder / "viewer.js").write_text("/* the viewer */")
        os.environ["ABUT_VIEWER"] = str(self.folder)
        self.addCleanup(os.environ.pop, "ABUT_VIEWER", None)

    def test_places(self):
        box, ring = abut.shape("box"), abut.shape("torus")
        turn = np.array([[5, 1, 2, 0, 0, np.sqrt(0.5), np.sqrt(0.5)], [6, 1, 2, 0, 0, 0, 1]])
        page = abut.show(box, ring, poses=[None, turn], title="a <b>")
        head, arrays = scene_of(page.html)
        self.assertIn("the viewer", page.html)
        self.assertIn("<title>a &lt;b&gt;</title>", page.html)
        self.assertEqual(head["frames"], 2)
        for i, (mesh, at) in enumerate(((box, [[0, 0, 0, 0, 0, 0, 1]]), (ring, turn))):
            layer = head["layers"][i]["bodies"][0]
            made = head["meshes"][layer["mesh"]]
            local = arrays[made["positions"]].reshape(-1, 3)
            np.testing.assert_array_equal(arrays[made["indices"]].reshape(-1, 3), mesh.faces)
            for k, pose in enumerate(arrays[layer["poses"]].reshape(-1, 7)):
                x, y, z, w = pose[:4]
                rotation = np.array(
                    [
                        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
                    ]
                )
                shown = np.array(head["centre"]) + (local @ rotation.T + pose[4:]) / head["scale"]
                qx, qy, qz, qw = at[k][3:]
                self.assertEqual((qx, qy), (0, 0))
                c, s = qw * qw - qz * qz, 2 * qz * qw
                true = mesh.vertices @ np.array([[c, s, 0], [-s, c, 0], [0, 0, 1]]) + at[k][:3]
                np.testing.assert_allclose(shown, true, atol=1e-5)

    def test_names(self):
        box, ring = abut.shape("box"), abut.shape("torus")
        names = [layer["name"] for layer in scene_of(abut.show(box, ring).html)[0]["layers"]]
        self.assertEqual(names, ["mesh 0", "mesh 1"])
        names = [
            layer["name"] for layer in scene_of(abut.show(box, ring, names=["plate", "</script>"]).html)[0]["layers"]
        ]
        self.assertEqual(names, ["plate", "</script>"])
        for wrong in (["plate"], "ab", []):
            with self.assertRaisesRegex(ValueError, "names must be 2 texts"):
                abut.show(box, ring, names=wrong)

    def test_values_and_contacts(self):
        ball = abut.shape("icosphere", segments=4)
        values = ball.vertices[:, 2].copy()
        values[0] = np.nan
        found = abut.contacts(ball, abut.shape("box"), pose_b=[0.9, 0, 0, 0, 0, 0, 1])
        head, arrays = scene_of(ball.show(values=values, what="height", contacts=found).html)
        body = head["layers"][0]["bodies"][0]
        np.testing.assert_allclose(arrays[body["values"]], values, atol=1e-6)
        ramp = head["scales"][head["layers"][0]["scale"]]
        self.assertEqual((ramp["what"], ramp["least"], ramp["most"]), ("height", np.nanmin(values), np.nanmax(values)))
        arrows = head["layers"][1]
        ends = arrays[arrows["places"]].reshape(-1, 2, 3) / head["scale"] + head["centre"]
        np.testing.assert_allclose(ends[:, 0], found.point, atol=1e-5)
        np.testing.assert_array_equal(arrays[arrows["facts"][0]["values"]], found.depth)

    def test_films_points_and_fields(self):
        sheet, rng = abut.shape("sheet", segments=4, rings=4), np.random.default_rng(1)
        film = sheet.vertices + rng.normal(scale=0.1, size=(5, *sheet.vertices.shape)) + (9, 0, 0)
        dots = rng.uniform(8, 10, (5, 7, 3))
        field = abut.Field(abut.shape("box"), cells=12)
        page = abut.show(sheet, abut.shape("box"), vertices=[film, None], points=dots, field=field)
        head, arrays = scene_of(page.html)
        self.assertEqual(head["frames"], 5)
        body = head["layers"][0]["bodies"][0]
        steps = np.cumsum(arrays[body["vertices"]].reshape(5, -1, 3).astype(np.int64), axis=0) % 65536
        low, high = np.array(body["low"]), np.array(body["high"])
        local, pose = low + steps / 65535 * (high - low), arrays[body["poses"]]
        np.testing.assert_allclose((local + pose[4:]) / head["scale"] + head["centre"], film, atol=1e-4)
        self.assertNotIn("vertices", head["layers"][1]["bodies"][0])
        grid, points = head["layers"][2:]
        self.assertEqual((grid["kind"], points["kind"]), ("field", "points"))
        np.testing.assert_array_equal(arrays[grid["values"]].reshape(grid["count"][::-1]), field.array)
        np.testing.assert_allclose(np.array(grid["origin"]) / head["scale"] + head["centre"], field.origin, atol=1e-12)
        self.assertAlmostEqual(grid["cell"] / head["scale"], field.cell)
        shown = arrays[points["places"]].reshape(5, 7, 3) / head["scale"] + head["centre"]
        np.testing.assert_allclose(shown, dots, atol=1e-5)
        self.assertEqual(arrays[points["begin"]].tolist(), [0, 7, 14, 21, 28])
        fine, _ = scene_of(abut.show(field=abut.Field.from_array(rng.normal(size=(3, 5, 200)))).html)
        self.assertEqual((fine["layers"][0]["count"], len(fine["meshes"])), ([100, 3, 2], 0))
        world = abut.World()
        world.add(abut.Plane()), world.add(abut.shape("box"))
        self.assertEqual(
            scene_of(abut.show(points=[[1, 2, 3]], contacts=world.step()).html)[0]["layers"][0]["kind"], "arrows"
        )
        for wrong in (
            dict(vertices=[film[:, 1:]]),
            dict(vertices=[film * np.nan]),
            dict(vertices=[film, film]),
            dict(points=[1, 2, 3]),
            dict(points=np.zeros((0, 3))),
            dict(points=[[np.inf, 0, 0]]),
            dict(vertices=[film], poses=[np.tile([0, 0, 0, 0, 0, 0, 1], (3, 1))]),
            dict(poses=[[np.nan] * 7]),
            dict(poses=[np.zeros((0, 7))]),
        ):
            with self.assertRaises(ValueError):
                sheet.show(**wrong)
        for wrong in (dict(field=film), dict(contacts=film)):
            with self.assertRaises(TypeError):
                sheet.show(**wrong)

    def test_files_and_notebooks(self):
        page = abut.shape("box").show(height=300)
        page.save(self.folder / "page.html")
        self.assertEqual((self.folder / "page.html").read_text("utf-8"), page.html)
        self.assertIn('height="300"', page._repr_html_())
        self.assertNotIn("<script", page._repr_html_())  # all of it is in an attribute

    def test_wrong(self):
        box = abut.shape("box")
        with self.assertRaisesRegex(ValueError, "no mesh"):
            abut.show()
        with self.assertRaisesRegex(ValueError, "one each"):
            box.show(values=[1, 2])
        with self.assertRaisesRegex(ValueError, "poses for 1"):
            abut.show(box, poses=[None, None])
        with self.assertRaisesRegex(ValueError, "2 and 3 moments"):
            abut.show(box, box, poses=[np.tile([0, 0, 0, 0, 0, 0, 1], (k, 1)) for k in (2, 3)])
        with self.assertRaises(TypeError):
            abut.show("box")
        still = scene_of(abut.show(box, poses=[[1, 0, 0, 0, 0, 0, 0]]).html)
        self.assertEqual(still[1][still[0]["layers"][0]["bodies"][0]["poses"]][:4].tolist(), [0, 0, 0, 1])
        for values in ([1e308, -1e308], [0.1, 0.3], [5e-324, 0], [3e37, 3e37], [1e300, 1e300], [np.nan, np.inf]):
            given = np.resize(values, box.vertex_count)
            if values[0] > 1e38:
                with self.assertRaisesRegex(ValueError, "too large"):
                    box.show(values=given)
            else:
                head, _ = scene_of(box.show(values=given).html)
                ramp = head["scales"][0]
                self.assertTrue(ramp["least"] < ramp["most"] and 0 < ramp["step"] <= ramp["most"] - ramp["least"])
        os.environ["ABUT_VIEWER"] = str(self.folder / "none")
        with self.assertRaisesRegex(NotImplementedError, "viewer/build"):
            box.show().save(self.folder / "x.html")
        self.assertFalse((self.folder / "x.html").exists())


if __name__ == "__main__":
    unittest.main()
