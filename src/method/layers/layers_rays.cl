/* All views of a query at once, second half: from fragments to sums of pairs.
 *
 *   layers_rays    sorts the fragments of each pixel, traces the ray, and adds up the overlaps of
 * each pair over a strip of a tile, then in a table: a work-group per strip layers_gather  copies
 * the table into a list layers_clear   clears a table
 *
 * Sorted fragments are always the same, and all sums are integers, so the order of work-groups does
 * not matter. Rays with more than LAYERS_SHORT crossings, or with more overlaps than fit, are left
 * to the host. Results are those of pixel.c, computed by the same functions. No branch skips a
 * barrier: PoCL 3.1 fails on that.
 */
#include "base/math_shared.h"

#if ABUTI_REAL_BITS == 64

#include "layers/device_shared.h"

/* Whether groups and masks allow the pair. */
static int may_collide(uint2 a, uint2 b) {
    return (a.x & b.y) && (b.x & a.y);
}

/* ---- rays ---- */

typedef struct ray_work {
    size_t count;
    int eye, own, edges;
    ulong keys[LAYERS_SHORT];
    uint parts[LAYERS_SHORT];
    __global const layers_view *view;
    uint tolerance;
    uint x, y, pixel;
    __global const uint2 *group_masks; /* group and mask of each solid */
    __local layers_piece *pieces;
    __local uint *piece_count;
    uint piece_total; /* pieces of this ray, */
    uint own_count;   /* those that fitted, and their indices */
    uint own_at[LAYERS_OWN_PIECES];
} ray_work;

static ulong ray_key(const ray_work *w, size_t i) {
    return w->keys[i];
}

/* Whether the ray already has a piece of this pair. */
static int has_piece_of_pair(const ray_work *w, const layers_piece *piece) {
    for (uint k = 0; k < w->own_count; k++) {
        __local const layers_piece *p = &w->pieces[w->own_at[k]];
        if (p->a == piece->a && p->b == piece->b && (p->what & LAYERS_IS_OVERLAP))
            return 1;
    }
    return 0;
}

static void add_ray_piece(ray_work *w, layers_piece piece) {
    if (w->piece_total++ >= LAYERS_OWN_PIECES) { /* the whole ray is left to the host */
        for (uint k = 0; k < w->own_count; k++)
            w->pieces[w->own_at[k]].what = 0;
        w->own_count = 0;
        return;
    }
    if ((piece.what & LAYERS_IS_OVERLAP) && !has_piece_of_pair(w, &piece))
        piece.what |= LAYERS_IS_FIRST;
    const uint at = atomic_inc(w->piece_count);
    if (at >= LAYERS_PIECES)
        return;
    w->pieces[at] = piece;
    w->own_at[w->own_count++] = at;
}

/* Length and volume of an interval as in layers_measure(). For parallel rays both are the
 * difference of depths. */
static void measure_interval(const ray_work *w, uint from, uint to, uint *length, uint *volume) {
    if (w->eye)
        layers_measure(w->view, w->x, w->y, from, to, length, volume);
    else
        *length = *volume = to - from;
}

static void ray_overlap(ray_work *w, uint a, uint b, uint from, uint to, uint begins, uint ends) {
    layers_piece piece;
    measure_interval(w, from, to, &piece.length, &piece.volume);
    if (piece.length <= w->tolerance ||
        (a != b && !may_collide(w->group_masks[a], w->group_masks[b])))
        return;
    piece.a = min(a, b);
    piece.b = max(a, b);
    piece.from = from;
    piece.to = to;
    piece.pixel = w->pixel;
    piece.next = LAYERS_LAST;
    piece.what = LAYERS_IS_OVERLAP | (begins == piece.a ? LAYERS_BEGINS_A : 0) |
                 (ends == piece.a ? LAYERS_ENDS_A : 0);
    add_ray_piece(w, piece);
}

static void ray_touch(ray_work *w, size_t place, uint around, uint since, uint to) {
    const uint of = layers_solid_of(w->keys[place]), z = layers_depth(w->keys[place]);
    uint before, behind, volume;
    measure_interval(w, since, z, &before, &volume);
    measure_interval(w, z, to, &behind, &volume);
    if (before <= w->tolerance || behind <= w->tolerance ||
        !may_collide(w->group_masks[of], w->group_masks[around]))
        return;
    layers_piece piece;
    piece.a = min(of, around);
    piece.b = max(of, around);
    piece.from = piece.to = z;
    piece.length = 0;
    piece.volume = w->parts[place];
    piece.pixel = w->pixel;
    piece.next = LAYERS_LAST;
    piece.what = of == piece.a ? LAYERS_EDGE_A : LAYERS_EDGE_B;
    add_ray_piece(w, piece);
}

