/* Spheres on stairs, snow, spheres on a model. */
#include "falls.h"

#include "critter.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 11 };
#define FRAME (1.0 / 60) /* times the speed */
#define GRAVITY 6.0
#define RISE 0.5   /* of a step */
#define ACROSS 5.0 /* width of the stairs */
#define GAP 0.01   /* between steps */

static double real(falls *s, double lo, double hi) { /* splitmix64 */
    uint64_t x = s->random += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return lo + (hi - lo) * ((double)((x ^ x >> 31) >> 11) / 9007199254740992.0);
}

static double radius(const falls *s) {
    /* Radius of spheres, so that more of them do not fill the space. */
    uint32_t n = s->count - s->fixed;
    return s->options.kind == FALLS_BOUNCE ? 0.2 : n > 1000 ? 0.06 : n > 100 ? 0.12 : 0.2;
}

static void *grown(abut_context *context, void *old, uint64_t count, size_t bytes) {
    abut_context_free(context, old);
    return abut_context_allocate(context, (size_t)count, bytes);
}

/* ---- create ---- */

static abut_status make_mesh(falls *s, int which, abut_shape_kind kind, abut_vec3 extent) {
    abut_shape shape = abut_shape_default(kind);
    shape.extent = extent;
    shape.radius = radius(s);
    shape.segments = kind == ABUT_SHAPE_ICOSPHERE ? 4 : 1;
    return abut_shape_create(s->context, &shape, &s->meshes[which]);
}

/* Two pyramids on a triangle: 6 triangles, as in the paper. */
static abut_status make_flake(falls *s) {
    const double r = 0.05, h = 0.02;
    const double points[15] = {r, 0, 0, -0.5 * r, 0.866 * r, 0, -0.5 * r, -0.866 * r,
                               0, 0, 0, h,        0,         0, -h};
    const uint32_t indices[18] = {0, 1, 3, 1, 2, 3, 2, 0, 3, 1, 0, 4, 2, 1, 4, 0, 2, 4};
    abut_mesh_input input = abut_mesh_input_doubles(points, 5, indices, 6);
    return abut_mesh_create(s->context, &input, &s->meshes[0]);
}

/* The model is on the ground, four units large. */
static abut_status make_model(falls *s) {
    abut_mesh *mesh = NULL;
    abut_status status = ABUT_OK;
    if (s->options.model)
        mesh = abut_mesh_retain(s->options.model);
    else
        status = critter_create(s->context, 1, &mesh);
    abut_box b = abut_mesh_bounds(mesh);
    double large = fmax(b.hi.x - b.lo.x, fmax(b.hi.y - b.lo.y, b.hi.z - b.lo.z));
    double scale = large > 0 ? 4 / large : 1;
    abut_pose pose = {{0, 0, 0, 1},
                      {-0.5 * scale * (b.lo.x + b.hi.x), -0.5 * scale * (b.lo.y + b.hi.y),
                       0.002 - scale * b.lo.z}};
    if (!status)
        status = abut_mesh_transform(mesh, scale, pose, &s->meshes[1]);
    abut_mesh_destroy(mesh);
    return status;
}

static abut_status make_meshes(falls *s) {
    abut_status status = ABUT_OK;
    if (s->options.kind == FALLS_STAIRS) {
        status = make_mesh(s, 0, ABUT_SHAPE_ICOSPHERE, (abut_vec3){0, 0, 0});
        if (!status)
            status = make_mesh(s, 1, ABUT_SHAPE_BOX, (abut_vec3){1 - GAP, ACROSS, RISE});
    } else {
        status = s->options.kind == FALLS_SNOW
                     ? make_flake(s)
                     : make_mesh(s, 0, ABUT_SHAPE_ICOSPHERE, (abut_vec3){0, 0, 0});
        if (!status)
            status = make_model(s);
        if (!status)
            status = make_mesh(s, 2, ABUT_SHAPE_BOX, (abut_vec3){8, 8, 0.5});
    }
    for (int i = 0; i < 3 && !status; i++)
        if (s->meshes[i])
            status = abut_bvh_create(s->meshes[i], NULL, &s->trees[i]);
    return status;
}

