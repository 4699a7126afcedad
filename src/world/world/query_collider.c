/* Colliders against items: overlap within a margin, and distances.
 *
 * Two primitives are measured in closed form (contact/solid_manifold.c). Otherwise every shape is a
 * core, which is a mesh, and a radius around it, and cores are measured by <abut/pair.h>: a point
 * for a sphere, a segment for a capsule (triangles whose corners coincide), twelve triangles for a
 * box, and a circumscribed prism for a cylinder. A plane is measured by the lowest point.
 */
#include "world/query.h"

#include "bvh/bvh.h"
#include "collider/collider.h"
#include "geom/pose.h"
#include "pair/pair.h"
#include "sweep/rigid.h"

#include <math.h>

enum { OVERLAPS_PER_CHUNK = 1 };

/* ---- reading ---- */

static const abut_bvh *bvh_of(const abut_collider *c) {
    return c->kind == ABUT_COLLIDER_BODY   ? c->shape.body.bvh
           : c->kind == ABUT_COLLIDER_HULL ? c->shape.hull
                                           : NULL;
}

abut_status abuti_query_check_pose(const char *function, const char *what,
                                   const abut_collider *collider, const abut_pose *at) {
    contact_motion motion;
    contact_primitive placed;
    const abut_bvh *bvh = bvh_of(collider);
    abut_status status = abuti_contact_pose(function, what, at, &motion);
    if (status || collider->kind == ABUT_COLLIDER_MESH)
        return status;
    return bvh ? abuti_pair_check_pose(function, what, bvh, at)
               : abuti_contact_place(function, collider, &motion, &placed);
}

abut_status abuti_query_collider_check(const char *function, const abut_collider *collider,
                                       size_t index) {
    char what[48];
    const abut_mesh *mesh;
    snprintf(what, sizeof what, index == SIZE_MAX ? "collider" : "colliders[%zu]", index);
    abut_collider c;
    abut_status status = abuti_collider_read(function, what, collider, &c);
    if (status)
        return status;
    if (c.kind == ABUT_COLLIDER_PLANE || c.kind == ABUT_COLLIDER_CHARACTER)
        return abuti_collider_refuse(
            function, what, &c, "a mesh, a body with a BVH, or a primitive other than a plane");
    if (!collider_is_primitive(&c) || c.kind == ABUT_COLLIDER_HULL)
        status = abuti_collider_read_mesh(function, what, SIZE_MAX, &c, &mesh);
    else
        status = abuti_collider_check_primitive(function, what, &c);
    if (!status && bvh_of(&c))
        status = abuti_bvh_check(function, bvh_of(&c), collider, what);
    return status ? status : abuti_query_check_pose(function, what, &c, &c.pose);
}

abut_status abuti_query_collider_read(const world_query *q, const abut_collider *collider,
                                      query_collider *to) {
    *to = (query_collider){.is = *collider};
    if (collider->kind == ABUT_COLLIDER_MESH) {
        abut_mesh *mesh = (abut_mesh *)(uintptr_t)collider->shape.mesh.mesh;
        abut_status status = abut_bvh_create(mesh, NULL, &to->built);
        if (status)
            return status;
        to->is = abut_collider_from_bvh(to->built, collider->pose);
    }
    to->bvh = bvh_of(&to->is);
    to->local = to->bvh ? to->bvh->mesh->bounds : abuti_collider_bounds(&to->is);
    abut_status status = abuti_contact_pose(q->function, "a pose", &to->is.pose, &to->motion);
    if (!status && to->bvh)
        status = abuti_pair_check_pose(q->function, "a collider", to->bvh, &to->is.pose);
    to->box = world_box(to->local, &to->motion, 0);
    return status;
}

static void release_core(query_core *core) {
    abut_bvh_destroy(core->owned);
    *core = (query_core){.owned = NULL};
}

void abuti_query_collider_release(query_collider *collider) {
    release_core(&collider->core);
    release_core(&collider->swept);
    abut_bvh_destroy(collider->built);
}

/* ---- cores ---- */

