"""Pages for browsers and notebooks: meshes, values in colour, contacts as arrows, poses over time.

A page is one HTML file with the viewer inside; its format is in docs/viewer.md. The viewer is a
file viewer.js that viewer/build makes; wheels have it, elsewhere ABUT_VIEWER names it.
"""

from __future__ import annotations

import base64
import html
import json
import os
import pathlib
import struct
import sys
import zlib
from typing import Any, Optional, Sequence

import numpy as np

from ._arrays import Array, ArrayLike, Floats, doubles, matrices, poses as read_poses
from ._core import ArgumentError, UnsupportedError, need, version
from .mesh import Mesh, Path
from .pair import Contacts

_COLOURS = ((120, 168, 224), (240, 220, 130), (150, 205, 150), (225, 150, 130), (180, 160, 220), (150, 200, 205))
_STOPS = ((0, 68, 1, 84), (0.25, 59, 82, 139), (0.5, 33, 145, 140), (0.75, 94, 201, 98), (1, 253, 231, 37))  # viridis


def _viewer() -> str:
    here = pathlib.Path(__file__).parent
    asked = os.environ.get("ABUT_VIEWER")
    places = [pathlib.Path(asked), pathlib.Path(asked, "viewer.js")] if asked else []
    if not asked:
        places = [here / "viewer.js", pathlib.Path(sys.prefix, "share/abut/viewer.js")]
        places += [folder / "viewer/dist/viewer.js" for folder in here.parents[2:3]]
    for place in places:
        if place.is_file():
            return place.read_text("utf-8")
    raise UnsupportedError(
        "pages need the viewer, which is not here: run 'viewer/build' in the sources of abut (it needs node and "
        "npm), or let ABUT_VIEWER name a viewer.js"
    )


class Page:
    """A page with a scene. A notebook shows it; save() writes it to a file."""

    def __init__(self, title: str, scene: bytes, height: int) -> None:
        self._title, self._scene, self._height = title, scene, height

    @property
    def html(self) -> str:
        """The whole page."""
        packed = base64.b64encode(zlib.compress(self._scene)).decode()
        return (
            '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">\n'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{html.escape(self._title)}</title>\n<body>\n"
            f'<script type="text/plain" id="scene" data-packing="deflate">{packed}</script>\n'
            f"<script>\n{_viewer()}</script>\n</html>\n"
        )

    def save(self, path: Path) -> None:
        """Writes the page to a file."""
        text = self.html
        pathlib.Path(path).write_text(text, "utf-8")

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" width="100%" height="{self._height}" '
            'style="border: 0"></iframe>'
        )


