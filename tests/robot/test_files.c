/* Robots from files: URDF and MJCF against descriptions, meshes and packages, SRDF, sampling, and
 * each kind of error. */
#include "robot/arm.h"

#include <stdio.h>
#include <sys/stat.h>

static const char urdf[] =
    "<?xml version='1.0'?>\n"
    "<robot name='two'>\n"
    "  <link name='base'><visual/><collision><geometry><box size='0.2 0.2 0.1'/></geometry>"
    "</collision></link>\n"
    "  <link name='upper'>\n"
    "    <collision><origin xyz='0 0 0.3' rpy='0 0 0'/><geometry><cylinder radius='0.05' "
    "length='0.6'/></geometry></collision>\n"
    "    <collision><origin xyz='0.5 0 0' rpy='0 1.5707963267948966 0'/><geometry><capsule "
    "radius='0.05' length='0.2'/></geometry></collision>\n"
    "  </link>\n"
    "  <link name='lower'><collision><geometry><sphere radius='0.1'/></geometry></collision>"
    "</link>\n"
    "  <link name='finger'/>\n"
    "  <joint name='shoulder' type='revolute'><parent link='base'/><child link='upper'/>"
    "<origin xyz='0 0 0.1' rpy='0.1 0.2 0.3'/><axis xyz='0 1 0'/>"
    "<limit lower='-2' upper='1.5'/></joint>\n"
    "  <joint name='elbow' type='prismatic'><parent link='upper'/><child link='lower'/>"
    "<origin xyz='0 0 0.8'/><axis xyz='0 0 2'/></joint>\n"
    "  <joint name='grip' type='continuous'><parent link='lower'/><child link='finger'/>"
    "<mimic joint='shoulder' multiplier='-0.5' offset='0.25'/></joint>\n"
    "</robot>\n";

static bool has_urdf(void) {
    return strstr(abut_features(), "urdf") != NULL;
}

static abut_status parse(const char *text, abut_robot **robot) {
    return abut_robot_read_memory(NULL, text, strlen(text), NULL, NULL, robot);
}

/* In a build without expat, all files are rejected. */
#define SKIP_WITHOUT_EXPAT()                                                           \
    do {                                                                               \
        if (!has_urdf()) {                                                             \
            abut_robot *none = NULL;                                                   \
            assert_fails(ABUT_ERROR_UNSUPPORTED, "without expat", parse(urdf, &none)); \
            return;                                                                    \
        }                                                                              \
    } while (0)

TEST(urdf_is_read) {
    SKIP_WITHOUT_EXPAT();
    AUTO(robot) robot = NULL;
    abut_robot_info info = abut_robot_info_default();
    abut_robot_joint joint;
    abut_robot_geometry part;
    assert_ok(parse(urdf, &robot));
    assert_ok(abut_robot_get_info(robot, &info));
    assert_string_equal(info.name, "two");
    assert_true(info.link_count == 4 && info.joint_count == 3 && info.variable_count == 2 &&
                info.geometry_count == 4 && info.pair_count == 1);
    assert_ok(abut_robot_get_joint(robot, 0, &joint));
    assert_string_equal(joint.name, "shoulder");
    assert_true(joint.kind == ABUT_ROBOT_REVOLUTE && joint.lower == -2 && joint.upper == 1.5 &&
                joint.parent == 0 && joint.child == 1 && joint.mimic == ABUT_NONE);
    assert_ok(abut_robot_get_joint(robot, 2, &joint));
    assert_true(joint.mimic == 0 && joint.multiplier == -0.5 && joint.offset == 0.25);
    assert_ok(abut_robot_get_geometry(robot, 1, &part));
    assert_true(part.link == 1 && part.collider.kind == ABUT_COLLIDER_CYLINDER &&
                part.collider.shape.cylinder.radius == 0.05 &&
                part.collider.shape.cylinder.end[1].z == 0.3);
    /* poses: rpy are fixed axes, x first */
    const double q[2] = {0.4, 0.1};
    abut_pose poses[4], expected = arm_pose(0, 0, 0), turn;
    static const abut_vec3 axes[] = {{0, 0, 1}, {0, 1, 0}, {1, 0, 0}};
    assert_ok(abut_robot_compute_poses(robot, q, 1, poses));
    for (int i = 0; i < 3; i++) {
        assert_ok(abut_pose_from_axis_angle(axes[i], 0.3 - 0.1 * i, vec(0, 0, 0), &turn));
        assert_ok(abut_pose_compose(&expected, &turn, &expected));
    }
    expected.translation.z = 0.1;
    assert_ok(abut_pose_from_axis_angle(vec(0, 1, 0), 0.4, vec(0, 0, 0), &turn));
    assert_ok(abut_pose_compose(&expected, &turn, &expected));
    turn = arm_pose(0, 0, 0.9);
    assert_ok(abut_pose_compose(&expected, &turn, &expected));
    const double *p = &expected.rotation.x, *r = &poses[2].rotation.x;
    for (int i = 0; i < 7; i++)
        assert_true(fabs(p[i] - r[i]) < 1e-14);
}

