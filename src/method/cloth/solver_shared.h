/* A substep of a cloth, in operations on single elements: C and OpenCL C, with the same bits.
 *
 * Constraints are those of XPBD (Macklin, Mueller, Chentanez 2016, equation 18), with one pass over
 * all of them in each of many short substeps (Macklin et al. 2019, "Small steps in physics
 * simulation"), so that multipliers are not stored.
 *
 * Constraints are divided into patches of some hundred vertices, in three phases: those inside
 * groups of vertices, those between two groups, and the rest, at corners of groups (patches.c).
 * Patches of a phase have no vertex in common. A work-group copies the vertices of a patch to local
 * memory, applies its constraints round by round, and stores them. So each constraint is applied
 * once, which conserves momentum, and a substep has five launches.
 * With one launch per colour of constraints it had some twenty-five, which took longer than the
 * work.
 *
 * Contacts follow constraints: a vertex stays on its side of a plane that moves with the body, and
 * keeps a distance from the face of the cloth that was nearest to it at the start of the step,
 * among those that are not near it at rest. Vertex and face get opposite momentum, all contacts at
 * once (Jacobi). Contacts guarantee nothing: that does impacts.c. x are the current positions of
 * vertices, w their inverse masses. */
#ifndef ABUTI_CLOTH_SOLVER_SHARED_H
#define ABUTI_CLOTH_SOLVER_SHARED_H

#include "base/math_shared.h"

#ifdef __OPENCL_C_VERSION__
#define CLOTH_LOCAL __local
typedef struct cloth_nearest { /* as abut_nearest */
    double distance;
    vec3 point;
    double barycentric[3];
    word32 triangle, feature;
} cloth_nearest;
#else
#include <abut/nearest.h>

#define CLOTH_LOCAL
typedef abut_nearest cloth_nearest;
#endif

/* As ABUT_CLOTH_COORDINATE_MAX. */
#define CLOTH_RANGE 1e15

/* A plain root: squares of lengths in a cloth neither overflow nor underflow. */
static inline double cloth_length(vec3 a) {
    return sqrt(v3_dot(a, a));
}
/* Whether a position is finite, and far below the largest float. */
static inline bool cloth_is_near(vec3 a) {
    return fabs(a.x) < CLOTH_RANGE && fabs(a.y) < CLOTH_RANGE && fabs(a.z) < CLOTH_RANGE;
}
/* Rounds to floats: positions at the end of a step are floats, so that files of floats store them
 * exactly, and sweeps test exactly the paths that are stored. */
static inline vec3 cloth_round(vec3 a) {
    return v3((double)(float)a.x, (double)(float)a.y, (double)(float)a.z);
}

/* ---- data ---- */

/* Largest number of vertices of a group; work-items of a patch, which is also the largest number
 * of constraints per round; largest number of vertices of a patch, on devices. */
enum { PATCH_OWN = 128, PATCH_LANES = 64, PATCH_ALL = 1024 };
/* Work-items of the other groups; those that search for the face of a vertex: at least the number
 * of cells around it; and the faces that they share. */
enum { CLOTH_GROUP = 64, CELL_LANES = 32, LIST_FACES = 256 };

/* Kinds of constraints, in the order in which a patch applies them. */
enum { CLOTH_PHASES = 3, CLOTH_HINGES = 0, CLOTH_EDGES, CLOTH_SEAMS, CLOTH_KINDS };

/* Keeps the length of an edge. */
typedef struct cloth_edge {
    word32 vertex[2];
    double rest, compliance; /* m, m/N */
} cloth_edge;

/* Keeps the bend of two triangles at their common edge: |sum k_i x_i|, which is 0 if they are
 * coplanar (Bergou et al. 2006, "A quadratic bending model for inextensible surfaces", for a
 * flat rest shape; for other rest shapes the length of that vector is kept). */
typedef struct cloth_hinge {
    word32 vertex[4]; /* of the edge, then the opposite ones */
    double k[4], rest, compliance;
} cloth_hinge;

/* Two sewn vertices. Each step brings them nearer to their length at rest by at most speed times
 * its seconds, in proportion to time, so that panels that start far apart close gradually. */
typedef struct cloth_seam {
    word32 vertex[2];
    word32 of[2];                   /* the same vertices among those of all sheets */
    double rest, compliance, speed; /* m, m/N, m/s */
    double from;                    /* their distance at the start of the step */
} cloth_seam;

/* A vertex near a body: it stays on its side of a plane that moves with the body. */
typedef struct cloth_touch {
    word32 is_near, spare;  /* the others are defined if it is near */
    vec3 normal;            /* unit, away from the body */
    vec3 point, movement;   /* closest point of the body at the start of the step, and its motion
                               during the step */
    double least, friction; /* distance to keep */
} cloth_touch;

/* A vertex near the cloth: it keeps a distance from a point of a face. */
typedef struct cloth_self {
    word32 vertex[3]; /* of the face; the first is ABUT_NONE if there is none */
    word32 spare;
    double weight[3];
    vec3 normal;            /* unit, towards the vertex */
    double least, friction; /* distance to keep */
    double scale;           /* momentum per distance, times the seconds of a substep */
} cloth_self;

