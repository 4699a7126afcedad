/* Samples of the features of a mesh (Sundholm 2010, section 5.1.1 and 6.2.4).
 *
 * An edge is flat where the normals of all its faces agree within an angle, and it has at least
 * two; a border is never flat. A vertex is flat where all its edges are. Faces without area have no
 * normal and decide nothing. A flat region is what can be reached from its lowest triangle through
 * edges of two faces, with normals that agree with the normal of that triangle, so that a gently
 * curved surface does not become one region step by step.
 *
 * Edges longer than the spacing h are cut into ceil(length / h) equal parts, whose inner ends are
 * samples: as many as steps of h from one end would give, and the same from either end. The first
 * sample of a region is its centroid by area, or, where that lies outside of it, as for a ring, the
 * middle of the triangle that is nearest to it.
 *
 * Flat on flat. Two cubes that stand on each other, side above side, have all vertices and edges
 * where the nearest face of the other is a side, so that only the middles of faces would touch,
 * which support nothing. So a region has samples near its corners too: of its vertices the one
 * furthest from the first sample, then again and again the one furthest from all these, while that
 * is CORNER_SPREAD of the first distance; each moved CORNER_CELLS towards the first sample,
 * where the field of a like body is that of the face alone.
 */
#include "contact/samples.h"

#include <math.h>

#define FLAT_ANGLE 1e-3
#define FLAT_ANGLE_MAX 1.5 /* radians: below a right angle */
#define CELLS_DEFAULT 64
#define FACES_OF_A_CELL 4  /* that a flat region has at least */
#define CORNERS 8          /* of a flat region, at most */
#define CORNER_SPREAD 0.75 /* the corners of a square, but not the middles of its sides */
#define CORNER_CELLS 3.0   /* along the diagonal of a square: two cells from either side */
#define MOST_SAMPLES ((double)(1u << 28))

enum { ALL_KINDS = ABUT_SAMPLES_VERTICES | ABUT_SAMPLES_EDGES | ABUT_SAMPLES_FACES };

typedef struct work {
    abut_mesh *mesh;
    abut_samples_options options;
    abut_topology_arrays topology;
    abut_normals_arrays normals;
    double cell, spacing, face_area, least_cosine;
    unsigned char *flat_edge; /* of each edge */
    double area;
    sample_list found;
} work;

/* ---- options ---- */

/* Fails unless a number is from 0, which stands for a default, to `most`. */
static abut_status check_number(const char *name, double number, double most, const char *unit) {
    return abuti_check_range("abut_samples_create", name, number, 0, most, unit);
}

static abut_status read_options(const abut_samples_options *theirs, abut_samples_options *ours) {
    *ours = abut_samples_options_default();
    abut_status status = abuti_options_read(ours, sizeof *ours, theirs, "abut_samples_create");
    const char *lengths = "units of the coordinates, where 0 stands for a default";
    const char *areas = "square units of the coordinates, where 0 stands for a default";
    const double most = ABUT_COORDINATE_MAX;
    status = status ? status : check_number("options->cell", ours->cell, most, lengths);
    status = status ? status : check_number("options->threshold", ours->threshold, most, lengths);
    status = status ? status
                    : check_number("options->flat_angle", ours->flat_angle, FLAT_ANGLE_MAX,
                                   "radians, where 0 stands for a default");
    status = status ? status : check_number("options->face_area", ours->face_area, most, areas);
    status = status ? status : check_number("options->radius", ours->radius, most, lengths);
    status = status ? status
                    : check_number("options->kinds", ours->kinds, ALL_KINDS | ABUT_SAMPLES_SURFACE,
                                   "(a sum of ABUT_SAMPLES_VERTICES, _EDGES, _FACES and _SURFACE)");
    if (!status && ours->radius > 0 && ours->count)
        status = abuti_fail(ABUT_ERROR_ARGUMENT, "abut_samples_create: options->radius and "
                                                 "options->count are given; give one of them");
    if (!ours->kinds)
        ours->kinds = ours->radius > 0 || ours->count ? ABUT_SAMPLES_SURFACE : ALL_KINDS;
    return status;
}

