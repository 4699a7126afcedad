"""CollisionManager, with the verbs of trimesh.collision.CollisionManager.

What is other than there: a body inside another collides with it whatever their shape (trimesh says so
of convex meshes only), unless solids=False; distances are 0 where bodies touch, never negative; and
contacts are a few for each patch, with depths by which a shift separates, instead of one for every
pair of triangles.
"""

from __future__ import annotations

from typing import Any, Hashable, Iterator, Optional

import numpy as np

from . import _c
from ._arrays import Array, ArrayLike, Floats, matrices, pointer, poses, record
from ._core import ArgumentError, byref, check, lib, options
from .mesh import Mesh
from .pair import Contacts, gather

EXTERNAL = "__external"
"""The name of a mesh that is asked about without being in the manager."""


class ContactData:
    """One contact of two objects."""

    def __init__(self, pair: tuple[Any, Any], triangles: tuple[int, int], contact: Any) -> None:
        self.pair = pair
        """The names in order: the normal points from the second to the first."""
        self.names = set(pair)
        self._triangles: dict[Any, int] = dict(zip(pair, triangles))
        self._contact = contact

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
        """The triangle of the object of that name that is nearest to the contact."""
        return self._triangles[name]

    def __repr__(self) -> str:
        return f"<abut contact of {self.pair[0]!r} and {self.pair[1]!r}, depth {self.depth:.6g}>"


class DistanceData:
    """How far two objects are apart."""

    def __init__(self, pair: tuple[Any, Any], found: Any) -> None:
        self.names = set(pair)
        self.distance = float(found["distance"])
        self._points = {pair[0]: np.array(found["point_a"]), pair[1]: np.array(found["point_b"])}
        self._triangles = {pair[0]: int(found["triangle_a"]), pair[1]: int(found["triangle_b"])}

    def point(self, name: Any) -> Floats:
        return self._points[name]

    def index(self, name: Any) -> int:
        """The triangle that holds the point; NONE for a body around the other."""
        return self._triangles[name]


class _Objects:
    """Meshes at poses: one record of abut_posed for each, which the library reads in place."""

    def __init__(self) -> None:
        self.names: list[Any] = []
        self.meshes: list[Mesh] = []
        self.posed: Array = np.zeros(0, record(_c.abut_posed))
        self.local = np.zeros((0, 2, 3))
        self.boxes = np.zeros((0, 2, 3))

    def add(self, name: Any, mesh: Mesh, pose: Floats) -> None:
        self.names.append(name)
        self.meshes.append(mesh)
        row: Array = np.zeros(1, self.posed.dtype)
        row["bvh"] = mesh.on_cpu().value.value
        self.posed = np.concatenate([self.posed, row])
        self.local = np.concatenate([self.local, mesh.bounds[None]])
        self.boxes = np.concatenate([self.boxes, np.zeros((1, 2, 3))])
        self.place(len(self.names) - 1, pose)

    def remove(self, slot: int) -> None:
        del self.names[slot], self.meshes[slot]
        self.posed, self.local, self.boxes = (
            np.delete(array, slot, axis=0) for array in (self.posed, self.local, self.boxes)
        )

    def place(self, slot: int, pose: Floats) -> None:
        """Moves an object: its box holds the turned box of the mesh, and a little for rounding."""
        self.posed["pose"][slot] = pose
        turn = matrices(pose[None])[0]
        lo, hi = self.local[slot]
        middle, half = turn[:3, :3] @ ((lo + hi) / 2) + turn[:3, 3], np.abs(turn[:3, :3]) @ ((hi - lo) / 2)
        half = half + 1e-12 * (half.max() + np.abs(middle).max())
        self.boxes[slot] = middle - half, middle + half

    def address(self, slot: int) -> int:
        return pointer(self.posed) + slot * self.posed.itemsize