/* The sum of what touches have moved a vertex in a step; only of vertices that touch a body. */
typedef struct cloth_push {
    vec3 moved;
    word32 part, spare; /* the body; ABUT_NONE if the vertex touches none */
} cloth_push;

/* An attached vertex; see abut_cloth_attachment. Vertex and triangle are those of all sheets and of
 * all bodies. */
typedef struct cloth_hold {
    word32 vertex, triangle; /* ABUT_NONE = attached to a point */
    double weight[3], offset;
    double compliance; /* m/N; 0 = pinned */
    vec3 from, to;     /* target at the start and end of a step */
    double mass;       /* of the vertex */
    vec3 load;         /* impulse on the target in a step, times the seconds of a substep */
} cloth_hold;

/* A sheet or a body. For bodies, thickness and friction below 0 are those of the sheet. */
typedef struct cloth_part {
    double thickness, friction, damping;
    double rest_range;               /* faces with a corner as near at rest are no contacts */
    double pressure, volume;         /* initial; 0 without pressure */
    word32 first_block, block_count; /* of triangles, for the volume; 0 without pressure */
} cloth_part;

/* Triangles of one sheet whose volume is added; with a vertex of the sheet as the origin. */
typedef struct cloth_block {
    word32 first, count, vertex, spare;
} cloth_block;

/* The value of a contact between two parts. */
static inline double cloth_mean(double a, double b) {
    return a < 0 ? b : b < 0 ? a : 0.5 * (a + b);
}

/* Parameters of a substep. */
typedef struct cloth_substep {
    double h, per_h2;  /* seconds; 1 / h^2 */
    double from, to;   /* fractions of the step, 0 to 1 */
    double passed;     /* seconds of the step at the end of the substep */
    double drag;       /* the following as in abut_cloth_options */
    double least_bend; /* below it a hinge has no direction */
    vec3 gravity, wind;
    word32 has_holds, has_touches, has_selves, has_pressure;
} cloth_substep;

/* Rounds of hinges, then of edges and of seams. The constraints of a round have no vertex in
 * common; a list has the first constraint of each round, and the end of the last one. Vertex
 * indices of constraints are local to the patch. */
typedef struct cloth_patch {
    word32 first, count; /* in the list of vertices */
    word32 first_round[CLOTH_KINDS], rounds[CLOTH_KINDS];
} cloth_patch;

/* Totals of a step over all vertices. */
typedef struct cloth_totals {
    word32 deepest;  /* bits of a float that is not negative, which are ordered as floats are */
    word32 thinnest; /* the same */
    word32 widest;   /* the same: the largest distance of sewn vertices beyond their length */
    word32 contacts;
    word32 odd; /* 1: a vertex of a sheet is outside the valid range, 2: of a body */
    word32 spare;
} cloth_totals;

/* ---- forces ---- */

/* Volumes are added in blocks of triangles, blocks in lanes, lanes by halves: the same sum for
 * any distribution of work. */
enum { VOLUME_BLOCK = 64, VOLUME_LANES = 256 };
static inline double cloth_block_volume(const ABUTI_GLOBAL word32 *corners,
                                        const ABUTI_GLOBAL cloth_block *block,
                                        const ABUTI_GLOBAL vec3 *x) {
    const vec3 origin = x[block->vertex];
    double sum = 0;
    for (word32 t = block->first; t < block->first + block->count; t++) {
        const ABUTI_GLOBAL word32 *v = corners + 3 * (size_t)t;
        vec3 a = v3_sub(x[v[0]], origin), b = v3_sub(x[v[1]], origin), d = v3_sub(x[v[2]], origin);
        sum += v3_dot(a, v3_cross(b, d)) / 6;
    }
    return sum;
}

static inline double cloth_lane_volume(const ABUTI_GLOBAL cloth_part *part,
                                       const ABUTI_GLOBAL double *sums, word32 lane) {
    const word32 blocks = part->block_count, each = (blocks + VOLUME_LANES - 1) / VOLUME_LANES;
    double sum = 0;
    for (word32 i = lane * each; i < (lane + 1) * each && i < blocks; i++)
        sum += sums[part->first_block + i];
    return sum;
}

/* Boyle's law, above the outside pressure, clamped to a useful range. */
static inline double cloth_pressure_at(const ABUTI_GLOBAL cloth_part *part, double volume) {
    double least = 0.1 * part->volume;
    return part->pressure * (part->volume / (volume < least ? least : volume));
}

/* Wind and pressure on the third of a triangle that belongs to a vertex. Air moves the cloth
 * along the normal of a triangle, and a tenth as much in its plane. */
static inline vec3 cloth_push_of(const cloth_substep *s, double pressure,
                                 const ABUTI_GLOBAL word32 *v, const ABUTI_GLOBAL vec3 *x,
                                 const ABUTI_GLOBAL vec3 *velocity) {
    vec3 a = x[v[0]], b = x[v[1]], d = x[v[2]];
    vec3 normal = v3_scale(v3_cross(v3_sub(b, a), v3_sub(d, a)), 0.5); /* its length is the area */
    double area = cloth_length(normal);
    if (!(area > 0))
        return v3(0, 0, 0);
    vec3 flow = s->wind;
    for (int k = 0; k < 3; k++)
        flow = v3_along(flow, -1.0 / 3, velocity[v[k]]);
    double across = v3_dot(flow, normal) / area;
    vec3 force = v3_scale(normal, 0.9 * s->drag * across + pressure);
    force = v3_along(force, 0.1 * s->drag * area, flow);
    return v3_scale(force, 1.0 / 3);
}

