/* A server of live pages and a client that reads its messages: what frames contain, what input
 * becomes, and what happens without memory. tests/live/test_protocol.py tests the protocol. */
#include "support/support.h"

#include "apps/get.h"

#include <arpa/inet.h>
#include <math.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const char script[] = "// the viewer";

static abut_live_options usual_options(void) {
    abut_live_options options = abut_live_options_default();
    options.script = script;
    options.script_bytes = sizeof script - 1;
    options.title = "a \"title\"";
    return options;
}

static abut_live *new_live(abut_context *context) {
    const abut_live_options options = usual_options();
    abut_live *live = NULL;
    assert_ok(abut_live_create(context, &options, &live));
    return live;
}

static abut_live_info info_of(const abut_live *live) {
    abut_live_info info = abut_live_info_default();
    assert_ok(abut_live_get_info(live, &info));
    return info;
}

/* A picture of a box at x and a triangle of the caller. */
static abut_picture *new_picture(abut_context *context, abut_mesh *box, double x,
                                 abut_mesh *triangle) {
    abut_picture *picture = NULL;
    abut_pose pose = abut_pose_identity();
    pose.translation.x = x;
    assert_ok(abut_picture_create(context, NULL, &picture));
    assert_ok(abut_picture_add_mesh(picture, box, pose, NULL));
    assert_ok(abut_picture_add_mesh(picture, triangle, abut_pose_identity(), NULL));
    return picture;
}

static abut_mesh *new_box(abut_context *context) {
    abut_shape shape = abut_shape_default(ABUT_SHAPE_BOX);
    abut_mesh *mesh = NULL;
    assert_ok(abut_shape_create(context, &shape, &mesh));
    return mesh;
}

static abut_mesh *new_triangle(abut_context *context) {
    const double points[9] = {5, 5, 5, 6, 5, 5, 5, 6, 5};
    const uint32_t indices[3] = {0, 1, 2};
    return test_mesh(context, points, 3, indices, 1);
}

/* ---- a client ---- */

enum { ANSWER_MAX = 1 << 16 };
typedef struct answer {
    int status;
    size_t count;
    char text[ANSWER_MAX]; /* the body */
} answer;

