/* What touches in a step: boxes of whole paths, and a sweep for each pair of them that overlaps.
 *
 * The box of a path holds those at both ends, and what an arc leaves its chord by: at most
 * w^2 r / 8, with w the angle and r the largest distance from the origin (sweep/rigid.c).
 *
 * Against a plane the height of a point x of an item is f = n . (x - p) - offset, with p the origin
 * of the plane and n its normal. Between the ends of a piece of time of length d it leaves the
 * straight line by at most d^2 / 8 max |f''|, and |f''| <= u^2 R + 2 u (v + w r) + w^2 r: u, w the
 * angles of plane and item in a unit of time, v the speed of one origin against the other, R how
 * far points are from p. So a piece is free where both ends are higher than that; else it is
 * halved, until that is half the tolerance; then the first point that comes down is the answer.
 *
 * Among each other, solids have a core, a mesh, and a radius around it. The core of a sphere or
 * capsule is a box that is thin by CORE of the radius around its axis, so that both together hold
 * the solid, and go beyond it by less than CORE of the radius. (Where two radii are larger than the
 * cores, abut_sweep_rigid() adds up to 0.0016 of them.) That of a cylinder is a prism around
 * it, of SIDES sides, which goes beyond it by 0.0013 of the radius.
 *
 * A pair that touches at the start limits the step only if it penetrates deeper. Which part of the
 * step is safe is decided by a second sweep: a is moved out along the contact normals n_i at the
 * start, by the least shift v with v . n_i >= depth_i + slack, turned with b on the way. The moved
 * body does not touch b before the time T of that sweep. So a shift by |v| separates the pair at
 * every time before T: it never becomes deeper than at the start by more than the slack, and it
 * cannot pass through. This holds for any v, so that inexact normals can only make T early. Against
 * a plane the same sweep has the height of the lowest point at the start, less the slack, as limit.
 */
#include "world/world.h"

#include "geom/pose.h"

#include <math.h>

#define TOLERANCE 1e-6   /* of the size of the item */
#define ROUNDING 0x1p-48 /* of the largest coordinate */
#define CORE 0x1p-10     /* of a radius */
#define LEAST 1e-9       /* of the size of a core, or all of it: what is thinner is made thicker */

enum {
    ITEMS_A_TASK = 256,
    FEW_PAIRS = 8,
    PIECES = 48,
    SIDES = 64,
    PATCH_ROOM = 8,
    CONTACT_ROOM = 32,
    LIFT_ROUNDS = 64
};

#define SLACK 1e-4        /* of the smaller item */
#define ROUND_SLACK 0.004 /* of a radius: cores are larger than solids by up to 0.003 of it */
#define LIFT_LIMIT 0.5    /* of the smaller item: a larger shift may lead through the other one */

typedef struct world_swept {
    abut_sweep_touch touch;
    double safe; /* the part of the step in which it does not go deeper */
    abut_status status;
    bool unknown;
} world_swept;

typedef struct step {
    abut_world *world;
    abut_sweep_rigid_options options;
    double reach; /* of boxes beyond items, on each side */
} step;

/* ---- paths ---- */

static abut_path path_of(const abut_world *world, uint32_t id) {
    const world_sweep *sweep = (const world_sweep *)world->sweeps.data + id;
    const abut_pose *from = &world_items(world)[id].at.pose;
    return (abut_path){*from, sweep->moves ? sweep->end.pose : *from};
}

/* How far what there is of an item is from its origin. */
static double radius_of(const world_item *item) {
    return v3_length(v3_max(v3_abs(item->local.lo), v3_abs(item->local.hi)));
}

static const abut_bvh *core_of(const world_item *item) {
    return item->bvh ? item->bvh : item->core;
}

static double size_of(const world_item *item) {
    return v3_max_abs(v3_sub(item->local.hi, item->local.lo));
}

static double smaller_size(const world_item *a, const world_item *b) {
    return a->kind == ABUT_WORLD_PLANE   ? size_of(b)
           : b->kind == ABUT_WORLD_PLANE ? size_of(a)
                                         : real_min(size_of(a), size_of(b));
}

