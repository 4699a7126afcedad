/* Untangling a cloth on a device: the same bits as on the CPU. */
#include "device/open.h"

#include "tangled.h"

static abut_device *device;

TEST(results_are_those_of_the_cpu) {
    crossing s[2] = {{0}};
    for (int k = 0; k < 2; k++) {
        abut_cloth_untangle_report report = abut_cloth_untangle_report_default();
        assert_ok(create_crossing(serial, k ? device : NULL, 7, &s[k]));
        assert_ok(abut_cloth_untangle(s[k].c, NULL, &report));
        assert_true(report.is_free && report.iterations > 0 && is_free(s[k].c));
    }
    for (int i = 0; i < 4; i++) {
        const size_t bytes = s[0].c->all_vertices * sizeof(vec);
        assert_memory_equal(positions_of(s[0].c), positions_of(s[1].c), bytes);
        assert_memory_equal(s[0].c->velocity, s[1].c->velocity, s[0].c->vertices * sizeof(vec));
        for (int k = 0; k < 2; k++)
            step(s[k].c, 0.01, NULL);
    }
    /* Crossed again while it is simulated: by a sheet that is added. */
    for (int k = 0; k < 2; k++) {
        abut_cloth_untangle_report report = abut_cloth_untangle_report_default();
        uint32_t index;
        assert_ok(abut_cloth_add_sheet(s[k].c, s[k].steep, NULL, &index));
        assert_false(is_free(s[k].c));
        assert_ok(abut_cloth_untangle(s[k].c, NULL, &report));
        assert_true(report.is_free);
        step(s[k].c, 0.01, NULL);
    }
    assert_memory_equal(positions_of(s[0].c), positions_of(s[1].c),
                        s[0].c->all_vertices * sizeof(vec));
    for (int k = 0; k < 2; k++)
        destroy_crossing(&s[k]);
}

static abut_status untangle_and_step(abut_context *context, void *data) {
    crossing s = {0};
    (void)data;
    abut_status status = create_crossing(context, device, 7, &s);
    NEXT(abut_cloth_untangle(s.c, NULL, NULL));
    NEXT(abut_cloth_step(s.c, 0.01, NULL));
    destroy_crossing(&s);
    return status;
}

TEST(failures_are_survived) {
    test_every_device_call(untangle_and_step, NULL, 10, 997);
}

int main(void) {
    SKIP_WITHOUT_DEVICE();
    serial = test_context(NULL, 1);
    device = test_device(serial);
    int failed = test_run(NULL, NULL);
    abut_device_destroy(device);
    abut_context_destroy(serial);
    return failed;
}
