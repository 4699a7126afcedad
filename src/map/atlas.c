/* The atlas: a place for every triangle.
 *
 * Problem: triangles of any shape in a square of texels, with as many texels for each unit of area,
 * no texel in two triangles, and few in none.
 * Method: the longest edge of a triangle is its base. Triangles are sorted by classes of height,
 * within a class by base, and laid in strips: between two lines of texels a triangle stands with
 * its base on the lower line, the next one hangs from the upper one with its base there, and so on,
 * each sharing a slanted side with the next. Heights of a strip are made equal and bases as long as
 * the area wants it: an affine map, which shears the triangle too, but little where bases are about
 * equal. So strips have no gaps but at their ends. A strip is for one class; what is left of it
 * serves lower ones. How many texels a unit of length gets is found by bisection.
 *
 * Every triangle has a texel: the row next to the base is (1 - 1 / (2 height)) of it wide in its
 * middle, and bases are made so long that this is a texel at least.
 *
 * How near samples are. A point (x, y) of row j, whose middle is at Y, is compared with samples of
 * that row at x' = x + shear (y - Y), for some fixed shear. The row is a trapezoid, and so x' of
 * its points is between the least and the greatest of its four corners. If the middles of its
 * texels reach from a to b, one of them is no farther from x' than half a texel, or than what
 * sticks out beyond a or b; and y is within half a texel. Rows without texels go by the next row
 * towards the base that has some. Let rx and ry be the greatest of all rows. The way from the
 * sample is (x' - a) X + (y - Y) (Y' - shear X), with X and Y' the derivatives of the affine map
 * along x and y; a norm is greatest at corners of a box, so no point of the triangle is farther
 * from a sample than the longer of |rx X + ry Z| and |rx X - ry Z| with Z = Y' - shear X. That
 * holds however the triangle deforms; the shear is the one with which X and Z are at right angles
 * at rest. It is section 5 of Sud et al. (2006) with the ends of rows counted.
 */
#include "map/map.h"

#include <string.h>

/* Heights of a class are above this much of those of the class before. */
#define CLASS_RATIO 0.8
/* Needles have a row for so many texels of their length, and a sample for so many. */
#define NEEDLE_ROWS 16
#define NEEDLE_SAMPLES 8
enum { FEW = 16, CLASSES = 256, TRIANGLES_A_TASK = 1024 };
/* How exactly the scale is found. */
#define SCALE_STEP 0.002

/* A triangle that waits for its place. */
typedef struct shape {
    uint32_t triangle, corner;
    double base;   /* its length in space */
    double area;   /* twice that of the triangle */
    double height; /* that it shall have in the atlas, as in space */
    double top;    /* the greatest height of its class */
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
    shape s = {.triangle = triangle};
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
    if (s.base > 0) {
        vec3 along = v3_scale(side[s.corner], 1 / s.base);
        s.height =
            v3_length(v3_cross(along, v3_scale(side[(s.corner + 1) % 3], 1 / s.base))) * s.base;
        s.area = s.base * s.height;
    }
    /* Thin triangles stand higher, since their tips are the farther from samples the fewer rows
     * they have; the base is four times the height at most, but for needles. */
    s.height = fmax(fmax(s.height, sqrt(0.25 * s.area)), s.base / NEEDLE_ROWS);
    s.base *= sqrt(importance);
    s.height *= sqrt(importance);
    s.area *= importance;
    return s;
}

