"""Queries against worlds: rays, closest points, overlaps and shape casts against all bodies of a world."""

from __future__ import annotations

import ctypes
from typing import Any, Callable, Literal, NamedTuple, Optional, Sequence, Union

import numpy as np

from . import _c
from ._arrays import (
    Array,
    ArrayLike,
    Rows,
    batch,
    fill,
    grid,
    one,
    pointer,
    poses as read_poses,
    record,
)
from ._core import ArgumentError, Handle, byref, fits, lib, number, options, run
from .collider import PRIMITIVES, Primitive, fill_primitive, length_of
from .mesh import Mesh, _rays, collider_of, mesh_of
from .report import reliability


NO_BODY = -1
"""The number of the body if there is none."""

Find = Literal["first", "any", "all"]


class WorldHits(NamedTuple):
    """Hits of rays with the bodies of a world."""

    body: Array
    """(n,), int64: the body, -1 if the ray misses."""
    parameter: Array
    """(n,): hit = origin + parameter * direction; infinity if the ray misses."""
    point: Array
    """(n, 3)"""
    normal: Array
    """(n, 3): unit normals of the surface."""
    triangle: Array
    """(n,), uint32: NONE for primitives, and if the ray misses."""
    offsets: Optional[Array]
    """(rays + 1,): with find="all", ray i has the hits offsets[i] to offsets[i + 1] - 1; otherwise None."""
    unseen_count: int
    """The number of bodies that queries cannot see, such as characters without positions."""


class WorldNearest(NamedTuple):
    """Closest points on the bodies of a world."""

    body: Array
    """(n,), int64: the body, -1 if none is within the radius."""
    distance: Array
    """(n,): distance of its surface; infinity if there is none."""
    point: Array
    """(n, 3): the closest points."""
    triangle: Array
    """(n,), uint32: NONE for primitives."""
    unseen_count: int


class NearestBodies(NamedTuple):
    """The bodies nearest to a shape, sorted by distance, then by number."""

    body: Array
    """(k,), int64"""
    distance: Array
    """(k,): 0 if and only if they overlap."""
    point: Array
    """(k, 3): the closest points on the shape."""
    body_point: Array
    """(k, 3): the closest points on the bodies."""


class Overlaps(NamedTuple):
    """The bodies that overlap a shape at many poses. Pose i has body[offsets[i]] to body[offsets[i + 1] - 1]."""

    offsets: Array
    body: Array


class WorldCasts(NamedTuple):
    """Impacts of moving shapes with the bodies of a world."""

    body: Array
    """(n,), int64: the body, -1 if there is no impact."""
    time: Array
    """(n,): time of impact, from 0 to 1; 1 if there is none."""
    point: Array
    """(n, 3)"""
    normal: Array
    """(n, 3): unit normals from the body to the shape; zero if they touch at the start."""
    triangle: Array
    """(n, 2), uint32: the triangles of the shape and of the body; NONE for primitives."""
    offsets: Optional[Array]
    """(casts + 1,): with find="all", cast i has the impacts offsets[i] to offsets[i + 1] - 1; otherwise None."""


def _bodies(ids: Array) -> Array:
    found = ids.astype(np.int64)
    found[ids == _c.ABUT_NONE] = NO_BODY
    return found


_ACCEPT = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_uint32)


class _Filter:
    """Which bodies a query sees, as an options structure and the objects that it refers to."""

    def __init__(
        self,
        mask: int,
        group: int,
        ignore: Sequence[int],
        accept: Optional[Callable[[int], bool]],
        skip_sensors: bool,
    ) -> None:
        self.problem: Optional[BaseException] = None
        self.ignored = np.array([number(each, "the number of a body") for each in ignore], np.uint32)
        self.made = options(
            _c.abut_world_query_options,
            mask=number(mask, "mask"),
            group=number(group, "group"),
            skip_sensors=skip_sensors,
            ignored_count=len(self.ignored),
        )
        if len(self.ignored):
            self.made.ignored = pointer(self.ignored)
        if accept is not None:
            accepts = accept

            def answer(user: Any, body: int) -> bool:
                try:
                    return self.problem is None and bool(accepts(body))
                except BaseException as problem:  # an exception must not leave a callback
                    self.problem = problem
                    return False

            self.callback = _ACCEPT(answer)
            self.made.accept = ctypes.cast(self.callback, ctypes.c_void_p).value

    def raise_problem(self) -> None:
        if self.problem is not None:
            raise self.problem


def _known(find: str) -> None:
    if find not in ("first", "any", "all"):
        raise ArgumentError(f"find is {find!r}; it must be 'first', 'any' or 'all'")


