/* Distances of the cells of a block from feature lists; see cells.h for the method. */
#include "field/build/compute.h"

#include "base/simd.h"
#include "geom/closest_shared.h"
#include "sign/sign.h"

#include <math.h>

/* Boxes of spans. All have the same half extents, the largest of any span. */
static void make_boxes(const worker *w, const cells_span *spans, uint32_t count,
                       regions_box *boxes) {
    const float margin = w->rule.margin,
                reach = (float)(w->rule.band * w->c->table.bvh->scale) * NEAREST_SLACK;
    float half[3] = {0, 0, 0};
    for (uint32_t i = 0; i < count; i++) {
        boxes[i].margin = boxes[i].outside = margin;
        boxes[i].reach = reach;
    }
    for (int k = 0; k < 3; k++) {
        const double *frame = w->c->frame[k];
        for (uint32_t i = 0; i < count; i++) {
            const double lo = frame[spans[i].begin[k]],
                         hi = frame[spans[i].begin[k] + spans[i].count[k] - 1];
            const float extent = (float)(0.5 * (hi - lo)) + 0.25f * margin; /* plus rounding */
            boxes[i].centre[k] = (float)(0.5 * (lo + hi));
            half[k] = extent > half[k] ? extent : half[k];
        }
    }
    for (uint32_t i = 0; i < count; i++)
        memcpy(boxes[i].half, half, sizeof half);
}

/* ---- cells ---- */

/* The sign of a cell that may be on the surface. As in sign/signed.c, a distance of 0 has no sign,
 * and a distance that rounds to 0 is inside. */
static double sign_touching(const computing *c, vec3 p, double distance) {
    int64_t winding;
    bool on_surface, inside;
    if (!(distance > 0))
        return distance;
    if (c->closed) {
        abuti_sign_crossing(c->table.bvh, NULL, p, &winding, &on_surface);
        inside = on_surface || winding != 0;
    } else {
        inside = abuti_sign_boundary_inside(c->table.bvh, p);
    }
    return inside ? -distance : distance;
}

static void search_cell(worker *w, const uint32_t cell[3], float *value) {
    const computing *c = w->c;
    vec3 p = grid_centre(c->job->grid, cell[0], cell[1], cell[2]);
    abut_nearest nearest;
    abuti_nearest_point(c->table.bvh, p, INFINITY, &w->hint, &nearest);
    if (c->by_normals) {
        abuti_sign_set(c->table.bvh, p, &nearest);
        *value = (float)real_clamp(nearest.distance, -c->job->band, c->job->band);
        return;
    }
    *value = (float)(nearest.distance > c->job->band ? c->job->band : nearest.distance);
    if (nearest.distance <= 2 * w->rule.error * w->rule.to_world) {
        w->touching[w->touching_count] = compute_index(w, cell[0], cell[1], cell[2]);
        w->touching_value[w->touching_count++] =
            (float)real_clamp(sign_touching(c, p, nearest.distance), -c->job->band, c->job->band);
    }
}

static vec3 scaled_position(const abut_bvh *bvh, uint32_t vertex) {
    return v3_scale(bvh->mesh->positions[vertex], bvh->scale);
}

/* A feature in doubles, from a cache of those that were measured recently. */
static const cells_feature *exact_feature(worker *w, uint32_t name) {
    const regions_table *table = &w->c->table;
    const uint32_t source = feature_source(&table->features, name), *indices;
    const float offset = table->rows[name].column[REGIONS_OFFSET];
    cells_feature *f = &w->exact[name % CELLS_CACHE];
    if (f->name == name)
        return f;
    indices = table->bvh->mesh->indices;
    *f = (cells_feature){.name = name, .kind = offset < 0 ? -1 : offset > 0};
    if (offset < 0) {
        vec3 corner[3];
        for (size_t k = 0; k < 3; k++)
            corner[k] = scaled_position(table->bvh, indices[3 * (size_t)source + k]);
        f->at = corner[0];
        f->direction = face_normal_of(corner);
    } else if (offset > 0) {
        uint32_t ends[2];
        feature_ends(indices, source, ends);
        f->at = scaled_position(table->bvh, ends[0]);
        const vec3 along = v3_sub(scaled_position(table->bvh, ends[1]), f->at);
        f->length = v3_length(along);
        f->direction = v3_normalise(along);
    } else {
        f->at = scaled_position(table->bvh, source);
    }
    return f;
}