#include "layers/trace_shared.h"

static void add_piece(layers_sum *s, __local const layers_piece *p, uint x, uint y) {
    s->edges_a += (p->what & LAYERS_EDGE_A) != 0;
    s->edges_b += (p->what & LAYERS_EDGE_B) != 0;
    if (!(p->what & LAYERS_IS_OVERLAP))
        return;
    s->pixels += (p->what & LAYERS_IS_FIRST) != 0;
    s->enters_a += (p->what & LAYERS_BEGINS_A) != 0;
    s->leaves_a += (p->what & LAYERS_ENDS_A) != 0;
    layers_add_overlap(s, x, y, p->from, p->to, p->length, p->volume);
}

/* Inserts a crossing among sorted ones that are `gap` apart. Parts are only needed for edges. */
static void insert_crossing(ray_work *w, uint at, uint gap, ulong key, uint part) {
    for (; at >= gap && w->keys[at - gap] > key; at -= gap) {
        w->keys[at] = w->keys[at - gap];
        if (w->edges)
            w->parts[at] = w->parts[at - gap];
    }
    w->keys[at] = key;
    if (w->edges)
        w->parts[at] = part;
}

/* Sorts the crossings of a ray. Returns their number, which may exceed the capacity. The first ones
 * are inserted while others are loaded. If there are many, all are then sorted by Shell's method
 * with the gaps of Ciura (2001), since inserting 64 takes a thousand steps. */
static uint sort_ray(ray_work *w, __global const uint4 *fragments, uint head) {
    uint count = 0;
    uint4 is = fragments[head];
    for (uint f = head; f != LAYERS_NOTHING; count++) {
        const ulong key = layers_key(is.y, is.x);
        const uint part = is.w;
        f = is.z;
        if (f != LAYERS_NOTHING)
            is = fragments[f];
        if (count < LAYERS_SHORT)
            insert_crossing(w, count, count < LAYERS_INSERTED ? 1 : LAYERS_SHORT, key, part);
    }
    w->count = count;
    if (count <= LAYERS_INSERTED || count > LAYERS_SHORT)
        return count;
    for (uint gap = 23; gap; gap = gap > 10 ? 10 : gap > 4 ? 4 : gap > 1)
        for (uint at = gap; at < count; at++)
            insert_crossing(w, at, gap, w->keys[at], w->edges ? w->parts[at] : 0);
    return count;
}

static int is_of_one_solid(const ray_work *w) {
    for (size_t i = 1; i < w->count; i++)
        if (layers_solid_of(w->keys[i]) != layers_solid_of(w->keys[0]))
            return 0;
    return 1;
}

static int same_pair(__local const layers_piece *p, __local const layers_piece *q) {
    return p->a == q->a && p->b == q->b;
}

/* ---- sums of all tiles ----
 *
 * One hash table per view, with integers that any work-item may add to. A slot belongs to the pair
 * whose a and then b were written to it. Both change only from empty to a value. A work-item that
 * finds another pair continues with the next slot, so every pair has exactly one slot. */

static uint slot_of(__global layers_sum *table, uint slots, uint a, uint b, __global uint *counts,
                    __global uint *used, uint room, uint first) {
    uint at = (a * 0x9e3779b9u ^ b * 0x85ebca6bu);
    at ^= at >> 15;
    for (uint k = 0; k < LAYERS_PROBES; k++) {
        const uint slot = (at + k) & (slots - 1);
        const uint has_a =
            atomic_cmpxchg((volatile __global uint *)&table[slot].a, LAYERS_NOTHING, a);
        if (has_a != LAYERS_NOTHING && has_a != a)
            continue;
        const uint has_b =
            atomic_cmpxchg((volatile __global uint *)&table[slot].b, LAYERS_NOTHING, b);
        if (has_b != LAYERS_NOTHING && has_b != b)
            continue;
        if (has_b == LAYERS_NOTHING) {
            const uint number = atomic_inc(&counts[LAYERS_COUNT_SUMS]);
            if (number < room)
                used[number] = first + slot;
        }
        return slot;
    }
    atomic_inc(&counts[LAYERS_COUNT_LOST]);
    return LAYERS_NOTHING;
}

