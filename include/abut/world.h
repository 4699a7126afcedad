/* Worlds: many bodies of all kinds, and the contacts of all of them in one call each step.
 *
 * Bodies, simple solids and characters are items under small numbers. A hierarchy of their boxes
 * finds the pairs that may touch, a rule says how the contacts of each are found, and the contacts
 * of all pairs come in one list, the same on any number of threads and on a device.
 *
 * The simplest way in is ABUT_WORLD_MESH: a mesh, rigid or deforming. The world looks at it, makes
 * what suits it, and tells what and why (abut_world_get_item_info). Who has hierarchies, fields or
 * samples already brings them as ABUT_WORLD_BODY, and radial fields as ABUT_WORLD_CHARACTER.
 *
 *              mesh or body                       solid          character
 * mesh, body   exact, field, map or layers        exact, field   radial
 * solid                                           exact          radial
 * character                                                      radial
 *
 * Every two kinds have a method but two planes, which have nothing to tell;
 * abut_world_get_pair_info() tells which one, what it cannot miss, and how far depths may be off.
 *
 *   exact   abut_contact_patches() of two hierarchies, abut_contact_solid(), abut_contact_solids()
 *   field   samples of one body against the field of the other, abut_contact_bodies() and so on;
 *           of a mesh without an inside, its vertices and edges (abut_contact_mesh)
 *   map     samples all over one surface, the exact signed distance at each
 * (abut_map_compute_distance) layers  rays through both (abut_layers_find): one contact a pair
 *   radial  abut_radial_contacts(), both ways: vertices, samples and long edges of the other
 *           against radial fields, and samples of radial fields against the other
 *
 * Where maps and layers find nothing, the pair is asked exactly, so that no overlap is missed.
 *
 * A world is for one user at a time. It keeps references to the objects of its items, which may be
 * destroyed in any order. Its work uses the threads, the progress callback and the cancellation of
 * its own context, whatever the contexts of its meshes are. A progress callback that is called by a
 * function of a world must not use that world: every function of it fails with ABUT_ERROR_ARGUMENT
 * there, and it must not be destroyed.
 */
#ifndef ABUT_WORLD_H
#define ABUT_WORLD_H

#include <abut/base.h>
#include <abut/bvh.h>
#include <abut/character.h>
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
    ABUT_WORLD_AUTO = 0, /* by the rule: docs/choosing.md */
    ABUT_WORLD_EXACT,    /* from exact geometry, on the CPU */
    ABUT_WORLD_FIELD,    /* samples against distance fields */
    ABUT_WORLD_MAP,      /* surface distance maps */
    ABUT_WORLD_RADIAL,   /* radial fields of characters */
    ABUT_WORLD_LAYERS    /* images */
} abut_world_method;

/* "auto", "exact", "field", "map", "radial", "layers". */
ABUT_API const char *abut_world_method_name(abut_world_method method);

