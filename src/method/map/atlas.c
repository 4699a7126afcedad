/* The atlas: a layout of all triangles in a square of texels.
 *
 * Problem: triangles of any shape in a square of texels, with equal texels per unit of area, no
 * texel in two triangles, and few unused texels. Method: the longest edge of a triangle is its
 * base. Triangles are sorted by classes of height, within a class by base, and laid out in strips.
 * Between two rows of texels a triangle has its base on the lower row, the next one has its base on
 * the upper row, and so on. Each shares a slanted side with the next. All triangles of a strip get
 * equal heights, and bases of a length that preserves the area. This affine map also shears a
 * triangle, but only a little if bases are about equal. So strips have gaps only at their ends. A
 * strip is for one class; lower classes use the remainder of it. The number of texels per unit of
 * length is found by bisection.
 *
 * Every triangle has a texel: the width of the row next to the base, at its centre, is (1 - 1 / (2
 * height)) of the base, and bases are long enough that this is at least one texel.
 *
 * Reach of samples. A point (x, y) of row j, whose centre is at Y, is compared with samples of that
 * row at x' = x + shear (y - Y), for some fixed shear. The row is a trapezoid, so x' of its points
 * is between the smallest and the largest of its four corners. If the centres of its texels range
 * from a to b, one of them is within half a texel of x', or within the part that extends beyond a
 * or b; and y is within half a texel. Rows without texels use the next row towards the base that
 * has some. Let rx and ry be the maxima over all rows. The vector from the sample is (x' - a) X +
 * (y - Y) (Y' - shear X), with X and Y' the derivatives of the affine map along x and y. A norm is
 * largest at a corner of a box. So every point of the triangle is within the larger of |rx X + ry
 * Z| and |rx X - ry Z| of a sample, where Z = Y' - shear X. This holds for any deformation of the
 * triangle. The shear is chosen so that X and Z are orthogonal at rest. This is section 5 of Sud et
 * al. (2006), including the ends of rows.
 */
#include "map/map.h"

#include <string.h>

/* Ratio of the smallest to the largest height of a class. */
#define CLASS_RATIO 0.8
/* Thin triangles have at least one row per this many texels of their length, and one sample per
 * this many. */
#define THIN_ROW_TEXELS 16
#define THIN_SAMPLE_TEXELS 8
enum { FULL_STRIP_BASES = 16, CLASSES = 256, TRIANGLES_PER_TASK = 1024 };
/* Relative precision of the scale. */
#define SCALE_STEP 0.002

/* A triangle that is not placed yet. */
typedef struct shape {
    uint32_t triangle, corner;
    double base;   /* length in space */
    double area;   /* twice the area of the triangle */
    double height; /* intended height in the atlas, in units of space */
    double top;    /* largest height of its class */
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
    /* Thin triangles get more height, since the fewer rows they have, the farther their tips are
     * from samples. The base is at most four times the height, except for very thin triangles. */
    s.height = fmax(fmax(s.height, sqrt(0.25 * s.area)), s.base / THIN_ROW_TEXELS);
    s.base *= sqrt(importance);
    s.height *= sqrt(importance);
    s.area *= importance;
    return s;
}

