/* Data for queries about inside and outside: computed once on demand, owned by the BVH, and
 * refitted with it.
 *
 * A surface has no boundary if every directed edge is balanced by one in the opposite direction,
 * with vertices of equal coordinates merged (solid.c): then winding numbers are integers, and
 * winding_exact.c computes them exactly without any memory. Otherwise winding.c needs expansions,
 * 320 bytes per node. The method of pseudo-normals needs the topology and normals.
 */
#include "sign/sign.h"

#include <math.h>

/* Determines whether there is a boundary. The merged vertices are copied, since the BVH discards
 * its own when they separate, and a later refit may close the seams again. */
static abut_status determine_closed(abut_bvh *bvh, struct bvh_sign *sign) {
    const bvh_solid *solid = atomic_load(&bvh->solid);
    if (solid && solid->border_count) /* a refit may have closed it since */
        abuti_bvh_solid_destroy(bvh);
    abut_status status = abuti_bvh_solid(bvh, &solid);
    if (status)
        return status;
    sign->closed = solid->border_count == 0;
    sign->flipped = solid->flipped;
    if (!sign->closed || !solid->names)
        return ABUT_OK;
    uint32_t count = bvh->mesh->vertex_count;
    sign->names = abuti_allocate(bvh->context, count, sizeof *sign->names);
    if (!sign->names)
        return ABUT_ERROR_MEMORY;
    memcpy(sign->names, solid->names, count * sizeof *sign->names);
    return ABUT_OK;
}

/* ---- orientation of a surface ---- */

/* With a boundary: -1 if the volume about the centroid of the surface is negative by more than
 * rounding errors. A hole counts as if it were closed by a cone from there. */
static double facing_by_volume(const abut_mesh *mesh) {
    const abuti_unit_frame frame = abuti_unit_frame_of(mesh);
    vec3 centre = v3(0, 0, 0), normals = v3(0, 0, 0); /* sums; the centre times the area */
    double area = 0, volume = 0;
    for (size_t t = 0; t < mesh->triangle_count; t++) {
        vec3 c[3];
        for (size_t k = 0; k < 3; k++)
            c[k] = abuti_unit_position(&frame, mesh->positions[mesh->indices[3 * t + k]]);
        const vec3 normal = v3_cross(v3_sub(c[1], c[0]), v3_sub(c[2], c[0]));
        const double here = v3_length(normal);
        area += here;
        centre = v3_along(centre, here / 3, v3_add(v3_add(c[0], c[1]), c[2]));
        normals = v3_add(normals, normal);
        volume += v3_dot(c[0], normal);
    }
    if (area > 0)
        volume -= v3_dot(centre, normals) / area;
    return volume < -0x1p-30 * area * sqrt(area) ? -1 : 1;
}

/* Without: -1 if normals classify most points outside as inside; 0 if they do not decide. Points
 * beyond the corners of the box are outside. */
static double facing_by_normals(const struct bvh_sign *sign) {
    const abut_bvh *bvh = sign->bvh;
    box3 box = bvh->mesh->bounds;
    vec3 extent = v3_sub(box.hi, box.lo);
    double beyond = real_max(v3_max_abs(extent), DBL_MIN);
    int sum = 0;
    for (int corner = 0; corner < 8; corner++) {
        vec3 p = v3(corner & 1 ? box.hi.x + beyond : box.lo.x - beyond,
                    corner & 2 ? box.hi.y + beyond : box.lo.y - beyond,
                    corner & 4 ? box.hi.z + beyond : box.lo.z - beyond);
        abut_nearest nearest;
        abuti_nearest_point(bvh, p, INFINITY, NULL, &nearest);
        sum += abuti_sign_normals_side(sign, p, &nearest);
    }
    return sum > 0 ? 1 : sum < 0 ? -1 : 0;
}

/* ---- lifetime ---- */

static void destroy_sign(bvh_attachment *part) {
    struct bvh_sign *sign = (struct bvh_sign *)(void *)part;
    ABUTI_RELEASE(part->context, sign->names, atomic_load(&sign->far),
                  atomic_load(&sign->boundary));
    abut_topology_destroy(sign->topology);
    ABUTI_RELEASE(part->context, sign->faces, sign->vertices, sign->angles);
}

