/* Contacts of a mesh with a solid, which is b: the public function, and solids as meshes.
 *
 * Planes are answered by solid_plane.c, spheres and capsules by solid_round.c. Box, cylinder and
 * hull are meshes themselves: abut_contact_patches() answers.
 */
#include "contact/solid.h"

#include <abut/shape.h>

#include <math.h>

enum {
    ROUND_SIDES = 64, /* of the mesh of a cylinder */
    CAPSULE_SIDES = 48,
    CAPSULE_RINGS = 12
};

static const char function[] = "abut_contact_solid";

abut_status abuti_solid_add(solid_call *call, const patch_answer *answer) {
    return abuti_patch_add(call->memory, &call->answers, &call->count, &call->room, answer);
}

/* ---- triangles that may matter ---- */

static bool reaches(const solid_reach *r, vec3 lo, vec3 hi, double pad) {
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

abut_status abuti_solid_triangles(const solid_call *call, const solid_reach *r, uint32_t **list,
                                  size_t *count) {
    const abut_bvh *bvh = call->bvh;
    uint32_t stack[BVH_STACK], used = 0;
    size_t room = 0;
    double unit = 1 / bvh->scale, pad = 1e-12 * call->skin->size;
    *list = NULL;
    *count = 0;
    stack[used++] = 0;
    while (used) {
        uint32_t next = stack[--used];
        if (next & BVH_LEAF) {
            uint32_t leaf = next & ~BVH_LEAF;
            if (*count + BVH_WIDTH > room) {
                abut_status status =
                    abuti_patch_grow(call->memory, list, *count, *count + 64, sizeof **list, &room);
                if (status)
                    return status;
            }
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
            if (node->child[slot] != ABUT_NONE && reaches(r, lo, hi, pad))
                stack[used++] = node->child[slot];
        }
    }
    return ABUT_OK;
}

/* ---- solids as meshes ---- */

/* Turns z to a direction. */
static quat turn_to(vec3 d) {
    quat q = {-d.y, d.x, 0, 1 + d.z};
    return d.z < -0.999999 ? (quat){1, 0, 0, 0} : q;
}

/* The mesh of a solid, and the pose that puts it in its place. */
static abut_status shape_of(abut_context *context, const abut_solid *b, abut_bvh **bvh,
                            abut_pose *at) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    *at = b->pose;
    if (b->kind == ABUT_SOLID_BOX) {
        shape.extent = v3_scale(b->shape.half, 2);
        shape.segments = 1;
    } else {
        const abut_capsule *c = &b->shape.capsule; /* a cylinder has the same numbers */
        const abut_vec3 *end = c->end;
        vec3 axis = v3_sub(end[1], end[0]);
        bool round = b->kind == ABUT_SOLID_CAPSULE;
        shape = abut_shape_default(round ? ABUT_SHAPE_CAPSULE : ABUT_SHAPE_CYLINDER);
        shape.segments = round ? CAPSULE_SIDES : ROUND_SIDES;
        shape.rings = round ? CAPSULE_RINGS : 1;
        /* As much outside the circle as within. */
        shape.radius = c->radius * 2 / (1 + cos(3.141592653589793 / shape.segments));
        shape.height = v3_length(axis);
        pose local = {turn_to(v3_normalise(axis)), v3_lerp(end[0], end[1], 0.5)};
        *at = pose_multiply(&b->pose, &local);
    }
    double least = b->kind == ABUT_SOLID_BOX
                       ? real_min(shape.extent.x, real_min(shape.extent.y, shape.extent.z))
                       : shape.radius;
    if (!(least > 0))
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: b is a %s without thickness, which has no "
                          "contacts with a mesh",
                          function, abut_solid_kind_name(b->kind));
    abut_mesh *mesh = NULL;
    abut_status status = abut_shape_create(context, &shape, &mesh);
    status = status ? status : abut_bvh_create(mesh, NULL, bvh);
    abut_mesh_destroy(mesh); /* the hierarchy keeps it */
    return status;
}

static abut_status answer_mesh(const abut_posed *a, const abut_solid *b,
                               const abut_patch_options *options, abut_patches *patches) {
    abut_bvh *own = NULL;
    abut_posed posed = {b->shape.hull, b->pose};
    if (b->kind != ABUT_SOLID_HULL) {
        abut_status status = shape_of(a->bvh->context, b, &own, &posed.pose);
        if (status)
            return status;
        posed.bvh = own;
    }
    abut_status status = abut_contact_patches(a, &posed, options, patches);
    abut_bvh_destroy(own);
    return status;
}

/* ---- the question ---- */

abut_status abut_contact_solid(const abut_posed *a, const abut_solid *b,
                               const abut_patch_options *options, abut_patches *patches) {
    abut_patch_options o;
    if (!a)
        return abuti_null(function, "a");
    abut_status status = abuti_patch_options(function, options, patches, &o);
    status = status ? status : abuti_bvh_check(function, a->bvh, patches, "patches");
    status = status ? status : abuti_pair_check_pose(function, "a", a->bvh, &a->pose);
    status = status ? status : abuti_solid_check(function, "b", b);
    abut_posed ours = {NULL, {{0, 0, 0, 1}, {0, 0, 0}}};
    status = status ? status : abuti_bvh_cpu_tree(a->bvh, &ours.bvh);
    if (status)
        return status;
    ours.pose = a->pose;
    a = &ours;
    if (b->kind == ABUT_SOLID_BOX || b->kind == ABUT_SOLID_CYLINDER || b->kind == ABUT_SOLID_HULL)
        return answer_mesh(a, b, &o, patches);
    patch_memory memory;
    solid_call call = {.bvh = a->bvh,
                       .positions = a->bvh->mesh->positions,
                       .memory = &memory,
                       .options = &o};
    solid_view view = {.motion = abuti_motion_of(&a->pose)};
    view.back = m3_transpose(&view.motion.rotation);
    bool through = false;
    status = abuti_patch_skin(a->bvh, false, &call.skin);
    if (status)
        return status;
    abuti_patch_memory_start(&memory, a->bvh->context);
    status = b->kind == ABUT_SOLID_PLANE ? abuti_solid_plane(&call, &view, b)
                                         : abuti_solid_round(&call, &view, b, &through);
    patch_frame frame = {.function = function,
                         .motion = view.motion,
                         .origin = a->bvh->mesh->origin,
                         .pair = o.pair,
                         .context = a->bvh->context};
    call.is_exact |= b->kind == ABUT_SOLID_PLANE && !call.count; /* all of it is above */
    if (!status && !through)
        status =
            abuti_patch_write(&frame, call.answers, call.count, call.separates || !call.count,
                              abuti_patch_reliability(call.skin, NULL, call.is_exact), patches);
    abuti_patch_memory_end(&memory);
    return status || !through ? status : answer_mesh(a, b, &o, patches);
}
