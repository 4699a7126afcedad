/* The colliders of examples/mujoco on models that the tests make themselves, without MuJoCo: the
 * table, the choice between abut and the engine, contacts, limits and errors. Python tests them in
 * MuJoCo (tests/python/cases/check_mujoco.py). */
#include "abut_mujoco.h"
#include "support/support.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { PLANE, HFIELD, SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, MESH, SDF, TYPE_COUNT };
enum { GEOMS = 10, ROOM = 64, VERTICES = 4096, FACES = 8192 };

struct mjModel_ {
    int unused;
};
struct mjData_ {
    char before[40];
    double *xpos, *xquat;
};
struct mjPreContact_ {
    double dist, pos[3], normal[3], tangent[3];
};

/* ---- the engine ---- */

static int engine_calls, contact_limit, warning_count;
static char warning[512];

static int engine_collider(const struct mjModel_ *model, struct mjData_ *data,
                           struct mjPreContact_ *contacts, int g1, int g2, double margin) {
    engine_calls++;
    return 0;
}

static int max_contact(const struct mjModel_ *model, int g1, int g2, int has_margin) {
    return contact_limit;
}

static void warn(const char *format, ...) {
    va_list values;
    va_start(values, format);
    vsnprintf(warning, sizeof warning, format, values);
    va_end(values);
    warning_count++;
}

static abut_mujoco_collider *table[TYPE_COUNT][TYPE_COUNT];
static const abut_mujoco_engine engine = {&table[0][0], max_contact, warn,
                                          offsetof(struct mjData_, xpos),
                                          offsetof(struct mjData_, xquat)};

static void reset_engine(void) {
    for (int i = 0; i < TYPE_COUNT; i++)
        for (int k = 0; k < TYPE_COUNT; k++)
            table[i][k] = k >= i ? engine_collider : NULL;
    table[PLANE][PLANE] = NULL;
    engine_calls = warning_count = 0;
    contact_limit = 50;
}

/* ---- a model ---- */

/* Mesh 0 is a torus about z, mesh 1 a cube. The kinds and sizes of geoms are those that a test
 * sets. */
static struct mjModel_ model;
static int types[GEOMS], meshes_of[GEOMS], plugins[GEOMS];
static double sizes[3 * GEOMS], xpos[3 * GEOMS], xquat[4 * GEOMS];
static struct mjData_ data;
static int vertadr[2], vertnum[2], faceadr[2], facenum[2], faces[3 * FACES];
static float verts[3 * VERTICES];
/* A trough along y, 0.4 deep: the middle one of five columns is at height 0. */
static const int field_rows = 3, field_columns = 5, field_address = 1;
static const double field_size[4] = {2, 3, 0.4, 0.1};
static const float field_heights[16] = {9, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1};
static abut_mujoco_model view;
static struct mjPreContact_ out[ROOM];

static void add_shape(uint32_t index, abut_shape shape) {
    abut_mesh *mesh;
    abut_vec3 points[VERTICES];
    assert_ok(abut_shape_create(NULL, &shape, &mesh));
    assert_ok(abut_mesh_get_positions(mesh, points));
    vertnum[index] = (int)abut_mesh_vertex_count(mesh);
    facenum[index] = (int)abut_mesh_triangle_count(mesh);
    vertadr[index] = index ? vertadr[index - 1] + vertnum[index - 1] : 0;
    faceadr[index] = index ? faceadr[index - 1] + facenum[index - 1] : 0;
    for (int i = 0; i < vertnum[index]; i++)
        for (int k = 0; k < 3; k++)
            verts[3 * (vertadr[index] + i) + k] = (float)(&points[i].x)[k];
    for (int i = 0; i < 3 * facenum[index]; i++)
        faces[3 * faceadr[index] + i] = (int)abut_mesh_indices(mesh)[i];
    abut_mesh_destroy(mesh);
}

static void set_geom(int g, int type, int mesh, double size, double x, double y, double z) {
    const double at[3] = {x, y, z};
    types[g] = type;
    meshes_of[g] = mesh;
    plugins[g] = -1;
    for (int k = 0; k < 3; k++) {
        sizes[3 * g + k] = size;
        xpos[3 * g + k] = at[k];
        xquat[4 * g + k + 1] = 0;
    }
    xquat[4 * g] = 1;
}

