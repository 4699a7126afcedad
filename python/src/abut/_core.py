"""The library itself: where it is, its functions, its errors as exceptions, threads and progress.

ctypes releases the GIL during every call, so several threads may be inside the library at once. Objects
are guarded here, for all classes: a Handle that is passed to call() or run() is locked for the time of
the call (see Guard). The context of all objects calls back for progress on the thread that called; there
Ctrl-C is noticed, the call is cancelled, and KeyboardInterrupt is raised. Messages of the library go to the
logger "abut" when the call is over.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found,unused-ignore] # what signal wraps: enums take thirty times as long
import collections
import ctypes
import errno
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
    """What the library refuses or fails at; the text is its own sentence."""


class ArgumentError(Error, ValueError):
    """Something that the contract forbids."""


class OutOfMemoryError(Error, MemoryError):
    """There was not enough memory."""


class FileError(Error, OSError):
    """A file could not be opened, read, written or replaced; errno and filename say which and why."""

    def __str__(self) -> str:
        return str(self.strerror) if self.strerror else super().__str__()


class MissingFileError(FileError, FileNotFoundError):
    """There is no such file."""


class FormatError(Error, ValueError):
    """A file does not hold what its format demands."""


class UnsupportedError(Error, NotImplementedError):
    """This build lacks the part that could do it; see features()."""


class LimitError(Error, OverflowError):
    """More elements than can be counted, or than a limit allows."""


class CancelledError(Error):
    """A progress callback asked to stop."""


class DeviceError(Error, RuntimeError):
    """There is no such device, or it failed."""


class ReliabilityWarning(UserWarning):
    """The meshes, or the method, do not allow a guaranteed answer; the text is the level and the reason. Issued
    once per call, by worlds once per world and reason. warnings.simplefilter("error", abut.ReliabilityWarning) makes an
    exception of it."""


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
    """The first of the files `names` in the folders of the package. An editable installation has two folders: the
    sources, and site-packages with the files that the build makes."""
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


def _open() -> Any:
    path = _find_library()
    try:
        opened = ctypes.CDLL(path)
        for name, (result, arguments) in _c.FUNCTIONS.items():
            function = getattr(opened, name)
            function.restype, function.argtypes = result, arguments
    except (OSError, AttributeError) as problem:
        raise ImportError(f"abut: {path} cannot be used: {problem}") from None
    ours = f"{_c.ABUT_VERSION_MAJOR}.{_c.ABUT_VERSION_MINOR}.{_c.ABUT_VERSION_PATCH}"
    theirs = opened.abut_version().decode()
    if theirs != ours:
        raise ImportError(f"abut: {path} is version {theirs}, and this package is for {ours}")
    return opened


lib: Any = _open()
byref = ctypes.byref


def unchecked(name: str) -> Any:
    """A function of the library whose arguments ctypes does not convert, which takes longer than a short call: all
    must be objects of ctypes, bytes or None."""
    return lib[name]


def version() -> str:
    """The version of the library.

    >>> import abut
    >>> abut.version() == abut.__version__
    True
    """
    return str(lib.abut_version().decode())


def features() -> list[str]:
    """The optional parts that this build has, such as "threads", "png", "gltf", "opencl", "zstd"."""
    return str(lib.abut_features().decode()).split()


def last_error() -> str:
    return str(lib.abut_last_error().decode("utf-8", "replace"))


# What messages of the library name that is called otherwise in Python.
_IN_PYTHON = tuple(
    (re.compile(pattern), text)
    for pattern, text in (
        (r"\bset options->cap\b", "set cap=True"),
        (r"\b(?:options|query|step|item|impacts|contacts|points|group|input)->", ""),
        (r"\b(?:of|with) shape\.mesh\.deforms\b", "added with deforms=True"),
        (r"\bHUGE_VAL\b", "infinity"),
        (r"\bdevice null\b", "device None"),
        (r"\babut_sweep_set_positions\(\)", "step()"),
        (r"\babut_(?:bvh|field|layers|map|mesh|pair|radial|self|sign|sweep|world)_(\w+)\(\)", r"\1()"),
    )
)
_ITEMS = {"abut_world": ("a body", "body", "bodies"), "abut_layers": ("a solid", "solid", "solids")}


def sentence(text: Optional[str] = None) -> str:
    """A text, or the last error, in terms of Python: without the function of the library, its structures and
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
    """Raises what a status stands for."""
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
    """A structure of options: all zero but for its size and what is given."""
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


def number(value: Any, what: str, least: int = 0, most: int = 0xFFFFFFFF) -> int:
    """A whole number within limits; ctypes would cut it to its lowest bits in silence."""
    try:
        whole = int(value.__index__())
    except AttributeError:
        raise ArgumentError(f"{what} must be a whole number, not {value!r}") from None
    if not least <= whole <= most:
        raise ArgumentError(f"{what} is {whole}, but must be from {least} to {most}")
    return whole


