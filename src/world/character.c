/* Characters: radial fields that the user updates, among the items of a world.
 *
 * All is asked on the host. Samples are brought there before tasks begin, so that these only read
 * the fields; and no task asks for more places than fit one of abut_radial_at(), so that tasks
 * start no others.
 */
#include "world/world.h"

#include "radial/radial.h"

enum { POINTS_AT_ONCE = 64 };

static const char depths[] = "Depths are those of radial fields, to about a cell.";

abut_status abuti_world_bring_characters(const abut_world *world) {
    abut_status status = ABUT_OK;
    for (size_t i = 0; world->characters && i < world->items.count && !status; i++) {
        const world_item *item = &world_items(world)[i];
        if (item->used && item->kind == ABUT_WORLD_CHARACTER)
            status = abuti_radial_here(item->is.shape.character);
    }
    return status;
}

size_t abuti_world_character_size(const world_item *item) {
    return (size_t)abut_radial_info_get(item->is.shape.character).sample_count;
}

/* ---- where it is ---- */

static box3 box_of_field(const abut_radial_view *view) {
    const vec3 r = v3(view->reach, view->reach, view->reach);
    return (box3){v3_sub(v3_min(view->begin, view->end), r),
                  v3_add(v3_max(view->begin, view->end), r)};
}

abut_status abuti_world_place_character(const char *function, const world_item *item, double margin,
                                        world_place *to) {
    const contact_motion *m = &to->motion;
    const mat3 none = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
    double off = v3_max_abs(m->shift);
    for (int i = 0; i < 3; i++)
        off += v3_max_abs(v3_sub(m->turn.row[i], none.row[i]));
    if (off > 0)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: a character is where its fields are; its pose must be the identity",
                          function);
    abut_radial *radial = item->is.shape.character;
    const abut_radial_info info = abut_radial_info_get(radial);
    box3 box = box_empty();
    for (uint32_t i = 0; i < info.field_count && info.has_samples; i++) {
        const abut_radial_view view = abut_radial_field(radial, i);
        if (view.step > 0)
            box = box_join(box, box_of_field(&view));
    }
    /* Without a surface: a point. */
    to->box = world_box(box.lo.x <= box.hi.x ? box : (box3){{0, 0, 0}, {0, 0, 0}}, m, margin);
    return ABUT_OK;
}

/* ---- contacts ---- */

/* What does not fit is counted. */
static void put(abut_contacts *to, abut_contact contact) {
    contact.id = contact_id(contact.side, contact.kind, contact.element, contact.part);
    if (to->count < to->capacity)
        to->list[to->count] = contact;
    to->count++;
}

/* Up to three places of a solid, which are its elements. */
static abut_status try_capsule(const abut_world *world, abut_radial *radial,
                               const abut_capsule *capsule, abut_contacts *to) {
    abut_contact list[3];
    abut_contacts found = {.list = list, .capacity = 3};
    abut_status status = abut_radial_contacts(radial, 1, capsule, &world->contact, &found);
    for (uint64_t i = 0; i < found.count && !status; i++) {
        list[i].kind = ABUT_CONTACT_SOLID;
        list[i].element = list[i].part;
        list[i].part = 0;
        put(to, list[i]);
    }
    return status;
}

/* Features of a body that wait to be asked about. */
typedef struct points {
    size_t count;
    abut_capsule places[POINTS_AT_ONCE];
    abut_sample features[POINTS_AT_ONCE];
} points;

static abut_status try_points(const abut_world *world, abut_radial *radial, points *p,
                              abut_contacts *to) {
    abut_contact list[POINTS_AT_ONCE];
    abut_contacts found = {.list = list, .capacity = POINTS_AT_ONCE};
    abut_status status =
        p->count ? abut_radial_contacts(radial, p->count, p->places, &world->contact, &found)
                 : ABUT_OK;
    for (uint64_t i = 0; i < found.count && !status; i++) {
        const abut_sample *feature = &p->features[list[i].element];
        list[i].kind = (abut_contact_kind)feature->kind;
        list[i].element = feature->element;
        list[i].part = feature->part;
        put(to, list[i]);
    }
    p->count = 0;
    return status;
}

