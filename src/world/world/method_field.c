/* The method field: samples of one item against the signed distance field of the other. Pairs of
 * bodies are tested on the CPU or on a device; vertices of meshes without samples on the CPU. */
#include "world/world.h"

#include <math.h>

enum { FIELD_CELLS = 64 };

/* ---- on the CPU ---- */

static abut_status test_pair_on_cpu(const abut_world *world, size_t pair, contact_call *call,
                                    const contact_direction both[2]) {
    (void)world;
    (void)pair;
    return abuti_contact_pair(call, both);
}

static abut_status reject_records(abut_world *world, abut_world_device_contacts *records) {
    (void)world;
    (void)records;
    return abuti_fail(ABUT_ERROR_ARGUMENT, "abut_world_get_device_contacts: the world has no "
                                           "device; set options->device of abut_world_create()");
}

static abut_status reject_buffer(abut_world *world, const uint32_t *ids, const abut_buffer *poses,
                                 size_t count) {
    (void)world;
    (void)ids;
    (void)poses;
    (void)count;
    return abuti_fail(
        ABUT_ERROR_ARGUMENT,
        "abut_world_set_poses: poses is a device buffer, but the world has no device; "
        "set options->device of abut_world_create(), or pass poses in host memory");
}

static abut_status have_poses(abut_world *world) {
    (void)world;
    return ABUT_OK;
}

const world_backend abuti_world_on_cpu = {.pair = test_pair_on_cpu,
                                          .records = reject_records,
                                          .move = reject_buffer,
                                          .download_poses = have_poses};

/* ---- meshes ---- */

static abut_status create_field(const abut_world *world, const abut_mesh_report *report,
                                world_asset *a) {
    abut_field_options field = abut_field_options_default();
    abut_samples_options samples = abut_samples_options_default();
    (void)report;
    field.cells = a->resolution ? a->resolution : FIELD_CELLS;
    field.device = world->options.device;
    abut_status status = abut_field_create(a->mesh, &field, &a->field);
    if (status)
        return status;
    a->choice.cell = samples.cell = a->field->grid.cell;
    return abut_samples_create(a->mesh, &samples, &a->samples);
}

/* ---- contacts ---- */

abut_status abuti_world_set_contacts(const world_call *call, abut_status status, bool swapped,
                                     bool reduce, abut_contacts *found, abut_patches *to) {
    const abut_world_options *o = &call->world->options;
    if (!status && found->count > found->capacity)
        status = ABUT_ERROR_BUFFER;
    if (!status && swapped)
        abuti_contact_swap_sides(found->list, found->count);
    if (!status && reduce && o->max_patch_contacts)
        found->count =
            abut_contact_reduce(found->list, found->count, o->max_patch_contacts, o->patch_angle);
    to->contacts.count = found->count;
    to->reliability = found->reliability;
    return status;
}

static abut_status collide_bodies(const world_call *call, abut_patches *to) {
    const world_item *a = call->a, *b = call->b;
    const contact_direction both[2] = {{&b->body, &a->body, &b->at.motion, &a->at.motion, 0},
                                       {&a->body, &b->body, &a->at.motion, &b->at.motion, 1}};
    abut_contacts found = world_contacts_of(to);
    contact_call sampled = {.function = "abut_world_contacts",
                            .options = world_contact_options(call->world, a, b),
                            .context = call->world->context,
                            .out = &found};
    abut_status status = call->world->backend->pair(call->world, call->pair, &sampled, both);
    status = status ? status : sampled.status;
    found.count = sampled.count;
    if (!status && sampled.count && sampled.count <= found.capacity)
        memcpy(found.list, sampled.stored.data, sampled.count * sizeof *found.list);
    abuti_release(call->world->context, sampled.stored.data);
    found.reliability = abuti_contact_reliability(b->body.samples ? a->body.field : NULL,
                                                  a->body.samples ? b->body.field : NULL);
    return abuti_world_set_contacts(call, status, false, !call->world->backend->reduces, &found,
                                    to);
}

/* The vertices and edges of one item against the field of the other. */
static abut_status collide_vertices(const world_call *call, abut_patches *to) {
    const bool swapped = !(call->a->filter.traits & WORLD_HAS_FIELD); /* b has the field then */
    const world_item *with = swapped ? call->b : call->a, *mesh = swapped ? call->a : call->b;
    const abut_collider body = abut_collider_from_field(with->body.field, NULL, with->at.pose);
    const abut_contact_options options = world_contact_options(call->world, with, mesh);
    abut_contacts found = world_contacts_of(to);
    abut_status status = abut_contact_mesh(&body, mesh->asset->mesh, mesh->asset->topology,
                                           &mesh->at.pose, &options, &found);
    return abuti_world_set_contacts(call, status, swapped, true, &found, to);
}

/* ---- guarantee ---- */

/* Error bound of interpolated distances: half the diagonal of a cell, if the signs are reliable. */
static double field_error(const world_item *item) {
    const abut_field *field = item->body.field;
    if (!field)
        return 0;
    const bool is_known =
        abuti_contact_reliability(field, NULL).level == ABUT_RELIABILITY_GUARANTEED;
    return is_known ? 0.5 * sqrt(3) * field->grid.cell : HUGE_VAL;
}

static abut_status guarantee_field(const world_item *a, const world_item *b,
                                   abut_world_pair_info *info) {
    info->guarantee = ABUT_WORLD_GUARANTEE_SAMPLED;
    info->error = fmax(field_error(a), field_error(b));
    info->reason = "Overlaps that contain no sample and no long edge may be missed, and so may "
                   "plates thinner than a cell.";
    return ABUT_OK;
}

static abut_status guarantee_vertices(const world_item *a, const world_item *b,
                                      abut_world_pair_info *info) {
    abut_status status = guarantee_field(a, b, info);
    info->reason = "Vertices and edges of the mesh are tested against the field. Overlaps that "
                   "contain none of them may be missed.";
    return status;
}

const world_method abuti_world_field = {.method = ABUT_WORLD_FIELD,
                                        .room = 256,
                                        .create = create_field,
                                        .collide = collide_bodies,
                                        .guarantee = guarantee_field};
const world_method abuti_world_vertices = {.method = ABUT_WORLD_FIELD,
                                           .is_serial = true,
                                           .room = 256,
                                           .collide = collide_vertices,
                                           .guarantee = guarantee_vertices};
