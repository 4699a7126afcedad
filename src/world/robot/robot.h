/* Robots: what the files of the module share.
 *
 * A shape is one part of the geometry of a link, or an obstacle. Its surface is the mesh of a BVH,
 * enlarged by a radius (the core of a primitive, see sweep/rigid.h), or a plane. */
#ifndef ABUTI_ROBOT_H
#define ABUTI_ROBOT_H

#include "base/base.h"
#include "geom/pose.h"
#include "pair/pair.h"

#include <abut/robot.h>

typedef struct robot_shape {
    abut_collider collider; /* relative to the link or the world; without the reference */
    abut_bvh *bvh;          /* a reference; null for a plane */
    double radius;          /* around the mesh of the BVH */
    uint32_t owner;         /* link or obstacle */
    vec3 centre;            /* of the bounding box of the mesh, in the coordinates of the mesh */
    vec3 half;              /* of the box, with the radius */
    bool is_moved;          /* the pose of the collider is not the identity */
    double ball;            /* radius of the bounding sphere about the centre, with the radius */
} robot_shape;

/* A shape in the world. */
typedef struct robot_place {
    abut_pose pose;
    mat3 axes;          /* columns: the axes of its box */
    vec3 centre;        /* of its box and its bounding sphere */
    double ball, slack; /* radius of the sphere with the rounding error of bounds; that error */
} robot_place;

typedef struct robot_link {
    char *name;
    uint32_t joint;  /* whose child it is; ABUT_NONE for the root */
    uint32_t parent; /* ABUT_NONE for the root */
    uint32_t depth;  /* number of joints up to the root */
    uint32_t group;  /* the first link that it never moves relative to */
} robot_link;

typedef struct robot_joint {
    abut_robot_joint is; /* with a unit axis; its name is owned */
    uint32_t variable;   /* ABUT_NONE for fixed joints */
    double multiplier;   /* of the variable */
} robot_joint;

/* Two shapes of links that are tested. */
typedef struct robot_pair {
    uint32_t a, b;
    uint32_t common; /* the last link that both descend from */
} robot_pair;

struct abut_robot {
    abut_context *context;
    char *name;
    abut_pose base;
    robot_link *links;
    robot_joint *joints;
    robot_shape *shapes; /* sorted by link */
    uint32_t *order;     /* links, parents first */
    uint32_t *variables; /* joints */
    uint64_t *allowed;   /* bit link_count x a + b */
    robot_pair *pairs;   /* room for all pairs of shapes */
    uint32_t link_count, joint_count, variable_count, shape_count;
    size_t pair_count, link_pair_count;
    double reach;
};

struct abut_robot_obstacles {
    abut_context *context;
    robot_shape *shapes;
    robot_place *places;
    uint32_t count;
};

static inline bool robot_is_allowed(const abut_robot *r, uint32_t a, uint32_t b) {
    const size_t bit = (size_t)r->link_count * a + b;
    return r->allowed[bit / 64] >> bit % 64 & 1;
}

/* ---- shapes.c ---- */

/* Fills a shape; the caller releases it on failure too. `what` names the collider. */
abut_status abuti_robot_make_shape(const char *function, const char *what, abut_context *context,
                                   const abut_collider *collider, bool allow_plane,
                                   robot_shape *shape);
void abuti_robot_release_shape(robot_shape *shape);
/* The shape at a pose of its owner. */
robot_place abuti_robot_place(const robot_shape *shape, const abut_pose *owner);
/* Whether bounding spheres or boxes prove that two shapes are more than `margin` apart. */
bool abuti_robot_is_apart(const robot_shape *a, const robot_place *at_a, const robot_shape *b,
                          const robot_place *at_b, double margin);
/* A lower bound of the distance of two shapes, by their bounds; negative if they overlap. */
double abuti_robot_lower_bound(const robot_shape *a, const robot_place *at_a, const robot_shape *b,
                               const robot_place *at_b);
/* Whether triangles of two shapes may be within a margin. False proves that none are; true may be
 * wrong. */
bool abuti_robot_may_touch(const robot_shape *a, const robot_place *at_a, const robot_shape *b,
                           const robot_place *at_b, double margin);
/* Height of the lowest point of a shape above a plane; `point` may be null. */
double abuti_robot_plane_height(const robot_shape *shape, const robot_place *at,
                                const robot_shape *plane, const robot_place *plane_at, vec3 *point);
/* Whether two shapes overlap or are within a margin. `surfaces`: ignore containment. */
abut_status abuti_robot_within(const robot_shape *a, const robot_place *at_a, const robot_shape *b,
                               const robot_place *at_b, double margin, bool surfaces,
                               abut_pair_cache *cache, bool *within, unsigned *flags);

/* ---- kinematics.c ---- */

/* The state of a robot in one configuration. */
typedef struct robot_state {
    abut_pose *links;
    robot_place *places;    /* of each shape */
    abut_pair_cache *cache; /* of obstacle x shape, then of pairs */
} robot_state;

/* Allocates the state for queries with that many obstacles. */
abut_status abuti_robot_create_state(const abut_robot *robot, uint32_t obstacles,
                                     robot_state *state);
void abuti_robot_destroy_state(const abut_robot *robot, robot_state *state);
/* Computes the poses of the links and the places of the shapes. */
void abuti_robot_pose(const abut_robot *robot, const double *configuration, robot_state *state);
/* Validates configurations. */
abut_status abuti_robot_check_configurations(const char *function, const char *what,
                                             const abut_robot *robot, const double *numbers,
                                             size_t count);

/* ---- allowed.c ---- */

/* Sets an entry of the matrix; abuti_robot_list_pairs() must follow. */
void abuti_robot_set_allowed(abut_robot *robot, uint32_t a, uint32_t b, bool allow);
/* Fills the initial matrix. */
void abuti_robot_allow_neighbours(abut_robot *robot);
/* Whether a pair has the first shapes of both links: one pair of each two links has. */
bool abuti_robot_is_first_pair(const abut_robot *robot, const robot_pair *pair);
/* Lists the pairs of shapes that are tested. */
void abuti_robot_list_pairs(abut_robot *robot);

/* ---- test.c ---- */

/* Finds the first pair that collides in the state. */
abut_status abuti_robot_find_hit(const abut_robot *robot, const abut_robot_obstacles *obstacles,
                                 robot_state *state, abut_robot_hit *hit, unsigned *flags);

/* A loop over configurations or motions on all threads, each thread with a state of its own. */
typedef struct robot_batch {
    const abut_robot *robot;
    const abut_robot_obstacles *obstacles; /* or null */
    size_t count;
    abut_status (*run)(struct robot_batch *batch, robot_state *state, size_t index,
                       unsigned *flags);
    atomic_uint failure, flags;
} robot_batch;
abut_status abuti_robot_run_batch(robot_batch *batch, abut_reliability *reliability);

#endif
