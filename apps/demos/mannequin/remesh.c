/* Incremental remeshing (Botsch & Kobbelt, "A remeshing approach to multiresolution modeling", SGP
 * 2004, section 4): split edges longer than 4/3 of the desired length, collapse those shorter than
 * 4/5 of it, flip edges towards vertices with six edges, move vertices within the tangent plane to
 * the centre of their neighbours and back onto the surface; repeat.
 *
 * Triangles are stored as half-edges: number 3 t + i goes from corner i of triangle t to the next
 * one, and `twin` is the same edge of the neighbour. No step creates an edge with three faces,
 * joins two boundaries or reverses a triangle. At the end the shortest edges are collapsed, or the
 * longest split, until the desired count is reached.
 */
#include "mannequin/remesh.h"

#include <math.h>

/* Vertices with more edges are not changed. */
#define RING_MAX 240
/* Maximum number of passes that split edges in a round. */
#define SPLIT_PASSES_MAX 24
/* Collapsing and flipping must not rotate the normal of a triangle by more than acos of this. */
#define NORMAL_COSINE_MIN 0.5
/* Triangles of a worse shape (see shape_of) are not created, and collapsed at the end. */
#define SHAPE_MIN 0.25
/* A boundary that turns by more than acos of this has a corner there, which stays. */
#define CORNER_COSINE 0.5

typedef struct remesher {
    abut_context *context;
    const abuti_remesh *how;
    double factor; /* of how->length */
    vec3 *positions;
    double *lengths;   /* desired length of the edges at a vertex, without `factor` */
    uint32_t *corners; /* of triangles; ABUT_NONE = removed */
    uint32_t *twin;    /* ABUT_NONE = the boundary */
    uint32_t *out;     /* a half-edge that starts at a vertex; ABUT_NONE = the vertex was removed */
    size_t vertices, triangles;          /* including removed ones */
    size_t capacities[5];                /* capacities of the arrays */
    size_t vertex_count, triangle_count; /* without removed ones */
} remesher;

