/* Weights of a figure by heat diffusion on its surface, after Baran & Popovic, "Automatic rigging
 * and animation of 3D characters" (2007), where bones heat the surface too.
 *
 * Each vertex starts with weight 1 for the bone of the part that it lies on. Two implicit diffusion
 * steps (1 - t L) w' = w follow, where L is the cotangent Laplacian of the mesh (Pinkall & Polthier
 * 1993) and t grows with the thickness of the part: across a joint, weights change within about
 * twice the radius. Heat spreads along the surface, so that an arm does not affect the ribs across
 * the gap below it. The equations are solved for each bone by Gauss-Seidel sweeps in vertex order,
 * restricted to vertices near the bone. Results are the same bits everywhere.
 */
#include "mannequin/mannequin.h"

#include <math.h>

/* Gauss-Seidel sweeps per step; more change weights by less than 0.001. */
#define SWEEPS 40
/* Diffusion length, in radii of the part. */
#define DIFFUSION_LENGTH 0.62
/* Range of a bone in diffusion lengths: less than e^-6 of the heat reaches farther. */
#define RANGE 6

typedef struct diffusion {
    abut_context *context;
    const figure *f;
    const abut_mesh *mesh;
    uint32_t *starts;     /* first neighbour of each vertex, and the total */
    uint32_t *neighbours; /* each edge of each triangle, from both ends */
    double *conductance;  /* of the same entries */
    double *areas, *times;
    unsigned char *in_range; /* by bone and vertex: whether the vertex is in range */
    float *now, *next;       /* by bone and vertex */
} diffusion;

static double cotangent(vec3 at, vec3 b, vec3 c) {
    vec3 u = v3_sub(b, at), v = v3_sub(c, at);
    double sine = v3_length(v3_cross(u, v));
    return sine > 0 ? real_clamp(v3_dot(u, v) / sine, 0.02, 10) : 0.02;
}

static void add_neighbour(diffusion *h, uint32_t *used, uint32_t from, uint32_t to, double flow) {
    size_t at = h->starts[from] + used[from]++;
    h->neighbours[at] = to;
    h->conductance[at] = flow;
}

static abut_status build_laplacian(diffusion *h) {
    uint32_t vertices = h->mesh->vertex_count;
    size_t corners = 3 * (size_t)h->mesh->triangle_count;
    uint32_t *used = abuti_allocate_zeroed(h->context, vertices, sizeof *used);
    h->starts = abuti_allocate_zeroed(h->context, (size_t)vertices + 1, sizeof *h->starts);
    h->neighbours = abuti_allocate(h->context, 2 * corners, sizeof *h->neighbours);
    h->conductance = abuti_allocate(h->context, 2 * corners, sizeof *h->conductance);
    h->areas = abuti_allocate_zeroed(h->context, vertices, sizeof *h->areas);
    if (!used || !h->starts || !h->neighbours || !h->conductance || !h->areas) {
        abuti_release(h->context, used);
        return ABUT_ERROR_MEMORY;
    }
    for (size_t c = 0; c < corners; c++)
        h->starts[h->mesh->indices[c] + 1] += 2;
    for (uint32_t v = 0; v < vertices; v++)
        h->starts[v + 1] += h->starts[v];
    for (size_t t = 0; t < h->mesh->triangle_count; t++) {
        const uint32_t *c = h->mesh->indices + 3 * t;
        const vec3 *p = h->mesh->positions;
        double area = 0.5 * v3_length(v3_cross(v3_sub(p[c[1]], p[c[0]]), v3_sub(p[c[2]], p[c[0]])));
        for (int i = 0; i < 3; i++) {
            uint32_t a = c[(i + 1) % 3], b = c[(i + 2) % 3];
            double flow = 0.5 * cotangent(p[c[i]], p[a], p[b]);
            add_neighbour(h, used, a, b, flow);
            add_neighbour(h, used, b, a, flow);
            h->areas[c[i]] += area / 3;
        }
    }
    abuti_release(h->context, used);
    return ABUT_OK;
}