/* Sorts by class, then by base, the longest first, then by triangle. */
static abut_status sort_shapes(abut_context *context, shape *shapes, size_t count) {
    double most = 0, top[CLASSES] = {0};
    for (size_t i = 0; i < count; i++)
        most = fmax(most, shapes[i].height);
    sort_key *keys = abuti_allocate(context, count, 2 * sizeof *keys);
    shape *sorted = abuti_allocate(context, count, sizeof *sorted);
    if (!keys || !sorted) {
        ABUTI_RELEASE(context, keys, sorted);
        return ABUT_ERROR_MEMORY;
    }
    for (size_t i = 0; i < count; i++) {
        shape *s = &shapes[i];
        const double class = s->height > 0 ? log(s->height / most) / log(CLASS_RATIO) : CLASSES;
        const uint64_t number = class < CLASSES - 1 ? (uint64_t) class : CLASSES - 1;
        uint64_t bits;
        memcpy(&bits, &s->base, sizeof bits); /* grows with it, as it is not negative */
        top[number] = fmax(top[number], s->height);
        keys[i] = (sort_key){number << 56 | (~bits >> 8 & 0xffffffffffffff), (uint32_t)i};
    }
    const sort_key *order = abuti_sort_by_key(keys, keys + count, count);
    for (size_t i = 0; i < count; i++) {
        sorted[i] = shapes[order[i].value];
        sorted[i].top = top[order[i].key >> 56];
    }
    memcpy(shapes, sorted, count * sizeof *shapes);
    ABUTI_RELEASE(context, keys, sorted);
    return ABUT_OK;
}

/* ---- places ---- */

static uint32_t rows_of(const packing *p, const shape *s) {
    double rows = s->top * p->scale;
    rows = rows < p->atlas->resolution ? rows : p->atlas->resolution;
    return rows < 1.5 ? 1 : (uint32_t)(rows + 0.5);
}

/* How long the base is on a strip of so many rows, in steps: by area, and for needles by length. */
static int width_of(const packing *p, const shape *s, uint32_t rows) {
    double width = fmax(s->area * p->scale * p->scale / rows, s->base * p->scale / NEEDLE_SAMPLES);
    double least = 2.0 * rows / (2.0 * rows - 1);
    width = width < p->atlas->resolution ? width : p->atlas->resolution;
    return (int)ceil((width < least ? least : width) * MAP_TEXEL);
}

static double texels_of(const map_place *place) {
    return 0.5 * place->width / MAP_TEXEL * place->height;
}

static void corners_of(const abut_mesh *mesh, uint32_t triangle, vec3 corner[3]) {
    for (size_t k = 0; k < 3; k++)
        corner[k] = mesh->positions[mesh->indices[3 * (size_t)triangle + k]];
}

static void set_reach(map_place *place, const abut_mesh *mesh, uint32_t triangle) {
    vec3 corner[3], dx, dy;
    corners_of(mesh, triangle, corner);
    map_derivatives(place, corner, &dx, &dy);
    double sq = v3_length_sq(dx);
    place->shear = sq > 0 ? (float)real_clamp(v3_dot(dx, dy) / sq, -1e6, 1e6) : 0;

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
            double above = k - 0.5 - last; /* the row that its points go by */
            above *= place->down ? -place->shear : place->shear;
            double l = left + (apex - left) * k / h + above;
            double r = right + (apex - right) * k / h + above;
            rx = fmax(rx, fmax(begin + 0.5 - l, r - (end - 0.5)));
        }
        ry = fmax(ry, 0.5 + (i - last));
    }
    place->reach_x = bvh_float_above(rx * (1 + 0x1p-40));
    place->reach_y = bvh_float_above(ry);
}

double abuti_map_reach(const map_place *place, const abut_mesh *mesh, uint32_t triangle) {
    vec3 corner[3];
    corners_of(mesh, triangle, corner);
    return map_reach(place, corner);
}

