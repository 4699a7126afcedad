/* Arguments and results of layers_draw.cl and layers_rays.cl. The layout is equal on both sides; on
 * a device ABUTI_REAL_BITS is 64. */
#ifndef ABUTI_LAYERS_DEVICE_SHARED_H
#define ABUTI_LAYERS_DEVICE_SHARED_H

#include "layers/layers_shared.h"

#define LAYERS_PROJECT_ITEMS 32 /* work-items of a group that projects one solid */
#define LAYERS_ITEMS 64         /* work-items of other groups */
#define LAYERS_CHUNK 64         /* triangles and work-items of a group that draws small triangles */
#define LAYERS_SMALL 64         /* pixels: larger shapes are drawn by work-groups, */
#define LAYERS_PARTS 32         /* at most this many per shape, */
#define LAYERS_PART_TILES 4     /* each with at least this many tiles */
#define LAYERS_RAYS 64          /* work-items of a group that traces rays */
#define LAYERS_STRIPS 4         /* work-groups per tile */
#define LAYERS_SHORT 64         /* maximum crossings of a ray that is traced on the device */
#define LAYERS_INSERTED 12      /* crossings that are sorted by insertion */
#define LAYERS_PIECES 192       /* overlaps of LAYERS_RAYS rays that fit into local memory */
#define LAYERS_OWN_PIECES 32    /* overlaps of one ray */
#define LAYERS_FIRSTS 256       /* slots for pairs: a power of two >= LAYERS_PIECES */
#define LAYERS_LAST 0xffff
#define LAYERS_OWNERS 8 /* sums that are added to the table at once */
#define LAYERS_NOTHING 0xffffffffu
#define LAYERS_PROBES 64 /* slots of a hash table that are tried */

/* A solid without its pose. */
typedef struct layers_body {
    box3 box;
    vec3 centre;
    double radius;
    vec3 origin; /* of its mesh */
    word32 group, mask;
    word32 used, inward;
    word32 first_vertex, first_triangle, triangle_count, unused;
} layers_body;

/* A solid in a view. */
typedef struct layers_projection {
    raster_frame frame;
    layers_ball ball;
    raster_rect rect;
    word32 depth[2];
    word32 column, row, columns, rows; /* range of tiles */
    word32 windows;                    /* index of its first window */
    word32 drawn;
} layers_projection;

/* A view in a list of views. */
typedef struct layers_listed_view {
    layers_view view;
    word32 first_tile, first_pixel; /* offsets in the arrays of all views */
} layers_listed_view;

/* A solid in a tile: a list node with the next one of that tile, and the window of the solid. */
typedef struct layers_node {
    word32 next, solid;
    word32 x0y0, x1y1; /* the window, 16 bits each; empty if x0 > x1 */
} layers_node;

#define LAYERS_NEAR_BYTES 64 /* size of a solid in local memory, see layers_windows */

/* A large shape and its view. */
typedef struct layers_large {
    raster_shape shape;
    word32 view;
    word32 part; /* index of the part and number of parts, 16 bits each */
} layers_large;

/* An overlap of two solids along a ray; a < b. */
typedef struct layers_piece {
    word32 a, b;
    word32 from, to, length, volume;
    word32 pixel;        /* x and y in the tile, 16 bits each */
    unsigned short what; /* flags LAYERS_IS_... */
    unsigned short next; /* next piece of the same pair, or LAYERS_LAST */
} layers_piece;

enum {
    LAYERS_IS_OVERLAP = 1,
    LAYERS_BEGINS_A = 2, /* at the surface of a */
    LAYERS_ENDS_A = 4,
    LAYERS_EDGE_A = 8, /* an edge of a inside b */
    LAYERS_EDGE_B = 16,
    LAYERS_IS_FIRST = 32 /* the first piece of its pixel */
};

/* A ray that the host traces: its pixel in the array of all views, and its crossings. */
typedef struct layers_long {
    word32 pixel, first, count, unused;
} layers_long;
typedef struct layers_crossing {
    word32 owner, depth, part, unused;
} layers_crossing;

/* Counters: lengths of lists, and others. */
enum {
    LAYERS_COUNT_NODES = 0,
    LAYERS_COUNT_FRAGMENTS,
    LAYERS_COUNT_LARGE,
    LAYERS_COUNT_SUMS, /* pairs of all views */
    LAYERS_COUNT_TOUCHES,
    LAYERS_COUNT_LONG,
    LAYERS_COUNT_CROSSINGS, /* of these rays */
    LAYERS_LISTS,
    LAYERS_COUNT_LOST = LAYERS_LISTS, /* sums for which the table had no slot */
    LAYERS_COUNTS
};

/* An edge inside a solid, before conversion to a hit. */
typedef struct layers_touch {
    word32 penetrating, penetrated, part, x, y, z, view;
} layers_touch;

/* Requested results of a query. */
enum { LAYERS_EVERY_PIXEL = 1, LAYERS_EDGES = 2, LAYERS_HITS = 4, LAYERS_OWN = 8 };

#endif
