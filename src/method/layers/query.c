/* A query: processes its views, combines their results (measure.c), and refines them with exact
 * tests of triangles. */
#include "layers/layers.h"

#include <math.h>
#include <string.h>

typedef struct query_state {
    abut_layers *layers;
    const abut_layers_query *query;
    abut_raster_view views[3]; /* if the query has none */
    const abut_raster_view *list;
    uint32_t view_count;
    abuti_vector measured;   /* abut_layers_pair, by a and b; also pairs of a solid with itself */
    abuti_vector hits;       /* abut_layers_hit */
    abuti_vector candidates; /* uint64_t, sorted: a and b */
    abuti_vector found;      /* abut_layers_pair */
    uint64_t own_count, fragments, candidate_count;
    double tolerance;
    bool self_intersects;         /* a solid whose volume was measured intersects itself */
    abut_reliability reliability; /* the worst of the measured pairs */
} query_state;

/* ---- views ---- */

/* The bounding box of all solids, cached until one changes. */
static box3 bounds_of_all(abut_layers *layers) {
    box3 box = box_empty();
    for (size_t i = 0; i < layers->solids.count && !layers->has_bounds; i++)
        if (layers_solids(layers)[i].used)
            box = box_join(box, abuti_layers_bounds(&layers_solids(layers)[i]));
    if (!layers->has_bounds)
        layers->bounds = box.lo.x <= box.hi.x ? box : (box3){{0, 0, 0}, {0, 0, 0}};
    layers->has_bounds = true;
    return layers->bounds;
}

/* Sets the size of the tiles of a view, in pixels. */
static void set_tile(layers_view *v, uint32_t tile) {
    v->tile = tile;
    v->columns = (v->camera.lens.width + tile - 1) / tile;
    v->rows = (v->camera.lens.height + tile - 1) / tile;
}

abut_status abuti_layers_begin_pass(const char *function, abut_layers *layers,
                                    const abut_raster_view *view, const abut_layers_query *query,
                                    layers_pass *pass) {
    abut_raster_view ours;
    *pass = (layers_pass){.layers = layers,
                          .every_pixel = query->every_pixel || query->find_self,
                          .edges = query->count_edges || query->find_hits,
                          .hits = query->find_hits,
                          .own = query->find_self};
    raster_camera *c = &pass->view.camera;
    abut_status status = abuti_raster_view_read(view, "a view of layers", &ours);
    if (!status)
        status = abuti_raster_camera(function, &ours, bounds_of_all(layers),
                                     query->resolution ? query->resolution : 1024, c);
    if (status)
        return status;
    const raster_lens *l = &c->lens;
    double depth = raster_distance(c, RASTER_DEPTHS);
    if (l->near > 0) {
        double far = depth + l->near;
        double x = l->middle_x / c->scale, y = l->middle_y / c->scale;
        pass->view.length_unit = far * sqrt(1 + x * x + y * y) / RASTER_DEPTHS;
        pass->view.volume_unit = far * far * far / 3 / RASTER_DEPTHS;
    } else {
        pass->view.length_unit = pass->view.volume_unit = 1 / l->depth;
    }
    layers_view *cut = &pass->view;
    cut->depth_pixels = l->near > 0 ? 0 : c->scale / l->depth;
    cut->slack = 4.0 * RASTER_SLACK / (double)(1 << l->shift) + 4 * cut->depth_pixels +
                 (pass->edges ? 2 : 0);
    set_tile(cut, LAYERS_TILE);
    while ((size_t)cut->columns * cut->rows > LAYERS_TILES)
        set_tile(cut, 2 * cut->tile);
    double tolerance = query->tolerance > 0 ? query->tolerance : 1e-6 * depth;
    pass->view.tolerance = raster_depth(tolerance / pass->view.length_unit);
    return ABUT_OK;
}

/* ---- hits ---- */

static vec3 normal_of(const abut_layers *layers, const layers_solid *solid, uint32_t triangle) {
    const layers_mesh *mesh = layers_mesh_of(layers, solid);
    const uint32_t *corner = mesh->mesh->indices + 3 * (size_t)triangle;
    const vec3 *p = layers_positions(layers, solid);
    vec3 n = abuti_unit_normal(p[corner[0]], p[corner[1]], p[corner[2]]);
    n = m3_apply(&solid->motion.rotation, n);
    return mesh->inward ? v3_scale(n, -1) : n;
}