/* After the BVH has been fitted to its mesh. Allocates no memory, except that normals of a BVH on a
 * device need the arrays of the CPU; expansions of such a BVH are computed on demand. */
static abut_status refit_sign(bvh_attachment *part) {
    struct bvh_sign *sign = (struct bvh_sign *)(void *)part;
    const abut_bvh *bvh = sign->bvh;
    if (sign->names)
        sign->closed = abuti_bvh_merged_vertices_coincide(bvh->mesh, sign->names);
    sign->facing = 1;
    if (sign->method == ABUT_SIGN_NORMAL) {
        abut_status status = abuti_bvh_ensure_host(bvh);
        if (status)
            return status;
    }
    abuti_release(part->context, atomic_exchange(&sign->boundary, NULL));
    if (bvh->there)
        abuti_release(part->context, atomic_exchange(&sign->far, NULL));
    else if (!sign->closed)
        abuti_sign_winding_fit(bvh, sign->far);
    if (!sign->closed)
        sign->facing = facing_by_volume(bvh->mesh);
    if (sign->method == ABUT_SIGN_NORMAL) {
        abuti_sign_normals_fit(bvh, sign);
        sign->facing = facing_by_normals(sign);
    }
    return ABUT_OK;
}

/* Whether every edge has two faces that traverse it in opposite directions. */
static abut_status check_oriented(const abut_topology *topology) {
    const abut_topology_arrays *view = &topology->view;
    for (uint32_t e = 0; e < view->edge_count; e++) {
        const uint32_t *faces, *indices = topology->mesh->indices;
        uint32_t count = abuti_edge_faces(view, e, &faces);
        if (count == 0 || (count == 2 && abuti_runs_up(view, indices, faces[0], e) !=
                                             abuti_runs_up(view, indices, faces[1], e)))
            continue;
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_sign_prepare: pseudo-normals need a closed and consistently "
                          "oriented surface, but the edge from vertex %u to %u has %u faces%s; "
                          "repair the mesh, or use winding numbers",
                          view->edges[2 * (size_t)e], view->edges[2 * (size_t)e + 1], count,
                          count == 2 ? " that run the same way" : "");
    }
    return ABUT_OK;
}

static abut_status create_normals(abut_mesh *mesh, struct bvh_sign *sign) {
    abut_context *context = mesh->context;
    abut_status status;
    if ((status = abut_topology_create(mesh, &sign->topology)) ||
        (status = check_oriented(sign->topology)))
        return status;
    sign->faces = abuti_allocate(context, mesh->triangle_count, sizeof *sign->faces);
    sign->vertices = abuti_allocate(context, mesh->vertex_count, sizeof *sign->vertices);
    sign->angles = abuti_allocate(context, mesh->vertex_count, sizeof *sign->angles);
    return sign->faces && sign->vertices && sign->angles ? ABUT_OK : ABUT_ERROR_MEMORY;
}

/* The requested method, and the BVH. */
typedef struct sign_request {
    abut_bvh *bvh;
    abut_sign_method method;
} sign_request;

static abut_status create_sign(bvh_attachment *part, void *owner) {
    struct bvh_sign *sign = (struct bvh_sign *)(void *)part;
    const sign_request *a = owner;
    abut_status status = ABUT_OK;
    sign->bvh = a->bvh;
    sign->method = a->method;
    if (sign->method == ABUT_SIGN_NORMAL)
        status = create_normals(a->bvh->mesh, sign);
    if (!status)
        status = determine_closed(a->bvh, sign);
    if (!status)
        status = abuti_progress(part->context, "signs", 0.5);
    if (!status && !a->bvh->there && (!sign->closed || sign->names)) {
        /* if merged vertices may separate, these may be needed later */
        bvh_far_node *far = abuti_allocate(part->context, a->bvh->node_count, sizeof *far);
        atomic_init(&sign->far, far);
        status = far ? ABUT_OK : ABUT_ERROR_MEMORY;
    }
    return status ? status : refit_sign(part);
}

const bvh_attachment_kind abuti_sign_kind = {sizeof(struct bvh_sign), create_sign, refit_sign,
                                             destroy_sign};

