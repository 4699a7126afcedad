"""Scenes of concave meshes in MuJoCo, with contacts of abut, with MuJoCo's convex hulls and with its SDFs.

    python scenes.py                        all scenes, a table of results and times
    python scenes.py nut --png nut.png      one scene, with a picture of its end
    python scenes.py --convex               the time of convex meshes

Needs pip install abut[mujoco]; pictures need an OpenGL of MuJoCo, for example MUJOCO_GL=egl. The exit code is 1
if a scene ends in a wrong state with contacts of abut.
"""

import argparse
import sys
import time

import mujoco
import numpy as np

import abut
import abut.mujoco

# ---- meshes ----


def obj(mesh):
    """An OBJ file of a mesh, for the assets of a model."""
    lines = [f"v {x:.9g} {y:.9g} {z:.9g}" for x, y, z in mesh.vertices]
    return "\n".join(lines + [f"f {a} {b} {c}" for a, b, c in mesh.faces + 1]).encode()


def lathe(profile, segments):
    """A closed outline of (radius, height), counterclockwise, rotated about z. A point on the axis becomes one
    vertex."""
    vertices, rings = [], []
    for radius, height in profile:
        count = segments if radius > 0 else 1
        rings.append([len(vertices) + i % count for i in range(segments + 1)])
        angles = 2 * np.pi * np.arange(count) / segments
        vertices += [(radius * np.cos(t), radius * np.sin(t), height) for t in angles]
    faces = []
    for low, high in zip(rings, rings[1:] + rings[:1]):
        for i in range(segments):
            quad = low[i], low[i + 1], high[i + 1], high[i]
            faces += [t for t in ((quad[0], quad[1], quad[2]), (quad[0], quad[2], quad[3])) if len(set(t)) == 3]
    return abut.Mesh(vertices, faces)


def vessel(radius, wall, lowest):
    """The lower part of a hollow ball, from `lowest` (-90 degrees is the bottom) up to a flat rim."""
    angles = np.radians(np.linspace(-90, lowest, 13))
    outer = [(radius * np.cos(t), radius * np.sin(t)) for t in angles]
    inner = [((radius - wall) * np.cos(t), (radius - wall) * np.sin(t)) for t in angles]
    outer[0], inner[0] = (0, -radius), (0, wall - radius)
    return lathe(outer + inner[::-1], 48)


def cup(radius, height, wall):
    return lathe([(0, 0), (radius, 0), (radius, height), (radius - wall, height), (radius - wall, wall), (0, wall)], 48)


def gear(teeth, radius, thickness):
    """Trapezoid teeth about a pitch circle."""
    pitch = 2 * np.pi / teeth
    outline = []
    for i in range(4 * teeth):
        r, side = (0.87, 1.1, 1.1, 0.87)[i % 4], (-1, -1, 1, 1)[i % 4]
        t = i // 4 * pitch + side * (0.24 * pitch + (1 - r) * np.tan(np.pi / 9))
        outline.append((radius * r * np.cos(t), radius * r * np.sin(t)))
    n, half = len(outline), thickness / 2
    vertices = [(x, y, z) for z in (-half, half) for x, y in outline] + [(0, 0, -half), (0, 0, half)]
    faces = []
    for i in range(n):
        j = (i + 1) % n
        faces += [(i, j, n + j), (i, n + j, n + i), (2 * n, j, i), (2 * n + 1, n + i, n + j)]
    return abut.Mesh(vertices, faces)


PITCH = 0.025  # of an M20 thread, ten times as large, in metres


