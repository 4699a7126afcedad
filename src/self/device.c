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
 * too. What touches ghosts is found on the CPU; then the sets go back to the device.
 */
#include "self/self.h"

#include "sweep/device.h"

enum { GROUP = 256 };

typedef enum view_kernel { VIEW_LINE, VIEW_TEST, VIEW_SPREAD, VIEW_KERNELS } view_kernel;

typedef enum view_memory {
    VIEW_CORNERS, /* ghosts too */
    VIEW_TRIANGLE_EDGES,
    VIEW_ALONG,
    VIEW_SETS, /* ghosts too */
    VIEW_REGIONS,
    VIEW_MEMORIES
} view_memory;

typedef struct view_device {
    abut_motion *motion;
    abuti_kernel kernels[VIEW_KERNELS];
    abuti_buffer memory[VIEW_MEMORIES];
    bool is_at_end; /* the motion ends where the last step of the view did */
} view_device;

_Static_assert((int)SWEEP_SET_FIRST == (int)SET_P && (int)SWEEP_SET_SECOND == (int)SET_N &&
                   (int)SWEEP_SET_ANY == (int)(SET_Z | SET_V),
               "sweeps pair sets as abuti_sets_pair() does");

#define MEMORY(which) ABUTI_BUFFER(&d->memory[which])

static size_t groups_of(size_t count) {
    return (count + GROUP - 1) / GROUP;
}

/* ---- create ---- */

static abut_status make_motion(abut_view *view) {
    abut_mesh_input input = abut_mesh_input_default();
    abut_motion_options options = abut_motion_options_default();
    abut_mesh *mesh = NULL;
    input.positions = view->end;
    input.vertex_count = view->vertex_count + view->hole_count;
    input.indices = view->corners;
    input.triangle_count = view->triangle_count;
    options.device = view->options.device;
    abut_status status = abut_mesh_create(view->context, &input, &mesh);
    if (!status)
        status = abut_motion_create(&mesh, 1, &options, &view->on_device->motion);
    abut_mesh_destroy(mesh);
    return status;
}

static abut_status make_kernels(view_device *d, abut_device *device) {
    static const char *const names[VIEW_KERNELS] = {"view_line", "view_test", "view_spread"};
    abuti_program *program;
    abut_status status = abuti_program_get(device, "view_sets", "-DABUTI_REAL_BITS=64", &program);
    for (int i = 0; i < VIEW_KERNELS && !status; i++)
        status = abuti_kernel_create(program, device, names[i], &d->kernels[i]);
    return status;
}

static abut_status make_memory(abut_view *view) {
    view_device *d = view->on_device;
    abut_topology_view t = abut_topology_get(view->topology);
    size_t all = (size_t)view->triangle_count + view->ghost_count;
    const struct {
        size_t count, bytes;
        const void *data;
    } list[VIEW_MEMORIES] = {
        [VIEW_CORNERS] = {all, 3 * sizeof(uint32_t), view->corners},
        [VIEW_TRIANGLE_EDGES] = {view->triangle_count, 3 * sizeof(uint32_t), t.triangle_edges},
        [VIEW_ALONG] = {(size_t)view->vertex_count + view->hole_count, 2 * sizeof(double), NULL},
        [VIEW_SETS] = {all, 1, NULL},
        [VIEW_REGIONS] = {5, sizeof(uint32_t), NULL},
    };
    abut_status status = ABUT_OK;
    for (int i = 0; i < VIEW_MEMORIES && !status; i++) {
        status =
            abuti_buffer_create(view->options.device, list[i].count, list[i].bytes, &d->memory[i]);
        if (!status && list[i].data)
            status = abuti_buffer_upload(&d->motion->on_device->queue, &d->memory[i], 0,
                                         list[i].data, list[i].count * list[i].bytes);
    }
    return status;
}

abut_status abuti_view_device_create(abut_view *view) {
    abut_device *device = view->options.device;
    abut_status status = abuti_motion_device_check("abut_view_create", device);
    if (status)
        return status;
    view->on_device = abuti_allocate_zeroed(view->context, 1, sizeof *view->on_device);
    if (!view->on_device)
        return ABUT_ERROR_MEMORY;
    status = make_motion(view);
    status = status ? status : make_kernels(view->on_device, device);
    status = status ? status : make_memory(view);
    return status ? status : abuti_motion_device_sets(view->on_device->motion);
}

void abuti_view_device_destroy(abut_view *view) {
    view_device *d = view->on_device;
    if (!d)
        return;
    for (int i = 0; i < VIEW_KERNELS; i++)
        abuti_kernel_destroy(&d->kernels[i]);
    for (int i = 0; i < VIEW_MEMORIES; i++)
        abuti_buffer_destroy(&d->memory[i]);
    abut_motion_destroy(d->motion);
    abuti_release(view->context, d);
    view->on_device = NULL;
}

