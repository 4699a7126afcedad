/* The world of `abut simulate`: bodies of a scene as items, characters at their times, pins, seams,
 * and steps. */
#include "apps/get.h"
#include "simulate.h"

#include <string.h>

#define STEPS_PER_SECOND 600 /* of the solver of cloth, for sheets of up to COARSE triangles */
#define COARSE 6000.0
#define MARGIN 0.01 /* of contacts, relative to the smallest rigid body */

uint32_t sim_vertex_count(const sim_body *body) {
    return abut_mesh_vertex_count(body->scene->mesh);
}

/* ---- characters ---- */

static double as_float(double x) {
    return (double)(float)x;
}

static abut_vec3 round_point(abut_vec3 p) {
    return (abut_vec3){as_float(p.x), as_float(p.y), as_float(p.z)};
}

/* Bones and vertices at a time, in the coordinates of the world. Vertices are floats, as those of
 * cloth. */
static abut_status pose_character(const simulation *s, uint32_t index, double time) {
    sim_body *body = &s->bodies[index];
    abut_vec3 *swapped = body->previous;
    abut_status status =
        abut_scene_pose_body(s->assembly.scene, index, time, &body->pose, body->bones);
    if (status)
        return status;
    const uint32_t count = sim_vertex_count(body),
                   bones = get_character_info(body->scene->character).bone_count;
    const abut_pose turn = {body->pose.rotation, {0, 0, 0}};
    body->previous = body->positions;
    body->positions = swapped;
    status = abut_character_skin(body->scene->character, body->bones,
                                 ABUT_CHARACTER_SKINNING_LINEAR, body->positions);
    for (uint32_t i = 0; i < count && !status; i++) {
        status = abut_pose_apply(&body->pose, body->positions[i], &body->positions[i]);
        body->positions[i] = round_point(body->positions[i]);
    }
    for (uint32_t i = 0; i < bones && !status; i++)
        for (int column = 0; column < 4 && !status; column++) {
            const abut_character_matrix *m = &body->bones[i];
            abut_vec3 v = {m->m[0][column], m->m[1][column], m->m[2][column]};
            status = abut_pose_apply(column == 3 ? &body->pose : &turn, v, &v);
            body->posed[i].m[0][column] = v.x;
            body->posed[i].m[1][column] = v.y;
            body->posed[i].m[2][column] = v.z;
        }
    return status;
}

static void create_character(simulation *s, uint32_t index, bool is_exact) {
    sim_body *body = &s->bodies[index];
    const abut_mesh *mesh = body->scene->mesh;
    const uint32_t count = sim_vertex_count(body),
                   bones = get_character_info(body->scene->character).bone_count;
    body->bones = tool_array((size_t)bones + 1, sizeof *body->bones);
    body->posed = tool_array((size_t)bones + 1, sizeof *body->posed);
    body->positions = tool_array((size_t)count + 1, sizeof *body->positions);
    body->previous = tool_array((size_t)count + 1, sizeof *body->previous);
    ensure(pose_character(s, index, 0));
    memcpy(body->previous, body->positions, count * sizeof *body->previous);
    if (is_exact) {
        body->mesh = mesh_new(s->tool, body->positions, count, abut_mesh_indices(mesh),
                              abut_mesh_triangle_count(mesh));
        return;
    }
    ensure(abut_radial_create(body->scene->character, NULL, &body->radial));
    ensure(abut_radial_set_positions(body->radial, body->posed, abut_array_host(body->positions)));
}

static abut_status set_character(const simulation *s, uint32_t index) {
    const sim_body *body = &s->bodies[index];
    return abut_world_set_positions(s->world, index, body->radial ? body->posed : NULL,
                                    abut_array_host(body->positions));
}

/* ---- items ---- */

