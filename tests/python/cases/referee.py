"""The obvious slow versions, in numpy."""

import functools
import sys

import numpy as np

import abut


def closest(p, mesh):
    """The least distance of each point to all triangles, by a fine search over each: corners, edges, face."""
    v = mesh.vertices[mesh.faces]
    best = np.full(len(p), np.inf)
    for a, b, c in v:
        n = np.cross(b - a, c - a)
        flat = np.abs((p - a) @ n) / np.linalg.norm(n)
        inside = np.ones(len(p), bool)
        for s, e in ((a, b), (b, c), (c, a)):
            inside &= np.cross(e - s, p - s) @ n >= 0
            t = np.clip(((p - s) @ (e - s)) / ((e - s) @ (e - s)), 0, 1)
            best = np.minimum(best, np.linalg.norm(p - s - t[:, None] * (e - s), axis=1))
        best = np.where(inside, np.minimum(best, flat), best)
    return best


def rays(o, d, mesh):
    """All parameters at which each ray crosses a triangle (Moeller and Trumbore), sorted."""
    v = mesh.vertices[mesh.faces]
    hits = []
    for origin, direction in zip(o, d):
        e, f = v[:, 1] - v[:, 0], v[:, 2] - v[:, 0]
        h = np.cross(direction, f)
        det = (e * h).sum(axis=1)
        with np.errstate(all="ignore"):
            s = origin - v[:, 0]
            u = (s * h).sum(axis=1) / det
            q = np.cross(s, e)
            w = (q @ direction) / det
            t = (f * q).sum(axis=1) / det
        hits.append(np.sort(t[(u >= 0) & (w >= 0) & (u + w <= 1) & (t >= 0)]))
    return hits


def turn(rng):
    """A random quaternion x y z w, and its matrix by axis and angle."""
    axis = rng.normal(size=3)
    axis /= np.linalg.norm(axis)
    angle = rng.uniform(-np.pi, np.pi)
    k = np.array(((0, -axis[2], axis[1]), (axis[2], 0, -axis[0]), (-axis[1], axis[0], 0)))
    matrix = np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k
    return np.array((*axis * np.sin(angle / 2), np.cos(angle / 2))), matrix


def poses(rng, count, reach):
    """Random poses as (k, 7) and as (k, 4, 4)."""
    short, long = np.zeros((count, 7)), np.tile(np.eye(4), (count, 1, 1))
    for i in range(count):
        short[i, 3:], long[i, :3, :3] = turn(rng)
        short[i, :3] = long[i, :3, 3] = rng.uniform(-reach, reach, 3)
    return short, long


@functools.lru_cache(maxsize=None)
def figure():
    """A small character, made once: making it takes more than a second."""
    return abut.Character.figure("mannequin", triangles=8000)


def calls(function):
    """How many functions of Python a call runs, itself not counted."""
    count, before = 0, sys.getprofile()

    def note(frame, event, argument):
        nonlocal count
        count += event == "call"

    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(before)
    return count - 1
