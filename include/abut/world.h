/* Worlds: broad phase, narrow phase and contact events for many bodies of all kinds.
 *
 * A world holds items: meshes, primitives and characters at poses. Each item has a small integer
 * id. A step sets new poses or shapes and then computes the contacts of all pairs in one call. The
 * broad phase finds candidate pairs by their bounding boxes. The narrow phase computes the contacts
 * of each candidate pair by a pair method:
 *
 *              mesh or body                       primitive      character
 * mesh, body   exact, field, map or layers        exact          radial
 * primitive                                       exact          radial
 * character                                                      radial
 *
 *  - exact: abut_contact_find()
 *  - field: samples of one body are evaluated in the signed distance field of the other, by
 *    abut_contact_find_sampled(). For a sheet, its vertices and edges are evaluated, by
 *    abut_contact_mesh()
 *  - map: exact signed distances at samples of one surface, by abut_map_compute_distance()
 *  - layers: rays through both bodies, by abut_layers_find(); one contact for each pair
 *  - radial: vertices, samples and long edges of the other item are evaluated in the radial fields
 *    of the character, and samples of the radial fields in the other item, by
 *    abut_radial_contacts()
 *
 * The simplest item is ABUT_COLLIDER_MESH, a rigid or deforming mesh. The world examines the mesh
 * and selects a method; abut_world_get_item_info() returns the method and the reason. Callers that
 * already have a BVH, fields or samples pass them as ABUT_COLLIDER_BODY, and radial fields as
 * ABUT_COLLIDER_CHARACTER.
 *
 * A body without a BVH has no method for primitives: such a pair is not tested. Its pair info has
 * the guarantee ABUT_WORLD_GUARANTEE_NONE.
 *
 * A mesh with a cloth material is a sheet of cloth. abut_world_step() moves cloth and finds the
 * impacts of a time step.
 *
 * Guarantee: no candidate pair that has a method is missed. abut_world_get_pair_info() returns the
 * method of a pair, which contacts it is guaranteed to find, and the error bound of its depths. If
 * maps or layers find no contact, the world also tests the pair by the exact method, so that no
 * overlap is missed. Contacts are sorted, and do not depend on the number of threads. Contacts of
 * fields are also equal on the CPU and on a device.
 *
 * Lifetime and threads: a world keeps references to the objects of its items, so these may be
 * destroyed in any order. Only one thread at a time may use a world; functions below that are "not
 * thread-safe" have this restriction. Several threads may query one world: <abut/world_query.h>. A
 * world uses the threads, the progress callback and the cancellation of its own context, whatever
 * the contexts of its meshes are. While a function of a world calls the progress callback, the
 * callback must not use or destroy that world. Functions that it calls on the world return
 * ABUT_ERROR_ARGUMENT.
 */
#ifndef ABUT_WORLD_H
#define ABUT_WORLD_H

#include <abut/base.h>
#include <abut/bvh.h>
#include <abut/character.h>
#include <abut/cloth.h>
#include <abut/contact.h>
#include <abut/device.h>
#include <abut/field.h>
#include <abut/radial.h>
#include <abut/sweep.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct abut_world abut_world;

/* Ids of items. The low 22 bits of an id are the index of the item, the other 10 bits count how
 * often this index was used before. So the id of a removed item is not the id of the next item with
 * its index, and every function rejects it. After 1024 removals at an index its ids repeat. Indices
 * are small numbers, which callers can use for arrays. The first item has the index 0. A new item
 * gets the index that has been free for the longest time; if none is free, it gets the next one. In
 * a world from which no item was removed, ids are equal to indices. */
#define ABUT_WORLD_INDEX_BITS 22
/* The maximum number of items of a world, and the bits of the index. */
#define ABUT_WORLD_ITEMS_MAX ((UINT32_C(1) << ABUT_WORLD_INDEX_BITS) - 1)
/* Returns the index of an id. Thread-safe. */
static inline uint32_t abut_world_index(uint32_t id) {
    return id & ABUT_WORLD_ITEMS_MAX;
}

/* The pair method: how the contacts of a pair are computed. */
typedef enum abut_world_method {
    ABUT_WORLD_AUTO = 0, /* selected by the rule in docs/choosing.md */
    ABUT_WORLD_EXACT,    /* exact geometry, on the CPU */
    ABUT_WORLD_FIELD,    /* samples in signed distance fields */
    ABUT_WORLD_MAP,      /* surface distance maps */
    ABUT_WORLD_RADIAL,   /* radial fields of characters */
    ABUT_WORLD_LAYERS    /* depth intervals along rays */
} abut_world_method;

