/* Which samples a triangle covers, and how near it is there.
 *
 * Edge functions in floats. A shared edge is always evaluated from the same end (the smaller x,
 * then y), and the other triangle gets the exact negative; a sample on the edge goes to one of the
 * two. So neighbours leave no holes and do not overlap, also where they share no vertex numbers.
 */
#include "picture/picture.h"

void abuti_triangle_box(const picture_scene *scene, uint32_t triangle, float box[4]) {
    const uint32_t *corner = scene->corners + 3 * (size_t)triangle;
    f3 a = scene->screen[corner[0]], b = scene->screen[corner[1]], c = scene->screen[corner[2]];
    box[0] = float_min(a.x, float_min(b.x, c.x));
    box[1] = float_min(a.y, float_min(b.y, c.y));
    box[2] = float_max(a.x, float_max(b.x, c.x));
    box[3] = float_max(a.y, float_max(b.y, c.y));
}

/* Edge from p to q, with the inside on its positive side. */
static void edge_setup(f3 p, f3 q, raster_setup *setup, int k) {
    bool swap = q.x < p.x || (q.x == p.x && q.y < p.y);
    f3 from = swap ? q : p, to = swap ? p : q;
    double a = (double)from.y - (double)to.y, b = (double)to.x - (double)from.x;
    double c = -(a * (double)from.x + b * (double)from.y);
    float sign = swap ? -1.0f : 1.0f;
    setup->a[k] = sign * (float)a;
    setup->b[k] = sign * (float)b;
    setup->c[k] = sign * (float)c;
    setup->threshold[k] = swap ? FLT_MIN : 0;
}

static void depth_setup(f3 a, f3 b, f3 c, double area, raster_setup *setup) {
    double ux = (double)b.x - (double)a.x, uy = (double)b.y - (double)a.y;
    double vx = (double)c.x - (double)a.x, vy = (double)c.y - (double)a.y;
    double uq = (double)b.z - (double)a.z, vq = (double)c.z - (double)a.z;
    double qx = (uq * vy - vq * uy) / area, qy = (vq * ux - uq * vx) / area;
    double q = (double)a.z - qx * (double)a.x - qy * (double)a.y;
    if (!(fabs(qx) < 1e6 && fabs(qy) < 1e6)) { /* a sliver: any of its depths will do */
        qx = qy = 0;
        q = (double)a.z;
    }
    setup->q = (float)q;
    setup->qx = (float)qx;
    setup->qy = (float)qy;
    setup->q_lo = float_min(a.z, float_min(b.z, c.z));
    setup->q_hi = float_max(a.z, float_max(b.z, c.z));
}

bool abuti_raster_setup(const picture_scene *scene, uint32_t triangle, int tile_x, int tile_y,
                        raster_setup *setup) {
    const uint32_t *corner = scene->corners + 3 * (size_t)triangle;
    f3 origin = f3_make((float)tile_x, (float)tile_y, 0);
    f3 a = f3_sub(scene->screen[corner[0]], origin), b = f3_sub(scene->screen[corner[1]], origin),
       c = f3_sub(scene->screen[corner[2]], origin);
    double area = ((double)b.x - (double)a.x) * ((double)c.y - (double)a.y) -
                  ((double)b.y - (double)a.y) * ((double)c.x - (double)a.x);
    if (area == 0)
        return false;
    if (area < 0) {
        f3 swap = b;
        b = c;
        c = swap;
        area = -area;
    }
    float x0 = float_min(a.x, float_min(b.x, c.x)), x1 = float_max(a.x, float_max(b.x, c.x));
    float y0 = float_min(a.y, float_min(b.y, c.y)), y1 = float_max(a.y, float_max(b.y, c.y));
    if (x1 <= 0 || y1 <= 0 || x0 >= TILE || y0 >= TILE)
        return false;
    setup->x0 = x0 > 0 ? (int)x0 : 0;
    setup->y0 = y0 > 0 ? (int)y0 : 0;
    setup->x1 = x1 < TILE ? (int)x1 : TILE - 1;
    setup->y1 = y1 < TILE ? (int)y1 : TILE - 1;
    edge_setup(a, b, setup, 0);
    edge_setup(b, c, setup, 1);
    edge_setup(c, a, setup, 2);
    for (int k = 0; k < 3; k++) { /* long thin triangles have boxes with little in them */
        float most = TILE * (float_max(setup->a[k], 0) + float_max(setup->b[k], 0)) + setup->c[k];
        if (most < 0)
            return false;
    }
    depth_setup(a, b, c, area, setup);
    return true;
}

