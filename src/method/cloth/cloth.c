/* The public functions of a cloth except steps, attachments and seams. */
#include "cloth/cloth.h"
#include "device/array.h"
#include "device/device.h"

/* ---- create ---- */

static abut_status check_vector(const char *function, const char *name, vec3 v) {
    if (v3_max_abs(v) <= CLOTH_VALUE_MAX && !isnan(v.x) && !isnan(v.y) && !isnan(v.z))
        return ABUT_OK;
    return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: %s is (%g, %g, %g); each must be from %g to %g",
                      function, name, v.x, v.y, v.z, -CLOTH_VALUE_MAX, CLOTH_VALUE_MAX);
}

abut_status abut_cloth_create(abut_context *context, const abut_cloth_options *options,
                              abut_cloth **cloth) {
    abut_cloth_options o = abut_cloth_options_default();
    if (!cloth)
        return abuti_null(__func__, "cloth");
    abut_status status = abuti_options_read(&o, sizeof o, options, "abut_cloth_options");
    if (!status)
        status = check_vector(__func__, "options->gravity", o.gravity);
    if (!status)
        status = check_vector(__func__, "options->wind", o.wind);
    if (!status)
        status =
            abuti_check_range(__func__, "options->drag", o.drag, 0, CLOTH_VALUE_MAX, "N s/m^3");
    if (!status && o.substeps > ABUT_CLOTH_SUBSTEPS_MAX)
        status =
            abuti_fail(ABUT_ERROR_ARGUMENT, "%s: options->substeps is %u; it must be from 0 to %d",
                       __func__, o.substeps, ABUT_CLOTH_SUBSTEPS_MAX);
    if (!status && o.device)
        status = abuti_device_check_bits(__func__, o.device);
    if (status)
        return status;
    context = abuti_context_of(context);
    abut_cloth *c = abuti_allocate_zeroed(context, 1, sizeof *c);
    if (!c)
        return ABUT_ERROR_MEMORY;
    c->context = abuti_context_retain(context);
    c->options = o;
    c->options.substeps = o.substeps ? o.substeps : 10;
    c->grain = 256; /* vertices per task */
    c->groups[SHEETS].free = c->groups[BODIES].free = ABUT_NONE;
    c->backend = o.device ? &abuti_cloth_on_device : &abuti_cloth_on_cpu;
    status = c->backend->create(c);
    if (status)
        abut_cloth_destroy(c);
    else
        *cloth = c;
    return status;
}

void abut_cloth_destroy(abut_cloth *cloth) {
    abut_cloth *c = cloth;
    if (!c)
        return;
    abut_context *context = c->context;
    abuti_cloth_unprepare(c);
    c->backend->destroy(c);
    abuti_cloth_unbuild(c);
    for (int which = 0; which < 2; which++) {
        for (uint32_t i = 0; i < cloth_count_of(c, which); i++)
            abut_mesh_destroy(cloth_item_of(c, which, i)->mesh);
        abuti_release(context, c->groups[which].items.data);
    }
    ABUTI_RELEASE(context, c->holds.data, c->given.data, c->seams.data, c->impacts.data,
                  c->barriers.data, c->stops.data, c);
    abut_context_destroy(context);
}

/* ---- sheets and bodies ---- */

abut_status abuti_cloth_check(const char *function, const abut_cloth *c, int group,
                              uint32_t index) {
    if (!c)
        return abuti_null(function, "cloth");
    const char *name = group ? "body" : "sheet";
    if (index >= cloth_count_of(c, group))
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: %s is %u; there are %u", function, name, index,
                          cloth_count_of(c, group));
    if (!cloth_item_of(c, group, index)->mesh)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: %s %u was removed", function, name, index);
    return ABUT_OK;
}

