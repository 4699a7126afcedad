/* Sites of a body: polytopes that bound their Voronoi regions, and oriented boxes of these in the
 * domain.
 *
 * Polytopes use the neighbourhood of a site, as those of Mauch (2003) and of Peikert and Sigg
 * (2005), which the paper cites. A point that is nearest to a face projects into it. A point that
 * is nearest to an edge projects into it, and beyond the edge in the planes of both faces. A point
 * that is nearest to a vertex projects beyond it on all its edges. */
#include "parts.h"

#include <stdlib.h>
#include <string.h>

static void *array_of(size_t count, size_t bytes) {
    return calloc(count + 1, bytes);
}

/* ---- creation ---- */

/* Lists the edges of each vertex. */
static void list_stars(sud_sites *s, const abut_topology_arrays *t) {
    for (uint32_t i = 0; i < 2 * t->edge_count; i++)
        s->star_begin[t->edges[i] + 1]++;
    for (uint32_t v = 0; v < s->vertex_count; v++)
        s->star_begin[v + 1] += s->star_begin[v];
    for (uint32_t i = 0; i < 2 * t->edge_count; i++)
        s->stars[s->star_begin[t->edges[i]]++] = i / 2;
    memmove(s->star_begin + 1, s->star_begin, s->vertex_count * sizeof *s->star_begin);
    s->star_begin[0] = 0;
}

/* A permutation that visits all sites, by steps of nearly the golden section. */
static void make_order(sud_sites *s) {
    uint32_t step = (uint32_t)(0.6180339887 * s->count) | 1, a, b;
    for (;; step += 2) { /* until it is coprime to the count */
        for (a = step, b = s->count; b;) {
            const uint32_t rest = a % b;
            a = b;
            b = rest;
        }
        if (a == 1)
            break;
    }
    for (uint32_t i = 0; i < s->count; i++)
        s->order[i] = (uint32_t)((uint64_t)i * step % s->count);
}

void sud_sites_destroy(sud_sites *s) {
    abut_topology_destroy(s->topology);
    free(s->list);
    free(s->planes);
    free(s->positions);
    free(s->normals);
    free(s->star_begin);
    free(s->stars);
    free(s->order);
    memset(s, 0, sizeof *s);
}

abut_status sud_sites_create(abut_mesh *body, sud_sites *s) {
    memset(s, 0, sizeof *s);
    abut_status status = abut_topology_create(body, &s->topology);
    if (status)
        return status;
    abut_topology_arrays t = abut_topology_arrays_default();
    abut_topology_get_arrays(s->topology, &t);
    s->face_count = t.triangle_count;
    s->edge_count = t.edge_count;
    s->vertex_count = t.vertex_count;
    s->count = s->face_count + s->edge_count + s->vertex_count;
    const size_t sides = t.edge_face_begin[t.edge_count];
    s->list = array_of(s->count, sizeof *s->list);
    s->planes =
        array_of(3 * (size_t)s->face_count + sides + 4 * (size_t)s->edge_count, sizeof *s->planes);
    s->positions = array_of(s->vertex_count, sizeof *s->positions);
    s->normals = array_of(s->face_count, sizeof *s->normals);
    s->star_begin = array_of((size_t)s->vertex_count + 1, sizeof *s->star_begin);
    s->stars = array_of(2 * (size_t)s->edge_count, sizeof *s->stars);
    s->order = array_of(s->count, sizeof *s->order);
    if (!s->list || !s->planes || !s->positions || !s->normals || !s->star_begin || !s->stars ||
        !s->order) {
        sud_sites_destroy(s);
        return ABUT_ERROR_MEMORY;
    }
    list_stars(s, &t);
    make_order(s);
    return ABUT_OK;
}

/* ---- polytopes ---- */

typedef struct site_job {
    sud_sites *s;
    abut_topology_arrays t;
    const uint32_t *corners;
    box3 domain;
    float growth;
    uint32_t plane_count;
} site_job;