/* Sets the initial position of a body; at the start of the scene, at some point of its path. */
static void launch(falls *s, uint32_t i, bool start) {
    abut_vec3 *p = &s->solids[i].pose.translation, *v = &s->speeds[i];
    s->normals[i] = (abut_vec3){0, 0, 0};
    if (s->options.kind == FALLS_STAIRS) { /* launched above the topmost step */
        double step = start ? floor(real(s, 0, STEPS)) : 0;
        *p = (abut_vec3){step + real(s, 0.2, 0.8), real(s, -0.4, 0.4) * ACROSS,
                         (STEPS - step) * RISE + real(s, 0.1, 1)};
        *v = (abut_vec3){real(s, 0.7, 1.7), real(s, -0.3, 0.3), real(s, -1.5, 1.5)};
    } else if (s->options.kind == FALLS_SNOW) {
        *p = (abut_vec3){real(s, -2.5, 2.5), real(s, -2.5, 2.5), real(s, start ? 4.2 : 6, 7)};
        *v = (abut_vec3){real(s, -0.2, 0.2), real(s, -0.2, 0.2), real(s, -2.4, -1.4)};
    } else {
        *p = (abut_vec3){real(s, -1.6, 1.6), real(s, -1.6, 1.6), real(s, 4.6, 7)};
        *v = (abut_vec3){0, 0, real(s, -2, 0)};
    }
}

/* Fixed solids are tested against falling ones; snow and spheres on the model are not tested
 * against each other. */
uint32_t falls_group(const falls *s, uint32_t i) {
    return i < s->fixed ? 2 : 1;
}
uint32_t falls_mask(const falls *s, uint32_t i) {
    return i < s->fixed ? 1 : s->options.kind == FALLS_STAIRS ? 3 : 2;
}

static abut_status make_solids(falls *s) {
    bool stairs = s->options.kind == FALLS_STAIRS;
    abut_status status = ABUT_OK;
    for (uint32_t i = 0; i < s->count && !status; i++) {
        uint32_t which = i >= s->fixed ? 0 : stairs ? 1 : i + 1;
        abut_collider *solid = &s->solids[i];
        *solid = abut_collider_from_mesh(s->meshes[which], abut_pose_identity());
        s->bvhs[i] = s->trees[which];
        s->which[i] = which;
        s->speeds[i] = (abut_vec3){0, 0, 0};
        s->hit[i] = false;
        if (i >= s->fixed)
            launch(s, i, true);
        else if (stairs)
            solid->pose.translation =
                (abut_vec3){i + 0.5, 0, (STEPS - 1 - (double)i) * RISE + 0.5 * RISE};
        else if (i == 1)
            solid->pose.translation = (abut_vec3){0, 0, -0.25};
        s->before[i] = s->after[i] = solid->pose;
        abut_layers_item item = {.size = sizeof(abut_layers_item),
                                 .collider = *solid,
                                 .group = falls_group(s, i),
                                 .mask = falls_mask(s, i)};
        uint32_t id;
        status = abut_layers_add(s->layers, &item, &id);
    }
    return status;
}

static abut_status prepare(falls *s) {
    abut_layers_options options = abut_layers_options_default();
    options.device = s->options.device;
    s->solids = abut_context_allocate(s->context, s->count, sizeof *s->solids);
    s->bvhs = abut_context_allocate(s->context, s->count, sizeof *s->bvhs);
    s->which = abut_context_allocate(s->context, s->count, sizeof *s->which);
    s->speeds = abut_context_allocate(s->context, s->count, sizeof *s->speeds);
    s->hit = abut_context_allocate(s->context, s->count, sizeof *s->hit);
    s->normals = abut_context_allocate(s->context, s->count, sizeof *s->normals);
    s->before = abut_context_allocate(s->context, s->count, sizeof *s->before);
    s->after = abut_context_allocate(s->context, s->count, sizeof *s->after);
    if (!s->solids || !s->bvhs || !s->which || !s->speeds || !s->hit || !s->normals || !s->before ||
        !s->after)
        return ABUT_ERROR_MEMORY;
    abut_status status = make_meshes(s);
    if (!status)
        status = abut_layers_create(s->context, &options, &s->layers);
    if (!status)
        status = make_solids(s);
    return status;
}

abut_status falls_create(abut_context *context, const falls_options *options, falls **scene) {
    static const uint32_t usual[] = {250, 500, 40};
    falls *s = abut_context_allocate(context, 1, sizeof *s);
    if (!s)
        return ABUT_ERROR_MEMORY;
    memset(s, 0, sizeof *s);
    s->options = *options;
    s->context = context;
    s->random = options->seed;
    s->fixed = options->kind == FALLS_STAIRS ? STEPS : 2;
    s->count = s->fixed + (options->count ? options->count : usual[options->kind]);
    s->query = abut_layers_query_default();
    s->query.resolution = options->resolution;
    s->query.find_hits = options->kind == FALLS_BOUNCE;
    abut_status status = prepare(s);
    if (status) {
        falls_destroy(s);
        return status;
    }
    *scene = s;
    return ABUT_OK;
}

