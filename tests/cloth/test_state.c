/* Saved states of a cloth: a restored cloth goes on bit for bit; states of another cloth, damaged
 * or forged ones are refused or harmless, and change nothing. */
#include "saving.h"

#include "base/checksum.h"

/* ---- restored runs ---- */

TEST_THREADS(a_restored_cloth_goes_on_bit_for_bit) {
    test_memory memory[2] = {{.fail_at = 0}, {.fail_at = 0}};
    abut_context *contexts[2];
    for (uint32_t k = 0; k < 2; k++)
        contexts[k] = test_context(&memory[k], 1 + k);
    check_restored_runs(contexts, NULL);
    for (uint32_t k = 0; k < 2; k++) {
        abut_context_destroy(contexts[k]);
        assert_int_equal(0, memory[k].live_count);
    }
}

TEST(a_cloth_on_fields_goes_on_bit_for_bit) {
    check_restored_on_fields(NULL);
}

/* Impulses and aims are those of a cloth that was not stepped. */
TEST(the_last_step_is_not_part_of_the_state) {
    saving s = {0};
    size_t bytes;
    vec linear, angular, aims[100], at[100];
    assert_ok(create_saving(serial, NULL, &s));
    run_saving(&s, 0, SAVED_AT);
    unsigned char *saved = save_cloth(s.c, &bytes);
    assert_ok(abut_cloth_get_body_impulse(s.c, 0, v3(0, 0, 0), &linear, &angular));
    assert_true(v3_length(linear) > 0);
    assert_ok(abut_cloth_restore(s.c, saved, bytes));
    assert_ok(abut_cloth_get_body_impulse(s.c, 0, v3(0, 0, 0), &linear, &angular));
    assert_true(v3_length(linear) == 0 && v3_length(angular) == 0);
    assert_ok(abut_cloth_get_aims(s.c, 1, abut_array_host(aims)));
    assert_ok(abut_cloth_get_positions(s.c, 1, abut_array_host(at)));
    assert_memory_equal(aims, at, abut_mesh_vertex_count(s.flag) * sizeof *at);
    free(saved);
    destroy_saving(&s);
}

TEST(bodies_alone_and_nothing_are_saved) {
    abut_mesh *box = make_shape(ABUT_SHAPE_BOX, 1);
    abut_cloth *c = NULL;
    size_t bytes;
    vec at[8];
    assert_ok(abut_cloth_create(serial, NULL, &c));
    unsigned char *saved = save_cloth(c, &bytes);
    assert_int_equal(112, bytes);
    assert_ok(abut_cloth_restore(c, saved, bytes));
    free(saved);
    assert_ok(add_body(c, box));
    assert_ok(abut_cloth_set_body_pose(c, 0, pose_at(1, 0, 0)));
    saved = save_cloth(c, &bytes);
    assert_int_equal(112 + 8 + 8 * 36, bytes);
    assert_ok(abut_cloth_set_body_pose(c, 0, pose_at(5, 0, 0)));
    assert_ok(abut_cloth_step(c, 0.1, NULL));
    assert_ok(abut_cloth_restore(c, saved, bytes));
    assert_ok(abut_cloth_get_body_positions(c, 0, abut_array_host(at)));
    assert_true(fabs(at[0].x) == 0.5);
    assert_ok(abut_cloth_step(c, 0.1, NULL)); /* to the target of the state */
    assert_ok(abut_cloth_get_body_positions(c, 0, abut_array_host(at)));
    assert_true(fabs(at[0].x - 1) == 0.5);
    free(saved);
    abut_cloth_destroy(c);
    abut_mesh_destroy(box);
}

