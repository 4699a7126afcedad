"""abut as the back end of trimesh: its collision managers, ray queries and proximity queries.

install() makes trimesh use the classes and functions of this module, which have the interfaces of trimesh.collision,
trimesh.ray and trimesh.proximity. They also work without it. docs/trimesh.md lists the differences in results.
Signs of distances are those of trimesh: positive inside.

>>> import trimesh
>>> import abut.trimesh
>>> with abut.trimesh.install():
...     box = trimesh.creation.box()
...     hits = box.ray.intersects_location([[0, 0.1, 5]], [[0, 0, -1]])[0]
...     manager = trimesh.collision.CollisionManager()
>>> hits.round(9).tolist()
[[0.0, 0.1, 0.5], [0.0, 0.1, -0.5]]
>>> _ = manager.add_object("box", box)
>>> round(manager.min_distance_single(box, trimesh.transformations.translation_matrix([3, 0, 0])), 9)
2.0
>>> type(trimesh.collision.CollisionManager()).__module__
'trimesh.collision'
"""

from __future__ import annotations

from typing import Any, Callable, Hashable, Literal, Optional

import numpy as np
import trimesh  # type: ignore[import-not-found,import-untyped,unused-ignore] # an optional package

from . import manager as _manager
from ._arrays import NONE, Array, ArrayLike, Bools, Floats, floats
from ._core import ArgumentError
from .manager import ContactData, DistanceData
from .mesh import AllRayHits, Mesh, mesh_of

__all__ = [
    "CollisionManager",
    "ContactData",
    "DistanceData",
    "Installed",
    "ProximityQuery",
    "RayMeshIntersector",
    "closest_point",
    "install",
    "longest_ray",
    "max_tangent_sphere",
    "signed_distance",
    "thickness",
]

MERGE = 1e-8
"""trimesh.tol.merge: points this near are one."""
PLANAR = 1e-5
"""trimesh.tol.planar: longest_ray() ignores nearer hits."""
PARALLEL = 1e-5
"""Hits of rays whose direction has a smaller cosine with the normal of the triangle have no location in trimesh."""
TIES = 8
"""The number of triangles at one distance among which closest_point() chooses."""


# ---- collision ----


class CollisionManager(_manager.CollisionManager):
    """trimesh.collision.CollisionManager on abut. The distance of objects that overlap is their negative penetration
    depth. Transforms may contain a scale or a shear: the mesh is then converted in each call. Use set_transforms(),
    in_collision_many() and min_distance_many() of abut.CollisionManager for many transforms at once."""

    def __init__(self, solids: bool = True, *, signed: bool = True) -> None:
        """With solids=False, an object inside another does not collide with it, as in trimesh if one is not convex."""
        super().__init__(solids, signed=signed)
        self._unscaled: dict[Any, Mesh] = {}

    def add_object(self, name: Hashable, mesh: Any, transform: ArrayLike = None) -> Mesh:
        """Adds a mesh. It replaces an object of the same name. Returns the mesh of abut."""
        placed, at = _placed(mesh, transform)
        with self._guard:
            made = super().add_object(name, placed, at)
            if placed is not mesh:
                self._unscaled[name] = mesh_of(mesh, "mesh")
        return made

    def remove_object(self, name: Hashable) -> None:
        """Removes an object."""
        with self._guard:
            super().remove_object(name)
            self._unscaled.pop(name, None)

    def set_transform(self, name: Hashable, transform: ArrayLike) -> None:
        """Sets the transform of an object."""
        if name not in self._unscaled:
            try:
                return super().set_transform(name, transform)
            except ArgumentError:  # perhaps a scale
                pass
        with self._guard:
            slot = self._slot(name)
            mesh = self._unscaled.get(name, self._meshes[slot])
            made, at = _placed(mesh, transform)
            if made is not self._meshes[slot]:
                self._meshes[slot], self._own = made, None
                self._unscaled[name] = mesh
            super().set_transform(name, at)

    def in_collision_single(
        self, mesh: Any, transform: ArrayLike = None, return_names: bool = False, return_data: bool = False
    ) -> Any:
        """Tests whether a mesh collides with any object. The names are a set of objects."""
        return super().in_collision_single(*_placed(mesh, transform), return_names, return_data)

    def min_distance_single(
        self, mesh: Any, transform: ArrayLike = None, return_name: bool = False, return_data: bool = False
    ) -> Any:
        """Computes the smallest distance between a mesh and any object."""
        return super().min_distance_single(*_placed(mesh, transform), return_name, return_data)


