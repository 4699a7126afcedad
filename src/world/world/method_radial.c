/* The method radial: characters, whose radial fields the caller updates.
 *
 * Pairs are tested in both directions: vertices, samples and long edges of the other item against
 * the radial fields, and samples of the radial fields, which lie on the mesh, against the other
 * item. The latter is closed-form for primitives; otherwise it uses the field of the item or, for a
 * closed mesh, exact distances. Spheres and capsules have one closest point, and planes have no
 * features.
 *
 * All computations run on the host. Samples are downloaded before the parallel tasks start, so that
 * these only read the fields. No task evaluates more points than one task of
 * abut_radial_evaluate(), so that tasks do not start other tasks.
 */
#include "world/world.h"

#include "radial/radial.h"
#include "sign/sign.h"

#include <math.h>

enum { BATCH_POINTS = 64 };
#define FREE_FRACTION \
    0.05 /* of the size of a mesh: initial radius of the search for the nearest point */

/* ---- items ---- */

static abut_radial *radial_of(const world_item *item) {
    return item->is.collider.shape.character;
}

static abut_status add_character_item(abut_world *world, world_item *item) {
    (void)world;
    abuti_radial_retain(radial_of(item));
    item->work = (size_t)radial_of(item)->info.sample_count;
    return abuti_radial_download(radial_of(item));
}

static const abut_mesh *mesh_of_character(const world_item *item) {
    return radial_of(item)->mesh;
}

static void remove_character_item(abut_world *world, world_item *item) {
    (void)world;
    abut_radial_destroy(radial_of(item));
}

abut_status abuti_world_download_characters(abut_world *world) {
    abut_status status = ABUT_OK;
    for (size_t i = 0; world->characters && i < world->items.count && !status; i++) {
        const world_item *item = &world_items(world)[i];
        if (item->used && item->kind == ABUT_COLLIDER_CHARACTER)
            status = abuti_radial_download(radial_of(item));
    }
    return status;
}

static abut_status deform_character(const world_item *item, const abut_character_matrix *bones,
                                    abut_array positions) {
    abut_status status = abut_radial_set_positions(radial_of(item), bones, positions);
    return status ? status : abuti_radial_download(radial_of(item));
}

static void describe_character(const world_item *item, abut_world_item_info *info) {
    info->method = ABUT_WORLD_RADIAL;
    info->reason = "It is a character, whose radial fields follow every pose.";
    info->cell = radial_of(item)->info.cell;
}

/* ---- bounding box ---- */

static box3 radial_field_box(const abut_radial_view *view) {
    const vec3 r = v3(view->reach, view->reach, view->reach);
    return (box3){v3_sub(v3_min(view->begin, view->end), r),
                  v3_add(v3_max(view->begin, view->end), r)};
}

static abut_status place_character(const char *function, const world_item *item, world_place *to) {
    const contact_motion *m = &to->motion;
    const mat3 none = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
    double off = v3_max_abs(m->shift);
    for (int i = 0; i < 3; i++)
        off += v3_max_abs(v3_sub(m->turn.row[i], none.row[i]));
    if (off > 0)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: the pose of a character must be the identity, because its fields "
                          "are in world coordinates",
                          function);
    abut_radial *radial = radial_of(item);
    box3 box = box_empty();
    for (uint32_t i = 0; i < radial->info.field_count && radial->info.has_samples; i++) {
        abut_radial_view view = abut_radial_view_default();
        abut_status status = abut_radial_get_field(radial, i, &view);
        if (status)
            return status;
        if (view.step > 0)
            box = box_join(box, radial_field_box(&view));
    }
    /* Without a surface, the box is a point. */
    to->box = world_box(box.lo.x <= box.hi.x ? box : (box3){{0, 0, 0}, {0, 0, 0}}, m, item->margin);
    return ABUT_OK;
}

/* ---- contacts ---- */

/* Creates the data of another item that pairs with characters need: the core of a primitive,
 * edges. */
