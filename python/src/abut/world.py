"""Worlds: contacts of many bodies of all kinds in one call per step.

A world contains rigid and deforming meshes, primitives and characters. It chooses a method for each body by a rule
(docs/choosing.md). For every pair it reports the guarantee and the error bound of the penetration depth.
"""

from __future__ import annotations

import ctypes
from typing import Any, Iterable, Iterator, Literal, NamedTuple, Optional, Sequence, Union

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
from .collider import PRIMITIVES, Primitive, fill_primitive, length_of
from .mesh import Mesh, mesh_of
from .report import Reliability, reliability, warn_unless_guaranteed


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
    """All contacts of a step, sorted by the bodies a, then b; a < b. Iteration yields a Pair for each pair in contact.

    point (n, 3), normal (n, 3), depth (n,), id (n,)  of contacts; normals point from b to a
    a (n,), b (n,)                                    the bodies of each contact
    records                                           all members of each contact
    pairs (k, 2), ended (m, 2)                        pairs in contact, and pairs that no longer touch
    events                                            records: kind, method, guarantee, error, a, b, first, count ...
    reliability                                       the lowest reliability of all pairs
    """

    def __init__(self, contacts: Array, events: Array, worth: Reliability) -> None:
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
    a: Array
    b: Array
    """(n,): the bodies of each touch, a < b."""
    touches: Array
    """(n,) records: hit, time, point, normal, triangle."""
    unswept_count: int
    """The number of near pairs that cannot be swept, such as those of characters."""
    reliability: Reliability
    """The lowest reliability of the containment tests at the start, over all pairs."""


