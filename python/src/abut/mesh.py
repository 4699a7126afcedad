"""Triangle meshes: creation from arrays and other packages, health reports, point queries and ray casts."""

from __future__ import annotations

import ctypes
import os
import threading
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Sequence, Union, overload

import numpy as np

from . import _c, _core, device as _device
from ._arrays import (
    NONE,
    Array,
    ArrayLike,
    Bools,
    Floats,
    Indices,
    Rows,
    batch,
    fill,
    floats,
    grid,
    host,
    indices,
    one,
    pointer,
    pose,
    record,
    rows_of,
    scalar_type,
    vec,
    vectors,
)
from ._core import (
    A_REFIT,
    ArgumentError,
    Guard,
    Handle,
    byref,
    check,
    context,
    fits,
    get,
    guarded,
    lib,
    number,
    options,
    path_bytes,
    run,
)
from .report import Reliability, Report, reliability

if TYPE_CHECKING:
    from .view import Page

Path = Union[str, "os.PathLike[str]"]


class Nearest(NamedTuple):
    """Closest points on a mesh, one row per query point."""

    distance: Array
    """(n,): infinity if no triangle is within the radius."""
    point: Array
    """(n, 3): the closest points."""
    triangle: Array
    """(n,), uint32: the triangle, NONE if there is none. Of several at the same distance, the lowest index."""
    barycentric: Array
    """(n, 3): barycentric coordinates."""


class RayHits(NamedTuple):
    """Hits of rays with a mesh. The hit point is origin + parameter * direction."""

    parameter: Array
    """(n,): infinity if the ray misses."""
    triangle: Array
    """(n,), uint32: NONE if the ray misses."""
    barycentric: Array
    """(n, 3): barycentric coordinates."""

    @property
    def hit(self) -> Array:
        """(n,), bool: whether the ray hits."""
        found: Array = self.triangle != NONE
        return found


class AllRayHits(NamedTuple):
    """All hits of many rays. Ray i has the hits offsets[i] to offsets[i + 1] - 1."""

    offsets: Array
    """(n + 1,), uint64."""
    parameter: Array
    triangle: Array
    barycentric: Array


_PREPARE = {
    "rays": _c.ABUT_PREPARE_RAYS,
    "overlap": _c.ABUT_PREPARE_OVERLAP,
    "distance": _c.ABUT_PREPARE_DISTANCE,
    "contacts": _c.ABUT_PREPARE_CONTACTS,
    "volume": _c.ABUT_PREPARE_VOLUME,
    "hull": _c.ABUT_PREPARE_HULL,
    "signs": _c.ABUT_PREPARE_SIGNS,
}
"""The data of Mesh.prepare()."""


HULL_MAX_TRIANGLES = 1000
"""Contacts of two convex meshes of 320 triangles take half the time as hulls, of 5,120 twice the time."""


def collider_of(bvh: Handle) -> Any:
    """Returns an abut_collider with a BVH at the identity."""
    made = _c.abut_collider()
    made.shape.body.bvh = bvh.value
    return made


class Bvh:
    """The BVH of a mesh on the CPU or on one device. On the CPU, signs are prepared with it, and threads may
    query it concurrently. On a device, one batch runs at a time."""

    def __init__(self, mesh: Handle, device: Optional[_device.Device]) -> None:
        self.guard = Guard(shares=device is None)
        self.handle = Handle(lib.abut_bvh_destroy, guard=self.guard)
        self.device = device
        self.is_hull: Optional[bool] = None  # None before the first test
        self._prepared = False
        run(
            lib.abut_bvh_create,
            mesh,
            byref(options(_c.abut_bvh_options, device=_device.pointer(device))),
            self.handle.out,
        )
        self.unposed = collider_of(self.handle)
        if device is None:
            self.prepare()

    def prepare(self) -> None:
        if not self._prepared:
            run(lib.abut_sign_prepare, self.handle, None, alone=True)
            self._prepared = True

    def run_batch(self, function: Any, *arguments: Any, signs: bool = False) -> None:
        """Calls a batch function with this BVH as the first argument."""
        if signs and not self._prepared:
            with self.guard:
                self.prepare()
        run(function, self.handle, *arguments)


