"""Queries on two meshes at one or many poses: overlap, distance, contacts, time of impact, common volume.

A pose is (7,): x y z, then the quaternion x y z w; or a translation (3,); or a matrix (4, 4). Many poses are (k, 7),
(k, 3) or (k, 4, 4), and results then have k rows. None leaves a mesh where it is.

The interior of a component of a mesh: if it is closed, the points that it winds around; if it has small holes, the
points with a winding number of at least one half; if it is a sheet (holes above a tenth of its area, such as a scanned
room), nothing. If the meshes do not allow a guaranteed result, functions issue one ReliabilityWarning per call, and
result objects have it as `reliability`.
"""

from __future__ import annotations

import concurrent.futures
import ctypes
from typing import Any, Callable, Iterable, Iterator, NamedTuple, Optional, Sequence, Union

import numpy as np

from . import _c, device as _device
from ._arrays import Array, ArrayLike, Floats, one, one_pose, pointer, poses, record, rows_of, vec, vector, write_pose
from ._core import (
    ArgumentError,
    Handle,
    Use,
    byref,
    check,
    is_interrupted,
    lib,
    locked,
    number,
    options,
    run,
    thread_count,
    unchecked,
)
from .collider import PRIMITIVES, Primitive, fill_primitive
from .mesh import Mesh, collider_of, mesh_of
from .report import Reliability, reliability, warn_unless_guaranteed

RELATIONS = ("apart", "intersecting", "a-inside", "b-inside")
"""The results of relation() and distance()."""
_RELATION_NAMES = np.array(RELATIONS)
_OPTIONS = tuple(byref(options(_c.abut_pair_options, surface_only=only)) for only in (False, True))
_overlap_unchecked = unchecked("abut_pair_overlap")
_POSE_OFFSET = _c.abut_collider.pose.offset


class Separation(NamedTuple):
    """Distance and closest points of two bodies, one row per pose."""

    distance: Array
    """0 exactly if they touch or one contains the other."""
    point_a: Array
    point_b: Array
    triangle_a: Array
    triangle_b: Array
    relation: Any
    """One of abut.RELATIONS; an array of them for many poses."""
    reliability: Reliability
    """The lowest reliability of all poses."""


class Contacts:
    """Contacts of two bodies and their contact patches: one patch per region of the overlap, or per wall of a region
    or within the margin. Normals point from b to a: a shift of a by the depth along the normal ends the contact.
    Negative depths are gaps. Iteration yields the record of each contact; pose(i) returns those of one pose.

    point (n, 3), normal (n, 3), depth (n,), id (n,)  of contacts
    patch (n,)                                        the patch of each contact
    patches                                           records: normal, centre, depth, area, volume, first, count;
                                                      area and volume of the overlap, 0 for a gap
    offsets (k + 1,)                                  pose i has the contacts offsets[i] to offsets[i + 1] - 1
    patch_offsets (k + 1,)                            the same for patches
    is_verified (k,)                                  whether an exact test has shown that the shift by all depths
                                                      separates the bodies; False for opposing walls of a press fit
    reliability                                       the lowest reliability of all poses
    """

    def __init__(
        self,
        contacts: Array,
        patches: Array,
        offsets: Array,
        patch_offsets: Array,
        is_verified: Array,
        worth: Reliability,
    ) -> None:
        self.records = contacts
        self.point, self.normal, self.depth = contacts["point"], contacts["normal"], contacts["depth"]
        self.id = contacts["id"]
        self.patches, self.offsets, self.patch_offsets = patches, offsets, patch_offsets
        self.patch = np.repeat(np.arange(len(patches), dtype=np.uint32), patches["count"])
        self.is_verified, self.reliability = is_verified, worth

    def __len__(self) -> int:
        return len(self.records)

    def __getitem__(self, place: Any) -> Any:
        """Returns records of contacts: contacts[0].depth or contacts[0]["depth"]."""
        return self.records.view(np.recarray)[place]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.records.view(np.recarray))

    def pose(self, place: int) -> Contacts:
        """Returns the contacts of one pose."""
        count = len(self.is_verified)
        if not -count <= place < count:
            raise IndexError(f"there are {count} poses")
        place %= count
        c, p = self.offsets[place : place + 2], self.patch_offsets[place : place + 2]
        patches = self.patches[p[0] : p[1]].copy()
        patches["first"] -= np.uint64(c[0])
        return Contacts(
            self.records[c[0] : c[1]],
            patches,
            c - c[0],
            p - p[0],
            self.is_verified[place : place + 1],
            self.reliability,
        )

    def __repr__(self) -> str:
        deepest = f", the deepest {self.depth.max():.6g}" if len(self) else ""
        return f"<abut.Contacts: {len(self)} in {len(self.patches)} patches{deepest}>"


