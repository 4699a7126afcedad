/* The view-based search on a device: the view test with one work-item per triangle, and the sweep
 * search of the device for the pairs of features that the sets allow.
 *
 * On the CPU, a pair of features is swept for the first of its pairs of triangles that the sets
 * allow. Here a feature has all sets of the triangles around it, which allows the same pairs:
 * sets_pair(a, b) holds for two unions if it holds for one of each. Blocks of features have the
 * union of their sets, so that whole blocks of V+ are skipped against each other.
 *
 * Cheng (2011) keeps lists of nodes from step to step ("history"), since tree traversal takes most
 * of the time there. Here pairs of blocks are found in 0.1 ms, so nothing needs to be kept.
 *
 * The motion has one additional vertex for each hole, which no face uses, so that ghosts are tested
 * on the device too. Triangles that touch ghosts are found on the host (boundary.c): on a device a
 * complete search takes less time than such a step, so that AUTO has few of them.
 *
 * Little is downloaded: counts of sets, sets only if requested, and of positions that were already
 * on the device a sample for the view-line and the boundary loops.
 */
#include "self/device.h"

_Static_assert((int)SWEEP_SET_FIRST == (int)SET_P && (int)SWEEP_SET_SECOND == (int)SET_N &&
                   (int)SWEEP_SET_ANY == (int)(SET_Z | SET_V),
               "sweeps pair sets as abuti_sets_pair() does");
_Static_assert(offsetof(view_tally, ghosts) == TALLY_GHOSTS * sizeof(word32) &&
                   offsetof(view_tally, sets) == TALLY_SETS * sizeof(word32) &&
                   offsetof(view_tally, entered) == TALLY_ENTERED * sizeof(word32) &&
                   offsetof(view_tally, left) == TALLY_LEFT * sizeof(word32) &&
                   sizeof(view_tally) == TALLY * sizeof(word32),
               "layout of the counters of the kernel");

static const abuti_kernel_source sources[VIEW_KERNELS] = {
    [VIEW_GATHER] = {"view_sets", "view_gather", NULL},
    [VIEW_TEST] = {"view_sets", "view_test", NULL},
    [VIEW_SPREAD] = {"view_sets", "view_spread", NULL},
};
static const abuti_kit_table table = {.sources = sources,
                                      .kernel_count = VIEW_KERNELS,
                                      .buffer_count = VIEW_MEMORIES};

/* ---- create ---- */

/* All vertices; ghosts follow those of the mesh. */
static abut_status create_motion(abut_self *view) {
    const size_t vertices = (size_t)view->vertex_count + view->hole_count;
    abut_mesh_input input = abut_mesh_input_default();
    input.position_type = ABUT_SCALAR_FLOAT64;
    abut_sweep_options options = abut_sweep_options_default();
    abut_mesh *mesh = NULL;
    vec3 *positions = abuti_allocate(view->context, vertices, sizeof *positions);
    box3 box = box_empty();
    if (!positions)
        return ABUT_ERROR_MEMORY;
    for (uint32_t i = 0; i < view->vertex_count; i++) {
        positions[i] = abuti_mesh_position(view->mesh, i);
        box = box_grow(box, positions[i]);
    }
    abuti_view_place_ghosts(view, positions, NULL, positions + view->vertex_count);
    input.positions = positions;
    input.vertex_count = view->vertex_count + view->hole_count;
    input.indices = view->corners;
    input.triangle_count = view->triangle_count;
    options.device = view->options.device;
    abut_status status = abut_mesh_create(view->context, &input, &mesh);
    if (!status)
        status = abut_sweep_create(&mesh, 1, &options, &view->on_device->motion);
    if (!status)
        view->on_device->motion->place.end_box = box; /* ghosts are not part of it */
    abut_mesh_destroy(mesh);
    abuti_release(view->context, positions);
    return status;
}

/* Uploads the sample for the view-line and the boundary loops. */
static void upload_wanted(abut_self *view) {
    struct view_device *d = view->on_device;
    abut_topology_arrays t = abut_topology_arrays_default();
    abut_topology_get_arrays(view->topology, &t);
    const uint32_t rims = view->hole_count ? t.loop_begin[view->hole_count] : 0;
    d->wanted = view->sampled + rims;
    uint32_t *wanted = abuti_allocate(view->context, d->wanted, sizeof *wanted);
    if (!wanted) {
        abuti_kit_fail(&d->kit, ABUT_ERROR_MEMORY);
        return;
    }
    memcpy(wanted, view->sample_at, view->sampled * sizeof *wanted);
    for (uint32_t i = 0; i < rims; i++)
        wanted[view->sampled + i] = t.loop_vertices[i];
    abuti_kit_upload(&d->kit, VIEW_WANTED, wanted, d->wanted, sizeof *wanted);
    abuti_release(view->context, wanted);
}

