/* The reader of scenes (docs/scene.md).
 *
 * JSON is parsed into a flat list of values (io/json.h). Each object is read by a table of its
 * allowed members, so that unknown names, wrong kinds and duplicate members are rejected in one
 * place, with the location in the file. Work is bounded by the size of the file, the size of its
 * meshes, and the limits of the header: shapes have at most ABUT_SCENE_SEGMENTS segments, and
 * SHAPE_TRIANGLES triangles in all. Names are looked up in sorted lists.
 */
#include "scene/read.h"
#include "geom/pose.h"
#include "io/files.h"

#include "base/sort.h"
#include "base/system.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define SHAPE_TRIANGLES 4194304u

#ifdef ABUT_HAS_GLTF

/* ---- errors and values ---- */

abut_status abuti_scene_fail(scene_reader *r, const char *format, ...) {
    char words[600];
    va_list list;
    va_start(list, format);
    vsnprintf(words, sizeof words, format, list);
    va_end(list);
    return abuti_fail(ABUT_ERROR_FORMAT, "%s: %s%s%s", r->name, r->place, r->place[0] ? ": " : "",
                      words);
}

/* A string of the file for an error message: printable and shortened. */
static const char *printable_text(const scene_reader *r, uint32_t at, uint32_t bytes,
                                  char out[100]) {
    char word[80];
    size_t length = bytes < sizeof word ? bytes : sizeof word - 1;
    memcpy(word, abuti_json_characters(&r->json, at), length);
    word[length] = 0;
    abuti_escape(word, out, 100);
    return out;
}

const char *abuti_scene_word(const scene_reader *r, uint32_t at, char word[100]) {
    const abuti_json_value *text = value_at(r, at);
    return printable_text(r, text->is.text.at, text->is.text.bytes, word);
}

/* ---- members of objects ---- */

static const char *kind_words(abuti_json_kind kind) {
    static const char *const words[] = {"null",     "true or false", "a number",
                                        "a string", "a list",        "an object"};
    return words[kind];
}

static abut_status fail_unknown_member(scene_reader *r, const abuti_json_value *value,
                                       const member *members, size_t count) {
    char list[300] = "", word[100];
    size_t used = 0;
    for (size_t i = 0; i < count; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "",
                                 members[i].name);
    return abuti_scene_fail(r, "there is no member '%s'; allowed are %s",
                            printable_text(r, value->key, value->key_bytes, word), list);
}

abut_status abuti_scene_members(scene_reader *r, uint32_t object, member *members, size_t count) {
    const uint32_t end = value_at(r, object)->next;
    for (uint32_t i = object + 1; i < end; i = value_at(r, i)->next) {
        const abuti_json_value *value = value_at(r, i);
        member *m = members;
        while (m < members + count &&
               !abuti_json_is(&r->json, value->key, value->key_bytes, m->name))
            m++;
        if (m == members + count)
            return fail_unknown_member(r, value, members, count);
        if (m->at)
            return abuti_scene_fail(r, "'%s' occurs twice", m->name);
        if (value->kind != m->kind && value->kind != m->other)
            return abuti_scene_fail(r, "'%s' is %s; it must be %s%s%s", m->name,
                                    kind_words((abuti_json_kind)value->kind), kind_words(m->kind),
                                    m->kind == m->other ? "" : " or ",
                                    m->kind == m->other ? "" : kind_words(m->other));
        m->at = i;
    }
    return ABUT_OK;
}

abut_status abuti_scene_list(scene_reader *r, const member *m, uint32_t count, double *numbers) {
    const abuti_json_value *list = value_at(r, m->at);
    bool good = list->is.count == count;
    for (uint32_t i = 0; i < count && good;
         i++) { /* numbers have no children: values are consecutive */
        good = value_at(r, m->at + 1 + i)->kind == ABUTI_JSON_NUMBER;
        numbers[i] = good ? value_at(r, m->at + 1 + i)->is.number : 0;
    }
    return good ? ABUT_OK
                : abuti_scene_fail(r, "'%s' must be a list of %u numbers", m->name, count);
}

abut_status abuti_scene_positive(scene_reader *r, const member *m, double *number) {
    *number = value_at(r, m->at)->is.number;
    return *number > 0
               ? ABUT_OK
               : abuti_scene_fail(r, "'%s' is %g; it must be greater than 0", m->name, *number);
}

abut_status abuti_scene_range(scene_reader *r, const member *m, double low, double high,
                              double *number) {
    const double value = value_at(r, m->at)->is.number;
    if (!(value >= low && value <= high))
        return abuti_scene_fail(r, "'%s' is %g; it must be from %g to %g", m->name, value, low,
                                high);
    *number = value;
    return ABUT_OK;
}

/* ---- names ---- */

/* Copies a name of the file to the scene. */
static const char *copy_letters(scene_reader *r, const char *from, size_t bytes) {
    char *to = r->letter;
    memcpy(to, from, bytes);
    to[bytes] = 0;
    r->letter += bytes + 1;
    return to;
}

static abut_status copy_name(scene_reader *r, uint32_t at, uint32_t bytes, const char *what,
                             const char **name) {
    const char *from = abuti_json_characters(&r->json, at);
    if (!bytes || bytes > NAME_BYTES)
        return abuti_scene_fail(r, "%s must have 1 to %d bytes", what, NAME_BYTES);
    for (uint32_t i = 0; i < bytes; i++)
        if ((unsigned char)from[i] < 32 || from[i] == 127)
            return abuti_scene_fail(r, "%s contains a control character", what);
    if (from[0] == '#')
        return abuti_scene_fail(r, "%s begins with #, which is reserved for bodies without a name",
                                what);
    *name = copy_letters(r, from, bytes);
    return ABUT_OK;
}

