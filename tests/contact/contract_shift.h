/* The shift that satisfies all patches of a result, for rows of the contract. */
#ifndef ABUT_TESTS_CONTACT_CONTRACT_SHIFT_H
#define ABUT_TESTS_CONTACT_CONTRACT_SHIFT_H

#include "contact/contract.h"

/* Solves for the shift of constraints n_i . v = d_i, i of `count` <= 3. False if they are
 * dependent. */
static inline bool solve_active(const abut_vec3 *n, const double *d, int count, abut_vec3 *v) {
    double g[3][4] = {{0}};
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < count; k++)
            g[i][k] = v3_dot(n[i], n[k]);
        g[i][3] = d[i];
    }
    for (int i = 0; i < count; i++) {
        int pivot = i;
        for (int k = i + 1; k < count; k++)
            pivot = fabs(g[k][i]) > fabs(g[pivot][i]) ? k : pivot;
        if (fabs(g[pivot][i]) < 1e-13)
            return false;
        for (int k = 0; k < 4; k++) {
            const double t = g[i][k];
            g[i][k] = g[pivot][k];
            g[pivot][k] = t;
        }
        for (int r = 0; r < count; r++) {
            const double f = r == i ? 0 : g[r][i] / g[i][i];
            for (int k = 0; k < 4; k++)
                g[r][k] -= f * g[i][k];
        }
    }
    *v = v3(0, 0, 0);
    for (int i = 0; i < count; i++)
        *v = v3_along(*v, g[i][3] / g[i][i], n[i]);
    return true;
}

/* Finds the shortest v with v . n_i >= d_i for all patches that overlap, by trying all sets of up
 * to three that hold with equality. False if there is none. */
static inline bool find_joint_shift(const answer *got, abut_vec3 *shortest) {
    uint32_t count = 0;
    double best = INFINITY;
    while (count < got->found.patches.count &&
           got->list[count].depth > 0) /* the deepest comes first */
        count++;
    if (!count) {
        *shortest = v3(0, 0, 0);
        return true;
    }
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = i; k < count; k++)
            for (uint32_t l = k; l < count; l++) {
                abut_vec3 n[3], v;
                double d[3];
                int active = 0;
                const uint32_t index[3] = {i, k, l};
                for (int j = 0; j < 3; j++)
                    if (!j || index[j] != index[j - 1]) {
                        n[active] = got->list[index[j]].normal;
                        d[active++] = got->list[index[j]].depth;
                    }
                if (!solve_active(n, d, active, &v) || v3_length(v) >= best)
                    continue;
                bool holds = true;
                for (uint32_t j = 0; j < count && holds; j++)
                    holds = v3_dot(v, got->list[j].normal) >=
                            got->list[j].depth - 1e-12 * (1 + v3_length(v));
                if (holds) {
                    best = v3_length(v);
                    *shortest = v;
                }
            }
    return best < INFINITY;
}

/* How much has to be added to every depth until the joint shift separates: 0.001 ... or 1. */
static inline double measure_shortfall(const question *q, const answer *got) {
    const double extras[] = {1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2};
    abut_vec3 v;
    if (!find_joint_shift(got, &v))
        return 2; /* no shift at all is as long as all depths */
    const double length = v3_length(v);
    for (size_t i = 0; i < sizeof extras / sizeof *extras; i++) {
        const double longer = length > 0 ? 1 + extras[i] / length : 1;
        const question out = moved_by(*q, length * longer, v3_normalise(v));
        if (!overlaps(&out))
            return extras[i];
    }
    return 1;
}

#endif