static const char mjcf[] =
    "<mujoco model='arm'>\n"
    "  <compiler angle='degree' eulerseq='XYZ'/>\n"
    "  <default><geom type='capsule' size='0.05'/>\n"
    "    <default class='arm'><joint axis='0 1 0' range='-90 45'/>"
    "<default class='visual'><geom contype='0' conaffinity='0'/></default></default></default>\n"
    "  <worldbody><geom type='plane' size='1 1 1'/><light pos='0 0 1'/>\n"
    "    <body name='base' pos='0 0 0.1' euler='5.729577951308232 11.459155902616466 "
    "17.188733853924695' childclass='arm'>\n"
    "      <geom fromto='0 0 0 0 0 0.5'/><geom class='visual' type='mesh' mesh='missing'/>\n"
    "      <body name='upper' pos='0 0 0.6'>\n"
    "        <joint name='a'/><joint name='b' axis='1 0 0' pos='0 0 0.1' ref='10'/>\n"
    "        <geom type='box' size='0.1 0.1 0.2'/>\n"
    "        <body pos='0 0 0.4'><joint type='slide' axis='0 0 1' range='0 0.2'/>"
    "<geom type='sphere'/></body>\n"
    "        <body name='f'><joint name='f' limited='false'/></body>\n"
    "      </body>\n"
    "    </body>\n"
    "  </worldbody>\n"
    "  <equality><joint joint1='f' joint2='a' polycoef='0.5 2 0 0 0'/></equality>\n"
    "  <contact><exclude body1='base' body2='body#3'/></contact>\n"
    "</mujoco>\n";

/* Geometry of the world is tested with all links that move, as in MuJoCo. */
TEST(world_of_mjcf_is_tested) {
    SKIP_WITHOUT_EXPAT();
    AUTO(robot) robot = NULL;
    const double turned = 0.785, straight = 0;
    abut_robot_hit hit;
    assert_ok(parse("<mujoco><worldbody><geom type='box' size='.1 .1 .1' pos='.5 .5 0'/>"
                    "<body name='a'><joint axis='0 0 1'/>"
                    "<geom type='box' size='.5 .02 .02' pos='.5 0 0'/></body>"
                    "<body name='b'><geom type='box' size='1 1 1'/></body></worldbody></mujoco>",
                    &robot));
    assert_true(!abut_robot_is_allowed(robot, 0, 1));
    assert_true(abut_robot_is_allowed(robot, 0, 2)); /* never moves */
    assert_ok(abut_robot_allow(robot, 1, 2, true));
    assert_ok(abut_robot_test(robot, NULL, &turned, 1, &hit, NULL));
    assert_true(hit.collides);
    assert_ok(abut_robot_test(robot, NULL, &straight, 1, &hit, NULL));
    assert_true(!hit.collides);
}

