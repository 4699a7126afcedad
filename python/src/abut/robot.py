"""Robots: kinematic trees from URDF and MJCF files, tested in batches of configurations."""

from __future__ import annotations

import ctypes
import os
from typing import Any, NamedTuple, Optional, Sequence, Union

import numpy as np

from . import _c
from ._arrays import NONE, Array, ArrayLike, Bools, Floats, Indices, floats, pointer, pose as read_pose, record
from ._core import ArgumentError, Guard, Handle, Owner, byref, check, context, get, lib, number, options, path_bytes, run
from .collider import PRIMITIVES, Primitive, fill_primitive
from .mesh import Bvh, Mesh, Path, mesh_of

_KINDS = ("fixed", "revolute", "continuous", "prismatic")


class Joint(NamedTuple):
    """A joint of a robot that has a variable of its own."""

    name: str
    kind: str
    """ "revolute", "continuous" or "prismatic"."""
    lower: float
    upper: float
    """Limits; both 0 if there are none."""


class Hits(NamedTuple):
    """Which configurations collide, and the first pair that was found in each."""

    collides: Bools
    link: Indices
    """The index of a link in `Robot.links`; NONE where nothing collides."""
    other_link: Indices
    """The other link of a self-collision, otherwise NONE."""
    obstacle: Indices
    """The index of the obstacle, otherwise NONE."""


class Clearances(NamedTuple):
    """The closest pair of each configuration."""

    distance: Floats
    """0 where the pair collides; infinite if no pair is tested."""
    gradient: Floats
    """(n, variables): how the distance changes with each variable; 0 where the pair collides."""
    link: Indices
    other_link: Indices
    obstacle: Indices
    points: Floats
    """(n, 2, 3): the closest points, of the link and of the other body."""


class Motions(NamedTuple):
    """The first contact of each motion."""

    touches: Bools
    time: Floats
    """From 0 to 1, never late; 1 if nothing touches."""
    link: Indices
    other_link: Indices
    obstacle: Indices
    steps: Indices
    """The number of configurations that the search has examined."""


Obstacle = Union[Mesh, Primitive, "tuple[Union[Mesh, Primitive], ArrayLike]"]