class Touch(NamedTuple):
    """The first touch of two moving bodies, one row per path."""

    hit: Array
    time: Array
    """The time of impact from 0 to 1, never too late; 1 without a hit."""
    point: Array
    normal: Array
    """From b to a; zero if they touch at the start."""
    triangle_a: Array
    triangle_b: Array
    reliability: Reliability
    """The lowest reliability of the containment tests at the start, over all paths."""


def worst_of(records: Array) -> Reliability:
    """Returns the lowest reliability of all records. Warns unless it is guaranteed."""
    if not len(records):
        return Reliability("guaranteed", "")
    said = records["reliability"][int(records["reliability"]["level"].argmax())]
    reason = int(said["reason"])  # null if nothing was tested
    made = _c.abut_reliability(int(said["level"]), ctypes.string_at(reason) if reason else None)
    return warn_unless_guaranteed(reliability(made))


def _ask_once(
    function: Any, a: Any, b: Any, pose_a: ArrayLike, pose_b: ArrayLike, device: _device.Selector, *arguments: Any
) -> bool:
    """Calls a function of the library for one pose of each mesh on the CPU, without the overhead of arrays and
    progress. Returns False, and does nothing, if there are many poses or a device."""
    a, b = mesh_of(a, "a"), mesh_of(b, "b")
    if device is not None or a._device is not None or b._device is not None:
        return False
    first, second = a._built(None), b._built(None)
    posed_a, posed_b = first.unposed, second.unposed
    if pose_a is not None:
        posed_a = collider_of(first.handle)
        if not write_pose(pose_a, "pose_a", posed_a, _POSE_OFFSET):
            return False
    if pose_b is not None:
        posed_b = collider_of(second.handle)
        if not write_pose(pose_b, "pose_b", posed_b, _POSE_OFFSET):
            return False
    guards = [first.guard, second.guard]
    if first.guard.order >= second.guard.order:
        guards = [second.guard, first.guard] if first is not second else [first.guard]
    status = locked(function, (byref(posed_a), byref(posed_b), *arguments), guards)
    if status:
        check(status)
    return True


class _Poses:
    """The BVHs of two meshes and their poses."""

    def __init__(
        self, a: Mesh, b: Mesh, pose_a: ArrayLike, pose_b: ArrayLike, device: _device.Selector, on_cpu: bool = False
    ) -> None:
        """Selects the given device, otherwise that of a, otherwise that of b; or always the CPU."""
        a, b = mesh_of(a, "a"), mesh_of(b, "b")
        found = a._device_or_own(device) or b._device_or_own(device)
        found = None if on_cpu else found
        self.a, self.b = a._built(found), b._built(found)
        self.uses = (self.a.handle, self.b.handle)
        at_a = None if pose_a is None else one_pose(pose_a, "pose_a")
        at_b = None if pose_b is None else one_pose(pose_b, "pose_b")
        self.single = (pose_a is None or at_a is not None) and (pose_b is None or at_b is not None)
        if self.single:
            self.count = 1
            self.at_a = None if at_a is None else ctypes.addressof(at_a)
            self.at_b = None if at_b is None else ctypes.addressof(at_b)
        else:
            at_a, one_a = poses(pose_a, "pose_a")
            at_b, one_b = poses(pose_b, "pose_b")
            self.count = common(at_a, one_a, at_b, one_b, "poses")
            at_a, at_b = spread(at_a, self.count), spread(at_b, self.count)
            self.at_a = None if at_a is None else pointer(at_a)
            self.at_b = None if at_b is None else pointer(at_b)
        self._kept = at_a, at_b

    def structure(self) -> Any:
        return _c.abut_pair_poses(
            ctypes.sizeof(_c.abut_pair_poses),
            self.a.handle.value,
            self.b.handle.value,
            self.at_a,
            self.at_b,
            self.count,
        )

    def run_batch(self, function: Any, *arguments: Any) -> None:
        run(function, *arguments, uses=self.uses)

    def posed(self, place: int) -> tuple[Any, Any]:
        """Returns the abut_collider of both meshes for one pose."""
        made = (collider_of(self.a.handle), collider_of(self.b.handle))
        for posed, given in zip(made, (self.at_a, self.at_b)):
            if given is not None:
                ctypes.memmove(byref(posed, _c.abut_collider.pose.offset), given + 56 * place, 56)
        return made