def thread(is_nut, turns, segments=48):
    """A right-handed ISO thread about z, its middle at the origin: a bolt, or a nut with 1 mm of play.

    Rows of vertices go up with the helix, and both ends are helices with a step, closed by fans."""
    rows, length, play = 4 * turns + 1, (turns + 1) * PITCH, 0.002 if is_nut else 0
    tip, root = (0.102, 0.1 - 0.54127 * PITCH) if is_nut else (0.1, 0.08466)
    vertices, faces = [], []
    for k in range(rows):
        r = tip if k % 4 < 2 else root
        half = 0.5 * (PITCH / 8 + 2 * np.tan(np.pi / 6) * (0.1 - r) + play)
        z = (k // 4 + (k % 4 == 3)) * PITCH + (-half if k % 4 in (0, 3) else half)
        for i in range(segments):
            t = 2 * np.pi * i / segments
            vertices.append((r * np.cos(t), r * np.sin(t), z + PITCH * i / segments - 0.5 * length))
    ring = []
    for z in (-0.5 * length, 0.5 * length):
        count = segments if is_nut else 1
        ring.append([len(vertices) + i % count for i in range(segments + 1)])
        angles = 2 * np.pi * np.arange(count) / segments
        vertices += [(0.15 * np.cos(t), 0.15 * np.sin(t), z) if is_nut else (0, 0, z) for t in angles]
    n, last = segments, rows - 1
    for i in range(n):
        j, up = (i + 1) % n, 4 if i + 1 == n else 0
        for k in range(rows - 1 - up):
            a, b, c, d = k * n + i, (k + up) * n + j, (k + 1 + up) * n + j, (k + 1) * n + i
            faces += [(a, b, c), (a, c, d)]
        faces += [(ring[0][i], up * n + j, i), (ring[1][i], (last - up) * n + i, last * n + j)]
        if is_nut:
            faces += [(ring[0][i], ring[0][i + 1], up * n + j), (ring[1][i], last * n + j, ring[1][i + 1])]
            a, b, c, d = ring[0][i], ring[1][i], ring[1][i + 1], ring[0][i + 1]
            faces += [(a, b, c), (a, c, d)]
    for k in range(4):
        top = last - 4 + k
        faces += [(ring[0][0], k * n, (k + 1) * n), (ring[1][n - 1], (top + 1) * n + n - 1, top * n + n - 1)]
    return abut.Mesh(vertices, np.array(faces)[:, ::-1] if is_nut else faces)


def socket(half, hole, height, floor):
    """A block with a square hole from above."""
    square = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)])
    levels = [(half, 0), (half, height), (hole, height), (hole, floor)]
    vertices = [(x * s, y * s, z) for s, z in levels for x, y in square]
    faces = [(0, 3, 2), (0, 2, 1), (12, 13, 14), (12, 14, 15)]
    for low in (0, 4, 8):
        for i in range(4):
            a, b = low + i, low + (i + 1) % 4
            faces += [(a, b, b + 4), (a, b + 4, a + 4)]
    return abut.Mesh(vertices, faces)


# ---- scenes ----

HEAD = """<mujoco>
  <compiler angle="degree" inertiafromgeom="true"/>
  <option timestep="0.001"/>
  <visual><global offwidth="640" offheight="480"/><headlight ambient=".4 .4 .4"/></visual>
  <default><geom solref="0.005 1" density="1000" rgba=".7 .75 .8 1"/><mesh inertia="exact"/></default>
  <asset><texture type="skybox" builtin="flat" rgb1="1 1 1" rgb2="1 1 1" width="16" height="16"/></asset>
"""


class Bowl:
    """Eighteen balls fall into a bowl."""

    seconds, camera = 2.0, (0.85, 140, -40, (0, 0, -0.1))
    concave = ("bowl",)
    meshes = {"bowl": vessel(0.3, 0.02, 0), "ball": abut.shape("icosphere", radius=0.04, segments=4)}
    spots = [(x, y, 0.05 + 0.1 * layer) for layer in range(2) for x in (-0.12, 0, 0.12) for y in (-0.12, 0, 0.12)]
    balls = "".join(
        f'<body pos="{x + 0.01 * i / 18} {y + 0.002 * i} {z}"><freejoint/>'
        f'<geom type="mesh" mesh="ball" rgba=".9 {0.2 + 0.04 * i} .2 1"/></body>'
        for i, (x, y, z) in enumerate(spots)
    )
    xml = (
        HEAD
        + f"""
  <asset><mesh file="bowl.obj"/><mesh file="ball.obj"/></asset>
  <worldbody><light pos="0 0 3"/>
    <geom type="mesh" mesh="bowl" rgba=".6 .7 .9 .4"/>
    {balls}
  </worldbody></mujoco>"""
    )

    def check(self, model, data):
        centres = data.xpos[1:]
        inside = (np.linalg.norm(centres, axis=1) < 0.28) & (centres[:, 2] < 0.05)
        return f"{inside.sum()} of {len(inside)} balls in the bowl", bool(inside.all())


