/* Garments: patterns of pieces for a body, weights of the bones, pins, and the exact test that
 * nothing touches. */
#include "garment/garment.h"

#include <abut/pair.h>

#include <math.h>
#include <stdio.h>

enum { PIECES = 2, WEIGHTS = 4 };

struct abut_garment {
    abut_context *context; /* reference */
    abut_character *character;
    uint32_t *pins;
    uint32_t pin_count;
};

/* ---- patterns ---- */

/* A cone about the axis of the body, between two heights above the hips; `behind` is a length. */
static void add_skirt(const garment_body *b, garment_piece *p, double from, double from_radius,
                      double to, double to_radius, double behind) {
    p->has_skirt = true;
    p->skirt = (figure_part){.a = v3_along(b->hips, from, b->up), .ra = from_radius};
    p->skirt.rb = to_radius;
    p->skirt.along = v3_along(v3_scale(b->up, to - from), -behind, b->forward);
    p->skirt.length_sq = v3_length_sq(p->skirt.along);
    p->skirt_blend = 0.06 * b->scale;
}

/* Fills the pieces of a garment; heights are relative to the hips. Returns their number. */
static uint32_t fill_pattern(const garment_body *b, abut_garment_kind kind, double ease,
                             garment_piece *p) {
    double s = b->scale, neck = garment_height(b, b->neck), girth = b->girth;
    double knee = garment_height(b, b->leg[0]), foot = garment_height(b, b->foot[0]);
    double shoulder = garment_height(b, v3_lerp(b->arm[0], b->arm[1], 0.5));
    double collar = real_min(neck + 0.035 * s, shoulder + 0.08 * s);
    memset(p, 0, PIECES * sizeof *p);
    p[0].share = 1;
    p[0].ease = ease;
    p[0].top = collar + ease;
    switch (kind) {
    case ABUT_GARMENT_TROUSERS_AND_TOP:
        p[1] = p[0];
        p[0].top = 0.2 * neck;
        p[0].bottom = foot + 0.05 * s;
        p[0].sleeve = -1;
        p[0].share = 0.55;
        p[1].ease = 2 * ease + 0.004 * s; /* over the trousers */
        p[1].top = collar + p[1].ease;
        p[1].bottom = -0.03 * s;
        p[1].sleeve = 0.75;
        return 2;
    case ABUT_GARMENT_OVERCOAT:
        p[0].ease = 1.7 * ease;
        p[0].top = collar + p[0].ease;
        p[0].bottom = 1.05 * knee;
        p[0].sleeve = 1.88;
        p[0].slit = 0.012 * s;
        add_skirt(b, p, 0.15 * neck, 0.8 * girth, 1.05 * knee - 0.15 * s, 1.35 * girth, 0);
        return 1;
    case ABUT_GARMENT_CAPE:
        p[0].ease = 1.7 * ease;
        p[0].top = collar + p[0].ease;
        p[0].bottom = 0.75 * foot;
        p[0].sleeve = 0.15;
        p[0].back = true;
        add_skirt(b, p, 0.5 * neck, 0.7 * girth, 0.75 * foot - 0.15 * s, 1.4 * girth, 0.4 * girth);
        return 1;
    default:
        p[0].bottom = 0.9 * knee;
        p[0].sleeve = 0.1;
        add_skirt(b, p, 0.2 * neck, 0.55 * girth, 0.9 * knee - 0.15 * s, 1.75 * girth, 0);
        return 1;
    }
}

/* ---- intersection tests ---- */

typedef enum garment_touch { TOUCHES_NOTHING = 0, TOUCHES_BODY, TOUCHES_ITSELF } garment_touch;

/* Counts a triangle of the body for the bone with its largest weight. */
static void count_bone(const garment_body *b, const abut_character *character, uint32_t triangle,
                       uint32_t *touched) {
    uint32_t bones[ABUT_CHARACTER_WEIGHT_COUNT];
    double weights[ABUT_CHARACTER_WEIGHT_COUNT];
    uint32_t vertex = b->mesh->indices[3 * (size_t)triangle];
    touched[abut_character_weights(character, vertex, bones, weights) ? bones[0] : 0]++;
}

