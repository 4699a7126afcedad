"""Two meshes, each at a pose or at many: do they touch, how far apart, where and how deep, and when.

A pose is (7,): x y z, then the quaternion x y z w; or x y z alone; or a matrix (4, 4). Many are (k, 7),
(k, 3) or (k, 4, 4), and answers then have k rows. None leaves a mesh where it is.

What is inside a connected part of a mesh: of a closed one, what it winds around; of one with small holes, what
it winds around by at least a half; of a sheet, whose holes exceed a tenth of its area, as of a scanned room,
nothing. Where the meshes do not allow a guaranteed answer, functions issue a ReliabilityWarning, once per call,
and results that are objects have it as `advice`.
"""

from __future__ import annotations

import concurrent.futures
import ctypes
from typing import Any, Callable, Iterable, Iterator, NamedTuple, Optional, Sequence

import numpy as np

from . import _c, device as _device
from ._arrays import Array, ArrayLike, Floats, one, one_pose, pointer, poses, record, vec, vector, write_pose
from ._core import ArgumentError, Handle, byref, check, fits, lib, locked, number, options, run, thread_count, unchecked
from .mesh import Mesh, mesh_of
from .report import Advice, advice, warn_unless_guaranteed

RELATIONS = ("apart", "meeting", "a-inside", "b-inside")
"""What relation() and distance() answer with."""
_RELATION_NAMES = np.array(RELATIONS)
_OPTIONS = tuple(byref(options(_c.abut_pair_options, surfaces=surfaces)) for surfaces in (False, True))
_overlap_unchecked = unchecked("abut_pair_overlap")
_POSE_OFFSET = _c.abut_posed.pose.offset


class Separation(NamedTuple):
    """How far two bodies are apart; one row for each pose."""

    distance: Array
    """0 exactly where they touch, or one contains the other."""
    point_a: Array
    point_b: Array
    triangle_a: Array
    triangle_b: Array
    relation: Any
    """One of abut.RELATIONS; an array of them for many poses."""
    advice: Advice
    """The reliability: the worst of all poses."""


class Contacts:
    """Contacts of two bodies, and the patches that they belong to: one for each region of the overlap, or
    for each wall of a region or within the margin. Normals point from b to a: a shift of a by the depth
    along it ends the contact. Negative depths are gaps. Iterating gives the record of each contact, and
    pose(i) those of one pose.

    point (n, 3), normal (n, 3), depth (n), id (n)   of contacts
    patch (n)                                        the patch of each contact
    patches                                          records: normal, centre, depth, area, volume, first, count;
                                                     area and volume of the overlap, 0 for a gap
    offsets (k + 1)                                  contacts of pose i are offsets[i] up to offsets[i + 1]
    patch_offsets (k + 1)                            the same for patches
    separates (k)                                    whether an exact test found the bodies apart after a shift by
                                                     all depths; False between opposite walls, as of a press fit
    advice                                           what the inside of the bodies is worth: the worst of all poses
    """

    def __init__(
        self, contacts: Array, patches: Array, offsets: Array, patch_offsets: Array, separates: Array, worth: Advice
    ) -> None:
        self.records = contacts
        self.point, self.normal, self.depth = contacts["point"], contacts["normal"], contacts["depth"]
        self.id = contacts["id"]
        self.patches, self.offsets, self.patch_offsets = patches, offsets, patch_offsets
        self.patch = np.repeat(np.arange(len(patches), dtype=np.uint32), patches["count"])
        self.separates, self.advice = separates, worth

    def __len__(self) -> int:
        return len(self.records)

    def __getitem__(self, place: Any) -> Any:
        """Records of contacts: contacts[0].depth or contacts[0]["depth"]."""
        return self.records.view(np.recarray)[place]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.records.view(np.recarray))

    def pose(self, place: int) -> Contacts:
        """The contacts of one pose."""
        count = len(self.separates)
        if not -count <= place < count:
            raise IndexError(f"there are {count} poses")
        place %= count
        c, p = self.offsets[place : place + 2], self.patch_offsets[place : place + 2]
        patches = self.patches[p[0] : p[1]].copy()
        patches["first"] -= np.uint64(c[0])
        return Contacts(
            self.records[c[0] : c[1]], patches, c - c[0], p - p[0], self.separates[place : place + 1], self.advice
        )

    def __repr__(self) -> str:
        deepest = f", the deepest {self.depth.max():.6g}" if len(self) else ""
        return f"<abut.Contacts: {len(self)} in {len(self.patches)} patches{deepest}>"


