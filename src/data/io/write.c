/* Writes OBJ, OFF, PLY, STL and glTF.
 *
 * OBJ, OFF and PLY keep every bit: PLY declares its coordinates float if all are floats, otherwise
 * double; OBJ and OFF, which have no types and are read as doubles, get as many digits as a double
 * needs to be read back exactly. STL has floats, and as text the digits that give exactly these
 * floats as doubles; its normals are computed from the geometry before rounding. glTF has floats
 * too, relative to the origin of the mesh, which is the translation of its node: coordinates that
 * were read as floats stay exact at any distance from zero. Numbers are written by number.c, so
 * that no locale changes the decimal point.
 */
#include "base/system.h"
#include "io/files.h"

#include <string.h>

#define BUFFER_BYTES (64u * 1024u)
#define LINE_BYTES 512u /* more than any one element needs */

typedef struct writer {
    const abut_mesh *mesh;
    abuti_sink sink;
    bool single;    /* every coordinate is a float */
    bool is_base64; /* glTF: bytes as base64 */
    char stage[420];
    size_t used;
    char *buffer;
} writer;

/* ---- bytes ---- */

static void flush(writer *out) {
    abuti_sink_write(&out->sink, out->buffer, out->used);
    out->used = 0;
}

static void write_bytes(writer *out, const void *bytes, size_t count) {
    memcpy(out->buffer + out->used, bytes, count);
    out->used += count;
}

static void write_text(writer *out, const char *text) {
    write_bytes(out, text, strlen(text));
}

/* Writes the coordinates of a vector with `between` before the second and the third. */
static void write_vector(writer *out, const char *before, vec3 p, bool single, const char *between,
                         const char *after) {
    for (int axis = 0; axis < 3; axis++) {
        write_text(out, axis ? between : before);
        out->used += abuti_number_write(out->buffer + out->used, v3_get(p, axis), single);
    }
    write_text(out, after);
}

static void write_integer(writer *out, uint64_t value) {
    out->buffer[out->used++] = ' ';
    out->used += abuti_integer_write(out->buffer + out->used, value);
}

/* Little-endian on every machine. */
static void write_u32(writer *out, uint32_t value) {
    unsigned char bytes[4] = {(unsigned char)value, (unsigned char)(value >> 8),
                              (unsigned char)(value >> 16), (unsigned char)(value >> 24)};
    write_bytes(out, bytes, 4);
}

static void write_float(writer *out, double value) {
    float rounded = (float)value;
    uint32_t bits;
    memcpy(&bits, &rounded, sizeof bits);
    write_u32(out, bits);
}

static void write_double(writer *out, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    write_u32(out, (uint32_t)bits);
    write_u32(out, (uint32_t)(bits >> 32));
}

/* Before each element: flushes the buffer if necessary and reports progress at intervals. `first`
 * of `total` is the part of the file before the elements that `index` counts. */
static abut_status prepare_element(writer *out, uint64_t index, uint64_t first, uint64_t total) {
    if (out->used + LINE_BYTES > BUFFER_BYTES)
        flush(out);
    if (index % 65536)
        return ABUT_OK;
    return abuti_progress(out->mesh->context, out->stage, (double)(first + index) / (double)total);
}

/* ---- OBJ, OFF and PLY ---- */

/* Writes one line or record for each vertex. */
typedef void write_vertex(writer *out, vec3 p);
typedef void write_face(writer *out, const uint32_t *corners);

static abut_status write_elements(writer *out, write_vertex *vertex, write_face *face) {
    const abut_mesh *mesh = out->mesh;
    uint64_t total = (uint64_t)mesh->vertex_count + mesh->triangle_count;
    abut_status status = ABUT_OK;
    for (uint32_t i = 0; i < mesh->vertex_count && !status; i++) {
        status = prepare_element(out, i, 0, total);
        vertex(out, abuti_mesh_position(mesh, i));
    }
    for (uint32_t i = 0; i < mesh->triangle_count && !status; i++) {
        status = prepare_element(out, i, mesh->vertex_count, total);
        face(out, mesh->indices + 3 * (size_t)i);
    }
    return status;
}

static void write_obj_vertex(writer *out, vec3 p) {
    write_vector(out, "v ", p, false, " ", "\n");
}

static void write_obj_face(writer *out, const uint32_t *corners) {
    out->buffer[out->used++] = 'f';
    for (int k = 0; k < 3; k++)
        write_integer(out, (uint64_t)corners[k] + 1);
    out->buffer[out->used++] = '\n';
}

