/* Helpers for the targets of the readers: read any bytes; a mesh must survive being written and
 * read again in each format. */
#ifndef ABUT_FUZZ_READ_H
#define ABUT_FUZZ_READ_H

#include "fuzz.h"

static int read_any(const uint8_t *data, size_t bytes, abut_mesh_format format) {
    /* the first byte chooses what the options say; the rest is the file */
    if (!bytes)
        return 0;
    abut_mesh_read_options options = abut_mesh_read_options_default();
    options.format = data[0] & 1 ? ABUT_MESH_FORMAT_AUTO : format;
    options.triangulation = data[0] & 2 ? ABUT_TRIANGULATION_FAN : ABUT_TRIANGULATION_AUTO;
    options.uv = data[0] & 64;
    abut_mesh *mesh = NULL;
    abut_status status =
        abut_mesh_read_memory(fuzz_context(), data + 1, bytes - 1, "fuzz", &options, &mesh);
    FUZZ_CHECK(!status == (mesh != NULL));
    if (status) {
        FUZZ_CHECK(status == ABUT_ERROR_FORMAT || status == ABUT_ERROR_UNSUPPORTED ||
                   status == ABUT_ERROR_LIMIT);
        FUZZ_CHECK(!strncmp(abut_last_error(), "fuzz: ", 6));
        return 0;
    }
    fuzz_valid(mesh);
    FUZZ_CHECK(options.uv == (abut_mesh_uv(mesh) != NULL));
    switch (data[0] >> 2 & 7) { /* one way back an input keeps it fast */
    case 0:
        fuzz_round_trip(mesh, ABUT_MESH_FORMAT_OBJ, false);
        break;
    case 1:
    case 2:
        fuzz_round_trip(mesh, ABUT_MESH_FORMAT_PLY, data[0] >> 2 & 1);
        break;
    case 3:
    case 4:
        fuzz_round_trip(mesh, ABUT_MESH_FORMAT_STL, data[0] >> 2 & 1);
        break;
    case 5:
    case 6:
        if (strstr(abut_features(), "gltf"))
            fuzz_round_trip(mesh, ABUT_MESH_FORMAT_GLTF, data[0] >> 2 & 1);
        break;
    default:
        break;
    }
    abut_mesh_destroy(mesh);
    return 0;
}

#endif
