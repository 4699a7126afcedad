/* Private types and functions of layers: image-space interference between solids. */
#ifndef ABUTI_LAYERS_H
#define ABUTI_LAYERS_H

#include "base/sort.h"
#include "layers/device_shared.h"
#include "raster/raster.h"

#include <abut/bvh.h>
#include <abut/layers.h>

/* Bounding box and bounding ball of the vertices of a mesh, before its pose is applied. */
typedef struct layers_hull {
    box3 box;
    vec3 centre;
    double radius;
} layers_hull;

/* Whether a surface intersects itself. */
typedef enum layers_self_state {
    LAYERS_SELF_UNKNOWN = 0,
    LAYERS_SELF_DISJOINT,
    LAYERS_SELF_INTERSECTS
} layers_self_state;

/* A mesh of one or more items, prepared: holes are closed, and its orientation is known. */
typedef struct layers_mesh {
    uint32_t users;          /* 0 = unused entry */
    const abut_mesh *source; /* key for lookup */
    abut_mesh *mesh;         /* retained: the source, or a copy with caps */
    uint32_t cap_count;      /* additional vertices, each the mean of vertices in `cap` */
    uint32_t *cap_begin, *cap;
    bool inward;
    abut_reliability reliability;
    layers_hull hull;
    abut_bvh *bvh; /* created on first use */
    layers_self_state self_state;
} layers_mesh;

typedef struct layers_solid {
    bool used;
    uint32_t next; /* next free entry if not used */
    uint32_t mesh; /* index in `meshes` */
    abut_layers_item is;
    raster_motion motion;
    vec3 *positions; /* positions of this solid, relative to the origin of the mesh; null = those of
                        the mesh */
    layers_hull hull;
    uint64_t position_changes; /* how often its positions changed */
    abut_bvh *bvh;             /* if it has its own positions */
    layers_self_state self_state;
} layers_solid;

/* Work is divided into at most this many chunks, each with its own lists. */
enum { LAYERS_CHUNKS = 256 };
static inline size_t layers_grain(size_t count, size_t least) {
    size_t grain = count / LAYERS_CHUNKS + (count % LAYERS_CHUNKS != 0);
    return grain < least ? least : grain;
}

/* Sums of pairs in a hash table. */
typedef struct layers_table {
    abuti_vector sums;  /* layers_sum */
    abuti_vector slots; /* uint32_t: index + 1 of a sum, or 0; the size is a power of two */
} layers_table;

typedef struct layers_chunk {
    abuti_vector corners;   /* raster_corner: the vertices of a solid */
    abuti_vector shapes;    /* raster_shape */
    abuti_vector places;    /* layers_place */
    abuti_vector fragments; /* layers_fragment: of one tile */
    abuti_vector sorted, begin, open;
    layers_table table;
    abuti_vector touches;
    uint64_t fragment_count;
    abut_status status;
} layers_chunk;

typedef struct layers_backend layers_backend;
typedef struct layers_device layers_device;

struct abut_layers {
    abut_context *context; /* retained */
    abut_layers_options options;
    abuti_vector solids; /* layers_solid */
    uint32_t first_free;
    abuti_vector meshes; /* layers_mesh */

    const layers_backend *backend;
    layers_device *device; /* null: on the CPU */
    uint64_t changes;      /* how often solids were added or removed */

    bool has_bounds; /* `bounds` is that of all solids at present */
    box3 bounds;

    /* Scratch memory of a query. */
    abuti_vector boxes;            /* box3 of each solid */
    abuti_vector near, near_begin; /* candidates of each solid: uint32_t, size_t */
    abuti_vector at;               /* layers_at: positions of solids in the view */
    abuti_vector windows;          /* raster_rect: by solid, then by tile */
    abuti_vector tile_begin, tile_places, busy;
    abuti_vector triangle_begin, drawn;
    abuti_vector keys, begin, measured, found;
    layers_chunk chunks[LAYERS_CHUNKS];
};

static inline layers_solid *layers_solids(const abut_layers *layers) {
    return layers->solids.data;
}
static inline layers_mesh *layers_mesh_of(const abut_layers *layers, const layers_solid *solid) {
    return (layers_mesh *)layers->meshes.data + solid->mesh;
}
static inline const vec3 *layers_positions(const abut_layers *layers, const layers_solid *solid) {
    return solid->positions ? solid->positions : layers_mesh_of(layers, solid)->mesh->positions;
}
static inline bool layers_may_collide(const layers_solid *a, const layers_solid *b) {
    return (a->is.group & b->is.mask) && (b->is.group & a->is.mask);
}

/* Sets the length of a list. Its elements are not preserved. */
static inline abut_status abuti_layers_resize(const abut_layers *layers, abuti_vector *list,
                                              size_t count, size_t bytes) {
    list->count = 0;
    abut_status status = abuti_vector_reserve(layers->context, list, count, bytes);
    list->count = status ? 0 : count;
    return status;
}

/* ---- candidates.c ---- */

