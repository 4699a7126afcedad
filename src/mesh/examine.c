/* The health report: what is wrong with a mesh, and where.
 *
 * Every kind of problem is a yes/no question about an element (triangle, edge, vertex, component);
 * questions are asked in parallel, and the count and the lowest offenders are collected in order.
 * What needs more than a look at one element is prepared first: marks for duplicates, fans around
 * vertices, equal positions, and the volume and nesting of components.
 *
 * All of it is O(n log n) for any mesh and gives the same answer on any number of threads.
 */
#include "mesh/mesh.h"

#include <string.h>

#define GRAIN 8192
#define WEIGHED 32768 /* triangles at a time; a scratch of half a MiB */
#define WEIGHED_A_TASK 4096

typedef struct exam {
    abut_context *context;
    const abut_topology *topology;
    const abut_topology_arrays *view;
    const abut_mesh *mesh;
    unsigned char *flawed;                       /* an edge: faces do not balance */
    unsigned char *duplicate;                    /* a triangle */
    unsigned char *fans;                         /* a vertex: 0, 1 or 2 = more */
    uint32_t *lowest;                            /* a vertex: first of equal position */
    unsigned char *watertight, *balanced;        /* a component */
    unsigned char *inside, *inward;              /* a component */
    double *volume, *magnitude, *component_area; /* a component */
    uint32_t *first_triangle;                    /* a component */
} exam;

/* ---- collecting ---- */

typedef bool (*question)(const exam *x, uint32_t element);

typedef struct collection {
    const exam *x;
    question is_bad;
    abut_problem *chunks;
} collection;

static void note(abut_problem *problem, uint32_t element) {
    if (problem->count < ABUT_PROBLEM_FIRST_COUNT)
        problem->first[problem->count] = element;
    problem->count++;
}

static void ask(void *data, size_t chunk, size_t begin, size_t end) {
    collection *c = data;
    for (size_t i = begin; i < end; i++)
        if (c->is_bad(c->x, (uint32_t)i))
            note(&c->chunks[chunk], (uint32_t)i);
}

static abut_status collect(const exam *x, size_t count, question is_bad, abut_problem *problem) {
    size_t chunk_count = abuti_chunk_count(count, GRAIN);
    collection c = {.x = x, .is_bad = is_bad};
    c.chunks = abuti_allocate_zeroed(x->context, chunk_count, sizeof *c.chunks);
    if (!c.chunks)
        return ABUT_ERROR_MEMORY;
    abut_status status = abuti_parallel_try(x->context, "health", count, GRAIN, ask, &c);
    for (size_t k = 0; k < chunk_count; k++) {
        const abut_problem *part = &c.chunks[k];
        for (uint32_t i = 0; i < part->count && i < ABUT_PROBLEM_FIRST_COUNT &&
                             problem->count + i < ABUT_PROBLEM_FIRST_COUNT;
             i++)
            problem->first[problem->count + i] = part->first[i];
        problem->count += part->count;
    }
    abuti_release(x->context, c.chunks);
    return status;
}

/* ---- questions ---- */

static uint32_t face_count_of(const exam *x, uint32_t edge) {
    return x->view->edge_face_begin[edge + 1] - x->view->edge_face_begin[edge];
}

static bool is_degenerate(const exam *x, uint32_t t) {
    const uint32_t *corner = x->mesh->indices + 3 * (size_t)t;
    const vec3 *p = x->mesh->positions;
    return abuti_is_collapsed(corner) ||
           abuti_is_degenerate(p[corner[0]], p[corner[1]], p[corner[2]]);
}
static bool is_duplicate(const exam *x, uint32_t t) {
    return x->duplicate[t];
}
static bool is_boundary(const exam *x, uint32_t edge) {
    return face_count_of(x, edge) == 1;
}
static bool is_nonmanifold_edge(const exam *x, uint32_t edge) {
    return face_count_of(x, edge) > 2;
}
static bool is_nonmanifold_vertex(const exam *x, uint32_t vertex) {
    return x->fans[vertex] > 1;
}
static bool is_flipped(const exam *x, uint32_t edge) {
    return x->flawed[edge] && face_count_of(x, edge) == 2;
}
static bool is_inward(const exam *x, uint32_t component) {
    return x->inward[component];
}
static bool is_coincident(const exam *x, uint32_t vertex) {
    return x->lowest[vertex] != vertex;
}
static bool is_unused(const exam *x, uint32_t vertex) {
    return x->view->vertex_face_begin[vertex] == x->view->vertex_face_begin[vertex + 1];
}
static bool is_lone(const exam *x, uint32_t edge) {
    return face_count_of(x, edge) == 0;
}
static bool is_unbalanced(const exam *x, uint32_t edge) {
    return x->flawed[edge] && face_count_of(x, edge) > 2;
}

