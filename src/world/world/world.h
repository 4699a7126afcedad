/* Private types and functions of the world module. */
#ifndef ABUTI_WORLD_H
#define ABUTI_WORLD_H

#include "contact/find.h"
#include "world/world_shared.h"

#include <abut/world.h>
#include <stdlib.h>

typedef struct world_method world_method;
struct cloth_saved_state;

/* A member of the sweep of all shapes. */
typedef struct world_member {
    uint32_t id;     /* its index */
    size_t first;    /* its first vertex */
    abut_mesh *mesh; /* owned */
} world_member;

/* The pose of an item, and data that follow from it. */
typedef struct world_place {
    abut_pose pose;
    contact_motion motion;
    box3 box; /* bounding box with half of `margin` of the item, rounded outwards; not for planes */
    contact_primitive primitive;
} world_place;

/* Data that the world creates for a mesh, shared by all items with this mesh; mesh.c. */
typedef struct world_asset {
    uint32_t uses;
    abut_mesh *given, *mesh; /* references: as passed to abut_world_add(), and as it is now */
    abut_world_method asked;
    uint32_t resolution;
    bool deforms;
    bool is_cloth;
    bool sheet;          /* it has no interior */
    bool has_sheets;     /* some of its components have no interior */
    double longest_edge; /* of a sheet, or of a mesh that deforms */
    abut_world_item_info choice;
    bool has_health; /* reliability and holes of `choice` are those of `mesh` */
    abut_topology *topology;
    abut_bvh *bvh;
    abut_field *field; /* this and the following may be null */
    abut_samples *samples;
    struct abut_map *map;
} world_asset;

/* What steps know of an item; step.c. */
typedef struct world_track {
    bool has_start;         /* the world was stepped since the item was added */
    world_place start;      /* at the end of the previous step */
    uint32_t count;         /* of the vertices below */
    vec3 *given;            /* of a character: its last pose; null: none */
    vec3 *from, *to;        /* of a shape that deforms: at the end of the previous step and now,
                             * in world coordinates; null: unknown */
    uint32_t sheet, body;   /* its index in the cloth, or ABUT_NONE */
    uint32_t member;        /* its index in the sweep of all shapes, or ABUT_NONE */
    bool is_wanted;         /* as a member of the sweep in this step */
    bool is_near;           /* it was near a wanted shape when the sweep was created */
    struct abut_self *self; /* null: not needed so far */
    bool is_free;           /* it does not intersect itself, as far as steps know */
    abut_bvh *surface;      /* of a character, for queries; null: not needed so far */
    uint64_t surface_state; /* `state` of the item at its last refit */
} world_track;

typedef struct world_item {
    bool used;
    uint32_t id;   /* of the item; if not used, of the next item with this index */
    uint32_t next; /* index of the next free item, if not used */
    abut_collider_kind kind;
    world_filter filter;
    uint32_t ignored;           /* number of ignored pairs with it */
    uint64_t serial;            /* unique among all items ever added */
    abut_world_item is;         /* of a mesh: the body that was made from it */
    world_asset *asset;         /* of a mesh; otherwise null */
    const world_method *method; /* that its own data are for */
    uint32_t layer;             /* its index in the layers; ABUT_NONE: it is not in them */
    bool layer_is_old;          /* the layers have older positions */
    abut_topology *topology;    /* of `bvh` or `core`, for pairs with characters; owned, or null */
    abuti_field_body body;      /* of bodies; without the pose */
    const abut_bvh *bvh;        /* of a body or hull; may be null */
    abut_bvh *core; /* of a primitive that was swept or tested with a character, or surface of a
                     * character that was swept, sweep.c; owned */
    double core_radius;
    size_t work;   /* estimate for a pair: number of triangles or samples */
    double margin; /* that of the world plus twice its own: boxes include half of it */
    box3 local;    /* bounding box in local coordinates; not for planes and characters */
    world_place at;
    uint64_t state;         /* number of the change that set its shape and pose; at least 1 */
    uint64_t paired_state;  /* `state` in the last search for pairs */
    bool has_changed;       /* since the search before */
    uint64_t field_updates; /* update count of its field in that state */
    bool has_last_box;      /* there is a previous search for contacts; never for planes */
    box3 last_box;          /* its box at that search */
    bool is_on_device;      /* its field and samples are on the device, with these indices */
    world_parts device_parts;
    world_track *track; /* owned; null: no step has needed it */
    bool sleeps_later;  /* while sleep is suspended */
} world_item;

