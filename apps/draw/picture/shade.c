/* Light and colour.
 *
 * The lights are fixed to the camera, so that all pictures have the same lighting: a key light from
 * the upper left, a weak fill light from the right, and a sky above a darker ground. Corners and
 * creases are darkened by ambient occlusion (occlusion.c). Surfaces at grazing angles are darkened
 * slightly, which separates outlines from the light background. All computations are in linear
 * light.
 */
#include "picture/picture.h"

const f3 abuti_ink = {0.012f, 0.016f, 0.026f};

static const f3 key_direction = {-0.46f, 0.62f, 0.64f};
static const f3 fill_direction = {0.80f, 0.10f, 0.59f};

/* warm light, cool shade; the mean of each is 1 */
static const f3 direct_tint = {1.03f, 1.0f, 0.97f}, ambient_tint = {0.94f, 1.0f, 1.06f};

#define KEY 0.78f
#define FILL 0.14f
#define AMBIENT 0.46f
#define WRAP 0.32f      /* extension of the key light beyond the terminator */
#define SHINE 0.06f     /* strength of the highlight */
#define GRAZING 0.30f   /* darkening at right angles to the view */
#define EDGE_HALF 0.30f /* half the width of an edge line, pixels */
#define EDGE_INK 0.62f
#define CREASE_HALF 0.35f
#define CREASE_INK 0.55f
#define SHADOW 0.42f
#define BACK_GLOW 0.4f

f3 abuti_key_light(void) {
    return f3_normalise(key_direction);
}

/* ---- setup ---- */

/* Triangle edges if requested; creases and boundary edges always. Lines fade out where triangles
 * are so small that lines would cover everything. */
static void compute_line_setup(shade_setup *s, bool edges, const uint8_t creases[3], f3 a, f3 b,
                               f3 c, float area) {
    s->lined = edges || creases[0] || creases[1] || creases[2];
    if (!s->lined)
        return;
    f3 sides[3] = {f3_sub(c, b), f3_sub(a, c), f3_sub(b, a)};
    for (int k = 0; k < 3; k++) {
        float length = sqrtf(sides[k].x * sides[k].x + sides[k].y * sides[k].y);
        s->height[k] = length > 0 ? fabsf(area) / length : 0;
        s->ink[k] = edges ? EDGE_INK * smooth_step(1.5f, 9.0f, s->height[k]) : 0;
        s->half[k] = EDGE_HALF;
        if (creases[k]) {
            s->half[k] = edges ? 2 * CREASE_HALF : CREASE_HALF;
            s->ink[k] = float_max(s->ink[k], (edges ? 1.3f : 1) * CREASE_INK *
                                                 smooth_step(2.0f, 8.0f, s->height[k]));
        }
    }
}

void abuti_shade_setup(const picture_scene *scene, uint32_t triangle, shade_setup *s) {
    const scene_item *item = &scene->items[scene->triangle_item[triangle]];
    const uint32_t *corner = scene->corners + 3 * (size_t)triangle;
    f3 a = scene->screen[corner[0]], b = scene->screen[corner[1]], c = scene->screen[corner[2]];
    f3 u = f3_sub(b, a), v = f3_sub(c, a);
    float area = u.x * v.y - u.y * v.x;
    float inverse = fabsf(area) > 1e-12f ? 1 / area : 0;
    s->scene = scene;
    s->origin = a;
    s->bx[0] = v.y * inverse;
    s->by[0] = -v.x * inverse;
    s->bx[1] = -u.y * inverse;
    s->by[1] = u.x * inverse;
    s->q[0] = a.z;
    s->q[1] = b.z;
    s->q[2] = c.z;
    for (int k = 0; k < 3; k++) /* proportional to 1 / w */
        s->perspective[k] = scene->back.distance > 0 ? s->q[k] + scene->back.distance : 1;
    s->back = area > 0; /* y points down: counter-clockwise front faces have a negative area */
    s->flat = !item->corner_normals;
    size_t local = triangle - item->first_triangle;
    for (size_t k = 0; k < 3; k++)
        s->normal[k] =
            s->flat ? scene->face_normals[triangle] : item->corner_normals[3 * local + k];
    paint p = item->triangle_paint ? item->triangle_paint[local] : item->paint;
    s->colour = p.colour;
    s->alpha = p.alpha;
    /* back faces are always visible through a transparent front, so they keep their colour */
    if (s->back && p.alpha >= 1 && !item->two_sided)
        s->colour = item->triangle_paint ? abuti_back_colour(p.colour) : item->back;
    compute_line_setup(s, item->edges, scene->creases + 3 * (size_t)triangle, a, b, c, area);
}

/* Barycentric coordinates on the screen. */
static void barycentric_at(const shade_setup *s, float x, float y, float w[3]) {
    float dx = x - s->origin.x, dy = y - s->origin.y;
    w[1] = float_clamp(s->bx[0] * dx + s->by[0] * dy, 0, 1);
    w[2] = float_clamp(s->bx[1] * dx + s->by[1] * dy, 0, 1);
    w[0] = float_clamp(1 - w[1] - w[2], 0, 1);
}

float abuti_shade_edges(const shade_setup *s, float x, float y) {
    float w[3], ink = 0;
    barycentric_at(s, x, y, w);
    for (int k = 0; k < 3; k++) {
        float cover = float_clamp(s->half[k] + 0.5f - w[k] * s->height[k], 0, 1);
        ink = float_max(ink, cover * s->ink[k]);
    }
    return ink;
}

