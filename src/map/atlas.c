/* The atlas: a place for every triangle.
 *
 * Problem: triangles of any shape in a square of texels, with as many texels for each unit of area,
 * no texel in two triangles, and few in none.
 * Method: the longest edge of a triangle is its base. Triangles are sorted by height and laid in
 * strips: between two lines of texels a triangle stands with its base on the lower line, the next
 * one hangs from the upper one with its base there, and so on, each sharing a slanted side with the
 * next. Heights of a strip are made equal and bases as long as the area wants it: an affine map,
 * which shears the triangle too. So strips have no gaps but at their end. A strip takes triangles
 * of at least STRIP_LEAST of its height; what is left of it serves lower ones. How many texels a
 * unit of length gets is found by bisection.
 *
 * Every triangle has a texel: the row next to the base is (1 - 1 / (2 height)) of it wide in its
 * middle, and bases are made so long that this is a texel at least.
 *
 * How near samples are. Row j of a place is a trapezoid whose points are between the least and the
 * greatest x of its four corners. If the middles of its texels reach from a to b, a point is no
 * farther from one of them than half a texel in y, and than half a texel, or than what sticks out
 * beyond a or b, in x. Rows without texels go by the next row towards the base that has some. The
 * greatest of all rows, (rx, ry), is kept; as the map is affine, with derivatives X and Y, points
 * of the triangle are no farther from a sample than the longer of |rx X + ry Y| and |rx X - ry Y|,
 * since a norm is greatest at corners of a box. That holds however the triangle deforms, and is
 * section 5 of Sud et al. (2006) with the ends of rows counted.
 */
#include "map/map.h"

#include <string.h>

#define STRIP_LEAST 0.6
enum { STEPS = 14 }; /* of bisection */

/* A triangle that waits for its place. */
typedef struct shape {
    uint32_t triangle, corner;
    double base, height; /* in space */
} shape;

typedef struct packing {
    map_atlas *atlas;
    abut_context *context;
    double scale;
    abut_status status;
} packing;

/* ---- shapes ---- */

static shape shape_of(const abut_mesh *mesh, uint32_t triangle, double importance) {
    const uint32_t *corner = mesh->indices + 3 * (size_t)triangle;
    vec3 p[3], side[3];
    shape s = {triangle, 0, 0, 0};
    for (int k = 0; k < 3; k++)
        p[k] = mesh->positions[corner[k]];
    for (uint32_t k = 0; k < 3; k++) {
        side[k] = v3_sub(p[(k + 1) % 3], p[k]);
        double length = v3_length(side[k]);
        if (length > s.base) {
            s.base = length;
            s.corner = k;
        }
    }
    if (s.base > 0)
        s.height = v3_length(v3_cross(v3_scale(side[s.corner], 1 / s.base),
                                      v3_scale(side[(s.corner + 1) % 3], 1 / s.base))) *
                   s.base;
    s.base *= sqrt(importance);
    s.height *= sqrt(importance);
    return s;
}

static bool after(const void *a, const void *b) {
    const shape *x = a, *y = b;
    if (x->height != y->height)
        return x->height < y->height;
    return x->base != y->base ? x->base < y->base : x->triangle > y->triangle;
}

/* ---- places ---- */

static uint32_t rows_of(const packing *p, const shape *s) {
    /* A base shall not be longer than half the square, and so some triangles stand higher. */
    double rows = s->height * p->scale, base = s->base * p->scale,
           most = p->atlas->resolution / 2.0;
    if (base > most)
        rows *= base / most;
    rows = rows < p->atlas->resolution ? rows : p->atlas->resolution;
    return rows < 1.5 ? 1 : (uint32_t)(rows + 0.5);
}

/* How long the base is on a strip of so many rows, in steps. */
static int width_of(const packing *p, const shape *s, uint32_t rows) {
    double base = s->base * p->scale, height = s->height * p->scale;
    double width = height < 1 && rows == 1 ? base : base * height / rows;
    double least = 2.0 * rows / (2.0 * rows - 1);
    width = width < p->atlas->resolution ? width : p->atlas->resolution;
    return (int)ceil((width < least ? least : width) * MAP_TEXEL);
}