static bool name_after(const void *a, const void *b) {
    const name_entry *p = a, *q = b;
    int order = strcmp(p->name, q->name);
    return order > 0 || (order == 0 && p->group > q->group);
}

static int compare_name(const void *key, const void *element) {
    return strcmp(key, ((const name_entry *)element)->name);
}

const name_entry *abuti_scene_find_name(const scene_reader *r, uint32_t at) {
    const abuti_json_value *text = value_at(r, at);
    const size_t bytes = text->is.text.bytes;
    char name[NAME_BYTES + 1] = "";
    if (bytes > NAME_BYTES || !r->name_count)
        return NULL;
    memcpy(name, abuti_json_characters(&r->json, text->is.text.at), bytes);
    return strlen(name) < bytes
               ? NULL
               : bsearch(name, r->names, r->name_count, sizeof *r->names, compare_name);
}

/* Sorts the names and rejects duplicates. */
static abut_status sort_names(scene_reader *r, const char *what) {
    abuti_sort_items(r->names, r->name_count, sizeof *r->names, name_after);
    for (size_t i = 1; i < r->name_count; i++)
        if (!strcmp(r->names[i - 1].name, r->names[i].name)) {
            char word[100];
            abuti_escape(r->names[i].name, word, sizeof word);
            return abuti_scene_fail(r, "%s '%s'%s", what, word,
                                    r->names[i].group ? ", which is also the name of a group" : "");
        }
    return ABUT_OK;
}

/* ---- meshes ---- */

/* Makes room for one more mesh; mesh_count is incremented by read_mesh(). */
static abut_status reserve_mesh(scene_reader *r) {
    abut_scene *scene = r->scene;
    return abuti_grow(r->context, &scene->meshes, scene->mesh_count, scene->mesh_count + 1,
                      sizeof *scene->meshes, &scene->mesh_room);
}

enum {
    MESH_ABOUT,
    MESH_FILE,
    MESH_SHAPE,
    MESH_FIGURE,
    MESH_GARMENT,
    MESH_CLIP,
    MESH_TIME,
    MESH_SPEED,
    MESH_BLEND,
    MESH_WITHOUT,
    MESH_ON,
    MESH_TRIANGLES,
    MESH_EASE,
    MESH_SCALE,
    MESH_SIZE,
    MESH_RADIUS,
    MESH_RADIUS2,
    MESH_HEIGHT,
    MESH_SEGMENTS,
    MESH_RINGS,
    MESH_MEMBERS
};

/* Adds the file and the location to the error message of another module. */
static abut_status prefix_error(scene_reader *r, abut_status status) {
    char reason[600];
    snprintf(reason, sizeof reason, "%s", abut_last_error());
    return abuti_fail(status, "%s: %s: %s", r->name, r->place, reason);
}

/* Reads the names of bones. The caller releases the list. */
static abut_status read_without(scene_reader *r, const member *m, const char ***names,
                                uint32_t *count) {
    const uint32_t end = m->at ? value_at(r, m->at)->next : 0;
    const uint32_t room = m->at ? value_at(r, m->at)->is.count : 0;
    const char **made = abuti_allocate(r->context, room, sizeof *made);
    abut_status status = made ? ABUT_OK : ABUT_ERROR_MEMORY;
    *count = 0;
    for (uint32_t i = m->at + 1; i < end && !status; i = value_at(r, i)->next) {
        const abuti_json_value *value = value_at(r, i);
        if (value->kind != ABUTI_JSON_TEXT)
            status = abuti_scene_fail(r, "'without' must be a list of names of bones");
        else
            made[(*count)++] = copy_letters(r, abuti_json_characters(&r->json, value->is.text.at),
                                            value->is.text.bytes);
    }
    if (status)
        abuti_release(r->context, (void *)made);
    else
        *names = made;
    return status;
}

/* Creates a character; `path` is null for a figure. */
static abut_status pose_mesh(scene_reader *r, const member *m, const char *path, scene_mesh *to) {
    char figure[100], clip[100];
    double speed = 1, blend = 0;
    abut_status status = ABUT_OK;
    if (m[MESH_SPEED].at)
        status = abuti_scene_range(r, &m[MESH_SPEED], -SPEED_MAX, SPEED_MAX, &speed);
    if (!status && m[MESH_BLEND].at)
        status = abuti_scene_range(r, &m[MESH_BLEND], 0, SPEED_MAX, &blend);
    const char **without = NULL;
    uint32_t without_count = 0;
    if (!status)
        status = read_without(r, &m[MESH_WITHOUT], &without, &without_count);
    if (status)
        return status;
    const scene_pose how = {
        .figure = m[MESH_FIGURE].at ? abuti_scene_word(r, m[MESH_FIGURE].at, figure) : NULL,
        .path = path,
        .clip = m[MESH_CLIP].at ? abuti_scene_word(r, m[MESH_CLIP].at, clip) : NULL,
        .time = m[MESH_TIME].at ? value_at(r, m[MESH_TIME].at)->is.number : 0,
        .speed = speed,
        .blend = blend,
        .without = without,
        .without_count = without_count};
    status = abuti_scene_pose(r->context, &r->options, &how, to);
    if (status == ABUT_ERROR_FILE || status == ABUT_ERROR_FORMAT)
        prefix_error(r, status);
    abuti_release(r->context, (void *)without);
    return status;
}

