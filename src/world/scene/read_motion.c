/* The reader of scenes: mass, velocity, cloth and its pins, and the air. */
#include "base/math_shared.h"
#include "scene/read.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef ABUT_HAS_GLTF

#define NUMBER_MAX 1e30          /* of masses, densities and properties of cloth */
#define PINNED_VERTICES 16777216 /* of all sheets with pins, since each is searched */
#define GARMENT_STIFFNESS 50     /* N/m, of springs that hold a garment */

/* Three numbers, each of magnitude up to SPEED_MAX. */
static abut_status read_vector(scene_reader *r, const member *m, abut_vec3 *to) {
    double n[3];
    abut_status status = abuti_scene_list(r, m, 3, n);
    for (int k = 0; k < 3 && !status; k++)
        if (!(n[k] >= -SPEED_MAX && n[k] <= SPEED_MAX))
            status = abuti_scene_fail(r, "'%s' has the number %g; it must be from %g to %g",
                                      m->name, n[k], -SPEED_MAX, SPEED_MAX);
    if (!status)
        *to = (abut_vec3){n[0], n[1], n[2]};
    return status;
}

abut_status abuti_scene_read_air(scene_reader *r, const member *m) {
    enum { UP, GRAVITY, WIND, DRAG };
    abut_scene *scene = r->scene;
    char word[100] = "z";
    if (m[UP].at)
        abuti_scene_word(r, m[UP].at, word);
    if (strcmp(word, "y") != 0 && strcmp(word, "z") != 0)
        return abuti_scene_fail(r, "'up' is '%s'; it must be y or z", word);
    scene->up = word[0] == 'y' ? (abut_vec3){0, 1, 0} : (abut_vec3){0, 0, 1};
    scene->gravity = v3_scale(scene->up, -9.81);
    scene->drag = 0.3;
    abut_status status = m[GRAVITY].at ? read_vector(r, &m[GRAVITY], &scene->gravity) : ABUT_OK;
    if (!status && m[WIND].at)
        status = read_vector(r, &m[WIND], &scene->wind);
    if (!status && m[DRAG].at)
        status = abuti_scene_range(r, &m[DRAG], 0, SPEED_MAX, &scene->drag);
    return status;
}

/* ---- rigid bodies ---- */

static abut_status read_mass(scene_reader *r, const member *m, scene_mesh *from,
                             abut_scene_body *body) {
    const member *given = m[MOTION_MASS].at ? &m[MOTION_MASS] : &m[MOTION_DENSITY];
    double value = 0;
    if (!given->at)
        return ABUT_OK;
    if (m[MOTION_MASS].at && m[MOTION_DENSITY].at)
        return abuti_scene_fail(r, "give 'mass' or 'density', not both");
    if (from->character || body->collider.kind == ABUT_COLLIDER_PLANE)
        return abuti_scene_fail(r, "'%s' is not allowed for %s, which no force moves", given->name,
                                from->character ? "characters" : "a plane");
    if (m[MOTION_CLOTH].at)
        return abuti_scene_fail(r, "'%s' is not allowed for cloth; 'cloth' has a 'density'",
                                given->name);
    abut_status status = abuti_scene_positive(r, given, &value);
    if (!status)
        status = abuti_scene_range(r, given, 0, NUMBER_MAX, &value);
    if (!status)
        status = abuti_scene_mass(from);
    if (status)
        return status;
    if (!(from->volume > 0))
        return abuti_scene_fail(r, "'%s' needs a closed mesh whose faces all point outwards",
                                given->name);
    const double density = m[MOTION_MASS].at ? value / from->volume : value;
    body->mass = density * from->volume;
    body->centre = from->centre;
    for (int k = 0; k < 6; k++)
        body->inertia[k] = density * from->inertia[k];
    return body->mass > 0 && body->mass <= NUMBER_MAX
               ? ABUT_OK
               : abuti_scene_fail(r, "the mass is %g kg; it must be above 0 and at most %g",
                                  body->mass, NUMBER_MAX);
}

/* ---- cloth ---- */

