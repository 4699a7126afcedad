/* Continuous collision detection of a step: bounding boxes of whole paths, and a sweep of each pair
 * of boxes that overlaps.
 *
 * The box of a path contains the boxes at both ends, extended by the deviation of an arc from its
 * chord: at most w^2 r / 8, with the angle w and the largest distance r from the origin
 * (sweep/rigid.c).
 *
 * Planes. The height of a point x of an item is f = n . (x - p) - offset, with the origin p and the
 * normal n of the plane. In an interval of time of length d ("piece"), it deviates from the
 * straight line between its ends by at most d^2 / 8 max |f''|, with |f''| <= u^2 R + 2 u (v + w r)
 * + w^2 r: u and w are the angles of plane and item per unit of time, v is the relative speed of
 * the origins, R the largest distance of points from p. So a piece is free if both ends are higher
 * than that; otherwise it is halved, until the deviation is half the tolerance. Then the first
 * point that reaches the limit is the result.
 *
 * Primitives are swept as a core, which is a mesh, and a radius around it. The core of a sphere or
 * capsule is a box around its axis with a thickness of CORE_THICKNESS of the radius, so that both
 * together contain the solid and exceed it by less than CORE_THICKNESS of the radius. (If the sum
 * of the radii is larger than the cores, abut_sweep_rigid() adds up to 0.0016 of it.) The core of a
 * cylinder is a circumscribed prism of PRISM_SIDES sides, which exceeds it by 0.0013 of the radius.
 *
 * A pair that touches at the start limits the step only if its penetration increases. A second
 * sweep determines the safe part of the step: a is moved out along the contact normals n_i at the
 * start, by the shortest shift v with v . n_i >= depth_i + slack, which rotates with b. The shifted
 * body does not touch b before the time T of that sweep. So a shift by |v| separates the pair at
 * every time before T: its depth never exceeds that at the start by more than the slack, and it
 * cannot tunnel. This holds for any v, so that inexact normals can only make T early. For a plane,
 * the limit of the same sweep is the height of the lowest point at the start, minus the slack.
 */
#include "world/world.h"

#include "geom/pose.h"

#include <assert.h>
#include <math.h>

#define TOLERANCE 1e-6         /* of the size of the item */
#define ROUNDING 0x1p-48       /* of the largest coordinate */
#define CORE_THICKNESS 0x1p-10 /* of a radius */
/* Minimum thickness of a core, relative to its size, or absolute if it has none. */
#define MIN_CORE_FRACTION 1e-9

enum {
    ITEMS_PER_TASK = 256,
    FEW_PAIRS = 8,
    PIECES = 48,
    PRISM_SIDES = 64,
    PATCH_ROOM = 8,
    CONTACT_ROOM = 32,
    SHIFT_ROUNDS = 64
};

#define SLACK 1e-4        /* of the smaller item */
#define ROUND_SLACK 0.004 /* of a radius: cores exceed primitives by up to 0.003 of it */
#define SHIFT_MAX 0.5     /* of the smaller item: a larger shift might pass through the other one */

typedef struct world_swept {
    abut_sweep_rigid_result touch;
    double safe; /* the part of the step in which the depth does not increase */
    abut_status status;
    bool unknown;
} world_swept;

typedef struct step_sweep {
    abut_world *world;
    abut_sweep_rigid_options options;
    double reach; /* extension of boxes, on each side */
} step_sweep;

/* ---- paths ---- */

static abut_path path_of(const abut_world *world, uint32_t id) {
    const world_sweep *sweep = (const world_sweep *)world->sweeps.data + id;
    const abut_pose *from = &world_items(world)[id].at.pose;
    return (abut_path){*from, sweep->moves ? sweep->end.pose : *from};
}

/* Upper bound of the distance of an item's points from its origin. */
static double radius_of(const world_item *item) {
    return v3_length(v3_max(v3_abs(item->local.lo), v3_abs(item->local.hi)));
}

static const abut_bvh *core_of(const world_item *item) {
    return item->bvh ? item->bvh : item->core;
}

static double item_size(const world_item *item) {
    return v3_max_abs(v3_sub(item->local.hi, item->local.lo));
}

static double smaller_size(const world_item *a, const world_item *b) {
    return a->kind == ABUT_COLLIDER_PLANE   ? item_size(b)
           : b->kind == ABUT_COLLIDER_PLANE ? item_size(a)
                                            : real_min(item_size(a), item_size(b));
}

