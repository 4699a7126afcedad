/* Private types and functions of the live module: a local HTTP server for pages.
 *
 *   request.c  parses requests: heads of HTTP, and the input of pages
 *   state.c    the content of pages: layers made of a picture, with the version of each part
 *   pack.c     what has changed since a version, in the format of docs/viewer.md
 *   server.c   sockets and the thread of the server
 *   live.c     public functions
 */
#ifndef ABUTI_LIVE_H
#define ABUTI_LIVE_H

#include "picture/picture.h"

#include <abut/live.h>

/* ---- request.c ---- */

enum {
    LIVE_HEAD_MAX = 8192,  /* bytes of the head of a request: browsers send about 700 */
    LIVE_FIELDS_MAX = 64,  /* header fields */
    LIVE_BODY_MAX = 20480, /* bytes of input: 256 events */
    LIVE_INPUT_BYTES = 80  /* of an event */
};

/* A part of the text of a request. */
typedef struct live_span {
    const char *at; /* null = absent */
    size_t count;
} live_span;

typedef struct live_request {
    bool is_post, keeps_alive;
    live_span target, host, origin, site; /* site: Sec-Fetch-Site */
    size_t head_bytes, body_bytes;
} live_request;

enum { LIVE_REQUEST_PARTIAL = 0, LIVE_REQUEST_OK = 200 };

/* Parses the head of a request at the start of `bytes`. Returns LIVE_REQUEST_OK,
 * LIVE_REQUEST_PARTIAL if the head is not complete, or the HTTP status of an error. Spans refer to
 * `bytes`. */
int abuti_live_parse_request(const char *bytes, size_t count, live_request *request);
/* Returns whether a span is a text. */
bool abuti_live_span_is(live_span span, const char *text);

/* An event of a page: an abut_live_event whose pose is in units of the page. */
typedef struct live_input {
    abut_live_event_kind kind;
    uint32_t number; /* the mesh, or the key */
    bool is_last;
    double pose[7];
} live_input;

/* Parses event `index` of the body of a request, whose length is a multiple of LIVE_INPUT_BYTES.
 * Returns false if it is invalid. */
bool abuti_live_parse_input(const uint8_t *body, size_t index, live_input *input);

/* ---- state.c ---- */

typedef enum live_kind { LIVE_BODIES, LIVE_LINES, LIVE_POINTS } live_kind;

enum { LIVE_NAME = 128 };

/* Meshes of one shape and look, or lines or points of one width. Versions say in which frame the
 * part has changed last. */
typedef struct live_layer {
    live_kind kind;
    char name[LIVE_NAME];
    bool edges, smooth, two_sided, movable, transparent;
    abut_mesh *mesh; /* reference; null = lines or points */
    double width;
    uint32_t vertex_count, triangle_count;
    size_t count;       /* of meshes, lines or points */
    float *positions;   /* 3 for each vertex, relative to the origin of the mesh */
    uint32_t *indices;  /* 3 for each triangle */
    float *places;      /* 7 for each mesh: rotation and position; 6 for a line, 3 for a point */
    uint8_t *colours;   /* 4 for each */
    uint32_t *items;    /* of each mesh: its number in the picture */
    uint8_t *triangles; /* 4 for each triangle, or null */
    size_t place_room, colour_room, item_room;
    uint64_t shape_version, position_version, place_version, triangle_version;
} live_layer;

typedef struct live_item {
    abut_vec3 origin; /* of the mesh */
    bool movable;
} live_item;

typedef struct live_state {
    live_layer *layers;
    size_t layer_count, layer_room;
    live_item *items;
    size_t item_count;
    char *text; /* or null */
} live_state;

/* The coordinates of pages: (coordinates - centre) * scale. */
typedef struct live_view {
    bool is_set;
    abut_vec3 centre, up, eye, extent; /* extent: of the first picture */
    double scale, fov;
} live_view;

/* Sets the coordinates and the camera of pages from the first picture. */
void abuti_live_set_view(live_view *view, const abut_picture *picture);
/* Makes the state of a picture. Arrays that are equal to those of `before` are null, for
 * abuti_live_replace(). */
abut_status abuti_live_make_state(abut_context *context, const live_view *view,
                                  const abut_picture *picture, const abut_live_frame *frame,
                                  const live_state *before, live_state *state);
/* Moves what has not changed from `state` to `next`, sets the versions of what has, and releases
 * the rest of `state`. Cannot fail. `state` becomes `next`. */
void abuti_live_replace(abut_context *context, live_state *state, live_state *next,
                        uint64_t version);
void abuti_live_free_state(abut_context *context, live_state *state);

/* ---- pack.c ---- */

/* Bytes that grow; after a failed allocation nothing is added. */
typedef struct live_bytes {
    abut_context *context;
    uint8_t *data;
    size_t count, room;
    bool has_failed;
} live_bytes;

void abuti_live_print(live_bytes *to, const char *format, ...) ABUTI_PRINTF(2, 3);

/* ---- server.c ---- */

typedef struct live_server live_server; /* sockets and the thread */

struct abut_live {
    abut_context *context; /* reference */
    char *script, *title, *command, *unit;
    size_t script_bytes;
    uint32_t controls;
    double timeout;
    char url[96], token[33], host[2][32], origin[2][40];
    uint32_t port;
    live_server *server;
    /* The server has the lock when it uses the following members, the program when it changes
     * them. */
    live_view view;
    uint64_t view_version; /* pages with an older one get everything */
    live_state state;
    uint64_t version, frame; /* version: 0 before the first frame */
    bool has_ended;
    live_input inputs[ABUT_LIVE_EVENT_MAX];
    size_t input_count;
    uint64_t received, handled; /* events of pages; those that the program has polled */
    uint32_t page_count;
};

/* Adds a message: what has changed since `after`; everything if that is 0 or not a version. */
void abuti_live_pack(const abut_live *live, uint64_t after, live_bytes *to);
/* Adds an event. Poses of one body are one event. Invalid ones are ignored. */
void abuti_live_receive(abut_live *live, const live_input *input);

abut_status abuti_live_start(abut_live *live);
/* Serves the last state for a moment, then ends the thread. */
void abuti_live_stop(abut_live *live);
void abuti_live_lock(const abut_live *live);
void abuti_live_unlock(const abut_live *live);
/* Wakes the server after a new frame. */
void abuti_live_wake(const abut_live *live);
/* Waits for an event, with the lock. */
void abuti_live_wait(abut_live *live, double seconds);

#endif