/* A torus of radius 1 and 0.25 in geom 0, and a body of another type in geom 1. */
static void make_model(int type, int mesh, double size, double x, double y, double z) {
    abut_shape ring = abut_shape_default(ABUT_SHAPE_TORUS),
               cube = abut_shape_default(ABUT_SHAPE_BOX);
    reset_engine();
    ring.radius = 1;
    ring.radius2 = 0.25;
    ring.segments = 32;
    ring.rings = 12;
    cube.extent = (abut_vec3){0.5, 0.5, 0.5};
    cube.segments = 1;
    add_shape(0, ring);
    add_shape(1, cube);
    set_geom(0, MESH, 0, 0, 0, 0, 0);
    set_geom(1, type, mesh, size, x, y, z);
    data.xpos = xpos;
    data.xquat = xquat;
    view = (abut_mujoco_model){.model = &model,
                               .ngeom = 2,
                               .nmesh = 2,
                               .geom_type = types,
                               .geom_dataid = meshes_of,
                               .geom_plugin = plugins,
                               .geom_size = sizes,
                               .mesh_vertadr = vertadr,
                               .mesh_vertnum = vertnum,
                               .mesh_faceadr = faceadr,
                               .mesh_facenum = facenum,
                               .mesh_vert = verts,
                               .mesh_face = faces,
                               .hfield_nrow = &field_rows,
                               .hfield_ncol = &field_columns,
                               .hfield_adr = &field_address,
                               .hfield_size = field_size,
                               .hfield_data = field_heights};
}

/* Calls the function of the table for geoms 0 and 1, by type as MuJoCo does. */
static int collide(double margin) {
    int first = types[0] <= types[1] ? 0 : 1;
    memset(out, 0, sizeof out);
    return table[types[first]][types[1 - first]](&model, &data, out, first, 1 - first, margin);
}

static void install(const abut_mujoco_options *options) {
    assert_ok(abut_mujoco_install(&engine, &view, options));
}

static void uninstall(void) {
    assert_true(abut_mujoco_uninstall(&model));
}

/* ---- tests ---- */

TEST(replaces_and_restores_the_table) {
    make_model(SPHERE, -1, 0.5, 0, 0, 0);
    assert_false(abut_mujoco_uninstall(&model));
    install(NULL);
    for (int i = 0; i < TYPE_COUNT; i++)
        for (int k = i; k < TYPE_COUNT; k++) {
            bool is_ours = k >= MESH;
            if (i == PLANE && k == PLANE)
                assert_null(table[i][k]);
            else
                assert_true((table[i][k] == engine_collider) == !is_ours);
        }
    install(NULL);           /* again */
    table[BOX][MESH] = NULL; /* by the program */
    uninstall();
    assert_null(table[BOX][MESH]);
    assert_ptr_equal(table[MESH][MESH], engine_collider);
    assert_false(abut_mujoco_uninstall(&model));
    assert_false(abut_mujoco_get_info(&model, &(abut_mujoco_info){0}));
}

TEST(holes_of_meshes_are_empty) {
    /* type, mesh, size of a body in the hole of the torus */
    static const struct {
        int type, mesh;
        double size;
    } bodies[] = {{SPHERE, -1, 0.6}, {CAPSULE, -1, 0.5}, {ELLIPSOID, -1, 0.6}, {CYLINDER, -1, 0.6},
                  {BOX, -1, 0.4},    {MESH, 1, 0},       {SDF, 1, 0}};
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        make_model(bodies[i].type, bodies[i].mesh, bodies[i].size, 0, 0, 0);
        install(NULL);
        assert_int_equal(collide(0), 0);
        xpos[3] = 1; /* on the tube */
        assert_true(collide(0) > 0);
        assert_true(out[0].dist < -0.2);
        assert_int_equal(engine_calls, 0);
        uninstall();
    }
}

TEST(normals_point_from_the_first_geom_to_the_second) {
    make_model(PLANE, -1, 1, 0, 0, -0.249); /* the plane is the first, the torus above it */
    install(NULL);
    int count = collide(0);
    assert_true(count >= 3);
    for (int i = 0; i < count; i++) {
        assert_true(fabs(out[i].normal[2] - 1) < 1e-9);
        assert_true(fabs(out[i].dist + 0.001) < 1e-6);
        assert_true(fabs(out[i].pos[2] + 0.2495) < 1e-6);
        assert_true(out[i].tangent[0] == 0 && out[i].tangent[1] == 0 && out[i].tangent[2] == 0);
    }
    uninstall();
    make_model(MESH, 1, 0, 1, 0, 0.499); /* the torus is the first, the cube above it */
    install(NULL);
    count = collide(0);
    assert_true(count > 0);
    assert_true(out[0].normal[2] > 0.99 && fabs(out[0].dist + 0.001) < 1e-4);
    uninstall();
}