/* Tests exactly whether a garment touches the body. */
static abut_status test_body(const garment_body *b, const abut_character *character,
                             const abut_bvh *bvh, uint32_t *touched, garment_touch *touch) {
    const abut_collider cloth = abut_collider_from_bvh(bvh, abut_pose_identity()),
                        body = abut_collider_from_bvh(b->bvh, abut_pose_identity());
    abut_pair_intersection_list found = {NULL, 0, 0};
    abut_status status = abut_pair_intersections(&cloth, &body, &found);
    if (status != ABUT_ERROR_BUFFER)
        return status;
    found.capacity = found.count;
    found.list = abuti_allocate(b->context, (size_t)found.count, sizeof *found.list);
    status = found.list ? abut_pair_intersections(&cloth, &body, &found) : ABUT_ERROR_MEMORY;
    for (uint64_t i = 0; i < found.count && !status; i++)
        count_bone(b, character, found.list[i].triangle_b, touched);
    abuti_release(b->context, found.list);
    *touch = TOUCHES_BODY;
    return status;
}

/* Tests exactly whether a garment touches itself. Counts the nearest bones of the body there. */
static abut_status test_self(const garment_body *b, const abut_character *character,
                             const abut_mesh *mesh, const abut_bvh *bvh, uint32_t *touched,
                             garment_touch *touch) {
    abut_pair_self_intersection_list found = {NULL, 0, 0};
    abut_status status = abut_pair_self_intersections(bvh, NULL, &found);
    if (status != ABUT_ERROR_BUFFER)
        return status;
    found.capacity = found.count;
    found.list = abuti_allocate(b->context, (size_t)found.count, sizeof *found.list);
    status = found.list ? abut_pair_self_intersections(bvh, NULL, &found) : ABUT_ERROR_MEMORY;
    for (uint64_t i = 0; i < found.count && !status; i++) {
        abut_nearest near;
        uint32_t vertex = mesh->indices[3 * (size_t)found.list[i].triangle[0]];
        status = abut_nearest_point(b->bvh, abuti_mesh_position(mesh, vertex), HUGE_VAL, &near);
        if (!status)
            count_bone(b, character, near.triangle, touched);
    }
    abuti_release(b->context, found.list);
    *touch = TOUCHES_ITSELF;
    return status;
}

/* Tests exactly what a garment touches. `touched` receives the number of triangles by bone. */
static abut_status test_garment(const garment_body *b, const abut_character *character,
                                abut_mesh *mesh, uint32_t *touched, garment_touch *touch) {
    abut_bvh *bvh = NULL;
    abut_status status = abut_bvh_create(mesh, NULL, &bvh);
    *touch = TOUCHES_NOTHING;
    memset(touched, 0, character->info.bone_count * sizeof *touched);
    if (!status)
        status = test_body(b, character, bvh, touched, touch);
    if (!status && *touch == TOUCHES_NOTHING)
        status = test_self(b, character, mesh, bvh, touched, touch);
    abut_bvh_destroy(bvh);
    return status;
}

static double ease_max(const garment_body *b) {
    return 0.06 * b->scale;
}

/* Fails with the names of up to four bones where the garment touches, those with the most triangles
 * first. */