static void set_reach(map_place *place) {
    const double h = place->height, texel = MAP_TEXEL;
    const double left = place->left / texel, right = (place->left + place->width) / texel,
                 apex = place->apex / texel;
    double rx = 0.5, ry = 0.5;
    uint32_t begin = 0, end = 0, last = 0;
    for (uint32_t i = 0; i < place->height; i++) { /* from the base to the apex */
        uint32_t j = place->down ? place->height - 1 - i : i, b, e;
        map_row(place, j, &b, &e);
        if (b < e) {
            begin = b;
            end = e;
            last = i;
        }
        for (uint32_t k = i; k <= i + 1; k++) {
            double l = left + (apex - left) * k / h, r = right + (apex - right) * k / h;
            rx = fmax(rx, fmax(begin + 0.5 - l, r - (end - 0.5)));
        }
        ry = fmax(ry, 0.5 + (i - last));
    }
    place->reach_x = bvh_float_above(rx * (1 + 0x1p-40));
    place->reach_y = bvh_float_above(ry);
}

double abuti_map_reach(const map_place *place, const abut_mesh *mesh, uint32_t triangle) {
    const uint32_t *index = mesh->indices + 3 * (size_t)triangle;
    const uint32_t c = place->corner;
    vec3 from = mesh->positions[index[c]];
    vec3 base = v3_sub(mesh->positions[index[(c + 1) % 3]], from),
         side = v3_sub(mesh->positions[index[(c + 2) % 3]], from);
    /* P = from + t base + s side, with s = (y - row) / height and t from x; where the place hangs
     * down both axes turn round, which changes no length */
    const double width = (double)place->width / MAP_TEXEL;
    const int begin = place->down ? place->left + place->width : place->left;
    const double lean =
        (double)(place->apex - begin) / (place->down ? -place->width : place->width);
    vec3 x = v3_scale(base, 1 / width);
    vec3 y = v3_scale(v3_along(side, -lean, base), 1.0 / place->height);
    vec3 rx = v3_scale(x, place->reach_x), ry = v3_scale(y, place->reach_y);
    return fmax(v3_length(v3_add(rx, ry)), v3_length(v3_sub(rx, ry))) * (1 + 0x1p-40);
}

/* ---- strips ---- */

static void add_free(packing *p, map_rectangle r) {
    map_atlas *atlas = p->atlas;
    if (!r.width || !r.height || p->status)
        return;
    if (atlas->free_count == atlas->free_room)
        p->status = abuti_grow(p->context, &atlas->free, atlas->free_count, atlas->free_count + 1,
                               sizeof *atlas->free, &atlas->free_room);
    if (!p->status)
        atlas->free[atlas->free_count++] = r;
}

/* Takes the lowest free rectangle that is high and wide enough; of those that are too high, the
 * rest stays free. */
static bool take_strip(packing *p, uint32_t rows, uint32_t columns, map_rectangle *strip) {
    map_atlas *atlas = p->atlas;
    size_t best = SIZE_MAX;
    for (size_t i = 0; i < atlas->free_count; i++) {
        const map_rectangle *r = &atlas->free[i];
        if (r->height >= rows && r->width >= columns &&
            (best == SIZE_MAX || r->height < atlas->free[best].height))
            best = i;
    }
    if (best == SIZE_MAX)
        return false;
    *strip = atlas->free[best];
    atlas->free[best] = atlas->free[--atlas->free_count];
    map_rectangle rest = *strip;
    strip->height = rows;
    rest.y += rows;
    rest.height -= rows;
    add_free(p, rest);
    return true;
}

/* Fills a strip with shapes from the first on; how many. */
static size_t fill_strip(packing *p, const map_rectangle *strip, const shape *shapes,
                         size_t count) {
    const int begin = (int)strip->x * MAP_TEXEL, end = begin + (int)strip->width * MAP_TEXEL;
    int line[2] = {begin, begin}; /* where the lower and the upper line are taken */
    size_t i = 0;
    for (; i < count; i++) {
        const shape *s = &shapes[i];
        const int side = line[1] < line[0], width = width_of(p, s, strip->height);
        if (i && strip->height > 1 && rows_of(p, s) < STRIP_LEAST * strip->height)
            break;
        if (width > end - line[side])
            break;
        map_place *place = &p->atlas->places[s->triangle];
        *place = (map_place){line[side], width,        line[!side], strip->y, strip->height,
                             s->corner,  (word32)side, 0,           0};
        line[side] += width;
    }
    uint32_t taken = (uint32_t)((line[line[1] > line[0]] - begin + MAP_TEXEL - 1) / MAP_TEXEL);
    add_free(p, (map_rectangle){strip->x + taken, strip->y, strip->width - taken, strip->height});
    return i;
}