/* The bounding box of a solid at its pose. */
box3 abuti_layers_bounds(const layers_solid *solid);
/* Lists for each solid, in `near` from `near_begin` on, the others that it may collide with and
 * whose `boxes` overlap its own. Solids with empty boxes have none. */
abut_status abuti_layers_sweep(abut_layers *layers);
/* The same for the bounding boxes of all solids. */
abut_status abuti_layers_find_candidates(abut_layers *layers);

/* ---- table.c ---- */

/* Finds the sum of a pair, or creates it. Returns null if memory is exhausted. */
layers_sum *abuti_layers_find_sum(abut_context *context, layers_table *table, uint32_t a,
                                  uint32_t b);
void abuti_layers_table_clear(layers_table *table);
void abuti_layers_add_sum(layers_sum *to, const layers_sum *from);
struct layers_output;
/* Appends the sums and touches of all chunks, as those of a view. */
abut_status abuti_layers_collect(abut_layers *layers, uint32_t view, struct layers_output *to);

/* ---- pass.c: one view ---- */

typedef struct layers_pass {
    abut_layers *layers;
    layers_view view;
    uint32_t number; /* index of the view */
    bool every_pixel, edges, hits, own;
    float *pixels; /* an image of `show` instead of sums; null = none */
    abut_layers_show show;

    uint64_t fragments;
} layers_pass;

/* The position of a solid in the view. */
typedef struct layers_at {
    raster_rect rect;
    uint32_t depth[2];
    layers_ball ball;
    uint32_t column, row, columns, rows; /* range of tiles */
    size_t windows;                      /* index of its first window */
    bool drawn;
    raster_rect hull; /* bounding rectangle of all its windows */
} layers_at;

/* A shape in a tile, from one chunk. */
typedef struct layers_place {
    uint32_t tile, chunk, shape;
} layers_place;

static inline layers_at *layers_ats(const layers_pass *pass) {
    return pass->layers->at.data;
}
/* The window of a solid in a tile that it extends into. */
static inline raster_rect *layers_window(const layers_pass *pass, const layers_at *at,
                                         uint32_t column, uint32_t row) {
    return (raster_rect *)pass->layers->windows.data + at->windows +
           (size_t)(row - at->row) * at->columns + (column - at->column);
}

/* Processes a view. Afterwards sums are in the tables of the chunks. */
abut_status abuti_layers_pass(layers_pass *pass);

/* Runs a step in parallel. Returns the first failure of its chunks. */
abut_status abuti_layers_run_step(layers_pass *pass, size_t count, size_t least,
                                  void (*body)(void *data, size_t chunk, size_t begin, size_t end));

/* Results of all views. */
typedef struct layers_output {
    const layers_sum *sums; /* in any order; a pair may have several for one view */
    size_t sum_count;
    abuti_vector more;    /* layers_sum: further sums, in memory that the back end does not own */
    abuti_vector touches; /* layers_touch, in any order */
} layers_output;

/* Where rays are traced: on the CPU (pass.c) or on a device (device.c). */
struct layers_backend {
    abut_status (*create)(abut_layers *layers);
    void (*destroy)(abut_layers *layers); /* also called if creation failed */
    /* Processes all views. */
    abut_status (*run)(abut_layers *layers, layers_pass *passes, uint32_t count,
                       layers_output *output);
};
extern const layers_backend abuti_layers_on_cpu, abuti_layers_on_device;

/* ---- draw.c: rasterisation of solids ---- */

/* Assigns the shapes of solids to tiles, and lists the tiles that have any. */
abut_status abuti_layers_draw(layers_pass *pass);
/* Rasterises the shapes of a tile into the list of the chunk. */
void abuti_layers_fill_tile(layers_pass *pass, layers_chunk *chunk, size_t tile, raster_rect in);

/* ---- pixel.c ---- */

typedef struct layers_fragment {
    uint64_t key; /* depth, solid, kind */
    uint32_t pixel;
    uint32_t part;
} layers_fragment;

/* Sorts and processes the crossings of one ray. A failure is stored in the chunk. */
void abuti_layers_trace_ray(const layers_pass *pass, layers_chunk *chunk, uint32_t x, uint32_t y,
                            layers_fragment *list, size_t count);

/* ---- layers.c ---- */

/* The BVH of a solid, created on first use. */
abut_status abuti_layers_bvh(abut_layers *layers, uint32_t id, const abut_bvh **bvh);
/* Whether the surface of a solid intersects itself. Also true if too many triangles overlap to
 * decide. */
abut_status abuti_layers_self_intersects(abut_layers *layers, uint32_t id, bool *cuts);

/* ---- measure.c ---- */

/* Sorts the sums of all views by pairs, and measures each pair: abut_layers_pair, sorted by a and
 * b. */
abut_status abuti_layers_measure_pairs(abut_layers *layers, const layers_pass *passes,
                                       const layers_output *output, abuti_vector *measured);

/* ---- query.c ---- */

/* Prepares a pass for a view, or for one that is fitted to all solids. */
abut_status abuti_layers_begin_pass(const char *function, abut_layers *layers,
                                    const abut_raster_view *view, const abut_layers_query *query,
                                    layers_pass *pass);

#endif