def _placed(mesh: Any, transform: ArrayLike) -> tuple[Any, Any]:
    """Returns a mesh and its pose. If the transform is not rigid, its linear part goes into the vertices."""
    try:
        return mesh, _manager.read_pose(transform)
    except ArgumentError:
        if np.shape(transform) != (4, 4):
            raise
        matrix = np.asarray(transform, np.float64)
        if not np.isfinite(matrix).all() or (matrix[3] != (0, 0, 0, 1)).any():
            raise
    made, linear = mesh_of(mesh, "mesh"), matrix[:3, :3]
    faces = made.faces if np.linalg.det(linear) > 0 else made.faces[:, ::-1]
    return Mesh(made.vertices @ linear.T, faces), _manager.read_pose(matrix[:3, 3])


# ---- rays ----


class RayMeshIntersector:
    """The intersectors of trimesh.ray on abut: in doubles, without misses between triangles. Hits are sorted by ray,
    then by distance. A point where a ray hits several triangles, such as on an edge, is one hit."""

    def __init__(self, mesh: Any = None, scale_to_box: bool = True, *, geometry: Any = None) -> None:
        """`scale_to_box` has no effect: abut needs no scale."""
        self.mesh = geometry if mesh is None else mesh

    def intersects_location(
        self, ray_origins: ArrayLike, ray_directions: ArrayLike, multiple_hits: bool = True, **options: Any
    ) -> tuple[Floats, Array, Array]:
        """Finds where rays (n, 3) hit the mesh. Returns locations (m, 3), rays (m,) and triangles (m,)."""
        rays = _Rays(self.mesh, ray_origins, ray_directions)
        triangle, ray, parameter = rays.hits(multiple_hits, **options)
        return rays.locations(ray, parameter), ray, triangle

    def intersects_id(
        self,
        ray_origins: ArrayLike,
        ray_directions: ArrayLike,
        multiple_hits: bool = True,
        max_hits: int = 100,
        return_locations: bool = False,
    ) -> Any:
        """Finds the triangles that rays (n, 3) hit. Returns triangles (m,), rays (m,) and, with `return_locations`,
        locations (m, 3). Each ray has at most `max_hits` hits, or one without `multiple_hits`."""
        rays = _Rays(self.mesh, ray_origins, ray_directions)
        triangle, ray, parameter = rays.hits(multiple_hits, max_hits)
        return (triangle, ray, rays.locations(ray, parameter)) if return_locations else (triangle, ray)

    def intersects_first(self, ray_origins: ArrayLike, ray_directions: ArrayLike) -> Array:
        """Finds the first triangle that each ray hits: (n,), -1 for a miss."""
        rays = _Rays(self.mesh, ray_origins, ray_directions)
        return rays.spread(_signed_index(rays.cast(rays.mesh.ray).triangle), -1)

    def intersects_any(self, ray_origins: ArrayLike, ray_directions: ArrayLike) -> Bools:
        """Tests whether rays hit the mesh: (n,)."""
        rays = _Rays(self.mesh, ray_origins, ray_directions)
        return rays.spread(rays.cast(rays.mesh.ray_any), False)

    def contains_points(self, points: ArrayLike) -> Bools:
        """Tests whether points (n, 3) are in the mesh: exact for closed meshes, by winding numbers for others."""
        array, inside = _points(points), np.zeros(len(points), np.bool_)
        finite = np.isfinite(array).all(axis=1)
        inside[finite] = mesh_of(self.mesh, "mesh").inside(array[finite])
        return inside


class _TriangleOrder(RayMeshIntersector):
    """The intersector with the order of arguments of trimesh.ray.ray_triangle."""

    def intersects_id(  # type: ignore[override]
        self,
        ray_origins: ArrayLike,
        ray_directions: ArrayLike,
        return_locations: bool = False,
        multiple_hits: bool = True,
        max_hits: int = 0xFFFFFFFF,
        **options: Any,
    ) -> Any:
        return super().intersects_id(ray_origins, ray_directions, multiple_hits, max_hits, return_locations)