/* Reads a mesh file, relative to the folder of the scene. */
static abut_status read_file(scene_reader *r, const member *m, scene_mesh *to) {
    const member *file = &m[MESH_FILE];
    const abuti_json_value *text = value_at(r, file->at);
    const char *letters = abuti_json_characters(&r->json, text->is.text.at);
    size_t bytes = text->is.text.bytes, folder = 0;
    struct stat about;
    if (!bytes || memchr(letters, 0, bytes))
        return abuti_scene_fail(r, "'file' must be a path");
    if (!r->path)
        return abuti_scene_fail(r, "'file' cannot be opened: a scene in memory has no folder");
    if (letters[0] != '/') {
        const char *slash = strrchr(r->path, '/');
        folder = slash ? (size_t)(slash - r->path) + 1 : 0;
    }
    char *path = abuti_allocate(r->context, folder + bytes + 1, 1);
    if (!path)
        return ABUT_ERROR_MEMORY;
    memcpy(path, r->path, folder);
    memcpy(path + folder, letters, bytes);
    path[folder + bytes] = 0;
    abut_status status = ABUT_OK;
    if (stat(path, &about) == 0 && !S_ISREG(about.st_mode)) { /* reading a pipe would block */
        char word[100];
        status =
            abuti_scene_fail(r, "'%s' is not a regular file", abuti_scene_word(r, file->at, word));
    }
    if (!status) {
        const bool posed = m[MESH_CLIP].at || m[MESH_TIME].at || m[MESH_SPEED].at ||
                           m[MESH_BLEND].at || m[MESH_WITHOUT].at;
        status =
            posed ? pose_mesh(r, m, path, to) : abut_mesh_read(r->context, path, NULL, &to->mesh);
        if (!posed && (status == ABUT_ERROR_FILE || status == ABUT_ERROR_FORMAT))
            prefix_error(r, status);
    }
    abuti_release(r->context, path);
    if (!status)
        to->file = copy_letters(r, letters, bytes);
    return status;
}

/* Finds the earlier body that wears a garment. */
static abut_status find_wearer(scene_reader *r, const member *on, uint32_t *wearer) {
    const abuti_json_value *text = value_at(r, on->at);
    const abut_scene *scene = r->scene;
    char word[100];
    for (uint32_t i = 0; i + 1 < scene->body_count; i++) {
        const abut_scene_body *body = &scene->bodies[i];
        if (!body->character ||
            !abuti_json_is(&r->json, text->is.text.at, text->is.text.bytes, body->name))
            continue;
        *wearer = i;
        return body->clip == ABUT_NONE || body->clip_blend > 0
                   ? ABUT_OK
                   : abuti_scene_fail(r,
                                      "'%s' must be at rest when it is dressed: give its mesh a "
                                      "'blend', in seconds, or no 'clip'",
                                      abuti_scene_word(r, on->at, word));
    }
    return abuti_scene_fail(r,
                            "there is no character '%s' before this body; a glTF file is one if "
                            "its mesh has a 'clip', a 'time' or 'without'",
                            abuti_scene_word(r, on->at, word));
}

static abut_status create_garment(scene_reader *r, const member *m, scene_mesh *to) {
    char name[100];
    double triangles = 0, ease = 0;
    abut_status status = ABUT_OK;
    if (!r->scene->bodies)
        return abuti_scene_fail(r, "a 'garment' must be the 'mesh' of a body, not in 'meshes'");
    if (!m[MESH_ON].at)
        return abuti_scene_fail(r, "a 'garment' needs 'on', the name of a character");
    if (m[MESH_TRIANGLES].at)
        status = abuti_scene_range(r, &m[MESH_TRIANGLES], 1, 1e7, &triangles);
    if (!status && m[MESH_EASE].at)
        status = abuti_scene_positive(r, &m[MESH_EASE], &ease);
    if (!status)
        status = find_wearer(r, &m[MESH_ON], &to->wearer);
    if (status)
        return status;
    if (++r->garment_count > ABUT_SCENE_GARMENTS)
        return abuti_fail(ABUT_ERROR_LIMIT, "%s: %s: more than %d garments", r->name, r->place,
                          ABUT_SCENE_GARMENTS);
    abuti_scene_word(r, m[MESH_GARMENT].at, name);
    if (!r->options.create_garment)
        return abuti_scene_fail(r, "the garment '%s' requires abut_scene_options.create_garment",
                                name);
    status =
        r->options.create_garment(r->options.user, r->context,
                                  r->scene->bodies[to->wearer].character, name, (uint32_t)triangles,
                                  ease, &to->mesh, &to->pins, &to->pin_count);
    if (status == ABUT_ERROR_FORMAT || status == ABUT_ERROR_ARGUMENT)
        status = prefix_error(r, ABUT_ERROR_FORMAT);
    return status;
}