static abut_status read_material(const char *function, const abut_cloth_material *given,
                                 abut_cloth_material *m) {
    *m = abut_cloth_material_default();
    abut_status status = abuti_options_read(m, sizeof *m, given, "abut_cloth_material");
    const struct {
        const char *name, *unit;
        double value;
    } values[] = {{"material->stretch", "N/m", m->stretch},
                  {"material->shear", "N/m", m->shear},
                  {"material->bend", "N m", m->bend},
                  {"material->density", "kg/m^2", m->density},
                  {"material->damping", "1/s", m->damping},
                  {"material->pressure", "N/m^2", m->pressure},
                  {"material->thickness", "m", m->thickness},
                  {"material->friction", "(a coefficient)", m->friction}};
    for (size_t i = 0; i < sizeof values / sizeof *values && !status; i++)
        status = abuti_check_range(function, values[i].name, values[i].value, 0, CLOTH_VALUE_MAX,
                                   values[i].unit);
    return status;
}

static void apply_material_defaults(abut_cloth_material *m, double mean_edge) {
    m->stretch = m->stretch > 0 ? m->stretch : 200;
    m->shear = m->shear > 0 ? m->shear : m->stretch;
    m->density = m->density > 0 ? m->density : 0.2;
    m->thickness = m->thickness > 0 ? m->thickness : 0.2 * mean_edge;
}

static abut_status add_item(const char *function, abut_cloth *c, int which, cloth_item *item,
                            uint32_t *index) {
    cloth_group *g = &c->groups[which];
    const abut_mesh *mesh = item->mesh;
    const abuti_motion motion = abuti_motion_of(&item->options.pose);
    for (uint32_t v = 0; v < mesh->vertex_count; v++)
        if (!cloth_is_near(abuti_motion_apply(&motion, abuti_mesh_position(mesh, v))))
            return abuti_fail(ABUT_ERROR_ARGUMENT,
                              "%s: vertex %u of the mesh is beyond %g; coordinates must be smaller",
                              function, v, ABUT_CLOTH_COORDINATE_MAX);
    if (mesh->vertex_count >= ABUT_NONE - c->groups[SHEETS].vertices - c->groups[BODIES].vertices ||
        mesh->triangle_count >= ABUT_NONE / 3 - g->triangles)
        return abuti_fail(ABUT_ERROR_LIMIT, "%s: there are too many vertices or triangles",
                          function);
    if (g->free == ABUT_NONE) {
        cloth_item *made = ABUTI_PUSH(c->context, &g->items, cloth_item);
        if (!made)
            return ABUT_ERROR_MEMORY;
        made->next_free = ABUT_NONE;
        g->free = (uint32_t)g->items.count - 1;
    }
    cloth_item *to = cloth_item_of(c, which, g->free);
    *index = g->free;
    g->free = to->next_free;
    *to = *item;
    to->vertex = to->triangle = ABUT_NONE;
    abut_mesh_retain(item->mesh);
    g->count++;
    g->vertices += mesh->vertex_count;
    g->triangles += mesh->triangle_count;
    c->is_built = c->is_checked = false;
    return ABUT_OK;
}

static abut_status remove_item(const char *function, abut_cloth *c, int which, uint32_t index) {
    abut_status status = abuti_cloth_check(function, c, which, index);
    if (status)
        return status;
    cloth_group *g = &c->groups[which];
    cloth_item *item = cloth_item_of(c, which, index);
    abuti_cloth_drop_holds(c, which, item);
    if (which == SHEETS)
        abuti_cloth_drop_seams(c, item);
    g->count--;
    g->vertices -= item->mesh->vertex_count;
    g->triangles -= item->mesh->triangle_count;
    abut_mesh_destroy(item->mesh);
    *item = (cloth_item){.next_free = g->free};
    g->free = index;
    c->is_built = false;
    return ABUT_OK;
}

abut_status abut_cloth_add_sheet(abut_cloth *cloth, abut_mesh *mesh,
                                 const abut_cloth_material *material, uint32_t *sheet) {
    if (!cloth || !mesh || !sheet)
        return abuti_null(__func__, !cloth ? "cloth" : !mesh ? "mesh" : "sheet");
    cloth_item item = {.mesh = mesh, .mean_edge = abuti_cloth_mean_edge(mesh)};
    abut_status status = read_material(__func__, material, &item.material);
    if (status)
        return status;
    if (!(item.mean_edge > 0))
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: all vertices of the mesh are at one point",
                          __func__);
    apply_material_defaults(&item.material, item.mean_edge);
    return add_item(__func__, cloth, SHEETS, &item, sheet);
}