/* ---- what is flat ---- */

static void mark_flat_edges(void *data, size_t chunk, size_t begin, size_t end) {
    work *w = data;
    (void)chunk;
    for (size_t e = begin; e < end; e++) {
        const uint32_t *faces;
        uint32_t count = abuti_edge_faces(&w->topology, (uint32_t)e, &faces);
        vec3 first = v3(0, 0, 0);
        bool flat = count >= 2;
        for (uint32_t i = 0; i < count && flat; i++) {
            vec3 normal = w->normals.faces[faces[i]];
            if (v3_max_abs(normal) == 0)
                continue;
            if (v3_max_abs(first) == 0)
                first = normal;
            flat = v3_dot(first, normal) >= w->least_cosine;
        }
        w->flat_edge[e] = flat;
    }
}

static double triangle_area(const work *w, uint32_t triangle) {
    const uint32_t *corner = w->mesh->indices + 3 * (size_t)triangle;
    const vec3 *p = w->mesh->positions;
    return 0.5 * v3_length(v3_cross(v3_sub(p[corner[1]], p[corner[0]]),
                                    v3_sub(p[corner[2]], p[corner[0]])));
}

/* The sum of corners over three, in absolute coordinates. */
static vec3 triangle_middle(const work *w, uint32_t triangle) {
    const uint32_t *corner = w->mesh->indices + 3 * (size_t)triangle;
    const vec3 *p = w->mesh->positions;
    vec3 sum = v3_add(v3_add(p[corner[0]], p[corner[1]]), p[corner[2]]);
    return v3_along(w->mesh->origin, 1.0 / 3, sum);
}

/* ---- vertices and edges ---- */

static void add(work *w, vec3 point, vec3 normal, abut_sample_kind kind, uint32_t element,
                uint32_t part) {
    const abut_sample sample = {point, normal, kind, element, part};
    w->found.list[w->found.count++] = sample;
}

static abut_status sample_vertices(work *w) {
    const abut_topology_arrays *t = &w->topology;
    unsigned char *sharp = abuti_allocate_zeroed(w->mesh->context, t->vertex_count, 1);
    if (!sharp)
        return ABUT_ERROR_MEMORY;
    for (uint32_t e = 0; e < t->edge_count; e++)
        if (!w->flat_edge[e])
            sharp[t->edges[2 * (size_t)e]] = sharp[t->edges[2 * (size_t)e + 1]] = 1;
    abut_status status = abuti_samples_reserve(&w->found, t->vertex_count);
    for (uint32_t v = 0; v < t->vertex_count && !status; v++)
        if (sharp[v])
            add(w, abuti_mesh_position(w->mesh, v), w->normals.vertices[v], ABUT_SAMPLE_VERTEX, v,
                0);
    abuti_release(w->mesh->context, sharp);
    return status;
}

/* Into how many parts an edge is cut: 1 where it is flat. A length that is a whole number of
 * spacings but for rounding counts as that. */
static double parts_of(const work *w, uint32_t edge) {
    if (w->flat_edge[edge])
        return 1;
    const uint32_t *end = w->topology.edges + 2 * (size_t)edge;
    double length = v3_length(v3_sub(w->mesh->positions[end[1]], w->mesh->positions[end[0]]));
    return real_max(1, ceil(length / w->spacing * (1 - 1e-9)));
}

