"""Concave meshes in MuJoCo 4: mesh geoms collide by exact contacts of abut instead of their convex hulls.

    import abut.mujoco
    model = mujoco.MjModel.from_xml_path("scene.xml")
    abut.mujoco.install(model)                  # all the rest as before: mj_step, viewer, rollout

Contacts are computed in C, without Python and its lock, and depend only on the poses of the geoms. Any number of
threads may step their own MjData. Needs the package mujoco: pip install abut[mujoco].
"""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import warnings
import weakref
from typing import Any, Iterable, MutableMapping, Optional, Union

import numpy as np

from . import _core

_MAJOR = 4  # of the versions of MuJoCo whose collider functions have the signature of examples/mujoco/abut_mujoco.h
_GEOM_TYPES = 9  # mjNGEOMTYPES
_DATA_BYTES = 1 << 20  # larger than mjData
# A model of which no array before geom_xquat is empty: an empty array has the address of the next one.
_PROBE = "<mujoco><worldbody><body><joint/><geom size='1'/></body></worldbody></mujoco>"

_installed: MutableMapping[Any, Any] = weakref.WeakKeyDictionary()  # the function that uninstalls each model


@dataclasses.dataclass(frozen=True)
class Info:
    """What an installed model has collided."""

    concave_meshes: int  # meshes of geoms that are not convex, whose contacts abut computes
    open_meshes: int  # meshes that are not closed and oriented: their contacts are not guaranteed
    errors: int  # pairs that MuJoCo's own function collided because of an error


class _Engine(ctypes.Structure):  # abut_mujoco_engine
    _fields_ = [
        ("colliders", ctypes.c_void_p),
        ("max_contact", ctypes.c_void_p),
        ("warn", ctypes.c_void_p),
        ("xpos_offset", ctypes.c_size_t),
        ("xquat_offset", ctypes.c_size_t),
    ]


_ARRAYS = {  # the arrays of abut_mujoco_model, and the type of their elements
    "geom_type": np.int32,
    "geom_dataid": np.int32,
    "geom_plugin": np.int32,
    "geom_size": np.float64,
    "mesh_vertadr": np.int32,
    "mesh_vertnum": np.int32,
    "mesh_faceadr": np.int32,
    "mesh_facenum": np.int32,
    "mesh_vert": np.float32,
    "mesh_face": np.int32,
    "hfield_nrow": np.int32,
    "hfield_ncol": np.int32,
    "hfield_adr": np.int32,
    "hfield_size": np.float64,
    "hfield_data": np.float32,
}


class _Model(ctypes.Structure):  # abut_mujoco_model
    _fields_ = [
        ("model", ctypes.c_void_p),
        ("ngeom", ctypes.c_uint32),
        ("nmesh", ctypes.c_uint32),
        *((name, ctypes.c_void_p) for name in _ARRAYS),
    ]


class _Options(ctypes.Structure):  # abut_mujoco_options
    _fields_ = [
        ("geoms", ctypes.POINTER(ctypes.c_bool)),
        ("include_convex", ctypes.c_bool),
        ("include_fields", ctypes.c_bool),
        ("context", ctypes.c_void_p),
    ]


class _Info(ctypes.Structure):  # abut_mujoco_info
    _fields_ = [
        ("concave_mesh_count", ctypes.c_uint32),
        ("limited_mesh_count", ctypes.c_uint32),
        ("limited_mesh", ctypes.c_uint32),
        ("error_count", ctypes.c_uint64),
    ]


@functools.lru_cache(maxsize=None)
def _library() -> Any:
    reference, boolean = ctypes.c_void_p, ctypes.c_bool
    return _core.beside(
        "abut_mujoco",
        {
            "abut_mujoco_install": (ctypes.c_int, [reference, reference, reference]),
            "abut_mujoco_uninstall": (boolean, [reference]),
            "abut_mujoco_get_info": (boolean, [reference, reference]),
        },
    )


def _offset(data: Any, name: str) -> int:
    """The offset of a pointer in mjData: where the structure has the address of the array."""
    address = getattr(data, name).ctypes.data
    for offset in range(0, _DATA_BYTES, 8):  # ends inside the structure, since it has the pointer
        if ctypes.c_uint64.from_address(data._address + offset).value == address:
            return offset
    raise _core.UnsupportedError(f"abut.mujoco: there is no {name} in mjData of this version of MuJoCo")


