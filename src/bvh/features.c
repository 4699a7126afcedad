/* Features and their regions; see features.h. Everything is computed in doubles and rounded once.
 */
#include "bvh/features.h"

#include <math.h>

/* No more than this many edges of a vertex exclude, and faces of an edge. */
enum { VERTEX_EDGES = 4, EDGE_FACES = 2 };

/* A face that leans over an edge more than this excludes nothing. */
#define LEAN (1.0 / 64)

typedef struct making {
    abut_mesh *mesh;
    double scale;
    const uint32_t *order;
    uint32_t leaf_count;
    abut_topology_view topology;
    uint32_t *place;                                        /* of a triangle in the order */
    uint32_t *edge_feature, *vertex_feature, *face_feature; /* ABUT_NONE where there is none yet */
    uint32_t *source; /* of a feature: its face, edge or vertex; the kind is in the record */
    abuti_features *to;
} making;

/* ---- records ---- */

static vec3 corner_at(const making *m, uint32_t vertex) {
    return v3_scale(m->mesh->positions[vertex], m->scale);
}

static void put(float to[3], vec3 v) {
    to[0] = (float)v.x;
    to[1] = (float)v.y;
    to[2] = (float)v.z;
}

static void put_third(feature_record *r, vec3 v) {
    r->third_x = (float)v.x;
    r->third_y = (float)v.y;
    r->third_z = (float)v.z;
}

static void put_offset(feature_record *r, double offset, feature_kind kind) {
    float rounded = (float)offset;
    uint32_t bits;
    memcpy(&bits, &rounded, sizeof bits);
    bits = (bits & ~3u) | (uint32_t)kind;
    memcpy(&r->offset, &bits, sizeof bits);
}

/* The part of v across the unit vector u. */
static vec3 across(vec3 v, vec3 u) {
    return v3_along(v, -v3_dot(v, u), u);
}

/* Twice: the first rounding is relative to v, the second to what remains. */
static vec3 across_precise(vec3 v, vec3 u) {
    return across(across(v, u), u);
}

static bool make_face(const making *m, uint32_t triangle, feature_record *r) {
    const uint32_t *index = m->mesh->indices + 3 * (size_t)triangle;
    vec3 c[3], u[3];
    double length[3];
    for (int k = 0; k < 3; k++)
        c[k] = corner_at(m, index[k]);
    int longest = 0;
    for (int k = 0; k < 3; k++) {
        u[k] = v3_sub(c[(k + 1) % 3], c[k]);
        length[k] = v3_length(u[k]);
        longest = length[k] > length[longest] ? k : longest;
    }
    if (!(length[longest] > 0))
        return false;
    int a = longest, b = (a + 1) % 3, top = (a + 2) % 3;
    vec3 along = v3_normalise(u[a]), up = across_precise(v3_sub(c[top], c[a]), along);
    double height = v3_length(up);
    if (!(height >= FEATURE_HEIGHT))
        return false;
    up = v3_scale(up, 1 / height);
    vec3 normal = v3_cross(along, up);
    put(r->place, c[a]);
    put(r->first, v3_scale(up, -1));                        /* below the longest edge */
    put(r->second, v3_normalise(v3_cross(u[top], normal))); /* beyond the one that ends in a */
    put_third(r, normal);
    vec3 beyond = v3_normalise(v3_cross(u[b], normal));
    put(r->fourth, beyond);
    put_offset(r, v3_dot(beyond, v3_sub(c[b], c[a])), FEATURE_FACE);
    return true;
}

/* Whether a face may exclude points from the region of an edge from a along u: gives the direction
 * into the face. */
static bool excludes(const making *m, uint32_t face, uint32_t edge, vec3 a, vec3 u, double length,
                     vec3 *into) {
    const uint32_t *ends = m->topology.edges + 2 * (size_t)edge;
    const uint32_t *index = m->mesh->indices + 3 * (size_t)face;
    uint32_t top = index[0];
    for (int k = 1; k < 3; k++)
        if (top == ends[0] || top == ends[1])
            top = index[k];
    vec3 side = v3_sub(corner_at(m, top), a), up = across_precise(side, u);
    double height = v3_length(up), foot = v3_dot(side, u);
    *into = v3_scale(up, 1 / height);
    return height >= FEATURE_HEIGHT && height >= LEAN * real_max(foot, length - foot);
}

static void make_edge(const making *m, uint32_t edge, feature_record *r) {
    const uint32_t *ends = m->topology.edges + 2 * (size_t)edge, *faces;
    vec3 a = corner_at(m, ends[0]), way = v3_sub(corner_at(m, ends[1]), a);
    vec3 u = v3_normalise(way), into[EDGE_FACES] = {{0, 0, 0}, {0, 0, 0}};
    double length = v3_length(way);
    uint32_t count = abuti_edge_faces(&m->topology, edge, &faces);
    for (uint32_t i = 0, used = 0; i < count && used < EDGE_FACES && length > 0; i++) {
        vec3 direction;
        if (excludes(m, faces[i], edge, a, u, length, &direction))
            into[used++] = direction;
    }
    put(r->place, a);
    put(r->first, v3_scale(u, -1));
    put(r->second, into[0]);
    put_third(r, into[1]);
    put(r->fourth, u);
    put_offset(r, length, FEATURE_EDGE);
}