/* The text of PLY and OFF; `single` is false for OFF. */
static void write_text_vertex(writer *out, vec3 p) {
    write_vector(out, "", p, out->single, " ", "\n");
}

static void write_text_face(writer *out, const uint32_t *corners) {
    out->buffer[out->used++] = '3';
    for (int k = 0; k < 3; k++)
        write_integer(out, corners[k]);
    out->buffer[out->used++] = '\n';
}

static void write_ply_vertex(writer *out, vec3 p) {
    for (int axis = 0; axis < 3; axis++)
        if (out->single)
            write_float(out, v3_get(p, axis));
        else
            write_double(out, v3_get(p, axis));
}

static void write_ply_face(writer *out, const uint32_t *corners) {
    out->buffer[out->used++] = 3;
    for (int k = 0; k < 3; k++)
        write_u32(out, corners[k]);
}

static abut_status write_off(writer *out) {
    write_text(out, "OFF\n");
    write_integer(out, out->mesh->vertex_count);
    write_integer(out, out->mesh->triangle_count);
    write_text(out, " 0\n");
    return write_elements(out, write_text_vertex, write_text_face);
}

static abut_status write_ply(writer *out, bool text) {
    const abut_mesh *mesh = out->mesh;
    write_text(out, "ply\nformat ");
    write_text(out, text ? "ascii" : "binary_little_endian");
    write_text(out, " 1.0\nelement vertex");
    write_integer(out, mesh->vertex_count);
    for (int axis = 0; axis < 3; axis++) {
        write_text(out, out->single ? "\nproperty float " : "\nproperty double ");
        out->buffer[out->used++] = (char)('x' + axis);
    }
    write_text(out, "\nelement face");
    write_integer(out, mesh->triangle_count);
    write_text(out, mesh->vertex_count <= INT32_MAX ? "\nproperty list uchar int vertex_indices"
                                                    : "\nproperty list uchar uint vertex_indices");
    write_text(out, "\nend_header\n");
    return text ? write_elements(out, write_text_vertex, write_text_face)
                : write_elements(out, write_ply_vertex, write_ply_face);
}

/* ---- STL ---- */

static vec3 normal_of(const abut_mesh *mesh, const uint32_t *corners) {
    vec3 a = mesh->positions[corners[0]];
    return v3_normalise(
        v3_cross(v3_sub(mesh->positions[corners[1]], a), v3_sub(mesh->positions[corners[2]], a)));
}

static void write_stl_triangle(writer *out, const uint32_t *corners) {
    vec3 normal = normal_of(out->mesh, corners);
    for (int k = -1; k < 3; k++) {
        vec3 p = k < 0 ? normal : abuti_mesh_position(out->mesh, corners[k]);
        write_float(out, p.x);
        write_float(out, p.y);
        write_float(out, p.z);
    }
    write_bytes(out, "\0\0", 2);
}

static vec3 round_to_floats(vec3 p) {
    return v3((double)(float)p.x, (double)(float)p.y, (double)(float)p.z);
}

static void write_stl_facet(writer *out, const uint32_t *corners) {
    write_vector(out, "facet normal ", round_to_floats(normal_of(out->mesh, corners)), true, " ",
                 "\n outer loop\n");
    for (int k = 0; k < 3; k++)
        write_vector(out, "  vertex ", round_to_floats(abuti_mesh_position(out->mesh, corners[k])),
                     false, " ", "\n");
    write_text(out, " endloop\nendfacet\n");
}

static abut_status write_stl(writer *out, bool text) {
    const abut_mesh *mesh = out->mesh;
    if (text) {
        write_text(out, "solid abut\n");
    } else {
        char head[80] = "binary STL, units unknown";
        write_bytes(out, head, sizeof head);
        write_u32(out, mesh->triangle_count);
    }
    abut_status status = ABUT_OK;
    for (uint32_t i = 0; i < mesh->triangle_count && !status; i++) {
        status = prepare_element(out, i, 0, mesh->triangle_count);
        (text ? write_stl_facet : write_stl_triangle)(out, mesh->indices + 3 * (size_t)i);
    }
    if (text)
        write_text(out, "endsolid abut\n");
    return status;
}

/* ---- glTF ---- */

/* Converts the last `count` bytes, a multiple of 3, to base64 if the file is text. */
static void convert_to_base64(writer *out, size_t count) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    unsigned char bytes[12];
    if (!out->is_base64)
        return;
    out->used -= count;
    memcpy(bytes, out->buffer + out->used, count);
    for (size_t i = 0; i < count; i += 3) {
        uint32_t bits = (uint32_t)bytes[i] << 16 | (uint32_t)bytes[i + 1] << 8 | bytes[i + 2];
        for (int k = 18; k >= 0; k -= 6)
            out->buffer[out->used++] = digits[bits >> k & 63];
    }
}

