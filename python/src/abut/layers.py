"""Interference of many closed solids: which pairs overlap, and their common volume."""

from __future__ import annotations

import ctypes
from typing import Any, Literal, Optional, Sequence, Union

import numpy as np

from . import _c, device as _device
from ._arrays import (
    Array,
    ArrayLike,
    batch,
    host,
    moves,
    pointer,
    pose as read_pose,
    poses as read_poses,
    record,
    vectors,
)
from ._core import (
    ArgumentError,
    Guard,
    Handle,
    Owner,
    byref,
    call,
    check,
    context,
    fits,
    lib,
    number,
    options,
)
from .collider import Hull
from .mesh import Mesh, listed, mesh_of
from .report import reliability, warn_unless_guaranteed


class Interferences:
    """Pairs of solids that overlap or touch, sorted by a, then by b.

    a, b (n,)         ids of the solids, a < b
    depth (n,)        the longest overlap along a ray, in the view in which it is shortest. It has no error bound. NaN
                      with method="volume", which draws no images
    volume (n,)       of the overlap: exact with method="volume", otherwise within volume_error of the records
    normal (n, 3)     from b to a; zero if unknown
    centre (n, 3)     of the overlap
    records           all measures of each pair; see docs/layers.md
    reliability       the lowest reliability of all meshes
    """

    def __init__(self, records: Array, worth: Any) -> None:
        self.records = records
        self.a, self.b = records["a"], records["b"]
        self.depth = np.where(records["view_count"] > 0, records["depth"], np.nan)
        self.volume = records["volume"]
        self.normal, self.centre = records["normal"], records["centre"]
        self.reliability = warn_unless_guaranteed(reliability(worth))

    @property
    def pairs(self) -> Array:
        """(n, 2): ids of the solids of each pair."""
        return np.stack([self.a, self.b], axis=1)

    def __len__(self) -> int:
        return len(self.records)

    def __repr__(self) -> str:
        return f"<abut.Interferences: {len(self)} pairs>"


MethodName = Literal["volume", "exact", "images"]
METHODS = ("volume", "exact", "images")


