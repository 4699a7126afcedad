/* Any bytes as a recording; a valid one must survive being written and read again. */
#include "apps/get.h"
#include "fuzz.h"

#include "io/frames.h"

#include <math.h>

/* Repairs the checksums of names and up axis; false if they exceed the file. */
static bool mend_extra(uint8_t *file, size_t *at, size_t end) {
    frames_extra extra;
    if (end - *at < sizeof extra)
        return false;
    memcpy(&extra, file + *at, sizeof extra);
    if (extra.name_bytes > end - *at - sizeof extra)
        return false;
    extra.name_checksum = abuti_checksum(file + *at + sizeof extra, (size_t)extra.name_bytes);
    extra.checksum = abuti_checksum(&extra, offsetof(frames_extra, checksum));
    memcpy(file + *at, &extra, sizeof extra);
    *at += sizeof extra + (size_t)extra.name_bytes;
    return true;
}

/* Random bytes never get past checksums, so with the first byte odd all are put right, as far as
 * they can be found. */
static void mend(uint8_t *file, size_t bytes) {
    frames_head head;
    frames_entry entry;
    frames_tail tail;
    if (bytes < sizeof head + sizeof tail)
        return;
    memcpy(&head, file, sizeof head);
    memcpy(head.magic, FRAMES_MAGIC, sizeof head.magic);
    head.order = FRAMES_ORDER;
    head.version = head.version & 1 ? 1 : FRAMES_VERSION;
    head.checksum = abuti_checksum(&head, offsetof(frames_head, checksum));
    memcpy(file, &head, sizeof head);
    memcpy(&tail, file + bytes - sizeof tail, sizeof tail);
    memcpy(tail.magic, FRAMES_END, sizeof tail.magic);
    tail.checksum = abuti_checksum(&tail, offsetof(frames_tail, checksum));
    memcpy(file + bytes - sizeof tail, &tail, sizeof tail);
    size_t table = sizeof entry * (uint64_t)head.mesh_count, vertices = 0;
    size_t at = sizeof head + table + 8, end = bytes - sizeof tail;
    if (head.mesh_count > bytes / sizeof entry || at > end)
        return;
    if (head.version > 1 && !mend_extra(file, &at, end))
        return;
    for (size_t i = 0; i < head.mesh_count; i++) {
        uint8_t *place = file + sizeof head + i * sizeof entry;
        memcpy(&entry, place, sizeof entry);
        if (entry.triangle_count > (end - at) / 12)
            return;
        entry.checksum = abuti_checksum(file + at, 12 * (size_t)entry.triangle_count);
        memcpy(place, &entry, sizeof entry);
        at += 12 * (size_t)entry.triangle_count;
        vertices += entry.vertex_count;
    }
    uint64_t sum = abuti_checksum(file + sizeof head, table);
    memcpy(file + sizeof head + table, &sum, sizeof sum);
    size_t frame = 3 * frames_scalar_bytes(head.type) * (head.aims ? 2 : 1) * vertices;
    for (uint64_t i = 0; frame < end - at && end - at - frame >= sizeof sum; i++) {
        sum = frame_checksum(file + at, frame, i);
        memcpy(file + at + frame, &sum, sizeof sum);
        at += frame + sizeof sum;
    }
}

static void write_again(abut_frames *frames, abut_vec3 *positions, abut_vec3 *aims) {
    abut_frames_info info = get_frames_info(frames);
    abut_frames_options options = abut_frames_options_default();
    abut_frames_writer *writer = NULL;
    abut_frames *back = NULL;
    abut_mesh **meshes = malloc(info.mesh_count * sizeof *meshes);
    const char **names = malloc(info.mesh_count * sizeof *names);
    FUZZ_CHECK(meshes && names);
    for (uint32_t i = 0; i < info.mesh_count; i++) {
        meshes[i] = abut_frames_mesh(frames, i);
        names[i] = abut_frames_name(frames, i);
    }
    options.names = names;
    options.up = info.up;
    options.type = info.type;
    options.aims = info.aims;
    options.seconds = info.seconds;
    FUZZ_CHECK(!abut_frames_writer_create(meshes, info.mesh_count, fuzz_path(), &options, &writer));
    for (uint64_t i = 0; i < info.frame_count; i++) {
        if (abut_frames_read(frames, i, positions, info.aims ? aims : NULL)) {
            abut_frames_writer_discard(writer);
            free(meshes);
            free(names);
            return;
        }
        FUZZ_CHECK(!abut_frames_writer_add(writer, positions, info.aims ? aims : NULL));
    }
    FUZZ_CHECK(!abut_frames_writer_finish(writer));
    FUZZ_CHECK(!abut_frames_open(fuzz_context(), fuzz_path(), &back));
    abut_frames_info again = get_frames_info(back);
    FUZZ_CHECK(again.frame_count == info.frame_count && again.vertex_count == info.vertex_count);
    FUZZ_CHECK(fabs(again.up.x - info.up.x) < 1e-11 && fabs(again.up.y - info.up.y) < 1e-11 &&
               fabs(again.up.z - info.up.z) < 1e-11);
    for (uint32_t i = 0; i < info.mesh_count; i++) {
        const char *name = abut_frames_name(back, i);
        fuzz_same(meshes[i], abut_frames_mesh(back, i));
        FUZZ_CHECK(!name == !names[i] && (!name || !strcmp(name, names[i])));
    }
    abut_frames_close(back);
    free(meshes);
    free(names);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    abut_frames *frames = NULL;
    if (!bytes)
        return 0;
    uint8_t *file = malloc(bytes);
    FUZZ_CHECK(file);
    memcpy(file, data + 1, bytes - 1);
    if (data[0] & 1)
        mend(file, bytes - 1);
    abut_status status = abut_frames_open_memory(fuzz_context(), file, bytes - 1, "fuzz", &frames);
    FUZZ_CHECK(!status == (frames != NULL));
    FUZZ_CHECK(!status || status == ABUT_ERROR_FORMAT || status == ABUT_ERROR_UNSUPPORTED ||
               status == ABUT_ERROR_LIMIT || status == ABUT_ERROR_MEMORY);
    if (frames) {
        size_t room = (size_t)get_frames_info(frames).vertex_count * sizeof(abut_vec3);
        abut_vec3 *positions = malloc(room), *aims = malloc(room);
        FUZZ_CHECK(positions && aims);
        write_again(frames, positions, aims);
        free(positions);
        free(aims);
    }
    abut_frames_close(frames);
    free(file);
    return 0;
}
