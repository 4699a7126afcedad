"""Scenes: named bodies, characters and cloth from a file (docs/scene.md), and their motion."""

from __future__ import annotations

import ctypes
import math
import os
from typing import Any, Callable, Iterator, Literal, Mapping, NamedTuple, Optional

import numpy as np

from . import _c, device as _device
from ._arrays import NONE, ArrayLike, Floats, host, pointer, pose as read_pose, record as record_of
from ._core import ArgumentError, Handle, Owner, byref, check, context, figures, get, lib, need, number, options, path_bytes, run
from .mesh import Mesh, Path
from .world import Step, World

SOLVER_RATE, COARSE = 600, 6000  # substeps of cloth per second, for sheets of up to COARSE triangles
SUBSTEPS_MIN = 5

Kind = Literal["static", "kinematic", "character", "rigid", "cloth"]


class SceneBody(NamedTuple):
    """A body of a scene at its start."""

    name: str
    kind: Kind
    """static; kinematic: moves with constant velocity and spin; character: has bones; rigid: has a mass; cloth."""
    mesh: Mesh
    """In its own coordinates; of a character, at its pose at the start."""
    pose: Floats
    mass: float
    velocity: Floats
    spin: Floats


class Frame(NamedTuple):
    """A frame of simulate()."""

    time: float
    positions: dict[str, Floats]
    """(n, 3) for each body: the positions of its vertices."""
    step: Optional[Step]
    """The last step of the world; None in the first frame."""