/* Returns whether wind or pressure acts on triangles. */
static inline bool cloth_has_air(const cloth_substep *s) {
    return s->drag > 0 || s->has_pressure;
}

/* The position of a vertex after free motion from `at` under a force. */
static inline vec3 cloth_predicted(const cloth_substep *s, double damping, double w, vec3 force,
                                   vec3 velocity, vec3 at) {
    vec3 v = v3_along(velocity, s->h * w, force);
    if (!(w > 0))
        return at;
    v = v3_scale(v3_along(v, s->h, s->gravity), 1 / (1 + damping * s->h));
    return v3_along(at, s->h, v);
}

/* ---- holds ---- */

/* The point of a hold on a body. */
static inline vec3 cloth_place_of(const cloth_hold *h, const ABUTI_GLOBAL word32 *body_corners,
                                  const ABUTI_GLOBAL vec3 *body) {
    const ABUTI_GLOBAL word32 *v = body_corners + 3 * (size_t)h->triangle;
    vec3 a = body[v[0]], ab = v3_sub(body[v[1]], a), ac = v3_sub(body[v[2]], a);
    vec3 normal = v3_cross(ab, ac);
    double length = cloth_length(normal);
    vec3 place = v3_along(v3_along(a, h->weight[1], ab), h->weight[2], ac);
    return length > 0 ? v3_along(place, h->offset / length, normal) : place;
}

/* The target of a hold in a step from `at`, the position of its vertex. `given` are the targets
 * of the last step and of this one, for points. */
static inline void cloth_place_hold(cloth_hold *h, const ABUTI_GLOBAL word32 *body_corners,
                                    const ABUTI_GLOBAL vec3 *body,
                                    const ABUTI_GLOBAL vec3 *body_end,
                                    const ABUTI_GLOBAL vec3 *given, vec3 at) {
    bool is_given = h->triangle == ABUT_NONE;
    h->to = is_given ? given[1] : cloth_place_of(h, body_corners, body_end);
    h->from = is_given ? given[0] : cloth_place_of(h, body_corners, body);
    h->from = h->compliance > 0 ? h->from : at;
    h->load = v3(0, 0, 0);
}

/* The position of an attached vertex, from `at`: its target if it is pinned; otherwise a spring
 * pulls it there, by XPBD. */
static inline vec3 cloth_held_at(const cloth_substep *s, const ABUTI_GLOBAL cloth_hold *h, double w,
                                 vec3 at) {
    vec3 from = h->from, to = h->to;
    vec3 place = v3_along(v3_scale(from, 1 - s->to), s->to, to); /* exactly `to` at the end */
    double pull = 1, compliance = h->compliance;
    if (compliance > 0)
        pull = w / (w + compliance * s->per_h2);
    return pull < 1 ? v3_along(at, pull, v3_sub(place, at)) : place;
}

/* The position of a vertex after free motion from x, and after its hold, which may be null. The
 * target of the hold absorbs the difference. */
static inline vec3 cloth_moved(const cloth_substep *s, double damping, double w, vec3 force,
                               vec3 velocity, vec3 x, ABUTI_GLOBAL cloth_hold *hold) {
    if (!hold)
        return cloth_predicted(s, damping, w, force, velocity, x);
    const double mass = hold->mass;
    vec3 at = cloth_predicted(s, damping, mass > 0 ? 1 / mass : 0, force, velocity, x);
    vec3 held = cloth_held_at(s, hold, w, at);
    hold->load = v3_along(hold->load, -mass, v3_sub(held, at));
    return held;
}

/* ---- constraints ---- */

/* A constraint of vertices x with inverse masses w gives vertex k the momentum part[k] * along,
 * times the seconds of the substep. Returns false if there is nothing to do. For an edge: */
static inline bool cloth_pull_edge(const cloth_substep *s, const cloth_edge *e, const double *w,
                                   const vec3 *x, vec3 *along, double *part) {
    vec3 d = v3_sub(x[1], x[0]);
    double length = cloth_length(d);
    if (!(w[0] + w[1] > 0) || !(length > 0))
        return false;
    double lambda = (length - e->rest) / ((w[0] + w[1] + e->compliance * s->per_h2) * length);
    *along = d;
    part[0] = lambda;
    part[1] = -lambda;
    return true;
}

/* The same for the four vertices of a hinge. */
static inline bool cloth_pull_hinge(const cloth_substep *s, const cloth_hinge *g, const double *w,
                                    const vec3 *x, vec3 *along, double *part) {
    vec3 sum = v3(0, 0, 0);
    double weight = g->compliance * s->per_h2;
    for (int k = 0; k < 4; k++) {
        sum = v3_along(sum, g->k[k], x[k]);
        weight += w[k] * g->k[k] * g->k[k];
    }
    double length = cloth_length(sum);
    if (!(length > s->least_bend) || !(weight > 0))
        return false;
    double lambda = (length - g->rest) / (weight * length);
    *along = sum;
    for (int k = 0; k < 4; k++)
        part[k] = -lambda * g->k[k];
    return true;
}