/* Returns "auto", "exact", "field", "map", "radial" or "layers", or null if there is no such
 * method. Thread-safe. */
ABUT_API const char *abut_world_method_name(abut_world_method method);

typedef struct abut_world_options {
    size_t size;
    double margin;               /* bodies within this distance have contacts too, with negative
                                  * depths; a length. Items can add to it */
    uint32_t max_patch_contacts; /* maximum number of contacts in a patch. Exact: 0 = 4, at most 8.
                                  * Fields: reduced by abut_contact_reduce(); 0 = no reduction */
    double patch_angle;          /* radians: `angle` of abut_contact_reduce(); 0 = 0.5, at most 3 */
    bool skip_edges;             /* as in abut_contact_options */
    bool keep_backfacing;        /* as in abut_contact_options; radial fields ignore it */
    uint64_t pair_limit;         /* maximum number of candidate pairs; 0 = 2^24. A step with more
                                  * returns ABUT_ERROR_LIMIT */
    abut_device *device;         /* device that computes pairs of bodies by fields; null = the CPU.
                                  * Both give equal contacts */
    abut_world_method method;    /* AUTO: the items of a pair determine its method. If both exact
                                  * and field are possible, it is field with a device and exact
                                  * without one. EXACT or FIELD: only this method. A pair whose
                                  * items lack the data for the method is skipped. Pairs with
                                  * primitives are always exact. EXACT must not be combined with a
                                  * device. Other values return ABUT_ERROR_ARGUMENT */
    bool skip_verification;      /* as in abut_patch_options: do not verify exact depths */
    const abut_cloth_options *cloth; /* of all sheets: gravity, wind, substeps; null = the defaults.
                                      * Read only by abut_world_create(). Its device is ignored:
                                      * cloth is simulated on the device of the world */
    bool (*accept)(void *user, uint32_t a,
                   uint32_t b); /* filter of the caller, or null. It is
                                 * called for candidate pairs that all other filters accept,
                                 * also by steps and sweeps. If it returns false, the pair is
                                 * not tested. Calls are in the order of the pairs, one at a
                                 * time, on the thread that calls the world. Of the functions
                                 * of this world, it may only call abut_world_get_user(). It must
                                 * return the same value for a pair until one of its items is
                                 * moved or replaced: it may be called again for pairs at rest.
                                 * Contacts on the device do not support it */
    void *accept_user;          /* passed to `accept` */
} abut_world_options;

ABUT_DEFAULT(abut_world_options)

/* What moves an item. A pair is tested if at least one item is dynamic. If one of them is a sensor,
 * it is tested if at least one item is dynamic or kinematic. */
typedef enum abut_world_motion {
    ABUT_WORLD_DYNAMIC = 0, /* moved by a physics solver */
    ABUT_WORLD_KINEMATIC,   /* moved by the caller, regardless of contacts */
    ABUT_WORLD_STATIC       /* does not move */
} abut_world_motion;

/* Returns the name of a kind of motion, or null if there is no such kind. Thread-safe. */
ABUT_API const char *abut_world_motion_name(abut_world_motion motion);

typedef struct abut_world_item {
    size_t size;
    abut_collider collider; /* shape and pose. The item keeps references to the objects of the
                             * shape. The caller must not change its BVH, field or samples. The
                             * shape of a character or of a deforming mesh is changed by
                             * abut_world_set_positions(). No other thread may use a character
                             * during a call on the world. Rigid items with the same mesh, method
                             * and resolution share what the world builds for them */
    abut_world_motion motion;
    uint32_t group; /* filter: one bit for each group of the item; 0 = the first group */
    uint32_t mask;  /* filter: one bit for each group that it collides with; 0 = all groups. A pair
                     * is tested if each item is in a group that the other collides with. To collide
                     * with nothing, set the bit of a group that no item has */
    bool is_sensor; /* its pairs have events but no contacts. Pairs with the method exact are only
                     * tested for overlap within the margin, which is faster than contacts */
    abut_world_method method; /* preferred method of its pairs; AUTO = by the rule. Meshes accept
                               * all values except RADIAL. Of bodies, EXACT needs a BVH, and FIELD
                               * needs a field or samples. Other kinds have only one method */
    void *user;               /* for the caller; see abut_world_get_user() */
    double margin; /* a length, 0 or more, added to the margin of all its pairs. The margin
                    * of a pair is that of the world plus those of both items. The margin of the
                    * world plus twice this one must not exceed ABUT_COORDINATE_MAX */
    const abut_cloth_material *cloth; /* not null: the mesh is a sheet of cloth, which
                                       * abut_world_step() moves. Read only during the call */
    bool self_collides; /* abut_world_step() also tests the item with itself: for meshes that
                         * deform, and for characters. Sheets never pass through themselves */
    uint32_t family;    /* filter: items of the same family, such as the links of a robot, never
                         * collide with each other; 0 = none */
} abut_world_item;

