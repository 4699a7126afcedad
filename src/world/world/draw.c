/* Debug drawing: shapes, bounding boxes and contacts of a world as lines and points. */
#include "world/world.h"

#include <math.h>

enum { CIRCLE_LINES = 32 };

#define PLANE_SIZE 10        /* if the options have none */
#define NORMAL_FRACTION 0.25 /* of the longest side of the smaller bounding box, likewise */
#define BOX_COLOUR 0xc0c0c0u
#define DYNAMIC_COLOUR 0x2b6cb0u
#define KINEMATIC_COLOUR 0xb7791fu
#define STATIC_COLOUR 0x4a5568u
#define ASLEEP_COLOUR 0x90a4beu
#define SENSOR_COLOUR 0x2f855au
#define CONTACT_COLOUR 0xc53030u
#define GAP_COLOUR 0xed8936u

typedef struct drawing {
    const abut_world *world;
    const abut_world_draw_options *options;
    const world_item *item; /* null: contacts */
    uint32_t colour;
} drawing;

/* ---- lines ---- */

static void draw_line(const drawing *d, vec3 from, vec3 to) {
    if (d->options->line)
        d->options->line(d->options->user, from, to, d->colour, d->item ? d->item->id : ABUT_NONE);
}

/* In the coordinates of the item. */
static void draw_local_line(const drawing *d, vec3 from, vec3 to) {
    draw_line(d, contact_to_world(&d->item->at.motion, from),
              contact_to_world(&d->item->at.motion, to));
}

/* The corner of a box: bit k of `which` selects its higher side along axis k. */
static vec3 box_corner(box3 box, int which) {
    return v3(which & 1 ? box.hi.x : box.lo.x, which & 2 ? box.hi.y : box.lo.y,
              which & 4 ? box.hi.z : box.lo.z);
}

static void draw_box(const drawing *d, box3 box, void (*draw)(const drawing *, vec3, vec3)) {
    for (int i = 0; i < 8; i++)
        for (int axis = 1; axis < 8; axis *= 2)
            if (!(i & axis))
                draw(d, box_corner(box, i), box_corner(box, i | axis));
}

/* Two unit vectors that are perpendicular to a vector and to each other. */
static void make_sides(vec3 along, vec3 sides[2]) {
    const vec3 u = v3_normalise(along);
    sides[0] = v3_normalise(v3_cross(u, fabs(u.x) < 0.6 ? v3(1, 0, 0) : v3(0, 1, 0)));
    sides[1] = v3_cross(u, sides[0]);
}

/* An arc of a circle from the first axis towards the second one. */
static void draw_arc(const drawing *d, vec3 centre, vec3 first, vec3 second, int lines) {
    const double step = 2 * 3.14159265358979323846 / CIRCLE_LINES;
    vec3 before = v3_add(centre, first);
    for (int i = 1; i <= lines; i++) {
        const vec3 next = v3_along(v3_along(centre, cos(step * i), first), sin(step * i), second);
        draw_local_line(d, before, next);
        before = next;
    }
}

/* ---- shapes ---- */

/* A cylinder, or with `round` ends a capsule. */
static void draw_tube(const drawing *d, const vec3 end[2], double radius, bool round) {
    const vec3 along = v3_sub(end[1], end[0]);
    const vec3 axis = v3_length(along) > 0 ? v3_normalise(along) : v3(0, 0, 1);
    vec3 sides[2];
    make_sides(axis, sides);
    const vec3 x = v3_scale(sides[0], radius), y = v3_scale(sides[1], radius);
    const vec3 directions[4] = {x, y, v3_scale(x, -1), v3_scale(y, -1)};
    for (int i = 0; i < 4; i++)
        draw_local_line(d, v3_add(end[0], directions[i]), v3_add(end[1], directions[i]));
    for (int k = 0; k < 2; k++) {
        draw_arc(d, end[k], x, y, CIRCLE_LINES);
        for (int i = 0; i < 2 && round; i++)
            draw_arc(d, end[k], directions[i], v3_scale(axis, k ? radius : -radius),
                     CIRCLE_LINES / 2);
    }
}

