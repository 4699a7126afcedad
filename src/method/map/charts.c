/* The atlas of texture coordinates of the caller: every triangle has a chart where its coordinates
 * are.
 *
 * Coordinates are rounded to 1/256 of a texel, equal ones to equal units, so that charts which
 * share a side share it afterwards. A texel whose centre is on such a side belongs to one of both
 * by the rule of map_shared.h. Charts are valid if each has an area and at least one texel, and no
 * texel is in two. Overlaps that contain no centre of a texel are harmless, and not reported.
 *
 * Reach: as in atlas.c, with the part of the triangle between two rows of texels instead of a
 * trapezoid. Its corners are where sides cross the rows, and the corners of the triangle between
 * them. A row without texels uses the nearest row that has some.
 */
#include "map/map.h"

#include <string.h>

/* Tests what no resolution can change. */
static abut_status check_chart(const char *function, uint32_t triangle, const double *uv) {
    for (int k = 0; k < 6; k++)
        if (!(uv[k] >= 0 && uv[k] <= 1))
            return abuti_fail(ABUT_ERROR_ARGUMENT,
                              "%s: options->uv: coordinate %c of corner %d of triangle %u is %g; "
                              "it must be from 0 to 1",
                              function, k % 2 ? 'v' : 'u', k / 2, triangle, uv[k]);
    if ((uv[2] - uv[0]) * (uv[5] - uv[1]) == (uv[3] - uv[1]) * (uv[4] - uv[0]))
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: options->uv: triangle %u has no area in the texture; set "
                          "options->uv_fallback for another layout",
                          function, triangle);
    return ABUT_OK;
}

static abut_status read_chart(const char *function, uint32_t triangle, uint32_t resolution,
                              const double *uv, map_place *place) {
    int lo = INT32_MAX, hi = 0;
    *place = (map_place){.is_chart = 1};
    for (int k = 0; k < 3; k++)
        for (int axis = 0; axis < 2; axis++) {
            place->at[k][axis] = (int)(uv[2 * k + axis] * resolution * MAP_TEXEL + 0.5);
            if (axis) {
                lo = place->at[k][1] < lo ? place->at[k][1] : lo;
                hi = place->at[k][1] > hi ? place->at[k][1] : hi;
            }
        }
    if (map_chart_area(place) == 0)
        return abuti_fail(ABUT_ERROR_LIMIT,
                          "%s: options->uv: triangle %u has no area with %u x %u texels; use a "
                          "higher resolution, or set options->uv_fallback",
                          function, triangle, resolution, resolution);
    place->row = (word32)(lo / MAP_TEXEL);
    place->height = (word32)((hi + MAP_TEXEL - 1) / MAP_TEXEL) - place->row;
    return ABUT_OK;
}

/* Enters the texels of a chart into `owners`. */
static abut_status claim_texels(const char *function, const map_atlas *atlas, uint32_t triangle,
                                uint32_t *owners) {
    const map_place *place = &atlas->places[triangle];
    uint32_t count = 0;
    for (uint32_t j = 0; j < place->height; j++) {
        uint32_t begin, end;
        map_row(place, j, &begin, &end);
        for (uint32_t x = begin; x < end; x++) {
            uint32_t *owner = &owners[(size_t)(place->row + j) * atlas->resolution + x];
            if (*owner != ABUT_NONE)
                return abuti_fail(ABUT_ERROR_ARGUMENT,
                                  "%s: options->uv: triangles %u and %u overlap in the texture, at "
                                  "texel (%u, %u); set options->uv_fallback for another layout",
                                  function, *owner, triangle, x, place->row + j);
            *owner = triangle;
            count++;
        }
    }
    if (count)
        return ABUT_OK;
    return abuti_fail(ABUT_ERROR_LIMIT,
                      "%s: options->uv: triangle %u contains the centre of no texel with %u x %u "
                      "texels; use a higher resolution, or set options->uv_fallback",
                      function, triangle, atlas->resolution, atlas->resolution);
}

/* ---- reach ---- */

/* The texels of a row, with their centres from `lo` to `hi`; none if hi < lo. */
typedef struct chart_row {
    double y, lo, hi;
} chart_row;

static chart_row row_of(const map_place *place, uint32_t j) {
    uint32_t begin, end;
    map_row(place, j, &begin, &end);
    return (chart_row){place->row + j + 0.5, begin + 0.5, end - 0.5};
}

