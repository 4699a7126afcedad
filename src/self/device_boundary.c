/* What touches ghosts, found on a device: what is launched, over which memory, and what happens
 * where memory is too small.
 *
 * All kernels are queued without a look at what the ones before found; they read counts on the
 * device. Afterwards the counts are read once: sets and their changes, and how long the lists
 * became. Where one was too small, all is done again with more room.
 */
#include "geom/sweep.h"
#include "self/boundary_shared.h"
#include "self/device.h"

enum {
    GROUP = 256, /* as in the kernels */
    WALKERS = 128,
    LISTED_GROUPS = 264,  /* for lists whose length is not known here: two for each unit of an H200
                           * are enough, and not too many elsewhere */
    PAIRS_FIRST = 1 << 14 /* room for so many, and one for each ghost and eight triangles */
};

typedef enum boundary_kernel {
    BOUNDARY_BEGIN,
    BOUNDARY_LEVEL,
    BOUNDARY_FIND,
    BOUNDARY_MEET,
    BOUNDARY_JOIN,
    BOUNDARY_SIZES,
    BOUNDARY_LARGEST_OF,
    BOUNDARY_BEYOND,
    BOUNDARY_FEATURES_OF,
    BOUNDARY_SWEEP,
    BOUNDARY_FINISH,
    BOUNDARY_KERNELS
} boundary_kernel;

typedef enum boundary_memory {
    /* once */
    BOUNDARY_ORDER, /* of triangles in the tree */
    BOUNDARY_NEIGHBOURS,
    BOUNDARY_TRIANGLE_EDGES,
    BOUNDARY_VERTEX_BEGIN,
    BOUNDARY_VERTEX_ITEMS,
    BOUNDARY_EDGE_BEGIN,
    BOUNDARY_EDGE_ITEMS,
    /* each step */
    BOUNDARY_BOUNDS, /* of vertices */
    BOUNDARY_PLACES,
    BOUNDARY_GHOST_BOUNDS,
    BOUNDARY_SIDES,
    BOUNDARY_NODES,
    BOUNDARY_NEAR,
    BOUNDARY_PIECE,
    BOUNDARY_SIZE,
    BOUNDARY_REPORT,
    BOUNDARY_PAIR_LIST,
    BOUNDARY_FEATURE_LIST,
    BOUNDARY_MEMORIES
} boundary_memory;

struct view_boundary {
    abuti_kernel kernels[BOUNDARY_KERNELS];
    abuti_buffer memory[BOUNDARY_MEMORIES];
    boundary_scene scene;
};

#define MEMORY(which) ABUTI_BUFFER(&b->memory[which])
#define OF_VIEW(which) ABUTI_BUFFER(&d->memory[which])
#define OF_MOTION(which) ABUTI_BUFFER(&m->memory[which])

static size_t groups_of(size_t count) {
    return (count + GROUP - 1) / GROUP;
}

static abuti_queue *queue_of(const abut_self *view) {
    return &view->on_device->motion->on_device->queue;
}

/* ---- create ---- */

/* Triangles as the leaves of the tree stand from one side to the other. */
static void order_of(const view_tree *tree, uint32_t *order) {
    uint32_t stack[TREE_STACK], used = 1, count = 0;
    stack[0] = 0;
    while (used) {
        uint32_t child = tree->child[stack[--used]];
        if (child & TREE_LEAF) {
            order[count++] = child & ~TREE_LEAF;
            continue;
        }
        stack[used++] = child + 1;
        stack[used++] = child;
    }
}

static size_t lay_out(const abut_self *view, boundary_scene *scene) {
    uint32_t count = view->triangle_count, first = 0;
    *scene = (boundary_scene){.vertices = view->vertex_count,
                              .all_vertices = view->vertex_count + view->hole_count,
                              .triangles = count,
                              .ghosts = view->ghost_count,
                              .slabs = (uint32_t)view->slabs,
                              .boxes = view->options.box_boundary,
                              .parts = view->part_count};
    do {
        count = (count + BOUNDARY_BLOCK - 1) / BOUNDARY_BLOCK;
        scene->nodes[scene->levels] = count;
        scene->node_first[scene->levels++] = first;
        first += count;
    } while (count > 1);
    return first;
}