def need(value: Any, kind: Any, what: str) -> Any:
    """The value, if it is of that kind: the library takes every pointer for what it should be."""
    if not isinstance(value, kind):
        alike = kind.__name__ == "Mesh" and hasattr(value, "vertices") and hasattr(value, "faces")
        hint = "; abut.Mesh.from_trimesh() makes one" if alike else ""
        raise TypeError(f"{what} must be an abut.{kind.__name__}, not {type(value).__name__}{hint}")
    return value


def path_bytes(path: Any) -> bytes:
    """A path as the library takes it."""
    text = os.fsencode(os.fspath(path))
    if b"\0" in text:
        raise ArgumentError("a path cannot have a null byte")
    return text


def name_of(enum: str, value: int) -> str:
    """The word of a value of an enum."""
    function = getattr(lib, f"{enum}_name")
    text = function(value)
    return str(text.decode()) if text else str(value)


def value_of(enum: str, word: Any) -> int:
    """The value of a word of an enum; the error lists all words."""
    function = getattr(lib, f"{enum}_name")
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
    """Of one thread: its callback, and what that raised; the guards that it holds, and its calls in progress."""

    callback: Optional[Progress] = None
    problem: Optional[BaseException] = None
    calls = 0

    def __init__(self) -> None:
        self.held: list[Union[Guard, Room]] = []


_state = _State()
_SIGINT = int(_signal.SIGINT)
_interrupted = False  # Ctrl-C came during a call on the main thread


def _note_interrupt(number: int, frame: Optional[types.FrameType]) -> None:
    global _interrupted
    _interrupted = True


def _asked(user: Any, stage: bytes, fraction: float) -> bool:
    if _interrupted and threading.get_ident() == threading.main_thread().ident:
        return False
    callback = _state.callback
    if callback is None:
        return True
    try:
        return callback(stage.decode(), fraction) is not False
    except BaseException as problem:  # comes out of the call that asked
        _state.problem = problem
        return False


_on_progress = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_double)(_asked)


# ---- log ----

# The library calls back on any of its threads, in the middle of its work and perhaps with a lock. Handlers of
# the user shall not run there: messages wait here until the call is over.
_messages: collections.deque[tuple[int, bytes]] = collections.deque()


def _keep_message(user: Any, level: int, message: bytes) -> None:
    _messages.append((level, message))


_on_log = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p)(_keep_message)


def _log_messages() -> None:
    if _state.calls:  # a progress callback has used the package: the call around it is not over
        return
    import logging  # few programs need it, and it takes longer than the package

    logger = logging.getLogger("abut")
    level, frame = 2, sys._getframe(1)  # the line that called the package
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == __package__:
        level, frame = level + 1, frame.f_back
    while True:
        try:
            kind, message = _messages.popleft()
        except IndexError:  # also if another thread was faster
            return
        grade = logging.WARNING if kind == _c.ABUT_LOG_WARNING else logging.INFO
        logger.log(grade, "%s", sentence(message.decode("utf-8", "replace")), stacklevel=level)


# ---- calls ----


class Guard:
    """Makes calls on one object wait for each other, so that threads may share it.

    A call that changes the object has it alone. Calls that only read it run together where the class
    allows that (`shares`), otherwise also alone. Who waits for the object alone goes before readers that
    come later, except those that hold another object: these would wait in a circle. A thread that has the
    object alone may take it again, but not from a progress callback, while the library works on it.
    """

    __slots__ = ("shares", "order", "_lock", "_changed", "_readers", "_owner", "_depth", "_asleep", "_alone")

    def __init__(self, shares: bool = False, outer: bool = False) -> None:
        """`outer`: of objects that call others while they are held, such as a world and its radial fields."""
        self.shares = shares
        self.order = (0 if outer else 1, id(self))  # in which threads take several
        # Of what follows; who has the object alone holds it all the time. An RLock: Ctrl-C between two instructions
        # may leave it locked, and its own thread can still use the object.
        self._lock = threading.RLock()
        self._changed = threading.Condition(self._lock)
        self._readers = 0  # calls that read the object now
        self._owner = 0  # the thread that has it alone
        self._depth = 0  # how many times after the first
        self._asleep = 0  # threads that wait for a change of the readers
        self._alone = 0  # those of them that want it alone

    def acquire(self, alone: bool, state: _State) -> None:
        """Also notes it in state.held. Between the change of a counter and the note nothing checks for Ctrl-C, so that
        state.held is exact whenever KeyboardInterrupt is raised."""
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
        """Until there are no readers; on failure the lock is released."""
        try:
            if self in state.held:
                raise Error(_BUSY)
            self._alone += 1
            try:
                self._wait(lambda: not self._readers)
            finally:
                self._alone -= 1
        except BaseException:
            self._changed.notify_all()  # readers that waited for this thread
            self._lock.release()
            raise

    def _wait(self, done: Callable[[], Any]) -> None:
        self._asleep += 1
        try:
            self._changed.wait_for(done)
        finally:
            self._asleep -= 1

    def release(self) -> None:
        """Of what this thread acquired last."""
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
        """The object alone, for several calls in a row."""
        self.acquire(True, _state)
        return self

    def __exit__(self, *problem: object) -> None:
        self.release()


