/* The method of a mesh that is an item of a world.
 *
 * The first row that applies decides. docs/choosing.md shows the same as a picture, with figures.
 *   forced                     the method of the item, or of the world if it is exact or field
 *   cloth                      exact: it never touches anything, and is near everything
 *   a sheet                    map: it has no interior, and a field would invent one
 *   deforms                    exact: a refit takes a tenth of a build; a field cannot be refitted
 *   sheets and solids          exact: components count separately; a field has one sign for all
 *   flipped neighbours         exact: intersecting surfaces are found whatever side they face
 *   holes, but a solid         field: winding numbers are robust against holes
 *   no device                  exact: nothing is missed, and nothing has to be prepared
 *   few triangles, or thin     exact, also with a device: a field loses walls below two cells
 *   otherwise                  field, all pairs at once on the device
 *
 * A sheet is a surface each of whose components has holes above ABUT_SHEET_HOLE_FRACTION of its
 * area: mesh/holes.c.
 */
#include "world/world.h"

#include <abut/map.h>
#include <math.h>

#define THIN_FRACTION_MAX 0.01 /* of the area: more thin walls exclude a field */

enum { THIN_CELLS = 64, THIN_TEXELS = 64, FEW_TRIANGLES = 64 };

void abuti_world_choose_method(const abut_world *world, const abut_mesh_report *r, world_asset *a) {
    const abut_world_method wanted = world->options.method;
    const struct {
        bool applies;
        abut_world_method method;
        bool is_forced;
        const char *reason;
    } rows[] = {
        {a->asked != ABUT_WORLD_AUTO, a->asked, true, "The method is set by the item."},
        {wanted == ABUT_WORLD_FIELD && !a->deforms && !a->has_sheets, ABUT_WORLD_FIELD, true,
         "The world uses only fields."},
        {wanted == ABUT_WORLD_EXACT, ABUT_WORLD_EXACT, true, "The world uses only exact contacts."},
        {wanted != ABUT_WORLD_AUTO, ABUT_WORLD_EXACT, true,
         "It has no field: its vertices and edges are tested against the fields of other items."},
        {a->is_cloth, ABUT_WORLD_EXACT, false,
         "It is cloth, which touches nothing: exact contacts measure how near it is."},
        {a->sheet, ABUT_WORLD_MAP, false,
         "It is a sheet without an interior: distances are measured at samples all over its "
         "surface."},
        {a->deforms, ABUT_WORLD_EXACT, false,
         "It deforms: its BVH is refitted in each step, while a field would have to be rebuilt."},
        {a->has_sheets, ABUT_WORLD_EXACT, false,
         "Some of its components are sheets and others are solids: exact contact patches treat "
         "each component separately."},
        {r->has_opposite_boundary, ABUT_WORLD_EXACT, false,
         "Neighbouring triangles face opposite ways, so that no side is inside; exact contacts "
         "still find intersecting surfaces. See abut_mesh_orient()."},
        {r->has_boundary, ABUT_WORLD_FIELD, false,
         "It has holes but encloses a volume: winding numbers define its interior, and a field "
         "stores their sign."},
        {!world->options.device, ABUT_WORLD_EXACT, false,
         "It is closed and rigid: exact contact patches miss nothing."},
        {r->triangle_count < FEW_TRIANGLES, ABUT_WORLD_EXACT, false,
         "It has so few triangles that exact contact patches take only microseconds."},
        {a->choice.thin_fraction > THIN_FRACTION_MAX, ABUT_WORLD_EXACT, false,
         "Parts of it are thinner than two cells, which a field cannot represent."},
        {true, ABUT_WORLD_FIELD, false,
         "It is closed, rigid and thick: the device tests all such pairs at once."}};
    size_t i = 0;
    while (!rows[i].applies)
        i++;
    a->choice.method = rows[i].method;
    a->choice.is_forced = rows[i].is_forced;
    a->choice.reason = rows[i].reason;
}

/* ---- examination ---- */

/* The fraction of the surface with less than `wall` of material behind it. */
static abut_status measure_thin_fraction(abut_mesh *mesh, double wall, double *share) {
    abut_map_options options = abut_map_options_default();
    abut_map_query query = abut_map_query_default();
    abut_map_measures measures = abut_map_measures_default();
    abut_map *map = NULL;
    const double texels = ceil(sqrt(2.0 * mesh->triangle_count));
    *share = 0;
    if (!(wall > 0) || texels > 4096) /* cells are not larger than triangles then */
        return ABUT_OK;
    options.resolution = texels > THIN_TEXELS ? (uint32_t)texels : THIN_TEXELS;
    query.limit = wall;
    abut_status status = abut_map_create(mesh, &options, &map);
    if (!status)
        status = abut_map_compute_thickness(map, ABUT_MAP_THICKNESS_RAY, &query);
    if (!status)
        status = abut_map_measure(map, NULL, NULL, &measures);
    if (!status && measures.area > 0)
        *share = measures.found_area / measures.area;
    abut_map_destroy(map);
    return status;
}

static void set_health(world_asset *a, const abut_mesh_report *report) {
    a->choice.reliability = abut_pair_reliability(report);
    a->choice.hole_fraction = report->hole_fraction;
    a->has_health = true;
}

abut_status abuti_world_examine_again(world_asset *a) {
    abut_topology *topology = NULL;
    abut_mesh_report report = abut_mesh_report_default();
    if (a->has_health)
        return ABUT_OK;
    abut_status status = abut_topology_create(a->mesh, &topology);
    if (!status)
        status = abut_mesh_examine(topology, &report);
    abut_topology_destroy(topology);
    if (!status)
        set_health(a, &report);
    return status;
}

abut_status abuti_world_examine(const abut_world *world, world_asset *a, abut_mesh_report *report) {
    abut_status status;
    if ((status = abut_topology_create(a->mesh, &a->topology)) ||
        (status = abut_mesh_examine(a->topology, report)))
        return status;
    set_health(a, report);
    a->sheet = report->is_sheet || !(report->area > 0);
    a->has_sheets = a->sheet || report->has_sheets;
    if (a->has_sheets || a->deforms || report->has_opposite_boundary ||
        (!world->options.device && a->asked != ABUT_WORLD_FIELD))
        return ABUT_OK;
    const double extent = v3_max_abs(v3_sub(a->mesh->bounds.hi, a->mesh->bounds.lo));
    return measure_thin_fraction(a->mesh, 2 * extent / (a->resolution ? a->resolution : THIN_CELLS),
                                 &a->choice.thin_fraction);
}
