/* The parser of requests of HTTP/1.1 (RFC 9112), strict: lines end in CR LF, there are no continued
 * lines and no transfer encodings, and fields that matter occur once. It neither allocates nor
 * copies. */
#include "live/live.h"

#include <string.h>

enum {
    BAD_REQUEST = 400,
    WRONG_METHOD = 405,
    BODY_TOO_LARGE = 413,
    HEAD_TOO_LARGE = 431,
    NOT_IMPLEMENTED = 501,
    WRONG_VERSION = 505
};

bool abuti_live_span_is(live_span span, const char *text) {
    return span.at && strlen(text) == span.count && memcmp(span.at, text, span.count) == 0;
}

static char lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Compares without regard to the case of ASCII letters; `text` is lower case. */
static bool is_word(live_span span, const char *text) {
    size_t i = 0;
    for (; i < span.count && text[i]; i++)
        if (lower(span.at[i]) != text[i])
            return false;
    return i == span.count && !text[i];
}

/* The characters of methods and names of fields (RFC 9110, 5.6.2). */
static bool is_token(char c) {
    return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z') ||
           (c && strchr("!#$%&'*+-.^_`|~", c));
}

/* The next line without its end. Returns false if it is not complete. */
static bool next_line(const char **at, const char *end, live_span *line) {
    const char *feed = memchr(*at, '\n', (size_t)(end - *at));
    if (!feed)
        return false;
    *line = (live_span){*at, (size_t)(feed - *at)};
    *at = feed + 1;
    return true;
}

/* Removes the CR at the end of a line. Returns false if there is none, or another control character
 * than a tab. */
static bool check_line(live_span *line) {
    if (!line->count || line->at[line->count - 1] != '\r')
        return false;
    line->count--;
    for (size_t i = 0; i < line->count; i++)
        if (((unsigned char)line->at[i] < 0x20 && line->at[i] != '\t') || line->at[i] == 0x7f)
            return false;
    return true;
}

static int parse_first_line(live_span line, live_request *request) {
    const char *end = line.at + line.count, *method_end = memchr(line.at, ' ', line.count);
    if (!method_end || method_end == line.at)
        return BAD_REQUEST;
    for (const char *c = line.at; c < method_end; c++)
        if (!is_token(*c))
            return BAD_REQUEST;
    const char *target = method_end + 1, *target_end = memchr(target, ' ', (size_t)(end - target));
    if (!target_end || target == target_end || *target != '/')
        return BAD_REQUEST;
    for (const char *c = target; c < target_end; c++)
        if (*c < 0x21 || *c > 0x7e)
            return BAD_REQUEST;
    const live_span method = {line.at, (size_t)(method_end - line.at)},
                    version = {target_end + 1, (size_t)(end - target_end - 1)};
    if (version.count != 8 || memcmp(version.at, "HTTP/", 5) != 0)
        return BAD_REQUEST;
    if (!abuti_live_span_is(version, "HTTP/1.1") && !abuti_live_span_is(version, "HTTP/1.0"))
        return WRONG_VERSION;
    if (!abuti_live_span_is(method, "GET") && !abuti_live_span_is(method, "POST"))
        return WRONG_METHOD;
    request->is_post = method.count == 4;
    request->keeps_alive = version.at[7] == '1';
    request->target = (live_span){target, (size_t)(target_end - target)};
    return LIVE_REQUEST_OK;
}

/* A field that may occur once. */
static int set_once(live_span *to, live_span value) {
    if (to->at)
        return BAD_REQUEST;
    *to = value;
    return LIVE_REQUEST_OK;
}

static int parse_length(live_span value, live_request *request) {
    size_t length = 0;
    if (!value.count)
        return BAD_REQUEST;
    for (size_t i = 0; i < value.count; i++) {
        if (value.at[i] < '0' || value.at[i] > '9')
            return BAD_REQUEST;
        length = 10 * length + (size_t)(value.at[i] - '0');
        if (length > LIVE_BODY_MAX)
            return BODY_TOO_LARGE;
    }
    request->body_bytes = length;
    return LIVE_REQUEST_OK;
}

