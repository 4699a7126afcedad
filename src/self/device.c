/* The view-based search on a device: the view test there, one item a triangle, and the device's
 * search of sweeps for the pairs of features that the sets let through.
 *
 * A pair of features is swept on the CPU for the first of its pairs of triangles that the sets let
 * through. Here a feature is in all sets of the triangles around it, which lets through the same
 * pairs: sets_pair(a, b) holds for two unions where it holds for one of each. Blocks of features
 * are in all sets of theirs, so that whole blocks of V+ leave each other alone.
 *
 * The document keeps lists of nodes from step to step ("history"), since walking trees takes most
 * of its time. Pairs of blocks are found anew in 0.1 ms, so there is nothing to keep.
 *
 * The motion has one vertex more for each hole, that no face has, so that ghosts are tested there
 * too. What touches ghosts: device_boundary.c.
 *
 * The host sees as little as it can: counts of sets come back, sets only where someone asks, and of
 * positions that were on the device already a sample for the view-line and the rims of holes.
 */
#include "self/device.h"

enum { GROUP = 256 };

_Static_assert((int)SWEEP_SET_FIRST == (int)SET_P && (int)SWEEP_SET_SECOND == (int)SET_N &&
                   (int)SWEEP_SET_ANY == (int)(SET_Z | SET_V),
               "sweeps pair sets as abuti_sets_pair() does");
_Static_assert(sizeof(view_tally) == 16 * sizeof(uint32_t), "as the kernel counts");

#define MEMORY(which) ABUTI_BUFFER(&d->memory[which])

static size_t groups_of(size_t count) {
    return (count + GROUP - 1) / GROUP;
}

static abuti_queue *queue_of(const struct view_device *d) {
    return &d->motion->on_device->queue;
}

/* ---- create ---- */

static abut_status make_motion(abut_self *view, const vec3 *positions) {
    abut_mesh_input input = abut_mesh_input_default();
    input.position_type = ABUT_SCALAR_FLOAT64;
    abut_sweep_options options = abut_sweep_options_default();
    abut_mesh *mesh = NULL;
    input.positions = positions;
    input.vertex_count = view->vertex_count + view->hole_count;
    input.indices = view->corners;
    input.triangle_count = view->triangle_count;
    options.device = view->options.device;
    abut_status status = abut_mesh_create(view->context, &input, &mesh);
    if (!status)
        status = abut_sweep_create(&mesh, 1, &options, &view->on_device->motion);
    abut_mesh_destroy(mesh);
    return status;
}

static abut_status make_kernels(struct view_device *d, abut_device *device) {
    static const char *const names[VIEW_KERNELS] = {"view_gather", "view_test", "view_spread"};
    abuti_program *program;
    abut_status status = abuti_program_get(device, "view_sets", "-DABUTI_REAL_BITS=64", &program);
    for (int i = 0; i < VIEW_KERNELS && !status; i++)
        status = abuti_kernel_create(program, device, names[i], &d->kernels[i]);
    return status;
}

static abut_status put(struct view_device *d, view_memory which, const uint32_t *from,
                       size_t count) {
    abuti_queue *queue = queue_of(d);
    abut_status status = abuti_buffer_create(queue->device, count, sizeof *from, &d->memory[which]);
    return status ? status
                  : abuti_buffer_upload(queue, &d->memory[which], 0, from, count * sizeof *from);
}

/* The sample for the view-line and the rims. */
static abut_status put_wanted(abut_self *view) {
    struct view_device *d = view->on_device;
    abut_topology_arrays t = abut_topology_arrays_get(view->topology);
    const uint32_t rims = view->hole_count ? t.loop_begin[view->hole_count] : 0;
    d->wanted = view->sampled + rims;
    uint32_t *wanted = abuti_allocate(view->context, d->wanted, sizeof *wanted);
    if (!wanted)
        return ABUT_ERROR_MEMORY;
    memcpy(wanted, view->sample_at, view->sampled * sizeof *wanted);
    for (uint32_t i = 0; i < rims; i++)
        wanted[view->sampled + i] = t.loop_vertices[i];
    abut_status status = put(d, VIEW_WANTED, wanted, d->wanted);
    abuti_release(view->context, wanted);
    return status;
}