ABUT_DEFAULT(abut_world_item)

/* Creates an empty world. `options` may be null. Returns ABUT_ERROR_DEVICE if the device rounds
 * floats differently from the CPU or has no doubles. Thread-safe. */
ABUT_API abut_status abut_world_create(abut_context *context, const abut_world_options *options,
                                       abut_world **world);
/* Destroys a world and releases its references. Null is allowed. Not thread-safe. */
ABUT_API void abut_world_destroy(abut_world *world);

/* Adds an item and stores its id in `id`, which must not be null. For a mesh the world builds
 * everything that its method needs, at least a BVH and a mesh report. Returns ABUT_ERROR_ARGUMENT
 * for a pose or primitive that the functions of <abut/contact.h> reject, and for a character whose
 * pose is not the identity. Also returns it if the method is LAYERS for a mesh that is not closed,
 * or FIELD for a mesh that deforms. Returns ABUT_ERROR_LIMIT if there are ABUT_WORLD_ITEMS_MAX
 * items. Not thread-safe. */
ABUT_API abut_status abut_world_add(abut_world *world, const abut_world_item *item, uint32_t *id);
/* Removes an item. Its id becomes invalid, its index becomes free, and its ignored pairs are
 * deleted. Not thread-safe. */
ABUT_API abut_status abut_world_remove(abut_world *world, uint32_t id);
/* Returns the user pointer of an item; null if there is no such item. Not thread-safe. */
ABUT_API void *abut_world_get_user(const abut_world *world, uint32_t id);
/* Lists the ids of all items by index, with ABUT_NONE for free indices. Not thread-safe. */
ABUT_API abut_status abut_world_ids(const abut_world *world, abut_index_list *ids);
/* Replaces an item in place, with all members of `item`, such as pose, shape, margin and user
 * pointer. Its id and its ignored pairs are kept. If the shape changes, pairs that touch have the
 * events END and BEGIN; otherwise PERSIST. Returns the errors of abut_world_add(); on failure
 * nothing changes. Not thread-safe. */
ABUT_API abut_status abut_world_replace(abut_world *world, uint32_t id,
                                        const abut_world_item *item);
/* Sets the shape of an item that is not rigid.
 *  - A mesh with collider.shape.mesh.deforms: `positions` has one abut_vec3 for each vertex, in the
 *    coordinates of abut_mesh_create(). The pose of the item is applied to them. `bones` is null.
 *    A buffer, as of a skinner, is downloaded.
 *  - A character: `bones` and `positions` as for abut_radial_set_positions().
 * Returns ABUT_ERROR_ARGUMENT for other items and for positions that abut_mesh_create() rejects. On
 * failure nothing changes. Not thread-safe. */
ABUT_API abut_status abut_world_set_positions(abut_world *world, uint32_t id,
                                              const abut_character_matrix *bones,
                                              abut_array positions);
/* Sets the poses (abut_pose) of `count` items; without `ids`, those of the first `count` indices.
 * If an id occurs twice, its last pose counts. An item whose new pose equals its old pose bit for
 * bit counts as not moved. A character always counts as moved. If one pose is rejected, as in
 * abut_world_add(), nothing changes. If `poses` is a buffer, it must be on the device of the world.
 * Such poses are downloaded only if a function other than abut_world_get_device_contacts() needs
 * them, or if an item is a primitive. Not thread-safe. */
ABUT_API abut_status abut_world_set_poses(abut_world *world, const uint32_t *ids, abut_array poses,
                                          size_t count);

/* Sets whether a pair is ignored. An ignored pair is never tested, whatever its groups are. Use it
 * for bodies that a joint connects, parts of one machine, and allowed collisions of a robot. The
 * items must be different. The setting lasts until one of them is removed. Not thread-safe. */
ABUT_API abut_status abut_world_ignore(abut_world *world, uint32_t a, uint32_t b, bool ignore);

/* ---- sleep ---- */

