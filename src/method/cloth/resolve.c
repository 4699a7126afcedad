/* Directions in which intersecting surfaces separate.
 *
 * A contour may cut a piece off a surface: a flap that has passed through another sheet, or the
 * part of a sheet inside a body. The smaller piece is on the wrong side, as in the global
 * intersection analysis of Baraff, Witkin and Kass (2003); of a solid body it is the inside. It
 * moves as a whole along the mean normal of the surface that it crosses, so that pieces of any
 * depth come out. Vertices that are only somewhat inside a solid body move to its closest point.
 *
 * A contour that cuts nothing off, such as a slit where two sheets are put into each other, is
 * shortened: both surfaces move along the gradient of its length (Volino and Magnenat-Thalmann
 * 2006, section 3), summed over the contour; for a contour that ends in the interior of a sheet,
 * where it folds into itself, each crossing moves on its own. */
#include "cloth/untangle.h"

/* A contour is transversal if the mean |cosine| of the normals of its triangles is below this. */
#define TRANSVERSAL_COSINE 0.7
/* |sum of unit vectors| per crossing: below it they have no common direction. */
#define MIN_COHERENCE 0.35
/* Iterations without success after which the other way of leaving a body is tried. */
enum { PATIENCE = 6 };
/* The largest contribution of a crossing to the gradient, since that of almost parallel surfaces
 * is not bounded. */
#define GRADIENT_MAX 4.0

/* Fraction of the way to the mean of its neighbours that a vertex of crumpled cloth moves, and its
 * weight relative to other motion. */
#define SMOOTHING 0.5
#define SMOOTHING_WEIGHT 4

/* ---- pieces ---- */

/* A piece of a surface that a contour cuts off. */
typedef struct piece {
    bool exists;
    bool is_above; /* it is on the side of the normals of the other surface */
    const uint32_t *list;
    uint32_t count;
    vec3 direction; /* of the first surface relative to the second: unit, or 0 without one */
    double depth;   /* along it */
} piece;

typedef struct contour_sides {
    const cloth_contour *contour;
    const cloth_crossing *list[2]; /* of edges of either surface */
    uint32_t count[2];
    vec3 centre;
    double cosine;
} contour_sides;

static bool is_marked(const cloth_untangler *u, uint32_t v, bool above) {
    return u->mark[v] == u->stamp + above;
}

/* Puts a vertex into a queue. Returns false if it is on the other side. */
static bool mark_vertex(cloth_untangler *u, uint32_t v, bool above, uint32_t count[2]) {
    if (is_marked(u, v, !above))
        return false;
    if (!is_marked(u, v, above)) {
        u->mark[v] = u->stamp + above;
        u->queue[above][count[above]++] = v;
    }
    return true;
}

/* Marks the ends of the edges that cross the contour, and edges that the curve cuts: those with an
 * odd number of crossings. Returns false for a vertex on both sides. */
static bool mark_seeds(cloth_untangler *u, const cloth_crossing *list, uint32_t count,
                       uint32_t marked[2]) {
    u->stamp += 2;
    for (uint32_t i = 0, next; i < count; i = next) {
        uint32_t end[2];
        for (next = i + 1; next < count && list[next].edge == list[i].edge; next++)
            ;
        cloth_edge_ends(u->c, list[i].edge, end);
        if (!mark_vertex(u, end[0], list[i].first_is_above, marked) ||
            !mark_vertex(u, end[1], !list[next - 1].first_is_above, marked))
            return false;
        if ((next - i) % 2)
            u->cut[list[i].edge] = u->stamp;
    }
    return true;
}

