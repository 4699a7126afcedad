/* Reading of robots: files and meshes, numbers, and the robot from what the readers have found. */
#include "robot/read.h"

#include "io/files.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PACKAGE_LEVELS = 8 }; /* folders above the file in which a package is searched for */

/* ---- messages, names, numbers ---- */

abut_status abuti_robot_fail(robot_reader *r, abut_status status, uint32_t element,
                             const char *format, ...) {
    char text[500];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    return abuti_fail(status, "%s: line %u: <%.60s>: %s", r->name,
                      abuti_xml_at(&r->xml, element)->line, abuti_xml_name(&r->xml, element), text);
}

const char *abuti_robot_compose(robot_reader *r, const char *format, ...) {
    char text[500];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    char **to = ABUTI_PUSH(r->context, &r->texts, char *);
    if (!to)
        return NULL;
    const size_t bytes = strlen(text) + 1;
    *to = abuti_allocate(r->context, bytes, 1);
    if (!*to) {
        r->texts.count--;
        return NULL;
    }
    return memcpy(*to, text, bytes);
}

abut_status abuti_robot_parse(robot_reader *r, uint32_t element, const char *attribute,
                              const char *text, uint32_t least, uint32_t most, double *numbers,
                              uint32_t *count) {
    const unsigned char *at = (const unsigned char *)text, *end = at + strlen(text);
    uint32_t used = 0;
    for (;;) {
        while (at < end && strchr(" \t\r\n,", *at))
            at++;
        if (at == end)
            break;
        double number;
        const unsigned char *after = abuti_number_read(at, end, &number);
        if (!after || !(real_abs(number) <= ABUT_ROBOT_NUMBER_MAX))
            return abuti_robot_fail(r, ABUT_ERROR_FORMAT, element,
                                    "%s is '%.60s'; it must be numbers from -1e12 to 1e12",
                                    attribute, text);
        if (used < most)
            numbers[used] = number;
        used++;
        at = after;
    }
    if (used < least || used > most)
        return abuti_robot_fail(r, ABUT_ERROR_FORMAT, element,
                                "%s has %u numbers; it must have %u to %u", attribute, used, least,
                                most);
    if (count)
        *count = used;
    return ABUT_OK;
}

abut_status abuti_robot_numbers(robot_reader *r, uint32_t element, const char *attribute,
                                uint32_t count, double *numbers) {
    const char *text = abuti_xml_get(&r->xml, element, attribute);
    return text ? abuti_robot_parse(r, element, attribute, text, count, count, numbers, NULL)
                : ABUT_OK;
}

quat abuti_robot_rotation(const double rpy[3]) {
    const quat x = {sin(0.5 * rpy[0]), 0, 0, cos(0.5 * rpy[0])},
               y = {0, sin(0.5 * rpy[1]), 0, cos(0.5 * rpy[1])},
               z = {0, 0, sin(0.5 * rpy[2]), cos(0.5 * rpy[2])};
    return quat_multiply(z, quat_multiply(y, x));
}

/* ---- lists ---- */

abut_status abuti_robot_add_link(robot_reader *r, const char *name, uint32_t *link) {
    if (r->links.count >= ABUT_ROBOT_LINK_MAX)
        return abuti_fail(ABUT_ERROR_LIMIT, "%s: there are more than %d links", r->name,
                          ABUT_ROBOT_LINK_MAX);
    const char **to = ABUTI_PUSH(r->context, &r->links, const char *);
    if (!to)
        return ABUT_ERROR_MEMORY;
    *to = name;
    if (link)
        *link = (uint32_t)r->links.count - 1;
    return ABUT_OK;
}