static abut_status list_hits(query_state *w, const layers_pass *passes,
                             const abuti_vector *touches) {
    abut_layers *layers = w->layers;
    abut_status status =
        abuti_vector_reserve(layers->context, &w->hits, w->hits.count + touches->count,
                             sizeof(abut_layers_hit));
    for (size_t i = 0; i < touches->count && !status; i++) {
        const layers_touch *t = (const layers_touch *)touches->data + i;
        const layers_solid *solid = &layers_solids(layers)[t->penetrating];
        ((abut_layers_hit *)w->hits.data)[w->hits.count++] =
            (abut_layers_hit){.penetrating = t->penetrating,
                              .penetrated = t->penetrated,
                              .triangle = t->part >> 2,
                              .edge = t->part & 3,
                              .value = solid->is.value,
                              .view = t->view,
                              .x = t->x,
                              .y = t->y,
                              .point = abuti_raster_point(&passes[t->view].view.camera, t->x + 0.5,
                                                          t->y + 0.5, t->z),
                              .normal = normal_of(layers, solid, t->part >> 2)};
    }
    return status;
}

static bool hit_after(const void *a, const void *b) {
    const abut_layers_hit *s = a, *t = b;
    const uint32_t left[] = {s->penetrating, s->penetrated, s->view, s->y,
                             s->x,           s->triangle,   s->edge};
    const uint32_t right[] = {t->penetrating, t->penetrated, t->view, t->y,
                              t->x,           t->triangle,   t->edge};
    for (size_t k = 0; k < sizeof left / sizeof *left; k++)
        if (left[k] != right[k])
            return left[k] > right[k];
    return false;
}

static const abut_layers_pair *find_pair(const query_state *w, uint32_t a, uint32_t b) {
    uint64_t key = a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a;
    const abut_layers_pair *pairs = w->found.data;
    size_t lo = 0, hi = w->found.count;
    while (lo < hi) {
        size_t middle = lo + (hi - lo) / 2;
        uint64_t at = (uint64_t)pairs[middle].a << 32 | pairs[middle].b;
        if (at == key)
            return &pairs[middle];
        if (at < key)
            lo = middle + 1;
        else
            hi = middle;
    }
    return NULL;
}

/* Keeps the hits of pairs that were found, sorted. */
static void filter_hits(query_state *w) {
    abut_layers_hit *hits = w->hits.data;
    size_t kept = 0;
    for (size_t i = 0; i < w->hits.count; i++)
        if (find_pair(w, hits[i].penetrating, hits[i].penetrated))
            hits[kept++] = hits[i];
    w->hits.count = kept;
    if (kept)
        abuti_sort_items(hits, kept, sizeof *hits, hit_after);
}

/* ---- candidates, and exact tests ---- */

/* Lists the candidates with a < b. */
static abut_status list_candidates(query_state *w) {
    const abut_layers *layers = w->layers;
    abut_status status = abuti_vector_reserve(layers->context, &w->candidates,
                                              layers->near.count / 2, sizeof(uint64_t));
    const size_t *begin = layers->near_begin.data;
    const uint32_t *near = layers->near.data;
    uint64_t *pairs = w->candidates.data;
    for (size_t a = 0; a < layers->solids.count && !status; a++)
        for (size_t i = begin[a]; i < begin[a + 1]; i++)
            if (near[i] > a)
                pairs[w->candidates.count++] = (uint64_t)a << 32 | near[i];
    return status;
}

/* Results of the exact test of a candidate. */
typedef struct exact_result {
    abut_pair_relation relation;
    abut_reliability reliability;
    abut_pair_measures common; /* with `volume` */
} exact_result;

typedef struct exact_work {
    const abut_layers_query *query;
    const uint64_t *pairs;
    abut_collider *colliders; /* by solid */
    exact_result *exact_results;
    abut_status status[LAYERS_CHUNKS];
} exact_work;