/* Whether a body that no force moves stays as it is. */
static bool is_still(const abut_scene_body *body) {
    const abut_vec3 v = body->velocity, w = body->spin;
    return v.x == 0 && v.y == 0 && v.z == 0 && w.x == 0 && w.y == 0 && w.z == 0 &&
           body->clip == ABUT_NONE;
}

static sim_kind kind_of(const abut_scene_body *body) {
    return body->cloth       ? SIM_SHEET
           : body->character ? SIM_CHARACTER
           : body->mass > 0  ? SIM_RIGID
           : is_still(body)  ? SIM_STATIC
                             : SIM_KINEMATIC;
}

static void count_bodies(simulation *s) {
    double least = HUGE_VAL;
    s->body_count = s->assembly.count;
    s->bodies = tool_array((size_t)s->body_count + 1, sizeof *s->bodies);
    s->ids = tool_array((size_t)s->body_count + 1, sizeof *s->ids);
    s->ends = tool_array((size_t)s->body_count + 1, sizeof *s->ends);
    for (uint32_t i = 0; i < s->body_count; i++) {
        const abut_scene_body *from = &s->assembly.bodies[i];
        const abut_box box = abut_mesh_bounds(from->mesh);
        s->bodies[i] = (sim_body){.kind = kind_of(from),
                                  .scene = from,
                                  .pose = from->collider.pose,
                                  .rigid = ABUT_NONE};
        s->rigid_count += s->bodies[i].kind == SIM_RIGID;
        s->character_count += s->bodies[i].kind == SIM_CHARACTER;
        s->sheet_count += s->bodies[i].kind == SIM_SHEET;
        if (s->bodies[i].kind == SIM_RIGID)
            least = fmin(least, box_longest(&box));
    }
    s->margin = s->rigid_count ? MARGIN * least : 0;
}

static void create_world(simulation *s, abut_device *device) {
    abut_world_options options = abut_world_options_default();
    abut_cloth_options cloth = abut_cloth_options_default();
    double triangles = 1;
    for (uint32_t i = 0; i < s->body_count; i++)
        if (s->bodies[i].kind == SIM_SHEET)
            triangles = fmax(triangles, abut_mesh_triangle_count(s->bodies[i].scene->mesh));
    const double rate = STEPS_PER_SECOND * fmin(fmax(sqrt(triangles / COARSE), 1), 4);
    cloth.gravity = s->scene.gravity;
    cloth.wind = s->scene.wind;
    cloth.drag = s->scene.drag;
    cloth.substeps = (uint32_t)fmin(fmax(ceil(rate * s->step - 1e-9), 5), ABUT_CLOTH_SUBSTEPS_MAX);
    cloth.body_may_lag = true;
    options.cloth = &cloth;
    options.device = device;
    options.margin = s->margin;
    ensure(abut_world_create(s->tool->context, &options, &s->world));
}

/* Adds the name of the body to an error of the library. */
static void ensure_body(simulation *s, uint32_t index, abut_status status) {
    tool_text name = {0};
    if (!status)
        return;
    assembly_name(&s->assembly, index, &name);
    text_print(&name, ": %s", tool_error_message(abut_last_error()));
    ensure(abut_set_error(status, name.data));
}

