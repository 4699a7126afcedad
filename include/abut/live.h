/* Live pages: a local HTTP server that shows pictures in a browser while a program runs, and
 * receives the poses of bodies that the user drags. Part of libabut_picture.
 *
 * abut_live_show() replaces the content of all open pages; each page fetches what has changed since
 * its last fetch, so that a slow browser skips frames. The server runs in a thread of its own.
 *
 * Security: the server accepts connections from this machine only (127.0.0.1). The URL contains a
 * random token of 128 bits; requests with another path are answered by 404. Requests with another
 * Host or Origin are refused, so that web pages of other sites cannot use the server. Requests,
 * their time and the number of connections are limited. The server reads no files.
 */
#ifndef ABUT_LIVE_H
#define ABUT_LIVE_H

#include <abut/base.h>
#include <abut/picture.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct abut_live abut_live;

/* Buttons of a page, for abut_live_options.controls. */
#define ABUT_LIVE_CONTROL_PAUSE 1u /* pause, continue and a single step */
#define ABUT_LIVE_CONTROL_RESET 2u
#define ABUT_LIVE_CONTROL_STOP 4u /* ends the program */

typedef struct abut_live_options {
    size_t size;
    const char *script;  /* content of viewer.js, which viewer/build makes; required; copied */
    size_t script_bytes; /* its length; at most 16 MiB */
    uint32_t port;       /* at most 65535; 0 = any that is free */
    uint32_t controls;   /* sum of ABUT_LIVE_CONTROL_...; 0 = none */
    const char *title;   /* of the page; null = "abut" */
    const char *command; /* name of the program, below the title; null = none */
    const char *unit;    /* unit of length, such as "mm"; null = none */
    double timeout;      /* seconds in which a request must arrive; 0 = 5 */
} abut_live_options;

ABUT_DEFAULT(abut_live_options)

typedef struct abut_live_info {
    size_t size;     /* sizeof(abut_live_info), set by the default function */
    const char *url; /* of the page; valid until abut_live_destroy() */
    uint32_t port;
    uint32_t page_count; /* open pages, approximately: connections that have fetched a frame */
    uint64_t frame;      /* number of calls of abut_live_show() */
} abut_live_info;

ABUT_DEFAULT(abut_live_info)

/* What a picture does not have. */
typedef struct abut_live_frame {
    size_t size;
    const char *const *names; /* one for each mesh of the picture; meshes of one name share a row of
                               * the list. Null, also for one of them = "bodies" */
    const bool *movable;      /* one for each mesh: whether the user can drag it; null = none */
    const char *text;         /* lines that the page shows, such as a distance; null = none */
    const char *line_name;    /* of the lines, for the list; null = "lines" */
    const char *point_name;   /* of the points; null = "points" */
} abut_live_frame;

ABUT_DEFAULT(abut_live_frame)

typedef enum abut_live_event_kind {
    ABUT_LIVE_EVENT_POSE,  /* the user drags a body */
    ABUT_LIVE_EVENT_PAUSE, /* the buttons of abut_live_options.controls */
    ABUT_LIVE_EVENT_CONTINUE,
    ABUT_LIVE_EVENT_STEP, /* one step, then pause */
    ABUT_LIVE_EVENT_RESET,
    ABUT_LIVE_EVENT_STOP,
    ABUT_LIVE_EVENT_KEY /* a key that the page does not use itself */
} abut_live_event_kind;

/* Returns a name such as "pose", or null for other values. Thread-safe. */
ABUT_API const char *abut_live_event_kind_name(abut_live_event_kind kind);

typedef struct abut_live_event {
    abut_live_event_kind kind;
    uint32_t body;  /* pose: the number of the mesh in the picture that was shown last */
    uint32_t key;   /* key: its Unicode code point */
    bool is_last;   /* pose: the user has released the body */
    abut_pose pose; /* pose: the new pose of the body, in coordinates of the picture */
} abut_live_event;

ABUT_LIST(abut_live_event)

/* Events that abut_live_poll() returns at once, at most; the poses of one body are one event. */
#define ABUT_LIVE_EVENT_MAX 64

/* Starts a server on 127.0.0.1. It shows nothing before abut_live_show(). Returns
 * ABUT_ERROR_ARGUMENT if the script is missing or an option is out of range, ABUT_ERROR_FILE if the
 * port cannot be used, and ABUT_ERROR_UNSUPPORTED on systems without POSIX sockets or threads.
 * Thread-safe. */
ABUT_API abut_status abut_live_create(abut_context *context, const abut_live_options *options,
                                      abut_live **live);
/* Stops the server. Open pages keep the last frame and say that the program has ended. Waits up to
 * three seconds for pages that have not received that frame. Null is allowed. No other thread may
 * use it. */
ABUT_API void abut_live_destroy(abut_live *live);
/* Stores the URL of the page and the state of the server. `info->size` must be set. Thread-safe. */
ABUT_API abut_status abut_live_get_info(const abut_live *live, abut_live_info *info);

/* Shows a picture in all pages: its meshes, lines and points. The first picture sets the camera;
 * then the user moves it. `frame` may be null. The contents of meshes are copied. On failure pages
 * keep the previous frame. Returns ABUT_ERROR_LIMIT if the contents exceed 1 GiB. One thread per
 * server. */
ABUT_API abut_status abut_live_show(abut_live *live, const abut_picture *picture,
                                    const abut_live_frame *frame);
/* Returns the events since the previous call, oldest first. If there are none, waits for one for
 * at most `seconds`, from 0 to 3600. Returns ABUT_ERROR_BUFFER if the capacity is below
 * ABUT_LIVE_EVENT_MAX and too small; the events are then kept. If the program does not call it for
 * a long time, further events except for poses are dropped. One thread per server. */
ABUT_API abut_status abut_live_poll(abut_live *live, double seconds, abut_live_event_list *events);

#ifdef __cplusplus
}
#endif

#endif