static double round_radius(const world_item *item) {
    return item->kind == ABUT_COLLIDER_SPHERE     ? item->is.collider.shape.sphere.radius
           : item->kind == ABUT_COLLIDER_CAPSULE  ? item->is.collider.shape.capsule.radius
           : item->kind == ABUT_COLLIDER_CYLINDER ? item->is.collider.shape.cylinder.radius
                                                  : 0;
}

/* The allowed increase of the depth of a pair that touches. */
static double slack_of(const step_sweep *s, const world_item *a, const world_item *b) {
    const double slack =
        SLACK * smaller_size(a, b) + ROUND_SLACK * (round_radius(a) + round_radius(b));
    return real_max(slack, 4 * s->options.tolerance);
}

/* The safe part of a step whose depth increases at `deeper`: 0 if no point of one item moves by
 * more than twice the slack relative to the other until then. */
static double safe_time(const step_sweep *s, const abut_world_pair *pair, double slack,
                        const abut_sweep_rigid_result *deeper) {
    const abut_path p = path_of(s->world, pair->a), q = path_of(s->world, pair->b);
    const abuti_path a = abuti_path_of(&p), b = abuti_path_of(&q);
    const world_item *items = world_items(s->world);
    const vec3 apart = v3_sub(a.start, b.start), way = v3_sub(a.shift, b.shift);
    /* For a plane: the distance of the other item from its origin. */
    const double far = real_max(v3_length(apart), v3_length(v3_add(apart, way)));
    const double r_a = items[pair->a].kind == ABUT_COLLIDER_PLANE ? far + radius_of(&items[pair->b])
                                                                  : radius_of(&items[pair->a]);
    const double r_b = items[pair->b].kind == ABUT_COLLIDER_PLANE ? far + radius_of(&items[pair->a])
                                                                  : radius_of(&items[pair->b]);
    const double speed = v3_length(way) + a.angle * r_a + b.angle * r_b;
    return !deeper->hit ? 1 : deeper->time * speed <= 2 * slack ? 0 : deeper->time;
}

static void compute_path_boxes(void *data, size_t chunk, size_t begin, size_t end) {
    const step_sweep *s = data;
    world_sweep *sweeps = s->world->sweeps.data;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        const world_item *item = &world_items(s->world)[i];
        if (!item->used || item->kind == ABUT_COLLIDER_PLANE)
            continue;
        box3 box = item->at.box;
        double more = s->reach;
        if (sweeps[i].moves) {
            abut_path path = path_of(s->world, (uint32_t)i);
            double angle = abuti_path_of(&path).angle;
            box = box_join(box, sweeps[i].end.box);
            more += angle * angle * radius_of(item) / 8 * (1 + 1e-12);
        }
        const vec3 all = v3(more, more, more);
        sweeps[i].box = (box3){v3_sub(box.lo, all), v3_add(box.hi, all)};
    }
}

/* ---- points against a plane ---- */

typedef struct plane_sweep {
    const world_item *item, *plane;
    abuti_path path, plane_path;
    const vec3 *points; /* relative to `origin` */
    size_t count;
    vec3 origin, few[8];
    double radius; /* around each point */
    double normal_length;
    double bend; /* max |f''| / 8 */
    double separation, tolerance;
} plane_sweep;

/* Sets the points that determine the height of an item; false if it has none. */
static bool set_plane_points(plane_sweep *f) {
    const world_item *item = f->item;
    const abut_world_item *is = &item->is;
    f->points = f->few;
    if (is->collider.kind == ABUT_COLLIDER_SPHERE) {
        f->few[f->count++] = is->collider.shape.sphere.centre;
        f->radius = is->collider.shape.sphere.radius;
    } else if (is->collider.kind == ABUT_COLLIDER_CAPSULE) {
        f->few[f->count++] = is->collider.shape.capsule.end[0];
        f->few[f->count++] = is->collider.shape.capsule.end[1];
        f->radius = is->collider.shape.capsule.radius;
    } else if (is->collider.kind == ABUT_COLLIDER_BOX) {
        const vec3 h = is->collider.shape.half;
        for (; f->count < 8; f->count++)
            f->few[f->count] =
                v3(f->count & 1 ? h.x : -h.x, f->count & 2 ? h.y : -h.y, f->count & 4 ? h.z : -h.z);
    } else if (core_of(item)) {
        const abut_mesh *mesh = core_of(item)->mesh;
        f->points = mesh->positions;
        f->count = mesh->vertex_count;
        f->origin = mesh->origin;
    }
    return f->count > 0;
}