class Touch(NamedTuple):
    """When bodies first touch on their way; one row for each path."""

    hit: Array
    time: Array
    """From 0 to 1; 1 where there is no hit. Never late."""
    point: Array
    normal: Array
    """From b to a; zero where they touch from the start."""
    triangle_a: Array
    triangle_b: Array
    advice: Advice
    """The reliability of what is inside at the start: the worst of all paths."""


def worst_of(records: Array) -> Advice:
    """The worst of the reliabilities of all records, with a warning unless it is guaranteed."""
    if not len(records):
        return Advice("guaranteed", "")
    said = records["advice"][int(records["advice"]["verdict"].argmax())]
    reason = int(said["reason"])  # null if nothing was tested
    made = _c.abut_advice(int(said["verdict"]), ctypes.string_at(reason) if reason else None)
    return warn_unless_guaranteed(advice(made))


def _ask_once(
    function: Any, a: Any, b: Any, pose_a: ArrayLike, pose_b: ArrayLike, device: _device.Selector, *arguments: Any
) -> bool:
    """Calls a function of the library for one pose of each mesh on the CPU, which may take less time than arrays and
    reports of progress. Returns False, and does nothing, if there are many poses or a device."""
    a, b = mesh_of(a, "a"), mesh_of(b, "b")
    if device is not None or a._device is not None or b._device is not None:
        return False
    first, second = a._built(None), b._built(None)
    posed_a, posed_b = first.unposed, second.unposed
    if pose_a is not None:
        posed_a = _c.abut_posed(first.handle.value)
        if not write_pose(pose_a, "pose_a", posed_a, _POSE_OFFSET):
            return False
    if pose_b is not None:
        posed_b = _c.abut_posed(second.handle.value)
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
    """Hierarchies of two meshes and where they are each time."""

    def __init__(
        self, a: Mesh, b: Mesh, pose_a: ArrayLike, pose_b: ArrayLike, device: _device.Selector, on_cpu: bool = False
    ) -> None:
        """On the device that is given, or else on that of a, or of b; or on the CPU in any case."""
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

    def ask(self, function: Any, *arguments: Any) -> None:
        run(function, *arguments, uses=self.uses)

    def posed(self, place: int) -> tuple[Any, Any]:
        """abut_posed of both for one pose."""
        made = (_c.abut_posed(self.a.handle.value), _c.abut_posed(self.b.handle.value))
        for posed, given in zip(made, (self.at_a, self.at_b)):
            if given is not None:
                ctypes.memmove(byref(posed, _c.abut_posed.pose.offset), given + 56 * place, 56)
        return made


def common(a: Optional[Floats], one_a: bool, b: Optional[Floats], one_b: bool, what: str) -> int:
    """How many there are where one stands for all."""
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
    a: Mesh, b: Mesh, pose_a: ArrayLike, pose_b: ArrayLike, surfaces: bool, device: _device.Selector
) -> Any:
    """The index in RELATIONS, or an array of them for many poses."""
    one_found = _c.abut_overlap()
    given = _OPTIONS[bool(surfaces)]
    if _ask_once(_overlap_unchecked, a, b, pose_a, pose_b, device, given, None, byref(one_found)):
        worth = one_found.advice
        found: Any = one_found.relation
    else:
        both = _Poses(a, b, pose_a, pose_b, device)
        worth = _c.abut_advice()
        found = np.zeros(both.count, np.uint32)
        both.ask(lib.abut_pair_overlap_batch, byref(both.structure()), given, pointer(found), byref(worth))
        found = one(found, both.single)
    if worth.verdict:
        warn_unless_guaranteed(advice(worth))
    return found


