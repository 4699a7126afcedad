/* Incremental remeshing (Botsch & Kobbelt, "A remeshing approach to multiresolution modeling", SGP
 * 2004, section 4): split edges longer than 4/3 of the wanted length, collapse those shorter than
 * 4/5 of it, flip edges towards vertices of six edges, move vertices within the tangent plane to
 * the middle of their neighbours and back onto the surface; repeat.
 *
 * Triangles are kept as half-edges: number 3 t + i leads from corner i of triangle t to the next
 * one, and `twin` is the same edge of the neighbour. No step makes an edge with three faces, joins
 * two borders or turns a triangle over. In the end the shortest edges are collapsed, or the longest
 * split, until the count is met.
 */
#include "mesh/remesh.h"

#include <math.h>

/* A vertex with more edges is left alone. */
#define RING_MAX 240
/* Edges are split at most so many times in a round. */
#define SWEEPS 24
/* Collapsing and flipping may not turn a triangle by more than acos of this. */
#define TURN_MIN 0.5
/* Triangles of a worse shape (see shape_of) are not made, and collapsed in the end. */
#define SHAPE_MIN 0.25
/* A border that turns by more than acos of this has a corner there, which stays. */
#define CORNER_MIN 0.5

typedef struct remesher {
    abut_context *context;
    const abuti_remesh *how;
    double factor; /* of how->length */
    vec3 *positions;
    double *lengths;            /* that edges at a vertex shall have, without `factor` */
    uint32_t *corners;          /* of triangles; ABUT_NONE = it is gone */
    uint32_t *twin;             /* ABUT_NONE = the border */
    uint32_t *out;              /* a half-edge that leaves a vertex; ABUT_NONE = it is gone */
    size_t vertices, triangles; /* that ever were */
    size_t rooms[5];            /* of the arrays */
    size_t vertex_count, triangle_count; /* that are */
} remesher;

/* The edges around a vertex, counter-clockwise. */
typedef struct vertex_ring {
    uint32_t edges[RING_MAX]; /* half-edges that leave it */
    uint32_t ends[RING_MAX + 1];
    uint32_t count;     /* of edges; on a border there is one more end */
    uint32_t end_count; /* 0 = too many, or none */
    bool border;
} vertex_ring;

static uint32_t next_of(uint32_t h) {
    return h % 3 == 2 ? h - 2 : h + 1;
}
static uint32_t previous_of(uint32_t h) {
    return h % 3 == 0 ? h + 2 : h - 1;
}
static uint32_t end_of(const remesher *r, uint32_t h) {
    return r->corners[next_of(h)];
}

/* ---- half-edges ---- */

/* Makes room for so many more. */
static abut_status reserve(remesher *r, size_t vertices, size_t triangles) {
    size_t v = r->vertices, t = 3 * r->triangles, vs = v + vertices, ts = t + 3 * triangles;
    abut_context *context = r->context;
    if (vs >= ABUT_NONE || ts >= ABUT_NONE)
        return abuti_fail(ABUT_ERROR_LIMIT, "a mesh in the making has too many triangles");
    if (abuti_grow(context, &r->positions, v, vs, sizeof(vec3), &r->rooms[0]) ||
        abuti_grow(context, &r->lengths, v, vs, sizeof(double), &r->rooms[1]) ||
        abuti_grow(context, &r->out, v, vs, sizeof(uint32_t), &r->rooms[2]) ||
        abuti_grow(context, &r->corners, t, ts, sizeof(uint32_t), &r->rooms[3]) ||
        abuti_grow(context, &r->twin, t, ts, sizeof(uint32_t), &r->rooms[4]))
        return ABUT_ERROR_MEMORY;
    return ABUT_OK;
}

/* Pairs half-edges by sorting them by their ends. */
static abut_status pair_edges(remesher *r) {
    size_t count = 3 * r->triangles;
    sort_key *keys = abuti_allocate(r->context, 2 * count, sizeof *keys);
    if (!keys)
        return ABUT_ERROR_MEMORY;
    for (uint32_t h = 0; h < count; h++) {
        uint64_t a = r->corners[h], b = end_of(r, h);
        keys[h] = (sort_key){a < b ? a << 32 | b : b << 32 | a, h};
        r->twin[h] = ABUT_NONE;
        r->out[a] = h;
    }
    const sort_key *sorted = abuti_sort_by_key(keys, keys + count, count);
    for (size_t i = 0; i + 1 < count; i++)
        if (sorted[i].key == sorted[i + 1].key) {
            r->twin[sorted[i].value] = sorted[i + 1].value;
            r->twin[sorted[i + 1].value] = sorted[i].value;
            i++;
        }
    abuti_release(r->context, keys);
    return ABUT_OK;
}

