/* All views of a query at once, first half: from solids to fragments.
 *
 *   layers_project        positions of solids in views, and lists of those that extend into each
 * tile layers_windows        windows where they may overlap others: a work-group per tile
 *   layers_triangles      triangles and edges of solids that have windows: draws small triangles
 * and edges, lists the others layers_large_parts    draws large triangles: a work-group for some
 * tiles layers_set_positions  not part of a query: new positions of a solid
 *
 * Fragments are linked lists, one per pixel, in the order of creation; layers_rays.cl sorts them.
 * Lists that are too short are still counted, and the host enlarges them and starts again. Results
 * are those of pass.c, computed by the same functions.
 */
#include "base/math_shared.h"

#if ABUTI_REAL_BITS == 64

#include "layers/device_shared.h"

static raster_rect window_rect(__global const layers_node *node, raster_rect tile) {
    raster_rect r;
    r.x0 = tile.x0 + (int)(node->x0y0 & 0xffff);
    r.y0 = tile.y0 + (int)(node->x0y0 >> 16);
    r.x1 = tile.x0 + (int)(node->x1y1 & 0xffff);
    r.y1 = tile.y0 + (int)(node->x1y1 >> 16);
    return r;
}

/* ---- positions of solids ---- */

__kernel void layers_project(__global const layers_listed_view *view_list,
                             __global const layers_body *bodies,
                             __global const raster_motion *motions, uint solids,
                             __global layers_projection *spots, __global uint *tiles,
                             __global layers_node *nodes, uint room, __global uint *counts) {
    const uint at = (uint)get_group_id(0), item = (uint)get_local_id(0);
    const uint view = at / solids, solid = at % solids;
    const layers_view v = view_list[view].view;
    __global layers_projection *spot = &spots[at];
    raster_rect rect;
    rect.x0 = rect.y0 = 0;
    rect.x1 = rect.y1 = -1;
    uint depths[2] = {0, 0};
    if (bodies[solid].used) {
        const raster_motion motion = motions[solid];
        rect = raster_bounds(&v.camera, &motion, bodies[solid].box, bodies[solid].centre,
                             bodies[solid].radius, depths);
        if (item == 0) {
            spot->frame = raster_frame_of(&v.camera, &motion, bodies[solid].origin);
            spot->ball = layers_ball_of(&v, &motion, bodies[solid].centre, bodies[solid].radius);
        }
    }
    const int empty = raster_rect_empty(rect);
    const uint column = empty ? 0 : (uint)rect.x0 / v.tile,
               row = empty ? 0 : (uint)rect.y0 / v.tile;
    const uint columns = empty ? 0 : (uint)rect.x1 / v.tile - column + 1;
    const uint rows = empty ? 0 : (uint)rect.y1 / v.tile - row + 1;
    if (item == 0) {
        spot->rect = rect;
        spot->depth[0] = depths[0];
        spot->depth[1] = depths[1];
        spot->column = column;
        spot->row = row;
        spot->columns = columns;
        spot->rows = rows;
        spot->drawn = 0;
        spot->windows = empty ? 0 : atomic_add(&counts[LAYERS_COUNT_NODES], columns * rows);
    }
    barrier(CLK_GLOBAL_MEM_FENCE);
    const uint first = spot->windows;
    for (uint k = item; k < columns * rows; k += LAYERS_PROJECT_ITEMS) {
        const uint node = first + k;
        if (node >= room)
            break;
        const uint tile = (row + k / columns) * v.columns + column + k % columns;
        nodes[node].solid = solid;
        nodes[node].next = atomic_xchg(&tiles[view_list[view].first_tile + tile], node);
    }
}

/* ---- windows ---- */

/* A solid in a tile. */
typedef struct near_solid {
    layers_ball ball;
    raster_rect rect; /* within the tile */
    uint depth[2];
    uint group, mask;
} near_solid;

static near_solid load_near_solid(__global const layers_projection *spot,
                                  __global const layers_body *body, raster_rect tile) {
    near_solid n;
    n.ball = spot->ball;
    n.rect = raster_rect_clip(spot->rect, tile);
    n.depth[0] = spot->depth[0];
    n.depth[1] = spot->depth[1];
    n.group = body->group;
    n.mask = body->mask;
    return n;
}

