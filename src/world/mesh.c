/* Meshes among the items of a world: which method suits one, and what the world makes for it.
 *
 * The rule, from the top; docs/choosing.md has it as a picture, with what was measured.
 *   forced                     what the item says, or else the world, if it says exact or field
 *   a sheet                    map: it has no inside, and a field would make one up
 *   deforms                    exact: a refit is a tenth of a build, and a field none at all
 *   sheets and solids          exact: each part counts by itself, and a field has one sign for all
 *   neighbours face opposite   exact: surfaces that cross are found, whatever their sides
 *   holes, but a solid         field: winding numbers see across holes
 *   no device                  exact: nothing is missed, and nothing has to be prepared
 *   few triangles, or thin     exact, also beside a device: a field loses what is below two cells
 *   else                       field, all pairs at once on the device
 *
 * A sheet is a surface each of whose parts has holes above ABUT_SHEET_HOLE_FRACTION of its area:
 * mesh/holes.c.
 */
#include "world/world.h"

#include <math.h>

#define THIN 0.01 /* of the area */

enum { FIELD_CELLS = 64, MAP_TEXELS = 128, THIN_TEXELS = 64, FEW_TRIANGLES = 64 };

static const char function[] = "abut_world_add";

/* ---- looking at it ---- */

/* The share of the surface that has less wall than this behind it. */
static abut_status measure_thin(abut_mesh *mesh, double wall, double *share) {
    abut_map_options options = abut_map_options_default();
    abut_map_query query = abut_map_query_default();
    abut_map_measures measures;
    abut_map *map = NULL;
    const double texels = ceil(sqrt(2.0 * mesh->triangle_count));
    *share = 0;
    if (!(wall > 0) || texels > 4096) /* then cells are no larger than triangles */
        return ABUT_OK;
    options.resolution = texels > THIN_TEXELS ? (uint32_t)texels : THIN_TEXELS;
    query.limit = wall;
    abut_status status = abut_map_create(mesh, &options, &map);
    status = status ? status : abut_map_compute_thickness(map, ABUT_MAP_THICKNESS_RAY, &query);
    status = status ? status : abut_map_measure(map, NULL, NULL, &measures);
    if (!status && measures.area > 0)
        *share = measures.found_area / measures.area;
    abut_map_destroy(map);
    return status;
}

static double find_longest_edge(const abut_mesh *mesh) {
    double longest_sq = 0;
    for (size_t i = 0; i < 3 * (size_t)mesh->triangle_count; i++) {
        const size_t next = i % 3 == 2 ? i - 2 : i + 1;
        const vec3 way =
            v3_sub(mesh->positions[mesh->indices[next]], mesh->positions[mesh->indices[i]]);
        longest_sq = real_max(longest_sq, v3_length_sq(way));
    }
    return sqrt(longest_sq);
}

static double longest_side(const abut_mesh *mesh) {
    return v3_max_abs(v3_sub(mesh->bounds.hi, mesh->bounds.lo));
}

static void choose(world_asset *a, abut_world_method method, bool forced, const char *reason) {
    a->choice.method = method;
    a->choice.is_forced = forced;
    a->choice.reason = reason;
}

/* What is known of the mesh is in the choice already. */
static void choose_by_rule(const abut_world *world, world_asset *a, const abut_mesh_report *r) {
    const abut_world_method wanted = world->options.method;
    if (a->asked != ABUT_WORLD_AUTO)
        choose(a, a->asked, true, "The item says so.");
    else if (wanted == ABUT_WORLD_FIELD && !a->deforms && !a->has_sheets)
        choose(a, ABUT_WORLD_FIELD, true, "The world tries pairs by fields alone.");
    else if (wanted != ABUT_WORLD_AUTO)
        choose(a, ABUT_WORLD_EXACT, true,
               wanted == ABUT_WORLD_EXACT ? "The world tries pairs exactly alone."
                                          : "It has no field of its own: its vertices and edges "
                                            "are tried against fields of others.");
    else if (a->sheet)
        choose(a, ABUT_WORLD_MAP, false,
               "It is a sheet, without an inside: samples all over it are asked how far they are "
               "from others.");
    else if (a->deforms)
        choose(a, ABUT_WORLD_EXACT, false,
               "It deforms: its hierarchy is refitted in each step, where a field would have to be "
               "made anew.");
    else if (a->has_sheets)
        choose(a, ABUT_WORLD_EXACT, false,
               "Some of its parts are sheets, without an inside, and others are solids: exact "
               "patches treat each part by itself.");
    else if (r->has_opposite_boundary)
        choose(a, ABUT_WORLD_EXACT, false,
               "Neighbouring triangles face opposite ways, so that nothing tells in from out; "
               "where surfaces meet is known all the same. See abut_mesh_orient().");
    else if (r->has_boundary)
        choose(a, ABUT_WORLD_FIELD, false,
               "It has holes, but is a solid: winding numbers tell in from out, and fields keep "
               "them.");
    else if (!world->options.device)
        choose(a, ABUT_WORLD_EXACT, false, "It is closed and rigid: exact patches miss nothing.");
    else if (r->triangle_count < FEW_TRIANGLES)
        choose(a, ABUT_WORLD_EXACT, false,
               "It has so few triangles that exact patches take some microseconds.");
    else if (a->choice.thin_fraction > THIN)
        choose(a, ABUT_WORLD_EXACT, false,
               "Parts of it are thinner than two cells, which a field would lose.");
    else
        choose(a, ABUT_WORLD_FIELD, false,
               "It is closed, rigid and thick: the device tries all such pairs at once.");
}

