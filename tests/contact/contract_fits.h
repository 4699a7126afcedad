/* Bodies that fit into each other with known gaps, for rows of the contract. */
#ifndef ABUT_TESTS_CONTACT_CONTRACT_FITS_H
#define ABUT_TESTS_CONTACT_CONTRACT_FITS_H

#include "contact/contract.h"

/* A peg in a hole, a cube in a tray, or a plug of two pegs in a socket of two pockets. Walls are
 * planes of the outer body that face a box of the inner one. */
typedef enum fit_kind { HOLE, TRAY, PLUG, FIT_KINDS } fit_kind;

static const char *const fit_name[] = {"hole", "tray", "plug"};

typedef struct wall {
    abut_vec3 normal; /* towards the box */
    double offset;    /* the wall: normal . x = offset */
    double z0, z1;    /* where it ends */
    double side;      /* the sign of x of contacts at it; 0 = any */
} wall;

typedef struct fit {
    model inner, around;
    abut_vec3 half;   /* sides of the box */
    abut_vec3 box[2]; /* the centre of the box for walls whose side is not 1, and 1 */
    abut_pose at;     /* of the inner body, where opposite gaps are equal */
    double rise;      /* how far it may be shifted along z; 0: as far as along x and y */
    wall walls[8];
    uint32_t wall_count;
    double clearance;
    int subdivisions;
    fit_kind kind;
} fit;

static inline void add_walls(fit *f, double middle, double z0, double z1, double side) {
    const double x = f->half.x + f->clearance, y = f->half.y + f->clearance;
    wall *w = f->walls + f->wall_count;
    w[0] = (wall){v3(-1, 0, 0), -x - middle, z0, z1, side};
    w[1] = (wall){v3(1, 0, 0), -x + middle, z0, z1, side};
    w[2] = (wall){v3(0, -1, 0), -y, z0, z1, side};
    w[3] = (wall){v3(0, 1, 0), -y, z0, z1, side};
    f->wall_count += 4;
}

static inline fit make_fit(fit_kind kind, double clearance, int subdivisions) {
    fit f = {.kind = kind, .clearance = clearance, .subdivisions = subdivisions};
    const uint32_t segments = 1u << subdivisions;
    f.at = (abut_pose){{0, 0, 0, 1}, {0, 0, 0}};
    if (kind == HOLE) {
        f.half = v3(0.25, subdivisions % 2 ? 0.4 : 0.25, 0.6);
        f.around = hole_model(f.half.x, f.half.y, clearance, subdivisions);
        f.rise = 0.05;
        add_walls(&f, 0, -0.5, 0.5, 0);
    } else if (kind == TRAY) {
        f.half = v3(0.5, 0.5, 0.5);
        f.around = tray_model(clearance, subdivisions, 0);
        f.at.translation.z = 0.5 + clearance;
        add_walls(&f, 0, 0, 1, 0);
        f.walls[f.wall_count++] = (wall){v3(0, 0, 1), 0, -1, 2, 0};
    } else { /* upside down; neither the tips nor the plates are near each other */
        const double c = clearance;
        const double x[] = {-1, -0.75, -0.25, 0.25, 0.75, 1}, y[] = {-0.6, -0.25, 0.25, 0.6};
        const double wide_x[] = {-1, -0.75 - c, -0.25 + c, 0.25 - c, 0.75 + c, 1};
        const double wide_y[] = {-0.6, -0.25 - c, 0.25 + c, 0.6};
        f.half = v3(0.25, 0.25, 0.3);
        f.box[0] = v3(-0.5, 0, 0.3);
        f.box[1] = v3(0.5, 0, 0.3);
        f.inner = plate_model("", x, 6, y, 4, 0.6, -0.3, subdivisions, 0);
        f.around = plate_model("", wide_x, 6, wide_y, 4, -0.75, -1, subdivisions, 0);
        f.at = (abut_pose){{1, 0, 0, 0}, {0, 0, 0.1}};
        f.rise = 0.01;
        add_walls(&f, -0.5, -0.75, 0, -1);
        add_walls(&f, 0.5, -0.75, 0, 1);
    }
    if (kind != PLUG)
        f.inner = box_model("", 2 * f.half.x, 2 * f.half.y, 2 * f.half.z, segments);
    snprintf(f.inner.name, sizeof f.inner.name, "in:%s:%d", fit_name[kind], subdivisions);
    snprintf(f.around.name, sizeof f.around.name, "%s:%.17g:%d", fit_name[kind], clearance,
             subdivisions);
    return f;
}