/* Uploads the triangles around each vertex, including ghosts, which have none, and along each edge.
 */
static void upload_around(abut_self *view) {
    struct view_device *d = view->on_device;
    const uint32_t edges = view->topology->view.edge_count;
    const uint32_t vertices = view->vertex_count + view->hole_count;
    const uint32_t at_vertices = view->of_vertex.begin[view->vertex_count];
    const size_t lists = vertices + (size_t)edges,
                 count = (size_t)at_vertices + view->of_edge.begin[edges];
    uint32_t *begin = abuti_allocate(view->context, lists + 1, sizeof *begin);
    uint32_t *items = abuti_allocate(view->context, count, sizeof *items);
    if (begin && items) {
        for (uint32_t i = 0; i < vertices; i++)
            begin[i] = i < view->vertex_count ? view->of_vertex.begin[i] : at_vertices;
        for (uint32_t i = 0; i <= edges; i++)
            begin[vertices + i] = at_vertices + view->of_edge.begin[i];
        memcpy(items, view->of_vertex.items, at_vertices * sizeof *items);
        memcpy(items + at_vertices, view->of_edge.items, (count - at_vertices) * sizeof *items);
        abuti_kit_upload(&d->kit, VIEW_AROUND_BEGIN, begin, lists + 1, sizeof *begin);
        abuti_kit_upload(&d->kit, VIEW_AROUND, items, count, sizeof *items);
    } else {
        abuti_kit_fail(&d->kit, ABUT_ERROR_MEMORY);
    }
    ABUTI_RELEASE(view->context, begin, items);
}

static void upload_all(abut_self *view) {
    struct view_device *d = view->on_device;
    abuti_kit *kit = &d->kit;
    const size_t all = (size_t)view->triangle_count + view->ghost_count, words = (all + 3) / 4;
    abuti_kit_build(kit);
    upload_wanted(view);
    upload_around(view);
    abuti_kit_upload(kit, VIEW_CORNERS, view->corners, all, 3 * sizeof *view->corners);
    abuti_kit_reserve(kit, VIEW_GATHERED, d->wanted, 2 * sizeof(vec3));
    for (uint32_t i = VIEW_SETS; i <= VIEW_LAST; i++)
        abuti_kit_reserve(kit, i, words, sizeof(uint32_t));
    abuti_kit_reserve(kit, VIEW_TALLIES, 2, sizeof(view_tally));
    /* sets are read before there are any; those results are not used */
    abuti_kit_fill(kit, VIEW_LAST, SET_P * 0x01010101u, words * sizeof(uint32_t));
    abuti_kit_fail(kit, abuti_staging_create(kit->queue, 1, sizeof *d->report, &d->reports));
    abuti_kit_fail(kit, abuti_staging_create(kit->queue, d->wanted, 2 * sizeof(vec3), &d->gathers));
    d->report = d->reports.at;
    d->gathered = d->gathers.at;
}

static abut_status open_on_device(abut_self *view) {
    const char *function = "abut_self_create";
    abut_status status = abuti_device_check_bits(function, view->options.device);
    if (status)
        return status;
    struct view_device *d = view->on_device = abuti_allocate_zeroed(view->context, 1, sizeof *d);
    if (!d)
        return ABUT_ERROR_MEMORY;
    if ((status = create_motion(view)) ||
        (status =
             abuti_kit_open(&d->motion->on_device->queue, &table, "-DABUTI_REAL_BITS=64", &d->kit)))
        return status;
    upload_all(view);
    if (view->ghost_count || view->part_count > 1)
        abuti_kit_fail(&d->kit, abuti_view_boundary_open(view));
    abuti_kit_fail(&d->kit, abuti_motion_device_sets(d->motion));
    view->end = d->motion->end;
    return abuti_kit_finish(&d->kit);
}

static void close_on_device(abut_self *view) {
    struct view_device *d = view->on_device;
    if (!d)
        return;
    abuti_view_boundary_close(view);
    if (d->kit.queue) {
        abuti_staging_destroy(d->kit.queue, &d->reports);
        abuti_staging_destroy(d->kit.queue, &d->gathers);
    }
    abuti_kit_close(&d->kit);
    abut_sweep_destroy(d->motion);
    abuti_release(view->context, d);
}

