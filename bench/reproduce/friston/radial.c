/* Radial fields, with the interface of the competing methods. */
#include "apps/get.h"
#include "parts.h"

typedef struct radial_rival {
    rival base;
    abut_radial *radial;
} radial_rival;

static abut_status create(rival *r) {
    radial_rival *f = (radial_rival *)r;
    abut_radial_options options = abut_radial_options_default();
    options.cell = r->options.cell;
    options.device = r->options.device;
    return abut_radial_create(r->options.character, &options, &f->radial);
}

static void destroy(rival *r) {
    abut_radial_destroy(((radial_rival *)r)->radial);
}

static abut_status update(rival *r, const abut_character_matrix *bones, abut_array positions) {
    return abut_radial_set_positions(((radial_rival *)r)->radial, bones, positions);
}

static abut_radial_particles particles_of(const rival_particles *p) {
    abut_radial_particles particles = abut_radial_particles_default();
    particles.count = p->count;
    particles.from = p->from_array;
    particles.to = p->to_array;
    particles.friction = (double)p->friction;
    return particles;
}

static abut_status collide(rival *r, const rival_particles *p) {
    abut_radial_particles particles = particles_of(p);
    return abut_radial_collide(((radial_rival *)r)->radial, &particles);
}

static abut_status step(rival *r, const abut_character_matrix *bones, abut_array positions,
                        const rival_particles *p) {
    abut_radial_particles particles = particles_of(p);
    return abut_radial_step(((radial_rival *)r)->radial, bones, positions, &particles);
}

static uint64_t memory(const rival *r) {
    return get_radial_info(((const radial_rival *)r)->radial).bytes;
}

const rival_methods rival_radial = {.name = "radial",
                                    .bytes = sizeof(radial_rival),
                                    .create = create,
                                    .update = update,
                                    .collide = collide,
                                    .step = step,
                                    .memory = memory,
                                    .destroy = destroy,
                                    .takes_arrays = true};