TEST(mjcf_is_read) {
    SKIP_WITHOUT_EXPAT();
    AUTO(robot) robot = NULL;
    abut_robot_info info = abut_robot_info_default();
    abut_robot_joint joint;
    const double degree = 0.017453292519943295;
    assert_ok(parse(mjcf, &robot));
    assert_ok(abut_robot_get_info(robot, &info));
    assert_true(info.link_count == 6 && info.variable_count == 3 && info.geometry_count == 3);
    assert_string_equal(abut_robot_link_name(robot, 2), "upper/0");
    assert_string_equal(abut_robot_link_name(robot, 3), "upper");
    assert_string_equal(abut_robot_link_name(robot, 4), "body#3");
    assert_ok(abut_robot_get_joint(robot, 1, &joint));
    assert_true(joint.kind == ABUT_ROBOT_REVOLUTE && fabs(joint.lower + 90 * degree) < 1e-15 &&
                fabs(joint.upper - 45 * degree) < 1e-15 && joint.axis.y == 1);
    assert_ok(abut_robot_get_joint(robot, 2, &joint));
    assert_true(joint.anchor.z == 0.1 && fabs(joint.offset + 10 * degree) < 1e-15);
    assert_ok(abut_robot_get_joint(robot, 3, &joint));
    assert_true(joint.kind == ABUT_ROBOT_PRISMATIC && joint.upper == 0.2);
    assert_ok(abut_robot_get_joint(robot, 4, &joint));
    assert_true(joint.kind == ABUT_ROBOT_CONTINUOUS && joint.mimic == 1 && joint.multiplier == 2 &&
                joint.offset == 0.5);
    assert_true(abut_robot_is_allowed(robot, 1, 4)); /* excluded */
    assert_int_equal(info.pair_count, 0);
    /* the same rotation as rpy in the URDF; joint b is at its reference */
    const double q[3] = {0, 10 * degree, 0.05};
    abut_pose poses[6], expected = arm_pose(0, 0, 0), turn;
    static const abut_vec3 axes[] = {{0, 0, 1}, {0, 1, 0}, {1, 0, 0}};
    assert_ok(abut_robot_compute_poses(robot, q, 1, poses));
    for (int i = 0; i < 3; i++) {
        assert_ok(abut_pose_from_axis_angle(axes[i], 0.3 - 0.1 * i, vec(0, 0, 0), &turn));
        assert_ok(abut_pose_compose(&expected, &turn, &expected));
    }
    expected.translation.z = 0.1;
    turn = arm_pose(0, 0, 1.05);
    assert_ok(abut_pose_compose(&expected, &turn, &expected));
    const double *p = &expected.rotation.x, *r = &poses[4].rotation.x;
    for (int i = 0; i < 7; i++)
        assert_true(fabs(p[i] - r[i]) < 1e-14);
}

static void write_text(const char *name, const char *text) {
    test_file(name, text, strlen(text));
}

