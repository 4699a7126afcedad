"""Surface distance maps: distances from the samples of a surface to other bodies."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, Optional, Sequence

import numpy as np

from . import _c, device as _device
from ._arrays import Array, Floats, pointer, pose, record, vec
from ._core import ArgumentError, Guard, Handle, Owner, byref, get, lib, number, options, run, value_of
from .mesh import Mesh, listed, mesh_of
from .pair import Contacts, gather
from .report import Reliability, reliability


class Measures(NamedTuple):
    """Statistics of the distances of a map."""

    min: float
    min_point: Floats
    min_other_point: Floats
    max: float
    mean: float
    """The mean of the finite distances, weighted by area."""
    rms: float
    area: float
    within_area: float
    """The area of the surface within the distance `within`."""
    inside_area: float
    min_error: float
    """The minimum over the whole surface is at least `min` - `min_error`. With `exact` it is 0, unless bodies overlap:
    then it is the error bound of the samples."""
    quantiles: Floats


class Depth(NamedTuple):
    """Bounds of the penetration of a surface into a body."""

    lower: float
    """The depth of the deepest sample inside the body; 0 if none is inside."""
    upper: float
    """No point of the surface is deeper."""
    shift_lower: float
    """A shift of the surface that ends the overlap is at least this long."""
    shift_upper: float
    """The length of `shift`."""
    shift: Floats
    """A shift of the surface that ends the overlap: it separates the convex hulls."""


class DistanceMap(Owner):
    """A square atlas of a mesh. Its texels are samples of the surface with the distance to other bodies.

    `resolution` is the number of texels along each side; 0 = 512, or more if 4 texels per triangle need it. `precision`
    chooses the resolution instead: the largest `reach` when the map is made. `uv` (triangles, 3, 2) are texture
    coordinates from 0 to 1, v downwards, which the atlas uses as its layout. They must not overlap, and each triangle
    needs a texel; with `uv_fallback` another layout replaces such coordinates. The atlas does not change when the mesh
    moves. Distances at samples are exact, rounded to float32; between samples they differ by at most `reach`.
    Coordinates beyond 1e30 and meshes smaller than 1e-30 raise ArgumentError.

    >>> import abut
    >>> distances = abut.DistanceMap(abut.shape("box"), resolution=64)
    >>> found = distances.compute_distance([abut.shape("box")], [[3, 0, 0, 0, 0, 0, 1]])
    >>> round(distances.measure().min, 6)
    2.0
    """

    _instead = "make it again from its mesh"

    def __init__(
        self,
        mesh: Mesh,
        resolution: int = 0,
        *,
        precision: float = 0,
        uv: Optional[Any] = None,
        uv_fallback: bool = False,
        device: _device.Selector = None,
    ) -> None:
        handle = Handle(lib.abut_map_destroy, guard=Guard(outer=True))
        mesh = mesh_of(mesh, "mesh")
        self._device = mesh._device_or_own(device)
        coordinates = None if uv is None else np.ascontiguousarray(uv, dtype=np.float64)
        if coordinates is not None and coordinates.shape != (mesh.triangle_count, 3, 2):
            raise ArgumentError(f"uv has the shape {coordinates.shape}; it must be ({mesh.triangle_count}, 3, 2)")
        given = options(
            _c.abut_map_options,
            resolution=number(resolution, "resolution"),
            precision=precision,
            uv=None if coordinates is None else pointer(coordinates),
            uv_fallback=uv_fallback,
            device=_device.pointer(self._device),
        )
        run(lib.abut_map_create, mesh._handle, byref(given), handle.out)
        self._handle = handle
        self._others: list[Handle] = []  # exact measures read them again

    @property
    def _info(self) -> Any:
        with self._handle.alone():
            return get(lib.abut_map_get_info, _c.abut_map_info, self._handle)

    @property
    def resolution(self) -> int:
        """The number of texels along each side."""
        return int(self._info.resolution)

    @property
    def sample_count(self) -> int:
        """The number of texels that are samples of the surface."""
        return int(self._info.sample_count)

    @property
    def reach(self) -> float:
        """The largest distance from a point of the surface to its nearest sample."""
        return float(self._info.reach)

    @property
    def uses_uv(self) -> bool:
        """Whether the atlas is laid out by texture coordinates."""
        return bool(self._info.uses_uv)

    @property
    def reliability(self) -> Reliability:
        """The reliability of the signs of the last query."""
        return reliability(self._info.reliability)

    def set_mesh(self, mesh: Mesh) -> DistanceMap:
        """Sets a mesh with the same triangles and new vertex positions."""
        run(lib.abut_map_set_mesh, self._handle, mesh_of(mesh, "mesh")._handle)
        return self

    def compute_distance(
        self, others: Sequence[Mesh], poses_of: Optional[Sequence[Any]] = None, *, limit: float = 0
    ) -> Array:
        """Computes the distances (r, r) of all samples to other bodies, negative inside: float32. Infinity if no body
        is within the limit; NaN if the texel is not a sample."""
        others = listed(others)
        if poses_of is not None and len(poses_of) != len(others):
            raise ArgumentError(f"{len(others)} meshes and {len(poses_of)} poses")
        posed = (_c.abut_collider * max(len(others), 1))()
        handles: list[Handle] = []
        for place, mesh in enumerate(others):
            bvh = mesh_of(mesh, "each of the others")._built(self._device)
            bvh.prepare()  # distances are signed only after this
            handles.append(bvh.handle)
            posed[place].shape.body.bvh = bvh.handle.value
            if poses_of is not None:
                posed[place].pose = pose(poses_of[place], f"pose {place}")
        query = options(_c.abut_map_query, limit=limit)
        with self._handle.alone():
            run(lib.abut_map_compute_distance, self._handle, posed, len(others), byref(query), uses=handles)
            self._others = handles
            return self.distances

    def compute_self_distance(self, *, rings: int = 0, geodesic: float = 0, limit: float = 0) -> Array:
        """Computes distances to the surface itself. It ignores the neighbourhood of each sample: `rings` rings of
        triangles, or the part within the distance `geodesic` along the surface."""
        query = options(_c.abut_map_query, limit=limit, rings=number(rings, "rings"), geodesic=geodesic)
        with self._handle.alone():
            run(lib.abut_map_compute_self_distance, self._handle, byref(query))
            return self.distances

    def compute_thickness(self, kind: Literal["ray", "ball"] = "ray", *, limit: float = 0) -> Array:
        """Computes the wall thickness at every sample. kind: "ray" or "ball"."""
        query = options(_c.abut_map_query, limit=limit)
        with self._handle.alone():
            run(lib.abut_map_compute_thickness, self._handle, value_of("abut_map_thickness", kind), byref(query))
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
        """(r, r), float32: the distances of the last query."""
        return np.ascontiguousarray(self.texels["distance"])

    def measure(self, within: float = 0, quantiles: Sequence[float] = (), *, exact: bool = False) -> Measures:
        """Computes statistics of the last query. With `exact`, the minimum is the exact distance of the meshes.

        If bodies overlap, `min` is the deepest sample even with `exact`, and `min_error` is its error bound. With
        `exact`, raises ArgumentError if one of the others was refitted after compute_distance()."""
        shares = np.ascontiguousarray(quantiles, dtype=np.float64)
        values = np.zeros(len(shares))
        given = options(
            _c.abut_map_measure_options,
            within=within,
            quantile_count=len(shares),
            exact=exact,
            quantiles=pointer(shares) if len(shares) else None,
        )
        made = options(_c.abut_map_measures)
        run(
            lib.abut_map_measure,
            self._handle,
            byref(given),
            pointer(values),
            byref(made),
            uses=self._others,
        )
        return Measures(
            made.min.distance,
            vec(made.min.point),
            vec(made.min.other_point),
            made.max.distance,
            made.mean,
            made.rms,
            made.area,
            made.within_area,
            made.inside_area,
            made.min_error,
            values,
        )

    def measure_depth(self, other: int = 0) -> Depth:
        """Computes bounds of the penetration depth in one of the others, from the last compute_distance().

        The bounds of the depth differ by at most `reach`. Raises ArgumentError if distances have no sign."""
        made = options(_c.abut_map_depth)
        run(lib.abut_map_measure_depth, self._handle, number(other, "other"), byref(made))
        return Depth(made.lower, made.upper, made.shift_lower, made.shift_upper, vec(made.shift))

    def contacts(self, margin: float = 0, max_contacts: int = 0) -> Contacts:
        """Converts the texels within the margin to contact patches. The mesh of the map is body a. Raises ArgumentError
        if one of the others was refitted after compute_distance()."""
        given = options(_c.abut_patch_options, margin=margin, max_contacts=number(max_contacts, "max_contacts", most=8))
        return gather(
            lambda place, room: lib.abut_map_contacts(self._handle, byref(given), room),
            1,
            (self._handle, *self._others),
        )

    def __repr__(self) -> str:
        return f"<abut.DistanceMap of {self.resolution} x {self.resolution} texels, {self.sample_count} samples>"