/* A mesh of one triangle whose corners are the ends of a segment. */
static abut_status create_segment(const world_query *q, const vec3 end[2], abut_bvh **bvh) {
    abut_context *context = q->world->context;
    abut_mesh *mesh = NULL;
    vec3 *positions = NULL;
    uint32_t *indices = NULL;
    abut_status status =
        ABUTI_ALLOCATE(context, ABUTI_ARRAY(positions, 2), ABUTI_ARRAY(indices, 3));
    if (status)
        return status;
    memcpy(positions, end, 2 * sizeof *positions);
    indices[0] = 0;
    indices[1] = indices[2] = 1;
    status = abuti_mesh_derive(context, q->function, positions, 2, indices, 1, &mesh);
    if (!status)
        status = abut_bvh_create(mesh, NULL, bvh);
    abut_mesh_destroy(mesh);
    return status;
}

static abut_status create_core(const world_query *q, const abut_collider *c, query_core *core) {
    const abut_capsule *capsule = &c->shape.capsule;
    const abut_sphere *sphere = &c->shape.sphere;
    const vec3 point[2] = {sphere->centre, sphere->centre};
    const bool is_sphere = c->kind == ABUT_COLLIDER_SPHERE;
    abut_status status;
    if (is_sphere || c->kind == ABUT_COLLIDER_CAPSULE) {
        core->radius = is_sphere ? sphere->radius : capsule->radius;
        status = create_segment(q, is_sphere ? point : capsule->end, &core->owned);
    } else {
        status =
            abuti_sweep_create_core(q->function, q->world->context, c, &core->owned, &core->radius);
    }
    core->bvh = core->owned;
    return status;
}

/* The core of a shape with a BVH is that BVH. */
static abut_status find_core(const world_query *q, const abut_bvh *bvh, const abut_collider *c,
                             query_core *core) {
    if (core->bvh)
        return ABUT_OK;
    *core = (query_core){.bvh = bvh};
    return bvh ? ABUT_OK : create_core(q, c, core);
}

/* ---- pairs ---- */

/* A collider and an item as cores. */
typedef struct core_pair {
    abuti_posed collider, item;
    double radius;   /* of both */
    query_core core; /* of the item */
} core_pair;

static abut_status find_cores(const world_query *q, query_collider *collider,
                              const world_item *item, core_pair *pair) {
    *pair = (core_pair){.radius = 0};
    abut_status status = find_core(q, collider->bvh, &collider->is, &collider->core);
    if (!status)
        status = find_core(q, abuti_query_bvh(item), &item->is.collider, &pair->core);
    pair->collider = (abuti_posed){collider->core.bvh, collider->is.pose};
    pair->item = (abuti_posed){pair->core.bvh, item->at.pose};
    pair->radius = collider->core.radius + pair->core.radius;
    return status;
}

/* The point of a primitive, in local coordinates, that is farthest along a direction. */
static vec3 farthest_point(const abut_collider *c, vec3 direction) {
    const vec3 unit = v3_normalise(direction), half = c->shape.half;
    const abut_capsule *r = &c->shape.capsule; /* a cylinder has the same layout */
    const vec3 end = r->end[v3_dot(r->end[1], unit) > v3_dot(r->end[0], unit)];
    if (c->kind == ABUT_COLLIDER_SPHERE)
        return v3_along(c->shape.sphere.centre, c->shape.sphere.radius, unit);
    if (c->kind == ABUT_COLLIDER_BOX)
        return v3(unit.x < 0 ? -half.x : half.x, unit.y < 0 ? -half.y : half.y,
                  unit.z < 0 ? -half.z : half.z);
    if (c->kind == ABUT_COLLIDER_CAPSULE)
        return v3_along(end, r->radius, unit);
    const vec3 axis = v3_normalise(v3_sub(r->end[1], r->end[0]));
    return v3_along(end, r->radius, v3_normalise(v3_along(unit, -v3_dot(unit, axis), axis)));
}

/* The height of the lowest point of a collider above a plane, and that point. */
static double find_lowest(const query_collider *collider, const world_item *item, vec3 *lowest) {
    const abut_plane *p = &item->at.primitive.plane;
    const abuti_motion motion = abuti_motion_of(&collider->is.pose);
    double least = INFINITY;
    if (!collider->bvh) {
        const vec3 down = contact_rotate_back(&collider->motion, contact_negate(p->normal));
        *lowest = contact_to_world(&collider->motion, farthest_point(&collider->is, down));
        return v3_dot(p->normal, *lowest) - p->offset;
    }
    const abut_mesh *mesh = collider->bvh->mesh;
    for (uint32_t i = 0; i < mesh->vertex_count; i++) {
        const vec3 at = abuti_motion_apply(&motion, abuti_mesh_position(mesh, i));
        const double height = v3_dot(p->normal, at) - p->offset;
        if (height < least) {
            least = height;
            *lowest = at;
        }
    }
    return least;
}

