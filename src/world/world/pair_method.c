/* Information on items and pairs: method, reason, guarantee and error bound. All reasons are
 * defined here and in mesh.c. */
#include "world/world.h"

#include "radial/radial.h"

#include <math.h>

#define CAPSULE_ERROR 0.003  /* of the radius, with a mesh: abut_contact_find() */
#define CYLINDER_ERROR 0.001 /* likewise */

static const char exact_reason[] =
    "Complete: every overlap has a contact, no matter how thin the bodies are.";
static const char holes_reason[] =
    "Every intersection of surfaces has a contact. A mesh has small holes or flipped neighbours, "
    "so that containment in it is approximate, and the depth of a contained item has no bound.";
static const char sheets_reason[] =
    "Complete: every overlap has a contact, no matter how thin the bodies are. A mesh has boundary "
    "edges, where depths have no bound.";
static const char field_reason[] =
    "Overlaps that contain no sample and no long edge may be missed, and so may plates thinner "
    "than a cell.";
static const char vertices_reason[] =
    "Vertices and edges of the mesh are tested against the field. Overlaps that contain none of "
    "them may be missed.";
static const char map_reason[] =
    "Complete: if no sample of a surface touches, exact contact patches are computed.";
static const char layers_reason[] =
    "Complete: if no ray is inside both items, exact contact patches are computed. The depth is "
    "measured along three axes.";
static const char radial_reason[] =
    "Folds and details finer than the cells of radial fields may be missed. Depths are accurate to "
    "about a cell.";

/* Error bound of interpolated distances: half the diagonal of a cell, if the signs are reliable. A
 * plane needs no signs. */
static double field_error(const world_item *item, const world_item *other) {
    const abut_field *field = item->body.field;
    if (!field)
        return 0;
    const bool is_known =
        other->kind == ABUT_COLLIDER_PLANE ||
        abuti_contact_reliability(field, NULL).level == ABUT_RELIABILITY_GUARANTEED;
    return is_known ? 0.5 * sqrt(3) * field->grid.cell : HUGE_VAL;
}

static double exact_error(const world_item *solid, const world_item *other) {
    if (other->kind != ABUT_COLLIDER_BODY)
        return 0;
    return solid->kind == ABUT_COLLIDER_CAPSULE
               ? CAPSULE_ERROR * solid->is.collider.shape.capsule.radius
           : solid->kind == ABUT_COLLIDER_CYLINDER
               ? CYLINDER_ERROR * solid->is.collider.shape.cylinder.radius
               : 0;
}

/* The larger error of the maps of both items. */
static double map_error(const world_item *a, const world_item *b) {
    double reach = 0;
    const world_item *both[2] = {a, b};
    for (int i = 0; i < 2; i++)
        if (both[i]->asset && both[i]->asset->map)
            reach = fmax(reach, both[i]->asset->choice.cell);
    return reach;
}

/* Sets `guess` if containment in a mesh is approximate, and `has_sheets` if it has sheets. */
static abut_status test_interior(const world_item *item, bool *guess, bool *has_sheets) {
    const abut_bvh *tree;
    const bvh_interior *interior;
    if (item->kind != ABUT_COLLIDER_BODY || !item->bvh)
        return ABUT_OK;
    abut_status status = abuti_bvh_cpu_tree(item->bvh, &tree);
    status = status ? status : abuti_bvh_interior(tree, &interior);
    if (!status) {
        *guess |= interior->border_count > 0;
        *has_sheets |= interior->has_sheets;
    }
    return status;
}

/* Reduces the guarantee of methods that find every intersection of surfaces to LIMITED if an item
 * may be inside a mesh with holes. Exact depths of sheets have no bound. A plane is inside nothing,
 * and depths below it are those of vertices. */
static abut_status reduce_guarantee(const world_item *a, const world_item *b,
                                    abut_world_pair_info *info) {
    bool guess = false, has_sheets = false;
    abut_status status =
        b->kind == ABUT_COLLIDER_PLANE ? ABUT_OK : test_interior(a, &guess, &has_sheets);
    if (!status && a->kind != ABUT_COLLIDER_PLANE)
        status = test_interior(b, &guess, &has_sheets);
    if (!status && has_sheets && info->method == ABUT_WORLD_EXACT) {
        info->error = HUGE_VAL;
        info->reason = sheets_reason;
    }
    if (!status && guess) {
        info->guarantee = ABUT_WORLD_GUARANTEE_LIMITED;
        info->error = HUGE_VAL;
        info->reason = holes_reason;
    }
    return status;
}

