"""Interactive pages for browsers and notebooks: meshes, colour maps, contacts as arrows, points, fields, motion.

A page is one HTML file that contains the viewer; docs/viewer.md describes the format. The viewer is the file viewer.js
from viewer/build. The package contains it if npm was available at build time; otherwise set ABUT_VIEWER to its path.
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
from typing import Any, Optional, Sequence, Union

import numpy as np

from ._arrays import Array, ArrayLike, Floats, doubles, floats, matrices, poses as read_poses
from ._core import ArgumentError, UnsupportedError, find_file, need, version
from .field import Field
from .mesh import Mesh, Path, mesh_of
from .pair import Contacts
from .world import Step

_COLOURS = ((120, 168, 224), (240, 220, 130), (150, 205, 150), (225, 150, 130), (180, 160, 220), (150, 200, 205))
_STOPS = ((0, 68, 1, 84), (0.25, 59, 82, 139), (0.5, 33, 145, 140), (0.75, 94, 201, 98), (1, 253, 231, 37))  # viridis
_FIELD_CELLS = 192  # along a side: finer fields are subsampled


def _viewer() -> str:
    given = os.environ.get("ABUT_VIEWER")
    if given:
        places: list[Optional[pathlib.Path]] = [pathlib.Path(given), pathlib.Path(given, "viewer.js")]
    else:
        places = [find_file("viewer.js"), pathlib.Path(sys.prefix, "share/abut/viewer.js")]
        above = list(pathlib.Path(__file__).parents)  # Python 3.9 cannot slice parents itself
        places += [folder / "viewer/dist/viewer.js" for folder in above[3:4]]  # a checkout
    for place in places:
        if place and place.is_file():
            return place.read_text("utf-8")
    if given:
        raise UnsupportedError(
            f"ABUT_VIEWER is {given}, but there is no viewer.js; 'viewer/build' in the sources makes it"
        )
    raise UnsupportedError(
        "pages need the viewer, which this package does not contain because node, npm or a network was missing at build "
        "time: build the package again with them, or run 'viewer/build' in the sources of abut and set ABUT_VIEWER to the "
        "path of viewer/dist/viewer.js"
    )


class Page:
    """An interactive page. A notebook displays it; save() writes it to a file."""

    def __init__(self, title: str, scene: bytes, height: int) -> None:
        self._title, self._scene, self._height = title, scene, height

    @property
    def html(self) -> str:
        """Returns the page as HTML."""
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
    """Arrays after a JSON header."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.arrays: list[list[Any]] = []

    def array(self, values: Any, kind: str) -> int:
        made = np.ascontiguousarray(values, {"f32": "<f4", "f64": "<f8", "u32": "<u4", "u16": "<u2", "u8": "u1"}[kind])
        self.data += bytes(-len(self.data) % 8)
        self.arrays.append([kind, len(self.data), int(made.size)])
        self.data += made.tobytes()
        return len(self.arrays) - 1

    def packed(self, head: dict[str, Any]) -> bytes:
        text = json.dumps({**head, "arrays": self.arrays}, allow_nan=False).encode()
        text += b" " * ((4 - len(text)) % 8)
        return struct.pack("<I", len(text)) + text + bytes(self.data)


def _values(values: ArrayLike, mesh: Mesh) -> Floats:
    list_ = np.asarray(values, float)
    if list_.shape != (mesh.vertex_count,):
        raise ArgumentError(f"values have the shape {list_.shape}; {mesh.vertex_count} vertices need one each")
    return list_


def _ramp(list_: Array, what: str) -> dict[str, Any]:
    """Returns the colour scale of values: from the smallest to the largest finite value."""
    finite = list_[np.isfinite(list_)]
    least, most = (float(finite.min()), float(finite.max())) if len(finite) else (0.0, 1.0)
    most = most if most - least > 1e-300 else least + max(1.0, abs(least))
    if max(-least, most) > 1e38:  # pages store float32
        raise ArgumentError(f"values from {least:g} to {most:g} are too large to show")
    half = (most - least) / 2
    tenth = 10.0 ** np.floor(np.log10(half))
    step = float(tenth * next((k for k in (5, 2) if k * tenth <= half), 1))
    stops = [[least + part * (most - least), *colour] for part, *colour in _STOPS]
    return {"what": what, "least": least, "most": most, "step": step, "stops": stops}