static abut_status read_cloth(scene_reader *r, const member *cloth, abut_scene_body *body) {
    enum { ABOUT, STRETCH, SHEAR, BEND, DENSITY, DAMPING, PRESSURE, THICKNESS, FRICTION, MEMBERS };
    member m[MEMBERS] = {
        [ABOUT] = MEMBER("about", TEXT),         [STRETCH] = MEMBER("stretch", NUMBER),
        [SHEAR] = MEMBER("shear", NUMBER),       [BEND] = MEMBER("bend", NUMBER),
        [DENSITY] = MEMBER("density", NUMBER),   [DAMPING] = MEMBER("damping", NUMBER),
        [PRESSURE] = MEMBER("pressure", NUMBER), [THICKNESS] = MEMBER("thickness", NUMBER),
        [FRICTION] = MEMBER("friction", NUMBER)};
    abut_cloth_material *made = abuti_allocate(r->context, 1, sizeof *made);
    if (!made)
        return ABUT_ERROR_MEMORY;
    *made = abut_cloth_material_default();
    body->cloth = made; /* released with the scene */
    double *const to[MEMBERS] = {
        [STRETCH] = &made->stretch,     [SHEAR] = &made->shear,      [BEND] = &made->bend,
        [DENSITY] = &made->density,     [DAMPING] = &made->damping,  [PRESSURE] = &made->pressure,
        [THICKNESS] = &made->thickness, [FRICTION] = &made->friction};
    abut_status status = abuti_scene_members(r, cloth->at, m, MEMBERS);
    for (int i = STRETCH; i < MEMBERS && !status; i++)
        if (m[i].at)
            status =
                abuti_scene_range(r, &m[i], i == PRESSURE ? -NUMBER_MAX : 0, NUMBER_MAX, to[i]);
    return status;
}

/* ---- pins ---- */

static int compare_indices(const void *a, const void *b) {
    const uint32_t *p = a, *q = b;
    return (*p > *q) - (*p < *q);
}

/* A list of indices of vertices. */
static abut_status read_indices(scene_reader *r, const char *name, uint32_t list, uint32_t limit,
                                uint32_t *to, uint32_t *count) {
    const uint32_t end = value_at(r, list)->next;
    if (value_at(r, list)->is.count > limit)
        return abuti_scene_fail(r, "'%s' has more entries than the mesh has vertices", name);
    for (uint32_t i = list + 1; i < end; i = value_at(r, i)->next) {
        const abuti_json_value *value = value_at(r, i);
        const double n = value->kind == ABUTI_JSON_NUMBER ? value->is.number : -1;
        if (!(n >= 0 && n < limit && n == floor(n)))
            return abuti_scene_fail(r, "'%s' must be a list of indices of vertices, from 0 to %u%s",
                                    name, limit - 1,
                                    strcmp(name, "pins") == 0
                                        ? ", or an object with 'vertices' or 'box'"
                                        : "");
        to[(*count)++] = (uint32_t)n;
    }
    if (*count)
        qsort(to, *count, sizeof *to, compare_indices);
    for (uint32_t i = 1; i < *count; i++)
        if (to[i] == to[i - 1])
            return abuti_scene_fail(r, "'%s' has the vertex %u twice", name, to[i]);
    return ABUT_OK;
}