static abut_status make_memory(abut_self *view) {
    struct view_device *d = view->on_device;
    size_t all = (size_t)view->triangle_count + view->ghost_count, words = (all + 3) / 4;
    const struct {
        view_memory which;
        size_t count, bytes;
        const void *data;
    } list[] = {
        {VIEW_CORNERS, all, 3 * sizeof(uint32_t), view->corners},
        {VIEW_GATHERED, d->wanted, 2 * sizeof(vec3), NULL},
        {VIEW_SETS, words, sizeof(uint32_t), NULL},
        {VIEW_OTHER, words, sizeof(uint32_t), NULL},
        {VIEW_LAST, words, sizeof(uint32_t), NULL},
        {VIEW_TALLIES, 2, sizeof(view_tally), NULL},
    };
    abut_status status = ABUT_OK;
    for (size_t i = 0; i < sizeof list / sizeof *list && !status; i++)
        status = abuti_buffer_make(queue_of(d), list[i].data, list[i].count, list[i].bytes,
                                   &d->memory[list[i].which]);
    if (!status) /* sets are read before there are any; then what comes of it is of no interest */
        status = abuti_buffer_fill(queue_of(d), &d->memory[VIEW_LAST], SET_P * 0x01010101u,
                                   words * sizeof(uint32_t));
    return status;
}

/* Which triangles are around each vertex, ghosts too, which have none, and along each edge. */
static abut_status put_around(abut_self *view) {
    const uint32_t edges = abut_topology_arrays_get(view->topology).edge_count;
    const uint32_t vertices = view->vertex_count + view->hole_count;
    const uint32_t at_vertices = view->of_vertex.begin[view->vertex_count];
    const size_t count = (size_t)at_vertices + view->of_edge.begin[edges];
    uint32_t *begin = abuti_allocate(view->context, vertices + (size_t)edges + 1, sizeof *begin);
    uint32_t *items = abuti_allocate(view->context, count, sizeof *items);
    abut_status status = begin && items ? ABUT_OK : ABUT_ERROR_MEMORY;
    if (!status) {
        for (uint32_t i = 0; i < vertices; i++)
            begin[i] = i < view->vertex_count ? view->of_vertex.begin[i] : at_vertices;
        for (uint32_t i = 0; i <= edges; i++)
            begin[vertices + i] = at_vertices + view->of_edge.begin[i];
        memcpy(items, view->of_vertex.items, at_vertices * sizeof *items);
        memcpy(items + at_vertices, view->of_edge.items, (count - at_vertices) * sizeof *items);
        status = put(view->on_device, VIEW_AROUND_BEGIN, begin, vertices + (size_t)edges + 1);
        status = status ? status : put(view->on_device, VIEW_AROUND, items, count);
    }
    abuti_release(view->context, begin);
    abuti_release(view->context, items);
    return status;
}

static abut_status make_staging(abut_self *view) {
    struct view_device *d = view->on_device;
    abuti_queue *queue = queue_of(d);
    abut_status status = abuti_staging_create(queue, 1, sizeof *d->report, &d->reports);
    if (!status)
        status = abuti_staging_create(queue, d->wanted, 2 * sizeof(vec3), &d->gathers);
    d->report = d->reports.at;
    d->gathered = d->gathers.at;
    return status;
}

abut_status abuti_view_device_create(abut_self *view, const vec3 *positions) {
    abut_device *device = view->options.device;
    abut_status status = abuti_device_check_bits("abut_self_create", device);
    if (status)
        return status;
    view->on_device = abuti_allocate_zeroed(view->context, 1, sizeof *view->on_device);
    if (!view->on_device)
        return ABUT_ERROR_MEMORY;
    status = make_motion(view, positions);
    status = status ? status : make_kernels(view->on_device, device);
    status = status ? status : put_wanted(view);
    status = status ? status : make_memory(view);
    status = status ? status : put_around(view);
    status = status ? status : make_staging(view);
    if (status)
        return status;
    view->end = view->on_device->motion->end;
    view->on_device->motion->place.end_box = view->end_box; /* ghosts are no part of it */
    if (view->ghost_count || view->part_count > 1)
        status = abuti_view_boundary_create(view);
    return status ? status : abuti_motion_device_sets(view->on_device->motion);
}

void abuti_view_device_destroy(abut_self *view) {
    struct view_device *d = view->on_device;
    if (!d)
        return;
    abuti_view_boundary_destroy(view);
    for (int i = 0; i < VIEW_KERNELS; i++)
        abuti_kernel_destroy(&d->kernels[i]);
    for (int i = 0; i < VIEW_MEMORIES; i++)
        abuti_buffer_destroy(&d->memory[i]);
    if (d->motion) {
        abuti_staging_destroy(queue_of(d), &d->reports);
        abuti_staging_destroy(queue_of(d), &d->gathers);
    }
    abut_sweep_destroy(d->motion);
    abuti_release(view->context, d);
    view->on_device = NULL;
}

/* ---- step ---- */