abut_status abuti_world_describe_pair(const abut_world *world, const world_item *a,
                                      const world_item *b, abut_world_pair_info *info) {
    const abut_world_method method = abuti_world_method(world, a, b);
    switch (method) {
    case ABUT_WORLD_EXACT:
        *info = (abut_world_pair_info){.method = method,
                                       ABUT_WORLD_GUARANTEE_COMPLETE,
                                       exact_error(a, b) + exact_error(b, a),
                                       exact_reason};
        return reduce_guarantee(a, b, info);
    case ABUT_WORLD_FIELD:
        *info = (abut_world_pair_info){.method = method,
                                       ABUT_WORLD_GUARANTEE_SAMPLED,
                                       fmax(field_error(a, b), field_error(b, a)),
                                       abuti_world_by_vertices(world, a, b) ? vertices_reason
                                                                            : field_reason};
        return ABUT_OK;
    case ABUT_WORLD_MAP:
        *info = (abut_world_pair_info){.method = method,
                                       ABUT_WORLD_GUARANTEE_COMPLETE,
                                       map_error(a, b),
                                       map_reason};
        return reduce_guarantee(a, b, info);
    case ABUT_WORLD_RADIAL:
        *info = (abut_world_pair_info){.method = method,
                                       ABUT_WORLD_GUARANTEE_SAMPLED,
                                       HUGE_VAL,
                                       radial_reason};
        return ABUT_OK;
    case ABUT_WORLD_LAYERS:
        *info = (abut_world_pair_info){.method = method,
                                       ABUT_WORLD_GUARANTEE_COMPLETE,
                                       HUGE_VAL,
                                       layers_reason};
        return ABUT_OK;
    default:
        *info = (abut_world_pair_info){
            .method = ABUT_WORLD_AUTO,
            ABUT_WORLD_GUARANTEE_NONE,
            HUGE_VAL,
            a->kind == ABUT_COLLIDER_PLANE && b->kind == ABUT_COLLIDER_PLANE
                ? "Two planes are not tested: their overlap is unbounded."
            : world->options.method == ABUT_WORLD_AUTO
                ? "Not tested: one of the items lacks the field, samples or BVH that a method "
                  "requires."
                : "Not tested: the world uses a single method, and one of the items lacks the data "
                  "that it requires."};
        return ABUT_OK;
    }
}

abut_status abut_world_get_pair_info(const abut_world *world, uint32_t a, uint32_t b,
                                     abut_world_pair_info *info) {
    static const char function[] = "abut_world_get_pair_info";
    if (!world || !info)
        return abuti_null(function, world ? "info" : "world");
    abut_status status = abuti_world_check_idle(function, world);
    status = status ? status : abuti_world_check_id(function, world, a);
    status = status ? status : abuti_world_check_id(function, world, b);
    if (!status && a == b)
        status = abuti_fail(ABUT_ERROR_ARGUMENT, "%s: a and b are both %u; they must be two items",
                            function, a);
    if (status)
        return status;
    const world_item *p = &world_items(world)[a < b ? a : b],
                     *q = &world_items(world)[a < b ? b : a];
    abut_world_pair_info found;
    status = abuti_world_describe_pair(world, p, q, &found);
    if (status)
        return status;
    if (found.method != ABUT_WORLD_AUTO && !abuti_world_should_test(world, a, b))
        found =
            (abut_world_pair_info){.method = ABUT_WORLD_AUTO,
                                   ABUT_WORLD_GUARANTEE_NONE,
                                   HUGE_VAL,
                                   world_may_collide(&p->filter, &q->filter)
                                       ? "Not tested: the pair is excluded by abut_world_ignore()."
                                       : "Not tested: neither item is dynamic, or their groups and "
                                         "masks exclude the pair."};
    return abuti_info_write(info, &found, sizeof found, function);
}

/* ---- items ---- */

/* Information on an item that is not a mesh. */
static abut_world_item_info compute_item_info(const world_item *item) {
    const uint32_t has =
        item->filter.traits & (WORLD_HAS_BVH | WORLD_HAS_FIELD | WORLD_HAS_SAMPLES);
    abut_world_item_info c = {.method = item->is.method,
                              .is_forced = item->is.method != ABUT_WORLD_AUTO,
                              .reason = "The method is set by the item."};
    if (item->kind == ABUT_COLLIDER_CHARACTER) {
        c.method = ABUT_WORLD_RADIAL;
        c.reason = "It is a character, whose radial fields follow every pose.";
        c.cell = item->is.collider.shape.character->info.cell;
        return c;
    }
    c.cell = item->body.field ? item->body.field->grid.cell : 0;
    if (c.is_forced)
        return c;
    if (item->kind != ABUT_COLLIDER_BODY) {
        c.method = ABUT_WORLD_EXACT;
        c.reason = "It is a primitive with closed-form distances.";
    } else if (has == WORLD_HAS_BVH) {
        c.method = ABUT_WORLD_EXACT;
        c.reason = "It has only a BVH.";
    } else if (!(has & WORLD_HAS_BVH)) {
        c.method = ABUT_WORLD_FIELD;
        c.reason = "It has a field or samples, but no BVH.";
    } else {
        c.reason = "It has a BVH, and a field or samples: the other item of a pair decides.";
    }
    return c;
}

abut_status abut_world_get_item_info(const abut_world *world, uint32_t id,
                                     abut_world_item_info *info) {
    if (!world || !info)
        return abuti_null(__func__, world ? "info" : "world");
    abut_status status = abuti_world_check_idle("abut_world_get_item_info", world);
    status = status ? status : abuti_world_check_id("abut_world_get_item_info", world, id);
    if (status)
        return status;
    const world_item *item = &world_items(world)[id];
    if (item->asset && (status = abuti_world_asset_examine(item->asset)))
        return status;
    const abut_world_item_info found = item->asset ? item->asset->choice : compute_item_info(item);
    return abuti_info_write(info, &found, sizeof found, __func__);
}