static double round_radius(const world_item *item) {
    return item->kind == ABUT_WORLD_SPHERE     ? item->is.shape.sphere.radius
           : item->kind == ABUT_WORLD_CAPSULE  ? item->is.shape.capsule.radius
           : item->kind == ABUT_WORLD_CYLINDER ? item->is.shape.cylinder.radius
                                               : 0;
}

/* By how much a pair that touches may become deeper. */
static double slack_of(const step *s, const world_item *a, const world_item *b) {
    const double slack =
        SLACK * smaller_size(a, b) + ROUND_SLACK * (round_radius(a) + round_radius(b));
    return real_max(slack, 4 * s->options.tolerance);
}

/* What is left of a time at which a pair would be deeper: nothing where no point of one item moves
 * by more than twice the slack against the other until then. */
static double safe_time(const step *s, const abut_world_pair *pair, double slack,
                        const abut_sweep_touch *deeper) {
    const abut_path p = path_of(s->world, pair->a), q = path_of(s->world, pair->b);
    const abuti_path a = abuti_path_of(&p), b = abuti_path_of(&q);
    const world_item *items = world_items(s->world);
    const vec3 apart = v3_sub(a.start, b.start), way = v3_sub(a.way, b.way);
    /* Of a plane, as far as the other item is from its origin. */
    const double far = real_max(v3_length(apart), v3_length(v3_add(apart, way)));
    const double r_a = items[pair->a].kind == ABUT_WORLD_PLANE ? far + radius_of(&items[pair->b])
                                                               : radius_of(&items[pair->a]);
    const double r_b = items[pair->b].kind == ABUT_WORLD_PLANE ? far + radius_of(&items[pair->a])
                                                               : radius_of(&items[pair->b]);
    const double speed = v3_length(way) + a.angle * r_a + b.angle * r_b;
    return !deeper->hit ? 1 : deeper->time * speed <= 2 * slack ? 0 : deeper->time;
}