static abut_status make_kernels(struct view_boundary *b, abut_device *device) {
    static const char *const names[BOUNDARY_KERNELS] = {"boundary_begin",    "boundary_level",
                                                        "boundary_pairs",    "boundary_meets",
                                                        "boundary_join",     "boundary_sizes",
                                                        "boundary_largest",  "boundary_beyond",
                                                        "boundary_features", "boundary_sweeps",
                                                        "boundary_finish"};
    abuti_program *program;
    abut_status status =
        abuti_program_get(device, "view_boundary", "-DABUTI_REAL_BITS=64", &program);
    for (int i = 0; i < BOUNDARY_KERNELS && !status; i++)
        status = abuti_kernel_create(program, device, names[i], &b->kernels[i]);
    return status;
}

static abut_status make_memory(const abut_self *view, struct view_boundary *b, size_t nodes,
                               const uint32_t *order) {
    abut_topology_arrays t = abut_topology_arrays_get(view->topology);
    const size_t triangles = view->triangle_count, word = sizeof(uint32_t);
    const size_t bounds = 2 * (size_t)view->slabs * sizeof(float);
    const struct {
        boundary_memory which;
        size_t count, bytes;
        const void *data;
    } list[] = {
        {BOUNDARY_ORDER, triangles, word, order},
        {BOUNDARY_NEIGHBOURS, triangles, 3 * word, t.neighbours},
        {BOUNDARY_TRIANGLE_EDGES, triangles, 3 * word, t.triangle_edges},
        {BOUNDARY_VERTEX_BEGIN, (size_t)view->vertex_count + 1, word, view->of_vertex.begin},
        {BOUNDARY_VERTEX_ITEMS, triangles, 3 * word, view->of_vertex.items},
        {BOUNDARY_EDGE_BEGIN, (size_t)t.edge_count + 1, word, view->of_edge.begin},
        {BOUNDARY_EDGE_ITEMS, triangles, 3 * word, view->of_edge.items},
        {BOUNDARY_BOUNDS, b->scene.all_vertices, bounds, NULL},
        {BOUNDARY_PLACES, b->scene.all_vertices, sizeof(ghost_place), NULL},
        {BOUNDARY_GHOST_BOUNDS, view->ghost_count, bounds, NULL},
        {BOUNDARY_SIDES, view->ghost_count, sizeof(ghost_sides), NULL},
        {BOUNDARY_NODES, nodes, sizeof(boundary_node), NULL},
        {BOUNDARY_NEAR, triangles, word, NULL},
        {BOUNDARY_PIECE, triangles, word, NULL},
        {BOUNDARY_SIZE, triangles, word, NULL},
        {BOUNDARY_REPORT, BOUNDARY_COUNTS, word, NULL},
    };
    abut_status status = ABUT_OK;
    for (size_t i = 0; i < sizeof list / sizeof *list && !status; i++)
        status = abuti_buffer_make(queue_of(view), list[i].data, list[i].count, list[i].bytes,
                                   &b->memory[list[i].which]);
    return status;
}

abut_status abuti_view_boundary_create(abut_self *view) {
    struct view_boundary *b = abuti_allocate_zeroed(view->context, 1, sizeof *b);
    uint32_t *order = abuti_allocate(view->context, view->triangle_count, sizeof *order);
    abut_status status = b && order ? ABUT_OK : ABUT_ERROR_MEMORY;
    view->on_device->boundary = b;
    if (!status) {
        size_t nodes = lay_out(view, &b->scene);
        view->on_device->boundary_room = PAIRS_FIRST + view->ghost_count + view->triangle_count / 8;
        order_of(&view->tree, order);
        status = make_kernels(b, view->options.device);
        status = status ? status : make_memory(view, b, nodes, order);
    }
    abuti_release(view->context, order);
    return status;
}