def relation(
    a: Mesh,
    b: Mesh,
    pose_a: ArrayLike = None,
    pose_b: ArrayLike = None,
    *,
    surfaces: bool = False,
    device: _device.Selector = None,
) -> Any:
    """How bodies stand to each other, exactly: "apart", "meeting", "a-inside" or "b-inside"; an array of these for
    many poses. With `surfaces` only surfaces count, and a body inside another is apart from it. Nothing is inside a
    sheet.

    >>> import abut
    >>> abut.relation(abut.shape("box"), abut.shape("box", size=0.5))
    'b-inside'
    """
    found = _find_relation(a, b, pose_a, pose_b, surfaces, device)
    return RELATIONS[found] if isinstance(found, int) else _RELATION_NAMES[found]


def overlap(
    a: Mesh,
    b: Mesh,
    pose_a: ArrayLike = None,
    pose_b: ArrayLike = None,
    *,
    surfaces: bool = False,
    device: _device.Selector = None,
) -> Any:
    """Whether two bodies touch, exactly: surfaces meet, or one contains a part of the other.

    >>> import abut
    >>> box, ball = abut.shape("box"), abut.shape("icosphere")
    >>> abut.overlap(box, ball, pose_b=[[0, 0, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 0, 1]])
    array([ True, False])
    """
    return _find_relation(a, b, pose_a, pose_b, surfaces, device) != 0


def distance(
    a: Mesh,
    b: Mesh,
    pose_a: ArrayLike = None,
    pose_b: ArrayLike = None,
    *,
    surfaces: bool = False,
    device: _device.Selector = None,
) -> Separation:
    """How far two bodies are apart, and their closest points.

    >>> import abut
    >>> box = abut.shape("box")
    >>> abut.distance(box, box, pose_b=[3, 0, 0, 0, 0, 0, 1]).distance.item()
    2.0
    """
    found, given = np.zeros(1, record(_c.abut_separation)), _OPTIONS[bool(surfaces)]
    single = _ask_once(lib.abut_pair_distance, a, b, pose_a, pose_b, device, given, None, pointer(found))
    if not single:
        both = _Poses(a, b, pose_a, pose_b, device)
        single = both.single
        found = np.zeros(both.count, found.dtype)
        both.ask(lib.abut_pair_distance_batch, byref(both.structure()), given, pointer(found))
    return Separation(
        one(found["distance"], single),
        one(found["point_a"], single),
        one(found["point_b"], single),
        one(found["triangle_a"], single),
        one(found["triangle_b"], single),
        one(_RELATION_NAMES[found["relation"]], single),
        worst_of(found),
    )


def within(
    a: Mesh,
    b: Mesh,
    margin: float,
    pose_a: ArrayLike = None,
    pose_b: ArrayLike = None,
    *,
    surfaces: bool = False,
    device: _device.Selector = None,
) -> Any:
    """Whether bodies touch or come as near as `margin`; faster than the distance."""
    one_found, worth = ctypes.c_bool(), _c.abut_advice()
    given = _OPTIONS[bool(surfaces)]
    if _ask_once(
        lib.abut_pair_within, a, b, pose_a, pose_b, device, margin, given, None, byref(one_found), byref(worth)
    ):
        found: Any = one_found.value
    else:
        both = _Poses(a, b, pose_a, pose_b, device)
        found = np.zeros(both.count, np.bool_)
        both.ask(lib.abut_pair_within_batch, byref(both.structure()), margin, given, pointer(found), byref(worth))
        found = one(found, both.single)
    if worth.verdict:
        warn_unless_guaranteed(advice(worth))
    return found