/* The deepest contact of two primitives within a margin; false if there is none. */
static abut_status find_patch(const query_collider *collider, const world_item *item, double margin,
                              bool *is_found, abut_contact *deepest) {
    abut_patch_options options = abut_patch_options_default();
    abut_patch patch;
    abut_contact contacts[8];
    abut_patches found = {.size = sizeof found,
                          .patches = {&patch, 1, 0},
                          .contacts = {contacts, 8, 0}};
    const abut_collider other = abuti_world_collider(item, &item->at.pose);
    options.margin = real_min(margin, ABUT_COORDINATE_MAX);
    abut_status status = abuti_contact_primitives(&collider->is, &other, &options, &found);
    *is_found = !status && found.patches.count > 0;
    *deepest = contacts[0];
    for (uint64_t i = 1; i < found.contacts.count && *is_found; i++)
        if (contacts[i].depth > deepest->depth)
            *deepest = contacts[i];
    if (*is_found) {
        deepest->depth = patch.depth;
        deepest->normal = patch.normal;
    }
    return status;
}

/* Whether an item can be tested, and how. */
typedef enum pair_kind {
    PAIR_NONE,
    PAIR_PRIMITIVES,
    PAIR_PLANE, /* the item */
    PAIR_CORES
} pair_kind;

static pair_kind kind_of(const query_collider *collider, const world_item *item) {
    const bool has_bvh = abuti_query_bvh(item) != NULL;
    if (!has_bvh && (item->kind == ABUT_COLLIDER_BODY || item->kind == ABUT_COLLIDER_CHARACTER))
        return PAIR_NONE;
    return item->kind == ABUT_COLLIDER_PLANE ? PAIR_PLANE
           : collider->bvh || has_bvh        ? PAIR_CORES
                                             : PAIR_PRIMITIVES;
}

/* Whether the distance is at most the margin. Adds the reliability to `flags`. */
static abut_status is_within(const world_query *q, query_collider *collider, const world_item *item,
                             double margin, bool *within, unsigned *flags) {
    const pair_kind kind = kind_of(collider, item);
    abut_contact deepest;
    vec3 lowest;
    core_pair pair;
    *within = false;
    *flags = 0;
    if (kind == PAIR_NONE)
        return ABUT_OK;
    if (kind == PAIR_PRIMITIVES)
        return find_patch(collider, item, margin, within, &deepest);
    if (kind == PAIR_PLANE) {
        *within = find_lowest(collider, item, &lowest) <= margin;
        return ABUT_OK;
    }
    abut_status status = find_cores(q, collider, item, &pair);
    if (!status && margin + pair.radius > 0) {
        status = abuti_pair_within(&pair.collider, &pair.item, margin + pair.radius, false, NULL,
                                   within, flags);
    } else if (!status) {
        abut_pair_relation relation = ABUT_PAIR_APART;
        status = abuti_pair_overlap(&pair.collider, &pair.item, false, NULL, &relation, flags);
        *within = relation != ABUT_PAIR_APART;
    }
    abut_bvh_destroy(pair.core.owned);
    return status;
}

/* The separation of cores becomes that of the surfaces around them. */
static void set_core_separation(const core_pair *pair, double collider_radius,
                                const abut_separation *cores, abut_world_separation *to) {
    const double gap = cores->distance - pair->radius;
    const vec3 way = v3_normalise(v3_sub(cores->point_b, cores->point_a));
    to->reliability = cores->reliability;
    to->distance = real_max(gap, 0);
    const double by = gap > 0 ? collider_radius : real_min(collider_radius, cores->distance);
    to->point_collider = v3_along(cores->point_a, by, way);
    to->point_item =
        gap > 0 ? v3_along(cores->point_b, -pair->core.radius, way) : to->point_collider;
}