class Mesh:
    """A triangle mesh. The arguments are vertices (n, 3) of float64 or float32 and faces (m, 3) of integers; or
    corners (m, 3, 3) of triangles, without faces; or a mesh of trimesh.

    The mesh stores copies of the arrays. `device` is the default device of queries; see Device. Threads may query
    a mesh concurrently; set_positions() waits until running queries have finished.

    >>> import abut
    >>> mesh = abut.Mesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]],
    ...                  [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    >>> mesh
    <abut.Mesh of 4 vertices, 4 triangles>
    >>> mesh.nearest([2, 0, 0]).distance.item()
    1.0
    """

    def __init__(
        self, vertices: ArrayLike, faces: Optional[ArrayLike] = None, *, device: _device.Selector = None
    ) -> None:
        if faces is None and hasattr(vertices, "vertices"):  # a mesh of trimesh, or another Mesh
            vertices, faces = vertices.vertices, vertices.faces
        array, _ = grid(vertices, "vertices")
        if np.ndim(vertices) == 1 and len(array):
            raise ArgumentError("vertices must be of shape (n, 3)")
        if (np.ndim(vertices) == 3) != (faces is None):
            raise ArgumentError(
                "vertices are (n, 3) with faces (m, 3), or corners of triangles (m, 3, 3) without faces, not "
                f"{np.shape(vertices)} {'without' if faces is None else 'with'} faces"
            )
        if len(array) >= NONE:
            raise ArgumentError("vertices: more than 32-bit indices can count")
        triangles = None if faces is None else indices(faces, "faces")
        if triangles is not None and not len(triangles):
            raise ArgumentError("faces: a mesh needs at least one triangle")
        self._setup(_created(array, triangles), device)

    def _setup(self, handle: Handle, device: _device.Selector = None) -> None:
        self._handle = handle
        self._device = device
        self._bvhs: dict[Optional[_device.Device], Bvh] = {}
        self._lock = threading.Lock()  # guards the dictionary and refits
        self._vertices: Optional[Floats] = None
        self._faces: Optional[Indices] = None
        self._normals: Optional[Floats] = None

    @classmethod
    def _of(cls, handle: Handle, device: _device.Selector = None) -> Mesh:
        made = cls.__new__(cls)
        made._setup(handle, device)
        return made

    @classmethod
    def _made(cls, function: Any, *arguments: Any, device: _device.Selector = None, path: Optional[str] = None) -> Mesh:
        """Calls a function of the library whose last parameter receives a mesh."""
        handle = Handle(lib.abut_mesh_destroy)
        run(function, *arguments, handle.out, path=path)
        return cls._of(handle, device)

    @classmethod
    def from_trimesh(cls, mesh: Any, *, device: _device.Selector = None) -> Mesh:
        """Converts a trimesh.Trimesh, or all meshes of a Scene at their transforms."""
        if not hasattr(mesh, "faces") and hasattr(mesh, "to_mesh"):
            mesh = mesh.to_mesh()
        elif not hasattr(mesh, "faces") and hasattr(mesh, "dump"):
            mesh = mesh.dump(concatenate=True)
        return cls(np.asarray(mesh.vertices), np.asarray(mesh.faces), device=device)

    @classmethod
    def from_open3d(cls, mesh: Any, *, device: _device.Selector = None) -> Mesh:
        """Converts a TriangleMesh of open3d.geometry or open3d.t.geometry."""
        if hasattr(mesh, "triangles"):
            return cls(np.asarray(mesh.vertices), np.asarray(mesh.triangles), device=device)
        return cls(mesh.vertex.positions.cpu().numpy(), mesh.triangle.indices.cpu().numpy(), device=device)

    def to_trimesh(self) -> Any:
        """Returns a trimesh.Trimesh with the same order of vertices and faces."""
        import trimesh  # type: ignore[import-not-found,import-untyped,unused-ignore] # an optional package

        return trimesh.Trimesh(self.vertices, self.faces.astype(np.int64), process=False)

    # -- properties --

    @property
    def vertices(self) -> Floats:
        """(n, 3), read-only: the bits of the input, except that -0.0 becomes 0.0."""
        if self._vertices is None:
            handle = self._handle
            made = view(lib.abut_mesh_local_positions(handle), (self.vertex_count, 3), np.float64, handle)
            made = made + vec(lib.abut_mesh_local_origin(handle))
            made.setflags(write=False)
            self._vertices = made
            return made
        return self._vertices

    @property
    def faces(self) -> Indices:
        """(m, 3), uint32, read-only: a view of the memory of the mesh."""
        if self._faces is None:
            handle = self._handle
            made = view(lib.abut_mesh_indices(handle), (self.triangle_count, 3), np.uint32, handle)
            self._faces = made
            return made
        return self._faces

    @property
    def uv(self) -> Optional[Floats]:
        """(m, 3, 2): texture coordinates of the corners, v downwards, if load() has read them; otherwise None."""
        found = lib.abut_mesh_uv(self._handle)
        if not found:
            return None
        return np.array(view(found, (self.triangle_count, 3, 2), np.float64, self._handle))

    @property
    def vertex_count(self) -> int:
        """The number of vertices."""
        return int(lib.abut_mesh_vertex_count(self._handle))

    @property
    def triangle_count(self) -> int:
        """The number of triangles."""
        return int(lib.abut_mesh_triangle_count(self._handle))

    @property
    def bounds(self) -> Floats:
        """(2, 3): lower and upper corner of the bounding box of all triangles."""
        box = lib.abut_mesh_bounds(self._handle)
        return np.array((vec(box.lo), vec(box.hi)))

    def show(self, **how: Any) -> Page:
        """Returns an interactive page of this mesh for a notebook; see abut.show()."""
        from .view import show

        return show(self, **how)

    def __repr__(self) -> str:
        return f"<abut.Mesh of {self.vertex_count} vertices, {self.triangle_count} triangles>"

    def copy(self) -> Mesh:
        """Returns a copy in constant time: both share vertices and faces until one of them is refitted."""
        return Mesh._of(self._handle, self._device)

    def __copy__(self) -> Mesh:
        return self.copy()

    def __deepcopy__(self, memo: Any) -> Mesh:
        return self.copy()

    def __reduce__(self) -> Any:
        """Pickles vertices and faces, but not the device."""
        return Mesh, (np.array(self.vertices), np.array(self.faces))

    def report(self, self_intersections: bool = False) -> Report:
        """Examines the mesh: counts, measures and problems. `self_intersections` adds these to the problems.

        >>> import abut
        >>> report = abut.shape("box").report()
        >>> report.is_closed, round(report.volume, 9), report.problems["boundary-edge"].count
        (True, 1.0, 0)
        """
        topology, made = self._topology(), options(_c.abut_mesh_report)
        run(lib.abut_mesh_examine, topology, byref(made))
        if self_intersections:
            run(lib.abut_pair_examine, self._on_cpu().handle, None, byref(made))
        return Report(made)

    def self_intersections(self) -> Indices:
        """Finds all pairs of triangles (k, 2) that intersect beyond the vertices and edges they share. Exact.
        Report has the counts; SelfCollision tests moving meshes.

        >>> import abut
        >>> box = abut.shape("box", segments=1)
        >>> two = abut.join([box, box.transformed([0.5, 0.4, 0.3, 0, 0, 0, 1])])
        >>> len(box.self_intersections()), len(two.self_intersections())
        (0, 12)
        """
        bvh = self._on_cpu().handle
        found = fill(
            _c.abut_pair_self_intersection_list,
            np.empty(64, record(_c.abut_pair_self_intersection)),
            lambda to: fits(lib.abut_pair_self_intersections, bvh, None, to),
        )
        return np.ascontiguousarray(found["triangle"])

    def _topology(self) -> Handle:
        topology = Handle(lib.abut_topology_destroy)
        run(lib.abut_topology_create, self._handle, topology.out)
        return topology

    def save(self, path: Path, ascii: bool = False) -> None:
        """Writes OBJ, PLY, STL, OFF, glTF or GLB, by the extension. On failure no file is written."""
        text = os.fspath(path)
        run(
            lib.abut_mesh_write,
            self._handle,
            path_bytes(text),
            byref(options(_c.abut_mesh_write_options, ascii=ascii)),
            path=text,
        )

    # -- derived meshes --

    def welded(self, tolerance: float = 0) -> Mesh:
        """Returns a mesh in which vertices nearer than `tolerance` are merged."""
        return Mesh._made(lib.abut_mesh_weld, self._handle, tolerance, device=self._device)

    def oriented(self) -> Mesh:
        """Returns a mesh whose neighbouring triangles face the same way and whose closed components face outwards."""
        topology, handle = self._topology(), Handle(lib.abut_mesh_destroy)
        run(lib.abut_mesh_orient, topology, handle.out, None)
        return Mesh._of(handle, self._device)

    def split(self) -> list[Mesh]:
        """Returns the solids of a mesh, such as those of an assembly in one STL file. A shell that faces inwards, the
        wall of a cavity, stays with the solid around it.

        >>> import abut
        >>> box = abut.shape("box", segments=1)
        >>> two = abut.join([box, box.transformed([1, 1, 0])])           # they have a common edge
        >>> [solid.triangle_count for solid in two.split()]
        [12, 12]
        """
        found = (ctypes.c_void_p * self.triangle_count)()
        listed = _c.abut_mesh_list(ctypes.addressof(found), len(found), 0)
        run(lib.abut_mesh_split, self._handle, byref(listed))
        handles = []
        for address in found[: listed.count]:
            handle = Handle(lib.abut_mesh_destroy)
            handle.value.value = address
            handles.append(handle)
        return [Mesh._of(handle, self._device) for handle in handles]

    def transformed(self, at: ArrayLike = None, scale: float = 1) -> Mesh:
        """Returns a mesh that is scaled about the origin, then moved by a pose: (7,) or (4, 4)."""
        return Mesh._made(lib.abut_mesh_transform, self._handle, scale, pose(at, "at"), device=self._device)

    def offset(self, distance: float, cells: int = 0, *, cell: float = 0, device: _device.Selector = None) -> Mesh:
        """Returns the offset surface: the closed mesh at `distance`, outwards if it is positive. It is the
        isosurface of a signed distance field with `cells` cells along the longest side (0 = 64), or with cells of
        size `cell`. The margin of the field is chosen automatically. Edges are rounded off by up to a cell.

        >>> import abut
        >>> grown = abut.shape("torus").offset(0.05, cells=32)
        >>> grown.report().is_closed
        True
        """
        given = options(
            _c.abut_field_options,
            cells=number(cells, "cells"),
            cell=cell,
            device=_device.pointer(self._device_or_own(device)),
        )
        return Mesh._made(lib.abut_field_offset, self._handle, distance, byref(given), device=self._device)

    def set_positions(self, vertices: ArrayLike) -> Mesh:
        """Sets new positions of all vertices and refits the BVH: about ten times as fast as a new mesh. Changes
        this mesh and returns it.

        >>> import abut
        >>> mesh = abut.shape("icosphere")
        >>> mesh.set_positions(mesh.vertices * 2).bounds.round(6).tolist()
        [[-1.0, -1.0, -1.0], [1.0, 1.0, 1.0]]
        """
        array, _ = vectors(vertices, "vertices")
        if len(array) != self.vertex_count:
            raise ArgumentError(f"vertices: the mesh has {self.vertex_count}, and {len(array)} were given")
        handle = _created(array, self.faces)
        with self._lock:
            for bvh in self._bvhs.values():
                run(lib.abut_bvh_set_mesh, bvh.handle, handle, uses=(A_REFIT,), alone=True)
                bvh.is_hull = None
            self._handle, self._vertices, self._faces, self._normals = handle, None, None, None
        return self

    # -- queries --

    def _bvh(self, device: _device.Selector) -> Bvh:
        """The BVH on a device, by default on that of the mesh. The first query builds it."""
        return self._built(self._device_or_own(device))

    def _on_cpu(self) -> Bvh:
        """The BVH on the CPU, for queries that no device supports."""
        return self._built(None)

    def _device_or_own(self, device: _device.Selector) -> Optional[_device.Device]:
        return _device.find(device if device is not None else self._device)

    def _built(self, device: Optional[_device.Device]) -> Bvh:
        made = self._bvhs.get(device)
        if made is None:
            with self._lock:
                made = self._bvhs.get(device)
                if made is None:
                    made = self._bvhs[device] = Bvh(self._handle, device)
        return made

    def _is_hull(self) -> bool:
        """Tests whether the mesh is closed and convex, and so small that its contacts as a hull are faster."""
        bvh = self._on_cpu()
        if bvh.is_hull is None:
            with bvh.guard:
                status = _c.ABUT_ERROR_ARGUMENT
                if self.triangle_count <= HULL_MAX_TRIANGLES:
                    status = guarded(lib.abut_bvh_prepare, (bvh.handle, _c.ABUT_PREPARE_HULL), (A_REFIT,), True)
                if status != _c.ABUT_ERROR_ARGUMENT:  # the mesh is not closed and convex
                    check(status)
                bvh.is_hull = status == _c.ABUT_OK
        return bvh.is_hull

    def _unit_normals(self) -> Floats:
        """(m, 3): the unit normals of all triangles, zero for those without area."""
        if self._normals is None:
            vertices, faces = self.vertices, self.faces
            origin = vertices[faces[:, 0]]
            normals = np.cross(vertices[faces[:, 1]] - origin, vertices[faces[:, 2]] - origin)
            length = np.linalg.norm(normals, axis=1, keepdims=True)
            self._normals = normals / np.where(length > 0, length, 1)
        return self._normals

    def prepare(self, *data: str, device: _device.Selector = None) -> Mesh:
        """Builds the BVH now instead of in the first query, and data that queries keep with it: any of "rays",
        "overlap", "distance", "contacts", "volume", "hull" and "signs". Results are the same without it.

        >>> import abut
        >>> abut.overlap(abut.shape("torus").prepare("overlap"), abut.shape("box"))
        True
        """
        unknown = [name for name in data if not isinstance(name, str) or name not in _PREPARE]
        if unknown:
            raise ArgumentError(f"{unknown[0]!r} is none of {', '.join(map(repr, _PREPARE))}")
        bits = sum({_PREPARE[name] for name in data})
        bvh = self._bvh(device)
        if bits:
            with bvh.guard:
                run(lib.abut_bvh_prepare, bvh.handle, bits, alone=True)
        return self

    def nearest(
        self, p: ArrayLike, radius: float = np.inf, *, signed: bool = False, device: _device.Selector = None
    ) -> Nearest:
        """Finds the closest points on the mesh for points (n, 3), or of any shape (..., 3), such as a depth image.
        Results have the same leading shape; the result for one point (3,) has no first axis.

        The results are views of one structured array. With `signed`, distances are negative inside.

        >>> import abut
        >>> distance, point, triangle, barycentric = abut.shape("box").nearest([[2, 0, 0], [0, 0, 9]])
        >>> distance
        array([1.5, 8.5])
        """
        found, single = self._nearest(p, radius, signed, device)
        return Nearest(*rows_of(Nearest, found, single))

    def _nearest(self, p: ArrayLike, radius: float, signed: bool, device: _device.Selector) -> tuple[Array, Rows]:
        array, single = grid(p, "points")
        found = np.empty(len(array), record(_c.abut_nearest))
        function = lib.abut_sign_nearest_batch if signed else lib.abut_nearest_point_batch
        self._bvh(device).run_batch(function, batch(array), len(array), radius, host(found), signs=signed)
        return found, single

    def nearest_k(self, p: ArrayLike, k: int, radius: float = np.inf, *, device: _device.Selector = None) -> Nearest:
        """Finds the k triangles nearest to each point, at most `radius` away, sorted by distance, then by index.
        Results of points (n, 3) are (n, k, ...). Missing triangles have distance infinity and the index NONE.

        >>> import abut
        >>> abut.shape("box", segments=1).nearest_k([[0, 0, 2], [0.5, 2, 0.5]], 3).distance.round(3)
        array([[1.5  , 1.5  , 1.581],
               [1.5  , 1.5  , 1.5  ]])
        """
        array, single = grid(p, "points")
        k = number(k, "k", least=1)
        found, counts = np.zeros((len(array), k), record(_c.abut_nearest)), np.zeros(len(array), np.uint32)
        found["distance"], found["triangle"] = np.inf, NONE
        self._bvh(device).run_batch(
            lib.abut_nearest_k_batch, batch(array), len(array), radius, k, host(found), host(counts)
        )
        return Nearest(*rows_of(Nearest, found, single))

    @overload
    def signed_distance(self, p: Sequence[float], radius: float = ..., *, device: _device.Selector = ...) -> float: ...

    @overload
    def signed_distance(self, p: ArrayLike, radius: float = ..., *, device: _device.Selector = ...) -> Floats: ...

    def signed_distance(self, p: ArrayLike, radius: float = np.inf, *, device: _device.Selector = None) -> Any:
        """Computes the signed distances of points, negative inside. trimesh uses the opposite sign.

        The winding number determines the sign. It is exact for surfaces without boundary, also if they intersect
        themselves or face inwards; see inside_reliability().

        >>> import abut
        >>> abut.shape("box").signed_distance([[0, 0, 0], [1, 0, 0]])
        array([-0.5,  0.5])
        """
        found, single = self._nearest(p, radius, True, device)
        return one(np.ascontiguousarray(found["distance"]), single)

    @overload
    def inside(self, p: Sequence[float], *, device: _device.Selector = ...) -> bool: ...

    @overload
    def inside(self, p: ArrayLike, *, device: _device.Selector = ...) -> Bools: ...

    def inside(self, p: ArrayLike, *, device: _device.Selector = None) -> Any:
        """Tests whether points are inside the mesh or on its surface.

        >>> import abut
        >>> abut.shape("box").inside([[0, 0, 0], [1, 0, 0]])
        array([ True, False])
        """
        array, single = grid(p, "points")
        found = np.empty(len(array), np.bool_)
        self._bvh(device).run_batch(lib.abut_sign_inside_batch, batch(array), len(array), host(found), signs=True)
        return one(found, single)

    @overload
    def winding(self, p: Sequence[float], *, device: _device.Selector = ...) -> float: ...

    @overload
    def winding(self, p: ArrayLike, *, device: _device.Selector = ...) -> Floats: ...

    def winding(self, p: ArrayLike, *, device: _device.Selector = None) -> Any:
        """Computes winding numbers. On a mesh without boundary they are exact integers, otherwise generalised
        winding numbers with an error below 0.01.

        On a mesh with boundary they depend on the BVH: those of a device differ by less than 0.02 from the CPU's.
        """
        array, single = grid(p, "points")
        found = np.empty(len(array), np.float64)
        self._bvh(device).run_batch(lib.abut_sign_winding_batch, batch(array), len(array), host(found), signs=True)
        return one(found, single)

    def inside_reliability(self) -> Reliability:
        """Returns the reliability of inside tests and signs on this mesh."""
        return reliability(get(lib.abut_sign_get_info, _c.abut_sign_info, self._on_cpu().handle).reliability)

    def ray(
        self, origins: ArrayLike, directions: ArrayLike, limit: float = np.inf, *, device: _device.Selector = None
    ) -> RayHits:
        """Finds the first hits of rays, at a parameter of at most `limit`. Origins and directions are (n, 3), or of
        any shapes (..., 3) that NumPy can broadcast.

        >>> import abut
        >>> hits = abut.shape("box").ray([[0, 0, 5], [9, 0, 5]], [0, 0, -1])
        >>> hits.parameter, hits.hit
        (array([4.5, inf]), array([ True, False]))
        """
        rays, single = _rays(origins, directions)
        found = np.empty(len(rays), record(_c.abut_ray_hit))
        self._bvh(device).run_batch(lib.abut_ray_first_batch, batch(rays), len(rays), limit, host(found))
        return RayHits(*rows_of(RayHits, found, single))

    @overload
    def ray_any(
        self,
        origins: Sequence[float],
        directions: Sequence[float],
        limit: float = ...,
        *,
        device: _device.Selector = ...,
    ) -> bool: ...

    @overload
    def ray_any(
        self, origins: ArrayLike, directions: ArrayLike, limit: float = ..., *, device: _device.Selector = ...
    ) -> Bools: ...

    def ray_any(
        self, origins: ArrayLike, directions: ArrayLike, limit: float = np.inf, *, device: _device.Selector = None
    ) -> Any:
        """Tests whether rays hit the mesh at a parameter of at most `limit`. Faster than ray()."""
        rays, single = _rays(origins, directions)
        found = np.empty(len(rays), np.bool_)
        self._bvh(device).run_batch(lib.abut_ray_any_batch, batch(rays), len(rays), limit, host(found))
        return one(found, single)

    def ray_all(self, origins: ArrayLike, directions: ArrayLike, *, device: _device.Selector = None) -> AllRayHits:
        """Finds all hits of rays, sorted by parameter, then by triangle.

        >>> import abut
        >>> hits = abut.shape("box").ray_all([[0.1, 0.2, 5], [9, 0, 5]], [0, 0, -1])
        >>> hits.offsets, hits.parameter
        (array([0, 2, 2], dtype=uint64), array([4.5, 5.5]))
        """
        rays, _ = _rays(origins, directions)
        offsets, total = np.zeros(len(rays) + 1, np.uint64), ctypes.c_uint64(4 * len(rays) + 64)
        bvh = self._bvh(device)
        while True:
            room = total.value
            hits = np.empty(room, record(_c.abut_ray_hit))
            if fits(
                lib.abut_ray_all_batch,
                bvh.handle,
                batch(rays),
                len(rays),
                room,
                host(offsets),
                host(hits),
                byref(total),
            ):
                hits = hits[: total.value]
                return AllRayHits(offsets, hits["parameter"], hits["triangle"], hits["barycentric"])

    def thickness(self) -> float:
        """Estimates the minimum wall thickness of a closed mesh: the 1% quantile over its surface."""
        made = ctypes.c_double()
        run(lib.abut_ray_thickness, self._on_cpu().handle, byref(made))
        return made.value


