"""Cloth: sheets that pass neither through bodies nor through each other or themselves."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple, Optional, Sequence, Union

import numpy as np

from . import _c, device as _device
from ._arrays import NONE, Array, ArrayLike, Floats, batch, fill, host, pointer, pose as read_pose, record, state_bytes, vector, vectors
from ._core import ArgumentError, Guard, Handle, Owner, byref, call, context, fits, get, lib, name_of, need, number, options, run
from .character import RadialField
from .mesh import Mesh, mesh_of
from .report import Reliability, reliability


class ClothStep(NamedTuple):
    """The report of one step."""

    contacts: int
    """Vertices that are near a body or a face of a sheet."""
    impacts: int
    """Impacts that the first sweep found."""
    sweeps: int
    halvings: int
    lagging: int
    """Vertices of bodies that are not where they should be, and their largest distance from there."""
    lag: float
    depth: float
    """With radial fields: the largest depth at which a vertex remains inside."""
    gap: float
    fraction: float
    """The applied part of the step: below 1 only if nothing else separates two features."""
    self_scheme: str
    """How the last search for impacts of sheets with each other and themselves was done: point, line or complete; auto
    if there was none. For complete, the reason."""
    self_reason: str
    contact_seconds: float
    motion_seconds: float
    impact_seconds: float
    seam_gap: float
    """The largest distance of sewn vertices beyond the length of their seam at the start of the step."""
    guarantee: Reliability
    """guaranteed: there is no intersection, exactly."""


def step_of(report: Any) -> ClothStep:
    """Converts a report of the library."""
    values = {name: getattr(report, name) for name in ClothStep._fields[:-1]}
    values["self_scheme"] = name_of("abut_self_scheme", report.self_scheme)
    values["self_reason"] = name_of("abut_self_fallback", report.self_reason) if report.self_reason else ""
    return ClothStep(**values, guarantee=reliability(report.guarantee))


class ClothUntangling(NamedTuple):
    """The report of Cloth.untangle()."""

    is_free: bool
    """No intersection remains, exactly, and the next step accepts the start."""
    iterations: int
    pairs_before: int
    """Intersecting pairs of triangles at the start, and those that remain."""
    pairs: int
    bounds: Floats
    """(2, 3): lowest and highest corner of a box around the triangles of sheets in the remaining pairs; zero if there
    are none."""
    moved: int
    """Vertices that have moved, and the largest distance."""
    distance: float
    gap: float
    seconds: float


class ClothEnergy(NamedTuple):
    """Energy in joules, without that of pressure."""

    kinetic: float
    gravity: float
    elastic: float


class Cloth(Owner):
    """A system of sheets of cloth, and of bodies that the caller moves (docs/cloth.md). A step that begins without
    intersections ends without intersections. Lengths are in metres, masses in kilograms. Sheets
    and bodies can be added and removed at any time.

    gravity (m/s^2), wind (m/s), drag (N s/m^3); substeps per step, 0 = 10, at most 1,000. With ignore_self, sheets
    may pass through themselves and each other. With body_may_lag, vertices of bodies that would crush cloth stay
    behind.

    >>> import abut
    >>> cloth = abut.Cloth(gravity=[0, 0, -9.81])
    >>> sheet = cloth.add_sheet(abut.shape("sheet", segments=12, rings=12), bend=1e-4, friction=0.4)
    >>> ball = cloth.add_body(abut.shape("icosphere", radius=0.3), [0, 0, -0.35])
    >>> for _ in range(30):
    ...     report = cloth.step(1 / 60)
    >>> report.fraction, report.guarantee.level, cloth.is_free()
    (1.0, 'guaranteed', True)
    >>> bool(cloth.positions(sheet)[:, 2].min() < -0.3)
    True
    """

    _instead = "make it again from its sheets and bodies"

    def __init__(
        self,
        *,
        gravity: ArrayLike = (0, 0, 0),
        wind: ArrayLike = (0, 0, 0),
        drag: float = 0,
        substeps: int = 0,
        ignore_self: bool = False,
        body_may_lag: bool = False,
        device: _device.Selector = None,
    ) -> None:
        given = options(
            _c.abut_cloth_options,
            gravity=vector(gravity, "gravity"),
            wind=vector(wind, "wind"),
            drag=drag,
            substeps=number(substeps, "substeps"),
            ignore_self=ignore_self,
            body_may_lag=body_may_lag,
            device=_device.pointer(_device.find(device)),
        )
        self._set(Handle(lib.abut_cloth_destroy, guard=Guard()))
        run(lib.abut_cloth_create, context(), byref(given), self._handle.out)

    def _set(self, handle: Handle) -> None:
        self._handle = handle
        self._radial: Optional[RadialField] = None
        self._sheets: dict[int, int] = {}  # numbers of vertices
        self._bodies: dict[int, int] = {}

    @classmethod
    def _of_world(cls, handle: Handle) -> Cloth:
        """Returns the cloth that a world owns."""
        made = cls.__new__(cls)
        made._set(handle)
        return made

    def add_sheet(
        self,
        mesh: Mesh,
        *,
        stretch: float = 0,
        shear: float = 0,
        bend: float = 0,
        density: float = 0,
        damping: float = 0,
        pressure: float = 0,
        thickness: float = 0,
        friction: float = 0,
    ) -> int:
        """Adds a sheet with the shape of a mesh, which is its rest shape. Returns its number.

        stretch and shear (N/m; 0 = 200), bend (N m), density (kg/m^2; 0 = 0.2), damping (1/s), pressure (N/m^2) of a
        closed sheet, thickness (m; 0 = a fifth of the mean edge), friction (a coefficient).
        """
        mesh, made = mesh_of(mesh, "mesh"), ctypes.c_uint32()
        given = options(
            _c.abut_cloth_material,
            stretch=stretch,
            shear=shear,
            bend=bend,
            density=density,
            damping=damping,
            pressure=pressure,
            thickness=thickness,
            friction=friction,
        )
        run(lib.abut_cloth_add_sheet, self._handle, mesh._handle, byref(given), byref(made))
        self._sheets[made.value] = mesh.vertex_count
        return int(made.value)

    def add_body(self, mesh: Mesh, pose: Optional[ArrayLike] = None, *, friction: float = 0) -> int:
        """Adds an obstacle at a pose, rigid or deforming. Returns its number. friction: 0 = that of the sheet."""
        mesh, made = mesh_of(mesh, "mesh"), ctypes.c_uint32()
        given = options(_c.abut_cloth_body_options, pose=read_pose(pose, "pose"), friction=friction)
        run(lib.abut_cloth_add_body, self._handle, mesh._handle, byref(given), byref(made))
        self._bodies[made.value] = mesh.vertex_count
        return int(made.value)

    def remove_sheet(self, sheet: int) -> None:
        """Removes a sheet, its attachments and its seams. Its number can be reused; the numbers of others stay valid."""
        run(lib.abut_cloth_remove_sheet, self._handle, number(sheet, "sheet"))
        del self._sheets[sheet]

    def remove_body(self, body: int) -> None:
        """Removes a body and the attachments to it. Its number can be reused; the numbers of others stay valid."""
        run(lib.abut_cloth_remove_body, self._handle, number(body, "body"))
        del self._bodies[body]

    def add_radial(self, radial: RadialField) -> None:
        """Uses the radial fields of a character as the obstacle: fast and approximate. Call radial.set_pose() before
        each step."""
        need(radial, RadialField, "radial")
        run(lib.abut_cloth_add_radial, self._handle, radial._handle)
        self._radial = radial

    # ---- attachments ----

    def attach(
        self, sheet: int, vertices: ArrayLike, body: Optional[int] = None, *, stiffness: float = 0
    ) -> None:
        """Attaches vertices where they are: to a body close to them, or to points that set_targets() moves. stiffness (N/m) is that
        of springs; 0 = pinned."""
        chosen = _vertices(vertices)
        room = np.empty(len(chosen), record(_c.abut_cloth_attachment))
        to = NONE if body is None else number(body, "body")
        with self._handle.alone():
            run(
                lib.abut_cloth_bind,
                self._handle,
                number(sheet, "sheet"),
                to,
                pointer(chosen),
                len(chosen),
                stiffness,
                pointer(room),
            )
            run(lib.abut_cloth_attach, self._handle, number(sheet, "sheet"), pointer(room), len(room))

    def detach(self, sheet: int, vertices: ArrayLike) -> None:
        """Removes the attachments of vertices."""
        chosen = _vertices(vertices)
        run(lib.abut_cloth_detach, self._handle, number(sheet, "sheet"), pointer(chosen), len(chosen))

    def set_targets(self, sheet: int, vertices: ArrayLike, targets: ArrayLike) -> None:
        """Sets the points of attached vertices at the end of the next step: (k, 3)."""
        chosen, points = _vertices(vertices), vectors(targets, "targets")[0]
        if len(points) != len(chosen):
            raise ArgumentError(f"targets: {len(chosen)} vertices need as many points, and {len(points)} were given")
        run(
            lib.abut_cloth_set_targets,
            self._handle,
            number(sheet, "sheet"),
            pointer(chosen),
            batch(points),
            len(chosen),
        )

    # ---- seams ----

    def sew(
        self,
        sheet_a: int,
        vertices_a: ArrayLike,
        sheet_b: int,
        vertices_b: ArrayLike,
        *,
        length: float = 0,
        stiffness: float = 0,
        speed: float = 0,
    ) -> None:
        """Sews vertices of a sheet to as many of the same or another sheet, in pairs. A seam replaces an earlier one of
        the same two vertices.

        length (m) at rest, 0 = half of the mean thickness of both sheets; stiffness (N/m) of a spring, 0 = rigid; speed
        (m/s) at which a seam contracts to its length, 0 = 0.5.

        >>> import abut
        >>> cloth, panel = abut.Cloth(), abut.shape("sheet", segments=8, rings=8)
        >>> left, right = cloth.add_sheet(panel), cloth.add_sheet(panel.transformed([1.2, 0, 0]))
        >>> cloth.sew(left, range(8, 81, 9), right, range(0, 73, 9))
        >>> for _ in range(40):
        ...     report = cloth.step(1 / 60)
        >>> report.seam_gap < 1e-3, cloth.is_free()
        (True, True)
        """
        seams = _seams(sheet_a, vertices_a, sheet_b, vertices_b, length, stiffness, speed)
        run(lib.abut_cloth_sew, self._handle, pointer(seams), len(seams))

    def unsew(self, sheet_a: int, vertices_a: ArrayLike, sheet_b: int, vertices_b: ArrayLike) -> None:
        """Removes the seams between pairs of vertices. Pairs without one are ignored."""
        seams = _seams(sheet_a, vertices_a, sheet_b, vertices_b)
        run(lib.abut_cloth_unsew, self._handle, pointer(seams), len(seams))

    # ---- steps ----

    def set_body_positions(self, body: int, positions: ArrayLike) -> None:
        """Sets where the vertices of a body are at the end of the next step: (n, 3)."""
        array = vectors(positions, "positions")[0]
        count = self._bodies.get(number(body, "body"), len(array))
        if len(array) != count:
            raise ArgumentError(f"positions: the body has {count} vertices, and {len(array)} were given")
        run(lib.abut_cloth_set_body_positions, self._handle, body, batch(array))

    def set_body_pose(self, body: int, pose: ArrayLike) -> None:
        """The same for a rigid body: its mesh at a pose."""
        run(lib.abut_cloth_set_body_pose, self._handle, number(body, "body"), read_pose(pose, "pose"))

    def set_wind(self, wind: ArrayLike) -> None:
        """Sets the velocity of the air."""
        call(lib.abut_cloth_set_wind, self._handle, vector(wind, "wind"))

    def step(self, seconds: float = 1 / 60) -> ClothStep:
        """Advances by a time, while bodies and attached vertices move to where they should be."""
        found = options(_c.abut_cloth_report)
        uses: Sequence[Handle] = [self._radial._handle] if self._radial else []
        run(lib.abut_cloth_step, self._handle, seconds, byref(found), uses=uses)
        return step_of(found)

    def body_impulse(self, body: int, point: ArrayLike = (0, 0, 0)) -> tuple[Floats, Floats]:
        """Returns the impulse of all sheets on a body in the last step (N s), and the angular impulse about a point
        (N m s)."""
        linear, angular = _c.abut_vec3(), _c.abut_vec3()
        run(
            lib.abut_cloth_get_body_impulse,
            self._handle,
            number(body, "body"),
            vector(point, "point"),
            byref(linear),
            byref(angular),
        )
        return np.array([linear.x, linear.y, linear.z]), np.array([angular.x, angular.y, angular.z])

    def push_out(self, depth: float) -> tuple[int, float]:
        """With radial fields: moves vertices that are at most `depth` inside a body out of it, exactly. Returns their
        number and the largest depth."""
        moved, deepest = ctypes.c_uint32(), ctypes.c_double()
        run(lib.abut_cloth_push_out, self._handle, depth, byref(moved), byref(deepest))
        return int(moved.value), float(deepest.value)

    def untangle(self, *, iterations: int = 0, separate: bool = False) -> ClothUntangling:
        """Moves vertices of sheets until nothing intersects, for a start that `step` refuses. Bodies and pinned
        vertices stay. Success is not guaranteed: `is_free` of the report is false if the iterations (0 = 400) do not
        suffice. With `separate`, surfaces of a cloth without intersections are pushed apart, too, if they are closer
        than the thickness, without gaining velocity.

        >>> import abut
        >>> cloth = abut.Cloth()
        >>> sheet = cloth.add_sheet(abut.shape("sheet", segments=12, rings=12))
        >>> ball = cloth.add_body(abut.shape("icosphere", radius=0.3), [0.6, 0, 0])
        >>> cloth.is_free(), cloth.untangle().is_free, cloth.is_free()
        (False, True, True)
        """
        given = options(
            _c.abut_cloth_untangle_options, iterations=number(iterations, "iterations"), separate=separate
        )
        found = options(_c.abut_cloth_untangle_report)
        run(lib.abut_cloth_untangle, self._handle, byref(given), byref(found))
        lo, hi = found.bounds.lo, found.bounds.hi
        values = {name: getattr(found, name) for name in ClothUntangling._fields}
        values["bounds"] = np.array([[lo.x, lo.y, lo.z], [hi.x, hi.y, hi.z]])
        return ClothUntangling(**values)

    # ---- state ----

    def _state(self, function: Any, counts: dict[int, int], index: int, what: str) -> Floats:
        room = np.empty((counts.get(number(index, what), 1), 3))
        run(function, self._handle, index, host(room))
        return room

    def positions(self, sheet: int) -> Floats:
        """(n, 3): the current positions of the vertices of a sheet."""
        return self._state(lib.abut_cloth_get_positions, self._sheets, sheet, "sheet")

    def velocities(self, sheet: int) -> Floats:
        """(n, 3): the velocities of the vertices of a sheet."""
        return self._state(lib.abut_cloth_get_velocities, self._sheets, sheet, "sheet")

    def aims(self, sheet: int) -> Floats:
        """(n, 3): the positions that the last step planned before it searched for impacts."""
        return self._state(lib.abut_cloth_get_aims, self._sheets, sheet, "sheet")

    def body_positions(self, body: int) -> Floats:
        """(n, 3): the current positions of the vertices of a body."""
        return self._state(lib.abut_cloth_get_body_positions, self._bodies, body, "body")

    def mesh(self, sheet: int) -> Mesh:
        """Returns a sheet at its current positions."""
        return Mesh._made(lib.abut_cloth_create_mesh, self._handle, number(sheet, "sheet"))

    def body_mesh(self, body: int) -> Mesh:
        """Returns a body at its current positions."""
        return Mesh._made(lib.abut_cloth_create_body_mesh, self._handle, number(body, "body"))

    def is_free(self) -> bool:
        """Tests exactly whether nothing intersects."""
        free = ctypes.c_bool()
        run(lib.abut_cloth_is_free, self._handle, byref(free))
        return bool(free.value)

    def intersections(self) -> Array:
        """Returns all intersecting triangles as records: sheet, triangle, other_sheet, other_body, other_triangle.
        One of other_sheet and other_body is abut.NONE."""
        room = np.empty(64, record(_c.abut_cloth_intersection))
        return fill(
            _c.abut_cloth_intersection_list,
            room,
            lambda found: fits(lib.abut_cloth_find_intersections, self._handle, found),
        )

    def energy(self) -> ClothEnergy:
        """Returns the energy of all sheets."""
        with self._handle.alone():
            found = get(lib.abut_cloth_get_energy, _c.abut_cloth_energy, self._handle)
        return ClothEnergy(found.kinetic, found.gravity, found.elastic)

    def material(self, sheet: int) -> dict[str, float]:
        """Returns the material of a sheet, with defaults applied."""
        with self._handle.alone():
            found = get(lib.abut_cloth_get_material, _c.abut_cloth_material, self._handle, number(sheet, "sheet"))
        return {name: getattr(found, name) for name, _ in found._fields_ if name != "size"}

    def save(self) -> bytes:
        """Returns the state on which the next steps depend: positions, velocities, where bodies should be,
        attachments, seams and wind. It does not contain meshes, materials and options.

        >>> import abut
        >>> cloth = abut.Cloth(gravity=(0, 0, -9.81))
        >>> sheet = cloth.add_sheet(abut.shape("sheet", segments=8))
        >>> cloth.attach(sheet, [0, 8])
        >>> steps = [cloth.step() for _ in range(5)]
        >>> state, steps = cloth.save(), [cloth.step() for _ in range(5)]
        >>> end = cloth.positions(sheet)
        >>> steps = [cloth.restore(state).step()] + [cloth.step() for _ in range(4)]
        >>> bool((cloth.positions(sheet) == end).all())
        True
        """
        state = fill(
            _c.abut_byte_list,
            np.empty(0, np.uint8),
            lambda to: fits(lib.abut_cloth_save, self._handle, to),
        )
        return state.tobytes()

    def restore(self, state: Union[bytes, bytearray, memoryview]) -> Cloth:
        """Restores the state that save() of this or another cloth returned. The cloth must have the same options, and
        the same sheets and bodies with the same indices; otherwise the call raises and does not change the cloth.
        After it, equal calls give the same positions and velocities, bit for bit. The next step tests again that
        nothing intersects."""
        given = state_bytes(state)
        run(lib.abut_cloth_restore, self._handle, pointer(given), len(given))
        return self

    def __repr__(self) -> str:
        with self._handle.alone():
            info = get(lib.abut_cloth_get_info, _c.abut_cloth_info, self._handle)
        return (
            f"<abut.Cloth of {_counted(info.sheet_count, 'sheet')} with {info.vertex_count} vertices, "
            f"{_counted(info.body_count, 'body', 'bodies')}, {_counted(info.attachment_count, 'attachment')}>"
        )


def _counted(count: int, one: str, many: str = "") -> str:
    """Returns a count with its noun."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def _seams(
    sheet_a: int,
    vertices_a: ArrayLike,
    sheet_b: int,
    vertices_b: ArrayLike,
    length: float = 0,
    stiffness: float = 0,
    speed: float = 0,
) -> Array:
    """Records of pairs of vertices."""
    a, b = _vertices(vertices_a, "vertices_a"), _vertices(vertices_b, "vertices_b")
    if len(a) != len(b):
        raise ArgumentError(f"vertices_b: {len(a)} vertices need as many others, and {len(b)} were given")
    seams = np.zeros(len(a), record(_c.abut_cloth_seam))
    seams["sheet_a"], seams["sheet_b"] = number(sheet_a, "sheet_a"), number(sheet_b, "sheet_b")
    seams["vertex_a"], seams["vertex_b"] = a, b
    seams["length"], seams["stiffness"], seams["speed"] = length, stiffness, speed
    return seams


def _vertices(value: Union[ArrayLike, int], name: str = "vertices") -> Any:
    """Returns indices of vertices as packed uint32."""
    array = np.atleast_1d(np.asarray(value))
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise ArgumentError(f"{name} must be whole numbers of shape (k,)")
    if array.size and (array.min() < 0 or array.max() >= NONE):
        raise ArgumentError(f"{name}: index {array.min() if array.min() < 0 else array.max()} is out of range")
    return np.ascontiguousarray(array, dtype=np.uint32)