/* The same for a seam: a spring that moves its vertices at most to the distance that they may have
 * reached, so that they do not approach faster. A thread that is not taut does not push. */
static inline bool cloth_pull_seam(const cloth_substep *s, const cloth_seam *e, const double *w,
                                   const vec3 *x, vec3 *along, double *part) {
    vec3 d = v3_sub(x[1], x[0]);
    double length = cloth_length(d), weight = w[0] + w[1];
    double reach = e->speed * s->passed, off = e->rest - e->from;
    double reached = e->from + (off < -reach ? -reach : off > reach ? reach : off);
    if (!(weight > 0) || !(length > 0))
        return false;
    double push = (length - e->rest) / (weight + e->compliance * s->per_h2);
    double limit = (length - reached) / weight;
    if (reached > e->rest && push > 0)
        push = limit < 0 ? 0 : limit < push ? limit : push;
    if (reached < e->rest && push < 0)
        push = limit > 0 ? 0 : limit > push ? limit : push;
    double lambda = push / length;
    *along = d;
    part[0] = lambda;
    part[1] = -lambda;
    return true;
}

/* Sets the distance of sewn vertices at the start of a step. Returns by how much it is beyond their
 * length. */
static inline double cloth_measure_seam(ABUTI_GLOBAL cloth_seam *e, const ABUTI_GLOBAL vec3 *x) {
    e->from = cloth_length(v3_sub(x[e->of[1]], x[e->of[0]]));
    return e->from > e->rest ? e->from - e->rest : 0;
}

/* The vertices of a patch and their holds. */
typedef struct cloth_pins {
    const ABUTI_GLOBAL word32 *list; /* of its vertices */
    const ABUTI_GLOBAL word32 *held_of;
    ABUTI_GLOBAL cloth_hold *holds;
} cloth_pins;

/* A pinned vertex passes momentum on to its target. */
static inline void cloth_load_pin(const cloth_pins *pins, word32 vertex, double part, vec3 along) {
    const word32 h = pins->held_of[pins->list[vertex]];
    if (h != ABUT_NONE)
        pins->holds[h].load = v3_along(pins->holds[h].load, part, along);
}

/* Applies a constraint to the positions of a patch. */
#define CLOTH_HOLD(name, type, corners, pull)                                       \
    static inline void name(const cloth_substep *s, type c, const cloth_pins *pins, \
                            const CLOTH_LOCAL double *w, CLOTH_LOCAL vec3 *x) {     \
        double some_w[corners], part[corners];                                      \
        vec3 some_x[corners], along;                                                \
        for (int k = 0; k < corners; k++) {                                         \
            some_w[k] = w[c.vertex[k]];                                             \
            some_x[k] = x[c.vertex[k]];                                             \
        }                                                                           \
        if (!pull(s, &c, some_w, some_x, &along, part))                             \
            return;                                                                 \
        for (int k = 0; k < corners; k++)                                           \
            x[c.vertex[k]] = v3_along(some_x[k], some_w[k] * part[k], along);       \
        for (int k = 0; k < corners; k++)                                           \
            if (!(some_w[k] > 0))                                                   \
                cloth_load_pin(pins, c.vertex[k], part[k], along);                  \
    }
CLOTH_HOLD(cloth_hold_edge, cloth_edge, 2, cloth_pull_edge)
CLOTH_HOLD(cloth_hold_hinge, cloth_hinge, 4, cloth_pull_hinge)
CLOTH_HOLD(cloth_hold_seam, cloth_seam, 2, cloth_pull_seam)

/* ---- contacts ---- */

/* Features that are too near separate gradually, to avoid jumps. */
static inline double cloth_distance_to_keep(double distance, double thick) {
    return distance < thick ? distance + 0.2 * (thick - distance) : thick;
}

/* Computes the touch of a vertex from its closest point on bodies, whose vertices move from `body`
 * to `body_end`. Parts are those of all vertices: of sheets, then of bodies. Returns its distance;
 * the range if it touches nothing. */
static inline double
cloth_touch_of(const ABUTI_GLOBAL cloth_nearest *n, word32 v, vec3 at, double range,
               word32 vertices, const ABUTI_GLOBAL word32 *part_of,
               const ABUTI_GLOBAL cloth_part *parts, const ABUTI_GLOBAL word32 *body_corners,
               const ABUTI_GLOBAL vec3 *body, const ABUTI_GLOBAL vec3 *body_end, cloth_touch *touch,
               ABUTI_GLOBAL cloth_push *push) {
    double distance = n->distance;
    touch->is_near = n->triangle != ABUT_NONE && distance > 0;
    push->part = ABUT_NONE;
    if (!touch->is_near)
        return range;
    const ABUTI_GLOBAL word32 *corner = body_corners + 3 * (size_t)n->triangle;
    const ABUTI_GLOBAL cloth_part *mine = &parts[part_of[v]],
                                  *other = &parts[part_of[vertices + corner[0]]];
    push->part = part_of[vertices + corner[0]];
    push->moved = v3(0, 0, 0);
    touch->spare = 0;
    touch->point = n->point;
    touch->normal = v3_scale(v3_sub(at, touch->point), 1 / distance);
    touch->least = cloth_distance_to_keep(distance, cloth_mean(mine->thickness, other->thickness));
    touch->friction = cloth_mean(mine->friction, other->friction);
    touch->movement = v3(0, 0, 0);
    for (int k = 0; k < 3; k++)
        touch->movement = v3_along(touch->movement, n->barycentric[k],
                                   v3_sub(body_end[corner[k]], body[corner[k]]));
    return distance < range ? distance : range;
}

