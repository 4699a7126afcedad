/* The file of a page: a head, the scene as compressed text, and the script of the viewer, which
 * viewer/build makes from its sources and three.js. The script is not part of this program, so
 * that the build needs neither a network nor node; the command searches for it when it writes a
 * page. */
#include "view_scene.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef ABUT_HAS_ZLIB
#include <zlib.h>
#endif

enum { PATH_ROOM = 4096 };

/* ---- the viewer ---- */

static bool read_whole_file(const char *path, tool_text *to) {
    struct stat status;
    FILE *file = stat(path, &status) == 0 && S_ISREG(status.st_mode) ? fopen(path, "rb") : NULL;
    if (!file)
        return false;
    text_clear(to);
    bool fine = stream_read(file, to) && to->used;
    fclose(file);
    return fine;
}

static bool try_path(tool_text *to, const char *folder, const char *name) {
    char path[PATH_ROOM];
    int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    return length > 0 && (size_t)length < sizeof path && read_whole_file(path, to);
}

/* Fails with a message that names the page. If the run writes other files too, the error is kept
 * for view_report(), and the run continues. */
static void fail_page(tool_view *view, const char *kind, const char *message) {
    if (!view->is_extra)
        tool_fail_with(view->tool, kind, "%s: %s", view->path, message);
    view->error_kind = kind;
    text_print(&view->error, "%s: %s", view->path, message);
}

bool view_has_error(const tool_view *view) {
    return view && view->error_kind;
}

void view_report(tool_run *tool, int code) {
    const tool_view *view = tool->view;
    if (view_has_error(view) && (code == CODE_FINE || code == CODE_FOUND))
        tool_fail_with(tool, view->error_kind, "%s", text_of(&view->error));
}

/* Searches for the script: ABUT_VIEWER, otherwise beside the program, as installed or in the
 * build tree. Returns the kind of the error, with a message, or null. */
static const char *find_viewer(tool_text *to, tool_text *message) {
    static const char *const places[] = {"../share/abut/viewer.js", "viewer.js",
                                         "../../viewer/dist/viewer.js"};
    const char *asked = getenv("ABUT_VIEWER");
    char self[PATH_ROOM];
    if (asked && asked[0]) {
        if (read_whole_file(asked, to) || try_path(to, asked, "viewer.js"))
            return NULL;
        text_print(message,
                   "ABUT_VIEWER is %s, but viewer.js is not there; 'viewer/build' in the sources "
                   "of abut builds viewer.js",
                   asked);
        return "file error";
    }
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    self[length > 0 ? length : 0] = 0;
    char *slash = strrchr(self, '/');
    if (slash)
        *slash = 0;
    for (size_t i = 0; slash && i < sizeof places / sizeof *places; i++)
        if (try_path(to, self, places[i]))
            return NULL;
#ifdef ABUT_DATA_FOLDER
    if (try_path(to, ABUT_DATA_FOLDER, "viewer.js"))
        return NULL;
#endif
    text_add(message,
             "the script of the viewer is not installed: run 'viewer/build' in the sources of "
             "abut (it needs node and npm) and install again, or set ABUT_VIEWER to the path of "
             "the viewer/dist/viewer.js that it builds");
    return "not supported";
}

void view_script(tool_run *tool, tool_text *script) {
    tool_text message = {0};
    const char *kind = find_viewer(script, &message);
    if (kind)
        tool_fail_with(tool, kind, "%s", text_of(&message));
}

static void open_page(tool_run *tool, const char *path, bool is_extra) {
    if (strcmp(path, "-") != 0 && !word_in(path_ending(path), "html|htm"))
        tool_refuse(tool, "%s: the name of a page must end in .html, or be - for standard output",
                    path);
    tool_view *view = tool_alloc(sizeof *view);
    view->tool = tool;
    view->path = path;
    view->is_extra = is_extra;
    view->scale = 1;
    view->camera = abut_picture_options_default();
    tool->view = view;
    tool_text message = {0};
    const char *kind = find_viewer(&view->bundle, &message);
    if (kind)
        fail_page(view, kind, text_of(&message));
}

void view_open_path(tool_run *tool, const char *path) {
    open_page(tool, path, false);
}

/* File names without folders, unless there are many. */
void view_name_after(tool_view *view, const tool_arguments *arguments) {
    for (size_t i = 0; i < arguments->operand_count && i < 4; i++) {
        text_add(&view->title, i == 3 ? ", …" : i ? ", " : "");
        if (i < 3)
            text_safe(&view->title, path_name(arguments->operands[i]));
    }
}

/* Returns whether the run also writes pictures, tables or recordings. */
static bool writes_other_files(const tool_arguments *arguments) {
    for (size_t i = 0; i < arguments->operand_count; i++)
        if (word_in(path_ending(arguments->operands[i]), "png|ppm"))
            return true;
    for (size_t i = 0; i < arguments->given_count; i++)
        if (word_in(arguments->given[i].option->name, "png|out|film|record"))
            return true;
    return false;
}

void view_open(tool_run *tool, const tool_arguments *arguments) {
    const tool_given *html = option_given(arguments, "html");
    if (!html)
        return;
    open_page(tool, html->words, writes_other_files(arguments));
    view_name_after(tool->view, arguments);
}

const char *view_path(const tool_view *view) {
    return view->path;
}

/* ---- the scene as text ---- */

