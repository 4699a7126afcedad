/* Where a line passes a triangle, in floats with a known error, for kernels: the line is the z
 * axis.
 *
 * Corners a, b, c are wrong by at most m on each axis, and below 2^22 m or so, of which a rounding
 * is m / 4. The line passes a directed edge from a to b on the side of the sign of a_x b_y
 * - a_y b_x, which is then wrong by at most e = 2 m (|a_x| + |a_y| + |b_x| + |b_y| + 2 m): m from
 * each factor, and less than half of that from rounding. Beyond e its sign is that of the exact
 * determinant. Two signs that differ for certain are a miss; three that agree are a hit. Then with
 * D the sum of the three determinants and E of their errors, E < D / 2, weights are wrong by 2 E /
 * (D - E) at most in all, and the height of the hit by 4 E / D times the range of z, and by what z
 * itself and rounding are wrong by: nine roundings, with a division good to 2.5 ulp.
 */
#ifndef ABUTI_GEOM_PIERCE_CL_H
#define ABUTI_GEOM_PIERCE_CL_H

typedef struct piercing {
    float u, v, w, d, e; /* three determinants, their sum, and the sum of their errors */
    bool certain;        /* a hit beyond doubt; and the height is known */
} piercing;

/* False for a certain miss. Only x and y are looked at. */
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

/* The height of a certain hit, and by how much weights make it wrong; `range` is that of z. */
static inline float pierce_height(const piercing *p, float az, float bz, float cz, float range,
                                  float *wrong) {
    float per_d = 1.0f / p->d;
    *wrong = 4.0f * p->e * fabs(per_d) * range;
    return fma(p->u, az, fma(p->v, bz, p->w * cz)) * per_d;
}

#endif
