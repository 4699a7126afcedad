/* Surface distance maps by the algorithm of Sud, Govindaraju, Gayle and Manocha (2006, algorithm
 * 1): distance functions of sites, rasterised through affine maps. The map of the library has the
 * same atlas and searches the closest point of each texel instead.
 *
 * Sites are the faces, edges and vertices of a body. A convex polytope bounds the Voronoi region of
 * each (section 3.4): the prism of a face, the wedge of an edge, the cone of a vertex. The oriented
 * box of a polytope is tested against a refitted AABB tree of the surface; nodes with a distance
 * bound below the distance of the site are culled (section 4.2). The polytope is intersected with
 * each remaining triangle, and the polygon is transformed into the atlas by the affine map of the
 * triangle. Distance vectors at its vertices are interpolated over its texels (lemma 1). The texels
 * of other triangles are clipped, as by the stencil test, and the smallest distance of a texel is
 * kept, as by the depth test. All numbers are floats, as there.
 *
 * What the paper leaves open: sites are processed in a pseudo-random order, so that bounds tighten
 * early. Polytopes are larger than the regions by SUD_GROWTH, relative to the coordinates, since
 * otherwise rounding leaves gaps between them. The sign of a texel is that of its site (section
 * 6.2), by the normal of the face or the pseudo-normal of the edge or vertex. */
#ifndef SUD_RASTERISED_H
#define SUD_RASTERISED_H

#include <abut/abut.h>

#define SUD_GROWTH 0x1p-18f

typedef struct sud_texel {
    float distance;  /* negative inside; infinity = no site, or no triangle */
    float vector[3]; /* to the closest point */
    uint32_t site;   /* faces, then edges, then vertices; ABUT_NONE if there is none */
} sud_texel;

/* Of one computation. */
typedef struct sud_counts {
    uint64_t node_tests;
    uint64_t pairs;     /* triangle and site, after culling */
    uint64_t polygons;  /* pairs whose intersection is not empty */
    uint64_t fragments; /* texels of polygons, after the stencil test */
} sud_counts;

typedef struct sud_measures {
    float min, max; /* signed distances of all texels */
    uint64_t samples, inside;
} sud_measures;

typedef struct sud_map sud_map;

/* Creates a map of a surface, with the atlas of a map of the library, and the sites of another
 * body. Both are closed manifolds without degenerate triangles; the texels of such triangles stay
 * infinite. Thread-safe. */
abut_status sud_map_create(const abut_map *atlas, abut_mesh *body, sud_map **map);
void sud_map_destroy(sud_map *map); /* null is allowed */
/* Sets the positions of both, with the same triangles: refits the tree, and updates affine maps,
 * polytopes and boxes. */
abut_status sud_map_set_meshes(sud_map *map, const abut_mesh *surface, const abut_mesh *body);
/* Computes all texels; returns what it did. */
sud_counts sud_map_compute(sud_map *map);
/* Reads all texels: minimum and maximum (section 6.2). */
sud_measures sud_map_scan(const sud_map *map);
/* The texels, row by row, and their sites. */
void sud_map_texels(const sud_map *map, sud_texel *texels);

#endif