abut_status abuti_robot_add_geometry(robot_reader *r, uint32_t link,
                                     const abut_collider *collider) {
    if (r->geometries.count >= ABUT_ROBOT_GEOMETRY_MAX)
        return abuti_fail(ABUT_ERROR_LIMIT, "%s: there are more than %d parts of geometry", r->name,
                          ABUT_ROBOT_GEOMETRY_MAX);
    abut_robot_geometry *to = ABUTI_PUSH(r->context, &r->geometries, abut_robot_geometry);
    if (!to)
        return ABUT_ERROR_MEMORY;
    *to = (abut_robot_geometry){link, *collider};
    return ABUT_OK;
}

uint32_t abuti_robot_find_link(const robot_reader *r, const char *name) {
    for (uint32_t i = 0; name && i < r->links.count; i++)
        if (!strcmp(ABUTI_AT(&r->links, const char *, i), name))
            return i;
    return ABUT_NONE;
}

uint32_t abuti_robot_find_joint(const robot_reader *r, const char *name) {
    for (uint32_t i = 0; name && i < r->joints.count; i++)
        if (!strcmp(ABUTI_AT(&r->joints, abut_robot_joint, i).name, name))
            return i;
    return ABUT_NONE;
}

/* ---- meshes ---- */

static bool is_file(const char *path) {
    struct stat about;
    return stat(path, &about) == 0 && S_ISREG(about.st_mode);
}

static bool leaves_folder(const char *file) {
    for (const char *at = file; at; at = strchr(at, '/')) {
        at += *at == '/';
        if (!strncmp(at, "..", 2) && (!at[2] || at[2] == '/'))
            return true;
    }
    return false;
}

/* Writes the path of a file of a package: <root>/<package>/<file>, or <root>/<file> if the root is
 * the package itself. Without a root, folders above the file of the robot are tried. */
static bool find_package(const robot_reader *r, const char *file, char *path, size_t bytes) {
    const char *inside = strchr(file, '/');
    if (leaves_folder(file) || !inside)
        return false;
    if (r->root) {
        snprintf(path, bytes, "%s/%s", r->root, file);
        if (!is_file(path))
            snprintf(path, bytes, "%s%s", r->root, inside);
        return is_file(path);
    }
    const char *slash = strrchr(r->path, '/');
    const int folder = slash ? (int)(slash - r->path) : 1;
    char up[3 * PACKAGE_LEVELS + 1] = "";
    for (int level = 0; level < PACKAGE_LEVELS; level++) {
        snprintf(path, bytes, "%.*s/%s%s", folder, slash ? r->path : ".", up, file);
        if (is_file(path))
            return true;
        snprintf(path, bytes, "%.*s/%s%s", folder, slash ? r->path : ".", up, inside + 1);
        if (is_file(path))
            return true;
        strcat(up, "../");
    }
    return false;
}

/* Writes the path of a mesh file, which must be a regular file. */
static abut_status find_file(robot_reader *r, uint32_t element, const char *folder,
                             const char *file, char *path, size_t bytes) {
    static const char package[] = "package://", local[] = "file://";
    if (!r->path)
        return abuti_robot_fail(
            r, ABUT_ERROR_FORMAT, element,
            "refers to the file '%.200s', but the robot is not read from a file", file);
    if (strlen(file) + strlen(folder) + strlen(r->path) + (r->root ? strlen(r->root) : 0) + 64 >
        bytes)
        return abuti_robot_fail(r, ABUT_ERROR_LIMIT, element, "the path '%.100s...' is too long",
                                file);
    const bool is_packaged = !strncmp(file, package, sizeof package - 1);
    if (is_packaged) {
        if (!find_package(r, file + sizeof package - 1, path, bytes))
            return abuti_robot_fail(
                r, ABUT_ERROR_FILE, element,
                "there is no file '%.200s' in %s; set the folder that has the package", file,
                r->root ? "the root folder" : "the folders above the robot");
        return ABUT_OK;
    }
    if (!strncmp(file, local, sizeof local - 1))
        file += sizeof local - 1;
    const char *slash = strrchr(r->path, '/');
    const int before = slash && *file != '/' && *folder != '/' ? (int)(slash - r->path) + 1 : 0;
    snprintf(path, bytes, "%.*s%s%s%s", before, r->path, *file == '/' ? "" : folder,
             *folder && *file != '/' ? "/" : "", file);
    if (is_file(path))
        return ABUT_OK;
    return abuti_robot_fail(r, ABUT_ERROR_FILE, element, "'%.200s' is not a regular file", path);
}

