/* Solids of all sorts for tests of layers, and scenes of them. */
#ifndef ABUT_TEST_LAYERS_SCENE_H
#define ABUT_TEST_LAYERS_SCENE_H

#include "layers/reference.h"

enum { MODELS = 9, FLIPPED = 7 };

/* A box, a ball, a torus, a cylinder, a letter, stairs, a shell with a cavity, a box that faces
 * inwards, and a ball in a shell. None has an edge along an axis once it is turned. */
static abut_mesh *models[MODELS];
static abut_bvh *trees[MODELS];
static abut_context *serial;

static const abut_pose at_origin = {{0, 0, 0, 1}, {0, 0, 0}};

static inline abut_pose shifted(double x, double y, double z) {
    return (abut_pose){{0, 0, 0, 1}, {x, y, z}};
}

/* Adds a mesh and returns its id. */
static inline uint32_t add_mesh(abut_layers *layers, const abut_mesh *mesh, abut_pose at) {
    abut_layers_item item = abut_layers_item_default();
    uint32_t id;
    item.collider = abut_collider_from_mesh(mesh, at);
    assert_ok(abut_layers_add(layers, &item, &id));
    return id;
}

/* The mesh with all triangles turned. */
static inline abut_mesh *turned_mesh(const abut_mesh *mesh) {
    uint32_t count = abut_mesh_triangle_count(mesh), vertices = abut_mesh_vertex_count(mesh);
    uint32_t *indices = malloc(3 * count * sizeof *indices);
    abut_vec3 *points = malloc(vertices * sizeof *points);
    assert_true(indices && points);
    for (uint32_t i = 0; i < 3 * count; i++)
        indices[i] = abut_mesh_indices(mesh)[3 * (i / 3) + 2 - i % 3];
    for (uint32_t i = 0; i < vertices; i++)
        points[i] = v3_add(abut_mesh_local_origin(mesh), abut_mesh_local_positions(mesh)[i]);
    abut_mesh *turned = test_mesh(serial, points, vertices, indices, count);
    free(indices);
    free(points);
    return turned;
}

/* Takes the meshes. */
static inline abut_mesh *joined_mesh(abut_mesh *a, abut_mesh *b) {
    abut_mesh *both[2] = {a, b}, *joined;
    assert_ok(abut_mesh_join(both, 2, &joined));
    abut_mesh_destroy(a);
    abut_mesh_destroy(b);
    return joined;
}

static inline abut_mesh *shape_mesh(abut_shape_kind kind, double size, uint32_t segments) {
    abut_shape shape = abut_shape_default(kind);
    abut_mesh *mesh;
    shape.extent = v3(size, 0.8 * size, 0.6 * size);
    shape.radius = 0.5 * size;
    shape.radius2 = 0.2 * size;
    shape.height = size;
    shape.segments = segments;
    assert_ok(abut_shape_create(serial, &shape, &mesh));
    return mesh;
}

/* A wall of `size` with a cavity in it. */
static inline abut_mesh *shell_mesh(double size, double cavity) {
    abut_mesh *inner = shape_mesh(ABUT_SHAPE_ICOSPHERE, cavity, 2), *wall = turned_mesh(inner);
    abut_mesh_destroy(inner);
    return joined_mesh(shape_mesh(ABUT_SHAPE_ICOSPHERE, size, 3), wall);
}

static inline int make_models(void **state) {
    abut_context_options options = abut_context_options_default();
    options.thread_count = 1;
    assert_ok(abut_context_create(&options, &serial));
    models[0] = shape_mesh(ABUT_SHAPE_BOX, 1, 1);
    models[1] = shape_mesh(ABUT_SHAPE_ICOSPHERE, 1, 4);
    models[2] = shape_mesh(ABUT_SHAPE_TORUS, 1.2, 12);
    models[3] = shape_mesh(ABUT_SHAPE_CYLINDER, 0.9, 9);
    models[4] = shape_mesh(ABUT_SHAPE_LETTER_G, 1.2, 2);
    models[5] = shape_mesh(ABUT_SHAPE_STAIRS, 1.2, 4);
    models[6] = shell_mesh(1.6, 1.3);
    abut_mesh *box = shape_mesh(ABUT_SHAPE_BOX, 0.9, 1);
    models[FLIPPED] = turned_mesh(box);
    abut_mesh_destroy(box);
    models[8] = joined_mesh(shell_mesh(1.5, 1.2), shape_mesh(ABUT_SHAPE_ICOSPHERE, 0.6, 2));
    for (int i = 0; i < MODELS; i++)
        assert_ok(abut_bvh_create(models[i], NULL, &trees[i]));
    return 0;
}

static inline int free_models(void **state) {
    for (int i = 0; i < MODELS; i++) {
        abut_bvh_destroy(trees[i]);
        abut_mesh_destroy(models[i]);
    }
    abut_context_destroy(serial);
    return 0;
}

enum { SCENE_MAX = 16, PAIRS_MAX = SCENE_MAX * (SCENE_MAX + 1) / 2 };

/* Items in the order of their ids. */
typedef struct scene {
    abut_layers *layers;
    uint32_t count;
    uint32_t model[SCENE_MAX];
    abut_pose poses[SCENE_MAX];
    abut_vec3 *deformed[SCENE_MAX]; /* null = as its mesh */
} scene;

static inline abut_layers_item scene_item(const scene *s, uint32_t i) {
    abut_layers_item item = abut_layers_item_default();
    item.collider = abut_collider_from_mesh(models[s->model[i]], s->poses[i]);
    item.value = 100 + i;
    return item;
}

