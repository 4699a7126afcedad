/* What the floors above use of raster: views made ready; the rest is in raster_shared.h. */
#ifndef ABUTI_RASTER_H
#define ABUTI_RASTER_H

#include "mesh/mesh.h"
#include "raster/raster_shared.h"

#include <abut/raster.h>

/* Makes a view ready, fitted to `region` where its own is empty; `resolution` pixels where it has
 * none. */
abut_status abuti_raster_camera(const char *function, const abut_raster_view *view, box3 region,
                                uint32_t resolution, raster_camera *camera);
/* A view as it is for people who ask for nothing: their own or defaults. */
abut_status abuti_raster_view_read(const abut_raster_view *theirs, const char *what,
                                   abut_raster_view *ours);

static inline raster_motion raster_motion_of(const abut_pose *at) {
    abuti_motion motion = abuti_motion_of(at);
    return (raster_motion){.rotation = motion.rotation,
                           .translation = motion.translation,
                           .rotates = motion.rotates};
}
/* Gives an image its size, and its coordinates so many bits, RASTER_BITS at most: corners may be up
 * to four times the larger side out, and the rest of the bits are steps. */
void abuti_raster_size(raster_lens *lens, uint32_t width, uint32_t height, uint32_t bits);

/* A side in the centre of a pixel, and whether that is inside all three. */
static inline int64 raster_at(const raster_side *side, int x, int y) {
    return side->at + side->dx * x + side->dy * y;
}
static inline bool raster_covers(const raster_side side[3], int x, int y) {
    return (raster_at(&side[0], x, y) | raster_at(&side[1], x, y) | raster_at(&side[2], x, y)) >= 0;
}

/* The point at a depth of a place of the image, in pixels. */
vec3 abuti_raster_point(const raster_camera *camera, double x, double y, double z);

#endif