/* A scaled copy, facing outwards also if the scale mirrors. */
static abut_status scale_mesh(robot_reader *r, vec3 scale, abut_mesh **mesh) {
    if (scale.x == 1 && scale.y == 1 && scale.z == 1)
        return ABUT_OK;
    const uint32_t vertices = abut_mesh_vertex_count(*mesh),
                   triangles = abut_mesh_triangle_count(*mesh);
    const uint32_t *indices = abut_mesh_indices(*mesh);
    abut_vec3 *positions = NULL;
    uint32_t *turned = NULL;
    abut_mesh *scaled = NULL;
    abut_status status = ABUTI_ALLOCATE(r->context, ABUTI_ARRAY(positions, vertices),
                                        ABUTI_ARRAY(turned, 3 * (size_t)triangles));
    if (!status)
        status = abut_mesh_get_positions(*mesh, positions);
    if (!status) {
        for (uint32_t i = 0; i < vertices; i++)
            positions[i] =
                v3(positions[i].x * scale.x, positions[i].y * scale.y, positions[i].z * scale.z);
        const size_t swap = scale.x * scale.y * scale.z < 0;
        for (size_t i = 0; i < 3 * (size_t)triangles; i += 3) {
            turned[i] = indices[i];
            turned[i + 1] = indices[i + 1 + swap];
            turned[i + 2] = indices[i + 2 - swap];
        }
        const abut_mesh_input input =
            abut_mesh_input_doubles(positions, vertices, turned, triangles);
        status = abut_mesh_create(r->context, &input, &scaled);
    }
    ABUTI_RELEASE(r->context, positions, turned);
    if (status)
        return status;
    abut_mesh_destroy(*mesh);
    *mesh = scaled;
    return ABUT_OK;
}

abut_status abuti_robot_read_mesh(robot_reader *r, uint32_t element, const char *folder,
                                  const char *file, vec3 scale, const abut_bvh **bvh) {
    char path[4096];
    if (scale.x == 0 || scale.y == 0 || scale.z == 0)
        return abuti_robot_fail(r, ABUT_ERROR_FORMAT, element, "a scale is 0; it must not be");
    abut_status status = find_file(r, element, folder, file, path, sizeof path);
    if (status)
        return status;
    for (size_t i = 0; i < r->meshes.count; i++) {
        const robot_mesh *mesh = &ABUTI_AT(&r->meshes, robot_mesh, i);
        if (!strcmp(mesh->path, path) && !memcmp(&mesh->scale, &scale, sizeof scale)) {
            *bvh = mesh->bvh;
            return ABUT_OK;
        }
    }
    robot_mesh *to = ABUTI_PUSH(r->context, &r->meshes, robot_mesh);
    if (!to)
        return ABUT_ERROR_MEMORY;
    memset(to, 0, sizeof *to);
    to->scale = scale;
    to->path = abuti_allocate(r->context, strlen(path) + 1, 1);
    if (!to->path)
        return ABUT_ERROR_MEMORY;
    strcpy(to->path, path);
    abut_mesh *mesh = NULL;
    status = abut_mesh_read(r->context, path, NULL, &mesh);
    if (!status)
        status = scale_mesh(r, scale, &mesh);
    if (!status)
        status = abut_bvh_create(mesh, NULL, &to->bvh);
    abut_mesh_destroy(mesh);
    *bvh = to->bvh;
    return status;
}

/* ---- allowed collisions ---- */