static void add_item(simulation *s, uint32_t index) {
    static const abut_world_motion motions[] = {[SIM_STATIC] = ABUT_WORLD_STATIC,
                                                [SIM_KINEMATIC] = ABUT_WORLD_KINEMATIC,
                                                [SIM_CHARACTER] = ABUT_WORLD_KINEMATIC,
                                                [SIM_RIGID] = ABUT_WORLD_DYNAMIC,
                                                [SIM_SHEET] = ABUT_WORLD_DYNAMIC};
    sim_body *body = &s->bodies[index];
    const abut_scene_body *from = body->scene;
    abut_world_item item = abut_world_item_default();
    uint32_t id;
    item.collider = from->collider;
    item.motion = motions[body->kind];
    item.group = from->group;
    item.mask = from->mask;
    item.margin = from->margin;
    item.cloth = from->cloth;
    item.self_collides = from->self_collides;
    if (from->method && from->collider.kind == ABUT_COLLIDER_MESH)
        method_named(from->method, &item.method);
    if (body->kind == SIM_CHARACTER) {
        const bool is_exact = item.method != ABUT_WORLD_RADIAL; /* sweeps know surfaces only */
        create_character(s, index, is_exact);
        if (is_exact) {
            item.collider = abut_collider_from_mesh(body->mesh, abut_pose_identity());
            item.collider.shape.mesh.deforms = true;
        } else {
            item.method = ABUT_WORLD_AUTO;
            item.collider = abut_collider_make(ABUT_COLLIDER_CHARACTER, abut_pose_identity());
            item.collider.shape.character = body->radial;
        }
    }
    ensure_body(s, index, abut_world_add(s->world, &item, &id));
    if (body->kind == SIM_CHARACTER)
        ensure_body(s, index, set_character(s, index));
}

/* ---- pins ---- */

static void attach_pins(simulation *s, uint32_t index) {
    const abut_scene_body *from = s->bodies[index].scene;
    abut_cloth *cloth = NULL;
    uint32_t sheet, holder = ABUT_NONE;
    if (!from->pin_count)
        return;
    abut_cloth_attachment *list = tool_array(from->pin_count, sizeof *list);
    abut_status status = abut_world_get_cloth(s->world, index, &cloth, &sheet);
    if (!status && from->pin_body != ABUT_NONE)
        status = abut_world_get_cloth(s->world, from->pin_body, &cloth, &holder);
    if (!status)
        status = abut_cloth_bind(cloth, sheet, holder, from->pins, from->pin_count,
                                 from->pin_stiffness, list);
    if (!status)
        status = abut_cloth_attach(cloth, sheet, list, from->pin_count);
    ensure_body(s, index, status);
    tool_free(list);
}

/* ---- seams ---- */

/* The ids of bodies in the world are their indices. */
static void sew_sheets(simulation *s) {
    const uint32_t count = (uint32_t)s->scene.seam_count;
    abut_cloth *cloth = NULL;
    abut_cloth_seam *list = tool_array(count, sizeof *list);
    abut_status status = ABUT_OK;
    for (uint32_t i = 0; i < count && !status; i++) {
        list[i] = s->scene.seams[i];
        status = abut_world_get_cloth(s->world, list[i].sheet_a, &cloth, &list[i].sheet_a);
        if (!status)
            status = abut_world_get_cloth(s->world, list[i].sheet_b, &cloth, &list[i].sheet_b);
    }
    if (!status && count)
        status = abut_cloth_sew(cloth, list, count);
    ensure(status);
    tool_free(list);
}

abut_cloth *sim_cloth(const simulation *s) {
    abut_cloth *cloth = NULL;
    uint32_t sheet;
    for (uint32_t i = 0; i < s->body_count; i++)
        if (s->bodies[i].kind == SIM_SHEET && !abut_world_get_cloth(s->world, i, &cloth, &sheet))
            return cloth;
    return NULL;
}

/* ---- the simulation ---- */

static void keep_contacts(simulation *s, const abut_contact *list, uint64_t count) {
    if (count > s->contact_room) {
        s->contact_room = (size_t)count + (size_t)count / 2;
        s->contacts = tool_resize(s->contacts, s->contact_room, sizeof *s->contacts);
    }
    if (count)
        memcpy(s->contacts, list, (size_t)count * sizeof *list);
    s->contact_count = count;
    while (s->contact_count &&
           s->contacts[s->contact_count - 1].a == s->contacts[s->contact_count - 1].b)
        s->contact_count--; /* those of items with themselves are last */
}