/* The plane at a time, in the coordinates of the item without its origin: height = normal . local -
 * offset. */
static abut_plane plane_at(const plane_sweep *f, double t) {
    const abut_plane *plane = &f->plane->is.collider.shape.plane;
    abut_pose at = abuti_path_pose(&f->path, t), on = abuti_path_pose(&f->plane_path, t);
    mat3 turn = quat_matrix(at.rotation), turn_plane = quat_matrix(on.rotation);
    mat3 back = m3_transpose(&turn);
    vec3 n = m3_apply(&turn_plane, v3_scale(plane->normal, 1 / f->normal_length));
    vec3 away = v3_add(v3_sub(at.translation, on.translation), m3_apply(&turn, f->origin));
    return (abut_plane){m3_apply(&back, n),
                        plane->offset / f->normal_length + f->radius - v3_dot(n, away)};
}

/* Height of the lowest point. */
static double lowest_height(const plane_sweep *f, double t, size_t *which) {
    abut_plane plane = plane_at(f, t);
    double least = INFINITY;
    for (size_t i = 0; i < f->count; i++) {
        double height = v3_dot(plane.normal, f->points[i]);
        if (height < least) {
            least = height;
            *which = i;
        }
    }
    return least - plane.offset;
}

/* The first time in a piece at which a point reaches `limit`, on straight lines. */
static double first_time_below(const plane_sweep *f, double from, double to, double limit,
                               size_t *which) {
    abut_plane p = plane_at(f, from), q = plane_at(f, to);
    double first = INFINITY;
    for (size_t i = 0; i < f->count; i++) {
        double start = v3_dot(p.normal, f->points[i]) - p.offset - limit;
        double end = v3_dot(q.normal, f->points[i]) - q.offset - limit;
        double t = start <= 0 ? 0 : end <= 0 ? start / (start - end) : INFINITY;
        if (t < first) {
            first = t;
            *which = i;
        }
    }
    return from + first * (to - from);
}

static void set_impact(const plane_sweep *f, double time, size_t which,
                       abut_sweep_rigid_result *touch) {
    abut_pose at = abuti_path_pose(&f->path, time), on = abuti_path_pose(&f->plane_path, time);
    mat3 turn = quat_matrix(at.rotation), turn_plane = quat_matrix(on.rotation);
    vec3 n = m3_apply(&turn_plane,
                      v3_scale(f->plane->is.collider.shape.plane.normal, 1 / f->normal_length));
    vec3 point = v3_add(f->origin, f->points[which]);
    point = v3_add(m3_apply(&turn, point), at.translation);
    touch->hit = true;
    touch->time = time;
    touch->point = v3_along(point, -f->radius, n);
    touch->normal = time > 0 ? n : v3(0, 0, 0);
}

/* Processes pieces of time, earliest first. */
static void search_plane_impact(const plane_sweep *f, abut_sweep_rigid_result *touch) {
    struct {
        double from, to;
        uint32_t depth;
    } stack[PIECES + 2];
    uint32_t used = 0;
    size_t which = 0;
    if (lowest_height(f, 0, &which) <= f->separation) {
        set_impact(f, 0, which, touch);
        return;
    }
    stack[used].from = 0;
    stack[used].to = 1;
    stack[used++].depth = 0;
    while (used) {
        double from = stack[--used].from, to = stack[used].to, length = to - from;
        double limit = f->separation + f->bend * length * length;
        uint32_t depth = stack[used].depth;
        if (real_min(lowest_height(f, from, &which), lowest_height(f, to, &which)) > limit)
            continue;
        if (f->bend * length * length <= 0.5 * f->tolerance || depth >= PIECES) {
            double time = first_time_below(f, from, to, limit, &which);
            if (time <= to) {
                set_impact(f, time, which, touch);
                return;
            }
            continue;
        }
        assert(used + 2 <= sizeof stack / sizeof *stack); /* depth < PIECES, and one sibling each */
        stack[used].from = 0.5 * (from + to);
        stack[used].to = to;
        stack[used++].depth = depth + 1;
        stack[used].from = from;
        stack[used].to = 0.5 * (from + to);
        stack[used++].depth = depth + 1;
    }
}