typedef struct abut_world_options {
    size_t size;
    double margin; /* contacts are also features that are this near */
    uint32_t
        max_patch_contacts;   /* how many are kept of each patch of a pair. Fields: as by
                               * abut_contact_reduce(); 0 = all contacts. Exact: 0 = 4, at most 8 */
    double patch_angle;       /* of patches; 0 = 0.5 radians */
    bool skip_edges;          /* only samples, no deepest points of edges */
    bool keep_backfacing;     /* as in abut_contact_options */
    uint64_t pair_limit;      /* more candidates fail with ABUT_ERROR_LIMIT; 0 = 2^24 */
    abut_device *device;      /* where pairs of bodies are tried; null = the CPU. Contacts are the
                               * same */
    abut_world_method method; /* AUTO: each pair by its items; where exact and field are both
                               * possible, exact, but with a device field. EXACT, FIELD: only this,
                               * and pairs that lack what it needs are not tried, but two solids,
                               * always exact. EXACT is not for a device. Others are refused */
    bool skip_verification;   /* as in abut_patch_options: exact depths are not checked */
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
    ABUT_WORLD_HULL,      /* a closed convex mesh */
    ABUT_WORLD_CHARACTER, /* radial fields. Its pose is the identity: it is where they are */
    ABUT_WORLD_MESH       /* a mesh, from which the world makes what suits it */
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
    bool is_sensor; /* its pairs have events, and no contacts */
    abut_world_method method; /* how its pairs are tried where that is possible; AUTO = by the rule.
                               * Meshes: not RADIAL. Bodies: EXACT or FIELD, which they must have
                               * what it takes for. Others have one way */
    abut_pose pose;           /* of zeros: where it is */
    union {                   /* by kind, in coordinates that the pose moves */
        struct {
            /* The item keeps references to them. They must not be updated or refitted. */
            const abut_field *field;
            const abut_samples *samples;
            const abut_bvh *bvh; /* of the same mesh */
        } body;
        abut_plane plane;
        abut_sphere sphere;
        abut_capsule capsule;
        abut_vec3 half; /* sizes of a box */
        abut_cylinder cylinder;
        const abut_bvh *hull;   /* referenced; must not be refitted */
        abut_radial *character; /* referenced; abut_world_set_positions() poses it. Nobody else uses
                                 * it during a call of the world */
        struct {
            abut_mesh *mesh;     /* held. What is made of it is shared by all items that have the
                                  * same mesh, method and resolution, but for those that deform */
            bool deforms;        /* abut_world_set_positions() will give it other positions */
            uint32_t resolution; /* cells of a field along the longest side, 0 = 64; texels along
                                  * each side of a map, 0 = 128; pixels of layers, 0 = 1024: the
                                  * greatest of all items */
        } mesh;
    } shape;
} abut_world_item;

/* Creates an empty world. `options` may be null. Fails with ABUT_ERROR_DEVICE for a device that
 * rounds floats otherwise than the CPU. Thread-safe. */
ABUT_API abut_status abut_world_create(abut_context *context, const abut_world_options *options,
                                       abut_world **world);
/* Null is allowed. */
ABUT_API void abut_world_destroy(abut_world *world);

/* Adds an item. Its id is the one that became free last, or else the number of items so far.
 * Refused, here and by abut_world_set_poses(): poses that abut_contact_bodies() refuses, solids
 * that its companions refuse where they are, and characters at a pose. Of a mesh the world makes
 * all it needs here: a hierarchy and a health report at least. Refused: layers of a mesh that is
 * not closed, fields of one that deforms. */
ABUT_API abut_status abut_world_add(abut_world *world, const abut_world_item *item, uint32_t *id);
/* Takes an item out. Its id is free for another. What it was to be ignored with is forgotten. */
ABUT_API abut_status abut_world_remove(abut_world *world, uint32_t id);
/* Makes an item what `item` says, in place: other groups, motion or method, another pose, another
 * shape or kind. Its id stays, and so does what it is to be ignored with. With another shape its
 * pairs end and begin anew; with the same they go on. On failure all is as before. */
ABUT_API abut_status abut_world_replace(abut_world *world, uint32_t id,
                                        const abut_world_item *item);
/* Gives a body that is not rigid its shape: a mesh that deforms its positions (abut_vec3, all
 * vertices, absolute as those of abut_mesh_create(), before the pose), with null bones; a character
 * its bones and positions, by abut_radial_set_positions(). Positions of meshes are on the host.
 * Refused: other items, positions that abut_mesh_create() refuses. On failure all is as before. */
ABUT_API abut_status abut_world_set_positions(abut_world *world, uint32_t id,
                                              const abut_character_matrix *bones,
                                              abut_array positions);
