/* The contour of two skins, and the parts of both that are inside the other.
 *
 * Problem: where do two surfaces cut each other, which parts of each are inside the other, and
 * which of these belong together? Without a coordinate being compared.
 *
 * Method. Two triangles in general position meet in a segment, both of whose ends are crossings: of
 * an edge of one with the other. Whether an edge crosses a triangle is a matter of five signs of
 * volumes, all exact (geom/predicates_shared.h), so that both triangles at an edge agree. On its
 * way along an edge the inside of the other body is entered and left by turns; so crossings tell
 * which vertices are inside, and from these the inside spreads over edges that cross nothing. What
 * is joined by segments, by inside parts of edges and by that spread is one region of the overlap.
 *
 * Sums. Let x0, x1 be the ends of segments, those of a's surface inside b to the left. All of these
 * are additive, so that no polygon is ever made:
 *   S   = sum 1/2 x0 x x1         the area vector of a inside b = the gradient of the volume of the
 *                                 overlap for a shift of a;
 *   a_f = sum 1/2 x0 x x1         over segments and inside parts of edges of one triangle: the part
 *                                 of it inside the other;
 *   V   = 1/3 sum p_f . a_f       over all triangles of both: the volume of the overlap.
 * Segments count the other way round for b.
 */
#include "contact/patch.h"

#include "geom/predicates_shared.h"

#include <abut/nearest.h>

#include <math.h>
#include <string.h>

/* Crossings closer along an edge than this may stand in the wrong order: sides of a ridge. */
#define TIE 1e-9

enum { FEW_VERTICES = 32 }; /* of a body that has no folds */

/* ---- lists ---- */

/* Room for one more. */
static bool more(patch_work *work, void *list, size_t count, size_t bytes, size_t *room) {
    if (count == *room && !work->status)
        work->status =
            abuti_patch_grow(work->memory, list, count, count ? count + 1 : 64, bytes, room);
    return !work->status;
}

/* ---- crossings ---- */

static void place_face(patch_work *work, uint32_t side, uint32_t face, patch_face *f) {
    patch_body *body = &work->body[side];
    f->face = face;
    f->corner = body->skin->corner + 3 * (size_t)face;
    for (int k = 0; k < 3; k++)
        f->at[k] = patch_place(body, f->corner[k]);
    f->collapsed = abuti_is_collapsed(f->corner);
    f->longest = 0;
    for (int k = 0; k < 3; k++) {
        f->way[k] = v3_sub(f->at[k == 2 ? 0 : k + 1], f->at[k]);
        f->moment[k] = v3_cross(f->at[k], f->way[k]);
        f->longest = real_max(f->longest, v3_max_abs(f->way[k]));
    }
    f->normal = v3_cross(f->way[2], f->way[0]);
    f->offset = v3_dot(f->normal, f->at[0]);
}

/* The triangle at a place of the leaves: kept, or placed anew. */
static inline const patch_face *face_at(patch_work *work, uint32_t side, uint32_t place) {
    uint32_t slot = place % PATCH_FACES;
    if (work->kept[side][slot] != place)
        place_face(work, side, work->body[side].bvh->order[place], &work->faces[side][slot]);
    work->kept[side][slot] = place;
    return &work->faces[side][slot];
}

static void forget_places(patch_work *work) {
    memset(work->kept, 0xff, sizeof work->kept); /* ABUT_NONE */
    for (int side = 0; side < 2; side++)
        memset(work->body[side].placed, 0xff, sizeof work->body[side].placed);
}

/* Two triangles: on which side of the other's plane corners are, +1 is outside; and of each the
 * corner that is alone on its side, whose two edges the other's plane cuts. */
typedef struct face_pair {
    const patch_face *face[2];
    int above[2][3];
    uint32_t alone[2];
} face_pair;

/* Doubts. Let u = 2^-53, E the product of the longest sides of two edges and M the largest
 * coordinate. A normal is off by 12 u E an axis, which counts for 36 u E 2 M, and both products
 * with it by 48 u E M: in all less than 128 u E M. Directions are off by u of themselves and
 * moments by 6 times that; in a volume this counts for 48 u E M, products and sums for 100 u E M.
 */