/* Indices that were freed, and attachments that a restored state does not have. */
TEST(removed_items_and_attachments_are_restored) {
    saving s[2] = {{0}};
    size_t bytes;
    for (int k = 0; k < 2; k++) {
        assert_ok(create_saving(serial, NULL, &s[k]));
        assert_ok(attach_saving(s[k].c));
        assert_ok(abut_cloth_remove_body(s[k].c, 1));
        assert_ok(abut_cloth_remove_sheet(s[k].c, 0));
        assert_ok(abut_cloth_step(s[k].c, 0.02, NULL));
    }
    unsigned char *saved = save_cloth(s[0].c, &bytes);
    assert_ok(attach_one(s[1].c, 1, ABUT_NONE, 20, 0));
    assert_ok(abut_cloth_step(s[1].c, 0.02, NULL));
    assert_ok(abut_cloth_restore(s[1].c, saved, bytes));
    assert_int_equal(s[0].c->holds.count, s[1].c->holds.count);
    for (int i = 0; i < 5; i++) {
        for (int k = 0; k < 2; k++)
            assert_ok(abut_cloth_step(s[k].c, 0.02, NULL));
        assert_memory_equal(positions_of(s[0].c), positions_of(s[1].c),
                            s[0].c->all_vertices * sizeof(vec));
    }
    free(saved);
    destroy_saving(&s[0]);
    destroy_saving(&s[1]);
}

/* ---- what is refused ---- */

typedef struct small {
    abut_mesh *sheet, *box;
    abut_cloth *c;
    unsigned char *state;
    size_t bytes;
} small;

enum { BYTES_OF_HEAD = 104, SMALL_SHEET = 9, SMALL_BODY = 8 };

static cloth_options small_options(void) {
    return (cloth_options){.gravity = {0, 0, -1},
                           .substeps = 1,
                           .thickness = 0.02,
                           .body_may_lag = true};
}

/* A sheet above a box, with three attachments and two seams. */
static small make_small(void) {
    small s;
    const cloth_options options = small_options();
    s.sheet = make_shape(ABUT_SHAPE_SHEET, 2);
    s.box = make_shape_at(ABUT_SHAPE_BOX, 1, 0.3, pose_at(0.05, 0.05, -0.25));
    s.c = make_cloth(s.sheet, s.box, &options);
    assert_ok(attach_one(s.c, 0, 0, 4, 10));
    assert_ok(attach_one(s.c, 0, ABUT_NONE, 0, 0));
    assert_ok(attach_one(s.c, 0, ABUT_NONE, 8, 3));
    const abut_cloth_seam seams[2] = {{.vertex_a = 6, .vertex_b = 2, .stiffness = 4},
                                      {.vertex_a = 1, .vertex_b = 7}};
    assert_ok(abut_cloth_sew(s.c, seams, 2));
    for (int i = 0; i < 3; i++)
        assert_ok(abut_cloth_step(s.c, 0.02, NULL));
    s.state = save_cloth(s.c, &s.bytes);
    return s;
}

static void free_small(small *s) {
    abut_cloth_destroy(s->c);
    abut_mesh_destroy(s->sheet);
    abut_mesh_destroy(s->box);
    free(s->state);
}

static void assert_unchanged(small *s) {
    size_t bytes;
    unsigned char *again = save_cloth(s->c, &bytes);
    assert_int_equal(s->bytes, bytes);
    assert_memory_equal(s->state, again, bytes);
    free(again);
}

/* Every length and every bit, with a byte more, and without arguments. */
TEST(damage_is_refused) {
    small s = make_small();
    unsigned char *bad = malloc(s.bytes + 1);
    for (size_t n = 0; n < s.bytes; n++) {
        unsigned char *part = malloc(n ? n : 1); /* so that reading beyond it is found */
        memcpy(part, s.state, n);
        assert_int_equal(abut_cloth_restore(s.c, part, n), ABUT_ERROR_FORMAT);
        free(part);
    }
    for (size_t bit = 0; bit < 8 * s.bytes; bit++) {
        memcpy(bad, s.state, s.bytes);
        bad[bit / 8] ^= (unsigned char)(1 << bit % 8);
        abut_status status = abut_cloth_restore(s.c, bad, s.bytes);
        assert_true(status == ABUT_ERROR_FORMAT || status == ABUT_ERROR_UNSUPPORTED);
    }
    memcpy(bad, s.state, s.bytes);
    bad[s.bytes] = 0;
    assert_fails(ABUT_ERROR_FORMAT, "length is wrong", abut_cloth_restore(s.c, bad, s.bytes + 1));
    bad[12] = 77;
    assert_fails(ABUT_ERROR_UNSUPPORTED, "its format is 77", abut_cloth_restore(s.c, bad, s.bytes));
    assert_refused("state is null", abut_cloth_restore(s.c, NULL, 0));
    assert_refused("cloth is null", abut_cloth_restore(NULL, s.state, s.bytes));
    assert_refused("cloth is null", abut_cloth_save(NULL, &(abut_byte_list){NULL, 0, 0}));
    assert_refused("bytes is null", abut_cloth_save(s.c, NULL));
    assert_unchanged(&s);
    free(bad);
    free_small(&s);
}