/* Directions from a vertex along the edges of its triangles, at most so many. */
enum { DIRECTIONS_MOST = 64 };

static uint32_t list_directions(const making *m, uint32_t vertex, uint32_t feature, vec3 *to) {
    const abuti_features *f = m->to;
    vec3 at = corner_at(m, vertex);
    uint32_t count = 0;
    for (uint32_t i = f->incident_begin[feature]; i < f->incident_begin[feature + 1]; i++)
        for (size_t k = 0; k < 3 && count < DIRECTIONS_MOST; k++) {
            uint32_t other = m->mesh->indices[3 * (size_t)m->order[f->incidents[i]] + k];
            vec3 way = v3_sub(corner_at(m, other), at);
            double length = v3_length(way);
            if (length >= FEATURE_HEIGHT)
                to[count++] = v3_scale(way, 1 / length);
        }
    return count;
}

/* Directions to neighbours, spread as wide as can be: each next one is that with the least largest
 * cosine to those before. */
static void make_vertex(const making *m, uint32_t vertex, uint32_t feature, feature_record *r) {
    vec3 at = corner_at(m, vertex), chosen[VERTEX_EDGES] = {{0, 0, 0}}, u[DIRECTIONS_MOST];
    double cosine[DIRECTIONS_MOST]; /* the largest so far */
    const abuti_features *f = m->to;
    uint32_t count = list_directions(m, vertex, feature, u);
    for (uint32_t i = 0; i < count; i++)
        cosine[i] = -1;
    for (int n = 0; n < VERTEX_EDGES; n++) {
        double least = n ? 0.99 : 2; /* no use in the same direction again */
        for (uint32_t i = 0; i < count; i++) {
            if (n)
                cosine[i] = real_max(cosine[i], v3_dot(u[i], chosen[n - 1]));
            if (cosine[i] < least) {
                least = cosine[i];
                chosen[n] = u[i];
            }
        }
    }
    put(r->place, at);
    put(r->first, chosen[0]);
    put(r->second, chosen[1]);
    put_third(r, chosen[2]);
    put(r->fourth, chosen[3]);
    bool plain = true;
    for (uint32_t i = f->incident_begin[feature]; i < f->incident_begin[feature + 1]; i++)
        plain = plain && m->face_feature[m->order[f->incidents[i]]] != ABUT_NONE;
    put_offset(r, 0, plain ? FEATURE_PLAIN_VERTEX : FEATURE_VERTEX);
}

/* ---- which there are ---- */

static uint32_t add_feature(making *m, uint32_t source, feature_kind kind) {
    uint32_t feature = m->to->count++, *ends = m->to->ends[feature];
    const uint32_t *edge = kind == FEATURE_EDGE ? m->topology.edges + 2 * (size_t)source : NULL;
    m->source[feature] = source;
    ends[0] = edge ? edge[0] : source;
    ends[1] = edge ? edge[1] : kind == FEATURE_FACE ? ABUT_NONE : source;
    put_offset(&m->to->records[feature], 0, kind);
    return feature;
}

/* Numbers all features in the order of the leaves. */
static void number_features(making *m) {
    abuti_features *to = m->to;
    for (uint32_t place = 0; place < BVH_WIDTH * m->leaf_count; place++) {
        if (place % BVH_WIDTH == 0)
            to->leaf_begin[place / BVH_WIDTH] = to->count;
        if (place >= m->mesh->triangle_count)
            continue; /* the last triangle again */
        uint32_t triangle = m->order[place];
        m->place[triangle] = place;
        feature_record face;
        if (make_face(m, triangle, &face)) {
            m->face_feature[triangle] = add_feature(m, triangle, FEATURE_FACE);
            to->records[to->count - 1] = face;
        }
        for (size_t k = 0; k < 3; k++) {
            uint32_t edge = m->topology.triangle_edges[3 * (size_t)triangle + k];
            uint32_t vertex = m->mesh->indices[3 * (size_t)triangle + k];
            if (edge != ABUT_NONE && m->edge_feature[edge] == ABUT_NONE)
                m->edge_feature[edge] = add_feature(m, edge, FEATURE_EDGE);
            if (m->vertex_feature[vertex] == ABUT_NONE)
                m->vertex_feature[vertex] = add_feature(m, vertex, FEATURE_VERTEX);
        }
    }
    to->leaf_begin[m->leaf_count] = to->count;
}

