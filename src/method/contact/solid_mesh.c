/* Contacts of a mesh a with a primitive or hull b: the public function, and meshes of primitives.
 *
 * Planes: solid_plane.c. Spheres and capsules: solid_round.c. Boxes, cylinders and hulls are
 * converted to meshes for abuti_contact_bvhs(), and so are capsules whose axis penetrates the
 * mesh.
 */
#include "contact/find.h"
#include "contact/solid.h"

#include <abut/shape.h>

#include <assert.h>
#include <math.h>

enum {
    CYLINDER_SIDES = 64, /* of the mesh of a cylinder */
    CAPSULE_SIDES = 48,
    CAPSULE_RINGS = 12
};

static const char function[] = "abut_contact_find";

/* ---- triangles in a region ---- */

static bool box_in_region(const solid_region *r, vec3 lo, vec3 hi, double pad) {
    if (r->plane) {
        vec3 n = r->normal;
        return n.x * (n.x > 0 ? lo.x : hi.x) + n.y * (n.y > 0 ? lo.y : hi.y) +
                   n.z * (n.z > 0 ? lo.z : hi.z) <=
               r->limit + pad;
    }
    for (int axis = 0; axis < 3; axis++) {
        double p = v3_get(r->axis.end[0], axis), q = v3_get(r->axis.end[1], axis);
        if (real_min(p, q) > v3_get(hi, axis) + r->limit + pad ||
            real_max(p, q) < v3_get(lo, axis) - r->limit - pad)
            return false;
    }
    vec3 middle = v3_lerp(lo, hi, 0.5);
    return segment_closest_point(r->axis, middle).distance <=
           r->limit + pad + 0.5 * v3_length(v3_sub(hi, lo));
}

void abuti_solid_list_triangles(const solid_call *call, const solid_region *r, uint32_t **list,
                                size_t *count) {
    const abut_bvh *bvh = call->bvh;
    uint32_t stack[BVH_STACK], used = 0;
    size_t capacity = 0;
    double unit = 1 / bvh->scale, pad = 1e-12 * call->skin->size;
    *list = NULL;
    *count = 0;
    stack[used++] = 0;
    while (used) {
        uint32_t next = stack[--used];
        if (next & BVH_LEAF) {
            uint32_t leaf = next & ~BVH_LEAF;
            if (!PATCH_RESERVE(call->memory, *list, *count, *count + BVH_WIDTH, capacity))
                return;
            for (uint32_t i = 0; i < bvh_leaf_fill(bvh, leaf); i++)
                (*list)[(*count)++] = bvh->order[leaf * BVH_WIDTH + i];
            continue;
        }
        const bvh_node *node = &bvh->nodes[next];
        for (uint32_t slot = 0; slot < BVH_WIDTH; slot++) {
            vec3 lo =
                v3(unit * node->lo[0][slot], unit * node->lo[1][slot], unit * node->lo[2][slot]);
            vec3 hi =
                v3(unit * node->hi[0][slot], unit * node->hi[1][slot], unit * node->hi[2][slot]);
            if (node->child[slot] != ABUT_NONE && box_in_region(r, lo, hi, pad)) {
                assert(used < BVH_STACK);
                stack[used++] = node->child[slot];
            }
        }
    }
}

/* ---- meshes of primitives ---- */

/* The rotation from the z axis to a direction. */
static quat rotation_to(vec3 d) {
    quat q = {-d.y, d.x, 0, 1 + d.z};
    return d.z < -0.999999 ? (quat){1, 0, 0, 0} : q;
}