def _created(array: Array, triangles: Optional[Indices]) -> Handle:
    """Creates a mesh of vertices, and of triangles or of three vertices each."""
    input = options(
        _c.abut_mesh_input,
        positions=pointer(array),
        position_type=scalar_type(array),
        position_stride=array.strides[0] if len(array) > 1 else 0,
        vertex_count=len(array),
    )
    if triangles is not None:
        input.indices, input.triangle_count = pointer(triangles), len(triangles)
    handle = Handle(lib.abut_mesh_destroy)
    check(lib.abut_mesh_create(context(), byref(input), handle.out))
    return handle


def _rays(origins: ArrayLike, directions: ArrayLike) -> tuple[Array, Rows]:
    o, d = floats(origins, "origins"), floats(directions, "directions")
    for array, what in ((o, "origins"), (d, "directions")):
        if array.ndim < 1 or array.shape[-1] != 3:
            if array.size or array.ndim != 1:
                raise ArgumentError(f"{what} must be of shape (n, 3), not {array.shape}")
    if o.ndim == 2 and o.shape == d.shape and o.dtype == d.dtype:
        return np.concatenate([o, d], axis=1), False
    o, d = (array.reshape(0, 3) if not array.size and array.ndim == 1 else array for array in (o, d))
    try:
        rows = np.broadcast_shapes(o.shape, d.shape)[:-1]
    except ValueError:
        raise ArgumentError(f"origins {o.shape} and directions {d.shape} do not go together") from None
    rays = np.empty((*rows, 6), np.result_type(o, d))
    rays[..., :3] = o
    rays[..., 3:] = d
    return rays.reshape(-1, 6), True if not rows else False if len(rows) == 1 else rows