/* The nearest row with texels. */
static chart_row nearest_row(const map_place *place, uint32_t j) {
    for (uint32_t apart = 0; apart < place->height; apart++) {
        const chart_row above = row_of(place, j >= apart ? j - apart : j),
                        below = row_of(place, j + apart < place->height ? j + apart : j);
        if (above.hi >= above.lo)
            return above;
        if (below.hi >= below.lo)
            return below;
    }
    return row_of(place, j);
}

static void extend_reach(const map_place *place, const chart_row *row, double x, double y,
                         double *rx, double *ry) {
    const double moved = x + (double)place->shear * (y - row->y);
    *rx = fmax(*rx, fmax(row->lo - moved, moved - row->hi));
    *ry = fmax(*ry, fabs(y - row->y));
}

static void set_reach(map_place *place, const abut_mesh *mesh, uint32_t triangle) {
    vec3 corner[3], dx, dy;
    for (size_t k = 0; k < 3; k++)
        corner[k] = mesh->positions[mesh->indices[3 * (size_t)triangle + k]];
    map_derivatives(place, corner, &dx, &dy);
    const double sq = v3_length_sq(dx);
    place->shear = sq > 0 ? (float)real_clamp(v3_dot(dx, dy) / sq, -1e6, 1e6) : 0;
    double rx = 0.5, ry = 0.5;
    for (uint32_t j = 0; j < place->height; j++) {
        const chart_row row = nearest_row(place, j);
        const double top = place->row + j;
        for (int k = 0; k < 3; k++) {
            const double unit = MAP_TEXEL;
            const double ax = place->at[k][0] / unit, ay = place->at[k][1] / unit,
                         bx = place->at[(k + 1) % 3][0] / unit,
                         by = place->at[(k + 1) % 3][1] / unit;
            if (ay >= top && ay <= top + 1)
                extend_reach(place, &row, ax, ay, &rx, &ry);
            for (int end = 0; end < 2; end++) {
                const double y = top + end;
                if (fmin(ay, by) <= y && y <= fmax(ay, by) && ay != by)
                    extend_reach(place, &row, ax + (bx - ax) * ((y - ay) / (by - ay)), y, &rx, &ry);
            }
        }
    }
    place->reach_x = bvh_float_above(rx * (1 + 0x1p-40) + 0x1p-30);
    place->reach_y = bvh_float_above(ry);
}

/* ---- creation ---- */

/* Sets the mean density, and the largest deviation from it. */
static void measure_density(const abut_mesh *mesh, map_atlas *atlas) {
    double texels = 0, area = 0;
    for (uint32_t t = 0; t < atlas->triangle_count; t++) {
        texels += fabs(map_chart_area(&atlas->places[t]));
        area += abuti_map_area(mesh, t);
    }
    texels /= 2.0 * MAP_TEXEL * MAP_TEXEL;
    atlas->scale = area > 0 ? sqrt(texels / area) : 0;
    for (uint32_t t = 0; t < atlas->triangle_count; t++) {
        const double wanted = abuti_map_area(mesh, t) * atlas->scale * atlas->scale;
        const double here = fabs(map_chart_area(&atlas->places[t])) / (2.0 * MAP_TEXEL * MAP_TEXEL);
        if (wanted >= 16)
            atlas->uneven = fmax(atlas->uneven, fabs(here / wanted - 1));
    }
}

abut_status abuti_map_charts_create(const char *function, const abut_mesh *mesh,
                                    uint32_t resolution, const double *uv, map_atlas *atlas) {
    abut_context *context = mesh->context;
    const uint32_t count = mesh->triangle_count;
    const size_t texels = (size_t)resolution * resolution;
    uint32_t *owners;
    *atlas = (map_atlas){.resolution = resolution, .triangle_count = count, .has_charts = true};
    abut_status status =
        ABUTI_ALLOCATE(context, ABUTI_ARRAY(atlas->places, count), ABUTI_ARRAY(owners, texels));
    if (!status)
        memset(owners, 0xff, texels * sizeof *owners); /* ABUT_NONE */
    for (uint32_t t = 0; t < count && !status; t++)
        status = check_chart(function, t, uv + 6 * (size_t)t);
    for (uint32_t t = 0; t < count && !status; t++)
        if (!(status = read_chart(function, t, resolution, uv + 6 * (size_t)t, &atlas->places[t])))
            status = claim_texels(function, atlas, t, owners);
    abuti_release(context, owners);
    for (uint32_t t = 0; t < count && !status; t++)
        set_reach(&atlas->places[t], mesh, t);
    if (status)
        abuti_map_atlas_destroy(context, atlas);
    else
        measure_density(mesh, atlas);
    return status;
}