def common(a: Optional[Floats], one_a: bool, b: Optional[Floats], one_b: bool, what: str) -> int:
    """Returns the number of poses after a single one is repeated."""
    counts = {len(given) for given, single in ((a, one_a), (b, one_b)) if given is not None and not single}
    if len(counts) > 1:
        counts.discard(1)
    if len(counts) > 1:
        raise ArgumentError(f"{len(a) if a is not None else 1} {what} of a and {len(b) if b is not None else 1} of b")
    return counts.pop() if counts else 1


def spread(given: Optional[Floats], count: int) -> Optional[Floats]:
    if given is None or len(given) == count:
        return given
    return np.ascontiguousarray(np.broadcast_to(given, (count, given.shape[1])))


def _find_relation(
    a: Mesh, b: Mesh, pose_a: ArrayLike, pose_b: ArrayLike, surface_only: bool, device: _device.Selector
) -> Any:
    """Computes the index in RELATIONS, or an array of indices for many poses."""
    one_found = _c.abut_overlap()
    given = _OPTIONS[bool(surface_only)]
    if _ask_once(_overlap_unchecked, a, b, pose_a, pose_b, device, given, None, byref(one_found)):
        worth = one_found.reliability
        found: Any = one_found.relation
    else:
        both = _Poses(a, b, pose_a, pose_b, device)
        worth = _c.abut_reliability()
        found = np.zeros(both.count, np.uint32)
        both.run_batch(lib.abut_pair_overlap_batch, byref(both.structure()), given, pointer(found), byref(worth))
        found = one(found, both.single)
    if worth.level:
        warn_unless_guaranteed(reliability(worth))
    return found


def relation(
    a: Mesh,
    b: Mesh,
    pose_a: ArrayLike = None,
    pose_b: ArrayLike = None,
    *,
    surface_only: bool = False,
    device: _device.Selector = None,
) -> Any:
    """Computes the relation of two bodies: "apart", "intersecting", "a-inside" or "b-inside"; an array of these names
    for many poses. Exact. With `surface_only`, a body inside another does not touch it. A sheet contains nothing.

    >>> import abut
    >>> abut.relation(abut.shape("box"), abut.shape("box", size=0.5))
    'b-inside'
    """
    found = _find_relation(a, b, pose_a, pose_b, surface_only, device)
    return RELATIONS[found] if isinstance(found, int) else _RELATION_NAMES[found]


def overlap(
    a: Mesh,
    b: Mesh,
    pose_a: ArrayLike = None,
    pose_b: ArrayLike = None,
    *,
    surface_only: bool = False,
    device: _device.Selector = None,
) -> Any:
    """Tests whether two bodies overlap: their surfaces intersect, or one contains a component of the other. Exact.

    >>> import abut
    >>> box, ball = abut.shape("box"), abut.shape("icosphere")
    >>> abut.overlap(box, ball, pose_b=[[0, 0, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 0, 1]])
    array([ True, False])
    """
    return _find_relation(a, b, pose_a, pose_b, surface_only, device) != 0


def distance(
    a: Mesh,
    b: Mesh,
    pose_a: ArrayLike = None,
    pose_b: ArrayLike = None,
    *,
    surface_only: bool = False,
    device: _device.Selector = None,
) -> Separation:
    """Computes the distance and the closest points of two bodies.

    >>> import abut
    >>> box = abut.shape("box")
    >>> abut.distance(box, box, pose_b=[3, 0, 0, 0, 0, 0, 1]).distance.item()
    2.0
    """
    found, given = np.zeros(1, record(_c.abut_separation)), _OPTIONS[bool(surface_only)]
    single = _ask_once(lib.abut_pair_distance, a, b, pose_a, pose_b, device, given, None, pointer(found))
    if not single:
        both = _Poses(a, b, pose_a, pose_b, device)
        single = both.single
        found = np.zeros(both.count, found.dtype)
        both.run_batch(lib.abut_pair_distance_batch, byref(both.structure()), given, pointer(found))
    names = ("distance", "point_a", "point_b", "triangle_a", "triangle_b")
    relations = one(_RELATION_NAMES[found["relation"]], single)
    return Separation(*rows_of(Separation, found, single, *names), relations, worst_of(found))