/* The margin of a pair: that of the world plus those of both items. */
static inline double world_pair_margin(const world_item *a, const world_item *b) {
    return 0.5 * (a->margin + b->margin);
}

/* The path of an item in a step. */
typedef struct world_sweep {
    bool moves, deforms, is_cloth;
    const world_place *from, *to;
    world_place end; /* of abut_world_sweep(): what `to` points to */
    box3 box;        /* of the whole path */
    double time;     /* of abut_world_sweep(): its safe fraction */
} world_sweep;

/* The result of a pair that was swept. */
typedef struct world_swept {
    abut_sweep_rigid_result touch;
    double safe; /* the part of the step in which the depth does not increase */
    abut_status status;
    bool unknown;
} world_swept;

/* Work is divided into at most so many chunks, each with its own lists. */
enum { WORLD_CHUNKS = 256 };
static inline size_t world_grain(size_t count, size_t least) {
    size_t grain = count / WORLD_CHUNKS + (count % WORLD_CHUNKS != 0);
    return grain < least ? least : grain;
}

typedef struct world_chunk {
    abuti_vector list;
    abut_status status;
} world_chunk;

/* A pair that has contacts. */
typedef struct world_touch {
    uint64_t serial[2]; /* serials of a and b */
    abut_world_event event;
} world_touch;

/* The inputs from which the contacts of a pair were computed. The contacts are valid as long as
 * these are unchanged. */
typedef struct world_pair_record {
    abut_world_pair pair; /* indices */
    uint64_t state[2];    /* of a and b; zeros: the contacts also depend on other items */
    size_t touch;         /* index of its touch; SIZE_MAX: it has no contacts */
    vec3 hint;            /* for exact patches: reproduces the contacts, state.c */
    abut_reliability reliability;
} world_pair_record;

/* Results of consecutive pairs. */
typedef struct world_results {
    abuti_vector contacts;     /* abut_contact */
    abuti_vector touches;      /* world_touch; `first` counts within these contacts */
    abuti_vector pair_records; /* world_pair_record: one per pair */
    abuti_vector patches;      /* abut_patch: scratch for one pair */
    abut_reliability reliability;
    abut_status status;
} world_results;

/* The result of a pair that is tested before the parallel tasks start. */
typedef struct world_serial_result {
    size_t pair;
    size_t first, count; /* range of its contacts */
    abut_reliability reliability;
} world_serial_result;

/* What is known of the pairs of the last search, sorted: the lists have the types of the same
 * members of abut_world. */
typedef struct world_pair_set {
    abuti_vector contacts, touches, pair_records, reported;
} world_pair_set;

/* The k-d trees of the items of each motion class, broad_phase.c. */
enum { WORLD_CLASSES = 3 };
typedef struct world_tree_entry {
    box3 box;
    uint32_t item;
} world_tree_entry;

typedef struct world_tree_node {
    box3 box;
    uint32_t begin, end; /* of its entries */
    uint32_t right;      /* its second child, or 0; the first one is the next node */
} world_tree_node;

typedef struct world_tree {
    abuti_vector entries, nodes; /* nodes of all trees */
    uint32_t node_count;
    uint32_t roots[WORLD_CLASSES + 1];       /* a tree without items has no node */
    uint32_t class_begin[WORLD_CLASSES + 1]; /* entries */
    uint32_t searches;                       /* since they were built; 0: they do not exist */
    double size;                             /* of all nodes, when they were built */
    bool is_current; /* boxes are those of the current poses and shapes, not those of a step */
} world_tree;

/* What queries need besides the tree, query.c. */
typedef struct world_queries {
    bool is_listed;              /* the lists are those of the current items */
    abuti_vector planes, unseen; /* uint32_t: planes, and items that queries cannot see */
    double round_radius;         /* maximum of all spheres, capsules and cylinders */
} world_queries;

typedef struct world_device world_device;
typedef struct world_backend world_backend;

