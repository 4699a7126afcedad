"""Characters: skinned meshes with bones, and radial fields around the bones."""

from __future__ import annotations

import ctypes
import os
from typing import Literal, NamedTuple, Optional, Union

import numpy as np

from . import _c, device as _device
from ._arrays import NONE, Array, ArrayLike, Floats, Indices, batch, doubles, host, pointer, record, rows_of, vectors
from ._core import (
    ArgumentError,
    Guard,
    Handle,
    Owner,
    byref,
    context,
    figures,
    get,
    lib,
    need,
    number,
    options,
    path_bytes,
    run,
    value_of,
)
from .mesh import Mesh, Path


def matrices(pose: ArrayLike, bone_count: int) -> Floats:
    """Returns the bone matrices (bones, 3, 4) of a pose."""
    made = np.ascontiguousarray(np.asarray(pose, np.float64)[..., :3, :])
    if made.shape != (bone_count, 3, 4):
        raise ArgumentError(f"a pose has {bone_count} matrices of (3, 4), not {np.shape(pose)}")
    return made


class Character(Owner):
    """A skinned mesh with bones and clips, from a glTF or GLB file.

    >>> import abut
    >>> figure = abut.Character.figure("mannequin")
    >>> figure.clips
    ['walk', 'jump', 'gymnastics']
    >>> figure.skin(figure.pose("walk", 0.5)).shape == (figure.vertex_count, 3)
    True
    """

    _instead = "load it again from its file"

    def __init__(self, path: Path, *, weld: bool = True) -> None:
        """Reads a character. `weld` merges vertices that the file duplicates for normals and textures."""
        text, handle = os.fspath(path), Handle(lib.abut_character_destroy)
        run(lib.abut_character_read, context(), path_bytes(text), handle.out, path=text)
        if weld:
            welded = Handle(lib.abut_character_destroy)
            run(lib.abut_character_weld, handle, welded.out)
            handle = welded
        self._setup(handle)

    def _setup(self, handle: Handle) -> None:
        self._handle = handle
        info = get(lib.abut_character_get_info, _c.abut_character_info, handle)
        self.vertex_count: int = info.vertex_count
        self.triangle_count: int = info.triangle_count
        self.bone_count: int = info.bone_count
        self.bones: list[str] = [
            get(lib.abut_character_get_bone, _c.abut_character_bone, handle, i).name.decode("utf-8", "replace")
            for i in range(info.bone_count)
        ]
        clips = [get(lib.abut_character_get_clip, _c.abut_character_clip, handle, i) for i in range(info.clip_count)]
        self.clips: list[str] = [clip.name.decode("utf-8", "replace") for clip in clips]
        self.durations: list[float] = [clip.duration for clip in clips]

    @classmethod
    def figure(
        cls, name: Literal["mannequin", "mannequin-female", "ogre"] = "mannequin", triangles: int = 0
    ) -> Character:
        """Creates a built-in character: "mannequin", "mannequin-female" or "ogre"."""
        given = options(
            _c.abut_character_figure_options,
            figure=value_of("abut_character_figure", name, figures()),
            triangles=number(triangles, "triangles"),
        )
        handle = Handle(lib.abut_character_destroy)
        run(figures().abut_character_create_figure, context(), byref(given), handle.out)
        made = cls.__new__(cls)
        made._setup(handle)
        return made

    def without(self, *bones: Union[str, int]) -> Character:
        """Returns the character without the triangles of these bones and of the bones below them, such as a sword, a
        shield or a hat. It keeps all bones and clips, so poses fit both characters.

        >>> import abut
        >>> figure = abut.Character.figure("mannequin")
        >>> figure.without("Neck").triangle_count < figure.triangle_count
        True
        """
        numbers = np.array([self._bone(bone) for bone in bones], np.uint32)
        handle = Handle(lib.abut_character_destroy)
        run(lib.abut_character_remove_bones, self._handle, pointer(numbers), len(numbers), handle.out)
        made = type(self).__new__(type(self))
        made._setup(handle)
        return made

    def _bone(self, bone: Union[str, int]) -> int:
        if not isinstance(bone, str) and hasattr(bone, "__iter__"):
            raise ArgumentError(f"a bone must be a name or a number, not {bone!r}: without(*bones) takes several")
        if not isinstance(bone, str):
            return number(bone, "bone", most=self.bone_count - 1)
        if bone not in self.bones:
            raise ArgumentError(f"there is no bone {bone!r}; there are {', '.join(self.bones)}")
        return self.bones.index(bone)

    def _clip(self, clip: Union[None, str, int]) -> int:
        if clip is None:
            return NONE
        if isinstance(clip, str):
            if clip not in self.clips:
                raise ArgumentError(f"there is no clip {clip!r}; there are {', '.join(self.clips) or 'none'}")
            return self.clips.index(clip)
        if not self.clips:
            raise ArgumentError("this character has no clips")
        return number(clip, "clip", most=len(self.clips) - 1)

    def pose(self, clip: Union[None, str, int] = None, time: float = 0, *, clamp: bool = False) -> Floats:
        """Computes the bone matrices (bones, 3, 4) of a clip at a time, from bone space to world space. Without a clip
        it returns the rest pose. Clips repeat, unless `clamp`."""
        given = options(_c.abut_character_pose_options, clip=self._clip(clip), time=time, clamp=clamp)
        made = np.empty((self.bone_count, 3, 4))
        run(lib.abut_character_pose, self._handle, byref(given), pointer(made))
        return made

    def _matrices(self, pose: ArrayLike) -> Floats:
        return matrices(pose, self.bone_count)

    def skin(self, pose: ArrayLike, skinning: Literal["linear", "dual"] = "linear") -> Floats:
        """Computes the vertex positions (n, 3) at a pose. skinning: "linear" or "dual" (dual quaternions)."""
        bones, made = self._matrices(pose), np.empty((self.vertex_count, 3))
        how = value_of("abut_character_skinning", skinning)
        run(lib.abut_character_skin, self._handle, pointer(bones), how, pointer(made))
        return made

    def mesh(self, pose: Optional[ArrayLike] = None, skinning: Literal["linear", "dual"] = "linear") -> Mesh:
        """Creates the mesh at a pose, by default the rest pose."""
        bones, how = self._matrices(self.pose() if pose is None else pose), value_of("abut_character_skinning", skinning)
        return Mesh._made(lib.abut_character_mesh, self._handle, pointer(bones), how)

    def __repr__(self) -> str:
        return f"<abut.Character of {self.triangle_count} triangles, {self.bone_count} bones, {len(self.clips)} clips>"


