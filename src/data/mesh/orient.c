/* Orients triangles so that neighbours have consistent orientation and closed components face
 * outwards.
 *
 * The two faces of an edge with exactly two faces must have opposite directions along it. Starting
 * from the lowest triangle of each patch (triangles connected through such edges), a breadth-first
 * search decides for every triangle whether it is flipped. A patch that contradicts itself is
 * one-sided (a Moebius strip) and keeps a seam of flipped edges. Then the whole patch may be
 * flipped once more: a closed one so that it bounds a volume (outwards, or inwards if it is inside
 * an odd number of other closed ones and so bounds a cavity), any other so that less of its area
 * changes.
 */
#include "mesh/mesh.h"

#include <string.h>

enum { KEEP = 0, FLIP = 1, UNSEEN = 2 };

typedef struct orientation {
    const abut_topology_arrays *view;
    const abut_mesh *mesh;
    abuti_unit_frame frame;
    const unsigned char *inside; /* per component */
    unsigned char *flip;         /* per triangle */
    uint32_t *queue;
} orientation;

typedef struct patch {
    size_t count; /* triangles in the queue */
    bool closed, one_sided;
    double area[2];           /* by KEEP and FLIP */
    double volume, magnitude; /* of the triangles as flipped so far; and of absolute values */
} patch;

static void add_triangle(const orientation *o, uint32_t t, vec3 from, patch *p) {
    const uint32_t *corner = o->mesh->indices + 3 * (size_t)t;
    vec3 a = v3_sub(abuti_unit_position(&o->frame, o->mesh->positions[corner[0]]), from);
    vec3 b = v3_sub(abuti_unit_position(&o->frame, o->mesh->positions[corner[1]]), from);
    vec3 c = v3_sub(abuti_unit_position(&o->frame, o->mesh->positions[corner[2]]), from);
    vec3 normal = v3_cross(v3_sub(b, a), v3_sub(c, a));
    double volume = v3_dot(a, normal) / 6;
    p->area[o->flip[t]] += 0.5 * v3_length(normal);
    p->volume += o->flip[t] == FLIP ? -volume : volume;
    p->magnitude += fabs(volume);
}

/* Decides the patch of `seed` relative to it; its triangles are then in the queue. */
static patch decide_patch(orientation *o, uint32_t seed) {
    const abut_topology_arrays *view = o->view;
    patch p = {.closed = true};
    vec3 from =
        abuti_unit_position(&o->frame, o->mesh->positions[o->mesh->indices[3 * (size_t)seed]]);
    o->flip[seed] = KEEP;
    o->queue[p.count++] = seed;
    for (size_t next = 0; next < p.count; next++) {
        uint32_t t = o->queue[next];
        add_triangle(o, t, from, &p);
        for (uint32_t k = 0; k < 3; k++) {
            uint32_t other = view->neighbours[3 * (size_t)t + k];
            if (other == ABUT_NONE) {
                p.closed = false;
                continue;
            }
            uint32_t side = abuti_side_of(view, other, view->triangle_edges[3 * (size_t)t + k]);
            bool same_way =
                o->mesh->indices[3 * (size_t)t + k] == o->mesh->indices[3 * (size_t)other + side];
            unsigned char wanted = o->flip[t] ^ same_way;
            if (o->flip[other] == UNSEEN) {
                o->flip[other] = wanted;
                o->queue[p.count++] = other;
            } else if (o->flip[other] != wanted) {
                p.one_sided = true;
            }
        }
    }
    return p;
}

static void orient_patch(orientation *o, uint32_t seed) {
    patch p = decide_patch(o, seed);
    bool has_volume = fabs(p.volume) > 1e-12 * p.magnitude &&
                      fabs(p.volume) > 1e-14 * (p.area[KEEP] + p.area[FLIP]);
    bool flips;
    if (p.closed && !p.one_sided && has_volume)
        flips = (p.volume < 0) != (o->inside[o->view->triangle_component[seed]] != 0);
    else
        flips = p.area[FLIP] > p.area[KEEP];
    for (size_t i = 0; flips && i < p.count; i++)
        o->flip[o->queue[i]] ^= 1;
}

static abut_status decide_flips(orientation *o, const abut_topology *topology,
                                unsigned char *watertight, unsigned char *inside) {
    abuti_find_watertight_components(&topology->view, watertight);
    abut_status status = abuti_component_nesting(topology, watertight, inside);
    if (status || (status = abuti_progress(o->mesh->context, "orient", 0.3)))
        return status;
    o->inside = inside;
    memset(o->flip, UNSEEN, o->view->triangle_count);
    for (uint32_t t = 0; t < o->view->triangle_count; t++) {
        if (abuti_is_collapsed(o->mesh->indices + 3 * (size_t)t))
            o->flip[t] = KEEP;
        else if (o->flip[t] == UNSEEN)
            orient_patch(o, t);
    }
    return ABUT_OK;
}

static abut_status make_oriented(const orientation *o, abut_mesh **oriented,
                                 uint32_t *flipped_count) {
    const abut_mesh *mesh = o->mesh;
    vec3 *positions;
    uint32_t *indices;
    if (ABUTI_ALLOCATE(mesh->context, ABUTI_ARRAY(positions, mesh->vertex_count),
                       ABUTI_ARRAY(indices, 3 * (size_t)mesh->triangle_count)))
        return ABUT_ERROR_MEMORY;
    for (uint32_t v = 0; v < mesh->vertex_count; v++)
        positions[v] = abuti_mesh_position(mesh, v);
    uint32_t flipped = 0;
    for (size_t t = 0; t < mesh->triangle_count; t++) {
        const uint32_t *from = mesh->indices + 3 * t;
        bool flips = o->flip[t] == FLIP;
        indices[3 * t] = from[0];
        indices[3 * t + 1] = from[flips ? 2 : 1];
        indices[3 * t + 2] = from[flips ? 1 : 2];
        flipped += flips;
    }
    abut_status status =
        abuti_mesh_adopt(mesh->context, "abut_mesh_orient", positions, mesh->vertex_count, indices,
                         mesh->triangle_count, oriented);
    if (!status)
        (*oriented)->up = mesh->up;
    if (!status && flipped_count)
        *flipped_count = flipped;
    return status;
}

abut_status abut_mesh_orient(const abut_topology *topology, abut_mesh **oriented,
                             uint32_t *flipped_count) {
    if (!topology || !oriented)
        return abuti_null(__func__, topology ? "oriented" : "topology");
    const abut_topology_arrays *view = &topology->view;
    abut_context *context = topology->mesh->context;
    abut_status status = abuti_progress(context, "orient", 0);
    if (status)
        return status;
    orientation o = {.view = view,
                     .mesh = topology->mesh,
                     .frame = abuti_unit_frame_of(topology->mesh)};
    unsigned char *watertight, *inside;
    if ((status = ABUTI_ALLOCATE(context, ABUTI_ARRAY(o.flip, view->triangle_count),
                                 ABUTI_ARRAY(o.queue, view->triangle_count),
                                 ABUTI_ARRAY(watertight, view->component_count),
                                 ABUTI_ARRAY(inside, view->component_count))))
        return status;
    status = decide_flips(&o, topology, watertight, inside);
    if (!status)
        status = abuti_progress(context, "orient", 0.8);
    if (!status)
        status = make_oriented(&o, oriented, flipped_count);
    ABUTI_RELEASE(context, o.flip, o.queue, watertight, inside);
    return status;
}
