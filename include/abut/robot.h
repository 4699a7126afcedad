/* Robots: kinematic trees of links with collision geometry, tested in batches of configurations.
 *
 * A robot is read from a URDF or MJCF file, or created from a description. Its links form a tree.
 * Joints are fixed, revolute, continuous or prismatic. A configuration has one number for each
 * variable: a joint that moves and does not mimic another one. Angles are in radians.
 *
 *     abut_robot *arm;
 *     abut_robot_read(NULL, "arm.urdf", NULL, &arm);
 *     abut_robot_obstacles_create(NULL, colliders, collider_count, &obstacles);
 *     abut_robot_test(arm, obstacles, configurations, count, hits, NULL);
 *     abut_robot_sweep(arm, obstacles, from, to, 1, NULL, &motion, NULL);
 *
 * Tested pairs: each link with each obstacle, and all pairs of links that are not allowed to
 * collide. The allowed-collision matrix initially allows links that never move relative to each
 * other, and neighbours: links with geometry that are connected by one joint, or through links
 * without geometry. It can be edited, read from an SRDF file, and extended by sampling.
 *
 * Geometry: meshes, hulls and boxes are exact. Spheres and capsules are enlarged by at most 0.001
 * of their radius, and cylinders by 0.0013, as in abut_sweep_rigid(). So no collision is missed.
 * Containment counts as in <abut/pair.h>.
 *
 * Method of a motion: conservative advancement. For an interval of time, the motion of each point
 * of a link is bounded by the sum over its joints of |change of the joint| times the distance from
 * the axis. The bound includes the motion of the joints behind each other. A pair that is further
 * apart in the middle of the interval than this bound does not touch within it. Other intervals
 * are halved.
 *
 * Results do not depend on the number of threads. Queries only read robots and obstacles, so any
 * number of threads may use the same ones.
 */
#ifndef ABUT_ROBOT_H
#define ABUT_ROBOT_H

#include <abut/base.h>
#include <abut/collider.h>
#include <abut/geom.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct abut_robot abut_robot;

/* The largest magnitude of lengths of a description and of numbers of a configuration. */
#define ABUT_ROBOT_NUMBER_MAX 1e12
#define ABUT_ROBOT_LINK_MAX 1024     /* maximum number of links */
#define ABUT_ROBOT_GEOMETRY_MAX 2048 /* maximum number of parts of the geometry */

/* ---- description ---- */

typedef enum abut_robot_joint_kind {
    ABUT_ROBOT_FIXED = 0,
    ABUT_ROBOT_REVOLUTE,   /* rotates about its axis, with limits */
    ABUT_ROBOT_CONTINUOUS, /* rotates without limits */
    ABUT_ROBOT_PRISMATIC   /* translates along its axis */
} abut_robot_joint_kind;

/* Returns "fixed", "revolute", "continuous" or "prismatic", or null if there is no such kind.
 * Thread-safe. */
ABUT_API const char *abut_robot_joint_kind_name(abut_robot_joint_kind kind);

/* A joint. Its child is moved by pose * motion, relative to its parent. The motion is a rotation
 * about the axis through the anchor, or a translation along the axis. */
typedef struct abut_robot_joint {
    const char *name;
    abut_robot_joint_kind kind;
    uint32_t parent, child; /* links */
    abut_pose pose;         /* of the child relative to the parent at 0 */
    abut_vec3 axis;         /* in the coordinates of the child; any length except 0. Zero and FIXED:
                             * not used */
    abut_vec3 anchor;       /* a point of the axis, in the coordinates of the child */
    double lower, upper;    /* limits of the value; both 0 = none. CONTINUOUS has none */
    uint32_t mimic;         /* the joint that this one follows; ABUT_NONE = none. The followed joint
                             * must not mimic another one */
    double multiplier;      /* value = multiplier x variable + offset; 0 = 1 */
    double offset;
} abut_robot_joint;