@functools.lru_cache(maxsize=None)
def _engine() -> _Engine:
    """The functions of libmujoco, which the package mujoco has loaded."""
    import mujoco  # type: ignore[import-not-found,import-untyped,unused-ignore]

    version = mujoco.__version__
    if mujoco.mj_version() // 1000000 != _MAJOR:
        raise _core.UnsupportedError(
            f"abut.mujoco requires MuJoCo {_MAJOR}, and this is {version}: pip install abut[mujoco]"
        )
    probe = mujoco.MjData(mujoco.MjModel.from_xml_string(_PROBE))
    if probe.geom_xpos.dtype != np.float64:
        raise _core.UnsupportedError("abut.mujoco requires MuJoCo with double precision")
    try:
        library = _mujoco_library(mujoco)
        table = ctypes.addressof((ctypes.c_void_p * (_GEOM_TYPES * _GEOM_TYPES)).in_dll(library, "mjCOLLISIONFUNC"))
        functions = [ctypes.cast(getattr(library, name), ctypes.c_void_p) for name in ("mj_maxContact", "mju_warning")]
    except (OSError, ValueError, AttributeError) as problem:
        raise _core.UnsupportedError(f"abut.mujoco cannot use the library of MuJoCo {version}: {problem}") from None
    return _Engine(table, *functions, _offset(probe, "geom_xpos"), _offset(probe, "geom_xquat"))


def _mujoco_library(mujoco: Any) -> Any:
    """Opens the copy of libmujoco that Python has loaded: its functions are found by any extension module."""
    return ctypes.CDLL(mujoco._functions.__file__)


def _view(model: Any) -> _Model:
    """The addresses of the members of mjModel."""
    view = _Model(model._address, model.ngeom, model.nmesh)
    for name, kind in _ARRAYS.items():
        array = getattr(model, name)
        if array.dtype != kind or not array.flags.c_contiguous:
            raise _core.UnsupportedError(f"abut.mujoco: {name} of this version of MuJoCo is {array.dtype}, not {kind}")
        setattr(view, name, array.ctypes.data)
    return view


def _mask(model: Any, geoms: Iterable[Union[int, str]]) -> Any:
    """Whether each geom is one of `geoms`, or is no mesh."""
    mask = (ctypes.c_bool * max(model.ngeom, 1))(*(kind not in (7, 8) for kind in model.geom_type))
    for geom in geoms:
        try:
            index = model.geom(geom).id
        except (KeyError, IndexError, TypeError) as problem:
            raise _core.ArgumentError(f"geoms: {problem.args[0] if problem.args else geom!r}") from None
        mask[index] = True
    return mask


def install(
    model: Any,
    *,
    geoms: Optional[Iterable[Union[int, str]]] = None,
    convex: bool = False,
    hfields: bool = False,
) -> None:
    """Makes the meshes of a model concave: from now on their geoms collide by exact contacts.

    This affects geoms of type "mesh", and of type "sdf" with a mesh and no plugin, with each other and with all
    primitives. `geoms` restricts it to some mesh geoms, by name or id. Pairs of convex meshes and primitives keep
    MuJoCo's function, which is exact for them and faster, unless `convex` is true. So do height fields, unless
    `hfields` is true: meshes then collide with the surface that a height field has at the time of this call. It takes
    about 500 bytes for each point. Flexes always keep MuJoCo's function.

    Installing a model again applies new arguments, and new meshes if the model has changed. Copies of a model are
    not installed. No thread may step the model during the call. Issues a ReliabilityWarning if a mesh is not closed.

    >>> import mujoco, abut.mujoco
    >>> model = mujoco.MjModel.from_xml_string('''<mujoco>
    ...   <asset><mesh name="peg" vertex="0 0 0  1 0 0  0 1 0  0 0 1"/></asset>
    ...   <worldbody><geom type="mesh" mesh="peg"/></worldbody></mujoco>''')
    >>> abut.mujoco.install(model)
    >>> abut.mujoco.info(model)
    Info(concave_meshes=0, open_meshes=0, errors=0)
    """
    engine = _engine()
    options = _Options(None if geoms is None else _mask(model, geoms), convex, hfields, None)
    view = _view(model)
    _core.check(_library().abut_mujoco_install(_core.byref(engine), _core.byref(view), _core.byref(options)))
    if model not in _installed:
        _installed[model] = weakref.finalize(model, _library().abut_mujoco_uninstall, view.model)
        _installed[model].atexit = False  # other threads may still step
    found = _read(model)
    if found.limited_mesh_count:
        name = model.mesh(found.limited_mesh).name
        text = f"limited: mesh {name!r} is not closed and oriented, so its contacts are not guaranteed"
        warnings.warn(text, _core.ReliabilityWarning, stacklevel=2)


def uninstall(model: Any) -> None:
    """Restores the convex hulls of a model, which install() replaced. This is not needed before a model is deleted.
    No thread may step the model during the call.

    >>> import mujoco, abut.mujoco
    >>> model = mujoco.MjModel.from_xml_string("<mujoco/>")
    >>> abut.mujoco.install(model)
    >>> abut.mujoco.uninstall(model)
    """
    if model not in _installed:
        raise _core.ArgumentError("the model is not installed")
    _installed.pop(model)()


def info(model: Any) -> Info:
    """Returns what an installed model has collided."""
    found = _read(model)
    return Info(found.concave_mesh_count, found.limited_mesh_count, found.error_count)


def _read(model: Any) -> _Info:
    found = _Info()
    if model not in _installed or not _library().abut_mujoco_get_info(model._address, _core.byref(found)):
        raise _core.ArgumentError("the model is not installed")
    return found