static abut_status measure_intersection(const exact_work *w, const abut_collider *a,
                                        const abut_collider *b, exact_result *to) {
    static const abut_pair_relation relations[] = {
        [ABUT_PAIR_KIND_APART] = ABUT_PAIR_APART,
        [ABUT_PAIR_KIND_TOUCH] = ABUT_PAIR_INTERSECTING,
        [ABUT_PAIR_KIND_OVERLAP] = ABUT_PAIR_INTERSECTING,
        [ABUT_PAIR_KIND_A_INSIDE] = ABUT_PAIR_A_INSIDE,
        [ABUT_PAIR_KIND_B_INSIDE] = ABUT_PAIR_B_INSIDE,
        [ABUT_PAIR_KIND_SAME] = ABUT_PAIR_INTERSECTING};
    abut_pair_measure_options options = abut_pair_measure_options_default();
    options.tolerance = w->query->tolerance;
    to->common = abut_pair_measures_default();
    abut_status status = abut_pair_measure(a, b, &options, &to->common);
    if (!status) {
        to->relation = relations[to->common.kind];
        to->reliability = to->common.reliability;
    }
    return status;
}

static void test_pairs_task(void *data, size_t chunk, size_t begin, size_t end) {
    exact_work *w = data;
    for (size_t i = begin; i < end && !w->status[chunk]; i++) {
        const abut_collider *a = &w->colliders[w->pairs[i] >> 32],
                            *b = &w->colliders[(uint32_t)w->pairs[i]];
        abut_overlap overlap = {.relation = ABUT_PAIR_APART};
        if (w->query->measure_volume) {
            w->status[chunk] = measure_intersection(w, a, b, &w->exact_results[i]);
        } else {
            w->status[chunk] = abut_pair_overlap(a, b, NULL, NULL, &overlap);
            w->exact_results[i].relation = overlap.relation;
            w->exact_results[i].reliability = overlap.reliability;
        }
    }
}

/* Tests each candidate, and keeps those that overlap with their results. */
static abut_status test_candidates(query_state *w, exact_result *exact_results) {
    abut_layers *layers = w->layers;
    uint64_t *pairs = w->candidates.data;
    size_t count = w->candidates.count, kept = 0;
    exact_work ask = {.query = w->query, .pairs = pairs, .exact_results = exact_results};
    ask.colliders =
        abuti_allocate_zeroed(layers->context, layers->solids.count, sizeof *ask.colliders);
    abut_status status = ask.colliders ? ABUT_OK : ABUT_ERROR_MEMORY;
    for (size_t i = 0; i < 2 * count && !status; i++) {
        uint32_t id = i % 2 ? (uint32_t)pairs[i / 2] : (uint32_t)(pairs[i / 2] >> 32);
        const bool first = !ask.colliders[id].shape.body.bvh;
        bool self_intersects = false;
        const abut_bvh *bvh = NULL;
        if (first)
            status = abuti_layers_bvh(layers, id, &bvh);
        if (!status && first)
            ask.colliders[id] =
                abut_collider_from_bvh(bvh, layers_solids(layers)[id].is.collider.pose);
        if (!status && first && w->query->measure_volume)
            status = abuti_layers_self_intersects(layers, id, &self_intersects);
        w->self_intersects = w->self_intersects || self_intersects;
    }
    if (!status)
        status = abuti_parallel_try(layers->context, "pairs", count, layers_grain(count, 4),
                                    test_pairs_task, &ask);
    for (size_t c = 0; c < LAYERS_CHUNKS && !status; c++)
        status = ask.status[c];
    abuti_release(layers->context, ask.colliders);
    for (size_t i = 0; i < count && !status; i++)
        if (exact_results[i].reliability.level > w->reliability.level)
            w->reliability = exact_results[i].reliability;
    for (size_t i = 0; i < count && !status; i++)
        if (exact_results[i].relation != ABUT_PAIR_APART) {
            exact_results[kept] = exact_results[i];
            pairs[kept++] = pairs[i];
        }
    w->candidates.count = kept;
    return status;
}

/* Copies the results of an exact test to a pair. */
static void copy_exact_result(const abut_layers_query *query, const exact_result *from,
                              abut_layers_pair *to) {
    to->relation = from->relation;
    if (!query->measure_volume)
        return;
    const abut_pair_measures *c = &from->common;
    to->kind = c->kind;
    to->volume = c->volume;
    to->volume_error = 0;
    to->flush_area = c->flush_area;
    to->surface = c->area;
    to->area = v3_length(c->area_vector);
    if (to->area <=
        1e-9 * (c->area + c->flush_area)) /* closed all around: the remainder is rounding error */
        to->area = 0;
    to->normal = to->area > 0 ? v3_scale(c->area_vector, -1 / to->area) : v3(0, 0, 0);
    to->centre = c->centroid;
    to->box = c->bounds;
}

/* ---- results ---- */

