/* Distances of the cells of a block from feature lists; see cells.h for the method. */
#include "field/build/compute.h"

#include "base/simd.h"
#include "geom/closest_shared.h"
#include "sign/sign.h"

#include <math.h>

/* ---- lists ---- */

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

void abuti_compute_narrow(worker *w, const regions_list *list, const cells_span *spans,
                          uint32_t count, regions_narrowed *made) {
    regions_box boxes[REGIONS_BOXES];
    make_boxes(w, spans, count, boxes);
    abuti_regions_narrow(&w->lists, list, boxes, count, made);
}

regions_outcome abuti_compute_collect(worker *w, const cells_span *s, regions_narrowed *made) {
    regions_box box;
    make_boxes(w, s, 1, &box);
    regions_outcome found = abuti_regions_collect(&w->lists, &box, REGIONS_LIST_MAX, &made->own);
    made->list = found == REGIONS_LISTED ? &made->own : NULL;
    return found;
}

/* ---- cells ---- */

static uint32_t index_in_block(const worker *w, uint32_t i, uint32_t j, uint32_t k) {
    return (i - w->origin[0]) +
           FIELD_BRICK * ((j - w->origin[1]) + FIELD_BRICK * (k - w->origin[2]));
}

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
    *value = (float)(nearest.distance > c->job->band ? c->job->band : nearest.distance);
    if (nearest.distance <= 2 * w->rule.error * w->rule.to_world) {
        w->touching[w->touching_count] = index_in_block(w, cell[0], cell[1], cell[2]);
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
                     &w->values[index_in_block(w, cell[0], cell[1], cell[2])]);
    }
}

void abuti_compute_set(worker *w, const cells_span *s, bool search) {
    uint32_t cell[3];
    for (cell[2] = s->begin[2]; cell[2] < s->begin[2] + s->count[2]; cell[2]++)
        for (cell[1] = s->begin[1]; cell[1] < s->begin[1] + s->count[1]; cell[1]++) {
            float *row = &w->values[index_in_block(w, s->begin[0], cell[1], cell[2])];
            const float band = (float)w->rule.band;
            for (uint32_t i = 0; !search && i < s->count[0]; i++)
                row[i] = band;
            for (cell[0] = s->begin[0]; search && cell[0] < s->begin[0] + s->count[0]; cell[0]++)
                search_cell(w, cell, &row[cell[0] - s->begin[0]]);
        }
}

/* Splits a number of cells in two. The first part is a multiple of `least`, or all cells. */
static uint32_t first_part(uint32_t count, uint32_t least) {
    if (count <= least)
        return count;
    uint32_t half = (count / 2 + least - 1) / least * least;
    return half < count ? half : count - least;
}

static bool is_sixteen_cells(const cells_span *s) {
    return s->count[0] <= CELLS_X && s->count[1] <= CELLS_Y && s->count[2] <= CELLS_Z;
}

/* Splits a span into up to eight parts. Returns their number. */
static uint32_t divide_span(const cells_span *s, cells_span parts[8]) {
    const uint32_t first[3] = {first_part(s->count[0], CELLS_X), first_part(s->count[1], CELLS_Y),
                               first_part(s->count[2], CELLS_Z)};
    uint32_t count = 0;
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
            abuti_compute_set(w, &parts[i], w->rule.band == INFINITY);
}

/* Recursion depth is about four, since each split halves the span. */
void abuti_compute_divide(worker *w, const cells_span *s, const regions_list *list) {
    cells_span parts[8];
    regions_narrowed made[REGIONS_BOXES];
    if (is_sixteen_cells(s)) {
        measure_cells(w, s, list->names, list->count);
        return;
    }
    const uint32_t count = divide_span(s, parts), most = regions_boxes_at_once(list->count);
    for (uint32_t begin = 0, some; begin < count; begin += some) {
        const uint32_t before = w->lists.used;
        some = count - begin < most ? count - begin : most;
        if (is_sixteen_cells(&parts[0]) &&
            is_sixteen_cells(&parts[count - 1])) { /* then all parts between are, too */
            measure_parts(w, parts + begin, some, list);
            continue;
        }
        abuti_compute_narrow(w, list, parts + begin, some, made);
        for (uint32_t i = 0; i < some; i++)
            if (made[i].list)
                abuti_compute_divide(w, &parts[begin + i], made[i].list);
            else
                abuti_compute_set(w, &parts[begin + i], w->rule.band == INFINITY);
        w->lists.used = before;
    }
}

void abuti_compute_cells(worker *w, const cells_span *s, const regions_list *list) {
    const uint32_t before = w->lists.used;
    regions_narrowed made;
    regions_outcome found = REGIONS_LISTED;
    if (list && is_sixteen_cells(s)) {
        measure_parts(w, s, 1, list);
        return;
    }
    if (list) {
        abuti_compute_narrow(w, list, s, 1, &made);
        found = made.list ? REGIONS_LISTED : REGIONS_NOTHING;
    } else {
        found = abuti_compute_collect(w, s, &made);
    }
    if (found == REGIONS_NOTHING) {
        abuti_compute_set(w, s, w->rule.band == INFINITY);
    } else if (made.list) {
        abuti_compute_divide(w, s, made.list);
    } else if (is_sixteen_cells(s)) {
        abuti_compute_set(w, s, true);
    } else {
        cells_span parts[8];
        const uint32_t count = divide_span(s, parts);
        for (uint32_t i = 0; i < count; i++)
            abuti_compute_cells(w, &parts[i], NULL);
    }
    w->lists.used = before;
}
