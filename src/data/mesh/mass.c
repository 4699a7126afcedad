/* Area, volume, centroid and inertia.
 *
 * By the divergence theorem a solid is the signed sum of the tetrahedra (0, a, b, c) over its
 * triangles. With s = a + b + c, a tetrahedron of volume d = a . (b x c) / 6 has the integrals
 *      1: d      x: d s / 4      x x^T: d (s s^T + a a^T + b b^T + c c^T) / 20
 * (Tonon 2004, "Explicit exact formulas for the 3-D tetrahedron inertia tensor", equation 7 in
 * matrix form; the same as Mirtich 1996 after collecting terms), and a triangle of area d
 *      1: d      x: d s / 3      x x^T: d (s s^T + a a^T + b b^T + c c^T) / 12.
 * So one structure of ten sums serves both.
 *
 * The mesh is moved to the centre of its bounding box and scaled to unit size by a power of two. So
 * meshes far from the origin, tiny and huge ones lose no precision, and results overflow only if
 * the true value does. Sums are computed in chunks of fixed size, which are added in order with
 * compensation (Neumaier 1974): the same bits on any number of threads, and an error that hardly
 * grows with the number of triangles.
 */
#include "mesh/mesh.h"

#include <math.h>

#define GRAIN 1024
enum { ZERO, X, Y, Z, XX, YY, ZZ, XY, YZ, ZX, MOMENT_COUNT };
enum { SURFACE = 0, SOLID = MOMENT_COUNT, MAGNITUDE = 2 * MOMENT_COUNT, SUM_COUNT };

abuti_unit_frame abuti_unit_frame_of(const abut_mesh *mesh) {
    abuti_unit_frame frame = {.centre = v3_sub(box_centre(mesh->bounds), mesh->origin),
                              .factor = 1};
    double extent = 0.5 * v3_max_abs(v3_sub(mesh->bounds.hi, mesh->bounds.lo));
    if (extent > 0) {
        frexp(extent, &frame.exponent);
        if (frame.exponent < -1000)
            frame.exponent = -1000; /* the factor must be finite */
        frame.factor = ldexp(1, -frame.exponent);
    }
    return frame;
}

/* ---- sums ---- */

typedef struct mass_work {
    const abut_mesh *mesh;
    abuti_unit_frame frame;
    double (*chunks)[SUM_COUNT];
} mass_work;

/* The common terms of the moments of a triangle and of its tetrahedron: s, and the terms of second
 * degree. */
typedef struct moment_terms {
    vec3 s;
    double xx, yy, zz, xy, yz, zx;
} moment_terms;

static inline moment_terms moment_terms_of(vec3 a, vec3 b, vec3 c) {
    vec3 s = v3_add(v3_add(a, b), c);
    moment_terms t = {s,
                      s.x * s.x + a.x * a.x + b.x * b.x + c.x * c.x,
                      s.y * s.y + a.y * a.y + b.y * b.y + c.y * c.y,
                      s.z * s.z + a.z * a.z + b.z * b.z + c.z * c.z,
                      s.x * s.y + a.x * a.y + b.x * b.y + c.x * c.y,
                      s.y * s.z + a.y * a.z + b.y * b.z + c.y * c.z,
                      s.z * s.x + a.z * a.x + b.z * b.x + c.z * c.x};
    return t;
}

/* Adds the moments of one triangle or tetrahedron of size d. */
static inline void add_moments(double *sum, double d, const moment_terms *t, double first,
                               double second) {
    double p = d / first, q = d / second;
    sum[ZERO] += d;
    sum[X] += p * t->s.x;
    sum[Y] += p * t->s.y;
    sum[Z] += p * t->s.z;
    sum[XX] += q * t->xx;
    sum[YY] += q * t->yy;
    sum[ZZ] += q * t->zz;
    sum[XY] += q * t->xy;
    sum[YZ] += q * t->yz;
    sum[ZX] += q * t->zx;
}

/* Sums are kept on the stack: rows of chunks share cache lines, which two threads would exchange
 * for every triangle. */
