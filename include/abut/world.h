/* Worlds: many bodies at poses, and all their contacts in one call.
 *
 * A world keeps bodies and solids under small numbers. A hierarchy of their boxes finds the pairs
 * that may touch, a rule says how the contacts of each are found, and the contacts of all pairs
 * come in one list, the same on any number of threads and on a device.
 *
 *              body                        solid                          character
 * body         exact, or by fields         exact, or by fields            by fields
 * solid                                    exact; two planes never        by fields, some
 * character                                                               never
 *
 * Exact is abut_contact_patches() for two bodies, abut_contact_solid() for a body and a solid, and
 * abut_contact_solids(); bodies need a hierarchy. By fields is abut_contact_bodies(),
 * abut_contact_plane() and so on, and needs a field in one body and samples in the other; samples
 * in the body against a plane; a field in the body against a sphere, capsule or box. A pair that
 * has neither is never tried.
 *
 * Of characters it is abut_radial_contacts(), on the CPU: of spheres, capsules, and the samples of
 * bodies, or the vertices of their meshes where they have none; so a body needs some that are as
 * near to each other as limbs are thin. Planes meet the samples of radial fields. Boxes, cylinders,
 * hulls, bodies with a field alone and other characters are never tried.
 *
 * A world is for one user at a time; its work runs on all threads of its context.
 */
#ifndef ABUT_WORLD_H
#define ABUT_WORLD_H

#include <abut/base.h>
#include <abut/bvh.h>
#include <abut/contact.h>
#include <abut/device.h>
#include <abut/field.h>
#include <abut/radial.h>
#include <abut/sweep.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct abut_world abut_world;

/* How the contacts of a pair are found. */
typedef enum abut_world_method {
    ABUT_WORLD_AUTO = 0, /* exact where that is possible, else by fields. In a world with a device
                          * by fields where that is possible, else exact, on the CPU */
    ABUT_WORLD_EXACT,    /* from exact geometry; pairs that lack hierarchies are not tried. Not with
                          * a device */
    ABUT_WORLD_FIELD /* samples against distance fields; pairs that lack these are not tried, but
                      * two solids, always exact */
} abut_world_method;

ABUT_API const char *abut_world_method_name(abut_world_method method);

typedef struct abut_world_options {
    size_t size;
    double margin;           /* contacts are also features that are this near */
    uint32_t patch_contacts; /* how many are kept of each patch of a pair. Fields: as by
                              * abut_contact_reduce(); 0 = all contacts. Exact: 0 = 4, at most 8 */
    double angle;            /* of patches; 0 = 0.5 radians */
    bool samples;            /* only samples, no deepest points of edges */
    bool any_normal;         /* as in abut_contact_options */
    uint64_t pair_limit;     /* more candidates fail with ABUT_ERROR_LIMIT; 0 = 2^24 */
    abut_device *device;     /* where pairs of bodies are tried; null = the CPU. Contacts are the
                              * same */
    abut_world_method method;
    bool unchecked; /* as in abut_patch_options: exact depths are not checked */
} abut_world_options;

ABUT_DEFAULT(abut_world_options)

/* What an item of a world is. */
typedef enum abut_world_kind {
    ABUT_WORLD_BODY = 0, /* a hierarchy; a field, samples, or both; or all three */
    ABUT_WORLD_PLANE,
    ABUT_WORLD_SPHERE,
    ABUT_WORLD_CAPSULE,
    ABUT_WORLD_BOX, /* about the origin of its pose */
    ABUT_WORLD_CYLINDER,
    ABUT_WORLD_HULL,     /* a closed convex mesh */
    ABUT_WORLD_CHARACTER /* radial fields. Its pose is the identity: it is where they are */
} abut_world_kind;

ABUT_API const char *abut_world_kind_name(abut_world_kind kind);

/* What moves an item. A pair is tried where one of them is dynamic; or where one of them is a
 * sensor and they are not both static. */
typedef enum abut_world_motion {
    ABUT_WORLD_DYNAMIC = 0, /* forces */
    ABUT_WORLD_KINEMATIC,   /* the user, whatever is in the way */
    ABUT_WORLD_STATIC       /* nothing */
} abut_world_motion;

ABUT_API const char *abut_world_motion_name(abut_world_motion motion);