void abuti_view_boundary_destroy(abut_self *view) {
    struct view_boundary *b = view->on_device->boundary;
    if (!b)
        return;
    for (int i = 0; i < BOUNDARY_KERNELS; i++)
        abuti_kernel_destroy(&b->kernels[i]);
    for (int i = 0; i < BOUNDARY_MEMORIES; i++)
        abuti_buffer_destroy(&b->memory[i]);
    abuti_release(view->context, b);
    view->on_device->boundary = NULL;
}

/* ---- a step ---- */

static abut_status queue_pairs(const abut_self *view) {
    struct view_device *d = view->on_device;
    struct view_boundary *b = d->boundary;
    motion_device *m = d->motion->on_device;
    const boundary_scene *scene = &b->scene;
    const uint32_t most =
        scene->all_vertices > scene->triangles ? scene->all_vertices : scene->triangles;
    abut_status status =
        ABUTI_LAUNCH(&m->queue, &b->kernels[BOUNDARY_BEGIN],
                     groups_of(most > scene->ghosts ? most : scene->ghosts), GROUP,
                     ABUTI_VALUE(*scene), OF_MOTION(MOTION_START), OF_MOTION(MOTION_END),
                     OF_VIEW(VIEW_CORNERS), OF_VIEW(VIEW_LAST), MEMORY(BOUNDARY_BOUNDS),
                     MEMORY(BOUNDARY_PLACES), MEMORY(BOUNDARY_GHOST_BOUNDS), MEMORY(BOUNDARY_SIDES),
                     MEMORY(BOUNDARY_NEAR), MEMORY(BOUNDARY_PIECE), MEMORY(BOUNDARY_SIZE));
    for (uint32_t level = 0; level < scene->levels && scene->ghosts && !status; level++)
        status = ABUTI_LAUNCH(&m->queue, &b->kernels[BOUNDARY_LEVEL], scene->nodes[level],
                              BOUNDARY_BLOCK, ABUTI_VALUE(*scene), ABUTI_VALUE(level),
                              MEMORY(BOUNDARY_ORDER), OF_VIEW(VIEW_CORNERS),
                              MEMORY(BOUNDARY_BOUNDS), MEMORY(BOUNDARY_NODES),
                              ABUTI_LOCAL_MEMORY(6 * BOUNDARY_BLOCK * sizeof(float)));
    if (!status)
        status = ABUTI_LAUNCH(&m->queue, &b->kernels[BOUNDARY_FIND], scene->ghosts, WALKERS,
                              ABUTI_VALUE(*scene), MEMORY(BOUNDARY_ORDER), OF_VIEW(VIEW_CORNERS),
                              MEMORY(BOUNDARY_BOUNDS), MEMORY(BOUNDARY_PLACES),
                              MEMORY(BOUNDARY_GHOST_BOUNDS), MEMORY(BOUNDARY_SIDES),
                              MEMORY(BOUNDARY_NODES), MEMORY(BOUNDARY_PAIR_LIST),
                              MEMORY(BOUNDARY_REPORT),
                              ABUTI_LOCAL_MEMORY(WALKERS * BOUNDARY_LEVELS * sizeof(uint32_t)),
                              ABUTI_LOCAL_MEMORY(sizeof(uint32_t)));
    return status;
}

