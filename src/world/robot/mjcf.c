/* The reader of MJCF, the format of MuJoCo: bodies with hinge and slide joints, collision geoms,
 * default classes and mesh assets.
 *
 * A body is a link. A body with several joints gets one more link for each further joint, and a
 * body without joints a fixed one. The world is the root link. Geoms that can collide with nothing
 * (contype and conaffinity 0) are skipped. A mesh is tested as it is, not as its convex hull.
 *
 * Attributes of an element are looked up in its class, in the classes that contain it, and in the
 * main class. */
#include "robot/read.h"

#include <math.h>
#include <string.h>

#define DEGREE 0.017453292519943295769

typedef struct mjcf_file {
    robot_reader *r;
    uint32_t defaults;              /* the main class, or ABUT_NONE */
    bool radians, has_plain_limits; /* compiler: angle="radian", autolimits="false" */
    const char *mesh_folder, *euler;
    uint32_t body_count;
} mjcf_file;

/* A body whose content is read next. */
typedef struct mjcf_body {
    uint32_t element, parent; /* parent: a link */
    const char *class;        /* childclass of an ancestor, or null */
} mjcf_body;

/* ---- attributes and classes ---- */

static uint32_t find_class(const robot_reader *r, uint32_t main, const char *name) {
    const uint32_t end = abuti_xml_at(&r->xml, main)->next;
    for (uint32_t i = main; i < end; i++) {
        const char *class = abuti_xml_get(&r->xml, i, "class");
        if (class && !strcmp(abuti_xml_name(&r->xml, i), "default") && !strcmp(class, name))
            return i;
    }
    return ABUT_NONE;
}

/* Returns the value of an attribute of an element of the body, or that of its classes, or null. */
static const char *find_attribute(const mjcf_file *f, uint32_t element, const char *inherited,
                                  const char *attribute) {
    const robot_reader *r = f->r;
    const char *own = abuti_xml_get(&r->xml, element, attribute);
    if (own || f->defaults == ABUT_NONE)
        return own;
    const char *class = abuti_xml_get(&r->xml, element, "class");
    class = class ? class : inherited;
    uint32_t at = class ? find_class(r, f->defaults, class) : f->defaults;
    while (at != ABUT_NONE && !strcmp(abuti_xml_name(&r->xml, at), "default")) {
        const uint32_t tag =
            abuti_xml_child(&r->xml, at, abuti_xml_name(&r->xml, element), ABUT_NONE);
        const char *value = tag == ABUT_NONE ? NULL : abuti_xml_get(&r->xml, tag, attribute);
        if (value)
            return value;
        at = abuti_xml_at(&r->xml, at)->parent;
    }
    return NULL;
}

static abut_status get_numbers(const mjcf_file *f, uint32_t element, const char *inherited,
                               const char *attribute, uint32_t least, uint32_t most,
                               double *numbers, uint32_t *count) {
    const char *text = find_attribute(f, element, inherited, attribute);
    if (count)
        *count = 0;
    return text ? abuti_robot_parse(f->r, element, attribute, text, least, most, numbers, count)
                : ABUT_OK;
}

static quat turn_about(vec3 axis, double angle) {
    const vec3 unit = v3_normalise(axis);
    const double sine = sin(0.5 * angle);
    return (quat){sine * unit.x, sine * unit.y, sine * unit.z, cos(0.5 * angle)};
}

static double angle_of(const mjcf_file *f, double number) {
    return f->radians ? number : number * DEGREE;
}

/* The rotation that turns the z axis to a direction, by the shortest way. */
static quat turn_z(vec3 to) {
    const vec3 unit = v3_normalise(to), axis = v3_cross(v3(0, 0, 1), unit);
    const double sine = v3_length(axis);
    return turn_about(sine > 0 ? axis : v3(1, 0, 0), atan2(sine, unit.z));
}

