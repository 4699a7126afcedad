"""Worlds: contacts of many bodies of all kinds in one call per step.

A world contains rigid and deforming meshes, primitives and characters. It chooses a method for each body by a rule
(docs/choosing.md). For every pair it reports the guarantee and the error bound of the penetration depth.
"""

from __future__ import annotations

import ctypes
from typing import Any, Callable, Iterable, Iterator, Literal, Mapping, NamedTuple, Optional, Sequence, Union

import numpy as np

from . import _c, device as _device
from ._arrays import (
    Array,
    ArrayLike,
    batch,
    fill,
    floats,
    host,
    moves,
    pointer,
    pose as read_pose,
    record,
    state_bytes,
    vector,
    vectors,
)
from ._core import (
    ArgumentError,
    Guard,
    Handle,
    Owner,
    byref,
    call,
    check,
    context,
    fits,
    lib,
    name_of,
    number,
    options,
    run,
    value_of,
)
from .character import RadialField
from .cloth import Cloth, ClothStep, step_of
from .collider import PRIMITIVES, Primitive, fill_primitive, length_of
from .mesh import Mesh, mesh_of
from .queries import Queries
from .report import Reliability, reliability, warn_unless_guaranteed


_Line = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, _c.abut_vec3, _c.abut_vec3, ctypes.c_uint32, ctypes.c_uint32
)
_Point = ctypes.CFUNCTYPE(None, ctypes.c_void_p, _c.abut_vec3, ctypes.c_uint32, ctypes.c_uint32)
_Accept = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32)

MotionName = Literal["dynamic", "kinematic", "static"]
MethodName = Literal["auto", "exact", "field", "map", "layers"]

Shape = Union[Mesh, RadialField, Primitive]


class ItemInfo(NamedTuple):
    """The method of a body, and the reason for the choice."""

    method: str
    is_forced: bool
    """Whether the caller selected the method; otherwise the rule did."""
    reason: str
    reliability: Reliability
    """The reliability of containment in a mesh."""
    cell: float
    """The cell size of its field or radial fields, or the reach of its map; otherwise 0."""
    hole_fraction: float
    """The estimated area of the holes of a mesh, divided by its own area. From 0.1 on it has no interior."""
    thin_fraction: float
    """The fraction of the surface with a wall thinner than two cells, if the mesh may have a field."""


class PairInfo(NamedTuple):
    """The method of a pair, with its guarantee."""

    method: str
    """ "auto" if it is not tested."""
    guarantee: str
    """ "complete": no overlap is missed; "limited": the same, except that containment in a mesh with holes is
    approximate; "sampled": overlaps between samples may be missed; "none": the pair is not tested."""
    error: float
    """The error bound of the deepest contact; 0 = rounding errors only."""
    reason: str


class Pair(NamedTuple):
    """Two bodies in contact, their contacts and the guarantee."""

    a: int
    b: int
    kind: str
    """ "begin" or "persist"."""
    method: str
    guarantee: str
    error: float
    """The error bound of the deepest contact; infinity = no bound."""
    is_sensor: bool
    depth: float
    """The depth of the deepest contact."""
    contacts: Array
    """Records: point, normal, depth, id, side, kind, element, part; contacts[0].depth or contacts["depth"].
    Normals point from b to a."""


