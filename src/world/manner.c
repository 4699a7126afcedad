/* What is told of items and pairs: which method, why, what it cannot miss, and how far depths may
 * be off. Every sentence is one of these. */
#include "world/world.h"

#include <math.h>

#define CAPSULE_ERROR 0.003  /* of the radius, against a mesh: abut_contact_solid() */
#define CYLINDER_ERROR 0.001 /* the same */

static const char exact_misses[] =
    "Nothing is missed: every overlap has a contact, however thin the bodies are.";
static const char holes_limit[] =
    "No intersection of surfaces is missed. A mesh has small holes, or neighbouring triangles that "
    "face opposite ways, so what lies wholly inside it is a guess, and its depth has no bound.";
static const char edges_limit[] =
    "Nothing is missed: every overlap has a contact, however thin the bodies are. A mesh has "
    "boundary edges: a depth there has no bound.";
static const char field_misses[] =
    "What lies between samples and long edges may be missed, and plates thinner than a cell.";
static const char vertices_miss[] =
    "Vertices and edges of the mesh are tried: what comes through a triangle without meeting one "
    "may be missed.";
static const char map_misses[] =
    "Nothing is missed: where no sample of a surface touches, exact patches are asked.";
static const char layers_miss[] = "Nothing is missed: where no ray is in both, exact patches are "
                                  "asked. The depth is that of rays "
                                  "along three axes.";
static const char radial_misses[] =
    "What radial fields do not see may be missed: folds, and what is finer than their cells, about "
    "which depths are good to.";

/* How far interpolated distances may be off: half the diagonal of a cell, if signs are known. A
 * plane asks no signs. */
static double field_error(const world_item *item, const world_item *other) {
    const abut_field *field = item->body.field;
    if (!field)
        return 0;
    const bool is_known = other->kind == ABUT_WORLD_PLANE ||
                          abuti_contact_advice(field, NULL).verdict == ABUT_VERDICT_GUARANTEED;
    return is_known ? 0.5 * sqrt(3) * field->grid.cell : HUGE_VAL;
}

static double exact_error(const world_item *solid, const world_item *other) {
    if (other->kind != ABUT_WORLD_BODY)
        return 0;
    return solid->kind == ABUT_WORLD_CAPSULE    ? CAPSULE_ERROR * solid->is.shape.capsule.radius
           : solid->kind == ABUT_WORLD_CYLINDER ? CYLINDER_ERROR * solid->is.shape.cylinder.radius
                                                : 0;
}

/* The greatest of the maps that are asked. */
static double map_error(const world_item *a, const world_item *b) {
    double reach = 0;
    const world_item *both[2] = {a, b};
    for (int i = 0; i < 2; i++)
        if (both[i]->asset && both[i]->asset->map)
            reach = fmax(reach, both[i]->asset->choice.cell);
    return reach;
}

/* Whether what is inside a mesh is a guess, and whether it has sheets. */
static abut_status find_guess(const world_item *item, bool *guess, bool *has_sheets) {
    const abut_bvh *tree;
    const bvh_interior *interior;
    if (item->kind != ABUT_WORLD_BODY || !item->bvh)
        return ABUT_OK;
    abut_status status = abuti_bvh_cpu_tree(item->bvh, &tree);
    status = status ? status : abuti_bvh_interior(tree, &interior);
    if (!status) {
        *guess |= interior->border_count > 0;
        *has_sheets |= interior->has_sheets;
    }
    return status;
}

/* Of methods that find every intersection of surfaces: limited where an item may be inside a mesh
 * with holes. Exact depths of sheets have no bound. A plane is inside nothing, and depths below it
 * are those of vertices. */
static abut_status limit(const world_item *a, const world_item *b, abut_world_manner *manner) {
    bool guess = false, has_sheets = false;
    abut_status status = b->kind == ABUT_WORLD_PLANE ? ABUT_OK : find_guess(a, &guess, &has_sheets);
    if (!status && a->kind != ABUT_WORLD_PLANE)
        status = find_guess(b, &guess, &has_sheets);
    if (!status && has_sheets && manner->method == ABUT_WORLD_EXACT) {
        manner->error = HUGE_VAL;
        manner->sentence = edges_limit;
    }
    if (!status && guess) {
        manner->guarantee = ABUT_WORLD_LIMITED;
        manner->error = HUGE_VAL;
        manner->sentence = holes_limit;
    }
    return status;
}

