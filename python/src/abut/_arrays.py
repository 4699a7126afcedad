"""Conversion of arrays: NumPy, objects with __array__, DLPack or __cuda_array_interface__; poses; records.

Arrays of float64 or float32 with contiguous rows are passed without a copy.
"""

from __future__ import annotations

import ctypes
import math
import struct
import warnings
from typing import Any, Callable, Optional, Sequence, Union

import numpy as np
import numpy.typing as npt

from . import _c
from ._core import ArgumentError, lib, number, sentence, unchecked

Array = npt.NDArray[Any]
ArrayLike = Any
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Indices = npt.NDArray[np.uint32]
Rows = Union[bool, "tuple[int, ...]"]
"""The shape of results. True: a single one; False: one axis; otherwise the leading shape."""

NONE = 0xFFFFFFFF
"""The index of a missing element."""

_DOUBLE = np.dtype(np.float64)
_CHAR = ctypes.c_char
_warned = False


def to_host(value: ArrayLike) -> Any:
    """Returns an object that NumPy accepts. Arrays in GPU memory are copied to the host, with one warning."""
    if isinstance(value, np.ndarray):
        if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
            raise ArgumentError("an array has masked values: fill them, or leave their rows out")
        return value
    if _on_device(value):
        global _warned
        if not _warned:
            _warned = True
            warnings.warn(
                "abut: an array in the memory of a GPU is copied to the host: this memory cannot be shared with OpenCL",
                RuntimeWarning,
                stacklevel=4,
            )
        for method in ("get", "cpu", "copy_to_host", "__array__"):  # CuPy, PyTorch, Numba, JAX
            copy = getattr(value, method, None)
            if copy is not None:
                return to_host(copy())
        raise ArgumentError(f"an array of type {type(value).__name__} on a GPU cannot be copied to the host")
    if hasattr(value, "detach"):  # a PyTorch tensor with a gradient
        value = value.detach()
    if hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
        return np.from_dlpack(value)
    return value


def _on_device(value: Any) -> bool:
    if hasattr(type(value), "__dlpack_device__"):
        kind = value.__dlpack_device__()[0]
        kind = getattr(kind, "value", kind)  # Open3D has an enum
        return int(kind) not in (1, 3, 9, 11)  # memory of the CPU, or pinned memory
    try:
        return hasattr(value, "__cuda_array_interface__")
    except Exception:  # PyTorch raises for CPU tensors with a gradient
        return False


def floats(value: ArrayLike, what: str) -> Array:
    """Returns an array of float64 or float32. Other types are converted."""
    try:
        array = np.asarray(to_host(value))
        if array.dtype.kind in "OUSMmV":
            array = array.astype(np.float64)
    except ArgumentError as problem:
        raise ArgumentError(f"{what}: {problem}") from None
    except (TypeError, ValueError, OverflowError) as problem:
        raise ArgumentError(f"{what} must be numbers, not {_in_short(value)}: {problem}") from None
    if array.dtype.kind == "c":
        raise ArgumentError(f"{what}: complex numbers are no coordinates")
    if array.dtype not in (np.dtype(np.float64), np.dtype(np.float32)):  # native byte order
        array = array.astype(np.float64)
    return array


def _in_short(value: Any) -> str:
    """Formats a value for a message: a string itself, otherwise its type."""
    return repr(value[:40]) if isinstance(value, str) else f"of type {type(value).__name__}"


def grid(value: ArrayLike, what: str) -> tuple[Array, Rows]:
    """Returns vectors() of points of any shape (..., 3), and the shape of results for one()."""
    array = floats(value, what)
    if array.ndim < 3:
        return vectors(array, what)
    rows = array.shape[:-1]
    if array.shape[-1] != 3:
        raise ArgumentError(f"{what} must be of shape (..., 3), not {array.shape}")
    return vectors(array.reshape(-1, 3), what)[0], rows


def vectors(value: ArrayLike, what: str) -> tuple[Array, bool]:
    """Returns points as (n, 3), and whether the input was a single point of shape (3,)."""
    array = floats(value, what)
    if array.size == 0 and array.ndim == 1:
        array = array.reshape(0, 3)
    single = array.ndim == 1
    if single:
        array = array.reshape(1, -1)
    if array.ndim != 2 or array.shape[1] != 3:
        raise ArgumentError(f"{what} must be of shape (n, 3), not {_shape(value, array, single)}")
    if array.shape[0] and (
        array.strides[1] != array.itemsize or array.strides[0] < 3 * array.itemsize or array.strides[0] < 0
    ):
        array = np.ascontiguousarray(array)
    return array, single


