/* What the host tells layers_draw.cl and layers_rays.cl, and what comes back. The same layout on
 * both sides; on a device ABUTI_REAL_BITS is 64. */
#ifndef ABUTI_LAYERS_DEVICE_SHARED_H
#define ABUTI_LAYERS_DEVICE_SHARED_H

#include "layers/layers_shared.h"

#define LAYERS_SPOT_ITEMS 32 /* of a work-group a solid and view */
#define LAYERS_ITEMS 64      /* of other work-groups */
#define LAYERS_CHUNK 64      /* triangles and items of a work-group that draws small ones */
#define LAYERS_SMALL 64      /* pixels: what has more in its box is drawn by work-groups, */
#define LAYERS_PARTS 32      /* so many a shape at most, */
#define LAYERS_PART_TILES 4  /* and of so many tiles at least */
#define LAYERS_RAYS 64       /* items of a work-group that traces rays */
#define LAYERS_STRIPS 4      /* work-groups of a tile */
#define LAYERS_SHORT 64      /* crossings of a ray that is traced there */
#define LAYERS_INSERTED 12   /* that are sorted one by one */
#define LAYERS_PIECES 192    /* overlaps of LAYERS_RAYS rays that are added up there */
#define LAYERS_OWN_PIECES 32 /* of one ray */
#define LAYERS_FIRSTS 256    /* a power of two, no less than that */
#define LAYERS_LAST 0xffff
#define LAYERS_OWNERS 8 /* sums that go to the table at once */
#define LAYERS_NOTHING 0xffffffffu
#define LAYERS_PROBES 64       /* slots of a hash table that are tried */
#define LAYERS_BEND_GROUPS 128 /* work-groups that look at positions */

/* A solid but for its pose. */
typedef struct layers_body {
    box3 box;
    vec3 centre;
    double radius;
    vec3 origin; /* of its mesh */
    word32 group, mask;
    word32 used, inward;
    word32 first_vertex, first_triangle, triangle_count, unused;
} layers_body;

/* What a work-group found of new positions, relative to the origin of the mesh. */
typedef struct layers_bent {
    box3 box;
    double farthest; /* from a centre, squared */
    word32 bad;      /* the first that is not finite or too large, or LAYERS_NOTHING */
    word32 unused;
} layers_bent;

/* A solid in a view. */
typedef struct layers_spot {
    raster_frame frame;
    layers_ball ball;
    raster_rect rect;
    word32 depth[2];
    word32 column, row, columns, rows; /* of tiles */
    word32 windows;                    /* its first one */
    word32 drawn;
} layers_spot;

/* A view among others. */
typedef struct layers_sight {
    layers_view view;
    word32 first_tile, first_pixel; /* among those of all views */
} layers_sight;

/* A solid in a tile: the next one of that tile, and where both are drawn. */
typedef struct layers_node {
    word32 next, solid;
    word32 x0y0, x1y1; /* the window, 16 bits each; empty where x0 > x1 */
} layers_node;

#define LAYERS_NEAR_BYTES 64 /* of a solid in local memory, see layers_windows */

/* A large shape, and in which view. */
typedef struct layers_large {
    raster_shape shape;
    word32 view;
    word32 part; /* and how many parts there are, 16 bits each */
} layers_large;

/* Where and how much two solids overlap along a ray; a < b. */
typedef struct layers_piece {
    word32 a, b;
    word32 from, to, length, volume;
    word32 pixel;        /* x and y in the tile, 16 bits each */
    unsigned short what; /* a sum of LAYERS_IS_... */
    unsigned short next; /* piece of the same pair, or LAYERS_LAST */
} layers_piece;

enum {
    LAYERS_IS_OVERLAP = 1,
    LAYERS_BEGINS_A = 2, /* with the surface of a */
    LAYERS_ENDS_A = 4,
    LAYERS_EDGE_A = 8, /* of a, inside b */
    LAYERS_EDGE_B = 16,
    LAYERS_IS_FIRST = 32 /* of its pixel */
};

/* A ray that is left to the host: its pixel among those of all views, and its crossings. */
typedef struct layers_long {
    word32 pixel, first, count, unused;
} layers_long;
typedef struct layers_crossing {
    word32 owner, depth, part, unused;
} layers_crossing;

/* What is counted: lists, and what else there is. */
enum {
    LAYERS_COUNT_NODES = 0,
    LAYERS_COUNT_FRAGMENTS,
    LAYERS_COUNT_LARGE,
    LAYERS_COUNT_SUMS, /* pairs of all views */
    LAYERS_COUNT_TOUCHES,
    LAYERS_COUNT_LONG,
    LAYERS_COUNT_CROSSINGS, /* of these */
    LAYERS_LISTS,
    LAYERS_COUNT_LOST = LAYERS_LISTS, /* sums for which a table had no slot */
    LAYERS_COUNTS
};

/* A hit as it is found. */
typedef struct layers_touch {
    word32 penetrating, penetrated, part, x, y, z, view;
} layers_touch;

/* What is wanted of a query. */
enum { LAYERS_EVERY_PIXEL = 1, LAYERS_EDGES = 2, LAYERS_HITS = 4, LAYERS_OWN = 8 };

#endif