class Room:
    """A guard of many objects at once. Of two rooms only one has calls in it at a time, any number of them: one
    is for calls that change one of the objects, which also hold its own guard; the other for calls that read
    hundreds of them, whose guards would take longer than the call. A room is left to the other when calls wait
    there."""

    __slots__ = ("shares", "order", "other", "_changed", "_inside", "_waiting", "_is_next")

    def __init__(self, other: Optional[Room] = None) -> None:
        self.shares = True
        self.order = (2, id(self))
        self.other: Room = self
        self._changed: threading.Condition = threading.Condition() if other is None else other._changed
        self._inside = 0  # calls
        self._waiting = 0
        self._is_next = False  # the other was left to this one
        if other is not None:
            self.other, other.other = other, self

    def _is_open(self, state: _State) -> bool:
        other = self.other
        if other._inside:
            return False
        # whoever holds something may be waited for, and does not wait in turn
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
    """What stands for the objects of a room where a call takes handles."""

    def __init__(self, guard: Room) -> None:
        self.guard = guard


MANY_MESHES = Use(Room())
"""Used by calls that read the hierarchies of any number of meshes on the CPU."""
A_REFIT = Use(Room(MANY_MESHES.guard))
"""Used by calls that change one of them."""

_BUSY = "this object is at work on this thread: a progress callback cannot use it"
_get_ident = threading.get_ident
_order = operator.attrgetter("order")


def guarded(
    function: Any, arguments: tuple[Any, ...], uses: Sequence[Union[Handle, Use]] = (), alone: bool = False
) -> int:
    """Calls a function of the library with the objects locked that it is given. `alone`: the first of them is
    changed. `uses`: objects that the function reaches through structures."""
    guards: list[Union[Guard, Room]] = [
        each.guard for each in arguments if type(each) is Handle and each.guard is not None
    ]
    first = guards[0] if guards and alone else None
    for each in uses:
        if each.guard is not None:
            guards.append(each.guard)
    if len(guards) > 1:  # each once, in one order for all threads
        if len(guards) > 2 or guards[0].order >= guards[1].order:
            guards = sorted(set(guards), key=_order)
    return locked(function, arguments, guards, first)


def locked(
    function: Any,
    arguments: tuple[Any, ...],
    guards: Sequence[Union[Guard, Room]],
    first: Union[Guard, Room, None] = None,
) -> int:
    """Calls a function of the library with these guards held, in their order; `first` alone."""
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
    """Calls what takes no time."""
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
    """Calls what may take long: Ctrl-C ends it.

    Python handles a signal when the main thread next runs Python code, which is the progress callback,
    and there an exception would be lost. So for the time of the call the signal is only noted.
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
    """run() for lists whose length is not known: False where the room was too small."""
    small = False

    def ask(*given: Any) -> int:
        nonlocal small
        status = int(function(*given))
        small = status == _c.ABUT_ERROR_BUFFER
        return 0 if small else status

    run(ask, *arguments, uses=uses)
    return not small


class progress:
    """Calls `callback(stage, fraction)` now and then while the library works, on this thread.

    Where it returns False the call that is running raises CancelledError; what it raises comes out
    of that call.

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
    """What objects are made with from now on."""
    return _contexts[_thread_count]


def set_threads(count: int) -> None:
    """Sets how many threads work for objects that are made from now on; 0 = as many as there are.

    Answers are the same on any number of them.
    """
    global _thread_count
    count = number(count, "the number of threads", most=65536)
    if count not in _contexts:
        _contexts[count] = _context(count)
    _thread_count = count


def thread_count() -> int:
    """How many threads work for what is made now."""
    offered = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return _thread_count or offered


class Handle:
    """Owns one object of the library, and destroys it with itself; what it refers to, `keeps`, afterwards.

    `guard` is for objects that calls change, or that are for one thread at a time; None for the others. As
    an argument of call() and run() a handle stands for the object, and stays alive during the call.
    """

    __slots__ = ("value", "_as_parameter_", "keeps", "guard", "_destroy")

    def __init__(self, destroy: Any, keeps: Any = None, guard: Optional[Guard] = None) -> None:
        self.value = self._as_parameter_ = ctypes.c_void_p()
        self.keeps = keeps
        self.guard = guard
        self._destroy = destroy

    @property
    def out(self) -> Any:
        """Where a create function stores the object."""
        return byref(self.value)

    @property
    def address(self) -> Any:
        return self.value.value

    def alone(self) -> Guard:
        """For `with`: several calls in a row that no other thread comes between."""
        assert self.guard is not None
        return self.guard

    def __del__(self) -> None:
        if self.value and not sys.is_finalizing():
            self._destroy(self.value)

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("an object of the library cannot be pickled or copied")


class Owner:
    """A class whose objects hold what cannot be pickled or copied; it says what to do instead."""

    _instead = ""

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError(f"abut.{type(self).__name__} cannot be pickled or copied: {self._instead}")
