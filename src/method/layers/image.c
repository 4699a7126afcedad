/* Images of a view: a value for the ray of each pixel. */
#include "layers/layers.h"

#include <math.h>

const char *abut_layers_show_name(abut_layers_show show) {
    static const char *const names[] = {"count",  "nearest", "edges", "inside",
                                        "length", "pairs",   "first", "second"};
    return ABUTI_NAME(names, show);
}

abut_status abut_layers_image(abut_layers *layers, const abut_raster_view *view,
                              abut_layers_show show, uint64_t capacity, float *pixels,
                              uint32_t *width, uint32_t *height) {
    if (!layers || !width || !height || (capacity && !pixels))
        return abuti_null(__func__, !layers ? "layers" : !width || !height ? "width" : "pixels");
    if (!abut_layers_show_name(show))
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_layers_image: show is %u; it must be an abut_layers_show",
                          (uint32_t)show);
    abut_layers_query query = abut_layers_query_default();
    query.every_pixel = true;
    query.count_edges = show == ABUT_LAYERS_EDGES || show == ABUT_LAYERS_INSIDE;
    layers_pass pass;
    abut_status status = abuti_layers_begin_pass(__func__, layers, view, &query, &pass);
    bool far = show == ABUT_LAYERS_NEAREST || show == ABUT_LAYERS_EDGES;
    if (!status && (far || show == ABUT_LAYERS_LENGTH))
        status = abuti_raster_check_depths(__func__, &pass.view.camera);
    if (status)
        return status;
    *width = pass.view.camera.lens.width;
    *height = pass.view.camera.lens.height;
    size_t count = (size_t)*width * *height;
    if (capacity < count)
        return abuti_fail(ABUT_ERROR_BUFFER,
                          "abut_layers_image: the image has %u x %u pixels; capacity is %llu",
                          *width, *height, (unsigned long long)capacity);
    bool ids = show == ABUT_LAYERS_FIRST || show == ABUT_LAYERS_SECOND;
    for (size_t i = 0; i < count; i++)
        pixels[i] = far ? INFINITY : ids ? -1.0f : 0;
    pass.pixels = pixels;
    pass.show = show;
    return abuti_layers_pass(&pass);
}
