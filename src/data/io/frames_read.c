/* Reads recorded motion. See frames.h for the format. */
#include "io/frames.h"

struct abut_frames {
    abut_context *context; /* reference */
    abuti_source source;
    const unsigned char *memory; /* start of a file in memory, otherwise null */
    char *file_name;             /* printable */
    abut_frames_info info;
    uint32_t version;
    uint64_t file_bytes, first_frame; /* offset of the first frame */
    char *names;                      /* of all meshes, each with a zero at its end; null = none */
    const char **name;                /* where each begins */
    size_t frame_bytes;               /* without the checksum */
    unsigned char *frame;             /* one frame as stored, with its checksum */
    frames_entry *table;
    abut_mesh **meshes; /* of the first frame */
};

static abut_status fail_damaged(const abut_frames *f, const char *what) {
    return abuti_fail(ABUT_ERROR_FORMAT, "%s: is damaged: %s; record it again", f->file_name, what);
}

static abut_status fail_truncated(const abut_frames *f) {
    if (f->source.failed)
        return abuti_fail(ABUT_ERROR_FILE, "%s: cannot be read", f->file_name);
    return abuti_fail(ABUT_ERROR_FORMAT, "%s: is truncated; record it again", f->file_name);
}

/* Reads a range of the file. */
static abut_status read_frame_bytes(abut_frames *f, uint64_t offset, void *to, uint64_t bytes) {
    if (offset > f->file_bytes || bytes > f->file_bytes - offset)
        return fail_truncated(f);
    if (f->memory) {
        f->source.at = f->memory + offset;
    } else {
        abut_status status = abuti_source_seek(&f->source, offset, bytes);
        if (status)
            return status;
    }
    return abuti_source_read(&f->source, to, (size_t)bytes) == bytes ? ABUT_OK : fail_truncated(f);
}

/* ---- open ---- */

static abut_status read_head(abut_frames *f) {
    frames_head head;
    if (f->file_bytes < sizeof head.magic)
        return abuti_fail(ABUT_ERROR_FORMAT, "%s: is not a recording of abut", f->file_name);
    abut_status status =
        read_frame_bytes(f, 0, &head,
                         f->file_bytes < sizeof head ? sizeof head.magic : sizeof head);
    if (status)
        return status;
    if (memcmp(head.magic, FRAMES_MAGIC, sizeof head.magic) != 0)
        return abuti_fail(ABUT_ERROR_FORMAT, "%s: is not a recording of abut", f->file_name);
    if (f->file_bytes < sizeof head)
        return fail_truncated(f);
    if (head.order != FRAMES_ORDER)
        return abuti_fail(
            ABUT_ERROR_UNSUPPORTED,
            "%s: was written on a machine with the other byte order; record it again on this one",
            f->file_name);
    if (head.version > FRAMES_VERSION)
        return abuti_fail(ABUT_ERROR_UNSUPPORTED,
                          "%s: was written by a newer version of abut (its format is %u, this "
                          "version reads up to %d); update abut, or record it again",
                          f->file_name, head.version, FRAMES_VERSION);
    if (!head.version || head.checksum != abuti_checksum(&head, offsetof(frames_head, checksum)))
        return fail_damaged(f, "the header fails its checksum");
    /* a file may have a correct checksum and wrong values */
    if (!head.mesh_count || head.type > 1 || head.aims > 1 || head.reserved ||
        !(head.seconds > 0 && head.seconds <= DBL_MAX))
        return fail_damaged(f, "the header has invalid values");
    f->info.mesh_count = head.mesh_count;
    f->info.type = head.type ? ABUT_SCALAR_FLOAT32 : ABUT_SCALAR_FLOAT64;
    f->info.aims = head.aims;
    f->info.seconds = head.seconds;
    f->version = head.version;
    return ABUT_OK;
}

static abut_status read_table(abut_frames *f) {
    uint64_t bytes = f->info.mesh_count * (uint64_t)sizeof *f->table, sum;
    if (bytes > f->file_bytes)
        return fail_truncated(f);
    f->table = abuti_allocate(f->context, f->info.mesh_count, sizeof *f->table);
    if (!f->table)
        return ABUT_ERROR_MEMORY;
    abut_status status = read_frame_bytes(f, sizeof(frames_head), f->table, bytes);
    if (status || (status = read_frame_bytes(f, sizeof(frames_head) + bytes, &sum, sizeof sum)))
        return status;
    if (sum != abuti_checksum(f->table, (size_t)bytes))
        return fail_damaged(f, "the list of meshes fails its checksum");
    f->first_frame = sizeof(frames_head) + bytes + sizeof sum;
    for (uint32_t i = 0; i < f->info.mesh_count; i++) {
        if (!f->table[i].triangle_count || !f->table[i].vertex_count)
            return fail_damaged(f, "a mesh is empty");
        f->info.vertex_count += f->table[i].vertex_count;
        f->info.triangle_count += f->table[i].triangle_count;
    }
    return ABUT_OK;
}

