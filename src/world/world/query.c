/* Queries against a world: preparation, filters, and batches of queries on all threads.
 *
 * A query only reads the world. What it needs beyond the data of items is created by the
 * preparation: trees that are fitted to the current boxes, surfaces of characters, and lists of the
 * items without a box or without a surface. Any change of the world invalidates the preparation.
 *
 * Batches are divided into chunks, which depend only on the number of queries. Results of unknown
 * number are stored by chunk, and copied to the list of the caller if they fit.
 */
#include "world/query.h"

#include "bvh/bvh.h"

/* ---- preparation ---- */

const abut_bvh *abuti_query_bvh(const world_item *item) {
    return item->kind == ABUT_COLLIDER_CHARACTER ? item->track ? item->track->surface : NULL
                                                 : item->bvh;
}

double abuti_query_round_radius(const abut_collider *c) {
    return c->kind == ABUT_COLLIDER_SPHERE     ? c->shape.sphere.radius
           : c->kind == ABUT_COLLIDER_CAPSULE  ? c->shape.capsule.radius
           : c->kind == ABUT_COLLIDER_CYLINDER ? c->shape.cylinder.radius
                                               : 0;
}

/* Builds or refits the surface of a character whose vertices are known. */
static abut_status update_surface(abut_world *world, const world_item *item) {
    world_track *track = item->track;
    abut_mesh *mesh = NULL;
    if (!track || !track->given || (track->surface && track->surface_state == item->state))
        return ABUT_OK;
    const abut_mesh *from = item->method->mesh(item);
    const abut_mesh_input input = abut_mesh_input_doubles(track->given, from->vertex_count,
                                                          from->indices, from->triangle_count);
    abut_status status = abut_mesh_create(world->context, &input, &mesh);
    if (!status)
        status = track->surface ? abut_bvh_set_mesh(track->surface, mesh)
                                : abut_bvh_create(mesh, NULL, &track->surface);
    abut_mesh_destroy(mesh);
    if (!status)
        track->surface_state = item->state;
    return status;
}

static abut_status append_id(const abut_world *world, abuti_vector *list, uint32_t id) {
    uint32_t *to = ABUTI_PUSH(world->context, list, uint32_t);
    if (!to)
        return ABUT_ERROR_MEMORY;
    *to = id;
    return ABUT_OK;
}

static abut_status list_items(abut_world *world) {
    world_queries *queries = &world->queries;
    abut_status status = ABUT_OK;
    queries->planes.count = queries->unseen.count = 0;
    queries->round_radius = 0;
    for (uint32_t i = 0; i < world->items.count && !status; i++) {
        const world_item *item = &world_items(world)[i];
        if (!item->used)
            continue;
        if (item->kind == ABUT_COLLIDER_CHARACTER)
            status = update_surface(world, item);
        if (status)
            break;
        queries->round_radius =
            real_max(queries->round_radius, abuti_query_round_radius(&item->is.collider));
        const bool is_body =
            item->kind == ABUT_COLLIDER_BODY || item->kind == ABUT_COLLIDER_CHARACTER;
        if (item->kind == ABUT_COLLIDER_PLANE)
            status = append_id(world, &queries->planes, i);
        else if (is_body && !abuti_query_bvh(item))
            status = append_id(world, &queries->unseen, i);
        else if (abuti_query_bvh(item)) /* makes sure that the CPU has its arrays */
            status = abuti_bvh_check("abut_world_prepare_queries", abuti_query_bvh(item), item,
                                     "an item");
    }
    queries->is_listed = !status;
    return status;
}

abut_status abut_world_prepare_queries(abut_world *world) {
    abut_context *before;
    if (!world)
        return abuti_null(__func__, "world");
    abut_status status = abuti_world_enter(__func__, world, &before);
    if (status)
        return status;
    status = abuti_world_fetch_sheets(world);
    if (!status)
        status = world->backend->download_poses(world);
    if (!status && !world->queries.is_listed)
        status = list_items(world);
    if (!status)
        status = abuti_world_fit_trees(world);
    abuti_world_leave(world, before);
    return status;
}

void abuti_world_destroy_queries(abut_world *world) {
    ABUTI_RELEASE(world->context, world->queries.planes.data, world->queries.unseen.data);
}

/* ---- filters ---- */

static bool filter_accepts(const abut_world_query_options *o, const world_filter *f, uint32_t id) {
    if ((o->mask && !(o->mask & f->group)) || (o->group && !(o->group & f->mask)) ||
        (o->skip_sensors && (f->traits & WORLD_IS_SENSOR)))
        return false;
    for (size_t i = 0; i < o->ignored_count; i++)
        if (o->ignored[i] == id)
            return false;
    return !o->accept || o->accept(o->user, id);
}

bool abuti_query_accepts(const world_query *q, uint32_t index) {
    const world_item *item = &world_items(q->world)[index];
    return filter_accepts(&q->options, &item->filter, item->id);
}

/* ---- calls ---- */