/* Sets whether `count` items are asleep; without `ids`, those of the first `count` indices. Use it
 * for islands of bodies that a solver has found to be at rest. Pairs of two sleeping
 * items, or of a sleeping and a static one, are set aside with their contacts. Until one of them
 * wakes, they are not in the lists of pairs, contacts and events, and take no time. Pairs whose
 * contacts were not computed at the current poses are set aside without contacts. Falling asleep
 * and waking have no events: a pair that still touches persists. Other pairs of sleeping items are
 * tested as usual, so that events report what touches a sleeping item. An item wakes if its pose
 * changes, or its shape, or if it is replaced. Nothing else wakes it: before you move or remove a
 * static item, wake the items on it. Returns ABUT_ERROR_ARGUMENT for sheets of cloth. On failure
 * nothing changes. Not thread-safe. */
ABUT_API abut_status abut_world_set_asleep(abut_world *world, const uint32_t *ids, size_t count,
                                           bool asleep);
/* Returns whether an item is asleep; false if there is no such item. Not thread-safe. */
ABUT_API bool abut_world_is_asleep(const abut_world *world, uint32_t id);

/* ---- methods and guarantees ---- */

/* The method of an item. */
typedef struct abut_world_item_info {
    size_t size;                  /* sizeof(abut_world_item_info), set by the default function */
    abut_world_method method;     /* AUTO for a body with several methods, of which each pair uses
                                   * one */
    bool is_forced;               /* true if the item or the world sets the method; false if the
                                   * rule selected it */
    const char *reason;           /* one static sentence */
    abut_reliability reliability; /* meshes only: reliability of inside and outside, for the current
                                   * shape */
    double cell;                  /* cell size of its field or radial fields, or the reach of its
                                   * map; otherwise 0 */
    double hole_fraction; /* meshes only: abut_mesh_report.hole_fraction of the current shape */
    double thin_fraction; /* meshes that may get a field: fraction of the surface where the
                           * wall is thinner than two cells */
} abut_world_item_info;

ABUT_DEFAULT(abut_world_item_info)

/* Stores the method of an item. The method is selected when the item is added, and does not change
 * when its mesh deforms. The first call after a deformation examines the mesh. `info->size` must be
 * set. Not thread-safe. */
ABUT_API abut_status abut_world_get_item_info(const abut_world *world, uint32_t id,
                                              abut_world_item_info *info);

/* Which overlaps of a pair are guaranteed to have a contact. */
typedef enum abut_world_guarantee {
    ABUT_WORLD_GUARANTEE_NONE = 0, /* none: the pair is never tested */
    ABUT_WORLD_GUARANTEE_SAMPLED,  /* overlaps between samples may be missed */
    ABUT_WORLD_GUARANTEE_COMPLETE, /* every overlap, whatever its size */
    ABUT_WORLD_GUARANTEE_LIMITED   /* every intersection of surfaces, but not every containment. A
                                    * mesh has small holes, or neighbouring triangles that face
                                    * opposite ways. Containment in such a mesh is an estimate by
                                    * abut_pair_overlap(), and depths have no error bound */
} abut_world_guarantee;

/* Returns "none", "sampled", "complete" or "limited", or null if there is no such guarantee.
 * Thread-safe. */
ABUT_API const char *abut_world_guarantee_name(abut_world_guarantee guarantee);

/* The method of a pair. */
typedef struct abut_world_pair_info {
    size_t size;              /* sizeof(abut_world_pair_info), set by the default function */
    abut_world_method method; /* AUTO: the pair is never tested */
    abut_world_guarantee guarantee;
    double error;       /* error bound of the depth of the deepest contact, a length; infinity = no
                         * bound, 0 = rounding errors only. The error is relative to the meshes,
                         * whatever surfaces they approximate */
    const char *reason; /* static: what may be missed, or why the pair is never tested */
} abut_world_pair_info;

ABUT_DEFAULT(abut_world_pair_info)

/* Stores the method of two different items, for poses at which their bounding boxes overlap.
 * `info->size` must be set. Not thread-safe. */
ABUT_API abut_status abut_world_get_pair_info(const abut_world *world, uint32_t a, uint32_t b,
                                              abut_world_pair_info *info);

/* ---- broad phase ---- */

typedef struct abut_world_pair {
    uint32_t a, b; /* the index of a is the lower one */
} abut_world_pair;

ABUT_LIST(abut_world_pair)

/* Lists the candidate pairs: those whose bounding boxes overlap. Here and in all other lists, pairs
 * are sorted by the indices of a, then b, and the index of a is the lower one. A bounding
 * box contains the mesh, the grid of the field, all samples, half the margin of the world and the
 * margin of the item, so that no pair that touches is missed. Not thread-safe. */
ABUT_API abut_status abut_world_pairs(abut_world *world, abut_world_pair_list *pairs);

/* ---- contacts ---- */

