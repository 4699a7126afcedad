/* Files of states of `abut simulate`: what a run needs to continue after a frame.
 *
 *     head, rigid bodies, state of the world (abut_world_save()), checksum
 *
 * Everything else follows from the scene and the time. A resumed run makes the same steps as one
 * that was not interrupted, bit for bit. */
#include "simulate.h"

#include <stdio.h>
#include <string.h>

#define MAGIC "\211abutr\r\n"
enum { VERSION = 1, ORDER = 0x01020304, SUM_BYTES = sizeof(uint64_t) };

typedef struct state_head {
    char magic[8];
    uint32_t order, version;
    uint64_t frame;
    double fps, time, last_time;
    uint32_t substeps, lags;
    uint32_t body_count, rigid_count;
    uint64_t rigid_bytes, world_bytes;
} state_head;

_Static_assert(sizeof(state_head) == 80, "layout in files");

/* ---- write ---- */

void sim_save(const simulation *s, sim_state *state) {
    abut_byte_list world = {NULL, 0, 0};
    state_head head = {.order = ORDER,
                       .version = VERSION,
                       .frame = state->frame,
                       .fps = state->fps,
                       .time = s->time,
                       .last_time = s->last_time,
                       .substeps = state->substeps,
                       .lags = s->lags,
                       .body_count = s->body_count,
                       .rigid_count = s->rigid_count,
                       .rigid_bytes = sim_rigid_bytes(s)};
    memcpy(head.magic, MAGIC, sizeof head.magic);
    FILL_LIST(&world, abut_world_save(s->world, &world));
    head.world_bytes = world.count;
    char *rigid = tool_array((size_t)head.rigid_bytes + 1, 1);
    sim_rigid_save(s, rigid);
    state->bytes.used = 0;
    text_bytes(&state->bytes, (const char *)&head, sizeof head);
    text_bytes(&state->bytes, rigid, (size_t)head.rigid_bytes);
    text_bytes(&state->bytes, (const char *)world.list, (size_t)world.count);
    tool_free(rigid);
    tool_free(world.list);
}

void sim_write_state(const simulation *s, sim_state *state, const char *path) {
    const uint64_t sum = hash_bytes(state->bytes.data, state->bytes.used);
    text_bytes(&state->bytes, (const char *)&sum, sizeof sum);
    ensure(abut_context_write_file(s->tool->context, tool_target(s->tool, path), state->bytes.data,
                                   state->bytes.used));
    state->bytes.used -= sizeof sum;
}

/* ---- read ---- */

static bool head_is_valid(const state_head *h) {
    return h->frame < UINT32_MAX && h->fps >= 1 && h->fps <= 10000 && h->time >= 0 &&
           h->time <= 1e12 && h->last_time >= 0 && h->last_time <= h->time && h->substeps >= 1 &&
           h->substeps <= 10000 && h->lags <= 1;
}

/* Returns what is wrong with a file, or null. */
static const char *find_damage(const tool_text *bytes) {
    state_head head;
    uint64_t sum;
    if (bytes->used < sizeof head + SUM_BYTES || memcmp(bytes->data, MAGIC, sizeof head.magic) != 0)
        return "is not a state of abut simulate";
    memcpy(&head, bytes->data, sizeof head);
    if (head.order != ORDER || head.version != VERSION)
        return "was saved by another version of abut, or on a machine with the other byte order";
    const size_t rest = bytes->used - sizeof head - SUM_BYTES;
    memcpy(&sum, bytes->data + bytes->used - SUM_BYTES, sizeof sum);
    if (head.rigid_bytes > rest || head.world_bytes != rest - head.rigid_bytes ||
        sum != hash_bytes(bytes->data, bytes->used - SUM_BYTES) || !head_is_valid(&head))
        return "is damaged";
    return NULL;
}

void sim_read_state(tool_run *tool, const char *path, sim_state *state) {
    const char *from = tool_input(tool, path);
    FILE *file = from ? fopen(from, "rb") : NULL;
    if (!file)
        tool_fail_with(tool, "file error", "%s: cannot be opened", path);
    const bool is_read = stream_read(file, &state->bytes);
    fclose(file);
    if (!is_read)
        tool_fail_with(tool, "file error", "%s: cannot be read", path);
    const char *damage = find_damage(&state->bytes);
    if (damage)
        tool_fail_with(tool, "format error", "%s: %s", path, damage);
    state_head head;
    memcpy(&head, state->bytes.data, sizeof head);
    state->bytes.used -= SUM_BYTES;
    state->frame = head.frame;
    state->fps = head.fps;
    state->substeps = head.substeps;
}

/* Adds the file to an error of the library. */
static void ensure_fits(const char *path, abut_status status) {
    tool_text words = {0};
    if (!status)
        return;
    text_print(&words, "%s: does not fit the scene: %s", path,
               tool_error_message(abut_last_error()));
    ensure(abut_set_error(status, words.data));
}

void sim_restore(simulation *s, const sim_state *state, const char *path) {
    state_head head;
    memcpy(&head, state->bytes.data, sizeof head);
    const char *rigid = state->bytes.data + sizeof head, *world = rigid + head.rigid_bytes;
    if (head.body_count != s->body_count || head.rigid_count != s->rigid_count ||
        head.rigid_bytes != sim_rigid_bytes(s))
        tool_fail_with(s->tool, "format error",
                       "%s: does not fit the scene: it has %u bodies, %u of them rigid; the scene "
                       "has %u and %u",
                       path, head.body_count, head.rigid_count, s->body_count, s->rigid_count);
    if (!sim_rigid_restore(s, rigid))
        tool_fail_with(s->tool, "format error",
                       "%s: is damaged: a rigid body has a number that is out of range", path);
    ensure_fits(path, sim_set_time(s, head.time, head.last_time));
    ensure_fits(path, abut_world_restore(s->world, world, (size_t)head.world_bytes));
    s->lags = head.lags;
}