static quat turn_of_axes(const double six[6]) {
    const vec3 x = v3_normalise(v3(six[0], six[1], six[2])), any = v3(six[3], six[4], six[5]);
    const vec3 y = v3_normalise(v3_along(any, -v3_dot(x, any), x)), z = v3_cross(x, y);
    const double m[12] = {x.x, y.x, z.x, 0, x.y, y.y, z.y, 0, x.z, y.z, z.z, 0};
    abut_pose turn = abut_pose_identity();
    return abut_pose_from_matrix(m, &turn) ? (quat){0, 0, 0, 1} : turn.rotation;
}

/* Rotations in the order of compiler.eulerseq: lower case about moved axes, upper case about fixed
 * ones. */
static quat turn_of_euler(const mjcf_file *f, const double angles[3]) {
    quat q = {0, 0, 0, 1};
    for (int i = 0; i < 3; i++) {
        const char letter = f->euler[i];
        const bool is_fixed = letter >= 'X' && letter <= 'Z';
        const int axis = is_fixed ? letter - 'X' : letter - 'x';
        const quat turn = turn_about(v3(axis == 0, axis == 1, axis == 2), angle_of(f, angles[i]));
        q = is_fixed ? quat_multiply(turn, q) : quat_multiply(q, turn);
    }
    return q;
}

static abut_status read_pose(const mjcf_file *f, uint32_t element, const char *class,
                             abut_pose *at) {
    double pos[3] = {0}, n[6];
    uint32_t count;
    abut_status status = get_numbers(f, element, class, "pos", 3, 3, pos, NULL);
    *at = abut_pose_identity();
    at->translation = v3(pos[0], pos[1], pos[2]);
    if (status || (status = get_numbers(f, element, class, "quat", 4, 4, n, &count)))
        return status;
    if (count) {
        at->rotation = quat_normalise((quat){n[1], n[2], n[3], n[0]});
        return ABUT_OK;
    }
    if ((status = get_numbers(f, element, class, "axisangle", 4, 4, n, &count)))
        return status;
    if (count)
        at->rotation = turn_about(v3(n[0], n[1], n[2]), angle_of(f, n[3]));
    if ((status = get_numbers(f, element, class, "euler", 3, 3, n, &count)))
        return status;
    if (count)
        at->rotation = turn_of_euler(f, n);
    if ((status = get_numbers(f, element, class, "xyaxes", 6, 6, n, &count)))
        return status;
    if (count)
        at->rotation = turn_of_axes(n);
    if ((status = get_numbers(f, element, class, "zaxis", 3, 3, n, &count)))
        return status;
    if (count)
        at->rotation = turn_z(v3(n[0], n[1], n[2]));
    return ABUT_OK;
}

/* ---- geoms ---- */

/* The name of a mesh asset: its own, or that of its file without folder and extension. */
static bool is_mesh_named(const robot_reader *r, uint32_t mesh, const char *name) {
    const char *own = abuti_xml_get(&r->xml, mesh, "name");
    if (own)
        return !strcmp(own, name);
    const char *file = abuti_xml_get(&r->xml, mesh, "file");
    const char *slash = file ? strrchr(file, '/') : NULL;
    file = slash ? slash + 1 : file;
    const char *dot = file ? strrchr(file, '.') : NULL;
    const size_t bytes = dot ? (size_t)(dot - file) : file ? strlen(file) : 0;
    return file && strlen(name) == bytes && !strncmp(file, name, bytes);
}

