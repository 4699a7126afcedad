/* Marching cubes (Lorensen & Cline 1987) with derived instead of listed cases, so that the result
 * is a manifold for any values.
 *
 * A cell has a sign at each corner: below the level or not. An edge of the grid whose ends differ
 * has one vertex. Go around a face of the cell, seen from outside: each run of corners below the
 * level is separated by one segment, from the edge where the run begins to the edge where it ends.
 * Both cells of a face have the same corners, in opposite order, so they have the same segments in
 * opposite directions: the surfaces of neighbours fit. At a vertex one segment begins and one ends
 * in each cell (the two faces at an edge have opposite directions along it). So the segments of a
 * cell are closed loops without a common vertex, and the four cells around an edge of the grid make
 * one fan.
 *
 * A loop is triangulated. A diagonal must not lie on a face of the cell, because the cell on the
 * other side may have the same one, and the edge would have four triangles. Two vertices of a loop
 * that are not neighbours are on the same face only if both segments of a face with four crossings
 * belong to the loop, which then also leaves the face twice: it has at least six vertices. So loops
 * of up to five vertices are split by diagonals, and longer ones get a vertex in the middle.
 *
 * Values are processed layer by layer: memory is that of the result and of a few layers.
 */
#include "mesh/marching_cubes.h"

#include "base/base.h"

#include <assert.h>

/* Vertices keep this fraction of an edge from its ends: a value equal to the level would otherwise
 * make several vertices coincide, and triangles without area. */
#define VERTEX_MARGIN 0x1p-10

/* ---- cases ---- */

enum { CELL_EDGES = 12, CELL_LOOPS_MAX = 4 };

/* The loops of a case: indices of edges in order; loop i has length[i] of them. */
typedef struct surface_case {
    uint8_t length[CELL_LOOPS_MAX], edges[CELL_EDGES];
} surface_case;

/* Corners are numbered by their position: x + 2 y + 4 z. An edge along axis a has the number 4 a +
 * its position along the other two axes, the lower axis first. */
static int edge_between(int a, int b) {
    int axis = (a ^ b) == 1 ? 0 : (a ^ b) == 2 ? 1 : 2;
    int first = axis == 0 ? 1 : 0, second = axis == 2 ? 1 : 2;
    return 4 * axis + (a >> first & 1) + 2 * (a >> second & 1);
}

/* Adds the segments of a face, whose corners are in order as seen from outside. */
static void add_segments(unsigned below, const int corners[4], int next[CELL_EDGES]) {
    for (int i = 0; i < 4; i++) {
        int from = corners[i], to = corners[(i + 1) % 4];
        if (below >> from & 1 || !(below >> to & 1))
            continue; /* no run begins here */
        int end = i + 1;
        while (below >> corners[(end + 1) % 4] & 1)
            end++;
        next[edge_between(from, to)] = edge_between(corners[end % 4], corners[(end + 1) % 4]);
    }
}

static surface_case derive_case(unsigned below) {
    surface_case found = {{0}, {0}};
    int next[CELL_EDGES], loops = 0, used = 0;
    for (int e = 0; e < CELL_EDGES; e++)
        next[e] = -1;
    for (int axis = 0; axis < 3; axis++)
        for (int side = 0; side < 2; side++) {
            int u = 1 << (axis + 1) % 3, v = 1 << (axis + 2) % 3, base = side << axis;
            const int outer[4] = {base, base + u, base + u + v, base + v};
            const int inner[4] = {base, base + v, base + u + v, base + u};
            add_segments(below, side ? outer : inner, next);
        }
    for (int e = 0; e < CELL_EDGES; e++)
        if (next[e] >= 0) {
            for (int at = e; next[at] >= 0;) {
                int then = next[at];
                next[at] = -1;
                assert(used < CELL_EDGES && loops < CELL_LOOPS_MAX);
                found.edges[used++] = (uint8_t)at;
                found.length[loops]++;
                at = then;
            }
            loops++;
        }
    return found;
}

/* ---- extraction ---- */

typedef struct extraction {
    abut_context *context;
    const abuti_isosurface_grid *levels;
    const char *name;
    size_t row, layer_count; /* values of a row and of a layer */
    float *values[2];        /* of two layers */
    uint8_t *below[2];
    uint32_t *along_x[2], *along_y[2],
        *along_z;                      /* vertices on the edges that begin at each value */
    abuti_vector positions, triangles; /* vec3; three uint32_t */
    surface_case cases[256];
} extraction;