static bool pair_comes_before(const abut_layers_pair *p, uint64_t key) {
    return ((uint64_t)p->a << 32 | p->b) < key;
}

/* If no ray is inside both: the intersection of their bounding boxes. */
static void place_in_common_box(const abut_layers *layers, abut_layers_pair *p) {
    box3 a = abuti_layers_bounds(&layers_solids(layers)[p->a]),
         b = abuti_layers_bounds(&layers_solids(layers)[p->b]);
    p->box = (box3){v3_max(a.lo, b.lo), v3_min(a.hi, b.hi)};
    p->centre = box_centre(p->box);
}

/* Collects the pairs that were found; pairs of a solid with itself are separate. */
static abut_status collect_pairs(query_state *w, const exact_result *exact_results) {
    const abut_layers_pair *measured = w->measured.data;
    const uint64_t *pairs = w->candidates.data;
    bool superset = w->query->is_exact || w->query->measure_volume;
    abut_status status =
        abuti_vector_reserve(w->layers->context, &w->found, w->measured.count + w->candidates.count,
                             sizeof(abut_layers_pair));
    if (status)
        return status;
    abut_layers_pair *to = w->found.data;
    size_t made = 0, i = 0;
    for (size_t k = 0; k < w->measured.count; k++)
        w->own_count += measured[k].a == measured[k].b;
    for (size_t k = 0; k < (superset ? w->candidates.count : w->measured.count); k++) {
        if (!superset) {
            if (measured[k].a != measured[k].b && measured[k].view_count)
                to[made++] = measured[k];
            continue;
        }
        while (i < w->measured.count && pair_comes_before(&measured[i], pairs[k]))
            i++;
        abut_layers_pair p = {.a = (uint32_t)(pairs[k] >> 32), .b = (uint32_t)pairs[k]};
        if (i < w->measured.count && measured[i].a == p.a && measured[i].b == p.b)
            p = measured[i];
        p.relation = ABUT_PAIR_INTERSECTING;
        p.kind = ABUT_PAIR_KIND_OVERLAP;
        if (!p.view_count)
            place_in_common_box(w->layers, &p);
        if (exact_results)
            copy_exact_result(w->query, &exact_results[k], &p);
        to[made++] = p;
    }
    w->found.count = made;
    return ABUT_OK;
}

static abut_reliability worst_reliability(const query_state *w) {
    abut_reliability worst = abuti_guaranteed("All solids are closed.");
    const abut_layers *layers = w->layers;
    const layers_mesh *meshes = layers->meshes.data;
    if (w->self_intersects)
        worst = abuti_limited("A solid intersects or overlaps itself: volumes, areas and kinds "
                              "count that part twice.");
    for (size_t i = 0; i < layers->meshes.count; i++)
        if (meshes[i].users && meshes[i].reliability.level > worst.level)
            worst = meshes[i].reliability;
    return w->reliability.level > worst.level ? w->reliability : worst;
}

static abut_status write_results(query_state *w, abut_layers_result *result) {
    static const char function[] = "abut_layers_find";
    /* All counts first: a list that is too short leaves the others unchanged. */
    const abut_status counted[] = {
        ABUTI_LIST_COUNT(function, "result->pairs", &result->pairs, w->found.count),
        ABUTI_LIST_COUNT(function, "result->own", &result->own, w->own_count),
        ABUTI_LIST_COUNT(function, "result->hits", &result->hits, w->hits.count)};
    for (size_t i = 0; i < sizeof counted / sizeof *counted; i++)
        if (counted[i])
            return counted[i];
    if (w->found.count)
        memcpy(result->pairs.list, w->found.data, w->found.count * sizeof *result->pairs.list);
    if (w->hits.count)
        memcpy(result->hits.list, w->hits.data, w->hits.count * sizeof *result->hits.list);
    const abut_layers_pair *measured = w->measured.data;
    for (size_t k = 0, made = 0; k < w->measured.count; k++)
        if (measured[k].a == measured[k].b)
            result->own.list[made++] = measured[k];
    result->fragments = w->fragments;
    result->candidates = w->candidate_count;
    result->tolerance = w->tolerance;
    result->reliability = worst_reliability(w);
    return ABUT_OK;
}