static void pair_up(remesher *r, uint32_t a, uint32_t b) {
    if (a != ABUT_NONE)
        r->twin[a] = b;
    if (b != ABUT_NONE)
        r->twin[b] = a;
}

/* Goes round a vertex: from the border, where it has one. */
static void go_round(const remesher *r, uint32_t vertex, vertex_ring *ring) {
    uint32_t first = r->out[vertex], steps = 0;
    ring->count = ring->end_count = 0;
    ring->border = false;
    if (first == ABUT_NONE)
        return;
    for (uint32_t h = first; r->twin[h] != ABUT_NONE; steps++) { /* clockwise */
        h = next_of(r->twin[h]);
        if (h == first || steps > RING_MAX)
            break;
        if (r->twin[h] == ABUT_NONE) {
            first = h;
            break;
        }
    }
    ring->border = r->twin[first] == ABUT_NONE;
    for (uint32_t h = first;;) {
        if (ring->count == RING_MAX)
            return; /* end_count is 0 */
        ring->edges[ring->count] = h;
        ring->ends[ring->count++] = end_of(r, h);
        uint32_t before = previous_of(h);
        h = r->twin[before];
        if (h == ABUT_NONE)
            ring->ends[ring->count] = r->corners[before];
        if (h == ABUT_NONE || h == first)
            break;
    }
    ring->end_count = ring->count + ring->border;
}

/* ---- measures ---- */

static vec3 normal_of(vec3 a, vec3 b, vec3 c) {
    return v3_cross(v3_sub(b, a), v3_sub(c, a));
}

static vec3 normal_at(const remesher *r, uint32_t triangle) {
    const uint32_t *c = r->corners + 3 * (size_t)triangle;
    return normal_of(r->positions[c[0]], r->positions[c[1]], r->positions[c[2]]);
}

/* Whether the directions of two normals differ by little, and neither is zero. */
static bool agree(vec3 a, vec3 b) {
    double dot = v3_dot(a, b);
    return dot > 0 && dot * dot > TURN_MIN * TURN_MIN * v3_length_sq(a) * v3_length_sq(b);
}

/* Twice the area by the square of the longest side: 0.87 for equal sides. */
static double shape_of(vec3 a, vec3 b, vec3 c) {
    double longest = fmax(v3_length_sq(v3_sub(b, a)),
                          fmax(v3_length_sq(v3_sub(c, b)), v3_length_sq(v3_sub(a, c))));
    return longest > 0 ? v3_length(normal_of(a, b, c)) / longest : 0;
}

/* The length of an edge as a share of what it shall have, squared. */
static double share_sq(const remesher *r, uint32_t a, uint32_t b) {
    double wanted = 0.5 * r->factor * (r->lengths[a] + r->lengths[b]);
    return v3_length_sq(v3_sub(r->positions[a], r->positions[b])) / (wanted * wanted);
}

static vec3 on_surface(const remesher *r, vec3 p) {
    return r->how->project ? r->how->project(r->how->data, p) : p;
}

static double length_at(const remesher *r, vec3 p) {
    return r->how->length ? r->how->length(r->how->data, p) : 1;
}

/* Whether a vertex can go to `to` without turning over a triangle; those with `not_with` go away.
 * If none does, neither may it make a sliver; collapses of a fine mesh may for a while. */
static bool can_move(const remesher *r, const vertex_ring *ring, vec3 to, uint32_t not_with) {
    for (uint32_t i = 0; i < ring->count; i++) {
        uint32_t h = ring->edges[i], b = end_of(r, h), c = r->corners[previous_of(h)];
        if (b == not_with || c == not_with)
            continue;
        vec3 pb = r->positions[b], pc = r->positions[c], old = r->positions[r->corners[h]];
        if (!agree(normal_at(r, h / 3), normal_of(to, pb, pc)))
            return false;
        double shape = not_with == ABUT_NONE ? shape_of(to, pb, pc) : 1;
        if (shape < SHAPE_MIN && shape < shape_of(old, pb, pc))
            return false;
    }
    return true;
}