/* ---- components ---- */

/* Six times the volume with a point of its component, and twice the area, of some triangles. */
typedef struct weights {
    const exam *x;
    double factor;
    size_t first;
    double *volume, *area;
} weights;

static void weigh_triangles(void *data, size_t chunk, size_t begin, size_t end) {
    const weights *w = data;
    const exam *x = w->x;
    const vec3 *positions = x->mesh->positions;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        const uint32_t *corner = x->mesh->indices + 3 * (w->first + i);
        uint32_t component = x->view->triangle_component[w->first + i];
        vec3 from = positions[x->mesh->indices[3 * (size_t)x->first_triangle[component]]];
        vec3 a = v3_scale(v3_sub(positions[corner[0]], from), w->factor);
        vec3 b = v3_scale(v3_sub(positions[corner[1]], from), w->factor);
        vec3 c = v3_scale(v3_sub(positions[corner[2]], from), w->factor);
        vec3 normal = v3_cross(v3_sub(b, a), v3_sub(c, a));
        w->volume[i] = v3_dot(a, normal);
        w->area[i] = v3_length(normal);
    }
}

/* Volume by component, each from a point of its own, so that small parts far from the rest do not
 * drown in rounding. Threads share the triangles; sums are made in order. */
static abut_status weigh_components(exam *x) {
    size_t count = x->view->triangle_count, most = count < WEIGHED ? count : WEIGHED;
    double *scratch = abuti_allocate(x->context, most, 2 * sizeof *scratch);
    if (!scratch)
        return ABUT_ERROR_MEMORY;
    weights w = {x, abuti_unit_frame_of(x->mesh).factor, 0, scratch, scratch + most};
    for (uint32_t t = x->view->triangle_count; t-- > 0;)
        x->first_triangle[x->view->triangle_component[t]] = t;
    for (; w.first < count; w.first += most) {
        size_t some = count - w.first < most ? count - w.first : most;
        abuti_parallel_for(x->context, some, WEIGHED_A_TASK, weigh_triangles, &w);
        for (size_t i = 0; i < some; i++) {
            uint32_t component = x->view->triangle_component[w.first + i];
            if (!x->balanced[component])
                continue;
            x->volume[component] += w.volume[i];
            x->magnitude[component] += fabs(w.volume[i]);
            x->component_area[component] += w.area[i];
        }
    }
    abuti_release(x->context, scratch);
    return ABUT_OK;
}