static abut_status prepare_partner(const abut_world *world, world_item *item) {
    const bool round = item->kind >= ABUT_COLLIDER_PLANE && item->kind <= ABUT_COLLIDER_CAPSULE;
    const bool has_own = item->body.samples || (item->asset && item->asset->topology);
    const bvh_interior *interior;
    abut_status status = ABUT_OK;
    if (round || item->kind == ABUT_COLLIDER_CHARACTER)
        return ABUT_OK;
    if (item->kind != ABUT_COLLIDER_BODY && !item->bvh)
        status = abuti_world_core(world->context, item);
    const abut_bvh *bvh = item->bvh ? item->bvh : item->core;
    if (!status && bvh && !has_own && !item->topology)
        status = abut_topology_create(bvh->mesh, &item->topology);
    if (!status && item->kind == ABUT_COLLIDER_BODY && bvh && !item->body.field)
        status = abuti_bvh_interior(bvh, &interior);
    return status;
}

static abut_status prepare_character_pair(const abut_world *world, world_item *a, world_item *b) {
    abut_status status = prepare_partner(world, a);
    return status ? status : prepare_partner(world, b);
}

/* Contacts beyond the capacity are counted. */
static void append_contact(abut_contacts *to, abut_contact contact) {
    contact.id = contact_id(contact.side, contact.kind, contact.element, contact.part);
    if (to->count < to->capacity)
        to->list[to->count] = contact;
    to->count++;
}

/* Features of one item that are collected for a batch against the other item: points, or edges as
 * capsules without radius. */
typedef struct feature_batch {
    abut_contact_options options;
    const world_item *against;
    uint32_t side; /* the item with the features: 0 = a */
    box3 near;     /* features outside cannot touch */
    vec3 free;     /* nor can features within `around` of this point, */
    double around; /* because distances are 1-Lipschitz; 0 = unknown */
    abut_contacts *to;
    abut_status status;
    size_t count;
    abut_capsule places[BATCH_POINTS];
    abut_sample samples[BATCH_POINTS];
} feature_batch;

/* The bounding box of an item with the whole margin of its pair with another. */
static box3 margin_box(const world_item *item, const world_item *other) {
    const double more = 0.5 * other->margin * (1 + WORLD_FLOAT_SLACK);
    return (box3){v3_sub(item->at.box.lo, v3(more, more, more)),
                  v3_add(item->at.box.hi, v3(more, more, more))};
}

/* Tests the batch against radial fields. */
static void test_radial_fields(feature_batch *f) {
    abut_contact list[3 * BATCH_POINTS];
    abut_contacts found = {.size = sizeof found, .list = list, .capacity = 3 * BATCH_POINTS};
    f->status =
        abut_radial_contacts(radial_of(f->against), f->count, f->places, &f->options, &found);
    for (uint64_t i = 0; i < found.count && !f->status; i++) {
        const uint32_t which = list[i].element;
        const abut_sample *name = &f->samples[which];
        const bool edge = name->kind == ABUT_SAMPLE_EDGE && name->part == ABUT_SAMPLE_DEEPEST;
        if (edge && list[i].part != 2) /* ends are separate features */
            continue;
        list[i].kind = (abut_contact_kind)name->kind;
        list[i].element = name->element;
        list[i].part = name->part;
        if (f->side == 0)
            contact_swap(&list[i]);
        append_contact(f->to, list[i]);
    }
}

/* Depth of a point in a signed distance field, and the outward direction. */
static abut_status evaluate_field(const world_item *b, vec3 point, double *depth, vec3 *out) {
    abut_field_value value;
    abut_status status = abut_field_evaluate(b->body.field, contact_to_local(&b->at.motion, point),
                                             ABUT_INTERPOLATION_LINEAR, &value);
    if (status)
        return status;
    *depth = -value.distance;
    *out = m3_apply(&b->at.motion.turn, v3_normalise(value.gradient));
    return ABUT_OK;
}

/* The same in the closed components of a mesh, exactly. Points far outside skip the search for the
 * nearest point. */