static abut_status read_size(scene_reader *r, const member *size, abut_shape *shape) {
    double *sides[3] = {&shape->extent.x, &shape->extent.y, &shape->extent.z}, n[3];
    abut_status status = ABUT_OK;
    if (value_at(r, size->at)->kind == ABUTI_JSON_NUMBER)
        n[0] = n[1] = n[2] = value_at(r, size->at)->is.number;
    else
        status = abuti_scene_list(r, size, 3, n);
    for (int k = 0; k < 3 && !status; k++) {
        if (*sides[k] > 0 && !(n[k] > 0)) /* extents that a shape does not have are 0 */
            status = abuti_scene_fail(r, "'size' must be greater than 0 along %c", 'x' + k);
        else if (*sides[k] > 0)
            *sides[k] = n[k];
    }
    return status;
}

static abut_status read_count(scene_reader *r, const member *m, uint32_t *count) {
    double n = value_at(r, m->at)->is.number;
    if (!(n >= 1 && n <= ABUT_SCENE_SEGMENTS) || n != floor(n))
        return abuti_scene_fail(r, "'%s' is %g; it must be a whole number from 1 to %d", m->name, n,
                                ABUT_SCENE_SEGMENTS);
    *count = (uint32_t)n;
    return ABUT_OK;
}

/* Parameters that a kind of shape does not have are 0 in its default, and are rejected. */
static abut_status read_shape(scene_reader *r, const member *m, scene_mesh *to) {
    char word[100];
    abut_shape_kind kind;
    if (abut_shape_kind_from_name(abuti_scene_word(r, m[MESH_SHAPE].at, word), &kind))
        return abuti_scene_fail(r, "there is no shape '%s'; 'abut make --list' lists them", word);
    abut_shape shape = abut_shape_default(kind);
    abut_vec3 side = shape.extent;
    double *reals[] = {&shape.radius, &shape.radius2, &shape.height};
    uint32_t *wholes[] = {&shape.segments, &shape.rings};
    abut_status status = ABUT_OK;
    for (int i = MESH_SIZE; i < MESH_MEMBERS && !status; i++) {
        if (!m[i].at)
            continue;
        bool has = i == MESH_SIZE      ? side.x > 0 || side.y > 0 || side.z > 0
                   : i < MESH_SEGMENTS ? *reals[i - MESH_RADIUS] > 0
                                       : *wholes[i - MESH_SEGMENTS] > 0;
        status = !has                ? abuti_scene_fail(r, "a %s has no '%s'", word, m[i].name)
                 : i == MESH_SIZE    ? read_size(r, &m[i], &shape)
                 : i < MESH_SEGMENTS ? abuti_scene_positive(r, &m[i], reals[i - MESH_RADIUS])
                                     : read_count(r, &m[i], wholes[i - MESH_SEGMENTS]);
    }
    if (status)
        return status;
    status = abut_shape_create(r->context, &shape, &to->mesh);
    to->shape = shape;
    to->has_shape = true;
    if (status == ABUT_ERROR_ARGUMENT || status == ABUT_ERROR_LIMIT)
        return prefix_error(r, ABUT_ERROR_FORMAT);
    r->shape_triangles += status ? 0 : abut_mesh_triangle_count(to->mesh);
    if (r->shape_triangles > SHAPE_TRIANGLES) {
        abut_mesh_destroy(to->mesh);
        status = abuti_fail(ABUT_ERROR_LIMIT,
                            "%s: %s: the built-in shapes have more than %u triangles in all; "
                            "write them to files with 'abut make'",
                            r->name, r->place, SHAPE_TRIANGLES);
    }
    return status;
}

/* Adds the mesh that an object describes. */
static abut_status read_mesh(scene_reader *r, uint32_t object) {
    member m[MESH_MEMBERS] = {[MESH_ABOUT] = MEMBER("about", TEXT),
                              [MESH_FILE] = MEMBER("file", TEXT),
                              [MESH_SHAPE] = MEMBER("shape", TEXT),
                              [MESH_FIGURE] = MEMBER("figure", TEXT),
                              [MESH_CLIP] = MEMBER("clip", TEXT),
                              [MESH_TIME] = MEMBER("time", NUMBER),
                              [MESH_SPEED] = MEMBER("speed", NUMBER),
                              [MESH_BLEND] = MEMBER("blend", NUMBER),
                              [MESH_WITHOUT] = MEMBER("without", LIST),
                              [MESH_GARMENT] = MEMBER("garment", TEXT),
                              [MESH_ON] = MEMBER("on", TEXT),
                              [MESH_TRIANGLES] = MEMBER("triangles", NUMBER),
                              [MESH_EASE] = MEMBER("ease", NUMBER),
                              [MESH_SCALE] = MEMBER("scale", NUMBER),
                              [MESH_SIZE] = MEMBER_OR("size", LIST, NUMBER),
                              [MESH_RADIUS] = MEMBER("radius", NUMBER),
                              [MESH_RADIUS2] = MEMBER("radius2", NUMBER),
                              [MESH_HEIGHT] = MEMBER("height", NUMBER),
                              [MESH_SEGMENTS] = MEMBER("segments", NUMBER),
                              [MESH_RINGS] = MEMBER("rings", NUMBER)};
    scene_mesh made = {.clip = ABUT_NONE, .wearer = ABUT_NONE};
    double scale = 1;
    bool posed = false;
    abut_status status = abuti_scene_members(r, object, m, MESH_MEMBERS);
    if (status)
        return status;
    const bool file = m[MESH_FILE].at, shape = m[MESH_SHAPE].at, figure = m[MESH_FIGURE].at,
               garment = m[MESH_GARMENT].at;
    if (file + shape + figure + garment != 1)
        return abuti_scene_fail(r, "it needs one of 'file', 'shape', 'figure' and 'garment'");
    for (int i = MESH_SIZE; i < MESH_MEMBERS; i++)
        if (!shape && m[i].at)
            return abuti_scene_fail(r, "'%s' is only allowed with 'shape'", m[i].name);
    for (int i = MESH_CLIP; i <= MESH_WITHOUT; i++)
        if ((shape || garment) && m[i].at)
            return abuti_scene_fail(
                r, "'%s' is only allowed with 'figure', or with a 'file' that has a skeleton",
                m[i].name);
    for (int i = MESH_ON; i <= MESH_EASE; i++)
        if (!garment && m[i].at)
            return abuti_scene_fail(r, "'%s' is only allowed with 'garment'", m[i].name);
    for (int i = MESH_CLIP; i <= MESH_WITHOUT; i++)
        posed = posed || m[i].at;
    if (m[MESH_SCALE].at && (figure || garment || posed))
        return abuti_scene_fail(r, "'scale' is not allowed for characters and garments");
    if ((m[MESH_SPEED].at || m[MESH_BLEND].at) && !m[MESH_CLIP].at)
        return abuti_scene_fail(r, "'speed' and 'blend' need a 'clip'");
    status = m[MESH_SCALE].at ? abuti_scene_positive(r, &m[MESH_SCALE], &scale) : ABUT_OK;
    if (status || (status = reserve_mesh(r)))
        return status;
    status = file      ? read_file(r, m, &made)
             : shape   ? read_shape(r, m, &made)
             : garment ? create_garment(r, m, &made)
                       : pose_mesh(r, m, NULL, &made);
    if (!status && scale != 1) {
        status = abuti_scene_scale(&made, scale);
        if (status == ABUT_ERROR_ARGUMENT)
            status = abuti_scene_fail(r, "'scale' is %g, which makes the mesh too large", scale);
    }
    if (!status)
        r->scene->meshes[r->scene->mesh_count++] = made;
    return status;
}