class _Rays:
    """Rays of one query. Rays that are not finite or without direction hit nothing; they are left out."""

    def __init__(self, mesh: Any, origins: ArrayLike, directions: ArrayLike) -> None:
        self.mesh = mesh_of(mesh, "mesh")
        self.origins, self.directions = _points(origins, "ray_origins"), _points(directions, "ray_directions")
        if len(self.origins) != len(self.directions):
            raise ArgumentError(f"{len(self.origins)} ray_origins and {len(self.directions)} ray_directions")
        self._kept: Optional[Array] = None  # the indices of the rays that were cast, if not all
        self._count = len(self.origins)

    def cast(self, query: Callable[..., Any]) -> Any:
        """Calls a query of the mesh with all rays, or with those that it accepts."""
        try:
            return query(self.origins, self.directions)
        except ArgumentError:
            rays = np.concatenate([self.origins, self.directions], axis=1)
            good = np.isfinite(rays).all(axis=1) & self.directions.any(axis=1)
            if good.all():
                raise
        self._kept = np.flatnonzero(good)
        self.origins, self.directions = self.origins[good], self.directions[good]
        return query(self.origins, self.directions)

    def spread(self, found: Array, missing: Any) -> Array:
        """Returns results of all rays from those of the rays that were cast."""
        if self._kept is None:
            return found
        made = np.full(self._count, missing, found.dtype)
        made[self._kept] = found
        return made

    def locations(self, ray: Array, parameter: Floats) -> Floats:
        """Returns the points of hits."""
        if self._kept is not None:
            ray = np.searchsorted(self._kept, ray)
        made: Floats = self.directions.take(ray, axis=0)
        made *= parameter[:, None]
        made += self.origins.take(ray, axis=0)
        return made

    def hits(self, multiple: bool, most: int = 0xFFFFFFFF) -> tuple[Array, Array, Floats]:
        """Returns triangle, ray and parameter of the hits, sorted by ray and parameter."""
        if multiple:
            triangle, ray, parameter = self._all(self.cast(self.mesh.ray_all), self.directions)
            if most < np.bincount(ray).max(initial=0):
                rank = np.arange(len(ray)) - np.searchsorted(ray, ray)
                few = rank < most
                triangle, ray, parameter = triangle[few], ray[few], parameter[few]
        else:
            triangle, ray, parameter = self._first()
        return triangle, ray if self._kept is None else self._kept[ray], parameter

    def _first(self) -> tuple[Array, Array, Floats]:
        first = self.cast(self.mesh.ray)
        ray = np.flatnonzero(first.triangle != NONE)
        triangle, parameter = _signed_index(first.triangle[ray]), first.parameter[ray]
        grazes = self._grazes(triangle, ray, self.directions)
        if grazes.any():  # these rays may hit another triangle behind
            again = ray[grazes]
            directions = self.directions[again]
            more, which, beyond = self._all(self.mesh.ray_all(self.origins[again], directions), directions)
            which, start = np.unique(which, return_index=True)
            ray = np.concatenate([ray[~grazes], again[which]])
            triangle = np.concatenate([triangle[~grazes], more[start]])
            parameter = np.concatenate([parameter[~grazes], beyond[start]])
            order = np.argsort(ray, kind="stable")
            triangle, ray, parameter = triangle[order], ray[order], parameter[order]
        return triangle, ray, parameter

    def _all(self, found: AllRayHits, directions: Floats) -> tuple[Array, Array, Floats]:
        """Returns all hits, without those in the plane of the triangle and without repeated points."""
        offsets = found.offsets.astype(np.int64)
        ray = np.repeat(np.arange(len(directions)), offsets[1:] - offsets[:-1])
        triangle, parameter = _signed_index(found.triangle), np.array(found.parameter)
        grazes = self._grazes(triangle, ray, directions)
        if grazes.any():
            triangle, ray, parameter = triangle[~grazes], ray[~grazes], parameter[~grazes]
        if len(ray) > 1:
            length = np.sqrt(np.einsum("ij,ij->i", directions, directions)).take(ray[1:])
            near = (np.diff(parameter) * length <= MERGE) & (ray[1:] == ray[:-1])
            if near.any():
                new = np.concatenate([[True], ~near])
                triangle, ray, parameter = triangle[new], ray[new], parameter[new]
        return triangle, ray, parameter

    def _grazes(self, triangle: Array, ray: Array, directions: Floats) -> Bools:
        """Tests which hits are of rays in the plane of their triangle."""
        cosine = np.einsum("ij,ij->i", self.mesh._unit_normals().take(triangle, axis=0), directions.take(ray, axis=0))
        squared = np.einsum("ij,ij->i", directions, directions)
        found: Bools = cosine * cosine <= PARALLEL * PARALLEL * squared.take(ray)
        return found