static abut_status evaluate_mesh(feature_batch *f, vec3 point, double *depth, vec3 *out) {
    const world_item *b = f->against;
    const double margin = f->options.margin;
    const vec3 at = contact_to_local(&b->at.motion, point);
    const double reach = margin + FREE_FRACTION * v3_length(v3_sub(b->local.hi, b->local.lo));
    const bvh_interior *interior;
    bool on_surface = false;
    abut_nearest nearest;
    *depth = -HUGE_VAL;
    if (v3_length(v3_sub(point, f->free)) < f->around)
        return ABUT_OK;
    abut_status status = abut_nearest_point(b->bvh, at, reach, &nearest);
    if (status || (status = abuti_bvh_interior(b->bvh, &interior)))
        return status;
    const bool far = nearest.triangle == ABUT_NONE;
    const bool inside =
        fabs(abuti_sign_crossing_solids(b->bvh, interior, NULL, at, &on_surface)) >= 0.5;
    if (!inside && !on_surface && (far || nearest.distance > margin)) {
        f->free = point;
        f->around = ((far ? reach : nearest.distance) - margin) * (1 - 1e-9);
        return ABUT_OK;
    }
    if (far)
        status = abut_nearest_point(b->bvh, at, HUGE_VAL, &nearest);
    if (status)
        return status;
    vec3 way = v3_sub(nearest.point, at);
    if (!(v3_max_abs(way) > 0)) { /* on the surface: the normal of the triangle */
        const abut_mesh *mesh = b->bvh->mesh;
        const uint32_t *corner = mesh->indices + 3 * (size_t)nearest.triangle;
        const vec3 p = mesh->positions[corner[0]];
        way =
            v3_cross(v3_sub(mesh->positions[corner[1]], p), v3_sub(mesh->positions[corner[2]], p));
    } else if (!inside) {
        way = v3_scale(way, -1);
    }
    *depth = inside ? nearest.distance : -nearest.distance;
    *out = m3_apply(&b->at.motion.turn, v3_normalise(way));
    return ABUT_OK;
}

/* Tests a sample of a against an item that is not a character. */
static void test_other(feature_batch *f, vec3 point, uint32_t element) {
    const world_item *b = f->against;
    const double margin = f->options.margin,
                 more = margin + WORLD_FLOAT_SLACK * v3_length(v3_sub(b->local.hi, b->local.lo));
    const vec3 at = contact_to_local(&b->at.motion, point), all = v3(more, more, more);
    double depth = -HUGE_VAL;
    vec3 out = {0, 0, 0};
    if (!box_contains((box3){v3_sub(b->local.lo, all), v3_add(b->local.hi, all)}, at))
        return;
    const abut_collider primitive = abuti_world_collider(b, &b->at.pose);
    f->status = b->kind != ABUT_COLLIDER_BODY
                    ? abuti_world_point_in_primitive(point, &primitive, margin, &depth, &out)
                : b->body.field ? evaluate_field(b, point, &depth, &out)
                                : evaluate_mesh(f, point, &depth, &out);
    if (!f->status && depth >= -margin && v3_max_abs(out) > 0)
        append_contact(f->to, (abut_contact){.point = point,
                                             .normal = out,
                                             .depth = depth,
                                             .kind = ABUT_CONTACT_POINT,
                                             .element = element});
}

static void flush_batch(feature_batch *f) {
    if (f->count && !f->status)
        test_radial_fields(f);
    f->count = 0;
}

static void add_feature(feature_batch *f, abut_capsule place, abut_sample name) {
    const box3 box = {v3_min(place.end[0], place.end[1]), v3_max(place.end[0], place.end[1])};
    if (!box_overlaps(f->near, box))
        return;
    if (f->against->kind != ABUT_COLLIDER_CHARACTER) {
        test_other(f, place.end[0], name.element);
        return;
    }
    f->places[f->count] = place;
    f->samples[f->count++] = name;
    if (f->count == BATCH_POINTS)
        flush_batch(f);
}

/* ---- features of a body or primitive ---- */

static void add_samples(feature_batch *f, const world_item *of) {
    abut_samples_arrays view = abut_samples_arrays_default();
    abut_samples_get_arrays(of->body.samples, &view);
    for (uint32_t i = 0; i < view.count && !f->status; i++) {
        const vec3 at = contact_to_world(&of->at.motion, view.samples[i].point);
        add_feature(f, (abut_capsule){{at, at}, 0}, view.samples[i]);
    }
    for (uint32_t i = 0; i < view.edge_count && !f->status && !f->options.skip_edges; i++) {
        const abut_sample_edge *e = &view.edges[i];
        add_feature(f,
                    (abut_capsule){{contact_to_world(&of->at.motion, e->end[0]),
                                    contact_to_world(&of->at.motion, e->end[1])},
                                   0},
                    (abut_sample){.kind = ABUT_SAMPLE_EDGE,
                                  .element = e->edge,
                                  .part = ABUT_SAMPLE_DEEPEST});
    }
}

