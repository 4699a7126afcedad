/* A render, from the scene to bytes. */
#include "picture/picture.h"

#include <string.h>

/* State that all tiles share. */
typedef struct render {
    picture_scene scene;
    bins opaque, glass, marks;
    float byte_limit[256]; /* smallest linear value of byte i */
    uint8_t *pixels;
    size_t first_tile;
    atomic_bool out_of_memory;
} render;

/* Scratch memory of one tile. The large last member is allocated only if something is
 * transparent. */
typedef struct tile_memory {
    visibility surfaces;
    sample_colours colours;
    mark_layer marks;
    glass_room glass;
} tile_memory;

static size_t tile_memory_bytes(const render *r) {
    return r->scene.glass_count ? sizeof(tile_memory) : offsetof(tile_memory, glass);
}

static int tile_left(const render *r, size_t tile) {
    return (int)(tile % r->opaque.columns) * TILE;
}

static int tile_top(const render *r, size_t tile) {
    return (int)(tile / r->opaque.columns) * TILE;
}

static bool bin_is_empty(const bins *b, size_t tile) {
    bin_iterator walk = abuti_bins_begin(b, tile);
    return !bin_has_next(&walk);
}

/* ---- bytes ---- */

/* Byte i represents all values that are nearer to it than to its neighbours in sRGB. */
static void compute_byte_limits(float limit[256]) {
    limit[0] = -FLT_MAX;
    for (int i = 1; i < 256; i++) {
        float srgb = ((float)i - 0.5f) / 255;
        limit[i] = abuti_paint_of((abut_colour){srgb, srgb, srgb, 1}).colour.x;
    }
}

static uint8_t to_byte(const float limit[256], float linear) {
    int byte = 0;
    for (int step = 128; step; step /= 2)
        if (linear >= limit[byte + step])
            byte += step;
    return (uint8_t)byte;
}

static void write_pixel(const render *r, int x, int y, f3 colour) {
    uint8_t *to = r->pixels + 4 * ((size_t)y * r->scene.width + (size_t)x);
    to[0] = to_byte(r->byte_limit, colour.x);
    to[1] = to_byte(r->byte_limit, colour.y);
    to[2] = to_byte(r->byte_limit, colour.z);
    to[3] = 255;
}

/* ---- depth in the centre of each pixel ---- */

static void compute_tile_depth(const render *r, size_t tile) {
    const picture_scene *s = &r->scene;
    int left = tile_left(r, tile), top = tile_top(r, tile);
    float depth[TILE_PIXELS];
    for (int i = 0; i < TILE_PIXELS; i++)
        depth[i] = EMPTY_DEPTH;
    for (bin_iterator walk = abuti_bins_begin(&r->opaque, tile); bin_has_next(&walk);) {
        cover_setup setup;
        if (abuti_cover_triangle(s, s->opaque[bin_next(&walk)], left, top, &setup))
            abuti_cover_middle(&setup, depth);
    }
    for (int y = 0; y < TILE && top + y < (int)s->height; y++)
        for (int x = 0; x < TILE && left + x < (int)s->width; x++) {
            float q = depth[y * TILE + x];
            if (q == EMPTY_DEPTH && s->camera.ground)
                q = abuti_floor_depth(s, (float)(left + x) + 0.5f, (float)(top + y) + 0.5f);
            s->depth[(size_t)(top + y) * s->width + (size_t)(left + x)] = q;
        }
}

static void compute_depth(void *data, size_t chunk, size_t begin, size_t end) {
    (void)chunk;
    for (size_t tile = begin; tile < end; tile++)
        compute_tile_depth(data, tile);
}

/* ---- colours of samples ---- */

/* Samples of a pixel with the same triangle share one colour, computed at their mean position. */
static void shade_samples(const picture_scene *s, uint32_t triangle, unsigned mask, float x,
                          float y, f3 colours[SAMPLES]) {
    shade_setup setup;
    abuti_shade_setup(s, triangle, &setup);
    f3 colour = abuti_shade_middle(&setup, mask, x, y);
    for (int i = 0; i < SAMPLES; i++) {
        if (!(mask >> i & 1))
            continue;
        colours[i] = colour;
        if (setup.lined)
            colours[i] = f3_mix(colour, abuti_ink,
                                abuti_shade_edges(&setup, x + SAMPLE_X(i), y + SAMPLE_Y(i)));
    }
}