/* Computes the distance of an item. It may be infinite if it exceeds `limit`. */
static abut_status compute_separation(const world_query *q, query_collider *collider, uint32_t id,
                                      double limit, abut_world_separation *to) {
    const world_item *item = &world_items(q->world)[id];
    const pair_kind kind = kind_of(collider, item);
    abut_contact deepest;
    bool is_found;
    core_pair pair;
    *to = (abut_world_separation){.distance = INFINITY,
                                  .id = id,
                                  .reliability = abuti_pair_reliability_of(0)};
    if (kind == PAIR_NONE)
        return ABUT_OK;
    if (kind == PAIR_PRIMITIVES) {
        abut_status status = find_patch(collider, item, limit, &is_found, &deepest);
        if (status || !is_found)
            return status;
        to->distance = real_max(-deepest.depth, 0);
        to->point_collider = v3_along(deepest.point, 0.5 * to->distance, deepest.normal);
        to->point_item = v3_along(deepest.point, -0.5 * to->distance, deepest.normal);
        return ABUT_OK;
    }
    if (kind == PAIR_PLANE) {
        const double height = find_lowest(collider, item, &to->point_collider);
        to->distance = real_max(height, 0);
        to->point_item =
            v3_along(to->point_collider, -to->distance, item->at.primitive.plane.normal);
        return ABUT_OK;
    }
    abut_separation cores;
    abut_status status = find_cores(q, collider, item, &pair);
    if (!status)
        status = abuti_pair_distance(&pair.collider, &pair.item, false, NULL, &cores);
    if (!status)
        set_core_separation(&pair, collider->core.radius, &cores, to);
    abut_bvh_destroy(pair.core.owned);
    return status;
}

/* ---- overlap ---- */

typedef struct overlap_inputs {
    const abut_collider *colliders;
    double margin;
    uint32_t *first; /* any: the lowest ids; null: all */
} overlap_inputs;

typedef struct id_list {
    const world_query *q;
    abuti_vector *ids;
} id_list;

static abut_status collect_id(void *data, uint32_t id, query_region *region) {
    const id_list *list = data;
    uint32_t *to = ABUTI_PUSH(list->q->world->context, list->ids, uint32_t);
    (void)region;
    if (!to)
        return ABUT_ERROR_MEMORY;
    *to = id;
    return ABUT_OK;
}

static int compare_ids(const void *x, const void *y) {
    const uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
    return (a > b) - (a < b);
}

/* Candidates are tested in ascending order, so that an early end does not depend on the trees. */
static abut_status run_overlap(const world_query *q, size_t index, query_chunk *chunk) {
    const overlap_inputs *in = q->data;
    query_collider collider;
    id_list list = {q, &chunk->ids};
    bool is_done = false;
    chunk->ids.count = 0;
    abut_status status = abuti_query_collider_read(q, &in->colliders[index], &collider);
    if (!status) {
        query_region region = abuti_query_distance_region(collider.box, in->margin);
        status = abuti_query_traverse(q, &region, collect_id, &list);
    }
    if (!status && chunk->ids.count > 1)
        qsort(chunk->ids.data, chunk->ids.count, sizeof(uint32_t), compare_ids);
    if (in->first && !status)
        in->first[index] = ABUT_NONE;
    for (size_t i = 0; i < chunk->ids.count && !status && !is_done; i++) {
        const uint32_t id = ABUTI_AT(&chunk->ids, uint32_t, i);
        unsigned flags;
        bool within;
        status = is_within(q, &collider, &world_items(q->world)[id], in->margin, &within, &flags);
        if (status)
            break;
        const abut_reliability reliability = abuti_pair_reliability_of(flags);
        if (reliability.level > chunk->reliability.level)
            chunk->reliability = reliability;
        if (!within)
            continue;
        if (in->first) {
            in->first[index] = world_items(q->world)[id].id;
            is_done = true;
            continue;
        }
        uint32_t *to = ABUTI_PUSH(q->world->context, &chunk->results, uint32_t);
        if (to)
            *to = world_items(q->world)[id].id;
        else
            status = ABUT_ERROR_MEMORY;
    }
    abuti_query_collider_release(&collider);
    return status;
}

static abut_status begin_overlap(world_query *q, overlap_inputs *in, size_t count) {
    abut_status status = abuti_check_length(q->function, "margin", in->margin);
    if (!in->colliders && count)
        return abuti_null(q->function, "colliders");
    for (size_t i = 0; i < count && !status; i++)
        status = abuti_query_collider_check(q->function, &in->colliders[i], i);
    q->count = count;
    q->grain = OVERLAPS_PER_CHUNK;
    q->run = run_overlap;
    q->data = in;
    return status;
}