def _shape(value: Any, array: Array, single: bool) -> tuple[int, ...]:
    return array.shape[1:] if single else array.shape


def doubles(value: ArrayLike, what: str) -> tuple[Floats, bool]:
    """Returns points as (n, 3) of packed doubles."""
    array, single = vectors(value, what)
    return np.ascontiguousarray(array, dtype=np.float64), single


def scalar_type(array: Array) -> int:
    return int(_c.ABUT_SCALAR_FLOAT32 if array.dtype == np.float32 else _c.ABUT_SCALAR_FLOAT64)


def batch(array: Array) -> Any:
    """Returns an input of a batch as an abut_array: float64 or float32, with contiguous rows at any stride, as from
    vectors()."""
    stride = array.strides[0] if len(array) > 1 else 0
    return _c.abut_array(pointer(array), None, stride, scalar_type(array), False)


def pointer(array: Array) -> int:
    try:
        return ctypes.addressof(_CHAR.from_buffer(array))  # type: ignore[arg-type,unused-ignore] # five times as fast
    except (TypeError, ValueError, BufferError):  # read-only, empty or not contiguous
        return int(array.ctypes.data)


def state_bytes(state: Any) -> Array:
    """Returns the bytes of a saved state as an array."""
    try:
        return np.frombuffer(state, np.uint8)
    except (TypeError, BufferError, AttributeError):
        raise TypeError(f"state must be bytes, as save() returns them, not {type(state).__name__}") from None
    except ValueError as problem:
        raise ArgumentError(f"state: {problem}") from None