static abut_status fail_touching(const garment_body *b, const abut_character *character,
                                 const char *kind, double ease, uint32_t *touched,
                                 garment_touch touch) {
    char names[256], larger[64] = "";
    size_t used = 0;
    for (int i = 0; i < 4; i++) {
        uint32_t most = 0;
        for (uint32_t k = 1; k < character->info.bone_count; k++)
            most = touched[k] > touched[most] ? k : most;
        if (!touched[most])
            break;
        used += (size_t)snprintf(names + used, sizeof names - used, "%s'%.56s'", i ? ", " : "",
                                 character->bones[most].name);
        touched[most] = 0;
    }
    if (ease < ease_max(b))
        snprintf(larger, sizeof larger, "a larger ease (at most %.3g) or ", ease_max(b));
    return abuti_fail(
        ABUT_ERROR_ARGUMENT,
        "%s: the %s would touch %s at the bones %s, even with an ease of %.3g; remove "
        "bones that move objects or clothes (abut_character_remove_bones(), "
        "--without), or use %smore particles",
        b->who, kind, touch == TOUCHES_BODY ? "the body" : "itself", names, ease, larger);
}

static abut_status create_pieces(const garment_body *b, garment_piece *pieces, uint32_t count,
                                 uint32_t particles, abut_mesh **mesh) {
    abut_mesh *made[PIECES] = {NULL};
    abut_status status = ABUT_OK;
    uint32_t left = particles;
    for (uint32_t i = 0; i < count && !status; i++) {
        pieces[i].particles = i + 1 == count ? left : (uint32_t)(pieces[i].share * particles);
        left -= pieces[i].particles;
        status = abuti_garment_create_piece(b, &pieces[i], &made[i]);
    }
    if (!status)
        status = abut_mesh_join(made, count, mesh);
    for (uint32_t i = 0; i < count; i++)
        abut_mesh_destroy(made[i]);
    return status;
}

/* Creates a garment that touches nothing; increases the ease if necessary. */
static abut_status create_separated_mesh(const garment_body *b, const abut_character *character,
                                         const abut_garment_options *o, garment_piece *pieces,
                                         uint32_t *count, abut_mesh **mesh) {
    uint32_t *touched = abuti_allocate(b->context, character->info.bone_count, sizeof *touched);
    abut_status status = touched ? ABUT_OK : ABUT_ERROR_MEMORY;
    garment_touch touch = TOUCHES_BODY;
    double ease = 0, next = o->ease;
    for (int i = 0; i < 4 && next > ease && !status && touch != TOUCHES_NOTHING; i++) {
        abut_mesh_destroy(*mesh);
        *mesh = NULL;
        ease = next;
        next = fmin(1.35 * ease, ease_max(b));
        *count = fill_pattern(b, o->kind, ease, pieces);
        status = create_pieces(b, pieces, *count, o->particles, mesh);
        if (!status)
            status = test_garment(b, character, *mesh, touched, &touch);
    }
    if (!status && touch != TOUCHES_NOTHING)
        status = fail_touching(b, character, abut_garment_kind_name(o->kind), ease, touched, touch);
    abuti_release(b->context, touched);
    return status;
}

/* ---- weights ---- */

/* Adds the weights of a vertex of the body, times a factor. */
static void add_weights(const abut_character *body, uint32_t vertex, double share, double *all) {
    uint32_t bones[ABUT_CHARACTER_WEIGHT_COUNT];
    double weights[ABUT_CHARACTER_WEIGHT_COUNT];
    uint32_t count = abut_character_weights(body, vertex, bones, weights);
    for (uint32_t i = 0; i < count; i++)
        all[bones[i]] += share * weights[i];
}

static abut_status compute_weights(const garment_body *b, const abut_character *body,
                                   const abut_mesh *mesh, double *all, uint32_t *bones,
                                   double *weights) {
    uint32_t bone_count = body->info.bone_count;
    for (uint32_t v = 0; v < mesh->vertex_count; v++) {
        abut_nearest near;
        abut_status status =
            abut_nearest_point(b->bvh, abuti_mesh_position(mesh, v), HUGE_VAL, &near);
        if (status)
            return status;
        memset(all, 0, bone_count * sizeof *all);
        for (int i = 0; i < 3; i++)
            add_weights(body, b->mesh->indices[3 * (size_t)near.triangle + (size_t)i],
                        near.barycentric[i], all);
        for (size_t i = 0; i < WEIGHTS; i++) {
            uint32_t best = 0;
            for (uint32_t k = 1; k < bone_count; k++)
                best = all[k] > all[best] ? k : best;
            bones[v * (size_t)WEIGHTS + i] = best;
            weights[v * (size_t)WEIGHTS + i] = real_max(all[best], 0);
            all[best] = -1;
        }
    }
    return ABUT_OK;
}

