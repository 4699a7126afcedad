/* Narrow bands of distances, one grid per bone. Triangles belong to the bones with the largest
 * weights at their corners; a grid contains its triangles at rest and a margin for the influence
 * of neighbours. */
#include "apps/get.h"
#include "band_shared.h"
#include "parts.h"

#include <float.h>
#include <math.h>

enum { FRAMES_UNDER_WAY = 8 };

/* A bone's own axes, without scale or shear, in the world. */
typedef struct band_axes {
    double axis[3][3], origin[3];
} band_axes;

typedef struct band_box {
    double lo[3], hi[3]; /* along the axes, in world units */
} band_box;

typedef struct band_rival {
    rival base;
    uint32_t grid_count, pair_count, frame;
    uint64_t cell_count;
    bool moved; /* there was an update */
    uint32_t *bones;
    band_box *boxes;
    band_grid *grids;
    abuti_staging staging; /* of a device */
} band_rival;

typedef struct band_work {
    band_rival *b;
    const abut_vec3 *positions;
    const rival_particles *particles;
} band_work;

/* ---- frames ---- */

static double dot(const double a[3], const double b[3]) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* Gram-Schmidt over the columns; any other axis if one degenerates. */
static band_axes axes_of(const abut_character_matrix *m) {
    band_axes axes;
    for (int k = 0; k < 3; k++) {
        double best[3] = {0, 0, 0}, most = 0;
        for (int attempt = 0; attempt < 4 && !(most > 1e-6); attempt++) {
            double a[3], size = 0;
            for (int i = 0; i < 3; i++) {
                a[i] = attempt ? (i == (k + attempt - 1) % 3) : m->m[i][k];
                size += a[i] * a[i];
            }
            for (int j = 0; j < k; j++) {
                double along = dot(a, axes.axis[j]);
                for (int i = 0; i < 3; i++)
                    a[i] -= along * axes.axis[j][i];
            }
            double length = sqrt(dot(a, a));
            if (!(length > 1e-6 * sqrt(size)))
                continue;
            most = length / sqrt(size);
            for (int i = 0; i < 3; i++)
                best[i] = a[i] / length;
        }
        for (int i = 0; i < 3; i++)
            axes.axis[k][i] = best[i];
    }
    for (int i = 0; i < 3; i++)
        axes.origin[i] = m->m[i][3];
    return axes;
}

static void corner_of(const band_axes *axes, const band_box *box, int which, double p[3]) {
    for (int i = 0; i < 3; i++) {
        p[i] = axes->origin[i];
        for (int k = 0; k < 3; k++)
            p[i] += axes->axis[k][i] * (which >> k & 1 ? box->hi[k] : box->lo[k]);
    }
}

/* The current position of a grid. */
static void place_grid(const band_axes *axes, const band_box *box, double cell, bool moved,
                       band_grid *g) {
    band_frame before = g->now;
    real shift[3];
    for (int k = 0; k < 3; k++) {
        const double *a = axes->axis[k];
        g->now.row[k] = v3((real)(a[0] / cell), (real)(a[1] / cell), (real)(a[2] / cell));
        shift[k] = (real)(-(dot(a, axes->origin) + box->lo[k]) / cell);
    }
    g->now.shift = v3(shift[0], shift[1], shift[2]);
    g->before = moved ? before : g->now;
    double a[3], b[3], way = 0, half[3];
    corner_of(axes, box, 0, a);
    corner_of(axes, box, 7, b);
    for (int i = 0; i < 3; i++)
        half[i] = 0.5 * (b[i] - a[i]);
    g->centre = v3((real)(a[0] + half[0]), (real)(a[1] + half[1]), (real)(a[2] + half[2]));
    for (int which = 0; which < 8; which++) { /* largest motion of corners, in cells */
        corner_of(axes, box, which, a);
        vec3 p = v3((real)a[0], (real)a[1], (real)a[2]);
        vec3 d = v3_sub(band_apply(&g->now, p), band_apply(&g->before, p));
        way = fmax(way, (double)v3_length(d));
    }
    g->radius = (real)(sqrt(dot(half, half)) + way * cell);
}

/* ---- steps ---- */

static void draw(void *user, size_t chunk, size_t begin, size_t end) {
    const band_work *work = user;
    void *const *here = work->b->base.here;
    const band_pair *pairs = here[RIVAL_PAIRS];
    (void)chunk;
    for (size_t i = begin; i < end; i++)
        band_draw(work->b->grids, pairs[i], here[RIVAL_CORNERS], work->positions, here[RIVAL_CELLS],
                  0, 1);
}

static void collide_range(void *user, size_t chunk, size_t begin, size_t end) {
    const band_work *work = user;
    const rival_particles *p = work->particles;
    const rival *r = &work->b->base;
    const real unit = (real)(r->options.cell * r->options.cell);
    (void)chunk;
    for (size_t i = begin; i < end; i++)
        band_collide(work->b->grids, work->b->grid_count, r->here[RIVAL_CELLS], unit,
                     r->options.steps, p->from, p->to, p->friction, (word32)i);
}

