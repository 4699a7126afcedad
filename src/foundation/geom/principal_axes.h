/* Principal axes of a symmetric 3 x 3 matrix, such as a covariance, by Jacobi rotations (Jacobi
 * 1846; Golub and Van Loan, Matrix Computations, section 8.5). Only square roots and quotients, so
 * that all platforms compute the same bits. */
#ifndef ABUTI_GEOM_PRINCIPAL_AXES_H
#define ABUTI_GEOM_PRINCIPAL_AXES_H

#include "base/math_shared.h"

#include <math.h>

/* Makes a diagonal, so that a[k][k] belongs to axes[k], a unit vector. */
static inline void principal_axes(double a[3][3], vec3 axes[3]) {
    double v[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    for (int sweep = 0; sweep < 12; sweep++)
        for (int p = 0; p < 2; p++)
            for (int q = p + 1; q < 3; q++) {
                if (a[p][q] == 0)
                    continue;
                double h = (a[q][q] - a[p][p]) / (2 * a[p][q]);
                double t = (h < 0 ? -1 : 1) / (fabs(h) + sqrt(h * h + 1));
                double c = 1 / sqrt(t * t + 1), s = t * c;
                for (int k = 0; k < 3; k++) {
                    double x = a[k][p], y = a[k][q];
                    a[k][p] = c * x - s * y;
                    a[k][q] = s * x + c * y;
                }
                for (int k = 0; k < 3; k++) {
                    double x = a[p][k], y = a[q][k];
                    a[p][k] = c * x - s * y;
                    a[q][k] = s * x + c * y;
                    x = v[k][p], y = v[k][q];
                    v[k][p] = c * x - s * y;
                    v[k][q] = s * x + c * y;
                }
            }
    for (int k = 0; k < 3; k++)
        axes[k] = v3_normalise(v3(v[0][k], v[1][k], v[2][k]));
}

#endif