static void add_plane(site_job *job, sud_site *site, vec3 normal, vec3 point) {
    job->s->planes[job->plane_count++] = (sud_plane){normal, v3_dot(normal, point) + job->growth};
    site->count++;
}

static vec3 perpendicular(vec3 a) {
    const vec3 other = fabsf(a.x) < 0.6f ? v3(1, 0, 0) : v3(0, 1, 0);
    return v3_normalise(v3_cross(a, other));
}

/* A box from lo to hi along its axes, relative to `point`, extended by the growth. */
static sud_obb obb_of(const site_job *job, vec3 point, const vec3 axis[3], const float lo[3],
                      const float hi[3]) {
    sud_obb box = {.centre = point};
    for (int k = 0; k < 3; k++) {
        box.axis[k] = axis[k];
        box.half[k] = 0.5f * (hi[k] - lo[k]) + 2 * job->growth;
        box.centre = v3_along(box.centre, 0.5f * (lo[k] + hi[k]), axis[k]);
    }
    return box;
}

/* The range of the domain along a direction, relative to a point. */
static void domain_range(const site_job *job, vec3 along, vec3 point, float *lo, float *hi) {
    const vec3 centre = box_centre(job->domain);
    const vec3 half = v3_scale(v3_sub(job->domain.hi, job->domain.lo), 0.5f);
    const float at = v3_dot(along, v3_sub(centre, point)), reach = v3_dot(v3_abs(along), half);
    *lo = at - reach;
    *hi = at + reach;
}

/* The prism over a face. */
static void set_face(site_job *job, uint32_t face, sud_site *site) {
    const uint32_t *corner = job->corners + 3 * (size_t)face;
    const vec3 normal = job->s->normals[face];
    vec3 p[3];
    for (int k = 0; k < 3; k++)
        p[k] = job->s->positions[corner[k]];
    if (!(v3_length_sq(normal) > 0))
        return;
    site->kind = SUD_FACE;
    site->point = p[0];
    site->along = site->outward = normal;
    vec3 longest = v3(0, 0, 0);
    for (int k = 0; k < 3; k++) {
        const vec3 side = v3_sub(p[(k + 1) % 3], p[k]);
        add_plane(job, site, v3_normalise(v3_cross(side, normal)), p[k]);
        longest = v3_length_sq(side) > v3_length_sq(longest) ? side : longest;
        site->box = box_grow(site->box, p[k]);
    }
    const vec3 u = v3_normalise(longest), axis[3] = {u, v3_cross(normal, u), normal};
    float lo[3] = {0}, hi[3] = {0};
    for (int k = 1; k < 3; k++)
        for (int a = 0; a < 2; a++) {
            const float x = v3_dot(axis[a], v3_sub(p[k], p[0]));
            lo[a] = fminf(lo[a], x);
            hi[a] = fmaxf(hi[a], x);
        }
    domain_range(job, normal, p[0], &lo[2], &hi[2]);
    site->obb = obb_of(job, p[0], axis, lo, hi);
}

/* The direction from an edge into a face, perpendicular to the edge. */
static vec3 into_face(const site_job *job, uint32_t face, uint32_t edge, vec3 along) {
    const uint32_t *corner = job->corners + 3 * (size_t)face,
                   *end = &job->t.edges[2 * (size_t)edge];
    uint32_t third = corner[0];
    for (int k = 1; k < 3; k++)
        third = third == end[0] || third == end[1] ? corner[k] : third;
    const vec3 side = v3_cross(job->s->normals[face], along);
    const vec3 to = v3_sub(job->s->positions[third], job->s->positions[end[0]]);
    return v3_dot(side, to) < 0 ? v3_scale(side, -1) : side;
}