static abut_status update(rival *r, const abut_character_matrix *bones, abut_array positions) {
    band_rival *b = (band_rival *)r;
    const size_t bytes = b->cell_count * sizeof(word32);
    for (uint32_t g = 0; g < b->grid_count; g++) {
        band_axes axes = axes_of(&bones[b->bones[g]]);
        place_grid(&axes, &b->boxes[g], r->options.cell, b->moved, &b->grids[g]);
    }
    b->moved = true;
    if (!r->there) {
        band_work work = {.b = b, .positions = positions.host};
        memset(r->here[RIVAL_CELLS], 0xff, bytes);
        abut_context_parallel_for(r->context, b->pair_count, 256, draw, &work);
        return ABUT_OK;
    }
    /* A copy that is kept until the upload is complete. */
    band_grid *sent = (band_grid *)b->staging.at;
    sent += (size_t)(b->frame++ % FRAMES_UNDER_WAY) * b->grid_count;
    memcpy(sent, b->grids, b->grid_count * sizeof *sent);
    const abuti_buffer *at = rival_positions(r, positions);
    abuti_kit_send(&r->kit, RIVAL_GRIDS, 0, sent, b->grid_count, sizeof *sent);
    abuti_kit_fill(&r->kit, RIVAL_CELLS, BAND_EMPTY, bytes);
    ABUTI_KIT_RUN(&r->kit, RIVAL_BAND_DRAW, (size_t)b->pair_count * BAND_LANES, RIVAL_GROUP,
                  RIVAL_MEMORY(r, RIVAL_GRIDS), RIVAL_MEMORY(r, RIVAL_PAIRS),
                  ABUTI_VALUE(b->pair_count), RIVAL_MEMORY(r, RIVAL_CORNERS), ABUTI_BUFFER(at),
                  RIVAL_MEMORY(r, RIVAL_CELLS));
    return ABUT_OK;
}

static abut_status collide(rival *r, const rival_particles *p) {
    band_rival *b = (band_rival *)r;
    const real unit = (real)(r->options.cell * r->options.cell);
    if (!r->there) {
        band_work work = {.b = b, .particles = p};
        abut_context_parallel_for(r->context, p->count, 128, collide_range, &work);
        return ABUT_OK;
    }
    ABUTI_KIT_RUN(&r->kit, RIVAL_BAND_COLLIDE, p->count, RIVAL_GROUP, RIVAL_MEMORY(r, RIVAL_GRIDS),
                  ABUTI_VALUE(b->grid_count), RIVAL_MEMORY(r, RIVAL_CELLS), ABUTI_VALUE(unit),
                  ABUTI_VALUE(r->options.steps), ABUTI_BUFFER(p->from_there),
                  ABUTI_BUFFER(p->to_there), ABUTI_VALUE(p->friction), ABUTI_VALUE(p->count));
    return ABUT_OK;
}

/* ---- create ---- */

/* The grid of each bone that has its own vertices, otherwise ABUT_NONE. */
static void number_grids(band_rival *b, const uint32_t *owner, uint32_t bone_count,
                         uint32_t *grid_of) {
    for (uint32_t k = 0; k < bone_count; k++)
        grid_of[k] = ABUT_NONE;
    for (uint32_t v = 0; v < b->base.vertex_count; v++)
        grid_of[owner[v]] = 0;
    for (uint32_t k = 0; k < bone_count; k++)
        if (grid_of[k] == 0) {
            grid_of[k] = b->grid_count;
            b->bones[b->grid_count++] = k;
        }
}

static void grow_box(band_box *box, const band_axes *axes, abut_vec3 p) {
    const double d[3] = {p.x - axes->origin[0], p.y - axes->origin[1], p.z - axes->origin[2]};
    for (int k = 0; k < 3; k++) {
        const double at = dot(axes->axis[k], d);
        box->lo[k] = fmin(box->lo[k], at);
        box->hi[k] = fmax(box->hi[k], at);
    }
}

/* Every triangle with the grids of its corners; also extends their boxes. */
static void make_pairs(band_rival *b, const uint32_t *owner, const uint32_t *grid_of,
                       const abut_character_matrix *bones, band_pair *pairs) {
    const rival *r = &b->base;
    const uint32_t *indices = abut_mesh_indices(r->rest);
    const abut_vec3 *positions = abut_mesh_local_positions(r->rest),
                    origin = abut_mesh_local_origin(r->rest);
    for (uint32_t i = 0; i < r->triangle_count; i++) {
        const uint32_t *c = indices + 3 * (size_t)i;
        uint32_t grids[3];
        for (int k = 0; k < 3; k++) {
            grids[k] = grid_of[owner[c[k]]];
            if ((k > 0 && grids[k] == grids[0]) || (k > 1 && grids[k] == grids[1]))
                continue;
            pairs[b->pair_count].triangle = i;
            pairs[b->pair_count++].grid = grids[k];
            band_axes axes = axes_of(&bones[b->bones[grids[k]]]);
            for (int j = 0; j < 3; j++) {
                abut_vec3 p = positions[c[j]];
                p.x += origin.x;
                p.y += origin.y;
                p.z += origin.z;
                grow_box(&b->boxes[grids[k]], &axes, p);
            }
        }
    }
}