class Scene(Owner):
    """The bodies of a scene file.

    >>> import abut, json, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "flag.json")
    >>> with open(path, "w") as file:
    ...     json.dump({"bodies": [
    ...         {"name": "pole", "mesh": {"shape": "cylinder", "radius": 0.05, "height": 2}},
    ...         {"name": "flag", "mesh": {"shape": "sheet", "size": 1, "segments": 8, "rings": 8},
    ...          "position": [0.6, 0, 0.4], "axis": [1, 0, 0], "degrees": 90,
    ...          "cloth": {}, "pins": {"box": [[-0.5, -0.5, 0], [-0.5, 0.5, 0]], "to": "pole"}}]}, file)
    >>> scene = abut.Scene(path)
    >>> [(body.name, body.kind) for body in scene.bodies]
    [('pole', 'static'), ('flag', 'cloth')]
    >>> frames = list(abut.simulate(scene, 10))
    >>> len(frames), frames[-1].step.cloth.fraction
    (11, 1.0)
    """

    _instead = "read it again from its file"

    def __init__(self, path: Path) -> None:
        text = os.fspath(path)
        library = figures()
        given = options(
            _c.abut_scene_options,
            create_character=ctypes.cast(library.abut_character_create_named, ctypes.c_void_p).value,
            create_garment=ctypes.cast(library.abut_garment_create_named, ctypes.c_void_p).value,
        )
        self._handle = Handle(lib.abut_scene_destroy, keeps=library)
        run(lib.abut_scene_read, context(), path_bytes(text), byref(given), self._handle.out, path=text)
        arrays = get(lib.abut_scene_get_arrays, _c.abut_scene_arrays, self._handle)
        self.up, self.gravity, self.wind = _three(arrays.up), _three(arrays.gravity), _three(arrays.wind)
        self._drag: float = arrays.drag
        self._records = [get(lib.abut_scene_get_body, _c.abut_scene_body, self._handle, i) for i in range(arrays.body_count)]
        pairs = np.zeros((arrays.ignored_count, 2), np.uint32)
        if len(pairs):
            ctypes.memmove(pairs.ctypes.data, arrays.ignored, pairs.nbytes)
        self._ignored = [(int(a), int(b)) for a, b in pairs]
        self._seams = np.zeros(arrays.seam_count, record_of(_c.abut_cloth_seam))
        if len(self._seams):
            ctypes.memmove(self._seams.ctypes.data, arrays.seams, self._seams.nbytes)
        self.bodies: list[SceneBody] = [self._body(record) for record in self._records]

    def _body(self, record: Any) -> SceneBody:
        mesh = Handle(lib.abut_mesh_destroy)
        mesh.value.value = lib.abut_mesh_retain(record.mesh)
        velocity, spin = _three(record.velocity), _three(record.spin)
        moves = np.any(velocity) or np.any(spin)
        kind: Kind = "static"
        if record.cloth:
            kind = "cloth"
        elif record.character:
            kind = "character"
        elif record.mass > 0:
            kind = "rigid"
        elif moves:
            kind = "kinematic"
        return SceneBody(
            record.name.decode(), kind, Mesh._of(mesh), _seven(record.collider.pose), record.mass, velocity, spin
        )

    def _number(self, name: str) -> int:
        names = [body.name for body in self.bodies]
        if name not in names:
            raise ArgumentError(f"there is no body {name!r}; there are {', '.join(names) or 'none'}")
        return names.index(name)

    def pose(self, name: str, seconds: float) -> Floats:
        """Returns the pose (7,) of a body that neither forces nor cloth move, at a time after the start."""
        made = _c.abut_pose()
        run(lib.abut_scene_pose_body, self._handle, self._number(name), seconds, byref(made), None)
        return _seven(made)

    def positions(self, name: str, seconds: float = 0) -> Floats:
        """Returns the vertices (n, 3) of a body at a time after the start: where velocity, spin and clip move it. A
        body that forces or cloth move is at its start."""
        body = self.bodies[self._number(name)]
        if body.kind in ("rigid", "cloth"):
            return _place(body.mesh.vertices, body.pose)
        return self._moved(self._number(name), seconds)

    def _moved(self, index: int, seconds: float) -> Floats:
        record, made = self._records[index], _c.abut_pose()
        vertices = self.bodies[index].mesh.vertices
        bones = None
        if record.character:
            info = get(lib.abut_character_get_info, _c.abut_character_info, record.character)
            bones = np.empty((info.bone_count, 3, 4))
            vertices = np.empty((info.vertex_count, 3))
        matrices = None if bones is None else pointer(bones)
        run(lib.abut_scene_pose_body, self._handle, index, seconds, byref(made), matrices)
        if bones is not None:
            run(lib.abut_character_skin, record.character, pointer(bones), 0, pointer(vertices))
        return _place(vertices, _seven(made))

    def world(self, seconds: float = 1 / 60, *, margin: float = 0, device: _device.Selector = None) -> World:
        """Creates a world with all bodies at the start; their ids are their indices in `bodies`. Characters are
        deforming meshes, pins are attached, and seams are sewn. `seconds` of a step determine the substeps of cloth."""
        if not seconds > 0:
            raise ArgumentError(f"seconds is {seconds}; it must be above 0")
        sheets = [body.mesh.triangle_count for body in self.bodies if body.kind == "cloth"]
        rate = SOLVER_RATE * min(max(math.sqrt(max(sheets, default=1) / COARSE), 1), 4)
        world = World(
            gravity=self.gravity,
            wind=self.wind,
            drag=self._drag,
            substeps=min(max(math.ceil(rate * seconds - 1e-9), SUBSTEPS_MIN), 1000),
            body_may_lag=True,
            margin=margin,
            device=device,
        )
        for index, (record, body) in enumerate(zip(self._records, self.bodies)):
            self._add(world, index, record, body)
        for a, b in self._ignored:
            world.ignore(a, b)
        for index, record in enumerate(self._records):
            self._attach(world, index, record)
        self._sew(world)
        return world

    def _add(self, world: World, index: int, record: Any, body: SceneBody) -> None:
        item = options(
            _c.abut_world_item,
            motion={
                "static": _c.ABUT_WORLD_STATIC,
                "kinematic": _c.ABUT_WORLD_KINEMATIC,
                "character": _c.ABUT_WORLD_KINEMATIC,
            }.get(body.kind, _c.ABUT_WORLD_DYNAMIC),
            group=record.group,
            mask=record.mask,
            margin=record.margin,
            cloth=record.cloth,
            self_collides=record.self_collides,
        )
        item.collider = record.collider
        mesh = body.mesh
        if body.kind == "character":
            mesh = Mesh(self._moved(index, 0), mesh.faces)
            item.collider.pose = read_pose(None, "pose")
            item.collider.kind = _c.ABUT_COLLIDER_MESH
            item.collider.shape.mesh.mesh = mesh._handle.value
            item.collider.shape.mesh.deforms = True
        world._add(item, mesh, body.kind == "cloth", body.name)

    def _attach(self, world: World, index: int, record: Any) -> None:
        if not record.pin_count:
            return
        vertices = np.empty(record.pin_count, np.uint32)
        ctypes.memmove(vertices.ctypes.data, record.pins, vertices.nbytes)
        holder = None if record.pin_body == NONE else world.cloth_number(record.pin_body)
        sheet = world.cloth_number(index)
        world.cloth.attach(sheet, vertices, body=holder, stiffness=record.pin_stiffness)

    def _sew(self, world: World) -> None:
        if not len(self._seams):
            return
        seams = self._seams.copy()
        for name in ("sheet_a", "sheet_b"):
            seams[name] = [world.cloth_number(int(index)) for index in seams[name]]
        run(lib.abut_cloth_sew, world.cloth._handle, pointer(seams), len(seams))

    def __repr__(self) -> str:
        return f"<abut.Scene of {len(self.bodies)} bodies>"