/* What meets ghosts at the start, and which pieces that cuts off. */
static abut_status queue_pieces(const abut_self *view) {
    struct view_device *d = view->on_device;
    struct view_boundary *b = d->boundary;
    motion_device *m = d->motion->on_device;
    const boundary_scene *scene = &b->scene;
    const size_t groups = groups_of(scene->triangles);
    abut_status status = ABUT_OK;
    if (scene->ghosts)
        status = ABUTI_LAUNCH(&m->queue, &b->kernels[BOUNDARY_MEET], LISTED_GROUPS, GROUP,
                              ABUTI_VALUE(*scene), OF_MOTION(MOTION_START), OF_VIEW(VIEW_CORNERS),
                              MEMORY(BOUNDARY_PAIR_LIST), MEMORY(BOUNDARY_NEAR),
                              MEMORY(BOUNDARY_REPORT));
    if (!status)
        status =
            ABUTI_LAUNCH(&m->queue, &b->kernels[BOUNDARY_JOIN], groups, GROUP, ABUTI_VALUE(*scene),
                         MEMORY(BOUNDARY_NEIGHBOURS), MEMORY(BOUNDARY_NEAR), MEMORY(BOUNDARY_PIECE),
                         MEMORY(BOUNDARY_REPORT));
    if (!status)
        status =
            ABUTI_LAUNCH(&m->queue, &b->kernels[BOUNDARY_SIZES], groups, GROUP, ABUTI_VALUE(*scene),
                         MEMORY(BOUNDARY_NEAR), MEMORY(BOUNDARY_PIECE), MEMORY(BOUNDARY_SIZE),
                         MEMORY(BOUNDARY_REPORT), ABUTI_LOCAL_MEMORY(2 * sizeof(uint32_t)));
    for (uint32_t second = 0; second < 2 && !status; second++)
        status = ABUTI_LAUNCH(&m->queue, &b->kernels[BOUNDARY_LARGEST_OF], groups, GROUP,
                              ABUTI_VALUE(*scene), ABUTI_VALUE(second), MEMORY(BOUNDARY_SIZE),
                              MEMORY(BOUNDARY_REPORT));
    if (!status)
        status = ABUTI_LAUNCH(&m->queue, &b->kernels[BOUNDARY_BEYOND], groups, GROUP,
                              ABUTI_VALUE(*scene), MEMORY(BOUNDARY_PIECE), MEMORY(BOUNDARY_NEAR),
                              MEMORY(BOUNDARY_REPORT));
    return status;
}

static abut_status queue_touches(const abut_self *view, const view_limits *limits) {
    struct view_device *d = view->on_device;
    struct view_boundary *b = d->boundary;
    motion_device *m = d->motion->on_device;
    const float reach = abuti_sweep_filter_reach(&limits->sweep);
    abut_status status =
        ABUTI_LAUNCH(&m->queue, &b->kernels[BOUNDARY_FEATURES_OF], LISTED_GROUPS, GROUP,
                     ABUTI_VALUE(b->scene), OF_VIEW(VIEW_CORNERS), MEMORY(BOUNDARY_TRIANGLE_EDGES),
                     MEMORY(BOUNDARY_VERTEX_BEGIN), MEMORY(BOUNDARY_VERTEX_ITEMS),
                     MEMORY(BOUNDARY_EDGE_BEGIN), MEMORY(BOUNDARY_EDGE_ITEMS),
                     MEMORY(BOUNDARY_BOUNDS), MEMORY(BOUNDARY_PLACES),
                     MEMORY(BOUNDARY_GHOST_BOUNDS), MEMORY(BOUNDARY_SIDES),
                     MEMORY(BOUNDARY_PAIR_LIST), MEMORY(BOUNDARY_NEAR),
                     MEMORY(BOUNDARY_FEATURE_LIST), MEMORY(BOUNDARY_REPORT));
    if (!status)
        status = ABUTI_LAUNCH(&m->queue, &b->kernels[BOUNDARY_SWEEP], LISTED_GROUPS, GROUP,
                              ABUTI_VALUE(b->scene), MEMORY(BOUNDARY_VERTEX_BEGIN),
                              MEMORY(BOUNDARY_VERTEX_ITEMS), MEMORY(BOUNDARY_EDGE_BEGIN),
                              MEMORY(BOUNDARY_EDGE_ITEMS), OF_MOTION(MOTION_START),
                              OF_MOTION(MOTION_END), ABUTI_VALUE(limits->sweep), ABUTI_VALUE(reach),
                              MEMORY(BOUNDARY_FEATURE_LIST), MEMORY(BOUNDARY_NEAR),
                              MEMORY(BOUNDARY_REPORT));
    return status;
}