struct abut_world {
    abut_context *context; /* reference */
    abut_world_options options;
    abut_contact_options contact;   /* of all pairs, without the margin */
    abuti_vector items;             /* world_item, by index */
    uint32_t first_free, last_free; /* indices; ABUT_NONE: none. The first one is used next */
    uint64_t serial_count;          /* items that were ever added */
    uint64_t changes;               /* number of changes of shapes and poses so far */
    uint32_t resting_sensors;       /* sensors that are not dynamic */
    uint32_t characters;
    abuti_vector assets;        /* world_asset *: of all meshes; owned */
    struct abut_layers *layers; /* of all meshes with the method layers; null: none yet */
    abuti_vector ignored;       /* uint64_t: a hash table of pairs, filter.c */
    abuti_vector places;        /* world_place: new poses, before all of them are validated */
    const world_backend *backend;
    world_device *device; /* null: the CPU */
    bool is_in_call;      /* between abuti_world_enter() and abuti_world_leave() */

    /* Broad phase. */
    world_tree tree;
    abuti_vector keys, spare; /* scratch */
    world_chunk pair_chunks[WORLD_CHUNKS];
    abuti_vector pairs;  /* abut_world_pair, of indices */
    bool has_pairs;      /* the list is valid for the current items and poses */
    bool has_last_pairs; /* it is valid for the current items at `paired_state` */
    world_queries queries;

    /* Contacts. */
    world_results results[WORLD_CHUNKS]; /* by chunk of pairs */
    size_t grain;                        /* pairs per chunk */
    /* Results of the last search: abut_contact; world_touch and world_pair_record, sorted by a and
     * b. */
    abuti_vector contacts, touches, pair_records;
    abuti_vector serial_results;                  /* world_serial_result, by pair */
    abuti_vector serial_contacts, serial_patches; /* abut_contact; abut_patch, scratch */
    abuti_vector layer_pairs;                     /* abut_layers_pair, of a step */
    abuti_vector reported;                        /* world_touch: when events were last reported */
    bool has_reported;                            /* `reported` equals `touches` */
    abut_reliability reliability;
    bool has_contacts;
    abuti_vector hints;        /* vec3: by pair, from a saved state */
    world_pair_set asleep;     /* pairs that are set aside, sleep.c */
    world_pair_set divided[2]; /* scratch */
    uint32_t asleep_count;     /* items */
    bool has_old_asleep;       /* the pairs set aside are those of other items */
    bool has_woken;            /* items fell asleep or woke since abuti_world_changed() */
    const vec3 *repeated; /* the same while contacts are recomputed with them; otherwise null */

    /* Steps. */
    abuti_vector sweeps;        /* world_sweep: by item */
    abuti_vector sweep_pairs;   /* abut_world_pair, of indices */
    abuti_vector swept;         /* world_swept: by sweep pair, sweep.c */
    struct abut_sweep *shapes;  /* of all members, sweep_shapes.c; null: none */
    abuti_vector members;       /* world_member */
    abuti_vector starts, ends;  /* vec3: of the vertices of all members */
    abuti_vector impacts;       /* abut_impact */
    abuti_vector self_impacts;  /* abut_world_step_pair: those of items with themselves */
    abuti_vector self_contacts; /* abut_contact */
    abuti_vector step_contacts, step_pairs; /* abut_contact, abut_world_step_pair: the result */

    /* Cloth, sheets.c. */
    abut_cloth *cloth; /* null: none yet */
    abut_cloth_options cloth_options;
    abut_cloth_report cloth_report; /* of the last step */
    uint32_t sheets;
    bool has_old_bodies; /* items have changed since bodies were added to the cloth */
    bool has_old_sheets; /* cloth has moved, but not the items */
    bool has_steps;      /* abut_world_step() was called */
};

/* The options of the contact functions for a pair. */
static inline abut_contact_options world_contact_options(const abut_world *world,
                                                         const world_item *a, const world_item *b) {
    abut_contact_options options = world->contact;
    options.margin = world_pair_margin(a, b);
    return options;
}

