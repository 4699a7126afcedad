/* Functions shared by layers_draw.cl and layers_rays.cl. */
#ifndef ABUTI_LAYERS_TILE_CL_H
#define ABUTI_LAYERS_TILE_CL_H

#include "layers/device_shared.h"

/* The pixels of a tile. */
static raster_rect rect_of_tile(const raster_lens *lens, uint side, uint column, uint row) {
    raster_rect r;
    r.x0 = (int)(column * side);
    r.y0 = (int)(row * side);
    r.x1 = min(r.x0 + (int)side, (int)lens->width) - 1;
    r.y1 = min(r.y0 + (int)side, (int)lens->height) - 1;
    return r;
}

#endif