/* ---- collapsing ---- */

static bool is_among(const uint32_t *list, uint32_t count, uint32_t what) {
    for (uint32_t i = 0; i < count; i++)
        if (list[i] == what)
            return true;
    return false;
}

/* Whether the edge from a to b can go: its ends have no neighbours in common but those of its own
 * triangles (the link condition), and it does not lead from border to border. */
static bool may_collapse(const remesher *r, uint32_t h, const vertex_ring *ra,
                         const vertex_ring *rb) {
    uint32_t a = r->corners[h], b = end_of(r, h), common = 0, sides = 1 + (r->twin[h] != ABUT_NONE);
    if (!ra->end_count || !rb->end_count || (sides == 2 && ra->border && rb->border))
        return false;
    for (uint32_t i = 0; i < ra->end_count; i++)
        common += ra->ends[i] != b && is_among(rb->ends, rb->end_count, ra->ends[i]);
    if (common != sides || ra->end_count + rb->end_count - 2 - sides < 3)
        return false;
    for (uint32_t side = 0; side < sides; side++) { /* nobody may be left with two edges */
        vertex_ring other;
        go_round(r, r->corners[previous_of(side ? r->twin[h] : h)], &other);
        if (other.end_count < 4)
            return false;
    }
    return a != b;
}

/* Takes the triangle of a half-edge away and joins its other two sides. */
static void remove_side(remesher *r, uint32_t h, uint32_t kept) {
    uint32_t after = r->twin[next_of(h)], before = r->twin[previous_of(h)];
    uint32_t tip = r->corners[previous_of(h)];
    pair_up(r, after, before);
    /* `after` and `before` are the two directions of one edge between `kept` and the tip now. */
    uint32_t from_tip = ABUT_NONE, from_kept = ABUT_NONE;
    const uint32_t two[2] = {after, before};
    for (int i = 0; i < 2; i++)
        if (two[i] != ABUT_NONE) {
            uint32_t then = next_of(two[i]);
            if (r->corners[two[i]] == tip)
                from_tip = two[i], from_kept = then;
            else if (from_tip == ABUT_NONE)
                from_kept = two[i], from_tip = then;
        }
    if (from_tip != ABUT_NONE)
        r->out[tip] = from_tip;
    if (from_kept != ABUT_NONE)
        r->out[kept] = from_kept;
    for (uint32_t i = 0; i < 3; i++)
        r->corners[h / 3 * 3 + i] = ABUT_NONE;
    r->triangle_count--;
}

static bool is_corner(const remesher *r, const vertex_ring *ring, uint32_t vertex) {
    vec3 p = r->positions[vertex];
    vec3 to = v3_normalise(v3_sub(r->positions[ring->ends[0]], p));
    vec3 from = v3_normalise(v3_sub(p, r->positions[ring->ends[ring->end_count - 1]]));
    return v3_dot(to, from) < CORNER_MIN;
}

/* Collapses an edge where nothing speaks against it; `longest_sq`: no edge may become longer, as a
 * share of its wanted length. By force triangles may turn over. */
static bool collapse(remesher *r, uint32_t h, double longest_sq, bool force) {
    vertex_ring ra, rb;
    uint32_t a = r->corners[h], b = end_of(r, h);
    go_round(r, a, &ra);
    go_round(r, b, &rb);
    if (!may_collapse(r, h, &ra, &rb))
        return false;
    bool stays_a = ra.border && (!rb.border || is_corner(r, &ra, a));
    bool stays_b = rb.border && (!ra.border || is_corner(r, &rb, b));
    if (stays_a && stays_b && !force)
        return false;
    vec3 old = r->positions[a], to = stays_a   ? old
                                     : stays_b ? r->positions[b]
                                               : v3_lerp(old, r->positions[b], 0.5);
    if (!stays_a && !stays_b)
        to = on_surface(r, to);
    if (!force && (!can_move(r, &ra, to, b) || !can_move(r, &rb, to, a)))
        return false;
    double length = stays_b ? r->lengths[b] : length_at(r, to), old_length = r->lengths[a];
    r->positions[a] = to;
    r->lengths[a] = length;
    bool fits = true;
    for (uint32_t i = 0; i < ra.end_count && fits; i++)
        fits = ra.ends[i] == b || share_sq(r, a, ra.ends[i]) <= longest_sq;
    for (uint32_t i = 0; i < rb.end_count && fits; i++)
        fits = rb.ends[i] == a || share_sq(r, a, rb.ends[i]) <= longest_sq;
    if (!fits) {
        r->positions[a] = old;
        r->lengths[a] = old_length;
        return false;
    }
    uint32_t twin = r->twin[h];
    for (uint32_t i = 0; i < rb.count; i++)
        r->corners[rb.edges[i]] = a;
    r->out[b] = ABUT_NONE;
    r->vertex_count--;
    remove_side(r, h, a);
    if (twin != ABUT_NONE)
        remove_side(r, twin, a);
    return true;
}