abut_status abut_cloth_add_body(abut_cloth *cloth, abut_mesh *mesh,
                                const abut_cloth_body_options *options, uint32_t *body) {
    if (!cloth || !mesh || !body)
        return abuti_null(__func__, !cloth ? "cloth" : !mesh ? "mesh" : "body");
    cloth_item item = {.mesh = mesh, .options = abut_cloth_body_options_default()};
    abut_status status =
        abuti_options_read(&item.options, sizeof item.options, options, "abut_cloth_body_options");
    if (!status)
        status = abuti_pose_check(__func__, "options->pose", &item.options.pose);
    if (!status)
        status = abuti_check_range(__func__, "options->friction", item.options.friction, 0,
                                   CLOTH_VALUE_MAX, "(a coefficient)");
    if (status)
        return status;
    return add_item(__func__, cloth, BODIES, &item, body);
}

abut_status abut_cloth_remove_sheet(abut_cloth *cloth, uint32_t sheet) {
    return remove_item(__func__, cloth, SHEETS, sheet);
}

abut_status abut_cloth_remove_body(abut_cloth *cloth, uint32_t body) {
    return remove_item(__func__, cloth, BODIES, body);
}

/* ---- information ---- */

abut_reliability abuti_cloth_guarantee(const abut_cloth *c) {
    if (c->radial)
        return abuti_unreliable("Only vertices are kept out of radial fields, and nothing is "
                                "swept: cloth may pass through bodies and itself.");
    if (c->options.ignore_self)
        return abuti_limited("Sheets do not pass through bodies, but may pass through themselves "
                             "and each other.");
    return abuti_guaranteed("A step that begins without intersections ends without them.");
}

abut_status abut_cloth_get_info(const abut_cloth *cloth, abut_cloth_info *info) {
    if (!cloth || !info)
        return abuti_null(__func__, cloth ? "info" : "cloth");
    abut_cloth_info found = abut_cloth_info_default();
    found.sheet_count = cloth->groups[SHEETS].count;
    found.body_count = cloth->groups[BODIES].count;
    found.vertex_count = cloth->groups[SHEETS].vertices;
    found.triangle_count = cloth->groups[SHEETS].triangles;
    found.body_vertex_count = cloth->groups[BODIES].vertices;
    found.body_triangle_count = cloth->groups[BODIES].triangles;
    found.attachment_count = (uint32_t)cloth->holds.count;
    found.guarantee = abuti_cloth_guarantee(cloth);
    found.seam_count = (uint32_t)cloth->seams.count;
    return abuti_info_write(info, &found, sizeof found, __func__);
}

abut_status abut_cloth_get_material(const abut_cloth *cloth, uint32_t sheet,
                                    abut_cloth_material *material) {
    abut_status status = abuti_cloth_check(__func__, cloth, SHEETS, sheet);
    if (status)
        return status;
    if (!material)
        return abuti_null(__func__, "material");
    return abuti_info_write(material, &cloth_item_of(cloth, SHEETS, sheet)->material,
                            sizeof *material, __func__);
}

/* ---- input of a step ---- */

abut_status abut_cloth_set_wind(abut_cloth *cloth, abut_vec3 wind) {
    if (!cloth)
        return abuti_null(__func__, "cloth");
    abut_status status = check_vector(__func__, "wind", wind);
    if (!status)
        cloth->options.wind = wind;
    return status;
}

static abut_status check_buffer(const char *function, const char *name, const abut_cloth *c,
                                abut_array array, uint32_t count) {
    if (!c->options.device)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: %s is on a device, but the cloth is on the CPU; set "
                          "options->device",
                          function, name);
    return abuti_buffer_check(array.buffer, function, name, c->options.device, count, sizeof(vec3));
}