/* A part of the collision geometry of a link. */
typedef struct abut_robot_geometry {
    uint32_t link;
    abut_collider collider; /* relative to the link: a body with a BVH, or a primitive except a
                             * plane. The robot keeps a reference to the BVH, which must not be
                             * changed */
} abut_robot_geometry;

typedef struct abut_robot_description {
    size_t size;
    const char *name;         /* null = "robot" */
    const char *const *links; /* unique names */
    uint32_t link_count;      /* 1 to ABUT_ROBOT_LINK_MAX */
    const abut_robot_joint
        *joints; /* unique names. Each link except one is the child of one joint */
    uint32_t joint_count;
    const abut_robot_geometry *geometries;
    uint32_t geometry_count;
} abut_robot_description;

ABUT_DEFAULT(abut_robot_description)

/* Creates a robot; copies the description. Variables are the joints that move and do not mimic
 * another one, in the order of the description. Returns ABUT_ERROR_ARGUMENT for an invalid
 * description; the message names the joint or link. Thread-safe. */
ABUT_API abut_status abut_robot_create(abut_context *context,
                                       const abut_robot_description *description,
                                       abut_robot **robot);
/* Destroys a robot. Null is allowed. No other thread may use the robot. */
ABUT_API void abut_robot_destroy(abut_robot *robot);

/* ---- files ---- */

typedef struct abut_robot_read_options {
    size_t size;
    const char *root; /* folder with packages: package://NAME/FILE is root/NAME/FILE, or root/FILE
                       * if that does not exist. Null = the folder of the robot and up to 7 folders
                       * above it are tried. Such a FILE must not contain ".." */
} abut_robot_read_options;

ABUT_DEFAULT(abut_robot_read_options)

/* Reads a robot from a URDF file (root element "robot") or an MJCF file ("mujoco"), with the meshes
 * of its collision geometry: OBJ, PLY, STL, OFF, glTF. docs/robot.md lists the elements that are
 * read. Other mesh paths are relative to the folder of the file. `options` may be null. Returns
 *  - ABUT_ERROR_FORMAT for content that the formats do not define, and for links that are not a
 *    tree; the message names the file and the line,
 *  - ABUT_ERROR_UNSUPPORTED for planar, floating, ball and free joints, for a DOCTYPE, for elements
 *    that docs/robot.md lists, and without the "urdf" feature,
 *  - ABUT_ERROR_FILE for missing meshes,
 *  - ABUT_ERROR_LIMIT for files of more than 256 MiB or a million elements.
 * expat allocates from libc instead of the context. Thread-safe. */
ABUT_API abut_status abut_robot_read(abut_context *context, const char *path,
                                     const abut_robot_read_options *options, abut_robot **robot);
/* The same for a robot in memory. `name` replaces the path in messages, and relative paths start at
 * its folder. Null = the robot cannot refer to files. Thread-safe. */
ABUT_API abut_status abut_robot_read_memory(abut_context *context, const void *data, size_t bytes,
                                            const char *name,
                                            const abut_robot_read_options *options,
                                            abut_robot **robot);

/* ---- contents ---- */

typedef struct abut_robot_info {
    size_t size; /* sizeof(abut_robot_info), set by the default function */
    const char *name;
    uint32_t link_count, joint_count, variable_count, geometry_count;
    uint64_t triangle_count; /* of the geometry, with the meshes of primitives */
    uint32_t pair_count;     /* pairs of links that are tested */
    double reach; /* upper bound of the distance of a point of the robot from its base, for joints
                   * within their limits; joints without limits: within one turn or one length */
} abut_robot_info;

ABUT_DEFAULT(abut_robot_info)

/* Stores the counts of a robot. `info->size` must be set. Strings are valid until the robot is
 * destroyed. Thread-safe. */
ABUT_API abut_status abut_robot_get_info(const abut_robot *robot, abut_robot_info *info);
/* Returns the name of a link, or null for an invalid index. Thread-safe. */
ABUT_API const char *abut_robot_link_name(const abut_robot *robot, uint32_t link);
/* Stores a joint. Thread-safe. */
ABUT_API abut_status abut_robot_get_joint(const abut_robot *robot, uint32_t index,
                                          abut_robot_joint *joint);