/* Brings those positions of the step here that the host looks at, once the queue was waited for. */
static abut_status queue_gather(struct view_device *d, motion_memory start, motion_memory end) {
    motion_device *m = d->motion->on_device;
    abut_status status =
        ABUTI_LAUNCH(&m->queue, &d->kernels[VIEW_GATHER], groups_of(2 * (size_t)d->wanted), GROUP,
                     ABUTI_VALUE(d->wanted), MEMORY(VIEW_WANTED), ABUTI_BUFFER(&m->memory[start]),
                     ABUTI_BUFFER(&m->memory[end]), MEMORY(VIEW_GATHERED));
    if (!status)
        status = abuti_buffer_receive(&m->queue, &d->memory[VIEW_GATHERED], 0, d->gathered,
                                      d->gathers.bytes);
    d->is_gathered = !status;
    return status;
}

/* Behind the checks of positions that are there. */
static abut_status gather_too(void *user, const motion_taking *taking) {
    return queue_gather(user, taking->start_there ? MOTION_NEXT_START : MOTION_END,
                        MOTION_NEXT_END);
}

/* Ghosts stand where the rims are, also those of positions that are not here. */
static abut_status place_ghosts(abut_self *view, const motion_taking *t) {
    struct view_device *d = view->on_device;
    abut_status status = ABUT_OK;
    for (int side = t->has_start ? 0 : 1; side < 2 && !status; side++) {
        vec3 *here = d->motion->next[side];
        const vec3 *rims = d->gathered + (size_t)side * d->wanted + view->sampled;
        abuti_view_place_ghosts(view, t->end_there ? NULL : here, rims, here + view->vertex_count);
        status = abuti_motion_device_send(d->motion, side, view->vertex_count, view->hole_count);
    }
    return status;
}

abut_status abuti_view_device_step(abut_self *view, const abut_self_step *step, bool *follows) {
    struct view_device *d = view->on_device;
    motion_taking taking = {.function = "abut_self_find",
                            .start_name = step->start_there ? "step->start_there" : "step->start",
                            .end_name = step->end_there ? "step->end_there" : "step->end",
                            .count = view->vertex_count,
                            .start = step->start,
                            .end = step->end,
                            .start_there = step->start_there,
                            .end_there = step->end_there,
                            .user = d};
    if (view->hole_count || !step->line)
        taking.also = gather_too;
    d->is_gathered = false;
    abut_status status = abuti_motion_take(d->motion, &taking);
    if (!status && view->hole_count)
        status = place_ghosts(view, &taking);
    if (status)
        return status;
    abuti_motion_accept(d->motion, &taking);
    *follows = !taking.has_start;
    view->start = d->motion->start;
    view->next = d->motion->end;
    return ABUT_OK;
}

void abuti_view_device_undo(abut_self *view) {
    struct view_device *d = view->on_device;
    abuti_motion_undo(d->motion);
    view->start = NULL;
    view->end = d->motion->end;
}

double abuti_view_device_extent(const abut_self *view) {
    return view->on_device->motion->place.extent;
}

abut_status abuti_view_device_fetch(abut_self *view) {
    return abuti_motion_device_fetch(view->on_device->motion);
}

bool abuti_view_device_is_here(const abut_self *view) {
    const motion_place *place = &view->on_device->motion->place;
    return place->start_is_here && place->end_is_here;
}

abut_status abuti_view_device_axis(abut_self *view, abut_self_line *line) {
    struct view_device *d = view->on_device;
    abut_status status = ABUT_OK;
    if (!d->is_gathered) {
        status = queue_gather(d, MOTION_START, MOTION_END);
        status = status ? status : abuti_motion_device_wait(d->motion);
    }
    if (!status)
        *line = abuti_view_axis(d->gathered, d->gathered + d->wanted, view->sampled);
    return status;
}

/* ---- the view test ---- */

static abut_status queue_test(abut_self *view, const view_sight *sight, uint32_t which) {
    struct view_device *d = view->on_device;
    motion_device *m = d->motion->on_device;
    const uint32_t all = view->triangle_count + view->ghost_count;
    const uint32_t vertices = view->vertex_count + view->hole_count;
    return ABUTI_LAUNCH(&m->queue, &d->kernels[VIEW_TEST],
                        groups_of(all > vertices ? all : vertices), GROUP, ABUTI_VALUE(*sight),
                        ABUTI_VALUE(view->triangle_count), ABUTI_VALUE(all), ABUTI_VALUE(vertices),
                        MEMORY(VIEW_CORNERS), ABUTI_BUFFER(&m->memory[MOTION_START]),
                        ABUTI_BUFFER(&m->memory[MOTION_END]), MEMORY(VIEW_LAST),
                        MEMORY(which ? VIEW_OTHER : VIEW_SETS), ABUTI_VALUE(which),
                        MEMORY(VIEW_TALLIES), ABUTI_LOCAL_MEMORY(sizeof(view_tally)));
}