static abut_status read_mesh_geom(const mjcf_file *f, uint32_t geom, const char *class,
                                  abut_pose at, abut_collider *collider) {
    robot_reader *r = f->r;
    const char *name = find_attribute(f, geom, class, "mesh");
    for (uint32_t asset = ABUT_NONE;
         name && (asset = abuti_xml_child(&r->xml, 0, "asset", asset)) != ABUT_NONE;)
        for (uint32_t mesh = ABUT_NONE;
             (mesh = abuti_xml_child(&r->xml, asset, "mesh", mesh)) != ABUT_NONE;) {
            if (!is_mesh_named(r, mesh, name))
                continue;
            const char *file = abuti_xml_get(&r->xml, mesh, "file");
            double scale[3] = {1, 1, 1};
            const abut_bvh *bvh;
            if (!file || find_attribute(f, mesh, NULL, "refpos") ||
                find_attribute(f, mesh, NULL, "refquat"))
                return abuti_robot_fail(r, ABUT_ERROR_UNSUPPORTED, mesh,
                                        "must have a file, and no refpos or refquat");
            abut_status status = get_numbers(f, mesh, NULL, "scale", 3, 3, scale, NULL);
            if (!status)
                status = abuti_robot_read_mesh(r, mesh, f->mesh_folder, file,
                                               v3(scale[0], scale[1], scale[2]), &bvh);
            if (!status)
                *collider = abut_collider_from_bvh(bvh, at);
            return status;
        }
    return abuti_robot_fail(r, ABUT_ERROR_FORMAT, geom, "there is no mesh '%.60s'",
                            name ? name : "");
}

/* A capsule or cylinder: by size and pose, or between two points. */
static abut_status read_round_geom(const mjcf_file *f, uint32_t geom, const char *class,
                                   bool is_capsule, abut_pose at, abut_collider *collider) {
    double size[3] = {0}, ends[6];
    uint32_t sizes, points;
    abut_status status = get_numbers(f, geom, class, "size", 1, 3, size, &sizes);
    if (status || (status = get_numbers(f, geom, class, "fromto", 6, 6, ends, &points)))
        return status;
    if (!(size[0] > 0) || (!points && !(size[1] > 0)))
        return abuti_robot_fail(f->r, ABUT_ERROR_FORMAT, geom,
                                "size must have a positive radius and, without fromto, a positive "
                                "half length");
    vec3 low = {0, 0, -size[1]}, high = {0, 0, size[1]};
    if (points) {
        low = v3(ends[0], ends[1], ends[2]);
        high = v3(ends[3], ends[4], ends[5]);
        at = abut_pose_identity();
    }
    *collider = is_capsule ? abut_collider_from_capsule((abut_capsule){{low, high}, size[0]}, at)
                           : abut_collider_from_cylinder((abut_cylinder){{low, high}, size[0]}, at);
    return ABUT_OK;
}

static bool collides_with_nothing(const mjcf_file *f, uint32_t geom, const char *class) {
    const char *type = find_attribute(f, geom, class, "contype"),
               *affinity = find_attribute(f, geom, class, "conaffinity");
    return type && affinity && !strcmp(type, "0") && !strcmp(affinity, "0");
}

static abut_status read_geom(const mjcf_file *f, uint32_t geom, const char *class, uint32_t link) {
    robot_reader *r = f->r;
    const char *type = find_attribute(f, geom, class, "type");
    abut_collider collider;
    abut_pose at;
    double size[3] = {0};
    if (!type)
        type = find_attribute(f, geom, class, "mesh") ? "mesh" : "sphere";
    if (collides_with_nothing(f, geom, class))
        return ABUT_OK;
    abut_status status = read_pose(f, geom, class, &at);
    if (status)
        return status;
    if (!strcmp(type, "mesh")) {
        status = read_mesh_geom(f, geom, class, at, &collider);
    } else if (!strcmp(type, "capsule") || !strcmp(type, "cylinder")) {
        status = read_round_geom(f, geom, class, !strcmp(type, "capsule"), at, &collider);
    } else if (!strcmp(type, "box") && !find_attribute(f, geom, class, "fromto")) {
        status = get_numbers(f, geom, class, "size", 3, 3, size, NULL);
        collider = abut_collider_from_box(v3(size[0], size[1], size[2]), at);
    } else if (!strcmp(type, "sphere")) {
        status = get_numbers(f, geom, class, "size", 1, 3, size, NULL);
        size[1] = size[2] = size[0];
        collider = abut_collider_from_sphere((abut_sphere){{0, 0, 0}, size[0]}, at);
    } else if (!strcmp(type, "plane") && link == 0) {
        abuti_log(r->context, ABUT_LOG_WARNING,
                  "%s: line %u: the plane of the world is not part of the robot; pass it as an "
                  "obstacle",
                  r->name, abuti_xml_at(&r->xml, geom)->line);
        return ABUT_OK;
    } else {
        return abuti_robot_fail(r, ABUT_ERROR_UNSUPPORTED, geom,
                                "type is '%.60s', which is not supported; it must be a box without "
                                "fromto, sphere, capsule, cylinder or mesh",
                                type);
    }
    if (!status && (!strcmp(type, "box") || !strcmp(type, "sphere")) &&
        !(size[0] > 0 && size[1] > 0 && size[2] > 0))
        status = abuti_robot_fail(r, ABUT_ERROR_FORMAT, geom, "size is missing or not positive");
    return status ? status : abuti_robot_add_geometry(r, link, &collider);
}