class World(Owner):
    """A set of bodies. step() computes all their contacts in one call.

    margin             bodies nearer than this have contacts, too, with negative depth
    method             "auto", "exact" or "field": the default method of bodies
    max_contacts       the maximum number of contacts per patch; 0 = 4 for exact pairs, otherwise all
    skip_edges         contacts from fields omit the deepest points of edges
    skip_verification  skip the exact test that the depths separate the bodies: about twice as fast
    device             the device for pairs with fields; contacts are the same

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
    ) -> None:
        self._shapes: dict[int, Shape] = {}
        self._users: dict[int, Any] = {}
        self._handle = Handle(lib.abut_world_destroy, keeps=self._shapes, guard=Guard(outer=True))
        self._fields: list[Handle] = []  # radial fields of its characters; calls read and change them
        self._contacts: Array = np.empty(256, record(_c.abut_contact))
        self._events: Array = np.empty(64, record(_c.abut_world_event))
        self._warned: set[Reliability] = set()
        given = options(
            _c.abut_world_options,
            margin=margin,
            method=value_of("abut_world_method", method),
            max_patch_contacts=number(max_contacts, "max_contacts", most=8),
            skip_edges=skip_edges,
            skip_verification=skip_verification,
            device=_device.pointer(_device.find(device)),
        )
        check(lib.abut_world_create(context(), byref(given), self._handle.out))

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
        margin: float = 0,
        user: Any = None,
    ) -> int:
        """Adds a body and returns its id. `shape` is a Mesh, a RadialField, or a Plane, Sphere, Capsule, Cylinder, Box
        or Hull.

        motion      "dynamic", "kinematic" or "static": pairs without a dynamic body are not tested
        method      "auto", "exact", "field", "map" or "layers": the method of a mesh
        deforms     whether set_positions() will set new positions of a mesh
        resolution  cells of a field along the longest side (64), texels of a map (128), pixels of layers (1024)
        sensor      its pairs are reported without contacts
        group, mask one bit per group that it belongs to, and that it collides with; 0 = the first group, and all
        margin      added to the margin of the world for all its pairs
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
            margin=margin,
        )
        made = ctypes.c_uint32()
        with self._handle.alone():
            run(lib.abut_world_add, self._handle, byref(item), byref(made), uses=_fields([kept]))
            self._keep(made.value, kept)
            self._users[made.value] = user
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

    def remove(self, body: int) -> None:
        """Removes a body. Its id may be used again."""
        with self._handle.alone():
            call(lib.abut_world_remove, self._handle, _number(body))
            self._keep(body, None)
            self._users.pop(body, None)

    def ignore(self, a: int, b: int, ignore: bool = True) -> None:
        """Excludes a pair from all tests, such as the parts of a machine, or bodies that share a joint."""
        call(lib.abut_world_ignore, self._handle, _number(a), _number(b), ignore)

    def set_poses(self, poses: ArrayLike, bodies: Optional[Sequence[int]] = None) -> World:
        """Sets new poses: a dict {body: pose}, or (k, 7) or (k, 4, 4) for these `bodies`, by default for bodies 0 to
        k - 1. On failure no body is changed."""
        ids, placed = moves(poses, bodies, "body")
        if len(placed):
            call(lib.abut_world_set_poses, self._handle, _address(ids), host(placed), len(placed))
        return self

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
        return sorted(self._shapes)

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

    def step(self, poses: ArrayLike = None, bodies: Optional[Sequence[int]] = None) -> Step:
        """Sets poses, if given, as set_poses() does. Then computes all contacts, and the pairs that have begun or
        ended to touch since the last step."""
        with self._handle.alone():
            if poses is not None:
                self.set_poses(poses, bodies)
            found = options(_c.abut_contacts)
            while True:
                found.list, found.capacity = pointer(self._contacts), len(self._contacts)
                if fits(lib.abut_world_contacts, self._handle, byref(found), uses=self._fields):
                    break
                self._contacts = np.empty(int(found.count * 5 // 4), self._contacts.dtype)
            said = self._warn(reliability(found.reliability))
            events = fill(
                _c.abut_world_event_list, self._events, lambda to: fits(lib.abut_world_events, self._handle, to)
            )
            if len(events) > len(self._events):
                self._events = np.empty(len(events) * 5 // 4, events.dtype)
            return Step(self._contacts[: found.count].copy(), events.copy(), said)

    def _warn(self, said: Reliability) -> Reliability:
        if said not in self._warned:
            warn_unless_guaranteed(said)
            self._warned.add(said)  # only if the warning did not raise
        return said

    def pairs(self) -> Array:
        """Returns the candidate pairs (k, 2) of the broad phase. They include every pair that touches."""
        room = np.empty((64, 2), np.uint32)
        return fill(_c.abut_world_pair_list, room, lambda to: fits(lib.abut_world_pairs, self._handle, to))

    def sweep(
        self,
        poses: ArrayLike,
        bodies: Optional[Sequence[int]] = None,
        *,
        separation: float = 0,
        tolerance: float = 0,
    ) -> Sweep:
        """Finds the touches of bodies that move to these poses, with the arguments of set_poses(), while all others do
        not move. No touch is missed, however fast and thin the bodies are. `time` of the result is the safe part of
        the step, also for bodies that touch at the start. The world does not change."""
        ids, ends = moves(poses, bodies, "body")
        given = options(_c.abut_sweep_rigid_options, separation=separation, tolerance=tolerance)
        found = options(_c.abut_world_impacts)
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
                room = room[: found.count]
                said = self._warn(reliability(found.reliability))
                return Sweep(found.time, room["a"], room["b"], room["result"], found.unswept_count, said)
            room = np.empty(found.count, room.dtype)

    # -- save and restore --

    def save(self) -> bytes:
        """Returns the state of the world between steps: 24 bytes per candidate pair and 8 bytes per body. It does not
        contain bodies, poses and positions.

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
        return state.tobytes()

    def restore(self, state: Union[bytes, bytearray, memoryview]) -> World:
        """Restores the state that save() of this or another world returned. The world must have the same bodies with
        the same ids, at the saved poses, bit for bit; otherwise the call raises and does not change the world. After
        it, both worlds compute the same contacts and events, bit for bit. The call costs as much as a step in which
        all bodies move."""
        try:
            given = np.frombuffer(state, np.uint8)
        except (TypeError, BufferError, AttributeError):
            raise TypeError(f"state must be bytes, as save() returns them, not {type(state).__name__}") from None
        except ValueError as problem:
            raise ArgumentError(f"state: {problem}") from None
        run(lib.abut_world_restore, self._handle, pointer(given), len(given), uses=self._fields)
        return self

    def __repr__(self) -> str:
        return f"<abut.World of {len(self)} bodies>"


def _fields(shapes: Iterable[Any]) -> list[Handle]:
    """Returns the handles of shared shapes that the world changes."""
    return [shape._handle for shape in shapes if isinstance(shape, RadialField)]


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
    margin: float = 0,
) -> tuple[Any, Any]:
    """Returns an item of the library, and the objects that must outlive it."""
    item = options(
        _c.abut_world_item,
        motion=value_of("abut_world_motion", motion),
        group=number(group, "group"),
        mask=number(mask, "mask"),
        is_sensor=sensor,
        method=value_of("abut_world_method", method),
        margin=length_of(margin, "margin"),
    )
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
