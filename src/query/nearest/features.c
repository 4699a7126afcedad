/* Features and their regions; see features.h. Everything is computed in doubles and rounded once.
 */
#include "nearest/features.h"

#include <math.h>

/* At most this many edges of a vertex, and faces of an edge, limit its region. */
enum { VERTEX_EDGES_MAX = 4, EDGE_FACES_MAX = 2 };

typedef struct feature_builder {
    abut_mesh *mesh;
    double scale;
    const uint32_t *order;
    uint32_t leaf_count;
    abut_topology_arrays topology;
    uint32_t *edge_feature, *vertex_feature, *face_feature; /* ABUT_NONE if there is none yet */
    unsigned char *has_face;                                /* of a triangle */
    unsigned char *edge_has_low_face; /* whether one of its faces is too low */
    unsigned char *kind;              /* of a feature */
    abuti_features *to;
} feature_builder;

/* ---- records ---- */

static vec3 frame_corner(const feature_builder *m, uint32_t vertex) {
    return v3_scale(m->mesh->positions[vertex], m->scale);
}

static void store_floats(float to[3], vec3 v) {
    to[0] = (float)v.x;
    to[1] = (float)v.y;
    to[2] = (float)v.z;
}

static void store_parts(feature_record *r, const feature_parts *p, feature_kind kind) {
    float offset = (float)p->offset;
    uint32_t bits;
    store_floats(r->place, p->place);
    store_floats(r->first, p->vector[0]);
    store_floats(r->second, p->vector[1]);
    store_floats(r->fourth, p->vector[3]);
    r->third_x = (float)p->vector[2].x;
    r->third_y = (float)p->vector[2].y;
    r->third_z = (float)p->vector[2].z;
    memcpy(&bits, &offset, sizeof bits);
    bits = (bits & ~3u) | (uint32_t)kind;
    memcpy(&r->offset, &bits, sizeof bits);
}

static void triangle_corners(const feature_builder *m, uint32_t triangle, vec3 corner[3]) {
    for (size_t k = 0; k < 3; k++)
        corner[k] = frame_corner(m, m->mesh->indices[3 * (size_t)triangle + k]);
}

static bool is_face_triangle(const feature_builder *m, uint32_t triangle) {
    vec3 corner[3];
    triangle_corners(m, triangle, corner);
    return face_is_high(corner);
}

static void build_face(const feature_builder *m, uint32_t triangle, feature_record *r) {
    vec3 corner[3];
    triangle_corners(m, triangle, corner);
    const feature_parts p = feature_of_face(corner);
    store_parts(r, &p, FEATURE_FACE);
}

/* The corner of a face that is not an end of the edge. */
static vec3 opposite_corner(const feature_builder *m, uint32_t face, const uint32_t ends[2]) {
    const uint32_t *index = m->mesh->indices + 3 * (size_t)face;
    uint32_t top = index[0];
    for (int k = 1; k < 3; k++)
        if (top == ends[0] || top == ends[1])
            top = index[k];
    return frame_corner(m, top);
}

static void build_edge(const feature_builder *m, uint32_t corner, feature_record *r) {
    const uint32_t edge = m->topology.triangle_edges[corner], *faces;
    uint32_t ends[2];
    feature_ends(m->mesh->indices, corner, ends);
    feature_parts p = feature_of_edge(frame_corner(m, ends[0]), frame_corner(m, ends[1]));
    uint32_t count = abuti_edge_faces(&m->topology, edge, &faces);
    for (uint32_t i = 0, used = 0; i < count && used < EDGE_FACES_MAX && p.offset > 0; i++) {
        vec3 into;
        if (edge_face_excludes(&p, opposite_corner(m, faces[i], ends), &into))
            p.vector[++used] = into;
    }
    store_parts(r, &p, FEATURE_EDGE);
}

/* Directions from a vertex along the edges of its triangles, at most so many; each once. */
enum { DIRECTIONS_MAX = 64 };

