/* What the files of layers share. */
#ifndef ABUTI_LAYERS_H
#define ABUTI_LAYERS_H

#include "base/sort.h"
#include "layers/device_shared.h"
#include "raster/raster.h"

#include <abut/bvh.h>
#include <abut/layers.h>

/* A box and a ball around the vertices of a mesh, where it is before its pose. */
typedef struct layers_hull {
    box3 box;
    vec3 centre;
    double radius;
} layers_hull;

/* Whether a surface cuts itself. */
typedef enum layers_itself { LAYERS_UNASKED = 0, LAYERS_CLEAR, LAYERS_CUTS } layers_itself;

/* A mesh that one or more items have, made fit: without holes, facing outwards or known not to. */
typedef struct layers_mesh {
    uint32_t users;          /* 0 = free */
    const abut_mesh *source; /* by which it is found again */
    abut_mesh *mesh;         /* held: the source, or a copy with caps */
    uint32_t cap_count;      /* vertices behind those of the source: means of `cap` */
    uint32_t *cap_begin, *cap;
    bool inward;
    abut_reliability reliability;
    layers_hull hull;
    abut_bvh *bvh; /* when first wanted */
    layers_itself itself;
} layers_mesh;

typedef struct layers_solid {
    bool used;
    uint32_t next; /* free one, where not used */
    uint32_t mesh; /* in `meshes` */
    abut_layers_item is;
    raster_motion motion;
    vec3 *positions; /* of its own, relative to the origin of the mesh; null = those of the mesh */
    bool there;      /* the device alone has them as they are; see abuti_layers_fetch() */
    layers_hull hull;
    uint64_t bends; /* times that its positions changed */
    abut_bvh *bvh;  /* where it has positions of its own */
    layers_itself itself;
} layers_solid;

/* Work is cut into at most so many chunks, each with lists of its own. */
enum { LAYERS_CHUNKS = 256 };
static inline size_t layers_grain(size_t count, size_t least) {
    size_t grain = count / LAYERS_CHUNKS + (count % LAYERS_CHUNKS != 0);
    return grain < least ? least : grain;
}

/* Sums of pairs by a hash table. */
typedef struct layers_table {
    abuti_vector sums;  /* layers_sum */
    abuti_vector slots; /* uint32_t: number + 1 of a sum, or 0; a power of two */
} layers_table;

typedef struct layers_chunk {
    abuti_vector shapes;    /* raster_shape */
    abuti_vector points;    /* layers_point: of a solid */
    abuti_vector drawn;     /* layers_fragment: of all tiles, see layers_place */
    abuti_vector places;    /* layers_place */
    abuti_vector fragments; /* layers_fragment: of a tile */
    abuti_vector sorted, keys, begin, open;
    layers_table table;
    abuti_vector touches;
    uint64_t fragment_count;
    abut_status status;
} layers_chunk;

typedef struct layers_backend layers_backend;
typedef struct layers_device layers_device;

struct abut_layers {
    abut_context *context; /* held */
    abut_layers_options options;
    abuti_vector solids; /* layers_solid */
    uint32_t first_free;
    abuti_vector meshes;     /* layers_mesh */
    abuti_vector mesh_slots; /* uint32_t: a hash table of these, layers.c */
    bool has_mesh_slots;
    uint32_t first_free_mesh;

    const layers_backend *backend;
    layers_device *device; /* null: the CPU */
    uint64_t changes;      /* times that solids came or went */

    bool has_bounds; /* of all solids as they are */
    box3 bounds;