/* Creates the mesh of a primitive. `at` is its pose. */
static abut_status create_solid_mesh(abut_context *context, const abut_collider *b, abut_bvh **bvh,
                                     abut_pose *at) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    *at = b->pose;
    if (b->kind == ABUT_COLLIDER_BOX) {
        shape.extent = v3_scale(b->shape.half, 2);
        shape.segments = 1;
    } else {
        const abut_capsule *c = &b->shape.capsule; /* a cylinder has the same layout */
        const abut_vec3 *end = c->end;
        vec3 axis = v3_sub(end[1], end[0]);
        bool round = b->kind == ABUT_COLLIDER_CAPSULE;
        shape = abut_shape_default(round ? ABUT_SHAPE_CAPSULE : ABUT_SHAPE_CYLINDER);
        shape.segments = round ? CAPSULE_SIDES : CYLINDER_SIDES;
        shape.rings = round ? CAPSULE_RINGS : 1;
        /* The polygon is as far outside the circle as inside. */
        shape.radius = c->radius * 2 / (1 + cos(3.141592653589793 / shape.segments));
        shape.height = v3_length(axis);
        pose local = {rotation_to(v3_normalise(axis)), v3_lerp(end[0], end[1], 0.5)};
        *at = pose_multiply(&b->pose, &local);
    }
    double thickness = b->kind == ABUT_COLLIDER_BOX
                           ? real_min(shape.extent.x, real_min(shape.extent.y, shape.extent.z))
                           : shape.radius;
    if (!(thickness > 0))
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: b is a %s without thickness; its sizes must be positive for "
                          "contacts with a mesh",
                          function, abut_collider_kind_name(b->kind));
    abut_mesh *mesh = NULL;
    abut_status status = abut_shape_create(context, &shape, &mesh);
    if (!status)
        status = abut_bvh_create(mesh, NULL, bvh);
    abut_mesh_destroy(mesh); /* the BVH references it */
    return status;
}

static abut_status compute_mesh_patches(const abuti_posed *a, const abut_collider *b,
                                        const abut_patch_options *options, abut_patches *patches) {
    abut_bvh *own = NULL;
    abuti_posed posed = {b->shape.hull, b->pose};
    if (b->kind != ABUT_COLLIDER_HULL) {
        abut_status status = create_solid_mesh(a->bvh->context, b, &own, &posed.pose);
        if (status)
            return status;
        posed.bvh = own;
    }
    abut_status status = abuti_contact_bvhs(a, &posed, options, patches);
    abut_bvh_destroy(own);
    return status;
}

/* ---- public function ---- */

abut_status abuti_contact_bvh_primitive(const abuti_posed *a, const abut_collider *b,
                                        const abut_patch_options *options, abut_patches *patches) {
    abut_patch_options o;
    if (!a)
        return abuti_null(function, "a");
    abut_status status = abuti_patch_options(function, options, patches, &o);
    if (!status)
        status = abuti_bvh_check(function, a->bvh, patches, "patches");
    if (!status)
        status = abuti_pair_check_pose(function, "a", a->bvh, &a->pose);
    if (!status)
        status = abuti_solid_check(function, "b", b);
    abuti_posed posed_a = {NULL, {{0, 0, 0, 1}, {0, 0, 0}}};
    if (!status)
        status = abuti_bvh_cpu_tree(a->bvh, &posed_a.bvh);
    if (status)
        return status;
    posed_a.pose = a->pose;
    a = &posed_a;
    if (b->kind == ABUT_COLLIDER_BOX || b->kind == ABUT_COLLIDER_CYLINDER ||
        b->kind == ABUT_COLLIDER_HULL)
        return compute_mesh_patches(a, b, &o, patches);
    patch_memory memory;
    solid_call call = {.bvh = a->bvh,
                       .positions = a->bvh->mesh->positions,
                       .memory = &memory,
                       .options = &o};
    solid_view view = {.motion = abuti_motion_of(&a->pose)};
    view.back = m3_transpose(&view.motion.rotation);
    bool needs_mesh = false;
    status = abuti_patch_skin(a->bvh, false, &call.skin);
    if (status)
        return status;
    abuti_patch_memory_start(&memory, a->bvh->context);
    if (b->kind == ABUT_COLLIDER_PLANE)
        abuti_solid_plane_contacts(&call, &view, b);
    else
        needs_mesh = !abuti_solid_round_contacts(&call, &view, b);
    status = memory.status;
    patch_frame frame = {.function = function,
                         .motion = view.motion,
                         .origin = a->bvh->mesh->origin,
                         .a = o.a,
                         .b = o.b,
                         .context = a->bvh->context};
    call.is_exact |=
        b->kind == ABUT_COLLIDER_PLANE && !call.answers.count; /* the mesh is above the plane */
    if (!status && !needs_mesh)
        status =
            abuti_patch_write(&frame, call.answers.list, call.answers.count,
                              call.is_verified || !call.answers.count,
                              abuti_patch_reliability(call.skin, NULL, call.is_exact), patches);
    abuti_patch_memory_end(&memory);
    return status || !needs_mesh ? status : compute_mesh_patches(a, b, &o, patches);
}