static void write_gltf_vertex(writer *out, vec3 p) {
    vec3 q = v3_sub(p, out->mesh->origin); /* exact, see mesh.c */
    write_float(out, q.x);
    write_float(out, q.y);
    write_float(out, q.z);
    convert_to_base64(out, 12);
}

static void write_gltf_face(writer *out, const uint32_t *corners) {
    for (int k = 0; k < 3; k++)
        write_u32(out, corners[k]);
    convert_to_base64(out, 12);
}

/* The JSON up to the length of the buffer. */
static void write_gltf_head(writer *out) {
    const abut_mesh *mesh = out->mesh;
    box3 box = box_empty();
    for (uint32_t i = 0; i < mesh->vertex_count; i++)
        box = box_grow(box, round_to_floats(mesh->positions[i]));
    write_text(out,
               "{\"asset\":{\"version\":\"2.0\",\"generator\":\"abut\"},\"scene\":0,\"scenes\":[{"
               "\"nodes\":[0]}],\"nodes\":[{\"mesh\":0");
    if (v3_max_abs(mesh->origin) > 0)
        write_vector(out, ",\"translation\":[ ", mesh->origin, false, ", ", "]");
    write_text(
        out,
        "}],\"meshes\":[{\"primitives\":[{\"attributes\":{\"POSITION\":0},\"indices\":1}]}],"
        "\"accessors\":[{\"bufferView\":0,\"componentType\":5126,\"type\":\"VEC3\",\"count\":");
    write_integer(out, mesh->vertex_count);
    write_vector(out, ",\"min\":[ ", box.lo, false, ", ", "]");
    write_vector(out, ",\"max\":[ ", box.hi, false, ", ", "]");
    write_text(out, "},{\"bufferView\":1,\"componentType\":5125,\"type\":\"SCALAR\",\"count\":");
    write_integer(out, 3 * (uint64_t)mesh->triangle_count);
    write_text(out, "}],\"bufferViews\":[{\"buffer\":0,\"target\":34962,\"byteLength\":");
    write_integer(out, 12 * (uint64_t)mesh->vertex_count);
    write_text(out, "},{\"buffer\":0,\"target\":34963,\"byteOffset\":");
    write_integer(out, 12 * (uint64_t)mesh->vertex_count);
    write_text(out, ",\"byteLength\":");
    write_integer(out, 12 * (uint64_t)mesh->triangle_count);
    write_text(out, "}],\"buffers\":[{\"byteLength\":");
    write_integer(out, 12 * ((uint64_t)mesh->vertex_count + mesh->triangle_count));
}

/* As text, or as GLB: a header of 12 bytes, then two chunks with headers of 8. */
static abut_status write_gltf(writer *out, bool text) {
    const uint32_t header_bytes = 12 + 8;
    uint32_t bytes =
        (uint32_t)(12 * ((uint64_t)out->mesh->vertex_count + out->mesh->triangle_count));
    out->is_base64 = text;
    out->used = text ? 0 : header_bytes;
    write_gltf_head(out);
    write_text(out, text ? ",\"uri\":\"data:application/octet-stream;base64," : "}]}");
    if (!text) {
        while (out->used % 4)
            write_text(out, " ");
        size_t used = out->used;
        out->used = 0;
        write_text(out, "glTF");
        write_u32(out, 2);
        write_u32(out, (uint32_t)used + 8 + bytes);
        write_u32(out, (uint32_t)used - header_bytes);
        write_text(out, "JSON");
        out->used = used;
        write_u32(out, bytes);
        write_bytes(out, "BIN", 4);
    }
    abut_status status = write_elements(out, write_gltf_vertex, write_gltf_face);
    if (text)
        write_text(out, "\"}]}\n");
    return status;
}

/* Fails if a vertex is too large for floats, or all would round to nearly one point. glTF has all
 * vertices, relative to the origin; STL has corners. */
