/* Samples of the features of a mesh (Sundholm 2010, sections 5.1.1 and 6.2.4).
 *
 * An edge is flat if it has at least two faces whose normals all agree within an angle. A boundary
 * edge is never flat. A vertex is flat if all its edges are. Faces without area have no normal and
 * are ignored. A flat region grows from its lowest triangle through edges with two faces. All its
 * normals agree with the normal of this triangle, so a gently curved surface does not become one
 * region step by step.
 *
 * Edges longer than the spacing h are divided into ceil(length / h) equal parts. The inner ends of
 * the parts are samples: as many as steps of h from one end would give, and the same from both
 * ends. The first sample of a region is its centroid. If this is outside the region, as for a ring,
 * it is the centre of the nearest triangle.
 *
 * Faces that lie on faces. Consider two equal cubes stacked exactly. For all vertices and edges of
 * one cube, the nearest face of the other is a side face. Only the centres of the touching faces
 * would be contacts, which support nothing. So a region has samples near its corners, too: of its
 * vertices the one farthest from the first sample, then repeatedly the one farthest from all of
 * these, as long as this distance exceeds CORNER_SPREAD times the first one. Each is moved by
 * CORNER_CELLS towards the first sample, where the field of an equal body is that of the touching
 * face alone.
 */
#include "contact/samples.h"

#include <math.h>

#define DEFAULT_FLAT_ANGLE 1e-3
#define MAX_FLAT_ANGLE 1.5 /* radians: below a right angle */
#define DEFAULT_CELLS 64
#define MIN_REGION_CELLS 4 /* area of the smallest sampled region, in squared cells */
#define MAX_CORNERS 8      /* samples near corners of a flat region */
/* Selects the corners of a square, but not the midpoints of its sides. */
#define CORNER_SPREAD 0.75
#define CORNER_CELLS 3.0 /* along the diagonal of a square: two cells from both sides */
#define MAX_SAMPLES ((double)(1u << 28))

enum { ALL_KINDS = ABUT_SAMPLES_VERTICES | ABUT_SAMPLES_EDGES | ABUT_SAMPLES_FACES };

typedef struct sample_work {
    abut_mesh *mesh;
    abut_samples_options options;
    abut_topology_arrays topology;
    abut_normals_arrays normals;
    double cell, spacing, face_area, min_cosine;
    unsigned char *flat_edge; /* whether each edge is flat */
    double area;
    sample_list found;
} sample_work;

/* ---- options ---- */

/* Fails if a number is not between 0, which selects the default, and `max`. */
static abut_status check_number(const char *name, double number, double max, const char *unit) {
    return abuti_check_range("abut_samples_create", name, number, 0, max, unit);
}

static abut_status read_options(const abut_samples_options *given, abut_samples_options *options) {
    *options = abut_samples_options_default();
    abut_status status = abuti_options_read(options, sizeof *options, given, "abut_samples_create");
    const char *lengths = "units of the coordinates; 0 selects the default";
    const char *areas = "square units of the coordinates; 0 selects the default";
    const double max = ABUT_COORDINATE_MAX;
    if (!status)
        status = check_number("options->cell", options->cell, max, lengths);
    if (!status)
        status = check_number("options->threshold", options->threshold, max, lengths);
    if (!status)
        status = check_number("options->flat_angle", options->flat_angle, MAX_FLAT_ANGLE,
                              "radians; 0 selects the default");
    if (!status)
        status = check_number("options->face_area", options->face_area, max, areas);
    if (!status)
        status = check_number("options->radius", options->radius, max, lengths);
    status = status
                 ? status
                 : check_number("options->kinds", options->kinds, ALL_KINDS | ABUT_SAMPLES_SURFACE,
                                "(a sum of ABUT_SAMPLES_VERTICES, _EDGES, _FACES and _SURFACE)");
    if (!status && options->radius > 0 && options->count)
        status = abuti_fail(ABUT_ERROR_ARGUMENT, "abut_samples_create: options->radius and "
                                                 "options->count are both set; set only one");
    if (!options->kinds)
        options->kinds = options->radius > 0 || options->count ? ABUT_SAMPLES_SURFACE : ALL_KINDS;
    return status;
}