/* Sets the initial weights, the diffusion times and the range of each bone. */
static abut_status set_initial_weights(diffusion *h) {
    size_t vertices = h->mesh->vertex_count;
    h->times = abuti_allocate(h->context, vertices, sizeof *h->times);
    h->in_range = abuti_allocate_zeroed(h->context, vertices * JOINT_COUNT, 1);
    h->now = abuti_allocate_zeroed(h->context, vertices * JOINT_COUNT, sizeof *h->now);
    h->next = abuti_allocate(h->context, vertices * JOINT_COUNT, sizeof *h->next);
    if (!h->times || !h->in_range || !h->now || !h->next)
        return ABUT_ERROR_MEMORY;
    for (uint32_t v = 0; v < vertices; v++) {
        vec3 p = abuti_mesh_position(h->mesh, v);
        double distances[FIGURE_PARTS], least = INFINITY;
        const figure_part *best = h->f->parts;
        for (uint32_t i = 0; i < h->f->part_count; i++) {
            distances[i] = abuti_part_distance(&h->f->parts[i], p);
            if (distances[i] < least)
                least = distances[i], best = &h->f->parts[i];
        }
        double spread = DIFFUSION_LENGTH * 0.5 * (best->ra + best->rb);
        h->times[v] = 0.5 * spread * spread;
        for (uint32_t i = 0; i < h->f->part_count; i++) {
            const figure_part *part = &h->f->parts[i];
            double reach = RANGE * fmax(spread, DIFFUSION_LENGTH * 0.5 * (part->ra + part->rb));
            if (distances[i] < reach)
                h->in_range[part->bone * vertices + v] = 1;
        }
        h->now[best->bone * vertices + v] = 1;
    }
    memcpy(h->next, h->now, vertices * JOINT_COUNT * sizeof *h->now);
    return ABUT_OK;
}

/* One Gauss-Seidel sweep of (area + t C) next = area now + t (sum of the neighbours' next). */
static void sweep_vertices(const diffusion *h, const unsigned char *in_range, const float *now,
                           float *next) {
    for (uint32_t v = 0; v < h->mesh->vertex_count; v++) {
        if (!in_range[v])
            continue;
        double total = h->areas[v], sum = h->areas[v] * now[v];
        for (uint32_t i = h->starts[v]; i < h->starts[v + 1]; i++) {
            double flow = h->times[v] * h->conductance[i];
            total += flow;
            sum += flow * next[h->neighbours[i]];
        }
        double value = total > 0 ? sum / total : 0;
        next[v] = value > 1e-9 ? (float)value : 0; /* avoids slow denormal numbers */
    }
}

static void diffuse_bones(void *data, size_t chunk, size_t begin, size_t end) {
    const diffusion *h = data;
    size_t vertices = h->mesh->vertex_count;
    (void)chunk;
    for (size_t bone = begin; bone < end; bone++)
        for (int step = 0; step < 2; step++) {
            float *now = h->now + bone * vertices, *next = h->next + bone * vertices;
            for (int i = 0; i < SWEEPS; i++)
                sweep_vertices(h, h->in_range + bone * vertices, now, next);
            memcpy(now, next, vertices * sizeof *now);
        }
}

static void keep_largest_weights(const diffusion *h, uint32_t *bones, double *weights) {
    size_t vertices = h->mesh->vertex_count;
    for (size_t v = 0; v < vertices; v++) {
        double total = 0;
        for (size_t i = 0; i < FIGURE_WEIGHTS; i++) {
            uint32_t best = 0;
            for (uint32_t k = 1; k < JOINT_COUNT; k++)
                best = h->now[k * vertices + v] > h->now[best * vertices + v] ? k : best;
            double w = h->now[best * vertices + v];
            bones[v * FIGURE_WEIGHTS + i] = best;
            weights[v * FIGURE_WEIGHTS + i] = w >= 0.004 ? w : 0;
            total += w >= 0.004 ? w : 0;
            h->now[best * vertices + v] = 0;
        }
        for (size_t i = 0; i < FIGURE_WEIGHTS; i++)
            weights[v * FIGURE_WEIGHTS + i] /= total;
    }
}

abut_status abuti_figure_weights(const figure *f, const abut_mesh *mesh, uint32_t *bones,
                                 double *weights) {
    diffusion h = {.context = mesh->context, .f = f, .mesh = mesh};
    abut_status status = build_laplacian(&h);
    if (!status)
        status = set_initial_weights(&h);
    if (!status)
        status = abuti_parallel_try(h.context, "weights", JOINT_COUNT, 1, diffuse_bones, &h);
    if (!status)
        keep_largest_weights(&h, bones, weights);
    ABUTI_RELEASE(h.context, h.starts, h.neighbours, h.conductance, h.areas, h.times, h.in_range,
                  h.now, h.next);
    return status;
}
