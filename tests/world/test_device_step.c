/* Steps of worlds on a device. */
#include "device/open.h"
#include "world/live.h"
#include "world/saved_steps.h"

/* Cloth, sweeps of shapes that deform and self-collision: equal on the CPU and on the device. */
TEST(same_as_on_the_cpu) {
    abut_device *device = test_device(serial);
    uint64_t hashes[2] = {1, 1};
    for (int i = 0; i < 2; i++)
        assert_ok(live(serial, i ? device : NULL, MIXED_FRAMES, &hashes[i]));
    abut_device_destroy(device);
    assert_int_equal(0, abuti_opencl_live());
    assert_true(hashes[0] == hashes[1] && hashes[0] != 1);
}

TEST(restored_worlds_make_the_same_steps) {
    abut_device *device = test_device(serial);
    check_restored_steps(serial, device);
    abut_device_destroy(device);
    assert_int_equal(0, abuti_opencl_live());
}

int main(void) {
    SKIP_WITHOUT_DEVICE();
    return test_run(set_up, tear_down);
}
