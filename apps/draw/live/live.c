/* Public functions of live pages. */
#include "live/live.h"

#include <string.h>

#define SCRIPT_BYTES_MAX ((size_t)16 << 20)

static const char *const event_kinds[] = {"pose",  "pause", "continue", "step",
                                          "reset", "stop",  "key"};

const char *abut_live_event_kind_name(abut_live_event_kind kind) {
    return ABUTI_NAME(event_kinds, kind);
}

/* ---- create and destroy ---- */

static abut_status check_options(const abut_live_options *options) {
    const uint32_t controls =
        ABUT_LIVE_CONTROL_PAUSE | ABUT_LIVE_CONTROL_RESET | ABUT_LIVE_CONTROL_STOP;
    if (!options->script)
        return abuti_null("abut_live_create", "options->script");
    if (!options->script_bytes || options->script_bytes > SCRIPT_BYTES_MAX)
        return abuti_fail(
            ABUT_ERROR_ARGUMENT,
            "abut_live_create: options->script_bytes is %zu; it must be from 1 to %zu",
            options->script_bytes, SCRIPT_BYTES_MAX);
    if (options->port > 65535)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_live_create: options->port is %u; it must be at most 65535",
                          options->port);
    if (options->controls & ~controls)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_live_create: options->controls is %u; it must be a sum of "
                          "ABUT_LIVE_CONTROL_... values, at most %u",
                          options->controls, controls);
    if (!(options->timeout >= 0 && options->timeout <= 3600))
        return abuti_fail(
            ABUT_ERROR_ARGUMENT,
            "abut_live_create: options->timeout is %g; it must be from 0 to 3600 seconds",
            options->timeout);
    return ABUT_OK;
}

static char *copy_text(abut_context *context, const char *text, size_t bytes) {
    char *copy = abuti_allocate(context, bytes + 1, 1);
    if (copy && bytes)
        memcpy(copy, text, bytes);
    if (copy)
        copy[bytes] = 0;
    return copy;
}

static char *copy_word(abut_context *context, const char *text, const char *otherwise) {
    text = text ? text : otherwise;
    return copy_text(context, text, strlen(text));
}

abut_status abut_live_create(abut_context *context, const abut_live_options *options,
                             abut_live **live) {
    if (!live || !options)
        return abuti_null("abut_live_create", live ? "options" : "live");
    abut_live_options ours = abut_live_options_default();
    abut_status status = abuti_options_read(&ours, sizeof ours, options, "abut_live_create");
    if (!status)
        status = check_options(&ours);
    if (status)
        return status;
    context = abuti_context_of(context);
    abut_live *made = abuti_allocate_zeroed(context, 1, sizeof *made);
    if (!made)
        return ABUT_ERROR_MEMORY;
    made->context = abuti_context_retain(context);
    made->script = copy_text(context, ours.script, ours.script_bytes);
    made->script_bytes = ours.script_bytes;
    made->title = copy_word(context, ours.title, "abut");
    made->command = copy_word(context, ours.command, "");
    made->unit = copy_word(context, ours.unit, "");
    made->controls = ours.controls;
    made->timeout = ours.timeout > 0 ? ours.timeout : 5;
    made->port = ours.port;
    status = made->script && made->title && made->command && made->unit ? abuti_live_start(made)
                                                                        : ABUT_ERROR_MEMORY;
    if (status) {
        abut_live_destroy(made);
        return status;
    }
    *live = made;
    return ABUT_OK;
}

void abut_live_destroy(abut_live *live) {
    if (!live)
        return;
    abut_context *context = live->context;
    abuti_live_stop(live);
    abuti_live_free_state(context, &live->state);
    ABUTI_RELEASE(context, live->script, live->title, live->command, live->unit, live);
    abut_context_destroy(context);
}

abut_status abut_live_get_info(const abut_live *live, abut_live_info *info) {
    if (!live || !info)
        return abuti_null(__func__, live ? "info" : "live");
    abut_live_info found = abut_live_info_default();
    abuti_live_lock(live);
    found.url = live->url;
    found.port = live->port;
    found.page_count = live->page_count;
    found.frame = live->frame;
    abuti_live_unlock(live);
    return abuti_info_write(info, &found, sizeof found, __func__);
}

/* ---- frames ---- */

