"""Continuous collision detection (CCD) of deforming meshes: impacts with each other and with themselves."""

from __future__ import annotations

import ctypes
from typing import Any, Literal, NamedTuple, Optional, Sequence

import numpy as np

from . import _c, device as _device
from ._arrays import Array, ArrayLike, Floats, batch, doubles, floats, host, pointer, record, vectors
from ._core import ArgumentError, Guard, Handle, Owner, byref, fits, get, lib, name_of, options, run, value_of
from .mesh import Mesh, handles, listed, mesh_of


class Impact(NamedTuple):
    """The first touch of two features."""

    time: float
    """From 0 to 1; conservative: never later than the exact time of impact."""
    point: Floats
    normal: Floats
    """A unit vector from the second feature to the first."""
    weights: Floats
    """Vertex-face: barycentric coordinates; edge-edge: the parameter along each edge."""
    kind: str
    """ "vertex-face" or "edge-edge"."""
    mesh: tuple[int, int]
    element: tuple[int, int]
    """A vertex and a triangle, or two edges."""


class Motion(Owner):
    """Time steps of meshes whose vertices move along straight lines from start to end.

    Conservative: no collision is missed, and no time of impact is too late.

    >>> import abut
    >>> box = abut.shape("box")
    >>> motion = abut.Motion([box, box.transformed([3, 0, 0, 0, 0, 0, 1])])
    >>> impact = motion.step([box.vertices, box.vertices + [1, 0, 0]]).earliest()
    >>> round(impact.time, 6)
    1.0
    """

    _instead = "make it again from its meshes"

    def __init__(
        self, meshes: Sequence[Mesh], *, own: bool = True, others: bool = True, device: _device.Selector = None
    ) -> None:
        """own=False excludes self-collisions, others=False excludes collisions of two meshes."""
        kept, addresses = handles(listed(meshes))
        self._counts = [int(lib.abut_mesh_vertex_count(each)) for each in kept]
        handle = Handle(lib.abut_sweep_destroy, guard=Guard())
        given = options(
            _c.abut_sweep_options,
            skip_self=not own,
            skip_pairs=not others,
            device=_device.pointer(_device.find(device)),
        )
        run(lib.abut_sweep_create, addresses, len(kept), byref(given), handle.out)
        self._handle = handle

    def __repr__(self) -> str:
        return f"<abut.Motion of {len(self._counts)} meshes, {sum(self._counts)} vertices>"

    def _positions(self, value: Any, what: str) -> Array:
        """Returns the vertices of all meshes in order, from one array or from a list with one array per mesh."""
        if isinstance(value, (list, tuple)) and len(value) == len(self._counts) and np.ndim(value[0]) == 2:
            value = np.concatenate([vectors(part, what)[0] for part in value])
        array, _ = vectors(value, what)
        if len(array) != sum(self._counts):
            raise ArgumentError(f"{what}: the meshes have {sum(self._counts)} vertices, and {len(array)} were given")
        return array

    def step(self, end: ArrayLike, start: Optional[ArrayLike] = None) -> Motion:
        """Sets the next step. `end` has the positions at its end: one array for all meshes, or a list with one array
        per mesh. Without `start`, the step starts at the end of the last one."""
        last = self._positions(end, "end")
        first = None if start is None else self._positions(start, "start")
        run(lib.abut_sweep_set_positions, self._handle, host(None) if first is None else batch(first), batch(last))
        return self

    def _find(self, mode: int, room: Array, exact: bool, separation: float, tolerance: float) -> int:
        given = options(_c.abut_sweep_find_options, exact=exact, separation=separation, tolerance=tolerance)
        impacts = _c.abut_impact_list(pointer(room), len(room), 0)
        fits(lib.abut_sweep_find, self._handle, mode, byref(given), byref(impacts), None)
        return int(impacts.count)

    def earliest(self, *, exact: bool = False, separation: float = 0, tolerance: float = 0) -> Optional[Impact]:
        """Finds the first impact of the step, or None. Features hit if they come as near as `separation`. With `exact`
        there are no false positives."""
        room = np.zeros(1, record(_c.abut_impact))
        return _impact(room[0]) if self._find(_c.ABUT_SWEEP_EARLIEST, room, exact, separation, tolerance) else None

    def any(self, *, exact: bool = False, separation: float = 0, tolerance: float = 0) -> bool:
        """Tests whether there is an impact. This is the fastest query."""
        room = np.zeros(1, record(_c.abut_impact))
        return self._find(_c.ABUT_SWEEP_ANY, room, exact, separation, tolerance) > 0

    def all(self, *, exact: bool = False, separation: float = 0, tolerance: float = 0) -> Array:
        """Finds all impacts, sorted by time, as records: time, point, normal, weights, kind, mesh, element."""
        room = np.zeros(1024, record(_c.abut_impact))
        while True:
            count = self._find(_c.ABUT_SWEEP_ALL, room, exact, separation, tolerance)
            if count <= len(room):
                return room[:count]
            room = np.zeros(count, record(_c.abut_impact))


