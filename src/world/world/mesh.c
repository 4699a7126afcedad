/* Meshes as items of a world: the choice of the method, and the data that the world creates.
 *
 * The first row that applies decides. docs/choosing.md shows the same as a picture, with figures.
 *   forced                     the method of the item, or of the world if it is exact or field
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

#include <math.h>

#define THIN_FRACTION_MAX 0.01 /* of the area: more thin walls exclude a field */

enum { FIELD_CELLS = 64, MAP_TEXELS = 128, THIN_TEXELS = 64, FEW_TRIANGLES = 64 };

static const char function[] = "abut_world_add";

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

static double longest_extent(const abut_mesh *mesh) {
    return v3_max_abs(v3_sub(mesh->bounds.hi, mesh->bounds.lo));
}

static void set_choice(world_asset *a, abut_world_method method, bool forced, const char *reason) {
    a->choice.method = method;
    a->choice.is_forced = forced;
    a->choice.reason = reason;
}

/* Facts about the mesh are in the choice already. */
static void choose_by_rule(const abut_world *world, world_asset *a, const abut_mesh_report *r) {
    const abut_world_method wanted = world->options.method;
    if (a->asked != ABUT_WORLD_AUTO)
        set_choice(a, a->asked, true, "The method is set by the item.");
    else if (wanted == ABUT_WORLD_FIELD && !a->deforms && !a->has_sheets)
        set_choice(a, ABUT_WORLD_FIELD, true, "The world uses only fields.");
    else if (wanted != ABUT_WORLD_AUTO)
        set_choice(a, ABUT_WORLD_EXACT, true,
                   wanted == ABUT_WORLD_EXACT
                       ? "The world uses only exact contacts."
                       : "It has no field: its vertices and edges are tested "
                         "against the fields of other items.");
    else if (a->sheet)
        set_choice(
            a, ABUT_WORLD_MAP, false,
            "It is a sheet without an interior: distances are measured at samples all over its "
            "surface.");
    else if (a->deforms)
        set_choice(a, ABUT_WORLD_EXACT, false,
                   "It deforms: its BVH is refitted in each step, while a field would have to be "
                   "rebuilt.");
    else if (a->has_sheets)
        set_choice(
            a, ABUT_WORLD_EXACT, false,
            "Some of its components are sheets and others are solids: exact contact patches treat "
            "each component separately.");
    else if (r->has_opposite_boundary)
        set_choice(
            a, ABUT_WORLD_EXACT, false,
            "Neighbouring triangles face opposite ways, so that no side is inside; exact contacts "
            "still find intersecting surfaces. See abut_mesh_orient().");
    else if (r->has_boundary)
        set_choice(
            a, ABUT_WORLD_FIELD, false,
            "It has holes but encloses a volume: winding numbers define its interior, and a field "
            "stores their sign.");
    else if (!world->options.device)
        set_choice(a, ABUT_WORLD_EXACT, false,
                   "It is closed and rigid: exact contact patches miss nothing.");
    else if (r->triangle_count < FEW_TRIANGLES)
        set_choice(a, ABUT_WORLD_EXACT, false,
                   "It has so few triangles that exact contact patches take only microseconds.");
    else if (a->choice.thin_fraction > THIN_FRACTION_MAX)
        set_choice(a, ABUT_WORLD_EXACT, false,
                   "Parts of it are thinner than two cells, which a field cannot represent.");
    else
        set_choice(a, ABUT_WORLD_FIELD, false,
                   "It is closed, rigid and thick: the device tests all such pairs at once.");
}

static void set_health(world_asset *a, const abut_mesh_report *report) {
    a->choice.reliability = abut_pair_reliability(report);
    a->choice.hole_fraction = report->hole_fraction;
    a->has_health = true;
}

abut_status abuti_world_asset_examine(world_asset *a) {
    abut_topology *topology = NULL;
    abut_mesh_report report = abut_mesh_report_default();
    if (a->has_health)
        return ABUT_OK;
    abut_status status = abut_topology_create(a->mesh, &topology);
    status = status ? status : abut_mesh_examine(topology, &report);
    abut_topology_destroy(topology);
    if (!status)
        set_health(a, &report);
    return status;
}

static abut_status examine_asset(const abut_world *world, world_asset *a,
                                 abut_mesh_report *report) {
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
    return measure_thin_fraction(a->mesh, 2 * longest_extent(a->mesh) / cells,
                                 &a->choice.thin_fraction);
}

/* ---- creation ---- */

