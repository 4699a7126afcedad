"""Makes the meshes of the sample arm: rods with a drum at the joint, and a gripper. Needs the Python package."""

import pathlib

import numpy as np

import abut

FOLDER = pathlib.Path(__file__).parent / "meshes"
QUARTER = np.sqrt(0.5)


def link(radius, length):
    """A rod from the joint upwards, with a drum across the joint, and a ring where the next joint is."""
    rod = abut.shape("capsule", radius=radius, height=length, segments=16, rings=4)
    drum = abut.shape("cylinder", radius=1.15 * radius, height=2.4 * radius, segments=20, rings=1)
    ring = abut.shape("tube", radius=1.1 * radius, radius2=0.9 * radius, height=0.3 * radius, segments=20, rings=1)
    return abut.join(
        [
            rod.transformed([0, 0, length / 2, 0, 0, 0, 1]),
            drum.transformed([0, 0, 0, QUARTER, 0, 0, QUARTER]),
            ring.transformed([0, 0, 0.75 * length, 0, 0, 0, 1]),
        ]
    )


def hand():
    """A palm with two fingers."""
    boxes = [([0.05, 0.14, 0.05], [0, 0, 0.025])] + [([0.03, 0.02, 0.08], [0, y, 0.09]) for y in (-0.05, 0.05)]
    return abut.join([abut.shape("box", size=extent, segments=1).transformed([*at, 0, 0, 0, 1]) for extent, at in boxes])


FOLDER.mkdir(exist_ok=True)
for name, mesh in {"large": link(0.07, 0.12), "long": link(0.055, 0.2), "small": link(0.04, 0.1), "hand": hand()}.items():
    mesh.save(FOLDER / f"{name}.stl")