typedef struct abut_world_item {
    abut_world_kind kind;
    abut_world_motion motion;
    uint32_t group; /* a bit for each group that it belongs to; 0 = the first alone */
    uint32_t mask;  /* a bit for each group that it collides with; 0 = all. Two items are tried if
                     * each is of a group that the other collides with */
    bool sensor;    /* its pairs have events, and no contacts */
    abut_pose pose; /* of zeros: where it is */
    union {         /* by kind, in coordinates that the pose moves */
        struct {
            const abut_field *field; /* live as long as the item, and stay as they are */
            const abut_samples *samples;
            const abut_bvh *bvh; /* of the same mesh */
        } body;
        abut_plane plane;
        abut_sphere sphere;
        abut_capsule capsule;
        abut_vec3 half; /* sizes of a box */
        abut_cylinder cylinder;
        const abut_bvh *hull;   /* lives as long as the item, and stays as it is */
        abut_radial *character; /* lives as long as the item. After each update move the item, to
                                 * the identity, so that the world sees it. Nobody else uses it
                                 * during a call of the world */
    } shape;
} abut_world_item;

/* Creates an empty world. `options` may be null. Fails with ABUT_ERROR_DEVICE for a device that
 * rounds floats otherwise than the CPU. Thread-safe. */
ABUT_API abut_status abut_world_create(abut_context *context, const abut_world_options *options,
                                       abut_world **world);
/* Null is allowed. */
ABUT_API void abut_world_destroy(abut_world *world);

/* Adds an item. Its id is the one that became free last, or else the number of items so far.
 * Refused, here and by abut_world_move(): poses that abut_contact_bodies() refuses, solids that its
 * companions refuse where they are, and characters at a pose. */
ABUT_API abut_status abut_world_add(abut_world *world, const abut_world_item *item, uint32_t *id);
/* Takes an item out. Its id is free for another. What it was to be ignored with is forgotten. */
ABUT_API abut_status abut_world_remove(abut_world *world, uint32_t id);
/* Gives `count` items new poses (abut_pose); null ids mean 0 to count - 1. All of them or, on
 * failure, none. Of an id that comes twice the last pose stays. Poses in a buffer are for a world
 * on its device, and stay there as long as only abut_world_records_get() is asked; where solids are
 * among the items, they come to the host. */
ABUT_API abut_status abut_world_move(abut_world *world, const uint32_t *ids, abut_array poses,
                                     size_t count);

/* Sets whether two items are never tried, whatever their groups: joints, parts of one machine, a
 * robot's allowed collisions. Of different items that are there; it lasts until one is removed. */
ABUT_API abut_status abut_world_ignore(abut_world *world, uint32_t a, uint32_t b, bool ignore);

/* ---- pairs ---- */

typedef struct abut_world_pair {
    uint32_t a, b; /* a < b */
} abut_world_pair;

/* Lists the pairs that are tried: those whose boxes overlap, sorted by a, then b. A box holds the
 * mesh, the grid of the field, all samples, and half the margin more, so nothing that touches is
 * missed. With a capacity that is
 * too small nothing is written, and ABUT_ERROR_BUFFER is returned; *count is set in either case. */
ABUT_API abut_status abut_world_pairs(abut_world *world, uint64_t capacity, abut_world_pair *pairs,
                                      uint64_t *count);

/* ---- contacts ---- */

/* Finds all contacts of all pairs but those of sensors, in the order of abut_world_pairs(); `pair`
 * of a contact is the place in that list. Normals point from b to a. Within a pair they are those
 * of its method. Fields: features of a, then those of b; or, with options.patch_contacts, as
 * abut_contact_reduce() leaves them. Exact: patch by patch, the deepest first; the hint of
 * abut_contact_patches() is the normal of the deepest contact of the pair the last time that
 * contacts were found, or else against the motion of a relative to b since then.
 * Features of characters against planes are samples of all fields in order (ABUT_CONTACT_POINT);
 * of spheres and capsules against characters, places (ABUT_CONTACT_SOLID, whose elements are the
 * parts of abut_radial_contacts()). options.samples and options.any_normal are not asked there.
 * The advice is the worst of all pairs that were tried.
 * Where there are more than contacts->capacity, ABUT_ERROR_BUFFER is returned and only
 * contacts->count is set, which gets their number in either case. As long as nothing changes, a
 * second call only copies. */