class SelfStep(NamedTuple):
    """The result of one step of SelfCollision."""

    impact: Optional[Impact]
    """The first contact of the mesh with itself, or None if there is none."""
    scheme: str
    """The scheme that was used: "point", "line" or "complete"."""
    reason: str
    """The reason for a complete search, such as "cost" or "topology"."""
    sets: dict[str, int]
    """The numbers of triangles in the sets "positive", "negative", "grazing" and "violated"."""


class SelfCollision(Owner):
    """Self-collision of a deforming mesh by view-based culling (docs/self.md). It is faster than Motion if most of
    the mesh can be culled, and has the same guarantee: no collision is missed, and no time of impact is too late.

    scheme: "auto", "point", "line" or "complete".

    >>> import abut
    >>> sheet = abut.shape("sheet", size=2, segments=8, rings=8)
    >>> fold = sheet.vertices.copy()
    >>> fold[:, 2] += abs(fold[:, 0])                    # half closed, like a book
    >>> shut = fold * [-0.01, 1, 1]
    >>> step = abut.SelfCollision(abut.Mesh(fold, sheet.faces)).step(shut)
    >>> step.impact is not None and step.impact.time < 1
    True
    """

    _instead = "make it again from its mesh"

    def __init__(
        self,
        mesh: Mesh,
        *,
        scheme: Literal["auto", "point", "line", "complete"] = "auto",
        device: _device.Selector = None,
    ) -> None:
        mesh = mesh_of(mesh, "mesh")
        self._count = mesh.vertex_count
        given = options(
            _c.abut_self_options,
            scheme=value_of("abut_self_scheme", scheme),
            device=_device.pointer(mesh._device_or_own(device)),
        )
        self._handle = Handle(lib.abut_self_destroy, guard=Guard())
        run(lib.abut_self_create, mesh._handle, byref(given), self._handle.out)

    def _positions(self, value: ArrayLike, what: str) -> Array:
        array, _ = doubles(value, what)
        if len(array) != self._count:
            raise ArgumentError(f"{what}: the mesh has {self._count} vertices, and {len(array)} were given")
        return array

    def step(
        self,
        end: ArrayLike,
        start: Optional[ArrayLike] = None,
        *,
        line: Optional[ArrayLike] = None,
        free: bool = False,
        exact: bool = False,
        separation: float = 0,
        tolerance: float = 0,
    ) -> SelfStep:
        """Sets the next step and finds its first impact. Without `start`, the step starts at the end of the last one.
        `line` (2, 2, 3) is the view-line: both endpoints at the start, then at the end of the step. `free` states that
        the mesh has no self-intersection at the start."""
        last = self._positions(end, "end")
        first = None if start is None else self._positions(start, "start")
        step = options(_c.abut_self_step, start=host(first), end=host(last), start_is_free=free)
        if line is not None:
            ends = np.ascontiguousarray(floats(line, "line"), dtype=np.float64)
            if ends.shape != (2, 2, 3):
                raise ArgumentError(f"line must be of shape (2, 2, 3), not {ends.shape}")
            step.line = pointer(ends)
        given = options(_c.abut_sweep_find_options, exact=exact, separation=separation, tolerance=tolerance)
        found = options(_c.abut_self_result)
        run(lib.abut_self_find, self._handle, byref(step), byref(given), byref(found))
        return SelfStep(
            _impact(np.frombuffer(found.impact, record(_c.abut_impact))[0]) if found.hit else None,
            name_of("abut_self_scheme", found.scheme),
            name_of("abut_self_fallback", found.reason) if found.reason else "",
            {name_of("abut_self_set", i): count for i, count in enumerate(found.sets)},
        )

    def sets(self) -> Optional[Array]:
        """(m,): for each triangle the index of its set in SelfStep.sets, in the last step. None after a complete
        search."""
        with self._handle.alone():
            address = lib.abut_self_sets(self._handle)
            count = int(get(lib.abut_self_get_info, _c.abut_self_info, self._handle).triangle_count)
            return np.frombuffer(ctypes.string_at(address, count), np.uint8) if address else None

    def ghosts(self) -> Optional[Mesh]:
        """The ghost triangles that close holes, at the end of the last step, or of the mesh before the first one. None
        if the mesh has no holes, or if all searches are complete."""
        made = Handle(lib.abut_mesh_destroy)
        run(lib.abut_self_get_ghosts, self._handle, made.out)
        return Mesh._of(made) if made.address else None

    def __repr__(self) -> str:
        return f"<abut.SelfCollision of {self._count} vertices>"


def _impact(found: Any) -> Impact:
    return Impact(
        float(found["time"]),
        found["point"].copy(),
        found["normal"].copy(),
        found["weights"].copy(),
        str(lib.abut_impact_kind_name(int(found["kind"])).decode()),
        (int(found["mesh"][0]), int(found["mesh"][1])),
        (int(found["element"][0]), int(found["element"][1])),
    )