/* A square in the plane, and its normal. */
static void draw_plane(const drawing *d, const abut_plane *plane) {
    const double half = 0.5 * (d->options->plane_size > 0 ? d->options->plane_size : PLANE_SIZE);
    const vec3 normal = v3_normalise(plane->normal);
    const vec3 centre = v3_scale(normal, plane->offset / v3_length(plane->normal));
    vec3 sides[2], corner[4];
    make_sides(normal, sides);
    for (int i = 0; i < 4; i++)
        corner[i] = v3_along(v3_along(centre, i & 1 ? half : -half, sides[0]), i & 2 ? half : -half,
                             sides[1]);
    for (int i = 0; i < 4; i++)
        draw_local_line(d, corner[i], corner[i ^ (i == 0 || i == 3 ? 1 : 2)]);
    draw_local_line(d, centre, v3_along(centre, 0.25 * half, normal));
}

static vec3 face_normal(const abut_mesh *mesh, uint32_t triangle) {
    const uint32_t *corner = mesh->indices + 3 * (size_t)triangle;
    return abuti_unit_normal(abuti_mesh_position(mesh, corner[0]),
                             abuti_mesh_position(mesh, corner[1]),
                             abuti_mesh_position(mesh, corner[2]));
}

/* Whether an edge is at a boundary, or its faces differ by more than the crease angle. */
static bool is_crease(const abut_mesh *mesh, const abut_topology_arrays *t, uint32_t edge,
                      double cosine) {
    const uint32_t begin = t->edge_face_begin[edge], end = t->edge_face_begin[edge + 1];
    return end - begin != 2 || v3_dot(face_normal(mesh, t->edge_faces[begin]),
                                      face_normal(mesh, t->edge_faces[begin + 1])) < cosine;
}

static abut_status draw_mesh(const drawing *d, const abut_mesh *mesh) {
    const double angle = d->options->crease_angle;
    abut_topology *topology = NULL;
    abut_topology_arrays t = abut_topology_arrays_default();
    abut_status status = abut_topology_create((abut_mesh *)(uintptr_t)mesh, &topology);
    if (!status)
        status = abut_topology_get_arrays(topology, &t);
    for (uint32_t i = 0; i < t.edge_count && !status; i++)
        if (!(angle > 0) || is_crease(mesh, &t, i, cos(angle)))
            draw_local_line(d, abuti_mesh_position(mesh, t.edges[2 * (size_t)i]),
                            abuti_mesh_position(mesh, t.edges[2 * (size_t)i + 1]));
    abut_topology_destroy(topology);
    return status;
}

static abut_status draw_shape(const drawing *d) {
    const abut_collider *c = &d->item->is.collider;
    const abut_sphere *ball = &c->shape.sphere;
    const double r = ball->radius;
    switch (d->item->kind) {
    case ABUT_COLLIDER_PLANE:
        draw_plane(d, &c->shape.plane);
        return ABUT_OK;
    case ABUT_COLLIDER_SPHERE:
        draw_arc(d, ball->centre, v3(r, 0, 0), v3(0, r, 0), CIRCLE_LINES);
        draw_arc(d, ball->centre, v3(0, r, 0), v3(0, 0, r), CIRCLE_LINES);
        draw_arc(d, ball->centre, v3(0, 0, r), v3(r, 0, 0), CIRCLE_LINES);
        return ABUT_OK;
    case ABUT_COLLIDER_CAPSULE:
        draw_tube(d, c->shape.capsule.end, c->shape.capsule.radius, true);
        return ABUT_OK;
    case ABUT_COLLIDER_CYLINDER:
        draw_tube(d, c->shape.cylinder.end, c->shape.cylinder.radius, false);
        return ABUT_OK;
    case ABUT_COLLIDER_BOX:
        draw_box(d, (box3){v3_scale(c->shape.half, -1), c->shape.half}, draw_local_line);
        return ABUT_OK;
    case ABUT_COLLIDER_CHARACTER:
        draw_box(d, d->item->at.box, draw_line);
        return ABUT_OK;
    default:
        break;
    }
    if (d->item->bvh)
        return draw_mesh(d, d->item->bvh->mesh);
    draw_box(d, d->item->local, draw_local_line);
    return ABUT_OK;
}