class Queries:
    """The queries of a World. They see the bodies where they are now, and do not change the world."""

    _handle: Handle
    _fields: list[Handle]

    def _prepare(self) -> None:
        run(lib.abut_world_prepare_queries, self._handle, uses=self._fields, alone=True)

    def cast_rays(
        self,
        origins: ArrayLike,
        directions: ArrayLike,
        limit: float = np.inf,
        *,
        find: Find = "first",
        mask: int = 0,
        group: int = 0,
        ignore: Sequence[int] = (),
        accept: Optional[Callable[[int], bool]] = None,
        skip_sensors: bool = False,
    ) -> Any:
        """Finds the first hits of rays with the surfaces of all bodies, at a parameter of at most `limit`. Origins and
        directions are (n, 3), or of any shapes (..., 3) that NumPy can broadcast. `find`: "first", or "any": returns
        only whether each ray hits, or "all": all hits, sorted by parameter.

        mask          only bodies in these groups (bits); 0 = all
        group         only bodies that collide with these groups (bits); 0 = all
        ignore        bodies that are not seen
        accept        a function of the number of a body, which returns whether it is seen
        skip_sensors  do not see sensors

        >>> import abut
        >>> world = abut.World()
        >>> ground = world.add(abut.Plane(), motion="static")
        >>> ball = world.add(abut.Sphere(1), [0, 0, 5])
        >>> hits = world.cast_rays([[0, 0, 9], [3, 0, 9]], [0, 0, -1])
        >>> hits.body, hits.parameter
        (array([1, 0]), array([3., 9.]))
        >>> world.cast_rays([0, 0, 9], [0, 0, -1], find="all").point[:, 2]
        array([6., 4., 0.])
        """
        _known(find)
        rays, rows = _rays(origins, directions)
        which = _Filter(mask, group, ignore, accept, skip_sensors)
        report = options(_c.abut_world_query_report)
        given = (self._handle, batch(rays), len(rays), limit, byref(which.made))
        found: Array
        with self._handle.alone():
            self._prepare()
            if find == "any":
                found = np.empty(len(rays), np.bool_)
                run(lib.abut_world_ray_any, *given, pointer(found), byref(report))
                which.raise_problem()
                return one(found, rows)
            if find == "first":
                found = np.empty(len(rays), record(_c.abut_world_hit))
                run(lib.abut_world_ray_first, *given, pointer(found), byref(report))
                which.raise_problem()
                return _hits(found, rows, None, report)
            offsets = np.zeros(len(rays) + 1, np.uint64)
            found = fill(
                _c.abut_world_hit_list,
                np.empty(4 * len(rays) + 16, record(_c.abut_world_hit)),
                lambda to: fits(lib.abut_world_ray_all, *given, pointer(offsets), to, byref(report)),
            )
        which.raise_problem()
        return _hits(found, False, offsets, report)

    def nearest(
        self,
        points: ArrayLike,
        radius: float = np.inf,
        *,
        mask: int = 0,
        group: int = 0,
        ignore: Sequence[int] = (),
        accept: Optional[Callable[[int], bool]] = None,
        skip_sensors: bool = False,
    ) -> WorldNearest:
        """Finds the closest points of the surfaces of all bodies to points (n, 3), or of any shape (..., 3), at a
        distance of at most `radius`. The filter is that of cast_rays().

        >>> import abut
        >>> world = abut.World()
        >>> _ = world.add(abut.Plane()), world.add(abut.Sphere(1), [0, 0, 5])
        >>> found = world.nearest([[0, 0, 1], [0, 0, 7]])
        >>> found.body, found.distance
        (array([0, 1]), array([1., 1.]))
        """
        array, rows = grid(points, "points")
        which = _Filter(mask, group, ignore, accept, skip_sensors)
        report = options(_c.abut_world_query_report)
        found = np.empty(len(array), record(_c.abut_world_nearest))
        with self._handle.alone():
            self._prepare()
            run(
                lib.abut_world_nearest_point,
                self._handle,
                batch(array),
                len(array),
                radius,
                byref(which.made),
                pointer(found),
                byref(report),
            )
        which.raise_problem()
        named = (one(found[name], rows) for name in ("distance", "point", "triangle"))
        return WorldNearest(one(_bodies(found["id"]), rows), *named, int(report.unseen_count))

    def nearest_bodies(
        self,
        shape: Union[Mesh, Primitive],
        pose: ArrayLike = None,
        count: int = 1,
        radius: float = np.inf,
        *,
        mask: int = 0,
        group: int = 0,
        ignore: Sequence[int] = (),
        accept: Optional[Callable[[int], bool]] = None,
        skip_sensors: bool = False,
    ) -> NearestBodies:
        """Finds the `count` bodies nearest to a shape at a pose, at a distance of at most `radius`. The shape is a Mesh,
        Sphere, Capsule, Cylinder, Box or Hull; the filter is that of cast_rays().

        >>> import abut
        >>> world = abut.World()
        >>> _ = [world.add(abut.Sphere(1), [4 * i, 0, 0]) for i in range(5)]
        >>> found = world.nearest_bodies(abut.Box(1), [5, 0, 0], count=2)
        >>> found.body, found.distance
        (array([1, 2]), array([0. , 1.5]))
        """
        which = _Filter(mask, group, ignore, accept, skip_sensors)
        placed, _ = _pose_list(pose, "pose")
        if len(placed) != 1:
            raise ArgumentError(f"pose must be one pose, not {len(placed)}")
        with self._handle.alone():
            self._prepare()
            colliders, kept = _colliders(shape, placed)
            room = np.empty(min(number(count, "count"), len(self)), record(_c.abut_world_separation))
            found = _c.abut_world_separation_list(pointer(room), len(room), 0)
            run(
                lib.abut_world_nearest_items,
                self._handle,
                byref(colliders[0]),
                radius,
                byref(which.made),
                byref(found),
                None,
                uses=kept,
            )
        which.raise_problem()
        room = room[: found.count]
        return NearestBodies(_bodies(room["id"]), room["distance"], room["point_collider"], room["point_item"])

    def overlap(
        self,
        shape: Union[Mesh, Primitive],
        poses: ArrayLike = None,
        margin: float = 0,
        *,
        find: Literal["any", "all"] = "all",
        mask: int = 0,
        group: int = 0,
        ignore: Sequence[int] = (),
        accept: Optional[Callable[[int], bool]] = None,
        skip_sensors: bool = False,
    ) -> Any:
        """Finds the bodies that overlap a shape at a pose, contain it, are inside it, or are at a distance of at most
        `margin`: an ascending array. For poses (n, 7), (n, 3) or (n, 4, 4) the result is an Overlaps. With find="any",
        returns the lowest such body for each pose, -1 if there is none. The shape is as in nearest_bodies(), the
        filter that of cast_rays(). A sphere with radius 0 finds the bodies that contain a point.

        >>> import abut
        >>> world = abut.World()
        >>> _ = [world.add(abut.Box(2), [3 * i, 0, 0]) for i in range(5)]
        >>> world.overlap(abut.Sphere(0.6), [1.5, 0, 0])
        array([0, 1])
        >>> world.overlap(abut.Sphere(0), [[0, 0, 0], [1.5, 0, 0], [3, 0, 0]], find="any")
        array([ 0, -1,  1])
        """
        if find not in ("any", "all"):
            raise ArgumentError(f"find is {find!r}; it must be 'any' or 'all'")
        which = _Filter(mask, group, ignore, accept, skip_sensors)
        margin = length_of(margin, "margin")
        report = options(_c.abut_world_query_report)
        placed, single = _pose_list(poses, "poses")
        with self._handle.alone():
            self._prepare()
            colliders, kept = _colliders(shape, placed)
            count = len(colliders)
            given = (self._handle, colliders, count, margin, byref(which.made))
            offsets = np.zeros(count + 1, np.uint64)
            if find == "any":
                ids = np.empty(count, np.uint32)
                run(lib.abut_world_overlap_any, *given, pointer(ids), byref(report), uses=kept)
            else:
                ids = fill(
                    _c.abut_index_list,
                    np.empty(8 * count + 8, np.uint32),
                    lambda to: fits(
                        lib.abut_world_overlap_all, *given, pointer(offsets), to, byref(report), uses=kept
                    ),
                )
        which.raise_problem()
        self._warn(reliability(report.reliability))
        if find == "any":
            return one(_bodies(ids), single)
        return _bodies(ids) if single else Overlaps(offsets, _bodies(ids))

    def cast_shape(
        self,
        shape: Union[Mesh, Primitive],
        poses: ArrayLike,
        ends: ArrayLike,
        *,
        find: Find = "first",
        separation: float = 0,
        tolerance: float = 0,
        mask: int = 0,
        group: int = 0,
        ignore: Sequence[int] = (),
        accept: Optional[Callable[[int], bool]] = None,
        skip_sensors: bool = False,
    ) -> Any:
        """Moves a shape from poses to `ends`, and finds the first impact of each with the bodies, which are at rest. No
        impact is missed, however fast and thin the bodies are. `find`, shape and filter are as in cast_rays() and
        nearest_bodies(). Bodies within `separation` count as touching.

        >>> import abut
        >>> world = abut.World()
        >>> wall = world.add(abut.Box((0.01, 4, 4)), [5, 0, 0])
        >>> hit = world.cast_shape(abut.Sphere(0.1), [0, 0, 0], [10, 0, 0])
        >>> hit.body, hit.time.round(3), hit.normal.round(3)
        (0, 0.489, array([-1.,  0.,  0.]))
        """
        _known(find)
        which = _Filter(mask, group, ignore, accept, skip_sensors)
        sweep = options(
            _c.abut_sweep_rigid_options,
            separation=length_of(separation, "separation"),
            tolerance=length_of(tolerance, "tolerance"),
        )
        report = options(_c.abut_world_query_report)
        placed, is_one = _pose_list(poses, "poses")
        end_list, is_one_end = _pose_list(ends, "ends")
        single, count = is_one and is_one_end, max(len(placed), len(end_list))
        placed, end_list = (np.repeat(each, count, axis=0) if len(each) == 1 else each for each in (placed, end_list))
        if len(placed) != len(end_list):
            raise ArgumentError(f"{len(placed)} poses and {len(end_list)} ends")
        found: Array
        with self._handle.alone():
            self._prepare()
            colliders, kept = _colliders(shape, placed)
            given = (self._handle, colliders, pointer(end_list), count, byref(sweep), byref(which.made))
            offsets = None
            if find == "any":
                found = np.empty(count, np.bool_)
                run(lib.abut_world_cast_any, *given, pointer(found), byref(report), uses=kept)
            elif find == "first":
                found = np.empty(count, record(_c.abut_world_cast))
                run(lib.abut_world_cast_first, *given, pointer(found), byref(report), uses=kept)
            else:
                offsets = np.zeros(count + 1, np.uint64)
                found = fill(
                    _c.abut_world_cast_list,
                    np.empty(4 * count + 8, record(_c.abut_world_cast)),
                    lambda to: fits(
                        lib.abut_world_cast_all, *given, pointer(offsets), to, byref(report), uses=kept
                    ),
                )
        which.raise_problem()
        self._warn(reliability(report.reliability))
        if find == "any":
            return one(found, single)
        rows = single if offsets is None else False
        result = found["result"]
        named = (one(result[name], rows) for name in ("time", "point", "normal", "triangle"))
        return WorldCasts(one(_bodies(found["id"]), rows), *named, offsets)

    def _warn(self, said: Any) -> Any:
        raise NotImplementedError  # of the World

    def __len__(self) -> int:
        raise NotImplementedError


