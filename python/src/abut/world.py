"""Worlds: many bodies of all kinds, and the contacts of all of them in one call each step.

A world takes meshes, rigid or deforming, simple solids and characters, chooses for each the method that
suits it by a rule (docs/choosing.md), and tells of every pair what cannot be missed and how far depths may
be off.
"""

from __future__ import annotations

import ctypes
from typing import Any, Iterable, Iterator, Literal, NamedTuple, Optional, Sequence, Union

import numpy as np

from . import _c, device as _device
from ._arrays import Array, ArrayLike, doubles, floats, host, moves, pointer, pose as read_pose, record, vector
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
from .mesh import Hierarchy, Mesh, mesh_of
from .report import Advice, advice, warn_unless_guaranteed


MotionName = Literal["dynamic", "kinematic", "static"]
MethodName = Literal["auto", "exact", "field", "map", "layers"]


class Plane(NamedTuple):
    """All that is below a plane: normal . x <= offset."""

    normal: ArrayLike = (0, 0, 1)
    offset: float = 0


class Sphere(NamedTuple):
    """A ball."""

    radius: float
    centre: ArrayLike = (0, 0, 0)


class Capsule(NamedTuple):
    """All within the radius of the segment between two ends."""

    a: ArrayLike
    b: ArrayLike
    radius: float


class Cylinder(NamedTuple):
    """All within the radius of the axis between two ends, which are flat."""

    a: ArrayLike
    b: ArrayLike
    radius: float


class Box(NamedTuple):
    """A box about the origin of its pose: lengths of its sides, or one for all."""

    size: ArrayLike = 1


class Hull(NamedTuple):
    """A closed convex mesh, such as one of abut.hull()."""

    mesh: Mesh


Shape = Union[Mesh, RadialField, Plane, Sphere, Capsule, Cylinder, Box, Hull]


class Choice(NamedTuple):
    """How a body takes part."""

    method: str
    forced: bool
    """Whether it was told to; else the rule chose."""
    reason: str
    advice: Advice
    """What the inside of a mesh is worth."""
    cell: float
    """Of its field or radial fields, or the reach of its map; or 0."""
    holes: float
    """Of a mesh: the area that would close it, about, over its own. From 0.1 on it has no inside."""
    thin: float
    """Of a mesh that may get a field: the share of its surface with less than two cells of wall behind it."""


class Manner(NamedTuple):
    """How a pair is tried."""

    method: str
    """ "auto" where it is never tried."""
    guarantee: str
    """ "every": no overlap is missed; "limited": the same, except that what lies wholly inside a mesh with holes is a
    guess; "sampled": what lies between samples may be missed; "never": it is not tried."""
    error: float
    """The deepest contact is off by no more than this; 0 = by rounding alone."""
    sentence: str


class Pair(NamedTuple):
    """Two bodies that touch, their contacts, and what these are worth."""

    a: int
    b: int
    change: str
    """ "begin" or "stay"."""
    method: str
    guarantee: str
    error: float
    """The deepest contact is off by no more than this; infinity = no bound."""
    sensor: bool
    depth: float
    """Of the deepest contact."""
    contacts: Array
    """Records: point, normal, depth, id, side, kind, element, part; contacts[0].depth or contacts["depth"].
    Normals point from b to a."""