/* Adds the vertices of a mesh, and the edges longer than a cell of the character. */
static void add_mesh(feature_batch *f, const world_item *of) {
    const abut_bvh *bvh = of->bvh ? of->bvh : of->core;
    const abut_mesh *mesh = bvh->mesh;
    const abut_topology *topology = of->topology ? of->topology : of->asset->topology;
    abut_topology_arrays edges = abut_topology_arrays_default();
    abut_topology_get_arrays(topology, &edges);
    const double cell = radial_of(f->against)->info.cell;
    for (uint32_t i = 0; i < mesh->vertex_count && !f->status; i++) {
        const vec3 at = contact_to_world(&of->at.motion, v3_add(mesh->origin, mesh->positions[i]));
        add_feature(f, (abut_capsule){{at, at}, 0},
                    (abut_sample){.kind = ABUT_SAMPLE_VERTEX, .element = i});
    }
    for (uint32_t i = 0; i < edges.edge_count && !f->status && !f->options.skip_edges; i++) {
        const vec3 p = mesh->positions[edges.edges[2 * (size_t)i]],
                   q = mesh->positions[edges.edges[2 * (size_t)i + 1]];
        if (v3_length_sq(v3_sub(p, q)) > cell * cell)
            add_feature(f,
                        (abut_capsule){{contact_to_world(&of->at.motion, v3_add(mesh->origin, p)),
                                        contact_to_world(&of->at.motion, v3_add(mesh->origin, q))},
                                       0},
                        (abut_sample){.kind = ABUT_SAMPLE_EDGE,
                                      .element = i,
                                      .part = ABUT_SAMPLE_DEEPEST});
    }
}

/* Up to three contacts of a sphere or capsule, which are its elements. */
static abut_status collide_capsule(const abut_contact_options *options, abut_radial *radial,
                                   const abut_capsule *capsule, abut_contacts *to) {
    abut_contact list[3];
    abut_contacts found = {.size = sizeof found, .list = list, .capacity = 3};
    abut_status status = abut_radial_contacts(radial, 1, capsule, options, &found);
    for (uint64_t i = 0; i < found.count && !status; i++) {
        list[i].kind = ABUT_CONTACT_SOLID;
        list[i].element = list[i].part;
        list[i].part = 0;
        append_contact(to, list[i]);
    }
    return status;
}

/* ---- features of a character ---- */

/* The position of sample c of a field; false if there is none. */
static bool sample_position(const radial_scene *s, uint32_t field, uint32_t c, vec3 *at) {
    const radial_field *f = &s->fields[field];
    const radial_frame *now = &s->now[field];
    const radial_turn turn = s->turns[f->first_turn + c % f->around];
    const double r = s->radii[f->first + c] * s->unit;
    if (!(r < HUGE_VAL) ||
        (r == 0 && c % f->around != 0)) /* where a row degenerates to one point */
        return false;
    const double up = now->length * (c / f->around) / (f->along - 1);
    *at = v3_along(v3_along(v3_along(now->origin, up, now->axis[2]), r * turn.c, now->axis[0]),
                   r * turn.s, now->axis[1]);
    return true;
}

/* Adds all samples of the fields that are near. */
static void add_character(feature_batch *f, const world_item *of) {
    abut_radial *radial = radial_of(of);
    const radial_scene s = abuti_radial_scene(radial);
    if (!radial->info.has_samples)
        return;
    for (uint32_t i = 0; i < s.count && !f->status; i++) {
        abut_radial_view view = abut_radial_view_default();
        f->status = abut_radial_get_field(radial, i, &view);
        if (f->status || s.now[i].collapsed || !box_overlaps(radial_field_box(&view), f->near))
            continue;
        for (uint32_t c = 0; c < s.fields[i].around * s.fields[i].along && !f->status; c++) {
            vec3 at;
            if (sample_position(&s, i, c, &at))
                add_feature(f, (abut_capsule){{at, at}, 0},
                            (abut_sample){.kind = (abut_sample_kind)ABUT_CONTACT_POINT,
                                          .element = s.fields[i].first + c});
        }
    }
}

