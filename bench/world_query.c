/* Cases: queries against worlds of 1,000 and 10,000 items, half of them meshes of 320 triangles and
 * half of them primitives of four kinds, in a cube with about one item per unit of volume. Queries
 * are a batch on all threads. */
#include "bench.h"

#include <math.h>

enum { RAYS, OVERLAP, NEAREST, CAST };
enum { LARGE = 4 }; /* added to the kind of a query: 10,000 items */
enum { QUERIES = 2000, QUICK_ITEMS = 200, QUICK_QUERIES = 50 };

#define ITEM_SIZE 0.8 /* diameter of most items */
#define RAY_LENGTH 5

typedef struct query_data {
    abut_world *world;
    abut_mesh *ball;
    size_t items, queries;
    abut_ray *rays;
    abut_vec3 *points;
    abut_collider *colliders;
    abut_pose *ends;
    abut_world_hit *hits;
    abut_world_nearest *nearest;
    abut_world_cast *casts;
    uint64_t *offsets;
    uint32_t *ids;
    uint64_t id_count;
} query_data;

/* Results of the last run, for the line after it. */
static size_t found_count;

static abut_vec3 random_point(uint64_t *seed, double side) {
    abut_vec3 p;
    p.x = bench_random_real(seed, 0, side);
    p.y = bench_random_real(seed, 0, side);
    p.z = bench_random_real(seed, 0, side);
    return p;
}

static abut_collider random_collider(const query_data *data, uint64_t *seed, uint32_t i,
                                     double side) {
    const double r = 0.5 * ITEM_SIZE;
    const abut_pose pose = {bench_turn(i), random_point(seed, side)};
    if (i % 2)
        return abut_collider_from_mesh(data->ball, pose);
    if (i % 8 == 0)
        return abut_collider_from_sphere((abut_sphere){{0, 0, 0}, r}, pose);
    if (i % 8 == 2)
        return abut_collider_from_box((abut_vec3){0.5 * r, r, 0.7 * r}, pose);
    if (i % 8 == 4)
        return abut_collider_from_capsule((abut_capsule){{{-r, 0, 0}, {r, 0, 0}}, 0.5 * r}, pose);
    return abut_collider_from_cylinder((abut_cylinder){{{-r, 0, 0}, {r, 0, 0}}, 0.5 * r}, pose);
}

static abut_status make_items(bench_state *state, query_data *data, uint64_t *seed, double side) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_ICOSPHERE);
    shape.segments = 4;
    shape.radius = 0.5 * ITEM_SIZE;
    MAKE(data->ball, abut_shape_create(state->context, &shape, &data->ball));
    MAKE(data->world, abut_world_create(state->context, NULL, &data->world));
    for (uint32_t i = 0; i < data->items; i++) {
        abut_world_item item = abut_world_item_default();
        uint32_t id;
        item.method = ABUT_WORLD_AUTO;
        item.collider = random_collider(data, seed, i, side);
        if (item.collider.kind == ABUT_COLLIDER_MESH)
            item.method = ABUT_WORLD_EXACT;
        TRY(abut_world_add(data->world, &item, &id));
    }
    return abut_world_prepare_queries(data->world);
}