static bool sweep_plane(const step_sweep *s, const abut_world_pair *pair, bool plane_is_a,
                        abut_sweep_rigid_result *touch, double *safe) {
    const world_item *items = world_items(s->world);
    const uint32_t item = plane_is_a ? pair->b : pair->a, plane = plane_is_a ? pair->a : pair->b;
    const abut_path path = path_of(s->world, item), plane_path = path_of(s->world, plane);
    plane_sweep f = {.item = &items[item],
                     .plane = &items[plane],
                     .path = abuti_path_of(&path),
                     .plane_path = abuti_path_of(&plane_path),
                     .origin = {0, 0, 0}};
    if (!set_plane_points(&f))
        return false;
    const abut_plane *plane_shape = &f.plane->is.collider.shape.plane;
    double r = radius_of(f.item), w = f.path.angle, u = f.plane_path.angle;
    vec3 apart = v3_sub(f.path.start, f.plane_path.start);
    vec3 way = v3_sub(f.path.shift, f.plane_path.shift);
    double far = real_max(v3_length(apart), v3_length(v3_add(apart, way))) + r;
    f.normal_length = v3_length(plane_shape->normal);
    f.bend = (u * u * far + 2 * u * (v3_length(way) + w * r) + w * w * r) / 8;
    double largest = far + fabs(plane_shape->offset) / f.normal_length + v3_max_abs(f.path.start) +
                     v3_max_abs(f.plane_path.start);
    f.separation = s->options.separation + ROUNDING * largest;
    f.tolerance = s->options.tolerance > 0 ? s->options.tolerance : TOLERANCE * r;
    f.tolerance = real_max(f.tolerance, ROUNDING * largest);
    search_plane_impact(&f, touch);
    if (plane_is_a)
        touch->normal = contact_negate(touch->normal);
    *safe = touch->hit ? touch->time : 1;
    if (touch->hit && !(touch->time > 0)) { /* the lowest point may descend by the slack */
        const double slack = slack_of(s, f.item, f.plane);
        abut_sweep_rigid_result deeper = {.time = 1};
        size_t which = 0;
        f.separation = real_min(lowest_height(&f, 0, &which), f.separation) - slack;
        search_plane_impact(&f, &deeper);
        *safe = safe_time(s, pair, slack, &deeper);
    }
    return true;
}

/* ---- cores ---- */

/* A right-handed frame whose first axis has a given direction. */
static void make_frame(vec3 along, vec3 axes[3]) {
    vec3 u = v3_normalise(along);
    axes[0] = v3_max_abs(u) > 0 ? u : v3(1, 0, 0);
    axes[1] = v3_cross(axes[0], fabs(axes[0].x) < 0.6 ? v3(1, 0, 0) : v3(0, 1, 0));
    axes[1] = v3_normalise(axes[1]);
    axes[2] = v3_cross(axes[0], axes[1]);
}

static abut_status create_core_mesh(abut_context *context, const vec3 *corners, uint32_t count,
                                    const uint32_t *triangles, uint32_t triangle_count,
                                    abut_bvh **bvh) {
    abut_mesh *mesh = NULL;
    vec3 *positions = abuti_allocate(context, count, sizeof *positions);
    uint32_t *indices = abuti_allocate(context, 3 * (size_t)triangle_count, sizeof *indices);
    if (!positions || !indices) {
        ABUTI_RELEASE(context, positions, indices);
        return ABUT_ERROR_MEMORY;
    }
    memcpy(positions, corners, count * sizeof *positions);
    memcpy(indices, triangles, 3 * (size_t)triangle_count * sizeof *indices);
    abut_status status = abuti_mesh_derive(context, "abut_world_sweep", positions, count, indices,
                                           triangle_count, &mesh);
    status = status ? status : abut_bvh_create(mesh, NULL, bvh);
    abut_mesh_destroy(mesh);
    return status;
}