TEST(meshes_and_packages_are_found) {
    SKIP_WITHOUT_EXPAT();
    static const char text[] =
        "<robot name='m'><link name='a'>"
        "<collision><geometry><mesh filename='parts/box.obj' scale='1 1 -2'/></geometry>"
        "</collision>"
        "<collision><geometry><mesh filename='package://kit/meshes/box.stl'/></geometry>"
        "</collision></link></robot>";
    char path[400];
    AUTO(robot) robot = NULL;
    AUTO(mesh) box = make_shape(NULL, ABUT_SHAPE_BOX, 0);
    static const char *const folders[] = {"parts", "root", "root/kit", "root/kit/meshes"};
    for (int i = 0; i < 4; i++)
        mkdir(test_path(folders[i]), 0777);
    assert_ok(abut_mesh_write(box, test_path("parts/box.obj"), NULL));
    assert_ok(abut_mesh_write(box, test_path("root/kit/meshes/box.stl"), NULL));
    write_text("m.urdf", text);
    strcpy(path, test_path("m.urdf"));
    abut_robot_read_options options = abut_robot_read_options_default();
    options.root = test_path("root");
    assert_ok(abut_robot_read(NULL, path, &options, &robot));
    abut_robot_geometry part;
    assert_ok(abut_robot_get_geometry(robot, 0, &part));
    abut_mesh *mesh = abut_bvh_mesh(part.collider.shape.body.bvh);
    const abut_box bounds = abut_mesh_bounds(mesh), unit = abut_mesh_bounds(box);
    assert_true(bounds.hi.x == unit.hi.x && bounds.hi.z == 2 * unit.hi.z);
    AUTO(topology) topology = NULL;
    abut_mesh_report report = abut_mesh_report_default();
    assert_ok(abut_topology_create(mesh, &topology));
    assert_ok(abut_mesh_examine(topology, &report));
    assert_true(report.volume > 0); /* a mirrored mesh faces outwards */
    abut_robot *none = NULL;
    options.root = test_path("parts");
    assert_fails(ABUT_ERROR_FILE, "package://kit/meshes/box.stl",
                 abut_robot_read(NULL, path, &options, &none));
    /* without a root, the folders above the file are searched */
    mkdir(test_path("root/kit/urdf"), 0777);
    write_text("root/kit/urdf/m.urdf",
               "<robot><link name='a'><collision><geometry>"
               "<mesh filename='package://kit/meshes/box.stl'/></geometry></collision></link>"
               "</robot>");
    AUTO(robot) other = NULL;
    assert_ok(abut_robot_read(NULL, test_path("root/kit/urdf/m.urdf"), NULL, &other));
    /* no escape from a package, no folders, no files from memory */
    static const char *const files[] = {"package://kit/../kit/meshes/box.stl", "parts", "/dev/null",
                                        "none.obj", "package://kit"};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char made[400];
        snprintf(made, sizeof made,
                 "<robot><link name='a'><collision><geometry><mesh filename='%s'/></geometry>"
                 "</collision></link></robot>",
                 files[i]);
        write_text("bad.urdf", made);
        options.root = test_path("root");
        assert_fails(ABUT_ERROR_FILE, "line 1",
                     abut_robot_read(NULL, test_path("bad.urdf"), &options, &none));
        assert_fails(ABUT_ERROR_FORMAT, "is not read from a file", parse(made, &none));
    }
    assert_null(none);
}