/* Gives `count` items new poses (abut_pose); null ids mean 0 to count - 1. All of them or, on
 * failure, none. Of an id that comes twice the last pose stays. An item that gets the pose that it
 * has, bit for bit, does not move; a character always counts as moved. Poses in a buffer are for a
 * world on its device, and stay there as long as only abut_world_get_device_contacts() is asked;
 * where solids are among the items, they come to the host. */
ABUT_API abut_status abut_world_set_poses(abut_world *world, const uint32_t *ids, abut_array poses,
                                          size_t count);

/* Sets whether two items are never tried, whatever their groups: joints, parts of one machine, a
 * robot's allowed collisions. Of different items that are there; it lasts until one is removed. */
ABUT_API abut_status abut_world_ignore(abut_world *world, uint32_t a, uint32_t b, bool ignore);

/* ---- what was chosen ---- */

/* How an item takes part. */
typedef struct abut_world_item_info {
    size_t size;              /* sizeof(abut_world_item_info), set by the default function */
    abut_world_method method; /* of a body that has several ways: AUTO, each pair by itself */
    bool is_forced;           /* the item or the world said so; else the rule */
    const char *reason;       /* one static sentence */
    abut_reliability
        reliability;      /* what the inside of its mesh is worth as it is now; of meshes alone */
    double cell;          /* of its field or radial fields, or the reach of its map; or 0 */
    double hole_fraction; /* of a mesh as it is now: abut_mesh_report.hole_fraction */
    double thin_fraction; /* of a mesh that may get a field: the share of its surface with less
                           * than two cells of wall behind it */
} abut_world_item_info;

ABUT_DEFAULT(abut_world_item_info)

/* Gets how an item takes part. The method is chosen when the item is added, and stays when its mesh
 * deforms; the first call after that examines the mesh. `info->size` must be set. For one user at a
 * time. */
ABUT_API abut_status abut_world_get_item_info(const abut_world *world, uint32_t id,
                                              abut_world_item_info *info);

/* What cannot be missed of a pair. */
typedef enum abut_world_guarantee {
    ABUT_WORLD_GUARANTEE_NONE = 0, /* all: it is never tried */
    ABUT_WORLD_GUARANTEE_SAMPLED,  /* what lies between samples may be missed */
    ABUT_WORLD_GUARANTEE_COMPLETE, /* nothing: every overlap has a contact, whatever its size */
    ABUT_WORLD_GUARANTEE_LIMITED   /* no intersection of surfaces; but a mesh has small holes, or
                                    * neighbouring triangles that face opposite ways, so what lies
                                    * wholly inside it is a guess: contacts follow
                                    * abut_pair_overlap() there, and depths have no bound */
} abut_world_guarantee;

/* "never", "sampled", "every", "limited". */
ABUT_API const char *abut_world_guarantee_name(abut_world_guarantee guarantee);

/* How a pair is tried. */
typedef struct abut_world_pair_info {
    size_t size;              /* sizeof(abut_world_pair_info), set by the default function */
    abut_world_method method; /* AUTO: never */
    abut_world_guarantee guarantee;
    double error; /* the deepest contact is too shallow or too deep by no more than this, as far as
                   * surfaces are what meshes say; 0 = by rounding alone; infinity = no bound */
    const char *reason; /* static: what is missed, or why it is never tried */
} abut_world_pair_info;

ABUT_DEFAULT(abut_world_pair_info)

/* Gets how two different items are tested if their bounding boxes overlap. `info->size` must be
 * set. */
