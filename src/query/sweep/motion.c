/* Motions: creation, steps and searches. All input is validated on entry, so that a search can only
 * reject its own options. */
#include "sweep/motion.h"

#include "device/array.h"
#include "geom/sweep.h"
#include "mesh/mesh.h"

enum { HITS_PER_TASK = 4096, OWNER_VERTICES = 256 };

/* ---- on the CPU ---- */

static abut_status cpu_open(abut_sweep *m, vec3 **room) {
    *room = m->room = abuti_allocate(m->context, m->vertex_count, 4 * sizeof **room);
    return *room ? ABUT_OK : ABUT_ERROR_MEMORY;
}

/* All positions are on the host already, and are exchanged by this file. */
static const motion_backend on_cpu = {.open = cpu_open,
                                      .create = abuti_broad_create,
                                      .destroy = abuti_broad_destroy,
                                      .set_sets = abuti_broad_set_sets,
                                      .find = abuti_motion_find_on_cpu};

/* ---- create ---- */

static abut_status check_meshes(abut_mesh *const *meshes, size_t count, abut_sweep **sweep) {
    uint64_t vertices = 0, faces = 0;
    if (!sweep)
        return abuti_null("abut_sweep_create", "sweep");
    if (!meshes || !count)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "abut_sweep_create: %s; give at least one mesh",
                          meshes ? "count is 0" : "meshes is null");
    for (size_t i = 0; i < count; i++) {
        if (!meshes[i])
            return abuti_fail(ABUT_ERROR_ARGUMENT, "abut_sweep_create: meshes[%zu] is null", i);
        if (meshes[i]->context != meshes[0]->context)
            return abuti_fail(ABUT_ERROR_ARGUMENT,
                              "abut_sweep_create: meshes[%zu] has another context than "
                              "meshes[0]; create all with the same one",
                              i);
        vertices += meshes[i]->vertex_count;
        faces += meshes[i]->triangle_count;
        if (count > UINT32_MAX - 1 || vertices >= ABUT_NONE || faces > ABUT_NONE / 3)
            return abuti_fail(ABUT_ERROR_LIMIT,
                              "abut_sweep_create: the vertices or edges up to meshes[%zu] exceed "
                              "the limit of 32-bit indices; split the meshes over several motions",
                              i);
    }
    return ABUT_OK;
}

static abut_status allocate_lists(abut_sweep *m, size_t mesh_count, size_t face_count) {
    abut_context *c = m->context;
    m->vertex_begin = abuti_allocate_zeroed(c, mesh_count + 1, sizeof *m->vertex_begin);
    m->edge_begin = abuti_allocate_zeroed(c, mesh_count + 1, sizeof *m->edge_begin);
    m->face_begin = abuti_allocate_zeroed(c, mesh_count + 1, sizeof *m->face_begin);
    m->owners = abuti_allocate(c, mesh_count, sizeof *m->owners);
    m->faces = abuti_allocate(c, face_count, 3 * sizeof *m->faces);
    m->edges = abuti_allocate(c, face_count, 6 * sizeof *m->edges); /* at most three per face */
    return m->vertex_begin && m->edge_begin && m->face_begin && m->owners && m->faces && m->edges
               ? ABUT_OK
               : ABUT_ERROR_MEMORY;
}

static abut_status add_mesh(abut_sweep *m, abut_mesh *mesh) {
    abut_topology *topology;
    abut_status status = abut_topology_create(mesh, &topology);
    if (status)
        return status;
    const abut_topology_arrays *view = &topology->view;
    const uint32_t k = m->mesh_count++, first = m->vertex_count;
    for (size_t i = 0; i < 3 * (size_t)mesh->triangle_count; i++)
        m->faces[3 * (size_t)m->face_count + i] = first + mesh->indices[i];
    for (size_t i = 0; i < 2 * (size_t)view->edge_count; i++)
        m->edges[2 * (size_t)m->edge_count + i] = first + view->edges[i];
    m->vertex_begin[k + 1] = m->vertex_count += mesh->vertex_count;
    m->edge_begin[k + 1] = m->edge_count += view->edge_count;
    m->face_begin[k + 1] = m->face_count += mesh->triangle_count;
    abut_topology_destroy(topology);
    return ABUT_OK;
}

