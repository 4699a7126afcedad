/* Colliders: a shape at a pose, the input of pair queries, contact functions, sweeps, images and
 * worlds.
 *
 * A shape is a mesh with the data structures that queries need, a primitive, or the radial fields
 * of a character. Each function documents the kinds that it accepts. The functions of <abut/pair.h>
 * accept bodies that have a BVH, and hulls. abut_contact_find() and abut_sweep_rigid() accept
 * primitives and bodies that have a BVH. abut_contact_find_sampled() accepts bodies that have a
 * field or samples. abut_raster_draw() and abut_layers_add() accept meshes, hulls and bodies that
 * have a BVH. Worlds accept all kinds.
 *
 *     abut_collider part = abut_collider_from_bvh(bvh, pose);
 *     abut_collider crate = abut_collider_from_box(half, pose);
 *
 * A collider is passed by pointer, and functions read it only during the call. It holds no
 * references, so the caller keeps its objects alive. Worlds and layers add references of their own.
 */
#ifndef ABUT_COLLIDER_H
#define ABUT_COLLIDER_H

#include <abut/base.h>
#include <abut/bvh.h>
#include <abut/geom.h>
#include <abut/mesh.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A signed distance field, see <abut/field.h>. */
typedef struct abut_field abut_field;
/* Points on a surface, see <abut/contact.h>. */
typedef struct abut_samples abut_samples;
/* Radial fields of a character, see <abut/radial.h>. */
typedef struct abut_radial abut_radial;

/* The kind of a shape. */
typedef enum abut_collider_kind {
    ABUT_COLLIDER_BODY = 0, /* one mesh, by a BVH, a field, samples, or any combination of these */
    ABUT_COLLIDER_PLANE, /* a half-space: solid below the plane, empty on the side of its normal */
    ABUT_COLLIDER_SPHERE,
    ABUT_COLLIDER_CAPSULE,
    ABUT_COLLIDER_BOX, /* centred at the origin of its pose */
    ABUT_COLLIDER_CYLINDER,
    ABUT_COLLIDER_HULL,      /* a closed convex mesh */
    ABUT_COLLIDER_CHARACTER, /* radial fields, in world coordinates: the pose must be the identity
                              */
    ABUT_COLLIDER_MESH /* a mesh without other data: for images, layers and worlds, which build
                        * what they need */
} abut_collider_kind;

/* Returns the name of a kind of collider, or null if there is no such kind. Thread-safe. */
ABUT_API const char *abut_collider_kind_name(abut_collider_kind kind);

typedef struct abut_collider {
    abut_collider_kind kind;
    abut_pose pose; /* zeroed = the identity */
    union {         /* by kind, in local coordinates */
        struct {
            const abut_field *field;
            const abut_samples *samples;
            const abut_bvh *bvh;
        } body;
        abut_plane plane;
        abut_sphere sphere;
        abut_capsule capsule;
        abut_vec3 half; /* half extents of a box */
        abut_cylinder cylinder;
        const abut_bvh *hull; /* see abut_mesh_create_hull() */
        abut_radial *character;
        struct {
            const abut_mesh *mesh;
            /* The following members are for worlds only. */
            bool deforms;        /* true if abut_world_set_positions() will change its positions */
            uint32_t resolution; /* field: cells along the longest side, 0 = 64. Map: texels along
                                  * each side, 0 = 128. Layers: pixels along the longer side of an
                                  * image, 0 = 1024; the images of a world use the maximum of its
                                  * items */
        } mesh;
        double reserved[12]; /* keeps the size of colliders when kinds are added */
    } shape;
} abut_collider;

/* The following functions return a collider of one kind at a pose. Primitives are in local
 * coordinates. Thread-safe. */
static inline abut_collider abut_collider_make(abut_collider_kind kind, abut_pose at) {
    abut_collider made;
    memset(&made, 0, sizeof made);
    made.kind = kind;
    made.pose = at;
    return made;
}
static inline abut_collider abut_collider_from_bvh(const abut_bvh *bvh, abut_pose at) {
    abut_collider made = abut_collider_make(ABUT_COLLIDER_BODY, at);
    made.shape.body.bvh = bvh;
    return made;
}
/* `samples` must belong to the mesh of the field, or be null. */
static inline abut_collider abut_collider_from_field(const abut_field *field,
                                                     const abut_samples *samples, abut_pose at) {
    abut_collider made = abut_collider_make(ABUT_COLLIDER_BODY, at);
    made.shape.body.field = field;
    made.shape.body.samples = samples;
    return made;
}
/* A rigid mesh without other data. */
static inline abut_collider abut_collider_from_mesh(const abut_mesh *mesh, abut_pose at) {
    abut_collider made = abut_collider_make(ABUT_COLLIDER_MESH, at);
    made.shape.mesh.mesh = mesh;
    return made;
}
static inline abut_collider abut_collider_from_plane(abut_plane plane, abut_pose at) {
    abut_collider made = abut_collider_make(ABUT_COLLIDER_PLANE, at);
    made.shape.plane = plane;
    return made;
}
static inline abut_collider abut_collider_from_sphere(abut_sphere sphere, abut_pose at) {
    abut_collider made = abut_collider_make(ABUT_COLLIDER_SPHERE, at);
    made.shape.sphere = sphere;
    return made;
}
static inline abut_collider abut_collider_from_capsule(abut_capsule capsule, abut_pose at) {
    abut_collider made = abut_collider_make(ABUT_COLLIDER_CAPSULE, at);
    made.shape.capsule = capsule;
    return made;
}
static inline abut_collider abut_collider_from_box(abut_vec3 half, abut_pose at) {
    abut_collider made = abut_collider_make(ABUT_COLLIDER_BOX, at);
    made.shape.half = half;
    return made;
}
static inline abut_collider abut_collider_from_cylinder(abut_cylinder cylinder, abut_pose at) {
    abut_collider made = abut_collider_make(ABUT_COLLIDER_CYLINDER, at);
    made.shape.cylinder = cylinder;
    return made;
}
/* The BVH of a closed convex mesh. */
static inline abut_collider abut_collider_from_hull(const abut_bvh *hull, abut_pose at) {
    abut_collider made = abut_collider_make(ABUT_COLLIDER_HULL, at);
    made.shape.hull = hull;
    return made;
}

/* ---- mass ---- */

typedef struct abut_collider_mass {
    size_t size;        /* sizeof(abut_collider_mass), set by the default function */
    double volume;      /* also the mass, with density 1 */
    abut_vec3 centroid; /* in local coordinates: the pose is not applied */
    double inertia[6];  /* xx yy zz xy yz zx about the centroid, along the local axes, with density
                         * 1. Off-diagonal values are entries of the tensor, as in
                         * abut_mesh_report */
} abut_collider_mass;

ABUT_DEFAULT(abut_collider_mass)

/* Computes volume, centroid and inertia of a shape: by closed forms for a sphere, capsule, box or
 * cylinder, otherwise for the mesh of a hull, mesh or body with a BVH, as abut_mesh_examine() does
 * in O(n log n). Multiply volume and inertia by the density. `mass->size` must be set. Returns
 * ABUT_ERROR_ARGUMENT for planes, characters, bodies without a BVH, and for meshes that are no
 * solids: open ones, or such without consistent orientation. Thread-safe. */
ABUT_API abut_status abut_collider_get_mass(const abut_collider *collider,
                                            abut_collider_mass *mass);

#ifdef __cplusplus
}
#endif

#endif
