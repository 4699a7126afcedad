/* The skin of a mesh: which way each vertex goes out, and the topology of its triangles.
 *
 * A vertex goes out by x where all of its faces f, with normals n_f and angles w_f at it, go out by
 * 1: the x that makes sum w_f (n_f . x - 1)^2 least. At a corner of a cube that is the mitre. Where
 * faces leave a direction open, as in a plane, a little weight on the mean normal decides; where
 * the mitre would be long, it is cut at MITRE.
 */
#include "contact/patch.h"

#include <math.h>
#include <string.h>

#define MITRE 3.0    /* lengths of x, at most */
#define LEAN 1e-6    /* the weight of the mean normal, of all */
#define CONE_MIN 0.1 /* cosine: of wider cones the surface may not be a graph across the axis */

/* ---- directions ---- */

/* The solution of a symmetric system of three: rows of m, right-hand side r. */
static vec3 solve(const mat3 *m, vec3 r) {
    vec3 a = v3_cross(m->row[1], m->row[2]), b = v3_cross(m->row[2], m->row[0]),
         c = v3_cross(m->row[0], m->row[1]);
    double det = v3_dot(m->row[0], a);
    /* Symmetric: columns of the inverse are a, b, c over the determinant. */
    return v3_scale(v3_add(v3_add(v3_scale(a, r.x), v3_scale(b, r.y)), v3_scale(c, r.z)), 1 / det);
}

static vec3 offset_of(const patch_skin *skin, uint32_t vertex) {
    const abut_topology_arrays *view = &skin->view;
    const vec3 *positions = skin->bvh->mesh->positions;
    mat3 m = {{v3(0, 0, 0), v3(0, 0, 0), v3(0, 0, 0)}};
    vec3 sum = v3(0, 0, 0);
    double weight = 0;
    for (uint32_t i = view->vertex_face_begin[vertex]; i < view->vertex_face_begin[vertex + 1];
         i++) {
        const uint32_t *corner = skin->corner + 3 * (size_t)view->vertex_faces[i];
        if (abuti_is_collapsed(corner))
            continue;
        uint32_t k = corner[0] == vertex ? 0 : corner[1] == vertex ? 1 : 2;
        vec3 at = positions[vertex], p = positions[corner[(k + 1) % 3]],
             q = positions[corner[(k + 2) % 3]], n = abuti_unit_normal(at, p, q);
        double w = abuti_corner_angle(at, p, q);
        if (v3_max_abs(n) == 0)
            continue;
        m.row[0] = v3_along(m.row[0], w * n.x, n);
        m.row[1] = v3_along(m.row[1], w * n.y, n);
        m.row[2] = v3_along(m.row[2], w * n.z, n);
        sum = v3_along(sum, w, n);
        weight += w;
    }
    vec3 mean = v3_normalise(sum);
    if (v3_max_abs(mean) == 0) /* no face, or all cancel */
        return mean;
    double lean = LEAN * weight;
    m.row[0].x += lean;
    m.row[1].y += lean;
    m.row[2].z += lean;
    vec3 x = solve(&m, v3_along(sum, lean, mean));
    double length = v3_length(x);
    if (!(length <= MITRE)) /* also what is no number */
        x = length < INFINITY ? v3_scale(x, MITRE / length) : mean;
    return x;
}

/* ---- cones ---- */

/* Adds the normals of all triangles at the corners of one, or finds the least cosine between them
 * and the axis. */
static double cone_of(const patch_skin *skin, const vec3 *normals, uint32_t triangle, vec3 axis,
                      vec3 *sum) {
    const abut_topology_arrays *view = &skin->view;
    double least = 1;
    for (int k = 0; k < 3; k++) {
        uint32_t vertex = skin->corner[3 * (size_t)triangle + (size_t)k];
        for (uint32_t i = view->vertex_face_begin[vertex]; i < view->vertex_face_begin[vertex + 1];
             i++) {
            vec3 normal = normals[view->vertex_faces[i]];
            if (sum)
                *sum = v3_add(*sum, normal);
            else if (v3_max_abs(normal) > 0)
                least = real_min(least, v3_dot(normal, axis));
        }
    }
    return least;
}

