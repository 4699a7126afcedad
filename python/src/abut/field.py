"""Signed distance fields: distances to a mesh on a grid, negative inside."""

from __future__ import annotations

import ctypes
import os
from typing import Any, Literal, NamedTuple, Optional

import numpy as np

from . import _c, device as _device
from ._arrays import Array, ArrayLike, Floats, batch, grid, pointer, record, rows_of, vec
from ._core import (
    ArgumentError,
    Guard,
    Handle,
    Owner,
    byref,
    context,
    get,
    lib,
    need,
    number,
    options,
    path_bytes,
    run,
    value_of,
)
from .mesh import Mesh, Path, mesh_of
from .report import Reliability, reliability


class FieldValue(NamedTuple):
    """Values of a field at points."""

    value: Array
    """(n,): signed distances, negative inside."""
    gradient: Array
    """(n, 3): gradients of the interpolated field. They point away from the mesh, with a length near 1."""


def _handle() -> Handle:
    return Handle(lib.abut_field_destroy, guard=Guard(shares=True))


class Field(Owner):
    """A signed distance field of a mesh, with `cells` cubic cells along its longest side, or with cells of size
    `cell`. Values at the centres of cells are exact distances, rounded once to float32. Between them the field is
    interpolated.

    `band` limits the computed distances to a narrow band. layout: "dense" or "sparse"; type: "float" or "int16".
    `cache` is a folder for computed fields; "" selects the cache folder of the user.

    >>> import abut
    >>> field = abut.Field(abut.shape("icosphere", segments=8), cells=32)
    >>> value, gradient = field.evaluate([[0, 0, 0.5], [0, 0, 0.25]])
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
        """Reads an .abutf file."""
        text, handle = os.fspath(path), _handle()
        run(lib.abut_field_read, context(), path_bytes(text), handle.out, path=text)
        return cls._of(handle)

    @classmethod
    def from_array(cls, values: ArrayLike, origin: ArrayLike = (0, 0, 0), cell: float = 1) -> Field:
        """Creates a field from distances [z, y, x]. `origin` is the centre of the first cell."""
        array = np.ascontiguousarray(values, dtype=np.float32)
        if array.ndim != 3:
            raise ArgumentError(f"values must be of shape (z, y, x), not {array.shape}")
        grid = _c.abut_grid(_c.abut_vec3(*map(float, origin)), cell, (ctypes.c_uint32 * 3)(*array.shape[::-1]))
        handle = _handle()
        run(lib.abut_field_create_values, context(), byref(grid), pointer(array), handle.out)
        return cls._of(handle)

    @property
    def _info(self) -> Any:
        return get(lib.abut_field_get_info, _c.abut_field_info, self._handle)

    @property
    def shape(self) -> tuple[int, int, int]:
        """The number of cells along z, y and x, as in `array`."""
        x, y, z = self._info.grid.count
        return z, y, x

    @property
    def origin(self) -> Floats:
        """The centre of the first cell. Element [k, j, i] of `array` is at origin + cell * (i, j, k)."""
        return vec(self._info.grid.origin)

    @property
    def cell(self) -> float:
        """The edge length of a cell."""
        return float(self._info.grid.cell)

    @property
    def reliability(self) -> Reliability:
        """The reliability of the signs."""
        return reliability(self._info.reliability)

    @property
    def array(self) -> Array:
        """All values, copied to a float32 array [z, y, x]."""
        made = np.empty(self.shape, np.float32)
        begin, count = (ctypes.c_uint32 * 3)(), (ctypes.c_uint32 * 3)(*made.shape[::-1])
        run(lib.abut_field_copy, self._handle, begin, count, pointer(made))
        return made

    def evaluate(self, p: ArrayLike, interpolation: Literal["linear", "cubic"] = "linear") -> FieldValue:
        """Interpolates values and gradients at points (n, 3), or at one point. interpolation: "linear" or "cubic"."""
        array, single = grid(p, "points")
        found = np.empty(len(array), record(_c.abut_field_value))
        run(
            lib.abut_field_evaluate_batch,
            self._handle,
            batch(array),
            len(array),
            value_of("abut_interpolation", interpolation),
            pointer(found),
        )
        return FieldValue(*rows_of(FieldValue, found, single, "distance", "gradient"))

    def surface(self, level: float = 0) -> Mesh:
        """Extracts the isosurface at distance `level` as a closed mesh: an offset surface, outwards if the level is
        positive. Raises ArgumentError if the isosurface leaves the grid; the message has the margin that the field
        needs. `Mesh.offset` chooses the margin automatically."""
        return Mesh._made(lib.abut_field_isosurface, self._handle, level)

    def set_mesh(self, mesh: Mesh) -> int:
        """Updates the field for a moved mesh with the same triangles. Returns the number of recomputed blocks."""
        count = ctypes.c_uint64()
        run(lib.abut_field_set_mesh, self._handle, mesh_of(mesh, "mesh")._handle, byref(count), alone=True)
        return count.value

    def combine(self, other: Field, how: Literal["union", "intersection", "difference"]) -> Field:
        """Combines the field with another on the same grid. how: "union", "intersection" or "difference"."""
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
        """Writes .abutf, .vti, .npy or .raw, by the extension."""
        text = os.fspath(path)
        run(lib.abut_field_write, self._handle, path_bytes(text), None, path=text)

    def __repr__(self) -> str:
        z, y, x = self.shape
        return f"<abut.Field of {x} x {y} x {z} cells of {self.cell:.6g}>"