static abut_status judge_components(exam *x, abut_mesh_report *report) {
    size_t count = x->view->component_count;
    x->watertight = abuti_allocate(x->context, count, 1);
    x->balanced = abuti_allocate(x->context, count, 1);
    x->inside = abuti_allocate(x->context, count, 1);
    x->inward = abuti_allocate_zeroed(x->context, count, 1);
    x->volume = abuti_allocate_zeroed(x->context, count, sizeof *x->volume);
    x->magnitude = abuti_allocate_zeroed(x->context, count, sizeof *x->magnitude);
    x->component_area = abuti_allocate_zeroed(x->context, count, sizeof *x->component_area);
    x->first_triangle = abuti_allocate(x->context, count, sizeof *x->first_triangle);
    if (!x->watertight || !x->balanced || !x->inside || !x->inward || !x->volume || !x->magnitude ||
        !x->component_area || !x->first_triangle)
        return ABUT_ERROR_MEMORY;
    abuti_component_seams(&x->topology->view, x->watertight);
    abut_status status = abuti_component_nesting(x->topology, x->watertight, x->inside);
    if (status)
        return status;
    memset(x->balanced, 1, count);
    for (size_t e = 0; e < x->view->edge_count; e++)
        if (x->flawed[e])
            x->balanced
                [x->view->triangle_component[x->view->edge_faces[x->view->edge_face_begin[e]]]] = 0;
    status = weigh_components(x);
    if (status)
        return status;
    for (size_t c = 0; c < count; c++) {
        if (!x->balanced[c] || !(x->component_area[c] > 0))
            continue;
        bool has_volume = fabs(x->volume[c]) > 1e-12 * x->magnitude[c] &&
                          fabs(x->volume[c]) > 1e-14 * x->component_area[c];
        bool negative = x->volume[c] < 0;
        x->inward[c] = has_volume && negative && !x->inside[c];
        report->has_volume |= has_volume;
        report->has_flat_component |= !has_volume;
        report->has_nested_component |= has_volume && !negative && x->inside[c];
    }
    return ABUT_OK;
}

/* ---- the report ---- */

/* By kind; a hierarchy answers the last. */
static const struct {
    question is_bad;
    enum { TRIANGLE, EDGE, VERTEX, COMPONENT } of;
} questions[ABUT_PROBLEM_SELF_INTERSECTION] = {
    [ABUT_PROBLEM_DEGENERATE_TRIANGLE] = {is_degenerate, TRIANGLE},
    [ABUT_PROBLEM_DUPLICATE_TRIANGLE] = {is_duplicate, TRIANGLE},
    [ABUT_PROBLEM_BOUNDARY_EDGE] = {is_boundary, EDGE},
    [ABUT_PROBLEM_NONMANIFOLD_EDGE] = {is_nonmanifold_edge, EDGE},
    [ABUT_PROBLEM_NONMANIFOLD_VERTEX] = {is_nonmanifold_vertex, VERTEX},
    [ABUT_PROBLEM_FLIPPED_EDGE] = {is_flipped, EDGE},
    [ABUT_PROBLEM_INWARD_COMPONENT] = {is_inward, COMPONENT},
    [ABUT_PROBLEM_COINCIDENT_VERTEX] = {is_coincident, VERTEX},
    [ABUT_PROBLEM_UNUSED_VERTEX] = {is_unused, VERTEX},
};

/* How many elements the question about a kind is asked of. */
static uint32_t asked_count(const exam *x, unsigned kind) {
    const uint32_t counts[] = {x->view->triangle_count, x->view->edge_count, x->view->vertex_count,
                               x->view->component_count};
    return counts[questions[kind].of];
}

static abut_status find_problems(exam *x, abut_mesh_report *report) {
    abut_status status = ABUT_OK;
    for (unsigned kind = 0; !status && kind < ABUT_PROBLEM_SELF_INTERSECTION; kind++)
        status = collect(x, asked_count(x, kind), questions[kind].is_bad, &report->problems[kind]);
    abut_problem *inward = &report->problems[ABUT_PROBLEM_INWARD_COMPONENT];
    for (uint32_t i = 0; i < inward->count && i < ABUT_PROBLEM_FIRST_COUNT; i++)
        inward->first[i] = x->first_triangle[inward->first[i]];
    return status;
}

static abut_status prepare(exam *x, abut_mesh_report *report) {
    x->flawed = abuti_allocate(x->context, x->view->edge_count, 1);
    x->duplicate = abuti_allocate_zeroed(x->context, x->view->triangle_count, 1);
    x->fans = abuti_allocate(x->context, x->view->vertex_count, 1);
    x->lowest = abuti_allocate(x->context, x->view->vertex_count, sizeof *x->lowest);
    if (!x->flawed || !x->duplicate || !x->fans || !x->lowest)
        return ABUT_ERROR_MEMORY;
    abut_status status = abuti_mark(x->topology, x->flawed, x->duplicate, x->fans);
    status = status ? status : abuti_progress(x->context, "health", 0.3);
    if (!status)
        status = abuti_coincident_vertices(x->context, x->mesh->positions, x->mesh->vertex_count,
                                           x->lowest);
    status = status ? status : abuti_progress(x->context, "health", 0.6);
    status = status ? status : judge_components(x, report);
    return status;
}