#define SIDE_DOUBT 0x1p-46
#define TURN_DOUBT 0x1p-45

/* On which side of a plane the corners of a triangle are, and which is alone; false where all are
 * on one. */
static inline bool find_sides(patch_work *work, const patch_face *plane, const patch_face *f,
                              int above[3], uint32_t *alone) {
    double doubt = SIDE_DOUBT * plane->longest * plane->longest * work->largest;
    double value[3];
    for (int k = 0; k < 3; k++)
        value[k] = v3_dot(plane->normal, f->at[k]) - plane->offset;
    double low = real_min(real_min(value[0], value[1]), value[2]);
    double high = real_max(real_max(value[0], value[1]), value[2]);
    if (low > doubt || high < -doubt)
        return false;
    for (int k = 0; k < 3; k++)
        above[k] = value[k] > 0 ? 1 : -1;
    for (int k = 0; k < 3; k++)
        if (fabs(value[k]) <= doubt) {
            above[k] = orient3d(plane->at[0], plane->at[1], plane->at[2], f->at[k]);
            work->flat |= !above[k];
        }
    *alone = above[0] == above[1] ? 2 : above[0] == above[2] ? 1 : 0;
    return above[0] != above[1] || above[1] != above[2];
}

static inline uint32_t after_corner(uint32_t k) {
    return k == 2 ? 0 : k + 1;
}

/* Which way edge i of a turns round edge j of b: the sign of their volume. */
static inline int turn_of(const patch_face *a, uint32_t i, const patch_face *b, uint32_t j,
                          double doubt) {
    double volume = v3_dot(a->way[i], b->moment[j]) + v3_dot(b->way[j], a->moment[i]);
    return volume > doubt ? 1
           : volume < -doubt
               ? -1
               : orient3d(a->at[i], a->at[after_corner(i)], b->at[j], b->at[after_corner(j)]);
}

/* Where a plane cuts the way from p to q, which are on both sides of it. */
static double part_of(vec3 p, vec3 q, const patch_face *plane) {
    double from = v3_dot(plane->normal, v3_sub(p, plane->at[0])),
           to = v3_dot(plane->normal, v3_sub(q, plane->at[0])), t = from / (from - to);
    return t >= 0 && t <= 1 ? t : t > 1 ? 1 : t < 0 ? 0 : 0.5;
}

/* Makes room for what is noted of both sides. */
static bool start_marks(patch_work *work) {
    for (uint32_t side = 0; side < 2; side++) {
        const abut_topology_arrays *view = &work->body[side].skin->view;
        patch_marks *marks = &work->marks[side];
        size_t faces = view->triangle_count / 32 + 1, vertices = view->vertex_count / 32 + 1;
        size_t edges = view->edge_count / 32 + 1, all = 2 * faces + vertices + edges;
        uint32_t *bits = abuti_patch_take(work->memory, all, sizeof *bits);
        marks->place = abuti_patch_take(work->memory, view->vertex_count, sizeof *marks->place);
        marks->first = abuti_patch_take(work->memory, view->edge_count, sizeof *marks->first);
        if (!bits || !marks->place || !marks->first) {
            work->status = ABUT_ERROR_MEMORY;
            return false;
        }
        memset(bits, 0, all * sizeof *bits);
        marks->cut = bits;
        marks->done = bits + faces;
        marks->vertex = bits + 2 * faces;
        marks->edge = bits + 2 * faces + vertices;
    }
    return true;
}

static bool is_set(const uint32_t *bits, uint32_t i) {
    return bits[i / 32] >> i % 32 & 1;
}

/* Sets a bit; false where it was set. */
static bool set_bit(uint32_t *bits, uint32_t i) {
    bool was = is_set(bits, i);
    bits[i / 32] |= 1u << i % 32;
    return !was;
}