/* Extends a window by the pixels where a solid may overlap another one. */
static void grow_window(const layers_view *v, raster_rect *window, const near_solid *own,
                        __local const near_solid *other) {
    const uint near = max(own->depth[0], other->depth[0]),
               far = min(own->depth[1], other->depth[1]);
    if (near > far || !(own->group & other->mask) || !(other->group & own->mask))
        return;
    const layers_ball ball = other->ball;
    const raster_rect both = layers_common_pixels(v, &own->ball, &ball, near, far,
                                                  raster_rect_clip(own->rect, other->rect));
    if (!raster_rect_empty(both))
        layers_extend_window(window, both);
}

/* Processes the solids of a tile in groups of LAYERS_ITEMS: each work-item has one solid, and all
 * compare it with all others, which are loaded into local memory in turn. Tiles without windows are
 * emptied. */
__kernel void layers_windows(__global const layers_listed_view *view_list, uint views,
                             __global const layers_body *bodies, uint solids,
                             __global layers_projection *spots, __global uint *tiles,
                             __global layers_node *nodes, uint wanted, __local near_solid *others,
                             __local uint *shared) {
    const uint at = (uint)get_group_id(0), item = (uint)get_local_id(0);
    const uint head = tiles[at];
    if (head == LAYERS_NOTHING)
        return;
    uint view = 0;
    while (view + 1 < views && at >= view_list[view + 1].first_tile)
        view++;
    const layers_view v = view_list[view].view;
    const uint number = at - view_list[view].first_tile;
    const raster_rect tile =
        layers_tile(&v.camera.lens, v.tile, number % v.columns, number / v.columns);
    __global layers_projection *seen = spots + view * solids;
    if (item == 0)
        shared[0] = 0;
    for (uint first = head; first != LAYERS_NOTHING;) {
        uint mine = LAYERS_NOTHING, place = 0;
        for (; first != LAYERS_NOTHING && place < LAYERS_ITEMS; first = nodes[first].next, place++)
            if (place == item)
                mine = first;
        near_solid own;
        raster_rect window;
        window.x0 = window.y0 = 1;
        window.x1 = window.y1 = 0;
        if (mine != LAYERS_NOTHING) {
            const uint solid = nodes[mine].solid;
            own = load_near_solid(&seen[solid], &bodies[solid], tile);
            if (wanted & LAYERS_EVERY_PIXEL)
                window = own.rect;
        }
        for (uint next = head; next != LAYERS_NOTHING;) {
            uint other = LAYERS_NOTHING, count = 0;
            for (; next != LAYERS_NOTHING && count < LAYERS_ITEMS; next = nodes[next].next, count++)
                if (count == item)
                    other = next;
            barrier(CLK_LOCAL_MEM_FENCE);
            if (other != LAYERS_NOTHING)
                others[item] =
                    load_near_solid(&seen[nodes[other].solid], &bodies[nodes[other].solid], tile);
            barrier(CLK_LOCAL_MEM_FENCE);
            /* If both groups are the same part of the tile's list, the own solid is at `item`. */
            const int same = first == next;
            for (uint k = 0; k < count && mine != LAYERS_NOTHING; k++)
                if (!(same && k == item))
                    grow_window(&v, &window, &own, &others[k]);
        }
        if (mine != LAYERS_NOTHING) {
            const int none = window.x0 > window.x1;
            nodes[mine].x0y0 =
                none ? 1 : (uint)(window.x0 - tile.x0) | (uint)(window.y0 - tile.y0) << 16;
            nodes[mine].x1y1 =
                none ? 0 : (uint)(window.x1 - tile.x0) | (uint)(window.y1 - tile.y0) << 16;
            if (!none) {
                seen[nodes[mine].solid].drawn = 1;
                shared[0] = 1;
            }
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item == 0 && !shared[0])
        tiles[at] = LAYERS_NOTHING;
}

/* ---- fragments ---- */

/* State for writing fragments. */
typedef struct fragment_writer {
    __global const layers_projection *spot;
    __global const layers_node *nodes;
    __global uint *heads; /* of the view's pixels */
    __global uint4 *fragments;
    uint room;
    raster_lens lens;
    uint tile, columns; /* of the view */
    uint at;            /* index of the next fragment */
    uint count;         /* number of fragments */
    int writes;         /* 0: only counts */
} fragment_writer;

static void init_writer(fragment_writer *p, __global const layers_listed_view *listed_view,
                        __global const layers_projection *spot, __global const layers_node *nodes,
                        __global uint *heads, __global uint4 *fragments, uint room) {
    p->spot = spot;
    p->nodes = nodes;
    p->heads = heads + listed_view->first_pixel;
    p->fragments = fragments;
    p->room = room;
    p->lens = listed_view->view.camera.lens;
    p->tile = listed_view->view.tile;
    p->columns = listed_view->view.columns;
    p->count = 0;
    p->writes = 0;
}

static void write_fragment(fragment_writer *p, const raster_shape *s, int x, int y) {
    if (!p->writes) {
        p->count++;
        return;
    }
    const uint at = p->at++;
    if (at >= p->room)
        return;
    uint4 f;
    f.x = s->owner;
    f.y = raster_depth_at(s, x, y);
    f.w = s->part;
    f.z = atomic_xchg(&p->heads[(uint)y * p->lens.width + (uint)x], at);
    p->fragments[at] = f;
}

#include "layers/draw_shared.h"

static raster_rect box_of_shape(const fragment_writer *p, const raster_shape *s) {
    return raster_rect_clip(layers_rect_of(&p->lens, s), p->spot->rect);
}

/* The window of the solid in a tile. */
static __global const layers_node *node_of(const fragment_writer *p, uint column, uint row) {
    return &p->nodes[p->spot->windows + (row - p->spot->row) * p->spot->columns + column -
                     p->spot->column];
}

static void fill_small(fragment_writer *p, const raster_shape *s, raster_rect r) {
    const uint side = p->tile;
    for (uint row = (uint)r.y0 / side; row <= (uint)r.y1 / side; row++)
        for (uint column = (uint)r.x0 / side; column <= (uint)r.x1 / side; column++) {
            const raster_rect tile = layers_tile(&p->lens, side, column, row);
            const raster_rect in = raster_rect_clip(window_rect(node_of(p, column, row), tile), r);
            if (!raster_rect_empty(in))
                layers_fill(p, &p->lens, s, in);
        }
}

static int is_small(raster_rect r) {
    return (long)(r.x1 - r.x0 + 1) * (r.y1 - r.y0 + 1) <= LAYERS_SMALL;
}

/* Draws a shape, or appends it to the list of large shapes in the first pass. */
static void draw_shape(fragment_writer *p, const raster_shape *s, __global layers_large *large,
                       uint large_room, __global uint *counts, uint view) {
    const raster_rect r = box_of_shape(p, s);
    if (is_small(r)) {
        fill_small(p, s, r);
    } else if (!p->writes) {
        /* In parts of some tiles each. */
        const uint side = p->tile;
        const uint tiles = ((uint)r.x1 / side - (uint)r.x0 / side + 1) *
                           ((uint)r.y1 / side - (uint)r.y0 / side + 1);
        const uint parts = clamp(tiles / LAYERS_PART_TILES, 1u, (uint)LAYERS_PARTS);
        const uint at = atomic_add(&counts[LAYERS_COUNT_LARGE], parts);
        for (uint k = 0; k < parts && at + k < large_room; k++) {
            large[at + k].shape = *s;
            large[at + k].view = view;
            large[at + k].part = k | parts << 16;
        }
    }
}

/* Reserves the fragments of the work-items of a group. */
static void begin_writing(fragment_writer *p, __local uint *room, __global uint *counts) {
    const uint item = (uint)get_local_id(0);
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item == 0)
        room[0] = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint before = p->count ? atomic_add(&room[0], p->count) : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (item == 0)
        room[1] = room[0] ? atomic_add(&counts[LAYERS_COUNT_FRAGMENTS], room[0]) : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    p->at = room[1] + before;
    p->writes = 1;
}