/* Finds the link that an attribute names. Logs a warning if the robot has no such link. */
static abut_status find_named_link(robot_reader *r, const abut_robot *robot, uint32_t element,
                                   const char *attribute, uint32_t *link) {
    const char *name = abuti_xml_get(&r->xml, element, attribute);
    if (!name)
        return abuti_robot_fail(r, ABUT_ERROR_FORMAT, element, "%s is missing", attribute);
    for (*link = 0; *link < robot->link_count; ++*link)
        if (!strcmp(robot->links[*link].name, name))
            return ABUT_OK;
    abuti_log(r->context, ABUT_LOG_WARNING, "%s: the robot has no link '%.60s'", r->name, name);
    *link = ABUT_NONE;
    return ABUT_OK;
}

/* Allows the pairs of links that an element lists: children named `child` with these attributes. */
static abut_status read_pairs(robot_reader *r, abut_robot *robot, uint32_t element,
                              const char *child, const char *first, const char *second,
                              uint32_t *count) {
    abuti_vector pairs = {0};
    abut_status status = ABUT_OK;
    for (uint32_t at = ABUT_NONE;
         !status && (at = abuti_xml_child(&r->xml, element, child, at)) != ABUT_NONE;) {
        uint32_t a = ABUT_NONE, b = ABUT_NONE;
        if ((status = find_named_link(r, robot, at, first, &a)) ||
            (status = find_named_link(r, robot, at, second, &b)) || a == b || a == ABUT_NONE ||
            b == ABUT_NONE)
            continue;
        uint64_t *to = ABUTI_PUSH(r->context, &pairs, uint64_t);
        if (to)
            *to = (uint64_t)a << 32 | b;
        else
            status = ABUT_ERROR_MEMORY;
    }
    for (size_t i = 0; i < pairs.count && !status; i++) {
        const uint64_t pair = ABUTI_AT(&pairs, uint64_t, i);
        abuti_robot_set_allowed(robot, (uint32_t)(pair >> 32), (uint32_t)pair, true);
        ++*count;
    }
    if (pairs.count && !status)
        abuti_robot_list_pairs(robot);
    abuti_release(r->context, pairs.data);
    return status;
}

/* ---- whole files ---- */

static void release_reader(robot_reader *r) {
    for (size_t i = 0; i < r->meshes.count; i++) {
        const robot_mesh *mesh = &ABUTI_AT(&r->meshes, robot_mesh, i);
        abuti_release(r->context, mesh->path);
        abut_bvh_destroy(mesh->bvh);
    }
    for (size_t i = 0; i < r->texts.count; i++)
        abuti_release(r->context, ABUTI_AT(&r->texts, char *, i));
    ABUTI_RELEASE(r->context, r->links.data, r->joints.data, r->geometries.data, r->meshes.data,
                  r->texts.data);
    abuti_xml_release(&r->xml);
}

static abut_status build_robot(robot_reader *r, abut_robot **robot) {
    abut_robot_description d = abut_robot_description_default();
    d.name = r->robot_name;
    d.links = r->links.data;
    d.link_count = (uint32_t)r->links.count;
    d.joints = r->joints.data;
    d.joint_count = (uint32_t)r->joints.count;
    d.geometries = r->geometries.data;
    d.geometry_count = (uint32_t)r->geometries.count;
    abut_status status = abut_robot_create(r->context, &d, robot);
    if (status != ABUT_ERROR_ARGUMENT)
        return status;
    /* what the caller of abut_robot_create() would have to correct is an error of the file */
    char reason[700];
    const char *colon = strstr(abut_last_error(), ": ");
    snprintf(reason, sizeof reason, "%s", colon ? colon + 2 : abut_last_error());
    return abuti_fail(ABUT_ERROR_FORMAT, "%s: %s", r->name, reason);
}

/* MuJoCo tests the geometry of the world body with all links that move, also with its children. */
static abut_status test_world_body(abut_robot *robot) {
    uint32_t root = 0;
    abut_status status = ABUT_OK;
    while (robot->links[root].parent != ABUT_NONE)
        root++;
    for (uint32_t i = 0; i < robot->link_count && !status; i++)
        if (robot->links[i].group != robot->links[root].group)
            status = abut_robot_allow(robot, root, i, false);
    return status;
}

