"""Meshes that move and deform: when do they first touch, each other or themselves?"""

from __future__ import annotations

import ctypes
from typing import Any, Literal, NamedTuple, Optional, Sequence

import numpy as np

from . import _c, device as _device
from ._arrays import Array, ArrayLike, Floats, doubles, floats, host, pointer, record
from ._core import ArgumentError, Guard, Handle, Owner, byref, fits, lib, name_of, options, run, value_of
from .mesh import Mesh, handles, listed, mesh_of


class Impact(NamedTuple):
    """Where and when two features first touch."""

    time: float
    """From 0 to 1; never late."""
    point: Floats
    normal: Floats
    """From the second feature to the first."""
    weights: Floats
    """Vertex-face: of the corners; edge-edge: how far along each."""
    kind: str
    """ "vertex-face" or "edge-edge"."""
    mesh: tuple[int, int]
    element: tuple[int, int]
    """A vertex and a triangle, or two edges."""


class Motion(Owner):
    """Steps of meshes whose vertices go along straight lines from their start to their end.

    A collision is never missed, and times are never late.

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
        """With own=False pairs within a mesh are left out, with others=False pairs of two meshes."""
        kept, addresses = handles(listed(meshes))
        self._counts = [int(lib.abut_mesh_vertex_count(each)) for each in kept]
        handle = Handle(lib.abut_sweep_destroy, guard=Guard())
        given = options(
            _c.abut_sweep_options, no_self=not own, no_others=not others, device=_device.pointer(_device.find(device))
        )
        run(lib.abut_sweep_create, addresses, len(kept), byref(given), handle.out)
        self._handle = handle

    def __repr__(self) -> str:
        return f"<abut.Motion of {len(self._counts)} meshes, {sum(self._counts)} vertices>"

    def _positions(self, value: Any, what: str) -> Array:
        """All vertices, mesh after mesh: from one array of them, or a list of one for each mesh."""
        if isinstance(value, (list, tuple)) and len(value) == len(self._counts) and np.ndim(value[0]) == 2:
            value = np.concatenate([doubles(part, what)[0] for part in value])
        array, _ = doubles(value, what)
        if len(array) != sum(self._counts):
            raise ArgumentError(f"{what}: the meshes have {sum(self._counts)} vertices, and {len(array)} were given")
        return array

    def step(self, end: ArrayLike, start: Optional[ArrayLike] = None) -> Motion:
        """Takes the next step: where vertices end, as one array for all meshes or a list of one for each.
        Without `start` they begin where the last step ended."""
        last = self._positions(end, "end")
        first = None if start is None else self._positions(start, "start")
        run(lib.abut_sweep_step, self._handle, host(first), host(last))
        return self

    def _find(self, mode: int, room: Array, exact: bool, separation: float, tolerance: float) -> int:
        given = options(_c.abut_sweep_find_options, exact=exact, separation=separation, tolerance=tolerance)
        impacts = _c.abut_impacts(pointer(room), len(room), 0)
        fits(lib.abut_sweep_find, self._handle, mode, byref(given), byref(impacts), None)
        return int(impacts.count)

    def earliest(self, *, exact: bool = False, separation: float = 0, tolerance: float = 0) -> Optional[Impact]:
        """The first impact of the step, or None. With `separation` features that come so near hit; with
        `exact` hits are exactly the true ones."""
        room = np.zeros(1, record(_c.abut_impact))
        return _impact(room[0]) if self._find(_c.ABUT_SWEEP_EARLIEST, room, exact, separation, tolerance) else None

    def any(self, *, exact: bool = False, separation: float = 0, tolerance: float = 0) -> bool:
        """Whether there is an impact: the quickest."""
        room = np.zeros(1, record(_c.abut_impact))
        return self._find(_c.ABUT_SWEEP_ANY, room, exact, separation, tolerance) > 0

    def all(self, *, exact: bool = False, separation: float = 0, tolerance: float = 0) -> Array:
        """All impacts by time, as records: time, point, normal, weights, kind, mesh, element."""
        room = np.zeros(1024, record(_c.abut_impact))
        while True:
            count = self._find(_c.ABUT_SWEEP_ALL, room, exact, separation, tolerance)
            if count <= len(room):
                return room[:count]
            room = np.zeros(count, record(_c.abut_impact))


class SelfStep(NamedTuple):
    """What became of a mesh in a step."""

    impact: Optional[Impact]
    """The first contact of the mesh with itself, or None: the step is free."""
    scheme: str
    """What was used: "point", "line" or "complete"."""
    reason: str
    """Why all pairs were looked at, where they were, such as "cost" or "topology"."""
    sets: dict[str, int]
    """How many triangles were "positive", "negative", "grazing" and "violated"."""
    triangle_pairs: int
    """Pairs of triangles that were looked at closely."""


class SelfCollision(Owner):
    """When a deforming mesh first touches itself: much faster than Motion where most of it cannot take
    part, since it is seen from inside (docs/self.md). As safe: a collision is never missed, and times are
    never late.

    scheme: "auto", "point", "line" or "complete"; bounds: "dop16" or "aabb".

    >>> import abut
    >>> sheet = abut.shape("sheet", size=2, segments=8, rings=8)
    >>> fold = sheet.vertices.copy()
    >>> fold[:, 2] += abs(fold[:, 0])                    # half shut, like a book
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
        bounds: Literal["dop16", "aabb"] = "dop16",
        device: _device.Selector = None,
    ) -> None:
        mesh = mesh_of(mesh, "mesh")
        self._count = mesh.vertex_count
        given = options(
            _c.abut_self_options,
            scheme=value_of("abut_self_scheme", scheme),
            bounds=value_of("abut_self_bounds", bounds),
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
        """Takes the next step and looks for the first impact. Without `start` it begins where the last step
        ended. `line` is where the view-line is, (2, 2, 3): both of its ends at the start, then at the end.
        With `free` the start is known not to touch itself."""
        last = self._positions(end, "end")
        first = None if start is None else self._positions(start, "start")
        step = options(_c.abut_self_step, start=host(first), end=host(last), start_is_free=free)
        if line is not None:
            ends = np.ascontiguousarray(floats(line, "line"), dtype=np.float64)
            if ends.shape != (2, 2, 3):
                raise ArgumentError(f"line must be of shape (2, 2, 3), not {ends.shape}")
            step.line = pointer(ends)
        given = options(_c.abut_sweep_find_options, exact=exact, separation=separation, tolerance=tolerance)
        found = _c.abut_self_result()
        run(lib.abut_self_find, self._handle, byref(step), byref(given), byref(found))
        return SelfStep(
            _impact(np.frombuffer(found.impact, record(_c.abut_impact))[0]) if found.hit else None,
            name_of("abut_self_scheme", found.scheme),
            name_of("abut_self_fallback", found.reason) if found.reason else "",
            {name_of("abut_self_set", i): count for i, count in enumerate(found.sets)},
            found.triangle_pairs,
        )

    def sets(self) -> Optional[Array]:
        """(m): of each triangle the place in SelfStep.sets, in the last step; None where all pairs were
        looked at."""
        with self._handle.alone():
            told = lib.abut_self_sets(self._handle)
            count = int(lib.abut_self_info_get(self._handle).triangle_count)
            return np.frombuffer(ctypes.string_at(told, count), np.uint8) if told else None

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