ABUT_API abut_status abut_world_get_pair_info(const abut_world *world, uint32_t a, uint32_t b,
                                              abut_world_pair_info *info);

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
 * of its method. Fields: features of a, then those of b; or, with options.max_patch_contacts, as
 * abut_contact_reduce() leaves them. Exact: patch by patch, the deepest first; the hint of
 * abut_contact_patches() is the normal of the deepest contact of the pair the last time that
 * contacts were found, or else against the motion of a relative to b since then.
 * A pair at rest keeps its contacts bit for bit, and nothing is computed for it: one of which both
 * items have had the same pose, bit for bit, and the same shape since contacts were last found.
 * Layers are the exception, whose images show all items.
 * Maps: patch by patch; of two maps, those of a, then those of b. Layers: one
 * (ABUT_CONTACT_OVERLAP), the middle of what both have in common.
 * Radial: features of characters are samples of all fields in order (ABUT_CONTACT_POINT). Features
 * of spheres and capsules are places (ABUT_CONTACT_SOLID, whose elements are the parts of
 * abut_radial_contacts()), those of other solids vertices and then edges of their meshes. Bodies
 * have samples or vertices, and deepest points of edges longer than a cell, unless options.samples
 * is set. options.keep_backfacing is not asked there.
 * The reliability is the worst of all pairs that were tried.
 * Where there are more than contacts->capacity, ABUT_ERROR_BUFFER is returned and only
 * contacts->count is set, which gets their number in either case. As long as nothing changes, a
 * second call only copies. */
ABUT_API abut_status abut_world_contacts(abut_world *world, abut_contacts *contacts);

/* ---- events ---- */

typedef enum abut_world_event_kind {
    ABUT_WORLD_EVENT_BEGIN = 0, /* the pair has contacts and had none at the last call */
    ABUT_WORLD_EVENT_PERSIST,   /* it has, and had */
    ABUT_WORLD_EVENT_END        /* it had; or an item of it was removed since then */
} abut_world_event_kind;

ABUT_API const char *abut_world_event_kind_name(abut_world_event_kind change);

/* What has become of a pair. */
typedef struct abut_world_event {
    abut_world_event_kind kind;
    abut_world_method method; /* by which its contacts came */
    abut_world_guarantee guarantee;
    double error;          /* as in abut_world_pair_info, of that method */
    uint32_t a, b;         /* a < b. At an end they may be free, or other items by now */
    bool is_sensor;        /* one of them is */
    bool is_verified;      /* as in abut_patches; exact alone */
    uint64_t first, count; /* of its contacts, in the list of abut_world_contacts(); none of sensors
                            * and at an end */
    abut_contact deepest;  /* contact of the pair; at an end, as it was */
    abut_reliability reliability;
} abut_world_event;

/* Tells what has become of pairs since the last call that succeeded: begin, stay and end, sorted by
 * a, then b; where an id went to another item, the end before the begin. A pair counts as touching
 * where it has a contact, also one within the margin; sensors too. With a capacity that is too
 * small nothing is written or forgotten, and ABUT_ERROR_BUFFER is returned; *count is set in either
 * case. */
ABUT_API abut_status abut_world_events(abut_world *world, uint64_t capacity,
                                       abut_world_event *events, uint64_t *count);

/* ---- save and restore ---- */

/* Writes what the world remembers between steps: the hint of each pair (abut_world_contacts) and
 * which pairs events were last reported for. Items, poses, shapes, options and ignored pairs are
 * the caller's to store. Contacts are found if they are not known. Takes 8 bytes for each id, 24
 * for each candidate pair and 72 more; 120 for each pair that was reported, if abut_world_events()
 * was not called since contacts were last found. With a capacity that is too small nothing is
 * written, and ABUT_ERROR_BUFFER is returned; *bytes is set in either case. For one user at a time.
 */
ABUT_API abut_status abut_world_save(abut_world *world, size_t capacity, void *state,
                                     size_t *bytes);
/* Makes a world remember what was saved. Its items must be those of the world that was saved, under
 * the same ids, with the same shapes, groups, options and ignored pairs, and at the poses at which
 * it was saved, bit for bit. All contacts are computed with the hints of the state and compared
 * with those that were saved, so this takes as long as a step in which all items move. From then
 * on, the same calls give the same contacts, ids and events as after abut_world_save(), bit for
 * bit; only the ids of items that are added later depend on the order in which ids of this world
 * became free. Fails with ABUT_ERROR_FORMAT for bytes that are damaged or are no state,
 * ABUT_ERROR_UNSUPPORTED for a state of another format or byte order, and ABUT_ERROR_ARGUMENT for a
 * state of another world or of other poses. On failure all is as before. For one user at a time. */