static abut_status create_field(const abut_world *world, world_asset *a) {
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

/* The reach of a map bounds the error of its distances. */
static void set_reach(world_asset *a) {
    abut_map_info info = abut_map_info_default();
    abut_map_get_info(a->map, &info);
    a->choice.cell = info.reach;
}

static abut_status create_map(world_asset *a) {
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

/* Rays must enter and leave a solid at definite points. */
static abut_status check_layers(const abut_mesh_report *r) {
    if (!r->has_opposite_boundary && !r->has_boundary)
        return ABUT_OK;
    return abuti_fail(
        ABUT_ERROR_ARGUMENT,
        r->has_opposite_boundary
            ? "%s: the method layers requires that all triangles of a mesh face the "
              "same way, but this one has flipped neighbours; orient it first, or use "
              "the method exact or map"
            : "%s: the method layers requires a closed mesh, but this one is open; "
              "close it, or use the method exact or map",
        function);
}

static abut_status create_asset(const abut_world *world, world_asset *a) {
    abut_mesh_report report = abut_mesh_report_default();
    abut_status status = examine_asset(world, a, &report);
    if (!status && a->asked == ABUT_WORLD_LAYERS)
        status = check_layers(&report);
    if (status)
        return status;
    choose_by_rule(world, a, &report);
    status = abut_bvh_create(a->mesh, NULL, &a->bvh);
    if (!status && a->choice.method == ABUT_WORLD_FIELD)
        status = create_field(world, a);
    if (!status && a->choice.method == ABUT_WORLD_MAP)
        status = create_map(a);
    return status;
}

static void destroy_asset(abut_context *context, world_asset *a) {
    abut_map_destroy(a->map);
    abut_samples_destroy(a->samples);
    abut_field_destroy(a->field);
    abut_bvh_destroy(a->bvh);
    abut_topology_destroy(a->topology);
    abut_mesh_destroy(a->mesh);
    abut_mesh_destroy(a->given);
    abuti_release(context, a);
}

static abut_status check_mesh_item(const abut_world_item *item) {
    const abut_world_method m = item->method;
    if (!item->collider.shape.mesh.mesh)
        return abuti_null(function, "item->shape.mesh.mesh");
    if (m == ABUT_WORLD_RADIAL)
        return abuti_fail(
            ABUT_ERROR_ARGUMENT,
            "%s: a mesh has no bones for the method radial; create radial fields with "
            "abut_radial_create_mesh() and add a character",
            function);
    if (m == ABUT_WORLD_FIELD && item->collider.shape.mesh.deforms)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: a mesh that deforms would need a new field in each step; use the "
                          "method exact or map",
                          function);
    return ABUT_OK;
}

abut_status abuti_world_asset_acquire(abut_world *world, const abut_world_item *item,
                                      world_asset *mine, world_asset **asset) {
    world_asset **list = world->assets.data;
    const uint32_t resolution = item->collider.shape.mesh.resolution;
    abut_status status = check_mesh_item(item);
    if (status)
        return status;
    for (size_t i = 0; i < world->assets.count; i++)
        if (list[i]->given == item->collider.shape.mesh.mesh && list[i]->asked == item->method &&
            list[i]->resolution == resolution &&
            list[i]->deforms == item->collider.shape.mesh.deforms &&
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
    made->given = abut_mesh_retain((abut_mesh *)(uintptr_t)item->collider.shape.mesh.mesh);
    made->mesh = abut_mesh_retain(made->given);
    made->asked = item->method;
    made->resolution = resolution;
    made->deforms = item->collider.shape.mesh.deforms;
    if ((status = create_asset(world, made))) {
        destroy_asset(world->context, made);
        return status;
    }
    ((world_asset **)world->assets.data)[world->assets.count++] = made;
    *asset = made;
    return ABUT_OK;
}

void abuti_world_asset_release(abut_world *world, world_asset *asset) {
    world_asset **list = world->assets.data;
    if (!asset || --asset->uses)
        return;
    size_t i = 0;
    while (list[i] != asset)
        i++;
    list[i] = list[--world->assets.count];
    destroy_asset(world->context, asset);
}

/* ---- new positions ---- */

abut_status abuti_world_asset_deform(world_asset *a, const abut_vec3 *positions) {
    abut_mesh *old = a->mesh, *mesh = NULL;
    const abut_mesh_input input =
        abut_mesh_input_doubles(positions, old->vertex_count, old->indices, old->triangle_count);
    abut_status status = abut_mesh_create(old->context, &input, &mesh);
    if (!status && (status = abut_bvh_set_mesh(a->bvh, mesh)))
        (void)abut_bvh_set_mesh(a->bvh, old); /* boxes never fail; the rest is created on demand */
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
    if (info.should_rebuild) { /* if memory suffices */
        abut_bvh *made = NULL;
        if (!abut_bvh_create(mesh, NULL, &made)) {
            abut_bvh_destroy(a->bvh);
            a->bvh = made;
        }
    }
    return ABUT_OK;
}
