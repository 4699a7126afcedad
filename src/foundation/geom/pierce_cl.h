/* Intersection of the z axis with a triangle, in float with an error bound, for kernels.
 *
 * Corners a, b, c have an error of at most m on each axis. Their magnitude is below about 2^22 m,
 * so that one rounding is at most m / 4. The axis passes a directed edge from a to b on the side
 * given by the sign of a_x b_y - a_y b_x. The error of this determinant is at most e = 2 m (|a_x| +
 * |a_y| + |b_x| + |b_y| + 2 m): m from each factor, and less than half of that from rounding.
 * Beyond e its sign is that of the exact determinant. Two signs that certainly differ are a miss;
 * three that agree are a hit. Then, with D the sum of the three determinants, E the sum of their
 * errors and E < D / 2, the total error of the weights is at most 2 E / (D - E). The error of the
 * height of the hit is at most 4 E / D times the range of z, plus the error of z itself and of
 * rounding: nine roundings, with a division accurate to 2.5 ulp.
 */
#ifndef ABUTI_GEOM_PIERCE_CL_H
#define ABUTI_GEOM_PIERCE_CL_H

typedef struct piercing {
    float u, v, w, d, e; /* three determinants, their sum, and the sum of their errors */
    bool certain;        /* certainly a hit, and the height has an error bound */
} piercing;

/* Computes the determinants from x and y. Returns false for a certain miss. */
static inline bool pierce(float4 a, float4 b, float4 c, float m, piercing *p) {
    float u = fma(b.x, c.y, -(b.y * c.x)), v = fma(c.x, a.y, -(c.y * a.x)),
          w = fma(a.x, b.y, -(a.y * b.x));
    float size_a = fabs(a.x) + fabs(a.y) + m, size_b = fabs(b.x) + fabs(b.y) + m,
          size_c = fabs(c.x) + fabs(c.y) + m;
    float eu = 2.0f * m * (size_b + size_c), ev = 2.0f * m * (size_c + size_a),
          ew = 2.0f * m * (size_a + size_b);
    bool left = u > eu || v > ev || w > ew, right = u < -eu || v < -ev || w < -ew;
    p->u = u;
    p->v = v;
    p->w = w;
    p->d = u + v + w;
    p->e = eu + ev + ew;
    p->certain = fabs(u) > eu && fabs(v) > ev && fabs(w) > ew && fabs(p->d) > 2.0f * p->e;
    return !(left && right);
}

/* The height of a certain hit, and its error due to the weights; `range` is the range of z. */
static inline float pierce_height(const piercing *p, float az, float bz, float cz, float range,
                                  float *error) {
    float per_d = 1.0f / p->d;
    *error = 4.0f * p->e * fabs(per_d) * range;
    return fma(p->u, az, fma(p->v, bz, p->w * cz)) * per_d;
}

#endif
