/* The spatial hash of triangles: with the table of the paper (section 9.4), the same for all
 * bodies, and with one fitted to the body, which has three to six buckets for each expected cell of
 * the surface, half as large again as the body at rest requires. */
#include "hash_shared.h"
#include "parts.h"

#include <math.h>

enum { PUBLISHED_BUCKETS = 2564327, PUBLISHED_CAPACITY = 20 };

typedef struct hash_rival {
    rival base;
    hash_table table;
    uint32_t updates;
} hash_rival;

typedef struct hash_work {
    hash_rival *h;
    const abut_vec3 *positions;
    const rival_particles *particles;
} hash_work;

static void enter(void *user, size_t chunk, size_t begin, size_t end) {
    const hash_work *work = user;
    void *const *here = work->h->base.here;
    (void)chunk;
    for (size_t i = begin; i < end; i++)
        hash_enter(&work->h->table, here[RIVAL_CORNERS], work->positions, here[RIVAL_TRIANGLES],
                   here[RIVAL_COUNTS], here[RIVAL_ENTRIES], here[RIVAL_FULL], (word32)i);
}

static void collide_range(void *user, size_t chunk, size_t begin, size_t end) {
    const hash_work *work = user;
    const rival_particles *p = work->particles;
    void *const *here = work->h->base.here;
    (void)chunk;
    for (size_t i = begin; i < end; i++)
        hash_collide(&work->h->table, here[RIVAL_TRIANGLES], here[RIVAL_COUNTS],
                     here[RIVAL_ENTRIES], p->from, p->to, p->friction, (word32)i);
}

static abut_status update(rival *r, const abut_character_matrix *bones, abut_array positions) {
    hash_rival *h = (hash_rival *)r;
    const size_t bytes = h->table.buckets * sizeof(word32);
    (void)bones;
    h->updates++;
    if (!r->there) {
        hash_work work = {.h = h, .positions = positions.host};
        memset(r->here[RIVAL_COUNTS], 0, bytes);
        abut_context_parallel_for(r->context, r->triangle_count, 1024, enter, &work);
        return ABUT_OK;
    }
    const abuti_buffer *at = rival_positions(r, positions);
    abuti_kit_fill(&r->kit, RIVAL_COUNTS, 0, bytes);
    ABUTI_KIT_RUN(&r->kit, RIVAL_HASH_ENTER, r->triangle_count, RIVAL_GROUP, ABUTI_VALUE(h->table),
                  RIVAL_MEMORY(r, RIVAL_CORNERS), ABUTI_BUFFER(at),
                  RIVAL_MEMORY(r, RIVAL_TRIANGLES), RIVAL_MEMORY(r, RIVAL_COUNTS),
                  RIVAL_MEMORY(r, RIVAL_ENTRIES), RIVAL_MEMORY(r, RIVAL_FULL));
    return ABUT_OK;
}

static abut_status collide(rival *r, const rival_particles *p) {
    hash_rival *h = (hash_rival *)r;
    if (!r->there) {
        hash_work work = {.h = h, .particles = p};
        abut_context_parallel_for(r->context, p->count, 256, collide_range, &work);
        return ABUT_OK;
    }
    ABUTI_KIT_RUN(&r->kit, RIVAL_HASH_COLLIDE, p->count, RIVAL_GROUP, ABUTI_VALUE(h->table),
                  RIVAL_MEMORY(r, RIVAL_TRIANGLES), RIVAL_MEMORY(r, RIVAL_COUNTS),
                  RIVAL_MEMORY(r, RIVAL_ENTRIES), ABUTI_BUFFER(p->from_there),
                  ABUTI_BUFFER(p->to_there), ABUTI_VALUE(p->friction), ABUTI_VALUE(p->count));
    return ABUT_OK;
}

/* Entries that did not fit into their bucket, of all updates. */
static abut_status count_lost(rival *r, word32 *full) {
    if (r->there)
        return abuti_kit_download(&r->kit, RIVAL_FULL, full, 1, sizeof *full);
    *full = *(const word32 *)r->here[RIVAL_FULL];
    return ABUT_OK;
}