/* Adds to a 64-bit integer and returns the carry. Low words come first. */
static uint add_64(volatile __global word64 *sum, ulong more) {
    volatile __global uint *words = (volatile __global uint *)sum;
    const uint low = (uint)more;
    if (!more)
        return 0;
    const uint before = low ? atomic_add(&words[0], low) : 0;
    const ulong high = (more >> 32) + (before + low < before);
    if (!high)
        return 0;
    const uint old = atomic_add(&words[1], (uint)high);
    return (uint)(high >> 32) + (old + (uint)high < old);
}

static void add_128(__global layers_wide *sum, layers_wide more) {
    add_64(&sum->high, add_64(&sum->low, more.low) + more.high);
}

__kernel void layers_clear(__global layers_sum *table, uint count) {
    const uint at = (uint)get_global_id(0);
    if (at < count)
        table[at] = layers_empty_sum(LAYERS_NOTHING, LAYERS_NOTHING);
}

/* Copies the used slots into a list. */
__kernel void layers_gather(__global const layers_sum *table, uint slots, __global const uint *used,
                            uint room, __global layers_sum *sums, __global const uint *counts) {
    const uint count = min(counts[LAYERS_COUNT_SUMS], room);
    for (uint i = (uint)get_global_id(0); i < count; i += (uint)get_global_size(0)) {
        layers_sum s = table[used[i]];
        s.view = used[i] / slots;
        sums[i] = s;
    }
}

/* Adds one member of a sum. */
#define SUM_FIELDS 18
static void add_field(__global layers_sum *to, __local const layers_sum *from, uint field) {
    volatile __global uint *last = (volatile __global uint *)&to->longest;
    switch (field) {
    case 0:
        add_64(&to->pixels, from->pixels);
        break;
    case 1:
        add_64(&to->intervals, from->intervals);
        break;
    case 2:
        add_64(&to->edges_a, from->edges_a);
        break;
    case 3:
        add_64(&to->edges_b, from->edges_b);
        break;
    case 4:
        add_64(&to->enters_a, from->enters_a);
        break;
    case 5:
        add_64(&to->leaves_a, from->leaves_a);
        break;
    case 6:
        add_128(&to->length, from->length);
        break;
    case 7:
        add_128(&to->volume, from->volume);
        break;
    case 8:
        add_128(&to->x, from->x);
        break;
    case 9:
        add_128(&to->y, from->y);
        break;
    case 10:
        add_128(&to->z, from->z);
        break;
    case 11:
        atomic_max(last, from->longest);
        break;
    case 12:
        atomic_min((volatile __global uint *)&to->x0, from->x0);
        break;
    case 13:
        atomic_max((volatile __global uint *)&to->x1, from->x1);
        break;
    case 14:
        atomic_min((volatile __global uint *)&to->y0, from->y0);
        break;
    case 15:
        atomic_max((volatile __global uint *)&to->y1, from->y1);
        break;
    case 16:
        atomic_min((volatile __global uint *)&to->z0, from->z0);
        break;
    default:
        atomic_max((volatile __global uint *)&to->z1, from->z1);
        break;
    }
}

/* Destination of the results of a work-group. */
typedef struct tally {
    __global layers_sum *table; /* of the view */
    uint slots, first_slot;
    __global uint *used;
    uint room;
    __global layers_touch *touches;
    uint touch_room;
    __global uint *counts;
    uint view, wanted;
    __local layers_piece *pieces;
    __local layers_sum *sums; /* LAYERS_OWNERS */
    __local uint *places;     /* their slots in the table */
    __local uint *firsts;     /* LAYERS_FIRSTS: the first piece of each pair, by hash */
    __local ushort *owners;   /* used slots of `firsts` */
    __local uint *owner_count;
} tally;

static void write_touch(const tally *t, __local const layers_piece *p, raster_rect tile) {
    const uint at = atomic_inc(&t->counts[LAYERS_COUNT_TOUCHES]);
    const int of_a = (p->what & LAYERS_EDGE_A) != 0;
    layers_touch touch;
    touch.penetrating = of_a ? p->a : p->b;
    touch.penetrated = of_a ? p->b : p->a;
    touch.part = p->volume;
    touch.x = (uint)tile.x0 + (p->pixel & 0xffff);
    touch.y = (uint)tile.y0 + (p->pixel >> 16);
    touch.z = p->from;
    touch.view = t->view;
    if (at < t->touch_room)
        t->touches[at] = touch;
}