static view_counts counts_of(const abut_self *view, const view_tally *t) {
    view_counts c = {.ghosts = t->ghosts};
    memcpy(c.regions, t->regions, sizeof t->regions);
    memcpy(c.sets, t->sets, sizeof t->sets);
    c.sets[ABUT_SELF_POSITIVE] = view->triangle_count - t->sets[1] - t->sets[2];
    memcpy(c.entered, t->entered, sizeof t->entered);
    memcpy(c.left, t->left, sizeof t->left);
    return c;
}

static abut_status clear_tallies(struct view_device *d) {
    abut_status status =
        abuti_buffer_fill(queue_of(d), &d->memory[VIEW_TALLIES], 0, sizeof d->report->tallies);
    d->tallies_are_zero = !status;
    return status;
}

abut_status abuti_view_device_test_blindly(abut_self *view, const view_sight *sights,
                                           uint32_t count) {
    struct view_device *d = view->on_device;
    abut_status status = d->tallies_are_zero ? ABUT_OK : clear_tallies(d);
    d->tallies_are_zero = d->sets_are_here = false;
    for (uint32_t i = 0; i < count && !status; i++)
        status = queue_test(view, &sights[i], i);
    return status ? status
                  : abuti_buffer_receive(queue_of(d), &d->memory[VIEW_TALLIES], 0,
                                         d->report->tallies, count * sizeof(view_tally));
}

abut_status abuti_view_device_counts(abut_self *view, uint32_t count, view_counts *counts) {
    struct view_device *d = view->on_device;
    for (uint32_t i = 0; i < count; i++)
        counts[i] = counts_of(view, &d->report->tallies[i]);
    return clear_tallies(d); /* now, while no one waits for it */
}

abut_status abuti_view_device_test(abut_self *view, const view_sight *sights, uint32_t count,
                                   view_counts *counts) {
    abut_status status = abuti_view_device_test_blindly(view, sights, count);
    status = status ? status : abuti_motion_device_wait(view->on_device->motion);
    return status ? status : abuti_view_device_counts(view, count, counts);
}

static void swap(struct view_device *d, view_memory a, view_memory b) {
    abuti_buffer other = d->memory[a];
    d->memory[a] = d->memory[b];
    d->memory[b] = other;
}

void abuti_view_device_take_other(abut_self *view) {
    swap(view->on_device, VIEW_SETS, VIEW_OTHER);
}

/* ---- sets, here and there ---- */

void abuti_view_device_mark(abut_self *view) {
    struct view_device *d = view->on_device;
    swap(d, VIEW_SETS, VIEW_LAST);
    d->sets_are_here = false;
}

abut_status abuti_view_device_show(abut_self *view) {
    struct view_device *d = view->on_device;
    abut_status status = ABUT_OK;
    if (!d->sets_are_here)
        status = abuti_buffer_download(queue_of(d), &d->memory[VIEW_LAST], 0, view->sets,
                                       view->triangle_count);
    d->sets_are_here = !status;
    return status;
}

/* ---- search ---- */

/* Takes the sets of triangles to all features. */
static abut_status spread_sets(abut_self *view) {
    struct view_device *d = view->on_device;
    motion_device *m = d->motion->on_device;
    const uint32_t faces_first = m->sets.first[SWEEP_FACES];
    const uint32_t features = faces_first + view->triangle_count;
    m->sets.used = 1;
    return ABUTI_LAUNCH(&m->queue, &d->kernels[VIEW_SPREAD], groups_of(features), GROUP,
                        ABUTI_VALUE(features), ABUTI_VALUE(faces_first), MEMORY(VIEW_AROUND_BEGIN),
                        MEMORY(VIEW_AROUND), MEMORY(VIEW_LAST),
                        ABUTI_BUFFER(&m->memory[MOTION_SETS]));
}

abut_status abuti_view_device_search(abut_self *view, bool complete, const view_limits *limits,
                                     motion_hit *hit, abut_self_result *result) {
    struct view_device *d = view->on_device;
    const motion_search_options options = {.mode = ABUT_SWEEP_EARLIEST,
                                           .separation = limits->sweep.separation,
                                           .tolerance = limits->sweep.tolerance,
                                           .exact = limits->exact,
                                           .steps = limits->sweep.steps};
    abut_impact impact;
    abut_impacts impacts = {.impacts = &impact, .capacity = 1};
    abut_sweep_counts counts = {0, 0};
    abut_status status = ABUT_OK;
    double begun = abuti_seconds();
    if (complete)
        abuti_motion_device_no_sets(d->motion);
    else
        status = spread_sets(view);
    status = status ? status : abuti_motion_device_find(d->motion, &options, &impacts, &counts);
    if (status)
        return status;
    if (impacts.count) {
        hit->time = impact.time;
        result->impact = impact;
    }
    result->vertex_face += counts.vertex_face;
    result->edge_edge += counts.edge_edge;
    result->times.traversal += abuti_seconds() - begun;
    return ABUT_OK;
}
