/* The reader of URDF: links with collision geometry, and joints. */
#include "robot/read.h"

#include <string.h>

static abut_status read_origin(robot_reader *r, uint32_t element, abut_pose *at) {
    double xyz[3] = {0}, rpy[3] = {0};
    const uint32_t origin = abuti_xml_child(&r->xml, element, "origin", ABUT_NONE);
    abut_status status = ABUT_OK;
    if (origin != ABUT_NONE && !(status = abuti_robot_numbers(r, origin, "xyz", 3, xyz)))
        status = abuti_robot_numbers(r, origin, "rpy", 3, rpy);
    at->rotation = abuti_robot_rotation(rpy);
    at->translation = v3(xyz[0], xyz[1], xyz[2]);
    return status;
}

/* A number that must exist and be positive. */
static abut_status read_size(robot_reader *r, uint32_t element, const char *attribute,
                             uint32_t count, double *numbers) {
    for (uint32_t i = 0; i < count; i++)
        numbers[i] = -1;
    abut_status status = abuti_robot_numbers(r, element, attribute, count, numbers);
    for (uint32_t i = 0; i < count && !status; i++)
        if (!(numbers[i] > 0))
            status = abuti_robot_fail(r, ABUT_ERROR_FORMAT, element,
                                      "%s is missing or not positive; it must be a length above 0",
                                      attribute);
    return status;
}

static abut_status read_round(robot_reader *r, uint32_t shape, abut_pose at,
                              abut_collider *collider) {
    const bool is_capsule = !strcmp(abuti_xml_name(&r->xml, shape), "capsule");
    double radius, length;
    abut_status status = read_size(r, shape, "radius", 1, &radius);
    if (status || (status = read_size(r, shape, "length", 1, &length)))
        return status;
    const vec3 low = {0, 0, -0.5 * length}, high = {0, 0, 0.5 * length};
    *collider = is_capsule ? abut_collider_from_capsule((abut_capsule){{low, high}, radius}, at)
                           : abut_collider_from_cylinder((abut_cylinder){{low, high}, radius}, at);
    return ABUT_OK;
}

static abut_status read_mesh(robot_reader *r, uint32_t shape, abut_pose at,
                             abut_collider *collider) {
    const char *file = abuti_xml_get(&r->xml, shape, "filename");
    double scale[3] = {1, 1, 1};
    const abut_bvh *bvh;
    if (!file)
        return abuti_robot_fail(r, ABUT_ERROR_FORMAT, shape, "filename is missing");
    abut_status status = abuti_robot_numbers(r, shape, "scale", 3, scale);
    if (!status)
        status = abuti_robot_read_mesh(r, shape, "", file, v3(scale[0], scale[1], scale[2]), &bvh);
    if (!status)
        *collider = abut_collider_from_bvh(bvh, at);
    return status;
}

static abut_status read_collision(robot_reader *r, uint32_t element, uint32_t link) {
    abut_pose at;
    abut_collider collider;
    double size[3];
    abut_status status = read_origin(r, element, &at);
    if (status)
        return status;
    const uint32_t geometry = abuti_xml_child(&r->xml, element, "geometry", ABUT_NONE);
    const uint32_t shape =
        geometry == ABUT_NONE ? ABUT_NONE : abuti_xml_child(&r->xml, geometry, NULL, ABUT_NONE);
    if (shape == ABUT_NONE)
        return abuti_robot_fail(r, ABUT_ERROR_FORMAT, element, "has no geometry");
    const char *kind = abuti_xml_name(&r->xml, shape);
    if (!strcmp(kind, "box")) {
        if (!(status = read_size(r, shape, "size", 3, size)))
            collider = abut_collider_from_box(v3(0.5 * size[0], 0.5 * size[1], 0.5 * size[2]), at);
    } else if (!strcmp(kind, "sphere")) {
        if (!(status = read_size(r, shape, "radius", 1, size)))
            collider = abut_collider_from_sphere((abut_sphere){{0, 0, 0}, size[0]}, at);
    } else if (!strcmp(kind, "cylinder") || !strcmp(kind, "capsule")) {
        status = read_round(r, shape, at, &collider);
    } else if (!strcmp(kind, "mesh")) {
        status = read_mesh(r, shape, at, &collider);
    } else {
        status = abuti_robot_fail(r, ABUT_ERROR_UNSUPPORTED, shape,
                                  "is not supported; the geometry must be a box, sphere, cylinder, "
                                  "capsule or mesh");
    }
    return status ? status : abuti_robot_add_geometry(r, link, &collider);
}

static abut_status read_link(robot_reader *r, uint32_t element) {
    const char *name = abuti_xml_get(&r->xml, element, "name");
    uint32_t link;
    if (!name)
        return abuti_robot_fail(r, ABUT_ERROR_FORMAT, element, "name is missing");
    abut_status status = abuti_robot_add_link(r, name, &link);
    for (uint32_t at = ABUT_NONE;
         !status && (at = abuti_xml_child(&r->xml, element, "collision", at)) != ABUT_NONE;)
        status = read_collision(r, at, link);
    return status;
}