TEST(margins) {
    make_model(SPHERE, -1, 0.5, 0, 0, 0.8); /* above the hole; the torus is 0.78 from its centre */
    install(NULL);
    double gap = sqrt(1 + 0.8 * 0.8) - 0.25 - 0.5;
    assert_int_equal(collide(gap - 0.02), 0);
    assert_true(collide(gap + 0.02) >= 1);
    assert_true(fabs(out[0].dist - gap) < 0.02);
    xpos[5] = 0.1; /* deep */
    assert_true(collide(-0.001) >= 0);
    for (int i = 0, n = collide(-0.001); i < n; i++)
        assert_true(out[i].dist <= -0.001);
    assert_int_equal(collide(-9), 0);
    uninstall();
}

TEST(contacts_are_limited_and_distributed) {
    make_model(MESH, 0, 0, 0, 0,
               0.8); /* an upright torus stands in the hole and touches both sides */
    xquat[4] = xquat[5] = sqrt(0.5);
    install(NULL);
    int all = collide(0);
    assert_true(all > 4 && all <= 50);
    double deepest = 0;
    for (int i = 0; i < all; i++)
        deepest = fmin(deepest, out[i].dist);
    for (contact_limit = 4; contact_limit >= 0; contact_limit--) {
        int count = collide(0);
        assert_int_equal(count, contact_limit);
        if (count)
            assert_true(out[0].dist == deepest);
        for (int i = count; i < ROOM; i++)
            assert_true(out[i].dist == 0 && out[i].pos[0] == 0); /* not written */
        double reach = 0;
        for (int i = 1; i < count; i++)
            reach = fmax(reach, fabs(out[i].pos[0] - out[0].pos[0]));
        assert_true(count < 2 || reach > 1.2); /* both sides have a contact */
    }
    uninstall();
}

TEST(convex_pairs_keep_the_engine) {
    make_model(BOX, -1, 0.25, 0.4, 0, 0);
    types[0] = MESH;
    meshes_of[0] = 1; /* the cube */
    install(NULL);
    assert_int_equal(collide(0), 0);
    assert_int_equal(engine_calls, 1);
    abut_mujoco_info info;
    assert_true(abut_mujoco_get_info(&model, &info));
    assert_true(info.concave_mesh_count == 0 && info.limited_mesh_count == 0 &&
                info.error_count == 0);
    install(&(abut_mujoco_options){.include_convex = true});
    assert_int_equal(collide(0), 4);
    assert_int_equal(engine_calls, 1);
    assert_true(fabs(out[0].dist + 0.1) < 1e-6);
    uninstall();
}

TEST(other_geoms_and_models_keep_the_engine) {
    static const bool geoms[2] = {false, true};
    make_model(SPHERE, -1, 0.6, 1, 0, 0);
    install(&(abut_mujoco_options){.geoms = geoms});
    assert_int_equal(collide(0), 0);
    assert_int_equal(engine_calls, 1);
    plugins[0] = 3; /* an sdf of a plugin */
    types[0] = SDF;
    install(NULL);
    assert_int_equal(collide(0), 0);
    assert_int_equal(engine_calls, 2);
    struct mjModel_ other = {0};
    assert_int_equal(table[SPHERE][MESH](&other, &data, out, 1, 0, 0), 0);
    assert_int_equal(engine_calls, 3);
    view.model = &other; /* a second model: the table stays until both are uninstalled */
    plugins[0] = -1;
    install(NULL);
    assert_true(table[SPHERE][SDF](&other, &data, out, 1, 0, 0) > 0);
    uninstall();
    assert_true(table[SPHERE][SDF](&other, &data, out, 1, 0, 0) > 0);
    assert_int_equal(engine_calls, 3);
    assert_true(abut_mujoco_uninstall(&other));
    assert_ptr_equal(table[SPHERE][SDF], engine_collider);
}

