"""abut: collision queries between triangle meshes: overlap, distance, contacts and time of impact.

Arguments and results are NumPy arrays. Points are (n, 3) of float64 or float32. Poses are (7,): x y z, then the
quaternion x y z w; or (4, 4). Signed distances are negative inside. Results do not depend on the number of threads
or on the device. Only winding numbers of meshes with boundary differ between devices, by less than 0.02.

>>> import abut
>>> ball = abut.shape("icosphere", radius=1, segments=16)
>>> ball.signed_distance([[0, 0, 3], [0, 0, 0]]).round(2)
array([ 2., -1.])
"""

from ._arrays import NONE
from ._core import (
    ArgumentError,
    CancelledError,
    DeviceError,
    Error,
    FileError,
    FormatError,
    LimitError,
    MissingFileError,
    OutOfMemoryError,
    ReliabilityWarning,
    UnsupportedError,
    features,
    progress,
    set_threads,
    version,
)
from .batch import batch
from .character import Character, Collided, Garment, RadialAnswer, RadialField
from .cloth import Cloth, ClothEnergy, ClothStep, ClothUntangling
from .collider import Box, Capsule, Cylinder, Hull, Mass, Plane, Sphere, mass
from .device import Device, devices
from .field import Field, FieldValue
from .layers import Interferences, Layers, interfere
from .live import Live, LiveEvent
from .manager import CollisionManager
from .maps import Depth, DistanceMap, Measures
from .mesh import AllRayHits, Mesh, Nearest, RayHits
from .motion import Impact, Motion, SelfCollision, SelfStep
from .pair import (
    RELATIONS,
    Contacts,
    IntersectionMeasures,
    Separation,
    Touch,
    contacts,
    distance,
    hausdorff,
    intersection,
    overlap,
    relation,
    sweep,
    within,
)
from .queries import NearestBodies, Overlaps, WorldCasts, WorldHits, WorldNearest
from .report import Problem, Reliability, Report
from .robot import Clearances, Hits, Joint, Motions, Robot
from .scene import Frame, Scene, SceneBody, simulate
from .shapes import hull, join, load, shape
from .view import Page, show
from .world import ItemInfo, Pair, PairInfo, Step, Sweep, World

__version__ = version()

__all__ = [
    "AllRayHits",
    "ArgumentError",
    "Box",
    "CancelledError",
    "Capsule",
    "Character",
    "Clearances",
    "Cloth",
    "ClothEnergy",
    "ClothStep",
    "ClothUntangling",
    "Collided",
    "CollisionManager",
    "Contacts",
    "Cylinder",
    "Depth",
    "Device",
    "DeviceError",
    "DistanceMap",
    "Error",
    "Field",
    "FieldValue",
    "FileError",
    "FormatError",
    "Frame",
    "Garment",
    "Hits",
    "Hull",
    "Impact",
    "Interferences",
    "IntersectionMeasures",
    "ItemInfo",
    "Joint",
    "Layers",
    "LimitError",
    "Live",
    "LiveEvent",
    "Mass",
    "Measures",
    "Mesh",
    "MissingFileError",
    "Motion",
    "Motions",
    "NONE",
    "Nearest",
    "NearestBodies",
    "OutOfMemoryError",
    "Overlaps",
    "Page",
    "Pair",
    "PairInfo",
    "Plane",
    "Problem",
    "RELATIONS",
    "RadialAnswer",
    "RadialField",
    "RayHits",
    "Reliability",
    "ReliabilityWarning",
    "Report",
    "Robot",
    "Scene",
    "SceneBody",
    "SelfCollision",
    "SelfStep",
    "Separation",
    "Sphere",
    "Step",
    "Sweep",
    "Touch",
    "UnsupportedError",
    "World",
    "WorldCasts",
    "WorldHits",
    "WorldNearest",
    "batch",
    "contacts",
    "devices",
    "distance",
    "features",
    "hausdorff",
    "hull",
    "interfere",
    "intersection",
    "join",
    "load",
    "mass",
    "overlap",
    "progress",
    "relation",
    "set_threads",
    "shape",
    "show",
    "simulate",
    "sweep",
    "version",
    "within",
]