void falls_destroy(falls *s) {
    if (!s)
        return;
    abut_layers_destroy(s->layers);
    abut_world_destroy(s->world);
    for (int i = 0; i < 3; i++) {
        abut_bvh_destroy(s->trees[i]);
        abut_mesh_destroy(s->meshes[i]);
    }
    void *lists[] = {s->solids,  (void *)s->bvhs, s->which,   s->speeds, s->hit,
                     s->normals, s->before,       s->after,   s->pairs,  s->hits,
                     s->exact,   s->swept,        s->sampled, s->stuck};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        abut_context_free(s->context, lists[i]);
    abut_context_free(s->context, s);
}

/* ---- frames ---- */

abut_box falls_region(const falls *s) {
    return s->options.kind == FALLS_STAIRS
               ? (abut_box){{-0.5, -0.5 * ACROSS, -1},
                            {STEPS + 0.5, 0.5 * ACROSS, STEPS * RISE + 1.5}}
               : (abut_box){{-4, -4, -0.5}, {4, 4, 6}};
}

abut_status falls_find(falls *s) {
    abut_status status = ABUT_OK;
    for (int round = 0; round < 3; round++) {
        abut_layers_result found = {.size = sizeof found,
                                    .pairs.list = s->pairs,
                                    .pairs.capacity = s->pair_room,
                                    .hits.list = s->hits,
                                    .hits.capacity = s->hit_room};
        status = abut_layers_find(s->layers, &s->query, &found);
        s->pair_count = found.pairs.count;
        s->hit_count = found.hits.count;
        if (status != ABUT_ERROR_BUFFER)
            return status;
        if (found.pairs.count > s->pair_room) {
            s->pair_room = 2 * found.pairs.count;
            s->pairs = grown(s->context, s->pairs, s->pair_room, sizeof *s->pairs);
        }
        if (found.hits.count > s->hit_room) {
            s->hit_room = 2 * found.hits.count;
            s->hits = grown(s->context, s->hits, s->hit_room, sizeof *s->hits);
        }
        if ((s->pair_room && !s->pairs) || (s->hit_room && !s->hits)) {
            s->pair_room = s->hit_room = 0;
            return ABUT_ERROR_MEMORY;
        }
    }
    return status;
}

/* Keeps a flake at its position on the solid, and restarts it from above. */
static abut_status stick(falls *s, uint32_t on, uint32_t flake) {
    if (s->stuck_count == s->stuck_room) {
        size_t room = 2 * s->stuck_room + 256;
        falls_stuck *more = abut_context_allocate(s->context, room, sizeof *more);
        if (!more)
            return ABUT_ERROR_MEMORY;
        if (s->stuck_count)
            memcpy(more, s->stuck, s->stuck_count * sizeof *more);
        abut_context_free(s->context, s->stuck);
        s->stuck = more;
        s->stuck_room = room;
    }
    falls_stuck *to = &s->stuck[s->stuck_count++];
    abut_pose back;
    to->on = on;
    abut_status status = abut_pose_invert(&s->solids[on].pose, &back);
    if (!status)
        status = abut_pose_compose(&back, &s->solids[flake].pose, &to->pose);
    launch(s, flake, false);
    return status;
}

abut_status falls_hold(falls *s, abut_pose pose) {
    const uint32_t id = 0;
    s->is_held = true;
    s->solids[0].pose = pose;
    return abut_layers_set_poses(s->layers, &id, abut_array_host(&pose), 1);
}

void falls_forget_stuck(falls *s, size_t count) {
    if (count >= s->stuck_count)
        return;
    memmove(s->stuck, s->stuck + (s->stuck_count - count), count * sizeof *s->stuck);
    s->stuck_count = count;
}

static abut_status respond_to_pairs(falls *s) {
    abut_status status = ABUT_OK;
    for (uint64_t i = 0; i < s->pair_count && !status; i++) {
        uint32_t a = s->pairs[i].a, b = s->pairs[i].b;
        if (a >= s->fixed || b < s->fixed || s->hit[b])
            continue;
        s->hit[b] = true;
        if (s->options.kind == FALLS_SNOW)
            status = stick(s, a, b);
        else if (s->options.kind == FALLS_STAIRS && s->speeds[b].z < 0)
            s->speeds[b].z *= -0.85;
        else if (s->options.kind == FALLS_BOUNCE && a == 1)
            launch(s, b, false);
    }
    return status;
}

/* Computes the mean normal of the edges of the model within a sphere: the sphere reflects off
 * that plane, unless it moves away. Hits are sorted by the penetrating solid, then by the
 * penetrated one. */
