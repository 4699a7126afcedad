/* Any bytes as a file in the format OFF. */
#include "read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    return read_any(data, bytes, ABUT_MESH_FORMAT_OFF);
}