/* ---- step ---- */

abut_status abuti_view_device_step(abut_view *view, bool follows, box3 box) {
    view_device *d = view->on_device;
    bool known = follows && d->is_at_end;
    d->is_at_end = false; /* until all of the step succeeds */
    return abuti_motion_borrow(d->motion, view->start, view->next, known, box);
}

void abuti_view_device_accept(abut_view *view) {
    view->on_device->is_at_end = true;
}

static void count_sets(const abut_view *view, view_counts *counts) {
    const unsigned char *ghosts = view->sets + view->triangle_count;
    for (int k = 0; k < 3; k++)
        counts->sets[k] = abuti_count_bytes(view->sets, view->triangle_count, 1u << k);
    counts->ghosts = view->ghost_count - abuti_count_bytes(ghosts, view->ghost_count, SET_P);
}

abut_status abuti_view_device_test(abut_view *view, const view_sight *sight, view_counts *counts) {
    view_device *d = view->on_device;
    motion_device *m = d->motion->on_device;
    const uint32_t all = view->triangle_count + view->ghost_count;
    const uint32_t vertices = view->vertex_count + view->hole_count;
    memset(counts, 0, sizeof *counts);
    abut_status status =
        abuti_buffer_fill(&m->queue, &d->memory[VIEW_REGIONS], 0, sizeof counts->regions);
    if (!status && sight->by_line)
        status = ABUTI_LAUNCH(&m->queue, &d->kernels[VIEW_LINE], groups_of(vertices), GROUP,
                              ABUTI_VALUE(*sight), ABUTI_VALUE(vertices),
                              ABUTI_BUFFER(&m->memory[MOTION_START]),
                              ABUTI_BUFFER(&m->memory[MOTION_END]), MEMORY(VIEW_ALONG),
                              MEMORY(VIEW_REGIONS));
    if (!status)
        status = ABUTI_LAUNCH(&m->queue, &d->kernels[VIEW_TEST], groups_of(all), GROUP,
                              ABUTI_VALUE(*sight), ABUTI_VALUE(all), MEMORY(VIEW_CORNERS),
                              ABUTI_BUFFER(&m->memory[MOTION_START]),
                              ABUTI_BUFFER(&m->memory[MOTION_END]), MEMORY(VIEW_ALONG),
                              MEMORY(VIEW_SETS));
    if (!status && sight->by_line)
        status = abuti_buffer_download(&m->queue, &d->memory[VIEW_REGIONS], 0, counts->regions,
                                       sizeof counts->regions);
    if (!status)
        status = abuti_buffer_download(&m->queue, &d->memory[VIEW_SETS], 0, view->sets, all);
    if (!status)
        count_sets(view, counts);
    return status;
}

/* ---- search ---- */

/* Takes the sets of triangles to all features. */
static abut_status spread_sets(abut_view *view) {
    view_device *d = view->on_device;
    motion_device *m = d->motion->on_device;
    const uint32_t count = view->triangle_count;
    abut_status status = abuti_motion_device_sets(d->motion);
    if (!status && (view->ghost_count || view->part_count > 1)) /* some were changed here */
        status = abuti_buffer_upload(&m->queue, &d->memory[VIEW_SETS], 0, view->sets, count);
    if (!status)
        status = ABUTI_LAUNCH(&m->queue, &d->kernels[VIEW_SPREAD], groups_of(count), GROUP,
                              ABUTI_VALUE(count), MEMORY(VIEW_CORNERS), MEMORY(VIEW_TRIANGLE_EDGES),
                              MEMORY(VIEW_SETS), ABUTI_VALUE(m->sets.first[SWEEP_EDGES]),
                              ABUTI_VALUE(m->sets.first[SWEEP_FACES]),
                              ABUTI_BUFFER(&m->memory[MOTION_SETS]));
    return status;
}

abut_status abuti_view_device_search(abut_view *view, bool complete, const view_limits *limits,
                                     motion_hit *hit, abut_view_result *result) {
    view_device *d = view->on_device;
    const motion_search_options options = {.mode = ABUT_MOTION_EARLIEST,
                                           .separation = limits->sweep.separation,
                                           .tolerance = limits->sweep.tolerance,
                                           .exact = limits->exact,
                                           .steps = limits->sweep.steps};
    abut_impact impact;
    abut_impacts impacts = {.impacts = &impact, .capacity = 1};
    abut_motion_counts counts = {0, 0};
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
        hit->kind = (uint32_t)impact.kind;
        hit->first = impact.element[0];
        hit->second = impact.element[1];
        hit->normal = impact.normal;
        memcpy(hit->weights, impact.weights, sizeof impact.weights);
    }
    result->vertex_face += counts.vertex_face;
    result->edge_edge += counts.edge_edge;
    result->times.traversal += abuti_seconds() - begun;
    return ABUT_OK;
}