/* The distance to a feature; `is_foot`: a face is known to contain the foot of the point. */
static double measure_feature(worker *w, uint32_t name, bool is_foot, vec3 p) {
    const cells_feature *f = exact_feature(w, name);
    const vec3 away = v3_sub(p, f->at);
    const double along = v3_dot(f->direction, away);
    if (f->kind < 0 && is_foot)
        return fabs(along);
    if (f->kind >= 0)
        return v3_length(v3_along(away, -real_clamp(along, 0, f->length), f->direction));
    const regions_table *table = &w->c->table;
    const uint32_t *index =
        table->bvh->mesh->indices + 3 * (size_t)feature_source(&table->features, name);
    abut_triangle t;
    for (int k = 0; k < 3; k++)
        t.corner[k] = scaled_position(table->bvh, index[k]);
    return triangle_closest_point(t, p).distance;
}

/* Computes a cell from its candidates; `n` is its lane. */
static void measure_cell(worker *w, const uint32_t *names, uint32_t n, bool is_ambiguous,
                         const uint32_t cell[3], float *value) {
    const computing *c = w->c;
    const regions_winners *found = &w->winners;
    const vec3 p = v3(c->frame[0][cell[0]], c->frame[1][cell[1]], c->frame[2][cell[2]]);
    double best = INFINITY, marked = INFINITY;
    const bool is_listed = found->best[n] < INFINITY;
    if (!is_listed && w->rule.band < INFINITY) { /* nothing is within reach */
        *value = (float)w->rule.band;
        return;
    }
    const uint32_t count = is_ambiguous ? found->candidate_count : is_listed;
    for (uint32_t k = 0; k < count; k++) {
        if (is_ambiguous && !regions_is_candidate(found, k, n))
            continue;
        const uint32_t name =
            names[is_ambiguous ? regions_candidate_place(found, k) : (uint32_t)found->place[n]];
        /* a single face that is a bound contains the foot */
        const bool is_foot = !is_ambiguous && found->best[n] == found->bound[n];
        const double d = measure_feature(w, name, is_foot, p);
        best = real_min(best, d);
        if (feature_is_marked(&c->table.features, name))
            marked = real_min(marked, d);
    }
    if (marked <= best + 4 * (double)w->rule.margin || !cells_value(&w->rule, best, value))
        search_cell(w, cell, value);
}

/* Measures at most sixteen cells. */
static void measure_cells(worker *w, const cells_span *s, const uint32_t *names, uint32_t count) {
    const computing *c = w->c;
    const uint32_t *first = w->rows.cells.begin;
    const float *const at[3] = {w->x[(s->begin[0] - first[0]) / CELLS_X].at,
                                w->y[(s->begin[1] - first[1]) / CELLS_Y].at,
                                w->z[(s->begin[2] - first[2]) / CELLS_Z].at};
    const float margin = w->rule.margin;
    unsigned ambiguous = 0;
    w->lists.kernel->winners(c->table.rows, names, count, at, margin, &w->winners);
    for (uint32_t n = 0; n < CELLS_COUNT; n++)
        ambiguous |= (unsigned)!(w->winners.next[n] > regions_reach_sq(&w->winners, margin, n))
                     << n;
    if (ambiguous)
        w->lists.kernel->candidates(count, margin, ambiguous, &w->winners);
    for (uint32_t n = 0; n < CELLS_COUNT; n++) {
        const uint32_t step[3] = {n % CELLS_X, n / CELLS_X % CELLS_Y, n / (CELLS_X * CELLS_Y)};
        if (step[0] >= s->count[0] || step[1] >= s->count[1] || step[2] >= s->count[2])
            continue;
        const uint32_t cell[3] = {s->begin[0] + step[0], s->begin[1] + step[1],
                                  s->begin[2] + step[2]};
        measure_cell(w, names, n, ambiguous >> n & 1, cell,
                     &w->values[compute_index(w, cell[0], cell[1], cell[2])]);
    }
}

