/* Primitives on the command line, such as plane:0,0,1,0, and their meshes for pictures. */
#include "tool.h"

#include <math.h>
#include <string.h>

static const struct {
    const char *name, *form;
    size_t count;
} forms[] = {
    [ABUT_COLLIDER_PLANE] = {"plane", "plane:NX,NY,NZ,D", 4},
    [ABUT_COLLIDER_SPHERE] = {"sphere", "sphere:X,Y,Z,R", 4},
    [ABUT_COLLIDER_CAPSULE] = {"capsule", "capsule:X,Y,Z,X,Y,Z,R", 7},
    [ABUT_COLLIDER_BOX] = {"box", "box:X,Y,Z,SX,SY,SZ", 6},
    [ABUT_COLLIDER_CYLINDER] = {"cylinder", "cylinder:X,Y,Z,X,Y,Z,R", 7},
};

enum { FORMS = sizeof forms / sizeof *forms };

void solid_read(tool_run *tool, const char *words, const abut_pose *pose, abut_collider *solid) {
    for (int kind = ABUT_COLLIDER_PLANE; kind < FORMS; kind++) {
        size_t length = strlen(forms[kind].name);
        double n[7];
        if (strncmp(words, forms[kind].name, length) != 0 || words[length] != ':')
            continue;
        if (read_numbers(words + length + 1, n, 7) != forms[kind].count)
            tool_refuse(tool, "--with must be %s, not '%s'", forms[kind].form, words);
        *solid = (abut_collider){.kind = (abut_collider_kind)kind, .pose = *pose};
        if (kind == ABUT_COLLIDER_BOX) {
            abut_pose middle = {{0, 0, 0, 1}, {n[0], n[1], n[2]}};
            solid->shape.half = (abut_vec3){n[3] / 2, n[4] / 2, n[5] / 2};
            ensure(abut_pose_compose(pose, &middle, &solid->pose));
            return;
        }
        memcpy(&solid->shape, n,
               forms[kind].count * sizeof *n); /* members have the order of the numbers */
        return;
    }
    tool_refuse(tool,
                "--with must be plane:NX,NY,NZ,D, sphere:X,Y,Z,R, capsule:X,Y,Z,X,Y,Z,R, "
                "box:X,Y,Z,SX,SY,SZ or cylinder:X,Y,Z,X,Y,Z,R, not '%s'",
                words);
}

/* The pose that maps z to a direction and the origin to a point. */
static abut_pose pose_along(abut_vec3 d, abut_vec3 at) {
    double length = vec_length(d);
    abut_pose pose = {{-d.y / length, d.x / length, 0, 1 + d.z / length}, at};
    if (pose.rotation.w < 1e-6)
        pose.rotation = (abut_quat){1, 0, 0, 0};
    return pose;
}

void solid_mesh(tool_run *tool, const abut_collider *solid, const abut_mesh *near, abut_mesh **mesh,
                abut_pose *pose) {
    static const abut_shape_kind kinds[] = {
        [ABUT_COLLIDER_PLANE] = ABUT_SHAPE_SHEET,
        [ABUT_COLLIDER_SPHERE] = ABUT_SHAPE_ICOSPHERE,
        [ABUT_COLLIDER_CAPSULE] = ABUT_SHAPE_CAPSULE,
        [ABUT_COLLIDER_BOX] = ABUT_SHAPE_BOX,
        [ABUT_COLLIDER_CYLINDER] = ABUT_SHAPE_CYLINDER,
    };
    abut_shape shape = abut_shape_default(kinds[solid->kind]);
    const abut_vec3 *end = solid->shape.capsule.end, half = solid->shape.half;
    abut_vec3 d = vec_sub(end[1], end[0]);
    abut_vec3 middle = vec_along(end[0], 0.5, d);
    abut_pose local = {{0, 0, 0, 1}, {0, 0, 0}};
    if (solid->kind == ABUT_COLLIDER_PLANE) { /* the part of the plane around the mesh */
        abut_vec3 n = solid->shape.plane.normal;
        double at = solid->shape.plane.offset / vec_dot(n, n), size = mesh_diagonal(near);
        shape.extent = (abut_vec3){1.5 * size, 1.5 * size, 0};
        local = pose_along(n, vec_along((abut_vec3){0}, at, n));
    } else if (solid->kind == ABUT_COLLIDER_SPHERE) {
        shape.radius = solid->shape.sphere.radius;
        shape.segments = 16;
        local.translation = solid->shape.sphere.centre;
    } else if (solid->kind == ABUT_COLLIDER_BOX) {
        shape.extent = (abut_vec3){2 * half.x, 2 * half.y, 2 * half.z};
    } else {
        shape.radius = solid->shape.capsule.radius;
        shape.height = vec_length(d);
        shape.segments = 48;
        local = pose_along(d, middle);
    }
    ensure(abut_pose_compose(&solid->pose, &local, pose));
    ensure(abut_shape_create(tool->context, &shape, mesh));
}