/* Whether a corner of a triangle is at an edge that is not one of two triangles. */
static void find_open(const abut_topology_arrays *view, unsigned char *open) {
    memset(open, 0, view->vertex_count);
    for (uint32_t e = 0; e < view->edge_count; e++)
        if (view->edge_face_begin[e + 1] - view->edge_face_begin[e] != 2)
            open[view->edges[2 * (size_t)e]] = open[view->edges[2 * (size_t)e + 1]] = 1;
}

static abut_status fit_cones(patch_skin *skin) {
    const abut_topology_arrays *view = &skin->view;
    const vec3 *positions = skin->bvh->mesh->positions;
    abut_context *context = skin->part.context;
    vec3 *normals = abuti_allocate(context, view->triangle_count, sizeof *normals);
    unsigned char *open = abuti_allocate(context, view->vertex_count, sizeof *open);
    abut_status status = normals && open ? ABUT_OK : ABUT_ERROR_MEMORY;
    if (!status)
        find_open(view, open);
    for (uint32_t t = 0; t < view->triangle_count && !status; t++) {
        const uint32_t *corner = skin->corner + 3 * (size_t)t;
        normals[t] =
            abuti_unit_normal(positions[corner[0]], positions[corner[1]], positions[corner[2]]);
    }
    for (uint32_t t = 0; t < view->triangle_count && !status; t++) {
        const uint32_t *corner = skin->corner + 3 * (size_t)t;
        vec3 sum = v3(0, 0, 0);
        cone_of(skin, normals, t, sum, &sum);
        vec3 axis = v3_normalise(sum);
        double cosine = cone_of(skin, normals, t, axis, NULL);
        bool known = cosine > CONE_MIN && !open[corner[0]] && !open[corner[1]] && !open[corner[2]];
        skin->cones[t] =
            (patch_cone){{(float)axis.x, (float)axis.y, (float)axis.z}, known ? (float)cosine : -2};
    }
    ABUTI_RELEASE(context, normals, open);
    return status;
}

/* ---- life ---- */

static abut_status fit(patch_skin *skin) {
    const abut_mesh *mesh = skin->bvh->mesh;
    skin->reach = 0;
    for (uint32_t v = 0; v < mesh->vertex_count; v++) {
        skin->offset[v] = offset_of(skin, v);
        skin->reach = real_max(skin->reach, v3_length(skin->offset[v]));
    }
    skin->size = v3_max_abs(v3_sub(mesh->bounds.hi, mesh->bounds.lo));
    skin->has_needles = false;
    for (uint32_t t = 0; t < mesh->triangle_count && !skin->has_needles; t++) {
        const uint32_t *corner = skin->corner + 3 * (size_t)t;
        vec3 normal = abuti_unit_normal(mesh->positions[corner[0]], mesh->positions[corner[1]],
                                        mesh->positions[corner[2]]);
        skin->has_needles = v3_max_abs(normal) == 0;
    }
    return fit_cones(skin);
}

static void destroy(bvh_attachment *part) {
    patch_skin *skin = (patch_skin *)(void *)part;
    abut_topology_destroy(skin->topology);
    ABUTI_RELEASE(part->context, skin->offset, skin->cones, skin->parts);
}

/* The mesh with vertices in one place as one, so that seams of a soup are edges; its triangles
 * turned round where it faces inwards. */
static abut_status named_mesh(const abut_mesh *mesh, bool turned, abut_mesh **named) {
    abut_context *context = mesh->context;
    uint32_t *names = abuti_allocate(context, mesh->vertex_count, sizeof *names);
    uint32_t *indices = abuti_allocate(context, 3 * (size_t)mesh->triangle_count, sizeof *indices);
    vec3 *positions = abuti_allocate(context, mesh->vertex_count, sizeof *positions);
    abut_status status =
        names && indices && positions
            ? abuti_coincident_vertices(context, mesh->positions, mesh->vertex_count, names)
            : ABUT_ERROR_MEMORY;
    if (!status) {
        memcpy(positions, mesh->positions, mesh->vertex_count * sizeof *positions);
        for (size_t i = 0; i < 3 * (size_t)mesh->triangle_count; i++)
            indices[i] = names[mesh->indices[turned ? i - i % 3 + 2 - i % 3 : i]];
        status = abuti_mesh_derive(context, "abut_contact_patches", positions, mesh->vertex_count,
                                   indices, mesh->triangle_count, named);
    } else {
        ABUTI_RELEASE(context, indices, positions);
    }
    abuti_release(context, names);
    return status;
}

