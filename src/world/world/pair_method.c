/* The method of a pair: a row of the table of methods, chosen by the data of both items.
 *
 * For each kind of pair, the first method that applies:
 * - a character and anything: radial
 * - cloth and a body: gaps of vertices
 * - two primitives: exact
 * - a primitive and a body: field, if the world or the body prefers it; exact; field
 * - two bodies: layers, if both have them; field, if the world or a body prefers it, or instead of
 *   a map; map, if one is a sheet; exact; field
 *
 * A world that uses a single method restricts these.
 */
#include "world/world.h"

enum { CELLS_PER_EDGE = 2 };

const world_method *abuti_world_method_of_items(abut_world_method method) {
    static const world_method *const rows[] = {
        [ABUT_WORLD_AUTO] = &abuti_world_exact,    [ABUT_WORLD_EXACT] = &abuti_world_exact,
        [ABUT_WORLD_FIELD] = &abuti_world_field,   [ABUT_WORLD_MAP] = &abuti_world_map,
        [ABUT_WORLD_RADIAL] = &abuti_world_radial, [ABUT_WORLD_LAYERS] = &abuti_world_layers};
    return rows[method];
}

world_filter abuti_world_filter(const abut_world *world, const world_item *made) {
    const abut_world_item *item = &made->is;
    const world_asset *asset = made->asset;
    world_filter f = {item->group ? item->group : 1, item->mask ? item->mask : UINT32_MAX, 0,
                      item->family};
    const bool is_body = item->collider.kind == ABUT_COLLIDER_BODY;
    const bool is_character = item->collider.kind == ABUT_COLLIDER_CHARACTER;
    const bool is_open = world->options.method == ABUT_WORLD_AUTO; /* all methods are allowed */
    const bool exact_alone = is_body && item->method == ABUT_WORLD_EXACT;
    const abut_world_method chosen = asset ? asset->choice.method : item->method;
    const struct {
        bool is;
        uint32_t trait;
    } traits[] = {{item->motion == ABUT_WORLD_DYNAMIC, WORLD_IS_DYNAMIC},
                  {item->motion == ABUT_WORLD_STATIC, WORLD_IS_STATIC},
                  {item->is_sensor, WORLD_IS_SENSOR},
                  {!is_body && !is_character, WORLD_IS_SOLID},
                  {item->collider.kind == ABUT_COLLIDER_PLANE, WORLD_IS_PLANE},
                  {is_character, WORLD_IS_CHARACTER},
                  {asset && asset->is_cloth, WORLD_IS_CLOTH},
                  {is_body && item->collider.shape.body.bvh, WORLD_HAS_BVH},
                  {is_body && item->collider.shape.body.field && !exact_alone, WORLD_HAS_FIELD},
                  {is_body && item->collider.shape.body.samples && !exact_alone, WORLD_HAS_SAMPLES},
                  {is_open && asset && asset->map, WORLD_HAS_MAP},
                  {is_open && asset && chosen == ABUT_WORLD_LAYERS, WORLD_HAS_LAYERS},
                  {is_open && is_body && chosen == ABUT_WORLD_FIELD, WORLD_PREFERS_FIELD},
                  {asset && !asset->field && asset->asked == ABUT_WORLD_AUTO &&
                       (asset->sheet || !is_open),
                   WORLD_HAS_VERTICES}};
    for (size_t i = 0; i < sizeof traits / sizeof *traits; i++)
        f.traits |= traits[i].is ? traits[i].trait : 0;
    return f;
}

static bool can_use_exact(uint32_t a, uint32_t b) {
    const uint32_t fit = WORLD_HAS_BVH | WORLD_IS_SOLID;
    return (a & fit) && (b & fit) && !(a & b & WORLD_IS_PLANE);
}

/* Vertices and edges of a mesh against a field: if triangles are not larger than cells, so that the
 * field cannot represent what passes between vertices; or if there is no other method. */
static bool by_vertices(const abut_world *world, const world_item *a, const world_item *b) {
    const uint32_t p = a->filter.traits, q = b->filter.traits;
    const bool first = (p & WORLD_HAS_VERTICES) != 0;
    const world_item *mesh = first ? a : b, *field = first ? b : a;
    if (!(mesh->filter.traits & WORLD_HAS_VERTICES) || !(field->filter.traits & WORLD_HAS_FIELD) ||
        world_has_fields(p, q))
        return false;
    return world->options.method == ABUT_WORLD_FIELD ||
           mesh->asset->longest_edge <= CELLS_PER_EDGE * field->body.field->grid.cell;
}

const world_method *abuti_world_method(const abut_world *world, const world_item *a,
                                       const world_item *b) {
    const abut_world_method wanted = world->options.method;
    const uint32_t p = a->filter.traits, q = b->filter.traits, either = p | q, both = p & q;
    if (either & WORLD_IS_CHARACTER)
        return wanted == ABUT_WORLD_EXACT ? NULL : &abuti_world_radial;
    if ((either & WORLD_IS_CLOTH) && (both & WORLD_HAS_BVH))
        return &abuti_world_cloth;
    if (both & WORLD_HAS_LAYERS)
        return &abuti_world_layers;
    /* Primitives have no field: their pairs are always exact. */
    const bool exact =
        (wanted != ABUT_WORLD_FIELD || (either & WORLD_IS_SOLID)) && can_use_exact(p, q);
    /* Sensors need no depths. */
    const bool map =
        exact && (either & WORLD_HAS_MAP) && (both & WORLD_HAS_BVH) && !(either & WORLD_IS_SENSOR);
    if (wanted != ABUT_WORLD_EXACT &&
        (!exact || map || world->options.device || (either & WORLD_PREFERS_FIELD))) {
        if (world_has_fields(p, q))
            return &abuti_world_field;
        if (by_vertices(world, a, b))
            return &abuti_world_vertices;
    }
    return map ? &abuti_world_map : exact ? &abuti_world_exact : NULL;
}