/* Reads the meshes that have names. */
static abut_status read_meshes(scene_reader *r, uint32_t object) {
    const uint32_t end = object ? value_at(r, object)->next : 0;
    size_t count = 0;
    for (uint32_t i = object + 1; i < end; i = value_at(r, i)->next)
        count++;
    r->names = abuti_allocate(r->context, count, sizeof *r->names);
    if (!r->names)
        return ABUT_ERROR_MEMORY;
    abut_status status = ABUT_OK;
    for (uint32_t i = object + 1; i < end && !status; i = value_at(r, i)->next) {
        const abuti_json_value *value = value_at(r, i);
        name_entry *entry = &r->names[r->name_count];
        char word[100];
        snprintf(r->place, sizeof r->place, "meshes.%s",
                 printable_text(r, value->key, value->key_bytes, word));
        *entry = (name_entry){.index = (uint32_t)r->name_count};
        status = copy_name(r, value->key, value->key_bytes, "the name", &entry->name);
        if (!status && value->kind != ABUTI_JSON_OBJECT)
            status = abuti_scene_fail(r, "it must be an object with 'file' or 'shape'");
        if (!status)
            status = read_mesh(r, i);
        r->name_count++;
    }
    snprintf(r->place, sizeof r->place, "meshes");
    return status ? status : sort_names(r, "there are two meshes with the name");
}

/* ---- bodies ---- */

enum {
    BODY_ABOUT,
    BODY_NAME,
    BODY_MESH,
    BODY_POSITION,
    BODY_ROTATION,
    BODY_AXIS,
    BODY_DEGREES,
    BODY_GROUP,
    BODY_METHOD,
    BODY_SOLID,
    BODY_MARGIN,
    BODY_MOTION, /* and the others of MOTION_TABLE */
    BODY_MEMBERS = BODY_MOTION + MOTION_MEMBERS
};

static abut_status read_pose(scene_reader *r, const member *m, abut_pose *to) {
    double n[4] = {0};
    abut_status status = ABUT_OK;
    *to = (abut_pose){.rotation = {0, 0, 0, 1}};
    if (!m[BODY_AXIS].at != !m[BODY_DEGREES].at)
        return abuti_scene_fail(r, "'axis' and 'degrees' must be given together");
    if (m[BODY_AXIS].at && m[BODY_ROTATION].at)
        return abuti_scene_fail(r, "give 'rotation' or 'axis', not both");
    if (m[BODY_POSITION].at) {
        status = abuti_scene_list(r, &m[BODY_POSITION], 3, n);
        to->translation = (abut_vec3){n[0], n[1], n[2]};
    }
    if (!status && m[BODY_ROTATION].at) {
        status = abuti_scene_list(r, &m[BODY_ROTATION], 4, n);
        to->rotation = (abut_quat){n[0], n[1], n[2], n[3]};
        if (!status && n[0] == 0 && n[1] == 0 && n[2] == 0 && n[3] == 0)
            status = abuti_scene_fail(r, "'rotation' must not be all 0");
    }
    if (!status && m[BODY_AXIS].at) {
        status = abuti_scene_list(r, &m[BODY_AXIS], 3, n);
        double largest = fmax(fabs(n[0]), fmax(fabs(n[1]), fabs(n[2])));
        if (!status && !(largest > 0))
            status = abuti_scene_fail(r, "'axis' must not be all 0");
        if (!status)
            to->rotation =
                abuti_scene_rotation(n, largest, value_at(r, m[BODY_DEGREES].at)->is.number);
    }
    if (!status && abuti_pose_check("abut_scene_read", "the pose", to))
        status = abuti_scene_fail(r, "'position' is too far from the origin");
    return status;
}