/* Friction: reduces the motion along a surface by at most the friction coefficient times the
 * push of the surface. */
static inline vec3 cloth_rub(vec3 slip, vec3 normal, double pushed, double friction) {
    slip = v3_along(slip, -v3_dot(slip, normal), normal);
    double length = cloth_length(slip), most = friction * pushed;
    return length > most ? v3_scale(slip, most / length) : slip;
}

/* The position of a vertex that stays on its side of the plane. It moves from `was` to `at`. */
static inline vec3 cloth_keep_touch(const cloth_substep *s, const cloth_touch *t, vec3 was,
                                    vec3 at) {
    vec3 point = v3_along(t->point, s->to, t->movement);
    double off = t->least - v3_dot(v3_sub(at, point), t->normal);
    if (!(off > 0))
        return at;
    at = v3_along(at, off, t->normal);
    vec3 slip = v3_along(v3_sub(at, was), s->from - s->to, t->movement);
    return v3_sub(at, cloth_rub(slip, t->normal, off, t->friction));
}

static inline vec3 cloth_mix(vec3 a, vec3 b, vec3 c, const double *weight) {
    return v3_along(v3_along(v3_scale(a, weight[0]), weight[1], b), weight[2], c);
}

/* The motion of vertex v relative to its face that a contact requires: apart, with friction. In
 * the substep both sides have moved from `before` to `now`. */
static inline vec3 cloth_push_apart(const cloth_self *self, word32 v,
                                    const ABUTI_GLOBAL vec3 *before, const ABUTI_GLOBAL vec3 *now) {
    const word32 a = self->vertex[0], b = self->vertex[1], c = self->vertex[2];
    const vec3 gap = v3_sub(now[v], cloth_mix(now[a], now[b], now[c], self->weight));
    const double off = self->least - v3_dot(gap, self->normal);
    if (!(off > 0))
        return v3(0, 0, 0);
    vec3 was = v3_sub(before[v], cloth_mix(before[a], before[b], before[c], self->weight));
    vec3 slip = cloth_rub(v3_sub(gap, was), self->normal, off, self->friction);
    return v3_sub(v3_scale(self->normal, off), slip);
}

/* The contacts of vertex v are 2 v and 2 v + 1, with a face on each side of its sheet, and those of
 * faces that it is a corner of. The latter are a linked list of 3 i + k for corner k of the face of
 * contact i, in ascending order, so that sums have the same bits everywhere. Returns the sum of the
 * weights of v in them. */
static inline double cloth_shares_of(word32 v, const ABUTI_GLOBAL cloth_self *selves,
                                     const ABUTI_GLOBAL word32 *heads,
                                     const ABUTI_GLOBAL word32 *chain) {
    double sum =
        (selves[2 * v].vertex[0] != ABUT_NONE) + (selves[2 * v + 1].vertex[0] != ABUT_NONE);
    for (word32 i = heads[v]; i != ABUT_NONE; i = chain[i])
        sum += selves[i / 3].weight[i % 3];
    return sum;
}

/* The momentum per distance of a contact. All contacts push at once (Jacobi), so it is reduced by
 * those that the vertices share: the inverse of the sum of a row of the matrix of all contacts,
 * with which they cannot push too far. */
static inline double cloth_scale_of(const cloth_self *self, word32 v, const ABUTI_GLOBAL double *w,
                                    const ABUTI_GLOBAL double *shares) {
    double sum = w[v] * shares[v];
    for (int k = 0; k < 3; k++)
        sum += self->weight[k] * w[self->vertex[k]] * shares[self->vertex[k]];
    return sum > 0 ? 1 / sum : 0;
}

/* The momentum that the contacts of vertex v give it, times the seconds of the substep. */
static inline vec3 cloth_push_by_cloth(word32 v, const ABUTI_GLOBAL cloth_self *selves,
                                       const ABUTI_GLOBAL word32 *heads,
                                       const ABUTI_GLOBAL word32 *chain,
                                       const ABUTI_GLOBAL vec3 *before,
                                       const ABUTI_GLOBAL vec3 *now) {
    vec3 sum = v3(0, 0, 0);
    for (word32 i = 2 * v; i < 2 * v + 2; i++)
        if (selves[i].vertex[0] != ABUT_NONE) {
            cloth_self self = selves[i];
            sum = v3_along(sum, self.scale, cloth_push_apart(&self, v, before, now));
        }
    for (word32 i = heads[v]; i != ABUT_NONE; i = chain[i]) {
        cloth_self self = selves[i / 3];
        sum = v3_along(sum, -self.weight[i % 3] * self.scale,
                       cloth_push_apart(&self, i / 6, before, now));
    }
    return sum;
}

/* ---- search for faces of the cloth ---- */

