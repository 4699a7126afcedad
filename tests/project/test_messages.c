/* Error messages about numbers: they contain the number, the allowed range and the unit.
 * Contacts, worlds, pairs, sweeps, and other modules with lengths. */
#include "support/pose.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A call that must be refused with the number and with the range of lengths. */
static void check_message(const char *call, abut_status status, const char *number,
                          const char *range) {
    if (status != ABUT_ERROR_ARGUMENT || !strstr(abut_last_error(), number) ||
        !strstr(abut_last_error(), range))
        fail_msg("%s: %s: '%s' has no '%s' and '%s'", call, abut_status_name(status),
                 abut_last_error(), number, range);
}
#define NAMES(number, range, call) check_message(#call, call, number, range)
#define LENGTHS "from 0 to 1e+90 units of the coordinates"

/* Lengths that are refused everywhere, and how messages write them. */
static const struct {
    double number;
    const char *words;
} lengths[] = {{-1.5, "-1.5"}, {1e300, "1e+300"}, {NAN, "nan"}, {INFINITY, "inf"}};
enum { LENGTH_COUNT = sizeof lengths / sizeof *lengths };

typedef struct subjects {
    abut_mesh *mesh;
    abut_bvh *bvh;
    abut_field *field;
    abut_samples *samples;
    abut_collider body;
    abut_collider posed;
} subjects;

static subjects make_subjects(void) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    abut_field_options cells = abut_field_options_default();
    subjects s = {.mesh = NULL};
    cells.cells = 8;
    assert_ok(abut_shape_create(NULL, &shape, &s.mesh));
    assert_ok(abut_bvh_create(s.mesh, NULL, &s.bvh));
    assert_ok(abut_field_create(s.mesh, &cells, &s.field));
    assert_ok(abut_samples_create(s.mesh, NULL, &s.samples));
    s.body = abut_collider_from_field(s.field, s.samples, abut_pose_identity());
    s.posed = abut_collider_from_bvh(s.bvh, abut_pose_identity());
    return s;
}

static void destroy_subjects(subjects *s) {
    abut_samples_destroy(s->samples);
    abut_field_destroy(s->field);
    abut_bvh_destroy(s->bvh);
    abut_mesh_destroy(s->mesh);
}

TEST(contacts_of_meshes_and_solids) {
    subjects s = make_subjects();
    abut_patch patch;
    abut_contact contact;
    abut_patches found = {.size = sizeof found,
                          .patches.list = &patch,
                          .patches.capacity = 1,
                          .contacts.list = &contact,
                          .contacts.capacity = 1};
    abut_patch_options options = abut_patch_options_default();
    const abut_collider plane = {.kind = ABUT_COLLIDER_PLANE, .shape.plane.normal = {0, 0, 1}};
    for (int i = 0; i < LENGTH_COUNT; i++) {
        options.margin = lengths[i].number;
        NAMES(lengths[i].words, LENGTHS, abut_contact_find(&s.posed, &s.posed, &options, &found));
        NAMES(lengths[i].words, LENGTHS, abut_contact_find(&s.posed, &plane, &options, &found));
        NAMES(lengths[i].words, LENGTHS, abut_contact_find(&plane, &plane, &options, &found));
    }
    options = abut_patch_options_default();
    options.max_contacts = 9;
    NAMES("9", "from 0 to 8 contacts", abut_contact_find(&s.posed, &s.posed, &options, &found));
    const abut_collider ball = {.kind = ABUT_COLLIDER_SPHERE, .shape.sphere.radius = -2};
    NAMES("radius of -2", LENGTHS, abut_contact_find(&s.posed, &ball, NULL, &found));
    const abut_collider box = {.kind = ABUT_COLLIDER_BOX, .shape.half = {1, -3, 1}};
    NAMES("half size of -3", LENGTHS, abut_contact_find(&box, &plane, NULL, &found));
    const abut_collider odd = {.kind = (abut_collider_kind)17};
    NAMES("17", "from 0 to 8", abut_contact_find(&odd, &plane, NULL, &found));
    destroy_subjects(&s);
}

TEST(contacts_of_fields) {
    subjects s = make_subjects();
    abut_contact list[4];
    abut_contacts found = {.size = sizeof found, .list = list, .capacity = 4};
    abut_contact_options options = abut_contact_options_default();
    const abut_array none = abut_array_host(NULL);
    const abut_ray ray = {{5, 0, 0}, {-1, 0, 0}};
    abut_field_hit hit;
    for (int i = 0; i < LENGTH_COUNT; i++) {
        options.margin = lengths[i].number;
        NAMES(lengths[i].words, LENGTHS,
              abut_contact_find_sampled(&s.body, &s.body, &options, &found));
        NAMES(lengths[i].words, LENGTHS,
              abut_contact_points(&s.body, none, 0, lengths[i].number, NULL, &found));
    }
    NAMES("-4", "from 0 to inf lengths of the direction",
          abut_contact_ray(&s.body, &ray, -4, &hit));
    destroy_subjects(&s);
}