static int parse_field(live_span line, live_request *request, live_span *length) {
    const char *colon = memchr(line.at, ':', line.count);
    if (!colon || colon == line.at)
        return BAD_REQUEST;
    const live_span name = {line.at, (size_t)(colon - line.at)};
    for (size_t i = 0; i < name.count; i++)
        if (!is_token(name.at[i]))
            return BAD_REQUEST;
    live_span value = {colon + 1, line.count - name.count - 1};
    while (value.count && (*value.at == ' ' || *value.at == '\t')) {
        value.at++;
        value.count--;
    }
    while (value.count && (value.at[value.count - 1] == ' ' || value.at[value.count - 1] == '\t'))
        value.count--;
    if (is_word(name, "host"))
        return set_once(&request->host, value);
    if (is_word(name, "origin"))
        return set_once(&request->origin, value);
    if (is_word(name, "sec-fetch-site"))
        return set_once(&request->site, value);
    if (is_word(name, "transfer-encoding") || is_word(name, "upgrade") || is_word(name, "expect"))
        return NOT_IMPLEMENTED;
    if (is_word(name, "connection"))
        request->keeps_alive = request->keeps_alive && !is_word(value, "close");
    if (!is_word(name, "content-length"))
        return LIVE_REQUEST_OK;
    const int status = set_once(length, value);
    return status == LIVE_REQUEST_OK ? parse_length(value, request) : status;
}

/* Fields that are checked once the head is complete. */
static int check_head(const live_request *request, live_span length) {
    if (!request->host.at || (request->is_post && !length.at) ||
        (!request->is_post && request->body_bytes))
        return BAD_REQUEST;
    return LIVE_REQUEST_OK;
}

int abuti_live_parse_request(const char *bytes, size_t count, live_request *request) {
    const size_t shown = count < LIVE_HEAD_MAX ? count : LIVE_HEAD_MAX;
    const char *at = bytes, *end = bytes + shown;
    const int partial = count < LIVE_HEAD_MAX ? LIVE_REQUEST_PARTIAL : HEAD_TOO_LARGE;
    live_span line, length = {NULL, 0};
    memset(request, 0, sizeof *request);
    if (!next_line(&at, end, &line))
        return partial;
    int status = check_line(&line) ? parse_first_line(line, request) : BAD_REQUEST;
    for (int fields = 0; status == LIVE_REQUEST_OK; fields++) {
        if (!next_line(&at, end, &line))
            return partial;
        if (!check_line(&line))
            return BAD_REQUEST;
        if (!line.count) {
            request->head_bytes = (size_t)(at - bytes);
            return check_head(request, length);
        }
        status = fields < LIVE_FIELDS_MAX ? parse_field(line, request, &length) : HEAD_TOO_LARGE;
    }
    return status;
}

/* ---- input ---- */

/* A number of 8 bytes, little-endian as JavaScript writes it. */
static double read_double(const uint8_t *bytes) {
    uint64_t bits = 0;
    double value;
    for (int i = 7; i >= 0; i--)
        bits = bits << 8 | bytes[i];
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Ten numbers: the kind, the mesh or the key, whether it is the last, and a pose. */
bool abuti_live_parse_input(const uint8_t *body, size_t index, live_input *input) {
    double n[LIVE_INPUT_BYTES / 8];
    for (size_t i = 0; i < sizeof n / sizeof *n; i++) {
        n[i] = read_double(body + LIVE_INPUT_BYTES * index + 8 * i);
        if (!(fabs(n[i]) <= 1e9)) /* units of the page: the scene has the size 1 */
            return false;
    }
    if (!(n[0] >= 0 && n[0] <= ABUT_LIVE_EVENT_KEY && n[1] >= 0 && n[1] < 4e9))
        return false;
    *input = (live_input){.kind = (abut_live_event_kind)n[0],
                          .number = (uint32_t)n[1],
                          .is_last = n[2] != 0};
    memcpy(input->pose, n + 3, sizeof input->pose);
    const double *q = input->pose;
    const double length = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
    return input->kind != ABUT_LIVE_EVENT_POSE || (length > 0.5 && length < 2);
}
