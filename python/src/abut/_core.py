"""Access to the shared library: its location, functions, errors as exceptions, threads and progress.

ctypes releases the GIL during every call, so several threads may run in the library concurrently. This module
locks objects for all classes: a Handle that is passed to call() or run() is locked during the call (see Guard).
The library calls the progress callback on the calling thread. The callback detects Ctrl-C and cancels the call,
which then raises KeyboardInterrupt. Messages of the library go to the logger "abut" after the call.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found,unused-ignore] # signal wraps it in enums, 30 times as slow
import collections
import ctypes
import errno
import functools
import operator
import os
import pathlib
import re
import sys
import threading
import types
from typing import Any, Callable, Optional, Sequence, Type, Union

from . import _c

# ---- errors ----


class Error(Exception):
    """The base class of all errors of the library. The text is the message of the library."""


class ArgumentError(Error, ValueError):
    """An argument is invalid."""


class OutOfMemoryError(Error, MemoryError):
    """A memory allocation failed."""


class FileError(Error, OSError):
    """A file cannot be opened, read, written or replaced. errno and filename give details."""

    def __str__(self) -> str:
        return str(self.strerror) if self.strerror else super().__str__()


class MissingFileError(FileError, FileNotFoundError):
    """The file does not exist."""


class FormatError(Error, ValueError):
    """The content of a file does not conform to its format."""


class UnsupportedError(Error, NotImplementedError):
    """This build does not support the operation; see features()."""


class LimitError(Error, OverflowError):
    """A size exceeds a limit."""


class CancelledError(Error):
    """A progress callback cancelled the call."""


class DeviceError(Error, RuntimeError):
    """The device does not exist, or it failed."""


class ReliabilityWarning(UserWarning):
    """The meshes, or the method, do not allow a guaranteed result. The text is the level and the reason. Issued
    once per call, by worlds once per world and reason. warnings.simplefilter("error", abut.ReliabilityWarning)
    turns it into an exception."""


_EXCEPTIONS: dict[int, Type[Error]] = {
    _c.ABUT_ERROR_ARGUMENT: ArgumentError,
    _c.ABUT_ERROR_MEMORY: OutOfMemoryError,
    _c.ABUT_ERROR_FILE: FileError,
    _c.ABUT_ERROR_FORMAT: FormatError,
    _c.ABUT_ERROR_UNSUPPORTED: UnsupportedError,
    _c.ABUT_ERROR_LIMIT: LimitError,
    _c.ABUT_ERROR_CANCELLED: CancelledError,
    _c.ABUT_ERROR_DEVICE: DeviceError,
}

# ---- library ----


def find_file(*names: str) -> Optional[pathlib.Path]:
    """Returns the first of the files `names` in the folders of the package. An editable installation has two folders:
    the sources, and site-packages with the files from the build."""
    for folder in sys.modules[__package__].__path__:
        for name in names:
            path = pathlib.Path(folder, name)
            if path.is_file():
                return path
    return None


def _find_library() -> str:
    given = os.environ.get("ABUT_LIBRARY")
    if given:
        return given
    found = find_file("libabut.so", "libabut.dylib", "abut.dll")
    if found:
        return str(found)
    folders = ", ".join(sys.modules[__package__].__path__)
    raise ImportError(f"abut: there is no library in {folders}; set ABUT_LIBRARY to the path of libabut.so")


def _declare(path: str, functions: dict[str, Any]) -> Any:
    try:
        opened = ctypes.CDLL(path)
        for name, (result, arguments) in functions.items():
            function = getattr(opened, name)
            function.restype, function.argtypes = result, arguments
    except (OSError, AttributeError) as problem:
        raise ImportError(f"abut: {path} cannot be used: {problem}") from None
    return opened


def _open(path: str) -> Any:
    opened = _declare(path, _c.FUNCTIONS)
    ours = f"{_c.ABUT_VERSION_MAJOR}.{_c.ABUT_VERSION_MINOR}.{_c.ABUT_VERSION_PATCH}"
    theirs = opened.abut_version().decode()
    if theirs != ours:
        raise ImportError(f"abut: {path} is version {theirs}, and this package is for {ours}")
    return opened


_library = pathlib.Path(_find_library())
lib: Any = _open(str(_library))


def beside(name: str, functions: dict[str, Any]) -> Any:
    """Opens another library in the folder of libabut."""
    return _declare(str(_library.with_name(_library.name.replace("abut", name))), functions)


@functools.lru_cache(maxsize=None)
def figures() -> Any:
    """The library of built-in characters."""
    return beside("abut_figures", _c.FIGURES_FUNCTIONS)


@functools.lru_cache(maxsize=None)
def pictures() -> Any:
    """The library of pictures and live pages."""
    return beside("abut_picture", _c.PICTURE_FUNCTIONS)


byref = ctypes.byref


def unchecked(name: str) -> Any:
    """Returns a function whose arguments ctypes does not convert, since that is slower than a short call. All
    arguments must be ctypes objects, bytes or None."""
    return lib[name]


def version() -> str:
    """Returns the version of the library.

    >>> import abut
    >>> abut.version() == abut.__version__
    True
    """
    return str(lib.abut_version().decode())


def features() -> list[str]:
    """Lists the optional features of this build, such as "threads", "gltf", "opencl", "zstd"."""
    return str(lib.abut_features().decode()).split()


def last_error() -> str:
    return str(lib.abut_last_error().decode("utf-8", "replace"))


# Names in messages of the library, and the corresponding names in Python.
_IN_PYTHON = tuple(
    (re.compile(pattern), text)
    for pattern, text in (
        (r"\bset options->cap\b", "set cap=True"),
        (r"\b(?:options|query|step|item|impacts|contacts|points|group|input|material)->", ""),
        (r"\b(?:of|with) shape\.mesh\.deforms\b", "added with deforms=True"),
        (r"\bHUGE_VAL\b", "infinity"),
        (r"\bdevice null\b", "device None"),
        (r"\babut_sweep_set_positions\(\)", "step()"),
        (r"\babut_mesh_weld\(\)", "welded()"),
        (r"\babut_cloth_find_intersections\(\)", "intersections()"),
        (r"\babut_(?:bvh|cloth|field|layers|map|mesh|pair|radial|self|sign|sweep|world)_(\w+)\(\)", r"\1()"),
    )
)
_ITEMS = {"abut_world": ("a body", "body", "bodies"), "abut_layers": ("a solid", "solid", "solids")}


def sentence(text: Optional[str] = None) -> str:
    """Translates a message, or the last error, for Python: without the names of C functions, structures and
    constants."""
    text = last_error() if text is None else text
    named = re.match(r"(abut_[a-z]+)\w*: ", text)
    if named:
        text = text[named.end() :]
        for word, called in zip((r"\ban item\b", r"\bitem\b", r"\bitems\b"), _ITEMS.get(named[1], ())):
            text = re.sub(word, called, text)
    for pattern, replacement in _IN_PYTHON:
        text = pattern.sub(replacement, text)
    return text


def check(status: int, path: Optional[str] = None) -> None:
    """Raises the exception of a status."""
    if _messages:
        _log_messages()
    if status == _c.ABUT_OK:
        return
    if status == _c.ABUT_ERROR_CANCELLED:
        problem, _state.problem = _state.problem, None
        if problem is not None:
            raise problem
    kind = _EXCEPTIONS.get(status, Error)
    if kind is not FileError or path is None:
        raise kind(sentence())
    text = sentence()
    if not os.path.exists(path) and os.path.isdir(os.path.dirname(path) or "."):
        raise MissingFileError(errno.ENOENT, text, path)
    raise FileError(next((code for code in errno.errorcode if os.strerror(code) in text), None), text, path)


def options(structure: Any, **values: Any) -> Any:
    """Returns an options structure: all zero except its size and the given values."""
    made = structure()
    made.size = ctypes.sizeof(structure)
    for name, value in values.items():
        assert hasattr(structure, name), f"{structure.__name__} has no member {name}"
        if value is not None:
            try:
                setattr(made, name, value)
            except TypeError:
                raise TypeError(f"{name} must be a number, not {value!r}") from None
    return made


def get(function: Any, structure: Any, *arguments: Any) -> Any:
    """The structure that a getter of the library fills, its last argument."""
    made = structure()
    if hasattr(structure, "size"):
        made.size = ctypes.sizeof(structure)
    check(function(*arguments, byref(made)))
    return made


def number(value: Any, what: str, least: int = 0, most: int = 0xFFFFFFFF) -> int:
    """Returns an integer within limits. ctypes would silently truncate it to its lowest bits."""
    try:
        whole = int(value.__index__())
    except AttributeError:
        raise ArgumentError(f"{what} must be a whole number, not {value!r}") from None
    if not least <= whole <= most:
        raise ArgumentError(f"{what} is {whole}, but must be from {least} to {most}")
    return whole


def need(value: Any, kind: Any, what: str) -> Any:
    """Returns the value if it has that type, since the library cannot check the type of a pointer."""
    if not isinstance(value, kind):
        alike = kind.__name__ == "Mesh" and hasattr(value, "vertices") and hasattr(value, "faces")
        hint = "; abut.Mesh.from_trimesh() makes one" if alike else ""
        raise TypeError(f"{what} must be an abut.{kind.__name__}, not {type(value).__name__}{hint}")
    return value


def path_bytes(path: Any) -> bytes:
    """Encodes a path for the library."""
    text = os.fsencode(os.fspath(path))
    if b"\0" in text:
        raise ArgumentError("a path cannot have a null byte")
    return text


def name_of(enum: str, value: int) -> str:
    """Returns the name of an enumerator."""
    function = getattr(lib, f"{enum}_name")
    text = function(value)
    return str(text.decode()) if text else str(value)


def value_of(enum: str, word: Any, library: Any = None) -> int:
    """Returns the value of an enumerator by name. The error lists all names."""
    function = getattr(library or lib, f"{enum}_name")
    words: list[str] = []
    while True:
        text = function(len(words))
        if not text:
            break
        words.append(text.decode())
    if word in words:
        return words.index(word)
    raise ArgumentError(f"{word!r} is none of {', '.join(map(repr, words))}")


# ---- progress, Ctrl-C, threads ----

Progress = Callable[[str, float], Any]


class _State(threading.local):
    """State of one thread: its callback, the exception of the callback, the guards it holds, its running calls."""

    callback: Optional[Progress] = None
    problem: Optional[BaseException] = None
    calls = 0

    def __init__(self) -> None:
        self.held: list[Union[Guard, Room]] = []


_state = _State()
_SIGINT = int(_signal.SIGINT)
_interrupted = False  # Ctrl-C was pressed during a call on the main thread


def _note_interrupt(number: int, frame: Optional[types.FrameType]) -> None:
    global _interrupted
    _interrupted = True


def is_interrupted() -> bool:
    """Tests whether Ctrl-C was pressed during the running call of this thread."""
    return _interrupted and threading.get_ident() == threading.main_thread().ident


def _report_progress(user: Any, stage: bytes, fraction: float) -> bool:
    if is_interrupted():
        return False
    callback = _state.callback
    if callback is None:
        return True
    try:
        return callback(stage.decode(), fraction) is not False
    except BaseException as problem:  # the cancelled call raises it
        _state.problem = problem
        return False


_on_progress = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_double)(_report_progress)


# ---- log ----

# The library may report messages on any of its threads, possibly while it holds a lock. Handlers of the user must
# not run there: this queue keeps messages until the call has returned.
_messages: collections.deque[tuple[int, bytes]] = collections.deque()


def _keep_message(user: Any, level: int, message: bytes) -> None:
    _messages.append((level, message))


_on_log = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p)(_keep_message)


def _log_messages() -> None:
    if _state.calls:  # inside a progress callback: the outer call is still running
        return
    import logging  # slower to import than the package, and rarely needed

    logger = logging.getLogger("abut")
    level, frame = 2, sys._getframe(1)  # the frame that called the package
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == __package__:
        level, frame = level + 1, frame.f_back
    while True:
        try:
            kind, message = _messages.popleft()
        except IndexError:  # empty, or another thread took the last message
            return
        grade = logging.WARNING if kind == _c.ABUT_LOG_WARNING else logging.INFO
        logger.log(grade, "%s", sentence(message.decode("utf-8", "replace")), stacklevel=level)


# ---- calls ----


class Guard:
    """A reader-writer lock of one object, so that threads may share it.

    A call that changes the object locks it exclusively. Calls that only read it run concurrently if the class
    allows it (`shares`), otherwise exclusively. Waiting writers have priority over later readers, except readers
    that hold another guard: these could deadlock. A thread with the exclusive lock may lock the object again, but
    not from a progress callback during a call on the object.
    """

    __slots__ = ("shares", "order", "_lock", "_changed", "_readers", "_owner", "_depth", "_asleep", "_alone")

    def __init__(self, shares: bool = False, outer: bool = False) -> None:
        """`outer`: the object locks others while it is locked, such as a world and its radial fields."""
        self.shares = shares
        self.order = (0 if outer else 1, id(self))  # the order in which threads lock several guards
        # Protects the members below. The exclusive owner holds it all the time. An RLock: if Ctrl-C between two
        # instructions leaves it locked, its own thread can still use the object.
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._readers = 0  # running calls that read the object
        self._owner = 0  # the thread with the exclusive lock
        self._depth = 0  # recursive locks of the owner
        self._asleep = 0  # threads that wait for readers
        self._alone = 0  # those of them that wait for the exclusive lock

    def acquire(self, alone: bool, state: _State) -> None:
        """Locks the object and appends it to state.held. No check for Ctrl-C happens between the change of a counter
        and the append, so state.held is correct when KeyboardInterrupt is raised."""
        if self._owner and self._owner == _get_ident():
            if state.calls:
                raise Error(_BUSY)
            self._depth += 1
            state.held.append(self)
        elif alone:
            self._lock.acquire()
            if self._readers:
                self._wait_alone(state)
            self._owner = _get_ident()
            state.held.append(self)
        else:
            with self._lock:
                if self._alone and not state.held:
                    self._wait(lambda: not self._alone)
                self._readers += 1
                state.held.append(self)

    def _wait_alone(self, state: _State) -> None:
        """Waits until there are no readers. On failure it releases the lock."""
        try:
            if self in state.held:
                raise Error(_BUSY)
            self._alone += 1
            try:
                self._wait(lambda: not self._readers)
            finally:
                self._alone -= 1
        except BaseException:
            self._changed.notify_all()  # wake readers that waited for this thread
            self._lock.release()
            raise

    def _wait(self, done: Callable[[], Any]) -> None:
        self._asleep += 1
        try:
            self._changed.wait_for(done)
        finally:
            self._asleep -= 1

    def release(self) -> None:
        """Releases the guard that this thread acquired last."""
        held = _state.held
        if not self._owner:
            with self._lock:
                self._readers -= 1
                del held[-1]
                if self._asleep:
                    self._changed.notify_all()
        elif self._depth:
            self._depth -= 1
            del held[-1]
        else:
            self._owner = 0
            del held[-1]
            if self._asleep:
                self._changed.notify_all()
            self._lock.release()

    def __enter__(self) -> Guard:
        """Locks the object exclusively, for several calls."""
        self.acquire(True, _state)
        return self

    def __exit__(self, *problem: object) -> None:
        self.release()


class Room:
    """A lock of many objects. Of two rooms, only one has running calls at a time, any number of them. One room is
    for calls that change one object, which also hold its guard. The other is for calls that read hundreds of
    objects, since locking each of them is slower than the call. A room yields when calls wait for the other."""

    __slots__ = ("shares", "order", "other", "_changed", "_inside", "_waiting", "_is_next")

    def __init__(self, other: Optional[Room] = None) -> None:
        self.shares = True
        self.order = (2, id(self))
        self.other: Room = self
        self._changed: threading.Condition = threading.Condition() if other is None else other._changed
        self._inside = 0  # running calls
        self._waiting = 0
        self._is_next = False  # the other room has yielded
        if other is not None:
            self.other, other.other = other, self

    def _is_open(self, state: _State) -> bool:
        other = self.other
        if other._inside:
            return False
        # a thread that holds a lock does not wait for its turn, to avoid a deadlock
        return not (other._waiting and (self._inside or other._is_next)) or bool(state.held)

    def acquire(self, alone: bool, state: _State) -> None:
        with self._changed:
            if not self._is_open(state):
                if self.other in state.held:
                    raise Error(_BUSY)
                self._waiting += 1
                try:
                    self._changed.wait_for(lambda: self._is_open(state))
                finally:
                    self._waiting -= 1
            self._is_next = False
            self._inside += 1
            state.held.append(self)

    def release(self) -> None:
        held = _state.held
        with self._changed:
            self._inside -= 1
            del held[-1]
            if not self._inside and (self._waiting or self.other._waiting):
                self.other._is_next = self.other._waiting > 0
                self._changed.notify_all()


class Use:
    """Represents the objects of a room in the list of handles of a call."""

    def __init__(self, guard: Room) -> None:
        self.guard = guard


MANY_MESHES = Use(Room())
"""Used by calls that read the BVHs of any number of meshes on the CPU."""
A_REFIT = Use(Room(MANY_MESHES.guard))
"""Used by calls that change one of these BVHs."""

_BUSY = "this object is at work on this thread: a progress callback cannot use it"
_get_ident = threading.get_ident
_order = operator.attrgetter("order")


def guarded(
    function: Any, arguments: tuple[Any, ...], uses: Sequence[Union[Handle, Use]] = (), alone: bool = False
) -> int:
    """Calls a function of the library and locks its arguments. `alone`: the call changes the first of them.
    `uses`: objects that the function accesses through structures."""
    guards: list[Union[Guard, Room]] = [
        each.guard for each in arguments if type(each) is Handle and each.guard is not None
    ]
    first = guards[0] if guards and alone else None
    for each in uses:
        if each.guard is not None:
            guards.append(each.guard)
    if len(guards) > 1:  # each once, in the same order on all threads
        if len(guards) > 2 or guards[0].order >= guards[1].order:
            guards = sorted(set(guards), key=_order)
    return locked(function, arguments, guards, first)


def locked(
    function: Any,
    arguments: tuple[Any, ...],
    guards: Sequence[Union[Guard, Room]],
    first: Union[Guard, Room, None] = None,
) -> int:
    """Calls a function of the library with these guards, locked in this order; `first` exclusively."""
    state = _state
    held = state.held
    before = len(held)
    try:
        for guard in guards:
            guard.acquire(guard is first or not guard.shares, state)
        state.calls += 1
        try:
            status: int = function(*arguments)
            return status
        finally:
            state.calls -= 1
    except ctypes.ArgumentError as problem:
        raise _wrong_type(function, arguments, problem) from None
    finally:
        try:
            while len(held) > before:
                held[-1].release()
        except KeyboardInterrupt:
            while len(held) > before:
                held[-1].release()
            raise
        if _messages:
            _log_messages()


def _wrong_type(function: Any, arguments: tuple[Any, ...], problem: Exception) -> TypeError:
    found = re.match(r"argument (\d+)", str(problem))
    names = _c.PARAMETERS.get(getattr(function, "__name__", ""), ())
    if found and int(found[1]) <= len(names):
        place = int(found[1]) - 1
        return TypeError(f"{names[place]} must be a number, not {arguments[place]!r}")
    return TypeError(f"abut: {problem}")


def call(
    function: Any,
    *arguments: Any,
    uses: Sequence[Union[Handle, Use]] = (),
    alone: bool = False,
    path: Optional[str] = None,
) -> None:
    """Calls a fast function."""
    status = guarded(function, arguments, uses, alone)
    if status:
        check(status, path)


def run(
    function: Any,
    *arguments: Any,
    uses: Sequence[Union[Handle, Use]] = (),
    alone: bool = False,
    path: Optional[str] = None,
) -> None:
    """Calls a function that may be slow. Ctrl-C cancels it.

    Python handles a signal when the main thread next runs Python code, here the progress callback, where an
    exception would be lost. During the call a handler therefore only records the signal.
    """
    global _interrupted
    if _signal.getsignal(_SIGINT) is not _signal.default_int_handler or _get_ident() != threading.main_thread().ident:
        call(function, *arguments, uses=uses, alone=alone, path=path)
        return
    _interrupted = False
    _signal.signal(_SIGINT, _note_interrupt)
    try:
        status = guarded(function, arguments, uses, alone)
    finally:
        _signal.signal(_SIGINT, _signal.default_int_handler)
    if _interrupted:
        _interrupted = False
        _state.problem = None
        raise KeyboardInterrupt
    if status:
        check(status, path)


def fits(function: Any, *arguments: Any, uses: Sequence[Union[Handle, Use]] = ()) -> bool:
    """Runs a function that fills a list of unknown length. Returns False if the buffer was too small."""
    small = False

    def call_once(*given: Any) -> int:
        nonlocal small
        status = int(function(*given))
        small = status == _c.ABUT_ERROR_BUFFER
        return 0 if small else status

    run(call_once, *arguments, uses=uses)
    return not small


class progress:
    """Calls `callback(stage, fraction)` periodically during long calls, on this thread.

    If the callback returns False, the running call raises CancelledError. If it raises an exception, the running
    call raises the same exception.

    >>> import abut
    >>> stages = set()
    >>> with abut.progress(lambda stage, fraction: stages.add(stage)):
    ...     field = abut.Field(abut.shape("torus"), cells=16)
    >>> "field" in stages
    True
    """

    def __init__(self, callback: Progress) -> None:
        self._callback = callback

    def __enter__(self) -> progress:
        self._before, _state.callback = _state.callback, self._callback
        return self

    def __exit__(self, *problem: object) -> None:
        _state.callback = self._before


def _context(threads: int) -> Any:
    made = ctypes.c_void_p()
    given = options(
        _c.abut_context_options,
        thread_count=threads,
        progress=ctypes.cast(_on_progress, ctypes.c_void_p).value,
        log=ctypes.cast(_on_log, ctypes.c_void_p).value,
    )
    check(lib.abut_context_create(byref(given), byref(made)))
    return made


_contexts: dict[int, Any] = {0: _context(0)}
_thread_count = 0


def context() -> Any:
    """Returns the context for new objects."""
    return _contexts[_thread_count]


def set_threads(count: int) -> None:
    """Sets the number of threads for objects that are created later; 0 = all processors.

    Results do not depend on the number of threads.
    """
    global _thread_count
    count = number(count, "the number of threads", most=65536)
    if count not in _contexts:
        _contexts[count] = _context(count)
    _thread_count = count


def thread_setting() -> int:
    """Returns the value of set_threads()."""
    return _thread_count


def thread_count() -> int:
    """Returns the number of threads for new objects."""
    offered = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return _thread_count or offered


class Handle:
    """Owns one object of the library and destroys it. `keeps` are objects that must outlive it.

    `guard` locks objects that calls change, or that only one thread may use at a time; otherwise it is None. As an
    argument of call() and run(), a handle is passed as its object and stays alive during the call.
    """

    __slots__ = ("value", "_as_parameter_", "keeps", "guard", "_destroy")

    def __init__(self, destroy: Any, keeps: Any = None, guard: Optional[Guard] = None) -> None:
        self.value = self._as_parameter_ = ctypes.c_void_p()
        self.keeps = keeps
        self.guard = guard
        self._destroy = destroy

    @property
    def out(self) -> Any:
        """The output argument of a create function."""
        return byref(self.value)

    @property
    def address(self) -> Any:
        return self.value.value

    def alone(self) -> Guard:
        """For `with`: several calls without interruption by other threads."""
        assert self.guard is not None
        return self.guard

    def __del__(self) -> None:
        if self.value and not sys.is_finalizing():
            self._destroy(self.value)

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("an object of the library cannot be pickled or copied")


class Owner:
    """The base class of objects that cannot be pickled or copied. `_instead` explains the alternative."""

    _instead = ""

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"abut.{type(self).__name__} cannot be pickled or copied: {self._instead}")