/* Computes the contacts of all pairs except those with sensors.
 *
 * Contacts are sorted by pair, in the order of abut_world_pairs(); each has the ids of its
 * items. Normals point from b to a. Within a pair the order depends on the method:
 *  - Exact: patch by patch, deepest first.
 *  - Field: features of a, then features of b; with options.max_patch_contacts, the order of
 *    abut_contact_reduce().
 *  - Map: patch by patch. If both items have maps, patches of a, then patches of b.
 *  - Layers: one contact (ABUT_CONTACT_OVERLAP) at the centre of the overlap.
 *  - Radial: features of a character are the samples of all its fields (ABUT_CONTACT_POINT).
 *    Features of spheres and capsules are points (ABUT_CONTACT_SOLID), whose elements equal the
 *    parts of abut_radial_contacts(): 0 and 1 for the ends, 2 for the deepest point of the axis.
 *    Features of other primitives are vertices, then edges of their meshes. Features of bodies are
 *    samples or vertices, and, unless options.skip_edges is set, deepest points of edges longer
 *    than a cell.
 *
 * The exact method is warm started. The hint of abut_contact_find() is the normal of the deepest
 * contact of the pair in the previous computation. If that computation found no contact, the hint
 * is the reversed motion of a relative to b since that computation. A pair that a filter or sleep
 * kept from it, and a new item, have no hint.
 *
 * A pair is at rest if its items have had the same pose, bit for bit, and the same shape since the
 * previous computation. A pair at rest keeps its contacts bit for bit, without computation. Pairs
 * of layers are an exception, since their images contain all items. If nothing has changed, a call
 * only copies contacts.
 *
 * contacts->reliability is the lowest level of all pairs that were tested. If there are more
 * contacts than contacts->capacity, returns ABUT_ERROR_BUFFER and sets only contacts->count. Not
 * thread-safe. */
ABUT_API abut_status abut_world_contacts(abut_world *world, abut_contacts *contacts);

/* Finds the triangles that touch at contacts of the current poses, such as those of
 * abut_world_contacts() and abut_world_step(), to look up materials: triangles[2 i] of item a of
 * contact i, and triangles[2 i + 1] of item b. It is the triangle nearest to the contact point on
 * the surface of the item; at an edge or vertex one of the triangles there. Items without triangles
 * have ABUT_NONE: primitives except hulls, bodies without a BVH, and characters. Returns
 * ABUT_ERROR_ARGUMENT if an item does not exist, or a point is not finite. Not thread-safe. */
ABUT_API abut_status abut_world_contact_triangles(abut_world *world, const abut_contact *contacts,
                                                  size_t count, uint32_t *triangles);

/* ---- events ---- */

typedef enum abut_world_event_kind {
    ABUT_WORLD_EVENT_BEGIN = 0, /* the pair has contacts and had none at the previous call */
    ABUT_WORLD_EVENT_PERSIST,   /* it has contacts and had some */
    ABUT_WORLD_EVENT_END        /* it had contacts and has none, or an item was removed */
} abut_world_event_kind;

/* Returns the name of a kind of event, or null if there is no such kind. Thread-safe. */
ABUT_API const char *abut_world_event_kind_name(abut_world_event_kind change);

/* A pair that touches, or touched at the previous call. */
typedef struct abut_world_event {
    abut_world_event_kind kind;
    abut_world_method method; /* the method that computed its contacts */
    abut_world_guarantee guarantee;
    double error;          /* error bound of this method, as in abut_world_pair_info */
    uint32_t a, b;         /* at an end, these items may have been removed */
    bool is_sensor;        /* one of the items is a sensor */
    bool is_verified;      /* exact method only: as in abut_patches */
    uint64_t first, count; /* its contacts in the list of abut_world_contacts(); count = 0 for
                            * sensors and at an end */
    abut_contact deepest;  /* deepest contact of the pair; at an end, that of the previous call. Of
                            * sensors only a and b; all other members are 0 */
    abut_reliability reliability; /* of this pair, for the current shapes */
} abut_world_event;

ABUT_LIST(abut_world_event)

/* Returns what has changed since the previous successful call: pairs that begin to touch, persist
 * and end. If an index has been reused, the event END of its old pair precedes the event BEGIN of
 * its new pair. A pair touches if it has a contact, including contacts within
 * the margin. This also applies to pairs with a sensor. If the capacity is too small, no event is
 * lost. Not thread-safe. */
ABUT_API abut_status abut_world_events(abut_world *world, abut_world_event_list *events);

/* ---- save and restore ---- */

