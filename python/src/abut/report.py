"""Health reports of meshes, and the reliability of results."""

from __future__ import annotations

import itertools
import sys
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from . import _c
from ._arrays import Array, Floats, vec
from ._core import ReliabilityWarning, lib, name_of


class Reliability(NamedTuple):
    """The reliability of a result on these meshes."""

    level: str
    """ "guaranteed", "limited" or "unreliable"."""
    reason: str


def reliability(value: Any) -> Reliability:
    reason = value.reason
    return Reliability(name_of("abut_reliability_level", value.level), reason.decode() if reason else "")


def warn_unless_guaranteed(said: Reliability) -> Reliability:
    """Issues a ReliabilityWarning at the line that called the package, unless the result is guaranteed."""
    if said.level != "guaranteed":
        level, frame = 2, sys._getframe(1)
        while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == __package__:
            level, frame = level + 1, frame.f_back
        warnings.warn(f"{said.level}: {said.reason}", ReliabilityWarning, stacklevel=level)
    return said


class Problem(NamedTuple):
    """Elements of a mesh with one kind of defect."""

    count: int  # type: ignore[assignment]
    first: Array
    """The lowest indices, up to eight."""


class Report:
    """The health report of a mesh: counts, measures, and problems by name. docs/mesh.md describes each."""

    vertex_count: int
    triangle_count: int
    edge_count: int
    component_count: int
    loop_count: int
    euler_number: int
    is_closed: bool
    is_manifold: bool
    is_oriented: bool
    is_balanced: bool
    has_boundary: bool
    has_opposite_boundary: bool
    has_volume: bool
    has_flat_component: bool
    has_nested_component: bool
    has_isolated_edges: bool
    bounds: Floats
    area: float
    volume: float
    centroid: Floats
    inertia: Floats
    is_solid: bool
    problems: dict[str, Problem]
    has_self_intersection_test: bool
    self_intersection_count: int
    hole_fraction: float
    has_sheets: bool
    is_sheet: bool

    def __init__(self, given: Any) -> None:
        fields: list[tuple[str, Any]] = _c.abut_mesh_report._fields_  # type: ignore[assignment,unused-ignore]
        for name, kind in fields[1:]:  # without size
            value = getattr(given, name)
            if kind is _c.abut_vec3:
                value = vec(value)
            elif kind is _c.abut_box:
                value = np.array((vec(value.lo), vec(value.hi)))
            elif name == "inertia":
                xx, yy, zz, xy, yz, zx = value
                value = np.array(((xx, xy, zx), (xy, yy, yz), (zx, yz, zz)))
            elif name == "problems":
                names = itertools.takewhile(bool, map(lib.abut_problem_kind_name, itertools.count()))
                value = {
                    str(kind.decode()): Problem(p.count, np.array(p.first[: min(p.count, 8)], np.uint32))
                    for kind, p in zip(names, value)
                }
            setattr(self, name, value)

    if not TYPE_CHECKING:  # type checkers use the fields above

        def __getattr__(self, name: str) -> Any:
            raise AttributeError(f"a report has no {name!r}; it has {', '.join(vars(self))}")

    def __repr__(self) -> str:
        found = [f"{name} {problem.count}" for name, problem in self.problems.items() if problem.count]
        return (
            f"<abut.Report of {self.triangle_count} triangles: {'closed' if self.is_closed else 'open'}, area "
            f"{self.area:.6g}, volume {self.volume:.6g}; {', '.join(found) if found else 'no problems'}>"
        )