class Gears:
    """A motor turns one gear, which drives the other. Both have 16 teeth."""

    seconds, camera = 4.0, (0.45, 90, -60, (0.1, 0, 0))
    concave = ("gear",)
    meshes = {"gear": gear(16, 0.1, 0.03)}
    xml = (
        HEAD
        + """
  <asset><mesh file="gear.obj"/></asset>
  <worldbody><light pos="0 0 3"/>
    <body><joint name="a" axis="0 0 1" damping=".001"/><geom type="mesh" mesh="gear" rgba=".9 .6 .2 1"/></body>
    <body pos=".202 0 0" euler="0 0 11.25"><joint name="b" axis="0 0 1" damping=".02"/>
      <geom type="mesh" mesh="gear" rgba=".3 .5 .8 1"/></body>
  </worldbody>
  <actuator><velocity joint="a" kv="1" ctrlrange="-9 9"/></actuator></mujoco>"""
    )

    def control(self, model, data):
        data.ctrl[0] = 2

    def check(self, model, data):
        a, b = data.qpos
        good = a > 7 and abs(a + b) < 0.05
        return f"angles {a:.2f} and {b:.2f} rad", bool(good)


class Nut:
    """A nut is turned to the right on a fixed bolt, and goes down by one pitch a turn. With abut its geoms
    have the type "sdf", which allows up to 50 contacts of a pair."""

    needs_many_contacts = True
    seconds, camera = 2.25, (0.65, 120, -25, (0, 0, 0.02))
    concave = ("bolt", "nut")
    meshes = {"bolt": thread(False, 10), "nut": thread(True, 4)}
    xml = (
        HEAD
        + f"""
  <asset><mesh file="bolt.obj"/><mesh file="nut.obj"/></asset>
  <worldbody><light pos="1 -1 3"/>
    <geom type="mesh" mesh="bolt" friction=".1"/>
    <body name="nut" pos="0 0 {2 * PITCH}"><freejoint/>
      <geom type="mesh" mesh="nut" friction=".1" rgba=".9 .6 .2 .6"/></body>
  </worldbody></mujoco>"""
    )

    def control(self, model, data):
        if data.time < 0.25:  # it sinks onto the flanks first
            self.start, self.angle = data.qpos[2], 0.0
            return
        self.angle -= data.qvel[5] * model.opt.timestep
        speed = 2 * np.pi * min(1, (data.time - 0.25) / 0.2)
        data.xfrc_applied[1, 5] = -20 * (speed + data.qvel[5])

    def check(self, model, data):
        down, turns = (self.start - data.qpos[2]) / PITCH, self.angle / (2 * np.pi)
        good = turns > 1.7 and abs(down - turns) < 0.1 and np.hypot(*data.qpos[:2]) < 0.003
        return f"{turns:.2f} turns, {down:.2f} pitches down", bool(good)


class Mug:
    """A mug hangs by its handle on a peg."""

    seconds, camera = 3.0, (0.65, 110, -12, (0, 0, 0.18))
    concave = ("cup", "handle")
    meshes = {
        "cup": cup(0.04, 0.1, 0.004),
        "handle": abut.shape("torus", radius=0.03, radius2=0.006, segments=32, rings=12),
    }
    xml = (
        HEAD
        + """
  <asset><mesh file="cup.obj"/><mesh file="handle.obj"/></asset>
  <worldbody><light pos="0 -1 3"/>
    <geom type="plane" size="1 1 .1" rgba=".9 .9 .9 1"/>
    <geom type="capsule" fromto="0 -.1 .3  0 .1 .3" size=".008" rgba=".5 .35 .2 1"/>
    <body pos="-.062 0 .232"><freejoint/>
      <geom type="mesh" mesh="cup" rgba=".8 .3 .3 1"/>
      <geom type="mesh" mesh="handle" pos=".062 0 .05" euler="90 0 0" rgba=".8 .3 .3 1"/></body>
  </worldbody></mujoco>"""
    )

    def check(self, model, data):
        z = data.geom_xpos[3, 2]
        good = 0.26 < z < 0.29
        return f"handle at {z:.3f} m, peg at 0.300", bool(good)