/* Fits are kept until the program ends, since measures name their models. */
static inline const fit *find_fit(fit_kind kind, double clearance, int subdivisions) {
    static fit kept[64];
    static uint32_t count;
    for (uint32_t i = 0; i < count; i++)
        if (kept[i].kind == kind && kept[i].clearance == clearance &&
            kept[i].subdivisions == subdivisions)
            return &kept[i];
    assert_true(count < 64);
    kept[count] = make_fit(kind, clearance, subdivisions);
    return &kept[count++];
}

/* The least gap between the box and a wall: over the edges of the box between the ends of the wall.
 * Negative where it is in the wall. */
static inline double measure_gap(const fit *f, const wall *w, const abut_pose *local) {
    double gap = INFINITY;
    for (int e = 0; e < 24; e++) { /* 8 corners, each with 3 edges */
        abut_vec3 p[2];
        for (int k = 0; k < 2; k++) {
            const int corner = k ? (e / 3) ^ (1 << e % 3) : e / 3;
            const abut_vec3 part =
                v3(corner & 1 ? f->half.x : -f->half.x, corner & 2 ? f->half.y : -f->half.y,
                   corner & 4 ? f->half.z : -f->half.z);
            p[k] = pose_apply(local, v3_add(f->box[w->side > 0], part));
        }
        double lo = 0, hi = 1;
        const double from = p[0].z, along = p[1].z - p[0].z;
        if (fabs(along) < 1e-300) {
            if (from < w->z0 || from > w->z1)
                continue;
        } else {
            const double t0 = (w->z0 - from) / along, t1 = (w->z1 - from) / along;
            lo = real_max(lo, real_min(t0, t1));
            hi = real_min(hi, real_max(t0, t1));
            if (lo > hi)
                continue;
        }
        gap = real_min(gap, v3_dot(w->normal, v3_lerp(p[0], p[1], lo)) - w->offset);
        gap = real_min(gap, v3_dot(w->normal, v3_lerp(p[0], p[1], hi)) - w->offset);
    }
    return gap;
}

/* The question for a local pose of the box, with both bodies moved by `world`; or exchanged. */
static inline question fit_question(const fit *f, const abut_pose *local, const abut_pose *world,
                                    double margin, bool swapped) {
    question q = {.a = &f->inner, .b = &f->around, .pose_b = *world, .margin = margin};
    assert_ok(abut_pose_compose(world, local, &q.pose_a));
    if (swapped) {
        const question was = q;
        q.a = was.b;
        q.b = was.a;
        q.pose_a = was.pose_b;
        q.pose_b = was.pose_a;
    }
    return q;
}

/* The deepest contact whose normal is within 25 degrees of that of the wall, on its side;
 * -infinity if there is none. */
static inline double deepest_at_wall(const wall *w, const abut_pose *world, bool swapped,
                                     const answer *got) {
    const mat3 turn = quat_matrix(world->rotation);
    const abut_pose back = pose_inverse(world);
    const abut_vec3 normal = v3_scale(m3_apply(&turn, w->normal), swapped ? -1 : 1);
    double deepest = -INFINITY;
    for (uint64_t i = 0; i < got->found.contacts.count; i++) {
        const abut_contact *c = &got->contacts[i];
        if (v3_dot(c->normal, normal) > 0.9 && w->side * pose_apply(&back, c->point).x >= 0)
            deepest = real_max(deepest, c->depth);
    }
    return deepest;
}

/* The inner body within its clearance, or pressed into walls by up to `press`, turned by as much.
 */
static inline abut_pose random_fit(test_random *random, const fit *f, double press) {
    for (;;) {
        abut_pose local;
        const double reach = f->clearance + press, rise = f->rise > 0 ? f->rise : reach;
        const double angle = test_random_below(random, 3) ? test_random_real(random, 0, reach) : 0;
        const abut_vec3 axis = random_direction(random);
        const abut_vec3 shift =
            v3(test_random_real(random, -reach, reach), test_random_real(random, -reach, reach),
               test_random_real(random, -rise, rise));
        assert_ok(abut_pose_from_axis_angle(axis, angle, shift, &local));
        local.rotation = quat_multiply(local.rotation, f->at.rotation);
        local.translation = v3_add(local.translation, f->at.translation);
        double nearest = INFINITY;
        for (uint32_t i = 0; i < f->wall_count; i++)
            nearest = real_min(nearest, measure_gap(f, &f->walls[i], &local));
        if (press > 0 ? nearest < 0 && nearest > -press : nearest > 0)
            return local;
    }
}

static inline abut_pose random_world(test_random *random) {
    const abut_pose identity = {{0, 0, 0, 1}, {0, 0, 0}};
    return test_random_below(random, 3) ? random_pose(random, 2) : identity;
}

#endif