/* Steps of the edge functions and of nearness from a pixel's corner to its samples. */
typedef struct sample_steps {
    float edge[3][SAMPLES], q[SAMPLES];
    float most[3]; /* the largest step of each edge: beyond it a pixel is outside */
} sample_steps;

static void find_steps(const raster_setup *setup, sample_steps *steps) {
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < SAMPLES; i++)
            steps->edge[k][i] = setup->a[k] * SAMPLE_X(i) + setup->b[k] * SAMPLE_Y(i);
        steps->most[k] = float_max(setup->a[k], 0) + float_max(setup->b[k], 0);
    }
    for (int i = 0; i < SAMPLES; i++)
        steps->q[i] = setup->qx * SAMPLE_X(i) + setup->qy * SAMPLE_Y(i);
}

static inline float at_pixel(const raster_setup *setup, int k, int x, int y) {
    return setup->a[k] * (float)x + (setup->b[k] * (float)y + setup->c[k]);
}

void abuti_raster_visible(const raster_setup *setup, uint32_t triangle, visibility *out) {
    sample_steps steps;
    find_steps(setup, &steps);
    float t0 = setup->threshold[0], t1 = setup->threshold[1], t2 = setup->threshold[2];
    float q_lo = setup->q_lo, q_hi = setup->q_hi;
    for (int y = setup->y0; y <= setup->y1; y++)
        for (int x = setup->x0; x <= setup->x1; x++) {
            float e0 = at_pixel(setup, 0, x, y), e1 = at_pixel(setup, 1, x, y),
                  e2 = at_pixel(setup, 2, x, y);
            if (e0 + steps.most[0] < 0 || e1 + steps.most[1] < 0 || e2 + steps.most[2] < 0)
                continue;
            float q = setup->q + setup->qx * (float)x + setup->qy * (float)y;
            float *depth = out->depth[y * TILE + x];
            uint32_t *seen = out->triangle[y * TILE + x];
            for (int i = 0; i < SAMPLES; i++) {
                float here = q + steps.q[i];
                here = here < q_lo ? q_lo : here;
                here = here > q_hi ? q_hi : here;
                bool covers = (e0 + steps.edge[0][i] >= t0) & (e1 + steps.edge[1][i] >= t1) &
                              (e2 + steps.edge[2][i] >= t2) & (here > depth[i]);
                depth[i] = covers ? here : depth[i];
                seen[i] = covers ? triangle : seen[i];
            }
        }
}

void abuti_raster_middle(const raster_setup *setup, float depth[TILE_PIXELS]) {
    for (int y = setup->y0; y <= setup->y1; y++)
        for (int x = setup->x0; x <= setup->x1; x++) {
            bool covers = true;
            for (int k = 0; k < 3; k++)
                covers &= at_pixel(setup, k, x, y) + 0.5f * (setup->a[k] + setup->b[k]) >=
                          setup->threshold[k];
            float here = raster_depth(setup, (float)x + 0.5f, (float)y + 0.5f);
            if (covers && here > depth[y * TILE + x])
                depth[y * TILE + x] = here;
        }
}

unsigned abuti_raster_mask(const raster_setup *setup, int x, int y, const float depth[SAMPLES]) {
    unsigned mask = 0;
    for (int i = 0; i < SAMPLES; i++) {
        float sx = SAMPLE_X(i), sy = SAMPLE_Y(i);
        bool covers = raster_depth(setup, (float)x + sx, (float)y + sy) > depth[i];
        for (int k = 0; k < 3; k++)
            covers &= at_pixel(setup, k, x, y) + (setup->a[k] * sx + setup->b[k] * sy) >=
                      setup->threshold[k];
        mask |= (unsigned)covers << i;
    }
    return mask;
}

float abuti_raster_slope(const picture_scene *scene, uint32_t triangle) {
    const uint32_t *corner = scene->corners + 3 * (size_t)triangle;
    f3 a = scene->screen[corner[0]], b = scene->screen[corner[1]], c = scene->screen[corner[2]];
    double area = ((double)b.x - (double)a.x) * ((double)c.y - (double)a.y) -
                  ((double)b.y - (double)a.y) * ((double)c.x - (double)a.x);
    if (area == 0)
        return 0;
    raster_setup setup;
    depth_setup(a, b, c, area, &setup);
    return fabsf(setup.qx) + fabsf(setup.qy);
}