/* ---- flat edges ---- */

static void mark_flat_edges(void *data, size_t chunk, size_t begin, size_t end) {
    sample_work *w = data;
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
            flat = v3_dot(first, normal) >= w->min_cosine;
        }
        w->flat_edge[e] = flat;
    }
}

static double triangle_area(const sample_work *w, uint32_t triangle) {
    const uint32_t *corner = w->mesh->indices + 3 * (size_t)triangle;
    const vec3 *p = w->mesh->positions;
    return 0.5 * v3_length(v3_cross(v3_sub(p[corner[1]], p[corner[0]]),
                                    v3_sub(p[corner[2]], p[corner[0]])));
}

/* The centroid, in absolute coordinates. */
static vec3 triangle_centroid(const sample_work *w, uint32_t triangle) {
    const uint32_t *corner = w->mesh->indices + 3 * (size_t)triangle;
    const vec3 *p = w->mesh->positions;
    vec3 sum = v3_add(v3_add(p[corner[0]], p[corner[1]]), p[corner[2]]);
    return v3_along(w->mesh->origin, 1.0 / 3, sum);
}

/* ---- vertices and edges ---- */

static void add_sample(sample_work *w, vec3 point, vec3 normal, abut_sample_kind kind,
                       uint32_t element, uint32_t part) {
    const abut_sample sample = {point, normal, kind, element, part};
    w->found.list[w->found.count++] = sample;
}

static abut_status sample_vertices(sample_work *w) {
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
            add_sample(w, abuti_mesh_position(w->mesh, v), w->normals.vertices[v],
                       ABUT_SAMPLE_VERTEX, v, 0);
    abuti_release(w->mesh->context, sharp);
    return status;
}

/* The number of parts of an edge; 1 if it is flat. A length that is a multiple of the spacing up to
 * rounding errors is not rounded up. */
static double edge_part_count(const sample_work *w, uint32_t edge) {
    if (w->flat_edge[edge])
        return 1;
    const uint32_t *end = w->topology.edges + 2 * (size_t)edge;
    double length = v3_length(v3_sub(w->mesh->positions[end[1]], w->mesh->positions[end[0]]));
    return real_max(1, ceil(length / w->spacing * (1 - 1e-9)));
}

static abut_status sample_edges(sample_work *w, abut_samples *to) {
    double total = 0;
    uint32_t edges = 0;
    for (uint32_t e = 0; e < w->topology.edge_count; e++) {
        double parts = edge_part_count(w, e);
        total += parts - 1;
        edges += parts > 1;
    }
    if (!(total <= MAX_SAMPLES && total < ABUT_SAMPLE_DEEPEST))
        return abuti_fail(ABUT_ERROR_LIMIT,
                          "abut_samples_create: there are %.9g samples %g apart along edges, at "
                          "most %u are allowed; use a larger options->threshold",
                          total, w->spacing, ABUT_SAMPLE_DEEPEST - 1);
    abut_status status = abuti_samples_reserve(&w->found, (size_t)total);
    to->edges = status ? NULL : abuti_allocate(w->mesh->context, edges, sizeof *to->edges);
    if (!to->edges)
        return ABUT_ERROR_MEMORY;
    for (uint32_t e = 0; e < w->topology.edge_count; e++) {
        double parts = edge_part_count(w, e);
        if (!(parts > 1))
            continue;
        const uint32_t *end = w->topology.edges + 2 * (size_t)e;
        abut_sample_edge *edge = &to->edges[to->view.edge_count++];
        *edge = (abut_sample_edge){{abuti_mesh_position(w->mesh, end[0]),
                                    abuti_mesh_position(w->mesh, end[1])},
                                   w->normals.edges[e],
                                   e};
        for (uint32_t i = 1; i < (uint32_t)parts; i++)
            add_sample(w, v3_lerp(edge->end[0], edge->end[1], i / parts), edge->normal,
                       ABUT_SAMPLE_EDGE, e, i - 1);
    }
    return ABUT_OK;
}