static abut_status place_vertices(abut_sweep *m, abut_mesh *const *meshes, vec3 *room) {
    const size_t count = m->vertex_count;
    m->start = room;
    m->end = room + count;
    m->next[0] = room + 2 * count;
    m->next[1] = room + 3 * count;
    for (uint32_t k = 0; k < m->mesh_count; k++)
        for (uint32_t i = 0; i < meshes[k]->vertex_count; i++)
            m->end[m->vertex_begin[k] + i] = abuti_mesh_position(meshes[k], i);
    memcpy(m->start, m->end, count * sizeof *m->start);
    m->place = (motion_place){.start_on_host = true, .end_on_host = true, .end_box = box_empty()};
    for (size_t i = 0; i < count; i++)
        m->place.end_box = box_grow(m->place.end_box, m->end[i]);
    return m->backend->create(m);
}

/* Of many small meshes, an order by owner is far from one along a curve: 10,000 icosahedra take 14
 * times as long with it, 2,000 balls of 42 vertices 1.5 times, 300 balls of 362 a third. */
static bool sorts_by_owner(const abut_sweep *m) {
    uint64_t owners = 1;
    for (uint32_t k = 0; k < m->mesh_count; k++)
        owners = m->owners[k] >= owners ? (uint64_t)m->owners[k] + 1 : owners;
    return m->options.skip_self && owners > 1 && (owners - 2) * OWNER_VERTICES <= m->vertex_count;
}

static abut_status build_motion(abut_sweep *m, abut_mesh *const *meshes, const uint32_t *owners,
                                size_t count) {
    size_t faces = 0;
    for (size_t i = 0; i < count; i++)
        faces += meshes[i]->triangle_count;
    abut_status status = allocate_lists(m, count, faces);
    for (size_t i = 0; !status && i < count; i++) {
        m->owners[i] = owners ? owners[i] : (uint32_t)i;
        status = add_mesh(m, meshes[i]);
    }
    if (status)
        return status;
    vec3 *room = NULL;
    m->by_owner = sorts_by_owner(m);
    status = m->backend->open(m, &room);
    return status ? status : place_vertices(m, meshes, room);
}

abut_status abuti_motion_create(abut_mesh *const *meshes, const uint32_t *owners, size_t count,
                                const abut_sweep_options *options, abut_sweep **sweep) {
    abut_sweep_options ours = abut_sweep_options_default();
    abut_status status = check_meshes(meshes, count, sweep);
    if (status ||
        (status = abuti_options_read(&ours, sizeof ours, options, "abut_sweep_create: options")))
        return status;
    abut_sweep *made = abuti_allocate_zeroed(meshes[0]->context, 1, sizeof *made);
    if (!made)
        return ABUT_ERROR_MEMORY;
    made->context = abuti_context_retain(meshes[0]->context);
    made->options = ours;
    made->backend = ours.device ? &abuti_motion_on_device : &on_cpu;
    if ((status = build_motion(made, meshes, owners, count))) {
        abut_sweep_destroy(made);
        return status;
    }
    *sweep = made;
    return ABUT_OK;
}

abut_status abut_sweep_create(abut_mesh *const *meshes, size_t count,
                              const abut_sweep_options *options, abut_sweep **sweep) {
    return abuti_motion_create(meshes, NULL, count, options, sweep);
}

void abut_sweep_destroy(abut_sweep *sweep) {
    if (!sweep)
        return;
    abut_context *context = sweep->context;
    sweep->backend->destroy(sweep);
    void *owned[] = {sweep->vertex_begin, sweep->edge_begin, sweep->face_begin, sweep->edges,
                     sweep->faces,        sweep->room,       sweep->owners};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        abuti_release(context, owned[i]);
    abuti_release(context, sweep);
    abut_context_destroy(context);
}