/* Finds the names of all meshes: as many as there are zeros. */
static abut_status split_names(abut_frames *f, const char *names, size_t bytes) {
    const char *at = names, *end = names + bytes;
    for (uint32_t i = 0; i < f->info.mesh_count; i++) {
        const char *zero = at < end ? memchr(at, 0, (size_t)(end - at)) : NULL;
        if (!zero || !frames_is_name(at, (size_t)(zero - at)))
            return fail_damaged(f, "the names of its meshes are invalid");
        f->name[i] = at;
        at = zero + 1;
    }
    return at == end ? ABUT_OK : fail_damaged(f, "the names of its meshes are invalid");
}

static abut_status read_extra(abut_frames *f) {
    frames_extra extra;
    if (f->version < 2)
        return ABUT_OK;
    abut_status status = read_frame_bytes(f, f->first_frame, &extra, sizeof extra);
    if (status)
        return status;
    if (extra.checksum != abuti_checksum(&extra, offsetof(frames_extra, checksum)))
        return fail_damaged(f, "the up axis fails its checksum");
    const vec3 up = v3(extra.up[0], extra.up[1], extra.up[2]);
    const double length = v3_length(up);
    if (!(length == 0 || fabs(length - 1) < 1e-12))
        return fail_damaged(f, "the up axis is not a unit vector");
    f->first_frame += sizeof extra;
    if (extra.name_bytes > f->file_bytes - f->first_frame)
        return fail_truncated(f);
    status = ABUTI_ALLOCATE(f->context, ABUTI_ARRAY(f->names, (size_t)extra.name_bytes),
                            ABUTI_ARRAY(f->name, f->info.mesh_count));
    if (!status)
        status = read_frame_bytes(f, f->first_frame, f->names, extra.name_bytes);
    if (status)
        return status;
    f->first_frame += extra.name_bytes;
    f->info.up = up;
    return extra.name_checksum == abuti_checksum(f->names, (size_t)extra.name_bytes)
               ? split_names(f, f->names, (size_t)extra.name_bytes)
               : fail_damaged(f, "the names of its meshes fail their checksum");
}

/* Checks the length of the file. Sums cannot overflow: fewer than 2^32 meshes have fewer than 2^32
 * vertices or triangles. Products are bounded by the size of the file before they are used. */
static abut_status check_lengths(abut_frames *f) {
    frames_tail tail;
    uint64_t each = 3 * frames_scalar_bytes(f->info.type) * (f->info.aims ? 2 : 1);
    uint64_t room = f->file_bytes - f->first_frame;
    if (f->info.triangle_count > room / 12)
        return fail_truncated(f);
    f->first_frame += 12 * f->info.triangle_count;
    room = f->file_bytes - f->first_frame;
    if (room < sizeof tail)
        return fail_truncated(f);
    abut_status status = read_frame_bytes(f, f->file_bytes - sizeof tail, &tail, sizeof tail);
    if (status)
        return status;
    if (memcmp(tail.magic, FRAMES_END, sizeof tail.magic) != 0)
        return fail_truncated(f);
    if (tail.checksum != abuti_checksum(&tail, offsetof(frames_tail, checksum)))
        return fail_damaged(f, "the end of the file fails its checksum");
    room -= sizeof tail;
    if (!tail.frame_count || f->info.vertex_count > room / each)
        return fail_damaged(f, "it has no complete frame");
    uint64_t frame = f->info.vertex_count * each + sizeof(uint64_t);
    if (room % frame || room / frame != tail.frame_count || frame > SIZE_MAX)
        return fail_damaged(f, "its length does not match its frames");
    f->info.frame_count = tail.frame_count;
    f->frame_bytes = (size_t)(frame - sizeof(uint64_t));
    return ABUT_OK;
}

static void unpack_positions(const abut_frames *f, const unsigned char *from, size_t first,
                             size_t count, abut_vec3 *to) {
    const float *floats = (const float *)(const void *)from + 3 * first;
    const double *doubles = (const double *)(const void *)from + 3 * first;
    for (size_t i = 0; i < count; i++)
        to[i] =
            f->info.type == ABUT_SCALAR_FLOAT32
                ? v3((double)floats[3 * i], (double)floats[3 * i + 1], (double)floats[3 * i + 2])
                : v3(doubles[3 * i], doubles[3 * i + 1], doubles[3 * i + 2]);
}

