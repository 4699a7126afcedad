"""OpenCL devices: listing and selection."""

from __future__ import annotations

import ctypes
import threading
from typing import Any, Optional, Union

from . import _c
from ._core import ArgumentError, Handle, Owner, byref, check, context, get, lib, name_of

Selector = Union[None, str, int, "Device"]


class Device(Owner):
    """An open device. Every parameter `device=` accepts a Device or a selector:

    None         the device of the mesh, otherwise the CPU
    "cpu"        the CPU, with the code of the library, even if the mesh has a device
    "gpu"        the fastest GPU
    "opencl-cpu" an OpenCL device that is a CPU, such as PoCL
    a number     the index in devices()
    other text   the first device with this text in its name or platform
    """

    _instead = "open it again with abut.Device(name)"

    def __init__(self, selector: Union[str, int] = "auto") -> None:
        if selector == "cpu":
            raise ArgumentError('"cpu" is the library itself, without a device; "opencl-cpu" is OpenCL on a CPU')
        if selector == "opencl-cpu":
            selector = "cpu"
        self._handle = Handle(lib.abut_device_destroy)
        check(lib.abut_device_open(context(), str(selector).encode(), self._handle.out))
        info = get(lib.abut_device_get_info, _c.abut_device_info, self._handle)
        self.name: str = info.name.decode("utf-8", "replace")
        self.kind: str = name_of("abut_device_kind", info.kind)
        self.memory_bytes: int = info.memory_bytes
        self.same_bits: bool = info.same_bits

    def __repr__(self) -> str:
        return f"<abut.Device {self.name!r}, {self.kind}>"


_open: dict[Union[str, int], Device] = {}
_lock = threading.Lock()


def find(selector: Selector) -> Optional[Device]:
    """Returns the device of a selector, which is opened once. Returns None for None and for the CPU."""
    if selector is None or isinstance(selector, Device):
        return selector
    if selector == "cpu":
        return None
    if isinstance(selector, bool) or not isinstance(selector, (str, int)):
        raise ArgumentError(f"device must be None, a text, a number or an abut.Device, not {selector!r}")
    with _lock:
        if selector not in _open:
            _open[selector] = Device(selector)
        return _open[selector]


def pointer(device: Optional[Device]) -> Any:
    """Returns the pointer for options; null without a device."""
    return None if device is None else device._handle.value


def devices() -> list[dict[str, Any]]:
    """Lists the OpenCL devices of this machine; empty if there are none.

    >>> import abut
    >>> all("name" in device for device in abut.devices())
    True
    """
    found = _c.abut_device_info_list()
    lib.abut_device_list(context(), byref(found))
    infos = (_c.abut_device_info * max(found.count, 1))()
    infos[0].size = ctypes.sizeof(_c.abut_device_info)  # of all of them
    found.list, found.capacity = ctypes.addressof(infos), found.count
    check(lib.abut_device_list(context(), byref(found)))
    return [
        {
            "name": info.name.decode("utf-8", "replace"),
            "vendor": info.vendor.decode("utf-8", "replace"),
            "platform": info.platform.decode("utf-8", "replace"),
            "version": info.version.decode("utf-8", "replace"),
            "kind": name_of("abut_device_kind", info.kind),
            "compute_units": info.compute_units,
            "memory_bytes": info.memory_bytes,
            "has_doubles": info.has_doubles,
            "is_default": info.is_default,
        }
        for info in infos[: found.count]
    ]
