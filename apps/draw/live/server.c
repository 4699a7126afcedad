/* The server of live pages: one thread that waits for all connections by poll(2).
 *
 * A page requests /TOKEN/next?after=VERSION, which is answered once there is a newer version (long
 * polling). There is no queue for each page: a slow one gets the latest frame next. Input is posted
 * to /TOKEN/input. Limits protect against other programs of this machine: CONNECTIONS_MAX, the
 * time and the size of a request, and the time of an answer. */
#define _POSIX_C_SOURCE 200809L /* the strerror_r() of POSIX */
#ifdef __APPLE__
#define _DARWIN_C_SOURCE /* SO_NOSIGPIPE */
#endif
#include "live/live.h"

#include <string.h>

#ifdef ABUT_HAS_SOCKETS

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#ifndef MSG_NOSIGNAL /* macOS has SO_NOSIGPIPE instead */
#define MSG_NOSIGNAL 0
#endif

enum { CONNECTIONS_MAX = 16, IN_BYTES = LIVE_HEAD_MAX + LIVE_BODY_MAX, HEAD_BYTES = 1024 };
#define IDLE_SECONDS 30.0   /* between two requests of a connection */
#define HOLD_SECONDS 10.0   /* until a request for the next frame is answered without one */
#define ANSWER_TIMEOUTS 6.0 /* an answer may take this many times as long as a request */
#define LAST_SECONDS 3.0    /* for pages without the last frame, when the program ends */

typedef enum connection_state { CLOSED, READING, WAITING, WRITING } connection_state;

typedef struct connection {
    connection_state state;
    int socket;
    double deadline;
    char in[IN_BYTES];
    size_t in_count;
    uint64_t after;          /* waiting: the version that the page has */
    bool is_page, has_ended; /* has fetched frames; and has the last one */
    bool keeps_alive;
    char head[HEAD_BYTES];
    const uint8_t *body; /* of the answer: `owned`, or memory of the server */
    uint8_t *owned;
    size_t head_count, body_count, sent;
} connection;

struct live_server {
    int listener, wake[2]; /* a pipe */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t arrived; /* an event */
    bool is_running;
    connection connections[CONNECTIONS_MAX];
};

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

void abuti_live_lock(const abut_live *live) {
    pthread_mutex_lock(&live->server->lock);
}

void abuti_live_unlock(const abut_live *live) {
    pthread_mutex_unlock(&live->server->lock);
}

void abuti_live_wake(const abut_live *live) {
    const char byte = 0;
    /* a full pipe wakes the server too */
    const ssize_t written = write(live->server->wake[1], &byte, 1);
    (void)written;
}

void abuti_live_wait(abut_live *live, double seconds) {
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    const double end = (double)until.tv_nsec + 1e9 * (seconds - floor(seconds));
    until.tv_sec += (time_t)floor(seconds) + (end >= 1e9);
    until.tv_nsec = (long)(end >= 1e9 ? end - 1e9 : end);
    while (!live->input_count &&
           pthread_cond_timedwait(&live->server->arrived, &live->server->lock, &until) == 0)
        continue;
}

/* ---- connections ---- */

static void close_connection(abut_live *live, connection *c) {
    close(c->socket);
    abuti_release(live->context, c->owned);
    c->owned = NULL;
    c->state = CLOSED;
}

static const char *reason(int status) {
    switch (status) {
    case 200:
        return "OK";
    case 204:
        return "No Content";
    case 400:
        return "Bad Request";
    case 403:
        return "Forbidden";
    case 404:
        return "Not Found";
    case 405:
        return "Method Not Allowed";
    case 408:
        return "Request Timeout";
    case 413:
        return "Content Too Large";
    case 431:
        return "Request Header Fields Too Large";
    case 501:
        return "Not Implemented";
    case 505:
        return "HTTP Version Not Supported";
    default:
        return "Service Unavailable";
    }
}

/* Starts an answer. The policy permits the script and the style of the page and requests to this
 * server, nothing else; other pages can neither frame nor read it. */
static void answer(const abut_live *live, connection *c, int status, const char *type,
                   const uint8_t *body, size_t bytes) {
    static const char *const policy =
        "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; img-src data: blob:; "
        "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";
    c->keeps_alive = c->keeps_alive && status < 300;
    const int count =
        snprintf(c->head, sizeof c->head,
                 "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
                 "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\n"
                 "Cross-Origin-Resource-Policy: same-origin\r\nReferrer-Policy: no-referrer\r\n"
                 "Content-Security-Policy: %s\r\n%s%s\r\n",
                 status, reason(status), type, bytes, policy,
                 status == 405 ? "Allow: GET, POST\r\n" : "",
                 c->keeps_alive ? "" : "Connection: close\r\n");
    c->head_count = count > 0 && (size_t)count < sizeof c->head ? (size_t)count : 0;
    c->body = body;
    c->body_count = bytes;
    c->sent = 0;
    c->state = WRITING;
    c->deadline = now() + ANSWER_TIMEOUTS * live->timeout;
}