/* The contacts of `to` as a list that functions of samples fill. */
static inline abut_contacts world_contacts_of(const abut_patches *to) {
    return (abut_contacts){.size = sizeof(abut_contacts),
                           .list = to->contacts.list,
                           .capacity = to->contacts.capacity};
}

/* Compares the indices of abut_world_pair, which has ids or indices, or of structs that begin with
 * one. */
static inline int world_compare_pairs(const void *x, const void *y) {
    const abut_world_pair *p = x, *q = y;
    const uint32_t a = abut_world_index(p->a), b = abut_world_index(p->b),
                   c = abut_world_index(q->a), d = abut_world_index(q->b);
    return a != c ? (a < c ? -1 : 1) : (b > d) - (b < d);
}

/* The element of a sorted list that equals a key, or null. */
static inline const void *world_find(const abuti_vector *list, const void *key, size_t bytes,
                                     int (*compare)(const void *key, const void *element)) {
    return list->count ? bsearch(key, list->data, list->count, bytes, compare) : NULL;
}

/* Whether the field of an item was updated after the item got its state. */
static inline bool world_is_updated(const world_item *item) {
    return item->body.field && item->body.field->updates != item->field_updates;
}

static inline world_item *world_items(const abut_world *world) {
    return world->items.data;
}

/* Where pairs of bodies are tested: on the CPU (method_field.c) or on a device (device.c). */
struct world_backend {
    abut_status (*create)(abut_world *world); /* this and the next three may be null */
    void (*destroy)(abut_world *world);       /* also if creation failed */
    /* Called after items were added, changed or removed (`items`), or only moved. */
    void (*changed)(abut_world *world, bool items);
    /* Called before pairs are tested. */
    abut_status (*prepare)(abut_world *world);
    /* Appends the contacts of a pair. Called on any thread. */
    abut_status (*pair)(const abut_world *world, size_t pair, contact_call *call,
                        const contact_direction both[2]);
    abut_status (*records)(abut_world *world, abut_world_device_contacts *records);
    /* Moves items to the poses in a buffer. */
    abut_status (*move)(abut_world *world, const uint32_t *ids, const abut_buffer *poses,
                        size_t count);
    /* Downloads poses that were passed in a buffer. Called before poses are read or items
     * change. */
    abut_status (*download_poses)(abut_world *world);
    bool reduces; /* `pair` returns reduced patches */
};
extern const world_backend abuti_world_on_cpu, abuti_world_on_device;

/* ---- methods ----
 *
 * The files method_*.c have one row for each kind of pairs that a method tests. They alone use the
 * modules of the methods. Functions that may be null are marked.
 */

/* A pair that a method tests. */
typedef struct world_call {
    abut_world *world; /* methods that are not serial only read it */
    size_t pair;
    const world_item *a, *b;
    abut_patch_options options; /* margin, number of contacts, hint */
} world_call;

struct world_method {
    abut_world_method method;
    bool is_serial; /* its objects are not thread-safe and start tasks themselves: pairs are tested
                     * one after the other, before the parallel tasks of all others */
    bool is_completed;   /* pairs for which it finds nothing are tested exactly */
    bool uses_all_items; /* contacts of a pair depend on all items */
    uint32_t room;       /* usual maximum number of contacts of a pair */

    /* Creates and destroys the data of a mesh, and updates them to new positions. May be null. */
    abut_status (*create)(const abut_world *world, const abut_mesh_report *report,
                          world_asset *asset);
    abut_status (*set_mesh)(world_asset *asset, abut_mesh *mesh);
    void (*destroy)(world_asset *asset);
    /* Creates and destroys the data of an item. `remove` also follows a failed `add`. May be
     * null. */
    abut_status (*add)(abut_world *world, world_item *item);
    void (*remove)(abut_world *world, world_item *item);
    /* Destroys what all its items share. May be null. */
    void (*close)(abut_world *world);
    /* Sets the bounding box of an item whose motion is set; validates the motion. May be null. */
    abut_status (*place)(const char *function, const world_item *item, world_place *to);
    /* Changes the shape of an item that is not a mesh. May be null. */
    abut_status (*deform)(const world_item *item, const abut_character_matrix *bones,
                          abut_array positions);
    /* The mesh whose vertices `deform` sets. May be null. */
    const abut_mesh *(*mesh)(const world_item *item);
    /* Completes the information on an item that is not a mesh. May be null. */
    void (*describe)(const world_item *item, abut_world_item_info *info);