class Layers(Owner):
    """Finds the overlaps of closed solids that move and deform. There is no preprocessing: poses and shapes may
    change with every query. See interfere() for methods. `cap` closes holes with triangle fans.

    >>> import abut
    >>> layers = abut.Layers()
    >>> a, b = (layers.add(abut.shape("box")) for _ in range(2))
    >>> [len(layers.set_poses({b: [x, 0, 0, 0, 0, 0, 1]}).find()) for x in (0.5, 2)]
    [1, 0]
    """

    _instead = "make another one and add its solids"

    def __init__(self, *, cap: bool = False, device: _device.Selector = None) -> None:
        self._handle = Handle(lib.abut_layers_destroy, guard=Guard())
        given = options(_c.abut_layers_options, cap=cap, device=_device.pointer(_device.find(device)))
        check(lib.abut_layers_create(context(), byref(given), self._handle.out))
        self._counts: dict[int, int] = {}

    def add(self, shape: Union[Mesh, Hull], pose: ArrayLike = None, *, group: int = 0, mask: int = 0) -> int:
        """Adds a solid, a Mesh or a Hull, and returns its id. A pair is tested if the group of each solid is in the mask
        of the other.
        Each group is a bit; group 0 selects the first group, mask 0 selects all."""
        mesh = mesh_of(shape.mesh if isinstance(shape, Hull) else shape, "shape")
        handle = mesh._handle
        item = options(_c.abut_layers_item, group=number(group, "group"), mask=number(mask, "mask"))
        item.collider.kind, item.collider.pose = _c.ABUT_COLLIDER_MESH, read_pose(pose, "pose")
        item.collider.shape.mesh.mesh = handle.value
        made = ctypes.c_uint32()
        with self._handle.alone():
            call(lib.abut_layers_add, self._handle, byref(item), byref(made), uses=[handle])
            self._counts[made.value] = mesh.vertex_count
        return made.value

    def remove(self, solid: int) -> None:
        """Removes a solid. Its id may be used again."""
        with self._handle.alone():
            call(lib.abut_layers_remove, self._handle, number(solid, "the number of a solid"))
            del self._counts[solid]

    def set_poses(self, poses: ArrayLike, solids: Optional[Sequence[int]] = None) -> Layers:
        """Sets new poses: a dict {solid: pose}, or (k, 7) or (k, 4, 4) for these `solids`, by default for solids 0 to
        k - 1."""
        ids, placed = moves(poses, solids, "solid")
        if len(placed):
            where = None if ids is None else pointer(ids)
            call(lib.abut_layers_set_poses, self._handle, where, host(placed), len(placed))
        return self

    def set_positions(self, solid: int, positions: Optional[ArrayLike]) -> Layers:
        """Sets new vertex positions (n, 3) of a solid, before its pose is applied. None restores those of its mesh."""
        array = None if positions is None else vectors(positions, "positions")[0]
        count = self._counts.get(number(solid, "the number of a solid"))
        if array is not None and count is not None and len(array) != count:
            raise ArgumentError(f"solid {solid} has {count} vertices, and {len(array)} positions were given")
        call(lib.abut_layers_set_positions, self._handle, solid, host(None) if array is None else batch(array))
        return self

    def find(self, method: MethodName = "volume", *, resolution: int = 0, tolerance: float = 0) -> Interferences:
        """Finds the overlapping pairs at the current poses."""
        if method not in METHODS:
            raise ArgumentError(f"method {method!r} is none of {', '.join(map(repr, METHODS))}")
        query = options(
            _c.abut_layers_query,
            resolution=number(resolution, "resolution"),
            tolerance=tolerance,
            measure_volume=method == "volume",
            is_exact=method == "exact",
        )
        result = options(_c.abut_layers_result)
        room = np.empty(max(64, 4 * len(self)), record(_c.abut_layers_pair))
        while True:
            result.pairs = _c.abut_layers_pair_list(pointer(room), len(room), 0)
            if fits(lib.abut_layers_find, self._handle, byref(query), byref(result)):
                return Interferences(room[: result.pairs.count].copy(), result.reliability)
            room = np.empty(result.pairs.count, record(_c.abut_layers_pair))

    def __len__(self) -> int:
        return len(self._counts)

    def __repr__(self) -> str:
        return f"<abut.Layers of {len(self)} solids>"


def interfere(
    meshes: Sequence[Mesh],
    poses_of: Optional[ArrayLike] = None,
    *,
    method: MethodName = "volume",
    resolution: int = 0,
    tolerance: float = 0,
    cap: bool = False,
    device: _device.Selector = None,
) -> Interferences:
    """Finds the pairs of closed solids that overlap, at the given poses.

    method: "volume"  all pairs that overlap or touch and no others, with exact volumes, from the triangles
            "exact"   the same pairs, measured in images
            "images"  pairs that overlap along a ray of the images; overlaps smaller than a pixel can be missed. The
                      cost is linear in the number of solids and triangles
    `resolution` is the number of pixels of the images along the longer side; 0 = 1,024.
    Meshes with holes are refused, unless `cap` closes them with triangle fans.

    >>> import abut
    >>> box = abut.shape("box")
    >>> found = abut.interfere([box, box, box], [[0, 0, 0, 0, 0, 0, 1], [0.5, 0, 0, 0, 0, 0, 1], [9, 0, 0, 0, 0, 0, 1]])
    >>> found.pairs.tolist(), found.volume.round(9).tolist()
    ([[0, 1]], [0.5])
    """
    meshes = [mesh_of(mesh, "each of the meshes") for mesh in listed(meshes)]
    placed, _ = read_poses(poses_of, "poses_of")
    if placed is not None and len(placed) != len(meshes):
        raise ArgumentError(f"{len(meshes)} meshes and {len(placed)} poses")
    layers = Layers(cap=cap, device=device)
    for place, mesh in enumerate(meshes):
        try:
            layers.add(mesh)
        except ArgumentError as problem:
            raise ArgumentError(f"meshes[{place}]: {problem}") from None
    if placed is not None:
        layers.set_poses(poses_of)
    return layers.find(method, resolution=resolution, tolerance=tolerance)