/* Stores the index of the joint of a variable. Thread-safe. */
ABUT_API abut_status abut_robot_get_variable(const abut_robot *robot, uint32_t variable,
                                             uint32_t *joint);
/* Stores a part of the geometry. Meshes are bodies with a BVH of the robot. Thread-safe. */
ABUT_API abut_status abut_robot_get_geometry(const abut_robot *robot, uint32_t index,
                                             abut_robot_geometry *geometry);

/* Sets the pose of the root link in the world; initially the identity. Not thread-safe. */
ABUT_API abut_status abut_robot_set_base(abut_robot *robot, const abut_pose *base);

/* Computes the poses of all links in `count` configurations: poses[i * link_count + link].
 * `configurations` has variable_count doubles for each; limits are not enforced. Returns
 * ABUT_ERROR_ARGUMENT for numbers that are not finite or beyond ABUT_ROBOT_NUMBER_MAX.
 * Thread-safe. */
ABUT_API abut_status abut_robot_compute_poses(const abut_robot *robot, const double *configurations,
                                              size_t count, abut_pose *poses);

/* ---- allowed collisions ---- */

/* Sets whether two different links may collide; such pairs are not tested. Not thread-safe. */
ABUT_API abut_status abut_robot_allow(abut_robot *robot, uint32_t a, uint32_t b, bool allow);
/* Returns whether two links may collide; true for one link and for invalid indices. Thread-safe. */
ABUT_API bool abut_robot_is_allowed(const abut_robot *robot, uint32_t a, uint32_t b);

/* Reads an SRDF file and allows the collisions of its elements "disable_collisions". `count` gets
 * the number of these pairs and may be null. Pairs with unknown links are skipped and logged as
 * warnings. On failure nothing changes. Errors are as in abut_robot_read(). Not thread-safe. */
ABUT_API abut_status abut_robot_read_allowed(abut_robot *robot, const char *path, uint32_t *count);

typedef struct abut_robot_sample_options {
    size_t size;
    uint32_t samples; /* number of random configurations; 0 = 10000 */
    uint64_t seed;
    bool keep_never; /* keep testing pairs that no sample made collide */
} abut_robot_sample_options;

ABUT_DEFAULT(abut_robot_sample_options)

typedef struct abut_robot_sample_report {
    size_t size; /* sizeof(abut_robot_sample_report), set by the default function */
    uint32_t samples;
    uint32_t always, never; /* pairs of links that collided in all samples, and in none */
    uint32_t remaining;     /* pairs of links that are still tested */
} abut_robot_sample_report;

ABUT_DEFAULT(abut_robot_sample_report)

/* Tests all pairs of links in random configurations within the limits. Allows the collisions of
 * pairs that collide in all of them, and, unless options->keep_never is set, in none of them.
 * Joints without limits turn by up to half a turn, or move by up to 1. Samples are no proof: a pair
 * that can collide in few configurations may be allowed. `options` and `report` may be null. The
 * result depends on the seed, not on threads. On failure nothing changes. Not thread-safe. */
ABUT_API abut_status abut_robot_sample_allowed(abut_robot *robot,
                                               const abut_robot_sample_options *options,
                                               abut_robot_sample_report *report);

/* ---- obstacles ---- */

/* The environment of robots: colliders at fixed poses. */
typedef struct abut_robot_obstacles abut_robot_obstacles;

/* Prepares obstacles: bodies with a BVH, meshes, and primitives including planes. Keeps references
 * to BVHs, which must not be changed. A mesh gets a BVH. `count` may be 0. Thread-safe. */
ABUT_API abut_status abut_robot_obstacles_create(abut_context *context,
                                                 const abut_collider *colliders, size_t count,
                                                 abut_robot_obstacles **obstacles);
/* Destroys obstacles. Null is allowed. No other thread may use them. */
ABUT_API void abut_robot_obstacles_destroy(abut_robot_obstacles *obstacles);