/* Writes the state that a world keeps between steps: the hint of each pair (abut_world_contacts),
 * the pairs that the previous abut_world_events() reported, which items have a start of the next
 * abut_world_step(), and the state of its cloth (abut_cloth_save()). The caller stores items,
 * poses, shapes except those of sheets, options and ignored pairs. Computes the contacts if they
 * are not up to date. The size is 80 bytes, plus 13 for each index, plus 4 for each free index,
 * plus 24 for each candidate pair, plus the state of the cloth. If abut_world_events() was not
 * called since the contacts were computed, the size is 112 bytes more for each reported pair. Not
 * thread-safe. */
ABUT_API abut_status abut_world_save(abut_world *world, abut_byte_list *bytes);
/* Restores a saved state. The items must be those of the saved world, with the same indices,
 * shapes, groups, options and ignored pairs, at the saved poses bit for bit. Their ids become those
 * of the saved world, see abut_world_ids(), and items that are added later get the ids that they
 * get there. Sheets get their saved shapes, attachments and velocities. The items that cloth
 * collides with must have been added to it in the same order, as in a world that was created in the
 * same way. Recomputes all contacts with the saved hints and compares them with a digest of the
 * saved contacts. So it takes as long as a step in which all items move. Afterwards equal calls
 * give the same contacts, contact ids, events, impacts and cloth as in the saved world, bit for
 * bit.
 *
 * The next abut_world_step() starts where items are now. So save and restore after a step, before
 * items move on. Impulses of cloth on bodies are 0 until then.
 *
 * Returns ABUT_ERROR_FORMAT if the bytes are damaged or not a state, and ABUT_ERROR_UNSUPPORTED for
 * another version or byte order of the format. Returns ABUT_ERROR_ARGUMENT for a state of another
 * world or of other poses. On failure nothing changes. Not thread-safe. */
ABUT_API abut_status abut_world_restore(abut_world *world, const void *state, size_t bytes);

/* ---- continuous collision detection ---- */

/* Two items that touch within a step. */
typedef struct abut_world_impact {
    uint32_t a, b;
    bool is_sensor; /* one of the items is a sensor, which does not limit the time */
    abut_sweep_rigid_result result; /* time of impact, point and normal */
} abut_world_impact;

typedef struct abut_world_impacts {
    size_t size; /* sizeof(abut_world_impacts), set by the default function */
    abut_world_impact *list;
    uint64_t capacity;
    uint64_t count;
    double time;                  /* safe fraction of the step, 0 to 1, over all pairs without a
                                   * sensor. Before this time, no pair that is separate at the start
                                   * touches, and no pair that touches at the start becomes deeper
                                   * by more than the slack; see abut_world_sweep() */
    uint64_t unswept_count;       /* number of pairs whose swept bounding boxes overlap but that
                                   * cannot be swept */
    abut_reliability reliability; /* lowest level of all pairs that were swept; see
                                   * abut_sweep_rigid_result */
    double *times; /* null, or an array with an element for each pose of the call: receives the safe
                    * fraction of each item, at least `time`. All of them may move on to their own
                    * times, with the guarantee of `time`. Items whose paths are near each other and
                    * which both move have equal times, if one of them must stop. An item that ends
                    * where it is has the time 1 */
} abut_world_impacts;

ABUT_DEFAULT(abut_world_impacts)

typedef struct abut_world_sweep_options {
    size_t size;
    double separation;    /* as in abut_sweep_rigid_options */
    double tolerance;     /* likewise, for each pair */
    double allowed_depth; /* a length. Before the safe times, pairs may overlap by this depth, or by
                           * the depth that they have at the start. Of an item, at most a quarter of
                           * its size counts. 0 = no pair that is separate at the start touches */
} abut_world_sweep_options;

ABUT_DEFAULT(abut_world_sweep_options)