TEST(height_fields) {
    make_model(HFIELD, 0, 1, 0, 0, 0); /* the cube of size 0.5 above the trough, 0.1 high at 0.25 */
    types[0] = MESH;
    meshes_of[0] = 1;
    xpos[2] = 0.25 + 0.1 + 0.001;
    install(NULL);
    assert_int_equal(collide(0), 0);
    assert_int_equal(engine_calls, 1);
    install(&(abut_mujoco_options){.include_fields = true});
    assert_int_equal(collide(0), 0);
    xpos[2] -= 0.002;
    int count = collide(0);
    assert_true(count >= 4); /* both slopes */
    for (int i = 0; i < count; i++)
        assert_true(out[i].dist < 0 && out[i].dist > -0.002 && out[i].normal[2] > 0.9);
    xpos[0] = 1.5; /* on the plain */
    xpos[1] = -2;
    xpos[2] = 0.25 + 0.4 - 0.001;
    assert_true(collide(0) > 0);
    assert_true(fabs(out[0].dist + 0.001) < 1e-6 && out[0].normal[2] > 0.999);
    xpos[2] = -0.1 - 0.25 + 0.001; /* below the base */
    assert_true(collide(0) > 0);
    assert_true(fabs(out[0].dist + 0.001) < 1e-6 && out[0].normal[2] < -0.999);
    xpos[1] = -3.249; /* beside it */
    xpos[2] = 0.1;
    assert_true(collide(0) > 0);
    assert_true(fabs(out[0].dist + 0.001) < 1e-6 && out[0].normal[1] < -0.999);
    assert_int_equal(engine_calls, 1);
    abut_mujoco_info info;
    assert_true(abut_mujoco_get_info(&model, &info));
    assert_int_equal(info.error_count, 0);
    uninstall();
}

static abut_status install_field(abut_context *context, void *user) {
    abut_mujoco_options options = {.context = context, .include_fields = true};
    abut_status status = abut_mujoco_install(&engine, &view, &options);
    if (!status)
        uninstall();
    return status;
}

TEST(open_meshes_are_reported) {
    make_model(SPHERE, -1, 0.6, 1, 0, 0);
    facenum[0]--; /* a hole */
    install(NULL);
    abut_mujoco_info info;
    assert_true(abut_mujoco_get_info(&model, &info));
    assert_true(info.limited_mesh_count == 1 && info.limited_mesh == 0);
    assert_true(info.concave_mesh_count == 1);
    assert_true(collide(0) > 0);
    uninstall();
}

TEST(changed_sizes_of_primitives_count) {
    make_model(BOX, -1, 0.3, 0, 0, 0);
    install(NULL);
    assert_int_equal(collide(0), 0);
    sizes[3] = 0.8;
    assert_true(collide(0) > 0);
    uninstall();
    make_model(CYLINDER, -1, 0.3, 0, 0, 0);
    install(NULL);
    sizes[3] = 0.8;
    assert_true(collide(0) > 0);
    uninstall();
}

TEST(errors_fall_back_and_warn_once) {
    make_model(ELLIPSOID, -1, 0.3, 0, 0, 0);
    install(NULL);
    sizes[3] = 0.8; /* no primitive of abut is an ellipsoid */
    for (int i = 1; i < 4; i++) {
        assert_int_equal(collide(0), 0);
        assert_int_equal(engine_calls, i);
        assert_int_equal(warning_count, 1);
    }
    assert_non_null(strstr(warning, "install the model again"));
    sizes[3] = 0.3;
    xpos[3] = NAN;
    assert_int_equal(collide(0), 0);
    assert_int_equal(engine_calls, 4);
    abut_mujoco_info info;
    assert_true(abut_mujoco_get_info(&model, &info));
    assert_int_equal(info.error_count, 4);
    uninstall();
}

TEST(bad_calls_are_refused) {
    make_model(SPHERE, -1, 0.6, 1, 0, 0);
    assert_refused("null", abut_mujoco_install(NULL, &view, NULL));
    assert_refused("null", abut_mujoco_install(&engine, NULL, NULL));
    faces[0] = VERTICES;
    assert_refused("refers to vertex", abut_mujoco_install(&engine, &view, NULL));
    assert_ptr_equal(table[SPHERE][MESH], engine_collider);
    assert_false(abut_mujoco_get_info(&model, NULL));
}

static abut_status install_and_collide(abut_context *context, void *user) {
    abut_mujoco_options options = {.context = context};
    abut_status status = abut_mujoco_install(&engine, &view, &options);
    if (status) {
        assert_ptr_equal(table[CYLINDER][MESH], engine_collider);
        return status;
    }
    abut_mujoco_info info;
    bool has_contacts = collide(0) > 0;
    assert_true(abut_mujoco_get_info(&model, &info));
    assert_true(has_contacts == !info.error_count);
    uninstall();
    return has_contacts ? ABUT_OK : ABUT_ERROR_MEMORY;
}

TEST(survives_failing_allocations) {
    make_model(CYLINDER, -1, 0.3, 1, 0, 0);
    assert_true(test_every_allocation(install_and_collide, NULL) > 10);
    make_model(HFIELD, 0, 1, 0, 0, 0);
    assert_true(test_every_allocation(install_field, NULL) > 10);
}