static abut_status read_document(robot_reader *r, abuti_source *source, abut_robot **robot) {
    abut_robot *made = NULL;
    abut_status status = abuti_xml_read(r->context, r->name, source, &r->xml);
    if (status)
        return status;
    const char *root = abuti_xml_name(&r->xml, 0);
    const bool is_mjcf = !strcmp(root, "mujoco");
    if (is_mjcf)
        status = abuti_robot_read_mjcf(r);
    else if (!strcmp(root, "robot"))
        status = abuti_robot_read_urdf(r);
    else
        status = abuti_robot_fail(r, ABUT_ERROR_FORMAT, 0,
                                  "is neither <robot> (URDF) nor <mujoco> (MJCF)");
    if (!status)
        status = build_robot(r, &made);
    if (!status && is_mjcf)
        status = test_world_body(made);
    for (uint32_t at = ABUT_NONE, count = 0;
         !status && is_mjcf && (at = abuti_xml_child(&r->xml, 0, "contact", at)) != ABUT_NONE;)
        status = read_pairs(r, made, at, "exclude", "body1", "body2", &count);
    if (status)
        abut_robot_destroy(made);
    else
        *robot = made;
    return status;
}

static abut_status read_options(robot_reader *r, const abut_robot_read_options *options) {
    abut_robot_read_options ours = abut_robot_read_options_default();
    abut_status status = abuti_options_read(&ours, sizeof ours, options, "abut_robot_read");
    r->root = ours.root;
    return status;
}

abut_status abut_robot_read(abut_context *context, const char *path,
                            const abut_robot_read_options *options, abut_robot **robot) {
    if (!path || !robot)
        return abuti_null(__func__, path ? "robot" : "path");
    robot_reader r = {.context = abuti_context_of(context), .path = path};
    abuti_source source;
    abut_status status = read_options(&r, options);
    if (status || (status = abuti_source_open(&source, r.context, path)))
        return status;
    abuti_escape(path, r.name, sizeof r.name);
    r.xml.context = r.context;
    status = read_document(&r, &source, robot);
    abuti_source_close(&source);
    release_reader(&r);
    return status;
}

abut_status abut_robot_read_memory(abut_context *context, const void *data, size_t bytes,
                                   const char *name, const abut_robot_read_options *options,
                                   abut_robot **robot) {
    if (!robot || (!data && bytes))
        return abuti_null(__func__, robot ? "data" : "robot");
    robot_reader r = {.context = abuti_context_of(context), .path = name};
    abuti_source source;
    abut_status status = read_options(&r, options);
    if (status)
        return status;
    abuti_escape(name ? name : "robot", r.name, sizeof r.name);
    r.xml.context = r.context;
    abuti_source_memory(&source, r.context, data, bytes, r.name);
    status = read_document(&r, &source, robot);
    abuti_source_close(&source);
    release_reader(&r);
    return status;
}

abut_status abut_robot_read_allowed(abut_robot *robot, const char *path, uint32_t *count) {
    if (!robot || !path)
        return abuti_null(__func__, robot ? "path" : "robot");
    robot_reader r = {.context = robot->context, .path = path};
    abuti_source source;
    uint32_t found = 0;
    abut_status status = abuti_source_open(&source, r.context, path);
    if (status)
        return status;
    abuti_escape(path, r.name, sizeof r.name);
    status = abuti_xml_read(r.context, r.name, &source, &r.xml);
    abuti_source_close(&source);
    if (status)
        return status;
    if (strcmp(abuti_xml_name(&r.xml, 0), "robot"))
        status = abuti_robot_fail(&r, ABUT_ERROR_FORMAT, 0, "is not <robot> (SRDF)");
    else
        status = read_pairs(&r, robot, 0, "disable_collisions", "link1", "link2", &found);
    release_reader(&r);
    if (!status && count)
        *count = found;
    return status;
}
