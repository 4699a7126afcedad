/* Selection of the bricks of a sparse field that contain a part of the narrow band.
 *
 * Problem: find all bricks within the band of a point of the mesh, in time proportional to their
 * number. Method: each triangle visits the bricks of its bounding box, extended by the band. The
 * range of bricks is halved recursively down to single bricks. A range is pruned if an axis
 * separates it from the triangle by more than the band. The axes are those of the grid, the normal,
 * and the cross products of edges and grid axes (Akenine-Moller 2001, "Fast 3D triangle-box overlap
 * testing"). The band is the radius of a ball around each point of the box, so it extends the box
 * equally along every axis. Guarantee: no brick is missed, since bricks that an axis separates are
 * farther than the band, and rounding is on the side of keeping. Some bricks near corners are kept
 * although they are farther, by at most a fraction of the band. All arithmetic is in doubles, so
 * all platforms select the same bricks.
 */
#include "field/field.h"

#include <math.h>

enum { TRIANGLES_PER_TASK = 512, BRICKS_AT_ONCE = 8 };

typedef struct marking_job {
    const abut_field *field;
    double reach; /* band in units of bricks, plus a bound of the rounding error */
    atomic_uchar *marks;
} marking_job;

/* A range of bricks along each axis, both ends included. */
typedef struct brick_range {
    uint32_t first[3], last[3];
} brick_range;

/* Whether an axis separates a triangle from a box centred at 0 by more than the reach. */
static bool is_separating(vec3 axis, const vec3 corner[3], vec3 half, double reach) {
    double a = v3_dot(axis, corner[0]), b = v3_dot(axis, corner[1]), c = v3_dot(axis, corner[2]);
    double lo = real_min(a, real_min(b, c)), hi = real_max(a, real_max(b, c));
    double most = v3_dot(v3_abs(axis), half) + reach * v3_length(axis);
    return lo > most || hi < -most;
}

/* The squared distance of the box from lo to hi to a box centred at 0. */
static double box_distance_sq(vec3 lo, vec3 hi, vec3 half) {
    vec3 gap = v3_max(v3_sub(v3_max(lo, v3_scale(hi, -1)), half), v3(0, 0, 0));
    return v3_length_sq(gap);
}

/* Whether a triangle is farther from all bricks of a range than the reach. Coordinates are in
 * bricks. */
static bool is_out_of_reach(const marking_job *m, const vec3 corner[3], const brick_range *r) {
    double half[3], middle[3], reach_sq = m->reach * m->reach;
    for (int k = 0; k < 3; k++) {
        half[k] = 0.5 * ((double)r->last[k] - r->first[k] + 1);
        middle[k] = r->first[k] + half[k];
    }
    const vec3 h = v3(half[0], half[1], half[2]), at = v3(middle[0], middle[1], middle[2]);
    const vec3 t[3] = {v3_sub(corner[0], at), v3_sub(corner[1], at), v3_sub(corner[2], at)};
    if (box_distance_sq(v3_min(t[0], v3_min(t[1], t[2])), v3_max(t[0], v3_max(t[1], t[2])), h) >
        reach_sq)
        return true;
    for (int k = 0; k < 3; k++) /* usually a corner is near */
        if (box_distance_sq(t[k], t[k], h) <= reach_sq)
            return false;
    const vec3 edge[3] = {v3_sub(t[1], t[0]), v3_sub(t[2], t[1]), v3_sub(t[0], t[2])};
    if (is_separating(v3_cross(edge[0], edge[1]), t, h, m->reach))
        return true;
    for (int e = 0; e < 3; e++)
        if (is_separating(v3(0, -edge[e].z, edge[e].y), t, h, m->reach) ||
            is_separating(v3(edge[e].z, 0, -edge[e].x), t, h, m->reach) ||
            is_separating(v3(-edge[e].y, edge[e].x, 0), t, h, m->reach))
            return true;
    return false;
}