static void set_health(world_asset *a, const abut_mesh_report *report) {
    a->choice.reliability = abut_pair_reliability(report);
    a->choice.hole_fraction = report->hole_fraction;
    a->has_health = true;
}

abut_status abuti_world_asset_examine(world_asset *a) {
    abut_topology *topology = NULL;
    abut_mesh_report report;
    if (a->has_health)
        return ABUT_OK;
    abut_status status = abut_topology_create(a->mesh, &topology);
    status = status ? status : abut_mesh_examine(topology, &report);
    abut_topology_destroy(topology);
    if (!status)
        set_health(a, &report);
    return status;
}

static abut_status examine(const abut_world *world, world_asset *a, abut_mesh_report *report) {
    abut_status status = abut_topology_create(a->mesh, &a->topology);
    status = status ? status : abut_mesh_examine(a->topology, report);
    if (status)
        return status;
    set_health(a, report);
    a->sheet = report->is_sheet || !(report->area > 0);
    a->has_sheets = a->sheet || report->has_sheets;
    a->longest_edge = find_longest_edge(a->mesh);
    if (a->has_sheets || a->deforms || report->has_opposite_boundary ||
        (!world->options.device && a->asked != ABUT_WORLD_FIELD))
        return ABUT_OK;
    const uint32_t cells = a->resolution ? a->resolution : FIELD_CELLS;
    return measure_thin(a->mesh, 2 * longest_side(a->mesh) / cells, &a->choice.thin_fraction);
}

/* ---- making it ---- */

static abut_status make_field(const abut_world *world, world_asset *a) {
    abut_field_options field = abut_field_options_default();
    abut_samples_options samples = abut_samples_options_default();
    field.cells = a->resolution ? a->resolution : FIELD_CELLS;
    field.device = world->options.device;
    abut_status status = abut_field_create(a->mesh, &field, &a->field);
    if (status)
        return status;
    a->choice.cell = samples.cell = a->field->grid.cell;
    return abut_samples_create(a->mesh, &samples, &a->samples);
}

/* Distances of a map are off by no more than its reach. */
static void set_reach(world_asset *a) {
    abut_map_info info = abut_map_info_default();
    abut_map_get_info(a->map, &info);
    a->choice.cell = info.reach;
}

static abut_status make_map(world_asset *a) {
    abut_map_options options = abut_map_options_default();
    const double texels = ceil(sqrt(2.0 * a->mesh->triangle_count));
    options.resolution = a->resolution         ? a->resolution
                         : texels > MAP_TEXELS ? (uint32_t)texels
                                               : MAP_TEXELS;
    abut_status status = abut_map_create(a->mesh, &options, &a->map);
    if (!status)
        set_reach(a);
    return status;
}

abut_status abuti_world_asset_sign(world_asset *a) {
    if (a->has_sheets || !a->bvh)
        return ABUT_OK;
    abut_sign_info sign = abut_sign_info_default();
    abut_status status = abut_sign_get_info(a->bvh, &sign);
    return status || sign.method != ABUT_SIGN_AUTO ? status : abut_sign_prepare(a->bvh, NULL);
}

/* Rays need to know where a solid begins and ends. */
static abut_status check_layers(const abut_mesh_report *r) {
    if (!r->has_opposite_boundary && !r->has_boundary)
        return ABUT_OK;
    return abuti_fail(ABUT_ERROR_ARGUMENT,
                      r->has_opposite_boundary
                          ? "%s: method layers needs a mesh whose triangles face one way, and "
                            "neighbours of this one face opposite ways; orient it first, or "
                            "choose another method: exact or map"
                          : "%s: method layers needs a closed mesh, and this one is open; "
                            "close it, or choose another method: exact or map",
                      function);
}