/* The crossing of an edge with a face, or ABUT_NONE. */
static uint32_t known_crossing(const patch_work *work, uint32_t side, uint32_t edge,
                               uint32_t face) {
    const patch_marks *marks = &work->marks[side];
    uint32_t i = is_set(marks->edge, edge) ? marks->first[edge] : ABUT_NONE;
    while (i != ABUT_NONE && work->crossings[i].face != face)
        i = work->crossings[i].next;
    return i;
}

/* Adds a crossing to those of its edge, in order. */
static void link_crossing(patch_work *work, uint32_t added) {
    patch_crossing *c = &work->crossings[added];
    patch_marks *marks = &work->marks[c->side];
    uint32_t *link = &marks->first[c->edge];
    if (set_bit(marks->edge, c->edge))
        *link = ABUT_NONE;
    while (*link != ABUT_NONE && work->crossings[*link].t <= c->t)
        link = &work->crossings[*link].next;
    c->next = *link;
    *link = added;
}

/* The crossing of edge k of one with the other: as it is known, or made. */
static uint32_t crossing_of(patch_work *work, const face_pair *pair, uint32_t side, uint32_t k,
                            bool *leaves) {
    const patch_face *f = pair->face[side], *other = pair->face[!side];
    uint32_t next = after_corner(k);
    bool up = f->corner[k] < f->corner[next]; /* from the lower vertex on */
    bool enters = pair->above[side][up ? k : next] > 0;
    *leaves = enters != up;
    uint32_t edge = work->body[side].skin->view.triangle_edges[3 * (size_t)f->face + k];
    uint32_t known = known_crossing(work, side, edge, other->face);
    if (known != ABUT_NONE || !more(work, &work->crossings, work->crossing_count,
                                    sizeof *work->crossings, &work->crossing_room))
        return known;
    vec3 p = f->at[up ? k : next], q = f->at[up ? next : k];
    double t = part_of(p, q, other);
    work->crossings[work->crossing_count] =
        (patch_crossing){edge, other->face, side, enters, ABUT_NONE, t, v3_lerp(p, q, t)};
    link_crossing(work, (uint32_t)work->crossing_count);
    return (uint32_t)work->crossing_count++;
}

/* Two triangles of which each has the other on both sides of its plane. Both cut the line that the
 * planes have in common in two of their edges, i and j, and whose comes first is told by how these
 * turn round each other: an edge is between those of the other triangle, so crosses it, where it
 * turns round both of them the same way. */
static void meet_faces(patch_work *work, const face_pair *pair) {
    const patch_face *a = pair->face[0], *b = pair->face[1];
    double doubt = TURN_DOUBT * work->largest * a->longest * b->longest;
    uint32_t edge[2][2], ends[2] = {ABUT_NONE, ABUT_NONE};
    int turn[2][2], found = 0;
    for (int side = 0; side < 2; side++) {
        edge[side][0] = pair->alone[side];
        edge[side][1] = after_corner(after_corner(pair->alone[side]));
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            turn[i][j] = turn_of(a, edge[0][i], b, edge[1][j], doubt);
            work->flat |= !turn[i][j];
        }
    for (uint32_t side = 0; side < 2; side++)
        for (int i = 0; i < 2; i++) {
            if (side ? turn[0][i] != turn[1][i] : turn[i][0] != turn[i][1])
                continue;
            bool leaves;
            if (!work->marks[0].edge && !start_marks(work))
                return;
            uint32_t crossing = crossing_of(work, pair, side, edge[side][i], &leaves);
            found++;
            ends[leaves == (side == 0) ? 0 : 1] = crossing;
        }
    if (!found || work->status)
        return;
    if (found != 2 || ends[0] == ABUT_NONE || ends[1] == ABUT_NONE)
        work->flat = true;
    else if (more(work, &work->segments, work->segment_count, sizeof *work->segments,
                  &work->segment_room))
        work->segments[work->segment_count++] =
            (patch_segment){{a->face, b->face}, ends[0], ends[1]};
}