/* Whether all numbers of the frame are valid coordinates. */
static bool is_frame_valid(const abut_frames *f) {
    size_t count = f->frame_bytes / frames_scalar_bytes(f->info.type);
    const float *floats = (const float *)(const void *)f->frame;
    const double *doubles = (const double *)(const void *)f->frame;
    for (size_t i = 0; i < count; i++) {
        double value = f->info.type == ABUT_SCALAR_FLOAT32 ? (double)floats[i] : doubles[i];
        if (!(value >= -ABUT_COORDINATE_MAX && value <= ABUT_COORDINATE_MAX))
            return false;
    }
    return true;
}

static abut_status read_frame(abut_frames *f, uint64_t frame) {
    uint64_t sum, bytes = f->frame_bytes + sizeof sum;
    abut_status status = read_frame_bytes(f, f->first_frame + frame * bytes, f->frame, bytes);
    if (status)
        return status;
    memcpy(&sum, f->frame + f->frame_bytes, sizeof sum);
    char what[96];
    snprintf(what, sizeof what, "frame %llu fails its checksum", (unsigned long long)frame);
    if (sum != frame_checksum(f->frame, f->frame_bytes, frame))
        return fail_damaged(f, what);
    snprintf(what, sizeof what, "frame %llu has an invalid position", (unsigned long long)frame);
    return is_frame_valid(f) ? ABUT_OK : fail_damaged(f, what);
}

/* Reads the indices of a mesh, or copies them once there is one. */
static abut_status load_indices(abut_frames *f, uint32_t number, uint64_t offset,
                                uint32_t *indices) {
    const size_t bytes = 12 * (size_t)f->table[number].triangle_count;
    if (f->meshes[number]) {
        memcpy(indices, f->meshes[number]->indices, bytes);
        return ABUT_OK;
    }
    abut_status status = read_frame_bytes(f, offset, indices, bytes);
    if (!status && abuti_checksum(indices, bytes) != f->table[number].checksum)
        status = fail_damaged(f, "triangles fail their checksum");
    return status;
}

/* Creates mesh `number` of the frame that was read last. */
static abut_status make_mesh(abut_frames *f, uint32_t number, size_t first_vertex, uint64_t offset,
                             abut_mesh **mesh) {
    const frames_entry *entry = &f->table[number];
    abut_vec3 *positions;
    uint32_t *indices;
    if (ABUTI_ALLOCATE(f->context, ABUTI_ARRAY(positions, entry->vertex_count),
                       ABUTI_ARRAY(indices, 3 * (size_t)entry->triangle_count)))
        return ABUT_ERROR_MEMORY;
    abut_status status = load_indices(f, number, offset, indices);
    if (status) {
        ABUTI_RELEASE(f->context, positions, indices);
        return status;
    }
    unpack_positions(f, f->frame, first_vertex, entry->vertex_count, positions);
    status = abuti_mesh_adopt(f->context, f->file_name, positions, entry->vertex_count, indices,
                              entry->triangle_count, mesh);
    return status == ABUT_ERROR_ARGUMENT ? ABUT_ERROR_FORMAT
                                         : status; /* an invalid index, or a size out of range */
}

static abut_status read_file(abut_frames *f) {
    abut_status status;
    if ((status = read_head(f)) || (status = read_table(f)) || (status = read_extra(f)) ||
        (status = check_lengths(f)) ||
        (status = ABUTI_ALLOCATE(f->context, ABUTI_ARRAY(f->frame, f->frame_bytes + 8),
                                 ABUTI_ZEROED(f->meshes, f->info.mesh_count))) ||
        (status = read_frame(f, 0)))
        return status;
    uint64_t offset = f->first_frame - 12 * f->info.triangle_count;
    size_t first = 0;
    for (uint32_t i = 0; i < f->info.mesh_count && !status; i++) {
        status = make_mesh(f, i, first, offset, &f->meshes[i]);
        offset += 12 * (uint64_t)f->table[i].triangle_count;
        first += f->table[i].vertex_count;
    }
    return status;
}