/* A box with these half extents along the axes. */
static abut_status create_box_core(abut_context *context, vec3 middle, const vec3 axes[3],
                                   vec3 half, abut_bvh **bvh) {
    static const uint32_t triangles[36] = {0, 2, 1, 1, 2, 3, 4, 5, 6, 5, 7, 6, 0, 1, 4, 1, 5, 4,
                                           2, 6, 3, 3, 6, 7, 0, 4, 2, 2, 4, 6, 1, 3, 5, 3, 7, 5};
    vec3 corners[8];
    for (uint32_t i = 0; i < 8; i++) {
        corners[i] = middle;
        for (uint32_t k = 0; k < 3; k++)
            corners[i] =
                v3_along(corners[i], (i >> k & 1 ? 1 : -1) * v3_get(half, (int)k), axes[k]);
    }
    return create_core_mesh(context, corners, 8, triangles, 12, bvh);
}

/* A prism around a cylinder: corners alternate between both ends. */
static abut_status create_prism_core(abut_context *context, const abut_cylinder *c,
                                     abut_bvh **bvh) {
    enum { TRIANGLES = 4 * PRISM_SIDES - 4 };
    const double pi = 3.14159265358979323846, out = c->radius / cos(pi / PRISM_SIDES) * (1 + 1e-12);
    vec3 corners[2 * PRISM_SIDES], axes[3];
    uint32_t triangles[3 * TRIANGLES], *to = triangles;
    make_frame(v3_sub(c->end[1], c->end[0]), axes);
    for (uint32_t i = 0; i < 2 * PRISM_SIDES; i++) {
        double angle = 2 * pi * (i / 2) / PRISM_SIDES;
        corners[i] = v3_along(c->end[i % 2], out * cos(angle), axes[1]);
        corners[i] = v3_along(corners[i], out * sin(angle), axes[2]);
    }
    for (uint32_t i = 0; i < PRISM_SIDES; i++) {
        const uint32_t a = 2 * i, b = 2 * ((i + 1) % PRISM_SIDES);
        const uint32_t sides[6] = {a, b, a + 1, a + 1, b, b + 1},
                       caps[6] = {0, b, a, 1, a + 1, b + 1};
        memcpy(to, sides, sizeof sides);
        to += 6;
        if (i == 0 || i == PRISM_SIDES - 1)
            continue;
        memcpy(to, caps, sizeof caps);
        to += 6;
    }
    return create_core_mesh(context, corners, 2 * PRISM_SIDES, triangles, TRIANGLES, bvh);
}

abut_status abuti_world_core(abut_context *context, world_item *item) {
    const abut_world_item *is = &item->is;
    vec3 axes[3], half = is->collider.shape.half;
    if (item->core || item->bvh || is->collider.kind == ABUT_COLLIDER_BODY ||
        is->collider.kind == ABUT_COLLIDER_PLANE || is->collider.kind == ABUT_COLLIDER_CHARACTER)
        return ABUT_OK;
    if (is->collider.kind == ABUT_COLLIDER_CYLINDER)
        return create_prism_core(context, &is->collider.shape.cylinder, &item->core);
    if (is->collider.kind == ABUT_COLLIDER_BOX) {
        const double least =
            v3_max_abs(half) > 0 ? MIN_CORE_FRACTION * v3_max_abs(half) : MIN_CORE_FRACTION;
        axes[0] = v3(1, 0, 0);
        axes[1] = v3(0, 1, 0);
        axes[2] = v3(0, 0, 1);
        half = v3_max(half, v3(least, least, least));
        return create_box_core(context, v3(0, 0, 0), axes, half, &item->core);
    }
    const bool sphere = is->collider.kind == ABUT_COLLIDER_SPHERE;
    const abut_capsule c =
        sphere
            ? (abut_capsule){{is->collider.shape.sphere.centre, is->collider.shape.sphere.centre},
                             is->collider.shape.sphere.radius}
            : is->collider.shape.capsule;
    const double thin = c.radius > 0 ? CORE_THICKNESS * c.radius : MIN_CORE_FRACTION;
    vec3 along = v3_scale(v3_sub(c.end[1], c.end[0]), 0.5);
    make_frame(along, axes);
    item->core_radius = real_max(c.radius - thin, 0);
    half = v3(v3_length(along) + thin, thin, thin);
    return create_box_core(context, v3_add(c.end[0], along), axes, half, &item->core);
}