static abut_status create_character(const garment_body *b, const abut_character *body,
                                    abut_mesh *mesh, abut_garment *garment) {
    size_t count = (size_t)mesh->vertex_count * WEIGHTS;
    double *all = abuti_allocate(b->context, body->info.bone_count, sizeof *all);
    uint32_t *bones = abuti_allocate(b->context, count, sizeof *bones);
    double *weights = abuti_allocate(b->context, count, sizeof *weights);
    abut_status status = all && bones && weights ? ABUT_OK : ABUT_ERROR_MEMORY;
    if (!status)
        status = compute_weights(b, body, mesh, all, bones, weights);
    if (!status) {
        abut_character_input input = abut_character_input_default();
        input.mesh = mesh;
        input.bone_count = body->info.bone_count;
        input.bones = body->bones;
        input.weight_count = WEIGHTS;
        input.weight_bones = bones;
        input.weights = weights;
        status = abuti_character_make(b->context, b->who, &input, NULL, &garment->character);
    }
    ABUTI_RELEASE(b->context, all, bones, weights);
    return status;
}

/* Pins the vertices next to the upper edge of a piece. Vertices of pieces are consecutive. */
static abut_status pin_upper_edges(const garment_body *b, const garment_piece *pieces,
                                   uint32_t count, const abut_mesh *mesh, abut_garment *garment) {
    uint32_t piece = 0, end = pieces[0].particles;
    garment->pins = abuti_allocate(b->context, mesh->vertex_count, sizeof *garment->pins);
    if (!garment->pins)
        return ABUT_ERROR_MEMORY;
    for (uint32_t v = 0; v < mesh->vertex_count; v++) {
        if (v == end && piece + 1 < count)
            end += pieces[++piece].particles;
        if (garment_height(b, abuti_mesh_position(mesh, v)) > pieces[piece].top - 0.03 * b->scale)
            garment->pins[garment->pin_count++] = v;
    }
    return ABUT_OK;
}

/* ---- public functions ---- */

static abut_status check_options(const char *who, abut_garment_options *o) {
    static const uint32_t usual[ABUT_GARMENT_COUNT] = {4825, 5118, 8562, 8700};
    if ((unsigned)o->kind >= ABUT_GARMENT_COUNT)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: kind is %u; it must be a value of abut_garment_kind", who,
                          (unsigned)o->kind);
    o->particles = o->particles ? o->particles : usual[o->kind];
    if (o->particles < ABUT_GARMENT_PARTICLES_MIN || o->particles > ABUT_GARMENT_PARTICLES_MAX)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: particles is %u; it must be from %u to %u", who,
                          o->particles, ABUT_GARMENT_PARTICLES_MIN, ABUT_GARMENT_PARTICLES_MAX);
    if (!(o->ease >= 0 && o->ease <= ABUT_COORDINATE_MAX))
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: ease is %g; it must be finite and not negative",
                          who, o->ease);
    return ABUT_OK;
}