/* ---- step ---- */

/* Downloads the positions of the step that the host needs; valid after the queue is finished. */
static void queue_gather(struct view_device *d, motion_memory start, motion_memory end) {
    motion_device *m = d->motion->on_device;
    ABUTI_KIT_RUN(&d->kit, VIEW_GATHER, 2 * (size_t)d->wanted, VIEW_GROUP, ABUTI_VALUE(d->wanted),
                  OF_VIEW(VIEW_WANTED), OF_MOTION(start), OF_MOTION(end), OF_VIEW(VIEW_GATHERED));
    abuti_kit_receive(&d->kit, VIEW_GATHERED, 0, d->gathered, d->wanted, 2 * sizeof(vec3));
    d->is_gathered = true;
}

/* Called after the validation of positions on the device. */
static abut_status gather_after_checks(void *user, const motion_step_input *input) {
    queue_gather(user, input->has_start ? MOTION_NEXT_START : MOTION_END, MOTION_NEXT_END);
    return ABUT_OK;
}

/* Places ghosts at the boundary loops, also for positions on the device. */
static abut_status place_ghosts(abut_self *view, const motion_step_input *t) {
    struct view_device *d = view->on_device;
    abut_status status = ABUT_OK;
    for (int side = t->has_start ? 0 : 1; side < 2 && !status; side++) {
        vec3 *here = d->motion->next[side];
        const vec3 *rims = d->gathered + (size_t)side * d->wanted + view->sampled;
        const bool is_there = side ? t->end_buffer : t->start_buffer;
        abuti_view_place_ghosts(view, is_there ? NULL : here, rims, here + view->vertex_count);
        status = abuti_motion_device_send(d->motion, side, view->vertex_count, view->hole_count);
    }
    return status;
}

static abut_status start_step_device(view_step *f, const abut_self_step *step) {
    abut_self *view = f->view;
    struct view_device *d = view->on_device;
    motion_step_input input = {.function = "abut_self_find",
                               .start_name = "step->start",
                               .end_name = "step->end",
                               .count = view->vertex_count,
                               .start = step->start.host,
                               .end = step->end.host,
                               .start_buffer = step->start.buffer,
                               .end_buffer = step->end.buffer,
                               .user = d};
    if (view->hole_count || !step->line)
        input.also = gather_after_checks;
    d->is_gathered = false;
    abut_status status = abuti_motion_load_step(d->motion, &input);
    if (!status && view->hole_count)
        status = place_ghosts(view, &input);
    if (status)
        return status;
    abuti_motion_accept_step(d->motion, &input);
    f->follows = !input.has_start;
    f->extent = d->motion->place.extent;
    view->start = d->motion->start;
    view->next = d->motion->end;
    return ABUT_OK;
}

static void accept_positions(abut_self *view) {
    view->end = view->next;
}

static void undo_positions(abut_self *view) {
    struct view_device *d = view->on_device;
    abuti_motion_undo_step(d->motion);
    view->is_carried = false; /* the violated triangles may be partly written */
    view->start = NULL;
    view->end = d->motion->end;
}

static abut_status download_positions(abut_self *view) {
    return abuti_motion_device_download(view->on_device->motion);
}

/* From the sample, which is downloaded if the positions are on the device. */
static abut_status compute_axis(abut_self *view, abut_self_line *line) {
    struct view_device *d = view->on_device;
    const motion_place *place = &d->motion->place;
    if (place->start_on_host && place->end_on_host)
        return abuti_view_cpu.axis(view, line);
    if (!d->is_gathered) {
        queue_gather(d, MOTION_START, MOTION_END);
        abut_status status = abuti_motion_device_wait(d->motion);
        if (status)
            return status;
    }
    *line = abuti_view_axis(d->gathered, d->gathered + d->wanted, view->sampled);
    return ABUT_OK;
}

/* ---- the view test ---- */

/* For one or two view primitives: the sets of the first go to VIEW_SETS, of the second to
 * VIEW_OTHER. Tallies are valid after the queue is finished. */