class Step:
    """All contacts of a step, sorted by the bodies a, then b; a < b. Iterating gives a Pair for each two
    bodies that touch.

    point (n, 3), normal (n, 3), depth (n), id (n)   of contacts; normals point from b to a
    a (n), b (n)                                     the bodies of each contact
    records                                          all that is known of contacts
    pairs (k, 2), ended (m, 2)                       bodies that touch, and those that touch no more
    events                                           records: change, method, guarantee, error, a, b, first, count ...
    advice                                           what the inside of the bodies is worth: the worst of all pairs
    """

    def __init__(self, contacts: Array, events: Array, worth: Advice) -> None:
        self.records, self.events, self.advice = contacts, events, worth
        self.point, self.normal, self.depth = contacts["point"], contacts["normal"], contacts["depth"]
        self.id = contacts["id"]
        self.a, self.b = (np.repeat(events[name], events["count"].astype(np.intp)) for name in ("a", "b"))

    @property
    def pairs(self) -> Array:
        """(k, 2): the bodies that touch."""
        return self._two(self.events["change"] != _c.ABUT_WORLD_END)

    @property
    def ended(self) -> Array:
        """(m, 2): the bodies that touch no more."""
        return self._two(self.events["change"] == _c.ABUT_WORLD_END)

    def _two(self, which: Array) -> Array:
        return np.stack([self.events["a"][which], self.events["b"][which]], axis=1)

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[Pair]:
        for event in self.events:
            if event["change"] == _c.ABUT_WORLD_END:
                continue
            first, count = int(event["first"]), int(event["count"])
            yield Pair(
                int(event["a"]),
                int(event["b"]),
                name_of("abut_world_change", int(event["change"])),
                name_of("abut_world_method", int(event["method"])),
                name_of("abut_world_guarantee", int(event["guarantee"])),
                float(event["error"]),
                bool(event["sensor"]),
                float(event["deepest"]["depth"]),
                (self.records[first : first + count] if count else self.records[:0]).view(np.recarray),
            )

    def __repr__(self) -> str:
        return f"<abut.Step: {len(self)} contacts of {len(self.pairs)} pairs>"


class Sweep(NamedTuple):
    """What bodies touch on their way."""

    time: float
    """The part of the way that is safe, from 0 to 1: until then no bodies that are apart at the start touch, and none
    that touch at the start go deeper, by more than 1e-4 of the smaller one. A body that rests on another may slide
    and leave; if it is moved into the other, the time is 0."""
    a: Array
    b: Array
    """(n): the bodies of each touch, a < b."""
    touches: Array
    """(n) records: hit, time, point, normal, triangle."""
    unknown: int
    """Pairs that come near and cannot be swept, such as those of characters."""
    advice: Advice
    """The reliability of what is inside at the start: the worst of all pairs."""