/* ---- step ---- */

/* Uploads the start while the host validates the end. */
static abut_status load_side(abut_sweep *m, motion_step_input *t, int side) {
    abut_status status =
        abuti_positions_load(m->context, t->function, side ? t->end_name : t->start_name,
                             side ? t->end : t->start, t->count, m->next[side], &t->boxes[side]);
    return status || !m->on_device ? status : m->backend->send(m, side, t->count);
}

abut_status abuti_motion_load_step(abut_sweep *motion, motion_step_input *input) {
    const bool has_buffer = input->start_buffer || input->end_buffer;
    abut_status status =
        motion->on_device ? motion->backend->begin(motion, input->start != NULL) : ABUT_OK;
    input->has_start = input->start || input->start_buffer;
    if (!status && input->start &&
        !memcmp(input->start, motion->end, input->count * sizeof *motion->end))
        input->has_start = false;
    if (!status && input->start && input->has_start)
        status = load_side(motion, input, 0);
    if (!status && input->end)
        status = load_side(motion, input, 1);
    if (status || !has_buffer)
        return status;
    if (motion->on_device)
        return motion->backend->load(motion, input);
    return abuti_fail(
        ABUT_ERROR_ARGUMENT,
        "%s: %s is in device memory, but the motion was created without a device; "
        "set options->device of abut_sweep_create(), or pass positions in host memory",
        input->function, input->start_buffer ? input->start_name : input->end_name);
}

static void swap_positions(vec3 **a, vec3 **b) {
    vec3 *other = *a;
    *a = *b;
    *b = other;
}

static double longest_side(box3 box) {
    return v3_max_abs(v3_sub(box.hi, box.lo));
}

void abuti_motion_accept_step(abut_sweep *motion, const motion_step_input *input) {
    const motion_place *last = &motion->place;
    const bool has_start = input->has_start;
    motion_place place = {.stepped = true, .has_start = has_start};
    if (motion->on_device)
        motion->backend->accept(motion, has_start);
    swap_positions(&motion->start, has_start ? &motion->next[0] : &motion->end);
    swap_positions(&motion->end, &motion->next[1]);
    place.start_on_host = has_start ? !input->start_buffer : last->end_on_host;
    place.end_on_host = !input->end_buffer;
    place.start_box = place.box = has_start ? input->boxes[0] : last->end_box;
    place.end_box = input->boxes[1];
    place.extent = longest_side(place.box);
    if (!(place.extent > 0)) {
        place.box = box_join(place.start_box, place.end_box);
        place.extent = longest_side(place.box);
    }
    motion->last_place = motion->place;
    motion->place = place;
}

void abuti_motion_undo_step(abut_sweep *motion) {
    const bool has_start = motion->place.has_start;
    if (motion->on_device)
        motion->backend->undo(motion, has_start);
    swap_positions(&motion->end, &motion->next[1]);
    swap_positions(&motion->start, has_start ? &motion->next[0] : &motion->end);
    motion->place = motion->last_place;
}

abut_status abut_sweep_set_positions(abut_sweep *sweep, abut_array start, abut_array end) {
    if (!sweep || (!end.host && !end.buffer))
        return abuti_null(__func__, sweep ? "end" : "sweep");
    if ((start.host && start.buffer) || (end.host && end.buffer))
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_sweep_set_positions: %s has both a host pointer and a device "
                          "buffer; set one of them",
                          end.host && end.buffer ? "end" : "start");
    void *copies[2] = {NULL, NULL};
    abut_status status = abuti_array_convert(__func__, "start", sweep->context, &start,
                                             sweep->vertex_count, 3, &copies[0]);
    if (!status)
        status = abuti_array_convert(__func__, "end", sweep->context, &end, sweep->vertex_count, 3,
                                     &copies[1]);
    motion_step_input input = {.function = "abut_sweep_set_positions",
                               .start_name = "start",
                               .end_name = "end",
                               .count = sweep->vertex_count,
                               .start = start.host,
                               .end = end.host,
                               .start_buffer = start.buffer,
                               .end_buffer = end.buffer};
    if (!status)
        status = abuti_motion_load_step(sweep, &input);
    if (!status)
        abuti_motion_accept_step(sweep, &input);
    ABUTI_RELEASE(sweep->context, copies[0], copies[1]);
    return status;
}