    /* Called before the first of its pairs is tested, and before each of them. May be null. */
    abut_status (*prepare)(abut_world *world);
    abut_status (*prepare_pair)(const abut_world *world, world_item *a, world_item *b);
    /* Computes the contacts of a pair. `patches` is scratch memory. If a capacity is too small, it
     * returns ABUT_ERROR_BUFFER and sets the counts that it needs. */
    abut_status (*collide)(const world_call *call, abut_patches *to);
    /* Sets all but the method. Thread-safe. */
    abut_status (*guarantee)(const world_item *a, const world_item *b, abut_world_pair_info *info);
};
extern const world_method abuti_world_exact, abuti_world_field, abuti_world_vertices,
    abuti_world_map, abuti_world_layers, abuti_world_radial, abuti_world_cloth;

/* The row of the items of a method. */
const world_method *abuti_world_method_of_items(abut_world_method method);
/* The row of a pair; null if it is not tested. */
const world_method *abuti_world_method(const abut_world *world, const world_item *a,
                                       const world_item *b);
/* Chooses the method of a mesh, for which its facts are known; mesh_method.c. */
void abuti_world_choose_method(const abut_world *world, const abut_mesh_report *report,
                               world_asset *asset);
/* Examines a mesh: sets all facts of `asset`, and its topology. */
abut_status abuti_world_examine(const abut_world *world, world_asset *asset,
                                abut_mesh_report *report);
/* Examines a deformed mesh for its report, unless this is done. */
abut_status abuti_world_examine_again(world_asset *asset);

/* ---- method_exact.c ---- */

/* Reduces the guarantee of methods that find every intersection of surfaces to LIMITED if an item
 * may be inside a mesh with holes. */
abut_status abuti_world_limit_guarantee(const world_item *a, const world_item *b,
                                        abut_world_pair_info *info);
/* Tests whether the pair of a sensor touches, without contacts if both items have triangles. The
 * lists are scratch memory; their counts do not change. */
abut_status abuti_world_test_sensor(const world_call *call, abuti_vector *contacts,
                                    abuti_vector *patches, bool *touches,
                                    abut_reliability *reliability);
/* Computes the patch of a point (without radius) and a primitive at its pose. `depth` is minus
 * infinity if it is not within the margin. Also validates the primitive. */
abut_status abuti_world_point_in_primitive(vec3 point, const abut_collider *primitive,
                                           double margin, double *depth, vec3 *normal);

/* ---- method_field.c ---- */

/* Completes the result of a function that returns samples: swaps a and b if `swapped`, reduces the
 * contacts if `reduce` and the world wants it, and copies the counts. Returns ABUT_ERROR_BUFFER if
 * there are more than the capacity. */
abut_status abuti_world_set_contacts(const world_call *call, abut_status status, bool swapped,
                                     bool reduce, abut_contacts *found, abut_patches *to);

/* ---- method_radial.c ---- */

/* Downloads the samples of all characters, before parallel tasks read them. */
abut_status abuti_world_download_characters(abut_world *world);

/* ---- broad_phase.c ---- */

/* Finds the candidate pairs, unless they are valid. */
abut_status abuti_world_find_pairs(abut_world *world);
/* Finds the pairs whose bounding boxes overlap: at the current poses, or with `sweeps` during a
 * step. Boxes include half the margin. */
abut_status abuti_world_overlaps(abut_world *world, const world_sweep *sweeps, double reach,
                                 abuti_vector *pairs);

/* Fits the trees to the current boxes, unless they are. */
abut_status abuti_world_fit_trees(abut_world *world);

/* ---- query.c ---- */

void abuti_world_destroy_queries(abut_world *world);

/* ---- events.c ---- */

/* Marks the current touches as reported. `reported` must have the capacity. */
void abuti_world_set_reported(abut_world *world);

/* ---- filter.c ---- */