/* The wedge between the prisms of both faces of an edge. */
static void set_edge(site_job *job, uint32_t edge, sud_site *site) {
    const vec3 a = job->s->positions[job->t.edges[2 * (size_t)edge]],
               b = job->s->positions[job->t.edges[2 * (size_t)edge + 1]];
    const uint32_t begin = job->t.edge_face_begin[edge], end = job->t.edge_face_begin[edge + 1];
    const vec3 along = v3_normalise(v3_sub(b, a));
    if (!(v3_length_sq(along) > 0) || begin == end)
        return;
    site->kind = SUD_EDGE;
    site->point = a;
    site->along = along;
    site->box = box_grow(box_grow(site->box, a), b);
    add_plane(job, site, v3_scale(along, -1), a);
    add_plane(job, site, along, b);
    vec3 inward = v3(0, 0, 0), normal[2] = {{0, 0, 0}, {0, 0, 0}}, first = inward;
    float fold = 0; /* below 0: convex */
    for (uint32_t i = begin; i < end; i++) {
        const vec3 into = into_face(job, job->t.edge_faces[i], edge, along);
        add_plane(job, site, into, a);
        site->outward = v3_add(site->outward, job->s->normals[job->t.edge_faces[i]]);
        inward = v3_add(inward, into);
        fold = i == begin + 1 ? v3_dot(normal[0], into) : fold;
        first = i == begin ? into : first;
        normal[(i - begin) % 2] = job->s->normals[job->t.edge_faces[i]];
    }
    /* The wedge is spanned by the normals of both faces; its axis is their mean. */
    const float far = sqrtf(sud_far_sq(&site->box, &job->domain));
    vec3 middle = v3_scale(site->outward, fold < 0 ? 1 : -1);
    float sine = 1;
    if (end - begin == 2 && v3_length(middle) > 1e-3f) {
        middle = v3_normalise(middle);
        const float cosine = fabsf(v3_dot(middle, normal[0]));
        sine = sqrtf(fmaxf(0, 1 - cosine * cosine)) + 1e-3f;
    } else {
        middle = v3_length(inward) > 1e-3f ? v3_scale(v3_normalise(inward), -1) : first;
    }
    const vec3 axis[3] = {along, v3_normalise(v3_cross(along, middle)), middle};
    const bool known = end - begin <= 2; /* of more faces the wedge may be anywhere */
    const float lo[3] = {0, -far * sine, known ? -1e-3f * far : -far},
                hi[3] = {v3_length(v3_sub(b, a)), far * sine, far};
    site->obb = obb_of(job, a, axis, lo, hi);
}

enum { MOST_RAYS = 64 };

/* Lists the extreme rays of the cone of points that are behind all edges of a vertex; at most
 * MOST_RAYS. */
static uint32_t list_rays(const sud_plane *planes, uint32_t count, vec3 *rays) {
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t j = i + 1; j < count; j++) {
            const vec3 cross = v3_cross(planes[i].normal, planes[j].normal);
            if (v3_length(cross) < 1e-4f)
                continue;
            for (int sign = -1; sign <= 1; sign += 2) {
                const vec3 ray = v3_scale(v3_normalise(cross), (float)sign);
                bool inside = true;
                for (uint32_t k = 0; k < count && inside; k++)
                    inside = v3_dot(planes[k].normal, ray) <= 1e-3f;
                if (inside && found < MOST_RAYS)
                    rays[found++] = ray;
            }
        }
    return found;
}