/* ---- find ---- */

abut_status abuti_motion_set_sets(abut_sweep *motion, const unsigned char *sets) {
    return motion->backend->set_sets(motion, sets);
}

/* Tolerance if the extent is 0: any positive value is correct. */
#define TOLERANCE_MIN 1e-200

static abut_status resolve_options(const abut_sweep *motion, abut_sweep_mode mode,
                                   const abut_sweep_find_options *options,
                                   motion_search_options *ours) {
    sweep_limits limits;
    abut_status status =
        abuti_sweep_limits("abut_sweep_find", options, ABUT_COORDINATE_MAX, &limits, &ours->exact);
    if (status)
        return status;
    if (!(limits.tolerance > 0))
        limits.tolerance = real_max(SWEEP_TOLERANCE * motion->place.extent, TOLERANCE_MIN);
    ours->mode = mode;
    ours->separation = limits.separation;
    ours->tolerance = limits.tolerance;
    ours->steps = limits.steps;
    return ABUT_OK;
}

abut_status abut_sweep_find(abut_sweep *sweep, abut_sweep_mode mode,
                            const abut_sweep_find_options *options, abut_impact_list *impacts,
                            abut_sweep_counts *counts) {
    motion_search_options ours;
    if (!sweep || !impacts)
        return abuti_null(__func__, sweep ? "impacts" : "sweep");
    if (mode != ABUT_SWEEP_ANY && mode != ABUT_SWEEP_EARLIEST && mode != ABUT_SWEEP_ALL)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_sweep_find: mode is %d; it must be from %d to %d "
                          "(abut_sweep_mode)",
                          (int)mode, ABUT_SWEEP_ANY, ABUT_SWEEP_ALL);
    abut_status status = ABUTI_LIST_CHECK(__func__, "impacts", impacts);
    if (status)
        return status;
    if (!sweep->place.stepped)
        return abuti_fail(
            ABUT_ERROR_ARGUMENT,
            "abut_sweep_find: the sweep has no step yet; call abut_sweep_set_positions() first");
    abut_sweep_counts tried = abut_sweep_counts_default();
    if ((counts && (status = abuti_info_check(counts, sizeof *counts, __func__))) ||
        (status = resolve_options(sweep, mode, options, &ours)) ||
        (status = sweep->backend->find(sweep, &ours, impacts, &tried)))
        return status;
    return counts ? abuti_info_write(counts, &tried, sizeof tried, __func__) : ABUT_OK;
}

/* ---- results ---- */

bool abuti_motion_after(const motion_hit *a, const motion_hit *b) {
    if (a->time != b->time)
        return a->time > b->time;
    if (a->kind != b->kind)
        return a->kind > b->kind;
    return a->first != b->first ? a->first > b->first : a->second > b->second;
}

static bool hit_after(const void *a, const void *b) {
    return abuti_motion_after(a, b);
}