static abut_status read_group(scene_reader *r, const member *group, uint32_t *bit) {
    abut_scene *scene = r->scene;
    const abuti_json_value *text = value_at(r, group->at);
    for (uint32_t i = 0; i < scene->group_count; i++)
        if (abuti_json_is(&r->json, text->is.text.at, text->is.text.bytes, scene->groups[i])) {
            *bit = UINT32_C(2) << i;
            return ABUT_OK;
        }
    if (scene->group_count == ABUT_SCENE_GROUPS)
        return abuti_scene_fail(r, "there are more than %d groups", ABUT_SCENE_GROUPS);
    *bit = UINT32_C(2) << scene->group_count;
    return copy_name(r, text->is.text.at, text->is.text.bytes, "'group'",
                     &scene->groups[scene->group_count++]);
}

static abut_status read_method(scene_reader *r, const member *method, const char **to) {
    static const char *const names[] = {"auto", "exact", "field", "map", "radial", "layers"};
    const abuti_json_value *text = value_at(r, method->at);
    char word[100];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (abuti_json_is(&r->json, text->is.text.at, text->is.text.bytes, names[i])) {
            *to = names[i];
            return ABUT_OK;
        }
    return abuti_scene_fail(
        r, "'method' is '%s'; it must be auto, exact, field, map, radial or layers",
        abuti_scene_word(r, method->at, word));
}

static abut_status set_body_mesh(scene_reader *r, size_t mesh, const member *m, uint32_t index) {
    scene_mesh *from = &r->scene->meshes[mesh];
    abut_scene_body *body = &r->scene->bodies[index];
    const bool solid = m[BODY_SOLID].at && value_at(r, m[BODY_SOLID].at)->is.number != 0;
    if (from->wearer != ABUT_NONE)
        body->collider.pose = r->scene->bodies[from->wearer].collider.pose;
    for (int i = BODY_POSITION; i <= BODY_DEGREES; i++)
        if (from->wearer != ABUT_NONE && m[i].at)
            return abuti_scene_fail(r, "'%s' is not allowed for a garment, which is on a body",
                                    m[i].name);
    body->mesh = from->mesh;
    body->collider = abut_collider_from_mesh(from->mesh, body->collider.pose);
    body->file = from->file;
    body->character = from->character;
    body->bones = from->bones;
    body->clip = from->clip;
    body->clip_time = from->time;
    body->clip_speed = from->speed;
    body->clip_blend = from->blend;
    if (solid && from->character)
        return abuti_scene_fail(r, "'solid' is not allowed for characters");
    if (solid && body->method)
        return abuti_scene_fail(r, "'method' is not allowed for a 'solid', which has only one");
    abut_status status = solid ? abuti_scene_solid(from, &body->collider) : ABUT_OK;
    return status ? status : abuti_scene_read_motion(r, m + BODY_MOTION, from, index);
}

static abut_status read_body(scene_reader *r, uint32_t object, uint32_t index) {
    abut_scene_body *body = &r->scene->bodies[index];
    member m[BODY_MEMBERS] = {
        [BODY_ABOUT] = MEMBER("about", TEXT),          [BODY_NAME] = MEMBER("name", TEXT),
        [BODY_MESH] = MEMBER_OR("mesh", TEXT, OBJECT), [BODY_POSITION] = MEMBER("position", LIST),
        [BODY_ROTATION] = MEMBER("rotation", LIST),    [BODY_AXIS] = MEMBER("axis", LIST),
        [BODY_DEGREES] = MEMBER("degrees", NUMBER),    [BODY_GROUP] = MEMBER("group", TEXT),
        [BODY_METHOD] = MEMBER("method", TEXT),        [BODY_SOLID] = MEMBER("solid", BOOLEAN),
        [BODY_MARGIN] = MEMBER("margin", NUMBER),      [BODY_MOTION] = MOTION_TABLE};
    if (value_at(r, object)->kind != ABUTI_JSON_OBJECT)
        return abuti_scene_fail(r, "it must be an object");
    *body = (abut_scene_body){.size = sizeof *body,
                              .group = 1,
                              .mask = UINT32_MAX,
                              .pin_body = ABUT_NONE,
                              .clip = ABUT_NONE};
    abut_status status = abuti_scene_members(r, object, m, BODY_MEMBERS);
    if (!status && !m[BODY_MESH].at)
        status = abuti_scene_fail(r, "it has no 'mesh'");
    if (!status && m[BODY_NAME].at) {
        const abuti_json_value *text = value_at(r, m[BODY_NAME].at);
        status = copy_name(r, text->is.text.at, text->is.text.bytes, "'name'", &body->name);
    } else if (!status) {
        body->name = r->letter;
        r->letter += snprintf(r->letter, 12, "#%u", index) + 1;
    }
    if (!status)
        status = read_pose(r, m, &body->collider.pose);
    if (!status && m[BODY_GROUP].at)
        status = read_group(r, &m[BODY_GROUP], &body->group);
    if (!status && m[BODY_METHOD].at)
        status = read_method(r, &m[BODY_METHOD], &body->method);
    if (!status && m[BODY_MARGIN].at)
        status = abuti_scene_range(r, &m[BODY_MARGIN], 0, ABUT_COORDINATE_MAX, &body->margin);
    if (status)
        return status;
    if (value_at(r, m[BODY_MESH].at)->kind == ABUTI_JSON_OBJECT) {
        status = read_mesh(r, m[BODY_MESH].at);
        return status ? status : set_body_mesh(r, r->scene->mesh_count - 1, m, index);
    }
    const name_entry *entry = abuti_scene_find_name(r, m[BODY_MESH].at);
    char word[100];
    if (!entry)
        return abuti_scene_fail(r, "there is no mesh '%s' in 'meshes'",
                                abuti_scene_word(r, m[BODY_MESH].at, word));
    return set_body_mesh(r, entry->index, m, index);
}