static abut_status sample_edges(work *w, abut_samples *to) {
    double total = 0;
    uint32_t edges = 0;
    for (uint32_t e = 0; e < w->topology.edge_count; e++) {
        double parts = parts_of(w, e);
        total += parts - 1;
        edges += parts > 1;
    }
    if (!(total <= MOST_SAMPLES && total < ABUT_SAMPLE_DEEPEST))
        return abuti_fail(ABUT_ERROR_LIMIT,
                          "abut_samples_create: there are %.9g samples %g apart along edges, at "
                          "most %u are allowed; take a larger options->threshold",
                          total, w->spacing, ABUT_SAMPLE_DEEPEST - 1);
    abut_status status = abuti_samples_reserve(&w->found, (size_t)total);
    to->edges = status ? NULL : abuti_allocate(w->mesh->context, edges, sizeof *to->edges);
    if (!to->edges)
        return ABUT_ERROR_MEMORY;
    for (uint32_t e = 0; e < w->topology.edge_count; e++) {
        double parts = parts_of(w, e);
        if (!(parts > 1))
            continue;
        const uint32_t *end = w->topology.edges + 2 * (size_t)e;
        abut_sample_edge *edge = &to->edges[to->view.edge_count++];
        *edge = (abut_sample_edge){{abuti_mesh_position(w->mesh, end[0]),
                                    abuti_mesh_position(w->mesh, end[1])},
                                   w->normals.edges[e],
                                   e};
        for (uint32_t i = 1; i < (uint32_t)parts; i++)
            add(w, v3_lerp(edge->end[0], edge->end[1], i / parts), edge->normal, ABUT_SAMPLE_EDGE,
                e, i - 1);
    }
    return ABUT_OK;
}

/* ---- flat regions ---- */

/* Fills `queue` with the region of a triangle. */
static uint32_t spread(const work *w, uint32_t first, unsigned char *seen, uint32_t *queue) {
    vec3 normal = w->normals.faces[first];
    uint32_t count = 1;
    queue[0] = first;
    seen[first] = 1;
    for (uint32_t i = 0; i < count; i++)
        for (int k = 0; k < 3; k++) {
            uint32_t next = w->topology.neighbours[3 * (size_t)queue[i] + (size_t)k];
            if (next == ABUT_NONE || seen[next] ||
                !(v3_dot(normal, w->normals.faces[next]) >= w->least_cosine))
                continue;
            seen[next] = 1;
            queue[count++] = next;
        }
    return count;
}

/* Whether a triangle has a point above or below it, which then becomes its foot. */
static bool covers(const work *w, uint32_t triangle, vec3 *point) {
    const uint32_t *corner = w->mesh->indices + 3 * (size_t)triangle;
    vec3 p = v3_sub(*point, w->mesh->origin), normal = w->normals.faces[triangle];
    for (int k = 0; k < 3; k++) {
        vec3 a = w->mesh->positions[corner[k]], b = w->mesh->positions[corner[(k + 1) % 3]];
        if (v3_dot(v3_cross(v3_sub(b, a), v3_sub(p, a)), normal) < 0)
            return false;
    }
    double above = v3_dot(v3_sub(p, w->mesh->positions[corner[0]]), normal);
    *point = v3_along(*point, -above, normal);
    return true;
}

/* The centroid where it is in the region, else the middle of the nearest triangle. */
static vec3 middle_of(const work *w, const uint32_t *region, uint32_t count, double area) {
    vec3 sum = v3(0, 0, 0), start = triangle_middle(w, region[0]), nearest = start;
    for (uint32_t i = 0; i < count; i++)
        sum = v3_along(sum, triangle_area(w, region[i]),
                       v3_sub(triangle_middle(w, region[i]), start));
    vec3 centroid = v3_along(start, 1 / area, sum);
    double least = INFINITY;
    for (uint32_t i = 0; i < count; i++) {
        vec3 middle = triangle_middle(w, region[i]);
        double distance = v3_length_sq(v3_sub(middle, centroid));
        if (covers(w, region[i], &centroid))
            return centroid;
        if (distance < least) {
            least = distance;
            nearest = middle;
        }
    }
    return nearest;
}

