"""The library itself: where it is, its functions, its errors as exceptions, threads and progress.

ctypes lets go of the GIL during every call. The context that all objects are made with asks for
progress on the thread that called; there Ctrl-C is noticed, the call is cancelled, and
KeyboardInterrupt comes out of it.
"""

from __future__ import annotations

import ctypes
import os
import pathlib
import signal
import sys
import threading
import types
from typing import Any, Callable, Optional, Type

from . import _c

# ---- errors ----


class Error(Exception):
    """What the library refuses or fails at; the text is its own sentence."""


class ArgumentError(Error, ValueError):
    """Something that the contract forbids."""


class OutOfMemoryError(Error, MemoryError):
    """There was not enough memory."""


class FileError(Error, OSError):
    """A file could not be opened, read, written or replaced."""


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
    """The meshes do not allow a guaranteed answer; the text is the verdict and the reason. Issued once per
    call. warnings.simplefilter("error", abut.ReliabilityWarning) makes an exception of it."""


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


def check(status: int, path: Optional[str] = None) -> None:
    """Raises what a status stands for."""
    if status == _c.ABUT_OK:
        return
    sentence = last_error()
    if status == _c.ABUT_ERROR_CANCELLED:
        problem, _state.problem = _state.problem, None
        if problem is not None:
            raise problem
    kind = _EXCEPTIONS.get(status, Error)
    if kind is FileError and path is not None and not os.path.exists(path):
        folder = os.path.dirname(path)
        if not folder or os.path.isdir(folder):
            kind = MissingFileError
    raise kind(sentence)


def options(structure: Any, **values: Any) -> Any:
    """A structure of options: all zero but for its size and what is given."""
    made = structure()
    made.size = ctypes.sizeof(structure)
    for name, value in values.items():
        if value is not None:
            setattr(made, name, value)
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
    """Of one thread: its callback, and what that raised."""

    callback: Optional[Progress] = None
    problem: Optional[BaseException] = None


_state = _State()
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


def run(function: Any, *arguments: Any, path: Optional[str] = None) -> None:
    """Calls what may take long: Ctrl-C ends it.

    Python handles a signal when the main thread next runs Python code, which is the callback above,
    and there an exception would be lost. So for the time of the call the signal is only noted.
    """
    try:
        _run(function, arguments, path)
    except ctypes.ArgumentError as problem:
        raise TypeError(f"{getattr(function, '__name__', 'abut')}: {problem}") from None


def _run(function: Any, arguments: tuple[Any, ...], path: Optional[str]) -> None:
    global _interrupted
    if (
        threading.get_ident() != threading.main_thread().ident
        or signal.getsignal(signal.SIGINT) is not signal.default_int_handler
    ):
        check(function(*arguments), path)
        return
    _interrupted = False
    signal.signal(signal.SIGINT, _note_interrupt)
    try:
        status = function(*arguments)
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if _interrupted:
        _interrupted = False
        _state.problem = None
        raise KeyboardInterrupt
    check(status, path)


def fits(function: Any, *arguments: Any) -> bool:
    """run() for lists whose length is not known: False where the room was too small."""
    small = False

    def ask(*given: Any) -> int:
        nonlocal small
        status = int(function(*given))
        small = status == _c.ABUT_ERROR_BUFFER
        return 0 if small else status

    run(ask, *arguments)
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
        _c.abut_context_options, thread_count=threads, progress=ctypes.cast(_on_progress, ctypes.c_void_p).value
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
    """Owns one object of the library, and destroys it with itself; what it stands on, `keeps`, afterwards."""

    __slots__ = ("value", "keeps", "_destroy")

    def __init__(self, destroy: Any, keeps: Any = None) -> None:
        self.value = ctypes.c_void_p()
        self.keeps = keeps
        self._destroy = destroy

    @property
    def out(self) -> Any:
        """Where a create function stores the object."""
        return byref(self.value)

    def __del__(self) -> None:
        if self.value and not sys.is_finalizing():
            self._destroy(self.value)
