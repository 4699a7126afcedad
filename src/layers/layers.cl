/* All views of a query at once: from solids to sums of pairs.
 *
 * layers_spots    where solids are in views, and lists of those that reach into each tile
 * layers_windows  which of them come near others there: a work-group a tile
 * layers_small    triangles of solids that have windows: fragments of small ones, the others go
 *                 into a list
 * layers_places   the tiles of these, and
 * layers_large    their fragments: a work-group a tile
 * layers_rays     sorts the fragments of each pixel, traces the ray, and adds up what the rays of
 *                 some rows of a tile tell of each pair: a work-group a tile
 *
 * Fragments are lists, one a pixel, in the order in which they came; sorted they are always the
 * same, and all sums are of whole numbers. Lists that are too short are counted all the same, and
 * the host makes them longer and does it all again. Rays with more than LAYERS_SHORT crossings, or
 * rows with more than LAYERS_PIECES overlaps, are left to the host. What is computed is that of
 * pass.c and pixel.c, by the same functions.
 */
#include "base/math_shared.h"

#if ABUTI_REAL_BITS == 64

#include "layers/device_shared.h"

static int may_meet(__global const layers_body *a, __global const layers_body *b) {
    return (a->group & b->mask) && (b->group & a->mask);
}

static raster_rect tile_rect(const layers_view *v, uint tile) {
    raster_rect r, image;
    r.x0 = (int)(tile % v->columns * v->tile);
    r.y0 = (int)(tile / v->columns * v->tile);
    r.x1 = r.x0 + (int)v->tile - 1;
    r.y1 = r.y0 + (int)v->tile - 1;
    image.x0 = image.y0 = 0;
    image.x1 = (int)v->camera.lens.width - 1;
    image.y1 = (int)v->camera.lens.height - 1;
    return raster_rect_cut(r, image);
}

static raster_rect window_rect(__global const layers_node *node, raster_rect tile) {
    raster_rect r;
    r.x0 = tile.x0 + (int)(node->x0y0 & 0xffff);
    r.y0 = tile.y0 + (int)(node->x0y0 >> 16);
    r.x1 = tile.x0 + (int)(node->x1y1 & 0xffff);
    r.y1 = tile.y0 + (int)(node->x1y1 >> 16);
    return r;
}

/* ---- where solids are ---- */