static vec3 corner_of(const work *w, const uint32_t *region, uint32_t corner) {
    return abuti_mesh_position(w->mesh,
                               w->mesh->indices[3 * (size_t)region[corner / 3] + corner % 3]);
}

/* Whether a point is in the region, to which it is moved. */
static bool is_in(const work *w, const uint32_t *region, uint32_t count, vec3 *point) {
    for (uint32_t i = 0; i < count; i++)
        if (covers(w, region[i], point))
            return true;
    return false;
}

/* Adds the samples near the corners of a region; see the head of the file. `far` has room for a
 * number for each corner of its triangles. */
static void add_corners(work *w, const uint32_t *region, uint32_t count, vec3 middle, double *far) {
    vec3 from = middle;
    double first = 0;
    for (uint32_t i = 0; i < 3 * count; i++)
        far[i] = INFINITY;
    for (uint32_t part = 1; part <= CORNERS; part++) {
        uint32_t best = 0;
        for (uint32_t i = 0; i < 3 * count; i++) {
            far[i] = real_min(far[i], v3_length(v3_sub(corner_of(w, region, i), from)));
            if (far[i] > far[best])
                best = i;
        }
        first = part == 1 ? far[best] : first;
        if (!(far[best] > CORNER_SPREAD * first))
            return;
        from = corner_of(w, region, best);
        vec3 in = v3_sub(middle, from);
        double share = CORNER_CELLS * w->cell / v3_length(in);
        vec3 point = v3_along(from, real_min(0.5, share), in);
        if (is_in(w, region, count, &point))
            add(w, point, w->normals.faces[region[0]], ABUT_SAMPLE_FACE, region[0], part);
    }
}

static abut_status sample_faces(work *w) {
    uint32_t triangles = w->topology.triangle_count;
    unsigned char *seen = abuti_allocate_zeroed(w->mesh->context, triangles, 1);
    uint32_t *queue = seen ? abuti_allocate(w->mesh->context, triangles, sizeof *queue) : NULL;
    double *far = queue ? abuti_allocate(w->mesh->context, triangles, 3 * sizeof *far) : NULL;
    abut_status status = far ? ABUT_OK : ABUT_ERROR_MEMORY;
    for (uint32_t f = 0; f < triangles && !status; f++) {
        if (f % 4096 == 0 && (status = abuti_progress(w->mesh->context, "samples", 0.6)))
            break;
        if (seen[f] || v3_max_abs(w->normals.faces[f]) == 0)
            continue;
        uint32_t count = spread(w, f, seen, queue);
        double area = 0;
        for (uint32_t i = 0; i < count; i++)
            area += triangle_area(w, queue[i]);
        if (!(area > w->face_area))
            continue;
        status = abuti_samples_reserve(&w->found, 1 + CORNERS);
        if (status)
            break;
        vec3 middle = middle_of(w, queue, count, area);
        add(w, middle, w->normals.faces[f], ABUT_SAMPLE_FACE, f, 0);
        if (!w->options.face_middles)
            add_corners(w, queue, count, middle, far);
    }
    ABUTI_RELEASE(w->mesh->context, seen, queue, far);
    return status;
}

/* ---- all of them ---- */