/* Draws small triangles and edges, and lists large triangles: a work-item per triangle. */
__kernel void layers_triangles(
    __global const layers_listed_view *view_list, __global const layers_body *bodies, uint solids,
    __global const double *vertices, __global const uint *indices, __global const uint2 *chunks,
    uint chunk_count, __global const layers_projection *spots, __global const layers_node *nodes,
    __global uint *heads, __global uint4 *fragments, uint room, __global layers_large *large,
    uint large_room, __global uint *counts, uint wanted, __local uint *shared) {
    const uint at = (uint)get_group_id(0);
    const uint view = at / chunk_count, solid = chunks[at % chunk_count].x;
    const uint t = chunks[at % chunk_count].y + (uint)get_local_id(0);
    __global const layers_projection *spot = &spots[view * solids + solid];
    if (!spot->drawn)
        return;
    fragment_writer p;
    init_writer(&p, &view_list[view], spot, nodes, heads, fragments, room);
    raster_shape shapes[LAYERS_SHAPES];
    int made = 0;
    if (t < bodies[solid].triangle_count) {
        __global const uint *corner = indices + 3 * (size_t)(bodies[solid].first_triangle + t);
        const raster_frame frame = spot->frame;
        raster_corner corners[3];
        const raster_corner *const three[3] = {&corners[0], &corners[1], &corners[2]};
        vec3 place[3];
        for (int k = 0; k < 3; k++) {
            __global const double *from =
                vertices + 3 * (size_t)(bodies[solid].first_vertex + corner[k]);
            place[k] = v3(from[0], from[1], from[2]);
            corners[k] = raster_corner_of(&p.lens, &frame, place[k]);
        }
        made = layers_shapes(&p.lens, three, place, solid, t, bodies[solid].inward,
                             (wanted & LAYERS_EDGES) != 0, spot->rect, shapes);
    }
    for (int pass = 0; pass < 2; pass++) { /* counts, then writes */
        for (int k = 0; k < made; k++)
            draw_shape(&p, &shapes[k], large, large_room, counts, view);
        if (!pass)
            begin_writing(&p, shared, counts);
    }
}