TEST(samples) {
    subjects s = make_subjects();
    abut_samples *made = NULL;
    for (int i = 0; i < LENGTH_COUNT; i++)
        for (int k = 0; k < 3; k++) {
            abut_samples_options options = abut_samples_options_default();
            double *const members[] = {&options.cell, &options.threshold, &options.radius};
            *members[k] = lengths[i].number;
            NAMES(lengths[i].words, LENGTHS, abut_samples_create(s.mesh, &options, &made));
        }
    abut_samples_options options = abut_samples_options_default();
    options.flat_angle = 1.6;
    NAMES("1.6", "from 0 to 1.5 radians", abut_samples_create(s.mesh, &options, &made));
    options = abut_samples_options_default();
    options.face_area = -1;
    NAMES("-1", "from 0 to 1e+90 square units", abut_samples_create(s.mesh, &options, &made));
    options = abut_samples_options_default();
    options.kinds = 99;
    NAMES("99", "from 0 to 15", abut_samples_create(s.mesh, &options, &made));
    options = abut_samples_options_default();
    options.count = UINT32_MAX;
    assert_fails(ABUT_ERROR_LIMIT, "at most", abut_samples_create(s.mesh, &options, &made));
    destroy_subjects(&s);
}

TEST(worlds) {
    subjects s = make_subjects();
    abut_world *world = NULL;
    abut_world_item item = {.size = sizeof(abut_world_item), .collider.kind = ABUT_COLLIDER_SPHERE};
    uint32_t id;
    for (int i = 0; i < LENGTH_COUNT; i++) {
        abut_world_options options = abut_world_options_default();
        options.margin = lengths[i].number;
        NAMES(lengths[i].words, LENGTHS, abut_world_create(NULL, &options, &world));
    }
    abut_world_options options = abut_world_options_default();
    options.patch_angle = 4;
    NAMES("4", "from 0 to 3 radians", abut_world_create(NULL, &options, &world));
    assert_ok(abut_world_create(NULL, NULL, &world));
    item.collider.kind = ABUT_COLLIDER_SPHERE;
    item.collider.shape.sphere.radius = -2;
    NAMES("-2", LENGTHS, abut_world_add(world, &item, &id));
    item.collider.kind = (abut_collider_kind)17;
    NAMES("17", "from 0 to 8", abut_world_add(world, &item, &id));
    item.collider.kind = ABUT_COLLIDER_SPHERE;
    item.motion = (abut_world_motion)17;
    NAMES("17", "from 0 to ", abut_world_add(world, &item, &id));
    for (int i = 0; i < LENGTH_COUNT; i++) {
        abut_world_sweep_options sweep = abut_world_sweep_options_default();
        abut_world_impacts swept = abut_world_impacts_default();
        sweep.separation = lengths[i].number;
        NAMES(lengths[i].words, LENGTHS,
              abut_world_sweep(world, NULL, abut_array_host(NULL), 0, &sweep, &swept));
    }
    abut_world_destroy(world);
    destroy_subjects(&s);
}

TEST(pairs_and_sweeps) {
    subjects s = make_subjects();
    abut_sweep_rigid_result touch;
    abut_pair_measures common = abut_pair_measures_default();
    for (int i = 0; i < LENGTH_COUNT; i++)
        for (int k = 0; k < 2; k++) {
            abut_pair_measure_options pair = abut_pair_measure_options_default();
            abut_sweep_rigid_options rigid = abut_sweep_rigid_options_default();
            pair.tolerance = lengths[i].number;
            *(k ? &rigid.tolerance : &rigid.separation) = lengths[i].number;
            NAMES(lengths[i].words, LENGTHS, abut_pair_measure(&s.posed, &s.posed, &pair, &common));
            NAMES(lengths[i].words, LENGTHS,
                  abut_sweep_rigid(&s.posed, NULL, &s.posed, NULL, &rigid, &touch));
        }
    abut_sweep *motion;
    abut_impact_list impacts = {.capacity = 0};
    assert_ok(abut_sweep_create(&s.mesh, 1, NULL, &motion));
    NAMES("17", "from 0 to 2", abut_sweep_find(motion, (abut_sweep_mode)17, NULL, &impacts, NULL));
    abut_sweep_destroy(motion);
    destroy_subjects(&s);
}

TEST(fields) {
    subjects s = make_subjects();
    abut_field *made = NULL;
    for (int i = 0; i < LENGTH_COUNT; i++)
        for (int k = 0; k < 3; k++) {
            abut_field_options options = abut_field_options_default();
            double *const members[] = {&options.cell, &options.margin, &options.band};
            *members[k] = lengths[i].number;
            NAMES(lengths[i].words, LENGTHS, abut_field_create(s.mesh, &options, &made));
        }
    destroy_subjects(&s);
}