bool sim_has_contacts(const simulation *s, uint32_t a, uint32_t b) {
    uint64_t lo = 0, hi = s->contact_count; /* the first contact that is not before the pair */
    while (lo < hi) {
        const uint64_t middle = lo + (hi - lo) / 2;
        const abut_contact *c = &s->contacts[middle];
        if (c->a < a || (c->a == a && c->b < b))
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo < s->contact_count && s->contacts[lo].a == a && s->contacts[lo].b == b;
}

void sim_find_contacts(simulation *s) {
    abut_contacts found = {.size = sizeof found, .capacity = 0};
    FILL_LIST(&found, abut_world_contacts(s->world, &found));
    keep_contacts(s, found.list, found.count);
    tool_free(found.list);
}

void sim_create(simulation *s, double step, abut_device *device) {
    s->step = step;
    s->scene = get_scene_arrays(s->assembly.scene);
    s->totals.gap = HUGE_VAL;
    count_bodies(s);
    sim_rigid_create(s);
    create_world(s, device);
    for (uint32_t i = 0; i < s->body_count; i++)
        add_item(s, i);
    for (uint64_t i = 0; i < s->scene.ignored_count; i++)
        ensure(abut_world_ignore(s->world, s->scene.ignored[i].a, s->scene.ignored[i].b, true));
    for (uint32_t i = 0; i < s->body_count; i++)
        attach_pins(s, i);
    sew_sheets(s);
}

void sim_destroy(simulation *s) {
    abut_world_destroy(s->world);
    sim_rigid_destroy(s);
    for (uint32_t i = 0; i < s->body_count; i++) {
        abut_mesh_destroy(s->bodies[i].mesh);
        abut_radial_destroy(s->bodies[i].radial);
    }
}

/* Lower numbers are weaker. */
static int rank_of(abut_world_guarantee guarantee) {
    static const int ranks[] = {[ABUT_WORLD_GUARANTEE_NONE] = 0,
                                [ABUT_WORLD_GUARANTEE_SAMPLED] = 1,
                                [ABUT_WORLD_GUARANTEE_LIMITED] = 2,
                                [ABUT_WORLD_GUARANTEE_COMPLETE] = 3};
    return ranks[guarantee];
}

static void count_pair(simulation *s, const abut_world_step_result *r,
                       const abut_world_step_pair *pair) {
    sim_totals *t = &s->totals;
    const sim_kind kinds[2] = {s->bodies[pair->a].kind, s->bodies[pair->b].kind};
    const bool is_rigid = (kinds[0] == SIM_RIGID || kinds[1] == SIM_RIGID) &&
                          kinds[0] != SIM_SHEET && kinds[1] != SIM_SHEET;
    const bool hits = pair->has_impact && pair->time > 0;
    if (pair->a == pair->b)
        t->self_contacts += pair->count;
    else
        t->contacts += pair->count;
    t->impacts += hits;
    t->passed += hits && is_rigid && !pair->count && !sim_has_contacts(s, pair->a, pair->b);
    if (pair->count && pair->a != pair->b &&
        (!t->has_pairs || rank_of(pair->guarantee) < rank_of(t->guarantee))) {
        t->guarantee = pair->guarantee;
        t->has_pairs = true;
    }
    for (uint64_t i = pair->first; i < pair->first + pair->count && is_rigid; i++)
        if (r->contacts[i].depth > t->depth) {
            t->depth = r->contacts[i].depth;
            t->deepest[0] = pair->a;
            t->deepest[1] = pair->b;
        }
}

static void count_step(simulation *s, const abut_world_step_result *r) {
    sim_totals *t = &s->totals;
    for (uint64_t i = 0; i < r->pair_count; i++)
        count_pair(s, r, &r->pairs[i]);
    t->unswept += r->unswept_count;
    t->impact_seconds += r->impact_seconds;
    t->contact_seconds += r->contact_seconds;
    if (r->cloth) {
        const abut_cloth_report *c = r->cloth;
        t->cloth_seconds += c->motion_seconds + c->contact_seconds + c->impact_seconds;
        t->lagging += c->lagging;
        s->lags = c->lagging || c->fraction < 1;
        t->cut += c->fraction < 1;
        t->gap = fmin(t->gap, c->gap);
        t->seam_gap = c->seam_gap;
        if (c->guarantee.level >= t->cloth.level)
            t->cloth = c->guarantee;
    }
    t->steps++;
}

/* Moves everything that neither forces nor cloth move, and sets the poses of all bodies in the
 * world. */
static abut_status move_bodies(simulation *s, double time) {
    size_t count = 0;
    abut_status status = ABUT_OK;
    for (uint32_t i = 0; i < s->body_count && !status; i++) {
        sim_body *body = &s->bodies[i];
        if (body->kind == SIM_CHARACTER && is_still(body->scene))
            continue;
        if (body->kind == SIM_CHARACTER) {
            status = pose_character(s, i, time);
            status = status ? status : set_character(s, i);
        } else if (body->kind == SIM_KINEMATIC) {
            status = abut_scene_pose_body(s->assembly.scene, i, time, &body->pose, NULL);
        }
        if (body->kind != SIM_RIGID && body->kind != SIM_KINEMATIC)
            continue;
        s->ids[count] = i;
        s->ends[count++] = body->pose;
    }
    if (!status && count)
        status = abut_world_set_poses(s->world, s->ids, abut_array_host(s->ends), count);
    return status;
}

abut_status sim_set_time(simulation *s, double time, double last_time) {
    abut_status status = time > 0 ? move_bodies(s, last_time) : ABUT_OK;
    if (!status && time > 0)
        status = move_bodies(s, time);
    s->time = time;
    s->last_time = last_time;
    return status;
}

abut_status sim_advance(simulation *s) {
    abut_world_step_result result = abut_world_step_result_default();
    abut_status status = sim_rigid_advance(s);
    const double start = seconds_now();
    if (!status)
        status = move_bodies(s, s->time + s->step);
    s->totals.character_seconds += seconds_now() - start;
    if (!status)
        status = abut_world_step(s->world, s->step, &result);
    if (status)
        return status;
    count_step(s, &result);
    sim_rigid_push(s);
    keep_contacts(s, result.contacts, result.contact_count);
    s->last_time = s->time;
    s->time += s->step;
    return ABUT_OK;
}

/* The positions of a body that cloth holds back: those that do not intersect cloth. Returns false
 * if cloth does not collide with the body, or has another mesh for it, as for primitives. */
static bool get_lagging_positions(const simulation *s, uint32_t index, abut_vec3 *positions) {
    abut_cloth *cloth;
    uint32_t body;
    abut_mesh *mesh = NULL;
    if (abut_world_get_cloth(s->world, index, &cloth, &body))
        return false;
    ensure(abut_cloth_create_body_mesh(cloth, body, &mesh));
    const bool fits = abut_mesh_vertex_count(mesh) == sim_vertex_count(&s->bodies[index]);
    if (fits)
        ensure(abut_mesh_get_positions(mesh, positions));
    abut_mesh_destroy(mesh);
    return fits;
}

void sim_get_positions(const simulation *s, uint32_t index, abut_vec3 *positions) {
    const sim_body *body = &s->bodies[index];
    const uint32_t count = sim_vertex_count(body);
    abut_cloth *cloth;
    uint32_t sheet;
    if (body->kind == SIM_SHEET) {
        ensure(abut_world_get_cloth(s->world, index, &cloth, &sheet));
        ensure(abut_cloth_get_positions(cloth, sheet, abut_array_host(positions)));
        return;
    }
    const bool is_read = s->lags && get_lagging_positions(s, index, positions);
    for (uint32_t i = 0; i < count; i++) {
        if (!is_read && body->kind == SIM_CHARACTER)
            positions[i] = body->positions[i];
        else if (!is_read)
            ensure(abut_pose_apply(&body->pose, mesh_point(body->scene->mesh, i), &positions[i]));
        positions[i] = round_point(positions[i]);
    }
}