/* ---- splitting and flipping ---- */

static abut_status split(remesher *r, uint32_t h) {
    abut_status status = reserve(r, 1, 2);
    if (status)
        return status;
    uint32_t a = r->corners[h], b = end_of(r, h), twin = r->twin[h], middle = (uint32_t)r->vertices;
    vec3 to = v3_lerp(r->positions[a], r->positions[b], 0.5);
    if (twin != ABUT_NONE) { /* halves must be shorter than the whole, or splits never end */
        vec3 there = on_surface(r, to);
        double way_sq = v3_length_sq(v3_sub(there, to)),
               whole_sq = v3_length_sq(v3_sub(r->positions[a], r->positions[b]));
        to = way_sq < 0.0625 * whole_sq ? there : to;
    }
    r->positions[middle] = to;
    r->lengths[middle] = length_at(r, to);
    r->vertices++;
    r->vertex_count++;
    uint32_t halves[2] = {ABUT_NONE, ABUT_NONE}; /* from the middle to the end of each side */
    for (int side = 0; side < 2; side++) {
        uint32_t e = side ? twin : h;
        if (e == ABUT_NONE)
            break;
        /* (a, b, c) becomes (a, m, c), and (m, b, c) is new. */
        uint32_t made = 3 * (uint32_t)r->triangles, last = next_of(e);
        r->triangles++;
        r->triangle_count++;
        r->corners[made] = middle;
        r->corners[made + 1] = r->corners[last];
        r->corners[made + 2] = r->corners[previous_of(e)];
        r->out[r->corners[last]] = made + 1;
        pair_up(r, made + 1, r->twin[last]);
        pair_up(r, made + 2, last);
        r->corners[last] = middle;
        r->twin[made] = ABUT_NONE;
        halves[side] = made;
    }
    r->out[middle] = halves[0];
    if (twin != ABUT_NONE) {
        pair_up(r, h, halves[1]);
        pair_up(r, twin, halves[0]);
    }
    return ABUT_OK;
}

/* How far a vertex is from the number of edges it should have, squared. */
static int32_t irregular(const vertex_ring *ring, int32_t more) {
    int32_t off = (int32_t)ring->end_count + more - (ring->border ? 4 : 6);
    return off * off;
}

/* Flips an edge where that makes valences more even. */
static void flip(remesher *r, uint32_t h) {
    uint32_t twin = r->twin[h];
    if (twin == ABUT_NONE || r->corners[h] == ABUT_NONE)
        return;
    uint32_t h1 = next_of(h), h2 = previous_of(h), t1 = next_of(twin), t2 = previous_of(twin);
    uint32_t a = r->corners[h], b = r->corners[h1], c = r->corners[h2], d = r->corners[t2];
    vertex_ring rings[4];
    go_round(r, a, &rings[0]);
    go_round(r, b, &rings[1]);
    go_round(r, c, &rings[2]);
    go_round(r, d, &rings[3]);
    for (int i = 0; i < 4; i++)
        if (!rings[i].end_count || (i < 2 && rings[i].end_count < 4))
            return;
    int32_t now = 0, then = 0;
    for (int i = 0; i < 4; i++) {
        now += irregular(&rings[i], 0);
        then += irregular(&rings[i], i < 2 ? -1 : 1);
    }
    if (then >= now || c == d || is_among(rings[2].ends, rings[2].end_count, d))
        return;
    vec3 n0 = normal_at(r, h / 3), n1 = normal_at(r, twin / 3), mean = v3_add(n0, n1);
    const vec3 *p = r->positions;
    if (!agree(n0, n1) || !agree(mean, normal_of(p[c], p[a], p[d])) ||
        !agree(mean, normal_of(p[d], p[b], p[c])))
        return;
    /* (a, b, c) and (b, a, d) become (c, a, d) with d-c as h, and (d, b, c) with c-d as twin. */
    uint32_t of_h1 = r->twin[h1], of_h2 = r->twin[h2], of_t1 = r->twin[t1], of_t2 = r->twin[t2];
    r->corners[h] = d, r->corners[h1] = c, r->corners[h2] = a;
    r->corners[twin] = c, r->corners[t1] = d, r->corners[t2] = b;
    pair_up(r, h1, of_h2);
    pair_up(r, h2, of_t1);
    pair_up(r, t1, of_t2);
    pair_up(r, t2, of_h1);
    r->out[a] = h2, r->out[b] = t2, r->out[c] = h1, r->out[d] = t1;
}

