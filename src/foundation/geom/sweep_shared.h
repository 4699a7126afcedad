/* Continuous collision detection: the time at which a vertex and a face, or two edges, in linear
 * motion first touch. In double, for C and OpenCL C.
 *
 * Method: directions that separate the features over a time interval; sweep_proof_shared.h states
 * what they prove and how. The search goes forward in time. From a time up to which the features
 * are proven apart, the direction of their closest points (for two edges the common normal while
 * the closest points are inside both) proves them apart until some later time, and the search
 * continues from there. Along that direction the gap initially equals the distance and has the same
 * slope: this is Newton's method on the distance, and it cannot overshoot. A fixed direction makes
 * little progress if features pass each other closely while they rotate: its proof holds for an
 * angle of distance / size, and the search would need a step for each such angle. There the volume,
 * and a direction that rotates with an edge, need a few steps instead of up to a million. The
 * search ends with a hit if the distance is within the tolerance or if no step forward is possible,
 * and with "free" if the proof reaches the end of the step. Hits at the boundary of a feature get a
 * final test with finer proofs (sweep_fine_shared.h).
 *
 * Guarantee: conservative. "Free" is certain and the time of a hit is never late, despite rounding.
 * At the time of a hit the features are within separation plus tolerance, or the steps are used up,
 * or the tolerance is below the rounding error, about 1e-14 of the extent of the pair.
 */
#ifndef ABUTI_GEOM_SWEEP_SHARED_H
#define ABUTI_GEOM_SWEEP_SHARED_H

#include "geom/sweep_fine_shared.h"
#include "geom/sweep_proof_shared.h"

#if ABUTI_REAL_BITS == 64

typedef struct sweep_answer {
    real time;   /* 0 to 1; 2 if free */
    vec3 normal; /* unit, from the second feature to the first, or zero */
    real weights[3];
    int steps;
} sweep_answer;

/* The closest points of both features at one time, approximately. */
typedef struct sweep_near {
    vec3 n; /* from the second to the first, of any length */
    real distance;
    real weights[3];
    int inside; /* inside the face, or inside both edges */
    int edge;   /* otherwise: index of the candidate */
} sweep_near;

/* ---- directions: errors here cost steps, never correctness ---- */

/* Point p and the segment from 0 to e: the vector from the closest point, which is at s, to p. */
static inline vec3 sweep_foot(vec3 p, vec3 e, real *s) {
    real ee = v3_length_sq(e), along = v3_dot(p, e);
    *s = along <= REAL(0.0) ? REAL(0.0) : along >= ee ? REAL(1.0) : along / ee;
    vec3 n = v3_along(p, -*s, e);
    /* once more: a remaining component along e would rotate a short n */
    if (along > REAL(0.0) && along < ee)
        n = v3_along(n, -v3_dot(n, e) / ee, e);
    return n;
}

/* Candidates for the closest points of a vertex and the face 0, b, c: k is an edge, or 3 for the
 * interior. */
static inline void sweep_face_candidate(vec3 v, vec3 b, vec3 c, int k, sweep_near *near) {
    const vec3 zero = v3(REAL(0.0), REAL(0.0), REAL(0.0));
    if (k == 3) {
        vec3 n = v3_cross(b, c);
        near->n = v3_dot(n, v) < REAL(0.0) ? v3_scale(n, REAL(-1.0)) : n;
        return;
    }
    vec3 from = k == 0 ? zero : k == 1 ? b : c, to = k == 0 ? b : k == 1 ? c : zero;
    real s;
    near->n = sweep_foot(v3_sub(v, from), v3_sub(to, from), &s);
    near->weights[0] = k == 0 ? REAL(1.0) - s : k == 1 ? REAL(0.0) : s;
    near->weights[1] = k == 0 ? s : k == 1 ? REAL(1.0) - s : REAL(0.0);
    near->weights[2] = k == 0 ? REAL(0.0) : k == 1 ? s : REAL(1.0) - s;
}

/* The same for an edge from a to b and one from 0 to d: an end on the other edge, or 4 for the
 * interior of both. */
static inline void sweep_edge_candidate(vec3 a, vec3 b, vec3 d, int k, sweep_near *near) {
    vec3 e = v3_sub(b, a);
    if (k == 4) {
        vec3 n = v3_cross(e, d);
        near->n = v3_dot(n, a) < REAL(0.0) ? v3_scale(n, REAL(-1.0)) : n;
        return;
    }
    vec3 end = k == 0 ? a : k == 1 ? b : k == 2 ? v3_scale(a, REAL(-1.0)) : v3_sub(d, a);
    real along, at = k & 1 ? REAL(1.0) : REAL(0.0);
    vec3 foot = sweep_foot(end, k < 2 ? d : e, &along);
    near->n = k < 2 ? foot : v3_scale(foot, REAL(-1.0));
    near->weights[0] = k < 2 ? at : along;
    near->weights[1] = k < 2 ? along : at;
    near->weights[2] = REAL(0.0);
}