/* Inserts a piece at the front of the list of its pair. A hash table holds the first pieces; its
 * slots change only to another piece of the same pair. The first piece of a pair makes its slot an
 * owner. */
static void chain_piece(const tally *t, uint slots, uint k) {
    __local layers_piece *p = &t->pieces[k];
    uint at = p->a * 0x9e3779b9u ^ p->b * 0x85ebca6bu;
    at ^= at >> 15;
    for (uint probe = 0; probe < slots; probe++) {
        volatile __local uint *first = &t->firsts[(at + probe) & (slots - 1)];
        const uint there = atomic_cmpxchg(first, LAYERS_NOTHING, k);
        if (there == LAYERS_NOTHING) {
            p->next = LAYERS_LAST;
            t->owners[atomic_inc(t->owner_count)] = (ushort)((at + probe) & (slots - 1));
            return;
        }
        if (same_pair(&t->pieces[there], p)) {
            p->next = (ushort)atomic_xchg(first, k);
            return;
        }
    }
}

/* Adds up pieces: links those of a pair, then one work-item adds those of a pair. All work-items
 * then add the sums of some pairs to the table, one member each. Neighbouring work-items have the
 * same member of different pairs. */
static void add_up_pieces(const tally *t, uint count, raster_rect tile) {
    const uint item = (uint)get_local_id(0);
    uint slots = LAYERS_RAYS;
    while (slots < LAYERS_FIRSTS && slots < 2 * count)
        slots *= 2;
    for (uint k = item; k < slots; k += LAYERS_RAYS)
        t->firsts[k] = LAYERS_NOTHING;
    if (item == 0)
        *t->owner_count = 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = item; k < count; k += LAYERS_RAYS) {
        chain_piece(t, slots, k);
        if ((t->wanted & LAYERS_HITS) && (t->pieces[k].what & (LAYERS_EDGE_A | LAYERS_EDGE_B)))
            write_touch(t, &t->pieces[k], tile);
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    const uint owners = *t->owner_count;
    for (uint base = 0; base < owners; base += LAYERS_OWNERS) {
        const uint some = min(owners - base, (uint)LAYERS_OWNERS);
        if (item < some) {
            uint k = t->firsts[t->owners[base + item]];
            layers_sum s = layers_empty_sum(t->pieces[k].a, t->pieces[k].b);
            t->places[item] =
                slot_of(t->table, t->slots, s.a, s.b, t->counts, t->used, t->room, t->first_slot);
            for (; k != LAYERS_LAST; k = t->pieces[k].next)
                add_piece(&s, &t->pieces[k], (uint)tile.x0 + (t->pieces[k].pixel & 0xffff),
                          (uint)tile.y0 + (t->pieces[k].pixel >> 16));
            t->sums[item] = s;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        for (uint k = item; k < some * SUM_FIELDS; k += LAYERS_RAYS) {
            const uint place = t->places[k % some];
            if (place != LAYERS_NOTHING)
                add_field(&t->table[place], &t->sums[k % some], k / some);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

/* The turn of a ray, from 1 on, so that the pieces of all rays of a turn fit; 0 = the ray has no
 * pieces. */
static uint turn_of_ray(__local const uint *piece_total, uint *turns) {
    const uint item = (uint)get_local_id(0), each = LAYERS_PIECES - LAYERS_OWN_PIECES;
    uint before = 0, total = 0;
    for (uint k = 0; k < LAYERS_RAYS; k++) {
        before += k <= item ? piece_total[k] : 0;
        total += piece_total[k];
    }
    *turns = (total + each - 1) / each;
    return piece_total[item] ? 1 + (before - 1) / each : 0;
}

/* Leaves a ray to the host. */
static void write_long_ray(__global const uint4 *fragments, uint head, uint count, uint pixel,
                           __global layers_long *longs, uint long_room,
                           __global layers_crossing *crossings, uint crossing_room,
                           __global uint *counts) {
    const uint at = atomic_inc(&counts[LAYERS_COUNT_LONG]);
    const uint first = atomic_add(&counts[LAYERS_COUNT_CROSSINGS], count);
    if (at < long_room) {
        longs[at].pixel = pixel;
        longs[at].first = first;
        longs[at].count = count;
    }
    for (uint f = head, k = first; f != LAYERS_NOTHING; f = fragments[f].z, k++)
        if (k < crossing_room) {
            crossings[k].owner = fragments[f].x;
            crossings[k].depth = fragments[f].y;
            crossings[k].part = fragments[f].w;
        }
}

__kernel void layers_rays(__global const layers_listed_view *view_list, uint views,
                          __global const uint2 *group_masks, __global const uint *tiles,
                          __global const uint *heads, __global const uint4 *fragments,
                          __global layers_sum *table, uint slots, __global uint *used, uint room,
                          __global layers_touch *touches, uint touch_room,
                          __global layers_long *longs, uint long_room,
                          __global layers_crossing *crossings, uint crossing_room,
                          __global uint *counts, uint wanted, __local layers_piece *pieces,
                          __local layers_sum *sums, __local uint *firsts, __local ushort *owners,
                          __local uint *shared) {
    const uint at = (uint)get_group_id(0) / LAYERS_STRIPS, item = (uint)get_local_id(0);
    if (tiles[at] == LAYERS_NOTHING)
        return;
    uint number = 0;
    while (number + 1 < views && at >= view_list[number + 1].first_tile)
        number++;
    __global const layers_view *view = &view_list[number].view;
    const raster_lens lens = view->camera.lens;
    const uint place_of_tile = at - view_list[number].first_tile;
    const raster_rect tile = layers_tile(&lens, view->tile, place_of_tile % view->columns,
                                         place_of_tile / view->columns);
    const uint wide = (uint)(tile.x1 - tile.x0 + 1), all = wide * (uint)(tile.y1 - tile.y0 + 1);
    ray_work w;
    w.view = view;
    w.tolerance = view->tolerance;
    w.eye = lens.near > 0.0;
    w.own = (wanted & LAYERS_OWN) != 0;
    w.edges = (wanted & LAYERS_EDGES) != 0;
    w.group_masks = group_masks;
    w.pieces = pieces;
    w.piece_count = shared;
    tally t;
    t.table = table + number * slots;
    t.slots = slots;
    t.first_slot = number * slots;
    t.used = used;
    t.room = room;
    t.touches = touches;
    t.touch_room = touch_room;
    t.counts = counts;
    t.view = number;
    t.wanted = wanted;
    t.pieces = pieces;
    t.sums = sums;
    t.firsts = firsts;
    t.owners = owners;
    t.owner_count = shared + 1;
    t.places = shared + 2;
    /* Strips of a tile are assigned to work-groups in turn. */
    for (uint first = (uint)get_group_id(0) % LAYERS_STRIPS * LAYERS_RAYS; first < all;
         first += LAYERS_STRIPS * LAYERS_RAYS) {
        const uint k = first + item;
        uint count = 0, head = LAYERS_NOTHING, place = 0;
        if (k < all) {
            w.x = (uint)tile.x0 + k % wide;
            w.y = (uint)tile.y0 + k / wide;
            w.pixel = k % wide | k / wide << 16;
            place = view_list[number].first_pixel + w.y * lens.width + w.x;
            head = heads[place];
        }
        if (head != LAYERS_NOTHING)
            count = sort_ray(&w, fragments, head);
        int is_long = count > LAYERS_SHORT;
        const int traced = count && !is_long && (w.own || !is_of_one_solid(&w));
        /* All rays at once; if their pieces do not fit, in several turns. */
        uint turns = 0, turn = 0;
        for (uint now = 0; now <= turns; now++) {
            barrier(CLK_LOCAL_MEM_FENCE);
            if (item == 0)
                shared[0] = 0;
            barrier(CLK_LOCAL_MEM_FENCE);
            if (traced && now == turn) {
                layers_open open[LAYERS_SHORT];
                w.piece_total = w.own_count = 0;
                layers_trace(&w, open);
                is_long = w.piece_total > LAYERS_OWN_PIECES;
            }
            firsts[item] = traced && !is_long ? w.piece_total : 0;
            barrier(CLK_LOCAL_MEM_FENCE);
            const uint total = shared[0];
            if (total > LAYERS_PIECES)
                turn = turn_of_ray(firsts, &turns);
            else if (total)
                add_up_pieces(&t, total, tile);
        }
        if (is_long)
            write_long_ray(fragments, head, count, place, longs, long_room, crossings,
                           crossing_room, counts);
    }
}

#endif
