/* What the floors above use of raster: views made ready, and shapes of triangles. */
#ifndef ABUTI_RASTER_H
#define ABUTI_RASTER_H

#include "mesh/mesh.h"
#include "raster/raster_shared.h"

#include <abut/raster.h>

/* A view made ready. */
typedef struct raster_camera {
    raster_lens lens;
    mat3 axes;    /* right, down, forward: a right-handed triple */
    vec3 origin;  /* the middle of the region, or the eye */
    double scale; /* pixels a unit; with an eye, at distance 1 */
    double begin; /* parallel: depth 0 is so far before the origin */
} raster_camera;

/* Makes a view ready, fitted to `region` where its own is empty; `resolution` pixels where it has
 * none. */
abut_status abuti_raster_camera(const char *function, const abut_raster_view *view, box3 region,
                                uint32_t resolution, raster_camera *camera);
/* A view as it is for people who ask for nothing: their own or defaults. */
abut_status abuti_raster_view_read(const abut_raster_view *theirs, const char *what,
                                   abut_raster_view *ours);

/* What takes positions about an origin (see abut_mesh_origin()) that are moved to the image. */
raster_frame abuti_raster_frame(const raster_camera *camera, const abuti_motion *motion,
                                vec3 origin);

/* The pixels and depths that a posed box and the ball around it may cover. Nothing: an empty
 * rectangle. */
raster_rect abuti_raster_bounds(const raster_camera *camera, const abuti_motion *motion, box3 box,
                                vec3 centre, double radius, uint32_t depths[2]);

/* How far along the direction a depth is from the begin of rays. */
static inline double raster_way(const raster_camera *c, double z) {
    const raster_lens *l = &c->lens;
    return l->near > 0 ? 1 / (1 / l->near - z / l->depth) - l->near : z / l->depth;
}
/* The point at a depth of a place of the image, in pixels. */
vec3 abuti_raster_point(const raster_camera *camera, double x, double y, double z);

/* Makes a triangle ready, cut where it has to be: up to RASTER_CORNERS - 2 shapes. Thin ones are
 * left out unless `thin`. The corners come from raster_apply(). */
static inline int raster_shapes(const raster_lens *lens, const raster_point p[3], word32 item,
                                word32 triangle, bool thin, raster_shape *to) {
    raster_point corners[RASTER_CORNERS], spare[RASTER_CORNERS];
    int count = 3;
    bool whole = true;
    for (int k = 0; k < 3; k++) {
        whole = whole && (lens->near <= 0.0 || p[k].z >= lens->near);
        corners[k] = p[k];
        if (whole) {
            spare[k] = raster_project(lens, p[k]);
            whole = raster_is_inside(lens, spare[k]);
        }
    }
    if (!whole) {
        count = raster_cut(lens, corners, 3, spare);
        for (int k = 0; k < count; k++)
            spare[k] = raster_project(lens, corners[k]);
    }
    int made = 0;
    for (int k = 2; k < count; k++) {
        raster_triangle(lens, spare[0], spare[k - 1], spare[k], item, triangle, &to[made]);
        made += thin || (to[made].owner & 3) != RASTER_THIN;
    }
    return made;
}

/* The same for an edge: one shape or none. */
static inline int raster_edges(const raster_lens *lens, raster_point a, raster_point b, word32 item,
                               word32 part, raster_shape *to) {
    raster_point corners[RASTER_CORNERS] = {a, b}, spare[RASTER_CORNERS];
    if (raster_cut(lens, corners, 2, spare) < 2)
        return 0;
    raster_edge(lens, raster_project(lens, corners[0]), raster_project(lens, corners[1]), item,
                part, to);
    return 1;
}

#endif