double abuti_map_area(const abut_mesh *mesh, uint32_t triangle) {
    vec3 corner[3];
    corners_of(mesh, triangle, corner);
    return map_area(corner);
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
    /* Where the lower and the upper line are taken. The apex of the first is over the middle of its
     * base, and so it is of all others of the same length; but where few have room, over its
     * beginning, so that two make a parallelogram that fills the strip. */
    const int first = width_of(p, &shapes[0], strip->height);
    int line[2] = {begin, begin + (FEW * first <= end - begin ? first / 2 : 0)};
    size_t i = 0;
    for (; i < count; i++) {
        const shape *s = &shapes[i];
        const int side = line[1] < line[0], width = width_of(p, s, strip->height);
        if (rows_of(p, s) != strip->height || width > end - line[side])
            break;
        map_place *place = &p->atlas->places[s->triangle];
        *place = (map_place){line[side], width,        line[!side], strip->y, strip->height,
                             s->corner,  (word32)side, 0,           0,        0};
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

/* Places shapes at the greatest scale up to `most` at which they have room: lower and lower until
 * they have, then halfway between. False: not even with one texel each. */
static bool place_best(packing *p, const shape *shapes, size_t count, double most) {
    double hi = most, lo = 0, last = -1;
    for (double step = SCALE_STEP; hi > 1e-6 * most && !p->status; step *= 2) {
        const double next = step < 1 ? hi * (1 - step) : 0;
        last = next;
        if (place_on_empty(p, shapes, count, next)) {
            lo = next;
            break;
        }
        hi = next;
    }
    while (lo > 0 && hi - lo > SCALE_STEP * hi && !p->status) {
        last = 0.5 * (lo + hi);
        if (place_on_empty(p, shapes, count, last))
            lo = last;
        else
            hi = last;
    }
    return (last == lo && lo > 0) || place_on_empty(p, shapes, count, lo);
}

/* The resolution at which so many triangles have room, one texel each. */
static uint32_t resolution_for(uint32_t count) {
    uint32_t n = (uint32_t)ceil(sqrt((double)count));
    while ((uint64_t)n * (n - 1) < count)
        n++;
    return n;
}

typedef struct finishing {
    const abut_mesh *mesh;
    map_atlas *atlas;
} finishing;

static void reach_task(void *data, size_t chunk, size_t begin, size_t end) {
    const finishing *f = data;
    (void)chunk;
    for (size_t t = begin; t < end; t++)
        set_reach(&f->atlas->places[t], f->mesh, (uint32_t)t);
}

static void finish(const abut_mesh *mesh, map_atlas *atlas, const shape *shapes, size_t count) {
    finishing f = {mesh, atlas};
    abuti_parallel_for(mesh->context, count, TRIANGLES_A_TASK, reach_task, &f);
    for (size_t i = 0; i < count; i++) {
        double wanted = 0.5 * shapes[i].area * atlas->scale * atlas->scale;
        double texels = texels_of(&atlas->places[shapes[i].triangle]);
        if (wanted >= 16)
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
        area += 0.5 * shapes[t].area;
    }
    if (!p.status)
        p.status = sort_shapes(context, shapes, count);
    /* No more than all texels for the area; where there is nearly none, than the longest base. */
    double most = area > 0 ? resolution / sqrt(area) : 0;
    if (!p.status && shapes[0].base > 0 && !(most * shapes[0].base < 4.0 * resolution))
        most = 4.0 * resolution / shapes[0].base;
    if (!p.status && !place_best(&p, shapes, count, most) && !p.status)
        p.status = abuti_fail(ABUT_ERROR_LIMIT,
                              "%s: there is no room for %u triangle%s in %u x %u texels; a "
                              "resolution of %u is enough",
                              function, count, count == 1 ? "" : "s", resolution, resolution,
                              resolution_for(count));
    if (!p.status)
        finish(mesh, atlas, shapes, count);
    abuti_release(context, shapes);
    if (p.status)
        abuti_map_atlas_destroy(context, atlas);
    return p.status;
}

/* ---- changes ---- */

static bool place_after(const void *a, const void *b) {
    const map_place *x = a, *y = b;
    double p = texels_of(x), q = texels_of(y);
    if (p != q)
        return p > q;
    return x->row != y->row ? x->row > y->row : x->left > y->left;
}

static bool larger_first(const void *a, const void *b) {
    const shape *x = a, *y = b;
    return x->area != y->area ? x->area < y->area : x->triangle > y->triangle;
}

/* Gives shapes places that others have left: to the largest first the smallest that is not too
 * small, if it is not more than twice too large. Those that got none stay at the front. */
static size_t reuse_places(packing *p, shape *shapes, size_t count, map_place *left,
                           size_t *left_count) {
    size_t kept = 0, at = *left_count; /* places from `at` on are too large for all that follow */
    abuti_sort_items(shapes, count, sizeof *shapes, larger_first);
    abuti_sort_items(left, *left_count, sizeof *left, place_after);
    for (size_t i = 0; i < count; i++) {
        const double wanted = 0.5 * shapes[i].area * p->scale * p->scale;
        while (at > 0 && texels_of(&left[at - 1]) >= wanted)
            at--;
        size_t found = at;
        while (found < *left_count && !left[found].height) /* taken already */
            found++;
        if (found == *left_count || texels_of(&left[found]) > 2 * wanted + 2) {
            shapes[kept++] = shapes[i];
            continue;
        }
        map_place *place = &p->atlas->places[shapes[i].triangle];
        *place = left[found];
        place->corner = shapes[i].corner;
        left[found].height = 0;
    }
    size_t rest = 0;
    for (size_t i = 0; i < *left_count; i++)
        if (left[i].height)
            left[rest++] = left[i];
    *left_count = rest;
    return kept;
}

/* Keeps the places of triangles that stay, and lists new triangles and places that are left. */
static void keep_places(const map_atlas *old, const abut_mesh *mesh, const uint32_t *from,
                        packing *p, shape *shapes, size_t *shape_count, unsigned char *stays) {
    map_atlas *atlas = p->atlas;
    for (uint32_t t = 0; t < atlas->triangle_count; t++)
        if (from[t] != ABUT_NONE) {
            atlas->places[t] = old->places[from[t]];
            stays[from[t]] = 1;
        } else {
            shapes[(*shape_count)++] = shape_of(mesh, t, 1);
        }
    for (size_t i = 0; i < old->left_count; i++)
        atlas->left[atlas->left_count++] = old->left[i];
    for (uint32_t t = 0; t < old->triangle_count; t++)
        if (!stays[t])
            atlas->left[atlas->left_count++] = old->places[t];
    for (size_t i = 0; i < old->free_count; i++)
        add_free(p, old->free[i]);
}

abut_status abuti_map_atlas_change(const map_atlas *old, const abut_mesh *mesh,
                                   const uint32_t *from, map_atlas *atlas, uint32_t *placed) {
    abut_context *context = mesh->context;
    const uint32_t count = mesh->triangle_count;
    packing p = {.atlas = atlas, .context = context, .scale = old->scale};
    *atlas = (map_atlas){.resolution = old->resolution,
                         .triangle_count = count,
                         .scale = old->scale,
                         .uneven = old->uneven};
    atlas->places = abuti_allocate(context, count, sizeof *atlas->places);
    atlas->left =
        abuti_allocate(context, old->left_count + old->triangle_count, sizeof *atlas->left);
    shape *shapes = abuti_allocate(context, count, sizeof *shapes);
    unsigned char *stays = abuti_allocate_zeroed(context, old->triangle_count, 1);
    size_t fresh = 0, waiting = 0;
    bool fits = false;
    p.status = atlas->places && atlas->left && shapes && stays ? ABUT_OK : ABUT_ERROR_MEMORY;
    if (!p.status)
        keep_places(old, mesh, from, &p, shapes, &fresh, stays);
    if (!p.status) {
        waiting = reuse_places(&p, shapes, fresh, atlas->left, &atlas->left_count);
        p.status = sort_shapes(context, shapes, waiting);
        fits = !p.status && place_all(&p, shapes, waiting);
    }
    if (!p.status && fits) {
        for (uint32_t t = 0; t < count; t++)
            if (from[t] == ABUT_NONE)
                set_reach(&atlas->places[t], mesh, t);
        *placed = (uint32_t)fresh;
    }
    ABUTI_RELEASE(context, shapes, stays);
    if (p.status || !fits)
        abuti_map_atlas_destroy(context, atlas);
    return p.status;
}

void abuti_map_atlas_destroy(abut_context *context, map_atlas *atlas) {
    ABUTI_RELEASE(context, atlas->places, atlas->left, atlas->free);
    memset(atlas, 0, sizeof *atlas);
}