def within(
    a: Mesh,
    b: Mesh,
    margin: float,
    pose_a: ArrayLike = None,
    pose_b: ArrayLike = None,
    *,
    surface_only: bool = False,
    device: _device.Selector = None,
) -> Any:
    """Tests whether the distance of two bodies is at most `margin`. Faster than distance()."""
    one_found, worth = ctypes.c_bool(), _c.abut_reliability()
    given = _OPTIONS[bool(surface_only)]
    if _ask_once(
        lib.abut_pair_within, a, b, pose_a, pose_b, device, margin, given, None, byref(one_found), byref(worth)
    ):
        found: Any = one_found.value
    else:
        both = _Poses(a, b, pose_a, pose_b, device)
        found = np.zeros(both.count, np.bool_)
        both.run_batch(lib.abut_pair_within_batch, byref(both.structure()), margin, given, pointer(found), byref(worth))
        found = one(found, both.single)
    if worth.level:
        warn_unless_guaranteed(reliability(worth))
    return found


def contacts(
    a: Mesh,
    b: Mesh,
    pose_a: ArrayLike = None,
    pose_b: ArrayLike = None,
    *,
    margin: float = 0,
    max_contacts: int = 0,
    hint: Optional[ArrayLike] = None,
    device: _device.Selector = None,
) -> Contacts:
    """Computes contact points, contact normals and penetration depths of two bodies from exact geometry.

    margin        surfaces within this distance have contacts, too, with negative depths: one patch per wall. Walls
                  more than 5% of the smaller body beyond the nearest one have none
    max_contacts  the maximum number of contacts per patch; 0 = 4, at most 8
    hint          a direction: the normal of the last step, or the reversed motion of a relative to b. It selects the
                  side to which a body that has passed through the other is pushed

    This runs on the CPU, whatever the `device`. World(method="field", device=...) computes contacts of samples on a
    device.

    >>> import abut
    >>> box = abut.shape("box")
    >>> found = abut.contacts(box, box, pose_b=[0, 0, -0.9, 0, 0, 0, 1])
    >>> len(found), found.depth.max().round(9).item(), found.normal[0].round(9).tolist()
    (4, 0.1, [0.0, 0.0, 1.0])

    A peg in a square hole has one patch per wall:

    >>> peg = abut.shape("box", size=[0.98, 0.98, 1.4])
    >>> hole = abut.shape("tube", radius=2 ** 0.5, radius2=0.5 ** 0.5, height=0.6, segments=4)
    >>> turned = [0, 0, 0, 0, 0, 0.3826834323650898, 0.9238795325112867]
    >>> found = abut.contacts(peg, hole, [0.004, 0.002, 0, 0, 0, 0, 1], turned, margin=0.02)
    >>> (-found.patches["depth"]).round(6).tolist()
    [0.006, 0.008, 0.012, 0.014]
    """
    both = _Poses(a, b, pose_a, pose_b, device, on_cpu=True)
    given = options(
        _c.abut_patch_options,
        margin=margin,
        max_contacts=number(max_contacts, "max_contacts", most=8),
        hint=None if hint is None else vector(hint, "hint"),
    )
    return gather(
        lambda place, room: lib.abut_contact_find(*map(byref, both.posed(place)), byref(given), room),
        both.count,
        both.uses,
    )


class Room:
    """A growing buffer for the contacts of one query. It has plain bytes, since NumPy copies records member by
    member."""

    _CONTACT, _PATCH = (np.dtype(f"V{ctypes.sizeof(kind)}") for kind in (_c.abut_contact, _c.abut_patch))

    def __init__(self) -> None:
        self.contacts: Array = np.empty(64, self._CONTACT)
        self.patches: Array = np.empty(16, self._PATCH)
        self.made = options(_c.abut_patches)
        self._lists = self.made.patches, self.made.contacts

    def fill(self, question: Any, place: int) -> int:
        """Computes the contacts of one pose. Returns the status."""
        while True:
            made, (patches, contacts) = self.made, self._lists
            patches.list, patches.capacity = pointer(self.patches), len(self.patches)
            contacts.list, contacts.capacity = pointer(self.contacts), len(self.contacts)
            status: int = question(place, byref(made))
            if status != _c.ABUT_ERROR_BUFFER:
                return status
            self.contacts = np.empty(max(contacts.count, 64), self.contacts.dtype)
            self.patches = np.empty(max(patches.count, 16), self.patches.dtype)

    def result(self) -> tuple[Array, Array, bool, Reliability]:
        """Returns the contacts and patches of the last pose, whether they are verified, and the reliability."""
        made, (patches, contacts) = self.made, self._lists
        return (
            self.contacts[: contacts.count].copy(),
            self.patches[: patches.count].copy(),
            made.is_verified,
            reliability(made.reliability),
        )