abut_status abuti_scene_find_in_box(scene_reader *r, const member *box, const abut_mesh *mesh,
                                    uint32_t *to, uint32_t *count) {
    abut_vec3 low = {0, 0, 0}, high = low;
    const uint32_t first = box->at + 1;
    if (value_at(r, box->at)->is.count != 2 || value_at(r, first)->kind != ABUTI_JSON_LIST ||
        value_at(r, value_at(r, first)->next)->kind != ABUTI_JSON_LIST)
        return abuti_scene_fail(r, "'%s' must be a list of two corners, each of 3 numbers",
                                box->name);
    const member corners[2] = {{.name = box->name, .at = first},
                               {.name = box->name, .at = value_at(r, first)->next}};
    abut_status status = read_vector(r, &corners[0], &low);
    if (!status)
        status = read_vector(r, &corners[1], &high);
    const abut_vec3 origin = abut_mesh_local_origin(mesh),
                    *positions = abut_mesh_local_positions(mesh);
    const abut_vec3 a = low;
    low = v3_min(a, high); /* any two opposite corners */
    high = v3_max(a, high);
    const abut_vec3 corner = low; /* the corners may be any two opposite ones */
    low = (abut_vec3){fmin(corner.x, high.x), fmin(corner.y, high.y), fmin(corner.z, high.z)};
    high = (abut_vec3){fmax(corner.x, high.x), fmax(corner.y, high.y), fmax(corner.z, high.z)};
    for (uint32_t i = 0; i < abut_mesh_vertex_count(mesh) && !status; i++) {
        const abut_vec3 p = v3_add(origin, positions[i]);
        if (p.x >= low.x && p.y >= low.y && p.z >= low.z && p.x <= high.x && p.y <= high.y &&
            p.z <= high.z)
            to[(*count)++] = i;
    }
    return status || *count ? status
                            : abuti_scene_fail(r, "'%s' contains no vertex of the mesh", box->name);
}

static abut_status read_pin_object(scene_reader *r, const member *pins, const abut_mesh *mesh,
                                   uint32_t *list, uint32_t index) {
    enum { VERTICES, BOX, TO, STIFFNESS, MEMBERS };
    abut_scene_body *body = &r->scene->bodies[index];
    member m[MEMBERS] = {[VERTICES] = MEMBER("vertices", LIST),
                         [BOX] = MEMBER("box", LIST),
                         [TO] = MEMBER("to", TEXT),
                         [STIFFNESS] = MEMBER("stiffness", NUMBER)};
    abut_status status = abuti_scene_members(r, pins->at, m, MEMBERS);
    if (!status && !m[VERTICES].at == !m[BOX].at)
        status = abuti_scene_fail(r, "'pins' needs either 'vertices' or 'box'");
    if (!status && m[STIFFNESS].at)
        status = abuti_scene_range(r, &m[STIFFNESS], 0, NUMBER_MAX, &body->pin_stiffness);
    if (!status && m[VERTICES].at)
        status = read_indices(r, "vertices", m[VERTICES].at, abut_mesh_vertex_count(mesh), list,
                              &body->pin_count);
    else if (!status)
        status = abuti_scene_find_in_box(r, &m[BOX], mesh, list, &body->pin_count);
    if (status || !m[TO].at)
        return status;
    body_value *target;
    status = abuti_grow(r->context, &r->targets, r->target_count, r->target_count + 1,
                        sizeof *r->targets, &r->target_room);
    if (status)
        return status;
    target = &r->targets[r->target_count++];
    *target = (body_value){index, m[TO].at};
    return ABUT_OK;
}

static abut_status read_pins(scene_reader *r, const member *pins, const abut_mesh *mesh,
                             uint32_t index) {
    abut_scene_body *body = &r->scene->bodies[index];
    const abuti_json_value *value = value_at(r, pins->at);
    const uint32_t vertices = abut_mesh_vertex_count(mesh);
    r->pinned_vertices += vertices;
    if (r->pinned_vertices > PINNED_VERTICES)
        return abuti_fail(ABUT_ERROR_LIMIT,
                          "%s: %s: the sheets with pins have more than %d vertices in all", r->name,
                          r->place, PINNED_VERTICES);
    uint32_t *list = abuti_allocate(r->context, vertices, sizeof *list);
    if (!list)
        return ABUT_ERROR_MEMORY;
    body->pins = list; /* released with the scene */
    return value->kind == ABUTI_JSON_LIST
               ? read_indices(r, "pins", pins->at, vertices, list, &body->pin_count)
               : read_pin_object(r, pins, mesh, list, index);
}

static abut_status copy_garment_pins(scene_reader *r, const scene_mesh *from,
                                     abut_scene_body *body) {
    uint32_t *list = abuti_allocate(r->context, from->pin_count, sizeof *list);
    if (!list)
        return ABUT_ERROR_MEMORY;
    if (from->pin_count)
        memcpy(list, from->pins, from->pin_count * sizeof *list);
    body->pins = list;
    body->pin_count = from->pin_count;
    body->pin_body = from->wearer;
    body->pin_stiffness = GARMENT_STIFFNESS;
    return ABUT_OK;
}