ABUT_API abut_status abut_world_restore(abut_world *world, const void *state, size_t bytes);

/* ---- over a step ---- */

/* Two items that touch within a step. */
typedef struct abut_world_impact {
    uint32_t a, b;  /* a < b */
    bool is_sensor; /* one of them is, which stops nothing */
    abut_sweep_rigid_result result;
} abut_world_impact;

typedef struct abut_world_impacts {
    abut_world_impact *list;
    uint64_t capacity, count;
    double time; /* the part of the step that is safe, 0 to 1, by all pairs without a sensor: up to
                  * this time no pair that is apart at the start touches, and no pair that touches
                  * at the start penetrates deeper than it did there; see abut_world_sweep() */
    uint64_t unswept_count; /* pairs whose boxes overlap on the way that cannot be swept */
    abut_reliability
        reliability; /* the worst of all pairs that were swept; see abut_sweep_rigid_result */
} abut_world_impacts;

/* Finds what `count` items touch if they go on to these poses in a step while all others stay
 * where they are: however fast and thin they are, **"no" means no**. Null ids mean 0 to count - 1;
 * of an id that comes twice the last pose counts. The world stays as it is. Items move along paths
 * as abut_path has them. Pairs are those that are tried, also of sensors. Bodies with hierarchies
 * go by abut_sweep_rigid(), and solids with them and with each other, early by less than 0.003 of
 * the radii of spheres, capsules and cylinders; but of hulls, their triangles are ABUT_NONE. Pairs
 * with a character, or a body that has no hierarchy, are counted as unknown. Pairs that touch at
 * the start have a touch of time 0 in the list, and limit impacts->time if they go deeper: a body
 * that rests may slide along its support or leave it, and may not sink into it. For this the sweep
 * moves the body out along the contact normals at the start by its penetration depth and a slack,
 * and sweeps it from there. The slack is 1e-4 of the smaller item plus 0.004 of the radii of
 * spheres, capsules and cylinders, or four tolerances if that is more. So no pair that touches at
 * the start is deeper than at the start by more than the slack before impacts->time. The time is 0
 * if no point moves by more than twice the slack until then, and also if the shift does not
 * separate the pair, as for bodies that clasp each other. `options` may be null; the margin of the
 * world is not used. Sorted by a, then b; the same on any number of threads. With a capacity that
 * is too small nothing but impacts->count is set, and ABUT_ERROR_BUFFER is returned. */
ABUT_API abut_status abut_world_sweep(abut_world *world, const uint32_t *ids, const abut_pose *ends,
                                      size_t count, const abut_sweep_rigid_options *options,
                                      abut_world_impacts *impacts);

/* ---- contacts that stay on the device ---- */

typedef struct abut_world_device_contacts {
    const abut_buffer *pairs; /* abut_world_pair: those of abut_world_pairs() that are two bodies,
                               * and tried by fields */
    const abut_buffer *begin; /* uint32_t, pair_count + 1 of them: pair i has contacts begin[i] up
                               * to but not including begin[i + 1] */
    const abut_buffer *contacts; /* abut_contact; their `pair` is that of `pairs` */
    uint64_t pair_count;
    uint64_t contact_count;
} abut_world_device_contacts;

/* Finds the pairs of bodies and their contacts on the device of the options, sensors too, and
 * leaves them there: those of abut_world_contacts() in the same order, bit for bit, also with
 * options.max_patch_contacts. Only the counts come to the host. Buffers belong to the world, and
 * their content stays until something changes. */
ABUT_API abut_status abut_world_get_device_contacts(abut_world *world,
                                                    abut_world_device_contacts *records);

#ifdef __cplusplus
}
#endif

#endif