static void respond_to_hits(falls *s) {
    for (uint64_t i = 0, end; i < s->hit_count; i = end) {
        uint32_t ball = s->hits[i].penetrated;
        abut_vec3 n = {0, 0, 0}, *v = &s->speeds[ball];
        for (end = i; end < s->hit_count && s->hits[end].penetrating == s->hits[i].penetrating &&
                      s->hits[end].penetrated == ball;
             end++) {
            n.x += s->hits[end].normal.x;
            n.y += s->hits[end].normal.y;
            n.z += s->hits[end].normal.z;
        }
        double length = sqrt(n.x * n.x + n.y * n.y + n.z * n.z);
        if (s->hits[i].penetrating != 0 || ball < s->fixed || !(length > 0))
            continue;
        double along = (v->x * n.x + v->y * n.y + v->z * n.z) / length;
        if (along >= 0)
            continue;
        double by = -1.8 * along / length;
        *v = (abut_vec3){v->x + by * n.x, v->y + by * n.y, v->z + by * n.z};
        s->normals[ball] = (abut_vec3){n.x / length, n.y / length, n.z / length};
        s->hit[ball] = true;
    }
}

/* Rotates the model by the same small angle each frame: the quaternion's sine and cosine are
 * 0.008 and nearly 1 at normal speed, and its length stays 1. */
static void turn(falls *s, double speed) {
    abut_quat *q = &s->solids[0].pose.rotation;
    double z = q->z + 0.008 * speed * q->w, w = q->w - 0.008 * speed * q->z,
           length = sqrt(z * z + w * w);
    q->z = z / length;
    q->w = w / length;
}

abut_status falls_step(falls *s) {
    bool snow = s->options.kind == FALLS_SNOW, stairs = s->options.kind == FALLS_STAIRS;
    const double speed = s->options.speed > 0 ? s->options.speed : 1, seconds = FRAME * speed;
    memset(s->hit, 0, s->count * sizeof *s->hit);
    respond_to_hits(s);
    abut_status status = respond_to_pairs(s);
    for (uint32_t i = 0; i < s->count; i++)
        s->before[i] = s->solids[i].pose;
    if (!stairs && !s->is_held)
        turn(s, speed);
    for (uint32_t i = s->fixed; i < s->count && !status; i++) {
        abut_vec3 *p = &s->solids[i].pose.translation, *v = &s->speeds[i];
        v->z -= snow ? 0 : GRAVITY * seconds;
        *p = (abut_vec3){p->x + seconds * v->x, p->y + seconds * v->y, p->z + seconds * v->z};
        s->after[i] = s->solids[i].pose;
        if (p->z < (stairs ? -0.5 : -0.4)) /* below the last step, or the ground */
            launch(s, i, false);
    }
    for (uint32_t i = 0; i < s->fixed; i++)
        s->after[i] = s->solids[i].pose;
    abut_pose *poses = abut_context_allocate(s->context, s->count, sizeof *poses);
    if (!poses)
        return ABUT_ERROR_MEMORY;
    for (uint32_t i = 0; i < s->count; i++)
        poses[i] = s->solids[i].pose;
    if (!status)
        status = abut_layers_set_poses(s->layers, NULL, abut_array_host(poses), s->count);
    abut_context_free(s->context, poses);
    return status;
}

/* ---- against exact overlaps ---- */

bool falls_tries(const falls *s, uint32_t a, uint32_t b) {
    return (falls_group(s, a) & falls_mask(s, b)) && (falls_group(s, b) & falls_mask(s, a));
}

abut_status falls_check(falls *s) {
    abut_pair_object *objects = abut_context_allocate(s->context, s->count, sizeof *objects);
    if (!objects)
        return ABUT_ERROR_MEMORY;
    for (uint32_t i = 0; i < s->count; i++)
        objects[i] = (abut_pair_object){.size = sizeof *objects,
                                        .bvh = s->bvhs[i],
                                        .poses = &s->solids[i].pose,
                                        .group = falls_group(s, i),
                                        .mask = falls_mask(s, i)};
    abut_pair_group group = abut_pair_group_default();
    group.objects = objects;
    group.object_count = s->count;
    group.configuration_count = 1;
    abut_pair_group_hit_list found = {s->exact, s->exact_room, 0};
    abut_status status = abut_pair_group_list(&group, &found, NULL);
    if (status == ABUT_ERROR_BUFFER) {
        s->exact_room = 2 * found.count;
        s->exact = grown(s->context, s->exact, s->exact_room, sizeof *s->exact);
        found = (abut_pair_group_hit_list){s->exact, s->exact ? s->exact_room : 0, 0};
        status = s->exact ? abut_pair_group_list(&group, &found, NULL) : ABUT_ERROR_MEMORY;
    }
    s->exact_count = found.count;
    abut_context_free(s->context, objects);
    return status;
}

