/* Weights of a figure: each vertex belongs to the bone of the part that it lies on, and that spreads
 * over the surface like heat (after Baran & Popovic, "Automatic rigging and animation of 3D
 * characters", 2007, whose bones heat the surface too).
 *
 * Two implicit steps (1 - t L) w' = w of diffusion, where L is the Laplacian of the mesh with the
 * weights of cotangents (Pinkall & Polthier 1993) and t grows with the thickness of the part: over
 * a joint weights change within about twice the radius. Heat stays on the surface, so an arm does
 * not reach the ribs through the gap beneath it. The equations are solved by sweeps of Gauss and
 * Seidel in the order of vertices: the same bits everywhere.
 */
#include "character/mannequin.h"

#include <math.h>

/* Sweeps of each step; more change weights by less than a thousandth. */
#define SWEEPS 40
/* How far weights spread, in radii of the part. */
#define SPREAD 0.62

typedef struct heat {
    abut_context *context;
    const figure *f;
    const abut_mesh *mesh;
    uint32_t *starts;     /* of neighbours of each vertex; one more at the end */
    uint32_t *neighbours; /* each side of each triangle once from either end */
    double *conductance;  /* of the same */
    double *areas, *times;
    float *now, *next; /* JOINT_COUNT a vertex */
} heat;

static double cotangent(vec3 at, vec3 b, vec3 c) {
    vec3 u = v3_sub(b, at), v = v3_sub(c, at);
    double sine = v3_length(v3_cross(u, v));
    return sine > 0 ? real_clamp(v3_dot(u, v) / sine, 0.02, 10) : 0.02;
}

static void add_neighbour(heat *h, uint32_t *used, uint32_t from, uint32_t to, double flow) {
    size_t at = h->starts[from] + used[from]++;
    h->neighbours[at] = to;
    h->conductance[at] = flow;
}

static abut_status connect(heat *h) {
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

/* Where the heat is at first, and how far it goes. */
static abut_status ignite(heat *h) {
    uint32_t vertices = h->mesh->vertex_count;
    h->times = abuti_allocate(h->context, vertices, sizeof *h->times);
    h->now = abuti_allocate_zeroed(h->context, (size_t)vertices * JOINT_COUNT, sizeof *h->now);
    h->next = abuti_allocate_zeroed(h->context, (size_t)vertices * JOINT_COUNT, sizeof *h->next);
    if (!h->times || !h->now || !h->next)
        return ABUT_ERROR_MEMORY;
    for (uint32_t v = 0; v < vertices; v++) {
        vec3 p = abuti_mesh_position(h->mesh, v);
        const figure_part *best = h->f->parts;
        double least = INFINITY;
        for (uint32_t i = 0; i < h->f->part_count; i++) {
            double d = abuti_part_distance(&h->f->parts[i], p);
            if (d < least)
                least = d, best = &h->f->parts[i];
        }
        double spread = SPREAD * 0.5 * (best->ra + best->rb);
        h->times[v] = 0.5 * spread * spread;
        h->now[(size_t)v * JOINT_COUNT + best->bone] = 1;
    }
    memcpy(h->next, h->now, (size_t)vertices * JOINT_COUNT * sizeof *h->now);
    return ABUT_OK;
}

/* One sweep of (area + t C) next = area now + t (sum of neighbours' next). */
static void sweep(heat *h) {
    for (uint32_t v = 0; v < h->mesh->vertex_count; v++) {
        float sum[JOINT_COUNT];
        float *to = h->next + (size_t)v * JOINT_COUNT;
        const float *from = h->now + (size_t)v * JOINT_COUNT;
        double total = h->areas[v];
        for (int k = 0; k < JOINT_COUNT; k++)
            sum[k] = (float)h->areas[v] * from[k];
        for (uint32_t i = h->starts[v]; i < h->starts[v + 1]; i++) {
            const float *other = h->next + (size_t)h->neighbours[i] * JOINT_COUNT;
            float flow = (float)(h->times[v] * h->conductance[i]);
            total += flow;
            for (int k = 0; k < JOINT_COUNT; k++)
                sum[k] += flow * other[k];
        }
        float share = total > 0 ? (float)(1 / total) : 0;
        for (int k = 0; k < JOINT_COUNT; k++)
            to[k] = sum[k] * share;
    }
}

static void choose(const heat *h, uint32_t *bones, double *weights) {
    for (uint32_t v = 0; v < h->mesh->vertex_count; v++) {
        float *all = h->now + (size_t)v * JOINT_COUNT;
        double total = 0;
        for (size_t i = 0; i < FIGURE_WEIGHTS; i++) {
            uint32_t best = 0;
            for (uint32_t k = 1; k < JOINT_COUNT; k++)
                best = all[k] > all[best] ? k : best;
            bones[v * (size_t)FIGURE_WEIGHTS + i] = best;
            double w = all[best] >= 0.004f ? all[best] : 0;
            weights[v * (size_t)FIGURE_WEIGHTS + i] = w;
            total += w;
            all[best] = 0;
        }
        for (size_t i = 0; i < FIGURE_WEIGHTS; i++)
            weights[v * (size_t)FIGURE_WEIGHTS + i] /= total;
    }
}

abut_status abuti_figure_weights(const figure *f, const abut_mesh *mesh, uint32_t *bones,
                                 double *weights) {
    heat h = {.context = mesh->context, .f = f, .mesh = mesh};
    abut_status status = connect(&h);
    status = status ? status : ignite(&h);
    for (int step = 0; step < 2 && !status; step++) {
        for (int i = 0; i < SWEEPS && !status; i++) {
            sweep(&h);
            status = abuti_progress(h.context, "weights", (step * SWEEPS + i + 1.0) / 2 / SWEEPS);
        }
        memcpy(h.now, h.next, (size_t)mesh->vertex_count * JOINT_COUNT * sizeof *h.now);
    }
    if (!status)
        choose(&h, bones, weights);
    ABUTI_RELEASE(h.context, h.starts, h.neighbours, h.conductance, h.areas, h.times, h.now,
                  h.next);
    return status;
}