/* ---- joints and bodies ---- */

static abut_status read_limits(const mjcf_file *f, uint32_t element, const char *class,
                               abut_robot_joint *joint) {
    double range[2];
    uint32_t count;
    const char *limited = find_attribute(f, element, class, "limited");
    abut_status status = get_numbers(f, element, class, "range", 2, 2, range, &count);
    const bool is_limited = limited && strcmp(limited, "auto") ? !strcmp(limited, "true")
                                                               : !f->has_plain_limits && count;
    if (!status && joint->kind == ABUT_ROBOT_REVOLUTE && !is_limited)
        joint->kind = ABUT_ROBOT_CONTINUOUS;
    if (status || !is_limited || !count)
        return status;
    const bool is_angle = joint->kind == ABUT_ROBOT_REVOLUTE;
    joint->lower = is_angle ? angle_of(f, range[0]) : range[0];
    joint->upper = is_angle ? angle_of(f, range[1]) : range[1];
    return ABUT_OK;
}

static abut_status add_joint(robot_reader *r, const abut_robot_joint *joint) {
    abut_robot_joint *to = ABUTI_PUSH(r->context, &r->joints, abut_robot_joint);
    if (!to)
        return ABUT_ERROR_MEMORY;
    *to = *joint;
    return ABUT_OK;
}

static abut_status read_joint(const mjcf_file *f, uint32_t element, const char *class,
                              abut_robot_joint *joint) {
    robot_reader *r = f->r;
    double axis[3] = {0, 0, 1}, pos[3] = {0}, ref = 0;
    const char *type = find_attribute(f, element, class, "type");
    joint->name = abuti_xml_get(&r->xml, element, "name");
    if (type && strcmp(type, "hinge") && strcmp(type, "slide"))
        return abuti_robot_fail(
            r, ABUT_ERROR_UNSUPPORTED, element,
            "type is '%.60s', which is not supported; it must be hinge or slide", type);
    joint->kind = type && !strcmp(type, "slide") ? ABUT_ROBOT_PRISMATIC : ABUT_ROBOT_REVOLUTE;
    abut_status status;
    if ((status = get_numbers(f, element, class, "axis", 3, 3, axis, NULL)) ||
        (status = get_numbers(f, element, class, "pos", 3, 3, pos, NULL)) ||
        (status = get_numbers(f, element, class, "ref", 1, 1, &ref, NULL)) ||
        (status = read_limits(f, element, class, joint)))
        return status;
    joint->axis = v3(axis[0], axis[1], axis[2]);
    joint->anchor = v3(pos[0], pos[1], pos[2]);
    joint->offset = joint->kind == ABUT_ROBOT_PRISMATIC ? -ref : -angle_of(f, ref);
    return ABUT_OK;
}