static void answer_words(const abut_live *live, connection *c, int status) {
    const char *words = status == 204 ? "" : reason(status);
    answer(live, c, status, "text/plain", (const uint8_t *)words, strlen(words));
}

/* ---- answers ---- */

static void answer_page(abut_live *live, connection *c) {
    static const char page[] =
        "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<title>abut</title>\n<link rel=\"icon\" href=\"data:,\">\n<body>\n"
        "<noscript>This page draws its scene by a script.</noscript>\n"
        "<div id=\"scene\" data-live=\"1\" hidden></div>\n"
        "<script src=\"viewer.js\"></script>\n</html>\n";
    answer(live, c, 200, "text/html; charset=utf-8", (const uint8_t *)page, sizeof page - 1);
}

/* Answers a request for the next frame, with the lock. */
static void answer_frame(abut_live *live, connection *c) {
    live_bytes bytes = {.context = live->context};
    abuti_live_pack(live, c->after, &bytes);
    if (bytes.has_failed) {
        abuti_release(live->context, bytes.data);
        answer_words(live, c, 503);
        return;
    }
    c->owned = bytes.data;
    c->has_ended = live->has_ended;
    answer(live, c, 200, "application/octet-stream", bytes.data, bytes.count);
}

static bool has_news(const abut_live *live, uint64_t after) {
    return live->version && (after != live->version || live->has_ended);
}

static void next_frame(abut_live *live, connection *c, live_span query) {
    uint64_t after = 0;
    if (query.count > 19) {
        answer_words(live, c, 400);
        return;
    }
    for (size_t i = 0; i < query.count; i++) {
        if (query.at[i] < '0' || query.at[i] > '9') {
            answer_words(live, c, 400);
            return;
        }
        after = 10 * after + (uint64_t)(query.at[i] - '0');
    }
    c->after = after;
    c->is_page = true;
    abuti_live_lock(live);
    if (has_news(live, after)) {
        answer_frame(live, c);
    } else {
        c->state = WAITING;
        c->deadline = now() + HOLD_SECONDS;
    }
    abuti_live_unlock(live);
}

/* Answers the number of events received until now, by which the page recognises frames that have
 * been made after its input. */
static void take_input(abut_live *live, connection *c, const live_request *request) {
    const uint8_t *body = (const uint8_t *)c->in + request->head_bytes;
    const size_t count = request->body_bytes / LIVE_INPUT_BYTES;
    bool is_valid = request->body_bytes % LIVE_INPUT_BYTES == 0;
    live_input input;
    for (size_t i = 0; i < count; i++)
        is_valid = is_valid && abuti_live_parse_input(body, i, &input);
    if (!is_valid) {
        answer_words(live, c, 400);
        return;
    }
    abuti_live_lock(live);
    for (size_t i = 0; i < count; i++) {
        abuti_live_parse_input(body, i, &input);
        abuti_live_receive(live, &input);
    }
    live_bytes bytes = {.context = live->context};
    abuti_live_print(&bytes, "%llu", (unsigned long long)live->received);
    pthread_cond_signal(&live->server->arrived);
    abuti_live_unlock(live);
    if (bytes.has_failed) {
        answer_words(live, c, 503);
        return;
    }
    c->owned = bytes.data;
    answer(live, c, 200, "text/plain", bytes.data, bytes.count);
}

/* The remainder of a target after /TOKEN/; null if the token is wrong. All bytes are compared, so
 * that the time does not depend on how many are right. */
static live_span path_after_token(const abut_live *live, live_span target) {
    unsigned char difference = 0;
    if (target.count < 34 || target.at[0] != '/' || target.at[33] != '/')
        return (live_span){NULL, 0};
    for (size_t i = 0; i < 32; i++)
        difference |= (unsigned char)(target.at[1 + i] ^ live->token[i]);
    return difference ? (live_span){NULL, 0} : (live_span){target.at + 34, target.count - 34};
}

/* Refuses requests with a name of another host, which its owner could direct to this address, and
 * requests of pages of other origins. */