TEST(invalid_files_are_rejected) {
    SKIP_WITHOUT_EXPAT();
    static const struct {
        abut_status status;
        const char *message, *text;
    } cases[] = {
        {ABUT_ERROR_FORMAT, "line 1", "<robot"},
        {ABUT_ERROR_FORMAT, "no element found", ""},
        {ABUT_ERROR_FORMAT, "neither", "<world/>"},
        {ABUT_ERROR_UNSUPPORTED, "DOCTYPE",
         "<!DOCTYPE r [<!ENTITY a 'aaaaaaaa'><!ENTITY b '&a;&a;&a;&a;'>]><robot>&b;</robot>"},
        {ABUT_ERROR_FORMAT, "must have 1 to", "<robot/>"},
        {ABUT_ERROR_FORMAT, "name is missing", "<robot><link/></robot>"},
        {ABUT_ERROR_FORMAT, "both named 'a'",
         "<robot><link name='a'/><link name='a'/>"
         "<joint name='j' type='fixed'><parent link='a'/>"
         "<child link='a'/></joint></robot>"},
        {ABUT_ERROR_FORMAT, "no link of this name",
         "<robot><link name='a'/><joint name='j' type='fixed'><parent link='a'/></joint></robot>"},
        {ABUT_ERROR_UNSUPPORTED, "joint is floating",
         "<robot><link name='a'/><joint name='j' type='floating'/></robot>"},
        {ABUT_ERROR_FORMAT, "type is 'ball'",
         "<robot><link name='a'/><joint name='j' type='ball'/></robot>"},
        {ABUT_ERROR_FORMAT, "radius is missing",
         "<robot><link name='a'><collision><geometry><sphere/></geometry></collision></link>"
         "</robot>"},
        {ABUT_ERROR_FORMAT, "size has 2 numbers",
         "<robot><link name='a'><collision><geometry><box size='1 1'/></geometry></collision>"
         "</link></robot>"},
        {ABUT_ERROR_FORMAT, "xyz is '0 0 x'",
         "<robot><link name='a'><collision><origin xyz='0 0 x'/></collision></link></robot>"},
        {ABUT_ERROR_FORMAT, "xyz is '0 0 nan'",
         "<robot><link name='a'><collision><origin xyz='0 0 nan'/></collision></link></robot>"},
        {ABUT_ERROR_FORMAT, "has no geometry", "<robot><link name='a'><collision/></link></robot>"},
        {ABUT_ERROR_UNSUPPORTED, "<cone>",
         "<robot><link name='a'><collision><geometry><cone/></geometry></collision></link>"
         "</robot>"},
        {ABUT_ERROR_FORMAT, "part of a cycle",
         "<robot><link name='r'/><link name='a'/><link name='b'/><joint name='j' type='fixed'>"
         "<parent link='a'/><child link='b'/></joint><joint name='k' type='fixed'>"
         "<parent link='b'/><child link='a'/></joint></robot>"},
        {ABUT_ERROR_FORMAT, "there is no joint 'x'",
         "<robot><link name='a'/><link name='b'/><joint name='j' type='revolute'>"
         "<parent link='a'/><child link='b'/><mimic joint='x'/></joint></robot>"},
        {ABUT_ERROR_FORMAT, "multiplier is 0",
         "<robot><link name='a'/><link name='b'/><joint name='j' type='revolute'>"
         "<parent link='a'/><child link='b'/><mimic joint='j' multiplier='0'/></joint></robot>"},
        {ABUT_ERROR_FORMAT, "worldbody", "<mujoco/>"},
        {ABUT_ERROR_UNSUPPORTED, "free joint",
         "<mujoco><worldbody><body><freejoint/></body></worldbody></mujoco>"},
        {ABUT_ERROR_UNSUPPORTED, "type is 'ball'",
         "<mujoco><worldbody><body><joint type='ball'/></body></worldbody></mujoco>"},
        {ABUT_ERROR_UNSUPPORTED, "type is 'ellipsoid'",
         "<mujoco><worldbody><geom type='ellipsoid' size='1 1 1'/></worldbody></mujoco>"},
        {ABUT_ERROR_UNSUPPORTED, "<include>", "<mujoco><include file='x'/><worldbody/></mujoco>"},
        {ABUT_ERROR_FORMAT, "no mesh 'm'",
         "<mujoco><worldbody><geom mesh='m'/></worldbody></mujoco>"},
        {ABUT_ERROR_FORMAT, "eulerseq", "<mujoco><compiler eulerseq='xy'/><worldbody/></mujoco>"},
        {ABUT_ERROR_UNSUPPORTED, "must couple two joints",
         "<mujoco><worldbody/><equality><joint joint1='a'/></equality></mujoco>"},
        {ABUT_ERROR_FORMAT, "positive radius",
         "<mujoco><worldbody><geom type='capsule' size='1'/></worldbody></mujoco>"}};
    abut_robot *robot = NULL;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_fails(cases[i].status, cases[i].message, parse(cases[i].text, &robot));
        assert_null(robot);
    }
    /* deeply nested elements, and many links */
    AUTO_FREE char *text = malloc(100000);
    char *to = text;
    for (int i = 0; i < 300; i++)
        to += sprintf(to, "<robot>");
    assert_fails(ABUT_ERROR_LIMIT, "256 deep", parse(text, &robot));
    to = text + sprintf(text, "<robot>");
    for (int i = 0; i < 1100; i++)
        to += sprintf(to, "<link name='%d'/>", i);
    strcpy(to, "</robot>");
    assert_fails(ABUT_ERROR_LIMIT, "more than 1024 links", parse(text, &robot));
    assert_fails(ABUT_ERROR_FILE, "none.urdf", abut_robot_read(NULL, "none.urdf", NULL, &robot));
    assert_refused("path", abut_robot_read(NULL, NULL, NULL, &robot));
    assert_refused("robot", abut_robot_read(NULL, "x", NULL, NULL));
}