def _film(given: ArrayLike, mesh: Mesh, what: str) -> Optional[Floats]:
    """Returns the positions of all vertices over time, (k, n, 3)."""
    if given is None:
        return None
    film = np.asarray(floats(given, what), np.float64)
    film = film[None] if film.ndim == 2 else film
    if film.ndim != 3 or film.shape[1:] != (mesh.vertex_count, 3) or not len(film):
        raise ArgumentError(f"{what} must be of shape (k, {mesh.vertex_count}, 3), not {np.shape(given)}")
    if not np.isfinite(film).all():
        raise ArgumentError(f"{what}: not all numbers are finite")
    return film


def _moving(film: Floats) -> tuple[Array, list[float], list[float]]:
    """Quantises positions to 1/65535 of their bounding box, as differences of frames. Returns them and the box."""
    low, high = film.min(axis=(0, 1)), film.max(axis=(0, 1))
    steps = np.rint((film - low) / np.where(high > low, high - low, 1) * 65535).astype(np.int64)
    return np.diff(steps, axis=0, prepend=0) % 65536, low.tolist(), high.tolist()


def show(
    *meshes: Mesh,
    names: Optional[Sequence[str]] = None,
    poses: Optional[Sequence[ArrayLike]] = None,
    vertices: Optional[Sequence[ArrayLike]] = None,
    values: ArrayLike = None,
    what: str = "value",
    contacts: Union[None, Contacts, Step] = None,
    points: ArrayLike = None,
    field: Optional[Field] = None,
    title: str = "abut",
    seconds: float = 1 / 30,
    up: Sequence[float] = (0, 0, 1),
    height: int = 480,
) -> Page:
    """Creates an interactive page of meshes, for a notebook or for save().

    names       one per mesh, for the list of the page; meshes of the same name are shown and hidden together
    poses       one per mesh: None, (7,) or (4, 4), or (k, 7) or (k, 4, 4) for k frames, `seconds` apart
    vertices    one per mesh: None, or the vertex positions of k frames (k, n, 3)
    values      one per vertex of the first mesh, shown as colours with the label `what`
    contacts    of contacts() or World.step(), shown as arrows
    points      (n, 3), or (k, n, 3) for k frames
    field       a Field, shown as movable slices and isosurfaces

    >>> import abut
    >>> page = abut.show(abut.shape("box"), abut.shape("torus"), poses=[None, [2, 0, 0, 0, 0, 0, 1]])
    """
    if not meshes and field is None and points is None:
        raise ArgumentError("there is no mesh to show")
    meshes = tuple(mesh_of(mesh, "each of the meshes") for mesh in meshes)
    if names is not None and (isinstance(names, str) or len(names := list(names)) != len(meshes)):
        raise ArgumentError(f"names must be {len(meshes)} texts, one for each mesh, not {names!r}")
    titles = [f"mesh {i}" for i in range(len(meshes))] if names is None else list(map(str, names))
    moves, films = _moments(meshes, poses, vertices)
    dots: list[Floats] = []
    if points is not None:
        given = np.asarray(floats(points, "points"), np.float64)
        if given.ndim not in (2, 3) or given.shape[-1] != 3 or not given.size or not np.isfinite(given).all():
            raise ArgumentError(f"points must be finite, of shape (n, 3) or (k, n, 3), not {given.shape}")
        dots = list(given if given.ndim == 3 else given[None])
    lengths = {len(move) for move in moves} | {len(film) for film in films if film is not None} | {len(dots)}
    frames = sorted(lengths - {0, 1})
    if len(frames) > 1:
        raise ArgumentError(f"poses, vertices and points have {' and '.join(map(str, frames))} moments")
    count = frames[0] if frames else 1

    boxes = [mesh.bounds if film is None else _box(film) for mesh, film in zip(meshes, films)]
    middles = [box.mean(axis=0) for box in boxes]
    places: list[Floats] = [at_of(move, middle) for move, middle in zip(moves, middles)]
    reach = [float(np.linalg.norm(box[1] - box[0])) / 2 for box in boxes]
    corners = [_box(place) + [[-r], [r]] for place, r in zip(places, reach)] + [_box(each) for each in dots]
    if field is not None:
        need(field, Field, "field")
        corners.append(field.origin + field.cell * np.array([(0, 0, 0), field.shape[::-1]]))
    low, high = (end(np.array(corners), axis=0)[i] for i, end in enumerate((np.min, np.max)))
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
        layer: dict[str, Any] = {"kind": "bodies", "name": titles[i], "twoSided": True, "bodies": [body]}
        film = films[i]
        if film is not None:
            film = film if len(film) == count else np.repeat(film, count, axis=0)
            steps, body["low"], body["high"] = _moving((film - middles[i]) * scale)
            body["vertices"] = scene.array(steps, "u16")
        if i == 0 and values is not None:
            list_ = _values(values, mesh)
            scales.append(_ramp(list_, what))
            body["values"] = scene.array(list_, "f32")
            body["colour"] = [184, 188, 196, 255]
            layer["smooth"], layer["scale"] = True, 0
        layers.append(layer)
    if field is not None:
        part = tuple(slice(None, None, max(1, -(-max(field.shape) // _FIELD_CELLS))) for _ in range(3))
        cells = field.array[part]
        layers.append(
            {
                "kind": "field",
                "name": "field",
                "count": list(cells.shape[::-1]),
                "origin": ((field.origin - centre) * scale).tolist(),
                "cell": float(field.cell * scale * (part[0].step or 1)),
                "values": scene.array(cells, "f32"),
                "scale": len(scales),
            }
        )
        scales.append(_ramp(cells, "distance"))
    if contacts is not None:
        layers.append(_arrows(scene, contacts, centre, scale, 0.05 * size))
    if dots:
        every = (np.concatenate(dots) - centre) * scale
        layer = {
            "kind": "points",
            "name": "points",
            "width": 5,
            "places": scene.array(every, "f32"),
            "colours": scene.array(np.tile([40, 70, 160, 255], (len(every), 1)), "u8"),
        }
        if len(dots) > 1:
            layer["begin"] = scene.array(np.cumsum([0] + [len(each) for each in dots[:-1]]), "u32")
        layers.append(layer)
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


def _moments(
    meshes: Sequence[Mesh], poses: Optional[Sequence[ArrayLike]], vertices: Optional[Sequence[ArrayLike]]
) -> tuple[list[Floats], list[Optional[Floats]]]:
    """Returns for each mesh its poses, at least one, and its vertex positions over time, or None."""
    given = {}
    for name, list_ in (("poses", poses), ("vertices", vertices)):
        given[name] = [None] * len(meshes) if list_ is None else list(list_)
        if len(given[name]) != len(meshes):
            raise ArgumentError(f"{len(given[name])} {name} for {len(meshes)} meshes")
    moves: list[Floats] = []
    films: list[Optional[Floats]] = []
    for i, mesh in enumerate(meshes):
        at, _ = read_poses(given["poses"][i], f"poses[{i}]")
        at = np.zeros((1, 7)) if at is None else np.array(at)
        if not len(at) or not np.isfinite(at).all():
            raise ArgumentError(f"poses[{i}]: there are none, or not all numbers are finite")
        at[~at[:, :4].any(axis=1), 3] = 1  # zeros mean no rotation, as in the library
        moves.append(at)
        films.append(_film(given["vertices"][i], mesh, f"vertices[{i}]"))
    return moves, films


def _box(places: Floats) -> Floats:
    """Returns the bounding box (2, 3) of points."""
    flat = places.reshape(-1, 3)
    return np.array((flat.min(axis=0), flat.max(axis=0)))


def _arrows(
    scene: _Scene, contacts: Union[Contacts, Step], centre: Floats, scale: float, least: float
) -> dict[str, Any]:
    if not isinstance(contacts, (Contacts, Step)):
        raise TypeError(f"contacts must be of abut.contacts() or World.step(), not {type(contacts).__name__}")
    start, _ = doubles(contacts.point, "contacts")
    way = np.asarray(contacts.normal) * np.maximum(np.asarray(contacts.depth), least)[:, None]
    ends = (np.concatenate([start, start + way], axis=1).reshape(-1, 3) - centre) * scale
    return {
        "kind": "arrows",
        "name": "contacts",
        "places": scene.array(ends, "f32"),
        "colours": scene.array(np.tile([170, 20, 30, 255], (len(start), 1)), "u8"),
        "facts": [{"name": "depth", "values": scene.array(contacts.depth, "f64")}],
    }


def at_of(moves: Floats, point: Array) -> Floats:
    """Transforms a point by poses (k, 7) in the order of the library."""
    at = matrices(moves)
    return np.asarray(at[:, :3, :3] @ point + at[:, :3, 3])
