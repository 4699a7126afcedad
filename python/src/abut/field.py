"""Signed distance fields: the distance to a mesh at every cell of a grid, negative inside."""

from __future__ import annotations

import ctypes
import os
from typing import Any, Literal, NamedTuple, Optional

import numpy as np

from . import _c, device as _device
from ._arrays import Array, ArrayLike, Floats, grid, one, pointer, points, record, vec
from ._core import (
    ArgumentError,
    Guard,
    Handle,
    Owner,
    byref,
    context,
    lib,
    need,
    number,
    options,
    path_bytes,
    run,
    value_of,
)
from .mesh import Mesh, Path, mesh_of
from .report import Advice, advice


class FieldValue(NamedTuple):
    """What a field says of points."""

    value: Array
    """(n): distances, negative inside."""
    gradient: Array
    """(n, 3): of what is interpolated; about 1 long, pointing away from the mesh."""


def _handle() -> Handle:
    return Handle(lib.abut_field_destroy, guard=Guard(shares=True))


class Field(Owner):
    """The distances of a mesh on a grid of cubes, `cells` of them along its longest side, or of size
    `cell`. Each is exact, then rounded once to float32; between centres of cells they are interpolated.

    `band` limits how far distances are looked for. layout: "dense" or "sparse"; type: "float" or "int16".
    `cache` is a folder where fields are kept, "" = the user's own.

    >>> import abut
    >>> field = abut.Field(abut.shape("icosphere", segments=8), cells=32)
    >>> value, gradient = field.at([[0, 0, 0.5], [0, 0, 0.25]])
    >>> value.round(2).tolist()
    [0.0, -0.25]
    >>> field.array.shape == field.shape
    True
    """

    _instead = "save() writes it to a file that load() reads; or make it again from its mesh"

    def __init__(
        self,
        mesh: Mesh,
        cells: int = 0,
        *,
        cell: float = 0,
        margin: float = 0,
        band: float = 0,
        layout: Literal["dense", "sparse"] = "dense",
        type: Literal["float", "int16"] = "float",
        cache: Optional[Path] = None,
        device: _device.Selector = None,
    ) -> None:
        mesh = mesh_of(mesh, "mesh")
        given = options(
            _c.abut_field_options,
            cells=number(cells, "cells"),
            cell=cell,
            margin=margin,
            band=band,
            layout=value_of("abut_field_layout", layout),
            type=value_of("abut_field_type", type),
            device=_device.pointer(mesh._device_or_own(device)),
            cache=None if cache is None else path_bytes(cache),
        )
        handle = _handle()
        run(lib.abut_field_create, mesh._handle, byref(given), handle.out)
        self._handle = handle

    @classmethod
    def _of(cls, handle: Handle) -> Field:
        made = cls.__new__(cls)
        made._handle = handle
        return made

    @classmethod
    def load(cls, path: Path) -> Field:
        """Reads an .abutf or .dcache file."""
        text, handle = os.fspath(path), _handle()
        run(lib.abut_field_read, context(), path_bytes(text), None, handle.out, path=text)
        return cls._of(handle)

    @classmethod
    def from_array(cls, values: ArrayLike, origin: ArrayLike = (0, 0, 0), cell: float = 1) -> Field:
        """From distances [z, y, x] that came from elsewhere; `origin` is the centre of the first cell."""
        array = np.ascontiguousarray(values, dtype=np.float32)
        if array.ndim != 3:
            raise ArgumentError(f"values must be of shape (z, y, x), not {array.shape}")
        grid = _c.abut_grid(_c.abut_vec3(*map(float, origin)), cell, (ctypes.c_uint32 * 3)(*array.shape[::-1]))
        handle = _handle()
        run(lib.abut_field_create_values, context(), byref(grid), pointer(array), handle.out)
        return cls._of(handle)

    @property
    def _info(self) -> Any:
        return lib.abut_field_info_get(self._handle)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Cells along z, y and x, as `array` has them."""
        x, y, z = self._info.grid.count
        return z, y, x

    @property
    def origin(self) -> Floats:
        """The centre of the first cell; cell [k, j, i] of `array` is at origin + cell (i, j, k)."""
        return vec(self._info.grid.origin)

    @property
    def cell(self) -> float:
        """Length of an edge."""
        return float(self._info.grid.cell)

    @property
    def advice(self) -> Advice:
        """What the signs are worth."""
        return advice(self._info.advice)

    @property
    def array(self) -> Array:
        """All values as a new float32 array [z, y, x]."""
        made = np.empty(self.shape, np.float32)
        begin, count = (ctypes.c_uint32 * 3)(), (ctypes.c_uint32 * 3)(*made.shape[::-1])
        run(lib.abut_field_copy, self._handle, begin, count, pointer(made))
        return made

    def at(self, p: ArrayLike, interpolation: Literal["linear", "cubic"] = "linear") -> FieldValue:
        """Values and gradients at points (n, 3), or at one; interpolation: "linear" or "cubic"."""
        array, single = grid(p, "points")
        found = np.empty(len(array), record(_c.abut_field_value))
        run(
            lib.abut_field_at_batch,
            self._handle,
            byref(points(array)),
            value_of("abut_interpolation", interpolation),
            pointer(found),
        )
        return FieldValue(one(found["distance"], single), one(found["gradient"], single))

    def surface(self, level: float = 0) -> Mesh:
        """The isosurface at distance `level`, a closed mesh: an offset, outwards where that is above 0. Raises
        ArgumentError, with the margin that the field needs, if the isosurface would leave the grid;
        `Mesh.offset` chooses the margin itself."""
        handle = Handle(lib.abut_mesh_destroy)
        run(lib.abut_field_isosurface, self._handle, level, handle.out)
        return Mesh._of(handle)

    def update(self, mesh: Mesh) -> int:
        """Follows a mesh with the same triangles that has moved; returns how many blocks were computed."""
        count = ctypes.c_uint64()
        run(lib.abut_field_update, self._handle, mesh_of(mesh, "mesh")._handle, byref(count), alone=True)
        return count.value

    def combine(self, other: Field, how: Literal["union", "intersection", "difference"]) -> Field:
        """ "union", "intersection" or "difference" with a field of the very same grid."""
        handle = _handle()
        run(
            lib.abut_field_combine,
            self._handle,
            need(other, Field, "other")._handle,
            value_of("abut_combination", how),
            handle.out,
        )
        return Field._of(handle)

    def save(self, path: Path) -> None:
        """Writes .abutf, .vti, .npy, .raw or .dcache by the ending of the name."""
        text = os.fspath(path)
        run(lib.abut_field_write, self._handle, path_bytes(text), None, path=text)

    def __repr__(self) -> str:
        z, y, x = self.shape
        return f"<abut.Field of {x} x {y} x {z} cells of {self.cell:.6g}>"
