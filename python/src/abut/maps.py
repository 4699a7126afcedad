"""Surface distance maps: how far every point of a surface is from other bodies."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, Optional, Sequence

import numpy as np

from . import _c, device as _device
from ._arrays import Array, Floats, pointer, pose, record, vec
from ._core import ArgumentError, Guard, Handle, Owner, byref, lib, number, options, run, value_of
from .mesh import Mesh, listed, mesh_of
from .report import Advice, advice
from .pair import Contacts, gather


class Measures(NamedTuple):
    """What the distances of a map come to."""

    least: float
    least_point: Floats
    least_other_point: Floats
    greatest: float
    mean: float
    """By area, of what was found."""
    rms: float
    area: float
    within_area: float
    """Of the surface that is no farther than was asked."""
    inside_area: float
    least_error: float
    """The least distance over all the surface is no less than this below `least`. With `exact` it is 0,
    unless bodies overlap: then it is the bound of samples."""
    quantiles: Floats


class DistanceMap(Owner):
    """A square of texels for a mesh, each a sample of its surface, with the distance to other bodies.

    `resolution` is the number of texels along each side; 0 = 512, or as many as are needed for 4 a triangle.
    Every triangle keeps its place while the mesh moves. At samples distances are exact but for the
    rounding to float32; between them they differ by no more than `reach`. Coordinates beyond 1e30 and
    meshes smaller than 1e-30 are refused.

    >>> import abut
    >>> distances = abut.DistanceMap(abut.shape("box"), resolution=64)
    >>> found = distances.find([abut.shape("box")], [[3, 0, 0, 0, 0, 0, 1]])
    >>> round(distances.measure().least, 6)
    2.0
    """

    _instead = "make it again from its mesh"

    def __init__(self, mesh: Mesh, resolution: int = 0, *, device: _device.Selector = None) -> None:
        handle = Handle(lib.abut_map_destroy, guard=Guard(outer=True))
        mesh = mesh_of(mesh, "mesh")
        self._device = mesh._device_or_own(device)
        given = options(
            _c.abut_map_options, resolution=number(resolution, "resolution"), device=_device.pointer(self._device)
        )
        run(lib.abut_map_create, mesh._handle, byref(given), handle.out)
        self._handle = handle
        self._others: list[Handle] = []  # which exact measures read again

    @property
    def _info(self) -> Any:
        with self._handle.alone():
            return lib.abut_map_info_get(self._handle)

    @property
    def resolution(self) -> int:
        """How many texels there are along each side."""
        return int(self._info.resolution)

    @property
    def sample_count(self) -> int:
        """How many texels are samples of the surface."""
        return int(self._info.sample_count)

    @property
    def reach(self) -> float:
        """No point of the surface is farther from a sample."""
        return float(self._info.reach)

    @property
    def advice(self) -> Advice:
        """What the signs of the last question are worth."""
        return advice(self._info.advice)

    def move(self, mesh: Mesh) -> DistanceMap:
        """Follows moved vertices: a mesh with the same triangles."""
        run(lib.abut_map_move, self._handle, mesh_of(mesh, "mesh")._handle)
        return self

    def find(self, others: Sequence[Mesh], poses_of: Optional[Sequence[Any]] = None, *, limit: float = 0) -> Array:
        """Distances (r, r) of all samples to other bodies, negative inside them: float32, infinity where
        nothing is within the limit, NaN where a texel is no sample."""
        others = listed(others)
        if poses_of is not None and len(poses_of) != len(others):
            raise ArgumentError(f"{len(others)} meshes and {len(poses_of)} poses")
        posed = (_c.abut_posed * max(len(others), 1))()
        asked: list[Handle] = []
        for place, mesh in enumerate(others):
            hierarchy = mesh_of(mesh, "each of the others")._built(self._device)
            hierarchy.prepare()  # otherwise distances have no sign
            asked.append(hierarchy.handle)
            posed[place].bvh = hierarchy.handle.value
            if poses_of is not None:
                posed[place].pose = pose(poses_of[place], f"pose {place}")
        query = options(_c.abut_map_query, limit=limit)
        with self._handle.alone():
            run(lib.abut_map_find, self._handle, posed, len(others), byref(query), uses=asked)
            self._others = asked
            return self.distances

    def find_self(self, *, rings: int = 0, geodesic: float = 0, limit: float = 0) -> Array:
        """Distances to the surface itself, but for what is around each sample: so many rings of
        triangles, or what is nearer along the surface."""
        query = options(_c.abut_map_query, limit=limit, rings=number(rings, "rings"), geodesic=geodesic)
        with self._handle.alone():
            run(lib.abut_map_find_self, self._handle, byref(query))
            return self.distances

    def find_thickness(self, kind: Literal["ray", "ball"] = "ray", *, limit: float = 0) -> Array:
        """How thick the wall behind every sample is; kind: "ray" or "ball"."""
        query = options(_c.abut_map_query, limit=limit)
        with self._handle.alone():
            run(lib.abut_map_find_thickness, self._handle, value_of("abut_map_thickness", kind), byref(query))
            return self.distances

    @property
    def texels(self) -> Array:
        """Records (r, r): distance, vector to the closest point, other, triangle, feature."""
        size = self.resolution
        made = np.empty((size, size), record(_c.abut_map_texel))
        run(lib.abut_map_texels, self._handle, made.size, pointer(made))
        return made

    @property
    def distances(self) -> Array:
        """(r, r), float32: the distances of the last question."""
        return np.ascontiguousarray(self.texels["distance"])

    def measure(self, within: float = 0, quantiles: Sequence[float] = (), *, exact: bool = False) -> Measures:
        """Measures the answers of the last question; with `exact` the least distance is that of the meshes.

        If bodies overlap, `least` is the deepest sample also with `exact`, and `least_error` its bound.
        Raises ArgumentError with `exact` if one of the others was refitted after find()."""
        shares = np.ascontiguousarray(quantiles, dtype=np.float64)
        values = np.zeros(len(shares))
        given = options(
            _c.abut_map_measure_options,
            within=within,
            quantile_count=len(shares),
            exact=exact,
            quantiles=pointer(shares) if len(shares) else None,
        )
        made = _c.abut_map_measures()
        run(
            lib.abut_map_measure,
            self._handle,
            byref(given),
            pointer(values),
            byref(made),
            uses=self._others,
        )
        return Measures(
            made.least.distance,
            vec(made.least.point),
            vec(made.least.other_point),
            made.greatest.distance,
            made.mean,
            made.rms,
            made.area,
            made.within_area,
            made.inside_area,
            made.least_error,
            values,
        )

    def contacts(self, margin: float = 0, keep: int = 0) -> Contacts:
        """Texels no farther than the margin as patches with contacts; the map's mesh is a. Raises
        ArgumentError if one of the others was refitted after find()."""
        given = options(_c.abut_patch_options, margin=margin, keep=number(keep, "keep", most=8))
        return gather(
            lambda place, room: lib.abut_map_contacts(self._handle, byref(given), room),
            1,
            (self._handle, *self._others),
        )

    def __repr__(self) -> str:
        return f"<abut.DistanceMap of {self.resolution} x {self.resolution} texels, {self.sample_count} samples>"
