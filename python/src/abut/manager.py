"""CollisionManager, with the methods of trimesh.collision.CollisionManager.

Differences from trimesh: a body inside another collides with it, whatever their shape (trimesh: convex meshes only),
unless solids=False. Distances are 0 if bodies touch, unless signed=True. Contacts are a few per patch, with verified
penetration depths, instead of one per pair of triangles. abut.trimesh has a manager that trimesh itself can use.
"""

from __future__ import annotations

import contextlib
import copy
import ctypes
import functools
import threading
from typing import Any, Callable, Collection, Hashable, Iterator, Literal, Optional, Sequence, Union, overload

import numpy as np

from . import _c
from ._arrays import (
    NONE,
    POSE,
    Array,
    ArrayLike,
    Bools,
    Floats,
    fill,
    grid_of_poses,
    matrices,
    one_pose,
    pointer,
    poses,
    record,
)
from ._core import MANY_MESHES, ArgumentError, Guard, byref, check, fits, lib, locked, options, run, unchecked
from .mesh import Mesh, collider_of, mesh_of
from .pair import Contacts, Room, collect, worst, worst_of
from .report import Reliability, reliability, warn_unless_guaranteed

_ALL = (MANY_MESHES,)
_ALL_GUARDS = (MANY_MESHES.guard,)
_any_unchecked = unchecked("abut_pair_group_any")
_closest_unchecked = unchecked("abut_pair_group_distance")
EXTERNAL = "__external"
"""The name of a queried mesh that is not in the manager."""


class ContactData:
    """One contact of two objects."""

    def __init__(self, pair: tuple[Any, Any], contact: Any, triangles: Callable[[], Any]) -> None:
        self.pair = pair
        """The two names. The normal points from the second to the first object."""
        self._contact = contact
        self._triangles = triangles

    @property
    def names(self) -> set[Any]:
        return set(self.pair)

    @property
    def point(self) -> Floats:
        return np.array(self._contact["point"])

    @property
    def normal(self) -> Floats:
        return np.array(self._contact["normal"])

    @property
    def depth(self) -> float:
        return float(self._contact["depth"])

    def index(self, name: Any) -> int:
        """Returns the triangle of the named object that is nearest to the contact."""
        return int(dict(zip(self.pair, self._triangles()))[name])

    def __repr__(self) -> str:
        return f"<abut contact of {self.pair[0]!r} and {self.pair[1]!r}, depth {self.depth:.6g}>"


class DistanceData:
    """The distance of two objects, with closest points."""

    def __init__(self, pair: tuple[Any, Any], found: Any) -> None:
        self.names = set(pair)
        self.distance = float(found["distance"])
        self._points = {pair[0]: np.array(found["point_a"]), pair[1]: np.array(found["point_b"])}
        self._triangles = {pair[0]: int(found["triangle_a"]), pair[1]: int(found["triangle_b"])}

    def point(self, name: Any) -> Floats:
        return self._points[name]

    def index(self, name: Any) -> int:
        """Returns the triangle that contains the closest point; NONE for a body that contains the other."""
        return self._triangles[name]