/* Extends a box by a posed solid. */
static abut_status include_solid(const abut_collider *solid, abut_box *to) {
    const abut_box b = abut_mesh_bounds(solid->shape.mesh.mesh);
    for (int c = 0; c < 8; c++) {
        const abut_vec3 corner = {c & 1 ? b.hi.x : b.lo.x, c & 2 ? b.hi.y : b.lo.y,
                                  c & 4 ? b.hi.z : b.lo.z};
        abut_vec3 p;
        abut_status status = abut_pose_apply(&solid->pose, corner, &p);
        if (status)
            return status;
        for (int k = 0; k < 3; k++) {
            (&to->lo.x)[k] = fmin((&to->lo.x)[k], (&p.x)[k]);
            (&to->hi.x)[k] = fmax((&to->hi.x)[k], (&p.x)[k]);
        }
    }
    return ABUT_OK;
}

double falls_pixel(const falls *s) {
    abut_box all = {{DBL_MAX, DBL_MAX, DBL_MAX}, {-DBL_MAX, -DBL_MAX, -DBL_MAX}};
    for (uint32_t i = 0; i < s->count; i++)
        if (include_solid(&s->solids[i], &all))
            return 0;
    return fmax(all.hi.x - all.lo.x, fmax(all.hi.y - all.lo.y, all.hi.z - all.lo.z)) /
           (s->options.resolution ? s->options.resolution : 1024);
}

static int by_pair(const void *x, const void *y) {
    const abut_world_pair *p = x, *q = y;
    return p->a != q->a ? (p->a < q->a ? -1 : 1) : p->b != q->b ? (p->b < q->b ? -1 : 1) : 0;
}

uint64_t falls_sort_pairs(abut_world_pair *pairs, uint64_t count) {
    uint64_t kept = 0;
    if (count)
        qsort(pairs, (size_t)count, sizeof *pairs, by_pair);
    for (uint64_t i = 0; i < count; i++)
        if (!kept || by_pair(&pairs[kept - 1], &pairs[i]) != 0)
            pairs[kept++] = pairs[i];
    return kept;
}

static int compare_pairs(const abut_world_pair *p, const abut_pair_group_hit *q) {
    return p->a != q->a ? (p->a < q->a ? -1 : 1) : p->b < q->b ? -1 : p->b > q->b;
}

/* The diameter of the largest ball in the overlap of a sphere with a step or another sphere: a
 * lower bound of the depth of the overlap, and nearly equal to it for meshes of spheres. */
static double ball_in(const falls *s, uint32_t a, uint32_t b) {
    const abut_vec3 *p = &s->solids[a].pose.translation, *q = &s->solids[b].pose.translation;
    double r = radius(s), d[3] = {fabs(q->x - p->x), fabs(q->y - p->y), fabs(q->z - p->z)};
    if (a < s->fixed) {
        const double half[3] = {0.5 * (1 - GAP), 0.5 * ACROSS, 0.5 * RISE};
        double outside = 0, inside = -DBL_MAX;
        for (int k = 0; k < 3; k++) {
            double over = d[k] - half[k];
            outside += over > 0 ? over * over : 0;
            inside = fmax(inside, over);
        }
        return fmax(0, r - (outside > 0 ? sqrt(outside) : inside));
    }
    return fmax(0, 2 * r - sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]));
}

void falls_compare(const falls *s, const abut_world_pair *pairs, uint64_t count,
                   falls_score *score) {
    uint64_t i = 0, j = 0;
    while (i < count || j < s->exact_count) {
        int order = i == count            ? 1
                    : j == s->exact_count ? -1
                                          : compare_pairs(&pairs[i], &s->exact[j]);
        if (order == 0) {
            score->found++;
        } else if (order < 0) {
            score->false_pairs++;
        } else {
            score->missed++;
            if (s->options.kind == FALLS_STAIRS)
                score->missed_ball =
                    fmax(score->missed_ball, ball_in(s, s->exact[j].a, s->exact[j].b));
        }
        i += order <= 0;
        j += order >= 0;
    }
}

void falls_names(const falls *s, abut_world_pair *names) {
    for (uint64_t i = 0; i < s->pair_count; i++)
        names[i] = (abut_world_pair){s->pairs[i].a, s->pairs[i].b};
}