/* With a margin of a tenth and of three cells. */
static abut_status size_grids(band_rival *b) {
    const double cell = b->base.options.cell;
    for (uint32_t g = 0; g < b->grid_count; g++) {
        band_box *box = &b->boxes[g];
        double cells = 1;
        for (int k = 0; k < 3; k++) {
            const double margin = 0.1 * (box->hi[k] - box->lo[k]) + 3 * cell;
            box->lo[k] -= margin;
            const double count = ceil((box->hi[k] + margin - box->lo[k]) / cell) + 1;
            cells *= count;
            if (cells + (double)b->cell_count > 1 << 28)
                return abut_set_error(ABUT_ERROR_LIMIT, "rival_create: too many cells");
            b->grids[g].count[k] = (word32)count;
            box->hi[k] = box->lo[k] + cell * (count - 1);
        }
        b->grids[g].begin = (word32)b->cell_count;
        b->cell_count += (uint64_t)cells;
    }
    return ABUT_OK;
}

static abut_status upload_grids(band_rival *b, const band_pair *pairs) {
    rival *r = &b->base;
    abut_status status = rival_put(r, RIVAL_CORNERS, abut_mesh_indices(r->rest), r->triangle_count,
                                   3 * sizeof(uint32_t));
    if (!status)
        status = rival_put(r, RIVAL_PAIRS, pairs, b->pair_count, sizeof *pairs);
    if (!status)
        status = rival_put(r, RIVAL_CELLS, NULL, b->cell_count, sizeof(word32));
    if (status || !r->there)
        return status;
    status = rival_put(r, RIVAL_GRIDS, NULL, b->grid_count, sizeof(band_grid));
    if (status)
        return status;
    return abuti_staging_create(&r->queue, (size_t)b->grid_count * FRAMES_UNDER_WAY,
                                sizeof(band_grid), &b->staging);
}

static abut_status make_grids(band_rival *b, const abut_character_matrix *bones, uint32_t *owner,
                              uint32_t *grid_of, band_pair *pairs) {
    const rival *r = &b->base;
    const uint32_t bone_count = get_character_info(r->options.character).bone_count;
    for (uint32_t v = 0; v < r->vertex_count; v++) {
        uint32_t list[ABUT_CHARACTER_WEIGHT_COUNT];
        double weights[ABUT_CHARACTER_WEIGHT_COUNT];
        abut_character_weights(r->options.character, v, list, weights);
        owner[v] = list[0];
    }
    memset(b->grids, 0, bone_count * sizeof *b->grids);
    for (uint32_t g = 0; g < bone_count; g++)
        for (int k = 0; k < 3; k++) {
            b->boxes[g].lo[k] = DBL_MAX;
            b->boxes[g].hi[k] = -DBL_MAX;
        }
    number_grids(b, owner, bone_count, grid_of);
    make_pairs(b, owner, grid_of, bones, pairs);
    abut_status status = size_grids(b);
    if (status)
        return status;
    return upload_grids(b, pairs);
}

static abut_status create(rival *r) {
    band_rival *b = (band_rival *)r;
    const uint32_t bone_count = get_character_info(r->options.character).bone_count;
    abut_context *c = r->context;
    b->bones = abut_context_allocate(c, bone_count, sizeof *b->bones);
    b->boxes = abut_context_allocate(c, bone_count, sizeof *b->boxes);
    b->grids = abut_context_allocate(c, bone_count, sizeof *b->grids);
    abut_character_matrix *rest = abut_context_allocate(c, bone_count, sizeof *rest);
    uint32_t *owner = abut_context_allocate(c, r->vertex_count, sizeof *owner);
    uint32_t *grid_of = abut_context_allocate(c, bone_count, sizeof *grid_of);
    band_pair *pairs = abut_context_allocate(c, r->triangle_count, 3 * sizeof *pairs);
    abut_status status = b->bones && b->boxes && b->grids && rest && owner && grid_of && pairs
                             ? abut_character_pose(r->options.character, NULL, rest)
                             : ABUT_ERROR_MEMORY;
    if (!status)
        status = make_grids(b, rest, owner, grid_of, pairs);
    void *const spare[] = {rest, owner, grid_of, pairs};
    for (size_t k = 0; k < sizeof spare / sizeof *spare; k++)
        abut_context_free(c, spare[k]);
    return status;
}

static void destroy(rival *r) {
    band_rival *b = (band_rival *)r;
    if (r->there)
        abuti_staging_destroy(&r->queue, &b->staging);
    abut_context_free(r->context, b->bones);
    abut_context_free(r->context, b->boxes);
    abut_context_free(r->context, b->grids);
}

const rival_methods rival_band = {.name = "band",
                                  .bytes = sizeof(band_rival),
                                  .create = create,
                                  .update = update,
                                  .collide = collide,
                                  .destroy = destroy};