/* Parameters of the search. */
typedef struct cloth_search {
    double cell;  /* of the grid: the centre of a face that is in range is not further away */
    double range; /* distance at which a face is near */
    word32 mask;  /* number of buckets, a power of two, minus one */
    word32 has_seams;
} cloth_search;

/* A face in the grid, in the bucket of its centre. */
typedef struct cloth_face {
    vec3 centre;
    double radius; /* largest distance of a corner from the centre */
    word32 face;
    word32 link; /* on the CPU the bucket; on devices the next face of the bucket, or ABUT_NONE */
} cloth_face;

/* A vertex near a knot: vertices that are sewn together, directly or one after the other. */
typedef struct cloth_knot {
    word32 knot, spare;
    double distance; /* at rest, along the sheet, relative to the range of the knot: from 0 to 1 */
} cloth_knot;

/* The sheets that it searches: corners of faces, faces around vertices, positions at rest and
 * current ones, and the part of each vertex. */
typedef struct cloth_sheets {
    const ABUTI_GLOBAL word32 *corners, *begin, *faces, *part_of;
    const ABUTI_GLOBAL cloth_part *parts;
    const ABUTI_GLOBAL vec3 *rest, *x;
    const ABUTI_GLOBAL word32 *knot_begin; /* near each vertex, ascending; unless there are none */
    const ABUTI_GLOBAL cloth_knot *knots;
} cloth_sheets;

static inline int cloth_cell_of(double at, double cell) {
    double number = floor(at / cell);
    return (int)(number < -1e9 ? -1e9 : number > 1e9 ? 1e9 : number);
}

static inline word32 cloth_bucket(int x, int y, int z, word32 mask) {
    word32 h = (word32)x * 73856093u ^ (word32)y * 19349663u ^ (word32)z * 83492791u;
    return (h ^ h >> 15) & mask;
}

static inline word32 cloth_bucket_at(vec3 at, const cloth_search *s) {
    return cloth_bucket(cloth_cell_of(at.x, s->cell), cloth_cell_of(at.y, s->cell),
                        cloth_cell_of(at.z, s->cell), s->mask);
}

static inline cloth_face cloth_face_at(word32 index, const ABUTI_GLOBAL word32 *corners,
                                       const ABUTI_GLOBAL vec3 *x) {
    const ABUTI_GLOBAL word32 *c = corners + 3 * (size_t)index;
    cloth_face face;
    double sq = 0;
    face.centre = v3_scale(v3_add(v3_add(x[c[0]], x[c[1]]), x[c[2]]), 1.0 / 3);
    for (int k = 0; k < 3; k++) {
        vec3 d = v3_sub(x[c[k]], face.centre);
        double corner_sq = v3_dot(d, d);
        sq = corner_sq > sq ? corner_sq : sq;
    }
    face.radius = sqrt(sq);
    face.face = index;
    face.link = ABUT_NONE;
    return face;
}

static inline void cloth_weigh(double a, double b, double c, double *weight) {
    weight[0] = a;
    weight[1] = b;
    weight[2] = c;
}

/* The closest point of a triangle to p, as weights of its corners (Ericson 2005, section 5.1.5). */
static inline void cloth_nearest_weights(vec3 p, vec3 a, vec3 b, vec3 c, double *weight) {
    vec3 ab = v3_sub(b, a), ac = v3_sub(c, a), ap = v3_sub(p, a), bp = v3_sub(p, b),
         cp = v3_sub(p, c);
    double d1 = v3_dot(ab, ap), d2 = v3_dot(ac, ap), d3 = v3_dot(ab, bp), d4 = v3_dot(ac, bp),
           d5 = v3_dot(ab, cp), d6 = v3_dot(ac, cp);
    double va = d3 * d6 - d5 * d4, vb = d5 * d2 - d1 * d6, vc = d1 * d4 - d3 * d2;
    double sum = va + vb + vc;
    if (d1 <= 0 && d2 <= 0)
        cloth_weigh(1, 0, 0, weight);
    else if (d3 >= 0 && d4 <= d3)
        cloth_weigh(0, 1, 0, weight);
    else if (d6 >= 0 && d5 <= d6)
        cloth_weigh(0, 0, 1, weight);
    else if (vc <= 0 && d1 >= 0 && d3 <= 0)
        cloth_weigh(1 - d1 / (d1 - d3), d1 / (d1 - d3), 0, weight);
    else if (vb <= 0 && d2 >= 0 && d6 <= 0)
        cloth_weigh(1 - d2 / (d2 - d6), 0, d2 / (d2 - d6), weight);
    else if (va <= 0 && d4 - d3 >= 0 && d5 - d6 >= 0) {
        double t = (d4 - d3) / ((d4 - d3) + (d5 - d6));
        cloth_weigh(0, 1 - t, t, weight);
    } else if (sum > 0)
        cloth_weigh(va / sum, vb / sum, vc / sum, weight);
    else
        cloth_weigh(1, 0, 0, weight);
}

static inline bool cloth_is_within(vec3 a, vec3 b, double distance) {
    vec3 d = v3_sub(a, b);
    return v3_dot(d, d) <= distance * distance;
}

/* The nearest face so far of a vertex. */
typedef struct cloth_found {
    double sq;
    word32 face;
    double weight[3];
} cloth_found;