static abut_status check_floats(const abut_mesh *mesh, const char *path, abut_mesh_format format) {
    const bool is_gltf = format == ABUT_MESH_FORMAT_GLTF;
    const char *name = is_gltf ? "glTF" : "STL";
    const size_t count = is_gltf ? mesh->vertex_count : 3 * (size_t)mesh->triangle_count;
    for (size_t i = 0; i < count; i++) {
        uint32_t v = is_gltf ? (uint32_t)i : mesh->indices[i];
        vec3 p = is_gltf ? mesh->positions[v] : abuti_mesh_position(mesh, v);
        if (v3_max_abs(p) > (double)FLT_MAX)
            return abuti_fail(ABUT_ERROR_ARGUMENT,
                              "%s: vertex %u is (%g, %g, %g), too large for the floats of %s; "
                              "write OBJ or PLY",
                              path, v, p.x, p.y, p.z, name);
    }
    const double size = v3_max_abs(v3_sub(mesh->bounds.hi, mesh->bounds.lo));
    if (size > 0 && size < (double)FLT_MIN)
        return abuti_fail(
            ABUT_ERROR_ARGUMENT,
            "%s: the size of the mesh is %g, too small for the floats of %s; write OBJ or PLY",
            path, size, name);
    return ABUT_OK;
}

/* ---- entry point ---- */

static bool has_float_coordinates(const abut_mesh *mesh) {
    for (uint32_t i = 0; i < mesh->vertex_count; i++) {
        vec3 p = abuti_mesh_position(mesh, i);
        if (v3_max_abs(p) > (double)FLT_MAX)
            return false;
        vec3 q = round_to_floats(p);
        if (p.x != q.x || p.y != q.y || p.z != q.z)
            return false;
    }
    return true;
}

static abut_status choose_format(const char *path, abut_mesh_write_options *options) {
    if ((unsigned)options->format > ABUT_MESH_FORMAT_OTHER)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "abut_mesh_write: unknown format %u",
                          (unsigned)options->format);
    if (options->format == ABUT_MESH_FORMAT_AUTO)
        options->format = abuti_mesh_format_of_name(path);
    if (options->format == ABUT_MESH_FORMAT_AUTO || options->format == ABUT_MESH_FORMAT_OTHER)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: its ending is not a format that abut writes; use .obj, .off, .ply, "
                          ".stl, .glb or .gltf, or set the format",
                          path);
    size_t length = strlen(path);
    if (options->format == ABUT_MESH_FORMAT_GLTF && length >= 5 &&
        !strcasecmp(path + length - 5, ".gltf"))
        options->ascii = true;
    return ABUT_OK;
}

static abut_status write_format(writer *out, const char *path,
                                const abut_mesh_write_options *options) {
    abut_status status = abuti_sink_open(&out->sink, out->mesh->context, path);
    if (status)
        return status;
    switch (options->format) {
    case ABUT_MESH_FORMAT_OBJ:
        status = write_elements(out, write_obj_vertex, write_obj_face);
        break;
    case ABUT_MESH_FORMAT_OFF:
        status = write_off(out);
        break;
    case ABUT_MESH_FORMAT_PLY:
        out->single = has_float_coordinates(out->mesh);
        status = write_ply(out, options->ascii);
        break;
    case ABUT_MESH_FORMAT_GLTF:
        status = write_gltf(out, options->ascii);
        break;
    default:
        status = write_stl(out, options->ascii);
        break;
    }
    if (status) {
        abuti_sink_discard(&out->sink);
        return status;
    }
    flush(out);
    return abuti_sink_commit(&out->sink);
}

abut_status abut_mesh_write(const abut_mesh *mesh, const char *path,
                            const abut_mesh_write_options *options) {
    if (!mesh || !path)
        return abuti_null(__func__, mesh ? "path" : "mesh");
    abut_mesh_write_options ours = abut_mesh_write_options_default();
    abut_status status = abuti_options_read(&ours, sizeof ours, options, "abut_mesh_write");
    if (!status)
        status = choose_format(path, &ours);
    if (!status && ours.format == ABUT_MESH_FORMAT_GLTF && !ours.ascii &&
        12 * ((uint64_t)mesh->vertex_count + mesh->triangle_count) > UINT32_MAX - 4096)
        status = abuti_fail(ABUT_ERROR_LIMIT, "%s: a GLB has at most 4 GiB; write PLY", path);
    if (!status && (ours.format == ABUT_MESH_FORMAT_STL || ours.format == ABUT_MESH_FORMAT_GLTF))
        status = check_floats(mesh, path, ours.format);
    if (status)
        return status;
    writer out = {.mesh = mesh};
    memcpy(out.stage, "writing ", 8);
    abuti_escape(path, out.stage + 8, sizeof out.stage - 8);
    out.buffer = abuti_allocate(mesh->context, BUFFER_BYTES, 1);
    status = out.buffer ? write_format(&out, path, &ours) : ABUT_ERROR_MEMORY;
    abuti_release(mesh->context, out.buffer);
    return status;
}