def on_threads(count: int, work: Callable[[Iterator[int]], None]) -> None:
    """Distributes the numbers below `count` over worker threads."""
    numbers = iter(range(count))  # next() is atomic
    workers = min(thread_count(), count // 4)
    if workers < 2:
        work(numbers)
        return
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        tasks = [pool.submit(work, numbers) for _ in range(workers)]
        try:
            for task in tasks:
                task.result()
        finally:
            for _ in numbers:  # after an error, skip the remaining numbers
                pass


def gather(question: Any, count: int, uses: Sequence[Handle] = ()) -> Contacts:
    """Calls collect() and warns unless the contacts are guaranteed."""
    found = collect(question, count, uses)
    warn_unless_guaranteed(found.reliability)
    return found


def collect(question: Any, count: int, uses: Sequence[Union[Handle, Use]] = ()) -> Contacts:
    """Collects the contacts of `count` poses. `uses` are the objects that the query reads."""
    found: list[Any] = [None] * count

    def work(places: Iterator[int]) -> None:
        room = Room()

        def fill_all() -> int:
            for place in places:
                status = _c.ABUT_ERROR_CANCELLED if is_interrupted() else room.fill(question, place)
                if status:
                    return status
                found[place] = room.result()
            return int(_c.ABUT_OK)

        run(fill_all, uses=uses)  # one call, since locks and signals take longer than some contacts

    on_threads(count, work)
    offsets, patch_offsets = np.zeros(count + 1, np.int64), np.zeros(count + 1, np.int64)
    np.cumsum([len(answer[0]) for answer in found], out=offsets[1:])
    np.cumsum([len(answer[1]) for answer in found], out=patch_offsets[1:])
    none = Room()
    patches = np.concatenate([none.patches[:0], *(answer[1] for answer in found)]).view(record(_c.abut_patch))
    patches["first"] += np.repeat(offsets[:-1], np.diff(patch_offsets)).astype(np.uint64)
    return Contacts(
        np.concatenate([none.contacts[:0], *(answer[0] for answer in found)]).view(record(_c.abut_contact)),
        patches,
        offsets,
        patch_offsets,
        np.array([answer[2] for answer in found], np.bool_),
        worst(answer[3] for answer in found),
    )


_LEVELS = ("guaranteed", "limited", "unreliable")


def worst(reliabilities: Iterable[Reliability]) -> Reliability:
    """Returns the first of the lowest reliabilities."""
    return max(reliabilities, key=lambda said: _LEVELS.index(said.level), default=Reliability("guaranteed", ""))


def sweep(
    a: Union[Mesh, Primitive],
    b: Union[Mesh, Primitive],
    path_a: Optional[Sequence[Any]] = None,
    path_b: Optional[Sequence[Any]] = None,
    *,
    separation: float = 0,
    tolerance: float = 0,
    device: _device.Selector = None,
) -> Touch:
    """Computes the time of impact of two rigid bodies. Each moves along a path at constant speed: a pair (start, end)
    of poses, or of arrays of k poses. Bodies are meshes or primitives such as abut.Sphere. No touch is missed, however
    fast and thin the bodies are. For spheres, capsules and cylinders, the time may be early by the time of a distance
    of 0.003 radii. This runs on the CPU, whatever the `device`; Motion runs on a device.

    >>> import abut
    >>> box = abut.shape("box")
    >>> touch = abut.sweep(box, box, path_b=([5, 0, 0, 0, 0, 0, 1], [1, 0, 0, 0, 0, 0, 1]))
    >>> bool(touch.hit), round(float(touch.time), 3)
    (True, 1.0)
    """
    first, second = _sweep_collider(a, "a"), _sweep_collider(b, "b")
    _device.find(device)  # raises if there is no such device
    paths_a, one_a = _paths(path_a, "path_a")
    paths_b, one_b = _paths(path_b, "path_b")
    count = common(paths_a, one_a, paths_b, one_b, "paths")
    given = options(_c.abut_sweep_rigid_options, separation=separation, tolerance=tolerance)
    found = np.zeros(count, record(_c.abut_sweep_rigid_result))
    uses = [bvh for _, bvh, _ in (first, second) if bvh is not None]

    def work(places: Iterator[int]) -> None:
        made = [_c.abut_collider.from_buffer_copy(unposed) for unposed, _, _ in (first, second)]
        for place in places:
            ends = []
            for collider, paths in zip(made, (paths_a, paths_b)):
                row = None if paths is None else paths[place if len(paths) > 1 else 0]
                if row is not None:
                    ctypes.memmove(byref(collider, _POSE_OFFSET), pointer(row), 56)
                ends.append(None if row is None else pointer(row) + 56)
            run(
                lib.abut_sweep_rigid,
                byref(made[0]),
                ends[0],
                byref(made[1]),
                ends[1],
                byref(given),
                pointer(found) + place * found.itemsize,
                uses=uses,
            )

    on_threads(count, work)
    single = one_a and one_b
    sides = (one(found["triangle"][:, side], single) for side in (0, 1))
    return Touch(*rows_of(Touch, found, single, "hit", "time", "point", "normal"), *sides, worst_of(found))


def _sweep_collider(body: Union[Mesh, Primitive], what: str) -> tuple[Any, Optional[Handle], Any]:
    """Returns the abut_collider of a body, the BVH in it, and the object that must outlive both."""
    if not isinstance(body, PRIMITIVES):
        bvh = mesh_of(body, what)._on_cpu()
        return collider_of(bvh.handle), bvh.handle, bvh
    made = _c.abut_collider()
    kept = fill_primitive(made, body)
    return made, getattr(kept, "handle", None), kept


def _paths(path: Optional[Sequence[Any]], what: str) -> tuple[Optional[Floats], bool]:
    """Returns paths as (k, 14), and whether the input was a single path."""
    if path is None:
        return None, True
    if len(path) != 2:
        raise ArgumentError(f"{what} must be a pair of poses: from where, to where")
    start, one_start = poses(path[0], f"the start of {what}")
    end, one_end = poses(path[1], f"the end of {what}")
    still = np.array([[0, 0, 0, 1, 0, 0, 0]], float)
    start, end = (still if given is None else given for given in (start, end))
    count = common(start, one_start, end, one_end, f"starts and ends of {what}")
    return (
        np.ascontiguousarray(np.hstack([np.broadcast_to(start, (count, 7)), np.broadcast_to(end, (count, 7))])),
        one_start and one_end,
    )


class IntersectionMeasures(NamedTuple):
    """Measures of the intersection of two solids."""

    kind: str
    """ "apart", "touch", "overlap", "a-inside", "b-inside" or "same"."""
    volume: float
    area: float
    flush_area: float
    """The area of coincident faces that face each other."""
    centroid: Floats
    reliability: Reliability


def intersection(
    a: Mesh, b: Mesh, pose_a: ArrayLike = None, pose_b: ArrayLike = None, *, tolerance: float = 0
) -> IntersectionMeasures:
    """Computes volume, surface area and centroid of the intersection of two closed solids, exact up to rounding.

    >>> import abut
    >>> box = abut.shape("box")
    >>> round(abut.intersection(box, box, pose_b=[0.5, 0, 0, 0, 0, 0, 1]).volume, 12)
    0.5
    """
    both = _Poses(a, b, pose_a, pose_b, None, on_cpu=True)
    if both.count != 1:
        raise ArgumentError("intersection: one pose of each")
    made = options(_c.abut_pair_measures)
    run(
        lib.abut_pair_measure,
        *map(byref, both.posed(0)),
        byref(options(_c.abut_pair_measure_options, tolerance=tolerance)),
        byref(made),
        uses=both.uses,
    )
    return IntersectionMeasures(
        str(lib.abut_pair_kind_name(made.kind).decode()),
        made.volume,
        made.area,
        made.flush_area,
        vec(made.centroid),
        warn_unless_guaranteed(reliability(made.reliability)),
    )


def hausdorff(a: Mesh, b: Mesh, *, tolerance: float = 0) -> tuple[float, float]:
    """Computes bounds (lower, upper) of the one-sided Hausdorff distance from a to b."""
    made = options(_c.abut_pair_hausdorff_result)
    run(
        lib.abut_pair_hausdorff,
        mesh_of(a, "a")._on_cpu().handle,
        mesh_of(b, "b")._on_cpu().handle,
        byref(options(_c.abut_pair_hausdorff_options, tolerance=tolerance)),
        byref(made),
    )
    return made.lower, made.upper