static void find_boxes(void *data, size_t chunk, size_t begin, size_t end) {
    const step *s = data;
    world_sweep *sweeps = s->world->sweeps.data;
    (void)chunk;
    for (size_t i = begin; i < end; i++) {
        const world_item *item = &world_items(s->world)[i];
        if (!item->used || item->kind == ABUT_WORLD_PLANE)
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

/* ---- a point set against a plane ---- */

typedef struct fall {
    const world_item *item, *plane;
    abuti_path path, plane_path;
    const vec3 *points; /* relative to the origin of them */
    size_t count;
    vec3 origin, few[8];
    double radius; /* around each point */
    double normal_length;
    double bend; /* max |f''| / 8 */
    double separation, tolerance;
} fall;

/* The points that an item hangs on; false where there are none. */
static bool set_points(fall *f) {
    const world_item *item = f->item;
    const abut_world_item *is = &item->is;
    f->points = f->few;
    if (is->kind == ABUT_WORLD_SPHERE) {
        f->few[f->count++] = is->shape.sphere.centre;
        f->radius = is->shape.sphere.radius;
    } else if (is->kind == ABUT_WORLD_CAPSULE) {
        f->few[f->count++] = is->shape.capsule.end[0];
        f->few[f->count++] = is->shape.capsule.end[1];
        f->radius = is->shape.capsule.radius;
    } else if (is->kind == ABUT_WORLD_BOX) {
        const vec3 h = is->shape.half;
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

/* Where the plane is at a time: height = normal . local - offset, in the coordinates of the item
 * without its origin. */
static abut_plane plane_at(const fall *f, double t) {
    const abut_plane *plane = &f->plane->is.shape.plane;
    abut_pose at = abuti_path_pose(&f->path, t), on = abuti_path_pose(&f->plane_path, t);
    mat3 turn = quat_matrix(at.rotation), turn_plane = quat_matrix(on.rotation);
    mat3 back = m3_transpose(&turn);
    vec3 n = m3_apply(&turn_plane, v3_scale(plane->normal, 1 / f->normal_length));
    vec3 away = v3_add(v3_sub(at.translation, on.translation), m3_apply(&turn, f->origin));
    return (abut_plane){m3_apply(&back, n),
                        plane->offset / f->normal_length + f->radius - v3_dot(n, away)};
}

/* Of the lowest point. */
static double height_at(const fall *f, double t, size_t *which) {
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

/* The first time in a piece at which a point is as low as `limit`, on straight lines. */
static double first_below(const fall *f, double from, double to, double limit, size_t *which) {
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

static void tell_touch(const fall *f, double time, size_t which, abut_sweep_touch *touch) {
    abut_pose at = abuti_path_pose(&f->path, time), on = abuti_path_pose(&f->plane_path, time);
    mat3 turn = quat_matrix(at.rotation), turn_plane = quat_matrix(on.rotation);
    vec3 n = m3_apply(&turn_plane, v3_scale(f->plane->is.shape.plane.normal, 1 / f->normal_length));
    vec3 point = v3_add(f->origin, f->points[which]);
    point = v3_add(m3_apply(&turn, point), at.translation);
    touch->hit = true;
    touch->time = time;
    touch->point = v3_along(point, -f->radius, n);
    touch->normal = time > 0 ? n : v3(0, 0, 0);
}

/* Pieces of time, earliest first. */
static void search(const fall *f, abut_sweep_touch *touch) {
    struct {
        double from, to;
        uint32_t depth;
    } stack[PIECES + 2];
    uint32_t used = 0;
    size_t which = 0;
    if (height_at(f, 0, &which) <= f->separation) {
        tell_touch(f, 0, which, touch);
        return;
    }
    stack[used].from = 0;
    stack[used].to = 1;
    stack[used++].depth = 0;
    while (used) {
        double from = stack[--used].from, to = stack[used].to, length = to - from;
        double limit = f->separation + f->bend * length * length;
        uint32_t depth = stack[used].depth;
        if (real_min(height_at(f, from, &which), height_at(f, to, &which)) > limit)
            continue;
        if (f->bend * length * length <= 0.5 * f->tolerance || depth >= PIECES) {
            double time = first_below(f, from, to, limit, &which);
            if (time <= to) {
                tell_touch(f, time, which, touch);
                return;
            }
            continue;
        }
        stack[used].from = 0.5 * (from + to);
        stack[used].to = to;
        stack[used++].depth = depth + 1;
        stack[used].from = from;
        stack[used].to = 0.5 * (from + to);
        stack[used++].depth = depth + 1;
    }
}

static bool sweep_plane(const step *s, const abut_world_pair *pair, bool plane_is_a,
                        abut_sweep_touch *touch, double *safe) {
    const world_item *items = world_items(s->world);
    const uint32_t item = plane_is_a ? pair->b : pair->a, plane = plane_is_a ? pair->a : pair->b;
    const abut_path path = path_of(s->world, item), plane_path = path_of(s->world, plane);
    fall f = {.item = &items[item],
              .plane = &items[plane],
              .path = abuti_path_of(&path),
              .plane_path = abuti_path_of(&plane_path),
              .origin = {0, 0, 0}};
    if (!set_points(&f))
        return false;
    const abut_plane *told = &f.plane->is.shape.plane;
    double r = radius_of(f.item), w = f.path.angle, u = f.plane_path.angle;
    vec3 apart = v3_sub(f.path.start, f.plane_path.start);
    vec3 way = v3_sub(f.path.way, f.plane_path.way);
    double far = real_max(v3_length(apart), v3_length(v3_add(apart, way))) + r;
    f.normal_length = v3_length(told->normal);
    f.bend = (u * u * far + 2 * u * (v3_length(way) + w * r) + w * w * r) / 8;
    double largest = far + fabs(told->offset) / f.normal_length + v3_max_abs(f.path.start) +
                     v3_max_abs(f.plane_path.start);
    f.separation = s->options.separation + ROUNDING * largest;
    f.tolerance = s->options.tolerance > 0 ? s->options.tolerance : TOLERANCE * r;
    f.tolerance = real_max(f.tolerance, ROUNDING * largest);
    search(&f, touch);
    if (plane_is_a)
        touch->normal = contact_back(touch->normal);
    *safe = touch->hit ? touch->time : 1;
    if (touch->hit && !(touch->time > 0)) { /* the lowest point may go down by the slack */
        const double slack = slack_of(s, f.item, f.plane);
        abut_sweep_touch deeper = {.time = 1};
        size_t which = 0;
        f.separation = real_min(height_at(&f, 0, &which), f.separation) - slack;
        search(&f, &deeper);
        *safe = safe_time(s, pair, slack, &deeper);
    }
    return true;
}

/* ---- cores ---- */

/* Three unit axes, the first along a direction; right-handed. */
static void find_axes(vec3 along, vec3 axes[3]) {
    vec3 u = v3_normalise(along);
    axes[0] = v3_max_abs(u) > 0 ? u : v3(1, 0, 0);
    axes[1] = v3_cross(axes[0], fabs(axes[0].x) < 0.6 ? v3(1, 0, 0) : v3(0, 1, 0));
    axes[1] = v3_normalise(axes[1]);
    axes[2] = v3_cross(axes[0], axes[1]);
}

static abut_status make_mesh(abut_context *context, const vec3 *corners, uint32_t count,
                             const uint32_t *triangles, uint32_t triangle_count, abut_bvh **bvh) {
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

/* A box of these half sizes along the axes. */
static abut_status make_box(abut_context *context, vec3 middle, const vec3 axes[3], vec3 half,
                            abut_bvh **bvh) {
    static const uint32_t triangles[36] = {0, 2, 1, 1, 2, 3, 4, 5, 6, 5, 7, 6, 0, 1, 4, 1, 5, 4,
                                           2, 6, 3, 3, 6, 7, 0, 4, 2, 2, 4, 6, 1, 3, 5, 3, 7, 5};
    vec3 corners[8];
    for (uint32_t i = 0; i < 8; i++) {
        corners[i] = middle;
        for (uint32_t k = 0; k < 3; k++)
            corners[i] =
                v3_along(corners[i], (i >> k & 1 ? 1 : -1) * v3_get(half, (int)k), axes[k]);
    }
    return make_mesh(context, corners, 8, triangles, 12, bvh);
}

/* A prism around a cylinder: corners by turns of both ends. */
static abut_status make_prism(abut_context *context, const abut_cylinder *c, abut_bvh **bvh) {
    enum { TRIANGLES = 4 * SIDES - 4 };
    const double pi = 3.14159265358979323846, out = c->radius / cos(pi / SIDES) * (1 + 1e-12);
    vec3 corners[2 * SIDES], axes[3];
    uint32_t triangles[3 * TRIANGLES], *to = triangles;
    find_axes(v3_sub(c->end[1], c->end[0]), axes);
    for (uint32_t i = 0; i < 2 * SIDES; i++) {
        double angle = 2 * pi * (i / 2) / SIDES;
        corners[i] = v3_along(c->end[i % 2], out * cos(angle), axes[1]);
        corners[i] = v3_along(corners[i], out * sin(angle), axes[2]);
    }
    for (uint32_t i = 0; i < SIDES; i++) {
        const uint32_t a = 2 * i, b = 2 * ((i + 1) % SIDES);
        const uint32_t sides[6] = {a, b, a + 1, a + 1, b, b + 1},
                       caps[6] = {0, b, a, 1, a + 1, b + 1};
        memcpy(to, sides, sizeof sides);
        to += 6;
        if (i == 0 || i == SIDES - 1)
            continue;
        memcpy(to, caps, sizeof caps);
        to += 6;
    }
    return make_mesh(context, corners, 2 * SIDES, triangles, TRIANGLES, bvh);
}

abut_status abuti_world_core(abut_context *context, world_item *item) {
    const abut_world_item *is = &item->is;
    vec3 axes[3], half = is->shape.half;
    if (item->core || item->bvh || is->kind == ABUT_WORLD_BODY || is->kind == ABUT_WORLD_PLANE ||
        is->kind == ABUT_WORLD_CHARACTER)
        return ABUT_OK;
    if (is->kind == ABUT_WORLD_CYLINDER)
        return make_prism(context, &is->shape.cylinder, &item->core);
    if (is->kind == ABUT_WORLD_BOX) {
        const double least = v3_max_abs(half) > 0 ? LEAST * v3_max_abs(half) : LEAST;
        axes[0] = v3(1, 0, 0);
        axes[1] = v3(0, 1, 0);
        axes[2] = v3(0, 0, 1);
        half = v3_max(half, v3(least, least, least));
        return make_box(context, v3(0, 0, 0), axes, half, &item->core);
    }
    const bool sphere = is->kind == ABUT_WORLD_SPHERE;
    const abut_capsule c = sphere
                               ? (abut_capsule){{is->shape.sphere.centre, is->shape.sphere.centre},
                                                is->shape.sphere.radius}
                               : is->shape.capsule;
    const double thin = c.radius > 0 ? CORE * c.radius : LEAST;
    vec3 along = v3_scale(v3_sub(c.end[1], c.end[0]), 0.5);
    find_axes(along, axes);
    item->core_radius = real_max(c.radius - thin, 0);
    half = v3(v3_length(along) + thin, thin, thin);
    return make_box(context, v3_add(c.end[0], along), axes, half, &item->core);
}

static abut_status sweep_cores(const step *s, const world_item *a, const abut_path *path_a,
                               const world_item *b, const abut_path *path_b,
                               abut_sweep_touch *touch) {
    abut_sweep_rigid_options options = s->options;
    options.separation += a->core_radius + b->core_radius;
    if ((a->core || b->core) && !(options.tolerance > 0))
        options.tolerance = TOLERANCE * real_min(size_of(a), size_of(b));
    abut_status status = abut_sweep_rigid(core_of(a), path_a, core_of(b), path_b, &options, touch);
    if (!status) { /* from halfway between the cores to where the surfaces are */
        touch->point =
            v3_along(touch->point, 0.5 * (b->core_radius - a->core_radius), touch->normal);
        for (int k = 0; k < 2; k++)
            touch->triangle[k] = (k ? b : a)->core ? ABUT_NONE : touch->triangle[k];
    }
    return status;
}

/* ---- pairs that touch at the start ---- */

/* Finds the patches of a pair where it is, in memory of `list` and `contacts`. */
static abut_status find_patches(const step *s, const world_item *a, const world_item *b,
                                double margin, abuti_vector *list, abuti_vector *contacts,
                                abut_patches *found) {
    abut_context *context = s->world->context;
    abut_patch_options options = abut_patch_options_default();
    options.margin = margin;
    *found = (abut_patches){.count = PATCH_ROOM, .contact_count = CONTACT_ROOM};
    abut_status status = ABUT_ERROR_BUFFER;
    while (status == ABUT_ERROR_BUFFER) {
        status = abuti_vector_reserve(context, list, (size_t)found->count, sizeof(abut_patch));
        if (!status)
            status = abuti_vector_reserve(context, contacts, (size_t)found->contact_count,
                                          sizeof(abut_contact));
        if (status)
            return status;
        found->list = list->data;
        found->capacity = list->room;
        found->contacts = contacts->data;
        found->contact_capacity = contacts->room;
        status = abuti_world_patches(a, b, &options, found);
    }
    return status;
}

/* A shift of a that goes by `more` beyond the depth of every patch, as short as projections onto
 * one after the other make it; it need not separate, since a sweep from there tells. */
static vec3 lift_out(const abut_patches *found, double more) {
    vec3 lift = v3(0, 0, 0);
    for (int round = 0; round < LIFT_ROUNDS; round++)
        for (uint64_t i = 0; i < found->count; i++) {
            const abut_patch *p = &found->list[i];
            const double lacks = p->depth + more - v3_dot(lift, p->normal);
            if (lacks > 0)
                lift = v3_along(lift, lacks, p->normal);
        }
    return lift;
}

/* How much of the step is safe for two items with cores that touch at the start. */
static abut_status sweep_lifted(const step *s, const abut_world_pair *pair, double *safe) {
    const world_item *a = &world_items(s->world)[pair->a], *b = &world_items(s->world)[pair->b];
    const double slack = slack_of(s, a, b), separation = s->options.separation;
    abuti_vector list = {0}, contacts = {0};
    abut_patches found;
    *safe = 0;
    abut_status status =
        find_patches(s, a, b, separation > 0 ? separation + slack : 0, &list, &contacts, &found);
    if (!status && !found.count && !(separation > 0))
        status = find_patches(s, a, b, slack, &list, &contacts, &found);
    const vec3 lift = !status && found.count ? lift_out(&found, separation + slack) : v3(0, 0, 0);
    ABUTI_RELEASE(s->world->context, list.data, contacts.data);
    const double length = v3_length(lift);
    if (status || !(length > 0) || length > LIFT_LIMIT * smaller_size(a, b) + separation + slack)
        return status;
    abut_path p = path_of(s->world, pair->a), q = path_of(s->world, pair->b);
    const abuti_path turn = abuti_path_of(&q);
    const quat from = abuti_path_pose(&turn, 0).rotation, to = abuti_path_pose(&turn, 1).rotation;
    const mat3 back = quat_matrix((quat){-from.x, -from.y, -from.z, from.w}), on = quat_matrix(to);
    p.from.translation = v3_add(p.from.translation, lift);
    p.to.translation = v3_add(p.to.translation, m3_apply(&on, m3_apply(&back, lift)));
    abut_sweep_touch deeper = {.time = 1};
    step coarse = *s; /* a quarter of the slack is left for this, which takes fewer pieces */
    coarse.options.tolerance = real_max(s->options.tolerance, 0.25 * slack);
    status = sweep_cores(&coarse, a, &p, b, &q, &deeper);
    if (!status)
        *safe = safe_time(s, pair, slack, &deeper);
    return status;
}

/* ---- pairs ---- */

/* Cores of all that is to be swept. */
static abut_status make_cores(const abut_world *world) {
    const abut_world_pair *pairs = world->sweep_pairs.data;
    world_item *items = world_items(world);
    abut_status status = ABUT_OK;
    for (size_t i = 0; i < world->sweep_pairs.count && !status; i++) {
        world_item *both[2] = {&items[pairs[i].a], &items[pairs[i].b]};
        for (int k = 0; k < 2 && !status; k++) /* planes need those of cylinders alone */
            if (both[!k]->kind != ABUT_WORLD_PLANE || both[k]->kind == ABUT_WORLD_CYLINDER)
                status = abuti_world_core(world->context, both[k]);
    }
    return status;
}

static bool has_sensor(const world_item *a, const world_item *b) {
    return ((a->filter.traits | b->filter.traits) & WORLD_IS_SENSOR) != 0;
}

static void sweep_some(void *data, size_t chunk, size_t begin, size_t end) {
    const step *s = data;
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
        if (a->kind == ABUT_WORLD_PLANE || b->kind == ABUT_WORLD_PLANE) {
            to->unknown = !sweep_plane(s, pair, a->kind == ABUT_WORLD_PLANE, &to->touch, &to->safe);
        } else if (core_of(a) && core_of(b)) {
            const abut_path p = path_of(s->world, pair->a), q = path_of(s->world, pair->b);
            to->status = sweep_cores(s, a, &p, b, &q, &to->touch);
            to->safe = to->touch.hit ? to->touch.time : 1;
            if (!to->status && to->touch.hit && !(to->touch.time > 0) && !has_sensor(a, b))
                to->status = sweep_lifted(s, pair, &to->safe);
        } else {
            to->unknown = true;
        }
    }
}

static abut_status write(const abut_world *world, abut_world_impacts *impacts) {
    const world_swept *swept = world->swept.data;
    const abut_world_pair *pairs = world->sweep_pairs.data;
    uint64_t count = 0, unknown = 0;
    double time = 1;
    abut_advice advice = abuti_guaranteed("No containment decided, or one that is exact.");
    for (size_t i = 0; i < world->sweep_pairs.count; i++)
        count += swept[i].touch.hit;
    impacts->count = count;
    if (count > impacts->capacity)
        return abuti_fail(ABUT_ERROR_BUFFER,
                          "abut_world_sweep: there are %llu impacts, and room for %llu",
                          (unsigned long long)count, (unsigned long long)impacts->capacity);
    count = 0;
    for (size_t i = 0; i < world->sweep_pairs.count; i++) {
        const abut_sweep_touch *touch = &swept[i].touch;
        unknown += swept[i].unknown;
        advice = touch->advice.verdict > advice.verdict ? touch->advice : advice;
        const world_item *a = &world_items(world)[pairs[i].a], *b = &world_items(world)[pairs[i].b];
        const bool sensor = has_sensor(a, b);
        if (touch->hit)
            impacts->list[count++] = (abut_world_impact){pairs[i].a, pairs[i].b, sensor, *touch};
        if (!sensor)
            time = real_min(time, swept[i].safe);
    }
    impacts->time = time;
    impacts->unknown = unknown;
    impacts->advice = advice;
    return ABUT_OK;
}

/* ---- the public function ---- */

/* Where items are at the end, checked. */
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
    status = abuti_world_bring_characters(world);
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
static abut_status sweep_step(step *s) {
    abut_world *world = s->world;
    if (world->items.count)
        abuti_parallel_for(world->context, world->items.count, ITEMS_A_TASK, find_boxes, s);
    abut_status status =
        abuti_world_overlaps(world, world->sweeps.data, world->options.margin + 2 * s->reach,
                             &world->sweep_pairs);
    const size_t pairs = world->sweep_pairs.count;
    status = status ? status : make_cores(world);
    if (!status)
        status = abuti_vector_reserve(world->context, &world->swept, pairs, sizeof(world_swept));
    if (!status && pairs)
        status = abuti_parallel_try(world->context, "world", pairs, pairs < FEW_PAIRS ? pairs : 1,
                                    sweep_some, s);
    const world_swept *swept = world->swept.data;
    for (size_t i = 0; i < pairs && !status; i++) {
        if (swept[i].status == ABUT_ERROR_MEMORY)
            return abuti_fail(ABUT_ERROR_MEMORY, "abut_world_sweep: no memory for a pair");
        if (swept[i].status) { /* again, on this thread, for the sentence */
            sweep_some(s, 0, i, i + 1);
            status = swept[i].status;
        }
    }
    return status;
}

abut_status abut_world_sweep(abut_world *world, const uint32_t *ids, const abut_pose *ends,
                             size_t count, const abut_sweep_rigid_options *options,
                             abut_world_impacts *impacts) {
    step s = {.world = world, .options = abut_sweep_rigid_options_default()};
    if (!world || !impacts || (!ends && count) || (!impacts->list && impacts->capacity))
        return abuti_null(__func__, !world     ? "world"
                                    : !impacts ? "impacts"
                                    : !ends    ? "ends"
                                               : "impacts->list");
    if (!ids && count > world->items.count)
        return abuti_fail(ABUT_ERROR_ARGUMENT, "abut_world_sweep: %zu poses for %zu items", count,
                          world->items.count);
    abut_status status =
        abuti_options_read(&s.options, sizeof s.options, options, "abut_world_sweep: options");
    status = status ? status : check_options(&s.options);
    abut_context *before;
    status = status ? status : abuti_world_enter("abut_world_sweep", world, &before);
    if (status)
        return status;
    s.reach = 0.5 * (s.options.separation + s.options.tolerance);
    status = world->backend->bring(world);
    status = status ? status : set_ends(world, ids, ends, count);
    status = status ? status : sweep_step(&s);
    abuti_set_fraction(0);
    abuti_world_leave(world, before);
    return status ? status : write(world, impacts);
}