def contacts(
    a: Mesh,
    b: Mesh,
    pose_a: ArrayLike = None,
    pose_b: ArrayLike = None,
    *,
    margin: float = 0,
    keep: int = 0,
    hint: Optional[ArrayLike] = None,
    device: _device.Selector = None,
) -> Contacts:
    """Contact points, normals and penetration depths of two bodies, by exact geometry.

    margin   surfaces within this distance have contacts too, with negative depths: one patch for each wall.
             Walls more than 5% of the smaller body beyond the nearest one are left out
    keep     the maximum of contacts for each patch; 0 = 4, at most 8
    hint     a direction: the normal of the last step, or the motion of a relative to b, reversed. It chooses
             the side to which a body that has gone through the other is pushed

    The CPU finds them, whatever the `device`; World(method="field", device=...) has contacts of samples on a
    device.

    >>> import abut
    >>> box = abut.shape("box")
    >>> found = abut.contacts(box, box, pose_b=[0, 0, -0.9, 0, 0, 0, 1])
    >>> len(found), found.depth.max().round(9).item(), found.normal[0].round(9).tolist()
    (4, 0.1, [0.0, 0.0, 1.0])

    A peg in a square hole has a patch for each wall:

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
        keep=number(keep, "keep", most=8),
        hint=None if hint is None else vector(hint, "hint"),
    )
    return gather(
        lambda place, room: lib.abut_contact_patches(*map(byref, both.posed(place)), byref(given), room),
        both.count,
        both.uses,
    )


class _Room:
    """Room for the contacts of one question, which grows where it is too small. As plain bytes: numpy copies
    records field by field."""

    def __init__(self) -> None:
        self.contacts: Array = np.empty(64, f"V{ctypes.sizeof(_c.abut_contact)}")
        self.patches: Array = np.empty(16, f"V{ctypes.sizeof(_c.abut_patch)}")
        self.made = _c.abut_patches()

    def ask(self, question: Any, place: int, uses: Sequence[Handle]) -> tuple[Array, Array, bool, Advice]:
        """The contacts and patches of one place, whether they separate, and the advice."""
        while True:
            made = self.made
            made.list, made.capacity = pointer(self.patches), len(self.patches)
            made.contacts, made.contact_capacity = pointer(self.contacts), len(self.contacts)
            if fits(question, place, byref(made), uses=uses):
                return (
                    self.contacts[: made.contact_count].copy(),
                    self.patches[: made.count].copy(),
                    made.separates,
                    advice(made.advice),
                )
            self.contacts = np.empty(max(made.contact_count, 64), self.contacts.dtype)
            self.patches = np.empty(max(made.count, 16), self.patches.dtype)


def on_threads(count: int, work: Callable[[Iterator[int]], None]) -> None:
    """Gives every number below `count` to one of the workers, as many as there are threads."""
    numbers = iter(range(count))  # its next() is one step for all threads
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
            for _ in numbers:  # after an error nothing is left to do
                pass


def gather(ask: Any, count: int, uses: Sequence[Handle] = ()) -> Contacts:
    """The same as collect(), with a warning unless the contacts are guaranteed."""
    found = collect(ask, count, uses)
    warn_unless_guaranteed(found.advice)
    return found


def collect(ask: Any, count: int, uses: Sequence[Handle] = ()) -> Contacts:
    """Asks for the contacts of `count` places, which those objects have, and puts them together."""
    found: list[Any] = [None] * count

    def work(places: Iterator[int]) -> None:
        room = _Room()
        for place in places:
            found[place] = room.ask(ask, place, uses)

    on_threads(count, work)
    offsets, patch_offsets = np.zeros(count + 1, np.int64), np.zeros(count + 1, np.int64)
    np.cumsum([len(answer[0]) for answer in found], out=offsets[1:])
    np.cumsum([len(answer[1]) for answer in found], out=patch_offsets[1:])
    none = _Room()
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


_VERDICTS = ("guaranteed", "limited", "unfit")


def worst(advices: Iterable[Advice]) -> Advice:
    """The first of those that are least reliable."""
    return max(advices, key=lambda said: _VERDICTS.index(said.verdict), default=Advice("guaranteed", ""))


def sweep(
    a: Mesh,
    b: Mesh,
    path_a: Optional[Sequence[Any]] = None,
    path_b: Optional[Sequence[Any]] = None,
    *,
    separation: float = 0,
    tolerance: float = 0,
    device: _device.Selector = None,
) -> Touch:
    """When two rigid bodies first touch, each on its path from one pose to another at constant speed:
    a pair (start, end) of poses, or of arrays of k poses. However fast and thin they are, no touch is missed.
    The CPU finds them, whatever the `device`; steps of Motion run on one.

    >>> import abut
    >>> box = abut.shape("box")
    >>> touch = abut.sweep(box, box, path_b=([5, 0, 0, 0, 0, 0, 1], [1, 0, 0, 0, 0, 0, 1]))
    >>> bool(touch.hit), round(float(touch.time), 3)
    (True, 1.0)
    """
    first, second = mesh_of(a, "a")._on_cpu().handle, mesh_of(b, "b")._on_cpu().handle
    _device.find(device)  # refused where there is none
    paths_a, one_a = _paths(path_a, "path_a")
    paths_b, one_b = _paths(path_b, "path_b")
    count = common(paths_a, one_a, paths_b, one_b, "paths")
    given = options(_c.abut_sweep_rigid_options, separation=separation, tolerance=tolerance)
    found = np.zeros(count, record(_c.abut_sweep_touch))
    still = np.array((0, 0, 0, 1, 0, 0, 0) * 2, float)

    def work(places: Iterator[int]) -> None:
        for place in places:
            at = [still if p is None else p[place if len(p) > 1 else 0] for p in (paths_a, paths_b)]
            run(
                lib.abut_sweep_rigid,
                first,
                pointer(at[0]),
                second,
                pointer(at[1]),
                byref(given),
                pointer(found) + place * found.itemsize,
            )

    on_threads(count, work)
    single = one_a and one_b
    return Touch(
        one(found["hit"], single),
        one(found["time"], single),
        one(found["point"], single),
        one(found["normal"], single),
        one(found["triangle"][:, 0], single),
        one(found["triangle"][:, 1], single),
        worst_of(found),
    )


def _paths(path: Optional[Sequence[Any]], what: str) -> tuple[Optional[Floats], bool]:
    """Paths as (k, 14), and whether it was one alone."""
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


class Common(NamedTuple):
    """What two solids have in common."""

    kind: str
    """ "apart", "touch", "overlap", "a-inside", "b-inside" or "same"."""
    volume: float
    area: float
    flush_area: float
    """Of faces in contact that face opposite ways."""
    centroid: Floats
    advice: Advice


def intersection(
    a: Mesh, b: Mesh, pose_a: ArrayLike = None, pose_b: ArrayLike = None, *, tolerance: float = 0
) -> Common:
    """Volume, surface and centroid of what two closed solids have in common, exactly but for rounding.

    >>> import abut
    >>> box = abut.shape("box")
    >>> round(abut.intersection(box, box, pose_b=[0.5, 0, 0, 0, 0, 0, 1]).volume, 12)
    0.5
    """
    both = _Poses(a, b, pose_a, pose_b, None, on_cpu=True)
    if both.count != 1:
        raise ArgumentError("intersection: one pose of each")
    made = _c.abut_common()
    run(
        lib.abut_pair_common,
        *map(byref, both.posed(0)),
        byref(options(_c.abut_pair_common_options, tolerance=tolerance)),
        byref(made),
        uses=both.uses,
    )
    return Common(
        str(lib.abut_pair_common_kind_name(made.kind).decode()),
        made.volume,
        made.area,
        made.flush_area,
        vec(made.centroid),
        warn_unless_guaranteed(advice(made.advice)),
    )


def hausdorff(a: Mesh, b: Mesh, *, tolerance: float = 0) -> tuple[float, float]:
    """Bounds (lower, upper) of the greatest distance of any point of a from b; one way only."""
    made = _c.abut_map_hausdorff_result()
    run(
        lib.abut_map_hausdorff,
        mesh_of(a, "a")._on_cpu().handle,
        mesh_of(b, "b")._on_cpu().handle,
        byref(options(_c.abut_map_hausdorff_options, tolerance=tolerance)),
        byref(made),
    )
    return made.lower, made.upper