/* Two leaves of which some triangles may meet. */
static bool visit(void *data, uint32_t leaf_a, uint32_t leaf_b, unsigned near) {
    patch_work *work = data;
    work->near = true;
    for (; near; near &= near - 1) {
        uint32_t bit = (uint32_t)__builtin_ctz(near);
        const patch_face *f = face_at(work, 0, leaf_a * BVH_WIDTH + bit / 4);
        const patch_face *g = face_at(work, 1, leaf_b * BVH_WIDTH + bit % 4);
        face_pair pair = {.face = {f, g}};
        if (!f->collapsed && !g->collapsed &&
            find_sides(work, g, f, pair.above[0], &pair.alone[0]) &&
            find_sides(work, f, g, pair.above[1], &pair.alone[1]))
            meet_faces(work, &pair);
    }
    return work->status != ABUT_OK;
}

/* ---- edges ---- */

/* Whether a crossing is the first of its edge. */
static bool is_first(const patch_work *work, uint32_t i) {
    const patch_crossing *c = &work->crossings[i];
    return work->marks[c->side].first[c->edge] == i;
}

/* Two sides of a ridge, at one place of an edge: in before out. The other way round would take the
 * outside for inside, and this way a part of it at most for outside, which others tell. */
static void order_ridges(patch_work *work) {
    for (uint32_t i = 0; i < work->crossing_count; i++) {
        if (work->crossings[i].next == ABUT_NONE || !is_first(work, i))
            continue;
        bool outside = true;
        for (uint32_t *link = &work->marks[work->crossings[i].side].first[work->crossings[i].edge];
             *link != ABUT_NONE; link = &work->crossings[*link].next) {
            patch_crossing *out = &work->crossings[*link];
            if (outside && !out->enters && out->next != ABUT_NONE) {
                uint32_t next = out->next, this = *link;
                patch_crossing *in = &work->crossings[next];
                if (in->enters && in->t - out->t <= TIE) {
                    out->next = in->next;
                    in->next = this;
                    *link = next;
                }
            }
            outside = !work->crossings[*link].enters;
        }
    }
}

/* ---- what is inside ---- */

/* Marks a vertex as inside, of the last spread. */
static void mark(patch_work *work, uint32_t side, uint32_t vertex) {
    if (!set_bit(work->marks[side].vertex, vertex) ||
        !more(work, &work->vertices, work->vertex_count, sizeof *work->vertices,
              &work->vertex_room))
        return;
    work->marks[side].place[vertex] = (uint32_t)work->vertex_count;
    work->vertices[work->vertex_count++] =
        (patch_vertex){side, vertex, work->spread_count - 1,
                       patch_place_anew(&work->body[side], vertex)};
}

/* A triangle at a vertex that is inside. */
static void spread_over(patch_work *work, uint32_t side, uint32_t face, uint32_t vertex) {
    const patch_skin *skin = work->body[side].skin;
    const uint32_t *corner = skin->corner + 3 * (size_t)face;
    if (abuti_is_collapsed(corner)) /* joins what is apart */
        return;
    if (is_set(work->marks[side].cut, face)) {
        for (uint32_t k = 0; k < 3 && !work->status; k++) {
            uint32_t next = corner[after_corner(k)];
            if ((corner[k] == vertex || next == vertex) &&
                !is_set(work->marks[side].edge, skin->view.triangle_edges[3 * (size_t)face + k]))
                mark(work, side, corner[k] == vertex ? next : corner[k]);
        }
    } else if (set_bit(work->marks[side].done, face) &&
               more(work, &work->wholes, work->whole_count, sizeof *work->wholes,
                    &work->whole_room)) {
        work->wholes[work->whole_count++] = (patch_whole){side, face, work->spread_count - 1};
        for (int k = 0; k < 3 && !work->status; k++)
            mark(work, side, corner[k]);
    }
}

/* Whether what a spread says to be inside is so, by its last vertex: in the other body, or no
 * further from it than skins go. */