/* Marks the neighbours of a vertex across edges that are not cut. */
static bool mark_neighbours(cloth_untangler *u, uint32_t v, bool above, uint32_t count[2]) {
    const abut_cloth *c = u->c;
    const bool is_body = v >= c->vertices;
    const abut_topology_arrays *view = &c->groups[is_body].view;
    const uint32_t local = v - (is_body ? c->vertices : 0),
                   first_edge = is_body ? cloth_sheet_edges(c) : 0;
    for (uint32_t k = view->vertex_face_begin[local]; k < view->vertex_face_begin[local + 1]; k++)
        for (uint32_t side = 0; side < 3; side++) {
            const uint32_t edge = view->triangle_edges[3 * (size_t)view->vertex_faces[k] + side];
            if (edge == ABUT_NONE || u->cut[edge + first_edge] == u->stamp)
                continue;
            uint32_t end[2];
            cloth_edge_ends(c, edge + first_edge, end);
            if ((end[0] == v || end[1] == v) &&
                !mark_vertex(u, end[0] == v ? end[1] : end[0], above, count))
                return false;
        }
    return true;
}

/* The smaller piece that a contour cuts off a surface: both sides grow by turns until one of them
 * is complete. There is none if the sides are connected. */
static piece find_piece(cloth_untangler *u, const cloth_crossing *list, uint32_t count) {
    uint32_t marked[2] = {0, 0};
    if (!mark_seeds(u, list, count, marked))
        return (piece){.exists = false};
    for (uint32_t i = 0; i < marked[0] && i < marked[1]; i++)
        for (int above = 0; above < 2; above++)
            if (!mark_neighbours(u, u->queue[above][i], above, marked))
                return (piece){.exists = false};
    const bool above = marked[1] < marked[0];
    return (
        piece){.exists = true, .is_above = above, .list = u->queue[above], .count = marked[above]};
}

static bool is_inside(const cloth_untangler *u, uint32_t v) {
    return u->nearest[v].triangle != ABUT_NONE && u->nearest[v].distance < 0;
}

/* The part of a sheet inside solid bodies at a contour. */
static piece find_inside(cloth_untangler *u, const cloth_crossing *list, uint32_t count) {
    const abut_topology_arrays *view = &u->c->groups[SHEETS].view;
    uint32_t used = 0;
    u->stamp += 2;
    for (uint32_t i = 0; i < 2 * count; i++) {
        uint32_t end[2];
        cloth_edge_ends(u->c, list[i / 2].edge, end);
        if (u->mark[end[i % 2]] != u->stamp && is_inside(u, end[i % 2])) {
            u->mark[end[i % 2]] = u->stamp;
            u->queue[0][used++] = end[i % 2];
        }
    }
    for (uint32_t i = 0; i < used; i++) {
        const uint32_t v = u->queue[0][i];
        for (uint32_t k = view->vertex_face_begin[v]; k < view->vertex_face_begin[v + 1]; k++)
            for (uint32_t side = 0; side < 3; side++) {
                const uint32_t w =
                    u->c->groups[SHEETS].indices[3 * (size_t)view->vertex_faces[k] + side];
                if (u->mark[w] == u->stamp || !is_inside(u, w))
                    continue;
                u->mark[w] = u->stamp;
                u->queue[0][used++] = w;
            }
    }
    bool above = false; /* the inside; normals of most bodies point outwards */
    for (uint32_t i = 0; i < count; i++) {
        uint32_t end[2];
        cloth_edge_ends(u->c, list[i].edge, end);
        if (is_inside(u, end[0]) != is_inside(u, end[1])) {
            above = is_inside(u, end[0]) == list[i].first_is_above;
            break;
        }
    }
    return (piece){.exists = true, .is_above = above, .list = u->queue[0], .count = used};
}

/* Sets the direction in which the piece of `side` leaves the other surface, as a motion of the
 * first surface, and its depth. */