ABUT_API abut_status abut_world_contacts(abut_world *world, abut_contacts *contacts);

/* ---- events ---- */

typedef enum abut_world_change {
    ABUT_WORLD_BEGIN = 0, /* the pair has contacts and had none at the last call */
    ABUT_WORLD_STAY,      /* it has, and had */
    ABUT_WORLD_END        /* it had; or an item of it was removed since then */
} abut_world_change;

ABUT_API const char *abut_world_change_name(abut_world_change change);

/* What has become of a pair. */
typedef struct abut_world_event {
    abut_world_change change;
    abut_world_method method; /* exact or field: by which its contacts came */
    uint32_t a, b;            /* a < b. At an end they may be free, or other items by now */
    bool sensor;              /* one of them is */
    bool separates;           /* as in abut_patches; never by fields */
    uint64_t first, count; /* of its contacts, in the list of abut_world_contacts(); none of sensors
                            * and at an end */
    abut_contact deepest;  /* contact of the pair; at an end, as it was */
    abut_advice advice;
} abut_world_event;

/* Tells what has become of pairs since the last call that succeeded: begin, stay and end, sorted by
 * a, then b; where an id went to another item, the end before the begin. A pair counts as touching
 * where it has a contact, also one within the margin; sensors too. With a capacity that is too
 * small nothing is written or forgotten, and ABUT_ERROR_BUFFER is returned; *count is set in either
 * case. */
ABUT_API abut_status abut_world_events(abut_world *world, uint64_t capacity,
                                       abut_world_event *events, uint64_t *count);

/* ---- over a step ---- */

/* Two items that touch within a step. */
typedef struct abut_world_impact {
    uint32_t a, b; /* a < b */
    bool sensor;   /* one of them is, which stops nothing */
    abut_sweep_touch touch;
} abut_world_impact;

typedef struct abut_world_impacts {
    abut_world_impact *list;
    uint64_t capacity, count;
    double time; /* the part of the step that is safe: the first time at which a pair touches that
                  * is apart at the start and has no sensor; 1 where none does */
    uint64_t unknown; /* pairs whose boxes overlap on the way that cannot be swept */
} abut_world_impacts;

/* Finds what `count` items touch if they go on to these poses in a step while all others stay
 * where they are: however fast and thin they are, **"no" means no**. Null ids mean 0 to count - 1;
 * of an id that comes twice the last pose counts. The world stays as it is. Items move along paths
 * as abut_path has them. Pairs are those that are tried, also of sensors. Bodies with hierarchies
 * go by abut_sweep_rigid(), and solids with them and with each other, early by less than 0.003 of
 * the radii of spheres, capsules and cylinders; but of hulls, their triangles are ABUT_NONE. Pairs
 * with a character, or a body that has no hierarchy, are counted as unknown. Pairs that touch at
 * the start do so at time 0. `options` may be null; the margin of the world is not asked. Sorted by
 * a, then b; the same on any number of threads. With a capacity that is too small nothing but
 * impacts->count is set, and ABUT_ERROR_BUFFER is returned. */
ABUT_API abut_status abut_world_sweep(abut_world *world, const uint32_t *ids, const abut_pose *ends,
                                      size_t count, const abut_sweep_rigid_options *options,
                                      abut_world_impacts *impacts);

/* ---- contacts that stay on the device ---- */

typedef struct abut_world_records {
    const abut_buffer *pairs; /* abut_world_pair: those of abut_world_pairs() that are two bodies,
                               * and tried by fields */
    const abut_buffer *begin; /* uint32_t, pair_count + 1 of them: pair i has contacts begin[i] up
                               * to but not including begin[i + 1] */
    const abut_buffer *contacts; /* abut_contact; their `pair` is that of `pairs` */
    uint64_t pair_count;
    uint64_t contact_count;
} abut_world_records;

/* Finds the pairs of bodies and their contacts on the device of the options, sensors too, and
 * leaves them there: those of abut_world_contacts() in the same order, bit for bit, also with
 * options.patch_contacts. Only the counts come to the host. Buffers belong to the world, and their
 * content stays until something changes. */
ABUT_API abut_status abut_world_records_get(abut_world *world, abut_world_records *records);

#ifdef __cplusplus
}
#endif

#endif