class Garment(Owner):
    """Clothes for a biped: "trousers-and-top", "overcoat", "cape" or "dress"
    (docs/garment.md). `particles` is the number of vertices, `ease` the distance from the body; 0 = the defaults.

    >>> import abut
    >>> figure = abut.Character.figure("mannequin-female")
    >>> dress = abut.Garment(figure, "dress", 1200)
    >>> dress.mesh.vertex_count, len(dress.pins) > 20
    (1200, True)
    """

    _instead = "make it again from its character"

    def __init__(
        self,
        character: Character,
        kind: Literal["trousers-and-top", "overcoat", "cape", "dress"] = "dress",
        particles: int = 0,
        *,
        ease: float = 0,
    ) -> None:
        need(character, Character, "character")
        library = figures()
        given = options(
            _c.abut_garment_options,
            kind=value_of("abut_garment_kind", kind, library),
            particles=number(particles, "particles"),
            ease=ease,
        )
        self._handle = Handle(library.abut_garment_destroy, keeps=library)
        run(library.abut_garment_create, character._handle, byref(given), self._handle.out)
        self._character = library.abut_garment_character(self._handle)
        count = ctypes.c_uint32()
        address = library.abut_garment_pins(self._handle, byref(count))
        self.pins: Indices = np.empty(count.value, np.uint32)
        """The vertices that a body should hold: Cloth.attach()."""
        if count.value:
            ctypes.memmove(self.pins.ctypes.data, address, self.pins.nbytes)
        rest = character.pose()
        self.mesh: Mesh = Mesh._made(lib.abut_character_mesh, self._character, pointer(rest), 0)
        """In the rest pose of the character."""
        self._bone_count = character.bone_count

    def skin(self, pose: ArrayLike) -> Floats:
        """Computes the vertex positions (n, 3) of a garment that follows a pose of the character without simulation."""
        bones, made = matrices(pose, self._bone_count), np.empty((self.mesh.vertex_count, 3))
        run(lib.abut_character_skin, self._character, pointer(bones), 0, pointer(made))
        return made

    def __repr__(self) -> str:
        return f"<abut.Garment of {self.mesh.triangle_count} triangles, {len(self.pins)} pins>"


