/* Any bytes as a request of a browser, and what follows as its input. */
#include "fuzz.h"

#include "../../apps/draw/live/request.c"

static bool is_inside(live_span span, const char *bytes, size_t count) {
    return !span.at || (span.at >= bytes && span.count <= count &&
                        (size_t)(span.at - bytes) <= count - span.count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    char *text = malloc(bytes + 1); /* so that AddressSanitizer knows its end */
    live_request request;
    live_input input;
    FUZZ_CHECK(text);
    if (bytes)
        memcpy(text, data, bytes);
    const int status = abuti_live_parse_request(text, bytes, &request);
    FUZZ_CHECK(status == 0 || status == 200 || (status >= 400 && status < 506));
    if (status == LIVE_REQUEST_OK) {
        FUZZ_CHECK(request.head_bytes <= bytes && request.body_bytes <= LIVE_BODY_MAX);
        FUZZ_CHECK(request.head_bytes >= 18 && request.host.at && request.target.at[0] == '/');
        const live_span all[] = {request.target, request.host, request.origin, request.site};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            FUZZ_CHECK(is_inside(all[i], text, request.head_bytes));
        /* the same without what follows, and incomplete with one byte less */
        live_request again;
        FUZZ_CHECK(abuti_live_parse_request(text, request.head_bytes, &again) == 200);
        FUZZ_CHECK(abuti_live_parse_request(text, request.head_bytes - 1, &again) == 0);
    }
    const size_t begin = status == LIVE_REQUEST_OK ? request.head_bytes : 0;
    uint8_t *body = malloc(bytes - begin + 1);
    FUZZ_CHECK(body);
    if (bytes > begin)
        memcpy(body, data + begin, bytes - begin);
    for (size_t i = 0; i < (bytes - begin) / LIVE_INPUT_BYTES; i++)
        if (abuti_live_parse_input(body, i, &input)) {
            FUZZ_CHECK(abut_live_event_kind_name(input.kind));
            for (int k = 0; k < 7; k++)
                FUZZ_CHECK(fabs(input.pose[k]) <= 1e9);
        }
    free(body);
    free(text);
    return 0;
}

/* The library of pictures is not linked. */
const char *abut_live_event_kind_name(abut_live_event_kind kind) {
    return (unsigned)kind <= ABUT_LIVE_EVENT_KEY ? "event" : NULL;
}