static void fetch(const abut_live *live, const char *method, const char *path, const void *body,
                  size_t bytes, answer *to) {
    const abut_live_info info = info_of(live);
    static char all[ANSWER_MAX];
    char head[512];
    size_t count = 0;
    struct sockaddr_in address;
    memset(&address, 0, sizeof address);
    address.sin_family = AF_INET;
    address.sin_port = htons((uint16_t)info.port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int client = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(client >= 0 && !connect(client, (struct sockaddr *)&address, sizeof address));
    const int length = snprintf(head, sizeof head,
                                "%s %s%s HTTP/1.1\r\nHost: localhost:%u\r\nConnection: close\r\n"
                                "Content-Length: %zu\r\n\r\n",
                                method, strchr(info.url + 8, '/'), path, info.port, bytes);
    assert_int_equal(length, write(client, head, (size_t)length));
    if (bytes)
        assert_int_equal(bytes, write(client, body, bytes));
    for (ssize_t got; (got = read(client, all + count, sizeof all - 1 - count)) > 0;)
        count += (size_t)got;
    close(client);
    all[count] = 0;
    assert_int_equal(1, sscanf(all, "HTTP/1.1 %d ", &to->status));
    const char *end = strstr(all, "\r\n\r\n");
    assert_non_null(end);
    to->count = count - (size_t)(end + 4 - all);
    memcpy(to->text, end + 4, to->count + 1);
}

/* The header of a message, as text. */
static const char *header_of(answer *message) {
    const unsigned char *b = (const unsigned char *)message->text;
    const size_t length = (size_t)b[0] | (size_t)b[1] << 8 | (size_t)b[2] << 16;
    assert_true(message->status == 200 && length + 4 <= message->count && (4 + length) % 8 == 0);
    static char text[ANSWER_MAX];
    memcpy(text, message->text + 4, length);
    text[length] = 0;
    return text;
}

/* The offset of an array of a message in it, and its count. */
static size_t array_of(answer *message, const char *type, unsigned index, size_t *count) {
    const char *at = strstr(header_of(message), "\"arrays\":[");
    size_t offset = 0;
    char pattern[32];
    assert_non_null(at);
    for (at += 10; index > 0; index--)
        at = strchr(at, ']') + 2;
    snprintf(pattern, sizeof pattern, "[\"%s\",%%zu,%%zu]", type);
    assert_int_equal(2, sscanf(at, pattern, &offset, count));
    return 4 + strlen(header_of(message)) + offset;
}

/* The number after a key of the header. */
static unsigned number_of(answer *message, const char *key) {
    const char *at = strstr(header_of(message), key);
    unsigned number = 0;
    assert_non_null(at);
    assert_int_equal(1, sscanf(at + strlen(key), "%u", &number));
    return number;
}

#define assert_has(message, part)                                  \
    do {                                                           \
        if (!strstr(header_of(message), part))                     \
            fail_msg("%s is not in %s", part, header_of(message)); \
    } while (0)
#define assert_lacks(message, part)                            \
    do {                                                       \
        if (strstr(header_of(message), part))                  \
            fail_msg("%s is in %s", part, header_of(message)); \
    } while (0)

/* ---- frames ---- */

TEST_THREADS(messages_have_what_has_changed) {
    static answer a;
    abut_live *live = new_live(NULL);
    AUTO(mesh) box = new_box(NULL);
    AUTO(mesh) triangle = new_triangle(NULL);
    AUTO(picture) first = new_picture(NULL, box, 0, triangle);
    AUTO(picture) second = new_picture(NULL, box, 0.5, triangle);
    const char *const names[] = {"the box", NULL};
    const bool movable[] = {true, false};
    abut_live_frame frame = abut_live_frame_default();
    frame.names = names;
    frame.movable = movable;
    frame.text = "line 1\nline \"2\" \\ \xff é";
    assert_ok(abut_live_show(live, first, &frame));
    fetch(live, "GET", "next?after=0", NULL, 0, &a);
    assert_has(&a, "\"live\":1,\"since\":0");
    assert_has(&a, "\"title\":\"a \\u0022title\\u0022\"");
    assert_has(&a, "\"text\":\"line 1\\u000aline \\u00222\\u0022 \\u005c ? é\"");
    assert_has(&a, "\"id\":0,\"kind\":\"bodies\",\"name\":\"the box\"");
    assert_has(&a, "\"id\":1,\"kind\":\"bodies\",\"name\":\"bodies\"");
    assert_int_equal(2, number_of(&a, "\"count\":"));
    size_t count;
    const size_t at = array_of(&a, "f32", number_of(&a, "\"positions\":"), &count);
    assert_int_equal(3 * abut_mesh_vertex_count(box), count);
    float x;
    memcpy(&x, a.text + at, sizeof x); /* the scene has the size 7: one unit is 1/8 */
    assert_true(x == (float)(abut_mesh_local_positions(box)[0].x / 8));

    assert_ok(abut_live_show(live, second, &frame));
    fetch(live, "GET", "next?after=1", NULL, 0, &a);
    assert_has(&a, "\"live\":2,\"since\":1");
    assert_has(&a, "\"id\":0");
    assert_has(&a, "\"poses\":");
    assert_lacks(&a, "\"positions\":");
    assert_lacks(&a, "\"id\":1");
    assert_lacks(&a, "\"view\":");
    fetch(live, "GET", "next?after=77", NULL, 0, &a); /* of another program */
    assert_has(&a, "\"since\":0");
    assert_has(&a, "\"positions\":");
    assert_int_equal(2, info_of(live).frame);
    abut_live_destroy(live);
}

TEST_THREADS(vertices_and_marks_change) {
    static answer a;
    abut_live *live = new_live(NULL);
    AUTO(mesh) box = new_box(NULL);
    AUTO(mesh) triangle = new_triangle(NULL);
    AUTO(picture) picture = new_picture(NULL, box, 0, triangle);
    assert_ok(abut_live_show(live, picture, NULL));
    const double moved[9] = {5, 5, 5, 6, 5, 5.5, 5, 6, 5};
    const uint32_t indices[3] = {0, 1, 2};
    AUTO(mesh) other = test_mesh(NULL, moved, 3, indices, 1);
    AUTO(picture) second = new_picture(NULL, box, 0, other);
    assert_ok(abut_picture_add_point(second, (abut_vec3){0, 0, 0}, 4, (abut_colour){1, 0, 0, 1}));
    assert_ok(abut_live_show(live, second, NULL));
    fetch(live, "GET", "next?after=1", NULL, 0, &a);
    assert_lacks(&a, "\"id\":0");
    assert_has(&a, "\"id\":1,\"kind\":\"bodies\",\"positions\":"); /* the same triangles */
    assert_has(&a, "\"id\":2,\"kind\":\"points\",\"name\":\"points\"");
    assert_int_equal(3, number_of(&a, "\"count\":"));
    assert_ok(abut_live_show(live, picture, NULL)); /* the point disappears */
    fetch(live, "GET", "next?after=2", NULL, 0, &a);
    assert_int_equal(2, number_of(&a, "\"count\":"));
    assert_ok(abut_live_show(live, picture, NULL));
    fetch(live, "GET", "next?after=3", NULL, 0, &a);
    assert_has(&a, "\"layers\":[]");
    abut_live_destroy(live);
}

/* ---- events ---- */

static void post(abut_live *live, const double (*events)[10], size_t count, answer *to) {
    fetch(live, "POST", "input", events, count * sizeof *events, to);
}

TEST_THREADS(input_becomes_events) {
    static answer a;
    abut_live *live = new_live(NULL);
    AUTO(mesh) box = new_box(NULL);
    AUTO(mesh) triangle = new_triangle(NULL);
    AUTO(picture) picture = new_picture(NULL, box, 0, triangle);
    const bool movable[] = {false, true};
    abut_live_frame frame = abut_live_frame_default();
    abut_live_event events[ABUT_LIVE_EVENT_MAX];
    abut_live_event_list list = {events, ABUT_LIVE_EVENT_MAX, 99};
    frame.movable = movable;
    assert_ok(abut_live_poll(live, 0, &list));
    assert_int_equal(0, list.count);
    assert_ok(abut_live_show(live, picture, &frame));
    /* the pose of the picture, as the page knows it */
    fetch(live, "GET", "next?after=0", NULL, 0, &a);
    size_t count;
    float shown[7];
    const char *layer = strstr(header_of(&a), "\"id\":1,");
    unsigned poses = 0;
    assert_int_equal(1, sscanf(strstr(layer, "\"poses\":"), "\"poses\":%u", &poses));
    memcpy(shown, a.text + array_of(&a, "f32", poses, &count), sizeof shown);
    assert_int_equal(7, count);
    double turned[10] = {ABUT_LIVE_EVENT_POSE, 1, 1, 0, 0, 1, 0};
    for (int k = 0; k < 3; k++)
        turned[7 + k] = (double)shown[4 + k];
    double same[10] = {ABUT_LIVE_EVENT_POSE, 1, 0};
    for (int k = 0; k < 7; k++)
        same[3 + k] = (double)shown[k];
    double fixed[10];
    memcpy(fixed, same, sizeof fixed);
    fixed[1] = 0;
    double sent[4][10] = {{0}, {ABUT_LIVE_EVENT_KEY, 'q', 0}, {0}, {0}};
    memcpy(sent[0], same, sizeof same);
    memcpy(sent[2], fixed, sizeof fixed); /* ignored: the body cannot be moved */
    memcpy(sent[3], turned, sizeof turned);
    post(live, sent, 4, &a);
    assert_true(a.status == 200 && !strcmp(a.text, "4"));
    list.capacity = 1;
    assert_fails(ABUT_ERROR_BUFFER, "2", abut_live_poll(live, 1, &list));
    assert_int_equal(2, list.count);
    list.capacity = ABUT_LIVE_EVENT_MAX;
    assert_ok(abut_live_poll(live, 1, &list));
    assert_int_equal(2, list.count);
    assert_true(events[0].kind == ABUT_LIVE_EVENT_POSE && events[0].body == 1 && events[0].is_last);
    assert_true(events[1].kind == ABUT_LIVE_EVENT_KEY && events[1].key == 'q');
    /* half a turn about z at the origin of the mesh, which stays where it is */
    abut_vec3 origin = abut_mesh_local_origin(triangle), p;
    assert_ok(abut_pose_apply(&events[0].pose, origin, &p));
    assert_true(fabs(p.x - origin.x) < 1e-6 && fabs(p.y - origin.y) < 1e-6);
    assert_ok(
        abut_pose_apply(&events[0].pose, (abut_vec3){origin.x + 1, origin.y, origin.z + 1}, &p));
    assert_true(fabs(p.x - origin.x + 1) < 1e-6 && fabs(p.z - origin.z - 1) < 1e-6);
    fetch(live, "GET", "next?after=0", NULL, 0, &a);
    assert_has(&a, "\"handled\":4");
    abut_live_destroy(live);
}

TEST_THREADS(many_events_are_dropped_but_poses_remain) {
    static answer a;
    static double sent[200][10];
    abut_live *live = new_live(NULL);
    AUTO(mesh) box = new_box(NULL);
    AUTO(mesh) triangle = new_triangle(NULL);
    AUTO(picture) picture = new_picture(NULL, box, 0, triangle);
    const bool movable[] = {true, true};
    abut_live_frame frame = abut_live_frame_default();
    abut_live_event events[ABUT_LIVE_EVENT_MAX];
    abut_live_event_list list = {events, ABUT_LIVE_EVENT_MAX, 0};
    frame.movable = movable;
    assert_ok(abut_live_show(live, picture, &frame));
    for (int i = 0; i < 200; i++) {
        sent[i][0] = i < 199 ? ABUT_LIVE_EVENT_KEY : ABUT_LIVE_EVENT_POSE;
        sent[i][6] = 1;
    }
    post(live, sent, 200, &a);
    assert_ok(abut_live_poll(live, 0, &list));
    assert_int_equal(ABUT_LIVE_EVENT_MAX / 2 + 1, list.count);
    assert_int_equal(ABUT_LIVE_EVENT_POSE, events[list.count - 1].kind);
    sent[0][3] = 5; /* not a rotation */
    sent[0][0] = ABUT_LIVE_EVENT_POSE;
    post(live, sent, 2, &a);
    assert_int_equal(400, a.status);
    fetch(live, "POST", "input", sent, 79, &a);
    assert_int_equal(400, a.status);
    assert_ok(abut_live_poll(live, 0, &list)); /* none of an invalid request */
    assert_int_equal(0, list.count);
    abut_live_destroy(live);
}

/* ---- arguments, memory, threads ---- */

TEST_THREADS(arguments_are_validated) {
    abut_live *live = NULL;
    abut_live_options options = abut_live_options_default();
    assert_refused("null", abut_live_create(NULL, NULL, &live));
    assert_refused("script", abut_live_create(NULL, &options, &live));
    options = usual_options();
    assert_refused("null", abut_live_create(NULL, &options, NULL));
    options.script_bytes = 0;
    assert_refused("script_bytes", abut_live_create(NULL, &options, &live));
    options = usual_options();
    options.port = 65536;
    assert_refused("65535", abut_live_create(NULL, &options, &live));
    options = usual_options();
    options.controls = 8;
    assert_refused("controls", abut_live_create(NULL, &options, &live));
    options = usual_options();
    options.timeout = NAN;
    assert_refused("timeout", abut_live_create(NULL, &options, &live));
    options = usual_options();
    options.size++;
    assert_int_equal(ABUT_ERROR_ARGUMENT, abut_live_create(NULL, &options, &live));
    assert_null(live);
    live = new_live(NULL);
    options = usual_options();
    options.port = info_of(live).port;
    abut_live *second = NULL;
    assert_fails(ABUT_ERROR_FILE, "port", abut_live_create(NULL, &options, &second));
    assert_null(second);
    abut_live_event_list list = {NULL, 1, 0};
    assert_refused("null", abut_live_poll(live, 0, &list));
    assert_refused("null", abut_live_poll(live, 0, NULL));
    list.capacity = 0;
    assert_refused("3600", abut_live_poll(live, -1, &list));
    assert_refused("3600", abut_live_poll(live, NAN, &list));
    assert_refused("null", abut_live_show(live, NULL, NULL));
    assert_refused("null", abut_live_show(NULL, NULL, NULL));
    assert_refused("null", abut_live_get_info(live, NULL));
    abut_live_destroy(live);
    abut_live_destroy(NULL);
}

static abut_status show_two(abut_context *context, void *data) {
    abut_picture **pictures = data;
    const abut_live_options options = usual_options();
    abut_live *live = NULL;
    abut_status status = abut_live_create(context, &options, &live);
    for (int i = 0; i < 2 && !status; i++) {
        const uint64_t before = info_of(live).frame;
        status = abut_live_show(live, pictures[i], NULL);
        assert_int_equal(before + !status, info_of(live).frame);
    }
    abut_live_destroy(live);
    return status;
}

TEST_THREADS(every_allocation_may_fail) {
    AUTO(mesh) box = new_box(NULL);
    AUTO(mesh) triangle = new_triangle(NULL);
    AUTO(picture) first = new_picture(NULL, box, 0, triangle);
    AUTO(picture) second = new_picture(NULL, triangle, 1, triangle);
    abut_picture *pictures[] = {first, second};
    assert_ok(abut_picture_add_line(second, (abut_vec3){0, 0, 0}, (abut_vec3){1, 0, 0}, 0,
                                    (abut_colour){0}));
    assert_true(test_every_allocation(show_two, pictures) > 20);
}

/* Clients fetch while the program shows frames. */
static void *fetch_many(void *data) {
    static _Thread_local answer a;
    for (int i = 0; i < 50; i++) {
        char path[32];
        snprintf(path, sizeof path, "next?after=%d", i);
        const abut_live *live = data;
        fetch(live, "GET", path, NULL, 0, &a);
        if (a.status != 200)
            return data;
    }
    return NULL;
}

TEST_THREADS(frames_are_shown_while_pages_fetch) {
    abut_live *live = new_live(NULL);
    AUTO(mesh) box = new_box(NULL);
    AUTO(mesh) triangle = new_triangle(NULL);
    pthread_t thread;
    void *failed = NULL;
    assert_int_equal(0, pthread_create(&thread, NULL, fetch_many, live));
    for (int i = 0; i < 200; i++) {
        AUTO(picture) picture = new_picture(NULL, box, 0.01 * i, triangle);
        assert_ok(abut_live_show(live, picture, NULL));
    }
    pthread_join(thread, &failed);
    assert_null(failed);
    assert_int_equal(200, info_of(live).frame);
    abut_live_destroy(live);
}