/* ---- rounds ---- */

/* Whether no other edge of the triangles beside an edge is longer. */
static bool is_longest(const remesher *r, uint32_t h) {
    double share = share_sq(r, r->corners[h], end_of(r, h));
    const uint32_t sides[2] = {h, r->twin[h]};
    for (int i = 0; i < 2 && sides[i] != ABUT_NONE; i++)
        for (uint32_t e = next_of(sides[i]); e != sides[i]; e = next_of(e))
            if (share_sq(r, r->corners[e], end_of(r, e)) > share)
                return false;
    return true;
}

/* Splits long edges where no neighbour is longer, until none is left: a new edge is shorter than
 * the one that was split. Splits in any order need not end. */
static abut_status split_long(remesher *r) {
    abut_status status = ABUT_OK;
    bool again = true;
    for (int sweep = 0; again && sweep < SWEEPS && !status; sweep++) {
        again = false;
        for (uint32_t h = 0; h < 3 * r->triangles && !status; h++) {
            uint32_t a = r->corners[h];
            if (a != ABUT_NONE && share_sq(r, a, end_of(r, h)) > 16.0 / 9 && is_longest(r, h)) {
                status = split(r, h);
                again = true;
            }
        }
        if (!status && abuti_stop(r->context, "mesh"))
            status = abuti_stop_status("mesh");
    }
    return status;
}

static abut_status collapse_short(remesher *r) {
    for (uint32_t h = 0; h < 3 * r->triangles; h++) {
        if (h % 4096 == 0 && abuti_stop(r->context, "mesh"))
            return abuti_stop_status("mesh");
        uint32_t a = r->corners[h], twin = r->twin[h];
        if (a != ABUT_NONE && (twin == ABUT_NONE || h < twin) &&
            share_sq(r, a, end_of(r, h)) < 16.0 / 25)
            collapse(r, h, 16.0 / 9, false);
    }
    return ABUT_OK;
}

/* Moves a vertex of a border along it, and others within their tangent planes. */
static void relax(remesher *r, uint32_t vertex) {
    vertex_ring ring;
    vec3 p = r->positions[vertex], normal = v3(0, 0, 0), middle = v3(0, 0, 0);
    double total = 0;
    go_round(r, vertex, &ring);
    if (!ring.end_count || (ring.border && is_corner(r, &ring, vertex)))
        return;
    for (uint32_t i = 0; i < ring.count; i++) { /* triangles pull at their centres by their share */
        uint32_t h = ring.edges[i], b = end_of(r, h), c = r->corners[previous_of(h)];
        vec3 n = normal_at(r, h / 3);
        double length = (r->lengths[b] + r->lengths[c] + r->lengths[vertex]) / 3;
        double weight = v3_length(n) / (length * length);
        vec3 centre = v3_scale(v3_add(p, v3_add(r->positions[b], r->positions[c])), 1.0 / 3);
        normal = v3_add(normal, n);
        middle = v3_along(middle, weight, centre);
        total += weight;
    }
    if (!(total > 0))
        return;
    vec3 move;
    if (ring.border) {
        vec3 from = r->positions[ring.ends[0]], to = r->positions[ring.ends[ring.count]];
        vec3 along = v3_normalise(v3_sub(to, from));
        move = v3_scale(along, v3_dot(along, v3_sub(v3_lerp(from, to, 0.5), p)));
    } else {
        normal = v3_normalise(normal);
        move = v3_sub(v3_scale(middle, 1 / total), p);
        move = v3_along(move, -v3_dot(move, normal), normal);
    }
    vec3 to = on_surface(r, v3_add(p, move));
    if (can_move(r, &ring, to, ABUT_NONE)) {
        r->positions[vertex] = to;
        r->lengths[vertex] = length_at(r, to);
    }
}