/* ---- light ---- */

/* Occlusion is known in the centres of pixels: uses the neighbour that is nearest in depth. */
static float enclosure_at(const picture_scene *scene, float x, float y, float q) {
    int px = (int)x, py = (int)y, width = (int)scene->width, height = (int)scene->height;
    float best = FLT_MAX;
    uint8_t found = 0;
    for (int dy = -1; dy <= 1; dy++)
        for (int dx = -1; dx <= 1; dx++) {
            int nx = px + dx, ny = py + dy;
            if (nx < 0 || ny < 0 || nx >= width || ny >= height)
                continue;
            size_t at = (size_t)ny * scene->width + (size_t)nx;
            float difference = fabsf(scene->depth[at] - q);
            if (dx || dy)
                difference += 0.002f; /* prefer the pixel itself */
            if (difference < best) {
                best = difference;
                found = scene->enclosure[at];
            }
        }
    return (float)found * (1 / 255.0f);
}

static f3 illuminate(const picture_scene *scene, f3 colour, f3 n, f3 v, float enclosure) {
    f3 key = f3_normalise(key_direction), fill = f3_normalise(fill_direction);
    f3 up = f3_of(m3_apply(&scene->camera.axes, scene->camera.world_up));
    float facing = f3_dot(n, v);
    float from_key = float_clamp((f3_dot(n, key) + WRAP) / (1 + WRAP), 0, 1);
    from_key *= 0.4f + 0.6f * from_key; /* smooth start: a kink would be visible as a line */
    float from_fill = float_max(f3_dot(n, fill), 0);
    float sky = 0.61f + 0.39f * f3_dot(n, up);
    float open = 1 - enclosure;
    float direct = KEY * from_key * (0.4f + 0.6f * open) + FILL * from_fill * open;
    float ambient = AMBIENT * sky * open;
    f3 lit = f3_add(f3_scale(direct_tint, direct), f3_scale(ambient_tint, ambient));
    float grazing = 1 - float_clamp(facing, 0, 1);
    lit = f3_scale(lit, 1 - GRAZING * grazing * grazing * grazing);
    float shine = float_max(f3_dot(n, f3_normalise(f3_add(key, v))), 0);
    shine *= shine;
    shine *= shine;
    shine *= shine;
    shine *= shine;
    shine *= shine; /* to the power of 32 */
    shine *= SHINE * open;
    return f3_make(colour.x * lit.x + shine, colour.y * lit.y + shine, colour.z * lit.z + shine);
}

static f3 shade_point(const shade_setup *s, float x, float y) {
    float w[3], sum = 0, q = 0;
    barycentric_at(s, x, y, w);
    for (int k = 0; k < 3; k++) {
        q += w[k] * s->q[k];
        sum += w[k] * s->perspective[k];
    }
    f3 n = s->normal[0];
    if (!s->flat && sum > 0) {
        n = f3_make(0, 0, 0);
        for (int k = 0; k < 3; k++)
            n = f3_add(n, f3_scale(s->normal[k], w[k] * s->perspective[k] / sum));
        n = f3_normalise(n);
    }
    if (s->back)
        n = f3_scale(n, -1);
    f3 v = view_vector(&s->scene->back, unproject(&s->scene->back, x, y, q));
    float facing = f3_dot(n, v);
    if (facing < 0.02f) /* interpolated normals may face away although the face does not */
        n = f3_normalise(f3_add(n, f3_scale(v, 0.02f - facing)));
    float enclosure = s->alpha < 1 ? 0 : enclosure_at(s->scene, x, y, q);
    if (s->back) { /* mostly dark inner walls, whose colour must still be visible */
        f3 lit = illuminate(s->scene, s->colour, n, v, 0.5f * enclosure);
        return f3_add(f3_scale(lit, 0.6f), f3_scale(s->colour, BACK_GLOW * (1 - enclosure)));
    }
    return illuminate(s->scene, s->colour, n, v, enclosure);
}

f3 abuti_shade_middle(const shade_setup *setup, unsigned mask, float x, float y) {
    float mean_x = 0, mean_y = 0, count = 0;
    for (int i = 0; i < SAMPLES; i++)
        if (mask >> i & 1) {
            mean_x += SAMPLE_X(i);
            mean_y += SAMPLE_Y(i);
            count++;
        }
    return shade_point(setup, x + mean_x / count, y + mean_y / count);
}

/* ---- background ---- */

f3 abuti_background(const picture_scene *scene, float x, float y) {
    abut_colour given = scene->options->background;
    f3 colour;
    if (given.a > 0) {
        colour = abuti_paint_of(given).colour;
    } else {
        float t = float_clamp(y / (float)scene->height, 0, 1);
        static const f3 top = {0.955f, 0.965f, 0.98f}, bottom = {0.73f, 0.765f, 0.81f};
        colour = f3_mix(top, bottom, t * t);
    }
    if (scene->shadow) {
        float q = abuti_floor_depth(scene, x, y);
        if (q != EMPTY_DEPTH) {
            float dark = abuti_shadow_at(scene->shadow, unproject(&scene->back, x, y, q));
            colour = f3_scale(colour, (1 - SHADOW * dark));
            colour = f3_scale(colour, 1 - 0.5f * enclosure_at(scene, x, y, q));
        }
    }
    return colour;
}
