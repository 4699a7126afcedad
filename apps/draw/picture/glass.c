/* Transparent triangles within a tile.
 *
 * Every pixel of a transparent triangle becomes a fragment. All fragments of the tile are sorted by
 * pixel and from far to near, and blended in that order, so that penetrating surfaces are drawn
 * correctly. The fragment buffer has a fixed size of 64 layers on average. When it is full, its
 * fragments are blended and it is emptied. Triangles are processed from far to near by their
 * centroids, so that the order is approximately right even then.
 */
#include "picture/picture.h"

#include <string.h>

static void blend_fragment(const picture_scene *scene, uint32_t triangle, unsigned mask, float x,
                           float y, f3 colours[SAMPLES]) {
    shade_setup setup;
    abuti_shade_setup(scene, triangle, &setup);
    f3 colour = abuti_shade_middle(&setup, mask, x, y);
    for (int i = 0; i < SAMPLES; i++) {
        if (!(mask >> i & 1))
            continue;
        colours[i] = f3_mix(colours[i], colour, setup.alpha);
        if (setup.lined) {
            float ink = abuti_shade_edges(&setup, x + SAMPLE_X(i), y + SAMPLE_Y(i));
            colours[i] = f3_mix(colours[i], abuti_ink, ink * setup.alpha * (2 - setup.alpha));
        }
    }
}

static void blend_fragments(const picture_scene *scene, glass_room *room, size_t count, int tile_x,
                            int tile_y, sample_colours colours) {
    const sort_key *sorted = abuti_sort_by_key(room->keys, room->spare, count);
    for (size_t i = 0; i < count; i++) {
        int pixel = (int)(sorted[i].key >> 32);
        uint32_t number = sorted[i].value;
        blend_fragment(scene, room->triangles[number], room->masks[number],
                       (float)(tile_x + pixel % TILE), (float)(tile_y + pixel / TILE),
                       colours[pixel]);
    }
}

void abuti_glass_draw(const picture_scene *scene, const bins *glass, size_t tile, int tile_x,
                      int tile_y, const float depth[TILE_PIXELS][SAMPLES], glass_room *room,
                      sample_colours colours) {
    size_t count = 0;
    for (bin_iterator walk = abuti_bins_begin(glass, tile); bin_has_next(&walk);) {
        uint32_t triangle = scene->glass[bin_next(&walk)];
        cover_setup setup;
        if (!abuti_cover_triangle(scene, triangle, tile_x, tile_y, &setup))
            continue;
        for (int y = setup.y0; y <= setup.y1; y++)
            for (int x = setup.x0; x <= setup.x1; x++) {
                int pixel = y * TILE + x;
                unsigned mask = abuti_cover_mask(&setup, x, y, depth[pixel]);
                if (!mask)
                    continue;
                if (count == GLASS_FRAGMENTS) {
                    blend_fragments(scene, room, count, tile_x, tile_y, colours);
                    count = 0;
                }
                float q = cover_depth(&setup, x, y);
                room->keys[count].key = (uint64_t)pixel << 32 | ordered_bits(q);
                room->keys[count].value = (uint32_t)count;
                room->triangles[count] = triangle;
                room->masks[count] = (uint16_t)mask;
                count++;
            }
    }
    blend_fragments(scene, room, count, tile_x, tile_y, colours);
}