abut_status abut_sign_prepare(abut_bvh *bvh, const abut_sign_options *options) {
    abut_sign_options ours = abut_sign_options_default();
    if (!bvh)
        return abuti_null(__func__, "bvh");
    abut_status status = abuti_options_read(&ours, sizeof ours, options, "abut_sign_prepare");
    if (!status && (unsigned)ours.method > ABUT_SIGN_NORMAL)
        status =
            abuti_fail(ABUT_ERROR_ARGUMENT,
                       "abut_sign_prepare: options->method is %u; it must be an abut_sign_method",
                       (unsigned)ours.method);
    sign_request a = {bvh, ours.method == ABUT_SIGN_AUTO ? ABUT_SIGN_WINDING : ours.method};
    bvh_attachment *part;
    if (!status)
        status = abuti_bvh_create_attachment(bvh->context, &abuti_sign_kind, &a, &part);
    if (status)
        return status;
    abuti_bvh_replace_attachment(&bvh->parts, part);
    if (bvh->there)
        abuti_sign_invalidate_on_device(bvh->there);
    return ABUT_OK;
}

abut_reliability abuti_sign_method_reliability(abut_sign_method method, bool closed, bool flipped) {
    if (!closed && flipped)
        return abuti_unreliable(
            "Neighbouring triangles face opposite ways and cancel, so the interior "
            "is unknown: orient the mesh first.");
    if (!closed)
        return abuti_limited(
            "The surface has boundary edges: inside is where its winding number is "
            "at least one half. If its components face one way, that is correct "
            "away from the holes and a guess in them.");
    if (method == ABUT_SIGN_NORMAL)
        return abuti_limited("Signs by pseudo-normals are correct if all components face one way, "
                             "and none touches or intersects another.");
    return abuti_guaranteed("The surface has no boundary edges: the interior is exact.");
}

abut_status abut_sign_get_info(const abut_bvh *bvh, abut_sign_info *info) {
    if (!bvh || !info)
        return abuti_null(__func__, bvh ? "info" : "bvh");
    abut_sign_info made = abut_sign_info_default();
    const struct bvh_sign *sign = bvh_sign_of(bvh);
    if (!sign)
        return abuti_info_write(info, &made, sizeof made, __func__);
    made.method = sign->method;
    made.is_closed = sign->closed;
    made.reliability = abuti_sign_method_reliability(sign->method, sign->closed, sign->flipped);
    made.bytes = sizeof *sign;
    if (atomic_load(&sign->far))
        made.bytes += (uint64_t)bvh->node_count * sizeof(bvh_far_node);
    const boundary_tree *boundary = atomic_load(&sign->boundary);
    if (boundary)
        made.bytes += sizeof *boundary + boundary->node_count * (uint64_t)sizeof *boundary->nodes +
                      boundary->vertex_count * (uint64_t)sizeof *boundary->vertices;
    if (sign->names)
        made.bytes += (uint64_t)bvh->mesh->vertex_count * sizeof *sign->names;
    if (sign->topology) { /* edges and their faces, vertices and theirs, neighbours, components */
        const abut_topology_arrays *view = &sign->topology->view;
        made.bytes +=
            (uint64_t)view->triangle_count * (13 * sizeof(uint32_t) + sizeof(vec3)) +
            (uint64_t)view->edge_count * 3 * sizeof(uint32_t) +
            (uint64_t)view->vertex_count * (sizeof(uint32_t) + sizeof(vec3) + sizeof(double));
    }
    return abuti_info_write(info, &made, sizeof made, __func__);
}

const char *abut_sign_method_name(abut_sign_method method) {
    static const char *const names[] = {"auto", "winding", "normal"};
    return ABUTI_NAME(names, method);
}

/* ---- reliability ----
 *
 * Pseudo-normals are proved for a surface that bounds a solid (Baerentzen & Aanaes 2005). The proof
 * considers the solid around one point, so touching fans and edges whose faces balance do no harm,
 * but a hole, a flip or a face without a normal does. The winding number is a sum over triangles:
 * exact if the faces of every edge cancel, fading where some are missing, and wrong by whole
 * patches where they are reversed (Jacobson et al. 2013). */