static void queue_test(abut_self *view, const view_primitive *primitives, uint32_t count) {
    struct view_device *d = view->on_device;
    motion_device *m = d->motion->on_device;
    const uint32_t all = view->triangle_count + view->ghost_count;
    const uint32_t vertices = view->vertex_count + view->hole_count;
    if (!d->tallies_are_zero)
        abuti_kit_fill(&d->kit, VIEW_TALLIES, 0, sizeof d->report->tallies);
    d->tallies_are_zero = d->sets_are_here = false;
    for (uint32_t i = 0; i < count; i++)
        ABUTI_KIT_RUN(&d->kit, VIEW_TEST, all > vertices ? all : vertices, VIEW_GROUP,
                      ABUTI_VALUE(primitives[i]), ABUTI_VALUE(view->triangle_count),
                      ABUTI_VALUE(all), ABUTI_VALUE(vertices), OF_VIEW(VIEW_CORNERS),
                      OF_MOTION(MOTION_START), OF_MOTION(MOTION_END), OF_VIEW(VIEW_LAST),
                      OF_VIEW(i ? VIEW_OTHER : VIEW_SETS), ABUTI_VALUE(i), OF_VIEW(VIEW_TALLIES),
                      ABUTI_LOCAL_MEMORY(sizeof(view_tally)));
    abuti_kit_receive(&d->kit, VIEW_TALLIES, 0, d->report->tallies, count, sizeof(view_tally));
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

/* Reads the downloaded tallies, and clears the next ones while nothing waits for that. */
static abut_status read_tallies(abut_self *view, uint32_t count, view_counts *counts) {
    struct view_device *d = view->on_device;
    for (uint32_t i = 0; i < count; i++)
        counts[i] = counts_of(view, &d->report->tallies[i]);
    abuti_kit_fill(&d->kit, VIEW_TALLIES, 0, sizeof d->report->tallies);
    abut_status status = abuti_queue_report(d->kit.queue);
    d->tallies_are_zero = !status;
    return status;
}

static abut_status test_primitives(abut_self *view, const view_primitive *primitives,
                                   uint32_t count, view_counts *counts) {
    queue_test(view, primitives, count);
    abut_status status = abuti_motion_device_wait(view->on_device->motion);
    return status ? status : read_tallies(view, count, counts);
}

static abut_status test_primitive(view_step *f, const view_primitive *primitive) {
    return test_primitives(f->view, primitive, 1, &f->counts);
}

static abut_status compare_primitives(view_step *f, const view_primitive primitives[2],
                                      view_counts counts[2]) {
    return test_primitives(f->view, primitives, 2, counts);
}

static abut_status choose_primitive(view_step *f, const view_primitive primitives[2],
                                    const view_counts counts[2], int which) {
    (void)primitives;
    f->counts = counts[which];
    if (which == 1)
        abuti_kit_swap(&f->view->on_device->kit, VIEW_SETS, VIEW_OTHER);
    return ABUT_OK;
}

/* A complete search on a device is faster than the boundary handling. Exception: if that leads to
 * steps that are proven free at once. */
static bool is_cheaper(const view_step *f) {
    const abut_self *view = f->view;
    const uint32_t doubt = f->counts.sets[ABUT_SELF_NEGATIVE] + f->counts.sets[ABUT_SELF_GRAZING];
    return view->part_count <= 1 && (!view->ghost_count || (!doubt && !f->counts.ghosts));
}

/* On the host, with the sets and positions of the device. */
static abut_status handle_boundary(view_step *f, bool *is_cheaper) {
    abut_self *view = f->view;
    struct view_device *d = view->on_device;
    const motion_place *place = &d->motion->place;
    const uint32_t count = view->triangle_count;
    double begun = abuti_seconds();
    abut_status status;
    if ((status = download_positions(view)) ||
        (status = abuti_kit_download(&d->kit, VIEW_SETS, view->sets, count, 1)) ||
        (status = abuti_kit_download(&d->kit, VIEW_LAST, view->last_sets, count, 1)))
        return status;
    abuti_view_compute_positions(view, box_join(place->start_box, place->end_box));
    abuti_view_fit(view);
    status = abuti_view_boundary(view, &f->of_ghosts, abuti_view_pairs_max(view), is_cheaper);
    if (status || !*is_cheaper)
        return status;
    memset(&f->counts, 0, offsetof(view_counts, regions));
    memset(f->counts.entered, 0, sizeof f->counts.entered);
    memset(f->counts.left, 0, sizeof f->counts.left);
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t now = abuti_set_index(view->sets[i]),
                       before = abuti_set_index(view->last_sets[i]);
        f->counts.sets[now]++;
        f->counts.entered[now] += now != before;
        f->counts.left[before] += now != before;
    }
    abuti_kit_write(&d->kit, VIEW_SETS, 0, view->sets, count, 1);
    f->result.times.boundary += abuti_seconds() - begun;
    return abuti_queue_report(d->kit.queue);
}