def listed(meshes: Any) -> list[Any]:
    """Returns a list of meshes; a single mesh becomes a list of one."""
    return [meshes] if hasattr(meshes, "vertices") else list(meshes)


class _Converted:
    """The mesh of a trimesh.Trimesh in the cache of the latter, which drops it when vertices or faces change."""

    __slots__ = ("mesh", "handle")

    def __init__(self, mesh: Optional[Mesh] = None) -> None:
        self.mesh = mesh
        self.handle = None if mesh is None else mesh._handle

    def __reduce__(self) -> Any:
        return _Converted, ()  # a pickled trimesh.Trimesh is converted again


def _convert(value: Any) -> Mesh:
    """Converts a mesh of trimesh, once until it changes."""
    cache: Any = getattr(value, "_cache", None)
    if not hasattr(cache, "verify"):
        return Mesh.from_trimesh(value)
    key = ("abut", _core.thread_setting())
    found = cache[key]
    if found is None or found.mesh is None or found.mesh._handle is not found.handle:  # not after set_positions()
        found = cache[key] = _Converted(Mesh.from_trimesh(value))
    made: Mesh = found.mesh
    return made


def mesh_of(value: Any, what: str) -> Mesh:
    """Returns a Mesh unchanged. A mesh of trimesh is converted once, until it changes."""
    if isinstance(value, Mesh):
        return value
    if hasattr(value, "vertices") and hasattr(value, "faces"):
        return _convert(value)
    hint = "; abut.Mesh.from_trimesh() joins the meshes of a scene" if hasattr(value, "geometry") else ""
    raise TypeError(f"{what} must be a mesh of abut or trimesh, not {type(value).__name__}{hint}")


def view(address: Any, shape: tuple[int, ...], dtype: Any, owner: Any) -> Array:
    """Wraps memory of the library as a read-only array that keeps its owner alive."""
    count = int(np.prod(shape)) * np.dtype(dtype).itemsize
    if not count or not address:
        return np.zeros(shape, dtype)
    memory = (ctypes.c_char * count).from_address(address)
    memory._owner = owner  # type: ignore[attr-defined,unused-ignore]
    made = np.frombuffer(memory, dtype).reshape(shape)
    made.setflags(write=False)
    return made


def handles(meshes: Sequence[Mesh]) -> tuple[list[Handle], Any]:
    """Returns the handles of meshes and the array of their addresses. Keep the handles during the call."""
    kept = [mesh_of(mesh, "each of the meshes")._handle for mesh in meshes]
    return kept, (ctypes.c_void_p * max(len(kept), 1))(*[each.address for each in kept])