/* Computes the times of impact if `count` items move to the poses `ends` (abut_pose) in a step
 * while all others stay. Does not change the world. `ids`, `ends` and `count` are as in
 * abut_world_set_poses(); poses in a buffer of the device are downloaded. Items move as
 * abut_pose_interpolate() describes. `options` may be null. Margins of
 * the world and of items are not used.
 *
 * Guarantee: conservative. Each pair is swept as by abut_sweep_rigid(). The pairs are those that
 * the narrow phase would test, including pairs with sensors. Deforming meshes and characters keep
 * their current shapes. Pairs with a body without a BVH, or with a character before
 * abut_world_set_positions() has set its vertices in host memory, are counted in
 * impacts->unswept_count and have no guarantee.
 *
 * Pairs that touch at the start are listed with time 0. They limit impacts->time only if they
 * become deeper: a resting body may slide along its support or leave it, but may not sink into it.
 * To find when this happens, a second sweep first shifts item a along the contact normals, by the
 * penetration depths plus a slack. The slack is 1e-4 of the size of the smaller item plus 0.004 of
 * the radii of spheres, capsules and cylinders, or four tolerances if that is larger. So before
 * impacts->time no pair is deeper than at the start by more than the slack. If no point of an item
 * moves by more than twice the slack relative to the other item before that time, the time is 0. It
 * is also 0 if the shift does not separate the pair, as for interlocked bodies.
 * If abut_world_contacts() has computed the contacts at the current poses, those of exact pairs are
 * used, which takes half the time.
 *
 * With options->allowed_depth, items are shifted by that depth if it is larger, and pairs that
 * touch later are shifted along the normal of the impact and swept again. So bodies that a solver
 * keeps at a small depth are not stopped, and no pair becomes deeper than the allowed depth, or
 * than at the start, by more than the slack. Impacts are listed as without it.
 *
 * The list is sorted, and equal on any number of threads. If the capacity is too
 * small, returns ABUT_ERROR_BUFFER and sets only impacts->count. Not thread-safe. */
ABUT_API abut_status abut_world_sweep(abut_world *world, const uint32_t *ids, abut_array ends,
                                      size_t count, const abut_world_sweep_options *options,
                                      abut_world_impacts *impacts);

/* ---- steps ----
 *
 * A step connects two states of a world. The caller sets the poses and positions at its end, and
 * abut_world_step() computes what happens in between:
 *
 *     abut_world_set_poses(world, ids, poses, count);      // rigid items, from a physics solver
 *     abut_world_set_positions(world, id, NULL, vertices); // shapes that deform, from an animation
 *     abut_world_step(world, 1.0 / 60, &step);             // moves cloth; impacts, contacts
 *
 * Sheets of cloth collide with meshes, primitives and characters, with each other and with
 * themselves, as described in <abut/cloth.h>.
 */

/* A pair of items that touches at the end of a step, or that began to touch during it. An item with
 * itself is a pair with a == b. */
typedef struct abut_world_step_pair {
    uint32_t a, b;
    abut_world_method method;       /* of its contacts; AUTO: only the impact was computed */
    abut_world_guarantee guarantee; /* of its contacts */
    double error;                   /* of their depths, as in abut_world_pair_info */
    bool is_sensor;          /* one of the items is a sensor, so that there are no contacts */
    uint64_t first, count;   /* its contacts in the list of the step */
    bool has_impact;         /* it touches for the first time in the step at `time` */
    double time;             /* of impact: fraction of the step, 0 to 1; never late */
    abut_vec3 point, normal; /* of the impact; the normal points from b to a. Both are zero
                              * if one item contains the other at the start */
} abut_world_step_pair;

typedef struct abut_world_step_result {
    size_t size; /* sizeof(abut_world_step_result), set by the default function */
    const abut_world_step_pair *pairs; /* sorted */
    uint64_t pair_count;
    const abut_contact *contacts; /* those of abut_world_contacts(), then self-contacts */
    uint64_t contact_count;
    uint64_t unswept_count; /* pairs whose paths were not tested: a body without a BVH moves near
                             * another item */
    abut_reliability reliability;           /* lowest level of all contacts and impacts */
    const abut_cloth_report *cloth;         /* null without sheets */
    double impact_seconds, contact_seconds; /* time of the parts; that of cloth is in its report */
} abut_world_step_result;

ABUT_DEFAULT(abut_world_step_result)

/* Ends a step of a duration, which began at the end of the previous one. Moves all sheets of cloth,
 * finds the impacts on the paths of all items, and computes the contacts at the end.
 *
 * Paths: items move from their state at the previous call to their current one. An item that was
 * added or replaced since then has no path. Rigid items move as abut_pose_interpolate() describes.
 * Vertices of meshes that deform, and of characters, move along straight lines. In pairs with such
 * a shape, vertices of rigid items move along straight lines, too, and spheres and capsules are
 * circumscribed meshes, which exceed them by at most 0.01 of the radius. A character takes part
 * after abut_world_set_positions() has set its vertices.
 *
 * Impacts: no pair that abut_world_contacts() would test passes through each other unnoticed,
 * except the pairs of unswept_count. Pairs that touch at the start have the time 0. Sheets have no
 * impacts: they never touch anything. If result->cloth->fraction is below 1, or bodies lag, cloth
 * had to stop, and may intersect other items where those are now; contacts then report it.
 *
 * Self-contacts: an item with `self_collides` that intersects itself at the end has a contact of
 * depth 0 for each pair of triangles that intersect (ABUT_CONTACT_CROSSING; element and part: the
 * triangles).
 *
 * The world owns the lists and the report. They are valid until the next call on the world.
 *
 * `result` may be null, otherwise its size must be set. Returns the errors of abut_cloth_step():
 * for example, if a sheet intersects something at its start. If cloth cannot be moved, nothing
 * changes. If memory does not suffice later, or the call is cancelled, the step counts as made; its
 * contacts can still be computed by abut_world_contacts(). Not thread-safe. */