static abut_status sweep_cores(const step_sweep *s, const world_item *a, const abut_path *path_a,
                               const world_item *b, const abut_path *path_b,
                               abut_sweep_rigid_result *touch) {
    abut_sweep_rigid_options options = s->options;
    options.separation += a->core_radius + b->core_radius;
    if ((a->core || b->core) && !(options.tolerance > 0))
        options.tolerance = TOLERANCE * real_min(item_size(a), item_size(b));
    abut_status status = abut_sweep_rigid(core_of(a), path_a, core_of(b), path_b, &options, touch);
    if (!status) { /* from the midpoint of the cores to the surfaces */
        touch->point =
            v3_along(touch->point, 0.5 * (b->core_radius - a->core_radius), touch->normal);
        for (int k = 0; k < 2; k++)
            touch->triangle[k] = (k ? b : a)->core ? ABUT_NONE : touch->triangle[k];
    }
    return status;
}

/* ---- pairs that touch at the start ---- */

/* Computes the contact patches of a pair at its poses, in the memory of `list` and `contacts`. */
static abut_status find_patches(const step_sweep *s, const world_item *a, const world_item *b,
                                double margin, abuti_vector *list, abuti_vector *contacts,
                                abut_patches *found) {
    abut_context *context = s->world->context;
    abut_patch_options options = abut_patch_options_default();
    options.margin = margin;
    *found = (abut_patches){.size = sizeof(abut_patches),
                            .patches.count = PATCH_ROOM,
                            .contacts.count = CONTACT_ROOM};
    abut_status status = ABUT_ERROR_BUFFER;
    while (status == ABUT_ERROR_BUFFER) {
        status =
            abuti_vector_reserve(context, list, (size_t)found->patches.count, sizeof(abut_patch));
        if (!status)
            status = abuti_vector_reserve(context, contacts, (size_t)found->contacts.count,
                                          sizeof(abut_contact));
        if (status)
            return status;
        found->patches.list = list->data;
        found->patches.capacity = list->room;
        found->contacts.list = contacts->data;
        found->contacts.capacity = contacts->room;
        status = abuti_world_patches(a, b, &options, found);
    }
    return status;
}

/* A shift of a that exceeds the depth of every patch by `more`, nearly the shortest one:
 * projections onto one half-space after the other. It need not separate the pair, because a sweep
 * from there verifies it. */
static vec3 separating_shift(const abut_patches *found, double more) {
    vec3 shift = v3(0, 0, 0);
    for (int round = 0; round < SHIFT_ROUNDS; round++)
        for (uint64_t i = 0; i < found->patches.count; i++) {
            const abut_patch *p = &found->patches.list[i];
            const double lacks = p->depth + more - v3_dot(shift, p->normal);
            if (lacks > 0)
                shift = v3_along(shift, lacks, p->normal);
        }
    return shift;
}

/* The safe part of a step for two items with cores that touch at the start. */
static abut_status sweep_shifted(const step_sweep *s, const abut_world_pair *pair, double *safe) {
    const world_item *a = &world_items(s->world)[pair->a], *b = &world_items(s->world)[pair->b];
    const double slack = slack_of(s, a, b), separation = s->options.separation;
    abuti_vector list = {0}, contacts = {0};
    abut_patches found = abut_patches_default();
    *safe = 0;
    abut_status status =
        find_patches(s, a, b, separation > 0 ? separation + slack : 0, &list, &contacts, &found);
    if (!status && !found.patches.count && !(separation > 0))
        status = find_patches(s, a, b, slack, &list, &contacts, &found);
    const vec3 shift =
        !status && found.patches.count ? separating_shift(&found, separation + slack) : v3(0, 0, 0);
    ABUTI_RELEASE(s->world->context, list.data, contacts.data);
    const double length = v3_length(shift);
    if (status || !(length > 0) || length > SHIFT_MAX * smaller_size(a, b) + separation + slack)
        return status;
    abut_path p = path_of(s->world, pair->a), q = path_of(s->world, pair->b);
    const abuti_path turn = abuti_path_of(&q);
    const quat from = abuti_path_pose(&turn, 0).rotation, to = abuti_path_pose(&turn, 1).rotation;
    const mat3 back = quat_matrix((quat){-from.x, -from.y, -from.z, from.w}), on = quat_matrix(to);
    p.from.translation = v3_add(p.from.translation, shift);
    p.to.translation = v3_add(p.to.translation, m3_apply(&on, m3_apply(&back, shift)));
    abut_sweep_rigid_result deeper = {.time = 1};
    step_sweep coarse =
        *s; /* a quarter of the slack is reserved for the tolerance, which needs fewer pieces */
    coarse.options.tolerance = real_max(s->options.tolerance, 0.25 * slack);
    status = sweep_cores(&coarse, a, &p, b, &q, &deeper);
    if (!status)
        *safe = safe_time(s, pair, slack, &deeper);
    return status;
}