class Step:
    """All contacts of a step, sorted by the bodies a, then b, in the order of World.bodies. Iteration yields a Pair for each pair in contact.

    point (n, 3), normal (n, 3), depth (n,), id (n,)  of contacts; normals point from b to a
    a (n,), b (n,)                                    the bodies of each contact
    records                                           all members of each contact
    pairs (k, 2), ended (m, 2)                        pairs in contact, and pairs that no longer touch
    events                                            records: kind, method, guarantee, error, a, b, first, count ...
    reliability                                       the lowest reliability of all pairs

    With `seconds`, also:

    impacts        records a, b, time, point, normal ...: pairs that began to touch during the step; a == b for a body
                   with itself
    self_contacts  records as above, of bodies that intersect themselves
    unswept_count  the number of pairs whose paths were not tested
    cloth          the ClothStep of all sheets, or None
    """

    impacts: Array
    self_contacts: Array
    unswept_count: int = 0
    cloth: Optional[ClothStep] = None

    def __init__(self, contacts: Array, events: Array, worth: Reliability) -> None:
        self.impacts = np.empty(0, record(_c.abut_world_step_pair))
        self.self_contacts = np.empty(0, contacts.dtype)
        self.records, self.events, self.reliability = contacts, events, worth
        self.point, self.normal, self.depth = contacts["point"], contacts["normal"], contacts["depth"]
        self.id = contacts["id"]
        self.a, self.b = (np.repeat(events[name], events["count"].astype(np.intp)) for name in ("a", "b"))

    @property
    def pairs(self) -> Array:
        """(k, 2): the pairs in contact."""
        return self._two(self.events["kind"] != _c.ABUT_WORLD_EVENT_END)

    @property
    def ended(self) -> Array:
        """(m, 2): the pairs that no longer touch."""
        return self._two(self.events["kind"] == _c.ABUT_WORLD_EVENT_END)

    def _two(self, which: Array) -> Array:
        return np.stack([self.events["a"][which], self.events["b"][which]], axis=1)

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[Pair]:
        for event in self.events:
            if event["kind"] == _c.ABUT_WORLD_EVENT_END:
                continue
            first, count = int(event["first"]), int(event["count"])
            yield Pair(
                int(event["a"]),
                int(event["b"]),
                name_of("abut_world_event_kind", int(event["kind"])),
                name_of("abut_world_method", int(event["method"])),
                name_of("abut_world_guarantee", int(event["guarantee"])),
                float(event["error"]),
                bool(event["is_sensor"]),
                float(event["deepest"]["depth"]),
                (self.records[first : first + count] if count else self.records[:0]).view(np.recarray),
            )

    def __repr__(self) -> str:
        return f"<abut.Step: {len(self)} contacts of {len(self.pairs)} pairs>"


class Sweep(NamedTuple):
    """The first touches of moving bodies."""

    time: float
    """The safe part of the step, from 0 to 1. Until then, bodies that are separate at the start do not touch. The
    depth of bodies that touch at the start grows by at most 1e-4 of the smaller one. A body that rests on another may
    slide and leave; if it moves into the other, the time is 0."""
    times: Array
    """(k,): the safe part of each body that moves, in the order of the poses. All may move on to their own times."""
    a: Array
    b: Array
    """(n,): the bodies of each touch."""
    touches: Array
    """(n,) records: hit, time, point, normal, triangle."""
    unswept_count: int
    """The number of near pairs that cannot be swept: those of bodies that have no triangles."""
    reliability: Reliability
    """The lowest reliability of the containment tests at the start, over all pairs."""


class Drawing(NamedTuple):
    """Lines and points of a world, with colours 0xRRGGBB."""

    lines: Array
    """(n, 2, 3): both ends of each line."""
    line_colours: Array
    line_bodies: Array
    """(n,): the body of each line; abut.NONE for contacts."""
    points: Array
    """(m, 3): contact points."""
    point_colours: Array