abut_status abut_garment_create(const abut_character *character,
                                const abut_garment_options *options, abut_garment **garment) {
    const char *who = "abut_garment_create";
    abut_garment_options o = abut_garment_options_default();
    if (!character || !garment)
        return abuti_null(__func__, character ? "garment" : "character");
    abut_status status = abuti_options_read(&o, sizeof o, options, "abut_garment_create: options");
    if (!status)
        status = check_options(who, &o);
    if (status)
        return status;
    garment_body body = {.context = character->context, .who = who};
    garment_piece pieces[PIECES];
    uint32_t count = 0;
    abut_mesh *mesh = NULL;
    abut_garment *made = abuti_allocate_zeroed(body.context, 1, sizeof *made);
    if (!made)
        return ABUT_ERROR_MEMORY;
    made->context = abuti_context_retain(body.context);
    status = abuti_garment_measure(character, o.joints, &body);
    if (!status && !(o.ease > 0))
        o.ease = 0.016 * body.scale;
    if (!status && o.ease > ease_max(&body))
        status =
            abuti_fail(ABUT_ERROR_ARGUMENT, "%s: ease is %g; it must be at most %g for this body",
                       who, o.ease, ease_max(&body));
    if (!status)
        status = create_separated_mesh(&body, character, &o, pieces, &count, &mesh);
    if (!status)
        status = create_character(&body, character, mesh, made);
    if (!status)
        status = pin_upper_edges(&body, pieces, count, mesh, made);
    abut_mesh_destroy(mesh);
    abuti_garment_release(&body);
    if (status)
        abut_garment_destroy(made);
    else
        *garment = made;
    return status;
}

static abut_status find_kind(const char *name, abut_garment_kind *kind) {
    for (int i = 0; i < ABUT_GARMENT_COUNT; i++)
        if (!strcmp(name, abut_garment_kind_name((abut_garment_kind)i))) {
            *kind = (abut_garment_kind)i;
            return ABUT_OK;
        }
    return abuti_fail(
        ABUT_ERROR_FORMAT,
        "there is no garment '%s'; it must be trousers-and-top, overcoat, cape or dress", name);
}

abut_status abut_garment_create_named(void *user, abut_context *context,
                                      const abut_character *wearer, const char *name,
                                      uint32_t triangles, double ease, abut_mesh **mesh,
                                      uint32_t **pins, uint32_t *pin_count) {
    (void)user;
    abut_garment_options options = abut_garment_options_default();
    options.ease = ease;
    abut_garment *garment = NULL;
    if (!wearer || !name || !mesh || !pins || !pin_count)
        return abuti_null(__func__, !wearer ? "wearer"
                                    : !name ? "name"
                                    : !mesh ? "mesh"
                                    : !pins ? "pins"
                                            : "pin_count");
    abut_status status = find_kind(name, &options.kind);
    if (triangles) { /* vertices are half of them, and those of boundaries */
        const double half = 0.5 * triangles, count = half + 1.6 * sqrt(half);
        options.particles =
            (uint32_t)fmin(fmax(count, ABUT_GARMENT_PARTICLES_MIN), ABUT_GARMENT_PARTICLES_MAX);
    }
    if (!status)
        status = abut_garment_create(wearer, &options, &garment);
    if (status)
        return status;
    uint32_t count = 0;
    const uint32_t *from = abut_garment_pins(garment, &count);
    uint32_t *copy = abut_context_allocate(context, count, sizeof *copy);
    if (copy) {
        memcpy(copy, from, count * sizeof *copy);
        *mesh = abut_mesh_retain(abut_character_rest_mesh(abut_garment_character(garment)));
        *pins = copy;
        *pin_count = count;
    }
    abut_garment_destroy(garment);
    return copy ? ABUT_OK : ABUT_ERROR_MEMORY;
}

void abut_garment_destroy(abut_garment *garment) {
    if (!garment)
        return;
    abut_context *context = garment->context;
    abut_character_destroy(garment->character);
    ABUTI_RELEASE(context, garment->pins, garment);
    abut_context_destroy(context);
}

abut_character *abut_garment_character(const abut_garment *garment) {
    return garment ? garment->character : NULL;
}

const uint32_t *abut_garment_pins(const abut_garment *garment, uint32_t *count) {
    if (count)
        *count = garment ? garment->pin_count : 0;
    return garment ? garment->pins : NULL;
}

const char *abut_garment_kind_name(abut_garment_kind kind) {
    static const char *const names[] = {"trousers-and-top", "overcoat", "cape", "dress"};
    return ABUTI_NAME(names, kind);
}
