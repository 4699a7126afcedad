/* Skinning on a device. Weights, positions and morph targets are uploaded once. A frame is one
 * upload of all bones and one launch; positions stay on the device if the caller passes a
 * buffer. */
#include "character/character.h"
#include "character/skin_shared.h"
#include "device/kit.h"

enum { LINEAR, DUAL, KERNELS };
enum { PLACES, BONES, WEIGHTS, STARTS, TARGETS, SHIFTS, NUMBERS, POSITIONS, BUFFERS };
enum { GROUP = 128 };

static const abuti_kernel_source sources[KERNELS] = {
    [LINEAR] = {"skin", "skin_by_matrices", NULL}, [DUAL] = {"skin", "skin_by_duals", NULL}};
static const abuti_kit_table table = {sources, KERNELS, BUFFERS, NULL};

struct skinner_device {
    abuti_queue queue;
    abuti_kit kit;
    abuti_staging numbers;
};

#define MEMORY(which) KIT_BUFFER(&d->kit, which)

/* Uploads weights transposed: the first weights of all vertices, then the second ones, so that
 * neighbouring work-items read neighbouring numbers. */
static abut_status upload_weights(abut_character_skinner *s) {
    struct skinner_device *d = s->device;
    const abut_character *c = s->character;
    const size_t vertices = c->info.vertex_count, stride = c->weight_stride;
    uint32_t *bones = abuti_allocate(s->context, vertices * stride, sizeof *bones);
    double *weights = abuti_allocate(s->context, vertices * stride, sizeof *weights);
    vec3 *places = abuti_allocate(s->context, vertices, sizeof *places);
    abut_status status = bones && weights && places ? ABUT_OK : ABUT_ERROR_MEMORY;
    for (size_t v = 0; v < vertices && !status; v++) {
        places[v] = abuti_mesh_position(c->mesh, (uint32_t)v);
        for (size_t i = 0; i < stride; i++) {
            bones[vertices * i + v] = c->weight_bones[stride * v + i];
            weights[vertices * i + v] = c->weights[stride * v + i];
        }
    }
    if (!status) {
        abuti_kit_upload(&d->kit, PLACES, places, vertices, sizeof *places);
        abuti_kit_upload(&d->kit, BONES, bones, vertices * stride, sizeof *bones);
        abuti_kit_upload(&d->kit, WEIGHTS, weights, vertices * stride, sizeof *weights);
    }
    ABUTI_RELEASE(s->context, bones, weights, places);
    return status;
}

static abut_status create_on_device(abut_character_skinner *s) {
    abut_device *device = s->options.device;
    abut_status status = abuti_device_check_bits("abut_character_skinner_create", device);
    if (status)
        return status;
    struct skinner_device *d = s->device = abuti_allocate_zeroed(s->context, 1, sizeof *d);
    if (!d)
        return ABUT_ERROR_MEMORY;
    status = abuti_queue_open(device, &d->queue);
    if (status || (status = abuti_kit_open(&d->queue, &table, "-DABUTI_REAL_BITS=64", &d->kit)))
        return status;
    const abut_character *c = s->character;
    const size_t numbers = abuti_skin_numbers(c, s->options.skinning);
    const character_shifts *shifts = &c->shifts;
    status = abuti_staging_create(&d->queue, numbers, sizeof(double), &d->numbers);
    if (status || (status = upload_weights(s)))
        return status;
    abuti_kit_upload(&d->kit, STARTS, shifts->starts, shifts->count ? c->info.vertex_count + 1u : 1,
                     sizeof(uint32_t));
    abuti_kit_upload(&d->kit, TARGETS, shifts->targets, shifts->count, sizeof(uint32_t));
    abuti_kit_upload(&d->kit, SHIFTS, shifts->shifts, shifts->count, sizeof(vec3));
    abuti_kit_reserve(&d->kit, NUMBERS, numbers, sizeof(double));
    return abuti_kit_finish(&d->kit);
}

static void destroy_on_device(abut_character_skinner *s) {
    struct skinner_device *d = s->device;
    if (!d)
        return;
    abuti_kit_close(&d->kit);
    abuti_staging_destroy(&d->queue, &d->numbers);
    abuti_queue_close(&d->queue);
    abuti_release(s->context, d);
}

static abut_status skin_on_device(abut_character_skinner *s, const char *function,
                                  const abut_character_matrix *bones, const double *morphs,
                                  abut_array positions) {
    struct skinner_device *d = s->device;
    const abut_character *c = s->character;
    const bool is_dual = s->options.skinning == ABUT_CHARACTER_SKINNING_DUAL;
    const size_t numbers = abuti_skin_numbers(c, s->options.skinning);
    const uint32_t vertices = c->info.vertex_count, weights = c->weight_stride;
    const uint32_t first_morph = (uint32_t)(numbers - c->info.morph_count);
    const uint32_t has_morphs = c->shifts.count > 0;
    abut_status status =
        abuti_skin_prepare(c, function, bones, morphs, s->options.skinning, d->numbers.at);
    if (status)
        return status;
    if (!positions.buffer)
        abuti_kit_reserve(&d->kit, POSITIONS, vertices, sizeof(vec3));
    const abuti_buffer *to =
        positions.buffer ? &positions.buffer->memory : &d->kit.buffers[POSITIONS];
    abuti_kit_send(&d->kit, NUMBERS, 0, d->numbers.at, numbers, sizeof(double));
    ABUTI_KIT_RUN(&d->kit, is_dual ? DUAL : LINEAR, vertices, GROUP, ABUTI_VALUE(vertices),
                  ABUTI_VALUE(weights), ABUTI_VALUE(first_morph), ABUTI_VALUE(has_morphs),
                  MEMORY(PLACES), MEMORY(BONES), MEMORY(WEIGHTS), MEMORY(STARTS), MEMORY(TARGETS),
                  MEMORY(SHIFTS), MEMORY(NUMBERS), ABUTI_BUFFER(to));
    return positions.host
               ? abuti_kit_download(&d->kit, POSITIONS, positions.host, vertices, sizeof(vec3))
               : abuti_kit_finish(&d->kit);
}

const skinner_backend abuti_skinner_on_device = {create_on_device, destroy_on_device,
                                                 skin_on_device};
