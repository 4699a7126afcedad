/* The skin of a mesh: the offset of each vertex, and the topology of its triangles.
 *
 * The offset of a vertex is along the mean normal of its faces, weighted by their angles. Its
 * length moves all of its faces outwards by at least 1, unless that exceeds MAX_MITRE. At a corner
 * of a cube it is the mitre. */
#include "contact/patch.h"

#include <math.h>
#include <stdatomic.h>

#define MAX_MITRE 3.0 /* maximum length of an offset */

/* ---- offsets ---- */

/* Returns the unit normal of a triangle, zero if it has no area. */
static vec3 face_normal(const patch_skin *skin, uint32_t face) {
    const vec3 *positions = skin->bvh->mesh->positions;
    const uint32_t *corner = skin->corner + 3 * (size_t)face;
    return abuti_unit_normal(positions[corner[0]], positions[corner[1]], positions[corner[2]]);
}

static double angle_at(const patch_skin *skin, const uint32_t *corner, uint32_t vertex) {
    const vec3 *positions = skin->bvh->mesh->positions;
    const int k = corner[0] == vertex ? 0 : corner[1] == vertex ? 1 : 2;
    return abuti_corner_angle(positions[corner[k]], positions[corner[(k + 1) % 3]],
                              positions[corner[(k + 2) % 3]]);
}

vec3 abuti_patch_offset(const void *data, uint32_t vertex) {
    const patch_skin *skin = data;
    const abut_topology_arrays *view = &skin->view;
    const uint32_t begin = view->vertex_face_begin[vertex],
                   end = view->vertex_face_begin[vertex + 1];
    vec3 sum = v3(0, 0, 0);
    double min_cosine = 1;
    for (uint32_t i = begin; i < end; i++) {
        const uint32_t face = view->vertex_faces[i], *corner = skin->corner + 3 * (size_t)face;
        if (!abuti_is_collapsed(corner))
            sum = v3_along(sum, angle_at(skin, corner, vertex), face_normal(skin, face));
    }
    const vec3 mean = v3_normalise(sum);
    for (uint32_t i = begin; i < end; i++) {
        const uint32_t face = view->vertex_faces[i];
        const vec3 normal = face_normal(skin, face);
        if (!abuti_is_collapsed(skin->corner + 3 * (size_t)face) && v3_max_abs(normal) > 0)
            min_cosine = real_min(min_cosine, v3_dot(normal, mean));
    }
    return v3_scale(mean, 1 / real_max(min_cosine, 1 / MAX_MITRE));
}

/* ---- creation and refit ---- */

enum { PER_TASK = 512 };

typedef struct face_search {
    const patch_skin *skin;
    atomic_bool has_degenerate;
} face_search;

static void find_degenerate(void *data, size_t chunk, size_t begin, size_t end) {
    face_search *search = data;
    (void)chunk;
    for (size_t t = begin; t < end; t++)
        if (v3_max_abs(face_normal(search->skin, (uint32_t)t)) == 0)
            atomic_store_explicit(&search->has_degenerate, true, memory_order_relaxed);
}

static void examine_triangles(patch_skin *skin) {
    const abut_mesh *mesh = skin->bvh->mesh;
    face_search search = {.skin = skin};
    abuti_parallel_for(skin->attachment.context, mesh->triangle_count, PER_TASK, find_degenerate,
                       &search);
    skin->has_degenerate_triangles = atomic_load(&search.has_degenerate);
    skin->size = v3_max_abs(v3_sub(mesh->bounds.hi, mesh->bounds.lo));
}

static void compute_offsets(void *data, size_t chunk, size_t begin, size_t end) {
    patch_skin *skin = data;
    (void)chunk;
    for (size_t v = begin; v < end; v++)
        skin->offset[v] = abuti_patch_offset(skin, (uint32_t)v);
}

static void create_offsets(patch_skin *skin) {
    const uint32_t count = skin->bvh->mesh->vertex_count;
    abuti_parallel_for(skin->attachment.context, count, PER_TASK, compute_offsets, skin);
    skin->max_offset = 0;
    for (uint32_t v = 0; v < count; v++)
        skin->max_offset = real_max(skin->max_offset, v3_length(skin->offset[v]));
}

/* A shape that changes needs offsets only where it touches something. */
static void forget_offsets(patch_skin *skin) {
    abuti_release(skin->attachment.context, skin->offset);
    skin->offset = NULL;
    skin->max_offset = 1.001 * MAX_MITRE; /* for rounding */
}