/* ---- flat regions ---- */

/* Writes the flat region of a triangle to `queue`; returns its number of triangles. */
static uint32_t collect_flat_region(const sample_work *w, uint32_t first, unsigned char *seen,
                                    uint32_t *queue) {
    vec3 normal = w->normals.faces[first];
    uint32_t count = 1;
    queue[0] = first;
    seen[first] = 1;
    for (uint32_t i = 0; i < count; i++)
        for (int k = 0; k < 3; k++) {
            uint32_t next = w->topology.neighbours[3 * (size_t)queue[i] + (size_t)k];
            if (next == ABUT_NONE || seen[next] ||
                !(v3_dot(normal, w->normals.faces[next]) >= w->min_cosine))
                continue;
            seen[next] = 1;
            queue[count++] = next;
        }
    return count;
}

/* Projects a point onto a triangle, along its normal. Returns false if the projection is outside.
 */
static bool project_onto_triangle(const sample_work *w, uint32_t triangle, vec3 *point) {
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

/* The centroid if it projects onto the region, otherwise the centre of the nearest triangle. */
static vec3 region_centre(const sample_work *w, const uint32_t *region, uint32_t count,
                          double area) {
    vec3 sum = v3(0, 0, 0), start = triangle_centroid(w, region[0]), nearest = start;
    for (uint32_t i = 0; i < count; i++)
        sum = v3_along(sum, triangle_area(w, region[i]),
                       v3_sub(triangle_centroid(w, region[i]), start));
    vec3 centroid = v3_along(start, 1 / area, sum);
    double smallest = INFINITY;
    for (uint32_t i = 0; i < count; i++) {
        vec3 middle = triangle_centroid(w, region[i]);
        double distance = v3_length_sq(v3_sub(middle, centroid));
        if (project_onto_triangle(w, region[i], &centroid))
            return centroid;
        if (distance < smallest) {
            smallest = distance;
            nearest = middle;
        }
    }
    return nearest;
}

static vec3 region_corner(const sample_work *w, const uint32_t *region, uint32_t corner) {
    return abuti_mesh_position(w->mesh,
                               w->mesh->indices[3 * (size_t)region[corner / 3] + corner % 3]);
}

/* Projects a point onto the region. Returns false if no triangle contains the projection. */
static bool project_onto_region(const sample_work *w, const uint32_t *region, uint32_t count,
                                vec3 *point) {
    for (uint32_t i = 0; i < count; i++)
        if (project_onto_triangle(w, region[i], point))
            return true;
    return false;
}

/* Adds the samples near the corners of a region; see the file head. `distances` is scratch memory
 * with an element for each corner of its triangles. */
static void add_corners(sample_work *w, const uint32_t *region, uint32_t count, vec3 middle,
                        double *distances) {
    vec3 from = middle;
    double first = 0;
    for (uint32_t i = 0; i < 3 * count; i++)
        distances[i] = INFINITY;
    for (uint32_t part = 1; part <= MAX_CORNERS; part++) {
        uint32_t best = 0;
        for (uint32_t i = 0; i < 3 * count; i++) {
            distances[i] =
                real_min(distances[i], v3_length(v3_sub(region_corner(w, region, i), from)));
            if (distances[i] > distances[best])
                best = i;
        }
        first = part == 1 ? distances[best] : first;
        if (!(distances[best] > CORNER_SPREAD * first))
            return;
        from = region_corner(w, region, best);
        vec3 in = v3_sub(middle, from);
        double share = CORNER_CELLS * w->cell / v3_length(in);
        vec3 point = v3_along(from, real_min(0.5, share), in);
        if (project_onto_region(w, region, count, &point))
            add_sample(w, point, w->normals.faces[region[0]], ABUT_SAMPLE_FACE, region[0], part);
    }
}

static abut_status sample_faces(sample_work *w) {
    uint32_t triangles = w->topology.triangle_count;
    unsigned char *seen;
    uint32_t *queue;
    double *distances;
    abut_status status = ABUTI_ALLOCATE(w->mesh->context, ABUTI_ZEROED(seen, triangles),
                                        ABUTI_ARRAY(queue, triangles),
                                        ABUTI_ARRAY(distances, 3 * (size_t)triangles));
    for (uint32_t f = 0; f < triangles && !status; f++) {
        if (f % 4096 == 0 && (status = abuti_progress(w->mesh->context, "samples", 0.6)))
            break;
        if (seen[f] || v3_max_abs(w->normals.faces[f]) == 0)
            continue;
        uint32_t count = collect_flat_region(w, f, seen, queue);
        double area = 0;
        for (uint32_t i = 0; i < count; i++)
            area += triangle_area(w, queue[i]);
        if (!(area > w->face_area))
            continue;
        status = abuti_samples_reserve(&w->found, 1 + MAX_CORNERS);
        if (status)
            break;
        vec3 middle = region_centre(w, queue, count, area);
        add_sample(w, middle, w->normals.faces[f], ABUT_SAMPLE_FACE, f, 0);
        add_corners(w, queue, count, middle, distances);
    }
    ABUTI_RELEASE(w->mesh->context, seen, queue, distances);
    return status;
}

/* ---- all samples ---- */

static abut_status sample_features(sample_work *w, abut_samples *to) {
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
    if (!status)
        status = abuti_progress(context, "samples", 0.3);
    if (!status && o->kinds & ABUT_SAMPLES_EDGES)
        status = sample_edges(w, to);
    if (!status)
        status = abuti_progress(context, "samples", 0.6);
    if (!status && o->kinds & ABUT_SAMPLES_FACES)
        status = sample_faces(w);
    if (!status && o->kinds & ABUT_SAMPLES_SURFACE)
        status =
            abuti_samples_add_even(w->mesh, &w->normals, w->area,
                                   o->radius > 0 ? o->radius : w->spacing, o->count, &w->found);
    if (!status && w->found.count > (size_t)MAX_SAMPLES)
        status = abuti_fail(ABUT_ERROR_LIMIT,
                            "abut_samples_create: there are %zu samples, at most %.0f are allowed",
                            w->found.count, MAX_SAMPLES);
    if (!status && o->max_count && o->max_count < w->found.count)
        status = abuti_samples_thin(&w->found, 0, o->max_count, 0);
    abuti_release(context, w->flat_edge);
    return status;
}

static contact_point make_contact_point(vec3 p, vec3 centre, vec3 n) {
    vec3 d = v3_sub(p, centre);
    const contact_point point = {(float)d.x, (float)d.y, (float)d.z,
                                 (float)n.x, (float)n.y, (float)n.z};
    return point;
}

/* Copies samples and edges to the floats that kernels read, and computes centre, bounds and balls.
 */
static abut_status fill_kernel_arrays(const sample_work *w, abut_samples *to) {
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
        to->points[i] = make_contact_point(s->point, to->centre, s->normal);
        to->radius = real_max(to->radius, v3_length(v3_sub(s->point, to->centre)));
        to->bounds = box_grow(to->bounds, s->point);
    }
    for (size_t i = 0; i < 2 * (size_t)view->edge_count; i++) {
        const abut_sample_edge *e = &to->edges[i / 2];
        to->points[view->count + i] = make_contact_point(e->end[i % 2], to->centre, e->normal);
        to->radius = real_max(to->radius, v3_length(v3_sub(e->end[i % 2], to->centre)));
        to->bounds = box_grow(to->bounds, e->end[i % 2]);
    }
    return abuti_samples_build_balls(to);
}