static abut_status read_kind(robot_reader *r, uint32_t element, abut_robot_joint_kind *kind) {
    const char *type = abuti_xml_get(&r->xml, element, "type");
    for (int k = ABUT_ROBOT_FIXED; type && k <= ABUT_ROBOT_PRISMATIC; k++)
        if (!strcmp(type, abut_robot_joint_kind_name((abut_robot_joint_kind)k))) {
            *kind = (abut_robot_joint_kind)k;
            return ABUT_OK;
        }
    if (type && (!strcmp(type, "floating") || !strcmp(type, "planar")))
        return abuti_robot_fail(r, ABUT_ERROR_UNSUPPORTED, element,
                                "the joint is %s, which is not supported; replace it by revolute "
                                "and prismatic joints, or set the base of the robot",
                                type);
    return abuti_robot_fail(r, ABUT_ERROR_FORMAT, element,
                            "type is '%.60s'; it must be fixed, revolute, continuous or prismatic",
                            type ? type : "");
}

static abut_status read_ends(robot_reader *r, uint32_t element, abut_robot_joint *joint) {
    for (int k = 0; k < 2; k++) {
        const char *end = k ? "child" : "parent";
        const uint32_t at = abuti_xml_child(&r->xml, element, end, ABUT_NONE);
        const char *name = at == ABUT_NONE ? NULL : abuti_xml_get(&r->xml, at, "link");
        const uint32_t link = abuti_robot_find_link(r, name);
        if (link == ABUT_NONE)
            return abuti_robot_fail(r, ABUT_ERROR_FORMAT, element,
                                    "the %s is '%.60s'; there is no link of this name", end,
                                    name ? name : "");
        *(k ? &joint->child : &joint->parent) = link;
    }
    return ABUT_OK;
}

static abut_status read_joint(robot_reader *r, uint32_t element) {
    abut_robot_joint joint = {.axis = {1, 0, 0}, .mimic = ABUT_NONE};
    double axis[3] = {1, 0, 0};
    abut_status status;
    joint.name = abuti_xml_get(&r->xml, element, "name");
    if (!joint.name)
        return abuti_robot_fail(r, ABUT_ERROR_FORMAT, element, "name is missing");
    if ((status = read_kind(r, element, &joint.kind)) || (status = read_ends(r, element, &joint)) ||
        (status = read_origin(r, element, &joint.pose)))
        return status;
    uint32_t at = abuti_xml_child(&r->xml, element, "axis", ABUT_NONE);
    if (at != ABUT_NONE && (status = abuti_robot_numbers(r, at, "xyz", 3, axis)))
        return status;
    joint.axis = v3(axis[0], axis[1], axis[2]);
    at = abuti_xml_child(&r->xml, element, "limit", ABUT_NONE);
    if (at != ABUT_NONE && ((status = abuti_robot_numbers(r, at, "lower", 1, &joint.lower)) ||
                            (status = abuti_robot_numbers(r, at, "upper", 1, &joint.upper))))
        return status;
    abut_robot_joint *to = ABUTI_PUSH(r->context, &r->joints, abut_robot_joint);
    if (!to)
        return ABUT_ERROR_MEMORY;
    *to = joint;
    return ABUT_OK;
}

/* Reads which joint a joint follows, once all joints are known. */
static abut_status read_mimic(robot_reader *r, uint32_t element, abut_robot_joint *joint) {
    const uint32_t at = abuti_xml_child(&r->xml, element, "mimic", ABUT_NONE);
    if (at == ABUT_NONE || joint->kind == ABUT_ROBOT_FIXED)
        return ABUT_OK;
    const char *name = abuti_xml_get(&r->xml, at, "joint");
    joint->mimic = abuti_robot_find_joint(r, name);
    joint->multiplier = 1;
    if (joint->mimic == ABUT_NONE)
        return abuti_robot_fail(r, ABUT_ERROR_FORMAT, at, "there is no joint '%.60s'",
                                name ? name : "");
    abut_status status = abuti_robot_numbers(r, at, "multiplier", 1, &joint->multiplier);
    if (!status)
        status = abuti_robot_numbers(r, at, "offset", 1, &joint->offset);
    if (!status && joint->multiplier == 0)
        status = abuti_robot_fail(r, ABUT_ERROR_FORMAT, at,
                                  "multiplier is 0; make the joint fixed instead");
    return status;
}

abut_status abuti_robot_read_urdf(robot_reader *r) {
    abut_status status = ABUT_OK;
    uint32_t at = ABUT_NONE, joint = 0;
    r->robot_name = abuti_xml_get(&r->xml, 0, "name");
    while (!status && (at = abuti_xml_child(&r->xml, 0, "link", at)) != ABUT_NONE)
        status = read_link(r, at);
    for (at = ABUT_NONE; !status && (at = abuti_xml_child(&r->xml, 0, "joint", at)) != ABUT_NONE;)
        status = read_joint(r, at);
    for (at = ABUT_NONE; !status && (at = abuti_xml_child(&r->xml, 0, "joint", at)) != ABUT_NONE;)
        status = read_mimic(r, at, &ABUTI_AT(&r->joints, abut_robot_joint, joint++));
    return status;
}