static uint32_t list_directions(const feature_builder *m, uint32_t vertex, vec3 *to) {
    const abut_topology_arrays *t = &m->topology;
    vec3 at = frame_corner(m, vertex);
    uint32_t count = 0, others[DIRECTIONS_MAX];
    for (uint32_t i = t->vertex_face_begin[vertex]; i < t->vertex_face_begin[vertex + 1]; i++)
        for (size_t k = 0; k < 3 && count < DIRECTIONS_MAX; k++) {
            uint32_t other = m->mesh->indices[3 * (size_t)t->vertex_faces[i] + k], seen = 0;
            while (seen < count && others[seen] != other)
                seen++;
            if (seen < count || other == vertex)
                continue;
            vec3 way = v3_sub(frame_corner(m, other), at);
            double length = v3_length(way);
            if (length >= FEATURE_HEIGHT) {
                others[count] = other;
                to[count++] = v3_scale(way, 1 / length);
            }
        }
    return count;
}

/* Chooses directions to neighbours that are spread as widely as possible: each next one has the
 * smallest maximum cosine to those before. */
static void build_vertex(const feature_builder *m, uint32_t vertex, feature_record *r) {
    feature_parts p = {.place = frame_corner(m, vertex)};
    vec3 u[DIRECTIONS_MAX];
    double cosine[DIRECTIONS_MAX]; /* the largest so far */
    const abut_topology_arrays *t = &m->topology;
    uint32_t count = list_directions(m, vertex, u);
    for (uint32_t i = 0; i < count; i++)
        cosine[i] = -1;
    for (int n = 0; n < VERTEX_EDGES_MAX; n++) {
        double max_cosine = n ? 0.99 : 2; /* an almost equal direction is useless */
        for (uint32_t i = 0; i < count; i++) {
            if (n)
                cosine[i] = real_max(cosine[i], v3_dot(u[i], p.vector[n - 1]));
            if (cosine[i] < max_cosine) {
                max_cosine = cosine[i];
                p.vector[n] = u[i];
            }
        }
    }
    bool plain = true;
    for (uint32_t i = t->vertex_face_begin[vertex]; i < t->vertex_face_begin[vertex + 1]; i++)
        plain = plain && m->has_face[t->vertex_faces[i]];
    store_parts(r, &p, plain ? FEATURE_PLAIN_VERTEX : FEATURE_VERTEX);
}

/* ---- numbering ---- */

static void faces_task(void *data, size_t chunk, size_t begin, size_t end) {
    const feature_builder *m = data;
    (void)chunk;
    for (size_t t = begin; t < end; t++)
        m->has_face[t] = is_face_triangle(m, (uint32_t)t);
}

static uint32_t add_feature(feature_builder *m, uint32_t source, feature_kind kind) {
    uint32_t feature = m->to->count++;
    m->to->source[feature] = source;
    m->kind[feature] = (unsigned char)kind;
    return feature;
}

/* Numbers all features in the order of the leaves. It is serial, so it does nothing else. */
static void number_features(feature_builder *m) {
    abuti_features *to = m->to;
    for (uint32_t place = 0; place < BVH_WIDTH * m->leaf_count; place++) {
        if (place % BVH_WIDTH == 0)
            to->leaf_begin[place / BVH_WIDTH] = to->count;
        if (place >= m->mesh->triangle_count)
            continue; /* a copy of the last triangle */
        uint32_t triangle = m->order[place];
        if (m->has_face[triangle])
            m->face_feature[triangle] = add_feature(m, triangle, FEATURE_FACE);
        for (uint32_t corner = 3 * triangle; corner < 3 * triangle + 3; corner++) {
            uint32_t edge = m->topology.triangle_edges[corner];
            uint32_t vertex = m->mesh->indices[corner];
            if (edge != ABUT_NONE && m->edge_feature[edge] == ABUT_NONE)
                m->edge_feature[edge] = add_feature(m, corner, FEATURE_EDGE);
            if (edge != ABUT_NONE && !m->has_face[triangle])
                m->edge_has_low_face[edge] = 1;
            if (m->vertex_feature[vertex] == ABUT_NONE)
                m->vertex_feature[vertex] = add_feature(m, vertex, FEATURE_VERTEX);
        }
    }
    to->leaf_begin[m->leaf_count] = to->count;
}