/* The nearest of the first `count` candidates. */
static inline void sweep_near_border(int kind, const vec3 *q, int count, sweep_near *near) {
    real best_sq = REAL_MAX; /* unchanged if all candidates are NaN; then n proves nothing */
    sweep_near next;
    near->n = v3(REAL(0.0), REAL(0.0), REAL(0.0));
    near->weights[0] = near->weights[1] = near->weights[2] = REAL(0.0);
    near->edge = 0;
    for (int k = 0; k < count; k++) {
        if (kind == SWEEP_EDGE_EDGE)
            sweep_edge_candidate(q[0], q[1], q[2], k, &next);
        else
            sweep_face_candidate(q[0], q[1], q[2], k, &next);
        real sq = v3_length_sq(next.n);
        if (sq < best_sq) {
            best_sq = sq;
            *near = next;
            near->edge = k;
        }
    }
    near->distance = real_sqrt(best_sq);
    near->inside = 0;
}

/* The closest points at a time: inside the face or both edges if the weights are positive. */
static inline void sweep_near_of(int kind, const vec3 *q, sweep_near *near) {
    vec3 e = kind == SWEEP_EDGE_EDGE ? v3_sub(q[1], q[0]) : q[1], d = q[2];
    vec3 n = v3_cross(e, d);
    real nn = v3_length_sq(n), s, t, rest;
    if (kind == SWEEP_EDGE_EDGE) {
        s = v3_dot(v3_cross(d, q[0]), n);
        t = v3_dot(v3_cross(e, q[0]), n);
        rest = real_min(nn - s, nn - t);
    } else {
        s = v3_dot(v3_cross(q[0], d), n);
        t = v3_dot(v3_cross(e, q[0]), n);
        rest = nn - s - t;
    }
    if (s > REAL(0.0) && t > REAL(0.0) && rest > REAL(0.0) &&
        nn > REAL(1e-26) * v3_length_sq(e) * v3_length_sq(d)) {
        real height = v3_dot(n, q[0]);
        near->n = height < REAL(0.0) ? v3_scale(n, REAL(-1.0)) : n;
        near->distance = real_abs(height) / real_sqrt(nn);
        near->weights[0] = (kind == SWEEP_EDGE_EDGE ? s : rest) / nn;
        near->weights[1] = (kind == SWEEP_EDGE_EDGE ? t : s) / nn;
        near->weights[2] = kind == SWEEP_EDGE_EDGE ? REAL(0.0) : t / nn;
        near->inside = 1;
        near->edge = 0;
        return;
    }
    sweep_near_border(kind, q, 2 + kind, near);
}

static inline void sweep_positions(const sweep_frame *frame, real t, vec3 *q) {
    for (int k = 0; k < 3; k++)
        q[k] = v3_lerp(frame->q[0][k], frame->q[1][k], t);
}
static inline void sweep_near_at(int kind, const sweep_frame *frame, real t, sweep_near *near) {
    vec3 q[3];
    sweep_positions(frame, t, q);
    sweep_near_of(kind, q, near);
}

/* ---- the search ---- */

/* As sweep_proof(), with the candidate that proves most: if two candidates are equally near up to
 * rounding, perhaps only one makes progress. */
static inline real sweep_best_candidate_proof(int kind, const sweep_frame *frame, real time,
                                              vec3 *n) {
    vec3 q[3];
    sweep_near near;
    real best = time;
    sweep_positions(frame, time, q);
    for (int k = 0; k < 3 + kind; k++) {
        if (kind == SWEEP_EDGE_EDGE)
            sweep_edge_candidate(q[0], q[1], q[2], k, &near);
        else
            sweep_face_candidate(q[0], q[1], q[2], k, &near);
        real until = sweep_proof(kind, frame, near.n, time);
        if (until > best) {
            best = until;
            *n = near.n;
        }
    }
    return best;
}

/* The search of sweep_pair() without its first test. */
static inline int sweep_search(int kind, const sweep_frame *frame, const sweep_limits *limits,
                               sweep_answer *answer) {
    sweep_near near;
    sweep_volume volume;
    volume.b[0] = volume.b[1] = volume.b[2] = volume.b[3] = volume.bound = REAL(0.0);
    volume.ready = 0;
    real time = REAL(0.0);
    vec3 last = v3(REAL(0.0), REAL(0.0), REAL(0.0));
    int step = 0, hit = 1;
    while (hit) {
        step++;
        sweep_near_at(kind, frame, time, &near);
        if (!(near.distance > frame->separation + frame->tolerance) || step >= limits->steps)
            break;
        real until = sweep_proof(kind, frame, near.n, time);
        if (near.inside && step > 1 && until <= REAL(1.0)) {
            if (!volume.ready)
                sweep_volume_of(kind, frame, &volume);
            until = real_max(until, sweep_volume_proof(&volume, time));
        } else if (step > 3 && until <= REAL(1.0)) {
            until = real_max(until, sweep_turning_proof(kind, frame, near.edge, near.n, time));
        }
        if (!(until > time)) {
            until = sweep_best_candidate_proof(kind, frame, time, &near.n);
            if (!(until > time))
                break;
        }
        last = near.n;
        time = until;
        hit = !(time > limits->latest);
    }
    answer->time = hit ? time : REAL(2.0);
    answer->normal = v3_normalise(v3_max_abs(last) > REAL(0.0) ? last : near.n);
    answer->steps = step;
    for (int k = 0; k < 3; k++)
        answer->weights[k] = near.weights[k];
    return hit;
}

