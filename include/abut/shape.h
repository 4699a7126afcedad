/* Generated models, with their exact distance functions where one exists.
 *
 * Every solid is closed, manifold and wound outwards, without degenerate triangles or duplicate
 * vertices. Shapes are centred at the origin, except for the teapots, which stand on z = 0. All
 * vertices lie on the ideal surface. The same description always gives the same mesh, bit for bit,
 * on every machine with IEEE 754 doubles, and mirror images are exact.
 */
#ifndef ABUT_SHAPE_H
#define ABUT_SHAPE_H

#include <abut/base.h>
#include <abut/mesh.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum abut_shape_kind {
    ABUT_SHAPE_BOX = 0,   /* extent; segments x segments quads a side */
    ABUT_SHAPE_UVSPHERE,  /* radius; segments around, rings from pole to pole */
    ABUT_SHAPE_ICOSPHERE, /* radius; each side of the icosahedron cut into `segments` */
    ABUT_SHAPE_TORUS,     /* radius of the circle, radius2 of the tube; axis z; segments around
                           * the axis, rings around the tube */
    ABUT_SHAPE_CONE,      /* radius, height along z; base at z = -height/2; segments around,
                           * rings along the height */
    ABUT_SHAPE_CYLINDER,  /* radius, height along z; segments around, rings along the height */
    ABUT_SHAPE_CAPSULE,   /* radius, height of the straight part along z; rings a cap */
    ABUT_SHAPE_TUBE,      /* radius outside, radius2 inside, height along z; segments around,
                           * rings along the height */
    ABUT_SHAPE_SHEET,     /* extent.x by extent.y in the plane z = 0; segments x rings quads;
                           * open, facing +z */
    ABUT_SHAPE_STAIRS,    /* extent; segments steps rising along +x, z up, solid down to the
                           * floor; rings quads across their width, which is along y */
    ABUT_SHAPE_LETTER_E,  /* extruded block letters: height along y, extent.z thick, 0.6 and 0.7 */
    ABUT_SHAPE_LETTER_G,  /* of the height wide; cut so that no edge exceeds height / segments */
    ABUT_SHAPE_TEAPOT,    /* the Utah teapot (Newell 1975) as published, 32 patches of segments x
                           * segments quads, at least 2; z up, spout in +x; open, parts
                           * interpenetrate */
    ABUT_SHAPE_TEAPOT_SOLID, /* the same outside as one closed surface, of genus 1 by its handle */
    ABUT_SHAPE_COUNT
} abut_shape_kind;

/* A zero means the default of that kind; fields that a kind does not name are ignored. */
typedef struct abut_shape {
    size_t size;
    abut_shape_kind kind;
    abut_vec3 extent;
    double radius, radius2, height;
    uint32_t segments, rings;
} abut_shape;

/* Gives the description of a kind with its defaults filled in. An unknown kind gives the box.
 * Thread-safe. */
ABUT_API abut_shape abut_shape_default(abut_shape_kind kind);

/* "box", "letter-e" and so on. */
ABUT_API const char *abut_shape_kind_name(abut_shape_kind kind);

/* Finds a kind by its name; the error sentence lists them all. Thread-safe. */
ABUT_API abut_status abut_shape_kind_from_name(const char *name, abut_shape_kind *kind);

/* Builds the mesh of a shape. Refused: sizes that are not from 1e-90 to 1e90, a tube or torus whose
 * radius2 is not below radius or that is too thin for doubles, too few segments to enclose a
 * volume, more elements than 32-bit indices can count (ABUT_ERROR_LIMIT). Thread-safe. */
ABUT_API abut_status abut_shape_create(abut_context *context, const abut_shape *shape,
                                       abut_mesh **mesh);

/* Signed distance from a point to the ideal shape (the sphere, not its triangles), negative inside;
 * for the sheet, which has no inside, unsigned. ABUT_ERROR_UNSUPPORTED for the teapots. Box, sheet,
 * stairs and letters are polyhedra, so there the mesh has the very same distance. The time does not
 * depend on segments and rings. The point may not exceed ABUT_COORDINATE_MAX. Thread-safe. */
ABUT_API abut_status abut_shape_distance(const abut_shape *shape, abut_vec3 point,
                                         double *distance);

#ifdef __cplusplus
}
#endif

#endif