static void shade_pixel(const picture_scene *s, const uint32_t triangles[SAMPLES], float x, float y,
                        f3 colours[SAMPLES]) {
    unsigned left = (1u << SAMPLES) - 1;
    for (int i = 0; i < SAMPLES; i++) {
        if (!(left >> i & 1))
            continue;
        unsigned mask = 0;
        for (int k = i; k < SAMPLES; k++)
            mask |= (unsigned)(triangles[k] == triangles[i]) << k;
        left &= ~mask;
        if (triangles[i] != NO_TRIANGLE) {
            shade_samples(s, triangles[i], mask, x, y, colours);
            continue;
        }
        f3 behind = abuti_background(s, x + 0.5f, y + 0.5f);
        for (int k = i; k < SAMPLES; k++)
            if (mask >> k & 1)
                colours[k] = behind;
    }
}

/* ---- tiles ---- */

static void draw_surfaces(const render *r, size_t tile, tile_memory *room) {
    const picture_scene *s = &r->scene;
    int left = tile_left(r, tile), top = tile_top(r, tile);
    for (int i = 0; i < TILE_PIXELS; i++)
        for (int k = 0; k < SAMPLES; k++) {
            room->surfaces.depth[i][k] = EMPTY_DEPTH;
            room->surfaces.triangle[i][k] = NO_TRIANGLE;
        }
    for (bin_iterator walk = abuti_bins_begin(&r->opaque, tile); bin_has_next(&walk);) {
        cover_setup setup;
        uint32_t triangle = s->opaque[bin_next(&walk)];
        if (abuti_cover_triangle(s, triangle, left, top, &setup))
            abuti_cover_visible(&setup, triangle, &room->surfaces);
    }
    for (int y = 0; y < TILE && top + y < (int)s->height; y++)
        for (int x = 0; x < TILE && left + x < (int)s->width; x++)
            shade_pixel(s, room->surfaces.triangle[y * TILE + x], (float)(left + x),
                        (float)(top + y), room->colours[y * TILE + x]);
}

/* Lines in front of surfaces are drawn below nearer transparent surfaces, hidden lines over
 * everything. */
static void draw_lines_and_glass(const render *r, size_t tile, tile_memory *room) {
    const picture_scene *s = &r->scene;
    int left = tile_left(r, tile), top = tile_top(r, tile);
    bool has_marks = !bin_is_empty(&r->marks, tile), has_glass = !bin_is_empty(&r->glass, tile);
    if (has_marks) {
        abuti_marks_find(s, &r->marks, tile, left, top, &room->surfaces, &room->marks);
        abuti_marks_draw(s, &room->marks, left, top, false, room->colours);
    }
    if (has_glass) {
        for (int i = 0; has_marks && i < TILE_PIXELS; i++)
            for (int k = 0; k < SAMPLES; k++)
                room->surfaces.depth[i][k] =
                    float_max(room->surfaces.depth[i][k], room->marks.depth[i][k]);
        abuti_glass_draw(s, &r->glass, tile, left, top, room->surfaces.depth, &room->glass,
                         room->colours);
    }
    if (has_marks)
        abuti_marks_draw(s, &room->marks, left, top, true, room->colours);
}

static void write_tile(const render *r, size_t tile, const tile_memory *room) {
    const picture_scene *s = &r->scene;
    int left = tile_left(r, tile), top = tile_top(r, tile);
    for (int y = 0; y < TILE && top + y < (int)s->height; y++)
        for (int x = 0; x < TILE && left + x < (int)s->width; x++) {
            f3 sum = {0, 0, 0};
            for (int i = 0; i < SAMPLES; i++)
                sum = f3_add(sum, room->colours[y * TILE + x][i]);
            write_pixel(r, left + x, top + y, f3_scale(sum, 1.0f / SAMPLES));
        }
}