/* Whether the direction of the closest points at this time proves the whole step. */
static inline int sweep_proven_by(int kind, const sweep_frame *frame, real time) {
    sweep_near near;
    sweep_near_at(kind, frame, time, &near);
    return sweep_proof(kind, frame, near.n, REAL(0.0)) > REAL(1.0);
}

/* Of the hard pairs that are proven to pass, most need one round and nearly all at most two. */
#define SWEEP_FINE_ROUNDS 4

/* The latest time that the directions of sweep_fine_shared.h prove. */
static inline real sweep_fine_step(int kind, const vec3 *start, const vec3 *end,
                                   const sweep_frame *frame, real time) {
    const real slack = REAL(3.0) * REAL_EPSILON; /* 6 u */
    real best = time;
    sweep_near near;
    vec3 p[4], q[3], motion = sweep_relative_motion(kind, start, end);
    for (int k = 0; k < 3 && best <= REAL(1.0); k++) {
        vec3 n = v3(k == 0 ? REAL(1.0) : REAL(0.0), k == 1 ? REAL(1.0) : REAL(0.0),
                    k == 2 ? REAL(1.0) : REAL(0.0));
        best = real_max(best, sweep_fine_proof(kind, start, end, n, REAL(0.0), time));
    }
    sweep_positions(frame, time, q);
    for (int k = 0; k < 3 + kind && best <= REAL(1.0); k++) {
        if (kind == SWEEP_EDGE_EDGE)
            sweep_edge_candidate(q[0], q[1], q[2], k, &near);
        else
            sweep_face_candidate(q[0], q[1], q[2], k, &near);
        best = real_max(best, sweep_fine_proof(kind, start, end, near.n, slack, time));
    }
    for (int k = 0; k < 4; k++)
        p[k] = v3_lerp(start[k], end[k], time);
    for (int i = 0; i < 3; i++)
        for (int j = i + 1; j < 4 && best <= REAL(1.0); j++) {
            vec3 n = v3_cross(v3_sub(p[j], p[i]), motion);
            best = real_max(best, sweep_fine_proof(kind, start, end, n, slack, time));
        }
    return best;
}

/* Whether a hit of the search is refuted: the features are proven to pass; see sweep_fine_shared.h.
 */
static inline int sweep_is_refuted(int kind, const vec3 *start, const vec3 *end,
                                   const sweep_frame *frame, const sweep_answer *hit) {
    const real *w = hit->weights;
    real time = hit->time;
    int border = kind == SWEEP_EDGE_EDGE
                     ? w[0] * w[1] == REAL(0.0) || w[0] == REAL(1.0) || w[1] == REAL(1.0)
                     : w[0] * w[1] * w[2] == REAL(0.0);
    if (!border || frame->separation > REAL(0.0))
        return 0;
    for (int round = 0; round < SWEEP_FINE_ROUNDS; round++) {
        real until = sweep_fine_step(kind, start, end, frame, time);
        if (until > REAL(1.0))
            return 1;
        if (!(until > time))
            return 0;
        time = until;
    }
    return 0;
}

/* Returns 1 for a hit, 0 for free. The time of a hit does not depend on `latest`. */
static inline int sweep_pair(int kind, const vec3 *start, const vec3 *end,
                             const sweep_limits *limits, sweep_answer *answer) {
    sweep_frame frame;
    sweep_frame_of(kind, start, end, limits, &frame);
    /* most pairs are free, and the direction at the middle of the step proves most of these */
    if (!sweep_proven_by(kind, &frame, REAL(0.5))) {
        if (!sweep_search(kind, &frame, limits, answer))
            return 0;
        if (!sweep_is_refuted(kind, start, end, &frame, answer))
            return 1;
        answer->time = REAL(2.0);
        return 0;
    }
    answer->time = REAL(2.0);
    answer->normal = v3(REAL(0.0), REAL(0.0), REAL(0.0));
    answer->steps = 0;
    for (int k = 0; k < 3; k++)
        answer->weights[k] = REAL(0.0);
    return 0;
}

#endif
#endif
