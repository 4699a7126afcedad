/* Private declarations of the rasterised map: sites with their polytopes and boxes. */
#ifndef SUD_PARTS_H
#define SUD_PARTS_H

#include "rasterised.h"
#include "vectors.h"

#include <stdbool.h>

/* Points x with dot(normal, x) <= offset. */
typedef struct sud_plane {
    vec3 normal;
    float offset;
} sud_plane;

typedef struct sud_obb {
    vec3 centre, axis[3];
    float half[3];
} sud_obb;

typedef enum sud_kind { SUD_EMPTY = 0, SUD_FACE, SUD_EDGE, SUD_VERTEX } sud_kind;

typedef struct sud_site {
    sud_kind kind;         /* empty: no point of space is nearest to it */
    vec3 point;            /* a point of the site */
    vec3 along;            /* unit: the normal of a face, the direction of an edge */
    vec3 outward;          /* normal or pseudo-normal, not a unit vector */
    uint32_t first, count; /* planes of its polytope */
    box3 box;              /* of the site itself */
    sud_obb obb;           /* of its polytope in the domain */
} sud_site;

typedef struct sud_sites {
    uint32_t face_count, edge_count, vertex_count, count;
    sud_site *list;
    sud_plane *planes;
    vec3 *positions; /* of vertices */
    vec3 *normals;   /* of faces, unit */
    abut_topology *topology;
    uint32_t *star_begin, *stars; /* edges of each vertex */
    uint32_t *order;              /* in which sites are processed */
} sud_sites;

abut_status sud_sites_create(abut_mesh *body, sud_sites *sites);
void sud_sites_destroy(sud_sites *sites);
/* Positions are relative to `origin`; the domain contains the surface of the map. */
void sud_sites_set_mesh(sud_sites *sites, const abut_mesh *body, abut_vec3 origin, box3 domain);
/* The vector from a point to the closest point of the plane, line or point of a site: affine in the
 * point, and the distance vector for points of the polytope. */
static inline vec3 sud_vector(const sud_site *site, vec3 from) {
    const vec3 way = v3_sub(site->point, from);
    const float along = v3_dot(site->along, way);
    return site->kind == SUD_FACE   ? v3_scale(site->along, along)
           : site->kind == SUD_EDGE ? v3_along(way, -along, site->along)
                                    : way;
}

static inline vec3 sud_position(const abut_mesh *mesh, uint32_t vertex, abut_vec3 origin) {
    const abut_vec3 p = abut_mesh_local_positions(mesh)[vertex], o = abut_mesh_local_origin(mesh);
    return v3((float)(p.x + (o.x - origin.x)), (float)(p.y + (o.y - origin.y)),
              (float)(p.z + (o.z - origin.z)));
}

/* The largest distance between points of two boxes, squared. */
static inline float sud_far_sq(const box3 *a, const box3 *b) {
    return v3_length_sq(v3_max(v3_abs(v3_sub(a->hi, b->lo)), v3_abs(v3_sub(b->hi, a->lo))));
}

#endif