abut_status abuti_motion_sort(abut_context *context, motion_hit *hits, size_t count) {
    motion_hit *copy = abuti_allocate(context, count, sizeof *copy);
    sort_key *keys = abuti_allocate(context, count, 2 * sizeof *keys);
    abut_status status = copy && keys && count <= UINT32_MAX ? ABUT_OK : ABUT_ERROR_MEMORY;
    for (size_t i = 0; i < count && !status; i++) {
        const double time = hits[i].time + 0.0; /* no -0: bits compare like times */
        keys[i].value = (uint32_t)i;
        memcpy(&keys[i].key, &time, sizeof time);
        copy[i] = hits[i];
    }
    const sort_key *sorted = status ? NULL : abuti_sort_by_key(keys, keys + count, count);
    for (size_t i = 0, begin = 0; i < count && !status; i++) {
        hits[i] = copy[sorted[i].value];
        if (i + 1 < count && sorted[i + 1].key == sorted[i].key)
            continue;
        abuti_sort_items(hits + begin, i + 1 - begin, sizeof *hits, hit_after);
        begin = i + 1;
    }
    ABUTI_RELEASE(context, copy, keys);
    return status;
}

void abuti_motion_corners(const abut_sweep *motion, uint32_t kind, uint32_t first, uint32_t second,
                          uint32_t corners[4]) {
    if (kind == ABUT_IMPACT_VERTEX_FACE) {
        corners[0] = first;
        memcpy(corners + 1, motion->faces + 3 * (size_t)second, 3 * sizeof *corners);
    } else {
        memcpy(corners, motion->edges + 2 * (size_t)first, 2 * sizeof *corners);
        memcpy(corners + 2, motion->edges + 2 * (size_t)second, 2 * sizeof *corners);
    }
}

/* The mesh that contains an element, and the index of the element in it. */
static void find_mesh_of_element(const uint32_t *begin, uint32_t mesh_count, uint32_t element,
                                 uint32_t *mesh, uint32_t *local) {
    uint32_t low = 0, high = mesh_count; /* begin[low] <= element < begin[high] */
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        if (begin[middle] <= element)
            low = middle;
        else
            high = middle;
    }
    *mesh = low;
    *local = element - begin[low];
}

/* Converts a hit to the public struct, whose padding is 0 so that equal impacts have equal bytes.
 */
static void write_impact(const abut_sweep *motion, const motion_hit *hit, abut_impact *impact) {
    const bool edges = hit->kind == ABUT_IMPACT_EDGE_EDGE;
    memset(impact, 0, sizeof *impact);
    impact->time = hit->time;
    impact->point = hit->point;
    impact->normal = hit->normal;
    memcpy(impact->weights, hit->weights, sizeof impact->weights);
    impact->kind = (abut_impact_kind)hit->kind;
    find_mesh_of_element(edges ? motion->edge_begin : motion->vertex_begin, motion->mesh_count,
                         hit->first, &impact->mesh[0], &impact->element[0]);
    find_mesh_of_element(edges ? motion->edge_begin : motion->face_begin, motion->mesh_count,
                         hit->second, &impact->mesh[1], &impact->element[1]);
}

typedef struct report_task {
    const abut_sweep *motion;
    const motion_hit *hits;
    abut_impact *impacts;
} report_task;

static void report_hits(void *data, size_t chunk, size_t begin, size_t end) {
    const report_task *t = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++)
        write_impact(t->motion, &t->hits[i], &t->impacts[i]);
}

abut_status abuti_motion_report(const abut_sweep *motion, const motion_hit *hits, uint64_t count,
                                abut_impact_list *impacts) {
    abut_status status = ABUTI_LIST_COUNT("abut_sweep_find", "impacts", impacts, count);
    report_task task = {motion, hits, impacts->list};
    if (!status)
        abuti_parallel_for(motion->context, (size_t)count, HITS_PER_TASK, report_hits, &task);
    return status;
}

/* ---- names ---- */

const char *abut_impact_kind_name(abut_impact_kind kind) {
    static const char *const names[] = {"vertex-face", "edge-edge"};
    return ABUTI_NAME(names, kind);
}

const char *abut_sweep_mode_name(abut_sweep_mode mode) {
    static const char *const names[] = {"any", "earliest", "all"};
    return ABUTI_NAME(names, mode);
}