static abut_status read_bodies(scene_reader *r, uint32_t list) {
    abut_scene *scene = r->scene;
    uint32_t count = value_at(r, list)->is.count, end = value_at(r, list)->next;
    scene->bodies = abuti_allocate_zeroed(r->context, count, sizeof *scene->bodies);
    if (!scene->bodies)
        return ABUT_ERROR_MEMORY;
    abut_status status = ABUT_OK;
    for (uint32_t i = list + 1; i < end && !status; i = value_at(r, i)->next) {
        snprintf(r->place, sizeof r->place, "bodies[%u]", scene->body_count);
        status = read_body(r, i, scene->body_count++);
    }
    if (status)
        return status;
    snprintf(r->place, sizeof r->place, "bodies");
    abuti_release(r->context, r->names);
    r->name_count = 0;
    r->names = abuti_allocate(r->context, (size_t)count + scene->group_count, sizeof *r->names);
    if (!r->names)
        return ABUT_ERROR_MEMORY;
    for (uint32_t i = 0; i < count; i++)
        r->names[r->name_count++] = (name_entry){scene->bodies[i].name, i, false};
    for (uint32_t i = 0; i < scene->group_count; i++)
        r->names[r->name_count++] = (name_entry){scene->groups[i], i, true};
    status = sort_names(r, "there are two bodies with the name");
    if (!status)
        status = abuti_scene_find_targets(r);
    return status ? status : abuti_scene_read_seams(r);
}

/* ---- excluded pairs ---- */

typedef struct pair_keys {
    uint64_t *keys;
    size_t count, room;
} pair_keys;

static abut_status add_pair(scene_reader *r, pair_keys *pairs, uint32_t a, uint32_t b) {
    if (a == b)
        return ABUT_OK;
    if (pairs->count == ABUT_SCENE_IGNORED)
        return abuti_fail(ABUT_ERROR_LIMIT,
                          "%s: %s: more than %d pairs of bodies are ignored; use groups instead",
                          r->name, r->place, ABUT_SCENE_IGNORED);
    abut_status status = abuti_grow(r->context, &pairs->keys, pairs->count, pairs->count + 1,
                                    sizeof *pairs->keys, &pairs->room);
    if (!status)
        pairs->keys[pairs->count++] = a < b ? (uint64_t)a << 32 | b : (uint64_t)b << 32 | a;
    return status;
}

/* Two groups ignore each other through masks; a body and a group, through one pair per body. */
static abut_status ignore_pair(scene_reader *r, const name_entry *a, const name_entry *b,
                               pair_keys *pairs) {
    abut_scene *scene = r->scene;
    abut_status status = ABUT_OK;
    if (!a->group && !b->group)
        return add_pair(r, pairs, a->index, b->index);
    const name_entry *group = a->group ? a : b, *other = a->group ? b : a;
    for (uint32_t i = 0; i < scene->body_count && !status; i++) {
        abut_scene_body *body = &scene->bodies[i];
        bool in_group = body->group == UINT32_C(2) << group->index;
        if (!other->group && in_group)
            status = add_pair(r, pairs, i, other->index);
        if (other->group && in_group)
            body->mask &= ~(UINT32_C(2) << other->index);
        if (other->group && body->group == UINT32_C(2) << other->index)
            body->mask &= ~(UINT32_C(2) << group->index);
    }
    return status;
}

/* Entries that name a group take time proportional to the number of bodies, so their number is
 * limited. */
static abut_status read_ignored(scene_reader *r, uint32_t list, pair_keys *pairs) {
    uint32_t end = list ? value_at(r, list)->next : 0, index = 0, wide = 0;
    abut_status status = ABUT_OK;
    for (uint32_t i = list + 1; i < end && !status; i = value_at(r, i)->next) {
        const abuti_json_value *pair = value_at(r, i);
        snprintf(r->place, sizeof r->place, "ignore[%u]", index++);
        if (pair->kind != ABUTI_JSON_LIST || pair->is.count != 2 ||
            value_at(r, i + 1)->kind != ABUTI_JSON_TEXT ||
            value_at(r, i + 2)->kind != ABUTI_JSON_TEXT)
            return abuti_scene_fail(r, "it must be a list of two names");
        const name_entry *entries[2] = {abuti_scene_find_name(r, i + 1),
                                        abuti_scene_find_name(r, i + 2)};
        for (uint32_t k = 0; k < 2; k++) {
            char word[100];
            if (!entries[k])
                return abuti_scene_fail(r, "there is no body or group '%s'",
                                        abuti_scene_word(r, i + 1 + k, word));
        }
        wide += entries[0]->group || entries[1]->group;
        if (wide > 4096)
            return abuti_fail(ABUT_ERROR_LIMIT, "%s: %s: more than 4096 entries name a group",
                              r->name, r->place);
        status = ignore_pair(r, entries[0], entries[1], pairs);
    }
    return status;
}