static abut_status query_setup(bench_state *state) {
    query_data *data = state->data;
    uint64_t seed = 7;
    data->items = state->quick ? QUICK_ITEMS : state->which->variant >= LARGE ? 10000 : 1000;
    data->queries = state->quick ? QUICK_QUERIES : QUERIES;
    const double side = cbrt((double)data->items);
    TRY(make_items(state, data, &seed, side));
    data->rays = bench_array(state, data->queries, sizeof *data->rays);
    data->points = bench_array(state, data->queries, sizeof *data->points);
    data->colliders = bench_array(state, data->queries, sizeof *data->colliders);
    data->ends = bench_array(state, data->queries, sizeof *data->ends);
    data->hits = bench_array(state, data->queries, sizeof *data->hits);
    data->nearest = bench_array(state, data->queries, sizeof *data->nearest);
    data->casts = bench_array(state, data->queries, sizeof *data->casts);
    data->offsets = bench_array(state, data->queries + 1, sizeof *data->offsets);
    data->ids = bench_array(state, 64 * data->queries, sizeof *data->ids);
    for (size_t i = 0; i < data->queries; i++) {
        const abut_vec3 from = random_point(&seed, side), to = random_point(&seed, side);
        data->points[i] = from;
        data->rays[i] = (abut_ray){from, {to.x - from.x, to.y - from.y, to.z - from.z}};
        data->colliders[i] = random_collider(data, &seed, 2 * (uint32_t)i, side);
        data->ends[i] = data->colliders[i].pose;
        data->ends[i].translation.x += RAY_LENGTH;
    }
    state->elements = (double)data->queries;
    return ABUT_OK;
}

static abut_status query_run(bench_state *state) {
    query_data *data = state->data;
    const size_t count = data->queries;
    abut_index_list ids = {data->ids, 64 * count, 0};
    abut_status status = ABUT_OK;
    switch (state->which->variant % LARGE) {
    case RAYS:
        status = abut_world_ray_first(data->world, abut_array_host(data->rays), count, HUGE_VAL,
                                      NULL, data->hits, NULL);
        break;
    case OVERLAP:
        status = abut_world_overlap_all(data->world, data->colliders, count, 0, NULL, data->offsets,
                                        &ids, NULL);
        data->id_count = ids.count;
        break;
    case NEAREST:
        status = abut_world_nearest_point(data->world, abut_array_host(data->points), count,
                                          HUGE_VAL, NULL, data->nearest, NULL);
        break;
    default:
        status = abut_world_cast_first(data->world, data->colliders, data->ends, count, NULL, NULL,
                                       data->casts, NULL);
    }
    return status;
}

static abut_status query_finish(bench_state *state) {
    const query_data *data = state->data;
    const int kind = state->which->variant % LARGE;
    found_count = kind == OVERLAP ? (size_t)data->id_count : 0;
    state->hash = bench_hash(0, data->ids, (size_t)data->id_count * sizeof *data->ids);
    for (size_t i = 0; i < data->queries && kind != OVERLAP; i++) {
        const uint32_t id = kind == RAYS      ? data->hits[i].id
                            : kind == NEAREST ? data->nearest[i].id
                                              : data->casts[i].id;
        const double value = kind == RAYS      ? data->hits[i].parameter
                             : kind == NEAREST ? data->nearest[i].distance
                                               : data->casts[i].result.time;
        found_count += id != ABUT_NONE;
        state->hash = bench_hash(state->hash, &id, sizeof id);
        state->hash = bench_hash(state->hash, &value, sizeof value);
    }
    return ABUT_OK;
}

static void print_details(const bench_case *which, const bench_result *result) {
    (void)which;
    (void)result;
    printf("    %zu results\n", found_count);
}

#define QUERY_CASE(name_, variant_)                                                             \
    {                                                                                           \
        .name = name_, .unit = "query", .data_bytes = sizeof(query_data), .setup = query_setup, \
        .run = query_run, .finish = query_finish, .variant = (variant_), .threaded = true,      \
        .print_details = print_details                                                          \
    }

const bench_case bench_world_query_cases[] = {
    QUERY_CASE("world/query-rays-1000", RAYS),
    QUERY_CASE("world/query-rays-10000", RAYS + LARGE),
    QUERY_CASE("world/query-overlap-1000", OVERLAP),
    QUERY_CASE("world/query-overlap-10000", OVERLAP + LARGE),
    QUERY_CASE("world/query-nearest-1000", NEAREST),
    QUERY_CASE("world/query-nearest-10000", NEAREST + LARGE),
    QUERY_CASE("world/query-cast-1000", CAST),
    QUERY_CASE("world/query-cast-10000", CAST + LARGE),
    {.name = NULL},
};