/* The features of a triangle, at most seven. */
static int triangle_features(const feature_builder *m, uint32_t triangle, uint32_t features[7]) {
    int count = 0;
    if (m->face_feature[triangle] != ABUT_NONE)
        features[count++] = m->face_feature[triangle];
    for (uint32_t k = 0; k < 3; k++) {
        uint32_t edge = m->topology.triangle_edges[3 * (size_t)triangle + k];
        if (edge != ABUT_NONE)
            features[count++] = m->edge_feature[edge];
        features[count++] = m->vertex_feature[m->mesh->indices[3 * (size_t)triangle + k]];
    }
    return count;
}

/* Lists the triangles of each feature, ascending. */
static void list_incidents(feature_builder *m) {
    abuti_features *to = m->to;
    uint32_t features[7];
    memset(to->incident_begin, 0, ((size_t)to->count + 1) * sizeof *to->incident_begin);
    for (uint32_t t = 0; t < m->mesh->triangle_count; t++)
        for (int i = triangle_features(m, t, features); i-- > 0;)
            to->incident_begin[features[i]]++;
    uint32_t sum = 0;
    for (uint32_t f = 0; f <= to->count; f++) { /* the end of each, for now */
        sum += to->incident_begin[f];
        to->incident_begin[f] = sum;
    }
    for (uint32_t t = m->mesh->triangle_count; t-- > 0;)
        for (int i = triangle_features(m, t, features); i-- > 0;)
            to->incidents[--to->incident_begin[features[i]]] = t;
}

static void records_task(void *data, size_t chunk, size_t begin, size_t end) {
    const feature_builder *m = data;
    abuti_features *to = m->to;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        feature_record *r = &to->records[i];
        bool marked = false;
        if (m->kind[i] == FEATURE_FACE) {
            build_face(m, to->source[i], r);
        } else if (m->kind[i] == FEATURE_EDGE) {
            build_edge(m, to->source[i], r);
            marked = m->edge_has_low_face[m->topology.triangle_edges[to->source[i]]];
        } else {
            build_vertex(m, to->source[i], r);
            marked = feature_kind_of(r) == FEATURE_VERTEX;
        }
        if (marked)
            to->source[i] |= FEATURE_MARK;
    }
}

/* ---- memory ---- */

static uint32_t *allocate_none(abut_context *context, size_t count) {
    uint32_t *words = abuti_allocate(context, count, sizeof *words);
    if (words)
        memset(words, 0xff, count * sizeof *words);
    return words;
}

/* Lists the triangles of each feature. */
static abut_status add_incidents(feature_builder *m, abut_context *context) {
    abuti_features *to = m->to;
    size_t triangles = m->mesh->triangle_count;
    to->incident_begin = abuti_allocate(context, (size_t)to->count + 1, sizeof *to->incident_begin);
    to->incidents = abuti_allocate(context, 7 * triangles, sizeof *to->incidents);
    if (!to->incident_begin || !to->incidents)
        return ABUT_ERROR_MEMORY;
    list_incidents(m);
    return ABUT_OK;
}