class _Scene:
    """Arrays behind a head in JSON."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.arrays: list[list[Any]] = []

    def array(self, values: Any, kind: str) -> int:
        made = np.ascontiguousarray(values, {"f32": "<f4", "f64": "<f8", "u32": "<u4", "u8": "u1"}[kind])
        self.data += bytes(-len(self.data) % 8)
        self.arrays.append([kind, len(self.data), int(made.size)])
        self.data += made.tobytes()
        return len(self.arrays) - 1

    def packed(self, head: dict[str, Any]) -> bytes:
        text = json.dumps({**head, "arrays": self.arrays}, allow_nan=False).encode()
        text += b" " * ((4 - len(text)) % 8)
        return struct.pack("<I", len(text)) + text + bytes(self.data)


def _values(scene: _Scene, values: ArrayLike, mesh: Mesh) -> tuple[int, dict[str, Any]]:
    list_ = np.asarray(values, float)
    if list_.shape != (mesh.vertex_count,):
        raise ArgumentError(f"values have the shape {list_.shape}; {mesh.vertex_count} vertices need one each")
    finite = list_[np.isfinite(list_)]
    least, most = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    most = most if most - least > 1e-300 else least + max(1.0, abs(least))
    if max(-least, most) > 1e38:  # pages have floats
        raise ArgumentError(f"values from {least:g} to {most:g} are too large to show")
    half = (most - least) / 2
    tenth = 10.0 ** np.floor(np.log10(half))
    step = float(tenth * next((k for k in (5, 2) if k * tenth <= half), 1))
    stops = [[least + part * (most - least), *colour] for part, *colour in _STOPS]
    return scene.array(list_, "f32"), {"least": least, "most": most, "step": step, "stops": stops}


def show(
    *meshes: Mesh,
    poses: Optional[Sequence[ArrayLike]] = None,
    values: ArrayLike = None,
    what: str = "value",
    contacts: Optional[Contacts] = None,
    title: str = "abut",
    seconds: float = 1 / 30,
    up: Sequence[float] = (0, 0, 1),
    height: int = 480,
) -> Page:
    """A page of meshes, for a notebook or for save(). `poses` has one for each mesh: None, (7,) or (4, 4), or
    (k, 7) or (k, 4, 4) for k moments that are `seconds` apart. `values`, one a vertex of the first mesh, are
    its colours, called `what`. `contacts` are arrows.

    >>> import abut
    >>> page = abut.show(abut.shape("box"), abut.shape("torus"), poses=[None, [2, 0, 0, 0, 0, 0, 1]])
    """
    if not meshes:
        raise ArgumentError("there is no mesh to show")
    given = list(poses) if poses is not None else [None] * len(meshes)
    if len(given) != len(meshes):
        raise ArgumentError(f"{len(given)} poses for {len(meshes)} meshes")
    moves = []
    for i, mesh in enumerate(meshes):
        need(mesh, Mesh, "each of the meshes")
        at, _ = read_poses(given[i], f"poses[{i}]")
        at = np.zeros((1, 7)) if at is None else np.array(at)
        at[~at[:, :4].any(axis=1), 3] = 1  # no rotation, as for the library
        moves.append(at)
    frames = {len(move) for move in moves if len(move) != 1}
    if len(frames) > 1:
        raise ArgumentError(f"poses have {' and '.join(map(str, sorted(frames)))} moments")
    count = frames.pop() if frames else 1

    middles = [mesh.bounds.mean(axis=0) for mesh in meshes]
    places: list[Floats] = [at_of(moves[i], middles[i]) for i in range(len(meshes))]
    reach = [float(np.linalg.norm(mesh.bounds[1] - mesh.bounds[0])) / 2 for mesh in meshes]
    low = np.min([place.min(axis=0) - r for place, r in zip(places, reach)], axis=0)
    high = np.max([place.max(axis=0) + r for place, r in zip(places, reach)], axis=0)
    centre, size = (low + high) / 2, float(np.max(high - low))
    scale = 2.0 ** -np.ceil(np.log2(size)) if size > 0 else 1.0

    scene = _Scene()
    made: list[dict[str, int]] = []
    layers: list[dict[str, Any]] = []
    scales: list[dict[str, Any]] = []
    for i, mesh in enumerate(meshes):
        positions = scene.array((mesh.vertices - middles[i]) * scale, "f32")
        made.append({"positions": positions, "indices": scene.array(mesh.faces, "u32")})
        turned = np.concatenate([moves[i][:, :4], (places[i] - centre) * scale], axis=1)
        body: dict[str, Any] = {
            "mesh": i,
            "poses": scene.array(turned, "f32"),
            "colour": [*_COLOURS[i % len(_COLOURS)], 255],
        }
        layer: dict[str, Any] = {"kind": "bodies", "name": f"mesh {i}", "twoSided": True, "bodies": [body]}
        if i == 0 and values is not None:
            body["values"], ramp = _values(scene, values, mesh)
            body["colour"] = [184, 188, 196, 255]
            layer["smooth"], layer["scale"] = True, 0
            scales.append({"what": what, **ramp})
        layers.append(layer)
    if contacts is not None:
        need(contacts, Contacts, "contacts")
        start, _ = doubles(contacts.point, "contacts")
        way = np.asarray(contacts.normal) * np.maximum(np.asarray(contacts.depth), 0.05 * size)[:, None]
        ends = (np.concatenate([start, start + way], axis=1).reshape(-1, 3) - centre) * scale
        layers.append(
            {
                "kind": "arrows",
                "name": "contacts",
                "places": scene.array(ends, "f32"),
                "colours": scene.array(np.tile([170, 20, 30, 255], (len(start), 1)), "u8"),
                "facts": [{"name": "depth", "values": scene.array(contacts.depth, "f64")}],
            }
        )
    head: dict[str, Any] = {
        "abut": 1,
        "title": title,
        "command": "python",
        "version": version(),
        "unit": "",
        "centre": centre.tolist(),
        "scale": float(scale),
        "up": list(map(float, up)),
        "eye": [0.6, 0.55, 1] if float(up[1]) > 0.9 else [0.6, -1, 0.55],
        "fov": 30,
        "ground": False,
        "meshes": made,
        "layers": layers,
        "scales": scales,
        "notes": [],
    }
    if count > 1:
        head.update(frames=count, stride=1, seconds=float(seconds))
    return Page(title, scene.packed(head), int(height))


def at_of(moves: Floats, point: Array) -> Floats:
    """Where poses (k, 7), in the order of the library, take a point."""
    at = matrices(moves)
    return np.asarray(at[:, :3, :3] @ point + at[:, :3, 3])