class World(Queries, Owner):
    """A set of bodies. step() computes all their contacts in one call.

    margin             bodies nearer than this have contacts, too, with negative depth
    method             "auto", "exact" or "field": the default method of bodies
    max_contacts       the maximum number of contacts per patch; 0 = 4 for exact pairs, otherwise all
    skip_edges         contacts from fields omit the deepest points of edges
    skip_verification  skip the exact test that the depths separate the bodies: about twice as fast
    device             the device for pairs with fields, and for cloth; results are the same
    accept             a filter: accept(a, b) of two bodies that all other filters accept, and whose bounding boxes
                       overlap, returns whether to test them. It must not use the world. After it has rejected a pair,
                       it is called again if one of them has moved
    gravity, wind, drag, substeps, ignore_self, body_may_lag
                       of all sheets of cloth, as in Cloth

    If the bodies do not allow a guaranteed result, step() and sweep() issue a ReliabilityWarning, once per world and
    reason. Results always have it as `reliability`. A filter that turns the warning into an exception raises it each
    time; the events of that step are then reported by the next step().

    >>> import abut
    >>> world = abut.World()
    >>> ground = world.add(abut.Plane(), motion="static")
    >>> ball = world.add(abut.shape("icosphere", radius=1, segments=8), [0, 0, 0.9, 0, 0, 0, 1])
    >>> world.item_info(ball).method
    'exact'
    >>> for pair in world.step():
    ...     print(pair.a, pair.b, pair.method, pair.guarantee, pair.error, round(pair.depth, 2))
    0 1 exact complete 0.0 0.1
    >>> len(world.step({ball: [0, 0, 2, 0, 0, 0, 1]}))
    0
    """

    _instead = "make another one and add its bodies"

    def __init__(
        self,
        *,
        margin: float = 0,
        method: MethodName = "auto",
        max_contacts: int = 0,
        skip_edges: bool = False,
        skip_verification: bool = False,
        device: _device.Selector = None,
        accept: Optional[Callable[[int, int], Any]] = None,
        gravity: ArrayLike = (0, 0, 0),
        wind: ArrayLike = (0, 0, 0),
        drag: float = 0,
        substeps: int = 0,
        ignore_self: bool = False,
        body_may_lag: bool = False,
    ) -> None:
        self._shapes: dict[int, Shape] = {}
        self._users: dict[int, Any] = {}
        self._sheets: dict[int, bool] = {}  # whether a body is a sheet of cloth
        self._handle = Handle(lib.abut_world_destroy, keeps=self._shapes, guard=Guard(outer=True))
        self._fields: list[Handle] = []  # radial fields of its characters; calls read and change them
        self._contacts: Array = np.empty(256, record(_c.abut_contact))
        self._events: Array = np.empty(64, record(_c.abut_world_event))
        self._warned: set[Reliability] = set()
        self._problem: Optional[BaseException] = None  # of the filter
        self._filter = _Accept(self._call_filter(accept)) if accept is not None else None
        cloth = options(
            _c.abut_cloth_options,
            gravity=vector(gravity, "gravity"),
            wind=vector(wind, "wind"),
            drag=drag,
            substeps=number(substeps, "substeps"),
            ignore_self=ignore_self,
            body_may_lag=body_may_lag,
        )
        is_given = np.any(gravity) or np.any(wind) or drag or substeps or ignore_self or body_may_lag
        self._cloth: Optional[Cloth] = None
        given = options(
            _c.abut_world_options,
            cloth=ctypes.addressof(cloth) if is_given else None,
            margin=margin,
            method=value_of("abut_world_method", method),
            max_patch_contacts=number(max_contacts, "max_contacts", most=8),
            skip_edges=skip_edges,
            skip_verification=skip_verification,
            device=_device.pointer(_device.find(device)),
            accept=None if self._filter is None else ctypes.cast(self._filter, ctypes.c_void_p),
        )
        check(lib.abut_world_create(context(), byref(given), self._handle.out))

    def _call_filter(self, accept: Callable[[int, int], Any]) -> Callable[[Any, int, int], bool]:
        """Returns a filter that keeps the first exception."""

        def filter_pair(_: Any, a: int, b: int) -> bool:
            if self._problem is None:
                try:
                    return bool(accept(a, b))
                except BaseException as problem:  # _raise_problem() raises it after the call
                    self._problem = problem
            return True

        return filter_pair

    def _raise_problem(self) -> None:
        problem, self._problem = self._problem, None
        if problem is not None:
            raise problem

    # -- bodies --

    def add(
        self,
        shape: Shape,
        pose: ArrayLike = None,
        *,
        motion: MotionName = "dynamic",
        method: MethodName = "auto",
        deforms: bool = False,
        resolution: int = 0,
        sensor: bool = False,
        group: int = 0,
        mask: int = 0,
        family: int = 0,
        margin: float = 0,
        cloth: Union[bool, Mapping[str, float]] = False,
        self_collides: bool = False,
        user: Any = None,
    ) -> int:
        """Adds a body and returns its id. Ids of removed bodies are not used again: their low 22 bits, the index, are
        those of a later body, but the other bits differ, until 1,024 bodies with that index were removed. `shape` is a Mesh, a RadialField, or a Plane, Sphere, Capsule, Cylinder, Box
        or Hull.

        motion      "dynamic", "kinematic" or "static": pairs without a dynamic body are not tested
        method      "auto", "exact", "field", "map" or "layers": the method of a mesh
        deforms     whether set_positions() will set new positions of a mesh
        resolution  cells of a field along the longest side (64), texels of a map (128), pixels of layers (1024)
        sensor      its pairs are reported without contacts
        group, mask one bit per group that it belongs to, and that it collides with; 0 = the first group, and all
        family      bodies of the same family, a number, never collide with each other; 0 = none
        margin      added to the margin of the world for all its pairs
        cloth       True, or the material as in Cloth.add_sheet(), for a mesh that is a sheet of cloth: step(seconds=...)
                    moves it, and it collides with everything else in the world
        self_collides
                    step(seconds=...) also tests a deforming mesh or a character with itself
        user        any object, which user() returns
        """
        item, kept = _item(
            shape,
            pose,
            motion=motion,
            method=method,
            deforms=deforms,
            resolution=resolution,
            sensor=sensor,
            group=group,
            mask=mask,
            family=family,
            margin=margin,
            cloth=cloth,
            self_collides=self_collides,
        )
        return self._add(item, kept, cloth is not False, user)

    def _add(self, item: Any, shape: Any, is_sheet: bool, user: Any) -> int:
        made = ctypes.c_uint32()
        with self._handle.alone():
            run(lib.abut_world_add, self._handle, byref(item), byref(made), uses=_fields([shape]))
            self._keep(made.value, shape)
            self._users[made.value] = user
            self._sheets[made.value] = is_sheet
        return made.value

    def user(self, body: int) -> Any:
        """Returns the `user` object of a body."""
        if body not in self._shapes:
            raise ArgumentError(f"there is no body {body}")
        return self._users.get(body)

    def _keep(self, body: int, shape: Any) -> None:
        if shape is None:
            del self._shapes[body]
        else:
            self._shapes[body] = shape
        self._fields = _fields(self._shapes.values())

    def replace(self, body: int, shape: Shape, pose: ArrayLike = None, **how: Any) -> None:
        """Replaces a body, with the arguments of add(). It keeps its id and the pairs of ignore()."""
        user = how.pop("user", None)
        item, kept = _item(shape, pose, **how)
        with self._handle.alone():
            run(lib.abut_world_replace, self._handle, _number(body), byref(item), uses=_fields([kept]))
            self._keep(body, kept)
            self._users[body] = user
            self._sheets[body] = how.get("cloth", False) is not False

    def remove(self, body: int) -> None:
        """Removes a body. Its id becomes invalid."""
        with self._handle.alone():
            call(lib.abut_world_remove, self._handle, _number(body))
            self._keep(body, None)
            self._users.pop(body, None)
            self._sheets.pop(body, None)

    def ignore(self, a: int, b: int, ignore: bool = True) -> None:
        """Excludes a pair from all tests, such as the parts of a machine, or bodies that share a joint."""
        call(lib.abut_world_ignore, self._handle, _number(a), _number(b), ignore)

    def set_poses(self, poses: ArrayLike, bodies: Optional[Sequence[int]] = None) -> World:
        """Sets new poses: a dict {body: pose}, or (k, 7) or (k, 4, 4) for these `bodies`, by default for the bodies
        with the indices 0 to k - 1. On failure no body is changed."""
        ids, placed = moves(poses, bodies, "body")
        if len(placed):
            call(lib.abut_world_set_poses, self._handle, _address(ids), host(placed), len(placed))
        return self

    def set_asleep(self, bodies: Optional[Sequence[int]] = None, asleep: bool = True) -> World:
        """Lets `bodies` sleep, by default all, or wakes them. Pairs of two sleeping bodies, or of a sleeping and a
        static one, are set aside: they are not in steps and take no time until one of them wakes, because its pose or
        shape changes, or by this call. Then they persist. Other pairs of sleeping bodies are tested as usual.

        >>> import abut
        >>> world = abut.World()
        >>> bodies = [world.add(abut.Sphere(0.6), [x, 0, 0, 0, 0, 0, 1]) for x in range(3)]
        >>> [pair.kind for pair in world.step()]
        ['begin', 'begin']
        >>> len(world.set_asleep().step().pairs)
        0
        >>> [pair.kind for pair in world.step({0: [0.1, 0, 0, 0, 0, 0, 1]})], world.is_asleep(0), world.is_asleep(1)
        (['persist'], False, True)
        """
        ids = np.array([_number(body) for body in (self.bodies if bodies is None else bodies)], np.uint32)
        if len(ids):
            call(lib.abut_world_set_asleep, self._handle, pointer(ids), len(ids), bool(asleep))
        return self

    def is_asleep(self, body: int) -> bool:
        """Returns whether a body is asleep."""
        if body not in self._shapes:
            raise ArgumentError(f"there is no body {body}")
        with self._handle.alone():
            return bool(lib.abut_world_is_asleep(self._handle.value, body))

    def set_positions(
        self, body: int, positions: Optional[ArrayLike] = None, pose: Optional[ArrayLike] = None
    ) -> World:
        """Sets the vertex positions (n, 3) of a deforming mesh; or the `pose` (bones, 3, 4) of a character, which is
        skinned unless `positions` are given, too."""
        shape = self._shapes.get(_number(body))
        bones = None
        if isinstance(shape, RadialField):
            if pose is None:
                raise ArgumentError(f"body {body} is a character: it needs a pose")
            bones = shape._character._matrices(pose)
            array = shape._character.skin(bones) if positions is None else vectors(positions, "positions")[0]
            count = shape._character.vertex_count
        else:
            if positions is None or pose is not None:
                raise ArgumentError(f"body {body} is no character: it needs positions, and no pose")
            array, _ = vectors(positions, "positions")
            count = shape.vertex_count if isinstance(shape, Mesh) else len(array)
        if len(array) != count:
            raise ArgumentError(f"body {body} has {count} vertices, and {len(array)} positions were given")
        bone_list = None if bones is None else pointer(bones)
        run(lib.abut_world_set_positions, self._handle, body, bone_list, batch(array), uses=self._fields)
        return self

    @property
    def bodies(self) -> list[int]:
        """The ids of all bodies."""
        return sorted(self._shapes, key=_index)

    def __len__(self) -> int:
        return len(self._shapes)

    # -- methods --

    def item_info(self, body: int) -> ItemInfo:
        """Returns the method of a body and the reason."""
        made = options(_c.abut_world_item_info)
        call(lib.abut_world_get_item_info, self._handle, _number(body), byref(made))
        return ItemInfo(
            name_of("abut_world_method", made.method),
            made.is_forced,
            made.reason.decode() if made.reason else "",
            reliability(made.reliability),
            made.cell,
            made.hole_fraction,
            made.thin_fraction,
        )

    def pair_info(self, a: int, b: int) -> PairInfo:
        """Returns the method of a pair and its guarantee."""
        made = options(_c.abut_world_pair_info)
        call(lib.abut_world_get_pair_info, self._handle, _number(a), _number(b), byref(made))
        return PairInfo(
            name_of("abut_world_method", made.method),
            name_of("abut_world_guarantee", made.guarantee),
            made.error,
            made.reason.decode() if made.reason else "",
        )

    # -- steps --

    def step(
        self, poses: ArrayLike = None, bodies: Optional[Sequence[int]] = None, *, seconds: Optional[float] = None
    ) -> Step:
        """Sets poses, if given, as set_poses() does. Then computes all contacts, and the pairs that have begun or
        ended to touch since the last step.

        With `seconds`, first connects the state of the last such step with the current one: moves cloth, and finds the
        impacts on the paths of all bodies, also of those that deform, and of bodies with themselves. None is missed.

        >>> import abut
        >>> world = abut.World(gravity=[0, 0, -9.81])
        >>> ball = world.add(abut.Sphere(0.4))
        >>> cover = world.add(abut.shape("sheet", segments=12, rings=12), [0, 0, 0.6, 0, 0, 0, 1], cloth={"friction": 0.4})
        >>> for _ in range(40):
        ...     step = world.step(seconds=1 / 60)
        >>> (ball, cover) in map(tuple, step.pairs.tolist()), step.cloth.fraction, world.cloth.is_free()
        (True, 1.0, True)
        >>> bullet = world.add(abut.Sphere(0.05), [9, 0, 0, 0, 0, 0, 1], mask=2)
        >>> wall = world.add(abut.Box((0.01, 4, 4)), [7, 0, 0, 0, 0, 0, 1], group=2)
        >>> step = world.step(seconds=1 / 60)
        >>> step = world.step({bullet: [5, 0, 0, 0, 0, 0, 1]}, seconds=1 / 60)
        >>> step.impacts[["a", "b"]].tolist() == [(bullet, wall)], round(float(step.impacts["time"][0]), 2)
        (True, 0.49)
        """
        with self._handle.alone():
            if poses is not None:
                self.set_poses(poses, bodies)
            moved = None if seconds is None else options(_c.abut_world_step_result)
            if moved is not None:
                run(lib.abut_world_step, self._handle, seconds, byref(moved), uses=self._fields)
                self._raise_problem()
                motion = _copy(moved)
            found = options(_c.abut_contacts)
            while True:
                found.list, found.capacity = pointer(self._contacts), len(self._contacts)
                if fits(lib.abut_world_contacts, self._handle, byref(found), uses=self._fields):
                    break
                self._contacts = np.empty(int(found.count * 5 // 4), self._contacts.dtype)
            self._raise_problem()
            said = self._warn(reliability(found.reliability))
            events = fill(
                _c.abut_world_event_list, self._events, lambda to: fits(lib.abut_world_events, self._handle, to)
            )
            if len(events) > len(self._events):
                self._events = np.empty(len(events) * 5 // 4, events.dtype)
            made = Step(self._contacts[: found.count].copy(), events.copy(), said)
            if moved is not None:
                made.impacts, made.self_contacts, made.unswept_count, made.cloth = motion
            return made

    @property
    def cloth(self) -> Cloth:
        """The cloth of the world: to attach vertices, to set the wind, and to read positions. Its sheets and bodies
        have the numbers of cloth_number(). The world adds, moves and removes them."""
        sheets = [body for body, is_cloth in self._sheets.items() if is_cloth]
        if not sheets:
            raise ArgumentError("the world has no cloth: add() a mesh with cloth=True")
        if self._cloth is None:
            self.cloth_number(sheets[0])
        assert self._cloth is not None
        return self._cloth

    def cloth_number(self, body: int) -> int:
        """Returns the number of a sheet, or of another body, in the cloth."""
        handle = Handle(lambda _: None, keeps=self._handle, guard=self._handle.guard)
        made = ctypes.c_uint32()
        with self._handle.alone():
            call(lib.abut_world_get_cloth, self._handle, _number(body), handle.out, byref(made))
            if self._cloth is None:
                self._cloth = Cloth._of_world(handle)
        counts = self._cloth._sheets if self._sheets.get(body) else self._cloth._bodies
        shape = self._shapes[body]
        if isinstance(shape, Mesh):
            counts[made.value] = shape.vertex_count
        elif isinstance(shape, RadialField):
            counts[made.value] = shape._character.vertex_count
        return int(made.value)

    def _warn(self, said: Reliability) -> Reliability:
        if said not in self._warned:
            warn_unless_guaranteed(said)
            self._warned.add(said)  # only if the warning did not raise
        return said

    def pairs(self) -> Array:
        """Returns the candidate pairs (k, 2) of the broad phase. They include every pair that touches."""
        room = np.empty((64, 2), np.uint32)
        pairs = fill(_c.abut_world_pair_list, room, lambda to: fits(lib.abut_world_pairs, self._handle, to))
        self._raise_problem()
        return pairs

    def sweep(
        self,
        poses: ArrayLike,
        bodies: Optional[Sequence[int]] = None,
        *,
        separation: float = 0,
        tolerance: float = 0,
        allowed_depth: float = 0,
    ) -> Sweep:
        """Finds the touches of bodies that move to these poses, with the arguments of set_poses(), while all others do
        not move. No touch is missed, however fast and thin the bodies are. `time` of the result is the safe part of
        the step, also for bodies that touch at the start, and `times` that of each body. Until then bodies may overlap
        by allowed_depth. The world does not change."""
        ids, ends = moves(poses, bodies, "body")
        given = options(
            _c.abut_world_sweep_options, separation=separation, tolerance=tolerance, allowed_depth=allowed_depth
        )
        found = options(_c.abut_world_impacts)
        times = np.ones(len(ends), np.float64)
        found.times = pointer(times)
        room = np.empty(64, record(_c.abut_world_impact))
        while True:
            found.list, found.capacity = pointer(room), len(room)
            if fits(
                lib.abut_world_sweep,
                self._handle,
                _address(ids),
                host(ends),
                len(ends),
                byref(given),
                byref(found),
                uses=self._fields,
            ):
                self._raise_problem()
                room = room[: found.count]
                said = self._warn(reliability(found.reliability))
                return Sweep(found.time, times, room["a"], room["b"], room["result"], found.unswept_count, said)
            room = np.empty(found.count, room.dtype)

    def triangles(self, contacts: Array) -> Array:
        """Returns the triangles (n, 2) that touch at contacts, such as `records` of a step: those of a, then those of
        b, to look up materials. Bodies without triangles, such as spheres, have abut.NONE. Call it before bodies move.

        >>> import abut
        >>> world = abut.World()
        >>> floor = world.add(abut.shape("box", size=(4, 4, 1), segments=2), motion="static")
        >>> cube = world.add(abut.shape("box", size=0.5, segments=1), [1, 1, 0.74, 0, 0, 0, 1])
        >>> ball = world.add(abut.Sphere(0.5), [-1, 1, 0.99, 0, 0, 0, 1])
        >>> step = world.step()
        >>> triangles = world.triangles(step.records)
        >>> triangles.shape == (len(step), 2), bool((triangles[step.b == ball, 1] == abut.NONE).all())
        (True, True)
        """
        records = np.ascontiguousarray(contacts, record(_c.abut_contact)).reshape(-1)
        found = np.empty((len(records), 2), np.uint32)
        run(
            lib.abut_world_contact_triangles,
            self._handle,
            pointer(records),
            len(records),
            pointer(found),
            uses=self._fields,
        )
        return found

    def draw(
        self,
        *,
        shapes: bool = True,
        boxes: bool = True,
        contacts: bool = True,
        crease_angle: float = 0,
        normal_length: float = 0,
        plane_size: float = 0,
    ) -> Drawing:
        """Returns the edges of bodies, their bounding boxes, and contacts with their normals as lines and points, for
        debugging. With `crease_angle` only edges of meshes are drawn whose faces differ by more, in radians.

        >>> import abut
        >>> world = abut.World()
        >>> cube = world.add(abut.Box(1))
        >>> ball = world.add(abut.Sphere(1), [1.4, 0, 0, 0, 0, 0, 1])
        >>> drawing = world.draw(boxes=False)
        >>> int((drawing.line_bodies == cube).sum()), len(drawing.points), len(drawing.lines) - len(drawing.points)
        (12, 1, 108)
        """
        lines: list[tuple[float, ...]] = []
        points: list[tuple[float, ...]] = []
        named: list[tuple[int, int]] = []
        colours: list[int] = []

        def line(_: Any, p: Any, q: Any, colour: int, body: int) -> None:
            lines.append((p.x, p.y, p.z, q.x, q.y, q.z))
            named.append((colour, body))

        def point(_: Any, p: Any, colour: int, body: int) -> None:
            points.append((p.x, p.y, p.z))
            colours.append(colour)

        functions = _Line(line), _Point(point)
        parts = (
            _c.ABUT_WORLD_DRAW_SHAPES * bool(shapes)
            | _c.ABUT_WORLD_DRAW_BOXES * bool(boxes)
            | _c.ABUT_WORLD_DRAW_CONTACTS * bool(contacts)
        )
        given = options(
            _c.abut_world_draw_options,
            parts=parts,
            crease_angle=crease_angle,
            normal_length=normal_length,
            plane_size=plane_size,
            line=ctypes.cast(functions[0], ctypes.c_void_p),
            point=ctypes.cast(functions[1], ctypes.c_void_p),
        )
        if parts:
            run(lib.abut_world_draw, self._handle, byref(given), uses=self._fields)
            self._raise_problem()
        names = np.array(named, np.uint32).reshape(-1, 2)
        return Drawing(
            np.array(lines, float).reshape(-1, 2, 3),
            names[:, 0],
            names[:, 1],
            np.array(points, float).reshape(-1, 3),
            np.array(colours, np.uint32),
        )

    # -- save and restore --

    def save(self) -> bytes:
        """Returns the state of the world between steps: 24 bytes per candidate pair, 13 bytes per body, and the state of
        the cloth. It does not contain bodies, poses and positions, except those of sheets. Save after a step, before
        bodies move on.

        >>> import abut
        >>> def build(height):
        ...     world = abut.World()
        ...     world.add(abut.Box((2, 2, 0.1)), motion="static")
        ...     world.add(abut.Box(1), [0, 0, height, 0, 0, 0, 1])
        ...     return world
        >>> world = build(0.6)
        >>> for height in 0.5, 0.3, 0.1, -0.1:                            # through the plate, from above
        ...     step = world.step({1: [0, 0, height, 0, 0, 0, 1]})
        >>> state, other = world.save(), build(-0.1)
        >>> other.restore(state).step().normal[0].round(3).tolist()       # pushed back to the side it came from
        [0.0, 0.0, -1.0]
        """
        state = fill(
            _c.abut_byte_list,
            np.empty(0, np.uint8),
            lambda to: fits(lib.abut_world_save, self._handle, to, uses=self._fields),
        )
        self._raise_problem()
        return state.tobytes()

    def restore(self, state: Union[bytes, bytearray, memoryview]) -> World:
        """Restores the state that save() of this or another world returned. The world must have the same bodies at the
        saved poses, bit for bit, added and removed such that their indices are the same; otherwise the call raises and
        does not change the world. Bodies get the ids that they had, and sheets their saved positions. After it, both worlds compute the same contacts, events and steps, bit for bit. The
        next step(seconds=...) starts where bodies are now. The call costs as much as a step in which all bodies
        move."""
        given = state_bytes(state)
        with self._handle.alone():
            run(lib.abut_world_restore, self._handle, pointer(given), len(given), uses=self._fields)
            ids = fill(
                _c.abut_index_list,
                np.empty(len(self._shapes), np.uint32),
                lambda to: fits(lib.abut_world_ids, self._handle, to),
            )
            for bodies in (self._shapes, self._users, self._sheets):
                kept = {int(ids[_index(body)]): value for body, value in bodies.items()}
                bodies.clear()
                bodies.update(kept)  # type: ignore[arg-type]
        return self

    def __repr__(self) -> str:
        return f"<abut.World of {len(self)} bodies>"


def _copy(moved: Any) -> tuple[Array, Array, int, Optional[ClothStep]]:
    """Copies the result of a step, which the world owns."""

    def read(address: Any, count: int, kind: Any) -> Array:
        size = count * ctypes.sizeof(kind)
        return np.frombuffer(ctypes.string_at(address, size) if count else b"", record(kind)).copy()

    pairs = read(moved.pairs, moved.pair_count, _c.abut_world_step_pair)
    contacts = read(moved.contacts, moved.contact_count, _c.abut_contact)
    report = _c.abut_cloth_report.from_address(moved.cloth) if moved.cloth else None
    return (
        pairs[pairs["has_impact"] != 0],
        contacts[contacts["a"] == contacts["b"]],
        int(moved.unswept_count),
        None if report is None else step_of(report),
    )


def _fields(shapes: Iterable[Any]) -> list[Handle]:
    """Returns the handles of shared shapes that the world changes."""
    return [shape._handle for shape in shapes if isinstance(shape, RadialField)]


def _index(body: int) -> int:
    """Returns the index of a body."""
    return body & ((1 << 22) - 1)


def _number(body: int) -> int:
    return number(body, "the number of a body")


def _address(ids: Optional[Array]) -> Any:
    return None if ids is None else pointer(ids)


def _item(
    shape: Shape,
    pose: ArrayLike,
    *,
    motion: MotionName = "dynamic",
    method: MethodName = "auto",
    deforms: bool = False,
    resolution: int = 0,
    sensor: bool = False,
    group: int = 0,
    mask: int = 0,
    family: int = 0,
    margin: float = 0,
    cloth: Union[bool, Mapping[str, float]] = False,
    self_collides: bool = False,
) -> tuple[Any, Any]:
    """Returns an item of the library, and the objects that must outlive it."""
    item = options(
        _c.abut_world_item,
        motion=value_of("abut_world_motion", motion),
        group=number(group, "group"),
        mask=number(mask, "mask"),
        family=number(family, "family"),
        is_sensor=sensor,
        method=value_of("abut_world_method", method),
        margin=length_of(margin, "margin"),
        self_collides=self_collides,
    )
    if cloth is not False:
        material = {} if cloth is True else dict(cloth)
        known = [name for name, _ in _c.abut_cloth_material._fields_ if name != "size"]
        for name in material:
            if name not in known:
                raise ArgumentError(f"cloth has no {name!r}; it has {', '.join(known)}")
        item.material = options(_c.abut_cloth_material, **material)
        item.cloth = ctypes.addressof(item.material)
    collider = item.collider
    collider.pose = read_pose(pose, "pose")
    if hasattr(shape, "vertices") and hasattr(shape, "faces"):
        shape = mesh_of(shape, "shape")
    if not isinstance(shape, Mesh) and (deforms or resolution):
        raise ArgumentError("deforms and resolution are of meshes")
    kept: Any = shape
    if isinstance(shape, Mesh):
        collider.kind = _c.ABUT_COLLIDER_MESH
        item.handle = shape._handle  # keep it during the call: a refit releases it
        collider.shape.mesh.mesh = item.handle.value
        collider.shape.mesh.deforms = deforms
        collider.shape.mesh.resolution = number(resolution, "resolution")
    elif isinstance(shape, RadialField):
        collider.kind = _c.ABUT_COLLIDER_CHARACTER
        collider.shape.character = shape._handle.value
    elif isinstance(shape, PRIMITIVES):
        kept = fill_primitive(collider, shape)
    else:
        raise TypeError(f"a body is a Mesh, a RadialField or a solid such as abut.Box, not {type(shape).__name__}")
    return item, kept