    /* Scratch of a query. */
    abuti_vector at;      /* layers_at: where solids are in the view */
    abuti_vector windows; /* layers_window: solid by solid, tile by tile */
    abuti_vector tile_begin, tile_solids, tile_places, busy;
    abuti_vector points, point_begin, triangle_begin, drawn;
    abuti_vector keys, begin, measured, found; /* of find.c */
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
static inline bool layers_tries(const layers_solid *a, const layers_solid *b) {
    return (a->is.group & b->is.mask) && (b->is.group & a->is.mask);
}

/* ---- table.c ---- */

/* The sums of a pair, made where there are none. Null: no memory. */
layers_sum *abuti_layers_sum(abut_context *context, layers_table *table, uint32_t a, uint32_t b);
void abuti_layers_table_clear(layers_table *table);
void abuti_layers_add_sum(layers_sum *to, const layers_sum *from);
/* Adds the sums of all chunks to a list, as those of a view. */
abut_status abuti_layers_gather(abut_layers *layers, uint32_t view, abuti_vector *to);

/* ---- pass.c: one view ---- */

typedef struct layers_pass {
    abut_layers *layers;
    layers_view view;
    uint32_t number; /* of the view */
    bool fitted;     /* it is a parallel view of all solids */
    bool every_pixel, edges, hits, own;
    bool boxes;    /* pairs whose boxes overlap, instead of sums */
    float *pixels; /* an image of `show` instead of sums; null = none */
    abut_layers_show show;

    uint64_t fragments;
} layers_pass;

/* Where a solid is in the view. */
typedef struct layers_at {
    raster_rect rect;
    uint32_t depth[2];
    layers_ball ball;
    uint32_t column, row, columns, rows; /* of tiles */
    size_t windows;                      /* its first one */
    bool drawn;
    raster_rect hull; /* of all its windows */
} layers_at;

/* Pixels of a tile, both ends included; empty where x0 > x1. */
typedef struct layers_window {
    uint16_t x0, y0, x1, y1;
} layers_window;

/* A vertex: on the image, with its steps, where no triangle is cut, and else before that. */
typedef struct layers_point {
    raster_point p;
    int x, y;
} layers_point;

/* What a chunk has for a tile: fragments that are drawn already, or where `count` is 0 a shape. */
typedef struct layers_place {
    uint32_t tile, chunk;
    uint32_t first, count;
} layers_place;

static inline layers_at *layers_ats(const layers_pass *pass) {
    return pass->layers->at.data;
}
static inline layers_window *layers_windows(const layers_pass *pass) {
    return pass->layers->windows.data;
}

/* Goes through a view: sums are in the tables of the chunks then. */
abut_status abuti_layers_pass(layers_pass *pass);

/* Sets the length of a list whose elements are not kept. */
abut_status abuti_layers_reserve(layers_pass *pass, abuti_vector *list, size_t count, size_t bytes);
/* The window of a solid in a tile that it reaches into. */
layers_window *abuti_layers_window(const layers_pass *pass, uint32_t solid, size_t tile);
/* Runs a step, and gives the first failure of its chunks. */
abut_status abuti_layers_step(layers_pass *pass, size_t count, size_t least,
                              void (*body)(void *data, size_t chunk, size_t begin, size_t end));

/* What all views told. */
typedef struct layers_answer {
    const layers_sum *sums; /* in any order; of a pair and view there may be several */
    size_t sum_count;
    abuti_vector more;    /* layers_sum: others, in memory that is not the back end's */
    abuti_vector touches; /* layers_touch, in any order */
} layers_answer;

/* Where rays are traced: on the CPU (pass.c) or on a device (device.c). */
struct layers_backend {
    abut_status (*create)(abut_layers *layers);
    void (*destroy)(abut_layers *layers); /* also where creating failed */
    /* Goes through all views. */
    abut_status (*run)(abut_layers *layers, layers_pass *passes, uint32_t count,
                       layers_answer *answer);
    /* Of a device: gives a solid the positions in a buffer; *done is false, and nothing has
     * changed, where it has no place of its own there yet. Nothing has with ABUT_ERROR_ARGUMENT
     * either. */
    abut_status (*bend)(abut_layers *layers, uint32_t id, abut_buffer *positions, bool *done);
    /* Brings the positions of a solid to the host. */
    abut_status (*fetch)(abut_layers *layers, uint32_t id);
};
extern const layers_backend abuti_layers_on_cpu, abuti_layers_on_device;

/* ---- draw.c: from solids to fragments ---- */

/* Draws solids: places of tiles, and lists the busy ones. */
abut_status abuti_layers_draw(layers_pass *pass);
/* The fragments of a tile that were not drawn before, in lists of the chunk. */
void abuti_layers_fill(layers_pass *pass, layers_chunk *chunk, size_t tile, raster_rect in);

/* ---- pixel.c ---- */

typedef struct layers_fragment {
    uint64_t key; /* depth, solid, kind */
    uint32_t pixel;
    uint32_t part;
} layers_fragment;

/* Sorts the crossings of a ray; a failure goes to the chunk. (pass.c) */
void abuti_layers_sort(const layers_pass *pass, layers_chunk *chunk, layers_fragment *list,
                       size_t count);
/* The sorted crossings of one ray. */
void abuti_layers_ray(const layers_pass *pass, layers_chunk *chunk, uint32_t x, uint32_t y,
                      const layers_fragment *list, size_t count);

/* ---- layers.c ---- */

/* Sees to it that the host has the positions of all solids. */
abut_status abuti_layers_fetch(abut_layers *layers);
/* The box and the ball of positions in this box, the farthest of which is that far from its centre,
 * squared; they are relative to an origin. */
layers_hull abuti_layers_hull(box3 box, double farthest_sq, vec3 origin);
/* The hierarchy of a solid, made when first wanted. */
abut_status abuti_layers_bvh(abut_layers *layers, uint32_t id, const abut_bvh **bvh);
/* Whether the surface of a solid cuts itself, or so much of it overlaps that this is not known. */
abut_status abuti_layers_cuts_itself(abut_layers *layers, uint32_t id, bool *cuts);

/* ---- measure.c ---- */

/* Sorts the sums of an answer by pairs, in memory of the layers. */
abut_status abuti_layers_sort_sums(abut_layers *layers, const layers_answer *answer,
                                   const sort_key **sorted);
/* Sorts the sums of all views by pairs, and measures these: abut_layers_pair, by a and b. */
abut_status abuti_layers_measure(abut_layers *layers, const layers_pass *passes,
                                 uint32_t view_count, const layers_answer *answer,
                                 abuti_vector *measured);

/* ---- find.c ---- */

/* Sets the size of the tiles of a view, in pixels. */
void abuti_layers_set_tile(layers_view *view, uint32_t tile);
/* Makes ready to go through a view, or the one that is fitted to all solids. */
abut_status abuti_layers_begin(const char *function, abut_layers *layers,
                               const abut_raster_view *view, const abut_layers_query *query,
                               layers_pass *pass);

#endif