static abut_status add_vertex(extraction *e, vec3 at, uint32_t *number) {
    if (e->positions.count >= ABUT_NONE)
        return abuti_fail(ABUT_ERROR_LIMIT,
                          "%s: the surface has more vertices than 32-bit indices allow", e->name);
    *number = (uint32_t)e->positions.count;
    vec3 *room = ABUTI_PUSH(e->context, &e->positions, vec3);
    if (!room)
        return ABUT_ERROR_MEMORY;
    *room = v3_along(e->levels->origin, e->levels->cell, at);
    return ABUT_OK;
}

/* Adds the vertex on the edge from (i, j, k) along an axis, between values a and b. */
static abut_status add_crossing(extraction *e, double i, double j, double k, int axis, float a,
                                float b, uint32_t *number) {
    double t = (e->levels->level - a) / ((double)b - a);
    t = real_clamp(t, VERTEX_MARGIN, 1 - VERTEX_MARGIN);
    return add_vertex(e,
                      v3(i + (axis == 0 ? t : 0), j + (axis == 1 ? t : 0), k + (axis == 2 ? t : 0)),
                      number);
}

/* Reads layer k and adds the vertices on its edges, and on those to the layer before. */
static abut_status read_layer(extraction *e, uint32_t k) {
    const uint32_t *n = e->levels->count;
    int now = k & 1;
    float *v = e->values[now], *before = e->values[!now];
    uint8_t *in = e->below[now], *in_before = e->below[!now];
    abut_status status = e->levels->layer(e->levels->data, k, v);
    for (size_t c = 0; c < e->layer_count && !status; c++)
        in[c] = v[c] < e->levels->level;
    for (uint32_t j = 0; j < n[1] && !status; j++)
        for (uint32_t i = 0; i < n[0] && !status; i++) {
            size_t c = i + e->row * j;
            if (i + 1 < n[0] && in[c] != in[c + 1])
                status = add_crossing(e, i, j, k, 0, v[c], v[c + 1], &e->along_x[now][c]);
            if (!status && j + 1 < n[1] && in[c] != in[c + e->row])
                status = add_crossing(e, i, j, k, 1, v[c], v[c + e->row], &e->along_y[now][c]);
            if (!status && k && in[c] != in_before[c])
                status = add_crossing(e, i, j, k - 1.0, 2, before[c], v[c], &e->along_z[c]);
        }
    return status;
}

static uint32_t edge_vertex(const extraction *e, uint32_t k, size_t c, int edge) {
    int axis = edge >> 2;
    size_t first = edge & 1, second = edge >> 1 & 1;
    if (axis == 0)
        return e->along_x[(k + second) & 1][c + e->row * first];
    if (axis == 1)
        return e->along_y[(k + second) & 1][c + first];
    return e->along_z[c + first + e->row * second];
}

static abut_status add_triangle(extraction *e, uint32_t a, uint32_t b, uint32_t c) {
    uint32_t *room = abuti_vector_push(e->context, &e->triangles, 3 * sizeof *room);
    if (!room)
        return ABUT_ERROR_MEMORY;
    room[0] = a;
    room[1] = b;
    room[2] = c;
    return ABUT_OK;
}

static vec3 position(const extraction *e, uint32_t vertex) {
    return ABUTI_AT(&e->positions, vec3, vertex);
}

static abut_status add_loop(extraction *e, const uint32_t *v, uint32_t count) {
    abut_status status = ABUT_OK;
    uint32_t first = 0;
    if (count == 4) { /* by the shorter diagonal */
        vec3 a = v3_sub(position(e, v[0]), position(e, v[2]));
        vec3 b = v3_sub(position(e, v[1]), position(e, v[3]));
        first = v3_length_sq(b) < v3_length_sq(a);
    }
    for (uint32_t i = 2; i < count && count <= 5 && !status; i++)
        status = add_triangle(e, v[first], v[(first + i - 1) % count], v[(first + i) % count]);
    if (count <= 5)
        return status;
    vec3 sum = v3(0, 0, 0);
    for (uint32_t i = 0; i < count; i++)
        sum = v3_add(sum, v3_scale(v3_sub(position(e, v[i]), e->levels->origin),
                                   1 / (e->levels->cell * count)));
    uint32_t middle;
    status = add_vertex(e, sum, &middle);
    for (uint32_t i = 0; i < count && !status; i++)
        status = add_triangle(e, middle, v[i], v[(i + 1) % count]);
    return status;
}