static void mark_single_bricks(const marking_job *m, const vec3 corner[3], const brick_range *r) {
    brick_range one;
    for (uint32_t z = r->first[2]; z <= r->last[2]; z++)
        for (uint32_t y = r->first[1]; y <= r->last[1]; y++)
            for (uint32_t x = r->first[0]; x <= r->last[0]; x++) {
                atomic_uchar *mark = &m->marks[grid_at(m->field->bricks, x, y, z)];
                if (atomic_load_explicit(mark, memory_order_relaxed))
                    continue;
                one = (brick_range){{x, y, z}, {x, y, z}};
                if (!is_out_of_reach(m, corner, &one))
                    atomic_store_explicit(mark, 1, memory_order_relaxed);
            }
}

/* Recursion depth is at most 32 per axis, since each split halves the longest axis. */
static void mark_range(const marking_job *m, const vec3 corner[3], brick_range r) {
    int longest = 0;
    uint64_t count = 1;
    for (int k = 0; k < 3; k++) {
        count *= r.last[k] - r.first[k] + 1;
        count = count < BRICKS_AT_ONCE ? count : BRICKS_AT_ONCE + 1;
        longest = r.last[k] - r.first[k] > r.last[longest] - r.first[longest] ? k : longest;
    }
    if (count <= BRICKS_AT_ONCE) {
        mark_single_bricks(m, corner, &r);
        return;
    }
    if (is_out_of_reach(m, corner, &r))
        return;
    brick_range lower = r, upper = r;
    lower.last[longest] = r.first[longest] + (r.last[longest] - r.first[longest]) / 2;
    upper.first[longest] = lower.last[longest] + 1;
    mark_range(m, corner, lower);
    mark_range(m, corner, upper);
}

static void mark_task(void *data, size_t chunk, size_t begin, size_t end) {
    const marking_job *m = data;
    const abut_grid *grid = &m->field->grid;
    const abut_mesh *mesh = m->field->mesh;
    (void)chunk;
    for (size_t t = begin; t < end; t++) {
        vec3 corner[3];
        brick_range r;
        bool outside = false;
        for (size_t k = 0; k < 3; k++)
            corner[k] =
                v3_scale(v3_sub(abuti_mesh_position(mesh, mesh->indices[3 * t + k]), grid->origin),
                         1 / (FIELD_BRICK * grid->cell));
        vec3 lo = v3_min(corner[0], v3_min(corner[1], corner[2]));
        vec3 hi = v3_max(corner[0], v3_max(corner[1], corner[2]));
        for (int k = 0; k < 3; k++) {
            /* neighbouring bricks share a layer, so a coordinate at a whole number belongs to both
             */
            double first = ceil(v3_get(lo, k) - m->reach) - 1,
                   last = floor(v3_get(hi, k) + m->reach);
            double most = m->field->bricks[k] - 1;
            outside = outside || !(first <= most && last >= 0);
            r.first[k] = (uint32_t)real_clamp(first, 0, most);
            r.last[k] = (uint32_t)real_clamp(last, 0, most);
        }
        if (!outside)
            mark_range(m, corner, r);
    }
}

void abuti_field_mark_bricks(const abut_field *field, atomic_uchar *marks) {
    const abut_grid *g = &field->grid;
    const box3 *b = &field->mesh->bounds;
    double brick = FIELD_BRICK * g->cell;
    vec3 end = grid_centre(g, g->count[0], g->count[1], g->count[2]);
    double largest = real_max(real_max(v3_max_abs(g->origin), v3_max_abs(end)),
                              real_max(v3_max_abs(b->lo), v3_max_abs(b->hi)));
    /* a few rounding errors of coordinates and of their products */
    marking_job m = {field, field->band / brick * (1 + 1e-9) + 0x1p-44 * (largest / brick + 1),
                     marks};
    abuti_parallel_for(field->context, field->mesh->triangle_count, TRIANGLES_PER_TASK, mark_task,
                       &m);
}