static abut_status find(work *w, abut_samples *to) {
    const abut_samples_options *o = &w->options;
    abut_context *context = w->mesh->context;
    abut_status status = ABUT_OK;
    w->flat_edge = abuti_allocate(context, w->topology.edge_count, 1);
    if (!w->flat_edge)
        return ABUT_ERROR_MEMORY;
    status =
        abuti_parallel_try(context, "samples", w->topology.edge_count, 4096, mark_flat_edges, w);
    for (uint32_t f = 0; f < w->topology.triangle_count; f++)
        w->area += triangle_area(w, f);
    if (!status && o->kinds & ABUT_SAMPLES_VERTICES)
        status = sample_vertices(w);
    status = status ? status : abuti_progress(context, "samples", 0.3);
    if (!status && o->kinds & ABUT_SAMPLES_EDGES)
        status = sample_edges(w, to);
    status = status ? status : abuti_progress(context, "samples", 0.6);
    if (!status && o->kinds & ABUT_SAMPLES_FACES)
        status = sample_faces(w);
    if (!status && o->kinds & ABUT_SAMPLES_SURFACE)
        status = abuti_samples_even(w->mesh, &w->normals, w->area,
                                    o->radius > 0 ? o->radius : w->spacing, o->count, &w->found);
    if (!status && w->found.count > (size_t)MOST_SAMPLES)
        status = abuti_fail(ABUT_ERROR_LIMIT,
                            "abut_samples_create: there are %zu samples, at most %.0f are allowed",
                            w->found.count, MOST_SAMPLES);
    if (!status && o->max_count && o->max_count < w->found.count)
        status = abuti_samples_thin(&w->found, 0, o->max_count, 0);
    abuti_release(context, w->flat_edge);
    return status;
}

static contact_point point_of(vec3 p, vec3 centre, vec3 n) {
    vec3 d = v3_sub(p, centre);
    const contact_point point = {(float)d.x, (float)d.y, (float)d.z,
                                 (float)n.x, (float)n.y, (float)n.z};
    return point;
}

/* Copies samples and edges to the floats that kernels read. */
static abut_status finish(const work *w, abut_samples *to) {
    abut_samples_arrays *view = &to->view;
    view->samples = to->samples;
    view->edges = to->edges;
    view->spacing = w->spacing;
    to->has_vertices = w->options.kinds & ABUT_SAMPLES_VERTICES && !w->options.max_count;
    size_t count = view->count + 2 * (size_t)view->edge_count;
    to->points = abuti_allocate(to->context, count, sizeof *to->points);
    if (!to->points)
        return ABUT_ERROR_MEMORY;
    to->centre = box_centre(w->mesh->bounds);
    to->bounds = box_empty();
    for (size_t i = 0; i < view->count; i++) {
        const abut_sample *s = &to->samples[i];
        view->kind_count[s->kind]++;
        to->points[i] = point_of(s->point, to->centre, s->normal);
        to->radius = real_max(to->radius, v3_length(v3_sub(s->point, to->centre)));
        to->bounds = box_grow(to->bounds, s->point);
    }
    for (size_t i = 0; i < 2 * (size_t)view->edge_count; i++) {
        const abut_sample_edge *e = &to->edges[i / 2];
        to->points[view->count + i] = point_of(e->end[i % 2], to->centre, e->normal);
        to->radius = real_max(to->radius, v3_length(v3_sub(e->end[i % 2], to->centre)));
        to->bounds = box_grow(to->bounds, e->end[i % 2]);
    }
    return abuti_samples_balls(to);
}

/* Finds the samples and edges of a mesh. */
static abut_status make(work *w, abut_samples *to) {
    abut_topology *topology = NULL;
    abut_normals *normals = NULL;
    abut_status status = abut_topology_create(w->mesh, &topology);
    status = status ? status : abut_normals_create(topology, &normals);
    w->topology = abut_topology_arrays_default();
    w->normals = abut_normals_arrays_default();
    status = status ? status : abut_topology_get_arrays(topology, &w->topology);
    status = status ? status : abut_normals_get_arrays(normals, &w->normals);
    status = status ? status : find(w, to);
    to->samples = w->found.list;
    to->view.count = status ? 0 : (uint32_t)w->found.count;
    to->view.area = w->area;
    abut_normals_destroy(normals);
    abut_topology_destroy(topology);
    return status;
}

