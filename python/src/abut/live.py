"""Live pages: a browser shows bodies while a program runs, and the user drags them."""

from __future__ import annotations

import ctypes
import time
from types import TracebackType
from typing import Any, NamedTuple, Optional, Sequence, Type, Union

import numpy as np

from . import _c
from ._arrays import ArrayLike, Floats, doubles, floats, poses as read_poses
from ._core import ArgumentError, Guard, Handle, Owner, byref, call, context, get, number, options, pictures, run
from .mesh import Mesh, mesh_of
from .pair import Contacts
from .view import _viewer
from .world import Step

_CONTROLS = {
    "pause": _c.ABUT_LIVE_CONTROL_PAUSE,
    "reset": _c.ABUT_LIVE_CONTROL_RESET,
    "stop": _c.ABUT_LIVE_CONTROL_STOP,
}
_RED = _c.abut_colour(0.67, 0.08, 0.12, 1)
_BLUE = _c.abut_colour(0.16, 0.27, 0.63, 1)
_SLICE = 0.05  # seconds of waiting in the library, so that Ctrl-C is noticed


class LiveEvent(NamedTuple):
    """What the user does in a live page."""

    kind: str  #: "pose", "pause", "continue", "step", "reset", "stop" or "key"
    body: int  #: pose: the index of the mesh
    pose: Floats  #: pose: (7,), x y z and the quaternion x y z w
    key: str  #: key: the character, otherwise ""
    last: bool  #: pose: the user has released the body