static void destroy_skin(bvh_attachment *attachment) {
    patch_skin *skin = (patch_skin *)(void *)attachment;
    abut_topology_destroy(skin->topology);
    ABUTI_RELEASE(attachment->context, skin->offset, skin->components);
    skin->topology = NULL;
    skin->offset = NULL;
    skin->components = NULL;
}

/* Returns the reliability of contacts, from the edges: contours are closed if surfaces are. */
static abut_reliability compute_reliability(const patch_skin *skin) {
    const abut_topology_arrays *view = &skin->view;
    bool is_open = false, has_boundary = false;
    for (uint32_t e = 0; e < view->edge_count; e++) {
        const uint32_t *faces;
        uint32_t count = abuti_edge_faces(view, e, &faces);
        is_open = is_open || count % 2;
        has_boundary = has_boundary || count == 1;
        int up = 0;
        for (uint32_t i = 0; i < count; i++)
            up += abuti_runs_up(view, skin->corner, faces[i], e) ? 1 : -1;
        if (count % 2 == 0 && up)
            return abuti_unreliable(
                "Neighbouring triangles of a mesh face opposite ways, so inside and "
                "outside are unknown: orient the mesh first.");
    }
    return has_boundary
               ? abuti_limited("A mesh has boundary edges: contacts away from them are "
                               "correct. At small holes, inside and outside are an estimate. "
                               "A sheet has no interior.")
           : is_open
               ? abuti_limited("Edges of a mesh have three or more faces: contacts away "
                               "from them are correct, but inside and outside are an estimate.")
               : abuti_guaranteed("Both surfaces are closed: bodies that touch have a contact.");
}

/* Computes the signed volume of each component, as a sum of tetrahedra of its triangles and the
 * origin, and whether it is the wall of a cavity. Returns the sum of all volumes. */
static double compute_volumes(const patch_skin *skin, patch_component *components) {
    double sum = 0;
    const vec3 *positions = skin->bvh->mesh->positions;
    for (uint32_t i = 0; i < skin->view.component_count; i++)
        components[i].volume = 0;
    for (uint32_t t = 0; t < skin->view.triangle_count; t++) {
        const uint32_t *corner = skin->corner + 3 * (size_t)t;
        const vec3 normal = v3_cross(positions[corner[1]], positions[corner[2]]);
        components[skin->view.triangle_component[t]].volume +=
            v3_dot(positions[corner[0]], normal) / 6;
    }
    for (uint32_t i = 0; i < skin->view.component_count; i++) {
        sum += components[i].volume;
        components[i].is_cavity = components[i].is_closed && !(components[i].volume > 0);
    }
    return sum;
}

/* Fills the list of components, and sets whether the sum of their volumes is negative. */
static abut_status find_components(patch_skin *skin, bool *is_inward) {
    const abut_topology_arrays *view = &skin->view;
    const abut_mesh *mesh = skin->bvh->mesh;
    abut_context *context = skin->attachment.context;
    const bvh_solid *solid;
    const bvh_components *containment;
    unsigned char *closed;
    uint32_t *vertex_component; /* of each vertex, in the numbers of abuti_pair_contains() */
    abuti_release(context, skin->components);
    abut_status status = ABUTI_ALLOCATE(context, ABUTI_ARRAY(closed, view->component_count),
                                        ABUTI_ARRAY(vertex_component, mesh->vertex_count),
                                        ABUTI_ARRAY(skin->components, view->component_count));
    if (!status)
        status = abuti_bvh_solid(skin->bvh, &solid);
    if (!status)
        status = abuti_bvh_components(skin->bvh, &containment);
    if (!status) {
        abuti_vertex_components(mesh, solid->names, vertex_component);
        abuti_find_watertight_components(view, closed);
        for (uint32_t t = view->triangle_count; t-- > 0;)
            skin->components[view->triangle_component[t]].face = t;
        for (uint32_t i = 0; i < view->component_count; i++) {
            patch_component *component = &skin->components[i];
            const uint32_t vertex = mesh->indices[3 * (size_t)component->face];
            component->vertex = containment->vertex[vertex_component[vertex]];
            component->is_closed = closed[i];
        }
        *is_inward = compute_volumes(skin, skin->components) < 0;
    }
    ABUTI_RELEASE(context, closed, vertex_component);
    return status;
}