static bool is_foreign(const abut_live *live, const live_request *r) {
    const bool host = abuti_live_span_is(r->host, live->host[0]) ||
                      abuti_live_span_is(r->host, live->host[1]),
               origin = !r->origin.at || abuti_live_span_is(r->origin, live->origin[0]) ||
                        abuti_live_span_is(r->origin, live->origin[1]),
               site = !r->site.at || abuti_live_span_is(r->site, "same-origin") ||
                      abuti_live_span_is(r->site, "none");
    return !host || !origin || !site;
}

static void route(abut_live *live, connection *c, const live_request *r) {
    static const char next[] = "next?after=";
    const live_span path = path_after_token(live, r->target);
    if (is_foreign(live, r))
        answer_words(live, c, 403);
    else if (!path.at)
        answer_words(live, c, 404);
    else if (r->is_post != abuti_live_span_is(path, "input"))
        answer_words(live, c, r->is_post || abuti_live_span_is(path, "input") ? 405 : 404);
    else if (r->is_post)
        take_input(live, c, r);
    else if (!path.count)
        answer_page(live, c);
    else if (abuti_live_span_is(path, "viewer.js"))
        answer(live, c, 200, "text/javascript; charset=utf-8", (const uint8_t *)live->script,
               live->script_bytes);
    else if (path.count >= sizeof next - 1 && memcmp(path.at, next, sizeof next - 1) == 0)
        next_frame(live, c, (live_span){path.at + sizeof next - 1, path.count - (sizeof next - 1)});
    else
        answer_words(live, c, 404);
}

/* Answers the next request of a connection, if it is complete. */
static void handle_request(abut_live *live, connection *c) {
    live_request request;
    const int status = abuti_live_parse_request(c->in, c->in_count, &request);
    if (status == LIVE_REQUEST_PARTIAL)
        return;
    if (status != LIVE_REQUEST_OK) {
        c->keeps_alive = false;
        answer_words(live, c, status);
        return;
    }
    const size_t bytes = request.head_bytes + request.body_bytes;
    if (c->in_count < bytes)
        return;
    c->keeps_alive = request.keeps_alive;
    route(live, c, &request);
    c->in_count -= bytes;
    memmove(c->in, c->in + bytes, c->in_count);
}

/* ---- sockets ---- */

static bool would_block(void) {
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

static void receive(abut_live *live, connection *c) {
    if (c->in_count == sizeof c->in) { /* more than one request while it waits */
        close_connection(live, c);
        return;
    }
    const ssize_t count = recv(c->socket, c->in + c->in_count, sizeof c->in - c->in_count, 0);
    if (count < 0 && would_block())
        return;
    if (count <= 0) {
        close_connection(live, c);
        return;
    }
    if (!c->in_count && c->state == READING)
        c->deadline = now() + live->timeout;
    c->in_count += (size_t)count;
    if (c->state == READING)
        handle_request(live, c);
}

static void send_answer(abut_live *live, connection *c) {
    while (c->sent < c->head_count + c->body_count) {
        const bool in_head = c->sent < c->head_count;
        const void *from = in_head ? (const void *)(c->head + c->sent)
                                   : (const void *)(c->body + (c->sent - c->head_count));
        const size_t left =
            in_head ? c->head_count - c->sent : c->head_count + c->body_count - c->sent;
        const ssize_t count = send(c->socket, from, left, MSG_NOSIGNAL);
        if (count < 0 && would_block())
            return;
        if (count <= 0) {
            close_connection(live, c);
            return;
        }
        c->sent += (size_t)count;
    }
    abuti_release(live->context, c->owned);
    c->owned = NULL;
    if (!c->keeps_alive) {
        /* What has arrived is read, since closing would otherwise discard the answer. */
        shutdown(c->socket, SHUT_WR);
        for (int i = 0; i < 8 && recv(c->socket, c->in, sizeof c->in, 0) > 0; i++)
            continue;
        close_connection(live, c);
        return;
    }
    c->state = READING;
    c->deadline = now() + (c->in_count ? live->timeout : IDLE_SECONDS);
    if (c->in_count)
        handle_request(live, c);
}

/* A free connection; otherwise the one that has been idle for longest; or null. */
static connection *free_connection(abut_live *live) {
    connection *found = NULL;
    for (int i = 0; i < CONNECTIONS_MAX; i++) {
        connection *c = &live->server->connections[i];
        if (c->state == CLOSED)
            return c;
        if (c->state == READING && !c->in_count && (!found || c->deadline < found->deadline))
            found = c;
    }
    if (found)
        close_connection(live, found);
    return found;
}

static void set_flags(int descriptor) {
    fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK);
    fcntl(descriptor, F_SETFD, FD_CLOEXEC);
#ifdef SO_NOSIGPIPE
    const int one = 1;
    setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &one, sizeof one);