ABUT_API abut_status abut_world_step(abut_world *world, double seconds,
                                     abut_world_step_result *result);

/* Stores the cloth of a world, and the index of an item in it: that of a sheet, or of a body for
 * items that cloth collides with. Use it to attach vertices, to set the wind, and to read positions
 * and velocities. The world owns the cloth and adds, removes, moves and steps its sheets and
 * bodies. Returns ABUT_ERROR_ARGUMENT if there is no sheet in the world, or cloth does not collide
 * with the item. Not thread-safe. */
ABUT_API abut_status abut_world_get_cloth(abut_world *world, uint32_t id, abut_cloth **cloth,
                                          uint32_t *index);

/* ---- debug drawing ---- */

/* Bits of abut_world_draw_options.parts. */
enum {
    ABUT_WORLD_DRAW_SHAPES = 1,  /* edges of meshes, outlines of primitives, boxes of characters */
    ABUT_WORLD_DRAW_BOXES = 2,   /* bounding boxes of the broad phase */
    ABUT_WORLD_DRAW_CONTACTS = 4 /* contact points and normals, also of sleeping pairs */
};

/* What to draw, and functions that draw it. Colours are 0xRRGGBB: shapes have a colour for each
 * motion, for sensors and for sleeping items; contacts have one for overlaps and one for gaps. `id`
 * is the item of a shape or box, and ABUT_NONE for contacts. The functions are called on the thread
 * that calls abut_world_draw(). Of the functions of this world, they may only call
 * abut_world_get_user(). */
typedef struct abut_world_draw_options {
    size_t size;          /* sizeof(abut_world_draw_options), set by the default function */
    uint32_t parts;       /* sum of the bits above; 0 = all */
    double crease_angle;  /* radians: only edges of meshes are drawn that are boundaries, or whose
                           * faces differ by more; 0 = all edges */
    double normal_length; /* of contact normals; 0 = a quarter of the longest side of the smaller
                           * bounding box of the pair */
    double plane_size;    /* side of the square for a plane; 0 = 10 */
    void *user;           /* passed to the functions */
    void (*line)(void *user, abut_vec3 from, abut_vec3 to, uint32_t colour,
                 uint32_t id);                                             /* or null */
    void (*point)(void *user, abut_vec3 at, uint32_t colour, uint32_t id); /* or null */
} abut_world_draw_options;

ABUT_DEFAULT(abut_world_draw_options)

/* Draws the world at its current poses, in an order that depends only on the items. Computes the
 * contacts if they are drawn and not up to date. Temporary memory is proportional to the largest
 * mesh. If memory does not suffice, some lines have been drawn. Not thread-safe. */
ABUT_API abut_status abut_world_draw(abut_world *world, const abut_world_draw_options *options);

/* ---- contacts on the device ---- */

typedef struct abut_world_device_contacts {
    size_t size;              /* sizeof(abut_world_device_contacts), set by the default function */
    const abut_buffer *pairs; /* abut_world_pair: those pairs of abut_world_pairs() that consist of
                               * two bodies and are computed by fields */
    const abut_buffer *begin; /* uint32_t, pair_count + 1 of them: pair i has the contacts begin[i]
                               * up to, but not including, begin[i + 1] */
    const abut_buffer *contacts; /* abut_contact */
    uint64_t pair_count;
    uint64_t contact_count;
} abut_world_device_contacts;

ABUT_DEFAULT(abut_world_device_contacts)

/* Computes the candidate pairs of bodies and their contacts on options.device, and keeps them in
 * device memory. Pairs with sensors are included. Otherwise the contacts equal those of
 * abut_world_contacts() bit for bit, in the same order, also with options.max_patch_contacts. Only
 * the counts are downloaded. `contacts->size` must be set. The world owns the buffers; their
 * content is valid until the world changes. Returns ABUT_ERROR_UNSUPPORTED if the world has a
 * filter `accept`. Not thread-safe. */
ABUT_API abut_status abut_world_get_device_contacts(abut_world *world,
                                                    abut_world_device_contacts *contacts);

#ifdef __cplusplus
}
#endif

#endif