/* The cone behind all edges of a vertex. */
static void set_vertex(site_job *job, uint32_t vertex, sud_site *site) {
    const vec3 point = job->s->positions[vertex];
    const uint32_t begin = job->s->star_begin[vertex], end = job->s->star_begin[vertex + 1];
    const sud_plane *planes = job->s->planes + job->plane_count;
    bool border = false;
    if (begin == end)
        return;
    site->kind = SUD_VERTEX;
    site->point = point;
    site->box = box_grow(site->box, point);
    for (uint32_t i = begin; i < end; i++) {
        const uint32_t edge = job->s->stars[i], *ends = &job->t.edges[2 * (size_t)edge];
        const vec3 other = job->s->positions[ends[0] == vertex ? ends[1] : ends[0]];
        add_plane(job, site, v3_normalise(v3_sub(other, point)), point);
        border = border || job->t.edge_face_begin[edge + 1] - job->t.edge_face_begin[edge] != 2;
    }
    for (uint32_t i = job->t.vertex_face_begin[vertex]; i < job->t.vertex_face_begin[vertex + 1];
         i++) {
        const uint32_t face = job->t.vertex_faces[i], *corner = job->corners + 3 * (size_t)face;
        const int k = corner[0] == vertex ? 0 : corner[1] == vertex ? 1 : 2;
        const vec3 a = v3_normalise(v3_sub(job->s->positions[corner[(k + 1) % 3]], point)),
                   b = v3_normalise(v3_sub(job->s->positions[corner[(k + 2) % 3]], point));
        const float angle = acosf(fminf(fmaxf(v3_dot(a, b), -1), 1));
        site->outward = v3_along(site->outward, angle, job->s->normals[face]);
    }
    vec3 rays[MOST_RAYS], middle = v3(0, 0, 0);
    const uint32_t count = list_rays(planes, site->count, rays);
    for (uint32_t i = 0; i < count; i++)
        middle = v3_add(middle, rays[i]);
    if (!count && !border) {
        site->kind = SUD_EMPTY;
        return;
    }
    /* The box of the smallest cap about the mean of the rays. */
    const float far = sqrtf(sud_far_sq(&site->box, &job->domain));
    float cosine = -1;
    if (!border && count < MOST_RAYS && v3_length(middle) > 1e-3f) {
        middle = v3_normalise(middle);
        cosine = 1;
        for (uint32_t i = 0; i < count; i++)
            cosine = fminf(cosine, v3_dot(middle, rays[i]));
    } else {
        middle = v3(0, 0, 1);
    }
    const float sine = cosine > 0 ? sqrtf(1 - cosine * cosine) + 2e-3f : 1;
    const vec3 u = perpendicular(middle), axis[3] = {u, v3_cross(middle, u), middle};
    const float lo[3] = {-far * sine, -far * sine, cosine > 0 ? -2e-3f * far : -far},
                hi[3] = {far * sine, far * sine, far};
    site->obb = obb_of(job, point, axis, lo, hi);
}

void sud_sites_set_mesh(sud_sites *s, const abut_mesh *body, abut_vec3 origin, box3 domain) {
    site_job job = {.s = s, .t = abut_topology_arrays_default(), .domain = domain};
    abut_topology_get_arrays(s->topology, &job.t);
    job.corners = abut_mesh_indices(body);
    float most = fmaxf(v3_max_abs(domain.lo), v3_max_abs(domain.hi));
    for (uint32_t v = 0; v < s->vertex_count; v++) {
        s->positions[v] = sud_position(body, v, origin);
        most = fmaxf(most, v3_max_abs(s->positions[v]));
    }
    job.growth = SUD_GROWTH * most;
    for (uint32_t f = 0; f < s->face_count; f++) {
        const uint32_t *corner = job.corners + 3 * (size_t)f;
        const vec3 a = s->positions[corner[0]];
        s->normals[f] = v3_normalise(
            v3_cross(v3_sub(s->positions[corner[1]], a), v3_sub(s->positions[corner[2]], a)));
    }
    for (uint32_t i = 0; i < s->count; i++) {
        sud_site *site = &s->list[i];
        const uint32_t edge = i - s->face_count, vertex = edge - s->edge_count;
        *site = (sud_site){.first = job.plane_count, .box = box_empty()};
        if (i < s->face_count)
            set_face(&job, i, site);
        else if (edge < s->edge_count)
            set_edge(&job, edge, site);
        else
            set_vertex(&job, vertex, site);
    }
}