/* ---- large shapes ---- */

/* Draws the part of a shape in a rectangle with all work-items of a group. */
static void fill_by_group(fragment_writer *p, const raster_shape *s, raster_rect r) {
    const uint item = (uint)get_local_id(0);
    const int wide = r.x1 - r.x0 + 1, all = wide * (r.y1 - r.y0 + 1);
    if ((s->owner & 3) == RASTER_EDGE) { /* few pixels */
        if (item == 0)
            layers_fill(p, &p->lens, s, r);
        return;
    }
    const raster_side a = raster_side_of(&p->lens, s, 0), b = raster_side_of(&p->lens, s, 1),
                      c = raster_side_of(&p->lens, s, 2);
    for (int k = (int)item; k < all; k += LAYERS_ITEMS) {
        const long x = r.x0 + k % wide, y = r.y0 + k / wide;
        if (((a.at + a.dx * x + a.dy * y) | (b.at + b.dx * x + b.dy * y) |
             (c.at + c.dx * x + c.dy * y)) >= 0)
            write_fragment(p, s, (int)x, (int)y);
    }
}

/* Draws one part of a shape per work-group: every n-th tile of it. */
__kernel void layers_large_parts(__global const layers_listed_view *view_list, uint solids,
                                 __global const layers_projection *spots,
                                 __global const layers_node *nodes,
                                 __global const layers_large *large, uint large_room,
                                 __global uint *heads, __global uint4 *fragments, uint room,
                                 __global uint *counts, __local uint *shared) {
    const uint count = min(counts[LAYERS_COUNT_LARGE], large_room);
    for (uint i = (uint)get_group_id(0); i < count; i += (uint)get_num_groups(0)) {
        const uint view = large[i].view, part = large[i].part & 0xffff, parts = large[i].part >> 16;
        const raster_shape shape = large[i].shape;
        fragment_writer p;
        init_writer(&p, &view_list[view], &spots[view * solids + (shape.owner >> 2)], nodes, heads,
                    fragments, room);
        const raster_rect box = box_of_shape(&p, &shape);
        const uint x0 = (uint)box.x0 / p.tile, x1 = (uint)box.x1 / p.tile;
        const uint y0 = (uint)box.y0 / p.tile, y1 = (uint)box.y1 / p.tile;
        const uint across = x1 - x0 + 1, tiles = across * (y1 - y0 + 1);
        for (int pass = 0; pass < 2; pass++) { /* counts, then writes */
            for (uint k = part; k < tiles; k += parts) {
                const uint column = x0 + k % across, row = y0 + k / across;
                const raster_rect in =
                    raster_rect_clip(window_rect(node_of(&p, column, row),
                                                 layers_tile(&p.lens, p.tile, column, row)),
                                     box);
                if (!raster_rect_empty(in))
                    fill_by_group(&p, &shape, in);
            }
            if (!pass)
                begin_writing(&p, shared, counts);
        }
    }
}

#endif