abut_status abut_live_show(abut_live *live, const abut_picture *picture,
                           const abut_live_frame *frame) {
    if (!live || !picture)
        return abuti_null("abut_live_show", live ? "picture" : "live");
    abut_live_frame ours = abut_live_frame_default();
    abut_status status = abuti_options_read(&ours, sizeof ours, frame, "abut_live_show");
    if (status)
        return status;
    /* Only this thread changes the state, so that it may read it without the lock. */
    const live_state nothing = {0};
    live_view view = live->view;
    live_state next;
    abuti_live_set_view(&view, picture);
    const bool moved = view.is_set && !live->view.is_set;
    status = abuti_live_make_state(live->context, &view, picture, &ours,
                                   moved ? &nothing : &live->state, &next);
    if (status)
        return status;
    abuti_live_lock(live);
    live->view = view;
    live->version++;
    live->frame++;
    if (moved) {
        live->view_version = live->version;
        abuti_live_free_state(live->context, &live->state);
    }
    abuti_live_replace(live->context, &live->state, &next, live->version);
    abuti_live_unlock(live);
    abuti_live_wake(live);
    return ABUT_OK;
}

/* ---- events ---- */

void abuti_live_receive(abut_live *live, const live_input *input) {
    const bool is_pose = input->kind == ABUT_LIVE_EVENT_POSE;
    live->received++;
    if (is_pose &&
        (input->number >= live->state.item_count || !live->state.items[input->number].movable))
        return;
    for (size_t i = live->input_count; is_pose && i-- > 0;)
        if (live->inputs[i].kind == ABUT_LIVE_EVENT_POSE &&
            live->inputs[i].number == input->number) {
            live->inputs[i] = *input;
            return;
        }
    /* Half of the list remains for poses, which must not be lost when others arrive. */
    if (live->input_count < (is_pose ? ABUT_LIVE_EVENT_MAX : ABUT_LIVE_EVENT_MAX / 2))
        live->inputs[live->input_count++] = *input;
}

/* The pose of a mesh, which pages know by the position of its origin. */
static abut_pose true_pose(const abut_live *live, const live_input *input) {
    const double *n = input->pose, by = 1 / live->view.scale,
                 length = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2] + n[3] * n[3]);
    abut_pose placed = {.rotation = {n[0] / length, n[1] / length, n[2] / length, n[3] / length}};
    abut_vec3 origin = live->state.items[input->number].origin;
    (void)abut_pose_apply(&placed, origin, &origin); /* a rotation */
    placed.translation = (abut_vec3){live->view.centre.x + by * n[4] - origin.x,
                                     live->view.centre.y + by * n[5] - origin.y,
                                     live->view.centre.z + by * n[6] - origin.z};
    return placed;
}

static abut_live_event make_event(const abut_live *live, const live_input *input) {
    abut_live_event event = {.kind = input->kind, .is_last = input->is_last};
    event.pose = abut_pose_identity();
    if (input->kind == ABUT_LIVE_EVENT_KEY)
        event.key = input->number;
    if (input->kind == ABUT_LIVE_EVENT_POSE) {
        event.body = input->number;
        if (input->number < live->state.item_count)
            event.pose = true_pose(live, input);
    }
    return event;
}

abut_status abut_live_poll(abut_live *live, double seconds, abut_live_event_list *events) {
    if (!live)
        return abuti_null("abut_live_poll", "live");
    if (!events)
        return abuti_null("abut_live_poll", "events");
    if (!events->list && events->capacity)
        return abuti_null("abut_live_poll", "events->list");
    if (!(seconds >= 0 && seconds <= 3600))
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_live_poll: seconds is %g; it must be from 0 to 3600", seconds);
    abut_live_event made[ABUT_LIVE_EVENT_MAX];
    size_t count = 0;
    abuti_live_lock(live);
    if (!live->input_count && seconds > 0)
        abuti_live_wait(live, seconds);
    for (size_t i = 0; i < live->input_count; i++) /* of a mesh that is still there */
        if (live->inputs[i].kind != ABUT_LIVE_EVENT_POSE ||
            live->inputs[i].number < live->state.item_count)
            made[count++] = make_event(live, &live->inputs[i]);
    events->count = count;
    const bool fits = count <= events->capacity;
    if (fits) {
        live->input_count = 0;
        live->handled = live->received;
    }
    abuti_live_unlock(live);
    if (!fits)
        return abuti_fail(ABUT_ERROR_BUFFER,
                          "abut_live_poll: there are %zu events, and events->capacity is %llu",
                          count, (unsigned long long)events->capacity);
    if (count)
        memcpy(events->list, made, count * sizeof *made);
    return ABUT_OK;
}