#endif
}

static void accept_connection(abut_live *live) {
    const int made = accept(live->server->listener, NULL, NULL);
    if (made < 0)
        return;
    connection *c = free_connection(live);
    if (!c) {
        close(made);
        return;
    }
    set_flags(made);
    memset(c, 0, offsetof(connection, in));
    c->state = READING;
    c->socket = made;
    c->deadline = now() + live->timeout;
    c->in_count = c->sent = c->body_count = 0;
    c->after = 0;
    c->is_page = c->has_ended = false;
    c->owned = NULL;
}

/* ---- the thread ---- */

static void end_late(abut_live *live, connection *c, double time) {
    if (c->state == CLOSED || time < c->deadline)
        return;
    if (c->state == WAITING) {
        answer_words(live, c, 204);
    } else if (c->state == READING && c->in_count) {
        c->keeps_alive = false;
        answer_words(live, c, 408);
    } else {
        close_connection(live, c);
    }
}

/* Answers pages that wait, and counts pages. Returns whether a page lacks the last frame. */
static bool serve_waiting(abut_live *live) {
    bool lacks = false;
    uint32_t pages = 0;
    abuti_live_lock(live);
    for (int i = 0; i < CONNECTIONS_MAX; i++) {
        connection *c = &live->server->connections[i];
        if (c->state == WAITING && has_news(live, c->after))
            answer_frame(live, c);
        pages += c->state != CLOSED && c->is_page;
        lacks =
            lacks || (c->state != CLOSED && c->is_page && (!c->has_ended || c->state == WRITING));
    }
    live->page_count = pages;
    abuti_live_unlock(live);
    return lacks;
}

/* Seconds until something is late, at most HOLD_SECONDS. */
static double seconds_left(const live_server *server, double time) {
    double left = HOLD_SECONDS;
    for (int i = 0; i < CONNECTIONS_MAX; i++)
        if (server->connections[i].state != CLOSED)
            left = fmin(left, fmax(0, server->connections[i].deadline - time));
    return left;
}

static void serve_once(abut_live *live, double wait) {
    live_server *server = live->server;
    struct pollfd list[CONNECTIONS_MAX + 2] = {{server->wake[0], POLLIN, 0},
                                               {server->listener, POLLIN, 0}};
    for (int i = 0; i < CONNECTIONS_MAX; i++) {
        const connection *c = &server->connections[i];
        list[i + 2].fd = c->state == CLOSED ? -1 : c->socket;
        list[i + 2].events = c->state == WRITING ? POLLOUT : POLLIN;
    }
    if (poll(list, CONNECTIONS_MAX + 2, (int)ceil(1e3 * wait)) < 0)
        return;
    if (list[0].revents) {
        char bytes[64];
        while (read(server->wake[0], bytes, sizeof bytes) == sizeof bytes)
            continue;
    }
    const double time = now();
    for (int i = 0; i < CONNECTIONS_MAX; i++) {
        connection *c = &server->connections[i];
        if (c->state == CLOSED || list[i + 2].fd < 0)
            continue;
        if (list[i + 2].revents && c->state == WRITING)
            send_answer(live, c);
        else if (list[i + 2].revents)
            receive(live, c);
        end_late(live, c, time);
    }
    if (list[1].revents)
        accept_connection(live);
}

static bool has_ended(const abut_live *live) {
    abuti_live_lock(live);
    const bool ended = live->has_ended;
    abuti_live_unlock(live);
    return ended;
}

static void *serve(void *data) {
    abut_live *live = data;
    double end = 0;
    for (;;) {
        const bool ended = has_ended(live), lacks = serve_waiting(live);
        const double time = now();
        if (ended && end == 0)
            end = time + LAST_SECONDS;
        if (ended && (!lacks || time >= end))
            break;
        const double left = seconds_left(live->server, time);
        serve_once(live, ended ? fmin(left, end - time) : left);
    }
    for (int i = 0; i < CONNECTIONS_MAX; i++)
        if (live->server->connections[i].state != CLOSED)
            close_connection(live, &live->server->connections[i]);
    return NULL;
}

/* ---- start and stop ---- */

