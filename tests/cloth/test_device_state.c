/* Saved states of a cloth on a device, which the CPU continues, and the reverse. */
#include "device/open.h"

#include "saving.h"

static abut_device *device;

TEST(a_restored_cloth_goes_on_bit_for_bit) {
    abut_context *const contexts[2] = {serial, serial};
    check_restored_runs(contexts, device);
}

TEST(a_cloth_on_fields_goes_on_bit_for_bit) {
    check_restored_on_fields(device);
}

static const unsigned char *memory_state;
static size_t memory_bytes;

static abut_status restore_and_step(abut_context *context, void *data) {
    saving s = {0};
    (void)data;
    abut_status status = create_saving(context, device, &s);
    NEXT(abut_cloth_restore(s.c, memory_state, memory_bytes));
    NEXT(step_saving(&s, SAVED_AT, NULL));
    destroy_saving(&s);
    return status;
}

TEST(failures_are_survived) {
    saving s = {0};
    assert_ok(create_saving(serial, device, &s));
    run_saving(&s, 0, SAVED_AT);
    unsigned char *saved = save_cloth(s.c, &memory_bytes);
    memory_state = saved;
    test_every_device_call(restore_and_step, NULL, 10, 197);
    destroy_saving(&s);
    free(saved);
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
