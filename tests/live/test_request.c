/* The parser of requests: what it accepts, what it refuses, and requests that are cut anywhere. */
#include "support/support.h"

#include "live/live.h"

#include <string.h>

#define LINE "GET /t/next?after=3 HTTP/1.1\r\n"
#define HOST "Host: 127.0.0.1:80\r\n"

static int parse(const char *text, live_request *request) {
    live_request unused;
    return abuti_live_parse_request(text, strlen(text), request ? request : &unused);
}

TEST(parts_of_a_request_are_found) {
    static const char text[] =
        "POST /token/input HTTP/1.1\r\nHOST:localhost:81  \r\nOrigin:\thttp://a\r\n"
        "Sec-Fetch-Site: same-origin\r\nX-Other: é \"x\"\r\ncontent-length: 80"
        "\r\n\r\nbody";
    live_request r;
    assert_int_equal(LIVE_REQUEST_OK, parse(text, &r));
    assert_true(r.is_post && r.keeps_alive);
    assert_true(abuti_live_span_is(r.target, "/token/input"));
    assert_true(abuti_live_span_is(r.host, "localhost:81"));
    assert_true(abuti_live_span_is(r.origin, "http://a"));
    assert_true(abuti_live_span_is(r.site, "same-origin"));
    assert_int_equal(80, r.body_bytes);
    assert_string_equal("body", text + r.head_bytes);
    assert_false(abuti_live_span_is(r.host, "localhost:8"));
    assert_false(abuti_live_span_is(r.host, "localhost:811"));
    assert_int_equal(LIVE_REQUEST_OK, parse(LINE HOST "\r\n", &r));
    assert_true(!r.is_post && !r.origin.at && !abuti_live_span_is(r.origin, ""));
    assert_int_equal(LIVE_REQUEST_OK, parse(LINE HOST "Connection: Close\r\n\r\n", &r));
    assert_false(r.keeps_alive);
    assert_int_equal(LIVE_REQUEST_OK, parse("GET / HTTP/1.0\r\n" HOST "\r\n", &r));
    assert_false(r.keeps_alive);
}

TEST(a_request_may_be_cut_anywhere) {
    static const char text[] = "POST /token/input HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n";
    const size_t all = sizeof text - 1;
    for (size_t count = 0; count <= all; count++) {
        char *part = malloc(count + 1); /* nothing is read past the end */
        live_request r;
        memcpy(part, text, count);
        assert_int_equal(count < all ? LIVE_REQUEST_PARTIAL : LIVE_REQUEST_OK,
                         abuti_live_parse_request(part, count, &r));
        free(part);
    }
}

TEST(invalid_requests_have_a_status) {
    static const struct {
        const char *text;
        int status;
    } cases[] = {
        {"\r\n", 400},
        {"GET\r\n", 400},
        {"GET /\r\n", 400},
        {"GET  HTTP/1.1\r\n", 400},
        {" / HTTP/1.1\r\n", 400},
        {"GET x HTTP/1.1\r\n", 400},
        {"GET http://a/ HTTP/1.1\r\n", 400},
        {"GET /\x80 HTTP/1.1\r\n", 400},
        {"GET /\t HTTP/1.1\r\n", 400},
        {"GET / x HTTP/1.1\r\n", 400},
        {"G(T / HTTP/1.1\r\n", 400},
        {"GET / HTTP/1.1\n", 400},
        {"GET / HTTQ/1.1\r\n", 400},
        {"GET / HTTP/2.0\r\n", 505},
        {"GET / HTTP/1.2\r\n", 505},
        {"PUT / HTTP/1.1\r\n", 405},
        {"get / HTTP/1.1\r\n", 405},
        {"HEAD / HTTP/1.1\r\n", 405},
        {LINE "\r\n", 400},             /* no host */
        {LINE HOST HOST "\r\n", 400},   /* two */
        {LINE HOST "Name\r\n", 400},    /* no colon */
        {LINE HOST ": value\r\n", 400}, /* no name */
        {LINE HOST "Name : value\r\n", 400},
        {LINE HOST " continued\r\n", 400},
        {LINE HOST "Name: a\x01\r\n", 400},
        {LINE HOST "Name: a\rb\r\n", 400},
        {LINE HOST "Name: a\n", 400},
        {LINE HOST "Transfer-Encoding: chunked\r\n", 501},
        {LINE HOST "Upgrade: websocket\r\n", 501},
        {LINE HOST "Expect: 100-continue\r\n", 501},
        {LINE HOST "Origin: a\r\nOrigin: b\r\n", 400},
        {LINE HOST "Content-Length: 3\r\n\r\n", 400}, /* of a GET */
        {"POST / HTTP/1.1\r\n" HOST "\r\n", 400},
        {"POST / HTTP/1.1\r\n" HOST "Content-Length:\r\n", 400},
        {"POST / HTTP/1.1\r\n" HOST "Content-Length: -1\r\n", 400},
        {"POST / HTTP/1.1\r\n" HOST "Content-Length: 1 2\r\n", 400},
        {"POST / HTTP/1.1\r\n" HOST "Content-Length: 20481\r\n", 413},
        {"POST / HTTP/1.1\r\n" HOST "Content-Length: 99999999999999999999999\r\n", 413},
        {"POST / HTTP/1.1\r\n" HOST "Content-Length: 1\r\nContent-Length: 1\r\n", 400},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int status = parse(cases[i].text, NULL);
        if (status != cases[i].status)
            fail_msg("case %zu: %d instead of %d", i, status, cases[i].status);
    }
}