/* ---- pairs ---- */

/* Creates the cores of all items that are swept. */
static abut_status create_cores(const abut_world *world) {
    const abut_world_pair *pairs = world->sweep_pairs.data;
    world_item *items = world_items(world);
    abut_status status = ABUT_OK;
    for (size_t i = 0; i < world->sweep_pairs.count && !status; i++) {
        world_item *both[2] = {&items[pairs[i].a], &items[pairs[i].b]};
        for (int k = 0; k < 2 && !status; k++) /* planes need only those of cylinders */
            if (both[!k]->kind != ABUT_COLLIDER_PLANE || both[k]->kind == ABUT_COLLIDER_CYLINDER)
                status = abuti_world_core(world->context, both[k]);
    }
    return status;
}

static bool has_sensor(const world_item *a, const world_item *b) {
    return ((a->filter.traits | b->filter.traits) & WORLD_IS_SENSOR) != 0;
}

static void sweep_pairs(void *data, size_t chunk, size_t begin, size_t end) {
    const step_sweep *s = data;
    const world_item *items = world_items(s->world);
    const world_sweep *sweeps = s->world->sweeps.data;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        abuti_set_fraction((double)i / (double)s->world->sweep_pairs.count);
        const abut_world_pair *pair = (const abut_world_pair *)s->world->sweep_pairs.data + i;
        const world_item *a = &items[pair->a], *b = &items[pair->b];
        world_swept *to = (world_swept *)s->world->swept.data + i;
        *to = (world_swept){.touch = {.time = 1, .triangle = {ABUT_NONE, ABUT_NONE}}, .safe = 1};
        if (!sweeps[pair->a].moves && !sweeps[pair->b].moves)
            continue;
        if (a->kind == ABUT_COLLIDER_PLANE || b->kind == ABUT_COLLIDER_PLANE) {
            to->unknown =
                !sweep_plane(s, pair, a->kind == ABUT_COLLIDER_PLANE, &to->touch, &to->safe);
        } else if (core_of(a) && core_of(b)) {
            const abut_path p = path_of(s->world, pair->a), q = path_of(s->world, pair->b);
            to->status = sweep_cores(s, a, &p, b, &q, &to->touch);
            to->safe = to->touch.hit ? to->touch.time : 1;
            if (!to->status && to->touch.hit && !(to->touch.time > 0) && !has_sensor(a, b))
                to->status = sweep_shifted(s, pair, &to->safe);
        } else {
            to->unknown = true;
        }
    }
}

static abut_status write_impacts(const abut_world *world, abut_world_impacts *impacts) {
    const world_swept *swept = world->swept.data;
    const abut_world_pair *pairs = world->sweep_pairs.data;
    uint64_t count = 0, unknown = 0;
    double time = 1;
    abut_reliability reliability =
        abuti_guaranteed("No containment was decided, or all were decided exactly.");
    for (size_t i = 0; i < world->sweep_pairs.count; i++)
        count += swept[i].touch.hit;
    abut_status status = ABUTI_LIST_COUNT("abut_world_sweep", "impacts", impacts, count);
    if (status)
        return status;
    count = 0;
    for (size_t i = 0; i < world->sweep_pairs.count; i++) {
        const abut_sweep_rigid_result *touch = &swept[i].touch;
        unknown += swept[i].unknown;
        reliability =
            touch->reliability.level > reliability.level ? touch->reliability : reliability;
        const world_item *a = &world_items(world)[pairs[i].a], *b = &world_items(world)[pairs[i].b];
        const bool sensor = has_sensor(a, b);
        if (touch->hit)
            impacts->list[count++] = (abut_world_impact){pairs[i].a, pairs[i].b, sensor, *touch};
        if (!sensor)
            time = real_min(time, swept[i].safe);
    }
    impacts->time = time;
    impacts->unswept_count = unknown;
    impacts->reliability = reliability;
    return ABUT_OK;
}