static void collide_plane(double margin, abut_radial *radial, const abut_plane *plane,
                          abut_contacts *to) {
    const radial_scene s = abuti_radial_scene(radial);
    const bool has_samples = radial->info.has_samples;
    for (uint32_t i = 0; i < s.count && has_samples; i++)
        for (uint32_t c = 0; !s.now[i].collapsed && c < s.fields[i].around * s.fields[i].along;
             c++) {
            vec3 at;
            const bool is = sample_position(&s, i, c, &at);
            const double depth = is ? plane->offset - v3_dot(plane->normal, at) : -HUGE_VAL;
            if (is && depth >= -margin)
                append_contact(to, (abut_contact){.point = at,
                                                  .normal = plane->normal,
                                                  .depth = depth,
                                                  .kind = ABUT_CONTACT_POINT,
                                                  .element = s.fields[i].first + c});
        }
}

/* Whether samples of a character can be inside an item. */
static bool has_interior(const world_item *item) {
    const bvh_interior *interior;
    if (item->kind != ABUT_COLLIDER_BODY || item->body.field)
        return true;
    /* it was computed before the tasks started */
    return item->bvh && !abuti_bvh_interior(item->bvh, &interior) && interior->has_solids &&
           !interior->border_count;
}

/* Both directions: samples of the character a against b, and features of b against the fields
 * of a. */
static abut_status collide_both_ways(const abut_world *world, const world_item *a,
                                     const world_item *b, abut_contacts *to) {
    feature_batch f;
    f.options = world_contact_options(world, a, b);
    f.to = to;
    f.status = ABUT_OK;
    f.count = 0;
    f.around = 0;
    f.free = v3(0, 0, 0);
    f.against = b;
    f.side = 0;
    f.near = margin_box(b, a);
    if (has_interior(b))
        add_character(&f, a);
    flush_batch(&f);
    f.against = a;
    f.side = 1;
    f.near = margin_box(a, b);
    if (b->kind == ABUT_COLLIDER_CHARACTER)
        add_character(&f, b);
    else if (b->body.samples)
        add_samples(&f, b);
    else if (b->bvh || b->core)
        add_mesh(&f, b);
    flush_batch(&f);
    return f.status;
}

static abut_status collide_character(const world_call *call, abut_patches *to) {
    const bool swapped = call->a->kind != ABUT_COLLIDER_CHARACTER;
    const world_item *a = swapped ? call->b : call->a, *b = swapped ? call->a : call->b;
    const abut_sphere *sphere = &b->at.primitive.sphere;
    const abut_contact_options options = world_contact_options(call->world, a, b);
    abut_contacts found = world_contacts_of(to);
    abut_status status = ABUT_OK;
    if (b->kind == ABUT_COLLIDER_PLANE) {
        collide_plane(options.margin, radial_of(a), &b->at.primitive.plane, &found);
    } else if (b->kind == ABUT_COLLIDER_SPHERE || b->kind == ABUT_COLLIDER_CAPSULE) {
        const abut_capsule capsule =
            b->kind == ABUT_COLLIDER_SPHERE
                ? (abut_capsule){{sphere->centre, sphere->centre}, sphere->radius}
                : b->at.primitive.capsule;
        status = collide_capsule(&options, radial_of(a), &capsule, &found);
    } else {
        status = collide_both_ways(call->world, a, b, &found);
    }
    found.reliability =
        abuti_limited("Depths come from radial fields and are accurate to about a cell.");
    return abuti_world_set_contacts(call, status, swapped, true, &found, to);
}

static abut_status guarantee_characters(const world_item *a, const world_item *b,
                                        abut_world_pair_info *info) {
    (void)a;
    (void)b;
    info->guarantee = ABUT_WORLD_GUARANTEE_SAMPLED;
    info->error = HUGE_VAL;
    info->reason = "Folds and details finer than the cells of radial fields may be missed. Depths "
                   "are accurate to about a cell.";
    return ABUT_OK;
}

const world_method abuti_world_radial = {.method = ABUT_WORLD_RADIAL,
                                         .room = 256,
                                         .add = add_character_item,
                                         .remove = remove_character_item,
                                         .place = place_character,
                                         .deform = deform_character,
                                         .describe = describe_character,
                                         .mesh = mesh_of_character,
                                         .prepare = abuti_world_download_characters,
                                         .prepare_pair = prepare_character_pair,
                                         .collide = collide_character,
                                         .guarantee = guarantee_characters};