/* Computes the sums of all views. */
static abut_status compute_sums(query_state *w) {
    abut_layers *layers = w->layers;
    abut_context *context = layers->context;
    layers_output output = {0};
    layers_pass *passes = abuti_allocate(context, w->view_count, sizeof *passes);
    abut_status status = passes ? ABUT_OK : ABUT_ERROR_MEMORY;
    for (uint32_t v = 0; v < w->view_count && !status; v++) {
        status =
            abuti_layers_begin_pass("abut_layers_find", layers, &w->list[v], w->query, &passes[v]);
        passes[v].number = v;
    }
    if (!status)
        status = layers->backend->run(layers, passes, w->view_count, &output);
    for (uint32_t v = 0; v < w->view_count && !status; v++) {
        const layers_view *view = &passes[v].view;
        w->tolerance = real_max(w->tolerance, view->tolerance * view->length_unit);
        w->fragments += passes[v].fragments;
    }
    if (!status)
        status = abuti_layers_measure_pairs(w->layers, passes, &output, &w->measured);
    if (!status)
        status = list_hits(w, passes, &output.touches);
    ABUTI_RELEASE(context, passes, output.more.data, output.touches.data);
    return status;
}

static abut_status run_query(query_state *w, abut_layers_result *result) {
    const abut_layers_query *q = w->query;
    bool asks = q->is_exact || q->measure_volume;
    bool draws =
        !q->measure_volume || q->is_exact || q->find_self || q->count_edges || q->find_hits;
    exact_result *exact_results = NULL;
    abut_status status = draws ? compute_sums(w) : ABUT_OK;
    w->tolerance = draws ? w->tolerance : q->tolerance;
    if (!status && asks)
        status = abuti_layers_find_candidates(w->layers);
    if (!status && asks)
        status = list_candidates(w);
    w->candidate_count = w->candidates.count;
    if (!status && asks) {
        exact_results =
            abuti_allocate(w->layers->context, w->candidates.count, sizeof *exact_results);
        status = exact_results ? test_candidates(w, exact_results) : ABUT_ERROR_MEMORY;
    }
    if (!status)
        status = collect_pairs(w, exact_results);
    abuti_release(w->layers->context, exact_results);
    if (!status && q->find_hits)
        filter_hits(w);
    return status ? status : write_results(w, result);
}

static abut_status check_query(const abut_layers_query *q, const abut_layers_result *r) {
    abut_status status = abuti_check_length("abut_layers_find", "query->tolerance", q->tolerance);
    if (status)
        return status;
    if (q->resolution > ABUT_RASTER_MAX)
        return abuti_fail(ABUT_ERROR_LIMIT,
                          "abut_layers_find: query->resolution is %u; it must be at most %d",
                          q->resolution, ABUT_RASTER_MAX);
    if (q->view_count && !q->views)
        return abuti_null("abut_layers_find", "query->views");
    status = ABUTI_LIST_CHECK_MEMBERS("abut_layers_find", "result->pairs", &r->pairs);
    if (!status)
        status = ABUTI_LIST_CHECK_MEMBERS("abut_layers_find", "result->own", &r->own);
    return status ? status : ABUTI_LIST_CHECK_MEMBERS("abut_layers_find", "result->hits", &r->hits);
}

abut_status abut_layers_find(abut_layers *layers, const abut_layers_query *query,
                             abut_layers_result *result) {
    abut_layers_query ours = abut_layers_query_default();
    if (!layers || !result)
        return abuti_null(__func__, layers ? "result" : "layers");
    abut_layers_result found = abut_layers_result_default();
    abut_status status = abuti_options_read(&ours, sizeof ours, query, "abut_layers_find: query");
    if (status || (status = abuti_result_read(&found, sizeof found, result, __func__, "result")) ||
        (status = check_query(&ours, &found)))
        return status;
    query_state w = {.layers = layers,
                     .query = &ours,
                     .measured = layers->measured,
                     .found = layers->found,
                     .list = ours.views,
                     .view_count = ours.view_count};
    if (!ours.view_count) {
        for (int k = 0; k < 3; k++) {
            w.views[k] = abut_raster_view_default();
            w.views[k].direction = v3(k == 0, k == 1, k == 2);
        }
        w.list = w.views;
        w.view_count = 3;
    }
    abut_context *before = abuti_context_enter(layers->context);
    status = run_query(&w, &found);
    abuti_context_leave(before);
    layers->measured = w.measured;
    layers->found = w.found;
    layers->measured.count = layers->found.count = 0;
    ABUTI_RELEASE(layers->context, w.hits.data, w.candidates.data);
    return abuti_result_write(result, &found, status);
}