static bool is_inside(patch_work *work, const pair_frame *frame, uint32_t side, uint32_t vertex) {
    const patch_body *other = &work->body[!side];
    const bvh_interior *interior;
    bool inside;
    unsigned doubt = 0;
    work->status = abuti_bvh_interior(other->bvh, &interior);
    if (work->status || !interior->has_solids) /* what is behind a sheet is not known otherwise */
        return true;
    work->status =
        abuti_pair_vertex_inside(frame, (int)side, &other->pose, vertex, &inside, &doubt);
    if (work->status || inside)
        return true;
    vec3 at = patch_true(&work->body[side], vertex);
    if (other->turns) {
        mat3 back = m3_transpose(&other->turn);
        at = m3_apply(&back, v3_sub(at, other->shift));
    }
    abut_nearest nearest;
    double reach = 2 * (other->grow * other->skin->reach +
                        work->body[side].grow * work->body[side].skin->reach);
    work->status =
        abut_nearest_point(other->bvh, v3_add(at, other->bvh->mesh->origin), reach, &nearest);
    return nearest.triangle != ABUT_NONE;
}

/* Marks all that hangs together with a vertex inside, over edges that nothing crosses. A skin that
 * folds over where the surface is hollow may have its crossings the wrong way round, and then all
 * that is outside would be inside: where that is most of the body, it is checked, and dropped. */
static void spread_over_all(patch_work *work, const pair_frame *frame, uint32_t side,
                            uint32_t vertex) {
    const abut_topology_arrays *view = &work->body[side].skin->view;
    size_t begin = work->vertex_count, wholes = work->whole_count, i = begin;
    for (mark(work, side, vertex); i < work->vertex_count && !work->status; i++) {
        uint32_t v = work->vertices[i].vertex;
        for (uint32_t f = view->vertex_face_begin[v];
             f < view->vertex_face_begin[v + 1] && !work->status; f++)
            spread_over(work, side, view->vertex_faces[f], v);
    }
    if (work->status || 2 * (i - begin) < view->vertex_count || view->vertex_count < FEW_VERTICES ||
        is_inside(work, frame, side, work->vertices[i - 1].vertex))
        return;
    while (i > begin)
        work->marks[side].place[work->vertices[--i].vertex] = ABUT_NONE;
    work->vertex_count = begin;
    work->whole_count = wholes;
}

/* Where a vertex that is inside stands in `vertices`, or ABUT_NONE. */
static uint32_t inside_place(const patch_marks *marks, uint32_t vertex) {
    return is_set(marks->vertex, vertex) ? marks->place[vertex] : ABUT_NONE;
}

/* Joins all that hangs together with a vertex inside to a crossing. */
static void spread_from(patch_work *work, const pair_frame *frame, uint32_t side, uint32_t vertex,
                        uint32_t crossing) {
    const patch_marks *marks = &work->marks[side];
    if (!is_set(marks->vertex, vertex)) {
        uint32_t node = (uint32_t)work->crossing_count + work->spread_count;
        if (node == work->parent_room)
            work->status = abuti_patch_grow(work->memory, &work->parent, node, node + (size_t)1,
                                            sizeof *work->parent, &work->parent_room);
        if (work->status)
            return;
        work->parent[node] = node;
        work->spread_count++;
        spread_over_all(work, frame, side, vertex);
    }
    uint32_t place = work->status ? ABUT_NONE : inside_place(marks, vertex);
    if (place != ABUT_NONE)
        abuti_join(work->parent, (uint32_t)work->crossing_count + work->vertices[place].spread,
                   crossing);
}

/* From edges with crossings. */
static void spread(patch_work *work, const pair_frame *frame) {
    for (uint32_t i = 0; i < work->crossing_count && !work->status; i++) {
        const patch_crossing *c = &work->crossings[i];
        const uint32_t *ends = work->body[c->side].skin->view.edges + 2 * (size_t)c->edge;
        if (!is_first(work, i))
            continue;
        if (!c->enters)
            spread_from(work, frame, c->side, ends[0], i);
        uint32_t last = i;
        for (; c->next != ABUT_NONE; c = &work->crossings[last]) {
            if (c->enters)
                abuti_join(work->parent, last, c->next);
            last = c->next;
        }
        if (c->enters && !work->status)
            spread_from(work, frame, c->side, ends[1], last);
    }
}