TEST(srdf_allows_pairs) {
    SKIP_WITHOUT_EXPAT();
    arm_scene s;
    uint32_t count = 99;
    arm_make(&s, NULL, 0.6);
    assert_false(abut_robot_is_allowed(s.robot, 0, 7));
    write_text("bad.srdf", "<robot><disable_collisions link1='base' link2='tool'/>"
                           "<disable_collisions link1='base'/></robot>");
    assert_fails(ABUT_ERROR_FORMAT, "link2 is missing",
                 abut_robot_read_allowed(s.robot, test_path("bad.srdf"), &count));
    assert_false(abut_robot_is_allowed(s.robot, 0, 7));
    write_text("arm.srdf", "<robot><disable_collisions link1='tool' link2='base' reason='Never'/>"
                           "<disable_collisions link1='base' link2='none'/></robot>");
    assert_ok(abut_robot_read_allowed(s.robot, test_path("arm.srdf"), &count));
    assert_int_equal(count, 1);
    assert_true(abut_robot_is_allowed(s.robot, 0, 7) && abut_robot_is_allowed(s.robot, 7, 0));
    write_text("arm.srdf", "<mujoco/>");
    assert_fails(ABUT_ERROR_FORMAT, "SRDF",
                 abut_robot_read_allowed(s.robot, test_path("arm.srdf"), NULL));
    arm_free(&s);
}

/* The tool of the arm cannot reach its shoulder, and a part that is far too large always collides.
 */
TEST_THREADS(sampling_finds_pairs) {
    abut_robot_sample_report report[2] = {abut_robot_sample_report_default(),
                                          abut_robot_sample_report_default()};
    abut_robot_sample_options options = abut_robot_sample_options_default();
    options.samples = 400;
    options.seed = 5;
    for (uint32_t run = 0; run < 2; run++) {
        test_memory memory = {0};
        abut_context *context = test_context(&memory, run ? 4 : 1);
        arm_scene s;
        abut_robot_info info = abut_robot_info_default();
        arm_make(&s, context, 0.6);
        assert_ok(abut_robot_get_info(s.robot, &info));
        const uint32_t before = info.pair_count;
        options.keep_never = true;
        assert_ok(abut_robot_sample_allowed(s.robot, &options, &report[run]));
        assert_int_equal(report[run].remaining, info.pair_count - report[run].always);
        options.keep_never = false;
        assert_ok(abut_robot_sample_allowed(s.robot, &options, &report[run]));
        assert_true(report[run].samples == 400 && report[run].always == 0 &&
                    report[run].never > 0 && report[run].remaining > 0);
        assert_ok(abut_robot_get_info(s.robot, &info));
        assert_int_equal(info.pair_count, report[run].remaining);
        assert_int_equal(before, report[run].never + report[run].remaining);
        arm_free(&s);
        abut_context_destroy(context);
    }
    assert_memory_equal(&report[0], &report[1], sizeof report[0]);
}

typedef struct memory_text {
    const char *text;
} memory_text;

static abut_status create_and_test(abut_context *context, void *data) {
    const memory_text *t = data;
    abut_robot *robot = NULL;
    abut_status status =
        abut_robot_read_memory(context, t->text, strlen(t->text), NULL, NULL, &robot);
    if (!status) {
        abut_robot_sample_options options = abut_robot_sample_options_default();
        options.samples = 2;
        status = abut_robot_sample_allowed(robot, &options, NULL);
    }
    abut_robot_destroy(robot);
    return status;
}

TEST(failing_allocations_leave_nothing) {
    SKIP_WITHOUT_EXPAT();
    memory_text texts[] = {{urdf}, {mjcf}};
    for (int i = 0; i < 2; i++)
        assert_true(test_every_allocation(create_and_test, &texts[i]) > 20);
}