static abut_status even_out(remesher *r, int times) {
    for (int time = 0; time < times; time++) {
        for (uint32_t h = 0; h < 3 * r->triangles; h++)
            if (r->corners[h] != ABUT_NONE && r->twin[h] != ABUT_NONE && h < r->twin[h])
                flip(r, h);
        for (uint32_t v = 0; v < r->vertices; v++) {
            if (v % 4096 == 0 && abuti_stop(r->context, "mesh"))
                return abuti_stop_status("mesh");
            if (r->out[v] != ABUT_NONE)
                relax(r, v);
        }
    }
    return ABUT_OK;
}

static size_t count_of(const remesher *r) {
    return r->how->triangles ? r->triangle_count : r->vertex_count;
}

/* The factor of lengths for which triangles of equal sides cover the surface. */
static void choose_factor(remesher *r) {
    double cover = 0; /* in triangles of the wanted length */
    for (uint32_t t = 0; t < r->triangles; t++) {
        const uint32_t *c = r->corners + 3 * (size_t)t;
        double length = (r->lengths[c[0]] + r->lengths[c[1]] + r->lengths[c[2]]) / 3;
        cover += 0.5 * v3_length(normal_at(r, t)) / (0.4330127018922193 * length * length);
    }
    r->factor =
        sqrt(cover / (r->how->triangles ? (double)r->how->triangles : 2.0 * r->how->vertices));
}

/* Collapses the shortest edges or splits the longest until the count is met. */
static abut_status meet_count(remesher *r) {
    size_t wanted = r->how->triangles ? r->how->triangles : r->how->vertices;
    size_t count = 3 * r->triangles, known = r->vertices;
    sort_key *keys = abuti_allocate(r->context, 2 * count, sizeof *keys);
    unsigned char *touched = abuti_allocate_zeroed(r->context, r->vertices, 1);
    abut_status status = keys && touched ? ABUT_OK : ABUT_ERROR_MEMORY;
    bool fewer = count_of(r) > wanted;
    size_t edges = 0;
    for (uint32_t h = 0; h < count && !status; h++) {
        uint32_t a = r->corners[h], twin = r->twin[h];
        if (a == ABUT_NONE || (twin != ABUT_NONE && h > twin))
            continue;
        double share = fmin(share_sq(r, a, end_of(r, h)), 1e6);
        keys[edges++] = (sort_key){(uint64_t)(1e9 * (fewer ? share : 1e6 - share)), h};
    }
    const sort_key *sorted = status ? NULL : abuti_sort_by_key(keys, keys + count, edges);
    for (size_t i = 0; i < edges && !status && count_of(r) != wanted; i++) {
        uint32_t h = sorted[i].value, a = r->corners[h];
        if (a == ABUT_NONE || (fewer ? count_of(r) < wanted : count_of(r) > wanted))
            continue;
        uint32_t b = end_of(r, h);
        if (a >= known || b >= known || touched[a] || touched[b])
            continue;
        /* A whole round of splits would leave edges of very different lengths side by side. */
        touched[a] = touched[b] = 1;
        if (fewer)
            collapse(r, h, 4, false);
        else
            status = split(r, h);
    }
    ABUTI_RELEASE(r->context, keys, touched);
    return status;
}

/* Whether a triangle is a sliver, or folded back upon a neighbour. */
static bool is_bad(const remesher *r, uint32_t t) {
    const uint32_t *c = r->corners + 3 * (size_t)t;
    vec3 normal = normal_at(r, t);
    if (shape_of(r->positions[c[0]], r->positions[c[1]], r->positions[c[2]]) < SHAPE_MIN)
        return true;
    for (uint32_t h = 3 * t; h < 3 * t + 3; h++)
        if (r->twin[h] != ABUT_NONE && v3_dot(normal, normal_at(r, r->twin[h] / 3)) < 0)
            return true;
    return false;
}