/* ---- sums ---- */

static void add_area(patch_work *work, uint32_t side, uint32_t face, uint32_t patch, vec3 area) {
    bool added;
    assert(side < 2 && patch < UINT32_C(1) << 30);
    uint64_t key = (uint64_t)(side + 1) << 62 | (uint64_t)patch << 32 | face;
    uint32_t *value =
        abuti_patch_put(work, &work->by_facet, key, (uint32_t)work->facet_count, &added);
    if (!value)
        return;
    if (added) {
        if (!more(work, &work->facets, work->facet_count, sizeof *work->facets, &work->facet_room))
            return;
        work->facets[work->facet_count++] = (patch_facet){side, face, patch, v3(0, 0, 0)};
    }
    patch_facet *facet = &work->facets[*value];
    facet->area = v3_add(facet->area, area);
}

static vec3 swept(vec3 about, vec3 from, vec3 to) {
    return v3_scale(v3_cross(v3_sub(from, about), v3_sub(to, about)), 0.5);
}

/* The region of a node; numbered as they come. */
static uint32_t region_of(patch_work *work, uint32_t *number, uint32_t node, vec3 at) {
    uint32_t r = abuti_root(work->parent, node);
    if (number[r] == ABUT_NONE) {
        if (!more(work, &work->regions, work->region_count, sizeof *work->regions,
                  &work->region_room))
            return 0;
        number[r] = (uint32_t)work->region_count;
        work->regions[work->region_count++] = (patch_region){.origin = at};
    }
    return number[r];
}

static void sum_segments(patch_work *work, uint32_t *number) {
    for (size_t i = 0; i < work->segment_count && !work->status; i++) {
        const patch_segment *s = &work->segments[i];
        vec3 from = work->crossings[s->from].at, to = work->crossings[s->to].at;
        uint32_t patch = region_of(work, number, s->from, from);
        if (work->status)
            return;
        patch_region *r = &work->regions[patch];
        double length = v3_length(v3_sub(to, from));
        r->area = v3_add(r->area, swept(r->origin, from, to));
        r->length += length;
        r->centre = v3_along(r->centre, 0.5 * length, v3_add(from, to));
        for (uint32_t side = 0; side < 2; side++) {
            patch_body *body = &work->body[side];
            vec3 about = patch_place(body, body->skin->corner[3 * (size_t)s->face[side]]);
            add_area(work, side, s->face[side], patch,
                     swept(about, side ? to : from, side ? from : to));
        }
    }
}

/* The node that stands for all that a spread belongs to. */
static uint32_t spread_root(const patch_work *work, uint32_t spread) {
    return abuti_root(work->parent, (uint32_t)work->crossing_count + spread);
}

/* A part of an edge that is inside, for the triangles at it. */
static void sum_part(patch_work *work, const uint32_t *number, const patch_crossing *c,
                     uint32_t node, vec3 from, vec3 to) {
    patch_body *body = &work->body[c->side];
    const uint32_t *faces, patch = number[abuti_root(work->parent, node)];
    uint32_t count = abuti_edge_faces(&body->skin->view, c->edge, &faces);
    for (uint32_t i = 0; i < count && !work->status; i++) {
        bool up = abuti_runs_up(&body->skin->view, body->skin->corner, faces[i], c->edge);
        vec3 about = patch_place(body, body->skin->corner[3 * (size_t)faces[i]]);
        add_area(work, c->side, faces[i], patch, swept(about, up ? from : to, up ? to : from));
    }
}