static void find_direction(const cloth_untangler *u, const contour_sides *s, int side, piece *p) {
    vec3 sum = v3(0, 0, 0);
    double total = 0;
    for (uint32_t i = 0; i < s->count[side]; i++) {
        const cloth_crossing *x = &s->list[side][i];
        const vec3 normal = v3_normalise(cloth_face_normal(u->c, x->face));
        sum = v3_along(sum, x->weight, normal);
        total += x->weight;
    }
    const double length = cloth_length(sum), sign = p->is_above ? -1 : 1;
    p->direction = v3(0, 0, 0);
    if (!(length > MIN_COHERENCE * total))
        return;
    p->direction = v3_scale(sum, sign / length);
    p->depth = 0;
    for (uint32_t i = 0; i < p->count; i++)
        p->depth =
            fmax(p->depth, v3_dot(v3_sub(s->centre, u->c->position[p->list[i]]), p->direction));
    p->direction = v3_scale(p->direction, side ? -1 : 1);
}

/* ---- motion ---- */

static void push_vertex(cloth_untangler *u, uint32_t v, double weight, vec3 way) {
    if (v >= u->c->vertices || !(u->c->inverse_mass[v] > 0))
        return;
    u->push[v] = v3_along(u->push[v], weight, way);
    u->weight[v] += weight;
}

static void push_face(cloth_untangler *u, uint32_t face, vec3 way) {
    uint32_t corner[3];
    cloth_face_corners(u->c, face, corner);
    for (int k = 0; k < 3; k++)
        push_vertex(u, corner[k], 1, way);
}

static void push_edge(cloth_untangler *u, uint32_t edge, vec3 way) {
    uint32_t end[2];
    cloth_edge_ends(u->c, edge, end);
    push_vertex(u, end[0], 1, way);
    push_vertex(u, end[1], 1, way);
}

/* Moves the triangles along a contour: those of the first surface by `way`, the others by its
 * opposite; half as far if both can move. */
static void push_contour(cloth_untangler *u, const contour_sides *s, vec3 way) {
    const double share = s->contour->body ? 1 : 0.5;
    for (int side = 0; side < 2; side++)
        for (uint32_t i = 0; i < s->count[side]; i++) {
            push_edge(u, s->list[side][i].edge, v3_scale(way, side ? -share : share));
            push_face(u, s->list[side][i].face, v3_scale(way, side ? share : -share));
        }
}

static void push_piece(cloth_untangler *u, const contour_sides *s, int side, const piece *p,
                       vec3 way) {
    const double share = s->contour->body ? 1 : 0.5;
    for (uint32_t i = 0; i < p->count; i++)
        push_vertex(u, p->list[i], 1, v3_scale(way, side ? -share : share));
}

/* Moves the vertices of a piece inside a body to the closest points of the body. */
static void push_to_nearest(cloth_untangler *u, const piece *p) {
    for (uint32_t i = 0; i < p->count; i++) {
        const uint32_t v = p->list[i];
        const vec3 way = v3_sub(u->nearest[v].point, u->c->position[v]);
        const double length = cloth_length(way);
        if (length > 0)
            push_vertex(u, v, 2, v3_scale(way, 1 + u->clearance / length));
    }
}

/* ---- gradients ---- */

/* The direction in which an edge shortens the contour, relative to the triangle. */
static vec3 gradient_at(const abut_cloth *c, const cloth_crossing *x) {
    uint32_t end[2];
    cloth_edge_ends(c, x->edge, end);
    const vec3 edge = v3_normalise(v3_sub(c->position[end[1]], c->position[end[0]])),
               normal = v3_normalise(cloth_face_normal(c, x->face));
    const double across = v3_dot(edge, normal), along = v3_dot(x->along, edge);
    vec3 way = x->along;
    if (fabs(across) > 1e-6)
        way = v3_along(way, -along / across, normal);
    const double length = cloth_length(way);
    return length > GRADIENT_MAX ? v3_scale(way, GRADIENT_MAX / length) : way;
}