static uint32_t colour_of(const world_item *item) {
    return item->filter.traits & WORLD_IS_ASLEEP     ? ASLEEP_COLOUR
           : item->filter.traits & WORLD_IS_SENSOR   ? SENSOR_COLOUR
           : item->is.motion == ABUT_WORLD_STATIC    ? STATIC_COLOUR
           : item->is.motion == ABUT_WORLD_KINEMATIC ? KINEMATIC_COLOUR
                                                     : DYNAMIC_COLOUR;
}

static abut_status draw_items(drawing *d) {
    const uint32_t parts = d->options->parts;
    abut_status status = ABUT_OK;
    for (size_t i = 0; i < d->world->items.count && !status; i++) {
        d->item = &world_items(d->world)[i];
        if (!d->item->used)
            continue;
        d->colour = colour_of(d->item);
        if (!parts || parts & ABUT_WORLD_DRAW_SHAPES)
            status = draw_shape(d);
        d->colour = BOX_COLOUR;
        if ((!parts || parts & ABUT_WORLD_DRAW_BOXES) && d->item->kind != ABUT_COLLIDER_PLANE)
            draw_box(d, d->item->at.box, draw_line);
    }
    d->item = NULL;
    return status;
}

/* ---- contacts ---- */

static double longest_side(const world_item *item) {
    const vec3 sides = v3_sub(item->at.box.hi, item->at.box.lo);
    return item->kind == ABUT_COLLIDER_PLANE ? HUGE_VAL : v3_max_abs(sides);
}

static void draw_contacts(drawing *d, const abuti_vector *list) {
    const abut_world_draw_options *o = d->options;
    const world_item *items = world_items(d->world);
    for (size_t i = 0; i < list->count; i++) {
        const abut_contact *c = &ABUTI_AT(list, const abut_contact, i);
        const double size = fmin(longest_side(&items[abut_world_index(c->a)]),
                                 longest_side(&items[abut_world_index(c->b)]));
        const double length = o->normal_length > 0 ? o->normal_length : NORMAL_FRACTION * size;
        d->colour = c->depth >= 0 ? CONTACT_COLOUR : GAP_COLOUR;
        if (o->point)
            o->point(o->user, c->point, d->colour, ABUT_NONE);
        draw_line(d, c->point, v3_along(c->point, length, c->normal));
    }
}

abut_status abut_world_draw(abut_world *world, const abut_world_draw_options *options) {
    abut_world_draw_options ours = abut_world_draw_options_default();
    abut_context *before;
    if (!world || !options)
        return abuti_null(__func__, world ? "options" : "world");
    abut_status status = abuti_options_read(&ours, sizeof ours, options, __func__);
    if (!status)
        status = abuti_check_length(__func__, "options->normal_length", ours.normal_length);
    if (!status)
        status = abuti_check_length(__func__, "options->plane_size", ours.plane_size);
    if (!status)
        status = abuti_check_range(__func__, "options->crease_angle", ours.crease_angle, 0, 3.2,
                                   "radians");
    const bool has_contacts = !ours.parts || ours.parts & ABUT_WORLD_DRAW_CONTACTS;
    if (!status && has_contacts)
        status = abuti_world_find_contacts(__func__, world);
    if (status || (status = abuti_world_enter(__func__, world, &before)))
        return status;
    drawing d = {.world = world, .options = &ours};
    status = world->backend->download_poses(world);
    if (!status)
        status = draw_items(&d);
    if (!status && has_contacts) {
        draw_contacts(&d, &world->contacts);
        draw_contacts(&d, &world->asleep.contacts);
    }
    abuti_world_leave(world, before);
    return status;
}