void text_base64(tool_text *to, const uint8_t *bytes, size_t count) {
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char line[76 * 16];
    size_t used = 0;
    for (size_t i = 0; i < count; i += 3) {
        size_t left = count - i;
        uint32_t bits = (uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                        (left > 2 ? bytes[i + 2] : 0);
        line[used++] = digits[bits >> 18];
        line[used++] = digits[bits >> 12 & 63];
        line[used++] = left > 1 ? digits[bits >> 6 & 63] : '=';
        line[used++] = left > 2 ? digits[bits & 63] : '=';
        if (used == sizeof line || left <= 3) {
            text_bytes(to, line, used);
            used = 0;
        }
    }
}

static void add_vector(tool_text *to, const char *key, abut_vec3 v) {
    const double n[3] = {v.x, v.y, v.z};
    text_print(to, ",\"%s\":", key);
    for (int k = 0; k < 3; k++) {
        text_add(to, k ? "," : "[");
        text_number(to, n[k]);
    }
    text_add(to, "]");
}

static void add_list(tool_text *to, const char *key, const tool_text *list) {
    text_print(to, ",\"%s\":[", key);
    text_bytes(to, text_of(list), list->used);
    text_add(to, "]");
}

static void add_head(const tool_view *view, tool_text *to) {
    const abut_picture_options *camera = &view->camera;
    const view_film *film = &view->film;
    abut_vec3 up = camera->up, eye = camera->eye_direction;
    if (up.x == 0 && up.y == 0 && up.z == 0)
        up = view->tool->up;
    if (up.x == 0 && up.y == 0 && up.z == 0)
        up.z = 1;
    if (eye.x == 0 && eye.y == 0 && eye.z == 0)
        eye = up.y > 0.9 ? (abut_vec3){0.6, 0.55, 1} : (abut_vec3){0.6, -1, 0.55};
    text_add(to, "{\"abut\":1,\"title\":");
    text_shown(to, view->title.data ? view->title.data : "abut");
    text_add(to, ",\"command\":");
    text_quoted(to, view->tool->command ? view->tool->command->name : "");
    text_add(to, ",\"version\":");
    text_quoted(to, abut_version());
    text_add(to, ",\"unit\":");
    text_shown(to, text_of(&view->unit));
    add_vector(to, "centre", view->centre);
    text_add(to, ",\"scale\":");
    text_number(to, view->scale);
    add_vector(to, "up", up);
    add_vector(to, "eye", eye);
    text_add(to, ",\"fov\":");
    text_number(to, camera->field_of_view > 0 ? camera->field_of_view : 30);
    text_print(to, ",\"ground\":%s", camera->ground ? "true" : "false");
    if (film->count > 1) {
        text_print(to, ",\"frames\":%u,\"stride\":%u,\"seconds\":", film->count, film->stride);
        text_number(to, film->seconds * film->stride);
    }
    add_list(to, "arrays", &view->arrays);
    add_list(to, "meshes", &view->meshes);
    add_list(to, "layers", &view->layers);
    add_list(to, "scales", &view->scales);
    add_list(to, "notes", &view->notes);
    text_add(to, "}");
}

/* The length of the head, the head, and the arrays. */
static void pack_scene(const tool_view *view, tool_text *to) {
    tool_text head = {0};
    add_head(view, &head);
    while (head.used % 8 != 4)
        text_add(&head, " ");
    text_little(to, head.used, 4);
    text_bytes(to, text_of(&head), head.used);
    text_bytes(to, text_of(&view->data), view->data.used);
}

/* Adds the scene as an element, deflated if the build has zlib. */
static void add_scene(const tool_view *view, tool_text *to) {
    tool_text scene = {0};
    pack_scene(view, &scene);
#ifdef ABUT_HAS_ZLIB
    uLongf room = compressBound((uLong)scene.used);
    uint8_t *packed = tool_alloc(room);
    /* a level above 4 doubles the time and saves a tenth */
    if (compress2(packed, &room, (const Bytef *)scene.data, (uLong)scene.used,
                  scene.used > (16u << 20) ? 1 : 6) != Z_OK)
        tool_exhausted();
    text_add(to, "<script type=\"text/plain\" id=\"scene\" data-packing=\"deflate\">");
    text_base64(to, packed, room);
#else
    text_add(to, "<script type=\"text/plain\" id=\"scene\" data-packing=\"none\">");
    text_base64(to, (const uint8_t *)scene.data, scene.used);
#endif
    text_add(to, "</script>\n");
}

/* ---- the page ---- */

static abut_status write_page(tool_run *tool) {
    tool_view *view = tool->view;
    progress_start(tool->progress, view->path);
    view_film_end(view);
    tool_text page = {0}, title = {0};
    text_safe(&title, view->title.data ? view->title.data : "abut");
    text_add(&page, "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
                    "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
                    "<meta name=\"generator\" content=\"abut ");
    text_add(&page, abut_version());
    text_add(&page, "\">\n<title>");
    text_html(&page, text_of(&title));
    text_add(&page, "</title>\n<link rel=\"icon\" href=\"data:,\">\n<body>\n"
                    "<noscript>This page draws its scene by a script.</noscript>\n");
    add_scene(view, &page);
    text_add(&page, "<script>\n");
    text_bytes(&page, view->bundle.data, view->bundle.used);
    text_add(&page, "</script>\n</html>\n");
    return abut_context_write_file(tool->context, tool_target(tool, view->path), page.data,
                                   page.used);
}

void view_write(tool_run *tool) {
    tool_view *view = tool->view;
    if (!view || view->written || view_has_error(view))
        return;
    view->written = true;
    abut_status status = write_page(tool);
    if (!status || !view->is_extra || status == ABUT_ERROR_CANCELLED || tool_cancelled()) {
        ensure(status);
        return;
    }
    view->error_kind = abut_status_name(status);
    text_add(&view->error, tool_error_message(abut_last_error()));
}