TEST(heads_are_limited) {
    static char text[3 * LIVE_HEAD_MAX];
    memset(text, 'a', sizeof text);
    live_request r;
    assert_int_equal(LIVE_REQUEST_PARTIAL, abuti_live_parse_request(text, LIVE_HEAD_MAX - 1, &r));
    assert_int_equal(431, abuti_live_parse_request(text, LIVE_HEAD_MAX, &r));
    assert_int_equal(431, abuti_live_parse_request(text, sizeof text, &r));
    size_t count = 0;
    count += (size_t)sprintf(text, LINE HOST);
    for (int i = 0; i < LIVE_FIELDS_MAX; i++)
        count += (size_t)sprintf(text + count, "a: b\r\n");
    assert_int_equal(431, abuti_live_parse_request(text, count, &r));
}

/* ---- input ---- */

static void store(uint8_t *to, const double *numbers) {
    memcpy(to, numbers, LIVE_INPUT_BYTES); /* tests run on little-endian machines */
}

TEST(input_is_read_and_validated) {
    uint8_t body[2 * LIVE_INPUT_BYTES];
    live_input input;
    const double moved[10] = {ABUT_LIVE_EVENT_POSE, 7, 1, 0, 0, 0.6, 0.8, 1, -2, 3};
    const double key[10] = {ABUT_LIVE_EVENT_KEY, 'x', 0, 0, 0, 0, 0, 0, 0, 0};
    store(body, moved);
    store(body + LIVE_INPUT_BYTES, key);
    assert_true(abuti_live_parse_input(body, 0, &input));
    assert_int_equal(ABUT_LIVE_EVENT_POSE, input.kind);
    assert_int_equal(7, input.number);
    assert_true(input.is_last && input.pose[2] == 0.6 && input.pose[5] == -2);
    assert_true(abuti_live_parse_input(body, 1, &input));
    assert_int_equal(ABUT_LIVE_EVENT_KEY, input.kind);
    assert_int_equal('x', input.number);
    const struct {
        int at;
        double value;
    } wrong[] = {{0, -1},       {0, ABUT_LIVE_EVENT_KEY + 0.5 + 1},
                 {0, NAN},      {1, -1},
                 {1, 4e9},      {1, INFINITY},
                 {3, 1},        {6, NAN},
                 {6, 0},        {9, 1e10},
                 {7, -INFINITY}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        double changed[10];
        memcpy(changed, moved, sizeof changed);
        changed[wrong[i].at] = wrong[i].value;
        store(body, changed);
        if (abuti_live_parse_input(body, 0, &input))
            fail_msg("number %d is %g", wrong[i].at, wrong[i].value);
    }
}