static void follow_gradients(cloth_untangler *u, const contour_sides *s) {
    const double share = s->contour->body ? 1 : 0.5;
    vec3 sum = v3(0, 0, 0);
    double largest = 0;
    for (int side = 0; side < 2; side++)
        for (uint32_t i = 0; i < s->count[side]; i++) {
            const vec3 way = gradient_at(u->c, &s->list[side][i]);
            sum = v3_along(sum, side ? -1 : 1, way);
            largest = fmax(largest, cloth_length(way));
        }
    const double length = cloth_length(sum);
    if (!s->contour->is_joined && length > 0.5 && u->stagnation % (2 * PATIENCE) < PATIENCE) {
        push_contour(u, s, v3_scale(sum, u->step_max / length));
        return;
    }
    for (int side = 0; side < 2 && largest > 0; side++)
        for (uint32_t i = 0; i < s->count[side]; i++) {
            const cloth_crossing *x = &s->list[side][i];
            const vec3 way = v3_scale(gradient_at(u->c, x), share * u->step_max / largest);
            push_edge(u, x->edge, way);
            push_face(u, x->face, v3_scale(way, -1));
        }
}

/* ---- contours ---- */

static contour_sides sides_of(const cloth_untangler *u, const cloth_contour *contour) {
    const cloth_crossing *list = &ABUTI_AT(&u->contours.crossings, cloth_crossing, contour->first);
    contour_sides s = {.contour = contour, .list = {list, list}, .centre = v3(0, 0, 0)};
    while (s.count[0] < contour->count && !list[s.count[0]].side)
        s.count[0]++;
    s.list[1] = list + s.count[0];
    s.count[1] = contour->count - s.count[0];
    for (uint32_t i = 0; i < contour->count; i++) {
        const abut_cloth *c = u->c;
        uint32_t end[2];
        cloth_edge_ends(c, list[i].edge, end);
        const vec3 edge = v3_normalise(v3_sub(c->position[end[1]], c->position[end[0]]));
        const vec3 normal = v3_normalise(cloth_face_normal(c, list[i].face));
        s.centre = v3_along(s.centre, 1.0 / contour->count, list[i].at);
        s.cosine += (1 - fabs(v3_dot(edge, normal))) / contour->count;
    }
    return s;
}

static void resolve_contour(cloth_untangler *u, const cloth_contour *contour) {
    const contour_sides s = sides_of(u, contour);
    if (contour->is_joined) {
        follow_gradients(u, &s);
        return;
    }
    /* Queues hold one piece at a time: the second is found again for its motion. */
    const bool is_solid = contour->body && u->bodies_are_solid;
    piece p[2];
    p[1] = find_piece(u, s.list[1], s.count[1]);
    if (p[1].exists)
        find_direction(u, &s, 1, &p[1]);
    p[0] = is_solid ? find_inside(u, s.list[0], s.count[0]) : find_piece(u, s.list[0], s.count[0]);
    if (p[0].exists)
        find_direction(u, &s, 0, &p[0]);
    const bool is_deep = p[0].exists && p[1].exists && p[0].count && s.cosine < TRANSVERSAL_COSINE;
    const bool is_other = u->stagnation / PATIENCE % 2;
    if (is_solid && p[0].count && is_deep == is_other) {
        push_to_nearest(u, &p[0]);
        return;
    }
    int chosen = -1;
    for (int side = 0; side < 2; side++)
        if (p[side].exists && v3_dot(p[side].direction, p[side].direction) > 0 &&
            (chosen < 0 || p[side].depth < p[chosen].depth))
            chosen = side;
    if (chosen < 0) {
        if (is_solid && p[0].count)
            push_to_nearest(u, &p[0]);
        else
            follow_gradients(u, &s);
        return;
    }
    const double step = fmin(p[chosen].depth + u->clearance, u->step_max);
    const vec3 way = v3_scale(p[chosen].direction, step);
    if (p[0].exists)
        push_piece(u, &s, 0, &p[0], way);
    push_contour(u, &s, way);
    if (p[1].exists && !contour->body) {
        p[1] = find_piece(u, s.list[1], s.count[1]);
        push_piece(u, &s, 1, &p[1], way);
    }
}

