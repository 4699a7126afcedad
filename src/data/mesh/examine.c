/* The mesh report: which problems a mesh has, and where.
 *
 * Every kind of problem is a yes-or-no test of an element (triangle, edge, vertex, component). The
 * tests run in parallel; the count and the first elements are collected in order. Tests that depend
 * on more than one element are prepared first: marks for duplicates, fans around vertices, equal
 * positions, and the volume and nesting of components.
 *
 * All of it is O(n log n) for any mesh, and the result does not depend on the number of threads.
 */
#include "mesh/mesh.h"

#include <string.h>

#define GRAIN 8192
#define PASS_TRIANGLES 32768 /* triangles per pass; half a MiB of scratch memory */
#define TASK_TRIANGLES 4096

typedef struct examination {
    abut_context *context;
    const abut_topology *topology;
    const abut_topology_arrays *view;
    const abut_mesh *mesh;
    unsigned char *flawed;                /* per edge: the directions of its faces do not balance */
    unsigned char *duplicate;             /* per triangle */
    unsigned char *fans;                  /* per vertex: 0, 1 or 2 = more */
    uint32_t *lowest;                     /* per vertex: the first one with an equal position */
    unsigned char *watertight, *balanced; /* per component */
    unsigned char *inside, *inward;       /* per component */
    double *volume, *magnitude, *component_area; /* per component */
    uint32_t *first_triangle;                    /* per component */
} examination;

/* ---- tests ---- */

/* Further tests of edges, which are no problems of their own. */
enum { ISOLATED_EDGE = ABUT_PROBLEM_SELF_INTERSECTION, UNBALANCED_EDGE };

static uint32_t face_count_of(const examination *x, uint32_t edge) {
    return x->view->edge_face_begin[edge + 1] - x->view->edge_face_begin[edge];
}

static bool is_degenerate(const examination *x, uint32_t t) {
    const uint32_t *corner = x->mesh->indices + 3 * (size_t)t;
    const vec3 *p = x->mesh->positions;
    return abuti_is_collapsed(corner) ||
           abuti_is_degenerate(p[corner[0]], p[corner[1]], p[corner[2]]);
}

/* Whether element i of the elements that this kind is about has the problem. */
static bool has_problem(const examination *x, unsigned kind, uint32_t i) {
    switch (kind) {
    case ABUT_PROBLEM_DEGENERATE_TRIANGLE:
        return is_degenerate(x, i);
    case ABUT_PROBLEM_DUPLICATE_TRIANGLE:
        return x->duplicate[i];
    case ABUT_PROBLEM_BOUNDARY_EDGE:
        return face_count_of(x, i) == 1;
    case ABUT_PROBLEM_NONMANIFOLD_EDGE:
        return face_count_of(x, i) > 2;
    case ABUT_PROBLEM_NONMANIFOLD_VERTEX:
        return x->fans[i] > 1;
    case ABUT_PROBLEM_FLIPPED_EDGE:
        return x->flawed[i] && face_count_of(x, i) == 2;
    case ABUT_PROBLEM_INWARD_COMPONENT:
        return x->inward[i];
    case ABUT_PROBLEM_COINCIDENT_VERTEX:
        return x->lowest[i] != i;
    case ABUT_PROBLEM_UNUSED_VERTEX:
        return x->view->vertex_face_begin[i] == x->view->vertex_face_begin[i + 1];
    case ISOLATED_EDGE:
        return face_count_of(x, i) == 0;
    default:
        return x->flawed[i] && face_count_of(x, i) > 2; /* unbalanced */
    }
}

/* Number of elements that are tested for a kind. */
static uint32_t element_count(const examination *x, unsigned kind) {
    switch (kind) {
    case ABUT_PROBLEM_DEGENERATE_TRIANGLE:
    case ABUT_PROBLEM_DUPLICATE_TRIANGLE:
        return x->view->triangle_count;
    case ABUT_PROBLEM_NONMANIFOLD_VERTEX:
    case ABUT_PROBLEM_COINCIDENT_VERTEX:
    case ABUT_PROBLEM_UNUSED_VERTEX:
        return x->view->vertex_count;
    case ABUT_PROBLEM_INWARD_COMPONENT:
        return x->view->component_count;
    default:
        return x->view->edge_count;
    }
}