static abut_status build_features(feature_builder *m, unsigned wanted, abut_context *context) {
    abuti_features *to = m->to;
    size_t triangles = m->mesh->triangle_count, edges = m->topology.edge_count;
    size_t most = triangles + edges + m->mesh->vertex_count;
    if (most > UINT32_MAX || (wanted & FEATURES_INCIDENTS ? 7 : 6) * triangles > UINT32_MAX ||
        m->mesh->vertex_count > FEATURE_MARK)
        return abuti_fail(ABUT_ERROR_LIMIT,
                          "a mesh of %zu triangles and %u vertices has too many features to list; "
                          "the limit is about 613 million triangles",
                          triangles, m->mesh->vertex_count);
    m->edge_feature = allocate_none(context, edges);
    m->vertex_feature = allocate_none(context, m->mesh->vertex_count);
    m->face_feature = allocate_none(context, triangles);
    m->has_face = abuti_allocate(context, triangles, 1);
    m->edge_has_low_face = abuti_allocate_zeroed(context, edges, 1);
    to->source = abuti_allocate(context, most, sizeof *to->source);
    m->kind = abuti_allocate(context, most, 1);
    to->leaf_begin = abuti_allocate(context, (size_t)m->leaf_count + 1, sizeof *to->leaf_begin);
    if (!m->edge_feature || !m->vertex_feature || !m->face_feature || !m->has_face ||
        !m->edge_has_low_face || !to->source || !m->kind || !to->leaf_begin)
        return ABUT_ERROR_MEMORY;
    abut_status status = abuti_parallel_try(context, "features", triangles, 4096, faces_task, m);
    if (status)
        return status;
    number_features(m);
    if (!(wanted & FEATURES_INCIDENTS)) {
        ABUTI_RELEASE(context, m->edge_feature, m->vertex_feature, m->face_feature);
        m->edge_feature = m->vertex_feature = m->face_feature = NULL;
    }
    status = abuti_progress(context, "features", 0.5);
    if (status)
        return status;
    to->records = abuti_allocate(context, to->count, sizeof *to->records);
    if (!to->records)
        return ABUT_ERROR_MEMORY;
    return abuti_parallel_try(context, "features", to->count, 4096, records_task, m);
}

/* Merges vertices with equal coordinates into the lowest one, if there are so many that hardly any
 * triangle has neighbours: regions of disconnected triangles exclude almost nothing. Returns new
 * indices, or null. */
static abut_status merge_vertices(const abut_mesh *mesh, uint32_t **indices) {
    abut_context *context = mesh->context;
    const size_t corners = 3 * (size_t)mesh->triangle_count;
    if (mesh->vertex_count <= mesh->triangle_count)
        return ABUT_OK;
    uint32_t *lowest = abuti_allocate(context, mesh->vertex_count, sizeof *lowest);
    *indices = abuti_allocate(context, corners, sizeof **indices);
    abut_status status = lowest && *indices ? ABUT_OK : ABUT_ERROR_MEMORY;
    if (!status)
        status = abuti_coincident_vertices(context, mesh->positions, mesh->vertex_count, lowest);
    for (size_t i = 0; i < corners && !status; i++)
        (*indices)[i] = lowest[mesh->indices[i]];
    abuti_release(context, lowest);
    return status;
}

abut_status abuti_features_create(abut_mesh *mesh, double scale, const uint32_t *order,
                                  uint32_t leaf_count, unsigned wanted, abuti_features *features) {
    abut_context *context = mesh->context;
    abuti_features made = {.context = abuti_context_retain(context)};
    feature_builder m = {
        .mesh = mesh, .scale = scale, .order = order, .leaf_count = leaf_count, .to = &made};
    abut_topology *topology = NULL;
    abut_mesh welded = {.context = context,
                        .reference_count = 1,
                        .vertex_count = mesh->vertex_count,
                        .triangle_count = mesh->triangle_count,
                        .positions = mesh->positions};
    abut_status status = wanted & FEATURES_WELDED ? merge_vertices(mesh, &welded.indices) : ABUT_OK;
    if (welded.indices)
        m.mesh = &welded;
    if (!status)
        status = abuti_topology_faces(m.mesh, &topology);
    if (!status) {
        m.topology = topology->view;
        status = build_features(&m, wanted, context);
    }
    if (!status && wanted & FEATURES_INCIDENTS)
        status = add_incidents(&m, context);
    ABUTI_RELEASE(context, m.edge_feature, m.vertex_feature, m.face_feature, m.has_face,
                  m.edge_has_low_face, m.kind);
    abut_topology_destroy(topology);
    abuti_release(context, welded.indices);
    if (status)
        abuti_features_destroy(&made);
    else
        *features = made;
    return status;
}

void abuti_features_destroy(abuti_features *features) {
    if (!features->context)
        return;
    ABUTI_RELEASE(features->context, features->records, features->source, features->leaf_begin,
                  features->incident_begin, features->incidents);
    abut_context_destroy(features->context);
    memset(features, 0, sizeof *features);
}