static void sum_chunk(void *data, size_t chunk, size_t begin, size_t end) {
    const mass_work *w = data;
    double sum[SUM_COUNT] = {0};
    for (size_t t = begin; t < end; t++) {
        const uint32_t *corner = w->mesh->indices + 3 * t;
        vec3 a = abuti_unit_position(&w->frame, w->mesh->positions[corner[0]]);
        vec3 b = abuti_unit_position(&w->frame, w->mesh->positions[corner[1]]);
        vec3 c = abuti_unit_position(&w->frame, w->mesh->positions[corner[2]]);
        vec3 normal = v3_cross(v3_sub(b, a), v3_sub(c, a));
        double volume = v3_dot(a, normal) / 6;
        moment_terms shared = moment_terms_of(a, b, c);
        add_moments(sum + SURFACE, 0.5 * v3_length(normal), &shared, 3, 12);
        add_moments(sum + SOLID, volume, &shared, 4, 20);
        sum[MAGNITUDE] += fabs(volume);
    }
    memcpy(w->chunks[chunk], sum, sizeof sum);
}

static void add_chunks(const mass_work *w, size_t chunk_count, double *sum) {
    for (int i = 0; i < SUM_COUNT; i++) {
        double total = 0, lost = 0;
        for (size_t k = 0; k < chunk_count; k++) {
            double term = w->chunks[k][i], next = total + term;
            lost += fabs(total) >= fabs(term) ? (total - next) + term : (term - next) + total;
            total = next;
        }
        sum[i] = total + lost;
    }
}

/* ---- results ---- */

/* The tensor about the centroid, in unit scale, from moments about zero. */
static void shift_inertia(const double *m, vec3 centroid, double *inertia) {
    double xx = m[XX] - m[X] * centroid.x, yy = m[YY] - m[Y] * centroid.y;
    double zz = m[ZZ] - m[Z] * centroid.z;
    inertia[0] = yy + zz;
    inertia[1] = zz + xx;
    inertia[2] = xx + yy;
    inertia[3] = -(m[XY] - m[X] * centroid.y);
    inertia[4] = -(m[YZ] - m[Y] * centroid.z);
    inertia[5] = -(m[ZX] - m[Z] * centroid.x);
}

static void convert_mass(const mass_work *w, const double *sum, bool want_solid, abuti_mass *mass) {
    const abuti_unit_frame *frame = &w->frame;
    int e = frame->exponent;
    mass->area = ldexp(sum[SURFACE + ZERO], 2 * e);
    mass->volume = ldexp(sum[SOLID + ZERO], 3 * e);
    /* Unit coordinates have errors of 1e-16, so a tetrahedron has an error of 1e-16 of its
     * triangle's area. A sum of little more than that counts as zero. */
    mass->has_volume = fabs(sum[SOLID + ZERO]) > 1e-12 * sum[MAGNITUDE] &&
                       fabs(sum[SOLID + ZERO]) > 1e-14 * sum[SURFACE + ZERO];
    mass->solid = want_solid && mass->has_volume;
    const double *m = sum + (mass->solid ? SOLID : SURFACE);
    vec3 centroid = v3(0, 0, 0);
    if (m[ZERO] != 0)
        centroid = v3(m[X] / m[ZERO], m[Y] / m[ZERO], m[Z] / m[ZERO]);
    shift_inertia(m, centroid, mass->inertia);
    double sign = m[ZERO] < 0 ? -1 : 1; /* a solid oriented inwards has the same mass */
    for (int i = 0; i < 6; i++)
        mass->inertia[i] = ldexp(sign * mass->inertia[i], (mass->solid ? 5 : 4) * e);
    vec3 relative =
        v3_add(frame->centre, v3(ldexp(centroid.x, e), ldexp(centroid.y, e), ldexp(centroid.z, e)));
    mass->centroid = v3_add(w->mesh->origin, relative);
}

abut_status abuti_mesh_mass(const abut_mesh *mesh, bool want_solid, abuti_mass *mass) {
    size_t chunk_count = abuti_chunk_count(mesh->triangle_count, GRAIN);
    mass_work w = {.mesh = mesh, .frame = abuti_unit_frame_of(mesh)};
    w.chunks = abuti_allocate(mesh->context, chunk_count, sizeof *w.chunks);
    if (!w.chunks)
        return ABUT_ERROR_MEMORY;
    abut_status status =
        abuti_parallel_try(mesh->context, "health", mesh->triangle_count, GRAIN, sum_chunk, &w);
    double sum[SUM_COUNT];
    if (!status)
        add_chunks(&w, chunk_count, sum);
    abuti_release(mesh->context, w.chunks);
    if (!status)
        convert_mass(&w, sum, want_solid, mass);
    return status;
}