/* Computes the samples and edges of a mesh. */
static abut_status compute_samples(sample_work *w, abut_samples *to) {
    abut_topology *topology = NULL;
    abut_normals *normals = NULL;
    abut_status status = abut_topology_create(w->mesh, &topology);
    if (!status)
        status = abut_normals_create(topology, &normals);
    w->topology = abut_topology_arrays_default();
    w->normals = abut_normals_arrays_default();
    if (!status)
        status = abut_topology_get_arrays(topology, &w->topology);
    if (!status)
        status = abut_normals_get_arrays(normals, &w->normals);
    if (!status)
        status = sample_features(w, to);
    to->samples = w->found.list;
    to->view.count = status ? 0 : (uint32_t)w->found.count;
    to->view.area = w->area;
    abut_normals_destroy(normals);
    abut_topology_destroy(topology);
    return status;
}

/* Finds the cache entry of these samples. The key is a digest of the mesh and of all parameters
 * that change the samples, after defaults are replaced. */
static void find_cache_entry(const sample_work *w, unsigned char mesh[ABUTI_DIGEST_BYTES],
                             abuti_cache_entry *entry) {
    const abut_samples_options *o = &w->options;
    const vec3 from = w->mesh->origin; /* positions are relative to it */
    const double lengths[] = {from.x,     from.y,       from.z,        w->cell,
                              w->spacing, w->face_area, w->min_cosine, o->radius};
    const uint32_t numbers[] = {o->kinds, o->count, o->max_count};
    unsigned char key[ABUTI_DIGEST_BYTES];
    abuti_digest sum;
    abuti_mesh_digest(w->mesh, mesh);
    abuti_digest_begin(&sum);
    abuti_digest_text(&sum, abut_version()); /* other versions may choose other samples */
    abuti_digest_add(&sum, mesh, ABUTI_DIGEST_BYTES);
    abuti_digest_add(&sum, lengths, sizeof lengths);
    abuti_digest_add(&sum, numbers, sizeof numbers);
    abuti_digest_end(&sum, key);
    abuti_cache_find(w->mesh->context, &abuti_cache_samples, o->cache, key, entry);
}