abut_status abuti_cloth_read(const char *function, const char *name, abut_cloth *c,
                             abut_array array, uint32_t count, const vec3 **positions,
                             vec3 **copy) {
    void *made = NULL;
    if (count && !array.host && !array.buffer)
        return abuti_null(function, name);
    abut_status status = abuti_array_convert(function, name, c->context, &array, count, 3, &made);
    if (!status && array.buffer) {
        status = check_buffer(function, name, c, array, count);
        made = status ? NULL : abuti_allocate(c->context, count, sizeof(vec3));
        if (!status)
            status = made ? abut_buffer_read(array.buffer, 0, made, count * sizeof(vec3))
                          : ABUT_ERROR_MEMORY;
        array.host = made;
    }
    const vec3 *list = array.host;
    for (uint32_t i = 0; i < count && !status; i++)
        if (!cloth_is_near(list[i]))
            status = abuti_fail(ABUT_ERROR_ARGUMENT, "%s: %s[%u] is not finite or beyond %g",
                                function, name, i, ABUT_CLOTH_COORDINATE_MAX);
    if (status)
        abuti_release(c->context, made);
    *positions = status ? NULL : list;
    *copy = status ? NULL : made;
    return status;
}

/* Positions on a device stay there if nothing on the host needs them. */
abut_status abut_cloth_set_body_positions(abut_cloth *cloth, uint32_t body, abut_array positions) {
    abut_cloth *c = cloth;
    const vec3 *list;
    vec3 *copy;
    abut_status status = abuti_cloth_check(__func__, c, BODIES, body);
    if (!status)
        status = abuti_cloth_build(c);
    if (status)
        return status;
    const cloth_item *item = cloth_item_of(c, BODIES, body);
    const uint32_t count = item->mesh->vertex_count;
    const bool on_device = c->is_prepared && c->backend->set_targets && c->radial;
    if (positions.buffer && on_device) {
        status = abuti_array_check_plain(__func__, "positions", positions);
        if (!status)
            status = check_buffer(__func__, "positions", c, positions, count);
        if (!status)
            status = c->backend->set_targets(c, item->vertex, count, positions);
        return status;
    }
    status = abuti_cloth_read(__func__, "positions", c, positions, count, &list, &copy);
    if (!status && on_device)
        status = c->backend->set_targets(c, item->vertex, count, abut_array_host(list));
    if (!status)
        memcpy(c->target + item->vertex, list, count * sizeof *list);
    abuti_release(c->context, copy);
    return status;
}

abut_status abut_cloth_set_body_pose(abut_cloth *cloth, uint32_t body, abut_pose at) {
    abut_status status = abuti_cloth_check(__func__, cloth, BODIES, body);
    if (!status)
        status = abuti_pose_check(__func__, "pose", &at);
    if (status)
        return status;
    const abut_mesh *mesh = cloth_item_of(cloth, BODIES, body)->mesh;
    const abuti_motion motion = abuti_motion_of(&at);
    vec3 *list = abuti_allocate(cloth->context, mesh->vertex_count, sizeof *list);
    if (!list)
        return ABUT_ERROR_MEMORY;
    for (uint32_t v = 0; v < mesh->vertex_count; v++)
        list[v] = abuti_motion_apply(&motion, abuti_mesh_position(mesh, v));
    status = abut_cloth_set_body_positions(cloth, body, abut_array_host(list));
    abuti_release(cloth->context, list);
    return status;
}

/* ---- state ---- */

typedef enum cloth_state { POSITIONS, VELOCITIES, AIMS } cloth_state;

static abut_status get_state(const char *function, const char *name, abut_cloth *c, int which,
                             uint32_t index, cloth_state state, abut_array to) {
    abut_status status = abuti_cloth_check(function, c, which, index);
    if (!status && !to.host && !to.buffer)
        status = abuti_null(function, name);
    if (!status)
        status = abuti_array_check_plain(function, name, to);
    if (!status)
        status = abuti_cloth_build(c);
    if (status)
        return status;
    const uint32_t first = cloth_first_of(c, which, index),
                   count = cloth_item_of(c, which, index)->mesh->vertex_count;
    if (to.buffer && (status = check_buffer(function, name, c, to, count)))
        return status;
    if (to.buffer && state == POSITIONS && c->is_prepared)
        return c->backend->copy(c, first, count, to.buffer);
    status = cloth_fetch(c);
    if (status)
        return status;
    const vec3 *from = (state == POSITIONS ? c->position
                        : state == AIMS    ? c->aim
                                           : c->velocity) +
                       first;
    if (to.buffer)
        return abut_buffer_write(to.buffer, 0, from, count * sizeof *from);
    memcpy(to.host, from, count * sizeof *from);
    return ABUT_OK;
}