static abut_status make_topology(patch_skin *skin) {
    abut_mesh *mesh = skin->bvh->mesh;
    uint32_t *names = abuti_allocate(mesh->context, mesh->vertex_count, sizeof *names);
    if (!names)
        return ABUT_ERROR_MEMORY;
    abut_status status =
        abuti_coincident_vertices(mesh->context, mesh->positions, mesh->vertex_count, names);
    if (!status)
        status = abuti_pair_merged_topology(mesh, names, skin->is_reversed, &skin->topology);
    abuti_release(mesh->context, names);
    if (status)
        return status;
    skin->view = skin->topology->view;
    skin->corner = skin->topology->mesh->indices;
    skin->reliability = compute_reliability(skin);
    return ABUT_OK;
}

static abut_status create_oriented(bvh_attachment *attachment, void *owner, bool is_reversed) {
    patch_skin *skin = (patch_skin *)(void *)attachment;
    skin->bvh = owner;
    skin->is_reversed = is_reversed;
    skin->components = NULL;
    bool is_inward = false;
    skin->offset =
        abuti_allocate(attachment->context, skin->bvh->mesh->vertex_count, sizeof *skin->offset);
    abut_status status = skin->offset ? make_topology(skin) : ABUT_ERROR_MEMORY;
    if (!status)
        status = find_components(skin, &is_inward);
    if (!status && is_inward && !is_reversed &&
        skin->reliability.level == ABUT_RELIABILITY_GUARANTEED) {
        abut_topology_destroy(skin->topology);
        skin->topology = NULL;
        skin->is_reversed = true;
        status = make_topology(skin);
        if (!status)
            status = find_components(skin, &is_inward);
    }
    if (!status) {
        examine_triangles(skin);
        create_offsets(skin);
    }
    return status;
}

static abut_status create_skin(bvh_attachment *attachment, void *owner) {
    return create_oriented(attachment, owner, false);
}
static abut_status create_reversed(bvh_attachment *attachment, void *owner) {
    return create_oriented(attachment, owner, true);
}

static abut_status refit_oriented(bvh_attachment *attachment, bool is_reversed) {
    patch_skin *skin = (patch_skin *)(void *)attachment;
    if (abuti_pair_is_merged(skin->bvh->mesh, skin->is_reversed, skin->corner)) {
        const bool is_inward = compute_volumes(skin, skin->components) < 0;
        if (!is_inward || is_reversed || skin->reliability.level != ABUT_RELIABILITY_GUARANTEED) {
            examine_triangles(skin);
            forget_offsets(skin);
            return ABUT_OK;
        }
        /* The surface was turned inside out: orient it again. */
    }
    const abut_bvh *bvh = skin->bvh;
    destroy_skin(attachment);
    return create_oriented(attachment, (void *)(uintptr_t)bvh, is_reversed);
}

static abut_status refit_skin(bvh_attachment *attachment) {
    return refit_oriented(attachment, false);
}
static abut_status refit_reversed(bvh_attachment *attachment) {
    return refit_oriented(attachment, true);
}

static const bvh_attachment_kind skin_kind = {sizeof(patch_skin), create_skin, refit_skin,
                                              destroy_skin};
static const bvh_attachment_kind reversed_kind = {sizeof(patch_skin), create_reversed,
                                                  refit_reversed, destroy_skin};

abut_status abuti_patch_skin(const abut_bvh *bvh, bool is_reversed, const patch_skin **skin) {
    bvh_attachment *attachment;
    abut_status status =
        abuti_bvh_share_attachment(bvh, is_reversed ? &reversed_kind : &skin_kind, &attachment);
    if (!status)
        *skin = (const patch_skin *)(const void *)attachment;
    return status;
}

/* Where both sides are outside, boundary edges decide nothing. */
static abut_reliability reliability_of(const patch_skin *skin) {
    return skin && !skin->bvh->has_no_inside
               ? skin->reliability
               : abuti_guaranteed("Cloth has no interior, and its contacts are exact.");
}

abut_reliability abuti_patch_reliability(const patch_skin *a, const patch_skin *b, bool is_exact) {
    const abut_reliability p = reliability_of(a), q = reliability_of(b);
    const abut_reliability worst = q.level > p.level ? q : p;
    return is_exact && worst.level != ABUT_RELIABILITY_GUARANTEED
               ? abuti_guaranteed("No surfaces touch within the margin, and no boundary edge "
                                  "decides what is inside: the result is exact.")
               : worst;
}
