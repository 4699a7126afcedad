/* Sorts elements into the tiles that they overlap: counting sort. */
#include "picture/picture.h"

typedef struct tile_range {
    size_t x0, y0, x1, y1; /* inclusive; x1 < x0 if outside the image */
} tile_range;

static size_t clamp_tile(float pixel, size_t tiles) {
    if (!(pixel > 0))
        return 0;
    size_t tile = (size_t)(pixel / TILE);
    return tile < tiles ? tile : tiles - 1;
}

static tile_range overlapped_tiles(const bins *b, const picture_scene *scene, const float box[4]) {
    if (box[2] < 0 || box[3] < 0 || box[0] > (float)scene->width || box[1] > (float)scene->height)
        return (tile_range){1, 1, 0, 0};
    return (tile_range){clamp_tile(box[0], b->columns), clamp_tile(box[1], b->rows),
                        clamp_tile(box[2], b->columns), clamp_tile(box[3], b->rows)};
}

static size_t count_tiles(tile_range r) {
    return r.x1 < r.x0 ? 0 : (r.x1 - r.x0 + 1) * (r.y1 - r.y0 + 1);
}

abut_status abuti_bins_create(const picture_scene *scene, size_t count, const uint32_t *things,
                              bins_box box_of, bins *out) {
    bins b = {.columns = (scene->width + TILE - 1) / TILE,
              .rows = (scene->height + TILE - 1) / TILE};
    size_t tiles = b.columns * b.rows, wide_at = 0;
    float box[4];
    *out = b;
    b.begin = abuti_allocate_zeroed(scene->context, tiles + 2, sizeof *b.begin);
    if (!b.begin)
        return ABUT_ERROR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        box_of(scene, things ? things[i] : (uint32_t)i, box);
        tile_range r = overlapped_tiles(&b, scene, box);
        b.wide_count += count_tiles(r) > WIDE_TILES;
        if (count_tiles(r) > WIDE_TILES)
            continue;
        for (size_t y = r.y0; y <= r.y1; y++)
            for (size_t x = r.x0; x <= r.x1; x++)
                b.begin[y * b.columns + x + 2]++;
    }
    for (size_t i = 0; i < tiles; i++)
        b.begin[i + 2] += b.begin[i + 1];
    b.members = abuti_allocate(scene->context, b.begin[tiles + 1], sizeof *b.members);
    b.wide = abuti_allocate(scene->context, b.wide_count, sizeof *b.wide);
    *out = b;
    if (!b.members || !b.wide)
        return ABUT_ERROR_MEMORY;
    for (size_t i = 0; i < count; i++) {
        box_of(scene, things ? things[i] : (uint32_t)i, box);
        tile_range r = overlapped_tiles(&b, scene, box);
        if (count_tiles(r) > WIDE_TILES) {
            b.wide[wide_at++] = (uint32_t)i;
            continue;
        }
        for (size_t y = r.y0; y <= r.y1; y++)
            for (size_t x = r.x0; x <= r.x1; x++)
                b.members[b.begin[y * b.columns + x + 1]++] = (uint32_t)i;
    }
    return ABUT_OK;
}

void abuti_bins_destroy(abut_context *context, bins *b) {
    ABUTI_RELEASE(context, b->begin, b->members, b->wide);
}

/* Both lists are sorted, so that iteration is a merge. */
bin_iterator abuti_bins_begin(const bins *b, size_t tile) {
    return (bin_iterator){b->members + b->begin[tile], b->members + b->begin[tile + 1], b->wide,
                          b->wide + b->wide_count};
}