/* What contacts are worth, by the edges: contours close where surfaces do. */
static abut_reliability reliability_of(const patch_skin *skin) {
    const abut_topology_arrays *view = &skin->view;
    bool open = false, bordered = false;
    for (uint32_t e = 0; e < view->edge_count; e++) {
        const uint32_t *faces;
        uint32_t count = abuti_edge_faces(view, e, &faces);
        open = open || count % 2;
        bordered = bordered || count == 1;
        int up = 0;
        for (uint32_t i = 0; i < count; i++)
            up += abuti_runs_up(view, skin->corner, faces[i], e) ? 1 : -1;
        if (count % 2 == 0 && up)
            return abuti_unreliable(
                "Neighbouring triangles of a mesh face opposite ways, so which way "
                "is out is not known: orient the mesh first.");
    }
    return bordered ? abuti_limited("A mesh has boundary edges: contacts are right where bodies "
                                    "meet away from them. What is inside small holes is a guess, "
                                    "and nothing is inside a sheet.")
           : open   ? abuti_limited("Edges of a mesh have three or more faces: contacts are right "
                                      "where bodies meet away from them, and what is inside is a "
                                      "guess.")
                  : abuti_guaranteed("Both surfaces are closed: bodies that touch have a contact.");
}

/* Sums the signed volumes of the tetrahedra that the triangles of each part make with the origin.
 */
static void sum_part_volumes(const patch_skin *skin, patch_part *parts) {
    const vec3 *positions = skin->bvh->mesh->positions;
    for (uint32_t i = 0; i < skin->view.component_count; i++)
        parts[i].volume = 0;
    for (uint32_t t = 0; t < skin->view.triangle_count; t++) {
        const uint32_t *corner = skin->corner + 3 * (size_t)t;
        const vec3 normal = v3_cross(positions[corner[1]], positions[corner[2]]);
        parts[skin->view.triangle_component[t]].volume += v3_dot(positions[corner[0]], normal) / 6;
    }
}

/* Which of the parts that abuti_pair_contains() knows the vertices belong to, and the vertices that
 * decide for these. */
static abut_status find_deciding(const patch_skin *skin, uint32_t *part, const uint32_t **vertex) {
    const bvh_solid *solid;
    const bvh_components *parts;
    abut_status status = abuti_bvh_solid(skin->bvh, &solid);
    status = status ? status : abuti_bvh_components(skin->bvh, &parts);
    if (!status) {
        abuti_vertex_components(skin->bvh->mesh, solid->names, part);
        *vertex = parts->vertex;
    }
    return status;
}

/* Fills a list of parts; gives whether all of them together hold less than nothing. */
static void fill_parts(const patch_skin *skin, const uint32_t *part, const uint32_t *vertex,
                       unsigned char *closed, patch_part *parts, bool *inward) {
    const abut_topology_arrays *view = &skin->view;
    double sum = 0;
    for (uint32_t t = view->triangle_count; t-- > 0;)
        parts[view->triangle_component[t]].face = t;
    sum_part_volumes(skin, parts);
    abuti_find_watertight_components(view, closed);
    for (uint32_t i = 0; i < view->component_count; i++) {
        sum += parts[i].volume;
        parts[i].vertex = vertex[part[skin->bvh->mesh->indices[3 * (size_t)parts[i].face]]];
        parts[i].is_cavity = closed[i] && !(parts[i].volume > 0);
    }
    *inward = sum < 0;
}

static abut_status find_parts(patch_skin *skin, bool *inward) {
    const size_t count = skin->view.component_count;
    abut_context *context = skin->part.context;
    unsigned char *closed = abuti_allocate(context, count, sizeof *closed);
    uint32_t *part = abuti_allocate(context, skin->bvh->mesh->vertex_count, sizeof *part);
    patch_part *parts = abuti_allocate(context, count, sizeof *parts);
    const uint32_t *vertex;
    abut_status status = closed && part && parts ? ABUT_OK : ABUT_ERROR_MEMORY;
    status = status ? status : find_deciding(skin, part, &vertex);
    if (!status) {
        fill_parts(skin, part, vertex, closed, parts, inward);
        abuti_release(context, skin->parts);
        skin->parts = parts;
    } else {
        abuti_release(context, parts);
    }
    ABUTI_RELEASE(context, closed, part);
    return status;
}

