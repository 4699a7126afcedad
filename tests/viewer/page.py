"""Reads the scene of a page, as docs/viewer.md describes it, by other means than the viewer."""
import array
import base64
import json
import re
import struct
import sys
import zlib

TYPES = {"f32": "f", "f64": "d", "u32": "I", "u16": "H", "u8": "B"}


def read_page(path):
    """The head of the scene, its arrays in place of their numbers where they are listed."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    found = re.search(r'<script type="text/plain" id="scene" data-packing="(\w+)">([A-Za-z0-9+/=]*)</script>', text)
    assert found, f"{path}: there is no scene"
    raw = base64.b64decode(found[2], validate=True)
    if found[1] == "deflate":
        raw = zlib.decompress(raw)
    length = struct.unpack_from("<I", raw)[0]
    assert (4 + length) % 8 == 0
    head = json.loads(raw[4:4 + length])
    head["arrays"] = [values(raw, 4 + length, *entry) for entry in head["arrays"]]
    return head


def values(raw, start, kind, offset, count):
    list_ = array.array(TYPES[kind])
    assert offset % 8 == 0
    list_.frombytes(raw[start + offset:start + offset + count * list_.itemsize])
    assert len(list_) == count
    if sys.byteorder == "big":
        list_.byteswap()
    return list_


def true_points(head, places):
    """Triples of a page as coordinates of the scene."""
    return [tuple(head["centre"][k] + places[i + k] / head["scale"] for k in range(3))
            for i in range(0, len(places), 3)]


def body_points(head, body, frame=0):
    """Where the vertices of a body are in a frame."""
    mesh = head["meshes"][body["mesh"]]
    local = head["arrays"][mesh["positions"]]
    if "vertices" in body:
        steps, now = head["arrays"][body["vertices"]], [0] * len(local)
        for k in range(frame + 1):
            now = [(a + steps[k * len(local) + i]) & 65535 for i, a in enumerate(now)]
        local = [body["low"][i % 3] + a / 65535 * (body["high"][i % 3] - body["low"][i % 3])
                 for i, a in enumerate(now)]
    poses = head["arrays"][body["poses"]]
    at = 7 * frame if len(poses) > 7 else 0
    x, y, z, w = poses[at:at + 4]
    found = []
    for i in range(0, len(local), 3):
        v = local[i:i + 3]
        c = (y * v[2] - z * v[1] + w * v[0], z * v[0] - x * v[2] + w * v[1], x * v[1] - y * v[0] + w * v[2])
        turned = (v[0] + 2 * (y * c[2] - z * c[1]), v[1] + 2 * (z * c[0] - x * c[2]), v[2] + 2 * (x * c[1] - y * c[0]))
        found += [turned[k] + poses[at + 4 + k] for k in range(3)]
    return true_points(head, found)