static void set_checksum(unsigned char *state, size_t bytes) {
    const uint64_t sum = abuti_checksum(state, bytes - sizeof sum);
    memcpy(state + bytes - sizeof sum, &sum, sizeof sum);
}

/* With a correct checksum a changed word is refused, or it is a number that callers can pass: then
 * steps succeed, or fail as those of callers do. */
TEST(forged_states_are_refused_or_harmless) {
    small s = make_small();
    unsigned char *bad = malloc(s.bytes);
    const double words[] = {NAN, HUGE_VAL, -HUGE_VAL, 1e308, 1e15, -1, 1e-300, 0.5};
    const float floats[] = {NAN, HUGE_VALF, 1e30f, 1e14f};
    const uint64_t numbers[] = {
        0, 1, 2, 9, UINT64_MAX, SIZE_MAX / 8, SIZE_MAX / 24, SIZE_MAX / 96, UINT64_C(1) << 63};
    enum { WORDS = 8, FLOATS = 4, NUMBERS = 9 };
    uint32_t refused = 0, taken = 0, failed = 0;
    for (size_t at = 0; at + 16 <= s.bytes; at += 4)
        for (int k = 0; k < WORDS + FLOATS + NUMBERS; k++) {
            memcpy(bad, s.state, s.bytes);
            if (k < WORDS)
                memcpy(bad + at, &words[k], 8);
            else if (k < WORDS + FLOATS)
                memcpy(bad + at, &floats[k - WORDS], 4);
            else
                memcpy(bad + at, &numbers[k - WORDS - FLOATS], 8);
            set_checksum(bad, s.bytes);
            abut_status status = abut_cloth_restore(s.c, bad, s.bytes);
            if (status) {
                assert_true(status == ABUT_ERROR_FORMAT || status == ABUT_ERROR_ARGUMENT ||
                            status == ABUT_ERROR_UNSUPPORTED);
                refused++;
                continue;
            }
            taken++;
            status = abut_cloth_step(s.c, 0.02, NULL);
            failed += status != ABUT_OK;
            if (!status)
                assert_true(is_free(s.c));
            else
                assert_true(status == ABUT_ERROR_ARGUMENT || status == ABUT_ERROR_LIMIT);
        }
    assert_true(refused > 1000 && taken > 1000 && failed > 20);
    assert_ok(abut_cloth_restore(s.c, s.state, s.bytes));
    assert_unchanged(&s);
    free(bad);
    free_small(&s);
}

/* The start of the next step is tested, whatever bytes were restored. */
TEST(crossed_states_are_found) {
    small s = make_small();
    unsigned char *bad = malloc(s.bytes);
    const size_t points = s.bytes - 8 - 12 * (SMALL_SHEET + 2 * SMALL_BODY);
    const float below = -0.3F;
    memcpy(bad, s.state, s.bytes);
    memcpy(bad + points + 12 * 4 + 8, &below, sizeof below); /* the middle of the sheet */
    set_checksum(bad, s.bytes);
    for (int i = 0; i < 2; i++) {
        assert_ok(abut_cloth_restore(s.c, bad, s.bytes));
        assert_refused("of sheet 0 intersects", abut_cloth_step(s.c, 0.02, NULL));
        assert_false(is_free(s.c));
        assert_refused("of sheet 0 intersects", abut_cloth_step(s.c, 0.02, NULL));
        assert_ok(abut_cloth_restore(s.c, s.state, s.bytes));
        assert_true(is_free(s.c));
        assert_ok(abut_cloth_step(s.c, 0.02, NULL));
    }
    free(bad);
    free_small(&s);
}