/* Adds the link of a body, its joints, and the links between them. */
static abut_status add_body(mjcf_file *f, const mjcf_body *body, const char *class,
                            uint32_t *link) {
    robot_reader *r = f->r;
    const char *name = abuti_xml_get(&r->xml, body->element, "name");
    abut_robot_joint joint = {.parent = body->parent, .mimic = ABUT_NONE};
    f->body_count++;
    if (!name && !(name = abuti_robot_compose(r, "body#%u", f->body_count)))
        return ABUT_ERROR_MEMORY;
    abut_status status = read_pose(f, body->element, NULL, &joint.pose);
    uint32_t at = abuti_xml_child(&r->xml, body->element, "joint", ABUT_NONE), count = 0;
    if (status)
        return status;
    if (abuti_xml_child(&r->xml, body->element, "freejoint", ABUT_NONE) != ABUT_NONE)
        return abuti_robot_fail(r, ABUT_ERROR_UNSUPPORTED, body->element,
                                "has a free joint, which is not supported; remove it and set the "
                                "base of the robot");
    do {
        const uint32_t next =
            at == ABUT_NONE ? ABUT_NONE : abuti_xml_child(&r->xml, body->element, "joint", at);
        const char *link_name =
            next == ABUT_NONE ? name : abuti_robot_compose(r, "%.200s/%u", name, count);
        if (!link_name)
            return ABUT_ERROR_MEMORY;
        if ((status = abuti_robot_add_link(r, link_name, &joint.child)))
            return status;
        if (at != ABUT_NONE && (status = read_joint(f, at, class, &joint)))
            return status;
        if (!joint.name && !(joint.name = abuti_robot_compose(r, "%.200s.joint%u", name, count)))
            return ABUT_ERROR_MEMORY;
        if ((status = add_joint(r, &joint)))
            return status;
        *link = joint.child;
        joint = (abut_robot_joint){.parent = *link, .mimic = ABUT_NONE};
        joint.pose = abut_pose_identity();
        at = next;
        count++;
    } while (at != ABUT_NONE);
    return ABUT_OK;
}

static abut_status check_body(robot_reader *r, uint32_t body) {
    static const char *const unsupported[] = {"frame",   "replicate", "attach",
                                              "include", "composite", "flexcomp"};
    for (size_t i = 0; i < sizeof unsupported / sizeof *unsupported; i++) {
        const uint32_t at = abuti_xml_child(&r->xml, body, unsupported[i], ABUT_NONE);
        if (at != ABUT_NONE)
            return abuti_robot_fail(r, ABUT_ERROR_UNSUPPORTED, at,
                                    "is not supported; save the compiled model as MJCF "
                                    "(mj_saveLastXML) and read that");
    }
    return ABUT_OK;
}

/* Reads bodies, parents first. */
static abut_status read_bodies(mjcf_file *f, abuti_vector *bodies) {
    robot_reader *r = f->r;
    for (size_t i = 0; i < bodies->count; i++) {
        const mjcf_body body = ABUTI_AT(bodies, mjcf_body, i);
        const char *class = abuti_xml_get(&r->xml, body.element, "childclass");
        uint32_t link = 0;
        class = class ? class : body.class;
        abut_status status = check_body(r, body.element);
        if (!status)
            status = i ? add_body(f, &body, class, &link) : abuti_robot_add_link(r, "world", &link);
        for (uint32_t at = ABUT_NONE;
             !status && (at = abuti_xml_child(&r->xml, body.element, "geom", at)) != ABUT_NONE;)
            status = read_geom(f, at, class, link);
        for (uint32_t at = ABUT_NONE;
             !status && (at = abuti_xml_child(&r->xml, body.element, "body", at)) != ABUT_NONE;) {
            mjcf_body *to = ABUTI_PUSH(r->context, bodies, mjcf_body);
            if (to)
                *to = (mjcf_body){at, link, class};
            else
                status = ABUT_ERROR_MEMORY;
        }
        if (status)
            return status;
    }
    return ABUT_OK;
}

/* ---- the file ---- */