/* Sets cells to the band, or computes each by a closest-point query. */
static void set_cells(worker *w, const cells_span *s, bool search) {
    uint32_t cell[3];
    for (cell[2] = s->begin[2]; cell[2] < s->begin[2] + s->count[2]; cell[2]++)
        for (cell[1] = s->begin[1]; cell[1] < s->begin[1] + s->count[1]; cell[1]++) {
            float *row = &w->values[compute_index(w, s->begin[0], cell[1], cell[2])];
            const float band = (float)w->rule.band;
            for (uint32_t i = 0; !search && i < s->count[0]; i++)
                row[i] = band;
            for (cell[0] = s->begin[0]; search && cell[0] < s->begin[0] + s->count[0]; cell[0]++)
                search_cell(w, cell, &row[cell[0] - s->begin[0]]);
        }
}

/* ---- subdivision ---- */

static bool fits(const cells_span *s, uint32_t x, uint32_t y, uint32_t z) {
    return s->count[0] <= x && s->count[1] <= y && s->count[2] <= z;
}

static bool is_sixteen_cells(const cells_span *s) {
    return fits(s, CELLS_X, CELLS_Y, CELLS_Z);
}

static bool is_in_block(const cells_span *s) {
    return fits(s, FIELD_BRICK, FIELD_BRICK, FIELD_BRICK);
}

/* Splits a number of cells in two. The first part is a multiple of `least`, or all cells. */
static uint32_t first_part(uint32_t count, uint32_t least) {
    if (count <= least)
        return count;
    uint32_t half = (count / 2 + least - 1) / least * least;
    return half < count ? half : count - least;
}

/* Splits a span into up to eight parts, down to blocks and then to sixteen cells. Returns their
 * number. */
static uint32_t divide_span(const cells_span *s, cells_span parts[8]) {
    static const uint32_t least[2][3] = {{FIELD_BRICK, FIELD_BRICK, FIELD_BRICK},
                                         {CELLS_X, CELLS_Y, CELLS_Z}};
    uint32_t first[3], count = 0;
    for (int k = 0; k < 3; k++)
        first[k] = first_part(s->count[k], least[is_in_block(s)][k]);
    for (int octant = 0; octant < 8; octant++) {
        cells_span *part = &parts[count];
        bool empty = false;
        for (int k = 0; k < 3; k++) {
            bool second = octant >> k & 1;
            part->begin[k] = s->begin[k] + (second ? first[k] : 0);
            part->count[k] = second ? s->count[k] - first[k] : first[k];
            empty = empty || !part->count[k];
        }
        count += !empty;
    }
    return count;
}

/* Whether a span has distances to compute. If it has only known ones, sets their signs, unless that
 * has been done. */
static bool needs_distances(worker *w, const cells_span *s, bool is_signed) {
    const field_job *job = w->c->job;
    uint32_t block[3] = {s->begin[0], s->begin[1], s->begin[2]};
    bool is_wanted = false;
    if (!job->wanted && !job->known)
        return true;
    do {
        if (*compute_wanted(w, block) == NOT_WANTED)
            continue;
        if (!compute_is_known(w, block))
            return true;
        is_wanted = true;
    } while (compute_next_block(s, block));
    if (is_wanted && !is_signed)
        abuti_sign_open(w->c->table.bvh, job->grid, &w->rows, s, true);
    return false;
}