def _hits(found: Array, rows: Rows, offsets: Optional[Array], report: Any) -> WorldHits:
    named = (one(found[name], rows) for name in ("parameter", "point", "normal", "triangle"))
    return WorldHits(one(_bodies(found["id"]), rows), *named, offsets, int(report.unseen_count))


def _pose_list(value: ArrayLike, what: str) -> tuple[Array, bool]:
    """Returns poses (k, 7) in the order of the library, and whether it is one pose; None is the identity."""
    made, is_single = read_poses(value, what)
    if made is None:
        made = np.array([[0, 0, 0, 1, 0, 0, 0]], np.float64)
    return np.ascontiguousarray(made), is_single


def _colliders(shape: Any, placed: Array) -> tuple[Any, list[Handle]]:
    """Returns an array of colliders at poses of _pose_list(), and the handles that the call uses."""
    if hasattr(shape, "vertices") and hasattr(shape, "faces"):
        shape = mesh_of(shape, "shape")
    kept: list[Handle] = []
    if isinstance(shape, Mesh):
        handle = shape._on_cpu().handle
        kept.append(handle)
        first = collider_of(handle)
    elif isinstance(shape, PRIMITIVES):
        first = _c.abut_collider()
        owner = fill_primitive(first, shape)
        if hasattr(owner, "handle"):
            kept.append(owner.handle)
    else:
        raise TypeError(f"a shape is a Mesh or a solid such as abut.Box, not {type(shape).__name__}")
    made = (_c.abut_collider * len(placed))()
    for row, each in enumerate(placed):
        ctypes.memmove(byref(made, row * ctypes.sizeof(first)), byref(first), ctypes.sizeof(first))
        ctypes.memmove(ctypes.addressof(made[row].pose), pointer(each), ctypes.sizeof(_c.abut_pose))
    return made, kept