def simulate(
    scene: Scene,
    frames: int = 240,
    *,
    fps: float = 60,
    substeps: int = 1,
    margin: float = 0,
    device: _device.Selector = None,
    move: Optional[Callable[[World, float, Optional[Step]], Mapping[str, ArrayLike]]] = None,
) -> Iterator[Frame]:
    """Moves a scene in a World. Yields the start, and then a Frame after each 1 / fps seconds of `substeps` steps each.
    Cloth moves by itself, characters by their clips, and bodies with velocity or spin by these.

    Forces do not move rigid bodies here: `abut simulate` does that with a physics engine. To do it with your own, pass
    move(world, time, step), which returns the poses {name: pose} at `time`, from the contacts of the previous step. Cloth
    pushes them by world.cloth.body_impulse(world.cloth_number(body)).
    """
    need(scene, Scene, "scene")
    number(frames, "frames")
    number(substeps, "substeps", least=1)
    if not fps > 0:
        raise ArgumentError(f"fps is {fps}; it must be above 0")
    rigid = [body.name for body in scene.bodies if body.kind == "rigid"]
    if rigid and move is None:
        raise ArgumentError(
            f"body {rigid[0]!r} has a mass, and nothing moves it: pass move=, or use the command 'abut simulate'"
        )
    return _frames(scene, frames, 1 / fps, substeps, margin, device, move)


def _frames(scene: Scene, frames: int, length: float, substeps: int, margin: float, device: Any, move: Any) -> Iterator[Frame]:
    seconds, step = length / substeps, None
    world = scene.world(seconds, margin=margin, device=device)
    poses = {body.name: body.pose for body in scene.bodies}
    yield Frame(0.0, _positions(scene, world, poses, 0), None)
    for i in range(1, frames * substeps + 1):
        time = i * seconds
        moved = dict(move(world, time, step)) if move else {}
        for name in moved:
            if scene.bodies[scene._number(name)].kind not in ("rigid", "static", "kinematic"):
                raise ArgumentError(f"move: {name!r} is no rigid body")
        for index, body in enumerate(scene.bodies):
            if body.kind == "kinematic" and body.name not in moved:
                moved[body.name] = scene.pose(body.name, time)
            elif body.kind == "character":
                world.set_positions(index, scene._moved(index, time))
        poses.update(moved)
        step = world.step({scene._number(name): pose for name, pose in moved.items()} or None, seconds=seconds)
        if i % substeps == 0:
            yield Frame(time, _positions(scene, world, poses, time), step)


def _positions(scene: Scene, world: World, poses: Mapping[str, ArrayLike], time: float) -> dict[str, Floats]:
    made = {}
    for index, body in enumerate(scene.bodies):
        if body.kind == "cloth":
            made[body.name] = world.cloth.positions(world.cloth_number(index)) if time else _place(body.mesh.vertices, body.pose)
        elif body.kind == "character":
            made[body.name] = scene._moved(index, time)
        else:
            made[body.name] = _place(body.mesh.vertices, _seven(read_pose(poses[body.name], "pose")))
    return made


def _three(v: Any) -> Floats:
    return np.array([v.x, v.y, v.z])


def _seven(p: Any) -> Floats:
    t, q = p.translation, p.rotation
    return np.array([t.x, t.y, t.z, q.x, q.y, q.z, q.w])


def _place(vertices: Floats, pose: Floats) -> Floats:
    """Applies a pose (7,) to points."""
    axis, w = pose[3:6], pose[6]
    twice = 2 * np.cross(axis, vertices)
    return vertices + w * twice + np.cross(axis, twice) + pose[:3]