def _near(a: Array, b: Array, same: bool) -> Iterator[tuple[int, int]]:
    """Pairs of boxes that overlap, in order; of one list each pair once."""
    step = max(1, (1 << 20) // max(len(b), 1))
    for begin in range(0, len(a), step):
        part = a[begin : begin + step]
        hit = ((part[:, None, 0] <= b[None, :, 1]) & (b[None, :, 0] <= part[:, None, 1])).all(axis=2)
        for i, j in zip(*(index.tolist() for index in np.nonzero(hit))):
            if not same or i + begin < j:
                yield i + begin, j


def _bounds(a: Array, b: Array, same: bool) -> Iterator[tuple[int, int, float]]:
    """All pairs by the distance of their boxes, which is no more than that of the bodies."""
    gap = np.maximum(np.maximum(a[:, None, 0] - b[None, :, 1], b[None, :, 0] - a[:, None, 1]), 0)
    least = np.sqrt((gap * gap).sum(axis=2))
    if same:
        least[np.tril_indices(len(a))] = np.inf
    count = least.size if not same else len(a) * (len(a) - 1) // 2
    for flat in np.argsort(least, axis=None, kind="stable")[:count].tolist():
        i, j = divmod(flat, len(b))
        yield i, j, float(least[i, j])


class CollisionManager:
    """Named meshes at transforms, and which of them collide or how far apart they are. Meshes are of
    abut or of trimesh; transforms are (4, 4), or (7,).

    >>> import abut, numpy
    >>> manager = abut.CollisionManager()
    >>> for name, x in ("a", 0), ("b", 0.9), ("c", 5):
    ...     _ = manager.add_object(name, abut.shape("box"), [x, 0, 0, 0, 0, 0, 1])
    >>> manager.in_collision_internal(return_names=True)
    (True, {('a', 'b')})
    >>> round(manager.min_distance_single(abut.shape("box"), [7, 0, 0, 0, 0, 0, 1]), 6)
    1.0
    """

    def __init__(self, solids: bool = True) -> None:
        """With solids=False only surfaces count: what is inside another does not collide with it."""
        self._objects = _Objects()
        self._options = options(_c.abut_pair_options, surfaces=not solids)
        self._caches: dict[tuple[Any, Any], Any] = {}

    # -- objects --

    def add_object(self, name: Hashable, mesh: Any, transform: ArrayLike = None) -> Mesh:
        """Adds a mesh, in place of one that has the name already."""
        made, pose = _mesh(mesh), _pose(transform)
        if name in self._objects.names:
            self.remove_object(name)
        self._objects.add(name, made, pose)
        return made

    def remove_object(self, name: Hashable) -> None:
        self._objects.remove(self._slot(name))
        self._caches = {pair: cache for pair, cache in self._caches.items() if name not in pair}

    def set_transform(self, name: Hashable, transform: ArrayLike) -> None:
        self._objects.place(self._slot(name), _pose(transform))

    @property
    def names(self) -> list[Any]:
        return list(self._objects.names)

    def _slot(self, name: Hashable) -> int:
        try:
            return self._objects.names.index(name)
        except ValueError:
            raise ArgumentError(f"{name} not in collision manager!") from None

    # -- collisions --

    def in_collision_internal(self, return_names: bool = False, return_data: bool = False) -> Any:
        """Whether any two objects collide; with names a set of pairs, each sorted."""
        return self._collide(self._objects, True, return_names, return_data, lambda pair: _sorted(pair))

    def in_collision_single(
        self, mesh: Any, transform: ArrayLike = None, return_names: bool = False, return_data: bool = False
    ) -> Any:
        """Whether a mesh collides with any object; with names a set of them."""
        return self._collide(_single(mesh, transform), False, return_names, return_data, lambda pair: pair[0])

    def in_collision_other(
        self, other_manager: CollisionManager, return_names: bool = False, return_data: bool = False
    ) -> Any:
        """Whether any object collides with one of another manager; with names pairs of both."""
        return self._collide(other_manager._objects, False, return_names, return_data, lambda pair: pair)

    def _collide(self, others: _Objects, same: bool, return_names: bool, return_data: bool, as_name: Any) -> Any:
        mine, names, data, result = self._objects, set(), [], False
        found = _c.abut_overlap()
        for i, j in _near(mine.boxes, others.boxes, same):
            pair = (mine.names[i], others.names[j])
            check(
                lib.abut_pair_overlap(
                    mine.address(i), others.address(j), byref(self._options), self._cache(pair, same), byref(found)
                )
            )
            if not found.relation:
                continue
            result = True
            if not return_names and not return_data:
                return True
            names.add(as_name(pair))
            if return_data:
                data += _contacts(mine, i, others, j)
        return _answer(result, names if return_names else None, data if return_data else None)

    def _cache(self, pair: tuple[Any, Any], keep: bool) -> Any:
        if not keep:
            return None
        if pair not in self._caches:
            self._caches[pair] = _c.abut_pair_cache()
        return byref(self._caches[pair])

    # -- distances --

    def min_distance_internal(
        self, name: Optional[Hashable] = None, return_names: bool = False, return_data: bool = False
    ) -> Any:
        """The least distance between two objects, or of one of them from all others; infinity where there
        are no two."""
        if name is None:
            return self._least(self._objects, True, return_names, return_data, _sorted)
        slot, one = self._slot(name), _Objects()
        one.add(name, self._objects.meshes[slot], self._objects.posed["pose"][slot])
        return self._least(one, False, return_names, return_data, _sorted, leave_out=slot)

    def min_distance_single(
        self, mesh: Any, transform: ArrayLike = None, return_name: bool = False, return_data: bool = False
    ) -> Any:
        """The least distance of a mesh from any object."""
        return self._least(_single(mesh, transform), False, return_name, return_data, lambda pair: pair[0])

    def min_distance_other(
        self, other_manager: CollisionManager, return_names: bool = False, return_data: bool = False
    ) -> Any:
        """The least distance between an object and one of another manager."""
        return self._least(other_manager._objects, False, return_names, return_data, lambda pair: pair)

    def _least(
        self, others: _Objects, same: bool, return_names: bool, return_data: bool, as_name: Any, leave_out: int = -1
    ) -> Any:
        mine, best, pair = self._objects, np.inf, None
        found, kept = np.zeros(1, record(_c.abut_separation)), None
        near = np.zeros(1, np.bool_)
        for i, j, bound in _bounds(mine.boxes, others.boxes, same):
            if bound >= best:
                break
            if i == leave_out:
                continue
            a, b = mine.address(i), others.address(j)
            if np.isfinite(best):  # whether it can be less takes a tenth of the time
                check(lib.abut_pair_within(a, b, best, byref(self._options), None, pointer(near), None))
                if not near[0]:
                    continue
            check(lib.abut_pair_distance(a, b, byref(self._options), None, pointer(found)))
            if found["distance"][0] < best:
                best, pair, kept = float(found["distance"][0]), (mine.names[i], others.names[j]), found[0].copy()
        data = DistanceData(pair, kept) if return_data and pair is not None else None
        return _answer(
            best, (as_name(pair) if pair else None,) if return_names else None, (data,) if return_data else None
        )


def _answer(result: Any, names: Any, data: Any) -> Any:
    """What the flags ask for; single things come in a tuple of one."""
    more = [part[0] if isinstance(part, tuple) else part for part in (names, data) if part is not None]
    return (result, *more) if more else result


def _sorted(pair: tuple[Any, Any]) -> tuple[Any, Any]:
    try:
        return (pair[0], pair[1]) if pair[0] <= pair[1] else (pair[1], pair[0])
    except TypeError:  # names that have no order
        return (pair[0], pair[1]) if str(pair[0]) <= str(pair[1]) else (pair[1], pair[0])


def _mesh(mesh: Any) -> Mesh:
    if isinstance(mesh, Mesh):
        return mesh
    if hasattr(mesh, "vertices"):
        return Mesh.from_trimesh(mesh)
    raise ArgumentError(f"a mesh of abut or trimesh is needed, not {type(mesh).__name__}")


def _pose(transform: ArrayLike) -> Floats:
    array, single = poses(transform, "transform")
    if array is None:
        return np.array((0, 0, 0, 1, 0, 0, 0), float)
    if len(array) != 1 or not single:
        raise ArgumentError("transform must be (4, 4)")
    if not np.isfinite(array).all():
        raise ArgumentError("transform: not all numbers are finite")
    return np.asarray(array[0])


def _single(mesh: Any, transform: ArrayLike) -> _Objects:
    made = _Objects()
    made.add(EXTERNAL, _mesh(mesh), _pose(transform))
    return made


def _contacts(first: _Objects, i: int, second: _Objects, j: int) -> list[ContactData]:
    """The contacts of a pair, and the triangles that are nearest to each."""
    a, b = first.address(i), second.address(j)
    found: Contacts = gather(lambda place, room: lib.abut_contact_patches(a, b, None, room), 1)
    if not len(found):
        return []
    triangles = []
    for objects, slot in ((first, i), (second, j)):
        turn = matrices(objects.posed["pose"][slot][None])[0]
        local = (found.point - turn[:3, 3]) @ turn[:3, :3]
        triangles.append(objects.meshes[slot].nearest(local).triangle.tolist())
    pair = (first.names[i], second.names[j])
    return [ContactData(pair, both, contact) for both, contact in zip(zip(*triangles), found.records)]