static abut_status fail(const char *what, uint32_t port) {
    const int problem = errno;
    char text[128];
    if (strerror_r(problem, text, sizeof text) != 0)
        snprintf(text, sizeof text, "error %d", problem);
    return abuti_fail(ABUT_ERROR_FILE, "abut_live_create: cannot %s at 127.0.0.1, port %u: %s",
                      what, port, text);
}

static abut_status listen_at(abut_live *live, uint32_t port) {
    struct sockaddr_in address;
    socklen_t bytes = sizeof address;
    const int one = 1;
    memset(&address, 0, sizeof address);
    address.sin_family = AF_INET;
    address.sin_port = htons((uint16_t)port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    live->server->listener = listener;
    if (listener < 0)
        return fail("create a socket", port);
    set_flags(listener);
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(listener, (const struct sockaddr *)&address, sizeof address) ||
        listen(listener, CONNECTIONS_MAX) ||
        getsockname(listener, (struct sockaddr *)&address, &bytes))
        return fail("listen", port);
    live->port = ntohs(address.sin_port);
    return ABUT_OK;
}

static abut_status make_token(abut_live *live) {
    uint8_t random[16];
    size_t count = 0;
    const int file = open("/dev/urandom", O_RDONLY | O_CLOEXEC);
    while (file >= 0 && count < sizeof random) {
        const ssize_t got = read(file, random + count, sizeof random - count);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        count += (size_t)got;
    }
    if (file >= 0)
        close(file);
    if (count < sizeof random)
        return abuti_fail(ABUT_ERROR_FILE, "abut_live_create: cannot read /dev/urandom");
    for (size_t i = 0; i < sizeof random; i++)
        snprintf(live->token + 2 * i, 3, "%02x", random[i]);
    return ABUT_OK;
}

/* Signals of the program interrupt its own threads. */
static abut_status start_thread(abut_live *live) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int problem = pthread_create(&live->server->thread, NULL, serve, live);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    live->server->is_running = problem == 0;
    return problem == 0 ? ABUT_OK
                        : abuti_fail(ABUT_ERROR_MEMORY, "abut_live_create: cannot start a thread");
}

abut_status abuti_live_start(abut_live *live) {
    live_server *server = abuti_allocate_zeroed(live->context, 1, sizeof *server);
    const uint32_t port = live->port;
    if (!server)
        return ABUT_ERROR_MEMORY;
    server->listener = server->wake[0] = server->wake[1] = -1;
    live->server = server;
    pthread_mutex_init(&server->lock, NULL);
    pthread_cond_init(&server->arrived, NULL);
    abut_status status = make_token(live);
    if (!status)
        status = listen_at(live, port);
    if (!status && pipe(server->wake))
        status = fail("create a pipe", port);
    if (status)
        return status;
    set_flags(server->wake[0]);
    set_flags(server->wake[1]);
    static const char *const hosts[] = {"127.0.0.1", "localhost"};
    for (int i = 0; i < 2; i++) {
        snprintf(live->host[i], sizeof live->host[i], "%s:%u", hosts[i], live->port);
        snprintf(live->origin[i], sizeof live->origin[i], "http://%s", live->host[i]);
    }
    snprintf(live->url, sizeof live->url, "http://%s/%s/", live->host[0], live->token);
    return start_thread(live);
}

void abuti_live_stop(abut_live *live) {
    live_server *server = live->server;
    if (!server)
        return;
    if (server->is_running) {
        abuti_live_lock(live);
        live->has_ended = true;
        abuti_live_unlock(live);
        abuti_live_wake(live);
        pthread_join(server->thread, NULL);
    }
    const int descriptors[] = {server->listener, server->wake[0], server->wake[1]};
    for (int i = 0; i < 3; i++)
        if (descriptors[i] >= 0)
            close(descriptors[i]);
    pthread_cond_destroy(&server->arrived);
    pthread_mutex_destroy(&server->lock);
    abuti_release(live->context, server);
    live->server = NULL;
}

#else

abut_status abuti_live_start(abut_live *live) {
    (void)live;
    return abuti_fail(ABUT_ERROR_UNSUPPORTED,
                      "abut_live_create: this build has no live pages, since they need POSIX "
                      "sockets and threads");
}

void abuti_live_stop(abut_live *live) {
    (void)live;
}

void abuti_live_lock(const abut_live *live) {
    (void)live;
}

void abuti_live_unlock(const abut_live *live) {
    (void)live;
}

void abuti_live_wake(const abut_live *live) {
    (void)live;
}

void abuti_live_wait(abut_live *live, double seconds) {
    (void)live;
    (void)seconds;
}

#endif