def fill(kind: Any, room: Array, call: Callable[[Any], bool]) -> Array:
    """Calls `call` with an output list of type `kind` in the memory of `room`, until it returns that the list was large
    enough. Returns the elements that it wrote."""
    while True:
        found = kind(pointer(room), len(room), 0)
        if call(ctypes.byref(found)):
            return room[: found.count]
        room = np.empty((found.count * 5 // 4 + 1, *room.shape[1:]), room.dtype)


def host(array: Optional[Array]) -> Any:
    """Returns an abut_array of packed elements in host memory."""
    return _c.abut_array(None if array is None else pointer(array), None)


def indices(value: ArrayLike, what: str) -> Indices:
    """Returns rows of three indices as packed uint32."""
    try:
        array = np.asarray(to_host(value))
    except (TypeError, ValueError) as problem:
        raise ArgumentError(f"{what}: {problem}") from None
    if array.ndim != 2 or array.shape[1] != 3:
        raise ArgumentError(f"{what} must be of shape (m, 3), not {array.shape}")
    if array.dtype.kind not in "iu":
        if not array.size or array.dtype.kind != "f" or (array != np.floor(array)).any():
            raise ArgumentError(f"{what} must be whole numbers, not {array.dtype}")
    if array.dtype != np.uint32 and array.size:
        low, high = array.min(), array.max()
        if low < 0 or high > NONE:
            raise ArgumentError(f"{what}: index {low if low < 0 else high} is out of range")
    return np.ascontiguousarray(array, dtype=np.uint32)


def vector(value: ArrayLike, what: str) -> Any:
    """Returns one abut_vec3."""
    if floats(value, what).shape not in ((3,), (1, 3)):
        raise ArgumentError(f"{what} must be one vector of three numbers")
    array, _ = doubles(value, what)
    return _c.abut_vec3(*map(float, array[0]))


# ---- poses ----


def poses(value: ArrayLike, what: str) -> tuple[Optional[Floats], bool]:
    """Returns poses as (k, 7) in the order of the library (quaternion x y z w, then translation), and whether the
    input was a single pose. None stays None.

    The order of the caller is x y z, alone or with the quaternion x y z w; or 4 x 4 matrices. A 3 x 3 rotation
    matrix raises ArgumentError, since it has the shape of three translations.
    """
    if value is None:
        return None, True
    array = np.asarray(floats(value, what), dtype=np.float64)
    if array.shape[-2:] in ((4, 4), (3, 4)) and array.ndim in (2, 3):
        single = array.ndim == 2
        return _from_matrices(array, 1 if single else len(array), what), single
    if array.ndim in (1, 2) and array.shape[-1] == 7:
        single = array.ndim == 1
        array = array.reshape(-1, 7)
        return np.ascontiguousarray(array[:, [3, 4, 5, 6, 0, 1, 2]]), single
    if array.ndim in (1, 2) and array.shape[-1] == 3:
        if _is_rotation(array):
            raise ArgumentError(
                f"{what} of shape (3, 3) is a rotation matrix; a pose is (4, 4), or (3, 7) for these three translations"
            )
        made = np.zeros((array.size // 3, 7))
        made[:, 3], made[:, 4:] = 1, array
        return made, array.ndim == 1
    raise ArgumentError(
        f"{what} must be (7,) or (k, 7): x y z, then the quaternion x y z w; (3,) or (k, 3): x y z alone; "
        f"or (4, 4) or (k, 4, 4); not {array.shape}"
    )


def _is_rotation(array: Floats) -> bool:
    """Tests whether three translations are a rotation matrix that was passed by mistake."""
    return array.shape == (3, 3) and bool(np.abs(array @ array.T - np.eye(3)).max() < 1e-5)


POSE = ctypes.c_double * 7
"""The type of one pose in the order of the library."""


_from_matrices_unchecked = unchecked("abut_pose_from_matrices")
_ONE, _SIZES = ctypes.c_size_t(1), {(3, 4): ctypes.c_size_t(12), (4, 4): ctypes.c_size_t(16)}
_pack_pose = struct.Struct("7d").pack_into


def one_pose(value: ArrayLike, what: str, finite: bool = False) -> Any:
    """Returns one pose as a POSE, or None if there are many. See write_pose()."""
    made = POSE()
    return made if write_pose(value, what, made, 0, finite) else None


def write_pose(value: ArrayLike, what: str, room: Any, offset: int, finite: bool = False) -> bool:
    """Writes one pose in the order of the library into a ctypes object. Returns False if there are many poses.
    Accepts the same values as poses(), but creates no arrays, for calls that take microseconds. `finite` also
    checks that (7,) and (3,) are finite; matrices are always checked."""
    if type(value) is not np.ndarray or value.dtype != _DOUBLE:
        value = np.asarray(floats(value, what), dtype=np.float64)
    shape = value.shape
    size = _SIZES.get(shape)
    if size is not None:
        if _from_matrices_unchecked(value.tobytes(), size, _ONE, ctypes.byref(room, offset)):
            raise _refused(what)
        return True
    if shape == (7,) or shape == (3,):
        x, y, z, *turn = value.tolist()
        if finite and not all(map(math.isfinite, (x, y, z, *turn))):
            raise ArgumentError(f"{what}: not all numbers are finite")
        _pack_pose(room, offset, *(turn or (0, 0, 0, 1)), x, y, z)
        return True
    return False


def _refused(what: str) -> ArgumentError:
    return ArgumentError(
        f"{what}: {sentence()}. A pose is a rotation and a translation; Mesh.transformed() scales a mesh"
    )


def _from_matrices(array: Floats, count: int, what: str) -> Floats:
    """Converts rigid matrices (..., 4, 4) or (..., 3, 4) to (count, 7)."""
    made = np.empty((count, 7))
    if lib.abut_pose_from_matrices(array.tobytes(), array.shape[-2] * 4, count, pointer(made)):
        raise _refused(what)
    return made


def grid_of_poses(value: ArrayLike, what: str, columns: int) -> Floats:
    """Returns poses (k, columns, 7) in the order of the library, from (k, columns, 7), (k, columns, 3) or
    (k, columns, 4, 4)."""
    array = np.asarray(floats(value, what), dtype=np.float64)
    last = array.shape[2:]
    if array.ndim < 3 or array.shape[1] != columns or last not in ((7,), (3,), (4, 4), (3, 4)):
        raise ArgumentError(
            f"{what} must be (k, {columns}, 7), (k, {columns}, 3) or (k, {columns}, 4, 4), not {array.shape}"
        )
    made, _ = poses(array.reshape(-1, *last), what)
    assert made is not None
    return made.reshape(len(array), columns, 7)


def pose(value: ArrayLike, what: str) -> Any:
    """Returns one abut_pose; None is the identity."""
    if value is None:
        return _c.abut_pose()
    found = one_pose(value, what)
    if found is None:
        array, _ = poses(value, what)
        if array is None or len(array) != 1:
            raise ArgumentError(f"{what} must be one pose")
        found = POSE(*array[0].tolist())
    return _c.abut_pose.from_buffer(found)


def moves(value: ArrayLike, which: Optional[Sequence[int]], what: str) -> tuple[Optional[Indices], Floats]:
    """Returns ids and their poses as from poses(). The input is a dict {id: pose}, or the poses of the ids `which`.
    The ids are None if the poses belong to the first ids."""
    if isinstance(value, dict):
        if which is not None:
            raise ArgumentError("poses: a dict has the numbers itself")
        which = list(value)
        placed = np.empty((len(value), 7))
        for row, (key, each) in enumerate(value.items()):
            found = None if each is None else one_pose(each, f"the pose of {what} {key}")
            if found is None:
                raise ArgumentError(f"poses: each {what} needs one pose")
            placed[row] = found
    else:
        some, _ = poses(value, "poses")
        if some is None:
            raise ArgumentError("poses must be (k, 7), (k, 3), (k, 4, 4) or a dict")
        placed = some
    if which is None:
        return None, placed
    names = [which] if np.ndim(which) == 0 else which
    ids = np.array([number(each, f"the number of a {what}") for each in names], np.uint32)
    if len(ids) != len(placed):
        raise ArgumentError(f"{len(ids)} numbers and {len(placed)} poses")
    return ids, placed


def matrices(value: Floats) -> Floats:
    """Converts (k, 7) in the order of the library to (k, 4, 4). Quaternions have any length; zeros mean no rotation."""
    out, q = np.zeros((len(value), 4, 4)), value[:, :4]
    q = q / np.where(q.any(axis=1), np.abs(q).max(axis=1, initial=0), 1)[:, None]  # so that squares do not overflow
    q[~q.any(axis=1), 3] = 1
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    x, y, z, w = q.T
    out[:, 0, :3] = np.stack([1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)], axis=1)
    out[:, 1, :3] = np.stack([2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)], axis=1)
    out[:, 2, :3] = np.stack([2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)], axis=1)
    out[:, :3, 3] = value[:, 4:]
    out[:, 3, 3] = 1
    return out


# ---- records ----

_WHOLE = {
    _c.abut_vec3: ("f8", 3),
    _c.abut_quat: ("f8", 4),
    _c.abut_pose: ("f8", 7),
    _c.abut_box: ("f8", (2, 3)),
    _c.abut_segment: ("f8", (2, 3)),
}
_records: dict[Any, np.dtype[Any]] = {}


def record(structure: Any) -> np.dtype[Any]:
    """Returns the dtype of a structure: its members by name, vectors as three numbers."""
    if structure not in _records:
        names, formats, offsets = [], [], []
        for name, kind in structure._fields_:
            names.append(name)
            formats.append(_format(kind))
            offsets.append(getattr(structure, name).offset)
        _records[structure] = np.dtype(
            {"names": names, "formats": formats, "offsets": offsets, "itemsize": ctypes.sizeof(structure)}
        )
    return _records[structure]


def _format(kind: Any) -> Any:
    if kind in _WHOLE:
        return _WHOLE[kind]
    if issubclass(kind, ctypes.Array):
        inner = _format(kind._type_)
        return (inner, kind._length_)
    if issubclass(kind, ctypes.Structure):
        return record(kind)
    if kind in (ctypes.c_void_p, ctypes.c_char_p):
        return np.uintp
    return np.dtype(kind)


def vec(value: Any) -> Floats:
    """Converts an abut_vec3 to an array."""
    return np.array((value.x, value.y, value.z))


def one(array: Array, rows: Rows) -> Any:
    """Returns results in the shape of the query. A single result is a bool, an int, a str, a NumPy float, or a row."""
    if rows is False:
        return array
    if rows is not True:
        return array.reshape(rows + array.shape[1:])
    first = array[0]
    kind = array.dtype.kind
    if array.ndim > 1 or kind == "f":
        return first
    return bool(first) if kind == "b" else int(first) if kind in "iu" else str(first) if kind == "U" else first


def rows_of(kind: Any, found: Array, rows: Rows, *names: str) -> list[Any]:
    """Returns members of records in the shape of the query: these, or those that the tuple `kind` names."""
    return [one(found[name], rows) for name in names or kind._fields]


Scalar = Union[float, Floats]