/* ---- pairs without a contour ---- */

/* Triangles that only touch, or are coplanar: moves them apart along the normal of one of them. */
static void part_touching(cloth_untangler *u, uint32_t a, uint32_t b) {
    const abut_cloth *c = u->c;
    uint32_t v[2][3];
    vec3 off = v3(0, 0, 0), normal = v3_normalise(cloth_face_normal(c, b));
    cloth_face_corners(c, a, v[0]);
    cloth_face_corners(c, b, v[1]);
    for (int k = 0; k < 3; k++)
        off = v3_add(off, v3_sub(c->position[v[0][k]], c->position[v[1][k]]));
    const double sign = v3_dot(off, normal) < 0 ? -1 : 1;
    push_face(u, a, v3_scale(normal, sign * u->clearance));
    push_face(u, b, v3_scale(normal, -sign * u->clearance));
}

/* ---- pairs of neighbours ---- */

static bool share_vertex(const uint32_t a[3], const uint32_t b[3]) {
    for (int i = 0; i < 9; i++)
        if (a[i / 3] == b[i % 3])
            return true;
    return false;
}

vec3 abuti_cloth_way_to_mean(const abut_cloth *c, uint32_t v) {
    const cloth_group *g = &c->groups[SHEETS];
    vec3 sum = v3(0, 0, 0);
    uint32_t count = 0;
    for (uint32_t k = g->view.vertex_face_begin[v]; k < g->view.vertex_face_begin[v + 1]; k++)
        for (uint32_t side = 0; side < 3; side++) {
            const uint32_t w = g->indices[3 * (size_t)g->view.vertex_faces[k] + side];
            if (w != v)
                sum = v3_add(sum, v3_sub(c->position[w], c->position[v]));
            count += w != v;
        }
    return count ? v3_scale(sum, 1.0 / count) : sum;
}

/* Triangles with a common vertex intersect where a sheet is crumpled: it is smoothed there. If
 * nothing else helps, also between other triangles of one sheet. */
static void smooth_neighbours(cloth_untangler *u, uint32_t a, uint32_t b) {
    uint32_t v[2][3];
    cloth_face_corners(u->c, a, v[0]);
    cloth_face_corners(u->c, b, v[1]);
    if (cloth_face_is_of_body(u->c, b) ||
        (!share_vertex(v[0], v[1]) &&
         (u->stagnation < 2 * PATIENCE || u->c->part_of[v[0][0]] != u->c->part_of[v[1][0]])))
        return;
    for (int i = 0; i < 6; i++)
        push_vertex(u, v[i / 3][i % 3], SMOOTHING_WEIGHT,
                    v3_scale(abuti_cloth_way_to_mean(u->c, v[i / 3][i % 3]), SMOOTHING));
}

abut_status abuti_cloth_resolve_contours(cloth_untangler *u) {
    const cloth_contours *found = &u->contours;
    abut_cloth *c = u->c;
    abut_status status = ABUT_OK;
    memset(u->push, 0, c->vertices * sizeof *u->push);
    memset(u->weight, 0, c->vertices * sizeof *u->weight);
    if (u->bodies_are_solid)
        status = abut_sign_nearest_batch(c->groups[BODIES].bvh, abut_array_host(c->position),
                                         c->vertices, INFINITY, abut_array_host(u->nearest));
    for (size_t i = 0; i < found->contours.count && !status; i++)
        resolve_contour(u, &ABUTI_AT(&found->contours, cloth_contour, i));
    for (size_t i = 0; i < found->pairs.count && !status; i++) {
        const uint64_t pair = ABUTI_AT(&found->pairs, uint64_t, i);
        if (ABUTI_AT(&found->ends, uint32_t, 2 * i) == ABUT_NONE)
            part_touching(u, (uint32_t)(pair >> 32), (uint32_t)pair);
        smooth_neighbours(u, (uint32_t)(pair >> 32), (uint32_t)pair);
    }
    return status;
}