/* Sorts by class, then by base, longest first, then by triangle. */
static abut_status sort_shapes(abut_context *context, shape *shapes, size_t count) {
    double most = 0, top[CLASSES] = {0};
    for (size_t i = 0; i < count; i++)
        most = fmax(most, shapes[i].height);
    sort_key *keys;
    shape *sorted;
    abut_status status =
        ABUTI_ALLOCATE(context, ABUTI_ARRAY(keys, 2 * count), ABUTI_ARRAY(sorted, count));
    if (status)
        return status;
    for (size_t i = 0; i < count; i++) {
        shape *s = &shapes[i];
        const double class = s->height > 0 ? log(s->height / most) / log(CLASS_RATIO) : CLASSES;
        const uint64_t number = class < CLASSES - 1 ? (uint64_t) class : CLASSES - 1;
        uint64_t bits;
        memcpy(&bits, &s->base,
               sizeof bits); /* bits of a non-negative double sort like the double */
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

/* Length of the base on a strip of `rows` rows, in steps: from the area, and for thin triangles
 * from the length. */
static int width_of(const packing *p, const shape *s, uint32_t rows) {
    double width =
        fmax(s->area * p->scale * p->scale / rows, s->base * p->scale / THIN_SAMPLE_TEXELS);
    double least = 2.0 * rows / (2.0 * rows - 1);
    width = width < p->atlas->resolution ? width : p->atlas->resolution;
    return (int)ceil((width < least ? least : width) * MAP_TEXEL);
}

static double texels_of(const map_place *place) {
    return 0.5 * place->width / MAP_TEXEL * place->height;
}

static void load_corners(const abut_mesh *mesh, uint32_t triangle, vec3 corner[3]) {
    for (size_t k = 0; k < 3; k++)
        corner[k] = mesh->positions[mesh->indices[3 * (size_t)triangle + k]];
}

static void set_reach(map_place *place, const abut_mesh *mesh, uint32_t triangle) {
    vec3 corner[3], dx, dy;
    load_corners(mesh, triangle, corner);
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
            double above = k - 0.5 - last; /* the row whose samples its points use */
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
    load_corners(mesh, triangle, corner);
    return map_reach(place, corner);
}

double abuti_map_area(const abut_mesh *mesh, uint32_t triangle) {
    vec3 corner[3];
    load_corners(mesh, triangle, corner);
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

/* Allocates the lowest free rectangle that is high and wide enough. The remainder of a higher one
 * stays free. */
static bool allocate_strip(packing *p, uint32_t rows, uint32_t columns, map_rectangle *strip) {
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

/* Fills a strip with shapes, starting with the first. Returns their number. */
static size_t fill_strip(packing *p, const map_rectangle *strip, const shape *shapes,
                         size_t count) {
    const int begin = (int)strip->x * MAP_TEXEL, end = begin + (int)strip->width * MAP_TEXEL;
    /* `line` has the used length of the lower and the upper row. The apex of the first triangle is
     * above the centre of its base, and so it is for all others of the same length. If few fit, it
     * is above the begin of the base, so that two form a parallelogram that fills the strip. */
    const int first = width_of(p, &shapes[0], strip->height);
    int line[2] = {begin, begin + (FULL_STRIP_BASES * first <= end - begin ? first / 2 : 0)};
    size_t i = 0;
    for (; i < count; i++) {
        const shape *s = &shapes[i];
        const int side = line[1] < line[0], width = width_of(p, s, strip->height);
        if (rows_of(p, s) != strip->height || width > end - line[side])
            break;
        map_place *place = &p->atlas->places[s->triangle];
        *place = (map_place){.left = line[side],
                             .width = width,
                             .apex = line[!side],
                             .row = strip->y,
                             .height = strip->height,
                             .corner = s->corner,
                             .down = (word32)side};
        line[side] += width;
    }
    uint32_t taken = (uint32_t)((line[line[1] > line[0]] - begin + MAP_TEXEL - 1) / MAP_TEXEL);
    add_free(p, (map_rectangle){strip->x + taken, strip->y, strip->width - taken, strip->height});
    return i;
}

/* Places shapes, sorted by height. Returns false if they do not fit. */
static bool place_shapes(packing *p, const shape *shapes, size_t count) {
    for (size_t i = 0; i < count && !p->status;) {
        uint32_t rows = rows_of(p, &shapes[i]);
        int width = width_of(p, &shapes[i], rows);
        map_rectangle strip;
        if (!allocate_strip(p, rows, (uint32_t)((width + MAP_TEXEL - 1) / MAP_TEXEL), &strip))
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
    return !p->status && place_shapes(p, shapes, count);
}

/* Places shapes at the largest scale up to `most` at which they fit: decreases the scale until they
 * fit, then bisects. Returns false if they do not fit even with one texel each. */
static bool place_at_best_scale(packing *p, const shape *shapes, size_t count, double most) {
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

/* The smallest resolution at which `count` triangles fit, with one texel each. */
static uint32_t resolution_for(uint32_t count) {
    uint32_t n = (uint32_t)ceil(sqrt((double)count));
    while ((uint64_t)n * (n - 1) < count)
        n++;
    return n;
}

typedef struct reach_job {
    const abut_mesh *mesh;
    map_atlas *atlas;
} reach_job;

static void reach_task(void *data, size_t chunk, size_t begin, size_t end) {
    const reach_job *f = data;
    (void)chunk;
    for (size_t t = begin; t < end; t++)
        set_reach(&f->atlas->places[t], f->mesh, (uint32_t)t);
}

static void compute_reach(const abut_mesh *mesh, map_atlas *atlas, const shape *shapes,
                          size_t count) {
    reach_job f = {mesh, atlas};
    abuti_parallel_for(mesh->context, count, TRIANGLES_PER_TASK, reach_task, &f);
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
    shape *shapes;
    p.status =
        ABUTI_ALLOCATE(context, ABUTI_ARRAY(atlas->places, count), ABUTI_ARRAY(shapes, count));
    double area = 0;
    for (uint32_t t = 0; t < count && !p.status; t++) {
        shapes[t] = shape_of(mesh, t, importance ? importance[t] : 1);
        area += 0.5 * shapes[t].area;
    }
    if (!p.status)
        p.status = sort_shapes(context, shapes, count);
    /* At most all texels for the area; if the area is nearly 0, limited by the longest base. */
    double most = area > 0 ? resolution / sqrt(area) : 0;
    if (!p.status && shapes[0].base > 0 && !(most * shapes[0].base < 4.0 * resolution))
        most = 4.0 * resolution / shapes[0].base;
    if (!p.status && !place_at_best_scale(&p, shapes, count, most) && !p.status)
        p.status = abuti_fail(
            ABUT_ERROR_LIMIT,
            "%s: %u triangle%s do not fit into %u x %u texels; use a resolution of at least %u",
            function, count, count == 1 ? "" : "s", resolution, resolution, resolution_for(count));
    if (!p.status)
        compute_reach(mesh, atlas, shapes, count);
    abuti_release(context, shapes);
    if (p.status)
        abuti_map_atlas_destroy(context, atlas);
    return p.status;
}

/* ---- changed meshes ---- */

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

/* Gives shapes the places that other triangles have freed. The largest shape gets the smallest
 * place that is large enough, unless that is more than twice too large. Shapes without a place stay
 * at the front. Returns their number. */
static size_t reuse_places(packing *p, shape *shapes, size_t count, map_place *left,
                           size_t *left_count) {
    size_t kept = 0,
           at = *left_count; /* places from `at` on are too large for all following shapes */
    abuti_sort_items(shapes, count, sizeof *shapes, larger_first);
    abuti_sort_items(left, *left_count, sizeof *left, place_after);
    for (size_t i = 0; i < count; i++) {
        const double wanted = 0.5 * shapes[i].area * p->scale * p->scale;
        while (at > 0 && texels_of(&left[at - 1]) >= wanted)
            at--;
        size_t found = at;
        while (found < *left_count && !left[found].height) /* used already */
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

/* Keeps the places of triangles that stay, and lists new triangles and freed places. */
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
    for (uint32_t t = 0; t < old->triangle_count && !old->has_charts; t++)
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
                         .has_charts = old->has_charts,
                         .scale = old->scale,
                         .uneven = old->uneven};
    shape *shapes;
    unsigned char *stays;
    size_t fresh = 0, waiting = 0;
    bool fits = false;
    p.status =
        ABUTI_ALLOCATE(context, ABUTI_ARRAY(atlas->places, count), ABUTI_ARRAY(shapes, count),
                       ABUTI_ARRAY(atlas->left, old->left_count + old->triangle_count),
                       ABUTI_ZEROED(stays, old->triangle_count));
    if (!p.status)
        keep_places(old, mesh, from, &p, shapes, &fresh, stays);
    if (!p.status) {
        waiting = reuse_places(&p, shapes, fresh, atlas->left, &atlas->left_count);
        p.status = sort_shapes(context, shapes, waiting);
        fits = !p.status && place_shapes(&p, shapes, waiting);
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