/* ---- public function ---- */

/* Validates and stores the end poses. */
static abut_status set_ends(abut_world *world, const uint32_t *ids, const abut_pose *ends,
                            size_t count) {
    static const char function[] = "abut_world_sweep";
    abut_status status = abuti_vector_reserve(world->context, &world->sweeps, world->items.count,
                                              sizeof(world_sweep));
    if (status)
        return status;
    world_sweep *sweeps = world->sweeps.data;
    for (size_t i = 0; i < world->items.count; i++)
        sweeps[i].moves = false;
    status = abuti_world_download_characters(world);
    for (size_t i = 0; i < count && !status; i++) {
        uint32_t id = ids ? ids[i] : (uint32_t)i;
        status = abuti_world_check_id(function, world, id);
        if (!status)
            status = abuti_world_place(function, &world_items(world)[id], &ends[i],
                                       world->options.margin, &sweeps[id].end);
        if (!status)
            sweeps[id].moves = true;
    }
    return status;
}

static abut_status check_options(const abut_sweep_rigid_options *o) {
    const char *function = "abut_world_sweep";
    abut_status status = abuti_check_length(function, "options->separation", o->separation);
    return status ? status : abuti_check_length(function, "options->tolerance", o->tolerance);
}

/* Sweeps all pairs of a step whose ends are set. */
static abut_status sweep_step(step_sweep *s) {
    abut_world *world = s->world;
    if (world->items.count)
        abuti_parallel_for(world->context, world->items.count, ITEMS_PER_TASK, compute_path_boxes,
                           s);
    abut_status status =
        abuti_world_overlaps(world, world->sweeps.data, world->options.margin + 2 * s->reach,
                             &world->sweep_pairs);
    const size_t pairs = world->sweep_pairs.count;
    status = status ? status : create_cores(world);
    if (!status)
        status = abuti_vector_reserve(world->context, &world->swept, pairs, sizeof(world_swept));
    if (!status && pairs)
        status = abuti_parallel_try(world->context, "world", pairs, pairs < FEW_PAIRS ? pairs : 1,
                                    sweep_pairs, s);
    const world_swept *swept = world->swept.data;
    for (size_t i = 0; i < pairs && !status; i++) {
        if (swept[i].status == ABUT_ERROR_MEMORY)
            return abuti_fail(ABUT_ERROR_MEMORY, "abut_world_sweep: out of memory for a pair");
        if (swept[i].status) { /* repeated on this thread for the error message */
            sweep_pairs(s, 0, i, i + 1);
            status = swept[i].status;
        }
    }
    return status;
}

abut_status abut_world_sweep(abut_world *world, const uint32_t *ids, const abut_pose *ends,
                             size_t count, const abut_sweep_rigid_options *options,
                             abut_world_impacts *impacts) {
    step_sweep s = {.world = world, .options = abut_sweep_rigid_options_default()};
    abut_world_impacts ours = abut_world_impacts_default();
    if (!world || (!ends && count))
        return abuti_null(__func__, world ? "ends" : "world");
    abut_status status = abuti_result_read(&ours, sizeof ours, impacts, __func__, "impacts");
    status = status ? status : ABUTI_LIST_CHECK_MEMBERS(__func__, "impacts", &ours);
    if (status)
        return status;
    if (!ids && count > world->items.count)
        return abuti_fail(ABUT_ERROR_ARGUMENT,
                          "abut_world_sweep: there are %zu poses, but the world has only %zu items",
                          count, world->items.count);
    status = abuti_options_read(&s.options, sizeof s.options, options, "abut_world_sweep: options");
    status = status ? status : check_options(&s.options);
    abut_context *before;
    status = status ? status : abuti_world_enter("abut_world_sweep", world, &before);
    if (status)
        return status;
    s.reach = 0.5 * (s.options.separation + s.options.tolerance);
    status = world->backend->download_poses(world);
    status = status ? status : set_ends(world, ids, ends, count);
    status = status ? status : sweep_step(&s);
    abuti_set_fraction(0);
    abuti_world_leave(world, before);
    status = status ? status : write_impacts(world, &ours);
    return abuti_result_write(impacts, &ours, status);
}