/* Reads the samples from the cache, or computes them and adds them to the cache. */
static abut_status load_or_compute(sample_work *w, abut_samples *to) {
    abuti_cache_entry entry;
    unsigned char mesh[ABUTI_DIGEST_BYTES];
    bool found = false;
    if (!w->options.cache)
        return compute_samples(w, to);
    find_cache_entry(w, mesh, &entry);
    abut_status status = abuti_samples_cache_load(&entry, w->mesh, w->options.kinds, to, &found);
    if (status || found)
        return status;
    if ((status = compute_samples(w, to)))
        return status;
    abuti_samples_cache_store(&entry, mesh, to);
    return ABUT_OK;
}

abut_status abut_samples_create(abut_mesh *mesh, const abut_samples_options *options,
                                abut_samples **samples) {
    sample_work w = {.mesh = mesh};
    if (!mesh || !samples)
        return abuti_null(__func__, mesh ? "samples" : "mesh");
    abut_status status = read_options(options, &w.options);
    if (status)
        return status;
    vec3 extent = v3_sub(mesh->bounds.hi, mesh->bounds.lo);
    w.cell = w.options.cell > 0 ? w.options.cell : v3_max_abs(extent) / DEFAULT_CELLS;
    w.spacing = real_max(w.options.threshold, w.cell * sqrt(3.0));
    w.face_area =
        w.options.face_area > 0 ? w.options.face_area : MIN_REGION_CELLS * w.cell * w.cell;
    w.min_cosine = cos(w.options.flat_angle > 0 ? w.options.flat_angle : DEFAULT_FLAT_ANGLE);
    w.found.context = mesh->context;
    abut_samples *made = abuti_allocate_zeroed(mesh->context, 1, sizeof *made);
    if (!made)
        return ABUT_ERROR_MEMORY;
    made->context = abuti_context_retain(mesh->context);
    atomic_init(&made->references, 1);
    status = load_or_compute(&w, made);
    if (!status)
        status = fill_kernel_arrays(&w, made);
    if (status)
        abut_samples_destroy(made);
    else
        *samples = made;
    return status;
}

abut_samples *abuti_samples_retain(const abut_samples *samples) {
    abut_samples *shared = (abut_samples *)(uintptr_t)samples;
    if (shared)
        atomic_fetch_add_explicit(&shared->references, 1, memory_order_relaxed);
    return shared;
}

void abut_samples_destroy(abut_samples *samples) {
    if (!samples || atomic_fetch_sub_explicit(&samples->references, 1, memory_order_acq_rel) != 1)
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