/* Places shapes, sorted by height; false where there is no room. */
static bool place_all(packing *p, const shape *shapes, size_t count) {
    for (size_t i = 0; i < count && !p->status;) {
        uint32_t rows = rows_of(p, &shapes[i]);
        int width = width_of(p, &shapes[i], rows);
        map_rectangle strip;
        if (!take_strip(p, rows, (uint32_t)((width + MAP_TEXEL - 1) / MAP_TEXEL), &strip))
            return false;
        i += fill_strip(p, &strip, shapes + i, count - i);
    }
    return !p->status;
}

static bool place_on_empty(packing *p, const shape *shapes, size_t count, double scale) {
    const uint32_t n = p->atlas->resolution;
    p->scale = p->atlas->scale = scale;
    p->atlas->free_count = 0;
    add_free(p, (map_rectangle){0, 0, n, n});
    return !p->status && place_all(p, shapes, count);
}

/* The resolution at which so many triangles have room, one texel each. */
static uint32_t resolution_for(uint32_t count) {
    uint32_t n = (uint32_t)ceil(sqrt((double)count));
    while ((uint64_t)n * (n - 1) < count)
        n++;
    return n;
}

static void finish(const abut_mesh *mesh, map_atlas *atlas, const shape *shapes, size_t count) {
    (void)mesh;
    for (size_t i = 0; i < count; i++) {
        const shape *s = &shapes[i];
        map_place *place = &atlas->places[s->triangle];
        set_reach(place);
        double texels = 0.5 * place->width / MAP_TEXEL * place->height;
        double wanted = 0.5 * s->base * s->height * atlas->scale * atlas->scale;
        if (texels >= 16 && wanted > 0)
            atlas->uneven = fmax(atlas->uneven, fabs(texels / wanted - 1));
    }
}

abut_status abuti_map_atlas_create(const char *function, const abut_mesh *mesh, uint32_t resolution,
                                   const double *importance, map_atlas *atlas) {
    abut_context *context = mesh->context;
    const uint32_t count = mesh->triangle_count;
    packing p = {.atlas = atlas, .context = context};
    *atlas = (map_atlas){.resolution = resolution, .triangle_count = count};
    atlas->places = abuti_allocate(context, count, sizeof *atlas->places);
    shape *shapes = abuti_allocate(context, count, sizeof *shapes);
    p.status = atlas->places && shapes ? ABUT_OK : ABUT_ERROR_MEMORY;
    double area = 0;
    for (uint32_t t = 0; t < count && !p.status; t++) {
        shapes[t] = shape_of(mesh, t, importance ? importance[t] : 1);
        area += 0.5 * shapes[t].base * shapes[t].height;
    }
    if (!p.status)
        abuti_sort_items(shapes, count, sizeof *shapes, after);
    /* The least scale has one texel for each triangle, the greatest all texels for the area. */
    double most = area > 0 ? resolution / sqrt(area) : 0, lo = 0;
    if (!p.status && shapes[0].base > 0 && !(most * shapes[0].base < 4.0 * resolution))
        most = 4.0 * resolution / shapes[0].base; /* nearly no area */
    bool fits = !p.status && place_on_empty(&p, shapes, count, 0);
    if (!fits && !p.status)
        p.status = abuti_fail(ABUT_ERROR_LIMIT,
                              "%s: %u triangles need a texel each, more than %u x %u have; a "
                              "resolution of %u is enough",
                              function, count, resolution, resolution, resolution_for(count));
    double best = 0;
    for (int i = 0, good; i < STEPS && !p.status; i++) {
        double middle = i ? 0.5 * (lo + most) : most;
        good = place_on_empty(&p, shapes, count, middle);
        if (good)
            best = lo = middle;
        else
            most = middle;
    }
    if (!p.status)
        place_on_empty(&p, shapes, count, best);
    if (!p.status)
        finish(mesh, atlas, shapes, count);
    abuti_release(context, shapes);
    if (p.status)
        abuti_map_atlas_destroy(context, atlas);
    return p.status;
}

/* ---- changes ---- */

abut_status abuti_map_atlas_change(const map_atlas *old, const abut_mesh *mesh,
                                   const uint32_t *from, map_atlas *atlas, uint32_t *placed) {
    (void)old, (void)mesh, (void)from, (void)atlas, (void)placed;
    return ABUT_ERROR_LIMIT;
}

void abuti_map_atlas_destroy(abut_context *context, map_atlas *atlas) {
    ABUTI_RELEASE(context, atlas->places, atlas->free);
    memset(atlas, 0, sizeof *atlas);
}