/* Creates buckets, and tests whether the body at rest fits into them. */
static abut_status try_rest(hash_rival *h, abut_array positions, word32 *full) {
    rival *r = &h->base;
    const size_t buckets = h->table.buckets;
    *full = 0;
    abut_status status = rival_put(r, RIVAL_COUNTS, NULL, buckets, sizeof(word32));
    if (!status)
        status = rival_put(r, RIVAL_ENTRIES, NULL, buckets, h->table.capacity * sizeof(word32));
    if (status)
        return status;
    status = rival_put(r, RIVAL_FULL, full, 1, sizeof *full);
    if (status)
        return status;
    h->updates = 0;
    status = update(r, NULL, positions);
    if (status)
        return status;
    return count_lost(r, full);
}

static double area_of(const abut_mesh *mesh) {
    const abut_vec3 *p = abut_mesh_local_positions(mesh);
    const uint32_t *corner = abut_mesh_indices(mesh);
    double sum = 0;
    for (uint32_t i = 0; i < abut_mesh_triangle_count(mesh); i++, corner += 3) {
        const abut_vec3 a = p[corner[0]], b = p[corner[1]], c = p[corner[2]];
        const double u[3] = {b.x - a.x, b.y - a.y, b.z - a.z};
        const double v[3] = {c.x - a.x, c.y - a.y, c.z - a.z};
        const double n[3] = {u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2],
                             u[0] * v[1] - u[1] * v[0]};
        sum += 0.5 * sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
    }
    return sum;
}

static abut_status put_triangles(hash_rival *h) {
    rival *r = &h->base;
    h->table.inverse = (real)(1 / r->options.cell);
    h->table.reach = (real)(0.5 * r->options.cell);
    h->table.triangle_count = r->triangle_count;
    abut_status status = rival_put(r, RIVAL_CORNERS, abut_mesh_indices(r->rest), r->triangle_count,
                                   3 * sizeof(uint32_t));
    return status ? status
                  : rival_put(r, RIVAL_TRIANGLES, NULL, r->triangle_count, sizeof(rival_triangle));
}

static abut_status create_published(rival *r) {
    hash_rival *h = (hash_rival *)r;
    word32 full = 0;
    h->table.buckets = PUBLISHED_BUCKETS;
    h->table.capacity = PUBLISHED_CAPACITY;
    abut_status status = put_triangles(h);
    return status ? status
                  : try_rest(h, abut_array_host(abut_mesh_local_positions(r->rest)), &full);
}

static abut_status create_fitted(rival *r) {
    hash_rival *h = (hash_rival *)r;
    const double cells = 2 * area_of(r->rest) / (r->options.cell * r->options.cell);
    h->table.buckets = 1024;
    while (h->table.buckets < 3 * cells && h->table.buckets < 1u << 25)
        h->table.buckets *= 2;
    abut_status status = put_triangles(h);
    word32 full = 1;
    for (h->table.capacity = 8; !status && full; h->table.capacity *= 2) {
        status = try_rest(h, abut_array_host(abut_mesh_local_positions(r->rest)), &full);
        if (full && h->table.capacity >= 1024)
            return abut_set_error(ABUT_ERROR_LIMIT, "rival_create: too many triangles in a cell");
    }
    h->table.capacity = h->table.capacity / 2 * 3 / 2;
    if (status)
        return status;
    return try_rest(h, abut_array_host(abut_mesh_local_positions(r->rest)), &full);
}

static abut_status lost(rival *r, double *entries) {
    const hash_rival *h = (const hash_rival *)r;
    word32 full = 0;
    abut_status status = count_lost(r, &full);
    *entries = h->updates ? (double)full / h->updates : 0;
    return status;
}

const rival_methods rival_hash = {.name = "hash",
                                  .bytes = sizeof(hash_rival),
                                  .create = create_published,
                                  .update = update,
                                  .collide = collide,
                                  .lost = lost};
const rival_methods rival_fitted_hash = {.name = "fitted-hash",
                                         .bytes = sizeof(hash_rival),
                                         .create = create_fitted,
                                         .update = update,
                                         .collide = collide,
                                         .lost = lost};