static abut_reliability normal_reliability(const abut_mesh_report *report) {
    if (abuti_problems(report, ABUT_PROBLEM_BOUNDARY_EDGE))
        return abuti_unreliable(
            "The surface has boundary edges, and near them the sign swaps without notice: "
            "weld the mesh if they are seams, else use winding numbers.");
    if (!report->is_balanced)
        return abuti_unreliable(
            "Edges with three or more faces do not bound a solid, so the sign is wrong "
            "near them: remove the extra faces, or use winding numbers.");
    if (!report->is_oriented)
        return abuti_unreliable(
            "Neighbouring triangles face opposite ways, so the sign changes from "
            "one to the next: orient the mesh first.");
    const uint32_t inward = abuti_problems(report, ABUT_PROBLEM_INWARD_COMPONENT);
    if (inward && inward < report->component_count)
        return abuti_unreliable(
            "A closed component faces inwards and others do not, so its inside counts as outside: "
            "orient the mesh first.");
    if (!report->has_volume)
        return abuti_unreliable(
            "The surface encloses no volume, so there is no inside: use unsigned "
            "distances.");
    if (report->has_isolated_edges)
        return abuti_unreliable(
            "Triangles that name a vertex twice lie apart from the surface and have no "
            "normal: weld the mesh, which drops them.");
    if (abuti_problems(report, ABUT_PROBLEM_DEGENERATE_TRIANGLE) ||
        abuti_problems(report, ABUT_PROBLEM_DUPLICATE_TRIANGLE))
        return abuti_limited(
            "Right except where a degenerate or duplicate triangle is closest, whose "
            "normal says nothing: weld the mesh, or remove these triangles.");
    if (report->has_flat_component)
        return abuti_limited(
            "A closed part encloses no volume, and next to it the sign is arbitrary: "
            "remove that part, or use winding numbers.");
    if (report->has_nested_component)
        return abuti_limited(
            "A part lies inside another and both face outwards, so between them the "
            "sign may be wrong: orient the mesh if it is a cavity, else use winding "
            "numbers.");
    if (report->has_self_intersection_test)
        return report->self_intersection_count
                   ? abuti_limited(
                         "The surface intersects itself, and where it overlaps the sign may "
                         "be that of the wrong one: "
                         "use winding numbers.")
                   : abuti_guaranteed(
                         "Closed, consistently oriented, without self-intersections: the sign is "
                         "correct everywhere.");
    return abuti_guaranteed(
        "Closed and consistently oriented: the sign is correct everywhere if the "
        "surface does not intersect itself.");
}

/* The level of abuti_sign_method_reliability(), with further properties of a report. */
static abut_reliability winding_reliability(const abut_mesh_report *report) {
    const bool inward = abuti_problems(report, ABUT_PROBLEM_INWARD_COMPONENT) > 0;
    if (report->has_opposite_boundary)
        return abuti_unreliable("Neighbouring triangles face opposite ways and cancel where they "
                                "should add: orient the mesh first.");
    if (report->has_boundary && inward)
        return abuti_limited("The surface has boundary edges, near which the sign is a guess, and "
                             "a closed component that faces the other way counts as outside: "
                             "orient the mesh first.");
    if (report->has_boundary && abuti_problems(report, ABUT_PROBLEM_BOUNDARY_EDGE))
        return abuti_limited(
            "The surface has boundary edges: the sign is right away from the holes, and inside "
            "them a guess, since the winding number fades there.");
    if (report->has_boundary)
        return abuti_limited(
            "Edges with three or more faces do not bound a solid: near the extra faces "
            "the winding number is a fraction, and its sign a guess.");
    if (!report->is_balanced || !report->is_oriented)
        return abuti_guaranteed(
            "Closed after vertices with equal coordinates are merged, as winding numbers do: "
            "the sign is correct everywhere.");
    if (inward)
        return abuti_guaranteed(
            "Closed: inside is where the winding number is not 0, which is exact. It is negative "
            "in components that face inwards, and these remove their intersection with others.");
    if (!report->has_volume)
        return abuti_guaranteed(
            "Closed, but without volume: every point beside the surface is outside.");
    return abuti_guaranteed(
        "Closed and facing outwards: the winding number is an integer, at least 1 "
        "inside, also where components overlap.");
}

abut_reliability abut_sign_reliability(const abut_mesh_report *report, abut_sign_method method) {
    abut_mesh_report ours = abut_mesh_report_default();
    if (!abuti_report_read(&ours, report))
        return abuti_unreliable("The report is null, or its size is not set.");
    report = &ours;
    return method == ABUT_SIGN_NORMAL ? normal_reliability(report) : winding_reliability(report);
}