abut_status abuti_world_manner(const abut_world *world, const world_item *a, const world_item *b,
                               abut_world_manner *manner) {
    const abut_world_method method = abuti_world_method(world, a, b);
    switch (method) {
    case ABUT_WORLD_EXACT:
        *manner = (abut_world_manner){method, ABUT_WORLD_EVERY,
                                      exact_error(a, b) + exact_error(b, a), exact_misses};
        return limit(a, b, manner);
    case ABUT_WORLD_FIELD:
        *manner = (abut_world_manner){method, ABUT_WORLD_SAMPLED,
                                      fmax(field_error(a, b), field_error(b, a)),
                                      abuti_world_by_vertices(world, a, b) ? vertices_miss
                                                                           : field_misses};
        return ABUT_OK;
    case ABUT_WORLD_MAP:
        *manner = (abut_world_manner){method, ABUT_WORLD_EVERY, map_error(a, b), map_misses};
        return limit(a, b, manner);
    case ABUT_WORLD_RADIAL:
        *manner = (abut_world_manner){method, ABUT_WORLD_SAMPLED, HUGE_VAL, radial_misses};
        return ABUT_OK;
    case ABUT_WORLD_LAYERS:
        *manner = (abut_world_manner){method, ABUT_WORLD_EVERY, HUGE_VAL, layers_miss};
        return ABUT_OK;
    default:
        *manner = (abut_world_manner){
            ABUT_WORLD_AUTO, ABUT_WORLD_NEVER, HUGE_VAL,
            a->kind == ABUT_WORLD_PLANE && b->kind == ABUT_WORLD_PLANE
                ? "Two planes are never tried: they overlap without end."
            : world->options.method == ABUT_WORLD_AUTO
                ? "Never tried: one of them lacks the field, samples or hierarchy that it would "
                  "take."
                : "Never tried: the world has one method alone, and one of them lacks what it "
                  "takes."};
        return ABUT_OK;
    }
}

abut_status abut_world_how(const abut_world *world, uint32_t a, uint32_t b,
                           abut_world_manner *manner) {
    static const char function[] = "abut_world_how";
    if (!world || !manner)
        return abuti_null(function, world ? "manner" : "world");
    abut_status status = abuti_world_check_idle(function, world);
    status = status ? status : abuti_world_check_id(function, world, a);
    status = status ? status : abuti_world_check_id(function, world, b);
    if (!status && a == b)
        status = abuti_fail(ABUT_ERROR_ARGUMENT,
                            "%s: a and b are both %u; an item never meets itself", function, a);
    if (status)
        return status;
    const world_item *p = &world_items(world)[a < b ? a : b],
                     *q = &world_items(world)[a < b ? b : a];
    abut_world_manner found;
    status = abuti_world_manner(world, p, q, &found);
    if (status)
        return status;
    if (found.method != ABUT_WORLD_AUTO && !abuti_world_tries(world, a, b))
        found = (abut_world_manner){ABUT_WORLD_AUTO, ABUT_WORLD_NEVER, HUGE_VAL,
                                    world_may_meet(&p->filter, &q->filter)
                                        ? "Never tried: abut_world_ignore() says so."
                                        : "Never tried: neither is dynamic, or groups and masks "
                                          "keep them apart."};
    *manner = found;
    return ABUT_OK;
}

/* ---- items ---- */

/* Of an item that the user made what it is. */
static abut_world_choice choice_of(const world_item *item) {
    const uint32_t has =
        item->filter.traits & (WORLD_HAS_BVH | WORLD_HAS_FIELD | WORLD_HAS_SAMPLES);
    abut_world_choice c = {.method = item->is.method,
                           .forced = item->is.method != ABUT_WORLD_AUTO,
                           .reason = "The item says so."};
    if (item->kind == ABUT_WORLD_CHARACTER) {
        c.method = ABUT_WORLD_RADIAL;
        c.reason = "It is a character: its radial fields follow every pose.";
        c.cell = abut_radial_info_get(item->is.shape.character).cell;
        return c;
    }
    c.cell = item->body.field ? item->body.field->grid.cell : 0;
    if (c.forced)
        return c;
    if (item->kind != ABUT_WORLD_BODY) {
        c.method = ABUT_WORLD_EXACT;
        c.reason = "It is a simple solid, of closed form.";
    } else if (has == WORLD_HAS_BVH) {
        c.method = ABUT_WORLD_EXACT;
        c.reason = "A hierarchy is all it has.";
    } else if (!(has & WORLD_HAS_BVH)) {
        c.method = ABUT_WORLD_FIELD;
        c.reason = "It has a field or samples, and no hierarchy.";
    } else {
        c.reason = "It has a hierarchy, and a field or samples: each pair by what the other has.";
    }
    return c;
}

abut_status abut_world_choice_get(const abut_world *world, uint32_t id, abut_world_choice *choice) {
    if (!world || !choice)
        return abuti_null(__func__, world ? "choice" : "world");
    abut_status status = abuti_world_check_idle("abut_world_choice_get", world);
    status = status ? status : abuti_world_check_id("abut_world_choice_get", world, id);
    if (status)
        return status;
    const world_item *item = &world_items(world)[id];
    if (item->asset && (status = abuti_world_asset_examine(item->asset)))
        return status;
    *choice = item->asset ? item->asset->choice : choice_of(item);
    return ABUT_OK;
}