/* The features of a triangle, at most seven. */
static int features_of(const making *m, uint32_t triangle, uint32_t features[7]) {
    int count = 0;
    if (m->face_feature[triangle] != ABUT_NONE)
        features[count++] = m->face_feature[triangle];
    for (size_t k = 0; k < 3; k++) {
        uint32_t edge = m->topology.triangle_edges[3 * (size_t)triangle + k];
        if (edge != ABUT_NONE)
            features[count++] = m->edge_feature[edge];
        features[count++] = m->vertex_feature[m->mesh->indices[3 * (size_t)triangle + k]];
    }
    return count;
}

/* Lists the triangles of each feature, ascending. */
static void list_incidents(making *m) {
    abuti_features *to = m->to;
    uint32_t features[7];
    memset(to->incident_begin, 0, ((size_t)to->count + 1) * sizeof *to->incident_begin);
    for (uint32_t t = 0; t < m->mesh->triangle_count; t++)
        for (int i = features_of(m, t, features); i-- > 0;)
            to->incident_begin[features[i]]++;
    uint32_t sum = 0;
    for (uint32_t f = 0; f <= to->count; f++) { /* the end of each, for now */
        sum += to->incident_begin[f];
        to->incident_begin[f] = sum;
    }
    to->incident_count = sum;
    for (uint32_t t = m->mesh->triangle_count; t-- > 0;)
        for (int i = features_of(m, t, features); i-- > 0;)
            to->incidents[--to->incident_begin[features[i]]] = m->place[t];
}

static void records_task(void *data, size_t chunk, size_t begin, size_t end) {
    const making *m = data;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        feature_record *r = &m->to->records[i];
        switch (feature_kind_of(r)) {
        case FEATURE_EDGE:
            make_edge(m, m->source[i], r);
            break;
        case FEATURE_VERTEX:
        case FEATURE_PLAIN_VERTEX:
            make_vertex(m, m->source[i], (uint32_t)i, r);
            break;
        case FEATURE_FACE: /* made when it was numbered */
            break;
        }
    }
}

/* ---- memory ---- */

static uint32_t *allocate_none(abut_context *context, size_t count) {
    uint32_t *words = abuti_allocate(context, count, sizeof *words);
    if (words)
        memset(words, 0xff, count * sizeof *words);
    return words;
}

static abut_status make(making *m, abut_context *context) {
    abuti_features *to = m->to;
    size_t triangles = m->mesh->triangle_count, edges = m->topology.edge_count;
    size_t most = triangles + edges + m->mesh->vertex_count;
    if (7 * triangles > UINT32_MAX)
        return abuti_fail(ABUT_ERROR_LIMIT, "%zu triangles have too many edges and corners to list",
                          triangles);
    m->place = abuti_allocate(context, triangles, sizeof *m->place);
    m->edge_feature = allocate_none(context, edges);
    m->vertex_feature = allocate_none(context, m->mesh->vertex_count);
    m->face_feature = allocate_none(context, triangles);
    m->source = abuti_allocate(context, most, sizeof *m->source);
    to->records = abuti_allocate_zeroed(context, most, sizeof *to->records);
    to->ends = abuti_allocate(context, most, sizeof *to->ends);
    to->leaf_begin = abuti_allocate(context, (size_t)m->leaf_count + 1, sizeof *to->leaf_begin);
    to->incident_begin = abuti_allocate(context, most + 1, sizeof *to->incident_begin);
    to->incidents = abuti_allocate(context, 7 * triangles, sizeof *to->incidents);
    if (!m->place || !m->edge_feature || !m->vertex_feature || !m->face_feature || !m->source ||
        !to->records || !to->ends || !to->leaf_begin || !to->incident_begin || !to->incidents)
        return ABUT_ERROR_MEMORY;
    number_features(m);
    list_incidents(m);
    abuti_parallel_for(context, to->count, 4096, records_task, m);
    return ABUT_OK;
}

abut_status abuti_features_create(abut_mesh *mesh, double scale, const uint32_t *order,
                                  uint32_t leaf_count, abuti_features *features) {
    abut_context *context = mesh->context;
    abuti_features made = {.context = abuti_context_retain(context)};
    making m = {
        .mesh = mesh, .scale = scale, .order = order, .leaf_count = leaf_count, .to = &made};
    abut_topology *topology = NULL;
    abut_status status = abut_topology_create(mesh, &topology);
    if (!status) {
        m.topology = abut_topology_get(topology);
        status = make(&m, context);
    }
    abuti_release(context, m.place);
    abuti_release(context, m.edge_feature);
    abuti_release(context, m.vertex_feature);
    abuti_release(context, m.face_feature);
    abuti_release(context, m.source);
    abut_topology_destroy(topology);
    if (status)
        abuti_features_destroy(&made);
    else
        *features = made;
    return status;
}

void abuti_features_destroy(abuti_features *features) {
    if (!features->context)
        return;
    abuti_release(features->context, features->records);
    abuti_release(features->context, features->ends);
    abuti_release(features->context, features->leaf_begin);
    abuti_release(features->context, features->incident_begin);
    abuti_release(features->context, features->incidents);
    abut_context_destroy(features->context);
    memset(features, 0, sizeof *features);
}