static inline void scene_begin(scene *s, abut_context *context) {
    assert_ok(abut_layers_create(context, NULL, &s->layers));
    for (uint32_t i = 0; i < s->count; i++) {
        abut_layers_item item = scene_item(s, i);
        uint32_t id;
        assert_ok(abut_layers_add(s->layers, &item, &id));
        assert_int_equal(id, i);
        if (s->deformed[i])
            assert_ok(abut_layers_set_positions(s->layers, id, abut_array_host(s->deformed[i])));
    }
}

static inline void scene_end(scene *s) {
    abut_layers_destroy(s->layers);
    for (uint32_t i = 0; i < s->count; i++)
        free(s->deformed[i]);
    memset(s, 0, sizeof *s);
}

/* Bent and stretched. */
static inline void scene_deform(scene *s, uint32_t i, double by) {
    const abut_mesh *mesh = models[s->model[i]];
    uint32_t count = abut_mesh_vertex_count(mesh);
    if (!s->deformed[i])
        s->deformed[i] = malloc(count * sizeof *s->deformed[i]);
    assert_non_null(s->deformed[i]);
    for (uint32_t v = 0; v < count; v++) {
        abut_vec3 p = v3_add(abut_mesh_local_origin(mesh), abut_mesh_local_positions(mesh)[v]);
        s->deformed[i][v] =
            v3(p.x + by * p.y * p.y, p.y + by * sin(2 * p.z), p.z + by * (p.x - 0.3 * p.y * p.x));
    }
}

/* Within a cube of `reach` about the origin, some deformed. */
static inline void scene_random(scene *s, test_random *random, uint32_t count, double reach) {
    memset(s, 0, sizeof *s);
    s->count = count;
    for (uint32_t i = 0; i < count; i++) {
        s->model[i] = test_random_below(random, MODELS);
        s->poses[i] = random_pose(random, reach);
        if (test_random_below(random, 4) == 0)
            scene_deform(s, i, test_random_real(random, 0.05, 0.3));
    }
}

/* A parallel view along any direction, of a cube. */
static inline abut_raster_view random_view(test_random *random, double half, uint32_t pixels) {
    abut_raster_view view = abut_raster_view_default();
    abut_pose turn = random_pose(random, 0);
    view.direction = pose_apply(&turn, v3(0, 0, 1));
    view.up = pose_apply(&turn, v3(0, 1, 0));
    view.region = (abut_box){v3(-half, -half, -half), v3(half, half, half)};
    view.width = pixels;
    view.height = pixels - test_random_below(random, pixels / 4);
    return view;
}

static inline reference *scene_reference(const scene *s, const abut_raster_view *view,
                                         double tolerance) {
    reference_solid solids[SCENE_MAX];
    for (uint32_t i = 0; i < s->count; i++)
        solids[i] = reference_solid_of(models[s->model[i]], s->poses[i], s->deformed[i],
                                       s->model[i] == FLIPPED);
    reference *r = reference_find(view, solids, s->count, tolerance);
    for (uint32_t i = 0; i < s->count; i++)
        free(solids[i].points);
    return r;
}

/* Whether two items overlap, decided by `pair`. */
static inline bool scene_overlap(const scene *s, uint32_t a, uint32_t b) {
    uint32_t ids[2] = {a, b};
    abut_collider posed[2];
    abut_mesh *mesh[2] = {NULL, NULL};
    abut_bvh *tree[2] = {NULL, NULL};
    abut_overlap overlap;
    for (int k = 0; k < 2; k++) {
        uint32_t i = ids[k];
        const abut_mesh *model = models[s->model[i]];
        posed[k] = abut_collider_from_bvh(trees[s->model[i]], s->poses[i]);
        if (!s->deformed[i])
            continue;
        mesh[k] = test_mesh(serial, s->deformed[i], abut_mesh_vertex_count(model),
                            abut_mesh_indices(model), abut_mesh_triangle_count(model));
        assert_ok(abut_bvh_create(mesh[k], NULL, &tree[k]));
        posed[k].shape.body.bvh = tree[k];
    }
    assert_ok(abut_pair_overlap(&posed[0], &posed[1], NULL, NULL, &overlap));
    for (int k = 0; k < 2; k++) {
        abut_bvh_destroy(tree[k]);
        abut_mesh_destroy(mesh[k]);
    }
    return overlap.relation != ABUT_PAIR_APART;
}

/* Finds pairs and solids that overlap themselves into lists of PAIRS_MAX each. */
static inline abut_layers_result find_pairs(abut_layers *layers, const abut_layers_query *query,
                                            abut_layers_pair *pairs, abut_layers_pair *own) {
    abut_layers_result found = {.size = sizeof found,
                                .pairs.list = pairs,
                                .pairs.capacity = PAIRS_MAX,
                                .own.list = own,
                                .own.capacity = own ? PAIRS_MAX : 0};
    assert_ok(abut_layers_find(layers, query, &found));
    for (uint64_t i = 0; i < found.pairs.count; i++) {
        assert_true(pairs[i].a < pairs[i].b);
        assert_true(i == 0 || pairs[i - 1].a < pairs[i].a ||
                    (pairs[i - 1].a == pairs[i].a && pairs[i - 1].b < pairs[i].b));
    }
    return found;
}

/* The place of a pair in a list, or null. */
static inline const abut_layers_pair *pair_of(const abut_layers_pair *pairs, uint64_t count,
                                              uint32_t a, uint32_t b) {
    for (uint64_t i = 0; i < count; i++)
        if (pairs[i].a == a && pairs[i].b == b)
            return &pairs[i];
    return NULL;
}

#endif