static uint64_t unlimited_budget(const abut_self *view) {
    (void)view;
    return UINT64_MAX;
}

/* ---- sets on host and device ---- */

static void swap_sets(abut_self *view) {
    struct view_device *d = view->on_device;
    abuti_kit_swap(&d->kit, VIEW_SETS, VIEW_LAST);
    d->sets_are_here = false;
}

static void copy_counts(view_step *f) {
    const view_counts *counts = &f->counts;
    memcpy(f->result.regions, counts->regions, sizeof counts->regions);
    memcpy(f->result.sets, counts->sets, sizeof counts->sets);
    if (f->view->has_last) {
        memcpy(f->result.entered, counts->entered, sizeof counts->entered);
        memcpy(f->result.left, counts->left, sizeof counts->left);
    }
}

static void mark_sets(view_step *f) {
    copy_counts(f);
    swap_sets(f->view);
}

static abut_status download_sets(abut_self *view) {
    struct view_device *d = view->on_device;
    abut_status status = ABUT_OK;
    if (!d->sets_are_here)
        status = abuti_kit_download(&d->kit, VIEW_LAST, view->sets, view->triangle_count, 1);
    d->sets_are_here = !status;
    return status;
}

/* ---- search ---- */

/* Distributes the sets of triangles to all features. */
static void spread_sets(abut_self *view) {
    struct view_device *d = view->on_device;
    motion_device *m = d->motion->on_device;
    const uint32_t faces_first = m->sets.first[SWEEP_FACES];
    const uint32_t features = faces_first + view->triangle_count;
    m->sets.used = 1;
    ABUTI_KIT_RUN(&d->kit, VIEW_SPREAD, features, VIEW_GROUP, ABUTI_VALUE(features),
                  ABUTI_VALUE(faces_first), OF_VIEW(VIEW_AROUND_BEGIN), OF_VIEW(VIEW_AROUND),
                  OF_VIEW(VIEW_LAST), OF_MOTION(MOTION_SETS));
}

/* The sweep search reports earlier failures. */
static abut_status search_on_device(view_step *f, bool complete) {
    struct view_device *d = f->view->on_device;
    const motion_search_options options = {.mode = f->all ? ABUT_SWEEP_ALL : ABUT_SWEEP_EARLIEST,
                                           .separation = f->limits.sweep.separation,
                                           .tolerance = f->limits.sweep.tolerance,
                                           .exact = f->limits.exact,
                                           .steps = f->limits.sweep.steps};
    abut_impact impact;
    abut_impact_list one = {.list = &impact, .capacity = 1};
    abut_impact_list *impacts = f->all ? &f->impacts : &one;
    abut_sweep_counts counts = abut_sweep_counts_default();
    double begun = abuti_seconds();
    if (complete)
        abuti_motion_device_no_sets(d->motion);
    else
        spread_sets(f->view);
    abut_status status = abuti_motion_device_find(d->motion, &options, impacts, &counts);
    if (status)
        return status;
    f->result.hit = impacts->count > 0;
    if (f->result.hit)
        f->result.impact = impacts->list[0];
    f->result.vertex_face += counts.vertex_face;
    f->result.edge_edge += counts.edge_edge;
    f->result.times.search += abuti_seconds() - begun;
    return ABUT_OK;
}

static abut_status search_skipping_counts(view_step *f, const view_primitive *primitive) {
    double begun = abuti_seconds();
    queue_test(f->view, primitive, 1);
    swap_sets(f->view);
    f->result.times.view += abuti_seconds() - begun;
    abut_status status = search_on_device(f, false);
    if (!status)
        status = read_tallies(f->view, 1, &f->counts);
    if (!status)
        copy_counts(f);
    return status;
}

const view_backend abuti_view_device = {.open = open_on_device,
                                        .close = close_on_device,
                                        .start_step = start_step_device,
                                        .accept = accept_positions,
                                        .undo = undo_positions,
                                        .download_positions = download_positions,
                                        .axis = compute_axis,
                                        .budget = unlimited_budget,
                                        .test = test_primitive,
                                        .compare = compare_primitives,
                                        .choose = choose_primitive,
                                        .is_cheaper = is_cheaper,
                                        .boundary = handle_boundary,
                                        .mark = mark_sets,
                                        .search = search_on_device,
                                        .search_skipping_counts = search_skipping_counts,
                                        .download_sets = download_sets};
