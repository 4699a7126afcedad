/* Weights of a figure: each vertex belongs to the bone of the part that it lies on, and that
 * spreads over the surface like heat (after Baran & Popovic, "Automatic rigging and animation of 3D
 * characters", 2007, whose bones heat the surface too).
 *
 * Two implicit steps (1 - t L) w' = w of diffusion, where L is the Laplacian of the mesh with the
 * weights of cotangents (Pinkall & Polthier 1993) and t grows with the thickness of the part: over
 * a joint weights change within about twice the radius. Heat stays on the surface, so an arm does
 * not reach the ribs through the gap beneath it. The equations are solved bone by bone by sweeps of
 * Gauss and Seidel in the order of vertices, those near the bone alone: the same bits everywhere.
 */
#include "character/mannequin.h"

#include <math.h>

/* Sweeps of each step; more change weights by less than a thousandth. */
#define SWEEPS 40
/* How far weights spread, in radii of the part. */
#define SPREAD 0.62
/* Heat is not looked for beyond so many spreads: less than e^-6 of it gets there. */
#define REACH 6

typedef struct heat {
    abut_context *context;
    const figure *f;
    const abut_mesh *mesh;
    uint32_t *starts;     /* of neighbours of each vertex; one more at the end */
    uint32_t *neighbours; /* each side of each triangle once from either end */
    double *conductance;  /* of the same */
    double *areas, *times;
    unsigned char *near; /* for each bone and vertex: whether heat may get there */
    float *now, *next;   /* of each bone and vertex */
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
    size_t vertices = h->mesh->vertex_count;
    h->times = abuti_allocate(h->context, vertices, sizeof *h->times);
    h->near = abuti_allocate_zeroed(h->context, vertices * JOINT_COUNT, 1);
    h->now = abuti_allocate_zeroed(h->context, vertices * JOINT_COUNT, sizeof *h->now);
    h->next = abuti_allocate(h->context, vertices * JOINT_COUNT, sizeof *h->next);
    if (!h->times || !h->near || !h->now || !h->next)
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
        double spread = SPREAD * 0.5 * (best->ra + best->rb);
        h->times[v] = 0.5 * spread * spread;
        for (uint32_t i = 0; i < h->f->part_count; i++) {
            const figure_part *part = &h->f->parts[i];
            double reach = REACH * fmax(spread, SPREAD * 0.5 * (part->ra + part->rb));
            if (distances[i] < reach)
                h->near[part->bone * vertices + v] = 1;
        }
        h->now[best->bone * vertices + v] = 1;
    }
    memcpy(h->next, h->now, vertices * JOINT_COUNT * sizeof *h->now);
    return ABUT_OK;
}

/* One sweep of (area + t C) next = area now + t (sum of neighbours' next). */
static void sweep(const heat *h, const unsigned char *near, const float *now, float *next) {
    for (uint32_t v = 0; v < h->mesh->vertex_count; v++) {
        if (!near[v])
            continue;
        double total = h->areas[v], sum = h->areas[v] * now[v];
        for (uint32_t i = h->starts[v]; i < h->starts[v + 1]; i++) {
            double flow = h->times[v] * h->conductance[i];
            total += flow;
            sum += flow * next[h->neighbours[i]];
        }
        double value = total > 0 ? sum / total : 0;
        next[v] = value > 1e-9 ? (float)value : 0; /* numbers below are slow, and nothing */
    }
}

static void spread_bones(void *data, size_t chunk, size_t begin, size_t end) {
    const heat *h = data;
    size_t vertices = h->mesh->vertex_count;
    (void)chunk;
    for (size_t bone = begin; bone < end; bone++)
        for (int step = 0; step < 2; step++) {
            float *now = h->now + bone * vertices, *next = h->next + bone * vertices;
            for (int i = 0; i < SWEEPS; i++)
                sweep(h, h->near + bone * vertices, now, next);
            memcpy(now, next, vertices * sizeof *now);
        }
}

static void choose(const heat *h, uint32_t *bones, double *weights) {
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
    heat h = {.context = mesh->context, .f = f, .mesh = mesh};
    abut_status status = connect(&h);
    status = status ? status : ignite(&h);
    if (!status)
        status = abuti_parallel_try(h.context, "weights", JOINT_COUNT, 1, spread_bones, &h);
    if (!status)
        choose(&h, bones, weights);
    ABUTI_RELEASE(h.context, h.starts, h.neighbours, h.conductance, h.areas, h.times, h.near, h.now,
                  h.next);
    return status;
}
