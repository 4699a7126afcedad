/* Ambient occlusion of each visible point, from the depth in the centres of the pixels.
 *
 * The estimator of McGuire, Osman, Bukowski & Hennessy, "The Alchemy screen-space ambient
 * obscurance algorithm" (HPG 2011), with the falloff and the spiral of McGuire, Mara & Luebke,
 * "Scalable ambient obscurance" (HPG 2012). The spiral is rotated by one of 16 angles in each block
 * of 4 x 4 pixels, and a blur that does not cross depth edges removes the noise.
 */
#include "picture/picture.h"

#include <string.h>

#define RADIUS 0.34f /* in scene units: the scene is about 2 wide */
#define STRENGTH 0.62f
#define MAX_OCCLUSION 0.72f /* no corner is black */
#define BIAS 0.012f
enum { TAPS = 16, SPIRAL_TURNS = 5, ROWS_PER_TASK = 8, BLUR = 3 };

typedef struct occlusion_task {
    picture_scene *scene;
    float (*spiral)[2]; /* 16 rotations x TAPS */
    uint8_t *raw;
    bool along_y; /* of a blur */
} occlusion_task;

static f3 point_at_pixel(const picture_scene *s, int x, int y) {
    float q = s->depth[(size_t)y * s->width + (size_t)x];
    return unproject(&s->back, (float)x + 0.5f, (float)y + 0.5f, q);
}

static bool is_empty(const picture_scene *s, int x, int y) {
    return x < 0 || y < 0 || x >= (int)s->width || y >= (int)s->height ||
           s->depth[(size_t)y * s->width + (size_t)x] == EMPTY_DEPTH;
}

/* The difference to the next pixel along one axis, on the side where depth changes less. */
static f3 difference_along(const picture_scene *s, int x, int y, int dx, int dy, f3 here) {
    bool before = !is_empty(s, x - dx, y - dy), after = !is_empty(s, x + dx, y + dy);
    f3 back = before ? f3_sub(here, point_at_pixel(s, x - dx, y - dy)) : f3_make(0, 0, 0);
    f3 ahead = after ? f3_sub(point_at_pixel(s, x + dx, y + dy), here) : back;
    return before && fabsf(back.z) < fabsf(ahead.z) ? back : ahead;
}

static float compute_occlusion(const occlusion_task *j, int x, int y) {
    const picture_scene *s = j->scene;
    f3 here = point_at_pixel(s, x, y);
    f3 n = f3_normalise(
        f3_cross(difference_along(s, x, y, 0, 1, here), difference_along(s, x, y, 1, 0, here)));
    if (n.z < 0)
        n = f3_scale(n, -1);
    float shrink = s->back.distance > 0 ? 1 - here.z / s->back.distance : 1;
    float reach = float_min(RADIUS / (s->back.pixel * shrink), 0.25f * (float)s->height);
    float sum = 0;
    const float(*spiral)[2] = j->spiral + (((x & 3) * 7 + (y & 3) * 4) & 15) * TAPS;
    for (int i = 0; i < TAPS; i++) {
        int tx = x + (int)lrintf(reach * spiral[i][0]), ty = y + (int)lrintf(reach * spiral[i][1]);
        if (is_empty(s, tx, ty))
            continue;
        f3 d = f3_sub(point_at_pixel(s, tx, ty), here);
        float dd = f3_dot(d, d), dn = f3_dot(d, n) - BIAS;
        float near = float_max(RADIUS * RADIUS - dd, 0);
        sum += near * near * near * float_max(dn / (dd + 0.0004f), 0);
    }
    float radius_6 = RADIUS * RADIUS * RADIUS * RADIUS * RADIUS * RADIUS;
    float e = STRENGTH * RADIUS * sum * 5 / (radius_6 * TAPS);
    return MAX_OCCLUSION * e / (e + MAX_OCCLUSION);
}

static void compute_occlusion_rows(void *data, size_t chunk, size_t begin, size_t end) {
    const occlusion_task *j = data;
    (void)chunk;
    for (int y = (int)begin; y < (int)end; y++)
        for (int x = 0; x < (int)j->scene->width; x++) {
            float e = is_empty(j->scene, x, y) ? 0 : compute_occlusion(j, x, y);
            j->scene->enclosure[(size_t)y * j->scene->width + (size_t)x] =
                (uint8_t)(255 * e + 0.5f);
        }
}

/* ---- blur ---- */

static void blur_pixel(const picture_scene *s, const uint8_t *from, uint8_t *to, int x, int y,
                       int dx, int dy) {
    size_t at = (size_t)y * s->width + (size_t)x;
    float here = s->depth[at], sum = 0, weight = 0;
    if (here == EMPTY_DEPTH) {
        to[at] = 0;
        return;
    }
    /* the slope of a surface is not a depth edge: compare with the extrapolated depth */
    float slope = 0;
    if (!is_empty(s, x - dx, y - dy) && !is_empty(s, x + dx, y + dy)) {
        float before = here - s->depth[(size_t)(y - dy) * s->width + (size_t)(x - dx)];
        float after = s->depth[(size_t)(y + dy) * s->width + (size_t)(x + dx)] - here;
        slope = fabsf(before) < fabsf(after) ? before : after;
    }
    for (int i = -BLUR; i <= BLUR; i++) {
        int nx = x + i * dx, ny = y + i * dy;
        if (is_empty(s, nx, ny))
            continue;
        size_t neighbour = (size_t)ny * s->width + (size_t)nx;
        float off = fabsf(s->depth[neighbour] - here - slope * (float)i);
        float w = float_max(0, 1 - off * 40);
        sum += w * from[neighbour];
        weight += w;
    }
    to[at] = (uint8_t)(sum / weight + 0.5f);
}

/* Along x into `raw`, or along y back. */
static void blur_rows(void *data, size_t chunk, size_t begin, size_t end) {
    const occlusion_task *j = data;
    uint8_t *from = j->along_y ? j->raw : j->scene->enclosure,
            *to = j->along_y ? j->scene->enclosure : j->raw;
    (void)chunk;
    for (int y = (int)begin; y < (int)end; y++)
        for (int x = 0; x < (int)j->scene->width; x++)
            blur_pixel(j->scene, from, to, x, y, !j->along_y, j->along_y);
}

abut_status abuti_occlusion(picture_scene *s) {
    size_t pixels = (size_t)s->width * s->height;
    float spiral[16 * TAPS][2];
    for (int turn = 0; turn < 16; turn++)
        for (int i = 0; i < TAPS; i++) {
            float r = ((float)i + 0.5f) / TAPS;
            float angle = 6.2831853f * (r * SPIRAL_TURNS + (float)turn / 16);
            spiral[turn * TAPS + i][0] = r * cosf(angle);
            spiral[turn * TAPS + i][1] = r * sinf(angle);
        }
    occlusion_task j = {.scene = s, .spiral = spiral, .raw = abuti_allocate(s->context, pixels, 1)};
    s->enclosure = abuti_allocate(s->context, pixels, 1);
    abut_status status = j.raw && s->enclosure ? ABUT_OK : ABUT_ERROR_MEMORY;
    if (!status) {
        abuti_parallel_for(s->context, s->height, ROWS_PER_TASK, compute_occlusion_rows, &j);
        abuti_parallel_for(s->context, s->height, ROWS_PER_TASK, blur_rows, &j);
        j.along_y = true;
        abuti_parallel_for(s->context, s->height, ROWS_PER_TASK, blur_rows, &j);
    }
    abuti_release(s->context, j.raw);
    return status;
}
