/* The reliability of results of a device; see reliability.h. */
#include "apps/get.h"
#include "device/open.h"
#include "reliability.h"

int main(void) {
    SKIP_WITHOUT_DEVICE();
    truth_device = test_device(NULL);
    if (!get_device_info(truth_device).same_bits) {
        printf("skipped: signs of surfaces with a border need a device that rounds as the CPU\n");
        abut_device_destroy(truth_device);
        return 77;
    }
    int failed = test_run(NULL, NULL);
    abut_device_destroy(truth_device);
    return failed;
}