class World(Owner):
    """Bodies, and the contacts of all of them in one call each step.

    margin      bodies that come this near have contacts too, of negative depth
    method      "auto", "exact" or "field": how pairs are tried, where bodies do not say
    keep        contacts that are kept of each patch of a pair; 0 = 4 where it is exact, else all
    samples     contacts by fields are samples alone, not deepest points of edges
    unchecked   depths of exact contacts are not checked to separate: about twice as fast
    device      where pairs are tried by fields; contacts are the same

    Where the bodies do not allow a guaranteed answer, step() and sweep() issue a ReliabilityWarning, once per
    world and reason; answers have it as `advice` each time. A filter that makes an exception of the warning
    raises it each time, and what has begun and ended stays for the next step().

    >>> import abut
    >>> world = abut.World()
    >>> ground = world.add(abut.Plane(), motion="static")
    >>> ball = world.add(abut.shape("icosphere", radius=1, segments=8), [0, 0, 0.9, 0, 0, 0, 1])
    >>> world.choice(ball).method
    'exact'
    >>> for pair in world.step():
    ...     print(pair.a, pair.b, pair.method, pair.guarantee, pair.error, round(pair.depth, 2))
    0 1 exact every 0.0 0.1
    >>> len(world.step({ball: [0, 0, 2, 0, 0, 0, 1]}))
    0
    """

    _instead = "make another one and add its bodies"

    def __init__(
        self,
        *,
        margin: float = 0,
        method: MethodName = "auto",
        keep: int = 0,
        samples: bool = False,
        unchecked: bool = False,
        device: _device.Selector = None,
    ) -> None:
        self._shapes: dict[int, Shape] = {}
        self._handle = Handle(lib.abut_world_destroy, keeps=self._shapes, guard=Guard(outer=True))
        self._fields: list[Handle] = []  # radial fields of its characters, which it reads and changes
        self._contacts: Array = np.empty(256, record(_c.abut_contact))
        self._events: Array = np.empty(64, record(_c.abut_world_event))
        self._warned: set[Advice] = set()
        given = options(
            _c.abut_world_options,
            margin=margin,
            method=value_of("abut_world_method", method),
            patch_contacts=number(keep, "keep", most=8),
            samples=samples,
            unchecked=unchecked,
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
    ) -> int:
        """Adds a body and returns its number. `shape` is a Mesh, a RadialField, or a Plane, Sphere, Capsule,
        Cylinder, Box or Hull.

        motion      "dynamic", "kinematic" or "static": pairs of which none is dynamic are not tried
        method      "auto", "exact", "field", "map" or "layers": how pairs of a mesh are tried
        deforms     whether deform() will give a mesh other positions
        resolution  cells of a field along the longest side (64), texels of a map (128), pixels of layers (1024)
        sensor      its pairs are told, and have no contacts
        group, mask a bit for each group that it belongs to, and collides with; 0 = the first, and all
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
        )
        made = ctypes.c_uint32()
        with self._handle.alone():
            run(lib.abut_world_add, self._handle, byref(item), byref(made), uses=_fields([kept]))
            self._keep(made.value, kept)
        return made.value

    def _keep(self, body: int, shape: Any) -> None:
        if shape is None:
            del self._shapes[body]
        else:
            self._shapes[body] = shape
        self._fields = _fields(self._shapes.values())

    def replace(self, body: int, shape: Shape, pose: ArrayLike = None, **how: Any) -> None:
        """Makes a body what this says, with all that add() has; its number stays, and so does what it ignores."""
        item, kept = _item(shape, pose, **how)
        with self._handle.alone():
            run(lib.abut_world_replace, self._handle, _number(body), byref(item), uses=_fields([kept]))
            self._keep(body, kept)

    def remove(self, body: int) -> None:
        """Takes a body out. Its number is free for another."""
        with self._handle.alone():
            call(lib.abut_world_remove, self._handle, _number(body))
            self._keep(body, None)

    def ignore(self, a: int, b: int, ignore: bool = True) -> None:
        """Pairs that are never tried: parts of one machine, bodies at a joint."""
        call(lib.abut_world_ignore, self._handle, _number(a), _number(b), ignore)

    def move(self, poses: ArrayLike, bodies: Optional[Sequence[int]] = None) -> World:
        """Gives bodies new poses, all of them or, on failure, none: a dict {body: pose}, or (k, 7) or (k, 4, 4)
        for these `bodies`; without these for bodies 0 to k - 1."""
        ids, placed = moves(poses, bodies, "body")
        if len(placed):
            call(lib.abut_world_move, self._handle, _address(ids), host(placed), len(placed))
        return self

    def deform(self, body: int, positions: Optional[ArrayLike] = None, pose: Optional[ArrayLike] = None) -> World:
        """Gives a mesh that deforms the positions of its vertices, (n, 3); or a character the `pose` of its
        bones, (bones, 3, 4), with positions where it shall not be skinned."""
        shape = self._shapes.get(_number(body))
        bones = None
        if isinstance(shape, RadialField):
            if pose is None:
                raise ArgumentError(f"body {body} is a character: it needs a pose")
            bones = shape._character._matrices(pose)
            array = shape._character.skin(bones) if positions is None else doubles(positions, "positions")[0]
            count = shape._character.vertex_count
        else:
            if positions is None or pose is not None:
                raise ArgumentError(f"body {body} is no character: it needs positions, and no pose")
            array, _ = doubles(positions, "positions")
            count = shape.vertex_count if isinstance(shape, Mesh) else len(array)
        if len(array) != count:
            raise ArgumentError(f"body {body} has {count} vertices, and {len(array)} positions were given")
        bone_list = None if bones is None else pointer(bones)
        run(lib.abut_world_deform, self._handle, body, bone_list, host(array), uses=self._fields)
        return self

    @property
    def bodies(self) -> list[int]:
        """The numbers of all bodies."""
        return sorted(self._shapes)

    def __len__(self) -> int:
        return len(self._shapes)

    # -- what was chosen --

    def choice(self, body: int) -> Choice:
        """By which method a body takes part, and why."""
        made = _c.abut_world_choice()
        call(lib.abut_world_choice_get, self._handle, _number(body), byref(made))
        return Choice(
            name_of("abut_world_method", made.method),
            made.forced,
            made.reason.decode() if made.reason else "",
            advice(made.advice),
            made.cell,
            made.holes,
            made.thin,
        )

    def how(self, a: int, b: int) -> Manner:
        """How two bodies are tried where they come near each other, and what cannot be missed."""
        made = _c.abut_world_manner()
        call(lib.abut_world_how, self._handle, _number(a), _number(b), byref(made))
        return Manner(
            name_of("abut_world_method", made.method),
            name_of("abut_world_guarantee", made.guarantee),
            made.error,
            made.sentence.decode() if made.sentence else "",
        )

    # -- a step --

    def step(self, poses: ArrayLike = None, bodies: Optional[Sequence[int]] = None) -> Step:
        """Moves bodies, if poses are given, as move() does; then finds all contacts, and what has begun and ended
        since the last step."""
        with self._handle.alone():
            if poses is not None:
                self.move(poses, bodies)
            found, count = _c.abut_contacts(), ctypes.c_uint64()
            while True:
                found.list, found.capacity = pointer(self._contacts), len(self._contacts)
                if fits(lib.abut_world_contacts, self._handle, byref(found), uses=self._fields):
                    break
                self._contacts = np.empty(int(found.count * 5 // 4), self._contacts.dtype)
            said = self._warn(advice(found.advice))
            while not fits(lib.abut_world_events, self._handle, len(self._events), pointer(self._events), byref(count)):
                self._events = np.empty(count.value * 5 // 4, self._events.dtype)
            contacts, events = self._contacts[: found.count].copy(), self._events[: count.value].copy()
            return Step(contacts, events, said)

    def _warn(self, said: Advice) -> Advice:
        if said not in self._warned:
            warn_unless_guaranteed(said)
            self._warned.add(said)  # unless that raised
        return said

    def pairs(self) -> Array:
        """(k, 2): the pairs that are tried, since their boxes overlap; nothing that touches is missed."""
        room, count = np.empty((64, 2), np.uint32), ctypes.c_uint64()
        while not fits(lib.abut_world_pairs, self._handle, len(room), pointer(room), byref(count)):
            room = np.empty((count.value, 2), np.uint32)
        return room[: count.value]

    def sweep(
        self,
        poses: ArrayLike,
        bodies: Optional[Sequence[int]] = None,
        *,
        separation: float = 0,
        tolerance: float = 0,
    ) -> Sweep:
        """What bodies touch if they go on to these poses, given as for move(), while all others stay: however
        fast and thin they are, nothing is missed. `time` of the answer is the part of the way that is safe, also
        for bodies that touch at the start. The world stays as it is."""
        ids, ends = moves(poses, bodies, "body")
        given = options(_c.abut_sweep_rigid_options, separation=separation, tolerance=tolerance)
        found = _c.abut_world_impacts()
        room = np.empty(64, record(_c.abut_world_impact))
        while True:
            found.list, found.capacity = pointer(room), len(room)
            if fits(
                lib.abut_world_sweep,
                self._handle,
                _address(ids),
                pointer(ends),
                len(ends),
                byref(given),
                byref(found),
                uses=self._fields,
            ):
                room = room[: found.count]
                said = self._warn(advice(found.advice))
                return Sweep(found.time, room["a"], room["b"], room["touch"], found.unknown, said)
            room = np.empty(found.count, room.dtype)

    # -- save and restore --

    def save(self) -> bytes:
        """What the world remembers between steps: 24 bytes for each pair whose boxes overlap, and 8 for each body.
        Bodies, poses and positions are yours to store.

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
        >>> other.restore(state).step().normal[0].round(3).tolist()       # pushed back to where it came from
        [0.0, 0.0, -1.0]
        """
        room, count = np.empty(0, np.uint8), ctypes.c_size_t()
        while not fits(
            lib.abut_world_save, self._handle, len(room), pointer(room), byref(count), uses=self._fields
        ):
            room = np.empty(count.value, np.uint8)
        return room[: count.value].tobytes()

    def restore(self, state: Union[bytes, bytearray, memoryview]) -> World:
        """Makes the world remember what save() of another one returned. It must have the same bodies with the same
        numbers, at the poses at which the other was saved, bit for bit; the world stays as it is where that is not
        so. From then on both give the same contacts and events, byte for byte. Takes as long as a step in which all
        bodies move."""
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
    """What a world shares with others, and changes."""
    return [shape._handle for shape in shapes if isinstance(shape, RadialField)]


def _number(body: int) -> int:
    return number(body, "the number of a body")


def _address(ids: Optional[Array]) -> Any:
    return None if ids is None else pointer(ids)


def _real(value: Any, what: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{what} must be a number, not {value!r}") from None


def _length(value: Any, what: str) -> float:
    length = _real(value, what)
    most = _c.ABUT_COORDINATE_MAX
    if not 0 <= length <= most:
        raise ArgumentError(f"{what} is {length:g}; it must be from 0 to {most:g} units of the coordinates")
    return length


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
) -> tuple[Any, Any]:
    """An item of the library, and what has to live as long."""
    item = _c.abut_world_item(
        motion=value_of("abut_world_motion", motion),
        group=number(group, "group"),
        mask=number(mask, "mask"),
        sensor=sensor,
        method=value_of("abut_world_method", method),
        pose=read_pose(pose, "pose"),
    )
    if hasattr(shape, "vertices") and hasattr(shape, "faces"):
        shape = mesh_of(shape, "shape")
    if not isinstance(shape, Mesh) and (deforms or resolution):
        raise ArgumentError("deforms and resolution are of meshes")
    kept: Any = shape
    if isinstance(shape, Mesh):
        item.kind = _c.ABUT_WORLD_MESH
        item.handle = shape._handle  # kept for the time of the call: a refit drops it
        item.shape.mesh.mesh = item.handle.value
        item.shape.mesh.deforms = deforms
        item.shape.mesh.resolution = number(resolution, "resolution")
    elif isinstance(shape, RadialField):
        item.kind = _c.ABUT_WORLD_CHARACTER
        item.shape.character = shape._handle.value
    elif isinstance(shape, Plane):
        item.kind = _c.ABUT_WORLD_PLANE
        item.shape.plane = _c.abut_plane(vector(shape.normal, "normal"), _real(shape.offset, "offset"))
    elif isinstance(shape, Sphere):
        item.kind = _c.ABUT_WORLD_SPHERE
        item.shape.sphere = _c.abut_sphere(vector(shape.centre, "centre"), _length(shape.radius, "radius"))
    elif isinstance(shape, (Capsule, Cylinder)):
        ends = (_c.abut_vec3 * 2)(vector(shape.a, "a"), vector(shape.b, "b"))
        radius = _length(shape.radius, "radius")
        if isinstance(shape, Capsule):
            item.kind, item.shape.capsule = _c.ABUT_WORLD_CAPSULE, _c.abut_capsule(ends, radius)
        else:
            item.kind, item.shape.cylinder = _c.ABUT_WORLD_CYLINDER, _c.abut_cylinder(ends, radius)
    elif isinstance(shape, Box):
        item.kind = _c.ABUT_WORLD_BOX
        sides = floats(shape.size, "size")
        if sides.shape not in ((), (3,)):
            raise ArgumentError(f"size must be one length or three, not of shape {sides.shape}")
        item.shape.half = _c.abut_vec3(*(_length(side, "size") / 2 for side in np.broadcast_to(sides, 3)))
    elif isinstance(shape, Hull):
        item.kind = _c.ABUT_WORLD_HULL
        kept = Hierarchy(mesh_of(shape.mesh, "the mesh of a hull")._handle, None)
        item.shape.hull = kept.handle.value
    else:
        raise TypeError(f"a body is a Mesh, a RadialField or a solid such as abut.Box, not {type(shape).__name__}")
    return item, kept