/* ---- document ---- */

static abut_status read_document(scene_reader *r) {
    enum { ABOUT, MESHES, BODIES, IGNORE, AIR, MEMBERS = AIR + AIR_MEMBERS };
    member m[MEMBERS] = {[ABOUT] = MEMBER("about", TEXT),
                         [MESHES] = MEMBER("meshes", OBJECT),
                         [BODIES] = MEMBER("bodies", LIST),
                         [IGNORE] = MEMBER("ignore", LIST),
                         [AIR] = AIR_TABLE};
    if (value_at(r, 0)->kind != ABUTI_JSON_OBJECT)
        return abuti_scene_fail(r, "a scene must be an object");
    abut_status status = abuti_scene_members(r, 0, m, MEMBERS);
    if (!status && !m[BODIES].at)
        status = abuti_scene_fail(r, "a scene needs 'bodies'");
    if (status)
        return status;
    /* all names and paths are in the file; a generated name is shorter than the JSON of its body */
    size_t room = r->json.text_bytes + 12 * ((size_t)value_at(r, m[BODIES].at)->is.count + 1);
    r->letter = r->scene->letters = abuti_allocate(r->context, room, 1);
    if (!r->letter)
        return ABUT_ERROR_MEMORY;
    status = abuti_scene_read_air(r, m + AIR);
    if (!status)
        status = read_meshes(r, m[MESHES].at);
    if (status || (status = read_bodies(r, m[BODIES].at)))
        return status;
    pair_keys pairs = {0};
    status = read_ignored(r, m[IGNORE].at, &pairs);
    if (!status)
        status = abuti_scene_set_ignored(r->scene, pairs.keys, pairs.count);
    abuti_release(r->context, pairs.keys);
    return status;
}

/* Sets the name for messages: the end of a very long one. */
static void set_reader_name(scene_reader *r, const char *name) {
    size_t length = strlen(name), most = 96;
    abuti_escape(name + (length > most ? length - most : 0), r->name, sizeof r->name);
}

static abut_status read_text(scene_reader *r, const void *data, size_t bytes, abut_scene **scene) {
    const unsigned char *text = data;
    if (bytes >= 3 && !memcmp(text, "\xef\xbb\xbf", 3)) {
        text += 3;
        bytes -= 3;
    }
    if (!bytes)
        return abuti_scene_fail(r, "is empty");
    abut_status status = abuti_json_read(r->context, r->name, "scene", text, bytes, &r->json);
    if (status)
        return status;
    r->scene = abuti_allocate_zeroed(r->context, 1, sizeof *r->scene);
    status = r->scene ? ABUT_OK : ABUT_ERROR_MEMORY;
    if (!status) {
        r->scene->context = abuti_context_retain(r->context);
        status = read_document(r);
    }
    ABUTI_RELEASE(r->context, r->names, r->targets, r->seams);
    abuti_json_release(&r->json);
    if (status)
        abut_scene_destroy(r->scene);
    else
        *scene = r->scene;
    return status;
}

/* Reads the whole file. */
static abut_status read_whole_file(scene_reader *r, abuti_source *source, unsigned char **data,
                                   size_t *bytes) {
    size_t room = 0, step = 65536;
    abut_status status = ABUT_OK;
    while (!status && abuti_source_fill(source, 1)) {
        status = *bytes > ABUTI_JSON_BYTES
                     ? abuti_fail(ABUT_ERROR_LIMIT, "%s: has more than 2 GiB", r->name)
                     : abuti_grow(r->context, data, *bytes, *bytes + step, 1, &room);
        if (!status)
            *bytes += abuti_source_read(source, *data + *bytes, step);
    }
    if (!status && source->failed)
        status = abuti_fail(ABUT_ERROR_FILE, "%s: cannot be read", r->name);
    return status;
}

abut_status abut_scene_read(abut_context *context, const char *path,
                            const abut_scene_options *options, abut_scene **scene) {
    if (!path || !scene)
        return abuti_null(__func__, path ? "scene" : "path");
    scene_reader r = {.context = abuti_context_of(context),
                      .options = abut_scene_options_default(),
                      .path = path};
    abuti_source source;
    unsigned char *data = NULL;
    size_t bytes = 0;
    set_reader_name(&r, path);
    abut_status status = abuti_options_read(&r.options, sizeof r.options, options, __func__);
    if (!status)
        status = abuti_source_open(&source, r.context, path);
    if (status)
        return status;
    status = read_whole_file(&r, &source, &data, &bytes);
    abuti_source_close(&source);
    if (!status)
        status = read_text(&r, data, bytes, scene);
    abuti_release(r.context, data);
    return status;
}

abut_status abut_scene_read_memory(abut_context *context, const void *data, size_t bytes,
                                   const char *name, const abut_scene_options *options,
                                   abut_scene **scene) {
    if ((!data && bytes) || !scene)
        return abuti_null(__func__, scene ? "data" : "scene");
    scene_reader r = {.context = abuti_context_of(context),
                      .options = abut_scene_options_default(),
                      .path = name};
    set_reader_name(&r, name ? name : "memory");
    abut_status status = abuti_options_read(&r.options, sizeof r.options, options, __func__);
    return status ? status : read_text(&r, data, bytes, scene);
}

#endif