def _signed_index(triangle: Array) -> Array:
    """Converts indices to int64, NONE to -1."""
    return np.ascontiguousarray(triangle).view(np.int32).astype(np.int64)


def _points(value: ArrayLike, what: str = "points") -> Floats:
    """Returns points (n, 3) of float64."""
    array = np.asarray(floats(value, what), np.float64)
    if array.size == 0:
        array = array.reshape(0, 3)
    if array.ndim != 2 or array.shape[1] != 3:
        raise ArgumentError(f"{what} must be (n, 3), not {array.shape}")
    return array


# ---- proximity ----


def closest_point(mesh: Any, points: ArrayLike) -> tuple[Floats, Floats, Array]:
    """Finds the closest points of the mesh. Returns points (n, 3), distances (n,) and triangles (n,).

    If several triangles are equally near, the result is the one that faces the point most.
    """
    array, made = _points(points), mesh_of(mesh, "mesh")
    found = made.nearest(array)
    closest, distance, triangle = np.array(found.point), np.array(found.distance), found.triangle.astype(np.int64)
    # The closest point is on an edge or a vertex, so that other triangles may have it, too.
    ties = np.flatnonzero((found.barycentric == 0).any(axis=1) & (distance * distance > MERGE))
    if len(ties):
        near = made.nearest_k(array[ties], TIES)
        squared = near.distance * near.distance
        same = squared - squared[:, :1] < MERGE
        normal = made._unit_normals()[np.where(same, near.triangle, near.triangle[:, :1])]
        cosine = np.einsum("ijk,ijk->ij", normal, array[ties, None] - near.point) / near.distance
        row = np.arange(len(ties))
        best = np.where(same, cosine, -np.inf).argmax(axis=1)
        closest[ties], distance[ties] = near.point[row, best], near.distance[row, best]
        triangle[ties] = near.triangle[row, best]
    return closest, distance, triangle


def signed_distance(mesh: Any, points: ArrayLike) -> Floats:
    """Computes signed distances (n,), positive inside."""
    distance = -mesh_of(mesh, "mesh").signed_distance(_points(points))
    return np.where(np.abs(distance) <= MERGE, np.abs(distance), distance)


class ProximityQuery:
    """trimesh.proximity.ProximityQuery on abut."""

    def __init__(self, mesh: Any) -> None:
        self._mesh = mesh

    def on_surface(self, points: ArrayLike) -> tuple[Floats, Floats, Array]:
        """closest_point() of the mesh."""
        return closest_point(self._mesh, points)

    def vertex(self, points: ArrayLike) -> tuple[Floats, Array]:
        """Finds the closest vertices: distances (n,) and vertices (n,)."""
        distance, vertex = self._mesh.kdtree.query(points)
        return distance, vertex

    def signed_distance(self, points: ArrayLike) -> Floats:
        """signed_distance() of the mesh."""
        return signed_distance(self._mesh, points)


def longest_ray(mesh: Any, points: ArrayLike, directions: ArrayLike) -> Floats:
    """Computes how far rays go before they hit the mesh: (n,), infinity without a hit. Hits within PLANAR do not
    count."""
    rays = _Rays(mesh, points, directions)
    _, ray, parameter = rays.hits(True)
    length = parameter * np.linalg.norm(np.asarray(directions, np.float64), axis=1)[ray]
    found = np.full(len(points), np.inf)
    np.minimum.at(found, ray, np.where(length > PLANAR, length, np.inf))
    return found


