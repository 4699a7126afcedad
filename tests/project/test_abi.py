"""Layout of public structures: those that may grow start with `size_t size`, and none is too large to pass by value.

Reads all structures and functions of the public headers by python/bindings.py and checks that
- every structure starts with `size_t size` and has a default function, or is in FIXED with a reason;
- no structure contains one that starts with `size`, since that moves the members behind it when it grows;
- output lists have the members list, capacity and count, in this order;
- no array of a structure has the length of an enumeration;
- no function passes or returns a structure of more than BY_VALUE_MAX bytes by value.
FIXED may only list structures that exist and do not start with `size`.
Arguments: abut command, source folder, build folder.
"""
import ctypes
import importlib.util
import pathlib
import re
import sys

BY_VALUE_MAX = 128

# Structures with a fixed layout, by reason.
FIXED = {
    "geometry": "abut_vec3 abut_quat abut_pose abut_box abut_triangle abut_segment abut_ray abut_plane abut_sphere "
    "abut_capsule abut_cylinder abut_oriented_box abut_character_matrix abut_self_line abut_colour abut_grid",
    "result": "abut_closest_on_segment abut_closest_on_triangle abut_closest_pair abut_ray_triangle_hit "
    "abut_signed_closest abut_sweep_result abut_sweep_rigid_result abut_overlap abut_field_hit abut_map_sample "
    "abut_map_value",
    "element": "abut_cloth_attachment abut_cloth_intersection abut_cloth_seam abut_character_bone abut_character_channel abut_character_clip abut_character_morph abut_sample "
    "abut_sample_edge abut_contact abut_patch abut_field_value abut_layers_pair abut_layers_hit abut_map_texel "
    "abut_problem abut_nearest abut_pair_intersection abut_separation abut_pair_self_intersection "
    "abut_pair_group_hit abut_pair_group_closest abut_radial_axis abut_radial_answer abut_radial_hit abut_ray_hit "
    "abut_robot_geometry abut_robot_hit abut_robot_joint abut_robot_motion abut_robot_separation "
    "abut_live_event abut_scene_pair abut_impact abut_world_pair abut_world_event abut_world_impact abut_world_step_pair "
    "abut_world_hit abut_world_nearest abut_world_separation abut_world_cast",
    "part": "abut_reliability abut_map_witness abut_self_times",
    "array": "abut_array",
    "reserved": "abut_pair_cache abut_collider",
    "callback": "abut_samples_cache_entry abut_field_cache_entry",
}

source = pathlib.Path(sys.argv[2])
spec = importlib.util.spec_from_file_location("bindings", source / "python" / "bindings.py")
bindings = importlib.util.module_from_spec(spec)
spec.loader.exec_module(bindings)
mirror = bindings.Mirror()
texts = []
for _, text in bindings.ordered(source / "include"):
    mirror.read(text)
    texts.append(re.sub(r"/\*.*?\*/", " ", text, flags=re.DOTALL))
headers = "\n".join(texts)
made = {}
exec(bindings.python_text(mirror), made)

problems = []
fixed = {name: reason for reason, names in FIXED.items() for name in names.split()}
lists = set(re.findall(r"^typedef struct (abut_\w+_list)\b", headers, re.MULTILINE))
lists |= {f"{name}_list" for name in re.findall(r"^ABUT_LIST\((\w+)\)", headers, re.MULTILINE)}
defaults = set(re.findall(r"^ABUT_DEFAULT\((\w+)\)", headers, re.MULTILINE))
defaults |= set(re.findall(r"\b(abut_\w+)_default\(", headers))
for name, members in mirror.structures.items():
    has_size = members[0] == ("size", "c_size_t")
    for member, kind in members:
        inner = mirror.structures.get(kind) if isinstance(kind, str) else None
        if inner and inner[0] == ("size", "c_size_t"):
            problems.append(f"{name}.{member}: {kind} may grow; use a pointer, or its members")
    if name in lists:
        if [member for member, _ in members] != ["list", "capacity", "count"]:
            problems.append(f"{name}: an output list has the members list, capacity and count")
    elif name in fixed and fixed[name] != "callback" and has_size:
        problems.append(f"{name} starts with size: remove it from FIXED")
    elif name in fixed and fixed[name] == "callback" and not has_size:
        problems.append(f"{name}: the library fills it for a callback, so that it must start with size")
    elif name not in fixed and not has_size:
        problems.append(f"{name}: start it with `size_t size`, or add it to FIXED with a reason")
    elif name not in fixed and name not in defaults:
        problems.append(f"{name}: add ABUT_DEFAULT({name})")
problems += [f"FIXED has {name}, which is not a public structure" for name in fixed if name not in mirror.structures]

enumerators = set()
for body in re.findall(r"typedef enum \w+ *\{(.*?)\}", headers, re.DOTALL):
    enumerators |= set(re.findall(r"\b(ABUT_\w+)\b", body))
for length in re.findall(r"^\s+[\w\s*]+\w\[(ABUT_\w+)\]", headers, re.MULTILINE):
    if length in enumerators:
        problems.append(f"an array has the length {length}, an enumerator, which changes when the enumeration grows")

for name, (result, arguments) in mirror.functions.items():
    for kind in [result, *arguments]:
        if kind in mirror.structures and ctypes.sizeof(made[kind]) > BY_VALUE_MAX:
            problems.append(f"{name}: {kind} has {ctypes.sizeof(made[kind])} bytes; pass it by pointer")

if len(mirror.structures) < 100 or not lists or not enumerators:
    problems.append(f"only {len(mirror.structures)} structures and {len(lists)} lists were found")
for problem in problems:
    print(problem)
sys.exit(bool(problems))