typedef struct collection {
    const examination *x;
    unsigned kind;
    abut_problem *chunks;
} collection;

static void test_chunk(void *data, size_t chunk, size_t begin, size_t end) {
    collection *c = data;
    abut_problem *problem = &c->chunks[chunk];
    for (size_t i = begin; i < end; i++)
        if (has_problem(c->x, c->kind, (uint32_t)i)) {
            if (problem->count < ABUT_PROBLEM_FIRST_COUNT)
                problem->first[problem->count] = (uint32_t)i;
            problem->count++;
        }
}

static abut_status collect_problem(const examination *x, unsigned kind, abut_problem *problem) {
    const size_t count = element_count(x, kind), chunk_count = abuti_chunk_count(count, GRAIN);
    collection c = {.x = x, .kind = kind};
    c.chunks = abuti_allocate_zeroed(x->context, chunk_count, sizeof *c.chunks);
    if (!c.chunks)
        return ABUT_ERROR_MEMORY;
    abut_status status = abuti_parallel_try(x->context, "health", count, GRAIN, test_chunk, &c);
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

/* ---- components ---- */

/* For some triangles, six times the volume relative to a point of the component, and twice the
 * area. */
typedef struct triangle_measures {
    const examination *x;
    double factor;
    size_t first;
    double *volume, *area;
} triangle_measures;

static void measure_triangles(void *data, size_t chunk, size_t begin, size_t end) {
    const triangle_measures *w = data;
    const examination *x = w->x;
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

/* Volumes of components, each relative to a point of its own, so that small components far from the
 * rest do not vanish in rounding. Threads share the triangles; sums are computed in order. */
static abut_status sum_component_volumes(examination *x) {
    size_t count = x->view->triangle_count, most = count < PASS_TRIANGLES ? count : PASS_TRIANGLES;
    double *scratch = abuti_allocate(x->context, most, 2 * sizeof *scratch);
    if (!scratch)
        return ABUT_ERROR_MEMORY;
    triangle_measures w = {x, abuti_unit_frame_of(x->mesh).factor, 0, scratch, scratch + most};
    for (uint32_t t = x->view->triangle_count; t-- > 0;)
        x->first_triangle[x->view->triangle_component[t]] = t;
    for (; w.first < count; w.first += most) {
        size_t some = count - w.first < most ? count - w.first : most;
        abuti_parallel_for(x->context, some, TASK_TRIANGLES, measure_triangles, &w);
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

static abut_status examine_components(examination *x, abut_mesh_report *report) {
    size_t count = x->view->component_count;
    abut_status status =
        ABUTI_ALLOCATE(x->context, ABUTI_ARRAY(x->watertight, count),
                       ABUTI_ARRAY(x->balanced, count), ABUTI_ARRAY(x->inside, count),
                       ABUTI_ZEROED(x->inward, count), ABUTI_ZEROED(x->volume, count),
                       ABUTI_ZEROED(x->magnitude, count), ABUTI_ZEROED(x->component_area, count),
                       ABUTI_ARRAY(x->first_triangle, count));
    if (status)
        return status;
    abuti_find_watertight_components(&x->topology->view, x->watertight);
    if ((status = abuti_component_nesting(x->topology, x->watertight, x->inside)))
        return status;
    memset(x->balanced, 1, count);
    for (size_t e = 0; e < x->view->edge_count; e++)
        if (x->flawed[e])
            x->balanced
                [x->view->triangle_component[x->view->edge_faces[x->view->edge_face_begin[e]]]] = 0;
    status = sum_component_volumes(x);
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

static abut_status find_problems(examination *x, abut_mesh_report *report) {
    abut_status status = ABUT_OK;
    for (unsigned kind = 0; !status && kind < ABUT_PROBLEM_SELF_INTERSECTION; kind++)
        status = collect_problem(x, kind, &report->problems[kind]);
    abut_problem *inward = &report->problems[ABUT_PROBLEM_INWARD_COMPONENT];
    for (uint32_t i = 0; i < inward->count && i < ABUT_PROBLEM_FIRST_COUNT; i++)
        inward->first[i] = x->first_triangle[inward->first[i]];
    return status;
}

static abut_status prepare_examination(examination *x, abut_mesh_report *report) {
    abut_status status = ABUTI_ALLOCATE(x->context, ABUTI_ARRAY(x->flawed, x->view->edge_count),
                                        ABUTI_ZEROED(x->duplicate, x->view->triangle_count),
                                        ABUTI_ARRAY(x->fans, x->view->vertex_count),
                                        ABUTI_ARRAY(x->lowest, x->view->vertex_count));
    if (!status)
        status = abuti_mark_problems(x->topology, x->flawed, x->duplicate, x->fans);
    if (!status)
        status = abuti_progress(x->context, "health", 0.3);
    if (!status)
        status = abuti_coincident_vertices(x->context, x->mesh->positions, x->mesh->vertex_count,
                                           x->lowest);
    if (!status)
        status = abuti_progress(x->context, "health", 0.6);
    if (!status)
        status = examine_components(x, report);
    return status;
}

/* Computes the size of the holes of a surface with a boundary, and which of its components are
 * sheets. */
static abut_status measure_holes(const examination *x, const abuti_boundary *boundary,
                                 abut_mesh_report *report) {
    const uint32_t(*edges)[2] = (const uint32_t(*)[2])boundary->edges;
    double *fractions = NULL;
    uint32_t *component = abuti_allocate(x->context, x->mesh->vertex_count, sizeof *component);
    if (!component)
        return ABUT_ERROR_MEMORY;
    const uint32_t component_count = abuti_vertex_components(x->mesh, x->lowest, component);
    fractions = abuti_allocate(x->context, component_count, sizeof *fractions);
    abut_status status = fractions ? ABUT_OK : ABUT_ERROR_MEMORY;
    if (!status)
        status = abuti_hole_fractions(x->mesh, edges, boundary->single, boundary->count, NULL, 1,
                                      &report->hole_fraction);
    if (!status)
        status = abuti_hole_fractions(x->mesh, edges, boundary->single, boundary->count, component,
                                      component_count, fractions);
    report->is_sheet = !status;
    for (uint32_t i = 0; i < component_count && !status; i++) {
        report->has_sheets |= fractions[i] > ABUT_SHEET_HOLE_FRACTION;
        report->is_sheet &= fractions[i] > ABUT_SHEET_HOLE_FRACTION;
    }
    ABUTI_RELEASE(x->context, component, fractions);
    return status;
}

/* Whether the surface has boundary edges, by the definition that inside-outside queries use. */
static abut_status find_boundary(const examination *x, abut_mesh_report *report) {
    abuti_boundary boundary;
    if (report->is_balanced && report->is_oriented)
        return ABUT_OK;
    abut_status status = abuti_boundary_find(x->mesh, x->lowest, &boundary);
    if (status)
        return status;
    report->has_boundary = boundary.count > 0;
    report->has_opposite_boundary = boundary.flipped;
    if (boundary.count)
        status = measure_holes(x, &boundary, report);
    abuti_boundary_release(&boundary);
    return status;
}

static abut_status finish_report(const examination *x, abut_mesh_report *report) {
    const abut_problem *problems = report->problems;
    abut_problem isolated = {0}, unbalanced = {0};
    abut_status status = collect_problem(x, ISOLATED_EDGE, &isolated);
    if (!status && problems[ABUT_PROBLEM_NONMANIFOLD_EDGE].count)
        status = collect_problem(x, UNBALANCED_EDGE, &unbalanced);
    if (status)
        return status;
    report->has_isolated_edges = isolated.count > 0;
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
                        !problems[ABUT_PROBLEM_NONMANIFOLD_EDGE].count && !isolated.count;
    report->is_manifold = !problems[ABUT_PROBLEM_NONMANIFOLD_EDGE].count &&
                          !problems[ABUT_PROBLEM_NONMANIFOLD_VERTEX].count;
    report->is_oriented = !problems[ABUT_PROBLEM_FLIPPED_EDGE].count;
    report->bounds = x->mesh->bounds;
    status = find_boundary(x, report);
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

static void release_examination(examination *x) {
    ABUTI_RELEASE(x->context, x->flawed, x->duplicate, x->fans, x->lowest, x->watertight,
                  x->balanced, x->inside, x->inward, x->volume, x->magnitude, x->component_area,
                  x->first_triangle);
}

abut_status abut_mesh_examine(const abut_topology *topology, abut_mesh_report *report) {
    if (!topology || !report)
        return abuti_null(__func__, topology ? "report" : "topology");
    abut_status status = abuti_info_check(report, sizeof *report, __func__);
    if (status)
        return status;
    examination x = {.context = topology->mesh->context,
                     .topology = topology,
                     .view = &topology->view,
                     .mesh = topology->mesh};
    abut_mesh_report result = abut_mesh_report_default();
    memset(&result, 0, sizeof result); /* including padding, so that reports can be compared */
    status = abuti_progress(x.context, "health", 0);
    if (!status)
        status = prepare_examination(&x, &result);
    if (!status)
        status = abuti_progress(x.context, "health", 0.8);
    if (!status)
        status = find_problems(&x, &result);
    if (!status)
        status = finish_report(&x, &result);
    release_examination(&x);
    if (!status)
        status = abuti_progress(x.context, "health", 1);
    return status ? status : abuti_info_write(report, &result, sizeof result, __func__);
}

bool abuti_report_read(abut_mesh_report *ours, const abut_mesh_report *theirs) {
    return !abuti_result_read(ours, sizeof *ours, theirs, "a reliability function", "report");
}

/* Writes the elements in order, and their number. */
static abut_status list_elements(const examination *x, abut_problem_kind kind,
                                 abut_index_list *elements) {
    abut_problem found = {0};
    abut_status status = collect_problem(x, kind, &found);
    if (!status)
        status =
            ABUTI_LIST_COUNT("abut_mesh_get_problem_elements", "elements", elements, found.count);
    if (status)
        return status;
    for (uint32_t i = 0, used = 0; used < found.count; i++)
        if (has_problem(x, kind, i))
            elements->list[used++] =
                kind == ABUT_PROBLEM_INWARD_COMPONENT ? x->first_triangle[i] : i;
    return ABUT_OK;
}

abut_status abut_mesh_get_problem_elements(const abut_topology *topology, abut_problem_kind kind,
                                           abut_index_list *elements) {
    if (!topology)
        return abuti_null(__func__, "topology");
    abut_status status = ABUTI_LIST_CHECK(__func__, "elements", elements);
    if (status)
        return status;
    if ((unsigned)kind >= ABUT_PROBLEM_SELF_INTERSECTION)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: kind is %u; it must be a kind other than self-intersection",
                          __func__, (unsigned)kind);
    examination x = {.context = topology->mesh->context,
                     .topology = topology,
                     .view = &topology->view,
                     .mesh = topology->mesh};
    abut_mesh_report report = abut_mesh_report_default();
    memset(&report, 0, sizeof report);
    status = prepare_examination(&x, &report);
    if (!status)
        status = list_elements(&x, kind, elements);
    release_examination(&x);
    return status;
}

/* ---- names ---- */

const char *abut_problem_kind_name(abut_problem_kind kind) {
    static const char *const names[] = {
        "degenerate-triangle", "duplicate-triangle", "boundary-edge",    "nonmanifold-edge",
        "nonmanifold-vertex",  "flipped-edge",       "inward-component", "coincident-vertex",
        "unused-vertex",       "self-intersection",
    };
    _Static_assert(sizeof names / sizeof *names == ABUT_PROBLEM_SELF_INTERSECTION + 1,
                   "every kind of problem has a name");
    _Static_assert(sizeof names / sizeof *names <= ABUT_PROBLEM_KIND_MAX,
                   "the problems of a report have room for every kind");
    return ABUTI_NAME(names, kind);
}

const char *abut_reliability_level_name(abut_reliability_level level) {
    static const char *const names[] = {"guaranteed", "limited", "unreliable"};
    return ABUTI_NAME(names, level);
}