class RadialAnswer(NamedTuple):
    """Estimated distances of points to radial fields."""

    distance: Array
    """(n,): an estimate, negative inside; infinity if no field has a surface nearby."""
    normal: Array
    point: Array
    field: Array
    """(n,), uint32: the field; NONE if there is none."""
    within: Array
    """(n,): an upper bound of the unsigned distance to the surface."""


class Collided(NamedTuple):
    """Particles after a step."""

    position: Floats
    """(n, 3): positions after the step, outside the fields."""
    hit: Array
    """(n,), bool: whether the particle hit a field."""
    hits: Array
    """Records: field, time, normal, left (the remaining penetration depth)."""


class RadialField(Owner):
    """Radial fields of a character: distances of its surface from the axes of its bones, computed for each pose.
    `cell` is the size of a cell.

    >>> import abut, numpy
    >>> figure = abut.Character.figure("mannequin")
    >>> fields = abut.RadialField(figure).set_pose(figure.pose("walk", 0.2))
    >>> moved = fields.collide([[0, 1, 2.0]], [[0, 1, -2.0]])
    >>> moved.hit.tolist(), bool(moved.position[0, 2] > 0)
    ([True], True)
    """

    _instead = "make it again from its character"

    def __init__(self, character: Character, cell: float = 0, *, device: _device.Selector = None) -> None:
        need(character, Character, "character")
        given = options(_c.abut_radial_options, cell=cell, device=_device.pointer(_device.find(device)))
        handle = Handle(lib.abut_radial_destroy, guard=Guard())
        run(lib.abut_radial_create, character._handle, byref(given), handle.out)
        self._handle, self._character = handle, character

    def set_pose(self, pose: ArrayLike, positions: Optional[ArrayLike] = None) -> RadialField:
        """Computes the fields for a pose. Without `positions` of the vertices, the character is skinned."""
        bones = self._character._matrices(pose)
        if positions is None:
            array = self._character.skin(bones)
        else:
            array, _ = vectors(positions, "positions")
            if len(array) != self._character.vertex_count:
                raise ArgumentError(f"the character has {self._character.vertex_count} vertices, not {len(array)}")
        run(lib.abut_radial_set_positions, self._handle, pointer(bones), batch(array))
        return self

    @property
    def field_count(self) -> int:
        """The number of fields."""
        with self._handle.alone():
            return int(get(lib.abut_radial_get_info, _c.abut_radial_info, self._handle).field_count)

    @property
    def cell(self) -> float:
        """The size of a cell."""
        with self._handle.alone():
            return float(get(lib.abut_radial_get_info, _c.abut_radial_info, self._handle).cell)

    def evaluate(self, p: ArrayLike, limit: float = 0) -> RadialAnswer:
        """Estimates the signed distances of points (n, 3), or of one point; outside up to `limit`, 0 = no limit."""
        array, single = vectors(p, "points")
        found = np.empty(len(array), record(_c.abut_radial_answer))
        run(lib.abut_radial_evaluate, self._handle, batch(array), len(array), limit, host(found))
        return RadialAnswer(*rows_of(RadialAnswer, found, single))

    def surface(self, field: Optional[int] = None) -> Mesh:
        """Creates a mesh of the interpolated surface of one field or of all fields."""
        return Mesh._made(lib.abut_radial_surface, self._handle, NONE if field is None else number(field, "field"))

    def collide(
        self,
        start: ArrayLike,
        end: ArrayLike,
        *,
        radius: float = 0,
        friction: float = 0,
    ) -> Collided:
        """Moves particles from `start` towards `end` and keeps them out of the fields. Every cell on the path is
        tested, so no particle passes through."""
        before, _ = doubles(start, "start")
        after = np.array(doubles(end, "end")[0])
        if len(before) != len(after):
            raise ArgumentError(f"{len(before)} particles at the start and {len(after)} at the end")
        hits = np.empty(len(after), record(_c.abut_radial_hit))
        given = options(_c.abut_radial_particles, count=len(after), radius=radius, friction=friction)
        given.__setattr__("from", host(before))
        given.to, given.hits = host(after), host(hits)
        run(lib.abut_radial_collide, self._handle, byref(given))
        return Collided(after, hits["field"] != NONE, hits)

    def __repr__(self) -> str:
        return f"<abut.RadialField: {self.field_count} fields, cells of {self.cell:.6g}>"