def max_tangent_sphere(
    mesh: Any,
    points: ArrayLike,
    inwards: bool = True,
    normals: Optional[ArrayLike] = None,
    threshold: float = 1e-6,
    max_iter: int = 100,
) -> tuple[Floats, Floats]:
    """Finds the largest spheres that touch the mesh at points (n, 3) of its surface and do not intersect it: centres
    (n, 3) and radii (n,). Method: shrinking spheres (Inui, Umezu and Shimane 2016). A radius is infinite, and its
    centre NaN, if the mesh is behind the tangent plane. `threshold` is a fraction of the diagonal of the bounding box."""
    made, p = mesh_of(mesh, "mesh"), _points(points)
    n = _normals(made, p, normals) * (-1 if inwards else 1)
    radius = longest_ray(made, p, n) / 2
    for i in np.flatnonzero(np.isinf(radius)):  # the vertex that is farthest along the normal
        offset = made.vertices - p[i]
        height = offset @ n[i]
        far = height.argmax()
        if height[far] >= PLANAR:
            radius[i] = offset[far] @ offset[far] / (2 * height[far])
    lo, hi = made.bounds
    tolerance = threshold * np.linalg.norm(hi - lo)
    active = np.flatnonzero(np.isfinite(radius))
    for _ in range(max_iter):
        if not len(active):
            break
        near = made.nearest(p[active] + n[active] * radius[active, None])
        active_done = np.abs(near.distance - radius[active]) < PLANAR  # no other point is nearer
        active, touch = active[~active_done], near.point[~active_done]
        offset = touch - p[active]
        smaller = np.einsum("ij,ij->i", offset, offset) / (2 * np.einsum("ij,ij->i", offset, n[active]))
        shrinks = radius[active] - smaller >= tolerance
        radius[active] = smaller
        active = active[shrinks]
    centre = np.where(np.isfinite(radius)[:, None], p + n * np.where(np.isfinite(radius), radius, 0)[:, None], np.nan)
    return centre, radius


def thickness(
    mesh: Any,
    points: ArrayLike,
    exterior: bool = False,
    normals: Optional[ArrayLike] = None,
    method: Literal["max_sphere", "ray"] = "max_sphere",
) -> Floats:
    """Computes the thickness (n,) of the mesh at points (n, 3) of its surface: the diameter of max_tangent_sphere(), or
    the longest_ray() against the normal. With `exterior`, the distance to the next wall outside."""
    made, p = mesh_of(mesh, "mesh"), _points(points)
    n = _normals(made, p, normals)
    if method == "max_sphere":
        return 2 * max_tangent_sphere(made, p, not exterior, n)[1]
    if method == "ray":
        return longest_ray(made, p, n if exterior else -n)
    raise ArgumentError(f"method must be 'max_sphere' or 'ray', not {method!r}")


def _normals(mesh: Mesh, points: Floats, normals: Optional[ArrayLike]) -> Floats:
    """Returns the given normals, or those of the closest triangles."""
    if normals is not None:
        given = _points(normals, "normals")
        if len(given) != len(points):
            raise ArgumentError(f"{len(points)} points and {len(given)} normals")
        return given
    return mesh._unit_normals()[closest_point(mesh, points)[2]]


# ---- installation ----


class Installed:
    """The changes of one install(). undo(), or the end of a `with` block, restores trimesh."""

    def __init__(self) -> None:
        self._before: list[tuple[Any, str, Any]] = []

    def _replace(self, owner: Any, name: str, value: Any) -> None:
        if getattr(owner, name) is not value:  # a second install() changes nothing
            self._before.append((owner, name, getattr(owner, name)))
            setattr(owner, name, value)

    def undo(self) -> None:
        """Restores what trimesh had before this install(). A second call does nothing."""
        while self._before:
            owner, name, value = self._before.pop()
            setattr(owner, name, value)

    def __enter__(self) -> Installed:
        return self

    def __exit__(self, *problem: object) -> None:
        self.undo()


_FUNCTIONS: tuple[Callable[..., Any], ...] = (
    closest_point,
    signed_distance,
    longest_ray,
    max_tangent_sphere,
    thickness,
)


def install() -> Installed:
    """Makes trimesh use abut for collisions, rays and proximity, until undo() of the result, or the end of a `with`
    block. Meshes that exist keep their `ray`; set `mesh.ray = abut.trimesh.RayMeshIntersector(mesh)` for these. Names
    that a program imported from trimesh before stay those of trimesh."""
    from trimesh import collision, proximity, ray

    made = Installed()
    for function in _FUNCTIONS:
        made._replace(proximity, function.__name__, function)
    made._replace(proximity, "ProximityQuery", ProximityQuery)
    made._replace(collision, "CollisionManager", CollisionManager)
    made._replace(ray.ray_triangle, "RayMeshIntersector", _TriangleOrder)
    if ray.has_embree:
        made._replace(ray.ray_pyembree, "RayMeshIntersector", RayMeshIntersector)
    return made