__kernel void layers_spots(__global const layers_sight *sights, __global const layers_body *bodies,
                           __global const raster_motion *motions, uint solids,
                           __global layers_spot *spots, __global uint *tiles,
                           __global layers_node *nodes, uint room, __global uint *counts) {
    const uint at = (uint)get_group_id(0), item = (uint)get_local_id(0);
    const uint view = at / solids, solid = at % solids;
    const layers_view v = sights[view].view;
    __global layers_spot *spot = &spots[at];
    raster_rect rect;
    rect.x0 = rect.y0 = 0;
    rect.x1 = rect.y1 = -1;
    uint depths[2] = {0, 0};
    if (bodies[solid].used) {
        const raster_motion motion = motions[solid];
        rect = raster_bounds(&v.camera, &motion, bodies[solid].box, bodies[solid].centre,
                             bodies[solid].radius, depths);
        if (item == 0)
            spot->frame = raster_frame_of(&v.camera, &motion, bodies[solid].origin);
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
    for (uint k = item; k < columns * rows; k += LAYERS_SPOT_ITEMS) {
        const uint node = first + k;
        if (node >= room)
            break;
        const uint tile = (row + k / columns) * v.columns + column + k % columns;
        nodes[node].solid = solid;
        nodes[node].next = atomic_xchg(&tiles[sights[view].first_tile + tile], node);
    }
}

/* ---- windows ---- */

/* The window of a solid in a tile: what it shares with others that are as deep. */
static void find_window(__global const layers_spot *spots, __global const layers_body *bodies,
                        __global layers_node *nodes, uint node, uint head, raster_rect tile,
                        int every) {
    __global const layers_spot *own = &spots[nodes[node].solid];
    const raster_rect rect = raster_rect_cut(own->rect, tile);
    raster_rect window;
    window.x0 = window.y0 = 1;
    window.x1 = window.y1 = 0;
    if (every)
        window = rect;
    for (uint n = head; !every && n != LAYERS_NOTHING; n = nodes[n].next) {
        __global const layers_spot *other = &spots[nodes[n].solid];
        if (n == node || other->depth[0] > own->depth[1] || own->depth[0] > other->depth[1])
            continue;
        const raster_rect both = raster_rect_cut(rect, other->rect);
        if (raster_rect_empty(both) ||
            !may_meet(&bodies[nodes[node].solid], &bodies[nodes[n].solid]))
            continue;
        if (window.x0 > window.x1)
            window = both;
        window.x0 = min(window.x0, both.x0);
        window.y0 = min(window.y0, both.y0);
        window.x1 = max(window.x1, both.x1);
        window.y1 = max(window.y1, both.y1);
    }
    const int none = window.x0 > window.x1;
    nodes[node].x0y0 = none ? 1 : (uint)(window.x0 - tile.x0) | (uint)(window.y0 - tile.y0) << 16;
    nodes[node].x1y1 = none ? 0 : (uint)(window.x1 - tile.x0) | (uint)(window.y1 - tile.y0) << 16;
}

__kernel void layers_windows(__global const layers_sight *sights, uint views,
                             __global const layers_body *bodies, uint solids,
                             __global layers_spot *spots, __global const uint *tiles,
                             __global layers_node *nodes, uint wanted) {
    const uint at = (uint)get_group_id(0), item = (uint)get_local_id(0);
    uint view = 0;
    while (view + 1 < views && at >= sights[view + 1].first_tile)
        view++;
    const layers_view v = sights[view].view;
    const raster_rect tile = tile_rect(&v, at - sights[view].first_tile);
    const uint head = tiles[at];
    __global layers_spot *seen = spots + view * solids;
    uint place = 0;
    for (uint n = head; n != LAYERS_NOTHING; n = nodes[n].next, place++)
        if (place % LAYERS_ITEMS == item) {
            find_window(seen, bodies, nodes, n, head, tile, (wanted & LAYERS_EVERY_PIXEL) != 0);
            if ((nodes[n].x0y0 & 0xffff) <= (nodes[n].x1y1 & 0xffff))
                atomic_xchg(&seen[nodes[n].solid].drawn, 1u);
        }
}

/* ---- fragments ---- */

/* What drawing needs to know. */
typedef struct pen {
    __global const layers_spot *spot;
    __global const layers_node *nodes;
    __global uint *heads; /* of the view's pixels */
    __global uint4 *fragments;
    uint room;
    layers_view view;
    uint at;    /* the next fragment */
    uint count; /* of fragments */
    int writes; /* or counts only */
} pen;

static void put_fragment(pen *p, const raster_shape *s, int x, int y) {
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
    f.z = atomic_xchg(&p->heads[(uint)y * p->view.camera.lens.width + (uint)x], at);
    p->fragments[at] = f;
}

/* The part of a shape in a rectangle. */
static void fill_part(pen *p, const raster_shape *s, raster_rect r) {
    const raster_lens *lens = &p->view.camera.lens;
    if ((s->owner & 3) == RASTER_EDGE) {
        raster_line line = raster_line_of(lens, s);
        int lo = max(line.first, line.wide ? r.x0 : r.y0);
        int hi = min(line.last, line.wide ? r.x1 : r.y1);
        for (int i = lo; i <= hi; i++) {
            int x, y;
            raster_line_at(&line, i, &x, &y);
            if (x >= r.x0 && x <= r.x1 && y >= r.y0 && y <= r.y1)
                put_fragment(p, s, x, y);
        }
        return;
    }
    const raster_side a = raster_side_of(lens, s, 0), b = raster_side_of(lens, s, 1),
                      c = raster_side_of(lens, s, 2);
    for (int y = r.y0; y <= r.y1; y++) {
        long ea = a.at + a.dx * r.x0 + a.dy * y, eb = b.at + b.dx * r.x0 + b.dy * y,
             ec = c.at + c.dx * r.x0 + c.dy * y;
        for (int x = r.x0; x <= r.x1; x++, ea += a.dx, eb += b.dx, ec += c.dx)
            if ((ea | eb | ec) >= 0)
                put_fragment(p, s, x, y);
    }
}

static raster_rect box_of_shape(const pen *p, const raster_shape *s) {
    return raster_rect_cut(raster_rect_of(&p->view.camera.lens, s, (s->owner & 3) == RASTER_EDGE),
                           p->spot->rect);
}

/* The window of the solid in a tile. */
static __global const layers_node *node_of(const pen *p, uint column, uint row) {
    return &p->nodes[p->spot->windows + (row - p->spot->row) * p->spot->columns + column -
                     p->spot->column];
}

static void fill_small(pen *p, const raster_shape *s, raster_rect r) {
    const uint side = p->view.tile;
    for (uint row = (uint)r.y0 / side; row <= (uint)r.y1 / side; row++)
        for (uint column = (uint)r.x0 / side; column <= (uint)r.x1 / side; column++) {
            const raster_rect tile = tile_rect(&p->view, row * p->view.columns + column);
            const raster_rect in = raster_rect_cut(window_rect(node_of(p, column, row), tile), r);
            if (!raster_rect_empty(in))
                fill_part(p, s, in);
        }
}

/* Draws a shape, or hands it on where it is large: the first time. */
static void draw(pen *p, const raster_shape *s, __global layers_large *large, uint large_room,
                 __global uint *counts, uint view) {
    const raster_rect r = box_of_shape(p, s);
    if (raster_rect_empty(r))
        return;
    if ((long)(r.x1 - r.x0 + 1) * (r.y1 - r.y0 + 1) <= LAYERS_SMALL) {
        fill_small(p, s, r);
    } else if (!p->writes) {
        const uint at = atomic_inc(&counts[LAYERS_COUNT_LARGE]);
        if (at < large_room) {
            large[at].shape = *s;
            large[at].view = view;
        }
    }
}

/* Room for the fragments of the items of a group. */
static void begin_writing(pen *p, __local uint *room, __global uint *counts) {
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

static int comes_first(vec3 a, vec3 b) {
    return a.x != b.x ? a.x < b.x : a.y != b.y ? a.y < b.y : a.z < b.z;
}

__kernel void layers_small(__global const layers_sight *sights, __global const layers_body *bodies,
                           uint solids, __global const double *vertices,
                           __global const uint *indices, __global const uint2 *chunks,
                           uint chunk_count, __global const layers_spot *spots,
                           __global const layers_node *nodes, __global uint *heads,
                           __global uint4 *fragments, uint room, __global layers_large *large,
                           uint large_room, __global uint *counts, uint wanted,
                           __local uint *shared) {
    const uint at = (uint)get_group_id(0);
    const uint view = at / chunk_count, solid = chunks[at % chunk_count].x;
    const uint t = chunks[at % chunk_count].y + (uint)get_local_id(0);
    __global const layers_spot *spot = &spots[view * solids + solid];
    if (!spot->drawn)
        return;
    pen p;
    p.spot = spot;
    p.nodes = nodes;
    p.heads = heads + sights[view].first_pixel;
    p.fragments = fragments;
    p.room = room;
    p.view = sights[view].view;
    p.count = 0;
    p.writes = 0;
    const raster_frame frame = spot->frame;
    const raster_lens lens = p.view.camera.lens;
    const int is_there = t < bodies[solid].triangle_count;
    vec3 place[3];
    raster_point corner[3];
    for (int k = 0; k < 3 && is_there; k++) {
        const uint v = indices[3 * (size_t)(bodies[solid].first_triangle + t) + k];
        __global const double *from = vertices + 3 * (size_t)(bodies[solid].first_vertex + v);
        place[k] = v3(from[0], from[1], from[2]);
        corner[k] = raster_apply(&frame, place[k]);
    }
    for (int pass = 0; pass < 2; pass++) { /* counts, then writes */
        raster_shape shapes[RASTER_CORNERS];
        const int made = is_there ? raster_shapes(&lens, corner, solid, t, 0, shapes) : 0;
        for (int k = 0; k < made; k++) {
            if (bodies[solid].inward)
                shapes[k].owner ^= 1;
            draw(&p, &shapes[k], large, large_room, counts, view);
        }
        for (uint k = 0; k < 3 && is_there && (wanted & LAYERS_EDGES); k++) {
            const uint next = k == 2 ? 0 : k + 1;
            if (comes_first(place[k], place[next]) &&
                raster_edges(&lens, corner[k], corner[next], solid, t << 2 | k, shapes))
                draw(&p, shapes, large, large_room, counts, view);
        }
        if (!pass)
            begin_writing(&p, shared, counts);
    }
}

/* ---- large shapes ---- */

__kernel void layers_places(__global const layers_sight *sights, uint solids,
                            __global const layers_spot *spots, __global const layers_node *nodes,
                            __global const layers_large *large, uint large_room,
                            __global uint2 *places, uint room, __global uint *counts) {
    const uint count = min(counts[LAYERS_COUNT_LARGE], large_room);
    for (uint i = (uint)get_group_id(0); i < count; i += (uint)get_num_groups(0)) {
        const raster_shape shape = large[i].shape;
        pen p;
        p.view = sights[large[i].view].view;
        p.spot = &spots[large[i].view * solids + (shape.owner >> 2)];
        p.nodes = nodes;
        const raster_rect r = box_of_shape(&p, &shape);
        const uint x0 = (uint)r.x0 / p.view.tile, x1 = (uint)r.x1 / p.view.tile;
        const uint y0 = (uint)r.y0 / p.view.tile, y1 = (uint)r.y1 / p.view.tile;
        const uint wide = x1 - x0 + 1, all = wide * (y1 - y0 + 1);
        for (uint k = (uint)get_local_id(0); k < all; k += LAYERS_ITEMS) {
            const uint column = x0 + k % wide, row = y0 + k / wide;
            const uint tile = row * p.view.columns + column;
            const raster_rect in =
                raster_rect_cut(window_rect(node_of(&p, column, row), tile_rect(&p.view, tile)), r);
            if (raster_rect_empty(in))
                continue;
            const uint at = atomic_inc(&counts[LAYERS_COUNT_PLACES]);
            if (at < room)
                places[at] = (uint2)(i, tile);
        }
    }
}

__kernel void layers_large_parts(__global const layers_sight *sights, uint solids,
                                 __global const layers_spot *spots,
                                 __global const layers_node *nodes,
                                 __global const layers_large *large, __global const uint2 *places,
                                 uint place_room, __global uint *heads, __global uint4 *fragments,
                                 uint room, __global uint *counts, __local uint *shared) {
    const uint count = min(counts[LAYERS_COUNT_PLACES], place_room);
    for (uint i = (uint)get_group_id(0); i < count; i += (uint)get_num_groups(0)) {
        const uint number = places[i].x, tile = places[i].y, view = large[number].view;
        const raster_shape shape = large[number].shape;
        pen p;
        p.view = sights[view].view;
        p.spot = &spots[view * solids + (shape.owner >> 2)];
        p.nodes = nodes;
        p.heads = heads + sights[view].first_pixel;
        p.fragments = fragments;
        p.room = room;
        p.count = 0;
        p.writes = 0;
        const raster_rect box = box_of_shape(&p, &shape);
        const raster_rect in =
            raster_rect_cut(window_rect(node_of(&p, tile % p.view.columns, tile / p.view.columns),
                                        tile_rect(&p.view, tile)),
                            box);
        const int wide = in.x1 - in.x0 + 1, all = wide * (in.y1 - in.y0 + 1);
        for (int pass = 0; pass < 2; pass++) {
            if ((shape.owner & 3) == RASTER_EDGE) { /* few pixels */
                if (get_local_id(0) == 0)
                    fill_part(&p, &shape, in);
            } else {
                for (int k = (int)get_local_id(0); k < all; k += LAYERS_ITEMS) {
                    raster_rect one;
                    one.x0 = one.x1 = in.x0 + k % wide;
                    one.y0 = one.y1 = in.y0 + k / wide;
                    fill_part(&p, &shape, one);
                }
            }
            if (!pass)
                begin_writing(&p, shared, counts);
        }
    }
}

/* ---- rays ---- */

typedef struct ray_work {
    size_t count;
    int eye, own, edges;
    ulong keys[LAYERS_SHORT];
    uint parts[LAYERS_SHORT];
    const layers_view *view;
    uint x, y, pixel;
    __global const layers_body *bodies;
    __local layers_piece *pieces;
    __local uint *piece_count;
} ray_work;

static ulong ray_key(const ray_work *w, size_t i) {
    return w->keys[i];
}

static void put_piece(ray_work *w, layers_piece piece) {
    const uint at = atomic_inc(w->piece_count);
    if (at < LAYERS_PIECES)
        w->pieces[at] = piece;
}

static void ray_overlap(ray_work *w, uint a, uint b, uint from, uint to, uint begins, uint ends) {
    layers_piece piece;
    layers_measure(w->view, w->x, w->y, from, to, &piece.length, &piece.volume);
    if (piece.length <= w->view->tolerance || (a != b && !may_meet(&w->bodies[a], &w->bodies[b])))
        return;
    piece.a = min(a, b);
    piece.b = max(a, b);
    piece.from = from;
    piece.to = to;
    piece.pixel = w->pixel;
    piece.what = LAYERS_IS_OVERLAP | (begins == piece.a ? LAYERS_BEGINS_A : 0) |
                 (ends == piece.a ? LAYERS_ENDS_A : 0);
    put_piece(w, piece);
}

static void ray_touch(ray_work *w, size_t place, uint around, uint since, uint to) {
    const uint of = layers_solid_of(w->keys[place]), z = layers_depth(w->keys[place]);
    uint before, behind, volume;
    layers_measure(w->view, w->x, w->y, since, z, &before, &volume);
    layers_measure(w->view, w->x, w->y, z, to, &behind, &volume);
    if (before <= w->view->tolerance || behind <= w->view->tolerance ||
        !may_meet(&w->bodies[of], &w->bodies[around]))
        return;
    layers_piece piece;
    piece.a = min(of, around);
    piece.b = max(of, around);
    piece.from = piece.to = z;
    piece.length = 0;
    piece.volume = w->parts[place];
    piece.pixel = w->pixel;
    piece.what = of == piece.a ? LAYERS_EDGE_A : LAYERS_EDGE_B;
    put_piece(w, piece);
}

#include "layers/trace_shared.h"

static void add_piece(layers_sum *s, __local const layers_piece *p, uint x, uint y) {
    s->edges_a += (p->what & LAYERS_EDGE_A) != 0;
    s->edges_b += (p->what & LAYERS_EDGE_B) != 0;
    if (!(p->what & LAYERS_IS_OVERLAP))
        return;
    s->pixels += (p->what & LAYERS_IS_FIRST) != 0;
    s->intervals++;
    s->enters_a += (p->what & LAYERS_BEGINS_A) != 0;
    s->leaves_a += (p->what & LAYERS_ENDS_A) != 0;
    layers_add(&s->length, p->length);
    layers_add(&s->volume, p->volume);
    layers_add(&s->x, (ulong)p->volume * x);
    layers_add(&s->y, (ulong)p->volume * y);
    layers_add(&s->z, (ulong)p->volume * (p->from + (p->to - p->from) / 2));
    s->longest = max(s->longest, p->length);
    s->x0 = min(s->x0, x);
    s->x1 = max(s->x1, x);
    s->y0 = min(s->y0, y);
    s->y1 = max(s->y1, y);
    s->z0 = min(s->z0, p->from);
    s->z1 = max(s->z1, p->to);
}

/* Sorts the crossings of a ray; gives how many there are, which may be more than are kept. */
static uint sort_ray(ray_work *w, __global const uint4 *fragments, uint head) {
    uint count = 0;
    for (uint f = head; f != LAYERS_NOTHING; count++) {
        const uint4 is = fragments[f];
        f = is.z;
        if (count >= LAYERS_SHORT)
            continue;
        const ulong key = layers_key(is.y, is.x);
        uint at = count;
        for (; at && w->keys[at - 1] > key; at--) {
            w->keys[at] = w->keys[at - 1];
            w->parts[at] = w->parts[at - 1];
        }
        w->keys[at] = key;
        w->parts[at] = is.w;
    }
    w->count = count;
    return count;
}

static int is_of_one(const ray_work *w) {
    for (size_t i = 1; i < w->count; i++)
        if (layers_solid_of(w->keys[i]) != layers_solid_of(w->keys[0]))
            return 0;
    return 1;
}

static int same_pair(__local const layers_piece *p, __local const layers_piece *q) {
    return p->a == q->a && p->b == q->b;
}

/* Adds up the pieces of each pair, of which the first one is the owner. */
static void add_up(__local layers_piece *pieces, uint count, raster_rect tile, uint view,
                   __global layers_sum *sums, uint room, __global layers_touch *touches,
                   uint touch_room, __global uint *counts, uint wanted) {
    const uint item = (uint)get_local_id(0);
    uint owns = 0, firsts = 0, bit = 1;
    for (uint k = item; k < count; k += LAYERS_ITEMS, bit <<= 1) {
        uint earlier = 0, here = 0;
        for (uint j = 0; j < k; j++)
            if (same_pair(&pieces[j], &pieces[k])) {
                earlier = 1;
                here |= pieces[j].pixel == pieces[k].pixel && (pieces[j].what & LAYERS_IS_OVERLAP);
            }
        owns |= earlier ? 0 : bit;
        firsts |= here ? 0 : bit;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    bit = 1;
    for (uint k = item; k < count; k += LAYERS_ITEMS, bit <<= 1)
        if (firsts & bit)
            pieces[k].what |= LAYERS_IS_FIRST;
    barrier(CLK_LOCAL_MEM_FENCE);
    bit = 1;
    for (uint k = item; k < count; k += LAYERS_ITEMS, bit <<= 1) {
        const uint x = (uint)tile.x0 + (pieces[k].pixel & 0xffff),
                   y = (uint)tile.y0 + (pieces[k].pixel >> 16);
        if ((wanted & LAYERS_HITS) && (pieces[k].what & (LAYERS_EDGE_A | LAYERS_EDGE_B))) {
            const uint at = atomic_inc(&counts[LAYERS_COUNT_TOUCHES]);
            const int of_a = (pieces[k].what & LAYERS_EDGE_A) != 0;
            layers_touch t;
            t.penetrating = of_a ? pieces[k].a : pieces[k].b;
            t.penetrated = of_a ? pieces[k].b : pieces[k].a;
            t.part = pieces[k].volume;
            t.x = x;
            t.y = y;
            t.z = pieces[k].from;
            t.view = view;
            if (at < touch_room)
                touches[at] = t;
        }
        if (!(owns & bit))
            continue;
        layers_sum s = {0};
        s.a = pieces[k].a;
        s.b = pieces[k].b;
        s.last_pixel = view;
        s.x0 = s.y0 = s.z0 = 0xffffffffu;
        for (uint j = k; j < count; j++)
            if (same_pair(&pieces[j], &pieces[k]))
                add_piece(&s, &pieces[j], (uint)tile.x0 + (pieces[j].pixel & 0xffff),
                          (uint)tile.y0 + (pieces[j].pixel >> 16));
        const uint at = atomic_inc(&counts[LAYERS_COUNT_SUMS]);
        if (at < room)
            sums[at] = s;
    }
}

__kernel void layers_rays(__global const layers_sight *sights, uint views,
                          __global const layers_body *bodies, __global const uint *tiles,
                          __global uint *heads, __global const uint4 *fragments,
                          __global layers_sum *sums, uint room, __global layers_touch *touches,
                          uint touch_room, __global uint2 *longs, uint long_room,
                          __global uint *counts, uint wanted, __local layers_piece *pieces,
                          __local uint *shared) {
    const uint at = (uint)get_group_id(0), item = (uint)get_local_id(0);
    if (tiles[at] == LAYERS_NOTHING)
        return;
    uint number = 0;
    while (number + 1 < views && at >= sights[number + 1].first_tile)
        number++;
    const layers_view view = sights[number].view;
    const raster_rect tile = tile_rect(&view, at - sights[number].first_tile);
    const uint wide = (uint)(tile.x1 - tile.x0 + 1), all = wide * (uint)(tile.y1 - tile.y0 + 1);
    ray_work w;
    w.view = &view;
    w.eye = view.camera.lens.near > 0.0;
    w.own = (wanted & LAYERS_OWN) != 0;
    w.edges = (wanted & LAYERS_EDGES) != 0;
    w.bodies = bodies;
    w.pieces = pieces;
    w.piece_count = shared;
    for (uint first = 0; first < all; first += LAYERS_ITEMS) {
        const uint k = first + item;
        uint count = 0, head = LAYERS_NOTHING, place = 0;
        if (item == 0)
            shared[0] = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        if (k < all) {
            w.x = (uint)tile.x0 + k % wide;
            w.y = (uint)tile.y0 + k / wide;
            w.pixel = k % wide | k / wide << 16;
            place = sights[number].first_pixel + w.y * view.camera.lens.width + w.x;
            head = heads[place];
            count = sort_ray(&w, fragments, head);
        }
        if (count && count <= LAYERS_SHORT && (w.own || !is_of_one(&w))) {
            layers_open open[LAYERS_SHORT];
            layers_trace(&w, open);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        const uint total = shared[0];
        if (count > LAYERS_SHORT || (count && total > LAYERS_PIECES)) {
            const uint to = atomic_inc(&counts[LAYERS_COUNT_LONG]);
            if (to < long_room)
                longs[to] = (uint2)(place, head);
        }
        if (count)
            heads[place] = LAYERS_NOTHING;
        if (total && total <= LAYERS_PIECES)
            add_up(pieces, total, tile, number, sums, room, touches, touch_room, counts, wanted);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

#endif