/* Whether the path from u to v across a seam is too short at rest for a contact. */
static inline bool cloth_is_sewn_near(const cloth_sheets *all, word32 u, word32 v) {
    word32 i = all->knot_begin[u], k = all->knot_begin[v];
    while (i < all->knot_begin[u + 1] && k < all->knot_begin[v + 1]) {
        cloth_knot a = all->knots[i], b = all->knots[k];
        if (a.knot == b.knot && a.distance + b.distance <= 1)
            return true;
        i += a.knot <= b.knot;
        k += b.knot <= a.knot;
    }
    return false;
}

/* Whether vertices u and v are too near at rest for a contact, in one sheet or across a seam. */
static inline bool cloth_are_near_at_rest(const cloth_search *s, const cloth_sheets *all, word32 u,
                                          word32 v) {
    return (all->part_of[u] == all->part_of[v] &&
            cloth_is_within(all->rest[u], all->rest[v], all->parts[all->part_of[v]].rest_range)) ||
           (s->has_seams && cloth_is_sewn_near(all, u, v));
}

/* Whether a face with corners c is too near to vertex v at rest for a contact. */
static inline bool cloth_is_neighbour(const cloth_search *s, const cloth_sheets *all,
                                      const ABUTI_GLOBAL word32 *c, word32 v) {
    return (s->has_seams || all->part_of[c[0]] == all->part_of[v]) &&
           (cloth_are_near_at_rest(s, all, c[0], v) || cloth_are_near_at_rest(s, all, c[1], v) ||
            cloth_are_near_at_rest(s, all, c[2], v));
}

/* The sum of the normals of the faces around a vertex. */
static inline vec3 cloth_normal_at(const cloth_sheets *all, word32 v) {
    vec3 sum = v3(0, 0, 0);
    for (word32 k = all->begin[v]; k < all->begin[v + 1]; k++) {
        const ABUTI_GLOBAL word32 *c = all->corners + 3 * (size_t)all->faces[k];
        vec3 p = all->x[c[0]];
        sum = v3_add(sum, v3_cross(v3_sub(all->x[c[1]], p), v3_sub(all->x[c[2]], p)));
    }
    return sum;
}

/* Whether a point of a face may be within a distance of a position. The factor is far above
 * rounding errors, so that a smaller distance never excludes the nearest face. */
static inline bool cloth_is_in_reach(const ABUTI_GLOBAL cloth_face *face, vec3 at,
                                     double distance) {
    return cloth_is_within(at, face->centre, 1.000001 * (distance + face->radius));
}

/* Tests a face for vertex v. Of two equally near faces the lower index counts, so that the order
 * does not matter. */
static inline void cloth_try_face(const cloth_search *s, const cloth_sheets *all, word32 v,
                                  word32 face, vec3 normal, cloth_found *sides) {
    const ABUTI_GLOBAL word32 *c = all->corners + 3 * (size_t)face;
    if (cloth_is_neighbour(s, all, c, v))
        return;
    const vec3 at = all->x[v], p = all->x[c[0]], q = all->x[c[1]], r = all->x[c[2]];
    double weight[3];
    cloth_nearest_weights(at, p, q, r, weight);
    const vec3 off = v3_sub(at, cloth_mix(p, q, r, weight));
    const double sq = v3_dot(off, off);
    cloth_found *best = &sides[v3_dot(off, normal) < 0];
    if (!(sq < best->sq || (sq == best->sq && face < best->face)))
        return;
    best->sq = sq;
    best->face = face;
    cloth_weigh(weight[0], weight[1], weight[2], best->weight);
}

/* Cells around a vertex, and its own. */
enum { CLOTH_CELLS = 27, CLOTH_OWN_CELL = 13 };

static inline cloth_found cloth_found_none(const cloth_search *s) {
    cloth_found none;
    none.sq = s->range * s->range;
    none.face = ABUT_NONE;
    cloth_weigh(0, 0, 0, none.weight);
    return none;
}

/* A position in the grid: its cell, and where it is in it. */
typedef struct cloth_spot {
    int cell[3];
    vec3 low;
} cloth_spot;

static inline cloth_spot cloth_spot_at(const cloth_search *s, vec3 at) {
    cloth_spot spot;
    spot.cell[0] = cloth_cell_of(at.x, s->cell);
    spot.cell[1] = cloth_cell_of(at.y, s->cell);
    spot.cell[2] = cloth_cell_of(at.z, s->cell);
    spot.low =
        v3_sub(at, v3(spot.cell[0] * s->cell, spot.cell[1] * s->cell, spot.cell[2] * s->cell));
    return spot;
}

static inline double cloth_outside(int step, double low, double cell) {
    return step < 0 ? low : step > 0 ? cell - low : 0;
}

/* The bucket of one of the cells around a position; ABUT_NONE if the whole cell is too far away.
 * That does not depend on what was found so far: a stretched face may be missed, but then on every
 * back end. */
static inline word32 cloth_bucket_near(const cloth_search *s, const cloth_spot *spot, int cell) {
    const int dx = cell % 3 - 1, dy = cell / 3 % 3 - 1, dz = cell / 9 - 1;
    const vec3 off =
        v3(cloth_outside(dx, spot->low.x, s->cell), cloth_outside(dy, spot->low.y, s->cell),
           cloth_outside(dz, spot->low.z, s->cell));
    return v3_dot(off, off) > s->cell * s->cell
               ? ABUT_NONE
               : cloth_bucket(spot->cell[0] + dx, spot->cell[1] + dy, spot->cell[2] + dz, s->mask);
}