class Peg:
    """A square peg slides to the bottom of a hole with 1 mm of play on each side."""

    seconds, camera = 1.5, (0.9, 130, -25, (0, 0, 0.17))
    concave = ("socket",)
    meshes = {"socket": socket(0.15, 0.051, 0.2, 0.02), "peg": abut.shape("box", size=(0.1, 0.1, 0.25), segments=1)}
    xml = (
        HEAD
        + """
  <asset><mesh file="socket.obj"/><mesh file="peg.obj"/></asset>
  <worldbody><light pos="0 0 3"/>
    <geom type="mesh" mesh="socket" rgba=".6 .7 .9 .5"/>
    <body pos="0.0005 0 .33" euler=".2 .2 0"><freejoint/><geom type="mesh" mesh="peg" friction=".3" rgba=".9 .6 .2 1"/></body>
  </worldbody></mujoco>"""
    )

    def check(self, model, data):
        bottom = data.qpos[2] - 0.125
        return f"bottom of the peg at {bottom:.4f} m, of the hole at 0.0200", bool(abs(bottom - 0.02) < 0.001)


SCENES = {"bowl": Bowl, "gears": Gears, "nut": Nut, "mug": Mug, "peg": Peg}


CONTACTS = ("abut", "hulls", "sdf")  # MuJoCo has the last two: convex hulls, and signed distance fields


def load(scene, contacts="abut"):
    xml = scene.xml
    if contacts == "sdf" or (contacts == "abut" and hasattr(scene, "needs_many_contacts")):
        for name in scene.concave:
            xml = xml.replace(f'type="mesh" mesh="{name}"', f'type="sdf" mesh="{name}"')
    model = mujoco.MjModel.from_xml_string(xml, {f"{name}.obj": obj(mesh) for name, mesh in scene.meshes.items()})
    if contacts == "abut":
        abut.mujoco.install(model)
    return model


def run(name, contacts, seconds=None):
    """Runs a scene. Returns its model, 25 positions in the course of it, what check() found, whether that is right,
    and the processor time of a step in ms."""
    scene = SCENES[name]()
    model = load(scene, contacts)
    data, states = mujoco.MjData(model), []
    steps = round((seconds or scene.seconds) / model.opt.timestep)
    begin = time.process_time()
    for step in range(1, steps + 1):
        if hasattr(scene, "control"):
            scene.control(model, data)
        mujoco.mj_step(model, data)
        if step % (steps // 25) == 0:
            states.append(data.qpos.copy())
    spent = time.process_time() - begin
    text, good = scene.check(model, data)
    return model, states, text, good, 1e3 * spent / steps


def picture(name, ends):
    """The final states side by side."""
    images = []
    for model, state in ends:
        data, camera = mujoco.MjData(model), mujoco.MjvCamera()
        data.qpos[:] = state
        mujoco.mj_forward(model, data)
        camera.distance, camera.azimuth, camera.elevation, camera.lookat = SCENES[name].camera
        with mujoco.Renderer(model, 220, 260) as renderer:
            renderer.update_scene(data, camera)
            images.append(renderer.render())
    return np.concatenate(images, axis=0)


# ---- times ----


def pile(mesh, count, size):
    """Convex bodies that fall into a box of planes."""
    bodies = "".join(
        f'<body pos="{size * (i % 3 - 1) + 0.003 * i} {size * (i // 3 % 3 - 1)} {size * (1 + i // 9)}"><freejoint/>'
        '<geom type="mesh" mesh="body"/></body>'
        for i in range(count)
    )
    walls = "".join(
        f'<geom type="plane" size="1 1 .1" pos="{-2 * size * x} {-2 * size * y} 0" zaxis="{x} {y} 0"/>'
        for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1))
    )
    xml = (
        HEAD
        + f"""<asset><mesh file="body.obj"/></asset>
      <worldbody><geom type="plane" size="1 1 .1"/>{walls}{bodies}</worldbody></mujoco>"""
    )
    return mujoco.MjModel.from_xml_string(xml, {"body.obj": obj(mesh)})