abut_status abuti_scene_find_targets(scene_reader *r) {
    for (size_t i = 0; i < r->target_count; i++) {
        const body_value *target = &r->targets[i];
        const name_entry *entry = abuti_scene_find_name(r, target->at);
        char word[100];
        snprintf(r->place, sizeof r->place, "bodies[%u]", target->body);
        abuti_scene_word(r, target->at, word);
        if (!entry || entry->group)
            return abuti_scene_fail(r, "'to': there is no body '%s'", word);
        if (r->scene->bodies[entry->index].cloth)
            return abuti_scene_fail(r, "'to': '%s' is cloth, which cannot hold pins", word);
        r->scene->bodies[target->body].pin_body = entry->index;
    }
    return ABUT_OK;
}

/* ---- all members ---- */

static abut_status read_sheet(scene_reader *r, const member *m, const scene_mesh *from,
                              uint32_t index) {
    abut_scene_body *body = &r->scene->bodies[index];
    if (from->character || body->collider.kind != ABUT_COLLIDER_MESH)
        return abuti_scene_fail(r, "'cloth' is not allowed for %s",
                                from->character ? "characters" : "a 'solid'");
    for (int i = MOTION_VELOCITY; i <= MOTION_SELF; i++)
        if (m[i].at)
            return abuti_scene_fail(r, "'%s' is not allowed for cloth", m[i].name);
    if (m[MOTION_PINS].at && from->pins)
        return abuti_scene_fail(r, "'pins' is not allowed for a garment, which has its own");
    abut_status status = read_cloth(r, &m[MOTION_CLOTH], body);
    if (!status && m[MOTION_PINS].at)
        status = read_pins(r, &m[MOTION_PINS], from->mesh, index);
    else if (!status && from->wearer != ABUT_NONE)
        status = copy_garment_pins(r, from, body);
    if (status || !m[MOTION_SEAMS].at)
        return status;
    status = abuti_grow(r->context, &r->seams, r->seam_count, r->seam_count + 1, sizeof *r->seams,
                        &r->seam_room);
    if (!status)
        r->seams[r->seam_count++] = (body_value){index, m[MOTION_SEAMS].at};
    return status;
}

abut_status abuti_scene_read_motion(scene_reader *r, const member *m, scene_mesh *from,
                                    uint32_t index) {
    abut_scene_body *body = &r->scene->bodies[index];
    body->friction = 0.5;
    abut_status status = read_mass(r, m, from, body);
    if (status)
        return status;
    if (m[MOTION_CLOTH].at)
        return read_sheet(r, m, from, index);
    for (int i = MOTION_PINS; i <= MOTION_SEAMS; i++)
        if (m[i].at)
            return abuti_scene_fail(r, "'%s' is only allowed with 'cloth'", m[i].name);
    if (from->wearer != ABUT_NONE)
        return abuti_scene_fail(r, "a garment must be 'cloth'");
    if (m[MOTION_SELF].at && !from->character)
        return abuti_scene_fail(r, "'self' is only allowed for characters");
    if (body->collider.kind == ABUT_COLLIDER_PLANE && (m[MOTION_VELOCITY].at || m[MOTION_SPIN].at))
        return abuti_scene_fail(r, "a plane does not move: it has no 'velocity' and no 'spin'");
    body->self_collides = m[MOTION_SELF].at && value_at(r, m[MOTION_SELF].at)->is.number != 0;
    if (m[MOTION_VELOCITY].at)
        status = read_vector(r, &m[MOTION_VELOCITY], &body->velocity);
    if (!status && m[MOTION_SPIN].at)
        status = read_vector(r, &m[MOTION_SPIN], &body->spin);
    if (!status && m[MOTION_FRICTION].at)
        status = abuti_scene_range(r, &m[MOTION_FRICTION], 0, SPEED_MAX, &body->friction);
    if (!status && m[MOTION_BOUNCE].at)
        status = abuti_scene_range(r, &m[MOTION_BOUNCE], 0, 1, &body->bounce);
    return status;
}

#endif
