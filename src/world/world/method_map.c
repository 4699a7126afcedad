/* The method map: samples all over the surface of a sheet, against another mesh. */
#include "world/world.h"

#include "map/map.h"

#include <math.h>

enum { MAP_TEXELS = 128 };

/* The reach of a map bounds the error of its distances. */
static void set_reach(world_asset *a) {
    abut_map_info info = abut_map_info_default();
    abut_map_get_info(a->map, &info);
    a->choice.cell = info.reach;
}

static abut_status create_map(const abut_world *world, const abut_mesh_report *report,
                              world_asset *a) {
    abut_map_options options = abut_map_options_default();
    const double texels = ceil(sqrt(2.0 * a->mesh->triangle_count));
    (void)world;
    (void)report;
    options.resolution = a->resolution         ? a->resolution
                         : texels > MAP_TEXELS ? (uint32_t)texels
                                               : MAP_TEXELS;
    abut_status status = abut_map_create(a->mesh, &options, &a->map);
    if (!status)
        set_reach(a);
    return status;
}

static abut_status set_map_mesh(world_asset *a, abut_mesh *mesh) {
    abut_status status = abut_map_set_mesh(a->map, mesh);
    if (!status)
        set_reach(a);
    return status;
}

static void destroy_map(world_asset *a) {
    abut_map_destroy(a->map);
}

/* Prepares the BVH of a mesh for signs, unless this is done or it has no interior. */
static abut_status prepare_sign(const world_asset *a) {
    if (!a || a->has_sheets || !a->bvh)
        return ABUT_OK;
    abut_sign_info sign = abut_sign_info_default();
    abut_status status = abut_sign_get_info(a->bvh, &sign);
    return status || sign.method != ABUT_SIGN_AUTO ? status : abut_sign_prepare(a->bvh, NULL);
}

/* Upper bound of the depth of points in an item. */
static double half_width(const world_item *item) {
    const vec3 size = v3_sub(item->local.hi, item->local.lo);
    return 0.5 * real_min(size.x, real_min(size.y, size.z));
}

/* Appends the contacts of samples all over x with y; `second`: x is b. */
static abut_status append_samples(const world_call *call, const world_item *x, const world_item *y,
                                  bool second, abut_patches *to) {
    abut_map *map = x->asset->map;
    const abut_pose back = pose_inverse(&x->at.pose);
    const abut_collider other = abut_collider_from_bvh(y->bvh, pose_multiply(&back, &y->at.pose));
    const uint64_t before = to->contacts.count;
    abut_map_query query = abut_map_query_default();
    abut_patches found = *to;
    query.limit = real_max(call->options.margin, half_width(y)) * (1 + 1e-6) + 1e-300;
    found.contacts.list = to->contacts.list + before;
    found.contacts.capacity -= before;
    abut_status status = prepare_sign(y->asset);
    if (!status)
        status = abut_map_compute_distance(map, &other, 1, &query);
    if (!status)
        status = abuti_map_contacts(map, &call->options, false, &found);
    to->patches.count = found.patches.count;
    to->contacts.count = before + found.contacts.count;
    if (status)
        return status;
    for (uint64_t i = 0; i < found.contacts.count; i++) {
        abut_contact *c = &found.contacts.list[i];
        c->point = contact_to_world(&x->at.motion, c->point);
        c->normal = m3_apply(&x->at.motion.turn, c->normal);
        if (second)
            contact_swap(c);
    }
    const abut_reliability both[2] = {found.reliability, map->reliability};
    for (int i = 0; i < 2; i++)
        if (both[i].level > to->reliability.level)
            to->reliability = both[i];
    return ABUT_OK;
}

static abut_status collide_maps(const world_call *call, abut_patches *to) {
    const world_item *a = call->a, *b = call->b;
    abut_status status = ABUT_OK;
    to->contacts.count = 0;
    to->reliability = abuti_contact_reliability(NULL, NULL);
    if (a->filter.traits & WORLD_HAS_MAP)
        status = append_samples(call, a, b, false, to);
    if (!status && (b->filter.traits & WORLD_HAS_MAP))
        status = append_samples(call, b, a, true, to);
    return status;
}

static abut_status guarantee_maps(const world_item *a, const world_item *b,
                                  abut_world_pair_info *info) {
    const world_item *both[2] = {a, b};
    info->guarantee = ABUT_WORLD_GUARANTEE_COMPLETE;
    info->error = 0;
    for (int i = 0; i < 2; i++)
        if (both[i]->asset && both[i]->asset->map)
            info->error = fmax(info->error, both[i]->asset->choice.cell);
    info->reason =
        "Complete: if no sample of a surface touches, exact contact patches are computed.";
    return abuti_world_limit_guarantee(a, b, info);
}

const world_method abuti_world_map = {.method = ABUT_WORLD_MAP,
                                      .is_serial = true,
                                      .is_completed = true,
                                      .room = 256,
                                      .create = create_map,
                                      .set_mesh = set_map_mesh,
                                      .destroy = destroy_map,
                                      .collide = collide_maps,
                                      .guarantee = guarantee_maps};