static void write_background(const render *r, size_t tile) {
    int left = tile_left(r, tile), top = tile_top(r, tile);
    for (int y = top; y < top + TILE && y < (int)r->scene.height; y++)
        for (int x = left; x < left + TILE && x < (int)r->scene.width; x++)
            write_pixel(r, x, y, abuti_background(&r->scene, (float)x + 0.5f, (float)y + 0.5f));
}

static void draw_tiles(void *data, size_t chunk, size_t begin, size_t end) {
    render *r = data;
    (void)chunk;
    tile_memory *room = abuti_allocate(r->scene.context, 1, tile_memory_bytes(r));
    if (!room)
        atomic_store(&r->out_of_memory, true);
    for (size_t i = begin; room && i < end; i++) {
        size_t tile = r->first_tile + i;
        if (bin_is_empty(&r->opaque, tile) && bin_is_empty(&r->glass, tile) &&
            bin_is_empty(&r->marks, tile)) {
            write_background(r, tile);
            continue;
        }
        draw_surfaces(r, tile, room);
        draw_lines_and_glass(r, tile, room);
        write_tile(r, tile, room);
    }
    abuti_release(r->scene.context, room);
}

/* ---- all stages ---- */

static abut_status prepare_render(abut_picture *picture, render *r) {
    abut_context *context = picture->context;
    picture_scene *s = &r->scene;
    abut_status status = abuti_progress(context, "picture", 0);
    if (!status)
        status = abuti_scene_create(picture, s);
    if (!status)
        status = abuti_progress(context, "picture", 0.2);
    if (!status)
        status = abuti_bins_create(s, s->opaque_count, s->opaque, abuti_triangle_box, &r->opaque);
    if (!status)
        status = abuti_bins_create(s, s->glass_count, s->glass, abuti_triangle_box, &r->glass);
    if (!status)
        status = abuti_bins_create(s, s->mark_count, NULL, abuti_marks_box, &r->marks);
    size_t pixels = (size_t)s->width * s->height;
    if (!status && (!(s->depth = abuti_allocate(context, pixels, sizeof *s->depth)) ||
                    !(r->pixels = abuti_allocate(context, pixels, 4))))
        status = ABUT_ERROR_MEMORY;
    if (!status)
        status = abuti_parallel_try(context, "picture", r->opaque.columns * r->opaque.rows, 4,
                                    compute_depth, r);
    if (!status)
        status = abuti_progress(context, "picture", 0.3);
    if (!status)
        status = abuti_occlusion(s);
    if (!status && s->camera.ground)
        status = abuti_shadow_create(s);
    compute_byte_limits(r->byte_limit);
    return status;
}

/* Progress is only reported from the calling thread, so tiles are drawn in ten parts. */
static abut_status draw_all_tiles(render *r) {
    abut_context *context = r->scene.context;
    size_t tiles = r->opaque.columns * r->opaque.rows;
    for (size_t part = 0; part < 10; part++) {
        abut_status status = abuti_progress(context, "picture", 0.4 + 0.06 * (double)part);
        if (status)
            return status;
        r->first_tile = tiles * part / 10;
        status = abuti_parallel_try(context, "picture", tiles * (part + 1) / 10 - r->first_tile, 4,
                                    draw_tiles, r);
        if (status)
            return status;
        if (atomic_load(&r->out_of_memory)) /* the message is on the worker thread */
            return abuti_fail(ABUT_ERROR_MEMORY,
                              "out of memory: could not allocate %zu bytes for a tile of a picture",
                              tile_memory_bytes(r));
    }
    return abuti_progress(context, "picture", 1);
}

abut_status abuti_picture_draw(abut_picture *picture, uint8_t **pixels) {
    render r;
    memset(&r, 0, sizeof r);
    r.scene.context = picture->context;
    atomic_init(&r.out_of_memory, false);
    abut_status status = prepare_render(picture, &r);
    if (!status)
        status = draw_all_tiles(&r);
    abuti_bins_destroy(picture->context, &r.opaque);
    abuti_bins_destroy(picture->context, &r.glass);
    abuti_bins_destroy(picture->context, &r.marks);
    abuti_scene_destroy(&r.scene);
    if (status)
        abuti_release(picture->context, r.pixels);
    else
        *pixels = r.pixels;
    return status;
}
