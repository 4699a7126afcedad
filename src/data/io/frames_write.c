/* Writes recorded motion. See frames.h for the format. Frames are written one by one, so that a
 * recording of any length needs the memory of one frame. */
#include "io/frames.h"

struct abut_frames_writer {
    abut_context *context; /* reference */
    abuti_sink sink;
    abut_scalar_type type;
    bool aims;
    size_t vertex_count, frame_bytes; /* without the checksum */
    uint64_t frame_count;
    unsigned char *frame; /* one frame as stored */
};

static abut_status check_create(abut_mesh *const *meshes, uint32_t count, const char *path,
                                const abut_frames_options *o) {
    const char *function = "abut_frames_writer_create";
    if (!count)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: count is 0; a recording needs at least one mesh", function);
    for (uint32_t i = 0; i < count; i++)
        if (!meshes[i])
            return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: meshes[%u] is null", function, i);
    if (!path[0])
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: path is empty", function);
    if ((unsigned)o->type > ABUT_SCALAR_FLOAT32)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: type is %d; it must be ABUT_SCALAR_FLOAT64 or ABUT_SCALAR_FLOAT32",
                          function, (int)o->type);
    if (!(o->seconds >= 0 && o->seconds <= DBL_MAX))
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: seconds is %g; it must be finite and not negative", function,
                          o->seconds);
    if (!abuti_is_position(o->up))
        return abuti_fail(ABUT_ERROR_ARGUMENT, "%s: up must be finite and at most %g", function,
                          ABUT_COORDINATE_MAX);
    for (uint32_t i = 0; o->names && i < count; i++)
        if (o->names[i] && !frames_is_name(o->names[i], strlen(o->names[i])))
            return abuti_fail(ABUT_ERROR_ARGUMENT,
                              "%s: names[%u] must have at most %d bytes and no control character",
                              function, i, ABUT_FRAMES_NAME_BYTES);
    return ABUT_OK;
}

/* Sums up vertices and computes the size of a frame. */
static abut_status compute_frame_layout(abut_mesh *const *meshes, uint32_t count,
                                        abut_frames_writer *w) {
    size_t each = 3 * frames_scalar_bytes(w->type) * (w->aims ? 2 : 1);
    bool fits = true;
    for (uint32_t i = 0; i < count && fits; i++)
        fits = !abuti_add_overflows(w->vertex_count, meshes[i]->vertex_count, &w->vertex_count);
    if (fits && !abuti_multiply_overflows(w->vertex_count, each, &w->frame_bytes))
        return ABUT_OK;
    return abuti_fail(ABUT_ERROR_LIMIT,
                      "abut_frames_writer_create: the vertices exceed what memory can address");
}

/* The up axis and the names of all meshes. */
static abut_status write_extra(uint32_t count, const abut_frames_options *o,
                               abut_frames_writer *w) {
    frames_extra extra = {.name_bytes = count};
    const double length = v3_length(o->up);
    for (uint32_t i = 0; o->names && i < count; i++)
        extra.name_bytes += o->names[i] ? strlen(o->names[i]) : 0;
    char *names = abuti_allocate_zeroed(w->context, extra.name_bytes, 1), *to = names;
    if (!names)
        return ABUT_ERROR_MEMORY;
    for (uint32_t i = 0; i < count; i++, to++) {
        const char *name = o->names && o->names[i] ? o->names[i] : "";
        const size_t bytes = strlen(name);
        memcpy(to, name, bytes);
        to += bytes;
    }
    if (length > 0) {
        const double up[3] = {o->up.x / length, o->up.y / length, o->up.z / length};
        memcpy(extra.up, up, sizeof up);
    }
    extra.name_checksum = abuti_checksum(names, (size_t)extra.name_bytes);
    extra.checksum = abuti_checksum(&extra, offsetof(frames_extra, checksum));
    abuti_sink_write(&w->sink, &extra, sizeof extra);
    abuti_sink_write(&w->sink, names, (size_t)extra.name_bytes);
    abuti_release(w->context, names);
    return ABUT_OK;
}

static abut_status write_triangles(abut_mesh *const *meshes, uint32_t count,
                                   const abut_frames_options *o, abut_frames_writer *w) {
    frames_head head = {.order = FRAMES_ORDER,
                        .version = FRAMES_VERSION,
                        .mesh_count = count,
                        .type = o->type == ABUT_SCALAR_FLOAT32,
                        .aims = o->aims,
                        .seconds = o->seconds > 0 ? o->seconds : FRAMES_SECONDS};
    memcpy(head.magic, FRAMES_MAGIC, sizeof head.magic);
    head.checksum = abuti_checksum(&head, offsetof(frames_head, checksum));
    frames_entry *table = abuti_allocate(w->context, count, sizeof *table);
    if (!table)
        return ABUT_ERROR_MEMORY;
    for (uint32_t i = 0; i < count; i++)
        table[i] = (frames_entry){meshes[i]->vertex_count, meshes[i]->triangle_count,
                                  abuti_checksum(meshes[i]->indices,
                                                 12 * (size_t)meshes[i]->triangle_count)};
    uint64_t sum = abuti_checksum(table, count * sizeof *table);
    abuti_sink_write(&w->sink, &head, sizeof head);
    abuti_sink_write(&w->sink, table, count * sizeof *table);
    abuti_sink_write(&w->sink, &sum, sizeof sum);
    abut_status status = write_extra(count, o, w);
    for (uint32_t i = 0; i < count && !status; i++)
        abuti_sink_write(&w->sink, meshes[i]->indices, 12 * (size_t)meshes[i]->triangle_count);
    abuti_release(w->context, table);
    return status;
}