/* Chooses the contacts of vertex v among the nearest faces on both sides. Layers between two other
 * sheets need both. With its own sheet only the nearer one counts: jammed sheets would gain energy.
 */
static inline void cloth_choose_sides(const cloth_sheets *all, word32 v, cloth_found *sides) {
    const word32 f = sides[0].face, g = sides[1].face;
    if (f == ABUT_NONE || g == ABUT_NONE ||
        (all->part_of[all->corners[3 * (size_t)f]] != all->part_of[v] &&
         all->part_of[all->corners[3 * (size_t)g]] != all->part_of[v]))
        return;
    const bool first = sides[0].sq < sides[1].sq || (sides[0].sq == sides[1].sq && f < g);
    sides[first].face = ABUT_NONE;
}

/* The face of vertex v, from the nearest of all cells. A face of the same sheet that is near at
 * rest may stay as near. Returns its distance; the range if there is none. */
static inline double cloth_self_of(const cloth_search *s, const cloth_sheets *all, word32 v,
                                   const cloth_found *best, cloth_self *self) {
    self->vertex[0] = ABUT_NONE;
    if (best->face == ABUT_NONE || !(best->sq > 0))
        return s->range;
    double distance = sqrt(best->sq);
    for (int k = 0; k < 3; k++) {
        self->vertex[k] = all->corners[3 * (size_t)best->face + (size_t)k];
        self->weight[k] = best->weight[k];
    }
    self->spare = 0;
    self->scale = 0;
    const word32 a = self->vertex[0], b = self->vertex[1], c = self->vertex[2];
    const ABUTI_GLOBAL vec3 *x = all->x, *rest = all->rest;
    const ABUTI_GLOBAL cloth_part *mine = &all->parts[all->part_of[v]],
                                  *other = &all->parts[all->part_of[a]];
    self->normal = v3_scale(v3_sub(x[v], cloth_mix(x[a], x[b], x[c], self->weight)), 1 / distance);
    self->friction = cloth_mean(mine->friction, other->friction);
    double thickness = cloth_mean(mine->thickness, other->thickness);
    if (mine == other) {
        vec3 off = v3_sub(rest[v], cloth_mix(rest[a], rest[b], rest[c], self->weight));
        double apart = cloth_length(off);
        thickness = apart < thickness ? apart : thickness;
    }
    self->least = cloth_distance_to_keep(distance, thickness);
    return distance;
}

/* ---- the ends of a substep and of a step ---- */

/* The position of a vertex that keeps its contacts. The target of a pinned vertex absorbs their
 * momentum; `hold` may be null. x are the positions at the start of the
 * substep, `now` those after constraints. */
static inline vec3
cloth_keep_contacts(const cloth_substep *s, word32 v, double w,
                    const ABUTI_GLOBAL cloth_self *selves, const ABUTI_GLOBAL word32 *heads,
                    const ABUTI_GLOBAL word32 *chain, const ABUTI_GLOBAL cloth_touch *touches,
                    ABUTI_GLOBAL cloth_push *pushes, ABUTI_GLOBAL cloth_hold *hold,
                    const ABUTI_GLOBAL vec3 *x, const ABUTI_GLOBAL vec3 *now) {
    vec3 at = now[v];
    if (s->has_selves) {
        vec3 push = cloth_push_by_cloth(v, selves, heads, chain, x, now);
        at = v3_along(at, w, push);
        if (hold && !(w > 0))
            hold->load = v3_add(hold->load, push);
    }
    if (!(w > 0))
        return at;
    if (s->has_touches && touches[v].is_near) {
        cloth_touch touch = touches[v];
        vec3 to = cloth_keep_touch(s, &touch, x[v], at);
        pushes[v].moved = v3_add(pushes[v].moved, v3_sub(to, at));
        at = to;
    }
    return at;
}

/* The aim of a vertex: a float. NaN if it is outside the valid range. */
static inline vec3 cloth_aim_of(vec3 to) {
    double none = NAN;
    return cloth_is_near(to) ? cloth_round(to) : v3(none, none, none);
}

/* The same for vertex i of all: that of a sheet is at x, that of a body at `body_end`. */
static inline vec3 cloth_aim_at(word32 i, word32 vertices, const ABUTI_GLOBAL vec3 *x,
                                const ABUTI_GLOBAL vec3 *body_end) {
    return cloth_aim_of(i < vertices ? x[i] : body_end[i - vertices]);
}

/* The final position of a vertex, after fields have moved it, and its velocity if it could not
 * reach its aim. */
static inline vec3 cloth_field_end(double w, vec3 start, vec3 aim, vec3 end, double seconds,
                                   ABUTI_GLOBAL vec3 *velocity) {
    end = w > 0 ? cloth_round(end) : aim;
    vec3 off = v3_sub(end, aim);
    if (v3_dot(off, off) > 0)
        *velocity = v3_scale(v3_sub(end, start), 1 / seconds);
    return end;
}

#endif