class Robot(Owner):
    """A robot from a URDF or MJCF file, among obstacles.

    A configuration has one number for each joint that moves and mimics no other one, see `joints`. Links that a joint
    connects may touch. `root` is the folder of packages in package://NAME/FILE.

    >>> import abut, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "arm.urdf")
    >>> with open(path, "w") as file:
    ...     _ = file.write('''<robot name="arm"><link name="base"/><link name="rod"><collision>
    ...         <origin xyz="0.5 0 0"/><geometry><box size="1 0.1 0.1"/></geometry></collision></link>
    ...         <joint name="turn" type="revolute"><parent link="base"/><child link="rod"/><axis xyz="0 0 1"/>
    ...         <limit lower="-3" upper="3"/></joint></robot>''')
    >>> arm = abut.Robot(path)
    >>> arm.set_obstacles([(abut.Box(0.2), [0, 1, 0, 0, 0, 0, 1])])
    >>> arm.test([[0.0], [1.5]]).collides
    array([False,  True])
    >>> motion = arm.sweep([0.0], [3.0])
    >>> bool(motion.touches[0]), round(float(motion.time[0]), 3)
    (True, 0.468)
    """

    _instead = "read it again from its file"

    def __init__(self, path: Path, *, root: Optional[Path] = None) -> None:
        if not hasattr(lib, "abut_robot_read"):
            raise ArgumentError("the shared library is older than this package")
        text = os.fspath(path)
        given = options(_c.abut_robot_read_options)
        if root is not None:
            given.root = path_bytes(os.fspath(root))
        self._handle = Handle(lib.abut_robot_destroy, guard=Guard())
        run(lib.abut_robot_read, context(), path_bytes(text), byref(given), self._handle.out, path=text)
        info = self._info()
        self.name: str = info.name.decode()
        self.links: list[str] = [lib.abut_robot_link_name(self._handle.value, i).decode() for i in range(info.link_count)]
        self.joints: list[Joint] = [self._joint(i) for i in range(info.variable_count)]
        self._obstacles: Optional[Handle] = None

    def _info(self) -> Any:
        return get(lib.abut_robot_get_info, _c.abut_robot_info, self._handle)

    def _joint(self, variable: int) -> Joint:
        index = ctypes.c_uint32()
        check(lib.abut_robot_get_variable(self._handle.value, variable, byref(index)))
        joint = get(lib.abut_robot_get_joint, _c.abut_robot_joint, self._handle, index.value)
        return Joint(joint.name.decode(), _KINDS[joint.kind], joint.lower, joint.upper)

    def __repr__(self) -> str:
        return f"<abut.Robot '{self.name}' of {len(self.links)} links, {len(self.joints)} variables>"

    @property
    def reach(self) -> float:
        """An upper bound of the distance of a point of the robot from its base."""
        return float(self._info().reach)

    @property
    def pairs(self) -> int:
        """The number of pairs of links that are tested."""
        return int(self._info().pair_count)

    def _link(self, link: Union[int, str]) -> int:
        if isinstance(link, str):
            if link not in self.links:
                raise ArgumentError(f"there is no link '{link}'")
            return self.links.index(link)
        return number(link, "link")

    def _configurations(self, value: ArrayLike, what: str) -> Floats:
        array = np.ascontiguousarray(floats(value, what), dtype=np.float64)
        if array.ndim == 1:
            array = array.reshape(1, -1)
        if array.ndim != 2 or array.shape[1] != len(self.joints):
            raise ArgumentError(f"{what} must be of shape (n, {len(self.joints)}), not {array.shape}")
        return array

    def set_base(self, pose: ArrayLike) -> None:
        """Sets the pose of the root link in the world."""
        run(lib.abut_robot_set_base, self._handle, byref(read_pose(pose, "pose")), alone=True)

    def poses(self, configurations: ArrayLike) -> Floats:
        """Returns the poses of all links, (n, links, 7): x y z, then the quaternion x y z w."""
        given = self._configurations(configurations, "configurations")
        made = np.empty((len(given), len(self.links), 7))
        run(lib.abut_robot_compute_poses, self._handle, pointer(given), len(given), pointer(made))
        return np.concatenate([made[..., 4:], made[..., :4]], axis=-1)

    def allow(self, a: Union[int, str], b: Union[int, str], allowed: bool = True) -> None:
        """Sets whether two links, by index or name, may collide. Such pairs are not tested."""
        run(lib.abut_robot_allow, self._handle, self._link(a), self._link(b), bool(allowed), alone=True)

    def allowed(self, a: Union[int, str], b: Union[int, str]) -> bool:
        """Returns whether two links may collide."""
        return bool(lib.abut_robot_is_allowed(self._handle.value, self._link(a), self._link(b)))

    def read_allowed(self, path: Path) -> int:
        """Allows the pairs of <disable_collisions> in an SRDF file. Returns their number."""
        count = ctypes.c_uint32()
        run(lib.abut_robot_read_allowed, self._handle, path_bytes(os.fspath(path)), byref(count), alone=True)
        return count.value

    def sample_allowed(self, samples: int = 10000, *, seed: int = 0, keep_never: bool = False) -> tuple[int, int]:
        """Allows pairs of links that collide in all random configurations, and, without keep_never, in none. Returns
        both numbers of pairs. Samples are no proof."""
        given = options(
            _c.abut_robot_sample_options, samples=number(samples, "samples", 1), seed=seed, keep_never=keep_never
        )
        report = options(_c.abut_robot_sample_report)
        run(lib.abut_robot_sample_allowed, self._handle, byref(given), byref(report), alone=True)
        return report.always, report.never

    def set_obstacles(self, obstacles: Sequence[Obstacle]) -> None:
        """Sets the obstacles: meshes and primitives, each alone or as (shape, pose)."""
        array = (_c.abut_collider * max(1, len(obstacles)))()
        kept = []
        for i, obstacle in enumerate(obstacles):
            placed = isinstance(obstacle, tuple) and not isinstance(obstacle, PRIMITIVES)
            shape, pose = obstacle if placed else (obstacle, None)  # type: ignore[misc]
            if pose is not None:
                array[i].pose = read_pose(pose, f"the pose of obstacle {i}")
            if isinstance(shape, PRIMITIVES):
                kept.append(fill_primitive(array[i], shape))
            else:
                bvh = Bvh(mesh_of(shape, f"obstacle {i}")._handle, None)
                array[i].kind = _c.ABUT_COLLIDER_BODY
                array[i].shape.body.bvh = bvh.handle.value
                kept.append(bvh)
        handle = Handle(lib.abut_robot_obstacles_destroy, keeps=kept)
        run(lib.abut_robot_obstacles_create, context(), byref(array), len(obstacles), handle.out)
        self._obstacles = handle

    def _count(self, records: Array, name: str) -> Indices:
        return np.ascontiguousarray(records[name])

    def test(self, configurations: ArrayLike) -> Hits:
        """Tests configurations, of shape (n, variables), for collisions with obstacles and of links with each other."""
        given = self._configurations(configurations, "configurations")
        made = np.zeros(len(given), record(_c.abut_robot_hit))
        run(lib.abut_robot_test, self._handle, self._obstacles, pointer(given), len(given), pointer(made), None)
        return Hits(made["collides"].astype(bool), *(self._count(made, name) for name in ("link", "other_link", "obstacle")))

    def distance(self, configurations: ArrayLike, *, limit: float = 0) -> Clearances:
        """Computes the closest pair of each configuration. Pairs beyond `limit` are ignored; 0 = no limit."""
        given = self._configurations(configurations, "configurations")
        made = np.zeros(len(given), record(_c.abut_robot_separation))
        gradient = np.zeros(given.shape)
        run(
            lib.abut_robot_distance,
            self._handle,
            self._obstacles,
            pointer(given),
            len(given),
            limit,
            pointer(made),
            pointer(gradient),
        )
        points = np.stack([made["point_a"], made["point_b"]], axis=1)
        return Clearances(
            self._count(made, "distance"),
            gradient,
            *(self._count(made, name) for name in ("link", "other_link", "obstacle")),
            points,
        )

    def sweep(self, start: ArrayLike, end: ArrayLike, *, tolerance: float = 0) -> Motions:
        """Computes the first contact while all joints move linearly from `start` to `end`, each (n, variables), or
        proves that nothing touches. No contact is missed and no time is late."""
        first, last = self._configurations(start, "start"), self._configurations(end, "end")
        if first.shape != last.shape:
            raise ArgumentError(f"start has {len(first)} configurations and end has {len(last)}")
        made = np.zeros(len(first), record(_c.abut_robot_motion))
        given = options(_c.abut_robot_sweep_options, tolerance=tolerance)
        run(
            lib.abut_robot_sweep,
            self._handle,
            self._obstacles,
            pointer(first),
            pointer(last),
            len(first),
            byref(given),
            pointer(made),
            None,
        )
        return Motions(
            made["touches"].astype(bool),
            *(self._count(made, name) for name in ("time", "link", "other_link", "obstacle", "steps")),
        )


assert NONE == 0xFFFFFFFF