/* A cloth like the small one, except for one difference. */
enum { OPTIONS, LAG, SHEET_MESH, MATERIAL, BODY_MESH, FRICTION, FIELDS, DIFFERENCES };
static const char *const refusals[DIFFERENCES] = {
    "other options",           "other options", "sheet 0 is not as", "sheet 0 is not as",
    "body 0 is not as it was", "body 0 is not", "other options"};

static void check_difference(const small *s, int which, abut_radial *radial) {
    cloth_options options = small_options();
    abut_mesh *moved = make_shape_at(ABUT_SHAPE_SHEET, 2, 1, pose_at(0, 0, 0.01)),
              *fine = make_shape_at(ABUT_SHAPE_BOX, 2, 0.3, pose_at(0.05, 0.05, -0.25));
    abut_cloth_body_options body = abut_cloth_body_options_default();
    abut_cloth *c = NULL;
    uint32_t index;
    options.gravity.z = which == OPTIONS ? -2 : options.gravity.z;
    options.body_may_lag = which != LAG;
    options.thickness = which == MATERIAL ? 0.021 : options.thickness;
    body.friction = which == FRICTION ? 0.5 : 0;
    assert_ok(create_cloth(serial, which == SHEET_MESH ? moved : s->sheet, &options, &c));
    assert_ok(abut_cloth_add_body(c, which == BODY_MESH ? fine : s->box, &body, &index));
    if (which == FIELDS)
        assert_ok(abut_cloth_add_radial(c, radial));
    if (which < DIFFERENCES)
        assert_refused(refusals[which], abut_cloth_restore(c, s->state, s->bytes));
    else
        assert_ok(abut_cloth_restore(c, s->state, s->bytes));
    abut_cloth_destroy(c);
    abut_mesh_destroy(moved);
    abut_mesh_destroy(fine);
}

TEST(states_of_other_cloths_are_refused) {
    small s = make_small();
    abut_mesh *ball = NULL;
    abut_radial *radial = NULL;
    uint32_t index;
    assert_ok(make_ball(serial, 0.2, NULL, &ball, &radial));
    for (int which = 0; which <= DIFFERENCES; which++)
        check_difference(&s, which, radial);
    assert_ok(add_body(s.c, s.box));
    assert_refused("body 1 is not in the state", abut_cloth_restore(s.c, s.state, s.bytes));
    assert_ok(abut_cloth_remove_body(s.c, 1));
    assert_ok(abut_cloth_restore(s.c, s.state, s.bytes));
    assert_ok(abut_cloth_add_sheet(s.c, s.sheet, NULL, &index));
    assert_refused("sheet 1 is not in the state", abut_cloth_restore(s.c, s.state, s.bytes));
    assert_ok(abut_cloth_remove_sheet(s.c, 1));
    assert_ok(abut_cloth_remove_sheet(s.c, 0));
    assert_refused("sheet 0 is missing", abut_cloth_restore(s.c, s.state, s.bytes));
    abut_radial_destroy(radial);
    abut_mesh_destroy(ball);
    free_small(&s);
}

/* ---- out of memory ---- */

static const unsigned char *memory_state;
static size_t memory_bytes;

/* On failure the state is the earlier one; and it can be restored later. */
static abut_status restore_and_save(abut_context *context, void *data) {
    saving s = {0};
    (void)data;
    abut_status status = create_saving(context, NULL, &s);
    NEXT(abut_cloth_restore(s.c, memory_state, memory_bytes));
    NEXT(step_saving(&s, SAVED_AT, NULL));
    NEXT(abut_cloth_restore(s.c, memory_state, memory_bytes));
    if (!status) {
        size_t bytes;
        unsigned char *again = save_cloth(s.c, &bytes);
        assert_int_equal(memory_bytes, bytes);
        assert_memory_equal(memory_state, again, bytes);
        free(again);
    }
    destroy_saving(&s);
    return status;
}

TEST(out_of_memory) {
    saving s = {0};
    assert_ok(create_saving(serial, NULL, &s));
    run_saving(&s, 0, SAVED_AT);
    unsigned char *saved = save_cloth(s.c, &memory_bytes);
    memory_state = saved;
    assert_true(test_every_allocation(restore_and_save, NULL) > 100);
    destroy_saving(&s);
    free(saved);
}

int main(void) {
    return run_serial();
}