/* The last step: lists for sixteen cells each. */
static void measure_parts(worker *w, const cells_span *parts, uint32_t count,
                          const regions_list *list) {
    regions_box boxes[REGIONS_BOXES];
    uint32_t kept_count[REGIONS_BOXES];
    make_boxes(w, parts, count, boxes);
    abuti_regions_filter(&w->lists, list, boxes, count, kept_count);
    for (uint32_t i = 0; i < count; i++)
        if (kept_count[i])
            measure_cells(w, &parts[i], w->lists.kept + (size_t)i * regions_stride(list->count),
                          kept_count[i]);
        else
            set_cells(w, &parts[i], w->rule.band == INFINITY);
}

static void divide_cells(worker *w, const cells_span *s, const regions_list *list, bool is_signed);

/* Computes parts of a span, each with a list of its own, which is made from that of the span; or
 * from the BVH if that is null, one part at a time. */
static void compute_parts(worker *w, const cells_span *parts, uint32_t count,
                          const regions_list *list, bool is_signed) {
    const uint32_t before = w->lists.used;
    regions_box boxes[REGIONS_BOXES];
    regions_narrowed made[REGIONS_BOXES];
    regions_outcome found = REGIONS_LISTED;
    make_boxes(w, parts, count, boxes);
    if (list) {
        abuti_regions_narrow(&w->lists, list, boxes, count, made);
    } else {
        found = abuti_regions_collect(&w->lists, boxes, REGIONS_LIST_MAX, &made->own);
        made->list = found == REGIONS_LISTED ? &made->own : NULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        const bool is_beyond = !made[i].list && found != REGIONS_TOO_MANY;
        const bool has_signs =
            is_signed || abuti_sign_open(w->c->table.bvh, w->c->job->grid, &w->rows, &parts[i],
                                         is_beyond || is_in_block(&parts[i]));
        if (is_beyond)
            set_cells(w, &parts[i], w->rule.band == INFINITY);
        else
            divide_cells(w, &parts[i], made[i].list, has_signs);
    }
    w->lists.used = before;
}

/* Computes a span with its list, or null if that would be too long. The recursion depth is about
 * six, since each split halves the span. */
static void divide_cells(worker *w, const cells_span *s, const regions_list *list, bool is_signed) {
    cells_span parts[8];
    if (is_sixteen_cells(s)) {
        if (list)
            measure_cells(w, s, list->names, list->count);
        else
            set_cells(w, s, true);
        return;
    }
    const uint32_t all = divide_span(s, parts),
                   most = list ? regions_boxes_at_once(list->count) : 1;
    uint32_t count = 0;
    for (uint32_t i = 0; i < all; i++)
        if (is_in_block(s) || needs_distances(w, &parts[i], is_signed))
            parts[count++] = parts[i];
    /* if the first and the last part are small, so are those between */
    const bool is_last =
        list && count && is_sixteen_cells(&parts[0]) && is_sixteen_cells(&parts[count - 1]);
    for (uint32_t begin = 0, some; begin < count; begin += some) {
        some = count - begin < most ? count - begin : most;
        if (is_last)
            measure_parts(w, parts + begin, some, list);
        else
            compute_parts(w, parts + begin, some, list, is_signed);
    }
}

void abuti_compute_cells(worker *w, const cells_span *s, bool is_far) {
    const bool is_signed = w->c->closed || w->c->by_normals;
    w->lists.used = 0;
    w->hint.known = w->lists.hint.known = false;
    if (!needs_distances(w, s, is_signed))
        return;
    if (!is_far) {
        compute_parts(w, s, 1, NULL, is_signed);
        return;
    }
    if (!is_signed)
        abuti_sign_open(w->c->table.bvh, w->c->job->grid, &w->rows, s, true);
    uint32_t block[3] = {s->begin[0], s->begin[1], s->begin[2]};
    do {
        cells_span one = *s;
        for (int k = 0; k < 3; k++) {
            const uint32_t left = s->begin[k] + s->count[k] - block[k];
            one.begin[k] = block[k];
            one.count[k] = left < FIELD_BRICK ? left : FIELD_BRICK;
        }
        if (*compute_wanted(w, block) != NOT_WANTED && !compute_is_known(w, block))
            set_cells(w, &one, true);
    } while (compute_next_block(s, block));
}
