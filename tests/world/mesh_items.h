/* Meshes of all kinds as items of a world, for tests of world/test_mesh*.c: shared models, items of
 * every method, and simple solids beside them. */
#ifndef ABUT_TESTS_WORLD_MESH_ITEMS_H
#define ABUT_TESTS_WORLD_MESH_ITEMS_H

#include "radial/body.h"
#include "world/scene.h"

enum { ROOM = 16384, BONES = 4 };

static const abut_pose here = {{0, 0, 0, 1}, {0, 0, 0}};
static abut_mesh *ball, *sheet, *teapot, *plate, *cube;
static snake worm;
static abut_radial *fields;

static inline abut_mesh *make_shape(abut_shape_kind kind, uint32_t segments, abut_vec3 extent) {
    abut_shape shape = abut_shape_default(kind);
    abut_mesh *mesh = NULL;
    shape.segments = segments;
    shape.extent = extent;
    assert_ok(abut_shape_create(serial, &shape, &mesh));
    return mesh;
}

static inline int set_up(void **state) {
    abut_radial_options options = abut_radial_options_default();
    abut_character_matrix bones[BONES];
    make_things(state);
    ball = make_shape(ABUT_SHAPE_ICOSPHERE, 4, v3(1, 1, 1));
    sheet = make_shape(ABUT_SHAPE_SHEET, 8, v3(2, 2, 0));
    teapot = make_shape(ABUT_SHAPE_TEAPOT, 4, v3(1, 1, 1));
    plate = make_shape(ABUT_SHAPE_BOX, 4, v3(2, 2, 0.001));
    cube = make_shape(ABUT_SHAPE_BOX, 1, v3(1, 1, 1));
    worm = make_snake(serial, BONES, 24, 16);
    options.cell = 0.1;
    assert_ok(abut_radial_create(worm.character, &options, &fields));
    abut_vec3 *positions = malloc((size_t)abut_mesh_vertex_count(worm.mesh) * sizeof *positions);
    bend_snake(&worm, 0.1, 0, bones, positions);
    assert_ok(abut_radial_set_positions(fields, bones, abut_array_host(positions)));
    free(positions);
    return 0;
}

static inline int tear_down(void **state) {
    abut_mesh *all[] = {ball, sheet, teapot, plate, cube};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        abut_mesh_destroy(all[i]);
    abut_radial_destroy(fields);
    free_snake(&worm);
    return free_things(state);
}

static inline abut_world_item of_mesh(abut_mesh *mesh, abut_world_method method, abut_vec3 at) {
    abut_world_item item = abut_world_item_default();
    item.collider.kind = ABUT_COLLIDER_MESH;
    item.method = method;
    item.collider.pose = here;
    item.collider.pose.translation = at;
    item.collider.shape.mesh.mesh = mesh;
    item.collider.shape.mesh.resolution = method == ABUT_WORLD_FIELD ? 24 : 0;
    return item;
}

static inline abut_world *make_world(double margin, abut_context *context) {
    abut_world_options options = abut_world_options_default();
    abut_world *world = NULL;
    options.margin = margin;
    assert_ok(abut_world_create(context, &options, &world));
    return world;
}

static inline abut_world_item_info choice_of(const abut_world *world, uint32_t id) {
    abut_world_item_info choice = abut_world_item_info_default();
    assert_ok(abut_world_get_item_info(world, id, &choice));
    assert_true(choice.reason && strlen(choice.reason) > 10);
    return choice;
}

/* ---- every kind ---- */

enum {
    EXACT,
    FIELD,
    MAP,
    LAYERS,
    SHEET,
    DEFORMS,
    SOLIDS, /* from the plane on */
    CHARACTER = SOLIDS + 6,
    SORTS
};

static inline abut_world_item of_sort(int sort, abut_vec3 at) {
    static const abut_world_method methods[] = {ABUT_WORLD_EXACT, ABUT_WORLD_FIELD,
                                                ABUT_WORLD_MAP,   ABUT_WORLD_LAYERS,
                                                ABUT_WORLD_AUTO,  ABUT_WORLD_AUTO};
    abut_world_item item =
        of_mesh(sort == SHEET ? sheet : ball, sort < SOLIDS ? methods[sort] : ABUT_WORLD_AUTO, at);
    item.collider.shape.mesh.deforms = sort == DEFORMS;
    if (sort == MAP || sort == SHEET)
        item.collider.shape.mesh.resolution = 64;
    if (sort < SOLIDS)
        return item;
    item.collider.kind = (abut_collider_kind)(sort - SOLIDS + ABUT_COLLIDER_PLANE);
    memset(&item.collider.shape, 0, sizeof item.collider.shape);
    if (item.collider.kind == ABUT_COLLIDER_PLANE)
        item.collider.shape.plane = (abut_plane){{0, 0, 1}, 0.05};
    else if (item.collider.kind == ABUT_COLLIDER_SPHERE)
        item.collider.shape.sphere = (abut_sphere){{0, 0, 0}, 0.4};
    else if (item.collider.kind == ABUT_COLLIDER_CAPSULE)
        item.collider.shape.capsule = (abut_capsule){{{-0.3, 0, 0}, {0.4, 0, 0}}, 0.3};
    else if (item.collider.kind == ABUT_COLLIDER_BOX)
        item.collider.shape.half = v3(0.4, 0.5, 0.3);
    else if (item.collider.kind == ABUT_COLLIDER_CYLINDER)
        item.collider.shape.cylinder = (abut_cylinder){{{0, 0, -0.4}, {0, 0, 0.4}}, 0.4};
    else if (item.collider.kind == ABUT_COLLIDER_HULL)
        item.collider.shape.hull = things[HULL].bvh;
    if (sort == CHARACTER) {
        item.collider.pose = here;
        item.collider.shape.character = fields;
    }
    return item;
}

static inline void stretch(const abut_mesh *mesh, double by, double up, abut_vec3 *positions) {
    for (uint32_t i = 0; i < abut_mesh_vertex_count(mesh); i++) {
        positions[i] = body_position(mesh, i);
        positions[i].z = positions[i].z * by + up;
    }
}

#endif