abut_status abut_frames_writer_create(abut_mesh *const *meshes, uint32_t count, const char *path,
                                      const abut_frames_options *options,
                                      abut_frames_writer **writer) {
    if (!meshes || !path || !writer)
        return abuti_null(__func__, !meshes ? "meshes" : !path ? "path" : "writer");
    abut_frames_options o = abut_frames_options_default();
    abut_status status =
        abuti_options_read(&o, sizeof o, options, "abut_frames_writer_create: options");
    if (status || (status = check_create(meshes, count, path, &o)))
        return status;
    abut_context *context = meshes[0]->context;
    abut_frames_writer *made = abuti_allocate_zeroed(context, 1, sizeof *made);
    if (!made)
        return ABUT_ERROR_MEMORY;
    made->context = abuti_context_retain(context);
    made->type = o.type;
    made->aims = o.aims;
    status = compute_frame_layout(meshes, count, made);
    if (!status && !(made->frame = abuti_allocate(context, made->frame_bytes, 1)))
        status = ABUT_ERROR_MEMORY;
    if (!status)
        status = abuti_sink_open(&made->sink, context, path);
    if (!status)
        status = write_triangles(meshes, count, &o, made);
    if (status)
        abut_frames_writer_discard(made);
    else
        *writer = made;
    return status;
}

static bool is_coordinate(double value) {
    return value >= -ABUT_COORDINATE_MAX && value <= ABUT_COORDINATE_MAX; /* false for NaN */
}

/* Copies positions to the frame. Returns the index of the first invalid one, or SIZE_MAX. */
static size_t pack_positions(const abut_frames_writer *w, const abut_vec3 *from,
                             unsigned char *to) {
    for (size_t i = 0; i < w->vertex_count; i++) {
        const double p[3] = {from[i].x, from[i].y, from[i].z};
        for (size_t k = 0; k < 3; k++) {
            if (!is_coordinate(p[k]))
                return i;
            if (w->type == ABUT_SCALAR_FLOAT32) {
                if (fabs(p[k]) > (double)FLT_MAX || (double)(float)p[k] != p[k])
                    return i;
                ((float *)(void *)to)[3 * i + k] = (float)p[k];
            } else {
                ((double *)(void *)to)[3 * i + k] = p[k];
            }
        }
    }
    return SIZE_MAX;
}

abut_status abut_frames_writer_add(abut_frames_writer *writer, const abut_vec3 *positions,
                                   const abut_vec3 *aims) {
    if (!writer || !positions)
        return abuti_null(__func__, writer ? "positions" : "writer");
    if (!aims != !writer->aims)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_frames_writer_add: the writer was created %s aims, but aims is %s",
                          writer->aims ? "with" : "without", aims ? "given" : "null");
    size_t half = writer->frame_bytes / (aims ? 2 : 1),
           bad = pack_positions(writer, positions, writer->frame);
    const char *what = "position";
    if (bad == SIZE_MAX && aims) {
        what = "aim";
        bad = pack_positions(writer, aims, writer->frame + half);
    }
    if (bad != SIZE_MAX)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_frames_writer_add: the %s of vertex %zu is not finite, or exceeds "
                          "%g%s",
                          what, bad, ABUT_COORDINATE_MAX,
                          writer->type == ABUT_SCALAR_FLOAT32
                              ? ", or is not a float; round it, or write doubles"
                              : "");
    uint64_t sum = frame_checksum(writer->frame, writer->frame_bytes, writer->frame_count);
    abuti_sink_write(&writer->sink, writer->frame, writer->frame_bytes);
    abuti_sink_write(&writer->sink, &sum, sizeof sum);
    if (writer->sink.error) /* report a full disk now, not at the end of the recording */
        return abuti_fail(ABUT_ERROR_FILE, "%s: could not be written: %s", writer->sink.path,
                          strerror(writer->sink.error));
    writer->frame_count++;
    return ABUT_OK;
}

abut_status abut_frames_writer_finish(abut_frames_writer *writer) {
    if (!writer)
        return abuti_null(__func__, "writer");
    if (!writer->frame_count) {
        abut_frames_writer_discard(writer);
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_frames_writer_finish: there are no frames; add at least one");
    }
    frames_tail tail = {.frame_count = writer->frame_count};
    memcpy(tail.magic, FRAMES_END, sizeof tail.magic);
    tail.checksum = abuti_checksum(&tail, offsetof(frames_tail, checksum));
    abuti_sink_write(&writer->sink, &tail, sizeof tail);
    abut_status status = abuti_sink_commit(&writer->sink);
    abut_frames_writer_discard(writer);
    return status;
}

void abut_frames_writer_discard(abut_frames_writer *writer) {
    if (!writer)
        return;
    if (writer->sink.file)
        abuti_sink_discard(&writer->sink);
    abut_context *context = writer->context;
    ABUTI_RELEASE(context, writer->frame, writer);
    abut_context_destroy(context);
}
