/* A cross-section of a field or a mesh: `abut slice`. */
#ifndef ABUT_TOOL_SLICE_H
#define ABUT_TOOL_SLICE_H

#include "tool.h"

typedef struct slice {
    const char *subject;
    abut_box box; /* extent of the shown region */
    int axis;     /* axis perpendicular to the slice */
    double at;
    int across[2];            /* axes to the right and up */
    uint32_t width, height;   /* of the slice in pixels */
    double pixel;             /* length of a side */
    abut_field_value *values; /* rows from the top */
    tool_scale scale;
} slice;

double *slice_component(abut_vec3 *v, int axis);
/* The centres of all pixels, rows from the top. */
abut_vec3 *slice_points(const slice *s);

/* ---- slice_draw.c ---- */

void slice_draw(tool_run *tool, const slice *s, const char *path, tool_canvas *canvas);
/* Adds the slice at its position, and the surface (may be null) translucent. */
void slice_page(tool_run *tool, const slice *s, abut_mesh *surface);

#endif