/* Adds the loops of the cells between layers k and k + 1. */
static abut_status add_cells(extraction *e, uint32_t k) {
    const uint32_t *n = e->levels->count;
    const uint8_t *low = e->below[k & 1], *high = e->below[!(k & 1)];
    abut_status status = ABUT_OK;
    for (uint32_t j = 0; j + 1 < n[1]; j++)
        for (uint32_t i = 0; i + 1 < n[0]; i++) {
            size_t c = i + e->row * j;
            unsigned below = low[c] | (unsigned)low[c + 1] << 1 | (unsigned)low[c + e->row] << 2 |
                             (unsigned)low[c + e->row + 1] << 3 | (unsigned)high[c] << 4 |
                             (unsigned)high[c + 1] << 5 | (unsigned)high[c + e->row] << 6 |
                             (unsigned)high[c + e->row + 1] << 7;
            if (below == 0 || below == 255)
                continue;
            const surface_case *found = &e->cases[below];
            const uint8_t *edges = found->edges;
            for (int l = 0; l < CELL_LOOPS_MAX && found->length[l] && !status;
                 edges += found->length[l++]) {
                uint32_t loop[CELL_EDGES];
                for (int i2 = 0; i2 < found->length[l]; i2++)
                    loop[i2] = edge_vertex(e, k, c, edges[i2]);
                status = add_loop(e, loop, found->length[l]);
            }
            if (status)
                return status;
        }
    return ABUT_OK;
}

/* ---- memory ---- */

static abut_status allocate_layers(extraction *e) {
    abut_status status = ABUTI_ALLOCATE(e->context, ABUTI_ARRAY(e->along_z, e->layer_count));
    for (int i = 0; i < 2 && !status; i++)
        status = ABUTI_ALLOCATE(e->context, ABUTI_ARRAY(e->values[i], e->layer_count),
                                ABUTI_ARRAY(e->below[i], e->layer_count),
                                ABUTI_ARRAY(e->along_x[i], e->layer_count),
                                ABUTI_ARRAY(e->along_y[i], e->layer_count));
    return status;
}

static void release_extraction(extraction *e) {
    for (int i = 0; i < 2; i++)
        ABUTI_RELEASE(e->context, e->values[i], e->below[i], e->along_x[i], e->along_y[i]);
    ABUTI_RELEASE(e->context, e->along_z, e->positions.data, e->triangles.data);
}

static abut_status make_mesh(extraction *e, abut_mesh **mesh) {
    if (!e->triangles.count)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: there is no surface at the level %g, because all values are on one "
                          "side of it",
                          e->name, e->levels->level);
    size_t vertices = e->positions.count, triangles = e->triangles.count;
    vec3 *positions = abuti_vector_take(e->context, &e->positions, sizeof *positions);
    uint32_t *indices = abuti_vector_take(e->context, &e->triangles, 3 * sizeof *indices);
    if (!positions || !indices) {
        ABUTI_RELEASE(e->context, positions, indices);
        return ABUT_ERROR_MEMORY;
    }
    return abuti_mesh_adopt(e->context, e->name, positions, vertices, indices, triangles, mesh);
}

abut_status abuti_isosurface_extract(abut_context *context, const char *name,
                                     const abuti_isosurface_grid *levels, abut_mesh **mesh) {
    context = abuti_context_of(context);
    extraction *e = abuti_allocate_zeroed(context, 1, sizeof *e);
    if (!e)
        return ABUT_ERROR_MEMORY;
    *e = (extraction){.context = context,
                      .levels = levels,
                      .name = name,
                      .row = levels->count[0],
                      .layer_count = (size_t)levels->count[0] * levels->count[1]};
    for (unsigned below = 1; below < 255; below++)
        e->cases[below] = derive_case(below);
    abut_status status = allocate_layers(e);
    for (uint32_t k = 0; k < levels->count[2] && !status; k++) {
        status = read_layer(e, k);
        if (!status && k)
            status = add_cells(e, k - 1);
        if (!status)
            status = abuti_progress(context, "surface", (k + 1.0) / levels->count[2]);
    }
    if (!status)
        status = make_mesh(e, mesh);
    release_extraction(e);
    abuti_release(context, e);
    return status;
}