world_filter abuti_world_filter(const abut_world *world, const world_item *item);
/* Whether two items, neither of them ABUT_NONE, are tested if their boxes overlap. */
bool abuti_world_should_test(const abut_world *world, uint32_t a, uint32_t b);
/* Whether the filter of the caller accepts two items. */
bool abuti_world_accepts(const abut_world *world, uint32_t a, uint32_t b);
/* Removes the ignored pairs of an item. */
void abuti_world_clear_ignored(abut_world *world, uint32_t id);

/* ---- sleep.c ---- */

/* Clears the flag of an item. The caller then calls abuti_world_changed(). */
void abuti_world_wake(abut_world *world, world_item *item);
/* Wakes all items, and lets those sleep again that slept, or whose flag is set. */
void abuti_world_suspend_sleep(abut_world *world);
void abuti_world_resume_sleep(abut_world *world);
/* Sets the pairs of sleeping items aside and takes those of others back, unless this is done. On
 * failure nothing changes. */
abut_status abuti_world_divide_pairs(abut_world *world);

/* ---- mesh.c ---- */

/* Returns the asset of a mesh: an existing one, or a new one. Assets of meshes that deform are
 * shared only with the item that had `mine`, which may be null. */
abut_status abuti_world_asset_acquire(abut_world *world, const abut_world_item *item, bool is_cloth,
                                      world_asset *mine, world_asset **asset);
/* Accepts null. */
void abuti_world_asset_release(abut_world *world, world_asset *asset);
/* Sets new positions of a mesh that deforms; on failure nothing changes. */
abut_status abuti_world_asset_deform(world_asset *asset, const abut_vec3 *positions);
/* ---- sweep.c ---- */

/* Creates the core of a primitive, unless it has one. */
abut_status abuti_world_core(abut_context *context, world_item *item);
/* Finds the impacts of all pairs whose paths are set. `is_past`: only impacts, no safe times. Pairs
 * with a shape that deforms are left to abuti_world_sweep_shapes(). */
abut_status abuti_world_sweep_paths(abut_world *world, const abut_world_sweep_options *options,
                                    bool is_past);

/* ---- sweep_shapes.c ---- */

/* Finds the impacts of pairs with a shape that deforms, and of items with themselves. */
abut_status abuti_world_sweep_shapes(abut_world *world);
/* Destroys the sweep of all shapes. Called before a member is removed. */
void abuti_world_forget_shapes(abut_world *world);

/* ---- surface.c ---- */

/* Whether steps can treat the item as triangles. */
bool abuti_world_has_surface(const world_item *item);
/* The triangles of a character, of a mesh, or of the core of a primitive. */
const abut_mesh *abuti_world_triangles(const world_item *item);
/* The current vertices of a shape that deforms, in world coordinates; of a character, those that
 * were given. */
void abuti_world_positions(const world_item *item, vec3 *to);
/* The triangles of an item in the context of the world: of a rigid item in local coordinates; of a
 * shape that deforms in world coordinates, at the start of the step if it has one. */
abut_status abuti_world_create_surface(abut_world *world, const world_item *item, abut_mesh **mesh);

/* ---- sheets.c ---- */

/* Creates the cloth with the options of the world, unless it exists. */
abut_status abuti_world_create_cloth(abut_world *world);
/* Adds the mesh of an item, at its pose, to the cloth. Stores that mesh in `posed`. */
abut_status abuti_world_add_sheet(abut_world *world, const abut_world_item *given, world_item *item,
                                  abut_mesh **posed);
/* Removes an item from the cloth. */
void abuti_world_remove_from_cloth(abut_world *world, const world_item *item);
/* Adds and removes bodies, if items have changed. */
abut_status abuti_world_update_bodies(abut_world *world);
/* Moves the cloth. */
abut_status abuti_world_move_cloth(abut_world *world, double seconds, abut_cloth_report *report);
/* Gives items the positions of their sheets, if those have moved. */
abut_status abuti_world_fetch_sheets(abut_world *world);
/* Gives items the positions of sheets in a saved state, before the cloth gets it. On failure, and
 * until it gets the state, items get their positions back with abuti_world_fetch_sheets(). */
abut_status abuti_world_preview_sheets(abut_world *world, const struct cloth_saved_state *state);

/* ---- step.c ---- */

