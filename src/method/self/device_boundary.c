/* Boundary handling on a device: launches, memory, and retries with larger buffers.
 *
 * All kernels are enqueued without reading intermediate results; they read counts on the device.
 * Afterwards the counts are downloaded once: sets and their changes, and the lengths of the lists.
 * If a list was too small, everything is done again with more memory.
 */
#include "geom/sweep.h"
#include "self/boundary_shared.h"
#include "self/device.h"

#include <assert.h>

enum {
    LISTED_GROUPS = 264,    /* for lists of unknown length: two per compute unit of an H200 suffice,
                               and are not too many on other devices */
    PAIRS_INITIAL = 1 << 14 /* initial capacity, plus one per ghost and per eight triangles */
};

typedef enum boundary_kernel {
    BOUNDARY_BEGIN,
    BOUNDARY_LEVEL,
    BOUNDARY_FIND,
    BOUNDARY_INTERSECT,
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
    /* uploaded once */
    BOUNDARY_ORDER, /* of triangles in the tree */
    BOUNDARY_NEIGHBOURS,
    BOUNDARY_TRIANGLE_EDGES,
    BOUNDARY_VERTEX_BEGIN,
    BOUNDARY_VERTEX_ITEMS,
    BOUNDARY_EDGE_BEGIN,
    BOUNDARY_EDGE_ITEMS,
    /* computed in each step */
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

#define KERNEL(name) \
    { "view_boundary", name, NULL }
static const abuti_kernel_source sources[BOUNDARY_KERNELS] = {
    [BOUNDARY_BEGIN] = KERNEL("boundary_begin"),
    [BOUNDARY_LEVEL] = KERNEL("boundary_level"),
    [BOUNDARY_FIND] = KERNEL("boundary_pairs"),
    [BOUNDARY_INTERSECT] = KERNEL("boundary_intersections"),
    [BOUNDARY_JOIN] = KERNEL("boundary_join"),
    [BOUNDARY_SIZES] = KERNEL("boundary_sizes"),
    [BOUNDARY_LARGEST_OF] = KERNEL("boundary_largest"),
    [BOUNDARY_BEYOND] = KERNEL("boundary_beyond"),
    [BOUNDARY_FEATURES_OF] = KERNEL("boundary_features"),
    [BOUNDARY_SWEEP] = KERNEL("boundary_sweeps"),
    [BOUNDARY_FINISH] = KERNEL("boundary_finish"),
};
static const abuti_kit_table table = {.sources = sources,
                                      .kernel_count = BOUNDARY_KERNELS,
                                      .buffer_count = BOUNDARY_MEMORIES};

struct view_boundary {
    abuti_kit kit;
    boundary_scene scene;
    abuti_kit_list pairs, features;
};

#define MEMORY(which) KIT_BUFFER(&b->kit, which)

/* ---- create ---- */

/* Lists triangles in the order of the leaves of the tree. */
static void list_leaf_order(const view_tree *tree, uint32_t *order) {
    uint32_t stack[TREE_STACK], used = 1, count = 0;
    stack[0] = 0;
    while (used) {
        uint32_t child = tree->child[stack[--used]];
        if (child & TREE_LEAF) {
            order[count++] = child & ~TREE_LEAF;
            continue;
        }
        assert(used + 2 <= TREE_STACK);
        stack[used++] = child + 1;
        stack[used++] = child;
    }
}

static size_t plan_levels(const abut_self *view, boundary_scene *scene) {
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

static void upload_all(const abut_self *view, struct view_boundary *b, size_t nodes,
                       const uint32_t *order) {
    abut_topology_arrays t = abut_topology_arrays_default();
    abut_topology_get_arrays(view->topology, &t);
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
        {BOUNDARY_PLACES, b->scene.all_vertices, sizeof(ghost_position), NULL},
        {BOUNDARY_GHOST_BOUNDS, view->ghost_count, bounds, NULL},
        {BOUNDARY_SIDES, view->ghost_count, sizeof(ghost_sides), NULL},
        {BOUNDARY_NODES, nodes, sizeof(boundary_node), NULL},
        {BOUNDARY_NEAR, triangles, word, NULL},
        {BOUNDARY_PIECE, triangles, word, NULL},
        {BOUNDARY_SIZE, triangles, word, NULL},
        {BOUNDARY_REPORT, BOUNDARY_COUNTS, word, NULL},
    };
    abuti_kit_build(&b->kit);
    for (size_t i = 0; i < sizeof list / sizeof *list; i++)
        abuti_kit_upload(&b->kit, list[i].which, list[i].data, list[i].count, list[i].bytes);
}

abut_status abuti_view_boundary_create(abut_self *view) {
    struct view_device *d = view->on_device;
    struct view_boundary *b = d->boundary = abuti_allocate_zeroed(view->context, 1, sizeof *b);
    uint32_t *order = abuti_allocate(view->context, view->triangle_count, sizeof *order);
    abut_status status = b && order ? ABUT_OK : ABUT_ERROR_MEMORY;
    status =
        status ? status : abuti_kit_open(d->kit.queue, &table, "-DABUTI_REAL_BITS=64", &b->kit);
    if (!status) {
        size_t nodes = plan_levels(view, &b->scene);
        d->boundary_room = PAIRS_INITIAL + view->ghost_count + view->triangle_count / 8;
        b->pairs = (abuti_kit_list){.buffer = BOUNDARY_PAIR_LIST,
                                    .element_bytes = 2 * sizeof(uint32_t),
                                    .what = "pairs of triangles and ghosts"};
        b->features = (abuti_kit_list){.buffer = BOUNDARY_FEATURE_LIST,
                                       .element_bytes = sizeof(boundary_feature),
                                       .what = "pairs of features at ghosts"};
        list_leaf_order(&view->tree, order);
        upload_all(view, b, nodes, order);
        status = abuti_kit_finish(&b->kit);
    }
    abuti_release(view->context, order);
    return status;
}

void abuti_view_boundary_destroy(abut_self *view) {
    struct view_boundary *b = view->on_device->boundary;
    if (!b)
        return;
    abuti_kit_close(&b->kit);
    abuti_release(view->context, b);
}

/* ---- steps ---- */

static void queue_pairs(const abut_self *view) {
    struct view_device *d = view->on_device;
    struct view_boundary *b = d->boundary;
    motion_device *m = d->motion->on_device;
    const boundary_scene *scene = &b->scene;
    const uint32_t most =
        scene->all_vertices > scene->triangles ? scene->all_vertices : scene->triangles;
    ABUTI_KIT_RUN(&b->kit, BOUNDARY_BEGIN, most > scene->ghosts ? most : scene->ghosts, VIEW_GROUP,
                  ABUTI_VALUE(*scene), OF_MOTION(MOTION_START), OF_MOTION(MOTION_END),
                  OF_VIEW(VIEW_CORNERS), OF_VIEW(VIEW_LAST), MEMORY(BOUNDARY_BOUNDS),
                  MEMORY(BOUNDARY_PLACES), MEMORY(BOUNDARY_GHOST_BOUNDS), MEMORY(BOUNDARY_SIDES),
                  MEMORY(BOUNDARY_NEAR), MEMORY(BOUNDARY_PIECE), MEMORY(BOUNDARY_SIZE));
    for (uint32_t level = 0; level < scene->levels && scene->ghosts; level++)
        ABUTI_KIT_GROUPS(&b->kit, BOUNDARY_LEVEL, scene->nodes[level], BOUNDARY_BLOCK,
                         ABUTI_VALUE(*scene), ABUTI_VALUE(level), MEMORY(BOUNDARY_ORDER),
                         OF_VIEW(VIEW_CORNERS), MEMORY(BOUNDARY_BOUNDS), MEMORY(BOUNDARY_NODES),
                         ABUTI_LOCAL_MEMORY(6 * BOUNDARY_BLOCK * sizeof(float)));
    ABUTI_KIT_GROUPS(&b->kit, BOUNDARY_FIND, scene->ghosts, BOUNDARY_WALKERS, ABUTI_VALUE(*scene),
                     MEMORY(BOUNDARY_ORDER), OF_VIEW(VIEW_CORNERS), MEMORY(BOUNDARY_BOUNDS),
                     MEMORY(BOUNDARY_PLACES), MEMORY(BOUNDARY_GHOST_BOUNDS), MEMORY(BOUNDARY_SIDES),
                     MEMORY(BOUNDARY_NODES), MEMORY(BOUNDARY_PAIR_LIST), MEMORY(BOUNDARY_REPORT),
                     ABUTI_LOCAL_MEMORY(BOUNDARY_WALKERS * BOUNDARY_LEVELS * sizeof(uint32_t)),
                     ABUTI_LOCAL_MEMORY(sizeof(uint32_t)));
}

/* Finds triangles that intersect ghosts at the start, and the pieces that this separates. */
static void queue_pieces(const abut_self *view) {
    struct view_device *d = view->on_device;
    struct view_boundary *b = d->boundary;
    motion_device *m = d->motion->on_device;
    const boundary_scene *scene = &b->scene;
    const uint32_t count = scene->triangles;
    if (scene->ghosts)
        ABUTI_KIT_GROUPS(&b->kit, BOUNDARY_INTERSECT, LISTED_GROUPS, VIEW_GROUP,
                         ABUTI_VALUE(*scene), OF_MOTION(MOTION_START), OF_VIEW(VIEW_CORNERS),
                         MEMORY(BOUNDARY_PAIR_LIST), MEMORY(BOUNDARY_NEAR),
                         MEMORY(BOUNDARY_REPORT));
    ABUTI_KIT_RUN(&b->kit, BOUNDARY_JOIN, count, VIEW_GROUP, ABUTI_VALUE(*scene),
                  MEMORY(BOUNDARY_NEIGHBOURS), MEMORY(BOUNDARY_NEAR), MEMORY(BOUNDARY_PIECE),
                  MEMORY(BOUNDARY_REPORT));
    ABUTI_KIT_RUN(&b->kit, BOUNDARY_SIZES, count, VIEW_GROUP, ABUTI_VALUE(*scene),
                  MEMORY(BOUNDARY_NEAR), MEMORY(BOUNDARY_PIECE), MEMORY(BOUNDARY_SIZE),
                  MEMORY(BOUNDARY_REPORT), ABUTI_LOCAL_MEMORY(2 * sizeof(uint32_t)));
    for (uint32_t second = 0; second < 2; second++)
        ABUTI_KIT_RUN(&b->kit, BOUNDARY_LARGEST_OF, count, VIEW_GROUP, ABUTI_VALUE(*scene),
                      ABUTI_VALUE(second), MEMORY(BOUNDARY_SIZE), MEMORY(BOUNDARY_REPORT));
    ABUTI_KIT_RUN(&b->kit, BOUNDARY_BEYOND, count, VIEW_GROUP, ABUTI_VALUE(*scene),
                  MEMORY(BOUNDARY_PIECE), MEMORY(BOUNDARY_NEAR), MEMORY(BOUNDARY_REPORT));
}

static void queue_touches(const abut_self *view, const view_limits *limits) {
    struct view_device *d = view->on_device;
    struct view_boundary *b = d->boundary;
    motion_device *m = d->motion->on_device;
    const float reach = abuti_sweep_filter_reach(&limits->sweep);
    ABUTI_KIT_GROUPS(&b->kit, BOUNDARY_FEATURES_OF, LISTED_GROUPS, VIEW_GROUP,
                     ABUTI_VALUE(b->scene), OF_VIEW(VIEW_CORNERS), MEMORY(BOUNDARY_TRIANGLE_EDGES),
                     MEMORY(BOUNDARY_VERTEX_BEGIN), MEMORY(BOUNDARY_VERTEX_ITEMS),
                     MEMORY(BOUNDARY_EDGE_BEGIN), MEMORY(BOUNDARY_EDGE_ITEMS),
                     MEMORY(BOUNDARY_BOUNDS), MEMORY(BOUNDARY_PLACES),
                     MEMORY(BOUNDARY_GHOST_BOUNDS), MEMORY(BOUNDARY_SIDES),
                     MEMORY(BOUNDARY_PAIR_LIST), MEMORY(BOUNDARY_NEAR),
                     MEMORY(BOUNDARY_FEATURE_LIST), MEMORY(BOUNDARY_REPORT));
    ABUTI_KIT_GROUPS(&b->kit, BOUNDARY_SWEEP, LISTED_GROUPS, VIEW_GROUP, ABUTI_VALUE(b->scene),
                     MEMORY(BOUNDARY_VERTEX_BEGIN), MEMORY(BOUNDARY_VERTEX_ITEMS),
                     MEMORY(BOUNDARY_EDGE_BEGIN), MEMORY(BOUNDARY_EDGE_ITEMS),
                     OF_MOTION(MOTION_START), OF_MOTION(MOTION_END), ABUTI_VALUE(limits->sweep),
                     ABUTI_VALUE(reach), MEMORY(BOUNDARY_FEATURE_LIST), MEMORY(BOUNDARY_NEAR),
                     MEMORY(BOUNDARY_REPORT));
}

/* Enqueues all kernels, and downloads the counts. */
static abut_status find_device_boundary(const view_step *f, uint32_t report[BOUNDARY_COUNTS]) {
    const abut_self *view = f->view;
    struct view_device *d = view->on_device;
    struct view_boundary *b = d->boundary;
    b->scene.pairs_room = b->pairs.room;
    b->scene.features_room = b->features.room;
    abuti_kit_fill(&b->kit, BOUNDARY_REPORT, 0, BOUNDARY_COUNTS * sizeof *report);
    queue_pairs(view);
    if (!b->scene.known)
        queue_pieces(view);
    if (b->scene.ghosts && !b->scene.boxes)
        queue_touches(view, &f->of_ghosts);
    ABUTI_KIT_RUN(&b->kit, BOUNDARY_FINISH, b->scene.triangles, VIEW_GROUP, ABUTI_VALUE(b->scene),
                  MEMORY(BOUNDARY_NEAR), OF_VIEW(VIEW_LAST), OF_VIEW(VIEW_SETS),
                  MEMORY(BOUNDARY_REPORT), ABUTI_LOCAL_MEMORY(BOUNDARY_PAIRS * sizeof *report));
    return abuti_kit_download(&b->kit, BOUNDARY_REPORT, report, BOUNDARY_COUNTS, sizeof *report);
}

abut_status abuti_view_device_boundary(view_step *f, bool *is_cheaper) {
    abut_self *view = f->view;
    struct view_boundary *b = view->on_device->boundary;
    const motion_place *place = &view->on_device->motion->place;
    uint32_t report[BOUNDARY_COUNTS];
    double begun = abuti_seconds();
    abuti_view_compute_frame(view, box_join(place->start_box, place->end_box));
    b->scene.frame = (bounds_frame){view->centre, view->scale};
    b->scene.known = abuti_view_keeps_pieces(view);
    abuti_kit_grow(&b->kit, &b->pairs, view->on_device->boundary_room);
    abuti_kit_grow(&b->kit, &b->features, 2 * (uint64_t)view->on_device->boundary_room);
    abut_status status;
    bool again;
    do {
        if ((status = find_device_boundary(f, report)))
            return status;
        *is_cheaper = report[BOUNDARY_PAIRS] <= abuti_view_pairs_max(view);
        again = *is_cheaper && abuti_kit_grow(&b->kit, &b->pairs, report[BOUNDARY_PAIRS]);
        again |= *is_cheaper && abuti_kit_grow(&b->kit, &b->features, report[BOUNDARY_FEATURES]);
    } while (again);
    if ((status = abuti_queue_report(b->kit.queue))) /* memory is exhausted for a longer list */
        return status;
    memcpy(f->counts.sets, report + BOUNDARY_SETS, sizeof f->counts.sets);
    memcpy(f->counts.entered, report + BOUNDARY_ENTERED, sizeof f->counts.entered);
    memcpy(f->counts.left, report + BOUNDARY_LEFT, sizeof f->counts.left);
    f->result.times.boundary += abuti_seconds() - begun;
    return ABUT_OK;
}