abut_status abut_world_overlap_all(const abut_world *world, const abut_collider *colliders,
                                   size_t count, double margin,
                                   const abut_world_query_options *options, uint64_t *offsets,
                                   abut_index_list *ids, abut_world_query_report *report) {
    world_query q = {.name = "ids", .result_bytes = sizeof(uint32_t)};
    overlap_inputs in = {.colliders = colliders, .margin = margin};
    abut_status status = abuti_query_begin(&q, __func__, world, options, report);
    if (status || (status = ABUTI_LIST_CHECK(__func__, "ids", ids)) ||
        (status = abuti_query_check_offsets(__func__, offsets, ids->capacity)) ||
        (status = begin_overlap(&q, &in, count)))
        return status;
    return abuti_query_run_lists(&q, offsets, ids->list, ids->capacity, &ids->count, report);
}

abut_status abut_world_overlap_any(const abut_world *world, const abut_collider *colliders,
                                   size_t count, double margin,
                                   const abut_world_query_options *options, uint32_t *ids,
                                   abut_world_query_report *report) {
    world_query q = {.counts = NULL};
    overlap_inputs in = {.colliders = colliders, .margin = margin, .first = ids};
    abut_status status = abuti_query_begin(&q, __func__, world, options, report);
    if (status || (!ids && count))
        return status ? status : abuti_null(__func__, "ids");
    status = begin_overlap(&q, &in, count);
    return status ? status : abuti_query_run(&q, report);
}

/* ---- nearest items ---- */

typedef struct nearest_search {
    const world_query *q;
    query_collider collider;
    double radius;
    size_t most, count;
    abut_world_separation *found; /* sorted */
} nearest_search;

static bool is_nearer(const abut_world_separation *a, const abut_world_separation *b) {
    return a->distance < b->distance || (a->distance == b->distance && a->id < b->id);
}

static abut_status measure_item(void *data, uint32_t id, query_region *region) {
    nearest_search *s = data;
    abut_world_separation next;
    abut_status status = compute_separation(s->q, &s->collider, id, region->limit, &next);
    if (status || !(next.distance <= s->radius) || next.distance == INFINITY ||
        (s->count == s->most && !is_nearer(&next, &s->found[s->count - 1])))
        return status;
    s->count += s->count < s->most;
    size_t at = s->count - 1;
    for (; at > 0 && is_nearer(&next, &s->found[at - 1]); at--)
        s->found[at] = s->found[at - 1];
    s->found[at] = next;
    if (s->count == s->most)
        region->limit = s->found[s->count - 1].distance;
    return ABUT_OK;
}

static abut_status run_nearest_items(const world_query *q, size_t index, query_chunk *chunk) {
    nearest_search *s = (nearest_search *)(uintptr_t)q->data;
    (void)index;
    s->count = 0;
    query_region region = abuti_query_distance_region(s->collider.box, s->radius);
    abut_status status = abuti_query_traverse(q, &region, measure_item, s);
    for (size_t i = 0; i < s->count && !status; i++) {
        QUERY_SET_ID(q, &s->found[i]);
        if (s->found[i].reliability.level > chunk->reliability.level)
            chunk->reliability = s->found[i].reliability;
    }
    return status;
}

abut_status abut_world_nearest_items(const abut_world *world, const abut_collider *collider,
                                     double radius, const abut_world_query_options *options,
                                     abut_world_separation_list *nearest,
                                     abut_world_query_report *report) {
    world_query q = {.count = 1, .grain = 1, .run = run_nearest_items};
    abut_status status = abuti_query_begin(&q, __func__, world, options, report);
    if (status || (status = ABUTI_LIST_CHECK(__func__, "nearest", nearest)) ||
        (status = abuti_bvh_check_limit(__func__, "radius", radius)) ||
        (status = abuti_query_collider_check(__func__, collider, SIZE_MAX)))
        return status;
    nearest_search s = {.q = &q, .radius = radius};
    q.data = &s;
    s.most =
        nearest->capacity < world->items.count ? (size_t)nearest->capacity : world->items.count;
    if (!s.most) {
        nearest->count = 0;
        q.count = 0;
        return abuti_query_run(&q, report);
    }
    s.found = abuti_allocate(world->context, s.most, sizeof *s.found);
    status = s.found ? abuti_query_collider_read(&q, collider, &s.collider) : ABUT_ERROR_MEMORY;
    if (!status)
        status = abuti_query_run(&q, report);
    if (s.found)
        abuti_query_collider_release(&s.collider);
    if (!status)
        status = ABUTI_LIST_WRITE(__func__, "nearest", nearest, s.found, s.count);
    abuti_release(world->context, s.found);
    return status;
}
