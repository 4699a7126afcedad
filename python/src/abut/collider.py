"""Primitives: shapes with a closed form, for worlds and sweeps."""

from __future__ import annotations

from typing import Any, NamedTuple, Union

import numpy as np

from . import _c
from ._arrays import Array, ArrayLike, floats, vector
from ._core import ArgumentError, byref, lib, options, run
from .mesh import Bvh, Mesh, mesh_of


class Plane(NamedTuple):
    """A half-space: normal . x <= offset."""

    normal: ArrayLike = (0, 0, 1)
    offset: float = 0


class Sphere(NamedTuple):
    """A solid sphere: its radius, then its centre."""

    radius: float
    centre: ArrayLike = (0, 0, 0)


class Capsule(NamedTuple):
    """A capsule: all points within the radius of a segment."""

    a: ArrayLike
    b: ArrayLike
    radius: float


class Cylinder(NamedTuple):
    """A cylinder with flat ends: all points within the radius of the axis."""

    a: ArrayLike
    b: ArrayLike
    radius: float


class Box(NamedTuple):
    """A box, centred at the origin of its pose. `size` has the lengths of its sides, or one length for all."""

    size: ArrayLike = 1


class Hull(NamedTuple):
    """A closed convex mesh, such as one of abut.hull()."""

    mesh: Mesh


Primitive = Union[Plane, Sphere, Capsule, Cylinder, Box, Hull]
PRIMITIVES = (Plane, Sphere, Capsule, Cylinder, Box, Hull)


def _real(value: Any, what: str) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{what} must be a number, not {value!r}") from None


def length_of(value: Any, what: str) -> float:
    length = _real(value, what)
    max_length = _c.ABUT_COORDINATE_MAX
    if not 0 <= length <= max_length:
        raise ArgumentError(f"{what} is {length:g}; it must be from 0 to {max_length:g} units of the coordinates")
    return length


def fill_primitive(collider: Any, shape: Primitive) -> Any:
    """Sets kind and shape of an abut_collider. Returns the object that must outlive it."""
    if isinstance(shape, Plane):
        collider.kind = _c.ABUT_COLLIDER_PLANE
        collider.shape.plane = _c.abut_plane(vector(shape.normal, "normal"), _real(shape.offset, "offset"))
    elif isinstance(shape, Sphere):
        collider.kind = _c.ABUT_COLLIDER_SPHERE
        collider.shape.sphere = _c.abut_sphere(vector(shape.centre, "centre"), length_of(shape.radius, "radius"))
    elif isinstance(shape, (Capsule, Cylinder)):
        ends = (_c.abut_vec3 * 2)(vector(shape.a, "a"), vector(shape.b, "b"))
        radius = length_of(shape.radius, "radius")
        if isinstance(shape, Capsule):
            collider.kind, collider.shape.capsule = _c.ABUT_COLLIDER_CAPSULE, _c.abut_capsule(ends, radius)
        else:
            collider.kind, collider.shape.cylinder = _c.ABUT_COLLIDER_CYLINDER, _c.abut_cylinder(ends, radius)
    elif isinstance(shape, Box):
        collider.kind = _c.ABUT_COLLIDER_BOX
        sides = floats(shape.size, "size")
        if sides.shape not in ((), (3,)):
            raise ArgumentError(f"size must be one length or three, not of shape {sides.shape}")
        collider.shape.half = _c.abut_vec3(*(length_of(side, "size") / 2 for side in np.broadcast_to(sides, 3)))
    else:
        collider.kind = _c.ABUT_COLLIDER_HULL
        bvh = Bvh(mesh_of(shape.mesh, "the mesh of a hull")._handle, None)
        collider.shape.hull = bvh.handle.value
        return bvh
    return shape


class Mass(NamedTuple):
    """Volume, centroid and inertia of a shape, with density 1, in its local coordinates."""

    volume: float
    centroid: Array
    """(3,)"""
    inertia: Array
    """(3, 3): the tensor about the centroid."""


def mass(shape: Union[Mesh, Primitive]) -> Mass:
    """Returns the mass properties of a closed Mesh, or of a Sphere, Capsule, Cylinder, Box or Hull.

    >>> import abut
    >>> made = abut.mass(abut.Box((1, 2, 3)))
    >>> made.volume, made.inertia.diagonal().round(3).tolist()
    (6.0, [6.5, 5.0, 2.5])
    """
    collider, made = _c.abut_collider(), options(_c.abut_collider_mass)
    if isinstance(shape, PRIMITIVES):
        kept = fill_primitive(collider, shape)
        uses = [kept.handle] if isinstance(shape, Hull) else []
    else:
        kept = mesh_of(shape, "shape")
        collider.kind = _c.ABUT_COLLIDER_MESH
        collider.shape.mesh.mesh = kept._handle.value
        uses = [kept._handle]
    run(lib.abut_collider_get_mass, byref(collider), byref(made), uses=uses)
    xx, yy, zz, xy, yz, zx = made.inertia
    centroid = np.array([made.centroid.x, made.centroid.y, made.centroid.z])
    return Mass(made.volume, centroid, np.array([[xx, xy, zx], [xy, yy, yz], [zx, yz, zz]]))