/* How large the holes of a surface with a border are, and which of its parts are sheets. */
static abut_status measure_holes(const exam *x, const abuti_border *border,
                                 abut_mesh_report *report) {
    uint32_t(*edges)[2] = abuti_allocate(x->context, border->count, sizeof *edges);
    bool *single = abuti_allocate(x->context, border->count, sizeof *single);
    uint32_t *part = abuti_allocate(x->context, x->mesh->vertex_count, sizeof *part);
    double *shares = NULL;
    abut_status status = edges && single && part ? ABUT_OK : ABUT_ERROR_MEMORY;
    if (!status) {
        const uint32_t parts = abuti_mesh_parts(x->mesh, x->lowest, part);
        const uint32_t(*listed)[2] = (const uint32_t(*)[2])edges;
        abuti_border_list(border, edges, single);
        shares = abuti_allocate(x->context, parts, sizeof *shares);
        status = shares ? abuti_hole_shares(x->mesh, listed, single, border->count, NULL, 1,
                                            &report->hole_fraction)
                        : ABUT_ERROR_MEMORY;
        if (!status)
            status = abuti_hole_shares(x->mesh, listed, single, border->count, part, parts, shares);
        report->is_sheet = !status;
        for (uint32_t i = 0; i < parts && !status; i++) {
            report->has_sheets |= shares[i] > ABUT_SHEET_HOLE_FRACTION;
            report->is_sheet &= shares[i] > ABUT_SHEET_HOLE_FRACTION;
        }
    }
    ABUTI_RELEASE(x->context, edges, single, part, shares);
    return status;
}

/* Whether the surface has boundary edges, as queries of inside and outside see it. */
static abut_status find_border(const exam *x, abut_mesh_report *report) {
    abuti_border border;
    if (report->is_balanced && report->is_oriented)
        return ABUT_OK;
    abut_status status = abuti_border_begin(x->mesh, &border);
    if (status)
        return status;
    abuti_border_find(&border, x->lowest);
    report->has_boundary = border.count > 0;
    report->has_opposite_boundary = border.flipped;
    if (border.count)
        status = measure_holes(x, &border, report);
    abuti_border_end(&border);
    return status;
}

static abut_status settle(const exam *x, abut_mesh_report *report) {
    const abut_problem *problems = report->problems;
    abut_problem lone = {0}, unbalanced = {0};
    abut_status status = collect(x, x->view->edge_count, is_lone, &lone);
    if (!status && problems[ABUT_PROBLEM_NONMANIFOLD_EDGE].count)
        status = collect(x, x->view->edge_count, is_unbalanced, &unbalanced);
    if (status)
        return status;
    report->has_isolated_edges = lone.count > 0;
    report->is_balanced = !problems[ABUT_PROBLEM_BOUNDARY_EDGE].count && !unbalanced.count;
    report->vertex_count = x->view->vertex_count;
    report->triangle_count = x->view->triangle_count;
    report->edge_count = x->view->edge_count;
    report->component_count = x->view->component_count;
    report->loop_count = x->view->loop_count;
    report->euler_number = (int64_t)x->view->vertex_count -
                           problems[ABUT_PROBLEM_UNUSED_VERTEX].count -
                           (int64_t)x->view->edge_count + (int64_t)x->view->triangle_count;
    report->is_closed = !problems[ABUT_PROBLEM_BOUNDARY_EDGE].count &&
                        !problems[ABUT_PROBLEM_NONMANIFOLD_EDGE].count && !lone.count;
    report->is_manifold = !problems[ABUT_PROBLEM_NONMANIFOLD_EDGE].count &&
                          !problems[ABUT_PROBLEM_NONMANIFOLD_VERTEX].count;
    report->is_oriented = !problems[ABUT_PROBLEM_FLIPPED_EDGE].count;
    report->bounds = x->mesh->bounds;
    status = find_border(x, report);
    if (status)
        return status;
    abuti_mass mass;
    status = abuti_mesh_mass(x->mesh, report->is_closed && report->is_oriented, &mass);
    if (status)
        return status;
    report->area = mass.area;
    report->volume = mass.volume;
    report->centroid = mass.centroid;
    memcpy(report->inertia, mass.inertia, sizeof report->inertia);
    report->is_solid = mass.solid;
    return ABUT_OK;
}

