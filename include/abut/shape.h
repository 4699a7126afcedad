/* Generated test models, with exact signed distance functions where a closed form exists.
 *
 * Every solid is closed, manifold and oriented outwards, without degenerate triangles and without
 * duplicate vertices. Shapes are centred at the origin; teapots stand on z = 0. All vertices lie on
 * the ideal surface. The same description gives the same mesh, bit for bit, on every machine with
 * IEEE 754 doubles. Symmetric shapes are exactly symmetric.
 */
#ifndef ABUT_SHAPE_H
#define ABUT_SHAPE_H

#include <abut/base.h>
#include <abut/mesh.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum abut_shape_kind {
    ABUT_SHAPE_BOX = 0,   /* extent; segments x segments quads per side */
    ABUT_SHAPE_UVSPHERE,  /* radius; segments around, rings from pole to pole */
    ABUT_SHAPE_ICOSPHERE, /* radius; each edge of the icosahedron is divided into `segments` */
    ABUT_SHAPE_TORUS,     /* radius of the circle, radius2 of the tube; axis z; segments around
                           * the axis, rings around the tube */
    ABUT_SHAPE_CONE,      /* radius, height along z; base at z = -height/2; segments around,
                           * rings along the height */
    ABUT_SHAPE_CYLINDER,  /* radius, height along z; segments around, rings along the height */
    ABUT_SHAPE_CAPSULE,   /* radius, height of the straight part along z; segments around, rings
                           * per cap */
    ABUT_SHAPE_TUBE,      /* outer radius, inner radius2, height along z; segments around, rings
                           * along the height */
    ABUT_SHAPE_SHEET,     /* extent.x by extent.y in the plane z = 0; segments x rings quads;
                           * open, facing +z */
    ABUT_SHAPE_STAIRS,    /* extent; `segments` steps that rise along +x, z up, solid down to the
                           * floor; `rings` quads across their width along y */
    ABUT_SHAPE_LETTER_E,  /* extruded block letter: height along y, thickness extent.z, width 0.6 of
                           * the height; no edge is longer than height / segments */
    ABUT_SHAPE_LETTER_G,  /* the same, width 0.7 of the height */
    ABUT_SHAPE_TEAPOT,    /* the Utah teapot (Newell 1975) as published: 32 patches of segments x
                           * segments quads, at least 2; z up, spout towards +x; open, its parts
                           * intersect */
    ABUT_SHAPE_TEAPOT_SOLID, /* the outer surface of the teapot as one closed surface of genus 1 */
    ABUT_SHAPE_COUNT
} abut_shape_kind;

/* Description of a shape. A member that is zero selects the default of the kind. Members that the
 * kind does not use are ignored. */
typedef struct abut_shape {
    size_t size;
    abut_shape_kind kind;
    abut_vec3 extent;
    double radius, radius2, height;
    uint32_t segments, rings;
} abut_shape;

/* Returns the description of a kind with its default values; that of the box for an invalid kind.
 * Thread-safe. */
ABUT_API abut_shape abut_shape_default(abut_shape_kind kind);

/* Returns a name such as "box" or "letter-e"; null for an invalid kind. Thread-safe. */
ABUT_API const char *abut_shape_kind_name(abut_shape_kind kind);

/* Converts a name to a kind. Returns ABUT_ERROR_ARGUMENT for an unknown name; the error message
 * lists all names. Thread-safe. */
ABUT_API abut_status abut_shape_kind_from_name(const char *name, abut_shape_kind *kind);

/* Creates the mesh of a shape. Returns ABUT_ERROR_ARGUMENT if
 *  - a size is not between 1e-90 and 1e90,
 *  - radius2 of a tube or torus is not below radius,
 *  - the wall of a tube, or radius2 of a torus, is below 1e-9 of radius,
 *  - segments or rings are too few to enclose a volume.
 * Returns ABUT_ERROR_LIMIT if the mesh has more elements than 32-bit indices can address.
 * Thread-safe. */
ABUT_API abut_status abut_shape_create(abut_context *context, const abut_shape *shape,
                                       abut_mesh **mesh);

/* Computes the signed distance from a point to the ideal shape (the sphere, not its triangles),
 * negative inside. The sheet has no interior: its distance is unsigned. Box, sheet, stairs and
 * letters are polyhedra, so the distance to their meshes is the same. The time does not depend on
 * segments and rings. Returns ABUT_ERROR_UNSUPPORTED for the teapots. Returns ABUT_ERROR_ARGUMENT
 * if a coordinate of the point is not finite or exceeds ABUT_COORDINATE_MAX. Thread-safe. */
ABUT_API abut_status abut_shape_distance(const abut_shape *shape, abut_vec3 point,
                                         double *distance);

#ifdef __cplusplus
}
#endif

#endif