static abut_status make(const abut_world *world, world_asset *a) {
    abut_mesh_report report;
    abut_status status = examine(world, a, &report);
    if (!status && a->asked == ABUT_WORLD_LAYERS)
        status = check_layers(&report);
    if (status)
        return status;
    choose_by_rule(world, a, &report);
    status = abut_bvh_create(a->mesh, NULL, &a->bvh);
    if (!status && a->choice.method == ABUT_WORLD_FIELD)
        status = make_field(world, a);
    if (!status && a->choice.method == ABUT_WORLD_MAP)
        status = make_map(a);
    return status;
}

static void destroy(abut_context *context, world_asset *a) {
    abut_map_destroy(a->map);
    abut_samples_destroy(a->samples);
    abut_field_destroy(a->field);
    abut_bvh_destroy(a->bvh);
    abut_topology_destroy(a->topology);
    abut_mesh_destroy(a->mesh);
    abut_mesh_destroy(a->given);
    abuti_release(context, a);
}

static abut_status check(const abut_world_item *item) {
    const abut_world_method m = item->method;
    if (!item->shape.mesh.mesh)
        return abuti_null(function, "item->shape.mesh.mesh");
    if (m == ABUT_WORLD_RADIAL)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: a mesh has no bones for radial fields; make these by "
                          "abut_radial_create_mesh() and add a character",
                          function);
    if (m == ABUT_WORLD_FIELD && item->shape.mesh.deforms)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: a mesh that deforms would need another field in each step; take "
                          "exact or map",
                          function);
    return ABUT_OK;
}

abut_status abuti_world_asset_get(abut_world *world, const abut_world_item *item, world_asset *mine,
                                  world_asset **asset) {
    world_asset **list = world->assets.data;
    const uint32_t resolution = item->shape.mesh.resolution;
    abut_status status = check(item);
    if (status)
        return status;
    for (size_t i = 0; i < world->assets.count; i++)
        if (list[i]->given == item->shape.mesh.mesh && list[i]->asked == item->method &&
            list[i]->resolution == resolution && list[i]->deforms == item->shape.mesh.deforms &&
            (!list[i]->deforms || list[i] == mine)) {
            list[i]->uses++;
            *asset = list[i];
            return ABUT_OK;
        }
    status =
        abuti_vector_reserve(world->context, &world->assets, world->assets.count + 1, sizeof *list);
    world_asset *made = status ? NULL : abuti_allocate_zeroed(world->context, 1, sizeof *made);
    if (!made)
        return ABUT_ERROR_MEMORY;
    made->uses = 1;
    made->given = abut_mesh_retain(item->shape.mesh.mesh);
    made->mesh = abut_mesh_retain(made->given);
    made->asked = item->method;
    made->resolution = resolution;
    made->deforms = item->shape.mesh.deforms;
    if ((status = make(world, made))) {
        destroy(world->context, made);
        return status;
    }
    ((world_asset **)world->assets.data)[world->assets.count++] = made;
    *asset = made;
    return ABUT_OK;
}

void abuti_world_asset_drop(abut_world *world, world_asset *asset) {
    world_asset **list = world->assets.data;
    if (!asset || --asset->uses)
        return;
    size_t i = 0;
    while (list[i] != asset)
        i++;
    list[i] = list[--world->assets.count];
    destroy(world->context, asset);
}

/* ---- other positions ---- */

abut_status abuti_world_asset_deform(world_asset *a, const abut_vec3 *positions) {
    abut_mesh *old = a->mesh, *mesh = NULL;
    const abut_mesh_input input =
        abut_mesh_input_doubles(positions, old->vertex_count, old->indices, old->triangle_count);
    abut_status status = abut_mesh_create(old->context, &input, &mesh);
    if (!status && (status = abut_bvh_set_mesh(a->bvh, mesh)))
        (void)abut_bvh_set_mesh(a->bvh,
                                old); /* boxes never fail; the rest is made when asked for */
    if (!status && a->map)
        status = abut_map_set_mesh(a->map, mesh);
    if (status) {
        abut_mesh_destroy(mesh);
        return status;
    }
    a->mesh = mesh;
    a->has_health = false;
    a->longest_edge = find_longest_edge(mesh);
    abut_mesh_destroy(old);
    if (a->map)
        set_reach(a);
    abut_bvh_info info = abut_bvh_info_default();
    abut_bvh_get_info(a->bvh, &info);
    if (info.should_rebuild) { /* if there is memory */
        abut_bvh *made = NULL;
        if (!abut_bvh_create(mesh, NULL, &made)) {
            abut_bvh_destroy(a->bvh);
            a->bvh = made;
        }
    }
    return ABUT_OK;
}