static void release(exam *x) {
    ABUTI_RELEASE(x->context, x->flawed, x->duplicate, x->fans, x->lowest, x->watertight,
                  x->balanced, x->inside, x->inward, x->volume, x->magnitude, x->component_area,
                  x->first_triangle);
}

abut_status abut_mesh_examine(const abut_topology *topology, abut_mesh_report *report) {
    if (!topology || !report)
        return abuti_null(__func__, topology ? "report" : "topology");
    exam x = {.context = topology->mesh->context,
              .topology = topology,
              .view = &topology->view,
              .mesh = topology->mesh};
    abut_mesh_report made;
    memset(&made, 0, sizeof made); /* also between the members, so that reports can be compared */
    abut_status status = abuti_progress(x.context, "health", 0);
    status = status ? status : prepare(&x, &made);
    status = status ? status : abuti_progress(x.context, "health", 0.8);
    status = status ? status : find_problems(&x, &made);
    status = status ? status : settle(&x, &made);
    release(&x);
    status = status ? status : abuti_progress(x.context, "health", 1);
    if (!status)
        *report = made;
    return status;
}

/* Collects them in order, and says how many there are. */
static abut_status list_offenders(const exam *x, abut_problem_kind kind, uint32_t capacity,
                                  uint32_t *elements, uint32_t *count) {
    abut_problem found = {0};
    abut_status status = collect(x, asked_count(x, kind), questions[kind].is_bad, &found);
    if (status)
        return status;
    *count = found.count;
    if (found.count > capacity)
        return abuti_fail(ABUT_ERROR_BUFFER,
                          "abut_mesh_get_problem_elements: %u offenders need more than %u",
                          found.count, capacity);
    for (uint32_t i = 0, used = 0; used < found.count; i++)
        if (questions[kind].is_bad(x, i))
            elements[used++] = kind == ABUT_PROBLEM_INWARD_COMPONENT ? x->first_triangle[i] : i;
    return ABUT_OK;
}

abut_status abut_mesh_get_problem_elements(const abut_topology *topology, abut_problem_kind kind,
                                           uint32_t capacity, uint32_t *elements, uint32_t *count) {
    if (!topology || !count || (!elements && capacity))
        return abuti_null(__func__, !topology ? "topology" : count ? "elements" : "count");
    if ((unsigned)kind >= ABUT_PROBLEM_SELF_INTERSECTION)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: kind is %u, which is no kind to be listed here",
                          __func__, (unsigned)kind);
    exam x = {.context = topology->mesh->context,
              .topology = topology,
              .view = &topology->view,
              .mesh = topology->mesh};
    abut_mesh_report report;
    memset(&report, 0, sizeof report);
    abut_status status = prepare(&x, &report);
    status = status ? status : list_offenders(&x, kind, capacity, elements, count);
    release(&x);
    return status;
}

/* ---- names ---- */

const char *abut_problem_kind_name(abut_problem_kind kind) {
    static const char *const names[ABUT_PROBLEM_COUNT] = {
        "degenerate-triangle", "duplicate-triangle", "boundary-edge",    "nonmanifold-edge",
        "nonmanifold-vertex",  "flipped-edge",       "inward-component", "coincident-vertex",
        "unused-vertex",       "self-intersection",
    };
    return ABUTI_NAME(names, kind);
}

const char *abut_reliability_level_name(abut_reliability_level level) {
    static const char *const names[] = {"guaranteed", "limited", "unreliable"};
    return ABUTI_NAME(names, level);
}