/* From a path or from memory. */
static abut_status open_frames(abut_context *context, const char *path, const void *data,
                               size_t bytes, const char *name, abut_frames **frames) {
    context = abuti_context_of(context);
    abut_frames *f = abuti_allocate_zeroed(context, 1, sizeof *f);
    if (!f)
        return ABUT_ERROR_MEMORY;
    f->context = abuti_context_retain(context);
    f->source.descriptor = -1;
    abut_status status = ABUT_ERROR_MEMORY;
    f->file_name = abuti_allocate(context, 4 * strlen(name) + 1, 1);
    if (f->file_name) {
        abuti_escape(name, f->file_name, 4 * strlen(name) + 1);
        status = ABUT_OK;
        if (path)
            status = abuti_source_open(&f->source, context, path);
        else
            abuti_source_memory(&f->source, context, data, bytes, f->file_name);
    }
    if (!status) {
        f->memory = path ? NULL : data;
        f->file_bytes = f->source.total;
        status = f->file_bytes ? read_file(f)
                               : abuti_fail(ABUT_ERROR_FORMAT,
                                            "%s: is empty, or not a regular file", f->file_name);
        f->source.name = f->file_name; /* the caller's string may be freed */
    }
    if (status)
        abut_frames_close(f);
    else
        *frames = f;
    return status;
}

abut_status abut_frames_open(abut_context *context, const char *path, abut_frames **frames) {
    if (!path || !frames)
        return abuti_null(__func__, path ? "frames" : "path");
    return open_frames(context, path, NULL, 0, path, frames);
}

abut_status abut_frames_open_memory(abut_context *context, const void *data, size_t bytes,
                                    const char *name, abut_frames **frames) {
    if (!data || !frames)
        return abuti_null(__func__, data ? "frames" : "data");
    return open_frames(context, NULL, data, bytes, name ? name : "memory", frames);
}

void abut_frames_close(abut_frames *frames) {
    if (!frames)
        return;
    abut_context *context = frames->context;
    for (uint32_t i = 0; frames->meshes && i < frames->info.mesh_count; i++)
        abut_mesh_destroy(frames->meshes[i]);
    if (frames->source.context)
        abuti_source_close(&frames->source);
    ABUTI_RELEASE(context, frames->meshes, frames->table, frames->frame, frames->names,
                  frames->name, frames->file_name, frames);
    abut_context_destroy(context);
}

/* ---- queries ---- */

abut_status abut_frames_get_info(const abut_frames *frames, abut_frames_info *info) {
    if (!frames || !info)
        return abuti_null(__func__, frames ? "info" : "frames");
    return abuti_info_write(info, &frames->info, sizeof frames->info, __func__);
}

abut_mesh *abut_frames_mesh(const abut_frames *frames, uint32_t mesh) {
    return frames && mesh < frames->info.mesh_count ? frames->meshes[mesh] : NULL;
}

const char *abut_frames_name(const abut_frames *frames, uint32_t mesh) {
    if (!frames || !frames->name || mesh >= frames->info.mesh_count)
        return NULL;
    return frames->name[mesh][0] ? frames->name[mesh] : NULL;
}

static abut_status read_frame_checked(abut_frames *f, const char *function, uint64_t frame) {
    if (frame >= f->info.frame_count)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "%s: there is no frame %llu; %s has %llu frames, counted from 0",
                          function, (unsigned long long)frame, f->file_name,
                          (unsigned long long)f->info.frame_count);
    return read_frame(f, frame);
}

abut_status abut_frames_read(abut_frames *frames, uint64_t frame, abut_vec3 *positions,
                             abut_vec3 *aims) {
    if (!frames || !positions)
        return abuti_null(__func__, frames ? "positions" : "frames");
    if (aims && !frames->info.aims)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "abut_frames_read: %s was recorded without aims",
                          frames->file_name);
    abut_status status = read_frame_checked(frames, "abut_frames_read", frame);
    if (status)
        return status;
    size_t count = (size_t)frames->info.vertex_count;
    unpack_positions(frames, frames->frame, 0, count, positions);
    if (aims)
        unpack_positions(frames, frames->frame, count, count, aims);
    return ABUT_OK;
}

abut_status abut_frames_mesh_at(abut_frames *frames, uint64_t frame, uint32_t mesh,
                                abut_mesh **made) {
    if (!frames || !made)
        return abuti_null(__func__, frames ? "made" : "frames");
    if (mesh >= frames->info.mesh_count)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_frames_mesh_at: there is no mesh %u; %s has %u meshes", mesh,
                          frames->file_name, frames->info.mesh_count);
    abut_status status = read_frame_checked(frames, "abut_frames_mesh_at", frame);
    size_t first = 0;
    for (uint32_t i = 0; i < mesh; i++)
        first += frames->table[i].vertex_count;
    return status ? status : make_mesh(frames, mesh, first, 0, made);
}
