/* Information on items and pairs: method, reason, guarantee and error bound. */
#include "world/world.h"

#include <math.h>

abut_status abut_world_get_pair_info(const abut_world *world, uint32_t a, uint32_t b,
                                     abut_world_pair_info *info) {
    if (!world || !info)
        return abuti_null(__func__, world ? "info" : "world");
    abut_status status = abuti_world_check_pair(__func__, world, a, b);
    if (status)
        return status;
    a = abut_world_index(a);
    b = abut_world_index(b);
    const world_item *p = &world_items(world)[a < b ? a : b],
                     *q = &world_items(world)[a < b ? b : a];
    const world_method *method = abuti_world_method(world, p, q);
    abut_world_pair_info found = {.method = ABUT_WORLD_AUTO,
                                  .guarantee = ABUT_WORLD_GUARANTEE_NONE,
                                  .error = HUGE_VAL};
    if (!method)
        found.reason =
            p->kind == ABUT_COLLIDER_PLANE && q->kind == ABUT_COLLIDER_PLANE
                ? "Two planes are not tested: their overlap is unbounded."
            : world->options.method == ABUT_WORLD_AUTO
                ? "Not tested: one of the items lacks the field, samples or BVH that a method "
                  "requires."
                : "Not tested: the world uses a single method, and one of the items lacks the data "
                  "that it requires.";
    else if ((p->filter.traits | q->filter.traits) & WORLD_IS_ASLEEP &&
             !world_may_collide(&p->filter, &q->filter))
        found.reason = "Not tested now: one of the items is asleep, and the other one is asleep or "
                       "static. Contacts that they had are kept.";
    else if (!abuti_world_should_test(world, a, b))
        found.reason = world_may_collide(&p->filter, &q->filter)
                           ? "Not tested: the pair is excluded by abut_world_ignore()."
                           : "Not tested: neither item is dynamic, or their groups, masks or "
                             "families exclude the pair.";
    else if (!abuti_world_accepts(world, a < b ? a : b, a < b ? b : a))
        found.reason = "Not tested: the filter `accept` of the world rejects the pair.";
    else {
        found.method = method->method;
        if ((status = method->guarantee(p, q, &found)))
            return status;
    }
    return abuti_info_write(info, &found, sizeof found, __func__);
}

/* ---- items ---- */

/* Information on an item that is not a mesh. */
static abut_world_item_info compute_item_info(const world_item *item) {
    const uint32_t has =
        item->filter.traits & (WORLD_HAS_BVH | WORLD_HAS_FIELD | WORLD_HAS_SAMPLES);
    abut_world_item_info c = {.method = item->is.method,
                              .is_forced = item->is.method != ABUT_WORLD_AUTO,
                              .reason = "The method is set by the item."};
    c.cell = item->body.field ? item->body.field->grid.cell : 0;
    if (item->method->describe) {
        item->method->describe(item, &c);
    } else if (c.is_forced) {
        return c;
    } else if (item->kind != ABUT_COLLIDER_BODY) {
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
    abut_status status = abuti_world_check_idle(__func__, world);
    if (status || (status = abuti_world_check_id(__func__, world, id)))
        return status;
    const world_item *item = &world_items(world)[abut_world_index(id)];
    if (item->asset && (status = abuti_world_examine_again(item->asset)))
        return status;
    const abut_world_item_info found = item->asset ? item->asset->choice : compute_item_info(item);
    return abuti_info_write(info, &found, sizeof found, __func__);
}