abut_status abut_cloth_get_positions(abut_cloth *cloth, uint32_t sheet, abut_array positions) {
    return get_state(__func__, "positions", cloth, SHEETS, sheet, POSITIONS, positions);
}

abut_status abut_cloth_get_velocities(abut_cloth *cloth, uint32_t sheet, abut_array velocities) {
    return get_state(__func__, "velocities", cloth, SHEETS, sheet, VELOCITIES, velocities);
}

abut_status abut_cloth_get_aims(abut_cloth *cloth, uint32_t sheet, abut_array aims) {
    return get_state(__func__, "aims", cloth, SHEETS, sheet, AIMS, aims);
}

abut_status abut_cloth_get_body_positions(abut_cloth *cloth, uint32_t body, abut_array positions) {
    return get_state(__func__, "positions", cloth, BODIES, body, POSITIONS, positions);
}

static abut_status create_mesh(const char *function, abut_cloth *c, int which, uint32_t index,
                               abut_mesh **mesh) {
    abut_status status = abuti_cloth_check(function, c, which, index);
    if (!status && !mesh)
        status = abuti_null(function, "mesh");
    if (!status)
        status = cloth_open(c);
    if (status)
        return status;
    const abut_mesh *like = cloth_item_of(c, which, index)->mesh;
    const abut_mesh_input input =
        abut_mesh_input_doubles(c->position + cloth_first_of(c, which, index), like->vertex_count,
                                like->indices, like->triangle_count);
    return abut_mesh_create(c->context, &input, mesh);
}

abut_status abut_cloth_create_mesh(abut_cloth *cloth, uint32_t sheet, abut_mesh **mesh) {
    return create_mesh(__func__, cloth, SHEETS, sheet, mesh);
}

abut_status abut_cloth_create_body_mesh(abut_cloth *cloth, uint32_t body, abut_mesh **mesh) {
    return create_mesh(__func__, cloth, BODIES, body, mesh);
}

abut_status abut_cloth_get_energy(abut_cloth *cloth, abut_cloth_energy *energy) {
    abut_cloth *c = cloth;
    if (!c || !energy)
        return abuti_null(__func__, c ? "energy" : "cloth");
    abut_status status = abuti_info_check(energy, sizeof *energy, __func__);
    if (!status)
        status = cloth_open(c);
    if (status)
        return status;
    abut_cloth_energy e = abut_cloth_energy_default();
    const vec3 *x = c->position;
    for (uint32_t i = 0; i < c->vertices; i++) {
        if (!(c->inverse_mass[i] > 0))
            continue;
        e.kinetic += 0.5 * c->mass[i] * v3_dot(c->velocity[i], c->velocity[i]);
        e.gravity -= c->mass[i] * v3_dot(c->options.gravity, x[i]);
    }
    for (uint32_t i = 0; i < c->edge_count; i++) {
        const cloth_edge *edge = &c->edges[i];
        double off = cloth_length(v3_sub(x[edge->vertex[1]], x[edge->vertex[0]])) - edge->rest;
        e.elastic += 0.5 * off * off / edge->compliance;
    }
    for (uint32_t i = 0; i < c->hinge_count; i++) {
        double off = abuti_cloth_bend(&c->hinges[i], x) - c->hinges[i].rest;
        e.elastic += 0.5 * off * off / c->hinges[i].compliance;
    }
    for (size_t i = 0; i < c->seams.count; i++) {
        const cloth_seam *seam = &ABUTI_AT(&c->seams, cloth_seam, i);
        double off = cloth_length(v3_sub(x[seam->of[1]], x[seam->of[0]])) - seam->rest;
        if (seam->compliance > 0)
            e.elastic += 0.5 * off * off / seam->compliance;
    }
    return abuti_info_write(energy, &e, sizeof e, __func__);
}