/* The edges around a vertex, counter-clockwise. */
typedef struct vertex_ring {
    uint32_t edges[RING_MAX]; /* half-edges that start at it */
    uint32_t ends[RING_MAX + 1];
    uint32_t count;     /* number of edges; on a boundary there is one more end */
    uint32_t end_count; /* 0 = too many, or none */
    bool is_boundary;
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

/* Ensures the capacity for this many more. */
static abut_status reserve_elements(remesher *r, size_t vertices, size_t triangles) {
    size_t v = r->vertices, t = 3 * r->triangles, vs = v + vertices, ts = t + 3 * triangles;
    abut_context *context = r->context;
    if (vs >= ABUT_NONE || ts >= ABUT_NONE)
        return abuti_fail(ABUT_ERROR_LIMIT, "the mesh has too many triangles during remeshing");
    if (abuti_grow(context, &r->positions, v, vs, sizeof(vec3), &r->capacities[0]) ||
        abuti_grow(context, &r->lengths, v, vs, sizeof(double), &r->capacities[1]) ||
        abuti_grow(context, &r->out, v, vs, sizeof(uint32_t), &r->capacities[2]) ||
        abuti_grow(context, &r->corners, t, ts, sizeof(uint32_t), &r->capacities[3]) ||
        abuti_grow(context, &r->twin, t, ts, sizeof(uint32_t), &r->capacities[4]))
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

static void pair_twins(remesher *r, uint32_t a, uint32_t b) {
    if (a != ABUT_NONE)
        r->twin[a] = b;
    if (b != ABUT_NONE)
        r->twin[b] = a;
}

/* Collects the edges around a vertex: starting at the boundary, if it has one. */
static void collect_ring(const remesher *r, uint32_t vertex, vertex_ring *ring) {
    uint32_t first = r->out[vertex], steps = 0;
    ring->count = ring->end_count = 0;
    ring->is_boundary = false;
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
    ring->is_boundary = r->twin[first] == ABUT_NONE;
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
    ring->end_count = ring->count + ring->is_boundary;
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
static bool normals_agree(vec3 a, vec3 b) {
    double dot = v3_dot(a, b);
    return dot > 0 &&
           dot * dot > NORMAL_COSINE_MIN * NORMAL_COSINE_MIN * v3_length_sq(a) * v3_length_sq(b);
}

/* Twice the area divided by the square of the longest side: 0.87 for an equilateral triangle. */
static double shape_of(vec3 a, vec3 b, vec3 c) {
    double longest = fmax(v3_length_sq(v3_sub(b, a)),
                          fmax(v3_length_sq(v3_sub(c, b)), v3_length_sq(v3_sub(a, c))));
    return longest > 0 ? v3_length(normal_of(a, b, c)) / longest : 0;
}

/* The squared ratio of the length of an edge to its desired length. */
static double length_ratio_sq(const remesher *r, uint32_t a, uint32_t b) {
    double wanted = 0.5 * r->factor * (r->lengths[a] + r->lengths[b]);
    return v3_length_sq(v3_sub(r->positions[a], r->positions[b])) / (wanted * wanted);
}

static vec3 on_surface(const remesher *r, vec3 p) {
    return r->how->project ? r->how->project(r->how->data, p) : p;
}

static double length_at(const remesher *r, vec3 p) {
    return r->how->length ? r->how->length(r->how->data, p) : 1;
}

/* Whether a vertex can move to `to` without reversing a triangle; triangles with `not_with` are
 * removed. If none is removed, it must not create a thin triangle either; collapses of a fine mesh
 * may do so temporarily. */
static bool can_move(const remesher *r, const vertex_ring *ring, vec3 to, uint32_t not_with) {
    for (uint32_t i = 0; i < ring->count; i++) {
        uint32_t h = ring->edges[i], b = end_of(r, h), c = r->corners[previous_of(h)];
        if (b == not_with || c == not_with)
            continue;
        vec3 pb = r->positions[b], pc = r->positions[c], old = r->positions[r->corners[h]];
        if (!normals_agree(normal_at(r, h / 3), normal_of(to, pb, pc)))
            return false;
        double shape = not_with == ABUT_NONE ? shape_of(to, pb, pc) : 1;
        if (shape < SHAPE_MIN && shape < shape_of(old, pb, pc))
            return false;
    }
    return true;
}

/* ---- collapsing ---- */

static bool contains_index(const uint32_t *list, uint32_t count, uint32_t what) {
    for (uint32_t i = 0; i < count; i++)
        if (list[i] == what)
            return true;
    return false;
}

/* Whether the edge from a to b can be collapsed: its ends have no common neighbours except those of
 * its own triangles (the link condition), and it does not connect two boundary vertices through the
 * interior. */
static bool can_collapse(const remesher *r, uint32_t h, const vertex_ring *ra,
                         const vertex_ring *rb) {
    uint32_t a = r->corners[h], b = end_of(r, h), common = 0, sides = 1 + (r->twin[h] != ABUT_NONE);
    if (!ra->end_count || !rb->end_count || (sides == 2 && ra->is_boundary && rb->is_boundary))
        return false;
    for (uint32_t i = 0; i < ra->end_count; i++)
        common += ra->ends[i] != b && contains_index(rb->ends, rb->end_count, ra->ends[i]);
    if (common != sides || ra->end_count + rb->end_count - 2 - sides < 3)
        return false;
    for (uint32_t side = 0; side < sides; side++) { /* no vertex may be left with two edges */
        vertex_ring other;
        collect_ring(r, r->corners[previous_of(side ? r->twin[h] : h)], &other);
        if (other.end_count < 4)
            return false;
    }
    return a != b;
}

/* Removes the triangle of a half-edge and joins its other two sides. */
static void remove_side(remesher *r, uint32_t h, uint32_t kept) {
    uint32_t after = r->twin[next_of(h)], before = r->twin[previous_of(h)];
    uint32_t tip = r->corners[previous_of(h)];
    pair_twins(r, after, before);
    /* `after` and `before` are now the two directions of one edge between `kept` and the tip. */
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
    return v3_dot(to, from) < CORNER_COSINE;
}

/* Collapses an edge if nothing prevents it. No edge may become longer than `longest_sq`, as a
 * squared ratio to its desired length. With `force`, triangles may be reversed. */
static bool collapse_edge(remesher *r, uint32_t h, double longest_sq, bool force) {
    vertex_ring ra, rb;
    uint32_t a = r->corners[h], b = end_of(r, h);
    collect_ring(r, a, &ra);
    collect_ring(r, b, &rb);
    if (!can_collapse(r, h, &ra, &rb))
        return false;
    bool stays_a = ra.is_boundary && (!rb.is_boundary || is_corner(r, &ra, a));
    bool stays_b = rb.is_boundary && (!ra.is_boundary || is_corner(r, &rb, b));
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
        fits = ra.ends[i] == b || length_ratio_sq(r, a, ra.ends[i]) <= longest_sq;
    for (uint32_t i = 0; i < rb.end_count && fits; i++)
        fits = rb.ends[i] == a || length_ratio_sq(r, a, rb.ends[i]) <= longest_sq;
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

static abut_status split_edge(remesher *r, uint32_t h) {
    abut_status status = reserve_elements(r, 1, 2);
    if (status)
        return status;
    uint32_t a = r->corners[h], b = end_of(r, h), twin = r->twin[h], middle = (uint32_t)r->vertices;
    vec3 to = v3_lerp(r->positions[a], r->positions[b], 0.5);
    if (twin != ABUT_NONE) { /* halves must be shorter than the whole, otherwise splitting does not
                                terminate */
        vec3 there = on_surface(r, to);
        double moved_sq = v3_length_sq(v3_sub(there, to)),
               whole_sq = v3_length_sq(v3_sub(r->positions[a], r->positions[b]));
        to = moved_sq < 0.0625 * whole_sq ? there : to;
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
        uint32_t created = 3 * (uint32_t)r->triangles, last = next_of(e);
        r->triangles++;
        r->triangle_count++;
        r->corners[created] = middle;
        r->corners[created + 1] = r->corners[last];
        r->corners[created + 2] = r->corners[previous_of(e)];
        r->out[r->corners[last]] = created + 1;
        pair_twins(r, created + 1, r->twin[last]);
        pair_twins(r, created + 2, last);
        r->corners[last] = middle;
        r->twin[created] = ABUT_NONE;
        halves[side] = created;
    }
    r->out[middle] = halves[0];
    if (twin != ABUT_NONE) {
        pair_twins(r, h, halves[1]);
        pair_twins(r, twin, halves[0]);
    }
    return ABUT_OK;
}

/* The squared difference of the valence of a vertex from the regular one. */
static int32_t valence_error_sq(const vertex_ring *ring, int32_t more) {
    int32_t off = (int32_t)ring->end_count + more - (ring->is_boundary ? 4 : 6);
    return off * off;
}

/* Flips an edge if that makes valences more regular. */
static void flip_edge(remesher *r, uint32_t h) {
    uint32_t twin = r->twin[h];
    if (twin == ABUT_NONE || r->corners[h] == ABUT_NONE)
        return;
    uint32_t h1 = next_of(h), h2 = previous_of(h), t1 = next_of(twin), t2 = previous_of(twin);
    uint32_t a = r->corners[h], b = r->corners[h1], c = r->corners[h2], d = r->corners[t2];
    vertex_ring rings[4];
    collect_ring(r, a, &rings[0]);
    collect_ring(r, b, &rings[1]);
    collect_ring(r, c, &rings[2]);
    collect_ring(r, d, &rings[3]);
    for (int i = 0; i < 4; i++)
        if (!rings[i].end_count || (i < 2 && rings[i].end_count < 4))
            return;
    int32_t now = 0, then = 0;
    for (int i = 0; i < 4; i++) {
        now += valence_error_sq(&rings[i], 0);
        then += valence_error_sq(&rings[i], i < 2 ? -1 : 1);
    }
    if (then >= now || c == d || contains_index(rings[2].ends, rings[2].end_count, d))
        return;
    vec3 n0 = normal_at(r, h / 3), n1 = normal_at(r, twin / 3), mean = v3_add(n0, n1);
    const vec3 *p = r->positions;
    if (!normals_agree(n0, n1) || !normals_agree(mean, normal_of(p[c], p[a], p[d])) ||
        !normals_agree(mean, normal_of(p[d], p[b], p[c])))
        return;
    /* (a, b, c) and (b, a, d) become (c, a, d) with d-c as h, and (d, b, c) with c-d as twin. */
    uint32_t of_h1 = r->twin[h1], of_h2 = r->twin[h2], of_t1 = r->twin[t1], of_t2 = r->twin[t2];
    r->corners[h] = d, r->corners[h1] = c, r->corners[h2] = a;
    r->corners[twin] = c, r->corners[t1] = d, r->corners[t2] = b;
    pair_twins(r, h1, of_h2);
    pair_twins(r, h2, of_t1);
    pair_twins(r, t1, of_t2);
    pair_twins(r, t2, of_h1);
    r->out[a] = h2, r->out[b] = t2, r->out[c] = h1, r->out[d] = t1;
}

/* ---- rounds ---- */

/* Whether no other edge of the adjacent triangles is longer. */
static bool is_longest(const remesher *r, uint32_t h) {
    double ratio_sq = length_ratio_sq(r, r->corners[h], end_of(r, h));
    const uint32_t sides[2] = {h, r->twin[h]};
    for (int i = 0; i < 2 && sides[i] != ABUT_NONE; i++)
        for (uint32_t e = next_of(sides[i]); e != sides[i]; e = next_of(e))
            if (length_ratio_sq(r, r->corners[e], end_of(r, e)) > ratio_sq)
                return false;
    return true;
}

/* Splits long edges of which no neighbour is longer, until none remains: a new edge is shorter than
 * the one that was split. Splitting in arbitrary order need not terminate. */
static abut_status split_long(remesher *r) {
    abut_status status = ABUT_OK;
    bool again = true;
    for (int sweep = 0; again && sweep < SPLIT_PASSES_MAX && !status; sweep++) {
        again = false;
        for (uint32_t h = 0; h < 3 * r->triangles && !status; h++) {
            uint32_t a = r->corners[h];
            if (a != ABUT_NONE && length_ratio_sq(r, a, end_of(r, h)) > 16.0 / 9 &&
                is_longest(r, h)) {
                status = split_edge(r, h);
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
            length_ratio_sq(r, a, end_of(r, h)) < 16.0 / 25)
            collapse_edge(r, h, 16.0 / 9, false);
    }
    return ABUT_OK;
}

/* Moves a vertex of a boundary along it, and others within their tangent planes. */
static void relax_vertex(remesher *r, uint32_t vertex) {
    vertex_ring ring;
    vec3 p = r->positions[vertex], normal = v3(0, 0, 0), middle = v3(0, 0, 0);
    double total = 0;
    collect_ring(r, vertex, &ring);
    if (!ring.end_count || (ring.is_boundary && is_corner(r, &ring, vertex)))
        return;
    for (uint32_t i = 0; i < ring.count;
         i++) { /* each triangle pulls towards its centre, weighted by its area */
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
    if (ring.is_boundary) {
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

static abut_status regularise(remesher *r, int times) {
    for (int time = 0; time < times; time++) {
        for (uint32_t h = 0; h < 3 * r->triangles; h++)
            if (r->corners[h] != ABUT_NONE && r->twin[h] != ABUT_NONE && h < r->twin[h])
                flip_edge(r, h);
        for (uint32_t v = 0; v < r->vertices; v++) {
            if (v % 4096 == 0 && abuti_stop(r->context, "mesh"))
                return abuti_stop_status("mesh");
            if (r->out[v] != ABUT_NONE)
                relax_vertex(r, v);
        }
    }
    return ABUT_OK;
}

static size_t current_count(const remesher *r) {
    return r->how->triangles ? r->triangle_count : r->vertex_count;
}

/* Chooses the factor of lengths for which equilateral triangles of the desired number cover the
 * surface. */
static void choose_factor(remesher *r) {
    double cover = 0; /* in triangles of the desired length */
    for (uint32_t t = 0; t < r->triangles; t++) {
        const uint32_t *c = r->corners + 3 * (size_t)t;
        double length = (r->lengths[c[0]] + r->lengths[c[1]] + r->lengths[c[2]]) / 3;
        cover += 0.5 * v3_length(normal_at(r, t)) / (0.4330127018922193 * length * length);
    }
    r->factor =
        sqrt(cover / (r->how->triangles ? (double)r->how->triangles : 2.0 * r->how->vertices));
}

/* Collapses the shortest edges or splits the longest until the count is reached. */
static abut_status reach_count(remesher *r) {
    size_t wanted = r->how->triangles ? r->how->triangles : r->how->vertices;
    size_t count = 3 * r->triangles, known = r->vertices;
    sort_key *keys = abuti_allocate(r->context, 2 * count, sizeof *keys);
    unsigned char *touched = abuti_allocate_zeroed(r->context, r->vertices, 1);
    abut_status status = keys && touched ? ABUT_OK : ABUT_ERROR_MEMORY;
    bool fewer = current_count(r) > wanted;
    size_t edges = 0;
    for (uint32_t h = 0; h < count && !status; h++) {
        uint32_t a = r->corners[h], twin = r->twin[h];
        if (a == ABUT_NONE || (twin != ABUT_NONE && h > twin))
            continue;
        double ratio_sq = fmin(length_ratio_sq(r, a, end_of(r, h)), 1e6);
        keys[edges++] = (sort_key){(uint64_t)(1e9 * (fewer ? ratio_sq : 1e6 - ratio_sq)), h};
    }
    const sort_key *sorted = status ? NULL : abuti_sort_by_key(keys, keys + count, edges);
    for (size_t i = 0; i < edges && !status && current_count(r) != wanted; i++) {
        uint32_t h = sorted[i].value, a = r->corners[h];
        if (a == ABUT_NONE || (fewer ? current_count(r) < wanted : current_count(r) > wanted))
            continue;
        uint32_t b = end_of(r, h);
        if (a >= known || b >= known || touched[a] || touched[b])
            continue;
        /* A whole pass of splits would leave edges of very different lengths next to each other. */
        touched[a] = touched[b] = 1;
        if (fewer)
            collapse_edge(r, h, 4, false);
        else
            status = split_edge(r, h);
    }
    ABUTI_RELEASE(r->context, keys, touched);
    return status;
}

/* Whether a triangle is too thin, or folded back onto a neighbour. */
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
static void collapse_bad_triangles(remesher *r) {
    for (uint32_t t = 0; t < r->triangles; t++) {
        if (r->corners[3 * (size_t)t] == ABUT_NONE || !is_bad(r, t))
            continue;
        uint32_t best = 3 * t;
        for (uint32_t h = 3 * t + 1; h < 3 * t + 3; h++)
            if (length_ratio_sq(r, r->corners[h], end_of(r, h)) <
                length_ratio_sq(r, r->corners[best], end_of(r, best)))
                best = h;
        if (!collapse_edge(r, best, 4, false))
            collapse_edge(r, best, 4, true);
    }
}

static abut_status run_rounds(remesher *r) {
    uint32_t rounds = r->how->rounds ? r->how->rounds : 6;
    size_t wanted = r->how->triangles ? r->how->triangles : r->how->vertices;
    abut_status status = ABUT_OK;
    choose_factor(r);
    for (uint32_t round = 0; round < rounds && !status; round++) {
        status = split_long(r);
        if (!status)
            status = collapse_short(r);
        if (!status)
            status = regularise(r, 1);
        /* Actual edges are slightly longer or shorter than desired. */
        if (round > 0)
            r->factor *= sqrt((double)current_count(r) / (double)wanted);
        if (!status)
            status = abuti_progress(r->context, "mesh", (round + 1.0) / rounds);
    }
    for (int i = 0; i < 8 && !status; i++) {
        size_t before = current_count(r);
        if (i < 4)
            collapse_bad_triangles(r);
        status = reach_count(r);
        if (!status)
            status = regularise(r, i < 2 ? 2 : 1);
        if (i > 1 && (current_count(r) == before || current_count(r) == wanted))
            break;
    }
    return status;
}

/* ---- input and output ---- */

static abut_status load_mesh(remesher *r, const abut_mesh *mesh) {
    abut_status status = reserve_elements(r, mesh->vertex_count, mesh->triangle_count);
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

static abut_status store_mesh(const remesher *r, const char *name, abut_mesh **mesh) {
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
            r->out[v] = vertices++; /* its new index */
        }
    for (size_t h = 0; h < 3 * r->triangles; h++)
        if (r->corners[h] != ABUT_NONE)
            indices[corners++] = r->out[r->corners[h]];
    return abuti_mesh_adopt(r->context, name, positions, vertices, indices, corners / 3, mesh);
}

abut_status abuti_mesh_remesh(const abut_mesh *mesh, const char *name, const abuti_remesh *how,
                              abut_mesh **created) {
    abuti_remesh even = *how;
    remesher r = {.context = mesh->context, .how = &even, .factor = 1};
    abut_status status = load_mesh(&r, mesh);
    bool closed = true;
    for (size_t h = 0; h < 3 * r.triangles && closed && !status; h++)
        closed = r.twin[h] != ABUT_NONE;
    if (closed)
        even.triangles +=
            even.triangles % 2; /* a triangle has three edges, and an edge two triangles */
    if (!status)
        status = run_rounds(&r);
    if (!status)
        status = store_mesh(&r, name, created);
    if (!status)
        (*created)->up = mesh->up;
    ABUTI_RELEASE(r.context, r.positions, r.lengths, r.corners, r.twin, r.out);
    return status;
}
