/* What the mesh module's files share. */
#ifndef ABUTI_MESH_H
#define ABUTI_MESH_H

#include "base/base.h"
#include "base/math_shared.h"

#include <abut/mesh.h>

#include <stdatomic.h>

struct abut_mesh {
    abut_context *context; /* held */
    atomic_uint holds;
    uint32_t vertex_count, triangle_count;
    vec3 origin;
    vec3 *positions;   /* relative to the origin */
    uint32_t *indices; /* 3 a triangle */
    box3 bounds;       /* absolute, of used vertices */
};

struct abut_topology {
    abut_mesh *mesh; /* held */
    abut_topology_view view;
    uint32_t *arrays[12]; /* what the view points into, to be released */
};

/* Makes a mesh of arrays that came from abuti_allocate(context): positions in absolute coordinates,
 * 3 indices a triangle. Takes both arrays over, also on failure. `name` stands first in error
 * sentences (a file, or the public function). Checks everything abut_mesh_create promises. */
abut_status abuti_mesh_adopt(abut_context *context, const char *name, vec3 *positions,
                             size_t vertex_count, uint32_t *indices, size_t triangle_count,
                             abut_mesh **mesh);

static inline vec3 abuti_mesh_position(const abut_mesh *mesh, uint32_t vertex) {
    return v3_add(mesh->origin, mesh->positions[vertex]);
}

#endif