/* Collapses the shortest side of bad triangles. */
static void remove_bad(remesher *r) {
    for (uint32_t t = 0; t < r->triangles; t++) {
        if (r->corners[3 * (size_t)t] == ABUT_NONE || !is_bad(r, t))
            continue;
        uint32_t best = 3 * t;
        for (uint32_t h = 3 * t + 1; h < 3 * t + 3; h++)
            if (share_sq(r, r->corners[h], end_of(r, h)) <
                share_sq(r, r->corners[best], end_of(r, best)))
                best = h;
        if (!collapse(r, best, 4, false))
            collapse(r, best, 4, true);
    }
}

static abut_status improve(remesher *r) {
    uint32_t rounds = r->how->rounds ? r->how->rounds : 6;
    size_t wanted = r->how->triangles ? r->how->triangles : r->how->vertices;
    abut_status status = ABUT_OK;
    choose_factor(r);
    for (uint32_t round = 0; round < rounds && !status; round++) {
        status = split_long(r);
        status = status ? status : collapse_short(r);
        status = status ? status : even_out(r, 1);
        /* Real edges are a little longer or shorter than wanted. */
        if (round > 0)
            r->factor *= sqrt((double)count_of(r) / (double)wanted);
        status = status ? status : abuti_progress(r->context, "mesh", (round + 1.0) / rounds);
    }
    for (int i = 0; i < 8 && !status; i++) {
        size_t before = count_of(r);
        if (i < 4)
            remove_bad(r);
        status = meet_count(r);
        status = status ? status : even_out(r, i < 2 ? 2 : 1);
        if (i > 1 && (count_of(r) == before || count_of(r) == wanted))
            break;
    }
    return status;
}

/* ---- in and out ---- */

static abut_status load(remesher *r, const abut_mesh *mesh) {
    abut_status status = reserve(r, mesh->vertex_count, mesh->triangle_count);
    if (status)
        return status;
    r->vertices = r->vertex_count = mesh->vertex_count;
    r->triangles = r->triangle_count = mesh->triangle_count;
    for (uint32_t v = 0; v < mesh->vertex_count; v++) {
        r->positions[v] = abuti_mesh_position(mesh, v);
        r->lengths[v] = length_at(r, r->positions[v]);
        r->out[v] = ABUT_NONE;
    }
    memcpy(r->corners, mesh->indices, 3 * r->triangles * sizeof *r->corners);
    status = pair_edges(r);
    for (uint32_t v = 0; v < mesh->vertex_count; v++)
        r->vertex_count -= r->out[v] == ABUT_NONE;
    return status;
}

static abut_status store(const remesher *r, const char *name, abut_mesh **mesh) {
    vec3 *positions = abuti_allocate(r->context, r->vertex_count, sizeof *positions);
    uint32_t *indices = abuti_allocate(r->context, r->triangle_count, 3 * sizeof *indices);
    uint32_t vertices = 0;
    size_t corners = 0;
    if (!positions || !indices) {
        ABUTI_RELEASE(r->context, positions, indices);
        return ABUT_ERROR_MEMORY;
    }
    for (uint32_t v = 0; v < r->vertices; v++)
        if (r->out[v] != ABUT_NONE) {
            positions[vertices] = r->positions[v];
            r->out[v] = vertices++; /* its new number */
        }
    for (size_t h = 0; h < 3 * r->triangles; h++)
        if (r->corners[h] != ABUT_NONE)
            indices[corners++] = r->out[r->corners[h]];
    return abuti_mesh_adopt(r->context, name, positions, vertices, indices, corners / 3, mesh);
}

abut_status abuti_mesh_remesh(const abut_mesh *mesh, const char *name, const abuti_remesh *how,
                              abut_mesh **made) {
    abuti_remesh even = *how;
    remesher r = {.context = mesh->context, .how = &even, .factor = 1};
    abut_status status = load(&r, mesh);
    bool closed = true;
    for (size_t h = 0; h < 3 * r.triangles && closed && !status; h++)
        closed = r.twin[h] != ABUT_NONE;
    if (closed)
        even.triangles += even.triangles % 2; /* each has three edges, each edge two of them */
    status = status ? status : improve(&r);
    status = status ? status : store(&r, name, made);
    if (!status)
        (*made)->up = mesh->up;
    ABUTI_RELEASE(r.context, r.positions, r.lengths, r.corners, r.twin, r.out);
    return status;
}