def collision_times(models, states, rounds=3):
    """The processor time of mj_collision in us for each of several models, alternately, and their contacts."""
    datas = [mujoco.MjData(model) for model in models]
    times, contacts = np.full((rounds, len(models)), 0.0), [0] * len(models)
    for spent in times:
        for number, state in enumerate(states):
            for turn in range(len(models)):  # each is the first as often as the others
                k = (number + turn) % len(models)
                model, data = models[k], datas[k]
                data.qpos[:] = state
                mujoco.mj_fwdPosition(model, data)
                begin = time.process_time()
                for _ in range(3):
                    mujoco.mj_collision(model, data)
                spent[k] += (time.process_time() - begin) / 3
                contacts[k] += data.ncon
    return 1e6 * times.min(axis=0) / len(states), np.array(contacts) / rounds / len(states)


def measure_convex():
    """Piles of convex meshes: MuJoCo, abut installed, and abut for all pairs."""
    print(f"{'27 bodies':24} {'MuJoCo, us':>10} {'installed':>10} {'convex=True':>11}  contacts")
    for name, mesh in (
        ("cubes of 12", abut.shape("box", size=0.1, segments=1)),
        ("icospheres of 80", abut.shape("icosphere", radius=0.05, segments=2)),
        ("icospheres of 320", abut.shape("icosphere", radius=0.05, segments=4)),
        ("icospheres of 1,280", abut.shape("icosphere", radius=0.05, segments=8)),
    ):
        models = [pile(mesh, 27, 0.11) for _ in range(3)]
        abut.mujoco.install(models[1])
        abut.mujoco.install(models[2], convex=True)
        data, states = mujoco.MjData(models[0]), []
        for _ in range(25):
            mujoco.mj_step(models[0], data, 40)
            states.append(data.qpos.copy())
        times, contacts = collision_times(models, states)
        print(f"{name:24} {times[0]:10.0f} {times[1]:10.0f} {times[2]:11.0f}  {contacts.round(1).tolist()}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenes", nargs="*", metavar="SCENE", help=f"{', '.join(SCENES)}; default: all")
    parser.add_argument("--png", help="a picture of the final states: abut above, hulls, SDFs below")
    parser.add_argument("--convex", action="store_true", help="measure convex meshes instead")
    chosen = parser.parse_args()
    unknown = set(chosen.scenes) - set(SCENES)
    if unknown:
        parser.error(f"no scene {', '.join(unknown)}")
    if chosen.convex:
        measure_convex()
        return False
    failed, images = False, []
    print(f"{'scene':6} {'contacts':8} {'ms a step':>9} {'us':>7} {'count':>6}  result")
    for name in chosen.scenes or SCENES:
        results = [run(name, contacts) for contacts in CONTACTS]
        # collision detection alone, of the same positions
        times, counts = collision_times([result[0] for result in results], results[0][1])
        for contacts, (_, _, text, good, spent), us, count in zip(CONTACTS, results, times, counts):
            failed |= contacts == "abut" and not good
            mark = "" if good else "WRONG: "
            print(f"{name:6} {contacts:8} {spent:9.3f} {us:7.0f} {count:6.1f}  {mark}{text}", flush=True)
        if chosen.png:
            images.append(picture(name, [(model, states[-1]) for model, states, *_ in results]))
    if chosen.png:
        from PIL import Image

        Image.fromarray(np.concatenate(images, axis=1)).save(chosen.png)
    return failed


if __name__ == "__main__":
    sys.exit(main())
