"""Meshes from files, generated models, convex hulls, and concatenated meshes."""

from __future__ import annotations

import ctypes
import os
from typing import Literal, Optional, Sequence, Union

import numpy as np

from . import _c, device as _device
from ._arrays import ArrayLike, doubles, pointer
from ._core import byref, check, context, lib, number, options, path_bytes, value_of
from .mesh import Mesh, Path, handles, mesh_of

ShapeName = Literal[
    "box",
    "uvsphere",
    "icosphere",
    "torus",
    "cone",
    "cylinder",
    "capsule",
    "tube",
    "sheet",
    "stairs",
    "letter-e",
    "letter-g",
    "teapot",
    "teapot-solid",
]


def load(path: Path, *, format: str = "auto", uv: bool = False, device: _device.Selector = None) -> Mesh:
    """Reads a mesh from OBJ, PLY, STL, OFF, glTF or GLB. With `uv` also its texture coordinates, from OBJ and glTF.

    >>> import abut, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "ball.ply")
    >>> abut.shape("icosphere").save(path)
    >>> abut.load(path).report().is_closed
    True
    """
    text = os.fspath(path)
    given = options(_c.abut_mesh_read_options, format=value_of("abut_mesh_format", format), uv=uv)
    return Mesh._made(lib.abut_mesh_read, context(), path_bytes(text), byref(given), device=device, path=text)


def shape(
    kind: ShapeName,
    *,
    size: Optional[ArrayLike] = None,
    radius: float = 0,
    radius2: float = 0,
    height: float = 0,
    segments: int = 0,
    rings: int = 0,
) -> Mesh:
    """Generates a model: "box", "uvsphere", "icosphere", "torus", "cone", "cylinder", "capsule", "tube", "sheet",
    "stairs", "letter-e", "letter-g", "teapot" or "teapot-solid". `size` has three lengths along the axes,
    or one length for all. Parameters that are 0 have their default.

    >>> import abut
    >>> abut.shape("torus", segments=24, rings=12)
    <abut.Mesh of 288 vertices, 576 triangles>
    """
    made = _c.abut_shape()
    made.size = ctypes.sizeof(made)
    kind_value = ctypes.c_int()
    check(lib.abut_shape_kind_from_name(str(kind).encode(), byref(kind_value)))
    made.kind = kind_value.value
    if size is not None:
        made.extent = _c.abut_vec3(*map(float, np.broadcast_to(np.asarray(size, float), 3)))
    made.radius, made.radius2, made.height = radius, radius2, height
    made.segments, made.rings = number(segments, "segments"), number(rings, "rings")
    return Mesh._made(lib.abut_shape_create, context(), byref(made))


def hull(p: Union[Mesh, ArrayLike]) -> Mesh:
    """Computes the convex hull of points (n, 3), or of the vertices of a mesh: closed, facing outwards.

    >>> import abut
    >>> abut.hull(abut.shape("box", segments=1)).triangle_count
    12
    """
    if hasattr(p, "vertices") and hasattr(p, "faces"):
        p = mesh_of(p, "points").vertices
    array, _ = doubles(p, "points")
    return Mesh._made(lib.abut_mesh_create_hull, context(), pointer(array), len(array))


def join(meshes: Sequence[Mesh]) -> Mesh:
    """Concatenates meshes in order. Vertices are not merged."""
    parts, addresses = handles(meshes)
    return Mesh._made(lib.abut_mesh_join, addresses, len(parts))