/* Its samples, or else the vertices of its mesh, as far as they are near the character. */
static abut_status try_body(const abut_world *world, const world_item *a, const world_item *b,
                            abut_contacts *to) {
    const abut_samples_arrays view = abut_samples_arrays_get(b->body.samples);
    const abut_mesh *mesh = b->body.samples ? NULL : b->bvh->mesh;
    const size_t count = mesh ? mesh->vertex_count : view.count;
    const double more = 0.5 * world->options.margin * (1 + WORLD_FLOAT_SLACK);
    const box3 near = {v3_sub(a->at.box.lo, v3(more, more, more)),
                       v3_add(a->at.box.hi, v3(more, more, more))};
    points p;
    abut_status status = ABUT_OK;
    p.count = 0;
    for (size_t i = 0; i < count && !status; i++) {
        const abut_sample feature =
            mesh ? (abut_sample){.point = v3_add(mesh->origin, mesh->positions[i]),
                                 .kind = ABUT_SAMPLE_VERTEX,
                                 .element = (uint32_t)i}
                 : view.samples[i];
        const vec3 at = contact_to_world(&b->at.motion, feature.point);
        if (!box_contains(near, at))
            continue;
        p.places[p.count] = (abut_capsule){{at, at}, 0};
        p.features[p.count++] = feature;
        if (p.count == POINTS_AT_ONCE)
            status = try_points(world, a->is.shape.character, &p, to);
    }
    return status ? status : try_points(world, a->is.shape.character, &p, to);
}

/* The samples of a field against a plane. */
static void try_field(const radial_scene *s, uint32_t field, const abut_plane *plane, double margin,
                      abut_contacts *to) {
    const radial_field *f = &s->fields[field];
    const radial_frame *now = &s->now[field];
    for (uint32_t c = 0; c < f->around * f->along; c++) {
        const radial_turn turn = s->turns[f->first_turn + c % f->around];
        const double r = s->radii[f->first + c] * s->unit;
        if (!(r < HUGE_VAL) || (r == 0 && c % f->around != 0)) /* where a row ends in one point */
            continue;
        const double up = now->length * (c / f->around) / (f->along - 1);
        const vec3 at =
            v3_along(v3_along(v3_along(now->origin, up, now->axis[2]), r * turn.c, now->axis[0]),
                     r * turn.s, now->axis[1]);
        const double depth = plane->offset - v3_dot(plane->normal, at);
        if (depth >= -margin)
            put(to, (abut_contact){.point = at,
                                   .normal = plane->normal,
                                   .depth = depth,
                                   .kind = ABUT_CONTACT_POINT,
                                   .element = f->first + c});
    }
}

static void try_plane(const abut_world *world, abut_radial *radial, const abut_plane *plane,
                      abut_contacts *to) {
    const radial_scene s = abuti_radial_scene(radial);
    const bool has_samples = abut_radial_info_get(radial).has_samples;
    for (uint32_t i = 0; i < s.count && has_samples; i++)
        if (!s.now[i].collapsed)
            try_field(&s, i, plane, world->options.margin, to);
}

abut_status abuti_world_try_character(const abut_world *world, size_t pair, const world_item *a,
                                      const world_item *b, abut_contacts *to) {
    abut_radial *radial = a->is.shape.character;
    const abut_sphere *sphere = &b->at.solid.sphere;
    abut_capsule capsule;
    abut_status status = ABUT_OK;
    (void)pair;
    if (b->kind == ABUT_WORLD_PLANE) {
        try_plane(world, radial, &b->at.solid.plane, to);
    } else if (b->kind == ABUT_WORLD_BODY) {
        status = try_body(world, a, b, to);
    } else {
        capsule = b->kind == ABUT_WORLD_SPHERE
                      ? (abut_capsule){{sphere->centre, sphere->centre}, sphere->radius}
                      : b->at.solid.capsule;
        status = try_capsule(world, radial, &capsule, to);
    }
    to->advice = abuti_limited(depths);
    return status ? status : to->count > to->capacity ? ABUT_ERROR_BUFFER : ABUT_OK;
}