class CollisionManager:
    """Collision tests and distances of named meshes at transforms. Meshes are of abut or of trimesh; transforms are
    (4, 4) or (7,). Queries use the current vertices, also after Mesh.set_positions(). A sheet, such as a scanned room,
    has no interior. Results that the meshes do not guarantee issue a ReliabilityWarning, as those of overlap() do.

    >>> import abut, numpy
    >>> manager = abut.CollisionManager()
    >>> for name, x in ("a", 0), ("b", 0.9), ("c", 5):
    ...     _ = manager.add_object(name, abut.shape("box"), [x, 0, 0, 0, 0, 0, 1])
    >>> manager.in_collision_internal(return_names=True)
    (True, {('a', 'b')})
    >>> round(manager.min_distance_single(abut.shape("box"), [7, 0, 0, 0, 0, 0, 1]), 6)
    1.0

    Test many configurations in one call, on all threads. Here a and c stay, and b has three poses.

    >>> manager.in_collision_many([[[x, 0, 0, 0, 0, 0, 1]] for x in (0.9, 2, 4.5)], ["b"])
    array([ True, False,  True])
    """

    def __init__(self, solids: bool = True, *, signed: bool = False) -> None:
        """With solids=False only surfaces count: a body inside another does not collide with it. With signed=True
        the distance of bodies that overlap is their negative penetration depth. If several pairs overlap, it is that
        of one of them, always the same one."""
        self._solids = bool(solids)
        self._signed = bool(signed)
        self._names: list[Any] = []
        self._slots: dict[Any, int] = {}
        self._meshes: list[Mesh] = []
        self._poses = np.zeros((0, 7))  # in the order of the library
        self._ignored: set[tuple[Any, Any]] = set()
        self._own: Optional[_Group] = None  # all objects; None after an object is added, removed or ignored
        self._own_and_one: Optional[_Group] = None  # these and one mesh, of the last query
        self._guard = Guard(outer=True)

    # -- objects --

    def add_object(self, name: Hashable, mesh: Any, transform: ArrayLike = None) -> Mesh:
        """Adds a mesh. It replaces an object of the same name."""
        made, pose = _mesh(mesh), read_pose(transform)
        with self._guard:
            if name in self._slots:
                self.remove_object(name)
            self._slots[name] = len(self._names)
            self._names.append(name)
            self._meshes.append(made)
            self._poses, self._own = np.concatenate([self._poses, [pose]]), None
        return made

    def remove_object(self, name: Hashable) -> None:
        """Removes an object and its entries of ignore()."""
        with self._guard:
            slot = self._slot(name)
            del self._names[slot], self._meshes[slot]
            self._poses, self._own = np.delete(self._poses, slot, axis=0), None
            self._slots = {name: slot for slot, name in enumerate(self._names)}
            self._ignored = {pair for pair in self._ignored if name not in pair}

    def set_transform(self, name: Hashable, transform: ArrayLike) -> None:
        """Sets the transform of an object: (4, 4), (7,), or (3,) for a translation."""
        pose = read_pose(transform)
        with self._guard:
            self._all().rows[self._slot(name)] = pose

    def set_transforms(self, transforms: ArrayLike, names: Optional[Sequence[Any]] = None) -> None:
        """Sets the transforms of many objects: (n, 4, 4) or (n, 7) for these `names`, by default for all objects in the
        order of the property `names`; or a dict {name: transform}. On failure no object is changed."""
        if isinstance(transforms, dict):
            if names is not None:
                raise ArgumentError("transforms: a dict has the names itself")
            names = list(transforms)
            placed = np.array([tuple(read_pose(each)) for each in transforms.values()], float).reshape(-1, 7)
        else:
            found, single = poses(transforms, "transforms")
            if found is None or single:
                raise ArgumentError("transforms must be (n, 4, 4) or (n, 7), or a dict")
            placed = _finite(found, "transforms")
        with self._guard:
            slots: Any = slice(None) if names is None else [self._slot(name) for name in names]
            count = len(self._names) if names is None else len(slots)
            if count != len(placed):
                raise ArgumentError(f"{count} objects and {len(placed)} transforms")
            self._poses[slots] = placed

    def ignore(self, a: Hashable, b: Hashable, ignore: bool = True) -> None:
        """Excludes a pair of objects from all tests, such as neighbours in a kinematic chain."""
        with self._guard:
            self._slot(a), self._slot(b)
            self._own = None
            if ignore:
                self._ignored.add((a, b))
            else:
                self._ignored -= {(a, b), (b, a)}

    @property
    def names(self) -> list[Any]:
        """The names of all objects, in the order in which they were added."""
        return list(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"<abut.CollisionManager of {len(self)} objects>"

    def __getstate__(self) -> dict[str, Any]:
        """Returns names, meshes and poses. Everything else is rebuilt."""
        with self._guard:
            kept = {
                name: copy.copy(value)
                for name, value in vars(self).items()
                if name not in ("_own", "_own_and_one", "_guard")
            }
            return {**kept, "_own": None, "_own_and_one": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._guard = Guard(outer=True)

    def _slot(self, name: Hashable) -> int:
        try:
            return self._slots[name]
        except KeyError:
            raise ArgumentError(f"{name} not in collision manager!") from None

    # -- collisions --

    @overload
    def in_collision_internal(self, return_names: Literal[False] = ..., return_data: Literal[False] = ...) -> bool: ...

    @overload
    def in_collision_internal(
        self, return_names: Literal[True], return_data: Literal[False] = ...
    ) -> tuple[bool, set[tuple[Any, Any]]]: ...

    @overload
    def in_collision_internal(
        self, return_names: Literal[False] = ..., *, return_data: Literal[True]
    ) -> tuple[bool, list[ContactData]]: ...

    @overload
    def in_collision_internal(
        self, return_names: Literal[True], return_data: Literal[True]
    ) -> tuple[bool, set[tuple[Any, Any]], list[ContactData]]: ...

    @overload
    def in_collision_internal(self, return_names: bool = ..., return_data: bool = ...) -> Any: ...

    def in_collision_internal(self, return_names: bool = False, return_data: bool = False) -> Any:
        """Tests whether any two objects collide. The names are a set of sorted pairs."""
        with self._guard:
            return self._all().collide(return_names, return_data, _sorted)

    @overload
    def in_collision_single(
        self,
        mesh: Any,
        transform: ArrayLike = ...,
        return_names: Literal[False] = ...,
        return_data: Literal[False] = ...,
    ) -> bool: ...

    @overload
    def in_collision_single(
        self, mesh: Any, transform: ArrayLike = ..., *, return_names: Literal[True], return_data: Literal[False] = ...
    ) -> tuple[bool, set[Any]]: ...

    @overload
    def in_collision_single(
        self, mesh: Any, transform: ArrayLike = ..., return_names: Literal[False] = ..., *, return_data: Literal[True]
    ) -> tuple[bool, list[ContactData]]: ...

    @overload
    def in_collision_single(
        self, mesh: Any, transform: ArrayLike = ..., *, return_names: Literal[True], return_data: Literal[True]
    ) -> tuple[bool, set[Any], list[ContactData]]: ...

    @overload
    def in_collision_single(
        self, mesh: Any, transform: ArrayLike = ..., return_names: bool = ..., return_data: bool = ...
    ) -> Any: ...

    def in_collision_single(
        self, mesh: Any, transform: ArrayLike = None, return_names: bool = False, return_data: bool = False
    ) -> Any:
        """Tests whether a mesh collides with any object. The names are a set of objects."""
        made, pose = _mesh(mesh), read_pose(transform)
        with self._guard:
            return self._with(made, pose).collide(return_names, return_data, lambda pair: pair[0])

    @overload
    def in_collision_other(
        self, other_manager: CollisionManager, return_names: Literal[False] = ..., return_data: Literal[False] = ...
    ) -> bool: ...

    @overload
    def in_collision_other(
        self, other_manager: CollisionManager, return_names: Literal[True], return_data: Literal[False] = ...
    ) -> tuple[bool, set[tuple[Any, Any]]]: ...

    @overload
    def in_collision_other(
        self, other_manager: CollisionManager, return_names: Literal[False] = ..., *, return_data: Literal[True]
    ) -> tuple[bool, list[ContactData]]: ...

    @overload
    def in_collision_other(
        self, other_manager: CollisionManager, return_names: Literal[True], return_data: Literal[True]
    ) -> tuple[bool, set[tuple[Any, Any]], list[ContactData]]: ...

    @overload
    def in_collision_other(
        self, other_manager: CollisionManager, return_names: bool = ..., return_data: bool = ...
    ) -> Any: ...

    def in_collision_other(
        self, other_manager: CollisionManager, return_names: bool = False, return_data: bool = False
    ) -> Any:
        """Tests whether any object collides with an object of another manager. The names are pairs of both."""
        with _both(self, other_manager):
            return self._against(other_manager._all()).collide(return_names, return_data, lambda pair: pair)

    def in_collision_many(
        self, transforms: ArrayLike, names: Optional[Sequence[Any]] = None, *, margin: float = 0
    ) -> Bools:
        """Tests in each of k configurations whether any two objects collide: (k,) of bool, on all threads.

        transforms  (k, n, 4, 4), (k, n, 7) or (k, n, 3), for the n objects `names`, by default for all objects
        margin      objects with a distance of at most `margin` collide, too

        Other objects keep their transforms. Pairs without an object of `names`, and pairs of ignore(), are not tested.
        The transforms of the manager do not change.
        """
        with self._guard:
            group = self._configurations(transforms, names)
            return group.any(margin)

    def min_distance_many(self, transforms: ArrayLike, names: Optional[Sequence[Any]] = None) -> Floats:
        """Computes the smallest distance of two objects in each of k configurations: (k,), with the arguments of
        in_collision_many(). Infinity if no pair is tested."""
        with self._guard:
            group = self._configurations(transforms, names)
            return np.ascontiguousarray(group.closest()["separation"]["distance"])

    # -- distances --

    @overload
    def min_distance_internal(
        self, name: Optional[Hashable] = ..., return_names: Literal[False] = ..., return_data: Literal[False] = ...
    ) -> float: ...

    @overload
    def min_distance_internal(
        self, name: Optional[Hashable] = ..., *, return_names: Literal[True], return_data: Literal[False] = ...
    ) -> tuple[float, Optional[tuple[Any, Any]]]: ...

    @overload
    def min_distance_internal(
        self, name: Optional[Hashable] = ..., return_names: Literal[False] = ..., *, return_data: Literal[True]
    ) -> tuple[float, Optional[DistanceData]]: ...

    @overload
    def min_distance_internal(
        self, name: Optional[Hashable] = ..., *, return_names: Literal[True], return_data: Literal[True]
    ) -> tuple[float, Optional[tuple[Any, Any]], Optional[DistanceData]]: ...

    @overload
    def min_distance_internal(
        self, name: Optional[Hashable] = ..., return_names: bool = ..., return_data: bool = ...
    ) -> Any: ...

    def min_distance_internal(
        self, name: Optional[Hashable] = None, return_names: bool = False, return_data: bool = False
    ) -> Any:
        """Computes the smallest distance between any two objects, or between one object and all others. Infinity if
        there are fewer than two."""
        with self._guard:
            group = self._all()
            if name is not None:
                group = self._group()
                group.split([self._slot(name)])
            return group.least(return_names, return_data, _sorted)

    @overload
    def min_distance_single(
        self,
        mesh: Any,
        transform: ArrayLike = ...,
        return_name: Literal[False] = ...,
        return_data: Literal[False] = ...,
    ) -> float: ...

    @overload
    def min_distance_single(
        self, mesh: Any, transform: ArrayLike = ..., *, return_name: Literal[True], return_data: Literal[False] = ...
    ) -> tuple[float, Any]: ...

    @overload
    def min_distance_single(
        self, mesh: Any, transform: ArrayLike = ..., return_name: Literal[False] = ..., *, return_data: Literal[True]
    ) -> tuple[float, Optional[DistanceData]]: ...

    @overload
    def min_distance_single(
        self, mesh: Any, transform: ArrayLike = ..., *, return_name: Literal[True], return_data: Literal[True]
    ) -> tuple[float, Any, Optional[DistanceData]]: ...

    @overload
    def min_distance_single(
        self, mesh: Any, transform: ArrayLike = ..., return_name: bool = ..., return_data: bool = ...
    ) -> Any: ...

    def min_distance_single(
        self, mesh: Any, transform: ArrayLike = None, return_name: bool = False, return_data: bool = False
    ) -> Any:
        """Computes the smallest distance between a mesh and any object."""
        made, pose = _mesh(mesh), read_pose(transform)
        with self._guard:
            return self._with(made, pose).least(return_name, return_data, lambda pair: pair[0])

    @overload
    def min_distance_other(
        self, other_manager: CollisionManager, return_names: Literal[False] = ..., return_data: Literal[False] = ...
    ) -> float: ...

    @overload
    def min_distance_other(
        self, other_manager: CollisionManager, return_names: Literal[True], return_data: Literal[False] = ...
    ) -> tuple[float, Optional[tuple[Any, Any]]]: ...

    @overload
    def min_distance_other(
        self, other_manager: CollisionManager, return_names: Literal[False] = ..., *, return_data: Literal[True]
    ) -> tuple[float, Optional[DistanceData]]: ...

    @overload
    def min_distance_other(
        self, other_manager: CollisionManager, return_names: Literal[True], return_data: Literal[True]
    ) -> tuple[float, Optional[tuple[Any, Any]], Optional[DistanceData]]: ...

    @overload
    def min_distance_other(
        self, other_manager: CollisionManager, return_names: bool = ..., return_data: bool = ...
    ) -> Any: ...

    def min_distance_other(
        self, other_manager: CollisionManager, return_names: bool = False, return_data: bool = False
    ) -> Any:
        """Computes the smallest distance between an object and an object of another manager."""
        with _both(self, other_manager):
            return self._against(other_manager._all()).least(return_names, return_data, lambda pair: pair)

    # -- groups --

    def _group(self) -> _Group:
        group = _Group(self._solids, list(self._meshes), self._poses, list(self._names), self._signed)
        group.ignore([(self._slots[a], self._slots[b]) for a, b in self._ignored])
        return group

    def _all(self) -> _Group:
        if self._own is None:
            self._own, self._own_and_one = self._group(), None
        return self._own

    def _with(self, mesh: Mesh, pose: Any) -> _Group:
        """Returns the objects of this manager and another mesh, which is tested against them."""
        own = self._all()
        if self._own_and_one is None:
            one = _Group(self._solids, [mesh], np.array([tuple(pose)]), [EXTERNAL], self._signed)
            self._own_and_one = own.joined(one)
        else:
            self._own_and_one.replace_last(mesh, pose)
        return self._own_and_one

    def _against(self, others: _Group) -> _Group:
        """Returns the objects of this manager, then others, which are tested only against the former."""
        return self._all().joined(others)

    def _configurations(self, transforms: ArrayLike, names: Optional[Sequence[Any]]) -> _Group:
        slots = list(range(len(self._names))) if names is None else [self._slot(name) for name in names]
        if len(set(slots)) != len(slots):
            raise ArgumentError("names: an object is there twice")
        moved = _finite(grid_of_poses(transforms, "transforms", len(slots)), "transforms")
        group = self._group()
        group.move(slots, moved)
        return group


class _Group:
    """Objects and configurations of an abut_pair_group. Poses are not copied."""

    def __init__(
        self, solids: bool, meshes: list[Mesh], placed: Floats, names: list[Any], signed: bool = False
    ) -> None:
        self.meshes, self.names, self._signed, address = meshes, names, signed, pointer(placed)
        self.rows = (POSE * len(meshes)).from_address(address)
        self._handles = [mesh._on_cpu().handle for mesh in meshes]
        self._solids = solids
        self._kept: list[Any] = [placed]
        self._objects: Array = np.zeros(len(meshes), record(_c.abut_pair_object))
        self._objects["size"] = ctypes.sizeof(_c.abut_pair_object)
        self._objects["bvh"] = [each.address for each in self._handles]
        self._objects["poses"] = address + np.arange(len(meshes), dtype=np.uintp) * np.uintp(56)
        self._prepare()

    def _prepare(self) -> None:
        self._given = options(
            _c.abut_pair_group,
            objects=pointer(self._objects),
            object_count=len(self._objects),
            configuration_count=1,
            surface_only=not self._solids,
        )
        # for calls that take microseconds
        self._any, self._worth = ctypes.c_bool(), _c.abut_reliability()
        self._any_arguments = byref(self._given), byref(self._any), byref(self._worth)
        self._closest: Array = np.zeros(1, record(_c.abut_pair_group_closest))
        self._closest_arguments = byref(self._given), ctypes.c_void_p(pointer(self._closest))

    def joined(self, others: _Group) -> _Group:
        """Returns these objects and others. Only pairs of one of these and one of the others are tested."""
        made = _Group.__new__(_Group)
        made.meshes, made.names = self.meshes + others.meshes, self.names + others.names
        made._handles, made._solids, made._signed = self._handles + others._handles, self._solids, self._signed
        made._kept = [*self._kept, *others._kept]
        made._objects = np.concatenate([self._objects, others._objects])
        made.split(slice(len(self.meshes), None))
        made._prepare()
        return made

    def replace_last(self, mesh: Mesh, pose: Any) -> None:
        """Replaces the last object, which was joined alone."""
        handle = mesh._on_cpu().handle
        self.meshes[-1], self._handles[-1] = mesh, handle
        self._objects["bvh"][-1] = handle.address
        ctypes.memmove(int(self._objects["poses"][-1]), pose, 56)

    def ignore(self, pairs: list[tuple[int, int]]) -> None:
        listed = np.array(pairs, np.uint32).reshape(-1, 2)
        self._kept.append(listed)
        self._given.ignored, self._given.ignored_count = pointer(listed), len(listed)

    def split(self, slots: Union[list[int], slice]) -> None:
        """Restricts tests to pairs of one of these slots and one of the other slots."""
        self._objects["group"], self._objects["mask"] = 1, 2
        self._objects["group"][slots], self._objects["mask"][slots] = 2, 1

    def move(self, slots: list[int], moved: Floats) -> None:
        """Sets the poses (k, len(slots), 7) of these slots in k configurations. Pairs of other slots are not tested."""
        moved = np.ascontiguousarray(moved)
        self._kept.append(moved)
        self._objects["group"], self._objects["mask"] = 2, 1
        self._objects["group"][slots], self._objects["mask"][slots] = 1, 0
        self._objects["poses"][slots] = pointer(moved) + np.arange(len(slots), dtype=np.uintp) * np.uintp(56)
        self._objects["stride"][slots] = 56 * len(slots)
        self._given.configuration_count = len(moved)

    def any(self, margin: float = 0) -> Bools:
        found = np.zeros(self._given.configuration_count, np.bool_)
        try:
            self._given.margin = margin
        except TypeError:
            raise TypeError(f"margin must be a number, not {margin!r}") from None
        worth = _c.abut_reliability()
        run(lib.abut_pair_group_any, byref(self._given), pointer(found), byref(worth), uses=_ALL)
        if worth.level:
            warn_unless_guaranteed(reliability(worth))
        return found

    def any_of_one(self) -> bool:
        """any() of a single configuration."""
        status = locked(_any_unchecked, self._any_arguments, _ALL_GUARDS)
        if status:
            check(status)
        if self._worth.level:
            warn_unless_guaranteed(reliability(self._worth))
        return self._any.value

    def closest_of_one(self) -> Any:
        """closest() of a single configuration, in an array that the next call overwrites."""
        status = locked(_closest_unchecked, self._closest_arguments, _ALL_GUARDS)
        if status:
            check(status)
        found = self._closest[0]
        if found["separation"]["reliability"]["level"]:
            worst_of(self._closest["separation"])
        return found

    def hits(self) -> tuple[list[tuple[int, int]], Reliability]:
        room = np.empty(max(64, 2 * len(self.meshes)), record(_c.abut_pair_group_hit))
        worth = _c.abut_reliability()
        found = fill(
            _c.abut_pair_group_hit_list,
            room,
            lambda to: fits(lib.abut_pair_group_list, byref(self._given), to, byref(worth), uses=_ALL),
        )
        return list(zip(found["a"].tolist(), found["b"].tolist())), reliability(worth)

    def closest(self) -> Array:
        found = np.zeros(self._given.configuration_count, record(_c.abut_pair_group_closest))
        run(lib.abut_pair_group_distance, byref(self._given), pointer(found), uses=_ALL)
        worst_of(found["separation"])
        return found

    def collide(self, return_names: bool, return_data: bool, as_name: Any) -> Any:
        if not return_names and not return_data:
            return self.any_of_one()
        hits, said = self.hits()
        names = {as_name((self.names[a], self.names[b])) for a, b in hits}
        data: Optional[list[ContactData]] = None
        if return_data:
            data, also = self._contacts(hits)
            said = worst((said, also))
        warn_unless_guaranteed(said)
        return _answer(bool(hits), names if return_names else None, data)

    def least(self, return_names: bool, return_data: bool, as_name: Any) -> Any:
        found = self.closest_of_one()
        best = float(found["separation"]["distance"])
        pair = None if found["a"] == NONE else (self.names[found["a"]], self.names[found["b"]])
        if self._signed and best == 0 and pair is not None:
            best = self._overlap(found, return_data)
        data = DistanceData(pair, found["separation"]) if return_data and pair is not None else None
        return _answer(
            best, (as_name(pair) if pair else None,) if return_names else None, (data,) if return_data else None
        )

    def _overlap(self, found: Any, with_triangles: bool) -> float:
        """Replaces distance and closest points of a pair that overlaps by its deepest contact. Returns the distance."""
        a, b = int(found["a"]), int(found["b"])
        posed = self._posed([(a, b)])
        room = Room()
        run(
            room.fill,
            lambda _, to: lib.abut_contact_find(byref(posed[0][0]), byref(posed[0][1]), None, to),
            0,
            uses=_ALL,
        )
        contacts, _, _, said = room.result()
        warn_unless_guaranteed(said)
        if not len(contacts):
            return 0.0
        contacts = contacts.view(record(_c.abut_contact))
        deepest = contacts[contacts["depth"].argmax()]
        half, separation = deepest["normal"] * (deepest["depth"] / 2), found["separation"]
        separation["distance"] = -deepest["depth"]
        separation["point_a"], separation["point_b"] = deepest["point"] - half, deepest["point"] + half
        if with_triangles:
            triangles = _NearestTriangles(self, [(a, b)], [1], deepest["point"][None])
            separation["triangle_a"], separation["triangle_b"] = triangles[0]
        return float(separation["distance"])

    def _contacts(self, hits: list[tuple[int, int]]) -> tuple[list[ContactData], Reliability]:
        """Returns the contacts of pairs with the nearest triangles, and the reliability."""
        posed = self._posed(hits)
        found: Contacts = collect(
            lambda place, room: lib.abut_contact_find(byref(posed[place][0]), byref(posed[place][1]), None, room),
            len(hits),
            _ALL,
        )
        counts = np.diff(found.offsets).tolist()
        names = [(self.names[a], self.names[b]) for a, b in hits]
        triangles = _NearestTriangles(self, hits, counts, found.point)
        made: list[ContactData] = []
        place = 0
        for pair, count in zip(names, counts):
            for contact in found.records[place : place + count]:
                made.append(ContactData(pair, contact, functools.partial(triangles.__getitem__, len(made))))
            place += count
        return made, found.reliability

    def _pose_of(self, slot: int) -> bytes:
        return ctypes.string_at(int(self._objects["poses"][slot]), 56)

    def _posed(self, hits: list[tuple[int, int]]) -> list[tuple[Any, Any]]:
        """Returns the colliders of pairs. Two small convex meshes are hulls, whose contacts are faster, and whose depth
        is that of the shortest shift that separates them."""
        kept: dict[tuple[int, bool], Any] = {}
        made = []
        for a, b in hits:
            convex = self.meshes[a]._is_hull() and self.meshes[b]._is_hull()
            for slot in (a, b):
                if (slot, convex) not in kept:
                    collider = kept[slot, convex] = collider_of(self._handles[slot])
                    if convex:
                        collider.kind, collider.shape.hull = _c.ABUT_COLLIDER_HULL, self._handles[slot].value
                    ctypes.memmove(byref(collider, _c.abut_collider.pose.offset), self._pose_of(slot), 56)
            made.append((kept[a, convex], kept[b, convex]))
        return made

    def _copy(self, slots: Collection[int]) -> dict[int, tuple[Mesh, bytes]]:
        """Returns the meshes and poses of objects, which the next query may change."""
        return {slot: (self.meshes[slot], self._pose_of(slot)) for slot in slots}


class _NearestTriangles:
    """The triangles of both objects that are nearest to contacts, computed when the first of them is needed."""

    def __init__(self, group: _Group, hits: list[tuple[int, int]], counts: list[int], points: Floats) -> None:
        self._hits, self._counts, self._points = hits, counts, points
        self._objects = group._copy({slot for hit in hits for slot in hit})
        self._found: Optional[Array] = None
        self._lock = threading.Lock()

    def __getitem__(self, place: int) -> Any:
        with self._lock:
            if self._found is None:
                self._found = self._find()
        return self._found[place]

    def _find(self) -> Array:
        slots = np.repeat(np.array(self._hits, np.intp).reshape(-1, 2), self._counts, axis=0)
        used, place = np.unique(slots, return_inverse=True)
        place = place.reshape(slots.shape)
        posed = [self._objects[slot] for slot in used.tolist()]
        turns = matrices(np.frombuffer(b"".join(pose for _, pose in posed)).reshape(-1, 7))[place]
        local = np.einsum("ijk,ijkl->ijl", self._points[:, None] - turns[..., :3, 3], turns[..., :3, :3])
        meshes = {id(mesh): mesh for mesh, _ in posed}  # objects may share one
        keys = np.array([id(mesh) for mesh, _ in posed])[place]
        found = np.empty(slots.shape, np.int64)
        for key, mesh in meshes.items():
            found[keys == key] = mesh.nearest(local[keys == key]).triangle
        return found


@contextlib.contextmanager
def _both(first: CollisionManager, second: CollisionManager) -> Iterator[None]:
    """Locks two managers for one query, in the same order on all threads."""
    if not isinstance(second, CollisionManager):
        raise TypeError(f"other_manager must be an abut.CollisionManager, not {type(second).__name__}")
    one, other = sorted((first._guard, second._guard), key=lambda guard: guard.order)
    with one, other:
        yield


def _answer(result: Any, names: Any, data: Any) -> Any:
    """Returns the result with the names and data that the flags select."""
    more = [part[0] if isinstance(part, tuple) else part for part in (names, data) if part is not None]
    return (result, *more) if more else result


def _sorted(pair: tuple[Any, Any]) -> tuple[Any, Any]:
    try:
        return (pair[0], pair[1]) if pair[0] <= pair[1] else (pair[1], pair[0])
    except TypeError:  # names that have no order
        return (pair[0], pair[1]) if str(pair[0]) <= str(pair[1]) else (pair[1], pair[0])


def _mesh(mesh: Any) -> Mesh:
    try:
        return mesh_of(mesh, "mesh")
    except TypeError as problem:
        raise ArgumentError(str(problem)) from None


def read_pose(transform: ArrayLike) -> Any:
    """Returns one pose of seven numbers."""
    if type(transform) is POSE:
        return transform
    found = one_pose((0, 0, 0) if transform is None else transform, "transform", finite=True)
    if found is None:
        raise ArgumentError("transform must be one of (4, 4), (7,) or (3,)")
    return found


def _finite(placed: Floats, what: str) -> Floats:
    if not np.isfinite(placed).all():
        raise ArgumentError(f"{what}: not all numbers are finite")
    return placed