/* Joints that an equality couples: joint1 = c0 + c1 joint2. */
static abut_status read_equality(robot_reader *r, uint32_t element) {
    double c[5] = {0, 1, 0, 0, 0};
    uint32_t count;
    const char *active = abuti_xml_get(&r->xml, element, "active"),
               *text = abuti_xml_get(&r->xml, element, "polycoef"),
               *other = abuti_xml_get(&r->xml, element, "joint2");
    const uint32_t first = abuti_robot_find_joint(r, abuti_xml_get(&r->xml, element, "joint1")),
                   second = abuti_robot_find_joint(r, other);
    if (active && !strcmp(active, "false"))
        return ABUT_OK;
    abut_status status =
        text ? abuti_robot_parse(r, element, "polycoef", text, 1, 5, c, &count) : ABUT_OK;
    if (status)
        return status;
    if (first == ABUT_NONE || second == ABUT_NONE || first == second || c[1] == 0 || c[2] != 0 ||
        c[3] != 0 || c[4] != 0)
        return abuti_robot_fail(r, ABUT_ERROR_UNSUPPORTED, element,
                                "must couple two joints linearly: joint1, joint2, and polycoef "
                                "\"c0 c1 0 0 0\" with c1 other than 0");
    abut_robot_joint *joint = &ABUTI_AT(&r->joints, abut_robot_joint, first);
    joint->mimic = second;
    joint->multiplier = c[1];
    joint->offset += c[0];
    return ABUT_OK;
}

static abut_status read_compiler(mjcf_file *f) {
    robot_reader *r = f->r;
    for (uint32_t at = ABUT_NONE;
         (at = abuti_xml_child(&r->xml, 0, "compiler", at)) != ABUT_NONE;) {
        const char *angle = abuti_xml_get(&r->xml, at, "angle"),
                   *limits = abuti_xml_get(&r->xml, at, "autolimits"),
                   *all = abuti_xml_get(&r->xml, at, "assetdir"),
                   *meshes = abuti_xml_get(&r->xml, at, "meshdir"),
                   *euler = abuti_xml_get(&r->xml, at, "eulerseq");
        f->radians = angle ? !strcmp(angle, "radian") : f->radians;
        f->has_plain_limits = limits ? !strcmp(limits, "false") : f->has_plain_limits;
        f->mesh_folder = meshes ? meshes : all ? all : f->mesh_folder;
        if (euler && (strlen(euler) != 3 || strspn(euler, "xyzXYZ") != 3))
            return abuti_robot_fail(r, ABUT_ERROR_FORMAT, at,
                                    "eulerseq is '%.60s'; it must be three letters of xyzXYZ",
                                    euler);
        f->euler = euler ? euler : f->euler;
    }
    return ABUT_OK;
}

abut_status abuti_robot_read_mjcf(robot_reader *r) {
    mjcf_file f = {.r = r, .mesh_folder = "", .euler = "xyz"};
    abuti_vector bodies = {0};
    f.defaults = abuti_xml_child(&r->xml, 0, "default", ABUT_NONE);
    r->robot_name = abuti_xml_get(&r->xml, 0, "model");
    const uint32_t world = abuti_xml_child(&r->xml, 0, "worldbody", ABUT_NONE);
    if (world == ABUT_NONE)
        return abuti_robot_fail(r, ABUT_ERROR_FORMAT, 0, "has no <worldbody>");
    abut_status status = check_body(r, 0);
    if (!status)
        status = read_compiler(&f);
    if (status)
        return status;
    mjcf_body *first = ABUTI_PUSH(r->context, &bodies, mjcf_body);
    if (!first)
        return ABUT_ERROR_MEMORY;
    *first = (mjcf_body){world, 0, NULL};
    status = read_bodies(&f, &bodies);
    abuti_release(r->context, bodies.data);
    for (uint32_t list = ABUT_NONE;
         !status && (list = abuti_xml_child(&r->xml, 0, "equality", list)) != ABUT_NONE;)
        for (uint32_t at = ABUT_NONE;
             !status && (at = abuti_xml_child(&r->xml, list, "joint", at)) != ABUT_NONE;)
            status = read_equality(r, at);
    return status;
}
