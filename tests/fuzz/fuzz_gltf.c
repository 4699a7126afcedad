/* Any bytes as a glTF file. With bit 5 of the first byte they are the JSON of a GLB and, behind the
 * first zero, its binary part: the frame around them is then made as it must be. */
#include "read.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    if (!bytes || !(data[0] & 32))
        return read_any(data, bytes, ABUT_MESH_FORMAT_GLTF);
    size_t all;
    uint8_t *glb = fuzz_glb(data, bytes, 1, &all);
    if (!glb)
        return 0;
    read_any(glb, all, ABUT_MESH_FORMAT_GLTF);
    free(glb);
    return 0;
}