abut_status abuti_query_begin(world_query *q, const char *function, const abut_world *world,
                              const abut_world_query_options *options,
                              const abut_world_query_report *report) {
    abut_status status;
    if (!world)
        return abuti_null(function, "world");
    q->function = function;
    q->world = world;
    q->options = abut_world_query_options_default();
    if ((report && (status = abuti_info_check(report, sizeof *report, function))) ||
        (status = abuti_options_read(&q->options, sizeof q->options, options, function)) ||
        (status = abuti_world_check_idle(function, world)))
        return status;
    if (q->options.ignored_count && !q->options.ignored)
        return abuti_null(function, "options->ignored");
    if (world->queries.is_listed && world->tree.is_current && !world->has_old_sheets)
        return ABUT_OK;
    return abuti_fail(ABUT_ERROR_ARGUMENT,
                      "%s: the world has changed since it was prepared; call "
                      "abut_world_prepare_queries() first",
                      function);
}

abut_status abuti_query_check_offsets(const char *function, const uint64_t *offsets,
                                      uint64_t capacity) {
    return offsets || !capacity ? ABUT_OK : abuti_null(function, "offsets");
}

static void run_chunk(void *data, size_t chunk, size_t begin, size_t end) {
    const world_query *q = data;
    query_chunk *to = &q->chunks[chunk];
    abuti_set_fraction((double)begin / (double)q->count);
    for (size_t i = begin; i < end && !to->status; i++) {
        const size_t before = to->results.count;
        to->status = q->run(q, i, to);
        to->failed = i;
        if (q->counts)
            q->counts[i] = to->results.count - before;
    }
}

static void release_chunks(const world_query *q, size_t chunks) {
    for (size_t i = 0; i < chunks; i++)
        ABUTI_RELEASE(q->world->context, q->chunks[i].results.data, q->chunks[i].ids.data);
    abuti_release(q->world->context, q->chunks);
}

/* Runs all queries. The caller releases the chunks also after a failure. */
static abut_status run_chunks(world_query *q, size_t *chunks) {
    abut_context *context = q->world->context;
    q->grain = world_grain(q->count, q->grain);
    *chunks = abuti_chunk_count(q->count, q->grain);
    q->chunks = abuti_allocate_zeroed(context, *chunks, sizeof *q->chunks);
    if (!q->chunks) {
        *chunks = 0;
        return ABUT_ERROR_MEMORY;
    }
    for (size_t i = 0; i < *chunks; i++)
        q->chunks[i].reliability =
            abuti_guaranteed("No containment was decided, or all were decided exactly.");
    abut_status status = q->count > 1 ? abuti_progress(context, "queries", 0) : ABUT_OK;
    if (q->count && !status)
        status = abuti_parallel_try(context, "queries", q->count, q->grain, run_chunk, q);
    abuti_set_fraction(0);
    for (size_t i = 0; i < *chunks && !status; i++)
        if (q->chunks[i].status) { /* repeated on this thread for the error message */
            query_chunk again = {.status = ABUT_OK};
            status = q->run(q, q->chunks[i].failed, &again);
            ABUTI_RELEASE(context, again.results.data, again.ids.data);
            if (!status)
                status = abuti_fail(q->chunks[i].status, "%s: out of memory for query %zu",
                                    q->function, q->chunks[i].failed);
        }
    return status;
}

static void write_report(const world_query *q, size_t chunks, abut_world_query_report *report) {
    const abuti_vector *unseen = &q->world->queries.unseen;
    abut_world_query_report ours = abut_world_query_report_default();
    if (!report)
        return;
    ours.reliability = abuti_guaranteed("No containment was decided, or all were decided exactly.");
    for (size_t i = 0; i < unseen->count; i++)
        ours.unseen_count += abuti_query_accepts(q, ABUTI_AT(unseen, uint32_t, i));
    for (size_t i = 0; i < chunks; i++)
        if (q->chunks[i].reliability.level > ours.reliability.level)
            ours.reliability = q->chunks[i].reliability;
    (void)abuti_info_write(report, &ours, sizeof ours, q->function); /* the size is valid */
}

abut_status abuti_query_run(world_query *q, abut_world_query_report *report) {
    size_t chunks;
    abut_context *before = abuti_context_enter(q->world->context);
    abut_status status = run_chunks(q, &chunks);
    if (!status)
        write_report(q, chunks, report);
    release_chunks(q, chunks);
    abuti_context_leave(before);
    return status;
}

abut_status abuti_query_run_lists(world_query *q, uint64_t *offsets, void *list, uint64_t capacity,
                                  uint64_t *count, abut_world_query_report *report) {
    size_t chunks = 0, at = 0;
    uint64_t total = 0;
    abut_context *context = q->world->context, *before = abuti_context_enter(context);
    q->counts = abuti_allocate(context, q->count, sizeof *q->counts);
    abut_status status = q->counts ? run_chunks(q, &chunks) : ABUT_ERROR_MEMORY;
    for (size_t i = 0; i < chunks && !status; i++)
        total += q->chunks[i].results.count;
    if (!status)
        status = abuti_list_count(q->function, q->name, total, capacity, count);
    if (!status) {
        for (size_t i = 0; i < chunks; i++) {
            const abuti_vector *results = &q->chunks[i].results;
            if (results->count)
                memcpy((unsigned char *)list + at * q->result_bytes, results->data,
                       results->count * q->result_bytes);
            at += results->count;
        }
        if (offsets)
            offsets[0] = 0;
        for (size_t i = 0; i < q->count && offsets; i++)
            offsets[i + 1] = offsets[i] + q->counts[i];
        write_report(q, chunks, report);
    }
    release_chunks(q, chunks);
    abuti_release(context, q->counts);
    abuti_context_leave(before);
    return status;
}
