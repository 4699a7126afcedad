/* Any bytes as a glTF file. With bit 5 of the first byte they are the JSON of a GLB and, behind the
 * first zero, its binary part: the frame around them is then made as it must be. */
#include "read.h"

static void put_u32(uint8_t *to, size_t value) {
    for (int i = 0; i < 4; i++)
        to[i] = (uint8_t)(value >> 8 * i);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    if (!bytes || !(data[0] & 32))
        return read_any(data, bytes, ABUT_MESH_FORMAT_GLTF);
    const uint8_t *zero = memchr(data + 1, 0, bytes - 1);
    size_t text = zero ? (size_t)(zero - data) - 1 : bytes - 1;
    size_t binary = zero ? bytes - 2 - text : 0, all = 1 + 12 + 8 + text + 8 + binary;
    uint8_t *glb = malloc(all);
    if (!glb)
        return 0;
    glb[0] = data[0];
    memcpy(glb + 1, "glTF\2\0\0\0", 8);
    put_u32(glb + 9, all - 1);
    put_u32(glb + 13, text);
    memcpy(glb + 17, "JSON", 4);
    memcpy(glb + 21, data + 1, text);
    put_u32(glb + 21 + text, binary);
    memcpy(glb + 25 + text, "BIN", 4);
    if (binary)
        memcpy(glb + 29 + text, zero + 1, binary);
    read_any(glb, all, ABUT_MESH_FORMAT_GLTF);
    free(glb);
    return 0;
}