class Live(Owner):
    """A page for browsers of this machine that shows meshes while the program runs.

    `print(live.url)` and open it. show() replaces what all open pages show; events() returns what the user does. The
    server runs in a thread of the library and accepts connections from this machine only, with a secret in the URL.

    names       one per mesh, for the list of the page
    movable     whether the user can drag the meshes: for all, or one per mesh
    controls    buttons: any of "pause" (with continue and step), "reset" and "stop"
    port        0 = any that is free

    >>> import abut
    >>> ring, ball = abut.shape("torus"), abut.shape("icosphere", radius=0.3)
    >>> with abut.Live(ring, ball, movable=[False, True]) as live:
    ...     pose = [0, 0, 1, 0, 0, 0, 1]
    ...     for frame in range(3):                       # in a program: while True
    ...         for event in live.events():
    ...             if event.kind == "pose":
    ...                 pose = event.pose
    ...         found = abut.contacts(ring, ball, pose_b=pose)
    ...         live.show([None, pose], contacts=found, text=f"{len(found)} contacts")
    >>> live.url.startswith("http://127.0.0.1:")
    True
    """

    _instead = "it is a running server"

    def __init__(
        self,
        *meshes: Mesh,
        names: Optional[Sequence[str]] = None,
        movable: Union[bool, Sequence[bool]] = False,
        controls: Sequence[str] = (),
        title: str = "abut",
        unit: str = "",
        up: Sequence[float] = (0, 0, 1),
        port: int = 0,
    ) -> None:
        self._meshes = [mesh_of(mesh, "each of the meshes") for mesh in meshes]
        count = len(meshes)
        if names is not None and (isinstance(names, str) or len(names := list(names)) != count):
            raise ArgumentError(f"names must be {count} texts, one for each mesh, not {names!r}")
        titles = [f"mesh {i}" for i in range(count)] if names is None else list(map(str, names))
        drags = [movable] * count if isinstance(movable, (bool, np.bool_)) else [bool(each) for each in movable]
        if len(drags) != count:
            raise ArgumentError(f"movable must be one truth value, or {count}, one for each mesh, not {len(drags)}")
        controls = [controls] if isinstance(controls, str) else list(controls)
        if wrong := [name for name in controls if name not in _CONTROLS]:
            raise ArgumentError(f"controls: {wrong[0]!r} is none of {', '.join(map(repr, _CONTROLS))}")
        directions, single = doubles(up, "up")
        if not single:
            raise ArgumentError(f"up must be of shape (3,), not {np.shape(up)}")
        self._up = _c.abut_vec3(*directions[0])
        library = pictures()
        self._names = (ctypes.c_char_p * max(count, 1))(*(_text(name, "names") for name in titles))
        self._movable = (ctypes.c_bool * max(count, 1))(*drags)
        self._poses = [_pose_of(None, 0)] * count
        self._shown = list(self._meshes)  # with the vertices of the last frame
        script = _viewer().encode()
        given = options(
            _c.abut_live_options,
            script=script,
            script_bytes=len(script),
            port=number(port, "port", 0, 65535),
            controls=sum({_CONTROLS[name] for name in controls}),
            title=_text(title, "title"),
            command=b"",
            unit=_text(unit, "unit"),
        )
        self._handle: Optional[Handle] = Handle(library.abut_live_destroy, keeps=library, guard=Guard())
        run(library.abut_live_create, context(), byref(given), self._handle.out)
        self.url: str = self._info().url.decode()  #: of the page, for browsers of this machine

    def __repr__(self) -> str:
        return f"<abut.Live {self.url}{'' if self._handle else ', closed'}>"

    def _open(self) -> Handle:
        if self._handle is None:
            raise ArgumentError("the live page is closed")
        return self._handle

    def _info(self) -> _c.abut_live_info:
        return get(pictures().abut_live_get_info, _c.abut_live_info, self._open())

    @property
    def page_count(self) -> int:
        """Returns the number of open pages, approximately."""
        return int(self._info().page_count)

    def show(
        self,
        poses: Optional[Sequence[ArrayLike]] = None,
        vertices: Optional[Sequence[ArrayLike]] = None,
        *,
        contacts: Union[None, Contacts, Step] = None,
        points: ArrayLike = None,
        lines: ArrayLike = None,
        text: str = "",
    ) -> None:
        """Shows a frame. What is omitted stays as it was, except for contacts, points, lines and text.

        poses       one per mesh: None leaves it where it was; as in abut.contacts()
        vertices    one per mesh: None, or its vertex positions (n, 3), such as those of Cloth.positions()
        contacts    of contacts() or World.step(), shown as lines along their normals
        points      (n, 3)
        lines       (n, 2, 3): both ends of each
        text        lines below the scene
        """
        moved = self._per_mesh(poses, "poses")
        for i, at in enumerate(moved):
            if at is not None:
                self._poses[i] = _pose_of(at, i)
        for i, positions in enumerate(self._per_mesh(vertices, "vertices")):
            if positions is None:
                continue
            if self._shown[i] is self._meshes[i]:  # the mesh of the caller does not change
                self._shown[i] = Mesh(positions, self._meshes[i].faces)
            else:
                self._shown[i].set_positions(positions)
        library = pictures()
        words = _text(text, "text")
        picture = Handle(library.abut_picture_destroy, keeps=library)
        given = options(_c.abut_picture_options, up=self._up)
        call(library.abut_picture_create, context(), byref(given), picture.out)
        style = options(_c.abut_mesh_style, two_sided=True)
        for mesh, pose in zip(self._shown, self._poses):
            call(library.abut_picture_add_mesh, picture, mesh._handle, pose, byref(style))
        self._add_marks(picture, contacts, points, lines)
        frame = options(
            _c.abut_live_frame,
            names=ctypes.addressof(self._names),
            movable=ctypes.addressof(self._movable),
            text=words,
            line_name=b"contacts" if contacts is not None and lines is None else None,
            point_name=b"contacts" if contacts is not None and points is None else None,
        )
        call(library.abut_live_show, self._open(), picture, byref(frame))

    def _per_mesh(self, values: Optional[Sequence[ArrayLike]], what: str) -> list[ArrayLike]:
        list_ = [None] * len(self._meshes) if values is None else list(values)
        if len(list_) != len(self._meshes):
            raise ArgumentError(f"{len(list_)} {what} for {len(self._meshes)} meshes")
        return list_

    def _add_marks(
        self, picture: Handle, contacts: Union[None, Contacts, Step], points: ArrayLike, lines: ArrayLike
    ) -> None:
        library = pictures()
        if contacts is not None:
            if not isinstance(contacts, (Contacts, Step)):
                raise TypeError(f"contacts must be of abut.contacts() or World.step(), not {type(contacts).__name__}")
            size = max((float(np.ptp(mesh.bounds, axis=0).max()) for mesh in self._meshes), default=1.0)
            start, _ = doubles(contacts.point, "contacts")
            end = start + np.asarray(contacts.normal) * np.maximum(contacts.depth, 0.05 * size)[:, None]
            for a, b in zip(start, end):
                call(library.abut_picture_add_point, picture, _c.abut_vec3(*a), 9, _RED)
                call(library.abut_picture_add_line, picture, _c.abut_vec3(*a), _c.abut_vec3(*b), 3, _RED)
        if points is not None:
            for a in doubles(points, "points")[0]:
                call(library.abut_picture_add_point, picture, _c.abut_vec3(*a), 5, _BLUE)
        if lines is not None:
            ends = np.asarray(floats(lines, "lines"), np.float64)
            if ends.ndim != 3 or ends.shape[1:] != (2, 3):
                raise ArgumentError(f"lines must be of shape (n, 2, 3), not {ends.shape}")
            for a, b in ends:
                call(library.abut_picture_add_line, picture, _c.abut_vec3(*a), _c.abut_vec3(*b), 2, _BLUE)

    def events(self, wait: float = 0) -> list[LiveEvent]:
        """Returns what the user has done since the last call, oldest first; of several poses of one mesh the last. If
        there is nothing, waits for it for at most `wait` seconds."""
        if isinstance(wait, str) or not wait >= 0:
            raise ArgumentError(f"wait is {wait!r}, but must be at least 0 seconds")
        library = pictures()
        list_ = (_c.abut_live_event * _c.ABUT_LIVE_EVENT_MAX)()
        found = _c.abut_live_event_list(ctypes.addressof(list_), len(list_), 0)
        end = time.monotonic() + wait
        while True:
            left = min(max(end - time.monotonic(), 0), _SLICE)
            call(library.abut_live_poll, self._open(), left, byref(found))
            if found.count or time.monotonic() >= end:
                break
        made = []
        for event in list_[: found.count]:
            q, t = event.pose.rotation, event.pose.translation
            made.append(
                LiveEvent(
                    library.abut_live_event_kind_name(event.kind).decode(),
                    event.body,
                    np.array([t.x, t.y, t.z, q.x, q.y, q.z, q.w]),
                    chr(event.key) if event.key and event.key < 0x110000 else "",
                    event.is_last,
                )
            )
        return made

    def close(self) -> None:
        """Ends the server. Open pages keep the last frame. Waits up to three seconds for pages that have not received
        it. A second call has no effect."""
        handle, self._handle = self._handle, None
        if handle is not None:
            with handle.alone():
                pictures().abut_live_destroy(handle.value)
                handle.value.value = None

    def __enter__(self) -> Live:
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        self.close()


def _pose_of(value: ArrayLike, index: int) -> _c.abut_pose:
    at, single = read_poses(value, f"poses[{index}]")
    if at is not None and not single:
        raise ArgumentError(f"poses[{index}] must be one pose, not {len(at)}")
    numbers = [0.0, 0, 0, 1, 0, 0, 0] if at is None else [float(x) for x in at[0]]
    return _c.abut_pose(_c.abut_quat(*numbers[:4]), _c.abut_vec3(*numbers[4:]))


def _text(value: Any, what: str) -> bytes:
    """Returns a text for the library; characters that UTF-8 lacks become question marks."""
    if not isinstance(value, str):
        raise ArgumentError(f"{what} must be a text, not {value!r}")
    return value.encode("utf-8", "replace")
