"""Which of many closed solids interpenetrate, and by how much."""

from __future__ import annotations

import ctypes
from typing import Any, Optional, Sequence

import numpy as np

from . import _c, device as _device
from ._arrays import Array, ArrayLike, pointer, poses, record
from ._core import ArgumentError, Handle, byref, check, context, fits, lib, need, number, options
from .mesh import Mesh, advice


class Interferences:
    """Pairs of solids that overlap, by a, then b.

    a, b (n)          numbers of the solids, a < b
    depth (n)         how deep, along the view in which it is least
    volume (n)        of the overlap: exact with method="volume", else within volume_error of the records
    normal (n, 3)     from b to a; zero = unknown
    centre (n, 3)     of the overlap
    records           all that is known of each; see abut_layers_pair in docs/layers.md
    advice            what the answers are worth: the worst of all meshes
    """

    def __init__(self, records: Array, worth: Any) -> None:
        self.records = records
        self.a, self.b = records["a"], records["b"]
        self.depth, self.volume = records["depth"], records["volume"]
        self.normal, self.centre = records["normal"], records["centre"]
        self.advice = advice(worth)

    @property
    def pairs(self) -> Array:
        """(n, 2)."""
        return np.stack([self.a, self.b], axis=1)

    def __len__(self) -> int:
        return len(self.records)

    def __repr__(self) -> str:
        return f"<abut.Interferences: {len(self)} pairs>"


def interfere(
    meshes: Sequence[Mesh],
    poses_of: Optional[ArrayLike] = None,
    *,
    method: str = "volume",
    resolution: int = 0,
    tolerance: float = 0,
    cap: bool = False,
    device: _device.Selector = None,
) -> Interferences:
    """Finds the pairs of closed solids that overlap, each at its pose where these are given.

    method: "volume"        the pairs that overlap and exact volumes, from the triangles
            "exact"         the pairs that overlap, measured in images
            "images"        pairs that overlap along a ray of the images: what is smaller than a pixel
                            may be missed. Cost grows linearly with solids and triangles
            "conservative"  misses no pair, and has some that only come near
    Meshes with holes are refused, unless `cap` closes them by fans.

    >>> import abut
    >>> box = abut.shape("box")
    >>> found = abut.interfere([box, box, box], [[0, 0, 0, 0, 0, 0, 1], [0.5, 0, 0, 0, 0, 0, 1], [9, 0, 0, 0, 0, 0, 1]])
    >>> found.pairs.tolist(), found.volume.round(9).tolist()
    ([[0, 1]], [0.5])
    """
    if method not in ("volume", "exact", "images", "conservative"):
        raise ArgumentError(f"method {method!r} is none of 'volume', 'exact', 'images', 'conservative'")
    meshes = [need(mesh, Mesh, "each of the meshes") for mesh in ([meshes] if isinstance(meshes, Mesh) else meshes)]
    placed, _ = poses(poses_of, "poses_of")
    if placed is not None and len(placed) != len(meshes):
        raise ArgumentError(f"{len(meshes)} meshes and {len(placed)} poses")
    layers = Handle(lib.abut_layers_destroy)
    given = options(_c.abut_layers_options, cap=cap, device=_device.pointer(_device.find(device)))
    check(lib.abut_layers_create(context(), byref(given), layers.out))
    item = _c.abut_layers_item()
    for place, mesh in enumerate(meshes):
        item.mesh = mesh._handle.value
        if placed is not None:
            ctypes.memmove(byref(item, _c.abut_layers_item.pose.offset), pointer(placed) + 56 * place, 56)
        check(lib.abut_layers_add(layers.value, byref(item), None))
    query = options(
        _c.abut_layers_query,
        resolution=number(resolution, "resolution"),
        tolerance=tolerance,
        volume=method == "volume",
        exact=method == "exact",
        conservative=method == "conservative",
    )
    result = _c.abut_layers_result()
    room = np.empty(max(64, 4 * len(meshes)), record(_c.abut_layers_pair))
    while True:
        result.pairs, result.capacity = pointer(room), len(room)
        if fits(lib.abut_layers_find, layers.value, byref(query), byref(result)):
            return Interferences(room[: result.count].copy(), result.advice)
        room = np.empty(result.count, record(_c.abut_layers_pair))
