/* Worlds: many bodies at poses, and all their contacts in one call.
 *
 * A world keeps bodies and solids under small numbers. A hierarchy of their boxes finds the pairs
 * that may touch, a table of colliders says what is tried for two kinds, and the contacts of all
 * pairs come in one list, the same on any number of threads and on a device.
 *
 *              body                        plane                 sphere, capsule, box
 * body         abut_contact_bodies()       abut_contact_plane()  abut_contact_sphere() and so on
 * plane                                    never                 never
 * sphere ...                                                     never
 *
 * A pair that lacks what its collider needs never touches either: a field in one body of two, or in
 * the body against a sphere, capsule or box; samples in the body against a plane. The same holds
 * for two items that are fixed.
 *
 * A world is for one user at a time; its work runs on all threads of its context.
 */
#ifndef ABUT_WORLD_H
#define ABUT_WORLD_H

#include <abut/base.h>
#include <abut/contact.h>
#include <abut/device.h>
#include <abut/field.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct abut_world abut_world;

typedef struct abut_world_options {
    size_t size;
    double margin;           /* contacts are also features that are this near */
    uint32_t patch_contacts; /* how many are kept of each patch of a pair, as by
                              * abut_contact_reduce(); 0 = all contacts */
    double angle;            /* of patches; 0 = 0.5 radians */
    bool samples;            /* only samples, no deepest points of edges */
    bool any_normal;         /* as in abut_contact_options */
    uint64_t pair_limit;     /* more candidates fail with ABUT_ERROR_LIMIT; 0 = 2^24 */
    abut_device *device;     /* where pairs of bodies are tried; null = the CPU. Contacts are the
                              * same */
} abut_world_options;

ABUT_DEFAULT(abut_world_options)

/* What an item of a world is. */
typedef enum abut_world_kind {
    ABUT_WORLD_BODY = 0, /* a field, samples, or both */
    ABUT_WORLD_PLANE,
    ABUT_WORLD_SPHERE,
    ABUT_WORLD_CAPSULE,
    ABUT_WORLD_BOX /* about the origin of its pose */
} abut_world_kind;

ABUT_API const char *abut_world_kind_name(abut_world_kind kind);

typedef struct abut_world_item {
    abut_world_kind kind;
    bool fixed;     /* two fixed items are not tried */
    abut_pose pose; /* of zeros: where it is */
    union {         /* by kind, in coordinates that the pose moves */
        struct {
            const abut_field *field; /* live as long as the item, and stay as they are */
            const abut_samples *samples;
        } body;
        abut_plane plane;
        abut_sphere sphere;
        abut_capsule capsule;
        abut_vec3 half; /* sizes of a box */
    } shape;
} abut_world_item;

/* Creates an empty world. `options` may be null. Fails with ABUT_ERROR_DEVICE for a device that
 * rounds floats otherwise than the CPU. Thread-safe. */
ABUT_API abut_status abut_world_create(abut_context *context, const abut_world_options *options,
                                       abut_world **world);
/* Null is allowed. */
ABUT_API void abut_world_destroy(abut_world *world);

/* Adds an item. Its id is the one that became free last, or else the number of items so far.
 * Refused, here and by abut_world_move(): poses that abut_contact_bodies() refuses, and solids that
 * its companions refuse where they are. */
ABUT_API abut_status abut_world_add(abut_world *world, const abut_world_item *item, uint32_t *id);
/* Takes an item out. Its id is free for another. */
ABUT_API abut_status abut_world_remove(abut_world *world, uint32_t id);
/* Gives `count` items new poses; null ids mean 0 to count - 1. All of them or, on failure, none. Of
 * an id that comes twice the last pose stays. */
ABUT_API abut_status abut_world_move(abut_world *world, const uint32_t *ids, const abut_pose *poses,
                                     size_t count);

/* ---- pairs ---- */

typedef struct abut_world_pair {
    uint32_t a, b; /* a < b */
} abut_world_pair;

/* Lists the pairs whose boxes overlap, sorted by a, then b. A box holds the grid of the field and
 * all samples, and half the margin more, so nothing that touches is missed. With a capacity that is
 * too small nothing is written, and ABUT_ERROR_BUFFER is returned; *count is set in either case. */
ABUT_API abut_status abut_world_pairs(abut_world *world, uint64_t capacity, abut_world_pair *pairs,
                                      uint64_t *count);

/* ---- contacts ---- */

/* Finds all contacts of all pairs, in the order of abut_world_pairs(); `pair` of a contact is the
 * place in that list. Within a pair they are those of its collider: features of a, then those of b;
 * or, with options.patch_contacts, as abut_contact_reduce() leaves them. Normals point from b to a.
 * The advice is the worst of all bodies.
 * Where there are more than contacts->capacity, ABUT_ERROR_BUFFER is returned and only
 * contacts->count is set, which gets their number in either case. As long as nothing changes, a
 * second call only copies. */
ABUT_API abut_status abut_world_contacts(abut_world *world, abut_contacts *contacts);

/* ---- contacts that stay on the device ---- */

/* A contact of two bodies as a device has it. */
typedef struct abut_world_record {
    uint32_t feature; /* which sample of the body, or the number of samples plus which edge; with
                       * the top bit set: of b, else of a */
    float depth;
    float normal[3]; /* unit, outward from the field that the feature is in, in that one's axes */
    float along;     /* of an edge: where between its ends */
} abut_world_record;

typedef struct abut_world_records {
    const abut_buffer *begin; /* uint32_t, pair_count + 1 of them: pair i has records begin[i] up to
                               * but not including begin[i + 1] */
    const abut_buffer *records; /* abut_world_record */
    uint64_t pair_count;        /* as abut_world_pairs() lists them */
    uint64_t record_count;
} abut_world_records;

/* Finds the contacts of all pairs of bodies and leaves them on the device of the options, all of
 * them in the order of abut_world_contacts(). Pairs with solids have none. Buffers belong to the
 * world, and their content stays until something changes. */
ABUT_API abut_status abut_world_records_get(abut_world *world, abut_world_records *records);

#ifdef __cplusplus
}
#endif

#endif