static abut_status queue_all(const abut_self *view, const view_limits *limits) {
    struct view_device *d = view->on_device;
    struct view_boundary *b = d->boundary;
    abuti_queue *queue = queue_of(view);
    abut_status status = abuti_buffer_fill(queue, &b->memory[BOUNDARY_REPORT], 0,
                                           BOUNDARY_COUNTS * sizeof(uint32_t));
    status = status ? status : queue_pairs(view);
    if (!status && !b->scene.known)
        status = queue_pieces(view);
    if (!status && b->scene.ghosts && !b->scene.boxes)
        status = queue_touches(view, limits);
    if (!status)
        status = ABUTI_LAUNCH(queue, &b->kernels[BOUNDARY_FINISH], groups_of(b->scene.triangles),
                              GROUP, ABUTI_VALUE(b->scene), MEMORY(BOUNDARY_NEAR),
                              OF_VIEW(VIEW_LAST), OF_VIEW(VIEW_SETS), MEMORY(BOUNDARY_REPORT),
                              ABUTI_LOCAL_MEMORY(BOUNDARY_PAIRS * sizeof(uint32_t)));
    return status;
}

/* Room for the lists: at first for what most steps need, then for what one has needed. */
static abut_status make_room(const abut_self *view, uint64_t pairs, uint64_t features) {
    struct view_boundary *b = view->on_device->boundary;
    boundary_scene *scene = &b->scene;
    abut_device *device = view->options.device;
    abut_status status = ABUT_OK;
    if (pairs > scene->pairs_room) {
        scene->pairs_room = (uint32_t)pairs;
        status = abuti_buffer_reserve(device, scene->pairs_room, 2 * sizeof(uint32_t),
                                      &b->memory[BOUNDARY_PAIR_LIST]);
    }
    if (!status && features > scene->features_room) {
        scene->features_room = (uint32_t)features;
        status = abuti_buffer_reserve(device, scene->features_room, sizeof(boundary_feature),
                                      &b->memory[BOUNDARY_FEATURE_LIST]);
    }
    if (status)
        scene->pairs_room = scene->features_room = 0;
    return status;
}

abut_status abuti_view_device_boundary(abut_self *view, const view_limits *limits,
                                       view_counts *counts, bool *is_worth) {
    struct view_boundary *b = view->on_device->boundary;
    const motion_place *place = &view->on_device->motion->place;
    boundary_scene *scene = &b->scene;
    uint32_t report[BOUNDARY_COUNTS];
    const uint64_t first = view->on_device->boundary_room;
    abuti_view_frame(view, box_join(place->start_box, place->end_box));
    scene->frame = (bounds_frame){view->centre, view->scale};
    scene->known = abuti_view_goes_on(view);
    *is_worth = true;
    abut_status status = make_room(view, first, 2 * first);
    for (bool again = true; again && !status;) {
        status = queue_all(view, limits);
        if (!status)
            status = abuti_buffer_download(queue_of(view), &b->memory[BOUNDARY_REPORT], 0, report,
                                           sizeof report);
        if (status)
            break;
        const uint32_t pairs = report[BOUNDARY_PAIRS], features = report[BOUNDARY_FEATURES];
        *is_worth = pairs <= abuti_view_pairs_most(view);
        again = *is_worth && (pairs > scene->pairs_room || features > scene->features_room);
        if (again)
            status =
                make_room(view, pairs + (uint64_t)pairs / 4, features + (uint64_t)features / 4);
    }
    if (status || !*is_worth)
        return status;
    memcpy(counts->sets, report + BOUNDARY_SETS, sizeof counts->sets);
    memcpy(counts->entered, report + BOUNDARY_ENTERED, sizeof counts->entered);
    memcpy(counts->left, report + BOUNDARY_LEFT, sizeof counts->left);
    return ABUT_OK;
}