/* Where samples of these options are kept: by the mesh and all that changes them, as worked out. */
static void find_place(const work *w, cache_place *place) {
    const abut_samples_options *o = &w->options;
    const vec3 from = w->mesh->origin; /* positions are relative to it */
    const double lengths[] = {from.x,     from.y,       from.z,          w->cell,
                              w->spacing, w->face_area, w->least_cosine, o->radius};
    const uint32_t numbers[] = {o->kinds, o->count, o->max_count, o->face_middles};
    abuti_digest sum;
    abuti_mesh_digest(w->mesh, place->mesh);
    abuti_digest_begin(&sum);
    abuti_digest_text(&sum, abut_version()); /* another one may choose others */
    abuti_digest_add(&sum, place->mesh, sizeof place->mesh);
    abuti_digest_add(&sum, lengths, sizeof lengths);
    abuti_digest_add(&sum, numbers, sizeof numbers);
    abuti_digest_end(&sum, place->key);
    abuti_cache_file_path(w->mesh->context, o->cache, place->key, SAMPLES_ENDING, place->path);
}

/* From the cache where there is one and has them, else made and kept there. */
static abut_status recall_or_make(work *w, abut_samples *to) {
    cache_place place = {.path = ""};
    bool found = false;
    if (w->options.cache)
        find_place(w, &place);
    abut_status status = ABUT_OK;
    if (place.path[0])
        status = abuti_samples_recall(&place, w->mesh, w->options.kinds, to, &found);
    if (status || found)
        return status;
    status = make(w, to);
    if (!status && place.path[0])
        abuti_samples_keep(&place, to);
    return status;
}

abut_status abut_samples_create(abut_mesh *mesh, const abut_samples_options *options,
                                abut_samples **samples) {
    work w = {.mesh = mesh};
    if (!mesh || !samples)
        return abuti_null(__func__, mesh ? "samples" : "mesh");
    abut_status status = read_options(options, &w.options);
    if (status)
        return status;
    vec3 extent = v3_sub(mesh->bounds.hi, mesh->bounds.lo);
    w.cell = w.options.cell > 0 ? w.options.cell : v3_max_abs(extent) / CELLS_DEFAULT;
    w.spacing = real_max(w.options.threshold, w.cell * sqrt(3.0));
    w.face_area = w.options.face_area > 0 ? w.options.face_area : FACES_OF_A_CELL * w.cell * w.cell;
    w.least_cosine = cos(w.options.flat_angle > 0 ? w.options.flat_angle : FLAT_ANGLE);
    w.found.context = mesh->context;
    abut_samples *made = abuti_allocate_zeroed(mesh->context, 1, sizeof *made);
    if (!made)
        return ABUT_ERROR_MEMORY;
    made->context = abuti_context_retain(mesh->context);
    atomic_init(&made->holds, 1);
    status = recall_or_make(&w, made);
    status = status ? status : finish(&w, made);
    if (status)
        abut_samples_destroy(made);
    else
        *samples = made;
    return status;
}

abut_samples *abuti_samples_retain(const abut_samples *samples) {
    abut_samples *shared = (abut_samples *)(uintptr_t)samples;
    if (shared)
        atomic_fetch_add_explicit(&shared->holds, 1, memory_order_relaxed);
    return shared;
}

void abut_samples_destroy(abut_samples *samples) {
    if (!samples || atomic_fetch_sub_explicit(&samples->holds, 1, memory_order_acq_rel) != 1)
        return;
    abut_context *context = samples->context;
    ABUTI_RELEASE(context, samples->samples, samples->edges, samples->points, samples->order,
                  samples->balls, samples->groups, samples);
    abut_context_destroy(context);
}

abut_status abut_samples_get_arrays(const abut_samples *samples, abut_samples_arrays *arrays) {
    if (!samples || !arrays)
        return abuti_null(__func__, samples ? "arrays" : "samples");
    return abuti_info_write(arrays, &samples->view, sizeof samples->view, __func__);
}

const char *abut_sample_kind_name(abut_sample_kind kind) {
    static const char *const names[] = {"vertex", "edge", "face", "surface"};
    return ABUTI_NAME(names, kind);
}