/* The inside parts of edges that something crosses. */
static void sum_crossed(patch_work *work, const uint32_t *number) {
    for (uint32_t i = 0; i < work->crossing_count && !work->status; i++) {
        const patch_crossing *c = &work->crossings[i];
        patch_body *body = &work->body[c->side];
        const uint32_t *ends = body->skin->view.edges + 2 * (size_t)c->edge;
        if (!c->enters && is_first(work, i))
            sum_part(work, number, c, i, patch_place(body, ends[0]), c->at);
        if (c->enters)
            sum_part(work, number, c, i, c->at,
                     c->next == ABUT_NONE ? patch_place(body, ends[1])
                                          : work->crossings[c->next].at);
    }
}

/* The edges of a triangle with segments that nothing crosses. */
static void sum_rest(patch_work *work, const uint32_t *number, uint32_t side, uint32_t face) {
    patch_body *body = &work->body[side];
    const uint32_t *edges = body->skin->view.triangle_edges + 3 * (size_t)face;
    const uint32_t *corner = body->skin->corner + 3 * (size_t)face;
    for (uint32_t k = 0; k < 3 && !work->status; k++) {
        uint32_t place = inside_place(&work->marks[side], corner[k]);
        if (place == ABUT_NONE || is_set(work->marks[side].edge, edges[k]))
            continue;
        add_area(work, side, face, number[spread_root(work, work->vertices[place].spread)],
                 swept(patch_place(body, corner[0]), patch_place(body, corner[k]),
                       patch_place(body, corner[after_corner(k)])));
    }
}

/* What both surfaces have inside the other, triangle by triangle. */
static void sum_faces(patch_work *work, const uint32_t *number) {
    sum_crossed(work, number);
    for (size_t i = 0; i < work->segment_count && !work->status; i++)
        for (uint32_t side = 0; side < 2; side++)
            if (set_bit(work->marks[side].done, work->segments[i].face[side]))
                sum_rest(work, number, side, work->segments[i].face[side]);
    for (size_t i = 0; i < work->whole_count; i++) {
        const patch_whole *w = &work->wholes[i];
        const uint32_t *corner = work->body[w->side].skin->corner + 3 * (size_t)w->face;
        const uint32_t *place = work->marks[w->side].place;
        if (!more(work, &work->facets, work->facet_count, sizeof *work->facets, &work->facet_room))
            return;
        work->facets[work->facet_count++] =
            (patch_facet){w->side, w->face, number[spread_root(work, w->spread)],
                          swept(work->vertices[place[corner[0]]].at,
                                work->vertices[place[corner[1]]].at,
                                work->vertices[place[corner[2]]].at)};
    }
}

/* Facets by region, and volumes. */
static abut_status gather_facets(patch_work *work) {
    patch_facet *sorted = abuti_patch_take(work->memory, work->facet_count, sizeof *sorted);
    uint32_t begin = 0;
    if (!sorted)
        return ABUT_ERROR_MEMORY;
    for (size_t i = 0; i < work->facet_count; i++)
        work->regions[work->facets[i].patch].facet_end++;
    for (size_t i = 0; i < work->region_count; i++) {
        patch_region *r = &work->regions[i];
        uint32_t count = r->facet_end;
        r->facet_begin = r->facet_end = begin;
        begin += count;
    }
    for (size_t i = 0; i < work->facet_count; i++) {
        const patch_facet *f = &work->facets[i];
        patch_body *body = &work->body[f->side];
        patch_region *r = &work->regions[f->patch];
        vec3 at = patch_place(body, body->skin->corner[3 * (size_t)f->face]);
        sorted[r->facet_end++] = *f;
        r->volume += v3_dot(v3_sub(at, r->origin), f->area) / 3;
    }
    work->facets = sorted;
    return ABUT_OK;
}

/* The region of a crossing, or after these of a vertex. */
static uint32_t region_at(const patch_work *work, const uint32_t *number, size_t i) {
    return number[i < work->crossing_count
                      ? abuti_root(work->parent, (uint32_t)i)
                      : spread_root(work, work->vertices[i - work->crossing_count].spread)];
}