/* ---- configurations ---- */

/* A pair that collides. */
typedef struct abut_robot_hit {
    bool collides;
    uint32_t link;       /* ABUT_NONE if nothing collides */
    uint32_t other_link; /* for a self-collision; otherwise ABUT_NONE */
    uint32_t obstacle;   /* otherwise ABUT_NONE */
} abut_robot_hit;

/* Tests `count` configurations, on all threads of the context of the robot. The test of one
 * configuration ends with the first pair that collides: obstacles first, from the last link to the
 * first one, then pairs of links. `obstacles` may be null. `reliability` is the lowest of all tests
 * and may be null. Limits of joints are not enforced. Returns ABUT_ERROR_ARGUMENT, before any
 * result is written, for configurations that abut_robot_compute_poses() rejects. Reports progress
 * as stage "robot". Thread-safe. */
ABUT_API abut_status abut_robot_test(const abut_robot *robot, const abut_robot_obstacles *obstacles,
                                     const double *configurations, size_t count,
                                     abut_robot_hit *hits, abut_reliability *reliability);

/* ---- distances ---- */

/* The closest pair of a configuration. */
typedef struct abut_robot_separation {
    double distance;               /* 0 if the pair collides */
    uint32_t link;                 /* ABUT_NONE if there is no pair within the limit */
    uint32_t other_link, obstacle; /* as in abut_robot_hit */
    abut_vec3 point_a, point_b; /* closest points, of the link and of the other body; zero if there
                                 * is no pair */
    abut_reliability reliability;
} abut_robot_separation;

/* Computes the closest pair of `count` configurations. `limit` is a length: without a pair that
 * close, `distance` is the limit and `link` is ABUT_NONE; 0 = no limit, and the distance is then
 * infinite if no pair is tested. `gradients` may be null; otherwise it gets the derivatives of each
 * distance by the variables, as many as a configuration has: zero if the pair collides or there is
 * none. Where the closest points are not unique, they are those of one of the closest pairs.
 * Distances of spheres, capsules and cylinders are too small by at most 0.0013 of their radii.
 * Other arguments and errors are as in abut_robot_test(). Thread-safe. */
ABUT_API abut_status abut_robot_distance(const abut_robot *robot,
                                         const abut_robot_obstacles *obstacles,
                                         const double *configurations, size_t count, double limit,
                                         abut_robot_separation *separations, double *gradients);

/* ---- motions ---- */

typedef struct abut_robot_sweep_options {
    size_t size;
    double tolerance; /* a length. At the time of contact the distance is at most the tolerance. 0 =
                       * 1e-5 of the reach. Motions along an obstacle at a smaller distance take
                       * long and may end with a contact */
} abut_robot_sweep_options;

ABUT_DEFAULT(abut_robot_sweep_options)

typedef struct abut_robot_motion {
    bool touches;
    double time;                         /* 0 to 1; 1 if nothing touches */
    uint32_t link, other_link, obstacle; /* as in abut_robot_hit */
    uint32_t steps;                      /* configurations that the search has examined */
} abut_robot_motion;

/* Tests `count` motions: motion i moves all joints linearly in time from the configuration from[i]
 * to to[i]; each has variable_count doubles. Finds the first time of contact, or proves that there
 * is none, including self-collisions.
 *
 * Guarantee: conservative. No contact is missed, however thin the bodies and however fast the
 * motion. No time is late. A time may be early, and a contact may be a false positive; the distance
 * at that time is at most the tolerance. If something collides at the start, the time is 0.
 *
 * `options` may be null. `reliability` is that of the tests at the start, as in abut_robot_test().
 * Other arguments and errors are as in abut_robot_test(). Thread-safe. */
ABUT_API abut_status abut_robot_sweep(const abut_robot *robot,
                                      const abut_robot_obstacles *obstacles, const double *from,
                                      const double *to, size_t count,
                                      const abut_robot_sweep_options *options,
                                      abut_robot_motion *motions, abut_reliability *reliability);

#ifdef __cplusplus
}
#endif

#endif