/* Creates the track of an item, unless it has one. */
abut_status abuti_world_track(abut_world *world, world_item *item);
void abuti_world_destroy_track(abut_world *world, world_item *item);
/* Copies the positions of a character, if steps need them; and stores the copy, which may be null.
 */
abut_status abuti_world_copy_positions(abut_world *world, world_item *item, abut_array positions,
                                       vec3 **copy);
void abuti_world_keep_positions(abut_world *world, world_item *item, vec3 *copy);
/* Prepares an item for abuti_world_finish_track(). */
abut_status abuti_world_update_track(abut_world *world, world_item *item);
/* The current state of an item becomes its start of the next step. */
void abuti_world_finish_track(world_item *item);
static inline bool world_is_sheet(const world_item *item) {
    return item->track && item->track->sheet != ABUT_NONE;
}
/* Whether the vertices of an item move one by one. */
static inline bool world_deforms(const world_item *item) {
    return item->kind == ABUT_COLLIDER_CHARACTER || (item->asset && item->asset->deforms);
}

/* ---- collide.c ---- */

/* Computes the contacts of all pairs, unless they are valid. Calls abuti_world_enter() for a public
 * function and abuti_world_leave(). */
abut_status abuti_world_find_contacts(const char *function, abut_world *world);
/* Computes the contacts of all pairs again, each with its hint. Fails, and leaves the world
 * unchanged, if their digest differs. The candidate pairs must be valid. */
abut_status abuti_world_repeat_contacts(abut_world *world, const vec3 *hints, uint64_t digest);
/* A digest of the current contacts and touches. */
uint64_t abuti_world_contacts_digest(const abut_world *world);
/* The record of a pair if its last contacts are still valid, otherwise null. */
const world_pair_record *abuti_world_valid_record(const abut_world *world, size_t pair);

/* Computes the contacts of a pair and writes them after those of `contacts`, whose count does not
 * change. `patches` is scratch memory. */
abut_status abuti_world_collide(const world_method *method, const world_call *call,
                                abuti_vector *contacts, abuti_vector *patches, abut_patches *found);

/* ---- world.c ---- */

/* Fails if a call of the world is in progress, because a progress callback calls the world
 * again. */
abut_status abuti_world_check_idle(const char *function, const abut_world *world);
/* The same. From here on, work uses the context of the world, and other calls fail. */
abut_status abuti_world_enter(const char *function, abut_world *world, abut_context **before);
void abuti_world_leave(abut_world *world, abut_context *before);
/* Internal functions use indices. These functions validate an id. */
abut_status abuti_world_check_id(const char *function, const abut_world *world, uint32_t id);
/* Stores the index of ids[i]; without ids, this is i. */
abut_status abuti_world_find_index(const char *function, const abut_world *world,
                                   const uint32_t *ids, size_t i, uint32_t *index);
/* Fails if a call is in progress, or a and b are not the ids of two items. */
abut_status abuti_world_check_pair(const char *function, const abut_world *world, uint32_t a,
                                   uint32_t b);
/* Appends an index to the list of free ones. */
void abuti_world_free_index(abut_world *world, uint32_t index);
/* The size of the shape of a primitive without references; 0 for other kinds. */
size_t abuti_world_primitive_bytes(abut_collider_kind kind);
/* The collider of an item at a pose. */
abut_collider abuti_world_collider(const world_item *item, const abut_pose *at);
/* Validates an item at a pose and computes its place. */
abut_status abuti_world_place(const char *function, const world_item *item, const abut_pose *there,
                              world_place *to);
/* Moves items to poses on the host. */
abut_status abuti_world_move(abut_world *world, const uint32_t *ids, const abut_pose *poses,
                             size_t count);
/* Sets the place of an item. Contacts stay valid if the pose has the same bits; returns whether it
 * differs. */
bool abuti_world_set_place(abut_world *world, world_item *item, const world_place *to);
/* Sets the positions of a mesh that deforms. */
abut_status abuti_world_deform(const char *function, world_item *item, const vec3 *positions);
/* Invalidates the contacts of an item. */
void abuti_world_new_state(abut_world *world, world_item *item);
/* Called after a change: items were added, changed or removed (`items`), or only moved. */
void abuti_world_changed(abut_world *world, bool items);

#endif