static abut_status make_topology(patch_skin *skin) {
    abut_mesh *named = NULL;
    abut_status status = named_mesh(skin->bvh->mesh, skin->inward, &named);
    status = status ? status : abut_topology_create(named, &skin->topology);
    abut_mesh_destroy(named); /* the topology keeps it */
    if (status)
        return status;
    skin->view = skin->topology->view;
    skin->corner = skin->topology->mesh->indices;
    skin->reliability = reliability_of(skin);
    return ABUT_OK;
}

static abut_status create_facing(bvh_attachment *part, void *owner, bool turned) {
    patch_skin *skin = (patch_skin *)(void *)part;
    skin->bvh = owner;
    skin->inward = turned;
    skin->parts = NULL;
    bool inward = false;
    skin->offset =
        abuti_allocate(part->context, skin->bvh->mesh->vertex_count, sizeof *skin->offset);
    skin->cones =
        abuti_allocate(part->context, skin->bvh->mesh->triangle_count, sizeof *skin->cones);
    abut_status status = skin->offset && skin->cones ? make_topology(skin) : ABUT_ERROR_MEMORY;
    status = status ? status : find_parts(skin, &inward);
    if (!status && inward && !turned && skin->reliability.level == ABUT_RELIABILITY_GUARANTEED) {
        abut_topology_destroy(skin->topology);
        skin->topology = NULL;
        skin->inward = true;
        status = make_topology(skin);
        status = status ? status : find_parts(skin, &inward);
    }
    return status ? status : fit(skin);
}

static abut_status create(bvh_attachment *part, void *owner) {
    return create_facing(part, owner, false);
}
static abut_status create_turned(bvh_attachment *part, void *owner) {
    return create_facing(part, owner, true);
}

/* Whether vertices that were in one place still are. */
static bool names_hold(const patch_skin *skin) {
    const abut_mesh *mesh = skin->bvh->mesh;
    for (size_t i = 0; i < 3 * (size_t)mesh->triangle_count; i++) {
        size_t own = skin->inward ? i - i % 3 + 2 - i % 3 : i;
        vec3 p = mesh->positions[mesh->indices[own]], q = mesh->positions[skin->corner[i]];
        if (p.x != q.x || p.y != q.y || p.z != q.z)
            return false;
    }
    return true;
}

static abut_status refit_facing(bvh_attachment *part, bool turned) {
    patch_skin *skin = (patch_skin *)(void *)part;
    if (names_hold(skin)) {
        sum_part_volumes(skin, skin->parts);
        return fit(skin);
    }
    const abut_bvh *bvh = skin->bvh;
    destroy(part);
    skin->topology = NULL;
    skin->offset = NULL;
    skin->cones = NULL;
    skin->parts = NULL;
    return create_facing(part, (void *)(uintptr_t)bvh, turned);
}

static abut_status refit(bvh_attachment *part) {
    return refit_facing(part, false);
}
static abut_status refit_turned(bvh_attachment *part) {
    return refit_facing(part, true);
}

static const bvh_attachment_kind skin_kind = {sizeof(patch_skin), create, refit, destroy};
static const bvh_attachment_kind turned_kind = {sizeof(patch_skin), create_turned, refit_turned,
                                                destroy};

abut_status abuti_patch_skin(const abut_bvh *bvh, bool turned, const patch_skin **skin) {
    bvh_attachment *part;
    abut_status status = abuti_bvh_share_attachment(bvh, turned ? &turned_kind : &skin_kind, &part);
    if (!status)
        *skin = (const patch_skin *)(const void *)part;
    return status;
}

abut_reliability abuti_patch_reliability(const patch_skin *a, const patch_skin *b, bool is_exact) {
    const abut_reliability worst =
        b && b->reliability.level > a->reliability.level ? b->reliability : a->reliability;
    return is_exact && worst.level != ABUT_RELIABILITY_GUARANTEED
               ? abuti_guaranteed("No surfaces touch within the margin, and no boundary edge "
                                  "decides what is inside: the answer is exact.")
               : worst;
}