/* Facets, crossings and vertices of each region side by side. */
static abut_status gather(patch_work *work, const uint32_t *number) {
    size_t crossings = work->crossing_count, vertices = work->vertex_count;
    abut_status status = gather_facets(work);
    if (status)
        return status;
    work->region_of = abuti_patch_take(work->memory, crossings, sizeof *work->region_of);
    if (!work->region_of)
        return ABUT_ERROR_MEMORY;
    for (size_t i = 0; i < crossings; i++)
        work->region_of[i] = number[abuti_root(work->parent, (uint32_t)i)];
    work->points = abuti_patch_take(work->memory, crossings, sizeof *work->points);
    work->inner = abuti_patch_take(work->memory, vertices, sizeof *work->inner);
    if (!work->points || !work->inner)
        return ABUT_ERROR_MEMORY;
    for (size_t i = 0; i < crossings + vertices; i++) {
        uint32_t at = region_at(work, number, i);
        if (at == ABUT_NONE)
            continue;
        if (i < crossings)
            work->regions[at].point_end++;
        else
            work->regions[at].vertex_end++;
    }
    uint32_t point = 0, vertex = 0;
    for (size_t i = 0; i < work->region_count; i++) {
        patch_region *r = &work->regions[i];
        if (r->length > 0)
            r->centre = v3_scale(r->centre, 1 / r->length);
        else
            r->centre = r->origin;
        r->point_begin = point;
        point += r->point_end;
        r->point_end = r->point_begin;
        r->vertex_begin = vertex;
        vertex += r->vertex_end;
        r->vertex_end = r->vertex_begin;
    }
    for (size_t i = 0; i < crossings + vertices; i++) {
        uint32_t at = region_at(work, number, i);
        if (at == ABUT_NONE)
            continue;
        if (i < crossings)
            work->points[work->regions[at].point_end++] = (uint32_t)i;
        else
            work->inner[work->regions[at].vertex_end++] = (uint32_t)(i - crossings);
    }
    return ABUT_OK;
}

static abut_status sum(patch_work *work) {
    size_t nodes = work->crossing_count + work->spread_count;
    uint32_t *number = abuti_patch_take(work->memory, nodes, sizeof *number);
    if (!number)
        return ABUT_ERROR_MEMORY;
    memset(number, 0xff, nodes * sizeof *number);
    sum_segments(work, number);
    if (!work->status)
        sum_faces(work, number);
    abut_status status = work->status ? work->status : gather(work, number);
    return status;
}

/* ---- all of it ---- */

static abut_status start_sets(patch_work *work) {
    work->parent_room = 2 * work->crossing_count + 64;
    work->parent = abuti_patch_take(work->memory, work->parent_room, sizeof *work->parent);
    if (!work->parent)
        return ABUT_ERROR_MEMORY;
    for (size_t i = 0; i < work->crossing_count; i++)
        work->parent[i] = (uint32_t)i;
    for (size_t i = 0; i < work->segment_count; i++) {
        abuti_join(work->parent, work->segments[i].from, work->segments[i].to);
        for (uint32_t side = 0; side < 2; side++)
            set_bit(work->marks[side].cut, work->segments[i].face[side]);
    }
    return ABUT_OK;
}

abut_status abuti_patch_find(patch_work *work, const pair_frame *frame) {
    for (int attempt = 0; attempt < 8; attempt++) {
        work->flat = false;
        forget_places(work);
        work->crossing_count = work->segment_count = 0;
        work->marks[0].edge = NULL; /* to be made anew */
        abuti_pair_candidates(frame, visit, work);
        work->status = work->status ? work->status : abuti_stop_status("contacts");
        if (work->status || !work->flat)
            break;
        work->body[0].seed += UINT64_C(0xd1342543de82ef95);
    }
    if (work->status || !work->segment_count)
        return work->status;
    abut_status status = start_sets(work);
    if (status)
        return status;
    order_ridges(work);
    spread(work, frame);
    return work->status ? work->status : sum(work);
}
